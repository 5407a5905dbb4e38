"""Strata of large graphs as compressed rows, made by searches that stop at the hop: no array of all pairs.

A stratum is the Boolean product of ``K`` adjacency matrices less those of fewer, made row by row; its size is
estimated from a few rows before anything is allocated.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from spectrata.core.resources import require_memory
from spectrata.inputs.graphs import Graph
from spectrata.kernels import searches, threads

SAMPLED_ROWS = 512  # spheres, whose mean then has a standard error of 4 % where they spread as much as they are large


class StratumRows(NamedTuple):
    """Compressed rows of a stratum, both directions of every edge, ascending; weights beside ``indices``, or None."""

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray | None


def hop_rows(graph: Graph, hop: int, hop_weights: str = "bottleneck") -> StratumRows:
    """Compressed rows of the stratum at one hop distance, with weights by a rule of ``core.strata.Strata``."""
    given = graph.weights
    weights = None if given is None else searches.both_directions(graph.indptr, graph.indices, given)
    if hop == 1:
        return StratumRows(graph.indptr, graph.indices, weights)
    weighted = weights is not None and hop_weights != "unit"
    offsets = np.concatenate([[0], np.cumsum(_all_sizes(graph, hop, weighted))])
    indices = np.empty(offsets[-1], dtype=index_type(graph.n_nodes))
    found = np.empty(len(indices)) if weighted else None

    def fill(rows: np.ndarray, mark: np.ndarray, queue: np.ndarray) -> None:
        from spectrata.kernels import spheres

        if found is None:
            spheres.fill_spheres(graph.indptr, graph.indices, hop, rows, mark, queue, offsets, indices)
            return
        space, product = np.empty(graph.n_nodes), hop_weights == "product"
        known = graph.indptr, graph.indices, weights
        spheres.fill_weighted_spheres(*known, hop, product, rows, mark, queue, space, offsets, indices, found)

    _by_rows(graph, np.arange(graph.n_nodes), fill)
    return StratumRows(offsets, indices, found)


def _all_sizes(graph: Graph, hop: int, weighted: bool) -> np.ndarray:
    """Nodes at exactly this distance from each node; refused where their stratum would not fit in memory."""
    needed = stratum_bytes(graph, hop, weighted=weighted)
    require_memory(needed, f"The stratum K = {hop} of {graph.n_nodes:,} nodes", "use fewer hops")
    return sphere_sizes(graph, hop, np.arange(graph.n_nodes))[:, -1]


def stratum_bytes(graph: Graph, hop: int, seed: int = 0, *, weighted: bool = False) -> int:
    """Estimated memory of one stratum's rows, from the spheres of a few random nodes and three standard errors."""
    n = graph.n_nodes
    rows = np.random.default_rng([seed, hop]).choice(n, size=min(n, SAMPLED_ROWS), replace=False)
    sizes = sphere_sizes(graph, hop, np.sort(rows))[:, -1]
    spread = sizes.std(ddof=1) / np.sqrt(len(sizes)) if 1 < len(sizes) < n else 0.0
    entries = n * (sizes.mean() + 3 * spread)
    width, weight = index_type(graph.n_nodes).itemsize, 8 * weighted
    return int(entries * (width + weight)) + 16 * n + threads.threads() * (2 * width + weight) * n


def index_type(n: int) -> np.dtype:
    """The smallest type that holds the indices of ``n`` nodes."""
    return np.dtype(np.int32 if n < 2**31 else np.int64)


def sphere_sizes(graph: Graph, hops: int, rows: np.ndarray) -> np.ndarray:
    """Nodes at exactly 1, 2, ... hops from each of some nodes, ascending: (rows, hops)."""
    sizes = np.zeros((len(rows), hops), dtype=np.int64)

    def count(some: np.ndarray, mark: np.ndarray, queue: np.ndarray) -> None:
        from spectrata.kernels import spheres

        found = np.empty((len(some), hops), dtype=np.int64)
        spheres.sphere_sizes(graph.indptr, graph.indices, some, mark, queue, found)
        sizes[np.searchsorted(rows, some)] = found

    _by_rows(graph, rows, count)
    return sizes


def _by_rows(graph: Graph, rows: np.ndarray, work: Callable[[np.ndarray, np.ndarray, np.ndarray], None]) -> None:
    """Give each thread an equal share of rows, with its own space for a search."""
    shares = [share for share in np.array_split(rows, 4 * threads.threads()) if len(share)]
    space: list[tuple[np.ndarray, np.ndarray]] = []

    def run(index: int) -> None:
        try:
            mark, queue = space.pop()  # of a share that is done
        except IndexError:
            mark, queue = np.empty((2, graph.n_nodes), dtype=index_type(graph.n_nodes))
        work(shares[index], mark, queue)
        space.append((mark, queue))

    threads.spread(run, range(len(shares)))


def hop_pairs(graph: Graph, hop: int, hop_weights: str = "bottleneck") -> tuple[np.ndarray, np.ndarray | None]:
    """The pairs ``x < y`` of one stratum, ``(m, 2)`` in lexicographic order, and their weights ``(m,)`` or None."""
    if hop == 1:
        return graph.edges, graph.weights
    from spectrata.kernels import spheres

    rows = hop_rows(graph, hop, hop_weights)
    pairs = np.empty((len(rows.indices) // 2, 2), dtype=np.int64)
    given = np.zeros(0) if rows.weights is None else rows.weights
    weights = np.empty(len(given) // 2)
    spheres.upper_pairs(rows.indptr, rows.indices, given, pairs, weights)
    return pairs, None if rows.weights is None else weights


def pair_count(graph: Graph, hop: int) -> int:
    """Pairs at exactly this distance."""
    return graph.n_edges if hop == 1 else int(_all_sizes(graph, hop, weighted=False).sum()) // 2
