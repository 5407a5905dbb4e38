"""Covariates: what a signal holds beyond degree, numbers or categories (Freedman and Lane 1983).

Residuals change places with equal variances (``Observation.evened``).
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import qr

from spectrata.core.strata import Strata
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError, SignalTypeError, SpectrataError, argument, shown
from spectrata.inputs.graphs import Graph
from spectrata.inputs.labels import Labels, as_labels
from spectrata.inputs.rows import by_node
from spectrata.inputs.signals import Signal, as_signal, pick_columns, require_finite

DEGREE = "degree"
BY_HOP, BY_BIN = "at hops 1, 2, 3 and the tested one", "in the first three bins and the tested one"
LEAST_RUN = 10  # nodes of a run of neighbouring degrees that change places
MOST_RATIO = 4  # of two degrees in one run: hubs and leaves do not change places, however few the hubs are
LEAST_FREEDOM = 3  # nodes less independent covariates, below which residuals say nothing
DEGREE_ALONE = 20_000  # nodes above which degrees at hops 2 and 3 are not computed
DEPENDENT = 1e-8  # share of a column's length left by the other columns, below which it drops out
NAMED = 8  # names that an error lists
EXPLAINED = 1e-10  # share of a signal's length below which nothing is left of it


@dataclass(frozen=True, eq=False)
class Covariates:
    """The covariates of ``given=``, on the rows that are tested."""

    name: str  # "degree", "covariates" where others were given, or "" where there are none
    numbers: np.ndarray  # (n, c) columns that are the same at every hop; the constant is not among them
    blocks: np.ndarray  # (n,) nodes whose residuals may change places have the same number
    by_hop: bool = False  # whether log(1 + k) of the tested hop is a further column
    note: str = ""  # what was left out

    def at(self, degrees: np.ndarray) -> np.ndarray:
        """Orthonormal columns (n, q) that span the constant, first, and the covariates of a hop with ``k (n,)``.

        Its unit is the mean weight of a pair, so that the unit of the weights changes nothing.
        """
        own = [np.log1p(degrees)[:, None]] if self.by_hop else []
        return independent(np.column_stack([self.numbers, *own]))

    def why_untested(self, degrees: np.ndarray) -> str:
        """Why a signal has no test given the covariates at a hop where its residual is zero."""
        name = DEGREE if self.name == DEGREE else "the covariates"
        few = leaves_nothing(self.at(degrees))
        return f"too few nodes to account for {name}" if few else f"a function of {name}"

    def of(self, rows: np.ndarray) -> "Covariates":
        """The same for some of the nodes."""
        if len(rows) == len(self.numbers):
            return self
        return replace(self, numbers=self.numbers[rows], blocks=np.unique(self.blocks[rows], return_inverse=True)[1])


def independent(columns: np.ndarray) -> np.ndarray:
    """Orthonormal basis (n, q) of the constant and the columns (n, c); dependent columns drop out."""
    constant = np.full((len(columns), 1), 1 / np.sqrt(len(columns)))
    centred = columns - columns.mean(axis=0)
    sizes, before = np.linalg.norm(centred, axis=0), np.linalg.norm(columns, axis=0)
    kept = sizes > DEPENDENT * before
    if not kept.any():
        return constant
    basis, triangle, _ = qr(centred[:, kept] / sizes[kept], mode="economic", pivoting=True)
    rank = int(np.count_nonzero(np.abs(np.diag(triangle)) > DEPENDENT))
    basis = basis[:, :rank] - constant @ (constant.T @ basis[:, :rank])
    return np.column_stack([constant, np.linalg.qr(basis)[0]])


def leaves_nothing(basis: np.ndarray) -> bool:
    """Whether the nodes are too few for so many covariates."""
    return len(basis) - basis.shape[1] < LEAST_FREEDOM


def residual(basis: np.ndarray, values: np.ndarray) -> np.ndarray:
    """e = (I - H) values, shape (n, d); twice, so that rounding leaves nothing of the covariates."""
    if leaves_nothing(basis):
        return np.zeros_like(values)
    left = values - basis @ (basis.T @ values)
    return left - basis @ (basis.T @ left)


def read_given(given: Any, strat: Stratification, table: Signal | None = None) -> Covariates:
    """Take ``given=`` in any accepted form: "degree", numbers, categories, a table, or a list of several of these.

    A text names a node attribute, a column of ``table`` (the signal that is tested, with all its columns), a file, or a
    column of a file ("people.csv:department").
    """
    n, graph = strat.graph.n_nodes, strat.graph
    pieces: list[np.ndarray] = []  # numbers (n, c), and codes of categories (n,)
    names: list[str] = []
    has_degree, note = False, ""
    for one in as_list(given):
        if isinstance(one, str) and one == DEGREE and one not in graph.attributes:
            has_degree = True
            by_number = is_by_number(strat)
            nearest, near = (1, (2, 3)) if by_number else (strat.hops[0], strat.hops[1:3])
            degree = relative_degrees(strat, nearest)
            note = f"{'the weights of ' if strat.weights else ''}a node's pairs {BY_HOP if by_number else BY_BIN}"
            if n > DEGREE_ALONE:
                near, note = (), f"degree alone, above {DEGREE_ALONE:,} nodes"
            far = [np.log1p(relative_degrees(strat, hop)) for hop in near]
            pieces.append(np.column_stack([degree, np.sqrt(degree), np.log1p(degree), *far]))
        else:
            one = by_node(one, graph) if is_frame(one) else one
            columns = [one.iloc[:, at] for at in range(one.shape[1])] if is_frame(one) else [one]
            for column in columns:
                pieces += _pieces_of(column, graph, table)
                name = column if isinstance(column, str) else getattr(column, "name", None)
                names.append("an array" if name is None else str(name))
    categories = [piece for piece in pieces if piece.ndim == 1]
    _, blocks = np.unique(np.column_stack([np.zeros(n, dtype=int), *categories]), axis=0, return_inverse=True)
    if has_degree:
        blocks = degree_runs(degree, blocks)
    if names:
        known = ", ".join([DEGREE] * has_degree + names)
        degree_is = f". Degree: {note}" if has_degree else ", degree not"
        note = f"Given: {known} accounted for{degree_is}."
    elif has_degree:
        note = f"Given degree: accounting for {note}."
    numbers = [np.empty((n, 0)), *(piece for piece in pieces if piece.ndim == 2)]
    indicators = [np.eye(code.max() + 1)[code] for code in categories]
    name = "covariates" if names else DEGREE if has_degree else ""
    by_hop = has_degree and n <= DEGREE_ALONE
    return Covariates(name, np.column_stack(numbers + indicators), blocks, by_hop, note)


def as_list(given: Any) -> Sequence[Any]:
    """The covariates of a list that holds names, arrays or tables; anything else is one of them."""
    if given is None or given is False:
        return []
    if isinstance(given, (list, tuple)) and given and any(isinstance(one, str) or np.ndim(one) for one in given):
        texts = all(isinstance(one, str) for one in given)
        rows = not texts and all(np.ndim(one) == 1 and len(one) == len(given[0]) < len(given) for one in given)
        return [given] if rows else given
    return [given]


def is_frame(one: Any) -> bool:
    return hasattr(one, "columns") and hasattr(one, "iloc")


def _pieces_of(one: Any, graph: Graph, table: Signal | None) -> list[np.ndarray]:
    """Numbers (n, c), and codes of categories (n,), of one covariate in the graph's order."""
    if isinstance(one, (str, os.PathLike)) and one not in graph.attributes:
        found = _columns_by_name(str(one), graph, table)
        return [found.values[-1], *(_categories(labels) for _, labels in found.texts)]
    if getattr(getattr(one, "dtype", None), "kind", "") in tuple("OUSb"):
        return [_categories(as_labels(one, graph))]
    try:
        values = as_signal(one, graph).values
    except SignalTypeError as error:
        try:  # what is no number may be a category
            return [_categories(as_labels(one, graph))]
        except SpectrataError:
            raise error from None
    if len(values) > 1:
        raise OptionError("given= has snapshots; give one number, vector or category per node.")
    return [values[0]]


def _columns_by_name(name: str, graph: Graph, table: Signal | None) -> Signal:
    """The column of the tested table, the file, or the column of a file, of that name."""
    columns = [] if table is None else [*(table.columns or ()), *(words for words, _ in table.texts)]
    if table is not None and name in map(str, columns):
        found = pick_columns(table, [name])
        require_finite(found, graph)
        return found
    if os.path.exists(name):
        return as_signal(name, graph, texts=True)
    path, colon, column = name.rpartition(":")
    if not (colon and os.path.exists(path)):
        known = ", ".join(map(shown, [DEGREE, *graph.attributes, *columns][:NAMED]))
        words = "is no node attribute, column of the signal, or file (FILE or FILE:COLUMN)"
        raise OptionError(f"{argument('given', name)} {words}; it can be {known}.")
    return pick_columns(as_signal(path, graph, texts=True), [column])


def _categories(labels: Labels) -> np.ndarray:
    return labels.codes - labels.codes.min()  # nodes without a label are a category of their own


def is_by_number(strat: Stratification) -> bool:
    """Whether hops are numbers, and not intervals of distance."""
    return all(isinstance(hop, (int, np.integer)) for hop in strat.hops)


def relative_degrees(strat: Stratification, hop: Any) -> np.ndarray:
    """Each node's pairs at a hop in units of their mean weight, shape (n,); 0 past the diameter."""

    def make() -> np.ndarray:
        near = strat.strata if hop in strat.hops else Strata(strat.graph, hop, strat.strata.hop_weights)
        return near.at(hop).relative_degrees if hop in near.hops else np.zeros(strat.graph.n_nodes)

    return strat.remember(("relative degrees", hop), make)


def degree_runs(degrees: np.ndarray, within: np.ndarray) -> np.ndarray:
    """Runs of neighbouring degrees with at least 10 nodes each, within blocks: numbers of shape (n,).

    Nodes of equal degree stay together. A run is shorter where the next degree is more than 4 times its first.
    """
    found = np.empty(len(degrees), dtype=np.int64)
    number = 0
    for block in np.unique(within):
        members = np.flatnonzero(within == block)
        values, level, sizes = np.unique(degrees[members], return_inverse=True, return_counts=True)
        starts = [0]  # levels at which a run begins
        for at in range(1, len(values)):
            if sizes[starts[-1] : at].sum() >= LEAST_RUN or values[at] > MOST_RATIO * values[starts[-1]]:
                starts.append(at)
        last = starts[-1]
        if len(starts) > 1 and sizes[last:].sum() < LEAST_RUN and values[-1] <= MOST_RATIO * values[starts[-2]]:
            starts.pop()  # the last nodes are too few for a run of their own
        found[members] = number + np.searchsorted(starts, level, side="right") - 1
        number += len(starts)
    return found
