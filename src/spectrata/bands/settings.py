"""The arguments of ``band_spectra``, checked before any work."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from spectrata.bands.orientation import orientation_keys
from spectrata.bands.solve import SOLVERS
from spectrata.core.algorithms import resolve_algorithms
from spectrata.errors import OptionError

ALGORITHMS = ("gft", "in_agg", "apprx_ls")
ORIENTATIONS = ("rms", "random", "index")
SPACINGS = ("width", "count")


@dataclass(frozen=True, eq=False)
class Settings:
    """The checked arguments of one call."""

    bands: int | np.ndarray = 32
    algorithms: tuple[str, ...] = ALGORITHMS
    steps: int | None = None
    tol: float = 0.01
    orientation: str = "rms"
    orientations: int = 4
    spacing: str = "width"
    solver: str = "auto"
    seed: int = 0

    def keys(self, hop: int) -> np.ndarray:
        """Keys of the orientations that APPRX-LS uses at a hop."""
        if "apprx_ls" not in self.algorithms:
            return np.zeros(0, dtype=np.uint64)
        if self.orientation == "index":
            return np.zeros(1, dtype=np.uint64)
        return orientation_keys(self.seed, hop, self.orientations if self.orientation == "rms" else 1)


def checked(
    bands: Any,
    algorithms: Any,
    steps: Any,
    tol: Any,
    orientation: str,
    orientations: int,
    spacing: str,
    solver: str,
    seed: int,
) -> Settings:
    """Settings from arguments as given."""
    names = resolve_algorithms(algorithms)
    unknown = [name for name in names if name not in ALGORITHMS]
    if unknown:
        raise OptionError(f"{', '.join(unknown)} needs eigenvectors; bands have {', '.join(ALGORITHMS)}.")
    for value, allowed, what in (
        (orientation, ORIENTATIONS, "orientation"),
        (spacing, SPACINGS, "spacing"),
        (solver, SOLVERS, "solver"),
    ):
        if value not in allowed:
            raise OptionError(f"{what}={value!r} is not one of {', '.join(allowed)}.")
    if not isinstance(tol, int | float) or not 0.0 < tol < 1.0:
        raise OptionError(f"tol={tol!r} is a share of the energy, between 0 and 1.")
    taken = None if steps == "auto" else whole(steps, "steps")
    number = bands if not isinstance(bands, np.ndarray) or bands.ndim else bands.item()
    cut = whole(number, "bands") if isinstance(number, int | np.integer) else _edges(number)
    return Settings(
        bands=cut,
        algorithms=names,
        steps=taken,
        tol=float(tol),
        orientation=orientation,
        orientations=whole(orientations, "orientations", 2),
        spacing=spacing,
        solver=solver,
        seed=whole(seed, "seed", 0),
    )


def whole(value: Any, name: str, least: int = 1) -> int:
    """A whole number of at least ``least``."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < least:
        raise OptionError(f"{name}={value!r} must be a whole number of at least {least}.")
    return int(value)


def _edges(bands: Any) -> np.ndarray:
    try:
        cut = np.array(list(bands), dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"bands={bands!r} is neither a number of bands nor a list of edges.") from None
    if len(cut) < 2 or not np.all(np.diff(cut) > 0) or not np.all(np.isfinite(cut)) or cut[0] < 0:
        raise OptionError("The edges of bands must ascend from 0 or more, and be two or more.")
    return cut
