"""The statistics that findings rest on, and p corrected over all of them.

Every statistic is a quadratic form of the signal: the sum of squared differences over the pairs at one hop, and GFT
energies of groups of components. z comes from their closed permutation moments. p is corrected over everything that
was looked at by the permutation distribution of the smallest p (Westfall and Young 1993, min-p, single step): all
statistics are computed under the same random orders of the nodes. The largest |z| would do as well if tails were
alike. They are not: energies have long upper tails and bounded lower ones, so that a mean squared difference of 0.06
of chance, the smallest of all draws, has |z| = 2.3.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from spectrata.core import resources
from spectrata.core.bases.basis import EigenBasis, coefficients_of
from spectrata.core.hop import split_at_zero
from spectrata.core.plan import Plan
from spectrata.core.strata import Stratum
from spectrata.core.stratification import Stratification
from spectrata.errors import warn
from spectrata.kernels.backend import to_numpy
from spectrata.stats.describe.levels import level_groups
from spectrata.stats.moments import SignalMoments, gft_null, signal_moments
from spectrata.stats.pairs import pair_null
from spectrata.stats.sequential import Orders

STATISTICS = ("pairs", "low", "high", "fiedler")
BANDS = 4
# Fewer components off zero than this are too few to speak of bands.
LEAST_COMPONENTS = 8
# Two |z| are tied when they differ by less than this share: sums of tied values are rounded in different orders.
TIE = 1e-9
BATCH = 2**22  # numbers in one batch of permuted signals
# Columns of a signal from which on products with its Gram matrix are cheaper than with the signal: measured.
MANY_COLUMNS = 40
LONG = 30.0  # seconds of permutations from which on an estimate comes first
SHORT = 5.0  # seconds that permutations beyond the least number may take
LEAST_DRAWS = 999
ALL_ORDERS = 40_319  # of 8 nodes: smaller graphs have every order counted, and p is exact
PER_TEST = 100  # draws per side of a test, so that the smallest of all draws has a corrected p of at most .01
PER_NUMBER = 7e-9  # seconds per node, node and draw of a Gram matrix, one core: measured


@dataclass(frozen=True, eq=False)
class Tests:
    """Statistics of ``T`` signals at ``H`` hops, last axis as in ``STATISTICS``.

    Attributes
    ----------
    value, mean, std : ndarray, shape (T, H, 4)
        The statistic, and its permutation mean and standard deviation; NaN where it is not defined. The sum over
        pairs is divided by the pairs' weights.
    z : ndarray, shape (T, H, 4)
        NaN where no order of the nodes changes the statistic.
    p : ndarray, shape (T, H, 4)
        Corrected over all tests of the signal's family.
    off_energy : ndarray, shape (T, H)
        GFT energy off the zero components.
    eigenvalue : ndarray, shape (H,)
        Of the Fiedler eigenspace.
    n_components : ndarray, shape (H,)
        Components off zero.
    share : ndarray, shape (H, 4)
        Of the components off zero, how many count for the statistic; NaN for pairs.
    n_parts : ndarray, shape (H,)
        Connected parts.
    draws : int
    exact : bool
        Whether the draws are all orders of the nodes but the observed one.
    """

    value: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    z: np.ndarray
    p: np.ndarray
    off_energy: np.ndarray
    eigenvalue: np.ndarray
    n_components: np.ndarray
    share: np.ndarray
    n_parts: np.ndarray
    draws: int
    exact: bool


def run_tests(
    strat: Stratification, t: np.ndarray, plan: Plan, family: np.ndarray, *, draws: int | None = None, seed: int = 0
) -> Tests:
    """Test signals ``(T, n, d)`` at every hop; p is corrected among signals of one ``family (T,)``."""
    count, n = len(t), strat.graph.n_nodes
    shape = (count, len(strat.hops), len(STATISTICS))
    value, mean, variance = (np.full(shape, np.nan) for _ in range(3))
    off_energy = np.zeros(shape[:2])
    eigenvalue, sizes = np.full(len(strat.hops), np.nan), np.zeros(len(strat.hops), dtype=np.int64)
    share, n_parts = np.full(shape[1:], np.nan), np.zeros(len(strat.hops), dtype=np.int64)
    parts = [_part(one, plan.options.operator.has_constants) for one in t]
    per_draw = seconds(n, len(strat.hops), [part.width for part in parts])
    if draws is None:
        sides = (len(STATISTICS) + 1) * len(strat.hops) * count // (int(family.max()) + 1)
        draws = max(LEAST_DRAWS, min(PER_TEST * sides - 1, int(SHORT / per_draw)))
    every = Orders(n, (seed,), ALL_ORDERS)
    draws = every.total if every.exhaustive else draws
    _announce(draws * per_draw)
    moments = signal_moments(t)
    mean[..., 0], variance[..., 0] = pair_null(strat.strata, t, strat.hops)
    drawn = np.empty((draws, *shape))  # z under every order
    for row, hop in enumerate(strat.hops):
        stratum, basis = strat.prepared(hop, plan)
        forms = _forms(stratum, basis)
        eigenvalue[row], sizes[row], n_parts[row] = forms.eigenvalue, forms.n_components, stratum.n_parts
        share[row, 1:] = forms.member.sum(axis=0) / max(1, forms.n_components)
        value[:, row] = np.maximum(0.0, np.stack([forms.of(part, np.arange(n)[None])[0] for part in parts]))
        mean[:, row, 1:], variance[:, row, 1:] = _energy_moments(basis, forms, moments)
        rests = (split_at_zero(stratum, plan.options.operator, one)[1] for one in t)
        off_energy[:, row] = [np.sum(rest**2) for rest in rests]
        std = np.sqrt(np.where(variance[:, row] > 0, variance[:, row], np.nan))  # (T, 4)
        done = 0
        for orders in _batches(n, draws, seed, every, parts):
            for index, part in enumerate(parts):
                here = slice(done, done + len(orders))
                drawn[here, index, row] = (forms.of(part, orders) - mean[index, row]) / std[index]
            done += len(orders)
        value[:, row, 0] /= stratum.total_weight
        mean[:, row, 0] /= stratum.total_weight
        variance[:, row, 0] /= stratum.total_weight**2
    std = np.sqrt(variance)
    z = np.divide(value - mean, std, out=np.full(shape, np.nan), where=std > 0)
    p = _corrected(z, drawn, family)
    return Tests(value, mean, std, z, p, off_energy, eigenvalue, sizes, share, n_parts, draws, every.exhaustive)


def seconds(n: int, hops: int, widths: Sequence[int], draws: int = 1) -> float:
    """What permutations of signals of some widths take, roughly."""
    return PER_NUMBER * draws * n * n * hops * sum(min(1.0, width / MANY_COLUMNS) for width in widths)


def _corrected(z: np.ndarray, drawn: np.ndarray, family: np.ndarray) -> np.ndarray:
    """p of every test corrected within its family: ``(T, H, 4), (B, T, H, 4) -> (T, H, 4)``."""
    p = np.full(z.shape, np.nan)
    for one in np.unique(family):
        rows = np.flatnonzero(family == one)
        pooled = np.concatenate([z[None, rows], drawn[:, rows]])  # the observed order is one of them
        above = _scores(pooled)
        above[..., 0] = np.fmax(above[..., 0], _scores(-pooled[..., 0]))  # pairs are tested on both sides
        largest = np.sort(np.fmax.reduce(above[1:].reshape(len(drawn), -1), axis=1))
        reached = len(drawn) - np.searchsorted(largest, above[0] * (1 - TIE), side="left")
        p[rows] = np.where(np.isnan(z[rows]), np.nan, (1 + reached) / (1 + len(drawn)))
    return p


def _scores(pooled: np.ndarray) -> np.ndarray:
    """How extreme each value is among all of its column, on one scale for all columns: ``(B + 1, ...)``.

    One over the share of values at least as large; the largest one counts by its ratio to the second too, which
    orders those that are the largest of their columns.
    """
    count = len(pooled)
    ordered = np.sort(pooled, axis=0)
    flat, columns = ordered.reshape(count, -1), pooled.reshape(count, -1)
    out = np.empty(columns.shape)
    for column, (values, known) in enumerate(zip(columns.T, flat.T, strict=True)):
        tie = TIE * np.abs(values)
        at_least = count - np.searchsorted(known, values - tie, side="left")
        out[:, column] = count / np.maximum(at_least, 1)
        if count > 1 and known[-2] > 0:
            top = at_least == 1
            out[top, column] *= values[top] / known[-2]
        out[np.isnan(values), column] = np.nan
    return out.reshape(pooled.shape)


def _batches(n: int, draws: int, seed: int, every: Orders, parts: "Sequence[Part]") -> Iterator[np.ndarray]:
    """Orders of the nodes in batches that fit, the same at every hop: all there are, or random ones."""
    rng = np.random.default_rng([seed, 0xF1D])
    step = max(1, BATCH // (n * max(part.width for part in parts)))
    for start in range(0, draws, step):
        size = min(step, draws - start)
        if every.exhaustive:
            yield every.take(start, start + size)
        else:
            yield rng.permuted(np.broadcast_to(np.arange(n), (size, n)).copy(), axis=1)


@dataclass(frozen=True, eq=False)
class Part:
    """One signal at its rank; of many columns, its Gram matrix instead."""

    values: np.ndarray  # (n, r)
    gram: np.ndarray | None  # (n, n)

    @property
    def width(self) -> int:
        """Numbers per node in one permuted copy."""
        return self.values.shape[1] if self.gram is None else len(self.gram)


def _part(t: np.ndarray, centre: bool) -> Part:
    """A signal ``(n, d)`` with the same inner products between nodes in as few columns as it has rank.

    Where constants are a zero component, no statistic changes with the mean; without it no digits are lost.
    """
    if centre:
        t = t - t.mean(axis=0)
        t = t - t.mean(axis=0)  # the rounding of a large mean
    if t.shape[1] > 1:
        left, singular, _ = np.linalg.svd(t, full_matrices=False)
        rank = max(1, int(np.sum(singular > 1e-14 * singular[0])))
        t = left[:, :rank] * singular[:rank]
    return Part(t, t @ t.T if t.shape[1] >= MANY_COLUMNS else None)


@dataclass(frozen=True, eq=False)
class Forms:
    """The statistics of one hop as quadratic forms of the signal."""

    laplacian: Any  # (n, n), dense or sparse
    columns: np.ndarray  # (n, r): components of the bands and the Fiedler eigenspace, as in ``moments``
    member: np.ndarray  # (r, 3): which of them count for low, high, fiedler; NaN where there are too few
    bands: np.ndarray  # (N,): band of every component
    fiedler: np.ndarray  # (N,): 0 in the Fiedler eigenspace, -1 elsewhere
    eigenvalue: float
    n_components: int

    def of(self, part: Part, orders: np.ndarray) -> np.ndarray:
        """All statistics of a signal, its nodes' vectors in some orders: ``(b, n) -> (b, 4)``."""
        if part.gram is not None:
            permuted = np.stack([part.gram[order].take(order, axis=1) for order in orders])
            return permuted.reshape(len(orders), -1) @ self._matrices.T
        count, n = orders.shape
        t = part.values[orders.T].reshape(n, -1)  # (n, b r)
        pairs = np.einsum("nk,nk->k", t, self.laplacian @ t).reshape(count, -1).sum(axis=1)
        energy = ((self.columns.T @ t) ** 2).reshape(self.columns.shape[1], count, -1).sum(axis=2)  # (r, b)
        return np.column_stack([pairs, energy.T @ self.member])

    @cached_property
    def _matrices(self) -> np.ndarray:
        """The forms as matrices, ``(4, n n)``."""
        plain = self.laplacian if isinstance(self.laplacian, np.ndarray) else self.laplacian.toarray()
        energies = [(self.columns * weight) @ self.columns.T for weight in self.member.T]
        return np.stack([plain, *energies]).reshape(len(STATISTICS), -1)


def _forms(stratum: Stratum, basis: EigenBasis) -> Forms:
    axis = basis.axis
    bands = level_groups(axis, "band", BANDS)[0][0]
    off = ~axis.is_zero
    lowest = axis.eigenspace[off][:1]  # eigenspaces ascend; none off zero where the stratum has no edge
    fiedler = np.where(off & np.isin(axis.eigenspace, lowest), 0, -1)
    used = (bands == 0) | (bands == BANDS - 1) | (fiedler == 0)
    columns = coefficients_of(basis)[:, used]
    member = np.column_stack([bands == 0, bands == BANDS - 1, fiedler == 0])[used].astype(float)
    if off.sum() < LEAST_COMPONENTS:
        member[:] = np.nan
    value = float(axis.eigenvalue[fiedler == 0].max(initial=-np.inf))
    return Forms(_laplacian(stratum), columns, member, bands, fiedler, value, int(off.sum()))


def _laplacian(stratum: Stratum) -> Any:
    """``D - W`` of a stratum, dense where more than a tenth of all pairs are joined."""
    from scipy.sparse import coo_array, diags_array

    n, (x, y) = stratum.n_nodes, to_numpy(stratum.edges).T
    weights = np.ones(len(x)) if stratum.weights is None else to_numpy(stratum.weights)
    half = coo_array((weights, (x, y)), shape=(n, n))
    sparse = (diags_array(stratum.degrees) - half - half.T).tocsr()
    return sparse.toarray() if 20 * stratum.n_edges > n * n else sparse


def _energy_moments(basis: EigenBasis, forms: Forms, moments: SignalMoments) -> tuple[np.ndarray, np.ndarray]:
    """Permutation mean and variance of the energies, ``(T, 3)`` each; NaN where there are too few components."""
    by_band = gft_null(basis, forms.bands, BANDS, moments)
    coarse = gft_null(basis, forms.fiedler, 1, moments)
    found = [np.column_stack([one[:, 0], one[:, -1], other[:, 0]]) for one, other in zip(by_band, coarse, strict=True)]
    if forms.n_components < LEAST_COMPONENTS:
        found = [np.full(one.shape, np.nan) for one in found]
    return found[0], found[1]


def _announce(estimate: float) -> None:
    if estimate > LONG:
        warn(
            f"The permutations of diagnose will take about {resources.duration(estimate)}; "
            "give fewer hops or snapshots to shorten it."
        )
