"""Energy along the frequency axis as pictures show it: eigenspaces, bins of about equally many components, or bands."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from spectrata.plot.reading import one_algorithm
from spectrata.results.schema import View, view
from spectrata.stats.describe.compare import SpreadSpectra, band_shares, spread_evenly
from spectrata.stats.describe.levels import band_groups
from spectrata.stats.describe.spectrum import band_energy_shares

BINNED = 300  # components beyond which a spectrum is drawn as cumulative energy, or in bins
BINS = 30
LEVEL = 0.05
RANK_AXIS = "components by ascending λ"
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # ticks of ranks
CHANCE = ("chance_low", "chance", "chance_high", "q")


@dataclass(frozen=True, eq=False)
class Cells:
    """Energy of one algorithm at one hop: ``R`` rows (snapshots, columns), ``a`` cells by ascending eigenvalue."""

    share: np.ndarray  # (R, a), of the energy off zero; magnitudes of a cut spectrum
    size: np.ndarray  # (a,): components of each cell
    lower: np.ndarray  # (a,): eigenvalues
    upper: np.ndarray
    status: np.ndarray  # (R,)
    bands: bool = False
    cut: bool = False  # a cut spectrum, whose shares are not known
    chance: "dict[str, np.ndarray] | None" = None  # of a calibration: (R, a) each

    @property
    def flat(self) -> np.ndarray:
        """Shares of a flat spectrum: equal energy per component."""
        return self.size / max(1.0, self.size.sum())

    @property
    def ranks(self) -> np.ndarray:
        """Where cells begin and end, as shares of the components off zero, ``(a + 1,)``."""
        return np.append(0.0, np.cumsum(self.flat))

    @property
    def edges(self) -> np.ndarray:
        """Where cells begin and end along the eigenvalues, ``(a + 1,)``."""
        middle = (self.upper[:-1] + self.lower[1:]) / 2
        return np.concatenate([self.lower[:1], middle, self.upper[-1:]])

    @property
    def ratio(self) -> np.ndarray:
        """Energy over that of a flat spectrum, ``(R, a)``."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.flat > 0, self.share / self.flat, np.nan)

    def why_empty(self, row: int) -> str:
        """Why a row has nothing to show; empty where it has."""
        if np.nanmax(self.share[row], initial=0.0) > 0:
            return ""
        return "all zero" if self.status[row] == "ok" else str(self.status[row])


def cells_of(result: View, algorithm: str | None = None, bins: int = 0, cut: bool = False) -> dict[Any, Cells]:
    """The cells of every hop of one algorithm; ``bins`` of them where there are more components than that.

    Spectra with n_eigs are refused unless ``cut``, which gives magnitudes of the components that are there.
    """
    one = view(result.ds.sel({"algorithm": [one_algorithm(result, algorithm)]}), result.name)
    make: Any = _of_cut
    if one.ds.attrs.get("kind") == "calibration":
        make = _calibrated
    elif one.is_bands and "energy" in one.ds:  # results joined by name have no edges of bands
        make = _of_bands
    elif not cut or one.complete.all():
        one.require_complete("this picture")
        make = partial(_of_components, even=spread_evenly(one), bins=bins)
    return {hop: make(one, at) for at, hop in enumerate(one.hops)}


def _of_components(one: View, at: int, even: SpreadSpectra, bins: int) -> Cells:
    """Eigenspaces, or bins of whole eigenspaces with about equally many components; bins without one are left out."""
    there = even.weights[at] > 0
    part = SpreadSpectra(even.values[:, :, [at]][..., there], *(array[[at]][:, there] for array in even[1:]))
    size, value, group = part.weights[0], part.eigenvalue[0], np.arange(np.count_nonzero(there))[None]
    if bins and size.sum() > bins:
        group = band_groups(np.zeros(group.shape, dtype=bool), group, part.weights, bins)
        group = np.cumsum(np.diff(group, prepend=group[:, :1]) > 0, axis=1)
    first = np.flatnonzero(np.diff(group[0], prepend=-1))
    share, upper = band_shares(part, group, len(first))[0, :, 0], value[np.append(first[1:], len(value)) - 1]
    return Cells(share, np.add.reduceat(size, first).astype(float), value[first], upper, one.status[0, :, at])


def _of_bands(one: View, at: int) -> Cells:
    alone = "energy_outside" in one.ds  # of many graphs with common bands no energy lies outside, nor is chance kept
    energy = band_energy_shares(one.ds) if alone else one.ds["energy"] / one.ds["energy"].sum("band")
    share = view(one.ds.assign(energy=energy), one.name).stacked("energy", "algorithm", "hop", "band")[0, :, at]
    low, high = (one.fixed(name, "hop", "band")[at] for name in ("band_lower", "band_upper"))
    size = one.fixed("chance", "hop", "band")[at] if alone else one.multiplicity[at][-len(low) :].astype(float)
    return Cells(share, size, low, high, one.status[0, :, at], bands=True)


def _of_cut(one: View, at: int) -> Cells:
    there = one.off_zero[at]
    value = one.eigenvalue[at][there]
    size = np.ones(np.count_nonzero(there))
    return Cells(one.magnitude[0][:, at, there], size, value, value, one.status[0, :, at], cut=True)


def _calibrated(one: View, at: int) -> Cells:
    used = one.off_zero[at]
    upper, size = one.eigenvalue[at][used], one.multiplicity[at][used].astype(float)
    lower = one.fixed("band_lower", "hop", "component")[at][used] if "band_lower" in one.ds else upper
    known = {name: one.stacked(name, "algorithm", "hop", "component")[0, :, at][:, used] for name in ("share", *CHANCE)}
    return Cells(known.pop("share"), size, lower, upper, one.status[0, :, at], chance=known)


def as_components(ds: Any) -> Any:
    """A calibration of bands with the coordinates of a result, bands as components; others as they are."""
    if getattr(ds, "attrs", {}).get("kind") != "calibration" or "band" not in ds.dims:
        return ds
    ds = ds.rename(band="component")
    spaces = np.where(ds["band_size"] > 0, np.arange(ds.sizes["component"]), -1)
    dims = ("hop", "component")
    axis = {"eigenvalue": ds["band_upper"], "multiplicity": ds["band_size"], "eigenspace": (dims, spaces)}
    return ds.assign_coords(**axis, is_zero=(dims, np.zeros(spaces.shape, dtype=bool))).assign_attrs(merged="bands")


def rank_ticks(axis: Any, cells: Cells | None = None) -> None:
    """Shares of the components along an axis, with the eigenvalue there where one spectrum is shown."""
    words = [f"{share:.0%}" for share in SHARES]
    if cells is not None:
        at = np.minimum(np.searchsorted(cells.ranks[1:], np.array(SHARES) - 1e-9), len(cells.upper) - 1)
        words = [f"{word}\nλ = {cells.upper[one]:.3g}" for word, one in zip(words, at, strict=True)]
    axis.set_ticks(SHARES, labels=words, fontsize=7.5)
