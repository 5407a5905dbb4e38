"""Graph files to plain edges: lists and archives here, GraphML, GML and Matrix Market beside."""

import os
import re
from collections.abc import Callable, Hashable
from dataclasses import replace
from pathlib import Path

import numpy as np

from spectrata.errors import FileFormatError, InputError, shown
from spectrata.inputs.formats.files import (
    Npz,
    checked_path,
    csv_lines,
    in_memory,
    listed,
    number,
    numbered_lines,
    open_npz,
    problem,
    sparse_entries,
    suffix,
)
from spectrata.inputs.formats.graph_arrays import edge_rows, from_dense, from_edges, from_entries, open_ended
from spectrata.inputs.formats.graph_markup import read_gml, read_graphml, read_matrix_market
from spectrata.inputs.formats.raw import RawGraph

# A header is recognised by what its first two cells are called.
_HEADER = re.compile(
    r"(source|target|from|to|src|dst|tail|head|start|end|u|v|i|j)([ _-]?(id|node|name))?"
    r"|(node|vertex|id|name|person|item|user|gene|protein)[ _-]?([12ab]|from|to|id[12])",
    re.IGNORECASE,
)

# One line of a list: its number, and its cells.
_Line = tuple[int, list[str]]


def read_graph(path: str | os.PathLike[str]) -> RawGraph:
    """Read a graph file by its ending.

    Parameters
    ----------
    path : path_like
        ``.txt .edgelist .edges .el`` (edge list), ``.csv .tsv``, ``.graphml``, ``.gml``, ``.npz``,
        ``.mtx`` or ``.mtx.gz`` (Matrix Market).

    Returns
    -------
    RawGraph

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "ring.txt"
    ...     _ = file.write_text("0 1\\n1 2\\n2 0\\n")
    ...     read_graph(file).edges.tolist()
    [[0, 1], [1, 2], [2, 0]]
    """
    path = checked_path(path)
    reader = _READERS.get(suffix(path))
    if reader is None:
        raise problem(path, f"this is no kind of graph file that is read; use one of {' '.join(_READERS)}.")
    try:
        with in_memory(path):
            return reader(path)
    except FileFormatError:
        raise
    except InputError as error:
        raise problem(path, str(error)) from None


# ---- lists of edges


def _read_edge_list(path: Path) -> RawGraph:
    lines = [(place, _cells(line)) for place, line in numbered_lines(path, comments="#%")]
    return _from_lines(path, lines, "separate the columns by spaces, or name a comma-separated file .csv")


# networkx writes the attributes of an edge as a third column: {} or {'weight': 2.0}.
_ATTRIBUTES = re.compile(r"([^ \t]+)[ \t]+([^ \t]+)[ \t]+(\{.*\})")


def _cells(line: str) -> list[str]:
    if "{" in line:
        match = _ATTRIBUTES.fullmatch(line)
        if match is not None:
            return list(match.groups())
    if "#" in line:
        line = line.partition(" #")[0]
    # Rarer spaces, such as the one that does not break, belong to a name.
    return line.split() if line.isascii() else re.split(r"[ \t]+", line.strip(" \t"))


def _read_table(path: Path) -> RawGraph:
    lines = [(place, cells) for place, cells in csv_lines(path) if not cells[0].startswith("#")]
    return _from_lines(path, lines, "keep the columns source, target and perhaps weight")


def _from_lines(path: Path, lines: list[_Line], advice: str) -> RawGraph:
    if lines and _is_header(lines):
        lines = lines[1:]
    if not lines:
        raise problem(path, "the file lists no edge.")
    for place, cells in lines:
        if len(cells) not in (2, 3) or not (cells[0] and cells[1]):
            raise problem(
                path, f"an edge has two columns, or three with a weight, here {len(cells)}; {advice}.", place
            )
    weighted = True in {_is_weighted(path, place, cells[2]) for place, cells in lines if len(cells) == 3}
    labels = [cell for _, cells in lines for cell in cells[:2]]
    names, rows = _numbered(labels)
    return RawGraph(rows.reshape(-1, 2), len(names), names, weighted=weighted, form="list", open_ended=True)


def _is_header(lines: list[_Line]) -> bool:
    first = lines[0][1][:2]
    if len(first) < 2 or any(_integer(cell) for cell in first):
        return False
    body = {cell for _, cells in lines[1:] for cell in cells[:2]}
    if all(_HEADER.fullmatch(cell) for cell in first):
        # A node may be called u; then it is likely to have other edges.
        return not body & set(first)
    return bool(body) and all(_integer(cell) for cell in body)


def _is_weighted(path: Path, line: int, cell: str) -> bool:
    if cell.startswith("{") and cell.endswith("}"):
        return "weight" in cell
    try:
        return number(cell) != 1
    except ValueError:
        raise problem(
            path, f"the weight {shown(cell)} is not a number; drop the third column.", line
        ) from None


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


# ---- numpy archives


def _read_npz(path: Path) -> RawGraph:
    with open_npz(path) as npz:
        if "edges" in npz:
            raw = _pairs(npz["edges"])
        elif "edge_index" in npz:
            raw = replace(_pairs(npz["edge_index"].T), form="arcs")
        elif "adjacency" in npz:
            raw = from_dense(npz["adjacency"])
        elif {"shape", "data"} <= set(npz.keys):
            rows, columns, values, shape = sparse_entries(npz)
            if shape[0] != shape[1]:
                raise problem(path, f"an adjacency matrix is square, not of shape {shape}.")
            raw = from_entries(rows, columns, values, shape[0])
        else:
            raise problem(
                path,
                f"it has the arrays {listed(npz.keys)}; a graph is stored as edges (with n_nodes), "
                "edge_index, adjacency, or by scipy.sparse.save_npz.",
            )
        return _completed(npz, raw)


def _pairs(array: np.ndarray) -> RawGraph:
    if array.shape == (2, 2):
        # from_edges would ask; a file follows its key's habit, which is rows of pairs here.
        return open_ended(edge_rows(array), "list")
    return from_edges(array)


def _completed(npz: Npz, raw: RawGraph) -> RawGraph:
    """Put in the number of nodes and their names, where the archive has them."""
    for key in ("n_nodes", "num_nodes"):
        if key in npz:
            n_nodes = npz.number(key)
            largest = int(raw.edges.max(initial=-1))
            if n_nodes <= largest or (not raw.open_ended and n_nodes != raw.n_nodes):
                raise problem(
                    npz.path, f"{key} is {n_nodes}, but the edges need {max(largest + 1, raw.n_nodes)}."
                )
            raw = replace(raw, n_nodes=n_nodes, open_ended=False)
    if "names" in npz:
        names = npz.labels("names")
        if len(names) < raw.n_nodes or (len(names) > raw.n_nodes and not raw.open_ended):
            raise problem(npz.path, f"there are {len(names)} names for {raw.n_nodes} nodes.")
        raw = replace(raw, n_nodes=len(names), names=names, open_ended=False)
    if raw.n_nodes > 1_000_000 + 100 * len(raw.edges):
        raise problem(
            npz.path, f"{raw.n_nodes} nodes for {len(raw.edges)} edges cannot be meant; renumber them."
        )
    return raw


_READERS: dict[str, Callable[[Path], RawGraph]] = {
    ".txt": _read_edge_list,
    ".edgelist": _read_edge_list,
    ".edges": _read_edge_list,
    ".el": _read_edge_list,
    ".csv": _read_table,
    ".tsv": _read_table,
    ".graphml": read_graphml,
    ".gml": read_gml,
    ".npz": _read_npz,
    ".mtx": read_matrix_market,
    ".mtx.gz": read_matrix_market,
}
