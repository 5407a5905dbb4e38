"""Match two results by label, or raise an error that names both where they do not belong together."""

from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.core.registry import row_of
from spectrata.errors import ResultError, shown
from spectrata.results.build import numbered_like
from spectrata.results.schema import MERGED, View, view
from spectrata.stats.describe.spectrum import merge_eigenspaces

if TYPE_CHECKING:
    import xarray as xr

FACTS = {  # attribute -> what a message calls it
    "graph_hash": "graph",
    "kind": "kind of result",
    "metric": "metric",
    "weights": "edge weights",
}


def require_same(a: View, b: View, algorithms: "list[str] | None" = None) -> None:
    """Refuse two results that do not compare, naming what differs in both."""
    if a.ds.attrs.get("graph_hash") != b.ds.attrs.get("graph_hash"):
        raise ResultError(
            f"{a.name} and {b.name} are of different graphs ({_graph(a)} and {_graph(b)}), whose eigencomponents do "
            "not correspond; compare signals on one graph."
        )
    if a.operator_name != b.operator_name:
        _refuse(a, b, "Laplacians", a.operator_name, b.operator_name)
    for attribute, word in FACTS.items():
        first, second = (one.ds.attrs.get(attribute, "") for one in (a, b))
        if first != second:
            _refuse(a, b, f"{word}s" if word in ("metric",) else word, first or "none", second or "none")
    for name in _read_options(algorithms if algorithms is not None else _shared(a.algorithms, b.algorithms)):
        first, second = a.options.get(name), b.options.get(name)
        if first != second:
            _refuse(a, b, name, first, second)


def _graph(one: View) -> str:
    return f"{str(one.ds.attrs.get('graph_hash') or 'unknown')[:8]} of {one.ds.attrs.get('n_nodes')} nodes"


def _read_options(algorithms: list[str]) -> list[str]:
    return list(dict.fromkeys(name for algorithm in algorithms for name in row_of(algorithm).options))


def _by_rows(one: View, algorithms: list[str]) -> bool:
    """Say whether magnitudes depend on the order of the graph's nodes: edges directed by rows or at random."""
    return "orientation" in _read_options(algorithms) and one.options.get("orientation", "rms") != "rms"


def _refuse(a: View, b: View, what: str, first: Any, second: Any) -> None:
    raise ResultError(
        f"{a.name} and {b.name} cannot be compared: their {what} differ ({shown(first)} and {shown(second)}); compute "
        "both with the same options."
    )


def _shared(first: Any, second: Any) -> list[Any]:
    return [label for label in first if label in second]


def align(
    a: "xr.Dataset", b: "xr.Dataset", names: tuple[str, str] = ("The first result", "the second"), rows: bool = True
) -> tuple[View, View]:
    """Select the common algorithms and hops of two results, in the order of the first; rows matched by label.

    Nodes are matched by name: the second graph may have them in another order. A result without snapshots goes with all
    snapshots of the other, and one without columns with no columns. With ``rows=False`` rows are left as they are.
    """
    if (MERGED in getattr(a, "attrs", {})) != (MERGED in getattr(b, "attrs", {})):
        a, b = merge_eigenspaces(a), merge_eigenspaces(b)
    first, second = view(a, names[0]), view(b, names[1])
    algorithms = _shared(first.algorithms, second.algorithms)
    hops = _shared(first.hops, second.hops)
    if not algorithms or not hops:
        raise ResultError(
            f"{names[0]} and {names[1]} share no {'hop' if algorithms else 'algorithm'}; compute both with the same "
            "options."
        )
    if first.ds.attrs.get("graph_hash") != second.ds.attrs.get("graph_hash") and not _by_rows(second, algorithms):
        b = numbered_like(b, a)
        second = view(b, names[1])
    require_same(first, second, algorithms)
    a, b = (_without_padding(ds.sel({"algorithm": algorithms, "hop": hops})) for ds in (a, b))
    if rows:
        _require_columns(first, second)
    if rows and first.row_dims and second.row_dims:
        b = _matched(first, second, b)
    first, second = view(a, names[0]), view(b, names[1])
    if not _same_components(first, second):
        raise ResultError(
            f"{names[0]} and {names[1]} hold different components of the spectrum; compute both with the same n_eigs "
            "and which, and select the same components."
        )
    return first, second


def _without_padding(ds: "xr.Dataset") -> "xr.Dataset":
    """Drop components that no hop has: merged results pad hops of few eigenspaces."""
    return ds.isel(
        component=(ds["multiplicity"] > 0).any([dim for dim in ds["multiplicity"].dims if dim != "component"]).values
    )


def _require_columns(first: View, second: View) -> None:
    """Refuse a result of one signal beside one of several columns."""
    sides = [one for one in (first, second) if "column" in one.row_dims]
    if len(sides) == 1:
        (apart,), (whole,) = sides, [one for one in (first, second) if one is not sides[0]]
        names = ", ".join(map(str, apart.labels("column")[:5]))
        raise ResultError(
            f"{apart.name} has the columns {names} as signals of their own, and {whole.name} has no columns; select "
            "one with ds.sel(column=...), or compute both with the same columns=."
        )


def _matched(first: View, second: View, b: "xr.Dataset") -> "xr.Dataset":
    """Reorder the rows of the second result by the labels of the first."""
    if first.row_dims != second.row_dims:
        raise ResultError(
            f"{first.name} has the dimensions {', '.join(first.row_dims)} and {second.name} has "
            f"{', '.join(second.row_dims)}; select one row of one of them."
        )
    for dim in first.row_dims:
        wanted, given = first.labels(dim), second.labels(dim)
        if sorted(map(str, wanted)) != sorted(map(str, given)) or len(set(wanted)) < len(wanted):
            alone = [label for label in (*wanted, *given) if label not in wanted or label not in given]
            raise ResultError(
                f"{first.name} has {len(wanted)} labels along {dim} and {second.name} has {len(given)}, and they are "
                f"not the same ({shown(alone[0]) if alone else 'one occurs twice'}); select the same of both, or give "
                "them the same labels."
            )
        b = b.isel({dim: [given.index(label) for label in wanted]})
    return b


def _same_components(a: View, b: View) -> bool:
    if a.is_bands and a.eigenvalue.shape == b.eigenvalue.shape:
        return np.array_equal(a.ds["band_upper"].values, b.ds["band_upper"].values)
    return a.eigenspace.shape == b.eigenspace.shape and np.array_equal(a.eigenspace, b.eigenspace)
