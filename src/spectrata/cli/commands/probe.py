"""``spectrata probe``: what a model will gain from the graph."""

from typing import Annotated, Any

import typer

from spectrata.cli.options import COLUMN, COMPUTED, GRAPH, INPUT, JSON, SEED, option, parse_weights
from spectrata.cli.render import as_json, lines, progress_bar

FEATURES = typer.Argument(metavar="FEATURES", help="One row of numbers per node.")
LABELS = typer.Argument(metavar="LABELS", help="Classes or numbers: node attribute of GRAPH, or a file.")


def probe(
    graph: Annotated[str, GRAPH],
    features: Annotated[str, FEATURES],
    labels: Annotated[str, LABELS],
    column: list[str] | None = COLUMN,
    task: str = option("auto", COMPUTED, "auto|classification|regression", "What to predict."),
    weights: str | None = option(None, INPUT, "NAME|true|false", "Edge weights."),
    repeats: int | None = option(None, COMPUTED, "N", "How often folds are drawn. (default: up to 5)", min=1),
    rewired: int = option(5, COMPUTED, "N", "Rewired graphs for comparison.", min=1),
    seed: int = SEED,
    json: bool = JSON,
) -> None:
    """Estimate what a model gains from the graph, by linear models on the nodes that have a label."""
    from spectrata.inputs.graphs import as_graph
    from spectrata.stats.verbs.probe import probe as compute
    from spectrata.stats.verbs.reading import label_columns

    with progress_bar() as progress:
        known = as_graph(graph, weights=parse_weights(weights))
        chosen = label_columns(labels, known, column or ())
        own = next(iter(chosen.values())) if len(chosen) == 1 else labels
        progress("scoring views of the features", 0.1)
        found = compute(known, features, own, task=task, repeats=repeats, rewired=rewired, seed=seed)
    if json:
        facts: dict[str, Any] = {"command": "probe", "graph": graph, "features": features, "labels": labels}
        facts |= {"verdict": found.verdict, "headline": found.headline, "gain": found.gain, "best": found.best}
        as_json(facts | {"gain_error": found.gain_error, "views": found.to_frame().to_dict("records")})
        return
    lines(str(found).splitlines())
