"""Shares of the energy off zero in eigenspaces or bands, and their test."""

from collections.abc import Callable

import numpy as np

from spectrata.kernels.scaling import squarable
from spectrata.stats.describe.levels import group_reduce
from spectrata.stats.describe.spectrum import FLOOR
from spectrata.stats.nulls.columns import MANY, run_columns
from spectrata.stats.nulls.correction import tails
from spectrata.stats.nulls.stopping import CHANCE

NUMBERS = 2**22  # of a batch of drawn signals, gradients and magnitudes
Drawn = Callable[[np.ndarray, int, int, int], np.ndarray]  # rows, hop, start, stop -> (A, rows, stop - start, G)
Counted = Callable[[int], "Callable[[int], np.ndarray] | None"]  # row -> hop -> (A, arrangements, G), all as likely


def grouped(magnitude: np.ndarray, groups: np.ndarray, count: int, rules: list[str]) -> np.ndarray:
    """Add up magnitudes by group, by each algorithm's rule: ``(A, R, H, N) -> (A, R, H, count)``."""
    return np.stack([group_reduce(one, groups, count, rule) for one, rule in zip(magnitude, rules, strict=True)])


def zero_groups(groups: np.ndarray, count: int, is_zero: np.ndarray) -> np.ndarray:
    """Mark groups of zero components: ``(H, count)``; bands have none."""
    found = np.zeros((len(groups), count), dtype=bool)
    for row, group in enumerate(groups):
        found[row, group[(group >= 0) & is_zero[row]]] = True
    return found


def shares_of(magnitude: np.ndarray, zero: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the shares of the energy off zero, and that energy: ``(A, R, H, G) -> (A, R, H, G), (A, R, H)``.

    NaN at zero groups, and where all that is off zero is rounding.

    Examples
    --------
    >>> share, energy = shares_of(np.array([[[[5.0, 1.0, 2.0]]]]), np.array([[True, False, False]]))
    >>> share.tolist(), energy.tolist()
    ([[[[nan, 0.2, 0.8]]]], [[[5.0]]])
    """
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
    """Test shares ``(A, R, H, G)``: their mean under the null, its interval, p, and the ratio of share and mean.

    Shares that differ by less than ``tie`` of the observed one are tied, beside those that differ by rounding.
    """
    observed = np.moveaxis(share, 1, 0)  # (R, A, H, G)
    shape, sums = observed.shape, np.zeros((2, observed.size))
    left, known = observed.copy(), []
    for row in range(shape[0] if counted is not None and shape[0] <= MANY else 0):
        whole = counted(row) if counted is not None else None
        if whole is not None:
            left[row] = np.nan
            each = [whole(h) for h in range(shape[2])]  # (A, arrangements, G), hops with fewer groups have fewer
            padded = [
                np.pad(one, ((0, 0), (0, 0), (0, shape[3] - one.shape[2])), constant_values=np.nan) for one in each
            ]
            known.append((row, np.stack(padded, axis=2)))

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
        own = observed.ravel()[cells]
        out = np.where(np.abs(out - own) <= tie * own, own, out)
        sums[:, cells] += np.nansum(out, axis=0), np.isfinite(out).sum(axis=0)
        return out[:, :, None]

    chance = run_columns(left.reshape(-1, 1), draw, at)
    with np.errstate(invalid="ignore"):
        fields = {"chance": sums[0] / sums[1], "chance_low": chance.low, "chance_high": chance.high, "p": chance.p}
    out = {name: np.moveaxis(array.reshape(shape), 0, 1) for name, array in fields.items()}
    for row, values in known:  # every arrangement is as likely as the others
        own = share[:, row]
        values = np.where(np.abs(values - own[:, None]) <= tie * own[:, None], own[:, None], values)
        smaller = np.minimum(*tails(own, np.moveaxis(values, 1, 0)))
        out["p"][:, row] = np.where(np.isnan(own), np.nan, np.minimum(1.0, 2 * smaller / values.shape[1]))
        count = np.isfinite(values).sum(axis=1)  # zero components have no shares at all
        with np.errstate(invalid="ignore"):
            out["chance"][:, row] = np.nansum(values, axis=1) / count
        ordered = np.sort(values, axis=1)
        for name, quantile in zip(("chance_low", "chance_high"), CHANCE, strict=True):
            place = np.maximum(np.ceil(quantile * count).astype(int) - 1, 0)
            out[name][:, row] = np.take_along_axis(ordered, place[:, None], axis=1)[:, 0]
    return out


def with_ratio(out: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same with the ratio of share and chance."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return out | {"ratio": np.where(out["chance"] > 0, out["share"] / out["chance"], np.nan)}
