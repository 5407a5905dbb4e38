"""Graph files to plain edges, by file extension; tables of text in ``edge_tables``."""

import gzip
import io
import os
import re
from collections import ChainMap, Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from spectrata.errors import FileFormatError, InputError, shortened, shown
from spectrata.inputs.readers import files
from spectrata.inputs.readers.arrays import edge_rows, from_dense, from_edges, from_sparse, open_ended
from spectrata.inputs.readers.edge_tables import read_edge_table
from spectrata.inputs.readers.objects import from_networkx, recognise
from spectrata.inputs.readers.raw import PLAIN, Asked, Columns, RawGraph, as_positions, too_many_nodes

# The arrays of an archive that hold weights, most wanted first.
_WEIGHTS = ("weights", "weight", "edge_weight", "edge_attr")


def read_graph(path: str | os.PathLike[str], asked: Asked = PLAIN) -> RawGraph:
    """Read a graph file by its ending; ``asked`` says whether a table is a list of edges or a matrix."""
    with files.opened(path) as path:
        ending, known = files.suffix(path), (*_TABLES, *_READERS)
        if ending not in known:
            raise files.problem(path, f"this is no kind of graph file that is read; use one of {' '.join(known)}.")
        if ending in _READERS and asked.layout != "any":
            raise files.problem(path, f"give this kind of file as the graph itself, not as {asked.layout}=.")
        try:
            return _TABLES[ending](path, asked) if ending in _TABLES else _READERS[ending](path)
        except FileFormatError:
            raise
        except InputError as error:
            raise files.problem(path, str(error)) from None


# ---- numpy arrays


def _read_npz(path: Path) -> RawGraph:
    with files.open_npz(path) as npz:
        if "edges" in npz:
            raw = _pairs(npz["edges"])
        elif "edge_index" in npz:
            raw = replace(_pairs(npz["edge_index"].T), form="arcs")
        elif "adjacency" in npz:
            raw = from_dense(npz["adjacency"])
        elif {"shape", "data"} <= set(npz.keys):
            raw = from_sparse(files.read_sparse(npz))
        else:
            words = "a graph is stored as edges (with n_nodes), edge_index, adjacency, or by scipy.sparse.save_npz."
            raise files.problem(path, f"it has the arrays {files.listed(npz.keys)}; {words}")
        return _completed(npz, raw)


def _pairs(array: np.ndarray) -> RawGraph:
    # Of two edges from_edges would ask which way they lie; a file follows its key's habit, which is rows of pairs.
    return open_ended(edge_rows(array)) if array.shape == (2, 2) else from_edges(array)


def _completed(npz: files.Npz, raw: RawGraph) -> RawGraph:
    """Put in the number of nodes, their names, and the arrays that may hold a number per edge."""
    path, keys, n_edges = npz.path, npz.keys, len(raw.edges)
    for key in ("n_nodes", "num_nodes"):
        if key in npz:
            given, needed = npz[key], max(int(raw.edges.max(initial=-1)) + 1, raw.n_nodes)
            if given.dtype.kind not in "iu" or given.size != 1:
                raise files.problem(path, f"{key!r} is one whole number, not {given.dtype} of shape {given.shape}.")
            if given.item() < needed or (not raw.open_ended and given.item() != raw.n_nodes):
                raise files.problem(path, f"{key} is {given.item()}, but the edges need {needed}.")
            raw = replace(raw, n_nodes=given.item(), open_ended=False)
    if "names" in npz:
        names = npz.labels("names")
        if len(names) < raw.n_nodes or (len(names) > raw.n_nodes and not raw.open_ended):
            raise files.problem(path, f"there are {len(names)} names for {raw.n_nodes} nodes.")
        raw = replace(raw, n_nodes=len(names), names=names, open_ended=False)
    if too_many_nodes(raw.n_nodes, n_edges):
        raise files.problem(path, f"{raw.n_nodes} nodes for {n_edges} edges cannot be meant; renumber them.")
    if raw.form == "matrix":
        return raw

    def read(key: str) -> np.ndarray:
        with files.open_npz(path) as again:
            return again[key]

    fits = (key for key in _WEIGHTS if key in keys and npz[key].shape in ((n_edges,), (n_edges, 1)))
    others = ("edges", "edge_index", "n_nodes", "num_nodes", "names")
    columns = Columns(lambda: [key for key in keys if key not in others], read)
    return replace(raw, columns=columns, weight=next(fits, None))


# ---- Matrix Market


def _read_matrix_market(path: Path) -> RawGraph:
    """The adjacency matrix of a Matrix Market file, plain or gzipped."""
    import pandas as pd
    from scipy.io import mminfo

    data = _unzipped(path) if files.suffix(path) == ".mtx.gz" else files.read_utf8(path)
    data = data.rstrip() + b"\n"  # scipy reads past the end where the last line is not closed
    with files.parsing(path, "the Matrix Market data is damaged ({})."):
        rows, columns, claimed, layout, field, symmetry = mminfo(io.BytesIO(data))
        if field == "complex":
            raise files.problem(path, "it is complex; an adjacency matrix is real, integer or pattern.")
        if claimed > len(data) or too_many_nodes(rows, claimed):
            raise files.problem(path, f"it claims {rows} rows and {claimed} entries, more than the file holds.")
        # scipy's reader skips what it does not understand and harms memory on some damage: pandas reads the lines.
        form = {"sep": r"\s+", "comment": "%", "quoting": 3, "dtype": float, "float_precision": "round_trip"}
        form |= {"keep_default_na": False, "na_values": ""}
        lines = pd.read_csv(io.BytesIO(data), header=None, names=range(3), index_col=False, **form).to_numpy()[1:]
        width = 1 if layout == "array" else 2 if field == "pattern" else 3
        found = int(((~np.isnan(lines)).sum(axis=1) == width).sum())
        if found != len(lines) or (width > 1 and found != claimed):
            raise files.problem(path, f"it promises {claimed} entries of {width} numbers and holds {found}.")
        whole = lines[:, : width if "integer" in field else width - 1]
        if (np.trunc(whole) != whole).any():
            raise files.problem(path, "it promises integers, and holds other numbers.")
        return from_sparse(_matrix(lines[:, :width], (rows, columns), symmetry))


def _matrix(entries: np.ndarray, shape: tuple[int, int], symmetry: str) -> Any:
    """The matrix of a file's entries: values by column, or the places (from 1) of what is not zero, with values."""
    from scipy.sparse import coo_array

    if entries.shape[1] == 1:
        below = np.tri(*shape, k=0 if symmetry == "symmetric" else -1, dtype=bool) | (symmetry == "general")
        column, row = np.argwhere(below.T).T
    else:
        row, column = entries[:, :2].T.astype(int) - 1
    values = np.ones(len(entries)) if entries.shape[1] == 2 else entries[:, -1]
    if symmetry != "general":
        apart = row != column
        mirrored = values[apart] if symmetry == "symmetric" else -values[apart]
        row, column = np.append(row, column[apart]), np.append(column, row[apart])
        values = np.append(values, mirrored)
    matrix = coo_array((values, (row, column)), shape=shape)
    return coo_array(matrix.toarray()) if entries.shape[1] == 1 else matrix


def _unzipped(path: Path) -> bytes:
    data = bytearray()
    with files.parsing(path, "the gzip data is cut short or damaged; write it again."), gzip.open(path) as stream:
        # Piece by piece: to ask for the largest size at once would set that much memory aside.
        while piece := stream.read(2**20):
            data += piece
            files.refuse_size(path, len(data))
    return bytes(data)


# ---- GraphML, GEXF, GML and node-link JSON, parsed by networkx after checks that keep hostile files harmless


def _read_graphml(path: Path) -> RawGraph:
    """Read a GraphML file; the nodes' names are their ids."""
    import networkx as nx

    root = _checked_xml(path, "http://graphml.graphdrawing.org/xmlns")
    # networkx takes directions that are misspelt for undirected.
    for name, allowed in (("edgedefault", ("directed", "undirected")), ("directed", ("true", "false"))):
        for part in root.iter():
            if (value := part.get(name)) is not None:
                if value.lower() not in allowed:
                    raise files.problem(path, f"{name}={shown(value)}; write {' or '.join(allowed)}.")
                part.set(name, value.lower())
    text = partial(ElementTree.tostring, root, encoding="unicode")
    return _raw(path, lambda: nx.parse_graphml(text(), node_type=str, force_multigraph=True))


def _read_gexf(path: Path) -> RawGraph:
    """Read a GEXF file, as Gephi writes it; names are the labels where every node has its own, else the ids."""
    import networkx as nx

    root = _checked_xml(path, "http://www.gexf.net/1.2draft")
    return _named_by_label(_raw(path, lambda: nx.read_gexf(io.BytesIO(ElementTree.tostring(root)), node_type=str)))


def _read_gml(path: Path) -> RawGraph:
    """Read a GML file; names are the labels where every node has its own, else the ids."""
    import networkx as nx

    text = files.read_utf8(path).decode()
    # networkx refuses parallel edges unless the file calls itself a multigraph; here they are counted and dropped.
    text = re.sub(r"(^|\s)graph(\s*)\[", r"\1graph\2[ multigraph 1 ", text, count=1)
    return _named_by_label(_raw(path, lambda: nx.parse_gml(text, label=None)))


def _read_node_link(path: Path) -> RawGraph:
    """Read a node-link JSON file; the nodes' names are their ids."""
    import networkx as nx

    held = files.read_json(path)
    held = held if isinstance(held, dict) else {type(held).__name__: held}
    keys = [key for key in ("links", "edges") if key in held]
    if len(keys) == 2:
        raise files.problem(path, 'it has both "links" and "edges"; keep one.')
    if not keys or not all(isinstance(held.get(key), list) for key in ("nodes", keys[0])):
        found = files.listed(list(held)) or "nothing"
        raise files.problem(path, f'not a node-link graph: it needs lists "nodes" and "links" (found: {found}).')
    for key in ("nodes", keys[0]):
        for place, entry in enumerate(held[key], start=1):
            if not isinstance(entry, dict):
                raise files.problem(path, f"entry {place} of {key} is {shown(entry)}, not an object.")
    nodes, edges = held["nodes"], held[keys[0]]
    if not isinstance(held.get("directed", False), bool):
        raise files.problem(path, f"directed is {shown(held['directed'])}; write true or false.")
    ends = [tuple(_id(edge.get(end)) for end in ("source", "target")) for edge in edges]
    _check_declared(path, [_id(node.get("id")) for node in nodes], ends)
    # The key of the edges has another default in every second version of networkx.
    held = held | {"links": edges, "edges": edges, "multigraph": True}
    return _raw(path, lambda: nx.node_link_graph(held))


def _raw(path: Path, parse: Callable[[], Any]) -> RawGraph:
    """The graph that networkx makes of a file; whatever its parser raises becomes one sentence."""
    with files.parsing(path, "networkx cannot read it; it is damaged ({})."):
        graph = parse()
    raw, nodes = from_networkx(graph), [dict(data) for _, data in graph.nodes(data=True)]
    facts = graph.graph if isinstance(graph.graph, dict) else {}  # JSON may hold anything there
    defaults = (facts.get("node_default"), facts.get("edge_default"))
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
    drawn = [data.get("graphics", (data.get("viz") or {}).get("position", data)) for data in nodes]
    if not drawn or not all(isinstance(place, dict) for place in drawn):
        return None
    axes = [axis for axis in "xyz" if axis in drawn[0]]
    by_axis = axes[:2] == ["x", "y"] and "pos" not in drawn[0]
    places = ([place.get(axis) for axis in axes] if by_axis else place.get("pos") for place in drawn)
    return as_positions(list(places), len(nodes))


# ---- checks that networkx does not make


def _checked_xml(path: Path, namespace: str) -> ElementTree.Element:
    """The contents of an XML file without entities, whose edges join declared nodes."""
    text = files.read_utf8(path).decode()
    if re.search(r"<!\s*(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise files.problem(path, "it declares a DOCTYPE or entities, which are refused as unsafe; remove them.")
    try:
        root = ElementTree.fromstring(text)  # as text: what it says of its encoding is not asked
    except (ElementTree.ParseError, ValueError) as error:
        line, reason = getattr(error, "position", (None,))[0], shortened(str(error).partition(":")[0])
        raise files.problem(path, f"the XML is damaged ({reason}).", line) from None
    graphs, nodes, edges = (
        [part for part in root.iter() if isinstance(part.tag, str) and part.tag.rpartition("}")[2] == tag]
        for tag in ("graph", "node", "edge")
    )
    if len(graphs) != 1:
        raise files.problem(path, f"it holds {len(graphs)} graphs (nested ones count); give a file with one.")
    ends = [(edge.get("source"), edge.get("target")) for edge in edges]
    _check_declared(path, [node.get("id") or None for node in nodes], ends)
    for part in root.iter() if "}" not in str(root.tag) else ():
        part.tag = part.tag if "}" in str(part.tag) else f"{{{namespace}}}{part.tag}"
    return root


def _check_declared(path: Path, ids: Sequence[Hashable], ends: Sequence[tuple[Hashable, ...]]) -> None:
    """Refuse a node without an id, an id that stands twice, and an edge of a node that no entry declares."""
    known = set(ids)
    if None in known:
        raise files.problem(path, f"node {list(ids).index(None) + 1} has no id; give every node one.")
    if len(known) < len(ids):
        twice = Counter(ids).most_common(1)[0][0]
        raise files.problem(path, f"the node id {shown(twice)} occurs twice; give every node its own.")
    for place, pair in enumerate(ends, start=1):
        for end in pair:
            if end not in known:
                raise files.problem(path, f"edge {place} names the node {shown(end)}, which is not declared.")


def _id(value: Any) -> Hashable:
    """An id as networkx reads it: text, a number, or a list of these as a tuple; None for anything else."""
    if isinstance(value, list):
        return tuple(_id(part) for part in value)
    plain = isinstance(value, (str, int, float)) and not isinstance(value, bool)
    return value if plain and value == value else None  # NaN differs from itself


# ---- readers


# Tables, whose meaning a caller may have to give.
_TABLES: dict[str, Callable[[Path, Asked], RawGraph]] = {
    **dict.fromkeys((".txt", ".edgelist", ".edges", ".el", ".csv", ".tsv"), read_edge_table),
    ".npy": lambda path, asked: recognise(files.read_npy(path), asked),
}
_READERS: dict[str, Callable[[Path], RawGraph]] = {
    ".npz": _read_npz,
    ".graphml": _read_graphml,
    ".gexf": _read_gexf,
    ".gml": _read_gml,
    ".json": _read_node_link,
    ".mtx": _read_matrix_market,
    ".mtx.gz": _read_matrix_market,
}
