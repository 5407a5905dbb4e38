"""``profile``: all that the command ``profile`` and the report show of a signal on a graph, computed once."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spectrata.core.spectra import refuse_graph_arguments
from spectrata.core.stratification import Stratification
from spectrata.errors import ResultError, SpectrataError
from spectrata.inputs.signals import Signal
from spectrata.results.schema import view
from spectrata.stats.describe.levels import rebuild
from spectrata.stats.findings import Finding, Findings
from spectrata.stats.findings.finding import by_side
from spectrata.stats.findings.sentences import likeness_words
from spectrata.stats.findings.watched import is_run, layers_of
from spectrata.stats.observation import RANDOM_WALK, moved, pairs_of
from spectrata.stats.statistics.shares import MOST_NODES
from spectrata.stats.testing import Results
from spectrata.stats.verbs.diagnose import diagnose, found_in, in_words, is_watched
from spectrata.stats.verbs.local import MANY_NODES, local_of
from spectrata.stats.verbs.rank_columns import SIGNIFICANT, ranked, reach_of
from spectrata.stats.verbs.reading import NEAR_HOPS, Column, Reading, of_result, read, signal_or_table, stratify

if TYPE_CHECKING:
    import xarray as xr

NEAR, FEW, LARGE = 6, 3, 1_000  # hops that are read by default, up to and above so many nodes
SHOWN = 20  # columns whose local map and spectra are computed, the first of the ranking
TESTED = 3  # snapshots up to which all are tested; of more the first and the last
COMPONENTS, BINS = 300, 30  # components above which spectra are compared with chance in bins
DRAWS = 199  # behind the chance interval of a spectrum
LOCAL = 4_000  # nodes times columns of which this is done


@dataclass(frozen=True, eq=False)
class Profile:
    """A signal on a graph, tested: what a page or a command shows.

    ``findings`` is as from :func:`spectrata.diagnose`; ``ranking``, for several columns, as from
    :func:`spectrata.rank_columns`, with q and verdicts that count all hops of the profile.
    """

    strat: Stratification
    reading: Reading | None  # the columns that were tested; None where a result has no signal
    findings: Findings
    ranking: pd.DataFrame | None = None
    result: "xr.Dataset | None" = None  # that the profile was made of
    run: "xr.Dataset | None" = None  # w.dataset of a watched model
    given: Any = "degree"
    draws: int | None = None
    seed: int = 0

    @property
    def hops(self) -> tuple[Any, ...]:
        return self.strat.hops

    @cached_property
    def shown(self) -> Reading | None:
        """The columns that are shown one by one: those that rank first."""
        if self.reading is None or self.ranking is None:
            return self.reading
        by_name = {one.name: one for one in self.reading.columns}
        return replace(self.reading, columns=tuple(by_name[name] for name in self.ranking["column"][:SHOWN]))

    @cached_property
    def local(self) -> "xr.Dataset | None":
        """Likeness of every node with its neighbours, as from :func:`spectrata.local`, of the first columns."""
        n = self.strat.graph.n_nodes
        if self.shown is None or n > MANY_NODES or self.shown.is_watched:
            return None
        columns = self.shown.columns[: max(1, LOCAL // n)]
        some = replace(self.shown, strat=self.strat.only(self.hops[0]), columns=columns)
        return local_of(some, self.given, self.draws, self.seed)

    @cached_property
    def spectra(self) -> "xr.Dataset | None":
        """The result that was given, or random-walk ``gft`` spectra of the shown columns; None above 4,000 nodes."""
        if self.result is not None or self._gft is None:
            return self.result
        strat, signal, how = self._gft
        return strat.spectra(signal, "gft", **how)

    @cached_property
    def chance(self) -> "xr.Dataset | None":
        """Shares of energy with their chance interval, from :func:`spectrata.calibrate`, by eigenspace or in bins."""
        from spectrata.stats.verbs.calibrate import calibrate

        if self._gft is None:
            return None
        strat, signal, how = self._gft
        level: dict[str, Any] = {"level": "band", "bands": BINS} if self.strat.graph.n_nodes > COMPONENTS else {}
        draws = 0 if self.shown is not None and self.shown.is_watched else DRAWS
        return calibrate(strat, signal, "gft", draws=draws, seed=self.seed, **how, **level)

    @cached_property
    def _gft(self) -> tuple[Stratification, Signal, dict[str, Any]] | None:
        """The random-walk operator, the shown columns as one signal (labels, where all nodes have one), and options."""
        n, shown = self.strat.graph.n_nodes, self.shown
        if shown is None or n > MOST_NODES:
            return None
        columns = [one for one in shown.columns if len(one.rows) == n and not shown.separate]
        columns = columns or [one for one in shown.columns if one.kind == "numbers" and len(one.rows) == n]
        if not columns:
            return None
        names = tuple(one.name for one in columns) if shown.separate else None
        values = np.concatenate([one.values for one in columns], axis=2)
        signal = Signal(values, shown.snapshots, shown.snapshot_kind, names, rounding=columns[0].rounding)
        how = {"metric": "euclidean", "columns": "separate" if shown.separate else "joint"}
        return self.strat.using(laplacian=RANDOM_WALK, self_loops=False), signal, how

    def of(self, column: Any = None, snapshot: Any = None) -> list[Finding]:
        """The findings of r of one column and snapshot, one for each hop."""
        return [one for one in self.findings if (one.statistic, one.column, one.snapshot) == ("r", column, snapshot)]

    @cached_property
    def told(self) -> dict[Any, list[Finding]]:
        """What a line on a column tells of, at its last snapshot: hops that are clear, else the first off chance."""
        tests: dict[Any, dict[Any, Finding]] = {}
        for one in self.findings:
            if one.statistic == "r":
                tests.setdefault(one.column, {})[one.hop] = one
        clear = {name: [one for one in own.values() if one.verdict in SIGNIFICANT] for name, own in tests.items()}
        off = {name: min(own.values(), key=lambda one: not one.is_off_chance) for name, own in tests.items()}
        return {name: clear[name] or [off[name]] for name in tests}

    def verdict_of(self, column: Any) -> str:
        """The verdict on a column over all hops, in words."""
        first, *_ = told = self.told[column]
        if first.verdict in SIGNIFICANT:
            return likeness_words(told, self.strat.diameter)
        return by_side(first.verdict, first.value)

    def pairs(self, hop: Any, most: int) -> np.ndarray:
        """Pairs of nodes at a hop ``(s, 2)``, a random sample where there are more than ``most``."""
        edges = self.strat.strata.at(hop).edges
        if len(edges) <= most:
            return edges
        return edges[np.sort(np.random.default_rng(self.seed).choice(len(edges), most, replace=False))]

    def pair_parts(self, column: Column, time: int, hop: Any, pairs: np.ndarray) -> np.ndarray:
        """Parts of some pairs in r ``(s,)``, whose weighted mean is r; 1 and -1 for labels; NaN where a value lacks."""
        known = pairs_of(self.strat, hop, column.rows)
        found = np.full((self.strat.graph.n_nodes, column.values.shape[2]), np.nan)
        if not len(known.ends):
            return np.full(len(pairs), np.nan)
        if column.kind == "labels":
            found[column.rows] = column.values[time]
            return 2 * np.sum(found[pairs[:, 0]] * found[pairs[:, 1]], axis=1) - 1
        ends = moved(column.observed(time, known))
        found[column.rows[known.nodes]] = ends.values[:, 0]
        return np.sum(found[pairs[:, 0]] * found[pairs[:, 1]], axis=1) * known.total / ends.variation[0]

    def headline(self, name: str = "", column: Any = None, snapshot: Any = None) -> str:
        """The answer in one line; ``name`` is that of the signal."""
        diameter = self.strat.diameter
        words = likeness_words(self.of(column, snapshot), None if diameter is None else int(diameter))
        return f"{name}: {words}" if name else words[0].upper() + words[1:]


def profile(
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
    draws: int | None = None,
    seed: int = 0,
) -> Profile:
    """Test a signal on a graph, and keep what a page or a command shows of it; each hop is decomposed once.

    Parameters
    ----------
    graph : Stratification, graph in any form, or a result
        As for :func:`spectrata.diagnose`; a run or a layer of a watched model too.
    signal : array, mapping, DataFrame, DataArray, tensor, path or attribute name
    hops : None, int or iterable of int
        By default the first 6 hops of a graph, above 1,000 nodes the first 3, above 20,000 hop 1; of a Stratification
        its own.
    weights, metric, columns, given, labels, nodes, draws, seed
        As for :func:`spectrata.correlogram`.

    Returns
    -------
    Profile
        Findings, and the ranking of several columns. Local likeness, spectra and their chance interval are computed
        when first read. Of more than 3 snapshots the first and the last are tested.

    Examples
    --------
    >>> import networkx as nx, numpy as np, pandas as pd, spectrata as st
    >>> table = pd.DataFrame({"up": np.arange(40.0), "noise": np.random.default_rng(0).normal(size=40)})
    >>> found = st.stats.profile(nx.path_graph(40), table, hops=2)
    >>> found.ranking[["column", "verdict", "reach"]].values.tolist()
    [['up', 'alike', 2], ['noise', 'chance', 0]]
    """
    asked: dict[str, Any] = {"given": given, "draws": draws, "seed": seed}
    if hasattr(graph, "data_vars"):
        refuse_graph_arguments("A result", hops=hops, weights=weights)
        if is_watched(graph):
            return _of_run(graph, asked)
        try:
            reading = of_result(graph, signal, metric, columns, nodes)
        except ResultError as problem:
            if signal is not None or "signal" in graph:
                raise
            return Profile(rebuild(view(graph)), None, Findings(notes=[str(problem)]), result=graph, **asked)
        return _tested(reading, asked, graph)
    signal = signal_or_table(graph, signal, "profile")
    strat = stratify(graph, hops, weights)
    if hops is None and not isinstance(graph, Stratification):
        strat = strat.only(*strat.hops[: first_hops(strat.graph.n_nodes)])
    return _tested(read(strat, signal, None, None, metric, columns, labels, nodes), asked)


def first_hops(n_nodes: int) -> int:
    """The hops that a profile reads by default."""
    return NEAR if n_nodes <= LARGE else FEW if n_nodes <= NEAR_HOPS else 1


def _tested(reading: Reading, asked: dict[str, Any], result: Any = None) -> Profile:
    if reading.snapshots is not None and len(reading.snapshots) > TESTED:
        note = f"Of {len(reading.snapshots):,} snapshots the first and the last are tested."
        reading = replace(reading.at_snapshots([0, -1]), note=f"{reading.note} {note}".strip())
    if len(reading.columns) < 2:
        return Profile(reading.strat, reading, found_in(reading, **asked), None, result, **asked)
    results = Results(reading, **asked, with_shares=True)
    words = results.verdicts()[0, -1].astype(str)  # (C, H)
    same = (words == words[:, :1]) & np.isin(words, SIGNIFICANT)
    table = ranked(results, reach_of(same, reading.hops), reading.hops)
    return Profile(reading.strat, reading, in_words(results), table, result, **asked)


def _of_run(ds: "xr.Dataset", asked: dict[str, Any]) -> Profile:
    layers = layers_of(ds)
    if "magnitude" not in layers:
        words = "This run holds no spectra, and so no graph"
        raise ResultError(f"{words}; use w.report(path), or watch with algorithms='gft'.")
    try:
        reading = of_result(layers, None, "auto", "joint")
    except SpectrataError:  # without a signal
        reading = None
    strat = rebuild(view(layers)) if reading is None else reading.strat
    return Profile(strat, reading, diagnose(ds), None, layers, ds if is_run(ds) else None, **asked)
