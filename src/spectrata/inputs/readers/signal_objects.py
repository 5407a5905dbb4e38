"""Objects in memory, and node attributes, to plain numbers and labels: one small converter per kind of signal.

Other libraries are recognised by what their objects can do.
"""

from collections.abc import Hashable, Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np

from spectrata.errors import NodeCountError, SignalTypeError, SignalValueError, UnknownNameError, shown
from spectrata.inputs.readers.arrays import is_labelled, is_sparse, is_tensor, module, to_numpy
from spectrata.inputs.readers.files import check_dense, listed
from spectrata.inputs.readers.objects import is_anndata
from spectrata.inputs.readers.raw import Columns, RawSignal, RawTable, cells_of, kind

# Heads of a column that can only name the nodes.
NAME_HEADS = ("node", "nodes", "node_id", "node id", "id", "name", "vertex", "index", "")
SNAPSHOT_DIMS = ("snapshot", "epoch", "layer", "step", "time")
_GIVE = "numbers of shape (n,), (n, d) or (T, n, d) (of PyG Data: data.x)"
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
        names, columns = tuple(np.asarray(signal.obs_names).tolist()), column_names(list(signal.var_names))
        return RawSignal(to_signal_array(signal.X), names, columns=columns, table=True)
    if module(signal) == "polars" or (module(signal) == "pyarrow" and hasattr(signal, "column_names")):
        return from_pandas(signal.to_pandas())
    return RawSignal(to_signal_array(signal))


# ---- arrays


def to_signal_array(obj: Any) -> np.ndarray:
    """A real numeric array from an array, list, tensor or sparse matrix."""
    if is_sparse(obj):
        check_dense("A signal", obj.shape)
    if is_tensor(obj) and obj.is_floating_point():
        obj = obj.double()  # numpy has no bfloat16
    array = to_numpy(obj, SignalTypeError, f"{_GIVE}, all rows of the same length")
    if array.dtype.kind in "biuf":
        return array
    texts = [value for value in array.ravel()[:99] if isinstance(value, (str, bytes))]
    if texts:
        raise SignalTypeError(f"A signal holds real numbers, not text such as {shown(str(texts[0]))}; {_LABELS}.")
    if array.ndim == 0:
        raise SignalTypeError(f"Cannot read {kind(obj)} as a signal; give {_GIVE}, a mapping, a table or a path.")
    parts = "complex numbers: real and imaginary parts as columns"
    raise SignalTypeError(f"A signal holds real numbers, not {array.dtype}; convert it first ({parts}).")


# ---- labelled


def _from_mapping(signal: Mapping[Hashable, Any]) -> RawSignal:
    if not signal:
        raise SignalTypeError("The mapping is empty; give one number or vector per node.")
    rows = {label: to_signal_array(row) for label, row in signal.items()}
    shapes = {row.shape: label for label, row in rows.items()}
    if any(len(shape) > 1 for shape in shapes):
        raise SignalTypeError("The mapping holds whole arrays; for snapshots give one array of shape (T, n, d).")
    if len(shapes) > 1:
        words = ", ".join(f"node {shown(label)} has shape {shape}" for shape, label in [*shapes.items()][:2])
        raise SignalTypeError(f"The vectors differ in length: {words}; give every node the same number of columns.")
    return RawSignal(np.stack(list(rows.values())), tuple(rows), own=True)


def from_pandas(signal: Any, source: str = "", of_labels: bool = False) -> RawTable:
    """Read a Series or a DataFrame; its index names rows unless it only counts them. Labels may be of any kind."""
    if not hasattr(signal, "index"):
        raise SignalTypeError(f"Cannot read {kind(signal)} as a signal; give a Series or a DataFrame.")
    source, one = source or f"the {type(signal).__name__}", signal.ndim == 1
    frame = signal.to_frame() if one else signal
    labels, numbers = (signal.name,) if one else column_names(frame.columns.tolist()), []
    for place, label in enumerate(labels):
        column = frame.iloc[:, place]
        numbers.append(None if of_labels and one else _numbers(column))
        text = of_labels or hasattr(column.dtype, "categories")
        if numbers[-1] is None and not (text or all(isinstance(v, str) or is_missing(v) for v in column.tolist())):
            raise refused_column(label, source, column.dtype)
    index = cells_of(signal.index)
    # An index that somebody made of numbers names nodes; the default one only counts rows.
    counts = type(signal.index).__name__ == "RangeIndex" and index == list(range(len(index)))
    return RawTable(
        source, frame, numbers, labels, not one, None if counts else tuple(index), counted=True, of_labels=of_labels
    )


def refused_column(label: Any, source: str, what: Any = "text") -> SignalTypeError:
    """The error for a column that holds no numbers."""
    advice = f"drop it, make it the index if it names the nodes, or {_LABELS}"
    return SignalTypeError(f"Column {shown(label)} of {source} holds {what}, not real numbers; {advice}.")


def _numbers(column: Any) -> np.ndarray | None:
    if column.dtype == object:
        column = column.convert_dtypes()  # truth values with gaps, and numbers that stand as objects
    if getattr(column.dtype, "kind", "O") not in "biuf":
        return None
    return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))


def is_missing(value: Any) -> bool:
    """Whether this is None, NaN, or a library's mark for no value."""
    named = value is None or type(value).__name__ in ("NAType", "NaTType")
    return named or (isinstance(value, (Number, np.generic)) and bool(value != value))


def column_names(labels: Sequence[Any]) -> tuple[Any, ...]:
    """Labels of columns that every file format keeps: whole numbers where all are, else text."""
    whole = all(isinstance(label, (int, np.integer)) and not isinstance(label, bool) for label in labels)
    return tuple(int(label) if whole else str(label) for label in labels)


def _from_xarray(signal: Any) -> RawSignal:
    if not hasattr(signal, "dims") or hasattr(signal, "data_vars"):
        raise SignalTypeError(f"Cannot read {kind(signal)} as a signal; give one DataArray of it.")
    dims = [str(dim) for dim in signal.dims]
    times = [dim for dim in dims if dim in SNAPSHOT_DIMS]
    columns = [dim for dim in dims if dim != "node" and dim not in times]
    if "node" not in dims or len(times) > 1 or len(columns) > 1:
        none = "" if "node" in dims else " and none is called 'node'; rename that of the nodes, or give its .values"
        rule = f"a signal has 'node', at most one of {', '.join(SNAPSHOT_DIMS)}, and at most one for the columns"
        raise SignalTypeError(f"The DataArray has dimensions {dims}{none}; {rule}.")
    values = to_signal_array(signal.transpose(*times, "node", *columns).values)
    names = tuple(signal.coords["node"].values.tolist()) if "node" in signal.coords else None
    held = [column_names(signal.coords[dim].values.tolist()) for dim in columns if dim in signal.coords]
    known = held[0] if held else None
    if not times:
        return RawSignal(values, names, columns=known)
    snapshots: Sequence[Any] = range(signal.sizes[times[0]])
    if times[0] in signal.coords:
        labels = signal.coords[times[0]].values
        snapshots = labels if labels.dtype.kind in "mM" else labels.tolist()  # tolist() makes whole numbers of dates
    # (T, n) -> (T, n, 1), so that snapshots of single numbers are not taken for columns
    return RawSignal(values if columns else values[..., None], names, tuple(snapshots), times[0], known)


# ---- node attributes


def attribute(name: str, attributes: Mapping[str, Any]) -> Any:
    """The values of a node attribute, or an error that lists those there are."""
    if name not in attributes:
        held = f"the graph has {listed(list(attributes))}"
        raise UnknownNameError(f"There is no file {shown(name)} and no node attribute of that name; {held}.")
    return attributes[name]


def attribute_signal(
    name: str, attributes: Mapping[str, Any], names: Sequence[Hashable], texts: bool = False, gaps: bool = False
) -> RawSignal:
    """The numbers of a node attribute, (n,) or (n, d), in the graph's row order.

    ``texts`` allows one of text, ``gaps`` nodes without a number, which are NaN.
    """
    values, what = attribute(name, attributes), f"The node attribute {shown(name)}"
    labels = attributes.labels(name) if isinstance(attributes, Columns) else None
    joint = labels is None or is_labelled(values)
    if is_labelled(values):
        labels, values = getattr(values, "columns", None), values.to_numpy()
    if isinstance(values, np.ndarray) and values.dtype.kind in "OUS":
        values = values.tolist()
    if isinstance(values, (list, tuple)):
        words = [value for value in values if isinstance(value, (str, bytes))]
        if words and texts:
            return RawSignal(np.empty((len(names), 0)), texts=((name, values),), own=True)
        if words:
            one = f"such as {shown(words[0])}; give one number or one vector per node"
            raise SignalTypeError(f"{what} holds text, {one}, or {_LABELS}.")
        if len(values) != len(names):
            raise NodeCountError(f"{what} has {len(values)} values for {len(names)} nodes; give every node one.")
        missing = [row for row, value in enumerate(values) if value is None]
        if missing and gaps and all(value is None or np.ndim(value) == 0 for value in values):
            values = [np.nan if value is None else value for value in values]
        elif missing:
            example = f"{len(missing)} nodes have no {shown(name)}, such as {shown(names[missing[0]])}"
            raise SignalValueError(f"{example}; give every node one, or leave those nodes out of the graph.")
    try:
        columns = None if labels is None else column_names(list(labels))
        return RawSignal(to_signal_array(values), columns=columns, joint=joint, table=not joint)
    except SignalTypeError:
        raise SignalTypeError(f"{what} is not a number or a vector of one length per node; convert it first.") from None


def several_attributes(
    chosen: Sequence[str], attributes: Mapping[str, Any], names: Sequence[Hashable], texts: bool, gaps: bool
) -> RawSignal:
    """Node attributes of one number each as the columns of a table."""
    found = {name: attribute_signal(name, attributes, names, texts, gaps) for name in chosen}
    numeric = {name: raw.values for name, raw in found.items() if not raw.texts}
    for name, values in numeric.items():
        if values.ndim > 1 and values.shape[1:] != (1,):
            raise SignalTypeError(f"The node attribute {shown(name)} has shape {values.shape}; give it by itself.")
    words = tuple(text for raw in found.values() for text in raw.texts)
    values = np.column_stack(list(numeric.values())) if numeric else np.empty((len(names), 0))
    return RawSignal(values, columns=tuple(numeric), texts=words, own=True)
