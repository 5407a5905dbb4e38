"""Graphs and signals that stay on an NVIDIA GPU, for graphs whose copy through main memory would take longer than work.

A CSR matrix of cupyx, torch or scipy and an ``edge_index`` are made canonical by CUDA kernels; everything else goes
through ``as_graph`` in main memory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from spectrata.errors import DirectedGraphError, EdgeRangeError, GraphTypeError, NodeCountError, OptionError
from spectrata.inputs.graph_checks import check_some_edge, check_some_node, not_symmetric, warn_dropped
from spectrata.inputs.graphs import Graph, digest_of
from spectrata.inputs.readers.arrays import check_square, is_sparse, is_tensor, module
from spectrata.inputs.readers.raw import Columns
from spectrata.inputs.signals import Signal, as_signal, three_axes
from spectrata.inputs.weights import AGREEMENT, refuse_weight
from spectrata.kernels.backend import Backend

if TYPE_CHECKING:
    from spectrata.kernels import fused_rows

# Results of graphs with more edges than this hold none of them.
KEPT_EDGES = 2**27
CHUNK = 2**28  # values checked at a time
MOST_NODES = 2**31 - 1  # rows have 32 bits


@dataclass(frozen=True, eq=False)
class DeviceGraph:
    """A canonical graph whose rows are on a GPU, with what results read of a ``Graph``."""

    rows: "fused_rows.DeviceRows"
    named: bool = False
    attributes: Mapping[str, Any] = field(default_factory=Columns)
    positions: np.ndarray | None = None

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.rows.n

    @property
    def n_edges(self) -> int:
        """Number of undirected edges."""
        return len(self.rows.indices) // 2

    @property
    def names(self) -> Sequence[int]:
        """The nodes' names: their rows."""
        return range(self.n_nodes)

    @property
    def weighted(self) -> bool:
        """Whether edges have weights."""
        return self.rows.weights is not None

    @property
    def keeps_edges(self) -> bool:
        """Whether results hold the edges."""
        return self.n_edges <= KEPT_EDGES

    @cached_property
    def _upper(self) -> tuple[np.ndarray, np.ndarray | None]:
        import cupy

        edges, weights = self.rows.upper()
        return cupy.asnumpy(edges), None if weights is None else cupy.asnumpy(weights)

    @property
    def edges(self) -> np.ndarray:
        """Edges (m, 2) as rows x < y, in lexicographic order, in main memory."""
        return self._upper[0]

    @property
    def weights(self) -> np.ndarray | None:
        """Weights of the edges (m,), in main memory."""
        return self._upper[1]

    @cached_property
    def digest(self) -> str:
        """As of a ``Graph``; where results hold no edges, a sum of hashes that needs no copy of them."""
        return digest_of(self.n_nodes, *self._upper) if self.keeps_edges else self.rows.fingerprint()

    def in_main_memory(self) -> Graph:
        """The same graph for work on the processor."""
        import cupy

        indptr, indices = cupy.asnumpy(self.rows.indptr), cupy.asnumpy(self.rows.indices).astype(np.int64)
        weights = self.weights if self.weighted else None
        return Graph(self.n_nodes, indptr, indices, tuple(self.names), weights=weights)


def as_device_graph(
    graph: Any, backend: Backend, *, n_nodes: int | None = None, weights: Any = None, undirected: bool = False
) -> DeviceGraph | None:
    """A graph as compressed rows or pairs, canonical on the device; None for what ``as_graph`` has to read.

    Parameters
    ----------
    graph : object
        A CSR matrix of cupyx, torch or scipy, or an integer ``edge_index`` (2, E) on a GPU.
    backend : Backend
        Where to work.
    n_nodes, weights, undirected
        As for ``as_graph``.
    """
    if not backend.has_cupy or undirected or not (weights is None or isinstance(weights, bool)):
        return None
    if is_tensor(graph) and "sparse_csr" in str(getattr(graph, "layout", "")):
        plain = graph.detach()
        parts = plain.crow_indices(), plain.col_indices(), plain.values()
        return _from_rows(parts, tuple(graph.shape), n_nodes, weights)
    if is_sparse(graph) and getattr(graph, "format", "") == "csr":
        return _from_rows((graph.indptr, graph.indices, graph.data), graph.shape, n_nodes, weights)
    if not weights and _is_edge_index(graph):
        return _from_pairs(_here(graph), n_nodes)
    return None


def _here(array: Any) -> Any:
    """An array of numpy, torch or cupy as one of cupy; tensors on the GPU share their memory."""
    import cupy

    if is_tensor(array):
        if "bfloat16" in str(array.dtype):
            array = array.float()
        array = array if array.is_cuda else array.numpy()
    return cupy.asarray(array)


def _is_edge_index(obj: Any) -> bool:
    on_gpu = (is_tensor(obj) and getattr(obj, "is_cuda", False)) or module(obj) == "cupy"
    return on_gpu and obj.ndim == 2 and obj.shape[0] == 2 and obj.shape[1] > 2 and "int" in str(obj.dtype)


# ---- compressed rows


def _from_rows(
    given_arrays: tuple[Any, Any, Any], shape: tuple[int, ...], n_nodes: int | None, weights: bool | None
) -> DeviceGraph:
    from spectrata.kernels import fused_rows

    check_square(shape)
    indptr, indices, values = (_here(array) for array in given_arrays)
    n, given = int(shape[0]), len(indices)
    _check_size(n, n_nodes)
    indptr = _checked_indptr(indptr, n, given)
    indices = indices if indices.dtype in (np.int32, np.int64) else indices.astype(np.int64)
    zeros, others = _look_at_values(values)
    used = values.astype(np.float64) if weights else None
    if zeros:
        mask = (values != 0).view(np.uint8)
        indptr, indices, used = fused_rows.kept(indptr, indices, used, mask)
    found = fused_rows.inspect(indptr, indices)
    if found.outside:
        raise EdgeRangeError(
            f"Entry {found.first} of the matrix's indices is {int(indices[found.first])}, but the graph has {n} nodes "
            f"(rows 0 to {n - 1}; {found.outside} such entries); correct the indices."
        )
    if found.unsorted:
        indices, used = fused_rows.sorted_rows(indptr, indices, used)
        found = fused_rows.inspect(indptr, indices)
    if found.repeats and used is not None:
        raise OptionError(
            f"{found.repeats} entries of the weighted matrix stand twice in their row; call its sum_duplicates() first."
        )
    check_some_edge(len(indices), len(indices) - found.loops)
    if found.loops or found.repeats:
        keep = fused_rows.distinct(indptr, indices)
        indptr, indices, used = fused_rows.kept(indptr, indices, used, keep)
    rows = fused_rows.DeviceRows(indptr, indices.astype(np.int32, copy=False), used)
    if used is not None:
        _check_weights(rows)
    _check_symmetric(rows, max(AGREEMENT, 4 * _epsilon(values)))
    # A loop that stands twice is a loop and a repeat.
    dropped = given - zeros - len(rows.indices)
    warn_dropped(found.loops, max(0, dropped - found.loops), weights is None and others > 0)
    return DeviceGraph(rows)


def _check_size(n: int, n_nodes: int | None) -> None:
    if n_nodes not in (None, n):
        raise NodeCountError(f"The graph has {n} nodes, but n_nodes={n_nodes}; leave n_nodes out.")
    check_some_node(n)
    if n > MOST_NODES:
        raise GraphTypeError(f"A graph of {n:,} nodes on a GPU has more than {MOST_NODES:,}; use device='cpu'.")


def _checked_indptr(indptr: Any, n: int, entries: int) -> Any:
    import cupy

    wide = indptr.astype(np.int64, copy=False)
    fine = len(wide) == n + 1 and int(wide[0]) == 0 and int(wide[-1]) == entries
    if not fine or not bool(cupy.all(wide[1:] >= wide[:-1])):
        raise GraphTypeError(
            f"The row pointers of the matrix do not ascend from 0 to its {entries} entries; build it again from its "
            "entries."
        )
    return wide


def _look_at_values(values: Any) -> tuple[int, int]:
    """Entries that are 0, and entries that are neither 0 nor 1; values that are not finite are refused."""
    import cupy

    if values.dtype.kind not in "biuf":
        raise GraphTypeError(f"An adjacency matrix holds numbers or booleans, not {values.dtype}.")
    zeros = others = 0
    for start in range(0, len(values), CHUNK):
        part = values[start : start + CHUNK]
        if part.dtype.kind == "f" and not bool(cupy.all(cupy.isfinite(part))):
            raise GraphTypeError("The adjacency matrix has NaN or infinite entries; put 0 where there is no edge.")
        empty = len(part) - int(cupy.count_nonzero(part))
        zeros += empty
        others += int(cupy.count_nonzero(part != 1)) - empty
    return zeros, others


def _epsilon(values: Any) -> float:
    return float(np.finfo(values.dtype).eps) if values.dtype.kind == "f" else 0.0


def _check_weights(rows: "fused_rows.DeviceRows") -> None:
    import cupy

    bad = cupy.flatnonzero(rows.weights <= 0)
    if len(bad):
        first = int(bad[0])
        refuse_weight("{} to {}".format(*rows.edge_of(first)), float(rows.weights[first]), len(bad))


def _check_symmetric(rows: "fused_rows.DeviceRows", agreement: float) -> None:
    alone, first, apart, other = rows.asymmetry(agreement)
    if alone:
        raise not_symmetric(alone, "{} to {}".format(*rows.edge_of(first)))
    if apart:
        raise DirectedGraphError(
            f"The weights of the edge {{}} to {{}} disagree between its directions ({apart // 2} such edges); combine "
            "them first, by (A + A.T) / 2.".format(*sorted(rows.edge_of(other)))
        )


# ---- pairs


def _from_pairs(pairs: Any, n_nodes: int | None) -> DeviceGraph:
    import cupy

    from spectrata.kernels import fused_rows

    tails, heads = (end.astype(np.int64) for end in pairs)
    largest, least = int(cupy.max(pairs)), int(cupy.min(pairs))
    n = largest + 1 if n_nodes is None else n_nodes
    if least < 0 or largest >= n:
        raise EdgeRangeError(
            f"The edges have rows from {least} to {largest}, but the graph has {n} nodes (rows 0 to {n - 1}); correct "
            "the edges or n_nodes."
        )
    if n_nodes is None and n > 1_000_000 + 100 * pairs.shape[1]:
        raise EdgeRangeError(
            f"The largest row is {largest}, with only {pairs.shape[1]} edges: rows count from 0 without gaps; renumber "
            "the nodes, or give n_nodes if this is meant."
        )
    _check_size(n, None)
    proper = tails != heads
    loops = pairs.shape[1] - int(cupy.count_nonzero(proper))
    check_some_edge(pairs.shape[1], pairs.shape[1] - loops)
    if loops:
        tails, heads = tails[proper], heads[proper]
    rows, forward, edges = fused_rows.rows_of_pairs(tails, heads, n)
    if edges < forward < 2 * edges:
        raise DirectedGraphError(
            f"{2 * edges - forward} edges stand in one direction only, and others in both, so the graph is directed; "
            "use undirected=True to count an edge where either direction has one, or to_undirected (PyG) first."
        )
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
    known = as_signal(signal, cast(Graph, graph))
    return Signal(cupy.asarray(known.values), known.snapshots, known.kind, known.columns)
