"""Results as pictures read them: graphs, rows, hops and algorithms by name."""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

import xarray as xr

from spectrata.core.registry import EXACT
from spectrata.errors import OptionError, shown
from spectrata.plot.style import Sheet, count, hop_words
from spectrata.results.schema import View, check, each_graph, view
from spectrata.stats.describe.align import align
from spectrata.stats.findings.sentences import listed

MAX_PANELS = 12
JOINED = ("magnitude", "magnitude_error", "gradient_norm", "status", "signal")
FIXED = ("edges", "edge_weight", "eigenvectors")


def as_result(source: Any) -> xr.Dataset:
    """One result: as it is, or several of one graph, by name, as its snapshots."""
    if not isinstance(source, Mapping) or isinstance(source, xr.Dataset):
        return check(source, "The result")
    if not source:
        raise OptionError("Give at least one result.")
    views = [view(ds, f"The result {shown(str(name))}") for name, ds in source.items()]
    for name, dim in [(one.name, dim) for one in views for dim in one.row_dims]:
        raise OptionError(f"{name} holds {dim}s; choose one, such as ds.isel({dim}=-1, drop=True).")
    first = reduce(lambda a, b: align(a.ds, b.ds, (a.name, b.name))[0], views)  # what all of them share
    pieces = [align(first.ds, one.ds, (first.name, one.name))[1].ds for one in views]
    alike = len({ds["signal"].shape if "signal" in ds else () for ds in pieces}) == 1
    kept = [name for name in JOINED if name in first.ds and (alike or name != "signal")]
    how: dict[str, Any] = {"coords": "minimal", "compat": "override", "join": "override"}
    joined = xr.concat([ds[kept] for ds in pieces], dim="snapshot", **how)
    joined = joined.assign_coords(snapshot=list(map(str, source)))
    return joined.assign({name: first.ds[name] for name in FIXED if name in first.ds}).assign_attrs(first.ds.attrs)


def graph_views(source: Any) -> list[tuple[str, View]]:
    """Each graph of a result, with its name; a result of one graph has none."""
    found = each_graph(as_result(source))
    return [("", view(one)) if name is None else (str(name), view(one, f"The graph {name!r}")) for name, one in found]


def row_names(result: View) -> list[str]:
    """One name per row; a single empty one where the result has no rows."""
    rows = [""] if result.rows is None else result.rows
    return [", ".join(map(str, row)) if isinstance(row, tuple) else str(row) for row in rows]


def chosen_rows(result: View, wanted: Any) -> list[int]:
    """Positions of rows, those wanted or all; a single one where the result has no rows."""
    if result.rows is None:
        return [0]
    return [result.rows.index(label) for label in chosen(result.rows, ", ".join(result.row_dims), wanted)]


def chosen(known: Sequence[Any], dim: str, wanted: Any) -> list[Any]:
    """Labels along a dimension: those wanted, refused when the result lacks one, or all."""
    if wanted is None:
        return list(known)
    single = isinstance(wanted, str) or not isinstance(wanted, Iterable)
    single = single or (isinstance(wanted, tuple) and wanted in known)  # of several stacked dimensions
    names = [wanted] if single else list(wanted)
    for name in names:
        if name not in known:
            raise OptionError(f"The result has no {dim} {name!r}; it has {listed(known)}.")
    if not names:
        raise OptionError(f"No {dim} is chosen; the result has {listed(known)}.")
    return names


def one_of_each(ds: Any, **wanted: Any) -> Any:
    """One label of each dimension that there is: that wanted, else the first hop and column and the last of others."""
    for dim in [dim for dim in wanted if dim in ds.dims]:
        labels = ds[dim].values.tolist() if dim in ds.coords else list(range(ds.sizes[dim]))
        end = labels[0 if dim in ("hop", "column") else -1]
        ds = ds.isel({dim: labels.index(end if wanted[dim] is None else chosen(labels, dim, wanted[dim])[0])})
    return ds


def one_algorithm(result: View, algorithm: str | None) -> str:
    """The algorithm asked for, or the exact one where it is there, or the first."""
    if algorithm is not None:
        return str(chosen(result.algorithms, "algorithm", algorithm)[0])
    return EXACT if EXACT in result.algorithms else result.algorithms[0]


def hop_panels(ax: Any, known: Sequence[Any], hops: Any, **size: Any) -> tuple[Sheet, list[Any], str]:
    """Panels, the hops they show, and a word on those that a new figure leaves out."""
    wanted = chosen(known, "hop", hops)
    shown = wanted if ax is not None else wanted[:MAX_PANELS]
    sheet = Sheet(ax, len(shown), "hops", **size)
    rest = len(wanted) - len(shown)
    note = f"{rest} of {len(wanted)} hops not drawn ({hop_words(wanted[len(shown)])} and on)" if rest else ""
    return sheet, shown, note


def hop_sizes(result: View, hop: Any) -> list[int]:
    """Edges, parts and singletons of a hop."""
    return [int(result.fixed(name, "hop")[result.hops.index(hop)]) for name in ("n_edges", "n_parts", "n_singletons")]


def hop_title(hop: Any, sizes: Sequence[int]) -> str:
    """``2 hops: 8 pairs, 2 parts (1 single)``; an operator's sizes are not known (-1)."""
    pairs, parts, alone = sizes
    if pairs < 0:
        return hop_words(hop)
    text = f"{hop_words(hop)}: {count(pairs, 'pair')}" + (f", {count(parts, 'part')}" if parts > 1 else "")
    return text + (f" ({alone:,} single)" if alone else "")
