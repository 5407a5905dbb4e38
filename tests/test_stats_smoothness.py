"""The quoted measures against computations that share nothing with them."""

import networkx as nx
import numpy as np
import pytest

import brute
import calls
import spectrata as st

GRAPH = nx.connected_watts_strogatz_graph(18, 4, 0.4, seed=3)
SIGNAL = np.random.default_rng(0).normal(size=(3, 18, 4)) + 0.5


@pytest.fixture
def found():
    return st.smoothness(st.Stratification(GRAPH, hops=2), SIGNAL)


def stratum_graph(hop):
    lengths = dict(nx.all_pairs_shortest_path_length(GRAPH))
    graph = nx.empty_graph(18)
    graph.add_edges_from((x, y) for x in lengths for y, k in lengths[x].items() if k == hop and x < y)
    return graph


@pytest.mark.parametrize("hop", [1, 2])
def test_mean_average_distance_by_loops(found, hop):
    graph = stratum_graph(hop)
    for t, s in enumerate(SIGNAL):
        averages, total = [], 0.0
        for x in graph:
            distances = [1 - s[x] @ s[y] / np.linalg.norm(s[x]) / np.linalg.norm(s[y]) for y in graph[x]]
            total += sum(distances)
            positive = [d for d in distances if d > 0]
            if positive:
                averages.append(sum(positive) / len(positive))
        assert float(found["mad"].sel(snapshot=t, hop=hop)) == pytest.approx(np.mean(averages))
        assert float(found["mad_sum"].sel(snapshot=t, hop=hop)) == pytest.approx(total / 18)


def test_ranks_and_norms(found):
    for t, s in enumerate(SIGNAL):
        eigenvalues = np.linalg.eigvalsh(s.T @ s)
        sigma = np.sqrt(eigenvalues)
        p = sigma / sigma.sum()
        cell = found.sel(snapshot=t)
        assert float(cell["effective_rank"]) == pytest.approx(np.prod(p**-p))
        assert float(cell["stable_rank"]) == pytest.approx(eigenvalues.sum() / eigenvalues.max())
        assert int(cell["rank"]) == np.linalg.matrix_rank(s)
        assert float(cell["norm"]) == pytest.approx(np.linalg.norm(s))
        assert float(cell["spectral_norm"]) == pytest.approx(np.linalg.norm(s, 2))
        assert float(cell["mean_row_norm"]) == pytest.approx(np.linalg.norm(s, axis=1).mean())


@pytest.mark.parametrize(("laplacian", "self_loops"), brute.OPERATORS)
@pytest.mark.parametrize("weights", [False, True])
def test_every_laplacian_with_and_without_weights(laplacian, self_loops, weights):
    rng = np.random.default_rng(4)
    graph = nx.disjoint_union(GRAPH, nx.path_graph(3))
    graph.add_node(21)  # without an edge: its measure is 1
    given = rng.uniform(0.2, 5.0, graph.number_of_edges()) if weights else False
    signal = rng.normal(size=(2, 22, 3)) + 0.5
    options = {"laplacian": laplacian, "self_loops": self_loops}
    strat = st.Stratification(graph, hops=2, weights=given)
    found = st.smoothness(strat.using(**options), signal)
    expected = st.off_zero(calls.spectra(strat, signal, "gft", **options))
    np.testing.assert_allclose(found["off_zero"], expected, rtol=1e-12, atol=1e-15)
    assert found.attrs["laplacian"] == laplacian
    assert found.attrs["self_loops"] == self_loops
    assert found.attrs["weights"] == ("bottleneck" if weights else "")
    plain = st.smoothness(st.Stratification(graph, hops=2, weights=False), signal)
    for name in ("effective_rank", "stable_rank", "norm"):  # these do not read weights
        np.testing.assert_array_equal(found[name], plain[name])
    for stratum in strat.strata:
        w = np.zeros((22, 22))
        x, y = stratum.edges.T
        w[x, y] = w[y, x] = 1.0 if stratum.weights is None else stratum.weights
        matrix = np.diag(w.sum(axis=0)) - w
        scale = np.sqrt(np.where(w.any(axis=0), w.sum(axis=0) + self_loops, 1.0))
        for t, s in enumerate(signal):
            cell = found.sel(snapshot=t, hop=stratum.hop)
            energy, other = (np.trace(s.T @ matrix @ s), np.trace((s.T / scale) @ matrix @ (s / scale[:, None])))
            assert float(cell["dirichlet"]) == pytest.approx(energy, rel=1e-12)
            assert float(cell["dirichlet_share"]) == pytest.approx(energy / np.sum(s**2), rel=1e-12)
            assert float(cell["dirichlet_mean"]) == pytest.approx(2 * energy / 22, rel=1e-12)
            assert float(cell["dirichlet_normalized"]) == pytest.approx(other, rel=1e-12)
            assert float(cell["dirichlet_normalized_share"]) == pytest.approx(other / np.sum(s**2), rel=1e-12)


def test_laplacians_without_a_meaning_are_refused():
    for options in ({"laplacian": "up"}, {"self_loops": True}, {"laplacian": "normalized", "self_loops": 2}):
        with pytest.raises(st.errors.OptionError, match=r"laplacian|self_loops"):
            st.smoothness(st.Stratification(GRAPH, **options), SIGNAL)


def test_a_rank_one_signal_and_a_constant_one():
    strat = st.Stratification(GRAPH, hops=1)

    def only(ds, name):
        return ds[name].values.item()

    one = np.outer(np.arange(1.0, 19), [1.0, 2.0])
    cell = st.smoothness(strat, one)
    assert only(cell, "effective_rank") == pytest.approx(1)
    assert only(cell, "stable_rank") == pytest.approx(1)
    assert only(cell, "rank") == 1
    assert only(cell, "mad") == pytest.approx(0, abs=1e-12)  # all vectors point the same way
    constant = st.smoothness(strat, np.ones((18, 2)))
    assert only(constant, "dirichlet") == 0
    assert only(constant, "off_zero") == pytest.approx(0, abs=1e-15)
    # The normalised energy of a constant is not zero where degrees differ: not a node-similarity measure.
    assert only(constant, "dirichlet_normalized") > 0
    roots = np.sqrt([GRAPH.degree[v] for v in range(18)])
    assert only(st.smoothness(strat, roots), "dirichlet_normalized") == pytest.approx(0, abs=1e-12)


def test_zero_vectors_and_zero_signals_are_nan_not_numbers():
    strat = st.Stratification(GRAPH, hops=1)
    dead = SIGNAL[0].copy()
    dead[4] = 0
    cell = st.smoothness(strat, dead)
    assert np.isnan(cell["off_zero"]).all()
    assert np.isnan(cell["mad"]).all()
    assert not np.isnan(cell["dirichlet"]).any()
    nothing = st.smoothness(strat, np.zeros((18, 1)))
    assert np.isnan(nothing["dirichlet_share"]).all()
    assert np.isnan(nothing["effective_rank"])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("factor", [1, 3, 7, 1e-3])
def test_rounding_does_not_decide_which_neighbours_are_in_one_direction(dtype, factor):
    """A path of three: the ends' only distances are 0 and 1, the middle's are both, so that Chen's mean is 1."""
    first = np.array([0.1, 0.3, 0.7], dtype=dtype)
    rows = np.stack([first, first * dtype(factor), np.array([0.7, 0.0, -0.1], dtype=dtype)])
    found = st.smoothness(nx.path_graph(3), rows, hops=1)
    assert found["mad"].item() == pytest.approx(1.0, abs=1e-6)
    assert found["mad_sum"].item() == pytest.approx(2 / 3, abs=1e-6)


def test_a_small_angle_is_a_distance_in_double_precision_and_rounding_in_single():
    angle = 1e-7
    rows = np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])
    found = st.smoothness(nx.path_graph(2), rows, hops=1)
    assert found["mad"].item() == pytest.approx(angle**2 / 2, rel=1e-6)
    assert st.smoothness(nx.path_graph(2), rows.astype(np.float32), hops=1)["mad"].item() == 0.0


def test_every_measure_has_a_name_and_every_snapshot_its_size(found):
    for name in found.data_vars:
        assert len(found[name].attrs["long_name"]) > 3
    strat = st.Stratification(GRAPH, hops=2)
    sizes = np.array([1e120, 1.0, 1e-120])
    sized = st.smoothness(strat, SIGNAL * sizes[:, None, None])
    for name, power in {"dirichlet": 2, "dirichlet_normalized": 2, "norm": 1, "mad": 0, "off_zero": 0}.items():
        factor = (sizes**power).reshape(3, *[1] * (found[name].ndim - 1))
        np.testing.assert_allclose(sized[name] / factor, found[name], rtol=1e-9, err_msg=name)
    for size in (1e200, 1e-200):
        with pytest.raises(st.errors.SignalValueError, match="Dirichlet energies are squares, and those of a signal"):
            st.smoothness(strat, SIGNAL * np.array([1.0, size, 1.0])[:, None, None])


def test_a_last_node_without_a_neighbour_has_no_distance():
    graph = GRAPH.copy()
    graph.add_node(18)
    plain = st.smoothness(st.Stratification(GRAPH, hops=1), SIGNAL[0])
    more = st.smoothness(st.Stratification(graph, hops=1), np.vstack([SIGNAL[0], [1.0, 0, 0, 0]]))
    np.testing.assert_allclose(more["mad"], plain["mad"])
    np.testing.assert_allclose(more["mad_sum"] * 19, plain["mad_sum"] * 18)
    np.testing.assert_allclose(more["dirichlet"], plain["dirichlet"])


@pytest.mark.parametrize(
    ("laplacian", "loops"), [("combinatorial", False), ("random_walk", True), ("normalized", False)]
)
@pytest.mark.parametrize("metric", ["angular", "euclidean"])
def test_live_share_from_projections_onto_the_live_null_vectors(laplacian, loops, metric):
    """By the definition: project the live rows onto each part's null vector restricted to its live nodes."""
    graph = nx.disjoint_union(nx.path_graph(7), nx.star_graph(4))
    graph.add_nodes_from([12, 13])  # one of these is dead: a part without a live node
    rng = np.random.default_rng(5)
    signal = rng.normal(size=(2, 14, 3)) + 1.0
    signal[0, [0, 3, 8, 13]] = 0
    strat = st.Stratification(graph, 1, laplacian=laplacian, self_loops=loops)
    found = st.smoothness(strat, signal, metric=metric)
    degrees = np.array([graph.degree(node) for node in range(14)], dtype=float)
    measure = np.where(degrees > 0, degrees + loops, 1.0) if laplacian != "combinatorial" else np.ones(14)
    for t, s in enumerate(signal):
        live = np.any(s != 0, axis=1)
        norms = np.linalg.norm(s, axis=1, keepdims=True)
        y = s / np.where(norms > 0, norms, 1.0) if metric == "angular" else s
        y = y * np.sqrt(measure)[:, None] if laplacian == "random_walk" else y
        along = 0.0
        for part in nx.connected_components(graph):
            nodes = np.array([node for node in part if live[node]], dtype=int)
            if len(nodes):
                null = np.sqrt(measure[nodes])
                along += np.sum((null / np.linalg.norm(null) @ y[nodes]) ** 2)
        want = 1 - along / np.sum(y[live] ** 2)
        assert float(found["off_zero_live"].sel(snapshot=t, hop=1)) == pytest.approx(want, abs=1e-12)
        assert float(found["dead_rows"].sel(snapshot=t)) == (~live).mean()


def test_one_direction_with_dead_rows_has_collapsed_on_its_live_rows():
    """Half of the rows dead, the others equal: off_zero is one half, off_zero_live is 0."""
    signal = np.tile([1.0, 2.0], (18, 1)) * (np.arange(18) % 2)[:, None]
    found = st.smoothness(GRAPH, signal, hops=1, zero_vectors="zero")
    assert float(found["off_zero"][0]) == pytest.approx(0.5)
    assert float(found["off_zero_live"][0]) == pytest.approx(0.0, abs=1e-14)
    assert float(found["dead_rows"]) == 0.5
    # A zero vector is half a unit from every direction: a cosine distance of 1/2, and 0 from another zero vector.
    apart = [[abs(x % 2 - y % 2) / 2 for y in GRAPH[x]] for x in GRAPH]
    want = np.mean([np.mean([d for d in row if d > 0]) for row in apart if any(row)])
    assert float(found["mad"][0]) == pytest.approx(want)
    dead = st.smoothness(GRAPH, np.zeros((18, 2)), hops=1, zero_vectors="zero")
    assert float(dead["dead_rows"]) == 1.0
    assert np.isnan(dead["off_zero_live"].values).all()
