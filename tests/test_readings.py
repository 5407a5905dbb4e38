"""correlogram, homophily, diagnose and rank_columns: names, words, tables, refusals, and the level of their tests."""

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import spectrata as st
from spectrata.errors import DuplicateNameError, OptionError, ResultError, SignalValueError
from spectrata.stats.findings.sentences import column_sentences
from strategies import regular_graph

KARATE = nx.karate_club_graph()
DOCS = Path(__file__).parents[1] / "docs"
VARIABLES = {"r", "p", "p_family", "r_given", "p_given", "p_family_given", "verdict", "near_level", "chance_low"}
VARIABLES |= {"chance_high", "participation", "between_parts", "geary", "status"}


def test_the_karate_club_by_club():
    found = st.homophily(KARATE, "club", weights=False)
    assert found["r"].values.round(3).tolist() == [0.718, 0.336, -0.594, -1.0, -1.0]
    assert found["verdict"].values.tolist() == ["alike", "alike", "unlike", "unlike", "unlike"]
    same = st.correlogram(KARATE, "club", weights=False, labels=True)
    for name in ("r", "p", "p_family", "p_given"):
        np.testing.assert_array_equal(found[name], same[name])
    assert set(found.data_vars) == VARIABLES | {"homophily", "homophily_low", "homophily_high", "class_homophily"}
    assert found["n_pairs"].values.tolist() == [78, 265, 137, 73, 8]


def test_the_degrees_of_les_miserables_go_not_beyond_degree():
    graph = nx.les_miserables_graph()
    found = st.diagnose(graph, dict(graph.degree), weights=False)
    frame = found.to_frame()
    assert frame.loc[frame["statistic"] == "r", "value"].iloc[0] == pytest.approx(-0.165, abs=5e-4)
    assert not frame["beyond_degree"].any()
    assert set(frame.loc[frame["statistic"] == "r", "verdict"]) == {"not beyond degree", "chance"}
    assert frame["p_given"].isna().all()
    assert "One node (Valjean) holds 60 % of the variation at the ends of pairs at hop 1." in " ".join(
        str(found).split()
    )


def test_measures_of_homophily_against_loops():
    rng = np.random.default_rng(0)
    graph = nx.gnp_random_graph(30, 0.15, seed=2)
    labels = rng.integers(3, size=30)
    found = st.homophily(graph, labels, hops=1).isel(hop=0)
    equal = [labels[x] == labels[y] for x, y in graph.edges]
    own = [np.mean([labels[x] == labels[y] for y in graph[x]]) for x in graph if graph[x]]
    inside = [np.mean([labels[y] == c for x in graph if labels[x] == c for y in graph[x]]) for c in range(3)]
    excess = sum(max(0, inside[c] - np.mean(labels == c)) for c in range(3)) / 2
    both = [(labels[x], labels[y]) for a, b in graph.edges for x, y in ((a, b), (b, a))]
    joint = np.zeros((3, 3))
    for x, y in both:
        joint[x, y] += 1 / len(both)
    ends = joint.sum(axis=1)
    entropy = -np.sum(ends * np.log(ends))
    information = 2 - -np.sum(joint[joint > 0] * np.log(joint[joint > 0])) / entropy
    expected = [np.mean(equal), np.mean(own), excess, information]
    np.testing.assert_allclose(found["homophily"], expected, atol=1e-12)
    np.testing.assert_allclose(found["class_homophily"], inside, atol=1e-12)
    assert (found["homophily_low"] <= found["homophily_high"]).all()


def test_nodes_without_a_label_take_no_part():
    rng = np.random.default_rng(1)
    graph = nx.gnp_random_graph(40, 0.15, seed=3)
    labels = rng.choice(["a", "b"], size=40).astype(object)
    labels[:8] = None
    found = st.homophily(graph, labels, hops=2)
    kept = graph.subgraph(range(8, 40)).copy()
    nx.set_node_attributes(kept, dict(zip(range(8, 40), labels[8:], strict=True)), "c")
    assert found["r"].sel(hop=1).item() == pytest.approx(nx.attribute_assortativity_coefficient(kept, "c"), abs=1e-12)
    assert found.attrs["n_labelled"] == 32
    same = st.homophily(graph, np.where(labels == None, "?", labels), hops=2, missing="?")  # noqa: E711
    np.testing.assert_array_equal(found["p"], same["p"])
    with pytest.raises(SignalValueError, match="two or more"):
        st.homophily(graph, ["a"] * 40)


def test_columns_have_q_and_the_same_r_as_alone():
    rng = np.random.default_rng(2)
    graph = nx.watts_strogatz_graph(80, 6, 0.1, seed=1)
    table = pd.DataFrame({f"noise {'abc'[i]}": rng.normal(size=80) for i in range(3)})
    table["ramp"] = np.cos(2 * np.pi * np.arange(80) / 80)
    found = st.correlogram(graph, table, hops=2)
    assert found["r"].dims == ("column", "hop")
    assert found["verdict"].sel(column="ramp", hop=1).item() == "alike"
    alone = st.correlogram(graph, table["ramp"], hops=2)
    for name in ("r", "p", "r_given", "p_given", "chance_low"):
        np.testing.assert_array_equal(found[name].sel(column="ramp"), alone[name])
    assert (found["q"] >= found["p_family"]).all()
    joint = st.correlogram(graph, table, hops=1, columns="joint", metric="euclidean")
    assert joint["r"].dims == ("hop",)
    assert st.correlogram(graph, table.to_numpy(), hops=1).attrs["metric"] == "angular"


def test_many_columns_find_what_is_there_and_no_more():
    rng = np.random.default_rng(3)
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(12, 12))
    values = rng.normal(size=(144, 60))
    place = np.arange(144)
    for column in range(5):
        values[:, column] += 1.5 * np.sin(place // 12 / 2 + column)
    table = st.rank_columns(graph, values, hops=3)
    chosen = set(table.loc[table["verdict"] == "alike", "column"])
    assert set(range(5)) <= chosen
    assert len(chosen) <= 6
    assert table["column"].tolist()[:5] == table.sort_values("effect", ascending=False)["column"].tolist()[:5]
    assert (table.loc[table["column"] < 5, "reach"] >= 1).all()
    assert set(table.loc[table["column"] < 5, "scale"]) == {1}
    assert (table.loc[~table["column"].isin(chosen), "reach"] == 0).all()
    assert "of 60 columns neighbours are alike" in column_sentences(table)[0]


def test_p_of_many_columns_is_the_same_whatever_hops_are_asked_for():
    graph, rng = nx.random_geometric_graph(120, 0.18, seed=4), np.random.default_rng(8)
    values = rng.normal(size=(120, 25))
    values[:, :4] += 3 * np.array([graph.nodes[node]["pos"][0] for node in graph])[:, None]
    values[:, 4:8] += 0.8 * np.array([graph.nodes[node]["pos"][1] for node in graph])[:, None]
    every = st.correlogram(graph, values, hops=3, columns="separate")
    for hop in (1, 2, 3):
        alone = st.correlogram(graph, values, hops=[hop], columns="separate")
        for name in ("p", "p_given", "chance_low", "chance_high", "p_from_tail"):
            # p of a fitted tail carries the last bit of its draws: it depends on how much is multiplied at once.
            np.testing.assert_allclose(every[name].sel(hop=hop), alone[name].sel(hop=hop), rtol=1e-12, err_msg=name)
    ranked = st.rank_columns(graph, values, hops=3).set_index("column")
    assert np.array_equal(ranked["p"].loc[range(25)], every["p"].sel(hop=1))


def test_near_level_of_many_columns():
    rng = np.random.default_rng(0)
    graph, wave = nx.grid_2d_graph(15, 15), np.repeat(np.sin(np.arange(15) / 3), 15)
    values = rng.normal(size=(225, 40)) + np.linspace(0, 0.6, 40) * wave[:, None]
    found = st.rank_columns(graph, values, hops=1, given=None)
    near = found["near_level"].to_numpy()
    assert 0 < near.sum() < 10
    assert found["q"][near].between(0.01, 0.2).all()
    assert not near[(found["q"] < 0.001) | (found["q"] > 0.5)].any()


def test_names_that_occur_twice_are_refused():
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(6, 2)), columns=["a", "a"])
    for call in (st.diagnose, st.correlogram, st.rank_columns):
        with pytest.raises(DuplicateNameError, match="twice"):
            call(nx.path_graph(6), table)


def test_diagnose_prints_a_table_with_one_footnote():
    found = st.diagnose(KARATE, "club", weights=False)
    lines = str(found).splitlines()
    assert lines[0].split() == ["hop", "verdict", "r", "chance", "p", "r", "given", "p", "given"]
    assert lines[1].split()[:3] == ["1", "alike", "0.718"]
    assert all(len(line) <= 80 for line in lines)
    assert sum("alike:" in line and "unlike" not in line.split("alike:")[0] for line in lines) == 1
    assert " z" not in str(found) + found.explain()
    assert "Neighbours are alike: r = 0.718" in found.explain()
    frame = found.to_frame()
    expected = ["kind", "statistic", "hop", "column", "snapshot", "value", "chance_low", "chance_high", "p", "p_family"]
    expected += ["value_given", "p_given", "p_family_given", "verdict", "beyond_degree", "near_level", "text"]
    assert frame.columns.tolist() == expected
    assert len(json.loads(found.to_json())["findings"]) == len(found)
    assert found == st.diagnose(KARATE, "club", weights=False)


def test_given_none_and_other_covariates():
    rng = np.random.default_rng(5)
    graph = nx.watts_strogatz_graph(100, 6, 0.1, seed=2)
    batch = np.repeat(["a", "b"], 50)
    values = rng.normal(size=100) + 3 * (batch == "a")
    free = st.diagnose(graph, values, hops=1, given=None)
    assert free.given == ""
    assert free[0].verdict == "alike"
    assert np.isnan(free[0].p_given)
    found = st.diagnose(graph, values, hops=1, given=[batch])
    assert found[0].verdict == "not beyond covariates"
    both = st.correlogram(graph, values, hops=1, given=["degree", batch])
    assert both.attrs["given"] == "covariates"
    assert both["verdict"].item() == "not beyond covariates"


def test_a_result_is_diagnosed_by_its_own_signal_or_refused():
    graph = nx.path_graph(40)
    values = np.arange(40.0) + np.random.default_rng(0).normal(size=40)
    kept = st.spectra(graph, values, hops=2)
    assert str(st.diagnose(kept)) == str(st.diagnose(graph, values, hops=2))
    bare = kept.drop_vars("signal")
    with pytest.raises(ResultError, match="holds no signal"):
        st.diagnose(bare)
    assert str(st.diagnose(bare, values)) == str(st.diagnose(kept))
    with pytest.raises(OptionError, match="signal"):
        st.diagnose(graph)
    with pytest.raises(OptionError, match="leave out hops"):
        st.diagnose(kept, hops=1)


def test_snapshots_are_one_family_and_layers_have_no_p():
    import xarray as xr

    graph = nx.watts_strogatz_graph(40, 4, 0.1, seed=1)
    values = np.random.default_rng(1).normal(size=(3, 40, 1))
    found = st.correlogram(graph, values, hops=1)
    assert found["r"].dims == ("snapshot", "hop")
    assert (found["p_family"] >= found["p"]).all()
    layers = xr.DataArray(values, dims=("layer", "node", "column"), coords={"layer": ["a", "b", "c"]})
    shown = st.diagnose(graph, layers, hops=1)
    assert shown.to_frame()["p"].isna().all()
    assert shown.to_frame()["value"].notna().all()


def test_a_dominating_node_is_named():
    graph = nx.barabasi_albert_graph(60, 2, seed=1)
    values = np.random.default_rng(0).normal(size=60)
    values[7] = 200.0
    assert "One node (7) holds 98 % of the variation at the ends of pairs at hop 1." in str(
        st.diagnose(graph, values, hops=1)
    )


def test_as_few_nodes_are_named_as_hold_the_signal():
    two = np.zeros(60)
    two[[3, 30]] = 1
    found = str(st.diagnose(nx.cycle_graph(60), two, hops=1, draws=0))
    assert "Two nodes (3 and 30) hold 97 % of the variation" in found
    for leaves in (3, 5, 6):  # the hub holds one half, which is not more than half
        found = st.diagnose(nx.star_graph(leaves), [5.0] + [1.0] * leaves, hops=1, draws=0)
        assert not [one for one in found if one.kind == "dominated"]


def test_the_footnote_speaks_of_correction_only_where_it_decided():
    one = (np.arange(60) == 2).astype(float)
    found = str(st.diagnose(nx.cycle_graph(60), one, hops=2))
    assert "chance: r not distinguishable from chance" in found
    assert "after correction" not in found


def test_undefined_and_weak_hops_say_so():
    graph = nx.path_graph(12)
    graph.add_node(12)
    found = str(st.diagnose(graph, {node: float(node == 12) for node in graph}, hops=2)).splitlines()
    assert found[1:3] == [f"  {hop}  no variance among nodes with a pair" for hop in (1, 2)]
    assert "Fewer than 20 pairs at hops 1 and 2: weak evidence." in found


@pytest.mark.parametrize(
    ("weights", "given", "said"),
    [
        (False, "degree", "Given degree: accounting for a node's pairs at hops 1, 2, 3 and the tested one."),
        (True, "degree", "Given degree: accounting for the weights of a node's pairs at hops 1, 2, 3"),
        (False, "side", "Given: side accounted for, degree not."),
        (True, ["degree", "side"], "Given: degree, side accounted for. Degree: the weights of a node's pairs"),
    ],
)
def test_what_the_second_test_accounts_for_is_printed(weights, given, said):
    table = pd.DataFrame({"node": list(KARATE), "side": [KARATE.nodes[node]["club"] for node in KARATE]})
    table["age"], table["degree"] = np.arange(34.0), 1.0
    found = st.diagnose(KARATE, table, hops=1, weights=weights, given=given)
    text = " ".join(str(found).split())
    assert said in text
    assert "p: false discovery rate (q) over 2 columns, each corrected over its own tests of r and scale" in text
    if given == "side":
        again = st.diagnose(KARATE, table, hops=1, weights=weights, given=table[["node", "side"]])
        assert again.to_frame()["p_given"].equals(found.to_frame()["p_given"])
    with pytest.raises(OptionError, match="given='sides' is no node attribute, column of the signal, or file"):
        st.correlogram(KARATE, table, hops=1, weights=weights, given="sides")


def test_a_constant_signal_says_why_it_is_not_judged():
    found = st.diagnose(nx.cycle_graph(6), np.ones(6), hops=1)
    assert found[0].kind == "undefined"
    assert "no variance among nodes with a pair" in str(found)


def test_refusals():
    graph = nx.path_graph(10)
    with pytest.raises(OptionError, match="draws=5 cannot"):
        st.correlogram(graph, range(10), draws=5)
    with pytest.raises(OptionError, match="single numbers"):
        st.correlogram(graph, np.ones((10, 2)), columns="separate", metric="angular")
    with pytest.raises(OptionError, match="columns"):
        st.correlogram(graph, np.ones((10, 2)), columns="each")
    assert np.isnan(st.correlogram(graph, range(10), draws=0)["p"]).all()


def degree_noise(kind, graph, rng):
    """Signals that are independent given degree."""
    degree = np.array([graph.degree[v] for v in graph], dtype=float)
    noise = rng.normal(size=len(degree))
    return noise * degree if kind == "times" else (rng.random(len(degree)) < degree / degree.max()).astype(float)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["times", "binary"])
def test_noise_that_depends_on_degree_goes_seldom_beyond_degree(kind):
    """The whole study is benchmarks/chance.py; here 60 signals, of which about 3 may be found."""
    graph = nx.barabasi_albert_graph(300, 3, seed=1)
    strat = st.Stratification(graph, 3)
    rng = np.random.default_rng(11)
    found = [st.diagnose(strat, degree_noise(kind, graph, rng), draws=399) for _ in range(60)]
    assert np.mean([one.to_frame()["beyond_degree"].any() for one in found]) <= 0.08


def test_free_p_is_uniform_for_heavy_tails_and_spikes():
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(12, 15, periodic=True))
    rng = np.random.default_rng(12)
    values = np.concatenate([rng.standard_cauchy(size=(180, 300)), np.zeros((180, 300))], axis=1)
    for column in range(300, 600):
        values[rng.choice(180, 10, replace=False), column] = rng.choice([-1.0, 1.0], 10)
    found = st.correlogram(graph, values, hops=1, columns="separate", given=None)
    p = found["p"].values[:, 0]
    for some in (p[:300], p[300:]):
        for level in (0.05, 0.01):
            allowed = level + 3 * np.sqrt(level * (1 - level) / 300)
            assert np.mean(some <= level) <= allowed
    assert (found["q"].values > 0.01).all()


def test_scale_of_a_large_graph_is_described_without_p():
    """Above 4,000 nodes the shares come from quadrature: within .03 of those of a dense solve, and without a test."""
    graph = regular_graph(4, 4_100, seed=2)
    adjacency = nx.to_scipy_sparse_array(graph, nodelist=sorted(graph))
    signal = np.random.default_rng(0).normal(size=4_100)
    signal = signal + (adjacency @ signal) / 2
    found = st.diagnose(st.Stratification(graph, 1), dict(zip(sorted(graph), signal, strict=True)), draws=99)
    frame = found.to_frame().set_index("statistic")
    # The energy of white noise after I + A/2 is (1 + mu/2)^2 over the Kesten-McKay density of the eigenvalues mu.
    mu = np.linspace(-2 * np.sqrt(3), 2 * np.sqrt(3), 400_001)
    density = 4 * np.sqrt(np.maximum(12 - mu**2, 0)) / (16 - mu**2)
    energy, count = np.cumsum(density * (1 + mu / 2) ** 2), np.cumsum(density)
    ends = [np.interp(share, count / count[-1], energy / energy[-1]) for share in (0.25, 0.75)]
    assert frame.loc["smooth", "value"] == pytest.approx(1 - ends[1], abs=0.03)
    assert frame.loc["rough", "value"] == pytest.approx(ends[0], abs=0.03)
    assert frame.loc[["smooth", "rough"], "p"].isna().all()
    assert set(frame.loc[["smooth", "rough"], "kind"]) == {"described"}
    assert "not tested above 4,000 nodes" in str(found)
    assert max(map(len, str(found).splitlines())) <= 80


def test_p_of_a_column_depends_on_the_table_only_above_twenty_columns():
    graph, values = nx.cycle_graph(60), np.random.default_rng(2).normal(size=(60, 21))
    p = [st.correlogram(graph, values[:, :many], hops=1, columns="separate")["p"].values[:2, 0] for many in (2, 20, 21)]
    np.testing.assert_array_equal(p[0], p[1])
    assert (p[0] != p[2]).any()
    for page in (st.correlogram.__doc__, (DOCS / "architecture.md").read_text(encoding="utf-8")):
        assert "above 20 columns" in page


def test_a_share_below_chance_is_of_the_kind_chance_and_the_texts_say_so():
    found = st.diagnose(nx.karate_club_graph(), "club", hops=1, weights=False)
    rough = next(one for one in found if one.statistic == "rough")
    assert (rough.kind, rough.p_family <= 0.05) == ("chance", True)
    assert "the signal is less rough than chance" in rough.text
    assert "less rough than chance" in type(rough).__doc__
    assert "less rough" in (DOCS / "reading.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("graph", [nx.star_graph(60), nx.complete_bipartite_graph(3, 80)])
def test_where_degree_fixes_r_given_the_table_says_so(graph):
    values = np.random.default_rng(0).normal(size=len(graph))
    found = st.correlogram(graph, values, hops=1)
    assert float(found["p_given"][0]) == 1
    assert found["status"].item().startswith("r given is the same in every order")
    said = " ".join(str(st.diagnose(graph, values, hops=1)).split())
    assert "degree alone fixes it, and no test can reject" in said
    assert "alone fixes" not in str(st.diagnose(nx.path_graph(60), values[:60], hops=1))


def test_a_clear_column_of_a_table_is_not_lost_to_few_orders():
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(20, 20))
    rng = np.random.default_rng(0)
    values = rng.normal(size=(400, 14))
    values[:, 3] += 1.2 * (np.indices((20, 20)).sum(axis=0).ravel() % 2)
    found = (
        st.diagnose(graph, values, hops=[1], columns="separate").to_frame().query("statistic == 'r' and column == 3")
    )
    more = st.diagnose(graph, values, hops=[1], columns="separate", draws=9_999).to_frame()
    assert found["verdict"].item() == "unlike"
    assert not found["near_level"].item()
    same = more.query("statistic == 'r' and column == 3")
    assert same["verdict"].item() == "unlike"
    np.testing.assert_allclose(found["p_family"].item(), same["p_family"].item(), atol=0.02)
