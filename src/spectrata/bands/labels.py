"""The labelled result of ``band_spectra``: the one schema, with bands as components behind the zero component."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spectrata.bands.settings import Settings
from spectrata.core.hop import OK, ZERO_VECTOR
from spectrata.inputs.graphs import Graph
from spectrata.inputs.signals import Potential, Signal
from spectrata.results.build import Axis, HopResult, Rows, build, in_units
from spectrata.results.schema import BANDS

if TYPE_CHECKING:
    import xarray as xr

NO_ENERGY = "no energy off zero"
NAMES = {
    "energy": "energy in each band",
    "energy_error": "standard error of the energy over random orientations",
    "cumulative": "share of the energy off zero at or below the band's upper edge",
    "cumulative_lower": "lower bound of the cumulative share, rigorous up to rounding",
    "cumulative_upper": "upper bound of the cumulative share, rigorous up to rounding",
    "zero_energy": "energy at eigenvalue 0",
    "steps": "Lanczos steps taken",
    "band_lower": "lower edge of the band, not in it",
    "band_upper": "upper edge of the band, in it",
    "band_size": "eigenvalues in the band, estimated",
}


@dataclass(frozen=True, eq=False)
class HopBands:
    """What is kept of one hop, before labels. ``B`` bands, ``B - 1`` edges between them."""

    hop: int
    edges: np.ndarray  # (B + 1,)
    sizes: tuple[int, int, int]  # edges, parts, singletons; -1 where not known
    band_size: np.ndarray  # (B,)
    lower: np.ndarray  # (algorithm, T, B - 1)
    upper: np.ndarray
    mass: np.ndarray  # (algorithm, T) energy off zero
    zero: np.ndarray  # (algorithm, T)
    error: np.ndarray  # (algorithm, T, B)
    steps: np.ndarray  # (algorithm, T)
    settled: np.ndarray
    squares: np.ndarray  # (T,) squared gradient norm

    @property
    def axis(self) -> Axis:
        """The zero component and the bands, each as one component at its centre."""
        count = len(self.edges)
        order = np.arange(count)
        return Axis(
            component=order,
            eigenvalue=np.append(0.0, (self.edges[1:] + self.edges[:-1]) / 2),
            eigenspace=order,
            multiplicity=np.where(order == 0, max(self.sizes[1], 1), 1),
            is_zero=order == 0,
            complete=True,
        )

    def cumulative(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Shares of the energy off zero at upper edges: lower bound, middle, upper bound, ``(algorithm, T, B)``."""
        mass = np.where(self.mass > 0, self.mass, np.nan)[..., None]
        one = np.ones((*self.mass.shape, 1)) * mass / mass  # the last band takes all that is left
        low, high = (np.concatenate([bound / mass, one], axis=-1) for bound in (self.lower, self.upper))
        return low, (low + high) / 2, high

    def status(self, settings: Settings) -> np.ndarray:
        """A word for each algorithm and snapshot, ``(algorithm, T)``."""
        words = np.full(self.mass.shape, OK, dtype=object)
        words[self.mass == 0] = NO_ENERGY
        if settings.steps is not None:
            return words
        for m, t in np.argwhere(~self.settled):
            half = np.max(self.upper[m, t] - self.lower[m, t], initial=0.0) / 2 / self.mass[m, t]
            words[m, t] = f"not settled to {settings.tol:g} after {self.steps[m, t]} steps: bounds of ±{half:.3f}"
        return words

    def result(self, field: Potential, settings: Settings) -> HopResult:
        """Energies and magnitudes in the signal's units, for the builder."""

        def units(array: np.ndarray, power: int) -> np.ndarray:  # (algorithm, T, ...)
            return np.stack([in_units(row, field.scale**power, field.undefined) for row in array])

        low, middle, high = self.cumulative()
        energy = self.mass[..., None] * np.diff(np.nan_to_num(middle), axis=-1, prepend=0.0)
        every = np.concatenate([self.zero[..., None], energy], axis=-1)
        bands, alone = ("algorithm", "snapshot", "band"), ("algorithm", "snapshot")
        return HopResult(
            hop=self.hop,
            sizes=self.sizes,
            axis=self.axis,
            magnitude=units(np.sqrt(every), 1),
            status=np.where(field.undefined, ZERO_VECTOR, self.status(settings)),
            gradient_norm=in_units(np.sqrt(self.squares), field.scale, field.undefined),
            extras={
                "energy": (bands, units(energy, 2)),
                "energy_error": (bands, units(self.error, 2)),
                "cumulative": (bands, units(middle, 0)),
                "cumulative_lower": (bands, units(low, 0)),
                "cumulative_upper": (bands, units(high, 0)),
                "zero_energy": (alone, units(self.zero, 2)),
                "steps": (alone, self.steps),
            },
        )


def label(
    graph: Graph | None,
    n_nodes: int,
    signal: Signal,
    field: Potential,
    hops: Sequence[HopBands],
    settings: Settings,
    zero_vectors: str,
    weights: str = "",
) -> "xr.Dataset":
    """Put labels on the arrays, once; ``graph`` is None for an operator, which has no edges to show.

    ``weights`` is the rule for pairs more than one hop apart, empty where all weights are 1.
    """
    options = settings.plain() | {"hops": [at.hop for at in hops], "zero_vectors": zero_vectors}
    options["columns"] = "joint" if signal.separate is None else "separate"
    facts = {
        "kind": BANDS,
        "metric": field.metric,
        "laplacian": settings.laplacian.laplacian,
        "self_loops": int(settings.laplacian.self_loops),
        "weights": weights,
        "seed": settings.seed,
        "n_nodes": n_nodes,
        "options": json.dumps(options),
    }
    rows = Rows(signal.snapshots, signal.values.shape[2], signal.kind, columns=signal.separate)
    ds = build(graph, rows, [at.result(field, settings) for at in hops], settings.algorithms, facts)
    cut, places = np.stack([at.edges for at in hops]), ("hop", "band")  # (hop, B + 1)
    ds = ds.assign_coords(
        band=np.arange(cut.shape[1] - 1),
        band_lower=(places, cut[:, :-1]),
        band_upper=(places, cut[:, 1:]),
        band_size=(places, np.stack([at.band_size for at in hops])),
    )
    for name, words in NAMES.items():
        ds[name].attrs["long_name"] = words
    return ds.assign(edges=ds["edges"].astype(np.int32 if n_nodes < 2**31 else np.int64))
