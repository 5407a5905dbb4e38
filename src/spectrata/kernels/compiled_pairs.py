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


@_jit(fastmath={"contract"})
def permuted_sums(place, weights, squares, orders, sums):  # type: ignore[no-untyped-def]
    """``sum w squares[p(x), p(y)]`` per hop for each order ``p``: ``orders (c, n)``, ``sums (c, H)``.

    ``place (n, n)`` has the number of each pair's hop, and ``H`` where it has none. The distances are read in their own
    order, each row once for all orders, and the small numbers of the hops in the permuted one. Four sums take turns, so
    that one addition need not wait for the last.
    """
    count, n = orders.shape
    hops = sums.shape[1]
    inverse = np.empty((count, n), dtype=np.uint32)  # unsigned: an index that cannot count from the end
    for c in range(count):
        for x in range(n):
            inverse[c, orders[c, x]] = x
    partial = np.zeros((count, 4, hops + 1))
    for u in range(n):
        line = squares[u]
        for c in range(count):
            to, part = inverse[c], partial[c]
            at = place[to[u]]
            whole = (n - u - 1) // 4
            for i in range(whole):
                v = np.uint64(u + 1 + 4 * i)
                for k in range(4):
                    y = to[v + np.uint64(k)]
                    step = line[v + np.uint64(k)]
                    part[k, at[y]] += step if weights is None else weights[to[u], y] * step
            for i in range(u + 1 + 4 * whole, n):
                part[0, at[to[i]]] += line[i] if weights is None else weights[to[u], to[i]] * line[i]
    for c in range(count):
        for h in range(hops):
            sums[c, h] = (partial[c, 0, h] + partial[c, 1, h]) + (partial[c, 2, h] + partial[c, 3, h])


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
