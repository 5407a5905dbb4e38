"""Findings: each sentence bound to one statistic, its numbers counted another way, silent on what was shuffled."""

import itertools
import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import findings_oracle as oracle
import spectrata as st
from spectrata.core.plan import make_plan
from spectrata.errors import OptionError, ResultError
from spectrata.stats import familywise
from spectrata.stats.findings import Finding, Findings
from spectrata.stats.sentences import with_sentences

BLOCKS = nx.planted_partition_graph(2, 30, 0.4, 0.02, seed=1)
LAPLACIANS = [("combinatorial", False), ("random_walk", False), ("random_walk", True), ("normalized", True)]


def noise(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=(*shape, 60))


def planted(seed=0):
    return noise(seed=seed) + 3 * (np.arange(60) < 30)


def run_on(strat, t, laplacian="combinatorial", self_loops=False, draws=99):
    options = {"laplacian": laplacian, "self_loops": self_loops}
    plan = make_plan("gft", options, strat.graph.n_nodes, keep=(), diagnose=False)
    return familywise.run_tests(strat, t, plan, np.zeros(len(t), dtype=int), draws=draws)


# ---- numbers


@pytest.mark.parametrize(("laplacian", "self_loops"), LAPLACIANS)
@pytest.mark.parametrize("edges", [[(0, 1), (1, 2), (1, 3), (3, 4), (4, 5)], [(0, 1), (1, 2), (3, 4), (1, 3)]])
def test_moments_over_all_orders_of_the_nodes(monkeypatch, laplacian, self_loops, edges):
    monkeypatch.setattr(familywise, "LEAST_COMPONENTS", 1)
    graph = nx.Graph()
    graph.add_nodes_from(range(6))
    graph.add_weighted_edges_from((x, y, 1.0 + 0.3 * x) for x, y in edges)
    strat = st.Stratification(graph, hops=2, weights="weight")
    t = np.random.default_rng(3).normal([2.0, 0.0], 1.0, (6, 2))
    orders = np.array(list(itertools.permutations(range(6))))
    one = run_on(strat, t[None], laplacian, self_loops)
    every = run_on(strat, t[orders], laplacian, self_loops, draws=1).value
    np.testing.assert_allclose(one.mean[0], every.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(one.std[0], every.std(axis=0), rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize(("laplacian", "self_loops"), LAPLACIANS)
def test_both_ways_to_permute_agree(monkeypatch, laplacian, self_loops):
    strat = st.Stratification(BLOCKS, hops=2)
    t = np.random.default_rng(0).normal(3.0, 1.0, (2, 60, 3))
    by_columns = run_on(strat, t, laplacian, self_loops)
    monkeypatch.setattr(familywise, "MANY_COLUMNS", 1)
    by_gram = run_on(strat, t, laplacian, self_loops)
    np.testing.assert_allclose(by_columns.z, by_gram.z, rtol=1e-8)
    np.testing.assert_array_equal(by_columns.p, by_gram.p)


def test_statistics_are_those_of_correlogram_and_calibrate():
    strat = st.Stratification(BLOCKS, hops=2)
    found = run_on(strat, planted()[None, :, None])
    likeness = st.correlogram(strat, planted(), draws=0)
    np.testing.assert_allclose(found.z[0, :, 0], likeness["z"], rtol=1e-9)
    bands = st.calibrate(strat, planted(), algorithms="gft", level="band", draws=0).sel(algorithm="gft")
    np.testing.assert_allclose(found.z[0, :, 1:3], bands["z"].isel(band=[0, -1]), rtol=1e-9)
    np.testing.assert_allclose(found.value[0, :, 1:3], bands["magnitude"].isel(band=[0, -1]) ** 2, rtol=1e-9)


def test_corrected_p_counts_the_observed_order_and_ties():
    z = np.array([[[np.nan, 3.0, 1.0, 0.0]]])
    drawn = np.zeros((4, 1, 1, 4))
    drawn[..., 0] = np.nan
    drawn[..., 1] = np.array([0.1, 0.2, 0.3, 3.0])[:, None, None]  # one draw ties with the observed
    drawn[..., 2] = np.array([0.5, 0.6, 0.7, 0.8])[:, None, None]
    p = familywise._corrected(z, drawn, np.zeros(1, dtype=int))[0, 0]
    assert np.isnan(p[0])
    assert p[1] == 2 / 5  # tied with the last draw
    assert p[2] == 1 / 5  # larger than every draw: only the observed order reaches it
    assert p[3] == 1.0


# ---- sentences


def test_les_miserables_layout_is_unlike_at_four_and_five_hops():
    """The case that showed energy in a quarter of the components is not likeness of pairs."""
    graph = nx.les_miserables_graph()
    layout = np.array(list(nx.spectral_layout(graph, weight=None).values()))
    found = st.diagnose(graph, layout, metric="euclidean", weights=False)
    kinds = {(one.kind, one.hop) for one in found.significant}
    assert {("alike", 1), ("unlike", 4), ("unlike", 5)} <= kinds
    assert ("alike", 5) not in kinds


@pytest.mark.parametrize(
    ("family", "kind"),
    [
        ("karate", "spectral layout"),
        ("karate", "labels"),
        ("hex grid", "coordinates"),
        ("connectome", "smoothed"),
        ("disconnected", "degree"),
        ("singletons", "smoothed"),
        ("bipartite", "labels"),
        ("tree", "heavy tails"),
    ],
)
def test_sentences_agree_with_brute_force(family, kind):
    found, _, wrong = oracle.judge(family, kind, seed=11, draws=1999)
    assert not wrong
    assert found.tests


def test_few_signals_without_structure_have_findings():
    """One in twenty on the average: 120 runs have 14 or more with a probability of 0.3 %."""
    kinds = ("normal", "Cauchy", "binary")
    smallest = [oracle.smallest_p("karate", kind, 40, draws=99, seed=1) for kind in kinds]
    assert np.sum(np.concatenate(smallest) <= 0.05) <= 13


def test_every_number_comes_from_its_call():
    graph = BLOCKS
    signal = pd.DataFrame({"a": planted(), "b": planted(1), "c": noise()})
    for arguments in ({"metric": "euclidean"}, {}, {"columns": "separate"}, {"laplacian": "random_walk"}):
        found = st.diagnose(graph, signal, hops=2, draws=199, **arguments)
        assert found.significant
        for one in found.significant:
            again = eval(one.call, {"st": st, "graph": graph, "signal": signal})
            np.testing.assert_allclose(float(again), one.value, rtol=1e-9)


def test_numbers_in_the_sentences_are_those_of_the_records():
    found = st.diagnose(BLOCKS, planted(), hops=1, draws=999)
    one = found.of("alike")[0]
    assert one.text == (
        f"Neighbours are alike: their mean squared difference is {one.ratio:.3g} times that of chance "
        f"(z = {one.z:.3g}, corrected p = 0.001, the smallest that 999 permutations can give)."
    )
    assert found.of("smooth")[0].text.startswith("The signal is smooth on the graph: the lowest quarter of freq")
    assert [one.severity for one in found] == sorted((one.severity for one in found), reverse=True)


def made(*cells):
    """Findings of given kinds and hops."""
    return [Finding(kind, "", hop, snapshot, None, 2.0, 1.0, 3.0, 0.01, band=0.25) for kind, hop, snapshot in cells]


def test_runs_of_hops_and_snapshots_are_one_sentence():
    cells = [("alike", hop, s) for hop in (1, 2, 3, 5) for s in (0, 9)]
    texts = {one.text for one in with_sentences(made(*cells), 999)}
    assert len(texts) == 1
    assert "in snapshots 0 and 9 nodes 1 to 3 and 5 hops apart are alike" in texts.pop().lower()


def test_opposite_findings_of_one_hop_share_a_sentence():
    out = with_sentences(made(("unlike", 5, None), ("smooth", 5, None), ("smooth", 1, None)), 999)
    texts = {(one.kind, one.hop): one.text for one in out}
    assert texts["unlike", 5] == texts["smooth", 5] != texts["smooth", 1]
    assert "are unlike" in texts["unlike", 5]
    assert ", while the signal is smooth on the 5-hop graph" in texts["unlike", 5]
    both = with_sentences(made(("rough", 2, None), ("smooth", 2, None)), 999)
    assert len({one.text for one in both}) == 1
    assert "the signal is" not in both[0].text  # never both smooth and rough


@pytest.mark.parametrize(
    ("graph", "signal"),
    [
        (BLOCKS, np.stack([noise(), noise() + 30.0])[..., None]),
        (nx.disjoint_union(nx.complete_graph(20), nx.complete_graph(20)), np.repeat([0.0, 1.0], 20)),
        (nx.disjoint_union(nx.cycle_graph(50), nx.empty_graph(400)), np.random.default_rng(0).normal(size=450)),
    ],
)
def test_no_word_of_collapse_for_signals_of_unknown_origin(graph, signal):
    text = str(st.diagnose(graph, signal, draws=99)).lower()
    for word in ("over-smooth", "oversmooth", "collapse", "constant"):
        assert word not in text


def test_a_common_vector_is_described_and_changes_no_test():
    plain, moved = (st.diagnose(BLOCKS, planted() + shift, hops=2, draws=99) for shift in (0.0, 1e6))
    assert [(one.kind, one.hop, one.p) for one in plain.significant] == [
        (one.kind, one.hop, one.p) for one in moved.significant
    ]
    np.testing.assert_allclose([one.z for one in plain.significant], [one.z for one in moved.significant], rtol=1e-6)
    assert "dominated" in moved.kinds - plain.kinds
    one = moved.of("dominated")[0]
    mean = (planted() + 1e6).mean()
    assert one.value == pytest.approx(60 * mean**2 / np.sum((planted() + 1e6) ** 2))
    assert eval(one.call, {"st": st, "graph": BLOCKS, "signal": planted() + 1e6}) == pytest.approx(one.value)


@pytest.mark.parametrize("factor", [1e-120, 1e120])
def test_scale_changes_no_test(factor):
    plain, scaled = (st.diagnose(BLOCKS, planted() * size, hops=1, draws=99) for size in (1.0, factor))
    assert plain.sentences == scaled.sentences


def test_steps_are_described_without_p():
    adjacency = nx.to_numpy_array(BLOCKS) + np.eye(60)
    mixed = np.linalg.matrix_power(adjacency / adjacency.sum(axis=1, keepdims=True), 2) @ noise()
    layers = np.stack([noise(), mixed])[..., None]
    found = st.diagnose(BLOCKS, layers, hops=1, draws=99, snapshots="layers")
    one = found.of("low_pass")[0]
    assert np.isnan(one.p)
    assert not one.significant
    energy = st.spectra(BLOCKS, layers, algorithms="gft", hops=1)["magnitude"].values[0, :, 0] ** 2
    share = energy[:, 1:16].sum(axis=1) / energy[:, 1:].sum(axis=1)  # 59 components off zero: the lowest quarter has 15
    assert one.value == pytest.approx(share[1], rel=0.1)
    assert one.text.startswith("From layer 0 to 1 the share of energy off zero in the lowest quarter of frequencies")


# ---- what is read


def test_columns_read_jointly_are_announced_first():
    found = st.diagnose(BLOCKS, noise(3).T, hops=1, draws=99)
    assert str(found).splitlines()[0].endswith("(metric='angular'). columns='separate' reads each by itself.")
    assert not st.diagnose(BLOCKS, noise(), hops=1, draws=99).notes


def test_a_result_says_the_same_as_its_signal():
    for laplacian in ("combinatorial", "normalized"):
        ds = st.spectra(BLOCKS, planted(), algorithms="gft", hops=2, laplacian=laplacian)
        from_signal = st.diagnose(BLOCKS, planted(), hops=2, draws=99, laplacian=laplacian)
        assert str(st.diagnose(ds, draws=99)) == str(from_signal)
        assert str(st.diagnose(st.merge_eigenspaces(ds), planted(), draws=99)) == str(from_signal)


def test_a_result_without_its_signal_is_only_described():
    ds = st.spectra(st.Stratification(BLOCKS, hops=1, keep=()), planted() + 100, algorithms="gft")
    found = st.diagnose(ds)
    assert found.kinds == {"unjudged", "dominated"}
    said = "Not tested against chance: the result holds no signal; use st.diagnose(result, signal=x)."
    assert found.of("unjudged")[0].text == said
    assert eval(said.split("use ")[1][:-1], {"st": st, "result": ds, "x": planted() + 100}).significant


def test_cut_spectra_and_options_of_a_result_are_refused():
    cut = st.spectra(st.Stratification(BLOCKS, hops=1, n_eigs=10), planted(), algorithms="gft")
    with pytest.raises(ResultError):
        st.diagnose(cut)
    whole = st.spectra(BLOCKS, planted(), algorithms="gft", hops=1)
    with pytest.raises(OptionError, match="laplacian"):
        st.diagnose(whole, laplacian="normalized")
    with pytest.raises(OptionError, match="Give the signal"):
        st.diagnose(BLOCKS)


def test_first_and_last_snapshot_are_tested_unless_others_are_named():
    values = xr.DataArray(
        np.stack([noise(), planted(), noise(seed=5)]), dims=("snapshot", "node"), coords={"snapshot": ["a", "b", "c"]}
    )
    strat = st.Stratification(BLOCKS, hops=1)
    assert not st.diagnose(strat, values, draws=99).significant
    assert {one.snapshot for one in st.diagnose(strat, values, snapshots=["b"], draws=99).significant} == {"b"}
    with pytest.raises(OptionError, match="no snapshot 'z'"):
        st.diagnose(strat, values, snapshots=["z"])


def test_separate_columns_are_corrected_across_columns():
    table = pd.DataFrame({f"gene {i}": noise(seed=i + 20) for i in range(9)} | {"planted": planted()})
    found = st.diagnose(BLOCKS, table, hops=1, columns="separate", draws=999)
    assert {one.column for one in found.significant} == {"planted"}
    assert all("column planted" in one.text for one in found.significant)
    alone = st.diagnose(BLOCKS, table[["planted"]], hops=1, draws=999)
    assert {one.kind for one in alone.significant} == {one.kind for one in found.significant}
    assert all(one.p >= other.p for one, other in zip(found.significant, alone.significant, strict=True))
    short = st.diagnose(BLOCKS, table, hops=1, columns="separate", draws=99)
    assert "use draws=199" in str(short)
    with pytest.raises(OptionError, match="correlogram"):
        st.diagnose(BLOCKS, np.zeros((60, 65)), columns="separate")


def test_zero_vectors_and_complete_graphs_are_not_judged():
    values = noise(4).T.copy()
    values[5] = 0
    assert st.diagnose(BLOCKS, values, hops=1, draws=99).kinds == {"undefined"}
    assert st.diagnose(BLOCKS, values, hops=1, zero_vectors="zero", draws=99).tests == 4
    complete = st.diagnose(nx.complete_graph(12), np.arange(12.0), draws=99)
    assert complete.kinds == {"undefined"}
    assert "every order of the nodes gives the same" in str(complete)


def test_table_and_json_hold_the_records():
    found = st.diagnose(BLOCKS, np.stack([planted(), noise()])[..., None], hops=2, draws=99)
    frame = found.to_frame()
    assert list(frame.columns[:9]) == ["kind", "hop", "snapshot", "column", "value", "chance", "z", "p", "severity"]
    assert len(frame) == len(found)
    data = json.loads(found.to_json())
    assert data["draws"] == 99
    assert [row["kind"] for row in data["findings"]] == [one.kind for one in found]
    assert all(row["p"] is None or 0 < row["p"] <= 1 for row in data["findings"])
    assert not Findings().to_frame().shape[0]


def test_same_seed_same_findings():
    one, two, other = (st.diagnose(BLOCKS, noise(seed=3), hops=2, seed=seed) for seed in (0, 0, 1))
    assert one.to_json() == two.to_json() != other.to_json()
