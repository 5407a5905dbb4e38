"""Embeddings: nodes at the position of their vectors."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import OptionError
from spectrata.inputs.labels import Labels, coded
from spectrata.plot import style
from spectrata.plot.painting import NAMED, Panel, dots, paint, paint_labels, panel_height, place_nodes, write_name
from spectrata.plot.positions import directions, node_places, two_axes
from spectrata.results.schema import view

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes


def embedding(
    ds: "xr.Dataset",
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    snapshots: Iterable[Any] | None = None,
    color: Any = None,
) -> np.ndarray:
    """Draw the nodes where their vectors are, one panel per snapshot, with the edges of the graph.

    More than two columns are seen along their first two principal axes, the same for all snapshots; under the angular
    metric vectors are taken as directions. One number per node is painted on the graph.

    Parameters
    ----------
    ds : xarray.Dataset
        A result that kept its signal (by itself up to 200 nodes, else with ``keep=["signal"]``).
    ax : Axes or sequence of Axes, optional
        One for each snapshot drawn.
    snapshots : optional
        Which; by default first, middle and last.
    color : array_like, shape (n,), optional
        A number or a label for each node.

    Returns
    -------
    ndarray of Axes, shape (panels,)

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> values = np.random.default_rng(0).normal(size=(4, 5, 2))
    >>> axes = st.plot.embedding(st.spectra(nx.path_graph(5), values))
    >>> [panel.get_title() for panel in axes]
    ['snapshot 0', 'snapshot 2', 'snapshot 3']
    """
    result = view(style.as_result(ds))
    values = result.signal
    if values is None:
        raise OptionError("The result did not keep its signal; compute it with keep=['signal'].")
    moments = style.row_names(result)
    shown = sorted({0, len(moments) // 2, len(moments) - 1})
    if snapshots is not None and result.rows is not None:
        dims = ", ".join(result.row_dims)
        shown = [result.rows.index(moment) for moment in style.chosen(result.rows, dims, snapshots)]
    edges, n, width = result.fixed("edges", "edge", "end"), values.shape[1], values.shape[2]
    colors = None if color is None else _colors(color, n)
    flat = width == 1  # painted on the graph
    places, words = two_axes(directions(values, result.metric), result.column_names)
    if flat:
        layout = node_places(edges, n)
        places, words = np.broadcast_to(layout, (len(moments), n, 2)), str((result.column_names or ("value",))[0])
    height = panel_height(places[0]) if flat else 3.2
    axes = style.new_axes(len(shown), height=height) if ax is None else style.given_axes(ax, len(shown), "snapshots")
    limits = np.array([f(places[shown], (0, 1), initial=0.0) for f in (np.nanmin, np.nanmax)])  # (2, 2)
    limits = limits + np.array([[-0.06], [0.06]]) * max(1e-9, np.ptp(limits, axis=0).max())
    handles: list[Any] = []
    for panel, index in zip(axes, shown, strict=True):
        own: Any = values[index][:, 0] if flat and colors is None else colors
        handles = _embed(panel, places[index], edges, own, result.ds["node"].values, words if flat else "") or handles
        if not flat and panel.axison:
            panel.set(xlim=limits[:, 0], ylim=limits[:, 1])
        panel.set_title(style.plain(f"{result.row_dims[0]} {moments[index]}") if result.row_dims else "", fontsize=9)
    if not flat:
        axes[0].set_xlabel(style.plain(words), fontsize=8, loc="left")
    style.legend(axes, ax is None, handles)
    return axes


def _colors(color: Any, n: int) -> "np.ndarray | Labels":
    given = np.asarray(color)
    if given.shape != (n,):
        raise OptionError(f"color has shape {given.shape}; give one number or label for each of the {n} nodes.")
    return given.astype(float) if given.dtype.kind == "f" else coded(given.tolist())


def _embed(ax: "Axes", places: np.ndarray, edges: np.ndarray, colors: Any, names: np.ndarray, words: str) -> list[Any]:
    """Nodes at their places; what a legend names. Words are those of a colour bar of nodes painted on the graph."""
    known = np.isfinite(places).all(axis=1)
    if not known.any():
        style.tidy(ax)
        style.write_in(ax, "undefined: zero vector")
        return []
    handles = []
    edges = edges[known[edges].all(axis=1)]
    if colors is None:
        dots(ax, places, place_nodes(ax, places, edges), color=style.theme_of(ax).colors[0], linewidths=0, gid="nodes")
    elif isinstance(colors, Labels):
        handles = paint_labels(ax, places, edges, colors)
    else:
        paint(ax, places, edges, Panel("", colors, words))
    if not words:
        ax.set_axis_on()
        style.tidy(ax)
        ax.set_aspect("equal", adjustable="box")
        ax.locator_params(nbins=5)
    if len(places) <= NAMED:
        for place, name in zip(places[known], names[known], strict=True):
            write_name(ax, place, name)
    return handles
