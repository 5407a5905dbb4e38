"""Strata of a graph: Definition 1 and Algorithm 1 of the paper, and their line graphs.

Two nodes are joined in stratum ``K`` when their hop distance is exactly ``K``. One all-pairs breadth-first search
gives every stratum; edges are drawn out of the distances when a stratum is asked for, and go when it goes. Where only
some hops of a large graph are asked for, searches stop at the hop, and no array of all pairs is made.
"""

import copy
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from spectrata.core.resources import distance_bytes, require_memory
from spectrata.core.stratum_rows import hop_pairs, pair_count
from spectrata.errors import HopError, argument
from spectrata.inputs.graphs import Graph
from spectrata.inputs.numbers import one_of, whole_number
from spectrata.kernels import arrays, edge_sums, searches
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
        return to_numpy(edge_sums.node_sums(self.edges, self.weights[None], self.n_nodes))[0]

    @cached_property
    def relative_degrees(self) -> np.ndarray:
        """Degrees in units of the mean weight of an edge: ``counts`` where all weights are equal, shape (n,)."""
        return self.degrees * (self.n_edges / self.total_weight if self.n_edges else 1.0)

    @property
    def total_weight(self) -> float:
        """Sum of the edges' weights; their number where they have none."""
        return float(self.n_edges) if self.weights is None else float(to_numpy(self.weights).sum())

    @cached_property
    def parts(self) -> np.ndarray:
        """Label of each node's connected part, numbered by first appearance, shape (n,)."""
        if isinstance(self.edges, np.ndarray):
            return searches.pair_part_labels(self.edges, self.n_nodes)
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
    """The line graph of a stratum: its edges become nodes, joined when they share an end."""
    from scipy.sparse import csr_array, triu

    m = stratum.n_edges
    incidence = csr_array(
        (np.ones(2 * m), to_numpy(stratum.edges).ravel(), 2 * np.arange(m + 1)), shape=(m, stratum.n_nodes)
    )
    pairs = np.column_stack(triu(incidence @ incidence.T, 1).nonzero()).astype(np.int64)
    return Stratum(stratum.hop, m, like(pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))], stratum.edges))


HOP_WEIGHTS = ("bottleneck", "product", "unit")
# Of more nodes than this, some hops are found by searches that stop there: distances take a byte for every pair.
ALL_PAIRS_NODES = 20_000
# Pairs of neighbouring hops drawn out of the distances in one pass, so that a long path is not read once per hop.
PAIRS_AT_ONCE = 2**22


class Strata(Sequence[Stratum]):
    """The strata of a graph at the wanted hops, made one at a time as they are read; see ``Stratification``."""

    by_distance = False  # whether strata are bins of distances, and not hops

    def __init__(self, graph: Graph, hops: int | Iterable[int] | None = None, hop_weights: str = "bottleneck") -> None:
        one_of(hop_weights, "hop_weights", HOP_WEIGHTS)
        self.graph, self.hop_weights = graph, hop_weights
        self.n_nodes = graph.n_nodes
        self.is_bounded = hops is not None and graph.n_nodes > ALL_PAIRS_NODES
        self._copies: dict[Backend, Any] = {}  # of the distances, on accelerators
        self._drawn: dict[int, np.ndarray] = {}
        self.sizes: dict[Any, int]
        asked = asked_hops(hops)
        if is_first_hop(asked):
            self.sizes = {1: graph.n_edges}
        elif self.is_bounded:
            self.sizes = _sizes(asked, lambda hop: pair_count(graph, hop))
            if asked not in (len(self.sizes), list(self.sizes)):
                self.diameter = len(self.sizes)  # where a search met it
        else:
            pairs = searches.pairs_per_hop(self.distances)
            self.diameter = len(pairs) - 1
            self.sizes = _sizes(asked, lambda hop: int(pairs[hop]) if hop < len(pairs) else 0, self.diameter)
        self.hops: tuple[Any, ...] = tuple(self.sizes)

    @cached_property
    def distances(self) -> np.ndarray:
        """Hop distances of all pairs, ``(n, n)``; not where strata are bounded."""
        require_memory(
            distance_bytes(self.n_nodes),
            f"The hop distances between {self.n_nodes:,} nodes",
            f"ask for some hops ({argument('hops', 2)}), or use st.band_spectra(graph, signal), which needs no "
            "distances (profile --bands 32)",
        )
        return searches.hop_distances(self.graph.indptr, self.graph.indices)

    @cached_property
    def diameter(self) -> int | None:
        """The largest hop distance; None where searches stop before it."""
        return None if self.is_bounded else len(searches.pairs_per_hop(self.distances)) - 1

    def only(self, hops: Iterable[Any]) -> "Strata":
        """The same strata at some of the hops; distances are shared."""
        some, wanted = copy.copy(self), list(hops)
        for hop in wanted:
            self.require(hop)
        some.sizes = {hop: size for hop, size in self.sizes.items() if hop in wanted}
        some.hops, some._drawn = tuple(some.sizes), {}
        return some

    def require(self, hop: Any) -> None:
        if hop not in self.sizes:
            raise HopError(f"hop {hop} is not among the requested hops, {_listed(self.hops)}.")

    @property
    def rule(self) -> str:
        """The rule of the weights, on which a cached basis depends beside the graph."""
        return "" if self.graph.weights is None else self.hop_weights

    def at(self, hop: int, backend: Backend = NUMPY) -> Stratum:
        """The stratum of one hop distance, its edges where the backend keeps arrays."""
        self.require(hop)
        if self.is_bounded or hop == 1:
            edges, weights = hop_pairs(self.graph, hop, self.hop_weights)
        else:
            edges, weights = self._edges(hop, backend), None
            if self.graph.weights is not None and self.hop_weights != "unit":
                x, y = to_numpy(edges).T
                weights = self._path_weights[x, y]
        if weights is not None:
            if not (np.isfinite(weights).all() and (weights > 0).all()):
                raise HopError(
                    f"Products of weights leave double precision at hop {hop}; divide the weights by their mean, or "
                    "use hop_weights='bottleneck'."
                )
            weights = backend.asarray(weights)
        return Stratum(hop, self.n_nodes, backend.asarray(edges) if isinstance(edges, np.ndarray) else edges, weights)

    def _edges(self, hop: int, backend: Backend) -> Any:
        """The pairs of a hop; those of the following hops are drawn with them while they are few."""
        if backend != NUMPY:  # an accelerator has its own copy of the distances
            if backend not in self._copies:
                self._copies[backend] = backend.asarray(self.distances)
            return searches.pairs_at(self._copies[backend], hop, self.sizes[hop])
        if hop not in self._drawn:
            last, total = hop, self.sizes[hop]
            while last + 1 in self.sizes and total + self.sizes[last + 1] <= PAIRS_AT_ONCE:
                last += 1
                total += self.sizes[last]
            together = range(hop, last + 1)
            found = searches.pairs_between(self.distances, hop, [self.sizes[one] for one in together])
            if last == hop:  # large, and gone with its stratum
                return found[0]
            self._drawn = dict(zip(together, found, strict=True))
        return self._drawn[hop]

    @cached_property
    def _path_weights(self) -> np.ndarray:
        """Weights of the best shortest paths between all pairs, (n, n)."""
        graph = self.graph
        assert graph.weights is not None
        both = searches.both_directions(graph.indptr, graph.indices, graph.weights)
        return searches.path_weights(graph.indptr, graph.indices, both, self.distances, self.hop_weights == "product")

    def __len__(self) -> int:
        return len(self.hops)

    def __getitem__(self, index: Any) -> Any:
        found = self.hops[index]
        return [self.at(hop) for hop in found] if isinstance(index, slice) else self.at(found)


def is_first_hop(hops: Any) -> bool:
    """Whether only the graph's own edges are asked for, so that no distance is needed."""
    return asked_hops(hops) in (1, [1])


def _sizes(asked: int | list[int] | None, count: Callable[[int], int], diameter: int | None = None) -> dict[int, int]:
    """Pairs at each hop asked for; ``count(hop)`` is 0 past the diameter."""
    if not isinstance(asked, list):
        hops = itertools.count(1) if asked is None else range(1, asked + 1)
        return dict(itertools.takewhile(lambda pair: pair[1], ((hop, count(hop)) for hop in hops)))
    sizes = {hop: count(hop) for hop in asked}
    beyond = [hop for hop, size in sizes.items() if not size]
    if beyond:
        named = f"hop {beyond[0]} is" if len(beyond) == 1 else f"hops {_listed(beyond)} are"
        advice = "; use smaller hops" if diameter is None else f", {diameter}; use hops of at most {diameter}"
        raise HopError(f"{named} larger than the diameter of the graph{advice}.")
    return sizes


def asked_hops(hops: Any) -> int | list[int] | None:
    """The meaning of ``hops``: None for all, a number for all up to it, or those of a list, ascending."""
    if hops is None:
        return None
    if isinstance(hops, np.ndarray):
        hops = hops.tolist()
    most = whole_number(hops)
    if most is not None:
        if most < 1:
            raise HopError(f"{argument('hops', hops)} asks for no hop; give 1 or more, or None for all.")
        return most
    if isinstance(hops, str) or not isinstance(hops, Iterable):
        raise HopError(f"hops={hops!r} is not understood; give None, a whole number or a list of whole numbers.")
    wanted = list(hops)
    if not wanted:
        raise HopError("hops is an empty list; give at least one hop, or None for all.")
    for hop in wanted:
        if (whole_number(hop) or 0) < 1:
            raise HopError(f"hops holds {hop!r}; every hop must be a whole number of at least 1.")
    return sorted({int(hop) for hop in wanted})


def _listed(values: Sequence[int]) -> str:
    shown = ", ".join(str(value) for value in values[:8])
    return shown + (", ..." if len(values) > 8 else "")
