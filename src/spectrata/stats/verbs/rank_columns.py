"""``rank_columns``: which columns of a table have structure on the graph, how far it reaches, at which scale."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from spectrata._version import __version__
from spectrata.core.strata import number_of
from spectrata.core.stratification import Stratification
from spectrata.stats.describe.levels import level_groups
from spectrata.stats.nulls.stopping import LEVEL, LOOKS
from spectrata.stats.observation import pairs_of
from spectrata.stats.statistics.shares import BANDS, LEAST_COMPONENTS, MOST_NODES
from spectrata.stats.testing import Results
from spectrata.stats.verbs.correlogram import variables
from spectrata.stats.verbs.reading import Reading, read, signal_or_table
from spectrata.stats.verbs.write_back import said_given, write_back

MOST_SCALES = 2_000  # columns whose scale is computed
NEAR = 3  # hops that are read by default
SIGNIFICANT = ("alike", "unlike")
COLUMNS = (  # pandas prints the first few
    *("column", "verdict", "r", "reach", "q", "hop", "chance_low", "chance_high", "p", "p_given", "q_given", "r_given"),
    *("effect", "scale", "near_level", "p_from_tail", "status"),
)


def rank_columns(
    graph: Any,
    signal: Any = None,
    hops: int | Iterable[int] | None = None,
    *,
    weights: Any = None,
    given: Any = "degree",
    nodes: Any = None,
    draws: int | None = None,
    seed: int = 0,
    write: bool = False,
) -> pd.DataFrame:
    """Rank the columns of a table: which have structure on the graph, up to which hop, at which scale.

    Parameters
    ----------
    graph : Stratification, or a graph in any form
    signal : array, mapping, DataFrame, DataArray, tensor or path
        Every column is one signal. Of several snapshots the last counts. Of an AnnData its ``X`` by default.
    hops, weights, given, nodes, draws, seed
        As for :func:`spectrata.correlogram`; of a graph the first three hops are read by default. The first hop ranks
        the columns, and the others say how far they reach.
    write : bool
        Put the result into the AnnData, which may be the graph or the signal: ``adata.var["spectrata_r"]`` and so on,
        and all, with the arguments of the call, in ``adata.uns``.

    Returns
    -------
    DataFrame
        One row for each column, the clearest first:

        - ``column``, ``verdict``, ``r``, ``q`` over all columns, and ``hop`` (the first), ``chance_low``,
          ``chance_high``, ``p``, ``r_given``, ``p_given``, ``q_given``;
        - ``reach``: the hop up to which nodes are alike, or unlike, at every hop from the first on; 0 where the verdict
          is neither;
        - ``scale``: the quarter of the frequencies with the most energy for its size, 1 the smoothest, 4 the roughest;
          missing above 4,000 nodes and where the verdict is neither alike nor unlike;
        - ``effect``: the distance of r from the middle of its chance interval, in widths of the interval;
        - ``near_level`` (more permutations could change the verdict), ``p_from_tail`` and ``status``.

    Notes
    -----
    Columns are ordered by p, and where p is the smallest that the permutations can give, by ``effect``. The farther
    hops of the columns that are alike or unlike are tested in order: a hop passes if both p are at most .05 times the
    share of these columns, and the first that fails ends the reach (Benjamini and Bogomolov 2014).

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> values = np.column_stack([np.random.default_rng(1).normal(size=60), np.arange(60)])
    >>> found = st.rank_columns(nx.path_graph(60), values, hops=5)
    >>> found[["column", "verdict", "reach", "scale"]].values.tolist()
    [[1, 'alike', 5, 1], [0, 'chance', 0, <NA>]]
    """
    if hops is None and not isinstance(graph, Stratification):
        hops = NEAR
    signal = signal_or_table(graph, signal, "rank_columns")
    reading = read(graph, signal, hops, weights=weights, columns="separate", nodes=nodes).at_snapshots([-1])
    if not reading.separate:  # one column
        reading = replace(reading, columns=(replace(reading.columns[0], name=0),))
    reading = replace(reading, snapshots=None, separate=True)
    results = Results(replace(reading, strat=reading.strat.only(reading.hops[0])), given, draws, seed)
    table = ranked(results, _reach(reading, results, given, draws, seed))
    if write:
        asked: dict[str, Any] = {"hops": list(reading.hops), "weights": said_given(weights), "given": said_given(given)}
        asked |= {"draws": results.draws, "seed": seed, "spectrata_version": __version__}
        write_back(graph, table, "rank_columns", signal, asked)
    return table


def ranked(results: Results, reach: np.ndarray) -> pd.DataFrame:
    """The columns of some tests, ranked at their first hop; of several snapshots the last counts."""
    reading, arrays = results.reading, variables(results)
    table = pd.DataFrame({name: array[-1, :, 0] for name, array in arrays.items() if name in COLUMNS})
    table["column"], table["hop"] = [one.name for one in reading.columns], reading.hops[0]
    width = table["chance_high"] - table["chance_low"]
    table["effect"] = (table["r"] - (table["chance_low"] + table["chance_high"]) / 2) / width.where(width > 0)
    table["reach"], table["scale"] = reach, _scale(reading, np.flatnonzero(table["verdict"].isin(SIGNIFICANT)))
    end = np.maximum(table["p"].fillna(2.0), 2 / (LOOKS[0] + 1))
    order = np.lexsort([-table["effect"].abs().fillna(0.0), end])
    return table[[*COLUMNS]].iloc[order].reset_index(drop=True)


def _reach(reading: Reading, first: Results, given: Any, draws: int | None, seed: int) -> np.ndarray:
    """The hop up to which each chosen column is as at the first hop; 0 for the others."""
    same = np.zeros((len(reading.columns), len(reading.hops)), dtype=bool)
    chosen = np.flatnonzero(np.isin(first.verdicts()[0, -1, :, 0], SIGNIFICANT))
    same[chosen, 0] = True
    if len(reading.hops) > 1 and len(chosen):
        tests = Results(replace(reading, columns=tuple(reading.columns[at] for at in chosen)), given, draws, seed).both
        level, tail = LEVEL * len(chosen) / len(reading.columns), first.plain.tail[0, 0, chosen]
        nulls = tests if first.given else tests[:1]
        passes = np.all([(null.p[0, 0] <= level) & (null.tail[0, 0] == tail) for null in nulls], axis=0)
        same[chosen, 1:] = passes[:, 1:]
    return reach_of(same, reading.hops)


def reach_of(same: np.ndarray, hops: Sequence[Any]) -> np.ndarray:
    """The last of the hops in a row, from the first on, at which each column ``(C, H)`` is the same; 0 for none."""
    return np.array([0, *map(number_of, hops)])[np.cumprod(same, axis=1).sum(axis=1)]


def _scale(reading: Reading, chosen: np.ndarray) -> Any:
    """The quarter of the frequencies with the most energy for its size, of the chosen columns at the first hop."""
    found: list[int | None] = [None] * len(reading.columns)
    for at in chosen[:MOST_SCALES].tolist():
        column = reading.columns[at]
        pairs = pairs_of(reading.strat, reading.hops[0], column.rows)
        if pairs.stratum.n_nodes > MOST_NODES or np.count_nonzero(~pairs.basis.is_zero) < LEAST_COMPONENTS:
            continue
        basis, obs = pairs.basis, column.observed(-1, pairs)
        energy = np.sum(basis.project(obs.values * np.sqrt(pairs.stratum.degrees)[:, None]) ** 2, axis=1)
        band = level_groups(basis.axis, "band", BANDS)[0][0]
        sums, sizes = (np.bincount(band[band >= 0], some, BANDS) for some in (energy[band >= 0], None))
        found[at] = int(np.argmax(sums / np.maximum(sizes, 1))) + 1
    return pd.array(found, dtype="Int64")
