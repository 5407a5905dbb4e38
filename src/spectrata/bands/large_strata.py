"""Strata of graphs too large for all-pairs distances: whole ones while they fit, sampled hops beyond.

A stratum is the Boolean product of ``K`` adjacency matrices less those of fewer, made row by row; its size is
estimated from a few rows before anything is allocated. Where it does not fit, the pairs that a few random roots form
with all nodes stand for it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from spectrata.core.resources import require_memory
from spectrata.errors import OptionError
from spectrata.inputs.graphs import Graph
from spectrata.inputs.numbers import whole_number
from spectrata.kernels import fast, pair_sums

SAMPLED_ROWS = 512


class Rows(NamedTuple):
    """Compressed rows of a stratum, both directions of every edge, ascending; weights beside ``indices``, or None."""

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray | None


def hop_rows(graph: Graph, hop: int, hop_weights: str = "bottleneck") -> Rows:
    """Compressed rows of the stratum at one hop distance, with weights by a rule of ``core.strata.Strata``.

    Examples
    --------
    >>> from spectrata.inputs.graphs import as_graph
    >>> path = as_graph(edges=[(0, 1), (1, 2), (2, 3)], weights=[1.0, 2.0, 3.0])
    >>> indptr, indices, weights = hop_rows(path, 2)
    >>> indptr.tolist(), indices.tolist(), weights.tolist()
    ([0, 1, 2, 3, 4], [2, 3, 0, 1], [1.0, 2.0, 1.0, 2.0])
    """
    given = graph.weights
    weights = None if given is None else fast.both_directions(graph.indptr, graph.indices, given)
    if hop == 1:
        return Rows(graph.indptr, graph.indices, weights)
    weighted = weights is not None and hop_weights != "unit"
    require_memory(
        stratum_bytes(graph, hop, weighted=weighted),
        f"The stratum K = {hop} of {graph.n_nodes:,} nodes",
        f"use fewer hops, or sample: st.correlogram(graph, signal, hops={hop}, roots=100)",
    )
    sizes = _sizes(graph, hop, np.arange(graph.n_nodes))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    indices = np.empty(offsets[-1], dtype=_row_type(graph))
    found = np.empty(len(indices)) if weighted else None

    def fill(rows: np.ndarray, mark: np.ndarray, queue: np.ndarray) -> None:
        from spectrata.bands import spheres

        if found is None:
            spheres.fill_spheres(graph.indptr, graph.indices, hop, rows, mark, queue, offsets, indices)
            return
        space, product = np.empty(graph.n_nodes), hop_weights == "product"
        known = graph.indptr, graph.indices, weights
        spheres.fill_weighted_spheres(*known, hop, product, rows, mark, queue, space, offsets, indices, found)

    _by_rows(graph, np.arange(graph.n_nodes), fill)
    return Rows(offsets, indices, found)


def stratum_bytes(graph: Graph, hop: int, seed: int = 0, *, weighted: bool = False) -> int:
    """Estimated memory of one stratum's rows while they are made, from the spheres of a few random nodes.

    Three standard errors are added, so that the estimate is seldom too small.
    """
    n = graph.n_nodes
    rows = np.random.default_rng([seed, hop]).choice(n, size=min(n, SAMPLED_ROWS), replace=False)
    sizes = _sizes(graph, hop, np.sort(rows))
    spread = sizes.std(ddof=1) / np.sqrt(len(sizes)) if 1 < len(sizes) < n else 0.0
    entries = n * (sizes.mean() + 3 * spread)
    width, weight = _row_type(graph).itemsize, 8 * weighted
    return int(entries * (width + weight)) + 16 * n + fast.threads() * (2 * width + weight) * n


def _row_type(graph: Graph) -> np.dtype:
    return _index_type(graph.n_nodes)


def _index_type(n: int) -> np.dtype:
    return np.dtype(np.int32 if n < 2**31 else np.int64)


def _sizes(graph: Graph, hop: int, rows: np.ndarray) -> np.ndarray:
    """Nodes at exactly this distance from each of some nodes."""
    sizes = np.zeros(graph.n_nodes, dtype=np.int64)

    def count(rows: np.ndarray, mark: np.ndarray, queue: np.ndarray) -> None:
        from spectrata.bands import spheres

        found = np.empty(len(rows), dtype=np.int64)
        spheres.sphere_sizes(graph.indptr, graph.indices, hop, rows, mark, queue, found)
        sizes[rows] = found

    _by_rows(graph, rows, count)
    return sizes[rows]


def _by_rows(graph: Graph, rows: np.ndarray, work: Callable[[np.ndarray, np.ndarray, np.ndarray], None]) -> None:
    """Give each thread an equal share of rows, with its own space for a search."""
    shares = [share for share in np.array_split(rows, 4 * fast.threads()) if len(share)]
    space: list[tuple[np.ndarray, np.ndarray]] = []

    def run(index: int) -> None:
        try:
            mark, queue = space.pop()  # of a share that is done
        except IndexError:
            mark, queue = np.empty((2, graph.n_nodes), dtype=_row_type(graph))
        work(shares[index], mark, queue)
        space.append((mark, queue))

    fast._spread(run, range(len(shares)))


def edge_pairs(rows: Rows) -> pair_sums.Rows:
    """The pairs ``x < y`` of compressed rows that hold both directions."""
    tails = np.repeat(np.arange(len(rows.indptr) - 1), np.diff(rows.indptr))
    forward = rows.indices > tails
    counts = np.bincount(tails[forward], minlength=len(rows.indptr) - 1)
    weights = None if rows.weights is None else rows.weights[forward]
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return pair_sums.compressed(indptr, rows.indices[forward].astype(_index_type(len(counts))), weights)


def root_pairs(graph: Graph, roots: np.ndarray, last: int | None = None) -> list[pair_sums.Rows]:
    """The pairs that some roots form with all nodes, one entry for each hop up to ``last`` that a root sees.

    A pair of two roots is listed from both ends.

    Examples
    --------
    >>> from spectrata.inputs.graphs import as_graph
    >>> path = as_graph(edges=[(0, 1), (1, 2), (2, 3)])
    >>> [rows.heads.tolist() for rows in root_pairs(path, np.array([1]))]
    [[0, 2], [3]]
    """
    from spectrata.bands import spheres

    n = graph.n_nodes
    require_memory(
        len(roots) * n * _row_type(graph).itemsize, f"The pairs of {len(roots)} roots of {n:,} nodes", "use fewer roots"
    )
    queues = np.empty((len(roots), n), dtype=_row_type(graph))
    limit = n if last is None else min(last, n)

    def search(index: int) -> np.ndarray:
        mark, bounds = np.empty(n, dtype=np.bool_), np.empty(n + 2, dtype=np.int64)
        met = spheres.root_levels(graph.indptr, graph.indices, roots[index], limit, mark, queues[index], bounds)
        return bounds[1 : met + 2] + index * n

    bounds = fast._spread(search, range(len(roots)))
    is_root = np.zeros(n, dtype=bool)
    is_root[roots] = True
    found = []
    for hop in range(max(len(one) for one in bounds) - 1):
        seen = [row for row, one in enumerate(bounds) if len(one) > hop + 1]
        starts, stops = (np.array([bounds[row][hop + k] for row in seen]) for k in (0, 1))
        rows = pair_sums.Rows(roots[seen], starts, stops, queues.ravel())
        found.append(rows._replace(twice=int(np.count_nonzero(is_root[rows.heads])) // 2))
    return found


def chosen_roots(n: int, roots: Any, seed: int) -> np.ndarray:
    """Random nodes, ascending, at most all."""
    wanted = whole_number(roots)
    if wanted is None or wanted < 2:
        raise OptionError(f"roots={roots!r} must be a whole number of at least 2: one root has no spread.")
    return np.sort(np.random.default_rng(seed).choice(n, size=min(wanted, n), replace=False))
