"""``spectrata correlogram``: likeness of nodes per hop distance, against chance."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.cli import describe, files
from spectrata.cli.tables import label, print_table, print_text
from spectrata.cli.terminal import Meter
from spectrata.results.atomic_io import written_whole

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

TABLE, PICTURE = "correlogram.csv", "correlogram.png"
SHOWN = ("ratio", "ratio_error", "ratio_sd", "z", "p", "q", "moran")
FIELDS = ("ratio", "ratio_error", "ratio_sd", "z", "p", "p_method", "p_floor", "q", "moran", "moran_z", "status")


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
    from spectrata.inputs.columns import pick_columns
    from spectrata.inputs.graphs import as_graph
    from spectrata.inputs.signals import as_signal
    from spectrata.stats.correlogram import correlogram as compute

    folder = None if out is None else files.chosen_folder(out, out)
    with Meter() as progress:
        progress("reading", 0.0)
        rule = read_as.pop("hop_weights")
        known = as_graph(graph, n_nodes=n_nodes, **read_as)
        given = as_signal(signal, known)
        given = pick_columns(given, column) if column else given
        progress("pairs of nodes", 0.1)
        ds = compute(known, given, hop_weights=rule, **arguments)
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
    ds = ds.assign(ratio_sd=ds["null_std"] / ds["null_mean"])
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
    shown = frame.sort_values("p", kind="stable", na_position="last") if "column" in frame else frame
    records = shown.head(top).to_dict("records")
    front = {name: [label(row[name]) for row in records] for name in ("snapshot", "column") if name in frame}
    front["K"] = [str(row["hop"]) for row in records]
    titles = {"ratio_error": "error", "ratio_sd": "sd", "moran": "Moran"}
    numbers = {"pairs": [f"{row['n_pairs']:,.0f}" for row in records]}
    for name in (name for name in SHOWN if name in frame):
        numbers[titles.get(name, name)] = [_p(row) if name == "p" else _number(row[name]) for row in records]
    print_text(f"graph: {graph}: {ds.attrs['n_nodes']:,} nodes, {ds.attrs['n_edges']:,} edges")
    print_text(f"signal: {signal}: {_reading(ds)}")
    print_table(front, numbers, left=("snapshot", "column"))
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
    lines = ["ratio: mean squared difference over chance; below 1 alike, above 1 unlike; sd: its permutation spread"]
    if frame["p"].notna().any():
        lines.append("p: two-sided permutation test of one hop, not corrected for the number of hops")
    if "q" in frame:
        lines.append("q: false discovery rate over the columns at one hop")
    if (frame["p_method"] == "moments").any():
        share = ds.attrs.get("moments_agreement", np.nan)
        lines.append(
            f"*: p matched to exact moments; of {ds.attrs.get('moments_confirmed', 0)} cells that were also drawn "
            f"{100 * share:.0f} % agree"
        )
    if ds.attrs["roots"]:
        lines.append(f"beyond K = 1: the pairs of {ds.attrs['roots']} random roots; error: standard error of the ratio")
    if left > 0:
        lines.append(f"{left:,} more rows; --top shows more, --json and -o have all")
    return lines + [f"-: {words}" for words in sorted(set(frame["status"]) - {"ok"})]


def _p(row: dict[str, Any]) -> str:
    """p, with a word where the draws could give none smaller."""
    p = row["p"]
    if p != p:
        return "-"
    if row["p_method"] == "moments":
        return f"{p:.2g}*" if p > 1e-99 else "<1e-99*"
    return f"<= {p:.2g}" if p <= row["p_floor"] * (1 + 1e-9) else f"{p:.2g}"


def _number(value: Any) -> str:
    return "-" if value != value else f"{value:.3g}" if abs(value) < 1000 else f"{value:.3e}"
