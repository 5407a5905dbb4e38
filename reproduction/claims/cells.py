"""Cells of the tables of Tasks 1 and 2."""

from functools import partial

import numpy as np

from reproduction.claims import published
from reproduction.claims.claim import Check, Finding, Results, below, claim, show, within
from reproduction.claims.tools import MEMBERS, beside, means, pairs
from reproduction.tasks import task1, task2

_task1, _task2 = partial(claim, "1", "task1"), partial(claim, "2", "task1 task2")

for _algorithm in task1.ALGORITHMS:

    def _row(results: Results, algorithm: str = _algorithm) -> Finding:
        found = means(results, "ERM-Rand", algorithm, 1, 4)
        wanted = published.ERM_RAND[algorithm][:4]
        spread = task1.deviations(results.task1, "ERM-Rand", algorithm)[:4]
        return Finding(
            f"K = 1..4: {show(found)} (± {show(spread)}); {beside(results, 'ERM-Rand', 4)}",
            within(found, wanted, published.TOLERANCE[algorithm]),
            f"Largest distance from the published means {np.nanmax(np.abs(found - wanted)):.3f}.",
            found - means(results, "ERM-Rand", "flat", 1, 4),
        )

    _task1(
        f"t1-erm-rand-{_algorithm.replace('_', '-')}",
        f"Mean cosine of {_algorithm.upper().replace('_', '-')} with the GFT on ERM-Rand, K = 1..4.",
        show(published.ERM_RAND[_algorithm][:4]),
        f"each mean within {published.TOLERANCE[_algorithm]}",
    )(_row)


def _pulse_cells(results: Results, first: int, last: int, note: str) -> Finding:
    checks: list[Check] = []
    told, over = [], []
    flat = means(results, "ERM-Pulse", "flat", first, last)
    for algorithm in task1.ALGORITHMS:
        found = means(results, "ERM-Pulse", algorithm, first, last)
        over.append(found - flat)
        checks += within(
            found, published.ERM_PULSE[algorithm][first - 1 : last][: len(found)], published.TOLERANCE[algorithm]
        )
        told.append(f"{algorithm} {show(found)}")
    return Finding(f"{'; '.join(told)}; {beside(results, 'ERM-Pulse', last, first)}", checks, note, over)


@_task1(
    "t1-erm-pulse-low",
    "Mean cosines with the GFT on ERM-Pulse, K = 1..3, all five algorithms.",
    "; ".join(f"{name} {show(row[:3])}" for name, row in published.ERM_PULSE.items()),
    "each mean within 0.05 (IN-AGG 0.12)",
)
def _(results: Results) -> Finding:
    return _pulse_cells(results, 1, 3, "No pulse falls on a singleton at these hops.")


@_task1(
    "t1-erm-pulse-high",
    "Mean cosines with the GFT on ERM-Pulse, K = 4..7, all five algorithms.",
    "; ".join(f"{name} {show(row[3:])}" for name, row in published.ERM_PULSE.items()),
    "each mean within 0.05 (IN-AGG 0.12), pulses on singletons counted as 0",
)
def _(results: Results) -> Finding:
    on = task1.column_wise(results.task1["on_singleton"].loc["ERM-Pulse"].values, np.mean)[3]
    reach = np.isfinite(results.task1["n_edges"].loc["ERM-Pulse"].values).sum(axis=0)[5:7]
    without = [task1.without_singletons(results.task1, "ERM-Pulse", m)[3] for m in task1.ALGORITHMS]
    return _pulse_cells(
        results,
        4,
        7,
        f"At K = 4 {on:.0%} of the pulses fall on a singleton and count as 0, without them the means are "
        f"{show(without)} for {', '.join(task1.ALGORITHMS)}; K = 6 and 7 rest on "
        f"{' and '.join(map(str, reach))} graphs.",
    )


@_task1(
    "t1-sbm-rand",
    "SBM-Rand differs little from ERM-Rand up to K = 5.",
    "at most 0.06",
    "each mean of the five algorithms within 0.06 of ERM-Rand's",
    "Random signals leave no trace of blocks; what moves the means is the density of the strata.",
)
def _(results: Results) -> Finding:
    gaps = means(results, "SBM-Rand", task1.ALGORITHMS, 1, 5) - means(results, "ERM-Rand", task1.ALGORITHMS, 1, 5)
    return Finding(
        f"largest difference per algorithm {show([np.nanmax(np.abs(gap)) for gap in gaps])}; "
        f"SBM {beside(results, 'SBM-Rand', 5)}",
        below(np.abs(gaps), published.SBM_RAND_DIFFERENCE + 1e-9),
    )


@_task2(
    "t2-erm-rand-pairs",
    "Mean agreement of every pair of algorithms on ERM-Rand, K = 1..4.",
    "; ".join(f"{a}~{b} {show(row)}" for (a, b), row in published.AGREEMENT.items()),
    "each mean within 0.05, pairs with IN-AGG 0.12",
)
def _(results: Results) -> Finding:
    checks: list[Check] = []
    told = []
    for pair, wanted in published.AGREEMENT.items():
        found = pairs(results, "ERM-Rand", pair, 1, 4)
        checks += within(found, wanted, 0.12 if "in_agg" in pair else 0.05)
        told.append(f"{'~'.join(pair)} {show(found)}")
    flat = [task2.flat_means(results.task2, "ERM-Rand", m)[0] for m in MEMBERS]
    return Finding(
        "; ".join(told),
        checks,
        f"At K = 1 the algorithms' cosines with the flat spectrum are {show(flat)} ({', '.join(MEMBERS)}).",
    )
