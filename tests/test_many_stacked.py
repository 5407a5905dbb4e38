"""Many small graphs at once give each graph's own spectra."""

import networkx as nx
import numpy as np
import pytest

import spectrata as st
from spectrata.errors import HopError, OptionError, SignalTypeError, ZeroVectorError
from spectrata.kernels import fast
from spectrata.many import stacked as batch

ALGORITHMS = ("gft", "apprx_ls", "in_agg", "adj_diff")


def some_graphs() -> list[nx.Graph]:
    random = [nx.gnm_random_graph(n, 2 * n, seed=n) for n in (12, 12, 12, 17, 23)]
    special = [
        nx.path_graph(2),
        nx.path_graph(12),
        nx.star_graph(6),
        nx.complete_graph(5),
        nx.hypercube_graph(3),
    ]
    parts = nx.disjoint_union_all([nx.cycle_graph(4), nx.path_graph(3), nx.empty_graph(2), nx.path_graph(3)])
    return [*random, *special, parts]


def some_signals(graphs, d: int) -> list[np.ndarray]:
    rng = np.random.default_rng(d)
    return [rng.standard_normal((graph.number_of_nodes(), d)) for graph in graphs]


def merged(magnitude: np.ndarray, spaces: np.ndarray) -> np.ndarray:
    return np.sqrt(np.bincount(spaces, magnitude**2))


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("orientation", ["rms", "index"])
def test_a_batch_equals_one_by_one(d, orientation):
    graphs = some_graphs()
    signals = some_signals(graphs, d)
    many = st.spectra_batch(graphs, signals, ALGORITHMS, orientation=orientation)
    for row, (graph, signal) in enumerate(zip(graphs, signals, strict=True)):
        one = st.spectra(graph, signal, ALGORITHMS, orientation=orientation)
        n, hops = graph.number_of_nodes(), one.sizes["hop"]
        mine = many.isel(graph=row, hop=slice(hops), component=slice(n))
        for name in ("n_edges", "n_parts", "n_singletons", "eigenspace", "multiplicity"):
            np.testing.assert_array_equal(mine[name], one[name])
        np.testing.assert_allclose(mine["eigenvalue"], one["eigenvalue"], atol=1e-12)
        np.testing.assert_allclose(mine["gradient_norm"], one["gradient_norm"], rtol=1e-12)
        for hop in one["hop"].values:
            spaces = one["eigenspace"].sel(hop=hop).values
            for algorithm in ALGORITHMS:
                ours, theirs = (
                    ds["magnitude"].loc[{"algorithm": algorithm, "hop": hop}].values for ds in (mine, one)
                )
                if algorithm == "adj_diff":
                    sure = (one["multiplicity"].sel(hop=hop).values == 1) | (
                        one["eigenvalue"].sel(hop=hop).values == 0
                    )
                    ours, theirs = ours[sure], theirs[sure]
                else:
                    ours, theirs = merged(ours, spaces), merged(theirs, spaces)
                np.testing.assert_allclose(ours, theirs, atol=1e-9, err_msg=f"{row} {algorithm} {hop}")
        beyond = many.isel(graph=row, hop=slice(hops, None))
        assert beyond["magnitude"].isnull().all()
        assert (beyond["status"] == "past the diameter").all()
        assert many["magnitude"].isel(graph=row, component=slice(n, None)).isnull().all()


def test_zero_components_are_the_parts():
    graphs = some_graphs()
    signals = some_signals(graphs, 2)
    many = st.spectra_batch(graphs, signals, "gft", metric="euclidean")
    for row, (graph, signal) in enumerate(zip(graphs, signals, strict=True)):
        one = st.spectra(graph, signal, "gft", metric="euclidean")
        for hop in one["hop"].values:
            zeros = int(one["n_parts"].sel(hop=hop))
            ours, theirs = (
                ds["magnitude"].loc[{"algorithm": "gft", "hop": hop}].values
                for ds in (many.isel(graph=row), one)
            )
            np.testing.assert_allclose(ours[:zeros], theirs[:zeros], atol=1e-12)


def test_ensembles_and_scaling_options():
    graphs = [nx.gnm_random_graph(20, 45, seed=seed) for seed in range(3)]
    signals = some_signals(graphs, 2)
    options = {
        "algorithms": ("ens", "ens_raw", "adj_diff"),
        "ens_weights": {"adj_diff": 1.0, "in_agg": 2.0},
        "hops": 1,
    }
    many = st.spectra_batch(graphs, signals, scaling="eigenvalue", **options)
    for row in range(3):
        one = st.spectra(graphs[row], signals[row], scaling="eigenvalue", **options)
        assert (one["multiplicity"] == 1).all()
        np.testing.assert_allclose(many["magnitude"].isel(graph=row), one["magnitude"], atol=1e-9)
        np.testing.assert_array_equal(many["status"].isel(graph=row), one["status"])


def test_compiled_and_plain_sums_are_the_references(monkeypatch):
    rng = np.random.default_rng(0)
    weights = rng.random((40, 30, 30)) * (rng.random((40, 30, 30)) < 0.3)
    weights = np.triu(weights, 1) + np.triu(weights, 1).transpose(0, 2, 1)
    vectors = rng.standard_normal((40, 30, 30))
    plain = fast.stacked_difference_sums(weights, vectors)
    monkeypatch.setattr(fast, "COMPILED_WORK", 0)
    compiled = fast.stacked_difference_sums(weights, vectors)
    difference = weights[:, :, :, None] * (vectors[:, :, None] - vectors[:, None])
    expected = np.abs(difference).sum(axis=(1, 2)) / 2, (difference**2).sum(axis=(1, 2)) / 2
    for ours, theirs, truth in zip(plain, compiled, expected, strict=True):
        np.testing.assert_allclose(ours, truth, rtol=1e-12)
        np.testing.assert_allclose(theirs, truth, rtol=1e-12)


def test_stacks_are_cut_without_a_trace(monkeypatch):
    graphs = [nx.gnm_random_graph(10, 20, seed=seed) for seed in range(7)]
    signals = some_signals(graphs, 3)
    whole = st.spectra_batch(graphs, signals)
    monkeypatch.setattr(batch, "STACK_NUMBERS", 200)
    np.testing.assert_allclose(st.spectra_batch(graphs, signals)["magnitude"], whole["magnitude"], atol=1e-12)


def test_extreme_and_undefined_signals():
    graphs = [nx.path_graph(4), nx.path_graph(4)]
    tiny = np.array([1.0, 2.0, 0.5, 1.0]) * 1e-200
    ds = st.spectra_batch(graphs, [tiny, tiny * 1e200], ALGORITHMS)
    np.testing.assert_allclose(ds["magnitude"][0] * 1e200, ds["magnitude"][1], rtol=1e-12, atol=1e-15)
    dead = np.ones((4, 2))
    dead[2] = 0.0
    with pytest.raises(ZeroVectorError):
        st.spectra_batch(graphs, [dead, np.ones((4, 2))])
    ds = st.spectra_batch(graphs, [dead, np.ones((4, 2))], zero_vectors="nan")
    assert ds["magnitude"][0].isnull().all()
    assert (ds["status"][0] == "undefined: zero vector").all()
    assert ds["magnitude"][1].notnull().all()


@pytest.mark.parametrize(
    ("graphs", "signals", "arguments", "error"),
    [
        ([nx.path_graph(3)], [], {}, OptionError),
        ([], [], {}, OptionError),
        ([nx.path_graph(3)], [[1.0, 2.0, 4.0]], {"algorithms": "ln_vx"}, OptionError),
        ([nx.path_graph(3)], [[1.0, 2.0, 4.0]], {"orientation": "random"}, OptionError),
        (
            [nx.path_graph(3)],
            [[1.0, 2.0, 4.0]],
            {"algorithms": "gft", "laplacian": "normalized"},
            OptionError,
        ),
        ([nx.path_graph(3)], [[1.0, 2.0, 4.0]], {"hops": [5]}, HopError),
        ([nx.path_graph(3)] * 2, [np.ones((3, 2)), np.ones((3, 3))], {}, SignalTypeError),
        ([nx.path_graph(3)], [np.ones((2, 3, 2))], {}, SignalTypeError),
        ([nx.path_graph(513)], [np.ones(513)], {}, OptionError),
    ],
)
def test_bad_batches_are_refused(graphs, signals, arguments, error):
    with pytest.raises(error):
        st.spectra_batch(graphs, signals, **arguments)
