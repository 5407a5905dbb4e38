"""A watched model: a measure over layers and epochs with its scores, and how far each layer has collapsed."""

from collections.abc import Iterable, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import OptionError, ResultError
from spectrata.plot import style
from spectrata.plot.response import MOST_NAMES, states
from spectrata.stats.findings.verdict import CONTROL, LEVELS, MEASURE, RECENT, is_layers, places, verdicts, when
from spectrata.stats.findings.watched import is_run, last_pass, mode_of, one_mode

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

WIDTH = 7.0
FLOOR = 1e-7  # smaller values are drawn here, as triangles: they would take most of the axis
WORDS = {
    "off_zero_live": "share of the energy that tells nodes apart",
    "effective_rank": "effective rank",
    "dead_rows": "share of nodes whose vector is zero",
}


def training(
    ds: "xr.Dataset",
    measure: str = MEASURE,
    ax: "Axes | None" = None,
    *,
    hop: Any = None,
    mode: str | None = None,
    layers: Iterable[str] | None = None,
    scores: Iterable[str] | None = None,
    log: bool | None = None,
) -> "Axes":
    """Draw one measure over layers and epochs as a map, with the scores of the run below it.

    The title has the verdicts on the layers at the end of the run.

    Parameters
    ----------
    ds : xarray.Dataset
        ``w.dataset`` of a watched model.
    measure : str
        Any variable of the result with one number per layer and pass: "off_zero_live", "effective_rank",
        "dead_rows", "off_zero", "mad" ...
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
    log : bool, optional
        Whether colours follow the logarithm; by default where a measure without negative values spans more than two
        decades. Values below 1e-7 of the largest have the last colour.

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
    one, dim = one_mode(ds, mode)
    if mode is None and one.sizes[dim] and "mode" in ds.dims and _passes(one, dim) < 2:
        one = max((ds.sel(mode=name) for name in ds["mode"].values), key=lambda run: _passes(run, dim))
    values = _measure(one, measure, hop, dim)
    known = [str(name) for name in one["layer"].values]
    names = states(one, known) if layers is None else style.chosen(known, "layer", layers)
    values = values.sel(layer=names)
    values = values.isel({dim: np.flatnonzero(values.notnull().any("layer").values)})
    if not values.size:
        raise ResultError(f"{measure!r} has no number at any pass of this mode; choose another mode or measure.")
    given = [str(name) for name in one.data_vars if "score" in one[name].attrs]
    drawn = style.chosen(given, "score", scores) if given or scores is not None else []
    panels = [ax] if ax is not None else _panels(names, len(drawn) > 0)
    words = WORDS.get(measure, measure.replace("_", " "))
    words += f", {style.hop_words(values['hop'].item())}" if "hop" in one[measure].dims else ""
    words += {"eval": ", in evaluation mode", "control": ", without message passing"}.get(mode_of(one), "")
    panels[0].set_title(style.plain(words), fontsize=9, loc="left")
    shown = _map(panels[0], values, names, dim, log)
    style.side_bar(panels[0], shown)
    if ax is None and drawn:
        _scores(panels[1], one.isel({dim: one[dim].isin(values[dim]).values}), drawn, dim)
        panels[0].tick_params(labelbottom=False)
    else:
        panels[0].set_xlabel(dim, fontsize=9)
    if ax is None:
        lines = _verdicts(ds)
        width = int(13 * WIDTH)
        if lines:
            text = "\n".join(fill(style.plain(line), width) for line in lines)
            panels[0].figure.suptitle(text, x=0.01, ha="left", fontsize=9, fontweight="bold")
    return panels[0]


def _passes(run: "xr.Dataset", dim: str) -> int:
    """Passes of a mode that recorded something."""
    return int(run[MEASURE].notnull().any([other for other in run[MEASURE].dims if other != dim]).sum())


def _verdicts(ds: "xr.Dataset") -> list[str]:
    """What is said of the layers at the end of the run, at most four lines."""
    last = last_pass(ds)
    found = [one.text for one in verdicts(last)] if is_layers(last) else []
    return found[:4] + ([f"and {len(found) - 4} more"] if len(found) > 4 else [])


def _measure(one: "xr.Dataset", measure: str, hop: Any, dim: str) -> "xr.DataArray":
    known = [str(name) for name in one.data_vars if {"layer", dim} <= set(one[name].dims) <= {"layer", dim, "hop"}]
    known = [name for name in known if one[name].dtype.kind in "fib"]
    if measure not in known:
        raise OptionError(f"The result has no measure {measure!r} per layer and pass; it has {style.listed(known)}.")
    values = one[measure]
    if "hop" in values.dims:
        hops = one["hop"].values.tolist()
        values = values.sel(hop=hops[0] if hop is None else style.chosen(hops, "hop", hop)[0])
    return values.transpose("layer", dim)


def _panels(names: Sequence[str], with_scores: bool) -> list[Any]:
    from matplotlib.figure import Figure

    height = 0.9 + 0.19 * min(len(names), MOST_NAMES)
    figure = Figure(figsize=(WIDTH, height + (1.5 if with_scores else 0.3)), layout="constrained")
    ratios = {"height_ratios": [height, 1.1]} if with_scores else {}
    return list(np.ravel(figure.subplots(1 + with_scores, 1, sharex=True, gridspec_kw=ratios)))


def _map(ax: "Axes", values: "xr.DataArray", names: Sequence[str], dim: str, log: bool | None) -> Any:
    from matplotlib.colors import LogNorm, Normalize

    array = values.values.astype(float)
    there = array[np.isfinite(array)]
    limits = style.log_limits(array)
    if limits is None and log:
        limits = float(there[there > 0].min(initial=1.0)), float(there.max())
    norm: Any = Normalize(min(0.0, there.min()), max(there.max(), min(0.0, there.min()) + 1e-12))
    if limits is not None and log is not False:
        norm = LogNorm(limits[0], max(limits[1], 1.01 * limits[0]))
        array = np.where(array < limits[0], limits[0], array)
    place = values[dim].values.astype(float)
    half = np.diff(place) / 2 if len(place) > 1 else np.array([0.5])
    edges = np.concatenate([[place[0] - half[0]], place[:-1] + half[: len(place) - 1], [place[-1] + half[-1]]])
    shown = ax.pcolormesh(edges, np.arange(len(names) + 1), array, cmap=style.MAP, norm=norm, rasterized=True)
    ax.set_facecolor(style.theme_of(ax).chance)  # not recorded
    ticks = style.thinned(len(names), MOST_NAMES)
    ax.set_yticks(ticks + 0.5, [style.plain(names[at]) for at in ticks])
    ax.set_ylim(len(names), 0)
    ax.tick_params(labelsize=8 if len(names) <= 20 else 7)
    return shown


def _scores(ax: "Axes", one: "xr.Dataset", names: Sequence[str], dim: str) -> None:
    colors = style.depth_colors(ax, len(names))
    for name, color in zip(names, colors, strict=True):
        there = one[name].notnull().values
        marker = "o" if there.sum() <= 20 else None
        look: dict[str, Any] = {"color": color, "marker": marker, "markersize": 3, "linewidth": 1.2}
        ax.plot(one[dim].values[there], one[name].values[there], label=style.plain(name), gid=name, **look)
    ax.set_xlabel(dim, fontsize=9)
    ax.set_ylabel("score" if len(names) > 1 else style.plain(names[0]), fontsize=9)
    if len(names) > 1:
        ax.legend(fontsize=7.5, frameon=False, loc="lower left", bbox_to_anchor=(0.0, 0.96), ncols=4, borderaxespad=0.1)
    style.tidy(ax)


def collapse(ds: "xr.Dataset", ax: "Axes | None" = None, *, names: Iterable[str] | None = None) -> "Axes":
    """Draw how much of each layer's energy tells nodes apart, without messages too, and the levels of collapse.

    Bars show the range of the last evaluations. The level of the last hidden layer is a line across all layers, that
    of the outputs a line at their place. Values below 1e-7 are triangles at the lower end.

    Parameters
    ----------
    ds : xarray.Dataset
        ``w.over_layers()`` of a watched model, or ``w.dataset`` for its last pass. It has the control where
        ``watch`` was called with ``control="no_messages"``.
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
    layers = last_pass(ds) if is_run(ds) else ds
    if not is_layers(layers):
        raise ResultError("This picture shows layers of one pass at K = 1; give w.over_layers() of a watched model.")
    labels = layers["snapshot"].values.tolist()
    shown = states(layers, labels) if names is None else style.chosen(labels, "layer", names)
    rows = [labels.index(name) for name in shown]
    own = ax is None
    ax = style.new_axes(1, height=2.9, least=7.0)[0] if ax is None else ax
    ax.set_yscale("log")
    theme = style.theme_of(ax)
    _curve(ax, layers[MEASURE].values[rows], theme.colors[0], "o", "evaluation")
    handles = [style.mark("with messages", color=theme.colors[0], marker="o", markersize=4.5)]
    if CONTROL in layers:
        _curve(ax, layers[CONTROL].values[rows], theme.colors[1], "s", "control")
        handles.append(style.mark("without messages (control)", color=theme.colors[1], marker="s", markersize=4.5))
    if RECENT in layers and layers.sizes["evaluation"] > 1:
        recent = np.maximum(layers[RECENT].transpose("snapshot", "evaluation").values[rows], FLOOR)
        for at in np.flatnonzero(np.isfinite(recent).any(axis=1)):
            span = [np.nanmin(recent[at]), np.nanmax(recent[at])]
            ax.plot([at, at], span, color=theme.colors[0], alpha=0.35, linewidth=6, zorder=2, gid="range")
        label = f"range of the last {recent.shape[1]} evaluations"
        handles.append(style.mark(label, color=theme.colors[0], alpha=0.35, linewidth=6))
    lowest = _finish(ax, [str(name) for name in shown])
    _levels(ax, {place: rows.index(row) for place, row in places(layers).items() if row in rows}, lowest)
    style.legend(np.array([ax]), own, handles)
    lines = [one.text for one in verdicts(layers)]
    title = lines[0] if lines else f"Energy that tells nodes apart, {when(layers).removeprefix('the ')}"
    style.head(np.array([ax]), own, title)
    return ax


def _curve(ax: "Axes", values: np.ndarray, color: str, marker: str, gid: str) -> None:
    """One value per layer in order; those below the floor at the floor, as triangles."""
    at = np.arange(len(values))
    look: dict[str, Any] = {"color": color, "linewidth": 1.4, "zorder": 3}
    ax.plot(at, np.maximum(values, FLOOR), marker=marker, markersize=4.5, gid=gid, **look)
    low = values < FLOOR
    if low.any():
        ax.plot(at[low], np.full(low.sum(), FLOOR), "v", markersize=7, gid=f"{gid} below", clip_on=False, **look)


def _finish(ax: "Axes", names: list[str]) -> float:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    drawn = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in ax.get_lines()])
    lowest = float(max(FLOOR, min(np.nanmin(drawn, initial=1.0) / 2, min(one.level for one in LEVELS.values()) / 4)))
    ax.set_ylim(lowest, 1.4)
    ax.set_xlim(-0.6, len(names) - 0.4)
    style.fit_ticks(ax, names)
    style.tidy(ax)
    ax.set_ylabel("share of the energy\nthat tells nodes apart", fontsize=9)
    ax.yaxis.set_major_locator(LogLocator(numticks=12))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.6f}".rstrip("0").rstrip(".") + " %"))
    ax.yaxis.set_minor_formatter(NullFormatter())
    return lowest


def _levels(ax: "Axes", found: dict[str, int], lowest: float) -> None:
    """The level of the last hidden layer across the picture, that of the outputs at their place; below: collapsed."""
    own, right = style.theme_of(ax), ax.get_xlim()[1]
    for place, at in found.items():
        level = LEVELS[place].level
        ends = [-0.6, right] if place == "last hidden" else [at - 0.4, at + 0.4]
        ax.plot(ends, [level, level], color=own.muted, linewidth=1.4, linestyle=(0, (4, 2)), gid=f"level {place}")
        if place == "last hidden" or len(found) == 1:
            ax.axhspan(lowest, level, color=own.colors[1], alpha=0.08, zorder=0, linewidth=0)
            box = {"facecolor": own.paper, "edgecolor": "none", "alpha": 0.75, "pad": 1.0}
            look: dict[str, Any] = {"color": own.ink, "fontsize": 8, "ha": "left", "bbox": box, "zorder": 4}
            ax.text(
                -0.55, level / 1.15, f"collapsed (below {100 * level:.2g} %, the level of a study)", va="top", **look
            )
