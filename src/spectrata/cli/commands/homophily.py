"""``spectrata homophily``: how alike the labels of nodes K hops apart are."""

from typing import Annotated, Any

import typer

from spectrata.cli.options import COLUMN, JSON, MISSING, TOP, Chance, GraphOptions, read_labels
from spectrata.cli.render import as_json, count, progress_bar, text

LABELS = typer.Argument(metavar="LABELS", help="Node attribute of GRAPH, or .csv, .tsv, .txt, .json, .npy or .npz.")
MEASURES = ("edge", "node", "class")


def homophily(
    graph: GraphOptions,
    labels: Annotated[str, LABELS],
    chance: Chance,
    column: list[str] | None = COLUMN,
    missing: str = MISSING,
    top: int | None = TOP,
    json: bool = JSON,
) -> None:
    """Test whether the labels of nodes K hops apart are alike, at every hop.

    Of a table every column of text is tested by itself.
    """
    from spectrata.cli.describe import print_reading, rows_of
    from spectrata.stats.describe.sizes import graph_facts
    from spectrata.stats.verbs.homophily import of_columns

    with progress_bar() as progress:
        strat = graph.read(progress=progress)
        progress("permuting labels", 0.3)
        known = read_labels(labels, strat, column, missing)
        found = of_columns(strat, known, **chance.arguments())
    facts, rows = graph_facts(strat, graph.graph), rows_of(found)
    if json:
        names = ("n_labelled", "n_missing", "draws", "seed", "given")
        document: dict[str, Any] = {"command": "homophily", "graph": facts, "labels": labels}
        document |= {name: found.attrs[name] for name in names}
        values = ("homophily", "homophily_low", "homophily_high")
        for row in rows:
            one = found.sel({name: row[name] for name in ("column", "hop") if name in found.dims})
            by_measure = one[list(values)].to_dataframe()[list(values)].to_dict("index")
            row |= {"measures": by_measure, "classes": one["class_homophily"].dropna("label").to_series().to_dict()}
        as_json(document | {"hops": rows})
        return
    beside = found["homophily"].to_series().unstack("measure")[list(MEASURES)].to_dict("records")
    rows = [row | more for row, more in zip(rows, beside, strict=True)]
    print_reading(found, rows, [labels, *filter(None, known)], facts, None if column else top, MEASURES)
    text("r is adjusted homophily; edge, node and class homophily are shown beside it and not tested.")
    for name, own in known.items():
        if lacking := int((own.codes < 0).sum()):
            text(f"{name or labels}: {count(lacking, 'node')} without a label")
