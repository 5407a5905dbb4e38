"""Sums of squared differences over pairs of nodes, for all hop distances and many signals at once.

The pairs of a hop are compressed rows of the upper triangle: row ``x`` holds the nodes ``y > x``, ascending. Sums are
of differences, never of products, so that they keep their digits where pairs are nearly alike. Each sum is made by one
thread in a fixed order: the bits do not depend on the number of threads.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spectrata.kernels import fast

# Signals summed at once: 64 of 5,000 nodes take 2.5 MB, near the second-level cache.
LANES = 64


class Rows(NamedTuple):
    """Compressed rows of the pairs ``x < y`` of one hop; weights beside ``indices``, or None where all are 1."""

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray | None = None

    @property
    def tails(self) -> np.ndarray:
        """The first node of every pair."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))


def upper_rows(distances: np.ndarray, hops: Sequence[int]) -> list[Rows]:
    """The pairs ``x < y`` at each of some hop distances, found in two passes over all distances."""
    n = len(distances)
    if distances.size < fast.COMPILED_WORK:
        found = []
        for hop in hops:
            x, y = fast.pairs_at(distances, hop, 0).T
            found.append(Rows(_offsets(np.bincount(x, minlength=n)), y.astype(np.int32)))
        return found
    from spectrata.kernels import compiled_pairs

    place = np.full(np.iinfo(distances.dtype).max + 1, -1, dtype=np.int64)  # of a distance among the hops
    place[list(hops)] = np.arange(len(hops))
    counts = np.zeros((len(hops), n), dtype=np.int64)
    compiled_pairs.count_rows(distances, place, counts)
    starts = _offsets(counts.ravel())
    indices = np.empty(starts[-1], dtype=np.int32)
    compiled_pairs.fill_rows(distances, place, starts[:-1].reshape(counts.shape).copy(), indices)
    found = []
    for row in range(len(hops)):
        offsets = starts[row * n : (row + 1) * n + 1]
        found.append(Rows(offsets - offsets[0], indices[offsets[0] : offsets[-1]]))
    return found


def _offsets(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)])


def square_sums(rows: Sequence[Rows], values: np.ndarray) -> np.ndarray:
    """``sum_e w norm(t(x) - t(y))^2`` per signal and hop: ``(T, n, d) -> (T, H)``."""
    snapshots, _, dims = values.shape
    sums = np.empty((snapshots, len(rows)))
    if sum(len(one.indices) for one in rows) * snapshots * dims < fast.COMPILED_WORK:
        for h, one in enumerate(rows):
            sums[:, h] = _square_sums(one, values)
        return sums
    from spectrata.kernels import compiled_pairs

    if dims == 1 and snapshots >= fast.MANY_SNAPSHOTS:
        return lane_sums(rows, np.ascontiguousarray(values[:, :, 0].T)).T

    def run(task: int) -> None:
        t, h = divmod(task, len(rows))
        sums[t, h] = compiled_pairs.vector_squares(*rows[h], np.ascontiguousarray(values[t]))

    fast._spread(run, range(sums.size))
    return sums


def _square_sums(rows: Rows, values: np.ndarray) -> np.ndarray:
    """The same for one hop in numpy: ``(T, n, d) -> (T,)``."""
    total = np.zeros(len(values))
    x, y = rows.tails, rows.indices
    for part in fast._slices(len(y), values.shape[0] * values.shape[2]):
        difference = values[:, x[part]] - values[:, y[part]]
        squares = np.einsum("tmd,tmd->tm", difference, difference)
        total += squares.sum(axis=1) if rows.weights is None else squares @ rows.weights[part]
    return total


def lane_sums(rows: Sequence[Rows], values: np.ndarray) -> np.ndarray:
    """``sum_e w (t(x) - t(y))^2`` of many scalar signals side by side: ``(n, c) -> (H, c)``."""
    columns = values.shape[1]
    sums = np.zeros((len(rows), columns))
    if sum(len(one.indices) for one in rows) * columns < fast.COMPILED_WORK:
        for h, one in enumerate(rows):
            sums[h] = _square_sums(one, np.ascontiguousarray(values.T)[:, :, None])
        return sums
    from spectrata.kernels import compiled_pairs

    def run(start: int) -> None:
        block = np.ascontiguousarray(values[:, start : start + LANES])
        for h, one in enumerate(rows):
            compiled_pairs.lane_squares(*one, block, sums[h, start : start + LANES])

    fast._spread(run, range(0, columns, LANES))
    return sums
