"""Node attributes of a graph as signals."""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from spectrata.errors import (
    MemoryEstimateError,
    NodeCountError,
    SignalTypeError,
    SignalValueError,
    UnknownNameError,
    shown,
)
from spectrata.inputs.formats.files import MAX_BYTES, listed
from spectrata.inputs.formats.graph_arrays import is_labelled, is_sparse
from spectrata.inputs.formats.raw import Columns, RawSignal
from spectrata.inputs.formats.signal_objects import column_names, to_signal_array


def attribute_signal(name: str, attributes: Mapping[str, Any], names: Sequence[Hashable]) -> RawSignal:
    """The numbers of a node attribute, (n,) or (n, d), in the graph's row order.

    Parameters
    ----------
    name : str
    attributes : mapping
        The values of each attribute, one per node.
    names : sequence
        The nodes' names, for messages.

    Examples
    --------
    >>> attribute_signal("age", {"age": [30, 41]}, ("ann", "bob")).values.tolist()
    [30, 41]
    """
    if name not in attributes:
        raise UnknownNameError(
            f"There is no file {shown(name)} and no node attribute of that name; the graph has "
            f"{listed(list(attributes))}."
        )
    values = attributes[name]
    labels = attributes.labels(name) if isinstance(attributes, Columns) else None
    if is_labelled(values):
        labels = getattr(values, "columns", None)
        values = values.to_numpy()
    if is_sparse(values) and 8 * math.prod(values.shape) > MAX_BYTES:
        raise MemoryEstimateError(
            f"{shown(name)} of shape {tuple(values.shape)} needs more than {MAX_BYTES >> 30} GiB as a signal; choose "
            "fewer columns."
        )
    if isinstance(values, np.ndarray) and values.dtype.kind in "OUS":
        values = values.tolist()
    if isinstance(values, (list, tuple)):
        _check_values(name, values, names)
    try:
        return RawSignal(to_signal_array(values), columns=None if labels is None else column_names(list(labels)))
    except SignalTypeError:
        raise SignalTypeError(
            f"The node attribute {shown(name)} is not a number or a vector of one length per node; convert it first."
        ) from None


def _check_values(name: str, values: Sequence[Any], names: Sequence[Hashable]) -> None:
    texts = [value for value in values if isinstance(value, (str, bytes))]
    if texts:
        raise SignalTypeError(
            f"The node attribute {shown(name)} holds text, such as {shown(texts[0])}; give one number or one vector "
            "per node, or use st.homophily(graph, labels) for class labels."
        )
    if len(values) != len(names):
        raise NodeCountError(
            f"The node attribute {shown(name)} has {len(values)} values for {len(names)} nodes; give every node one."
        )
    missing = [row for row, value in enumerate(values) if value is None]
    if missing:
        raise SignalValueError(
            f"{len(missing)} nodes have no {shown(name)}, such as {shown(names[missing[0]])}; give every node one, or "
            "leave those nodes out of the graph."
        )
