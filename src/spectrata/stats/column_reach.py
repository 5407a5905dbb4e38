"""How far the likeness of each column reaches: hops in their order, up to the first that is not as the first one."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from spectrata.core.stratification import Stratification
from spectrata.inputs.signals import Signal
from spectrata.stats.correlogram import correlogram
from spectrata.stats.findings import LEVEL
from spectrata.stats.tails import LEAST_NODES


@dataclass(frozen=True, eq=False)
class Reach:
    """Of each column, arrays ``(columns,)``."""

    hop: np.ndarray  # the last hop that is as the first; 0 where that is not significant, NaN where it is undefined
    is_bound: np.ndarray  # whether the next hop was not computed, and the graph has it
    level: float  # p that a hop needs
    last: int  # the last hop that was tested


def reaches(
    strat: Stratification,
    values: np.ndarray,
    first: int,
    z: np.ndarray,
    q: np.ndarray,
    *,
    draws: int,
    max_draws: int,
    seed: int,
) -> Reach:
    """Test the hops after the first of every column ``(n, columns)`` whose q at the first hop is at most the level.

    A hop counts where its p is at most ``LEVEL * selected / columns`` and its z has the sign that the first hop has.
    Hops after a gap are not tested: nothing is known of the hop that is missing.
    """
    tested = ~np.isnan(q)
    going = tested & (q <= LEVEL)
    level = LEVEL * int(going.sum()) / max(1, int(tested.sum()))
    out = np.where(tested, np.where(going, float(first), 0.0), np.nan)
    farther = tuple(hop for at, hop in enumerate(strat.hops) if at and hop == first + at)
    most = min(max_draws, int(8 / level)) if level else 0  # the smallest p is then a quarter of the level
    for hops in _runs(farther, strat.graph.n_nodes):
        columns = np.flatnonzero(going)
        if not len(columns):
            break
        some = Signal(np.ascontiguousarray(values[:, columns])[None], None)
        found = correlogram(
            strat.only(*hops), some, columns="separate", draws=draws, max_draws=most, seed=seed
        ).transpose("column", "hop")
        passed = (found["p"].values <= level) & (np.sign(found["z"].values) == np.sign(z[columns])[:, None])
        count = np.cumprod(passed, axis=1).sum(axis=1)  # hops passed before the first that failed
        out[columns] = np.where(count > 0, np.array(hops)[count - 1], out[columns])
        going[columns[count < len(hops)]] = False
    last = farther[-1] if farther else first
    more = strat.diameter is None or strat.diameter > last
    return Reach(out, going & (out == last) & more, level, last)


def _runs(hops: tuple[int, ...], n: int) -> Iterator[tuple[int, ...]]:
    """Hops in runs, each twice as long as the one before; all together where p comes from moments."""
    start, size = 0, 1 if n < LEAST_NODES else max(1, len(hops))
    while start < len(hops):
        yield hops[start : start + size]
        start, size = start + size, 2 * size
