"""Spectra of the layers of one pass, and the frequency response of each layer, over the eigenvalues."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.core.registry import EXACT
from spectrata.errors import ResultError
from spectrata.inputs.numbers import whole
from spectrata.plot import style
from spectrata.plot.cells import BINS, Cells, cells_of
from spectrata.plot.maps import ratio_bar, ratio_mesh
from spectrata.results.schema import View, view
from spectrata.stats.describe.align import align
from spectrata.stats.findings.verdict import places

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

RESPONSE = "relative response"
STATES = ("input", "hidden", "output")
FEW = 6  # layers up to which each is a staircase; more are the rows of a map
MOST_NAMES = 40
SPAN = 1e-4  # of the largest value; smaller ones do not stretch the axis
BOUNDED = ("normalized", "random_walk")  # Laplacians with eigenvalues in [0, 2]


def layers(
    ds: "xr.Dataset",
    ax: "Axes | None" = None,
    *,
    labels: "xr.Dataset | None" = None,
    hop: Any = None,
    names: Iterable[str] | None = None,
    bins: int = BINS,
) -> "Axes":
    """Draw the spectrum of each layer over the eigenvalues, relative to a flat spectrum.

    Up to 6 layers are staircases, more are the rows of a map from the first at the top.

    Parameters
    ----------
    ds : xarray.Dataset
        One pass with its layers as snapshots: ``w.over_layers()``; or any result with snapshots, with gft.
    ax : Axes, optional
    labels : xarray.Dataset, optional
        A result without snapshots on the same graph, such as that of the classes as indicators; drawn with the rest.
    hop : optional
        The first by default.
    names : optional
        Snapshots to draw; by default the input, the hidden states and the output of a watched pass, else all.
    bins : int
        Bins of equal counts of components off zero, at least three in each.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> values = np.random.default_rng(0).normal(size=(3, 40, 2))
    >>> axes = st.plot.layers(st.spectra(nx.cycle_graph(40), values, "gft", hops=1), bins=5)
    >>> axes.figure.get_suptitle()
    'Energy of each layer over a flat spectrum, 1 hop'
    """
    result, rows, shown, at = _chosen(ds, names, hop)
    bins = _bins(bins, result)
    cells = cells_of(result, EXACT, bins)[at]
    values, words = cells.ratio[rows], [str(name) for name in shown]
    if labels is not None:
        align(result.ds, labels, ("The layers", "The labels"))
        other = cells_of(view(labels, "The labels"), EXACT, bins)[at]
        values, words = np.concatenate([values, other.ratio[-1:]]), [*words, "labels"]
    title = f"Energy of each layer over a flat spectrum, {style.hop_words(at)}"
    return _draw(ax, result, cells, values, words, "energy / flat spectrum", title)


def filters(
    ds: "xr.Dataset", ax: "Axes | None" = None, *, hop: Any = None, names: Iterable[str] | None = None, bins: int = BINS
) -> "Axes":
    """Draw the frequency response of each layer: its magnitudes over those of the state before it.

    Both are divided by their norm off zero. Above 1 a layer strengthens a frequency against the others, below 1 it
    weakens it. Watch with ``laplacian="normalized", self_loops=True`` for the response over the operator of GCN, with
    eigenvalues in [0, 2]. Up to 6 steps are staircases, more are the rows of a map.

    Parameters
    ----------
    ds : xarray.Dataset
        One pass with its layers as snapshots: ``w.over_layers()``; or any result with ordered snapshots, with gft.
    ax : Axes, optional
    hop : optional
        The first by default.
    names : optional
        Snapshots to draw, in order; by default the input, the hidden states and the output of a watched pass.
    bins : int
        Bins of equal counts of components off zero, at least three in each.

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
    result, rows, shown, at = _chosen(ds, names, hop)
    if len(rows) < 2:
        raise ResultError("A frequency response needs two states, one after the other.")
    cells = cells_of(result, EXACT, _bins(bins, result))[at]
    before, after = cells.share[rows[:-1]], cells.share[rows[1:]]
    ratio = np.sqrt(np.divide(after, before, out=np.full(after.shape, np.nan), where=before > 0))
    title = f"Each layer over the one before it, {style.hop_words(at)}"
    return _draw(ax, result, cells, ratio, [f"to {name}" for name in shown[1:]], RESPONSE, title)


def _chosen(ds: "xr.Dataset", names: Iterable[str] | None, hop: Any) -> tuple[View, list[int], list[Any], Any]:
    """A result, its snapshots to draw by position and label, and a hop."""
    result = view(ds)
    if len(result.row_dims) != 1:
        raise ResultError("This picture shows snapshots; give w.over_layers() of a watched model.")
    result.require_algorithms([EXACT])
    labels = result.labels(result.row_dims[0])
    shown = states(ds, labels) if names is None else style.chosen(labels, "snapshot", names)
    at = result.hops[0] if hop is None else style.chosen(result.hops, "hop", hop)[0]
    return result, [labels.index(label) for label in shown], list(shown), at


def _bins(wanted: int, result: View) -> int:
    return min(whole(wanted, "bins"), max(4, result.n_nodes // 3))


def states(ds: "xr.Dataset", labels: Sequence[Any]) -> list[Any]:
    """The input, the hidden states and the output of a watched pass; all snapshots where there are no such."""
    roles = ds["role"].values.tolist() if "role" in ds.coords else []
    judged = places(ds).values() if roles and "snapshot" in ds.dims else ()
    found = [
        label for at, (label, role) in enumerate(zip(labels, roles, strict=False)) if role in STATES or at in judged
    ]
    return found if len(found) > 1 else list(labels)


def _draw(
    ax: "Axes | None", result: View, cells: Cells, values: np.ndarray, names: list[str], up: str, title: str
) -> "Axes":
    own, many = ax is None, len(names) > FEW
    if ax is None:
        ax = style.new_axes(1, height=0.5 + 0.17 * min(len(names), MOST_NAMES) if many else 2.8, least=7.0)[0]
    edges = cells.edges
    if many:
        drawn = ratio_mesh(ax, edges, np.arange(len(names) + 1), values, up == RESPONSE)
        ratio_bar(ax, drawn, up)
        ticks = style.thinned(len(names), MOST_NAMES if own else 12)
        ax.set_yticks(ticks + 0.5, [style.plain(names[tick]) for tick in ticks])
        ax.set_ylim(len(names), 0)
    else:
        _stairs(ax, edges, values, names)
        ax.set_ylabel(up, fontsize=9)
    if result.ds.attrs.get("laplacian") in BOUNDED:
        ax.set_xlim(0.0, 2.0)
    elif len(edges) > 2 and edges[len(edges) // 2] < 0.1 * edges[-1]:
        ax.set_xscale("log")
        style.log_ticks(ax.xaxis)
    ax.set_xlabel(f"eigenvalue λ of the Laplacian ({result.operator_name})", fontsize=9)
    style.tidy(ax)
    style.head(np.array([ax]), own, title)
    if not many:
        colors = style.depth_colors(ax, len(names))
        style.legend(
            np.array([ax]), own, [style.mark(style.plain(one), color=c) for one, c in zip(names, colors, strict=True)]
        )
    return ax


def _stairs(ax: "Axes", edges: np.ndarray, values: np.ndarray, names: list[str]) -> None:
    """One staircase per layer, and a line at 1."""
    for name, row, color in zip(names, values, style.depth_colors(ax, len(names)), strict=True):
        heights = np.append(row, row[-1:])
        look: dict[str, Any] = {"color": color, "linewidth": 1.6, "gid": name}
        look |= {"linestyle": (0, (1, 1))} if name == "labels" else {}
        ax.plot(edges, np.where(heights > 0, heights, np.nan), drawstyle="steps-post", **look)
    there = values[np.isfinite(values) & (values > 0)]
    ax.axhline(1.0, color=style.theme_of(ax).muted, linewidth=0.8, linestyle=(0, (4, 2)), gid="flat", zorder=1)
    top = max(1.0, there.max(initial=1.0))
    ax.set_yscale("log")
    ax.set_ylim(max(min(1.0, there.min(initial=1.0)), SPAN * top) / 1.25, top * 1.25)
    style.log_ticks(ax.yaxis)
