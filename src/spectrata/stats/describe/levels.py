"""Levels of reading along the eigenvalue axis: components, whole eigenspaces, bands.

Groups are whole numbers per ``(hop, component)``, ascending along the components, with ``-1`` for "in no group".
Bands never cut an eigenspace: inside one the split is arbitrary.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from spectrata.core.algorithms.options import by_algorithm
from spectrata.core.plan import Plan, make_plan
from spectrata.core.registry import row_of
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError, ResultError
from spectrata.inputs.numbers import whole
from spectrata.kernels.scaling import squarable
from spectrata.results.build import Axis, graph_of
from spectrata.results.schema import View

LEVELS = ("component", "eigenspace", "band")
MOST_BANDS = 2**16
Coordinates = dict[str, tuple[tuple[str, str], np.ndarray]]


def merge_rules(view: View) -> list[str]:
    """Say how components of one eigenspace add up, for each algorithm of a result: ``"l2"`` or ``"sum"``."""
    return [row_of(name).merge_rule(view.options) for name in view.algorithms]


def group_reduce(values: np.ndarray, groups: np.ndarray, count: int, rule: str = "l2") -> np.ndarray:
    """Add up magnitudes by group: ``(..., H, N), (H, N) -> (..., H, count)``.

    NaN drop out; a group without a number is NaN.

    Examples
    --------
    >>> group_reduce(np.array([[3.0, 4.0, 1.0, 7.0]]), np.array([[0, 0, 1, -1]]), 3).tolist()
    [[5.0, 1.0, nan]]
    """
    out = np.full((*values.shape[:-1], count), np.nan)
    for row, group in enumerate(groups):
        inside = np.flatnonzero(group >= 0)
        if not len(inside):
            continue
        starts = np.flatnonzero(np.diff(group[inside], prepend=-1))
        piece = values[..., row, inside]
        present = ~np.isnan(piece)
        filled = np.where(present, piece, 0.0)
        if rule == "l2":
            filled, scale = squarable(filled)
            total = np.sqrt(np.add.reduceat(filled**2, starts, axis=-1)) * scale
        else:
            total = np.add.reduceat(filled, starts, axis=-1)
        total[~np.logical_or.reduceat(present, starts, axis=-1)] = np.nan
        out[..., row, group[inside[starts]]] = total
    return out


def reduced(view: View, values: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
    """Add up magnitudes of every algorithm by group, by its own rule: ``(A, R, H, N) -> (A, R, H, count)``."""
    pieces = zip(values, merge_rules(view), strict=True)
    return np.stack([group_reduce(piece, groups, count, rule) for piece, rule in pieces])


def eigenspace_groups(eigenspace: np.ndarray) -> tuple[np.ndarray, int]:
    """Number the eigenspaces of each hop, from 0 among those present: ``(H, N)``, and the most of any hop."""
    groups = np.full(eigenspace.shape, -1)
    for row, spaces in enumerate(eigenspace):
        here = spaces >= 0
        groups[row, here] = np.cumsum(np.diff(spaces[here], prepend=-1) != 0) - 1
    return groups, int(groups.max()) + 1


def band_groups(is_zero: np.ndarray, eigenspace: np.ndarray, multiplicity: np.ndarray, bands: int) -> np.ndarray:
    """Assign a band to each component, ``(H, N)``: ``bands`` equal counts of components off zero, eigenspaces whole.

    An eigenspace belongs to the band its middle component falls in; zero components have none.

    Examples
    --------
    >>> zero = np.array([[True, False, False, False, False]])
    >>> band_groups(zero, np.array([[0, 1, 2, 2, 3]]), np.array([[1, 1, 2, 2, 1]]), 2).tolist()
    [[-1, 0, 1, 1, 1]]
    """
    groups = np.full(eigenspace.shape, -1)
    for row, (spaces, sizes) in enumerate(zip(eigenspace, multiplicity, strict=True)):
        off = np.flatnonzero((spaces >= 0) & ~is_zero[row])
        if not len(off):
            continue
        first = off[np.flatnonzero(np.diff(spaces[off], prepend=-1))]
        size = sizes[first]
        middle = (np.cumsum(size) - size / 2) / size.sum()
        band = np.minimum((middle * bands).astype(int), bands - 1)
        groups[row, off] = np.repeat(band, np.diff(np.append(np.searchsorted(off, first), len(off))))
    return groups


def level_groups(view: "View | Axis", level: str, bands: int = 4) -> tuple[np.ndarray, int]:
    """Number the groups ``(H, N)`` of a level of reading, and count them; of one hop, given by its axis: ``(1, N)``."""
    eigenspace, multiplicity, is_zero = (
        np.atleast_2d(array) for array in (view.eigenspace, view.multiplicity, view.is_zero)
    )
    if level == "component":
        return np.where(eigenspace >= 0, np.arange(eigenspace.shape[1]), -1), eigenspace.shape[1]
    if level == "eigenspace":
        return eigenspace_groups(eigenspace)
    if level == "band":
        if isinstance(view, View):
            view.require_complete("a division into bands")
        elif not view.complete:
            raise OptionError("A division into bands needs all components; leave out n_eigs, or choose another level.")
        count = whole(bands, "bands", 1, MOST_BANDS)
        return band_groups(is_zero, eigenspace, multiplicity, count), count
    raise OptionError(f"level={level!r} is not known; the levels are {', '.join(LEVELS)}.")


def level_coordinates(view: View, groups: np.ndarray, count: int, level: str) -> Coordinates:
    """Label the groups by eigenvalues and sizes, with NaN and 0 where a hop has no such group."""
    shape = (len(groups), count)
    low, high = np.full(shape, np.nan), np.full(shape, np.nan)
    size, space = np.zeros(shape, dtype=np.int64), np.full(shape, -1)
    zero = np.zeros(shape, dtype=bool)
    for row, group in enumerate(groups):
        inside = np.flatnonzero(group >= 0)
        starts = inside[np.flatnonzero(np.diff(group[inside], prepend=-1))]
        ends = inside[np.flatnonzero(np.diff(group[inside], append=-1))]
        index = group[starts]
        low[row, index], high[row, index] = view.eigenvalue[row, starts], view.eigenvalue[row, ends]
        space[row, index], zero[row, index] = view.eigenspace[row, starts], view.is_zero[row, starts]
        first = inside[np.diff(view.eigenspace[row, inside], prepend=-2) != 0]
        size[row] = np.bincount(group[first], view.multiplicity[row, first], count)
    if level == "band":
        dims = ("hop", "band")
        return {"band_lower": (dims, low), "band_upper": (dims, high), "band_size": (dims, size)}
    dims = ("hop", "component")
    if level == "component":
        size = np.where(groups >= 0, view.multiplicity, 0)
    return {
        "eigenvalue": (dims, low),
        "eigenspace": (dims, space),
        "multiplicity": (dims, size),
        "is_zero": (dims, zero),
    }


def rebuild(view: View, max_basis_bytes: int = 2**31) -> Stratification:
    """Make the stratification of a result's own graph and hops, decomposed anew when asked."""
    view.require_components("a new decomposition")
    if "bins" in view.ds.attrs:
        raise ResultError(
            f"{view.name} has bins of distances, whose pairs a result does not keep; give the Stratification and the "
            "signal in its place."
        )
    rule = str(view.ds.attrs.get("weights") or "bottleneck")
    return Stratification(graph_of(view.ds), list(view.hops), hop_weights=rule, max_basis_bytes=max_basis_bytes)


def options_given(view: View, algorithms: Sequence[str] | None = None) -> dict[str, Any]:
    """Collect the arguments that compute more spectra like those of a result: options, metric, seed, cut.

    ``algorithms`` are those to compute, by default those of the result.
    """
    known = view.options
    names = set(known) - {"algorithms", "hops", "keep", "preset", "zero_vectors", "columns", "which", "ens_weights"}
    found = {name: known[name] for name in names}
    if any(row_of(name).combine for name in algorithms or view.algorithms):
        found["ens_weights"] = known["ens_weights"]
        if str(known["ens_weights"]).startswith("function "):
            raise ResultError(
                f"{view.name} was computed with a function for ens_weights, which a result does not keep; give "
                "signals and a graph with ens={'weights': ...}."
            )
    if known.get("n_eigs") is not None:
        found["which"] = known["which"]
    return by_algorithm(found) | {
        "metric": view.metric,
        "seed": int(view.ds.attrs["seed"]),
        "zero_vectors": known["zero_vectors"],
    }


def plan_of(strat: Stratification, algorithms: Any, seed: int = 0, **options: Any) -> Plan:
    """Make the plan of a call with the operator, cut and precision of a Stratification."""
    computing = strat.computing
    return make_plan(
        algorithms,
        options | computing.operator().arguments,
        strat.graph.n_nodes,
        seed=seed,
        keep=(),
        dtype=computing.dtype,
        n_eigs=computing.n_eigs,
        which=computing.which,
        diagnose=False,
    )
