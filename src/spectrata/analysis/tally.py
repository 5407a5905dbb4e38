"""Counts of draws against what was observed: p-values with ties, and q."""

import numpy as np

# Two magnitudes are tied when they differ by less than this share of the larger ...
TIE = 1e-9
# ... or by less than this share of the signal's norm, below which there is only rounding.
FLOOR = 1e-13


class Tally:
    """Counts and moments of draws against the observed, without keeping the draws.

    Parameters
    ----------
    observed : ndarray, shape (algorithm, T, hop, group)
    floor : ndarray, broadcast against it
        Differences below this are rounding.
    """

    def __init__(self, observed: np.ndarray, floor: np.ndarray) -> None:
        self.observed = observed
        self.floor = np.broadcast_to(floor, observed.shape)
        self.above, self.below, self.tied, self.used = (
            np.zeros(observed.shape, dtype=np.int64) for _ in range(4)
        )
        # Moments of the energy's difference from the observed one: no digits are lost where they agree.
        self.first, self.second = np.zeros(observed.shape), np.zeros(observed.shape)

    def add(self, rows: slice, drawn: np.ndarray) -> None:
        """Take draws ``(algorithm, S, c, hop, group)`` for these snapshots."""
        observed = self.observed[:, rows, None]
        tie = TIE * np.maximum(np.abs(observed), np.abs(drawn)) + self.floor[:, rows, None]
        difference = drawn - observed
        present = ~np.isnan(difference)
        self.above[:, rows] += np.sum(difference >= -tie, axis=2)
        self.below[:, rows] += np.sum(difference <= tie, axis=2)
        self.tied[:, rows] += np.sum(np.abs(difference) <= tie, axis=2)
        self.used[:, rows] += present.sum(axis=2)
        energy = np.where(present, drawn**2 - observed**2, 0.0)
        self.first[:, rows] += energy.sum(axis=2)
        self.second[:, rows] += np.sum(energy**2, axis=2)

    def result(self, alternative: str) -> dict[str, np.ndarray]:
        """Arrays named as in the Dataset."""
        used = np.where(self.used > 0, self.used, np.nan)
        shift = self.first / used
        spread = np.sqrt(
            np.maximum(self.second / used - shift**2, 0.0) * used / np.where(used > 1, used - 1, np.nan)
        )
        upper, lower = (1 + self.above) / (used + 1), (1 + self.below) / (used + 1)
        tails = {"greater": upper, "less": lower, "two-sided": np.minimum(1.0, 2 * np.minimum(upper, lower))}
        degenerate = (self.used > 0) & (self.tied == self.used)
        p = np.where(degenerate, 1.0, tails[alternative])
        out = {
            "magnitude": self.observed,
            "null_energy": self.observed**2 + shift,
            "null_std": spread,
            "p": p,
        }
        rounding = np.maximum(np.abs(self.observed), np.sqrt(np.abs(out["null_energy"]))) <= self.floor
        return out | {"degenerate": degenerate, "draws_used": self.used, "rounding": rounding}


def adjust(p: np.ndarray) -> np.ndarray:
    """Benjamini-Hochberg q over the last axis; NaN drop out of the family.

    Examples
    --------
    >>> adjust(np.array([0.01, 0.04, np.nan, 0.03])).round(3).tolist()
    [0.03, 0.04, nan, 0.04]
    """
    order = np.argsort(p, axis=-1)  # NaN last
    ranked = np.take_along_axis(p, order, axis=-1)
    family = np.sum(~np.isnan(p), axis=-1, keepdims=True)
    scaled = ranked * family / np.arange(1, p.shape[-1] + 1)
    filled = np.where(np.isnan(scaled), np.inf, scaled)
    lowest = np.minimum.accumulate(filled[..., ::-1], axis=-1)[..., ::-1]
    q = np.empty_like(p)
    np.put_along_axis(q, order, np.minimum(lowest, 1.0), axis=-1)
    return np.where(np.isnan(p), np.nan, q)
