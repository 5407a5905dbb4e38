"""Tables of text to graphs: lists of edges, and dense adjacency matrices.

A table is a list of edges when it has two columns, or three with a weight, or a header that begins with source and
target. A table of four columns or more is an adjacency matrix when it holds a square of numbers, with or without the
nodes' names above, beside, or both. Three columns that could be both are refused.
"""

import re
from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from spectrata.errors import shown
from spectrata.inputs.formats.files import csv_lines, number, numbered_lines, problem
from spectrata.inputs.formats.graph_arrays import from_dense
from spectrata.inputs.formats.raw import Asked, Columns, RawGraph

# A header is recognised by what its first two cells are called.
_HEADER = re.compile(
    r"(source|target|from|to|src|dst|tail|head|start|end|u|v|i|j)([ _-]?(id|node|name))?"
    r"|(node|vertex|id|name|person|item|user|gene|protein)[ _-]?([12ab]|from|to|id[12])",
    re.IGNORECASE,
)
_WEIGHT = re.compile(r"(edge[ _-]?)?(weights?|w|value)", re.IGNORECASE)

# One line of a table: its number, and its cells.
_Line = tuple[int, list[str]]


def read_edge_list(path: Path, asked: Asked) -> RawGraph:
    """Read columns separated by spaces or tabs."""
    lines = [(place, _cells(line)) for place, line in numbered_lines(path, comments="#%")]
    return _read(path, lines, asked, "separate the columns by spaces, or name a comma-separated file .csv")


def read_table(path: Path, asked: Asked) -> RawGraph:
    """Read columns separated by commas, semicolons or tabs."""
    lines = [(place, cells) for place, cells in csv_lines(path) if not cells[0].startswith("#")]
    return _read(path, lines, asked, "keep the columns source, target and perhaps weight")


def _read(path: Path, lines: list[_Line], asked: Asked, advice: str) -> RawGraph:
    square = None if asked.layout == "edges" else _square(lines)
    if asked.layout == "adjacency":
        if square is None:
            raise problem(
                path, "this is not a square of numbers, with or without names; for a list of edges use edges=."
            )
        return _from_square(path, *square)
    if square is not None and _is_matrix(path, lines, *square):
        return _from_square(path, *square)
    return _from_lines(path, lines, advice)


# networkx writes the attributes of an edge as a third column: {} or {'weight': 2.0}.
_ATTRIBUTES = re.compile(r"([^ \t]+)[ \t]+([^ \t]+)[ \t]+(\{.*\})")
_ATTRIBUTE = re.compile(r"""(['"])(?P<key>[^'"\\]+)\1: (?P<value>[^ ,}]+)(?=[,}])""")


def _cells(line: str) -> list[str]:
    if "{" in line:
        match = _ATTRIBUTES.fullmatch(line)
        if match is not None:
            return list(match.groups())
    if "#" in line:
        line = line.partition(" #")[0]
    # Rarer spaces, such as the one that does not break, belong to a name.
    return line.split() if line.isascii() else re.split(r"[ \t]+", line.strip(" \t"))


# ---- lists of edges


def _from_lines(path: Path, lines: list[_Line], advice: str) -> RawGraph:
    header: list[str] = []
    if lines and any(lines[0][1][1:]) and _is_header(edges := [line for line in lines if any(line[1][1:])]):
        header, lines = edges[0][1], lines[1:]
    alone = [(place, "".join(cells[:1])) for place, cells in lines if not any(cells[1:])]
    lines = [line for line in lines if any(line[1][1:])]
    if not lines and not alone:
        raise problem(path, "the file lists no edge.")
    joined = {cell for _, cells in lines for cell in cells[:2]}
    wrong = [(place, 1) for place, name in alone if not name or name in joined or not lines]
    for place, cells in lines:
        if len(cells) not in (2, 3, len(header)) or not (cells[0] and cells[1]):
            wrong.append((place, sum(map(bool, cells))))
    if wrong:
        place, count = min(wrong)
        words = f"an edge has two columns, or three with a weight, here {count}; {advice}"
        raise problem(path, f"{words}. A name alone is a node without an edge.", place)
    labels = [cell for _, cells in lines for cell in cells[:2]]
    names, rows = _numbered([*labels, *(name for _, name in alone)])
    columns, weight = _columns(path, lines, header)
    ends = rows[: len(labels)].reshape(-1, 2)
    return RawGraph(ends, len(names), names, open_ended=True, columns=columns, weight=weight)


def _is_header(lines: list[_Line]) -> bool:
    first = lines[0][1][:2]
    if len(first) < 2 or any(_integer(cell) for cell in first):
        return False
    body = {cell for _, cells in lines[1:] for cell in cells[:2]}
    if all(_HEADER.fullmatch(cell) for cell in first):
        # A node may be called u; then it is likely to have other edges.
        return not body & set(first)
    return bool(body) and all(_integer(cell) for cell in body)


def _columns(path: Path, lines: list[_Line], header: list[str]) -> tuple[Columns, str | None]:
    """The columns after the two ends, and the one that holds the weights."""
    names = [name or f"column {place}" for place, name in enumerate(header[2:], start=3)]
    if len(header) < 3:
        if all(len(cells) < 3 for _, cells in lines):
            return Columns(), None
        if any(cells[2].startswith("{") and cells[2].endswith("}") for _, cells in lines if len(cells) > 2):
            return Columns.of([_attributes(path, line) for line in lines]), "weight"
        names = ["weight"]

    def read(name: str) -> list[Any]:
        place = 2 + names.index(name)
        return [_value(cells[place]) if len(cells) > place else None for _, cells in lines]

    usual = [name for name in names if _WEIGHT.fullmatch(name)]
    if usual:
        _check_weights(path, lines, 2 + names.index(usual[0]))
    elif len(names) == 1 and not any(isinstance(value, str) for value in read(names[0])):
        usual = names
    return Columns(lambda: names, read), usual[0] if usual else None


def _attributes(path: Path, line: _Line) -> dict[str, Any]:
    """The attributes that networkx writes after an edge; what is not a number or a word is left out."""
    if len(line[1]) < 3:
        return {}
    text = line[1][2]
    if not (text.startswith("{") and text.endswith("}")):
        _check_weights(path, [line], 2)
        return {"weight": _value(text)}
    return {match["key"]: _value(match["value"].strip("'\"")) for match in _ATTRIBUTE.finditer(text)}


def _check_weights(path: Path, lines: list[_Line], place: int) -> None:
    for line, cells in lines:
        if len(cells) > place and isinstance(_value(cells[place]), str):
            what = "drop the third column" if place == 2 else "correct or rename that column"
            raise problem(path, f"the weight {shown(cells[place])} is not a number; {what}.", line)


def _value(cell: str) -> float | str | None:
    try:
        return number(cell) if cell else None
    except ValueError:
        return cell


def _integer(cell: str) -> bool:
    # 007 and 7 are two names, so only the plain form counts as a number; int64 holds 18 digits.
    digits = cell.removeprefix("-")
    plain = digits.isascii() and digits.isdecimal() and len(digits) <= 18
    return plain and (digits[0] != "0" or cell == "0")


def _numbered(labels: list[str]) -> tuple[tuple[Hashable, ...], np.ndarray]:
    """Names and rows: whole numbers in numerical order, text in order of appearance."""
    order = list(dict.fromkeys(labels))
    names: tuple[Hashable, ...] = tuple(order)
    if all(map(_integer, order)):
        order.sort(key=int)
        names = tuple(map(int, order))
    row = {label: i for i, label in enumerate(order)}
    return names, np.fromiter(map(row.__getitem__, labels), dtype=np.int64, count=len(labels))


# ---- adjacency matrices


def _square(lines: list[_Line]) -> tuple[list[str] | None, np.ndarray] | None:
    """Names and numbers of a table that is square but for names above, beside, or both; None otherwise."""
    if not lines:
        return None
    table = [cells for _, cells in lines]
    if len(table) > 1 and len(table[0]) == len(table[1]) - 1 == len(table) - 1:
        table = [["", *table[0]], *table[1:]]  # R leaves the corner out
    rows, width = len(table), len(table[0])
    if abs(rows - width) > 1 or any(len(cells) != width for cells in table):
        return None
    names, body = None, table
    if rows == width and not _is_number(table[0][0]):
        names, body = table[0][1:], [cells[1:] for cells in table[1:]]
        if names != [cells[0] for cells in table[1:]]:
            return None
    elif rows != width:
        above = rows > width
        names = table[0] if above else [cells[0] for cells in table]
        body = table[1:] if above else [cells[1:] for cells in table]
        if any(map(_is_number, names)) and not _is_numbering(names):
            return None
    try:
        numbers = np.array([[number(cell) for cell in cells] for cells in body])
    except ValueError:
        return None
    return (names, numbers) if len(numbers) > 1 else None


def _is_numbering(names: list[str]) -> bool:
    """Whether numbers on one side of a square are names: different whole numbers, and enough of them."""
    return len(set(names)) == len(names) > 2 and all(map(_integer, names))


def _is_number(cell: str) -> bool:
    return isinstance(_value(cell), float)


def _is_matrix(path: Path, lines: list[_Line], names: list[str] | None, numbers: np.ndarray) -> bool:
    """Whether a square is a matrix rather than a list of edges; refuse it where both are likely."""
    width = len(lines[-1][1])
    if not lines[0][1][0] or len(lines[0][1]) < width or len(lines) == width == len(numbers) + 1:
        return True  # names above and beside that agree
    edges = all(_HEADER.fullmatch(cell) for cell in lines[0][1][:2])
    if width < 3 or (width == 3 and (edges or (names and all(map(_is_number, names))))):
        return False
    if not edges and width > 3:
        return True
    if not np.array_equal(numbers, numbers.T):
        return False
    raise problem(
        path,
        f"this could be an adjacency matrix of {len(numbers)} nodes or a list of edges; say which with adjacency= or "
        "edges=.",
    )


def _from_square(path: Path, names: Sequence[str] | None, numbers: np.ndarray) -> RawGraph:
    raw = from_dense(numbers)
    if names is None:
        return raw
    if "" in names:
        raise problem(path, f"node {list(names).index('') + 1} has no name; give every node one.")
    whole = all(map(_integer, names))
    return replace(raw, names=tuple(map(int, names)) if whole else tuple(names))
