"""Plain arrays to edges: pairs of rows, or the entries of an adjacency matrix."""

from dataclasses import replace
from typing import Any

import numpy as np

from spectrata.errors import AmbiguousGraphError, EdgeRangeError, EmptyGraphError, GraphTypeError, OptionError
from spectrata.inputs.readers.raw import Asked, EdgeForm, RawGraph, kind, weight_column

ACCEPTED = (
    "a networkx, igraph or PyGSP graph, a scipy sparse or dense adjacency matrix, integer edges, "
    "PyG Data or edge_index, a DGL graph, AnnData, or a path"
)
_PLAIN = Asked()


def module(obj: Any) -> str:
    """The library an object comes from."""
    return type(obj).__module__.partition(".")[0]


def is_tensor(obj: Any) -> bool:
    """Whether this is a torch tensor, or behaves like one."""
    return hasattr(obj, "detach") and hasattr(obj, "numpy")


def is_sparse(obj: Any) -> bool:
    """Whether this is a scipy sparse matrix or array, or behaves like one."""
    return hasattr(obj, "tocoo") and hasattr(obj, "nnz")


def is_labelled(obj: Any) -> bool:
    """Whether this is a table or array with labels of its own."""
    return module(obj) in ("pandas", "xarray")


def to_numpy(obj: Any) -> np.ndarray:
    """A plain array, or an error that says what was given."""
    try:
        if is_tensor(obj):
            return np.asarray(obj.detach().cpu().numpy())
        if module(obj) == "cupy":
            return np.asarray(obj.get())
        if isinstance(obj, np.ma.MaskedArray) and np.ma.is_masked(obj):
            raise GraphTypeError("The array has masked entries; fill them first, with 0 for no edge.")
        return np.asarray(obj)
    except (TypeError, ValueError, RuntimeError) as problem:
        if isinstance(problem, GraphTypeError):
            raise
        raise GraphTypeError(f"Cannot read {kind(obj)} as an array of numbers; give {ACCEPTED}.") from None


def edge_rows(array: np.ndarray) -> np.ndarray:
    """(E, 2) of any numeric type -> int64 rows, or an error that names the first bad edge."""
    if array.dtype.kind not in "iuf":
        raise GraphTypeError(
            f"Edges are integer rows counted from 0, not {array.dtype}; for nodes with names give a networkx graph."
        )
    # Beyond 2**62 the sort keys of edges would overflow, and no such row exists anyway.
    fine = array >= 0
    # Small integers are not asked: they cannot, and numpy 2.2.0 crashes when it compares them with such a number.
    if array.dtype.kind == "f" or array.itemsize >= 8:
        fine &= array < 2**62
    if array.dtype.kind == "f":
        fine &= np.floor(array) == array
    require_rows(array, fine, "a row is an integer counted from 0")
    return array.astype(np.int64)


def require_rows(edges: np.ndarray, fine: np.ndarray, why: str) -> None:
    """Refuse edges outside the mask `fine`, naming the first."""
    bad = np.flatnonzero(~fine.all(axis=1))
    if len(bad):
        first = tuple(edges[bad[0]].tolist())
        raise EdgeRangeError(
            f"Edge {bad[0]} (counted from 0) is {first}, but {why} ({len(bad)} such edges); "
            "correct the edges or n_nodes."
        )


def check_square(shape: tuple[int, ...]) -> None:
    """Refuse a matrix that is not square."""
    if len(shape) != 2 or shape[0] != shape[1]:
        raise GraphTypeError(f"An adjacency matrix is square, not of shape {tuple(shape)}.")


def from_edges(edges: Any, asked: Asked = _PLAIN) -> RawGraph:
    """Read (E, 2) or (2, E) integers as undirected edges; rows of three are edges with their weights."""
    if is_labelled(edges):
        return from_labelled(edges)
    array = to_numpy(edges)
    if array.size == 0:
        raise EmptyGraphError("The list of edges is empty; a spectrum needs at least one edge.")
    triples = array.ndim == 2 and array.shape[1] == 3 and (len(array) != 2 or _is_list_of_tuples(edges))
    if triples and asked.third_column:
        raw = open_ended(edge_rows(array[:, :2]), "list")
        return replace(raw, **weight_column(np.ascontiguousarray(array[:, 2])))
    if triples or array.ndim != 2 or 2 not in array.shape:
        raise GraphTypeError(
            f"Edges have shape (E, 2) or (2, E), not {array.shape}; give only the two end columns, or weights=True "
            "where a third column holds the weights."
        )
    if array.shape == (2, 2):
        edge_rows(array)  # refuses what has no order
        return open_ended(edge_rows(_two_by_two(edges, array)), "list")
    return open_ended(edge_rows(array if array.shape[1] == 2 else array.T), "list")


def _is_list_of_tuples(edges: Any) -> bool:
    return isinstance(edges, (list, tuple)) and all(isinstance(edge, tuple) for edge in edges)


def _two_by_two(edges: Any, array: np.ndarray) -> np.ndarray:
    if is_tensor(edges):
        return array.T
    by_row, by_column = (np.sort(np.sort(pairs, axis=1), axis=0) for pairs in (array, array.T))
    if _is_list_of_tuples(edges) or np.array_equal(by_row, by_column):
        return array
    raise AmbiguousGraphError(
        "A 2 x 2 edges= could hold its edges as rows or as columns; give a list of tuples, such as "
        "edges=[(0, 1), (2, 3)]."
    )


def open_ended(edges: np.ndarray, form: EdgeForm) -> RawGraph:
    """Edges whose number of nodes is only known from their largest row."""
    return RawGraph(edges, int(edges.max()) + 1 if len(edges) else 0, form=form, open_ended=True)


def from_dense(array: np.ndarray) -> RawGraph:
    """Read a dense matrix of numbers or booleans."""
    check_square(array.shape)
    if array.dtype.kind not in "biuf":
        raise GraphTypeError(f"An adjacency matrix holds numbers or booleans, not {array.dtype}.")
    rows, columns = np.nonzero(array)
    return from_entries(rows, columns, array[rows, columns], len(array))


def from_entries(rows: np.ndarray, columns: np.ndarray, values: np.ndarray, n_nodes: int) -> RawGraph:
    """Read the entries of a matrix: those that are not 0 are edges."""
    if values.dtype.kind not in "biuf":
        raise GraphTypeError(f"An adjacency matrix holds numbers or booleans, not {values.dtype}.")
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        where = (int(rows[bad[0]]), int(columns[bad[0]]))
        raise GraphTypeError(
            f"The adjacency matrix has {len(bad)} NaN or infinite entries, the first at {where}; "
            "put 0 where there is no edge."
        )
    present = values != 0
    edges = np.stack([rows[present], columns[present]], axis=1).astype(np.int64)
    return RawGraph(edges, n_nodes, form="matrix", **weight_column(values[present]))


def from_sparse(matrix: Any) -> RawGraph:
    """Read a scipy sparse matrix; entries that stand twice add up, as scipy has it."""
    check_square(matrix.shape)
    if module(matrix) == "cupyx":
        matrix = matrix.get()
    coo = matrix.tocoo(copy=True)
    coo.sum_duplicates()
    return from_entries(coo.row, coo.col, coo.data, matrix.shape[0])


def from_array(obj: Any, asked: Asked = _PLAIN) -> RawGraph:
    """Read an array that may be a matrix or a list of edges, by its shape."""
    array = to_numpy(obj)
    if asked.layout == "adjacency":
        return from_dense(array)
    if asked.layout == "edges":
        return from_edges(array, asked)
    if array.size == 0:
        raise EmptyGraphError("The graph is empty; a spectrum needs at least two nodes and an edge.")
    if array.shape == (2, 2):
        raise AmbiguousGraphError(
            "A 2 x 2 array could be an adjacency matrix or two edges; say which with adjacency= or edges=."
        )
    if array.ndim == 2 and array.shape[0] == array.shape[1]:
        return from_dense(array)
    if array.ndim == 2 and (2 in array.shape or (array.shape[1] == 3 and asked.third_column)):
        return from_edges(obj, asked)
    raise GraphTypeError(
        f"An array of shape {array.shape} is neither a square adjacency matrix nor edges (E, 2) or (2, E); "
        "give adjacency= or edges= in one of these shapes."
    )


def from_labelled(obj: Any, asked: Asked = _PLAIN) -> RawGraph:
    """Refuse what has labels that plain rows would lose."""
    if hasattr(obj, "data_vars"):
        raise OptionError(
            "This is a result, and the function needs the graph; give the graph, or a Stratification of it."
        )
    raise GraphTypeError(
        f"Cannot read a graph from {kind(obj)}, whose labels would be lost; use "
        "networkx.from_pandas_edgelist or from_pandas_adjacency first, or pass its .to_numpy()."
    )
