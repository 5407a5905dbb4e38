"""Tables of text to graphs: lists of edges, and dense adjacency matrices.

A table is a list of edges when it has two columns, or three with a weight, or a header that begins with source and
target. A table of four columns or more is an adjacency matrix when it holds a square of numbers, with or without the
nodes' names above, beside, or both. Three columns that could be both are refused.
"""

import io
import re
from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from spectrata.errors import FileFormatError, shortened, shown
from spectrata.inputs.readers.arrays import from_dense
from spectrata.inputs.readers.files import number, problem, read_utf8
from spectrata.inputs.readers.objects import from_networkx
from spectrata.inputs.readers.raw import Asked, Columns, RawGraph
from spectrata.inputs.readers.tables import SPACES, TextTable, is_number, parse, separator_of

# A header is recognised by what its first two cells are called.
_HEADER = re.compile(
    r"(source|target|from|to|src|dst|tail|head|start|end|u|v|i|j)([ _-]?(id|node|name))?"
    r"|(node|vertex|id|name|person|item|user|gene|protein|cell|region)[ _-]?([12ab]|from|to|id[12])",
    re.IGNORECASE,
)
_WEIGHT = re.compile(r"(edge[ _-]?)?(weights?|w|value)", re.IGNORECASE)
_WHOLE = r"-?(?:0|[1-9][0-9]{0,17})"
_LARGE = 2**22  # bytes
_CHUNK = 2**18  # lines parsed at a time
_POWERS = 10 ** np.arange(1, 19)


def read_edge_list(path: Path, asked: Asked) -> RawGraph:
    """Read columns separated by spaces or tabs."""
    data = _without_comments(read_utf8(path))
    if b"{" in data and re.search(rb"[ \t]\{[^\n]*\}\s*(?:\n|\Z)", data):
        return _with_attributes(path, data)
    found = None if asked.layout == "adjacency" else _whole_pairs(data, SPACES)
    if found is not None:
        return found
    advice = "separate the columns by spaces, or name a comma-separated file .csv"
    return _read(_parsed(path, data, SPACES), asked, advice)


def read_table(path: Path, asked: Asked) -> RawGraph:
    """Read columns separated by commas, semicolons or tabs."""
    data = read_utf8(path)
    separator = separator_of(path, data)
    found = None if asked.layout == "adjacency" else _whole_pairs(data, separator)
    if found is not None:
        return found
    table = _parsed(path, data, separator)
    plain = ~table.cells[0].str.startswith("#")
    if not plain.all():
        table = replace(table, cells=table.cells[plain])
    return _read(table, asked, "keep the columns source, target and perhaps weight")


def _parsed(path: Path, data: bytes, separator: str) -> TextTable:
    """The cells of a table; a large one mostly has the columns of its first line, and reading more takes longer."""
    if len(data) > _LARGE:
        try:
            return parse(path, data, separator, 2)
        except FileFormatError:  # a longer line: refused below, or one with a weight
            pass
    return parse(path, data, separator, _least_width(data))


def _least_width(data: bytes) -> int:
    """Three columns for an edge and its weight; one more than the first line, where R leaves the corner out."""
    first = data.lstrip().partition(b"\n")[0]
    return max(4, 1 + max(len(first.split()), 1 + max(first.count(mark) for mark in (b",", b";", b"\t"))))


def _without_comments(data: bytes) -> bytes:
    """Comments made blank, lines kept."""
    if b"#" not in data and b"%" not in data:
        return data
    data = re.sub(rb"(?m)^[ \t]*[#%][^\r\n]*", b"", data)
    return re.sub(rb"[ \t]#[^\r\n]*", b"", data) if b"#" in data else data


def _with_attributes(path: Path, data: bytes) -> RawGraph:
    """Edges with their attributes as networkx writes them: a third column such as {} or {'weight': 2.0}."""
    import networkx as nx

    try:
        graph = nx.parse_edgelist(data.decode().split("\n"), nodetype=str, create_using=nx.MultiGraph)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise problem(path, f"networkx cannot read the edges' attributes ({shortened(str(error))}).") from None
    raw = from_networkx(graph)
    names, rows = _numbered([str(name) for name in raw.names or ()], raw.edges.ravel())
    columns = Columns.of([record for _, _, record in graph.edges(data=True)])
    return replace(raw, edges=rows.reshape(-1, 2), names=names, form="list", open_ended=True, columns=columns)


# ---- pairs of whole numbers, which are most large files


def _whole_pairs(data: bytes, separator: str) -> RawGraph | None:
    """The edges of lines of two whole numbers in plain form; None for any other text."""
    import pandas as pd

    marks = b" \t\r\n" if separator == SPACES else b"\r\n" + separator.encode()
    digits = data.translate(None, marks)
    n_digits = len(digits)
    if not n_digits or digits.translate(None, b"0123456789"):
        return None
    del digits
    edges = np.empty((data.count(b"\n") + 1, 2), dtype=np.int64)
    count = length = 0
    try:
        given = {"sep": separator, "header": None, "dtype": np.int64, "chunksize": _CHUNK}
        with pd.read_csv(io.BytesIO(data), **given) as chunks:
            for chunk in chunks:
                part = chunk.to_numpy()
                if part.shape[1] != 2:
                    return None
                edges[count : count + len(part)] = part
                count += len(part)
                length += part.size + int(np.searchsorted(_POWERS, part, side="right").sum())
    except (ValueError, IndexError, OverflowError):  # rows of other lengths, numbers beyond 64 bits
        return None
    # Fewer digits than were read: some stood before the number, and 007 is not 7.
    if length != n_digits or count < 2:
        return None
    names, rows = _numbered_rows(edges[:count])
    return RawGraph(rows, len(names), tuple(names.tolist()), open_ended=True)


def _numbered_rows(ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct whole numbers in order, and the row of each end among them; ``ends`` is overwritten."""
    least, most = int(ends.min()), int(ends.max())
    if most - least > 16 * ends.size + 1000:  # too sparse for a table of all numbers in between
        names, rows = np.unique(ends, return_inverse=True)
        return names, rows.reshape(ends.shape)
    ends -= least
    present = np.zeros(most - least + 1, dtype=bool)
    present[ends[:, 0]] = present[ends[:, 1]] = True
    names = np.flatnonzero(present)
    if len(names) < len(present):
        rank = np.cumsum(present) - 1
        for column in range(2):
            ends[:, column] = rank[ends[:, column]]
    return names + least, ends


# ---- lists of edges


def _read(table: TextTable, asked: Asked, advice: str) -> RawGraph:
    rows, width = table.cells.shape
    near = asked.layout != "edges" and rows <= width + 1
    square = _square(table.rows()) if near else None
    if asked.layout == "adjacency":
        if square is None:
            words = "this is not a square of numbers, with or without names; for a list of edges use edges=."
            raise problem(table.path, words)
        return _from_square(table.path, *square)
    if square is not None and _is_matrix(table.path, table.rows(), *square):
        return _from_square(table.path, *square)
    return _from_lines(table, advice)


def _from_lines(table: TextTable, advice: str) -> RawGraph:
    import pandas as pd

    cells, header = table.cells, []
    if not len(cells):
        raise problem(table.path, "the file lists no edge.")
    joined = (cells[0] != "") & (cells[1] != "")
    if joined.iloc[0]:
        header = _header(table, cells[joined])
    if header:
        table = replace(table, cells=cells[1:])
        cells, joined = table.cells, joined[1:]
    if not len(cells):
        raise problem(table.path, "the file lists no edge.")
    alone = cells[0][~joined]
    ends = cells[joined]
    codes, texts = pd.factorize(pd.concat([ends[0], ends[1], alone], ignore_index=True))
    n_ends = 2 * len(ends)
    codes = np.concatenate([codes[:n_ends].reshape(2, -1).T.ravel(), codes[n_ends:]])  # edge by edge
    codes, order = pd.factorize(codes)
    _check_lines(table, joined.to_numpy(), codes, len(header), advice)
    columns, weight = _columns(table, ends, header)
    names, codes = _numbered(texts[order].tolist(), codes)
    rows = codes[:n_ends].reshape(-1, 2)
    return RawGraph(rows, len(names), names, open_ended=True, columns=columns, weight=weight)


def _check_lines(table: TextTable, joined: np.ndarray, codes: np.ndarray, n_header: int, advice: str) -> None:
    """Refuse lines that are neither an edge, with a weight perhaps, nor the name of an isolated node."""
    cells = table.cells
    filled = (cells != "").sum(axis=1).to_numpy()
    wrong = joined & (filled > max(3, n_header))
    n_edges = int(joined.sum())
    lone, degree = codes[2 * n_edges :], np.bincount(codes[: 2 * n_edges], minlength=codes.max() + 1)
    wrong[~joined] = (filled[~joined] > 1) | (cells[0][~joined] == "").to_numpy() | (degree[lone] > 0) | (n_edges == 0)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        words = f"an edge has two columns, or three with a weight, here {filled[row]}; {advice}"
        raise table.problem(f"{words}. A line with a single name adds an isolated node.", row)


def _header(table: TextTable, lines: Any) -> list[str]:
    """The first line where it names the columns, else nothing; refuse it where it could be both."""
    first = [str(cell) for cell in lines.iloc[0]]
    while first and not first[-1]:
        first.pop()
    if any(_is_whole(cell) for cell in first[:2]):
        return []
    body = lines.iloc[1:]
    again = any(bool((body[column] == cell).any()) for column in (0, 1) for cell in first[:2])
    if again or not len(body):
        words = all(_HEADER.fullmatch(cell) for cell in first[:2])
        return first if words and not again else []
    if all(_HEADER.fullmatch(cell) for cell in first[:2]):
        return first
    if len(first) > 2 and not is_number(first[2]) and all(is_number(cell) for cell in body[2] if cell):
        return first
    if all(_is_whole(body[column].iloc[0]) and body[column].str.fullmatch(_WHOLE).all() for column in (0, 1)):
        raise table.problem(
            f"the line {shown(' '.join(first))} could be a header or an edge, since all other names are whole numbers; "
            "call the columns source and target, or remove the line.",
            0,
        )
    return []


def _columns(table: TextTable, lines: Any, header: list[str]) -> tuple[Columns, str | None]:
    """The columns after the two ends, and the one that holds the weights."""
    names = [name or f"column {place}" for place, name in enumerate(header[2:], start=3)]
    if len(header) < 3:
        if 2 not in lines or not (lines[2] != "").any():
            return Columns(), None
        names = ["weight"]

    def read(name: str) -> Any:
        return _values(lines[2 + names.index(name)].tolist())

    usual = [name for name in names if _WEIGHT.fullmatch(name)]
    if usual:
        place = 2 + names.index(usual[0])
        _check_weights(table, lines[place].tolist(), lines.index, place)
    elif len(names) == 1 and not any(isinstance(value, str) for value in read(names[0])):
        usual = names
    return Columns(lambda: names, read), usual[0] if usual else None


def _values(texts: list[str]) -> Any:
    """Numbers as an array where all cells are plain ones, else a list with None for empty cells."""
    try:
        return np.array([number(text) for text in texts])
    except ValueError:
        return [_value(text) for text in texts]


def _check_weights(table: TextTable, texts: list[str], index: Any, place: int) -> None:
    for row, text in zip(index, texts, strict=True):
        if text and not is_number(text):
            what = "drop the third column" if place == 2 else "correct or rename that column"
            at = table.cells.index.get_loc(row)
            raise table.problem(f"the weight {shown(text)} is not a number; {what}.", at)


def _value(cell: str) -> float | str | None:
    try:
        return number(cell) if cell else None
    except ValueError:
        return cell


def _is_whole(cell: str) -> bool:
    # 007 and 7 are two names, so only the plain form counts as a number; int64 holds 18 digits.
    digits = cell.removeprefix("-")
    plain = digits.isascii() and digits.isdecimal() and len(digits) <= 18
    return plain and (digits[0] != "0" or cell == "0")


def _numbered(names: list[str], codes: np.ndarray) -> tuple[tuple[Hashable, ...], np.ndarray]:
    """Names and rows: whole numbers in numerical order, text in order of appearance."""
    if not all(map(_is_whole, names)):
        return tuple(names), codes
    numbers = np.array([int(name) for name in names], dtype=np.int64)
    order = np.argsort(numbers)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return tuple(numbers[order].tolist()), rank[codes]


# ---- adjacency matrices


def _square(table: list[list[str]]) -> tuple[list[str] | None, np.ndarray] | None:
    """Names and numbers of a table that is square but for names above, beside, or both; None otherwise."""
    if not table:
        return None
    if len(table) > 1 and len(table[0]) == len(table[1]) - 1 == len(table) - 1:
        table = [["", *table[0]], *table[1:]]  # R leaves the corner out
    rows, width = len(table), len(table[0])
    if abs(rows - width) > 1 or any(len(cells) != width for cells in table):
        return None
    names, body = None, table
    if rows == width and not is_number(table[0][0]):
        names, body = table[0][1:], [cells[1:] for cells in table[1:]]
        if names != [cells[0] for cells in table[1:]]:
            return None
    elif rows != width:
        above = rows > width
        names = table[0] if above else [cells[0] for cells in table]
        body = table[1:] if above else [cells[1:] for cells in table]
        distinct = len(set(names)) == len(names) > 2 and all(map(_is_whole, names))
        if any(map(is_number, names)) and not distinct:
            return None
    try:
        numbers = np.array([[number(cell) for cell in cells] for cells in body])
    except ValueError:
        return None
    return (names, numbers) if len(numbers) > 1 else None


def _is_matrix(path: Path, lines: list[list[str]], names: list[str] | None, numbers: np.ndarray) -> bool:
    """Whether a square is a matrix rather than a list of edges; refuse it where both are likely."""
    width = len(lines[-1])
    if not lines[0][0] or len(lines[0]) < width or len(lines) == width == len(numbers) + 1:
        return True  # names above and beside that agree
    edges = all(_HEADER.fullmatch(cell) for cell in lines[0][:2])
    if width < 3 or (width == 3 and (edges or (names and all(map(is_number, names))))):
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
    whole = all(map(_is_whole, names))
    return replace(raw, names=tuple(map(int, names)) if whole else tuple(names))
