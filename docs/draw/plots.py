"""Draw a small figure for each function of `spectrata.plot`: `python docs/draw/plots.py`."""

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import spectrata as st

IMAGES = Path(__file__).parents[1] / "images"
GRAPH = nx.Graph(nx.karate_club_graph().edges)
PLACES = nx.spring_layout(GRAPH, seed=3)


def layers() -> dict[Any, np.ndarray]:
    """Random features of the nodes, smoothed over the graph 0 to 4 times."""
    smoothing = np.eye(34) - nx.normalized_laplacian_matrix(GRAPH).toarray() / 2
    features = np.random.default_rng(0).normal(size=(34, 8))
    steps = [np.linalg.matrix_power(smoothing, times) @ features for times in range(5)]
    return {node: np.stack([step[row] for step in steps]) for row, node in enumerate(GRAPH)}


def figures() -> dict[str, Any]:
    """Axes of each picture, by the name of its function."""
    from spectrata.inputs.signals import Signal

    strat = st.Stratification(GRAPH, hops=3)
    order = list(strat.graph.names)
    given = layers()
    values = np.stack([given[node] for node in order], axis=1)  # (5, 34, 8)
    side = {node: float(nx.karate_club_graph().nodes[node]["club"] == "Officer") for node in GRAPH}
    club, states = strat.spectra(side), strat.spectra(Signal(values, tuple(range(5)), "layers"))
    return {
        "spectra": st.plot.spectra(club),
        "hops": st.plot.hops(club),
        "spectrogram": st.plot.spectrogram(states, hops=[1, 2]),
        "correlogram": st.plot.correlogram(st.correlogram(GRAPH, side)),
        "strata": st.plot.strata(strat, pos=PLACES),
        "compare": st.plot.compare(
            club, strat.spectra({node: place[0] for node, place in PLACES.items()}), hops=[1, 2]
        ),
        "evolution": st.plot.evolution(states),
        "layers": st.plot.layers(states, bins=8),
        "filters": st.plot.filters(states, bins=8),
        "embedding": st.plot.embedding(states),
        "nodes": st.plot.nodes(st.node_energy(strat, side), pos=PLACES),
    }


def training() -> Any:
    """A watched run of random layers that become alike."""
    import torch

    from spectrata.torch import SpectrumProbe

    probe = SpectrumProbe(GRAPH, hops=1)
    rng = torch.Generator().manual_seed(0)
    for epoch in range(12):
        noise = torch.randn(34, 8, generator=rng)
        states = {f"conv{depth}": noise + 0.4 * epoch * depth for depth in range(1, 5)}
        probe.record(states, epoch=epoch)
        probe.score(epoch, {"accuracy": 1 - 0.7 ** (epoch + 1)})
    return st.plot.training(probe.dataset)


if __name__ == "__main__":
    for name, axes in (figures() | {"training": training()}).items():
        np.ravel(axes)[0].figure.savefig(IMAGES / f"plot-{name}.png", dpi=80, metadata={"Software": None})
