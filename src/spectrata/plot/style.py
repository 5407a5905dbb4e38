"""Shared by all pictures: colours, panels, titles and legends; reading results by name; words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spectrata.core.registry import EXACT
from spectrata.errors import OptionError, ResultError, shown
from spectrata.results.schema import View, check, each_graph, view
from spectrata.stats.describe.align import align

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

MAP = "cividis"  # the same order of lightness in every kind of colour vision, and on paper
MAX_PANELS = 12
DECADES = 2.0  # a measure that spans more than this many is coloured by its logarithm
LEAST_COLOR = 1e-7  # of the largest value of a measure, where logarithmic colours end
ROUNDING = 1e-12  # a spectrum off zero below this share of the whole is a constant signal's rounding
RASTER = 2000  # marks from which a vector file holds a picture of them instead


class Theme(NamedTuple):
    """Colours of a light or a dark picture."""

    ink: str
    muted: str  # 4.5 to 1 against the paper
    paper: str
    chance: str  # boxes of what chance gives
    edge: str  # edges of graphs
    colors: tuple[str, ...]  # the first two: alike and unlike, more and less
    signed: tuple[str, ...]  # a scale from less to more


# Okabe and Ito's colours, distinct in every kind of colour vision, without the yellow, which fades on paper.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#56B4E9", "#E69F00", "#CC79A7", "#000000")
LIGHT = Theme(
    "#1a1a1a",
    "#63676d",
    "#ffffff",
    "#d5d9de",
    "#c4c8cd",
    PALETTE,
    ("#7a3200", "#D55E00", "#f3a873", "#f6f6f6", "#7fb9da", "#0072B2", "#003a5c"),
)
DARK = Theme(
    "#eceff1",
    "#a5abb3",
    "#131416",
    "#43494f",
    "#5c636b",
    ("#56B4E9", "#FF8F4A", "#2BC39A", "#B3DDF7", "#F0C04A", "#E6A0C8", "#FFFFFF"),
    ("#ffd9bd", "#FF8F4A", "#8a4a22", "#1d1f22", "#27587a", "#56B4E9", "#d3ecfb"),
)


@contextmanager
def dark() -> Iterator[None]:
    """Draw dark pictures: light text and lighter colours on dark paper.

    Pictures follow any dark style of matplotlib; this is one that goes with the site.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> with st.plot.dark():
    ...     panel = st.plot.correlogram(st.correlogram(nx.path_graph(12), range(12), hops=2))[0]
    >>> panel.figure.get_facecolor()[:3] < (0.2, 0.2, 0.2)
    True
    """
    from matplotlib import rc_context, style

    papers: dict[Any, Any] = {f"{part}.facecolor": DARK.paper for part in ("figure", "axes", "savefig")}
    inks = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), DARK.ink)
    with rc_context({**style.library["dark_background"]}), rc_context(papers | inks | {"axes.edgecolor": DARK.muted}):
        yield


def theme_of(ax: "Axes") -> Theme:
    """Colours for axes, by whether their own text is light."""
    from matplotlib.colors import to_rgb

    return DARK if np.mean(to_rgb(ax.xaxis.label.get_color())) > 0.5 else LIGHT


def signed_map(ax: "Axes") -> Any:
    """A scale of colours from less through the paper's colour to more."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("signed", theme_of(ax).signed)


def energy_map(ax: "Axes") -> Any:
    """A scale of colours from the paper's colour, no energy, to a strong one."""
    from matplotlib.colors import LinearSegmentedColormap

    own = theme_of(ax)
    return LinearSegmentedColormap.from_list("energy", [own.paper, *own.signed[4:]])


def depth_colors(ax: "Axes", total: int) -> list[Any]:
    """One colour for each of a sequence; a few have colours of their own, more a scale from dark to light."""
    from matplotlib import colormaps

    own = theme_of(ax)
    if total <= len(own.colors):
        return list(own.colors[:total])
    low, high = (0.0, 0.86) if own is LIGHT else (0.25, 1.0)
    return [colormaps["viridis"](share) for share in np.linspace(low, high, total)]


# ---- panels, titles, legends


def new_axes(panels: int, height: float = 2.5, width: float = 3.4, least: float = 5.6) -> np.ndarray:
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
    return f"{len(wanted) - len(shown)} of {len(wanted)} hops not drawn ({hop_words(wanted[len(shown)])} and on)"


def head(axes: np.ndarray, own: bool, title: str) -> None:
    """The title: of the figure where it is ours, else of a single panel that was given."""
    figure = axes[0].figure
    if own:
        figure.suptitle(
            fill(plain(title), int(11 * figure.get_figwidth())), x=0.01, ha="left", fontsize=10.5, fontweight="bold"
        )
    elif len(axes) == 1:
        axes[0].set_title(plain(title), fontsize=9)


def name_axes(axes: np.ndarray, own: bool, across: str, up: str) -> None:
    """Axis titles: at the left and below our own figure, of each panel where the axes were given."""
    columns = axes[0].get_subplotspec().get_gridspec().ncols if own else 1
    for at, ax in enumerate(axes):
        if not own or at + columns >= len(axes):
            ax.set_xlabel(across, fontsize=9)
        if not own or at % columns == 0:
            ax.set_ylabel(up, fontsize=9)


def legend(axes: np.ndarray, own: bool, handles: Sequence[Any]) -> None:
    """Name the marks: below our own figure, in as many columns as fit, or inside axes that were given."""
    if not handles:
        return
    if not own:
        axes[0].legend(handles=handles, fontsize=7, frameon=False)
        return
    figure, sizes = axes[0].figure, [len(handle.get_label()) + 7 for handle in handles]
    for columns in range(len(handles), 0, -1):
        rows = -(-len(handles) // columns)
        if sum(max(sizes[at : at + rows]) for at in range(0, len(sizes), rows)) <= 15.5 * figure.get_figwidth():
            break
    figure.legend(handles=handles, loc="outside lower left", ncols=columns, frameon=False, fontsize=8)


def patch(color: Any, label: str) -> Any:
    """A box for a legend."""
    from matplotlib.patches import Patch

    return Patch(facecolor=color, label=label)


def mark(label: str, **style: Any) -> Any:
    """A marker or line for a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **style)


def write_in(ax: "Axes", text: str) -> None:
    """Words in the middle of a panel that has nothing else to show."""
    words = fill(plain(text), 34)
    ax.text(0.5, 0.5, words, transform=ax.transAxes, ha="center", va="center", color=theme_of(ax).muted, fontsize=9)


def thinned(total: int, most: int) -> np.ndarray:
    """Every k-th position from the first on, as many as have room for a label."""
    return np.arange(0, total, -(-total // most))


def fit_ticks(ax: "Axes", names: Sequence[Any], at: Sequence[float] | None = None, size: float = 8) -> None:
    """Names along x, thinned to what fits the width, and slanted where they would touch."""
    width = ax.get_window_extent().width / ax.figure.dpi * 72 * 0.9  # points; a layout takes some of them
    words = [plain(name) for name in names]
    longest = 0.62 * size * max((len(word) for word in words), default=1) + 6
    slanted = longest > max(width / max(len(words), 1), 30)
    kept = thinned(len(words), max(2, int(width / (2 * size if slanted else longest))))
    places = np.arange(len(words)) if at is None else np.asarray(at)
    look: dict[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if slanted else {}
    ax.set_xticks(places[kept], [words[one] for one in kept], fontsize=size, **look)


def tidy(ax: "Axes") -> None:
    """No frame at the top and right, small ticks."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.tick_params(labelsize=8)


def log_ticks(axis: Any) -> None:
    """Decades with labels; 1, 2 and 5 of each where the axis spans fewer than two of them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    decades = np.log10(high / low)
    steps = (1.0,) if decades >= 2 else (1.0, 2.0, 5.0) if decades >= 0.7 else tuple(range(1, 10))
    axis.set_major_locator(LogLocator(subs=steps, numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
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


def side_bar(ax: "Axes", drawn: Any, label: str = "", within: Any = None, **more: Any) -> Any:
    """A colour bar beside a panel, or beside all of ``within``."""
    bar = ax.figure.colorbar(drawn, ax=within or ax, fraction=0.04, pad=0.015, **more)
    bar.ax.tick_params(labelsize=7.5)
    bar.outline.set_visible(False)
    if label:
        bar.set_label(plain(label), fontsize=8)
    return bar


# ---- results


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
    if algorithm is not None:
        return str(chosen(result.algorithms, "algorithm", algorithm)[0])
    return EXACT if EXACT in result.algorithms else result.algorithms[0]


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


def hop_sizes(result: View) -> np.ndarray:
    """Edges, parts and singletons of each hop, ``(3, H)``."""
    return np.stack([result.fixed(name, "hop") for name in ("n_edges", "n_parts", "n_singletons")])


def hop_words(hop: Any) -> str:
    """``1 hop``, ``2 hops``, or the interval of a distance."""
    return f"{hop} hop{'' if hop == 1 else 's'}" if not isinstance(hop, str) else hop


def hop_title(hop: Any, sizes: "Sequence[int] | np.ndarray") -> str:
    """``2 hops: 8 pairs, 2 parts (1 single)``; an operator's sizes are not known (-1)."""
    pairs, parts, alone = (int(size) for size in sizes)
    if pairs < 0:
        return hop_words(hop)
    text = f"{hop_words(hop)}: {count(pairs, 'pair')}" + (f", {count(parts, 'part')}" if parts > 1 else "")
    return text + (f" ({alone:,} single)" if alone else "")


def plain(text: Any) -> str:
    """A name as text that matplotlib does not read as mathematics."""
    return str(text).replace("$", r"\$")
