"""``diagnose``: findings in words, each bound to one statistic."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from spectrata.analysis.collapse import collapsed, is_layers
from spectrata.analysis.familywise import STATISTICS, Tests, run_tests
from spectrata.analysis.findings import LEVEL, Finding, Findings
from spectrata.analysis.levels import options_given, rebuild
from spectrata.analysis.sentences import SINGULAR, dominated, listed, runs, with_sentences
from spectrata.analysis.smoothness import mean_share
from spectrata.analysis.tally import adjust
from spectrata.core.plan import Plan, make_plan
from spectrata.core.registry import EXACT
from spectrata.core.spectra import as_stratification, refuse_graph_arguments
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError
from spectrata.inputs.numbers import one_of, whole
from spectrata.inputs.signals import Potential, Signal, as_signal, potential
from spectrata.kernels.backend import NUMPY
from spectrata.kernels.scaling import representable
from spectrata.results.schema import View, view

# Share of energy in the mean vector from which on a signal is described as dominated by it.
DOMINATED = 0.95
# Least change of a band's share of energy from the first to the last snapshot that is described.
SHIFT = 0.1
MOST_COLUMNS = 64
KINDS = {"pairs": ("unlike", "alike"), "low": ("smooth", None), "high": ("rough", None), "fiedler": ("coarse", None)}


def diagnose(
    source: Any,
    signal: Any = None,
    *,
    hops: int | Iterable[int] | None = None,
    weights: Any = None,
    hop_weights: str = "bottleneck",
    undirected: bool = False,
    laplacian: str | None = None,
    self_loops: bool | None = None,
    metric: str = "auto",
    columns: str = "joint",
    zero_vectors: str = "nan",
    snapshots: Any = None,
    control: Any = None,
    draws: int | None = None,
    seed: int = 0,
) -> Findings:
    """Say in words what a signal shows, each sentence bound to one statistic and its permutation null.

    Parameters
    ----------
    source : graph in any form, Stratification or Dataset
        A graph, with ``signal``; or a result with gft. A result that kept no signal gives descriptions only, unless
        ``signal`` is given.
    signal : array, mapping, DataFrame, DataArray, tensor or path, optional
    hops, weights, hop_weights, undirected
        How a graph is read, as for :func:`spectrata.spectra`; a Stratification or a result has its own.
    laplacian, self_loops
        As for :func:`spectrata.spectra`; a result has its own.
    metric, zero_vectors
        As for :func:`spectrata.spectra`; a result has its own metric.
    columns : {"joint", "separate"}
        Read the columns as one vector per node, or each as a signal of its own.
    snapshots : list, optional
        Labels of the snapshots to test; by default the first and the last. "layers" or "epochs" says what the
        snapshots are.
    control : Dataset, optional
        For layers of a watched model (``w.over_layers()``): the same layers without message passing,
        ``w.over_layers(mode="control")``. Only with it a finding may name message passing as the cause of a collapse.
    draws : int, optional
        Permutations of the nodes; a corrected p cannot fall below ``1 / (draws + 1)``. By default 999, and up to 100
        per test where that takes seconds.
    seed : int

    Returns
    -------
    Findings
        Sorted by ``|z|``, descriptions last; ``print`` it, or take ``to_frame()`` or ``to_json()``.

    Notes
    -----
    Four statistics are tested at every hop: the mean squared difference of the pairs at this distance
    (:func:`spectrata.correlogram`; "alike", "unlike"), the GFT energy of the lowest and of the highest quarter of the
    components off zero ("smooth", "rough"), and that of the lowest eigenspace off zero ("coarse"). Spectra of fewer
    than 8 components off zero are not judged. z comes from the exact permutation mean and variance. p is corrected
    over all hops, snapshots and statistics by the permutation distribution of the smallest p (Westfall and Young
    1993), and over columns by Benjamini and Hochberg; the level is 0.05.

    Descriptions carry no p: "dominated" (at least 0.95 of the energy is that of the mean vector), "low_pass" and
    "high_pass" (the share of energy in the lowest or highest quarter rises by at least 0.1 from the first to the last
    snapshot), "chance" (pairs that are not distinguishable from chance).

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> graph = nx.planted_partition_graph(2, 30, 0.4, 0.02, seed=1)
    >>> noise = np.random.default_rng(0).normal(size=60)
    >>> blocks = noise + 3 * (np.arange(60) < 30)
    >>> sorted(st.diagnose(graph, blocks, hops=1).kinds), sorted(st.diagnose(graph, noise, hops=1).kinds)
    (['alike', 'coarse', 'smooth'], ['chance'])
    """
    import xarray as xr

    one_of(columns, "columns", ("joint", "separate"))
    if draws is not None:
        whole(draws, "draws", 1)
    read_as = {"hops": hops, "weights": weights, "hop_weights": hop_weights, "undirected": undirected}
    if isinstance(source, xr.Dataset):
        refuse_graph_arguments("A result", **read_as)
        own = {"laplacian": laplacian, "self_loops": self_loops, "metric": None if metric == "auto" else metric}
        _refuse_own(own)
        verdicts = collapsed(source, control) if control is not None or is_layers(source) else []
        if verdicts or is_layers(source):
            return _of_layers(view(source), signal, verdicts, columns, snapshots, draws, seed)
        case = _of_result(view(source), signal, columns)
    else:
        if signal is None:
            raise OptionError("Give the signal too: diagnose(graph, signal).")
        strat = as_stratification(source, **read_as)
        options = {"laplacian": laplacian or "combinatorial", "self_loops": bool(self_loops)}
        case = _of_signal(strat, as_signal(signal, strat.graph), options, metric, columns, zero_vectors)
    if isinstance(case, View):
        return _descriptions_only(case)
    return case.found(*_chosen(case, snapshots), draws, seed)


def _of_layers(
    spectra: View, signal: Any, verdicts: list[Finding], columns: str, snapshots: Any, draws: int | None, seed: int
) -> Findings:
    """Verdicts on the layers of a watched model, and what else the result allows."""
    if spectra.is_bands or EXACT not in spectra.algorithms:
        return Findings(verdicts)
    case = _of_result(spectra, signal, columns)
    found = _descriptions_only(case) if isinstance(case, View) else case.found(*_chosen(case, snapshots), draws, seed)
    return Findings([*verdicts, *found], found.notes, found.tests, found.draws, found.smallest)


def _refuse_own(given: dict[str, Any]) -> None:
    names = [name for name, value in given.items() if value is not None]
    if names:
        raise OptionError(f"A result has its own {', '.join(names)}; leave them out, or give the graph and the signal.")


@dataclass(frozen=True, eq=False)
class Case:
    """What is judged: ``R`` rows, every column of every snapshot where columns are separate.

    Attributes
    ----------
    snapshots, columns : list
        Labels of each row, None where there are none.
    arguments : str
        How the calls behind the findings read graph and signal.
    """

    strat: Stratification
    field: Potential
    plan: Plan
    snapshots: list[Any]
    columns: list[Any]
    width: int
    kind: str
    arguments: dict[str, Any]

    def found(self, rows: np.ndarray, kind: str, draws: int | None, seed: int) -> Findings:
        """Test some rows, and describe them."""
        usable = rows[~self.field.undefined[rows]]
        kind = kind or self.kind
        notes = [] if self.width < 2 or self.field.metric != "angular" else [_directions(self.width)]
        lost = list(_undefined(self, rows, kind))
        if not len(usable):
            return Findings(lost, notes)
        self.strat.announce(self.plan, NUMPY)
        names = [self.columns[row] for row in usable]
        family = np.array([list(dict.fromkeys(names)).index(name) for name in names])
        tests = run_tests(self.strat, self.field.values[usable], self.plan, family, draws=draws, seed=seed)
        p, note = _across_columns(tests, family)
        tested = list(self._tested(usable, tests, p))
        described = [*_dominated(self, usable, kind), *_shifts(self, usable, tests, kind), *_still(tests, self)]
        count = int(np.sum(~np.isnan(p)))
        smallest = float(np.nanmin(p)) if count else float("nan")
        sentences = with_sentences(tested, tests.draws, kind)
        return Findings([*sentences, *described, *lost], [*notes, *note], count, tests.draws, smallest)

    def _tested(self, rows: np.ndarray, tests: Tests, p: np.ndarray) -> Iterator[Finding]:
        fits = representable(self.field.scale[rows])  # energies of other signals stay over their power of two
        units = np.where(fits, self.field.scale[rows], 1.0) ** 2
        for (row, at, which), one in np.ndenumerate(p):
            name, z = STATISTICS[which], float(tests.z[row, at, which])
            kind = KINDS[name][0 if z > 0 else 1] if one <= LEVEL else ("chance" if name == "pairs" else None)
            if kind is None or np.isnan(z):
                continue
            hop, unit = self.strat.hops[at], units[row]
            yield Finding(
                kind,
                "",
                hop,
                self.snapshots[rows[row]],
                self.columns[rows[row]],
                float(tests.value[row, at, which] * unit),
                float(tests.mean[row, at, which] * unit),
                z,
                float(one),
                self.call(name, hop, int(rows[row])),
            )

    def call(self, name: str, hop: int, row: int) -> str:
        """The call that gives a statistic again, of ``graph`` and ``signal``."""
        given = {"hops": [hop], "metric": self.field.metric, "draws": 0, **self.arguments}
        if name == "pairs":
            text = f"st.correlogram(graph, signal, {_spelled(given)})['mean_square']"
        else:
            level = "eigenspace" if name == "fiedler" else "band"
            options = {"algorithms": EXACT, "level": level, **self.plan.options.operator.arguments}
            text = (
                f"st.calibrate(graph, signal, {_spelled(given | options)})['magnitude'].sel(algorithm={EXACT!r}) ** 2"
            )
        labels = {"hop": hop, "snapshot": self.snapshots[row], "column": self.columns[row]}
        text = f"({text}).sel({_spelled({name: label for name, label in labels.items() if label is not None})})"
        place = {"low": ".isel(band=0)", "high": ".isel(band=-1)"}.get(name, "")
        if name == "fiedler":
            place = ".where(lambda m: ~m['is_zero'], drop=True).isel(component=0)"
        return text + place


def _spelled(arguments: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())


def _of_signal(
    strat: Stratification, known: Signal, options: dict[str, Any], metric: str, columns: str, zero_vectors: str
) -> Case:
    plan = make_plan(EXACT, options, strat.graph.n_nodes, keep=(), diagnose=False)
    count, n, width = known.values.shape
    labels = [None] * count if known.snapshots is None else list(known.snapshots)
    names: list[Any] = [None] * count
    arguments: dict[str, Any] = {}
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
        known, width, arguments = Signal(values, tuple(range(len(values)))), 1, {"columns": "separate"}
    field = potential(known, metric, zero_vectors, strat.graph.names)
    if zero_vectors != "error":
        arguments["zero_vectors"] = zero_vectors
    return Case(strat, field, plan, labels, names, width, known.kind, arguments)


def _of_result(spectra: View, signal: Any, columns: str) -> "Case | View":
    """The signal of a result with the graph, metric and Laplacian of the result; the result where it has none."""
    spectra.require_components("a diagnosis")
    spectra.require_algorithms([EXACT])
    spectra.require_zeros("a diagnosis")
    spectra.require_complete("a diagnosis")
    strat = rebuild(spectra)
    rows = spectra.rows
    if signal is not None:
        known = as_signal(signal, strat.graph)
    elif spectra.signal is not None:  # in the order of the graph's nodes, whatever their names
        known = Signal(
            spectra.signal, None if rows is None else tuple(rows), str(spectra.ds.attrs.get("snapshot_kind", ""))
        )
    else:
        return spectra
    given = options_given(spectra, [EXACT])
    options = {name: given[name] for name in ("laplacian", "self_loops")}
    return _of_signal(strat, known, options, spectra.metric, columns, str(spectra.options["zero_vectors"]))


def _chosen(case: Case, asked: Any) -> tuple[np.ndarray, str]:
    """Rows to test, and what snapshots are: the first and the last defined snapshot unless others are named."""
    labels = list(dict.fromkeys(case.snapshots))
    if asked is None or isinstance(asked, str):
        kind = asked or ""
        one_of(asked, "snapshots", (None, *SINGULAR))
        defined = [label for label, lost in zip(case.snapshots, case.field.undefined, strict=True) if not lost]
        ends = (defined or labels)[:: max(1, len(defined or labels) - 1)]
        lost = [label for label in labels if label not in defined]
        wanted = [label for label in labels if label in (ends[0], ends[-1]) or label in lost]
    else:
        kind, wanted = "", list(asked)
        unknown = [label for label in wanted if label not in labels]
        if unknown:
            raise OptionError(f"The signal has no snapshot {unknown[0]!r}; it has {listed(labels)}.")
    return np.array([row for row, label in enumerate(case.snapshots) if label in wanted]), kind


def _directions(width: int) -> str:
    return f"The {width} columns are read as one vector per node, compared by direction (metric='angular')."


def _across_columns(tests: Tests, family: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Corrected p, and over several columns the FDR: each column's tests times the factor its smallest p gets.

    The columns are selected by Benjamini and Hochberg on their smallest p; within them the level is divided by the
    same factor (Benjamini and Bogomolov 2014).
    """
    count = int(family.max()) + 1
    if count == 1:
        return tests.p, []
    rows = [tests.p[family == column] for column in range(count)]
    smallest = np.array([np.nanmin(one) if np.isfinite(one).any() else np.nan for one in rows])
    factor = adjust(smallest) / smallest
    floor, note = count / (tests.draws + 1), []
    if floor > LEVEL:
        note = [
            f"With {tests.draws} draws a single column of {count} cannot reach {LEVEL}; use draws={20 * count - 1}."
        ]
    return np.minimum(1.0, tests.p * factor[family][:, None, None]), note


def _undefined(case: Case, rows: np.ndarray, kind: str) -> Iterator[Finding]:
    bad = [row for row in rows if case.field.undefined[row]]
    if bad:
        labels = [case.snapshots[row] for row in bad]
        where = "" if labels == [None] else f" in {SINGULAR.get(kind, 'snapshot')} {listed(labels)}"
        text = f"Not judged{where}: a node has a zero vector, which has no direction; use zero_vectors='zero'."
        for row in bad:
            yield Finding("undefined", text, None, case.snapshots[row], case.columns[row])


def _dominated(case: Case, rows: np.ndarray, kind: str) -> list[Finding]:
    """Rows whose energy is almost all that of the mean vector."""
    call = f"st.smoothness(graph, signal, {_spelled({'metric': case.field.metric, **case.arguments})})['mean_share']"
    shares = [mean_share(case.field.values[row]) for row in rows]
    found = [
        Finding("dominated", "", None, case.snapshots[row], case.columns[row], share, call=call)
        for row, share in zip(rows, shares, strict=True)
        if share >= DOMINATED
    ]
    return dominated(found, "values" if case.field.metric == "euclidean" else "directions", kind)


def _shifts(case: Case, rows: np.ndarray, tests: Tests, kind: str) -> Iterator[Finding]:
    """Shares of energy off zero in the lowest and highest quarter, from the first to the last snapshot; no p."""
    share = tests.value[:, :, 1:3] / np.where(tests.off_energy > 0, tests.off_energy, np.nan)[..., None]
    for column in dict.fromkeys(case.columns[row] for row in rows):
        here = [at for at, row in enumerate(rows) if case.columns[row] == column]
        first, last = here[0], here[-1]
        labels = [case.snapshots[rows[at]] for at in (first, last)]
        for which, (name, words) in enumerate((("low_pass", "lowest"), ("high_pass", "highest"))):
            before, after = share[first, :, which], share[last, :, which]
            risen = np.flatnonzero(after - before >= SHIFT)
            if first == last or not len(risen):
                continue
            hops = [case.strat.hops[at] for at in risen]
            noun = SINGULAR.get(kind, "snapshot")
            of = "" if column is None else f"In column {column} "
            text = f"{of}from {noun} {labels[0]} to {labels[1]} the share of energy off zero in the {words} quarter of "
            by = f"from {before[risen[0]]:.3g} to {after[risen[0]]:.3g}"
            if len(risen) > 1:
                by = f"by {np.min(after[risen] - before[risen]):.3g} or more"
            text += f"frequencies rises {by} at K = {runs(hops)}."
            text = text[0].upper() + text[1:]
            for at, hop in zip(risen, hops, strict=True):
                yield Finding(name, text, hop, labels[1], column, float(after[at]), float(before[at]))


def _still(tests: Tests, case: Case) -> Iterator[Finding]:
    """Hops at which no order of the nodes changes the pairs' differences."""
    still = np.isnan(tests.z[:, :, 0]).all(axis=0)
    hops = [hop for hop, one in zip(case.strat.hops, still, strict=True) if one]
    if hops:
        text = f"Not judged at K = {runs(hops)}: every order of the nodes gives the same mean squared difference."
        for hop in hops:
            yield Finding("undefined", text, hop)


def _descriptions_only(spectra: View) -> Findings:
    """What magnitudes alone show: the share of energy of the mean, where a hop is connected, and shares of bands."""
    energy = spectra.magnitude[spectra.row_of(EXACT)] ** 2  # (R, hop, component)
    whole_energy = np.nansum(energy, axis=-1)
    rows: list[Any] = [None] * len(energy) if spectra.rows is None else spectra.rows
    found = [Finding("unjudged", "Not tested against chance: the result kept no signal; give it as signal=.")]
    connected = np.flatnonzero(spectra.fixed("n_parts", "hop") == 1)
    if len(connected) and spectra.ds.attrs.get("laplacian") == "combinatorial":
        at = int(connected[0])
        zero = np.nansum(np.where(spectra.is_zero[at], energy[:, at], 0.0), axis=-1)
        share = np.divide(zero, whole_energy[:, at], out=np.zeros(len(zero)), where=whole_energy[:, at] > 0)
        common = [
            Finding("dominated", "", None, rows[row], None, float(share[row]))
            for row in np.flatnonzero(share >= DOMINATED)
        ]
        what = "values" if spectra.metric == "euclidean" else "directions"
        found += dominated(common, what, str(spectra.ds.attrs.get("snapshot_kind", "")))
    return Findings(found)
