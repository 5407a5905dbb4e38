"""Heat maps: frequency by hop, and frequency by layer or epoch."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.analysis.compare import even_out
from spectrata.analysis.normalize import drop_zero, normalize
from spectrata.plot.style import (
    MAP,
    MAX_PANELS,
    as_result,
    chosen,
    hop_title,
    left_out,
    new_axes,
    one_algorithm,
    one_of,
    panels_for,
    plain,
    write_in,
)

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

ROUNDING = 1e-12  # a spectrum off zero below this share of the whole is a constant signal's rounding
TOP = 0.99  # colours reach their end at this quantile: single tall components would darken all the rest


@dataclass(frozen=True, eq=False)
class Cells:
    """Spectra of one algorithm as cells along the frequency axis of each hop."""

    values: np.ndarray  # (T, hop, a), unit length off zero, evened inside eigenspaces
    bounds: list[np.ndarray]  # per hop, (a + 1,): where cells begin and end
    zero: np.ndarray  # (hop,): where the zero components end
    statuses: np.ndarray  # (T, hop)


def cells(ds: "xr.Dataset", algorithm: str, x: str) -> Cells:
    """Magnitudes off zero of unit length, the same for all components of an eigenspace."""
    unit = normalize(drop_zero(ds.sel({"algorithm": [algorithm]})))
    noise = (
        unit["magnitude_norm"] <= ROUNDING * normalize(ds.sel({"algorithm": [algorithm]}))["magnitude_norm"]
    )
    unit["magnitude"] = unit["magnitude"] * ~noise
    even = even_out(unit)
    whole = even_out(ds.sel({"algorithm": [algorithm]}), zero=True)
    bounds, zero = [], []
    for weights, eigenvalues in zip(whole.weights, whole.eigenvalue, strict=True):
        used = weights > 0
        if x == "rank":
            edges = np.concatenate([[0], np.cumsum(weights[used])]).astype(float)
        else:
            found = eigenvalues[used]
            middle = (found[1:] + found[:-1]) / 2
            edges = np.concatenate(
                [[0.0], middle, [found[-1] + (found[-1] - middle[-1] if len(middle) else 1.0)]]
            )
        bounds.append(edges)
        zero.append(edges[1])
    status = ds["status"].sel({"algorithm": algorithm})
    statuses = (
        status.transpose("snapshot", "hop").values if "snapshot" in status.dims else status.values[None]
    )
    return Cells(even.values[0], bounds, np.array(zero), statuses)


def hops(
    ds: "xr.Dataset",
    ax: "Axes | None" = None,
    *,
    algorithm: str | None = None,
    snapshot: Any = None,
    x: str = "rank",
    colorbar: bool = True,
) -> "Axes":
    """Draw hop against frequency: the figure that sums a result up.

    Colour is the magnitude of each component, divided by the l2 norm over the components off zero of
    its hop; inside a repeated eigenvalue the energy is spread evenly. Zero components are left grey.

    Parameters
    ----------
    ds : xarray.Dataset
    ax : Axes, optional
    algorithm : str, optional
        gft by default, or the first.
    snapshot : optional
        The last by default.
    x : {"rank", "eigenvalue"}
        Every hop has eigenvalues of its own; ranks line up.
    colorbar : bool

    Returns
    -------
    Axes

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> ds = st.spectra(nx.path_graph(5), [0.0, 1.0, 0.0, 2.0, 1.0])
    >>> st.plot.hops(ds).get_title()
    'gft: magnitude / l2 norm off zero'
    """
    ds = as_result(ds)
    one_of("x", x, ("rank", "eigenvalue"))
    name = one_algorithm(ds, algorithm)
    index, title = 0, name
    if "snapshot" in ds.dims:
        moments = ds["snapshot"].values.tolist()
        moment = moments[-1] if snapshot is None else chosen(ds, "snapshot", snapshot)[0]
        index, title = moments.index(moment), f"{name}, {plain(moment)}"
    found = cells(ds, name, x)
    numbers = ds["hop"].values
    if ax is None:
        ax = new_axes(1, height=max(1.6, 0.34 * len(numbers)), least=7.0)[0]
    top = _top(found.values[index])
    drawn = None
    for row, values in enumerate(found.values[index]):
        used = len(found.bounds[row]) - 1
        drawn = _strip(ax, found.bounds[row], values[None, :used], (row, row + 1), top)
        _zero_strip(ax, found.zero[row], row)
        if np.isnan(values[:used]).all() or not np.nanmax(values[:used]) > 0:
            word = str(found.statuses[index, row])
            ax.text(
                found.bounds[row][-1] / 2,
                row + 0.5,
                "all zero" if word == "ok" else plain(word),
                ha="center",
                va="center",
                fontsize=7,
            )
    ax.set_yticks(np.arange(len(numbers)) + 0.5, [f"{hop}" for hop in numbers], fontsize=8)
    ax.set_ylim(len(numbers), 0)
    ax.set_ylabel("K", fontsize=9, rotation=0, labelpad=10)
    ax.set_xlabel(_axis(x) + " (grey: zero components)", fontsize=9)
    ax.tick_params(labelsize=8)
    ax.set_title(f"{title}: magnitude / l2 norm off zero", fontsize=9)
    if colorbar and drawn is not None:
        ax.figure.colorbar(drawn, ax=ax, fraction=0.04, pad=0.02).ax.tick_params(labelsize=8)
    return ax


def spectrogram(
    ds: "xr.Dataset",
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    algorithm: str | None = None,
    hops: Iterable[int] | None = None,
    y: str = "rank",
    max_panels: int = MAX_PANELS,
) -> np.ndarray:
    """Draw frequency against layer or epoch, one panel per hop.

    Parameters
    ----------
    ds : xarray.Dataset
        A result with snapshots; one without is drawn as a single column.
    ax : Axes or sequence of Axes, optional
        One for each hop drawn.
    algorithm : str, optional
        gft by default, or the first.
    hops : optional
        All by default.
    y : {"rank", "eigenvalue"}
    max_panels : int

    Returns
    -------
    ndarray of Axes, shape (panels,)

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> values = np.random.default_rng(0).normal(size=(4, 5, 2))
    >>> axes = st.plot.spectrogram(st.spectra(nx.path_graph(5), values, hops=2))
    >>> [panel.get_title() for panel in axes]
    ['K = 1: 4 edges, 1 part', 'K = 2: 3 edges, 2 parts']
    """
    ds = as_result(ds)
    one_of("y", y, ("rank", "eigenvalue"))
    wanted = chosen(ds, "hop", hops)
    axes, shown = panels_for(ax, wanted, max_panels)
    name = one_algorithm(ds, algorithm)
    found = cells(ds, name, y)
    known = ds["hop"].values.tolist()
    moments = ds["snapshot"].values if "snapshot" in ds.dims else np.array([""])
    top = _top(found.values[:, [known.index(hop) for hop in shown]])
    drawn = None
    for panel, hop in zip(axes, shown, strict=True):
        row = known.index(hop)
        values = found.values[:, row, : len(found.bounds[row]) - 1]  # (T, a)
        times = np.arange(len(moments) + 1) - 0.5
        drawn = panel.pcolormesh(
            times, found.bounds[row], values.T, cmap=MAP, vmin=0.0, vmax=top, rasterized=True
        )
        panel.axhspan(0.0, found.zero[row], color="#bdbdbd", linewidth=0)
        panel.set_title(hop_title(ds.sel({"hop": hop})), fontsize=9)
        ticks = np.unique(np.linspace(0, len(moments) - 1, min(5, len(moments))).round().astype(int))
        panel.set_xticks(ticks, [plain(moments[t]) for t in ticks], fontsize=8)
        panel.tick_params(labelsize=8)
        if np.isnan(values).all() or not np.nanmax(values) > 0:
            word = str(found.statuses[0, row])
            write_in(panel, "all zero" if word == "ok" else plain(word))
    _finish(axes, ax is None, name, _axis(y), left_out(wanted, shown), drawn)
    return axes


def _finish(axes: np.ndarray, own: bool, name: str, up: str, note: str, drawn: Any) -> None:
    title = f"{name}: magnitude / l2 norm off zero (grey: zero components)" + (f"; {note}" if note else "")
    if own:
        figure = axes[0].figure
        figure.suptitle(title, fontsize=9)
        figure.supxlabel("snapshot", fontsize=9)
        figure.supylabel(up, fontsize=9)
        figure.colorbar(drawn, ax=list(axes), fraction=0.03, pad=0.02).ax.tick_params(labelsize=8)
        return
    for panel in axes:
        panel.set_xlabel("snapshot", fontsize=9)
        panel.set_ylabel(up, fontsize=9)


def _strip(ax: "Axes", bounds: np.ndarray, values: np.ndarray, rows: tuple[int, int], top: float) -> Any:
    return ax.pcolormesh(bounds, rows, values, cmap=MAP, vmin=0.0, vmax=top, rasterized=True)


def _zero_strip(ax: "Axes", end: float, row: int) -> None:
    from matplotlib.patches import Rectangle

    ax.add_patch(Rectangle((0.0, row), end, 1.0, facecolor="#bdbdbd", edgecolor="none", gid="zero"))


def _top(values: np.ndarray) -> float:
    there = values[np.isfinite(values)]
    top = float(np.quantile(there, TOP)) if len(there) else 0.0
    return top if top > 0 else 1.0


def _axis(kind: str) -> str:
    return "component, by ascending eigenvalue" if kind == "rank" else "eigenvalue"
