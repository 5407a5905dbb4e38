"""The kernels compiled by numba, for inputs large enough to be worth loading a compiler for.

Functions here hold no lock and fill preallocated arrays; callers cut the work into pieces and give them to a few
threads. They are compiled when first called and cached on disk. numba's own ``parallel=True`` is left alone: with
``cache=True`` it has crashed for others, and threads over column blocks give the same speed and the same bits for any
number of threads.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit


def _jit(**options: Any) -> Callable[[Callable], Callable]:
    """``njit`` without the interpreter's lock, cached on disk where a cache can be written."""

    def decorate(function: Callable) -> Callable:
        try:
            return njit(nogil=True, cache=True, **options)(function)
        except RuntimeError:  # no writable place for the cache
            return njit(nogil=True, **options)(function)

    return decorate


@_jit()
def search_block(indptr, indices, block, words, spread):  # type: ignore[no-untyped-def]
    """Distances from roots ``64 block .. 64 block + 63`` by breadth-first searches that advance together.

    Bit ``r`` of a word belongs to root ``64 block + r``: one OR over the neighbours moves all 64 searches by a hop.
    ``words (n, n_blocks * 8)`` are the distances, one byte a root and eight to a word; ``spread[b]`` has a 1 in each
    byte whose bit is set in ``b``. Returns the hops taken, or 255 when that is more than a byte can hold.
    """
    n = len(indptr) - 1
    first, count = 64 * block, min(64, n - 64 * block)
    reached = np.zeros(n, dtype=np.uint64)
    frontier = np.zeros(n, dtype=np.uint64)
    new = np.zeros(n, dtype=np.uint64)
    one, low, all_ones = np.uint64(1), np.uint64(255), ~np.uint64(0)
    every = all_ones if count == 64 else (one << np.uint64(count)) - one
    words[:, 8 * block : 8 * block + 8] = all_ones
    for r in range(count):
        bit = one << np.uint64(r)
        frontier[first + r] = reached[first + r] = bit
        words[first + r, 8 * block + r // 8] &= ~(low << np.uint64(8 * (r % 8)))
    for hop in range(1, 256):
        found = False
        for v in range(n):
            missing = every & ~reached[v]
            bits = np.uint64(0)
            if missing:
                for e in range(indptr[v], indptr[v + 1]):
                    bits |= frontier[indices[e]]
                bits &= missing
            new[v] = bits
            if bits:
                found = True
        if not found:
            return hop - 1
        for v in range(n):
            bits = new[v]
            if bits:
                reached[v] |= bits
                for k in range(8):
                    byte = (bits >> np.uint64(8 * k)) & low
                    if byte:
                        lanes = spread[byte]
                        at = 8 * block + k
                        words[v, at] = (words[v, at] & ~(lanes * low)) | (lanes * np.uint64(hop))
        frontier, new = new, frontier
    return 255


@_jit()
def search_each(indptr, indices, first, last, distances):  # type: ignore[no-untyped-def]
    """Distances from the roots ``first .. last - 1`` by one breadth-first search each, into ``distances (n, n)``."""
    n = len(indptr) - 1
    unreached = np.uint16(65535)
    queue = np.empty(n, dtype=np.int64)
    for root in range(first, min(last, n)):
        row = distances[root]
        row[:] = unreached
        row[root] = 0
        queue[0] = root
        end = 1
        at = 0
        while at < end:
            v = queue[at]
            at += 1
            for e in range(indptr[v], indptr[v + 1]):
                u = indices[e]
                if row[u] == unreached:
                    row[u] = row[v] + 1
                    queue[end] = u
                    end += 1


@_jit()
def count_pairs(distances, counts):  # type: ignore[no-untyped-def]
    """Add the number of pairs ``x < y`` at each distance to ``counts``."""
    n = len(distances)
    for x in range(n):
        for y in range(x + 1, n):
            counts[distances[x, y]] += 1


@_jit()
def fill_pairs(distances, first, at, pairs):  # type: ignore[no-untyped-def]
    """Write the pairs ``x < y`` of neighbouring distances, each from its place ``at`` on; ``at`` moves along."""
    n, last = len(distances), first + len(at) - 1
    for x in range(n):
        for y in range(x + 1, n):
            hop = np.int64(distances[x, y])
            if first <= hop < last:
                row = at[hop - first]
                pairs[row, 0] = x
                pairs[row, 1] = y
                at[hop - first] = row + 1


@_jit()
def path_weights(indptr, indices, weights, distances, unreached, product, first, last, best):  # type: ignore[no-untyped-def]
    """Weights of the best shortest paths from the roots ``first .. last - 1`` to all nodes, into ``best (n, n)``.

    The weight of a path is the smallest of its edges', or their product; the best path has the largest.
    """
    n = len(indptr) - 1
    order = np.empty(n, dtype=np.int64)
    for root in range(first, last):
        row = distances[root]
        counts = np.zeros(unreached + 2, dtype=np.int64)
        for v in range(n):
            counts[np.int64(row[v]) + 1] += 1  # of 255 in a byte, without the compiler
        starts = np.cumsum(counts)
        reached = starts[unreached]
        for v in range(n):
            order[starts[row[v]]] = v
            starts[row[v]] += 1
        best[root, root] = 1.0 if product else np.inf
        for at in range(1, reached):
            v = order[at]
            level = np.int64(row[v]) - 1
            largest = 0.0
            for e in range(indptr[v], indptr[v + 1]):
                u = indices[e]
                if row[u] == level:
                    known = best[root, u]
                    weight = known * weights[e] if product else min(known, weights[e])
                    if weight > largest:
                        largest = weight
            best[root, v] = largest


@_jit(fastmath={"reassoc", "contract"})
def edge_lengths(values, edges, lengths):  # type: ignore[no-untyped-def]
    """``norm(values[x] - values[y])`` per edge for one snapshot: ``(n, d) -> (m,)``."""
    for e in range(len(edges)):
        x, y = edges[e]
        total = 0.0
        for k in range(values.shape[1]):
            difference = values[x, k] - values[y, k]
            total += difference * difference
        lengths[e] = np.sqrt(total)


@_jit(fastmath={"contract"})
def difference_sums(edges, weights, block, absolute, squared):  # type: ignore[no-untyped-def]
    """``sum w abs(du)`` and ``sum w^2 du^2`` over all edges for a block of eigenvectors, one snapshot.

    ``block (n, b)`` is small enough to stay in the second-level cache while every edge reads two of its rows. Four
    edges at a time, so that the sums are read and written once for the four.
    """
    m, width = len(edges), block.shape[1]
    for e in range(0, m - 3, 4):
        x0, y0 = edges[e]
        x1, y1 = edges[e + 1]
        x2, y2 = edges[e + 2]
        x3, y3 = edges[e + 3]
        w0, w1, w2, w3 = weights[e], weights[e + 1], weights[e + 2], weights[e + 3]
        for i in range(width):
            d0 = w0 * (block[x0, i] - block[y0, i])
            d1 = w1 * (block[x1, i] - block[y1, i])
            d2 = w2 * (block[x2, i] - block[y2, i])
            d3 = w3 * (block[x3, i] - block[y3, i])
            absolute[i] += (abs(d0) + abs(d1)) + (abs(d2) + abs(d3))
            squared[i] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)
    for e in range(m - m % 4, m):
        x0, y0 = edges[e]
        for i in range(width):
            d0 = weights[e] * (block[x0, i] - block[y0, i])
            absolute[i] += abs(d0)
            squared[i] += d0 * d0


@_jit(fastmath={"contract"})
def pair_products(edges, weights, places, values, products):  # type: ignore[no-untyped-def]
    """``sum w v(x) v(y)`` over all edges, where node x has row ``places[x]`` of ``values (n, c)``; four at a time."""
    m, width = len(edges), values.shape[1]
    for e in range(0, m - 3, 4):
        x0, y0 = places[edges[e, 0]], places[edges[e, 1]]
        x1, y1 = places[edges[e + 1, 0]], places[edges[e + 1, 1]]
        x2, y2 = places[edges[e + 2, 0]], places[edges[e + 2, 1]]
        x3, y3 = places[edges[e + 3, 0]], places[edges[e + 3, 1]]
        w0, w1, w2, w3 = weights[e], weights[e + 1], weights[e + 2], weights[e + 3]
        for i in range(width):
            first = w0 * values[x0, i] * values[y0, i] + w1 * values[x1, i] * values[y1, i]
            products[i] += first + (w2 * values[x2, i] * values[y2, i] + w3 * values[x3, i] * values[y3, i])
    for e in range(m - m % 4, m):
        x0, y0 = places[edges[e, 0]], places[edges[e, 1]]
        for i in range(width):
            products[i] += weights[e] * values[x0, i] * values[y0, i]


@_jit(fastmath={"contract"})
def stacked_difference_sums(weights, vectors, absolute, squared):  # type: ignore[no-untyped-def]
    """The same sums for stacked graphs: weights ``(g, pairs x < y)``, vectors ``(g, n, c)``, sums ``(g, c)``."""
    count, n, columns = vectors.shape
    for g in range(count):
        pair = 0
        for x in range(n):
            for y in range(x + 1, n):
                weight = weights[g, pair]
                pair += 1
                if weight != 0.0:
                    for i in range(columns):
                        difference = weight * (vectors[g, x, i] - vectors[g, y, i])
                        absolute[g, i] += abs(difference)
                        squared[g, i] += difference * difference
