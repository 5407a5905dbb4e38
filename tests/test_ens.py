"""ENS: weights, presets, members that are NaN, and numbers against Algorithm 6."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from paper_graph import EDGES, SIGNAL, N
from spectrata.core.algorithms.ens import member_weights
from spectrata.errors import OptionError
from strategies import Case, case_of, cases_with_signals, run, sorted_edges

PAPER = Case(sorted_edges(EDGES), N)
MEMBERS = ("apprx_ls", "in_agg", "adj_diff", "ln_vx")
PATH = case_of(nx.path_graph(3))


# --- weights ------------------------------------------------------------------------------------------------


def test_presets():
    for hop in range(1, 8):
        paper = {name: oracle.paper_weights(hop).get(name, 0.0) for name in MEMBERS}
        assert member_weights("paper", hop, MEMBERS) == paper
        assert member_weights("even", hop, MEMBERS) == dict.fromkeys(MEMBERS, 0.25)
        pulse = {"apprx_ls": 0.3, "in_agg": 0.3, "adj_diff": 0.3, "ln_vx": 0.1}
        assert member_weights("pulse", hop, MEMBERS) == pulse
        fast = member_weights("fast", hop, MEMBERS)
        rest = paper["adj_diff"] + paper["apprx_ls"]
        for name in MEMBERS:
            expected = 0.0 if name == "ln_vx" else paper[name] / rest
            assert fast[name] == pytest.approx(expected, rel=1e-15)


def test_mappings_and_functions():
    assert member_weights({"ln_vx": 1, "in_agg": np.float32(2)}, 3, MEMBERS) == {
        "apprx_ls": 0.0,
        "in_agg": 2.0,
        "adj_diff": 0.0,
        "ln_vx": 1.0,
    }
    by_hop = lambda hop: {"adj_diff": hop, "in_agg": 1.0}  # noqa: E731
    assert member_weights(by_hop, 5, MEMBERS)["adj_diff"] == 5.0


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ("papr", "ens_weights='papr'"),
        ({"gft": 1.0}, "gft"),
        ({"adj-diff": 1.0}, "adj-diff"),
        ({"adj_diff": -0.1, "ln_vx": 1.0}, "not negative"),
        ({"adj_diff": 0.0}, "not all zero"),
        ({}, "not all zero"),
        ({"adj_diff": np.nan}, "finite"),
        ({"adj_diff": np.inf}, "finite"),
        ({"adj_diff": None}, "weights"),
        ({"adj_diff": "much"}, "weights"),
        (None, "weights"),
        ([0.5, 0.5], "weights"),
        (lambda hop: 0.5, "weights"),
        (lambda hop: {"adj_diff": 3 - hop}, "hop 3"),
    ],
)
@pytest.mark.parametrize("algorithm", ["ens", "ens_raw"])
def test_weights_that_are_refused(algorithm, weights, words):
    with pytest.raises(OptionError) as caught:
        run(PAPER, SIGNAL, algorithm, ens_weights=weights, transform="incidence")
    assert words in str(caught.value)


@pytest.mark.parametrize("weights", ["bogus", {"gft": 1.0}, 7])
def test_wrong_weights_are_refused_even_when_no_ensemble_is_asked_for(weights):
    with pytest.raises(OptionError, match="weights"):
        run(PATH, [0.0, 1.0, 3.0], "gft", ens_weights=weights)


def test_weights_are_checked_before_any_work():
    """A function that fails at a late hop stops the call before the first."""
    done = []
    weights = lambda hop: {"ln_vx": 1.0 if hop < 6 else -1.0}  # noqa: E731
    with pytest.raises(OptionError, match="hop 6"):
        run(PAPER, SIGNAL, "ens", ens_weights=weights, trials=1, max_epochs=1, progress=lambda *a: done.append(a))
    assert done == []


# --- in a Dataset -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", ["paper", "even", "pulse", "fast", {"in_agg": 1.0, "adj_diff": 3.0}])
def test_ensembles_of_the_papers_graph(weights):
    """Against Algorithm 6 of the oracle on the members of the same Dataset; the weights are stored."""
    algorithms = (*MEMBERS, "ens", "ens_raw")
    ds = run(PAPER, SIGNAL, algorithms, ens_weights=weights, transform="incidence")
    assert ds["ens_weight"].dims == ("hop", "member")
    assert ds["member"].values.tolist() == list(MEMBERS)
    for hop in range(1, 7):
        used = member_weights(weights, hop, MEMBERS)
        assert_array_equal(ds["ens_weight"].loc[hop], list(used.values()))
        magnitudes = {name: ds["magnitude"].loc[name, hop].values for name in MEMBERS}
        assert_allclose(ds["magnitude"].loc["ens", hop], oracle.ens(magnitudes, used), rtol=1e-12, atol=1e-300)
        raw = oracle.ens(magnitudes, used, raw=True)
        assert_allclose(ds["magnitude"].loc["ens_raw", hop], raw, rtol=1e-12, atol=1e-300)


@given(cases_with_signals())
def test_eigenvalue_scaling_reweights_the_zero_components(drawn):
    case, signal = drawn
    options = {"scaling": "eigenvalue", "ens_weights": "fast"}
    ds = run(case, signal, ("apprx_ls", "adj_diff", "ens", "ens_raw"), **options)
    for k, hop in enumerate(ds["hop"].values):
        magnitudes = {name: ds["magnitude"].loc[name].values[k] for name in ("apprx_ls", "adj_diff")}
        used = {name: weight for name, weight in member_weights("fast", hop, MEMBERS).items() if name in magnitudes}
        for algorithm, raw in (("ens", False), ("ens_raw", True)):
            found = ds["magnitude"].loc[algorithm].values[k]
            assert_allclose(found, oracle.ens(magnitudes, used, raw), rtol=1e-9, atol=1e-14)
    assert all("adj_diff" in word for word in ds["status"].loc["ens"].values)
    assert all("undefined at zero eigenvalues" in word for word in ds["status"].loc["ens_raw"].values)


def test_skipped_members_are_reweighted_and_said():
    ds = run(PAPER, SIGNAL, ("adj_diff", "apprx_ls", "ens_raw"), max_line_nodes=1, skip_large=True)
    found = ds["magnitude"]
    for hop in range(1, 7):
        adj, ls = found.loc["adj_diff", hop].values, found.loc["apprx_ls", hop].values
        expected = (2 * adj + ls) / 3 if hop <= 4 else adj
        assert_allclose(found.loc["ens_raw", hop], expected, rtol=1e-12, atol=1e-15)
        assert "ln_vx" in ds["status"].loc["ens_raw", hop].item()


def test_members_not_asked_for_leave_no_trace():
    ds = run(PAPER, SIGNAL, "ens", ens_weights="fast")
    assert ds["algorithm"].values.tolist() == ["ens"]
    assert "ls_residual" not in ds
    assert (ds["status"] == "ok").all()
