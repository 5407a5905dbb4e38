"""Spectra of many graphs summed into common bands of eigenvalues, so that graphs of all sizes share one axis."""

from typing import Any

import numpy as np

from spectrata.bands.settings import given_bands
from spectrata.core.bases.basis import EIGENSPACE_TOLERANCE
from spectrata.core.registry import ALGORITHMS, require, resolve_algorithms
from spectrata.errors import OptionError
from spectrata.kernels.scaling import squarable
from spectrata.results.schema import FIELDS


def common_edges(bands: Any) -> tuple[float, ...]:
    """Edges that serve every graph, ascending from 0."""
    edges = given_bands(bands)
    if isinstance(edges, int):
        raise OptionError(
            f"bands={edges} of many graphs would be other bands for each; give the edges that all share, such as "
            "bands=[0, 0.5, 1, 1.5, 2]."
        )
    if edges[0] != 0.0:
        raise OptionError(f"The first edge of bands is {edges[0]:g}; common bands start at 0.")
    return tuple(edges.tolist())


def banded_algorithms(algorithms: Any, laplacian: str) -> tuple[str, ...]:
    """The algorithms asked for, which must have energies per band; all of them by default."""
    every = [row.name for row in ALGORITHMS.values() if row.in_bands and laplacian in row.laplacians]
    names = resolve_algorithms(every if algorithms is None else algorithms)
    require(names, lambda row: bool(row.in_bands), "no energy per band; bands have")
    return tuple(names)


def banded(arrays: dict[str, np.ndarray], edges: tuple[float, ...]) -> dict[str, np.ndarray]:
    """Fields of graphs by component as fields by band: the zero components first, and then a band as one component.

    A band is ``(lower, upper]``, the last one takes all that lies above; an eigenvalue within 1e-8 of the largest
    from an edge lies on it, and an eigenspace is never split.
    """
    count = len(edges)  # the zero component, and one less than edges
    group = _groups(arrays, np.array(edges[1:-1]))  # (G, H, N)
    inside = group[:, None, :, :, None] == np.arange(count)  # (G, 1, H, N, B)

    def lengths(values: np.ndarray) -> np.ndarray:
        """Over the components of each band: ``(G, A, H, N) -> (G, A, H, B)``."""
        even, scale = squarable(np.nan_to_num(values))
        within = np.broadcast_to(inside, (*values.shape, count))
        return np.sqrt(np.einsum("gahn,gahn,gahnb->gahb", even, even, within)) * scale

    # All components of an eigenspace have its error, so that the first stands for it.
    first = np.diff(arrays["eigenspace"], axis=2, prepend=-2)[:, None] != 0
    there = np.any(arrays["eigenspace"] >= 0, axis=2)  # (G, H)
    undefined: np.ndarray = np.isnan(arrays["magnitude"]).all(axis=3) | ~there[:, None]
    order = np.arange(count)
    centres = np.append(0.0, (np.array(edges[1:]) + np.array(edges[:-1])) / 2)
    zeros = np.sum(np.where(arrays["is_zero"], 1, 0), axis=2)  # (G, H)
    own = {
        "magnitude": np.where(undefined[..., None], np.nan, lengths(arrays["magnitude"])),
        "magnitude_error": np.where(
            undefined[..., None], np.nan, lengths(np.where(first, arrays["magnitude_error"], 0.0))
        ),
        "eigenvalue": np.broadcast_to(centres, (*there.shape, count)),
        "eigenspace": np.broadcast_to(order, (*there.shape, count)),
        "multiplicity": np.where(order == 0, np.maximum(zeros, 1)[..., None], 1),
        "is_zero": np.broadcast_to(order == 0, (*there.shape, count)),
    }
    for name, values in own.items():
        if not name.startswith("magnitude"):
            own[name] = np.where(there[..., None], values, FIELDS[name].empty).astype(FIELDS[name].dtype)
    return arrays | own


def _groups(arrays: dict[str, np.ndarray], inner: np.ndarray) -> np.ndarray:
    """0 for zero components, from 1 for the bands, -1 where there is no component: ``(G, H, N)``."""
    space, values = arrays["eigenspace"], arrays["eigenvalue"]
    groups = np.full(space.shape, -1)
    for place in np.ndindex(space.shape[:2]):
        here = space[place] >= 0
        if not here.any():
            continue
        spaces, found = space[place][here], values[place][here]
        spaces = spaces - spaces.min()
        level = (np.bincount(spaces, found) / np.maximum(np.bincount(spaces), 1))[spaces]
        near = EIGENSPACE_TOLERANCE["float64"] * found.max()
        band = 1 + np.searchsorted(inner + near, level, side="left")
        groups[place][here] = np.where(arrays["is_zero"][place][here], 0, band)
    return groups
