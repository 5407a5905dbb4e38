"""The arguments of ``band_spectra``, checked before any work."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from spectrata.bands.edges import SPACINGS
from spectrata.bands.orientation import orientation_keys
from spectrata.bands.solve import SOLVERS
from spectrata.core.algorithms.options import CHOICES
from spectrata.core.operators import COMBINATORIAL
from spectrata.core.operators import Operator as Laplacian
from spectrata.core.registry import ALGORITHMS, require, resolve_algorithms, row_of
from spectrata.errors import OptionError
from spectrata.inputs.numbers import flag, one_of, positive, whole, whole_number

LEAST_SQUARES = "least_squares"


@dataclass(frozen=True, eq=False)
class Settings:
    """The checked arguments of one call."""

    bands: int | np.ndarray
    algorithms: tuple[str, ...]
    steps: int | None = None
    tol: float = 0.01
    orientation: str = "rms"
    orientations: int = 4
    spacing: str = "log"
    solver: str = "auto"
    seed: int = 0
    laplacian: Laplacian = COMBINATORIAL

    @property
    def automatic(self) -> bool:
        """Whether the edges of bands follow from the spectrum."""
        return not isinstance(self.bands, np.ndarray)

    @property
    def signals(self) -> list[str]:
        """The node signals whose energies are measured, one per algorithm."""
        return [row_of(name).in_bands for name in self.algorithms]

    def keys(self, hop: int) -> np.ndarray:
        """Keys of the orientations that a least-squares signal uses at a hop."""
        if LEAST_SQUARES not in self.signals:
            return np.zeros(0, dtype=np.uint64)
        if self.orientation == "index":
            return np.zeros(1, dtype=np.uint64)
        return orientation_keys(self.seed, hop, self.orientations if self.orientation == "rms" else 1)

    def plain(self) -> dict[str, Any]:
        """What a result records of them."""
        given = self.bands.tolist() if isinstance(self.bands, np.ndarray) else self.bands
        names = ("tol", "orientation", "orientations", "spacing", "solver")
        kept = {name: getattr(self, name) for name in names}
        kept |= {"laplacian": self.laplacian.laplacian, "self_loops": self.laplacian.self_loops}
        return {"algorithms": self.algorithms, "bands": given, "steps": self.steps or "auto"} | kept


def check_settings(
    bands: Any,
    algorithms: Any,
    steps: Any,
    tol: Any,
    orientation: str,
    orientations: int,
    spacing: str,
    solver: str,
    seed: int,
    laplacian: str,
    self_loops: bool,
) -> Settings:
    """Settings from arguments as given."""
    kind = Laplacian(laplacian, flag(self_loops, "self_loops"))
    every = [row.name for row in ALGORITHMS.values() if row.in_bands and laplacian in row.laplacians]
    names = resolve_algorithms(every if algorithms is None else algorithms)
    require(names, lambda row: bool(row.in_bands), "no energy per band without eigenvectors; bands have")
    words = f"not defined for laplacian={laplacian!r}, which serves"
    require(names, lambda row: bool(row.in_bands) and laplacian in row.laplacians, words)
    one_of(orientation, "orientation", CHOICES["orientation"])
    one_of(spacing, "spacing", SPACINGS)
    one_of(solver, "solver", SOLVERS)
    if positive(tol, "tol") >= 1.0:
        raise OptionError(f"tol={tol!r} is a share of the energy, between 0 and 1.")
    return Settings(
        bands=given_bands(bands),
        algorithms=names,
        steps=None if steps == "auto" else whole(steps, "steps"),
        tol=float(tol),
        orientation=orientation,
        orientations=whole(orientations, "orientations", 2),
        spacing=spacing,
        solver=solver,
        seed=whole(seed, "seed", 0),
        laplacian=kind,
    )


def given_bands(bands: Any) -> int | np.ndarray:
    """A number of bands, or their edges, ascending."""
    number = bands if not isinstance(bands, np.ndarray) or bands.ndim else bands.item()
    if whole_number(number) is not None:
        return whole(number, "bands")
    try:
        cut = np.array(list(number), dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"bands={bands!r} is neither a number of bands nor a list of edges.") from None
    if len(cut) < 2 or not np.all(np.diff(cut) > 0) or not np.all(np.isfinite(cut)) or cut[0] < 0:
        raise OptionError("The edges of bands must ascend from 0 or more, be finite, and be two or more.")
    return cut
