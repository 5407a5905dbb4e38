"""Maps of energy: frequency by hop, and frequency by layer, epoch or graph."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.plot import style
from spectrata.plot.cells import BINS, LEVEL, RANK_AXIS, Cells, as_components, cells_of
from spectrata.results.schema import is_bands, view

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

OCTAVES = (-2, 4)  # powers of two at which colours end
STEPS = (-3, 3)  # the same for responses, which have two sides


def ratio_mesh(ax: "Axes", x: np.ndarray, y: np.ndarray, ratio: np.ndarray, two_sided: bool = False) -> Any:
    """Cells of energy over a flat spectrum, from pale to strong; or of responses, pale at 1, with two sides."""
    low, high = STEPS if two_sided else OCTAVES
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.clip(np.log2(ratio), low, high)
    cmap = style.signed_map(ax) if two_sided else style.energy_map(ax)
    return ax.pcolormesh(x, y, values, cmap=cmap, vmin=low, vmax=high, rasterized=True)


def ratio_bar(ax: "Axes | list[Axes]", drawn: Any, label: str = "energy / flat spectrum") -> None:
    """The colour bar of such a map, with ratios as numbers."""
    first = ax[0] if isinstance(ax, list) else ax
    bar = style.side_bar(first, drawn, label, within=ax)
    ticks = np.arange(drawn.norm.vmin, drawn.norm.vmax + 1)
    bar.set_ticks(ticks.tolist(), labels=[f"{2.0**tick:g}" if tick >= 0 else f"1/{2**-tick:g}" for tick in ticks])


def hops(ds: "xr.Dataset", ax: "Axes | None" = None, *, algorithm: str | None = None, snapshot: Any = None) -> "Axes":
    """Draw a map of hop by frequency: the energy of each eigenspace over that of a flat spectrum.

    Frequencies are placed by rank, the share of components below. Beyond 30 eigenspaces a cell is a bin of about
    equally many components. Of a calibration, triangles mark q of at most .05, upwards above chance.

    Parameters
    ----------
    ds : xarray.Dataset
        A result of :func:`spectrata.spectra`, :func:`spectrata.calibrate` or :func:`spectrata.band_spectra`; of many
        graphs, each has a row per hop.
    ax : Axes, optional
    algorithm : str, optional
        gft by default, or the first.
    snapshot : optional
        The last by default.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> ds = st.spectra(nx.path_graph(5), [0.0, 1.0, 0.0, 2.0, 1.0])
    >>> [tick.get_text() for tick in st.plot.hops(ds).get_yticklabels()]
    ['1 hop', '2 hops', '3 hops', '4 hops']
    """
    views = style.graph_views(as_components(ds))
    name, title = style.one_algorithm(views[0][1], algorithm), ""
    rows: list[tuple[str, Cells, int]] = []
    for graph, one in views:
        row = -1
        if one.rows is not None:
            row = (
                row
                if snapshot is None
                else one.rows.index(style.chosen(one.rows, ", ".join(one.row_dims), snapshot)[0])
            )
            title = "" if graph else f", {one.row_dims[0]} {style.row_names(one)[row]}"
        rows += [
            (f"{graph} {style.hop_words(hop)}".strip(), cells, row) for hop, cells in cells_of(one, name, BINS).items()
        ]
    own = ax is None
    ax = style.new_axes(1, height=max(1.2, 0.3 * len(rows)), least=7.0)[0] if ax is None else ax
    drawn = None
    for place, (_, cells, row) in enumerate(rows):
        drawn = ratio_mesh(ax, cells.ranks, np.array([place, place + 1.0]), cells.ratio[row][None])
        _marks(ax, cells, row, place)
        if cells.why_empty(row):
            ax.text(0.5, place + 0.5, style.plain(cells.why_empty(row)), ha="center", va="center", fontsize=7.5)
    ax.set_yticks(np.arange(len(rows)) + 0.5, [style.plain(label) for label, _, _ in rows], fontsize=8)
    ax.set_ylim(len(rows), 0)
    ax.set_xlim(0.0, 1.0)
    ax.set_xlabel(RANK_AXIS, fontsize=9)
    ax.tick_params(labelsize=8)
    if drawn is not None:
        ratio_bar(ax, drawn)
    style.head(np.array([ax]), own, f"{name}{title}: where the energy lies at every hop")
    if any(cells.chance is not None for _, cells, _ in rows):
        look: dict[str, Any] = {"color": style.theme_of(ax).ink, "linestyle": "none", "markersize": 5}
        handles = [
            style.mark("above chance (q ≤ 0.05)", marker="^", **look),
            style.mark("below chance", marker="v", **look),
        ]
        style.legend(np.array([ax]), own, handles)
    return ax


def _marks(ax: "Axes", cells: Cells, row: int, place: int) -> None:
    """Triangles on the cells beyond chance."""
    if cells.chance is None:
        return
    low, high, q = (cells.chance[name][row] for name in ("chance_low", "chance_high", "q"))
    middle = (cells.ranks[1:] + cells.ranks[:-1]) / 2
    sides = ((cells.share[row] > (low + high) / 2, "^", "above"), (cells.share[row] <= (low + high) / 2, "v", "below"))
    for side, marker, gid in sides:
        at = middle[side & (q <= LEVEL)]
        look: dict[str, Any] = {
            "markersize": 5,
            "color": style.theme_of(ax).ink,
            "markeredgecolor": style.theme_of(ax).paper,
        }
        if len(at):
            ax.plot(at, np.full(len(at), place + 0.5), marker, markeredgewidth=0.5, gid=gid, **look)


def spectrogram(
    ds: "xr.Dataset",
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    algorithm: str | None = None,
    hops: Iterable[Any] | None = None,
    max_panels: int = style.MAX_PANELS,
) -> np.ndarray:
    """Draw frequency against layer or epoch, one panel per hop: energy over that of a flat spectrum.

    Frequencies are placed by rank, the share of components below; bands of ``band_spectra`` by their eigenvalues.
    Beyond 30 eigenspaces a cell is a bin of about equally many components.

    Parameters
    ----------
    ds : xarray.Dataset
        A result of one graph with snapshots; one without is drawn as a single column. Of many graphs with common
        bands (``spectra_many(..., bands=EDGES)``) every graph is a column, in the order of the pairs.
    ax : Axes or sequence of Axes, optional
        One for each hop drawn.
    algorithm : str, optional
        gft by default, or the first.
    hops : optional
        All by default.
    max_panels : int
        Hops drawn in a new figure.

    Returns
    -------
    ndarray of Axes, shape (panels,)

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> values = np.random.default_rng(0).normal(size=(4, 5, 2))
    >>> axes = st.plot.spectrogram(st.spectra(nx.path_graph(5), values, hops=2))
    >>> [panel.get_title() for panel in axes]
    ['1 hop: 4 pairs', '2 hops: 3 pairs, 2 parts']
    """
    known = style.as_result(ds)
    many = "graph" in known["magnitude"].dims and is_bands(known)
    views = style.graph_views(known) if many else [("", view(known))]
    result = max((one for _, one in views), key=lambda one: len(one.hops))
    sequence = "graph" if many else style.one_sequence(result, "a spectrogram") or "snapshot"
    wanted = style.chosen(result.hops, "hop", hops)
    axes, shown = style.panels_for(ax, wanted, max_panels)
    name = style.one_algorithm(result, algorithm)
    each = [cells_of(one, name, BINS) for _, one in views]
    names = [graph for graph, _ in views] if many else style.row_names(result)
    drawn = None
    for panel, hop in zip(axes, shown, strict=True):
        first = next(cells[hop] for cells in each if hop in cells)
        bounds = first.edges if first.bands else first.ranks
        empty = np.full((1, len(first.size)), np.nan)
        ratio = np.concatenate([cells[hop].ratio if hop in cells else empty for cells in each])
        panel.set_facecolor(style.theme_of(panel).chance)  # without a number
        drawn = ratio_mesh(panel, np.arange(len(ratio) + 1) - 0.5, bounds, ratio.T)
        title = (
            style.hop_words(hop) if many else style.hop_title(hop, style.hop_sizes(result)[:, result.hops.index(hop)])
        )
        panel.set_title(title, fontsize=9)
        style.fit_ticks(panel, names)
        panel.tick_params(labelsize=8)
        reasons = [cells[hop].why_empty(row) for cells in each if hop in cells for row in range(len(cells[hop].share))]
        if all(reasons):
            style.write_in(panel, reasons[0])
    style.name_axes(axes, ax is None, sequence, "eigenvalue λ" if each[0][shown[0]].bands else RANK_AXIS)
    title = f"{name}: where the energy of each {sequence} lies"
    style.head(axes, ax is None, "; ".join(filter(None, [title, style.left_out(wanted, shown)])))
    if ax is None and drawn is not None:
        ratio_bar(list(axes), drawn)
    return axes
