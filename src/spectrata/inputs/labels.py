"""Categorical labels of nodes, in any form, as whole numbers in the graph's row order."""

import os
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spectrata.errors import FLAGS, NodeCountError, SignalTypeError, SignalValueError, argument, shown
from spectrata.inputs.readers.arrays import is_labelled, is_sparse, is_tensor, module, plain_array
from spectrata.inputs.readers.files import DECIMAL_COMMA, MISSING, is_number
from spectrata.inputs.readers.raw import kind
from spectrata.inputs.readers.signal_files import read_labels
from spectrata.inputs.readers.signal_objects import attribute, is_missing
from spectrata.inputs.rows import Nodes, by_node, is_attribute, order_of, refuse_absent, warn_of_order

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
    if order is None:  # the caller made them categories
        _refuse_measured(values)
    return coded(values, missing, order)


def label_values(labels: Any, graph: Nodes) -> tuple[list[Any], tuple[Any, ...] | None]:
    """Labels as given and unread, in the graph's row order, None where there is none; and the order of classes."""
    names: Sequence[Hashable] | None = None
    lines: Sequence[int] | None = None
    given = labels
    if is_attribute(labels, graph):
        given = attribute(labels, graph.attributes)
    elif isinstance(labels, (str, os.PathLike)):
        refuse_absent(labels, graph)
        given, names, lines = read_labels(labels, frozenset(map(str, graph.names)))
    elif isinstance(labels, Mapping):
        given, names = list(labels.values()), tuple(labels)
    elif module(labels) == "xarray" and hasattr(labels, "dims"):
        if tuple(labels.dims) != ("node",):
            raise SignalTypeError(f"The DataArray has dimensions {list(labels.dims)}; labels have one, called 'node'.")
        names = labels.coords["node"].values.tolist() if "node" in labels.coords else None
    elif module(labels) == "pandas" and hasattr(labels, "index"):
        labels = by_node(labels, graph)
        if labels.ndim == 2 and labels.shape[1] != 1:
            example = f", such as table[{labels.columns[0]!r}]" if labels.shape[1] else ""
            raise SignalTypeError(f"The table has {labels.shape[1]} columns; give one column{example}.")
        given, names = labels if labels.ndim == 1 else labels.iloc[:, 0], labels.index.tolist()
    categories = getattr(given, "categories", getattr(getattr(given, "dtype", None), "categories", None))
    order, found = None if categories is None else tuple(categories.tolist()), _listed(given)
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
        raise NodeCountError(f"There are {count} labels for {graph.n_nodes} nodes; give one per node, None for none.")


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


def coded(given: Sequence[Any], missing: Any = None, order: Sequence[Any] | None = None) -> Labels:
    """Numbers for labels in the graph's row order; classes in the order of a Categorical, of numbers, or of text."""
    several = isinstance(missing, Iterable) and not isinstance(missing, str) and not is_sparse(missing)
    one = not several or getattr(missing, "ndim", 1) == 0
    left_out = frozenset(() if missing is None else [str(value) for value in ([missing] if one else missing)])
    keys = [_key(value, row, left_out) for row, value in enumerate(given)]
    # Whole numbers first, 0 and 1 before False and True, then text.
    classes = sorted({key for key in keys if key is not None}, key=lambda key: (isinstance(key[1], str), *key))
    if not classes:
        raise SignalValueError("No node has a label; give some nodes one.")
    if order is not None:
        place = {(type(value) is bool, value): number for number, value in enumerate(order)}
        classes.sort(key=lambda key: place.get(key, len(place)))
    code = {key: number for number, key in enumerate(classes)}
    codes = [-1 if key is None else code[key] for key in keys]
    return Labels(np.array(codes, dtype=np.int64), tuple(value for _, value in classes))


def _refuse_measured(values: Sequence[Any]) -> None:
    """Refuse text that holds numbers which are not all whole: each of them would be a class."""
    texts = [value for value in values if isinstance(value, str) and value.strip() and value not in MISSING]
    measured = next((text for text in texts if not (is_number(text) and float(text).is_integer())), None)
    if measured and all(is_number(text) or DECIMAL_COMMA.fullmatch(text.strip()) for text in texts):
        raise SignalValueError(f"The labels are measured numbers ({shown(measured)}), not classes; {_advice()}.")


def _advice() -> str:
    if "labels" in FLAGS:
        return f"leave out {argument('labels', True)}, or give text or whole numbers"
    command = "spectrata correlogram" if FLAGS else "st.spectra"
    return f"give text or whole numbers, or use {command} for measured numbers"


def _key(value: Any, row: int, left_out: Collection[str]) -> tuple[bool, Label] | None:
    """A label with whether it is a truth value, since Python takes True for 1; None for none, or one left out."""
    value = value.item() if isinstance(value, np.generic) else value
    value = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if is_missing(value) or (isinstance(value, str) and not value.strip()) or str(value) in left_out:
        return None
    if isinstance(value, float):
        raise SignalValueError(f"The label at row {row} is {value}, and labels are classes; {_advice()}.")
    if not isinstance(value, (str, bool, int)):
        raise SignalTypeError(f"The label at row {row} is {kind(value)}; give text, whole numbers or truth values.")
    return type(value) is bool, value
