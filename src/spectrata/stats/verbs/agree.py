"""Agreement of two maps beyond their smoothness."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from functools import cache, partial
from typing import Any

import numpy as np
import xarray as xr

from spectrata.core.hop import split_along
from spectrata.core.strata import Stratum
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError, SignalTypeError, argument
from spectrata.inputs.numbers import one_of, whole
from spectrata.stats.labelled import labelled
from spectrata.stats.nulls.correction import over_columns
from spectrata.stats.nulls.given import is_by_number
from spectrata.stats.nulls.orders import orders
from spectrata.stats.nulls.stopping import LEVEL, MANY, Chance, looks, run_columns, run_family
from spectrata.stats.nulls.surrogates import LEAST_EFFECTIVE, Surrogates
from spectrata.stats.observation import NO_VARIANCE, Pairs, pairs_of
from spectrata.stats.verbs.hops import at_hops
from spectrata.stats.verbs.reading import Reading, read
from spectrata.stats.verbs.write_back import write_back

MOST_NODES = 4_000  # above which no eigenbasis is made, and r has no p
BASES = ("combinatorial", "random_walk")
TOO_SMOOTH = "too smooth to judge"
CONSTANT = "constant on connected parts, which is not tested"
NOT_TESTED = f"not tested above {MOST_NODES:,} nodes"
LONG_NAMES = {
    "r": "correlation of the two signals at the two ends of a pair; at hop 0, of the same node",
    "verdict": "agree, opposite, chance, too smooth to judge, or not tested",
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
    one, many, rounding, reading = _read(strat, a, b, columns, metric)
    n, table, notes = strat.graph.n_nodes, reading.separate, [reading.note]
    at = looks(n, draws)
    loops = np.column_stack([np.arange(n)] * 2)  # hop 0: every node with itself, both of whose ends add to W
    same = Pairs(Stratum(0, n, loops), loops[:, 0], loops, np.full(n, 0.5))
    ends = [same, *(pairs_of(strat, hop) for hop in strat.hops)]
    value = np.column_stack([Agreement(pairs, many, rounding).of(one)[0] for pairs in ends])
    status = np.where(np.isnan(value), NO_VARIANCE, "ok").astype(object)  # (C, H)
    facts: dict[str, Any] = {"kind": "agree", "null": null, "seed": seed}
    sources: list[tuple[Draw, np.ndarray]] = []
    if null == "permutation":
        sources = [(lambda start, stop: np.moveaxis(one[orders(seed, n, start, stop), :, 0], 0, 2), many)]
    elif n > MOST_NODES:
        status[status == "ok"] = NOT_TESTED
        notes.append(f"Above {MOST_NODES:,} nodes r has no p.")
    else:
        near = strat if strat.hops[0] == 1 or not isinstance(strat.hops[0], int) else Stratification(strat.graph, 1)
        sides = [(one, many), (many, one)][: 1 if table else 2]
        made = [
            (Surrogates(near.basis(near.hops[0], name), moving[:, :, 0], seed, 2 * side + at_basis), fixed)
            for at_basis, name in enumerate(BASES)
            for side, (moving, fixed) in enumerate(sides)
        ]
        facts["effective"] = min(moving.effective for moving, _ in made)
        sources = [(moving.draw, fixed) for moving, fixed in made]
        if facts["effective"] < LEAST_EFFECTIVE:
            status[status == "ok"] = TOO_SMOOTH if facts["effective"] > 0 else CONSTANT
        first = near.strata.at(near.hops[0])
        rest = split_along(many.reshape(n, -1), first.parts, None, False)[1].reshape(many.shape)
        status[np.abs(rest).max(axis=(0, 1)) <= 1e-12] = CONSTANT
        notes += ["What is constant on connected parts is not tested."] if first.n_parts > 1 else []
    tested = np.where(status == "ok", value, np.nan)
    if not at or np.isnan(tested).all():
        sources = []
    found = _largest([_chance(draw, fixed, ends, tested, rounding, at) for draw, fixed in sources], value.shape)
    facts["draws"] = int(found.draws.max(initial=0))
    q = over_columns(found.p_family)
    if len(q) > MANY:
        found.near_level[:] = found.near_by_q(q, n)
    verdict = _words(value, q if table else found.p_family, found.tail, status)
    arrays = {"r": value, "p": found.p, "p_family": found.p_family} | ({"q": q} if table else {})
    arrays |= {"verdict": verdict, "near_level": found.near_level, "chance_low": found.low, "chance_high": found.high}
    arrays |= {"status": status.astype(str)}
    hop_0 = 0 if is_by_number(strat) else "0"
    coords = {"hop": [hop_0, *strat.hops], "n_pairs": ("hop", [len(pairs.ends) for pairs in ends])}
    facts["note"] = " ".join(filter(None, notes))
    every = {name: np.asarray(array)[None] for name, array in arrays.items()}
    ds = labelled(reading, every, ("hop",), coords, LONG_NAMES, facts)
    if write:
        write_back(graph, ds, "agree")
    return ds


def _read(
    strat: Stratification, a: Any, b: Any, columns: str, metric: str
) -> tuple[np.ndarray, np.ndarray, float, Reading]:
    """One signal ``(n, d, 1)``, the many of the table or the other ``(n, d, C)``, their rounding error and reading."""
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
    return one.values[:, :, None], many, error, replace(second, separate=any(tables), snapshots=None)


class Agreement:
    """r_K of signals that move, such as surrogates, with C signals that stay, ``fixed (n, d, C)``."""

    def __init__(self, pairs: Pairs, fixed: np.ndarray, rounding: float = 0.0) -> None:
        self.pairs, self.rounding = pairs, rounding
        centred, self.size = self._centred(fixed)
        self.form = (pairs.matrix @ centred.reshape(len(centred), -1)).reshape(-1, fixed.shape[2])  # (m d, C)

    def of(self, moving: np.ndarray) -> np.ndarray:
        """r of signals ``(n, d, B)`` with every fixed one, shape (B, C); NaN where one has no variance."""
        centred, size = self._centred(moving)
        products = centred.reshape(-1, centred.shape[2]).T @ self.form
        return products / (size[:, None] * self.size[None, :])

    def _centred(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Signals ``(n, d, B)`` at the nodes, less their endpoint means, and their norms in k ``(B,)``."""
        some, k, total = values[self.pairs.nodes], self.pairs.k, self.pairs.total
        some = some - (k @ some.reshape(len(some), -1) / total).reshape(some.shape[1:])
        size = np.sqrt(np.einsum("m,mdb,mdb->b", k, some, some, optimize=False))
        return some, np.where(size > self.rounding * np.sqrt(total), size, np.nan)


def _chance(
    draw: Draw, many: np.ndarray, ends: Sequence[Pairs], observed: np.ndarray, rounding: float, at: tuple[int, ...]
) -> Chance:
    """Chance under one null for every column and hop, arrays (C, H): a family of hops for each column."""

    def of(drawn: Draw, column: Any, start: int, stop: int, which: np.ndarray) -> np.ndarray:
        return drawn(start, stop)[:, column][:, which]

    found = Chance.unknown(observed.shape)
    for first in range(0, len(observed), COLUMNS_AT_ONCE):
        some = slice(first, first + COLUMNS_AT_ONCE)
        drawn = cache(partial(_correlations, draw, [Agreement(one, many[:, :, some], rounding) for one in ends]))
        if len(observed) > MANY:
            found.place(some, run_columns(observed[some], partial(of, drawn, slice(None)), at))
            continue
        for column, own in enumerate(observed):
            found.place(column, run_family(own, partial(of, drawn, column), at, len(many)))
    return found


def _correlations(draw: Draw, agreements: Sequence[Agreement], start: int, stop: int) -> np.ndarray:
    """Correlations of surrogates with some columns at every hop, ``(B, C, H)``."""
    step = max(32, BATCH // len(agreements[0].form) // 32 * 32)
    made = (draw(begin, min(begin + step, stop)) for begin in range(start, stop, step))
    return np.concatenate([np.stack([one.of(moving) for one in agreements], axis=2) for moving in made])


def _largest(chances: Sequence[Chance], shape: tuple[int, ...]) -> Chance:
    """Of several nulls the largest p and the widest interval; near the level where the decision of all is."""
    if not chances:
        return Chance.unknown(shape)
    every = {field.name: np.stack([getattr(one, field.name) for one in chances]) for field in fields(Chance)}
    clear, tail = (every["p_family"] > LEVEL) & ~every["near_level"], every["tail"]
    found = {name: every[name].max(axis=0) for name in ("value", "p", "p_family", "high", "draws", "by_tail")}
    found["tail"] = np.where((tail == tail[0]).all(axis=0), tail[0], 0)
    found["near_level"] = every["near_level"].any(axis=0) & ~clear.any(axis=0)
    return Chance(low=every["low"].min(axis=0), **found)


def _words(value: np.ndarray, decides: np.ndarray, tail: np.ndarray, status: np.ndarray) -> np.ndarray:
    above = np.where(value > 0, "agree", "less opposite than chance")
    below = np.where(value < 0, "opposite", "agree less than chance")
    words = np.where(decides <= LEVEL, np.where(tail > 0, above, np.where(tail < 0, below, "chance")), "chance")
    not_judged = np.where(status == TOO_SMOOTH, TOO_SMOOTH, "not tested")
    return np.where(np.isnan(decides), not_judged, words).astype(str)
