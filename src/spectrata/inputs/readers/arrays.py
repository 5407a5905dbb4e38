"""Plain arrays to edges: pairs of rows, or the entries of an adjacency matrix."""

from dataclasses import replace
from typing import Any

import numpy as np

from spectrata.errors import AmbiguousGraphError, EdgeRangeError, EmptyGraphError, GraphTypeError, InputError
from spectrata.inputs.readers.raw import PLAIN, Asked, RawGraph, kind, weight_column

ACCEPTED = (
    "a networkx, igraph or PyGSP graph, a scipy sparse or dense adjacency matrix, integer edges, "
    "PyG Data or edge_index, a DGL graph, AnnData, or a path"
)


def module(obj: Any) -> str:
    return type(obj).__module__.partition(".")[0]


def is_tensor(obj: Any) -> bool:
    return hasattr(obj, "detach") and hasattr(obj, "numpy")


def is_sparse(obj: Any) -> bool:
    return hasattr(obj, "tocoo") and hasattr(obj, "nnz")


def is_labelled(obj: Any) -> bool:
    return module(obj) in ("pandas", "xarray")


def plain_array(obj: Any) -> np.ndarray:
    """An array of numpy from whatever holds numbers, wherever it is."""
    if type(obj) is np.ndarray:
        return obj
    if is_tensor(obj):
        obj = obj.detach()
        if obj.is_floating_point() and obj.element_size() < 4:
            obj = obj.float()  # numpy has no bfloat16
        return np.asarray((obj if "strided" in str(obj.layout) else obj.to_dense()).cpu().numpy())
    if module(obj) == "cupy":
        return np.asarray(obj.get())
    return np.asarray(obj.toarray() if hasattr(obj, "toarray") else obj)


def to_numpy(obj: Any, error: type[InputError] = GraphTypeError, give: str = ACCEPTED) -> np.ndarray:
    """A plain array, or an error that says what was given."""
    if isinstance(obj, np.ma.MaskedArray) and np.ma.is_masked(obj):
        raise error("The array has masked entries; fill them first (of a graph, with 0 for no edge).")
    try:
        return plain_array(obj)
    except (TypeError, ValueError, RuntimeError):
        raise error(f"Cannot read {kind(obj)} as an array of numbers; give {give}.") from None


def edge_rows(array: np.ndarray) -> np.ndarray:
    """(E, 2) of any numeric type -> int64 rows, or an error that names the first bad edge."""
    if array.dtype.kind not in "iuf":
        raise GraphTypeError(f"Edges are integer rows counted from 0, not {array.dtype}; a networkx graph has names.")
    with np.errstate(invalid="ignore"):  # what int64 does not hold becomes another number
        rows = array.astype(np.int64)
    # Beyond 2**62 the sort keys of edges would overflow.
    require_rows(array, (rows >= 0) & (rows < 2**62) & (rows == array), "a row is an integer counted from 0")
    return rows


def require_rows(edges: np.ndarray, fine: np.ndarray, why: str) -> None:
    """Refuse edges outside the mask `fine`, naming the first."""
    if not fine.all():
        bad = np.flatnonzero(~fine.all(axis=1))
        words = f"Edge {bad[0]} (counted from 0) is {tuple(edges[bad[0]].tolist())}, but {why}"
        raise EdgeRangeError(f"{words} ({len(bad)} such edges); correct the edges or n_nodes.")


def check_square(shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise GraphTypeError(f"An adjacency matrix is square, not of shape {tuple(shape)}.")


def from_edges(edges: Any, asked: Asked = PLAIN) -> RawGraph:
    """Read (E, 2) or (2, E) integers as undirected edges; rows of three are edges with their weights."""
    array = to_numpy(edges)
    if array.size == 0:
        raise EmptyGraphError("The list of edges is empty; a spectrum needs at least one edge.")
    tuples = isinstance(edges, (list, tuple)) and all(isinstance(edge, tuple) for edge in edges)
    triples = array.ndim == 2 and array.shape[1] == 3 and (len(array) != 2 or tuples)
    if triples and asked.third_column:
        raw = open_ended(edge_rows(array[:, :2]))
        return replace(raw, **weight_column(np.ascontiguousarray(array[:, 2])))
    if triples or array.ndim != 2 or 2 not in array.shape:
        advice = "give only the two end columns, or weights=True where a third column holds the weights"
        raise GraphTypeError(f"Edges have shape (E, 2) or (2, E), not {array.shape}; {advice}.")
    if array.shape == (2, 2) and not tuples:
        array = edge_rows(array).T  # as in the edge_index of torch
        by_row, by_column = (np.sort(np.sort(pairs, axis=1), axis=0) for pairs in (array, array.T))
        if not is_tensor(edges) and not np.array_equal(by_row, by_column):
            raise AmbiguousGraphError("A 2 x 2 edges= may hold edges as rows or columns; give a list of tuples.")
    return open_ended(edge_rows(array if array.shape[1] == 2 else array.T))


def open_ended(edges: np.ndarray) -> RawGraph:
    """Edges whose number of nodes is only known from their largest row."""
    return RawGraph(edges, int(edges.max()) + 1 if len(edges) else 0, open_ended=True)


def from_dense(array: np.ndarray) -> RawGraph:
    """Read a dense matrix of numbers or booleans."""
    check_square(array.shape)
    rows, columns = np.nonzero(array)
    return from_entries(rows, columns, array[rows, columns], len(array))


def from_entries(rows: np.ndarray, columns: np.ndarray, values: np.ndarray, n_nodes: int) -> RawGraph:
    """Read the entries of a matrix: those that are not 0 are edges."""
    if values.dtype.kind not in "biuf":
        raise GraphTypeError(f"An adjacency matrix holds numbers or booleans, not {values.dtype}.")
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        where = (int(rows[bad[0]]), int(columns[bad[0]]))
        found = f"{len(bad)} NaN or infinite entries, the first at {where}"
        raise GraphTypeError(f"The adjacency matrix has {found}; put 0 where there is no edge.")
    present = values != 0
    edges = np.stack([rows[present], columns[present]], axis=1).astype(np.int64)
    return RawGraph(edges, n_nodes, form="matrix", **weight_column(values[present]))


def from_sparse(matrix: Any) -> RawGraph:
    """Read a scipy sparse matrix; entries that stand twice add up, as scipy has it."""
    check_square(matrix.shape)
    try:
        coo = (matrix.get() if module(matrix) == "cupyx" else matrix).tocoo(copy=True)
        coo.sum_duplicates()
    except ValueError as error:
        raise GraphTypeError(f"The sparse matrix is damaged ({error}); build it again from its entries.") from None
    return from_entries(coo.row, coo.col, coo.data, matrix.shape[0])


def from_array(obj: Any, asked: Asked = PLAIN) -> RawGraph:
    """Read an array that may be a matrix or a list of edges, by its shape."""
    array = to_numpy(obj)
    if array.size == 0:
        raise EmptyGraphError("The graph is empty; a spectrum needs at least two nodes and an edge.")
    if array.shape == (2, 2):
        raise AmbiguousGraphError("A 2 x 2 array may be a matrix or two edges; say which with adjacency= or edges=.")
    if array.ndim == 2 and array.shape[0] == array.shape[1]:
        return from_dense(array)
    if array.ndim == 2 and (2 in array.shape or (array.shape[1] == 3 and asked.third_column)):
        return from_edges(obj, asked)
    raise GraphTypeError(f"An array of shape {array.shape} is no graph; give a square matrix, or edges (E, 2).")
