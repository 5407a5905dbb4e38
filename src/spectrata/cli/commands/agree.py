"""``spectrata agree``: whether two signals agree beyond their smoothness."""

from typing import Annotated, Any

import typer

from spectrata.cli import options
from spectrata.cli.options import INPUT, GraphOptions, column_of, option, read_columns
from spectrata.cli.render import CHANCE, Meter, as_json, row_table, text

SHOWN = 20  # rows of the table
A = typer.Argument(metavar="A", help="A signal: node attribute of GRAPH or a file.")
B = typer.Argument(metavar="B", help="Another signal, or a table to compare with A column by column.")
NULL = option("spectral", options.CHANCE, "spectral|permutation", "Chance: as smooth as the signals, or shuffled.")


def agree(
    graph: GraphOptions,
    a: Annotated[str, A],
    b: Annotated[str, B],
    column_a: list[str] | None = column_of("A", "--column-a"),
    column: list[str] | None = column_of("B"),
    columns: str = option("auto", INPUT, "auto|joint|separate", "Columns as one vector per node, or each by itself."),
    metric: str = option("auto", INPUT, "auto|angular|euclidean", "Compare vectors by direction or by distance."),
    null: str = NULL,
    draws: int | None = options.DRAWS,
    seed: int = options.SEED,
    json: bool = options.JSON,
) -> None:
    """Test whether two signals agree beyond what their smoothness explains."""
    from spectrata.cli.describe import NAMES, graph_facts, graph_line, rows_of, statuses
    from spectrata.stats.verbs.agree import agree as compute

    with Meter() as progress:
        graph.hops = graph.hops or "1"
        strat = graph.read(progress=progress)
        progress("drawing surrogates", 0.2)
        one, other = (read_columns(of, strat, some) for of, some in ((a, column_a), (b, column)))
        ds = compute(strat, one, other, None, columns=columns, metric=metric, null=null, draws=draws, seed=seed)
    rows: list[dict[str, Any]] = rows_of(ds)
    if json:
        as_json({"command": "agree", "graph": graph.graph, "a": a, "b": b, **ds.attrs, "rows": rows})
        return
    same = [str(row["verdict"]) for row in rows if row["hop"] == 0]
    beyond = "beyond their smoothness" if null == "spectral" else "beyond shuffled nodes"
    if len(same) == 1:
        word = {"agree": "The signals agree", "opposite": "The signals are opposite"}.get(same[0])
        text(f"{word} {beyond}." if word else f"No agreement {beyond} was found ({same[0]}).")
    else:
        text(f"{same.count('agree')} of {len(same)} columns agree {beyond}, {same.count('opposite')} are opposite.")
    text(graph_line(graph_facts(strat, graph.graph)))
    rows = sorted(rows, key=lambda row: (row["p"] != row["p"], row["p"])) if "column" in ds.dims else rows
    rows, decides = rows[:SHOWN], "q" if "q" in rows[0] else "p_family"
    columns_shown = {"column": "column", "hop": "hop", "verdict": "verdict", "r": "r", "chance": CHANCE}
    row_table(rows, columns_shown | {decides[0]: decides}, left=NAMES)
    text("hop 0: the same node; hop K: one signal at one end of a pair, the other at the other end.")
    statuses(rows)
