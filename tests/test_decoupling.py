"""The structural-decoupling index against a computation from its definition, on a matrix like a connectome."""

import networkx as nx
import numpy as np
import pytest

import spectrata as st
from spectrata.errors import OptionError, SpectrataWarning


def connectome(n=40, seed=3):
    """A dense weighted matrix: two hemispheres, weights that fall with distance and span three orders."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(size=(n, 3)) + np.repeat([[0.0, 0.0, 0.0], [1.2, 0.0, 0.0]], n // 2, axis=0)
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    weights = np.exp(-4 * apart) * rng.lognormal(0.0, 0.7, size=(n, n))
    weights = (weights + weights.T) / 2
    weights[apart > 1.1] = 0.0
    np.fill_diagonal(weights, 0.0)
    return weights


def index(values, vectors, coefficients, low):
    """norm(high part) / norm(low part), node by node, with loops."""
    out = np.zeros(len(vectors))
    for x in range(len(vectors)):
        small = sum(vectors[x, i] * coefficients[i] for i in range(len(values)) if low[i])
        large = sum(vectors[x, i] * coefficients[i] for i in range(len(values)) if not low[i])
        out[x] = np.linalg.norm(large) / np.linalg.norm(small)
    return out


def transcribed(matrix, signal):
    """The definition: eigenvectors of I - D^-1/2 W D^-1/2, split where the cumulative energy is one half."""
    root = np.sqrt(matrix.sum(axis=1))
    values, vectors = np.linalg.eigh(np.eye(len(matrix)) - matrix / root[:, None] / root)
    coefficients = vectors.T @ signal
    share = np.cumsum(np.sum(coefficients**2, axis=1)) / np.sum(coefficients**2)
    last = next(i for i in range(len(values)) if share[i] >= 0.5)
    low = np.arange(len(values)) <= last
    return values, vectors, coefficients, low


def test_the_index_on_a_connectome():
    matrix = connectome()
    signal = np.linalg.matrix_power(np.eye(40) + 0.5 * matrix / matrix.sum(axis=1)[:, None], 3)
    signal = signal @ np.random.default_rng(0).standard_normal((40, 200))
    values, vectors, coefficients, low = transcribed(matrix, signal)
    found = st.decoupling(matrix, signal, weights=True, draws=499, seed=5)
    np.testing.assert_allclose(found["decoupling"], index(values, vectors, coefficients, low), rtol=1e-9)
    assert found["low_components"].item() == low.sum()
    assert found["cutoff"].item() == pytest.approx(values[low].max(), abs=1e-12)

    # Surrogates of its own draws have the same distribution.
    rng = np.random.default_rng(99)
    drawn = [index(values, vectors, coefficients * rng.choice([-1, 1], size=(40, 1)), low) for _ in range(199)]
    for name, share in (("chance_low", 0.025), ("chance_high", 0.975)):
        np.testing.assert_allclose(found[name], np.quantile(drawn, share, axis=0), rtol=0.25)


def test_p_is_uniform_where_signs_are_random():
    """The null itself: coefficients with random signs; p of all nodes over many signals, at most at their level."""
    matrix = connectome(20)
    strat = st.Stratification(matrix, 1, weights=True)
    vectors = strat.basis(1, "normalized").dense()
    rng = np.random.default_rng(8)
    sizes = np.abs(rng.standard_normal((20, 4)))
    signals = np.stack([vectors @ (sizes * rng.choice([-1, 1], size=(20, 1))) for _ in range(150)])
    p = st.decoupling(strat, signals, draws=99)["p"].values.ravel()
    for level in (0.05, 0.1, 0.3):
        assert abs(np.mean(p <= level) - level) < 0.03


@pytest.mark.parametrize("laplacian", ["combinatorial", "random_walk", "normalized"])
def test_laplacians_scales_and_snapshots(laplacian):
    matrix = connectome(20)
    signals = np.random.default_rng(1).standard_normal((2, 20, 60))
    strat = st.Stratification(matrix, 1, weights=True)
    found = st.decoupling(strat, signals * 1e-180, draws=49, laplacian=laplacian)
    assert found["decoupling"].dims == ("snapshot", "node")
    low, high = (
        st.filter_signal(strat.using(laplacian=laplacian), signals, band)
        for band in ((None, found["cutoff"][0].item()), (found["cutoff"][0].item(), None))
    )
    wanted = np.linalg.norm(high[0], axis=1) / np.linalg.norm(low[0], axis=1)
    np.testing.assert_allclose(found["decoupling"][0], wanted, rtol=1e-9)
    alone = st.decoupling(strat, signals[1], draws=49, laplacian=laplacian)
    np.testing.assert_allclose(found["p"][1], alone["p"])
    fixed = st.decoupling(strat, signals[0], draws=49, laplacian=laplacian, cutoff=found["cutoff"][0].item())
    np.testing.assert_allclose(fixed["decoupling"], found["decoupling"][0], rtol=1e-9)


def test_repeated_eigenvalues_do_not_depend_on_the_basis():
    """A ring's eigenspaces have two dimensions; a relabelled ring has another basis, and the same chance."""
    signal = np.random.default_rng(1).standard_normal((12, 4))
    order = np.random.default_rng(2).permutation(12)
    ring = nx.cycle_graph(12)
    moved = nx.Graph([(order[x], order[y]) for x, y in ring.edges])
    first = st.decoupling(ring, signal, draws=3999)
    second = st.decoupling(moved, {order[v]: signal[v] for v in range(12)}, draws=3999)
    wanted = dict(zip(second["node"].values, second["decoupling"].values, strict=True))
    np.testing.assert_allclose(first["decoupling"], [wanted[str(order[v])] for v in range(12)], rtol=1e-8)
    for name in ("chance_low", "chance_high"):
        assert float(first[name].mean()) == pytest.approx(float(second[name].mean()), rel=0.1)


def test_nodes_without_an_edge_and_constants():
    graph = nx.disjoint_union(nx.path_graph(6), nx.empty_graph(1))
    found = st.decoupling(graph, np.random.default_rng(0).standard_normal((7, 9)), draws=49)
    for name in ("decoupling", "p", "q", "chance_low", "chance_high"):
        assert np.flatnonzero(np.isnan(found[name])).tolist() == [6]
    with pytest.warns(SpectrataWarning, match="at frequency 0, .* take the mean of each node off"):
        constant = st.decoupling(nx.path_graph(6), np.ones(6), draws=49, laplacian="combinatorial")
    assert not constant["decoupling"].values.any()
    assert (constant["p"] == 1).all()


def test_refusals():
    with pytest.raises(OptionError, match="zero has no frequencies"):
        st.decoupling(nx.path_graph(6), np.zeros(6))
    with pytest.raises(OptionError, match="draws=9 cannot"):
        st.decoupling(nx.path_graph(6), np.ones(6), draws=9)
    with pytest.raises(OptionError, match="cutoff=-1"):
        st.decoupling(nx.path_graph(6), np.ones(6), cutoff=-1)


def test_small_p_are_those_of_many_surrogates_whatever_the_seed():
    """A tail that was fitted to the first draws gave several times too much, and no further draws followed."""
    matrix, rng = connectome(), np.random.default_rng(0)
    root = np.sqrt(matrix.sum(axis=1))
    values, vectors = np.linalg.eigh(np.eye(40) - matrix / root[:, None] / root)
    signal = vectors @ (rng.normal(size=(40, 200)) * (values > 1e-9)[:, None] / (0.1 + values)[:, None])
    signal[rng.choice(40, 4, replace=False)] = signal.std() * rng.normal(size=(4, 200))
    signal = (signal - signal.mean(axis=1, keepdims=True)) / signal.std(axis=1, keepdims=True)
    values, vectors, coefficients, low = transcribed(matrix, signal)
    gram = coefficients @ coefficients.T

    def share(signs):  # of high frequencies, under B rows of signs
        parts = []
        for kept in (low, ~low):
            made = vectors[None, :, kept] * signs[:, None, kept]
            parts.append(np.einsum("bxi,ij,bxj->bx", made, gram[np.ix_(kept, kept)], made, optimize=True))
        return parts[1] / (parts[0] + parts[1])

    signs = rng.choice([-1.0, 1.0], size=(20_000, 40))
    signs[:, values < 1e-9] = 1.0
    observed = share(np.ones((1, 40)))[0]
    above, below = np.zeros(40), np.zeros(40)
    for some in np.array_split(signs, 100):
        drawn = share(some)
        above += (drawn >= observed * (1 - 1e-12)).sum(axis=0)
        below += (drawn <= observed * (1 + 1e-12)).sum(axis=0)
    exact = 2 * (np.minimum(above, below) + 1) / (len(signs) + 1)
    small = exact < 0.007
    assert small.sum() >= 3
    for seed in range(3):
        found = st.decoupling(matrix, signal, weights=True, seed=seed)["p"].values
        error = 2 * np.sqrt(exact / 2 * (1 / 9999 + 1 / len(signs)))  # of two counts
        assert (np.abs(found - exact)[small] < 4 * error[small] + 2e-4).all()
