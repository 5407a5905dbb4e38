"""Objects in memory to plain numbers and labels: one small converter per kind of signal.

Other libraries are recognised by what their objects can do, never imported here.
"""

import os
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from spectrata.errors import SignalTypeError, SignalValueError, shown
from spectrata.inputs.formats.graph_arrays import is_tensor, module
from spectrata.inputs.formats.raw import RawSignal, kind
from spectrata.inputs.formats.signal_files import read_signal

SNAPSHOT_DIMS = ("snapshot", "epoch", "layer", "step", "time")


def recognise_signal(signal: Any) -> RawSignal:
    """Read the numbers and labels of whatever kind of signal this is."""
    if isinstance(signal, (str, os.PathLike)):
        return read_signal(signal)
    if module(signal) == "xarray":
        return _from_xarray(signal)
    if module(signal) == "pandas":
        return _from_pandas(signal)
    if isinstance(signal, Mapping):
        return _from_mapping(signal)
    return RawSignal(to_signal_array(signal))


# ---- arrays


def to_signal_array(obj: Any) -> np.ndarray:
    """A real numeric array from an array, list, tensor or sparse matrix."""
    if isinstance(obj, np.ma.MaskedArray) and np.ma.is_masked(obj):
        raise SignalValueError("The signal has masked entries; fill them, or leave their nodes out of the graph.")
    try:
        if is_tensor(obj):
            array = _tensor_to_numpy(obj)
        elif module(obj) == "cupy":
            array = obj.get()
        else:
            array = np.asarray(obj.toarray() if hasattr(obj, "toarray") else obj)
    except (TypeError, ValueError, RuntimeError):
        raise SignalTypeError(
            f"Cannot read {kind(obj)} as a signal: give numbers of shape (n,), (n, d) or (T, n, d), "
            "all rows of the same length (of PyG Data: data.x)."
        ) from None
    return _real(array, obj)


def _tensor_to_numpy(tensor: Any) -> np.ndarray:
    tensor = tensor.detach()
    if "strided" not in str(tensor.layout):
        tensor = tensor.to_dense()
    if tensor.is_floating_point():
        # numpy has no bfloat16.
        tensor = tensor.double()
    return np.asarray(tensor.cpu().numpy())


def _real(array: np.ndarray, obj: Any) -> np.ndarray:
    if array.dtype.kind in "biuf":
        return array
    texts = (value for value in array.ravel() if isinstance(value, (str, bytes)))
    text = next(texts, None) if array.dtype.kind in "OUS" else None
    if text is not None:
        raise SignalTypeError(
            f"A signal holds real numbers, not text ({array.dtype}) such as {shown(str(text))}; use "
            "st.homophily(graph, labels) for class labels."
        )
    if array.ndim == 0:
        raise SignalTypeError(
            f"Cannot read {kind(obj)} as a signal; give an array, a mapping from node to vector, a pandas, "
            "xarray or torch object, or a path (for PyG Data: data.x)."
        )
    raise SignalTypeError(
        f"A signal holds real numbers, not {array.dtype}; convert it first (complex numbers: real and "
        "imaginary parts as columns)."
    )


# ---- labelled


def _from_mapping(signal: Mapping[Hashable, Any]) -> RawSignal:
    labels = tuple(signal)
    if not labels:
        raise SignalTypeError("The mapping is empty; give one number or vector per node.")
    rows = [to_signal_array(signal[label]) for label in labels]
    if any(row.ndim > 1 for row in rows):
        raise SignalTypeError(
            "The mapping holds whole arrays; a mapping goes from node to number or vector, so for snapshots "
            "stack them into one array of shape (T, n, d)."
        )
    for label, row in zip(labels, rows, strict=True):
        if row.shape != rows[0].shape:
            raise SignalTypeError(
                f"The vectors differ in length: node {labels[0]!r} has shape {rows[0].shape}, node {label!r} "
                f"has {row.shape}; give every node the same number of columns."
            )
    return RawSignal(np.stack(rows), labels)


def _from_pandas(signal: Any) -> RawSignal:
    if not hasattr(signal, "index"):
        raise SignalTypeError(f"Cannot read {kind(signal)} as a signal; give a Series or a DataFrame.")
    dtypes = signal.dtypes if signal.ndim == 2 else [signal.dtype]
    for number, dtype in enumerate(dtypes):
        if getattr(dtype, "kind", "O") not in "biuf":
            label = signal.columns[number] if signal.ndim == 2 else signal.name
            raise SignalTypeError(
                f"Column {label!r} holds {dtype}, not real numbers; drop it, make it the index if it names the nodes, "
                "or use st.homophily(graph, labels) for class labels."
            )
    values = signal.to_numpy(dtype=np.float64, na_value=np.nan)
    columns = column_names(signal.columns.tolist()) if signal.ndim == 2 else None
    return RawSignal(values, tuple(signal.index.tolist()), columns=columns)


def column_names(labels: Sequence[Any]) -> tuple[Any, ...]:
    """Labels of columns that every file format keeps: whole numbers where all are, else text."""
    whole = all(isinstance(label, (int, np.integer)) and not isinstance(label, bool) for label in labels)
    return tuple(int(label) if whole else str(label) for label in labels)


def _from_xarray(signal: Any) -> RawSignal:
    if not hasattr(signal, "dims") or hasattr(signal, "data_vars"):
        raise SignalTypeError(f"Cannot read {kind(signal)} as a signal; give one DataArray of it.")
    dims = [str(dim) for dim in signal.dims]
    if "node" not in dims:
        raise SignalTypeError(
            f"The DataArray has dimensions {dims} and none is called 'node'; rename that of the nodes, or "
            "give its .values."
        )
    times = [dim for dim in dims if dim in SNAPSHOT_DIMS]
    columns = [dim for dim in dims if dim != "node" and dim not in times]
    if len(times) > 1 or len(columns) > 1:
        raise SignalTypeError(
            f"The DataArray has dimensions {dims}; a signal has 'node', at most one of "
            f"{', '.join(SNAPSHOT_DIMS)}, and at most one for the columns."
        )
    values = to_signal_array(signal.transpose(*times, "node", *columns).values)
    names = tuple(signal.coords["node"].values.tolist()) if "node" in signal.coords else None
    held = [column_names(signal.coords[dim].values.tolist()) for dim in columns if dim in signal.coords]
    known = held[0] if held else None
    if not times:
        return RawSignal(values, names, columns=known)
    # (T, n) -> (T, n, 1), so that snapshots of single numbers are not taken for columns
    return RawSignal(values if columns else values[..., None], names, _labels(signal, times[0]), times[0], known)


def _labels(signal: Any, dim: str) -> tuple[Any, ...]:
    if dim not in signal.coords:
        return tuple(range(signal.sizes[dim]))
    labels = signal.coords[dim].values
    # tolist() would turn dates into bare integers.
    return tuple(labels) if labels.dtype.kind in "mM" else tuple(labels.tolist())
