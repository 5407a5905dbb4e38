"""Bands with edge weights, node measures and self-loops against the exact spectra summed into the same bands."""

from dataclasses import replace
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

import calls
import spectrata as st
from brute import OPERATORS
from spectrata.bands.operators import RowLaplacian
from spectrata.bands.settings import orientation_keys
from spectrata.bands.solve import solve_laplacian
from spectrata.core.operators import Laplacian
from spectrata.core.registry import ALGORITHMS as ROWS
from spectrata.errors import OptionError
from spectrata.inputs.graphs import as_graph
from spectrata.kernels import searches


def _weighted(kind, seed, n=150):
    """A graph with weights over two orders of magnitude; sparse ones have many parts and single nodes."""
    rng = np.random.default_rng(seed)
    if kind == "grid":
        graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(10, n // 10))
    else:
        graph = nx.fast_gnp_random_graph(n, {"sparse": 1.4, "dense": 7.0}[kind] / n, seed=seed)
    return as_graph(graph, weights=10 ** rng.uniform(-1, 1, graph.number_of_edges()))


def assert_bands_hold(found, exact, tol=0.01):
    """Every cumulative energy lies in its bounds and within ``tol``; energies at 0 and gradients are exact."""
    np.testing.assert_allclose(found["gradient_norm"], exact["gradient_norm"], rtol=1e-12)
    for name in ("n_edges", "n_parts", "n_singletons"):
        np.testing.assert_array_equal(found[name], exact[name])
    for hop in found["hop"].values:
        values, zero = (exact[name].sel(hop=hop).values for name in ("eigenvalue", "is_zero"))
        edges = found["band_upper"].sel(hop=hop).values[:-1]
        for algorithm in found["algorithm"].values:
            cell = found.sel(algorithm=algorithm, hop=hop)
            energy = exact["magnitude"].sel(algorithm=algorithm, hop=hop).values ** 2
            total, off = energy.sum(), np.where(zero, 0.0, energy)
            assert float(cell["zero_energy"]) == pytest.approx(energy[zero].sum(), rel=1e-10, abs=1e-10 * total)
            assert float(cell["energy"].sum()) == pytest.approx(off.sum(), rel=1e-6)
            share = np.array([off[values <= edge].sum() for edge in edges]) / off.sum()
            assert np.all(cell["cumulative_lower"].values[:-1] <= share + 1e-12)
            assert np.all(share <= cell["cumulative_upper"].values[:-1] + 1e-12)
            assert np.abs(cell["cumulative"].values[:-1] - share).max() <= tol
            assert str(cell["status"].values) == "ok"


@pytest.mark.parametrize(("laplacian", "self_loops"), OPERATORS)
@pytest.mark.parametrize("kind", ["sparse", "dense", "grid"])
def test_bands_hold_the_exact_energies(kind, laplacian, self_loops):
    for seed, hop_weights in enumerate(("bottleneck", "product", "unit")):
        graph = _weighted(kind, seed)
        signal = np.random.default_rng(seed).standard_normal((graph.n_nodes, 1 + 2 * seed)) + 0.4
        options = {"laplacian": laplacian, "self_loops": self_loops, "orientation": "index"}
        asked = {"hops": [1, 2], "hop_weights": hop_weights}
        found = calls.band_spectra(graph, signal, bands=9, **asked, **options)
        exact = calls.spectra(graph, signal, list(found["algorithm"].values), **asked, **options)
        assert_bands_hold(found, exact)
        for name in ("laplacian", "self_loops", "weights", "metric", "graph_hash"):
            assert found.attrs[name] == exact.attrs[name]


def test_equal_weights_scale_the_combinatorial_axis_and_leave_the_others():
    graph, signal = nx.barabasi_albert_graph(120, 3, seed=2), np.random.default_rng(2).standard_normal(120)
    m = graph.number_of_edges()
    plain = calls.band_spectra(graph, signal, bands=6, algorithms="gft", steps=12)
    for factor in (1.0, 4.0):
        found = calls.band_spectra(graph, signal, bands=6, algorithms="gft", steps=12, weights=np.full(m, factor))
        np.testing.assert_allclose(found["band_upper"], factor * plain["band_upper"], rtol=1e-9)
        np.testing.assert_allclose(found["cumulative"], plain["cumulative"], rtol=1e-6)
        assert found.attrs["weights"] == "bottleneck"
    for laplacian in ("random_walk", "normalized"):
        options = {"bands": 6, "algorithms": "gft", "steps": 12, "laplacian": laplacian}
        plain = calls.band_spectra(graph, signal, **options)
        found = calls.band_spectra(graph, signal, weights=np.full(m, 4.0), **options)
        np.testing.assert_allclose(found["band_upper"], plain["band_upper"], rtol=1e-9)
        np.testing.assert_allclose(found["cumulative"], plain["cumulative"], rtol=1e-6)
        assert float(found["band_upper"][0, -2]) < 2


def test_a_large_mean_costs_no_digits():
    """The weighted mean is subtracted before the root of the measure multiplies anything."""
    graph = _weighted("dense", 5)
    signal = np.random.default_rng(5).standard_normal(150)
    options = {"bands": 6, "algorithms": "gft", "steps": 12, "laplacian": "random_walk"}
    small = calls.band_spectra(graph, signal, **options)
    large = calls.band_spectra(graph, np.round(signal, 6) + 2.0**26, **options)
    np.testing.assert_allclose(large["energy"], small["energy"], rtol=1e-4)


def test_what_is_constant_lies_at_zero_for_the_right_operators():
    graph = _weighted("sparse", 3)
    flat = np.ones(150)
    whole = calls.band_spectra(graph, flat, bands=4, algorithms="gft", laplacian="random_walk", self_loops=True)
    assert float(whole["energy"].sum()) == 0.0
    assert whole["status"].values.item() == "no energy off zero"
    weights = st.Stratification(graph, hops=1).strata[0]
    root = np.sqrt(Laplacian("normalized", True).measure(weights))
    for signal, empty in ((flat, False), (root, True)):
        found = calls.band_spectra(graph, signal, bands=4, laplacian="normalized", self_loops=True)
        assert found["algorithm"].values.tolist() == ["gft"]
        assert (float(found["energy"].sum()) == 0.0) == empty


@pytest.mark.parametrize("solver", ["cg", "amg", "auto"])
@pytest.mark.parametrize(("laplacian", "self_loops"), OPERATORS[:3])
def test_the_weighted_solve_is_the_shortest_solution(solver, laplacian, self_loops):
    graph = _weighted("sparse", 4, n=900)  # many parts and single nodes
    weights = searches.both_directions(graph.indptr, graph.indices, graph.weights)
    operator = RowLaplacian(graph.indptr, graph.indices, weights, Laplacian(laplacian, self_loops))
    keys = orientation_keys(0, 1, 2)
    _, right, _ = operator.gradients(np.random.default_rng(0).standard_normal((900, 2)), keys)
    if operator.measure is not None:
        right = right / np.sqrt(operator.measure)[:, None]
    y, steps, _ = solve_laplacian(operator, right, solver)
    assert steps > 0
    expected = np.linalg.pinv(operator.times(np.eye(900)), hermitian=True) @ right
    np.testing.assert_allclose(y, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize(("laplacian", "self_loops"), OPERATORS)
def test_the_operator_is_the_scaled_laplacian(laplacian, self_loops):
    graph = _weighted("sparse", 6)
    w = np.zeros((150, 150))
    x, y = graph.edges.T
    w[x, y] = w[y, x] = graph.weights
    degrees = w.sum(axis=0)
    c = np.where(degrees > 0, degrees + self_loops, 1) if laplacian != "combinatorial" else np.ones(150)
    expected = (np.diag(degrees) - w) / np.sqrt(np.outer(c, c))
    weights = searches.both_directions(graph.indptr, graph.indices, graph.weights)
    operator = RowLaplacian(graph.indptr, graph.indices, weights, Laplacian(laplacian, self_loops))
    np.testing.assert_allclose(operator.times(np.eye(150)), expected, atol=1e-13)
    np.testing.assert_allclose(operator.diagonal, np.diag(expected), atol=1e-13)
    dense = np.diag(operator.diagonal) - operator.matrix(operator.off_diagonal).toarray()
    np.testing.assert_allclose(dense, expected, atol=1e-13)


@pytest.mark.long
@pytest.mark.parametrize(("laplacian", "self_loops"), OPERATORS)
def test_tensors_take_the_array_way_to_the_same_weighted_bands(laplacian, self_loops):
    pytest.importorskip("torch")
    from spectrata.kernels.backend import Backend

    graph = _weighted("sparse", 7)
    signal = np.random.default_rng(8).standard_normal((150, 3))
    for orientation in ("index", "rms"):
        arguments = {"bands": 8, "steps": 10, "orientation": orientation, "hops": 2}
        arguments |= {"laplacian": laplacian, "self_loops": self_loops}
        found = calls.band_spectra(graph, signal, device=Backend("torch", "cpu"), **arguments)
        expected = calls.band_spectra(graph, signal, **arguments)
        for name in ("energy", "zero_energy", "cumulative_lower", "cumulative_upper", "gradient_norm"):
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-6, atol=1e-8)


def test_what_a_laplacian_does_not_serve_is_refused_by_name(monkeypatch):
    graph, signal = _weighted("dense", 8), np.arange(150.0)
    with pytest.raises(OptionError, match=r"apprx_ls, in_agg: not defined for laplacian='normalized'.*gft\."):
        calls.band_spectra(graph, signal, algorithms=["gft", "apprx_ls", "in_agg"], laplacian="normalized")
    monkeypatch.setitem(ROWS, "in_agg", replace(ROWS["in_agg"], weighted=False))
    with pytest.raises(OptionError, match=r"in_agg: not defined for edge weights, which serve gft, apprx_ls\."):
        calls.band_spectra(graph, signal, algorithms="in_agg")
    assert calls.band_spectra(graph, signal, bands=2, weights=False, algorithms="in_agg").attrs["weights"] == ""
    matrix = aslinearoperator(np.eye(3))
    with pytest.raises(OptionError, match="An operator is the Laplacian itself"):
        st.band_spectra(matrix, np.ones(3), algorithms="gft", weights=True)
    for name in ("laplacian", "self_loops", "device"):
        with pytest.raises(OptionError, match=f"{name}' is an argument of Stratification"):
            st.band_spectra(graph, signal, **{name: None})
    with pytest.raises(OptionError, match="'steps' is an option of lanczos"):
        st.band_spectra(graph, signal, steps=3)


def test_calibrate_draws_with_the_weights_and_the_laplacian_of_the_result():
    graph = _weighted("dense", 9)
    signal = np.random.default_rng(9).standard_normal(150)
    options = {"laplacian": "random_walk", "self_loops": True, "hop_weights": "product", "hops": [2]}
    ds = calls.band_spectra(graph, signal, bands=4, algorithms="gft", **options)
    found = st.calibrate(ds, signal, draws=39)
    exact = calls.spectra(graph, signal, "gft", **options)
    # The closed-form mean of each eigenvalue's energy over all orders of the nodes, summed into the bands.
    stratum = st.Stratification(graph, hops=[2], hop_weights="product").strata[0]
    basis = st.Stratification(graph, hops=[2], hop_weights="product").basis(2, "random_walk", self_loops=True)
    a = np.sqrt(Laplacian("random_walk", True).measure(stratum))[:, None] * basis.dense()
    variance = np.sum((signal - signal.mean()) ** 2) / 149
    mean = a.sum(axis=0) ** 2 * signal.mean() ** 2 + ((a**2).sum(axis=0) - a.sum(axis=0) ** 2 / 150) * variance
    values, off = exact["eigenvalue"].values[0], ~exact["is_zero"].values[0]
    edges = np.append(ds["band_lower"].values[0], np.inf)
    expected = [mean[off & (values > lo) & (values <= hi)].sum() for lo, hi in pairwise(edges)]
    apart = np.abs(found["chance"].values[0, 0] - np.array(expected) / sum(expected))
    std = (found["chance_high"] - found["chance_low"]).values[0, 0] / (2 * 1.96)
    assert np.all(apart <= 4 * std / np.sqrt(39) + 0.01)
