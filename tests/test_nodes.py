"""Filtered signals and energy per node against a dense transcription of the formulas, and each other."""

import itertools

import networkx as nx
import numpy as np
import pytest

import brute
import calls
import spectrata as st
from spectrata.errors import HopError, OptionError, SignalValueError
from spectrata.inputs.graphs import as_graph

GRAPHS = {
    "weighted": lambda rng: (nx.gnp_random_graph(24, 0.2, seed=4), rng.uniform(0.2, 3.0, 200)),
    "parts": lambda rng: (nx.disjoint_union_all([nx.path_graph(5), nx.cycle_graph(6), nx.empty_graph(2)]), None),
    "grid": lambda rng: (nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 4)), None),
}


def case(kind, hop=1):
    """A graph as the package reads it, and the weighted adjacency of one of its strata."""
    graph, weights = GRAPHS[kind](np.random.default_rng(7))
    if weights is not None:
        for weight, (x, y) in zip(weights, graph.edges, strict=False):
            graph.edges[x, y]["weight"] = weight
    strat = st.Stratification(graph, weights="weight" if weights is not None else None)
    stratum = strat.strata.at(hop)
    adjacency = np.zeros((len(graph), len(graph)))
    x, y = stratum.edges.T
    adjacency[x, y] = adjacency[y, x] = 1.0 if stratum.weights is None else stratum.weights
    return strat, adjacency


def kept(op, columns, inside):
    """sum over the components inside of phi_i phi_i^T C s; u_i u_i^T s for "normalized"."""
    basis = op.dual if op.laplacian == "normalized" else op.phi
    return basis[:, inside] @ (op.dual[:, inside].T @ columns)


@pytest.mark.parametrize(("laplacian", "loops"), brute.OPERATORS)
@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("hop", [1, 2])
def test_against_the_formulas(kind, hop, laplacian, loops):
    strat, adjacency = case(kind, hop)
    op = brute.operator(adjacency, laplacian, loops)
    levels = op.levels[op.space]  # (n,)
    n = len(adjacency)
    signal = np.random.default_rng(1).standard_normal((n, 3)) + 5.0
    how = {"laplacian": laplacian, "self_loops": loops}
    top = levels.max()
    for lower, upper in [(0.0, 0.4 * top), (0.4 * top, None), (None, 0.4 * top), (0.3 * top, 0.8 * top)]:
        low, high = -1.0 if lower is None else lower, np.inf if upper is None else upper
        found = st.filter_signal(strat.using(**how), signal, (lower, upper), hop)
        inside = (levels > low) & (levels <= high)
        np.testing.assert_allclose(found.values, kept(op, signal, inside), atol=1e-10)
        assert found.dims == ("node", "dimension")
    found = st.filter_signal(strat.using(**how), signal, hop=hop, response=lambda lam: np.exp(-0.5 * lam))
    basis = op.dual if laplacian == "normalized" else op.phi
    wanted = basis @ (np.exp(-0.5 * levels)[:, None] * (op.dual.T @ signal))
    np.testing.assert_allclose(found.values, wanted, atol=1e-10)

    edges = [0.0, 0.2 * top, 0.5 * top, top]
    for metric in ("euclidean", "angular"):
        ds = st.node_energy(strat.using(**how), signal, edges, [hop], metric=metric)
        t = np.asarray(brute.potential(signal, metric), float)
        c = np.ones(n) if laplacian == "normalized" else op.c
        for band, (low, high) in enumerate(itertools.pairwise(edges)):
            inside = (levels > low * (1 + 1e-9)) & (levels <= high * (1 + 1e-9))
            wanted = c * np.sum(kept(op, t, inside) ** 2, axis=1)
            np.testing.assert_allclose(ds["energy"].sel(hop=hop, band=band), wanted, atol=1e-10)
        wanted = c * np.sum(kept(op, t, op.space == 0) ** 2, axis=1)
        np.testing.assert_allclose(ds["zero_energy"].sel(hop=hop), wanted, atol=1e-10)
        # The sums over nodes are the energies of gft.
        spectrum = calls.spectra(strat, signal, "gft", metric=metric, **how).sel(algorithm="gft", hop=hop)
        energy, lam = spectrum["magnitude"].values ** 2, spectrum["eigenvalue"].values
        zero = spectrum["is_zero"].values
        for band, (low, high) in enumerate(itertools.pairwise(edges)):
            inside = ~zero & (lam > low + 1e-8) & (lam <= high + 1e-8)
            total = ds["energy"].sel(hop=hop, band=band).sum().item()
            assert total == pytest.approx(energy[inside].sum(), abs=1e-10)
        assert ds["zero_energy"].sum().item() == pytest.approx(energy[zero].sum(), rel=1e-10)


def test_an_eigenvalue_on_an_edge_belongs_below_it():
    """The grid of 4 x 4 has the eigenvalue 4 three times, each with its own rounding."""
    strat, adjacency = case("grid")
    op = brute.operator(adjacency)
    assert np.count_nonzero(np.abs(op.values - 4.0) < 1e-9) == 3
    signal = np.random.default_rng(2).standard_normal(16)
    low = st.filter_signal(strat, signal, (0, 4))
    np.testing.assert_allclose(low, kept(op, signal, (op.values > 0) & (op.values < 4.1)), atol=1e-12)
    ds = st.node_energy(strat, signal, [0, 4, 8])
    np.testing.assert_allclose(ds["energy"].sel(hop=1, band=0), low.values**2, atol=1e-12)


def test_bands_of_their_own_number():
    strat, _ = case("grid")
    signal = np.random.default_rng(2).standard_normal(16)
    even = st.node_energy(strat, signal, 4, spacing="width")
    top = strat.basis(1).values[-1]
    np.testing.assert_allclose(even["band_upper"][0], top / 3.5 * np.arange(1, 5))
    counted = st.node_energy(strat, signal, 3, spacing="count")
    assert counted["energy"].sum().item() == pytest.approx(even["energy"].sum().item())
    assert even.sizes["hop"] == 1
    assert st.node_energy(strat, signal, 2, hops=None).sizes["hop"] == 6


def test_what_lies_below_the_first_edge_is_in_no_band():
    strat, adjacency = case("grid")
    op = brute.operator(adjacency)
    signal = np.random.default_rng(2).standard_normal(16)
    ds = st.node_energy(strat, signal, [2, 3, 4])
    for band, inside in enumerate([(op.values > 2.01) & (op.values < 3.01), op.values > 3.01]):
        np.testing.assert_allclose(ds["energy"].sel(hop=1, band=band), kept(op, signal, inside) ** 2, atol=1e-12)


def test_shapes_names_and_snapshots():
    graph = nx.relabel_nodes(nx.path_graph(4), dict(enumerate("badc")))
    values = np.random.default_rng(0).standard_normal((3, 4, 2))
    strat = st.Stratification(graph)
    found = st.filter_signal(strat, values, (None, 1))
    assert found.dims == ("snapshot", "node", "dimension")
    assert found["error"].dims == ("snapshot",)
    assert found["node"].values.tolist() == list("badc")
    for t in range(3):
        np.testing.assert_allclose(found[t], st.filter_signal(strat, values[t], (None, 1)), atol=1e-14)
    ds = st.node_energy(strat, values, 2)
    assert ds["energy"].dims == ("snapshot", "node", "hop", "band")
    np.testing.assert_allclose(ds["energy"][1], st.node_energy(strat, values[1], 2)["energy"], atol=1e-14)
    assert st.filter_signal(strat, dict(zip("abcd", range(4), strict=True)), (0, 9)).dims == ("node",)
    assert st.filter_signal(strat, [[1.0], [2.0], [3.0], [4.0]], (0, 9)).dims == ("node", "dimension")
    by_name = st.filter_signal(graph, dict(zip("abcd", [1.0, 0.0, 3.0, 4.0], strict=True)), (1, None))
    by_row = st.filter_signal(graph, [0.0, 1.0, 4.0, 3.0], (1, None))
    np.testing.assert_array_equal(by_name, by_row)


@pytest.mark.parametrize("scale", [1e-200, 1e300])
def test_the_size_of_a_signal_does_not_matter(scale):
    signal = np.random.default_rng(0).standard_normal(16)
    strat, _ = case("grid")
    plain = st.filter_signal(strat, signal, (0, 3))
    np.testing.assert_allclose(st.filter_signal(strat, scale * signal, (0, 3)) / scale, plain, atol=1e-13)
    if scale > 1:
        with pytest.raises(SignalValueError, match="divide the signal"):
            st.node_energy(strat, scale * signal)


@pytest.mark.parametrize("exact", [True, False])
def test_a_constant_has_no_energy_off_zero(exact):
    strat, _ = case("parts")
    signal = np.full(13, 1e6 / 3)
    found = st.node_energy(strat, signal, 3, exact=exact)
    assert not found["energy"].values.any()
    np.testing.assert_allclose(found["zero_energy"].sel(hop=1), signal**2, rtol=1e-13)
    assert not st.filter_signal(strat, signal, (0, None), exact=exact).values.any()


def test_a_zero_vector_leaves_its_snapshot_undefined():
    values = np.ones((2, 16, 2))
    values[1, 3] = 0.0
    ds = st.node_energy(case("grid")[0], values, 2, zero_vectors="nan")
    assert ds["status"].values.tolist() == [["ok"], ["undefined: zero vector"]]
    assert np.isnan(ds["energy"][1]).all()


# ---- large graphs


def big(kind, seed=0, n=200):
    rng = np.random.default_rng(seed)
    graph = {
        "random": lambda: nx.fast_gnp_random_graph(n, 5 / n, seed=seed),
        "grid": lambda: nx.convert_node_labels_to_integers(nx.grid_2d_graph(20, n // 20)),
        "hubs": lambda: nx.barabasi_albert_graph(n, 2, seed=seed),
    }[kind]()
    return as_graph(graph, weights=10 ** rng.uniform(-1, 1, graph.number_of_edges()) if kind == "random" else None)


@pytest.mark.parametrize(("laplacian", "loops"), brute.OPERATORS)
@pytest.mark.parametrize("kind", ["random", "grid", "hubs"])
def test_products_are_within_their_stated_error(kind, laplacian, loops):
    graph = big(kind)
    strat = st.Stratification(graph, 1)
    rng = np.random.default_rng(3)
    signal = np.column_stack([rng.standard_normal(200), strat.basis(1).dense()[:, 1:8].sum(axis=1)])
    how = {"laplacian": laplacian, "self_loops": loops}
    values = strat.basis(1, laplacian, self_loops=loops).values
    c = 1.0 if laplacian != "random_walk" else brute_measure(graph, loops)
    low, high = 0.3 * values[-1], 0.6 * values[-1]
    for given in ({"band": (low, high)}, {"band": (None, low)}, {"response": lambda lam: np.exp(-lam)}):
        exact = st.filter_signal(strat.using(**how), signal, exact=True, **given)
        near = st.filter_signal(strat.using(**how), signal, exact=False, tol=0.2, **given)
        apart = np.sqrt(np.sum(np.sum((near - exact).values ** 2, axis=1) * c))
        assert apart <= near["error"].item() + 1e-9
        size = np.sqrt(np.sum(np.sum(signal**2, axis=1) * c))
        assert near["status"].item() == "ok"
        assert near["error"].item() <= 0.2 * size * (1 + 1e-9)
    edges = [0.0, low, high, values[-1]]
    exact = st.node_energy(strat.using(**how), signal, edges, metric="euclidean", exact=True)
    near = st.node_energy(strat.using(**how), signal, edges, metric="euclidean", exact=False, tol=0.2)
    apart = np.abs(near["energy"] - exact["energy"]).sum("node")
    assert (apart <= near["energy_error"] + 1e-12).all()
    np.testing.assert_allclose(near["zero_energy"], exact["zero_energy"], atol=1e-10)


def brute_measure(graph, loops):
    degrees = np.zeros(graph.n_nodes)
    weights = np.ones(graph.n_edges) if graph.weights is None else graph.weights
    for (x, y), weight in zip(graph.edges, weights, strict=True):
        degrees[x] += weight
        degrees[y] += weight
    return np.where(degrees > 0, degrees + loops, 1.0)


def test_smooth_responses_are_met_to_rounding():
    graph = big("hubs")
    signal = np.random.default_rng(3).standard_normal(200)
    exact, near = (
        st.filter_signal(graph, signal, response=lambda lam: 1 / (1 + lam), exact=exact) for exact in (True, False)
    )
    np.testing.assert_allclose(near, exact, atol=1e-9)


def test_more_steps_bring_products_nearer_and_too_few_are_named():
    graph = big("grid")
    signal = np.random.default_rng(3).standard_normal(200)
    errors = [st.filter_signal(graph, signal, (0, 2.6), exact=False, steps=m)["error"].item() for m in (16, 256)]
    assert errors[1] < 0.5 * errors[0]
    found = st.filter_signal(graph, signal, (0, 2.6), exact=False, tol=1e-4)
    assert found["status"].item().startswith("not settled to 0.0001 at degree 2048")
    assert found["error"].item() > 1e-4 * np.linalg.norm(signal)


@pytest.mark.long
def test_products_at_the_second_hop():
    graph = big("random")
    signal = np.random.default_rng(3).standard_normal(200)
    strat = st.Stratification(graph, 2)
    exact, near = (
        st.filter_signal(strat, signal, hop=2, response=lambda lam: np.exp(-lam / 50), exact=exact)
        for exact in (True, False)
    )
    np.testing.assert_allclose(near, exact, atol=1e-8)


def test_a_graph_too_large_to_decompose_takes_products():
    n = 4000
    graph = nx.cycle_graph(n)
    wave = np.cos(2 * np.pi * 800 * np.arange(n) / n)  # one eigenvalue, 2 - 2 cos(2 pi / 5) = 1.38
    found = st.filter_signal(graph, np.column_stack([wave, np.ones(n)]), (0, 1.2))
    assert found.attrs["exact"] == 0
    assert np.linalg.norm(found[:, 0]) <= found["error"].item() <= 0.1 * np.linalg.norm(wave)
    assert np.abs(found[:, 1]).max() == 0.0


# ---- refusals


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "either band"),
        ({"band": (0, 1), "response": np.exp}, "either band"),
        ({"band": (2, 1)}, "is empty"),
        ({"band": (1, 2, 3)}, "two numbers or None"),
        ({"band": "ab"}, "two numbers or None"),
        ({"band": (0, 1), "exact": "yes"}, "exact='yes' must be True or False"),
        ({"band": (0, 1), "tol": 2}, "share of the signal's norm"),
        ({"band": (0, 1), "steps": 0}, "steps=0"),
        ({"band": (0, 1), "hop": 0}, "hop=0"),
        ({"response": lambda lam: lam[:2]}, "one real factor for each"),
        ({"response": lambda lam: 1j * lam}, "one real factor for each"),
        ({"response": lambda lam: 1 / lam}, "not finite at the eigenvalue 0"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_bad_arguments_of_a_filter(given, words):
    with pytest.raises(OptionError, match=words):
        st.filter_signal(nx.path_graph(5), range(5), **given)


def test_other_refusals():
    strat = st.Stratification(nx.path_graph(5), 2)
    with pytest.raises(HopError):
        st.filter_signal(strat, range(5), (0, 1), hop=3)
    with pytest.raises(OptionError, match="leave out weights"):
        st.node_energy(strat, range(5), weights=True)
    with pytest.raises(OptionError, match="bands"):
        st.node_energy(strat, range(5), bands=[3, 1])
    with pytest.raises(OptionError, match="spacing"):
        st.node_energy(strat, range(5), spacing="even")
    with pytest.raises(OptionError, match="This is a result"):
        st.node_energy(strat.spectra(range(5)), range(5))
