"""All tests of a reading: every column at every hop and snapshot, against permutation and given covariates."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from spectrata.stats.nulls.columns import MANY
from spectrata.stats.nulls.correction import over_columns
from spectrata.stats.nulls.given import Covariates, read_given
from spectrata.stats.nulls.stopping import Chance, looks
from spectrata.stats.observation import Pairs
from spectrata.stats.statistics.columns import run_column_tests
from spectrata.stats.statistics.pairs import Likeness, moran, participation_ratio
from spectrata.stats.statistics.shares import MOST_NODES, NAMES, between_parts, shares
from spectrata.stats.testing import Cell, affordable, run_tests, verdict
from spectrata.stats.verbs.reading import Column, Reading

STATISTICS = ("r", *NAMES)
NO_PAIRS = "no pair of labelled nodes"
NO_VARIANCE = "no variance among nodes with a pair"
NO_DIRECTION = "a node has a zero vector, which has no direction"
# Names of Chance in the free test, and the same given covariates.
FREE = {"p": "p", "p_family": "p_family", "tail": "tail", "near_level": "near", "low": "low", "high": "high"}
GIVEN = {"p": "p_given", "p_family": "p_family_given", "tail": "tail_given", "near_level": "near_given"}


@dataclass(frozen=True, eq=False)
class Results:
    """Arrays (S, T, C, H) of S statistics, r the first; those that were not computed are NaN.

    ``numbers`` has value, p, p_family, tail, near, low, high, value_given, p_given, p_family_given, tail_given,
    near_given, q, q_given, draws and by_tail; ``facts`` (T, C, H) participation, moran and between_parts.
    """

    reading: Reading
    covariates: Covariates | None
    numbers: dict[str, np.ndarray]
    facts: dict[str, np.ndarray]
    n_pairs: np.ndarray  # (C, H)
    status: np.ndarray  # (T, C, H)
    scale_left_out: str
    draws: int

    def __getitem__(self, name: str) -> np.ndarray:
        return self.numbers[name]

    @property
    def decides(self) -> tuple[np.ndarray, np.ndarray]:
        """The corrected p of both tests that verdicts rest on: q where columns are tested one by one."""
        if self.reading.separate:
            return self["q"], self["q_given"]
        return self["p_family"], self["p_family_given"]

    @property
    def near_level(self) -> np.ndarray:
        """Whether a decision could differ with other orders."""
        return (self["near"] > 0) | (self["near_given"] > 0)

    def verdicts(self) -> np.ndarray:
        """The words for r, ``(T, C, H)``."""
        p, p_given = (one[0] for one in self.decides)
        tail, tail_given = (np.nan_to_num(self[one][0]).astype(int) for one in ("tail", "tail_given"))
        tested = self.covariates is not None
        name = "" if self.covariates is None else self.covariates.name
        found = np.empty(p.shape, dtype=object)
        for at in np.ndindex(p.shape):
            found[at] = verdict(p[at], tail[at], p_given[at], tail_given[at], tested, name)
        return found


def run(reading: Reading, given: Any, draws: int | None, seed: int, with_shares: bool) -> Results:
    """Make every test of a reading; shares of the spectrum where they are wanted and can be had."""
    covariates = read_given(given, reading.strat)
    at = looks(reading.strat.graph.n_nodes, draws)
    times = len(reading.columns[0].values)
    shape = (len(STATISTICS), times, len(reading.columns), len(reading.hops))
    names = ["value", *FREE.values(), "value_given", *GIVEN.values(), "draws", "by_tail"]
    numbers = {name: np.full(shape, np.nan) for name in names}
    facts = {name: np.full(shape[1:], np.nan) for name in ("participation", "moran", "between_parts")}
    left_out = ""
    many = [at for at, one in enumerate(reading.columns) if one.kind == "numbers"]
    if len(many) <= MANY or not reading.separate:
        many = []
    else:
        _many_columns(reading, many, covariates, at, seed, numbers, facts)
        left_out = f"Scale is not tested for more than {MANY} columns." if with_shares else ""
    n_pairs = np.zeros(shape[2:], dtype=np.int64)
    status = np.full(shape[1:], "ok", dtype=object)
    for index, column in enumerate(reading.columns):
        pairs = reading.pairs(column)
        n_pairs[index] = [len(one.ends) for one in pairs]
        if index not in many:
            left_out = _one_column(index, column, pairs, covariates, at, seed, with_shares, numbers, facts) or left_out
        _describe(status[:, index], column, pairs, numbers["value"][0, :, index], at)
    _explained(status, numbers, covariates, bool(at))
    for kind in ("", "_given"):
        family = np.moveaxis(numbers[f"p_family{kind}"], 2, 0)  # (C, S, T, H)
        q = over_columns(family.reshape(len(family), -1)).reshape(family.shape)
        numbers[f"q{kind}"] = np.moveaxis(q, 0, 2)
    most = int(np.nanmax(numbers["draws"], initial=0)) if at else 0
    return Results(reading, covariates, numbers, facts, n_pairs, status, left_out, most)


def _one_column(
    index: int,
    column: Column,
    pairs: list[Pairs],
    covariates: Covariates | None,
    at: tuple[int, ...],
    seed: int,
    with_shares: bool,
    numbers: dict[str, np.ndarray],
    facts: dict[str, np.ndarray],
) -> str:
    """Test one column; returns why shares were left out, or nothing."""
    cells, places = [], []
    for t in range(len(column.values)):
        if column.undefined is not None and column.undefined[t]:
            continue
        for h, one in enumerate(pairs):
            if not len(one.ends):
                continue
            obs = column.observed(t, one)
            facts["participation"][t, index, h] = participation_ratio(obs)
            facts["between_parts"][t, index, h] = between_parts(obs)
            if column.values.shape[2] == 1:
                facts["moran"][t, index, h] = moran(obs)
            for statistic in (Likeness(), *(shares(one) if with_shares else ())):
                cells.append(Cell(obs, statistic))
                places.append((STATISTICS.index(statistic.name), t, index, h))
    left_out = ""
    if with_shares and pairs[0].n > MOST_NODES:
        left_out = f"Scale (smooth, rough, main divide) is not computed above {MOST_NODES:,} nodes."
    elif with_shares and at and not affordable(cells, at[0]):
        left_out = "Scale is described without p: its permutations would take long at this size."
        for cell, place in zip(cells, places, strict=True):
            if place[0]:
                numbers["value"][place] = cell.statistic.value(cell.obs)
        kept = [place[0] == 0 for place in places]
        cells = [cell for cell, one in zip(cells, kept, strict=True) if one]
        places = [place for place, one in zip(places, kept, strict=True) if one]
    if not cells:
        return left_out
    own = None if covariates is None else covariates.of(column.rows)
    made = run_tests(cells, own, at, seed, len(column.rows))
    where = tuple(np.array(places).T)
    numbers["value"][where], numbers["value_given"][where] = made.value, made.value_given
    _place(numbers, where, made.chance, made.given)
    return left_out


def _place(numbers: dict[str, np.ndarray], where: Any, chance: Chance, given: Chance) -> None:
    for names, null in ((FREE, chance), (GIVEN, given)):
        for name, label in names.items():
            numbers[label][where] = getattr(null, name)
    numbers["draws"][where], numbers["by_tail"][where] = chance.draws, chance.by_tail


def _many_columns(
    reading: Reading,
    which: list[int],
    covariates: Covariates | None,
    at: tuple[int, ...],
    seed: int,
    numbers: dict[str, np.ndarray],
    facts: dict[str, np.ndarray],
) -> None:
    first = reading.columns[which[0]]
    values = np.concatenate([reading.columns[index].values for index in which], axis=2)
    made = run_column_tests(values, first.rounding, reading.pairs(first), covariates, at, seed)
    shape = (len(which), len(values), len(reading.hops))

    def spread(array: np.ndarray) -> np.ndarray:
        return np.moveaxis(array.reshape(shape), 0, 1)  # (C, T H) -> (T, C, H)

    columns = np.array(which)
    for name, array in (("value", made.value), ("value_given", made.value_given)):
        numbers[name][0][:, columns] = spread(array)
    for names, null in ((FREE, made.chance), (GIVEN, made.given)):
        for name, label in names.items():
            numbers[label][0][:, columns] = spread(getattr(null, name))
    numbers["draws"][0][:, columns] = spread(made.chance.draws)
    numbers["by_tail"][0][:, columns] = spread(made.chance.by_tail)
    for name in ("participation", "moran"):
        facts[name][:, columns] = spread(getattr(made, name))


def _describe(status: np.ndarray, column: Column, pairs: list[Pairs], value: np.ndarray, at: tuple[int, ...]) -> None:
    """Why r is undefined, or what makes a hop weak evidence: ``(T, H)``."""
    for t, h in np.ndindex(status.shape):
        if column.undefined is not None and column.undefined[t]:
            status[t, h] = NO_DIRECTION
        elif not len(pairs[h].ends):
            status[t, h] = NO_PAIRS
        elif np.isnan(value[t, h]):
            status[t, h] = NO_VARIANCE
        elif pairs[h].remark:
            status[t, h] = pairs[h].remark


def _explained(status: np.ndarray, numbers: dict[str, np.ndarray], covariates: Covariates | None, tested: bool) -> None:
    if covariates is None or not tested:
        return
    words = "a function of degree" if covariates.name == "degree" else "a function of the covariates"
    lost = np.isnan(numbers["value_given"][0]) & np.isfinite(numbers["value"][0])
    for at in np.argwhere(lost):
        old = status[tuple(at)]
        status[tuple(at)] = words if old == "ok" else f"{words}; {old}"
