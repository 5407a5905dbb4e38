"""Rows by name: the clearest of many columns, ranked, and the views of a probe."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes

from spectrata.errors import OptionError
from spectrata.inputs.numbers import whole
from spectrata.plot import style
from spectrata.plot.cells import LEVEL, as_components, cells_of
from spectrata.plot.reading import chosen, hop_panels
from spectrata.results.schema import ROW_DIMS, view
from spectrata.stats.verbs.probe import Probe
from spectrata.stats.views import ALONE

TOP = 30
NUMBERED = 8  # cells of a row up to which their numbers are written in them
OCTAVES = 2.0  # powers of two at which colours of ratios end
BANDS = 4  # bands off zero of equal counts of components, for spectra
TESTED = ("correlogram", "homophily", "agree")


class Heat(NamedTuple):
    """One heat map: cells ``(C, cells)`` of all columns, the columns in the order drawn."""

    title: str
    cells: list[str]
    values: np.ndarray  # r, or energy over a flat spectrum
    clear: np.ndarray  # cells with a verdict
    order: np.ndarray  # columns, the clearest first


def columns(
    found: xr.Dataset | pd.DataFrame,
    ax: style.Given = None,
    *,
    hops: Iterable[int] | None = None,
    algorithm: str | None = None,
    top: int = TOP,
) -> np.ndarray:
    """Draw the clearest of many columns, ranked, a row each.

    A ranking is drawn as r beside the interval of chance; a filled marker is a verdict. Other results are heat maps
    with a cell for each hop or band: r of a correlogram or agreement; of a calibration and of spectra the share of
    energy in each band over that of a flat spectrum. Bold numbers mark verdicts, or q of at most .05.

    Parameters
    ----------
    found : DataFrame or xarray.Dataset
        A result of :func:`spectrata.rank_columns`; or one with the dimension ``column`` of
        :func:`spectrata.correlogram`, :func:`spectrata.agree`, :func:`spectrata.calibrate` with ``level="band"``,
        :func:`spectrata.spectra` or :func:`spectrata.band_spectra`. Of several snapshots the last is drawn.
    ax : Axes or sequence of Axes, optional
        One for a ranking or a correlogram; else one for each hop.
    hops, algorithm : optional
        By default all hops (of energies up to 12), and gft or the first algorithm.
    top : int
        Rows drawn: by the smallest p of any cell, then the largest r; of energies those with a verdict, then by the
        largest ratio.

    Returns
    -------
    ndarray of Axes, shape (panels,)

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> values = np.random.default_rng(0).normal(size=(30, 9))
    >>> values[:, 4] = np.arange(30)
    >>> found = st.rank_columns(nx.path_graph(30), values, hops=2)
    >>> st.plot.columns(found, top=3)[0].get_yticklabels()[0].get_text()
    '4'
    """
    whole(top, "top")
    if hasattr(found, "to_records") and "column" in found:
        return _ranking(found, ax, top)
    if "column" not in getattr(found, "dims", ()):
        raise OptionError("The result has no dimension column; compute it with columns='separate'.")
    ds = found.expand_dims([dim for dim in ("algorithm", "hop") if dim in found.coords and dim not in found.dims])
    ds = ds.isel({dim: -1 for dim in ds.dims if dim in ROW_DIMS and dim != "column"}, drop=True)
    kind, known, names = ds.attrs.get("kind"), ds["hop"].values.tolist(), ds["column"].values.tolist()
    height = 0.5 + 0.2 * min(top, len(names))
    if kind in TESTED:
        shown = chosen(known, "hop", hops)
        sheet, note, maps = style.Sheet(ax, height=height, least=3.0 + 0.5 * len(shown)), "", [_of_tests(ds, shown)]
        sheet.name_axes("hops apart", "")
    else:
        sheet, shown, note = hop_panels(ax, known, hops, height=height)
        maps = _of_energies(ds, shown, algorithm)
    for panel, one in zip(sheet.axes, maps, strict=True):
        _draw(panel, one, names, top, kind in TESTED)
    clear = int(np.count_nonzero(np.any([one.clear.any(axis=1) for one in maps], axis=0)))
    tested = kind in TESTED or kind == "calibration"
    title = f"{clear} of {len(names)} columns differ from chance" if tested else "Energy per band of each column"
    sheet.title(title, f"the {top} clearest" if top < len(names) else "", note)
    return sheet.axes


def _ranking(found: pd.DataFrame, ax: Any, top: int) -> np.ndarray:
    """Stems of r per column, with boxes of chance."""
    rows, hop = found.iloc[:top], found["hop"].iloc[0]
    sheet = style.Sheet(ax, 1, height=0.4 + 0.2 * len(rows))
    style.verdict_stems(sheet.ax, rows, 6.0, "random orders", across=True)
    style.row_ticks(sheet.ax, rows["column"].tolist())
    sheet.name_axes(f"r at {style.hop_words(hop)}", "")
    look: dict[str, Any] = {"va": "center", "fontsize": 7.5, "color": sheet.theme.muted}
    for place, (reach, is_open) in enumerate(zip(rows["reach"], rows["reach_open"], strict=True)):
        words = f" up to {style.hop_words(int(reach))}{' or more' if is_open else ''}" if reach > hop else ""
        sheet.ax.text(1.0, place + 0.5, words, transform=sheet.ax.get_yaxis_transform(), **look)
    clear = int(found["verdict"].isin(style.SIDES).sum())
    sheet.title(f"{clear} of {len(found)} columns are alike or unlike at {style.hop_words(hop)}")
    sheet.legend()
    return sheet.axes


def _of_tests(ds: xr.Dataset, hops: list[Any]) -> Heat:
    ds = ds.sel(hop=hops).transpose("column", "hop", ...)
    r, p = ds["r"].values, ds["p"].values
    order = np.lexsort([-np.max(np.nan_to_num(np.abs(r)), axis=1), np.min(np.where(np.isnan(p), 2.0, p), axis=1)])
    names = ["same" if hop == 0 else str(hop) for hop in hops]
    return Heat("", names, r, np.isin(ds["verdict"].values.astype(str), list(style.SIDES)), order)


def _of_energies(ds: xr.Dataset, hops: Sequence[Any], algorithm: str | None) -> list[Heat]:
    if ds.attrs.get("kind") == "calibration" and "band" not in ds.dims:
        raise OptionError("Columns are drawn by bands; compute the calibration with level='band'.")
    found, maps = cells_of(view(as_components(ds)), algorithm, BANDS), []
    for hop, one in [(hop, found[hop]) for hop in hops]:
        clear = np.zeros(one.share.shape, dtype=bool) if one.chance is None else one.chance["q"] <= LEVEL
        names = ["smooth", *map(str, range(2, len(one.size))), "rough"] if len(one.size) > 1 else ["all"]
        order = np.lexsort([-np.max(np.nan_to_num(one.ratio), axis=1, initial=0.0), ~clear.any(axis=1)])
        maps.append(Heat(style.hop_words(hop), names, one.ratio, clear, order))
    return maps


def _draw(ax: Axes, one: Heat, names: Sequence[Any], top: int, is_r: bool) -> None:
    rows, theme = one.order[:top], style.theme_of(ax)
    end = max(0.1, float(np.nanmax(np.abs(one.values), initial=0.0))) if is_r else OCTAVES
    with np.errstate(divide="ignore"):
        shade = np.clip(one.values[rows] if is_r else np.log2(one.values[rows]), -end, end)
    ax.set_facecolor(theme.chance)  # cells without a number
    look: dict[str, Any] = {"vmin": -end, "vmax": end, "rasterized": shade.size > style.RASTER}
    drawn = ax.pcolormesh(shade, cmap=style.color_map(ax), **look)
    (style.side_bar if is_r else style.ratio_bar)(ax, drawn, "r" if is_r else "energy / flat spectrum")
    style.row_ticks(ax, [names[row] for row in rows], size=7.5)
    at = style.thinned(len(one.cells), 2 * NUMBERED)
    ax.set_xticks(at + 0.5, [one.cells[cell] for cell in at], fontsize=7.5)
    ax.tick_params(length=0)
    ax.set_title(one.title, fontsize=9)
    middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 6.5}
    for (place, cell), value in np.ndenumerate(one.values[rows]) if len(one.cells) <= NUMBERED else ():
        if np.isfinite(value):
            color = theme.paper if abs(shade[place, cell]) > 0.55 * end else theme.ink
            weight = "bold" if one.clear[rows[place], cell] else "normal"
            ax.text(cell + 0.5, place + 0.5, style.number(value), color=color, weight=weight, **middle)


def probe(found: Probe, ax: Axes | None = None) -> Axes:
    """Draw the score of each view of the features, with its standard error, and rewired graphs beside the best.

    Parameters
    ----------
    found : Probe
        A result of :func:`spectrata.probe`.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> graph = nx.karate_club_graph()
    >>> noise = np.random.default_rng(0).normal(size=(34, 4))
    >>> found = st.probe(graph, noise, "club", weights=False)
    >>> st.plot.probe(found).get_yticklabels()[0].get_text()
    'features alone'
    """
    if not isinstance(found, Probe):
        raise OptionError("plot.probe draws a result of st.probe; give one.")
    table, best = found.to_frame(), found.best if found.verdict == "neighbours help" else None
    sheet = style.Sheet(ax, height=0.5 + 0.32 * len(table), least=6.4)
    ax, theme, names = sheet.ax, sheet.theme, table["view"].tolist()
    ax.axvline(table["score"][names.index(ALONE)], color=theme.muted, zorder=1, gid="alone", **style.DASHED)
    for place, (name, score, error) in enumerate(zip(names, table["score"], table["error"], strict=True)):
        color, face = (theme.colors[0],) * 2 if name == best else (theme.muted, theme.paper)
        ax.errorbar(score, place + 0.5, xerr=error, fmt="o", color=color, mfc=face, ms=7, elinewidth=2, zorder=3)
    handles = [style.mark("score ± standard error", theme.muted, face=theme.paper, linestyle="-", linewidth=2)]
    if best:
        handles.append(style.mark("best view: neighbours help", theme.colors[0], linestyle="-", linewidth=2))
    if len(found.rewired):
        at = np.full(len(found.rewired), names.index(found.best) + 0.5)
        ax.plot(found.rewired, at, "x", color=theme.colors[1], markersize=6, zorder=2, gid="rewired")
        handles.append(style.mark("best view on rewired graphs", theme.colors[1], "x"))
    style.row_ticks(ax, names)
    sheet.name_axes(f"{found.target.score_name}, cross-validated on the training nodes", "")
    sheet.title(found.headline)
    sheet.legend([*handles, style.mark("features alone", theme.muted, "", **style.DASHED)])
    return ax
