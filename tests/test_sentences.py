"""Sentences against the numbers beside them: each case printed a wrong sentence once."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import spectrata as st
from commanding import run
from spectrata.stats.findings.sentences import column_sentences


def said(result):
    """The output of a command with its lines joined."""
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


def written(folder, graph, values):
    """Files of a graph and a signal, or of a table of signals."""
    (folder / "g.txt").write_text("".join(f"{a} {b}\n" for a, b in graph.edges))
    values = values if isinstance(values, pd.DataFrame) else pd.DataFrame({"x": values})
    values.rename_axis("node").to_csv(folder / "x.csv")
    return folder / "g.txt", folder / "x.csv"


def hubs_against_chance():
    """A star: its pairs all share the hub, whose value is near the middle. r is below 0, and above chance."""
    return nx.star_graph(59), np.r_[0.5, np.ones(30), -np.ones(29)]


def odd_circle():
    """A dense part and a circular ladder whose values follow degree between them, and alternate inside the ladder."""
    graph = nx.disjoint_union(nx.gnp_random_graph(20, 0.6, seed=0), nx.circular_ladder_graph(15))
    graph.add_edge(0, 25)
    degree, noise = np.array([k for _, k in graph.degree()]), np.random.default_rng(0)
    rings = [(-1) ** (i % 15 + (i >= 15)) for i in range(30)]
    return graph, degree + 0.1 * noise.normal(size=50) + 2 * np.r_[np.zeros(20), rings], noise.normal(size=50)


# ---- scale


@pytest.mark.parametrize("graph", [nx.barbell_graph(4, 0), nx.petersen_graph()], ids=["barbell", "petersen"])
def test_a_hop_whose_scale_was_tested_is_not_called_untested(graph):
    values = np.r_[1.0, 1.1, 1.2, 0.9, -1, -1.1, -0.8, -1.2]
    if len(graph) == 10:
        values = np.linalg.eigh(nx.to_numpy_array(graph))[1][:, :4] @ np.random.default_rng(0).normal(size=4)
    found = st.diagnose(graph, values, hops=1)
    assert any(one.significant and one.statistic in ("rough", "main_divide") for one in found)
    assert "at hop 1" in str(found)
    assert "not tested" not in str(found)


# ---- columns


def test_a_reversed_column_is_counted():
    graph, x, noise = odd_circle()
    table = st.rank_columns(graph, pd.DataFrame({"x": x, "y": noise}), hops=1)
    assert table["verdict"].tolist() == ["reversed given degree", "chance"]
    (line,) = column_sentences(table)
    assert line == "In 1 of 2 columns r differs from chance, and in the other direction with degree accounted for."


def test_r_below_0_and_above_chance_is_not_called_alike(tmp_path):
    graph, values = hubs_against_chance()
    found = st.correlogram(graph, values, 1)
    assert float(found["chance_high"][0]) < float(found["r"][0]) < 0
    result = run("correlogram", *written(tmp_path, graph, values), "--hops", "1")
    assert "less unlike than chance between neighbours (not shown beyond degree)" in said(result)
    word = "less unlike than chance"
    table = str(st.diagnose(graph, values, hops=1, given=None))
    assert f"  1  {word}  -0.105" in table
    assert f"{word}: r below 0, but above chance" in table
    assert "alike:" not in table
    ranked = st.rank_columns(graph, pd.DataFrame({"x": values, "y": values}), hops=1, given=None)
    assert ranked["verdict"].tolist()[0] == "alike"
    assert column_sentences(ranked, None) == [
        f"In 2 of 2 columns neighbours are {word} explains (q <= 0.05); clearest: x (r = -0.10), y (r = -0.10)."
    ]


def test_a_ranking_names_its_hop_and_what_q_is_corrected_over(tmp_path):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(31, 3)), columns=list("abc"))
    files = written(tmp_path, nx.cycle_graph(31), table)
    words = said(run("profile", *files, "--hops", "2,3", "-o", tmp_path / "out"))
    assert "r: correlation between nodes 2 hops apart;" in words
    assert "q: false discovery rate over 3 columns, each corrected over its own tests of r and scale;" in words
    assert "between neighbours" not in words


# ---- nodes


def test_nodes_that_differ_from_chance_are_counted_beside_none_beyond_degree(tmp_path):
    graph = nx.barabasi_albert_graph(200, 3, seed=1)
    degree = np.array([k for _, k in graph.degree()])
    values = degree**1.5 * np.exp(0.3 * np.random.default_rng(1).normal(size=200))
    found = st.local(graph, values)
    differ = int(((found["q"] <= 0.05) & ~(found["q_given"] <= 0.05)).sum())
    assert differ > 10
    words = said(run("local", *written(tmp_path, graph, values)))
    assert "No node is shown to be like or unlike its neighbours beyond chance and degree." in words
    assert f"{differ} nodes differ from chance, not shown beyond degree." in words


def test_the_word_of_a_node_agrees_with_its_own_numbers():
    """Hubs lift the mean at ends of pairs, so that r of a node may lie above chance and below 0."""
    kinds = set()
    for seed in range(12):
        graph = nx.barabasi_albert_graph(150, 2, seed=seed)
        degree = np.array([k for _, k in graph.degree()])
        values = degree * (1 + 0.2 * np.random.default_rng(seed).normal(size=150))
        found = st.local(graph, values, given=None)
        away = values - degree @ values / degree.sum()
        near = nx.to_numpy_array(graph) @ away
        for word, own, others in zip(found["verdict"].values[0], away, near, strict=True):
            if " among " in word:
                assert word == f"{'high' if own > 0 else 'low'} among {'high' if others > 0 else 'low'}"
            kinds.add(word)
    assert {"low among high", "less alike than chance"} & kinds
    assert "less unlike than chance" in kinds


def test_a_node_with_more_of_its_own_class_has_a_larger_share_of_it_than_all_nodes():
    seen = set()
    for seed in range(6):
        graph = nx.planted_partition_graph(4, 40, 0.2, 0.02, seed=seed)
        labels = np.arange(160) // 40
        labels[::7] = np.random.default_rng(seed).integers(0, 4, len(labels[::7]))
        words = st.local(graph, dict(enumerate(labels)), labels=True, given=None)["verdict"].values[0]
        for node, word in zip(graph, words, strict=True):
            same = np.mean([labels[other] == labels[node] for other in graph[node]]) if graph.degree(node) else 0.0
            seen.add(word)
            if "own class" in word:
                assert (same > np.mean(labels == labels[node])) == word.startswith("more")
    assert {"more of its own class", "chance"} <= seen


# ---- hops where nothing can be tested


@pytest.mark.parametrize(
    ("graph", "hop"),
    [
        (nx.disjoint_union(nx.complete_graph(6), nx.empty_graph(4)), 1),
        (nx.star_graph(12), 2),
        (nx.disjoint_union(nx.path_graph(2), nx.empty_graph(5)), 1),
    ],
    ids=["clique and others", "leaves of a star", "one pair"],
)
def test_where_all_nodes_with_a_pair_are_paired_r_is_not_tested(graph, hop):
    """Not only the whole graph: r is -1 / (m - 1) on any m nodes that are all paired with each other."""
    values = np.random.default_rng(2).normal(size=len(graph))
    found = st.correlogram(graph, values, [hop])
    m = len({node for a, far in nx.all_pairs_shortest_path_length(graph) for node, d in far.items() if d == hop})
    assert found["r"].item() == pytest.approx(-1 / (m - 1))
    assert found["status"].item().startswith("r same in every order")
    assert found["verdict"].item() == "not tested"
    assert np.isnan(found["p"].item())
    assert np.isnan(found["p_family"].item())
    said = " ".join(str(st.diagnose(graph, values, hops=[hop])).split())
    assert f"At hop {hop} every node with a pair is paired with every other: r is the same for every signal." in said


# ---- weights


def test_the_unit_of_weights_changes_nothing():
    """Degree in metres is degree in kilometres: logarithms of 1 + degree see the unit."""
    graph, rng = nx.barabasi_albert_graph(80, 3, seed=4), np.random.default_rng(4)
    weights = rng.lognormal(size=graph.number_of_edges())
    values = rng.normal(size=80) + np.log([k for _, k in graph.degree()])
    edges = np.array(list(graph.edges))
    made = []
    for unit in (1e-3, 1.0, 1e3):
        strat = st.Stratification(edges=edges, n_nodes=80, weights=unit * weights, hops=2)
        made.append(st.correlogram(strat, values, draws=199))
    for other in made[1:]:
        for name in ("r", "p", "r_given", "p_given"):
            np.testing.assert_allclose(other[name], made[0][name], rtol=1e-9, err_msg=name)


# ---- footnotes


def test_r_outside_its_interval_without_a_verdict_is_named_after_correction():
    rng = np.random.default_rng(0)
    for seed in range(200):
        graph = nx.gnp_random_graph(30, 0.15, seed=seed)
        found = st.correlogram(graph, values := rng.normal(size=30), 2, draws=199)
        outside = (found["r"] < found["chance_low"]) | (found["r"] > found["chance_high"])
        if (outside & (found["verdict"] == "chance")).any():
            break
    table = " ".join(str(st.diagnose(graph, values, hops=2, draws=199)).split())
    assert "chance: r not distinguishable from chance after correction." in table
    clear = " ".join(str(st.diagnose(nx.path_graph(30), rng.normal(size=30), hops=1, draws=199)).split())
    assert "chance: r not distinguishable from chance." in clear
