"""Graphs and signals that stay on an NVIDIA GPU, for graphs whose copy through main memory would take longer than work.

A sound CSR matrix of cupyx, torch or scipy and a sound ``edge_index`` are made canonical by CUDA kernels; everything
else goes through ``as_graph`` in main memory, which also refuses what is not a graph.
"""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.inputs.canonical import AGREEMENT, warn_dropped
from spectrata.inputs.graphs import Graph, digest_of
from spectrata.inputs.readers.arrays import is_sparse, is_tensor, module
from spectrata.inputs.readers.raw import NO_COLUMNS, too_many_nodes
from spectrata.inputs.signals import Signal, as_signal, three_axes
from spectrata.kernels.backend import Backend, to_numpy

if TYPE_CHECKING:
    from spectrata.kernels import fused_rows

KEPT_EDGES = 2**27  # results of graphs with more edges hold none of them: 2 GiB
CHUNK = 2**28  # values checked at a time, so that a mask of them takes at most 256 MiB
MOST_NODES = 2**31 - 1  # rows have 32 bits


class DeviceGraph:
    """A canonical graph whose rows are on a GPU; what results read of a ``Graph`` is in main memory."""

    named, attributes, positions = False, NO_COLUMNS, None

    def __init__(self, rows: "fused_rows.DeviceRows") -> None:
        self.rows, self.n_nodes, self.n_edges = rows, rows.n, len(rows.indices) // 2
        self.names, self.weighted = range(rows.n), rows.weights is not None
        self.keeps_edges = self.n_edges <= KEPT_EDGES  # in results

    @cached_property
    def edges(self) -> np.ndarray:
        return to_numpy(self.rows.upper()[0])

    @cached_property
    def weights(self) -> np.ndarray | None:
        return to_numpy(self.rows.upper()[1]) if self.weighted else None

    @cached_property
    def digest(self) -> str:
        """As of a ``Graph``; where results hold no edges, a sum of hashes that needs no copy of them."""
        return digest_of(self.n_nodes, self.edges, self.weights) if self.keeps_edges else self.rows.fingerprint()

    def in_main_memory(self) -> Graph:
        """The same graph for work on the processor."""
        indptr, indices = to_numpy(self.rows.indptr), to_numpy(self.rows.indices).astype(np.int64)
        return Graph(self.n_nodes, indptr, indices, tuple(self.names), weights=self.weights)


def as_device_graph(graph: Any, backend: Backend, weights: Any = None) -> DeviceGraph | None:
    """A sound CSR matrix or ``edge_index`` on a GPU; None for all others, which ``as_graph`` has to read or refuse."""
    if not backend.has_cupy or not (weights is None or isinstance(weights, bool)):
        return None
    if is_tensor(graph) and "sparse_csr" in str(getattr(graph, "layout", "")):
        plain = graph.detach()
        return _from_rows((plain.crow_indices(), plain.col_indices(), plain.values()), tuple(graph.shape), weights)
    if is_sparse(graph) and getattr(graph, "format", "") == "csr":
        return _from_rows((graph.indptr, graph.indices, graph.data), graph.shape, weights)
    on_gpu = (is_tensor(graph) and getattr(graph, "is_cuda", False)) or module(graph) == "cupy"
    pairs = on_gpu and graph.ndim == 2 and graph.shape[0] == 2 and graph.shape[1] > 2 and "int" in str(graph.dtype)
    return _from_pairs(_here(graph)) if pairs and not weights else None


def _here(array: Any) -> Any:
    """An array of numpy, torch or cupy as one of cupy; tensors on the GPU share their memory."""
    import cupy

    if is_tensor(array):
        if "bfloat16" in str(array.dtype):
            array = array.float()
        array = array if array.is_cuda else array.numpy()
    return cupy.asarray(array)


def _from_rows(arrays: tuple[Any, Any, Any], shape: tuple[int, ...], weights: bool | None) -> DeviceGraph | None:
    """Symmetric rows; those that are not sorted are sorted, and loops dropped."""
    import cupy

    from spectrata.kernels import fused_rows

    indptr, indices, values = (_here(array) for array in arrays)
    n, indptr = int(shape[0]), indptr.astype(np.int64, copy=False)
    sound = shape == (n, n) and 2 <= n <= MOST_NODES and len(indptr) == n + 1 and values.dtype.kind in "biuf"
    if not sound or int(indptr[0]) or int(indptr[-1]) != len(indices) or bool(cupy.any(indptr[1:] < indptr[:-1])):
        return None
    weighted = False
    for start in range(0, len(values), CHUNK):
        part = values[start : start + CHUNK]
        if not bool(cupy.all(cupy.isfinite(part) & ((part > 0) if weights else (part != 0)))):
            return None
        weighted = weighted or bool(cupy.any(part != 1))
    indices = indices if indices.dtype in (np.int32, np.int64) else indices.astype(np.int64)
    found = fused_rows.inspect(indptr, indices)
    if found.outside:
        return None
    used = values.astype(np.float64) if weights else None
    if found.unsorted:
        indices, used = fused_rows.sorted_rows(indptr, indices, used)
        found = fused_rows.inspect(indptr, indices)
    if found.loops:
        indptr, indices, used = fused_rows.kept(indptr, indices, used, fused_rows.distinct(indptr, indices))
    rows = fused_rows.DeviceRows(indptr, indices.astype(np.int32, copy=False), used)
    rounding = float(np.finfo(values.dtype).eps) if values.dtype.kind == "f" else 0.0
    alone, apart = rows.asymmetry(max(AGREEMENT, 4 * rounding))
    if found.repeats or alone or apart or not len(indices):
        return None
    warn_dropped(found.loops, 0, weights is None and weighted)
    return DeviceGraph(rows)


def _from_pairs(pairs: Any) -> DeviceGraph | None:
    import cupy

    from spectrata.kernels import fused_rows

    tails, heads = (end.astype(np.int64) for end in pairs)
    n, proper = int(cupy.max(pairs)) + 1, tails != heads
    loops = len(tails) - int(cupy.count_nonzero(proper))
    if int(cupy.min(pairs)) < 0 or loops == len(tails) or n > MOST_NODES or too_many_nodes(n, len(tails)):
        return None
    if loops:
        tails, heads = tails[proper], heads[proper]
    rows, forward, edges = fused_rows.rows_of_pairs(tails, heads, n)
    if edges < forward < 2 * edges:
        return None
    warn_dropped(loops, len(tails) - forward, False)
    return DeviceGraph(rows)


# ---- signals


def as_device_signal(signal: Any, graph: DeviceGraph) -> Signal:
    """The signal in double precision on the device, (T, n, d); what is no plain array of floats comes from the host."""
    import cupy

    plain = isinstance(signal, np.ndarray) or module(signal) == "cupy"
    tensor = is_tensor(signal) and "strided" in str(getattr(signal, "layout", ""))
    if (plain and signal.dtype.kind == "f") or (tensor and signal.is_floating_point()):
        values = three_axes(_here(signal.detach() if tensor else signal), graph.n_nodes)
        if bool(cupy.all(cupy.isfinite(values))):
            return Signal(values, tuple(range(len(values))) if signal.ndim == 3 else None)
    known = as_signal(signal, graph)
    return Signal(cupy.asarray(known.values), known.snapshots, known.kind, known.columns)
