"""All tests of a reading: every column at every hop and snapshot, against permutation and given covariates."""

from typing import Any

import numpy as np

from spectrata.stats.nulls.columns import MANY
from spectrata.stats.nulls.correction import over_columns
from spectrata.stats.nulls.given import read_given
from spectrata.stats.nulls.stopping import looks
from spectrata.stats.observation import Observation, Pairs, observe
from spectrata.stats.statistics.pairs import Likeness, moran, participation_ratio
from spectrata.stats.statistics.shares import MOST_NODES, NAMES, between_parts, described, shares
from spectrata.stats.testing import Cell, Outcome, affordable, run_tests, verdicts
from spectrata.stats.verbs.reading import Column, Reading

STATISTICS = ("r", *NAMES)
NO_PAIRS = "no pair of labelled nodes"
NO_VARIANCE = "no variance among nodes with a pair"
NO_DIRECTION = "a node has a zero vector, which has no direction"
BLOCK = 2**24  # numbers of a block of columns that are tested together
# Up to which the second look costs less than a second and is drawn at once: a corrected p then does not depend on how
# many tests stopped at the first look.
SMALL_NODES = 300


class Results:
    """The tests of a reading: ``made`` has arrays (S, T, C, H) of S statistics, r the first; NaN where none was made.

    ``facts`` has participation, the share between parts and Moran's I (T, C, H), ``q`` the false discovery rates of
    both tests. Shares are tested where they are wanted and can be had; ``left_out`` says what was not.
    """

    def __init__(self, reading: Reading, given: Any, draws: int | None, seed: int, with_shares: bool = False) -> None:
        many = [index for index, one in enumerate(reading.columns) if one.kind == "numbers"]
        many = many if len(many) > MANY and reading.separate else []
        n = reading.strat.graph.n_nodes
        self.at, self.seed = looks(n, draws), seed
        if draws is None and n <= SMALL_NODES and not many:
            self.at = self.at[-1:]
        self.reading, self.covariates, self.with_shares = reading, read_given(given, reading.strat), with_shares
        shape = (len(STATISTICS), len(reading.columns[0].values), len(reading.columns), len(reading.hops))
        self.made, self.left_out = Outcome.unknown(shape), ""
        self.facts = {name: np.full(shape[1:], np.nan) for name in ("participation", "between_parts", "moran")}
        self.n_pairs, self.status = np.zeros(shape[2:], dtype=np.int64), np.full(shape[1:], "ok", dtype=object)
        if many:
            self._many_columns(many)
        for index, column in enumerate(reading.columns):
            pairs = reading.pairs(column)
            self.n_pairs[index] = [len(one.ends) for one in pairs]
            if index not in many:
                self._one_column(index, column, pairs)
            self._describe(index, column, pairs)
        self.q = _over_columns(self.made.chance.p_family), _over_columns(self.made.given.p_family)

    @property
    def given(self) -> str:
        """Name of the covariates of the second test: "degree", "covariates", or empty where there is none."""
        return "" if self.covariates is None else self.covariates.name

    @property
    def draws(self) -> int:
        """The most orders behind any p."""
        return int(self.made.chance.draws.max(initial=0))

    @property
    def decides(self) -> tuple[np.ndarray, np.ndarray]:
        """The corrected p of both tests that verdicts rest on: q where columns are tested one by one."""
        return self.q if self.reading.separate else (self.made.chance.p_family, self.made.given.p_family)

    @property
    def near_level(self) -> np.ndarray:
        """Whether a decision could differ with other orders."""
        return self.made.chance.near_level | self.made.given.near_level

    def verdicts(self) -> np.ndarray:
        """The words of all tests as tests of r, ``(S, T, C, H)``."""
        tail, tail_given = self.made.chance.tail, self.made.given.tail
        return verdicts(self.decides[0], tail, self.decides[1], tail_given, self.given)

    def _one_column(self, index: int, column: Column, pairs: list[Pairs]) -> None:
        """Test one column by itself."""
        cells = {}
        for t, h in np.ndindex(len(column.values), len(pairs)):
            if column.lacks(t) or not len(pairs[h].ends):
                continue
            obs = column.observed(t, pairs[h])
            self._note(obs, t, index, h)
            for statistic in (Likeness(), *(shares(pairs[h]) if self.with_shares else ())):
                cells[STATISTICS.index(statistic.name), t, index, h] = Cell(obs, statistic)
        if self.with_shares and pairs[0].n > MOST_NODES:
            self.left_out = f"Scale (smooth, rough, main divide) is not tested above {MOST_NODES:,} nodes."
            for (_, t, _, h), cell in cells.items():
                for name, share in described(cell.obs, self.reading.strat).items() if h == 0 else ():
                    self.made.value[STATISTICS.index(name), t, index, h] = share
        elif self.with_shares and self.at and not affordable(list(cells.values()), self.at[0]):
            self.left_out = "Scale is described without p: its permutations would take long at this size."
            for place in [place for place in cells if place[0]]:
                cell = cells.pop(place)
                self.made.value[place] = cell.statistic.value(cell.obs)
        if cells:
            own = None if self.covariates is None else self.covariates.of(column.rows)
            made = run_tests(list(cells.values()), own, self.at, self.seed)
            self.made.place(tuple(np.array(list(cells)).T), made)

    def _many_columns(self, which: list[int]) -> None:
        """Test r of many columns of numbers together."""
        self.left_out = f"Scale is not tested for more than {MANY} columns." if self.with_shares else ""
        columns, first = self.reading.columns, self.reading.columns[which[0]]
        pairs, step = self.reading.pairs(first), max(64, BLOCK // first.values.size)
        for start in range(0, len(which), step):
            some = which[start : start + step]
            values = np.concatenate([columns[index].values for index in some], axis=2)  # (T, n, C)
            cells = []
            for t, h in np.ndindex(len(values), len(pairs)):
                cells.append(Cell(observe(values[t], pairs[h], first.rounding, separate=True), Likeness()))
                self._note(cells[-1].obs, t, some, h)
            self.made.place((0, slice(None), some), run_tests(cells, self.covariates, self.at, self.seed))

    def _note(self, obs: Observation, t: int, index: Any, h: int) -> None:
        self.facts["participation"][t, index, h] = participation_ratio(obs)
        self.facts["between_parts"][t, index, h] = between_parts(obs)
        if obs.separate or obs.width == 1:
            self.facts["moran"][t, index, h] = moran(obs)

    def _describe(self, index: int, column: Column, pairs: list[Pairs]) -> None:
        """Say why r is undefined, where covariates leave nothing, or what makes a hop weak evidence."""
        value, value_given = (one[0, :, index] for one in (self.made.value, self.made.value_given))
        for t, h in np.ndindex(value.shape):
            words = pairs[h].remark
            if column.lacks(t):
                words = NO_DIRECTION
            elif np.isnan(value[t, h]):
                words = NO_VARIANCE if len(pairs[h].ends) else NO_PAIRS
            elif self.covariates is not None and self.at and np.isnan(value_given[t, h]):
                why = self.covariates.of(column.rows).why_untested(pairs[h].participation)
                words = f"{why}; {words}" if words else why
            self.status[t, index, h] = words or "ok"


def _over_columns(p_family: np.ndarray) -> np.ndarray:
    """q over columns of tests ``(S, T, C, H)``."""
    family = np.moveaxis(p_family, 2, 0)
    return np.moveaxis(over_columns(family.reshape(len(family), -1)).reshape(family.shape), 0, 2)
