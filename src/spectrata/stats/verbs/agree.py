"""Agreement of two maps beyond their smoothness."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
import xarray as xr

from spectrata.core.bases.basis import EigenBasis
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError, SignalTypeError, argument
from spectrata.inputs.numbers import one_of, whole
from spectrata.inputs.readers.objects import is_anndata
from spectrata.inputs.signals import aligned
from spectrata.stats.labelled import labelled, of_tests
from spectrata.stats.nulls.given import EXPLAINED, Covariates, is_by_number, read_given, residual
from spectrata.stats.nulls.orders import orders
from spectrata.stats.nulls.stopping import LEVEL, MANY, Chance, looks, run_columns, run_family
from spectrata.stats.nulls.surrogates import CHUNK, LEAST_EFFECTIVE, Surrogates
from spectrata.stats.observation import NO_VARIANCE, Pairs, pairs_of
from spectrata.stats.statistics.likeness import Agreement, same_node
from spectrata.stats.statistics.shares import MOST_NODES
from spectrata.stats.testing import verdicts
from spectrata.stats.verbs.reading import Reading, read, stratify, with_attributes
from spectrata.stats.verbs.write_back import said_given, write_back

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
SAME = 1e-12  # values, whose largest is 1, that differ by less are equal
BATCH = 2**22  # numbers of a batch of surrogates
COLUMNS_AT_ONCE = 2_000  # whose correlations with all surrogates are kept


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

    over pairs at hop K, with their number (or weight) k per node and the means over ends of pairs; at hop 0 the plain
    correlation. Independent smooth maps correlate strongly by chance; surrogates are as smooth as the signals.

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
        The variables of :func:`spectrata.correlogram` that are made of r, over ``([column,] hop)``. ``verdict``, by q
        for a table and by p_family otherwise: "agree" and "opposite" where both tests reject in the same tail, "not
        beyond degree", "agree only given degree", "chance", "too smooth to judge". The attribute ``effective`` has the
        smallest effective number of components, ``draws`` the most surrogates behind any p.

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
    strat, seed = with_attributes(stratify(graph, hops, weights), a, b), whole(seed, "seed", 0)
    n, at = strat.graph.n_nodes, looks(strat.graph.n_nodes, draws)
    signals, reading = _read(strat, a, b, columns, metric)
    covariates, table = read_given(given, strat, reading.table), reading.separate
    ends = [same_node(n), *(pairs_of(strat, hop) for hop in strat.hops)]
    near = strat if strat.hops[0] == 1 or not is_by_number(strat) else Stratification(strat.graph, 1)
    test = partial(_test, ends, null, at, seed, near, table)
    plain, status, effective = test([signals])
    conditional, told = Chance.unknown(status.shape), status
    if covariates.name:
        conditional, beyond, _ = test(_parts(signals, ends, covariates), covariates.blocks)
        told = _joint_status(status, beyond, covariates, ends)
    q, q_given = (one.over_columns(n) for one in (plain, conditional))
    p, p_given = (q, q_given) if table else (plain.p_family, conditional.p_family)
    sides = _words(plain), _words(conditional)
    words = verdicts(p, plain.tail, p_given, conditional.tail, covariates.name, sides)
    words = np.where(np.isnan(p) & (status == TOO_SMOOTH), TOO_SMOOTH, words)
    arrays = of_tests(plain, conditional) | ({"q": q, "q_given": q_given} if table else {})
    arrays |= {"verdict": words, "status": told.astype(str)}
    coords = {"hop": [0 if is_by_number(strat) else "0", *strat.hops], "n_pairs": ("hop", [len(o.ends) for o in ends])}
    notes = [reading.note]
    if null == "spectral" and n > MOST_NODES:
        notes.append(f"Above {MOST_NODES:,} nodes r has no p.")
    elif null == "spectral" and near.strata.at(near.hops[0]).n_parts > 1:
        notes.append("What is constant on connected parts is not tested.")
    note = " ".join(filter(None, [*notes, covariates.note]))
    facts: dict[str, Any] = {"kind": "agree", "null": null, "given": covariates.name, "seed": seed}
    facts |= {"draws": int(plain.draws.max(initial=0)), "note": note}
    facts |= {"effective": effective} if np.isfinite(effective) else {}
    every = {name: np.asarray(array)[None] for name, array in arrays.items()}
    ds = labelled(reading, every, ("hop",), coords, LONG_NAMES, facts)
    if write:
        write_back(graph, ds, "agree", a if is_anndata(a) else b, {"given": said_given(given)})
    return ds


@dataclass(frozen=True, eq=False)
class Signals:
    """One signal and C others that it is compared with at some hops: as given, or what covariates leave of them.

    Under a null the one is drawn, and the others stay.
    """

    one: np.ndarray  # (n, d, 1)
    many: np.ndarray  # (n, d, C)
    rounding: float
    hops: tuple[int, ...]  # their places among all hops
    given: np.ndarray | None = None
    draw: Any = None  # start, stop -> the one under a null, (n, d, stop - start)
    effective: float = np.inf  # components of the one

    def agreements(self, ends: Sequence[Pairs], columns: slice = slice(None)) -> dict[int, Agreement]:
        """At each of the hops the comparison with some of the others."""
        many = self.many[:, :, columns]
        return {hop: Agreement(ends[hop], many, self.rounding, self.given) for hop in self.hops}


def _read(strat: Stratification, a: Any, b: Any, columns: str, metric: str) -> tuple[Signals, Reading]:
    """Both signals at all hops; the table, where there is one, becomes the many, whose reading is returned."""
    first, second = (read(strat, signal, metric=metric, columns=columns, gaps=False) for signal in (a, b))
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
    if not any(tables):
        (column,), names = second.columns, [None if one.table is None else one.table.columns for one in (second, first)]
        second = replace(second, columns=(replace(column, values=aligned(column.values, *names)),))
    pairs = pairs_of(strat, strat.hops[0])
    one, *others = (column.observed(0, pairs) for column in (first.columns[0], *second.columns))
    if one.width != others[0].width:
        words = f"The signals have {one.width} and {others[0].width} columns; vectors need the same columns."
        raise SignalTypeError(f"{words} {argument('columns', 'separate')} compares every column with one signal.")
    # A constant signal is 0 throughout, whatever its rounding; it must not decide over the other columns.
    error = max((float(obs.rounding) for obs in (one, *others) if obs.rounding < 1), default=0.0)
    many = np.stack([obs.values for obs in others], axis=2)
    every = tuple(range(len(strat.hops) + 1))
    signals = Signals(one.values[:, :, None], many, error, every)
    return signals, replace(second, separate=any(tables), snapshots=None)


def _parts(signals: Signals, ends: Sequence[Pairs], covariates: Covariates) -> list[Signals]:
    """What the covariates leave of both signals; hops whose degrees add nothing to them share one part."""
    n = len(signals.one)
    common, own = covariates.at(np.zeros(n)), [covariates.at(one.stratum.relative_degrees) for one in ends]
    shared = tuple(at for at, one in enumerate(own) if one.shape[1] == common.shape[1])
    groups = [(shared, common)] * bool(shared) + [((at,), one) for at, one in enumerate(own) if at not in shared]
    error, found = max(signals.rounding, EXPLAINED), []
    for hops, basis in groups:
        one, many = (residual(basis, x.reshape(n, -1)).reshape(x.shape) for x in (signals.one, signals.many))
        found.append(Signals(one, many, error, hops, basis))
    return found


def _test(
    ends: Sequence[Pairs],
    null: str,
    at: tuple[int, ...],
    seed: int,
    near: Stratification,
    table: bool,
    parts: Sequence[Signals],
    blocks: np.ndarray | None = None,
) -> tuple[Chance, np.ndarray, float]:
    """r of every column and hop and its chance, arrays (C, H), its status, and the fewest effective components.

    The same signs or orders are drawn for all parts; surrogates are made on the first hop of ``near``.
    """
    value = np.full((parts[0].many.shape[2], len(ends)), np.nan)
    for part in parts:
        for hop, one in part.agreements(ends).items():
            value[:, hop] = one.of(part.one)[0]
    status = np.where(np.isnan(value), NO_VARIANCE, "ok").astype(object)
    smooth = null == "spectral" and near.graph.n_nodes <= MOST_NODES
    bases = [near.basis(near.hops[0], name) for name in BASES] if smooth else []
    if null == "permutation":
        drawn = [[replace(part, draw=partial(_permuted, part.one, seed, blocks))] for part in parts]
    else:
        drawn = [_surrogates(part, bases, seed, both=not table) for part in parts]
    if not drawn[0]:
        status[status == "ok"] = NOT_TESTED
    if smooth:
        connected = near.strata.at(near.hops[0]).parts
        one_node = np.unique(connected, return_index=True)[1][connected]  # of each node's part
        for part, sources in zip(parts, drawn, strict=True):
            least = min(source.effective for source in sources)
            here = np.isin(np.arange(len(ends)), part.hops)[None] & (status == "ok")
            if least < LEAST_EFFECTIVE:
                status[here] = TOO_SMOOTH if least > 0 else CONSTANT
            constant = np.abs(part.many - part.many[one_node]).max(axis=(0, 1)) <= SAME  # on every part, (C,)
            status[here & constant[:, None]] = CONSTANT
    tested = np.where(status == "ok", value, np.nan)
    nulls = zip(*drawn, strict=True) if at and np.isfinite(tested).any() else ()
    found = _largest([_chance(parts, ends, tested, at) for parts in nulls], value.shape)
    found.value[:] = value
    return found, status, min((source.effective for sources in drawn for source in sources), default=np.inf)


def _permuted(one: np.ndarray, seed: int, blocks: np.ndarray | None, start: int, stop: int) -> np.ndarray:
    return np.moveaxis(one[..., 0][orders(seed, len(one), start, stop, blocks)], 0, 2)


def _surrogates(signals: Signals, bases: Sequence[EigenBasis], seed: int, both: bool) -> list[Signals]:
    """Surrogates of a, and with ``both`` of b, in every basis."""
    found, sides = [], (signals, replace(signals, one=signals.many, many=signals.one))[: 1 + both]
    for (at, basis), (side, own) in product(enumerate(bases), enumerate(sides)):
        made = Surrogates(basis, own.one[:, :, 0], seed, 2 * side + at)
        found.append(replace(own, draw=made.draw, effective=made.effective))
    return found


def _chance(parts: Sequence[Signals], ends: Sequence[Pairs], observed: np.ndarray, at: tuple[int, ...]) -> Chance:
    """Chance under one null for every column and hop, arrays (C, H): a family of hops for each column."""

    def of(drawn: Any, column: Any, start: int, stop: int, which: np.ndarray) -> np.ndarray:
        return drawn(start, stop)[:, column][:, which]

    found, n = Chance.unknown(observed.shape), len(parts[0].one)
    for first in range(0, len(observed), COLUMNS_AT_ONCE):
        some = slice(first, first + COLUMNS_AT_ONCE)
        drawn = cache(partial(_correlations, parts, [one.agreements(ends, some) for one in parts]))
        if len(observed) > MANY:
            found.place(some, run_columns(observed[some], partial(of, drawn, slice(None)), at))
            continue
        for column, own in enumerate(observed):
            found.place(column, run_family(own, partial(of, drawn, column), at, n, columns=len(observed)))
    return found


def _correlations(parts: Sequence[Signals], known: Sequence[dict[int, Agreement]], start: int, stop: int) -> np.ndarray:
    """Correlations of drawn signals with some columns at every hop, ``(B, C, H)``."""
    by_hop: dict[int, list[np.ndarray]] = {}
    for part, agreements in zip(parts, known, strict=True):
        step = max(CHUNK, BATCH // part.one.size // CHUNK * CHUNK)
        for begin in range(start, stop, step):
            moving = part.draw(begin, min(begin + step, stop))
            for hop, one in agreements.items():
                by_hop.setdefault(hop, []).append(one.of(moving))
    return np.stack([np.concatenate(by_hop[hop]) for hop in sorted(by_hop)], axis=2)


def _largest(chances: Sequence[Chance], shape: tuple[int, ...]) -> Chance:
    """Of several nulls the largest p, with its draws, and the widest interval; near the level if their decision is."""
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


def _joint_status(status: np.ndarray, given: np.ndarray, covariates: Covariates, ends: Sequence[Pairs]) -> np.ndarray:
    """The status of the test without covariates, and where that is ok, of the test given them."""
    why = np.array([covariates.why_untested(one.stratum.relative_degrees) for one in ends], dtype=object)
    beyond = np.where(given == NO_VARIANCE, why[None], given + f" given {covariates.name}")
    return np.where((status == "ok") & (given != "ok"), beyond, status)


def _words(test: Chance) -> np.ndarray:
    """What to call each test if it rejects; "chance" where the nulls disagree on the tail."""
    above = np.where(test.value > 0, "agree", "less opposite than chance")
    below = np.where(test.value < 0, "opposite", "agree less than chance")
    return np.select([test.tail > 0, test.tail < 0], [above, below], "chance")
