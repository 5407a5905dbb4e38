"""Likeness per hop, compared with chance."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import OptionError
from spectrata.plot.columns import columns
from spectrata.plot.style import GREY, MANY, PALETTE, chosen, given_axes, name_axes, new_axes, plain, tidy, write_in
from spectrata.stats.findings import LEVEL

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

MAX_SERIES = 6
# Ratios beyond this are drawn on a logarithmic scale, where twice and half are equally far from 1.
FAR = 3.0
SMALLEST = 1e-6  # the band's lower end on a logarithmic scale, below every picture
BAND: dict[str, Any] = {"color": GREY, "alpha": 0.2, "linewidth": 0}
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)


def correlogram(
    ds: "xr.Dataset",
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    hops: Iterable[int] | None = None,
    max_panels: int = MAX_SERIES,
) -> np.ndarray:
    """Draw a correlogram: per hop the mean squared difference over chance, and the band that chance allows.

    Markers are filled where p <= .05 (per hop, not corrected). The band is chance plus and minus two standard
    deviations. Error bars, where pairs were sampled, are two standard errors.

    Parameters
    ----------
    ds : xarray.Dataset
        A result of :func:`spectrata.correlogram`; one panel for each snapshot and column. More columns than
        ``max_panels`` are ranked in one heat map, as :func:`spectrata.plot.columns` does.
    ax : Axes or sequence of Axes, optional
        One for each snapshot and column.
    hops : optional
        All by default.
    max_panels : int
        Snapshots and columns drawn in a new figure.

    Returns
    -------
    ndarray of Axes, shape (panels,)

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> found = st.correlogram(nx.path_graph(12), range(12))
    >>> st.plot.correlogram(found)[0].get_ylabel()
    'mean squared difference / chance'
    """
    if getattr(ds, "attrs", {}).get("kind") != "correlogram":
        raise OptionError("plot.correlogram draws a result of st.correlogram; give one.")
    numbers = chosen(np.atleast_1d(ds["hop"].values).tolist(), "hop", hops)
    if ax is None and "column" in ds.dims and ds.sizes["column"] > max_panels:
        return columns(ds, hops=numbers)
    rows = _rows(ds, numbers)
    if ax is None:
        drawn = rows[: max(1, max_panels)]
        axes = new_axes(len(drawn), height=2.8)
    else:
        drawn, axes = rows, given_axes(ax, len(rows), "snapshots and columns")
    top = np.nanmax([_largest(one) for _, one in drawn])
    log = top > FAR and all((one["ratio"].values[np.isfinite(one["ratio"].values)] > 0).all() for _, one in drawn)
    for panel, (name, one) in zip(axes, drawn, strict=True):
        _draw(panel, one)
        panel.set_title(plain(name), fontsize=9)
    _one_scale(axes, drawn, log)
    left = f"; {len(rows) - len(drawn)} of {len(rows)} not drawn" if len(drawn) < len(rows) else ""
    _legend(axes[0], f"{ds.attrs['metric']} metric{left}")
    if len(axes) == 1:
        axes[0].set_xlabel("hop distance K", fontsize=9)
        axes[0].set_ylabel("mean squared difference / chance", fontsize=9)
    else:
        name_axes(axes, ax is None, "hop distance K", "mean squared difference / chance")
    return axes


def _rows(ds: "xr.Dataset", hops: list[Any]) -> list[tuple[str, "xr.Dataset"]]:
    """Each snapshot and column with its name."""
    ds = ds.sel(hop=hops)
    found: list[tuple[str, xr.Dataset]] = [("", ds)]
    for dim in [dim for dim in ("snapshot", "column") if dim in ds.dims]:
        labels = ds[dim].values.tolist() if dim in ds.coords else list(range(ds.sizes[dim]))
        found = [
            (f"{name}, {label}" if name else f"{dim} {label}", one.isel({dim: row}))
            for name, one in found
            for row, label in enumerate(labels)
        ]
    return found


def _band(one: "xr.Dataset") -> np.ndarray:
    """Two standard deviations of the ratio under the null, ``(H,)``."""
    return np.nan_to_num(2 * (one["null_std"] / one["null_mean"]).values)


def _largest(one: "xr.Dataset") -> float:
    return float(np.nanmax(np.append(one["ratio"].values, 1 + _band(one)), initial=1.0))


def _draw(ax: "Axes", one: "xr.Dataset") -> None:
    hop, ratio, p = one["hop"].values, one["ratio"].values, one["p"].values
    band, known = _band(one), np.isfinite(ratio)
    ax.axhline(1.0, color=GREY, linewidth=1.0, zorder=1)
    across = hop if len(hop) > 1 else hop + np.array([-0.3, 0.3])
    ax.fill_between(across, np.maximum(1 - band, SMALLEST), 1 + band, **BAND)
    if not known.any():
        write_in(ax, str(np.ravel(one["status"].values)[0]))
        return
    color, size = PALETTE[0], 5 if len(hop) <= MANY else 2.5
    if "ratio_error" in one:
        ax.errorbar(hop, ratio, 2 * one["ratio_error"].values, fmt="none", ecolor=color, elinewidth=0.8)
    ax.plot(hop[known], ratio[known], color=color, linewidth=0.9, alpha=0.6, zorder=2)
    clear = known & (p <= LEVEL)
    for which, fill in ((clear, color), (known & ~clear, ax.get_facecolor())):
        ax.plot(hop[which], ratio[which], "o", markersize=size, color=color, markerfacecolor=fill)


def _legend(ax: "Axes", title: str) -> None:
    """What the marks mean, whether or not this panel has each."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    mark: dict[str, Any] = {"marker": "o", "markersize": 5, "color": PALETTE[0], "linestyle": "none"}
    handles = [
        Patch(label="chance, ± 2 sd", **BAND),
        Line2D([], [], label=f"p ≤ {LEVEL:g}", **mark),
        Line2D([], [], label=f"p > {LEVEL:g}", markerfacecolor=ax.get_facecolor(), **mark),
    ]
    ax.legend(handles=handles, fontsize=7, frameon=False, title=title, title_fontsize=7)


def _one_scale(axes: np.ndarray, drawn: list[tuple[str, "xr.Dataset"]], log: bool) -> None:
    """The same scale on all panels, with whole hops as ticks."""
    from matplotlib.ticker import MaxNLocator

    top = max(_largest(one) for _, one in drawn)
    values = np.concatenate([np.ravel(one["ratio"].values) for _, one in drawn])
    low = float(np.nanmin(np.append(values, 0.5)))
    for ax, (_, one) in zip(axes, drawn, strict=True):
        if one.sizes["hop"] == 1:
            ax.set_xticks(one["hop"].values)
        else:
            ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
        if log:
            ax.set_yscale("log")
            ax.set_ylim(low / 1.4, top * 1.4)
            shown = [tick for tick in TICKS if low / 1.4 <= tick <= top * 1.4]
            ax.set_yticks(shown, [f"{tick:g}" for tick in shown])
            ax.minorticks_off()
        else:
            ax.set_ylim(0.0, top * 1.08)
        tidy(ax)
