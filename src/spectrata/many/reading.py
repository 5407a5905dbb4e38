"""Many small pairs of plain arrays read at once: what as_graph and as_signal do, without their cost per call.

A pair is read here when its graph is an integer array of edges without loops or repeats and its signal an array of
finite floats of ordinary size, one row per node. All others go through ``as_graph`` and ``as_signal`` one by one.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from spectrata.inputs.graphs import Graph
from spectrata.inputs.signals import Potential, Signal, potential, resolve_metric
from spectrata.kernels.scaling import ORDINARY

MOST_NODES = 2**31  # of all graphs together: two rows fit into one 64-bit key


def read_plain(graphs: Sequence[Any], signals: Sequence[Any], metric: str) -> dict[int, tuple[Graph, Potential]]:
    """Graphs and potentials of the pairs that are plain, by position.

    Examples
    --------
    >>> path, signal = np.array([[0, 1, 2], [1, 2, 3]]), np.arange(1.0, 5.0)
    >>> found = read_plain([path, path, "file.csv"], [signal, signal[:3], signal], "auto")
    >>> list(found), found[0][0].edges.tolist()
    ([0], [[0, 1], [1, 2], [2, 3]])
    """
    plain = [i for i, (graph, signal) in enumerate(zip(graphs, signals, strict=True)) if _are_plain(graph, signal)]
    if not plain:
        return {}
    pairs = [graphs[i] if graphs[i].shape[0] == 2 else graphs[i].T for i in plain]
    sizes = np.array([len(signals[i]) for i in plain])
    known, rows = _graphs(pairs, sizes)
    found: dict[int, tuple[Graph, Potential]] = {}
    by_width: dict[int, list[int]] = {}
    for place in rows:
        signal = signals[plain[place]]
        by_width.setdefault(1 if signal.ndim == 1 else signal.shape[1], []).append(place)
    for places in by_width.values():
        own = [signals[plain[place]] for place in places]
        for place, field in zip(places, _potentials(own, metric), strict=True):
            if field is not None:
                found[plain[place]] = known[place], field
    return dict(sorted(found.items()))


def _are_plain(graph: Any, signal: Any) -> bool:
    return (
        type(graph) is np.ndarray
        and type(signal) is np.ndarray
        and graph.dtype.kind == "i"
        and graph.ndim == 2
        and 2 in graph.shape
        and graph.size > 4  # two edges could be rows or columns
        and signal.dtype.kind == "f"
        and signal.ndim in (1, 2)
        and signal.size > 0
    )


def _graphs(pairs: list[np.ndarray], sizes: np.ndarray) -> tuple[dict[int, Graph], list[int]]:
    """The graphs of lists of edges ``(2, E)`` with so many nodes, by position, where they are plain."""
    counts = np.array([pair.shape[1] for pair in pairs])
    owner, starts = np.repeat(np.arange(len(pairs)), counts), np.cumsum(counts) - counts
    tails, heads = np.concatenate(pairs, axis=1, dtype=np.int64)
    low, high = np.minimum(tails, heads), np.maximum(tails, heads)
    fine = np.minimum.reduceat(low, starts) >= 0
    fine &= np.maximum.reduceat(high, starts) + 1 == sizes
    fine &= ~np.logical_or.reduceat(tails == heads, starts)
    offsets = np.cumsum(sizes) - sizes
    total = int(sizes.sum())
    if total >= MOST_NODES or not fine.any():
        return {}, []
    kept = fine[owner]
    shift = offsets[owner[kept]]
    edges, per_graph = _distinct(low[kept] + shift, high[kept] + shift, total, owner[kept], len(pairs))
    # As given, each edge stands once, or once in each direction.
    forward = _distinct(tails[kept] + shift, heads[kept] + shift, total, owner[kept], len(pairs))[1]
    fine &= (counts == forward) & ((counts == per_graph) | (counts == 2 * per_graph))
    both = np.concatenate([edges, edges[:, ::-1]])
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    degrees = np.cumsum(np.bincount(both[:, 0], minlength=total))
    ends = np.cumsum(per_graph)
    found = {}
    for place in np.flatnonzero(fine).tolist():
        n, offset, last = int(sizes[place]), int(offsets[place]), int(ends[place])
        first = last - int(per_graph[place])
        indptr = np.zeros(n + 1, dtype=np.int64)
        np.subtract(degrees[offset : offset + n], 2 * first, out=indptr[1:])
        graph = Graph(n, indptr, both[2 * first : 2 * last, 1] - offset, tuple(range(n)))
        vars(graph)["edges"] = edges[first:last] - offset
        found[place] = graph
    return found, list(found)


def _distinct(
    x: np.ndarray, y: np.ndarray, total: int, owner: np.ndarray, graphs: int
) -> tuple[np.ndarray, np.ndarray]:
    """Distinct pairs in lexicographic order ``(m, 2)``, and how many of them each graph has; owners ascend with x."""
    keys = np.sort(x * total + y)
    keys = keys[np.append(True, keys[1:] != keys[:-1])]
    tails = keys // total
    of_node = np.zeros(total, dtype=np.int64)
    of_node[x] = owner
    return np.column_stack([tails, keys - tails * total]), np.bincount(of_node[tails], minlength=graphs)


def _potentials(signals: list[np.ndarray], metric: str) -> list[Potential | None]:
    """Potentials of signals of one width; None where a signal is not finite, zero somewhere, or of extreme size."""
    width = 1 if signals[0].ndim == 1 else signals[0].shape[1]
    if metric != "auto" and width == 1 and metric != "euclidean":
        return [None] * len(signals)
    resolved = resolve_metric(metric, width)
    sizes = np.array([len(signal) for signal in signals])
    starts = np.cumsum(sizes) - sizes
    values = np.concatenate([signal.reshape(len(signal), width) for signal in signals], dtype=np.float64)
    largest = np.abs(values).max(axis=1)  # (N,): NaN where a row has one
    most, least = np.maximum.reduceat(largest, starts), np.minimum.reduceat(largest, starts)
    fine = most <= ORDINARY[1]  # False for NaN
    fine &= (least if resolved == "angular" else most) >= ORDINARY[0]
    kept = np.repeat(fine, sizes)
    if not fine.any():
        return [None] * len(signals)
    values[kept] = potential(Signal(values[kept][None], None), resolved).values[0]
    found: list[Potential | None] = []
    for start, size, good in zip(starts.tolist(), sizes.tolist(), fine.tolist(), strict=True):
        own = values[None, start : start + size]
        found.append(Potential(own, resolved, np.ones(1), np.zeros(1, dtype=bool)) if good else None)
    return found
