"""Agreement of two maps beyond their smoothness."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError, SignalTypeError, argument
from spectrata.inputs.numbers import one_of, whole
from spectrata.stats.labelled import labelled
from spectrata.stats.nulls.columns import MANY, run_columns
from spectrata.stats.nulls.correction import over_columns
from spectrata.stats.nulls.orders import orders
from spectrata.stats.nulls.spectral import LEAST_EFFECTIVE, Surrogates
from spectrata.stats.nulls.stopping import LEVEL, Chance, joined, looks, run_family, stacked, unknown
from spectrata.stats.observation import pairs_of
from spectrata.stats.statistics.agreement import Agreement, Ends
from spectrata.stats.verbs.hops import at_hops
from spectrata.stats.verbs.reading import Reading, read
from spectrata.stats.verbs.write_back import write_back

if TYPE_CHECKING:
    import xarray as xr

MOST_NODES = 4_000  # above which no eigenbasis is made, and r has no p
BASES = ("combinatorial", "random_walk")
TOO_SMOOTH = "too smooth to judge"
CONSTANT = "constant on connected parts, which is not tested"
NO_VARIANCE = "no variance among nodes with a pair"
NOT_TESTED = f"not tested above {MOST_NODES:,} nodes"
LONG_NAMES = {
    "r": "correlation of the two signals at the two ends of a pair; at hop 0, of the same node",
    "p": "two-sided p of this hop, the largest over the nulls",
    "p_family": "p corrected over the hops, the largest over the nulls",
    "q": "q over columns",
    "verdict": "agree, opposite, chance, too smooth to judge, or not tested",
    "near_level": "whether the verdict could differ with more surrogates",
    "chance_low": "2.5 % quantile of r under the nulls, the lowest of them",
    "chance_high": "97.5 % quantile of r under the nulls, the highest of them",
    "n_pairs": "pairs of nodes at this hop distance; at hop 0, nodes",
    "status": "ok, or why there is no p",
}
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
    draws: int | None = None,
    seed: int = 0,
    write: bool = False,
) -> "xr.Dataset":
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
    hops : None, int or iterable of int
        As for :func:`spectrata.spectra`; hop 0 is always there.
    columns : {"auto", "joint", "separate"}
        How a table is read; "auto" reads a table with column names column by column, an array as vectors.
    metric : {"auto", "angular", "euclidean"}
        Of vectors, as for :func:`spectrata.spectra`.
    weights
        Edge weights, as for :func:`spectrata.spectra`.
    null : {"spectral", "permutation"}
        "permutation" ignores smoothness.
    draws : int, optional
        Surrogates; by default 999, and 9,999 where p is near .05. With 0 there is no p.
    seed : int
    write : bool
        Put the result into the AnnData, too: ``adata.var["spectrata_agree_r"]`` and so on where every gene is compared
        with ``b``, and all in ``adata.uns``.

    Returns
    -------
    xarray.Dataset
        Over ``([column,] hop)``: ``r``; ``p``; ``p_family``, corrected over hops; ``q`` over columns; ``verdict``
        ("agree", "opposite", "chance", "too smooth to judge"), by q for a table and by p_family otherwise;
        ``near_level``; ``chance_low`` and ``chance_high``; ``n_pairs``; ``status``. The attribute ``effective`` has the
        smallest effective number of components.

    Notes
    -----
    Surrogates have random signs on the signal's coefficients in an eigenbasis of hop 1, and random rotations inside
    an eigenspace [1]_. p is the largest of four: surrogates of a and of b, in the combinatorial and in the
    random-walk basis; with a table, of the one signal. A signal with fewer than 2 effective components (participation
    ratio of its energies) is too smooth to judge. What is constant on connected parts is the same in all surrogates:
    a difference between parts is part of r and is not tested. Above 4,000 nodes r has no p.

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
    compared = _read(strat, a, b, columns, metric)
    n = strat.graph.n_nodes
    at = looks(n, draws)
    ends = [Ends.same_node(n), *(Ends.of(pairs_of(strat, hop)) for hop in strat.hops)]
    value = np.column_stack([Agreement(one, compared.many, compared.rounding).of(compared.one)[0] for one in ends])
    status = np.where(np.isnan(value), NO_VARIANCE, "ok").astype(object)  # (C, H)
    effective, sources = np.nan, []
    if null == "permutation":
        sources = [(_permuted(compared.one, seed), compared.many)]
    elif n > MOST_NODES:
        status[status == "ok"] = NOT_TESTED
    else:
        effective, sources = _surrogates(strat, compared, seed)
        if effective < LEAST_EFFECTIVE:
            status[status == "ok"] = TOO_SMOOTH if effective > 0 else CONSTANT
        status[_is_flat(compared.many, strat.strata.at(strat.hops[0]).parts)] = CONSTANT
    tested = np.where(status == "ok", value, np.nan)
    if not at or np.isnan(tested).all():
        sources = []
    chances = [_chance(draw, many, ends, tested, compared.rounding, at) for draw, many in sources]
    found = _largest(chances, value.shape)
    q = over_columns(found.p_family)
    verdict = _words(value, found.p_family if compared.names is None else q, found.tail, status)
    numbers = {"r": value, "p": found.p, "p_family": found.p_family, "q": q, "verdict": verdict}
    numbers |= {"near_level": found.near_level, "chance_low": found.low, "chance_high": found.high}
    if compared.names is None:
        del numbers["q"]
    facts = {"kind": "agree", "null": null, "draws": max(at, default=0), "seed": seed}
    notes = [compared.reading.note] if compared.reading.note else []
    if effective is not np.nan:
        facts["effective"] = effective
    if null == "spectral" and n > MOST_NODES:
        notes.append(f"Above {MOST_NODES:,} nodes r has no p.")
    elif null == "spectral" and strat.strata.at(strat.hops[0]).n_parts > 1:
        notes.append("What is constant on connected parts is not tested.")
    by_number = all(isinstance(hop, (int, np.integer)) for hop in strat.hops)
    labels = [one.hop if by_number else str(one.hop) for one in ends]
    coords = {"hop": labels, "n_pairs": ("hop", [one.n_pairs for one in ends])}
    arrays = {name: np.asarray(array)[None] for name, array in (numbers | {"status": status.astype(str)}).items()}
    facts["note"] = " ".join(notes)
    ds = labelled(compared.reading, arrays, ("hop",), coords, LONG_NAMES, facts)
    if write:
        write_back(graph, ds, "agree")
    return ds


# ---- signals


@dataclass(frozen=True, eq=False)
class Compared:
    """One signal ``(n, d, 1)`` and those it is compared with ``(n, d, C)``; ``names`` of the columns of a table."""

    one: np.ndarray
    many: np.ndarray
    names: tuple[Any, ...] | None
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
        raise OptionError(
            f"a and b are tables; compare a table with one signal, or use {argument('columns', 'joint')} for vectors."
        )
    if tables[0]:
        first, second = second, first
    one, rounding = _values(strat, first, 0)
    found = [_values(strat, second, at) for at in range(len(second.columns))]
    many = np.stack([values for values, _ in found], axis=2)
    if many.shape[1] != one.shape[1]:
        widths = f"{one.shape[1]} and {many.shape[1]}"
        raise SignalTypeError(
            f"The signals have {widths} columns; vectors need the same columns. "
            f"{argument('columns', 'separate')} compares every "
            "column of a table with one signal."
        )
    names = tuple(column.name for column in second.columns) if any(tables) else None
    # A constant signal is 0 throughout, whatever its rounding; it must not decide over the other columns.
    error = max((error for error in (rounding, *(other for _, other in found)) if error < 1), default=0.0)
    second = replace(second, separate=any(tables), snapshots=None)
    return Compared(one[:, :, None], many, names, error, second)


def _values(strat: Stratification, reading: Reading, at: int) -> tuple[np.ndarray, float]:
    """One column ``(n, d)``, centred, with the largest entry 1, and the rounding of its differences."""
    obs = reading.columns[at].observed(0, pairs_of(strat, strat.hops[0]))
    return obs.values, float(obs.rounding)


def _is_flat(many: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Which signals ``(n, d, C)`` are constant on every connected part, shape (C,)."""
    sizes = np.bincount(parts)
    flat = many.reshape(len(many), -1)
    sums = np.zeros((len(sizes), flat.shape[1]))
    np.add.at(sums, parts, flat)
    left = np.abs(flat - (sums / sizes[:, None])[parts]).max(axis=0).reshape(many.shape[1:])
    return left.max(axis=0) <= 1e-12


# ---- nulls

Draw = Callable[[int, int], np.ndarray]  # start, stop -> (n, d, stop - start)


def _permuted(one: np.ndarray, seed: int) -> Draw:
    return lambda start, stop: np.moveaxis(one[orders(seed, len(one), start, stop), :, 0], 0, 2)


def _surrogates(strat: Stratification, compared: Compared, seed: int) -> tuple[float, list[tuple[Draw, np.ndarray]]]:
    """The smallest effective number of components, and surrogates with what they are compared with."""
    near = strat if strat.hops[0] == 1 or not isinstance(strat.hops[0], int) else Stratification(strat.graph, 1)
    sides = [(compared.one, compared.many)]
    if compared.names is None:
        sides.append((compared.many, compared.one))
    made = [
        (Surrogates(near.basis(near.hops[0], name), moving[:, :, 0], seed, 2 * side + at), fixed)
        for at, name in enumerate(BASES)
        for side, (moving, fixed) in enumerate(sides)
    ]
    return min(one.effective for one, _ in made), [(one.draw, fixed) for one, fixed in made]


def _chance(
    draw: Draw, many: np.ndarray, ends: Sequence[Ends], observed: np.ndarray, rounding: float, at: tuple[int, ...]
) -> Chance:
    """What one null gives for every column and hop, arrays (C, H)."""
    blocks = range(0, len(observed), COLUMNS_AT_ONCE)
    pieces = []
    for first in blocks:
        some = slice(first, first + COLUMNS_AT_ONCE)
        kept = _Kept(draw, [Agreement(one, many[:, :, some], rounding) for one in ends], len(many) * many.shape[1])
        pieces.append(kept.chance(observed[some], at))
    return joined(pieces)


class _Kept:
    """Correlations of surrogates with some columns, ``(N, C, H)``; more are made as they are asked for."""

    def __init__(self, draw: Draw, agreements: Sequence[Agreement], size: int) -> None:
        self.draw, self.agreements, self.size = draw, agreements, size
        self.values = np.empty((0, agreements[0].form.shape[1], len(agreements)))

    def upto(self, stop: int) -> np.ndarray:
        """The first ``stop`` surrogates."""
        made = [self.values]
        step = max(32, BATCH // self.size // 32 * 32)
        for start in range(len(self.values), stop, step):
            moving = self.draw(start, min(start + step, stop))
            made.append(np.stack([one.of(moving) for one in self.agreements], axis=2))
        self.values = np.concatenate(made)
        return self.values[:stop]

    def chance(self, observed: np.ndarray, at: tuple[int, ...]) -> Chance:
        """Tests of every column: a family of its hops."""
        n = len(self.agreements[0].ends.nodes)
        if len(observed) > MANY:
            return run_columns(observed, lambda start, stop, which: self.upto(stop)[start:stop][:, which], at)
        return stacked([run_family(row, self._of(c), at, n) for c, row in enumerate(observed)])

    def _of(self, column: int) -> Callable[[int, int, np.ndarray], np.ndarray]:
        return lambda start, stop, which: self.upto(stop)[start:stop, column][:, which]


def _largest(chances: Sequence[Chance], shape: tuple[int, ...]) -> Chance:
    """Of several nulls the largest p and the widest interval; near the level where the decision of all is."""
    if not chances:
        return unknown(shape)
    all_ = stacked(chances)
    clear = (all_.p_family > LEVEL) & ~all_.near_level
    largest = {name: getattr(all_, name).max(axis=0) for name in ("p", "p_family", "high", "draws", "by_tail")}
    same = np.where((all_.tail == all_.tail[0]).all(axis=0), all_.tail[0], 0)
    near = all_.near_level.any(axis=0) & ~clear.any(axis=0)
    return Chance(tail=same, low=all_.low.min(axis=0), near_level=near, **largest)


# ---- result


def _words(value: np.ndarray, decides: np.ndarray, tail: np.ndarray, status: np.ndarray) -> np.ndarray:
    """The verdict of every cell: the tail of chance that rejects."""
    above = np.where(value > 0, "agree", "less opposite than chance")
    below = np.where(value < 0, "opposite", "agree less than chance")
    words = np.where(decides <= LEVEL, np.where(tail > 0, above, np.where(tail < 0, below, "chance")), "chance")
    not_judged = np.where(status == TOO_SMOOTH, TOO_SMOOTH, "not tested")
    return np.where(np.isnan(decides), not_judged, words).astype(str)
