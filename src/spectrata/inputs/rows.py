"""Rows find their nodes: by names wherever an input has some, else in the graph's order.

Of a table a non-default index names the nodes, else the first column if its values are the nodes' names, whatever its
header says. A first column of text, or of distinct whole numbers, that does not name the nodes is an error.
"""

import os
from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import DuplicateNameError, NodeCountError, OptionError, UnknownNameError, shortened, shown, warn
from spectrata.inputs.numbers import whole_number
from spectrata.inputs.readers.raw import RawSignal, RawTable

if TYPE_CHECKING:
    from spectrata.inputs.graphs import Graph

_SHOWN = 5
# Heads of a column that can only name the nodes.
_NAME_HEADS = ("node", "nodes", "node_id", "node id", "id", "name", "vertex", "index", "")


def is_attribute(signal: Any, graph: "Graph") -> bool:
    """Whether a text is meant as the name of a node attribute: it is one, or does not look like a file."""
    if not isinstance(signal, str) or os.path.exists(signal) or not graph.attributes:
        return False
    return signal in graph.attributes or not (os.path.dirname(signal) or Path(signal).suffix)


# ---- names


def order_of(labels: Sequence[Hashable], graph: "Graph", what: str = "signal") -> np.ndarray:
    """Positions of the graph's nodes among the labels: equal names first, then equal text."""
    position = _positions(labels, what)
    found = _matched(position, graph.names)
    if found is None:
        # Files and node2vec know the node 12 as "12"; text decides only where no two names share it.
        by_text, texts = {str(label): i for label, i in position.items()}, [str(name) for name in graph.names]
        unique = len(by_text) == len(position) and len(set(texts)) == len(texts)
        found = _matched(by_text, texts) if unique else None
        if found is None:
            known = len(by_text.keys() & set(texts)) if unique else 0
            nearer = known > len(position.keys() & set(graph.names))
            if nearer:
                raise _unknown(list(by_text), texts, what)
            raise _unknown(list(position), graph.names, what)
    return found


def _matched(position: dict[Any, int], names: Sequence[Hashable]) -> np.ndarray | None:
    if len(position) != len(names) or any(name not in position for name in names):
        return None
    return np.array([position[name] for name in names], dtype=np.int64)


def _positions(labels: Sequence[Hashable], what: str) -> dict[Hashable, int]:
    position: dict[Hashable, int] = {}
    for i, label in enumerate(labels):
        if label in position:
            raise DuplicateNameError(
                f"The {what} has the node {shown(label)} twice, at rows {position[label]} and {i}; "
                "give every node one row."
            )
        position[label] = i
    return position


def _unknown(labels: Sequence[Hashable], names: Sequence[Hashable], what: str) -> UnknownNameError:
    have, want = set(labels), set(names)
    missing = [name for name in names if name not in have]
    extra = [label for label in labels if label not in want]
    parts = []
    if missing:
        nodes = "1 node of the graph is" if len(missing) == 1 else f"{len(missing)} nodes of the graph are"
        parts.append(f"{nodes} not in the {what} ({some_names(missing)})")
    if extra:
        words = f"1 name of the {what} is" if len(extra) == 1 else f"{len(extra)} names of the {what} are"
        parts.append(f"{words} not in the graph ({some_names(extra)})")
    advice = "use the graph's own names, or nodes='order' if the rows follow the graph's order"
    if extra and not missing:
        advice = f"leave them out of the {what}, or add them to the graph (in an edge list, a line with the name alone)"
    return UnknownNameError(f"{' and '.join(parts)}; {advice}.")


def some_names(names: Sequence[Hashable]) -> str:
    """The first few names, for a message."""
    some = ", ".join(shown(name) for name in names[:_SHOWN])
    return some + (", ..." if len(names) > _SHOWN else "")


def warn_of_order(signal: Any, graph: "Graph", what: str = "signal", table: bool = False) -> None:
    """Warn that rows follow the graph's order, where the user may expect another."""
    if not graph.named:
        return
    file = isinstance(signal, (str, os.PathLike))
    whole = all(whole_number(name) is not None for name in graph.names)
    ascending = whole and all(a < b for a, b in pairwise(graph.names))  # type: ignore[operator]
    if not (file or table) and (not whole or ascending):
        return
    plural = what.endswith("s") and not file
    held = f"The file {shortened(Path(signal).name)}" if file else f"The {what}"
    warn(
        f"{held} {'hold' if plural else 'holds'} no names, so {'their' if plural else 'its'} rows follow the order of "
        f"the graph's nodes ({some_names(graph.names[:3])}, ...); give a mapping, a Series or a table with names to "
        "match by name."
    )


# ---- tables


def place_table(table: RawTable, graph: "Graph", nodes: str | None, texts: bool) -> RawSignal:
    """Numbers of a table, and the names of its rows as far as it has some.

    Parameters
    ----------
    table : RawTable
    graph : Graph
    nodes : {None, "index", "column", "order"} or name of a column
        What names the nodes: None decides by the values.
    texts : bool
        Whether columns of text are allowed; otherwise the first one is refused.
    """
    refuse_repeated(table.labels if table.named else (), table.source)
    column = _name_column(table, graph, nodes)
    names: Sequence[Hashable] | None = None
    if column is not None:
        names = table.cells(column)
    elif nodes != "order":
        names = table.index
    if names is None and nodes is None and table.counted and graph.named:
        names = _counted(graph)
    kept = [place for place in range(len(table.labels)) if place != column]
    if nodes == "order" and len(kept) > 1 and table.numbers[0] is None and _distinct(table.cells(0)):
        kept = kept[1:]  # names that the caller asks to leave aside
    words = [place for place in kept if table.numbers[place] is None]
    if words and not texts:
        table.refuse(words[0])
    numeric = [table.numbers[place] for place in kept if table.numbers[place] is not None]
    values = np.stack(numeric, axis=1) if numeric else np.empty((len(table.cells(0)), 0))  # type: ignore[arg-type]
    labels = tuple(table.labels[place] for place in kept if place not in words)
    return RawSignal(
        values,
        None if names is None else tuple(names),
        columns=labels if table.named else None,
        texts=tuple((str(table.labels[place]), table.cells(place)) for place in words),
        own=True,
    )


def refuse_repeated(labels: Sequence[Hashable], source: str) -> None:
    """Refuse a name that two columns share."""
    if len(set(labels)) < len(labels):
        seen: set[Hashable] = set()
        twice = next(name for name in labels if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise DuplicateNameError(f"{source} has the column {shown(twice)} twice; rename one.")


def _name_column(table: RawTable, graph: "Graph", nodes: str | None) -> int | None:
    """The column whose values name the nodes, or None where no column does."""
    if nodes in ("index", "order"):
        if nodes == "index" and table.index is None:
            raise OptionError(f"nodes='index', but {table.source} has no index; use 'column' or 'order'.")
        return None
    if nodes is not None:
        return _column_called(table, nodes)
    if len(table.labels) < 2:
        return None
    cells = table.cells(0)
    matches = _names_nodes(cells, graph)
    if table.index is not None:
        if matches and not _names_nodes(table.index, graph):
            return 0
        if matches and list(map(str, cells)) != list(map(str, table.index)):
            raise OptionError(
                f"Both the index of {table.source} and its column {shown(table.labels[0])} name the graph's nodes, in "
                "different order; say which with nodes='index' or nodes='column'."
            )
        return 0 if matches else None
    if matches:
        return 0
    text = table.numbers[0] is None
    whole = text or all(_is_whole(cell) for cell in cells)
    headed = table.named and str(table.labels[0]).strip().lower() in _NAME_HEADS
    if whole and headed:
        return 0  # refused as names that do not fit
    if text or (whole and _distinct(cells)):
        head = f" ({shown(table.labels[0])})" if table.named else ""
        raise UnknownNameError(
            f"The first column of {table.source}{head} holds {some_names(cells)}, and the graph's nodes are "
            f"{some_names(graph.names)}: it does not name them; correct the names, say nodes='column' to see which "
            "differ, or nodes='order' if it is a column like the others and rows follow the graph's order."
        )
    return None


def _column_called(table: RawTable, nodes: str) -> int:
    if len(table.labels) < 2:
        raise OptionError(f"nodes={shown(nodes)} needs a column of names beside one of numbers in {table.source}.")
    if nodes == "column":
        return 0
    labels = [str(label) for label in table.labels]
    if nodes not in labels:
        raise OptionError(
            f"nodes={shown(nodes)} is not a column of {table.source} ({some_names(labels)}); give one of them, "
            "'column' for the first, 'index', or 'order'."
        )
    return labels.index(nodes)


def _names_nodes(cells: Sequence[Any], graph: "Graph") -> bool:
    """Whether values are the nodes' names, each once, as they are or as text."""
    if len(cells) != graph.n_nodes or not _distinct(cells) or any(isinstance(cell, float) for cell in cells):
        return False
    if set(cells) == set(graph.names):
        return True
    texts = {str(name) for name in graph.names}
    return len(texts) == graph.n_nodes and {str(cell) for cell in cells} == texts


def _counted(graph: "Graph") -> tuple[Hashable, ...] | None:
    """The rows' numbers as names, where the graph's nodes have the same numbers in another order."""
    rows = range(graph.n_nodes)
    if any(whole_number(name) is None for name in graph.names) or set(graph.names) != set(rows):
        return None
    warn(
        "The table's index counts its rows, and the graph's nodes are the same numbers in another order "
        f"({some_names(graph.names[:3])}, ...): rows are matched by number; nodes='order' takes them in the graph's "
        "order."
    )
    return tuple(rows)


def _is_whole(cell: Any) -> bool:
    if isinstance(cell, str):
        return cell.removeprefix("-").isdecimal() and cell.isascii()
    return whole_number(cell) is not None


def _distinct(cells: Sequence[Any]) -> bool:
    try:
        return len(set(cells)) == len(cells)
    except TypeError:
        return False


def leave_names(raw: RawSignal, nodes: str | None) -> RawSignal:
    """A signal that is no table, its names left aside where the caller says that rows follow the graph's order."""
    if nodes is None or (nodes == "index" and raw.names is not None):
        return raw
    if nodes != "order":
        raise OptionError(
            f"nodes={shown(nodes)} is for tables, whose first column or index may name the nodes; leave it out."
        )
    return replace(raw, names=None)


def arranged(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Values in the graph's order: (n,), (n, d) by the first axis, (T, n, d) by the second."""
    axis = 1 if values.ndim == 3 else 0
    if len(order) != values.shape[axis]:
        raise NodeCountError(f"There are {len(order)} names for values of shape {values.shape}; give every row one.")
    return np.take(values, order, axis=axis)
