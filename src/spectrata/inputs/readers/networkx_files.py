"""GraphML, GEXF, GML and node-link JSON, parsed by networkx after checks that keep hostile files harmless."""

import io
import re
from collections import ChainMap, Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from spectrata.errors import shortened, shown
from spectrata.inputs.readers.files import listed, parsing, problem, read_json, read_utf8
from spectrata.inputs.readers.objects import from_networkx
from spectrata.inputs.readers.raw import Columns, RawGraph, as_positions


def read_graphml(path: Path) -> RawGraph:
    """Read a GraphML file; the nodes' names are their ids."""
    import networkx as nx

    root = _checked_xml(path, "http://graphml.graphdrawing.org/xmlns")
    # networkx takes directions that are misspelt for undirected.
    for name, allowed in (("edgedefault", ("directed", "undirected")), ("directed", ("true", "false"))):
        for part in root.iter():
            if (value := part.get(name)) is not None:
                if value.lower() not in allowed:
                    raise problem(path, f"{name}={shown(value)}; write {' or '.join(allowed)}.")
                part.set(name, value.lower())
    text = partial(ElementTree.tostring, root, encoding="unicode")
    return _raw(path, lambda: nx.parse_graphml(text(), node_type=str, force_multigraph=True))


def read_gexf(path: Path) -> RawGraph:
    """Read a GEXF file, as Gephi writes it; names are the labels where every node has its own, else the ids."""
    import networkx as nx

    root = _checked_xml(path, "http://www.gexf.net/1.2draft")
    return _named_by_label(_raw(path, lambda: nx.read_gexf(io.BytesIO(ElementTree.tostring(root)), node_type=str)))


def read_gml(path: Path) -> RawGraph:
    """Read a GML file; names are the labels where every node has its own, else the ids."""
    import networkx as nx

    text = read_utf8(path).decode()
    # networkx refuses parallel edges unless the file calls itself a multigraph; here they are counted and dropped.
    text = re.sub(r"(^|\s)graph(\s*)\[", r"\1graph\2[ multigraph 1 ", text, count=1)
    return _named_by_label(_raw(path, lambda: nx.parse_gml(text, label=None)))


def read_node_link(path: Path) -> RawGraph:
    """Read a node-link JSON file; the nodes' names are their ids."""
    import networkx as nx

    held = read_json(path)
    keys = [key for key in ("links", "edges") if key in held] if isinstance(held, dict) else []
    if len(keys) == 2:
        raise problem(path, 'it has both "links" and "edges"; keep one.')
    if not keys or not all(isinstance(held.get(key), list) for key in ("nodes", keys[0])):
        found = listed([str(key) for key in held]) if isinstance(held, dict) else type(held).__name__
        raise problem(path, f'not a node-link graph: it needs lists "nodes" and "links" (found: {found or "nothing"}).')
    nodes, edges = held["nodes"], held[keys[0]]
    for key, entries in (("nodes", nodes), (keys[0], edges)):
        for place, entry in enumerate(entries, start=1):
            if not isinstance(entry, dict):
                raise problem(path, f"entry {place} of {key} is {shown(entry)}, not an object.")
    if not isinstance(held.get("directed", False), bool):
        raise problem(path, f"directed is {shown(held['directed'])}; write true or false.")
    ends = [tuple(_id(edge.get(end)) for end in ("source", "target")) for edge in edges]
    _check_declared(path, [_id(node.get("id")) for node in nodes], ends)
    # The key of the edges has another default in every second version of networkx.
    held = held | {"links": edges, "edges": edges, "multigraph": True}
    return _raw(path, lambda: nx.node_link_graph(held))


def _raw(path: Path, parse: Callable[[], Any]) -> RawGraph:
    """The graph that networkx makes of a file; whatever its parser raises becomes one sentence."""
    with parsing(path, "networkx cannot read it; it is damaged ({})."):
        graph = parse()
    raw, nodes = from_networkx(graph), [dict(data) for _, data in graph.nodes(data=True)]
    facts = graph.graph if isinstance(graph.graph, dict) else {}  # JSON may hold anything there
    defaults = [facts.get(f"{kind}_default") for kind in ("node", "edge")]
    usual_nodes, usual_edges = (one if isinstance(one, dict) else {} for one in defaults)
    # Without nested records, such as how a node is drawn.
    plain = [{key: value for key, value in data.items() if not isinstance(value, dict)} for data in nodes]
    edges = [ChainMap(data, usual_edges) for _, _, data in graph.edges(data=True)]
    usual = "weight" if any("weight" in data for data in edges) else "value"
    return replace(
        raw,
        columns=Columns.of(edges),
        weight=usual if any(usual in data for data in edges) else None,
        # Not copied: many defaults for many nodes would fill the memory.
        attributes=Columns.of([ChainMap(data, usual_nodes) for data in plain], keep=True),
        positions=_placed(nodes),
    )


def _named_by_label(raw: RawGraph) -> RawGraph:
    """Nodes named by their labels where every node has its own, else by their ids."""
    labels = raw.attributes.get("label", [None])
    return raw if None in labels or len(set(labels)) < len(labels) else replace(raw, names=tuple(labels))


def _placed(nodes: Sequence[dict[str, Any]]) -> np.ndarray | None:
    """Positions that nodes state as x, y and perhaps z, or as pos, at the top or where they are drawn."""
    if not nodes:
        return None
    drawn = [data.get("graphics", (data.get("viz") or {}).get("position", data)) for data in nodes]
    if not all(isinstance(place, dict) for place in drawn):
        return None
    axes = [axis for axis in "xyz" if axis in drawn[0]]
    if axes[:2] == ["x", "y"] and "pos" not in drawn[0]:
        return as_positions([[place.get(axis) for axis in axes] for place in drawn], len(nodes))
    return as_positions([place.get("pos") for place in drawn], len(nodes))


# ---- checks that networkx does not make


def _checked_xml(path: Path, namespace: str) -> ElementTree.Element:
    """The contents of an XML file without entities, whose edges join declared nodes."""
    text = read_utf8(path).decode()
    if re.search(r"<!\s*(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise problem(path, "it declares a DOCTYPE or entities, which are refused as unsafe; remove them.")
    try:
        root = ElementTree.fromstring(text)  # as text: what it says of its encoding is not asked
    except (ElementTree.ParseError, ValueError) as error:
        line = error.position[0] if isinstance(error, ElementTree.ParseError) else None
        raise problem(path, f"the XML is damaged ({shortened(str(error).partition(':')[0])}).", line) from None
    graphs, nodes, edges = (
        [part for part in root.iter() if isinstance(part.tag, str) and part.tag.rpartition("}")[2] == tag]
        for tag in ("graph", "node", "edge")
    )
    if len(graphs) != 1:
        raise problem(path, f"it holds {len(graphs)} graphs (nested ones count); give a file with one.")
    ends = [(edge.get("source"), edge.get("target")) for edge in edges]
    _check_declared(path, [node.get("id") or None for node in nodes], ends)
    for part in root.iter() if "}" not in str(root.tag) else ():
        part.tag = part.tag if "}" in str(part.tag) else f"{{{namespace}}}{part.tag}"
    return root


def _check_declared(path: Path, ids: Sequence[Hashable], ends: Sequence[tuple[Hashable, ...]]) -> None:
    """Refuse a node without an id, an id that stands twice, and an edge of a node that no entry declares."""
    known = set(ids)
    if None in known:
        raise problem(path, f"node {list(ids).index(None) + 1} has no id; give every node one.")
    if len(known) < len(ids):
        twice = Counter(ids).most_common(1)[0][0]
        raise problem(path, f"the node id {shown(twice)} occurs twice; give every node its own.")
    for place, pair in enumerate(ends, start=1):
        for end in pair:
            if end not in known:
                raise problem(path, f"edge {place} names the node {shown(end)}, which is not declared.")


def _id(value: Any) -> Hashable:
    """An id as networkx reads it: text, a number, or a list of these as a tuple; None for anything else."""
    if isinstance(value, list):
        return tuple(_id(part) for part in value)
    plain = isinstance(value, (str, int, float)) and not isinstance(value, bool)
    return value if plain and value == value else None  # NaN differs from itself
