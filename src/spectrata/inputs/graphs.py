"""Read graphs: every accepted form becomes a canonical simple undirected graph.

Every kind of input is first turned into a ``RawGraph`` (plain edges, perhaps names), then one function cleans it.
"""

import hashlib
import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from spectrata.errors import EdgeRangeError, NodeCountError, OptionError, shown
from spectrata.inputs.graph_checks import (
    check_nodes,
    check_some_edge,
    checked_names,
    distinct,
    n_expected,
    too_large,
    warn_dropped,
)
from spectrata.inputs.notebook import html_table
from spectrata.inputs.numbers import flag, whole
from spectrata.inputs.readers.annotated import is_anndata
from spectrata.inputs.readers.arrays import is_sparse, require_rows
from spectrata.inputs.readers.graph_files import read_graph
from spectrata.inputs.readers.objects import recognise
from spectrata.inputs.readers.raw import Asked, Columns, RawGraph
from spectrata.inputs.weights import AGREEMENT, edge_weights, merged

COMPILED_ENTRIES = 2**20  # from here on compiled loops save more than their loading takes
HASHED = 2**20  # edges copied at a time to be hashed


@dataclass(frozen=True, eq=False)
class Graph:
    """A simple undirected graph in compressed rows.

    Parameters
    ----------
    n_nodes : int
    indptr : ndarray of int64, shape (n_nodes + 1,)
    indices : ndarray of int64, shape (2 * n_edges,)
        Neighbours of each row, ascending, both directions, no loops, no repeats.
    names : tuple
        The nodes' names in row order; ``0 .. n-1`` when the input had none.
    named : bool
        Whether the names say more than the rows do.
    weights : ndarray of float64, shape (n_edges,), or None
        Of each row of ``edges``; None where weights are not used.
    attributes : mapping from str
        The nodes' values in row order, by attribute, read from the source when asked for. They play no part in the
        digest; a pickle has them only where they came from a file.
    positions : ndarray of float64, shape (n_nodes, 2) or (n_nodes, 3), or None
        Where the source places its nodes.

    Examples
    --------
    >>> graph = as_graph(edges=[(0, 1), (1, 2), (2, 0), (2, 3)])
    >>> graph.n_nodes, graph.n_edges, graph.names
    (4, 4, (0, 1, 2, 3))
    >>> graph.indices[graph.indptr[2] : graph.indptr[3]].tolist()  # neighbours of row 2
    [0, 1, 3]
    """

    n_nodes: int
    indptr: np.ndarray
    indices: np.ndarray
    names: tuple[Hashable, ...]
    named: bool = False
    weights: np.ndarray | None = None
    attributes: Mapping[str, Any] = field(default_factory=Columns)
    positions: np.ndarray | None = None

    def __repr__(self) -> str:
        weighted = "" if self.weights is None else ", weighted=True"
        return f"Graph(n_nodes={self.n_nodes}, n_edges={self.n_edges}, named={self.named}{weighted})"

    def _repr_html_(self) -> str:
        degrees = np.diff(self.indptr)
        rows: list[tuple[str, Any]] = [("nodes", self.n_nodes), ("edges", self.n_edges)]
        rows += [("isolated nodes", int(np.count_nonzero(degrees == 0))), ("mean degree", float(degrees.mean()))]
        rows += [("largest degree", int(degrees.max()))]
        if self.weights is not None and len(self.weights):
            low, high = self.weights.min(), self.weights.max()
            rows.append(("edge weights", f"{low:.3g} to {high:.3g}"))
        names = ", ".join(str(name) for name in self.names[:4]) + (", ..." if self.n_nodes > 4 else "")
        rows.append(("names", names if self.named else "0 to n - 1"))
        if self.positions is not None:
            rows.append(("positions", f"{self.positions.shape[1]} coordinates per node"))
        return html_table("Graph", ["", ""], rows)

    @property
    def n_edges(self) -> int:
        """Number of undirected edges."""
        return len(self.indices) // 2

    @property
    def weighted(self) -> bool:
        """Whether edges have weights."""
        return self.weights is not None

    @cached_property
    def edges(self) -> np.ndarray:
        """Edges (m, 2) as rows x < y, in lexicographic order."""
        tails = np.repeat(np.arange(self.n_nodes, dtype=np.int64), np.diff(self.indptr))
        once = tails < self.indices
        return _read_only(np.stack([tails[once], self.indices[once]], axis=1))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the structure in row order, and of the weights where they are used; names play no part."""
        return digest_of(self.n_nodes, self.edges, self.weights)

    @cached_property
    def row(self) -> dict[Hashable, int]:
        """The row of each name."""
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

    Parameters
    ----------
    graph : object, optional
        networkx, igraph or PyGSP graph, scipy or torch sparse or dense adjacency (n, n), integer edges (2, E) or (E,
        2), PyG ``Data`` or ``edge_index``, DGL graph, AnnData, path, or a ``Graph``.
    edges : array_like of int, shape (2, E) or (E, 2), or path, optional
        Instead of `graph`: undirected edges as rows counted from 0. (E, 3) with ``weights=True``: edges and weights.
    adjacency : array_like or sparse, shape (n, n), or path, optional
        Instead of `graph`: a symmetric adjacency matrix. Together with an AnnData: the name of a matrix in its
        ``obsp``; without, that is "connectivities", or the only name that ends so.
    n_nodes : int, optional
        Number of nodes, where edges alone would miss the last isolated ones.
    weights : str, bool or array_like, optional
        The edges' weights: larger means closer, so convert distances first. A text names an edge attribute (or a
        column of a table). True takes the values of a matrix, the third column of a list of edges, or the attribute
        usually meant: ``weight``; ``edge_weight`` or ``edge_attr`` of PyG. An array has one number per edge as given,
        or the shape of the matrix. False ignores weights; None ignores them with a warning.
    undirected : bool
        Take a directed graph as undirected: an edge wherever either direction has one.

    Returns
    -------
    Graph

    Notes
    -----
    Self-loops and parallel edges are dropped with one ``SpectrataWarning`` each. Directed graphs are refused unless
    `undirected` is set. Both directions and all repeats of an edge must have the same weight.

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
        return _reweighted(_same_size(graph, n_nodes), weights)
    matrix = graph if adjacency is None else adjacency
    found = None if undirected or edges is not None else _from_canonical_rows(matrix, n_nodes, weights)
    if found is not None:
        return found
    if graph is None:
        asked = replace(asked, layout="adjacency" if edges is None else "edges")
    given = next(form for form in (graph, edges, adjacency) if form is not None)
    raw = read_graph(given, asked) if isinstance(given, (str, os.PathLike)) else recognise(given, asked)
    return _canonical(_with_n_nodes(raw, n_nodes), weights, undirected)


def as_pairs(edges: np.ndarray) -> Any:
    """Rows ``(E, 2)`` of ends in the form that ``edges=`` takes for rows even when there are just two of them.

    Examples
    --------
    >>> as_graph(edges=as_pairs(np.array([[0, 1], [1, 2]]))).n_edges
    2
    """
    return [tuple(pair) for pair in edges.tolist()] if len(edges) == 2 else edges


# ---- the number of nodes


def _same_size(graph: Graph, n_nodes: int | None) -> Graph:
    if n_nodes not in (None, graph.n_nodes):
        raise NodeCountError(f"The graph has {graph.n_nodes} nodes, but n_nodes={n_nodes}; leave n_nodes out.")
    return graph


def _reweighted(graph: Graph, weights: Any) -> Graph:
    """The same structure with other weights, or with none."""
    if weights is None or (weights is True and graph.weights is not None):
        return graph
    if weights is True or isinstance(weights, str):
        raise OptionError(
            f"weights={shown(weights)} of a Graph that was read without its weights; give weights= where it is read."
        )
    values = edge_weights(RawGraph(graph.edges, graph.n_nodes, graph.names, form="once"), weights)
    if values is not None:
        values = simple_graph(graph.edges, graph.n_nodes, values, names=graph.names).weights
    return replace(graph, weights=values)


def _with_n_nodes(raw: RawGraph, n_nodes: int | None) -> RawGraph:
    if n_nodes is None:
        return _not_absurd(raw)
    if raw.names is not None and raw.open_ended and all(_is_row(name, n_nodes) for name in raw.names):
        # An edge list's integer labels are rows once the user has said how many there are.
        rows = np.array(raw.names, dtype=np.int64)
        return replace(raw, edges=rows[raw.edges], names=None, n_nodes=n_nodes)
    if raw.names is None and raw.open_ended:
        return replace(raw, n_nodes=n_nodes)
    if n_nodes != raw.n_nodes:
        raise NodeCountError(f"The graph has {raw.n_nodes} nodes, but n_nodes={n_nodes}; leave n_nodes out.")
    return raw


def _is_row(name: Hashable, n_nodes: int) -> bool:
    return isinstance(name, int) and 0 <= name < n_nodes


def _not_absurd(raw: RawGraph) -> RawGraph:
    if raw.open_ended and raw.names is None and raw.n_nodes > 1_000_000 + 100 * len(raw.edges):
        raise EdgeRangeError(
            f"The largest row is {raw.n_nodes - 1}, with only {len(raw.edges)} edges: rows count from 0 "
            "without gaps; renumber the nodes, or give n_nodes if this is meant."
        )
    return raw


# ---- matrices that are canonical already


def _from_canonical_rows(matrix: Any, n_nodes: int | None, weights: Any) -> Graph | None:
    """A large scipy CSR matrix that is canonical as it is, checked in one pass; None for all others."""
    if not is_sparse(matrix) or getattr(matrix, "format", "") != "csr" or matrix.nnz < COMPILED_ENTRIES:
        return None
    n = matrix.shape[0]
    plain = isinstance(matrix.data, np.ndarray) and matrix.data.dtype.kind in "biuf"
    if matrix.shape != (n, n) or n_nodes not in (None, n) or too_large(n) or not plain:
        return None
    if not (weights is None or isinstance(weights, (bool, np.bool_))):
        return None
    values, indptr = matrix.data, matrix.indptr.astype(np.int64)
    pointers = len(indptr) == n + 1 and indptr[0] == 0 and indptr[-1] == len(matrix.indices) == len(values)
    if not pointers or (np.diff(indptr) < 0).any() or not np.isfinite(values).all() or not values.all():
        return None
    from spectrata.kernels.compiled_rows import are_canonical

    single = values.dtype.kind == "f"
    agreement = max(AGREEMENT, 4 * float(np.finfo(values.dtype).eps)) if single else 0.0
    used = values.astype(np.float64) if weights else None
    merged_weights = np.empty(len(values) // 2 if weights else 0)
    if not are_canonical(indptr, matrix.indices, used, agreement, indptr[:-1].copy(), merged_weights):
        return None
    warn_dropped(0, 0, weights is None and bool((values != 1).any()))
    indices = matrix.indices.astype(np.int64)
    kept = _read_only(merged_weights) if weights else None
    return Graph(n, _read_only(indptr), _read_only(indices), tuple(range(n)), weights=kept)


# ---- the canonical form


def _canonical(raw: RawGraph, weights: Any, undirected: bool) -> Graph:
    """Drop loops and repeats, refuse directions, sort: the same for every form."""
    n = raw.n_nodes
    check_nodes(raw, undirected)
    require_rows(raw.edges, raw.edges < n, f"the graph has {n} nodes (rows 0 to {n - 1})")
    names, named = checked_names(raw)
    values = edge_weights(raw, weights)  # (E,) or None
    proper = raw.edges[:, 0] != raw.edges[:, 1]
    n_loops = len(raw.edges) - int(np.count_nonzero(proper))
    check_some_edge(len(raw.edges), len(raw.edges) - n_loops)
    arcs = raw.edges[proper] if n_loops else raw.edges  # (E, 2) without loops
    if n_loops and values is not None:
        values = values[proper]
    positions = raw.positions if raw.positions is not None and len(raw.positions) == n else None
    facts = {"names": names, "named": named, "attributes": raw.attributes, "positions": positions}
    graph = simple_graph(arcs, n, values, **facts)
    n_repeats = len(arcs) - n_expected(raw.form, arcs, graph.n_edges, names, undirected)
    warn_dropped(n_loops, n_repeats, weights is None and raw.weighted)
    return graph


def simple_graph(arcs: np.ndarray, n_nodes: int, weights: np.ndarray | None = None, **facts: Any) -> Graph:
    """The canonical graph of arcs between different nodes: each edge once, whatever its direction and repeats.

    Every way of reading a graph ends here.

    Parameters
    ----------
    arcs : ndarray of int64, shape (E, 2)
        Rows below ``n_nodes``, without loops.
    n_nodes : int
    weights : ndarray, shape (E,), optional
        Both directions and all repeats of an edge must agree.
    **facts
        Further fields of ``Graph``; ``names`` count the rows by default.

    Examples
    --------
    >>> simple_graph(np.array([[1, 0], [0, 1], [2, 1]]), 4).edges.tolist()
    [[0, 1], [1, 2]]
    """
    names = facts.setdefault("names", tuple(range(n_nodes)))
    keys = np.minimum(arcs[:, 0], arcs[:, 1])
    keys *= n_nodes
    keys += np.maximum(arcs[:, 0], arcs[:, 1])
    if weights is None:
        keys = distinct(keys)  # (m,)
    else:
        keys, weights = merged(keys, weights, arcs, names)
    tails, heads = np.divmod(keys, n_nodes)
    del keys
    indptr, indices = _compress(tails, heads, n_nodes)
    return Graph(n_nodes, _read_only(indptr), _read_only(indices), weights=weights, **facts)


def _compress(x: np.ndarray, y: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of edges ``x < y`` in lexicographic order, both directions."""
    indptr = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(x, minlength=n) + np.bincount(y, minlength=n), out=indptr[1:])
    if 2 * len(x) < COMPILED_ENTRIES:
        keys = np.concatenate([x * n + y, y * n + x])
        keys.sort()
        return indptr, keys % n
    from spectrata.kernels.compiled_rows import fill_rows

    indices = np.empty(2 * len(x), dtype=np.int64)
    fill_rows(x, y, indptr[:-1].copy(), indices)
    return indptr, indices


def _read_only(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array
