"""Does ``diagnose`` tell sick from healthy? False findings and hits on graphs it was not tuned on.

The thresholds of ``diagnose`` were set on Cora, on a block model, and on 24 graphs of eight kinds
(preferential attachment, small worlds, geometric, power-law cluster, relaxed caveman, random regular, random trees,
triangular lattices). Here are 24 graphs of eight other kinds, each with signals that have nothing to find (white,
positive, heavy-tailed, shuffled), healthy sequences, and smoothed, collapsed and planted ones.

``python -m spectrata.experiments.studies.discrimination OUT`` writes ``discrimination.csv`` and
``discrimination.md``.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.analysis.diagnose import diagnose
from spectrata.analysis.findings import Findings
from spectrata.core.stratification import Stratification
from spectrata.experiments.studies.tables import from_terminal, markdown, write_table

if TYPE_CHECKING:
    import pandas as pd

SICK = {"over_smoothing", "collapse"}
STRUCTURE = {"homophily", "heterophily", "community"}
STEPS = {"low_pass", "high_pass"}
REPEATS = 5
# Name, signal, control, kinds that would be false ("heterophily@1": at K = 1), kinds one of which is a hit.
Scenario = tuple[str, np.ndarray, np.ndarray | None, set[str], set[str]]


def graphs(seed: int = 0) -> dict[str, Any]:
    """24 connected graphs, three each of eight kinds."""
    import networkx as nx

    found = {}
    for name, make in _kinds().items():
        for copy in range(3):
            graph = make(seed + copy)
            largest = max(nx.connected_components(graph), key=len)
            found[f"{name} {copy + 1}"] = nx.convert_node_labels_to_integers(nx.Graph(graph.subgraph(largest)))
    return found


def _kinds() -> dict[str, Callable[[int], Any]]:
    import networkx as nx

    return {
        "duplication and divergence": lambda s: nx.duplication_divergence_graph(120, 0.45, seed=s),
        "Waxman": lambda s: nx.waxman_graph(110, beta=0.7, alpha=0.12, seed=s),
        "hexagonal lattice": lambda s: nx.hexagonal_lattice_graph(5 + s % 3, 6),
        "extended preferential attachment": lambda s: nx.extended_barabasi_albert_graph(100, 1, 0.3, 0.1, seed=s),
        "circulant": lambda s: nx.circulant_graph(80 + 7 * (s % 3), [1, 3, 7]),
        "ring of cliques": lambda s: nx.ring_of_cliques(10 + s % 3, 7),
        "near neighbours of points in space": _near_neighbours,
        "three-dimensional grid": lambda s: nx.grid_graph([4, 5, 4 + s % 3]),
    }


def _near_neighbours(seed: int, n: int = 100, near: int = 5) -> Any:
    import networkx as nx

    points = np.random.default_rng([seed, 9]).uniform(size=(n, 3))
    distance = np.linalg.norm(points[:, None] - points, axis=2)
    order = np.argsort(distance, axis=1)[:, 1 : near + 1]
    return nx.Graph((x, int(y)) for x in range(n) for y in order[x])


def scenarios(graph: Any, rng: np.random.Generator) -> Iterator[Scenario]:
    """Signals of one graph, with what would be false to find in each and what would be right."""
    import networkx as nx

    n, d = graph.number_of_nodes(), 8
    adjacency = nx.to_numpy_array(graph, nodelist=range(n)) + np.eye(n)
    step = adjacency / np.sqrt(np.outer(adjacency.sum(0), adjacency.sum(0)))
    white = rng.standard_normal((n, d))
    smooth = white + 2 * np.linalg.matrix_power(step, 4) @ rng.standard_normal((n, d)) * 2
    anything = STRUCTURE | STEPS | SICK
    yield "white noise", white, None, anything, {"chance"}
    yield "white noise, one dimension", rng.standard_normal(n), None, anything, {"chance"}
    yield "positive noise", rng.exponential(size=(n, d)) + 0.5, None, anything, {"chance"}
    yield "heavy-tailed noise", rng.standard_t(2, size=(n, d)), None, anything, {"chance"}
    yield "smooth signal, shuffled", smooth[rng.permutation(n)], None, anything, {"chance"}
    yield "independent noises in a sequence", rng.standard_normal((5, n, d)), None, anything, {"chance"}
    drift = np.cumsum(0.2 * rng.standard_normal((5, n, d)), axis=0)
    yield (
        "healthy: slow random drift of a smooth signal",
        smooth + drift,
        None,
        SICK | {"high_pass", "heterophily@1"},
        {"homophily"},
    )
    labels = _communities(graph)
    planted = np.eye(labels.max() + 1)[labels] @ rng.standard_normal((labels.max() + 1, d))
    trained = np.stack([white + w * planted for w in (0.5, 1.0, 1.5, 2.0)])
    yield (
        "healthy: communities learned over epochs",
        trained,
        None,
        SICK | {"heterophily@1"},
        {"homophily", "community"},
    )
    layers, plain = [smooth], [smooth]
    for _ in range(2):
        weights = rng.standard_normal((d, d))
        layers.append(np.maximum(step @ layers[-1] @ weights, 0) + 1e-3)
        plain.append(np.maximum(plain[-1] @ weights, 0) + 1e-3)
    wrong = SICK | {"heterophily@1"}
    # ReLU alone moves energy to the mean; the fair control has the same layers and no message passing.
    yield "healthy: two random layers with ReLU", np.stack(layers), np.stack(plain), wrong, {"homophily"}
    yield "the same, judged against the input alone", np.stack(layers), None, wrong, {"homophily"}
    powers = (0, 2, 8, 32, 128)
    smoothed = np.stack([np.linalg.matrix_power(step, k) @ (1 + white) for k in powers])
    yield (
        "smoothed 0, 2, 8, 32, 128 times",
        smoothed,
        None,
        {"heterophily@1", "high_pass", "collapse"},
        {"over_smoothing"},
    )
    fading = np.stack([1 + w * white for w in (1.0, 0.3, 0.1, 0.03)])
    yield "collapsed onto a constant", fading, None, STRUCTURE | STEPS | {"over_smoothing"}, {"collapse"}
    yield "planted communities", white + 2 * planted, None, SICK | {"heterophily@1"}, {"community"}
    yield "planted smooth band", smooth, None, SICK | {"heterophily@1"}, {"homophily"}
    rough = white - 1.5 * np.linalg.matrix_power(step - 0.5 * np.eye(n), 1) @ white
    yield "planted fast band", rough, None, SICK | {"homophily@1"}, {"heterophily"}


def _communities(graph: Any) -> np.ndarray:
    """Labels by modularity: the divisions a signal can follow on any kind of graph."""
    import networkx as nx

    labels = np.zeros(graph.number_of_nodes(), dtype=int)
    for label, members in enumerate(nx.community.greedy_modularity_communities(graph, cutoff=3, best_n=3)):
        labels[list(members)] = label
    return labels


def run(out: str | Path, seed: int = 0, quick: bool = False) -> "pd.DataFrame":
    """Write the table of false findings and hits and give it back.

    Parameters
    ----------
    out : path
        Folder for ``discrimination.csv`` and ``discrimination.md``.
    seed : int
    quick : bool
        Every third graph, one signal of each kind.
    """
    import pandas as pd

    rows = []
    for index, (name, graph) in enumerate(graphs(seed).items()):
        if quick and index % 3:
            continue
        strat = Stratification(graph, hops=3)
        for repeat in range(1 if quick else REPEATS):
            rng = np.random.default_rng([seed, index, repeat])
            for scenario, signal, control, false, right in scenarios(graph, rng):
                found: Findings = diagnose(strat, signal, control=control)
                wrong = sorted((found.kinds | {f"{f.kind}@{f.hop}" for f in found}) & false)
                row = {
                    "graph": name,
                    "repeat": repeat,
                    "signal": scenario,
                    "false": bool(wrong),
                    "hit": bool(found.kinds & right),
                }
                rows.append(row | {"which_false": " ".join(wrong), "right": " or ".join(sorted(right))})
    details = pd.DataFrame(rows)
    table = summarise(details)
    write_table(details, Path(out), "discrimination", markdown(table))
    return table


def summarise(details: "pd.DataFrame") -> "pd.DataFrame":
    """Rates per kind of signal."""
    groups = details.groupby("signal", sort=False)
    table = groups.agg(
        cases=("hit", "size"), right=("right", "first"), hits=("hit", "mean"), false_findings=("false", "mean")
    )
    return table.reset_index()


if __name__ == "__main__":
    from_terminal(run, "False findings and hits of diagnose on graphs it was not tuned on.")
