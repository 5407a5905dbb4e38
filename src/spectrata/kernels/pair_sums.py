"""Sums of squared differences over pairs of nodes, for all hop distances and many signals at once.

Sums are of differences, never of products, so that they keep their digits where pairs are nearly alike. Each sum is
made by one thread in a fixed order: the bits do not depend on the number of threads.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from spectrata.kernels import fast

# Signals summed at once: 64 of 5,000 nodes take 2.5 MB, near the second-level cache.
LANES = 64
# Orders of the nodes that read one row of distances before the next row.
ORDERS = 8


class Rows(NamedTuple):
    """The pairs of nodes of one hop: row ``i`` joins ``tails[i]`` with ``indices[starts[i] : stops[i]]``.

    Weights stand beside ``indices``, or are None where all are 1. Every pair is listed once, except ``twice`` of them,
    which are listed from both ends.
    """

    tails: np.ndarray
    starts: np.ndarray
    stops: np.ndarray
    indices: np.ndarray
    weights: np.ndarray | None = None
    twice: int = 0

    @property
    def size(self) -> int:
        """Pairs listed."""
        return int(np.sum(self.stops - self.starts))

    @property
    def heads(self) -> np.ndarray:
        """The second node of every pair listed, in the order of the rows."""
        return np.concatenate([self.indices[a:b] for a, b in self._runs()])

    @property
    def listed_weights(self) -> np.ndarray | None:
        """The weight of every pair listed, in the order of the rows."""
        weights = self.weights
        return None if weights is None else np.concatenate([weights[a:b] for a, b in self._runs()])

    @property
    def firsts(self) -> np.ndarray:
        """The first node of every pair listed."""
        return np.repeat(self.tails, self.stops - self.starts)

    def _runs(self) -> list[tuple[int, int]]:
        """Where the pairs stand in ``indices``; one run where rows follow each other."""
        if not len(self.starts) or np.array_equal(self.starts[1:], self.stops[:-1]):
            return [(int(self.starts[0]), int(self.stops[-1]))] if len(self.starts) else [(0, 0)]
        return list(zip(self.starts.tolist(), self.stops.tolist(), strict=True))

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What the compiled loops take."""
        return self[:5]


def upper_rows(distances: np.ndarray, hops: Sequence[int]) -> list[Rows]:
    """The pairs ``x < y`` at each of some hop distances, found in two passes over all distances."""
    n = len(distances)
    if distances.size < fast.COMPILED_WORK:
        found = []
        for hop in hops:
            x, y = fast.pairs_at(distances, hop, 0).T
            found.append(compressed(_offsets(np.bincount(x, minlength=n)), y.astype(np.int32)))
        return found
    from spectrata.kernels import compiled_pairs

    place = np.full(np.iinfo(distances.dtype).max + 1, -1, dtype=np.int64)  # of a distance among the hops
    place[list(hops)] = np.arange(len(hops))
    counts = np.zeros((len(hops), n), dtype=np.int64)
    compiled_pairs.count_rows(distances, place, counts)
    offsets = _offsets(counts.ravel())
    indices = np.empty(offsets[-1], dtype=np.int32)
    compiled_pairs.fill_rows(distances, place, offsets[:-1].reshape(counts.shape).copy(), indices)
    found = []
    for row in range(len(hops)):
        own = offsets[row * n : (row + 1) * n + 1]
        found.append(compressed(own - own[0], indices[own[0] : own[-1]]))
    return found


def compressed(indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray | None = None) -> Rows:
    """Compressed rows, one for each node, as ``Rows``."""
    return Rows(np.arange(len(indptr) - 1), indptr[:-1], indptr[1:], indices, weights)


def _offsets(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)])


def _is_small(rows: Sequence[Rows], width: int) -> bool:
    return sum(one.size for one in rows) * width < fast.COMPILED_WORK


def row_squares(rows: Rows, values: np.ndarray) -> np.ndarray:
    """``sum w norm(t(x) - t(y))^2`` of each row of one hop: ``(n, d) -> (rows,)``."""
    sums = np.zeros(len(rows.tails))
    if _is_small([rows], values.shape[1]):
        difference = values[rows.firsts] - values[rows.heads]
        squares = np.einsum("md,md->m", difference, difference)
        weights = rows.listed_weights
        owner = np.repeat(np.arange(len(sums)), rows.stops - rows.starts)
        return np.bincount(owner, squares if weights is None else squares * weights, len(sums))
    from spectrata.kernels import compiled_pairs

    share = -(-len(sums) // (4 * fast.threads()))

    def run(first: int) -> None:
        part = slice(first, first + share)
        tails, starts, stops = rows.tails[part], rows.starts[part], rows.stops[part]
        compiled_pairs.vector_squares(tails, starts, stops, rows.indices, rows.weights, values, sums[part])

    fast._spread(run, range(0, len(sums), share))
    return sums


def lane_sums(rows: Sequence[Rows], values: np.ndarray) -> np.ndarray:
    """``sum_e w (t(x) - t(y))^2`` of many scalar signals side by side: ``(n, c) -> (H, c)``."""
    columns = values.shape[1]
    sums = np.zeros((len(rows), columns))
    if _is_small(rows, columns):
        for h, one in enumerate(rows):
            sums[h] = _lane_sums(one, values)
        return sums
    from spectrata.kernels import compiled_pairs

    def run(start: int) -> None:
        block = np.ascontiguousarray(values[:, start : start + LANES])
        for h, one in enumerate(rows):
            compiled_pairs.lane_squares(*one.arrays, block, sums[h, start : start + LANES])

    fast._spread(run, range(0, columns, LANES))
    return sums


def _lane_sums(rows: Rows, values: np.ndarray) -> np.ndarray:
    """The same for one hop in numpy: ``(n, c) -> (c,)``."""
    total = np.zeros(values.shape[1])
    x, y, weights = rows.firsts, rows.heads, rows.listed_weights
    for part in fast._slices(len(y), values.shape[1]):
        squares = np.square(values[x[part]] - values[y[part]])
        total += squares.sum(axis=0) if weights is None else weights[part] @ squares
    return total


class Squares:
    """Pair sums of orders of the nodes, read from all squared distances ``(n, n)``.

    The cost does not depend on the length of the nodes' vectors. There are at most 255 hops.
    """

    def __init__(self, rows: Sequence[Rows], squares: np.ndarray) -> None:
        self.rows, self.squares = rows, squares

    @cached_property
    def _dense(self) -> tuple[np.ndarray, np.ndarray | None]:
        """The number of each pair's hop, ``(n, n)``, and its weight."""
        n = len(self.squares)
        place = np.full((n, n), len(self.rows), dtype=np.uint8)
        weighted = any(one.weights is not None for one in self.rows)
        weights = np.ones((n, n)) if weighted else None
        for h, one in enumerate(self.rows):
            x, y, own = one.firsts, one.heads, one.listed_weights
            place[x, y] = place[y, x] = h
            if weights is not None and own is not None:
                weights[x, y] = weights[y, x] = own
        return place, weights

    def sums(self, orders: np.ndarray) -> np.ndarray:
        """``sum_e w B(p(x), p(y))`` of orders ``p``: ``(c, n) -> (c, H)``."""
        sums = np.zeros((len(orders), len(self.rows)))
        if _is_small(self.rows, len(orders)):
            self._gathered(orders, sums)
            return sums
        from spectrata.kernels import compiled_pairs

        place, weights = self._dense

        def run(first: int) -> None:
            part = slice(first, first + ORDERS)
            compiled_pairs.permuted_sums(place, weights, self.squares, orders[part], sums[part])

        fast._spread(run, range(0, len(orders), ORDERS))
        return sums

    def _gathered(self, orders: np.ndarray, sums: np.ndarray) -> None:
        """The same in numpy."""
        flat, n = self.squares.ravel(), len(self.squares)
        for h, one in enumerate(self.rows):
            x, y, weights = one.firsts, one.heads, one.listed_weights
            for part in fast._slices(len(orders), max(1, len(y))):
                drawn = flat[orders[part][:, x] * n + orders[part][:, y]]
                sums[part, h] = drawn.sum(axis=1) if weights is None else drawn @ weights


def triangle_sum(rows: Rows, n: int) -> float:
    """``sum of A_xy A_yz A_zx`` over unordered triples, for rows ``x < y`` of all nodes."""
    from spectrata.kernels import compiled_pairs

    shares = np.array_split(np.arange(n), 64)  # whatever the threads, so that the bits stay

    def run(index: int) -> float:
        return compiled_pairs.triangles(rows.starts, rows.stops, rows.indices, rows.weights, shares[index], np.zeros(n))

    return float(sum(fast._spread(run, range(len(shares)))))


def triangle_work(rows: Rows) -> float:
    """Steps that ``triangle_sum`` takes."""
    return float(np.sum((rows.stops - rows.starts)[rows.heads]))
