"""The kernels at bounded memory, vectorised in numpy."""

from collections.abc import Iterator

import numpy as np

# Working sets of this many doubles stay near the cache; measured flat from 2**17 to 2**20.
BLOCK = 2**18


def _slices(total: int, width: int) -> Iterator[slice]:
    """Cut ``range(total)`` into slices whose blocks of ``width`` columns hold about ``BLOCK`` numbers."""
    step = max(1, BLOCK // max(1, width))
    return (slice(start, min(start + step, total)) for start in range(0, total, step))


def hop_distances(indptr: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """All-pairs hop distances, ``(n, n)``; the largest value of the type marks unreached pairs.

    Breadth-first search from 64 roots at once per machine word: bit ``r`` of
    ``reached[v]`` says that root ``r`` has reached ``v``, and one OR over the
    neighbours advances every search by one hop. uint8 while the graph has fewer
    than 255 hops, uint16 up to 65,534.
    """
    n = len(indptr) - 1
    distances = np.empty((n, n), dtype=np.uint8)
    # Rows without neighbours would make `reduceat` repeat a foreign entry.
    filled = np.flatnonzero(np.diff(indptr))
    starts = indptr[filled]
    words = max(1, min(-(-n // 64), BLOCK // max(1, len(indices))))
    for first in range(0, n, 64 * words):
        roots = np.arange(first, min(first + 64 * words, n))
        block = _search_block(n, indices, filled, starts, roots, words)
        if block.dtype != distances.dtype and distances.dtype == np.uint8:
            distances = _widen(distances, first)
        distances[roots] = block if block.dtype == distances.dtype else _widen(block, len(block))
    return distances


def _search_block(
    n: int, indices: np.ndarray, filled: np.ndarray, starts: np.ndarray, roots: np.ndarray, words: int
) -> np.ndarray:
    """Distances from ``roots`` to every node: ``(len(roots), n)``."""
    local = np.arange(len(roots))
    reached = np.zeros((n, words), dtype=np.uint64)
    reached[roots, local // 64] = np.uint64(1) << (local % 64).astype(np.uint64)
    block = np.zeros((n, 64 * words), dtype=np.uint8)
    block += 1 - _bits(reached)
    frontier, hop = reached.copy(), 1
    while frontier.any():
        new = np.zeros_like(reached)
        new[filled] = np.bitwise_or.reduceat(frontier[indices], starts, axis=0)
        new &= ~reached
        reached |= new
        frontier, hop = new, hop + 1
        if hop == 255:
            block = block.astype(np.uint16)
        if frontier.any():
            block += 1 - _bits(reached)
    block[_bits(reached) == 0] = np.iinfo(block.dtype).max
    return block[:, : len(roots)].T


def _bits(words: np.ndarray) -> np.ndarray:
    """Unpack ``(n, w)`` uint64 into ``(n, 64 w)`` zeros and ones, lowest bit first."""
    little = words.astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(little, axis=1, bitorder="little")


def _widen(distances: np.ndarray, filled_rows: int) -> np.ndarray:
    """uint8 distances as uint16, with the mark of unreached pairs moved along."""
    wide = distances.astype(np.uint16)
    wide[:filled_rows][distances[:filled_rows] == 255] = np.iinfo(np.uint16).max
    return wide


def edge_lengths(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Gradients ``norm(t(x) - t(y))`` per edge: ``(T, n, d) -> (T, m)``."""
    snapshots, _, dims = values.shape
    lengths = np.empty((snapshots, len(edges)))
    for t in range(snapshots):
        for part in _slices(len(edges), dims):
            difference = values[t, edges[part, 0]] - values[t, edges[part, 1]]
            np.sqrt(np.einsum("md,md->m", difference, difference), out=lengths[t, part])
    return lengths


def node_sums(edges: np.ndarray, weights: np.ndarray, n: int) -> np.ndarray:
    """Sum of the weights of each node's edges: ``(T, m) -> (T, n)``."""
    return _scatter(edges, weights, n, 1.0)


def divergence(edges: np.ndarray, flow: np.ndarray, n: int) -> np.ndarray:
    """``B^T flow`` for edges running from ``x`` to ``y``: ``(T, m) -> (T, n)``."""
    return _scatter(edges, flow, n, -1.0)


def _scatter(edges: np.ndarray, weights: np.ndarray, n: int, head: float) -> np.ndarray:
    sums = np.empty((len(weights), n))
    for t, row in enumerate(weights):
        sums[t] = np.bincount(edges[:, 0], row, n) + head * np.bincount(edges[:, 1], row, n)
    return sums


def absolute_differences(edges: np.ndarray, weights: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """``sum_e weight(e) abs(u_i(x) - u_i(y))``: ``(T, m), (n, c) -> (T, c)``."""
    total = np.zeros((len(weights), vectors.shape[1]))
    for part, difference in _differences(edges, vectors):
        total += weights[:, part] @ np.abs(difference, out=difference)
    return total


def squared_differences(edges: np.ndarray, weights: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """``sum_e weight(e) (u_i(x) - u_i(y))^2``: ``(T, m), (n, c) -> (T, c)``."""
    total = np.zeros((len(weights), vectors.shape[1]))
    for part, difference in _differences(edges, vectors):
        total += weights[:, part] @ np.square(difference, out=difference)
    return total


def _differences(edges: np.ndarray, vectors: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """``u(x) - u(y)`` for a run of edges at a time: slice and ``(run, c)``."""
    for part in _slices(len(edges), vectors.shape[1]):
        yield part, vectors[edges[part, 0]] - vectors[edges[part, 1]]
