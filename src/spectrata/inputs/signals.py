"""Read signals: every accepted form becomes an array (T, n, d) in the graph's row order.

Names are matched by :mod:`~spectrata.inputs.rows`. Then a metric turns the signal into a :class:`Potential`, whose
plain differences have the length of the gradient (Def. 2 of the paper).
"""

import difflib
import os
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
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
    argument,
    shown,
    warn,
)
from spectrata.inputs import rows
from spectrata.inputs.labels import Labels, coded
from spectrata.inputs.numbers import one_of
from spectrata.inputs.readers.files import listed
from spectrata.inputs.readers.objects import is_anndata
from spectrata.inputs.readers.raw import RawSignal, RawTable, refuse_repeated
from spectrata.inputs.readers.signal_files import read_signal
from spectrata.inputs.readers.signal_objects import attribute_signal, recognise_signal, several_attributes
from spectrata.kernels.backend import like, namespace, to_numpy
from spectrata.kernels.scaling import LAST_DIGITS, ORDINARY, binary_scale, largest_values

COLUMNS = ("auto", "joint", "separate")
DOUBLE = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Signal:
    """A signal on the nodes of a graph, for one or more snapshots."""

    values: np.ndarray  # (T, n, d) float64, C-contiguous, rows in the graph's order
    snapshots: tuple[Any, ...] | None  # labels of the first axis; None when the input had no such axis (then T = 1)
    kind: str = ""  # what the snapshots are, where the input says so: "layers", "epochs", ...
    columns: tuple[Any, ...] | None = None  # names of the d columns, where the input has some
    # Labels of columns that are signals of their own: the first axis then has snapshots times columns, d = 1.
    separate: tuple[Any, ...] | None = None
    # Relative rounding error of the values as given: of single precision for float32; whole numbers are rounded once.
    rounding: float = DOUBLE
    # What columns="auto" means: "separate" for columns with names, "joint" for the components of one vector per node.
    reading: str = "joint"
    texts: tuple[tuple[str, Labels], ...] = ()  # columns of text of a table; empty unless they were asked for
    table: "Signal | None" = None  # with all columns, where these were picked from it

    @property
    def axes(self) -> dict[str, list[Any]]:
        """The dimensions that the first axis is laid out along in a result, with their labels."""
        named = {"snapshot": self.snapshots, "column": self.separate}
        return {dim: list(labels) for dim, labels in named.items() if labels is not None}


@dataclass(frozen=True, eq=False)
class Potential:
    """The signal t whose plain differences have the length of the gradient."""

    values: np.ndarray  # (T, n, d) float64
    metric: str  # "angular" or "euclidean"
    scale: np.ndarray  # (T,), a power of two taken out: the gradient is scale * norm(values[x] - values[y])
    undefined: np.ndarray  # (T,), snapshots that cannot be computed; their values are 0
    zero_rows: np.ndarray | None = None  # (T,), nodes whose zero vector stays zero, where that was asked for

    def __len__(self) -> int:
        return len(self.values)


def as_signal(
    signal: Any, graph: rows.Nodes, nodes: str | None = None, texts: bool = False, gaps: bool = False
) -> Signal:
    """Take a signal in any accepted form and put it in the graph's row order; later changes do not reach the copy.

    Accepted are numbers of shape (n,), (n, d), or (T, n, d) for T snapshots (array, nested list, torch tensor); a
    mapping from node to number or vector; a pandas or polars Series or DataFrame; an xarray DataArray with a dimension
    ``node``; an AnnData (its X); a path; the name of a node attribute of the graph, or a list of such names (of
    AnnData: "X", or a name in ``layers``, ``obsm``, ``obs`` or ``var_names``); or a ``Signal``.

    ``nodes`` says what names the nodes of a table: "column" (the first), "index", or the name of a column; "order" says
    that rows follow the graph's order. By default a non-default index names them, else the first column if its values
    are the nodes' names. With ``texts`` columns of text are returned as labels; otherwise the first one is refused.
    With ``gaps`` nodes may have no value, which is NaN; otherwise the first one is refused.
    """
    if isinstance(signal, Signal):
        _check_count(signal.values.shape, graph.n_nodes)
        if not gaps:
            require_finite(signal, graph)
        return signal
    raw = _read(signal, graph, nodes, texts, gaps)
    values, words, snapshots = raw.values, raw.texts, raw.snapshots
    if raw.names is not None:
        axis, count = 1 if values.ndim == 3 else 0, len(raw.names)
        if count != values.shape[axis]:
            raise NodeCountError(f"There are {count} names for values of shape {values.shape}; give one per row.")
        order = rows.order_of(raw.names, graph, lines=raw.lines, gaps=gaps)
        values = np.take(values, order, axis=axis)
        words = tuple((name, [cells[row] for row in order]) for name, cells in words)
    if snapshots is None and values.ndim == 3:
        snapshots = tuple(range(len(values)))
    # (n,), (n, d) or (T, n, d) -> (T, n, d)
    values = three_axes(values, graph.n_nodes, own=raw.own or raw.names is not None, none=bool(words))
    refuse_repeated(raw.columns or (), "The signal")
    found = Signal(
        values,
        snapshots,
        "" if raw.snapshot_name == "snapshot" else f"{raw.snapshot_name}s",
        raw.columns,
        rounding=float(np.finfo(raw.values.dtype).eps) if raw.values.dtype.kind == "f" else DOUBLE,
        reading="separate" if raw.table or (has_names(raw.columns) and not raw.joint) else "joint",
        texts=tuple((name, coded(cells)) for name, cells in words),
    )
    if not gaps or np.isinf(values).any():
        require_finite(found, graph)
    return found


def require_finite(signal: Signal, graph: rows.Nodes) -> None:
    """Refuse NaN and infinite values, naming the first."""
    bad = np.argwhere(~np.isfinite(signal.values))
    if len(bad):
        t, node, column = bad[0].tolist()
        where = f"node {shown(graph.names[node])}, column {shown(signal.columns[column]) if signal.columns else column}"
        where += "" if signal.snapshots is None else f", snapshot {shown(signal.snapshots[t])}"
        found = f"The signal is {signal.values[t, node, column]} at {where} ({len(bad)} NaN or infinite values in all)"
        raise SignalValueError(f"{found}; fill them, or leave those nodes out of the graph.")


def _read(signal: Any, graph: rows.Nodes, nodes: str | None, texts: bool, gaps: bool) -> RawSignal:
    """The numbers of a signal, and the names of its rows where it has some."""
    if nodes is not None and not isinstance(nodes, str):
        raise OptionError(f"{argument('nodes', nodes)} must be 'column', 'index', 'order' or the name of a column.")
    if rows.is_attribute(signal, graph):
        return attribute_signal(signal, graph.attributes, graph.names, texts, gaps)
    several = isinstance(signal, (list, tuple)) and len(signal) > 0 and all(isinstance(name, str) for name in signal)
    if several and graph.attributes:
        return several_attributes(signal, graph.attributes, graph.names, texts, gaps)
    file = isinstance(signal, (str, os.PathLike))
    rows.refuse_absent(signal, graph)
    names = frozenset(str(name) for name in graph.names) if file else frozenset()
    found: RawSignal | RawTable = read_signal(signal, names) if file else recognise_signal(signal)
    what = "table" if isinstance(found, RawTable) else "signal"
    if isinstance(found, RawTable):
        found = rows.place_table(found, graph, nodes, texts)
    elif nodes == "order":
        found = replace(found, names=None)
    elif nodes is not None and (nodes != "index" or found.names is None):
        raise OptionError(f"nodes={shown(nodes)} is for tables; leave it out, or give a table.")
    labels = found.names
    if is_anndata(signal) and labels and not graph.named and {*map(str, labels)}.isdisjoint(map(str, graph.names)):
        some = listed(labels[:3], shown)
        warn(f"The graph's nodes have no names, so rows ({some}, ...) follow the order of its nodes.")
        return replace(found, names=None)
    if labels is None and nodes is None:
        rows.warn_of_order(signal, graph, what)
    return found


def has_names(columns: Sequence[Any] | None) -> bool:
    """Whether columns have names of their own: not numbers, nor one stem with consecutive numbers."""
    if not columns or not all(isinstance(name, str) for name in columns):
        return False
    found = [re.fullmatch(r"(.*?)([0-9]{1,18})", name) for name in columns]
    if None in found:
        return True
    stems, numbers = {match[1] for match in found if match}, [int(match[2]) for match in found if match]
    consecutive = numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    return stems != {""} and (len(columns) == 1 or len(stems) > 1 or not consecutive)


def aligned(values: Any, columns: Sequence[Any] | None, like: Sequence[Any] | None) -> Any:
    """Values (..., d) with their columns in the order of other names; what has no names goes by its places."""
    if columns is None or like is None or not 1 < len(like) == len(columns) == values.shape[-1]:
        return values
    own, wanted = [str(name) for name in columns], [str(name) for name in like]
    if sorted(own) == sorted(wanted):
        return values if own == wanted else values[..., [own.index(name) for name in wanted]]
    if not (has_names(columns) and has_names(like)):
        return values
    words = f"The signals have other columns ({listed(wanted, shown)} against {listed(own, shown)})"
    raise UnknownNameError(f"{words}; give both the same names, or arrays to go by their places.")


# ---- arrays


def three_axes(values: Any, n_nodes: int, own: bool = False, none: bool = False) -> Any:
    """(n,), (n, d) or (T, n, d) of any real type -> (T, n, d) float64, copied unless ``own``; ``none`` allows d = 0."""
    shape = values.shape
    if values.ndim not in (1, 2, 3):
        raise SignalTypeError(f"A signal has shape (n,), (n, d) or (T, n, d), not {shape}.")
    _check_count(shape, n_nodes)
    if 0 in shape and not none:
        raise SignalTypeError(f"The signal has shape {shape}: it needs at least one snapshot and one column.")
    if values.ndim == 1:
        values = values[None, :, None]
    elif values.ndim == 2:
        values = values[None]
    if not isinstance(values, np.ndarray):
        return values.astype(np.float64, copy=False)
    # What does not fit into a float becomes infinite or NaN, and is refused by name.
    with np.errstate(over="ignore", invalid="ignore"):
        doubles = np.array(values, dtype=np.float64, order="C", copy=None if own else True).view()
    doubles.setflags(write=False)
    whole = values.dtype.kind in "iu" and values.dtype.itemsize == 8
    # Whole numbers too long for double precision lose digits, and their differences may be all that counts.
    if whole and (rounded := np.count_nonzero(doubles.astype(np.longdouble) != values.astype(np.longdouble))):
        warn(f"{rounded} whole numbers of the signal, beyond 2^53, lost digits; take a constant off first.")
    return doubles


def _check_count(shape: tuple[int, ...], n_nodes: int) -> None:
    """Refuse a signal of a shape whose rows are not as many as the nodes."""
    count = shape[1] if len(shape) == 3 else shape[0]
    if count != n_nodes:
        advice = "give one row per node, in the graph's order or with names"
        if len(shape) == 2 and shape[1] == n_nodes:
            advice = "if a row is a point in time, transpose it: one row per node, its time series as a vector"
        words = f"The signal has {count} nodes (shape {shape}), but the graph has {n_nodes}"
        raise NodeCountError(f"{words}; {advice}.")


# ---- metrics


def resolve_metric(metric: str, d: int) -> str:
    """The metric for vectors of length ``d``: ``"auto"`` is euclidean for d = 1, else angular."""
    one_of(metric, "metric", ("auto", "angular", "euclidean"))
    if metric == "auto":
        return "euclidean" if d == 1 else "angular"
    if metric == "angular" and d == 1:
        words = f"{argument('metric', metric)} needs vectors: angles of single numbers are 0 or 180 degrees"
        raise OptionError(f"{words}; use {argument('metric', 'euclidean')}.")
    return metric


def potential(
    signal: Signal, metric: str = "auto", zero_vectors: str = "error", names: Sequence[Hashable] | None = None
) -> Potential:
    r"""Turn a signal into one whose plain differences have the gradient's length (Def. 2).

    .. math:: g(x, y) = \| t(x) - t(y) \|, \qquad t = s / (2 \|s\|) \text{ (angular)}, \quad t = s
       \text{ (euclidean)}

    The angular one equals :math:`\sqrt{(1 - \cos)/2}` without losing digits at small angles. There ``zero_vectors``
    refuses zero vectors ("error"), marks their snapshots undefined ("nan"), or leaves them 0, half a unit from every
    direction ("zero"). ``names`` are the nodes', for messages.
    """
    one_of(zero_vectors, "zero_vectors", ("error", "nan", "zero"))
    values = signal.values
    if resolve_metric(metric, values.shape[2]) == "angular":
        return _angular(signal, zero_vectors, names)
    scale = binary_scale(largest_values(values))  # (T,)
    if (scale != 1.0).any():
        values = values / like(scale, values)[:, None, None]
    return Potential(_levelled(values), "euclidean", scale, np.zeros(len(values), dtype=bool))


def _levelled(values: Any, times: int = 1) -> Any:
    """Signals ``(T, n, d)`` whose nodes differ by rounding alone, made constant: their differences mean nothing."""
    xp = namespace(values)
    high, low = (to_numpy(end(values, axis=1)) for end in (xp.max, xp.min))  # (T, d)
    digits = times * LAST_DIGITS * (xp.finfo(values.dtype).eps / np.finfo(float).eps)
    largest = np.maximum(np.abs(high), np.abs(low)).max(axis=1, initial=0.0)
    spread = np.max(high - low, axis=1, initial=0.0)
    same = np.flatnonzero((spread > 0) & (spread <= digits * largest))
    if not len(same):
        return values
    values = values + 0  # not the caller's own
    for t in same.tolist():
        values[t] = values[t, 0]
    return values


def _angular(signal: Signal, zero_vectors: str, names: Sequence[Hashable] | None) -> Potential:
    xp = namespace(signal.values)
    largest = xp.max(xp.abs(signal.values), axis=2)  # (T, n)
    zero = largest == 0
    some = to_numpy(xp.any(zero, axis=1))  # (T,)
    if zero_vectors == "error" and some.any():
        bad = np.flatnonzero(some)
        places = np.flatnonzero(to_numpy(zero)[bad[0]]).tolist()
        nodes = listed([place if names is None else names[place] for place in places], shown)
        where = f" in snapshot {shown(signal.snapshots[bad[0]])}" if signal.snapshots is not None else ""
        more = f" ({len(bad)} snapshots have some)" if len(bad) > 1 else ""
        raise ZeroVectorError(
            f"{len(places)} nodes have a zero vector{where}, which has no direction: {nodes}{more}; use "
            f"{argument('zero_vectors', 'zero')} to leave them zero, 'nan' to leave such snapshots undefined, or "
            f"{argument('metric', 'euclidean')}."
        )
    undefined = some & (zero_vectors == "nan")  # (T,)
    values = signal.values
    if (((largest > ORDINARY[1]) | (largest < ORDINARY[0])) & ~zero).any():
        # Exact powers of two bring every row to about 1, so that its norm neither over- nor underflows.
        values = np.ldexp(values, -np.frexp(largest)[1][..., None])
    norms = xp.sqrt(xp.sum(values * values, axis=2, keepdims=True))
    values = values / (2 * xp.where(zero[..., None], xp.ones_like(norms), norms))
    for t in np.flatnonzero(undefined):
        values[t] = 0
    counted = to_numpy(xp.sum(zero, axis=1)) if zero_vectors == "zero" else None
    return Potential(_levelled(values, 4), "angular", np.ones(len(values)), undefined, counted)


# ---- columns


def by_column(signal: Signal, columns: str, metric: str = "auto") -> Signal:
    """The signal as it is ("joint"), or its columns as snapshots of one number ("separate"), time by time."""
    one_of(columns, "columns", COLUMNS)
    if columns == "auto":
        columns = "joint" if metric == "angular" else signal.reading
    if columns == "joint":
        return signal
    if metric not in ("auto", "euclidean"):
        words = f"{argument('columns', 'separate')} reads every column as single numbers, whose metric is euclidean"
        raise OptionError(f"{words}; leave out {argument('metric', metric)}, or use {argument('columns', 'joint')}.")
    snapshots, n, d = signal.values.shape
    labels = signal.columns if signal.columns is not None and len(signal.columns) == d else tuple(range(d))
    # A view where there is one snapshot: tables of many columns are not copied.
    values = np.moveaxis(signal.values, 2, 1).reshape(snapshots * d, n, 1)
    return replace(signal, values=values, columns=None, separate=labels)


def pick_columns(signal: Signal, names: Sequence[str]) -> Signal:
    """Some columns of a signal by name, or by number where they have no names; the whole table stays beside them."""
    numbers = [str(name) for name in (range(signal.values.shape[2]) if signal.columns is None else signal.columns)]
    known = [*numbers, *(str(name) for name, _ in signal.texts)]
    for at, name in enumerate(names):
        if name not in known:
            near = ", ".join(map(shown, difflib.get_close_matches(name, known, 8, 0.0)))
            more = f" and {len(known) - 8} others" if len(known) > 8 else ""
            raise UnknownNameError(f"The signal has no column {shown(name)}; it has {near}{more}.")
        if name in names[:at]:
            raise DuplicateNameError(f"The column {shown(name)} is asked for twice; name it once.")
    places = [numbers.index(name) for name in names if name in numbers]
    kept = None if signal.columns is None else tuple(signal.columns[place] for place in places)
    texts = tuple(one for one in signal.texts if str(one[0]) in names)
    values = np.ascontiguousarray(signal.values[:, :, places])
    return replace(signal, values=values, columns=kept, texts=texts, table=signal)
