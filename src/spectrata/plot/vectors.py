"""Embeddings: nodes at the position of their vectors."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import OptionError
from spectrata.inputs.labels import Labels, coded
from spectrata.plot import style
from spectrata.plot.painting import NAMED, Panel, draw_panels, paint, place_nodes, write_names
from spectrata.plot.positions import directions, node_places, two_axes
from spectrata.plot.reading import as_result, chosen_rows, row_names
from spectrata.results.build import graph_of
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
    result = view(as_result(ds))
    values, moments = result.signal, row_names(result)
    if values is None:
        raise OptionError("The result did not keep its signal; compute it with keep=['signal'].")
    graph, n = graph_of(result.ds), values.shape[1]
    first = sorted({0, len(moments) // 2, len(moments) - 1})
    shown = first if snapshots is None or result.rows is None else chosen_rows(result, snapshots)
    titles = [f"{result.row_dims[0]} {moments[index]}" if result.row_dims else "" for index in shown]
    colors = None if color is None else _colors(color, n)
    if values.shape[2] == 1:
        words = str((result.column_names or ("value",))[0])
        own = [values[index, :, 0] if colors is None else colors for index in shown]
        panels = [Panel(title, one, words) for title, one in zip(titles, own, strict=True)]
        return draw_panels(panels, node_places(graph.edges, n), graph, ax, len(panels), "snapshots")
    places, words = two_axes(directions(values, result.metric), result.column_names)
    sheet = style.Sheet(ax, len(shown), "snapshots", height=3.2)
    ends = np.array([f(places[shown], (0, 1), initial=0.0) for f in (np.nanmin, np.nanmax)])  # (2, 2)
    ends += np.array([[-0.06], [0.06]]) * max(1e-9, np.ptp(ends, axis=0).max())
    handles: list[Any] = []
    for panel, index, title in zip(sheet.axes, shown, titles, strict=True):
        known = np.isfinite(places[index]).all(axis=1)
        if known.any():
            place_nodes(panel, places[index], graph.edges[known[graph.edges].all(axis=1)])
            size = float(np.clip(2_500.0 / n, 4.0, 60.0))  # the same in all panels
            handles = paint(panel, places[index], graph.edges, Panel("", colors), size)
            write_names(panel, places[index], graph.names, np.flatnonzero(known) if n <= NAMED else [])
        else:
            style.write_in(panel, "undefined: zero vector")
        panel.set_axis_on()
        style.tidy(panel)
        panel.set(xlim=ends[:, 0], ylim=ends[:, 1])
        panel.set_aspect("equal", adjustable="box")
        panel.locator_params(nbins=5)
        panel.set_title(style.plain(title), fontsize=9)
    sheet.ax.set_xlabel(style.plain(words), fontsize=8, loc="left")
    sheet.legend(handles)
    return sheet.axes


def _colors(color: Any, n: int) -> "np.ndarray | Labels":
    given = np.asarray(color)
    if given.shape != (n,):
        raise OptionError(f"color has shape {given.shape}; give one number or label for each of the {n} nodes.")
    return given.astype(float) if given.dtype.kind == "f" else coded(given.tolist())
