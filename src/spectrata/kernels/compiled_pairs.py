"""Compiled loops over the pairs of nodes at each hop distance; see ``pair_sums``."""

import numpy as np

from spectrata.kernels.compiled import _jit


@_jit()
def count_rows(distances, place, counts):  # type: ignore[no-untyped-def]
    """Count the nodes ``y > x`` at each wanted distance: ``counts (H, n)``; ``place`` is -1 for the others."""
    n = len(distances)
    for x in range(n):
        for y in range(x + 1, n):
            h = place[distances[x, y]]
            if h >= 0:
                counts[h, x] += 1


@_jit()
def fill_rows(distances, place, starts, indices):  # type: ignore[no-untyped-def]
    """Write these nodes, ascending; ``starts (H, n)`` says where each row begins, and is used up."""
    n = len(distances)
    for x in range(n):
        for y in range(x + 1, n):
            h = place[distances[x, y]]
            if h >= 0:
                indices[starts[h, x]] = y
                starts[h, x] += 1


@_jit(fastmath={"reassoc", "contract"})
def vector_squares(indptr, indices, weights, values):  # type: ignore[no-untyped-def]
    """``sum w norm(values[x] - values[y])^2`` over the pairs of one hop; ``values (n, d)``."""
    total = 0.0
    for x in range(len(indptr) - 1):
        row = 0.0
        for e in range(indptr[x], indptr[x + 1]):
            y = indices[e]
            length = 0.0
            for k in range(values.shape[1]):
                difference = values[x, k] - values[y, k]
                length += difference * difference
            row += length if weights is None else weights[e] * length
        total += row
    return total


@_jit(fastmath={"contract"})
def lane_squares(indptr, indices, weights, values, sums):  # type: ignore[no-untyped-def]
    """``sum w (values[x] - values[y])^2`` over the pairs of one hop, added to ``sums (c,)``; ``values (n, c)``."""
    width = values.shape[1]
    row = np.empty(width)
    for x in range(len(indptr) - 1):
        row[:] = 0.0
        for e in range(indptr[x], indptr[x + 1]):
            y = indices[e]
            if weights is None:
                for i in range(width):
                    difference = values[x, i] - values[y, i]
                    row[i] += difference * difference
            else:
                w = weights[e]
                for i in range(width):
                    difference = values[x, i] - values[y, i]
                    row[i] += w * (difference * difference)
        for i in range(width):
            sums[i] += row[i]
