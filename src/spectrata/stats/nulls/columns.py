"""Tests of many columns: each draws until 20 orders were as extreme, and a small p comes from the tail of its draws."""

from collections.abc import Callable

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
    observed: np.ndarray,
    draw: DrawColumns,
    at: tuple[int, ...],
    steps: tuple[int, ...] = STEPS,
    jumps: np.ndarray | float = 0.0,
) -> Chance:
    """Test S statistics of each of C columns, ``observed (C, S)``; orders are the same for every column.

    ``at`` comes from ``stopping.looks``. Columns may stop before the first look at the numbers of draws in ``steps``;
    the interval of chance is as exact as these are many. ``jumps (C, S)`` are the most that one pair can add. Where
    that exceeds the deviation of the draws, a rare order reaches values that no tail of the other orders foresees:
    such a test draws on, and its p is counted.
    """
    jumps = np.broadcast_to(jumps, observed.shape)
    result = Chance.unknown(observed.shape)
    active = np.flatnonzero(np.isfinite(observed).any(axis=1))
    drawn = np.empty((0, len(active), observed.shape[1]))
    for stop in (*(step for step in steps if at and step < at[0]), *at):
        if not len(active):
            break
        drawn = np.concatenate([drawn, draw(len(drawn), stop, active)])  # (N, c, S)
        upper, lower = tails(observed[active], drawn)
        enough = (np.minimum(upper, lower) >= ENOUGH) | ~np.isfinite(observed[active])
        done = enough.all(axis=1)
        for place in np.flatnonzero(done | (stop >= at[0])):
            last = bool(done[place]) or stop == at[-1]
            column, sides = int(active[place]), (upper[place], lower[place])
            done[place] = _finish(result, column, observed[column], drawn[:, place], sides, jumps[column], last)
        active, drawn = active[~done], drawn[:, ~done]
    return result


def _finish(
    into: Chance,
    column: int,
    values: np.ndarray,
    drawn: np.ndarray,
    sides: tuple[np.ndarray, np.ndarray],
    jumps: np.ndarray,
    last: bool,
) -> bool:
    """Write the tests of a column; not where its draws are too few, no tail fits, and more can be drawn."""
    known, (upper, lower) = np.flatnonzero(np.isfinite(values)), sides
    smaller = np.minimum(upper, lower)
    p = np.minimum(1.0, 2 * (smaller + 1) / (len(drawn) + 1))
    few = known[smaller[known] < FEW]
    smooth = jumps <= np.std(drawn, axis=0)
    fitted = np.array([tail_p(values[at], drawn[:, at]) if smooth[at] else np.nan for at in few])
    if not last and np.isnan(fitted).any():
        return False
    fits = np.isfinite(fitted)
    p[few[fits]], into.by_tail[column, few[fits]] = fitted[fits], True
    into.p[column, known], into.draws[column, known] = p[known], len(drawn)
    into.tail[column, known] = np.sign(lower - upper)[known]
    into.low[column, known], into.high[column, known] = chance_interval(drawn[:, known])
    family = p[known] if len(known) == 1 else smallest_p(values[known], drawn[:, known])[0]
    bonferroni = np.minimum(1.0, len(known) * p[known])
    into.p_family[column, known] = np.where(into.by_tail[column, known], bonferroni, np.maximum(family, p[known]))
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
