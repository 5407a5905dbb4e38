"""Subjects of a reading: a graph and a signal in any form become columns of numbers, vectors or labels at some hops."""

import copy
import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from spectrata import errors
from spectrata.core.spectra import refuse_graph_arguments
from spectrata.core.strata import asked_hops, number_of
from spectrata.core.stratification import Stratification
from spectrata.errors import argument, shown, warn
from spectrata.inputs.graphs import Graph, as_graph
from spectrata.inputs.labels import Labels, as_labels
from spectrata.inputs.numbers import one_of
from spectrata.inputs.readers.files import is_number, opened, read_columns, suffix
from spectrata.inputs.readers.objects import anndata_attributes, is_anndata
from spectrata.inputs.readers.raw import refuse_repeated
from spectrata.inputs.readers.signal_files import label_name, read_label_table
from spectrata.inputs.rows import by_node, is_attribute, order_of
from spectrata.inputs.signals import COLUMNS, DOUBLE, Signal, as_signal, potential, require_finite
from spectrata.kernels.backend import NUMPY, backend_of
from spectrata.results.schema import View, view
from spectrata.stats.describe.levels import rebuild
from spectrata.stats.findings.watched import giving_signal
from spectrata.stats.nulls.given import is_by_number, is_frame
from spectrata.stats.observation import Observation, Pairs, observe, pairs_of

ALL_HOPS = 4_000  # nodes above which hops=None reads the first three hops
NEAR_HOPS = 20_000  # and above which it reads hop 1
LISTED = 3  # columns that a note names


@dataclass(frozen=True, eq=False)
class Column:
    """One signal that is tested by itself: a column, one vector per node, or labels."""

    name: Any  # None where there is one signal and no table
    kind: str  # "numbers", "vectors", "directions" or "labels"
    values: np.ndarray  # (T, n, d), one entry for each snapshot
    rows: np.ndarray  # (n,) nodes of the graph that have a value
    rounding: float = DOUBLE
    classes: tuple[Any, ...] = ()  # of labels

    def observed(self, snapshot: int, pairs: Pairs) -> Observation:
        """One snapshot on the pairs of a hop."""
        return observe(self.values[snapshot], pairs, self.rounding)


@dataclass(frozen=True, eq=False)
class Reading:
    """Columns on a stratification, with the snapshots that all of them have."""

    strat: Stratification
    columns: tuple[Column, ...]
    snapshots: tuple[Any, ...] | None = None
    snapshot_kind: str = ""
    metric: str = "labels"
    separate: bool = False
    note: str = ""
    table: Signal | None = None  # the signal with all its columns, which given= may name

    @property
    def hops(self) -> tuple[Any, ...]:
        return self.strat.hops

    @property
    def times(self) -> tuple[Any, ...]:
        """Labels of the first axis of values; None where there is one signal and no snapshots."""
        return self.snapshots or (None,)

    @property
    def missing(self) -> str:
        """Which nodes have no value, in words: they take no part, and stay in the graph."""
        n = self.strat.graph.n_nodes
        lacking = {one.name: n - len(one.rows) for one in self.columns if len(one.rows) < n}
        if not lacking:
            return ""
        if None in lacking:
            words = f"{lacking[None]:,} of {n:,} nodes have no value: they take no part"
        else:
            some = [f"{count:,} of {shown(str(name))}" for name, count in list(lacking.items())[:LISTED]]
            more = f" and some of {len(lacking) - LISTED} other columns" if len(lacking) > LISTED else ""
            words = f"Nodes without a value take no part in its tests: {', '.join(some)}{more}"
        return f"{words}; hops may lead through them."

    @property
    def is_watched(self) -> bool:
        """Whether the snapshots are layers or epochs of a model, which have no p."""
        return self.snapshot_kind in ("layers", "epochs")

    def at_snapshots(self, some: list[int]) -> "Reading":
        columns = tuple(replace(one, values=one.values[some]) for one in self.columns)
        times = None if self.snapshots is None else tuple(self.snapshots[at] for at in some)
        return replace(self, columns=columns, snapshots=times)

    def pairs(self, column: Column) -> list[Pairs]:
        """The pairs of every hop among the nodes of a column."""
        return [pairs_of(self.strat, hop, column.rows) for hop in self.hops]


def stratify(graph: Any, hops: int | Iterable[int] | None, weights: Any) -> Stratification:
    """The strata that a reading uses: those of a stratification that are asked for, or of a graph in any form.

    All hops of a large graph are not read unless they are asked for.
    """
    if isinstance(graph, Stratification):
        refuse_graph_arguments("A Stratification", weights=weights)
        return graph if hops is None else graph.only(*_chosen_hops(graph, hops))
    known = as_graph(graph, weights=weights)
    return Stratification(known, near_hops(known.n_nodes) if hops is None else hops)


def _chosen_hops(strat: Stratification, hops: Any) -> Sequence[Any]:
    if isinstance(hops, Iterable) and not is_by_number(strat):  # intervals of distance, by their labels
        return [hops] if isinstance(hops, str) else list(hops)
    asked = asked_hops(hops)
    if isinstance(asked, int):  # none of them as near: the hop itself, which is refused
        return [hop for hop in strat.hops if number_of(hop) <= asked] or [asked]
    return asked or ()


def near_hops(n_nodes: int) -> int | None:
    """The hops that are read where nobody asked for others: all of them, and the near ones of a large graph."""
    if n_nodes <= ALL_HOPS:
        return None
    nearest = 1 if n_nodes > NEAR_HOPS else 3
    warn(f"Reading hops up to {nearest} of {n_nodes:,} nodes; {argument('hops')} asks for others.")
    return nearest


def read(
    graph: Any,
    signal: Any,
    hops: int | Iterable[int] | None = None,
    weights: Any = None,
    metric: str = "auto",
    columns: str = "auto",
    labels: bool = False,
    nodes: Any = None,
    gaps: bool = True,
) -> Reading:
    """Read a graph and a signal; ``labels=True`` takes whole numbers as class codes, ``gaps`` allows missing values."""
    one_of(columns, "columns", COLUMNS)
    strat = with_attributes(stratify(graph, hops, weights), signal)
    if strat.computing.device is None:  # compute where the signal or the graph is
        backends = (backend_of(one) for one in (signal, graph))
        strat = strat.using(device=next((one for one in backends if one != NUMPY), None))
    if labels:
        return _noted(Reading(strat, (label_column(as_labels(signal, strat.graph)),)))
    try:
        known = as_signal(signal, strat.graph, nodes, texts=True, gaps=gaps)
    except (errors.SignalTypeError, errors.SignalValueError) as error:
        try:  # what is no number may be text
            found = as_labels(signal, strat.graph)
        except errors.InputError:
            raise error from None
        if not any(isinstance(one, str) for one in found.classes):
            raise
        return _noted(Reading(strat, (label_column(found),)))
    return _noted(replace(of_signal(strat, known, metric, columns), table=known.table or known))


def _noted(reading: Reading) -> Reading:
    return replace(reading, note=f"{reading.note} {reading.missing}".strip())


def signal_or_table(graph: Any, signal: Any, call: str) -> Any:
    """The signal, by default the table ``X`` of an AnnData; an error names the function that was called."""
    if signal is not None:
        return signal
    if is_anndata(graph) or (isinstance(graph, Stratification) and "X" in graph.graph.attributes):
        return "X"
    raise errors.OptionError(f"Give the signal too: {call}(graph, signal); only an AnnData has a table of its own.")


def with_attributes(strat: Stratification, *signals: Any) -> Stratification:
    """The same strata, where names such as "total_counts" mean values of an AnnData that is a signal on them."""
    data = next((one for one in signals if is_anndata(one)), None)
    known = strat.graph
    if data is None or known.attributes or len(data.obs_names) != known.n_nodes:
        return strat
    names, found = np.asarray(data.obs_names).tolist(), copy.copy(strat)
    if known.named or {*map(str, names)} == {*map(str, known.names)}:
        rows = order_of(names, known)
        data = data if (rows == np.arange(len(rows))).all() else data[rows]
    found.graph = replace(known, attributes=anndata_attributes(data))
    return found


def of_signal(strat: Stratification, known: Signal, metric: str, columns: str) -> Reading:
    """The columns of a signal in the graph's order."""
    if columns == "auto":
        columns = known.reading
    values, everyone = known.values, np.arange(strat.graph.n_nodes)
    width = values.shape[2]
    if columns == "separate" and metric == "angular":
        words = f"{argument('columns', 'separate')} compares single numbers, which have no direction"
        raise errors.OptionError(f"{words}; leave out {argument('metric', 'angular')}.")
    if width == 0 and len(known.texts) == 1:  # one attribute or column of text
        return Reading(strat, (label_column(known.texts[0][1]),))
    if known.texts or (columns == "separate" and (width > 1 or known.columns is not None)):
        names = known.columns if known.columns is not None and len(known.columns) == width else tuple(range(width))
        refuse_repeated([*names, *(name for name, _ in known.texts)], "The signal")
        found, whole = [], np.isfinite(values).all(axis=(0, 1))  # (d,)
        for at, name in enumerate(names):
            own = values[:, :, [at]]
            rows = everyone if whole[at] else _rows_with_value(own, name)
            found.append(Column(name, "numbers", own if whole[at] else own[:, rows], rows, known.rounding))
        found += [label_column(one, name) for name, one in known.texts]
        return Reading(strat, tuple(found), known.snapshots, known.kind, "euclidean", True)
    if width > 1:
        require_finite(known, strat.graph)
    elif width and not np.isfinite(values).all():
        everyone = _rows_with_value(values)
        known = replace(known, values=values[:, everyone])
    field, note = potential(known, metric, "zero"), ""
    kind = "numbers" if width == 1 else ("directions" if field.metric == "angular" else "vectors")
    if kind == "directions":
        note = f"Vectors of {width} columns are compared by direction (metric='angular')."
        note += " columns='separate' tests each column." if known.columns is not None else ""
        lost = 0 if field.zero_rows is None else int(np.max(field.zero_rows))
        note += f" {lost} node{'s have' if lost > 1 else ' has'} a zero vector." if lost else ""
    column = Column(None, kind, field.values, everyone, known.rounding)
    return Reading(strat, (column,), known.snapshots, known.kind, field.metric, False, note)


def _rows_with_value(values: np.ndarray, name: Any = None) -> np.ndarray:
    """Nodes whose number ``(T, n, 1)`` is known in all snapshots."""
    rows = np.flatnonzero(np.isfinite(values).all(axis=(0, 2)))
    if not len(rows):
        what = "The signal" if name is None else f"Column {shown(str(name))}"
        raise errors.SignalValueError(f"{what} has no value at any node; leave it out.")
    return rows


def label_column(labels: Labels, name: Any = None) -> Column:
    """Labels as one 0/1 column per class, on the nodes that have one."""
    if len(labels.classes) < 2:
        only = shown(labels.classes[0])
        raise errors.SignalValueError(f"All labels are {only}; a test compares classes and needs two or more of them.")
    rows = np.flatnonzero(labels.codes >= 0)
    values = np.eye(len(labels.classes))[labels.codes[rows]]
    return Column(name, "labels", values[None], rows, classes=labels.classes)


def label_columns(labels: Any, graph: Graph, names: Sequence[str] = ()) -> dict[Any, Any]:
    """Labels that are tested by themselves: the columns of text of a table, or those named; else all, called None."""
    table = _label_table(labels, graph)
    if table is None:
        if names:
            raise errors.OptionError(
                f"{argument('column', names[0])} needs a table of labels (.csv or .tsv) with a header."
            )
        return {None: labels}
    heads = table.columns.tolist()
    refuse_repeated(heads, "The table of labels")
    known = {str(name): name for name in heads}
    for name in names:
        if name not in known:
            held = ", ".join(map(shown, list(known)[:8]))
            raise errors.UnknownNameError(f"The table of labels has no column {shown(name)}; it has {held}.")
    if not names and len(known) > 1 and label_name(heads) is None:
        texts = {name: [cell for cell in table[own] if isinstance(cell, str) and cell] for name, own in known.items()}
        names = [name for name, cells in texts.items() if not all(map(is_number, cells))]
    return {name: table[known[name]] for name in names} or {None: table if is_frame(labels) else labels}


def _label_table(labels: Any, graph: Graph) -> Any:
    """Columns of labels, a DataFrame with the names of the nodes as its index; None for what is no table."""
    if is_frame(labels):
        return by_node(labels, graph)
    is_file = isinstance(labels, (str, os.PathLike)) and not is_attribute(labels, graph)
    if not is_file or suffix(Path(labels)) not in (".csv", ".tsv"):
        return None
    with opened(labels) as path:
        table = read_label_table(path, frozenset(map(str, graph.names))).cells
    return table.set_index(table.columns[0]) if table.shape[1] > 1 else None


def look_swapped(graph: Path, signal: Path) -> bool:
    """Whether the second file lists pairs of names, and the first file most of these names in rows of their own."""
    try:
        with warnings.catch_warnings(action="ignore"):
            names = set(map(str, as_graph(signal).names))
        cells = read_columns(graph).cells
    except (errors.SpectrataError, OSError):
        return False
    if cells.shape[1] < 2:
        return False
    rows, beside = ([cell for cell in cells[at][1:].tolist() if cell] for at in (0, 1))
    shared, once = len(names.intersection(rows)), len(set(rows)) == len(rows)
    return once and 3 * shared > 2 * max(len(rows), len(names)) and 2 * len(names.intersection(beside)) <= len(beside)


def of_result(ds: Any, signal: Any, metric: str, columns: str, nodes: Any = None) -> Reading:
    """The graph and signal of a result, or another signal on its graph; an error names what it lacks."""
    spectra = view(ds)
    strat = rebuild(spectra)
    if metric == "auto":
        metric = spectra.metric
    known = as_signal(signal, strat.graph, nodes) if signal is not None else kept_signal(spectra)
    if known is None:
        lacking = giving_signal(ds, "st.diagnose(result, signal=x)", "st.diagnose({})")
        raise errors.ResultError(f"Cannot test this result: {lacking}")
    if "column" in spectra.row_dims:
        columns = "separate"
    elif columns == "auto":
        columns = "joint"
    metric = "auto" if known.values.shape[2] == 1 or columns == "separate" else metric
    return of_signal(strat, known, metric, columns)


def kept_signal(spectra: View) -> Signal | None:
    """The signal in a result, in the order of the graph's nodes; columns that were read one by one side by side."""
    values = spectra.signal
    if values is None:
        return None
    kind = str(spectra.ds.attrs.get("snapshot_kind", ""))
    rows, names = spectra.rows, spectra.column_names
    if "column" in spectra.row_dims:  # the last of the dimensions that are stacked
        names = tuple(spectra.labels("column"))
        values = values[..., 0].reshape(-1, len(names), spectra.n_nodes).transpose(0, 2, 1)
        rows = view(spectra.ds.isel(column=0, drop=True)).rows
    return Signal(np.ascontiguousarray(values), None if rows is None else tuple(rows), kind, names)
