"""The numbers a diagnosis rests on: GFT energies per band with their exact permutation null."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.analysis.layout import (
    coordinates,
    group_reduce,
    kept_signal,
    level_groups,
    magnitudes,
    parameters,
    rebuild,
    require_algorithms,
    snapshot_names,
)
from spectrata.analysis.moments import gft_null, signal_invariants
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError, ResultError
from spectrata.inputs.signals import as_signal, potential
from spectrata.kernels.scaling import squarable

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, eq=False)
class Reading:
    """Energies of ``T`` snapshots at ``H`` hops in ``B`` bands, and one group more: the Fiedler eigenspaces.

    Attributes
    ----------
    hops, snapshots
        Labels; snapshots is None where there are none.
    off_zero : ndarray, shape (T, H)
    energy, mean, std : ndarray, shape (T, H, B + 1)
        GFT energy of each band (the Fiedler eigenspaces last), its mean and standard deviation under
        permutations of the nodes; ``std`` is NaN where the signal is not known.
    total : ndarray, shape (T, H)
        Energy off zero. Energies of snapshots of extreme size are all divided by one power of two.
    rank : ndarray, shape (H, B + 1)
        Number of components in each.
    fiedler : ndarray, shape (H,)
        Largest eigenvalue of the Fiedler eigenspaces.
    graph_hash : str
    nonnegative : ndarray, shape (T,)
        Snapshots known to hold no negative number, as after a ReLU.
    """

    hops: tuple[int, ...]
    snapshots: list[Any] | None
    off_zero: np.ndarray
    energy: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    total: np.ndarray
    rank: np.ndarray
    fiedler: np.ndarray
    graph_hash: str
    nonnegative: np.ndarray

    @property
    def n_snapshots(self) -> int:
        """How many snapshots."""
        return len(self.off_zero)

    @property
    def defined(self) -> np.ndarray:
        """Snapshots that could be computed, shape (T,)."""
        return ~np.isnan(self.off_zero).all(axis=1)

    @property
    def ratio(self) -> np.ndarray:
        """Energy over its mean under the null."""
        return _divide(self.energy, self.mean)

    @property
    def share(self) -> np.ndarray:
        """Share of the energy off zero."""
        return _divide(self.energy, self.total[..., None])

    @property
    def share_std(self) -> np.ndarray:
        """Standard deviation of the share under the null."""
        return _divide(self.std, self.total[..., None])

    def tails(self) -> tuple[np.ndarray, np.ndarray]:
        """Probability under the null of at least, and of at most, the energy.

        By a gamma distribution with the exact mean and variance (Satterthwaite): the energy is close to a
        sum of
        weighted chi-squares.
        """
        from scipy.stats import gamma

        known = (self.std > 0) & (self.mean > 0)
        shape = np.where(known, _divide(self.mean, self.std) ** 2, 1.0)
        scale = np.where(known, self.std**2 / np.where(self.mean > 0, self.mean, 1.0), 1.0)
        energy = np.where(np.isnan(self.energy), 0.0, self.energy)
        above = np.where(known, gamma.sf(energy, shape, scale=scale), np.nan)
        below = np.where(known, gamma.cdf(energy, shape, scale=scale), np.nan)
        return above, below


def _divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.divide(a, b, out=np.full(np.broadcast(a, b).shape, np.nan), where=b > 0)


def read(
    source: Any,
    signal: Any = None,
    *,
    bands: int = 4,
    fiedler: int = 3,
    metric: str = "auto",
    zero_vectors: str = "nan",
) -> Reading:
    """Read a result, or a signal on a stratification."""
    import xarray as xr

    if isinstance(source, Stratification):
        if signal is None:
            raise OptionError("Give the signal too: diagnose(strat, signal).")
        return _from_signal(source, signal, bands, fiedler, metric, zero_vectors)
    if not isinstance(source, xr.Dataset):
        raise OptionError("Give a result, or a Stratification and a signal.")
    require_algorithms(source, ["gft"])
    if parameters(source).get("laplacian", "combinatorial") != "combinatorial":
        raise ResultError(
            "A diagnosis reads the combinatorial Laplacian; compute the result without laplacian='normalized'."
        )
    kept = kept_signal(source) if signal is None else signal
    if kept is None:
        return _from_magnitudes(source, bands, fiedler)
    reading = _from_signal(rebuild(source), kept, bands, fiedler, str(source.attrs["metric"]), zero_vectors)
    names = snapshot_names(source)
    return Reading(**(reading.__dict__ | {"snapshots": names}))


def _from_signal(
    strat: Stratification, signal: Any, bands: int, fiedler: int, metric: str, zero_vectors: str
) -> Reading:
    known = as_signal(signal, strat.graph)
    field = potential(known, metric, zero_vectors, strat.graph.names)
    ds = strat.spectra(known, "gft", metric=metric, zero_vectors=zero_vectors, keep=())
    plain = _from_magnitudes(ds, bands, fiedler)
    _, eigenspace, multiplicity = coordinates(ds)
    groups, count = level_groups(eigenspace, multiplicity, "band", bands)
    mean, std = plain.mean.copy(), np.full(plain.mean.shape, np.nan)
    unit = _unit(magnitudes(ds)[0])[:, :, 0]
    scale, invariants = (field.scale[:, None] / unit) ** 2, signal_invariants(field.values)
    for row, hop in enumerate(strat.hops):
        basis = strat.basis(hop)
        lowest = _fiedler_groups(eigenspace[row : row + 1], fiedler)[0]
        for where, group, size in ((slice(0, bands), groups[row], count), (slice(bands, None), lowest, 1)):
            centre, variance = gft_null(basis, group, size, field.values, invariants)
            mean[:, row, where], std[:, row, where] = centre * scale, np.sqrt(variance) * scale
    mean[field.undefined], std[field.undefined] = np.nan, np.nan
    positive = (known.values >= 0).all(axis=(1, 2))
    return Reading(**(plain.__dict__ | {"mean": mean, "std": std, "nonnegative": positive}))


def _from_magnitudes(ds: "xr.Dataset", bands: int, fiedler: int) -> Reading:
    """What magnitudes alone tell: the null's mean where a stratum is connected, never its spread."""
    eigenvalue, eigenspace, multiplicity = coordinates(ds)
    magnitude = magnitudes(ds)[list(ds["algorithm"].values).index("gft")]  # (T, hop, component)
    magnitude = magnitude / _unit(magnitude)
    groups, count = level_groups(eigenspace, multiplicity, "band", bands)
    lowest = _fiedler_groups(eigenspace, fiedler)
    parts = group_reduce(magnitude, groups, count), group_reduce(magnitude, lowest, 1)
    energy = np.concatenate(parts, axis=-1) ** 2
    undefined = np.isnan(magnitude).all(axis=-1)
    off = np.where(eigenspace > 0, np.nan_to_num(magnitude), 0.0) ** 2
    total = np.where(undefined, np.nan, off.sum(axis=-1))
    everything = np.nansum(magnitude**2, axis=-1)
    # Components of the original numbering: in a merged result each slot stands for several.
    slot = np.where(np.diff(eigenspace, axis=1, prepend=-2) != 0, multiplicity, 0) * (eigenspace >= 0)
    ranks = np.concatenate([_ranks(slot, groups, count), _ranks(slot, lowest, 1)], axis=-1)  # (hop, B + 1)
    free = np.where(eigenspace > 0, slot, 0).sum(axis=1)
    variance = _divide(total, np.broadcast_to(free, total.shape).astype(float))
    mean = np.where(ranks > 0, variance[..., None] * ranks, np.nan)
    values = [eigenvalue[row][group == 0] for row, group in enumerate(lowest)]
    top = np.array([v.max() if len(v) else np.nan for v in values])
    return Reading(
        hops=tuple(int(hop) for hop in ds["hop"].values),
        snapshots=snapshot_names(ds),
        off_zero=_divide(total, everything),
        energy=energy,
        mean=mean,
        std=np.full(energy.shape, np.nan),
        total=total,
        rank=ranks,
        fiedler=top,
        graph_hash=str(ds.attrs.get("graph_hash", "")),
        nonnegative=np.zeros(len(energy), dtype=bool),
    )


def _unit(magnitude: np.ndarray) -> np.ndarray:
    """The power of two by which a snapshot's energies are read, 1 for ordinary ones: ``(T, 1, 1)``."""
    return squarable(magnitude, (1, 2))[1]


def _fiedler_groups(eigenspace: np.ndarray, count: int) -> np.ndarray:
    """0 on the lowest ``count`` eigenspaces off zero, -1 elsewhere."""
    return np.where((eigenspace >= 1) & (eigenspace <= count), 0, -1)


def _ranks(slot: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
    rows = [np.bincount(g[g >= 0], s[g >= 0], count) for g, s in zip(groups, slot, strict=True)]
    return np.stack(rows)
