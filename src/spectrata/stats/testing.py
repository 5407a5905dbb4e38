"""Tests of signals at every hop: statistics against permutation, and given covariates."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from spectrata.stats.nulls.given import Covariates
from spectrata.stats.nulls.orders import Arrangements, arrangements, block_orders, orders
from spectrata.stats.nulls.stopping import LEVEL, Chance, Outcome, Whole, run_family, unknown
from spectrata.stats.observation import Observation, moved
from spectrata.stats.statistics.pairs import GRAM_WIDTH, Likeness
from spectrata.stats.statistics.shares import Share

WIDE = GRAM_WIDTH - 1  # columns of a vector up to which equal rows are looked for; by_gram takes permutations only
ORDERS_AT_ONCE = 2**22  # numbers of a batch of orders
SHARE_WORK = 4e11  # multiplications of a look at the shares, about half a minute
Statistic = Likeness | Share


@dataclass(frozen=True, eq=False)
class Cell:
    """One statistic of one observation."""

    obs: Observation
    statistic: Statistic


def run_tests(
    cells: Sequence[Cell], covariates: Covariates | None, at: tuple[int, ...], seed: int, n_nodes: int
) -> Outcome:
    """Test cells of one signal as a family: hops, snapshots and statistics.

    Parameters
    ----------
    cells : sequence of Cell
        All on the same rows.
    covariates : Covariates, optional
        On the same rows; without them the second test is NaN.
    at : tuple of int
        Numbers of orders from ``nulls.stopping.looks``; with none there is no p.
    seed, n_nodes : int
    """
    value, chance = _against(cells, None, at, seed, n_nodes)
    if covariates is None:
        return Outcome(value, chance, np.full(value.shape, np.nan), unknown(value.shape))
    beyond: dict[int, Observation] = {}
    by_hop: dict[int, Any] = {}
    for cell in cells:
        pairs = cell.obs.pairs
        if id(pairs) not in by_hop:
            by_hop[id(pairs)] = covariates.at(pairs.participation)
        if id(cell.obs) not in beyond:
            beyond[id(cell.obs)] = cell.obs.beyond(by_hop[id(pairs)])
    left = [Cell(beyond[id(cell.obs)], cell.statistic) for cell in cells]
    value_given, given = _against(left, covariates.blocks, at, seed, n_nodes)
    return Outcome(value, chance, value_given, given)


def _against(
    cells: Sequence[Cell], blocks: np.ndarray | None, at: tuple[int, ...], seed: int, n_nodes: int
) -> tuple[np.ndarray, Chance]:
    """Values of cells, and their chance under orders of all rows or within blocks."""
    value = np.array([float(cell.statistic.value(cell.obs)) for cell in cells])
    draw = partial(_drawn, cells, blocks, seed)
    if blocks is None:
        own, together = partial(_own_whole, cells), partial(_together, cells, value)
        return value, run_family(value, draw, at, n_nodes, own, together)
    known = block_orders(blocks)
    if known is None:
        return value, run_family(value, draw, at, n_nodes)
    defined = [cell for cell, one in zip(cells, value, strict=True) if np.isfinite(one)]
    whole = partial(_whole, found=known)
    return value, run_family(
        value, draw, at, n_nodes, lambda index: whole(cells[index : index + 1]), lambda: whole(defined)
    )


def _drawn(
    cells: Sequence[Cell], blocks: np.ndarray | None, seed: int, start: int, stop: int, which: np.ndarray
) -> np.ndarray:
    """Statistics under random orders number ``start`` to ``stop - 1``."""
    found = np.empty((stop - start, len(which)))
    some = [cells[index] for index in which.tolist()]
    n = some[0].obs.n
    step = max(1, ORDERS_AT_ONCE // n)
    for first in range(start, stop, step):
        last = min(stop, first + step)
        found[first - start : last - start] = evaluate(some, orders(seed, n, first, last, blocks))
    return found


def evaluate(cells: Sequence[Cell], made: np.ndarray) -> np.ndarray:
    """Statistics of cells under orders ``(B, n) -> (B, S)``; those of one observation permute it once."""
    found = np.empty((len(made), len(cells)))
    groups: dict[int, list[int]] = {}
    for at, cell in enumerate(cells):
        groups.setdefault(id(cell.obs), []).append(at)
    for members in groups.values():
        obs = cells[members[0]].obs
        if len(members) == 1:
            found[:, members[0]] = cells[members[0]].statistic.permuted(obs, made)
            continue
        for part in obs.batches(made):
            ends = moved(obs, made[part])
            for at in members:
                found[part, at] = cells[at].statistic.of(obs, ends)
    return found


def _own_whole(cells: Sequence[Cell], index: int) -> Whole | None:
    obs = cells[index].obs
    found = arrangements(obs.values, obs.pairs.nodes) if obs.width <= WIDE else None
    return None if found is None else _whole(cells[index : index + 1], found)


def _together(cells: Sequence[Cell], value: np.ndarray) -> Whole | None:
    """All arrangements on the nodes that have a pair at some hop; snapshots are permuted together, so alone."""
    known = [cell for cell, one in zip(cells, value, strict=True) if np.isfinite(one)]
    first = known[0].obs
    if first.width > WIDE or not all(np.array_equal(cell.obs.values, first.values) for cell in known):
        return None
    nodes = np.unique(np.concatenate([cell.obs.pairs.nodes for cell in known]))
    found = arrangements(first.values, nodes)
    return None if found is None else _whole(known, found)


def _whole(cells: Sequence[Cell], found: Arrangements) -> Whole:
    return Whole(evaluate(cells, found.orders), found.weights)


def affordable(cells: Sequence[Cell], draws: int) -> bool:
    """Whether the shares among the cells can be tested within about half a minute."""
    work = sum(c.statistic.form.size * c.obs.width for c in cells if isinstance(c.statistic, Share))
    return 2.0 * work * draws <= SHARE_WORK


# ---- words


def verdict(p: float, tail: int, p_given: float, tail_given: int, tested_given: bool, name: str = "degree") -> str:
    """One word for two tests at the level: alike or unlike where both reject in the same tail.

    Examples
    --------
    >>> verdict(0.01, 1, 0.02, 1, True), verdict(0.01, 1, 0.4, 1, True), verdict(0.2, 1, 0.01, -1, True)
    ('alike', 'not beyond degree', 'unlike only given degree')
    >>> verdict(0.01, -1, 0.01, 1, True), verdict(0.3, 1, 0.6, 1, True), verdict(0.01, -1, np.nan, 0, False)
    ('reversed given degree', 'chance', 'unlike')
    """
    if np.isnan(p):
        return "undefined"
    words = {1: "alike", -1: "unlike"}
    first, second = p <= LEVEL, p_given <= LEVEL  # NaN does not reject
    if not tested_given:
        return words[tail] if first else "chance"
    if first and second:
        return words[tail] if tail == tail_given else f"reversed given {name}"
    if first:
        return f"not beyond {name}"
    return f"{words[tail_given]} only given {name}" if second else "chance"
