"""Objects in memory, and node attributes, to plain numbers and labels: one small converter per kind of signal.

Other libraries are recognised by what their objects can do; narwhals is imported for frames that pandas did not make.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from spectrata.errors import (
    MemoryEstimateError,
    MissingExtraError,
    NodeCountError,
    SignalTypeError,
    SignalValueError,
    UnknownNameError,
    shown,
)
from spectrata.inputs.readers.annotated import is_anndata
from spectrata.inputs.readers.arrays import is_labelled, is_sparse, is_tensor, module
from spectrata.inputs.readers.files import MAX_BYTES, listed
from spectrata.inputs.readers.raw import Columns, RawSignal, RawTable, kind

SNAPSHOT_DIMS = ("snapshot", "epoch", "layer", "step", "time")
_LABELS = "use st.homophily(graph, labels) for class labels"


def recognise_signal(signal: Any) -> RawSignal | RawTable:
    """Read the numbers and labels of whatever kind of object this is."""
    if module(signal) == "xarray":
        return _from_xarray(signal)
    if module(signal) == "pandas":
        return from_pandas(signal)
    if isinstance(signal, Mapping):
        return _from_mapping(signal)
    if is_anndata(signal):
        values = _checked_size(signal.X, "X")
        names, columns = tuple(np.asarray(signal.obs_names).tolist()), column_names(list(signal.var_names))
        return RawSignal(to_signal_array(values), names, columns=columns)
    if module(signal) == "polars" or (module(signal) == "pyarrow" and hasattr(signal, "column_names")):
        return from_pandas(_to_pandas(signal))
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
            f"A signal holds real numbers, not text ({array.dtype}) such as {shown(str(text))}; {_LABELS}."
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
    return RawSignal(np.stack(rows), labels, own=True)


def _to_pandas(frame: Any) -> Any:
    try:
        import narwhals
    except ImportError:
        raise MissingExtraError(
            f"reading {kind(frame)} needs narwhals; install it with: pip install narwhals"
        ) from None
    return narwhals.from_native(frame, eager_only=True, allow_series=True).to_pandas()


def from_pandas(signal: Any, source: str = "") -> RawTable:
    """Read a Series or a DataFrame; its index names the rows unless it only counts them."""
    if not hasattr(signal, "index"):
        raise SignalTypeError(f"Cannot read {kind(signal)} as a signal; give a Series or a DataFrame.")
    one = signal.ndim == 1
    source = source or f"the {type(signal).__name__}"
    columns = [signal] if one else [signal.iloc[:, place] for place in range(signal.shape[1])]
    labels = (signal.name,) if one else column_names(signal.columns.tolist())

    def refuse(place: int) -> NoReturn:
        what = "text" if _is_text(columns[place]) else columns[place].dtype
        raise SignalTypeError(
            f"Column {labels[place]!r} of {source} holds {what}, not real numbers; drop it, make it "
            f"the index if it names the nodes, or {_LABELS}."
        )

    numbers = [_numbers(column) for column in columns]
    for place, column in enumerate(columns):
        if numbers[place] is None and not _is_text(column):
            refuse(place)
    index = _cells(signal.index)
    names = None if index == list(range(len(index))) else tuple(index)
    return RawTable(source, labels, not one, numbers, lambda place: _cells(columns[place]), refuse, names, counted=True)


def _numbers(column: Any) -> np.ndarray | None:
    if column.dtype == object:
        column = column.convert_dtypes()  # truth values with gaps, and numbers that stand as objects
    if getattr(column.dtype, "kind", "O") not in "biuf":
        return None
    return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))


def _cells(column: Any) -> list[Any]:
    """The values of a column or an index; equal texts of a categorical one are shared."""
    if not hasattr(column.dtype, "categories"):
        return list(column.tolist())
    coded = getattr(column, "cat", column)
    texts = np.array([*coded.categories.tolist(), None], dtype=object)
    return list(texts[np.asarray(coded.codes)].tolist())  # code -1, no value, is the last


def _is_text(column: Any) -> bool:
    if hasattr(column.dtype, "categories"):
        return True
    return all(isinstance(value, str) or _is_missing(value) for value in column.tolist())


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and math.isnan(value))


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


# ---- node attributes


def attribute_signal(
    name: str, attributes: Mapping[str, Any], names: Sequence[Hashable], texts: bool = False
) -> RawSignal:
    """The numbers of a node attribute, (n,) or (n, d), in the graph's row order.

    Parameters
    ----------
    name : str
    attributes : mapping
        The values of each attribute, one per node.
    names : sequence
        The nodes' names, for messages.
    texts : bool
        Whether an attribute of text is allowed.

    Examples
    --------
    >>> attribute_signal("age", {"age": [30, 41]}, ("ann", "bob")).values.tolist()
    [30, 41]
    """
    values = attribute(name, attributes)
    labels = attributes.labels(name) if isinstance(attributes, Columns) else None
    if is_labelled(values):
        labels = getattr(values, "columns", None)
        values = values.to_numpy()
        joint = True
    else:
        joint = labels is None
    values = _checked_size(values, name)
    if isinstance(values, np.ndarray) and values.dtype.kind in "OUS":
        values = values.tolist()
    if isinstance(values, (list, tuple)):
        words = [value for value in values if isinstance(value, (str, bytes))]
        if words and texts:
            return RawSignal(np.empty((len(names), 0)), texts=((name, values),), own=True)
        _check_values(name, values, words, names)
    columns = None if labels is None else column_names(list(labels))
    try:
        return RawSignal(to_signal_array(values), columns=columns, joint=joint)
    except SignalTypeError:
        raise SignalTypeError(
            f"The node attribute {shown(name)} is not a number or a vector of one length per node; convert it first."
        ) from None


def several_attributes(
    chosen: Sequence[str], attributes: Mapping[str, Any], names: Sequence[Hashable], texts: bool
) -> RawSignal:
    """Node attributes of one number each as the columns of a table."""
    found = [attribute_signal(name, attributes, names, texts) for name in chosen]
    numeric = [(name, raw.values) for name, raw in zip(chosen, found, strict=True) if not raw.texts]
    for name, values in numeric:
        if values.ndim > 1 and values.shape[1:] != (1,):
            raise SignalTypeError(f"The node attribute {shown(name)} has shape {values.shape}; give it by itself.")
    words = tuple(text for raw in found for text in raw.texts)
    values = np.stack([values.reshape(-1) for _, values in numeric], axis=1) if numeric else found[0].values
    return RawSignal(values, columns=tuple(name for name, _ in numeric), texts=words, own=True)


def attribute(name: str, attributes: Mapping[str, Any]) -> Any:
    """The values of a node attribute, or an error that lists those there are."""
    if name not in attributes:
        raise UnknownNameError(
            f"There is no file {shown(name)} and no node attribute of that name; the graph has "
            f"{listed(list(attributes))}."
        )
    return attributes[name]


def _checked_size(values: Any, name: str) -> Any:
    """A table that is not too large to be made dense."""
    if is_sparse(values) and 8 * math.prod(values.shape) > MAX_BYTES:
        raise MemoryEstimateError(
            f"{shown(name)} of shape {tuple(values.shape)} needs more than {MAX_BYTES >> 30} GiB as a signal; choose "
            "fewer columns."
        )
    return values


def _check_values(name: str, values: Sequence[Any], words: Sequence[Any], names: Sequence[Hashable]) -> None:
    if words:
        raise SignalTypeError(
            f"The node attribute {shown(name)} holds text, such as {shown(words[0])}; give one number or one vector "
            f"per node, or {_LABELS}."
        )
    if len(values) != len(names):
        raise NodeCountError(
            f"The node attribute {shown(name)} has {len(values)} values for {len(names)} nodes; give every node one."
        )
    missing = [row for row, value in enumerate(values) if value is None]
    if missing:
        raise SignalValueError(
            f"{len(missing)} nodes have no {shown(name)}, such as {shown(names[missing[0]])}; give every node one, or "
            "leave those nodes out of the graph."
        )
