"""``stats.profile``: the same numbers as the verbs, each hop decomposed once, and the headline."""

from dataclasses import replace
from itertools import permutations

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import spectrata as st
from spectrata.errors import OptionError
from spectrata.stats.findings import Finding
from spectrata.stats.findings.finding import footnote
from spectrata.stats.findings.sentences import likeness_words, scale_lines
from spectrata.stats.verbs.profile import profile

KARATE = nx.karate_club_graph()


def test_a_profile_has_the_findings_of_diagnose():
    found = profile(KARATE, "club", weights=False, hops=3, seed=4)
    own = st.diagnose(KARATE, "club", weights=False, hops=3, seed=4)
    assert found.findings == own
    values = [one.value for one in found.of()]
    np.testing.assert_allclose(values, [0.718, 0.336, -0.594], atol=5e-4)  # networkx gives the first
    assert found.headline("club") == "club: alike up to 2 hops, unlike at 3 hops"
    local = st.local(KARATE, "club", weights=False, seed=4)
    np.testing.assert_array_equal(found.local["r"], local["r"])
    np.testing.assert_array_equal(found.local["verdict"], local["verdict"])


def table(n=40, columns=3):
    rng = np.random.default_rng(0)
    values = {"up": np.arange(float(n)), "alternating": (-1.0) ** np.arange(n) + 0.1 * rng.normal(size=n)}
    return pd.DataFrame(values | {f"noise {chr(97 + k)}": rng.normal(size=n) for k in range(columns - 2)})


def test_the_ranking_agrees_with_the_findings_and_with_rank_columns():
    graph, values = nx.path_graph(40), table()
    found = profile(graph, values, hops=3)
    ranking = found.ranking.set_index("column")
    words = {one.column: one.verdict for one in found.findings if one.statistic == "r" and one.hop == 1}
    assert ranking["verdict"].to_dict() == words
    assert ranking.loc["up", ["verdict", "reach"]].tolist() == ["alike", 3]
    assert ranking.loc["alternating", ["verdict", "reach"]].tolist() == ["unlike", 1]  # alike again at 2 hops
    alone = st.rank_columns(graph, values, hops=3).set_index("column")
    for name in ("r", "p", "r_given", "p_given"):  # p is the same in every call
        np.testing.assert_array_equal(ranking.loc[alone.index, name], alone[name])
    assert [one.name for one in found.shown.columns] == found.ranking["column"].tolist()


@pytest.mark.parametrize("kind", ["numbers", "vectors", "directions"])
def test_the_parts_of_all_pairs_have_the_mean_r(kind):
    """On a weighted graph of two parts and an isolated node, by the definition of r."""
    rng = np.random.default_rng(3)
    graph = nx.disjoint_union(nx.gnp_random_graph(12, 0.4, seed=1), nx.cycle_graph(5))
    graph.add_node(17)
    nx.set_edge_attributes(graph, {edge: float(rng.uniform(0.5, 3)) for edge in graph.edges}, "w")
    values = rng.normal(size=(18, 1 if kind == "numbers" else 3))
    metric = {"numbers": "auto", "vectors": "euclidean", "directions": "angular"}[kind]
    found = profile(graph, values, hops=2, weights="w", metric=metric, draws=0)
    for hop in found.hops:
        pairs = found.pairs(hop, 10**6)
        stratum = found.strat.strata.at(hop)
        parts = found.pair_parts(found.reading.columns[0], 0, hop, pairs)
        (row,) = [one for one in found.of() if one.hop == hop]
        assert stratum.weights @ parts / stratum.weights.sum() == pytest.approx(row.value, abs=1e-12)
        assert len(found.pairs(hop, 5)) == 5


def test_labels_that_are_missing_take_no_part():
    labels = [name if node % 5 else None for node, name in KARATE.nodes(data="club")]
    found = profile(KARATE, labels, hops=1, weights=False)
    pairs = found.pairs(1, 1000)
    parts = found.pair_parts(found.reading.columns[0], 0, 1, pairs)
    known = np.array([label is not None for label in labels])
    assert (np.isnan(parts) == ~known[pairs].all(axis=1)).all()
    same = [labels[x] == labels[y] for x, y in pairs]
    np.testing.assert_array_equal(parts[~np.isnan(parts)] > 0, np.array(same)[~np.isnan(parts)])
    assert found.spectra is None
    assert found.chance is None


def test_of_many_snapshots_the_first_and_the_last_are_tested():
    values = np.random.default_rng(0).normal(size=(5, 34, 1))
    found = profile(KARATE, values, hops=1, weights=False)
    assert {one.snapshot for one in found.findings} == {0, 4}
    assert found.findings.notes == ["Of 5 snapshots the first and the last are tested."]
    assert {one.snapshot for one in profile(KARATE, values[:3], hops=1, weights=False).findings} == {0, 1, 2}


def test_a_result_has_the_findings_of_its_graph_and_signal():
    values = np.random.default_rng(0).normal(size=(34, 2))
    ds = st.spectra(KARATE, values, weights=False, hops=2)
    found = profile(ds)
    assert found.findings == profile(KARATE, values, weights=False, hops=2).findings
    assert found.spectra is ds
    bare = ds.drop_vars("signal")
    assert profile(bare).reading is None
    assert profile(bare, values).findings == found.findings
    with pytest.raises(OptionError, match="leave out hops"):
        profile(ds, hops=1)


def test_large_graphs_are_read_to_few_hops():
    path = nx.path_graph(1200)
    assert profile(path, np.arange(1200.0), draws=0, given=None).hops == (1, 2, 3)
    assert profile(nx.path_graph(40), range(40), draws=0).hops == tuple(range(1, 7))
    assert profile(st.Stratification(nx.path_graph(40), 9), range(40), draws=0).hops == tuple(range(1, 10))


@pytest.mark.parametrize("width", [11, 12, 16])
def test_wide_vectors_at_a_hop_of_two_pairs(width):
    """All arrangements on few nodes are counted for vectors too, also where rows are read by inner products."""
    graph = nx.path_graph(29)
    graph.add_edge(27, 29)  # the pairs 0, 28 and 0, 29
    values = np.random.default_rng(1).normal(size=(30, width))
    (row,) = profile(graph, values, hops=[28], given=None).of()
    t = values / np.linalg.norm(values, axis=1, keepdims=True)
    gram, (x, y, z) = t @ t.T, np.array(list(permutations(range(30), 3))).T
    apart = gram[x, y] + gram[x, z]  # over the pairs; the mean of their ends is (2 t_x + t_y + t_z) / 4
    square = (4 + 1 + 1 + 4 * apart + 2 * gram[y, z]) / 4
    r = (2 * apart - square) / (4 - square)
    observed = r[(x == 0) & (y == 28) & (z == 29)].item()
    assert row.value == pytest.approx(observed)
    tails = np.mean(r >= observed - 1e-12), np.mean(r <= observed + 1e-12)
    assert row.p == pytest.approx(min(1.0, 2 * min(tails)))


def rows(words, hops=None, value=0.5):
    hops = hops or range(1, len(words) + 1)
    return [
        Finding("", "", hop, value=-value if word == "unlike" else value, verdict=word)
        for hop, word in zip(hops, words, strict=True)
    ]


@pytest.mark.parametrize(
    ("words", "hops", "diameter", "said"),
    [
        (["alike"], None, 5, "alike between neighbours"),
        (["alike", "alike", "unlike", "unlike"], None, 4, "alike up to 2 hops, unlike from 3 hops on"),
        (["alike", "alike", "unlike", "unlike"], None, 5, "alike up to 2 hops, unlike at 3 and 4 hops"),
        (["alike", "alike"], [1, 3], 9, "alike between neighbours, alike at 3 hops"),  # nothing is said of hop 2
        (["chance", "chance"], None, 2, "not distinguishable from chance"),
        (
            ["chance", "not beyond degree"],
            None,
            2,
            "not distinguishable from chance between neighbours, alike at 2 hops (not shown beyond degree)",
        ),
        # The first hop leads, what shows only given degree comes last, and one hop is no "from 3 hops on".
        (
            ["not beyond degree", "alike only given degree", "not beyond degree"],
            None,
            3,
            "alike between neighbours (not shown beyond degree), alike at 3 hops (not shown beyond degree), "
            "alike only given degree at 2 hops",
        ),
        (
            ["not beyond degree", "alike", "unlike only given degree"],
            None,
            9,
            "alike between neighbours (not shown beyond degree), alike at 2 hops",
        ),
        (["alike"], ["(0, 1]"], None, "alike at distance (0, 1]"),
        ([], None, None, "not tested"),
    ],
)
def test_the_headline(words, hops, diameter, said):
    assert likeness_words(rows(words, hops), diameter) == said


@pytest.mark.parametrize(
    ("statistics", "near", "said"),
    [
        (["smooth"], [], "Scale: smooth at hop 1; not tested at hop 2."),
        (["smooth", "rough"], [], "Scale: smooth at hop 1; rough at hop 1; smooth and rough together: more energy than "
         "chance in the lowest and in the highest quarter of frequencies at hop 1; not tested at hop 2."),
        (["smooth"], ["smooth"], "Scale: smooth (near .05) at hop 1;"),
        ([], ["smooth"], ""),
    ],
)  # fmt: skip
def test_the_scale_line(statistics, near, said):
    found = rows(["chance", "chance"])
    found = [replace(one, kind="chance", statistic="r") for one in found]
    for name in ("smooth", "rough"):
        kind = name if name in statistics else "chance"
        found.append(Finding(kind, "", 1, beyond_degree=True, statistic=name, near_level=name in near))
    line = " ".join(scale_lines(found, "degree"))
    assert line.startswith(said)
    assert bool(line) == bool(said)
    assert ("near .05" in footnote(found, "degree", 4)) == ("near .05" in line)


def test_r_of_the_other_sign_is_named_by_its_side_of_chance():
    assert likeness_words(rows(["alike"], value=-0.2), 3) == "less unlike than chance between neighbours"
    assert likeness_words(rows(["unlike"], value=-0.2), 3) == "less alike than chance between neighbours"


def test_a_line_on_a_column_tells_of_all_hops():
    """The page and the command read it; neither chooses."""
    graph = nx.les_miserables_graph()
    table = pd.DataFrame({"degree": dict(graph.degree())})
    table["noise"] = np.random.default_rng(0).normal(size=77)
    found = profile(graph, table, hops=4, weights=False)
    assert found.verdict_of("degree") == "not beyond degree"  # alike or unlike at no hop, and off chance at some
    assert [one.hop for one in found.told["degree"]] == [1]
    assert found.verdict_of("noise") == "chance"
    path = profile(nx.path_graph(40), pd.DataFrame({"up": np.arange(40.0) ** 1.5, "down": -np.arange(40.0)}), hops=3)
    assert path.verdict_of("up") == "alike up to 3 hops"
    assert [one.hop for one in path.told["up"]] == [1, 2, 3]
