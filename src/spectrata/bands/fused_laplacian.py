"""The Laplacian of compressed rows on an NVIDIA GPU, by fused kernels."""

from functools import cached_property
from typing import Any

import cupy
import numpy as np

from spectrata.bands.operators import Gradients, Operator, storage
from spectrata.core.hop import split_along
from spectrata.core.operators import COMBINATORIAL, Laplacian
from spectrata.kernels import edge_sums, fused_rows
from spectrata.kernels.backend import to_numpy


class DeviceLaplacian(Operator):
    """``C^-1/2 L C^-1/2`` of a graph whose rows are on the device; blocks are arrays of cupy."""

    def __init__(self, rows: fused_rows.DeviceRows, laplacian: Laplacian = COMBINATORIAL) -> None:
        self.rows, self.laplacian = rows, laplacian
        self.n, self.n_edges = rows.n, len(rows.indices) // 2
        self._inverse_root = None
        if laplacian.has_measure:
            self.measure = laplacian.node_measure(rows.degrees, rows.counts)
            self._inverse_root = 1.0 / self.measure**0.5

    @property
    def parts(self) -> Any:
        """As of any operator, on the device."""
        return self.rows.parts

    @cached_property
    def _n_parts(self) -> int:
        return int(self.parts.max()) + 1

    @cached_property
    def part_sizes(self) -> np.ndarray:
        return np.array([self.n]) if self._n_parts == 1 else to_numpy(cupy.bincount(self.parts))

    @cached_property
    def _part_measures(self) -> Any:
        """The sum of the node measure over each part, shape (parts,)."""
        if self.measure is None:
            return self.part_sizes
        return cupy.sum(self.measure)[None] if self._n_parts == 1 else cupy.bincount(self.parts, self.measure)

    def split(self, columns: Any, weighs: bool) -> tuple[Any, Any]:
        return split_along(columns, self.parts, self.measure, weighs, self._part_measures, _part_sums)

    def asarray(self, x: Any) -> Any:
        return cupy.ascontiguousarray(cupy.asarray(x), dtype=np.float64)

    def stored(self, block: Any, tol: float) -> Any:
        return cupy.ascontiguousarray(block, dtype=storage(self.n, tol))

    def dots(self, x: Any, y: Any) -> np.ndarray:
        return fused_rows.column_dots(cupy.ascontiguousarray(x), cupy.ascontiguousarray(y))

    @property
    def diagonal(self) -> Any:
        return self.rows.degrees if self.measure is None else self.rows.degrees / self.measure

    def times(self, x: Any) -> Any:
        out = cupy.zeros_like(x)
        self.step(x, out, np.ones(x.shape[1]), np.zeros(x.shape[1]))
        return out

    def step(self, x: Any, previous: Any, scale: np.ndarray, back: np.ndarray) -> np.ndarray:
        return self.rows.step(x, previous, scale, back, self._inverse_root)

    def subtract(self, x: Any, y: Any, factor: np.ndarray) -> np.ndarray:
        return fused_rows.subtract(x, y, factor)

    def gradients(self, t: Any, keys: np.ndarray) -> Gradients:
        return self.rows.gradients(t, keys)


def _part_sums(values: Any, parts: Any, count: int) -> Any:
    """``edge_sums.part_sums``; cupy's own sums over the rows of one large part are slow."""
    if count > 1:
        return edge_sums.part_sums(values, parts, count)
    return cupy.asarray(fused_rows.column_dots(cupy.ascontiguousarray(values)))[None]


def on_device(indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray | None) -> fused_rows.DeviceRows:
    """Canonical rows copied to the device."""
    rows = cupy.asarray(indptr, dtype=np.int64), cupy.asarray(indices.astype(np.int32, copy=False))
    return fused_rows.DeviceRows(*rows, None if weights is None else cupy.asarray(weights, dtype=np.float64))
