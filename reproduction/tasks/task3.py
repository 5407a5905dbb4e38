"""Task 3: a regularised low-pass filter on the 13-node graph, and what the spectra say of it."""

from pathlib import Path

import numpy as np
import xarray as xr

from reproduction.bases import basis_unit
from reproduction.pool import Unit, run_units
from reproduction.store import Store
from reproduction.tasks.caveman import NODES, caveman_graph, start_signal
from reproduction.tasks.clustering import cluster, scores
from reproduction.tasks.released import Spectrometer
from reproduction.tasks.settings import Settings
from reproduction.tasks.smoothing import learn, normalised
from spectrata.many.work import one_thread
from spectrata.stats.describe.levels import group_reduce

WEIGHTS = np.arange(11) / 10.0
BASES_PER_UNIT = 5


def run(settings: Settings, out: str | Path, jobs: int = 1) -> xr.Dataset:
    """Task 3 as one Dataset; snapshot 0 is the start s0, snapshot ``1 + i`` the result at ``WEIGHTS[i]``."""
    start = normalised(start_signal())
    with one_thread():
        starts = np.repeat(start_signal()[None], len(WEIGHTS), axis=0)
        learned = learn(caveman_graph(), starts, WEIGHTS, settings.low_pass_epochs)
        embeddings = np.concatenate([start[None], learned.final])  # (12, n, d)
        spectra = Spectrometer(settings)(embeddings, variants=True)
        score = scores(embeddings)
        labels = np.stack([cluster(embedding) for embedding in embeddings])
    selected = select(score[1:])
    pair = embeddings[[0, 1 + selected]]
    spaces, n = spectra["eigenspace"].values, len(NODES)
    ds = spectra.assign(
        embedding=(("snapshot", "node", "dimension"), embeddings),
        labels=(("snapshot", "node"), labels),
        score=(("snapshot", "measure"), score),
        merged=(("snapshot", "hop", "space"), group_reduce(spectra["magnitude"].loc["ens"].values, spaces, n)),
        merged_eigenvalue=(("hop", "space"), _first_of_each(spectra["eigenvalue"].values, spaces)),
        tau=(("epoch", "weight"), learned.tau),
        epsilon=(("epoch", "weight"), learned.epsilon),
        basis_merged=(("base", "stage", "hop", "space"), _in_random_bases(pair, settings, out, jobs)),
    ).assign_coords(measure=["ARI", "AMI"], weight=WEIGHTS, stage=["start", "selected"])
    return ds.assign_attrs(task=3, selected=int(selected), selected_weight=float(WEIGHTS[selected]), **vars(settings))


def select(score: np.ndarray) -> int:
    """The smallest weight with a perfect ARI or AMI; the best one where none is perfect."""
    perfect = np.flatnonzero((score >= 1.0 - 1e-9).any(axis=1))
    return int(perfect[0]) if len(perfect) else int(np.argmax(score.sum(axis=1)))


def _first_of_each(values: np.ndarray, eigenspace: np.ndarray) -> np.ndarray:
    """The eigenvalue of each eigenspace, padded with NaN."""
    table = np.full(values.shape, np.nan)
    for hop, spaces in enumerate(eigenspace):
        found, first = np.unique(spaces, return_index=True)
        table[hop, found] = values[hop, first]
    return table


def _in_random_bases(pair: np.ndarray, settings: Settings, out: str | Path, jobs: int) -> np.ndarray:
    depends = {name: getattr(settings, name) for name in ("seed", "few_trials", "ln_vx_epochs", "low_pass_epochs")}
    units: list[Unit] = [
        (f"bases-{first:04d}-{count}", (pair, settings, first, count))
        for first in range(0, settings.bases, BASES_PER_UNIT)
        for count in [min(BASES_PER_UNIT, settings.bases - first)]
    ]
    found = run_units(basis_unit, units, Store.at(out, "task3", depends), jobs)
    return np.concatenate([unit["merged"] for unit in found])


def change(ds: xr.Dataset, hop: int, eigenvalue: float) -> tuple[float, np.ndarray]:
    """Change of the merged ``ens`` from s0 to the selected result at an eigenvalue."""
    space = int(np.nanargmin(np.abs(ds["merged_eigenvalue"].values[hop - 1] - eigenvalue)))
    merged = ds["merged"].values[:, hop - 1, space]
    draws = ds["basis_merged"].values[:, :, hop - 1, space]
    return float(merged[1 + ds.attrs["selected"]] - merged[0]), draws[:, 1] - draws[:, 0]


def largest_changes(ds: xr.Dataset, weight: float, kind: str = "ens") -> np.ndarray:
    """Largest change of the normalised magnitudes between s0 and the result at a weight, per hop."""
    magnitude = ds["magnitude"].loc[kind].values
    return np.abs(magnitude[1 + round(10 * weight)] - magnitude[0]).max(axis=1)


def norms(ds: xr.Dataset, kind: str = "ens_raw") -> tuple[np.ndarray, np.ndarray]:
    """l2 norms of the raw magnitudes per hop: of s0, and of the selected result."""
    magnitude = np.linalg.norm(ds["magnitude"].loc[kind].values, axis=2)
    return magnitude[0], magnitude[1 + ds.attrs["selected"]]
