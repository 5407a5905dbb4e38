"""Correction of p for what else a call looked at: Westfall-Young over statistics, Benjamini-Hochberg over columns."""

import numpy as np

# Statistics are correlations and shares: values that differ by less are ties.
TIE = 1e-10


def tails(observed: np.ndarray, drawn: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Draws that are at least, and at most, the observed values: ``(S,), (N, S) -> (S,), (S,)``.

    Ties count in both tails, and so do draws that are undefined. With ``weights (N,)`` their probabilities are added.
    """
    lost = np.isnan(drawn)
    above = (drawn >= observed - TIE) | lost
    below = (drawn <= observed + TIE) | lost
    if weights is None:
        return above.sum(axis=0).astype(float), below.sum(axis=0).astype(float)
    return weights @ above, weights @ below


def smallest_p(
    observed: np.ndarray, drawn: np.ndarray, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """p of statistics ``(S,)`` by the distribution of the smallest p over draws ``(N, S)`` of the same orders.

    Also how many draws have a smallest p of at most that of the statistic (Westfall and Young 1993, single step).
    ``weights (N,)`` are probabilities, where the draws are all arrangements.
    """
    rows = np.concatenate([observed[None], drawn])
    # All arrangements have the observed one among them.
    shares = np.full(len(rows), 1 / len(rows)) if weights is None else np.concatenate([[0.0], weights])
    each = np.column_stack([two_sided(column, shares) for column in rows.T])  # (1 + N, S)
    smallest = each.min(axis=1)
    reached = smallest[:, None] <= each[0] * (1 + 1e-9) + 1e-15
    return np.minimum(1.0, shares @ reached), reached[1:].sum(axis=0)


def two_sided(values: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Twice the smaller tail that each of some values with probabilities cuts off; undefined ones end both tails."""
    lost = np.isnan(values)
    order = np.argsort(values, kind="stable")  # undefined ones last
    ascending, reached = values[order], np.concatenate([[0.0], np.cumsum(shares[order])])
    upper = reached[len(values) - lost.sum()] - reached[np.searchsorted(ascending, ascending - TIE, side="left")]
    lower = np.where(lost[order], 0.0, reached[np.searchsorted(ascending, ascending + TIE, side="right")])
    found = np.empty(len(values))
    found[order] = np.minimum(1.0, 2 * (np.minimum(upper, lower) + shares[lost].sum()))
    return found


def adjust(p: np.ndarray) -> np.ndarray:
    """Benjamini-Hochberg q over the last axis; NaN drop out of the family."""
    q = np.full(p.shape, np.nan)
    for row in np.ndindex(p.shape[:-1]):
        known = np.flatnonzero(~np.isnan(p[row]))
        order = known[np.argsort(p[row][known])]
        raised = p[row][order] * len(order) / np.arange(1, len(order) + 1)
        q[row][order] = np.minimum(1.0, np.minimum.accumulate(raised[::-1])[::-1])
    return q


def over_columns(p_family: np.ndarray) -> np.ndarray:
    """q of the tests of many columns: ``(C, ...) -> (C, ...)``, each column's p corrected within the column already.

    Benjamini and Hochberg select columns by their smallest p; within a column p grows by the same factor (Benjamini
    and Bogomolov 2014).
    """
    smallest = np.fmin.reduce(p_family.reshape(len(p_family), -1), axis=1)  # NaN where a column has no test
    factor = adjust(smallest) / smallest
    return np.minimum(1.0, p_family * factor.reshape(-1, *[1] * (p_family.ndim - 1)))
