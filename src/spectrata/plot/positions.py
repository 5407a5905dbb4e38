"""Where nodes are drawn: layouts of graphs, and embeddings seen along two axes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from spectrata.core.strata import Stratum
from spectrata.errors import InputError, OptionError
from spectrata.inputs.graphs import Graph
from spectrata.inputs.signals import as_signal
from spectrata.kernels.scaling import squarable

GAP = 0.6  # between parts, where a node takes a square of length 1
STEPS = 120  # of the layout at most
PIVOTS = 60  # nodes to which a layout keeps all distances; more in small parts
PIVOT_CELLS = 60_000  # distances to pivots that a layout looks at


def node_places(edges: np.ndarray, n: int) -> np.ndarray:
    """Places of the nodes of a graph, (n, 2) within [-1, 1], the same for the same graph.

    Connected parts are laid out one by one and packed in rows, the largest first; single nodes fill what is left.
    """
    labels, places = Stratum(1, n, edges).parts, np.empty((n, 2))
    sizes = np.bincount(labels)
    parts = np.argsort(-sizes, kind="stable")
    for part, corner in zip(parts, _rows(np.sqrt(sizes[parts]) + GAP), strict=True):
        nodes = np.flatnonzero(labels == part)
        inside = _part_places(nodes, edges[labels[edges[:, 0]] == part])
        places[nodes] = corner + GAP / 2 + (1.0 + inside) * np.sqrt(len(nodes)) / 2
    return _within(places)


def given_places(pos: Any, graph: Graph) -> np.ndarray | None:
    """Places of the nodes within [-1, 1]: those given, else those that the graph came with, else None.

    Given are two or three coordinates for each node, in any form of a signal; the third is left out.
    """
    places = graph.positions
    if pos is not None:
        try:
            given = as_signal(pos, graph).values
        except InputError as problem:
            raise OptionError(f"pos= is not understood: {problem}") from problem
        if len(given) > 1 or given.shape[2] not in (2, 3):
            raise OptionError(f"pos= has shape {given.squeeze().shape}; give two or three coordinates for each node.")
        places = given[0]
    if places is None or not np.isfinite(places).all():
        return None
    return _within(places[:, :2])


def _within(places: np.ndarray) -> np.ndarray:
    """The same picture within [-1, 1]."""
    low, high = places.min(axis=0), places.max(axis=0)
    return (places - (low + high) / 2) / max((high - low).max() / 2, 1e-9)


def _part_places(nodes: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """One connected part within [-1, 1]: distances on paper as near as can be to hop distances."""
    if len(nodes) == 1:
        return np.zeros((1, 2))
    ends = np.searchsorted(nodes, edges)
    matrix = coo_array((np.ones(len(ends)), ends.T), shape=(len(nodes), len(nodes))).tocsr()
    places = _sparse_stress(matrix + matrix.T)
    places -= places.mean(axis=0)
    places = places @ np.linalg.svd(places, full_matrices=False)[2].T  # the longer axis lies across
    return places / max(np.abs(places).max(), 1e-9)


def _sparse_stress(matrix: Any) -> np.ndarray:
    """Places ``(n, 2)`` with a small ``sum (norm(x - y) - hops)^2 / hops^2``, over neighbours and pairs with a pivot.

    Pivots are chosen one by one, farthest from those before; what lies near one counts through it. Small parts have
    all nodes as pivots. Reference: Ortmann, Klimenta, Brandes: A Sparse Stress Model, 2017.
    """
    n, degrees = matrix.shape[0], np.diff(matrix.indptr)
    pivots, hops = [int(np.argmax(degrees))], np.empty((min(n, max(PIVOTS, PIVOT_CELLS // n)), n))
    for row in range(len(hops)):
        hops[row] = dijkstra(matrix, directed=False, indices=pivots[row], unweighted=True)
        pivots.append(int(np.argmax(hops[: row + 1].min(axis=0) + 0.5 * degrees / (degrees.max() + 1.0))))
    near = np.bincount(hops.argmin(axis=0), minlength=len(hops))  # nodes that each pivot stands for
    weights = np.where(hops > 1, near[:, None] / np.maximum(hops, 1.0) ** 2, 0.0)  # (p, n)
    total = weights.sum(axis=0) + degrees
    places = _by_pivots(hops) + 0.05 * np.random.default_rng(0).standard_normal((n, 2))
    tails, heads = np.repeat(np.arange(n), degrees), matrix.indices
    for _ in range(STEPS):
        before, pivot = places, places[pivots[:-1]]  # (p, 2)
        away = places[tails] - places[heads]
        away = places[heads] + away / np.maximum(np.linalg.norm(away, axis=1), 1e-9)[:, None]
        length = np.hypot(*(places.T[:, None] - pivot.T[:, :, None]))  # (p, n)
        pull = weights * hops / np.maximum(length, 1e-9)
        moved = np.add.reduceat(away, matrix.indptr[:-1]) + weights.T @ pivot
        places = (moved + pull.sum(axis=0)[:, None] * places - pull.T @ pivot) / total[:, None]
        if np.abs(places - before).max() < 1e-2:
            break
    return places


def _by_pivots(hops: np.ndarray) -> np.ndarray:
    """Classical scaling of the distances to some pivots ``(p, n)``: where to begin (Brandes, Pich 2007)."""
    square = hops**2
    centred = -0.5 * (square - square.mean(axis=0) - square.mean(axis=1)[:, None] + square.mean())
    _, _, axes = np.linalg.svd(centred @ centred.T, hermitian=True)
    lead = centred.T @ axes[:2].T  # (n, 2)
    lead = lead / np.maximum(np.linalg.norm(lead, axis=0), 1e-9) * np.sqrt(hops.shape[1]) * hops.max() / 3
    return lead * np.where(lead[np.abs(lead).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)


def _rows(boxes: np.ndarray) -> np.ndarray:
    """Lower left corners of squares set in rows, the widest first, in a frame about as wide as high."""
    width = max(boxes.max(), np.sqrt((boxes**2).sum()) * 1.15)
    corners = np.empty((len(boxes), 2))
    x = y = row = 0.0
    for index, box in enumerate(boxes):
        if x + box > width and x > 0:
            x, y, row = 0.0, y - row, 0.0
        row = max(row, box)
        corners[index] = x, y - box
        x += box
    return corners


def two_axes(values: np.ndarray, names: Sequence[str] | None = None) -> tuple[np.ndarray, str]:
    """Vectors along the two directions of largest variance: ``(T, n, d) -> (T, n, 2)``, and what the axes are."""
    dims = values.shape[2]
    if dims == 2:
        return values, f"the columns {names[0]} and {names[1]}" if names else "the two columns"
    flat = values.reshape(-1, dims)
    flat = flat[np.isfinite(flat).all(axis=1)]
    centre = flat.mean(axis=0) if len(flat) else np.zeros(dims)
    spread = (flat - centre).T @ (flat - centre)
    variance, axes = np.linalg.eigh(spread)
    axes = axes[:, :-3:-1] * np.where(axes[np.abs(axes).argmax(axis=0), np.arange(dims)] < 0, -1.0, 1.0)[:-3:-1]
    share = variance[-2:].sum() / variance.sum() if variance.sum() > 0 else 1.0
    return (values - centre) @ axes, f"first two principal axes of {dims}, {share:.0%} of the variance"


def directions(values: np.ndarray, metric: str) -> np.ndarray:
    """Vectors as the metric sees them: of length 1 where only directions count, NaN for zero vectors."""
    if metric != "angular":
        return values
    values, _ = squarable(values)
    norms = np.linalg.norm(values, axis=-1, keepdims=True)
    return values / np.where(norms > 0, norms, np.nan)
