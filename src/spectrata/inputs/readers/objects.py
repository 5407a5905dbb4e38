"""Objects of other libraries to plain edges: one small converter per kind of graph.

The libraries are recognised by what their objects can do, never imported here.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spectrata.errors import GraphTypeError
from spectrata.inputs.readers.annotated import from_anndata, from_pygsp, is_anndata, is_pygsp
from spectrata.inputs.readers.arrays import (
    ACCEPTED,
    check_square,
    edge_rows,
    from_array,
    from_dense,
    from_edges,
    from_entries,
    from_labelled,
    from_sparse,
    is_labelled,
    is_sparse,
    is_tensor,
    module,
    open_ended,
    to_numpy,
)
from spectrata.inputs.readers.raw import Asked, Columns, RawGraph, as_positions, kind

# ---- recognising


def recognise(graph: Any, asked: Asked) -> RawGraph:
    """Read the edges and names of whatever kind of object this is; ``asked.layout`` says what the caller calls it."""
    if asked.layout == "edges":
        return from_edges(graph, asked)
    if asked.layout == "adjacency":
        if is_labelled(graph):
            return from_labelled(graph, asked)
        if is_sparse(graph):
            return from_sparse(graph)
        return _from_sparse_tensor(graph) if _is_sparse_tensor(graph) else from_dense(to_numpy(graph))
    for fits, convert in _FORMS:
        if fits(graph):
            return convert(graph, asked)
    raise GraphTypeError(f"Cannot read a graph from {kind(graph)}; give {ACCEPTED}.")


def _is_networkx(obj: Any) -> bool:
    return all(hasattr(obj, name) for name in ("is_multigraph", "is_directed", "adj", "edges"))


def _is_igraph(obj: Any) -> bool:
    return all(hasattr(obj, name) for name in ("get_edgelist", "vcount", "vs", "es"))


def _is_pyg(obj: Any) -> bool:
    return module(obj) == "torch_geometric" or (hasattr(obj, "edge_index") and hasattr(obj, "num_nodes"))


def is_dgl(obj: Any) -> bool:
    """Whether this is a graph of DGL, known by its methods."""
    return callable(getattr(obj, "num_nodes", None)) and callable(getattr(obj, "edges", None))


def _is_sparse_tensor(obj: Any) -> bool:
    return is_tensor(obj) and "sparse" in str(getattr(obj, "layout", ""))


def _is_array(obj: Any) -> bool:
    return isinstance(obj, (np.ndarray, list, tuple)) or hasattr(obj, "__array__")


# ---- one converter per form


def from_networkx(graph: Any, asked: Asked | None = None) -> RawGraph:
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
        _pairs([(row[tail], row[head]) for tail, head in graph.edges()]),
        len(names),
        names,
        graph.is_directed(),
        "once",
        columns=columns,
        weight="weight",
        attributes=Columns.of(nodes),
        positions=as_positions([data.get("pos") for data in nodes], len(names)),
    )


def _from_igraph(graph: Any, asked: Asked) -> RawGraph:
    own = graph.vs.attributes()
    axes = [graph.vs[axis] for axis in ("x", "y", "z") if axis in own]
    return RawGraph(
        _pairs(graph.get_edgelist()),
        graph.vcount(),
        tuple(graph.vs["name"]) if "name" in own else None,
        graph.is_directed(),
        "once",
        columns=Columns(graph.es.attributes, graph.es.__getitem__),
        weight="weight" if "weight" in graph.es.attributes() else None,
        attributes=Columns(lambda: [name for name in own if name != "name"], graph.vs.__getitem__),
        positions=as_positions(list(zip(*axes, strict=True)), graph.vcount()),
    )


def _from_pyg(data: Any, asked: Asked) -> RawGraph:
    edge_index = getattr(data, "edge_index", None)
    if edge_index is None:
        raise GraphTypeError(
            f"There is no edge_index in {kind(data)}; give a homogeneous Data with an edge_index "
            "(for HeteroData, data.to_homogeneous() or the edge_index of one relation)."
        )
    with warnings.catch_warnings(record=True) as inferred:
        # PyG warns when it has only the edges to infer num_nodes from; as for plain edges, that is fine.
        warnings.simplefilter("always")
        n_nodes = int(data.num_nodes)
    raw = _from_edge_index(edge_index)
    columns = Columns(lambda: _rows_of(data, len(raw.edges)), lambda name: getattr(data, name))
    usual = [name for name in ("edge_weight", "edge_attr") if _is_one_column(data, name, len(raw.edges))]
    return replace(
        raw,
        n_nodes=n_nodes,
        open_ended=bool(inferred),
        columns=columns,
        weight=usual[0] if usual else None,
        attributes=Columns(lambda: _rows_of(data, n_nodes), lambda name: getattr(data, name)),
        positions=_tensor_positions(getattr(data, "pos", None), n_nodes),
    )


def _rows_of(data: Any, count: int) -> list[str]:
    """The names of a Data object's tensors that have so many rows."""
    keys = getattr(data, "keys", None)
    names = keys() if callable(keys) else keys if keys is not None else vars(data)
    held: dict[str, Any] = {name: getattr(data, name) for name in names if name != "edge_index"}
    return [name for name, value in held.items() if is_tensor(value) and value.shape[:1] == (count,)]


def _is_one_column(data: Any, name: str, n_edges: int) -> bool:
    values = getattr(data, name, None)
    return values is not None and is_tensor(values) and values.numel() == n_edges


def _tensor_positions(values: Any, n_nodes: int) -> np.ndarray | None:
    return as_positions(to_numpy(values), n_nodes) if is_tensor(values) and values.ndim == 2 else None


def _from_dgl(graph: Any, asked: Asked) -> RawGraph:
    if not getattr(graph, "is_homogeneous", True):
        raise GraphTypeError(
            "The DGL graph has several node or edge types; give one relation or dgl.to_homogeneous(g)."
        )
    tails, heads = (to_numpy(ends) for ends in graph.edges())
    edges, nodes = getattr(graph, "edata", {}), getattr(graph, "ndata", {})
    usual = [name for name in ("weight", "edge_weight", "w") if name in edges]
    return RawGraph(
        edge_rows(np.stack([tails, heads], axis=1).reshape(-1, 2)),
        int(graph.num_nodes()),
        form="arcs",
        columns=Columns(lambda: list(edges), edges.__getitem__),
        weight=usual[0] if usual else None,
        attributes=Columns(lambda: list(nodes), nodes.__getitem__),
        positions=_tensor_positions(nodes.get("pos"), int(graph.num_nodes())),
    )


def _from_edge_index(edge_index: Any) -> RawGraph:
    array = to_numpy(edge_index)
    if array.ndim != 2 or array.shape[0] != 2:
        raise GraphTypeError(f"An edge_index has shape (2, E), not {array.shape}.")
    return open_ended(edge_rows(array.T), "arcs")


def _from_tensor(tensor: Any, asked: Asked) -> RawGraph:
    if _is_sparse_tensor(tensor):
        return _from_sparse_tensor(tensor)
    array = to_numpy(tensor)
    raw = from_array(array, asked)
    return replace(raw, form="arcs") if raw.form == "list" and array.shape[0] == 2 else raw


def _from_sparse_tensor(tensor: Any) -> RawGraph:
    check_square(tuple(tensor.shape))
    entries = tensor.detach().cpu().to_sparse_coo().coalesce()
    rows, columns = to_numpy(entries.indices())
    return from_entries(rows, columns, to_numpy(entries.values()), tensor.shape[0])


_FORMS: Sequence[tuple[Callable[[Any], bool], Callable[[Any, Asked], RawGraph]]] = (
    (is_labelled, from_labelled),
    (_is_networkx, from_networkx),
    (_is_igraph, _from_igraph),
    (is_sparse, lambda matrix, asked: from_sparse(matrix)),
    (is_anndata, from_anndata),
    (is_pygsp, from_pygsp),
    (_is_pyg, _from_pyg),
    (is_dgl, _from_dgl),
    (is_tensor, _from_tensor),
    (_is_array, from_array),
)


def _pairs(pairs: Sequence[tuple[int, int]]) -> np.ndarray:
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)
