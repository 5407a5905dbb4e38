"""Graphs that travel with data: PyGSP graphs and AnnData tables, recognised by what they hold."""

from dataclasses import replace
from typing import Any

import numpy as np

from spectrata.errors import GraphTypeError, OptionError, SignalTypeError, shown
from spectrata.inputs.readers.arrays import from_dense, from_sparse, is_labelled, is_sparse, to_numpy
from spectrata.inputs.readers.files import listed
from spectrata.inputs.readers.raw import Asked, Columns, RawGraph, as_positions

_DEFAULT = "connectivities"

# ---- PyGSP


def is_pygsp(obj: Any) -> bool:
    """Whether this is a PyGSP graph: a sparse weight matrix ``W`` and a number of nodes ``N``."""
    return is_sparse(getattr(obj, "W", None)) and hasattr(obj, "N")


def from_pygsp(graph: Any, asked: Asked) -> RawGraph:
    """Read ``W``, ``coords`` and ``signals``."""
    signals, coords = getattr(graph, "signals", {}), getattr(graph, "coords", None)
    return _completed(from_sparse(graph.W), None, Columns(lambda: list(signals), signals.__getitem__), coords)


# ---- AnnData


def is_anndata(obj: Any) -> bool:
    """Whether this is an AnnData, or a view of one."""
    return all(hasattr(obj, name) for name in ("obsp", "obsm", "obs_names", "var_names", "X"))


def from_anndata(data: Any, asked: Asked) -> RawGraph:
    """Read a matrix of ``obsp``; observations are the nodes.

    The matrix is ``asked.key``, else "connectivities", else the only one whose name ends so. A node attribute is "X",
    or a name in ``layers``, ``obsm`` or ``obs``, or one of ``var_names``, in this order.
    """
    matrix = data.obsp[_key(data, asked.key)]
    raw = from_sparse(matrix) if is_sparse(matrix) else from_dense(to_numpy(matrix))
    attributes = Columns(
        lambda: _attribute_names(data), lambda name: _attribute(data, name), labels=lambda name: _labels(data, name)
    )
    spatial = data.obsm["spatial"] if "spatial" in data.obsm else None  # noqa: SIM401
    return _completed(raw, tuple(np.asarray(data.obs_names).tolist()), attributes, spatial)


def _key(data: Any, key: str | None) -> str:
    keys = list(data.obsp.keys())
    if key is not None:
        if key not in keys:
            held = f"it has {listed(keys)}" if keys else "it is empty"
            raise OptionError(f"adjacency={shown(key)} is not in the AnnData's obsp; {held}.")
        return key
    likely = [name for name in keys if name.endswith(_DEFAULT)]
    if _DEFAULT in likely or len(likely) == 1:
        return _DEFAULT if _DEFAULT in likely else str(likely[0])
    if not keys:
        raise GraphTypeError(
            "The AnnData's obsp is empty, so it holds no graph; make one with scanpy.pp.neighbors or "
            "squidpy.gr.spatial_neighbors."
        )
    raise GraphTypeError(
        f"The AnnData's obsp has {listed(keys)} and no {_DEFAULT!r}; choose one with adjacency={keys[0]!r}."
    )


def _attribute_names(data: Any) -> list[str]:
    return ["X", *getattr(data, "layers", {}), *data.obsm, *getattr(data, "obs", {}), *data.var_names]


def _attribute(data: Any, name: str) -> Any:
    if name == "X":
        return data.X
    for held in (getattr(data, "layers", {}), data.obsm, getattr(data, "obs", {})):
        if name in held:
            return held[name]
    place = list(data.var_names).index(name)
    if len(getattr(data.X, "shape", ())) != 2 or data.X.shape[1] <= place:
        raise SignalTypeError(
            f"{shown(name)} is a variable of the AnnData, but its X holds no such column; give a name in layers, obsm "
            "or obs, or an array."
        )
    table = data.X.to_numpy() if is_labelled(data.X) else data.X
    if is_sparse(table) and table.format not in ("csr", "csc"):  # others have no columns to take
        table = table.tocsr()
    column = table[:, [place]]
    return column.toarray().ravel() if is_sparse(column) else np.asarray(column).ravel()


def _labels(data: Any, name: str) -> list[Any] | None:
    """The genes or other variables that are the columns of an attribute."""
    return list(data.var_names) if name == "X" or name in getattr(data, "layers", {}) else None


def _completed(raw: RawGraph, names: Any, attributes: Columns, coords: Any) -> RawGraph:
    if names is not None and len(names) != raw.n_nodes:
        raise GraphTypeError(
            f"The AnnData has {len(names)} obs_names for a matrix of {raw.n_nodes} rows; give every row one name."
        )
    positions = None if coords is None or is_sparse(coords) else as_positions(coords, raw.n_nodes)
    return replace(raw, names=names, attributes=attributes, positions=positions)
