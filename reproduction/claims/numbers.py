"""Names for the expressions of ``claims.toml`` and ``errata.toml``: numbers of a run, and checks of numbers."""

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from reproduction.tasks import smoothing_runs, task1, task2, task3
from reproduction.tasks.caveman import NODES, caveman_graph
from reproduction.tasks.random_graphs import SERIES
from spectrata.core.stratification import Stratification

Check = bool | np.bool_ | None  # None: cannot be made
Names = str | Sequence[str]
FLAT_MARGIN = 0.02  # a cosine that exceeds the flat spectrum's by no more is not better
RAND, PULSE = ("ERM-Rand", "SBM-Rand"), ("ERM-Pulse", "SBM-Pulse")
ALL = tuple(series.name for series in SERIES)
MEMBERS = ("adj_diff", "apprx_ls", "in_agg", "ln_vx")
APPRX = ("adj_diff~apprx_ls", "apprx_ls~ln_vx")
ALGORITHMS, KINDS, PAIRS = task1.ALGORITHMS, task1.KINDS, [task2.label(*pair) for pair in task2.PAIRS]
GROUPS = smoothing_runs.GROUPS


@dataclass
class Results:
    """What a run has measured; tasks that were not run are None, and no claim that needs them is judged."""

    text: Mapping[str, Mapping[str, Any]] = None  # type: ignore[assignment]
    task1: xr.Dataset = None  # type: ignore[assignment]
    task2: xr.Dataset = None  # type: ignore[assignment]
    task3: xr.Dataset = None  # type: ignore[assignment]
    runs: xr.Dataset = None  # type: ignore[assignment]


def checked(values: Any, test: Callable[[np.ndarray], np.ndarray]) -> list[Check]:
    """Make one check per number; a number that could not be measured (NaN) is a check that cannot be made."""
    array = np.atleast_1d(np.asarray(values, dtype=float)).ravel()
    with np.errstate(invalid="ignore"):
        passed = test(array)
    return [None if np.isnan(value) else bool(ok) for value, ok in zip(array, passed, strict=True)]


def within(values: Any, published: Any, tolerance: float) -> list[Check]:
    """Check that each number is no further than ``tolerance`` from the published one."""
    wanted = np.atleast_1d(np.asarray(published, dtype=float)).ravel()
    return checked(values, lambda x: np.abs(x - wanted) <= tolerance)


def _compared(test: Callable[[np.ndarray, float], np.ndarray], values: Any, bound: float) -> list[Check]:
    return checked(values, lambda x: test(x, bound))


below, at_least, above = (partial(_compared, test) for test in (np.less, np.greater_equal, np.greater))


def show(values: Any, digits: int = 2) -> str:
    array = np.atleast_1d(np.asarray(values, dtype=float)).ravel()
    return " ".join("–" if np.isnan(value) else f"{value:.{digits}f}" for value in array)


def listed(names: Sequence[str], rows: Iterable[np.ndarray]) -> str:
    return named(dict(zip(names, rows, strict=True)))


def named(rows: Mapping[str, Any]) -> str:
    return "; ".join(f"{name} {show(row)}" for name, row in rows.items())


def intervals(band: np.ndarray) -> str:
    return ", ".join(f"{low:.2f} to {high:.2f}" for low, high in band.T)


def nearest(values: np.ndarray, wanted: Iterable[float]) -> list[float]:
    """Give the nearest value to each wanted one, each value used once.

    Examples
    --------
    >>> nearest(np.array([0.0, 1.0, 1.1]), [1.0, 1.0])
    [1.0, 1.1]
    """
    left, found = values.tolist(), []
    for value in wanted:
        found.append(min(left, key=lambda x: abs(x - value)))
        left.remove(found[-1])
    return found


def means(results: Results, series: Names, kind: Names, first: int = 1, last: int = 99) -> np.ndarray:
    """Mean cosines with the GFT from hop ``first`` to hop ``last``: ``([series,] [kind,] hop)``."""
    chosen = (name if isinstance(name, str) else list(name) for name in (series, kind))
    return task1.means(results.task1, *chosen)[..., first - 1 : last]


def agree(results: Results, pairs: Iterable[str], series: Iterable[str], first: int = 1, last: int = 99) -> np.ndarray:
    """Mean agreements of pairs of algorithms ``(series, pair, hop)``."""
    found = results.task2["agreement"].sel(series=list(series), pair=list(pairs)).mean("graph")
    return found.transpose("series", "pair", "hop").values[..., first - 1 : last]


def beside(results: Results, series: str, last: int = 99, first: int = 1) -> str:
    return f"flat {show(means(results, series, 'flat', first, last))}, gft 1"


def beside_flat(results: Results, series: Sequence[str], rows: np.ndarray) -> str:
    triples = zip(series, rows, means(results, series, "flat", 1, 4), strict=True)
    return "; ".join(f"{name} {show(row)} (flat {show(level)})" for name, row, level in triples)


def poor(results: Results, series: Sequence[str], bound: float) -> np.ndarray:
    """Share of graphs whose trials' mean cosine is below a bound: ``(series, hop)``."""
    values = results.task1["trial_cosine"].sel(series=list(series)).mean("trial")
    return (values < bound).where(values.notnull()).mean("graph").values


def correlation_over_graphs(results: Results, first: str, second: str) -> float:
    found = [results.task1[name].loc[list(ALL)] for name in (first, second)]
    x, y = ((one.mean("trial") if "trial" in one.dims else one).values.ravel() for one in found)
    fine = np.isfinite(x) & np.isfinite(y)
    return float(np.corrcoef(x[fine], y[fine])[0, 1])


def pair(results: Results, kind: str) -> np.ndarray:
    """Magnitudes of s0 and of the selected result ``(2, hop, component)``."""
    return results.task3["magnitude"].loc[kind].values[[0, 1 + results.task3.attrs["selected"]]]


def stratum_edges(hop: int) -> list[str]:
    edges = Stratification(caveman_graph(), hops=[hop]).strata.at(hop).edges
    return sorted("".join(NODES[node] for node in edge) for edge in edges)


def reduced_stratum(hop: int) -> tuple[list[str], set[frozenset[str]]]:
    """Classes of nodes with equal neighbours in a stratum of the 13-node graph, and which of them are joined."""
    edges = stratum_edges(hop)
    neighbours = {node: frozenset("".join(e for e in edges if node in e)) - {node} for node in NODES}
    classes: dict[frozenset[str], str] = {}
    for node in NODES:
        if neighbours[node]:
            classes[neighbours[node]] = classes.get(neighbours[node], "") + node
    home = {node: members for members in classes.values() for node in members}
    return list(classes.values()), {frozenset((home[edge[0]], home[edge[1]])) for edge in edges}


def spans(results: Results) -> np.ndarray:
    """Distance of the 0.1 and 0.9 quantiles of the scores ``(stage, measure)``."""
    return np.diff(np.quantile(results.runs["score"].values, [0.1, 0.9], axis=1), axis=0)[0]


def groups(results: Results) -> tuple[int, int]:
    group = results.runs["group_of_run"].values
    return int(np.count_nonzero(group == "good")), int(np.count_nonzero(group == "bad"))


def score_paths(results: Results) -> dict[str, np.ndarray]:
    """Scores ``(run, epoch, measure)`` of each group at every epoch."""
    of = results.runs["group_of_run"].values[results.runs["chosen_run"].values]
    path = results.runs["score_over_epochs"].values
    return {name: path[of == name] for name in GROUPS if (of == name).any()}


def zero_share(results: Results, kind: str) -> np.ndarray:
    """Mean share of energy at eigenvalue zero, K = 1, of starts and of results."""
    energy = results.runs["magnitude"].loc[:, kind].values[:, :, 0] ** 2  # (stage, run, component)
    return (energy[..., 0] / energy.sum(axis=-1)).mean(axis=1)


def namespace(results: Results) -> dict[str, Any]:
    """Give the names that a claim's expressions use: functions here and of the tasks, applied to a run's results."""
    known: dict[str, Any] = {name: value for name, value in globals().items() if name.isupper()}
    known |= vars(results) | {"np": np, "below": below, "at_least": at_least, "above": above}
    datasets = {task1: results.task1, task2: results.task2, task3: results.task3, smoothing_runs: results.runs}
    for module, given in {sys.modules[__name__]: results, **datasets}.items():
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module.__name__:
                takes = next(iter(inspect.signature(function).parameters), "") in ("results", "ds")
                known.setdefault(name, partial(function, given) if takes else function)
    return known
