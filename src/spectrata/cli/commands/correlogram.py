"""``spectrata correlogram``: likeness of nodes per hop distance, against chance."""

from typing import TYPE_CHECKING

from spectrata.cli.options import JSON, OUT, OUTPUT, Chance, GraphOptions, SignalOptions, option
from spectrata.cli.render import Meter, text

if TYPE_CHECKING:
    import xarray as xr


def correlogram(
    graph: GraphOptions,
    signal: SignalOptions,
    chance: Chance,
    out: str | None = OUT,
    top: int = option(20, OUTPUT, "N", "Rows to print.", min=1),
    json: bool = JSON,
) -> None:
    """Test whether nodes K hops apart are alike or unlike, at every hop.

    With -o DIR also write correlogram.csv and correlogram.png.
    """
    from spectrata.cli import files
    from spectrata.cli.describe import graph_facts, graph_line, headline, hop_rows, print_tests, statuses
    from spectrata.stats.verbs.correlogram import correlogram as compute

    folder = None if out is None else files.chosen_folder(out, out)
    with Meter() as progress:
        strat = graph.read(progress=progress)
        progress("permuting nodes", 0.3)
        known = signal.read(strat)
        ds = compute(strat, known, **signal.arguments(), **chance.arguments())
    rows = hop_rows(ds)
    if not json:
        if len(rows) == ds.sizes["hop"]:
            text(headline(signal.signal, rows, strat.diameter))
        text(graph_line(graph_facts(strat, graph.graph)))
        text(f"signal: {signal.signal}: {how_read(ds)}")
        shown = sorted(rows, key=lambda row: (row["p"] != row["p"], row["p"])) if "column" in rows[0] else rows
        print_tests(shown[:top], ds.attrs["given"])
        if len(rows) > top:
            text(f"{len(rows) - top:,} more rows; --top shows more, --json and -o have all.")
        statuses(shown[:top])
    facts = {"command": "correlogram", "graph": graph.graph, "signal": signal.signal, **ds.attrs, "rows": rows}
    files.finish(folder, files.tests(ds, rows), json, facts)


def how_read(ds: "xr.Dataset") -> str:
    """How a signal was read, in words."""
    numbers = ds.attrs["n_dimensions"]
    if "column" in ds.dims:
        return f"{ds.sizes['column']} columns, each by itself"
    if ds.attrs["metric"] == "labels":
        return f"labels of {numbers} classes"
    if numbers == 1:
        return "one number per node"
    return f"directions of {numbers} numbers" if ds.attrs["metric"] == "angular" else f"vectors of {numbers} numbers"
