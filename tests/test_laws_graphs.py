"""Monotone refinement: what is added to a graph beside it changes nothing inside; hops in every form."""

import hypothesis.strategies as hs
import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

import spectrata as st
from roads import INCIDENCE, ROADS, WEIGHTS
from strategies import (
    INVARIANT,
    Case,
    assert_near,
    case_of,
    cases_times,
    cases_with_signals,
    merged,
    run,
    scale_of,
    sorted_edges,
)

seeds = hs.integers(0, 2**32 - 1)
every_road = pytest.mark.parametrize("road", ROADS, ids=[road.name for road in ROADS])
PLAIN = ("gft", "apprx_ls", "in_agg", "adj_diff")


# --- isolated nodes -----------------------------------------------------------------------------------------


def with_isolated(case, signal, count, seed):
    """The case with isolated nodes among its rows, its signal with theirs, and which rows are new."""
    places = np.sort(np.random.default_rng(seed).permutation(case.n + count)[: case.n])
    more = np.resize(signal[::-1], (case.n + count, signal.shape[1])).copy()
    more[places] = signal
    new = np.setdiff1d(np.arange(case.n + count), places)
    return Case(sorted_edges(places[case.edges]), case.n + count), more, new


@every_road
@cases_times(0.16)
@given(
    drawn=cases_with_signals(),
    count=hs.integers(1, 4),
    seed=seeds,
    metric=hs.sampled_from(["auto", "euclidean"]),
    orientation=hs.sampled_from(["rms", "index"]),
    scaling=hs.sampled_from(["unit", "eigenvalue"]),
)
def test_isolated_nodes_change_nothing_else(road, drawn, count, seed, metric, orientation, scaling):
    case, signal = drawn
    options = {"metric": metric, "orientation": orientation, "scaling": scaling, "ens_weights": WEIGHTS}
    if "ln_vx" in road.algorithms:
        options |= INCIDENCE
    bigger, more, new = with_isolated(case, signal, count, seed)
    one = road.spectra(case, signal, road.algorithms, **options)
    other = road.spectra(bigger, more, road.algorithms, **options)
    assert_array_equal(other["n_edges"], one["n_edges"])
    assert_array_equal(other["n_parts"], one["n_parts"] + count)
    assert_array_equal(other["n_singletons"], one["n_singletons"] + count)
    assert_allclose(other["gradient_norm"], one["gradient_norm"], rtol=1e-13)
    length = 0.5 * np.sqrt(count) if one.attrs["metric"] == "angular" else np.linalg.norm(more[new])
    for k, parts in enumerate(one["n_parts"].values):
        for algorithm in road.algorithms:
            ours, theirs = (ds["magnitude"].loc[algorithm].values[k] for ds in (other, one))
            off_zero_is_the_same(algorithm, ours[parts + count :], theirs[parts:], one.isel(hop=k), parts, signal)
            zero, were = ours[: parts + count], theirs[:parts]
            if algorithm in INVARIANT:  # gft gains the nodes' own lengths, the others nothing
                gained = np.sum(zero**2) - np.sum(were**2)
                assert_near(gained, length**2 if algorithm == "gft" else 0.0, 1e-9, np.sum(were**2) + 1e-9)
            elif algorithm == "adj_diff" and scaling == "unit":
                assert_near(zero, np.resize(were, len(zero)), 1e-9, scale_of(signal))


def off_zero_is_the_same(algorithm, ours, theirs, hop, parts, signal):
    spaces, simple = hop["eigenspace"].values[parts:], hop["multiplicity"].values[parts:] == 1
    if algorithm in (*INVARIANT, "ln_vx"):
        order = 1 if algorithm == "ln_vx" else 2
        ours, theirs = merged(ours, spaces, order), merged(theirs, spaces, order)
    elif algorithm == "ens":  # its normalisation counts ADJ-DIFF's zero components
        return
    else:
        ours, theirs = ours[simple], theirs[simple]
    assert_near(ours, theirs, 1e-9, scale_of(signal))


@cases_times(0.3)
@given(cases_with_signals(kinds=("random connected", "tree", "path", "random disconnected")), hs.integers(1, 4), seeds)
def test_the_normalised_ensemble_too_where_zero_components_have_no_say(drawn, count, seed):
    """With ADJ-DIFF undefined at zero, no member's length counts the isolated nodes."""
    case, signal = drawn
    options = {"scaling": "eigenvalue", "ens_weights": WEIGHTS}
    bigger, more, _ = with_isolated(case, signal, count, seed)
    one, other = run(case, signal, "ens", **options), run(bigger, more, "ens", **options)
    for k, parts in enumerate(one["n_parts"].values):
        simple = (one["multiplicity"].values[k][parts:] == 1).all()
        if simple and one["gradient_norm"].values[k] > 1e-3 * scale_of(signal):
            ours, theirs = (other["magnitude"].values[0, k][parts + count :], one["magnitude"].values[0, k][parts:])
            assert_near(ours, theirs, 1e-6, 1.0)


@cases_times(0.2)
@given(cases_with_signals(max_nodes=7), hs.integers(1, 3))
def test_isolated_nodes_change_no_learning_by_part(drawn, count):
    case, signal = drawn
    options = {"by_part": True, "trials": 2, "max_epochs": 5}
    one = run(case, signal, "ln_vx", **options)
    more = np.vstack([signal, signal[:1].repeat(count, axis=0)])
    other = run(Case(case.edges, case.n + count), more, "ln_vx", **options)
    for k, parts in enumerate(one["n_parts"].values):
        if one.sizes["hop"] == 2 and k == 1:
            continue  # without isolated nodes this basis is read off the first stratum's, with them it is solved
        ours, theirs = (ds["magnitude"].values[0, k] for ds in (other, one))
        assert_near(np.delete(ours, np.s_[parts : parts + count]), theirs, 1e-6, scale_of(signal))
        assert_array_equal(ours[parts : parts + count], 0)


# --- two graphs side by side --------------------------------------------------------------------------------


def side_by_side(one, other, algorithm, hop, sizes):
    """Eigenvalues and magnitudes of two results beside each other; past a diameter all nodes stand alone."""
    values, found = [], []
    for ds, length in ((one, sizes[0]), (other, sizes[1])):
        if hop in ds["hop"].values:
            at = ds.sel(hop=hop)
            values.append(at["eigenvalue"].values)
            found.append(at["magnitude"].loc[algorithm].values)
        else:
            values.append(np.zeros(len(length)))
            found.append(length if algorithm == "gft" else np.zeros(len(length)))
    return np.concatenate(values), np.concatenate(found)


@every_road
@cases_times(0.16)
@given(
    first=cases_with_signals(max_nodes=8, dims=(3, 3)),
    second=cases_with_signals(max_nodes=8, dims=(3, 3)),
    metric=hs.sampled_from(["angular", "euclidean"]),
    orientation=hs.sampled_from(["rms", "index"]),
)
def test_a_disjoint_union_is_the_two_results_side_by_side(road, first, second, metric, orientation):
    """Eigenspace by eigenspace, those that fall together added up; ADJ-DIFF at zero is its scaled sum."""
    (a, s), (b, t) = first, second
    union = Case(np.concatenate([a.edges, b.edges + a.n]), a.n + b.n)
    options = {"metric": metric, "orientation": orientation}
    one, other = (road.spectra(case, x, PLAIN, **options) for case, x in (first, second))
    whole = road.spectra(union, np.vstack([s, t]), PLAIN, **options)
    lengths = [np.full(len(x), 0.5) if metric == "angular" else np.linalg.norm(x, axis=1) for x in (s, t)]
    scale = max(np.abs(s).max(), np.abs(t).max())
    for k, hop in enumerate(whole["hop"].values):
        values, spaces = whole["eigenvalue"].values[k], whole["eigenspace"].values[k]
        levels = np.array([values[spaces == space].mean() for space in range(spaces.max() + 1)])
        for algorithm in INVARIANT:
            theirs, found = side_by_side(one, other, algorithm, hop, lengths)
            owner = np.abs(theirs[:, None] - levels).argmin(axis=1)
            expected = np.sqrt(np.bincount(owner, found**2, len(levels)))
            assert_near(merged(whole["magnitude"].loc[algorithm].values[k], spaces), expected, 1e-9, scale)
        here = [ds.sel(hop=hop) for ds in (one, other) if hop in ds["hop"].values]
        sums = sum(ds["magnitude"].loc["adj_diff"].values[0] * np.sqrt(ds["n_edges"].item()) for ds in here)
        flat = sums / np.sqrt(sum(ds["n_edges"].item() for ds in here))
        zero = whole["magnitude"].loc["adj_diff"].values[k][spaces == 0]
        assert_near(zero, np.full(len(zero), flat), 1e-9, scale)
        squares = sum(ds["gradient_norm"].item() ** 2 for ds in here)
        assert_near(whole["gradient_norm"].values[k], np.sqrt(squares), 1e-9, scale)


# --- hops ---------------------------------------------------------------------------------------------------


@cases_times(0.3)
@given(cases_with_signals(), hs.data())
def test_hops_mean_the_same_in_every_form(drawn, data):
    """A number, a list in any order and with repeats, a range, an array, a tuple, a generator: to the last bit."""
    case, signal = drawn
    whole = run(case, signal)
    last = whole.sizes["hop"]
    upto = data.draw(hs.integers(1, last))
    wanted = list(range(1, upto + 1))
    shuffled = data.draw(hs.permutations(wanted + wanted[:1]))
    forms = [upto, np.int64(upto), wanted, shuffled, range(1, upto + 1), np.array(wanted, dtype=np.uint8)]
    forms += [tuple(wanted), set(wanted), (hop for hop in wanted)]
    expected = whole.sel(hop=wanted)
    for form in forms:
        found = run(case, signal, hops=form)
        assert_array_equal(found["hop"], wanted)
        if last != 2 or upto == 2:
            assert_array_equal(found["magnitude"], expected["magnitude"])
        assert_array_equal(found["gradient_norm"], expected["gradient_norm"])
    assert_array_equal(run(case, signal, hops=last + 3)["magnitude"], whole["magnitude"])


@cases_times(0.3)
@given(cases_with_signals(max_nodes=8), hs.data())
def test_learning_at_some_hops_is_that_of_all(drawn, data):
    """Random starts depend on the seed and the hop alone."""
    case, signal = drawn
    options = {"algorithms": "ln_vx", "trials": 2, "max_epochs": 4, "seed": data.draw(hs.integers(0, 2**63 - 1))}
    whole = run(case, signal, **options)
    hop = data.draw(hs.sampled_from(whole["hop"].values.tolist()))
    part = run(case, signal, hops=[hop], **options)
    if whole.sizes["hop"] != 2:
        assert_array_equal(part["magnitude"], whole["magnitude"].sel(hop=[hop]))
        assert_array_equal(part["ln_vx_mse"], whole["ln_vx_mse"].sel(hop=[hop]))


def test_one_stratification_for_many_signals_is_many_calls():
    graph = case_of(nx.disjoint_union(nx.karate_club_graph(), nx.path_graph(4))).graph
    rng = np.random.default_rng(0)
    strat = st.Stratification(graph)
    for d in (1, 3, 1):
        signal = rng.standard_normal((len(graph), d))
        assert_array_equal(strat.spectra(signal)["magnitude"], st.spectra(graph, signal)["magnitude"])


def test_the_strata_beyond_255_hops_are_there():
    """Distances outgrow a byte: a path of 300 nodes has 299 hops, and a second path beside it none beyond 9."""
    case = case_of(nx.disjoint_union(nx.path_graph(300), nx.path_graph(10)))
    strat = st.Stratification(case.graph)
    assert strat.diameter == 299
    expected = [(300 - hop) + max(10 - hop, 0) for hop in range(1, 300)]
    assert [strat.strata.sizes[hop] for hop in strat.hops] == expected
    stratum = strat.strata.at(298)
    assert stratum.edges.tolist() == [[0, 298], [1, 299]]
