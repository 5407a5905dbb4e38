"""Claims of the introduction and of section 2."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from reproduction.claims.claim import Finding, above, below, claim, show

TEXT = "1-2"
Numbers = Mapping[str, Any]


def _claim(of: str, *statement: str) -> Callable[[Callable[[Numbers], Finding]], None]:
    """Register a claim that is judged on one group of the numbers of sections 1 and 2."""

    def register(judge: Callable[[Numbers], Finding]) -> None:
        claim(TEXT, "text", *statement)(lambda results: judge(results.text[of]))

    return register


@_claim(
    "four_cycle",
    "intro-4-cycle",
    "On a 4-cycle the pulse [√2, 0, 0, 0] and the oscillation [2, 1, 2, 1] share their quadratic form but hardly "
    "their spectra.",
    "equal forms, spectra not similar",
    "forms equal to 1e-9; cosine of the GFT off zero below 0.8",
    "The oscillation has all its varying energy at eigenvalue 4, the pulse two thirds of it at eigenvalue 2.",
)
def _(found: Numbers) -> Finding:
    first, second = found["forms"]
    return Finding(
        f"forms {show(found['forms'])}; GFT energy at 0, 2, 4: {show(found['pulse'])} against "
        f"{show(found['oscillation'])}; cosine off zero {found['cosine']:.2f}",
        [abs(first - second) < 1e-9, found["cosine"] < 0.8],
    )


@_claim(
    "algorithm_1",
    "algorithm-1",
    "Algorithm 1's matrix powers give the strata of Definition 1.",
    "by construction",
    "no pair of nodes differs from the hop distances, on four graphs",
    "One breadth-first search from every node gives the same strata without powers.",
)
def _(found: Numbers) -> Finding:
    return Finding(f"{found['wrong']:.0f} pairs differ on {found['graphs']:.0f} graphs", [found["wrong"] == 0])


_claim(
    "definition_2",
    "definition-2",
    "The gradient sqrt((1 - cos)/2) is the Euclidean distance of unit vectors normalised to [0, 1].",
    "identity",
    "largest difference over 1000 pairs below 1e-7",
    "It is half the chord; the printed form loses its digits at small angles, the chord does not.",
)(lambda found: Finding(f"largest difference {found['difference']:.1e}", below(found["difference"], 1e-7)))


@_claim(
    "fact_1",
    "fact-1",
    "A real-valued signal with the given distances along edges may not exist (Fact 1).",
    "consistent or inconsistent",
    "a triangle of orthogonal vectors has a residual above 0.1 in every orientation, a path none above 1e-9",
    "Trees always have a solution, odd cycles of equal lengths never.",
)
def _(found: Numbers) -> Finding:
    return Finding(
        f"smallest residual {found['triangle']:.3f} on the triangle, {found['path']:.0e} on the path",
        [*above(found["triangle"], 0.1), *below(found["path"], 1e-9)],
    )


@_claim(
    "ln_vx",
    "fact-2",
    "A transform between the eigenbases of a graph and its line graph exists linearly only if |V| = |E| (Fact 2).",
    "may not be linear",
    "MSE at least (n - m)/n² where m < n; MSE above 1e-5 where m > n",
    "With fewer edges than nodes the rank forbids it, as stated; with more edges the two-sided map of the text "
    "fits exactly, so inequality of |V| and |E| alone does not.",
)
def _(found: Numbers) -> Finding:
    mse, bound, m = (np.array(found[name]) for name in ("mse", "bound", "n_edges"))
    few, many = m < 13, m > 13
    return Finding(
        f"MSE {show(mse[few], 4)} where m < n (bound {show(bound[few], 4)}); largest {mse[many].max():.1e} where m > n",
        [*(mse[few] >= bound[few]), *(mse[many] > 1e-5)],
    )


@_claim(
    "ln_vx",
    "fact-3",
    "An eigenvector can depend on every eigencomponent of the line graph (Fact 3).",
    "not localised",
    "mean participation of line components above a quarter of them",
    "Two independent Gaussian rows would take part with (2/π)² = 0.41 of the components.",
)
def _(found: Numbers) -> Finding:
    return Finding(
        f"participation {found['participation']:.2f} of the line components", above(found["participation"], 0.25)
    )


@_claim(
    "proposition_1",
    "proposition-1-pulses",
    "On large degrees, IN-AGG's differences follow the gradients for one pulse, or pulses two hops apart.",
    "monotonic in the limit",
    "area under the curve at least 0.99 for one pulse and for two, mean degree 40",
    "The pulse's node takes the mean 1, every other at most one over its degree.",
)
def _(found: Numbers) -> Finding:
    return Finding(
        f"area {found['one_pulse']:.3f} for one pulse, {found['two_pulses']:.3f} for two "
        f"(degree {found['degree']:.0f})",
        above([found["one_pulse"], found["two_pulses"]], 0.99),
    )


_claim(
    "proposition_1",
    "proposition-1-only",
    "Beyond pulses and constants IN-AGG's differences need not follow the gradients.",
    "only if pulse-like or constant",
    "Spearman correlation over edges below 0.5 for uniform random signals",
    "Averaging over a node's edges forgets on which side its neighbours lie.",
)(lambda found: Finding(f"Spearman {found['random']:.2f}", below(found["random"], 0.5)))


claim(
    TEXT,
    "",
    "proposition-2",
    "ADJ-DIFF's magnitudes lie between the two bounds of Proposition 2.",
    "bounds with constants α, C_λ, C_κ, O(V)",
    "cannot be checked: the constants are not named",
    "The bounds hold for some constants and fail for others; three steps of the proof are slips (see the errata).",
)(lambda results: Finding("not measured", [None]))


for _algorithm, _why in {
    "apprx_ls": "Zero gradients have the least-squares solution zero.",
    "in_agg": "The mean of zero gradients is zero.",
    "adj_diff": "The inner product with zero gradients is zero, at zero eigenvalues too.",
    "ln_vx": "Zero gradients have a zero spectrum in the line graph.",
}.items():

    def _judge(found: Numbers, algorithm: str = _algorithm) -> Finding:
        told = f"largest magnitude {found[algorithm]:.1e}; gft {found['gft']:.2f}"
        return Finding(told, below(found[algorithm], 1e-12))

    _claim(
        "constant",
        f"constant-{_algorithm.replace('_', '-')}",
        f"A constant signal gives {_algorithm.upper().replace('_', '-')} the zero output, though its GFT is not zero.",
        "all zeros",
        "no magnitude above 1e-12 at any hop",
        _why,
    )(_judge)


@_claim(
    "ln_vx",
    "ln-vx-parts",
    "Disconnected strata make LN-VX's learning harder than learning part by part.",
    "first limitation",
    "at every disconnected hop of the 13-node graph the MSE is lower when parts are learned alone",
    "Alone, a part with fewer edges than nodes meets the rank bound; together, parts lend each other edges.",
)
def _(found: Numbers) -> Finding:
    apart = np.array(found["n_parts"]) > 1
    whole, parts = np.array(found["mse"])[apart], np.array(found["mse_by_part"])[apart]
    return Finding(f"K = 3..6 whole {show(whole, 4)}; by part {show(parts, 4)}", list(parts < whole))


_claim(
    "ln_vx",
    "ln-vx-norms",
    "The learned rows of H_ln and H_vx are of different norms and bias the magnitudes.",
    "second limitation",
    "largest over smallest row norm above 1.5 on average, on a 50-node graph",
    "Rows start alike and learning moves them little, so their norms stay close to each other.",
)(lambda found: Finding(f"ratio {found['norm_ratio']:.2f}", above(found["norm_ratio"], 1.5)))


@_claim(
    "ln_vx",
    "ln-vx-unique",
    "The learned transform is not unique.",
    "third limitation",
    "cosine between the weights of different trials below 0.9",
    "Every trial fits to the tolerance from its own random start.",
)
def _(found: Numbers) -> Finding:
    return Finding(f"cosine {found['weights_cosine']:.2f} between trials' weights", below(found["weights_cosine"], 0.9))


@_claim(
    "ln_vx",
    "ln-vx-trials-help",
    "Several independent trials offset the non-uniqueness to a great extent.",
    "to a great extent",
    "averages over half of the trials agree (cosine above 0.99), and better than single trials",
    "What the averages agree on is the constant mean: they are close to flat.",
)
def _(found: Numbers) -> Finding:
    single, averaged = found["trial_cosine"], found["averaged_cosine"]
    return Finding(f"single trials {single:.3f}, averages {averaged:.3f}", [averaged > 0.99, averaged > single])


@_claim(
    "activation",
    "ln-vx-activation",
    "SELU slightly benefits LN-VX, ReLU performs much worse than no activation.",
    "slightly better; much worse",
    "cosine with the GFT: SELU above none by at most 0.1, ReLU below none by more than 0.1; MSE of ReLU above ten "
    "times that of none",
    "All three give nearly flat magnitudes, so the cosine hardly sees how well the map was learned.",
)
def _(found: Numbers) -> Finding:
    none, selu, relu = (found[f"{name}_cosine"] for name in ("none", "selu", "relu"))
    return Finding(
        f"cosine none {none:.3f}, SELU {selu:.3f}, ReLU {relu:.3f}; MSE {found['none_mse']:.0e}, "
        f"{found['selu_mse']:.0e}, {found['relu_mse']:.0e}",
        [0.0 < selu - none <= 0.1, relu < none - 0.1, found["relu_mse"] > 10 * found["none_mse"]],
    )


_claim(
    "adj_diff",
    "adj-diff-orthogonal",
    "The difference vectors of ADJ-DIFF are not orthogonal to each other.",
    "may not be orthogonal",
    "mean cosine between different ones above 0.1",
    "Absolute values make them all positive, which alone gives about 2/π = 0.64 to Gaussian differences.",
)(lambda found: Finding(f"mean cosine {found['cosine']:.2f}", above(found["cosine"], 0.1)))


_claim(
    "adj_diff",
    "adj-diff-boundary",
    "With strong partitions, ADJ-DIFF's Fiedler magnitudes depend mostly on the nodes at the boundary of clusters.",
    "mostly",
    "more than half of the squared Fiedler differences of the 13-node graph lie between communities",
    "The Fiedler vectors are nearly constant inside communities.",
)(lambda found: Finding(f"share {found['boundary']:.2f} on 3 of 15 edges", above(found["boundary"], 0.5)))
