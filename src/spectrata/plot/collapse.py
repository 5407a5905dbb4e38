"""How far each layer of a watched model has collapsed: the evaluation, its control, and the levels of the study."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import ResultError
from spectrata.plot.layers import states
from spectrata.plot.style import GREY, PALETTE, chosen, fit_ticks, log_ticks, new_axes, plain, thinned, tidy
from spectrata.stats.verdict import CONTROL, LEVELS, MEASURE, RECENT, is_layers, places, when
from spectrata.stats.watched import is_run, last_pass

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

FLOOR = 1e-7  # smaller values are drawn here, as triangles: they would take most of the axis
NAME_POINTS = 20  # between two slanted names along the axis, in points


def collapse(ds: "xr.Dataset", ax: "Axes | None" = None, *, names: Iterable[str] | None = None) -> "Axes":
    """Draw ``off_zero_live`` of each layer: at the evaluation, without messages, and the levels of collapse.

    Bars show the range of the last evaluations. Each level is drawn at the place that it was chosen for, the last
    hidden layer and the outputs. Values below 1e-7 are drawn as triangles at the lower end.

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
    shown = states(layers, labels) if names is None else chosen(labels, "layer", names)
    rows = [labels.index(name) for name in shown]
    own = ax is None
    ax = new_axes(1, height=3.2, least=7.0)[0] if ax is None else ax
    ax.set_yscale("log")
    _curve(ax, layers[MEASURE].values[rows], PALETTE[0], "o", "with messages", "evaluation")
    if RECENT in layers and layers.sizes["evaluation"] > 1:
        _range(ax, layers[RECENT].transpose("snapshot", "evaluation").values[rows])
    if CONTROL in layers:
        _curve(ax, layers[CONTROL].values[rows], PALETTE[1], "s", "control: self-loops only", "control")
    _levels(ax, {place: rows.index(row) for place, row in places(layers).items() if row in rows})
    _finish(ax, [str(name) for name in shown], own)
    ax.set_title(plain(f"Energy off zero of the directions (K = 1), {when(layers).removeprefix('the ')}"), fontsize=9)
    return ax


def _curve(ax: "Axes", values: np.ndarray, color: str, marker: str, label: str, gid: str) -> None:
    """One value per layer in order; those below the floor at the floor, as triangles."""
    at = np.arange(len(values))
    style: dict[str, Any] = {"color": color, "linewidth": 1.4, "zorder": 3}
    ax.plot(at, np.maximum(values, FLOOR), marker=marker, markersize=4.5, label=label, gid=gid, **style)
    low = values < FLOOR
    if low.any():
        ax.plot(at[low], np.full(low.sum(), FLOOR), "v", markersize=7, gid=f"{gid} below", clip_on=False, **style)


def _range(ax: "Axes", values: np.ndarray) -> None:
    """Smallest and largest value of each layer at the last evaluations."""
    for at, own in enumerate(np.maximum(values, FLOOR)):
        if np.isfinite(own).any():
            label = f"range of the last {values.shape[1]}" if at == 0 else None
            span = [np.nanmin(own), np.nanmax(own)]
            ax.plot([at, at], span, color=PALETTE[0], alpha=0.35, linewidth=6, zorder=2, label=label, gid="range")


def _levels(ax: "Axes", found: dict[str, int]) -> None:
    """The level of each place as a line at that place."""
    label: str | None = "level of collapse (study)"
    for place, at in found.items():
        level = LEVELS[place].level
        ends = [at - 0.45, at + 0.45]
        ax.plot(ends, [level, level], color=GREY, linewidth=2.2, zorder=4, label=label, gid=f"level {place}")
        label = None


def _finish(ax: "Axes", names: list[str], own: bool) -> None:
    drawn = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in ax.get_lines()])
    there = drawn[np.isfinite(drawn)]
    ax.set_ylim(max(FLOOR, there.min(initial=1.0) / 1.6) if there.min(initial=1.0) > FLOOR else FLOOR, 1.3)
    ax.set_xlim(-0.6, len(names) - 0.4)
    width = ax.get_window_extent().width / ax.figure.dpi * 72
    ticks = thinned(len(names), max(2, int(width / NAME_POINTS)))
    fit_ticks(ax, ticks, [names[tick] for tick in ticks], 60)
    ax.set_ylabel(MEASURE, fontsize=9)
    tidy(ax)
    log_ticks(ax.yaxis)
    ax.grid(axis="y", linewidth=0.4, alpha=0.4)
    if own:
        ax.figure.legend(fontsize=8, frameon=False, loc="outside lower center", ncols=4)
    else:
        ax.legend(fontsize=7, frameon=False)
