"""The labelled result of ``band_spectra``: the one schema, with bands as components behind the zero component."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spectrata.bands.settings import Settings
from spectrata.core.bases.basis import sum_rounding
from spectrata.core.hop import OK, ZERO_VECTOR
from spectrata.inputs.device import DeviceGraph
from spectrata.inputs.graphs import Graph
from spectrata.inputs.signals import Potential, Signal
from spectrata.results.build import Axis, HopResult, build, in_units
from spectrata.results.schema import BANDS

if TYPE_CHECKING:
    import xarray as xr

NO_ENERGY = "no energy off zero"
CONFIDENCE = 0.95  # as everywhere in the package
NAMES = {
    "energy": "energy in each band",
    "energy_lower": "lower bound of the energy; end of its 95 % interval where random orientations are averaged",
    "energy_upper": "upper bound of the energy; end of its 95 % interval where random orientations are averaged",
    "energy_error": "standard error of the energy over random orientations",
    "energy_outside": "energy off zero below the first or above the last edge",
    "edge_energy": "energy within rounding of the band's upper edge, counted in this band",
    "cumulative": "share of the energy off zero at or below the band's upper edge",
    "cumulative_lower": "lower bound of the cumulative share",
    "cumulative_upper": "upper bound of the cumulative share",
    "zero_energy": "energy at eigenvalue 0",
    "steps": "Lanczos steps taken, 0 where the hop was decomposed",
    "band_lower": "lower edge of the band, not in it",
    "band_upper": "upper edge of the band, in it",
    "band_size": "eigenvalues in the band",
    "band_size_error": "standard error of band_size with the half widths of its bounds, 0 where it is counted",
    "chance": "band_size over the number of eigenvalues off zero",
}


@dataclass(frozen=True, eq=False)
class BandSizes:
    """The bands of one operator, and how many eigenvalues are in them."""

    edges: np.ndarray  # (B + 1,)
    top: float  # largest eigenvalue, or nearly
    sizes: tuple[int, int, int]  # edges of the graph, parts, singletons; -1 where not known
    n_off_zero: int
    band_size: np.ndarray  # (B,)
    band_size_error: np.ndarray  # (B,)
    complete: bool  # whether the bands cover all eigenvalues off zero


@dataclass(frozen=True, eq=False)
class HopBands:
    """Energies of one hop, before labels. ``B`` bands, ``B + 1`` edges."""

    hop: int
    places: BandSizes
    lower: np.ndarray  # (algorithm, T, B + 1) of the energy off zero at or below each edge
    upper: np.ndarray
    on_edge: np.ndarray
    mass: np.ndarray  # (algorithm, T) energy off zero
    zero: np.ndarray  # (algorithm, T)
    spread: np.ndarray  # (algorithm, T, B) variance of the mean over orientations
    steps: np.ndarray  # (algorithm, T)
    squares: np.ndarray  # (T,) squared gradient norm

    @property
    def energy(self) -> np.ndarray:
        """Energy of each band from the middle of the bounds, ``(algorithm, T, B)``."""
        return np.diff((self.lower + self.upper) / 2, axis=-1)

    def interval(self, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
        """Ends of an interval around the energy of each band, ``(algorithm, T, B)`` twice.

        The bounds at both edges hold for certain. Where orientations are averaged, Student's t over them is added, on
        the logarithm: energies of few components are skewed, and intervals symmetric about them cover too little.
        """
        energy = self.energy
        reach = (self.upper[..., 1:] - self.lower[..., 1:] + self.upper[..., :-1] - self.lower[..., :-1]) / 2
        factor = np.ones_like(energy)
        if self.spread.any():
            from scipy.stats import t

            error = np.divide(np.sqrt(self.spread), energy, out=np.zeros_like(energy), where=energy > 0)
            factor = np.exp(t.ppf((1 + CONFIDENCE) / 2, settings.orientations - 1) * error)
        return np.maximum(energy / factor - reach, 0.0), energy * factor + reach

    def status(self, settings: Settings) -> np.ndarray:
        """A word for each algorithm and snapshot, ``(algorithm, T)``: "ok" where all bounds are within ``tol``."""
        words = np.full(self.mass.shape, OK, dtype=object)
        words[self.mass == 0] = NO_ENERGY
        half = np.max(self.upper - self.lower, axis=-1) / 2
        for m, t in np.argwhere(half > settings.tol * self.mass):
            share = half[m, t] / self.mass[m, t]
            words[m, t] = f"not settled to {settings.tol:g} after {self.steps[m, t]} steps: bounds of ±{share:.2g}"
        return words

    def result(self, field: Potential, settings: Settings) -> HopResult:
        """Energies and magnitudes in the signal's units, for the builder."""

        def units(array: np.ndarray, power: int) -> np.ndarray:  # (algorithm, T, ...)
            return np.stack([in_units(row, field.scale**power, field.undefined) for row in array])

        energy, zero = self.energy, self.zero[..., None]
        least, most = self.interval(settings)
        magnitude, *ends = (np.sqrt(np.concatenate([zero, part], axis=-1)) for part in (energy, least, most))
        error = np.max(np.abs(np.stack(ends) - magnitude), axis=0)
        # What lies at zero is summed, or measured like a band where the parts are not known.
        at_zero = sum_rounding(field.values.shape[1]) if self.places.sizes[1] >= 0 else np.nan
        error[..., 0] = at_zero * magnitude[..., 0]
        mass = np.where(self.mass > 0, self.mass, np.nan)[..., None]
        low, high = self.lower[..., 1:] / mass, self.upper[..., 1:] / mass
        bands, alone = ("algorithm", "snapshot", "band"), ("algorithm", "snapshot")
        return HopResult(
            hop=self.hop,
            sizes=self.places.sizes,
            axis=band_axis(self.places.edges, self.places.sizes[1], self.places.complete),
            magnitude=units(magnitude, 1),
            magnitude_error=units(error, 1),
            status=np.where(field.undefined, ZERO_VECTOR, self.status(settings)),
            gradient_norm=in_units(np.sqrt(self.squares), field.scale, field.undefined),
            extras={
                "energy": (bands, units(energy, 2)),
                "energy_lower": (bands, units(least, 2)),
                "energy_upper": (bands, units(most, 2)),
                "energy_error": (bands, units(np.sqrt(self.spread), 2)),
                "energy_outside": (alone, units(np.maximum(self.mass - energy.sum(axis=-1), 0.0), 2)),
                "edge_energy": (bands, units(self.on_edge[..., 1:], 2)),
                "cumulative": (bands, units((low + high) / 2, 0)),
                "cumulative_lower": (bands, units(low, 0)),
                "cumulative_upper": (bands, units(high, 0)),
                "zero_energy": (alone, units(self.zero, 2)),
                "steps": (alone, self.steps),
            },
        )


def band_axis(edges: np.ndarray, parts: int | np.ndarray, complete: bool | np.ndarray) -> Axis:
    """The zero component, one for each of some ``parts``, and the bands, each as one component at its centre."""
    order = np.arange(len(edges))
    sizes = np.where(order == 0, np.maximum(parts, 1), 1)
    return Axis(order, np.append(0.0, (edges[1:] + edges[:-1]) / 2), order, sizes, order == 0, complete)


def label(
    graph: Graph | DeviceGraph,
    signal: Signal,
    field: Potential,
    hops: Sequence[HopBands],
    settings: Settings,
    zero_vectors: str,
    weights: str = "",
) -> "xr.Dataset":
    """Put labels on the arrays, once; the result of an operator, or of a huge graph on a GPU, has no edges.

    ``weights`` is the rule for pairs more than one hop apart, empty where all weights are 1.
    """
    options = settings.plain() | {"hops": [at.hop for at in hops], "zero_vectors": zero_vectors}
    options["columns"] = "joint" if signal.separate is None else "separate"
    facts = {"kind": BANDS, "metric": field.metric, "weights": weights, "seed": settings.seed, "n_nodes": graph.n_nodes}
    facts |= {"laplacian": settings.laplacian.laplacian, "self_loops": int(settings.laplacian.self_loops)}
    facts["options"] = json.dumps(options)
    shown = graph if graph.n_edges else None
    if isinstance(graph, DeviceGraph) and not graph.keeps_edges:
        shown, facts = None, facts | {"n_edges": graph.n_edges, "graph_hash": graph.digest}
    ds = build(shown, signal, [at.result(field, settings) for at in hops], settings.algorithms, facts)
    places, dims = [at.places for at in hops], ("hop", "band")
    cut, size, size_error = (
        np.stack([getattr(one, name) for one in places]) for name in ("edges", "band_size", "band_size_error")
    )
    ds = ds.assign_coords(
        band=np.arange(cut.shape[1] - 1),
        band_lower=(dims, cut[:, :-1]),
        band_upper=(dims, cut[:, 1:]),
        band_size=(dims, size),
        band_size_error=(dims, size_error),
        chance=(dims, size / np.maximum([[one.n_off_zero] for one in places], 1)),
    )
    for name, words in NAMES.items():
        ds[name].attrs["long_name"] = words
    index = np.int32 if graph.n_nodes < 2**31 else np.int64
    return ds.assign(edges=ds["edges"].astype(index, copy=False))
