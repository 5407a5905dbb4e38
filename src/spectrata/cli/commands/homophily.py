"""``spectrata homophily``: how alike the labels of nodes K hops apart are."""

from typing import Annotated, Any

import typer

from spectrata.cli.options import INPUT, JSON, Chance, GraphOptions, option, parse_names
from spectrata.cli.render import Meter, as_json, count, text

LABELS = typer.Argument(metavar="LABELS", help="Node attribute of GRAPH, or .csv, .tsv, .txt, .json, .npy or .npz.")
MEASURES = ("edge", "node", "class")


def homophily(
    graph: GraphOptions,
    labels: Annotated[str, LABELS],
    chance: Chance,
    missing: str | None = option(None, INPUT, "VALUES", "Values that mean no label, such as -1."),
    json: bool = JSON,
) -> None:
    """Test whether the labels of nodes K hops apart are alike, at every hop."""
    from spectrata.cli.describe import graph_facts, graph_line, headline, print_tests, rows_of, statuses
    from spectrata.stats.verbs.homophily import homophily as measure

    with Meter() as progress:
        strat = graph.read(progress=progress)
        progress("permuting labels", 0.3)
        found = measure(strat, labels, missing=parse_names(missing), **chance.arguments())
    facts, rows = graph_facts(strat, graph.graph), rows_of(found)
    if json:
        names = ("n_labelled", "n_missing", "draws", "seed", "given")
        document: dict[str, Any] = {"command": "homophily", "graph": facts, "labels": labels}
        document |= {name: found.attrs[name] for name in names}
        values = ("homophily", "homophily_low", "homophily_high")
        for row in rows:
            one = found.sel(hop=row["hop"])
            by_measure = one[list(values)].to_dataframe()[list(values)].to_dict("index")
            row |= {"measures": by_measure, "classes": one["class_homophily"].to_series().to_dict()}
        as_json(document | {"hops": rows})
        return
    text(headline(labels, rows, facts["diameter"]))
    text(graph_line(facts))
    lacking = f", {found.attrs['n_missing']:,} without a label" if found.attrs["n_missing"] else ""
    text(f"labels: {labels}: {count(found.attrs['n_labelled'], 'node')}{lacking}, {found.sizes['label']} classes")
    beside = found["homophily"].to_series().unstack("measure")[list(MEASURES)].to_dict("records")
    print_tests([row | more for row, more in zip(rows, beside, strict=True)], found.attrs["given"], MEASURES)
    text("r is adjusted homophily; edge, node and class homophily are shown beside it and not tested.")
    statuses(rows)
