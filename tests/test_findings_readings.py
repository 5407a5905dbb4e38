"""Findings of what is not a plain graph with a plain signal: other sources, rounding, columns, parts, small graphs."""

import itertools

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import spectrata as st
from spectrata.results.schema import view
from spectrata.stats.describe.levels import rebuild
from spectrata.stats.findings import Finding
from spectrata.stats.sentences import with_sentences

RING = nx.connected_watts_strogatz_graph(24, 4, 0.2, seed=2)
ANGLE = 2 * np.pi * np.arange(24) / 24
PLACE = np.column_stack([np.cos(ANGLE), np.sin(ANGLE)])
OTHER = PLACE + np.random.default_rng(1).normal(size=PLACE.shape)


def weighted():
    graph, rng = RING.copy(), np.random.default_rng(5)
    for u, v in graph.edges:
        graph[u][v]["w"] = float(rng.uniform(0.2, 2))
    return graph


def again(one, **names):
    return float(np.asarray(eval(one.call, {"st": st, **names})).item())


WEIGHTS = [{}, {"weights": "w"}, {"weights": "w", "hop_weights": "product", "laplacian": "normalized"}]
SIGNALS = [PLACE, np.stack([PLACE, OTHER]), pd.DataFrame(PLACE + 5, columns=["east", "north"])]


@pytest.mark.parametrize("arguments", WEIGHTS, ids=str)
@pytest.mark.parametrize("signal", SIGNALS, ids=["one", "snapshots", "named"])
def test_calls_give_values_again_from_a_graph(arguments, signal):
    graph = weighted()
    found = st.diagnose(graph, signal, hops=2, draws=99, **arguments)
    found = [*found, *st.diagnose(graph, signal, hops=2, draws=99, columns="separate", **arguments)]
    called = [one for one in found if one.call]
    assert len(called) > 4
    for one in called:
        assert again(one, graph=graph, signal=signal) == pytest.approx(one.value, rel=1e-9)


def test_calls_name_a_stratification_and_an_array_of_weights():
    graph = weighted()
    strat = st.Stratification(graph, hops=2, weights="w")
    result = st.spectra(graph, PLACE, hops=2, weights="w")
    for source, signal, made in ((strat, PLACE, strat), (result, None, rebuild(view(result)))):
        for one in (one for one in st.diagnose(source, signal, draws=99) if one.call):
            assert again(one, strat=made, signal=PLACE) == pytest.approx(one.value, rel=1e-9)
    edges = np.array(graph.edges)
    weights = np.array([graph[u][v]["w"] for u, v in edges])
    for one in (one for one in st.diagnose(edges, PLACE, hops=1, weights=weights, draws=99) if one.call):
        assert again(one, graph=edges, signal=PLACE, weights=weights) == pytest.approx(one.value, rel=1e-9)


@pytest.mark.parametrize(
    "signal",
    [
        np.outer(np.where(np.arange(40) < 20, 1, 3), [0.1, 0.3, 0.7]),  # one direction, norms that differ
        np.where(np.arange(40) < 20, 0.1 * 3, 0.3),
    ],
)
def test_the_rounding_of_a_constant_signal_has_no_structure(signal):
    graph = nx.path_graph(40)
    found = st.diagnose(graph, signal, hops=2)
    assert not found.significant
    assert "every order of the nodes gives the same" in str(found)
    assert st.spectra(graph, signal, hops=1)["gradient_norm"].item() == 0.0
    assert (st.calibrate(graph, signal, hops=1, algorithms="gft", draws=99)["p"] == 1.0).all()


def test_a_result_with_separate_columns_is_judged_by_column():
    signal = pd.DataFrame(
        {"slow": PLACE[:, 0], "noise": np.random.default_rng(0).normal(size=24), "fast": (-1.0) ** np.arange(24)}
    )
    kept = st.spectra(st.Stratification(RING, hops=2, keep=("signal",)), signal, columns="separate")
    direct = st.diagnose(RING, signal, hops=2, columns="separate", draws=199)
    assert str(st.diagnose(kept, draws=199)) == str(direct)
    assert str(st.diagnose(kept, signal, draws=199)) == str(direct)
    both = np.stack([signal.to_numpy(), signal.to_numpy()[:, ::-1]])
    kept = st.spectra(st.Stratification(RING, hops=1, keep=("signal",)), both, columns="separate")
    assert str(st.diagnose(kept, draws=199)) == str(st.diagnose(RING, both, hops=1, columns="separate", draws=199))


def test_small_graphs_have_exact_p():
    """Seven nodes: the corrected p of two hops against all 5,040 orders, from the definition."""
    graph, x = nx.path_graph(7), np.array([1.0, 2.0, 2.5, 4.0, 4.5, 6.0, 9.0])
    orders = np.array(list(itertools.permutations(range(7))))
    values = x[orders]
    sums = [np.sum((values[:, :-hop] - values[:, hop:]) ** 2, axis=1) for hop in (1, 2)]
    found = st.diagnose(graph, x, hops=2)
    assert found.draws == 5039
    low = np.array([[np.mean(one <= value + 1e-9) for value in one] for one in sums]).T
    high = np.array([[np.mean(one >= value - 1e-9) for value in one] for one in sums]).T
    least = np.minimum(low, high)
    for one in found:
        if one.kind in ("alike", "unlike", "chance"):
            expected = np.mean(least.min(axis=1) <= least[0, one.hop - 1] * (1 + 1e-9))
            assert one.p == pytest.approx(expected, rel=1e-9)
            assert "permutations can give" not in one.text
    pairs = st.correlogram(graph, x, hops=2)
    np.testing.assert_allclose(pairs["p"], np.minimum(1.0, 2 * least[0]), rtol=1e-9)
    assert pairs["p_floor"].isnull().all()


def made(kind, hop=1, band=0.25, **more):
    return Finding(kind, "", hop, None, None, 2.0, 1.0, 3.0, 0.2 if kind == "chance" else 0.01, band=band, **more)


def test_a_mixed_sentence_says_what_the_pairs_are():
    text = with_sentences([made("chance"), made("rough"), made("coarse")], 999)[0].text
    assert text.startswith(
        "Neighbours are not distinguishable from chance (z = 3, corrected p = 0.2), while the signal is rough"
    )


def test_bands_that_are_no_quarter_say_their_share():
    assert "the highest quarter of frequencies holds" in with_sentences([made("rough")], 999)[0].text
    assert "the highest band (3.33 % of frequencies) holds" in with_sentences([made("rough", band=1 / 30)], 999)[0].text
    star = st.diagnose(nx.star_graph(30), np.r_[30.0, -np.ones(30)], hops=1)
    assert "the highest band (3.33 % of frequencies) holds" in star.of("rough")[0].text  # one eigenvalue of 30 off zero


def test_a_p_at_the_floor_of_its_draws_says_so_for_columns_too():
    signal = pd.DataFrame({"a": PLACE[:, 0], "b": PLACE[:, 1], "c": np.random.default_rng(3).normal(size=24)})
    found = st.diagnose(RING, signal, hops=1, columns="separate", draws=199)
    for one in found.significant:
        assert one.p >= one.p_floor * (1 - 1e-9)
        assert ("the smallest that 199 permutations can give" in one.text) == (one.p <= one.p_floor * (1 + 1e-9))
    assert any(one.p == pytest.approx(one.p_floor) for one in found.significant)


def test_the_coarsest_division_of_a_graph_in_parts_is_within_them():
    graph = nx.disjoint_union(nx.path_graph(20), nx.path_graph(12))
    wave = np.r_[np.cos(np.pi * (np.arange(20) + 0.5) / 20), np.zeros(12)]
    assert (
        "the coarsest division of the graph within connected parts"
        in st.diagnose(graph, wave, hops=1).of("coarse")[0].text
    )
    assert "within" not in st.diagnose(nx.path_graph(20), wave[:20], hops=1).of("coarse")[0].text


def test_a_constant_snapshot_or_column_is_named():
    layers = np.stack([np.arange(20.0), np.ones(20)])[..., None]
    found = st.diagnose(nx.path_graph(20), layers, hops=2, draws=99)
    assert "Not judged in snapshot 1 at K = 1 and 2: every order" in str(found)
    columns = pd.DataFrame({"a": np.arange(20.0), "b": 1.0, "c": 2.0})
    found = st.diagnose(nx.path_graph(20), columns, hops=1, draws=99, columns="separate")
    assert "Not judged in columns b and c at K = 1: every order" in str(found)
