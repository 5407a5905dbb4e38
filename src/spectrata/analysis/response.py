"""What a step filters: magnitude after over before."""

from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.analysis.compare import length
from spectrata.analysis.draws import BATCH
from spectrata.analysis.layout import (
    coordinates,
    group_reduce,
    kept_signal,
    level_coordinates,
    level_groups,
    magnitudes,
    merge_rule,
    parameters,
    rebuild,
    require_algorithms,
)
from spectrata.analysis.nulls import permute_nodes
from spectrata.analysis.tally import FLOOR, Tally
from spectrata.bands.settings import whole
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError, ResultError
from spectrata.inputs.signals import as_signal
from spectrata.kernels.scaling import squarable
from spectrata.results.files import check

if TYPE_CHECKING:
    import xarray as xr

# Fitting more columns than this share of the nodes explains anything: then only a common gain is fitted.
MOST_COLUMNS = 0.25


def response(
    before: Any,
    after: Any,
    strat: Stratification | None = None,
    *,
    algorithm: str = "gft",
    level: str = "band",
    bands: int = 4,
    draws: int = 199,
    node_map: str = "auto",
    metric: str = "auto",
    seed: int = 0,
) -> "xr.Dataset":
    """Measure what a layer or a training step filters, with the band that no filtering would give.

    Parameters
    ----------
    before, after : Dataset or signal
        Two results on one graph; or, with ``strat``, two signals without snapshots. Results need their
        signals
        kept (``keep=["signal"]``; by themselves up to 200 nodes) for the null band.
    strat : Stratification, optional
    algorithm : str
    level : {"band", "eigenspace"}
    bands : int
        Number of bands off zero, equal counts of components.
    draws : int
        Draws of the null; 0 for none.
    node_map : {"auto", "linear", "gain"}
        The null: every node's vector is mapped by one and the same linear map ("gain": multiplied by one
        number), fitted by
        least squares, and what the map does not explain is dealt out to nodes at random. "auto" is linear
        for up to
        a quarter as many columns as nodes.
    metric, seed
        As for :func:`spectrata.spectra`; read from the results when they are given.

    Returns
    -------
    Dataset
        Over ``(hop, band or component)``: ``response`` (after over before), ``relative`` (divided by the
        step's overall ``gain(hop)``
        off zero: 1 passes, less is damped), ``null_low`` and ``null_high`` (middle 95 % of ``relative``
        under the null),
        ``p`` (two-sided, Monte Carlo), and ``status(hop)``.

    Notes
    -----
    The null permutes residuals (Freedman and Lane 1983): exact when the map is known, close to exact when
    it is
    fitted with few columns. A layer that only mixes features is explained by the map, and not called a
    filter.

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
    if node_map not in ("auto", "linear", "gain"):
        raise OptionError(f"node_map={node_map!r} is not known; use 'auto', 'linear' or 'gain'.")
    if level not in ("band", "eigenspace"):
        raise OptionError(f"level={level!r} is not known; use 'band' or 'eigenspace'.")
    whole(draws, "draws", 0)
    first, second, strat, signals, arguments = _inputs(before, after, strat, algorithm, metric, seed)
    eigenvalue, eigenspace, multiplicity = coordinates(first)
    groups, count = level_groups(eigenspace, multiplicity, level, bands)
    rule = merge_rule(algorithm, parameters(first))

    def reduce(ds: "xr.Dataset") -> tuple[np.ndarray, np.ndarray]:  # (T, hop, group), (T, hop)
        values = magnitudes(ds)[list(ds["algorithm"].values).index(algorithm)]
        return group_reduce(values, groups, count, rule), length(values)

    start, end = reduce(first), reduce(second)
    off = _off_zero_groups(eigenspace, groups, count)
    ratio, gain = _relative(start, end, off)
    out = {"response": ratio[0] * gain[0][:, None], "relative": ratio[0]}
    low, high, p = (np.full(ratio[0].shape, np.nan) for _ in range(3))
    words = np.where(np.isnan(gain[0]), "undefined: no energy before or after", "ok").astype(object)
    if signals is None or draws == 0:
        words[words == "ok"] = "no null: " + (
            "no draws" if signals is not None else "the signals were not kept"
        )
    else:
        assert strat is not None
        drawn = []
        for batch in _dealt(signals, draws, node_map, seed, strat):
            drawn.append(
                _relative(start, reduce(strat.spectra(batch, algorithm, keep=(), **arguments)), off)[0]
            )
        null = np.concatenate(drawn)  # (draws, hop, group)
        tally = Tally(ratio[None], np.full((1, 1, 1, 1), FLOOR))
        tally.add(slice(None), null[None, None])
        found = tally.result("two-sided")
        p = np.where(np.isnan(ratio[0]), np.nan, found["p"][0, 0])
        some = ~np.isnan(null).all(axis=0)
        if some.any():
            low[some], high[some] = np.nanquantile(null[:, some], [0.025, 0.975], axis=0)
        fixed = found["degenerate"][0, 0] | np.isnan(ratio[0])
        words[fixed.all(axis=1) & (words == "ok")] = (
            "degenerate: a map of every node's own vector explains the step"
        )
    labels = level_coordinates(eigenvalue, eigenspace, multiplicity, groups, count, level)
    return _labelled(first, out | {"null_low": low, "null_high": high, "p": p}, gain[0], words, labels, level)


def _inputs(
    before: Any, after: Any, strat: Stratification | None, algorithm: str, metric: str, seed: int
) -> tuple:
    """Two results, and the stratification and signals for the null where they can be had."""
    import xarray as xr

    if strat is not None:
        known = [as_signal(signal, strat.graph).values for signal in (before, after)]
        for values, word in zip(known, ("before", "after"), strict=True):
            if len(values) > 1:
                raise OptionError(f"{word} holds {len(values)} snapshots; give one, such as signal[0].")
        arguments: dict[str, Any] = {"metric": metric, "seed": seed}
        first, second = (strat.spectra(values[0], algorithm, keep=(), **arguments) for values in known)
        return first, second, strat, (known[0][0], known[1][0]), arguments
    if not isinstance(before, xr.Dataset) or not isinstance(after, xr.Dataset):
        raise OptionError("Give two results, or two signals and strat=.")
    for ds, word in ((before, "before"), (after, "after")):
        check(ds, word)
        require_algorithms(ds, [algorithm])
        if "snapshot" in ds["magnitude"].dims:
            raise OptionError(f"{word} holds snapshots; select one, such as ds.isel(snapshot=0).")
    if before.attrs["graph_hash"] != after.attrs["graph_hash"] or list(before["hop"]) != list(after["hop"]):
        raise ResultError("before and after are of different graphs or hops; compute both alike.")
    kept = kept_signal(before), kept_signal(after)
    known_options = parameters(before)
    names = ("orientation", "scaling", "laplacian", "transform", "trials", "average", "by_part")
    arguments = {name: known_options[name] for name in names if name in known_options}
    arguments |= {"metric": before.attrs["metric"], "seed": int(before.attrs["seed"])}
    if kept[0] is None or kept[1] is None:
        return before, after, None, None, arguments
    return before, after, rebuild(before), (kept[0][0], kept[1][0]), arguments


def _off_zero_groups(eigenspace: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
    """Which groups hold components off zero: ``(hop, group)``."""
    off = np.zeros((len(groups), count), dtype=bool)
    for row, group in enumerate(groups):
        off[row, group[(group >= 0) & (eigenspace[row] > 0)]] = True
    return off


def _relative(
    before: tuple[np.ndarray, np.ndarray], after: tuple[np.ndarray, np.ndarray], off: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """``(after / before) / gain`` per group and the gain off zero: ``(T, hop, group)``, ``(T, hop)``.

    What rounding leaves off zero of the whole spectrum's length is no energy.
    """
    (start, whole_start), (end, whole_end) = before, after
    size_start, size_end = (length(np.where(off, e, 0.0)) for e in (start, end))
    both = (size_start > FLOOR * whole_start) & (size_end > FLOOR * whole_end)
    gain = np.divide(
        size_end, size_start, out=np.full(np.broadcast(size_start, size_end).shape, np.nan), where=both
    )
    floor = FLOOR * size_start[..., None]
    ratio = np.divide(end, start, out=np.full(np.broadcast(start, end).shape, np.nan), where=start > floor)
    return ratio / gain[..., None], gain


def _dealt(
    signals: tuple[np.ndarray, np.ndarray], draws: int, node_map: str, seed: int, strat: Stratification
) -> Any:
    """Batches ``(c, n, d)`` of what the node map gives, with its residuals dealt out at random."""
    # The map does not depend on the size of what it takes, and grows with what it gives.
    (before, _), (after, scale) = (squarable(signal, (0, 1)) for signal in signals)
    n = len(before)
    x = before - before.mean(axis=0)
    y = after - after.mean(axis=0)
    if node_map == "auto":
        node_map = "linear" if x.shape[1] <= MOST_COLUMNS * n or x.shape != y.shape else "gain"
    if node_map == "gain" and x.shape != y.shape:
        raise OptionError("node_map='gain' needs as many columns after as before; use node_map='linear'.")
    if node_map == "linear":
        fit = x @ np.linalg.lstsq(x, y, rcond=None)[0]
    else:
        fit = x * (np.sum(x * y) / max(np.sum(x * x), np.finfo(float).tiny))
    residual, fit = y - fit, fit + after.mean(axis=0)
    rng = np.random.default_rng([seed, 0xF1])
    step = max(1, BATCH // max(after.size, len(strat.hops) * n))
    for done in range(0, draws, step):
        yield scale * (fit + permute_nodes(residual[None], min(step, draws - done), rng)[0])


def _labelled(
    ds: "xr.Dataset",
    out: dict[str, np.ndarray],
    gain: np.ndarray,
    words: np.ndarray,
    labels: dict,
    level: str,
) -> "xr.Dataset":
    import xarray as xr

    dims = ("hop", "band" if level == "band" else "component")
    variables: dict[str, Any] = {name: (dims, array) for name, array in out.items()}
    variables |= {"gain": ("hop", gain), "status": ("hop", words.astype(str))}
    attributes = {"metric": ds.attrs["metric"], "graph_hash": ds.attrs["graph_hash"], "level": level}
    return xr.Dataset(variables, {"hop": ds["hop"].values} | labels, attributes)
