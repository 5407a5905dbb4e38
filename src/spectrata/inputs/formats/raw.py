"""What a reader hands over: plain arrays, not yet checked against each other."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

# once:   every entry is one undirected edge (networkx, igraph, GraphML, GML)
# list:   a list of pairs, in which each edge may also stand once per direction
# arcs:   the edge_index habit: both directions, or each edge once
# matrix: the entries of an adjacency matrix, so both directions or it is directed
EdgeForm = Literal["once", "list", "arcs", "matrix"]


@dataclass(frozen=True, eq=False)
class RawGraph:
    """Edges as they were found: loops, repeats and both directions still in."""

    edges: np.ndarray  # (E, 2) int64 rows
    n_nodes: int
    names: tuple[Hashable, ...] | None = None
    directed: bool = False
    weighted: bool = False
    form: EdgeForm = "list"
    open_ended: bool = False  # n_nodes was only inferred from the edges


@dataclass(frozen=True, eq=False)
class RawSignal:
    """Numbers as they were found, with the names of nodes and snapshots where there are some."""

    values: np.ndarray  # (n,), (n, d) or (T, n, d)
    names: tuple[Hashable, ...] | None = None
    snapshots: tuple[Any, ...] | None = None
    snapshot_name: str = "snapshot"
