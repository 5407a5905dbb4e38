"""Homophily per hop: definitions by brute force, moments by enumeration of all orders, known values."""

import itertools
import json
import re
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import spectrata as st
from commanding import run
from spectrata.core.strata import Stratum
from spectrata.stats.labels import _hop_cells, share_moments
from spectrata.stats.moments import signal_moments

DATA = Path(__file__).parents[2] / "shared" / "data"
MEASURES = ["edge", "node", "class", "adjusted"]


def brute(pairs, labels):
    """The four measures and the share of every class, from their definitions; ``pairs``: (x, y, weight)."""
    pairs = [(x, y, w) for x, y, w in pairs if labels[x] is not None and labels[y] is not None]
    known = [label for label in labels if label is not None]
    classes = sorted(set(known))
    total = sum(w for _, _, w in pairs)
    edge = sum(w for x, y, w in pairs if labels[x] == labels[y]) / total
    around = {x: {} for x in range(len(labels))}
    for x, y, w in pairs:
        around[x][y] = around[y][x] = w
    shares = [
        sum(w for y, w in near.items() if labels[y] == labels[x]) / sum(near.values())
        for x, near in around.items()
        if near
    ]
    degree = {x: sum(near.values()) for x, near in around.items()}
    by_class, excess, by_degree = {}, 0.0, 0.0
    for c in classes:
        own = sum(degree[x] for x in around if labels[x] == c)
        same = sum(w for x in around if labels[x] == c for y, w in around[x].items() if labels[y] == c)
        by_class[c] = same / own if own else np.nan
        excess += max(0.0, (same / own if own else 0.0) - known.count(c) / len(known))
        by_degree += (own / (2 * total)) ** 2
    adjusted = (edge - by_degree) / (1 - by_degree) if by_degree < 1 else np.nan
    return [edge, sum(shares) / len(shares), excess / (len(classes) - 1), adjusted], by_class


def pairs_at(graph, hop, weighted=False):
    distance = dict(nx.all_pairs_shortest_path_length(graph))
    nodes = list(graph)
    found = [(i, j) for i in range(len(nodes)) for j in range(i) if distance[nodes[i]].get(nodes[j]) == hop]
    weight = [graph[nodes[i]][nodes[j]]["weight"] if weighted else 1.0 for i, j in found]
    return [(i, j, w) for (i, j), w in zip(found, weight, strict=True)]


def orders(labels):
    """All distinct orders of the labels that are there; None stay where they are."""
    rows = [i for i, label in enumerate(labels) if label is not None]
    for order in itertools.permutations([labels[i] for i in rows]):
        out = list(labels)
        for row, label in zip(rows, order, strict=True):
            out[row] = label
        yield out


def weighted_graph(seed=0, n=7):
    graph = nx.gnp_random_graph(n, 0.5, seed=seed)
    rng = np.random.default_rng(seed)
    for edge in graph.edges.values():
        edge["weight"] = float(rng.uniform(0.2, 3))
    return graph


LABELS = {
    "two classes": ["a", "b", "a", "b", "b", "a", "a"],
    "one alone": ["a", "a", "a", "a", "a", "a", "b"],
    "three, some missing": ["c", None, "b", "b", "c", "a", None],
}


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_values_and_moments_are_those_of_the_definitions(labels, weights):
    graph = weighted_graph()
    graph.remove_edges_from(list(graph.edges(6)))  # a singleton
    found = st.homophily(graph, labels, hops=[1], weights="weight" if weights else False, draws=0)
    pairs = pairs_at(graph, 1, weights)
    values, by_class = brute(pairs, labels)
    np.testing.assert_allclose(found["homophily"].sel(hop=1), values, atol=1e-12)
    np.testing.assert_allclose(found["class_homophily"].sel(hop=1), list(by_class.values()), atol=1e-12)
    drawn = np.array([brute(pairs, order)[0][:2] for order in orders(labels)])
    exact = found.sel(hop=1, measure=["edge", "node"])
    np.testing.assert_allclose(exact["expected"], drawn.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(exact["std"], drawn.std(axis=0), atol=1e-9)
    np.testing.assert_allclose(exact["z"], (exact["homophily"] - exact["expected"]) / exact["std"], atol=1e-9)
    assert np.isnan(found["p"]).all()
    assert np.isnan(found["z"].sel(measure=["class", "adjusted"])).all()


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_draws_agree_with_the_enumeration_of_all_orders(labels):
    graph = nx.path_graph(7)
    found = st.homophily(graph, labels, hops=[2], draws=4000, seed=3).sel(hop=2)
    pairs = pairs_at(graph, 2)
    (observed, own), every = brute(pairs, labels), [brute(pairs, order) for order in orders(labels)]
    drawn = np.array([one[0] for one in every])
    assert float(found["homophily"].sel(measure="adjusted")) == pytest.approx(observed[3], nan_ok=True)
    for at, measure in enumerate(MEASURES):
        null = drawn[:, at][~np.isnan(drawn[:, at])]
        cell = found.sel(measure=measure)
        reach = 5 * null.std() / np.sqrt(4000) + 1e-12
        assert float(cell["expected"]) == pytest.approx(null.mean(), abs=reach)
        assert float(cell["std"]) == pytest.approx(null.std(), rel=0.1, abs=1e-9)
        if not np.isnan(observed[at]):
            tails = (null >= observed[at] - 1e-9).mean(), (null <= observed[at] + 1e-9).mean()
            assert float(cell["p"]) == pytest.approx(min(1, 2 * min(tails)), abs=0.05)
    for label, value in own.items():
        null = np.array([one[1][label] for one in every])
        null = null[~np.isnan(null)]
        cell = found.sel(label=label)
        assert float(cell["class_homophily"]) == pytest.approx(value, nan_ok=True)
        assert float(cell["class_expected"]) == pytest.approx(null.mean(), abs=5 * null.std() / 60 + 1e-12)


def test_hops_are_measured_by_themselves_with_the_same_orders():
    graph = nx.connected_watts_strogatz_graph(30, 4, 0.2, seed=1)
    labels = np.arange(30) // 10
    whole = st.homophily(graph, labels, hops=4, draws=99, seed=5)
    for hop in whole["hop"].values.tolist():
        values, _ = brute(pairs_at(graph, hop), labels.tolist())
        np.testing.assert_allclose(whole["homophily"].sel(hop=hop), values, atol=1e-12)
        one = st.homophily(graph, labels, hops=[hop], draws=99, seed=5)
        np.testing.assert_array_equal(whole["p"].sel(hop=[hop]), one["p"])
        assert int(whole["n_pairs"].sel(hop=hop)) == len(pairs_at(graph, hop))
    strat = st.Stratification(graph, hops=4)
    np.testing.assert_array_equal(st.homophily(strat, labels, draws=99, seed=5)["p"], whole["p"])


def test_the_order_of_nodes_and_the_names_of_classes_do_not_matter():
    graph = weighted_graph(3, 12)
    labels = {node: "xyz"[node % 3] for node in graph}
    turned = nx.Graph()
    turned.add_nodes_from(reversed(list(graph)))
    turned.add_edges_from(graph.edges(data=True))
    renamed = {node: "ABC"["zyx".index(label)] for node, label in labels.items()}
    plain = st.homophily(graph, labels, weights="weight", draws=0)
    for other in (st.homophily(turned, renamed, weights="weight", draws=0),):
        for name in ("homophily", "expected", "std", "z"):
            np.testing.assert_allclose(other[name], plain[name], atol=1e-10, err_msg=name)
        np.testing.assert_allclose(other["class_homophily"].values[:, ::-1], plain["class_homophily"], atol=1e-12)


@pytest.mark.parametrize(
    ("laplacian", "self_loops"), [("combinatorial", False), ("random_walk", True), ("normalized", False)]
)
def test_the_label_spectrum_is_the_gft_of_one_hot_labels(laplacian, self_loops):
    graph = nx.disjoint_union(nx.cycle_graph(8), nx.path_graph(5))
    labels = np.array([0, 1, 2, 0, 1, 1, 2, 0, 0, 2, 2, 1, 0])
    found = st.homophily(graph, labels, hops=2, draws=0, laplacian=laplacian, self_loops=self_loops)
    options = {"laplacian": laplacian, "self_loops": self_loops, "metric": "euclidean"}
    ruled = st.calibrate(st.Stratification(graph, 2), np.eye(3)[labels], draws=0, algorithms="gft", **options).loc[
        {"algorithm": "gft"}
    ]
    np.testing.assert_allclose(found["label_energy"], ruled["magnitude"] ** 2, atol=1e-12)
    np.testing.assert_allclose(found["label_energy_expected"], ruled["null_energy"], atol=1e-12)
    np.testing.assert_allclose(found["label_energy_std"], ruled["null_std"], atol=1e-9)
    np.testing.assert_allclose(found["eigenvalue"], ruled["eigenvalue"], atol=1e-12)


def test_the_label_spectrum_is_that_of_the_labelled_nodes():
    graph = nx.path_graph(8)
    labels = ["a", "b", "b", None, "a", "a", "b", "a"]  # two paths of three and four nodes remain
    found = st.homophily(graph, labels, hops=[1], draws=0).sel(hop=1)
    rest = graph.subgraph([node for node in graph if labels[node]])
    lam, u = np.linalg.eigh(nx.laplacian_matrix(rest).toarray().astype(float))
    spaces = [np.flatnonzero(abs(lam - value) < 1e-9) for value in found["eigenvalue"].values]
    assert [len(space) for space in spaces] == found["multiplicity"].values.tolist()
    kept = [label for label in labels if label]

    def energies(labels):
        signal = np.array([[label == "a", label == "b"] for label in labels], float)
        return [np.sum((u[:, space].T @ signal) ** 2) for space in spaces]

    drawn = np.array([energies(order) for order in itertools.permutations(kept)])
    np.testing.assert_allclose(found["label_energy"], energies(kept), atol=1e-12)
    np.testing.assert_allclose(found["label_energy_expected"], drawn.mean(axis=0), atol=1e-10)
    np.testing.assert_allclose(found["label_energy_std"], drawn.std(axis=0), atol=1e-7)


def test_the_spectrum_is_computed_when_small_or_asked_for():
    small, large = nx.cycle_graph(20), nx.cycle_graph(501)
    assert "label_energy" in st.homophily(small, [0, 1] * 10, hops=1, draws=9)
    assert "label_energy" not in st.homophily(small, [0, 1] * 10, hops=1, draws=9, spectrum=False)
    labels = [0, *[0, 1] * 250]
    assert "label_energy" not in st.homophily(large, labels, hops=1, draws=9)
    assert "label_energy" in st.homophily(large, labels, hops=1, draws=0, spectrum=True)


def test_a_hop_without_labelled_pairs_is_undefined():
    found = st.homophily(nx.path_graph(4), ["a", "b", None, None], draws=9)
    assert found["status"].values.tolist() == ["ok", *["undefined: no pair of labelled nodes"] * 2]
    assert np.isnan(found["homophily"].sel(hop=[2, 3])).all()
    assert found["n_pairs"].values.tolist() == [1, 0, 0]
    assert (found.attrs["n_labelled"], found.attrs["n_missing"]) == (2, 2)


def test_random_labels_are_found_at_the_nominal_rate():
    graph = nx.connected_watts_strogatz_graph(24, 4, 0.2, seed=1)
    strat = st.Stratification(graph, hops=1)
    rng = np.random.default_rng(0)
    p = np.array(
        [st.homophily(strat, rng.integers(3, size=24), draws=39, seed=i, spectrum=False)["p"][0] for i in range(200)]
    )
    assert ((p <= 0.05).mean(axis=0) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)).all()


def test_moments_of_labels_agree_with_those_of_their_one_hot_rows():
    sizes = np.array([5, 3, 1, 1])
    one_hot = np.eye(4)[np.repeat(np.arange(4), sizes)][None]
    form = signal_moments(one_hot).form
    edges, weights = np.array([[0, 1], [1, 2], [2, 0], [5, 9]]), np.full(4, 0.25)
    laplacian = np.zeros((10, 10))
    for (x, y), w in zip(edges, weights, strict=True):
        laplacian[[x, y, x, y], [x, y, y, x]] += [w, w, -w, -w]
    from spectrata.stats.moments import Invariants, mean_and_variance

    parts = np.trace(laplacian), np.sum(laplacian**2), np.sum(np.diag(laplacian) ** 2)
    mean, variance = mean_and_variance(Invariants(*map(np.array, parts)), form, 10)
    found = share_moments(edges, weights, sizes)
    np.testing.assert_allclose(found, [1 - mean.item() / 2, np.sqrt(variance.item()) / 2])


@pytest.mark.parametrize("n", [40, 2000])
def test_moments_of_all_pairs_but_one(n):
    """The share over all other pairs changes as the one pair left out does: z of both are opposite."""
    edges = np.column_stack(np.triu_indices(n, 1))[1:]  # without the pair of the nodes 0 and 1
    sizes = np.array([n // 2, n - n // 2 - 3, 3])
    equal, pairs = np.sum(sizes * (sizes - 1)) / (n * (n - 1)), n * (n - 1) // 2
    found = share_moments(edges, np.ones(len(edges)), sizes)
    np.testing.assert_allclose(found, [equal, np.sqrt(equal * (1 - equal)) / (pairs - 1)], rtol=1e-6)
    labels = np.repeat([0, 1, 2], sizes)
    observed = (np.sum(sizes * (sizes - 1)) // 2 - 1) / (pairs - 1)  # the nodes 0 and 1 are of one class
    cells = _hop_cells(Stratum(1, n, edges), labels, sizes, 0, 0)
    assert cells["homophily"][0] == pytest.approx(observed, rel=1e-15)
    assert cells["z"][0] == pytest.approx(-(1 - equal) / np.sqrt(equal * (1 - equal)), rel=1e-6)


def test_what_is_undefined_has_a_status():
    labels = ["a"] * 33 + ["b"]  # at five hops no pair has the last node
    found = st.homophily(nx.karate_club_graph(), labels, hops=[1, 5], weights=False, draws=0, spectrum=False)
    assert found["status"].values.tolist() == [
        "ok",
        "adjusted is undefined: every pair joins two nodes of one class; "
        "class_homophily is undefined for classes without a pair",
    ]
    assert np.isnan(found["homophily"].sel(hop=5, measure="adjusted"))
    assert found["class_homophily"].sel(hop=5).isnull().values.tolist() == [False, True]
    assert np.isnan(found.attrs["p_floor"])  # no draws, no p


# Two digits, as remembered from Platonov et al. 2023; not yet compared with the printed tables. The oracle of this test
# is the brute force beside them.
KNOWN = {
    "cora": {"edge": 0.81, "node": 0.83, "class": 0.77, "adjusted": 0.77},
    "chameleon_filtered": {"edge": 0.24, "adjusted": 0.03},
    "actor": {"edge": 0.22, "adjusted": 0.00},
    "minesweeper": {"edge": 0.68, "adjusted": 0.01},
}


@pytest.mark.parametrize("name", [*KNOWN, "wisconsin"])
def test_known_values(name):
    path = DATA / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"needs ../shared/data/{name}.npz")
    with np.load(path) as data:
        edges, labels, n = data["edges"], data["labels"], int(data["n_nodes"])
    simple = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)
    from spectrata.core.strata import Stratum
    from spectrata.stats.labels import Counting

    sizes = np.bincount(labels)
    values = Counting(Stratum(1, n, simple), len(sizes)).measures(labels[None], sizes)[0][:4]
    expected, _ = brute([(x, y, 1.0) for x, y in simple.tolist()], labels.tolist())
    np.testing.assert_allclose(values, expected, atol=1e-12)
    for measure, value in KNOWN.get(name, {}).items():
        assert round(values[MEASURES.index(measure)], 2) == pytest.approx(value), measure


# ---- what is refused, and the command line


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a"] * 5, "All labels are 'a'"),
        (["a", "b"], "2 labels, but the graph has 5 nodes"),
        ([None] * 5, "No node has a label"),
        ([0.5, 1, 1, 0, 0], r"row 0 is 0\.5.*classes"),
        ({9: "a", 0: "b"}, "1 names of the labels are not in the graph"),
        (np.eye(5), r"argmax\(axis=1\)"),
        ([1, "1", 1, 1, 1], "same text"),
        ([("a",), "b", "a", "a", "b"], "row 0 is an object of type builtins.tuple"),
        (3, "Cannot read an object of type builtins.int"),
    ],
)
def test_bad_labels_are_refused_in_one_sentence(labels, message):
    with pytest.raises(st.InputError, match=message):
        st.homophily(nx.path_graph(5), labels)


def test_text_given_as_a_signal_names_homophily():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, dict(enumerate("aba")), "club")
    given = [
        "club", ["a", "b", "a"], dict(enumerate("aba")), np.array(["a", "b", "a"]), pd.Series(["a", "b", "a"]),
        pd.Series(["a", "b", "a"], dtype="category"), [None, "b", "a"],
    ]  # fmt: skip
    for signal in given:
        with pytest.raises(st.InputError, match=r"st\.homophily"):
            st.spectra(graph, signal)


@pytest.fixture
def club(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    graph = nx.karate_club_graph()
    nx.write_graphml(graph, "karate.graphml")
    rows = [f"{node},{kind}" for node, kind in graph.nodes(data="club")]
    Path("club.csv").write_text("node,club\n" + "\n".join(rows))
    return graph


def test_the_table_fits_80_columns(club):
    found = run("homophily", "karate.graphml", "club.csv", "--weights", "false", "--draws", "99")
    assert found.exit_code == 0, found.output
    lines = found.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    row = next(line.split() for line in lines if re.match(r"\s*1\s+78\s+edge", line))
    assert row == ["1", "78", "edge", "0.859", "0.485", "7.9", "<=", "0.02"]


def test_json_holds_what_the_function_gives(club):
    found = run("homophily", "karate.graphml", "club", "--weights", "false", "--draws", "99", "--hops", "2", "--json")
    document = json.loads(found.stdout)
    direct = st.homophily(club, "club", weights=False, draws=99, hops=2)
    for row in document["hops"]:
        for measure, cell in row["measures"].items():
            for name, value in cell.items():
                assert value == pytest.approx(float(direct[name].sel(hop=row["hop"], measure=measure)))
    assert document["classes"] == {"Mr. Hi": 17, "Officer": 17}


def test_missing_values_can_be_named(club):
    labels = [(-1 if i < 5 else i % 2) for i in range(34)]
    np.save("labels.npy", labels)
    found = run("homophily", "karate.graphml", "labels.npy", "--missing", "-1", "--hops", "1", "--draws", "9", "--json")
    assert json.loads(found.stdout)["n_missing"] == 5
    assert st.homophily(club, labels, hops=1, draws=9, weights=False).attrs["n_missing"] == 0
    missing = run("homophily", "karate.graphml", "nowhere.csv", "--weights", "false")
    assert (missing.exit_code, missing.stderr.startswith("error: ")) == (2, True)
