"""A watched model: a measure over layers and epochs with its scores, and how far each layer has collapsed."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize

from spectrata.errors import ResultError
from spectrata.plot import style
from spectrata.plot.maps import MOST_NAMES, states
from spectrata.plot.reading import chosen
from spectrata.stats.findings.collapse import CONTROL, LEVELS, MEASURE, RECENT, is_layers, places, verdicts, when
from spectrata.stats.findings.watched import (
    as_grid,
    is_rows,
    last_pass,
    last_scores,
    layers_of,
    mode_of,
    one_mode,
    with_scores,
)

WIDTH = 7.0
LOWEST = min(one.level for one in LEVELS.values()) / 4  # where the axis of a picture ends at least
FLOOR = 1e-7  # smaller values are drawn here, as triangles: they would take most of the axis
WORDS = {
    "off_zero_live": "share of the energy that tells nodes apart",
    "effective_rank": "effective rank",
    "dead_rows": "share of nodes whose vector is zero",
}


def training(
    ds: xr.Dataset,
    measure: str = MEASURE,
    ax: Axes | None = None,
    *,
    hop: Any = None,
    mode: str | None = None,
    layers: Iterable[str] | None = None,
    scores: Iterable[str] | None = None,
) -> Axes:
    """Draw one measure over layers and epochs as a map, with the scores of the run below it.

    The title has the verdicts on the layers at the end of the run. Colours are logarithmic where a measure without
    negative values spans more than two decades; values below 1e-7 of the largest have the last colour.

    Parameters
    ----------
    ds : xarray.Dataset
        ``w.dataset`` of a watched model, or an opened log.
    measure : str
        Any variable of the result with one number per layer and pass: "off_zero_live", "effective_rank",
        "dead_rows", "r", "norm", or "off_zero" of spectra.
    ax : Axes, optional
        For the map alone, without scores.
    hop : optional
        For measures with hops; the first by default.
    mode : {"train", "eval", "control"}, optional
        By default passes in evaluation mode where there are several.
    layers : optional
        By default the input, the hidden states and the output.
    scores : optional
        All by default.

    Returns
    -------
    Axes
        Of the map; that of the scores is the next one of its figure.

    Examples
    --------
    >>> import networkx as nx, spectrata as st, torch
    >>> from spectrata.torch import Recorder
    >>> probe = Recorder(nx.path_graph(5), hops=1)
    >>> for epoch in range(3):
    ...     probe.record({"conv1": torch.eye(5), "conv2": torch.eye(5) + epoch}, epoch=epoch)
    >>> st.plot.training(probe.dataset, "effective_rank").get_title(loc="left")
    'effective rank'
    """
    ds = with_scores(as_grid(ds)) if is_rows(ds) else ds
    one, dim = one_mode(ds, mode)
    if mode is None and one.sizes[dim] and "mode" in ds.dims and _passes(one, dim) < 2:
        one = max((ds.sel(mode=name) for name in ds["mode"].values), key=lambda run: _passes(run, dim))
    known = [str(name) for name in one["layer"].values]
    names = states(one, known) if layers is None else chosen(known, "layer", layers)
    values = _measure(one, measure, hop, dim).sel(layer=names)
    values = values.isel({dim: np.flatnonzero(values.notnull().any("layer").values)})
    if not values.size:
        raise ResultError(f"{measure!r} has no number at any pass of this mode; choose another mode or measure.")
    given = [str(name) for name in one.data_vars if "score" in one[name].attrs]
    drawn = chosen(given, "score", scores) if given or scores is not None else []
    panels, tall = 1 + (ax is None and len(drawn) > 0), 0.3 + 0.19 * min(len(names), MOST_NAMES)
    shape: dict[str, Any] = {"height_ratios": (tall + 0.6, 1.1), "sharex": True} if panels > 1 else {}
    sheet = style.Sheet(ax, panels, height=(tall + 1.2 * (panels - 1)) / panels, least=WIDTH, **shape)
    words = WORDS.get(measure, measure.replace("_", " "))
    words += f", {style.hop_words(values['hop'].item())}" if "hop" in one[measure].dims else ""
    words += {"eval": ", in evaluation mode", "control": ", without message passing"}.get(mode_of(one), "")
    sheet.ax.set_title(style.plain(words), fontsize=9, loc="left")
    _map(sheet.ax, values, names, dim)
    sheet.name_axes(dim, "")
    if panels > 1:
        _scores(sheet.axes[1], one.isel({dim: one[dim].isin(values[dim]).values}), drawn, dim)
        sheet.ax.tick_params(labelbottom=False)
    said = [found.text for found in verdicts(last)[0]] if sheet.own and is_layers(last := last_pass(ds)) else []
    lines = said[:4] + ([f"and {len(said) - 4} more"] if len(said) > 4 else [])
    if lines and "model_name" in ds.attrs:
        scored = ", ".join(f"{name} {value:.3g}" for name, value in last_scores(ds).items())
        lines.insert(0, ds.attrs["model_name"] + (f", last epoch: {scored}" if scored else ""))
    if lines:
        sheet.title("\n".join(lines))
    return sheet.ax


def _passes(run: xr.Dataset, dim: str) -> int:
    """Passes of a mode that recorded something."""
    return int(run[MEASURE].notnull().any([other for other in run[MEASURE].dims if other != dim]).sum())


def _measure(one: xr.Dataset, measure: str, hop: Any, dim: str) -> xr.DataArray:
    known = [str(name) for name in one.data_vars if {"layer", dim} <= set(one[name].dims) <= {"layer", dim, "hop"}]
    values = one[chosen([name for name in known if one[name].dtype.kind in "fib"], "measure", measure)[0]]
    if "hop" in values.dims:
        values = values.sel(hop=chosen(one["hop"].values.tolist(), "hop", hop)[0])
    return values.transpose("layer", dim)


def _map(ax: Axes, values: xr.DataArray, names: Sequence[str], dim: str) -> None:
    array, place = values.values.astype(float), values[dim].values.astype(float)
    limits, norm = style.log_limits(array), Normalize(min(0.0, np.nanmin(array)), np.nanmax(array))
    norm = LogNorm(*limits, clip=True) if limits is not None else norm
    half = np.diff(place) / 2 if len(place) > 1 else np.array([0.5])
    edges = np.concatenate([place[:1] - half[:1], place[1:] - half[: len(place) - 1], place[-1:] + half[-1:]])
    ax.set_facecolor(style.theme_of(ax).chance)  # not recorded
    drawn = ax.pcolormesh(edges, np.arange(len(names) + 1), array, cmap=style.MAP, norm=norm, rasterized=True)
    style.row_ticks(ax, names, MOST_NAMES, size=8 if len(names) <= 20 else 7)
    style.side_bar(ax, drawn)


def _scores(ax: Axes, one: xr.Dataset, names: Sequence[str], dim: str) -> None:
    """Lines of the scores; losses have an axis of their own on the right where there are other scores."""
    losses = [name for name in names if "loss" in name.lower()]
    right, lines = ax.twinx() if 0 < len(losses) < len(names) else ax, []
    for name, color in zip(names, style.depth_colors(ax, len(names)), strict=True):
        there, own = one[name].notnull().values, right if name in losses else ax
        look: dict[str, Any] = {"marker": "o" if there.sum() <= 20 else None, "markersize": 3, "linewidth": 1.2}
        look |= {"label": style.plain(name), "gid": name, "color": color}
        lines += own.plot(one[dim].values[there], one[name].values[there], **look)
    rest = [name for name in names if right is ax or name not in losses]
    ax.set_ylabel("score" if len(rest) > 1 else style.plain(rest[0]), fontsize=9)
    if right is not ax:
        right.set_ylabel("loss" if len(losses) > 1 else style.plain(losses[0]), fontsize=9)
        right.spines["right"].set_visible(True)
    if len(names) > 1:
        place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 0.96), "ncols": 4}
        ax.legend(handles=lines, fontsize=7.5, frameon=False, borderaxespad=0.1, **place)


def collapse(ds: xr.Dataset, ax: Axes | None = None, *, names: Iterable[str] | None = None) -> Axes:
    """Draw how much of each layer's energy tells nodes apart, without messages too, and the levels of collapse.

    Bars show the range of the last evaluations. The level of the last hidden layer is a line across all layers, that
    of the outputs a line at their place. Values below 1e-7 are triangles at the lower end.

    Parameters
    ----------
    ds : xarray.Dataset
        ``w.over_layers()`` of a watched model, or for its last evaluation ``w.dataset`` or an opened log.
    ax : Axes, optional
    names : optional
        Layers to draw; by default the input, the hidden states and the output.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import networkx as nx, spectrata as st, torch
    >>> from spectrata.torch import Recorder
    >>> probe = Recorder(nx.path_graph(5), hops=1)
    >>> probe.record({"conv1": torch.eye(5), "conv2": torch.eye(5) + 1.0}, epoch=0, mode="eval")
    >>> axes = st.plot.collapse(probe.dataset)
    >>> [round(float(value), 3) for value in axes.get_lines()[0].get_ydata()]
    [0.8, 0.1]
    """
    layers = layers_of(ds)
    if not is_layers(layers):
        raise ResultError("This picture shows layers of one pass at K = 1; give w.over_layers() of a watched model.")
    labels = layers["snapshot"].values.tolist()
    shown = states(layers, labels) if names is None else chosen(labels, "layer", names)
    rows = [labels.index(name) for name in shown]
    sheet = style.Sheet(ax, height=2.9, least=WIDTH)
    ax, (blue, orange, *_) = sheet.ax, sheet.theme.colors
    curves = [(layers[MEASURE].values[rows], blue, "o", "evaluation", "with messages")]
    if CONTROL in layers:
        curves.append((layers[CONTROL].values[rows], orange, "s", "control", "without messages (control)"))
    for values, color, marker, gid, label in curves:
        look: dict[str, Any] = {"color": color, "linewidth": 1.4, "zorder": 3}
        ax.plot(np.maximum(values, FLOOR), marker=marker, markersize=4.5, label=label, gid=gid, **look)
        if len(low := np.flatnonzero(values < FLOOR)):
            look |= {"label": f"below {FLOOR:g}", "gid": f"{gid} below", "clip_on": False}
            ax.plot(low, np.full(len(low), FLOOR), "v", markersize=7, **look)
    if RECENT in layers and layers.sizes["evaluation"] > 1:
        recent = np.maximum(layers[RECENT].transpose("snapshot", "evaluation").values[rows], FLOOR)
        known = np.isfinite(recent).any(axis=1)
        ends = np.nanmin(recent[known], axis=1), np.nanmax(recent[known], axis=1)
        words = f"range of the last {recent.shape[1]} evaluations"
        ax.vlines(np.flatnonzero(known), *ends, color=blue, zorder=2, alpha=0.35, linewidth=6, label=words, gid="range")
    smallest = np.nanmin(np.concatenate([values for values, *_ in curves]), initial=1.0)
    lowest = max(FLOOR, min(smallest / 2, LOWEST))
    ax.set(yscale="log", ylim=(lowest, 1.4), xlim=(-0.6, len(shown) - 0.4))
    style.fit_ticks(ax, shown)
    style.log_ticks(ax.yaxis, lambda value: f"{value:g}")
    sheet.name_axes("", "share of the energy\nthat tells nodes apart")
    _levels(ax, {place: rows.index(row) for place, row in places(layers).items() if row in rows}, lowest)
    sheet.legend()
    lines = [one.text for one in verdicts(layers)[0]]
    sheet.title(lines[0] if lines else f"Energy that tells nodes apart, {when(layers).removeprefix('the ')}")
    return ax


def _levels(ax: Axes, found: dict[str, int], lowest: float) -> None:
    """The level of the last hidden layer across the picture, that of the outputs at their place; below: collapsed."""
    theme = style.theme_of(ax)
    for place, at in found.items():
        level = LEVELS[place].level
        ends = list(ax.get_xlim()) if place == "last hidden" else [at - 0.4, at + 0.4]
        ax.plot(ends, [level, level], color=theme.muted, gid=f"level {place}", **style.DASHED | {"linewidth": 1.4})
        if place == "last hidden" or len(found) == 1:
            ax.axhspan(lowest, level, color=theme.colors[1], alpha=0.08, zorder=0, linewidth=0)
            box = {"facecolor": theme.paper, "edgecolor": "none", "alpha": 0.75, "pad": 1.0}
            words = f"collapsed (below {level:g}, the level of a study)"
            ax.text(-0.55, level / 1.15, words, va="top", color=theme.ink, fontsize=8, bbox=box, zorder=4)
