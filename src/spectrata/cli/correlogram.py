"""``spectrata correlogram``: likeness of nodes per hop distance, against chance."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from spectrata.cli import describe, files
from spectrata.cli.tables import label, print_table, print_text
from spectrata.cli.terminal import Meter
from spectrata.results.atomic_io import written_whole

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

TABLE, PICTURE = "correlogram.csv", "correlogram.png"
FIELDS = (
    "verdict",
    "r",
    "chance_low",
    "chance_high",
    "p",
    "p_family",
    "q",
    "r_given",
    "p_given",
    "p_family_given",
    "q_given",
    "near_level",
    "participation",
    "geary",
    "moran",
    "status",
)


def correlogram(
    graph: str,
    signal: str,
    *,
    out: str | None,
    n_nodes: int | None,
    read_as: dict[str, Any],
    arguments: dict[str, Any],
    column: list[str] | None,
    top: int,
    as_json: bool,
) -> None:
    """Compute, write where asked, print."""
    from spectrata.core.stratification import Stratification
    from spectrata.inputs.columns import pick_columns
    from spectrata.inputs.graphs import as_graph
    from spectrata.inputs.signals import as_signal
    from spectrata.stats.verbs.correlogram import correlogram as compute

    folder = None if out is None else files.chosen_folder(out, out)
    with Meter() as progress:
        progress("reading", 0.0)
        rule = read_as.pop("hop_weights")
        known = as_graph(graph, n_nodes=n_nodes, **read_as)
        given = as_signal(signal, known)
        given = pick_columns(given, column) if column else given
        progress("pairs of nodes", 0.1)
        strat = Stratification(known, arguments.pop("hops"), hop_weights=rule)
        ds = compute(strat, given, **arguments)
        if arguments["columns"] == "joint":
            describe.note_columns(given, ds, arguments["metric"])
        frame = _frame(ds)
        paths = {} if folder is None else _write(ds, frame, folder)
    if as_json:
        import typer

        rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
        document = {"command": "correlogram", "graph": graph, "signal": signal, **ds.attrs, "rows": rows}
        typer.echo(describe.to_json(document | {"files": {kind: str(path) for kind, path in paths.items()}}))
        return
    _print(graph, signal, ds, frame, top)
    if paths:
        print_text(f"written: {', '.join(str(path) for path in paths.values())}")


def _frame(ds: "xr.Dataset") -> "pd.DataFrame":
    """One row for each snapshot, column and hop."""
    frame = ds[[name for name in FIELDS if name in ds]].to_dataframe().reset_index()
    first = [name for name in ("snapshot", "column", "hop", "n_pairs") if name in frame]
    return frame[first + [name for name in FIELDS if name in frame]]


def _write(ds: "xr.Dataset", frame: "pd.DataFrame", folder: Path) -> dict[str, Path]:
    from spectrata.plot import correlogram as draw

    with written_whole(folder / TABLE) as beside:
        frame.to_csv(beside, index=False)
    with written_whole(folder / PICTURE) as beside:
        draw(ds)[0].figure.savefig(beside, dpi=150, format="png")
    return {"table": folder / TABLE, "picture": folder / PICTURE}


def _print(graph: str, signal: str, ds: "xr.Dataset", frame: "pd.DataFrame", top: int) -> None:
    from spectrata.stats.findings.table import shown as number
    from spectrata.stats.findings.table import shown_p

    shown = frame.sort_values("p", kind="stable", na_position="last") if "column" in frame else frame
    records = shown.head(top).to_dict("records")
    front = {name: [label(row[name]) for row in records] for name in ("snapshot", "column") if name in frame}
    front["K"] = [str(row["hop"]) for row in records]
    decides = ("q", "q_given") if "q" in frame else ("p_family", "p_family_given")
    cells = {
        "pairs": [f"{row['n_pairs']:,}" for row in records],
        "verdict": [str(row["verdict"]) for row in records],
        "r": [number(row["r"]) for row in records],
        "chance": [f"{number(row['chance_low'])} to {number(row['chance_high'])}" for row in records],
        "p": [shown_p(row[decides[0]]) for row in records],
        "r given": [number(row["r_given"]) for row in records],
        "p given": [shown_p(row[decides[1]]) for row in records],
    }
    print_text(f"graph: {graph}: {ds.attrs['n_nodes']:,} nodes, {ds.attrs['n_edges']:,} edges")
    print_text(f"signal: {signal}: {_reading(ds)}")
    print_table(front, cells, left=("snapshot", "column", "verdict"))
    for line in _notes(ds, frame, len(shown) - top):
        print_text(line)


def _reading(ds: "xr.Dataset") -> str:
    width = ds.attrs["n_dimensions"]
    if ds.attrs["columns"] == "separate":
        return f"{describe.count(width, 'column')}, each a signal of its own; metric euclidean"
    angular = ds.attrs["metric"] == "angular"
    how = "compared by direction (metric='angular')" if angular else "metric euclidean"
    return f"{describe.count(width, 'number')} per node; {how}"


def _notes(ds: "xr.Dataset", frame: "pd.DataFrame", left: int) -> list[str]:
    lines = ["r: correlation between the two ends of a pair; chance: 95 % of the permutations, one hop at a time"]
    if frame["p"].notna().any():
        over = "the columns (false discovery rate)" if "q" in frame else "all hops"
        lines.append(
            f"p: two-sided permutation test, corrected over {over}; given: given {ds.attrs['given'] or 'nothing'}"
        )
    if left > 0:
        lines.append(f"{left:,} more rows; --top shows more, --json and -o have all")
    return lines + [f"status: {words}" for words in sorted(set(frame["status"]) - {"ok"})]
