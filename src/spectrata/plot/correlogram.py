"""Likeness per hop, compared with chance."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import OptionError
from spectrata.plot.columns import columns
from spectrata.plot.style import GREY, MANY, PALETTE, chosen, given_axes, name_axes, new_axes, plain, tidy, write_in

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

MAX_SERIES = 6
BAND: dict[str, Any] = {"color": GREY, "alpha": 0.2, "linewidth": 0}
VERDICTS = ("alike", "unlike")


def correlogram(
    ds: "xr.Dataset",
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    hops: Iterable[int] | None = None,
    max_panels: int = MAX_SERIES,
) -> np.ndarray:
    """Draw a correlogram: r per hop, and the interval of chance.

    Markers are filled where the verdict is alike or unlike. The band has 95 % of the permutations, one hop at a time.

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
    'r'
    """
    if getattr(ds, "attrs", {}).get("kind") not in ("correlogram", "homophily"):
        raise OptionError("plot.correlogram draws a result of st.correlogram or st.homophily; give one.")
    numbers = chosen(np.atleast_1d(ds["hop"].values).tolist(), "hop", hops)
    if ax is None and "column" in ds.dims and ds.sizes["column"] > max_panels:
        return columns(ds, hops=numbers)
    rows = _rows(ds, numbers)
    if ax is None:
        drawn = rows[: max(1, max_panels)]
        axes = new_axes(len(drawn), height=2.8)
    else:
        drawn, axes = rows, given_axes(ax, len(rows), "snapshots and columns")
    for panel, (name, one) in zip(axes, drawn, strict=True):
        _draw(panel, one)
        panel.set_title(plain(name), fontsize=9)
    _one_scale(axes, drawn)
    left = f"; {len(rows) - len(drawn)} of {len(rows)} not drawn" if len(drawn) < len(rows) else ""
    _legend(axes[0], f"{ds.attrs['metric']} metric{left}")
    if len(axes) == 1:
        axes[0].set_xlabel("hop distance K", fontsize=9)
        axes[0].set_ylabel("r", fontsize=9)
    else:
        name_axes(axes, ax is None, "hop distance K", "r")
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


def _draw(ax: "Axes", one: "xr.Dataset") -> None:
    r, verdict = one["r"].values, one["verdict"].values
    names = one["hop"].values
    hop = names if names.dtype.kind in "iuf" else np.arange(len(names))
    ax.axhline(0.0, color=GREY, linewidth=1.0, zorder=1)
    across = hop if len(hop) > 1 else hop + np.array([-0.3, 0.3])
    low, high = (np.broadcast_to(one[name].values, across.shape) for name in ("chance_low", "chance_high"))
    ax.fill_between(across, low, high, **BAND)
    known = np.isfinite(r)
    if not known.any():
        write_in(ax, str(np.ravel(one["status"].values)[0]))
        return
    color, size = PALETTE[0], 5 if len(hop) <= MANY else 2.5
    ax.plot(hop[known], r[known], color=color, linewidth=0.9, alpha=0.6, zorder=2)
    clear = known & np.isin(verdict, VERDICTS)
    for which, fill in ((clear, color), (known & ~clear, ax.get_facecolor())):
        ax.plot(hop[which], r[which], "o", markersize=size, color=color, markerfacecolor=fill)


def _legend(ax: "Axes", title: str) -> None:
    """What the marks mean, whether or not this panel has each."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    mark: dict[str, Any] = {"marker": "o", "markersize": 5, "color": PALETTE[0], "linestyle": "none"}
    handles = [
        Patch(label="chance, 95 %", **BAND),
        Line2D([], [], label="alike or unlike", **mark),
        Line2D([], [], label="neither", markerfacecolor=ax.get_facecolor(), **mark),
    ]
    ax.legend(handles=handles, fontsize=7, frameon=False, title=title, title_fontsize=7)


def _one_scale(axes: np.ndarray, drawn: list[tuple[str, "xr.Dataset"]]) -> None:
    """The same scale on all panels, with whole hops as ticks."""
    from matplotlib.ticker import MaxNLocator

    names = ("r", "chance_low", "chance_high")
    largest = max(float(np.nanmax(np.abs(np.nan_to_num(one[name].values)))) for _, one in drawn for name in names)
    for ax, (_, one) in zip(axes, drawn, strict=True):
        hop = one["hop"].values
        if hop.dtype.kind not in "iuf":
            ax.set_xticks(np.arange(len(hop)), [str(name) for name in hop], fontsize=7)
        elif len(hop) == 1:
            ax.set_xticks(hop)
        else:
            ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
        ax.set_ylim(-1.1 * max(largest, 0.1), 1.1 * max(largest, 0.1))
        tidy(ax)
