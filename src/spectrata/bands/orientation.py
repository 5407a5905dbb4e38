"""Orientations of edges as functions of their ends, so that none is stored: see ``compiled.sign``."""

import numpy as np


def orientation_keys(seed: int, hop: int, count: int) -> np.ndarray:
    """One key per random orientation, never 0, which stands for the order of rows.

    Examples
    --------
    >>> orientation_keys(0, 1, 2).dtype, len(orientation_keys(0, 1, 2))
    (dtype('uint64'), 2)
    """
    drawn = np.random.default_rng([seed, hop, 7]).integers(1, 2**63, size=count, dtype=np.uint64)
    return drawn | np.uint64(1)


def signs(edges: np.ndarray, key: np.uint64) -> np.ndarray:
    """The sign of each edge ``x < y`` as seen from ``x``: ``(m, 2) -> (m,)``; the numpy twin of ``compiled.sign``.

    Examples
    --------
    >>> signs(np.array([[0, 1], [1, 2]]), np.uint64(0)).tolist()
    [1.0, 1.0]
    """
    if key == 0:
        return np.ones(len(edges))
    low, high = edges.min(axis=1).astype(np.uint64), edges.max(axis=1).astype(np.uint64)
    golden = np.uint64(0x9E3779B97F4A7C15)
    mixed = key + low * golden
    for word in (high, np.zeros_like(high)):
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed = (mixed ^ (mixed >> np.uint64(31))) + word * golden
    return np.where(mixed & np.uint64(1), 1.0, -1.0)
