"""GraphML, GML and Matrix Market, each read without entities, code or trust in stated sizes."""

import gzip
import html
import io
import re
import zlib
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from spectrata.readers.files import MAX_BYTES, problem, read_bytes, read_text, suffix
from spectrata.readers.graph_arrays import from_entries
from spectrata.readers.raw import RawGraph

# ---- GraphML


def read_graphml(path: Path) -> RawGraph:
    """Read nodes and edges of a GraphML file; the nodes' names are their ids."""
    root = _safe_xml(path)
    graphs = [element for element in root.iter() if _tag(element) == "graph"]
    if len(graphs) != 1:
        raise problem(path, f"it holds {len(graphs)} graphs (nested ones count); give a file with one.")
    elements = list(graphs[0])
    if any(_tag(element) == "hyperedge" for element in elements):
        raise problem(path, "it has hyperedges, which have no hop distance; replace them by edges.")
    names = tuple(element.get("id", "") for element in elements if _tag(element) == "node")
    edges = [element for element in elements if _tag(element) == "edge"]
    ends = [(edge.get("source"), edge.get("target")) for edge in edges]
    directed = graphs[0].get("edgedefault", "undirected")
    return RawGraph(
        _rows_of(path, names, ends),
        len(names),
        names,
        directed=any(_one_way(edge, directed) for edge in edges),
        weighted=_graphml_weighted(root, edges),
        form="once",
    )


def _safe_xml(path: Path) -> ElementTree.Element:
    text = read_text(path)
    if re.search(r"<!\s*(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise problem(path, "it declares a DOCTYPE or entities, which are refused as unsafe; remove them.")
    declared = re.match(r"\s*<\?xml[^>]*?encoding\s*=\s*[\"']([^\"']*)", text)
    if declared and declared[1].lower() not in ("utf-8", "utf8", "us-ascii", "ascii"):
        raise problem(path, f"it declares the encoding {declared[1]}; save it as UTF-8.")
    try:
        return ElementTree.fromstring(text.encode())
    except ElementTree.ParseError as error:
        reason = str(error).partition(":")[0]
        raise problem(path, f"the XML is damaged ({reason}).", error.position[0]) from None


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _one_way(edge: ElementTree.Element, default: str) -> bool:
    return edge.get("directed", str(default == "directed").lower()).lower() in ("true", "1")


def _graphml_weighted(root: ElementTree.Element, edges: list[ElementTree.Element]) -> bool:
    keys = {
        element.get("id")
        for element in root
        if _tag(element) == "key" and element.get("attr.name") == "weight" and element.get("for") != "node"
    }
    return any(data.get("key") in keys and not _is_one(data.text) for edge in edges for data in edge)


def _is_one(value: Any) -> bool:
    try:
        return float(value) == 1
    except (TypeError, ValueError):
        return False


def _rows_of(path: Path, ids: tuple[Hashable, ...], ends: list[tuple[Any, Any]]) -> np.ndarray:
    row = {name: i for i, name in enumerate(ids)}
    if len(row) < len(ids):
        seen: set[Hashable] = set()
        twice = next(name for name in ids if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise problem(path, f"the node id {twice!r} occurs twice; give every node its own.")
    for number, pair in enumerate(ends, start=1):
        for end in pair:
            if end not in row:
                raise problem(path, f"edge {number} names the node {end!r}, which is not declared.")
    return np.array([(row[a], row[b]) for a, b in ends], dtype=np.int64).reshape(-1, 2)


# ---- GML

_GML_TOKEN = re.compile(
    r'(?P<skip>\s+|\#[^\n]*)|(?P<key>[A-Za-z_][\w.-]*)|(?P<text>"[^"]*")'
    r"|(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<open>\[)|(?P<close>\])"
)
_GmlList = list[tuple[str, Any]]


def read_gml(path: Path) -> RawGraph:
    """Read nodes and edges of a GML file; names are the labels where every node has one, else the ids."""
    graphs = [value for key, value in _parse_gml(path) if key == "graph" and isinstance(value, list)]
    if len(graphs) != 1:
        raise problem(path, f"it holds {len(graphs)} graphs; give a file with one.")
    nodes = [dict(value) for key, value in graphs[0] if key == "node" and isinstance(value, list)]
    edges = [dict(value) for key, value in graphs[0] if key == "edge" and isinstance(value, list)]
    ids = tuple(_plain(node.get("id")) for node in nodes)
    labels = tuple(_plain(node.get("label")) for node in nodes)
    ends = [(_plain(edge.get("source")), _plain(edge.get("target"))) for edge in edges]
    weights = [edge.get("weight", edge.get("value", 1)) for edge in edges]
    return RawGraph(
        _rows_of(path, ids, ends),
        len(ids),
        ids if None in labels else labels,
        directed=dict(graphs[0]).get("directed", 0) not in (0, "0"),
        weighted=any(not _is_one(weight) for weight in weights),
        form="once",
    )


def _plain(value: Any) -> Hashable:
    return None if isinstance(value, list) else value


def _parse_gml(path: Path) -> _GmlList:
    """Nested lists of key and value; a stack of our own, so that depth costs nothing."""
    stack: list[_GmlList] = [[]]
    key = None
    line = 1
    for kind, token, line in _gml_tokens(path):
        if kind == "close" and key is None and len(stack) > 1:
            stack.pop()
        elif kind == "key" and key is None:
            key = token
        elif key is not None and kind in ("text", "number", "open"):
            value: Any = [] if kind == "open" else _gml_value(kind, token)
            stack[-1].append((key, value))
            key = None
            if kind == "open":
                stack.append(value)
        else:
            raise problem(
                path, f"{token!r} is out of place; GML is a list of keys, each with its value.", line
            )
    if len(stack) > 1 or key is not None:
        raise problem(path, "the file ends too early; write it again.", line)
    return stack[0]


def _gml_tokens(path: Path) -> Iterator[tuple[str, str, int]]:
    text = read_text(path)
    position, line = 0, 1
    while position < len(text):
        match = _GML_TOKEN.match(text, position)
        if match is None:
            raise problem(path, f"{text[position]!r} is not GML; check the quotes.", line)
        if match.lastgroup != "skip":
            yield str(match.lastgroup), match[0], line
        line += match[0].count("\n")
        position = match.end()


def _gml_value(kind: str, token: str) -> str | int | float:
    if kind == "text":
        return html.unescape(token[1:-1])
    # Python refuses to read integers of thousands of digits, and no id has more than a few.
    return int(token) if re.fullmatch(r"[+-]?\d{1,4000}", token) else float(token)


# ---- Matrix Market


def read_matrix_market(path: Path) -> RawGraph:
    """Read the adjacency matrix of a Matrix Market file, plain or gzipped."""
    data = _unzipped(path) if suffix(path) == ".mtx.gz" else read_bytes(path)
    _check_sizes(path, data)
    from scipy.io import mmread
    from scipy.sparse import coo_array

    try:
        entries = coo_array(mmread(io.BytesIO(data)))
    except (ValueError, TypeError, OverflowError, MemoryError, EOFError, RuntimeError, OSError) as error:
        raise problem(path, f"the Matrix Market data is damaged ({str(error).strip()}).") from None
    entries.sum_duplicates()
    return from_entries(entries.row, entries.col, entries.data, entries.shape[0])


def _unzipped(path: Path) -> bytes:
    try:
        with gzip.open(path) as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        raise problem(path, "the gzip data is cut short or damaged; write it again.") from None
    if len(data) > MAX_BYTES:
        raise problem(path, f"it unpacks to more than {MAX_BYTES >> 30} GiB; it is refused.")
    return data


def _check_sizes(path: Path, data: bytes) -> None:
    """Refuse what the reader would allocate for without the bytes to fill it."""
    lines = io.BytesIO(data)
    banner = lines.readline().decode("ascii", "replace").lower().split()
    if len(banner) < 3 or banner[:2] != ["%%matrixmarket", "matrix"]:
        raise problem(path, "a Matrix Market file begins with '%%MatrixMarket matrix'; check the file.", 1)
    size = next((line for line in lines if line.strip() and not line.startswith(b"%")), b"").split()
    dense = banner[2] == "array"
    if len(size) != (2 if dense else 3) or not all(re.fullmatch(rb"\d{1,18}", part) for part in size):
        raise problem(path, "the line of sizes after the comments is missing or damaged.")
    rows, columns, *stored = (int(part) for part in size)
    if rows != columns:
        raise problem(path, f"an adjacency matrix is square, not of shape {(rows, columns)}.")
    # A stored number takes two bytes at least; a symmetric dense matrix stores half of them.
    claimed = rows * (rows - 1) // 2 if dense else stored[0]
    if 2 * claimed > len(data) or rows > 1_000_000 + 100 * len(data):
        raise problem(path, f"it claims {rows} rows and {claimed} entries, more than the file holds.")
