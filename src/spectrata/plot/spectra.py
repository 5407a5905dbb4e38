"""Magnitudes over eigenvalues: one panel per hop, algorithms or snapshots over each other."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.analysis.layout import MERGED
from spectrata.errors import ResultError
from spectrata.kernels.scaling import squarable
from spectrata.plot.style import (
    GREY,
    MANY,
    MAX_PANELS,
    PALETTE,
    as_result,
    chosen,
    count,
    hop_title,
    left_out,
    look,
    one_of,
    panels_for,
    plain,
    tidy,
    write_in,
)

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

__all__ = ["MANY", "PALETTE", "spectra"]
LEAST = 0.01  # share of the smallest values that a log axis may leave below it
LOG_SPAN = 1e-5  # a log axis reaches so far below the largest value


@dataclass(frozen=True)
class Series:
    """One curve of every panel: an algorithm at a snapshot, with its look."""

    label: str
    select: dict[str, Any]
    color: Any
    dashes: Any
    in_legend: bool = True


def spectra(
    ds: "xr.Dataset",
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    algorithms: str | Iterable[str] | None = None,
    snapshots: Iterable[Any] | None = None,
    hops: Iterable[int] | None = None,
    x: str = "eigenvalue",
    y: str = "auto",
    normalize: bool = False,
    calibrated: "xr.Dataset | None" = None,
    max_panels: int = MAX_PANELS,
) -> np.ndarray:
    """Draw magnitudes over eigenvalues, one panel per hop.

    Components that share an eigenvalue are hollow (the split between them is arbitrary), zero
    components are squares, and a panel says where values are zero or undefined.

    Parameters
    ----------
    ds : xarray.Dataset, or a mapping of names to them
        A result of :func:`spectrata.spectra`, as it is or from :func:`spectrata.merge_eigenspaces`, which leaves
        nothing arbitrary to mark; several signals on one graph by name.
    ax : Axes or sequence of Axes, optional
        One for each hop drawn; a new figure without it.
    algorithms, snapshots, hops : optional
        What to draw, by name; all of it by default. A result with several snapshots shows them for
        its first algorithm, unless algorithms are named.
    x : {"eigenvalue", "rank"}
        Place components by eigenvalue, or by rank where eigenvalues crowd; ticks then give both.
    y : {"auto", "linear", "log"}
        Scale of magnitudes; "auto" is "log" beyond 60 components, where zero components would
        dwarf the rest. What lies below a log axis is counted in the panel.
    normalize : bool
        Divide each curve by its l2 norm over components, to compare shapes.
    calibrated : xarray.Dataset, optional
        What :func:`spectrata.calibrate` gave for the same signal: chance is shaded, mean and two standard deviations
        of the energy to either side, per component where an eigenvalue is repeated. For the first algorithm and, of
        several snapshots, the last that is drawn.
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
    ds = as_result(ds)
    one_of("x", x, ("eigenvalue", "rank"))
    one_of("y", y, ("auto", "linear", "log"))
    log = y == "log" or (y == "auto" and ds.sizes["component"] > MANY)
    wanted = chosen(ds, "hop", hops)
    axes, shown = panels_for(ax, wanted, max_panels)
    series, note = _series(ds, algorithms, snapshots)
    for panel, hop in zip(axes, shown, strict=True):
        chance = None if calibrated is None else _chance(calibrated, ds, series, hop)
        _panel(panel, ds.sel({"hop": hop}), series, x, log, normalize, chance)
    _label(axes, x, normalize, own_figure=ax is None)
    notes = [word for word in (note, left_out(wanted, shown)) if word]
    _legend(axes, ds.sel({"hop": shown}), series, notes, ax is None, calibrated is not None)
    return axes


# ---- what is drawn


def _series(ds: "xr.Dataset", algorithms: Any, snapshots: Any) -> tuple[list[Series], str]:
    """The curves of every panel, and a word on what they leave out or have in common."""
    names = chosen(ds, "algorithm", algorithms)
    if "snapshot" not in ds.dims:
        return [Series(name, {"algorithm": name}, *look(i, len(names))) for i, name in enumerate(names)], ""
    moments = chosen(ds, "snapshot", snapshots)
    note = ""
    if len(moments) > 1 and len(names) > 1 and algorithms is None:
        note = f"{names[0]} drawn; {len(names) - 1} more algorithms in the result"
        names = names[:1]
    elif len(moments) == 1 or len(names) == 1:
        note = names[0] if len(names) == 1 else f"snapshot {plain(moments[0])}"
    pairs = [(name, moment) for name in names for moment in moments]
    labels = [
        plain(moment) if len(names) == 1 else name if len(moments) == 1 else f"{name}, {plain(moment)}"
        for name, moment in pairs
    ]
    return [
        Series(label, {"algorithm": name, "snapshot": moment}, *look(i, len(pairs)))
        for i, (label, (name, moment)) in enumerate(zip(labels, pairs, strict=True))
    ], note


@dataclass(frozen=True, eq=False)
class Chance:
    """What magnitudes chance gives to each eigenspace of a hop, for one curve."""

    series: Series
    low: np.ndarray
    mean: np.ndarray
    high: np.ndarray
    multiplicity: np.ndarray


def _chance(calibrated: "xr.Dataset", ds: "xr.Dataset", series: Sequence[Series], hop: int) -> Chance | None:
    if "null_energy" not in calibrated or MERGED not in calibrated.attrs:
        raise ResultError("calibrated must come from calibrate(..., level='eigenspace'), its default.")
    if calibrated.attrs.get("graph_hash") != ds.attrs.get("graph_hash"):
        raise ResultError("calibrated is of another graph.")
    one = series[-1] if "snapshot" in series[-1].select else series[0]
    known = calibrated["algorithm"].values
    if one.select["algorithm"] not in known or hop not in calibrated["hop"].values:
        return None
    at = calibrated.sel(
        {"hop": hop} | {k: v for k, v in one.select.items() if k in calibrated["null_energy"].dims}
    )
    energy, std = at["null_energy"].values, at["null_std"].values
    low, high = np.sqrt(np.maximum(energy - 2 * std, 0.0)), np.sqrt(energy + 2 * std)
    return Chance(one, low, np.sqrt(energy), high, at["multiplicity"].values)


def _shade(
    ax: "Axes", places: np.ndarray, space: np.ndarray, chance: Chance, size: float, merged: bool
) -> None:
    """A band behind the curve; a repeated eigenvalue's energy is spread evenly over its components."""
    share = 1.0 if merged else np.sqrt(np.maximum(chance.multiplicity[space], 1))
    low, mean, high = (side[space] / share / size for side in (chance.low, chance.mean, chance.high))
    off = space > 0  # no permutation moves the constant part
    ax.fill_between(
        places, low, high, where=off, color="#999999", alpha=0.28, linewidth=0, zorder=1, gid="chance"
    )
    ax.plot(
        places[off], mean[off], color="#777777", linewidth=0.9, linestyle=(0, (2, 2)), zorder=1.5, gid="null"
    )


# ---- one panel


def _panel(
    ax: "Axes",
    at: "xr.Dataset",
    series: Sequence[Series],
    x: str,
    log: bool,
    normalize: bool,
    chance: Chance | None,
) -> None:
    at = at.isel(component=at["multiplicity"].values > 0)  # merged results pad hops of few eigenspaces
    places = at["eigenvalue"].values if x == "eigenvalue" else np.arange(at.sizes["component"])
    zero = at["eigenspace"].values == 0
    repeated = (at["multiplicity"].values > 1) & (MERGED not in at.attrs)
    empty, drawn = [], []
    for order, one in enumerate(series):
        values = at["magnitude"].sel(one.select).values
        if np.isnan(values).all():
            empty.append((one.label, str(at["status"].sel(one.select).values)))
            continue
        if not np.nanmax(np.abs(values)) > 0.0:
            empty.append((one.label, "all zero"))
        even, scale = squarable(values)  # squares of tiny and of huge magnitudes have no digits
        size = np.sqrt(np.nansum(even**2)) * scale[0] if normalize and np.nansum(even**2) > 0 else 1.0
        values = values / size
        if chance is not None and one is chance.series:
            _shade(ax, places, at["eigenspace"].values, chance, size, MERGED in at.attrs)
        _curve(ax, places, values, one, zero, repeated, 3 + order * 0.1)
        drawn.append(values)
    ax.set_title(hop_title(at), fontsize=9)
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
    # Components that are zero but for rounding would take most of the axis; the panel counts them.
    bottom = max(float(np.quantile(positive, LEAST)) / 2, positive.max() * LOG_SPAN)
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
    for kind, which, marker, face in (
        ("simple", ~zero & ~repeated, "o", one.color),
        ("repeated", ~zero & repeated, "o", "white"),
        ("zero", zero, "s", "white" if np.count_nonzero(zero) > 1 else one.color),
    ):
        if which.any():
            ax.plot(
                places[which],
                values[which],
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


def _say(ax: "Axes", empty: Sequence[tuple[str, str]], curves: int, below: int) -> None:
    """Write into the panel which curves are zero or undefined, and what the axis leaves out."""
    reasons = dict.fromkeys(reason for _, reason in empty)
    if len(empty) == curves and len(reasons) == 1:
        write_in(ax, next(iter(reasons)))
        return
    lines = [f"{', '.join(label for label, why in empty if why == reason)}: {reason}" for reason in reasons]
    if below:
        lines.append(f"{count(below, 'value')} below the axis")
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


def _label(axes: np.ndarray, x: str, normalize: bool, own_figure: bool) -> None:
    across = "eigenvalue" if x == "eigenvalue" else "component, by ascending eigenvalue"
    up = "magnitude / l2 norm" if normalize else "magnitude"
    for ax in axes:
        tidy(ax)
        if not own_figure:
            ax.set_xlabel(across, fontsize=9)
            ax.set_ylabel(up, fontsize=9)
    if own_figure:
        axes[0].figure.supxlabel(across, fontsize=9)
        axes[0].figure.supylabel(up, fontsize=9)


def _legend(
    axes: np.ndarray,
    ds: "xr.Dataset",
    series: Sequence[Series],
    notes: list[str],
    own_figure: bool,
    chance: bool,
) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    marks: dict[str, Any] = {"color": GREY, "linestyle": "none", "markersize": 4.2, "markeredgewidth": 1.0}
    many = ds.sizes["component"] > MANY
    handles: list[Any] = [
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
    if MERGED not in ds.attrs and np.any((ds["multiplicity"].values > 1) & (ds["eigenspace"].values > 0)):
        handles.append(Line2D([], [], marker="o", markerfacecolor="white", **marks))
        labels.append("repeated eigenvalue: the split is arbitrary")
    handles.append(Line2D([], [], marker="s", **marks))
    labels.append("zero component")
    if chance:
        handles.append(Patch(facecolor="#999999", alpha=0.28))
        labels.append("chance: mean, 2 standard deviations")
    if own_figure:
        figure = axes[0].figure
        place: dict[str, Any] = {
            "loc": "outside upper center",
            "frameon": False,
            "fontsize": 8,
            "title_fontsize": 8,
        }
        for columns in range(
            max(1, min(len(labels), 2 * min(3, len(axes)))), 0, -1
        ):  # as many as fit the width
            legend = figure.legend(handles, labels, title="; ".join(notes), ncols=columns, **place)
            if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
                break
            legend.remove()
    else:
        axes[0].legend(handles, labels, fontsize=7, frameon=False, title="; ".join(notes), title_fontsize=7)
