"""What a reading tests: a graph and a signal in any form become columns of numbers, vectors or labels at some hops."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from spectrata.core.spectra import as_stratification
from spectrata.core.stratification import Stratification
from spectrata.errors import (
    DuplicateNameError,
    HopError,
    OptionError,
    SignalTypeError,
    SignalValueError,
    SpectrataError,
    argument,
    shown,
    warn,
)
from spectrata.inputs.graphs import Graph
from spectrata.inputs.labels import Labels, as_labels
from spectrata.inputs.numbers import one_of
from spectrata.inputs.signals import DOUBLE, Signal, as_signal, potential
from spectrata.stats.observation import Observation, Pairs, observe, pairs_of

COLUMNS = ("auto", "joint", "separate")
ALL_HOPS = 4_000  # nodes above which hops=None reads the first three hops
NEAR_HOPS = 20_000  # and above which it reads hop 1


@dataclass(frozen=True, eq=False)
class Column:
    """One signal that is tested by itself: a column, one vector per node, or labels.

    Attributes
    ----------
    name : object
        None where there is one signal and no table.
    kind : {"numbers", "vectors", "directions", "labels"}
    values : ndarray, shape (T, n, d)
        One entry for each snapshot.
    rows : ndarray of int, shape (n,)
        Nodes of the graph; labels may be missing for some.
    rounding : float
    undefined : ndarray of bool, shape (T,)
        Snapshots in which a vector has no direction.
    classes : tuple
        Of labels.
    """

    name: Any
    kind: str
    values: np.ndarray
    rows: np.ndarray
    rounding: float = DOUBLE
    undefined: np.ndarray | None = None
    classes: tuple[Any, ...] = ()

    def observed(self, snapshot: int, pairs: Pairs) -> Observation:
        """One snapshot on the pairs of a hop."""
        return observe(self.values[snapshot], pairs, self.rounding)


@dataclass(frozen=True, eq=False)
class Reading:
    """Columns on a stratification, with the snapshots that all of them have."""

    strat: Stratification
    columns: tuple[Column, ...]
    snapshots: tuple[Any, ...] | None
    snapshot_kind: str
    metric: str
    separate: bool
    note: str = ""

    @property
    def hops(self) -> tuple[Any, ...]:
        """Labels of the strata."""
        return self.strat.hops

    def pairs(self, column: Column) -> list[Pairs]:
        """The pairs of every hop among the nodes of a column."""
        rows = None if len(column.rows) == self.strat.graph.n_nodes else column.rows
        return [pairs_of(self.strat, hop, rows) for hop in self.hops]


def stratify(graph: Any, hops: int | Iterable[int] | None, weights: Any) -> Stratification:
    """The stratification that a reading uses; all hops of a large graph are not read unless they are asked for."""
    if isinstance(graph, Stratification) or hops is not None:
        return _with_hops(as_stratification(graph, hops, weights=weights))
    one = Stratification(graph, 1, weights=weights) if not _is_small(graph) else None
    if one is None:
        return _with_hops(Stratification(graph, None, weights=weights))
    n = one.graph.n_nodes
    if n <= ALL_HOPS:
        return _with_hops(Stratification(one.graph, None))
    nearest = 1 if n > NEAR_HOPS else 3
    warn(f"Reading hops up to {nearest} of {n:,} nodes; {argument('hops')} asks for others.")
    return _with_hops(one if nearest == 1 else Stratification(one.graph, nearest))


def _is_small(graph: Any) -> bool:
    """Whether a graph object says that it has few nodes, before it is read."""
    count = getattr(graph, "number_of_nodes", None)
    return callable(count) and hasattr(graph, "adj") and count() <= ALL_HOPS


def _with_hops(strat: Stratification) -> Stratification:
    if not strat.hops:
        raise HopError("The graph has no edges, and so no pairs of nodes at any hop.")
    return strat


def read(
    graph: Any,
    signal: Any,
    hops: int | Iterable[int] | None = None,
    *,
    weights: Any = None,
    metric: str = "auto",
    columns: str = "auto",
    labels: bool = False,
    nodes: Any = None,
    zero_vectors: str = "error",
) -> Reading:
    """Read a graph and a signal; ``labels=True`` takes whole numbers as class codes."""
    one_of(columns, "columns", COLUMNS)
    strat = stratify(graph, hops, weights)
    if signal is None:
        signal = table_of(strat.graph)
    if labels:
        column = label_column(as_labels(signal, strat.graph))
        return Reading(strat, (column,), None, "", "labels", False)
    try:
        known = as_signal(signal, strat.graph, nodes, texts=True)
    except (SignalTypeError, SignalValueError):
        texts = _as_texts(signal, strat)
        if texts is None:
            raise
        return Reading(strat, (texts,), None, "", "labels", False)
    return of_signal(strat, known, metric, columns, zero_vectors)


def table_of(graph: Graph) -> str:
    """The name of the table that comes with a graph: ``X`` of an AnnData."""
    if "X" not in graph.attributes:
        raise OptionError("Give the signal too: only an AnnData has a table of its own.")
    return "X"


def of_signal(strat: Stratification, known: Signal, metric: str, columns: str, zero_vectors: str) -> Reading:
    """The columns of a signal in the graph's order."""
    if columns == "auto":
        columns = known.reading
    values, everyone = known.values, np.arange(strat.graph.n_nodes)
    width = values.shape[2]
    separate = columns == "separate" and (width > 1 or known.columns is not None)
    found: list[Column] = []
    note = ""
    if columns == "separate" and metric == "angular":
        raise OptionError(
            f"{argument('columns', 'separate')} compares single numbers, which have no direction; leave out "
            f"{argument('metric', 'angular')}."
        )
    if width == 0 and len(known.texts) == 1:  # one attribute or column of text
        return Reading(strat, (label_column(known.texts[0][1]),), None, "", "labels", False)
    if separate or known.texts:
        names = known.columns if known.columns is not None and len(known.columns) == width else tuple(range(width))
        _refuse_twice([*names, *(name for name, _ in known.texts)])
        found = [Column(name, "numbers", values[:, :, [at]], everyone, known.rounding) for at, name in enumerate(names)]
        found += [label_column(one, name, len(values)) for name, one in known.texts]
        return Reading(strat, tuple(found), known.snapshots, known.kind, "euclidean", True)
    field = potential(known, metric, zero_vectors, strat.graph.names)
    kind = "numbers" if width == 1 else ("directions" if field.metric == "angular" else "vectors")
    if kind == "directions":
        note = f"Vectors of {width} columns are compared by direction (metric='angular')."
        note += " columns='separate' tests each column." if known.columns is not None else ""
        lost = int(np.max(field.zero_rows)) if field.zero_rows is not None else 0
        note += f" {lost} node{'s have' if lost > 1 else ' has'} a zero vector." if lost else ""
    column = Column(None, kind, field.values, everyone, known.rounding, field.undefined)
    return Reading(strat, (column,), known.snapshots, known.kind, field.metric, False, note)


def _as_texts(signal: Any, strat: Stratification) -> Column | None:
    """Labels, where what is no number is text."""
    try:
        labels = as_labels(signal, strat.graph)
    except SpectrataError:
        return None
    return label_column(labels) if any(isinstance(one, str) for one in labels.classes) else None


def label_column(labels: Labels, name: Any = None, snapshots: int = 1) -> Column:
    """Labels as one 0/1 column per class, on the nodes that have one."""
    if len(labels.classes) < 2:
        raise SignalValueError(
            f"All labels are {shown(labels.classes[0])}; a test compares classes and needs two or more of them."
        )
    rows = np.flatnonzero(labels.codes >= 0)
    values = np.eye(len(labels.classes))[labels.codes[rows]]
    return Column(name, "labels", np.stack([values] * snapshots), rows, classes=labels.classes)


def _refuse_twice(names: list[Any]) -> None:
    if len(set(names)) < len(names):
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise DuplicateNameError(
            f"The signal has the column {shown(twice)} twice; rename one, or use {argument('columns', 'joint')}."
        )
