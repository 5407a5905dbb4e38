"""``spectrata agree``: whether two signals agree beyond their smoothness."""

from typing import Annotated, Any

import typer

from spectrata.cli.options import CHANCE, DRAWS, INPUT, JSON, SEED, GraphOptions, option
from spectrata.cli.render import Meter, as_json, shown, shown_p, table, text

SHOWN = 20  # rows of the table
A = typer.Argument(metavar="A", help="A signal: node attribute of GRAPH or a file.")
B = typer.Argument(metavar="B", help="Another signal, or a table to compare with A column by column.")


def agree(
    graph: GraphOptions,
    a: Annotated[str, A],
    b: Annotated[str, B],
    columns: str = option("auto", INPUT, "auto|joint|separate", "Columns as one vector per node, or each by itself."),
    metric: str = option("auto", INPUT, "auto|angular|euclidean", "Compare vectors by direction or by distance."),
    null: str = option("spectral", CHANCE, "spectral|permutation", "Chance: as smooth as the signals, or shuffled."),
    draws: int | None = DRAWS,
    seed: int = SEED,
    json: bool = JSON,
) -> None:
    """Test whether two signals agree beyond what their smoothness explains."""
    from spectrata.cli.describe import graph_facts, graph_line, statuses
    from spectrata.stats.verbs.agree import agree as compute

    with Meter() as progress:
        graph.hops = graph.hops or "1"
        strat = graph.read(progress=progress)
        progress("drawing surrogates", 0.2)
        ds = compute(strat, a, b, None, columns=columns, metric=metric, null=null, draws=draws, seed=seed)
    names = [name for name in ds.data_vars if set(ds[name].dims) <= {"column", "hop"}]
    rows: list[dict[str, Any]] = ds[names].to_dataframe().reset_index().to_dict("records")
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
    cells: dict[str, list[Any]] = {
        name: [row[name] for row in rows] for name in ("column", "hop", "verdict") if name in rows[0]
    }
    cells |= {"r": [shown(row["r"]) for row in rows]}
    cells |= {"chance": [f"{shown(row['chance_low'])} to {shown(row['chance_high'])}" for row in rows]}
    cells |= {decides[0]: [shown_p(row[decides]) for row in rows]}
    table(cells, left=("column", "verdict"))
    text("hop 0: the same node; hop K: one signal at one end of a pair, the other at the other end.")
    statuses(rows)
