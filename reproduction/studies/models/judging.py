"""Statistics of the study: ROC areas, levels and their rates, rank correlations; intervals by a cluster bootstrap.

Models of one graph, architecture and depth are alike, so that the bootstrap draws these configurations, graph by
graph, and not single models. The intervals hold for these graphs; the tables by graph show how much graphs differ.
"""

from typing import Any

import numpy as np

from reproduction.studies.models.protocol import ENOUGH, FALSE_ALARMS

DRAWS = 400


def roc_area(low: np.ndarray, high: np.ndarray, low_weight: Any = None, high_weight: Any = None) -> float:
    """Probability that a value of ``low`` is below one of ``high``, ties counted half; NaN are left out."""
    a = np.ones(len(low)) if low_weight is None else low_weight
    b = np.ones(len(high)) if high_weight is None else high_weight
    (low, a), (high, b) = ((x[~np.isnan(x)], weight[~np.isnan(x)]) for x, weight in ((low, a), (high, b)))
    if not a.sum() or not b.sum():
        return float("nan")
    levels, rank = np.unique(np.concatenate([low, high]), return_inverse=True)
    below = np.bincount(rank[: len(low)], a, len(levels))
    above = np.bincount(rank[len(low) :], b, len(levels))
    smaller = np.cumsum(below) - below
    return float(np.sum(above * (smaller + below / 2)) / (a.sum() * b.sum()))


def cluster_weights(clusters: np.ndarray, strata: np.ndarray, seed: int, draws: int | None = None) -> np.ndarray:
    """Bootstrap weights ``(draws, models)``: how often each model's cluster is drawn within its stratum."""
    rng, draws = np.random.default_rng([seed, 2]), DRAWS if draws is None else draws
    names, index = np.unique(clusters, return_inverse=True)
    stratum = np.empty(len(names), dtype=strata.dtype)
    stratum[index] = strata
    counts = np.zeros((draws, len(names)))
    for name in np.unique(stratum):
        members = np.flatnonzero(stratum == name)
        drawn = rng.integers(len(members), size=(draws, len(members)))
        counts[:, members] = [np.bincount(row, minlength=len(members)) for row in drawn]
    return counts[:, index]


def interval(found: np.ndarray) -> tuple[float, float]:
    found = found[np.isfinite(found)]
    if not len(found):
        return float("nan"), float("nan")
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low), float(high)


def choose_level(failed: np.ndarray, good: np.ndarray, graphs: np.ndarray) -> float:
    """The level below which models are flagged: most failed less good, with at most 5 % of the good of any graph.

    Levels have two significant digits; of equally good ones the middle one is taken.
    """
    graphs, failed, good = graphs[~np.isnan(good)], failed[~np.isnan(failed)], good[~np.isnan(good)]
    if not len(failed) or not len(good):
        return float("nan")
    finite = np.concatenate([failed, good])
    finite = np.unique(finite[np.isfinite(finite)])
    middles = (finite[1:] + finite[:-1]) / 2
    levels = np.unique([float(f"{level:.2g}") for level in middles])
    hits, alarms = _below(failed, levels), _below(good, levels)
    each = [_below(good[graphs == name], levels) for name in np.unique(graphs) if np.sum(graphs == name) >= ENOUGH]
    allowed = np.max([alarms, *each], axis=0) <= FALSE_ALARMS
    if not allowed.any():
        return float("nan")
    gain = np.where(allowed, hits - alarms, -np.inf)
    best = np.flatnonzero(gain >= gain.max() - 1e-12)
    return float(levels[best[(len(best) - 1) // 2]])


def _below(values: np.ndarray, levels: np.ndarray) -> np.ndarray:
    return np.searchsorted(np.sort(values), levels) / len(values)


def rate(flagged: np.ndarray, weights: np.ndarray) -> dict[str, float]:
    """Share of models flagged, with count and interval; ``weights (draws, models)``."""
    with np.errstate(invalid="ignore", divide="ignore"):
        low, high = interval((weights @ flagged) / weights.sum(axis=1))
    return {
        "models": len(flagged),
        "rate": float(np.mean(flagged)) if len(flagged) else np.nan,
        "low": low,
        "high": high,
    }


def spearman(values: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Rank correlation of each column with a score: ``(n, p), (n,) -> (p,)``; rows with NaN are left out per column."""
    from scipy.stats import rankdata

    found = np.full(values.shape[1], np.nan)
    for column, x in enumerate(values.T):
        keep = ~np.isnan(x)
        if keep.sum() > 4:
            with np.errstate(invalid="ignore", divide="ignore"):
                found[column] = np.corrcoef(rankdata(x[keep]), rankdata(score[keep]))[0, 1]
    return found


def spearman_draws(values: np.ndarray, score: np.ndarray, clusters: np.ndarray, seed: int) -> np.ndarray:
    """The rank correlations for draws of whole clusters: ``(draws, p)``."""
    rng = np.random.default_rng([seed, 3])
    members = [np.flatnonzero(clusters == name) for name in np.unique(clusters)]
    found = []
    for _ in range(DRAWS // 2):  # ranks take longer than weights
        rows = np.concatenate([members[number] for number in rng.integers(len(members), size=len(members))])
        found.append(spearman(values[rows], score[rows]))
    return np.stack(found)
