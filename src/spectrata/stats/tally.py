"""Counts of draws against what was observed: p-values with ties, and q."""

import numpy as np

# Two magnitudes are tied when they differ by less than this share of the larger ...
TIE = 1e-9
# ... or by less than this share of the signal's norm, below which there is only rounding.
FLOOR = 1e-13


def differs(
    drawn: np.ndarray, observed: np.ndarray, floor: np.ndarray, share: float = TIE
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which draws are at least and at most the observed, ties in both, and which are there at all."""
    tie = share * np.maximum(np.abs(observed), np.abs(drawn)) + floor
    difference = drawn - observed
    return difference >= -tie, difference <= tie, ~np.isnan(difference)


class Tally:
    """Counts and moments of draws against the observed, without keeping the draws.

    Parameters
    ----------
    observed : ndarray, shape (A, T, group)
        At one hop.
    floor : ndarray, broadcast against it
        Differences below this are rounding.
    tie : float
        Share of the larger of two magnitudes below which they are tied.
    whole : bool
        Whether the draws are all there are but the observed: with it they are the null itself, and not a sample of it.
    """

    def __init__(self, observed: np.ndarray, floor: np.ndarray, tie: float = TIE, whole: bool = False) -> None:
        self.observed, self.tie, self.whole = observed, tie, whole
        self.floor = np.broadcast_to(floor, observed.shape)
        self.above, self.below, self.tied, self.used = (np.zeros(observed.shape, dtype=np.int64) for _ in range(4))
        self.exact: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # algorithm -> mean and deviation in closed form
        # Moments of the energy's difference from the observed one: no digits are lost where they agree.
        self.first, self.second = np.zeros(observed.shape), np.zeros(observed.shape)

    def add(self, rows: slice | np.ndarray, drawn: np.ndarray) -> None:
        """Take draws ``(A, S, c, group)`` for these snapshots."""
        observed, floor = self.observed[:, rows][:, :, None], self.floor[:, rows][:, :, None]
        above, below, present = differs(drawn, observed, floor, self.tie)
        self.above[:, rows] += np.sum(above, axis=2)
        self.below[:, rows] += np.sum(below, axis=2)
        self.tied[:, rows] += np.sum(above & below, axis=2)
        self.used[:, rows] += present.sum(axis=2)
        energy = np.where(present, drawn**2 - observed**2, 0.0)
        self.first[:, rows] += energy.sum(axis=2)
        self.second[:, rows] += np.sum(energy**2, axis=2)

    def result(self, alternative: str) -> dict[str, np.ndarray]:
        """Arrays named as in the Dataset."""
        used = np.where(self.used > 0, self.used, np.nan)
        count = used + self.whole  # the observed differs from itself by 0
        freedom = count if self.whole else np.where(used > 1, used - 1, np.nan)
        shift = self.first / count
        spread = np.sqrt(np.maximum(self.second / count - shift**2, 0.0) * count / freedom)
        upper, lower = (1 + self.above) / (used + 1), (1 + self.below) / (used + 1)
        tails = {"greater": upper, "less": lower, "two-sided": np.minimum(1.0, 2 * np.minimum(upper, lower))}
        degenerate = (self.used > 0) & (self.tied == self.used)
        p = np.where(degenerate, 1.0, tails[alternative])
        out = {"magnitude": self.observed, "null_energy": self.observed**2 + shift, "null_std": spread, "p": p}
        for row, (mean, std) in self.exact.items():
            out["null_energy"][row], out["null_std"][row] = mean, std
            degenerate[row] |= (self.used[row] == 0) & (std == 0)
        rounding = np.maximum(np.abs(self.observed), np.sqrt(np.abs(out["null_energy"]))) <= self.floor
        return out | {"degenerate": degenerate, "draws_used": self.used, "rounding": rounding}


def joined(results: list[dict[str, np.ndarray]], count: int) -> dict[str, np.ndarray]:
    """What tallies of several hops gave, as arrays ``(A, T, H, count)``; missing groups are NaN, and not degenerate."""
    out = {}
    for name, first in results[0].items():
        fill = np.nan if first.dtype.kind == "f" else 0
        padded = [
            np.pad(one[name], ((0, 0), (0, 0), (0, count - one[name].shape[-1])), constant_values=fill)
            for one in results
        ]
        out[name] = np.stack(padded, axis=2)
    return out


def against_chance(out: dict[str, np.ndarray], columns: int = 1) -> dict[str, np.ndarray]:
    """Add ``ratio``, ``z`` and ``q`` to what a tally gives, its moments perhaps replaced by exact ones.

    The family of q is one algorithm and snapshot: so many ``columns`` that are rows of their own, all hops and groups.
    """
    energy, mean, degenerate = out["magnitude"] ** 2, out["null_energy"], out["degenerate"]
    with np.errstate(invalid="ignore", divide="ignore"):
        # Undefined where both values are below rounding error.
        out["ratio"] = np.where((mean > 0) & ~out["rounding"], energy / mean, np.nan)
        out["z"] = np.where((out["null_std"] > 0) & ~degenerate, (energy - mean) / out["null_std"], np.nan)
    algorithms, rows = out["p"].shape[:2]
    family = np.where(degenerate, np.nan, out["p"]).reshape(algorithms, rows // columns, -1)
    out["q"] = np.where(degenerate, 1.0, adjust(family).reshape(out["p"].shape))
    return out


def adjust(p: np.ndarray) -> np.ndarray:
    """Benjamini-Hochberg q over the last axis; NaN drop out of the family.

    Examples
    --------
    >>> adjust(np.array([0.01, 0.04, np.nan, 0.03])).round(3).tolist()
    [0.03, 0.04, nan, 0.04]
    """
    from scipy.stats import false_discovery_control

    q = np.full(p.shape, np.nan)
    for row in np.ndindex(p.shape[:-1]):
        known = ~np.isnan(p[row])
        if known.any():
            q[row][known] = false_discovery_control(p[row][known])
    return q
