"""Tables of text to graphs: lists of edges, and dense adjacency matrices.

A table is a list of edges when it has two columns, or three with a weight, or a header that begins with source and
target. A table of four columns or more is an adjacency matrix when it holds a square of numbers, with or without the
nodes' names above, beside, or both. Three columns that could be both are refused.
"""

import io
import re
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from spectrata.errors import FileFormatError, shown, warn
from spectrata.inputs.readers import files
from spectrata.inputs.readers.arrays import from_dense
from spectrata.inputs.readers.objects import from_networkx
from spectrata.inputs.readers.raw import NO_COLUMNS, Asked, Columns, RawGraph, refuse_repeated

# A header is recognised by what its first two cells are called.
_HEADER = re.compile(
    r"(source|target|from|to|src|dst|tail|head|start|end|u|v|i|j)([ _-]?(id|node|name))?"
    r"|(node|vertex|id|name|person|item|user|gene|protein|cell|region)[ _-]?([12ab]|from|to|id[12])",
    re.IGNORECASE,
)
_WEIGHT = re.compile(r"(edge[ _-]?)?(weights?|w|value)", re.IGNORECASE)
_WHOLE = re.compile(r"-?[1-9][0-9]{0,17}|0")  # 007 and 7 are two names; int64 holds 18 digits
_LARGE = 2**22  # bytes from which on a table is first tried with the columns of its first line
_CHUNK = 2**18  # bytes that are looked at first


def _with_attributes(path: Path, data: bytes) -> RawGraph:
    """Edges with their attributes as networkx writes them: a third column such as {} or {'weight': 2.0}."""
    import networkx as nx

    with files.parsing(path, "networkx cannot read the edges' attributes ({})."):
        graph = nx.parse_edgelist(data.decode().split("\n"), comments=None, nodetype=str, create_using=nx.MultiGraph)
    raw = from_networkx(graph)
    names, rows = _numbered([str(name) for name in raw.names or ()], raw.edges.ravel())
    columns = Columns.of([record for _, _, record in graph.edges(data=True)])
    return replace(raw, edges=rows.reshape(-1, 2), names=names, form="list", open_ended=True, columns=columns)


def read_edge_table(path: Path, asked: Asked) -> RawGraph:
    """Read columns separated by commas, semicolons or tabs in .csv and .tsv, by blanks or tabs in other files."""
    data = files.read_utf8(path)
    separator = files.separator_of(path, data) if files.suffix(path) in (".csv", ".tsv") else files.SPACES
    if separator == files.SPACES and (b"#" in data or b"%" in data):  # comments become blank, their lines stay
        data = re.sub(rb"(?m)^[ \t]*[#%][^\r\n]*", b"", data)
        if re.search(rb"[ \t]#[ \t]", data):  # a remark behind an edge; without the blank it may be a name
            data = re.sub(rb"(?m)^([ \t]*\S+[ \t]+\S+[^#\r\n]*[ \t])#[ \t][^\r\n]*", rb"\1", data)
    if separator == files.SPACES and b"{" in data and re.search(rb"[ \t]\{[^\n]*\}\s*(?:\n|\Z)", data):
        return _with_attributes(path, data)
    pairs = None if asked.layout == "adjacency" else _whole_pairs(data, separator)
    if pairs is not None:
        del data  # of the size of the edges themselves
        whole, rows = _numbered_rows(pairs)
        return RawGraph(rows, len(whole), tuple(whole.tolist()), open_ended=True)
    table = _parsed(path, data, separator)
    comments = np.logical_and.accumulate(table.cells[0].str.startswith("#").to_numpy())  # the lines above the table
    if comments.any():
        ends = table.cells[[0, 1]].replace("", None)  # of an edge that has a name such as #news
        comments &= ~ends.isin(set(ends[~comments].stack())).any(axis=1).to_numpy()
        table = replace(table, cells=table.cells[~comments])
    height, width = table.cells.shape
    lines = table.cells.to_numpy(dtype=object).tolist() if asked.layout != "edges" and height <= width + 1 else []
    for line in lines:
        while line and not line[-1]:
            line.pop()
    square = _square(lines)
    if asked.layout == "adjacency" and square is None:
        raise files.problem(path, "this is not a square of numbers; for a list of edges use edges=.")
    if square is not None and (asked.layout == "adjacency" or _is_matrix(path, lines, *square)):
        ids, numbers = square
        if "" in ids:
            raise files.problem(path, f"node {ids.index('') + 1} has no name; give every node one.")
        names = tuple(map(int, ids)) if _whole(ids) else tuple(ids)
        return replace(from_dense(numbers), names=names or None)
    return _from_lines(table)


def _parsed(path: Path, data: bytes, separator: str) -> files.TextTable:
    """The cells of a table; a large one mostly has the columns of its first line, and reading more takes longer."""
    if len(data) > _LARGE:
        with suppress(FileFormatError):  # a longer line: refused below, or one with a weight
            return files.parse_table(path, data, separator, 2)
    # Three columns for an edge and its weight; one more than the first line, where R leaves the corner out.
    first = data.lstrip().partition(b"\n")[0]
    marks = max(map(first.count, (b",", b";", b"\t")))
    return files.parse_table(path, data, separator, max(4, 1 + len(first.split()), 2 + marks))


# ---- pairs of whole numbers, which are most large files


def _whole_pairs(data: bytes, separator: str) -> np.ndarray | None:
    """The edges of lines of two whole numbers in plain form; None for any other text."""
    marks = b" \t\r\n" if separator == files.SPACES else b"\r\n" + separator.encode()
    # 007 is not 7. A part is looked at first: all of a large file takes a second.
    if not data.strip() or any(
        part.translate(None, marks + b"0123456789") or re.search(rb"\b0\d", part) for part in (data[:_CHUNK], data)
    ):
        return None
    try:  # a small file does not wait for pandas
        mark = None if separator == files.SPACES else separator
        edges = np.loadtxt(io.BytesIO(data), np.int64, delimiter=mark, ndmin=2)
    except (ValueError, OverflowError):  # rows of other lengths, numbers beyond 64 bits
        return None
    return edges if edges.shape[1] == 2 and len(edges) > 1 and edges.max() < 10**18 else None


def _numbered_rows(ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct whole numbers in order, and the row of each end among them; ``ends`` is overwritten."""
    least = int(ends.min())
    if int(ends.max()) - least > 16 * ends.size + 1000:  # too sparse for a table of all numbers in between
        names, rows = np.unique(ends, return_inverse=True)
        return names, rows.reshape(ends.shape)
    ends -= least
    present = np.bincount(ends.ravel()) > 0
    rank = np.cumsum(present) - 1
    for end in ends.T:
        end[:] = rank[end]
    return np.flatnonzero(present) + least, ends


def _whole(names: Sequence[str]) -> bool:
    return all(map(_WHOLE.fullmatch, names))


def _numbered(names: list[str], codes: np.ndarray) -> tuple[tuple[Hashable, ...], np.ndarray]:
    """Names and rows: whole numbers in numerical order, text in order of appearance."""
    if not _whole(names):
        return tuple(names), codes
    numbers, rank = np.unique(np.array(names, dtype=np.int64), return_inverse=True)
    return tuple(numbers.tolist()), rank[codes]


# ---- lists of edges


def _from_lines(table: files.TextTable) -> RawGraph:
    import pandas as pd

    cells, header = table.cells, []
    joined = (cells[0] != "") & (cells[1] != "")
    if len(cells) and joined.iloc[0]:
        header = _header(table, cells[joined])
    if header:
        table = replace(table, cells=cells[1:])
        cells, joined = table.cells, joined[1:]
    if not len(cells):
        raise files.problem(table.path, "the file lists no edge.")
    whole = bool(joined.all())
    ends = cells if whole else cells[joined]
    codes, texts = pd.factorize(pd.concat([ends[0], ends[1], cells[0][~joined]], ignore_index=True))
    n_ends = 2 * len(ends)
    codes = np.concatenate([codes[:n_ends].reshape(2, -1).T.ravel(), codes[n_ends:]])  # edge by edge
    codes, order = pd.factorize(codes)
    if not whole or cells.shape[1] > 2:
        _check_lines(table, joined.to_numpy(), codes, len(header))
    columns, weight = _columns(replace(table, cells=ends), header)
    names, codes = _numbered(texts[order].tolist(), codes)
    rows = codes[:n_ends].reshape(-1, 2)
    return RawGraph(rows, len(names), names, open_ended=True, columns=columns, weight=weight)


def _check_lines(table: files.TextTable, joined: np.ndarray, codes: np.ndarray, n_header: int) -> None:
    """Refuse lines that are neither an edge, with a weight perhaps, nor the name of an isolated node."""
    cells = table.cells
    filled = (cells != "").sum(axis=1).to_numpy()
    wrong = joined & (filled > max(3, n_header))
    n_edges = int(joined.sum())
    lone, degree = codes[2 * n_edges :], np.bincount(codes[: 2 * n_edges], minlength=codes.max() + 1)
    wrong[~joined] = (filled[~joined] > 1) | (cells[0][~joined] == "").to_numpy() | (degree[lone] > 0) | (n_edges == 0)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        name = cells[0].iloc[row]
        if n_edges and not joined[row]:
            alone = f"{shown(name)} stands alone, and other lines give it edges"
            what = alone if name and filled[row] == 1 else f"the {'second' if name else 'first'} cell is empty"
            raise table.problem(f"{what}; give the edge two names, or drop the line.", row)
        words = f"an edge has two columns, or three with a weight, here {filled[row]}"
        advice = "keep the columns source, target and perhaps weight, and name a comma-separated file .csv"
        raise table.problem(f"{words}; {advice}. A line with a single name adds an isolated node.", row)


def _header(table: files.TextTable, lines: Any) -> list[str]:
    """The first line where it names the columns, else nothing; refuse it where it could be both."""
    first = [str(cell) for cell in lines.iloc[0]]
    while not first[-1]:
        first.pop()
    body, words = lines.iloc[1:], all(_HEADER.fullmatch(cell) for cell in first[:2])
    if not words and len(first) > 2 and all(_HEADER.fullmatch(cell) for cell in first[1:3]):
        ends = " and ".join(map(shown, first[1:3]))
        raise table.problem(f"the columns {ends} stand after {shown(first[0])}; put them first.", 0)
    # A whole number, or the name of a node.
    if any(map(_WHOLE.fullmatch, first[:2])) or body[[0, 1]].isin(first[:2]).any(axis=None) or not (words or len(body)):
        return []
    # Without a header a third column holds weights; a word above numbers names the column.
    if words:
        return first
    third = [] if len(first) < 3 or files.is_number(first[2]) else [first[2], *body[2]]
    third = [cell for cell in third if cell not in (*files.MISSING, "-")]
    if third[:1] == first[2:3] and len(third) > 1 and all(map(files.is_number, third[1:])):
        return first
    if _WHOLE.fullmatch(body[0].iloc[0]) and _whole(body[0].tolist()) and _whole(body[1].tolist()):
        line = f"the line {shown(' '.join(first))} could be a header or an edge"
        raise table.problem(f"{line}; call the columns source and target, or remove the line.", 0)
    if len(body) > 1 and len(first) == 2:
        line = f"{table.path.name}, line 1 is read as an edge between {shown(first[0])} and {shown(first[1])}"
        warn(f"{line}; if it is a header, call the columns source and target, or remove the line.")
    return []


def _columns(lines: files.TextTable, header: list[str]) -> tuple[Columns, str | None]:
    """The columns after the two ends, and the one that holds the weights."""
    names = [name or f"column {place}" for place, name in enumerate(header[2:], start=3)]
    if len(header) < 3:
        if 2 not in lines.cells or not (lines.cells[2] != "").any():
            return NO_COLUMNS, None
        names = ["weight"]
    refuse_repeated(names, lines.path.name)

    def read(name: str) -> Any:
        """Numbers as an array where all cells are plain ones, else a list with None for empty cells."""
        texts = lines.cells[2 + names.index(name)].tolist()
        try:
            return np.array([files.number(text) for text in texts])
        except ValueError:
            return [(files.number(text) if files.is_number(text) else text) if text else None for text in texts]

    weight = next((name for name in names if _WEIGHT.fullmatch(name)), names[0] if len(names) == 1 else None)
    held: Any = None if weight is None else read(weight)
    words = [row for row, value in enumerate(held) if isinstance(value, str)] if isinstance(held, list) else []
    if words and _WEIGHT.fullmatch(str(weight)):
        what = "drop the third column" if names[0] == weight else "correct or rename that column"
        what += "" if header else ", or begin with a line that names the columns, source and target first"
        raise lines.problem(f"the weight {shown(held[words[0]])} is not a number; {what}.", words[0])
    return Columns(lambda: names, read), None if words else weight


# ---- adjacency matrices


def _square(table: list[list[str]]) -> tuple[list[str], np.ndarray] | None:
    """Names, if any, and numbers of a table that is square but for names above, beside, or both; None otherwise."""
    if len(table) > 1 and len(table[0]) == len(table[1]) - 1 == len(table) - 1:
        table = [["", *table[0]], *table[1:]]  # R leaves the corner out
    if len({len(cells) for cells in table}) != 1:
        return None
    for above, beside in ((0, 0), (1, 1), (1, 0), (0, 1)):
        body = [cells[beside:] for cells in table[above:]]
        if 2 <= len(body) == len(body[0]) and all(files.is_number(cell) for cells in body for cell in cells):
            break
    else:
        return None
    left = [cells[0] for cells in table[above:]]
    names = table[0][beside:] if above else left if beside else []
    numbered = above != beside and any(map(files.is_number, names))
    if (above and beside and names != left) or (numbered and not (_whole(names) and len(set(names)) == len(names) > 2)):
        return None
    return names, np.array([[files.number(cell) for cell in cells] for cells in body])


def _is_matrix(path: Path, lines: list[list[str]], names: list[str], numbers: np.ndarray) -> bool:
    """Whether a square is a matrix rather than a list of edges; refuse it where both are likely."""
    width = len(lines[-1])
    if not lines[0][0] or len(lines[0]) < width or len(lines) == width == len(numbers) + 1:
        return True  # names above and beside that agree
    edges = all(_HEADER.fullmatch(cell) for cell in lines[0][:2])
    if width < 3 or (width == 3 and (edges or (names and all(map(files.is_number, names))))):
        return False
    if not edges and width > 3:
        return True
    if not np.array_equal(numbers, numbers.T):
        return False
    both = f"this could be an adjacency matrix of {len(numbers)} nodes or a list of edges"
    raise files.problem(path, f"{both}; say which with adjacency= or edges=.")
