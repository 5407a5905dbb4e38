r"""Likeness of the pairs of nodes at each hop distance: sums of squared differences, and their permutation null.

For one hop with the pair weights :math:`w` and a signal :math:`t` (a potential: its plain differences have the length
of the gradient) the statistic is :math:`S = \sum_e w(e) \|t(x) - t(y)\|^2`. Its mean and variance over all orders of
the nodes' vectors are closed (Mantel 1967): with :math:`A = W` and :math:`B` the matrix of squared distances,
:math:`2 S = \sum_{xy} A_{xy} B_{p(x)p(y)}`. The mean entry off the diagonal is taken from both matrices first. That
changes :math:`2 S` by a constant and makes its mean 0, so that the variance loses no digits to a large mean.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spectrata.core.strata import Strata
from spectrata.kernels.pair_sums import Rows, lane_sums, row_squares, upper_rows

# Moments below this share of the terms they are made of are rounding.
ROUNDING = 1e-12


def pair_rows(strata: Strata, hops: Sequence[int]) -> list[Rows]:
    """Compressed rows ``x < y`` of the pairs at each of some hops, with their weights."""
    rows = upper_rows(strata.distances, hops)
    if strata.graph.weights is None:
        return rows
    return [_weighted(strata, hop, one) for hop, one in zip(hops, rows, strict=True)]


def _weighted(strata: Strata, hop: int, rows: Rows) -> Rows:
    pairs = np.column_stack([rows.firsts, rows.heads])
    return rows._replace(weights=strata.pair_weights(hop, pairs))


def pair_sums(strata: Strata, t: np.ndarray, hops: Sequence[int] | None = None) -> np.ndarray:
    """``sum_e w(e) norm(t(x) - t(y))^2`` per hop of a potential: ``(T, n, d) -> (T, H)``.

    Examples
    --------
    >>> from spectrata.inputs.graphs import as_graph
    >>> path = Strata(as_graph(edges=[(0, 1), (1, 2), (2, 3)]))
    >>> pair_sums(path, np.array([[[0.0], [1.0], [2.0], [4.0]]])).tolist()
    [[6.0, 13.0, 16.0]]
    """
    return square_sums(pair_rows(strata, strata.hops if hops is None else hops), centred(t))


def square_sums(rows: Sequence[Rows], t: np.ndarray) -> np.ndarray:
    """``sum_e w(e) norm(t(x) - t(y))^2`` over the pairs of each hop: ``(T, n, d) -> (T, H)``."""
    if t.shape[2] == 1:
        return lane_sums(rows, np.ascontiguousarray(t[:, :, 0].T)).T
    return np.array([[row_squares(one, values).sum() for one in rows] for values in np.ascontiguousarray(t)])


def pair_null(strata: Strata, t: np.ndarray, hops: Sequence[int] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Exact mean and variance of ``pair_sums`` over all orders of the nodes: ``(T, n, d) -> (T, H)`` twice.

    A variance at rounding level is 0: no order of the nodes changes the sum.

    Examples
    --------
    On a path of three nodes a pulse gives 1 at an end and 2 in the middle.

    >>> from spectrata.inputs.graphs import as_graph
    >>> path = Strata(as_graph(edges=[(0, 1), (1, 2)]))
    >>> mean, variance = pair_null(path, np.array([[[1.0], [0.0], [0.0]]]), [1])
    >>> mean.round(6).tolist(), variance.round(6).tolist()
    ([[1.333333]], [[0.222222]])
    """
    rows = pair_rows(strata, strata.hops if hops is None else hops)
    return null_moments(graph_moments(rows, pair_degrees(rows, strata.n_nodes)), signal_moments(t))


def centred(t: np.ndarray) -> np.ndarray:
    """The potential less the mean of its nodes: differences stay, and a large common vector costs no digits."""
    near = t - t[:, :1]  # a mean of large numbers is rounded to their digits
    return near - near.mean(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class MatrixMoments:
    """Sums over a symmetric matrix with zero diagonal; the last two after its mean entry off the diagonal is taken off.

    Attributes
    ----------
    total : ndarray
        Sum of its entries.
    squares : ndarray
        Sum of squared entries.
    row_squares : ndarray
        Sum of squared row sums.
    n : int
        Rows.
    """

    total: np.ndarray
    squares: np.ndarray
    row_squares: np.ndarray
    n: int


def graph_moments(rows: Sequence[Rows], degrees: np.ndarray) -> MatrixMoments:
    """Moments of the weighted adjacency of each hop, with its degrees ``(H, n)``; arrays ``(H,)``."""
    return adjacency_moments(np.array([_squared_entries(one) for one in rows]), degrees)


def adjacency_moments(squares: np.ndarray, row_sums: np.ndarray) -> MatrixMoments:
    """Moments of matrices by the sums of their squared entries ``(H,)`` and their row sums ``(H, n)``."""
    n = row_sums.shape[1]
    total = row_sums.sum(axis=1)
    left = squares - total**2 / max(n * (n - 1), 1)
    apart = np.sum((row_sums - total[:, None] / n) ** 2, axis=1)
    return MatrixMoments(total, np.where(left > ROUNDING * squares, left, 0.0), apart, n)


def _squared_entries(rows: Rows) -> float:
    weights = rows.listed_weights
    return 2.0 * (rows.size + 2 * rows.twice if weights is None else float(np.sum(weights**2)))


def pair_degrees(rows: Sequence[Rows], n: int) -> np.ndarray:
    """Sum of the weights of each node's pairs, ``(H, n)``."""
    found = np.zeros((len(rows), n))
    for at, one in zip(found, rows, strict=True):
        weights = one.listed_weights
        at += np.bincount(one.heads, weights, n)
        if weights is None:
            at[one.tails] += one.stops - one.starts
        else:
            at += np.bincount(one.firsts, weights, n)
    return found


def signal_moments(t: np.ndarray) -> MatrixMoments:
    """Moments of the matrix of squared distances between the rows of a potential ``(T, n, d)``, arrays ``(T,)``."""
    t = centred(t)
    n = t.shape[1]
    square = np.einsum("tnd,tnd->tn", t, t)  # norm(t(x))^2
    energy = square.sum(axis=1)
    spread = np.sum((square - energy[:, None] / n) ** 2, axis=1)
    products = (
        np.einsum("tnd,tne->tde", t, t, optimize=True)
        if t.shape[2] <= n
        else np.einsum("tnd,tmd->tnm", t, t, optimize=True)
    )  # the same squared norm, of the smaller matrix
    gram = np.sum(products**2, axis=(1, 2))
    parts = 2 * n * spread + 4 * gram
    left = parts - 4 * energy**2 / max(n - 1, 1)
    return MatrixMoments(2 * n * energy, np.where(left > ROUNDING * parts, left, 0.0), n * n * spread, n)


def null_moments(graph: MatrixMoments, signal: MatrixMoments) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of the pair sums over all orders of the nodes, ``(T, H)`` each."""
    n = graph.n
    total, squares, rows = (part[:, None] for part in (signal.total, signal.squares, signal.row_squares))
    if n < 2:
        return np.zeros((len(total), len(graph.total))), np.zeros((len(total), len(graph.total)))
    ordered = n * (n - 1)
    mean = total * graph.total / (2 * ordered)
    # Pairs of pairs that coincide, share one node, and share none.
    terms = [2 * squares * graph.squares / ordered]
    if n > 2:
        terms.append(4 * (rows - squares) * (graph.row_squares - graph.squares) / (ordered * (n - 2)))
    if n > 3:
        apart = 4 * (squares - 2 * rows) * (graph.squares - 2 * graph.row_squares)
        terms.append(apart / (ordered * (n - 2) * (n - 3)))
    variance = sum(terms)
    size = sum(np.abs(term) for term in terms)
    return mean, np.where(variance > ROUNDING * size, variance, 0.0) / 4
