"""Eigenvalues of a symmetric tridiagonal matrix by implicit QL, with the rotations kept instead of the eigenvectors.

The eigenvectors are a product of plane rotations: applying it to d rows costs about ``6 d n^2`` operations, and
forming it ``6 n^3`` (Golub and Welsch 1969 carry the first row alone). Kernels as in ``compiled``.
"""

import math

import numpy as np

from spectrata.kernels.compiled import _jit

EPSILON = float(np.finfo(np.float64).eps)
NEGLIGIBLE = 1e-150  # of a norm near 1
SQUARED = 1e-280  # sums of squares above are exact to rounding
WIDTH = 8  # columns that are rotated at once: one fixed number, so that the bits of a column depend on no other


@_jit()
def implicit_ql(d, e, cosines, sines, sweeps):  # type: ignore[no-untyped-def]
    """Eigenvalues into ``d (n,)``, unordered; ``e (n - 1,)`` is used up. Returns the number of sweeps, or -1.

    Sweep ``k`` rotates rows ``i`` and ``i + 1`` for ``i = sweeps[k, 1] - 1, ..., sweeps[k, 0]``, each by the next
    pair of ``cosines`` and ``sines``. -1 where their space is used up before all eigenvalues have converged.
    """
    n = len(d)
    count, used = 0, 0
    for first in range(n):
        while True:
            last = first
            while last < n - 1:
                small = (EPSILON * abs(d[last])) * (EPSILON * abs(d[last + 1]))
                if e[last] * e[last] <= small or abs(e[last]) < NEGLIGIBLE:
                    break
                last += 1
            if last == first:
                break
            if count == len(sweeps) or used + last - first > len(cosines):
                return -1
            # Wilkinson's shift.
            g = (d[first + 1] - d[first]) / (2.0 * e[first])
            r = math.hypot(g, 1.0)
            g = d[last] - d[first] + e[first] / (g + (r if g >= 0.0 else -r))
            s, c, p = 1.0, 1.0, 0.0
            for i in range(last - 1, first - 1, -1):
                f, b = s * e[i], c * e[i]
                r = f * f + g * g
                r = math.sqrt(r) if r > SQUARED else math.hypot(f, g)
                if r == 0.0:
                    c, s = 1.0, 0.0
                else:
                    c, s = g / r, f / r
                if i < last - 1:
                    e[i + 1] = r
                g = d[i + 1] - p
                r = (d[i] - g) * s + 2.0 * c * b
                p = s * r
                d[i + 1] = g + p
                g = c * r - b
                cosines[used] = c
                sines[used] = s
                used += 1
            d[first] -= p
            e[first] = g
            if last < n - 1:
                e[last] = 0.0
            sweeps[count, 0] = first
            sweeps[count, 1] = last
            count += 1
    return count


@_jit(fastmath={"contract"})
def rotate(rows, cosines, sines, sweeps):  # type: ignore[no-untyped-def]
    """The rotations one after the other on rows ``(n, WIDTH)``, in place: ``W^T rows``."""
    at = 0
    for k in range(len(sweeps)):
        for i in range(sweeps[k, 1] - 1, sweeps[k, 0] - 1, -1):
            c, s = cosines[at], sines[at]
            at += 1
            for j in range(WIDTH):
                above, below = rows[i, j], rows[i + 1, j]
                rows[i + 1, j] = c * below + s * above
                rows[i, j] = c * above - s * below


@_jit(fastmath={"contract"})
def rotate_back(rows, cosines, sines, sweeps):  # type: ignore[no-untyped-def]
    """The inverse rotations in reverse order: ``W rows``."""
    at = len(cosines)
    for k in range(len(sweeps) - 1, -1, -1):
        for i in range(sweeps[k, 0], sweeps[k, 1]):
            at -= 1
            c, s = cosines[at], sines[at]
            for j in range(WIDTH):
                above, below = rows[i, j], rows[i + 1, j]
                rows[i + 1, j] = c * below - s * above
                rows[i, j] = c * above + s * below
