"""What a graph must be to have strata: nodes, names, edges in both directions; and what reading leaves out."""

import os
from collections.abc import Hashable

import numpy as np

from spectrata.errors import (
    DirectedGraphError,
    DuplicateNameError,
    EmptyGraphError,
    GraphTypeError,
    MemoryEstimateError,
    shown,
    warn,
)
from spectrata.inputs.readers.raw import EdgeForm, RawGraph
from spectrata.inputs.weights import IGNORED

# Two rows in one 64-bit key: more nodes than this would overflow it, and never fit anyway.
MOST_NODES = 3_037_000_499
BYTES_A_NODE = 64  # its name, its place in the rows, and working space


def check_nodes(raw: RawGraph, undirected: bool) -> None:
    """Refuse a directed graph, and one with too many nodes or too few."""
    if raw.directed and not undirected:
        raise DirectedGraphError(
            "The graph is directed and hop distances need an undirected graph; use undirected=True to count an edge "
            "where either direction has one, or G.to_undirected() (igraph: G.as_undirected()) first."
        )
    if raw.n_nodes > MOST_NODES or too_large(raw.n_nodes):
        raise MemoryEstimateError(
            f"A graph of {shown(raw.n_nodes)} nodes does not fit into memory, at {BYTES_A_NODE} bytes a node for "
            "their names alone; check n_nodes."
        )
    check_some_node(raw.n_nodes)


def check_some_node(n_nodes: int) -> None:
    """Refuse a graph of less than two nodes."""
    if n_nodes == 0:
        raise EmptyGraphError("The graph has no nodes; a spectrum needs at least two nodes and an edge.")
    if n_nodes == 1:
        raise EmptyGraphError("The graph has a single node; a spectrum needs at least two nodes and an edge.")


def too_large(n_nodes: int) -> bool:
    """Whether so many nodes do not fit into memory."""
    return n_nodes * BYTES_A_NODE > _memory()


def _memory() -> float:
    """Bytes of memory the machine has, where it says so."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return float("inf")


def check_some_edge(n_given: int, n_left: int) -> None:
    """Refuse a graph without an edge between different nodes."""
    if n_given == 0:
        raise EmptyGraphError("The graph has no edge; a spectrum needs at least one.")
    if n_left == 0:
        raise EmptyGraphError(
            f"The graph has no edge between different nodes, only {n_given} self-loops; "
            "a spectrum needs at least one edge."
        )


def checked_names(raw: RawGraph) -> tuple[tuple[Hashable, ...], bool]:
    """The names of the nodes, each once, and whether they are more than row numbers."""
    if raw.names is None:
        return tuple(range(raw.n_nodes)), False
    try:
        n_distinct = len(set(raw.names))
    except TypeError:
        raise GraphTypeError("A node's name is not hashable; use text, numbers or tuples as names.") from None
    if n_distinct < len(raw.names):
        first = {name: row for row, name in reversed(list(enumerate(raw.names)))}
        row, name = next((i, name) for i, name in enumerate(raw.names) if first[name] != i)
        raise DuplicateNameError(
            f"The node name {shown(name)} stands at rows {first[name]} and {row}; give every node its own name."
        )
    only_rows = all(isinstance(name, int) and name == row for row, name in enumerate(raw.names))
    return raw.names, not only_rows


def n_expected(form: EdgeForm, arcs: np.ndarray, n_edges: int, names: tuple[Hashable, ...], undirected: bool) -> int:
    """How many entries hold each edge as its form does, once or per direction; refuse what must be directed."""
    if (form == "once" and not undirected) or (len(arcs) == n_edges and form != "matrix"):
        return n_edges
    n = len(names)
    forward = distinct(arcs[:, 0] * n + arcs[:, 1])
    if undirected or len(forward) == 2 * n_edges:
        return len(forward)
    if form == "matrix" or (form == "arcs" and len(forward) > n_edges):
        raise _one_way(form, forward, names)
    return n_edges


def _one_way(form: EdgeForm, forward: np.ndarray, names: tuple[Hashable, ...]) -> DirectedGraphError:
    n = len(names)
    lonely = forward[~np.isin((forward % n) * n + forward // n, forward)]
    count, (tail, head) = len(lonely), divmod(int(lonely[0]), n)
    example = f"{shown(names[tail])} to {shown(names[head])}"
    if form == "matrix":
        return not_symmetric(count, example)
    return DirectedGraphError(
        f"{count} edges stand in one direction only, such as {example}, and others in both, so the graph "
        "is directed; use undirected=True to count an edge where either direction has one, or to_undirected (PyG) or "
        "to_bidirected (DGL) first."
    )


def not_symmetric(count: int, example: str) -> DirectedGraphError:
    """The refusal of a matrix with entries that have no counterpart."""
    return DirectedGraphError(
        f"The adjacency matrix is not symmetric: {count} entries have no counterpart, such as {example}; "
        "use undirected=True to count an edge where either has one, or symmetrise it with A + A.T first."
    )


def warn_dropped(n_loops: int, n_repeats: int, weighted: bool) -> None:
    """Warn of what reading left out."""
    if n_loops:
        warn(f"Dropped {n_loops} self-loops: a node has hop distance 0 to itself.")
    if n_repeats:
        warn(f"Dropped {n_repeats} parallel edges: an edge and its repeats or its reverse count once.")
    if weighted:
        warn(IGNORED)


def distinct(keys: np.ndarray) -> np.ndarray:
    """Keys in order, each once; they are sorted in place."""
    # Ten times faster than np.unique, which hashes: 0.05 s against 0.5 s for a million keys.
    keys.sort()
    return keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
