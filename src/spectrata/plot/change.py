"""Two results in one picture, and measures along layers or epochs."""

from collections.abc import Iterable, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.core.registry import EXACT
from spectrata.errors import OptionError
from spectrata.inputs.numbers import one_of
from spectrata.plot.heat import quantity, strips
from spectrata.plot.style import (
    COMPONENT_AXIS,
    GREY,
    MANY,
    MAX_PANELS,
    PALETTE,
    as_result,
    chosen,
    few,
    fit_ticks,
    given_axes,
    graph_views,
    left_out,
    look,
    name_axes,
    new_axes,
    one_algorithm,
    one_sequence,
    panels_for,
    plain,
    row_names,
    tidy,
    write_in,
)
from spectrata.results.schema import View, view
from spectrata.stats.describe.compare import compare as compare_results
from spectrata.stats.describe.summary import summary

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes

MEASURES = {
    "gradient_norm": "gradient norm",
    "off_zero": "share of GFT energy off zero",
    "centroid": "mean eigenvalue, weighted by energy",
    "lowest": "share of energy in the lowest quarter",
    "highest": "share of energy in the highest quarter",
}


def compare(
    a: "xr.Dataset",
    b: "xr.Dataset",
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    algorithm: str | None = None,
    hops: Iterable[int] | None = None,
    names: tuple[str, str] = ("a", "b"),
    x: str = "auto",
    max_panels: int = MAX_PANELS,
) -> np.ndarray:
    """Draw two results in the same panels, one per hop, with their correlation.

    Both are of unit length off zero, spread evenly inside repeated eigenvalues. The title gives their correlation,
    and their cosine only beside the cosine of each with a flat spectrum. Both are computed from all components; beyond
    300 of them the points are root mean squares of 30 bins.

    Parameters
    ----------
    a, b : xarray.Dataset
        Two results without snapshots, of one graph.
    ax : Axes or sequence of Axes, optional
        One for each hop drawn.
    algorithm : str, optional
        gft by default, or the first.
    hops : optional
        All by default.
    names : pair of str
        For the legend.
    x : {"auto", "eigenvalue", "rank"}
        Place components by eigenvalue, or by rank where eigenvalues crowd: beyond 60 components by itself.
    max_panels : int

    Returns
    -------
    ndarray of Axes, shape (panels,)

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> strat = st.Stratification(nx.path_graph(8), hops=1)
    >>> slow, fast = strat.spectra(range(8)), strat.spectra([i % 2 for i in range(8)])
    >>> st.plot.compare(slow, fast)[0].get_title().splitlines()[0]
    'K = 1: correlation -0.06'
    """
    one_of(x, "x", ("auto", "eigenvalue", "rank"))
    sides = [view(as_result(ds), f"The result {name!r}") for ds, name in zip((a, b), names, strict=True)]
    for side in sides:
        if side.row_dims:
            dim = side.row_dims[0]
            raise OptionError(f"{side.name} holds {dim}s; choose one, such as ds.isel({dim}=-1, drop=True).")
    rank = x == "rank" or (x == "auto" and len(sides[0].component) > MANY)
    across = COMPONENT_AXIS if rank else "eigenvalue"
    shared = [name for name in sides[0].algorithms if name in sides[1].algorithms]
    name = one_algorithm(sides[0], algorithm)
    name = name if name in shared or not shared or algorithm is not None else shared[0]
    found = compare_results(
        *(side.ds.sel({"algorithm": [name]}) if name in side.algorithms else side.ds for side in sides)
    )
    wanted = chosen(found["hop"].values.tolist(), "hop", hops)
    axes, shown = panels_for(ax, wanted, max_panels, height=2.8)
    both = [{strip.hop: strip for strip in strips(side, name, "rank")} for side in sides]
    for panel, hop in zip(axes, shown, strict=True):
        places = both[0][hop].bounds[:-1] if rank else both[0][hop].eigenvalue
        panel.locator_params(axis="x", nbins=6)
        _overlay(panel, [(places, side[hop].values[0]) for side in both], names)
        at = found.sel({"algorithm": name, "hop": hop})
        panel.set_title(_words(at), fontsize=8)
        if str(at["status"].values).startswith("undefined: "):
            write_in(panel, str(at["status"].values))
    top = max(panel.get_ylim()[1] for panel in axes)
    for panel in axes:
        panel.set_ylim(-0.02 * top, top)
    note = left_out(wanted, shown)
    if ax is None:
        title = name + (f"; {note}" if note else "")
        place: dict[str, Any] = {"loc": "outside upper center", "ncols": 3, "frameon": False, "fontsize": 8}
        axes[0].figure.legend(*axes[0].get_legend_handles_labels(), title=title, **place)
    else:
        axes[0].legend(fontsize=7, frameon=False, title=name)
    name_axes(axes, ax is None, across, quantity(both[0][hop] for hop in shown))
    return axes


def _overlay(ax: "Axes", curves: list[tuple[np.ndarray, np.ndarray]], names: tuple[str, str]) -> None:
    for index, ((x, y), name) in enumerate(zip(curves, names, strict=True)):
        used = np.isfinite(y)
        many = np.count_nonzero(used) > MANY
        ax.plot(
            x[used],
            y[used],
            color=PALETTE[index],
            linestyle="none",  # components do not follow each other
            marker="os"[index],
            markersize=2.2 if many else 4,
            markerfacecolor=PALETTE[index] if index == 0 else ax.get_facecolor(),
            markeredgewidth=0.5 if many else 1.0,
            alpha=0.6 if many else 1.0,
            label=plain(name),
            gid="curve",
            rasterized=many,
        )
    (x, first), (_, second) = curves
    used = np.isfinite(first) & np.isfinite(second)
    if np.count_nonzero(used) <= MANY:
        ax.vlines(x[used], first[used], second[used], color=GREY, linewidth=0.8, alpha=0.6, label="difference")
    tidy(ax)


def _words(at: "xr.Dataset") -> str:
    def number(name: str) -> str:
        value = float(at[name])
        return "–" if np.isnan(value) else f"{value:.2f}"

    flat = f"flat: {number('cosine_flat_a')}, {number('cosine_flat_b')}"
    return f"K = {int(at['hop'])}: correlation {number('correlation')}\ncosine {number('cosine')} ({flat})"


def evolution(
    ds: "xr.Dataset",
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    measures: Iterable[str] | None = None,
    algorithm: str | None = None,
    hops: Iterable[int] | None = None,
) -> np.ndarray:
    """Draw measures along layers or epochs, one panel for each, one curve per hop.

    Parameters
    ----------
    ds : xarray.Dataset
        A result with snapshots; one without is drawn as single points, and so are many graphs, side by side.
    ax : Axes or sequence of Axes, optional
        One for each measure.
    measures : optional
        Of "gradient_norm", "off_zero", "centroid", "lowest", "highest" (see :func:`spectrata.summary`), or any variable
        of the result with one number per snapshot, or per snapshot and hop: those of a watched model, such as
        "effective_rank". The first 3 by default.
    algorithm : str, optional
        For all but the first two; gft by default, or the first.
    hops : optional
        All by default.

    Returns
    -------
    ndarray of Axes, shape (measures,)

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> values = np.random.default_rng(0).normal(size=(4, 5, 2))
    >>> axes = st.plot.evolution(st.spectra(nx.path_graph(5), values, hops=2))
    >>> [panel.get_title() for panel in axes][:2]
    ['gradient norm', 'share of GFT energy off zero']
    """
    views = graph_views(ds)
    first = views[0][1]
    sequence = one_sequence(first, "a curve")
    name = one_algorithm(first, algorithm)
    known = [measure for measure in MEASURES if measure != "off_zero" or EXACT in first.algorithms]
    known += [str(name) for name in first.ds.data_vars if name not in known and _is_measure(first, str(name))]
    wanted = known[: 3 if "off_zero" in known else 2] if measures is None else list(measures)
    for measure in wanted:
        if measure not in known:
            raise OptionError(f"The measure {measure!r} is not known; there are {', '.join(known)}.")
        if measure in MEASURES and measure != "gradient_norm":
            first.require_complete(f"{measure!r} (measures='gradient_norm' does not)")
    numbers = chosen(sorted({hop for _, one in views for hop in one.hops}), "hop", hops)
    axes = new_axes(len(wanted)) if ax is None else given_axes(ax, len(wanted), "measures")
    tables = [(one, summary(one.ds)) for _, one in views]
    moments = [", ".join(filter(None, (graph, row))) for graph, one in views for row in row_names(one)]
    joined = len(views) == 1 and sequence != "column"  # lines join only what follows each other
    for panel, measure in zip(axes, wanted, strict=True):
        for index, hop in enumerate(numbers if _has_hops(first, measure) else numbers[:1]):
            color, dashes, named = look(index, len(numbers))
            panel.plot(
                np.arange(len(moments)),
                np.concatenate([_values(one, table, measure, name, hop) for one, table in tables]),
                color=color,
                linestyle=dashes if joined else "none",
                marker="o" if len(moments) <= 20 or not joined else None,
                markersize=3.5,
                linewidth=1.2,
                label=f"K = {hop}" if named and _has_hops(first, measure) else None,
                gid=f"{hop}",
            )
        _moment_ticks(panel, moments, sequence or ("graph" if len(views) > 1 else "snapshot"))
        shown = MEASURES.get(measure, measure.replace("_", " "))
        shown += f" ({name})" if measure in ("centroid", "lowest", "highest") else ""
        panel.set_title(fill(shown, 36), fontsize=9)
        _from_zero(panel)
        tidy(panel)
    with_hops = [panel for panel, measure in zip(axes, wanted, strict=True) if _has_hops(first, measure)]
    if with_hops:
        with_hops[0].legend(fontsize=7, frameon=False)
    return axes


def _is_measure(one: View, name: str) -> bool:
    """Whether a variable has one number per row, or per row and hop."""
    dims = set(one.ds[name].dims)
    return one.ds[name].dtype.kind in "fiu" and set(one.row_dims) <= dims <= {*one.row_dims, "hop"} and bool(dims)


def _has_hops(one: View, measure: str) -> bool:
    return measure in MEASURES or "hop" in one.ds[measure].dims


def _from_zero(ax: "Axes") -> None:
    """Limits from zero, with room above the highest marker; negative values keep theirs."""
    values = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in ax.get_lines()])
    there = values[np.isfinite(values)]
    if len(there) and there.min() >= 0:
        ax.set_ylim(0.0, 1.06 * there.max() if there.max() > 0 else 1.0)


def _values(one: View, table: "pd.DataFrame", measure: str, algorithm: str, hop: int) -> np.ndarray:
    """One number per row; NaN past the diameter."""
    if hop not in one.hops:
        return np.full(len(row_names(one)), np.nan)
    if measure not in MEASURES:
        array = one.ds[measure].sel(hop=hop) if "hop" in one.ds[measure].dims else one.ds[measure]
        return array.transpose(*one.row_dims).values.astype(float).reshape(-1)
    if measure == "gradient_norm":
        return one.gradient_norm[:, one.hops.index(hop)]
    row = EXACT if measure == "off_zero" else algorithm
    return table[(table["algorithm"] == row) & (table["hop"] == hop)][measure].to_numpy(dtype=float)


def _moment_ticks(ax: "Axes", moments: Sequence[str], sequence: str) -> None:
    ticks = few(len(moments))
    fit_ticks(ax, ticks, [moments[t] for t in ticks])
    if len(moments) > 1:
        ax.set_xlabel(sequence, fontsize=9)
