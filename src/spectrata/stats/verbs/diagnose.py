"""``diagnose``: at every hop whether nodes are alike or unlike, at which scale, and which nodes hold the signal."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from spectrata.errors import OptionError, ResultError, SpectrataError
from spectrata.inputs.readers.arrays import is_dataset
from spectrata.inputs.signals import Signal, as_signal
from spectrata.results.schema import View, view
from spectrata.stats.describe.levels import rebuild
from spectrata.stats.findings.finding import Finding, Findings
from spectrata.stats.findings.sentences import listed, scale_lines, sentence
from spectrata.stats.findings.verdict import is_layers, layer_table, verdicts
from spectrata.stats.findings.watched import giving_signal, is_rows, is_run, last_pass, one_pass
from spectrata.stats.nulls.stopping import LEVEL
from spectrata.stats.observation import moved
from spectrata.stats.testing import verdict
from spectrata.stats.verbs.reading import Reading, of_signal, read
from spectrata.stats.verbs.tests import STATISTICS, Results, run

ONE_NODE, FIVE_NODES = 0.5, 0.9  # shares of the variation above which nodes are named
LEAST_NODES = 50  # for the five nodes
KINDS = {"smooth": "smooth", "rough": "rough", "main_divide": "coarse"}
WATCHED = ("layers", "epochs")
BATCHES = "Mini-batches are described, not judged: the levels of collapse were chosen on whole graphs."
NO_P = "r of {} has no p: message passing makes neighbours alike."


def diagnose(
    graph: Any,
    signal: Any = None,
    *,
    hops: int | Iterable[int] | None = None,
    weights: Any = None,
    metric: str = "auto",
    columns: str = "auto",
    given: Any = "degree",
    labels: bool = False,
    nodes: Any = None,
    control: Any = None,
    draws: int | None = None,
    seed: int = 0,
) -> Findings:
    """Say at every hop whether nodes are alike or unlike, more than chance and more than degree explains.

    Parameters
    ----------
    graph : Stratification, graph in any form, or a result
        A result needs its signal (``keep=("signal",)``), or ``signal`` beside it. Layers of a watched model get
        verdicts on collapse, and r without p.
    signal : array, mapping, DataFrame, DataArray, tensor, path or attribute name
    hops, weights, metric, columns, given, labels, nodes, draws, seed
        As for :func:`spectrata.correlogram`.
    control : Dataset, optional
        For layers of a watched model (``w.over_layers()``): the same layers without message passing,
        ``w.over_layers(mode="control")``.

    Returns
    -------
    Findings
        ``print`` shows a table with one row per hop, then scale and dominance; ``explain()`` gives sentences,
        ``to_frame()`` every test.

    Notes
    -----
    Every hop has up to four tests: r, the correlation between the two ends of a pair (:func:`spectrata.correlogram`),
    and three shares of the random-walk spectrum: its lowest and highest quarter of frequencies ("smooth", "rough") and
    the Fiedler eigenspace ("follows the main divide"). p is corrected over all of them (Westfall and Young 1993), and
    over columns by Benjamini and Hochberg. Spectra with fewer than 8 components off zero, and hops whose pairs fall
    into connected parts with less than 90 % in one, have r alone. Above 4,000 nodes "smooth" and "rough" are described
    without p, at the first hop and up to 100,000 nodes. The Laplacian of a Stratification plays no part.

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> graph = nx.planted_partition_graph(2, 30, 0.4, 0.02, seed=1)
    >>> noise = np.random.default_rng(0).normal(size=60)
    >>> blocks = noise + 3 * (np.arange(60) < 30)
    >>> sorted(st.diagnose(graph, blocks, hops=1).kinds), sorted(st.diagnose(graph, noise, hops=1).kinds)
    (['alike', 'chance', 'coarse', 'smooth'], ['chance'])
    """
    if is_dataset(graph):
        named = {"hops": hops, "weights": weights, "nodes": nodes}
        given_names = [name for name, value in named.items() if value is not None]
        if given_names:
            raise OptionError(f"A result has its graph read already; leave out {', '.join(given_names)}.")
        if control is not None or is_watched(graph):
            return _of_layers(graph, control)
        return found_in(of_result(graph, signal, metric, columns), given, draws, seed)
    if signal is None:
        raise OptionError("Give the signal too: diagnose(graph, signal).")
    how: dict[str, Any] = {"metric": metric, "columns": columns, "labels": labels, "nodes": nodes}
    return found_in(read(graph, signal, hops, weights=weights, zero_vectors="zero", **how), given, draws, seed)


def is_watched(ds: Any) -> bool:
    """Whether a result is of a watched model."""
    return ds.attrs.get("kind") == "mini-batches" or is_rows(ds) or is_run(ds) or is_layers(ds)


def _of_layers(ds: Any, control: Any) -> Findings:
    """Verdicts on the layers of a watched model, and r of each layer without p where the signal is kept."""
    if ds.attrs.get("kind") == "mini-batches":
        lines = layer_table(ds).splitlines() if ds.attrs.get("snapshot_kind") == "layers" else []
        return Findings(notes=[BATCHES, *lines])
    layers = one_pass(ds) if is_rows(ds) else last_pass(ds) if is_run(ds) else ds
    found = verdicts(layers, control)
    rows = [Finding(one.kind, one.text, 1, one.snapshot, value=one.value) for one in found]
    notes = [*found.notes, *found.layers.splitlines()]
    try:
        described = found_in(of_result(layers, None, "auto", "joint"), None, 0, 0)
    except SpectrataError:  # without a signal, or with bands in place of components
        return Findings(rows, notes, explained=found.explain())
    return Findings([*rows, *described], [*notes, *described.notes], described.lines, explained=found.explain())


def of_result(ds: Any, signal: Any, metric: str, columns: str) -> Reading:
    """The graph and signal of a result; an error names what it lacks."""
    spectra = view(ds)
    strat = rebuild(spectra)
    if metric == "auto":
        metric = spectra.metric
    if signal is not None:
        known = as_signal(signal, strat.graph)
    elif spectra.signal is not None:
        known = _kept(spectra, spectra.signal)
    else:
        lacking = giving_signal(ds, "st.diagnose(result, signal=x)", "st.diagnose({})")
        raise ResultError(f"Cannot test this result: {lacking}")
    if "column" in spectra.row_dims:
        columns = "separate"
    elif columns == "auto":
        columns = "joint"
    metric = "auto" if known.values.shape[2] == 1 or columns == "separate" else metric
    return of_signal(strat, known, metric, columns, "zero")


def _kept(spectra: View, values: np.ndarray) -> Signal:
    """The signal in a result, in the order of the graph's nodes; columns that were read one by one side by side."""
    kind = str(spectra.ds.attrs.get("snapshot_kind", ""))
    rows, names = spectra.rows, spectra.column_names
    if "column" in spectra.row_dims:  # the last of the dimensions that are stacked
        names = tuple(spectra.labels("column"))
        values = values[..., 0].reshape(-1, len(names), spectra.n_nodes).transpose(0, 2, 1)
        rows = view(spectra.ds.isel(column=0, drop=True)).rows
    return Signal(np.ascontiguousarray(values), None if rows is None else tuple(rows), kind, names)


def found_in(reading: Reading, given: Any = "degree", draws: int | None = None, seed: int = 0) -> Findings:
    """Test a reading and put it in words."""
    watched = reading.snapshot_kind in WATCHED
    return in_words(run(reading, None if watched else given, 0 if watched else draws, seed, with_shares=True))


def in_words(results: Results) -> Findings:
    """The findings of tests that were made."""
    reading, watched = results.reading, results.reading.snapshot_kind in WATCHED
    name = "" if results.covariates is None else results.covariates.name
    found = [replace(one, text=sentence(one, name)) for one in _tests(results)]
    notes = [reading.note] if reading.note else []
    if watched:
        notes.append(NO_P.format(reading.snapshot_kind))
    dominated = list(_dominated(reading))
    left_out = [results.scale_left_out] if results.scale_left_out else []
    left_out += [results.covariates.note] if results.covariates is not None and results.covariates.note else []
    lines = [*scale_lines(found, name), *(one.text for one in dominated), *left_out]
    count = int(np.isfinite(results["p_family"]).sum())
    return Findings([*found, *dominated], notes, lines, name, count)


def _tests(results: Results) -> Iterator[Finding]:
    """One finding for every test, in the order of columns, snapshots, statistics and hops."""
    reading = results.reading
    p, p_given = results.decides
    tested = bool(results.draws or np.isfinite(p).any())
    times: tuple[Any, ...] = reading.snapshots or (None,)
    _, t_count, c_count, h_count = p.shape
    name = "" if results.covariates is None else results.covariates.name
    for c, t, s, h in np.ndindex(c_count, t_count, len(STATISTICS), h_count):
        at = (s, t, c, h)
        value, tail = float(results["value"][at]), int(np.nan_to_num(results["tail"][at]))
        if np.isnan(value) and s > 0:
            continue
        rejects = p[at] <= LEVEL
        both = bool(rejects and p_given[at] <= LEVEL and tail == results["tail_given"][at])
        kind, word = _kind(STATISTICS[s], bool(rejects), tail), ""
        if np.isnan(value):
            kind, word = "undefined", str(results.status[t, c, h])
        elif not tested or (s > 0 and np.isnan(p[at])):
            kind = "described"
        else:
            tails = tail, int(np.nan_to_num(results["tail_given"][at]))
            word = verdict(float(p[at]), tails[0], float(p_given[at]), tails[1], bool(name), name)
        yield Finding(
            kind,
            "",
            reading.hops[h],
            times[t],
            reading.columns[c].name,
            value,
            float(results["low"][at]),
            float(results["high"][at]),
            float(results["p"][at]),
            float(p[at]),
            float(results["value_given"][at]),
            float(results["p_given"][at]),
            float(p_given[at]),
            word if s == 0 else _share_word(kind, both, name),
            both or (bool(rejects) and not name),
            bool(results.near_level[at]),
            STATISTICS[s],
        )


def _kind(statistic: str, rejects: bool, tail: int) -> str:
    """The tail of p: a share below chance has no word of its own."""
    if statistic == "r":
        return {1: "alike", -1: "unlike"}[tail] if rejects and tail else "chance"
    return KINDS[statistic] if rejects and tail > 0 else "chance"


def _share_word(kind: str, both: bool, name: str) -> str:
    if kind in ("chance", "described"):
        return "" if kind == "described" else "chance"
    return kind if both or not name else f"not beyond {name}"


def _dominated(reading: Reading) -> Iterator[Finding]:
    """Nodes that hold most of the variation at the first hop."""
    times: tuple[Any, ...] = reading.snapshots or (None,)
    names = reading.strat.graph.names
    for column in reading.columns if len(reading.columns) <= 20 else ():
        pairs = reading.pairs(column)[0]
        if not len(pairs.ends) or column.kind == "labels":
            continue
        for t, snapshot in enumerate(times):
            if column.undefined is not None and column.undefined[t]:
                continue
            ends = moved(column.observed(t, pairs))
            share = pairs.k * np.sum(ends.values[:, 0] ** 2, axis=1) / ends.variation[0]
            largest = np.argsort(-share)[:5]
            one, five = float(share[largest[0]]), float(share[largest].sum())
            where = "" if column.name is None else f" of column {column.name}"
            where += "" if snapshot is None else f" in snapshot {snapshot}"
            rows = column.rows[pairs.nodes[largest]]
            if one > ONE_NODE:
                text = f"One node ({names[rows[0]]}) holds {100 * one:.0f} % of the variation{where}."
                yield Finding("dominated", text, reading.hops[0], snapshot, column.name, one)
            elif five > FIVE_NODES and len(column.rows) >= LEAST_NODES:
                text = f"Five nodes ({listed([names[row] for row in rows])}) hold {100 * five:.0f} % of the variation"
                yield Finding("dominated", f"{text}{where}.", reading.hops[0], snapshot, column.name, five)
