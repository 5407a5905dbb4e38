"""Compressed rows on a GPU: their canonical form, connected parts, gradients and products with blocks, through cupy.

The kernels are in ``cuda_source``. Sums over threads are made by cupy in a fixed order, and the number of threads does
not depend on the GPU, so that the same input gives the same bits.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import cupy
import numpy as np

from spectrata.kernels import cuda_source

THREADS = 256  # of a block: every GPU has room for several such
BLOCKS = 4096  # enough to fill a large GPU several times over
LONGEST = 2048  # entries of a row that one thread goes through; others would wait for it
RUN, COLUMNS = 4096, 128  # edges that one thread goes through, and eigenvectors side by side
CHUNK = 2**27  # entries sorted or compacted at a time: a gigabyte of keys
NULL = 0  # a pointer to nothing


@cache
def _kernel(name: str, source: str, **macros: Any) -> Any:
    options = tuple(f"-D{macro}={value}" for macro, value in macros.items())
    return cupy.RawKernel(cuda_source.COMMON + getattr(cuda_source, source), name, options=options)


def _over(count: int) -> tuple[tuple[int], tuple[int]]:
    """Grid and block of one thread per item."""
    return (max(1, min(BLOCKS * 16, -(-count // THREADS))),), (THREADS,)


def _columns(width: int, count: int) -> tuple[tuple[int], tuple[int, int], int]:
    """Grid and block of one thread per column and slot, and the number of slots; slots share out the rows."""
    beside = max(1, THREADS // width)
    blocks = max(1, min(BLOCKS, -(-count // beside)))
    return (blocks,), (width, beside), blocks * beside


class Runs(NamedTuple):
    """The long rows, cut into runs of entries."""

    long: Any  # (l,) int32: which rows
    first: Any  # (l + 1,) int64: the first run of each
    rows: Any  # (r,) int32: the row of each run
    begins: Any  # (r,) int64
    ends: Any  # (r,) int64


@dataclass(frozen=True, eq=False)
class DeviceRows:
    """Canonical rows of an undirected graph: ascending, both directions, no loops, no repeats.

    Attributes
    ----------
    indptr : cupy array of int64, shape (n + 1,)
    indices : cupy array of int32
    weights : cupy array of float64 beside ``indices``, or None
    """

    indptr: Any
    indices: Any
    weights: Any = None

    @property
    def n(self) -> int:
        return len(self.indptr) - 1

    @property
    def flags(self) -> dict[str, int]:
        """Macros of kernels that read weights."""
        return {"WEIGHTED": int(self.weights is not None)}

    @cached_property
    def counts(self) -> Any:
        """Edges per node, (n,) int64."""
        return self.indptr[1:] - self.indptr[:-1]

    @cached_property
    def runs(self) -> Runs | None:
        """Runs of the long rows, None where there is no long row."""
        long = cupy.flatnonzero(self.counts > LONGEST)
        if not len(long):
            return None
        # Few rows are long: what is made of them is made in main memory.
        rows, begins, ends = (cupy.asnumpy(a) for a in (long, self.indptr[long], self.indptr[long + 1]))
        pieces = [np.arange(a, b, LONGEST) for a, b in zip(begins, ends, strict=True)]
        counts = np.array([len(piece) for piece in pieces])
        starts = np.concatenate(pieces)
        stops = np.minimum(starts + LONGEST, np.repeat(ends, counts))
        first = np.concatenate([[0], np.cumsum(counts)])
        found = rows.astype(np.int32), first, np.repeat(rows, counts).astype(np.int32), starts, stops
        return Runs(*(cupy.asarray(array) for array in found))

    @cached_property
    def parts(self) -> Any:
        """Label of each node's connected part, numbered by first appearance, (n,) int32."""
        parent = cupy.arange(self.n, dtype=np.int32)
        self._both("join_parts", lambda items: (*items, parent))
        roots = cupy.empty_like(parent)
        _kernel("find_roots", "READING", INDEX="int")(*_over(self.n), (parent, roots, self.n))
        numbers = cupy.cumsum(roots == cupy.arange(self.n, dtype=np.int32), dtype=np.int32) - np.int32(1)
        return numbers[roots]

    def _both(self, name: str, arguments: Any) -> None:
        """Run a kernel of ``READING`` on the short rows, and on the runs of the long ones."""
        kernel = _kernel(name, "READING", INDEX="int")
        none = NULL, NULL, NULL
        kernel(*_over(self.n), (self.indptr, self.indices, *arguments(none), self.n, LONGEST))
        runs = self.runs
        if runs is not None:
            items = runs.rows, runs.begins, runs.ends
            kernel(*_over(len(runs.rows)), (self.indptr, self.indices, *arguments(items), len(runs.rows), LONGEST))

    def asymmetry(self, agreement: float) -> tuple[int, int]:
        """How many entries have no counterpart, and how many have one with another weight."""
        found, weights = cupy.zeros(2, dtype=np.uint64), _or_null(self.weights)
        self._both("symmetric", lambda items: (weights, *items, found, float(agreement)))
        alone, apart = (int(one) for one in cupy.asnumpy(found))
        return alone, apart

    def upper(self) -> tuple[Any, Any]:
        """The edges ``x < y``, (m, 2) int32 in lexicographic order, and their weights (m,) or None."""
        keys = _entry_keys(self.indptr, self.indices, 0, self.n)
        tails = (keys >> 32).astype(np.int32)
        once = tails < self.indices
        edges = cupy.stack([tails[once], self.indices[once]], axis=1)
        return edges, None if self.weights is None else self.weights[once]

    def fingerprint(self) -> str:
        """A hash of the edges and weights that needs no copy of them."""
        found = cupy.zeros(2, dtype=np.uint64)
        kernel = _kernel("fingerprint", "READING", INDEX="int")
        kernel(*_over(self.n), (self.indptr, self.indices, _or_null(self.weights), found, self.n))
        one, two = (int(number) for number in cupy.asnumpy(found))
        return f"{self.n:x}-{len(self.indices):x}-{one:016x}{two:016x}"

    @cached_property
    def degrees(self) -> Any:
        """Sum of the weights of each node's edges, (n,) float64."""
        if self.weights is None:
            return self.counts.astype(np.float64)
        return cupy.ascontiguousarray(self._edge_sums(cupy.zeros((self.n, 1)), np.zeros(0, dtype=np.uint64))[:, 2])

    def gradients(self, t: Any, keys: np.ndarray) -> tuple[Any, Any, float]:
        """Weighted mean gradient per node, divergences ``(n, keys)``, and ``sum w g^2``, of a signal ``(n, d)``."""
        found = self._edge_sums(t, keys)
        mean = found[:, 1] / cupy.where(found[:, 2] > 0, found[:, 2], 1.0)
        return mean, cupy.ascontiguousarray(found[:, 3:]), float(cupy.sum(found[:, 0])) / 2

    def _edge_sums(self, t: Any, keys: np.ndarray) -> Any:
        """Sums of ``w g^2``, ``w g``, ``w`` and of each oriented ``w g`` over every node's edges: ``(n, 3 + keys)``."""
        t = cupy.ascontiguousarray(t, dtype=np.float64)
        macros = self.flags | {"DIMS": t.shape[1], "KEYS": len(keys)}
        kernel = _kernel("gradients", "GRADIENTS", **macros)
        width, none = 3 + len(keys), (NULL, NULL, NULL)
        found = cupy.zeros((self.n, width))
        read = self.indptr, self.indices, _or_null(self.weights), t, cupy.asarray(np.append(keys, np.uint64(0)))
        kernel(*_over(self.n), (*read, *none, found, self.n, LONGEST))
        if self.runs is not None:
            long, first, rows, begins, ends = self.runs
            sums = cupy.zeros((len(rows), width))
            kernel(*_over(len(rows)), (*read, rows, begins, ends, sums, len(rows), LONGEST))
            total = _kernel("sum_runs", "GRADIENTS", **macros)
            total(*_over(len(long) * width), (long, first, sums, found, len(long), width))
        return found

    def step(self, x: Any, previous: Any, scale: np.ndarray, back: np.ndarray, root: Any = None) -> np.ndarray:
        """``previous = scale C^-1/2 L C^-1/2 x - back previous``; ``sum x previous`` per column.

        ``root (n,)`` is ``C^-1/2``, None for ones. Sums are made in double precision, blocks of any precision.
        """
        width = x.shape[1]
        macros = self.flags | {"REAL": _real(x), "MEASURED": int(root is not None)}
        weights, root = _or_null(self.weights), _or_null(root)
        factors = cupy.asarray(scale, dtype=np.float64), cupy.asarray(back, dtype=np.float64)
        entries = self.indices, weights, root, x
        kernel = _kernel("step", "STEPS", **macros)
        found = _column_sums(kernel, width, self.n, self.indptr, *entries, previous, *factors, LONGEST)
        runs = self.runs
        if runs is None:
            return found
        grid, block, _ = _columns(width, len(runs.rows))
        totals = cupy.empty((len(runs.rows), width))
        _kernel("run_totals", "STEPS", **macros)(
            grid, block, (*entries, runs.rows, runs.begins, runs.ends, totals, len(runs.rows))
        )
        kernel = _kernel("long_rows", "STEPS", **macros)
        return found + _column_sums(kernel, width, len(runs.long), runs.long, runs.first, totals, x, previous, *factors)


def _column_sums(kernel: Any, width: int, count: int, *arguments: Any) -> np.ndarray:
    """Run a kernel of one thread per column and slot; its sums over all rows, ``(c,)``."""
    grid, block, slots = _columns(width, count)
    sums = cupy.empty((width, slots))  # sums over the last axis are fast
    kernel(grid, block, (*arguments, sums, count))
    return cupy.asnumpy(cupy.sum(sums, axis=1))


def subtract(x: Any, y: Any, factor: np.ndarray) -> np.ndarray:
    """``x -= factor y`` in place; ``sum x^2`` per column in double precision."""
    kernel = _kernel("subtract", "STEPS", REAL=_real(x), WEIGHTED=0, MEASURED=0)
    return _column_sums(kernel, x.shape[1], len(x), x, y, cupy.asarray(factor, dtype=np.float64))


def column_dots(x: Any, y: Any = None) -> np.ndarray:
    """``sum x y`` per column in double precision, of ``x`` alone without ``y``: ``(n, c) -> (c,)``."""
    kernel = _kernel("column_dots", "STEPS", REAL=_real(x), WEIGHTED=0, MEASURED=0)
    return _column_sums(kernel, x.shape[1], len(x), x, _or_null(y))


def difference_sums(edges: Any, weights: Any, vectors: Any) -> tuple[Any, Any]:
    """``sum w abs(du)`` and ``sum w^2 du^2``: ``(T, m), (n, c) -> (T, c)`` twice.

    A thread owns one eigenvector and a run of edges: neighbouring threads read neighbouring numbers.
    """
    vectors = cupy.ascontiguousarray(vectors)
    x, y = cupy.ascontiguousarray(edges[:, 0]), cupy.ascontiguousarray(edges[:, 1])
    m, c = len(x), vectors.shape[1]
    runs = max(1, -(-m // RUN))
    absolute, squared = cupy.empty((2, len(weights), c), dtype=vectors.dtype)
    partial = cupy.empty((2, runs, c), dtype=vectors.dtype)
    kernel = _kernel("difference_sums", "DIFFERENCES", REAL=_real(vectors))
    for t, weight in enumerate(weights):
        arguments = (x, y, cupy.ascontiguousarray(weight), vectors, partial[0], partial[1], m, c, RUN)
        kernel((runs, -(-c // COLUMNS)), (COLUMNS,), arguments)
        absolute[t], squared[t] = partial[0].sum(axis=0), partial[1].sum(axis=0)
    return absolute, squared


def pair_sums(flow: Any, vectors: Any) -> tuple[Any, Any]:
    """``sum flow abs(du)`` and ``sum flow^2 du^2`` over the pairs of each graph: ``(g, m), (g, n, n) -> (g, n)``."""
    graphs, n, _ = vectors.shape
    absolute, squared = cupy.empty((2, graphs, n))
    flow, vectors = (cupy.ascontiguousarray(cupy.asarray(array)) for array in (flow, vectors))
    _kernel("pair_sums", "STACKS")(*_over(graphs * n), (flow, vectors, absolute, squared, graphs, n))
    return absolute, squared


def _real(x: Any) -> str:
    return "float" if x.dtype == np.float32 else "double"


def _or_null(array: Any) -> Any:
    return NULL if array is None else array


# ---- canonical form


class RowFaults(NamedTuple):
    """Faults of rows as given: entries out of range, unsorted entries, loops and repeats."""

    outside: int
    unsorted: int
    loops: int
    repeats: int


def _index(indices: Any) -> dict[str, str]:
    return {"INDEX": "int" if indices.dtype == np.int32 else "wide"}


def inspect(indptr: Any, indices: Any) -> RowFaults:
    """One pass over rows as given, indices of 32 or 64 bits."""
    n = len(indptr) - 1
    found = cupy.zeros(4, dtype=np.uint64)
    _kernel("inspect", "READING", **_index(indices))(*_over(n), (indptr, indices, found, n))
    return RowFaults(*(int(number) for number in cupy.asnumpy(found)))


def sorted_rows(indptr: Any, indices: Any, weights: Any) -> tuple[Any, Any]:
    """Indices, 32 bits, and weights with every row ascending: sorted by runs of whole rows."""
    n = len(indptr) - 1
    out = cupy.empty(len(indices), dtype=np.int32)
    moved = None if weights is None else cupy.empty_like(weights)
    start = 0
    while start < n:
        low = int(indptr[start])
        stop = max(start + 1, int(cupy.searchsorted(indptr, cupy.asarray([low + CHUNK]), side="right")[0]) - 1)
        stop = min(stop, n)
        keys = _entry_keys(indptr, indices, start, stop)
        high = low + len(keys)
        if moved is not None:
            order = cupy.argsort(keys)
            keys, moved[low:high] = keys[order], weights[low:high][order]
        else:
            keys.sort()
        out[low:high] = (keys & 0xFFFFFFFF).astype(np.int32)
        start = stop
    return out, moved


def _entry_keys(indptr: Any, indices: Any, start: int, stop: int) -> Any:
    keys = cupy.empty(int(indptr[stop]) - int(indptr[start]), dtype=np.int64)
    kernel = _kernel("entry_keys", "READING", **_index(indices))
    kernel(*_over(stop - start), (indptr, indices, keys, start, stop))
    return keys


def distinct(indptr: Any, indices: Any) -> Any:
    """Which entries of sorted rows are neither loops nor repeats, (E,) uint8."""
    keep = cupy.empty(len(indices), dtype=np.uint8)
    n = len(indptr) - 1
    _kernel("keep_distinct", "READING", **_index(indices))(*_over(n), (indptr, indices, keep, n))
    return keep


def kept(indptr: Any, indices: Any, weights: Any, keep: Any) -> tuple[Any, Any, Any]:
    """Rows with the entries of a mask (uint8) alone."""
    n = len(indptr) - 1
    counts = cupy.empty(n, dtype=np.int64)
    _kernel("count_kept", "READING", INDEX="int")(*_over(n), (indptr, keep, counts, n))
    rows = cupy.zeros(n + 1, dtype=np.int64)
    rows[1:] = cupy.cumsum(counts)
    out = cupy.empty(int(rows[-1]), dtype=indices.dtype)
    moved = None if weights is None else cupy.empty(len(out), dtype=weights.dtype)
    at = 0
    for low in range(0, len(indices), CHUNK):
        mask = keep[low : low + CHUNK] != 0
        part = indices[low : low + CHUNK][mask]
        out[at : at + len(part)] = part
        if moved is not None:
            moved[at : at + len(part)] = weights[low : low + CHUNK][mask]
        at += len(part)
    return rows, out, moved


def rows_of_pairs(tails: Any, heads: Any, n: int) -> tuple[DeviceRows, int, int]:
    """Rows of edges ``(E,), (E,)`` without loops, each once or in both directions; distinct entries as given, edges."""
    forward = _distinct_keys((tails << 32) | heads)
    both = _distinct_keys(cupy.concatenate([forward, ((forward & 0xFFFFFFFF) << 32) | (forward >> 32)]))
    counts = cupy.bincount(both >> 32, minlength=n)
    indptr = cupy.zeros(n + 1, dtype=np.int64)
    indptr[1:] = cupy.cumsum(counts)
    return DeviceRows(indptr, (both & 0xFFFFFFFF).astype(np.int32)), len(forward), len(both) // 2


def _distinct_keys(keys: Any) -> Any:
    keys.sort()
    fresh = cupy.ones(len(keys), dtype=bool)
    fresh[1:] = keys[1:] != keys[:-1]
    return keys[fresh]
