"""``diagnose``: at every hop whether nodes are alike or unlike, at which scale, and which nodes hold the signal."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from spectrata.core.spectra import refuse_graph_arguments
from spectrata.errors import OptionError, SpectrataError
from spectrata.stats.findings.collapse import is_layers, layer_table, verdicts
from spectrata.stats.findings.finding import Finding, Findings
from spectrata.stats.findings.sentences import hops, listed, scale_lines, sentence
from spectrata.stats.findings.watched import is_rows, is_run, layers_of
from spectrata.stats.labelled import of_tests
from spectrata.stats.nulls.stopping import LEVEL
from spectrata.stats.observation import FEW_PAIRS, moved
from spectrata.stats.testing import STATISTICS, Results
from spectrata.stats.verbs.reading import Reading, of_result, read, signal_or_table

ONE_NODE, FIVE_NODES = 0.5, 0.9  # shares of the variation above which one node, or up to five, are named
FEW_NODES = ("One node", "Two nodes", "Three nodes", "Four nodes", "Five nodes")
LEAST_NODES = 50  # for the five nodes
MOST_NAMED = 20  # columns of which single nodes and weak hops are named
KINDS = {"r": {1: "alike", -1: "unlike"}, "smooth": {1: "smooth"}, "rough": {1: "rough"}, "main_divide": {1: "coarse"}}
COMPLETE = "At {} every node with a pair is paired with every other: r is the same for every signal."
BATCHES = (
    "Layers are described, not judged: the levels hold for one whole graph, and watch",
    "was given none. To judge a model of one graph, give it: watch(model, data).",
)
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
    if hasattr(graph, "over_layers"):
        raise OptionError("diagnose takes the layers of a watched model: st.diagnose(w.over_layers()).")
    if hasattr(graph, "data_vars"):
        refuse_graph_arguments("A result", hops=hops, weights=weights)
        if control is not None or is_watched(graph):
            return _of_layers(graph, control)
        return found_in(of_result(graph, signal, metric, columns, nodes), given, draws, seed)
    signal = signal_or_table(graph, signal, "diagnose")
    reading = read(graph, signal, hops, weights, metric, columns, labels, nodes)
    return found_in(reading, given, draws, seed)


def is_watched(ds: Any) -> bool:
    return ds.attrs.get("kind") == "mini-batches" or is_rows(ds) or is_run(ds) or is_layers(ds)


def _of_layers(ds: Any, control: Any) -> Findings:
    if ds.attrs.get("kind") == "mini-batches":
        lines = layer_table(ds).splitlines() if ds.attrs.get("snapshot_kind") == "layers" else []
        return Findings(notes=[*BATCHES, *lines])
    layers = layers_of(ds)
    found, notes = verdicts(layers, control)
    rows = [Finding(one.kind, one.text, 1, one.snapshot, value=one.value) for one in found]
    explained = "\n".join([*(one.explain() for one in found), *notes])
    notes += layer_table(layers).splitlines()
    try:
        described = found_in(of_result(layers, None, "auto", "joint"), None, 0, 0)
    except SpectrataError:  # without a signal, or with bands in place of components
        return Findings(rows, notes, explained=explained)
    return Findings([*rows, *described], [*notes, *described.notes], described.lines, explained=explained)


def found_in(reading: Reading, given: Any = "degree", draws: int | None = None, seed: int = 0) -> Findings:
    """Test a reading and put it in words; layers and epochs of a model have no p."""
    given, draws = (None, 0) if reading.is_watched else (given, draws)
    return in_words(Results(reading, given, draws, seed, with_shares=True))


def in_words(results: Results) -> Findings:
    reading, name = results.reading, results.given
    found = [replace(one, text=sentence(one, name)) for one in _tests(results)]
    notes = [reading.note, NO_P.format(reading.snapshot_kind) if reading.is_watched else ""]
    dominated = list(_dominated(reading))
    same = [hop for hop, complete in zip(reading.hops, results.complete.T, strict=True) if complete.any()]
    joined = [COMPLETE.format(hops(same)) + " Use weights or fewer edges." * (same[0] == 1)] if same else []
    lines = [results.covariates.note, *joined, *_weak(reading), *scale_lines(found, name)]
    lines = [*filter(None, lines), *(one.text for one in dominated), *filter(None, [results.left_out])]
    count = int(np.isfinite(results.plain.p_family).sum())
    return Findings([*found, *dominated], [note for note in notes if note], lines, name, count)


def _tests(results: Results) -> Iterator[Finding]:
    """One finding for every test, in the order of columns, snapshots, statistics and hops."""
    reading, (plain, conditional), words = results.reading, results.both, results.verdicts()
    p, p_given = results.decides
    rejects = p <= LEVEL
    beyond = rejects & (p_given <= LEVEL) & (plain.tail == conditional.tail) if results.given else rejects
    arrays = of_tests(plain, conditional) | {"p_family": p, "p_family_given": p_given, "beyond_degree": beyond}
    arrays |= {"value": arrays.pop("r"), "value_given": arrays.pop("r_given")}
    tested = bool(results.draws or np.isfinite(p).any())
    for c, t, s, h in np.ndindex(len(reading.columns), len(reading.times), len(STATISTICS), len(reading.hops)):
        at = (s, t, c, h)
        if s > 0 and np.isnan(plain.value[at]):
            continue
        # The tail of p; a share below chance has no word of its own.
        kind, word = KINDS[STATISTICS[s]].get(int(plain.tail[at]) if rejects[at] else 0, "chance"), str(words[at])
        if np.isnan(plain.value[at]) or (s == 0 and results.complete[c, h]):
            kind, word = "undefined", str(results.status[t, c, h])
        elif not tested or (s > 0 and np.isnan(p[at])):
            kind, word = "described", ""
        elif s > 0:
            word = kind if kind == "chance" or beyond[at] else f"not beyond {results.given}"
        more: dict[str, Any] = {name: array[at].item() for name, array in arrays.items()}
        more |= {"hop": reading.hops[h], "snapshot": reading.times[t], "column": reading.columns[c].name}
        yield Finding(kind, "", **more, verdict=word, statistic=STATISTICS[s])


def _weak(reading: Reading) -> list[str]:
    """The hops that are weak evidence for some column."""
    few: dict[str, dict[Any, None]] = {}
    for column in reading.columns[:MOST_NAMED]:
        for hop, pairs in zip(reading.hops, reading.pairs(column), strict=True):
            if pairs.remark and not pairs.is_complete:
                is_small = len(pairs.ends) < FEW_PAIRS
                words = f"Fewer than {FEW_PAIRS} pairs" if is_small else "All pairs share one node"
                few.setdefault(words, {})[hop] = None
    return [f"{words} at {hops([*some])}: weak evidence." for words, some in few.items()]


def _dominated(reading: Reading) -> Iterator[Finding]:
    names = reading.strat.graph.names
    if len(reading.columns) > MOST_NAMED:
        return
    for column in reading.columns:
        pairs = reading.pairs(column)[0]
        if not len(pairs.ends) or column.kind == "labels":
            continue
        for t, snapshot in enumerate(reading.times):
            ends = moved(column.observed(t, pairs))
            share = pairs.k * np.sum(ends.values[:, 0] ** 2, axis=1) / ends.variation[0]
            order = np.argsort(-share, kind="stable")
            sums = np.cumsum(share[order[: len(FEW_NODES)]])
            few = 1 if sums[0] > ONE_NODE + 1e-9 else 1 + int(np.searchsorted(sums, FIVE_NODES + 1e-9))
            if few > len(sums) or (few > 1 and len(column.rows) < LEAST_NODES):
                continue
            held = float(sums[few - 1])
            who = listed([names[row] for row in column.rows[pairs.nodes[order[:few]]]])
            words = f"{FEW_NODES[few - 1]} ({who}) hold{'s' if few == 1 else ''}"
            where = "" if column.name is None else f" of column {column.name}"
            where += "" if snapshot is None else f" in snapshot {snapshot}"
            # A node counts once for each of its pairs, as in r.
            at = f"at the ends of pairs at {hops(reading.hops[:1])}{where}"
            text = f"{words} {100 * held:.0f} % of the variation {at}."
            yield Finding("dominated", text, reading.hops[0], snapshot, column.name, held)
