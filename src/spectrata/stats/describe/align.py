"""Match two results by label, or raise an error that names both where they do not belong together."""

from typing import Any

import numpy as np
import xarray as xr

from spectrata.core.registry import row_of
from spectrata.errors import ResultError, shown
from spectrata.results.build import numbered_like
from spectrata.results.schema import MERGED, View, view
from spectrata.stats.describe.spectrum import merge_eigenspaces


def align(
    a: xr.Dataset, b: xr.Dataset, names: tuple[str, str] = ("The first result", "the second"), rows: bool = True
) -> tuple[View, View]:
    """Select the common algorithms and hops of two results, in the order of the first; rows matched by label.

    Nodes are matched by name: the second graph may have them in another order. A result without snapshots goes with all
    snapshots of the other, and one without columns with no columns. With ``rows=False`` rows are left as they are.
    """
    if (MERGED in getattr(a, "attrs", {})) != (MERGED in getattr(b, "attrs", {})):
        a, b = merge_eigenspaces(a), merge_eigenspaces(b)
    first, second = view(a, names[0]), view(b, names[1])
    algorithms = [name for name in first.algorithms if name in second.algorithms]
    hops = [hop for hop in first.hops if hop in second.hops]
    if not algorithms or not hops:
        words = f"{names[0]} and {names[1]} share no {'hop' if algorithms else 'algorithm'}"
        raise ResultError(f"{words}; compute both with the same options.")
    # Edges directed by rows or at random make magnitudes depend on the order of the nodes.
    directed = "orientation" in _facts(second, algorithms) and second.options.get("orientation", "rms") != "rms"
    if not directed and not _is_same(first, second):
        second = view(b := numbered_like(b, a), names[1])
    if not _is_same(first, second):
        words = f"{names[0]} and {names[1]} are of different graphs ({_graph(first)} and {_graph(second)})"
        raise ResultError(f"{words}, whose eigencomponents do not correspond; compare signals on one graph.")
    others = _facts(second, algorithms)
    for what, own in _facts(first, algorithms).items():
        if own != others[what]:
            words = f"their {what} differ ({shown(own)} and {shown(others[what])}); compute both with the same options."
            raise ResultError(f"{names[0]} and {names[1]} cannot be compared: {words}")
    if rows:
        b = _matched(first, second, b)
    chosen = [one.sel({"algorithm": algorithms, "hop": hops}) for one in (a, b)]
    for at, one in enumerate(chosen):  # merged results pad hops of few eigenspaces
        there = (one["multiplicity"] > 0).any([dim for dim in one["multiplicity"].dims if dim != "component"])
        chosen[at] = one.isel(component=there.values)
    first, second = (view(one, name) for one, name in zip(chosen, names, strict=True))
    spaces = [one.ds["band_upper"].values if one.is_bands else one.eigenspace for one in (first, second)]
    if not np.array_equal(spaces[0], spaces[1]):
        words = f"{names[0]} and {names[1]} hold different components of the spectrum"
        raise ResultError(f"{words}; compute both with the same n_eigs and which, and select the same components.")
    return first, second


def _is_same(first: View, second: View) -> bool:
    """Whether two graphs have the same edges by rows, and the same nodes there where both have names."""
    if first.ds.attrs.get("graph_hash") != second.ds.attrs.get("graph_hash"):
        return False
    names = [one.ds["node"].values.tolist() for one in (first, second) if "node" in one.ds.coords]
    named = [own for own in names if own != [str(row) for row in range(len(own))]]
    return len(names) < 2 or not named or names[0] == names[1] or (len(named) < 2 and set(names[0]) != set(names[1]))


def _graph(one: View) -> str:
    return f"{str(one.ds.attrs.get('graph_hash') or 'unknown')[:8]} of {one.ds.attrs.get('n_nodes')} nodes"


def _facts(one: View, algorithms: list[str]) -> dict[str, Any]:
    """Collect what two results must have in common, as messages call it."""
    attrs = one.ds.attrs
    known = {"kind of result": attrs.get("kind"), "metrics": attrs.get("metric"), "edge weights": attrs.get("weights")}
    known["strata by distance"] = attrs.get("strata")
    words = {"Laplacians": one.operator_name} | {what: value or "none" for what, value in known.items()}
    return words | {name: one.options.get(name) for algorithm in algorithms for name in row_of(algorithm).options}


def _matched(first: View, second: View, b: xr.Dataset) -> xr.Dataset:
    """The second result with its rows in the order of the first."""
    for one, other in ((first, second), (second, first)):
        if "column" in other.row_dims and "column" not in one.row_dims:
            columns = ", ".join(map(str, other.labels("column")[:5]))
            words = f"{other.name} has the columns {columns} as signals of their own, and {one.name} has no columns"
            raise ResultError(f"{words}; select one with ds.sel(column=...), or compute both with the same columns=.")
    if not first.row_dims or not second.row_dims:
        return b
    if first.row_dims != second.row_dims:
        words = f"{first.name} has the dimensions {', '.join(first.row_dims)}"
        raise ResultError(f"{words} and {second.name} has {', '.join(second.row_dims)}; select one row of one of them.")
    for dim in first.row_dims:
        wanted, given = first.labels(dim), second.labels(dim)
        place = {label: row for row, label in enumerate(given)}
        apart = place.keys() ^ set(wanted)
        if apart or len(place) < max(len(wanted), len(given)):
            odd = [label for label in (*wanted, *given) if label in apart]
            words = f"{first.name} has {len(wanted)} labels along {dim} and {second.name} has {len(given)}"
            words += f", and they are not the same ({shown(odd[0]) if odd else 'one occurs twice'})"
            raise ResultError(f"{words}; select the same of both, or give them the same labels.")
        b = b.isel({dim: [place[label] for label in wanted]})
    return b
