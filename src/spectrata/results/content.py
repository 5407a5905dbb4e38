"""What a saved result must hold: the numbers that were written, in shapes that fit together."""

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import ResultError, shown

if TYPE_CHECKING:
    import xarray as xr

# Labels and facts that a result is read by; other text may come back changed from a file (dates, odd characters).
_LABELS = ("algorithm", "node", "status")
COORDINATES = ("eigenvalue", "eigenspace", "multiplicity", "n_edges", "n_parts", "n_singletons")
_FACTS = (
    "spectrata_version",
    "n_nodes",
    "n_edges",
    "graph_hash",
    "node_type",
    "metric",
    "seed",
    "parameters",
)


# What every result has besides its edges and statuses, and over what.
_NUMBERS = {
    "magnitude": {"algorithm", "hop", "component"},
    "gradient_norm": {"hop"},
    "eigenvalue": {"hop", "component"},
    "eigenspace": {"hop", "component"},
    "multiplicity": {"hop", "component"},
    "hop": {"hop"},
}


def fingerprint(ds: "xr.Dataset") -> str:
    """A hash of all numbers, their labels and the facts about them, to tell a damaged file."""
    state = hashlib.sha256(b"2")
    for name in sorted(str(name) for name in ds.variables):
        variable = ds.variables[name]
        if variable.dtype.kind in "biuf":
            kind = (
                "float" if variable.dtype.kind == "f" else "whole"
            )  # the same bits are another number in another type
            state.update(json.dumps([name, kind, list(variable.dims), list(variable.shape)]).encode())
            state.update(_number_bytes(variable.values))
        elif name in _LABELS:
            texts = np.asarray(variable.values).astype(str).tolist()
            state.update(json.dumps([name, list(variable.dims), texts]).encode())
    facts = [(name, str(ds.attrs[name])) for name in _FACTS if name in ds.attrs]
    state.update(json.dumps(facts).encode())
    return state.hexdigest()


def _number_bytes(values: np.ndarray) -> bytes:
    if values.dtype.kind != "f":
        return np.ascontiguousarray(values, dtype="<i8").tobytes()
    values = np.array(values, dtype="<f8")
    values[np.isnan(values)] = np.nan  # one NaN is as good as another
    return values.tobytes()


def first_fingerprint(ds: "xr.Dataset") -> str:
    """The hash of files that earlier programs wrote, over magnitudes, gradient norms and eigenvalues alone."""
    state = hashlib.sha256()
    for name in ("magnitude", "gradient_norm", "eigenvalue"):
        if name in ds.variables and ds.variables[name].dtype.kind in "biuf":
            state.update(np.ascontiguousarray(ds[name].values, dtype="<f8").tobytes())
    return state.hexdigest()


def check_parts(ds: "xr.Dataset", source: str) -> None:
    """Refuse a result whose parts do not fit: what came from a file may never have been one."""
    for name, dims in _NUMBERS.items():
        if name not in ds.variables:
            raise ResultError(f"{source} is no result: it has no {name}.")
        variable = ds.variables[name]
        if variable.dtype.kind not in "iuf" or not dims <= set(variable.dims):
            raise ResultError(f"{source} is no result: its {name} has {_words(variable)}.")
    edges = ds.variables["edges"]
    if edges.dtype.kind not in "iu" or edges.ndim != 2 or edges.shape[1] != 2:
        raise ResultError(f"{source} is no result: its edges have {_words(edges)}.")
    n_nodes = _count(ds.attrs.get("n_nodes"))
    if n_nodes is None:
        raise ResultError(f"{source} is no result: its number of nodes is {shown(ds.attrs.get('n_nodes'))}.")
    if edges.size and (edges.values.min() < 0 or edges.values.max() >= n_nodes):
        raise ResultError(f"{source} is no result: its edges name nodes beyond the {n_nodes} it has.")
    try:
        fine = isinstance(json.loads(ds.attrs.get("parameters", "{}")), dict)
    except (TypeError, ValueError, RecursionError):
        fine = False
    if not fine:
        raise ResultError(f"{source} is no result: its parameters cannot be read.")


def _words(variable: "xr.Variable") -> str:
    return f"dimensions {shown(list(variable.dims))} and type {variable.dtype}"


def _count(value: Any) -> int | None:
    try:
        count = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return count if count > 0 and count == value else None
