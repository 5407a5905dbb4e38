"""Bounds on the errors of magnitudes against 40 digits, and wrong solvers, damaged memory and cut writes planted."""

from dataclasses import replace
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import calls
import roads
import spectrata as st
from spectrata.core import checks, engine
from spectrata.core.bases import partial
from spectrata.core.bases import solve as eigen
from spectrata.core.bases.partial import count_below, partial_basis
from spectrata.core.operators import COMBINATORIAL
from spectrata.core.plan import make_plan
from spectrata.errors import SolverError
from spectrata.inputs.signals import as_signal, potential
from spectrata.results.schema import view
from strategies import regular_graph

BOUNDED = ("gft", "in_agg", "apprx_ls")


def plant(monkeypatch, place, name, change):
    """Let a solver return its eigenvalues and eigenvectors after ``change(values, vectors)``."""
    right = getattr(place, name)

    def wrong(*given):
        values, vectors = right(*given)
        change(values, vectors)
        return values, vectors

    monkeypatch.setattr(place, name, wrong)


def added(at, size):
    """A change that adds to some numbers of the eigenvectors."""

    def change(values, vectors):
        vectors[at] += size

    return change


def weighted(graph, weights):
    graph = nx.convert_node_labels_to_integers(graph)
    for (x, y), weight in zip(list(graph.edges), weights, strict=True):
        graph[x][y]["weight"] = float(weight)
    return graph


def small_gaps():
    """A ring whose pairs of equal eigenvalues differ by about 1e-7: eigenvectors keep half of their digits."""
    return weighted(nx.cycle_graph(16), 1 + 1e-6 * np.random.default_rng(3).random(16))


def barbell():
    graph = nx.barbell_graph(6, 3)
    return weighted(graph, np.ones(graph.number_of_edges()))


def scales():
    graph = nx.gnm_random_graph(12, 24, seed=2)
    return weighted(graph, 10.0 ** np.random.default_rng(1).uniform(-3, 3, 24))


CASES = [
    (small_gaps, {}),
    (small_gaps, {"n_eigs": 6}),
    (small_gaps, {"n_eigs": 5, "which": "highest"}),
    (barbell, {"laplacian": "random_walk"}),
    (barbell, {"dtype": "float32"}),
    (scales, {"metric": "angular"}),
]


@pytest.mark.needs("torch")  # which brings mpmath
@pytest.mark.parametrize(("graph", "options"), CASES)
def test_the_true_error_lies_within_the_bound_which_is_not_far_above(graph, options):
    import exact_spectra

    options = {"metric": "euclidean"} | options
    graph = graph()
    strat = st.Stratification(graph, hops=1, weights="weight")
    signal = np.random.default_rng(0).standard_normal((len(graph), 2))
    merged = view(st.merge_eigenspaces(calls.spectra(strat, signal, BOUNDED, **options)))
    stratum = strat.strata.at(1)
    walk, kind = options.get("laplacian") == "random_walk", options.get("dtype", "float64")
    spaces = calls.spectra(
        strat, signal, "gft", **{"dtype": kind, "laplacian": "random_walk" if walk else "combinatorial"}
    )
    weights = np.ones(stratum.n_edges) if stratum.weights is None else stratum.weights
    truth = exact_spectra.magnitudes(
        stratum.edges.tolist(), weights, signal, spaces["eigenspace"].values[0], walk, options["metric"] == "angular"
    )
    for index, name in enumerate(merged.algorithms):
        found, bound = merged.magnitude[index, 0, 0], merged.magnitude_error[index, 0, 0]
        known = ~np.isnan(found)
        assert_array_equal(np.isnan(bound), ~known)
        places = merged.eigenspace[0][known]
        error = np.array([abs(float(a - truth[name][at])) for a, at in zip(found[known], places, strict=True)])
        share = np.divide(error, bound[known], out=np.zeros_like(error), where=bound[known] > 0)
        print(f"{name}: errors up to {error.max():.1e}, bounds up to {bound[known].max():.1e}, share {share.max():.3f}")
        assert (error <= bound[known]).all(), name
        assert error.max() >= 1e-4 * bound[known].max(), name


@pytest.mark.needs("torch")  # which brings mpmath
@pytest.mark.parametrize("graph", [small_gaps, barbell])
def test_eigenvectors_rounded_from_double_have_bounds_of_single_precision(graph):
    """As watched layers and gradients have them: rounding moves a vector by 1e-7, whatever the gaps."""
    import exact_spectra

    graph = graph()
    strat = st.Stratification(graph, hops=1, weights="weight")
    signal = np.random.default_rng(0).standard_normal((len(graph), 2))
    plan = make_plan(BOUNDED, {}, len(graph), seed=0, keep=(), dtype="float32", solved_in_double=True)
    field = potential(as_signal(signal, strat.graph), "euclidean")
    (piece,) = engine.all_hops(strat, field, plan)
    stratum, spaces = strat.strata.at(1), piece.axis.eigenspace
    truth = exact_spectra.magnitudes(stratum.edges.tolist(), stratum.weights, signal, spaces)
    starts = np.flatnonzero(np.diff(spaces, prepend=-1))
    for name, magnitude, bound, status in zip(
        BOUNDED, piece.magnitude[:, 0], piece.magnitude_error[:, 0], piece.status[:, 0], strict=True
    ):
        merged = np.sqrt(np.add.reduceat(magnitude**2, starts))
        error = np.abs(merged - truth[name].astype(float))
        assert (error <= bound[starts]).all(), name
        assert 1e-9 < error.max() / merged.max() < bound.max() / merged.max() < (1e-3 if name == "apprx_ls" else 1e-4)
        assert status == "ok"


@pytest.mark.parametrize("laplacian", ["combinatorial", "random_walk"])
def test_ordinary_graphs_have_small_bounds(laplacian):
    signal = np.random.default_rng(0).standard_normal((200, 3))
    for graph in (nx.gnm_random_graph(200, 800, seed=1), nx.barabasi_albert_graph(200, 3, seed=1)):
        ds = st.spectra(graph, signal, BOUNDED, hops=2, laplacian=laplacian)
        share = (ds["magnitude_error"].max("component") / ds["magnitude"].max("component")).values
        assert (share < 1e-9).all()
        assert (share > 1e-16).all()
        assert "off by" not in (st.summary(ds).attrs["note"] or "")


def test_algorithms_without_a_bound_say_so_and_readers_carry_the_others():
    ds = st.spectra(nx.hypercube_graph(3), {node: sum(node) ** 2 for node in nx.hypercube_graph(3)}, hops=1)
    assert ds["magnitude_error"].sel(algorithm="adj_diff").isnull().all()
    assert "NaN where the algorithm has none" in ds["magnitude_error"].attrs["long_name"]
    error = view(ds).magnitude_error[0, 0, 0]
    merged = view(st.merge_eigenspaces(ds))
    assert_array_equal(merged.magnitude_error[0, 0, 0], error[[0, 1, 4, 7]])
    assert_array_equal(np.isnan(view(st.stats.drop_zero(ds)).magnitude_error[0, 0, 0]), np.arange(8) == 0)
    length = np.sqrt(np.sum(view(ds).magnitude[0, 0, 0] ** 2))
    unit = view(st.stats.normalize(ds)).magnitude_error[0, 0, 0]
    assert (unit >= error / length).all()
    assert (unit <= 6 * error.max() / length).all()


def test_a_large_bound_is_printed():
    """Single precision on a graph with small gaps; the note names the algorithm, the hop and the share."""
    signal = np.random.default_rng(0).standard_normal((60, 2))
    single = st.spectra(st.Stratification(nx.barbell_graph(25, 10), hops=1, dtype="float32"), signal, "gft")
    share = float(single["magnitude_error"].max() / single["magnitude"].max())
    assert share > 1e-6
    line = f"gft at hop 1: magnitudes may be off by {share:.1e} of the largest (see magnitude_error)"
    assert line in str(st.summary(single)).splitlines()


# ---- eigenvalues counted


MATRICES = {
    "ring": nx.cycle_graph(12),
    "torus": nx.grid_2d_graph(6, 7, periodic=True),
    "random": nx.gnm_random_graph(50, 120, seed=3),
}


def part_of(graph):
    stratum = st.Stratification(nx.convert_node_labels_to_integers(graph), hops=1).strata.at(1)
    return partial._matrices(stratum, COMBINATORIAL)[0]


@pytest.mark.parametrize("name", MATRICES)
def test_eigenvalues_are_counted_by_inertia(name):
    part = part_of(MATRICES[name])
    values = np.linalg.eigvalsh(np.diag(part.diagonal) - part.links.toarray())
    for low, high in pairwise(values):
        if high - low > 1e-3:
            given = (low + high) / 2, (high - low) / 2
            assert count_below(part, *given) == np.sum(values < given[0])


def test_a_count_that_cannot_be_trusted_is_none(monkeypatch):
    part = part_of(nx.gnm_random_graph(40, 90, seed=1))
    assert count_below(part, 2.0, 1e-17) is None  # no factorisation is that accurate
    monkeypatch.setattr(partial, "FLOPS", 1.0)
    assert count_below(part, 2.0, 0.1) is None


@pytest.mark.parametrize("which", ["lowest", "highest"])
@pytest.mark.parametrize("skipped", [0, 2])
def test_a_partial_solver_that_skips_one_is_caught(monkeypatch, which, skipped):
    """What it gives are exact eigenpairs, so that no residual can tell."""
    monkeypatch.setattr(partial, "DENSE_PART", 20)
    graph = nx.gnm_random_graph(80, 200, seed=1)
    stratum = st.Stratification(graph, hops=1).strata.at(1)
    right = partial._solve_block

    def wrong(matrix, wanted, which, bound):
        values, vectors = right(matrix, wanted + 1, which, bound)
        at = skipped if which == "lowest" else len(values) - 1 - skipped
        return np.delete(values, at), np.delete(vectors, at, axis=1)

    assert partial_basis(stratum, 5, which).column_residual.max() < 1e-9
    monkeypatch.setattr(partial, "_solve_block", wrong)
    side = "below" if which == "lowest" else "above"
    with pytest.raises(SolverError, match=rf"the solver found \d+ eigenvalues {side} [\d.]+, and there are \d+; ask"):
        partial_basis(stratum, 5, which)


def test_what_is_too_large_to_count_is_unconfirmed(monkeypatch):
    graph, signal = regular_graph(4, 120, seed=1), np.arange(120.0)
    monkeypatch.setattr(partial, "DENSE_PART", 20)
    counted = st.spectra(st.Stratification(graph, hops=1, n_eigs=4), signal)
    assert set(counted["status"].values.ravel()) == {"ok"}
    monkeypatch.setattr(partial, "FLOPS", 1.0)
    some = st.spectra(st.Stratification(graph, hops=1, n_eigs=4), signal)
    assert set(some["status"].values.ravel()) == {
        "unconfirmed: this part of the spectrum is too large to count its eigenvalues"
    }
    assert some["magnitude_error"][..., 1:].isnull().all()  # the zero component is known by structure
    assert_array_equal(some["magnitude"], counted["magnitude"])


# ---- wrong solvers


def test_a_solver_that_gives_one_pair_twice_is_caught(monkeypatch):
    """Every residual is small, and one component is missing."""

    def twice(values, vectors):
        values[:, 3], vectors[:, :, 3] = values[:, 2], vectors[:, :, 2]

    plant(monkeypatch, eigen, "_solve_stack", twice)
    with pytest.raises(SolverError, match="at hop 1 has eigenvectors that are not orthonormal"):
        st.spectra(nx.gnm_random_graph(70, 200, seed=1), np.arange(70.0), hops=1)


def test_a_wrong_matrix_of_a_batch_of_parts_is_named(monkeypatch):
    """Parts of one size are solved at once; one of a hundred times the weight must not hide a light one."""
    heavy = weighted(nx.path_graph(5), [100.0] * 4)
    light = weighted(nx.path_graph(5), [1e-9] * 4)
    graph = nx.disjoint_union(heavy, light)
    st.spectra(graph, np.arange(10.0), "gft", hops=1, weights="weight")
    plant(monkeypatch, eigen, "_eigh", lambda _, vectors: np.copyto(vectors[1, :, 1], np.roll(vectors[1, :, 1], 1)))
    with pytest.raises(SolverError, match=r"in the part of 5 nodes with row 5 has residual .*; please report"):
        st.spectra(graph, np.arange(10.0), "gft", hops=1, weights="weight")


@pytest.mark.needs("torch")
def test_a_wrong_matrix_of_a_batch_of_tensors_is_named(monkeypatch):
    """The way of accelerators, on tensors in main memory: parts of one size in one call of torch."""
    from spectrata.kernels.backend import Backend

    graph = nx.disjoint_union_all([nx.path_graph(5)] * 4)
    stratum = st.Stratification(graph, hops=1).strata.at(1, Backend("torch", "cpu"))
    assert eigen.decompose(stratum).column_residual.max() < 1e-13
    plant(monkeypatch, eigen, "_eigh", added((2, 0, 1), 1e-8))
    with pytest.raises(SolverError, match=r"in the part of 5 nodes with row 10 has residual .*; please report"):
        eigen.decompose(stratum)


@pytest.mark.needs("torch")
def test_gradients_take_no_wrong_basis(monkeypatch):
    import torch

    from spectrata.torch import magnitudes

    plant(monkeypatch, eigen, "_solve_stack", added(np.s_[:, 0, 5], 1e-6))
    with pytest.raises(SolverError, match="at hop 1 has residual"):
        magnitudes(nx.gnm_random_graph(70, 200, seed=1), torch.ones(70, requires_grad=True), hops=1)


# ---- sums that must come out


@pytest.mark.parametrize("bit", [45, 51, 53, 62, 63])
@pytest.mark.parametrize(
    ("laplacian", "what"),
    [("combinatorial", "vectors"), ("random_walk", "vectors"), ("normalized", "vectors"), ("combinatorial", "values")],
)
def test_a_wrong_number_in_a_basis_is_caught_by_the_sums_of_gft(laplacian, bit, what):
    signal = np.random.default_rng(1).standard_normal((70, 2))
    strat = st.Stratification(nx.gnm_random_graph(70, 200, seed=1), hops=1)
    strat.spectra(signal, "gft", laplacian=laplacian)
    basis = strat.basis(1, laplacian)
    held = basis.parts[0].vectors if what == "vectors" else basis.values[:, None]
    at = (11, 17) if what == "vectors" else (17, 0)
    held[at] = (held[at][None].view(np.uint64) ^ np.uint64(1 << bit)).view(np.float64)[0]
    if what == "values" and laplacian == "normalized":
        return  # the energy on the edges is not sum lam M^2 there
    with (
        pytest.raises(SolverError, match=r"at hop 1 has sum lam\^[01] M\^2 = .*, and the signal"),
        np.errstate(all="ignore"),
    ):
        strat.spectra(signal, "gft", laplacian=laplacian)


def test_three_sums_are_known_without_eigenvectors():
    """For roads that make none: each sum against the signal's own, by the dense Laplacian."""
    graph = nx.gnm_random_graph(30, 70, seed=1)
    signal = np.random.default_rng(1).standard_normal((30, 2))
    magnitude = st.spectra(graph, signal, "gft", hops=1, metric="euclidean")["magnitude"].values[0]
    matrix = nx.laplacian_matrix(graph, range(30)).toarray().astype(float)
    sums = {0: np.sum(signal**2), 1: np.trace(signal.T @ matrix @ signal), 2: np.sum((matrix @ signal) ** 2)}
    basis = st.Stratification(graph, hops=1).basis(1)
    known = {power: np.array([value]) for power, value in sums.items()}
    checks.verify_sums(1, basis, magnitude, known)
    for power in known:
        with pytest.raises(SolverError, match=rf"sum lam\^{power} M\^2"):
            checks.verify_sums(1, basis, magnitude, known | {power: known[power] * (1 + 1e-6)})


def test_a_large_snapshot_does_not_hide_a_wrong_small_one():
    """Sums of each snapshot are compared at its own size."""
    basis = st.Stratification(nx.gnm_random_graph(30, 70, seed=1), hops=1).basis(1)
    magnitude = np.random.default_rng(1).random((2, 30)) * [[1.0], [1e-8]]
    known = np.sum(basis.values * magnitude**2, axis=1)
    checks.verify_sums(1, basis, magnitude, {1: known})
    with pytest.raises(SolverError, match=r"sum lam\^1 M\^2"):
        checks.verify_sums(1, basis, magnitude, {1: known * [1.0, 1.001]})


def test_a_signal_without_energy_off_zero_passes_the_sums_of_factored_vectors():
    with roads.factored_vectors():
        strat = st.Stratification(nx.gnm_random_graph(30, 70, seed=1), hops=1, max_basis_bytes=0)
        ds = st.spectra(strat, np.ones(30), "gft")
    assert ds["status"].item() == "ok"
    assert_array_equal(ds["magnitude"].values.ravel() > 0, np.arange(30) == 0)


# ---- bands


@pytest.mark.long
@pytest.mark.parametrize("n", [60, 1600])
def test_bands_whose_energies_do_not_add_up_are_refused(monkeypatch, n):
    from spectrata.bands import exact, one_hop

    graph = regular_graph(4, n, seed=1)
    signal = np.random.default_rng(1).standard_normal(n)
    arguments = {"bands": 4, "algorithms": "gft"}
    assert calls.band_spectra(graph, signal, **arguments)["status"].values.tolist() == [["ok"]]
    for module, name in ((exact, "by_decomposition"), (one_hop, "_by_recurrence")):
        right = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *a, right=right: replace(right(*a), zero=right(*a).zero + 1e-3))
    with pytest.raises(SolverError, match=r"energies of gft at hop 1 add up to [\d.]+ instead of [\d.]+"):
        calls.band_spectra(graph, signal, **arguments)


@pytest.mark.parametrize("steps", [6, 25, "auto"])
def test_the_true_magnitude_of_a_band_lies_within_its_bound(steps):
    """Few steps leave wide bounds; without a number of steps the graph is decomposed."""
    graph = nx.gnm_random_graph(200, 500, seed=1)
    signal = np.random.default_rng(1).standard_normal((200, 3))
    ds = calls.band_spectra(graph, signal, 8, algorithms="gft", metric="euclidean", steps=steps)
    values, vectors = np.linalg.eigh(nx.laplacian_matrix(graph, range(200)).toarray().astype(float))
    energy = np.sum((vectors.T @ signal) ** 2, axis=1)
    edges = np.append(ds["band_lower"].values[0], ds["band_upper"].values[0, -1])
    band = np.clip(np.searchsorted(edges, values, side="left"), 1, 8)  # the last takes all that lies above
    truth = np.sqrt(np.bincount(np.where(values < 1e-9, 0, band), energy, 9))
    found, bound = ds["magnitude"].values[0, 0], ds["magnitude_error"].values[0, 0]
    assert (np.abs(found - truth) <= bound + 1e-13).all()
    assert (bound.max() > 1e-2) == (steps != "auto")


def test_bounds_of_bands_that_cross_are_refused(monkeypatch):
    from spectrata.bands import exact

    right = exact.by_decomposition

    def crossed(*given):
        found = right(*given)
        return replace(found, lower=found.upper + 1e-3, upper=found.lower)

    monkeypatch.setattr(exact, "by_decomposition", crossed)
    with pytest.raises(SolverError, match="bounds of bands at hop 1 are not in order"):
        calls.band_spectra(nx.path_graph(40), np.arange(40.0), 4)


def test_an_operator_of_another_program_is_solved_with_the_same_checks(monkeypatch):
    from scipy.sparse.linalg import aslinearoperator

    matrix = nx.laplacian_matrix(nx.path_graph(40)).astype(float)
    calls.band_spectra(aslinearoperator(matrix), np.arange(40.0), 4, algorithms="gft")
    plant(monkeypatch, np.linalg, "eigh", added((3, 4), 1e-6))
    with pytest.raises(SolverError, match="at hop 1 has residual"):
        calls.band_spectra(aslinearoperator(matrix), np.arange(40.0), 4, algorithms="gft")


def test_results_of_stacked_graphs_have_the_bounds_of_single_calls():
    """Both measure the same matrices; the bounds differ as their rounding does."""
    graph = nx.gnm_random_graph(24, 60, seed=1)
    signal = np.random.default_rng(1).standard_normal(24)
    many = st.spectra_many([(graph, signal), (nx.path_graph(24), signal)], algorithms=BOUNDED, hops=1)
    one = st.spectra(graph, signal, BOUNDED, hops=1)
    ours, theirs = many["magnitude_error"].values[0, :, 0], one["magnitude_error"].values[:, 0]
    assert (ours <= 30 * theirs).all()
    assert (theirs <= 30 * ours).all()
