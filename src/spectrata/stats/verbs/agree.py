"""Agreement of two maps beyond their smoothness."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from typing import Any

import numpy as np
import xarray as xr

from spectrata.core.bases.basis import EigenBasis
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError, SignalTypeError, argument
from spectrata.inputs.numbers import one_of, whole
from spectrata.inputs.readers.objects import is_anndata
from spectrata.stats.labelled import labelled
from spectrata.stats.nulls.correction import over_columns
from spectrata.stats.nulls.given import EXPLAINED, CovariateBasis, Covariates, read_given
from spectrata.stats.nulls.orders import orders
from spectrata.stats.nulls.stopping import LEVEL, MANY, Chance, looks, run_columns, run_family
from spectrata.stats.nulls.surrogates import LEAST_EFFECTIVE, Surrogates
from spectrata.stats.observation import NO_VARIANCE, Pairs, pairs_of
from spectrata.stats.statistics.agreement import Agreement, same_node
from spectrata.stats.verbs.hops import at_hops
from spectrata.stats.verbs.reading import Reading, read, with_attributes
from spectrata.stats.verbs.write_back import said_given, write_back

MOST_NODES = 4_000  # above which no eigenbasis is made, and r has no p
BASES = ("combinatorial", "random_walk")
TOO_SMOOTH = "too smooth to judge"
CONSTANT = "constant on connected parts, which is not tested"
NOT_TESTED = f"not tested above {MOST_NODES:,} nodes"
LONG_NAMES = {
    "r": "correlation of the two signals at the two ends of a pair; at hop 0, of the same node",
    "verdict": "agree, opposite, chance, how the two tests differ at the level .05, too smooth to judge, or not tested",
    "chance_low": "2.5 % quantile of r under the nulls, the lowest of them",
    "chance_high": "97.5 % quantile of r under the nulls, the highest of them",
}
BATCH = 2**22  # numbers of a batch of surrogates
COLUMNS_AT_ONCE = 2_000  # whose correlations with all surrogates are kept
Draw = Callable[[int, int], np.ndarray]  # start, stop -> (n, d, stop - start)


def agree(
    graph: Any,
    a: Any,
    b: Any,
    hops: int | Iterable[int] | None = 1,
    *,
    columns: str = "auto",
    metric: str = "auto",
    weights: Any = None,
    null: str = "spectral",
    given: Any = "degree",
    draws: int | None = None,
    seed: int = 0,
    write: bool = False,
) -> xr.Dataset:
    r"""Test whether two signals on a graph agree beyond what their smoothness explains.

    .. math:: r_K(a, b) = \frac{\sum_{ij} W_{ij} \langle a_i - \mu_a, b_j - \mu_b\rangle}
       {\sqrt{\sum_i k_i \|a_i - \mu_a\|^2 \, \sum_i k_i \|b_i - \mu_b\|^2}}

    over pairs at hop K, with their number (or weight) k per node and the means over ends of pairs. Hop 0 has the
    plain correlation. Independent smooth maps correlate strongly by chance; the surrogates of the null are as smooth
    as the signals.

    Parameters
    ----------
    graph : graph-like, path or Stratification
    a, b : array, mapping, DataFrame, DataArray, tensor or path
        Two signals, or a table and one signal: every column of the table is compared with the signal. Vectors need
        the same columns in the same coordinates.
    hops, columns, metric, weights
        As for :func:`spectrata.correlogram`; hop 0 is always there.
    null : {"spectral", "permutation"}
        "permutation" ignores smoothness.
    given
        As for :func:`spectrata.correlogram`: the second test compares what a linear model of the covariates leaves of
        a and of b. Counts of genes need their total per cell, ``given=["degree", "total_counts"]``.
    draws : int, optional
        Surrogates; by default 999, and 9,999 where p is near .05. With 0 there is no p.
    seed : int
    write : bool
        Put the result into the AnnData, too: ``adata.var["spectrata_agree_r"]`` and so on where every gene is compared
        with ``b``, and all in ``adata.uns``.

    Returns
    -------
    xarray.Dataset
        Over ``([column,] hop)``: ``r``; ``p``; ``p_family``, corrected over hops; ``r_given``, ``p_given``,
        ``p_family_given``; ``q`` and ``q_given`` over columns; ``verdict``, by q for a table and by p_family otherwise;
        ``near_level``; ``chance_low`` and ``chance_high``; ``n_pairs``; ``status``. Verdicts are "agree" and "opposite"
        where both tests reject in the same tail, "not beyond degree", "agree only given degree", "chance", "too smooth
        to judge". The attribute ``effective`` has the smallest effective number of components, ``draws`` the most
        surrogates behind any p.

    Notes
    -----
    Surrogates have random signs on the signal's coefficients in an eigenbasis of hop 1, and random rotations inside
    an eigenspace [1]_. p is the largest of four: surrogates of a and of b, in the combinatorial and in the
    random-walk basis; with a table, of the one signal. A signal with fewer than 2 effective components (participation
    ratio of its energies) is too smooth to judge. What is constant on connected parts is the same in all surrogates:
    a difference between parts is part of r and is not tested. Above 4,000 nodes r has no p.

    Given covariates, surrogates of the residuals are multiplied by I - H again. On three graphs with three kinds of
    smooth maps (100 pairs each), both tests reject for 1 to 4 % of independent pairs and for 1 to 6 % of pairs that
    share a covariate alone; of the pairs with a common part that the first test finds, the second keeps 97 to 100 %.

    References
    ----------
    .. [1] Wagner, Dray: Generating spatially constrained null models for irregularly spaced data using Moran spectral
       randomization methods, Methods in Ecology and Evolution 6, 2015.

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> graph = nx.grid_2d_graph(8, 8)
    >>> rough = np.random.default_rng(0).normal(size=64)
    >>> found = st.agree(graph, rough, rough + np.random.default_rng(1).normal(size=64))
    >>> found["r"].values.round(2).tolist(), found["verdict"].values.tolist()
    ([0.72, 0.08], ['agree', 'chance'])
    """
    one_of(null, "null", ("spectral", "permutation"))
    strat, seed = at_hops(graph, hops, weights), whole(seed, "seed", 0)
    strat = with_attributes(strat, a, b)
    compared = _read(strat, a, b, columns, metric)
    covariates = read_given(given, strat, compared.reading.table)
    table, name = compared.reading.separate, "" if covariates is None else covariates.name
    at = looks(strat.graph.n_nodes, draws)
    ends = [same_node(strat.graph.n_nodes), *(pairs_of(strat, hop) for hop in strat.hops)]
    free = _test([Part(compared, tuple(range(len(ends))))], ends, null, at, seed, strat)
    notes, status = [compared.reading.note, *free.notes], free.status
    held = NullTest.unknown(free.value.shape)
    if covariates is not None:
        held = _test(_parts(compared, ends, covariates), ends, null, at, seed, strat, covariates.blocks)
        notes.append(covariates.note)
        status = _joint_status(free.status, held.status, covariates, ends)
    q, q_given = (over_columns(one.chance.p_family) for one in (free, held))
    if len(q) > 1:
        for one, found in ((free, q), (held, q_given)):
            one.chance.near_level[:] = one.chance.near_by_q(found, strat.graph.n_nodes)
    decides = (q, q_given) if table else (free.chance.p_family, held.chance.p_family)
    arrays = {"r": free.value, "p": free.chance.p, "p_family": free.chance.p_family}
    arrays |= {"r_given": held.value, "p_given": held.chance.p, "p_family_given": held.chance.p_family}
    arrays |= {"q": q, "q_given": q_given} if table else {}
    arrays |= {"verdict": _verdicts(free, held, *decides, name)}
    arrays |= {"near_level": free.chance.near_level | held.chance.near_level}
    arrays |= {"chance_low": free.chance.low, "chance_high": free.chance.high, "status": status.astype(str)}
    by_number = all(isinstance(hop, (int, np.integer)) for hop in strat.hops)
    coords = {"hop": [0 if by_number else "0", *strat.hops], "n_pairs": ("hop", [len(one.ends) for one in ends])}
    facts: dict[str, Any] = {"kind": "agree", "null": null, "given": name, "seed": seed}
    facts |= {"draws": int(free.chance.draws.max(initial=0)), "note": " ".join(dict.fromkeys(filter(None, notes)))}
    if free.effective is not None:
        facts["effective"] = free.effective
    every = {key: np.asarray(array)[None] for key, array in arrays.items()}
    ds = labelled(compared.reading, every, ("hop",), coords, LONG_NAMES, facts)
    if write:
        write_back(graph, ds, "agree", a if is_anndata(a) else b, {"given": said_given(given)})
    return ds


# ---- signals


@dataclass(frozen=True, eq=False)
class Compared:
    """One signal ``(n, d, 1)`` and those it is compared with ``(n, d, C)``, of a table where they are separate."""

    one: np.ndarray
    many: np.ndarray
    rounding: float
    reading: Reading  # of the many


def _read(strat: Stratification, a: Any, b: Any, columns: str, metric: str) -> Compared:
    """Both signals; the table, where there is one, becomes the many."""
    first, second = (read(strat, signal, metric=metric, columns=columns) for signal in (a, b))
    for name, reading in (("a", first), ("b", second)):
        if len(reading.columns[0].values) > 1:
            raise SignalTypeError(f"{name} has {len(reading.columns[0].values)} snapshots; give one of them.")
        if any(column.kind == "labels" for column in reading.columns):
            raise SignalTypeError(f"{name} has labels; agree compares numbers or vectors.")
    tables = [len(reading.columns) > 1 for reading in (first, second)]
    if all(tables):
        joint = argument("columns", "joint")
        raise OptionError(f"a and b are tables; compare a table with one signal, or use {joint} for vectors.")
    if tables[0]:
        first, second = second, first
    pairs = pairs_of(strat, strat.hops[0])
    one, *others = (column.observed(0, pairs) for column in (first.columns[0], *second.columns))
    if one.width != others[0].width:
        words = f"The signals have {one.width} and {others[0].width} columns; vectors need the same columns."
        raise SignalTypeError(f"{words} {argument('columns', 'separate')} compares every column with one signal.")
    # A constant signal is 0 throughout, whatever its rounding; it must not decide over the other columns.
    error = max((float(obs.rounding) for obs in (one, *others) if obs.rounding < 1), default=0.0)
    many = np.stack([obs.values for obs in others], axis=2)
    return Compared(one.values[:, :, None], many, error, replace(second, separate=any(tables), snapshots=None))


def _is_flat(many: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Which signals ``(n, d, C)`` are constant on every connected part, shape (C,)."""
    sums = np.zeros((parts.max() + 1, *many.shape[1:]))
    np.add.at(sums, parts, many)
    means = sums / np.bincount(parts)[:, None, None]
    return np.abs(many - means[parts]).max(axis=(0, 1)) <= 1e-12


# ---- nulls


@dataclass(frozen=True, eq=False)
class Part:
    """The signals as they are tested at some hops: as given, or what the covariates of these hops leave of them."""

    signals: Compared
    hops: tuple[int, ...]  # their places among all hops
    given: CovariateBasis | None = None


@dataclass(frozen=True, eq=False)
class NullTest:
    """r of every column and hop, arrays (C, H), and its chance."""

    value: np.ndarray
    status: np.ndarray
    chance: Chance
    effective: float | None = None  # smallest effective number of components; None where it plays no part
    notes: tuple[str, ...] = ()

    @classmethod
    def unknown(cls, shape: tuple[int, ...]) -> "NullTest":
        return cls(np.full(shape, np.nan), np.full(shape, "ok", dtype=object), Chance.unknown(shape))


def _parts(compared: Compared, ends: Sequence[Pairs], covariates: Covariates) -> list[Part]:
    """What the covariates leave of both signals; hops whose participation adds nothing to them share one part."""
    n = len(compared.one)
    common, own = covariates.at(np.zeros(n)), [covariates.at(one.participation) for one in ends]
    shared = tuple(at for at, one in enumerate(own) if one.basis.shape[1] == common.basis.shape[1])
    groups = [(shared, common)] * bool(shared) + [((at,), one) for at, one in enumerate(own) if at not in shared]

    def residual(values: np.ndarray, basis: CovariateBasis) -> np.ndarray:
        return basis.residual(values.reshape(n, -1)).reshape(values.shape)

    return [
        Part(
            replace(
                compared,
                one=residual(compared.one, basis),
                many=residual(compared.many, basis),
                rounding=max(compared.rounding, EXPLAINED),
            ),
            hops,
            basis,
        )
        for hops, basis in groups
    ]


def _test(
    parts: Sequence[Part],
    ends: Sequence[Pairs],
    null: str,
    at: tuple[int, ...],
    seed: int,
    strat: Stratification,
    blocks: np.ndarray | None = None,
) -> NullTest:
    """Test the signals of all parts against one null, which draws the same signs or orders for all of them."""
    n, table = strat.graph.n_nodes, parts[0].signals.reading.separate
    value = np.full((parts[0].signals.many.shape[2], len(ends)), np.nan)
    for part in parts:
        for hop in part.hops:
            own = Agreement(ends[hop], part.signals.many, part.signals.rounding)
            value[:, hop] = own.of(part.signals.one)[0]
    status = np.where(np.isnan(value), NO_VARIANCE, "ok").astype(object)
    sources: list[list[Source]] = []  # of every null, the parts
    notes, effective = [], None
    if null == "permutation":
        sources = [[Source(part, partial(_permuted, part.signals.one, seed, blocks)) for part in parts]]
    elif n > MOST_NODES:
        status[status == "ok"] = NOT_TESTED
        notes.append(f"Above {MOST_NODES:,} nodes r has no p.")
    else:
        near = strat if strat.hops[0] == 1 or not isinstance(strat.hops[0], int) else Stratification(strat.graph, 1)
        bases = [near.basis(near.hops[0], name) for name in BASES]
        first = near.strata.at(near.hops[0])
        by_part = [_surrogates(part, bases, seed, both=not table) for part in parts]
        sources = [list(one) for one in zip(*by_part, strict=True)]
        for part, made in zip(parts, by_part, strict=True):
            least = min(source.effective for source in made)
            effective = least if effective is None else min(effective, least)
            places = np.isin(np.arange(len(ends)), part.hops)[None] & (status == "ok")
            if least < LEAST_EFFECTIVE:
                status[places] = TOO_SMOOTH if least > 0 else CONSTANT
            status[places & _is_flat(part.signals.many, first.parts)[:, None]] = CONSTANT
        notes += ["What is constant on connected parts is not tested."] if first.n_parts > 1 else []
    tested = np.where(status == "ok", value, np.nan)
    if not at or np.isnan(tested).all():
        sources = []
    chance = _largest([_chance(parted, ends, tested, at) for parted in sources], value.shape)
    return NullTest(value, status, chance, effective, tuple(notes))


@dataclass(frozen=True, eq=False)
class Source:
    """Signals drawn under a null, to be compared with ``fixed`` at the hops of one part."""

    part: Part
    draw: Draw
    moves_many: bool = False  # whether what is drawn stands for b, so that a stays
    effective: float = np.inf  # components of the signal that is drawn

    def agreements(self, ends: Sequence[Pairs], columns: slice) -> list[Agreement]:
        """One for each hop of the part, with some of the columns."""
        signals = self.part.signals
        fixed = signals.one if self.moves_many else signals.many[:, :, columns]
        return [Agreement(ends[hop], fixed, signals.rounding, self.part.given) for hop in self.part.hops]


def _permuted(one: np.ndarray, seed: int, blocks: np.ndarray | None, start: int, stop: int) -> np.ndarray:
    return np.moveaxis(one[..., 0][orders(seed, len(one), start, stop, blocks)], 0, 2)


def _surrogates(part: Part, bases: Sequence[EigenBasis], seed: int, both: bool) -> list[Source]:
    """Surrogates of a, and with ``both`` of b, in every basis."""
    found = []
    for at, basis in enumerate(bases):
        for side, moving in enumerate([part.signals.one, part.signals.many][: 1 + both]):
            made = Surrogates(basis, moving[:, :, 0], seed, 2 * side + at)
            found.append(Source(part, made.draw, bool(side), made.effective))
    return found


def _chance(sources: Sequence[Source], ends: Sequence[Pairs], observed: np.ndarray, at: tuple[int, ...]) -> Chance:
    """Chance under one null for every column and hop, arrays (C, H): a family of hops for each column."""

    def of(drawn: Draw, column: Any, start: int, stop: int, which: np.ndarray) -> np.ndarray:
        return drawn(start, stop)[:, column][:, which]

    found, n = Chance.unknown(observed.shape), len(sources[0].part.signals.one)
    for first in range(0, len(observed), COLUMNS_AT_ONCE):
        some = slice(first, first + COLUMNS_AT_ONCE)
        drawn = cache(partial(_correlations, [(one, one.agreements(ends, some)) for one in sources]))
        if len(observed) > MANY:
            found.place(some, run_columns(observed[some], partial(of, drawn, slice(None)), at))
            continue
        for column, own in enumerate(observed):
            found.place(column, run_family(own, partial(of, drawn, column), at, n, columns=len(observed)))
    return found


def _correlations(sources: Sequence[tuple[Source, list[Agreement]]], start: int, stop: int) -> np.ndarray:
    """Correlations of drawn signals with some columns at every hop, ``(B, C, H)``."""
    columns, n_hops = sources[0][1][0].form.shape[1], sum(len(source.part.hops) for source, _ in sources)
    found = np.empty((stop - start, columns, n_hops))
    for source, agreements in sources:
        step = max(32, BATCH // len(agreements[0].form) // 32 * 32)
        for begin in range(start, stop, step):
            moving = source.draw(begin, min(begin + step, stop))
            for hop, one in zip(source.part.hops, agreements, strict=True):
                found[begin - start : begin - start + step, :, hop] = one.of(moving)
    return found


def _largest(chances: Sequence[Chance], shape: tuple[int, ...]) -> Chance:
    """Of several nulls the largest p, with its draws, and the widest interval.

    Near the level is where the decision of all is.
    """
    if not chances:
        return Chance.unknown(shape)
    every = {field.name: np.stack([getattr(one, field.name) for one in chances]) for field in fields(Chance)}
    clear, tail = (every["p_family"] > LEVEL) & ~every["near_level"], every["tail"]
    found = {name: every[name].max(axis=0) for name in ("value", "p", "p_family", "high", "family_draws", "by_tail")}
    deciding = np.argmax(np.nan_to_num(every["p"]), axis=0)[None]
    found["draws"] = np.take_along_axis(every["draws"], deciding, axis=0)[0]
    found["tail"] = np.where((tail == tail[0]).all(axis=0), tail[0], 0)
    found["near_level"] = every["near_level"].any(axis=0) & ~clear.any(axis=0)
    return Chance(low=every["low"].min(axis=0), **found)


# ---- result


def _joint_status(free: np.ndarray, held: np.ndarray, covariates: Covariates, ends: Sequence[Pairs]) -> np.ndarray:
    """The status of the test without covariates, and where that is ok, of the test given them."""
    why = np.array([covariates.why_untested(one.participation) for one in ends], dtype=object)
    beyond = np.where(held == NO_VARIANCE, why[None], held + f" given {covariates.name}")
    return np.where((free == "ok") & (held != "ok"), beyond, free)


def _verdicts(free: NullTest, held: NullTest, decides: np.ndarray, decides_given: np.ndarray, given: str) -> np.ndarray:
    """One word for two tests at the level; without the name of covariates there is one test."""
    first, second = decides <= LEVEL, decides_given <= LEVEL  # NaN does not reject
    word, word_given = _words(free, first), _words(held, second)
    same = free.chance.tail == held.chance.tail
    words: list[tuple[np.ndarray, Any]] = [
        (np.isnan(decides), np.where(free.status == TOO_SMOOTH, TOO_SMOOTH, "not tested")),
        (first & second & same if given else first, word),
        (first & second, f"reversed given {given}"),
        (first, f"not beyond {given}"),
        (second, np.char.add(word_given, f" only given {given}")),
    ]
    return np.select([when for when, _ in words], [np.asarray(one).astype(str) for _, one in words], "chance")


def _words(test: NullTest, rejects: np.ndarray) -> np.ndarray:
    above = np.where(test.value > 0, "agree", "less opposite than chance")
    below = np.where(test.value < 0, "opposite", "agree less than chance")
    tail = np.where(rejects, test.chance.tail, 0)
    return np.where(tail > 0, above, np.where(tail < 0, below, "chance")).astype(str)
