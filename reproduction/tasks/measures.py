"""The statistics of Tasks 5, 7 and 8, as ``stats`` computes them, over hops; NaN for groups that are too small."""

import numpy as np

from spectrata.stats.describe.snapshots import distances, pairwise, pearson


def schemes_over_hops(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Wasserstein distances between kinds of pairs of spectra ``(p, hop, n)`` and ``(q, hop, n)``.

    ``(statistic, scheme, hop)``: of the mean and of the maximum of differences; between the cross pairs and those of
    the first group (GB-GG), the cross pairs and those of the second (GB-BB), and the pairs within either (GG-BB). NaN
    for groups below two.
    """
    found = np.full((2, 3, first.shape[1]), np.nan)
    if len(first) < 2 or len(second) < 2:
        return found
    spectra = np.concatenate([first, second])
    in_first = np.arange(len(spectra)) < len(first)
    for hop in range(first.shape[1]):
        found[:, :, hop] = [distances(table, in_first[None])[0] for table in pairwise(spectra[:, hop])]
    return found


def mean_difference(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Largest difference over components between the groups' mean spectra, per hop."""
    if not len(first) or not len(second):
        return np.full(first.shape[1], np.nan)
    return np.abs(first.mean(axis=0) - second.mean(axis=0)).max(axis=-1)


def interval(
    x: np.ndarray, y: np.ndarray, rng: np.random.Generator, resamples: int = 2000, level: float = 0.95
) -> np.ndarray:
    """Percentile bootstrap interval ``(2, p)`` of the correlations of columns, resampling the rows."""
    draws = rng.integers(len(x), size=(resamples, len(x))) if len(x) else np.empty((2, 0), dtype=int)
    found = np.array([correlation(x[rows], y[rows]) for rows in draws])
    tail = 50.0 * (1.0 - level)
    with np.errstate(invalid="ignore"):
        return np.nanpercentile(found, [tail, 100.0 - tail], axis=0) if np.isfinite(found).any() else found[:2]


def correlation(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Pearson's correlation of the columns of ``x (r, p)`` with ``y (r,)``; NaN for fewer than three rows."""
    return pearson(x, y) if len(x) > 2 else np.full(x.shape[1], np.nan)
