"""Every algorithm with every Laplacian, with edge weights and without, against dense numpy (``brute``)."""

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import brute
import calls
import spectrata as st
from spectrata.core.algorithms.options import Options
from spectrata.core.bases.basis import EigenBasis
from spectrata.core.bases.partial import partial_basis
from spectrata.core.bases.solve import decompose
from spectrata.core.registry import ALGORITHMS
from spectrata.core.strata import Stratum
from spectrata.errors import OptionError
from strategies import each_operator, hop_of

FORMULAS = ("gft", "apprx_ls", "in_agg", "adj_diff")
GRAPHS = {
    "random": nx.gnm_random_graph(14, 30, seed=3),
    "ring": nx.cycle_graph(8),
    "star": nx.star_graph(6),
    "parts": nx.disjoint_union_all([nx.gnm_random_graph(9, 14, seed=5), nx.path_graph(3), nx.empty_graph(2)]),
    "one edge": nx.disjoint_union_all([nx.empty_graph(3), nx.path_graph(2), nx.empty_graph(4)]),
}
VARIANTS = [{}, {"orientation": "index"}, {"scaling": "eigenvalue"}, {"scaling": "program"}]


def weighted(graph, weights, seed=0):
    """A stratum and the adjacency matrix of the same numbers."""
    edges = np.array(sorted(tuple(sorted(edge)) for edge in graph.edges))
    values = np.random.default_rng(seed).uniform(0.2, 3.0, len(edges)) if weights else np.ones(len(edges))
    adjacency = np.zeros((len(graph), len(graph)))
    adjacency[edges[:, 0], edges[:, 1]] = adjacency[edges[:, 1], edges[:, 0]] = values
    return Stratum(1, len(graph), edges, values if weights else None), adjacency


def allowed(operator):
    return [name for name in FORMULAS if operator.laplacian in ALGORITHMS[name].laplacians]


def compare(stratum, adjacency, operator, signal, basis: EigenBasis, metric="euclidean"):
    """All algorithms of one hop; values inside repeated eigenvalues merged, those that depend on the basis left out."""
    expected = brute.operator(adjacency, operator.laplacian, operator.self_loops)
    t = brute.potential(signal, metric)
    kept = basis.axis.component
    scale = float(np.abs(t).max()) * np.sqrt(expected.c.max())
    assert_allclose(basis.values, expected.values[kept], rtol=0, atol=1e-12 * max(1, expected.values[-1]))
    assert_array_equal(basis.eigenspace, expected.space[kept])
    assert_array_equal(basis.multiplicity, expected.sizes[expected.space[kept]])
    whole = [
        space for space in np.unique(basis.eigenspace) if np.sum(basis.eigenspace == space) == expected.sizes[space]
    ]
    work = hop_of(stratum, signal, metric, operator=operator, basis=basis)
    for name in allowed(operator):
        for options in VARIANTS:
            if options and not set(options) & set(ALGORITHMS[name].options):
                continue
            found = ALGORITHMS[name].function(work, Options(**options)).magnitude[0]
            truth = brute.magnitudes(name, expected, t, **options)
            known = brute.is_determined(name, expected)
            for space in whole:
                if known[space]:
                    ours, theirs = found[basis.eigenspace == space], truth[expected.space == space]
                    norms = [np.sqrt(np.nansum(x**2)) for x in (ours, theirs)]
                    assert norms[0] == pytest.approx(norms[1], rel=1e-10, abs=1e-10 * scale), (name, options, space)
                    assert_array_equal(np.isnan(ours).all(), np.isnan(theirs).all())
    g = brute.gradient(t, expected)
    assert work.edge_norm(work.gradient)[0] == pytest.approx(np.sqrt(expected.w @ g**2), rel=1e-12)


@each_operator
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("d", [1, 3])
def test_every_algorithm_at_one_hop(operator, weights, name, d):
    stratum, adjacency = weighted(GRAPHS[name], weights)
    signal = np.random.default_rng(1).standard_normal((stratum.n_nodes, d))
    compare(stratum, adjacency, operator, signal, decompose(stratum, operator), "angular" if d > 1 else "euclidean")


@each_operator
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("which", ["lowest", "highest"])
@pytest.mark.parametrize("count", [1, 4, 7, 100])
def test_some_components_at_one_hop(operator, weights, name, which, count):
    stratum, adjacency = weighted(GRAPHS[name], weights)
    signal = np.random.default_rng(1).standard_normal((stratum.n_nodes, 2))
    basis = partial_basis(stratum, count, which, operator)
    n = stratum.n_nodes
    some = np.arange(min(count, n)) if which == "lowest" else np.arange(max(0, n - count), n)
    assert_array_equal(basis.axis.component, some)
    compare(stratum, adjacency, operator, signal, basis)


@each_operator
def test_what_is_not_allowed_is_refused_by_name(operator):
    options = {"laplacian": operator.laplacian, "self_loops": operator.self_loops, "transform": "incidence"}
    for name, row in ALGORITHMS.items():
        given = options | {"ens_weights": "fast"}
        if operator.laplacian in row.laplacians:
            calls.spectra(nx.path_graph(4), np.arange(4.0), name, **given)
            continue
        with pytest.raises(
            OptionError, match=rf"^{name}: not defined for laplacian='{operator.laplacian}', which serves "
        ):
            calls.spectra(nx.path_graph(4), np.arange(4.0), name, **given)


def test_members_that_a_laplacian_does_not_allow_are_refused_by_name():
    for weights in ("paper", "even", {"ln_vx": 1.0}, lambda hop: {"adj_diff": 1.0} if hop == 1 else {"ln_vx": 1.0}):
        with pytest.raises(OptionError, match=r"^ln_vx: not defined for laplacian='random_walk'"):
            st.spectra(nx.path_graph(4), np.arange(4.0), "ens", laplacian="random_walk", ens={"weights": weights})


def test_self_loops_of_the_combinatorial_laplacian_are_refused():
    with pytest.raises(OptionError, match="self_loops=True does not change the combinatorial Laplacian"):
        st.spectra(nx.path_graph(4), np.arange(4.0), self_loops=True)


@each_operator
@pytest.mark.parametrize("which", ["lowest", "highest"])
@pytest.mark.parametrize("count", [1, 4, 7, 8, 100])
@pytest.mark.parametrize("name", ["parts", "one edge"])
def test_the_zero_components_kept_are_those_of_their_labels(operator, which, count, name):
    """Zero component k is what is constant on part k (proportional to sqrt(c), for the normalised Laplacian)."""
    stratum, _ = weighted(GRAPHS[name], weights=True)
    signal = np.random.default_rng(1).standard_normal((stratum.n_nodes, 2))
    basis = partial_basis(stratum, count, which, operator)
    work = hop_of(stratum, signal, "euclidean", operator=operator, basis=basis)
    found = ALGORITHMS["gft"].function(work, Options()).magnitude[0]
    c = operator.measure(stratum)
    weight = np.sqrt(c) if operator.laplacian == "normalized" else c
    for position in np.flatnonzero(basis.is_zero):
        inside = stratum.parts == basis.axis.component[position]
        expected = np.linalg.norm(weight[inside] @ signal[inside]) / np.sqrt(c[inside].sum())
        assert found[position] == pytest.approx(expected, rel=1e-12)
