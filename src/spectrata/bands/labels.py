"""The labelled result of ``band_spectra``: the one schema, with bands as components behind the zero component."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata._version import __version__
from spectrata.core.algorithms.base import OK, ZERO_VECTOR
from spectrata.inputs.graphs import Graph
from spectrata.inputs.signals import Potential, Signal
from spectrata.results.files import LONG_NAMES, node_labels

if TYPE_CHECKING:
    import xarray as xr

    from spectrata.bands.settings import Settings

KIND = "bands"  # attribute "kind" of such a Dataset
NO_ENERGY = "no energy off zero"
NAMED_NODES = 100_000  # names of more nodes are kept only where they say more than the rows
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


def is_bands(result: Any) -> bool:
    """Whether this is a result of ``band_spectra``."""
    return getattr(result, "attrs", {}).get("kind") == KIND


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

    def cumulative(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Shares of the energy off zero at upper edges: lower bound, middle, upper bound, ``(algorithm, T, B)``."""
        mass = np.where(self.mass > 0, self.mass, np.nan)[..., None]
        one = np.ones((*self.mass.shape, 1)) * mass / mass  # the last band takes all that is left
        low, high = (np.concatenate([bound / mass, one], axis=-1) for bound in (self.lower, self.upper))
        return low, (low + high) / 2, high

    def status(self, tol: float, automatic: bool) -> np.ndarray:
        """A word for each algorithm and snapshot, ``(algorithm, T)``."""
        words = np.full(self.mass.shape, OK, dtype=object)
        words[self.mass == 0] = NO_ENERGY
        if automatic:
            for at in np.argwhere(~self.settled):
                m, t = at
                half = np.max(self.upper[m, t] - self.lower[m, t], initial=0.0) / 2 / self.mass[m, t]
                words[m, t] = f"not settled to {tol:g} after {self.steps[m, t]} steps: bounds of ±{half:.3f}"
        return words


def label(
    graph: Graph | None,
    n_nodes: int,
    signal: Signal,
    field: Potential,
    hops: Sequence[HopBands],
    settings: "Settings",
    zero_vectors: str,
) -> "xr.Dataset":
    """Put labels on the arrays, once; ``graph`` is None for an operator, which has no edges to show."""
    import xarray as xr

    time = signal.snapshots is not None
    factor = (field.scale**2)[:, None]
    blank = np.where(field.undefined, np.nan, 1.0)[:, None]
    stacks: dict[str, list[np.ndarray]] = {}
    for at in hops:
        low, middle, high = at.cumulative()
        energy = at.mass[..., None] * np.diff(np.nan_to_num(middle), axis=-1, prepend=0.0)
        zero = at.zero[..., None]
        rows = {
            "energy": energy * factor * blank,
            "energy_error": at.error * factor * blank,
            "cumulative": middle * blank,
            "cumulative_lower": low * blank,
            "cumulative_upper": high * blank,
            "zero_energy": (at.zero * factor[:, 0] * blank[:, 0]),
            "steps": at.steps,
            "magnitude": np.sqrt(np.concatenate([zero, energy], axis=-1) * factor) * blank,
            "status": np.where(field.undefined, ZERO_VECTOR, at.status(settings.tol, settings.steps is None)),
        }
        for name, array in rows.items():
            stacks.setdefault(name, []).append(array)
    variables: dict[str, Any] = {}
    for name, pieces in stacks.items():
        array = np.stack(pieces, axis=2)  # (algorithm, T, hop, ...)
        last = {"magnitude": ("component",)}.get(name, ("band",) if array.ndim == 4 else ())
        array = array if time else array[:, 0]
        dims = ("algorithm", "snapshot", "hop", *last) if time else ("algorithm", "hop", *last)
        if name == "status":
            array = array.astype(str)
            if time:
                array, dims = np.moveaxis(array, 1, 2), ("algorithm", "hop", "snapshot")
        variables[name] = (dims, array)
    squares = np.stack([at.squares for at in hops], axis=1)  # (T, hop)
    norms = np.sqrt(squares) * field.scale[:, None] * blank
    variables["gradient_norm"] = (("snapshot", "hop"), norms) if time else (("hop",), norms[0])
    ends = np.empty((0, 2), dtype=np.int64) if graph is None else graph.edges
    variables["edges"] = (("edge", "end"), ends.astype(np.int32 if n_nodes < 2**31 else np.int64))
    ds = xr.Dataset(variables, _coordinates(hops, settings, signal, graph))
    for known in ds.variables:
        text = NAMES.get(str(known), LONG_NAMES.get(str(known)))
        if text:
            ds[known].attrs["long_name"] = text
    return ds.assign_attrs(_attributes(graph, n_nodes, signal, field, hops, settings, zero_vectors))


def _coordinates(
    hops: Sequence[HopBands], settings: "Settings", signal: Signal, graph: Graph | None
) -> dict[str, Any]:
    cut = np.stack([at.edges for at in hops])  # (hop, B + 1)
    count = cut.shape[1] - 1
    centre = np.concatenate([np.zeros((len(hops), 1)), (cut[:, 1:] + cut[:, :-1]) / 2], axis=1)
    zeros = np.array([[max(at.sizes[1], 1)] for at in hops])
    both = ("hop", "component")
    coordinates: dict[str, Any] = {
        "algorithm": list(settings.algorithms),
        "hop": [at.hop for at in hops],
        "band": np.arange(count),
        "band_lower": (("hop", "band"), cut[:, :-1]),
        "band_upper": (("hop", "band"), cut[:, 1:]),
        "band_size": (("hop", "band"), np.stack([at.band_size for at in hops])),
        "eigenvalue": (both, centre),
        "eigenspace": (both, np.tile(np.arange(count + 1), (len(hops), 1))),
        "multiplicity": (both, np.concatenate([zeros, np.ones((len(hops), count), dtype=int)], axis=1)),
    }
    for position, name in enumerate(("n_edges", "n_parts", "n_singletons")):
        coordinates[name] = (("hop",), np.array([at.sizes[position] for at in hops]))
    if signal.snapshots is not None:
        coordinates["snapshot"] = list(signal.snapshots)
    if graph is not None and (graph.named or graph.n_nodes <= NAMED_NODES):
        coordinates["node"] = node_labels(graph.names)[0]
    return coordinates


def _attributes(
    graph: Graph | None,
    n_nodes: int,
    signal: Signal,
    field: Potential,
    hops: Sequence[HopBands],
    settings: "Settings",
    zero_vectors: str,
) -> dict[str, Any]:
    given = settings.bands.tolist() if isinstance(settings.bands, np.ndarray) else settings.bands
    plain = {
        "algorithms": settings.algorithms,
        "hops": [at.hop for at in hops],
        "bands": given,
        "spacing": settings.spacing,
        "steps": settings.steps or "auto",
        "tol": settings.tol,
        "orientation": settings.orientation,
        "orientations": settings.orientations,
        "solver": settings.solver,
        "zero_vectors": zero_vectors,
        "laplacian": "combinatorial",
    }
    kinds = "int" if graph is None or not graph.named else node_labels(graph.names)[1]
    return {
        "kind": KIND,
        "metric": field.metric,
        "seed": settings.seed,
        "parameters": json.dumps(plain),
        "spectrata_version": __version__,
        "n_nodes": n_nodes,
        "n_edges": -1 if graph is None else graph.n_edges,
        "n_dimensions": signal.values.shape[2],
        "graph_hash": "" if graph is None else graph.digest,
        "node_type": kinds,
    }
