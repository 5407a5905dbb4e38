"""``spectrata profile --bands``: from a large graph and a signal to energies per band."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.cli import files
from spectrata.cli.describe import note_columns
from spectrata.cli.tables import label, print_table, print_text
from spectrata.cli.terminal import Meter
from spectrata.errors import OptionError
from spectrata.plot.style import weights_words
from spectrata.stats.describe.spectrum import band_energy_shares

if TYPE_CHECKING:
    import xarray as xr

TAKEN = (
    "algorithms", "metric", "columns", "zero_vectors", "seed", "device", "orientation", "laplacian", "self_loops",
    "spacing",
)  # fmt: skip
SHOWN = 12  # bands of a row in the table; more are merged
ROWS = 20  # snapshots and columns in the table


def profile_bands(
    graph: str,
    signal: str,
    bands: int | list[float],
    *,
    out: str | None,
    hops: int | list[int] | None,
    n_nodes: int | None,
    as_json: bool,
    arguments: dict[str, Any],
    read_as: dict[str, Any],
    column: list[str] | None = None,
) -> None:
    """Compute, write, print."""
    from spectrata.bands.spectra import band_spectra
    from spectrata.inputs.columns import pick_columns
    from spectrata.inputs.graphs import as_graph
    from spectrata.inputs.signals import as_signal

    given = {name: value for name, value in arguments.items() if value is not None}
    given = {name: value for name, value in given.items() if (name, value) != ("dtype", "float64")}
    refused = sorted(set(given) - set(TAKEN))
    if refused:
        raise OptionError(f"--{refused[0].replace('_', '-')} needs eigenvectors; --bands does not compute them.")
    folder = files.chosen_folder(out, files.default_folder(graph))
    with Meter() as progress:
        progress("bands", 0.0)
        given["hops"] = hops or [1]
        known = as_graph(graph, n_nodes=n_nodes, weights=read_as["weights"], undirected=read_as["undirected"])
        values = as_signal(signal, known)
        values = pick_columns(values, column) if column else values
        rule = read_as["hop_weights"]
        ds = band_spectra(known, values, bands, hop_weights=rule, progress=progress, **given)
        if given["columns"] == "joint":
            note_columns(values, ds, given["metric"])
        progress("writing", 1.0)
        paths = files.write_files(ds, folder)
    if as_json:
        _print_json(ds, paths, read_as, {"graph": graph, "signal": signal})
    else:
        _print(ds, graph, paths)


def _print(ds: "xr.Dataset", graph: str, paths: dict[str, Path]) -> None:
    rule = ds.attrs["weights"]
    size = f"{ds.attrs['n_nodes']:,} nodes, {ds.attrs['n_edges']:,} edges"
    size += f", {weights_words(rule)}" if rule else ""
    print_text(f"graph: {graph}: {size}; metric {ds.attrs['metric']}")
    joined = -(-ds.sizes["band"] // SHOWN)
    if joined > 1:
        print_text(f"Tables merge every {joined} bands into one; the files hold all {ds.sizes['band']} bands.")
    for hop in ds["hop"].values:
        at = ds.sel({"hop": hop})
        upper = at["band_upper"].values[joined - 1 :: joined]
        upper = upper if len(at["band_upper"]) % joined == 0 else np.append(upper, at["band_upper"].values[-1])
        titles = ["off zero", "steps", "±", *_edges(upper.tolist())]
        front: dict[str, list[str]] = {"K": [], "algorithm": []}
        rows: list[list[str]] = []
        for algorithm in at["algorithm"].values:
            for names, row in _rows(at.sel({"algorithm": algorithm}), joined)[:ROWS]:
                rows.append(row)
                front["K"].append(str(int(hop)))
                front["algorithm"].append(str(algorithm))
                for dim, name in names.items():
                    front.setdefault(dim, []).append(label(name))
        chance = np.add.reduceat(at["chance"].values, range(0, len(at["chance"]), joined))
        rows.append(["", "", "", *(f"{value:.3f}" for value in chance)])
        for title, cells in front.items():
            cells.append({"K": str(int(hop)), "algorithm": "chance"}.get(title, ""))
        print_table(front, {title: [row[i] for row in rows] for i, title in enumerate(titles)}, left=list(front)[1:])
    print_text("Each number is a band's share of the energy off zero; ± bounds the error of the cumulative shares.")
    if not ds["complete"].all():
        print_text("Shares do not add up to 1 where energy lies below the first edge or above the last.")
    mean = ", which is the permutation mean of gft" if ds.attrs["laplacian"] == "combinatorial" else ""
    print_text(f"chance: the band's share of the eigenvalues off zero{mean}.")
    total = ds.sizes.get("snapshot", 1) * ds.sizes.get("column", 1)
    if total > ROWS:
        print_text(f"The table shows {ROWS} of {total:,} snapshots and columns; the files have all.")
    for word in sorted({str(word) for word in ds["status"].values.ravel() if word != "ok"}):
        print_text(f"note: {word}")
    print_text(f"written: {', '.join(str(path) for path in paths.values())}")


def _edges(upper: list[float]) -> list[str]:
    """Upper ends of bands with as many digits as tell them apart."""
    for digits in range(3, 18):
        titles = [f"≤ {edge:.{digits}g}" for edge in upper]
        if len(set(titles)) == len(titles):
            return titles
    return [f"{index}: {title}" for index, title in enumerate(titles, 1)]


def _rows(one: "xr.Dataset", joined: int) -> "list[tuple[dict[str, Any], list[str]]]":
    """The names of each snapshot and column, and its numbers."""
    dims = [dim for dim in ("snapshot", "column") if dim in one.dims]
    rows = []
    for place in np.ndindex(*(one.sizes[dim] for dim in dims)):
        at = one.isel(dict(zip(dims, place, strict=True)))
        names = {dim: at[dim].item() for dim in dims}
        total = float(at["energy"].sum() + at["energy_outside"])
        whole = total + float(at["zero_energy"])
        share = np.add.reduceat(band_energy_shares(at).values, range(0, at.sizes["band"], joined))
        half = float((at["cumulative_upper"] - at["cumulative_lower"]).max()) / 2
        off = total / whole if whole > 0 else np.nan
        numbers = [_number(off), str(int(at["steps"])), *(_number(value) for value in (half, *share))]
        rows.append((names, numbers))
    return rows


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3f}"


def _print_json(ds: "xr.Dataset", paths: dict[str, Path], read_as: dict[str, Any], sources: dict[str, str]) -> None:
    import typer

    from spectrata.cli.describe import to_json
    from spectrata.results.schema import options_of

    names = ["energy", "energy_lower", "energy_upper", "cumulative", "cumulative_lower", "cumulative_upper"]
    names += ["zero_energy", "energy_outside", "steps", "status"]
    document = {
        "spectrata": ds.attrs["spectrata_version"],
        "command": "profile",
        **sources,
        "seed": int(ds.attrs["seed"]),
        "options": options_of(ds),
        "n_nodes": ds.attrs["n_nodes"],
        "n_edges": ds.attrs["n_edges"],
        "weights": read_as["weights"],
        "hop_weights": ds.attrs["weights"] or None,
        "undirected": read_as["undirected"],
        "metric": ds.attrs["metric"],
        "snapshots": ds["snapshot"].values.tolist() if "snapshot" in ds.dims else None,
        "columns": ds["column"].values.tolist() if "column" in ds.dims else None,
        "algorithms": ds["algorithm"].values.tolist(),
        "hops": ds["hop"].values.tolist(),
        "band_lower": ds["band_lower"].values.tolist(),
        "band_upper": ds["band_upper"].values.tolist(),
        "band_size": ds["band_size"].values.tolist(),
        "band_size_error": ds["band_size_error"].values.tolist(),
        "chance": ds["chance"].values.tolist(),
        **{name: _or_null(ds[name].values.tolist()) for name in names},
        "files": {kind: str(path) for kind, path in paths.items()},
    }
    typer.echo(to_json(document))


def _or_null(value: Any) -> Any:
    """Nested lists with null for what is undefined: JSON has no NaN."""
    if isinstance(value, list):
        return [_or_null(one) for one in value]
    return None if value != value else value
