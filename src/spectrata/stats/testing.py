"""All tests of a reading: every column at every hop and snapshot, against permutation and given covariates."""

from collections.abc import Sequence
from itertools import groupby, product
from typing import Any, NamedTuple

import numpy as np

from spectrata.kernels import threads
from spectrata.stats.nulls.correction import TIE
from spectrata.stats.nulls.given import Covariates, read_given
from spectrata.stats.nulls.orders import arrangements, block_orders, order_batches
from spectrata.stats.nulls.stopping import LEVEL, MANY, Chance, looks, run_columns, run_family
from spectrata.stats.observation import NO_VARIANCE, Observation, Pairs, moved, observe
from spectrata.stats.statistics import likeness
from spectrata.stats.statistics.likeness import Likeness, Statistic
from spectrata.stats.statistics.shares import MOST_NODES, NAMES, Share, between_parts, described, shares
from spectrata.stats.verbs.reading import Column, Reading

LANES = 32  # columns that are permuted together at least: they share the pairs that are read
SHARE_WORK = 4e11  # multiplications of a look at the shares, about half a minute
SECOND_WORK = 4e10  # of the second look, about three seconds a column: above it tables draw no more than single signals
STATISTICS = ("r", *NAMES)
BLOCK = 2**24  # numbers of a block of columns that are tested together
# Up to which the second look costs less than a second and is drawn at once: a corrected p then does not depend on how
# many tests stopped at the first look.
SMALL_NODES = 300


class Cell(NamedTuple):
    """One statistic of one observation."""

    obs: Observation
    statistic: Statistic


def run_tests(
    cells: Sequence[Cell], covariates: Covariates, at: tuple[int, ...], seed: int, columns: int = 1
) -> tuple[Chance, Chance]:
    """Test S cells on the same rows, at the numbers of orders in ``at``; without any there is no p.

    Cells of one signal are a family of hops, snapshots and statistics: arrays (S,). Where every one of C columns is a
    signal of its own, each column is a family: arrays (C, S). A signal may be one of so many ``columns``. Returns the
    plain test and the one given covariates.
    """
    chance = _against(cells, None, at, seed, columns)
    if not covariates.name:
        return chance, Chance.unknown(chance.value.shape)
    given = {pairs: covariates.at(pairs.stratum.relative_degrees) for pairs in {cell.obs.pairs for cell in cells}}
    beyond = {obs: obs.beyond(given[obs.pairs]) for obs in {cell.obs for cell in cells}}
    left = [Cell(beyond[cell.obs], cell.statistic) for cell in cells]
    return chance, _against(left, covariates.blocks, at, seed, columns)


def _against(cells: Sequence[Cell], blocks: np.ndarray | None, at: tuple[int, ...], seed: int, columns: int) -> Chance:
    """Values of cells, and their chance under orders of all rows or within blocks.

    Given covariates, evened residuals change places. Where no order within blocks changes a statistic, p is 1.
    """
    value = np.stack([cell.statistic.value(cell.obs) for cell in cells], axis=-1)
    if cells[0].obs.given is not None:
        even = {obs: obs.evened() for obs in {cell.obs for cell in cells}}
        cells = [Cell(even[cell.obs], cell.statistic) for cell in cells]
    n, within = cells[0].obs.n, None if blocks is None else block_orders(blocks)
    lanes, separate = max(LANES, 8 * threads.BLOCK // n), cells[0].obs.separate

    def draw(start: int, stop: int, which: np.ndarray) -> np.ndarray:  # -> (B, s), or of some columns (B, c, S)
        found = np.empty((stop - start, len(which), *[len(cells)] * separate))
        for part, made in order_batches(seed, n, start, stop, blocks):
            if not separate:
                found[part] = evaluate([cells[index] for index in which], made)
                continue
            for (place, cell), first in product(enumerate(cells), range(0, len(which), lanes)):
                some = cell.obs.columns(which[first : first + lanes])
                found[part, first : first + lanes, place] = cell.statistic.permuted(some, made)
        return found

    def counted(which: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        some, found = [cells[index] for index in which], within
        values = some[0].obs.values  # snapshots are permuted together: those of a family are not counted
        if blocks is None and all(np.array_equal(one.obs.values, values) for one in some):
            found = arrangements(values, np.unique(np.concatenate([one.obs.pairs.nodes for one in some])))
        if found is None:
            return None
        made, weights = evaluate(some, found[0], arranged=True), found[1]
        if blocks is not None:  # no order of evened residuals is the observed one, which counts too: p is above 0
            made = np.vstack([value[which], made])
            weights = np.full(len(made), 1 / len(made))
        return made, weights

    if separate:
        jumps = np.stack([likeness.largest_pair(cell.obs) for cell in cells], axis=-1)
        chance = run_columns(value, draw, at, jumps=jumps)
    else:
        chance = run_family(value, draw, at, n, counted, columns)
    if blocks is not None:
        fixed = (chance.high - chance.low <= TIE) & np.isfinite(chance.p)
        chance.p[fixed] = chance.p_family[fixed] = 1.0
        chance.near_level[fixed] = False
    return chance


def evaluate(cells: Sequence[Cell], made: np.ndarray, arranged: bool = False) -> np.ndarray:
    """Statistics of cells under orders ``(B, n) -> (B, S)``; those of one observation permute it once.

    Rows of arrangements are no permutations: sums over inner products of wide vectors do not take them.
    """
    found = np.empty((len(made), len(cells)))
    for obs, group in groupby(range(len(cells)), key=lambda at: cells[at].obs):
        members = list(group)
        if len(members) == 1 and not (arranged and likeness.is_wide(obs)):
            found[:, members[0]] = cells[members[0]].statistic.permuted(obs, made)
            continue
        for part in threads.slices(len(made), obs.values.size):
            ends = moved(obs, made[part])
            for at in members:
                found[part, at] = cells[at].statistic.of(obs, ends)
    return found


def alike(tail: Any) -> np.ndarray:
    return np.where(np.asarray(tail) > 0, "alike", "unlike")


def verdicts(
    p: Any, tail: Any, p_given: Any, tail_given: Any, given: str, sides: tuple[Any, Any] | None = None
) -> np.ndarray:
    """One word for two tests at the level; ``given`` names the covariates of the second one, where there is one.

    ``sides`` are the words of both tests where they reject, by default alike and unlike.
    """
    p, tail, p_given, tail_given = map(np.asarray, (p, tail, p_given, tail_given))
    first, second = p <= LEVEL, p_given <= LEVEL  # NaN does not reject
    side, side_given = sides or (alike(tail), alike(tail_given))
    both = first & second
    conditions = [np.isnan(p), both & (tail == tail_given) if given else first, both, first, second]
    only = np.char.add(side_given, f" only given {given}")
    words = ["not tested", side, f"reversed given {given}", f"not beyond {given}", only]
    return np.select(conditions, words, "chance")


class Results:
    """The tests of a reading: arrays (S, T, C, H) of S statistics, r first; NaN where no test was made.

    ``plain`` are those against permutation, ``conditional`` those given covariates, ``both`` the two. ``facts`` has
    participation, the share between parts and Moran's I (T, C, H), ``q`` the false discovery rates of both tests.
    Shares are tested where they are wanted and can be had; ``left_out`` says what was not.
    """

    def __init__(self, reading: Reading, given: Any, draws: int | None, seed: int, with_shares: bool = False) -> None:
        n = reading.strat.graph.n_nodes
        # Columns that share their nodes, and so their orders.
        numbers = [at for at, one in enumerate(reading.columns) if one.kind == "numbers" and len(one.rows) == n]
        many = numbers if len(numbers) > MANY and reading.separate else []
        self.at, self.seed = looks(n, draws), seed
        if draws is None and n <= SMALL_NODES and not many:
            self.at = self.at[-1:]
        self.covariates = read_given(given, reading.strat, reading.table)
        self.given = self.covariates.name  # "degree", "covariates" or ""
        self.reading, self.with_shares = reading, with_shares
        shape = (len(STATISTICS), len(reading.columns[0].values), len(reading.columns), len(reading.hops))
        self.plain, self.conditional = self.both = Chance.unknown(shape), Chance.unknown(shape)
        self.left_out = ""
        self.facts = {name: np.full(shape[1:], np.nan) for name in ("participation", "between_parts", "moran")}
        self.complete = np.zeros(shape[2:], dtype=bool)
        self.n_pairs, self.status = np.zeros(shape[2:], dtype=np.int64), np.full(shape[1:], "ok", dtype=object)
        if many:
            self._many_columns(many)
        together = set(many)
        for index, column in enumerate(reading.columns):
            pairs = reading.pairs(column)
            self.n_pairs[index] = [len(one.ends) for one in pairs]
            self.complete[index] = [one.is_complete for one in pairs]
            if index not in together:
                self._one_column(index, column, pairs)
            self._describe(index, column, pairs)
        for one in self.both:  # the same in every order is no test
            one.p[0][:, self.complete] = one.p_family[0][:, self.complete] = np.nan
        self.q = tuple(one.over_columns(n, axis=2) for one in self.both)
        self.draws = int(self.plain.draws.max(initial=0))  # the most behind any p
        # Corrected p that verdicts rest on: q where columns are tested one by one.
        self.decides = self.q if reading.separate else tuple(one.p_family for one in self.both)

    def verdicts(self) -> np.ndarray:
        """The words of all tests as tests of r, ``(S, T, C, H)``."""
        words = verdicts(self.decides[0], self.plain.tail, self.decides[1], self.conditional.tail, self.given)
        return np.where(np.isnan(self.plain.value), "undefined", np.where(self.complete, "not tested", words))

    def _one_column(self, index: int, column: Column, pairs: list[Pairs]) -> None:
        cells = {}
        for t, h in np.ndindex(len(column.values), len(pairs)):
            if not len(pairs[h].ends):
                continue
            obs = column.observed(t, pairs[h])
            self._note(obs, t, index, h)
            for statistic in (Likeness(), *(shares(pairs[h]) if self.with_shares else ())):
                cells[STATISTICS.index(statistic.name), t, index, h] = Cell(obs, statistic)
        if self.with_shares and pairs[0].stratum.n_nodes > MOST_NODES:
            self.left_out = f"Scale (smooth, rough, main divide) is not tested above {MOST_NODES:,} nodes."
            for (_, t, _, h), cell in cells.items():
                if h == 0:
                    for name, share in described(cell.obs, self.reading.strat).items():
                        self.plain.value[STATISTICS.index(name), t, index, h] = share
        forms = ((cell.statistic, cell.obs.width) for cell in cells.values())
        work = 2.0 * sum(one.form.size * width for one, width in forms if isinstance(one, Share))
        if self.with_shares and self.at and work * self.at[0] > SHARE_WORK:
            self.left_out = "Scale is described without p: its permutations would take long at this size."
            for place in [place for place in cells if place[0]]:
                cell = cells.pop(place)
                self.plain.value[place] = cell.statistic.value(cell.obs)
        if cells:
            own = self.covariates.of(column.rows)
            columns = len(self.reading.columns) if not self.at or work * self.at[-1] <= SECOND_WORK else 1
            self._test(tuple(np.array(list(cells)).T), list(cells.values()), own, columns)

    def _many_columns(self, which: list[int]) -> None:
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
            self._test((0, slice(None), some), cells, self.covariates)

    def _test(self, where: Any, cells: Sequence[Cell], covariates: Covariates, columns: int = 1) -> None:
        for all_tests, own in zip(self.both, run_tests(cells, covariates, self.at, self.seed, columns), strict=True):
            all_tests.place(where, own)

    def _note(self, obs: Observation, t: int, index: Any, h: int) -> None:
        self.facts["participation"][t, index, h] = likeness.participation_ratio(obs)
        self.facts["between_parts"][t, index, h] = between_parts(obs)
        if obs.separate or obs.width == 1:
            self.facts["moran"][t, index, h] = likeness.moran(obs)

    def _describe(self, index: int, column: Column, pairs: list[Pairs]) -> None:
        """Say why r is undefined, where covariates leave nothing, or what makes a hop weak evidence."""
        value, value_given = (one.value[0, :, index] for one in self.both)
        same, same_given = ((one.high - one.low)[0, :, index] <= TIE for one in self.both)
        fixed = same_given & ~same  # covariates leave r the same in every order
        for t, h in np.ndindex(value.shape):
            why, remark = "", pairs[h].remark
            if np.isnan(value[t, h]):
                why, remark = NO_VARIANCE if len(pairs[h].ends) else "no pair of labelled nodes", ""
            elif pairs[h].is_complete:
                why = "r same in every order"
            elif self.given and self.at and np.isnan(value_given[t, h]):
                why = self.covariates.of(column.rows).why_untested(pairs[h].stratum.relative_degrees)
            elif fixed[t, h]:
                why = "r given is the same in every order"
            self.status[t, index, h] = "; ".join(filter(None, [why, remark])) or "ok"
