"""The content of a saved result: the numbers that were written, in shapes that fit together."""

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import ResultError, shown
from spectrata.results.schema import FIELDS, NO_EDGES, OPTIONS

if TYPE_CHECKING:
    import xarray as xr

# Labels and facts that a result is read by; other text may come back changed from a file (dates, odd characters).
_LABELS = ("algorithm", "node", "status", "made_with")
_FACTS = (
    "spectrata_version",
    "kind",
    "n_nodes",
    "n_edges",
    "graph_hash",
    "node_type",
    "laplacian",
    "self_loops",
    "weights",
    "metric",
    "seed",
    "merged",
    "normalized",
    "zero_dropped",
    OPTIONS,
)


def fingerprint(ds: "xr.Dataset") -> str:
    """A hash of all numbers, their labels and the facts about them, to detect a damaged file."""
    state = hashlib.sha256(b"3")
    for name in sorted(str(name) for name in ds.variables):
        variable = ds.variables[name]
        if variable.dtype.kind in "biuf":
            # The same bits are another number in another type.
            kind = "float" if variable.dtype.kind == "f" else "whole"
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


def has_holes(ds: "xr.Dataset") -> bool:
    """Whether a Zarr array has lost a file: no status at all, or magnitudes that are defined and not there."""
    if (ds["status"] == "").any():
        return True
    if "magnitude" not in ds or "component" not in ds["magnitude"].dims:
        return False
    return bool(((ds["status"] == "ok") & ds["magnitude"].isnull().all("component")).any())


def check_parts(ds: "xr.Dataset", source: str) -> None:
    """Refuse a file whose parts do not fit: its content may never have been a result."""
    if "spectrata_version" not in ds.attrs:
        raise ResultError(f"{source} is not a spectrata result file: it lacks its version.")
    if "magnitude" not in ds.variables:
        return  # a comparison, a test or another table that was computed from results
    for name, field in FIELDS.items():
        if name not in ds.variables:
            if field.coordinate and "band" in ds["magnitude"].dims:
                continue  # a calibration by bands has no components
            raise ResultError(f"{source} is not a spectrata result file: it has no {name}.")
        variable = ds.variables[name]
        numbers = variable.dtype.kind in "biuf" or field.dtype == "str"
        dims = {"component" if dim == "band" else dim for dim in variable.dims}
        if not numbers or dims & {"algorithm", "hop", "component"} != set(field.dims):
            raise ResultError(f"{source} is not a spectrata result file: its {name} has {_words(variable)}.")
    _check_edges(ds, source)
    try:
        fine = isinstance(json.loads(ds.attrs.get(OPTIONS, "{}")), dict)
    except (TypeError, ValueError, RecursionError):
        fine = False
    if not fine:
        raise ResultError(f"{source} is not a spectrata result file: its options cannot be read.")


def _check_edges(ds: "xr.Dataset", source: str) -> None:
    if "graph" in ds.dims:
        return  # many graphs keep no edges
    if "edges" not in ds.variables and "graph" in ds.coords:
        raise ResultError(f"{source} has no edges: {NO_EDGES}")
    if "edges" not in ds.variables:
        raise ResultError(f"{source} is not a spectrata result file: it has no edges.")
    edges = ds.variables["edges"]
    if edges.dtype.kind not in "iu" or edges.ndim < 2 or edges.shape[-1] != 2:
        raise ResultError(f"{source} is not a spectrata result file: its edges have {_words(edges)}.")
    n_nodes = _count(ds.attrs.get("n_nodes"))
    if n_nodes is None:
        told = shown(ds.attrs.get("n_nodes"))
        raise ResultError(f"{source} is not a spectrata result file: its number of nodes is {told}.")
    if edges.size and (edges.values.min() < 0 or edges.values.max() >= n_nodes):
        raise ResultError(f"{source} is not a spectrata result file: its edges name nodes beyond the {n_nodes} it has.")


def _words(variable: "xr.Variable") -> str:
    return f"dimensions {shown(list(variable.dims))} and type {variable.dtype}"


def _count(value: Any) -> int | None:
    try:
        count = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return count if count > 0 and count == value else None
