"""Shares of the random-walk spectrum: smooth, rough, the main divide, and what lies between connected parts.

r_K is the mean of 1 - lam over the spectrum, each component weighted by its share; the shares say at which scale a
likeness lies. Eigenspaces stay whole.
"""

from dataclasses import dataclass

import numpy as np

from spectrata.core.stratification import Stratification
from spectrata.stats.describe.levels import band_groups
from spectrata.stats.observation import RANDOM_WALK, Ends, Observation, Pairs, moved
from spectrata.stats.statistics.pairs import Statistic

BANDS = 4
LEAST_COMPONENTS = 8  # off zero, below which nothing is called smooth or rough
# What is constant on connected parts lies at eigenvalue 0, in no band: bands are tested where one part has most pairs.
LARGEST_PART = 0.9
MOST_NODES = 4_000  # above which no spectrum is made
NAMES = ("smooth", "rough", "main_divide")
DESCRIBED_NODES, DESCRIBED_PAIRS, DESCRIBED_WIDTH = 100_000, 1_000_000, 4  # up to which shares are described without p


@dataclass(frozen=True, eq=False)
class Share(Statistic):
    """The share of some components: ``form (c, m)`` takes values at the pairs' nodes to their coefficients."""

    name: str
    form: np.ndarray

    def of(self, obs: Observation, ends: Ends) -> np.ndarray:
        values = ends.values
        found = (self.form @ values.reshape(len(values), -1)).reshape(-1, *values.shape[1:])
        return np.einsum("cbd,cbd->b", found, found) / ends.variation


def bands(pairs: Pairs) -> dict[str, np.ndarray]:
    """Components of the first and last of four bands and of the Fiedler eigenspace, where they may be named."""
    basis = pairs.basis
    off = int(np.count_nonzero(~basis.is_zero))
    if off == 0:
        return {}
    zero, space, size = basis.is_zero[None], basis.eigenspace[None], basis.multiplicity[None]
    band = band_groups(zero, space, size, BANDS)[0]
    found = {}
    ends = np.bincount(pairs.parts, pairs.k)
    if off >= LEAST_COMPONENTS and ends.max() >= LARGEST_PART * ends.sum():
        found["smooth"], found["rough"] = np.flatnonzero(band == 0), np.flatnonzero(band == BANDS - 1)
    first = np.flatnonzero(~basis.is_zero)[0]
    fiedler = np.flatnonzero(basis.eigenspace == basis.eigenspace[first])
    if len(np.unique(pairs.parts)) == 1 and len(fiedler) < off / BANDS:
        found["main_divide"] = fiedler
    return {name: components for name, components in found.items() if len(components)}


def shares(pairs: Pairs) -> list[Share]:
    """The shares that can be tested at a hop."""
    if not len(pairs.nodes) or pairs.n > MOST_NODES:
        return []
    vectors, root = pairs.basis.dense().astype(np.float64), np.sqrt(pairs.k)
    return [
        Share(name, np.ascontiguousarray((vectors[np.ix_(pairs.nodes, some)] * root[:, None]).T))
        for name, some in bands(pairs).items()
    ]


def between_parts(obs: Observation) -> np.ndarray:
    """The share of the components with eigenvalue 0: variation between the means of connected parts."""
    ends, pairs = moved(obs), obs.pairs
    total = np.bincount(pairs.parts, pairs.k)
    sums = np.zeros((len(total), obs.width))
    np.add.at(sums, pairs.parts, pairs.k[:, None] * ends.values[:, 0])
    return np.sum(sums**2 / total[:, None], axis=0 if obs.separate else None) / ends.variation[0]


def described(obs: Observation, strat: Stratification) -> dict[str, float]:
    """The shares "smooth" and "rough" of a large graph, about two digits of them, by Lanczos quadrature."""
    from spectrata.bands.spectra import band_spectra

    pairs, ends = obs.pairs, moved(obs)
    fits = obs.n <= DESCRIBED_NODES and len(pairs.ends) <= DESCRIBED_PAIRS and obs.width <= DESCRIBED_WIDTH
    if not fits or obs.n != strat.graph.n_nodes or np.isnan(ends.variation[0]):
        return {}
    random_walk = strat.only(pairs.stratum.hop).using(laplacian=RANDOM_WALK, self_loops=False)
    found = band_spectra(random_walk, obs.values, BANDS, spacing="count", algorithms="gft", metric="euclidean")
    energy = found["energy"].values[0, 0]
    return {"smooth": float(energy[0] / ends.variation[0]), "rough": float(energy[-1] / ends.variation[0])}
