"""How many orders a test draws, what p they give, and whether a decision could flip with another seed.

A test has two looks. After the first it stops unless the 99.9 % interval of its p contains the level; then it draws up
to the second look, and where the interval still contains the level the result is "near the level".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from spectrata.errors import OptionError, argument
from spectrata.inputs.numbers import whole
from spectrata.stats.nulls.correction import smallest_p, tails

LEVEL = 0.05
LOOKS = (999, 9_999)
PER_STATISTIC = 40  # orders for each statistic of a family
LARGE_NODES = 100_000  # above this one look, of fewer orders
LARGE_LOOKS = (499,)
LARGE_NEAR = (0.02, 0.09)  # p near the level there
COVERAGE = 0.999
LEAST_DRAWS = 39  # twice a tail cannot be below the level with fewer
MOST_DRAWS = 1_000_000
CHANCE = (0.025, 0.975)  # quantiles of the interval of chance
FAMILY_NUMBERS = 2**26  # draws times statistics that are kept

Draw = Callable[[int, int, np.ndarray], np.ndarray]  # start, stop, statistics (s,) -> (stop - start, s)


def looks(n_nodes: int, draws: int | None = None) -> tuple[int, ...]:
    """Numbers of orders at which a test looks at its p.

    Examples
    --------
    >>> looks(100), looks(100, 99_999), looks(100, 199), looks(200_000)
    ((999, 9999), (999, 99999), (199,), (499,))
    """
    if draws is None:
        return LARGE_LOOKS if n_nodes > LARGE_NODES else LOOKS
    if whole(draws, "draws", 0) and draws < LEAST_DRAWS:
        raise OptionError(
            f"{argument('draws', draws)} cannot give a p of {LEVEL}; use {LEAST_DRAWS} or more, or 0 for no p."
        )
    if draws > MOST_DRAWS:
        raise OptionError(f"{argument('draws', draws)} is more than {MOST_DRAWS:,}.")
    if draws == 0:
        return ()
    return (draws,) if draws <= LOOKS[0] else (LOOKS[0], draws)


def interval(count: np.ndarray, total: np.ndarray | int) -> tuple[np.ndarray, np.ndarray]:
    """The 99.9 % interval of a share of which ``count`` of ``total`` draws were counted (Clopper and Pearson).

    Examples
    --------
    >>> low, high = interval(np.array([0, 25]), 999)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0, 0.0118], [0.0076, 0.0457])
    """
    from scipy.special import betaincinv

    count, total = np.broadcast_arrays(np.asarray(count, float), np.asarray(total, float))
    tail = (1 - COVERAGE) / 2
    low = np.where(count > 0, betaincinv(np.maximum(count, 0.5), total - count + 1, tail), 0.0)
    high = np.where(count < total, betaincinv(count + 1, np.maximum(total - count, 0.5), 1 - tail), 1.0)
    return low, high


def near(p: np.ndarray, count: np.ndarray, total: int, sides: int, n_nodes: int = 0) -> np.ndarray:
    """Whether the interval of p contains the level; p is ``sides`` times a share."""
    if n_nodes > LARGE_NODES:
        return (p >= LARGE_NEAR[0]) & (p <= LARGE_NEAR[1])
    low, high = interval(count, total)
    return (sides * low <= LEVEL) & (sides * high >= LEVEL)


@dataclass(frozen=True, eq=False)
class Chance:
    """What chance gives for some statistics, arrays (S,).

    Attributes
    ----------
    p, p_family : ndarray
        Of one statistic by itself, and corrected over all S of them.
    tail : ndarray of int
        1 where the upper tail is the smaller one, -1 where the lower one is, 0 where they are equal.
    low, high : ndarray
        The 2.5 and 97.5 % quantiles of the statistic over the orders of the first look.
    near_level : ndarray of bool
        Whether the interval of p_family still contains the level.
    draws : ndarray of int
        Orders behind p; 0 where all arrangements were counted.
    by_tail : ndarray of bool
        Whether p comes from a generalised Pareto distribution of the draws' tail.
    """

    p: np.ndarray
    p_family: np.ndarray
    tail: np.ndarray
    low: np.ndarray
    high: np.ndarray
    near_level: np.ndarray
    draws: np.ndarray
    by_tail: np.ndarray


def unknown(shape: tuple[int, ...]) -> Chance:
    """What tests that were not made give."""
    p, p_family, low, high = (np.full(shape, np.nan) for _ in range(4))
    tail, draws = (np.zeros(shape, dtype=int) for _ in range(2))
    near_level, by_tail = (np.zeros(shape, dtype=bool) for _ in range(2))
    return Chance(p, p_family, tail, low, high, near_level, draws, by_tail)


def joined(pieces: Sequence[Chance], join: Callable[..., np.ndarray] = np.concatenate) -> Chance:
    """Tests of several blocks of columns, one after the other."""
    return Chance(*(join([getattr(one, name) for one in pieces]) for name in Chance.__dataclass_fields__))


def stacked(pieces: Sequence[Chance]) -> Chance:
    """Tests of several columns or nulls, along a new first axis."""
    return joined(pieces, np.stack)


@dataclass(frozen=True, eq=False)
class Outcome:
    """Both tests of some statistics: the value and its chance, free and given covariates."""

    value: np.ndarray
    chance: Chance
    value_given: np.ndarray
    given: Chance


@dataclass(frozen=True, eq=False)
class Whole:
    """All arrangements: values ``(A, s)`` of some statistics, with probabilities ``(A,)``."""

    values: np.ndarray
    weights: np.ndarray


def run_family(
    observed: np.ndarray,
    draw: Draw,
    at: tuple[int, ...],
    n_nodes: int,
    own: Callable[[int], Whole | None] = lambda index: None,
    together: Callable[[], Whole | None] = lambda: None,
) -> Chance:
    """Test statistics by themselves and as one family.

    Parameters
    ----------
    observed : ndarray, shape (S,)
        NaN where a statistic is undefined; it is then no member of the family.
    draw : function
        ``draw(start, stop, which)`` has the values of statistics ``which`` under orders ``start`` to ``stop - 1``.
    at : tuple of int
        From ``looks``.
    n_nodes : int
    own, together : functions
        All arrangements for one statistic, or for the whole family, where they are few enough.

    Returns
    -------
    Chance
    """
    known = np.flatnonzero(np.isfinite(observed))
    result = unknown(observed.shape)
    if not len(known) or not at:
        return result
    wholes = {index: whole for index in known.tolist() if (whole := own(index)) is not None}
    for index, whole in wholes.items():
        upper, lower = (one[0] for one in tails(observed[[index]], whole.values[:, :1], whole.weights))
        result.p[index] = min(1.0, 2 * min(upper, lower))
        result.tail[index] = np.sign(np.round(lower - upper, 12))
        result.low[index], result.high[index] = weighted_quantiles(whole.values[:, 0], whole.weights)
    left = np.array([index for index in known if index not in wholes], dtype=int)
    every = together() if len(known) > 1 else None
    family = known if len(known) > 1 and every is None else left[:0]
    kept = _Kept(draw, len(observed))
    kept.get(np.union1d(left, family), at[0])
    most = max(FAMILY_NUMBERS // len(known), at[0])
    steps = [min(max(count, PER_STATISTIC * len(known)), most) for count in at]
    unclear = _own_p(result, left, observed, kept, at[0], n_nodes)
    undecided = _family_p(result, family, observed, kept, steps[0], n_nodes)
    if len(at) > 1 and (len(unclear) or undecided):
        kept.get(np.union1d(unclear, family) if undecided else unclear, at[1])
        unclear = _own_p(result, unclear, observed, kept, at[1], n_nodes)
        if undecided and steps[1] > steps[0]:
            _family_p(result, family, observed, kept, steps[1], n_nodes)
    if every is not None:
        result.p_family[known] = smallest_p(observed[known], every.values, every.weights)[0]
    elif len(known) == 1:  # by itself
        result.p_family[known], result.near_level[unclear] = result.p[known], True
    # Arrangements that lie in one tail alone can make the smallest p rarer than p itself.
    result.p_family[known] = np.maximum(result.p_family[known], result.p[known])
    return result


class _Kept:
    """Draws that were made, ``(N, S)``; more are made as they are asked for."""

    def __init__(self, draw: Draw, count: int) -> None:
        self.draw = draw
        self.values = np.empty((0, count))
        self.done = np.zeros(count, dtype=int)

    def get(self, which: np.ndarray, stop: int) -> np.ndarray:
        """The first ``stop`` draws of some statistics."""
        if stop > len(self.values):
            more = np.full((stop - len(self.values), self.values.shape[1]), np.nan)
            self.values = np.concatenate([self.values, more])
        for start in np.unique(self.done[which]):
            lacking = which[self.done[which] == start]
            if start < stop:
                self.values[start:stop, lacking] = self.draw(int(start), stop, lacking)
                self.done[lacking] = stop
        return self.values[:stop, which]


def _own_p(into: Chance, which: np.ndarray, observed: np.ndarray, kept: _Kept, count: int, n_nodes: int) -> np.ndarray:
    """p of some statistics, each by itself, by ``count`` draws; returns those that are near the level."""
    if not len(which):
        return which
    drawn = kept.get(which, count)
    upper, lower = tails(observed[which], drawn)
    smaller = np.minimum(upper, lower)
    into.p[which], into.draws[which] = np.minimum(1.0, 2 * (smaller + 1) / (count + 1)), count
    into.tail[which] = np.sign(lower - upper)
    fresh = which[np.isnan(into.low[which])]  # the interval rests on the first look
    into.low[fresh], into.high[fresh] = chance_interval(kept.get(fresh, count))
    return which[near(into.p[which], smaller, count, 2, n_nodes)]


def _family_p(into: Chance, which: np.ndarray, observed: np.ndarray, kept: _Kept, count: int, n_nodes: int) -> bool:
    """p of a family by ``count`` draws; returns whether a decision is near the level."""
    if not len(which):
        return False
    p, counted = smallest_p(observed[which], kept.get(which, count))
    into.p_family[which], into.near_level[which] = p, near(p, counted, count, 1, n_nodes)
    return bool(into.near_level[which].any())


def chance_interval(drawn: np.ndarray) -> np.ndarray:
    """The 2.5 and 97.5 % quantiles of draws ``(N, S) -> (2, S)``; undefined draws drop out."""
    if np.isfinite(drawn).all():
        return np.quantile(drawn, CHANCE, axis=0)
    found = np.full((2, drawn.shape[1]), np.nan)
    for column in range(drawn.shape[1]):
        some = drawn[np.isfinite(drawn[:, column]), column]
        if len(some):
            found[:, column] = np.quantile(some, CHANCE)
    return found


def weighted_quantiles(values: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """The interval of chance of a distribution with probabilities; undefined values drop out."""
    fine = np.isfinite(values)
    if not fine.any():
        return np.nan, np.nan
    order = np.argsort(values[fine])
    values, reached = values[fine][order], np.cumsum(weights[fine][order])
    low, high = (int(np.searchsorted(reached, share * reached[-1] * (1 - 1e-12))) for share in CHANCE)
    return float(values[low]), float(values[min(high, len(values) - 1)])
