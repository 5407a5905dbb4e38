"""Categorical labels of nodes, in any form, as whole numbers in the graph's row order."""

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spectrata.errors import (
    DuplicateNameError,
    NodeCountError,
    OptionError,
    SignalTypeError,
    SignalValueError,
    UnknownNameError,
    shown,
)
from spectrata.inputs.graphs import Graph
from spectrata.inputs.readers.arrays import is_labelled, is_sparse, is_tensor, module
from spectrata.inputs.readers.label_files import read_labels
from spectrata.inputs.readers.raw import kind
from spectrata.inputs.readers.signal_objects import attribute
from spectrata.inputs.rows import is_attribute, some_names, warn_of_order

Label = str | int | bool


@dataclass(frozen=True, eq=False)
class Labels:
    """One class per node.

    Parameters
    ----------
    codes : ndarray of int64, shape (n,)
        Position of each node's class among ``classes``; -1 for a node without a label.
    classes : tuple
        Text, whole numbers or truth values; each is the label of at least one node.
    """

    codes: np.ndarray
    classes: tuple[Label, ...]


def as_labels(labels: Any, graph: Graph, missing: Any = None) -> Labels:
    """Take labels in any accepted form and put them in the graph's row order.

    Parameters
    ----------
    labels : object
        One label per node: text, whole numbers or truth values, as a list, array or tensor of shape (n,); a mapping
        from node to label; a pandas Series indexed by node, or a Categorical; an xarray DataArray with a dimension
        ``node``; a path; the name of a node attribute of the graph; or ``Labels``. None, NaN and empty text mean that
        a node has no label, as does a node that a mapping or a Series lacks.
    graph : Graph
    missing : label or list of labels, optional
        More values that mean "no label", such as -1, which is a class like any other by default.

    Returns
    -------
    Labels

    Examples
    --------
    >>> from spectrata.inputs.graphs import as_graph
    >>> path = as_graph(edges=[(0, 1), (1, 2)])
    >>> found = as_labels({2: "red", 0: "blue"}, path)
    >>> found.codes.tolist(), found.classes
    ([0, -1, 1], ('blue', 'red'))
    """
    if isinstance(labels, Labels):
        _check_count(len(labels.codes), graph)
        return labels
    found, names, order = _recognised(labels, graph)
    values: Sequence[Label | None] = _checked(found, missing)
    if names is not None:
        values = _arranged(values, names, graph)
    else:
        _check_count(len(values), graph)
        if not is_attribute(labels, graph):
            warn_of_order(labels, graph, "labels")
    return _coded(values, order)


def coded(values: Sequence[Any], missing: Any = None) -> Labels:
    """Labels that already stand in the graph's row order.

    Examples
    --------
    >>> coded(["red", None, "blue"]).codes.tolist()
    [1, -1, 0]
    """
    return _coded(_checked(values, missing), None)


def _checked(values: Sequence[Any], missing: Any) -> list[Label | None]:
    unlabelled = _texts(missing)
    return [_label(value, row, unlabelled) for row, value in enumerate(values)]


def _recognised(labels: Any, graph: Graph) -> tuple[list[Any], tuple[Hashable, ...] | None, tuple[Any, ...] | None]:
    """Labels, the names of their nodes, and the order of their classes, where there are some."""
    if is_attribute(labels, graph):
        values = attribute(labels, graph.attributes)
        return _listed(values), None, _order(values)
    if isinstance(labels, (str, os.PathLike)):
        return *read_labels(labels), None
    if isinstance(labels, Mapping):
        if not labels:
            raise SignalTypeError("The mapping is empty; give a label for some nodes.")
        return list(labels.values()), tuple(labels), None
    if module(labels) == "xarray" and hasattr(labels, "dims"):
        if tuple(labels.dims) != ("node",):
            raise SignalTypeError(f"The DataArray has dimensions {list(labels.dims)}; labels have one, called 'node'.")
        names = tuple(labels.coords["node"].values.tolist()) if "node" in labels.coords else None
        return _listed(labels.values), names, None
    if module(labels) == "pandas" and hasattr(labels, "index"):
        if labels.ndim == 2:
            if labels.shape[1] != 1:
                example = f", such as table[{labels.columns[0]!r}]" if labels.shape[1] else ""
                raise SignalTypeError(f"The table has {labels.shape[1]} columns; give one column{example}.")
            labels = labels.iloc[:, 0]
        index = labels.index.tolist()
        # An index that only counts the rows names them where the graph's nodes are numbers, or some have no label.
        counted = index == list(range(graph.n_nodes)) and not set(index) <= set(graph.names)
        return _listed(labels), None if counted else tuple(index), _order(labels)
    return _listed(labels), None, _order(labels)


def _listed(values: Any) -> list[Any]:
    """One value per node out of an array, a list, a tensor or a column."""
    if is_tensor(values):
        values = values.detach().cpu().numpy()
    elif module(values) == "cupy":
        values = values.get()
    elif is_labelled(values):
        values = values.to_numpy()
    if isinstance(values, np.ma.MaskedArray):
        values = np.array(values.tolist(), dtype=object)  # None where masked
    if isinstance(values, (str, bytes)) or is_sparse(values) or not isinstance(values, Iterable):
        raise SignalTypeError(f"Cannot read {kind(values)} as labels; give one label per node.")
    if isinstance(values, np.ndarray):
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            hint = "; of one-hot columns give values.argmax(axis=1)" if values.ndim == 2 else ""
            raise SignalTypeError(f"Labels have shape (n,), one per node, not {values.shape}{hint}.")
    return list(values)


def _order(values: Any) -> tuple[Any, ...] | None:
    """The order of the classes of a pandas Categorical, or of a Series of this kind."""
    categories = getattr(values, "categories", None)
    if categories is None:
        categories = getattr(getattr(values, "dtype", None), "categories", None)
    return None if categories is None else tuple(categories.tolist())


def _texts(missing: Any) -> frozenset[str]:
    if missing is None:
        return frozenset()
    if is_sparse(missing):
        raise OptionError("missing is a sparse matrix; give a label, or a list of labels.")
    one = isinstance(missing, str) or not isinstance(missing, Iterable) or getattr(missing, "ndim", 1) == 0
    listed = [missing] if one else list(missing)
    return frozenset(str(value) for value in listed)


def _label(value: Any, row: int, unlabelled: frozenset[str]) -> Label | None:
    """One label as text, a whole number or a truth value; None where there is none."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, float):
        if np.isnan(value):
            return None
        if not value.is_integer():
            raise SignalValueError(
                f"The label at row {row} is {value}, and labels are classes; give text or whole numbers, or use "
                "st.spectra for numbers that are measured."
            )
        value = int(value)
    if isinstance(value, str):
        return None if not value.strip() or value in unlabelled else value
    if isinstance(value, (bool, int)):
        return None if str(value) in unlabelled else value
    raise SignalTypeError(f"The label at row {row} is {kind(value)}; give text, whole numbers or truth values.")


def _check_count(count: int, graph: Graph) -> None:
    if count != graph.n_nodes:
        raise NodeCountError(
            f"There are {count} labels, but the graph has {graph.n_nodes} nodes; give one per node (None for a node "
            "without one), or a mapping from node to label."
        )


def _arranged(values: Sequence[Label | None], names: Sequence[Hashable], graph: Graph) -> list[Label | None]:
    """Labels in the graph's order, None for nodes that are not named: equal names first, then equal text."""
    if len(names) != len(values):
        raise NodeCountError(f"There are {len(names)} names for {len(values)} labels; give every name one label.")
    rows: Mapping[Any, int] = graph.row
    if any(name not in rows for name in names):
        texts = {str(name): row for row, name in enumerate(graph.names)}
        if len(texts) == graph.n_nodes:  # files know the node 12 as "12"
            rows, names = texts, [str(name) for name in names]
    extra = [name for name in names if name not in rows]
    if extra:
        raise UnknownNameError(
            f"{len(extra)} names of the labels are not in the graph ({some_names(extra)}); use the graph's own names, "
            "or give a plain list to go by row order."
        )
    found: list[Label | None] = [None] * graph.n_nodes
    seen: set[int] = set()
    for name, value in zip(names, values, strict=True):
        row = rows[name]
        if row in seen:
            raise DuplicateNameError(f"The labels have the node {shown(name)} twice; give every node one label.")
        seen.add(row)
        found[row] = value
    return found


def _coded(values: Sequence[Label | None], order: Sequence[Any] | None) -> Labels:
    """Numbers for the classes, in the order of a Categorical, of whole numbers, or of text."""
    present = {(type(value) is bool, value): value for value in values if value is not None}
    if not present:
        raise SignalValueError("No node has a label; give some nodes one.")
    keys = sorted(present, key=_rank)
    if order is not None:
        place = {_key(value): number for number, value in enumerate(order)}
        keys.sort(key=lambda key: place.get(key, len(place)))
    code = {key: number for number, key in enumerate(keys)}
    codes = [-1 if value is None else code[_key(value)] for value in values]
    return Labels(np.array(codes, dtype=np.int64), tuple(present[key] for key in keys))


def _key(value: Any) -> tuple[bool, Any]:
    """Python takes True and 1 as one key of a dictionary; as labels they are two."""
    value = value.item() if isinstance(value, np.generic) else value
    return type(value) is bool, value


def _rank(key: tuple[bool, Any]) -> tuple[Any, ...]:
    boolean, value = key
    return (0, boolean, value, "") if isinstance(value, int) else (1, False, 0, value)
