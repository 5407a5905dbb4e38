"""Graphs of other libraries to plain edges: one small converter per kind of object.

The libraries are recognised by what their objects can do, never imported here.
"""

import warnings
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from spectrata.errors import GraphTypeError, OptionError, SignalTypeError, shown, warn
from spectrata.inputs.readers import arrays
from spectrata.inputs.readers.files import listed
from spectrata.inputs.readers.raw import Asked, Columns, RawGraph, as_positions, kind, refuse_repeated


def recognise(graph: Any, asked: Asked) -> RawGraph:
    """Read the edges and names of whatever kind of object this is; ``asked.layout`` says what the caller calls it."""
    if hasattr(graph, "data_vars"):
        raise OptionError("This is a result, not a graph; give the graph, or a Stratification of it.")
    if arrays.module(graph) == "polars" and hasattr(graph, "to_pandas"):
        graph = graph.to_pandas()
    if arrays.is_labelled(graph):
        return _from_frame(graph)
    if asked.layout == "edges":
        return arrays.from_edges(graph, asked)
    if isinstance(graph, (np.ndarray, list, tuple)) and asked.layout != "adjacency":
        return arrays.from_array(graph, asked)
    if arrays.module(graph) == "torch_geometric" or _has(graph, "edge_index", "num_nodes"):
        return _from_pyg(graph)
    if arrays.is_sparse(graph):
        return arrays.from_sparse(graph)
    if arrays.is_tensor(graph) and "sparse" in str(getattr(graph, "layout", "")):
        return _from_sparse_tensor(graph)
    if asked.layout == "adjacency":
        return arrays.from_dense(arrays.to_numpy(graph))
    if _has(graph, "is_multigraph", "is_directed", "adj", "edges"):
        return from_networkx(graph)
    if _has(graph, "get_edgelist", "vcount", "vs", "es"):
        return _from_igraph(graph)
    if is_anndata(graph):
        return _from_anndata(graph, asked.key)
    if arrays.is_sparse(getattr(graph, "W", None)) and hasattr(graph, "N"):
        return _from_pygsp(graph)
    if is_dgl(graph):
        return _from_dgl(graph)
    if arrays.is_tensor(graph) or hasattr(graph, "__array__"):
        raw = arrays.from_array(arrays.to_numpy(graph), asked)
        return replace(raw, form="arcs") if raw.form == "list" and arrays.is_tensor(graph) and len(graph) == 2 else raw
    raise GraphTypeError(f"Cannot read a graph from {kind(graph)}; give {arrays.ACCEPTED}.")


def _has(obj: Any, *names: str) -> bool:
    return all(hasattr(obj, name) for name in names)


def is_dgl(obj: Any) -> bool:
    return callable(getattr(obj, "num_nodes", None)) and callable(getattr(obj, "edges", None))


def is_anndata(obj: Any) -> bool:
    return _has(obj, "obsp", "obsm", "obs_names", "var_names", "X")


def _from_frame(frame: Any) -> RawGraph:
    """Read edges, the ends in the first two columns, or a square table whose index has the names of its columns."""
    if not hasattr(frame, "columns") or frame.shape[1] < 2:
        forms = "edges (two columns of ends, then attributes), or a square one with one set of names on both sides"
        raise GraphTypeError(f"Cannot read a graph from {kind(frame)}; give a DataFrame of {forms}.")
    if frame.index.tolist() == frame.columns.tolist():
        return replace(arrays.from_dense(arrays.to_numpy(frame)), names=tuple(frame.index.tolist()))
    if frame.shape[0] == frame.shape[1] > 3 and all(getattr(one, "kind", "O") in "biuf" for one in frame.dtypes):
        raise GraphTypeError("The square table has other names on its rows than on its columns; give both the same.")
    ends, more = frame.iloc[:, :2], [str(name) for name in frame.columns[2:]]
    if ends.isna().any(axis=None):
        row = int(np.argmax(ends.isna().any(axis=1)))
        raise GraphTypeError(f"Row {row} of the table of edges, counted from 0, lacks an end; drop it.")
    if any(getattr(kind_of, "kind", "O") == "f" for kind_of in ends.dtypes):
        raise GraphTypeError("The first two columns of the table are decimal numbers, not names of nodes.")
    names: dict[Any, int] = {}
    try:
        rows = [names.setdefault(name, len(names)) for name in ends.to_numpy().ravel().tolist()]
    except TypeError:
        raise GraphTypeError("The first two columns of the table hold objects that cannot name nodes.") from None
    weight = "weight" if "weight" in more else more[0] if len(more) == 1 else None
    refuse_repeated(more, "The table of edges")
    columns = Columns(lambda: more, lambda name: frame.iloc[:, 2 + more.index(name)].to_numpy())
    edges = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return RawGraph(edges, len(names), tuple(names), columns=columns, weight=weight)


def from_networkx(graph: Any) -> RawGraph:
    """Read nodes, edges and their attributes; the nodes' names are the nodes themselves."""
    names = tuple(graph)
    row = {name: i for i, name in enumerate(names)}
    # Attributes are read by name: a list of all edges with their dictionaries took 0.8 s for 300,000 edges, this 0.4 s.
    columns = Columns(
        lambda: (name for _, _, data in graph.edges(data=True) for name in data),
        lambda name: [value for _, _, value in graph.edges(data=name)],
    )
    nodes = [data for _, data in graph.nodes(data=True)]
    return RawGraph(
        np.array([(row[tail], row[head]) for tail, head in graph.edges()], dtype=np.int64).reshape(-1, 2),
        len(names),
        names,
        graph.is_directed(),
        "once",
        columns=columns,
        weight="weight",
        attributes=Columns.of(nodes),
        positions=as_positions([data.get("pos") for data in nodes], len(names)) if nodes and nodes[0] else None,
    )


def _from_igraph(graph: Any) -> RawGraph:
    own = graph.vs.attributes()
    axes = [graph.vs[axis] for axis in ("x", "y", "z") if axis in own]
    return RawGraph(
        np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2),
        graph.vcount(),
        tuple(graph.vs["name"]) if "name" in own else None,
        graph.is_directed(),
        "once",
        columns=Columns(graph.es.attributes, graph.es.__getitem__),
        weight="weight" if "weight" in graph.es.attributes() else None,
        attributes=Columns(lambda: [name for name in own if name != "name"], graph.vs.__getitem__),
        positions=as_positions(list(zip(*axes, strict=True)), graph.vcount()),
    )


def _from_pyg(data: Any) -> RawGraph:
    edge_index = getattr(data, "edge_index", None)
    if edge_index is None:
        advice = "give a homogeneous Data (for HeteroData, data.to_homogeneous() or the edge_index of one relation)"
        raise GraphTypeError(f"There is no edge_index in {kind(data)}; {advice}.")
    with warnings.catch_warnings(record=True) as inferred:
        # PyG warns when it has only the edges to infer num_nodes from; as for plain edges, that is fine.
        warnings.simplefilter("always")
        n_nodes = int(data.num_nodes)
    array = arrays.to_numpy(edge_index)
    if array.ndim != 2 or array.shape[0] != 2:
        raise GraphTypeError(f"An edge_index has shape (2, E), not {array.shape}.")
    edges = arrays.edge_rows(array.T)
    held: list[Any] = [getattr(data, name, None) for name in ("edge_weight", "edge_attr")]
    fits = [arrays.is_tensor(values) and values.numel() == len(edges) for values in held]
    return RawGraph(
        edges,
        n_nodes,
        form="arcs",
        open_ended=bool(inferred),
        columns=Columns(lambda: _rows_of(data, len(edges)), lambda name: getattr(data, name)),
        weight="edge_weight" if fits[0] else "edge_attr" if fits[1] else None,
        attributes=Columns(lambda: _rows_of(data, n_nodes), lambda name: getattr(data, name)),
        positions=as_positions(arrays.plain_array(getattr(data, "pos", None)), n_nodes),
    )


def _rows_of(data: Any, count: int) -> list[str]:
    """The names of a Data object's tensors that have so many rows."""
    held = data.to_dict() if hasattr(data, "to_dict") else vars(data)
    tensors = {name: value for name, value in held.items() if arrays.is_tensor(value) and name != "edge_index"}
    return [name for name, value in tensors.items() if value.shape[:1] == (count,)]


def _from_dgl(graph: Any) -> RawGraph:
    if not getattr(graph, "is_homogeneous", True):
        raise GraphTypeError("The DGL graph has several node or edge types; give one or dgl.to_homogeneous(g).")
    tails, heads = (arrays.to_numpy(ends) for ends in graph.edges())
    edges, nodes = getattr(graph, "edata", {}), getattr(graph, "ndata", {})
    return RawGraph(
        arrays.edge_rows(np.stack([tails, heads], axis=1).reshape(-1, 2)),
        int(graph.num_nodes()),
        form="arcs",
        columns=Columns(lambda: list(edges), edges.__getitem__),
        weight=next((name for name in ("weight", "edge_weight", "w") if name in edges), None),
        attributes=Columns(lambda: list(nodes), nodes.__getitem__),
        positions=as_positions(arrays.plain_array(nodes.get("pos")), int(graph.num_nodes())),
    )


def _from_sparse_tensor(tensor: Any) -> RawGraph:
    arrays.check_square(tuple(tensor.shape))
    entries = tensor.detach().cpu().to_sparse_coo().coalesce()
    rows, columns = arrays.to_numpy(entries.indices())
    return arrays.from_entries(rows, columns, arrays.to_numpy(entries.values()), tensor.shape[0])


# ---- graphs that travel with data


def _from_pygsp(graph: Any) -> RawGraph:
    """Read ``W``, ``coords`` and ``signals``."""
    raw, signals, coords = arrays.from_sparse(graph.W), getattr(graph, "signals", {}), getattr(graph, "coords", None)
    attributes = Columns(lambda: list(signals), signals.__getitem__)
    return replace(raw, attributes=attributes, positions=as_positions(coords, raw.n_nodes))


def _from_anndata(data: Any, key: str | None) -> RawGraph:
    """Read a matrix of ``obsp``; observations are the nodes.

    The matrix is ``key``, else "spatial_connectivities", "connectivities", or the only one whose name ends so.
    """
    name = _matrix_name(data, key)
    matrix = data.obsp[name]
    sparse = arrays.is_sparse(matrix)
    raw = arrays.from_sparse(_both_ways(matrix, name)) if sparse else arrays.from_dense(arrays.to_numpy(matrix))
    names = tuple(np.asarray(data.obs_names).tolist())
    if len(names) != raw.n_nodes:
        raise GraphTypeError(f"The AnnData has {len(names)} obs_names for {raw.n_nodes} rows of obsp; name each row.")
    places = data.obsm["spatial"] if "spatial" in data.obsm else None  # noqa: SIM401
    positions = None if arrays.is_sparse(places) else as_positions(places, raw.n_nodes)
    attributes = anndata_attributes(data, _expression_note(data, name))
    return replace(raw, names=names, attributes=attributes, positions=positions)


def anndata_attributes(data: Any, note: str = "") -> Columns:
    """Values of observations, by name: "X", or one in ``layers``, ``obsm``, ``obs`` or ``var_names``, in this order.

    ``note`` is what the first read of X, a layer or a gene warns of.
    """
    layers, obs = getattr(data, "layers", {}), getattr(data, "obs", {})
    warn_once, cells = cache(partial(warn, note)), data.obs_names

    def read(name: str) -> Any:
        if data.obs_names is not cells and not np.array_equal(np.asarray(data.obs_names), np.asarray(cells)):
            raise OptionError("The AnnData's observations changed after the graph was read; read the graph again.")
        if note and (name in ("X", *layers) or name not in (*data.obsm, *obs)):
            warn_once()
        return _attribute(data, name)

    names, tables = ["X", *layers, *data.obsm, *obs, *data.var_names], ("X", *layers)
    return Columns(lambda: names, read, labels=lambda name: list(data.var_names) if name in tables else None)


def _expression_note(data: Any, name: str) -> str:
    """A warning where a graph joins observations of similar expression, as scanpy's does by default."""
    used = str(getattr(data, "uns", {}).get("neighbors", {}).get("params", {}).get("use_rep", "X"))
    if name != "connectivities" or "spatial" in used or not used.startswith("X"):
        return ""
    there = "; scanpy.pp.neighbors(adata, use_rep='spatial') makes a graph of positions" * ("spatial" in data.obsm)
    return f"obsp[{name!r}] seems to join similar expression, so genes are alike on it by construction{there}."


def _both_ways(matrix: Any, name: str) -> Any:
    """Neighbours count in both directions: a list of nearest neighbours often has one of them only."""
    arrays.check_square(matrix.shape)
    there = (matrix != 0).astype(float)
    missing = (there.T - there) > 0
    if missing.nnz == 0:
        return matrix
    warn(f"Some pairs of obsp[{name!r}] are neighbours in one direction only; they count as neighbours.")
    return matrix + matrix.T.multiply(missing)


def _matrix_name(data: Any, key: str | None) -> str:
    keys = list(data.obsp.keys())
    if key is not None and key not in keys:
        held = f"it has {listed(keys)}" if keys else "it is empty"
        raise OptionError(f"adjacency={shown(key)} is not in the AnnData's obsp; {held}.")
    likely = [name for name in keys if name.endswith("connectivities")]
    usual = [name for name in ("spatial_connectivities", "connectivities") if name in likely]
    if key is None and len(usual) == 2:  # neighbours in expression are alike by construction
        warn(f"Using obsp[{usual[0]!r}] of the AnnData; adjacency={usual[1]!r} takes the other graph.")
    if key is not None or usual or len(likely) == 1:
        return key or (usual or likely)[0]
    words = "is empty; make a graph, of positions with scanpy.pp.neighbors(adata, use_rep='spatial') or Stratification."
    words += "from_positions(adata, bins=[...]), of expression with scanpy.pp.neighbors(adata)"
    if keys:
        words = f"has {listed(keys)} and no 'connectivities'; choose one with adjacency={keys[0]!r}"
    raise GraphTypeError(f"The AnnData's obsp {words}.")


def _attribute(data: Any, name: str) -> Any:
    if name == "X":
        return data.X
    for held in (getattr(data, "layers", {}), data.obsm, getattr(data, "obs", {})):
        if name in held:
            return held[name]
    refuse_repeated([gene for gene in data.var_names if gene == name], "The AnnData")
    place, table = list(data.var_names).index(name), data.X
    if len(getattr(table, "shape", ())) != 2 or table.shape[1] <= place:
        raise SignalTypeError(f"The X of the AnnData has no column {shown(name)}; give another name, or an array.")
    table = table.to_numpy() if arrays.is_labelled(table) else table.tocsr() if arrays.is_sparse(table) else table
    return arrays.plain_array(table[:, [place]]).ravel()
