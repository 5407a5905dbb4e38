"""Sums over edges and eigenvectors: the front that the algorithms call.

Small inputs run in vectorised numpy and never wait for a compiler; from ``threads.COMPILED_WORK`` elementary steps on,
the loops of ``compiled`` take over, spread over a few threads; arrays of torch and cupy go to ``arrays``. Each sum
is made by one thread in a fixed order: bits do not depend on the number of threads.
"""

from typing import Any

import numpy as np

from spectrata.kernels import arrays, threads
from spectrata.kernels.backend import namespace

# Edges times columns from which sparse matrices multiply with the Laplacian: 1 ns each, and 100 us to be made.
LAPLACIAN_WORK = 3e4
# Eigenvectors a thread works on at once: 2,000 rows of 128 take 2 MB, near the second-level cache;
# the best of 32, 64, 128 and 256 when measured.
COLUMNS = 128
# Snapshots from which matrix products over all of them beat one fused pass each.
MANY_SNAPSHOTS = 8


def edge_lengths(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Gradients ``norm(t(x) - t(y))`` per edge: ``(T, n, d) -> (T, m)``."""
    if not isinstance(values, np.ndarray):
        return arrays.edge_lengths(values, edges)
    snapshots, _, dims = values.shape
    lengths = np.empty((snapshots, len(edges)), dtype=values.dtype)
    if lengths.size * dims >= threads.COMPILED_WORK:
        from spectrata.kernels import compiled

        per_task = -(-len(edges) // threads.threads()) if snapshots < threads.threads() else len(edges)
        tasks = [(t, start) for t in range(snapshots) for start in range(0, len(edges), per_task)]

        def run(index: int) -> None:
            t, start = tasks[index]
            part = slice(start, start + per_task)
            compiled.edge_lengths(values[t], edges[part], lengths[t, part])

        threads.spread(run, range(len(tasks)))
        return lengths
    for some in threads.slices(snapshots, len(edges) * dims):
        for part in threads.slices(len(edges), dims):
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
        for part in threads.slices(len(edges), 1):
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
    if len(weights) < MANY_SNAPSHOTS and len(edges) * vectors.shape[1] >= threads.COMPILED_WORK:
        from spectrata.kernels import compiled

        def run(start: int) -> None:
            columns = slice(start, start + COLUMNS)
            block = np.ascontiguousarray(vectors[:, columns])
            for t, row in enumerate(weights):
                compiled.difference_sums(edges, row, block, absolute[t, columns], squared[t, columns])

        threads.spread(run, range(0, vectors.shape[1], COLUMNS))
        return absolute, squared
    # Blocks of eigenvectors by runs of edges that stay in the second-level cache: building the differences
    # by whole rows cost more than multiplying them.
    squares = weights**2
    x, y = np.ascontiguousarray(edges.T)

    def multiply(first: int) -> None:
        columns = slice(first, first + 2 * COLUMNS)
        block = np.ascontiguousarray(vectors[:, columns])
        for part in threads.slices(len(edges), 2 * COLUMNS):
            difference = np.take(block, x[part], axis=0)
            difference -= np.take(block, y[part], axis=0)
            absolute[:, columns] += weights[:, part] @ np.abs(difference, out=difference)
            squared[:, columns] += squares[:, part] @ np.square(difference, out=difference)

    starts = range(0, vectors.shape[1], 2 * COLUMNS)
    if weights.size * vectors.shape[1] < threads.COMPILED_WORK:
        for first in starts:
            multiply(first)
        return absolute, squared
    with threads.blas_limit(1):  # products this small are not worth threads of their own, which wait for busy cores
        threads.spread(multiply, starts)
    return absolute, squared


def pair_products(edges: np.ndarray, weights: np.ndarray, places: np.ndarray, values: np.ndarray) -> np.ndarray:
    """``sum w v(x) v(y)`` by column, node x with row ``places[b, x]`` of values: ``(B, n), (n, c) -> (B, c)``."""
    from spectrata.kernels import compiled

    products = np.zeros((len(places), values.shape[1]))
    for row, place in zip(products, places, strict=True):
        compiled.pair_products(edges, weights, place, values, row)
    return products


def stacked_difference_sums(weights: np.ndarray, vectors: np.ndarray, graphs: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """``difference_sums`` of many small graphs over all pairs of nodes.

    ``weights (g, n (n - 1) / 2)`` of the pairs ``x < y`` in lexicographic order, 0 where there is no edge, and
    ``vectors (g, n, c)`` -> ``(g, c)`` twice. ``graphs`` says how many will follow in other calls: the compiler is
    loaded for all of them.
    """
    count, n, columns = vectors.shape
    absolute, squared = np.zeros((count, columns)), np.zeros((count, columns))
    if max(count, graphs) * n * n * columns >= threads.COMPILED_WORK:
        from spectrata.kernels import compiled

        step = -(-count // (4 * threads.threads()))

        def run(first: int) -> None:
            rows = slice(first, first + step)
            compiled.stacked_difference_sums(weights[rows], vectors[rows], absolute[rows], squared[rows])

        threads.spread(run, range(0, count, step))
        return absolute, squared
    bounds = np.cumsum([0, *range(n - 1, 0, -1)])  # where the pairs of each node x begin
    for part in threads.slices(count, n * columns):
        own, weight = vectors[part], weights[part, None]
        for x in range(n - 1):
            flow = weight[:, :, bounds[x] : bounds[x + 1]]
            difference = own[:, x + 1 :] - own[:, x, None]
            absolute[part] += (flow @ np.abs(difference))[:, 0]
            squared[part] += (flow**2 @ np.square(difference, out=difference))[:, 0]
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
