"""Many columns in one picture: the clearest ones ranked, as a heat map against chance."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import OptionError
from spectrata.inputs.numbers import whole
from spectrata.plot.style import MAX_PANELS, chosen, left_out, one_algorithm, one_of_algorithms, panels_for, plain
from spectrata.results.schema import view
from spectrata.stats.describe.compare import band_shares, spread_evenly
from spectrata.stats.describe.levels import level_groups
from spectrata.stats.describe.spectrum import band_energy_shares, merge_eigenspaces
from spectrata.stats.findings import LEVEL

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

TOP = 30
SIGNED = "RdBu_r"
NUMBERED = 8  # cells of a row up to which their numbers are written in them
LARGEST = 8.0  # half widths of the interval of chance at which colours end
SHARES = 2.0  # powers of two at which colours end
BEYOND = "share of energy beyond chance, in half widths of its interval"


@dataclass(frozen=True, eq=False)
class Ranked:
    """Cells of all columns at one panel, arrays ``(C, cells)``."""

    title: str
    cells: list[str]
    values: np.ndarray  # what colours show
    written: np.ndarray  # what numbers in the cells show
    clear: np.ndarray  # cells with q at most the level
    order: np.ndarray  # columns, the clearest first


def columns(
    ds: "xr.Dataset",
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    hops: Iterable[int] | None = None,
    algorithm: str | None = None,
    top: int = TOP,
    bands: int = 4,
    max_panels: int = MAX_PANELS,
) -> np.ndarray:
    """Draw the clearest of many columns, ranked: a row each, a cell for each hop or band.

    Of a correlogram colours are r, of a calibration how far a share lies from the middle of the interval of chance, in
    half widths of it; bold numbers mark q <= .05. Of spectra, which are not tested, colours are the share of energy
    over the share of components (about 1 for a random signal), on a scale of powers of two.

    Parameters
    ----------
    ds : xarray.Dataset
        With the dimension ``column``: a result of :func:`spectrata.correlogram`, of :func:`spectrata.calibrate` with
        ``level="band"``, of :func:`spectrata.spectra` or of :func:`spectrata.band_spectra`, computed with
        ``columns="separate"``. Of several snapshots the last is drawn.
    ax : Axes or sequence of Axes, optional
        One for a correlogram; else one for each hop.
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
    >>> found = st.correlogram(nx.path_graph(30), values, hops=2, columns="separate")
    >>> st.plot.columns(found, top=3)[0].get_yticklabels()[0].get_text()
    '4'
    """
    if "column" not in getattr(ds, "dims", ()):
        raise OptionError("The result has no dimension column; compute it with columns='separate'.")
    whole(top, "top")
    ds = ds.expand_dims([dim for dim in ("algorithm", "hop") if dim in ds.coords and dim not in ds.dims])
    latest = {dim: -1 for dim in ds.dims if dim in ("snapshot", "layer", "epoch", "step", "mode")}
    kind, last = ds.attrs.get("kind"), ds.isel(latest, drop=True)
    wanted = chosen(ds["hop"].values.tolist(), "hop", hops)
    if kind == "correlogram":
        axes, shown = panels_for(ax, [wanted], 1, least=4.2, height=_height(ds, top))
        panels, legend = [_correlogram(last, wanted)], "r: red alike, blue unlike"
    else:
        axes, shown = panels_for(ax, wanted, max_panels, height=_height(ds, top))
        make = _calibrated if kind == "calibration" else _spectra
        panels = [make(last, hop, algorithm, bands) for hop in shown]
        legend = BEYOND if kind == "calibration" else "share of energy / share of components"
    names = [str(name) for name in ds["column"].values.tolist()]
    limit = LARGEST if kind == "calibration" else SHARES
    if kind == "correlogram":
        limit = max(0.1, float(np.nanmax(np.abs(panels[0].values), initial=0.0)))
    for panel, found in zip(axes, panels, strict=True):
        _draw(panel, found, names, top, limit)
    _titles(axes, ax is None, names, panels, legend, left_out(wanted, shown) if kind != "correlogram" else "")
    return axes


def _height(ds: "xr.Dataset", top: int) -> float:
    return 0.8 + 0.19 * min(top, ds.sizes["column"])


# ---- what is drawn


def _correlogram(ds: "xr.Dataset", hops: list[int]) -> Ranked:
    ds = ds.sel(hop=hops).transpose("column", "hop", ...)
    names = [f"K = {hop}" if hop == hops[0] else str(hop) for hop in hops]
    r, p, q = (ds[name].values for name in ("r", "p", "q"))
    low, high = ds["chance_low"].values, ds["chance_high"].values
    effect = np.abs(r - (low + high) / 2) / np.where(high > low, high - low, np.nan)
    smallest = np.nanmin(np.where(np.isnan(p), 2.0, np.maximum(p, 0.002)), axis=1)
    return Ranked("", names, r, r, q <= LEVEL, np.lexsort([-np.nanmax(np.nan_to_num(effect), axis=1), smallest]))


def _calibrated(ds: "xr.Dataset", hop: int, algorithm: str | None, bands: int) -> Ranked:
    if "band" not in ds.dims:
        raise OptionError("Columns are drawn by bands; compute the calibration with level='band'.")
    name = one_of_algorithms([str(name) for name in ds["algorithm"].values], algorithm)
    at = ds.sel(algorithm=name, hop=hop).transpose("column", "band", ...)
    middle = (at["chance_high"] + at["chance_low"]) / 2
    spread = (at["chance_high"] - at["chance_low"]) / 2
    return _ranked(
        f"{name}, K = {hop}", _band_names(at.sizes["band"]), at.assign(effect=(at["share"] - middle) / spread)
    )


def _ranked(title: str, cells: list[str], ds: "xr.Dataset") -> Ranked:
    effect, p, q = (ds[name].values for name in ("effect", "p", "q"))
    smallest = np.nanmin(np.where(np.isnan(p), 2.0, p), axis=1)
    largest = np.nanmax(np.abs(np.nan_to_num(effect)), axis=1)
    return Ranked(title, cells, effect, effect, q <= LEVEL, np.lexsort([-largest, smallest]))


def _spectra(ds: "xr.Dataset", hop: int, algorithm: str | None, bands: int) -> Ranked:
    result = view(ds)
    name = one_algorithm(result, algorithm)
    at = view(ds.sel(algorithm=[name], hop=[hop]), result.name)
    if at.is_bands:
        known = view(at.ds.assign(energy=band_energy_shares(at.ds)), at.name)
        shares = known.stacked("energy", "algorithm", "hop", "band")[0, :, 0]
        parts = at.fixed("chance", "hop", "band")[0]
    else:
        at.require_complete("a picture of its columns")
        merged = view(merge_eigenspaces(at.ds), at.name)
        groups, count = level_groups(merged, "band", bands)
        shares = band_shares(spread_evenly(merged), groups, count)[0, :, 0]
        sizes = np.array([merged.multiplicity[0][groups[0] == band].sum() for band in range(count)])
        parts = sizes / sizes.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = shares / parts
        values = np.log2(ratio)
    strongest = np.max(np.nan_to_num(np.abs(values), nan=0.0, posinf=0.0, neginf=0.0), axis=1)
    none = np.zeros(ratio.shape, dtype=bool)
    return Ranked(f"{name}, K = {hop}", _band_names(len(parts)), values, ratio, none, np.argsort(-strongest))


def _band_names(count: int) -> list[str]:
    return [{0: "lowest\nband", count - 1: "highest\nband"}.get(band, str(band + 1)) for band in range(count)]


# ---- the panel


def _draw(ax: "Axes", found: Ranked, names: Sequence[str], top: int, limit: float) -> None:
    rows = found.order[:top]
    cells = np.clip(found.values[rows], -limit, limit)
    ax.set_facecolor("#d9d9d9")
    drawn = ax.pcolormesh(cells, cmap=SIGNED, vmin=-limit, vmax=limit, rasterized=cells.size > 2000)
    ax.set_yticks(np.arange(len(rows)) + 0.5, [plain(names[row]) for row in rows], fontsize=7)
    ax.set_ylim(len(rows), 0)
    step = 1 if len(found.cells) <= 2 * NUMBERED else -(-len(found.cells) // NUMBERED)
    shown = range(0, len(found.cells), step)
    ax.set_xticks([cell + 0.5 for cell in shown], [found.cells[cell] for cell in shown], fontsize=7)
    ax.tick_params(length=0)
    ax.set_title(found.title, fontsize=9)
    form = ".2f" if limit <= 1 else ".1f"  # correlations, or effects and ratios
    if len(found.cells) <= NUMBERED:
        for place, row in enumerate(rows):
            for cell, number in enumerate(found.written[row]):
                if np.isfinite(number):
                    dark = abs(cells[place, cell]) > 0.6 * limit
                    weight = "bold" if found.clear[row, cell] else "normal"
                    text: dict[str, Any] = {"color": "white" if dark else "black", "fontsize": 6, "weight": weight}
                    ax.text(cell + 0.5, place + 0.5, f"{number:{form}}", ha="center", va="center", **text)
    bar = ax.figure.colorbar(drawn, ax=ax, fraction=0.05, pad=0.02, extend="both")
    bar.ax.tick_params(labelsize=7)
    if limit == SHARES:
        ticks = np.arange(-SHARES, SHARES + 1)
        bar.set_ticks(ticks.tolist(), labels=[f"{2.0**tick:g}" for tick in ticks])


def _titles(
    axes: np.ndarray, own: bool, names: Sequence[str], panels: Sequence[Ranked], legend: str, note: str
) -> None:
    clear = np.any([found.clear.any(axis=1) for found in panels], axis=0)
    drawn = axes[0].get_ylim()[0]
    tested = legend.startswith(("r:", BEYOND))
    words = [f"{drawn:.0f} of {len(names)} columns, the {'clearest' if tested else 'farthest from 1'} first"]
    if tested:
        words.append(f"bold: q <= {LEVEL:g} ({np.count_nonzero(clear)} columns)")
    text = "; ".join(word for word in (*words, note) if word)
    if own:
        axes[0].figure.suptitle(f"{legend}\n{text}", fontsize=8)
    else:
        axes[0].set_title("\n".join(filter(None, [axes[0].get_title(), legend, text])), fontsize=8)
