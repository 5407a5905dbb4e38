"""Magnitudes over eigenvalues: one panel per hop, methods or snapshots over each other."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import OptionError
from spectrata.result import check

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

# Okabe and Ito's colours, told apart by all kinds of colour vision; without the yellow, which fades on paper.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)))
GREY = "#595959"
MAX_PANELS = 12
LOG_SPAN = 1e-5  # a log axis reaches so far below the largest value
MANY = 60  # components from which lines between them would hide more than they show


@dataclass(frozen=True)
class Series:
    """One curve of every panel: a method at a snapshot, with its look."""

    label: str
    select: dict[str, Any]
    color: Any
    dashes: Any
    in_legend: bool = True


def spectra(
    ds: "xr.Dataset",
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    methods: str | Iterable[str] | None = None,
    snapshots: Iterable[Any] | None = None,
    hops: Iterable[int] | None = None,
    x: str = "eigenvalue",
    y: str = "auto",
    normalize: bool = False,
    max_panels: int = MAX_PANELS,
) -> np.ndarray:
    """Draw magnitudes over eigenvalues, one panel per hop.

    Components that share an eigenvalue are hollow (the split between them is arbitrary), zero
    components are squares, and a panel says where values are zero or undefined.

    Parameters
    ----------
    ds : xarray.Dataset
        A result of :func:`spectrata.spectra`.
    ax : Axes or sequence of Axes, optional
        One for each hop drawn; a new figure without it.
    methods, snapshots, hops : optional
        What to draw, by name; all of it by default. A result with several snapshots shows them for
        its first method, unless methods are named.
    x : {"eigenvalue", "rank"}
        Place components by eigenvalue, or by rank where eigenvalues crowd; ticks then give both.
    y : {"auto", "linear", "log"}
        Scale of magnitudes; "auto" is "log" beyond 60 components, where zero components would
        dwarf the rest. What lies below a log axis is counted in the panel.
    normalize : bool
        Divide each curve by its l2 norm over components, to compare shapes.
    max_panels : int
        Hops beyond so many are left out, and the figure says how many.

    Returns
    -------
    ndarray of Axes, shape (panels,)

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> ds = st.spectra(nx.path_graph(5), [0.0, 1.0, 0.0, 2.0, 1.0], hops=2)
    >>> axes = st.plot.spectra(ds, normalize=True)
    >>> [panel.get_title() for panel in axes]
    ['K = 1: 4 edges, 1 part', 'K = 2: 3 edges, 2 parts']
    """
    check(ds)
    if x not in ("eigenvalue", "rank"):
        raise OptionError(f"x={x!r} is not one of 'eigenvalue', 'rank'.")
    if y not in ("auto", "linear", "log"):
        raise OptionError(f"y={y!r} is not one of 'auto', 'linear', 'log'.")
    log = y == "log" or (y == "auto" and ds.sizes["component"] > MANY)
    wanted = _chosen(ds, "hop", hops)
    shown = wanted if ax is not None else wanted[: max(1, max_panels)]
    series, note = _series(ds, methods, snapshots)
    axes = _new_axes(len(shown)) if ax is None else _given_axes(ax, len(shown))
    for panel, hop in zip(axes, shown, strict=True):
        _panel(panel, ds.sel({"hop": hop}), series, x, log, normalize)
    _label(axes, x, normalize, own_figure=ax is None)
    notes = [note] if note else []
    if len(wanted) > len(shown):
        notes.append(
            f"{len(wanted) - len(shown)} of {len(wanted)} hops not drawn (K = {wanted[len(shown)]} and on)"
        )
    _legend(axes, ds.sel({"hop": shown}), series, notes, own_figure=ax is None)
    return axes


# ---- what is drawn


def _chosen(ds: "xr.Dataset", dim: str, wanted: Any) -> list[Any]:
    known = ds[dim].values.tolist()
    if wanted is None:
        return known
    names = [wanted] if isinstance(wanted, str) or not isinstance(wanted, Iterable) else list(wanted)
    for name in names:
        if name not in known:
            raise OptionError(f"The result has no {dim} {name!r}; it has {_listed(known)}.")
    if not names:
        raise OptionError(f"No {dim} is chosen; the result has {_listed(known)}.")
    return names


def _listed(known: Sequence[Any]) -> str:
    return ", ".join(str(name) for name in known[:8]) + (", ..." if len(known) > 8 else "")


def _series(ds: "xr.Dataset", methods: Any, snapshots: Any) -> tuple[list[Series], str]:
    """The curves of every panel, and a word on what they leave out or have in common."""
    names = _chosen(ds, "method", methods)
    if "snapshot" not in ds.dims:
        return [Series(name, {"method": name}, *_look(i, len(names))) for i, name in enumerate(names)], ""
    moments = _chosen(ds, "snapshot", snapshots)
    note = ""
    if len(moments) > 1 and len(names) > 1 and methods is None:
        note = f"{names[0]} drawn; {len(names) - 1} more methods in the result"
        names = names[:1]
    elif len(moments) == 1 or len(names) == 1:
        note = names[0] if len(names) == 1 else f"snapshot {moments[0]}"
    pairs = [(name, moment) for name in names for moment in moments]
    labels = [
        str(moment) if len(names) == 1 else name if len(moments) == 1 else f"{name}, {moment}"
        for name, moment in pairs
    ]
    return [
        Series(label, {"method": name, "snapshot": moment}, *_look(i, len(pairs)))
        for i, (label, (name, moment)) in enumerate(zip(labels, pairs, strict=True))
    ], note


def _look(index: int, count: int) -> tuple[Any, Any, bool]:
    """Colour, dashes, and whether the legend names it: beyond the palette, a scale from dark to light."""
    if count <= len(PALETTE):
        return PALETTE[index], DASHES[index % len(DASHES)], True
    from matplotlib import colormaps

    named = {round(step * (count - 1) / 5) for step in range(6)}
    return colormaps["viridis"](0.9 * index / (count - 1)), "-", index in named


# ---- one panel


def _panel(
    ax: "Axes", at: "xr.Dataset", series: Sequence[Series], x: str, log: bool, normalize: bool
) -> None:
    places = at["eigenvalue"].values if x == "eigenvalue" else np.arange(at.sizes["component"])
    # One zero per connected part, and eigenvalues ascend: the first n_parts components.
    zero = np.arange(len(places)) < int(at["n_parts"])
    repeated = at["multiplicity"].values > 1
    empty, drawn = [], []
    for order, one in enumerate(series):
        values = at["magnitude"].sel(one.select).values
        if np.isnan(values).all():
            empty.append((one.label, str(at["status"].sel(one.select).values)))
            continue
        if not np.nanmax(np.abs(values)) > 0.0:
            empty.append((one.label, "all zero"))
        elif normalize:
            values = values / np.sqrt(np.nansum(values**2))
        _curve(ax, places, values, one, zero, repeated, 3 + order * 0.1)
        drawn.append(values)
    _title(ax, at)
    ax.margins(x=0.03)
    if x == "rank":
        _rank_ticks(ax, at["eigenvalue"].values)
    below = _scale(ax, np.concatenate(drawn) if drawn else np.empty(0), log)
    _say(ax, empty, len(series), below)


def _scale(ax: "Axes", values: np.ndarray, log: bool) -> int:
    """Set the limits of the magnitudes; give how many lie below them."""
    positive = values[values > 0.0]
    if not len(positive):
        ax.set_ylim(0.0, 1.0)
        return 0
    if not log:
        ax.set_ylim(-0.03 * positive.max(), 1.06 * positive.max())  # markers at 0 stay whole
        return 0
    ax.set_yscale("log")
    bottom = max(positive.min() / 1.5, positive.max() * LOG_SPAN)
    ax.set_ylim(bottom, 1.8 * positive.max())
    return int(np.count_nonzero(values < bottom))


def _rank_ticks(ax: "Axes", eigenvalues: np.ndarray) -> None:
    ranks = np.unique(np.linspace(0, len(eigenvalues) - 1, min(5, len(eigenvalues))).round().astype(int))
    ax.set_xticks(ranks, [f"{rank:,}\nλ = {eigenvalues[rank]:.3g}" for rank in ranks])


def _curve(
    ax: "Axes",
    places: np.ndarray,
    values: np.ndarray,
    one: Series,
    zero: np.ndarray,
    repeated: np.ndarray,
    order: float,
) -> None:
    """One line through all components, then markers by kind: the line's data are the magnitudes."""
    many = len(places) > MANY
    size, edge = (2.2, 0.5) if many else (4.2, 1.0)
    ax.plot(
        places,
        values,
        color=one.color,
        linestyle="none" if many else one.dashes,
        linewidth=1.0,
        alpha=0.75,
        label=one.label,
        zorder=order,
        gid="curve",
    )
    alpha = 0.45 if many else 1.0
    for kind, chosen, marker, face in (
        ("simple", ~zero & ~repeated, "o", one.color),
        ("repeated", ~zero & repeated, "o", "white"),
        ("zero", zero, "s", "white" if np.count_nonzero(zero) > 1 else one.color),
    ):
        if chosen.any():
            ax.plot(
                places[chosen],
                values[chosen],
                linestyle="none",
                marker=marker,
                markersize=size * (1.6 if many and kind == "zero" and np.count_nonzero(zero) <= 3 else 1.0),
                markerfacecolor=face,
                markeredgecolor=one.color,
                markeredgewidth=edge,
                alpha=1.0 if kind == "zero" else alpha,
                zorder=order + 0.05,
                gid=kind,
                rasterized=len(places) > 2000,  # a vector file of many thousand markers is slow to open
            )


def _title(ax: "Axes", at: "xr.Dataset") -> None:
    edges, parts, alone = int(at["n_edges"]), int(at["n_parts"]), int(at["n_singletons"])
    text = f"K = {int(at['hop'])}: {_count(edges, 'edge')}, {_count(parts, 'part')}"
    ax.set_title(text + (f" ({alone:,} single)" if alone else ""), fontsize=9)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _say(ax: "Axes", empty: Sequence[tuple[str, str]], count: int, below: int) -> None:
    """Write into the panel which curves are zero or undefined, and what the axis leaves out."""
    reasons = dict.fromkeys(reason for _, reason in empty)
    if len(empty) == count and len(reasons) == 1:
        ax.text(
            0.5,
            0.5,
            next(iter(reasons)),
            transform=ax.transAxes,
            ha="center",
            va="center",
            color=GREY,
            fontsize=9,
        )
        return
    lines = [f"{', '.join(label for label, why in empty if why == reason)}: {reason}" for reason in reasons]
    if below:
        lines.append(f"{_count(below, 'value')} below the axis")
    if lines:
        ax.text(
            0.98,
            0.98,
            "\n".join(lines),
            transform=ax.transAxes,
            ha="right",
            va="top",
            color=GREY,
            fontsize=7,
            zorder=6,
        )


# ---- the figure


def _new_axes(count: int) -> np.ndarray:
    from matplotlib.figure import Figure

    columns = count if count <= 3 else 2 if count == 4 else 3
    rows = -(-count // columns)
    figure = Figure(figsize=(max(5.6, 3.5 * columns), 2.5 * rows + 0.9), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for unused in axes[count:]:
        unused.remove()
    return axes[:count]


def _given_axes(ax: Any, count: int) -> np.ndarray:
    axes = np.array(ax, dtype=object).ravel()
    if len(axes) != count:
        raise OptionError(
            f"{count} hops are to be drawn on {len(axes)} axes; choose hops, or give one Axes for each."
        )
    return axes


def _label(axes: np.ndarray, x: str, normalize: bool, own_figure: bool) -> None:
    across = "eigenvalue" if x == "eigenvalue" else "component, by ascending eigenvalue"
    up = "magnitude / l2 norm" if normalize else "magnitude"
    for ax in axes:
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        ax.tick_params(labelsize=8)
        if not own_figure:
            ax.set_xlabel(across, fontsize=9)
            ax.set_ylabel(up, fontsize=9)
    if own_figure:
        axes[0].figure.supxlabel(across, fontsize=9)
        axes[0].figure.supylabel(up, fontsize=9)


def _legend(
    axes: np.ndarray, ds: "xr.Dataset", series: Sequence[Series], notes: list[str], own_figure: bool
) -> None:
    from matplotlib.lines import Line2D

    marks: dict[str, Any] = {"color": GREY, "linestyle": "none", "markersize": 4.2, "markeredgewidth": 1.0}
    many = ds.sizes["component"] > MANY
    handles = [
        Line2D(
            [],
            [],
            color=one.color,
            linestyle="none" if many else one.dashes,
            linewidth=1.4,
            marker="o",
            markersize=4.2,
        )
        for one in series
        if one.in_legend
    ]
    labels = [one.label for one in series if one.in_legend]
    multiplicity, parts = ds["multiplicity"].values, ds["n_parts"].values[:, None]
    if np.any((multiplicity > 1) & (np.arange(multiplicity.shape[1]) >= parts)):
        handles.append(Line2D([], [], marker="o", markerfacecolor="white", **marks))
        labels.append("repeated eigenvalue: the split is arbitrary")
    handles.append(Line2D([], [], marker="s", **marks))
    labels.append("zero component")
    if own_figure:
        figure = axes[0].figure
        columns = max(1, min(len(labels), 2 * min(3, len(axes))))
        place: dict[str, Any] = {"loc": "outside upper center", "ncols": columns, "frameon": False}
        figure.legend(handles, labels, fontsize=8, title="; ".join(notes), title_fontsize=8, **place)
    else:
        axes[0].legend(handles, labels, fontsize=7, frameon=False, title="; ".join(notes), title_fontsize=7)
