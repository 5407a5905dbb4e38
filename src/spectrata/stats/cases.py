"""What ``diagnose`` judges: a signal on a stratification, row by row, and the calls that give its numbers again."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from spectrata.core.plan import Plan, make_plan
from spectrata.core.registry import EXACT
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError
from spectrata.inputs.numbers import one_of
from spectrata.inputs.signals import Potential, Signal, as_signal, potential
from spectrata.results.schema import View, view
from spectrata.stats.describe.levels import options_given, rebuild
from spectrata.stats.sentences import SINGULAR, listed

MOST_COLUMNS = 64


@dataclass(frozen=True, eq=False)
class Case:
    """What is judged: ``R`` rows, every column of every snapshot where columns are separate.

    Attributes
    ----------
    snapshots, columns : list
        Labels of each row, None where there are none.
    names : tuple
        Those of columns that are read together, where they have some.
    arguments : dict
        How the calls behind the findings read graph and signal.
    source : {"graph", "strat"}
        What they read the graph from.
    """

    strat: Stratification
    field: Potential
    plan: Plan
    snapshots: list[Any]
    columns: list[Any]
    width: int
    names: tuple[Any, ...]
    kind: str
    arguments: dict[str, Any]
    source: str

    def call(self, name: str, hop: int, row: int) -> str:
        """The call that gives a statistic again, of ``graph`` and ``signal``."""
        hops = {"hops": [hop]} if self.source == "graph" else {}  # a Stratification has its own
        given = {**hops, "metric": self.field.metric, "draws": 0, **self.arguments}
        if name == "pairs":
            text = f"st.correlogram({self.source}, signal, {spelled(given)})['mean_square']"
        else:
            level = "eigenspace" if name == "fiedler" else "band"
            options = {"algorithms": EXACT, "level": level, **self.plan.options.operator.arguments}
            text = (
                f"st.calibrate({self.source}, signal, {spelled(given | options)})['magnitude']"
                f".sel(algorithm={EXACT!r}) ** 2"
            )
        text = f"({text}).sel({spelled({'hop': hop, **self.labels(row)})})"
        place = {"low": ".isel(band=0)", "high": ".isel(band=-1)"}.get(name, "")
        if name == "fiedler":
            place = ".where(lambda m: ~m['is_zero'], drop=True).isel(component=0)"
        return text + place

    def labels(self, row: int) -> dict[str, Any]:
        """Where a row stands in a result of the signal."""
        found = {"snapshot": self.snapshots[row], "column": self.columns[row]}
        return {name: label for name, label in found.items() if label is not None}


def spelled(arguments: dict[str, Any]) -> str:
    """Arguments as they are written; an array goes by the name of its argument."""
    written = (str, int, float, list, type(None))
    return ", ".join(
        f"{name}={value!r}" if isinstance(value, written) else f"{name}={name}" for name, value in arguments.items()
    )


def of_signal(
    strat: Stratification, known: Signal, options: dict[str, Any], metric: str, columns: str, zero_vectors: str,
    read_as: dict[str, Any] | None = None,
) -> Case:  # fmt: skip
    """A signal on a stratification; ``read_as`` are the arguments a graph was read with, None where it was not."""
    plan = make_plan(EXACT, options, strat.graph.n_nodes, keep=(), diagnose=False)
    count, n, width = known.values.shape
    labels = [None] * count if known.snapshots is None else list(known.snapshots)
    names: list[Any] = [None] * count
    arguments: dict[str, Any] = dict(read_as or {})
    if columns == "separate":
        if metric == "angular":
            raise OptionError("metric='angular' compares directions, and a single column has none; leave it out.")
        if width > MOST_COLUMNS:
            raise OptionError(
                f"The signal has {width} columns, and diagnose judges up to {MOST_COLUMNS} separately; use "
                "st.correlogram(graph, signal, columns='separate')."
            )
        names = list(known.columns or range(width)) * count
        labels = [label for label in labels for _ in range(width)]
        values = np.ascontiguousarray(known.values.transpose(0, 2, 1)).reshape(count * width, n, 1)
        known, width, arguments = Signal(values, tuple(range(len(values)))), 1, arguments | {"columns": "separate"}
    field = potential(known, metric, zero_vectors, strat.graph.names)
    if zero_vectors != "error":
        arguments["zero_vectors"] = zero_vectors
    source = "strat" if read_as is None else "graph"
    return Case(strat, field, plan, labels, names, width, known.columns or (), known.kind, arguments, source)


def of_result(spectra: View, signal: Any, columns: str) -> "Case | View":
    """The signal of a result with the graph, metric and Laplacian of the result; the result where it has none."""
    spectra.require_components("a diagnosis")
    spectra.require_algorithms([EXACT])
    spectra.require_zeros("a diagnosis")
    spectra.require_complete("a diagnosis")
    strat = rebuild(spectra)
    if "column" in spectra.row_dims:
        columns = "separate"
    if signal is not None:
        known = as_signal(signal, strat.graph)
    elif spectra.signal is not None:
        known = _kept(spectra, spectra.signal)
    else:
        return spectra
    given = options_given(spectra, [EXACT])
    options = {name: given[name] for name in ("laplacian", "self_loops")}
    return of_signal(strat, known, options, spectra.metric, columns, str(spectra.options["zero_vectors"]))


def _kept(spectra: View, values: np.ndarray) -> Signal:
    """The signal in a result, in the order of the graph's nodes; columns that were read one by one side by side."""
    kind = str(spectra.ds.attrs.get("snapshot_kind", ""))
    rows, names = spectra.rows, spectra.column_names
    if "column" in spectra.row_dims:  # the last of the dimensions that are stacked
        names = tuple(spectra.labels("column"))
        values = values[..., 0].reshape(-1, len(names), spectra.n_nodes).transpose(0, 2, 1)
        rows = view(spectra.ds.isel(column=0, drop=True)).rows
    return Signal(np.ascontiguousarray(values), None if rows is None else tuple(rows), kind, names)


def chosen_rows(case: Case, asked: Any, judged: Collection[Any] = ()) -> tuple[np.ndarray, str]:
    """Rows to test, and what snapshots are.

    By default the first and the last defined snapshot are tested, and those that a verdict judges.
    """
    labels = list(dict.fromkeys(case.snapshots))
    if asked is None or isinstance(asked, str):
        kind = asked or ""
        one_of(asked, "snapshots", (None, *SINGULAR))
        defined = [label for label, lost in zip(case.snapshots, case.field.undefined, strict=True) if not lost]
        ends = (defined or labels)[:: max(1, len(defined or labels) - 1)]
        lost = [label for label in labels if label not in defined]
        wanted = [label for label in labels if label in (ends[0], ends[-1], *judged) or label in lost]
    else:
        kind, wanted = "", list(asked)
        unknown = [label for label in wanted if label not in labels]
        if unknown:
            raise OptionError(f"The signal has no snapshot {unknown[0]!r}; it has {listed(labels)}.")
    return np.array([row for row, label in enumerate(case.snapshots) if label in wanted]), kind
