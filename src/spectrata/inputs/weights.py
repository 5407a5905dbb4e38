"""Edge weights: which ones the caller means, checked, one number per edge of the canonical graph."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from spectrata.errors import OptionError, argument, shown
from spectrata.inputs.readers.arrays import is_sparse, is_tensor, to_numpy
from spectrata.inputs.readers.files import listed
from spectrata.inputs.readers.raw import RawGraph, kind

AGREEMENT = 1e-12  # relative difference of an edge's two directions or repeats that counts as equal


def ignored() -> str:
    """The warning that a graph's weights are not used."""
    return f"Ignoring edge weights; {argument('weights', True)} uses them."


def edge_weights(raw: RawGraph, weights: Any) -> np.ndarray | None:
    """One number per entry of ``raw.edges``, in the precision given; None where weights are not used."""
    if weights is None:
        return None
    if isinstance(weights, (bool, np.bool_)):
        if not weights:
            return None
        values = None if raw.weight is None else raw.columns.read(raw.weight)
        if values is None or (isinstance(values, list) and all(value is None for value in values)):
            words = f"{argument('weights', True)}, but the graph's edges carry no weights under a usual name"
            raise OptionError(f"{words}; {_choice(raw)}.")
        return _numbers(raw, values, argument("weights", True))
    if isinstance(weights, str):
        if weights not in raw.columns:
            raise OptionError(f"{argument('weights', weights)} is not an edge attribute of the graph; {_choice(raw)}.")
        return _numbers(raw, raw.columns.read(weights), argument("weights", weights))
    if raw.form == "matrix":
        matrix, n = weights.tocsr() if is_sparse(weights) else to_numpy(weights), raw.n_nodes
        if matrix.shape != (n, n):
            shape = f"{argument('weights')} has shape {tuple(matrix.shape)}"
            raise OptionError(f"{shape}; for an adjacency matrix give weights of its shape, {(n, n)}.")
        weights = np.asarray(matrix[raw.edges[:, 0], raw.edges[:, 1]]).ravel()
    return _numbers(raw, weights, argument("weights"))


def _choice(raw: RawGraph) -> str:
    names = listed(list(raw.columns))
    one = f"give one number per edge as {argument('weights')}"
    return f"use one of its own ({names}), or {one}" if names else f"it has none, so {one}"


def _numbers(raw: RawGraph, values: Any, what: str) -> np.ndarray:
    """The values as real numbers, or a refusal that names the first edge that has none."""
    if not hasattr(values, "__len__") or is_sparse(values):
        given = "" if is_sparse(values) else f"={shown(values)}"
        raise OptionError(f"weights{given} is {kind(values)}; give True, the name of an edge attribute, or an array.")
    array = to_numpy(values) if is_tensor(values) or hasattr(values, "__array__") else None
    if array is not None and array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    shape = (len(values),) if array is None else array.shape
    if shape != (len(raw.edges),):
        words = f"{what} has shape {shape} for {len(raw.edges)} edges"
        raise OptionError(f"{words}; give one number per edge, in the edges' order.")
    if array is not None and array.dtype.kind in "biuf":
        return array if array.dtype.kind == "f" else array.astype(np.float64)
    numbers = np.empty(len(raw.edges))
    for place, value in enumerate(values if array is None else array.tolist()):
        try:
            if value is None or isinstance(value, (str, bytes)) or np.ndim(value):
                raise TypeError
            numbers[place] = float(value)
        except (TypeError, ValueError, OverflowError):
            edge = f"the edge {edge_name(raw.names, raw.edges[place])}"
            words = f"{edge} has no weight; give every edge one"
            if value is not None:
                words = f"the weight of {edge} is {shown(value)}, not a number; convert it"
            raise OptionError(f"{what}: {words}.") from None
    return numbers


def edge_name(names: Sequence[Hashable] | None, edge: np.ndarray) -> str:
    """An edge in a message."""
    tail, head = (int(end) if names is None else names[int(end)] for end in edge)
    return f"{shown(tail)} to {shown(head)}"
