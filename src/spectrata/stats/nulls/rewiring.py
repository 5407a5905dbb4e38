"""Random graphs with the same degrees, by rounds of edge swaps."""

import numpy as np

ROUNDS = 20  # in each round every edge takes part in one proposal


def swap_edges(edges: np.ndarray, n_nodes: int, rng: np.random.Generator, rounds: int = ROUNDS) -> np.ndarray:
    """Edges ``(m, 2)`` of a random simple graph with the same degrees.

    A round pairs the edges at random and proposes to turn each pair ``ab, cd`` into ``ad, cb``. Proposals that make a
    loop, or an edge that exists or that another proposal makes, are refused. A round costs one sort, which makes a
    million edges a matter of seconds.
    """
    edges = np.array(edges, dtype=np.int64)
    half = len(edges) // 2
    for _ in range(rounds):
        order = rng.permutation(len(edges))
        first, second = order[:half], order[half : 2 * half]
        (a, b), (c, d) = edges[first].T, edges[second].T
        turned = rng.random(half) < 0.5
        c, d = np.where(turned, d, c), np.where(turned, c, d)
        one, two = _keys(a, d, n_nodes), _keys(c, b, n_nodes)
        _, place, count = np.unique(np.concatenate([one, two]), return_inverse=True, return_counts=True)
        alone = (count[place] == 1).reshape(2, half).all(axis=0)
        present = np.isin(np.stack([one, two]), _keys(edges[:, 0], edges[:, 1], n_nodes)).any(axis=0)
        fine = alone & ~present & (a != d) & (c != b)
        edges[first[fine]] = np.column_stack([a, d])[fine]
        edges[second[fine]] = np.column_stack([c, b])[fine]
    return edges


def _keys(x: np.ndarray, y: np.ndarray, n_nodes: int) -> np.ndarray:
    """One number for each undirected edge."""
    return np.minimum(x, y) * n_nodes + np.maximum(x, y)
