"""r_K of many columns at once: one order moves every column."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from spectrata.stats.nulls.columns import run_columns
from spectrata.stats.nulls.given import Covariates
from spectrata.stats.nulls.orders import orders
from spectrata.stats.nulls.stopping import Chance, Outcome, joined, unknown
from spectrata.stats.observation import BATCH, Observation, Pairs, moved, observe
from spectrata.stats.statistics.pairs import Likeness

BLOCK = 2**24  # numbers of a block of columns
LANES = 8  # columns that are permuted together at least: a line of the cache
ORDERS_AT_ONCE = 2**22  # numbers of a batch of orders
LIKENESS = Likeness()


def run_column_tests(
    values: np.ndarray,
    rounding: float,
    pairs: Sequence[Pairs],
    covariates: Covariates | None,
    at: tuple[int, ...],
    seed: int,
) -> Outcome:
    """Test r of every column at some hops; snapshots of a column are one family with its hops.

    Parameters
    ----------
    values : ndarray, shape (T, n, C)
    rounding : float
        Relative rounding error of the values.
    pairs : sequence of Pairs
        One for each hop.
    covariates : Covariates, optional
    at : tuple of int
        From ``nulls.stopping.looks``.
    seed : int

    Returns
    -------
    Outcome
        Arrays (C, T * H).
    """
    known = [None if covariates is None else covariates.at(one.participation) for one in pairs]
    step = max(64, BLOCK // values[..., 0].size)
    made = []
    for start in range(0, values.shape[2], step):
        block = values[..., start : start + step]
        free = [observe(one, hop, rounding, separate=True) for one in block for hop in pairs]
        value, chance = _against(free, None, at, seed)
        value_given, given = np.full(value.shape, np.nan), unknown(value.shape)
        if covariates is not None:
            left = [obs.beyond(one) for obs, one in zip(free, known * len(values), strict=True) if one is not None]
            value_given, given = _against(left, covariates.blocks, at, seed)
        made.append(Outcome(value, chance, value_given, given))
    value, value_given = (np.concatenate([getattr(one, name) for one in made]) for name in ("value", "value_given"))
    return Outcome(value, joined([one.chance for one in made]), value_given, joined([one.given for one in made]))


def _against(
    observed: Sequence[Observation], blocks: np.ndarray | None, at: tuple[int, ...], seed: int
) -> tuple[np.ndarray, Chance]:
    value = np.column_stack([LIKENESS.value(obs) for obs in observed])
    return value, run_columns(value, partial(_draw, observed, blocks, seed), at)


def _draw(
    observed: Sequence[Observation], blocks: np.ndarray | None, seed: int, start: int, stop: int, columns: np.ndarray
) -> np.ndarray:
    """r under orders ``start`` to ``stop - 1``: ``(B, c, H)``."""
    n = observed[0].n
    found = np.empty((stop - start, len(columns), len(observed)))
    step, lanes = max(1, ORDERS_AT_ONCE // n), max(LANES, BATCH // n)
    for first in range(start, stop, step):
        made = orders(seed, n, first, min(stop, first + step), blocks)
        rows = found[first - start : first - start + len(made)]
        for h, obs in enumerate(observed):
            for at in range(0, len(columns), lanes):
                some = obs.columns(columns[at : at + lanes])
                for part in some.batches(made):
                    rows[part, at : at + lanes, h] = LIKENESS.of(some, moved(some, made[part]))
    return found
