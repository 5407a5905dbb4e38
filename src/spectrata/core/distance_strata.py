"""Strata by distance: two nodes are joined in a stratum when their distance lies in its bin ``(lower, upper]``.

Distances are lengths of shortest weighted paths, or between positions; only pairs up to the last bin are ever made.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from spectrata.core.resources import require_memory
from spectrata.core.strata import Strata, Stratum
from spectrata.errors import OptionError, SignalTypeError, SignalValueError, warn
from spectrata.inputs.canonical import checked_names
from spectrata.inputs.graphs import Graph, as_graph, as_pairs, digest_of
from spectrata.inputs.readers.objects import anndata_attributes, is_anndata
from spectrata.inputs.readers.raw import RawGraph
from spectrata.inputs.readers.signal_objects import NAME_HEADS
from spectrata.kernels.backend import NUMPY, Backend
from spectrata.results.build import node_labels

# A distance this much above the edge of a bin, relatively, counts as on it: sums of lengths are rounded.
ON_THE_EDGE = 1e-12
ROWS_BYTES = 2**27  # of the dense block of distances that one call of scipy's dijkstra makes
# Heads of a column that names the nodes: cell_id, and not x_centroid.
_NAMES = re.compile("|".join(map(re.escape, NAME_HEADS)) + "|.*[ _.-](id|name)s?")
PAIR_BYTES = 64  # while they are made: two ends, a distance, and what sorting takes


class Interval(str):
    """The label of a bin, ``"(0, 50]"``."""

    number: int  # counts bins from 1, where an order of strata is needed


class DistanceStrata(Strata):
    """Strata of pairs ``x < y`` whose distance lies in a bin, in ascending order; bins without a pair are left out."""

    by_distance = True

    def __init__(self, graph: Graph, bins: np.ndarray, pairs: np.ndarray, distances: np.ndarray) -> None:
        self.graph, self.n_nodes, self.hop_weights = graph, graph.n_nodes, "unit"
        self.bins, self.is_bounded = bins, True  # there are no distances of all pairs
        self._pairs = _by_bin(bins, pairs, distances, graph.n_nodes)
        self.hops = tuple(self._pairs)
        self.sizes = {hop: len(edges) for hop, edges in self._pairs.items()}

    @property
    def rule(self) -> str:
        """The bins, how many pairs each has, and the hash of all: part of what cached bases and results depend on."""
        pairs = digest_of(self.n_nodes, np.concatenate(list(self._pairs.values())), None)
        return f"{self.bins.tolist()} {[len(edges) for edges in self._pairs.values()]} {list(self._pairs)} {pairs}"

    @property
    def content(self) -> str:
        """The hash of the pairs of each bin by the names of their nodes, whatever the order of the rows."""
        place = np.argsort(np.argsort(node_labels(self.graph.names)[0], kind="stable"))
        state = hashlib.sha256()
        for label, edges in self._pairs.items():
            pairs = np.sort(place[edges], axis=1)
            state.update(f"{label} {digest_of(self.n_nodes, pairs[np.lexsort(pairs.T[::-1])], None)}".encode())
        return state.hexdigest()

    def at(self, hop: Any, backend: Backend = NUMPY) -> Stratum:
        """The stratum of one bin, its edges where the backend keeps arrays."""
        self.require(hop)
        return Stratum(hop, self.n_nodes, backend.asarray(self._pairs[hop]))


def bin_edges(bins: Any) -> np.ndarray:
    """The edges of bins, checked: ascending, finite, none below 0."""
    try:
        edges = np.asarray(bins, dtype=np.float64)
    except (TypeError, ValueError):
        edges = np.empty(0)
    fine = edges.ndim == 1 and len(edges) > 1 and np.isfinite(edges).all() and edges[0] >= 0
    if not fine or (np.diff(edges) <= 0).any():
        raise OptionError(f"bins={bins!r} must be at least two ascending numbers from 0 on, such as [0, 50, 100].")
    return edges


def path_strata(graph: Any, distance: Any, bins: Any, **read_as: Any) -> DistanceStrata:
    """Strata by the length of shortest paths, up to the last bin; ``distance`` names the lengths of the edges."""
    if distance is None or bins is None:
        raise OptionError("Strata by distance need both distance=, the lengths of edges, and bins=.")
    edges = bin_edges(bins)
    known = as_graph(graph, weights=distance, **read_as)
    if known.weights is None:
        raise OptionError(f"distance={distance!r} names no lengths of edges; give an edge attribute or an array.")
    found = list(_paths_within(known, edges[-1] * (1 + ON_THE_EDGE)))
    pairs, lengths = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return DistanceStrata(replace(known, weights=None), edges, pairs, lengths)


def position_strata(positions: Any, bins: Any) -> DistanceStrata:
    """Strata by the distance between positions ``(n, d)``; the graph joins the points of the first bin."""
    from scipy.spatial import cKDTree

    edges, (points, names) = bin_edges(bins), _points(positions)
    tree, reach = cKDTree(points), edges[-1] * (1 + ON_THE_EDGE)
    count = (int(tree.count_neighbors(tree, reach)) - len(points)) // 2
    require_memory(
        count * PAIR_BYTES, f"The {count:,} pairs up to distance {edges[-1]:g}", "use bins that end at a smaller one"
    )
    pairs = tree.query_pairs(reach, output_type="ndarray").astype(np.int64)
    distances = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
    if not len(pairs):
        raise OptionError("No two positions lie within the last bin; choose wider bins.")
    near = pairs[(distances <= edges[1] * (1 + ON_THE_EDGE)) & (distances > edges[0])]
    graph = as_graph(edges=as_pairs(near if len(near) else pairs), n_nodes=len(points))
    known, _ = checked_names(RawGraph(graph.edges, len(points), names))
    held = anndata_attributes(positions) if is_anndata(positions) else graph.attributes
    graph = replace(graph, positions=points, names=known, named=names is not None, attributes=held)
    return DistanceStrata(graph, edges, pairs, distances)


def require_hops(strat: Any, what: str) -> None:
    """Refuse a stratification by distance where hop distances are needed."""
    if strat.strata.by_distance:
        raise OptionError(f"{what} needs hop distances, and this Stratification has bins of distances; leave out bins.")


def _by_bin(bins: np.ndarray, pairs: np.ndarray, distances: np.ndarray, n: int) -> dict[Interval, np.ndarray]:
    """The pairs of each bin that has some, in lexicographic order."""
    upper = bins * (1 + ON_THE_EDGE)
    owner = np.searchsorted(upper, distances, side="left")  # bin b holds upper[b - 1] < distance <= upper[b]
    order = np.argsort(pairs[:, 0] * n + pairs[:, 1], kind="stable")
    pairs, owner = pairs[order], owner[order]
    found, empty = {}, []
    for number in range(1, len(bins)):
        label, rows = Interval(f"({bins[number - 1]:.12g}, {bins[number]:.12g}]"), pairs[owner == number]
        label.number = number
        if len(rows):
            found[label] = rows
        else:
            empty.append(label)
    if not found:
        raise OptionError(f"No two nodes lie at a distance in {', '.join(empty[:4])}; choose other bins.")
    if empty:
        warn(f"No pair of nodes lies in {', '.join(empty[:4])}{', ...' * (len(empty) > 4)}; left out.")
    return found


def _paths_within(graph: Graph, reach: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pairs ``x < y`` joined by a path of at most this length, and the lengths; some rows at a time."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    from spectrata.kernels import searches

    n = graph.n_nodes
    assert graph.weights is not None
    both = searches.both_directions(graph.indptr, graph.indices, graph.weights)
    matrix = csr_array((both, graph.indices, graph.indptr), shape=(n, n))
    step = max(1, ROWS_BYTES // (8 * n))
    for start in range(0, n, step):
        rows = np.arange(start, min(n, start + step))
        lengths = dijkstra(matrix, indices=rows, limit=reach)  # (rows, n), infinite beyond the limit
        x, y = np.nonzero(lengths <= reach)
        later = y > x + start
        x, y = x[later], y[later]
        yield np.stack([x + start, y], axis=1).astype(np.int64), lengths[x, y]


def _points(positions: Any) -> tuple[np.ndarray, tuple | None]:
    """Positions ``(n, d)``, and the names of the nodes where a table has an index of names, or of an AnnData."""
    names = None
    if is_anndata(positions):
        if "spatial" not in positions.obsm:
            raise SignalTypeError("The AnnData's obsm has no 'spatial'; give an array of positions.")
        return _points(positions.obsm["spatial"])[0], tuple(np.asarray(positions.obs_names).tolist())
    if hasattr(positions, "index") and hasattr(positions, "to_numpy"):
        names = tuple(positions.index.tolist())
        names = None if names == tuple(range(len(names))) else names  # rows are not named
        heads = [str(head).strip().lower() for head in getattr(positions, "columns", ())]
        ids = len(heads) == 3 and heads[0] != "x" and positions.iloc[:, 0].is_unique
        ids = (ids and positions.dtypes.iloc[0].kind in "iu") or _NAMES.fullmatch("".join(heads[:1]) if heads else "x")
        other = heads[:1] if ids else [head for head in heads if {"x", "y"} <= {*heads} and head not in ("x", "y", "z")]
        if other:
            words = f"Column {other[0]!r} is taken for a coordinate; make it the index if it names the nodes"
            raise SignalTypeError(f"{words}, and choose the coordinates, as table[['x', 'y']], or give an array.")
        positions = positions.to_numpy()
    try:
        points = np.asarray(positions, dtype=np.float64)
    except (TypeError, ValueError):
        points = np.empty(0)
    if points.ndim != 2 or len(points) < 2 or not points.shape[1]:
        raise SignalTypeError(
            f"Positions must be numbers, one row of coordinates for each of 2 or more nodes, not {np.shape(positions)}."
        )
    if not np.isfinite(points).all():
        row = int(np.argmin(np.isfinite(points).all(axis=1)))
        raise SignalValueError(f"Positions hold NaN or infinite values, first in row {row}; leave such nodes out.")
    return points, names
