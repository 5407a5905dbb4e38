"""ENS: ensemble based transform (Algorithm 6).

``ens`` sums the members' magnitudes after dividing each by its l2 norm, ``ens_raw`` as they are. Where a member is
NaN it drops out and the other weights are scaled up, component by component, so that the weights in use always have
the same sum.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from spectrata.core.hop import OK, Output
from spectrata.errors import OptionError

Weights = str | Mapping[str, float] | Callable[[int], Mapping[str, float]]

# Weights as printed for Task 3, for Task 1, and after Practical Suggestion 1.
PRESETS: dict[str, Callable[[int], dict[str, float]]] = {
    "paper": lambda hop: (
        {"adj_diff": 0.4, "ln_vx": 0.4, "apprx_ls": 0.2} if hop <= 4 else {"adj_diff": 0.5, "ln_vx": 0.5}
    ),
    "even": lambda hop: dict.fromkeys(("apprx_ls", "in_agg", "adj_diff", "ln_vx"), 0.25),
    "pulse": lambda hop: {"adj_diff": 0.3, "in_agg": 0.3, "apprx_ls": 0.3, "ln_vx": 0.1},
    "fast": lambda hop: {"adj_diff": 2 / 3, "apprx_ls": 1 / 3} if hop <= 4 else {"adj_diff": 1.0},
}


def member_weights(weights: Weights, hop: int, members: Sequence[str]) -> dict[str, float]:
    """The weight of every possible member at one hop, zeros included."""
    if isinstance(weights, str):
        if weights not in PRESETS:
            raise OptionError(f"ens_weights={weights!r} is not one of {', '.join(PRESETS)}; or give a mapping.")
        given: Mapping[str, float] = PRESETS[weights](hop)
    else:
        given = weights(hop) if callable(weights) else weights
    if not isinstance(given, Mapping):
        raise OptionError(f"ens_weights must name members and their weights at hop {hop}, not {given!r}.")
    unknown = sorted(str(name) for name in set(given) - set(members))
    if unknown:
        raise OptionError(f"ens_weights names {', '.join(unknown)}; the members of ens are {', '.join(members)}.")
    try:
        resolved = {member: float(given.get(member, 0.0)) for member in members}
        fine = all(np.isfinite(w) and w >= 0 for w in resolved.values()) and sum(resolved.values()) > 0
    except (TypeError, ValueError):
        fine = False
    if not fine:
        raise OptionError(
            f"ens_weights at hop {hop} must be finite numbers, not negative, and not all zero, not {dict(given)}."
        )
    return resolved


def unit_norm(magnitude: np.ndarray) -> np.ndarray:
    """Divide by the l2 norm over the last axis; NaN drop out of the norm, all zeros stay zeros."""
    norm = np.sqrt(np.nansum(magnitude**2, axis=-1, keepdims=True))
    return magnitude / np.where(norm > 0.0, norm, 1.0)


def _combine(
    members: Mapping[str, Output], weights: Mapping[str, float], scale: Callable[[np.ndarray], np.ndarray]
) -> Output:
    used = {name: weight for name, weight in weights.items() if weight > 0.0}
    stack = np.stack([scale(members[name].magnitude) for name in used])  # (member, T, n)
    weight = np.array(list(used.values()))[:, None, None] * ~np.isnan(stack)
    present = weight.sum(axis=0)
    total = np.nansum(weight * stack, axis=0) * sum(used.values())
    magnitude = np.divide(total, present, out=np.full_like(total, np.nan), where=present > 0.0)
    troubled = [f"{name} {members[name].status}" for name in used if members[name].status != OK]
    return Output(magnitude, "reweighted: " + "; ".join(troubled) if troubled else OK)


ens = partial(_combine, scale=unit_norm)  # weighted sum of l2-normalised magnitudes
ens_raw = partial(_combine, scale=lambda magnitude: magnitude)  # of the magnitudes as they are
