"""Some of the components equal the ends of the whole spectrum, multiplicities too."""

import networkx as nx
import numpy as np
import pytest

import calls
import spectrata as st
from spectrata.core.bases.partial import partial_basis
from spectrata.errors import OptionError


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
