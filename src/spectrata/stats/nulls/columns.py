"""Tests of many columns: each draws until 20 orders were as extreme, and a small p comes from the tail of its draws."""

from collections.abc import Callable
from typing import Any

import numpy as np

from spectrata.stats.nulls.correction import smallest_p, tails
from spectrata.stats.nulls.stopping import Chance, chance_interval

MANY = 20  # columns above which this rule applies
ENOUGH = 20  # draws in the smaller tail at which a column stops (Besag and Clifford 1991)
STEPS = (64, 128, 256, 512)  # draws at which columns may stop before the first look
FEW = 10  # draws in the tail below which p comes from a fitted tail
LEAST_P = 1e-6
EXCEEDANCES = (250, 200, 150, 100, 75, 50)  # largest draws that a tail is fitted to
POOR_FIT = 0.153  # Cramer-von Mises statistic, 5 % point of an exponential tail (Choulakian and Stephens 2001)

DrawColumns = Callable[[int, int, np.ndarray], np.ndarray]  # start, stop, columns (c,) -> (stop - start, c, S)


def run_columns(
    observed: np.ndarray, draw: DrawColumns, at: tuple[int, ...], steps: tuple[int, ...] = STEPS, jumps: Any = 0.0
) -> Chance:
    """Test S statistics of each of C columns, ``observed (C, S)``; orders are the same for every column.

    Each statistic has the p of its own stopping, whatever else is tested with it. ``at`` comes from ``stopping.looks``;
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
        sides = np.stack(tails(observed[active], drawn))
        ready = waiting[active] & ((sides.min(axis=0) >= ENOUGH) | (stop >= at[0]))
        for place, test in zip(*np.nonzero(ready), strict=True):
            where, own = (active[place], test), (drawn[:, place, test], sides[:, place, test])
            waiting[where] = not _settle(result, where, observed[where], *own, jumps[where], stop == at[-1])
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


def _settle(
    into: Chance, where: Any, value: float, drawn: np.ndarray, sides: np.ndarray, jump: float, last: bool
) -> bool:
    """Write p of one test; not where its draws are too few, no tail fits, and more can be drawn."""
    smaller = sides.min()
    p = min(1.0, 2 * (smaller + 1) / (len(drawn) + 1))
    fitted = tail_p(value, drawn) if smaller < FEW and jump <= np.std(drawn) else np.nan
    if smaller < FEW and np.isnan(fitted) and not last:
        return False
    into.by_tail[where] = np.isfinite(fitted)
    into.p[where], into.draws[where] = fitted if into.by_tail[where] else p, len(drawn)
    into.tail[where] = np.sign(sides[1] - sides[0])
    into.low[where], into.high[where] = chance_interval(drawn[:, None])[:, 0]
    return True


def tail_p(value: float, drawn: np.ndarray) -> float:
    """Two-sided p from a generalised Pareto tail of the draws (Knijnenburg et al. 2009); NaN where none fits."""
    if np.isnan(drawn).any():
        return float("nan")
    centre = np.median(drawn)
    sign = 1.0 if value >= centre else -1.0
    ordered = np.sort(sign * (drawn - centre))[::-1]
    reached = sign * (value - centre)
    for count in EXCEEDANCES:
        if count > len(ordered) // 4 or len(np.unique(ordered[:count])) < 0.9 * count:
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
    second = np.mean((1 - (np.arange(1, count + 1) - 0.35) / count) * ascending)
    # A fitted end of the support would make p zero just beyond the draws: such tails count as exponential.
    shape, scale = 0.0, first
    if first > 2 * second and first / (first - 2 * second) < 2:
        shape, scale = first / (first - 2 * second) - 2, 2 * first * second / (first - 2 * second)

    def beyond(x: np.ndarray) -> np.ndarray:
        return np.exp(-x / scale) if shape > -1e-6 else (1 - shape * x / scale) ** (1 / shape)

    places = (2 * np.arange(1, count + 1) - 1) / (2 * count)
    misfit = 1 / (12 * count) + np.sum((1 - beyond(ascending) - places) ** 2)
    return float("nan") if misfit > POOR_FIT else float(beyond(np.array(value)))
