"""Tests of signals at every hop: statistics against permutation, and given covariates."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from spectrata.stats.nulls.columns import run_columns
from spectrata.stats.nulls.given import Covariates
from spectrata.stats.nulls.orders import Arrangements, arrangements, block_orders, order_batches
from spectrata.stats.nulls.stopping import LEVEL, Chance, run_family
from spectrata.stats.observation import BATCH, Observation, moved
from spectrata.stats.statistics.pairs import GRAM_WIDTH, Statistic, largest_pair
from spectrata.stats.statistics.shares import Share

WIDE = GRAM_WIDTH - 1  # columns of a vector up to which equal rows are looked for; by_sums takes permutations only
LANES = 32  # columns that are permuted together at least: they share the pairs that are read
SHARE_WORK = 4e11  # multiplications of a look at the shares, about half a minute


@dataclass(frozen=True, eq=False)
class Cell:
    """One statistic of one observation."""

    obs: Observation
    statistic: Statistic


@dataclass(frozen=True, eq=False)
class Outcome:
    """Both tests of some statistics: the value and its chance, free and given covariates."""

    value: np.ndarray
    chance: Chance
    value_given: np.ndarray
    given: Chance

    @classmethod
    def unknown(cls, shape: tuple[int, ...]) -> "Outcome":
        """Of tests that were not made."""
        return cls(np.full(shape, np.nan), Chance.unknown(shape), np.full(shape, np.nan), Chance.unknown(shape))

    def place(self, where: Any, other: "Outcome") -> None:
        """Put other tests at some places."""
        self.value[where] = other.value.reshape(self.value[where].shape)
        self.value_given[where] = other.value_given.reshape(self.value[where].shape)
        self.chance.place(where, other.chance)
        self.given.place(where, other.given)


def run_tests(cells: Sequence[Cell], covariates: Covariates | None, at: tuple[int, ...], seed: int) -> Outcome:
    """Test S cells on the same rows, at the numbers of orders in ``at``; without any there is no p.

    Cells of one signal are a family of hops, snapshots and statistics: arrays (S,). Where every one of C columns is a
    signal of its own, each column is a family: arrays (C, S).
    """
    value, chance = _against(cells, None, at, seed)
    if covariates is None:
        return Outcome(value, chance, np.full(value.shape, np.nan), Chance.unknown(value.shape))
    given = {pairs: covariates.at(pairs.participation) for pairs in {cell.obs.pairs for cell in cells}}
    beyond = {obs: obs.beyond(given[obs.pairs]) for obs in {cell.obs for cell in cells}}
    left = [Cell(beyond[cell.obs], cell.statistic) for cell in cells]
    return Outcome(value, chance, *_against(left, covariates.blocks, at, seed))


def _against(
    cells: Sequence[Cell], blocks: np.ndarray | None, at: tuple[int, ...], seed: int
) -> tuple[np.ndarray, Chance]:
    """Values of cells, and their chance under orders of all rows or within blocks."""
    value = np.stack([cell.statistic.value(cell.obs) for cell in cells], axis=-1)
    if cells[0].obs.separate:
        jumps = np.stack([largest_pair(cell.obs) for cell in cells], axis=-1)
        return value, run_columns(value, partial(_draw_columns, cells, blocks, seed), at, jumps=jumps)
    within = None if blocks is None else block_orders(blocks)

    def counted(which: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        some = [cells[index] for index in which]
        found = _arrangements(some) if blocks is None else within
        return None if found is None else (evaluate(some, found.orders), found.weights)

    return value, run_family(value, partial(_draw, cells, blocks, seed), at, cells[0].obs.n, counted)


def _draw(
    cells: Sequence[Cell], blocks: np.ndarray | None, seed: int, start: int, stop: int, which: np.ndarray
) -> np.ndarray:
    """Statistics ``(B, s)`` under random orders number ``start`` to ``stop - 1``."""
    some = [cells[index] for index in which]
    found = np.empty((stop - start, len(some)))
    for part, made in order_batches(seed, some[0].obs.n, start, stop, blocks):
        found[part] = evaluate(some, made)
    return found


def _draw_columns(
    cells: Sequence[Cell], blocks: np.ndarray | None, seed: int, start: int, stop: int, columns: np.ndarray
) -> np.ndarray:
    """The same of some columns that are signals of their own: ``(B, c, S)``."""
    n = cells[0].obs.n
    found = np.empty((stop - start, len(columns), len(cells)))
    lanes = max(LANES, 8 * BATCH // n)
    for part, made in order_batches(seed, n, start, stop, blocks):
        for at, cell in enumerate(cells):
            for first in range(0, len(columns), lanes):
                some = cell.obs.columns(columns[first : first + lanes])
                found[part, first : first + lanes, at] = cell.statistic.permuted(some, made)
    return found


def evaluate(cells: Sequence[Cell], made: np.ndarray) -> np.ndarray:
    """Statistics of cells under orders ``(B, n) -> (B, S)``; those of one observation permute it once."""
    found = np.empty((len(made), len(cells)))
    for obs, group in groupby(range(len(cells)), key=lambda at: cells[at].obs):
        members = list(group)
        if len(members) == 1:
            found[:, members[0]] = cells[members[0]].statistic.permuted(obs, made)
            continue
        for part in obs.batches(made):
            ends = moved(obs, made[part])
            for at in members:
                found[part, at] = cells[at].statistic.of(obs, ends)
    return found


def _arrangements(cells: Sequence[Cell]) -> Arrangements | None:
    """All arrangements on the nodes that have a pair at some hop; snapshots are permuted together, so alone."""
    first = cells[0].obs
    if first.width > WIDE or not all(np.array_equal(cell.obs.values, first.values) for cell in cells):
        return None
    return arrangements(first.values, np.unique(np.concatenate([cell.obs.pairs.nodes for cell in cells])))


def affordable(cells: Sequence[Cell], draws: int) -> bool:
    """Whether the shares among the cells can be tested within about half a minute."""
    work = sum(cell.statistic.form.size * cell.obs.width for cell in cells if isinstance(cell.statistic, Share))
    return 2.0 * work * draws <= SHARE_WORK


def verdicts(p: Any, tail: Any, p_given: Any, tail_given: Any, given: str) -> np.ndarray:
    """One word for two tests at the level: alike or unlike where both reject in the same tail.

    ``given`` names the covariates of the second test; without a name there is none.

    Examples
    --------
    >>> verdicts([0.01, 0.01, 0.2], [1, 1, 1], [0.02, 0.4, 0.01], [1, 1, -1], "degree").tolist()
    ['alike', 'not beyond degree', 'unlike only given degree']
    >>> verdicts([0.01, 0.3], [-1, 1], [0.01, 0.6], [1, 1], "degree").tolist(), verdicts(0.01, -1, np.nan, 0, "").item()
    (['reversed given degree', 'chance'], 'unlike')
    """
    p, tail, p_given, tail_given = map(np.asarray, (p, tail, p_given, tail_given))
    first, second = p <= LEVEL, p_given <= LEVEL  # NaN does not reject
    side, side_given = (np.where(one > 0, "alike", "unlike") for one in (tail, tail_given))
    words: list[tuple[Any, Any]] = [
        (np.isnan(p), "undefined"),
        (first & second & (tail == tail_given) if given else first, side),
        (first & second, f"reversed given {given}"),
        (first, f"not beyond {given}"),
        (second, np.char.add(side_given, f" only given {given}")),
    ]
    return np.select([when for when, _ in words], [word for _, word in words], "chance")
