"""What all pictures share: colours, panels, choices by name, and the words on a panel."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.core.registry import EXACT
from spectrata.errors import OptionError, ResultError, shown
from spectrata.results.schema import View, check, each_graph, view
from spectrata.stats.describe.align import align

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

# Okabe and Ito's colours, distinct in every kind of colour vision, the first four most. The yellow, which fades on
# paper, is left out.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#56B4E9", "#E69F00", "#CC79A7", "#000000")
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)))
GREY = "#767676"  # 4.5 to 1 against white and against black
MAP = "cividis"  # the same order of lightness in every kind of colour vision, and on paper
MAX_PANELS = 12
MANY = 60  # components from which lines between them would hide more than they show
DECADES = 2.0  # a measure that spans more than this many is coloured by its logarithm
LEAST_COLOR = 1e-7  # of the largest value of a measure, where logarithmic colours end
ROUNDING = 1e-12  # a spectrum off zero below this share of the whole is a constant signal's rounding
COMPONENT_AXIS = "component, by ascending eigenvalue"


@dataclass(frozen=True, eq=False)
class Series:
    """What is drawn in every panel: an algorithm at a row (a snapshot, layer, column) of a graph's result."""

    label: str
    view: View
    algorithm: str
    row: int
    color: Any
    dashes: Any
    in_legend: bool = True


def as_result(source: Any) -> "xr.Dataset":
    """One result: as it is, or several of one graph, by name, as its snapshots.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> strat = st.Stratification(nx.path_graph(3))
    >>> joined = as_result({"a": strat.spectra([0.0, 1.0, 3.0]), "b": strat.spectra([1.0, 1.0, 3.0])})
    >>> joined["snapshot"].values.tolist()
    ['a', 'b']
    """
    import xarray as xr

    if not isinstance(source, Mapping) or isinstance(source, xr.Dataset):
        return check(source, "The result")
    if not source:
        raise OptionError("Give at least one result.")
    views = [view(ds, f"The result {shown(str(name))}") for name, ds in source.items()]
    first = views[0]
    for one in views:
        if one.row_dims:
            raise OptionError(
                f"{one.name} holds {one.row_dims[0]}s; choose one, such as ds.isel({one.row_dims[0]}=0, drop=True)."
            )
        align(first.ds, one.ds, (first.name, one.name))
        if one.is_merged != first.is_merged:
            raise ResultError(
                f"{first.name} and {one.name} cannot be compared: one has merged eigenspaces; merge both."
            )
    algorithms = [name for name in first.algorithms if all(name in one.algorithms for one in views)]
    hops = [hop for hop in first.hops if all(hop in one.hops for one in views)]
    if not algorithms or not hops:
        raise ResultError(
            f"The results share no {'hop' if algorithms else 'algorithm'}; compute all with the same options."
        )
    alike = len({one.ds["signal"].shape if "signal" in one.ds else () for one in views}) == 1
    timed = [
        "magnitude",
        "magnitude_error",
        "gradient_norm",
        "status",
        *(["signal"] if alike and "signal" in first.ds else []),
    ]
    pieces = [one.ds.sel({"algorithm": algorithms, "hop": hops})[timed] for one in views]
    joined = xr.concat(pieces, dim="snapshot", coords="minimal", compat="override", join="override")
    still = first.ds.sel({"hop": hops})
    fixed = {name: still[name] for name in ("edges", "edge_weight", "eigenvectors") if name in still}
    names = [str(name) for name in source]
    return joined.assign_coords(snapshot=names).assign(fixed).assign_attrs(first.ds.attrs)


def graph_views(source: Any) -> list[tuple[str, View]]:
    """Each graph of a result, with its name; a result of one graph has none."""
    return [
        ("" if name is None else str(name), view(one, "The result" if name is None else f"The graph {name!r}"))
        for name, one in each_graph(as_result(source))
    ]


def one_sequence(result: View, purpose: str) -> str:
    """The dimension along which rows follow each other, empty without rows; refused where there are several."""
    if len(result.row_dims) > 1:
        raise ResultError(
            f"{result.name} has the dimensions {' and '.join(result.row_dims)}, and {purpose} shows one of them; "
            f"select along the others, such as ds.isel({result.row_dims[0]}=-1)."
        )
    return result.row_dims[0] if result.row_dims else ""


def row_names(result: View) -> list[str]:
    """One name per row; a single empty one where the result has no rows."""
    if result.rows is None:
        return [""]
    return [", ".join(map(str, row)) if isinstance(row, tuple) else str(row) for row in result.rows]


def chosen(known: Sequence[Any], dim: str, wanted: Any) -> list[Any]:
    """Labels along a dimension: those wanted, refused when the result lacks one, or all."""
    if wanted is None:
        return list(known)
    single = isinstance(wanted, str) or not isinstance(wanted, Iterable)
    single = single or (isinstance(wanted, tuple) and wanted in known)  # of several stacked dimensions
    names = [wanted] if single else list(wanted)
    for name in names:
        if name not in known:
            raise OptionError(f"The result has no {dim} {name!r}; it has {listed(known)}.")
    if not names:
        raise OptionError(f"No {dim} is chosen; the result has {listed(known)}.")
    return names


def one_algorithm(result: View, algorithm: str | None) -> str:
    """The algorithm asked for, or the exact one where it is there, or the first."""
    return one_of_algorithms(result.algorithms, algorithm)


def one_of_algorithms(known: Sequence[str], algorithm: str | None) -> str:
    """The same, of names."""
    if algorithm is not None:
        return str(chosen(known, "algorithm", algorithm)[0])
    return EXACT if EXACT in known else known[0]


def listed(known: Sequence[Any]) -> str:
    """The first few names."""
    return ", ".join(str(name) for name in known[:8]) + (", ..." if len(known) > 8 else "")


def count(number: int, noun: str) -> str:
    """``1 edge``, ``2,708 edges``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


WEIGHTS_BEYOND = {
    "bottleneck": "the smallest edge weight on its best shortest path",
    "product": "the product of the edge weights on its best shortest path",
    "unit": "1",
}


def weights_words(rule: str) -> str:
    """How the edge weights are read, with what the weight of a pair beyond one hop is."""
    return f"edge weights (a pair beyond one hop has {WEIGHTS_BEYOND[rule]}: {rule})"


def look(index: int, total: int) -> tuple[Any, Any, bool]:
    """Colour, dashes, and whether the legend names it: beyond the palette, a scale from dark to light."""
    from matplotlib import colormaps, rcParams

    if total <= len(PALETTE):
        color = PALETTE[index] if index < len(PALETTE) - 1 else rcParams["text.color"]  # black, white on dark paper
        return color, DASHES[index % len(DASHES)], True

    named = {round(step * (total - 1) / 5) for step in range(6)}
    return colormaps["viridis"](0.9 * index / (total - 1)), "-", index in named


def depth_colors(ax: "Axes", total: int) -> list[Any]:
    """One colour for each of a sequence, in order; without the end of the scale that fades on this paper."""
    from matplotlib import colormaps
    from matplotlib.colors import to_rgb

    low, high = (0.0, 0.86) if np.mean(to_rgb(ax.get_facecolor())) > 0.5 else (0.25, 1.0)
    return [colormaps["viridis"](share) for share in np.linspace(low, high, total)] if total > 1 else [PALETTE[0]]


def depth_bar(ax: "Axes", names: Sequence[str], most: int) -> None:
    """A bar beside a panel with one colour for each of a sequence, at most so many of them named."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm, ListedColormap

    total = len(names)
    norm = BoundaryNorm(np.arange(total + 1) - 0.5, total)
    shades = ScalarMappable(norm, ListedColormap(depth_colors(ax, total)))
    bar = ax.figure.colorbar(shades, ax=ax, fraction=0.05, pad=0.02, drawedges=False)
    ticks = thinned(total, most)
    bar.set_ticks(ticks.tolist(), labels=[names[tick] for tick in ticks], minor=False)
    bar.ax.minorticks_off()
    bar.ax.invert_yaxis()  # the first layer at the top, as in a list
    bar.ax.tick_params(labelsize=8, length=2)
    bar.outline.set_visible(False)


def log_ticks(axis: Any) -> None:
    """Decades with labels; 1, 2 and 5 of each where the axis spans fewer than two of them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    low, high = axis.get_view_interval()
    decades = np.log10(high / low)
    steps = (1.0,) if decades >= 2 else (1.0, 2.0, 5.0) if decades >= 0.7 else tuple(range(1, 10))
    axis.set_major_locator(LogLocator(subs=steps, numticks=12))
    axis.set_major_formatter(FuncFormatter(_power if decades > 5 else lambda x, _: f"{x:g}"))
    axis.set_minor_locator(LogLocator(subs=tuple(range(2, 10)), numticks=200) if decades < 9 else NullLocator())
    axis.set_minor_formatter(NullFormatter())


def log_limits(values: np.ndarray) -> tuple[float, float] | None:
    """Ends of a scale of logarithmic colours, where no value is negative and they span more than two decades."""
    there = values[np.isfinite(values)]
    positive = there[there > 0]
    if not len(positive) or there.min() < 0:
        return None
    high = float(positive.max())
    low = max(float(positive.min()), high * LEAST_COLOR)
    return (low, high) if np.log10(high / low) > DECADES else None


def _power(value: float, _: Any) -> str:
    return f"$10^{{{np.log10(value):.0f}}}$"


def new_axes(panels: int, height: float = 2.5, width: float = 3.5, least: float = 5.6) -> np.ndarray:
    """Panels of a new figure, shape (panels,)."""
    from matplotlib.figure import Figure

    columns = panels if panels <= 3 else 2 if panels == 4 else 3
    rows = -(-panels // columns)
    figure = Figure(figsize=(max(least, width * columns), height * rows + 0.9), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for unused in axes[panels:]:
        unused.remove()
    return axes[:panels]


def given_axes(ax: Any, panels: int, noun: str = "hops") -> np.ndarray:
    """Axes that were given, as many as there are panels."""
    axes = np.array(ax, dtype=object).ravel()
    if len(axes) != panels:
        raise OptionError(
            f"{panels} {noun} are to be drawn on {len(axes)} axes; choose {noun}, or give one Axes for each."
        )
    return axes


def panels_for(ax: Any, wanted: Sequence[Any], max_panels: int, **size: float) -> tuple[np.ndarray, list[Any]]:
    """Axes, and the hops they show: all on axes that are given, else as many as a figure takes."""
    shown = list(wanted) if ax is not None else list(wanted)[: max(1, max_panels)]
    return (new_axes(len(shown), **size) if ax is None else given_axes(ax, len(shown))), shown


def left_out(wanted: Sequence[Any], shown: Sequence[Any]) -> str:
    """A word on the hops a figure leaves out."""
    if len(wanted) == len(shown):
        return ""
    return f"{len(wanted) - len(shown)} of {len(wanted)} hops not drawn (K = {wanted[len(shown)]} and on)"


def hop_sizes(result: View) -> np.ndarray:
    """Edges, parts and singletons of each hop, ``(3, H)``."""
    return np.stack([result.fixed(name, "hop") for name in ("n_edges", "n_parts", "n_singletons")])


def hop_title(hop: int, sizes: "Sequence[int] | np.ndarray") -> str:
    """``K = 2: 8 edges, 2 parts (1 single)``; an operator's sizes are not known (-1)."""
    edges, parts, alone = (int(size) for size in sizes)
    if edges < 0:
        return f"K = {hop}"
    text = f"K = {hop}: {count(edges, 'edge')}, {count(parts, 'part')}"
    return text + (f" ({alone:,} single)" if alone else "")


def write_in(ax: "Axes", text: str) -> None:
    """Words in the middle of a panel that has nothing else to show."""
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", color=GREY, fontsize=9, wrap=True)


def name_axes(axes: np.ndarray, own: bool, across: str, up: str) -> None:
    """Axis titles: those of the figure where it is our own, of each panel where the axes were given."""
    if own:
        axes[0].figure.supxlabel(across, fontsize=9)
        axes[0].figure.supylabel(up, fontsize=9)
        return
    for ax in axes:
        ax.set_xlabel(across, fontsize=9)
        ax.set_ylabel(up, fontsize=9)


def few(total: int) -> np.ndarray:
    """Up to five positions from the first to the last, for ticks."""
    return np.unique(np.linspace(0, total - 1, min(5, total)).round().astype(int))


def thinned(total: int, most: int) -> np.ndarray:
    """Every k-th position from the first on, as many as have room for a label."""
    return np.arange(0, total, -(-total // most))


def fit_ticks(ax: "Axes", ticks: np.ndarray, labels: Sequence[str], room: int = 30) -> None:
    """Labels along x, slanted where there is no room for them side by side (``room`` characters)."""
    slanted = sum(len(label) + 2 for label in labels) > room
    words: dict[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if slanted else {}
    ax.set_xticks(ticks, [plain(label) for label in labels], **words)


def tidy(ax: "Axes") -> None:
    """No frame at the top and right, small ticks."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.tick_params(labelsize=8)


def plain(text: Any) -> str:
    """A name as text that matplotlib does not read as mathematics."""
    return str(text).replace("$", r"\$")
