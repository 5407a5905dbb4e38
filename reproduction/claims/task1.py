"""Observations of Task 1."""

from functools import partial

import numpy as np

from reproduction.claims import published
from reproduction.claims.claim import (
    FLAT_MARGIN,
    Finding,
    Results,
    above,
    at_least,
    below,
    checked,
    claim,
    show,
    within,
)
from reproduction.claims.tools import ALL, MEMBERS, PULSE, RAND, listed, means
from reproduction.tasks import task1

_claim = partial(claim, "1", "task1")


@_claim(
    "t1-diameter",
    "50-node random graphs of these models have a diameter of at most 7.",
    "at most 7",
    "no graph of the four series exceeds 7",
    "Sparse block models now and then leave a long tail.",
)
def _(results: Results) -> Finding:
    reach = np.isfinite(results.task1["n_edges"].loc[list(ALL)].values).sum(axis=2)  # (series, graph)
    beyond = int(np.count_nonzero(reach > published.DIAMETER))
    return Finding(
        f"largest {show(reach.max(axis=1), 0)} in {', '.join(ALL)}; {beyond} graphs beyond 7",
        below(reach.max(axis=1), published.DIAMETER + 0.5),
    )


@_claim(
    "t1-one-good-algorithm",
    "Up to K = 4 at least one algorithm performs well on every series.",
    "typically at least 0.8",
    "the best algorithm's mean at least 0.8, for each series and K <= 4",
    "0.795 counts as 0.8, the precision the text prints; on random signals the flat spectrum does as well.",
)
def _(results: Results) -> Finding:
    best = means(results, ALL, task1.ALGORITHMS, 1, 4).max(axis=1)
    return Finding(_beside_flat(results, ALL, best), at_least(best, 0.795))


def _beside_flat(results: Results, series: tuple[str, ...], rows: np.ndarray) -> str:
    flat = means(results, series, "flat", 1, 4)
    triples = zip(series, rows, flat, strict=True)
    return "; ".join(f"{name} {show(row)} (flat {show(level)})" for name, row, level in triples)


@_claim(
    "t1-effective",
    "These cosines strongly support the algorithms' effectiveness.",
    "strongly supports",
    "the best of the five algorithms beats the flat spectrum's mean by more than 0.02, for each series and K <= 4",
    "On pulses the algorithms know more than a flat line; on random signals a flat line has the same cosine.",
)
def _(results: Results) -> Finding:
    best = means(results, ALL, task1.ALGORITHMS, 1, 4).max(axis=1)
    gain = best - means(results, ALL, "flat", 1, 4)
    return Finding(f"best minus flat: {listed(ALL, gain)}", above(gain, FLAT_MARGIN), over_flat=gain)


@_claim(
    "t1-high-k-rand",
    "From K = 5 on, ADJ-DIFF and LN-VX keep performing fairly well on random signals.",
    "typically at least 0.7",
    "both means at least 0.7 at every K >= 5, on ERM-Rand and SBM-Rand",
    "Most components are singletons' zeros there, where ADJ-DIFF is constant by definition.",
)
def _(results: Results) -> Finding:
    found = {(s, m): means(results, s, m, 5) for s in RAND for m in ("adj_diff", "ln_vx")}
    told = "; ".join(f"{s} {m} {show(v)}" for (s, m), v in found.items())
    flat = ", ".join(map(show, means(results, RAND, "flat", 5)))
    return Finding(f"{told}; flat {flat}", at_least(list(found.values()), 0.7))


@_claim(
    "t1-high-k-pulse",
    "No algorithm is effective on pulses from K = 5 on.",
    "none",
    "every mean below 0.5 at K >= 5, on both pulse series",
    "Pulses on singletons have no gradient at all and count as 0.",
)
def _(results: Results) -> Finding:
    found = means(results, PULSE, task1.ALGORITHMS, 5)
    return Finding(f"largest over algorithms: {listed(PULSE, found.max(axis=1))}", below(found, 0.5))


@_claim(
    "t1-singletons-cause",
    "The failure on pulses at K >= 5 comes from pulses that fall on singletons.",
    "primarily caused by singletons",
    "without those pulses, ADJ-DIFF's mean at K = 5 is at least 0.7 on both pulse series; components and singletons "
    "correlate above 0.9",
    "Most pulses sit on singletons; off them ADJ-DIFF falls too, in strata of small parts, and IN-AGG does not.",
)
def _(results: Results) -> Finding:
    kept = np.array([task1.without_singletons(results.task1, s, "adj_diff")[4:5] for s in PULSE])
    parts, singletons = (results.task1[name].loc[list(ALL)].values.ravel() for name in ("n_parts", "n_singletons"))
    fine = np.isfinite(parts)
    correlation = float(np.corrcoef(parts[fine], singletons[fine])[0, 1])
    on = np.array([task1.column_wise(results.task1["on_singleton"].loc[s].values, np.mean)[4:5] for s in PULSE])
    told = f"ADJ-DIFF without them {show(kept)}; on singletons {show(on)} of the pulses; "
    return Finding(f"{told}correlation {correlation:.3f}", [*at_least(kept, 0.7), correlation > 0.9])


@_claim(
    "t1-in-agg-pulses",
    "IN-AGG is effective on pulses only.",
    "exclusively",
    "at K <= 3 means at least 0.8 on both pulse series and below 0.5 on both random series",
    "On random signals the node means are nearly constant, so most of IN-AGG sits at the zero component.",
)
def _(results: Results) -> Finding:
    pulse, rand = (means(results, series, "in_agg", 1, 3) for series in (PULSE, RAND))
    flat = " and ".join(map(show, means(results, ("ERM-Pulse", "ERM-Rand"), "flat", 1, 3)))
    told = f"pulses {show(pulse)}; random {show(rand)}; flat {flat}"
    return Finding(told, [*at_least(pulse, 0.8), *below(rand, 0.5)])


@_claim(
    "t1-ln-vx-pulses",
    "LN-VX is weaker than the others on pulses.",
    "typically weaker",
    "the lowest mean of the four algorithms at each K <= 4, on both pulse series",
    "LN-VX is close to the flat spectrum, and a pulse is far from it.",
)
def _(results: Results) -> Finding:
    table, mine = means(results, PULSE, MEMBERS, 1, 4), MEMBERS.index("ln_vx")  # (series, algorithm, hop)
    told = _beside_flat(results, PULSE, table[:, mine])
    return Finding(told, list((np.argmin(table, axis=1) == mine).ravel()))


@_claim(
    "t1-apprx-ls-spread",
    "APPRX-LS varies more over graphs than the other algorithms.",
    "typically larger variance",
    "the largest deviation of the four algorithms at each K <= 4, on all series",
    "One orientation of the edges is one random draw of signs; on random signals IN-AGG varies as much.",
)
def _(results: Results) -> Finding:
    table = np.array([[task1.deviations(results.task1, s, m)[:4] for m in MEMBERS] for s in ALL])
    mine = MEMBERS.index("apprx_ls")
    return Finding(listed(ALL, table[:, mine]), list((np.argmax(table, axis=1) == mine).ravel()))


@_claim(
    "t1-mse-low",
    "LN-VX's learning ends close to zero MSE for K <= 4.",
    "close to zero",
    "mean MSE below 0.001 for each series and K <= 4",
    "Where a stratum has at least as many edges as nodes the learning stops at its tolerance of 1e-6; sparse SBM "
    "graphs have fewer at K = 4.",
)
def _(results: Results) -> Finding:
    mse = _mse(results)[:, :4]
    return Finding(f"largest mean per K: {show(np.nanmax(mse, axis=0), 6)}", below(mse, published.MSE_LOW))


@_claim(
    "t1-mse-high",
    "Beyond K = 4 the final MSE stays below 0.025.",
    "below 0.025",
    "mean MSE below 0.025 for each series and K >= 5",
    "With m < n edges the rank alone leaves (n - m)/n², which is at most 0.02 for 50 nodes.",
)
def _(results: Results) -> Finding:
    mse = _mse(results)[:, 4:]
    told = f"largest mean per K >= 5: {show(np.nanmax(mse, axis=0), 4)}"
    return Finding(told, below(mse, published.MSE_HIGH))


@_claim(
    "t1-mse-singletons",
    "The rise of the MSE at higher K goes with the number of singletons.",
    "correlated by eye",
    "correlation over all graphs and hops above 0.8",
    "Both follow from a stratum with few edges; the bound is (n - m)/n².",
)
def _(results: Results) -> Finding:
    mse = results.task1["ln_vx_mse"].loc[list(ALL)].mean("trial").values.ravel()
    singletons = results.task1["n_singletons"].loc[list(ALL)].values.ravel()
    fine = np.isfinite(mse) & np.isfinite(singletons)
    value = float(np.corrcoef(mse[fine], singletons[fine])[0, 1])
    return Finding(f"correlation {value:.2f}", above(value, 0.8))


def _mse(results: Results) -> np.ndarray:
    """Mean final MSE ``(series, hop)``."""
    values = results.task1["ln_vx_mse"].loc[list(ALL)].mean("trial").values
    return np.array([task1.column_wise(block, np.mean) for block in values])


def _poor(results: Results, series: tuple[str, ...], bound: float) -> np.ndarray:
    """Share of graphs whose trials' mean cosine is below a bound: ``(series, hop)``."""
    values = results.task1["trial_cosine"].loc[list(series)].mean("trial").values
    poor = np.where(np.isnan(values), np.nan, values < bound)
    return np.array([task1.column_wise(block, np.mean) for block in poor])


@_claim(
    "t1-trials-rand",
    "On random signals LN-VX's trials are stable for K <= 4, and from K = 6 on half of the graphs come out nearly "
    "independent of the GFT.",
    "stable; a half of the graphs",
    "K <= 4: no more than 5% of graphs below 0.5; K >= 6: at least 40% of graphs below 0.2 (both random series)",
    "Graphs without a stratum at K are left out here; counted as 0 they would be those nearly independent.",
)
def _(results: Results) -> Finding:
    low, high = _poor(results, RAND, 0.5)[:, :4], _poor(results, RAND, 0.2)[:, 5:]
    told = f"share below 0.5 at K <= 4: {show(low)}; below 0.2 at K >= 6: {show(high)}"
    return Finding(told, [*below(low, 0.05 + 1e-9), *at_least(high, 0.4)])


@_claim(
    "t1-trials-pulse",
    "On pulses LN-VX performs poorly on about 20% of the graphs for K <= 4, and on most from K = 5 on.",
    "about 20%; most",
    "share of graphs below 0.5 between 10% and 30% at K <= 4; share below 0.2 above 50% at K >= 5 (both pulse series)",
    "A flat spectrum's cosine with a pulse depends on how localised the eigenvectors are, so it drops with K.",
)
def _(results: Results) -> Finding:
    low, high = _poor(results, PULSE, 0.5)[:, :4], _poor(results, PULSE, 0.2)[:, 4:]
    return Finding(
        f"share below 0.5 at K <= 4: {show(low)}; below 0.2 at K >= 5: {show(high)}",
        [*checked(low, lambda x: (x >= 0.1) & (x <= 0.3)), *above(high, 0.5)],
    )


@_claim(
    "t1-adj-diff-printed",
    "ADJ-DIFF divided by the eigenvalue, as printed in Algorithm 4, gives the published cosines.",
    "M(i) = E(s, u_i)/λ_i",
    "means at K = 1..3 within 0.05 of the published ones, on ERM-Rand and ERM-Pulse",
    "The released program divides difference vectors by their length, the root of the eigenvalue; the print is "
    "undefined at zero.",
)
def _(results: Results) -> Finding:
    kinds = ("adj_diff/printed", "adj_diff/ones", "adj_diff")
    rand, pulse = means(results, ("ERM-Rand", "ERM-Pulse"), kinds, 1, 3)
    wanted = [published.ERM_RAND["adj_diff"][:3], published.ERM_PULSE["adj_diff"][:3]]
    return Finding(
        f"random {show(rand[0])}, pulses {show(pulse[0])} without zero eigenvalues; with the all-one vector's product "
        f"there {show(rand[1])} and {show(pulse[1])}; by the root of the eigenvalue {show(rand[2])} and "
        f"{show(pulse[2])}",
        within([rand[0], pulse[0]], wanted, 0.05),
    )


@_claim(
    "t1-ln-vx-average",
    "LN-VX's expectation over trials may be taken of absolute values (the text) or signed (the program).",
    "not told apart",
    "the two means differ by at most 0.01 for each series and K <= 4",
    "Signs vary between trials only where singletons leave rows without an exact fit.",
)
def _(results: Results) -> Finding:
    gaps = np.abs(means(results, ALL, "ln_vx") - means(results, ALL, "ln_vx/abs"))
    low = gaps[:, :4]
    told = f"largest difference {np.nanmax(low):.4f} for K <= 4, {np.nanmax(gaps):.3f} at any K"
    return Finding(told, below(low, 0.01))


@_claim(
    "t1-ens-raw-norms",
    "The members' raw magnitudes have very different norms, which biases an unnormalised ENS.",
    "can be significantly different",
    "largest over smallest mean norm of the four members above 3, at each K <= 4 of ERM-Rand",
    "ADJ-DIFF sums over edges and grows with their number, the others do not; the released program divides it "
    "by √n, which brings the norms closer.",
)
def _(results: Results) -> Finding:
    magnitude = results.task1["magnitude"].loc["ERM-Rand", :, [1, 2, 3, 4]]
    ratios = []
    for adj_diff in ("adj_diff", "adj_diff/unit"):
        block = magnitude.sel(kind=[adj_diff, *MEMBERS[1:]]).values
        norms = np.nanmean(np.linalg.norm(block, axis=-1), axis=0)  # (hop, member)
        ratios.append(norms.max(axis=1) / norms.min(axis=1))
    return Finding(
        f"ratio {show(ratios[0], 1)} at K = 1..4 (with ADJ-DIFF's unit scaling {show(ratios[1], 1)})",
        above(ratios[0], 3.0),
    )
