"""Random surrogates of a signal or a graph: rotated signals, rewired graphs, exchanged pairs of signals."""

import numpy as np

from spectrata.inputs.graphs import Graph

TIE = 1e-9  # two values are tied when they differ by less than this share of the larger
# Attempted swaps per edge; the edges' overlap with the start has long stopped falling by then.
SWAPS_PER_EDGE = 10


def exchange_signs(seed: int, n: int, draws: int) -> np.ndarray:
    """Draw for every node whether two signals are exchanged there (-1): ``(1 + draws, n)``, the first row without.

    Examples
    --------
    >>> exchange_signs(0, 3, 2)[0].tolist()
    [1.0, 1.0, 1.0]
    """
    signs = np.ones((1 + draws, n))
    signs[1:] = np.random.default_rng([seed, 0x5A4B]).choice([-1.0, 1.0], size=(draws, n))
    return signs


def rotate_signal(values: np.ndarray, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Draw signals with the same mean and covariance of columns: ``(S, n, d) -> (S, draws, n, d)``.

    The centred signal is turned by a Haar-random rotation of the space orthogonal to the constants: no direction
    there, and so no eigencomponent, is preferred.
    """
    mean = values.mean(axis=1, keepdims=True)
    out = np.empty((len(values), draws, *values.shape[1:]))
    for s, centred in enumerate(values - mean):
        _, singular, right = np.linalg.svd(centred, full_matrices=False)
        rank = min(len(singular), len(centred) - 1)
        gauss = rng.standard_normal((draws, len(centred), rank))
        gauss -= gauss.mean(axis=1, keepdims=True)
        frame, triangle = np.linalg.qr(gauss)
        frame *= np.sign(np.einsum("dkk->dk", triangle))[:, None, :]  # makes the frame Haar distributed
        out[s] = mean[s] + (frame * singular[:rank]) @ right[:rank]
    return out


def rewire(graph: Graph, rng: np.random.Generator, swaps_per_edge: int = SWAPS_PER_EDGE) -> np.ndarray:
    """Draw the edges ``(m, 2)`` of a random simple graph with the same degrees, by double edge swaps.

    Edges ``ab, cd`` become ``ad, cb`` unless that makes a loop or a repeat; refused swaps count, which makes all
    simple graphs of the degrees equally likely in the long run.

    Examples
    --------
    >>> from spectrata.inputs.graphs import as_graph
    >>> ring = as_graph(edges=[(i, (i + 1) % 8) for i in range(8)])
    >>> edges = rewire(ring, np.random.default_rng(0))
    >>> np.bincount(edges.ravel()).tolist()
    [2, 2, 2, 2, 2, 2, 2, 2]
    """
    edges = [(int(x), int(y)) for x, y in graph.edges]
    present = {frozenset(edge) for edge in edges}
    total = swaps_per_edge * len(edges)
    pairs = rng.integers(len(edges), size=(total, 2))
    turned = rng.integers(2, size=total)
    for (first, second), turn in zip(pairs.tolist(), turned.tolist(), strict=True):
        a, b = edges[first]
        c, d = edges[second][::-1] if turn else edges[second]
        one, two = frozenset((a, d)), frozenset((c, b))
        if first == second or len(one) < 2 or len(two) < 2 or one == two or one in present or two in present:
            continue
        present -= {frozenset((a, b)), frozenset((c, d))}
        present |= {one, two}
        edges[first], edges[second] = (a, d), (c, b)
    return np.array(edges, dtype=np.int64)
