"""Observations of Task 2."""

from functools import partial

import numpy as np

from reproduction.claims import published
from reproduction.claims.claim import Finding, Results, above, at_least, below, claim, show
from reproduction.claims.tools import APPRX, PULSE, RAND, agree, listed
from reproduction.tasks import task2

_claim = partial(claim, "2", "task1 task2")


@_claim(
    "t2-adj-diff-ln-vx",
    "On random signals ADJ-DIFF and LN-VX highly agree at all K.",
    ".99 (K = 1..3), .95 (K = 4)",
    "mean agreement above 0.9 at every K, on both random series",
)
def _(results: Results) -> Finding:
    found = agree(results, (("adj_diff", "ln_vx"),), RAND, 1, 99)
    flat = [task2.flat_means(results.task2, "ERM-Rand", m)[0] for m in ("adj_diff", "ln_vx")]
    return Finding(
        listed(RAND, found),
        above(found, 0.9),
        f"Both are close to the flat spectrum (cosines {show(flat, 3)} at K = 1), which is what they agree on.",
        found - 1.0,  # two flat spectra agree with cosine 1
    )


@_claim(
    "t2-apprx-ls",
    "APPRX-LS agrees fairly well with ADJ-DIFF and LN-VX for K <= 4 and less and less from K = 5 on.",
    ".77 .77 .78 .68 and .79 .79 .78 .75",
    "K <= 4: above 0.6; each K >= 5: below the mean of K <= 4 and below the K before it (both random series)",
    "APPRX-LS is 0 at every zero eigenvalue, and those multiply with the singletons.",
)
def _(results: Results) -> Finding:
    found = agree(results, APPRX, RAND, 1, 99)
    low, high = found[..., :4], found[..., 4:]
    falling = np.diff(found, axis=-1)[..., 3:]
    return Finding(
        "; ".join(f"{s} {show(row[0])} and {show(row[1])}" for s, row in zip(RAND, found, strict=True)),
        [*above(low, 0.6), *above(low.mean(axis=-1, keepdims=True) - high, 0.0), *below(falling, 0.0)],
    )


@_claim(
    "t2-in-agg",
    "On random signals IN-AGG is not similar to any other algorithm.",
    "at most .60 up to K = 4",
    "every mean agreement with IN-AGG below 0.65 at K <= 4, on both random series",
    "Most of IN-AGG is at the zero component, where APPRX-LS has nothing and the others one part in √n.",
)
def _(results: Results) -> Finding:
    found = agree(results, tuple(p for p in task2.PAIRS if "in_agg" in p), RAND, 1, 4)
    return Finding(f"largest {np.nanmax(found):.2f}, smallest {np.nanmin(found):.2f}", below(found, 0.65))


@_claim(
    "t2-pulses-low",
    "On pulses all algorithms highly agree for K <= 3.",
    ".65 to .92",
    "every pair's mean at least 0.65 at K <= 3, on both pulse series",
    "The pairs with LN-VX, close to flat, are the lowest.",
)
def _(results: Results) -> Finding:
    found = agree(results, task2.PAIRS, PULSE, 1, 3)
    return Finding(
        f"{np.nanmin(found):.2f} to {np.nanmax(found):.2f}", at_least(found, published.PULSE_AGREEMENT[0] - 0.005)
    )


@_claim(
    "t2-pulses-high",
    "On pulses the agreement falls sharply from K = 4 on.",
    "sharply",
    "every pair's mean falls by more than 0.1 from K = 3 to K = 4 or by more than 0.3 from K = 3 to K = 5",
    "Two zero outputs, on a singleton's pulse, are counted as agreement 0.",
)
def _(results: Results) -> Finding:
    found = agree(results, task2.PAIRS, PULSE, 3, 5)
    four, five = found[..., 0] - found[..., 1], found[..., 0] - found[..., 2]
    return Finding(
        f"mean fall {four.mean():.2f} to K = 4, {five.mean():.2f} to K = 5",
        [bool(a > 0.1 or b > 0.3) for a, b in zip(four.ravel(), five.ravel(), strict=True)],
    )
