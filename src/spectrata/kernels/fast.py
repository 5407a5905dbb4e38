"""The kernels at full speed and bounded memory: the front that the rest of the package calls.

Small inputs run in vectorised numpy and never wait for a compiler; from ``COMPILED_WORK`` elementary steps on, the
loops of ``compiled`` take over, spread over a few threads; arrays of torch and cupy go to ``arrays``. All give the
reference's values.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from spectrata.kernels import arrays
from spectrata.kernels.backend import namespace
from spectrata.kernels.threads import blas_limit, threads
from spectrata.kernels.threads import spread as _spread

# Working sets of this many doubles, a megabyte, stay in the second-level cache.
BLOCK = 2**17
# About a tenth of a second in numpy: what loading numba and its cached code costs.
COMPILED_WORK = 2e7
# Edges times columns from which sparse matrices multiply with the Laplacian: 1 ns each, and 100 us to be made.
LAPLACIAN_WORK = 3e4
# Eigenvectors a thread works on at once: 2,000 rows of 128 take 2 MB, near the second-level cache;
# the best of 32, 64, 128 and 256 when measured.
COLUMNS = 128
# Edges from which joining them in compiled code beats a sparse matrix, whose copies take 50 bytes an edge.
JOINED = 2**21
# Snapshots from which matrix products over all of them beat one fused pass each.
MANY_SNAPSHOTS = 8


def _slices(total: int, width: int) -> Iterator[slice]:
    """Cut ``range(total)`` into slices whose blocks of ``width`` columns hold about ``BLOCK`` numbers."""
    step = max(1, BLOCK // max(1, width))
    return (slice(start, min(start + step, total)) for start in range(0, total, step))


def hop_distances(indptr: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """All-pairs hop distances, ``(n, n)``; the largest value of the type marks unreached pairs.

    uint8 while the graph has fewer than 255 hops, uint16 beyond.
    """
    n = len(indptr) - 1
    short = _compiled_distances if n * len(indices) >= COMPILED_WORK else _bitwise_distances
    distances = short(indptr, indices)
    return _long_distances(indptr, indices) if distances is None else distances


def _long_distances(indptr: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """uint16 distances by one search per node: with many hops, searches side by side pass over all nodes too often."""
    from spectrata.kernels import compiled

    n = len(indptr) - 1
    distances = np.empty((n, n), dtype=np.uint16)
    step = -(-n // (4 * threads()))
    _spread(lambda first: compiled.search_each(indptr, indices, first, first + step, distances), range(0, n, step))
    return distances


def _compiled_distances(indptr: np.ndarray, indices: np.ndarray) -> np.ndarray | None:
    """uint8 distances, or None when there are 255 hops or more."""
    from spectrata.kernels import compiled

    n = len(indptr) - 1
    blocks = -(-n // 64)
    words = np.empty((n, 8 * blocks), dtype=np.uint64)
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    spread = bits.view("<u8").astype(np.uint64).ravel()
    hops = _spread(lambda block: compiled.search_block(indptr, indices, block, words, spread), range(blocks))
    return None if max(hops) >= 255 else words.astype("<u8", copy=False).view(np.uint8)[:, :n]


def _bitwise_distances(indptr: np.ndarray, indices: np.ndarray) -> np.ndarray | None:
    """The same in numpy: bit ``r`` of ``reached[v]`` says that root ``r`` has reached ``v``."""
    n = len(indptr) - 1
    distances = np.empty((n, n), dtype=np.uint8)
    # Rows without neighbours would make `reduceat` repeat a foreign entry.
    filled = np.flatnonzero(np.diff(indptr))
    starts = indptr[filled]
    words = max(1, min(-(-n // 64), BLOCK // max(1, len(indices))))
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
    if distances.size >= COMPILED_WORK:
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
    if distances.size >= COMPILED_WORK:
        from spectrata.kernels import compiled

        pairs = np.empty((count, 2), dtype=np.int64)
        compiled.fill_pairs(distances, hop, pairs)
        return pairs
    # Positions in one row after the other: ten times faster than two coordinates each.
    at = np.flatnonzero(distances == hop)
    x = at // distances.shape[1]
    y = at - x * distances.shape[1]
    return np.column_stack([x, y])[x < y]


def pairs_between(distances: np.ndarray, first: int, counts: Sequence[int]) -> list[np.ndarray]:
    """``pairs_at`` of as many hops as there are counts, from ``first`` on, in one pass over the distances."""
    ends = np.cumsum([0, *counts])
    if distances.size >= COMPILED_WORK:
        from spectrata.kernels import compiled

        pairs = np.empty((ends[-1], 2), dtype=np.int64)
        compiled.fill_pairs_between(distances, first, ends.copy(), pairs)
    else:
        at = np.flatnonzero((distances >= first) & (distances < first + len(counts)))
        x = at // distances.shape[1]
        upper = at[at - x * distances.shape[1] > x]
        order = np.argsort(distances.ravel()[upper], kind="stable")
        pairs = np.column_stack(np.divmod(upper[order], distances.shape[1]))
    return [pairs[a:b] for a, b in pairwise(ends)]


def part_labels(indptr: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Label of each node's connected part, numbered by first appearance, from symmetric rows: ``(n,)``."""
    n = len(indptr) - 1
    if len(indices) >= JOINED:
        from spectrata.kernels import spheres

        labels = np.arange(n)
        spheres.join_rows(indptr, indices, labels)
        return labels
    from scipy.sparse import csr_array

    return _few_parts(csr_array((np.ones(len(indices), dtype=np.int8), indices, indptr), shape=(n, n)))


def pair_part_labels(edges: np.ndarray, n: int) -> np.ndarray:
    """The same from pairs ``(m, 2)``."""
    if len(edges) >= JOINED:
        from spectrata.kernels import spheres

        labels = np.arange(n)
        spheres.join_pairs(edges, labels)
        return labels
    from scipy.sparse import coo_array

    return _few_parts(coo_array((np.ones(len(edges), dtype=np.int8), edges.T), shape=(n, n)).tocsr())


def _few_parts(matrix: Any) -> np.ndarray:
    from scipy.sparse.csgraph import connected_components

    return connected_components(matrix, directed=False)[1].astype(np.int64)


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
    if 64 * n * len(indices) >= COMPILED_WORK:  # numpy takes about ten passes over all of it for each hop
        from spectrata.kernels import compiled

        step = -(-n // (4 * threads()))

        def run(first: int) -> None:
            last = min(first + step, n)
            compiled.path_weights(indptr, indices, weights, distances, unreached, product, first, last, best)

        _spread(run, range(0, n, step))
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


def edge_lengths(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Gradients ``norm(t(x) - t(y))`` per edge: ``(T, n, d) -> (T, m)``."""
    if not isinstance(values, np.ndarray):
        return arrays.edge_lengths(values, edges)
    snapshots, _, dims = values.shape
    lengths = np.empty((snapshots, len(edges)), dtype=values.dtype)
    if lengths.size * dims >= COMPILED_WORK:
        from spectrata.kernels import compiled

        per_task = -(-len(edges) // threads()) if snapshots < threads() else len(edges)
        tasks = [(t, start) for t in range(snapshots) for start in range(0, len(edges), per_task)]

        def run(index: int) -> None:
            t, start = tasks[index]
            part = slice(start, start + per_task)
            compiled.edge_lengths(values[t], edges[part], lengths[t, part])

        _spread(run, range(len(tasks)))
        return lengths
    for some in _slices(snapshots, len(edges) * dims):
        for part in _slices(len(edges), dims):
            difference = values[some, edges[part, 0]] - values[some, edges[part, 1]]
            lengths[some, part] = np.sqrt(np.einsum("tmd,tmd->tm", difference, difference))
    return lengths


def node_sums(edges: np.ndarray, weights: np.ndarray, n: int) -> np.ndarray:
    """Sum of the weights of each node's edges: ``(T, m) -> (T, n)``."""
    return _scatter(edges, weights, n, 1.0)


def divergence(edges: np.ndarray, flow: np.ndarray, n: int) -> np.ndarray:
    """``B^T flow`` for edges running from ``x`` to ``y``: ``(T, m) -> (T, n)``."""
    return _scatter(edges, flow, n, -1.0)


def laplacian_product(edges: np.ndarray, weights: np.ndarray | None, values: np.ndarray) -> np.ndarray:
    """``B^T diag(w) B values``, weights 1 for None: ``(n, p) -> (n, p)``; edges in the order of their first nodes."""
    if isinstance(values, np.ndarray) and len(edges) * values.shape[1] >= LAPLACIAN_WORK:
        found = np.zeros_like(values)
        for part in _slices(len(edges), 1):
            found += _sparse_product(edges[part], None if weights is None else weights[part], values)
        return found
    flow = (values[edges[:, 0]] - values[edges[:, 1]]).T
    return divergence(edges, flow if weights is None else flow * weights, len(values)).T


def _sparse_product(edges: np.ndarray, weights: np.ndarray | None, values: np.ndarray) -> np.ndarray:
    """``laplacian_product`` by a sparse matrix; its copies take 16 bytes an edge."""
    from scipy.sparse import csr_array

    n, ends = len(values), edges[:, 1].astype(np.int32)
    given = np.ones(len(edges), dtype=values.dtype) if weights is None else weights
    starts = np.searchsorted(edges[:, 0], np.arange(n + 1)).astype(np.int32)
    half = csr_array((given, ends, starts), shape=(n, n))
    degrees = half.sum(axis=1) + np.bincount(ends, given, n)
    return degrees.astype(values.dtype)[:, None] * values - half @ values - half.T @ values


def _scatter(edges: np.ndarray, weights: np.ndarray, n: int, head: float) -> np.ndarray:
    if not isinstance(weights, np.ndarray):
        return arrays.node_sums(edges, weights, n, head)
    if len(weights) >= MANY_SNAPSHOTS:
        from scipy.sparse import csc_array

        m = len(edges)
        signs = np.tile(np.array([1.0, head], dtype=weights.dtype), m)
        incidence = csc_array((signs, edges.ravel(), np.arange(0, 2 * m + 1, 2)), shape=(n, m))
        return (incidence.tocsr() @ weights.T).T
    sums = np.empty((len(weights), n), dtype=weights.dtype)
    for t, row in enumerate(weights):
        sums[t] = np.bincount(edges[:, 0], row, n) + head * np.bincount(edges[:, 1], row, n)
    return sums


def difference_sums(edges: np.ndarray, weights: np.ndarray, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``sum w abs(u_i(x) - u_i(y))`` and ``sum w^2 (u_i(x) - u_i(y))^2``: ``(T, m), (n, c) -> (T, c)`` twice."""
    if not isinstance(weights, np.ndarray):
        return arrays.difference_sums(edges, weights, vectors)
    absolute = np.zeros((len(weights), vectors.shape[1]), dtype=vectors.dtype)
    squared = np.zeros_like(absolute)
    if len(weights) < MANY_SNAPSHOTS and len(edges) * vectors.shape[1] >= COMPILED_WORK:
        from spectrata.kernels import compiled

        def run(start: int) -> None:
            columns = slice(start, start + COLUMNS)
            block = np.ascontiguousarray(vectors[:, columns])
            for t, row in enumerate(weights):
                compiled.difference_sums(edges, row, block, absolute[t, columns], squared[t, columns])

        _spread(run, range(0, vectors.shape[1], COLUMNS))
        return absolute, squared
    # Blocks of eigenvectors by runs of edges that stay in the second-level cache: building the differences
    # by whole rows cost more than multiplying them.
    squares = weights**2
    x, y = np.ascontiguousarray(edges.T)

    def multiply(first: int) -> None:
        columns = slice(first, first + 2 * COLUMNS)
        block = np.ascontiguousarray(vectors[:, columns])
        for part in _slices(len(edges), 2 * COLUMNS):
            difference = np.take(block, x[part], axis=0)
            difference -= np.take(block, y[part], axis=0)
            absolute[:, columns] += weights[:, part] @ np.abs(difference, out=difference)
            squared[:, columns] += squares[:, part] @ np.square(difference, out=difference)

    starts = range(0, vectors.shape[1], 2 * COLUMNS)
    if weights.size * vectors.shape[1] < COMPILED_WORK:
        for first in starts:
            multiply(first)
        return absolute, squared
    with blas_limit(1):  # products this small are not worth threads of their own, which wait for busy cores
        _spread(multiply, starts)
    return absolute, squared


def lengths(values: Any) -> Any:
    """l2 norms over the last axis: ``(..., d) -> (...)``; gradients of torch pass, 0 at zero vectors."""
    if values.shape[-1] == 1:
        return namespace(values).abs(values[..., 0])
    if not isinstance(values, np.ndarray):
        return arrays.lengths(values)
    return np.sqrt(np.einsum("...d,...d->...", values, values))


def root(values: Any) -> Any:
    """Square roots of numbers that are not negative; gradients of torch pass, 0 at zeros."""
    return np.sqrt(values) if isinstance(values, np.ndarray) else arrays.root(values)


def part_sums(values: Any, parts: np.ndarray, count: int) -> Any:
    """Sums over the nodes of each part: ``(n, p) -> (count, p)``; ``parts (n,)`` are labels."""
    if not isinstance(values, np.ndarray):
        return arrays.part_sums(values, parts, count)
    if count == 1:
        return values.sum(axis=0, keepdims=True)
    from scipy.sparse import csr_array

    n = len(parts)
    member = csr_array((np.ones(n, dtype=values.dtype), (parts, np.arange(n))), shape=(count, n))
    return member @ values


def stacked_difference_sums(weights: np.ndarray, vectors: np.ndarray, graphs: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """``difference_sums`` of many small graphs over all pairs of nodes.

    ``weights (g, n (n - 1) / 2)`` of the pairs ``x < y`` in lexicographic order, 0 where there is no edge, and
    ``vectors (g, n, c)`` -> ``(g, c)`` twice. ``graphs`` says how many will follow in other calls: the compiler is
    loaded for all of them.
    """
    count, n, columns = vectors.shape
    absolute, squared = np.zeros((count, columns)), np.zeros((count, columns))
    if max(count, graphs) * n * n * columns >= COMPILED_WORK:
        from spectrata.kernels import compiled

        step = -(-count // (4 * threads()))

        def run(first: int) -> None:
            rows = slice(first, first + step)
            compiled.stacked_difference_sums(weights[rows], vectors[rows], absolute[rows], squared[rows])

        _spread(run, range(0, count, step))
        return absolute, squared
    bounds = np.cumsum([0, *range(n - 1, 0, -1)])  # where the pairs of each node x begin
    for part in _slices(count, n * columns):
        own, weight = vectors[part], weights[part, None]
        for x in range(n - 1):
            flow = weight[:, :, bounds[x] : bounds[x + 1]]
            difference = own[:, x + 1 :] - own[:, x, None]
            absolute[part] += (flow @ np.abs(difference))[:, 0]
            squared[part] += (flow**2 @ np.square(difference, out=difference))[:, 0]
    return absolute, squared


ADAGRAD_EPSILON = 1e-10
Step = Callable[[Any, Any, Any, float], None]


def adagrad_step(example: Any, epochs: int) -> Step:
    """One Adagrad step ``(weights, squares, gradient, rate)``, in place, for arrays like one trial's."""
    if isinstance(example, np.ndarray) and example.size * epochs >= COMPILED_WORK:
        from spectrata.kernels import compiled

        real = example.dtype.type

        def step(weights: Any, squares: Any, gradient: Any, rate: float) -> None:
            compiled.adagrad_step(weights, squares, gradient, real(rate), real(ADAGRAD_EPSILON))

        return step
    return _adagrad_step


def _adagrad_step(weights: Any, squares: Any, gradient: Any, rate: float) -> None:
    squares += gradient * gradient
    weights -= rate * (gradient / (squares**0.5 + ADAGRAD_EPSILON))
