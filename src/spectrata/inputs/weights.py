"""Edge weights: which ones the caller means, checked, one number per edge of the canonical graph."""

from collections.abc import Hashable, Sequence
from typing import Any, NoReturn

import numpy as np

from spectrata.errors import DirectedGraphError, OptionError, shown
from spectrata.inputs.readers.arrays import is_sparse, is_tensor, to_numpy
from spectrata.inputs.readers.files import listed
from spectrata.inputs.readers.raw import RawGraph, kind

IGNORED = (
    "Edge weights play no part and every edge counts as 1; weights=True uses them, weights=False ignores them "
    "without this warning."
)
_RULE = "weights are positive and finite, and larger means closer, so convert distances first"
AGREEMENT = 1e-12  # relative difference of an edge's two directions or repeats that counts as equal


def edge_weights(raw: RawGraph, weights: Any) -> np.ndarray | None:
    """One number per entry of ``raw.edges``, in the precision given; None where weights are not used.

    Parameters
    ----------
    raw : RawGraph
    weights : bool, str, array_like or None
        As for :func:`~spectrata.inputs.graphs.as_graph`.

    Examples
    --------
    >>> from spectrata.inputs.readers.arrays import from_edges
    >>> edge_weights(from_edges([(0, 1), (1, 2), (2, 3)]), [1, 2, 0.5]).tolist()
    [1.0, 2.0, 0.5]
    """
    if weights is None:
        return None
    if isinstance(weights, (bool, np.bool_)):
        return _column(raw, _usual(raw), True) if weights else None
    if isinstance(weights, str):
        if weights not in raw.columns:
            raise OptionError(f"weights={shown(weights)} is not an edge attribute of the graph; {_choice(raw)}.")
        return _column(raw, weights, weights)
    if raw.form == "matrix":
        return _of_matrix(raw, weights)
    return _numbers(raw, weights, "weights=")


def _usual(raw: RawGraph) -> str:
    values = None if raw.weight is None else raw.columns.read(raw.weight)
    if raw.weight is None or (isinstance(values, list) and all(value is None for value in values)):
        raise OptionError(f"weights=True, but the graph's edges carry no weights under a usual name; {_choice(raw)}.")
    return raw.weight


def _choice(raw: RawGraph) -> str:
    names = listed(list(raw.columns))
    one = "give one number per edge as weights="
    return f"use one of its own ({names}), or {one}" if names else f"it has none, so {one}"


def _column(raw: RawGraph, name: str, weights: bool | str) -> np.ndarray:
    return _numbers(raw, raw.columns.read(name), f"weights={weights!r}")


def _of_matrix(raw: RawGraph, weights: Any) -> np.ndarray:
    n = raw.n_nodes
    matrix = weights.tocsr() if is_sparse(weights) else to_numpy(weights)
    if matrix.shape != (n, n):
        raise OptionError(
            f"weights= has shape {tuple(matrix.shape)}; for an adjacency matrix give weights of its shape, {(n, n)}."
        )
    entries = matrix[raw.edges[:, 0], raw.edges[:, 1]]
    return _numbers(raw, np.asarray(entries).ravel(), "weights=")


def _numbers(raw: RawGraph, values: Any, what: str) -> np.ndarray:
    """The values as real numbers, or a refusal that names the first edge that has none."""
    if not hasattr(values, "__len__") or is_sparse(values):
        given = "" if is_sparse(values) else f"={shown(values)}"
        raise OptionError(f"weights{given} is {kind(values)}; give True, the name of an edge attribute, or an array.")
    if is_tensor(values) and values.is_floating_point() and values.element_size() < 4:
        values = values.float()  # numpy has no bfloat16
    array = to_numpy(values) if is_tensor(values) or hasattr(values, "__array__") else None
    if array is not None and array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    shape = (len(values),) if array is None else array.shape
    if shape != (len(raw.edges),):
        raise OptionError(
            f"{what} has shape {shape} for {len(raw.edges)} edges; give one number per edge, in the edges' order."
        )
    if array is not None and array.dtype.kind in "biuf":
        return array if array.dtype.kind == "f" else array.astype(np.float64)
    numbers = np.empty(len(raw.edges))
    for place, value in enumerate(values if array is None else array.tolist()):
        numbers[place] = _number(raw, place, value, what)
    return numbers


def _number(raw: RawGraph, place: int, value: Any, what: str) -> float:
    if value is not None and not isinstance(value, (str, bytes)) and not getattr(value, "ndim", 0):
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            pass
    edge = _named(raw.names, raw.edges[place])
    if value is None:
        raise OptionError(f"{what}: the edge {edge} has no weight; give every edge one.")
    raise OptionError(f"{what}: the weight of the edge {edge} is {shown(value)}, not a number; convert it.")


def _named(names: Sequence[Hashable] | None, edge: np.ndarray) -> str:
    tail, head = (int(end) if names is None else names[int(end)] for end in edge)
    return f"{shown(tail)} to {shown(head)}"


def refuse_weight(edge: str, weight: float, count: int) -> NoReturn:
    """Refuse weights that are not positive and finite, naming the first."""
    raise OptionError(f"The weight of the edge {edge} is {weight!r} ({count} such entries); {_RULE}.")


def merged(
    keys: np.ndarray, weights: np.ndarray, arcs: np.ndarray, names: Sequence[Hashable]
) -> tuple[np.ndarray, np.ndarray]:
    """Distinct keys in ascending order, and the one weight of each; refuse what disagrees.

    Parameters
    ----------
    keys : ndarray of int64, shape (E,)
        Equal for an edge, its reverse and its repeats.
    weights : ndarray, shape (E,)
    arcs : ndarray of int64, shape (E, 2)
        The edges' ends, for messages.
    names : sequence
        The nodes' names, for messages.
    """
    fine = np.isfinite(weights) & (weights > 0)
    if not fine.all():
        bad = np.flatnonzero(~fine)
        edge, count = _named(names, arcs[bad[0]]), len(bad)
        refuse_weight(edge, float(weights[bad[0]]), count)
    # Single precision rounds the two directions of D^-1/2 A D^-1/2 apart.
    agreement = max(AGREEMENT, 4 * float(np.finfo(weights.dtype).eps))
    weights = weights.astype(np.float64)
    order = np.argsort(keys, kind="stable")
    keys, weights = keys[order], weights[order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    least, most = np.minimum.reduceat(weights, starts), np.maximum.reduceat(weights, starts)
    apart = np.flatnonzero(most - least > agreement * most)
    if len(apart):
        first = apart[0]
        edge = _named(names, np.sort(arcs[order[starts[first]]]))
        raise DirectedGraphError(
            f"The weights of the edge {edge} disagree between its directions or repeats: {float(least[first])!r} "
            f"and {float(most[first])!r} ({len(apart)} such edges); combine them first, for a matrix by "
            "(A + A.T) / 2."
        )
    most.setflags(write=False)
    return keys[starts], most
