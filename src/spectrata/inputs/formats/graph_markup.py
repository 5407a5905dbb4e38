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

from spectrata.errors import shown
from spectrata.inputs.formats.files import MAX_BYTES, problem, read_bytes, read_text, suffix
from spectrata.inputs.formats.graph_arrays import from_entries
from spectrata.inputs.formats.raw import RawGraph

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
    if "" in names:
        raise problem(path, f"node {names.index('') + 1} has no id; give every node one.")
    edges = [element for element in elements if _tag(element) == "edge"]
    ends = [(edge.get("source"), edge.get("target")) for edge in edges]
    directed = graphs[0].get("edgedefault", "undirected")
    _check_directions(path, directed, edges)
    return RawGraph(
        _rows_of(path, names, ends),
        len(names),
        names,
        directed=any(_one_way(edge, directed) for edge in edges),
        weighted=_graphml_weighted(root, edges),
        form="once",
    )


def _check_directions(path: Path, default: str, edges: list[ElementTree.Element]) -> None:
    """A misspelt direction must not pass for none."""
    if default.lower() not in ("directed", "undirected"):
        raise problem(path, f"edgedefault is {shown(default)}; write directed or undirected.")
    for place, edge in enumerate(edges, start=1):
        if edge.get("directed", "false").lower() not in ("true", "false", "0", "1"):
            raise problem(
                path, f"edge {place} is directed={shown(edge.get('directed'))}; write true or false."
            )


def _safe_xml(path: Path) -> ElementTree.Element:
    text = read_text(path)
    if re.search(r"<!\s*(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise problem(path, "it declares a DOCTYPE or entities, which are refused as unsafe; remove them.")
    declared = re.match(r"\s*<\?xml[^>]*?encoding\s*=\s*[\"']([^\"']*)", text)
    if declared and declared[1].lower() not in ("utf-8", "utf8", "us-ascii", "ascii"):
        raise problem(path, f"it declares the encoding {shown(declared[1])[1:-1]}; save it as UTF-8.")
    try:
        return ElementTree.fromstring(text.encode())
    except ElementTree.ParseError as error:
        reason = str(error).partition(":")[0]
        raise problem(path, f"the XML is damaged ({reason}).", error.position[0]) from None
    except (ValueError, LookupError):  # an encoding that the search above did not see
        raise problem(path, "the XML is damaged, or not UTF-8; save it as UTF-8.") from None


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _one_way(edge: ElementTree.Element, default: str) -> bool:
    return edge.get("directed", str(default.lower() == "directed")).lower() in ("true", "1")


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
    except (TypeError, ValueError, OverflowError):
        return False


def _rows_of(path: Path, ids: tuple[Hashable, ...], ends: list[tuple[Any, Any]]) -> np.ndarray:
    row = {name: i for i, name in enumerate(ids)}
    if len(row) < len(ids):
        seen: set[Hashable] = set()
        twice = next(name for name in ids if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise problem(path, f"the node id {shown(twice)} occurs twice; give every node its own.")
    for place, pair in enumerate(ends, start=1):
        for end in pair:
            if end not in row:
                raise problem(path, f"edge {place} names the node {shown(end)}, which is not declared.")
    return np.array([(row[a], row[b]) for a, b in ends], dtype=np.int64).reshape(-1, 2)


# ---- GML

_GML_TOKEN = re.compile(
    r'(?P<skip>\s+|\#[^\n]*)|(?P<key>[A-Za-z_][\w.-]*)|(?P<text>"[^"]*")'
    # A number ends where a word would go on: 12ab is neither.
    r"|(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.+-]))|(?P<open>\[)|(?P<close>\])"
)
_GmlList = list[tuple[str, Any]]


def read_gml(path: Path) -> RawGraph:
    """Read nodes and edges of a GML file; names are the labels where every node has one, else the ids."""
    graphs = [value for key, value in _parse_gml(path) if key == "graph" and isinstance(value, list)]
    if len(graphs) != 1:
        raise problem(path, f"it holds {len(graphs)} graphs; give a file with one.")
    nodes, edges = (_entries(path, graphs[0], kind) for kind in ("node", "edge"))
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


def _entries(path: Path, graph: _GmlList, kind: str) -> list[dict[str, Any]]:
    """The nodes or edges; a key that says who is meant may stand once."""
    found: list[dict[str, Any]] = []
    for value in (value for key, value in graph if key == kind):
        if not isinstance(value, list):
            raise problem(path, f"a {kind} is {shown(value)}; write it as {kind} [ ... ].")
        keys = [key for key, _ in value]
        twice = [key for key in ("id", "label", "source", "target") if keys.count(key) > 1]
        if twice:
            raise problem(path, f"{kind} {len(found) + 1} has {twice[0]} twice; keep one.")
        found.append(dict(value))
    return found


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
                path, f"{shown(token)} is out of place; GML is a list of keys, each with its value.", line
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
    return int(token) if re.fullmatch(r"[+-]?[0-9]{1,4000}", token) else float(token)


# ---- Matrix Market

_REAL = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,5})?"
_FIELDS = {
    b"real": _REAL,
    b"double": _REAL,
    b"integer": rb"[+-]?\d{1,18}",
    b"unsigned-integer": rb"\d{1,18}",
    b"pattern": b"",
}
_SYMMETRIES = (b"general", b"symmetric", b"skew-symmetric")


def read_matrix_market(path: Path) -> RawGraph:
    """Read the adjacency matrix of a Matrix Market file, plain or gzipped."""
    data = _unzipped(path) if suffix(path) == ".mtx.gz" else read_bytes(path)
    _check_matrix(path, data)
    from scipy.io import mmread
    from scipy.sparse import coo_array

    try:
        # It reads past the end where the last line is not closed.
        entries = coo_array(mmread(io.BytesIO(data.rstrip() + b"\n")))
    except (ValueError, TypeError, OverflowError, EOFError, RuntimeError, OSError) as error:
        raise problem(
            path, f"the Matrix Market data is damaged ({shown(str(error).strip())[1:-1]})."
        ) from None
    entries.sum_duplicates()
    return from_entries(entries.row, entries.col, entries.data, entries.shape[0])


def _unzipped(path: Path) -> bytes:
    pieces, size = [], 0
    try:
        with gzip.open(path) as stream:
            # Piece by piece: to ask for the largest size at once would set that much memory aside.
            while piece := stream.read(2**20):
                pieces.append(piece)
                size += len(piece)
                if size > MAX_BYTES:
                    raise problem(path, f"it unpacks to more than {MAX_BYTES >> 30} GiB; it is refused.")
    except (OSError, EOFError, zlib.error):
        raise problem(path, "the gzip data is cut short or damaged; write it again.") from None
    return b"".join(pieces)


def _check_matrix(path: Path, data: bytes) -> None:
    """Let only whole and plain entries through: scipy's reader skips what it does not understand, or crashes."""
    start = data.find(b"\n") + 1
    banner = data[: start or len(data)].lower().split()
    if len(banner) < 3 or banner[:2] != [b"%%matrixmarket", b"matrix"]:
        raise problem(path, "a Matrix Market file begins with '%%MatrixMarket matrix'; check the file.", 1)
    dense = banner[2] == b"array"
    if len(banner) != 5 or banner[2] not in (b"array", b"coordinate"):
        raise problem(path, "the first line names a format, a field and a symmetry; check it.", 1)
    field, symmetry = banner[3:]
    if field not in _FIELDS or symmetry not in _SYMMETRIES or (dense and field == b"pattern"):
        kind = shown(b" ".join(banner[2:]).decode("ascii", "replace"))[1:-1]
        raise problem(path, f"it is {kind}; an adjacency matrix is real, integer or pattern.", 1)
    size = re.compile(rb"(?:[ \t]*(?:%[^\n]*)?\r?\n)*+[ \t]*([^\r\n]*?)[ \t]*(?:\r?\n|\Z)").match(data, start)
    sizes = size[1].split() if size else []
    if size is None or len(sizes) != (2 if dense else 3) or not all(_is_size(part) for part in sizes):
        raise problem(path, "the line of sizes after the comments is missing or damaged.")
    n_entries = _check_sizes(path, [int(part) for part in sizes], len(data), symmetry == b"general")
    _check_entries(path, data, size.end(), _FIELDS[field], dense, n_entries)


def _is_size(part: bytes) -> bool:
    return re.fullmatch(rb"\d{1,18}", part) is not None


def _check_sizes(path: Path, sizes: list[int], n_bytes: int, general: bool) -> int:
    """Refuse what would be allocated for without the bytes to fill it; give the number of entries."""
    rows, columns, *stored = sizes
    if rows != columns:
        raise problem(path, f"an adjacency matrix is square, not of shape {(rows, columns)}.")
    claimed = stored[0] if stored else rows * rows if general else rows * (rows - 1) // 2
    # A stored number takes two bytes at least; rows without entries may be many, but not without bound.
    if 2 * claimed > n_bytes or rows > 1_000_000 + 100 * claimed:
        raise problem(path, f"it claims {rows} rows and {claimed} entries, more than the file holds.")
    return claimed


def _check_entries(path: Path, data: bytes, start: int, value: bytes, dense: bool, claimed: int) -> None:
    cells = [value] if dense else [rb"\d{1,18}", rb"\d{1,18}", *([value] if value else [])]
    entry = rb"[ \t]*" + rb"[ \t]+".join(cells) + rb"[ \t]*(?:\r?\n|\Z)"
    whole = re.compile(rb"(?:" + entry + rb")*+").match(data, start)
    end = whole.end() if whole else start
    if data[end:].strip():
        line = data.count(b"\n", 0, end) + 1
        raise problem(path, "the Matrix Market data is damaged: this is not an entry.", line)
    found = data.count(b"\n", start, end) + (end > start and not data.endswith(b"\n", start, end))
    if not dense and found != claimed:
        raise problem(
            path, f"the Matrix Market data is damaged: {claimed} entries were promised, {found} found."
        )
