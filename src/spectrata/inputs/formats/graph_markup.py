"""GraphML and GML, read without entities or code; sizes stated in a file are checked."""

import html
import re
from collections import ChainMap
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from spectrata.errors import shown
from spectrata.inputs.formats.files import number, problem, read_text
from spectrata.inputs.formats.raw import Columns, RawGraph, as_positions

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
    nodes = [element for element in elements if _tag(element) == "node"]
    names = tuple(node.get("id", "") for node in nodes)
    if "" in names:
        raise problem(path, f"node {names.index('') + 1} has no id; give every node one.")
    edges = [element for element in elements if _tag(element) == "edge"]
    ends = [(edge.get("source"), edge.get("target")) for edge in edges]
    directed = graphs[0].get("edgedefault", "undirected")
    _check_directions(path, directed, edges)
    node_data, edge_data = (_graphml_data(root, kind, held) for kind, held in (("node", nodes), ("edge", edges)))
    return RawGraph(
        rows_of(path, names, ends),
        len(names),
        names,
        any(_one_way(edge, directed) for edge in edges),
        "once",
        columns=Columns.of(edge_data),
        weight="weight",
        attributes=Columns.of(node_data, keep=True),
        positions=placed(node_data) if node_data and "x" in node_data[0] else placed(_drawn(nodes)),
    )


def _check_directions(path: Path, default: str, edges: list[ElementTree.Element]) -> None:
    """A misspelt direction must not pass for none."""
    if default.lower() not in ("directed", "undirected"):
        raise problem(path, f"edgedefault is {shown(default)}; write directed or undirected.")
    for place, edge in enumerate(edges, start=1):
        if edge.get("directed", "false").lower() not in ("true", "false", "0", "1"):
            raise problem(path, f"edge {place} is directed={shown(edge.get('directed'))}; write true or false.")


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


def _graphml_data(
    root: ElementTree.Element, kind: str, elements: Sequence[ElementTree.Element]
) -> Sequence[Mapping[str, Any]]:
    """The attributes of each node or edge, by name, with the defaults that the file declares."""
    keys = {
        key.get("id"): (key.get("attr.name") or str(key.get("id")), key.get("attr.type"))
        for key in root
        if _tag(key) == "key" and key.get("for", "all") in (kind, "all")
    }
    usual = {
        keys[key.get("id")][0]: _typed(default.text, keys[key.get("id")][1])
        for key in root
        for default in key
        if _tag(key) == "key" and key.get("id") in keys and _tag(default) == "default"
    }
    own = [
        {
            keys[data.get("key")][0]: _typed(data.text, keys[data.get("key")][1])
            for data in element
            if _tag(data) == "data" and data.get("key") in keys
        }
        for element in elements
    ]
    # Not copied: many defaults for many nodes would fill the memory.
    return [ChainMap(values, usual) for values in own] if usual else own


def _typed(text: str | None, kind: str | None) -> Any:
    text = (text or "").strip()
    if kind == "boolean" and text.lower() in ("true", "false", "1", "0"):
        return text.lower() in ("true", "1")
    if kind in ("string", "boolean") or not text:
        return text or None
    try:
        return number(text)
    except ValueError:
        return text


def _drawn(nodes: Sequence[ElementTree.Element]) -> list[dict[str, Any]]:
    """Where yEd places each node: the first Geometry inside it."""
    shapes = (next((part for part in node.iter() if _tag(part) == "Geometry"), None) for node in nodes)
    return [{} if shape is None else {axis: _typed(shape.get(axis), None) for axis in "xy"} for shape in shapes]


def placed(records: Sequence[Mapping[str, Any]]) -> np.ndarray | None:
    """Positions that nodes state as x, y and perhaps z, or as pos; None where one has none."""
    if not records:
        return None
    axes = [axis for axis in "xyz" if axis in records[0]]
    if "pos" in records[0] or axes[:2] != ["x", "y"]:
        return as_positions([record.get("pos") for record in records], len(records))
    return as_positions([[record.get(axis) for axis in axes] for record in records], len(records))


def rows_of(path: Path, ids: tuple[Hashable, ...], ends: Sequence[tuple[Any, ...]]) -> np.ndarray:
    """The rows of the ends of edges; refuse an id that stands twice, and one that no node has."""
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
    weighed = any("weight" in edge for edge in edges)
    graphics = [node.get("graphics") for node in nodes]
    return RawGraph(
        rows_of(path, ids, ends),
        len(ids),
        ids if None in labels else labels,
        dict(graphs[0]).get("directed", 0) not in (0, "0"),
        "once",
        columns=Columns.of([_named_values(edge, ("source", "target")) for edge in edges]),
        weight="weight" if weighed else "value",
        attributes=Columns.of([_named_values(node, ("id", "label")) for node in nodes], keep=True),
        positions=placed([dict(part) if isinstance(part, list) else {} for part in graphics])
        if graphics and isinstance(graphics[0], list)
        else placed(nodes),
    )


def _named_values(entry: dict[str, Any], skip: tuple[str, ...]) -> dict[str, Any]:
    """The attributes of a node or edge; what is a list of further keys is none."""
    return {key: value for key, value in entry.items() if key not in skip and not isinstance(value, list)}


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
        found.append(_collected(value))
    return found


def _collected(pairs: _GmlList) -> dict[str, Any]:
    """Values by key; a key that stands several times has a tuple of them, as networkx writes a vector."""
    values: dict[str, list[Any]] = {}
    for key, value in pairs:
        values.setdefault(key, []).append(value)
    return {
        key: held[0] if len(held) == 1 else tuple(part for part in held if part != "_networkx_list_start")
        for key, held in values.items()
    }


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
            raise problem(path, f"{shown(token)} is out of place; GML is a list of keys, each with its value.", line)
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
