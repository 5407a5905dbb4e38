"""Many columns in one picture: the clearest ones ranked, against chance."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spectrata.errors import OptionError
from spectrata.inputs.numbers import whole
from spectrata.plot import style
from spectrata.plot.cells import LEVEL, as_components, cells_of
from spectrata.plot.reading import chosen, hop_panels
from spectrata.results.schema import ROW_DIMS, view

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes

TOP = 30
NUMBERED = 8  # cells of a row up to which their numbers are written in them
OCTAVES = 2.0  # powers of two at which colours of ratios end
BANDS = 4  # bands off zero of equal counts of components, for spectra
SIDES = {"alike": 0, "agree": 0, "more": 0, "unlike": 1, "opposite": 1, "less": 1}  # verdicts, and the colour of each
TESTED = ("correlogram", "homophily", "agree")


class Heat(NamedTuple):
    """One heat map: cells ``(C, cells)`` of all columns, the columns in the order drawn."""

    title: str
    cells: list[str]
    values: np.ndarray  # r, or energy over a flat spectrum
    clear: np.ndarray  # cells with a verdict
    order: np.ndarray  # columns, the clearest first


def columns(
    found: "xr.Dataset | pd.DataFrame",
    ax: "Axes | Sequence[Axes] | None" = None,
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


def _ranking(found: "pd.DataFrame", ax: Any, top: int) -> np.ndarray:
    """Stems of r per column, with boxes of chance."""
    rows = found.iloc[:top]
    sheet = style.Sheet(ax, 1, height=0.4 + 0.2 * len(rows))
    panel, theme, hop = sheet.ax, sheet.theme, rows["hop"].iloc[0]
    low, high, r = (rows[name].to_numpy(dtype=float) for name in ("chance_low", "chance_high", "r"))
    panel.barh(np.arange(len(rows)), high - low, 0.7, low, color=theme.chance, zorder=0, gid="chance")
    panel.axvline(0.0, color=theme.muted, linewidth=0.8, zorder=1)
    for place, (value, word) in enumerate(zip(r, rows["verdict"].astype(str), strict=True)):
        color, face = verdict_colors(theme, word)
        panel.hlines(place, 0.0, value, color=color, linewidth=2, zorder=2)
        panel.plot(value, place, "o", color=color, markerfacecolor=face, markersize=6, zorder=3, gid="r")
    panel.margins(x=0.04)
    style.row_ticks(panel, rows["column"].tolist(), stems=True)
    sheet.name_axes(f"r at {style.hop_words(hop)}", "")
    style.tidy(panel)
    for place, reach in enumerate(rows["reach"]):
        if reach > hop:
            words = f" up to {style.hop_words(int(reach))}"
            panel.text(panel.get_xlim()[1], place, words, va="center", fontsize=7.5, color=theme.muted)
    count = int(found["verdict"].isin(SIDES).sum())
    sheet.title(f"{count} of {len(found)} columns are alike or unlike at {style.hop_words(hop)}")
    sheet.legend(verdict_handles(theme, "random orders", rows["verdict"].astype(str)))
    return sheet.axes


def verdict_colors(theme: style.Theme, word: str) -> tuple[str, str]:
    """The colour of a verdict and that of its marker's face, which is hollow where there is none."""
    return (theme.colors[SIDES[word]],) * 2 if word in SIDES else (theme.muted, theme.paper)


def verdict_handles(theme: style.Theme, chance: str, words: Iterable[str]) -> list[Any]:
    """Legend entries of r against chance."""
    words = list(dict.fromkeys(words))
    handles = [style.mark(f"chance: 95 % of {chance}", theme.chance, "s", size=8)]
    handles += [style.mark(word, theme.colors[SIDES[word]]) for word in words if word in SIDES]
    none = [style.mark("no verdict", theme.muted, face=theme.paper)]
    return handles + (none if any(word not in SIDES for word in words) else [])


# ---- heat maps


def _of_tests(ds: "xr.Dataset", hops: list[Any]) -> Heat:
    ds = ds.sel(hop=hops).transpose("column", "hop", ...)
    r, p = ds["r"].values, ds["p"].values
    order = np.lexsort([-np.max(np.nan_to_num(np.abs(r)), axis=1), np.min(np.where(np.isnan(p), 2.0, p), axis=1)])
    names = ["same" if hop == 0 else str(hop) for hop in hops]
    return Heat("", names, r, np.isin(ds["verdict"].values.astype(str), list(SIDES)), order)


def _of_energies(ds: "xr.Dataset", hops: Sequence[Any], algorithm: str | None) -> list[Heat]:
    if ds.attrs.get("kind") == "calibration" and "band" not in ds.dims:
        raise OptionError("Columns are drawn by bands; compute the calibration with level='band'.")
    found, maps = cells_of(view(as_components(ds)), algorithm, BANDS), []
    for hop, one in [(hop, found[hop]) for hop in hops]:
        clear = np.zeros(one.share.shape, dtype=bool) if one.chance is None else one.chance["q"] <= LEVEL
        names = ["smooth", *map(str, range(2, len(one.size))), "rough"] if len(one.size) > 1 else ["all"]
        order = np.lexsort([-np.max(np.nan_to_num(one.ratio), axis=1, initial=0.0), ~clear.any(axis=1)])
        maps.append(Heat(style.hop_words(hop), names, one.ratio, clear, order))
    return maps


def _draw(ax: "Axes", one: Heat, names: Sequence[Any], top: int, is_r: bool) -> None:
    rows, theme = one.order[:top], style.theme_of(ax)
    limit = max(0.1, float(np.nanmax(np.abs(one.values), initial=0.0))) if is_r else OCTAVES
    with np.errstate(divide="ignore"):
        cells = np.clip(one.values[rows] if is_r else np.log2(one.values[rows]), -limit, limit)
    ax.set_facecolor(theme.chance)  # cells without a number
    drawn = ax.pcolormesh(cells, cmap=style.color_map(ax), vmin=-limit, vmax=limit, rasterized=cells.size > 2000)
    style.row_ticks(ax, [names[row] for row in rows], size=7.5)
    at = style.thinned(len(one.cells), 2 * NUMBERED)
    ax.set_xticks(at + 0.5, [one.cells[cell] for cell in at], fontsize=7.5)
    ax.tick_params(length=0)
    ax.set_title(one.title, fontsize=9)
    middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 6.5}
    for (place, cell), value in np.ndenumerate(one.values[rows]) if len(one.cells) <= NUMBERED else ():
        if np.isfinite(value):
            color = theme.paper if abs(cells[place, cell]) > 0.55 * limit else theme.ink
            weight = "bold" if one.clear[rows[place], cell] else "normal"
            ax.text(cell + 0.5, place + 0.5, style.number(value), color=color, weight=weight, **middle)
    bar = style.side_bar(ax, drawn, "r" if is_r else "energy / flat spectrum", extend="neither" if is_r else "both")
    if not is_r:
        bar.set_ticks([-2, -1, 0, 1, 2], labels=["1/4", "1/2", "1", "2", "4"])
