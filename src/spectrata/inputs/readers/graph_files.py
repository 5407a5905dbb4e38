"""Graph files to plain edges, by file extension: NumPy archives here, other formats in their own modules."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from spectrata.errors import FileFormatError, InputError
from spectrata.inputs.readers.arrays import edge_rows, from_array, from_dense, from_edges, from_sparse, open_ended
from spectrata.inputs.readers.edge_tables import read_edge_list, read_table
from spectrata.inputs.readers.files import (
    Npz,
    checked_path,
    in_memory,
    listed,
    open_npz,
    problem,
    read_npy,
    read_sparse,
    suffix,
)
from spectrata.inputs.readers.matrix_market import read_matrix_market
from spectrata.inputs.readers.networkx_files import read_gexf, read_gml, read_graphml, read_node_link
from spectrata.inputs.readers.raw import Asked, Columns, RawGraph

# The arrays of an archive that hold weights, most wanted first.
_WEIGHTS = ("weights", "weight", "edge_weight", "edge_attr")


def read_graph(path: str | os.PathLike[str], asked: Asked | None = None) -> RawGraph:
    """Read a graph file by its ending.

    Parameters
    ----------
    path : path_like
        ``.txt .edgelist .edges .el`` (edge list), ``.csv .tsv`` and ``.npy`` (edge list or adjacency matrix),
        ``.npz``, ``.graphml``, ``.gexf``, ``.gml``, ``.json`` (node-link), ``.mtx`` or ``.mtx.gz`` (Matrix Market).
    asked : Asked, optional
        Whether a table is a list of edges or a matrix, where the caller says so.

    Returns
    -------
    RawGraph

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "ring.txt"
    ...     _ = file.write_text("0 1\\n1 2\\n2 0\\n")
    ...     read_graph(file).edges.tolist()
    [[0, 1], [1, 2], [2, 0]]
    """
    path = checked_path(path)
    ending, asked = suffix(path), Asked() if asked is None else asked
    known = (*_TABLES, *_READERS)
    if ending not in known:
        raise problem(path, f"this is no kind of graph file that is read; use one of {' '.join(known)}.")
    if ending in _READERS and asked.layout != "any":
        raise problem(path, f"give this kind of file as the graph itself, not as {asked.layout}=.")
    try:
        with in_memory(path):
            return _TABLES[ending](path, asked) if ending in _TABLES else _READERS[ending](path)
    except FileFormatError:
        raise
    except InputError as error:
        raise problem(path, str(error)) from None


# ---- numpy arrays


def _read_npy(path: Path, asked: Asked) -> RawGraph:
    return from_array(read_npy(path), asked)


def _read_npz(path: Path) -> RawGraph:
    with open_npz(path) as npz:
        if "edges" in npz:
            raw = _pairs(npz["edges"])
        elif "edge_index" in npz:
            raw = replace(_pairs(npz["edge_index"].T), form="arcs")
        elif "adjacency" in npz:
            raw = from_dense(npz["adjacency"])
        elif {"shape", "data"} <= set(npz.keys):
            raw = from_sparse(read_sparse(npz))
        else:
            raise problem(
                path,
                f"it has the arrays {listed(npz.keys)}; a graph is stored as edges (with n_nodes), "
                "edge_index, adjacency, or by scipy.sparse.save_npz.",
            )
        return _weighed(npz, _completed(npz, raw))


def _weighed(npz: Npz, raw: RawGraph) -> RawGraph:
    """Put in the arrays that may hold a number per edge; those of a matrix are its own values."""
    if raw.form == "matrix":
        return raw
    path, keys = npz.path, npz.keys
    sizes = {key: npz[key].shape for key in _WEIGHTS if key in keys}
    usual = [key for key, shape in sizes.items() if shape in ((len(raw.edges),), (len(raw.edges), 1))]

    def read(key: str) -> np.ndarray:
        with open_npz(path) as again:
            return again[key]

    others = ("edges", "edge_index", "n_nodes", "num_nodes", "names")
    columns = Columns(lambda: [key for key in keys if key not in others], read)
    return replace(raw, columns=columns, weight=usual[0] if usual else None)


def _pairs(array: np.ndarray) -> RawGraph:
    if array.shape == (2, 2):
        # from_edges would ask; a file follows its key's habit, which is rows of pairs here.
        return open_ended(edge_rows(array), "list")
    return from_edges(array)


def _completed(npz: Npz, raw: RawGraph) -> RawGraph:
    """Put in the number of nodes and their names, where the archive has them."""
    for key in ("n_nodes", "num_nodes"):
        if key in npz:
            n_nodes = npz.number(key)
            largest = int(raw.edges.max(initial=-1))
            if n_nodes <= largest or (not raw.open_ended and n_nodes != raw.n_nodes):
                raise problem(npz.path, f"{key} is {n_nodes}, but the edges need {max(largest + 1, raw.n_nodes)}.")
            raw = replace(raw, n_nodes=n_nodes, open_ended=False)
    if "names" in npz:
        names = npz.labels("names")
        if len(names) < raw.n_nodes or (len(names) > raw.n_nodes and not raw.open_ended):
            raise problem(npz.path, f"there are {len(names)} names for {raw.n_nodes} nodes.")
        raw = replace(raw, n_nodes=len(names), names=names, open_ended=False)
    if raw.n_nodes > 1_000_000 + 100 * len(raw.edges):
        raise problem(npz.path, f"{raw.n_nodes} nodes for {len(raw.edges)} edges cannot be meant; renumber them.")
    return raw


# Tables, whose meaning a caller may have to give.
_TABLES: dict[str, Callable[[Path, Asked], RawGraph]] = {
    ".txt": read_edge_list,
    ".edgelist": read_edge_list,
    ".edges": read_edge_list,
    ".el": read_edge_list,
    ".csv": read_table,
    ".tsv": read_table,
    ".npy": _read_npy,
}
_READERS: dict[str, Callable[[Path], RawGraph]] = {
    ".npz": _read_npz,
    ".graphml": read_graphml,
    ".gexf": read_gexf,
    ".gml": read_gml,
    ".json": read_node_link,
    ".mtx": read_matrix_market,
    ".mtx.gz": read_matrix_market,
}
