"""Objects of other libraries to plain edges: one small converter per kind of graph.

The libraries are recognised by what their objects can do, never imported here.
"""

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spectrata.errors import GraphTypeError
from spectrata.inputs.formats.graph_arrays import (
    ACCEPTED,
    check_square,
    edge_rows,
    from_array,
    from_dense,
    from_entries,
    from_labelled,
    is_labelled,
    is_tensor,
    kind,
    module,
    open_ended,
    to_numpy,
)
from spectrata.inputs.formats.graph_files import read_graph
from spectrata.inputs.formats.raw import RawGraph

# ---- recognising


def recognise(graph: Any) -> RawGraph:
    """Read the edges and names of whatever kind of graph this is."""
    for fits, convert in _FORMS:
        if fits(graph):
            return convert(graph)
    raise GraphTypeError(f"Cannot read a graph from {kind(graph)}; give {ACCEPTED}.")


def _is_path(obj: Any) -> bool:
    return isinstance(obj, (str, os.PathLike))


def _is_networkx(obj: Any) -> bool:
    return all(hasattr(obj, name) for name in ("is_multigraph", "is_directed", "adj", "edges"))


def _is_igraph(obj: Any) -> bool:
    return all(hasattr(obj, name) for name in ("get_edgelist", "vcount", "vs", "es"))


def _is_sparse(obj: Any) -> bool:
    return hasattr(obj, "tocoo") and hasattr(obj, "nnz")


def _is_pyg(obj: Any) -> bool:
    return module(obj) == "torch_geometric" or (hasattr(obj, "edge_index") and hasattr(obj, "num_nodes"))


def _is_dgl(obj: Any) -> bool:
    return callable(getattr(obj, "num_nodes", None)) and callable(getattr(obj, "edges", None))


def _is_array(obj: Any) -> bool:
    return isinstance(obj, (np.ndarray, list, tuple)) or hasattr(obj, "__array__")


# ---- one converter per form


def _from_networkx(graph: Any) -> RawGraph:
    names = tuple(graph)
    row = {name: i for i, name in enumerate(names)}
    pairs = [(row[a], row[b]) for a, b in graph.edges()]
    weighted = any(_weighs(weight) for _, _, weight in graph.edges(data="weight", default=1))
    return RawGraph(_pairs(pairs), len(names), names, graph.is_directed(), weighted, "once")


def _weighs(weight: Any) -> bool:
    """Whether a weight says more than that there is an edge."""
    try:
        return bool(weight != 1)
    except (TypeError, ValueError):
        raise GraphTypeError(
            f"An edge's weight is {kind(weight)}, not a number; remove it, or give one number per edge."
        ) from None


def _from_igraph(graph: Any) -> RawGraph:
    names = tuple(graph.vs["name"]) if "name" in graph.vs.attributes() else None
    weighted = "weight" in graph.es.attributes() and any(map(_weighs, graph.es["weight"]))
    return RawGraph(
        _pairs(graph.get_edgelist()), graph.vcount(), names, graph.is_directed(), weighted, "once"
    )


def _from_pyg(data: Any) -> RawGraph:
    edge_index = getattr(data, "edge_index", None)
    if edge_index is None:
        raise GraphTypeError(
            f"There is no edge_index in {kind(data)}; give a homogeneous Data with an edge_index "
            "(for HeteroData, data.to_homogeneous() or the edge_index of one relation)."
        )
    with warnings.catch_warnings(record=True) as inferred:
        # PyG warns when it has only the edges to infer num_nodes from; as for plain edges, that is fine.
        warnings.simplefilter("always")
        n_nodes = data.num_nodes
    raw = _from_edge_index(edge_index)
    return replace(_sized(raw, n_nodes, weighted=_tensor_weighted(data)), open_ended=bool(inferred))


def _tensor_weighted(data: Any) -> bool:
    for name in ("edge_weight", "edge_attr"):
        weights = getattr(data, name, None)
        if weights is not None and is_tensor(weights) and weights.numel() == data.edge_index.shape[1]:
            return bool((weights != 1).any())
    return False


def _from_dgl(graph: Any) -> RawGraph:
    if not getattr(graph, "is_homogeneous", True):
        raise GraphTypeError(
            "The DGL graph has several node or edge types; give one relation or dgl.to_homogeneous(g)."
        )
    tails, heads = (to_numpy(ends) for ends in graph.edges())
    edges = edge_rows(np.stack([tails, heads], axis=1).reshape(-1, 2))
    return _sized(RawGraph(edges, 0, form="arcs"), graph.num_nodes())


def _from_edge_index(edge_index: Any) -> RawGraph:
    array = to_numpy(edge_index)
    if array.ndim != 2 or array.shape[0] != 2:
        raise GraphTypeError(f"An edge_index has shape (2, E), not {array.shape}.")
    return open_ended(edge_rows(array.T), "arcs")


def _from_tensor(tensor: Any) -> RawGraph:
    array = to_numpy(tensor)
    raw = from_array(array)
    return replace(raw, form="arcs") if raw.form == "list" and array.shape[0] == 2 else raw


def _from_sparse(matrix: Any) -> RawGraph:
    check_square(matrix.shape)
    coo = matrix.tocoo(copy=True)
    coo.sum_duplicates()
    return from_entries(coo.row, coo.col, coo.data, matrix.shape[0])


def from_adjacency(adjacency: Any) -> RawGraph:
    """Read a sparse or dense matrix that the user calls an adjacency matrix."""
    if is_labelled(adjacency):
        return from_labelled(adjacency)
    return _from_sparse(adjacency) if _is_sparse(adjacency) else from_dense(to_numpy(adjacency))


_FORMS: Sequence[tuple[Callable[[Any], bool], Callable[[Any], RawGraph]]] = (
    (_is_path, read_graph),
    (is_labelled, from_labelled),
    (_is_networkx, _from_networkx),
    (_is_igraph, _from_igraph),
    (_is_sparse, _from_sparse),
    (_is_pyg, _from_pyg),
    (_is_dgl, _from_dgl),
    (is_tensor, _from_tensor),
    (_is_array, from_array),
)


# ---- plain arrays


def _pairs(pairs: Sequence[tuple[int, int]]) -> np.ndarray:
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _sized(raw: RawGraph, n_nodes: int, weighted: bool = False) -> RawGraph:
    return replace(raw, n_nodes=int(n_nodes), weighted=weighted, open_ended=False)
