"""Read graphs: every accepted form becomes a canonical simple undirected graph.

Every kind of input is first turned into a ``RawGraph`` (plain edges, perhaps names); ``canonical`` cleans it.
"""

import hashlib
import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from spectrata.errors import EdgeRangeError, NodeCountError, OptionError, argument, shown
from spectrata.inputs.canonical import canonical_rows, check_size, checked_names, edge_keys, edge_weights
from spectrata.inputs.numbers import flag, whole
from spectrata.inputs.readers.graph_files import read_graph
from spectrata.inputs.readers.objects import is_anndata, recognise
from spectrata.inputs.readers.raw import NO_COLUMNS, Asked, RawGraph, too_many_nodes

HASHED = 2**20  # edges copied at a time to be hashed: 16 MB


@dataclass(frozen=True, eq=False)
class Graph:
    """A simple undirected graph in compressed rows.

    Examples
    --------
    >>> graph = as_graph(edges=[(0, 1), (1, 2), (2, 0), (2, 3)])
    >>> graph.n_nodes, graph.n_edges, graph.names
    (4, 4, (0, 1, 2, 3))
    >>> graph.indices[graph.indptr[2] : graph.indptr[3]].tolist()  # neighbours of row 2
    [0, 1, 3]
    """

    n_nodes: int
    indptr: np.ndarray  # (n_nodes + 1,) int64
    indices: np.ndarray  # (2 * n_edges,) int64: neighbours of each row, ascending, both directions, each once
    names: tuple[Hashable, ...]  # of the nodes, in row order; 0 .. n-1 when the input had none
    named: bool = False  # whether the names say more than the rows do
    weights: np.ndarray | None = None  # (n_edges,) float64, of each row of ``edges``; None where they are not used
    # The nodes' values in row order, read from the source when asked for; a pickle has those of files only.
    attributes: Mapping[str, Any] = NO_COLUMNS
    positions: np.ndarray | None = None  # (n_nodes, 2) or (n_nodes, 3) float64: where the source places its nodes

    def __post_init__(self) -> None:
        for array in (self.indptr, self.indices, self.weights):
            if array is not None:
                array.setflags(write=False)

    def __repr__(self) -> str:
        weighted = "" if self.weights is None else ", weighted=True"
        return f"Graph(n_nodes={self.n_nodes}, n_edges={self.n_edges}, named={self.named}{weighted})"

    @property
    def n_edges(self) -> int:
        return len(self.indices) // 2

    @property
    def weighted(self) -> bool:
        return self.weights is not None

    @cached_property
    def edges(self) -> np.ndarray:
        """Edges (m, 2) as rows x < y, in lexicographic order."""
        tails = np.repeat(np.arange(self.n_nodes, dtype=np.int64), np.diff(self.indptr))
        once = tails < self.indices
        edges = np.stack([tails[once], self.indices[once]], axis=1)
        edges.setflags(write=False)
        return edges

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the structure in row order, and of the weights where they are used; names play no part."""
        return digest_of(self.n_nodes, self.edges, self.weights)

    @cached_property
    def row(self) -> dict[Hashable, int]:
        return {name: row for row, name in enumerate(self.names)}


def digest_of(n_nodes: int, edges: np.ndarray, weights: np.ndarray | None) -> str:
    """SHA-256 of a graph from its edges ``(m, 2)``, rows ``x < y`` in lexicographic order, and their weights."""
    state = hashlib.sha256(np.array([n_nodes], dtype="<i8").tobytes())
    for start in range(0, len(edges), HASHED):
        state.update(np.ascontiguousarray(edges[start : start + HASHED], dtype="<i8").data)
    if weights is not None:
        state.update(np.ascontiguousarray(weights, dtype="<f8").data)
    return state.hexdigest()


def as_graph(
    graph: Any = None,
    *,
    edges: Any = None,
    adjacency: Any = None,
    n_nodes: Any = None,
    weights: Any = None,
    undirected: bool = False,
) -> Graph:
    """Take a graph in any accepted form and make it canonical.

    ``graph`` is a networkx, igraph or PyGSP graph, a scipy or torch sparse or dense adjacency (n, n), integer edges
    (2, E) or (E, 2), PyG ``Data`` or ``edge_index``, a DGL graph, AnnData, a path, or a ``Graph``. Instead of it,
    ``edges`` are undirected edges as rows counted from 0 ((E, 3) with ``weights=True``: edges and weights), and
    ``adjacency`` is a symmetric matrix; either may be a path. Together with an AnnData, ``adjacency`` names a matrix in
    its ``obsp``; without, that is "spatial_connectivities", "connectivities", or the only name that ends so.
    ``n_nodes`` is for edges that would miss the last isolated nodes.

    ``weights``: larger means closer, so convert distances first. A text names an edge attribute (or a column of a
    table). True takes the values of a matrix, the third column of a list of edges, or the attribute usually meant:
    ``weight``; ``edge_weight`` or ``edge_attr`` of PyG. An array has one number per edge as given, or the shape of the
    matrix. False ignores weights; None ignores them with a warning. Both directions and all repeats of an edge must
    have the same weight.

    Self-loops and parallel edges are dropped with one ``SpectrataWarning`` each. Directed graphs are refused;
    ``undirected`` puts an edge wherever either direction has one.

    Examples
    --------
    >>> ring = as_graph(edges=[(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> ring
    Graph(n_nodes=4, n_edges=4, named=False)
    >>> ring.edges.tolist()
    [[0, 1], [0, 3], [1, 2], [2, 3]]
    >>> as_graph(edges=[(0, 1), (1, 2), (2, 3), (3, 0)], weights=[1, 2, 3, 4]).weights.tolist()
    [1.0, 4.0, 2.0, 3.0]
    """
    undirected = flag(undirected, "undirected")
    asked = Asked(third_column=isinstance(weights, (bool, np.bool_)))
    if graph is not None and isinstance(adjacency, str) and is_anndata(graph):
        asked, adjacency = replace(asked, key=adjacency), None
    if sum(given is not None for given in (graph, edges, adjacency)) != 1:
        raise OptionError("Give the graph exactly once: as graph, as edges=, or as adjacency=.")
    n_nodes = None if n_nodes is None else whole(n_nodes, "n_nodes", 0)
    if isinstance(graph, Graph):
        return _reweighted(graph, n_nodes, weights)
    if graph is None:
        asked = replace(asked, layout="adjacency" if edges is None else "edges")
    given = next(form for form in (graph, edges, adjacency) if form is not None)
    raw = read_graph(given, asked) if isinstance(given, (str, os.PathLike)) else recognise(given, asked)
    raw = _with_n_nodes(raw, n_nodes)
    check_size(raw.n_nodes)
    names, named = checked_names(raw)
    indptr, indices, used = canonical_rows(raw, names, weights, undirected)
    positions = raw.positions if raw.positions is not None and len(raw.positions) == raw.n_nodes else None
    return Graph(raw.n_nodes, indptr, indices, names, named, used, raw.attributes, positions)


def as_pairs(edges: np.ndarray) -> Any:
    """Rows ``(E, 2)`` of ends in the form that ``edges=`` takes for rows even when there are just two of them."""
    return [tuple(pair) for pair in edges.tolist()] if len(edges) == 2 else edges


def _reweighted(graph: Graph, n_nodes: int | None, weights: Any) -> Graph:
    """The same structure with other weights, or with none."""
    _check_count(graph, n_nodes)
    if weights is None or (weights is True and graph.weights is not None):
        return graph
    if weights is True or isinstance(weights, str):
        raise OptionError(f"weights={shown(weights)}: the Graph was read without its weights; give weights= there.")
    values = edge_weights(RawGraph(graph.edges, graph.n_nodes, graph.names, form="once"), weights)
    if values is not None:
        values = edge_keys(graph.edges, graph.n_nodes, graph.names, values)[1]
    return replace(graph, weights=values)


def _with_n_nodes(raw: RawGraph, n_nodes: int | None) -> RawGraph:
    """The graph with as many nodes as the caller says; refuse a number that is not, or cannot be, meant."""
    if n_nodes is None:
        if raw.open_ended and raw.names is None and too_many_nodes(raw.n_nodes, len(raw.edges)):
            words = f"The largest row is {raw.n_nodes - 1}, with only {len(raw.edges)} edges"
            raise EdgeRangeError(f"{words}: rows count from 0 without gaps; renumber the nodes, or give n_nodes.")
        return raw
    if raw.open_ended and all(isinstance(name, int) and 0 <= name < n_nodes for name in raw.names or ()):
        # An edge list's integer labels are rows once the user has said how many there are.
        edges = raw.edges if raw.names is None else np.array(raw.names, dtype=np.int64)[raw.edges]
        return replace(raw, edges=edges, names=None, n_nodes=n_nodes)
    _check_count(raw, n_nodes)
    return raw


def _check_count(found: Graph | RawGraph, n_nodes: int | None) -> None:
    if n_nodes not in (None, found.n_nodes):
        raise NodeCountError(f"The graph has {found.n_nodes} nodes, but {argument('n_nodes', n_nodes)}; leave it out.")
