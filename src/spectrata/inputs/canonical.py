"""The canonical form of a graph: compressed rows, each edge once per direction, no loops, and one weight per edge.

Every way of reading a graph ends here; graphs that stay on a GPU use the same checks (``device``).
"""

import os
from collections import Counter
from collections.abc import Hashable, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from spectrata.errors import (
    DirectedGraphError,
    DuplicateNameError,
    EmptyGraphError,
    GraphTypeError,
    MemoryEstimateError,
    OptionError,
    argument,
    shown,
    warn,
)
from spectrata.inputs.readers.arrays import is_sparse, is_tensor, module, require_rows, to_numpy
from spectrata.inputs.readers.files import listed
from spectrata.inputs.readers.raw import RawGraph, kind

MOST_NODES = 3_037_000_499  # two rows in one 64-bit key: more nodes than this would overflow it
BYTES_A_NODE = 64  # its name, its place in the rows, and working space
AGREEMENT = 1e-12  # relative difference of an edge's two directions or repeats that counts as equal


# ---- what a graph must be


def check_size(n_nodes: int) -> None:
    """Refuse a graph with too many nodes or too few."""
    if n_nodes < 2:
        some = "a single node" if n_nodes else "no nodes"
        raise EmptyGraphError(f"The graph has {some}; a spectrum needs at least two nodes and an edge.")
    most = MOST_NODES
    if n_nodes > 2**20 and "SC_PHYS_PAGES" in getattr(os, "sysconf_names", ()):  # where the machine tells its memory
        most = min(most, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // BYTES_A_NODE)
    if n_nodes > most:
        raise MemoryEstimateError(f"A graph of {shown(n_nodes)} nodes does not fit into memory; check n_nodes.")


def checked_names(raw: RawGraph) -> tuple[tuple[Hashable, ...], bool]:
    """The names of the nodes, each once, and whether they are more than row numbers."""
    names = raw.names
    if names is None:
        return tuple(range(raw.n_nodes)), False
    try:
        repeated = len(set(names)) < len(names)
    except TypeError:
        raise GraphTypeError("A node's name is not hashable; use text, numbers or tuples as names.") from None
    if repeated:
        name = Counter(names).most_common(1)[0][0]
        first = names.index(name)
        rows = f"rows {first} and {names.index(name, first + 1)}"
        raise DuplicateNameError(f"The node name {shown(name)} stands at {rows}; give every node its own name.")
    return names, not all(isinstance(name, int) and name == row for row, name in enumerate(names))


def warn_dropped(n_loops: int, n_repeats: int, weighted: bool) -> None:
    """Warn of what reading left out."""
    if n_loops:
        warn(f"Dropped {n_loops} self-loop{'s' * (n_loops > 1)}: a node has hop distance 0 to itself.")
    if n_repeats:
        what = f"{n_repeats} parallel edge{'s' * (n_repeats > 1)}"
        warn(f"Dropped {what}: an edge and its repeats or its reverse count once, and directions are ignored.")
    if weighted:
        warn(ignored())


# ---- weights


def ignored() -> str:
    """The warning that a graph's weights are not used."""
    return f"Ignoring edge weights; {argument('weights', True)} uses them."


def edge_weights(raw: RawGraph, weights: Any) -> np.ndarray | None:
    """One number per entry of ``raw.edges``, in the precision given; None where weights are not used."""
    if weights is None or (isinstance(weights, (bool, np.bool_)) and not weights):
        return None
    if isinstance(weights, (bool, np.bool_, str)):
        if isinstance(weights, str):
            name, lacks = weights if weights in raw.columns else None, "is not an edge attribute of the graph"
        else:
            name, weights, lacks = raw.weight, True, "needs weights, and the edges carry no weights under a usual name"
        values, what = None if name is None else raw.columns.read(name), argument("weights", weights)
        if values is None or (isinstance(values, list) and all(value is None for value in values)):
            own = f"use one of its own ({listed(list(raw.columns))}), or " if raw.columns else "it has none, so "
            choice = f"{own}give one number per edge as {argument('weights')}"
            if isinstance(weights, str) and (near := get_close_matches(weights.lower(), ("true", "false"), 1)):
                choice = f"write {argument('weights', near[0] == 'true')}"
            raise OptionError(f"{what} {lacks}; {choice}.")
        return _numbers(raw, values, what)
    if raw.form == "matrix":
        matrix, n = weights.tocsr() if is_sparse(weights) else to_numpy(weights), raw.n_nodes
        if hasattr(weights, "columns") and not ([*weights.index] == [*weights.columns] == [*(raw.names or range(n))]):
            words = "has other names on its rows or columns than the adjacency matrix, or another order"
            raise OptionError(f"{argument('weights')} {words}; bring it to the matrix's, or give an array.")
        if matrix.shape != (n, n):
            shape = f"has shape {tuple(matrix.shape)}, the adjacency matrix {(n, n)}"
            raise OptionError(f"{argument('weights')} {shape}; give weights of its shape.")
        weights = np.asarray(matrix[raw.edges[:, 0], raw.edges[:, 1]]).ravel()
    elif module(weights) == "pandas" and weights.index.tolist() != list(range(len(weights))):
        held, names = weights.to_dict(), range(raw.n_nodes) if raw.names is None else raw.names
        pairs = ((names[tail], names[head]) for tail, head in raw.edges.tolist())
        ends = [pair if pair in held else pair[::-1] for pair in pairs]
        if {*ends} != {*held} or len(held) < len(weights):
            words = f"is a {type(weights).__name__} whose index does not name every edge once, as a pair of nodes"
            raise OptionError(f"{argument('weights')} {words}; .to_numpy() goes by the order of edges.")
        weights = [held[pair] for pair in ends]
    return _numbers(raw, weights, argument("weights"))


def _numbers(raw: RawGraph, values: Any, what: str) -> np.ndarray:
    """The values as real numbers, or a refusal that names the first edge that has none."""
    if not hasattr(values, "__len__") or is_sparse(values):
        given = "" if is_sparse(values) else f"={shown(values)}"
        raise OptionError(f"weights{given} is {kind(values)}; give True, the name of an edge attribute, or an array.")
    array = to_numpy(values) if is_tensor(values) or hasattr(values, "__array__") else None
    if array is not None and array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    shape = (len(values),) if array is None else array.shape
    if shape != (len(raw.edges),):
        raise OptionError(f"{what} has shape {shape} for {len(raw.edges)} edges; give one number per edge, in order.")
    if array is not None and array.dtype.kind in "biuf":
        return array if array.dtype.kind == "f" else array.astype(np.float64)
    numbers = np.empty(len(raw.edges))
    for place, value in enumerate(values if array is None else array.tolist()):
        try:
            if value is None or isinstance(value, (str, bytes)) or np.ndim(value):
                raise TypeError
            numbers[place] = float(value)
        except (TypeError, ValueError, OverflowError):
            edge = f"the edge {edge_name(raw.names, raw.edges[place])}"
            wrong = f"the weight of {edge} is {shown(value)}, not a number; convert it"
            words = f"{edge} has no weight; give every edge one" if value is None else wrong
            raise OptionError(f"{what}: {words}.") from None
    return numbers


def edge_name(names: Sequence[Hashable] | None, edge: np.ndarray) -> str:
    """An edge in a message."""
    tail, head = (int(end) if names is None else names[int(end)] for end in edge)
    return f"{shown(tail)} to {shown(head)}"


# ---- rows


def canonical_rows(
    raw: RawGraph, names: Sequence[Hashable], weights: Any, undirected: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Drop loops and repeats, refuse directions, sort: the same for every form.

    Returned are compressed rows, both directions, and the weight of each edge ``x < y`` in lexicographic order.
    """
    if raw.directed and not undirected:
        words = "The graph is directed and hop distances need an undirected graph"
        raise _directed(words, "G.to_undirected() (igraph: G.as_undirected())")
    n, arcs = raw.n_nodes, raw.edges
    if len(arcs) and int(arcs.max()) >= n:
        require_rows(arcs, arcs < n, f"the graph has {n} nodes (rows 0 to {n - 1})")
    values = edge_weights(raw, weights)  # (E,) or None
    proper = arcs[:, 0] != arcs[:, 1]
    n_loops = len(arcs) - int(np.count_nonzero(proper))
    if n_loops == len(arcs):
        loops = f"no edge between different nodes, only {n_loops} self-loops" if n_loops else "no edge"
        raise EmptyGraphError(f"The graph has {loops}; a spectrum needs at least one edge.")
    if n_loops:
        arcs, values = arcs[proper], None if values is None else values[proper]
    keys, values = edge_keys(arcs, n, names, values)
    n_repeats = len(arcs) - _n_expected(raw.form, arcs, len(keys), names, undirected)
    raw.edges = arcs = np.empty((0, 2), dtype=np.int64)  # a quarter of the memory in use, not needed any more
    warn_dropped(n_loops, n_repeats, weights is None and raw.weighted)
    x, y = np.divmod(keys, n)
    keys = np.concatenate([keys, y * n + x])
    keys.sort()
    return np.searchsorted(keys, np.arange(n + 1) * n), keys % n, values


def edge_keys(
    arcs: np.ndarray, n: int, names: Sequence[Hashable], weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Keys ``x n + y`` (m,) of the edges ``x < y`` among arcs ``(E, 2)`` between different nodes, and their weights."""
    keys = np.minimum(arcs[:, 0], arcs[:, 1])
    keys *= n
    keys += np.maximum(arcs[:, 0], arcs[:, 1])
    return (_distinct(keys), None) if weights is None else _merged(keys, weights, arcs, names)


def _distinct(keys: np.ndarray) -> np.ndarray:
    """Keys in order, each once; they are sorted in place."""
    # Ten times faster than np.unique, which hashes: 0.05 s against 0.5 s for a million keys.
    keys.sort()
    first = np.empty(len(keys), dtype=bool)
    first[0] = True
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return keys[first]


def _merged(
    keys: np.ndarray, weights: np.ndarray, arcs: np.ndarray, names: Sequence[Hashable]
) -> tuple[np.ndarray, np.ndarray]:
    """Distinct keys in order, and the one weight of each; refuse what disagrees between directions and repeats."""
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights > 0)))
    if len(bad):
        words = f"The weight of the edge {edge_name(names, arcs[bad[0]])} is {float(weights[bad[0]])!r}"
        rule = "weights are positive, larger means closer, so convert distances first and drop edges below 0"
        raise OptionError(f"{words} ({len(bad)} such entries); {rule}.")
    # Single precision rounds the two directions of D^-1/2 A D^-1/2 apart.
    agreement = max(AGREEMENT, 4 * float(np.finfo(weights.dtype).eps))
    order = np.argsort(keys, kind="stable")
    keys, weights = keys[order], weights.astype(np.float64)[order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    least, most = np.minimum.reduceat(weights, starts), np.maximum.reduceat(weights, starts)
    apart = np.flatnonzero(most - least > agreement * most)
    if len(apart):
        first = apart[0]
        edge = edge_name(names, np.sort(arcs[order[starts[first]]]))
        found = f"{float(least[first])!r} and {float(most[first])!r} ({len(apart)} such edges)"
        words = f"The directions or repeats of the edge {edge} disagree in weight: {found}"
        raise DirectedGraphError(f"{words}; combine them first, for a matrix by (A + A.T) / 2.")
    return keys[starts], most


def _n_expected(form: str, arcs: np.ndarray, n_edges: int, names: Sequence[Hashable], undirected: bool) -> int:
    """How many entries hold each edge as its form does, once or per direction; refuse what must be directed."""
    once = form == "once" or (form == "list" and len(arcs) < 2 * n_edges)  # too few for both directions of each
    if (once and not undirected) or (len(arcs) == n_edges and form != "matrix"):
        return n_edges
    n = len(names)
    forward = _distinct(arcs[:, 0] * n + arcs[:, 1])
    if undirected or len(forward) == 2 * n_edges:
        return len(forward)
    if form == "matrix" or (form == "arcs" and len(forward) > n_edges):
        lonely = forward[~np.isin((forward % n) * n + forward // n, forward)]
        example = f"such as {edge_name(names, np.array(divmod(int(lonely[0]), n)))}"
        if form == "matrix":
            words = f"The adjacency matrix is not symmetric: {len(lonely)} entries have no counterpart, {example}"
            raise _directed(words, "symmetrise it with A + A.T")
        words = f"The graph is directed: {len(lonely)} edges stand in one direction only, {example}, and others in both"
        raise _directed(words, "to_undirected (PyG) or to_bidirected (DGL)")
    return n_edges


def _directed(words: str, other: str) -> DirectedGraphError:
    use = f"use {argument('undirected', True)} to count an edge where either direction has one, or {other} first"
    return DirectedGraphError(f"{words}; {use}.")
