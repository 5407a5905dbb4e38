"""The signal: nodes at the position of their vectors."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import OptionError
from spectrata.plot.places import directions, two_axes
from spectrata.plot.style import (
    GREY,
    PALETTE,
    as_result,
    chosen,
    given_axes,
    new_axes,
    plain,
    row_names,
    tidy,
    write_in,
)
from spectrata.results.schema import view

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

NAMED = 40  # nodes up to which they carry their names
MOST_EDGES = 5000


def embedding(
    ds: "xr.Dataset",
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    snapshots: Iterable[Any] | None = None,
    color: Any = None,
) -> np.ndarray:
    """Draw the nodes where their vectors are, one panel per snapshot, with the edges of the graph.

    More than two columns are seen along their first two principal axes, the same for all snapshots; under the angular
    metric vectors are taken as directions. One column is drawn against the rows of the nodes.

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
    ['0', '2', '3']
    """
    result = view(as_result(ds))
    values = result.signal
    if values is None:
        raise OptionError("The result did not keep its signal; compute it with keep=['signal'].")
    moments = row_names(result)
    if snapshots is not None and result.rows is not None:
        dims = ", ".join(result.row_dims)
        shown = [result.rows.index(moment) for moment in chosen(result.rows, dims, snapshots)]
    else:
        shown = sorted({0, len(moments) // 2, len(moments) - 1})
    names = result.column_names
    places, words = two_axes(directions(values, result.metric), names)
    axes = new_axes(len(shown), height=3.2) if ax is None else given_axes(ax, len(shown), "snapshots")
    look = _colors(color, values.shape[1])
    low, high = np.nanmin(places, axis=(0, 1), initial=0.0), np.nanmax(places, axis=(0, 1), initial=0.0)
    for panel, index in zip(axes, shown, strict=True):
        _panel(panel, places[index], result.fixed("edges", "edge", "end"), look, result.ds["node"].values)
        panel.set_title(plain(moments[index]), fontsize=9)
        margin = 0.08 * np.maximum(high - low, 1e-9)
        panel.set_xlim(low[0] - margin[0], high[0] + margin[0])
        panel.set_ylim(low[1] - margin[1], high[1] + margin[1])
        panel.locator_params(nbins=5)
        if values.shape[2] > 1:
            panel.set_aspect("equal", adjustable="box")
        if values.shape[2] == 1:
            panel.set_xlabel(plain(names[0]) if names else "value", fontsize=8)
            panel.set_ylabel("row of the node" if index == shown[0] else "", fontsize=8)
        else:
            panel.set_xlabel(plain(words) if index == shown[0] else "", fontsize=8)
    return axes


def _colors(color: Any, n: int) -> dict[str, Any]:
    if color is None:
        return {"c": PALETTE[0]}
    given = np.asarray(color)
    if given.shape != (n,):
        raise OptionError(f"color has shape {given.shape}; give one number or label for each of the {n} nodes.")
    if given.dtype.kind in "fc":
        return {"c": given, "cmap": "cividis"}
    labels, index = np.unique(given, return_inverse=True)
    if len(labels) > len(PALETTE):
        return {"c": index, "cmap": "viridis"}
    return {"c": [PALETTE[i] for i in index]}


def _panel(ax: "Axes", places: np.ndarray, edges: np.ndarray, look: dict[str, Any], names: np.ndarray) -> None:
    from matplotlib.collections import LineCollection

    tidy(ax)
    if np.isnan(places).any(axis=1).all():
        write_in(ax, "undefined: zero vector")
        return
    if len(edges) <= MOST_EDGES:
        lines = LineCollection(places[edges], colors=GREY, linewidths=0.6, alpha=0.35, zorder=1)
        ax.add_collection(lines, autolim=False)
    many = len(places) > NAMED
    ax.scatter(
        places[:, 0],
        places[:, 1],
        s=8 if many else 26,
        zorder=2,
        linewidths=0,
        gid="nodes",
        rasterized=len(places) > 2000,
        **look,
    )
    if not many:
        for (x, y), name in zip(places, names, strict=True):
            if np.isfinite(x + y):
                ax.annotate(plain(name), (x, y), xytext=(4, 4), textcoords="offset points", fontsize=7)
