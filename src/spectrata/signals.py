"""The one door for signals: whatever the user holds becomes (T, n, d) in the graph's row order.

Labels are matched by name wherever the input has some; what has none is taken row by row.
Then a metric turns the signal into a :class:`Potential`, whose plain differences have the
length of the gradient (Def. 2 of the paper).
"""

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spectrata.errors import (
    DuplicateNameError,
    NodeCountError,
    OptionError,
    SignalTypeError,
    SignalValueError,
    UnknownNameError,
    ZeroVectorError,
)
from spectrata.graphs import Graph
from spectrata.readers.signal_files import read_signal

SNAPSHOT_DIMS = ("snapshot", "epoch", "layer", "step", "time")
# Outside this range squares of differences could over- or underflow.
_LARGE, _SMALL = 1e100, 1e-100
_SHOWN = 5


@dataclass(frozen=True, eq=False)
class Signal:
    """A signal on the nodes of a graph, for one or more snapshots.

    Parameters
    ----------
    values : ndarray of float64, shape (T, n, d)
        C-contiguous, rows in the graph's order.
    snapshots : tuple or None
        Labels of the first axis; None when the input had no such axis (then T = 1).
    snapshot_name : str
        What the snapshots are: ``"snapshot"``, or the name the input gave them.
    """

    values: np.ndarray
    snapshots: tuple[Any, ...] | None
    snapshot_name: str = "snapshot"


@dataclass(frozen=True, eq=False)
class Potential:
    """The signal t whose plain differences have the length of the gradient.

    Parameters
    ----------
    values : ndarray of float64, shape (T, n, d)
    metric : {"angular", "euclidean"}
    scale : ndarray of float64, shape (T,)
        Power of two taken out: the gradient is ``scale * norm(values[x] - values[y])``.
    undefined : ndarray of bool, shape (T,)
        Snapshots that cannot be computed; their values are 0.
    """

    values: np.ndarray
    metric: str
    scale: np.ndarray
    undefined: np.ndarray


def as_signal(signal: Any, graph: Graph) -> Signal:
    """Take a signal in any accepted form and put it in the graph's row order.

    Parameters
    ----------
    signal : object
        Numbers of shape (n,), (n, d), or (T, n, d) for T snapshots (array, nested list, torch
        tensor); a mapping from node to number or vector; a pandas Series or DataFrame indexed by
        node; an xarray DataArray with a dimension ``node``; a path; or a ``Signal``.
    graph : Graph
        The graph it lives on.

    Returns
    -------
    Signal

    Examples
    --------
    >>> from spectrata.graphs import as_graph
    >>> path = as_graph(edges=[(0, 1), (1, 2)])
    >>> as_signal([1, 2, 3], path).values.shape
    (1, 3, 1)
    >>> as_signal({2: 30, 0: 10, 1: 20}, path).values.ravel().tolist()
    [10.0, 20.0, 30.0]
    """
    if isinstance(signal, Signal):
        return _same_size(signal, graph)
    if isinstance(signal, (str, os.PathLike)):
        values, snapshots, name = _from_file(signal, graph), None, "snapshot"
    elif _module(signal) == "xarray":
        values, snapshots, name = _from_xarray(signal, graph)
    elif _module(signal) == "pandas":
        values, snapshots, name = _from_pandas(signal, graph), None, "snapshot"
    elif isinstance(signal, Mapping):
        values, snapshots, name = _from_mapping(signal, graph), None, "snapshot"
    else:
        values, snapshots, name = _to_numpy(signal), None, "snapshot"
    if snapshots is None and values.ndim == 3:
        snapshots = tuple(range(len(values)))
    values = _three_axes(values, graph.n_nodes)  # (n,), (n, d) or (T, n, d) -> (T, n, d)
    _check_finite(values, graph.names, snapshots)
    return Signal(values, snapshots, name)


# ---- arrays


def _module(obj: Any) -> str:
    return type(obj).__module__.partition(".")[0]


def _kind(obj: Any) -> str:
    return f"an object of type {type(obj).__module__}.{type(obj).__qualname__}"


def _to_numpy(obj: Any) -> np.ndarray:
    """A real numeric array from an array, list, tensor or sparse matrix."""
    if isinstance(obj, np.ma.MaskedArray) and np.ma.is_masked(obj):
        raise SignalValueError(
            "The signal has masked entries; fill them, or leave those nodes out of the graph."
        )
    try:
        if hasattr(obj, "detach") and hasattr(obj, "cpu"):
            array = _tensor_to_numpy(obj)
        else:
            array = np.asarray(obj.toarray() if hasattr(obj, "toarray") else obj)
    except (TypeError, ValueError, RuntimeError):
        raise SignalTypeError(
            f"Cannot read {_kind(obj)} as a signal: give numbers of shape (n,), (n, d) or (T, n, d), all rows "
            "of the same length."
        ) from None
    return _real(array, obj)


def _tensor_to_numpy(tensor: Any) -> np.ndarray:
    tensor = tensor.detach()
    if getattr(tensor, "is_sparse", False):
        tensor = tensor.to_dense()
    if tensor.is_floating_point():
        # numpy has no bfloat16.
        tensor = tensor.double()
    return np.asarray(tensor.cpu())


def _real(array: np.ndarray, obj: Any) -> np.ndarray:
    if array.dtype.kind in "biuf":
        return array
    if array.ndim == 0:
        raise SignalTypeError(
            f"Cannot read {_kind(obj)} as a signal; give an array, a mapping from node to vector, a pandas, "
            "xarray or torch object, or a path (for PyG Data: data.x)."
        )
    raise SignalTypeError(
        f"A signal holds real numbers, not {array.dtype}; convert it first (complex: real and imaginary parts "
        "as columns)."
    )


def _three_axes(values: np.ndarray, n_nodes: int) -> np.ndarray:
    """(n,), (n, d) or (T, n, d) of any real type -> (T, n, d) float64."""
    shape = values.shape
    if values.ndim not in (1, 2, 3):
        raise SignalTypeError(f"A signal has shape (n,), (n, d) or (T, n, d), not {shape}.")
    count = shape[1] if values.ndim == 3 else shape[0]
    if count != n_nodes:
        raise NodeCountError(_mismatch(shape, count, n_nodes))
    if 0 in shape:
        raise SignalTypeError(f"The signal has shape {shape}: it needs at least one snapshot and one column.")
    if values.ndim == 1:
        values = values[None, :, None]
    elif values.ndim == 2:
        values = values[None]
    values = np.ascontiguousarray(values, dtype=np.float64).view()
    values.setflags(write=False)
    return values


def _mismatch(shape: tuple[int, ...], count: int, n_nodes: int) -> str:
    message = f"The signal has {count} nodes (shape {shape}), but the graph has {n_nodes}"
    if len(shape) == 2 and shape[1] == n_nodes:
        return message + "; transpose it, or for snapshots of one number give shape (T, n, 1)."
    return message + "; give one row per node, in the graph's order or with names."


def _check_finite(values: np.ndarray, names: Sequence[Hashable], snapshots: tuple[Any, ...] | None) -> None:
    fine = np.isfinite(values)
    if fine.all():
        return
    t, node, column = (int(i) for i in np.argwhere(~fine)[0])
    where = f"node {names[node]!r}, column {column}"
    if snapshots is not None:
        where += f", snapshot {snapshots[t]!r}"
    raise SignalValueError(
        f"The signal is {values[t, node, column]} at {where} ({np.count_nonzero(~fine)} NaN or infinite values "
        "in all); fill them, or leave those nodes out of the graph."
    )


def _same_size(signal: Signal, graph: Graph) -> Signal:
    if signal.values.shape[1] != graph.n_nodes:
        raise NodeCountError(_mismatch(signal.values.shape, signal.values.shape[1], graph.n_nodes))
    return signal


# ---- names


def _order(labels: Sequence[Hashable], graph: Graph) -> np.ndarray:
    """Positions of the graph's nodes among the labels: equal names first, then equal text."""
    position = _positions(labels)
    if position.keys() == graph.row.keys():
        return np.array([position[name] for name in graph.names], dtype=np.int64)
    # Files and node2vec know the node 12 as "12"; text decides only where no two names share it.
    by_text = {str(label): i for label, i in position.items()}
    texts = [str(name) for name in graph.names]
    if len(by_text) == len(position) and len(set(texts)) == len(texts):
        if by_text.keys() == set(texts):
            return np.array([by_text[text] for text in texts], dtype=np.int64)
        known = len(by_text.keys() & set(texts))
        if known > len(position.keys() & graph.row.keys()):
            raise _unknown(list(by_text), texts)
    raise _unknown(list(position), list(graph.names))


def _positions(labels: Sequence[Hashable]) -> dict[Hashable, int]:
    position: dict[Hashable, int] = {}
    for i, label in enumerate(labels):
        if label in position:
            raise DuplicateNameError(
                f"The signal has the node {label!r} twice, at rows {position[label]} and {i}; "
                "give every node one row."
            )
        position[label] = i
    return position


def _unknown(labels: Sequence[Hashable], names: Sequence[Hashable]) -> UnknownNameError:
    have, want = set(labels), set(names)
    missing = [name for name in names if name not in have]
    extra = [label for label in labels if label not in want]
    parts = []
    if missing:
        parts.append(f"{len(missing)} nodes of the graph are not in the signal ({_some(missing)})")
    if extra:
        parts.append(f"{len(extra)} names of the signal are not in the graph ({_some(extra)})")
    return UnknownNameError(
        " and ".join(parts) + "; use the graph's own names, or give a plain array to go by row order."
    )


def _some(names: Sequence[Hashable]) -> str:
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    return shown + (", ..." if len(names) > _SHOWN else "")


# ---- one converter per form


def _from_file(path: str | os.PathLike[str], graph: Graph) -> np.ndarray:
    raw = read_signal(path)
    if raw.names is None:
        return raw.values
    return raw.values[_order(raw.names, graph)]


def _from_mapping(signal: Mapping[Hashable, Any], graph: Graph) -> np.ndarray:
    labels = list(signal)
    if not labels:
        raise SignalTypeError("The mapping is empty; give one number or vector per node.")
    rows = [_to_numpy(signal[label]) for label in labels]
    if any(row.ndim > 1 for row in rows):
        raise SignalTypeError(
            "The mapping holds whole arrays; a mapping goes from node to number or vector, so for snapshots "
            "stack them into one array of shape (T, n, d)."
        )
    sizes = [row.shape for row in rows]
    for label, size in zip(labels, sizes, strict=True):
        if size != sizes[0]:
            raise SignalTypeError(
                f"The vectors differ in length: node {labels[0]!r} has shape {sizes[0]}, node {label!r} has "
                f"{size}; give every node the same number of columns."
            )
    return np.stack(rows)[_order(labels, graph)]


def _from_pandas(signal: Any, graph: Graph) -> np.ndarray:
    if not hasattr(signal, "index"):
        raise SignalTypeError(f"Cannot read {_kind(signal)} as a signal; give a Series or a DataFrame.")
    columns = signal.dtypes if signal.ndim == 2 else [signal.dtype]
    for number, dtype in enumerate(columns):
        if getattr(dtype, "kind", "O") not in "biuf":
            label = signal.columns[number] if signal.ndim == 2 else signal.name
            raise SignalTypeError(
                f"Column {label!r} holds {dtype}, not real numbers; drop it, or make it the index if it names "
                "the nodes."
            )
    values = signal.to_numpy(dtype=np.float64, na_value=np.nan)
    index = signal.index
    plain = type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
    if plain and len(index) != graph.n_nodes:
        raise NodeCountError(_mismatch(values.shape, len(index), graph.n_nodes))
    return values[_order(index.tolist(), graph)]


def _from_xarray(signal: Any, graph: Graph) -> tuple[np.ndarray, tuple[Any, ...] | None, str]:
    if not hasattr(signal, "dims") or not hasattr(signal, "transpose") or hasattr(signal, "data_vars"):
        raise SignalTypeError(f"Cannot read {_kind(signal)} as a signal; give one DataArray of it.")
    dims = [str(dim) for dim in signal.dims]
    if "node" not in dims:
        raise SignalTypeError(
            f"The DataArray has dimensions {dims} and none is called 'node'; rename that of the nodes, or give "
            "its .values."
        )
    times = [dim for dim in dims if dim in SNAPSHOT_DIMS]
    columns = [dim for dim in dims if dim != "node" and dim not in times]
    if len(times) > 1 or len(columns) > 1:
        raise SignalTypeError(
            f"The DataArray has dimensions {dims}; a signal has 'node', at most one of "
            f"{', '.join(SNAPSHOT_DIMS)}, and at most one for the columns."
        )
    values = _to_numpy(signal.transpose(*times, "node", *columns).values)
    if "node" in signal.coords:
        values = np.take(values, _order(signal.coords["node"].values.tolist(), graph), axis=len(times))
    if not times:
        return values, None, "snapshot"
    values = values if columns else values[..., None]
    return values, _labels(signal, times[0]), times[0]


def _labels(signal: Any, dim: str) -> tuple[Any, ...]:
    if dim not in signal.coords:
        return tuple(range(signal.sizes[dim]))
    labels = signal.coords[dim].values
    # tolist() would turn dates into bare integers.
    return tuple(labels) if labels.dtype.kind in "mM" else tuple(labels.tolist())


# ---- metrics


def resolve_metric(metric: str, d: int) -> str:
    """Say which metric is meant for vectors of length d.

    Parameters
    ----------
    metric : {"auto", "angular", "euclidean"}
    d : int
        Number of columns.

    Returns
    -------
    str
        ``"angular"`` or ``"euclidean"``; ``"auto"`` is euclidean for d = 1, else angular.

    Examples
    --------
    >>> resolve_metric("auto", 1), resolve_metric("auto", 16)
    ('euclidean', 'angular')
    """
    if metric not in ("auto", "angular", "euclidean"):
        raise OptionError(f"metric={metric!r} is not known; use 'auto', 'angular' or 'euclidean'.")
    if metric == "auto":
        return "euclidean" if d == 1 else "angular"
    if metric == "angular" and d == 1:
        raise OptionError(
            "metric='angular' needs vectors: between single numbers every angle is 0 or 180 degrees; "
            "use metric='euclidean'."
        )
    return metric


def potential(
    signal: Signal,
    metric: str = "auto",
    zero_vectors: str = "error",
    names: Sequence[Hashable] | None = None,
) -> Potential:
    r"""Turn a signal into one whose plain differences have the gradient's length (Def. 2).

    .. math:: g(x, y) = \| t(x) - t(y) \|, \qquad t = s / (2 \|s\|) \text{ (angular)}, \quad t = s
       \text{ (euclidean)}

    The angular one equals :math:`\sqrt{(1 - \cos)/2}` without losing digits at small angles.

    Parameters
    ----------
    signal : Signal
    metric : {"auto", "angular", "euclidean"}
    zero_vectors : {"error", "nan"}
        Under the angular metric: refuse zero vectors, or mark their snapshots undefined.
    names : sequence, optional
        The nodes' names, for messages.

    Returns
    -------
    Potential

    Examples
    --------
    >>> import numpy as np
    >>> t = potential(Signal(np.array([[[2.0, 0.0], [0.0, 5.0]]]), None))
    >>> t.metric, float(np.linalg.norm(t.values[0, 0] - t.values[0, 1]).round(6))
    ('angular', 0.707107)
    """
    if zero_vectors not in ("error", "nan"):
        raise OptionError(f"zero_vectors={zero_vectors!r} is not known; use 'error' or 'nan'.")
    resolved = resolve_metric(metric, signal.values.shape[2])
    if resolved == "euclidean":
        return _euclidean(signal)
    return _angular(signal, zero_vectors, names)


def _euclidean(signal: Signal) -> Potential:
    values = signal.values
    largest = np.abs(values).max(axis=(1, 2))  # (T,)
    extreme = (largest > _LARGE) | ((largest > 0) & (largest < _SMALL))
    # One less than frexp's exponent: 2**1024 itself would overflow.
    exponents = np.where(extreme, np.frexp(largest)[1] - 1, 0)
    if extreme.any():
        values = np.ldexp(values, -exponents[:, None, None])
    return Potential(values, "euclidean", np.ldexp(1.0, exponents), np.zeros(len(values), dtype=bool))


def _angular(signal: Signal, zero_vectors: str, names: Sequence[Hashable] | None) -> Potential:
    largest = np.abs(signal.values).max(axis=2)  # (T, n)
    zero = largest == 0
    if zero_vectors == "error":
        _refuse_zero(zero, signal.snapshots, names)
    undefined = zero.any(axis=1)  # (T,)
    # Exact powers of two bring every row to about 1, so that its norm neither over- nor underflows.
    values = np.ldexp(signal.values, -np.frexp(largest)[1][..., None])
    norms = np.linalg.norm(values, axis=2, keepdims=True)
    values /= 2 * np.where(zero[..., None], 1.0, norms)
    values[undefined] = 0
    return Potential(values, "angular", np.ones(len(values)), undefined)


def _refuse_zero(
    zero: np.ndarray, snapshots: tuple[Any, ...] | None, names: Sequence[Hashable] | None
) -> None:
    bad = np.flatnonzero(zero.any(axis=1))
    if not len(bad):
        return
    rows = np.flatnonzero(zero[bad[0]]).tolist()
    nodes = _some([row if names is None else names[row] for row in rows])
    where = f" in snapshot {snapshots[bad[0]]!r}" if snapshots is not None else ""
    more = f" ({len(bad)} snapshots have some)" if len(bad) > 1 else ""
    raise ZeroVectorError(
        f"{len(rows)} nodes have a zero vector{where}, which has no direction: {nodes}{more}; use "
        "zero_vectors='nan' to leave such snapshots undefined, or metric='euclidean'."
    )
