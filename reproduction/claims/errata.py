"""Slips in the paper's text, each confirmed or refuted by a few lines that run."""

from collections.abc import Callable
from timeit import repeat

import numpy as np

from reproduction.tasks.caveman import caveman_graph
from reproduction.tasks.random_graphs import SERIES
from spectrata.core.stratification import Stratification

Shows = Callable[[], tuple[bool, str]]  # whether the slip is confirmed, and the evidence
SLIPS: list[tuple[str, str, str, Shows]] = []  # where, what the text says, what is right, what shows it


def _slip(place: str, text: str, right: str) -> Callable[[Shows], Shows]:
    def register(show: Shows) -> Shows:
        SLIPS.append((place, text, right, show))
        return show

    return register


@_slip("Proposition 2, proof", "the eigenvalues add up to |E|/2", "they add up to 2|E|")
def sum_of_eigenvalues() -> tuple[bool, str]:
    """The trace of the Laplacian is the sum of degrees, 2|E|.

    Examples
    --------
    >>> sum_of_eigenvalues()
    (True, 'the eigenvalues of the 13-node graph add up to 30.0; |E| = 15')
    """
    strat = Stratification(caveman_graph(), hops=1)
    total, edges = float(strat.basis(1).values.sum()), strat.strata.at(1).n_edges
    evidence = f"the eigenvalues of the 13-node graph add up to {total:.1f}; |E| = {edges}"
    return bool(np.isclose(total, 2 * edges)), evidence


@_slip("Proposition 2, proof", "the gradient times its complement is |sin|", "it is |sin|/2")
def gradient_times_complement() -> tuple[bool, str]:
    """sqrt((1 - c)/2) sqrt((1 + c)/2) = sqrt(1 - c²)/2.

    Examples
    --------
    >>> gradient_times_complement()
    (True, 'at 1 radian the product is 0.4207, |sin| is 0.8415')
    """
    c = np.cos(1.0)
    product = float(np.sqrt((1 - c) / 2) * np.sqrt((1 + c) / 2))
    half = abs(np.sin(1.0)) / 2
    evidence = f"at 1 radian the product is {product:.4f}, |sin| is {2 * half:.4f}"
    return bool(np.isclose(product, half)), evidence


@_slip("Section 2.4", "E(s, u_i) tends to C² λ_i", "it tends to C λ_i")
def dirichlet_limit() -> tuple[bool, str]:
    """If the gradient is C times an eigenvector's, the form is C λ, of the first degree in C.

    Examples
    --------
    >>> dirichlet_limit()
    (True, 'with C = 3: E = 15.22 = C λ; C² λ = 45.67')
    """
    strat = Stratification(caveman_graph(), hops=1)
    x, y = strat.strata.at(1).edges.T
    basis = strat.basis(1)
    u, eigenvalue, scale = basis.dense()[:, -1], float(basis.values[-1]), 3.0
    form = float(np.sum(scale * np.abs(u[x] - u[y]) * np.abs(u[x] - u[y])))
    confirmed = bool(np.isclose(form, scale * eigenvalue))
    return confirmed, f"with C = {scale:.0f}: E = {form:.2f} = C λ; C² λ = {scale**2 * eigenvalue:.2f}"


@_slip("Proposition 2, proof", "|E| is bounded by O(V)", "it is bounded by O(V²)")
def edges_bound() -> tuple[bool, str]:
    """A complete graph has n (n - 1)/2 edges, more than any multiple of n.

    Examples
    --------
    >>> edges_bound()
    (True, '|E|/|V| of complete graphs of 10, 100, 1000 nodes: 4.5, 49.5, 499.5')
    """
    ratios = [(n - 1) / 2 for n in (10, 100, 1000)]
    evidence = f"|E|/|V| of complete graphs of 10, 100, 1000 nodes: {', '.join(map(str, ratios))}"
    return ratios[-1] > 10 * ratios[0], evidence


@_slip(
    "Algorithm 2, complexity",
    "the SVD, O(m n²), costs less than the eigendecomposition, O(n³)",
    "not when |E| > |V|, that is m > n",
)
def svd_cost() -> tuple[bool, str]:
    """The SVD of an m x n matrix costs m n² steps or more, against n³ for the eigenvectors: more whenever m > n.

    Examples
    --------
    >>> svd_cost()[0]
    True
    """
    rng = np.random.default_rng(0)
    n, m = 100, 800
    incidence = np.zeros((m, n))
    for row in incidence:
        row[rng.choice(n, 2, replace=False)] = 1.0, -1.0
    laplacian = incidence.T @ incidence

    svd = repeat(lambda: np.linalg.svd(incidence, full_matrices=False), number=1)
    eigh = repeat(lambda: np.linalg.eigh(laplacian), number=1)
    steps = m * n**2 / n**3
    word = "longer" if min(svd) > min(eigh) else "no longer"
    return steps > 1, f"with n = {n}, m = {m}: m n² is {steps:.0f} times n³, and the SVD takes {word}"


@_slip(
    "Algorithm 1, complexity", "one breadth-first search, O(|E| + |V|), gives the diameter", "one from every node does"
)
def diameter_search() -> tuple[bool, str]:
    """One search from A reaches everything in 3 steps; the diameter is 6.

    Examples
    --------
    >>> diameter_search()
    (True, 'a search from A goes 3 deep, the diameter is 6')
    """
    distances = Stratification(caveman_graph()).strata.distances
    deep, diameter = int(distances[0].max()), int(distances.max())
    return deep < diameter, f"a search from A goes {deep} deep, the diameter is {diameter}"


@_slip(
    "Introduction and section 2",
    'the original graph is "the 0-th auxiliary graph" and "the 1-SG"',
    "one graph, two names; 1-SG fits Definition 1",
)
def first_stratum() -> tuple[bool, str]:
    """The 1-SG is the graph itself, which the introduction calls the 0-th auxiliary graph.

    Examples
    --------
    >>> first_stratum()
    (True, 'the edges of the 1-SG are the 15 edges of the graph; there is no 0-SG')
    """
    strat = Stratification(caveman_graph())
    same = np.array_equal(strat.strata.at(1).edges, strat.graph.edges)
    return same and 0 not in strat.hops, (
        f"the edges of the 1-SG are the {strat.graph.n_edges} edges of the graph; there is no 0-SG"
    )


@_slip("Task 3, K = 3", "the Fiedler indices are 1 and 2", "they are 2 and 3: two eigenvalues are zero")
def fiedler_indices() -> tuple[bool, str]:
    """At K = 3 there are two connected parts, hence two zeros, and the first nonzero eigenvalues have indices 2 and 3.

    Examples
    --------
    >>> fiedler_indices()
    (True, 'eigenvalues at K = 3 begin 0.000, 0.000, 1.000, 1.000')
    """
    values = Stratification(caveman_graph(), hops=[3]).basis(3).values
    confirmed = bool(np.allclose(values[:4], [0, 0, 1, 1]))
    return confirmed, "eigenvalues at K = 3 begin " + ", ".join(f"{abs(value):.3f}" for value in values[:4])


@_slip("Algorithm 4, step 3", "divide by λ_i for every i", "undefined at λ_i = 0")
def division_by_zero() -> tuple[bool, str]:
    """Every stratum has at least one zero eigenvalue, and step (3) divides by it.

    Examples
    --------
    >>> division_by_zero()
    (True, 'adj_diff with scaling="eigenvalue" is NaN at 1 component at K = 1, 11 at K = 6')
    """
    strat = Stratification(caveman_graph())
    signal = np.arange(13.0)
    ds = strat.using(keep=()).spectra(signal, "adj_diff", adj_diff={"scaling": "eigenvalue"})
    missing = np.isnan(ds["magnitude"].values[0]).sum(axis=1)
    return bool((missing > 0).all()), (
        f'adj_diff with scaling="eigenvalue" is NaN at {missing[0]} component at K = 1, {missing[-1]} at K = 6'
    )


@_slip("Algorithm 4, step 3", "divide by λ_i", "the published figures come from dividing by its root")
def published_scaling() -> tuple[bool, str]:
    """On one ERM graph, dividing by λ, the all-one vector's product kept at zero, is far from the published 0.80.

    Examples
    --------
    >>> published_scaling()[0]
    True
    """
    from reproduction.tasks.task1 import KINDS, cosine, graph_unit

    found = graph_unit(SERIES[0], 0, 0, 0, 1)["magnitude"][0]
    gft = found[KINDS.index("gft")]
    root, printed = (float(cosine(found[KINDS.index(kind)], gft)) for kind in ("adj_diff", "adj_diff/ones"))
    confirmed = abs(root - 0.8) < 0.1 < abs(printed - 0.8)
    return confirmed, f"cosine with the GFT {root:.2f} by the root of λ, {printed:.2f} by λ"


def page() -> str:
    """The errata as Markdown, every line of evidence measured while it is written."""
    lines = [
        "# Errata of the paper",
        "",
        "Slips in the text of *Stratified Graph Spectra*, each checked by a function of",
        "`reproduction.claims.errata` while this page is written.",
        "",
        "| where | the text says | right is | checked by | evidence | slip |",
        "|---|---|---|---|---|---|",
    ]
    for place, text, right, show in SLIPS:
        confirmed, evidence = show()
        word = "confirmed" if confirmed else "refuted"
        cells = (place, text, right, f"`{show.__name__}`", evidence, word)
        lines.append("| " + " | ".join(cell.replace("|", "&#124;") for cell in cells) + " |")
    return "\n".join([*lines, ""])
