"""The numbers a diagnosis rests on: GFT energies per band with their exact permutation null."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spectrata.analysis.levels import group_reduce, level_groups, options_given, rebuild
from spectrata.analysis.moments import gft_null, signal_moments
from spectrata.core.plan import Plan, make_plan
from spectrata.core.registry import EXACT
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError
from spectrata.inputs.signals import Signal, as_signal, potential
from spectrata.kernels.scaling import squarable
from spectrata.results.schema import View, view


@dataclass(frozen=True, eq=False)
class Reading:
    """Energies of ``T`` snapshots at ``H`` hops in ``B`` bands, and one group more: the Fiedler eigenspaces.

    Attributes
    ----------
    hops, snapshots
        Labels; snapshots is None where there are none.
    off_zero : ndarray, shape (T, H)
    energy, mean, std : ndarray, shape (T, H, B + 1)
        GFT energy of each band (the Fiedler eigenspaces last), its mean and standard deviation under permutations of
        the nodes; ``std`` is NaN where the signal is not known.
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

        By a gamma distribution with the exact mean and variance (Satterthwaite): the energy is close to a sum of
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
    if isinstance(source, Stratification):
        if signal is None:
            raise OptionError("Give the signal too: diagnose(graph, signal).")
        plan = make_plan(EXACT, {}, source.graph.n_nodes, keep=(), diagnose=False)
        return _from_signal(source, signal, plan, bands, fiedler, metric, zero_vectors)
    spectra = view(source)
    spectra.require_algorithms([EXACT])
    spectra.require_zeros("a diagnosis")
    spectra.require_complete("a diagnosis")
    own = spectra.signal
    kept = signal
    if signal is None and own is not None:  # in the order of the graph's nodes already, whatever their names
        kept = Signal(own, tuple(range(len(own))))
    if kept is None or spectra.is_bands:
        return _from_magnitudes(spectra, bands, fiedler)
    given = options_given(spectra, [EXACT])
    options = {name: given[name] for name in ("laplacian", "self_loops")}
    plan = make_plan(EXACT, options, spectra.n_nodes, keep=(), diagnose=False)
    found = _from_signal(rebuild(spectra), kept, plan, bands, fiedler, spectra.metric, zero_vectors)
    order = [found.hops.index(hop) for hop in spectra.hops]
    reordered = {name: getattr(found, name)[:, order] for name in ("off_zero", "energy", "mean", "std", "total")}
    reordered |= {name: getattr(found, name)[order] for name in ("rank", "fiedler")}
    return replace(found, hops=spectra.hops, snapshots=spectra.rows, **reordered)


def _from_signal(
    strat: Stratification, signal: Any, plan: Plan, bands: int, fiedler: int, metric: str, zero_vectors: str
) -> Reading:
    known = as_signal(signal, strat.graph)
    field = potential(known, metric, zero_vectors, strat.graph.names)
    spectra = view(strat.compute(known, plan, metric, zero_vectors))
    plain = _from_magnitudes(spectra, bands, fiedler)
    groups, count = level_groups(spectra, "band", bands)
    lowest = _fiedler_groups(spectra, fiedler)
    mean, std = plain.mean.copy(), np.full(plain.mean.shape, np.nan)
    unit = _unit(spectra.magnitude[0])[:, :, 0]
    scale, moments = (field.scale[:, None] / unit) ** 2, signal_moments(field.values)
    for row, hop in enumerate(strat.hops):
        basis = strat.prepared(hop, plan)[1]
        for where, group, size in ((slice(0, bands), groups[row], count), (slice(bands, None), lowest[row], 1)):
            centre, variance = gft_null(basis, group, size, moments)
            mean[:, row, where], std[:, row, where] = centre * scale, np.sqrt(variance) * scale
    mean[field.undefined], std[field.undefined] = np.nan, np.nan
    positive = np.all(known.values >= 0, axis=(1, 2))
    return replace(plain, mean=mean, std=std, nonnegative=positive)


def _from_magnitudes(spectra: View, bands: int, fiedler: int) -> Reading:
    """What magnitudes alone tell: the null's mean where a stratum is connected, never its spread."""
    magnitude = spectra.magnitude[spectra.row_of(EXACT)]  # (T, hop, component)
    magnitude = magnitude / _unit(magnitude)
    groups, count = level_groups(spectra, "band", bands)
    lowest = _fiedler_groups(spectra, fiedler)
    parts = group_reduce(magnitude, groups, count), group_reduce(magnitude, lowest, 1)
    energy = np.concatenate(parts, axis=-1) ** 2
    undefined = np.isnan(magnitude).all(axis=-1)
    off = np.where(spectra.off_zero, np.nan_to_num(magnitude), 0.0) ** 2
    total = np.where(undefined, np.nan, off.sum(axis=-1))
    everything = np.nansum(magnitude**2, axis=-1)
    # Components of the original numbering: in a merged result each slot stands for several.
    first = np.diff(spectra.eigenspace, axis=1, prepend=-2) != 0
    slot = np.where(first & spectra.present, spectra.multiplicity, 0)
    ranks = np.concatenate([_ranks(slot, groups, count), _ranks(slot, lowest, 1)], axis=-1)  # (hop, B + 1)
    free = np.where(spectra.off_zero, slot, 0).sum(axis=1)
    variance = _divide(total, np.broadcast_to(free, total.shape).astype(float))
    mean = np.where(ranks > 0, variance[..., None] * ranks, np.nan)
    values = [spectra.eigenvalue[row][group == 0] for row, group in enumerate(lowest)]
    top = np.array([v.max() if len(v) else np.nan for v in values])
    return Reading(
        hops=spectra.hops,
        snapshots=spectra.rows,
        off_zero=_divide(total, everything),
        energy=energy,
        mean=mean,
        std=np.full(energy.shape, np.nan),
        total=total,
        rank=ranks,
        fiedler=top,
        graph_hash=str(spectra.ds.attrs.get("graph_hash", "")),
        nonnegative=np.zeros(len(energy), dtype=bool),
    )


def _unit(magnitude: np.ndarray) -> np.ndarray:
    """The power of two by which a snapshot's energies are read, 1 for ordinary ones: ``(T, 1, 1)``."""
    return squarable(magnitude, (1, 2))[1]


def _fiedler_groups(spectra: View, count: int) -> np.ndarray:
    """0 on the lowest ``count`` eigenspaces off zero, -1 elsewhere: ``(hop, component)``."""
    groups = np.full(spectra.eigenspace.shape, -1)
    for row, (spaces, off) in enumerate(zip(spectra.eigenspace, spectra.off_zero, strict=True)):
        lowest = np.unique(spaces[off])[:count]
        groups[row, off & np.isin(spaces, lowest)] = 0
    return groups


def _ranks(slot: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
    rows = [np.bincount(g[g >= 0], s[g >= 0], count) for g, s in zip(groups, slot, strict=True)]
    return np.stack(rows)
