r"""Exact skewness of pair sums over all orders of the nodes, for scalar signals.

With :math:`2 S = \sum_{xy} A_{xy} B_{p(x)p(y)}`, both matrices symmetric with zero diagonal and zero sum,
:math:`E[(2 S)^3]` is a sum over the eight ways in which three pairs of nodes can share nodes. Each way contributes the
product of its sums over :math:`A` and over :math:`B`, divided by the number of ordered choices of its nodes. The sums
over the matrix :math:`B_{xy} = (t(x) - t(y))^2` are polynomials in the power sums of the signal.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spectrata.kernels.pair_sums import Rows, triangle_sum, triangle_work
from spectrata.stats.pairs import pair_degrees

# Steps for the triangles of one hop, some seconds; beyond them its skewness is not computed.
TRIANGLE_WORK = 2e9
# Ordered triples of ordered pairs of nodes of each kind, in terms of the sums of ``_kinds``, and the nodes they have.
CHOICES = (4, 24, 8, 8, 24, 6, 12, 1)
NODES = (2, 3, 3, 4, 4, 4, 5, 6)


@dataclass(frozen=True, eq=False)
class Cubes:
    """Third-order sums of a matrix, after its mean entry off the diagonal is taken off, so that its entries sum to 0.

    Attributes
    ----------
    entries : ndarray
        Cubed entries.
    mixed : ndarray
        Row sums times row sums of squares.
    rows : ndarray
        Cubed row sums.
    triangles : ndarray
        Trace of the cubed matrix.
    paths : ndarray
        Quadratic form of the row sums.
    """

    entries: np.ndarray
    mixed: np.ndarray
    rows: np.ndarray
    triangles: np.ndarray
    paths: np.ndarray


def graph_cubes(rows: Sequence[Rows], n: int) -> Cubes:
    """Third-order sums of the weighted adjacency of each hop, arrays ``(H,)``; NaN where triangles are too many."""
    return Cubes(*np.array([hop_cubes(one, n) for one in rows]).T)


def hop_cubes(rows: Rows, n: int) -> tuple[float, ...]:
    """The fields of ``Cubes`` for one hop."""
    if rows.twice or triangle_work(rows) > TRIANGLE_WORK:
        return (np.nan,) * 5
    x, y = rows.firsts, rows.heads
    given = rows.listed_weights
    weights = np.ones(len(x)) if given is None else given
    sums = pair_degrees([rows], n)[0]
    squares = np.bincount(x, weights**2, n) + np.bincount(y, weights**2, n)
    total, mean = sums.sum(), sums.sum() / (n * (n - 1))
    left = sums - total / n
    left_squares = squares - 2 * mean * sums + mean**2 * (n - 1)
    entries = 2 * np.sum(weights**3) - 3 * mean * squares.sum() + 3 * mean**2 * total - mean**3 * n * (n - 1)
    around = 6 * triangle_sum(rows, n) - 3 * mean * (np.sum(sums**2) - squares.sum())
    around += 3 * mean**2 * (n - 2) * total - mean**3 * n * (n - 1) * (n - 2)
    paths = 2 * np.sum(weights * left[x] * left[y]) + mean * np.sum(left**2)
    return entries, np.sum(left * left_squares), np.sum(left**3), around, paths


def signal_cubes(t: np.ndarray) -> Cubes:
    """Third-order sums of the squared differences of centred scalar signals ``(n, c)``, arrays ``(c,)``."""
    n = len(t)
    square = t * t
    m2, m3, m4 = square.sum(axis=0), np.sum(square * t, axis=0), np.sum(square * square, axis=0)
    m6 = np.sum(square * square * square, axis=0)
    mean = 2 * m2 / (n - 1)
    total, squares = 2 * n * m2, 2 * n * m4 + 6 * m2**2
    rows = n**2 * m4 + 3 * n * m2**2  # squared row sums before the mean is taken off
    left = n**2 * (m4 - m2**2 / n)
    entries = 2 * n * m6 + 30 * m2 * m4 - 20 * m3**2
    entries += -3 * mean * squares + 3 * mean**2 * total - mean**3 * n * (n - 1)
    around = 6 * (n * (m2 * m4 - m3**2) - m2**3)
    around += -3 * mean * (rows - squares) + 3 * mean**2 * (n - 2) * total - mean**3 * n * (n - 1) * (n - 2)
    mixed = n * (n * m6 - m2 * m4 + (6 * m2 - 2 * mean * n) * (m4 - m2**2 / n) - 4 * m3**2)
    cubed = n**3 * (m6 - 3 * m2 * m4 / n + 2 * m2**3 / n**2)
    return Cubes(entries, mixed, cubed, around, -2 * n**2 * m3**2 + mean * left)


def _kinds(cubes: Cubes) -> list[np.ndarray]:
    """Sums over distinct nodes of the products of three entries, for the eight ways in which pairs share nodes."""
    same = cubes.entries  # one pair three times
    double = cubes.mixed - same  # a pair twice, and one that meets it
    triangle = cubes.triangles
    star = cubes.rows - 3 * cubes.mixed + 2 * same
    path = cubes.paths - 2 * cubes.mixed + same - triangle
    double_apart = -4 * double - 2 * same  # a pair twice, and one that does not meet it
    path_apart = -4 * double - 2 * triangle - 2 * star - 4 * path  # two that meet, and one apart
    known = [same, double, triangle, star, path, double_apart, path_apart]
    apart = -sum(count * kind for count, kind in zip(CHOICES, known, strict=False))
    return [*known, apart]


def skewness(graph: Cubes, signal: Cubes, variance: np.ndarray, n: int) -> np.ndarray:
    """Skewness of the pair sums over all orders of ``n`` nodes, ``(c, H)``; ``variance`` is theirs."""
    third = np.zeros(variance.shape)
    for count, nodes, a, b in zip(CHOICES, NODES, _kinds(graph), _kinds(signal), strict=True):
        if n >= nodes:
            ordered = np.prod([float(n - k) for k in range(nodes)])
            third += count * b[:, None] * a / ordered
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(variance > 0, third / (8 * variance**1.5), np.nan)
