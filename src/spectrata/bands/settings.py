"""The arguments of ``band_spectra``, checked before any work."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from spectrata.bands.edges import SPACINGS
from spectrata.bands.solve import SOLVERS
from spectrata.core.algorithms.options import CHOICES, OF_STRATIFICATION, OPERATOR, checked_mapping
from spectrata.core.operators import COMBINATORIAL, Laplacian
from spectrata.core.registry import ALGORITHMS, require, resolve_algorithms, row_of
from spectrata.errors import OptionError, argument
from spectrata.inputs.numbers import one_of, positive, whole, whole_number

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
        """The settings as a result records them."""
        given = self.bands.tolist() if isinstance(self.bands, np.ndarray) else self.bands
        names = ("tol", "orientation", "orientations", "spacing", "solver")
        kept = {name: getattr(self, name) for name in names} | self.laplacian.arguments
        return {"algorithms": self.algorithms, "bands": given, "steps": self.steps or "auto"} | kept


OPTIONS = {"lanczos": ("steps",), "apprx_ls": ("orientation", "orientations", "solver")}


def check_settings(
    bands: Any, algorithms: Any, spacing: str, tol: Any, seed: int, laplacian: Laplacian, options: Mapping[str, Any]
) -> Settings:
    """Settings from arguments as given; ``options`` has one mapping per algorithm."""
    name = laplacian.laplacian
    every = [row.name for row in ALGORITHMS.values() if row.in_bands and name in row.laplacians]
    names = resolve_algorithms(every if algorithms is None else algorithms)
    require(names, lambda row: bool(row.in_bands), "no energy per band without eigenvectors; bands have")
    words = f"not defined for laplacian={name!r}, which serves"
    require(names, lambda row: bool(row.in_bands) and name in row.laplacians, words)
    one_of(spacing, "spacing", SPACINGS)
    if positive(tol, "tol") >= 1.0:
        raise OptionError(f"tol={tol!r} is a share of the energy, between 0 and 1.")
    more = _checked(options) | {"tol": float(tol), "spacing": spacing, "seed": whole(seed, "seed", 0)}
    return Settings(given_bands(bands), names, laplacian=laplacian, **more)


def _checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of ``Settings`` from the mappings of the algorithms."""
    found: dict[str, Any] = {}
    for name, given in options.items():
        if name not in OPTIONS:
            raise OptionError(_unknown(name))
        found |= checked_mapping(name, given, OPTIONS[name])
    if "steps" in found:
        found["steps"] = None if found["steps"] == "auto" else whole(found["steps"], "steps")
    if "orientations" in found:
        found["orientations"] = whole(found["orientations"], "orientations", 2)
    one_of(found.get("orientation", "rms"), "orientation", CHOICES["orientation"])
    one_of(found.get("solver", "auto"), "solver", SOLVERS)
    return found


def _unknown(name: str) -> str:
    home = next((other for other, own in OPTIONS.items() if name in own), None)
    if home:
        return f"{name!r} is an option of {home}; write {home}={{{name!r}: ...}}."
    if name in (*OF_STRATIFICATION, *OPERATOR):
        return f"{name!r} is an argument of Stratification; pass st.Stratification(graph, {name}=...) as the graph."
    return f"band_spectra has no argument {name!r}; beside those it names it takes {', '.join(OPTIONS)}."


def given_bands(bands: Any) -> int | np.ndarray:
    """A number of bands, or their edges, ascending."""
    number = bands if not isinstance(bands, np.ndarray) or bands.ndim else bands.item()
    if whole_number(number) is not None:
        return whole(number, "bands")
    try:
        cut = np.array(list(number), dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"{argument('bands', bands)} is neither a number of bands nor a list of edges.") from None
    if len(cut) < 2 or not np.all(np.diff(cut) > 0) or not np.all(np.isfinite(cut)) or cut[0] < 0:
        raise OptionError("The edges of bands must ascend from 0 or more, be finite, and be two or more.")
    return cut


def orientation_keys(seed: int, hop: int, count: int) -> np.ndarray:
    """One key per random orientation, never 0, which stands for the order of rows."""
    drawn = np.random.default_rng([seed, hop, 7]).integers(1, 2**63, size=count, dtype=np.uint64)
    return drawn | np.uint64(1)
