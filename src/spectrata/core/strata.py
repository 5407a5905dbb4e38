"""Strata of a graph: Definition 1 and Algorithm 1 of the paper, and their line graphs.

Two nodes are joined in stratum ``K`` when their hop distance is exactly ``K``. One all-pairs breadth-first search
gives every stratum; edges are drawn out of the distances when a stratum is asked for, and go when it goes. Where only
some hops of a large graph are asked for, searches stop at the hop, and no array of all pairs is made.
"""

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, overload

import numpy as np

from spectrata.core.rows import hop_pairs, pair_count
from spectrata.errors import HopError
from spectrata.inputs.graphs import Graph
from spectrata.inputs.numbers import one_of, whole_number
from spectrata.kernels import arrays, fast
from spectrata.kernels.backend import NUMPY, Backend, like, to_numpy


@dataclass(frozen=True, eq=False)
class Stratum:
    """The pairs of nodes at one exact hop distance, as a graph on all the nodes.

    Attributes
    ----------
    hop : int or str
        The distance ``K``; of strata by distance, the text of the bin.
    n_nodes : int
        Nodes of the whole graph; nodes without an edge here are singletons.
    edges : array of int64, shape (m, 2)
        Rows ``x < y`` in lexicographic order, in main memory or on an accelerator.
    weights : array of float64, shape (m,), optional
        One positive weight per edge, where the edges are; all 1 without it.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> second = st.Stratification(nx.path_graph(5)).strata[1]
    >>> second.hop, second.edges.tolist()
    (2, [[0, 2], [1, 3], [2, 4]])
    >>> second.n_edges, second.n_parts, second.n_singletons
    (3, 2, 0)
    """

    hop: Any
    n_nodes: int
    edges: np.ndarray
    weights: np.ndarray | None = None

    @property
    def number(self) -> int:
        """The hop as a number: ``K``, or the place of the bin, from 1."""
        return number_of(self.hop)

    @property
    def n_edges(self) -> int:
        """Number of edges ``m``."""
        return len(self.edges)

    @cached_property
    def counts(self) -> np.ndarray:
        """Edges per node, shape (n,)."""
        if not isinstance(self.edges, np.ndarray):
            return to_numpy(arrays.degrees(self.edges, self.n_nodes))
        return np.bincount(self.edges.ravel(), minlength=self.n_nodes)

    @cached_property
    def degrees(self) -> np.ndarray:
        """Sum of the weights of each node's edges, shape (n,)."""
        if self.weights is None:
            return self.counts.astype(np.float64)
        return to_numpy(fast.node_sums(self.edges, self.weights[None], self.n_nodes))[0]

    @property
    def total_weight(self) -> float:
        """Sum of the edges' weights; their number where they have none."""
        return float(self.n_edges) if self.weights is None else float(to_numpy(self.weights).sum())

    @cached_property
    def parts(self) -> np.ndarray:
        """Label of each node's connected part, numbered by first appearance, shape (n,)."""
        if isinstance(self.edges, np.ndarray):
            return fast.pair_part_labels(self.edges, self.n_nodes)
        labels = to_numpy(arrays.connected_parts(self.edges, self.n_nodes))
        _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[inverse]

    @property
    def n_parts(self) -> int:
        """Connected parts, singletons included."""
        return int(self.parts.max()) + 1

    @property
    def n_singletons(self) -> int:
        """Nodes without an edge in this stratum."""
        return int(np.count_nonzero(self.counts == 0))

    @property
    def nbytes(self) -> int:
        """Memory held by the edges."""
        return int(self.edges.nbytes)

    def on(self, backend: Backend) -> "Stratum":
        """The same stratum where a backend keeps arrays; what is known of its nodes goes along."""
        weights = None if self.weights is None else backend.asarray(self.weights)
        moved = replace(self, edges=backend.asarray(self.edges), weights=weights)
        vars(moved).update(counts=self.counts, degrees=self.degrees, parts=self.parts)
        return moved

    @property
    def n_line_edges(self) -> int:
        """Edges of the line graph: pairs of edges that meet in a node."""
        counts = self.counts.astype(np.int64)
        return int(np.sum(counts * (counts - 1) // 2))

    def __repr__(self) -> str:
        return f"Stratum(hop={self.hop}, n_nodes={self.n_nodes}, n_edges={self.n_edges})"


def number_of(hop: Any) -> int:
    """A hop label as a number: the hop distance, or the place of a bin of distances, from 1."""
    return int(getattr(hop, "number", hop))


def line_stratum(stratum: Stratum) -> Stratum:
    """The line graph of a stratum: its edges become nodes, joined when they share an end.

    Examples
    --------
    The line graph of a star with three arms is a triangle.

    >>> star = Stratum(1, 4, np.array([[0, 1], [0, 2], [0, 3]]))
    >>> line_stratum(star).edges.tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    ends = to_numpy(stratum.edges).T.ravel()
    edge_of_end = np.tile(np.arange(stratum.n_edges), 2)
    by_node = np.split(
        edge_of_end[np.argsort(ends, kind="stable")], np.cumsum(np.bincount(ends, minlength=stratum.n_nodes))[:-1]
    )
    pairs = [_all_pairs(meeting) for meeting in by_node if len(meeting) > 1]
    edges = np.concatenate(pairs) if pairs else np.empty((0, 2), dtype=np.int64)
    edges.sort(axis=1)
    ordered = edges[np.lexsort((edges[:, 1], edges[:, 0]))]
    return Stratum(stratum.hop, stratum.n_edges, like(ordered, stratum.edges))


def _all_pairs(members: np.ndarray) -> np.ndarray:
    first, second = np.triu_indices(len(members), 1)
    return np.column_stack([members[first], members[second]])


HOP_WEIGHTS = ("bottleneck", "product", "unit")
# Of more nodes than this, some hops are found by searches that stop there: distances take a byte for every pair.
ALL_PAIRS_NODES = 20_000
# Pairs of neighbouring hops drawn out of the distances in one pass, so that a long path is not read once per hop.
PAIRS_AT_ONCE = 2**22


class Strata(Sequence[Stratum]):
    """The strata of a graph at the wanted hops, made one at a time as they are read.

    Parameters
    ----------
    graph : Graph
    hops : None, int or iterable of int
        None: all; ``3``: up to 3, cut at the diameter; a list: exactly these.
    hop_weights : {"bottleneck", "product", "unit"}
        The weight of a pair more than one hop apart: the largest, over shortest paths, of the smallest weight on the
        path, or of the product of the weights; or 1.
    """

    def __init__(self, graph: Graph, hops: int | Iterable[int] | None = None, hop_weights: str = "bottleneck") -> None:
        one_of(hop_weights, "hop_weights", HOP_WEIGHTS)
        self.graph, self.hop_weights = graph, hop_weights
        self.n_nodes = graph.n_nodes
        self.diameter: int | None  # None where searches stop before it
        self._copy: tuple[Backend, Any] | None = None
        self._drawn: dict[int, np.ndarray] = {}
        if reads_all_pairs(graph.n_nodes, hops):
            self.distances = fast.hop_distances(graph.indptr, graph.indices)
            pairs = fast.pairs_per_hop(self.distances)
            self.diameter = len(pairs) - 1
            self.hops: tuple[Any, ...] = resolve_hops(hops, self.diameter)
            self.sizes: dict[Any, int] = {hop: int(pairs[hop]) for hop in self.hops}
        else:
            self.sizes, self.diameter = _bounded_sizes(graph, asked_hops(hops))
            self.hops = tuple(self.sizes)

    def only(self, hops: Iterable[int]) -> "Strata":
        """The same strata at some of the hops; distances are shared."""
        some = copy.copy(self)
        some.hops = self.chosen(hops)
        some.sizes = {hop: self.sizes[hop] for hop in some.hops}
        some._drawn = {}
        return some

    def chosen(self, hops: Iterable[Any]) -> tuple[Any, ...]:
        """Some of the hops, in their order here."""
        wanted = list(hops)
        for hop in wanted:
            self.require(hop)
        return tuple(hop for hop in self.hops if hop in wanted)

    def require(self, hop: Any) -> None:
        """Refuse a hop that is not here."""
        if hop not in self.sizes:
            raise HopError(f"hop {hop} is not among the requested hops, {_listed(self.hops)}.")

    @property
    def rule(self) -> str:
        """What decides the weights, and the pairs beside the graph: part of what a cached basis depends on."""
        return "" if self.graph.weights is None else self.hop_weights

    @property
    def by_distance(self) -> bool:
        """Whether strata are bins of distances, and not hops."""
        return False

    @property
    def is_bounded(self) -> bool:
        """Whether strata come from searches that stop at the hop, and not from all-pairs distances."""
        return not hasattr(self, "distances")

    def at(self, hop: int, backend: Backend = NUMPY) -> Stratum:
        """The stratum of one hop distance, its edges where the backend keeps arrays."""
        self.require(hop)
        if self.is_bounded:
            edges, weights = hop_pairs(self.graph, hop, self.hop_weights)
            if weights is not None:
                _require_weights(weights, hop)
                weights = backend.asarray(weights)
            return Stratum(hop, self.n_nodes, backend.asarray(edges), weights)
        edges = self._edges(hop) if backend == NUMPY else fast.pairs_at(self._moved(backend), hop, self.sizes[hop])
        return Stratum(hop, self.n_nodes, edges, self.pair_weights(hop, edges, backend))

    def _edges(self, hop: int) -> np.ndarray:
        """The pairs of a hop; those of the following hops are drawn with them while they are few."""
        drawn = self._drawn
        if hop not in drawn:
            last, total = hop, self.sizes[hop]
            while last + 1 in self.sizes and total + self.sizes[last + 1] <= PAIRS_AT_ONCE:
                last += 1
                total += self.sizes[last]
            if last == hop:
                return fast.pairs_at(self.distances, hop, self.sizes[hop])
            sizes = [self.sizes[one] for one in range(hop, last + 1)]
            found = fast.pairs_between(self.distances, hop, sizes)
            drawn = self._drawn = dict(zip(range(hop, last + 1), found, strict=True))
        return drawn[hop]

    def pair_weights(self, hop: int, edges: Any, backend: Backend = NUMPY) -> Any:
        """Weights of a stratum's edges, or None where all are 1."""
        if self.graph.weights is None or (hop > 1 and self.hop_weights == "unit"):
            return None
        if hop == 1:
            return backend.asarray(self.graph.weights)
        x, y = to_numpy(edges).T
        weights = self._path_weights[x, y]
        _require_weights(weights, hop)
        return backend.asarray(weights)

    @cached_property
    def _path_weights(self) -> np.ndarray:
        """Weights of the best shortest paths between all pairs, (n, n)."""
        graph = self.graph
        assert graph.weights is not None
        both = fast.both_directions(graph.indptr, graph.indices, graph.weights)
        return fast.path_weights(graph.indptr, graph.indices, both, self.distances, self.hop_weights == "product")

    def _moved(self, backend: Backend) -> np.ndarray:
        """The distances where the backend keeps arrays; an accelerator's copy is made once."""
        if backend == NUMPY:
            return self.distances
        if self._copy is None or self._copy[0] != backend:
            self._copy = (backend, backend.asarray(self.distances))
        return self._copy[1]

    def __len__(self) -> int:
        return len(self.hops)

    @overload
    def __getitem__(self, index: int) -> Stratum: ...
    @overload
    def __getitem__(self, index: slice) -> "list[Stratum]": ...
    def __getitem__(self, index: int | slice) -> "Stratum | list[Stratum]":
        if isinstance(index, slice):
            return [self.at(hop) for hop in self.hops[index]]
        return self.at(self.hops[index])

    def __iter__(self) -> Iterator[Stratum]:
        return (self.at(hop) for hop in self.hops)


def reads_all_pairs(n_nodes: int, hops: int | Iterable[int] | None) -> bool:
    """Whether strata come from all-pairs distances, and not from searches that stop at a hop."""
    return hops is None or n_nodes <= ALL_PAIRS_NODES


def _require_weights(weights: np.ndarray, hop: int) -> None:
    if not (np.isfinite(weights).all() and (weights > 0).all()):
        raise HopError(
            f"Products of weights leave double precision at hop {hop}; divide the weights by their mean, or use "
            "hop_weights='bottleneck'."
        )


def _bounded_sizes(graph: Graph, asked: int | list[int] | None) -> tuple[dict[int, int], int | None]:
    """Pairs at each hop asked for, and the diameter where a search met it."""
    if isinstance(asked, list):
        sizes = {hop: pair_count(graph, hop) for hop in asked}
        beyond = [hop for hop, size in sizes.items() if not size]
        if beyond:
            raise HopError(f"{_named(beyond)} larger than the diameter of the graph; use smaller hops.")
        return sizes, None
    sizes = {}
    for hop in range(1, (asked or graph.n_nodes) + 1):
        size = pair_count(graph, hop)
        if not size:
            return sizes, hop - 1
        sizes[hop] = size
    return sizes, None


def resolve_hops(hops: int | Iterable[int] | None, diameter: int) -> tuple[int, ...]:
    """The hop distances meant by ``hops`` on a graph of this diameter, ascending."""
    asked = asked_hops(hops)
    if asked is None or isinstance(asked, int):
        return tuple(range(1, min(asked or diameter, diameter) + 1))
    beyond = [hop for hop in asked if hop > diameter]
    if beyond:
        raise HopError(
            f"{_named(beyond)} larger than the diameter of the graph, {diameter}; use hops of at most {diameter}."
        )
    return tuple(asked)


def asked_hops(hops: Any) -> int | list[int] | None:
    """What ``hops`` asks for: None for all, a number for all up to it, or those of a list, ascending."""
    if hops is None:
        return None
    if isinstance(hops, np.ndarray):
        hops = hops.tolist()
    most = whole_number(hops)
    if most is not None:
        if most < 1:
            raise HopError(f"hops={hops} asks for no hop; give 1 or more, or None for all.")
        return most
    if isinstance(hops, str) or not isinstance(hops, Iterable):
        raise HopError(f"hops={hops!r} is not understood; give None, a whole number or a list of whole numbers.")
    wanted = list(hops)
    for hop in wanted:
        if (whole_number(hop) or 0) < 1:
            raise HopError(f"hops holds {hop!r}; every hop must be a whole number of at least 1.")
    if not wanted:
        raise HopError("hops is an empty list; give at least one hop, or None for all.")
    return sorted({int(hop) for hop in wanted})


def _named(hops: Sequence[int]) -> str:
    """The beginning of a sentence about hops."""
    return f"hop {hops[0]} is" if len(hops) == 1 else f"hops {_listed(hops)} are"


def _listed(values: Sequence[int]) -> str:
    shown = ", ".join(str(value) for value in values[:8])
    return shown + (", ..." if len(values) > 8 else "")
