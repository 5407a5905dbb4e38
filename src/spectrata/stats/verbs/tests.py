"""All tests of a reading: every column at every hop and snapshot, against permutation and given covariates."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from spectrata.stats.nulls.columns import MANY
from spectrata.stats.nulls.correction import over_columns
from spectrata.stats.nulls.given import Covariates, read_given
from spectrata.stats.nulls.stopping import Outcome, looks
from spectrata.stats.observation import Pairs, observe
from spectrata.stats.statistics.columns import run_column_tests
from spectrata.stats.statistics.pairs import Likeness, moran, participation_ratio
from spectrata.stats.statistics.shares import MOST_NODES, NAMES, between_parts, described, shares
from spectrata.stats.testing import Cell, affordable, run_tests, verdict
from spectrata.stats.verbs.reading import Column, Reading

STATISTICS = ("r", *NAMES)
NO_PAIRS = "no pair of labelled nodes"
NO_VARIANCE = "no variance among nodes with a pair"
NO_DIRECTION = "a node has a zero vector, which has no direction"
# Names of Chance in the free test, and the same given covariates.
FREE = {"p": "p", "p_family": "p_family", "tail": "tail", "near_level": "near", "low": "low", "high": "high"}
ALSO = {"draws": "draws", "by_tail": "by_tail"}
GIVEN = {"p": "p_given", "p_family": "p_family_given", "tail": "tail_given", "near_level": "near_given"}

# Up to which the second look costs less than a second and is drawn at once: a corrected p then does not depend on how
# many tests stopped at the first look.
SMALL_NODES = 300


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
    many = [index for index, one in enumerate(reading.columns) if one.kind == "numbers"]
    many = many if len(many) > MANY and reading.separate else []
    n = reading.strat.graph.n_nodes
    at = looks(n, draws)
    if draws is None and n <= SMALL_NODES and not many:
        at = at[-1:]
    made = _Tests(reading, covariates, at, seed)
    if many:
        made.many_columns(many)
        made.left_out = f"Scale is not tested for more than {MANY} columns." if with_shares else ""
    for index, column in enumerate(reading.columns):
        pairs = reading.pairs(column)
        made.n_pairs[index] = [len(one.ends) for one in pairs]
        if index not in many:
            made.one_column(index, column, pairs, with_shares)
        made.describe(index, column, pairs)
    numbers = made.numbers
    for kind in ("", "_given"):
        family = np.moveaxis(numbers[f"p_family{kind}"], 2, 0)  # (C, S, T, H)
        q = over_columns(family.reshape(len(family), -1)).reshape(family.shape)
        numbers[f"q{kind}"] = np.moveaxis(q, 0, 2)
    most = int(np.nanmax(numbers["draws"], initial=0)) if at else 0
    return Results(reading, covariates, numbers, made.facts, made.n_pairs, made.status, made.left_out, most)


class _Tests:
    """The arrays of all tests of a reading, as they are filled."""

    def __init__(self, reading: Reading, covariates: Covariates | None, at: tuple[int, ...], seed: int) -> None:
        self.reading, self.covariates, self.at, self.seed = reading, covariates, at, seed
        shape = (len(STATISTICS), len(reading.columns[0].values), len(reading.columns), len(reading.hops))
        names = ["value", *FREE.values(), "value_given", *GIVEN.values(), "draws", "by_tail"]
        self.numbers = {name: np.full(shape, np.nan) for name in names}
        self.facts = {name: np.full(shape[1:], np.nan) for name in ("participation", "moran", "between_parts")}
        self.n_pairs, self.status = np.zeros(shape[2:], dtype=np.int64), np.full(shape[1:], "ok", dtype=object)
        self.left_out = ""

    def place(self, where: Any, made: Outcome, shape: tuple[int, ...]) -> None:
        """Put the outcome of tests where they belong."""
        self.numbers["value"][where] = made.value.reshape(shape)
        self.numbers["value_given"][where] = made.value_given.reshape(shape)
        for names, null in ((FREE, made.chance), (GIVEN, made.given), (ALSO, made.chance)):
            for name, label in names.items():
                self.numbers[label][where] = getattr(null, name).reshape(shape)

    def one_column(self, index: int, column: Column, pairs: list[Pairs], with_shares: bool) -> None:
        """Test one column by itself."""
        cells = {}
        for t, h in np.ndindex(len(column.values), len(pairs)):
            if (column.undefined is not None and column.undefined[t]) or not len(pairs[h].ends):
                continue
            obs = column.observed(t, pairs[h])
            self.facts["participation"][t, index, h] = participation_ratio(obs)
            self.facts["between_parts"][t, index, h] = between_parts(obs)
            if column.values.shape[2] == 1:
                self.facts["moran"][t, index, h] = moran(obs)
            for statistic in (Likeness(), *(shares(pairs[h]) if with_shares else ())):
                cells[STATISTICS.index(statistic.name), t, index, h] = Cell(obs, statistic)
        if with_shares and pairs[0].n > MOST_NODES:
            self.left_out = f"Scale (smooth, rough, main divide) is not tested above {MOST_NODES:,} nodes."
            for (_, t, _, h), cell in cells.items():
                for name, share in described(cell.obs, self.reading.strat).items() if h == 0 else ():
                    self.numbers["value"][STATISTICS.index(name), t, index, h] = share
        elif with_shares and self.at and not affordable(list(cells.values()), self.at[0]):
            self.left_out = "Scale is described without p: its permutations would take long at this size."
            for place in [place for place in cells if place[0]]:
                cell = cells.pop(place)
                self.numbers["value"][place] = cell.statistic.value(cell.obs)
        if cells:
            own = None if self.covariates is None else self.covariates.of(column.rows)
            made = run_tests(list(cells.values()), own, self.at, self.seed, len(column.rows))
            self.place(tuple(np.array(list(cells)).T), made, (len(cells),))

    def many_columns(self, which: list[int]) -> None:
        """Test r of many columns of numbers together."""
        columns, first = self.reading.columns, self.reading.columns[which[0]]
        values = np.concatenate([columns[index].values for index in which], axis=2)  # (T, n, C)
        pairs = self.reading.pairs(first)
        made = run_column_tests(values, first.rounding, pairs, self.covariates, self.at, self.seed)
        self.place((0, slice(None), which), made, (len(which), len(values), len(pairs)))
        for t, h in np.ndindex(len(values), len(pairs)):
            obs = observe(values[t], pairs[h], first.rounding, separate=True)
            self.facts["participation"][t, which, h] = participation_ratio(obs)
            self.facts["moran"][t, which, h] = moran(obs)

    def describe(self, index: int, column: Column, pairs: list[Pairs]) -> None:
        """Say why r is undefined, where covariates leave nothing, or what makes a hop weak evidence."""
        value, value_given = (self.numbers[name][0, :, index] for name in ("value", "value_given"))
        for t, h in np.ndindex(value.shape):
            words = pairs[h].remark
            if column.undefined is not None and column.undefined[t]:
                words = NO_DIRECTION
            elif np.isnan(value[t, h]):
                words = NO_VARIANCE if len(pairs[h].ends) else NO_PAIRS
            elif self.covariates is not None and self.at and np.isnan(value_given[t, h]):
                why = self.covariates.of(column.rows).why_untested(pairs[h].participation)
                words = f"{why}; {words}" if words else why
            self.status[t, index, h] = words or "ok"
