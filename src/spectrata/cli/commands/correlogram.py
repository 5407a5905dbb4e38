"""``spectrata correlogram``: likeness of nodes per hop distance, against chance."""

from spectrata.cli import files, options
from spectrata.cli.options import Chance, GraphOptions, SignalOptions
from spectrata.cli.render import progress_bar


def correlogram(
    graph: GraphOptions,
    signal: SignalOptions,
    chance: Chance,
    out: str | None = options.OUT,
    top: int | None = options.TOP,
    json: bool = options.JSON,
) -> None:
    """Test whether nodes K hops apart are alike or unlike, at every hop.

    With -o DIR also write correlogram.csv and correlogram.png.
    """
    from spectrata.cli.describe import print_reading, rows_of
    from spectrata.stats.describe.sizes import graph_facts
    from spectrata.stats.verbs.correlogram import correlogram as compute

    folder = None if out is None else files.chosen_folder(out, out)
    with progress_bar() as progress:
        strat = graph.read(progress=progress)
        progress("permuting nodes", 0.3)
        known = signal.read(strat)
        ds = compute(strat, known, **signal.arguments(), **chance.arguments())
    rows = rows_of(ds)
    if not json:
        print_reading(ds, rows, signal.names, graph_facts(strat, graph.graph), None if signal.column else top)
    facts = {"command": "correlogram", "graph": graph.graph, "signal": signal.signal, **ds.attrs, "rows": rows}
    contents = files.frame("table", "correlogram.csv", rows) | files.picture("correlogram", "correlogram.png", ds)
    files.finish(folder, contents, json, facts)
