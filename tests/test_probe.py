"""The probe: its views, scores and verdicts, against scikit-learn, closed forms and public graphs."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import spectrata as st
from having import shared
from spectrata.inputs.graphs import as_graph
from spectrata.stats.cross_validation import Target, corrected_error, cross_validate, roc_auc
from spectrata.stats.nulls.surrogates import swap_edges
from spectrata.stats.views import VIEWS, Neighbourhood, make_view

pytestmark = pytest.mark.needs("sklearn")
# Best view, its AUC and that of the features alone, as the design states them.
PUBLIC = {
    "cora": ("S^4 x", 0.95, 0.82, "neighbours help"),
    "minesweeper": ("x beside 2 hops", 0.90, 0.50, "neighbours help"),
    "chameleon_filtered": (None, 0.64, 0.59, "neighbours help"),
    "actor": ("features alone", 0.68, 0.68, "no gain found"),
    "wisconsin": ("x beside x - S x", 0.84, 0.82, "too few training nodes"),
}


def clubs(seed=0, mixing=0.02, noise=2.0, size=60):
    """Two communities whose features tell them apart poorly."""
    graph = nx.planted_partition_graph(2, size, 0.2, mixing, seed=seed)
    labels = np.repeat([0, 1], size)
    features = labels[:, None] + np.random.default_rng(seed).normal(0, noise, (2 * size, 3))
    return graph, features, labels


def test_views_against_dense_matrices():
    graph = nx.gnp_random_graph(20, 0.15, seed=1)
    graph.add_node(20)
    x = np.random.default_rng(0).normal(size=(21, 3))
    w = nx.to_numpy_array(graph)
    looped = w + np.eye(21)
    s = looped / np.sqrt(np.outer(looped.sum(0), looped.sum(0)))
    mean = w / np.maximum(w.sum(1), 1)[:, None]
    away = dict(nx.all_pairs_shortest_path_length(graph))
    two = np.array([[away[a].get(b) == 2 for b in graph] for a in graph], float)
    wanted = {
        "features alone": x,
        "S x": s @ x,
        "S^2 x": s @ s @ x,
        "S^4 x": np.linalg.matrix_power(s, 4) @ x,
        "x beside neighbours": np.hstack([x, mean @ x]),
        "x beside 2 hops": np.hstack([x, mean @ x, mean @ mean @ x]),
        "x beside x - S x": np.hstack([x, x - s @ x]),
        "mean at exactly 2 hops": two / np.maximum(two.sum(1), 1)[:, None] @ x,
    }
    near = Neighbourhood(as_graph(graph))
    assert list(wanted) == list(VIEWS)
    for name, values in wanted.items():
        np.testing.assert_allclose(make_view(near, x, name), values, atol=1e-12)


def test_scores_against_scikit_learn():
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.metrics import r2_score, roc_auc_score
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(3)
    x, classes = rng.normal(size=(150, 4)), rng.integers(3, size=150)
    x[:, 0] += classes
    train, test = np.arange(150) < 100, np.arange(150) >= 100
    scale = StandardScaler().fit(x[train])
    model = LogisticRegression(C=0.05, max_iter=200).fit(scale.transform(x[train]), classes[train])
    chance = model.predict_proba(scale.transform(x[test]))
    ((auc, accuracy),) = Target(classes, (0, 1, 2)).scores(x, train, test)
    assert auc == pytest.approx(roc_auc_score(classes[test], chance, multi_class="ovr"), abs=1e-9)
    assert accuracy == np.mean(chance.argmax(1) == classes[test])
    numbers = x @ [1.0, 2.0, 0.0, 0.0] + rng.normal(size=150)
    ridge = Ridge(alpha=20).fit(scale.transform(x[train]), numbers[train])
    ((found, _),) = Target(numbers, None).scores(x, train, test)
    assert found == pytest.approx(r2_score(numbers[test], ridge.predict(scale.transform(x[test]))))
    assert np.isnan(roc_auc(chance[:2], model.classes_, np.array([1, 1])))


def test_the_choice_inside_the_folds_by_hand():
    """The inner scores of fold f use models that saw neither f nor the inner fold."""
    rng = np.random.default_rng(1)
    target = Target(rng.integers(2, size=60), (0, 1))
    views = {name: rng.normal(size=(60, 2)) for name in "abc"}
    fold = target.folds(rng)
    found = cross_validate(views, target, fold[None])
    for f in range(5):
        inner = [
            np.mean([target.scores(x, (fold != f) & (fold != g), fold == g)[0][0] for g in range(5) if g != f])
            for x in views.values()
        ]
        assert found.chosen[f] == np.argmax(inner)
        assert found.of_choice[f] == found.score[np.argmax(inner), f]
    sizes = np.bincount(fold * 2 + target.values).reshape(5, 2)
    assert (np.ptp(sizes, axis=0) <= 1).all()
    assert np.ptp(sizes.sum(axis=1)) <= 1


def test_the_corrected_error():
    values = np.array([0.7, 0.8, 0.75, 0.9, 0.85] * 2)
    naive = values.std(ddof=1) / np.sqrt(10)
    assert corrected_error(values) == pytest.approx(naive * np.sqrt(10 * (1 / 10 + 1 / 4)))


def test_rewiring_keeps_degrees_and_makes_simple_graphs():
    graph = nx.barabasi_albert_graph(300, 3, seed=0)
    edges = np.array(graph.edges)
    swapped = swap_edges(edges, 300, np.random.default_rng(0))
    np.testing.assert_array_equal(np.bincount(swapped.ravel()), np.bincount(edges.ravel()))
    assert (swapped[:, 0] != swapped[:, 1]).all()
    known = {frozenset(edge) for edge in swapped.tolist()}
    assert len(known) == len(edges)
    assert len(known & {frozenset(edge) for edge in edges.tolist()}) < 0.2 * len(edges)


def test_neighbours_help_where_they_do():
    graph, features, labels = clubs()
    found = st.probe(graph, features, labels, repeats=2)
    assert found.verdict == "neighbours help"
    assert found.headline.startswith("Neighbours help: features ")
    assert found.gain > found.rewired.max() - found.alone.mean()
    table = found.to_frame()
    assert table.columns.tolist() == ["view", "score", "error", "rewired", "gain"]
    assert table["rewired"].notna().sum() == 1
    assert table["view"].tolist() == list(VIEWS)
    assert "features alone" in str(found)
    assert found._repr_html_().count("<tr") == 9
    assert str(st.probe(graph, features, labels, repeats=2)) == str(found)


def test_no_gain_where_the_graph_does_not_matter():
    graph, features, labels = clubs(noise=0.7)
    verdicts = []
    for seed in range(10):
        edges = swap_edges(np.array(graph.edges), 120, np.random.default_rng(seed))
        verdicts.append(st.probe(edges, features, labels, views=["S x", "x beside neighbours"], repeats=1).verdict)
    assert verdicts.count("no gain found") >= 9


class Poison:
    """A label that must not be read, once it is armed; making an array of it asks for its type."""

    armed = False

    def __getattribute__(self, name):
        if Poison.armed:
            raise AssertionError("a label outside the training nodes was read")
        return object.__getattribute__(self, name)


@pytest.mark.parametrize("kind", [list, np.array, dict, pd.Series])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_labels_outside_train_are_never_read(kind, task, monkeypatch):
    graph, features, labels = clubs()
    train = np.arange(0, 120, 2)
    clean = [float(v) + 0.25 * (i % 3) if task == "regression" else int(v) for i, v in enumerate(labels)]
    poisoned = [value if i % 2 == 0 else Poison() for i, value in enumerate(clean)]

    def given(values):
        if kind is dict:
            return dict(enumerate(values))
        if kind is np.array:
            array = np.empty(len(values), dtype=object)
            array[:] = values
            return array
        return kind(values) if kind is list else pd.Series(values, dtype=object)

    both = given(clean), given(poisoned)
    monkeypatch.setattr(Poison, "armed", True)
    one, two = (st.probe(graph, features, each, train=train, views=["S x"], repeats=1, rewired=1) for each in both)
    assert str(one) == str(two)
    assert one.target.classes == (None if task == "regression" else (0, 1))
    mask = np.zeros(120, bool)
    mask[train] = True
    assert str(st.probe(graph, features, clean, train=mask, views=["S x"], repeats=1, rewired=1)) == str(one)


def test_regression_has_r2():
    graph, _, _ = clubs(size=80)
    rng = np.random.default_rng(0)
    features = rng.normal(size=(160, 4))
    target = Neighbourhood(as_graph(graph)).mean @ features[:, 0] * 5 + rng.normal(0, 0.3, 160)
    found = st.probe(graph, features, target, repeats=1)
    assert found.target.score_name == "R2"
    assert found.verdict == "neighbours help"
    assert found.best in ("x beside neighbours", "x beside 2 hops")
    assert "R2" in str(found)


def test_sparse_features_and_many_columns():
    graph, features, labels = clubs()
    wide = np.hstack([features, np.random.default_rng(0).normal(size=(120, 5))])
    dense, sparse = (st.probe(graph, x, labels, views="S x", repeats=1) for x in (wide, sp.csr_matrix(wide)))
    assert str(dense) == str(sparse)
    with pytest.raises(st.InputError, match="119 rows"):
        st.probe(graph, sp.csr_matrix(wide[1:]), labels)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"train": [0, 1]}, "2 training nodes have a label"),
        ({"train": ["x"] * 20}, "not a node"),
        ({"train": np.ones(7, bool)}, "mask of shape"),
        ({"views": ["S^9 x"]}, "the views are"),
        ({"task": "ranking"}, "task="),
        ({"labels": np.zeros(120, int)}, "one class"),
        ({"labels": np.full(120, 0.5)}, "one number"),
        ({"labels": [0, 1, *[None] * 118]}, "2 training nodes have a label"),
        ({"labels": ["a"] * 60 + ["b"] * 60, "task": "regression"}, "needs numbers"),
        ({"labels": [None] + [0, 1] * 59 + [0], "train": range(40)}, "has no label"),
        ({"features": np.zeros((2, 120, 3))}, "snapshots"),
    ],
)
def test_bad_input(change, words):
    graph, features, labels = clubs()
    with pytest.raises(st.InputError, match=words):
        st.probe(**{"graph": graph, "features": features, "labels": labels} | change)


def test_few_training_nodes_get_no_headline():
    graph, features, labels = clubs()
    found = st.probe(graph, features, labels, train=[*range(7), *range(60, 70)], repeats=1, rewired=1)
    assert found.verdict == "too few training nodes"
    assert "smallest class has 7" in found.headline
    table = found.to_frame()
    assert found.headline.endswith(f"Highest in the table: {table['view'][table['score'].idxmax()]}.")
    single = st.probe(graph, features, [*["a"] * (len(labels) - 1), "b"], repeats=1, rewired=1)
    assert "has 1 training node," in single.headline
    assert "Highest" not in single.headline
    assert "nan" not in str(single)


@pytest.mark.parametrize(
    ("scores", "best"),
    [
        ({"features alone": 0.5, "S x": 0.8, "mean at exactly 2 hops": 0.805}, "S x"),  # within its error: the simpler
        ({"features alone": 0.5, "S x": 0.8, "mean at exactly 2 hops": 0.9}, "mean at exactly 2 hops"),
        ({"features alone": 0.5, "S x": 0.8, "S^4 x": 0.81, "x beside neighbours": 0.815}, "S^4 x"),  # of one family
    ],
)
def test_the_simplest_family_within_an_error_of_the_best_is_named(scores, best):
    from spectrata.stats.cross_validation import Scores
    from spectrata.stats.verbs.probe import _chosen

    noise = 0.02 * np.array([[1, -1, 1, -1, 0.0], [-1, 1, 0, 1, -1], [0, 1, -1, 1, -1], [1, 0, -1, -1, 1]])
    table = np.array(list(scores.values()))[:, None] + noise[: len(scores)]
    found = Scores(table, table, np.zeros(5, dtype=int))
    assert _chosen(tuple(scores), found) == best


@pytest.mark.long
@pytest.mark.parametrize("name", PUBLIC)
def test_public_graphs(name):
    view, best, alone, verdict = PUBLIC[name]
    with np.load(shared(f"{name}.npz")) as d:
        sparse = (d["features_data"], d["features_indices"], d["features_indptr"])
        features = sp.csr_matrix(sparse, shape=tuple(d["features_shape"]))
        strat = st.Stratification(edges=d["edges"], n_nodes=int(d["n_nodes"]), hops=[1])
        labels = np.where(np.isin(np.arange(len(d["labels"])), d["train"]), d["labels"], 99)
        found = st.probe(
            strat, features, labels, train=d["train"], repeats=5 if name == "chameleon_filtered" else 1, rewired=2
        )
    table = found.to_frame().set_index("view")["score"]
    assert found.verdict == verdict
    assert view is None or table[view] > table.max() - 0.01
    assert table.max() == pytest.approx(best, abs=0.025)
    assert table["features alone"] == pytest.approx(alone, abs=0.025)


# ---- views as transformers


def test_the_transformer_passes_scikit_learns_checks():
    from sklearn.utils.estimator_checks import check_estimator

    from spectrata.sklearn import SpectralViews

    check_estimator(SpectralViews(), on_skip=None)


def test_transformers_share_the_views():
    torch = pytest.importorskip("torch")
    from torch_geometric.data import Data

    from spectrata.sklearn import SpectralViews

    graph, features, _ = clubs()
    names = ["S x", "x beside neighbours"]
    near = Neighbourhood(as_graph(graph))
    wanted = np.hstack([make_view(near, features, name) for name in names])
    views = SpectralViews(graph, names).fit(features)
    np.testing.assert_allclose(views.transform(features), wanted)
    assert views.get_feature_names_out()[0] == "x0 (S x)"
    assert len(views.get_feature_names_out()) == wanted.shape[1]
    with pytest.raises(st.InputError, match="transform all nodes"):
        views.transform(features[:5])
    both = np.concatenate([np.array(graph.edges), np.array(graph.edges)[:, ::-1]]).T
    data = Data(x=torch.tensor(features), edge_index=torch.tensor(both))
    np.testing.assert_allclose(st.torch.SpectralViews(names, attr="seen")(data).seen.numpy(), wanted)


def test_no_view_is_called_worse_than_it_may_be():
    """A view may stand above the features alone in the table; the test alone says that this is not shown."""
    rng = np.random.default_rng(3)
    graph = nx.planted_partition_graph(2, 35, 0.14, 0.09, seed=3)
    found = st.probe(graph, rng.normal(size=(70, 3)), np.repeat([0, 1], 35))
    assert found.to_frame()["gain"].max() > 0.1
    assert found.headline.endswith("and no view is shown to add to it.")


def test_the_best_of_a_probe_is_no_highest_score():
    labels = np.repeat([0, 1], 60)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        features = labels[:, None] + rng.normal(0, 0.9, (120, 3))
        found = st.probe(nx.gnp_random_graph(120, 0.05, seed=seed), features, labels)
        if found.best == "features alone" and found.to_frame()["gain"].max() > 0:
            break
    assert "and no view is shown to do better." in found.headline
    assert "best" not in found.headline


def test_the_gain_left_on_rewired_graphs_is_a_number():
    found = st.probe(*clubs())
    assert found.verdict == "neighbours help"
    for most, words in ((-0.1, "no gain is left."), (0.05, "the gain is at most +0.05.")):
        rewired = replace(found, rewired=np.full(5, found.alone.mean() + most))
        assert f"on rewired graphs {words}" in rewired.headline


def test_minus_one_as_a_class_is_named_and_train_may_be_an_attribute():
    graph, features, labels = clubs()
    marked = np.where(np.arange(len(labels)) < 20, -1, labels)
    how = {"views": ["S x"], "repeats": 1, "rewired": 1}
    found = st.probe(graph, features, marked, **how)
    assert "-1 is a class of 20 nodes; give train=" in found.notes[0]
    assert found.explain() == str(found)
    nx.set_node_attributes(graph, {node: bool(mark >= 0) for node, mark in zip(graph, marked, strict=True)}, "known")
    named = st.probe(graph, features, marked, train="known", **how)
    assert "-1" not in str(named.notes)
    assert str(named) == str(st.probe(graph, features, marked, train=marked >= 0, **how))
    assert "-1" not in str(st.probe(graph, features, 2 * labels - 1, **how).notes)  # two classes, -1 and 1
    with pytest.raises(st.InputError, match="not a mask"):
        st.probe(graph, features, marked, train="block", **how)
    with pytest.raises(st.InputError, match="no node attribute"):
        st.probe(graph, features, marked, train="trained", **how)


def test_what_a_linear_model_cannot_predict_is_said_of_it():
    graph, features, labels = clubs()
    found = st.probe(graph, np.random.default_rng(1).normal(size=features.shape), labels, views=["S x"], repeats=1)
    assert found.headline.startswith("Nothing found that predicts by a linear model")
