"""``spectrata homophily``: how alike the labels of nodes K hops apart are."""

from typing import Annotated, Any

import typer

from spectrata.cli.options import INPUT, JSON, Chance, GraphOptions, option, parse_names
from spectrata.cli.render import Meter, as_json, count, shown, text

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
    from spectrata.cli.describe import graph_facts, graph_line, headline, hop_rows, print_tests, statuses
    from spectrata.stats.verbs.homophily import homophily as measure

    with Meter() as progress:
        strat = graph.read(progress=progress)
        progress("permuting labels", 0.3)
        found = measure(strat, labels, missing=parse_names(missing), **chance.arguments())
    facts, rows = graph_facts(strat, graph.graph), hop_rows(found)
    by_measure = {name: found["homophily"].sel(measure=name).values.tolist() for name in found["measure"].values}
    if json:
        names = ("n_labelled", "n_missing", "draws", "seed", "given")
        document: dict[str, Any] = {"command": "homophily", "graph": facts, "labels": labels}
        as_json(document | {name: found.attrs[name] for name in names} | {"hops": _json(found, rows)})
        return
    text(headline(labels, rows, facts["diameter"]))
    text(graph_line(facts))
    lacking = f", {found.attrs['n_missing']:,} without a label" if found.attrs["n_missing"] else ""
    text(f"labels: {labels}: {count(found.attrs['n_labelled'], 'node')}{lacking}, {found.sizes['label']} classes")
    print_tests(rows, found.attrs["given"], {name: [shown(value) for value in by_measure[name]] for name in MEASURES})
    text("r is adjusted homophily; edge, node and class homophily are shown beside it and not tested.")
    statuses(rows)


def _json(found: Any, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    out = []
    for row in rows:
        one = found.sel(hop=row["hop"])
        values = ("homophily", "homophily_low", "homophily_high")
        measures = {
            str(name): {value: one[value].sel(measure=name).item() for value in values}
            for name in one["measure"].values
        }
        classes = {str(name): one["class_homophily"].sel(label=name).item() for name in one["label"].values}
        out.append(row | {"measures": measures, "classes": classes})
    return out
