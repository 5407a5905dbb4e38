"""Measure what a step filters: energy after over energy before, and the shares of every band on both sides."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import xarray as xr

from spectrata.core.distance_strata import require_hops
from spectrata.core.registry import EXACT, row_of
from spectrata.core.spectra import as_stratification, refuse_graph_arguments
from spectrata.errors import OptionError
from spectrata.inputs.numbers import one_of
from spectrata.inputs.signals import Signal, as_signal, resolve_metric
from spectrata.results.build import attributes_of
from spectrata.results.schema import View
from spectrata.stats.describe.align import align
from spectrata.stats.describe.levels import group_reduce, level_coordinates, level_groups, over
from spectrata.stats.describe.spectrum import lengths, rounding_floor
from spectrata.stats.statistics.shares import FLOOR

NO_ENERGY = "undefined: no energy before or after"


def response(
    before: Any,
    after: Any,
    graph: Any = None,
    *,
    algorithm: str = EXACT,
    hops: int | Iterable[int] | None = None,
    weights: Any = None,
    level: str = "band",
    bands: int = 4,
    metric: str = "auto",
    seed: int = 0,
) -> xr.Dataset:
    r"""Measure which frequencies a layer or a training step keeps: band shares before and after.

    Parameters
    ----------
    before, after : Dataset or signal
        Two results on one graph; or, with ``graph``, two signals without snapshots.
    graph : graph-like, path or Stratification, optional
        A Stratification also names the Laplacian.
    algorithm : str
        With its default options; give results for others.
    hops, weights, metric, seed
        As for :func:`spectrata.spectra`, the same for both signals; no hops and weights with a Stratification, none of
        them with results. "auto" is angular when both signals have several columns, otherwise euclidean.
    level : {"band", "eigenspace"}
    bands : int
        Number of bands off zero, equal counts of components.

    Returns
    -------
    Dataset
        Over ``(hop, band or component)``: ``share_before`` and ``share_after`` of the energy off zero; ``response``,
        the magnitude after over the magnitude before; ``relative``, that divided by the step's overall ``gain(hop)``
        off zero (1 passes, less is damped); and ``status(hop)``.

    Notes
    -----
    There is no p. A step that does not use the graph maps every node's own vector, :math:`y(x) = f(s(x))`, and for a
    smooth input such a map changes the shares too: ReLU of a slow wave has fast harmonics. Where no two nodes have the
    same vector, every output is such a map for some f, so that two signals cannot tell whether the step used the
    graph. Permuted residuals of a linear and of a smooth fit, and swaps between nodes of similar input, reject far more
    often than their level for ReLU or row normalisation.

    A valid test exists where the step can be run on an input of your choice: vectors drawn independently for the
    nodes stay exchangeable under every map of single nodes, so that
    ``st.calibrate(graph, step(noise), level="band")`` rejects at its level unless the step uses the graph.

    Examples
    --------
    One step of averaging over neighbours damps the fast half of a ring's spectrum.

    >>> import networkx as nx, numpy as np, spectrata as st
    >>> x = np.random.default_rng(0).normal(size=40)
    >>> y = (x + np.roll(x, 1) + np.roll(x, -1)) / 3
    >>> found = st.response(x, y, nx.cycle_graph(40), hops=1, bands=2)
    >>> found["share_before"].loc[1].values.round(2).tolist(), found["share_after"].loc[1].values.round(2).tolist()
    ([0.66, 0.34], [0.96, 0.04])
    """
    one_of(level, "level", ("band", "eigenspace"))
    if graph is not None:
        strat = as_stratification(graph, hops, weights)
        require_hops(strat, "A response")
        known = [as_signal(signal, strat.graph) for signal in (before, after)]
        for signal, word in zip(known, ("before", "after"), strict=True):
            if len(signal.values) > 1:
                raise OptionError(f"{word} holds {len(signal.values)} snapshots; give one, such as signal[0].")
        one, lean = resolve_metric(metric, min(signal.values.shape[2] for signal in known)), strat.using(keep=())
        before, after = (lean.spectra(Signal(x.values, None), algorithm, metric=one, seed=seed) for x in known)
    else:
        refuse_graph_arguments("A result", hops=hops, weights=weights)
        if metric != "auto":
            raise OptionError("The results hold their own options; leave out metric.")
        if not isinstance(before, xr.Dataset) or not isinstance(after, xr.Dataset):
            raise OptionError("Give two results, or two signals and graph=.")
    first, second = align(before, after, ("before", "after"))
    for side in (first, second):
        side.require_own_size("a response")
        side.require_complete("a response")
        if side.row_dims:
            raise OptionError(f"{side.name} holds snapshots; select one, such as ds.isel(snapshot=0).")
    groups, count = level_groups(first, level, bands)
    before, share_before, size_before = _energies(first, algorithm, groups, count)
    after, share_after, size_after = _energies(second, algorithm, groups, count)
    gain = size_after / size_before
    known = (before > FLOOR * size_before[:, None]) & ~np.isnan(gain)[:, None]  # else there was only rounding before
    ratio, dims = over(after, before, known), ("hop", "band" if level == "band" else "component")
    found = {"share_before": share_before, "share_after": share_after}
    found |= {"response": ratio, "relative": ratio / gain[:, None]}
    variables: dict[str, Any] = {name: (dims, array) for name, array in found.items()}
    variables |= {"gain": ("hop", gain), "status": ("hop", np.where(np.isnan(gain), NO_ENERGY, "ok"))}
    coords = {"hop": list(first.hops)} | level_coordinates(first, groups, count, level)
    return xr.Dataset(variables, coords, attributes_of(first.ds, "response") | {"level": level})


def _energies(side: View, algorithm: str, groups: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute magnitudes per group, shares off zero, and the length off zero, NaN where there is only rounding."""
    magnitude, rule = side.magnitude[side.row_of(algorithm)][0], row_of(algorithm).merge_rule(side.options)  # (hop, N)
    inside = group_reduce(magnitude, np.where(side.off_zero, groups, -1), count, rule)
    size = lengths(inside)
    size = np.where(size > rounding_floor(side) * lengths(magnitude), size, np.nan)
    return group_reduce(magnitude, groups, count, rule), (inside / size[:, None]) ** 2, size
