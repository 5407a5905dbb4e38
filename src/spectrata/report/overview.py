"""What the first screen shows: likeness per hop with its verdicts, energy over chance, cumulative energy."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spectrata.core.registry import EXACT
from spectrata.core.stratification import Stratification
from spectrata.inputs.signals import Signal
from spectrata.plot.style import count
from spectrata.results.schema import View
from spectrata.stats.describe.cumulative import cumulative_energy
from spectrata.stats.findings import LEVEL, Findings
from spectrata.stats.findings import VERDICTS as FOUND
from spectrata.stats.verbs.calibrate import calibrate_result
from spectrata.stats.verbs.correlogram import correlogram
from spectrata.stats.verdict import is_layers, places

if TYPE_CHECKING:
    import xarray as xr

BANDS = 8  # columns of the map of energy over chance
POINTS = 100  # of a cumulative curve
DRAWS, LEAST_DRAWS = 199, 39  # behind the range of chance of a cumulative curve; with fewer there is none
PRODUCTS = 6e10  # of signal and eigenvectors that these draws may take
ALIKE, SAME, UNLIKE = 1, 0, -1
VERDICTS = "Verdicts"
GROUPS = {
    VERDICTS: FOUND,
    "Hop distance": ("alike", "unlike", "chance"),
    "Frequency": ("smooth", "rough", "coarse"),
    "Level": ("dominated",),
}


@dataclass(eq=False)
class Likeness:
    """The correlogram, and what its tests say."""

    found: "xr.Dataset"
    verdict: np.ndarray  # (R, H): ALIKE, SAME, UNLIKE; NaN where nothing was tested
    how: str


def with_operator(strat: Stratification, result: View) -> Stratification:
    """Use the Laplacian of a result."""
    facts = result.ds.attrs
    return strat.using(laplacian=str(facts["laplacian"]), self_loops=bool(facts["self_loops"]))


def grouped(found: Findings, hops: tuple[int, ...], left_out: tuple[str, ...]) -> list[tuple[str, list[str]]]:
    """Sentences by what they are about, each once; shares at chance and sentences about other hops are left out."""
    home = {kind: group for group, kinds in GROUPS.items() for kind in kinds}
    texts: dict[str, str] = {}
    for one in found:
        quiet = one.kind == "chance" and one.statistic != "r"
        if quiet or one.kind in left_out or (one.hop is not None and one.hop not in hops):
            continue
        texts.setdefault(one.text, home.get(one.kind, "Level"))
    out = [(group, [text for text, at in texts.items() if at == group]) for group in GROUPS]
    out = [(group, lines) for group, lines in out if lines]
    first = [one for one in out if one[0] == VERDICTS]
    opening = [("Notes" if first else "", list(found.notes))] * bool(found.notes)
    return [*first, *opening, *(one for one in out if one[0] != VERDICTS)]


def likeness(strat: Stratification, signal: Signal, result: View, found: Findings | None) -> Likeness:
    """r per hop, with verdicts from the findings where they were tested."""
    hops, rows = list(result.hops), [None] if result.rows is None else list(result.rows)
    reading = {"metric": result.metric, "zero_vectors": result.options["zero_vectors"], "columns": "joint"}
    verdict = np.full((len(rows), len(hops)), np.nan)
    if "n_tested" in result.ds.attrs:  # columns as snapshots, the first of a ranking
        each = correlogram(strat, signal, **reading).sel(hop=hops)
        return _of_columns(each, result)
    each = correlogram(strat, signal, draws=0, given=None, **reading).sel(hop=hops)
    for one in found or ():
        code = {"alike": ALIKE, "unlike": UNLIKE}.get(one.verdict, SAME)
        if one.statistic == "r" and one.p == one.p and one.hop in hops and one.snapshot in rows:
            at = (rows.index(one.snapshot), hops.index(one.hop))
            verdict[at] = code
            for name, value in (("chance_low", one.chance_low), ("chance_high", one.chance_high)):
                np.atleast_2d(each[name].values)[at] = value
    tests = 0 if found is None else found.tests
    return Likeness(each, verdict, f"p corrected over {count(tests, 'test')}" if tests else "not tested")


def tested_rows(result: View) -> list[int]:
    """Rows that are tested against chance: the first, the last, and the layers that verdicts judge."""
    layers = places(result.ds).values() if is_layers(result.ds) else ()
    return sorted({0, len(result.status[0]) - 1, *layers})


def _of_columns(each: "xr.Dataset", result: View) -> Likeness:
    """Hops of the columns that the ranking selected, at a level that counts the selection and all hops.

    Tests of the hops of a column at ``LEVEL`` times the share of columns that are selected, divided by the number of
    hops, keep the expected share of selected columns with a false hop at ``LEVEL`` (Benjamini and Bogomolov 2014).
    """
    total, clear = (int(result.ds.attrs[name]) for name in ("n_tested", "n_clear"))
    hops = len(result.hops)
    level = LEVEL * clear / (total * hops)
    r, p, p_given, low, high = (
        np.atleast_2d(each[name].values) for name in ("r", "p", "p_given", "chance_low", "chance_high")
    )
    passes = (p <= level) & ~(p_given > level)
    verdict = np.where(np.isnan(p), np.nan, np.where(passes, np.where(2 * r > low + high, ALIKE, UNLIKE), SAME))
    verdict[clear:] = np.where(np.isnan(verdict[clear:]), np.nan, SAME)  # the first of the ranking were selected
    why = f"{clear:,} of {total:,} tested columns {'has' if clear == 1 else 'have'} q <= {LEVEL}"
    why += f", and {count(hops, 'hop')} {'is' if hops == 1 else 'are'} tested"
    need = f"alike or unlike where p <= {level:.2g}, the level {LEVEL} lowered because {why}"
    return Likeness(each, verdict, need if clear else f"no column has q <= {LEVEL}, so no hop counts")


def bands_over_chance(strat: Stratification, signal: Signal, result: View) -> "xr.Dataset":
    """Compute GFT energy of eight bands per hop over what permutations give on average."""
    found = calibrate_result(result.ds, signal, EXACT, strat=strat, draws=0, level="band", bands=BANDS)
    return found.sel(hop=list(result.hops), algorithm=EXACT)


def cumulative(strat: Stratification, signal: Signal, result: View) -> "xr.Dataset":
    """Cumulative GFT energy; the range of chance as far as its draws are quick."""
    snapshots, n, d = signal.values.shape
    draws = int(min(DRAWS, PRODUCTS // (snapshots * n * n * d * len(strat.hops))))
    points = POINTS if snapshots <= 10 else POINTS // 3
    given = {"metric": result.metric, "zero_vectors": result.options["zero_vectors"]}
    found = cumulative_energy(
        with_operator(strat, result), signal, draws=draws if draws >= LEAST_DRAWS else 0, points=points, **given
    )
    return found.sel(hop=list(result.hops))
