"""Columns ranked against chance: one row each, with the correlogram, its reach and the bands beside each other."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.core.registry import EXACT
from spectrata.core.spectra import as_stratification
from spectrata.core.stratification import Stratification
from spectrata.inputs.signals import Signal, as_signal
from spectrata.stats.column_reach import reaches
from spectrata.stats.correlogram import correlogram
from spectrata.stats.findings import LEVEL
from spectrata.stats.nulls.stopping import LEAST_DRAWS
from spectrata.stats.sentences import listed, nodes
from spectrata.stats.verbs.calibrate import calibrate

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

BANDS = 4
BAND_DRAWS = 199  # random orders of every band, before those of clear ones
ROUNDING = 1e-9  # of ratios
PEAKS = 2**23  # numbers of a block of columns by eigenspaces
NUMBERS = ("z", "p", "q")
PEAK = ("peak_band", "peak_ratio", "peak_z", "peak_q", "peak_eigenvalue")


def rank_columns(
    strat: Any,
    signal: Any,
    hops: int | Iterable[int] | None = None,
    *,
    weights: Any = None,
    hop_weights: str = "bottleneck",
    undirected: bool = False,
    draws: int = 999,
    max_draws: int = 99_999,
    bands: bool = True,
    laplacian: str = "combinatorial",
    self_loops: bool = False,
    seed: int = 0,
) -> "pd.DataFrame":
    """Rank the columns of a signal against chance: which have structure, up to which hop, at which frequencies.

    Parameters
    ----------
    strat : Stratification, or a graph in any form
    signal : array, mapping, DataFrame, DataArray, tensor or path
        Every column is one signal. Of several snapshots the last counts.
    hops, weights, hop_weights, undirected
        How the graph is read, as for :func:`spectrata.spectra`; not with a Stratification. The first hop ranks the
        columns, and the others tell how far they reach.
    draws, max_draws : int
        As for :func:`spectrata.correlogram`: p is the one it gives at the first hop.
    bands : bool
        Whether to compute the bands, which needs all eigenvectors at the first hop.
    laplacian, self_loops
        As for :func:`spectrata.spectra`, for the bands.
    seed : int

    Returns
    -------
    DataFrame
        One row for each column, the smallest p of the correlogram first:

        - ``column``, ``hop`` (the first), ``ratio`` (below 1 alike), ``z``, ``p``, ``q`` over all columns,
          ``p_method``, and ``p_is_bound`` (p is the smallest that the draws could give). This is the test.
        - ``reach``: the hop up to which every hop from the first on is as the first is, alike or unlike; 0 where
          q > .05. See the notes. ``reach_is_bound``: the next hop was not computed, and the graph has it.
        - ``low_z``, ``low_p``, ``low_q``, ``high_z``, ``high_p``, ``high_q``: energy of the lowest and the highest
          quarter of the frequencies, q over all four quarters of all columns. p and q are NaN where permutations would
          take long; z is exact.
        - ``peak_band``, 1 to 4: the quarter with the most energy over chance, ``peak_ratio``, with its ``peak_z`` and
          ``peak_q``; ``peak_eigenvalue``: the eigenspace with the most energy over chance. These describe. They are
          missing where no quarter has more energy than by chance, as in a column that is constant on connected parts.

        ``attrs["confirmed"]`` says how p from moments agree with permutations, ``attrs["bands"]`` has the least and
        the largest eigenvalue of each quarter, ``attrs["level"]`` the p that ``reach`` asks for, and
        ``attrs["last_hop"]`` the last hop that it tests.

    Notes
    -----
    ``reach`` selects the columns with q <= .05 and tests their farther hops in order. A hop passes if its p is at most
    .05 times the share of columns that are selected; the first that fails ends the reach. Over selected columns, the
    expected share with a false hop is then at most .05 (Benjamini and Bogomolov 2014). The null at every hop is a
    random order of all nodes. A column that is alike at small hops varies more at larger ones than under that null, so
    ``reach`` is a scale with a threshold, not a proof that the last of its hops has a likeness of its own.

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> values = np.column_stack([np.arange(40) * 7 % 11, np.arange(40)])
    >>> found = st.stats.rank_columns(nx.path_graph(40), values, hops=20)
    >>> found[["column", "reach", "peak_band"]].values.tolist()
    [[1, 13, 1], [0, 1, 3]]
    """
    import pandas as pd

    strat = as_stratification(strat, hops, weights=weights, hop_weights=hop_weights, undirected=undirected)
    known, hop = as_signal(signal, strat.graph), strat.hops[0]
    last = Signal(known.values[-1:], None, columns=known.columns)
    operator = {"laplacian": laplacian, "self_loops": self_loops}
    given: dict[str, Any] = {"draws": draws, "max_draws": max_draws, "seed": seed}
    pairs = correlogram(strat.only(hop), last, columns="separate", **given).sel(hop=hop)
    table = pd.DataFrame({"column": pairs["column"].values, "hop": hop, "ratio": pairs["ratio"].values})
    table = table.assign(**{name: pairs[name].values for name in NUMBERS})
    table["p_method"] = pairs["p_method"].values
    table["p_is_bound"] = (pairs["p_method"] == "permutation") & (pairs["p"] <= pairs["p_floor"])
    reach = reaches(strat, last.values[0], hop, *(pairs[name].values for name in NUMBERS[::2]), **given)
    table["reach"], table["reach_is_bound"] = _whole(reach.hop), reach.is_bound
    table, facts = _with_bands(table, strat.only(hop), last, hop, given, operator if bands else None)
    table["status"] = pairs["status"].values.astype(str)
    order = np.lexsort([-np.abs(table["z"].fillna(0.0)), table["p"].fillna(2.0)])
    table = table.iloc[order].reset_index(drop=True)
    table.attrs |= {"confirmed": _confirmed(pairs.attrs, facts), "level": reach.level, "bands": facts.get("edges")}
    table.attrs["last_hop"] = reach.last
    return table


def _whole(values: np.ndarray) -> Any:
    """Whole numbers, missing where NaN."""
    import pandas as pd

    return pd.array([None if value != value else int(value) for value in values], dtype="Int64")


def _with_bands(
    table: "pd.DataFrame", strat: Stratification, signal: Signal, hop: int, given: dict[str, Any], operator: Any
) -> "tuple[pd.DataFrame, dict[str, Any]]":
    """The table with its bands and peaks, and facts about the bands; NaN where they are not wanted."""
    ends = [f"{end}_{name}" for end in ("low", "high") for name in NUMBERS]
    if operator is None:
        table = table.assign(**dict.fromkeys([*ends, *PEAK], np.nan))
        return table.assign(peak_band=_whole(table["peak_band"].to_numpy())), {}
    bands = _bands(strat, signal, hop, given, operator)
    for end, at in (("low", 0), ("high", -1)):
        table = table.assign(**{f"{end}_{name}": bands[name].values[:, at] for name in NUMBERS})
    ratio = bands["ratio"].values  # (columns, bands); NaN in all of a constant column, and in empty bands
    known = ~np.isnan(bands["z"].values).all(axis=1)
    best = np.where(known, np.nanargmax(np.where(known[:, None], ratio, 0.0), axis=1), 0)
    known &= np.take_along_axis(ratio, best[:, None], axis=1)[:, 0] > 1 - ROUNDING  # else there is no peak
    for name, values in (("ratio", ratio), ("z", bands["z"].values), ("q", bands["q"].values)):
        table[f"peak_{name}"] = np.where(known, np.take_along_axis(values, best[:, None], axis=1)[:, 0], np.nan)
    table["peak_band"] = _whole(np.where(known, best + 1.0, np.nan))
    table["peak_eigenvalue"] = np.where(known, _peaks(strat, signal, hop, operator), np.nan)
    edges = np.stack([bands["band_lower"].values, bands["band_upper"].values], axis=1).tolist()
    return table, bands.attrs | {"edges": edges}


def _bands(
    strat: Stratification, signal: Signal, hop: int, given: dict[str, Any], operator: dict[str, Any]
) -> "xr.Dataset":
    """Test every band, with the distance from chance in standard deviations."""
    draws = given["draws"] and max(LEAST_DRAWS, min(BAND_DRAWS, given["draws"]))
    found = calibrate(
        strat.using(**operator),
        signal,
        EXACT,
        level="band",
        bands=BANDS,
        columns="separate",
        draws=draws,
        seed=given["seed"],
    ).sel(algorithm=EXACT, hop=hop)
    low, high = found["chance_low"], found["chance_high"]
    return found.assign(z=(found["share"] - (low + high) / 2) / ((high - low) / 3.92))


def _peaks(strat: Stratification, signal: Signal, hop: int, operator: dict[str, Any]) -> np.ndarray:
    """The eigenvalue off zero whose eigenspace has the most energy over chance, for every column."""
    n, width = signal.values.shape[1:]
    step, found = max(1, PEAKS // n), []
    for start in range(0, width, step):
        some = Signal(signal.values[..., start : start + step], None)
        one = calibrate(strat.using(**operator), some, EXACT, draws=0, columns="separate").sel(algorithm=EXACT, hop=hop)
        ratio = np.where(one["is_zero"].values | np.isnan(one["ratio"].values), -1.0, one["ratio"].values)
        found.append(one["eigenvalue"].values[ratio.argmax(axis=1)])
    return np.concatenate(found)


def _confirmed(pairs: dict[str, Any], bands: dict[str, Any]) -> str:
    """A line on p from moments; nothing where every p comes from permutations."""
    found = []
    if "moments_agreement" in pairs:
        found.append(("the correlogram", pairs["moments_confirmed"], pairs["moments_agreement"]))
    if bands.get("p_method") == "moments":
        found.append(("bands", bands["p_confirmed"], bands["p_agreement"]))
    parts = [f"{100 * share:.0f} % of {cells} cells of {what}" for what, cells, share in found]
    return (
        f"p from exact moments (Pearson type III) agrees with permutations in {' and '.join(parts)}." if parts else ""
    )


def column_sentences(table: "pd.DataFrame") -> list[str]:
    """What the ranking shows, in words: how many columns, the clearest, and how far they reach."""
    hop, total = int(table["hop"].iloc[0]), int(table["q"].notna().sum())
    clear = table[table["q"] <= LEVEL]
    constant = table["column"][table["q"].isna()].tolist()
    rest = [f"Not tested, since constant: {listed(constant)}."] if constant else []
    if not len(clear):
        none = f"In none of {total} columns {nodes([hop])} are more alike or more unlike than chance"
        return [f"{none} (q > {LEVEL}, false discovery rate over columns).", *rest]
    found = []
    for word, part in (("alike", clear[clear["z"] < 0]), ("unlike", clear[clear["z"] > 0])):
        if len(part):
            best = ", ".join(_named(row, word) for row in part.head(3).to_dict("records"))
            found.append(
                f"In {len(part)} of {total} columns {nodes([hop])} are more {word} than chance "
                f"(q <= {LEVEL}, false discovery rate over columns); clearest: {best}."
            )
    return found + rest


def _named(row: dict[str, Any], word: str) -> str:
    """A column with its z, and its reach where that goes beyond the first hop."""
    far = ""
    if row["reach"] > row["hop"]:
        start = "up" if row["hop"] == 1 else f"from {row['hop']}"
        far = f", {word} {start} to {'at least ' * bool(row['reach_is_bound'])}{row['reach']} hops"
    return f"{row['column']} (z = {row['z']:.1f}{far})"


def band_note(table: "pd.DataFrame") -> str:
    """Why columns with a small band q are not among the findings; empty where there are none.

    Examples
    --------
    >>> import pandas as pd
    >>> print(band_note(pd.DataFrame({"column": ["a", "b"], "q": [0.4, 0.01], "peak_q": [0.04, 0.02]})))
    No finding for column a, whose band q is <= 0.05: findings rest on q, because a table of noise would have a \
finding in up to 10 % of cases with two sets of tests, and in up to 5 % with one.
    """
    names = table["column"][(table["peak_q"] <= LEVEL) & ~(table["q"] <= LEVEL)].tolist()
    if not names:
        return ""
    which = f"column{'s' if len(names) > 1 else ''} {listed(names)}"
    noise = f"up to {200 * LEVEL:.0f} % of cases with two sets of tests, and in up to {100 * LEVEL:.0f} % with one"
    return (
        f"No finding for {which}, whose band q is <= {LEVEL}: findings rest on q, because a table of noise "
        f"would have a finding in {noise}."
    )


def column_key(table: "pd.DataFrame") -> Iterator[str]:
    """What the columns of the table are, which of them are tests, and what is missing."""
    hop, last, tested = int(table["hop"].iloc[0]), table.attrs["last_hop"], table["peak_q"].notna().any()
    yield "ratio: mean squared difference over chance (correlogram); below 1 alike, above 1 unlike."
    yield "p: two-sided permutation test of the ratio; q: false discovery rate over the columns tested."
    if last > hop:
        start = "" if hop == 1 else f"from {hop} "
        yield (
            f"up to K: nodes are alike at every hop {start}up to K, or unlike at every hop {start}up to K (beyond the "
            f"first hop: where p <= {table.attrs['level']:.2g}, which is {LEVEL} times the share of columns with q <= "
            f"{LEVEL}); 0 where q > {LEVEL}."
        )
    if last > hop and table["reach_is_bound"].any():
        yield f">= {last}: hop {last + 1} was not computed."
    if table["peak_band"].notna().any():
        yield (
            "peak band: the quarter of the frequencies off zero with the most energy over chance, 1 the lowest; - "
            "where none has more than chance."
        )
        if tested:
            yield "band q: false discovery rate of the peak band, over the four quarters of all columns."
        else:
            yield "Bands were not tested, since permutations would take long; their z is exact."
        yield "peak at: eigenvalue with the most energy over chance; a description, not a test."
    if table.attrs["confirmed"]:
        yield f"*: {table.attrs['confirmed']}"
