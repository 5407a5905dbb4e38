"""Columns ranked against chance: one row each, with the correlogram and the ends of the spectrum beside each other."""

from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.analysis.calibrate import calibrate
from spectrata.analysis.correlogram import correlogram
from spectrata.analysis.findings import LEVEL
from spectrata.analysis.sentences import nodes
from spectrata.analysis.sequential import draws_needed
from spectrata.analysis.tails import LEAST_NODES
from spectrata.core.registry import EXACT
from spectrata.core.stratification import Stratification
from spectrata.inputs.signals import Signal

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

BANDS = 4
DRAWS, BAND_DRAWS = 999, 199  # random orders of every cell, before those of clear ones
AFFORDABLE = 1e11  # multiplications of the bands' draws, some seconds, beyond which small graphs have z alone
NUMBERS = ("z", "p", "q")


def column_table(
    strat: Stratification, signal: Signal, hop: int | None = None, *, seed: int = 0, **operator: Any
) -> "pd.DataFrame":
    """Rank the columns of a signal: the correlogram of each at one hop, and its lowest and highest band.

    Parameters
    ----------
    strat : Stratification
    signal : Signal
        One snapshot, or several, of which the last counts.
    hop : int, optional
        The first of the stratification by default.
    seed : int
    **operator
        ``laplacian`` and ``self_loops``, for the bands.

    Returns
    -------
    DataFrame
        One row for each column, the smallest p of the correlogram first: ``column``, ``hop``, ``ratio`` (below 1
        alike), ``z``, ``p``, ``q``, ``p_method``, ``p_is_bound`` (p is the smallest that the draws could give), and
        ``low_z``, ``low_p``, ``low_q``, ``high_z``, ``high_p``, ``high_q`` of the bands. ``attrs["confirmed"]`` says
        how p from moments agree with permutations. q is over all columns, for bands over
        all four of each. p and q of bands are NaN where permutations would take long; z is exact.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> from spectrata.inputs.signals import as_signal
    >>> strat = st.Stratification(nx.path_graph(40), hops=1)
    >>> values = np.column_stack([np.arange(40) * 7 % 11, np.arange(40)])
    >>> column_table(strat, as_signal(values, strat.graph))["column"].tolist()
    [1, 0]
    """
    import pandas as pd

    hop = strat.hops[0] if hop is None else hop
    strat = strat.only(hop)
    last = Signal(signal.values[-1:], None, columns=signal.columns)
    most = _most_draws(last.values.shape[2])
    pairs = correlogram(strat, last, columns="separate", max_draws=most, seed=seed).sel(hop=hop)
    table = pd.DataFrame({"column": pairs["column"].values, "hop": hop, "ratio": pairs["ratio"].values})
    table = table.assign(**{name: pairs[name].values for name in NUMBERS})
    table["p_method"] = pairs["p_method"].values
    table["p_is_bound"] = (pairs["p_method"] == "permutation") & (pairs["p"] <= pairs["p_floor"])
    bands = _bands(strat, last, hop, seed, operator)
    for end, at in (("low", 0), ("high", -1)):
        table = table.assign(**{f"{end}_{name}": bands[name].values[:, at] for name in NUMBERS})
    table["status"] = pairs["status"].values.astype(str)
    order = np.lexsort([-np.abs(table["z"].fillna(0.0)), table["p"].fillna(2.0)])
    table = table.iloc[order].reset_index(drop=True)
    table.attrs["confirmed"] = _confirmed(pairs.attrs, bands.attrs)
    return table


def _bands(strat: Stratification, signal: Signal, hop: int, seed: int, operator: dict[str, Any]) -> "xr.Dataset":
    """z, p and q of every band."""
    n, width = signal.values.shape[1:]
    quick = 2.0 * BAND_DRAWS * width * n * n <= AFFORDABLE
    closed = n >= LEAST_NODES and operator.get("laplacian", "combinatorial") != "normalized"
    draws = BAND_DRAWS if quick or closed else 0
    most = _most_draws(BANDS * width)
    given: dict[str, Any] = {"draws": draws, "max_draws": most if draws else 0, "algorithms": EXACT, "level": "band"}
    given |= {"bands": BANDS, "columns": "separate", "seed": seed}
    return calibrate(strat, signal, **given, **operator).sel(algorithm=EXACT, hop=hop)


def _confirmed(pairs: dict[str, Any], bands: dict[str, Any]) -> str:
    """A line on p from moments; nothing where every p comes from permutations."""
    found = []
    if "moments_agreement" in pairs:
        found.append(("the correlogram", pairs["moments_confirmed"], pairs["moments_agreement"]))
    if bands["p_method"] == "moments":
        found.append(("bands", bands["p_confirmed"], bands["p_agreement"]))
    parts = [f"{100 * share:.0f} % of {cells} cells of {what}" for what, cells, share in found]
    return (
        f"p from exact moments (Pearson type III) agrees with permutations in {' and '.join(parts)}." if parts else ""
    )


def _most_draws(cells: int) -> int:
    """As many as let one cell alone reach q of half the level; the order of clearer ones comes from z."""
    return max(DRAWS, draws_needed(2 * cells, "two-sided", LEVEL))


def column_sentences(table: "pd.DataFrame") -> list[str]:
    """What the ranking shows, in words: how many columns, and the clearest."""
    hop, total = int(table["hop"].iloc[0]), len(table)
    clear = table[table["q"] <= LEVEL]
    if not len(clear):
        none = f"In none of {total} columns {nodes([hop])} are more alike or more unlike than chance"
        return [f"{none} (q > {LEVEL}, false discovery rate over columns)."]
    found = []
    for word, part in (("alike", clear[clear["z"] < 0]), ("unlike", clear[clear["z"] > 0])):
        if len(part):
            best = ", ".join(f"{name} (z = {z:.1f})" for name, z in zip(part["column"][:3], part["z"][:3], strict=True))
            found.append(
                f"In {len(part)} of {total} columns {nodes([hop])} are more {word} than chance "
                f"(q <= {LEVEL}, false discovery rate over columns); clearest: {best}."
            )
    return found
