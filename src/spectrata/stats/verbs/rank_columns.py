"""``rank_columns``: which columns of a table have structure on the graph, how far it reaches, at which scale."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.core.stratification import Stratification
from spectrata.stats.describe.levels import band_groups
from spectrata.stats.nulls.stopping import LEVEL, LOOKS
from spectrata.stats.observation import observe
from spectrata.stats.statistics.shares import BANDS, LEAST_COMPONENTS, MOST_NODES
from spectrata.stats.verbs.reading import Reading, read
from spectrata.stats.verbs.tests import Results
from spectrata.stats.verbs.write_back import write_back

if TYPE_CHECKING:
    import pandas as pd

MOST_SCALES = 2_000  # columns whose scale is computed
NEAR = 3  # hops that are read by default
SIGNIFICANT = ("alike", "unlike")


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
) -> "pd.DataFrame":
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
        Put the result into the AnnData, too: ``adata.var["spectrata_r"]`` and so on, and all in ``adata.uns``.

    Returns
    -------
    DataFrame
        One row for each column, the clearest first:

        - ``column``, ``hop`` (the first), ``r``, ``chance_low``, ``chance_high``, ``p``, ``q`` over all columns,
          ``r_given``, ``p_given``, ``q_given``, ``verdict``;
        - ``reach``: the hop up to which nodes are alike, or unlike, at every hop from the first on; 0 where the verdict
          is neither;
        - ``scale``: the quarter of the frequencies with the most energy for its size, 1 the smoothest, 4 the roughest;
          missing above 4,000 nodes and where the verdict is neither alike nor unlike;
        - ``effect``: the distance of r from the middle of its chance interval, in widths of the interval;
        - ``p_from_tail`` and ``status``.

    Notes
    -----
    Columns are ordered by p, and where p is the smallest that the permutations can give, by ``effect``. ``reach``
    selects the columns that are alike or unlike and tests their farther hops in order: a hop passes if both p are at
    most .05 times the share of columns that are selected, and the first that fails ends the reach (Benjamini and
    Bogomolov 2014).

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
    reading = read(graph, signal, hops, weights=weights, columns="separate", nodes=nodes)
    columns = [replace(one, values=one.values[-1:]) for one in reading.columns]
    if not reading.separate:  # one column
        columns = [replace(columns[0], name=0)]
    reading = replace(reading, columns=tuple(columns), snapshots=None, separate=True)
    first = replace(reading, strat=reading.strat.only(reading.hops[0]))
    results = Results(first, given, draws, seed)
    verdicts = results.verdicts()[0, 0, :, 0]
    chosen = np.flatnonzero(np.isin(verdicts.astype(str), SIGNIFICANT))
    table = ranked(results, _reach(reading, results, chosen, given, draws, seed))
    if write:
        write_back(graph, table, "rank_columns")
    return table


def ranked(results: Results, reach: np.ndarray) -> "pd.DataFrame":
    """The columns of some tests, ranked at their first hop; of several snapshots the last counts."""
    import pandas as pd

    reading = results.reading
    reading = replace(reading, strat=reading.strat.only(reading.hops[0]))
    verdicts = results.verdicts()[0, -1, :, 0]
    chosen = np.flatnonzero(np.isin(verdicts.astype(str), SIGNIFICANT))
    made, (q, q_given) = results.made, results.q
    low, high, r = made.chance.low[0, -1, :, 0], made.chance.high[0, -1, :, 0], made.value[0, -1, :, 0]
    width = np.where(high > low, high - low, np.nan)
    table = pd.DataFrame(
        {
            "column": [one.name for one in reading.columns],
            "hop": reading.hops[0],
            "r": r,
            "chance_low": low,
            "chance_high": high,
            "p": made.chance.p[0, -1, :, 0],
            "q": q[0, -1, :, 0],
            "p_given": made.given.p[0, -1, :, 0],
            "q_given": q_given[0, -1, :, 0],
            "r_given": made.value_given[0, -1, :, 0],
            "verdict": verdicts,
            "effect": (r - (low + high) / 2) / width,
            "reach": reach,
            "scale": _scale(reading, chosen),
            "p_from_tail": made.chance.by_tail[0, -1, :, 0],
            "status": results.status[-1, :, 0],
        }
    )
    end = np.maximum(table["p"].fillna(2.0), 2 / (LOOKS[0] + 1))
    order = np.lexsort([-table["effect"].abs().fillna(0.0), end])
    return table.iloc[order].reset_index(drop=True)


def _reach(
    reading: Reading, first: Results, chosen: np.ndarray, given: Any, draws: int | None, seed: int
) -> np.ndarray:
    """The hop up to which each chosen column is as at the first hop; 0 for the others."""
    found = np.zeros(len(reading.columns), dtype=np.int64)
    found[chosen] = reading.hops[0] if not isinstance(reading.hops[0], str) else 1
    if len(reading.hops) == 1 or not len(chosen):
        return found
    some = replace(reading, columns=tuple(reading.columns[at] for at in chosen))
    results = Results(some, given, draws, seed)
    nulls = [results.made.chance] if results.covariates is None else [results.made.chance, results.made.given]
    level = LEVEL * len(chosen) / len(reading.columns)
    tail = first.made.chance.tail[0, 0, chosen, 0]
    going = np.ones(len(chosen), dtype=bool)
    for h, hop in enumerate(reading.hops[1:], start=1):
        for null in nulls:
            going &= (null.p[0, 0, :, h] <= level) & (null.tail[0, 0, :, h] == tail)
        found[chosen[going]] = hop if not isinstance(hop, str) else h + 1
    return found


def _scale(reading: Reading, chosen: np.ndarray) -> Any:
    """The quarter of the frequencies with the most energy for its size, of the chosen columns."""
    import pandas as pd

    found: list[int | None] = [None] * len(reading.columns)
    for at in chosen[:MOST_SCALES].tolist():
        column = reading.columns[at]
        pairs = reading.pairs(column)[0]
        if pairs.n > MOST_NODES or np.count_nonzero(~pairs.basis.is_zero) < LEAST_COMPONENTS:
            continue
        basis, obs = pairs.basis, observe(column.values[-1], pairs, column.rounding)
        weighted = np.zeros((pairs.n, obs.width))
        weighted[pairs.nodes] = obs.values[pairs.nodes] * np.sqrt(pairs.k)[:, None]
        energy = np.sum(basis.project(weighted) ** 2, axis=1)
        band = band_groups(basis.is_zero[None], basis.eigenspace[None], basis.multiplicity[None], BANDS)[0]
        sums, sizes = (np.bincount(band[band >= 0], some, BANDS) for some in (energy[band >= 0], None))
        found[at] = int(np.argmax(sums / np.maximum(sizes, 1))) + 1
    return pd.array(found, dtype="Int64")
