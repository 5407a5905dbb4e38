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
def vector_squares(tails, starts, stops, indices, weights, values, sums):  # type: ignore[no-untyped-def]
    """``sum w norm(values[x] - values[y])^2`` of each row of one hop, into ``sums (rows,)``; ``values (n, d)``."""
    for i in range(len(tails)):
        x = tails[i]
        row = 0.0
        for e in range(starts[i], stops[i]):
            y = indices[e]
            length = 0.0
            for k in range(values.shape[1]):
                difference = values[x, k] - values[y, k]
                length += difference * difference
            row += length if weights is None else weights[e] * length
        sums[i] = row


@_jit(fastmath={"contract"})
def lane_squares(tails, starts, stops, indices, weights, values, sums):  # type: ignore[no-untyped-def]
    """``sum w (values[x] - values[y])^2`` over the pairs of one hop, added to ``sums (c,)``; ``values (n, c)``."""
    width = values.shape[1]
    row = np.empty(width)
    for i in range(len(tails)):
        x = tails[i]
        row[:] = 0.0
        for e in range(starts[i], stops[i]):
            y = indices[e]
            if weights is None:
                for k in range(width):
                    difference = values[x, k] - values[y, k]
                    row[k] += difference * difference
            else:
                w = weights[e]
                for k in range(width):
                    difference = values[x, k] - values[y, k]
                    row[k] += w * (difference * difference)
        for k in range(width):
            sums[k] += row[k]


@_jit(fastmath={"reassoc", "contract"})
def permuted_sums(tails, starts, stops, indices, weights, squares, orders, sums):  # type: ignore[no-untyped-def]
    """``sum w squares[p(x), p(y)]`` over the pairs of one hop for each order ``p (n,)``, into ``sums (c,)``."""
    for c in range(len(orders)):
        order = orders[c]
        total = 0.0
        for i in range(len(tails)):
            line = squares[order[tails[i]]]
            row = 0.0
            if weights is None:
                for e in range(starts[i], stops[i]):
                    row += line[order[indices[e]]]
            else:
                for e in range(starts[i], stops[i]):
                    row += weights[e] * line[order[indices[e]]]
            total += row
        sums[c] = total


@_jit()
def triangles(starts, stops, indices, weights, rows, mark):  # type: ignore[no-untyped-def]
    """``sum of A_xy A_yz A_xz`` over ``x < y < z`` with ``x`` in ``rows``; ``mark (n,)`` is work space of zeros."""
    total = 0.0
    for x in rows:
        for e in range(starts[x], stops[x]):
            mark[indices[e]] = 1.0 if weights is None else weights[e]
        for e in range(starts[x], stops[x]):
            y = indices[e]
            row = 0.0
            for f in range(starts[y], stops[y]):
                row += mark[indices[f]] * (1.0 if weights is None else weights[f])
            total += row * mark[y]
        for e in range(starts[x], stops[x]):
            mark[indices[e]] = 0.0
    return total
