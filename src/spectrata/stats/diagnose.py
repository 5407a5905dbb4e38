"""``diagnose``: findings in words, each bound to one statistic."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from spectrata.core.registry import EXACT
from spectrata.core.spectra import as_stratification, refuse_graph_arguments
from spectrata.errors import OptionError
from spectrata.inputs.numbers import one_of, whole
from spectrata.inputs.signals import as_signal
from spectrata.kernels.backend import NUMPY
from spectrata.kernels.scaling import representable
from spectrata.results.schema import View, view
from spectrata.stats.cases import Case, chosen_rows, of_result, of_signal, spelled
from spectrata.stats.describe.smoothness import mean_share
from spectrata.stats.familywise import STATISTICS, Tests, run_tests
from spectrata.stats.findings import LEVEL, Finding, Findings
from spectrata.stats.sentences import SINGULAR, band, dominated, listed, place, runs, with_sentences
from spectrata.stats.tally import adjust
from spectrata.stats.verdict import is_layers, layer_table, verdicts
from spectrata.stats.watched import giving_signal, is_rows, is_run, last_pass, one_pass

# Share of energy in the mean vector from which on a signal is described as dominated by it.
DOMINATED = 0.95
# Least change of a band's share of energy from the first to the last snapshot that is described.
SHIFT = 0.1
BATCHES = "Mini-batches are described, not judged: the levels of collapse were chosen on whole graphs."
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
    """State findings about a signal, each with one statistic and its permutation test.

    Parameters
    ----------
    source : graph in any form, Stratification or Dataset
        A graph, with ``signal``; or a result with gft. A result that kept no signal gives descriptions only, unless
        ``signal`` is given.
    signal : array, mapping, DataFrame, DataArray, tensor or path, optional
    hops, weights, hop_weights, undirected
        How the graph is read, as for :func:`spectrata.spectra`; not with a Stratification or result.
    laplacian, self_loops
        As for :func:`spectrata.spectra`; a result has its own.
    metric, zero_vectors
        As for :func:`spectrata.spectra`; a result has its own metric.
    columns : {"joint", "separate"}
        Read the columns as one vector per node, or test each as one signal.
    snapshots : list, optional
        Labels of the snapshots to test; by default the first and the last, and of the layers of a watched model also
        the last hidden layer. "layers" or "epochs" says what the snapshots are.
    control : Dataset, optional
        For layers of a watched model (``w.over_layers()``): the same layers without message passing,
        ``w.over_layers(mode="control")``, at the same epoch. Only with it a finding may name message passing as the
        cause of a collapse.
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
        if source.attrs.get("kind") == "mini-batches":
            lines = layer_table(source).splitlines() if source.attrs.get("snapshot_kind") == "layers" else []
            return Findings(notes=[BATCHES, *lines])
        layers = last_pass(source) if is_run(source) else one_pass(source) if is_rows(source) else source
        if control is not None or is_layers(layers):
            return of_layers(layers, control)
        case = of_result(view(source), signal, columns)
    else:
        if signal is None:
            raise OptionError("Give the signal too: diagnose(graph, signal).")
        strat = as_stratification(source, **read_as)
        options = {"laplacian": laplacian or "combinatorial", "self_loops": bool(self_loops)}
        known = as_signal(signal, strat.graph)
        read = None if strat is source else _given(weights, hop_weights, undirected)
        case = of_signal(strat, known, options, metric, columns, zero_vectors, read)
    if isinstance(case, View):
        return _descriptions_only(case)
    return found_in(case, snapshots, draws, seed)


def _given(weights: Any, hop_weights: str, undirected: bool) -> dict[str, Any]:
    """The arguments that a graph was read with, other than the defaults."""
    found: dict[str, Any] = {} if weights is None else {"weights": weights, "hop_weights": hop_weights}
    return found | ({"undirected": True} if undirected else {})


def of_layers(layers: Any, control: Any = None) -> Findings:
    """Verdicts on the layers of a watched model, and their likeness r without p: averaging makes neighbours alike."""
    found = verdicts(layers, control)
    rows = [Finding(one.kind, one.text, 1, one.snapshot, value=one.value) for one in found]
    return Findings(rows, [*found.notes, *found.layers.splitlines()], explained=found.explain())


def _refuse_own(given: dict[str, Any]) -> None:
    names = [name for name, value in given.items() if value is not None]
    if names:
        raise OptionError(
            f"A result holds its own {', '.join(names)}; leave them out, or give the graph and the signal."
        )


def found_in(
    case: Case, snapshots: Any = None, draws: int | None = None, seed: int = 0, judged: Collection[Any] = ()
) -> Findings:
    """Test the snapshots asked for, by default the first, the last and those judged; describe them."""
    rows, kind = chosen_rows(case, snapshots, judged)
    usable = rows[~case.field.undefined[rows]]
    kind = kind or case.kind
    notes = [] if case.width < 2 or case.field.metric != "angular" else [_directions(case, kind)]
    lost = list(_undefined(case, rows, kind))
    if not len(usable):
        return Findings(lost, notes)
    case.strat.announce(case.plan, NUMPY)
    names = [case.columns[row] for row in usable]
    family = np.array([list(dict.fromkeys(names)).index(name) for name in names])
    tests = run_tests(case.strat, case.field.values[usable], case.plan, family, draws=draws, seed=seed)
    p, floor, note = _across_columns(tests, family)
    tested = list(_tested(case, usable, tests, p, floor))
    described = [*_dominated(case, usable, kind), *_shifts(case, usable, tests, kind)]
    described += _still(case, usable, tests, kind)
    count = int(np.sum(~np.isnan(p)))
    smallest = float(np.nanmin(p)) if count else float("nan")
    divided = [hop for hop, parts in zip(case.strat.hops, tests.n_parts, strict=True) if parts > 1]
    sentences = with_sentences(tested, tests.draws, kind, divided)
    return Findings([*sentences, *described, *lost], [*notes, *note], count, tests.draws, smallest)


def _tested(case: Case, rows: np.ndarray, tests: Tests, p: np.ndarray, floor: np.ndarray) -> Iterator[Finding]:
    fits = representable(case.field.scale[rows])  # energies of other signals stay over their power of two
    units = np.where(fits, case.field.scale[rows], 1.0) ** 2
    for (row, at, which), one in np.ndenumerate(p):
        name, z = STATISTICS[which], float(tests.z[row, at, which])
        kind = KINDS[name][0 if z > 0 else 1] if one <= LEVEL else ("chance" if name == "pairs" else None)
        if kind is None or np.isnan(z):
            continue
        hop, unit = case.strat.hops[at], units[row]
        yield Finding(
            kind,
            "",
            hop,
            case.snapshots[rows[row]],
            case.columns[rows[row]],
            float(tests.value[row, at, which] * unit),
            float(tests.mean[row, at, which] * unit),
            z,
            float(one),
            case.call(name, hop, int(rows[row])),
            float(floor[row]),
            float(tests.share[at, which]),
        )


def _directions(case: Case, kind: str) -> str:
    names = f" ({listed(case.names)})" if case.names else ""
    which = "The columns of each layer" if kind == "layers" else f"The {case.width} columns{names}"  # layers differ
    alone = "" if kind == "layers" else " columns='separate' reads each by itself."
    return f"{which} are read as one vector per node, compared by direction (metric='angular').{alone}"


def _across_columns(tests: Tests, family: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Corrected p, its floor per row, and over several columns the FDR: p times the factor of the column's smallest p.

    The columns are selected by Benjamini and Hochberg on their smallest p; within them the level is divided by the
    same factor (Benjamini and Bogomolov 2014).
    """
    count = int(family.max()) + 1
    floor = np.full(len(family), np.nan if tests.exact else 1 / (tests.draws + 1))
    if count == 1:
        return tests.p, floor, []
    rows = [tests.p[family == column] for column in range(count)]
    smallest = np.array([np.nanmin(one) if np.isfinite(one).any() else np.nan for one in rows])
    factor = adjust(smallest) / smallest
    note = []
    if count / (tests.draws + 1) > LEVEL and not tests.exact:
        note = [
            f"With {tests.draws} draws a single column of {count} cannot reach {LEVEL}; use draws={20 * count - 1}."
        ]
    return np.minimum(1.0, tests.p * factor[family][:, None, None]), floor * factor[family], note


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
    given = spelled({"metric": case.field.metric, **case.arguments})
    call = f"st.smoothness({case.source}, signal, {given})['mean_share']"
    shares = [mean_share(case.field.values[row]) for row in rows]
    places = [f".sel({spelled(labels)})" if (labels := case.labels(row)) else "" for row in rows]
    found = [
        Finding("dominated", "", None, case.snapshots[row], case.columns[row], share, call=call + place)
        for row, place, share in zip(rows, places, shares, strict=True)
        if share >= DOMINATED
    ]
    what = "values" if case.field.metric == "euclidean" else "directions"
    return dominated(found, what, case.field.values.shape[2], kind)


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
            text = f"{of}from {noun} {labels[0]} to {labels[1]} the share of energy off zero in the "
            by = f"from {before[risen[0]]:.3g} to {after[risen[0]]:.3g}"
            if len(risen) > 1:
                by = f"by {np.min(after[risen] - before[risen]):.3g} or more"
            sizes = tests.share[risen, 1 + which].tolist()
            found = [
                Finding(name, "", hop, labels[1], column, float(after[at]), float(before[at]), band=size)
                for at, hop, size in zip(risen, hops, sizes, strict=True)
            ]
            text += f"{band(words, found)} rises {by} at K = {runs(hops)}."
            yield from (replace(one, text=text[0].upper() + text[1:]) for one in found)


def _still(case: Case, rows: np.ndarray, tests: Tests, kind: str) -> Iterator[Finding]:
    """Hops at which no order of the nodes changes the pairs' differences, by the rows they are the same for."""
    still = np.isnan(tests.z[:, :, 0])  # (R, H)
    for pattern in np.unique(still[still.any(axis=1)], axis=0):
        members = rows[(still == pattern).all(axis=1)]
        hops = [hop for hop, one in zip(case.strat.hops, pattern, strict=True) if one]
        where = place([case.snapshots[row] for row in members], [case.columns[row] for row in members], kind)
        text = f"Not judged {where}at K = {runs(hops)}: every order of the nodes gives the same mean "
        for row in members:
            for hop in hops:
                labels = case.snapshots[row], case.columns[row]
                yield Finding("undefined", text + "squared difference.", hop, *labels)


def _descriptions_only(spectra: View) -> Findings:
    """What magnitudes alone show: the share of energy of the mean, where a hop is connected, and shares of bands."""
    energy = spectra.magnitude[spectra.row_of(EXACT)] ** 2  # (R, hop, component)
    whole_energy = np.nansum(energy, axis=-1)
    rows: list[Any] = [None] * len(energy) if spectra.rows is None else spectra.rows
    lacking = giving_signal(spectra.ds, "st.diagnose(result, signal=x)", "st.diagnose({})")
    found = [Finding("unjudged", f"Not tested against chance: {lacking}")]
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
        width = int(spectra.ds.attrs["n_dimensions"])
        found += dominated(common, what, width, str(spectra.ds.attrs.get("snapshot_kind", "")))
    return Findings(found)
