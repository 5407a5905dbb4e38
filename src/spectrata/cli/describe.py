"""Graphs, signals, tests, bands and the strongest frequencies in lines and tables."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from spectrata.cli.render import CHANCE, count, one_line, row_table, table, text

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from spectrata.stats.verbs.profile import Profile


TESTED = (
    "verdict", "r", "chance_low", "chance_high", "p", "p_family", "q", "r_given", "p_given", "p_family_given",
    "q_given", "near_level", "participation", "geary", "moran", "status",
)  # fmt: skip
STRONGEST = 24  # rows of the table of the strongest frequencies
TOP, MOST = 6, 20  # columns in the table; all that are alike or unlike at some hop, up to so many
CLEAR = ("alike", "unlike")
BANDS, SERIES = 12, 5  # bands and spectra in a table; the files have all


def graph_line(facts: Mapping[str, Any]) -> str:
    """The graph in one line."""
    parts = f"{facts['n_parts']:,} parts, the largest of {count(facts['largest_part'], 'node')}"
    parts = "connected" if facts["n_parts"] == 1 else parts
    parts += f", diameter {facts['diameter']}" if facts["diameter"] is not None else ""
    parts += f", weighted ({facts['hop_weights']})" if facts["hop_weights"] else ""
    size = f"{count(facts['n_nodes'], 'node')}, {count(facts['n_edges'], 'edge')}"
    return one_line(f"graph: {facts['source']}: {size}, {parts}")


def rows_of(ds: "xr.Dataset") -> list[dict[str, Any]]:
    """One row for each snapshot, column, hop and node of a result of tests."""
    frame = ds[[name for name in TESTED if name in ds]].to_dataframe().reset_index()
    first = [name for name in ("snapshot", "column", "hop", "node", "n_pairs") if name in frame]
    return frame[first + [name for name in TESTED if name in frame]].to_dict("records")


def print_reading(
    ds: "xr.Dataset",
    rows: list[dict[str, Any]],
    names: Sequence[str],
    facts: Mapping[str, Any],
    most: int | None,
    more: tuple[str, ...] = (),
) -> None:
    """The verdicts of all hops in a line, the graph, and a table of the tests with what its words mean.

    ``names`` are those of the signal and of its columns; ``more`` fields stand beside the tests.
    """
    from spectrata.stats.findings import Finding
    from spectrata.stats.findings.finding import by_side
    from spectrata.stats.findings.sentences import likeness_words

    if "column" in ds.dims:
        clear = {row["column"] for row in rows if row["verdict"] in ("alike", "unlike")}
        text(f"{names[0]}: in {len(clear)} of {ds.sizes['column']} columns nodes are alike or unlike at some hop")
    else:
        fields = {"hop": "hop", "value": "r", "verdict": "verdict", **{name: name for name in CHANCE}}
        last = [{field: row[name] for field, name in fields.items()} for row in rows[-ds.sizes["hop"] :]]
        words = likeness_words([Finding("", "", **one) for one in last], facts["diameter"])
        kind = {"labels": "labels", "angular": "directions"}.get(ds.attrs["metric"], "vectors")
        text(f"{', '.join(names)} ({how_read(kind, ds.attrs['n_dimensions'])}): {words}")
    text(graph_line(facts))
    if "column" in ds.dims and most is not None and len(rows) > most:
        rows = sorted(rows, key=lambda row: (row["p"] != row["p"], row["p"]))
    shown = [row | {"verdict": by_side(row["verdict"], row["r"])} for row in rows[:most]]
    over, p, p_given, given = "all hops", "p_family", "p_family_given", ds.attrs["given"]
    if "q" in rows[0]:
        over, p, p_given = "the columns (false discovery rate)", "q", "q_given"
    columns: dict[str, Any] = {"snapshot": "snapshot", "column": "column", "hop": "hop", "pairs": "n_pairs"}
    columns |= {"verdict": "verdict", "r": "r", "chance": CHANCE, "p": p, "r given": "r_given", "p given": p_given}
    columns = {title: field for title, field in columns.items() if not more or title not in ("pairs", "r given")}
    row_table(shown, columns | {name: name for name in more})
    text(
        "r: correlation between the two ends of a pair; chance: 95 % of the permutations, one hop at a time; "
        f"p: corrected over {over}" + (f"; given: {given} accounted for." if given else ".")
    )
    if len(rows) > len(shown):
        text(f"{len(rows) - len(shown):,} more rows; --top shows more, --json has all.")
    statuses(shown)


def how_read(kind: str, numbers: int) -> str:
    """A signal of a kind, with so many numbers per node, in words."""
    if kind == "labels":
        return f"labels of {numbers} classes"
    return "one number per node" if numbers == 1 else f"{kind} of {numbers} numbers"


def statuses(rows: list[dict[str, Any]]) -> None:
    """Every status that is not ok, with its hops."""
    from spectrata.stats.findings.sentences import hops

    for words in dict.fromkeys(row["status"] for row in rows):
        if words not in ("ok", ""):
            text(f"At {hops(sorted({row['hop'] for row in rows if row['status'] == words}))}: {words}.")


def print_ranking(found: "Profile", table: "pd.DataFrame") -> None:
    """A sentence about all columns, and the clearest of them, with what their tests say at all hops."""
    from spectrata.stats.findings.finding import by_side, correction, explained
    from spectrata.stats.findings.sentences import column_sentences, covariate_names, listed, nodes

    known = covariate_names(found.given)
    for line in column_sentences(table, found.given):
        text(line)
    told = [found.told[name] for name in table["column"]]
    table = table.assign(told=told, clear=[some[0].verdict in CLEAR for some in told])
    top = min(max(TOP, int(table["clear"].sum())), MOST)
    shown = table.sort_values("clear", ascending=False, kind="stable").head(top).astype(object)
    rows: list[dict[str, Any]] = shown.where(shown.notna(), None).to_dict("records")
    for row in rows:
        row["verdict"] = found.verdict_of(row["column"])
        row["near_level"] = any(one.near_level for one in row["told"])
    names = ("column", "verdict", "r", "q", "r_given", "q_given", "scale")
    row_table(rows, {name.replace("_", " "): name for name in names})
    scale = "; scale: 1 (smooth) to 4 (rough)" if any(row["scale"] for row in rows) else ""
    account = f"; given: {listed(known)} accounted for{'' if 'degree' in known else ', degree not'}" if known else ""
    said = (by_side(one.verdict, one.value) for row in rows for one in row["told"])
    words = explained(said, "degree" if known == ["degree"] else "covariates" if known else "")
    q = correction(found.findings, found.findings.tests).replace(" (q)", "")
    front = f"{'; '.join(words)}. " if words else ""
    text(f"{front}verdict: of all hops; r: correlation between {nodes(rows[0]['hop'])}; q: {q}{account}{scale}.")
    if len(table) > top:
        text(f"{len(table) - top:,} more columns; --csv writes all.")


def print_strongest(ds: "xr.Dataset") -> None:
    """A table of eigenvalues with their magnitudes, and what its signs mean."""
    from spectrata.core.registry import row_of
    from spectrata.results.schema import view
    from spectrata.stats.describe.summary import precision_notes, strongest_rows

    every, result = strongest_rows(ds), view(ds)
    title = "strongest, as eigenvalue: magnitude"
    rows = [row | {title: _strongest(row["strongest"])} for row in every[:STRONGEST]]
    row_table(rows, {"hop": "hop", ", ".join(result.row_dims): "row", "algorithm": "algorithm", title: title})
    operator = str(ds.attrs["laplacian"]).replace("_", "-")
    text(f"{operator} Laplacian; zero: components of eigenvalue 0; *: repeated eigenvalue, total over its eigenspace.")
    bound = [name for name in result.algorithms if not row_of(name).invariant(result.options)]
    if bound and any("*" in row[title] for row in rows):
        text(f"Magnitudes at * depend on the basis: {', '.join(bound)}.")
    if len(every) > len(rows):
        text(f"{len(every) - len(rows):,} more rows: --json and spectra.nc have all.")
    odd = [f"{row['algorithm']} at hop {row['hop']}: {row['status']}" for row in every if row["status"] != "ok"]
    for line in dict.fromkeys([*(f"{one}." for one in precision_notes(result)), *odd]):
        text(line)


def _strongest(found: list[dict[str, Any]]) -> str:
    if not found or found[0]["magnitude"] == 0.0:
        return "all zero" if found else "undefined"
    names = ["zero" if one["zero"] else f"{one['eigenvalue']:.4g}{'*' * (one['multiplicity'] > 1)}" for one in found]
    return "   ".join(f"{name}: {one['magnitude']:.4g}" for name, one in zip(names, found, strict=True))


def print_bands(ds: "xr.Dataset", graph: str) -> None:
    """Tables of the energy of bands, one for each hop, and what their numbers are."""
    import numpy as np

    from spectrata.stats.describe.spectrum import band_energy_shares
    from spectrata.stats.findings.finding import shown

    size = f"{ds.attrs['n_nodes']:,} nodes, {ds.attrs['n_edges']:,} edges"
    text(f"graph: {graph}: {size}{', weighted' * bool(ds.attrs['weights'])}")
    joined = -(-ds.sizes["band"] // BANDS)
    starts = range(0, ds.sizes["band"], joined)
    every = [dim for dim in ("algorithm", "snapshot", "column") if dim in ds.dims]
    shares, off = band_energy_shares(ds), ds["energy"].sum("band") + ds["energy_outside"]
    varying = (off / (off + ds["zero_energy"])).where(off + ds["zero_energy"] > 0)
    bound = (ds["cumulative_upper"] - ds["cumulative_lower"]).max("band") / 2
    places = list(np.ndindex(*(ds.sizes[dim] for dim in every)))
    for hop in ds["hop"].values.tolist():
        upper = ds["band_upper"].sel(hop=hop).values[[min(start + joined, ds.sizes["band"]) - 1 for start in starts]]
        cells = {f"hop {hop}, up to": [*(f"{edge:.4g}" for edge in upper), "off zero", "error"]}
        cells["chance"] = [*map(shown, np.add.reduceat(ds["chance"].sel(hop=hop).values, starts)), "", ""]
        for place in places[:SERIES]:
            at = dict(zip(every, place, strict=True))
            one, rest, error = (array.sel(hop=hop).isel(at) for array in (shares, varying, bound))
            name = " ".join(str(one[dim].item()) for dim in every)
            cells[name] = [*map(shown, np.add.reduceat(one.values, starts)), shown(rest.item()), shown(error.item())]
        table(cells)
    text(
        "Each number is a band's share of the energy off zero, up to this eigenvalue; error bounds cumulative shares; "
        "chance: the band's share of the eigenvalues."
    )
    if joined > 1 or len(places) > SERIES:
        text(f"The files hold all {ds.sizes['band']} bands of {len(places):,} spectra.")
    for word in sorted({str(word) for word in ds["status"].values.ravel() if word != "ok"}):
        text(f"note: {word}")
