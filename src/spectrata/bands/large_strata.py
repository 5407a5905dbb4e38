"""Pairs of graphs too large for all-pairs distances: those of one stratum, or those that random roots form."""

from typing import Any

import numpy as np

from spectrata.core.resources import require_memory
from spectrata.core.rows import Rows, index_type
from spectrata.errors import OptionError
from spectrata.inputs.graphs import Graph
from spectrata.inputs.numbers import whole_number
from spectrata.kernels import fast, pair_sums


def edge_pairs(rows: Rows) -> pair_sums.Rows:
    """The pairs ``x < y`` of compressed rows that hold both directions."""
    tails = np.repeat(np.arange(len(rows.indptr) - 1), np.diff(rows.indptr))
    forward = rows.indices > tails
    counts = np.bincount(tails[forward], minlength=len(rows.indptr) - 1)
    weights = None if rows.weights is None else rows.weights[forward]
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return pair_sums.compressed(indptr, rows.indices[forward].astype(index_type(len(counts))), weights)


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
        len(roots) * n * index_type(n).itemsize, f"The pairs of {len(roots)} roots of {n:,} nodes", "use fewer roots"
    )
    queues = np.empty((len(roots), n), dtype=index_type(n))
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
