"""Shares of the energy off zero in eigenspaces or bands, and their test."""

from collections.abc import Callable
from itertools import product

import numpy as np

from spectrata.kernels.scaling import squarable
from spectrata.stats.describe.spectrum import FLOOR
from spectrata.stats.nulls.stopping import MANY, Chance, run_columns

NUMBERS = 2**22  # of a batch of drawn signals, gradients and magnitudes
Drawn = Callable[[np.ndarray, int, int, int], np.ndarray]  # rows, hop, start, stop -> (A, rows, stop - start, G)
Counted = Callable[[int], "Callable[[int], np.ndarray] | None"]  # row -> hop -> (A, arrangements, G), all as likely


def zero_groups(groups: np.ndarray, count: int, is_zero: np.ndarray) -> np.ndarray:
    """Mark groups of zero components: ``(H, count)``; bands have none."""
    found = np.zeros((len(groups), count), dtype=bool)
    for row, group in enumerate(groups):
        found[row, group[(group >= 0) & is_zero[row]]] = True
    return found


def shares_of(magnitude: np.ndarray, zero: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shares ``(A, R, H, G)`` of the energy off zero, NaN where that is rounding, and that energy ``(A, R, H)``."""
    even, scale = squarable(np.nan_to_num(magnitude))
    off = np.where(zero, 0.0, even**2)
    total, whole_energy = off.sum(axis=-1, keepdims=True), np.sum(even**2, axis=-1, keepdims=True)
    some = total > FLOOR**2 * whole_energy
    share = np.divide(off, total, out=np.full(off.shape, np.nan), where=some)
    with np.errstate(over="ignore"):
        energy = np.where(some, total, 0.0)[..., 0] * scale[..., 0] ** 2
    return np.where(zero | np.isnan(magnitude), np.nan, share), energy


def chance_of_shares(
    share: np.ndarray, drawn: Drawn, at: tuple[int, ...], counted: Counted | None = None, tie: float = 0.0
) -> dict[str, np.ndarray]:
    """Test shares ``(A, R, H, G)``: their mean under the null, its interval, and p.

    Shares that differ by less than ``tie`` of the observed one are tied, beside those that differ by rounding.
    """
    observed = np.moveaxis(share, 1, 0)  # (R, A, H, G)
    shape, flat = observed.shape, observed.ravel()
    places, sums = np.arange(flat.size).reshape(shape), np.zeros((2, flat.size))
    few = range(shape[0] if counted is not None and shape[0] <= MANY else 0)
    whole = {row: found for row in few if counted is not None and (found := counted(row)) is not None}

    def with_ties(values: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Values ``(B, cells)`` with ties at the observed ones; their sums are kept."""
        values = np.where(np.abs(values - flat[cells]) <= tie * flat[cells], flat[cells], values)
        sums[:, cells] += np.nansum(values, axis=0), np.isfinite(values).sum(axis=0)
        return values

    def draw(start: int, stop: int, cells: np.ndarray) -> np.ndarray:
        row, algorithm, hop, group = np.unravel_index(cells, shape)
        out = np.full((stop - start, len(cells)), np.nan)
        for h in np.unique(hop):
            here = np.flatnonzero(hop == h)
            rows = np.unique(row[here])
            for some in np.array_split(rows, min(len(rows), -(-len(rows) * (stop - start) * shape[3] // NUMBERS))):
                wanted = here[np.isin(row[here], some)]
                found = drawn(some, int(h), start, stop)
                out[:, wanted] = found[algorithm[wanted], np.searchsorted(some, row[wanted]), :, group[wanted]].T
        return with_ties(out, cells)[:, :, None]

    left = observed.copy()
    left[list(whole)] = np.nan
    chance = run_columns(left.reshape(-1, 1), draw, at)
    for row, h in product(whole, range(shape[2])):
        values = whole[row](h)  # (A, arrangements, G), fewer groups at some hops; every arrangement is as likely
        cells = places[row, :, h, : values.shape[2]].ravel()
        every = with_ties(np.moveaxis(values, 1, 0).reshape(values.shape[1], -1), cells)
        chance.place(cells, Chance.counted(flat[cells], every))
    with np.errstate(invalid="ignore"):
        fields = {"chance": sums[0] / sums[1], "chance_low": chance.low, "chance_high": chance.high, "p": chance.p}
    return {name: np.moveaxis(array.reshape(shape), 0, 1) for name, array in fields.items()}


def with_ratio(out: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    with np.errstate(invalid="ignore", divide="ignore"):
        return out | {"ratio": np.where(out["chance"] > 0, out["share"] / out["chance"], np.nan)}
