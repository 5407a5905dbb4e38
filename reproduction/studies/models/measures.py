"""Measures of hidden states, several runs at once: those of ``smoothness``, likeness and energy in bands per hop.

Directions are rows over their norms. A dead row is zero: it is left out of ``off_zero``, ``mad`` and the contrasts,
and stays zero elsewhere.
"""

from collections.abc import Sequence

import numpy as np
import torch

from reproduction.studies.models.protocol import HOPS
from reproduction.studies.models.structure import BANDS, Structure
from spectrata.core.stratification import Stratification
from spectrata.stats.describe.smoothness import smoothness

RANKS = ("effective_rank", "stable_rank")
FORMS = ("", "directions_", "centred_", "centred_directions_")
BAND_NAMES = tuple(f"band_{hop}_{band}" for hop in HOPS for band in range(BANDS + 1))
PLAIN = {  # as the study calls them: as smoothness does
    "off_zero": "off_zero_live",
    "off_zero_dead_as_zero": "off_zero",
    "dead_share": "dead_rows",
    "mad": "mad",
    "dirichlet": "dirichlet",
    "rayleigh": "dirichlet_share",
    "rayleigh_normalized": "dirichlet_normalized_share",
    "rayleigh_directions": "dirichlet_share",
    "norm": "norm",
}
MEASURES = (
    *PLAIN,
    *(form + rank for form in FORMS for rank in RANKS),
    *(f"contrast_{hop}" for hop in HOPS),
    *BAND_NAMES,
)


def measure_states(states: Sequence[torch.Tensor], structure: Structure) -> np.ndarray:
    """Every measure of every state: S states ``(n, R, h)`` -> ``(S, R, measure)``, NaN where undefined."""
    arrays = [state.detach().double().cpu().numpy().transpose(1, 0, 2) for state in states]
    return np.stack([measure(np.ascontiguousarray(array), structure) for array in arrays])


def measure(values: np.ndarray, structure: Structure) -> np.ndarray:
    """Every measure of one state of R runs: ``(R, n, h) -> (R, measure)``; NaN for a run that is not finite."""
    good = np.isfinite(values).all(axis=(1, 2))
    values = np.where(good[:, None, None], values, 0.0)
    size = np.linalg.norm(values, axis=2, keepdims=True)
    live = size[..., 0] > 0  # (R, n)
    t = values / np.where(size > 0, size, 1.0)
    count = np.maximum(live.sum(axis=1), 1)
    centred_t = (t - t.sum(axis=1, keepdims=True) / count[:, None, None]) * live[..., None]
    first = structure.strat.only(1)
    forms = (values, t, values - values.mean(axis=1, keepdims=True), centred_t)
    found = {form: _measures(first, array) for form, array in zip(FORMS, forms, strict=True)}
    columns = {name: found[""][theirs] for name, theirs in PLAIN.items()}
    columns["rayleigh_directions"] = found["directions_"]["dirichlet_share"]
    columns["mad"] = np.array([_live_mad(t[row], live[row], structure, columns["mad"][row]) for row in range(len(t))])
    columns |= {f"{form}{rank}": found[form][rank] for form in FORMS for rank in RANKS}
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = 2 * np.sum(centred_t**2, axis=(1, 2)) / (count - 1)  # mean squared distance of live pairs
        columns |= {f"contrast_{hop}": 1 - _pair_mean(t, live, structure.pairs[hop]) / apart for hop in HOPS}
        columns |= band_shares(t, structure)
    return np.where(good[:, None], np.stack([columns[name] for name in MEASURES], axis=1), np.nan)


def _measures(strat: Stratification, values: np.ndarray) -> dict[str, np.ndarray]:
    """The measures of ``smoothness`` at the first hop: ``(R, n, h) -> (R,)`` each."""
    found = smoothness(strat, values, metric="angular", zero_vectors="zero").sel(hop=1)
    return {str(name): array.values for name, array in found.data_vars.items()}


def _live_mad(t: np.ndarray, live: np.ndarray, structure: Structure, plain: float) -> float:
    """Mean average distance over the edges between live nodes; NaN without a live node."""
    if live.all():
        return plain
    edges = structure.graph.edges[live[structure.graph.edges].all(axis=1)]
    if not len(edges):
        return 0.0 if live.any() else np.nan
    return float(_measures(Stratification(edges=edges, n_nodes=len(t), hops=1), t[None])["mad"][0])


def _pair_mean(t: np.ndarray, live: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Mean squared difference over pairs of live nodes: ``(R,)``, NaN without such a pair."""
    x, y = pairs.T
    both = live[:, x] & live[:, y]
    squares = np.stack([np.sum((row[x] - row[y]) ** 2, axis=1) for row in t])
    return np.sum(squares * both, axis=1) / both.sum(axis=1)


def band_shares(t: np.ndarray, structure: Structure) -> dict[str, np.ndarray]:
    """Share of energy at eigenvalue zero and in four bands of each hop's Laplacian; NaN where there is no basis."""
    found = {name: np.full(len(t), np.nan) for name in BAND_NAMES}
    spectra = structure.banded.spectra(t, "gft", metric="euclidean")
    for row, hop in enumerate(structure.banded.hops):
        energy = spectra["magnitude"].values.reshape(len(t), -1, t.shape[1])[:, row] ** 2  # (R, component)
        for band in range(BANDS + 1):
            inside = energy[:, structure.bands[hop] == band - 1].sum(axis=1)
            found[f"band_{hop}_{band}"] = inside / energy.sum(axis=1)
    return found
