"""Spectra of the layers of one pass, and the frequency response of each layer, over the eigenvalues."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.core.registry import EXACT
from spectrata.errors import ResultError
from spectrata.inputs.numbers import whole
from spectrata.plot.style import GREY, chosen, depth_bar, depth_colors, log_ticks, new_axes, plain, tidy
from spectrata.results.schema import View, view
from spectrata.stats.describe.align import align
from spectrata.stats.describe.levels import group_reduce, level_coordinates, level_groups
from spectrata.stats.verdict import places

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

STATES = ("input", "hidden", "output")
BINS = 30
FEW = 5  # curves up to which a legend names each; more are named along a colour bar
MOST_NAMES = 18  # along a colour bar of our own figure
SQUEEZED = 0.1  # eigenvalues are drawn on a log axis if half of the components lie below this share of the largest
SPAN = 1e-6  # of the largest value; smaller ones are rounding and do not stretch the axis


def layers(
    ds: "xr.Dataset",
    ax: "Axes | None" = None,
    *,
    labels: "xr.Dataset | None" = None,
    hop: int | None = None,
    names: Iterable[str] | None = None,
    bins: int = BINS,
) -> "Axes":
    """Draw the spectrum of each layer in bins over the eigenvalues, relative to a flat spectrum, on a log scale.

    The colours follow the order of the layers. Eigenvalues are on a log axis if half of them are below a tenth of the
    largest.

    Parameters
    ----------
    ds : xarray.Dataset
        One pass with its layers as snapshots: ``w.over_layers()``; or any result with snapshots, with gft.
    ax : Axes, optional
    labels : xarray.Dataset, optional
        A result without snapshots on the same graph, such as that of the classes as indicators; drawn over the rest.
    hop : int, optional
        The first by default.
    names : optional
        Snapshots to draw; by default the input, the hidden states and the output of a watched pass, else all.
    bins : int
        Bins of equal counts of components off zero.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> values = np.random.default_rng(0).normal(size=(3, 40, 2))
    >>> axes = st.plot.layers(st.spectra(nx.cycle_graph(40), values, "gft", hops=1), bins=5)
    >>> axes.get_title(), len(axes.get_lines())
    ('gft, K = 1: energy over that of a flat spectrum', 4)
    """
    result, rows, shown, row = _rows(ds, names, hop)
    edges, energy = _binned(result, row, bins)
    own = ax is None
    ax = new_axes(1, height=3.4, least=7.0)[0] if ax is None else ax
    _stairs(ax, edges, energy[rows], shown)
    if labels is not None:
        from matplotlib import rcParams

        align(result.ds, labels, ("The layers", "The labels"))
        other = view(labels, "The labels")
        values = _binned(other, _at(other, result.hops[row]), bins)[1][-1]
        style: dict[str, Any] = {"color": rcParams["text.color"], "linestyle": (0, (1, 1)), "linewidth": 1.8}
        _stair(ax, edges, values, label="labels", gid="labels", **style)
    _finish(ax, shown, "energy / flat spectrum", own, "flat")
    ax.set_title(f"{EXACT}, K = {result.hops[row]}: energy over that of a flat spectrum", fontsize=9)
    return ax


def filters(
    ds: "xr.Dataset",
    ax: "Axes | None" = None,
    *,
    hop: int | None = None,
    names: Iterable[str] | None = None,
    bins: int = BINS,
) -> "Axes":
    """Draw the frequency response of each layer: its magnitudes over those of the state before it, in bins.

    Both are divided by their norm off zero. Above 1 a layer strengthens a frequency against the others, below 1 it
    weakens it. It draws shares only, without a band of chance. Colours and axes are those of :func:`layers`.

    Parameters
    ----------
    ds : xarray.Dataset
        One pass with its layers as snapshots: ``w.over_layers()``; or any result with ordered snapshots, with gft.
    ax : Axes, optional
    hop : int, optional
        The first by default.
    names : optional
        Snapshots to draw, in order; by default the input, the hidden states and the output of a watched pass.
    bins : int
        Bins of equal counts of components off zero.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> x = np.random.default_rng(0).normal(size=40)
    >>> steps = np.stack([x, (x + np.roll(x, 1) + np.roll(x, -1)) / 3])
    >>> axes = st.plot.filters(st.spectra(nx.cycle_graph(40), steps[..., None], "gft", hops=1), bins=4)
    >>> low, high = axes.get_lines()[0].get_ydata()[[0, -1]]
    >>> bool(low > 1 > high)
    True
    """
    result, rows, shown, row = _rows(ds, names, hop)
    if len(rows) < 2:
        raise ResultError("A frequency response needs two states, one after the other.")
    edges, energy = _binned(result, row, bins)
    before, after = energy[rows[:-1]], energy[rows[1:]]
    ratio = np.sqrt(np.divide(after, before, out=np.full(after.shape, np.nan), where=before > 0))
    own = ax is None
    ax = new_axes(1, height=3.4, least=7.0)[0] if ax is None else ax
    steps = [f"{one} to {other}" for one, other in pairwise(shown)]
    _stairs(ax, edges, ratio, steps)
    _finish(ax, [f"to {name}" for name in shown[1:]], "relative response", own, "passes")
    ax.set_title(f"{EXACT}, K = {result.hops[row]}: magnitude after each step over before it", fontsize=9)
    return ax


def _rows(ds: "xr.Dataset", names: Iterable[str] | None, hop: int | None) -> tuple[View, list[int], list[Any], int]:
    """A result, its snapshots to draw by position and label, and the position of a hop."""
    result = view(ds)
    if len(result.row_dims) != 1:
        raise ResultError("This picture shows snapshots; give w.over_layers() of a watched model.")
    result.require_algorithms([EXACT])
    result.require_complete("a picture in bins")
    labels = result.labels(result.row_dims[0])
    shown = states(ds, labels) if names is None else chosen(labels, "snapshot", names)
    return result, [labels.index(label) for label in shown], list(shown), _at(result, hop)


def states(ds: "xr.Dataset", labels: Sequence[Any]) -> list[Any]:
    """The input, the hidden states and the output of a watched pass; all snapshots where there are no such."""
    roles = ds["role"].values.tolist() if "role" in ds.coords else []
    judged = places(ds).values() if roles else ()
    found = [
        label for at, (label, role) in enumerate(zip(labels, roles, strict=False)) if role in STATES or at in judged
    ]
    return found if len(found) > 1 else list(labels)


def _at(result: View, hop: int | None) -> int:
    return 0 if hop is None else result.hops.index(chosen(result.hops, "hop", hop)[0])


def _binned(result: View, row: int, bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues that bound the bins, ``(B + 1,)``, and energy of gft per component over the mean, ``(R, B)``."""
    groups, count = level_groups(result, "band", whole(bins, "bins"))
    bounds = {name: values[row] for name, (_, values) in level_coordinates(result, groups, count, "band").items()}
    size = bounds["band_size"]
    used = size > 0
    magnitude = result.balanced[result.row_of(EXACT)][:, row : row + 1]
    energy = np.nan_to_num(group_reduce(magnitude, groups[row : row + 1], count)[:, 0]) ** 2
    flat = energy.sum(axis=1, keepdims=True) * size / max(1, size.sum())
    ratio = np.divide(energy, flat, out=np.full(energy.shape, np.nan), where=flat > 0)
    edges = np.append(bounds["band_lower"][used], bounds["band_upper"][used][-1:])
    return edges, ratio[:, used]


def _stairs(ax: "Axes", edges: np.ndarray, curves: np.ndarray, names: Sequence[Any]) -> None:
    """One staircase per layer, coloured by its depth; eigenvalues on a log axis where most are small."""
    if len(edges) > 2 and edges[len(edges) // 2] < SQUEEZED * edges[-1]:
        ax.set_xscale("log")
    colors = depth_colors(ax, len(curves))
    for name, values, color in zip(names, curves, colors, strict=True):
        label = plain(name) if len(curves) <= FEW else None
        _stair(ax, edges, values, color=color, linewidth=1.6 if len(curves) <= FEW else 1.2, label=label, gid=str(name))


def _stair(ax: "Axes", edges: np.ndarray, values: np.ndarray, **style: Any) -> None:
    heights = np.append(values, values[-1:])
    ax.plot(edges, np.where(heights > 0, heights, np.nan), drawstyle="steps-post", **style)


def _finish(ax: "Axes", names: Sequence[Any], up: str, own: bool, gid: str) -> None:
    """A line at 1, log axes with ticks, and what the colours are."""
    heights = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in ax.get_lines()] or [np.ones(1)])
    there = heights[np.isfinite(heights) & (heights > 0)]
    ax.axhline(1.0, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)), gid=gid)
    top = max(1.0, there.max(initial=1.0))
    ax.set_yscale("log")
    ax.set_ylim(max(min(1.0, there.min(initial=1.0)), SPAN * top) / 1.25, top * 1.25)
    ax.set_xlabel("eigenvalue λ", fontsize=9)
    ax.set_ylabel(up, fontsize=9)
    tidy(ax)
    log_ticks(ax.yaxis)
    if ax.get_xscale() == "log":
        log_ticks(ax.xaxis)
    if len(names) > FEW:
        depth_bar(ax, [plain(name) for name in names], MOST_NAMES if own else MOST_NAMES // 3)
    handles, labels = ax.get_legend_handles_labels()
    if not labels:
        return
    if own:  # constrained layout leaves room for it
        columns = 1 if max(map(len, labels)) > 40 else 2 if max(map(len, labels)) > 22 else 3
        ax.figure.legend(handles, labels, fontsize=8, frameon=False, loc="outside lower center", ncols=columns)
    else:
        ax.legend(handles, labels, fontsize=7, frameon=False)
