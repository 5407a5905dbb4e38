"""Energy as maps and staircases: frequency by hop, layer, epoch or graph, and the response of layers."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from spectrata.core.registry import EXACT
from spectrata.errors import ResultError
from spectrata.inputs.numbers import whole
from spectrata.plot import reading, style
from spectrata.plot.cells import BINS, LEVEL, RANK_AXIS, Cells, as_components, cells_of, rank_ticks
from spectrata.results.schema import View, view
from spectrata.stats.describe.align import align
from spectrata.stats.describe.levels import over
from spectrata.stats.findings.collapse import is_layers, places

OCTAVES = (-2, 4)  # powers of two at which colours end
STEPS = (-3, 3)  # the same for responses, which have two sides
ENERGY, RESPONSE = "energy / flat spectrum", "relative response"
STATES = ("input", "hidden", "output")
FEW = 6  # layers up to which each is a staircase; more are the rows of a map
MOST_NAMES = 40
SPAN = 1e-4  # of the largest value; smaller ones are left out
BOUNDED = ("normalized", "random_walk")  # Laplacians with eigenvalues in [0, 2]


def spectrogram(
    ds: xr.Dataset, ax: style.Given = None, *, algorithm: str | None = None, hops: Iterable[Any] | None = None
) -> np.ndarray:
    """Draw a map of frequency by layer, epoch or snapshot, one panel per hop; of one signal, frequency by hop.

    Colours show energy over that of a flat spectrum. Frequencies are placed by rank, the share of components below;
    bands of ``band_spectra`` by their eigenvalues. Beyond 30 eigenspaces a cell is a bin of about equally many
    components. Of a calibration, triangles mark q of at most .05, upwards above chance.

    Parameters
    ----------
    ds : xarray.Dataset
        A result of :func:`spectrata.spectra`, :func:`spectrata.calibrate` or :func:`spectrata.band_spectra`. Of many
        graphs every graph is a column, in the order of the pairs: one panel per hop for common bands
        (``spectra_many(..., bands=EDGES)``), else a column for each of its hops.
    ax : Axes or sequence of Axes, optional
        One for each panel.
    algorithm, hops : optional
        By default gft (or the first algorithm), and all hops, up to 12 panels in a new figure.

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
    views = reading.graph_views(as_components(ds))
    name = reading.one_algorithm(views[0][1], algorithm)
    longest = max((one for _, one in views), key=lambda one: len(one.hops))
    dims = longest.row_dims
    if len(dims) > 1:
        words = f"{longest.name} has the dimensions {' and '.join(dims)}, and a spectrogram shows one of them"
        raise ResultError(f"{words}; select along the others, such as ds.isel({dims[0]}=-1).")
    sequence = dims[0] if dims else ""
    each = [(graph, one, cells_of(one, name, BINS)) for graph, one in views]
    by_hop = bool(sequence) or (bool(views[0][0]) and longest.is_bands)
    known = longest.hops if by_hop else ("",)
    sheet, shown, note = reading.hop_panels(ax, known, hops if by_hop else None, least=5.6 if by_hop else 7.0)
    for panel, hop in zip(sheet.axes, shown, strict=True):
        if by_hop:
            blocks = [([graph or row for row in reading.row_names(one)], cells.get(hop)) for graph, one, cells in each]
            title = reading.hop_title(hop, reading.hop_sizes(longest, hop))
            panel.set_title(style.hop_words(hop) if len(views) > 1 else title, fontsize=9)
        else:
            wanted = reading.chosen(longest.hops, "hop", hops)
            pairs = [(graph, hop, cells[hop]) for graph, _, cells in each for hop in wanted if hop in cells]
            blocks = [([f"{graph} {style.hop_words(hop)}".strip()], cells) for graph, hop, cells in pairs]
        drawn, bands = _columns(panel, blocks)
    noun = sequence or ("graph" if len(views) > 1 else "hop")
    sheet.name_axes(sequence or ("graph" if by_hop else ""), "eigenvalue λ" if bands else RANK_AXIS)
    sheet.title(f"{name}: where the energy of each {noun} lies", note)
    if sheet.own:
        style.ratio_bar(sheet.ax, drawn, ENERGY, list(sheet.axes))
    if any(cells is not None and cells.chance is not None for _, cells in blocks):
        ink = sheet.theme.ink
        sheet.legend([style.mark("above chance (q ≤ 0.05)", ink, "^"), style.mark("below chance", ink, "v")])
    return sheet.axes


def _columns(ax: Axes, blocks: Sequence[tuple[list[str], Cells | None]]) -> tuple[Any, bool]:
    """Named columns, without cells where a graph has no such hop: gives a mesh, and whether its cells are bands."""
    ax.set_facecolor(style.theme_of(ax).chance)  # without a number
    at, drawn, bands, empty = 0, None, False, []
    for names, cells in blocks:
        if cells is not None:
            bands, places = cells.bands, cells.edges if cells.bands else cells.ranks
            drawn = style.ratio_map(ax, np.arange(at, at + len(names) + 1) - 0.5, places, cells.ratio.T, OCTAVES)
            _marks(ax, cells, at)
            empty += [cells.why_empty(row) for row in range(len(names))]
        at += len(names)
    style.fit_ticks(ax, [name for names, _ in blocks for name in names])
    ax.set_xlim(-0.5, at - 0.5)
    if not bands:
        rank_ticks(ax.yaxis)
    if all(empty):
        style.write_in(ax, empty[0])
    return drawn, bands


def _marks(ax: Axes, cells: Cells, first: int) -> None:
    """Triangles on the cells beyond chance."""
    if cells.chance is None:
        return
    low, high, q = (cells.chance[name] for name in ("chance_low", "chance_high", "q"))
    middle, above = (cells.ranks[1:] + cells.ranks[:-1]) / 2, cells.share > (low + high) / 2
    look: dict[str, Any] = {"color": style.theme_of(ax).ink, "markeredgecolor": style.theme_of(ax).paper}
    for side, marker, gid in ((above, "^", "above"), (~above, "v", "below")):
        column, cell = np.nonzero(side & (q <= LEVEL))
        if len(cell):
            ax.plot(first + column, middle[cell], marker, markersize=5, markeredgewidth=0.5, gid=gid, **look)


def layers(
    ds: xr.Dataset,
    ax: Axes | None = None,
    *,
    labels: xr.Dataset | None = None,
    hop: Any = None,
    names: Iterable[str] | None = None,
    bins: int = BINS,
) -> Axes:
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
    'Energy of each snapshot over a flat spectrum, 1 hop'
    """
    result, cells, rows, words, at = _states_of(ds, names, hop, bins)
    values = cells.ratio[rows]
    if labels is not None:
        align(result.ds, labels, ("The layers", "The result given as labels"))
        other = cells_of(view(labels, "The result given as labels"), EXACT, _bins(bins, result))[at]
        values, words = np.concatenate([values, other.ratio[-1:]]), [*words, "labels"]
    return _draw_states(ax, result, at, cells, values, words, ENERGY)


def filters(
    ds: xr.Dataset, ax: Axes | None = None, *, hop: Any = None, names: Iterable[str] | None = None, bins: int = BINS
) -> Axes:
    """Draw the frequency response of each layer: its magnitudes over those of the state before it.

    Both are divided by their norm off zero. Above 1 a layer strengthens a frequency against the others, below 1 it
    weakens it. Watch with ``laplacian="normalized", self_loops=True`` for the response over the operator of GCN, with
    eigenvalues in [0, 2]. Up to 6 steps are staircases, more are the rows of a map.

    Parameters
    ----------
    ds, ax, hop, names, bins
        As for :func:`layers`; the order of the snapshots counts.

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
    result, cells, rows, words, at = _states_of(ds, names, hop, bins)
    if len(rows) < 2:
        raise ResultError("A frequency response needs two states, one after the other.")
    ratio = np.sqrt(over(cells.share[rows[1:]], cells.share[rows[:-1]]))
    return _draw_states(ax, result, at, cells, ratio, [f"to {name}" for name in words[1:]], RESPONSE)


def _states_of(
    ds: xr.Dataset, names: Iterable[str] | None, hop: Any, bins: int
) -> tuple[View, Cells, list[int], list[str], Any]:
    """A result with its energy at a hop, the rows of the snapshots to draw, their names, and the hop."""
    if is_layers(ds) and "magnitude" not in ds:
        raise ResultError('The run holds no spectra; watch the model with algorithms="gft" to draw them.')
    result = view(ds)
    if len(result.row_dims) != 1:
        raise ResultError("This picture shows snapshots; give w.over_layers() of a watched model.")
    result.row_of(EXACT)  # or it is refused
    labels = result.labels(result.row_dims[0])
    shown = states(ds, labels) if names is None else reading.chosen(labels, "snapshot", names)
    at = result.hops[0] if hop is None else reading.chosen(result.hops, "hop", hop)[0]
    cells = cells_of(result, EXACT, _bins(bins, result))[at]
    return result, cells, [labels.index(label) for label in shown], [str(label) for label in shown], at


def _bins(wanted: int, result: View) -> int:
    return min(whole(wanted, "bins"), max(4, result.n_nodes // 3))


def states(ds: xr.Dataset, labels: Sequence[Any]) -> list[Any]:
    """The input, the hidden states and the output of a watched pass; all snapshots where there are no such."""
    roles = ds["role"].values.tolist() if "role" in ds.coords else []
    judged = places(ds).values() if roles and "snapshot" in ds.dims else ()
    known = enumerate(zip(labels, roles, strict=False))
    found = [label for at, (label, role) in known if role in STATES or at in judged]
    return found if len(found) > 1 else list(labels)


def _draw_states(
    ax: Axes | None, result: View, hop: Any, cells: Cells, values: np.ndarray, names: list[str], up: str
) -> Axes:
    many, edges = len(names) > FEW, cells.edges
    sheet = style.Sheet(ax, height=0.5 + 0.17 * min(len(names), MOST_NAMES) if many else 2.8, least=7.0)
    ax, noun = sheet.ax, "layer" if "role" in result.ds.coords else result.row_dims[0]
    if many:
        ends = STEPS if up == RESPONSE else OCTAVES
        drawn = style.ratio_map(ax, edges, np.arange(len(names) + 1), values, ends, up == RESPONSE)
        style.ratio_bar(ax, drawn, up)
        style.row_ticks(ax, names, MOST_NAMES if sheet.own else 12)
    else:
        _stairs(ax, edges, values, names)
    if result.ds.attrs.get("laplacian") in BOUNDED:
        ax.set_xlim(0.0, 2.0)
    elif len(edges) > 2 and edges[len(edges) // 2] < 0.1 * edges[-1]:
        ax.set_xscale("log")
        style.log_ticks(ax.xaxis)
    sheet.name_axes(f"eigenvalue λ of the Laplacian ({result.operator_name})", "" if many else up)
    title = f"Each {noun} over the one before it" if up == RESPONSE else f"Energy of each {noun} over a flat spectrum"
    sheet.title(f"{title}, {style.hop_words(hop)}")
    if not many:
        words = [f"{noun} {names[0]}" if names[0].isdigit() else names[0], *names[1:]]
        colors = style.depth_colors(ax, len(names))
        sheet.legend([style.mark(one, color, "") for one, color in zip(words, colors, strict=True)])
    return ax


def _stairs(ax: Axes, edges: np.ndarray, values: np.ndarray, names: list[str]) -> None:
    """One staircase per layer, and a line at 1."""
    there = values[np.isfinite(values) & (values > 0)]
    top = max(1.0, there.max(initial=1.0))
    for name, row, color in zip(names, values, style.depth_colors(ax, len(names)), strict=True):
        heights = np.where(row > SPAN * top, row, np.nan)
        look: dict[str, Any] = {"linestyle": (0, (1, 1))} if name == "labels" else {}
        heights = np.append(heights, heights[-1:])
        ax.plot(edges, heights, drawstyle="steps-post", color=color, linewidth=1.6, gid=name, **look)
    ax.axhline(1.0, color=style.theme_of(ax).muted, gid="flat", zorder=1, **style.DASHED)
    ax.set_yscale("log")
    ax.set_ylim(max(min(1.0, there.min(initial=1.0)), SPAN * top) / 1.25, top * 1.25)
    style.log_ticks(ax.yaxis)
