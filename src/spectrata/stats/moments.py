r"""The permutation null of GFT energies in closed form: exact mean and variance.

Permute the nodes' vectors uniformly at random. For a set of components with the columns :math:`A` (:math:`C \phi_i`, or
:math:`u_i` for the normalised Laplacian) and the signal :math:`t` the energy is :math:`\|A^T \pi(t)\|_F^2`. With the
column sums :math:`s` of :math:`A`, the centred columns :math:`A_c`, the mean :math:`m` of the signal and the centred
signal :math:`t_c` it is the sum of a constant :math:`\|s\|^2 \|m\|^2`, a linear statistic of the permutation with the
coefficients :math:`2 b, b = A_c s`, and the quadratic form of :math:`P = A_c A_c^T` and :math:`G = t_c t_c^T`.

Both matrices have zero row sums. Each sum over distinct indices that the second moment of the quadratic form needs
then follows, by Moebius inversion over the partitions of four indices, from three numbers of each matrix: the trace,
the squared Frobenius norm and the sum of squared diagonal entries.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from spectrata.core.bases.basis import EigenBasis
from spectrata.inputs.signals import Potential
from spectrata.kernels.backend import to_numpy

# Variances below this share of the squared mean are rounding: the energy does not change under permutations.
FIXED = 1e-12
# Sums of a unit vector's entries below this share of their largest possible value are rounding.
NO_SUM = 1e-13
BLOCK = 2**24  # numbers of a block of signals
FORM, ALONG = ("trace", "square", "diagonal"), ("mean", "along", "crossed")


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
    three = 2 * (2 * a.diagonal - a.trace**2) * (2 * b.diagonal - b.trace**2) + 4 * (2 * a.diagonal - a.square) * (
        2 * b.diagonal - b.square
    )
    four = (a.trace**2 + 2 * a.square - 6 * a.diagonal) * (b.trace**2 + 2 * b.square - 6 * b.diagonal)
    second, falling = one / n, float(n)
    for count, term in ((1, two), (2, three), (3, four)):
        if n > count:
            falling *= n - count
            second = second + term / falling
    variance = second - mean**2
    return mean, np.where(variance > FIXED * mean**2, variance, 0.0)


@dataclass(frozen=True, eq=False)
class SignalMoments:
    """What the null needs of ``T`` signals; every array ``(T, 1)``."""

    form: Invariants  # of G = t_c t_c^T
    mean: np.ndarray  # norm(m)^2
    along: np.ndarray  # norm(h)^2, h = t_c m
    crossed: np.ndarray  # diag(G) . h


def signal_moments(t: np.ndarray) -> SignalMoments:
    """Of signals ``(T, n, d)``, a block of them at a time."""
    step = max(1, BLOCK // t[0].size)
    blocks = [_signal_moments(t[start : start + step]) for start in range(0, len(t), step)]
    form = Invariants(*(np.concatenate([getattr(b.form, name) for b in blocks]) for name in FORM))
    return SignalMoments(form, *(np.concatenate([getattr(b, name) for b in blocks]) for name in ALONG))


def row_norms(field: Potential, relative: bool = False) -> np.ndarray:
    """Norms of the signals less their means, in the signals' units, or 1: ``(T,)``, a block at a time."""
    if relative:
        return np.ones(len(field))
    step = max(1, BLOCK // field.values[0].size)
    found = []
    for start in range(0, len(field), step):
        t = field.values[start : start + step]
        found.append(np.linalg.norm(t - t.mean(axis=1, keepdims=True), axis=(1, 2)))  # a large mean costs no digits
    return field.scale * np.concatenate(found)


def _signal_moments(t: np.ndarray) -> SignalMoments:
    mean = t.mean(axis=1)  # (T, d)
    centred = t - mean[:, None]
    centred -= centred.mean(axis=1, keepdims=True)  # the rounding of a large mean
    rows = np.einsum("tnd,tnd->tn", centred, centred)
    square = rows.sum(axis=1) ** 2
    for row, s in enumerate(centred if t.shape[2] > 1 else ()):  # the smaller Gram matrix of each snapshot
        gram = s.T @ s if s.shape[1] <= s.shape[0] else s @ s.T
        square[row] = np.sum(gram**2)
    form = Invariants(rows.sum(axis=1)[:, None], square[:, None], (rows**2).sum(axis=1)[:, None])
    h = np.einsum("tnd,td->tn", centred, mean)
    return SignalMoments(
        form, np.sum(mean**2, axis=1)[:, None], np.sum(h**2, axis=1)[:, None], np.sum(rows * h, axis=1)[:, None]
    )


@dataclass(frozen=True, eq=False)
class SpaceMoments:
    """What the null needs of groups of components; every array ``(count,)``."""

    form: Invariants  # of P = A_c A_c^T
    sums: np.ndarray  # norm(s)^2
    linear: np.ndarray  # norm(b)^2
    crossed: np.ndarray  # diag(P) . b
    empty: np.ndarray  # groups without a component


def space_moments(basis: EigenBasis, groups: np.ndarray, count: int) -> SpaceMoments:
    """Of groups ``(components,)`` of a basis, ascending, -1 for none.

    Columns of different connected parts have no node in common, so that everything is added up part by part.
    """
    n = basis.n_nodes
    blocks = list(_blocks(basis, groups))
    sums = np.zeros(count)  # norm(s)^2
    for _, group, column_sums in blocks:
        np.add.at(sums, group, column_sums**2)
    trace, square, diagonal, linear, crossed = np.zeros((5, count))
    seen = 0
    for vectors, group, column_sums in blocks:
        present, starts = np.unique(group, return_index=True)
        squares = np.add.reduceat(vectors**2, starts, axis=1)  # (c, present)
        products = np.add.reduceat(vectors * column_sums, starts, axis=1) if column_sums.any() else 0.0 * squares
        size = np.full((len(vectors), count), 0.0)
        reach = np.zeros_like(size)
        size[:, present], reach[:, present] = squares, products
        trace += size.sum(axis=0)
        square[present] += _gram_squares(vectors, starts) - 2 * np.sum(products**2, axis=0) / n
        own = size - 2 * reach / n + sums / n**2  # diagonal entries of P
        b = reach - sums / n
        diagonal, linear, crossed = (
            total + np.sum(term, axis=0) for total, term in ((diagonal, own**2), (linear, b**2), (crossed, own * b))
        )
        seen += len(vectors)
    # Nodes in no part of the basis at hand: the entries of P and b there are constants.
    rest, entry, outside = n - seen, sums / n**2, -sums / n
    linear, crossed = linear + rest * outside**2, crossed + rest * entry * outside
    # Up to rounding, no permutation changes what is constant over the nodes.
    still, level = trace - sums / n <= NO_SUM * trace, linear <= NO_SUM**2 * sums * trace
    parts = (trace - sums / n, square + sums**2 / n**2, diagonal + rest * entry**2)
    form = Invariants(*(np.where(still, 0.0, part) for part in parts))
    empty = np.bincount(groups[groups >= 0], minlength=count) == 0
    return SpaceMoments(form, sums, np.where(level, 0.0, linear), np.where(level, 0.0, crossed), empty)


def _blocks(basis: EigenBasis, groups: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The columns ``A`` of each part that are in a group, ascending, their groups and sums; singletons one by one."""
    found = []
    for nodes, vectors, group, columns in _columns(basis, groups):
        sums = vectors.sum(axis=0)
        if basis.operator.has_constants:  # off zero the sums are 0, and a large mean would magnify rounding
            sums = np.where(basis.is_zero[columns], sums, 0.0)
        sums = np.where(np.abs(sums) > NO_SUM * np.sqrt(len(nodes)), sums, 0.0)
        found.append((vectors, group, sums))
    for column in basis.singleton_columns:
        if groups[column] >= 0:
            found.append((np.ones((1, 1)), groups[[column]], np.ones(1)))
    return [block for block in found if len(block[1])]


def _columns(basis: EigenBasis, groups: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Nodes, columns of ``A`` in a group, their groups and components, of each part."""
    for part in basis.parts:
        columns, nodes = to_numpy(part.columns), to_numpy(part.nodes)
        inside = groups[columns] >= 0
        vectors = to_numpy(part.vectors)
        vectors = (vectors if inside.all() else vectors[:, inside]).astype(float, copy=False)
        if basis.operator.weighs_signals and basis.root is not None:
            vectors = vectors * basis.root[nodes][:, None]
        yield nodes, vectors, groups[columns[inside]], columns[inside]


def columns_by_part(basis: EigenBasis, groups: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Nodes, columns of ``A`` that are in a group, and their groups, of each part of two nodes or more."""
    for nodes, vectors, group, _ in _columns(basis, groups):
        yield nodes, vectors, group


def _gram_squares(vectors: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """``norm(A^T A)_F^2`` of each run of columns."""
    ends = np.append(starts[1:], vectors.shape[1])
    return np.array([np.sum((vectors[:, a:b].T @ vectors[:, a:b]) ** 2) for a, b in zip(starts, ends, strict=True)])


def gft_null(basis: EigenBasis, groups: np.ndarray, count: int, signal: SignalMoments) -> tuple[np.ndarray, np.ndarray]:
    """Exact mean and variance of GFT energies under permutations of the nodes' vectors.

    Parameters
    ----------
    basis : EigenBasis
        Of one stratum, whole or cut.
    groups : ndarray, shape (components,)
        Group of each component, ascending; -1 for none.
    count : int
        Number of groups.
    signal : SignalMoments
        Of the potential: the same at every hop.

    Returns
    -------
    mean, variance : ndarray, shape (T, count)
        NaN for groups without a component.
    """
    n, space = basis.n_nodes, space_moments(basis, groups, count)
    mean, variance = mean_and_variance(space.form, signal.form, n)
    mean = mean + space.sums * signal.mean
    variance = variance + 4 * space.linear * signal.along / (n - 1)
    if n > 2:
        variance = variance + 4 * space.crossed * signal.crossed * n / ((n - 1) * (n - 2))
    variance = np.maximum(variance, 0.0)
    mean[:, space.empty] = variance[:, space.empty] = np.nan
    return mean, variance
