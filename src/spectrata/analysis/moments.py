r"""The permutation null of GFT energies in closed form: exact mean and variance.

Permute the nodes' vectors uniformly at random. For a set of eigencomponents with projector
:math:`\Pi` and the signal :math:`t` the energy is :math:`\Gamma = \sum_{ij} \Pi_{ij} G_{\pi(i)\pi(j)}`
with :math:`G = t t^T`. When both matrices have zero row sums (:math:`\Pi 1 = 0`, and :math:`t` centred), each
sum over distinct indices that :math:`E[\Gamma^2]` needs follows, by Moebius inversion over the partitions of
four indices, from three numbers of each matrix: the trace, the squared Frobenius norm and the sum of squared
diagonal entries. Components off zero have zero row sums, and so has the zero eigenspace less the constant.
"""

from dataclasses import dataclass

import numpy as np

from spectrata.core.bases.solve import EigenBasis

# Variances below this share of the squared mean are rounding: the energy does not change under permutations.
FIXED = 1e-12


@dataclass(frozen=True, eq=False)
class Invariants:
    """Trace, squared Frobenius norm and sum of squared diagonal entries of matrices with zero row sums."""

    trace: np.ndarray
    square: np.ndarray
    diagonal: np.ndarray


def mean_and_variance(a: Invariants, b: Invariants, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of ``sum_ij A_ij B_p(i)p(j)`` over permutations ``p`` of ``n`` indices.

    Examples
    --------
    On three nodes, the first component of a path and one pulse: the energy is 1/2, 0 or 1/2.

    >>> one = np.array(1.0)
    >>> component = Invariants(one, one, one / 2)  # u = (1, 0, -1)/sqrt(2)
    >>> centred = np.array([2.0, -1.0, -1.0]) / 3
    >>> energy = (centred**2).sum()
    >>> pulse = Invariants(energy, energy**2, (centred**4).sum())
    >>> [round(float(x), 6) for x in mean_and_variance(component, pulse, 3)]
    [0.333333, 0.055556]
    """
    mean = a.trace * b.trace / (n - 1)
    # One term per kind of coincidence among the four indices, with the number of partitions of that kind.
    one = a.diagonal * b.diagonal
    two = (
        (a.trace**2 - a.diagonal) * (b.trace**2 - b.diagonal)
        + 2 * (a.square - a.diagonal) * (b.square - b.diagonal)
        + 4 * one
    )
    three = 2 * (2 * a.diagonal - a.trace**2) * (2 * b.diagonal - b.trace**2) + 4 * (
        2 * a.diagonal - a.square
    ) * (2 * b.diagonal - b.square)
    four = (a.trace**2 + 2 * a.square - 6 * a.diagonal) * (b.trace**2 + 2 * b.square - 6 * b.diagonal)
    second, falling = one / n, float(n)
    for count, term in ((1, two), (2, three), (3, four)):
        if n > count:
            falling *= n - count
            second = second + term / falling
    variance = second - mean**2
    return mean, np.where(variance > FIXED * mean**2, variance, 0.0)


def signal_invariants(t: np.ndarray) -> Invariants:
    """Of ``G = t t^T``, ``t`` centred over nodes: ``(T, n, d) -> (T, 1)`` each."""
    centred = t - t.mean(axis=1, keepdims=True)
    rows = np.einsum("tnd,tnd->tn", centred, centred)
    square = np.empty(len(t))
    for row, s in enumerate(centred):  # the smaller Gram matrix of each snapshot, one at a time
        gram = s.T @ s if s.shape[1] <= s.shape[0] else s @ s.T
        square[row] = np.sum(gram**2)
    return Invariants(rows.sum(axis=1)[:, None], square[:, None], (rows**2).sum(axis=1)[:, None])


def projector_diagonals(basis: EigenBasis, groups: np.ndarray, count: int) -> np.ndarray:
    """``sum_i (Pi_a)_ii^2`` of every group of components: ``(count,)``."""
    total = np.zeros(count)
    lone = groups[basis.singleton_columns]
    np.add.at(total, lone[lone >= 0], 1.0)
    for part in basis.parts:
        mine = groups[part.columns]
        inside = np.flatnonzero(mine >= 0)
        if not len(inside):
            continue
        starts = np.flatnonzero(np.diff(mine[inside], prepend=-1))
        squares = np.add.reduceat(part.vectors[:, inside] ** 2, starts, axis=1)  # (c, groups of this part)
        np.add.at(total, mine[inside[starts]], np.sum(squares**2, axis=0))
    return total


def gft_null(
    basis: EigenBasis, groups: np.ndarray, count: int, t: np.ndarray, signal: Invariants | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Exact mean and variance of GFT energies under permutations of the nodes' vectors.

    Parameters
    ----------
    basis : EigenBasis
        Of one stratum.
    groups : ndarray, shape (n,)
        Group of each component, ascending; -1 for none. A group is off zero, all of the zero
        components, or one zero component.
    count : int
        Number of groups.
    t : ndarray, shape (T, n, d)
        The signal whose plain differences have the gradient's length.
    signal : Invariants, optional
        Those of ``t``, where they are known already: they are the same at every hop.

    Returns
    -------
    mean, variance : ndarray, shape (T, count)
        NaN for groups without a component.
    """
    n = basis.n
    ranks = np.bincount(groups[groups >= 0], minlength=count).astype(float)
    signal = signal_invariants(t) if signal is None else signal
    space = Invariants(ranks, ranks, projector_diagonals(basis, groups, count))
    mean, variance = (np.array(array) for array in mean_and_variance(space, signal, n))
    mean[:, ranks == 0] = variance[:, ranks == 0] = np.nan
    zero_groups = np.unique(groups[basis.is_zero & (groups >= 0)])
    if len(zero_groups) == 1:
        mean[:, zero_groups[0]], variance[:, zero_groups[0]] = _zero_eigenspace(basis, t, signal)
    elif len(zero_groups):
        for column, size in zip(*_zero_components(basis), strict=True):
            mean[:, groups[column]], variance[:, groups[column]] = _zero_component(size, n, t, signal)
    return mean, variance


def _zero_components(basis: EigenBasis) -> tuple[np.ndarray, np.ndarray]:
    """Columns of the zero components and the sizes of their parts."""
    columns = np.concatenate([[part.columns[0] for part in basis.parts], basis.singleton_columns]).astype(int)
    sizes = np.concatenate([[len(part.nodes) for part in basis.parts], np.ones(len(basis.singletons))])
    return columns, sizes.astype(int)


def _zero_eigenspace(basis: EigenBasis, t: np.ndarray, signal: Invariants) -> tuple[np.ndarray, np.ndarray]:
    """All zero components together: the constant, whose energy no permutation changes, and the rest."""
    n = basis.n
    sizes = _zero_components(basis)[1]
    rank = np.array([len(sizes) - 1.0])
    rest = Invariants(rank, rank, np.array([np.sum(sizes * (1.0 / sizes - 1.0 / n) ** 2)]))
    mean, variance = mean_and_variance(rest, signal, n)
    constant = n * np.sum(t.mean(axis=1) ** 2, axis=1)
    return mean[:, 0] + constant, variance[:, 0]


def _zero_component(size: int, n: int, t: np.ndarray, signal: Invariants) -> tuple[np.ndarray, np.ndarray]:
    """The indicator ``u`` of one part of ``size`` nodes.

    With ``m`` the mean of ``t`` and ``w = u^T p(t - m)`` the energy is ``norm(sqrt(size) m + w)^2``, a
    constant, a
    linear and a quadratic statistic of the permutation.
    """
    centre = t.mean(axis=1)  # (T, d)
    centred = t - centre[:, None]
    inner = 1.0 / np.sqrt(size) - np.sqrt(size) / n
    outer = -np.sqrt(size) / n
    u2, u3, u4 = (size * inner**k + (n - size) * outer**k for k in (2, 3, 4))
    mean, variance = mean_and_variance(Invariants(*(np.array([x]) for x in (u2, u2**2, u4))), signal, n)
    along = np.einsum("tnd,td->tn", centred, centre)
    linear = u2 * np.sum(along**2, axis=1) / (n - 1)
    rows = np.einsum("tnd,tnd->tn", centred, centred)
    crossed = u3 * np.sum(along * rows, axis=1) * n / ((n - 1) * (n - 2)) if n > 2 else np.zeros(len(t))
    constant = size * np.sum(centre**2, axis=1)
    total = variance[:, 0] + 4 * size * linear + 4 * np.sqrt(size) * crossed
    expected = mean[:, 0] + constant
    return expected, np.where(total > FIXED * expected**2, total, 0.0)
