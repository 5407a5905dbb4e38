"""What a step filters: magnitude after over before."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.analysis.align import align
from spectrata.analysis.draws import BATCH
from spectrata.analysis.levels import group_reduce, level_coordinates, level_groups, options_given, rebuild
from spectrata.analysis.nulls import permute_nodes
from spectrata.analysis.spectrum import lengths
from spectrata.analysis.tally import FLOOR, Tally
from spectrata.core.algorithms.options import shows_options
from spectrata.core.engine import transform
from spectrata.core.plan import Plan, make_plan
from spectrata.core.registry import EXACT, row_of
from spectrata.core.stratification import Stratification, as_stratification, refuse_graph_arguments
from spectrata.errors import OptionError
from spectrata.inputs.numbers import one_of, whole
from spectrata.inputs.signals import Potential, Signal, as_signal, potential
from spectrata.kernels.scaling import squarable
from spectrata.results.build import attributes_of
from spectrata.results.schema import View

if TYPE_CHECKING:
    import xarray as xr

# Fitting more columns than this share of the nodes explains anything: then only a common gain is fitted.
MOST_COLUMNS = 0.25
PLAN = ("dtype", "n_eigs", "which")  # arguments of a plan that are not options of the algorithms


@shows_options
def response(
    before: Any,
    after: Any,
    strat: Any = None,
    *,
    algorithm: str = EXACT,
    hops: int | Iterable[int] | None = None,
    weights: Any = None,
    hop_weights: str = "bottleneck",
    undirected: bool = False,
    level: str = "band",
    bands: int = 4,
    draws: int = 199,
    node_map: str = "auto",
    metric: str = "auto",
    seed: int = 0,
    **options: Any,
) -> "xr.Dataset":
    """Measure what a layer or a training step filters, with the band that no filtering would give.

    Parameters
    ----------
    before, after : Dataset or signal
        Two results on one graph; or, with ``strat``, two signals without snapshots. Results need their signals kept
        (``keep=["signal"]``; by themselves up to 200 nodes) for the null band.
    strat : Stratification, or a graph in any form, optional
    algorithm : str
    hops, weights, hop_weights, undirected
        How a graph is read, as for :func:`spectrata.spectra`; a Stratification has its own.
    level : {"band", "eigenspace"}
    bands : int
        Number of bands off zero, equal counts of components.
    draws : int
        Draws of the null; 0 for none.
    node_map : {"auto", "linear", "gain"}
        The null: every node's vector is mapped by one and the same linear map ("gain": multiplied by one number),
        fitted by least squares, and what the map does not explain is dealt out to nodes at random. "auto" is linear
        for up to a quarter as many columns as nodes.
    metric, seed, **options
        As for :func:`spectrata.spectra`; read from the results when they are given.

    Returns
    -------
    Dataset
        Over ``(hop, band or component)``: ``response`` (after over before), ``relative`` (divided by the step's
        overall ``gain(hop)`` off zero: 1 passes, less is damped), ``null_low`` and ``null_high`` (middle 95 % of
        ``relative`` under the null), ``p`` (two-sided, Monte Carlo), and ``status(hop)``.

    Notes
    -----
    The null permutes residuals (Freedman and Lane 1983): exact when the map is known, close to exact when it is
    fitted with few columns. A layer that only mixes features is explained by the map, and not called a filter.

    Examples
    --------
    One step of averaging over neighbours damps the fast half of a ring's spectrum.

    >>> import networkx as nx, numpy as np, spectrata as st
    >>> strat = st.Stratification(nx.cycle_graph(40), hops=1)
    >>> x = np.random.default_rng(0).normal(size=40)
    >>> y = (x + np.roll(x, 1) + np.roll(x, -1)) / 3
    >>> found = st.response(x, y, strat, bands=2)
    >>> bool(found["relative"].loc[1][0] > 1 > found["relative"].loc[1][1]), float(found["p"].loc[1][0]) <= 0.05
    (True, True)
    """
    one_of(node_map, "node_map", ("auto", "linear", "gain"))
    one_of(level, "level", ("band", "eigenspace"))
    whole(draws, "draws", 0)
    read = {"hops": hops, "weights": weights, "hop_weights": hop_weights, "undirected": undirected}
    if strat is not None:
        step = _of_signals(before, after, as_stratification(strat, **read), algorithm, metric, seed, options)
    else:
        refuse_graph_arguments("A result", **read)
        if options:
            raise OptionError(f"The results say what they were made with; leave out {', '.join(options)}.")
        step = _of_results(before, after, algorithm)
    groups, count = level_groups(step.before, level, bands)
    rule = row_of(algorithm).merge_rule(step.before.options)
    off = _off_zero_groups(step.before, groups, count)
    sides = []
    for side in (step.before, step.after):
        magnitude = side.magnitude[side.row_of(algorithm)]  # (1, hop, N)
        sides.append((group_reduce(magnitude, groups, count, rule), lengths(magnitude)))
    ratio, gain = _relative(sides[0], sides[1], off)  # (1, hop, group), (1, hop)
    words = np.where(np.isnan(gain[0]), "undefined: no energy before or after", "ok").astype(object)
    out = {"response": ratio[0] * gain[0][:, None], "relative": ratio[0]}
    out |= {name: np.full(ratio[0].shape, np.nan) for name in ("null_low", "null_high", "p")}
    if step.signals is None or draws == 0:
        reason = "no draws" if step.signals is not None else "the signals were not kept"
        words[words == "ok"] = f"no null: {reason}"
    else:
        fixed = np.zeros(len(words), dtype=bool)
        dealt = Dealt(*step.signals, draws, node_map, step.plan.seed, step.metric)
        for hop, null in _null(step, dealt, groups, count, rule, sides[0], off):
            fixed[hop] = _judge(ratio[0, hop], null, {name: out[name][hop] for name in out})
        words[fixed & (words == "ok")] = "degenerate: a map of every node's own vector explains the step"
    labels = level_coordinates(step.before, groups, count, level)
    return _labelled(step.before, out, gain[0], words, labels, level)


@dataclass(frozen=True, eq=False)
class Step:
    """Two results with all in common but the signal, and what the null needs where it can be had."""

    before: View
    after: View
    plan: Plan
    metric: str
    strat: Stratification | None = None
    signals: tuple[np.ndarray, np.ndarray] | None = None  # (n, d) each


def _of_signals(
    before: Any, after: Any, strat: Stratification, algorithm: str, metric: str, seed: int, options: dict[str, Any]
) -> Step:
    """Two signals on a graph."""
    known = [as_signal(signal, strat.graph) for signal in (before, after)]
    for signal, word in zip(known, ("before", "after"), strict=True):
        if len(signal.values) > 1:
            raise OptionError(f"{word} holds {len(signal.values)} snapshots; give one, such as signal[0].")
    plan = make_plan(algorithm, options, strat.graph.n_nodes, seed=seed, keep=(), diagnose=False)
    results = [strat.compute(Signal(signal.values, None), plan, metric) for signal in known]
    first, second = align(results[0], results[1], ("before", "after"))
    return Step(first, second, plan, first.metric, strat, (known[0].values[0], known[1].values[0]))


def _of_results(before: "xr.Dataset", after: "xr.Dataset", algorithm: str) -> Step:
    """Two results; the null needs the signals they kept."""
    import xarray as xr

    if not isinstance(before, xr.Dataset) or not isinstance(after, xr.Dataset):
        raise OptionError("Give two results, or two signals and strat=.")
    first, second = align(before, after, ("before", "after"))
    for side in (first, second):
        side.require_algorithms([algorithm])
        side.require_own_size("a response")
        side.require_complete("a response")
        if side.row_dims:
            raise OptionError(f"{side.name} holds snapshots; select one, such as ds.isel(snapshot=0).")
    given = options_given(first, [algorithm])
    metric, seed = given.pop("metric"), given.pop("seed")
    given.pop("zero_vectors")
    fixed = {name: given.pop(name) for name in PLAN if name in given}
    plan = make_plan(algorithm, given, first.n_nodes, seed=seed, keep=(), diagnose=False, **fixed)
    kept = first.signal, second.signal
    if kept[0] is None or kept[1] is None:
        return Step(first, second, plan, metric)
    return Step(first, second, plan, metric, rebuild(first), (kept[0][0], kept[1][0]))


def _null(
    step: Step, dealt: "Dealt", groups: np.ndarray, count: int, rule: str, before: Any, off: np.ndarray
) -> Iterator[tuple[int, np.ndarray]]:
    """For each hop, by its position in the result, ``relative`` of all draws: ``(draws, group)``."""
    assert step.strat is not None
    found: dict[int, list[np.ndarray]] = {}
    for piece in transform(step.strat, dealt, step.plan):
        hop = step.before.hops.index(piece.stratum.hop)
        here = slice(hop, hop + 1)
        magnitude = piece.magnitude[0][:, None]  # (c, 1, N)
        after = group_reduce(magnitude, groups[here], count, rule), lengths(magnitude)
        start = before[0][:, here], before[1][:, here]
        found.setdefault(hop, []).append(_relative(start, after, off[here])[0][:, 0])
    for hop, pieces in found.items():
        yield hop, np.concatenate(pieces)


def _judge(observed: np.ndarray, null: np.ndarray, out: dict[str, np.ndarray]) -> bool:
    """Fill p and the null's middle 95 % at one hop, in place; whether no draw differs."""
    tally = Tally(observed[None, None], np.full((1, 1, 1), FLOOR))
    tally.add(slice(None), null[None, None])
    found = tally.result("two-sided")
    out["p"][:] = np.where(np.isnan(observed), np.nan, found["p"][0, 0])
    some = ~np.isnan(null).all(axis=0)
    if some.any():
        out["null_low"][some], out["null_high"][some] = np.nanquantile(null[:, some], [0.025, 0.975], axis=0)
    return bool((found["degenerate"][0, 0] | np.isnan(observed)).all())


def _off_zero_groups(view: View, groups: np.ndarray, count: int) -> np.ndarray:
    """Which groups hold components off zero: ``(hop, group)``."""
    off = np.zeros((len(groups), count), dtype=bool)
    for row, group in enumerate(groups):
        off[row, group[(group >= 0) & view.off_zero[row]]] = True
    return off


def _relative(
    before: tuple[np.ndarray, np.ndarray], after: tuple[np.ndarray, np.ndarray], off: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """``(after / before) / gain`` per group and the gain off zero: ``(T, hop, group)``, ``(T, hop)``.

    What rounding leaves off zero of the whole spectrum's length is no energy.
    """
    (start, whole_start), (end, whole_end) = before, after
    size_start, size_end = (lengths(np.where(off, e, 0.0)) for e in (start, end))
    both = (size_start > FLOOR * whole_start) & (size_end > FLOOR * whole_end)
    gain = np.divide(size_end, size_start, out=np.full(np.broadcast(size_start, size_end).shape, np.nan), where=both)
    floor = FLOOR * size_start[..., None]
    ratio = np.divide(end, start, out=np.full(np.broadcast(start, end).shape, np.nan), where=start > floor)
    return ratio / gain[..., None], gain


@dataclass(frozen=True, eq=False)
class Dealt:
    """What the node map gives, with its residuals dealt out to the nodes at random; the same at every iteration."""

    before: np.ndarray  # (n, d)
    after: np.ndarray
    draws: int
    node_map: str
    seed: int
    metric: str

    @cached_property
    def fitted(self) -> tuple[np.ndarray, np.ndarray, float]:
        """What the map explains, what it does not, and a power of two taken out of both."""
        # The map does not depend on the size of what it takes, and grows with what it gives.
        (before, _), (after, scale) = (squarable(signal, (0, 1)) for signal in (self.before, self.after))
        x = before - before.mean(axis=0)
        y = after - after.mean(axis=0)
        node_map = self.node_map
        if node_map == "auto":
            node_map = "linear" if x.shape[1] <= MOST_COLUMNS * len(x) or x.shape != y.shape else "gain"
        if node_map == "gain" and x.shape != y.shape:
            raise OptionError("node_map='gain' needs as many columns after as before; use node_map='linear'.")
        if node_map == "linear":
            fit = x @ np.linalg.lstsq(x, y, rcond=None)[0]
        else:
            fit = x * (np.sum(x * y) / max(np.sum(x * x), np.finfo(float).tiny))
        return fit + after.mean(axis=0), y - fit, float(scale[0, 0])

    def __iter__(self) -> Iterator[Potential]:
        fit, residual, scale = self.fitted
        rng = np.random.default_rng([self.seed, 0xF1])
        step = max(1, BATCH // residual.size)
        for done in range(0, self.draws, step):
            drawn = fit + permute_nodes(residual[None], min(step, self.draws - done), rng)[0]
            yield potential(Signal(scale * drawn, None), self.metric, "zero")


def _labelled(
    spectra: View, out: dict[str, np.ndarray], gain: np.ndarray, words: np.ndarray, labels: dict, level: str
) -> "xr.Dataset":
    import xarray as xr

    dims = ("hop", "band" if level == "band" else "component")
    variables: dict[str, Any] = {name: (dims, array) for name, array in out.items()}
    variables |= {"gain": ("hop", gain), "status": ("hop", words.astype(str))}
    attributes = attributes_of(spectra.ds, "response") | {"level": level}
    return xr.Dataset(variables, {"hop": list(spectra.hops)} | labels, attributes)
