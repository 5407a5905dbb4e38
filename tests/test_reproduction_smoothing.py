"""The shallow model of Tasks 3-8 and the 13-node graph."""

import networkx as nx
import numpy as np
import pytest

from reproduction.tasks import caveman
from reproduction.tasks.smoothing import ADAGRAD_EPS, LEARNING_RATE, Objective, learn
from spectrata.inputs.graphs import as_graph


def brute_force(graph, vectors, weight):
    """The objective as printed, pair by pair."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    nodes = list(graph)
    joined, apart = [], []
    for i, x in enumerate(nodes):
        for j in range(i):
            cosine = float(unit[i] @ unit[j])
            if graph.has_edge(x, nodes[j]):
                joined.append((1 - cosine) / 2)
            else:
                apart.append((1 + cosine) / 2)
    return np.mean(joined), np.mean(apart)


@pytest.fixture
def starts():
    return np.random.default_rng(7).uniform(-1, 1, (4, 13, 3))


def test_the_start_signal_is_the_papers():
    signal = dict(zip(caveman.NODES, caveman.start_signal().tolist(), strict=True))
    assert {node for node in signal if signal[node] == [0.58] * 3} == set("AKLM")
    assert signal["B"] == [1, 0, 0]
    assert signal["C"] == [0, 1, 0]
    assert signal["D"] == [0, 0, 1]
    assert all(signal[node] == [-1, 0, 0] for node in "FGJ")
    assert all(signal[node] == [0, -1, 0] for node in "EHI")


def test_the_communities_are_the_papers():
    labels = dict(zip(caveman.NODES, caveman.true_labels().tolist(), strict=True))
    found = {frozenset(node for node in labels if labels[node] == k) for k in range(4)}
    assert found == {frozenset("A"), frozenset("BEFK"), frozenset("CGHL"), frozenset("DIJM")}


@pytest.mark.parametrize("graph", [caveman.caveman_graph(), nx.path_graph(13)])
def test_terms_are_those_printed(graph, starts):
    objective = Objective(as_graph(graph), np.zeros(4))
    tau, epsilon = objective.terms(starts.transpose(1, 0, 2))
    expected = np.array([brute_force(graph, start, 0.0) for start in starts])
    np.testing.assert_allclose(tau, expected[:, 0], rtol=1e-12)
    np.testing.assert_allclose(epsilon, expected[:, 1], rtol=1e-12)


@pytest.mark.parametrize("graph", [caveman.caveman_graph(), nx.star_graph(12)])
def test_gradient_agrees_with_finite_differences(graph, starts):
    weights = np.array([0.0, 0.3, 1.0, 5.0])
    objective = Objective(as_graph(graph), weights)
    raw = starts.transpose(1, 0, 2)

    def value(vectors):
        tau, epsilon = objective.terms(vectors)
        return tau + weights * epsilon

    numeric = np.empty_like(raw)
    step = 1e-6
    for node in range(13):
        for column in range(3):
            shift = np.zeros_like(raw)
            shift[node, :, column] = step  # runs do not touch each other, so all are shifted at once
            numeric[node, :, column] = (value(raw + shift) - value(raw - shift)) / (2 * step)
    np.testing.assert_allclose(objective.gradient(raw), numeric, atol=1e-9)


def test_a_batch_is_the_same_as_its_runs_alone(starts):
    weights = np.array([0.0, 0.1, 0.5, 1.0])
    graph = caveman.caveman_graph()
    together = learn(graph, starts, weights, 50, record=20)
    for run in range(4):
        alone = learn(graph, starts[run : run + 1], float(weights[run]), 50, record=20)
        np.testing.assert_allclose(together.final[run], alone.final[0], atol=1e-12)
        np.testing.assert_allclose(together.tau[:, run], alone.tau[:, 0], atol=1e-12)
        np.testing.assert_allclose(together.recorded[:, run], alone.recorded[:, 0], atol=1e-12)


def test_adagrad_is_the_textbooks(starts):
    """Against a plain transcription with torch's rule, and a numeric gradient of the printed objective."""
    graph, weight = caveman.caveman_graph(), 0.3
    raw, squares = starts[0].copy(), np.zeros((13, 3))
    for _ in range(5):
        gradient = np.empty_like(raw)
        for index in np.ndindex(*raw.shape):
            shift = np.zeros_like(raw)
            shift[index] = 1e-6
            up, down = brute_force(graph, raw + shift, weight), brute_force(graph, raw - shift, weight)
            gradient[index] = ((up[0] + weight * up[1]) - (down[0] + weight * down[1])) / 2e-6
        squares += gradient**2
        raw -= LEARNING_RATE * gradient / (np.sqrt(squares) + ADAGRAD_EPS)
    expected = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    np.testing.assert_allclose(learn(graph, starts[:1], weight, 5).final[0], expected, atol=1e-6)


def test_what_is_recorded(starts):
    runs = learn(caveman.caveman_graph(), starts, 0.3, 25, record=10)
    assert runs.recorded.shape == (3, 4, 13, 3)
    assert runs.tau.shape == runs.epsilon.shape == (26, 4)
    unit = starts / np.linalg.norm(starts, axis=2, keepdims=True)
    np.testing.assert_allclose(runs.recorded[0], unit, atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(runs.final, axis=2), 1.0, atol=1e-14)
    shorter = learn(caveman.caveman_graph(), starts, 0.3, 20)
    np.testing.assert_array_equal(runs.recorded[2], shorter.final)
    assert shorter.recorded.shape == (0, 4, 13, 3)


def test_learning_on_the_papers_graph_separates_its_communities():
    runs = learn(caveman.caveman_graph(), caveman.start_signal()[None], 0.3, 3500)
    total = runs.tau[:, 0] + 0.3 * runs.epsilon[:, 0]
    assert total[-1] < total[0] / 2
    labels = caveman.true_labels()
    cosines = runs.final[0] @ runs.final[0].T
    same = labels[:, None] == labels
    large = labels > 0  # A is a community of its own in the middle
    within = cosines[np.ix_(large, large)][same[np.ix_(large, large)]]
    between = cosines[np.ix_(large, large)][~same[np.ix_(large, large)]]
    assert within.min() > between.max()


def test_total_variation_alone_smooths_towards_a_constant(starts):
    runs = learn(caveman.caveman_graph(), starts, 0.0, 1000)
    assert np.all(runs.tau[-1] < 0.3 * runs.tau[0])


def test_the_demo_shows_what_this_model_learns():
    from spectrata.cli.commands.demo import read_data

    strat, path = read_data()
    graph = caveman.caveman_graph()
    assert strat.graph.names == tuple(graph)
    assert {frozenset((strat.graph.names[a], strat.graph.names[b])) for a, b in strat.graph.edges} == {
        frozenset(edge) for edge in graph.edges
    }
    learned = learn(graph, caveman.start_signal()[None], 0.3, 3500, record=3500)
    np.testing.assert_allclose(path.values, learned.recorded[:, 0], atol=2e-6)
