"""The oracle: every kernel in its plainest form."""

from collections import deque

import numpy as np

UNREACHED = np.iinfo(np.uint16).max


def hop_distances(indptr: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """All-pairs hop distances by one breadth-first search per node: ``(n, n)`` uint16, 65535 where no path leads."""
    n = len(indptr) - 1
    distances = np.full((n, n), UNREACHED, dtype=np.uint16)
    for root in range(n):
        distances[root, root] = 0
        queue = deque([root])
        while queue:
            node = queue.popleft()
            for neighbour in indices[indptr[node] : indptr[node + 1]]:
                if distances[root, neighbour] == UNREACHED:
                    distances[root, neighbour] = distances[root, node] + 1
                    queue.append(neighbour)
    return distances


def edge_lengths(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Gradients ``norm(t(x) - t(y))`` per edge, without a square: ``(T, n, d) -> (T, m)``."""
    return np.hypot.reduce(np.abs(values[:, edges[:, 0]] - values[:, edges[:, 1]]), axis=-1)


def node_sums(edges: np.ndarray, weights: np.ndarray, n: int) -> np.ndarray:
    """Sum of the weights of each node's edges: ``(T, m) -> (T, n)``."""
    sums = np.zeros((len(weights), n))
    for row, (x, y) in enumerate(edges):
        sums[:, x] += weights[:, row]
        sums[:, y] += weights[:, row]
    return sums


def divergence(edges: np.ndarray, flow: np.ndarray, n: int) -> np.ndarray:
    """``B^T flow`` for edges running from ``x`` to ``y``: ``(T, m) -> (T, n)``."""
    sums = np.zeros((len(flow), n))
    for row, (x, y) in enumerate(edges):
        sums[:, x] += flow[:, row]
        sums[:, y] -= flow[:, row]
    return sums


def difference_sums(edges: np.ndarray, weights: np.ndarray, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``sum w abs(u_i(x) - u_i(y))`` and ``sum w^2 (u_i(x) - u_i(y))^2``: ``(T, m), (n, c) -> (T, c)`` twice."""
    difference = vectors[edges[:, 0]] - vectors[edges[:, 1]]
    return weights @ np.abs(difference), weights**2 @ difference**2
