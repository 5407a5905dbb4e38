"""Random graphs with the same degrees, by rounds of edge swaps."""

import numpy as np

ROUNDS = 20  # in each round every edge takes part in one proposal


def swap_edges(edges: np.ndarray, n_nodes: int, rng: np.random.Generator) -> np.ndarray:
    """Edges ``(m, 2)`` of a random simple graph with the same degrees.

    A round pairs the edges at random and proposes to turn each pair ``ab, cd`` into ``ad, cb``. Proposals that make a
    loop, or an edge that exists or that another proposal makes, are refused. A round costs one sort, which makes a
    million edges a matter of seconds.
    """
    x, y = np.array(edges, dtype=np.int64).T.copy()
    known, half = _keys(x, y, n_nodes), len(x) // 2
    for _ in range(ROUNDS):
        order = rng.permutation(len(x))
        first, second = order[:half], order[half : 2 * half]
        a, b, c, d = x[first], y[first], x[second], y[second]
        turned = rng.random(half) < 0.5
        c, d = np.where(turned, d, c), np.where(turned, c, d)
        one, two = _keys(a, d, n_nodes), _keys(c, b, n_nodes)
        every = np.sort(np.concatenate([known, one, two]))
        taken = every[1:][every[1:] == every[:-1]]  # few: an edge of a random pair of nodes hardly ever exists
        fine = (a != d) & (c != b) & ~np.isin(one, taken) & ~np.isin(two, taken)
        into, other = first[fine], second[fine]
        y[into], x[other], y[other] = d[fine], c[fine], b[fine]
        known[into], known[other] = one[fine], two[fine]
    return np.column_stack([x, y])


def _keys(x: np.ndarray, y: np.ndarray, n_nodes: int) -> np.ndarray:
    """One number for each undirected edge."""
    return np.minimum(x, y) * n_nodes + np.maximum(x, y)
