"""Hop distances, and what is read off them: pairs of each hop, connected parts, weights of shortest paths.

Small inputs run in vectorised numpy and never wait for a compiler; from ``threads.COMPILED_WORK`` elementary steps on,
the loops of ``compiled`` take over, spread over a few threads.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from spectrata.kernels import arrays, threads

# Edges from which joining them in compiled code beats a sparse matrix, whose copies take 50 bytes an edge.
JOINED = 2**21


def hop_distances(indptr: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """All-pairs hop distances, ``(n, n)``; the largest value of the type marks unreached pairs.

    uint8 while the graph has fewer than 255 hops, uint16 beyond.
    """
    n = len(indptr) - 1
    short = _compiled_distances if n * len(indices) >= threads.COMPILED_WORK else _bitwise_distances
    distances = short(indptr, indices)
    return _long_distances(indptr, indices) if distances is None else distances


def _long_distances(indptr: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """uint16 distances by one search per node: with many hops, searches side by side pass over all nodes too often."""
    from spectrata.kernels import compiled

    n = len(indptr) - 1
    distances = np.empty((n, n), dtype=np.uint16)
    step = -(-n // (4 * threads.threads()))
    threads.spread(
        lambda first: compiled.search_each(indptr, indices, first, first + step, distances), range(0, n, step)
    )
    return distances


def _compiled_distances(indptr: np.ndarray, indices: np.ndarray) -> np.ndarray | None:
    """uint8 distances, or None when there are 255 hops or more."""
    from spectrata.kernels import compiled

    n = len(indptr) - 1
    blocks = -(-n // 64)
    words = np.empty((n, 8 * blocks), dtype=np.uint64)
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    spread = bits.view("<u8").astype(np.uint64).ravel()
    hops = threads.spread(lambda block: compiled.search_block(indptr, indices, block, words, spread), range(blocks))
    return None if max(hops) >= 255 else words.astype("<u8", copy=False).view(np.uint8)[:, :n]


def _bitwise_distances(indptr: np.ndarray, indices: np.ndarray) -> np.ndarray | None:
    """The same in numpy: bit ``r`` of ``reached[v]`` says that root ``r`` has reached ``v``."""
    n = len(indptr) - 1
    distances = np.empty((n, n), dtype=np.uint8)
    # Rows without neighbours would make `reduceat` repeat a foreign entry.
    filled = np.flatnonzero(np.diff(indptr))
    starts = indptr[filled]
    words = max(1, min(-(-n // 64), threads.BLOCK // max(1, len(indices))))
    for first in range(0, n, 64 * words):
        roots = np.arange(first, min(first + 64 * words, n))
        block = _search_block(n, indices, filled, starts, roots, words)
        if block is None:
            return None
        distances[roots] = block
    return distances


def _search_block(
    n: int, indices: np.ndarray, filled: np.ndarray, starts: np.ndarray, roots: np.ndarray, words: int
) -> np.ndarray | None:
    """Distances from ``roots`` to every node, ``(len(roots), n)``, or None when there are 255 hops or more."""
    local = np.arange(len(roots))
    reached = np.zeros((n, words), dtype=np.uint64)
    reached[roots, local // 64] = np.uint64(1) << (local % 64).astype(np.uint64)
    block = 1 - _bits(reached)
    frontier, hop = reached.copy(), 1
    while frontier.any():
        new = np.zeros_like(reached)
        new[filled] = np.bitwise_or.reduceat(frontier[indices], starts, axis=0)
        new &= ~reached
        reached |= new
        frontier, hop = new, hop + 1
        if hop == 256 and frontier.any():
            return None
        if frontier.any():
            block += 1 - _bits(reached)
    block[_bits(reached) == 0] = np.iinfo(block.dtype).max
    return block[:, : len(roots)].T


def _bits(words: np.ndarray) -> np.ndarray:
    """Unpack ``(n, w)`` uint64 into ``(n, 64 w)`` zeros and ones, lowest bit first."""
    little = words.astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(little, axis=1, bitorder="little")


def pairs_per_hop(distances: np.ndarray) -> np.ndarray:
    """Pairs ``x < y`` at each distance, from 0 up to the largest; unreached pairs are not counted."""
    counts = np.zeros(np.iinfo(distances.dtype).max + 1, dtype=np.int64)
    if distances.size >= threads.COMPILED_WORK:
        from spectrata.kernels import compiled

        compiled.count_pairs(distances, counts)
    else:
        for x, row in enumerate(distances):  # row by row: bincount widens its input to eight bytes
            counts += np.bincount(row[x + 1 :], minlength=len(counts))
    reached = np.flatnonzero(counts[:-1])
    return counts[: reached[-1] + 1 if len(reached) else 1]


def pairs_at(distances: np.ndarray, hop: int, count: int) -> np.ndarray:
    """The ``count`` pairs ``x < y`` at one distance, ``(m, 2)`` int64 in lexicographic order."""
    if not isinstance(distances, np.ndarray):
        return arrays.pairs_at(distances, hop)
    return pairs_between(distances, hop, [count])[0]


def pairs_between(distances: np.ndarray, first: int, counts: Sequence[int]) -> list[np.ndarray]:
    """``pairs_at`` of as many hops as there are counts, from ``first`` on, in one pass over the distances."""
    ends = np.cumsum([0, *counts])
    if distances.size >= threads.COMPILED_WORK:
        from spectrata.kernels import compiled

        pairs = np.empty((ends[-1], 2), dtype=np.int64)
        compiled.fill_pairs(distances, first, ends.copy(), pairs)
    else:
        # Positions in one row after the other: ten times faster than two coordinates each.
        one = len(counts) == 1
        at = np.flatnonzero(distances == first if one else (distances >= first) & (distances < first + len(counts)))
        x = at // distances.shape[1]
        upper = at[at - x * distances.shape[1] > x]
        order = slice(None) if one else np.argsort(distances.ravel()[upper], kind="stable")
        pairs = np.column_stack(np.divmod(upper[order], distances.shape[1]))
    return [pairs[a:b] for a, b in pairwise(ends)]


def part_labels(indptr: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Label of each node's connected part, numbered by first appearance: ``(n,)``.

    From symmetric rows, or from rows of the higher neighbours alone.
    """
    n = len(indptr) - 1
    if len(indices) >= JOINED:
        from spectrata.kernels import spheres

        labels = np.arange(n)
        spheres.join_rows(indptr, indices, labels)
        return labels
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    matrix = csr_array((np.ones(len(indices), dtype=np.int8), indices, indptr), shape=(n, n))
    return connected_components(matrix, directed=False)[1].astype(np.int64)


def pair_part_labels(edges: np.ndarray, n: int) -> np.ndarray:
    """The same from pairs ``x < y`` in lexicographic order, ``(m, 2)``."""
    # scipy 1.18 takes no strided view of the indices.
    return part_labels(np.searchsorted(edges[:, 0], np.arange(n + 1)), np.ascontiguousarray(edges[:, 1]))


def both_directions(indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weights of edges ``x < y`` in lexicographic order beside every entry of compressed rows: ``(m,) -> (2 m,)``."""
    tails = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    forward = tails < indices
    out = np.empty(len(indices))
    out[forward] = weights
    # Read by columns, the entries below the diagonal come in the order of the edges.
    backward = np.flatnonzero(~forward)
    out[backward[np.lexsort((tails[backward], indices[backward]))]] = weights
    return out


def path_weights(
    indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray, distances: np.ndarray, product: bool
) -> np.ndarray:
    """For each pair of nodes the largest weight of a shortest path between them, ``(n, n)``; 0 where there is none.

    A path weighs as much as its lightest edge, or the product of its edges. ``weights`` stand beside ``indices``.
    """
    n, unreached = len(indptr) - 1, int(np.iinfo(distances.dtype).max)
    best = np.zeros((n, n))
    if 64 * n * len(indices) >= threads.COMPILED_WORK:  # numpy takes about ten passes over all of it for each hop
        from spectrata.kernels import compiled

        step = -(-n // (4 * threads.threads()))

        def run(first: int) -> None:
            last = min(first + step, n)
            compiled.path_weights(indptr, indices, weights, distances, unreached, product, first, last, best)

        threads.spread(run, range(0, n, step))
        return best
    np.fill_diagonal(best, 1.0 if product else np.inf)
    filled = np.flatnonzero(np.diff(indptr))  # rows without neighbours would make `reduceat` repeat a foreign entry
    heads = np.repeat(np.arange(n), np.diff(indptr))
    farthest = int(np.max(distances, where=distances < unreached, initial=0))
    for hop in range(1, farthest + 1):
        joined = best[:, indices] * weights if product else np.minimum(best[:, indices], weights)
        leads = (distances[:, indices] == hop - 1) & (distances[:, heads] == hop)
        found = np.maximum.reduceat(np.where(leads, joined, 0.0), indptr[filled], axis=1)
        best[:, filled] = np.where(distances[:, filled] == hop, found, best[:, filled])
    return best
