"""Many columns in one picture: the clearest ones ranked, against chance."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import OptionError
from spectrata.inputs.numbers import whole
from spectrata.plot import style
from spectrata.plot.cells import LEVEL, as_components, cells_of
from spectrata.results.schema import view

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes

TOP = 30
NUMBERED = 8  # cells of a row up to which their numbers are written in them
LARGEST = 4.0  # half widths of the interval of chance at which colours end
SHARES = 2.0  # powers of two at which colours end
VERDICTS = ("alike", "unlike", "agree", "opposite")
TESTED = ("correlogram", "homophily", "agree")


@dataclass(frozen=True, eq=False)
class Ranked:
    """Cells of all columns at one panel, arrays ``(C, cells)``."""

    title: str
    cells: list[str]
    values: np.ndarray  # what colours show
    written: np.ndarray  # what numbers in the cells show
    clear: np.ndarray  # cells with a verdict
    order: np.ndarray  # columns, the clearest first


def columns(
    found: "xr.Dataset | pd.DataFrame",
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    hops: Iterable[int] | None = None,
    algorithm: str | None = None,
    top: int = TOP,
    bands: int = 4,
    max_panels: int = style.MAX_PANELS,
) -> np.ndarray:
    """Draw the clearest of many columns, ranked, a row each.

    A ranking is drawn as r beside the interval of chance; a filled marker is a verdict. Other results are heat maps
    with a cell for each hop or band: r of a correlogram or agreement; of a calibration how far a share of energy lies
    from the middle of its interval of chance, in half widths of it; of spectra, which are not tested, the share of
    energy over that of a flat spectrum. Bold numbers mark verdicts, or q of at most .05.

    Parameters
    ----------
    found : DataFrame or xarray.Dataset
        A result of :func:`spectrata.rank_columns`; or one with the dimension ``column`` of
        :func:`spectrata.correlogram`, :func:`spectrata.agree`, :func:`spectrata.calibrate` with ``level="band"``,
        :func:`spectrata.spectra` or :func:`spectrata.band_spectra`. Of several snapshots the last is drawn.
    ax : Axes or sequence of Axes, optional
        One for a ranking or a correlogram; else one for each hop.
    hops : optional
        All by default.
    algorithm : str, optional
        gft by default, or the first.
    top : int
        Rows drawn: by the smallest p of any cell, then the farthest from chance; of spectra by the largest ratio.
    bands : int
        Bands off zero of equal counts of components, for spectra.
    max_panels : int
        Hops drawn in a new figure.

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
    ds = ds.isel({dim: -1 for dim in ds.dims if dim in ("snapshot", "layer", "epoch", "step", "mode")}, drop=True)
    kind, wanted = ds.attrs.get("kind"), style.chosen(ds["hop"].values.tolist(), "hop", hops)
    height = 0.5 + 0.2 * min(top, ds.sizes["column"])
    if kind in TESTED:
        axes = (
            style.new_axes(1, height, least=3.0 + 0.5 * len(wanted))
            if ax is None
            else style.given_axes(ax, 1, "panels")
        )
        shown, panels = wanted, [_correlogram(ds, wanted)]
        limit, words = max(0.1, float(np.nanmax(np.abs(panels[0].values), initial=0.0))), "r"
    else:
        axes, shown = style.panels_for(ax, wanted, max_panels, height=height)
        panels = _of_energies(ds, shown, algorithm, bands)
        tested = kind == "calibration"
        limit, words = (LARGEST if tested else SHARES), "half widths of chance" if tested else "energy / flat spectrum"
    names = [str(name) for name in ds["column"].values.tolist()]
    for panel, one in zip(axes, panels, strict=True):
        _draw(panel, one, names, top, limit, words)
    clear = int(np.count_nonzero(np.any([one.clear.any(axis=1) for one in panels], axis=0)))
    rows = min(top, len(names))
    tested = kind in TESTED or kind == "calibration"
    title = f"{clear} of {len(names)} columns differ from chance" if tested else "Energy per band of each column"
    title += f"; the {rows} clearest" if rows < len(names) else ""
    style.head(axes, ax is None, "; ".join(filter(None, [title, style.left_out(wanted, shown)])))
    return axes


def _ranking(found: "pd.DataFrame", ax: Any, top: int) -> np.ndarray:
    """Stems of r per column, with boxes of chance."""
    rows = found.iloc[:top]
    axes = style.new_axes(1, 0.4 + 0.2 * len(rows), least=5.6) if ax is None else style.given_axes(ax, 1, "panels")
    panel, at = axes[0], np.arange(len(rows))
    own = style.theme_of(panel)
    low, high, r = (rows[name].to_numpy(dtype=float) for name in ("chance_low", "chance_high", "r"))
    panel.barh(at, high - low, 0.7, low, color=own.chance, zorder=0, gid="chance")
    panel.axvline(0.0, color=own.muted, linewidth=0.8, zorder=1)
    sides = {"alike": own.colors[0], "unlike": own.colors[1]}
    for place, (value, word) in enumerate(zip(r, rows["verdict"], strict=True)):
        color = sides.get(str(word), own.muted)
        panel.hlines(place, 0.0, value, color=color, linewidth=2, zorder=2)
        face = color if word in sides else own.paper
        panel.plot(value, place, "o", color=color, markerfacecolor=face, markersize=6, zorder=3, gid="r")
    panel.set_yticks(at, [style.plain(name) for name in rows["column"]])
    panel.set_ylim(len(rows) - 0.4, -0.6)
    panel.set_xlabel(f"r at {style.hop_words(rows['hop'].iloc[0])}", fontsize=9)
    style.tidy(panel)
    far = {place: int(reach) for place, reach in enumerate(rows["reach"]) if reach > rows["hop"].iloc[0]}
    edge = panel.get_xlim()[1]
    for place, reach in far.items():
        panel.text(edge, place, f" up to {style.hop_words(reach)}", va="center", fontsize=7.5, color=own.muted)
    count = int(np.isin(found["verdict"].astype(str), list(sides)).sum())
    style.head(
        axes,
        ax is None,
        f"{count} of {len(found)} columns are alike or unlike at {style.hop_words(rows['hop'].iloc[0])}",
    )
    dot: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 6}
    handles = [style.patch(own.chance, "chance: 95 % of random orders")]
    handles += [style.mark(word, color=color, **dot) for word, color in sides.items() if word in set(rows["verdict"])]
    handles.append(style.mark("no verdict", color=own.muted, markerfacecolor=own.paper, **dot))
    style.legend(axes, ax is None, handles)
    return axes


# ---- heat maps


def _correlogram(ds: "xr.Dataset", hops: list[Any]) -> Ranked:
    ds = ds.sel(hop=hops).transpose("column", "hop", ...)
    names = ["same" if hop == 0 else str(hop) if at else style.hop_words(hop) for at, hop in enumerate(hops)]
    r, p = ds["r"].values, ds["p"].values
    low, high = ds["chance_low"].values, ds["chance_high"].values
    effect = np.abs(r - (low + high) / 2) / np.where(high > low, high - low, np.nan)
    smallest = np.nanmin(np.where(np.isnan(p), 2.0, np.maximum(p, 0.002)), axis=1)
    order = np.lexsort([-np.nanmax(np.nan_to_num(effect), axis=1), smallest])
    return Ranked("", names, r, r, np.isin(ds["verdict"].values.astype(str), VERDICTS), order)


def _of_energies(ds: "xr.Dataset", hops: Sequence[Any], algorithm: str | None, bands: int) -> list[Ranked]:
    if ds.attrs.get("kind") == "calibration" and "band" not in ds.dims:
        raise OptionError("Columns are drawn by bands; compute the calibration with level='band'.")
    found = cells_of(view(as_components(ds)), algorithm, bands)
    panels = []
    for hop in hops:
        one = found[hop]
        with np.errstate(divide="ignore", invalid="ignore"):
            if one.chance is None:
                values, clear = np.log2(one.ratio), np.zeros(one.share.shape, dtype=bool)
                written, first = one.ratio, np.zeros(len(one.share))
            else:
                middle = (one.chance["chance_high"] + one.chance["chance_low"]) / 2
                values = (one.share - middle) / (one.chance["chance_high"] - middle)
                written, clear = values, one.chance["q"] <= LEVEL
                first = -clear.any(axis=1).astype(float)
        largest = np.max(np.nan_to_num(np.abs(values), nan=0.0, posinf=0.0, neginf=0.0), axis=1, initial=0.0)
        size = len(one.size)
        names = [{0: "smooth", size - 1: "rough"}.get(band, str(band + 1)) for band in range(size)]
        panels.append(Ranked(style.hop_words(hop), names, values, written, clear, np.lexsort([-largest, first])))
    return panels


def _draw(ax: "Axes", found: Ranked, names: Sequence[str], top: int, limit: float, words: str) -> None:
    rows, own = found.order[:top], style.theme_of(ax)
    cells = np.clip(found.values[rows], -limit, limit)
    ax.set_facecolor(own.chance)  # cells without a number
    drawn = ax.pcolormesh(cells, cmap=style.signed_map(ax), vmin=-limit, vmax=limit, rasterized=cells.size > 2000)
    ax.set_yticks(np.arange(len(rows)) + 0.5, [style.plain(names[row]) for row in rows], fontsize=7.5)
    ax.set_ylim(len(rows), 0)
    step = 1 if len(found.cells) <= 2 * NUMBERED else -(-len(found.cells) // NUMBERED)
    at = np.arange(0, len(found.cells), step)
    ax.set_xticks(at + 0.5, [found.cells[cell] for cell in at], fontsize=7.5)
    ax.tick_params(length=0)
    ax.set_title(found.title, fontsize=9)
    if len(found.cells) <= NUMBERED:
        for (place, cell), number in np.ndenumerate(found.written[rows]):
            if np.isfinite(number):
                strong = abs(cells[place, cell]) > 0.55 * limit
                look: dict[str, Any] = {"color": own.paper if strong else own.ink, "fontsize": 6.5}
                look["weight"] = "bold" if found.clear[rows[place], cell] else "normal"
                ax.text(cell + 0.5, place + 0.5, f"{number:.2f}".replace("-", "\N{MINUS SIGN}"), **look, **MIDDLE)
    bar = style.side_bar(ax, drawn, words, extend="both" if limit in (LARGEST, SHARES) else "neither")
    if limit == SHARES:
        ticks = np.arange(-SHARES, SHARES + 1)
        bar.set_ticks(ticks.tolist(), labels=[f"{2.0**tick:g}" for tick in ticks])


MIDDLE: dict[str, Any] = {"ha": "center", "va": "center"}
