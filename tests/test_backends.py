"""The same numbers from every array library: torch in main memory here, torch and cupy on a GPU (``-m gpu``)."""

import importlib
import warnings

import networkx as nx
import numpy as np
import pytest

import calls
import spectrata as st
from spectrata.errors import SpectrataWarning
from spectrata.kernels.backend import Backend, backend_of

ALGORITHMS = ("gft", "apprx_ls", "in_agg", "adj_diff")


def many_parts() -> nx.Graph:
    """A giant part, a triangle, a path, an edge, a star: singletons and parts of one size at several hops."""
    parts = [
        nx.gnm_random_graph(90, 150, seed=2),
        nx.cycle_graph(3),
        nx.path_graph(7),
        nx.path_graph(2),
        nx.star_graph(5),
    ]
    return nx.disjoint_union_all([*parts, nx.path_graph(2), nx.cycle_graph(3)])


GRAPHS = {
    "random": nx.gnm_random_graph(120, 300, seed=1),
    "many parts": many_parts(),
    "one edge": nx.path_graph(2),
    "hypercube": nx.convert_node_labels_to_integers(nx.hypercube_graph(4)),
    "complete": nx.complete_graph(9),
}
BACKENDS = [
    pytest.param(Backend("torch", "cpu"), id="torch-cpu"),
    pytest.param(Backend("torch", "cuda:0"), id="torch-cuda", marks=pytest.mark.gpu),
    pytest.param(Backend("cupy", "cuda:0"), id="cupy", marks=pytest.mark.gpu),
]


def need(backend: Backend) -> None:
    importlib.import_module(backend.name)


def merged(ds, algorithm: str, hop: int) -> np.ndarray:
    """One value per eigenspace, independent of the basis for gft, apprx_ls (rms) and in_agg."""
    at = st.merge_eigenspaces(ds).sel(algorithm=algorithm, hop=hop)
    return at["magnitude"].values[..., at["multiplicity"].values > 0]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("snapshots", [1, 9])
def test_every_backend_gives_numpys_numbers(backend, name, snapshots):
    need(backend)
    graph = GRAPHS[name]
    signal = np.random.default_rng(3).standard_normal((snapshots, graph.number_of_nodes(), 3))
    strat = st.Stratification(graph)
    expected = strat.spectra(signal, ALGORITHMS)
    found = strat.using(device=backend).spectra(signal, ALGORITHMS)
    np.testing.assert_array_equal(found["eigenspace"], expected["eigenspace"])
    np.testing.assert_allclose(found["gradient_norm"], expected["gradient_norm"], rtol=1e-12)
    np.testing.assert_allclose(found["ls_residual"], expected["ls_residual"], atol=1e-7)
    for hop in strat.hops:
        for algorithm in ("gft", "apprx_ls", "in_agg"):
            ours, theirs = merged(found, algorithm, hop), merged(expected, algorithm, hop)
            np.testing.assert_allclose(ours, theirs, atol=1e-8 * theirs.max())
        simple = expected["multiplicity"].sel(hop=hop).values == 1
        ours, theirs = (ds["magnitude"].loc["adj_diff"].sel(hop=hop).values[:, simple] for ds in (found, expected))
        np.testing.assert_allclose(ours, theirs, atol=1e-8 * theirs.max(initial=1e-12))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("orientation", ["index", "random"])
def test_orientations_and_line_graphs_on_every_backend(backend, orientation):
    need(backend)
    graph = nx.gnm_random_graph(24, 40, seed=5)
    signal = np.random.default_rng(0).standard_normal((24, 2))
    options = {"algorithms": ("apprx_ls", "ln_vx"), "orientation": orientation, "transform": "incidence"}
    expected = calls.spectra(graph, signal, **options)
    found = calls.spectra(graph, signal, device=backend, **options)
    simple = expected["multiplicity"].values == 1
    for algorithm in ("apprx_ls", "ln_vx"):
        ours, theirs = (ds["magnitude"].loc[algorithm].values[simple] for ds in (found, expected))
        np.testing.assert_allclose(ours, theirs, atol=1e-8 * theirs.max())


@pytest.mark.parametrize("backend", BACKENDS)
def test_learned_transform_on_every_backend(backend):
    need(backend)
    graph = nx.gnm_random_graph(16, 24, seed=5)
    signal = np.random.default_rng(0).standard_normal(16)
    found = st.spectra(st.Stratification(graph, hops=2, device=backend), signal, "ln_vx", ln_vx={"trials": 3})
    assert (found["ln_vx_mse"].sel(hop=2) < 2e-6).all()


@pytest.mark.parametrize("backend", [pytest.param(Backend(), id="numpy"), *BACKENDS])
def test_single_precision_keeps_four_digits(backend):
    need(backend)
    graph = nx.gnm_random_graph(60, 150, seed=4)
    signal = np.random.default_rng(1).standard_normal((60, 3))
    expected = st.spectra(graph, signal, ALGORITHMS)
    found = st.spectra(st.Stratification(graph, dtype="float32", device=backend), signal, ALGORITHMS)
    simple = (expected["multiplicity"].values == 1) & (found["multiplicity"].values == 1)
    for algorithm in ALGORITHMS:
        ours, theirs = (ds["magnitude"].loc[algorithm].values[simple] for ds in (found, expected))
        np.testing.assert_allclose(ours, theirs, atol=5e-4 * theirs.max())
    assert np.abs(found["eigenvalue"].values - expected["eigenvalue"].values).max() > 1e-9, (
        "this was not single precision"
    )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_cached_bases_are_believed_and_damaged_ones_made_anew(backend, dtype, tmp_path):
    need(backend)
    graph = many_parts()
    signal = np.random.default_rng(0).standard_normal((graph.number_of_nodes(), 2))
    given = {"algorithms": ("gft", "in_agg"), "hops": 2, "cache": tmp_path, "device": backend, "dtype": dtype}
    expected = calls.spectra(graph, signal, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = calls.spectra(graph, signal, **given)
    np.testing.assert_array_equal(found["eigenvalue"], expected["eigenvalue"])
    np.testing.assert_allclose(found["magnitude"], expected["magnitude"], rtol=1e-5, atol=1e-6)
    entries = sorted(tmp_path.glob("*.npz"))
    assert len(entries) == 2
    for entry in entries:
        with np.load(entry) as stored:
            arrays = dict(stored)
        np.savez(entry, **(arrays | {"vectors": 2 * arrays["vectors"]}))
    with pytest.warns(SpectrataWarning, match="computed again"):
        again = calls.spectra(graph, signal, **given)
    np.testing.assert_array_equal(again["eigenvalue"], expected["eigenvalue"])


@pytest.mark.gpu
@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_the_backend_follows_the_signal(library):
    graph = nx.gnm_random_graph(50, 120, seed=1)
    signal = np.random.default_rng(0).standard_normal((50, 2))
    on_device = Backend(library, "cuda:0").asarray(signal)
    assert backend_of(on_device) == Backend(library, "cuda:0")
    expected, found = st.spectra(graph, signal), st.spectra(graph, on_device)
    for hop in expected["hop"].values:
        np.testing.assert_allclose(merged(found, "gft", hop), merged(expected, "gft", hop), atol=1e-9)


# --- laws on every backend, with fixed seeds: they run where there is no hypothesis ------------------------------


@pytest.fixture(params=["random", "many parts", "hypercube"])
def lawful(request):
    """A graph, a signal, and a generator for what is done to them."""
    graph = GRAPHS[request.param]
    rng = np.random.default_rng(11)
    return graph, rng.standard_normal((graph.number_of_nodes(), 3)), rng


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e160, 1e300])
def test_extreme_sizes_on_every_backend(backend, lawful, factor):
    need(backend)
    graph, signal, _ = lawful
    strat = st.Stratification(graph, hops=2)
    one, other = (
        strat.using(device=backend).spectra(s, ALGORITHMS, metric="euclidean") for s in (signal, signal * factor)
    )
    np.testing.assert_allclose(other["gradient_norm"] / factor, one["gradient_norm"], rtol=1e-12)
    scale = one["magnitude"].max().item()
    np.testing.assert_allclose(other["magnitude"] / factor, one["magnitude"], atol=1e-9 * scale)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("angle", "relative"), [(1e-9, 1e-6), (1e-12, 1e-3), (1e-200, 1e-9)])
def test_tiny_angles_on_every_backend(backend, angle, relative):
    need(backend)
    found = st.spectra(st.Stratification(nx.path_graph(2), device=backend), np.array([[1.0, 0.0], [1.0, angle]]), "gft")
    assert found["gradient_norm"].item() == pytest.approx(angle / 2, rel=relative)


@pytest.mark.parametrize("backend", [pytest.param(Backend(), id="numpy"), *BACKENDS])
def test_single_precision_does_not_mind_a_large_mean(backend, lawful):
    need(backend)
    graph, signal, _ = lawful
    strat = st.Stratification(graph, hops=1)
    one = strat.spectra(signal + 1e6, ALGORITHMS, metric="euclidean")
    other = strat.using(dtype="float32", device=backend).spectra(signal + 1e6, ALGORITHMS, metric="euclidean")
    np.testing.assert_allclose(other["gradient_norm"], one["gradient_norm"], rtol=1e-6)
    ours, theirs = (st.off_zero(ds).values for ds in (other, one))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
