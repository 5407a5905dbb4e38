"""Graph files to plain edges, by file extension: NumPy archives and Matrix Market here, others in their own modules."""

import gzip
import io
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from spectrata.errors import FileFormatError, InputError
from spectrata.inputs.readers import files
from spectrata.inputs.readers.arrays import edge_rows, from_array, from_dense, from_edges, from_sparse, open_ended
from spectrata.inputs.readers.edge_tables import read_edge_table
from spectrata.inputs.readers.networkx_files import read_gexf, read_gml, read_graphml, read_node_link
from spectrata.inputs.readers.raw import Asked, Columns, RawGraph, too_many_nodes

# The arrays of an archive that hold weights, most wanted first.
_WEIGHTS = ("weights", "weight", "edge_weight", "edge_attr")


def read_graph(path: str | os.PathLike[str], asked: Asked | None = None) -> RawGraph:
    """Read a graph file by its ending; ``asked`` says whether a table is a list of edges or a matrix."""
    asked = Asked() if asked is None else asked
    with files.opened(path) as path:
        ending, known = files.suffix(path), (*_TABLES, *_READERS)
        if ending not in known:
            raise files.problem(path, f"this is no kind of graph file that is read; use one of {' '.join(known)}.")
        if ending in _READERS and asked.layout != "any":
            raise files.problem(path, f"give this kind of file as the graph itself, not as {asked.layout}=.")
        try:
            return _TABLES[ending](path, asked) if ending in _TABLES else _READERS[ending](path)
        except FileFormatError:
            raise
        except InputError as error:
            raise files.problem(path, str(error)) from None


# ---- numpy arrays


def _read_npz(path: Path) -> RawGraph:
    with files.open_npz(path) as npz:
        if "edges" in npz:
            raw = _pairs(npz["edges"])
        elif "edge_index" in npz:
            raw = replace(_pairs(npz["edge_index"].T), form="arcs")
        elif "adjacency" in npz:
            raw = from_dense(npz["adjacency"])
        elif {"shape", "data"} <= set(npz.keys):
            raw = from_sparse(files.read_sparse(npz))
        else:
            words = "a graph is stored as edges (with n_nodes), edge_index, adjacency, or by scipy.sparse.save_npz."
            raise files.problem(path, f"it has the arrays {files.listed(npz.keys)}; {words}")
        return _completed(npz, raw)


def _pairs(array: np.ndarray) -> RawGraph:
    # Of two edges from_edges would ask which way they lie; a file follows its key's habit, which is rows of pairs.
    return open_ended(edge_rows(array)) if array.shape == (2, 2) else from_edges(array)


def _completed(npz: files.Npz, raw: RawGraph) -> RawGraph:
    """Put in the number of nodes, their names, and the arrays that may hold a number per edge."""
    path, keys, n_edges = npz.path, npz.keys, len(raw.edges)
    for key in ("n_nodes", "num_nodes"):
        if key in npz:
            given, needed = npz[key], max(int(raw.edges.max(initial=-1)) + 1, raw.n_nodes)
            if given.dtype.kind not in "iu" or given.size != 1:
                raise files.problem(path, f"{key!r} is one whole number, not {given.dtype} of shape {given.shape}.")
            if given.item() < needed or (not raw.open_ended and given.item() != raw.n_nodes):
                raise files.problem(path, f"{key} is {given.item()}, but the edges need {needed}.")
            raw = replace(raw, n_nodes=given.item(), open_ended=False)
    if "names" in npz:
        names = npz.labels("names")
        if len(names) < raw.n_nodes or (len(names) > raw.n_nodes and not raw.open_ended):
            raise files.problem(path, f"there are {len(names)} names for {raw.n_nodes} nodes.")
        raw = replace(raw, n_nodes=len(names), names=names, open_ended=False)
    if too_many_nodes(raw.n_nodes, n_edges):
        raise files.problem(path, f"{raw.n_nodes} nodes for {n_edges} edges cannot be meant; renumber them.")
    if raw.form == "matrix":
        return raw

    def read(key: str) -> np.ndarray:
        with files.open_npz(path) as again:
            return again[key]

    weights = [key for key in _WEIGHTS if key in keys and npz[key].shape in ((n_edges,), (n_edges, 1))]
    others = ("edges", "edge_index", "n_nodes", "num_nodes", "names")
    columns = Columns(lambda: [key for key in keys if key not in others], read)
    return replace(raw, columns=columns, weight=weights[0] if weights else None)


# ---- Matrix Market


def _read_matrix_market(path: Path) -> RawGraph:
    """The adjacency matrix of a Matrix Market file, plain or gzipped."""
    import pandas as pd
    from scipy.io import mminfo, mmread
    from scipy.sparse import coo_array

    data = _unzipped(path) if files.suffix(path) == ".mtx.gz" else files.read_utf8(path)
    data = data.rstrip() + b"\n"  # scipy reads past the end where the last line is not closed
    with files.parsing(path, "the Matrix Market data is damaged ({})."):
        rows, columns, claimed, layout, field, symmetry = mminfo(io.BytesIO(data))
        if field == "complex" or symmetry == "hermitian":
            raise files.problem(path, f"it is {field} {symmetry}; an adjacency matrix is real, integer or pattern.")
        if rows != columns:
            raise files.problem(path, f"an adjacency matrix is square, not of shape {(rows, columns)}.")
        if claimed > len(data) or too_many_nodes(rows, claimed):
            raise files.problem(path, f"it claims {rows} rows and {claimed} entries, more than the file holds.")
        # scipy skips what it does not understand, so that pandas reads every line first: sizes, then entries.
        form = {"sep": r"\s+", "comment": "%", "quoting": 3, "dtype": float, "keep_default_na": False, "na_values": ""}
        lines = pd.read_csv(io.BytesIO(data), header=None, names=range(3), index_col=False, **form).to_numpy()[1:]
        width = 1 if layout == "array" else 2 if field == "pattern" else 3
        found = int(((~np.isnan(lines)).sum(axis=1) == width).sum())
        if found != len(lines) or (width > 1 and found != claimed):
            raise files.problem(path, f"it promises {claimed} entries of {width} numbers and holds {found}.")
        if "integer" in field and (np.trunc(lines[:, width - 1]) != lines[:, width - 1]).any():
            raise files.problem(path, "it promises integers, and holds other numbers.")
        return from_sparse(coo_array(mmread(io.BytesIO(data))))


def _unzipped(path: Path) -> bytes:
    data = bytearray()
    words = "the gzip data is cut short or damaged; write it again."
    with files.parsing(path, words), gzip.open(path) as stream:
        # Piece by piece: to ask for the largest size at once would set that much memory aside.
        while piece := stream.read(2**20):
            data += piece
            files.refuse_size(path, len(data))
    return bytes(data)


# Tables, whose meaning a caller may have to give.
_TABLES: dict[str, Callable[[Path, Asked], RawGraph]] = {
    **dict.fromkeys((".txt", ".edgelist", ".edges", ".el", ".csv", ".tsv"), read_edge_table),
    ".npy": lambda path, asked: from_array(files.read_npy(path), asked),
}
_READERS: dict[str, Callable[[Path], RawGraph]] = {
    ".npz": _read_npz,
    ".graphml": read_graphml,
    ".gexf": read_gexf,
    ".gml": read_gml,
    ".json": read_node_link,
    ".mtx": _read_matrix_market,
    ".mtx.gz": _read_matrix_market,
}
