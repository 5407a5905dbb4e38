"""Categorical labels of nodes, in any form, as whole numbers in the graph's row order."""

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spectrata.errors import NodeCountError, OptionError, SignalTypeError, SignalValueError
from spectrata.inputs.readers.arrays import is_labelled, is_sparse, is_tensor, module, plain_array
from spectrata.inputs.readers.raw import kind
from spectrata.inputs.readers.signal_files import read_labels
from spectrata.inputs.readers.signal_objects import attribute, is_missing
from spectrata.inputs.rows import Nodes, is_attribute, order_of, warn_of_order

Label = str | int | bool


@dataclass(frozen=True, eq=False)
class Labels:
    """One class per node."""

    codes: np.ndarray  # (n,) int64, position of each node's class among ``classes``; -1 for a node without a label
    classes: tuple[Label, ...]  # text, whole numbers or truth values; each is the label of at least one node


def as_labels(labels: Any, graph: Nodes, missing: Any = None) -> Labels:
    """Take labels in any accepted form and put them in the graph's row order.

    Accepted are text, whole numbers or truth values, one per node, as a list, array or tensor of shape (n,); a mapping
    from node to label; a pandas Series indexed by node, or a Categorical; an xarray DataArray with a dimension
    ``node``; a path; the name of a node attribute of the graph; or ``Labels``. None, NaN, empty text and the values of
    ``missing``, such as -1, mean that a node has no label, as does a node that a mapping or a Series lacks.
    """
    if isinstance(labels, Labels):
        _check_count(len(labels.codes), graph)
        return labels
    values, order = label_values(labels, graph)
    return coded(values, missing, order)


def label_values(labels: Any, graph: Nodes) -> tuple[list[Any], tuple[Any, ...] | None]:
    """Labels as given and unread, in the graph's row order, None where there is none; and the order of classes."""
    found, names, order, lines = _recognised(labels, graph)
    if names is None:
        _check_count(len(found), graph)
        if not is_attribute(labels, graph):
            warn_of_order(labels, graph, "list of labels")
        return found, order
    if len(names) != len(found):
        raise NodeCountError(f"There are {len(names)} names for {len(found)} labels; give every name one label.")
    rows = order_of(names, graph, "labels", partial=True, lines=lines)
    return [found[row] if row >= 0 else None for row in rows.tolist()], order


def _check_count(count: int, graph: Nodes) -> None:
    if count != graph.n_nodes:
        raise NodeCountError(
            f"There are {count} labels, but the graph has {graph.n_nodes} nodes; give one per node (None for a node "
            "without one), or a mapping from node to label."
        )


def _recognised(
    labels: Any, graph: Nodes
) -> tuple[list[Any], tuple[Hashable, ...] | None, tuple[Any, ...] | None, Sequence[int] | None]:
    """Labels, and where there are some the names of their nodes, the order of their classes, their lines in a file."""
    names: tuple[Hashable, ...] | None = None
    lines: Sequence[int] | None = None
    if is_attribute(labels, graph):
        labels = attribute(labels, graph.attributes)
    elif isinstance(labels, (str, os.PathLike)):
        labels, names, lines = read_labels(labels, frozenset(map(str, graph.names)))
    elif isinstance(labels, Mapping):
        if not labels:
            raise SignalTypeError("The mapping is empty; give a label for some nodes.")
        labels, names = list(labels.values()), tuple(labels)
    elif module(labels) == "xarray" and hasattr(labels, "dims"):
        if tuple(labels.dims) != ("node",):
            raise SignalTypeError(f"The DataArray has dimensions {list(labels.dims)}; labels have one, called 'node'.")
        names = tuple(labels.coords["node"].values.tolist()) if "node" in labels.coords else None
    elif module(labels) == "pandas" and hasattr(labels, "index"):
        if labels.ndim == 2 and labels.shape[1] != 1:
            example = f", such as table[{labels.columns[0]!r}]" if labels.shape[1] else ""
            raise SignalTypeError(f"The table has {labels.shape[1]} columns; give one column{example}.")
        labels = labels if labels.ndim == 1 else labels.iloc[:, 0]
        index = labels.index.tolist()
        # An index that only counts the rows names them where the graph's nodes are numbers, or some have no label.
        counted = index == list(range(graph.n_nodes)) and not set(index) <= set(graph.names)
        names = None if counted else tuple(index)
    categories = getattr(labels, "categories", getattr(getattr(labels, "dtype", None), "categories", None))
    return _listed(labels), names, None if categories is None else tuple(categories.tolist()), lines


def _listed(values: Any) -> list[Any]:
    """One value per node out of an array, a list, a tensor or a column."""
    if isinstance(values, np.ma.MaskedArray):
        values = np.array(values.tolist(), dtype=object)  # None where masked
    elif is_tensor(values) or is_labelled(values) or module(values) == "cupy":
        values = plain_array(values)
    if isinstance(values, (str, bytes)) or is_sparse(values) or not isinstance(values, Iterable):
        raise SignalTypeError(f"Cannot read {kind(values)} as labels; give one label per node.")
    if isinstance(values, np.ndarray):
        values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
        if values.ndim != 1:
            hint = "; of one-hot columns give values.argmax(axis=1)" if values.ndim == 2 else ""
            raise SignalTypeError(f"Labels have shape (n,), one per node, not {values.shape}{hint}.")
    return list(values)


def _checked(values: Sequence[Any], missing: Any) -> list[Label | None]:
    """Labels as text, whole numbers or truth values; None where there is none."""
    if is_sparse(missing):
        raise OptionError("missing is a sparse matrix; give a label, or a list of labels.")
    one = isinstance(missing, str) or not isinstance(missing, Iterable) or getattr(missing, "ndim", 1) == 0
    left_out = frozenset(() if missing is None else [str(value) for value in ([missing] if one else missing)])
    found: list[Label | None] = []
    for row, value in enumerate(values):
        value = value.item() if isinstance(value, np.generic) else value
        value = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if is_missing(value) or (isinstance(value, str) and not value.strip()) or str(value) in left_out:
            found.append(None)
        elif isinstance(value, (str, bool, int)):
            found.append(value)
        elif isinstance(value, float):
            words = f"The label at row {row} is {value}, and labels are classes; give text or whole numbers"
            raise SignalValueError(f"{words}, or use st.spectra for numbers that are measured.")
        else:
            raise SignalTypeError(f"The label at row {row} is {kind(value)}; give text, whole numbers or truth values.")
    return found


def coded(given: Sequence[Any], missing: Any = None, order: Sequence[Any] | None = None) -> Labels:
    """Numbers for labels in the graph's row order; classes in the order of a Categorical, of numbers, or of text."""
    values = _checked(given, missing)
    keys = {_key(value) for value in values if value is not None}
    if not keys:
        raise SignalValueError("No node has a label; give some nodes one.")
    # Whole numbers first, 0 and 1 before False and True, then text.
    ordered = sorted(keys, key=lambda key: (0, *key, "") if isinstance(key[1], int) else (1, False, 0, key[1]))
    if order is not None:
        place = {_key(value): number for number, value in enumerate(order)}
        ordered.sort(key=lambda key: place.get(key, len(place)))
    code = {key: number for number, key in enumerate(ordered)}
    codes = [-1 if value is None else code[_key(value)] for value in values]
    return Labels(np.array(codes, dtype=np.int64), tuple(value for _, value in ordered))


def _key(value: Any) -> tuple[bool, Any]:
    """Python takes True and 1 as one key of a dictionary; as labels they are two."""
    value = value.item() if isinstance(value, np.generic) else value
    return type(value) is bool, value
