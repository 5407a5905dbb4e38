"""How many orders a test draws, what p they give, and whether a decision could flip with another seed.

A family has two looks. After the first it stops unless the 99.9 % interval of its p contains the level; then it draws
up to the second look, and where the interval still contains the level the result is "near the level". Each of many
columns draws until 20 orders were as extreme, and a small p comes from the tail of its draws.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.special import betaincinv

from spectrata.errors import OptionError, argument
from spectrata.inputs.numbers import whole
from spectrata.stats.nulls.correction import over_columns, smallest_p, tails

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
MANY = 20  # columns above which this rule applies
ENOUGH = 20  # draws in the smaller tail at which a column stops (Besag and Clifford 1991)
STEPS = (64, 128, 256, 512)  # draws at which columns may stop before the first look
FEW = 10  # draws in the tail below which p comes from a fitted tail
LEAST_P = 1e-6  # a fitted tail says nothing about smaller ones
EXCEEDANCES = (250, 200, 150, 100, 75, 50)  # largest draws that a tail is fitted to
LARGEST_TAIL = 0.25  # share of the draws that a tail has at most
DISTINCT = 0.9  # share of a tail that must differ: it is fitted to continuous values
PLOTTING = 0.35  # position of ordered values for probability-weighted moments (Hosking and Wallis 1987)
EXPONENTIAL = -1e-6  # shape above which a generalised Pareto tail is computed as exponential
POOR_FIT = 0.153  # Cramer-von Mises statistic, 5 % point of an exponential tail (Choulakian and Stephens 2001)

# start, stop, and statistics (s,) or columns (c,) -> (stop - start, s) or (stop - start, c, S)
Draw = Callable[[int, int, np.ndarray], np.ndarray]
# Statistics (s,) -> their values (A, s) under all arrangements, whose probabilities (A,) add up to 1, or None where
# there are too many of them.
Counted = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray] | None]


def looks(n_nodes: int, draws: int | None = None) -> tuple[int, ...]:
    """Numbers of orders at which a test looks at its p: (999, 9999) by default."""
    if draws is None:
        return LARGE_LOOKS if n_nodes > LARGE_NODES else LOOKS
    if whole(draws, "draws", 0, MOST_DRAWS) == 0:
        return ()
    if draws < LEAST_DRAWS:
        words = f"cannot give a p of {LEVEL}; use {LEAST_DRAWS} or more, or 0 for no p."
        raise OptionError(f"{argument('draws', draws)} {words}")
    return (draws,) if draws <= LOOKS[0] else (LOOKS[0], draws)


def interval(count: np.ndarray, total: np.ndarray | int) -> tuple[np.ndarray, np.ndarray]:
    """The 99.9 % interval of a share of which ``count`` of ``total`` draws were counted (Clopper and Pearson)."""
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
    """Some statistics and their distribution under a null, arrays of one shape."""

    value: np.ndarray  # as observed
    p: np.ndarray  # of one statistic by itself
    p_family: np.ndarray  # corrected over all of them
    low: np.ndarray  # 2.5 % quantile of the statistic over the orders of the first look
    high: np.ndarray  # 97.5 %
    tail: np.ndarray  # 1 where the upper tail is the smaller one, -1 where the lower one is, 0 where they are equal
    draws: np.ndarray  # orders behind p; 0 where all arrangements were counted
    family_draws: np.ndarray  # orders behind p_family, where the family has several members
    near_level: np.ndarray  # whether the interval of p_family still contains the level
    by_tail: np.ndarray  # whether p comes from a generalised Pareto distribution of the draws' tail

    @classmethod
    def unknown(cls, shape: tuple[int, ...], value: Any = np.nan) -> "Chance":
        """Of tests that were not made."""
        return cls(*(np.full(shape, one) for one in (value, *[np.nan] * 4, 0, 0, 0, False, False)))

    def set_p_from_arrangements(self, where: Any, values: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Write p of some tests by all arrangements ``(A, s)``, equally likely or with probabilities ``(A,)``."""
        observed, total = self.value[where], float(len(values)) if weights is None else 1.0
        weights = np.ones(len(values)) if weights is None else weights
        upper, lower = tails(observed, values, weights)
        self.p[where] = np.where(np.isnan(observed), np.nan, np.minimum(1.0, 2 * np.minimum(upper, lower) / total))
        self.tail[where] = np.sign(np.round((lower - upper) / total, 12))
        self.low[where], self.high[where] = chance_interval(values, weights)

    def set_p_from_draws(self, where: Any, drawn: np.ndarray, first: int | None = None) -> np.ndarray:
        """Write p of some tests by draws ``(N, s)``, and the interval of the first; returns the smaller tails (s,)."""
        upper, lower = tails(self.value[where], drawn)
        smaller = np.minimum(upper, lower)
        self.p[where], self.draws[where] = np.minimum(1.0, 2 * (smaller + 1) / (len(drawn) + 1)), len(drawn)
        self.tail[where] = np.sign(lower - upper)
        self.low[where], self.high[where] = chance_interval(drawn[:first])
        return smaller

    def over_columns(self, n_nodes: int, axis: int = 0) -> np.ndarray:
        """q of the tests of columns along an axis; those of several columns are then near the level by q."""
        q = np.moveaxis(over_columns(np.moveaxis(self.p_family, axis, 0)), 0, axis)
        if self.p_family.shape[axis] > 1:
            self.near_level[:] = self.near_by_q(q, n_nodes)
        return q

    def near_by_q(self, q: np.ndarray, n_nodes: int = 0) -> np.ndarray:
        """Whether q of tests over columns could pass the level with other orders: q moves with the interval of p.

        The error of a p from a fitted tail is not known: q inside [.02, .09] is near there, as on large graphs.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            several = self.family_draws > 0  # p is else twice a share
            sides, total = np.where(several, 1, 2), np.where(several, self.family_draws, self.draws)
            low, high = (sides * end * q / self.p_family for end in interval(self.p_family * total / sides, total))
        coarse = self.by_tail | (n_nodes > LARGE_NODES)
        ends = (low, LARGE_NEAR[1]), (high, LARGE_NEAR[0])
        low, high = (np.where(coarse, q * LEVEL / end, one) for one, end in ends)
        return (total > 0) & (low <= LEVEL) & (high >= LEVEL)

    def place(self, where: Any, other: "Chance") -> None:
        for field in fields(self):
            into = getattr(self, field.name)
            into[where] = getattr(other, field.name).reshape(into[where].shape)


def run_family(
    observed: np.ndarray, draw: Draw, at: tuple[int, ...], n: int, counted: Counted = lambda _: None, columns: int = 1
) -> Chance:
    """Test statistics ``observed (S,)`` by themselves and as one family, at the ``looks`` in ``at``.

    A statistic that is NaN is no member of the family. Arrangements are ``counted`` for one statistic, or for the whole
    family, where they are few enough. The signal may be one of several ``columns``: their false discovery rate compares
    p with a level between LEVEL / columns and LEVEL, so that draws go on while p could be on either side of one.
    """
    known = np.flatnonzero(np.isfinite(observed))
    result = Chance.unknown(observed.shape, observed)
    if not len(known) or not at:
        return result
    unclear = known  # whose own p is still open
    for index in known:
        if (whole_one := counted(np.array([index]))) is not None:
            result.set_p_from_arrangements([index], *whole_one)
            unclear = unclear[unclear != index]
    every = counted(known) if len(known) > 1 else None
    most = max(FAMILY_NUMBERS // len(known), at[0])
    undecided = len(known) > 1 and every is None
    drawn = np.empty((0, len(observed)))
    for count in at:
        which = known if undecided else unclear
        if not len(which):
            break
        of_family = min(max(count, PER_STATISTIC * len(known)), most)
        stop = max(count, of_family if undecided else 0, len(drawn))
        more = np.full((stop - len(drawn), len(observed)), np.nan)
        more[:, which] = draw(len(drawn), stop, which)
        drawn = np.concatenate([drawn, more])
        smaller = result.set_p_from_draws(unclear, drawn[:count, unclear], at[0])
        unclear = unclear[near(result.p[unclear], smaller, count, 2, n)]
        if undecided:
            p, below = smallest_p(observed[known], drawn[:of_family, known])
            result.p_family[known], result.near_level[known] = p, near(p, below, of_family, 1, n)
            result.family_draws[known] = of_family
            low, high = interval(below, of_family)
            undecided = bool(((low <= LEVEL) & (high >= LEVEL / columns)).any())
    if every is not None:
        result.p_family[known] = smallest_p(observed[known], *every)[0]
    elif len(known) == 1:  # by itself
        result.p_family[known], result.near_level[unclear] = result.p[known], True
    # Arrangements that lie in one tail alone can make the smallest p rarer than p itself; more draws can, too.
    finer = result.family_draws[known] > result.draws[known]
    least = np.where(finer & (columns > 1), 0.0, result.p[known])
    result.p_family[known] = np.maximum(result.p_family[known], least)
    return result


def chance_interval(drawn: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """The 2.5 and 97.5 % quantiles of draws ``(N, S) -> (2, S)``; undefined draws drop out.

    A further draw lies outside with a probability of 5 %, however few they are: of 39 the smallest and the largest are
    the ends. ``weights (N,)`` are in proportion to probabilities, where the draws are all arrangements.
    """
    found, lost = np.full((2, drawn.shape[1]), np.nan), np.isnan(drawn)
    some = ~lost.all(axis=0)
    if weights is None:
        quantile = np.nanquantile if lost.any() else np.quantile
        found[:, some] = quantile(drawn[:, some], CHANCE, axis=0, method="weibull")
    else:  # shares that add up to a quantile, up to rounding, reach it
        ends, weights = np.array(CHANCE) * (1 - 1e-12), np.where(lost, 0.0, weights[:, None])[:, some]
        values = np.where(lost, np.inf, drawn)[:, some]
        found[:, some] = np.quantile(values, ends, axis=0, weights=weights, method="inverted_cdf")
    return found


def run_columns(
    observed: np.ndarray, draw: Draw, at: tuple[int, ...], steps: tuple[int, ...] = STEPS, jumps: Any = 0.0
) -> Chance:
    """Test S statistics of each of C columns, ``observed (C, S)``; orders are the same for every column.

    Each statistic has the p of its own stopping, whatever else is tested with it. ``at`` comes from ``looks``;
    tests may stop before the first look at the numbers of draws in ``steps``, and the interval of chance is as exact as
    these are many. ``jumps (C, S)`` are the most that one pair can add. Where that exceeds the deviation of the draws,
    a rare order reaches values that no tail of the other orders foresees: such a test draws on, and its p is counted.
    """
    jumps, result = np.broadcast_to(jumps, observed.shape), Chance.unknown(observed.shape, observed)
    waiting = np.isfinite(observed)  # tests that have no p yet
    active = np.flatnonzero(waiting.any(axis=1))
    drawn = np.empty((0, len(active), observed.shape[1]))
    for stop in (*(step for step in steps if at and step < at[0]), *at):
        if not len(active):
            break
        drawn = np.concatenate([drawn, draw(len(drawn), stop, active)])  # (N, c, S)
        smaller = np.minimum(*tails(observed[active], drawn))
        ready = waiting[active] & ((smaller >= ENOUGH) | (stop >= at[0]))
        for place, test in np.argwhere(ready):
            column, values = active[place], drawn[:, place, test]
            has_tail = jumps[column, test] <= np.std(values)
            few = smaller[place, test] < (FEW if has_tail else ENOUGH)
            fitted = tail_p(observed[column, test], values) if few and has_tail else np.nan
            waiting[column, test] = few and np.isnan(fitted) and stop < at[-1]  # no tail fits, and more can be drawn
            if not waiting[column, test]:
                where = [column], [test]
                result.set_p_from_draws(where, values[:, None])
                result.by_tail[where] = np.isfinite(fitted)
                result.p[where] = fitted if np.isfinite(fitted) else result.p[where]
        done = ~waiting[active].any(axis=1)
        for place in np.flatnonzero(done):  # p of a column's tests as one family
            known = np.flatnonzero(np.isfinite(observed[active[place]]))
            own = active[place], known
            family = result.p[own]
            if len(known) > 1:
                family = np.maximum(family, smallest_p(observed[own], drawn[:, place, known])[0])
            result.p_family[own] = np.where(result.by_tail[own], np.minimum(1.0, len(known) * result.p[own]), family)
        active, drawn = active[~done], drawn[:, ~done]
    return result


def tail_p(value: float, drawn: np.ndarray) -> float:
    """Two-sided p from a generalised Pareto tail of the draws (Knijnenburg et al. 2009); NaN where none fits."""
    if np.isnan(drawn).any():
        return float("nan")
    centre = np.median(drawn)
    sign = 1.0 if value >= centre else -1.0
    ordered = np.sort(sign * (drawn - centre))[::-1]
    reached = sign * (value - centre)
    for count in EXCEEDANCES:
        if count > len(ordered) * LARGEST_TAIL or len(np.unique(ordered[:count])) < DISTINCT * count:
            continue
        threshold = (ordered[count - 1] + ordered[count]) / 2
        share = _survival(ordered[:count] - threshold, reached - threshold)
        if np.isfinite(share):
            return float(np.clip(2 * share * count / len(ordered), LEAST_P, 1.0))
    return float("nan")


def _survival(excesses: np.ndarray, value: float) -> float:
    """Share beyond a value under a fitted tail, by probability-weighted moments; NaN where the fit is poor."""
    if value <= 0:
        return float("nan")
    ascending = np.sort(excesses)
    count = len(ascending)
    first = ascending.mean()
    second = np.mean((1 - (np.arange(1, count + 1) - PLOTTING) / count) * ascending)
    # A fitted end of the support would make p zero just beyond the draws: such tails count as exponential.
    shape, scale = 0.0, first
    if first > 2 * second and first / (first - 2 * second) < 2:
        shape, scale = first / (first - 2 * second) - 2, 2 * first * second / (first - 2 * second)

    def beyond(x: np.ndarray) -> np.ndarray:
        return np.exp(-x / scale) if shape > EXPONENTIAL else (1 - shape * x / scale) ** (1 / shape)

    places = (2 * np.arange(1, count + 1) - 1) / (2 * count)
    misfit = 1 / (12 * count) + np.sum((1 - beyond(ascending) - places) ** 2)
    return float("nan") if misfit > POOR_FIT else float(beyond(np.array(value)))
