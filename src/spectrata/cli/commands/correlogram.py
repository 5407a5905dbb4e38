"""``spectrata correlogram``: likeness of nodes per hop distance, against chance."""

from typing import TYPE_CHECKING

from spectrata.cli import options
from spectrata.cli.options import OUTPUT, Chance, GraphOptions, SignalOptions, option
from spectrata.cli.render import Meter, text

if TYPE_CHECKING:
    import xarray as xr


def correlogram(
    graph: GraphOptions,
    signal: SignalOptions,
    chance: Chance,
    out: str | None = options.OUT,
    top: int = option(7, OUTPUT, "N", "Rows to print.", min=1),
    json: bool = options.JSON,
) -> None:
    """Test whether nodes K hops apart are alike or unlike, at every hop.

    With -o DIR also write correlogram.csv and correlogram.png.
    """
    from spectrata.cli import files
    from spectrata.cli.describe import graph_facts, graph_line, headline, print_tests, rows_of, statuses
    from spectrata.stats.verbs.correlogram import correlogram as compute

    folder = None if out is None else files.chosen_folder(out, out)
    with Meter() as progress:
        strat = graph.read(progress=progress)
        progress("permuting nodes", 0.3)
        known = signal.read(strat)
        ds = compute(strat, known, **signal.arguments(), **chance.arguments())
    rows = rows_of(ds)
    if not json:
        if "column" in ds.dims:
            clear = {row["column"] for row in rows if row["verdict"] in ("alike", "unlike")}
            text(f"{signal.signal}: {len(clear)} of {ds.sizes['column']} columns are alike or unlike at some hop")
        else:
            text(headline(f"{signal.signal} ({_how_read(ds)})", rows[-ds.sizes["hop"] :], strat.diameter))
        text(graph_line(graph_facts(strat, graph.graph)))
        shown = sorted(rows, key=lambda row: (row["p"] != row["p"], row["p"])) if "column" in rows[0] else rows
        print_tests(shown[:top], ds.attrs["given"])
        if len(rows) > top:
            text(f"{len(rows) - top:,} more rows; --top shows more, --json and -o have all.")
        statuses(shown[:top])
    facts = {"command": "correlogram", "graph": graph.graph, "signal": signal.signal, **ds.attrs, "rows": rows}
    contents = files.frame("table", "correlogram.csv", rows) | files.picture("correlogram", "correlogram.png", ds)
    files.finish(folder, contents, json, facts)


def _how_read(ds: "xr.Dataset") -> str:
    numbers, metric = ds.attrs["n_dimensions"], ds.attrs["metric"]
    if metric == "labels" or numbers == 1:
        return f"labels of {numbers} classes" if metric == "labels" else "one number per node"
    return f"{'directions' if metric == 'angular' else 'vectors'} of {numbers} numbers"
