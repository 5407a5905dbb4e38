"""Rows find their nodes: by names wherever an input has some, else in the graph's order.

Of a table a non-default index names the nodes, else the first column if its values are the nodes' names, whatever its
header says. A first column of text, or of distinct whole numbers, that does not name the nodes is an error.
"""

import os
import re
from collections.abc import Hashable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from spectrata.errors import (
    DuplicateNameError,
    FileFormatError,
    OptionError,
    SignalTypeError,
    UnknownNameError,
    argument,
    shortened,
    shown,
    warn,
)
from spectrata.inputs.numbers import whole_number
from spectrata.inputs.readers.files import listed
from spectrata.inputs.readers.raw import RawSignal, RawTable, refuse_repeated
from spectrata.inputs.readers.signal_objects import NAME_HEADS, from_pandas, refused_column

if TYPE_CHECKING:
    from spectrata.inputs.device import DeviceGraph
    from spectrata.inputs.graphs import Graph

Nodes: TypeAlias = "Graph | DeviceGraph"

MOST_EXTRA = 50  # unknown names that are compared with all others, which takes time
# Numbers that pandas leaves as text: with a decimal comma, with a percent sign, or read as text.
_AS_TEXT = re.compile(r"[-+]?([0-9]*|[0-9]{1,3}(\.[0-9]{3})+)([.,][0-9]+|[0-9] ?%|[.,][0-9]+ ?%)")


def is_attribute(signal: Any, graph: Nodes) -> bool:
    """Whether a text is meant as the name of a node attribute: it is one, or does not look like a file."""
    if not isinstance(signal, str) or os.path.exists(signal) or not graph.attributes:
        return False
    return signal in graph.attributes or not (os.path.dirname(signal) or Path(signal).suffix)


def refuse_absent(name: Any, graph: Nodes) -> None:
    """Refuse a word that is no file, where it could name an attribute and the graph's nodes have none."""
    if isinstance(name, str) and not (graph.attributes or os.path.exists(name) or Path(name).suffix):
        words = f"{shortened(name)}: there is no such file, and the graph's nodes have no attributes"
        raise FileFormatError(f"{words}; check the name, or give the values themselves.")


# ---- names


def order_of(
    labels: Sequence[Hashable],
    graph: Nodes,
    what: str = "signal",
    partial: bool = False,
    lines: Sequence[int] | None = None,
    gaps: bool = False,
) -> np.ndarray:
    """Positions of the graph's nodes among the labels, by equal names, else by equal text.

    Nodes that have no label are refused; with ``partial`` their position is -1. Labels that are no node are refused;
    with ``partial`` or ``gaps``, where all nodes have one, they are left out with a warning. ``lines`` are the labels'
    lines in their file, for messages.
    """
    position: dict[Any, int] = {}
    for row, label in enumerate(labels):
        if position.setdefault(label, row) != row:
            first, second = (at if lines is None else lines[at] for at in (position[label], row))
            twice = f"the node {shown(label)} twice, at {'rows' if lines is None else 'lines'} {first} and {second}"
            raise DuplicateNameError(f"There is {twice} of the {what}; give every node one row.")
    names: Sequence[Any] = graph.names
    known = len(position.keys() & set(names))
    if known < max(len(position), 0 if partial else len(names)):
        # Files and node2vec know the node 12 as "12"; text decides only where no two names share it.
        by_text, texts = {str(label): row for label, row in position.items()}, [str(name) for name in names]
        unique = len(by_text) == len(position) and len(set(texts)) == len(texts)
        if unique and len(by_text.keys() & set(texts)) > known:
            position, names = by_text, texts
    wanted = set(names)
    extra = [label for label in position if label not in wanted]
    missing = [name for name in names if name not in position]
    if (partial or gaps) and extra and not missing:
        one = "1 row names" if len(extra) == 1 else f"{len(extra)} rows name"
        warn(f"{one} no node of the graph ({listed(extra, shown)}) and {'is' if len(extra) == 1 else 'are'} left out.")
    elif extra or (missing and not partial):
        named = 2 * len(extra) <= len(position)  # rows that follow the graph's order would not have the nodes' names
        raise _unknown(missing, extra, what, partial or gaps, named)
    return np.array([position.get(name, -1) for name in names], dtype=np.int64)


def _unknown(missing: list[Hashable], extra: list[Hashable], what: str, gaps: bool, named: bool) -> UnknownNameError:
    parts = []
    if missing:
        nodes = "1 node of the graph is" if len(missing) == 1 else f"{len(missing)} nodes of the graph are"
        parts.append(f"{nodes} not in the {what} ({listed(missing, shown)})")
    if extra:
        words = f"1 name of the {what} is" if len(extra) == 1 else f"{len(extra)} names of the {what} are"
        parts.append(f"{words} not in the graph ({listed(extra, shown)})")
    rest = "give every node a row, empty where it has no value"
    if not gaps:
        rest = "leave nodes without a value out of the graph"
    advice = f"use the graph's own names, and {'leave out rows that are no node' if what == 'labels' else rest}"
    by_form = {str(name).casefold(): name for name in missing}
    alike = [(label, get_close_matches(str(label).casefold(), by_form, 1)) for label in extra[:MOST_EXTRA]]
    close = [f"{shown(label)} may be {shown(by_form[found[0]])}" for label, found in alike if found]
    numbers = any(all(str(name).isdigit() for name in names) for names in (missing, extra))  # which name nothing
    if not missing:
        advice = f"leave them out of the {what}, or add them to the graph (in an edge list, a line with the name alone)"
    elif zeros := _leading_zeros(extra, missing):
        advice = f"{zeros}; use the graph's own names"
    elif close and not numbers:
        advice += f" ({', '.join(close[:3])})"
    elif what == "labels" and (numbers or not named):
        advice = "use the graph's own names, or give a plain list to go by row order"
    elif len(missing) == len(extra) and (numbers or not named):
        advice = f"use the graph's own names, or {argument('nodes', 'order')} if the rows follow the graph's order"
    return UnknownNameError(f"{' and '.join(parts)}; {advice}.")


def _leading_zeros(labels: Sequence[Any], names: Sequence[Any]) -> str:
    """That leading zeros differ, where names are equal without them: 7 and 007."""
    bare = {str(name).lstrip("0"): name for name in names if str(name).isdigit()}
    found = next((one for one in labels if str(one).isdigit() and str(one).lstrip("0") in bare), None)
    return "" if found is None else f"leading zeros differ ({shown(found)} and {shown(bare[str(found).lstrip('0')])})"


def warn_of_order(signal: Any, graph: Nodes, what: str = "signal") -> None:
    """Warn that rows follow the graph's order, where the user may expect another."""
    if not graph.named:
        return
    file = isinstance(signal, (str, os.PathLike))
    numbers = _whole_names(graph)
    ascending = numbers == sorted(numbers)
    if not (file or what == "table") and ascending:
        return
    held = f"The file {shown(Path(signal).name)} holds" if file else f"The {what} holds"
    some = f"{listed(graph.names[:3], shown)}, ..."
    if not ascending:  # the first names may look as if they were in order
        row = next(row for row, number in enumerate(sorted(numbers)) if number != numbers[row])
        some = f"row {row}, counted from 0, is node {shown(graph.names[row])}"
    order = f"rows follow the order of the graph's nodes ({some})"
    warn(f"{held} no names, so its {order}; give a mapping, a Series or a table with names to match by name.")


def _whole_names(graph: Nodes) -> list[int]:
    """The nodes' names where all are whole numbers, else none."""
    numbers = [number for name in graph.names if (number := whole_number(name)) is not None]
    return numbers if len(numbers) == graph.n_nodes else []


# ---- tables


def place_table(table: RawTable, graph: Nodes, nodes: str | None, texts: bool) -> RawSignal:
    """Numbers of a table, and the names of its rows as far as it has some; ``nodes`` as for ``as_signal``."""
    column, names = _find_names(table, graph, nodes)
    kept = [place for place in range(len(table.labels)) if place != column]
    if nodes == "order" and len(kept) > 1 and table.numbers[0] is None and _distinct(table.cells(0)):
        kept = kept[1:]  # names that the caller asks to leave aside
    # What the last comma of every line leaves.
    empty = [numbers is not None and np.isnan(numbers).all() for numbers in table.numbers]
    kept = [place for place in kept if str(table.labels[place]) or not empty[place]]
    words = [place for place in kept if table.numbers[place] is None]
    for place in words:  # numbers in another form would each be a label
        forms = [cell for cell in table.cells(place) if isinstance(cell, str) and _AS_TEXT.fullmatch(cell.strip())]
        if 2 * len(forms) > len(table.frame):
            form = f"Column {shown(table.labels[place])} of {table.source} holds numbers as text ({shown(forms[0])})"
            raise SignalTypeError(f"{form}; write them with a decimal point, or use st.homophily for labels.")
    if words and not texts:
        raise refused_column(table.labels[words[0]], table.source)
    numeric = [found for place in kept if (found := table.numbers[place]) is not None]
    return RawSignal(
        np.stack(numeric, axis=1) if numeric else np.empty((len(table.frame), 0)),
        None if names is None else tuple(names),
        columns=tuple(table.labels[place] for place in kept if place not in words) if table.named else None,
        texts=tuple((str(table.labels[place]), table.cells(place)) for place in words),
        own=True,
        lines=table.lines,
    )


def by_node(frame: Any, graph: Nodes) -> Any:
    """A table of labels or of covariates with the names of its rows as its index, by the rule for signals."""
    import pandas as pd

    column, names = _find_names(from_pandas(frame, of_labels=True), graph, None)
    frame = frame if column is None else frame.drop(columns=frame.columns[column])
    if names is None and len(frame) == graph.n_nodes:
        warn_of_order(frame, graph, "table")
        names = graph.names
    return frame if names is None else frame.set_axis(pd.Index(list(names), tupleize_cols=False))


def _find_names(table: RawTable, graph: Nodes, nodes: str | None) -> tuple[int | None, Sequence[Hashable] | None]:
    """The column that names the nodes, and the names of the rows, None where there are none."""
    refuse_repeated(table.labels if table.named else (), table.source)
    column = _name_column(table, graph, nodes)
    names: Sequence[Hashable] | None = None if nodes == "order" else table.index
    if column is not None:
        names = table.cells(column)
    elif names is None and nodes is None and table.counted and graph.named:
        names = _counted(graph)
    if nodes is None and len(table.labels) > table.of_labels:
        _refuse_other_names(table, graph, column, graph.names if names is None else names)
    return column, names


def _name_column(table: RawTable, graph: Nodes, nodes: str | None) -> int | None:
    """The column whose values name the nodes, or None where no column does."""
    labels, source = [str(label) for label in table.labels], table.source
    if nodes == "index" and table.index is None:
        raise OptionError(f"{argument('nodes', nodes)}, but {source} has no index; use 'column' or 'order'.")
    if nodes in ("index", "order") or (nodes is None and len(labels) < 2):
        return None
    if nodes is not None:
        if nodes != "column" and nodes not in labels:
            words = f"{argument('nodes', nodes)} is not a column of {source} ({listed(labels, shown)})"
            raise OptionError(f"{words}; give one of them, 'column' for the first, 'index', or 'order'.")
        if len(labels) < 2:
            raise OptionError(f"{argument('nodes', nodes)} leaves no column of numbers in {source}; leave it out.")
        return 0 if nodes == "column" else labels.index(nodes)
    cells = table.cells(0)
    matches = _names_nodes(cells, graph)
    if table.index is not None and matches and _names_nodes(table.index, graph):
        matches = list(map(str, cells)) == list(map(str, table.index))  # else ``_refuse_other_names`` refuses
    if matches or table.index is not None:
        return 0 if matches else None
    text = table.numbers[0] is None
    plain = [str(cell).removesuffix(".0") for cell in cells]  # ids that pandas once held beside a gap are 3.0
    whole = text or all(re.fullmatch("-?[0-9]+", cell) for cell in plain)
    if whole and table.named and labels[0].strip().lower() in NAME_HEADS:
        return 0  # refused as names that do not fit
    own = [str(name) for name in graph.names]
    known, different = set(own), set(plain)
    # Ids with a mistake: names of nodes, few of them twice, and not in the graph's own order.
    nearly = plain != own and 10 * len(different) >= 9 * len(plain) and different <= known
    distinct = _distinct(cells) and plain == [str(cell) for cell in cells]
    named = text and (not table.of_labels or 10 * len(different) >= 9 * len(cells))  # classes of labels repeat
    if not (whole and (distinct or nearly or named)):
        return None
    if _mostly_nodes(cells, graph):
        return 0  # names with mistakes, which ``order_of`` lists
    choice = f" ({argument('nodes', 'column')} says which), or say {argument('nodes', 'order')}"
    choice += " if rows follow the graph's order"
    choice = ", or make the nodes' names the index" if table.of_labels else choice
    head = f" ({shown(table.labels[0])})" if table.named else ""
    zeros = _leading_zeros([cell for cell in cells if str(cell) not in known], graph.names)
    raise UnknownNameError(
        f"The first column of {source}{head} holds {listed(cells, shown)}, and the graph's nodes are "
        f"{listed(graph.names, shown)}{': ' * bool(zeros)}{zeros}; correct the names{choice}."
    )


def _refuse_other_names(table: RawTable, graph: Nodes, column: int | None, used: Sequence[Hashable]) -> None:
    """Refuse a further column that names all nodes in another order than the names that would be used."""
    if len(table.frame) != graph.n_nodes:
        return
    kept = "column" if column is not None else "order" if table.index is None else "index"
    unnamed = kept == "order" and len(table.labels) > 1
    whole = _whole_names(graph)
    ends = (min(whole), max(whole)) if whole else None
    for place, numbers in enumerate(table.numbers):
        if place == column or (numbers is not None and ends != (numbers.min(), numbers.max())):
            continue
        cells = table.cells(place)
        nearly = numbers is None and unnamed and _distinct(cells) and _mostly_nodes(cells, graph)
        if (nearly or _names_nodes(cells, graph)) and list(map(str, cells)) != list(map(str, used)):
            label = table.labels[place]
            words = f"Column {shown(label)} of {table.source} holds the nodes' names in another order than the rows"
            choice = f"{argument('nodes', str(label))} if it names them, or {argument('nodes', kept)} if it is a signal"
            raise OptionError(f"{words}; {'make them the index' if table.of_labels else f'say {choice}'}.")


def _mostly_nodes(cells: Sequence[Any], graph: Nodes) -> bool:
    known = set(map(str, graph.names))
    return 2 * sum(str(cell) in known for cell in cells) >= len(cells)


def _names_nodes(cells: Sequence[Any], graph: Nodes) -> bool:
    """Whether values are the nodes' names, each once, as they are or as text."""
    if len(cells) != graph.n_nodes or not _distinct(cells):
        return False
    if any(isinstance(cell, float) for cell in cells) and not any(isinstance(name, float) for name in graph.names):
        return False
    texts = {str(name) for name in graph.names}
    by_text = len(texts) == graph.n_nodes and {str(cell) for cell in cells} == texts
    return by_text or set(cells) == set(graph.names)


def _counted(graph: Nodes) -> tuple[Hashable, ...] | None:
    """The rows' numbers as names, where the graph's nodes have the same numbers in another order."""
    rows = range(graph.n_nodes)
    if set(_whole_names(graph)) != set(rows):
        return None
    words = f"The graph's nodes are the table's row numbers in another order ({listed(graph.names[:3], shown)}, ...)"
    warn(f"{words}: rows are matched by number; {argument('nodes', 'order')} or an array goes by the graph's order.")
    return tuple(rows)


def _distinct(cells: Sequence[Any]) -> bool:
    try:
        return len(set(cells)) == len(cells)
    except TypeError:
        return False
