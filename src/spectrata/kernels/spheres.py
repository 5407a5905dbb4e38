"""Compiled breadth-first searches that stop at a hop: the pairs of a stratum row by row, and connected parts.

Row ``v`` of the product of ``K`` adjacency matrices, less those of fewer, is the sphere of radius ``K`` around ``v``.
One search per row gives it without storing the spheres below.
"""

import numpy as np

from spectrata.kernels.compiled import _jit


@_jit()
def grow(indptr, indices, first, last, stamp, mark, queue):  # type: ignore[no-untyped-def]
    """Append the neighbours of ``queue[first:last]`` that are not reached; gives where they end."""
    end = last
    for i in range(first, last):
        v = queue[i]
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e]
            if mark[u] != stamp:
                mark[u] = stamp
                queue[end] = u
                end += 1
    return end


@_jit()
def search(indptr, indices, root, hop, stamp, mark, queue):  # type: ignore[no-untyped-def]
    """Nodes within ``hop`` of the root, nearest first, in ``queue``; gives where the last sphere starts and ends.

    ``mark[v] == stamp`` says that ``v`` is reached. A sphere that is empty starts where it ends.
    """
    queue[0] = root
    mark[root] = stamp
    first, last = 0, 1
    for _ in range(hop):
        first, last = last, grow(indptr, indices, first, last, stamp, mark, queue)
        if first == last:
            break
    return first, last


@_jit()
def sphere_sizes(indptr, indices, rows, mark, queue, sizes):  # type: ignore[no-untyped-def]
    """Nodes at exactly 1, 2, ... hops from each of ``rows``, into ``sizes (rows, hops)``."""
    mark[:] = -1
    for i, root in enumerate(rows):
        queue[0] = root
        mark[root] = root
        first, last = 0, 1
        for hop in range(sizes.shape[1]):
            first, last = last, grow(indptr, indices, first, last, root, mark, queue)
            sizes[i, hop] = last - first


@_jit()
def fill_spheres(indptr, indices, hop, rows, mark, queue, offsets, out):  # type: ignore[no-untyped-def]
    """Write the sphere of each row, ascending, to ``out[offsets[row] : offsets[row + 1]]``."""
    mark[:] = -1
    for root in rows:
        first, last = search(indptr, indices, root, hop, root, mark, queue)
        piece = out[offsets[root] : offsets[root + 1]]
        piece[:] = queue[first:last]
        piece.sort()


@_jit()
def fill_weighted_spheres(  # type: ignore[no-untyped-def]
    indptr, indices, weights, hop, product, rows, mark, queue, best, offsets, out, out_weights
):
    """``fill_spheres`` with, for each node of a sphere, the largest weight of a shortest path from the root.

    A path weighs as much as its lightest edge, or the product of its edges; ``best (n,)`` is work space. ``mark``
    holds the distance from the root, so that a path grows only from one sphere to the next.
    """
    mark[:] = -1
    for root in rows:
        queue[0] = root
        mark[root], best[root] = 0, 1.0 if product else np.inf
        first, last = 0, 1
        for distance in range(1, hop + 1):
            end = last
            for i in range(first, last):
                v = queue[i]
                for e in range(indptr[v], indptr[v + 1]):
                    u = indices[e]
                    if mark[u] == -1:
                        mark[u], best[u] = distance, 0.0
                        queue[end] = u
                        end += 1
                    if mark[u] == distance:
                        weight = best[v] * weights[e] if product else min(best[v], weights[e])
                        best[u] = max(best[u], weight)
            first, last = last, end
        start = offsets[root]
        piece = out[start : offsets[root + 1]]
        piece[:] = queue[first:last]
        piece.sort()
        for j in range(len(piece)):
            out_weights[start + j] = best[piece[j]]
        mark[queue[:last]] = -1


@_jit()
def upper_pairs(indptr, indices, weights, pairs, pair_weights):  # type: ignore[no-untyped-def]
    """Write the pairs ``x < y`` of symmetric rows, in lexicographic order; ``weights`` may be empty."""
    at = 0
    for x in range(len(indptr) - 1):
        for e in range(indptr[x], indptr[x + 1]):
            if indices[e] > x:
                pairs[at, 0] = x
                pairs[at, 1] = indices[e]
                if len(weights):
                    pair_weights[at] = weights[e]
                at += 1


@_jit()
def _root(parent, v):  # type: ignore[no-untyped-def]
    while parent[v] != v:
        parent[v] = parent[parent[v]]
        v = parent[v]
    return v


@_jit()
def join_rows(indptr, indices, parent):  # type: ignore[no-untyped-def]
    """Label of each node's connected part by first appearance, from rows; ``parent`` starts as ``arange(n)``."""
    for v in range(len(indptr) - 1):
        for e in range(indptr[v], indptr[v + 1]):
            if indices[e] > v:
                x, y = _root(parent, v), _root(parent, indices[e])
                parent[max(x, y)] = min(x, y)
    count = 0
    for v in range(len(parent)):  # the root of a part is its lowest node; lower nodes have their labels already
        if parent[v] == v:
            parent[v] = count
            count += 1
        else:
            parent[v] = parent[parent[v]]
