"""Means and agreements of Tasks 1 and 2, as their claims read them."""

from collections.abc import Iterable

import numpy as np

from reproduction.claims.claim import Results, show
from reproduction.tasks import task1, task2

RAND, PULSE = ("ERM-Rand", "SBM-Rand"), ("ERM-Pulse", "SBM-Pulse")
ALL = ("ERM-Rand", "ERM-Pulse", "SBM-Rand", "SBM-Pulse")
MEMBERS = ("adj_diff", "apprx_ls", "in_agg", "ln_vx")
APPRX = (("adj_diff", "apprx_ls"), ("apprx_ls", "ln_vx"))


Names = str | tuple[str, ...]


def means(results: Results, series: Names, kind: Names, first: int = 1, last: int = 99) -> np.ndarray:
    """Mean cosines with the GFT from hop ``first`` to hop ``last``: ``([series,] [kind,] hop)``."""
    if not isinstance(series, str):
        return np.array([means(results, one, kind, first, last) for one in series])
    if not isinstance(kind, str):
        return np.array([means(results, series, one, first, last) for one in kind])
    return task1.means(results.task1, series, kind)[first - 1 : last]


def pairs(results: Results, series: str, pair: tuple[str, str], first: int = 1, last: int = 99) -> np.ndarray:
    return task2.means(results.task2, series, *pair)[first - 1 : last]


def listed(names: tuple[str, ...], rows: Iterable[np.ndarray]) -> str:
    """Each series with its numbers."""
    return "; ".join(f"{name} {show(row)}" for name, row in zip(names, rows, strict=True))


def beside(results: Results, series: str, last: int = 99, first: int = 1) -> str:
    return f"flat {show(means(results, series, 'flat', first, last))}, gft 1"


def agree(
    results: Results, chosen: tuple[tuple[str, str], ...], series: tuple[str, ...], first: int, last: int
) -> np.ndarray:
    return np.array([[pairs(results, s, pair, first, last) for pair in chosen] for s in series])
