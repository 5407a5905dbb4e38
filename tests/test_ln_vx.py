"""LN-VX: the learning, its variants, the deterministic transform, and large line graphs."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from paper_graph import EDGES, METRIC, SIGNAL, N
from spectrata.core.algorithms import ln_vx as learning
from spectrata.core.algorithms.options import Options
from spectrata.core.strata import Stratum
from spectrata.errors import LineGraphSizeError
from spectrata.kernels import threads
from strategies import Case, assert_near, case_of, cases_with_signals, hop_of, oracle_hops, run, sorted_edges

PAPER = Case(sorted_edges(EDGES), N)


def paper_hop(hop, seed=0):
    """The paper's graph at one hop, ready for an algorithm."""
    adjacency = oracle.strata_adjacencies(EDGES, N)[hop - 1]
    return hop_of(Stratum(hop, N, np.array(oracle.edges_of(adjacency))), SIGNAL, METRIC, seed)


def line_magnitudes(hop):
    """h: the gradient's magnitudes in the line graph's basis."""
    return np.abs(hop.line().dense().T @ hop.gradient[0])


# --- what the learning reaches ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def learned():
    """200 trials at every hop of the 13-node graph, with the defaults of the released program."""
    return {K: learning.learn(paper_hop(K), Options(trials=200)) for K in range(1, 7)}


@pytest.mark.parametrize("K", [1, 2, 3, 4])
def test_learning_converges_where_there_are_enough_edges(learned, K):
    """An MSE of 1e-6 in 1000 epochs; then the weights of every component add to 1."""
    assert (learned[K].mse <= 1e-6).all()
    assert_allclose(learned[K].weights.sum(axis=2), 1, atol=0.02)


@pytest.mark.parametrize("K", [1, 2, 3, 4])
def test_learned_magnitudes_tend_to_the_mean(learned, K):
    """E[weight] = 1/m: each within 5.5 standard errors, and the magnitudes within 10 % of mean(h) in the mean."""
    weights = learned[K].weights
    error = weights.std(axis=0, ddof=1) / np.sqrt(len(weights))
    # Of the at most 13 * 18 * 4 tests none passes 5.5 by chance (4e-8 each); 0.3/m allows for a finite fit.
    deviation = np.abs(weights.mean(axis=0) - 1 / weights.shape[2])
    assert (deviation <= 5.5 * error + 0.3 / weights.shape[2]).all()
    h = line_magnitudes(paper_hop(K))
    signed = (weights @ h).mean(axis=0)  # per component, over trials
    assert signed.mean() == pytest.approx(h.mean(), rel=0.1)
    spread = (weights @ h).std(axis=0, ddof=1) / np.sqrt(len(weights))
    assert (np.abs(signed - h.mean()) <= 0.1 * h.mean() + 5 * spread).all()
    assert spread.max() < 0.1 * h.mean()  # the bound above is narrow


@pytest.mark.parametrize(("K", "m"), [(5, 12), (6, 3)])
def test_the_floor_where_edges_are_too_few(learned, K, m):
    """PQ has rank m, so the MSE stays above (n - m)/n^2, and comes close to it."""
    floor = (N - m) / N**2
    assert (learned[K].mse >= floor * (1 - 1e-12)).all()
    assert (learned[K].mse <= 1.05 * floor).all()


@pytest.fixture
def double(monkeypatch):
    """Learn in double precision, to compare digit by digit."""
    monkeypatch.setattr(learning, "LEARNING", "float64")


def test_single_precision_learns_the_same(monkeypatch):
    """Adagrad's first steps are signs of gradients, so a few entries may part ways; the weights stay together."""
    hop, options = paper_hop(2), Options(trials=5, max_epochs=200)
    single = learning.learn(hop, options)
    monkeypatch.setattr(learning, "LEARNING", "float64")
    exact = learning.learn(hop, options)
    assert single.weights.dtype == exact.weights.dtype == np.float64
    spread = np.abs(exact.weights).max()
    assert 1e-9 * spread < np.abs(single.weights - exact.weights).max() < 1e-2 * spread
    assert_allclose(single.mse, exact.mse, rtol=1e-2)


@pytest.mark.usefixtures("double")
def test_row_norms_and_mse_are_those_of_the_matrices():
    """With P = H_ln L(U), the rows of P and H_ln are equally long; checked on the start, one epoch on."""
    hop, options = paper_hop(1), Options(trials=3, max_epochs=1, literal=True)
    found = learning.learn(hop, options)
    h_ln, h_vx, errors = zip(*(replay(hop, options, t) for t in range(3)), strict=True)
    assert_allclose(found.row_norms[:, 0], np.linalg.norm(h_ln, axis=2), rtol=1e-10)
    assert_allclose(found.row_norms[:, 1], np.linalg.norm(h_vx, axis=2), rtol=1e-10)
    assert_allclose(found.mse, [error[-1] for error in errors], rtol=1e-10)


def start(hop, options):
    """The uniform start, from the generator that the learning uses."""
    rng, m = hop.random(purpose=2), hop.stratum.n_edges
    shape = (options.trials, hop.stratum.n_nodes, m)
    h_ln = rng.uniform(-1 / np.sqrt(m), 1 / np.sqrt(m), shape)
    return h_ln, rng.uniform(-1 / np.sqrt(m), 1 / np.sqrt(m), shape)


def replay(hop, options, trial):
    """The oracle's learner from the same start."""
    h_ln, h_vx = start(hop, options)
    settings = {"epochs": options.max_epochs, "tolerance": options.tolerance, "rate": options.learning_rate}
    return oracle.ln_vx_learn(hop.basis.dense(), hop.line().dense(), h_ln[trial], h_vx[trial], **settings)


@pytest.mark.parametrize("K", [1, 4, 5])
@pytest.mark.parametrize("epochs", [1, 60, 1000])
@pytest.mark.usefixtures("double")
def test_the_batch_is_the_oracles_loop(K, epochs):
    """Trial by trial, each stopped at its own tolerance."""
    hop, options = paper_hop(K, seed=3), Options(trials=4, max_epochs=epochs, tolerance=1e-3, literal=True)
    found = learning.learn(hop, options)
    basis, line_basis = hop.basis.dense(), hop.line().dense()
    stops = []
    for t in range(options.trials):
        h_ln, h_vx, errors = replay(hop, options, t)
        assert found.mse[t] == pytest.approx(errors[-1], rel=1e-8)
        signed = found.weights[t] @ line_magnitudes(hop)
        assert_near(signed, oracle.ln_vx_signed(basis, line_basis, hop.gradient[0], h_ln, h_vx), 1e-8)
        stops.append(len(errors))
    if epochs == 1000 and K < 5:
        assert len(set(stops)) > 1  # trials did leave the batch at different epochs


@pytest.mark.usefixtures("double")
def test_groups_threads_and_compiled_steps_change_nothing(monkeypatch):
    hop, options = paper_hop(2), Options(trials=7, max_epochs=50)
    expected = learning.learn(hop, options)
    for count, doubles in (("1", 1), ("3", 2**10), ("2", 2**20)):
        monkeypatch.setenv("SPECTRATA_THREADS", count)
        monkeypatch.setattr(learning, "GROUP_DOUBLES", doubles)
        found = learning.learn(hop, options)
        assert_array_equal(found.weights, expected.weights)
        assert_array_equal(found.mse, expected.mse)
    monkeypatch.setattr(threads, "COMPILED_WORK", 1)
    assert_allclose(learning.learn(hop, options).weights, expected.weights, rtol=0, atol=1e-9)


# --- gradients ----------------------------------------------------------------------------------------------

ACTIVATE = {
    None: lambda x: x,
    "relu": lambda x: np.where(x > 0, x, 0.0),
    "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * (np.exp(x) - 1)),
}


@pytest.mark.parametrize(("activation", "literal"), [(None, False), (None, True), ("selu", False), ("relu", False)])
def test_gradients_against_finite_differences(monkeypatch, activation, literal):
    """What the learner hands to its first Adagrad step, against the slopes of the error it claims to lower."""
    hop = paper_hop(1)
    basis, line = hop.basis.dense(), hop.line().dense()
    rng, shape = np.random.default_rng(4), (1, N, len(line))
    left, right = rng.uniform(-0.3, 0.3, (2, *shape))
    middle = line if literal or activation is not None else None
    act = ACTIVATE[activation]

    def mse(a, b):
        mapped = act(a) if middle is None else act(a) @ middle
        return np.mean((mapped @ act(b).T - basis.T) ** 2)

    seen = []
    monkeypatch.setattr(learning, "_step", lambda weights, squares, gradient, rate: seen.append(gradient[0].copy()))
    options = Options(trials=1, max_epochs=1, activation=activation, literal=literal)
    found = learning._adagrad_group(left.copy(), right.copy(), basis.T, middle, options)
    a, b = left[0], right[0]
    assert found == pytest.approx([mse(a, b)], rel=1e-12)
    for which, gradient in enumerate(seen):
        for i, k in itertools.product((0, 5, 12), (0, 7, 14)):
            step = np.zeros(shape[1:])
            step[i, k] = 1e-6
            up, down = (mse(a + s * step * (1 - which), b + s * step * which) for s in (1, -1))
            assert gradient[i, k] == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-9)
        assert np.abs(gradient).max() > 1e-4
    assert len(seen) == 2


@pytest.mark.parametrize("activation", ["selu", "relu"])
def test_activations_learn(activation):
    """The error falls, and the weights are those of the activated matrices."""
    hop = paper_hop(1)
    first = learning.learn(hop, Options(trials=5, max_epochs=1, activation=activation))
    last = learning.learn(hop, Options(trials=5, max_epochs=400, activation=activation))
    assert (last.mse < 0.8 * first.mse).all()
    signed_trace = last.weights.sum(axis=2)  # diag(PQ)
    assert np.mean((signed_trace - 1) ** 2) / N <= last.mse.mean() * N


# --- variants -----------------------------------------------------------------------------------------------


def test_literal_and_short_parametrisation_agree_in_distribution(learned):
    """The same flat spectrum: means of the weights by component and line component agree within their errors."""
    literal = learning.learn(paper_hop(2), Options(trials=200, literal=True))
    assert (literal.mse <= 1e-6).all()
    h = line_magnitudes(paper_hop(2))
    one, other = (found.weights @ h for found in (learned[2], literal))
    for found in (one, other):
        mean = np.abs(found.mean(axis=0))
        flat = mean.sum() / (np.linalg.norm(mean) * np.sqrt(N))
        assert flat > 0.99
    error = np.hypot(*(found.std(axis=0, ddof=1) / np.sqrt(200) for found in (one, other)))
    assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) <= 5 * error).all()


def test_trials_are_kept_on_request():
    ds = run(PAPER, SIGNAL, "ln_vx", trials=6, max_epochs=30, keep=["trials"])
    each = ds["ln_vx_trial_magnitude"]
    assert each.dims == ("trial", "hop", "component")
    assert (each >= 0).all()
    assert ds["ln_vx_mse"].dims == ("trial", "hop")
    assert [str(dim).split("_")[0] for dim in ds["ln_vx_row_norm"].dims if dim != "hop"] == ["trial", "matrix", "row"]
    absolute = run(PAPER, SIGNAL, "ln_vx", trials=6, max_epochs=30, average="abs")
    assert_allclose(absolute["magnitude"].values[0], each.mean("trial"), rtol=1e-12, atol=1e-300)
    # Signed first, absolute after: never more than the mean of absolutes, and less where trials disagree.
    signed = ds["magnitude"].values[0]
    assert (signed <= absolute["magnitude"].values[0] + 1e-12).all()
    assert (signed < 0.9 * absolute["magnitude"].values[0]).any()
    lean = run(PAPER, SIGNAL, "ln_vx", trials=6, max_epochs=30)
    assert "ln_vx_trial_magnitude" not in lean
    assert "ln_vx_mse" in lean


def test_signed_and_absolute_averages_of_known_weights():
    hop = paper_hop(1)
    found = learning.learn(hop, Options(trials=5, max_epochs=20))
    trials = found.weights @ line_magnitudes(hop)
    for average, expected in (("signed", np.abs(trials.mean(axis=0))), ("abs", np.abs(trials).mean(axis=0))):
        ds = run(PAPER, SIGNAL, "ln_vx", trials=5, max_epochs=20, average=average, hops=1)
        assert_allclose(ds["magnitude"].values[0, 0], expected, rtol=1e-9)


def test_by_part_uses_each_part_alone():
    """Weights across parts are zero; each part fits by itself; singletons get nothing."""
    graph = nx.disjoint_union_all([nx.complete_graph(5), nx.complete_graph(6), nx.empty_graph(2)])
    case = case_of(graph, np.random.default_rng(0).permutation(13))
    stratum = Stratum(1, case.n, case.edges)
    hop = hop_of(stratum, np.random.default_rng(1).standard_normal(case.n))
    found = learning.learn(hop, Options(trials=3, by_part=True))
    part_of_component = np.array([stratum.parts[np.argmax(np.abs(u))] for u in hop.basis.dense().T])
    line = hop.line().dense()
    part_of_line = np.array([stratum.parts[stratum.edges[np.argmax(np.abs(v)), 0]] for v in line.T])
    across = part_of_component[:, None] != part_of_line
    assert_array_equal(found.weights[:, across], 0)
    alone = stratum.degrees[np.array([np.argmax(np.abs(u)) for u in hop.basis.dense().T])] == 0
    assert_array_equal(found.weights[:, alone], 0)
    assert (found.mse <= 1e-6).all()
    assert_allclose(found.weights[:, ~alone].sum(axis=2), 1, atol=0.02)
    assert found.row_norms.shape == (3, 2, case.n)
    assert_array_equal(found.row_norms[:, 0] > 0, np.broadcast_to(~alone, (3, case.n)))  # rows of H_ln: components
    assert_array_equal(found.row_norms[:, 1] > 0, np.broadcast_to(stratum.degrees > 0, (3, case.n)))  # H_vx: nodes


def test_by_part_of_a_connected_graph_is_the_whole():
    one = learning.learn(paper_hop(1), Options(trials=20, by_part=True))
    assert (one.mse <= 1e-6).all()
    assert one.weights.shape == (20, N, 15)


# --- incidence ----------------------------------------------------------------------------------------------


@given(cases_with_signals())
def test_incidence_is_the_oracles_projector_version(drawn):
    """Component by component on simple eigenvalues, and the sum over every eigenspace."""
    case, signal = drawn
    ds = run(case, signal, "ln_vx", transform="incidence")
    assert "ln_vx_mse" not in ds
    for k, (edges, values, basis, g) in enumerate(oracle_hops(case, signal)):
        ours, theirs = ds["magnitude"].values[0, k], oracle.ln_vx_incidence(values, basis, edges, g)
        spaces = ds["eigenspace"].values[k]
        sums = [np.bincount(spaces, weights=row) for row in (ours, theirs)]
        assert_near(*sums, 1e-9, 1.0)
        simple = oracle.simple_components(values) | oracle.is_zero(values)
        assert_near(ours[simple], theirs[simple], 1e-9, 1.0)


# --- large line graphs --------------------------------------------------------------------------------------


def test_large_line_graphs_are_refused_with_hops_and_memory():
    with pytest.raises(LineGraphSizeError) as caught:
        run(PAPER, SIGNAL, "ln_vx", max_line_nodes=15)
    words = str(caught.value)
    assert "K=4 (18)" in words
    assert "K=1" not in words
    assert "max_line_nodes=15" in words
    assert "iB" in words
    assert "ln_vx={'skip_large': True}" in words


def test_the_limit_itself_is_allowed():
    assert run(PAPER, SIGNAL, "ln_vx", max_line_nodes=18, trials=1, max_epochs=1).sizes["hop"] == 6


@pytest.mark.parametrize("transform", ["learned", "incidence"])
def test_skipped_line_graphs_are_nan_with_a_status(transform):
    options = {"transform": transform, "trials": 2, "max_epochs": 3, "keep": ["trials"]}
    ds = run(PAPER, SIGNAL, ["ln_vx", "gft"], max_line_nodes=15, skip_large=True, **options)
    full = run(PAPER, SIGNAL, ["ln_vx", "gft"], **options)
    assert np.isnan(ds["magnitude"].loc["ln_vx", 4]).all()
    assert ds["status"].loc["ln_vx", 4].item() == "skipped: line graph too large"
    others = [1, 2, 3, 5, 6]
    assert_array_equal(ds["magnitude"].loc["ln_vx", others], full["magnitude"].loc["ln_vx", others])
    assert (ds["status"].loc["ln_vx", others] == "ok").all()
    assert_array_equal(ds["magnitude"].loc["gft"], full["magnitude"].loc["gft"])
    if transform == "learned":
        assert np.isnan(ds["ln_vx_mse"].loc[:, 4]).all()
        assert not np.isnan(ds["ln_vx_mse"].loc[:, others]).any()
        assert np.isnan(ds["ln_vx_trial_magnitude"].loc[:, 4]).all()


def test_hops_whose_weights_leave_ln_vx_out_may_be_large():
    """Only hops that need ln_vx count against max_line_nodes."""
    weights = {K: {"ln_vx": 1.0} if K == 6 else {"adj_diff": 1.0} for K in range(1, 7)}
    options = {"ens_weights": weights.__getitem__, "max_line_nodes": 3, "trials": 1, "max_epochs": 1}
    ds = run(PAPER, SIGNAL, "ens_raw", **options)
    assert not np.isnan(ds["magnitude"]).any()
