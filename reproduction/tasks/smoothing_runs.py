"""Tasks 4 to 8: many runs of the unregularised model, and what tells good from bad ones.

All runs are learned in one batch. Their starts and results are clustered in chunks, and the good and bad ones at
every epoch, one unit of work per run.
"""

from pathlib import Path

import numpy as np
import xarray as xr

from reproduction.pool import Unit, run_units
from reproduction.store import Store
from reproduction.tasks.caveman import NODES, caveman_graph
from reproduction.tasks.clustering import score_unit
from reproduction.tasks.released import Spectrometer
from reproduction.tasks.settings import Settings, generator
from reproduction.tasks.smoothing import learn, normalised
from spectrata.core.algorithms.ens import unit_norm
from spectrata.core.registry import PAPER, row_of
from spectrata.many.work import one_thread
from spectrata.stats.describe.snapshots import distances, pairwise, pearson

GOOD, BAD = 0.8, 0.3  # thresholds on ARI or AMI
CHUNK = 50  # runs clustered in one unit of work
GROUPS = ("good", "bad")


def run(settings: Settings, out: str | Path, jobs: int = 1) -> xr.Dataset:
    """Tasks 4 to 8 as one Dataset: starts, results, scores, groups, spectra, and derivatives over epochs."""
    rngs = [generator(settings.seed, 4, number) for number in range(settings.runs)]
    starts = normalised(np.stack([rng.uniform(-1.0, 1.0, (len(NODES), 3)) for rng in rngs]))  # (R, n, d)
    with one_thread():  # all runs in one batch, every epoch recorded
        learned = learn(caveman_graph(), starts, 0.0, settings.epochs, record=1)
    store = Store.at(out, "tasks4-8", {name: getattr(settings, name) for name in ("seed", "runs", "epochs")})
    units: list[Unit] = [
        (f"{stage}-{first:04d}", (embeddings[first : first + CHUNK],))
        for stage, embeddings in (("start", starts), ("final", learned.final))
        for first in range(0, settings.runs, CHUNK)
    ]
    ends = np.concatenate([unit["scores"] for unit in run_units(score_unit, units, store, jobs)])
    ends = ends.reshape(2, settings.runs, 2)  # (start or final, run, score)
    group = select(ends[1])
    chosen = np.flatnonzero(group != "")
    units = [(f"epochs-{r:04d}", (np.ascontiguousarray(learned.recorded[:, r]),)) for r in chosen]
    path = [unit["scores"] for unit in run_units(score_unit, units, store, jobs)]
    with one_thread():
        spectrometer = Spectrometer(settings)
        spectra = {"start": spectrometer(starts, variants=True), "final": spectrometer(learned.final, variants=True)}
        evolution = _evolution(spectrometer, learned.recorded, group)
    first = spectra["start"]
    magnitude, norms = (np.stack([one[name] for one in spectra.values()]) for name in ("magnitude", "gradient_norm"))
    kept = {name: first[name].variable for name in ("eigenvalue", "eigenspace", "eigenvectors", "multiplicity")}
    ds = xr.Dataset(
        {
            "embedding": (("stage", "run", "node", "dimension"), np.stack([starts, learned.final])),
            "score": (("stage", "run", "measure"), ends),
            "tau": (("epoch", "run"), learned.tau),
            "score_over_epochs": (("chosen", "epoch", "measure"), np.reshape(path, (-1, len(learned.recorded), 2))),
            "magnitude": (("stage", "kind", "run", "hop", "component"), magnitude),
            "gradient_norm": (("stage", "run", "hop"), norms),
            **kept,
            **evolution,
        },
        {"stage": ["start", "final"], "kind": first["kind"].values, "hop": first["hop"].values, "node": list(NODES)}
        | {"measure": ["ARI", "AMI"], "group_of_run": ("run", group), "chosen_run": ("chosen", chosen)}
        | {"group": list(GROUPS), "n_parts": ("hop", first["n_parts"].values)},
    )
    return ds.assign_attrs(task="4-8", **vars(settings))


def select(scores: np.ndarray) -> np.ndarray:
    """ "good", "bad" or "" for each run, by its ARI or AMI: ``(R, 2) -> (R,)``."""
    good, bad = (scores >= GOOD).any(axis=1), (scores <= BAD).any(axis=1)
    return np.where(good & ~bad, "good", np.where(bad & ~good, "bad", ""))


def _evolution(spectrometer: Spectrometer, recorded: np.ndarray, group: np.ndarray) -> dict[str, tuple]:
    """Mean magnitude of each group at every epoch, raw and normalised, and their changes from epoch to epoch.

    ``*_change`` is the mean over runs of the change, ``*_change_size`` of its absolute value.
    """
    epochs, hops, n = len(recorded), len(spectrometer.strat.hops), recorded.shape[2]
    sums = {
        name: np.zeros((2, len(GROUPS), len(PAPER), epochs - late, hops, n))
        for name, late in (("mean", 0), ("change", 1), ("size", 1))
    }
    counts = [max(1, np.count_nonzero(group == name)) for name in GROUPS]
    grows = np.array([row_of(kind).grows for kind in PAPER])[:, None, None, None]
    for run_index in np.flatnonzero(group != ""):
        g = GROUPS.index(str(group[run_index]))
        found = spectrometer(recorded[:, run_index])["magnitude"].values  # (kind, epoch, hop, n)
        # What is made of normalised members stays as it is.
        for form, values in enumerate((found, np.where(grows, unit_norm(found), found))):
            change = np.diff(values, axis=1)
            sums["mean"][form, g] += values / counts[g]
            sums["change"][form, g] += change / counts[g]
            sums["size"][form, g] += np.abs(change) / counts[g]
    at = ("form", "group", "evolving_kind")
    return {
        "evolution": ((*at, "epoch", "hop", "component"), sums["mean"]),
        "evolution_change": ((*at, "step", "hop", "component"), sums["change"]),
        "evolution_change_size": ((*at, "step", "hop", "component"), sums["size"]),
        "form": (("form",), np.array(["raw", "normalised"])),
        "evolving_kind": (("evolving_kind",), np.array(PAPER)),
    }


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


def interval(x: np.ndarray, y: np.ndarray, rng: np.random.Generator, resamples: int) -> np.ndarray:
    """Percentile bootstrap interval ``(2, p)`` of the correlations of columns, resampling the rows."""
    draws = rng.integers(len(x), size=(resamples, len(x))) if len(x) else np.empty((2, 0), dtype=int)
    found = np.array([correlation(x[rows], y[rows]) for rows in draws])
    return np.nanpercentile(found, [2.5, 97.5], axis=0) if np.isfinite(found).any() else found[:2]


def correlation(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Pearson's correlation of the columns of ``x (r, p)`` with ``y (r,)``; NaN for fewer than three rows."""
    return pearson(x, y) if len(x) > 2 else np.full(x.shape[1], np.nan)


def group_spectra(ds: xr.Dataset, stage: str, kind: str, group: str) -> np.ndarray:
    return ds["magnitude"].loc[stage, kind].values[ds["group_of_run"].values == group]


def good_against_bad(ds: xr.Dataset, stage: str, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Largest mean difference ``(hop,)``; Wasserstein distances ``(statistic, scheme, hop)``: GB-GG, GB-BB, GG-BB."""
    good, bad = (group_spectra(ds, stage, kind, name) for name in GROUPS)
    return mean_difference(good, bad), schemes_over_hops(good, bad)


def start_against_final(ds: xr.Dataset, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """The same for starts and results of all good and bad runs: IF-II, IF-FF, II-FF."""
    chosen = ds["group_of_run"].values != ""
    start, final = (ds["magnitude"].loc[stage, kind].values[chosen] for stage in ("start", "final"))
    return mean_difference(start, final), schemes_over_hops(start, final)


def correlations(
    ds: xr.Dataset, stage: str, quantity: str, over_all: bool = False, spearman: bool = False, intervals: bool = False
) -> np.ndarray:
    """Correlation of the final scores with a norm per hop: ``(measure, hop)``, or ``(measure, 2, hop)`` intervals.

    ``quantity`` is "gradient" or a kind of magnitude, whose l2 norm is taken; over good and bad runs, or over all.
    """
    from scipy.stats import rankdata

    if quantity == "gradient":
        norms = ds["gradient_norm"].loc[stage].values
    else:
        norms = np.linalg.norm(ds["magnitude"].loc[stage, quantity].values, axis=2)
    rows = over_all | (ds["group_of_run"].values != "")
    norms, scores = norms[rows], ds["score"].loc["final"].values[rows]
    if spearman:
        norms, scores = rankdata(norms, axis=0), rankdata(scores, axis=0)
    if not intervals:
        return np.array([correlation(norms, score) for score in scores.T])
    rng = generator(int(ds.attrs["seed"]), 8)
    return np.array([interval(norms, score, rng, int(ds.attrs["resamples"])) for score in scores.T])
