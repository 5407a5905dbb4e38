"""Loops compiled by numba over the compressed rows of a stratum: products with blocks, gradients, quadrature.

The conventions are those of ``kernels.compiled``: no lock, preallocated results, runs of rows given to threads by the
caller. ``x`` holds one row per node; row ``r`` of the matrix is row ``r`` of ``x``, and ``indices`` are rows of ``x``
too, so that one block of a larger matrix works with its own rows first and the rows it borrows behind them.

``weights`` stand beside ``indices``, and ``inverse_root (n,)`` is ``C^-1/2`` of the node measure. Either may be None
for ones: numba compiles each case by itself, so that the plain Laplacian pays for neither.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from spectrata.kernels.compiled import _jit

# Neighbours lie anywhere in memory, and a loop that reads them one after the other waits for each. Asked for a few
# neighbours ahead, a row of 16 columns is there when the sum reaches it.
AHEAD = 10  # neighbours; 8 to 16 were equally fast on a million nodes, 4 and 32 slower
LINE = 64  # bytes that memory gives at once


@intrinsic
def prefetch(context: Any, array: Any, row: Any, column: Any) -> Any:
    """Ask for the memory of ``array[row, column]``, of an array of two dimensions; its value is not read."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        held, row, column = given
        kind = signature.args[0]
        array = context.make_array(kind)(context, builder, held)
        shape, strides = (cgutils.unpack_tuple(builder, part) for part in (array.shape, array.strides))
        place = cgutils.get_item_pointer2(context, builder, array.data, shape, strides, kind.layout, [row, column])
        byte = ir.IntType(8).as_pointer()
        number = ir.IntType(32)
        hint = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        )
        to_read, keep, data = (number(value) for value in (0, 3, 1))
        builder.call(hint, [builder.bitcast(place, byte), to_read, keep, data])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp), generate


@_jit()
def ask_for(indices, e, stop, x):  # type: ignore[no-untyped-def]
    """Ask for the row of the neighbour that a loop over the entries before ``stop`` reads a little later."""
    if e + AHEAD < stop:
        row = np.intp(indices[e + AHEAD])
        for k in range(0, x.shape[1], LINE // x.itemsize):
            prefetch(x, row, k)  # type: ignore[call-arg]  # numba gives the first argument itself


@_jit(fastmath={"contract"})
def step(indptr, indices, weights, inverse_root, start, stop, x, previous, scale, back, dots):  # type: ignore[no-untyped-def]
    """``previous = scale C^-1/2 L C^-1/2 x - back previous`` on some rows, and ``dots += sum x previous``.

    Without factors (None), ``previous`` is the product itself, as sums of differences.
    """
    width = x.shape[1]
    total = np.empty(width)
    for v in range(start, stop):
        total[:] = 0.0
        for e in range(indptr[v], indptr[v + 1]):
            ask_for(indices, e, len(indices), x)
            u = indices[e]
            weight = 1.0 if weights is None else weights[e]
            if inverse_root is None:
                for k in range(width):
                    total[k] += weight * (x[v, k] - x[u, k])
            else:
                near = weight * inverse_root[v] * inverse_root[v]
                far = weight * inverse_root[v] * inverse_root[u]
                for k in range(width):
                    total[k] += near * x[v, k] - far * x[u, k]
        for k in range(width):
            value = total[k] if scale is None else scale[k] * total[k] - back[k] * previous[v, k]
            previous[v, k] = value
            dots[k] += x[v, k] * value


@_jit(fastmath={"contract"})
def subtract(start, stop, x, y, factor, squares):  # type: ignore[no-untyped-def]
    """``x -= factor y`` on some rows, and ``squares += sum x^2``."""
    width = x.shape[1]
    for v in range(start, stop):
        for k in range(width):
            value = x[v, k] - factor[k] * y[v, k]
            x[v, k] = value
            squares[k] += value * value


@_jit(fastmath={"contract"})
def descend(start, stop, x, r, p, moved, rate, inverse, sums):  # type: ignore[no-untyped-def]
    """``x += rate p``, ``r -= rate moved``; ``sums[0] += r^2 inverse`` and ``sums[1] += r^2``."""
    for v in range(start, stop):
        for k in range(x.shape[1]):
            x[v, k] += rate[k] * p[v, k]
            value = r[v, k] - rate[k] * moved[v, k]
            r[v, k] = value
            sums[0, k] += value * value * inverse[v]
            sums[1, k] += value * value


@_jit(fastmath={"contract"})
def turn(start, stop, p, r, inverse, share):  # type: ignore[no-untyped-def]
    """``p = inverse r + share p``: the next direction."""
    for v in range(start, stop):
        for k in range(p.shape[1]):
            p[v, k] = inverse[v] * r[v, k] + share[k] * p[v, k]


@_jit()
def sign(x, y, key):  # type: ignore[no-untyped-def]
    """A fair sign for the edge between ``x`` and ``y`` as seen from ``x``: the two ends see opposite ones.

    Key 0 is the order of rows: + for the lower end. Any other key hashes the pair (splitmix64), so that no array over
    edges is drawn or kept, and blocks of a larger graph agree.
    """
    order = 1.0 if x < y else -1.0
    if key == np.uint64(0):
        return order
    low, high = np.uint64(min(x, y)), np.uint64(max(x, y))
    mixed = key + low * np.uint64(0x9E3779B97F4A7C15)
    for word in (high, np.uint64(0)):
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed = (mixed ^ (mixed >> np.uint64(31))) + word * np.uint64(0x9E3779B97F4A7C15)
    return order if mixed & np.uint64(1) else -order


@_jit(fastmath={"contract"})
def gradients(indptr, indices, weights, start, stop, names, t, keys, mean, divergence):  # type: ignore[no-untyped-def]
    """Mean gradient and divergence of every node from its own edges; gives the weighted sum of squared gradients.

    ``mean[v]`` is IN-AGG's signal, the weighted mean; ``divergence[v, j]`` adds ``sign_j w g`` over the node's edges,
    for each of the orientations ``keys``. Each edge is met from both ends: half of the sum of squares is the
    stratum's.
    """
    width, squares = t.shape[1], 0.0
    for v in range(start, stop):
        lengths, degree = 0.0, 0.0
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e]
            length = 0.0
            for k in range(width):
                difference = t[v, k] - t[u, k]
                length += difference * difference
            weight = 1.0 if weights is None else weights[e]
            squares += weight * length
            length = weight * np.sqrt(length)
            lengths += length
            degree += weight
            for j in range(len(keys)):
                divergence[v, j] += sign(names[v], names[u], keys[j]) * length
        mean[v] = lengths / degree if degree else 0.0
    return squares


@_jit()
def gauss_rule(diagonal, off, first):  # type: ignore[no-untyped-def]
    """Eigenvalues of a Jacobi matrix and the first entries of its eigenvectors, by implicit QL, in place.

    ``off[j]`` joins ``j`` and ``j + 1``; its last entry is work space. ``first`` starts as the first unit vector.
    Only the first row of eigenvectors is turned along (Golub and Welsch 1969): order m^2, not m^3.
    """
    m = len(diagonal)
    off[m - 1] = 0.0
    for low in range(m):
        for _ in range(100):
            high = low
            while high < m - 1:
                size = abs(diagonal[high]) + abs(diagonal[high + 1])
                if abs(off[high]) <= 2.3e-16 * size:
                    break
                high += 1
            if high == low:
                break
            g = (diagonal[low + 1] - diagonal[low]) / (2.0 * off[low])
            r = np.hypot(g, 1.0)
            g = diagonal[high] - diagonal[low] + off[low] / (g + (r if g >= 0.0 else -r))
            s, c, p = 1.0, 1.0, 0.0
            split = False
            for i in range(high - 1, low - 1, -1):
                f, b = s * off[i], c * off[i]
                r = np.sqrt(f * f + g * g)
                off[i + 1] = r
                if r == 0.0:
                    diagonal[i + 1] -= p
                    off[high] = 0.0
                    split = True
                    break
                s, c = f / r, g / r
                g = diagonal[i + 1] - p
                r = (diagonal[i] - g) * s + 2.0 * c * b
                p = s * r
                diagonal[i + 1] = g + p
                g = c * r - b
                f = first[i + 1]
                first[i + 1] = s * first[i] + c * f
                first[i] = c * first[i] - s * f
            if not split:
                diagonal[low] -= p
                off[low] = g
                off[high] = 0.0


@_jit()
def measure_bounds(alpha, beta, whole, edges, near, lower, upper):  # type: ignore[no-untyped-def]
    """Bounds on a unit measure below each edge, from its Jacobi matrix (Chebyshev, Markov, Stieltjes).

    ``alpha (m,)`` and ``beta (m - 1,)``. Where the matrix is not the whole measure, its last diagonal entry is
    changed so that the edge itself is a node (Gauss-Radau): the nodes below it are a lower bound, with the edge's own
    weight an upper one. Nodes within ``near`` of the edge count as lying on it.
    """
    m = len(alpha)
    diagonal, off, first = np.empty(m), np.empty(m), np.empty(m)
    for j, edge in enumerate(edges):
        size = m
        if not whole:
            pivot = alpha[0] - edge
            before = 0.0
            for i in range(1, m):
                before = pivot
                if abs(pivot) < 1e-300:
                    pivot = 1e-300
                pivot = alpha[i] - edge - beta[i - 1] * beta[i - 1] / pivot
            last = alpha[m - 1] - pivot
            if m > 1 and abs(last - edge) > 1e6 * (abs(edge) + abs(alpha[m - 1])):
                # The edge is a node of the shorter rule already; the longer one would put a node near infinity.
                size = m - 1
                last = alpha[m - 2] - before
        if not whole or j == 0:  # the rule of a whole measure does not depend on the edge
            diagonal[:size] = alpha[:size]
            if not whole:
                diagonal[size - 1] = last
            off[: size - 1] = beta[: size - 1]
            first[:size] = 0.0
            first[0] = 1.0
            gauss_rule(diagonal[:size], off[:size], first[:size])
        below, on = 0.0, 0.0
        closest = -1 if whole else int(np.argmin(np.abs(diagonal[:size] - edge)))
        for i in range(size):
            weight = first[i] * first[i]
            if i == closest or abs(diagonal[i] - edge) <= near:
                on += weight
            elif diagonal[i] < edge:
                below += weight
        lower[j], upper[j] = below, below + on
