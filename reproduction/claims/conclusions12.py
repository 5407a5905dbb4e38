"""Conclusions of Tasks 1 and 2, and the suggestion drawn from them."""

from functools import partial

import numpy as np

from reproduction.claims.claim import Finding, Results, above, at_least, below, claim, conclusion, show
from reproduction.claims.tools import ALL, APPRX, MEMBERS, PULSE, RAND, agree, means
from reproduction.tasks import task1, task2

_claim, _of_task1 = partial(claim, "1-2", "task1 task2"), partial(claim, "1-2", "task1")


@_claim(
    "conclusion-1-2.1",
    "On signals that are not pulses, ADJ-DIFF and LN-VX are more effective than others and produce agreeing results.",
    "framed point (1)",
    "both above APPRX-LS and IN-AGG at every K; agreement above 0.9 at every K (both random series)",
    "They lead and agree because both are nearly flat, and the flat spectrum leads with them.",
)
def _(results: Results) -> Finding:
    better, worse = (means(results, RAND, kinds) for kinds in (("adj_diff", "ln_vx"), ("apprx_ls", "in_agg")))
    gaps = better[:, :, None] - worse[:, None]
    agreement = agree(results, (("adj_diff", "ln_vx"),), RAND, 1, 99)
    flat = means(results, RAND, "adj_diff", 1, 4) - means(results, RAND, "flat", 1, 4)
    return Finding(
        f"smallest lead {np.nanmin(gaps):.2f}; smallest agreement {np.nanmin(agreement):.2f}; ADJ-DIFF minus flat at "
        f"K <= 4: {show(flat)}",
        [*above(gaps, 0.0), *above(agreement, 0.9)],
        over_flat=flat,
    )


@_claim(
    "conclusion-1-2.2",
    "APPRX-LS is effective at lower K and agrees with ADJ-DIFF and LN-VX to a great extent.",
    "framed point (2)",
    "K <= 4: cosine with the GFT above 0.6 and agreements above 0.6 (both random series)",
    "0.64 is below the flat spectrum's cosine, so effectiveness rests on a low bar.",
)
def _(results: Results) -> Finding:
    own = means(results, RAND, "apprx_ls", 1, 4)
    agreement = agree(results, APPRX, RAND, 1, 4)
    return Finding(
        f"GFT {show(own)}; agreements {np.nanmin(agreement):.2f} to {np.nanmax(agreement):.2f}",
        [*above(own, 0.6), *above(agreement, 0.6)],
        over_flat=own - means(results, RAND, "flat", 1, 4),
    )


@_claim(
    "conclusion-1-2.3",
    "On pulses at lower K all four algorithms perform acceptably and produce similar results.",
    "framed point (3)",
    "K <= 3: every cosine with the GFT at least 0.65 and every agreement at least 0.65 (both pulse series)",
    "LN-VX has the flat spectrum's cosine; the other three are far above it.",
)
def _(results: Results) -> Finding:
    own = means(results, PULSE, MEMBERS, 1, 3)
    agreement = agree(results, task2.PAIRS, PULSE, 1, 3)
    return Finding(
        f"GFT {np.nanmin(own):.2f} to {np.nanmax(own):.2f}; agreements {np.nanmin(agreement):.2f} to "
        f"{np.nanmax(agreement):.2f}; flat {show(means(results, 'ERM-Pulse', 'flat', 1, 3))}",
        [*at_least(own, 0.645), *at_least(agreement, 0.645)],
        over_flat=own - means(results, PULSE, "flat", 1, 3)[:, None],
    )


@_of_task1(
    "conclusion-1-2.4",
    "No algorithm is effective on pulses at higher K.",
    "framed point (4)",
    "every mean below 0.5 at K >= 5, on both pulse series",
)
def _(results: Results) -> Finding:
    found = means(results, PULSE, task1.ALGORITHMS, 5)
    kept = task1.without_singletons(results.task1, "ERM-Pulse", "adj_diff")[4]
    return Finding(
        f"largest {np.nanmax(found):.2f}",
        below(found, 0.5),
        f"Most pulses sit on singletons there; off them ADJ-DIFF has {kept:.2f} at K = 5 on ERM-Pulse.",
    )


conclusion(
    "conclusion-1-2", "1-2", "Conclusions of Tasks 1 and 2.", [f"conclusion-1-2.{point}" for point in (1, 2, 3, 4)]
)


@_of_task1(
    "suggestion-1.1",
    "For lower K weigh ADJ-DIFF and LN-VX above APPRX-LS, and suppress APPRX-LS for higher K.",
    "framed point (1)",
    "on both random series the suggested weights beat even ones in mean cosine at every K",
    "Weighing the flat members more brings ENS up to the flat spectrum.",
)
def _(results: Results) -> Finding:
    gain = means(results, RAND, "ens/paper") - means(results, RAND, "ens")
    flat = means(results, RAND, "ens/paper", 1, 4) - means(results, RAND, "flat", 1, 4)
    return Finding(
        f"gain over even weights {show(gain)}; over flat at K <= 4 {show(flat)}", above(gain, 0.0), over_flat=flat
    )


@_of_task1(
    "suggestion-1.2",
    "For pulses join IN-AGG and moderately suppress LN-VX.",
    "framed point (2)",
    "on both pulse series weights .3 .3 .3 .1 beat even ones and those of point (1) at K <= 4",
    "LN-VX is the member furthest from a pulse's spectrum.",
)
def _(results: Results) -> Finding:
    others = means(results, PULSE, ("ens", "ens/paper"), 1, 4)
    own = means(results, PULSE, "ens/pulse", 1, 4)
    gain = own[:, None] - others
    return Finding(
        f"gain {np.nanmin(gain):.3f} to {np.nanmax(gain):.3f}; flat {show(means(results, 'ERM-Pulse', 'flat', 1, 4))}",
        above(gain, 0.0),
        over_flat=own - means(results, PULSE, "flat", 1, 4),
    )


@_of_task1(
    "suggestion-1.3",
    "When time is short LN-VX and APPRX-LS can be left out, at some loss of robustness.",
    "framed point (3)",
    "ADJ-DIFF alone within 0.05 of, or above, the suggested ENS at K <= 4, on all series",
    "ADJ-DIFF needs no learning and loses nothing that matters here.",
)
def _(results: Results) -> Finding:
    loss = means(results, ALL, "ens/paper", 1, 4) - means(results, ALL, "ens/adj_diff", 1, 4)
    return Finding(f"loss {np.nanmin(loss):.3f} to {np.nanmax(loss):.3f}", below(loss, 0.05 + 1e-9))


conclusion(
    "suggestion-1", "1-2", "Practical suggestion 1 on weighing ENS.", [f"suggestion-1.{point}" for point in (1, 2, 3)]
)
