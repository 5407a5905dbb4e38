"""``spectrata agree``: whether two signals agree beyond their smoothness."""

from typing import Annotated, Any

import typer

from spectrata.cli import options
from spectrata.cli.options import COLUMN, INPUT, Chance, GraphOptions, option, read_columns
from spectrata.cli.render import CHANCE, as_json, progress_bar, row_table, text
from spectrata.errors import OptionError

SHOWN = 20  # rows of the table
A = typer.Argument(metavar="A", help="A signal: node attribute of GRAPH or a file.")
B = typer.Argument(metavar="B", help="Another signal, or a table to compare with A column by column.")
COLUMN_A = option(None, INPUT, "NAME", "Only this column of A; --column does the same for B.", "--column-a")
NULL = option("spectral", options.CHANCE, "spectral|permutation", "Chance: as smooth as the signals, or shuffled.")


def agree(
    graph: GraphOptions,
    a: Annotated[str, A],
    b: Annotated[str, B],
    chance: Chance,
    column_a: list[str] | None = COLUMN_A,
    column: list[str] | None = COLUMN,
    columns: str = option("auto", INPUT, "auto|joint|separate", "Columns as one vector per node, or each by itself."),
    metric: str = option("auto", INPUT, "auto|angular|euclidean", "Compare vectors by direction or by distance."),
    null: str = NULL,
    json: bool = options.JSON,
) -> None:
    """Test whether two signals agree beyond what their smoothness explains."""
    from spectrata.cli.describe import graph_line, rows_of, statuses
    from spectrata.stats.describe.sizes import graph_facts
    from spectrata.stats.findings.sentences import agree_sentence, covariate_names, listed
    from spectrata.stats.verbs.agree import agree as compute

    with progress_bar() as progress:
        graph.hops = graph.hops or "1"
        strat = graph.read(progress=progress)
        progress("drawing surrogates", 0.2)
        one, other = (read_columns(of, strat, some) for of, some in ((a, column_a), (b, column)))
        tables = [some.reading == "separate" and len(some.columns or ()) > 1 for some in (one, other)]
        if all(tables) and columns != "joint":
            raise OptionError("A and B are tables; choose a column of A by --column-a NAME, or of B by --column NAME.")
        ds = compute(strat, one, other, None, columns=columns, metric=metric, null=null, **chance.arguments())
    rows: list[dict[str, Any]] = rows_of(ds)
    if json:
        as_json({"command": "agree", "graph": graph.graph, "a": a, "b": b, **ds.attrs, "rows": rows})
        return
    text(agree_sentence([str(row["verdict"]) for row in rows if row["hop"] == 0], null))
    text(graph_line(graph_facts(strat, graph.graph)))
    rows = sorted(rows, key=lambda row: (row["p"] != row["p"], row["p"])) if "column" in ds.dims else rows
    rows, decides = rows[:SHOWN], "q" if "q" in rows[0] else "p_family"
    columns_shown = {"column": "column", "hop": "hop", "verdict": "verdict", "r": "r", "chance": CHANCE}
    columns_shown |= {decides[0]: decides, "r given": "r_given", f"{decides[0]} given": f"{decides}_given"}
    row_table(rows, columns_shown)
    names = covariate_names(chance.arguments()["given"])
    known = f" given: {listed(names)} accounted for." if names else ""
    text(f"hop 0: the same node; hop K: one signal at one end of a pair, the other at the other end.{known}")
    statuses(rows)
