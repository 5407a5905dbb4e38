"""The statistics of Tasks 5, 7 and 8: pairs of spectra, Wasserstein distances, correlations with intervals."""

import numpy as np


def pair_differences(first: np.ndarray, second: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Mean and maximum over components of ``abs(a - b)`` for all pairs of rows.

    Parameters
    ----------
    first, second : ndarray, shape (p, n) and (q, n)
        Spectra; without ``second``, the unordered pairs within ``first``.

    Returns
    -------
    mean, largest : ndarray, one number per pair

    Examples
    --------
    >>> mean, largest = pair_differences(np.array([[0.0, 0.0], [1.0, 0.0]]))
    >>> mean.tolist(), largest.tolist()
    ([0.5], [1.0])
    """
    other = first if second is None else second
    differences = np.abs(first[:, None] - other[None])  # (p, q, n)
    mean, largest = differences.mean(axis=2), differences.max(axis=2)
    if second is not None:
        return mean.ravel(), largest.ravel()
    rows = np.triu_indices(len(first), 1)
    return mean[rows], largest[rows]


def schemes_over_hops(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Wasserstein distances between kinds of pairs of spectra ``(p, hop, n)`` and ``(q, hop, n)``.

    ``(statistic, scheme, hop)``: of the mean and of the maximum of differences; between the cross pairs and those of
    the first group (GB-GG), the cross pairs and those of the second (GB-BB), and the pairs within either (GG-BB).
    NaN for groups below two.
    """
    from scipy.stats import wasserstein_distance

    found = np.full((2, 3, first.shape[1]), np.nan)
    if len(first) < 2 or len(second) < 2:
        return found
    for hop in range(first.shape[1]):
        a, b = first[:, hop], second[:, hop]
        for row, (cross, aa, bb) in enumerate(
            zip(pair_differences(a, b), pair_differences(a), pair_differences(b), strict=True)
        ):
            found[row, :, hop] = [
                wasserstein_distance(*pair) for pair in ((cross, aa), (cross, bb), (aa, bb))
            ]
    return found


def mean_difference(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Largest difference over components between the groups' mean spectra, per hop."""
    if not len(first) or not len(second):
        return np.full(first.shape[1], np.nan)
    return np.abs(first.mean(axis=0) - second.mean(axis=0)).max(axis=-1)


def pearson(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Correlation of the columns of ``x (r, p)`` with ``y (r,)``; NaN where either is constant.

    Examples
    --------
    >>> pearson(np.array([[1.0], [2.0], [3.0]]), np.array([2.0, 4.0, 6.0])).round(6).tolist()
    [1.0]
    """
    if len(x) < 3:
        return np.full(x.shape[1], np.nan)
    x, y = x - x.mean(axis=0), y - y.mean()
    norms = np.linalg.norm(x, axis=0) * np.linalg.norm(y)
    return np.divide(y @ x, norms, out=np.full(x.shape[1], np.nan), where=norms > 0.0)


def interval(
    x: np.ndarray, y: np.ndarray, rng: np.random.Generator, resamples: int = 2000, level: float = 0.95
) -> np.ndarray:
    """Percentile bootstrap interval ``(2, p)`` of :func:`pearson`, resampling the rows."""
    if len(x) < 3:
        return np.full((2, x.shape[1]), np.nan)
    draws = rng.integers(len(x), size=(resamples, len(x)))
    found = np.array([pearson(x[rows], y[rows]) for rows in draws])
    tail = 50.0 * (1.0 - level)
    with np.errstate(invalid="ignore"):
        return (
            np.nanpercentile(found, [tail, 100.0 - tail], axis=0) if np.isfinite(found).any() else found[:2]
        )
