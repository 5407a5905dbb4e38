"""Shared by all pictures: colours, panels, titles, legends, ticks and words."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.style import context
from matplotlib.ticker import LogLocator

from spectrata.errors import OptionError

MAP = "cividis"  # the same order of lightness in every kind of colour vision, and on paper
LEAST_COLOR = 1e-7  # of the largest value of a measure, where logarithmic colours end
RASTER = 2000  # marks from which a vector file holds a picture of them instead
DASHED: dict[str, Any] = {"linewidth": 0.9, "linestyle": (0, (4, 3))}
Given = Axes | Sequence[Axes] | None  # axes to draw on, one for each panel; a new figure where there are none
SIDES = {"alike": 0, "agree": 0, "more": 0, "unlike": 1, "opposite": 1, "less": 1}  # verdicts, and the colour of each


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
    *("#1a1a1a", "#63676d", "#ffffff", "#d5d9de", "#c4c8cd"),
    PALETTE,
    ("#7a3200", "#D55E00", "#f3a873", "#f6f6f6", "#7fb9da", "#0072B2", "#003a5c"),
)
DARK = Theme(
    *("#eceff1", "#a5abb3", "#131416", "#43494f", "#5c636b"),
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
    look: dict[str, Any] = {f"{part}.facecolor": DARK.paper for part in ("figure", "axes", "savefig")}
    look |= dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), DARK.ink)
    with context(["dark_background", look | {"axes.edgecolor": DARK.muted}]):
        yield


def theme_of(ax: Axes) -> Theme:
    """Colours for axes, by whether their own text is light."""
    return DARK if np.mean(to_rgb(ax.xaxis.label.get_color())) > 0.5 else LIGHT


def color_map(ax: Axes, signed: bool = True) -> Any:
    """A scale of colours from less through the paper's colour to more; or from the paper's colour to a strong one."""
    own = theme_of(ax)
    return LinearSegmentedColormap.from_list("spectrata", own.signed if signed else [own.paper, *own.signed[4:]])


def depth_colors(ax: Axes, total: int) -> list[Any]:
    """One colour for each of a sequence; a few have colours of their own, more a scale from dark to light."""
    own = theme_of(ax)
    if total <= len(own.colors):
        return list(own.colors[:total])
    low, high = (0.0, 0.86) if own is LIGHT else (0.25, 1.0)
    return [colormaps["viridis"](share) for share in np.linspace(low, high, total)]


class Sheet:
    """The panels of one picture: of a new figure, or axes that were given, as many as there are panels.

    Panels of different heights stand one above the other, others side by side.
    """

    def __init__(
        self, ax: Any, panels: int = 1, noun: str = "panels", height: float = 2.5, least: float = 5.6, **grid: Any
    ):
        self.own = ax is None
        self.columns = 1 if "height_ratios" in grid else panels if panels <= 3 else 2 if panels == 4 else 3
        self.axes: np.ndarray = np.array(ax, dtype=object).ravel()
        if self.own:
            rows = -(-panels // self.columns)
            figure = Figure(figsize=(max(least, 3.4 * self.columns), height * rows + 0.9), layout="constrained")
            self.axes = figure.subplots(rows, self.columns, squeeze=False, **grid).ravel()[:panels]
            for unused in figure.axes[panels:]:
                unused.remove()
        if len(self.axes) != panels:
            words = f"{panels} {noun} are to be drawn on {len(self.axes)} axes"
            raise OptionError(f"{words}; choose {noun}, or give one Axes for each.")
        for one in self.axes:
            one.spines[["top", "right"]].set_visible(False)
            one.tick_params(labelsize=8)
        self.ax: Any = self.axes[0]
        self.theme = theme_of(self.ax)

    def title(self, *words: str) -> None:
        """The title: of a new figure, else of a single panel that was given."""
        text, figure = plain("; ".join(filter(None, words))), self.ax.figure
        if self.own:
            lines = [fill(line, int(11 * figure.get_figwidth())) for line in text.split("\n")]
            figure.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=10.5, fontweight="bold")
        elif len(self.axes) == 1:
            self.ax.set_title(text, fontsize=9)

    def name_axes(self, across: str, up: str) -> None:
        """Axis titles: at the left and below a new figure, of each panel where the axes were given."""
        for at, ax in enumerate(self.axes):
            ax.set_xlabel(across if not self.own or at + self.columns >= len(self.axes) else "", fontsize=9)
            ax.set_ylabel(up if not self.own or at % self.columns == 0 else "", fontsize=9)

    def legend(self, handles: Sequence[Any] = ()) -> None:
        """Name these marks, or all that have a label: below a new figure, or inside axes that were given."""
        known: dict[str, Any] = {}
        for ax in self.axes if not handles else ():
            for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
                known.setdefault(label, handle)
        handles = handles or [known[label] for label in sorted(known, key="no verdict".__eq__)]
        if self.own:
            fit_legend(self.ax.figure, handles, 72 * self.ax.figure.get_figwidth(), loc="outside lower left")
        elif handles:
            self.ax.legend(handles=handles, fontsize=7, frameon=False)


def mark(label: str, color: Any, marker: str = "o", face: Any = None, size: float = 6, **more: Any) -> Any:
    """A legend entry: a marker (a square for boxes), or a line where there is none."""
    look: dict[str, Any] = {"linestyle": "none"} if marker else {}
    look |= {"color": color, "marker": marker, "markersize": size, "markerfacecolor": face or color}
    return Line2D([], [], label=plain(label), **(look | more))


def fit_legend(where: Any, handles: Sequence[Any], width: float, **place: Any) -> None:
    """A legend of axes or of a figure, in as many columns as fit so many points."""
    sizes = [5.0 * len(handle.get_label()) + 42.0 for handle in handles]
    fits = (n for n in range(len(sizes), 0, -1) if sum(map(max, np.array_split(sizes, n))) <= width or n == 1)
    if handles:
        where.legend(handles=handles, ncols=next(fits), frameon=False, fontsize=8, **place)


def write_in(ax: Axes, text: str) -> None:
    """Words in the middle of a panel that has nothing else to show."""
    words = fill(plain(text), 34)
    ax.text(0.5, 0.5, words, transform=ax.transAxes, ha="center", va="center", color=theme_of(ax).muted, fontsize=9)


def thinned(total: int, most: int) -> np.ndarray:
    """Every k-th position from the first on, as many as have room for a label."""
    return np.arange(0, total, -(-total // most))


def points(ax: Axes, upwards: bool = False) -> float:
    """The width or height of a panel in points; a layout takes some of them."""
    box = ax.get_window_extent()
    return float((box.height if upwards else box.width) / ax.figure.dpi * 72 * 0.9)


def fit_ticks(ax: Axes, names: Sequence[Any], size: float = 8) -> None:
    """Names along x, thinned to what fits the width, and slanted where they would touch."""
    width, words = points(ax), [plain(name) for name in names]
    longest = 0.62 * size * max((len(word) for word in words), default=1) + 3
    slanted = longest > max(width / max(len(words), 1), 30)
    kept = thinned(len(words), max(2, int(width / (2 * size if slanted else longest))))
    look: dict[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if slanted else {}
    ax.set_xticks(kept, [words[one] for one in kept], fontsize=size, **look)


def row_ticks(ax: Axes, names: Sequence[Any], most: int = 1000, size: float = 8) -> None:
    """Names of rows along y, the first at the top, at most so many."""
    kept = thinned(len(names), most)
    ax.set_yticks(kept + 0.5, [plain(names[one]) for one in kept], fontsize=size)
    ax.set_ylim(len(names), 0)


def log_ticks(axis: Any, words: Callable[[float], str] = "{:g}".format) -> None:
    """Decades with labels; 1, 2 and 5 of each where the axis spans fewer than two of them."""
    low, high = axis.get_view_interval()
    decades = np.log10(high / low)
    steps = (1.0,) if decades >= 2 else (1.0, 2.0, 5.0) if decades >= 0.7 else tuple(range(1, 10))
    axis.set_major_locator(LogLocator(subs=steps, numticks=12))
    axis.set_major_formatter(lambda x, _: words(x))
    axis.set_minor_formatter("")


def log_limits(values: np.ndarray) -> tuple[float, float] | None:
    """Ends of a scale of logarithmic colours, where no value is negative and they span more than two decades."""
    there = values[np.isfinite(values)]
    positive = there[there > 0]
    if not len(positive) or there.min() < 0:
        return None
    high = float(positive.max())
    low = max(float(positive.min()), high * LEAST_COLOR)
    return (low, high) if high > 100 * low else None


def side_bar(ax: Axes, drawn: Any, label: str = "", within: Any = None, **more: Any) -> Any:
    """A colour bar beside a panel, or beside all of ``within``."""
    bar = ax.figure.colorbar(drawn, ax=ax if within is None else within, fraction=0.04, pad=0.015, **more)
    bar.ax.tick_params(labelsize=7.5)
    bar.ax.yaxis.offsetText.set_fontsize(7.5)
    bar.outline.set_visible(False)
    bar.set_label(plain(label), fontsize=8)
    return bar


def verdict_colors(theme: Theme, word: str) -> tuple[str, str]:
    """The colour of a verdict and that of its marker's face, which is hollow where there is none."""
    return (theme.colors[SIDES[word]],) * 2 if word in SIDES else (theme.muted, theme.paper)


def verdict_stems(ax: Axes, rows: pd.DataFrame, size: float, chance: str, across: bool = False) -> None:
    """r of each row as a stem, ``across`` or upwards, before a box of ``chance``; a filled marker is a verdict."""
    theme, at = theme_of(ax), np.arange(len(rows)) + 0.5 * across
    r, low, high = (rows[name].to_numpy(dtype=float) for name in ("r", "chance_low", "chance_high"))
    bar, line, stem = (ax.barh, ax.axvline, ax.hlines) if across else (ax.bar, ax.axhline, ax.vlines)
    line(0.0, color=theme.muted, linewidth=0.8, zorder=1)
    # An interval without width is a line.
    look: dict[str, Any] = {"color": theme.chance, "edgecolor": theme.chance, "linewidth": 1, "zorder": 0}
    words = [f"chance: 95 % of {chance}" if known else "" for known in np.isfinite(low)]
    bar(at, high - low, 0.72, low, label=words, gid="chance", **look)
    for place, value, word in zip(at, r, rows["verdict"].astype(str), strict=True):
        color, face = verdict_colors(theme, word)
        stem(place, 0.0, value, color, linewidth=0.3 * size, zorder=2)
        where = (value, place) if across else (place, value)
        look = {"color": color, "markersize": size, "markerfacecolor": face, "zorder": 3, "gid": "r"}
        ax.plot(*where, "o", label=word if word in SIDES else "no verdict", **look)


def ratio_map(ax: Axes, x: Any, y: Any, ratio: np.ndarray, ends: tuple[int, int], signed: bool = False) -> Any:
    """Cells of ratios from pale to strong, or pale at 1 with two sides; colours end at these powers of two."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.clip(np.log2(ratio), *ends)
    return ax.pcolormesh(x, y, values, cmap=color_map(ax, signed), vmin=ends[0], vmax=ends[1], rasterized=True)


def ratio_bar(ax: Axes, drawn: Any, words: str, within: Any = None) -> None:
    """The colour bar of such a map."""
    ticks = range(int(drawn.norm.vmin), int(drawn.norm.vmax) + 1)
    bar = side_bar(ax, drawn, words, within, extend="both")
    bar.set_ticks(list(ticks), labels=[str(2**tick) if tick >= 0 else f"1/{2**-tick}" for tick in ticks])


def count(number: int, noun: str) -> str:
    """``1 edge``, ``2,708 edges``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def number(value: float, sign: str = "") -> str:
    """Two digits after the point, with a true minus and without a minus before zero."""
    return f"{value:{sign}.2f}".replace("-0.00", "0.00").replace("-", "\N{MINUS SIGN}")


def hop_words(hop: Any) -> str:
    """``1 hop``, ``2 hops``, or the interval of a distance."""
    return hop if isinstance(hop, str) else f"{hop} hop{'' if hop == 1 else 's'}"


def plain(text: Any) -> str:
    """A name as text that matplotlib does not read as mathematics."""
    return str(text).replace("$", r"\$")
