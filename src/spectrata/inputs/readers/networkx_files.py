"""GraphML, GEXF, GML and node-link JSON, parsed by networkx after checks that keep hostile files harmless."""

import io
import re
import warnings
from collections import ChainMap
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from spectrata.errors import SpectrataError, shortened, shown
from spectrata.inputs.readers.files import listed, problem, read_json, read_text
from spectrata.inputs.readers.objects import from_networkx
from spectrata.inputs.readers.raw import Columns, RawGraph, as_positions


def read_graphml(path: Path) -> RawGraph:
    """Read a GraphML file; the nodes' names are their ids."""
    import networkx as nx

    root = _checked_xml(path, "http://graphml.graphdrawing.org/xmlns")
    return _raw(path, lambda: nx.parse_graphml(_text(root), node_type=str, force_multigraph=True))


def read_gexf(path: Path) -> RawGraph:
    """Read a GEXF file, as Gephi writes it; names are the labels where every node has its own, else the ids."""
    import networkx as nx

    root = _checked_xml(path, "http://www.gexf.net/1.2draft")
    return _named_by_label(_raw(path, lambda: nx.read_gexf(io.BytesIO(_text(root).encode()), node_type=str)))


def read_gml(path: Path) -> RawGraph:
    """Read a GML file; names are the labels where every node has its own, else the ids."""
    import networkx as nx

    text = read_text(path)
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
    try:
        ends = [tuple(_id(edge.get(end)) for end in ("source", "target")) for edge in edges]
        check_declared(path, [_id(node.get("id")) for node in nodes], ends)
    except RecursionError:
        raise problem(path, "the JSON is nested too deeply.") from None
    # The key of the edges has another default in every second version of networkx.
    held = held | {"links": edges, "edges": edges, "multigraph": True}
    return _raw(path, lambda: nx.node_link_graph(held))


def _raw(path: Path, parse: Callable[[], Any]) -> RawGraph:
    """The graph that networkx makes of a file; whatever its parser raises becomes one sentence."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = parse()
    except RecursionError:
        raise problem(path, "the file is nested too deeply.") from None
    except (SpectrataError, MemoryError):
        raise
    except Exception as error:  # networkx's parsers raise almost anything on damaged files
        reason = shortened(str(error.args[0]) if error.args else type(error).__name__)
        raise problem(path, f"networkx cannot read it; it is damaged ({reason.rstrip('.')}).") from None
    raw, nodes = from_networkx(graph), [dict(data) for _, data in graph.nodes(data=True)]
    facts = graph.graph if isinstance(graph.graph, dict) else {}  # JSON may hold anything there
    usual_nodes, usual_edges = (facts.get(f"{kind}_default") for kind in ("node", "edge"))
    usual_nodes, usual_edges = (one if isinstance(one, dict) else {} for one in (usual_nodes, usual_edges))
    edges = [ChainMap(data, usual_edges) for _, _, data in graph.edges(data=True)]
    usual = "weight" if any("weight" in data for data in edges) else "value"
    return replace(
        raw,
        columns=Columns.of(edges),
        weight=usual if any(usual in data for data in edges) else None,
        # Not copied: many defaults for many nodes would fill the memory.
        attributes=Columns.of([ChainMap(_plain(data), usual_nodes) for data in nodes], keep=True),
        positions=_placed(nodes),
    )


def _named_by_label(raw: RawGraph) -> RawGraph:
    """Nodes named by their labels where every node has its own, else by their ids."""
    labels = raw.attributes.get("label", [None])
    if None in labels or len(set(labels)) < len(labels):
        return raw
    nodes = raw.attributes
    kept = [{name: nodes[name][row] for name in nodes if name != "label"} for row in range(raw.n_nodes)]
    return replace(raw, names=tuple(labels), attributes=Columns.of(kept, keep=True))


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a node without nested records, such as how it is drawn."""
    return {key: value for key, value in data.items() if not isinstance(value, dict)}


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


def _text(root: ElementTree.Element) -> str:
    return ElementTree.tostring(root, encoding="unicode")


def _checked_xml(path: Path, namespace: str) -> ElementTree.Element:
    """The contents of an XML file without entities, whose edges join declared nodes and have one direction or none."""
    text = read_text(path)
    if re.search(r"<!\s*(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise problem(path, "it declares a DOCTYPE or entities, which are refused as unsafe; remove them.")
    declared = re.match(r"\s*<\?xml[^>]*?encoding\s*=\s*[\"']([^\"']*)", text)
    if declared and declared[1].lower() not in ("utf-8", "utf8", "us-ascii", "ascii"):
        raise problem(path, f"it declares the encoding {shown(declared[1])[1:-1]}; save it as UTF-8.")
    try:
        root = ElementTree.fromstring(text.encode())
    except ElementTree.ParseError as error:
        reason = str(error).partition(":")[0]
        raise problem(path, f"the XML is damaged ({reason}).", error.position[0]) from None
    except (ValueError, LookupError):  # an encoding that the search above did not see
        raise problem(path, "the XML is damaged, or not UTF-8; save it as UTF-8.") from None
    graphs, nodes, edges = (list(_elements(root, tag)) for tag in ("graph", "node", "edge"))
    if len(graphs) != 1:
        raise problem(path, f"it holds {len(graphs)} graphs (nested ones count); give a file with one.")
    _settle_direction(path, graphs[0], edges)
    ends = [(edge.get("source"), edge.get("target")) for edge in edges]
    check_declared(path, [node.get("id") or None for node in nodes], ends)
    if "}" not in str(root.tag):
        for part in root.iter():
            part.tag = f"{{{namespace}}}{part.tag}" if "}" not in str(part.tag) else part.tag
    return root


def _elements(root: ElementTree.Element, tag: str) -> Iterable[ElementTree.Element]:
    return (part for part in root.iter() if isinstance(part.tag, str) and part.tag.rpartition("}")[2] == tag)


def _settle_direction(path: Path, graph: ElementTree.Element, edges: Sequence[ElementTree.Element]) -> None:
    """One direction for the whole graph, since networkx reads no mixed ones; a misspelt one must not pass for none."""
    key = "defaultedgetype" if "defaultedgetype" in graph.attrib else "edgedefault"
    default = graph.get(key, "undirected").lower()
    if default not in ("directed", "undirected", "mutual"):
        raise problem(path, f"{key} is {shown(graph.get(key))}; write directed or undirected.")
    for place, edge in enumerate(edges, start=1):
        own = edge.attrib.pop("directed", str(default == "directed")).lower()
        if own not in ("true", "false", "0", "1"):
            raise problem(path, f"edge {place} is directed={shown(own)}; write true or false.")
        if own in ("true", "1"):
            default = "directed"
    graph.set(key, default)


def check_declared(path: Path, ids: Sequence[Hashable], ends: Sequence[tuple[Hashable, ...]]) -> None:
    """Refuse a node without an id, an id that stands twice, and an edge of a node that no entry declares."""
    known = set(ids)
    if None in known:
        raise problem(path, f"node {list(ids).index(None) + 1} has no id; give every node one.")
    if len(known) < len(ids):
        seen: set[Hashable] = set()
        twice = next(name for name in ids if name in seen or seen.add(name))  # type: ignore[func-returns-value]
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
