"""Some of the components equal the ends of the whole spectrum, multiplicities too."""

import networkx as nx
import numpy as np
import pytest

import calls
import spectrata as st
from spectrata.core.bases import partial
from spectrata.core.bases.partial import partial_basis
from spectrata.errors import OptionError

ALGORITHMS = ("gft", "apprx_ls", "in_agg", "adj_diff")
GRAPHS = {
    "random": nx.gnm_random_graph(60, 120, seed=1),
    "many parts": nx.disjoint_union_all(
        [nx.gnm_random_graph(40, 70, seed=2), *[nx.cycle_graph(6)] * 3, nx.path_graph(2), nx.empty_graph(2)]
    ),
    "torus": nx.grid_2d_graph(8, 8, periodic=True),
    "complete": nx.complete_graph(12),
    "star": nx.star_graph(9),
    "one edge": nx.path_graph(2),
}


@pytest.fixture(params=["dense", "block"])
def solver(request, monkeypatch):
    if request.param == "block":
        monkeypatch.setattr(partial, "DENSE_PART", 20)
    return request.param


@pytest.mark.parametrize("which", ["lowest", "highest"])
@pytest.mark.parametrize("count", [1, 2, 5, 9])
@pytest.mark.parametrize("name", GRAPHS)
def test_some_components_are_the_ends_of_all(solver, name, count, which):
    graph = GRAPHS[name]
    signal = np.random.default_rng(0).standard_normal((3, len(graph), 2))
    strat = st.Stratification(graph, hops=2)
    whole = strat.spectra(signal, ALGORITHMS)
    some = strat.using(n_eigs=count, which=which).spectra(signal, ALGORITHMS)
    count = min(count, len(graph))
    ends = whole.isel(component=slice(0, count) if which == "lowest" else slice(len(graph) - count, None))
    np.testing.assert_allclose(some["eigenvalue"], ends["eigenvalue"], atol=1e-9)
    np.testing.assert_array_equal(some["multiplicity"], ends["multiplicity"])
    assert ("ls_residual" in some) == (count == len(graph))  # the fit takes all components
    simple = ends["multiplicity"].values == 1
    for algorithm in ALGORITHMS:
        ours, theirs = (ds["magnitude"].loc[algorithm].values[:, simple] for ds in (some, ends))
        np.testing.assert_allclose(ours, theirs, atol=1e-7, err_msg=algorithm)


@pytest.mark.parametrize("which", ["lowest", "highest"])
def test_block_iteration_finds_every_copy(which):
    graph = nx.disjoint_union(nx.grid_2d_graph(45, 45, periodic=True), nx.grid_2d_graph(45, 45, periodic=True))
    stratum = st.Stratification(graph, hops=1).strata.at(1)
    basis = partial_basis(stratum, 20, which)
    ring = 2 - 2 * np.cos(2 * np.pi * np.arange(45) / 45)
    truth = np.sort(np.tile(np.add.outer(ring, ring).ravel(), 2))
    expected = truth[:20] if which == "lowest" else truth[-20:]
    np.testing.assert_allclose(basis.values, expected, atol=1e-9)
    true_multiplicity = [int(np.sum(np.abs(truth - value) < 1e-9)) for value in expected]
    assert basis.multiplicity.tolist() == true_multiplicity
    vectors = basis.dense()
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(20), atol=1e-10)
    laplacian = nx.laplacian_matrix(nx.convert_node_labels_to_integers(graph)).astype(float)
    np.testing.assert_allclose(laplacian @ vectors, vectors * basis.values, atol=1e-8)


@pytest.mark.parametrize(
    "arguments",
    [
        {"n_eigs": 0},
        {"n_eigs": 2.5},
        {"n_eigs": True},
        {"n_eigs": 3, "which": "middle"},
        {"n_eigs": 3, "algorithms": "ln_vx"},
        {"n_eigs": 3, "algorithms": "ens"},
        {"n_eigs": 3, "dtype": "float32"},
    ],
)
def test_what_does_not_go_with_some_components_is_refused(arguments):
    with pytest.raises(OptionError, match=r"n_eigs|which"):
        calls.spectra(nx.path_graph(5), np.arange(5.0), **arguments)
