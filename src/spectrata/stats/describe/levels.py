"""Levels of reading along the eigenvalue axis: components, whole eigenspaces, bands.

Groups are whole numbers per ``(hop, component)``, ascending along the components, with ``-1`` for "in no group".
Bands never cut an eigenspace: inside one the split is arbitrary.
"""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from spectrata.core.algorithms.options import Options, by_algorithm
from spectrata.core.plan import Plan, make_plan
from spectrata.core.registry import row_of
from spectrata.core.stratification import Stratification
from spectrata.errors import ResultError
from spectrata.inputs.numbers import whole
from spectrata.kernels.scaling import squarable
from spectrata.results.build import Axis, graph_of
from spectrata.results.schema import View

LEVELS = ("component", "eigenspace", "band")
MOST_BANDS = 2**16


def over(a: np.ndarray, b: np.ndarray, some: Any = None) -> np.ndarray:
    """``a / b``, NaN where ``b`` is not above 0, or but for ``some``."""
    return np.divide(a, b, out=np.full(np.shape(b), np.nan), where=b > 0 if some is None else some)


def merge_rules(view: View) -> list[str]:
    """Say how components of one eigenspace add up, for each algorithm of a result: ``"l2"`` or ``"sum"``."""
    return [row_of(name).merge_rule(view.options) for name in view.algorithms]


def group_reduce(values: np.ndarray, groups: np.ndarray, count: int, rule: str | Sequence[str] = "l2") -> np.ndarray:
    """Add magnitudes up by group, NaN left out: ``(..., H, N), (H, N) -> (..., H, count)``; one rule, or one each."""
    if not isinstance(rule, str):
        return np.stack([group_reduce(one, groups, count, own) for one, own in zip(values, rule, strict=True)])
    power = 2 if rule == "l2" else 1
    out = np.full((*values.shape[:-1], count), np.nan)
    for row, group in enumerate(groups):
        inside = np.flatnonzero(group >= 0)
        index, starts = np.unique(group[inside], return_index=True)
        piece = values[..., row, inside]
        present = ~np.isnan(piece)
        filled, scale = squarable(np.where(present, piece, 0.0))
        total = np.add.reduceat(filled**power, starts, axis=-1) ** (1 / power) * scale
        out[..., row, index] = np.where(np.logical_or.reduceat(present, starts, axis=-1), total, np.nan)
    return out


def band_groups(is_zero: np.ndarray, eigenspace: np.ndarray, multiplicity: np.ndarray, bands: int) -> np.ndarray:
    """Bands of about equally many components off zero, ``(H, N)``, -1 at zero: those of the middles of eigenspaces."""
    groups = np.full(eigenspace.shape, -1)
    for row, off in enumerate((eigenspace >= 0) & ~is_zero):
        _, first, own = np.unique(eigenspace[row, off], return_index=True, return_inverse=True)
        size = multiplicity[row, off][first]
        middle = (np.cumsum(size) - size / 2) / size.sum()
        groups[row, off] = np.minimum((middle * bands).astype(int), bands - 1)[own]
    return groups


def level_groups(view: "View | Axis", level: str, bands: int = 4) -> tuple[np.ndarray, int]:
    """Number the groups ``(H, N)`` of a level of reading, and count them; of one hop, given by its axis: ``(1, N)``."""
    eigenspace, multiplicity, is_zero = map(np.atleast_2d, (view.eigenspace, view.multiplicity, view.is_zero))
    if level == "component":
        return np.where(eigenspace >= 0, np.arange(eigenspace.shape[1]), -1), eigenspace.shape[1]
    if level == "eigenspace":  # numbered from 0 among those present
        groups = np.full(eigenspace.shape, -1)
        for row, spaces in enumerate(eigenspace):
            groups[row, spaces >= 0] = np.unique(spaces[spaces >= 0], return_inverse=True)[1]
        return groups, int(groups.max()) + 1
    if isinstance(view, View):
        view.require_complete("a division into bands")
    count = whole(bands, "bands", 1, MOST_BANDS)
    return band_groups(is_zero, eigenspace, multiplicity, count), count


def level_coordinates(view: View, groups: np.ndarray, count: int, level: str) -> dict[str, Any]:
    """Label the groups by eigenvalues and sizes, with NaN and 0 where a hop has no such group."""
    shape = (len(groups), count)
    low, high, space = np.full(shape, np.nan), np.full(shape, np.nan), np.full(shape, -1)
    size, zero = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
    for row, group in enumerate(groups):
        inside = np.flatnonzero(group >= 0)
        index, starts, counts = np.unique(group[inside], return_index=True, return_counts=True)
        first, last = inside[starts], inside[starts + counts - 1]
        low[row, index], high[row, index] = view.eigenvalue[row, first], view.eigenvalue[row, last]
        space[row, index], zero[row, index] = view.eigenspace[row, first], view.is_zero[row, first]
        # Of every component its own eigenspace counts; of larger groups each eigenspace once.
        opens = inside if level == "component" else inside[np.diff(view.eigenspace[row, inside], prepend=-2) != 0]
        size[row] = np.bincount(group[opens], view.multiplicity[row, opens], count)
    if level == "band":
        named = {"band_lower": low, "band_upper": high, "band_size": size}
    else:
        named = {"eigenvalue": low, "eigenspace": space, "multiplicity": size, "is_zero": zero}
    return {name: (("hop", "band" if level == "band" else "component"), array) for name, array in named.items()}


def rebuild(view: View) -> Stratification:
    """Make the stratification of a result's own graph and hops, decomposed anew when asked."""
    view.require_components("a new decomposition")
    if "bins" in view.ds.attrs:
        words = f"{view.name} has bins of distances, whose pairs a result does not keep"
        raise ResultError(f"{words}; give the Stratification and the signal in its place.")
    rule = str(view.ds.attrs.get("weights") or "bottleneck")
    return Stratification(graph_of(view.ds), list(view.hops), hop_weights=rule)


def repeated_plan(view: View, algorithms: Sequence[str]) -> Plan:
    """Make the plan that computes more spectra like those of a result."""
    known = view.options
    own: dict[str, Any] = {field.name: known[field.name] for field in fields(Options)}
    if not any(row_of(name).combine for name in algorithms):
        del own["ens_weights"]
    elif str(own["ens_weights"]).startswith("function "):
        words = f"{view.name} was computed with a function for ens_weights, which a result does not keep"
        raise ResultError(f"{words}; give signals and a graph with ens={{'weights': ...}}.")
    how = {"dtype": known["dtype"], "n_eigs": known["n_eigs"], "which": known["which"] or "lowest"}
    how |= {"seed": int(view.ds.attrs["seed"]), "keep": (), "diagnose": False}
    return make_plan(algorithms, by_algorithm(own), view.n_nodes, **how)
