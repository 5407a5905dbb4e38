"""What a diagnosis rests on, counted another way; and what each finding says, word by word."""

import itertools
import warnings
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import xarray as xr
from scipy.stats import gamma, norm

import spectrata as st
from spectrata.analysis.diagnose import Thresholds, _against_chance, _over_smoothing, _shifts
from spectrata.analysis.findings import Finding, Findings
from spectrata.analysis.reading import Reading, read
from spectrata.errors import InputError, OptionError, ResultError, ZeroVectorError

LIMITS = Thresholds(alpha=0.01, homophily=1.1, community=3.0, shift=0.1, decay=0.25, collapsed=0.2, constant=0.05)
# Six nodes, so that all orders of the nodes can be looked at: connected, in two parts, with a node of its own.
SMALL = {
    "tree": nx.from_edgelist([(0, 1), (1, 2), (1, 3), (3, 4), (4, 5)]),
    "two parts": nx.from_edgelist([(0, 1), (1, 2), (0, 2), (3, 4), (4, 5)]),
    "lone node": nx.Graph([(0, 1), (1, 2), (2, 3), (3, 4), (1, 4)]),
}
SMALL["lone node"].add_node(5)


def sorted_graph(graph):
    """The same with its nodes in order."""
    plain = nx.Graph()
    plain.add_nodes_from(range(6))
    plain.add_edges_from(graph.edges)
    return plain


def energies(graph, signal, metric="euclidean"):
    """Energy of each eigencomponent by the dense solver, the zero ones first: ``(n,)`` and the eigenvalues."""
    values, vectors = np.linalg.eigh(nx.laplacian_matrix(graph).toarray().astype(float))
    if metric == "angular":
        signal = signal / np.linalg.norm(signal, axis=-1, keepdims=True)
    return values, np.sum((vectors.T @ signal) ** 2, axis=-1)


@pytest.mark.parametrize("name", SMALL)
def test_energies_and_their_null_over_all_orders(name):
    graph = sorted_graph(SMALL[name])
    signal = np.random.default_rng(3).normal([2.0, 0.0], 1.0, (6, 2))
    reading = read(st.Stratification(graph, hops=1), signal, bands=2, fiedler=1, metric="euclidean")
    values, energy = energies(graph, signal)
    off = values > 1e-9
    space = np.round(values, 6)
    lowest = off & (space == space[off].min())
    assert reading.hops == (1,)
    assert reading.snapshots is None
    assert reading.n_snapshots == 1
    np.testing.assert_allclose(reading.total[0, 0], energy[off].sum())
    np.testing.assert_allclose(reading.off_zero[0, 0], energy[off].sum() / energy.sum())
    np.testing.assert_allclose(reading.energy[0, 0, :-1].sum(), energy[off].sum())
    np.testing.assert_allclose(reading.energy[0, 0, -1], energy[lowest].sum())
    assert reading.rank[0, :-1].sum() == off.sum()
    assert reading.rank[0, -1] == lowest.sum()
    np.testing.assert_allclose(reading.fiedler, [space[off].min()], atol=1e-6)
    order = np.array(list(itertools.permutations(range(6))))
    drawn = read(st.Stratification(graph, hops=1), signal[order], bands=2, fiedler=1, metric="euclidean").energy
    np.testing.assert_allclose(reading.mean[0, 0], drawn.mean(axis=0)[0], rtol=1e-9)
    np.testing.assert_allclose(reading.std[0, 0], drawn.std(axis=0)[0], rtol=1e-9)
    np.testing.assert_allclose(reading.ratio, reading.energy / reading.mean)
    np.testing.assert_allclose(reading.share, reading.energy / reading.total[..., None])
    np.testing.assert_allclose(reading.share_std, reading.std / reading.total[..., None])


def test_tails_are_those_of_a_gamma_distribution():
    reading = hand_made()
    above, below = reading.tails()
    for place in np.ndindex(reading.energy.shape):
        mean, std = reading.mean[place], reading.std[place]
        by_hand = gamma((mean / std) ** 2, scale=std**2 / mean)
        assert above[place] == pytest.approx(by_hand.sf(reading.energy[place]))
        assert below[place] == pytest.approx(by_hand.cdf(reading.energy[place]))
    for change in ({"std": reading.std * 0}, {"std": reading.std * np.nan}, {"mean": reading.mean * 0}):
        assert np.isnan(replace(reading, **change).tails()).all()


def test_a_result_knows_means_but_no_spread():
    graph = nx.path_graph(9)
    strat = st.Stratification(graph, hops=2)
    signal = np.random.default_rng(0).normal(size=(2, 9, 2))
    ds = strat.spectra(signal, ["in_agg", "gft"], metric="euclidean", keep=())
    plain, whole = read(ds), read(strat, signal, metric="euclidean")
    assert np.isnan(plain.std).all()
    assert not plain.nonnegative.any()
    for name in ("off_zero", "energy", "total", "rank", "fiedler"):
        np.testing.assert_allclose(getattr(plain, name), getattr(whole, name), rtol=1e-9, err_msg=name)
    np.testing.assert_allclose(plain.mean[:, 0], whole.mean[:, 0], rtol=1e-9)  # one part: the mean is known
    assert plain.graph_hash == whole.graph_hash == strat.graph.digest
    merged = read(st.merge_eigenspaces(ds))
    for name in ("energy", "mean", "rank", "off_zero"):
        np.testing.assert_allclose(getattr(merged, name), getattr(plain, name), rtol=1e-9, err_msg=name)


def test_what_is_read_from_a_kept_signal_is_the_signal():
    strat = st.Stratification(nx.path_graph(9), hops=2)
    values = xr.DataArray(
        np.abs(np.random.default_rng(0).normal(size=(2, 9, 2))),
        dims=("snapshot", "node", "dimension"),
        coords={"snapshot": ["one", "two"]},
    )
    kept, given = read(strat.spectra(values)), read(strat, values)
    for name in ("off_zero", "energy", "mean", "std", "total", "rank", "fiedler", "nonnegative"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(given, name), err_msg=name)
    assert kept.snapshots == given.snapshots == ["one", "two"]
    assert kept.nonnegative.all()
    assert not read(strat, values - 1).nonnegative.any()


def test_what_cannot_be_read():
    strat = st.Stratification(nx.path_graph(9), hops=1)
    for cut in (strat.spectra(range(9), n_eigs=4), strat.spectra(range(9)).isel(component=slice(1, None))):
        with pytest.raises(ResultError, match="of the 9 components at hop 1, and a diagnosis needs all of them"):
            read(cut)
    with pytest.raises(ResultError, match="zero components dropped, and a diagnosis needs them"):
        read(st.analysis.drop_zero(strat.spectra(range(9))))
    with pytest.raises(ResultError, match="gft"):
        read(strat.spectra(range(9), "in_agg"))
    for source in (None, np.zeros(3)):
        with pytest.raises(InputError):
            st.diagnose(source, range(9))
    with pytest.raises(OptionError, match="Give the signal too"):
        st.diagnose(nx.path_graph(9))
    of_graph, of_strat = (st.diagnose(given, range(9)) for given in (nx.path_graph(9), strat))
    assert str(of_strat) in str(of_graph)  # the graph is read at all hops
    for fiedler in (0, -1, 2.0, True, "3"):
        with pytest.raises(OptionError, match="fiedler="):
            st.diagnose(strat, range(9), fiedler=fiedler)


def test_zero_vectors_leave_a_snapshot_undefined():
    values = np.random.default_rng(1).normal(size=(3, 9, 2))
    values[1, 4] = 0
    reading = read(st.Stratification(nx.path_graph(9), hops=2), values)
    assert reading.defined.tolist() == [True, False, True]
    assert np.isnan(reading.mean[1]).all()
    assert np.isnan(reading.std[1]).all()


# ---- the words


def hand_made(count=1, **change):
    """Ten components in two bands at hops 1 and 3, as chance would have them."""
    shape = (count, 2, 3)
    given = {
        "hops": (1, 3),
        "snapshots": None if count == 1 else list(range(0, 10 * count, 10)),
        "off_zero": np.full(shape[:2], 0.8),
        "energy": np.tile([4.0, 4.0, 0.8], (*shape[:2], 1)),
        "mean": np.tile([4.0, 4.0, 0.8], (*shape[:2], 1)),
        "std": np.full(shape, 0.2),
        "total": np.full(shape[:2], 8.0),
        "rank": np.array([[5, 5, 2], [5, 4, 2]]),
        "fiedler": np.array([0.123456, 2.0]),
        "graph_hash": "g",
        "nonnegative": np.zeros(count, dtype=bool),
    }
    return Reading(**(given | change))


def changed(reading, name, place, value):
    array = getattr(reading, name).copy()
    array[place] = value
    return replace(reading, **{name: array})


def corrected(reading, place, side=0):
    """The p-value of a place, times the tests of its snapshot: two for each number."""
    tails = reading.tails()[side][place[0]]
    return min(1.0, tails[place[1:]] * 2 * np.sum(~np.isnan(tails)))


def test_nothing_beyond_chance():
    (found,) = _against_chance(hand_made(), 0, LIMITS)
    assert found.kind == "chance"
    assert found.text == "At K = 1, 3 the spectrum is not distinguishable from chance (smallest p = 1)."
    assert (found.hop, found.snapshot) == (None, None)
    assert found.evidence == {"p": 1.0, "hops": 2.0}


@pytest.mark.parametrize(("row", "who"), [(0, "neighbours"), (1, "nodes 3 hops apart")])
@pytest.mark.parametrize(
    ("band", "kind", "words"), [(0, "homophily", "alike: the slowest"), (1, "heterophily", "unlike: the fastest")]
)
def test_neighbours_alike_and_unlike(row, who, band, kind, words):
    reading = changed(hand_made(), "energy", (0, row, band), 5.0)
    found, rest = _against_chance(reading, 0, LIMITS)
    p = corrected(reading, (0, row, band))
    hop = (1, 3)[row]
    assert found.kind == kind
    assert found.text == f"At K = {hop} {who} are {words} band holds 1.25 times the energy of chance (p = {p:.2g})."
    assert found.hop == hop
    assert found.evidence == {"ratio": 1.25, "p": pytest.approx(p)}
    assert rest.kind == "chance"
    assert rest.text.startswith(f"At K = {(3, 1)[row]} the spectrum")
    assert rest.hop == (3, 1)[row]


def test_communities():
    reading = changed(hand_made(), "energy", (0, 0, 2), 4.0)
    found = next(_against_chance(reading, 0, LIMITS))
    assert found.kind == "community"
    assert found.text == (
        "At K = 1 the signal follows the coarsest division of the graph: the Fiedler eigenspaces "
        "(eigenvalues up to 0.123) hold 5.0 times the energy of chance (p < 1e-12)."
    )
    assert found.hop == 1
    assert found.evidence == {"ratio": 5.0, "p": pytest.approx(corrected(reading, (0, 0, 2))), "eigenvalue": 0.123456}


def test_a_snapshot_is_named():
    reading = changed(hand_made(2), "energy", (1, 0), [5.0, 3.0, 4.0])
    found = list(_against_chance(reading, 1, LIMITS))
    assert [one.kind for one in found] == ["homophily", "community", "chance"]
    assert all(one.snapshot == 10 for one in found)
    assert all(" in snapshot 10 " in one.text for one in found)
    assert _kinds(_against_chance(reading, 0, LIMITS)) == ["chance"]


def test_thresholds_of_size_and_of_chance():
    edge = changed(changed(hand_made(), "energy", (0, 0, 0), 4.4), "std", (0, 0, 0), 0.1)
    assert edge.ratio[0, 0, 0] == pytest.approx(LIMITS.homophily)
    at = replace(LIMITS, homophily=edge.ratio[0, 0, 0])
    assert "homophily" in _kinds(_against_chance(edge, 0, at))
    assert "homophily" not in _kinds(_against_chance(edge, 0, replace(at, homophily=at.homophily * (1 + 1e-12))))
    p = corrected(edge, (0, 0, 0))
    assert "homophily" in _kinds(_against_chance(edge, 0, replace(at, alpha=p)))
    assert "homophily" not in _kinds(_against_chance(edge, 0, replace(at, alpha=p * (1 - 1e-9))))
    many = changed(hand_made(), "energy", (0, 0, 2), 2.4)
    at = replace(LIMITS, community=many.ratio[0, 0, 2])
    assert "community" in _kinds(_against_chance(many, 0, at))
    assert "community" not in _kinds(_against_chance(many, 0, replace(at, community=3.1)))


def test_too_little_energy_is_not_chance_either():
    """A band far below its mean is no chance, though it has no name."""
    reading = changed(hand_made(), "energy", (0, 0, 0), 3.0)
    (found,) = _against_chance(reading, 0, LIMITS)
    assert found.text.startswith("At K = 3 the spectrum")
    assert found.evidence["hops"] == 1.0


def test_few_components_are_not_spoken_of():
    few = hand_made(rank=np.array([[4, 3, 2], [4, 4, 2]]))
    (found,) = _against_chance(few, 0, LIMITS)
    assert found.hop == 3  # eight are enough, seven are not
    assert not list(_against_chance(hand_made(std=np.full((1, 2, 3), np.nan)), 0, LIMITS))


def _kinds(findings):
    return [one.kind for one in findings]


def test_shifts_between_snapshots():
    reading = changed(hand_made(2), "energy", (1, 0), [6.0, 2.0, 0.8])
    (found,) = _shifts(reading, 0, reading, 1, LIMITS, ("low_pass", "high_pass"))
    z = (6 / 8 - 4 / 8) / np.hypot(0.2 / 8, 0.2 / 8)
    p = 2 * norm.sf(z) * 4
    assert found.kind == "low_pass"
    assert found.text == (
        "At K = 1 the step is low-pass from snapshot 0 to 10: the share of energy off zero in the slowest band "
        f"goes from 0.50 to 0.75 (p = {p:.2g})."
    )
    assert (found.hop, found.snapshot) == (1, 10)
    assert found.evidence == {"before": 0.5, "after": 0.75, "band": 0.0, "p": pytest.approx(p)}
    (back,) = _shifts(reading, 1, reading, 0, LIMITS, ("low_pass", "high_pass"))
    assert back.kind == "high_pass"
    assert "is high-pass from snapshot 10 to 0: the share of energy off zero in the fastest band" in back.text
    assert back.evidence["band"] == 1.0
    assert (back.evidence["before"], back.evidence["after"]) == (0.25, 0.5)


def test_shifts_that_are_too_small_or_may_be_chance():
    reading = changed(hand_made(2), "energy", (1, 0), [5.0, 3.0, 0.8])
    kinds = ("low_pass", "high_pass")
    change = reading.share[1, 0, 0] - reading.share[0, 0, 0]
    assert _kinds(_shifts(reading, 0, reading, 1, replace(LIMITS, shift=change), kinds)) == ["low_pass"]
    assert not list(_shifts(reading, 0, reading, 1, replace(LIMITS, shift=change * 1.001), kinds))
    wide = replace(reading, std=np.full((2, 2, 3), 0.5))
    assert not list(_shifts(wide, 0, wide, 1, LIMITS, kinds))
    for one in (0, 1):  # the spread of either end counts, band by band
        unsure = changed(reading, "std", (one, 0, 0), 5.0)
        assert not list(_shifts(unsure, 0, unsure, 1, LIMITS, kinds))
        elsewhere = changed(reading, "std", (one, 0, 2), 5.0)
        assert _kinds(_shifts(elsewhere, 0, elsewhere, 1, LIMITS, kinds)) == ["low_pass"]
        unsure = changed(reading, "std", (one, 0, 1), 5.0)
        assert not list(_shifts(unsure, 1, unsure, 0, LIMITS, kinds))
    unknown = replace(reading, std=reading.std * np.nan)
    assert not list(_shifts(unknown, 0, unknown, 1, LIMITS, kinds))
    few = replace(reading, rank=np.array([[4, 3, 2], [5, 4, 2]]))
    assert not list(_shifts(few, 0, few, 1, LIMITS, kinds))
    eight = replace(reading, rank=np.array([[4, 4, 2], [5, 4, 2]]))
    assert _kinds(_shifts(eight, 0, eight, 1, LIMITS, kinds)) == ["low_pass"]


def test_two_signals_differ_where_they_differ_most():
    this, other = changed(hand_made(), "energy", (0, 1), [1.0, 7.0, 0.8]), hand_made()
    (found,) = _shifts(other, 0, this, 0, LIMITS, ("differ",))
    assert found.text.startswith(
        "At K = 3 the two signals differ: of the energy off zero, the slowest band holds 0.50 in the "
        "other signal and 0.12 in this one (p "
    )
    assert found.evidence["before"] == 0.5
    assert found.evidence["after"] == 0.125
    three = Reading(
        **(
            hand_made().__dict__
            | {name: np.repeat(getattr(this, name), [1, 1, 2], axis=-1) for name in ("mean", "std", "rank")}
            | {"energy": np.array([[[4.0, 0.0, 4.0, 1.0], [4.0, 0.0, 4.0, 1.0]]])}
        )
    )
    shifted = changed(three, "energy", (0, 0), [1.0, 5.0, 4.0, 1.0])
    (found,) = _shifts(three, 0, shifted, 0, LIMITS, ("differ",))
    assert "band 2 holds 0.00 in the other signal and 0.62 in this one" in found.text


def falling(*off, **change):
    """Snapshots whose energy off zero falls, the slowest band above chance."""
    reading = hand_made(len(off), **change)
    reading = changed(reading, "off_zero", (slice(None), 0), off)
    return changed(reading, "energy", (slice(1, None), 0, 0), 6.0)


def test_over_smoothing_in_words():
    reading = falling(0.8, 0.4, 0.2, 0.1)
    found = list(_over_smoothing(reading, None, 0, LIMITS))
    assert [(one.kind, one.snapshot, one.hop) for one in found] == [
        ("over_smoothing", 20, 1),
        ("over_smoothing", 30, 1),
    ]
    factor = 2 ** (1 / 10)
    assert found[0].text == (
        "Over-smoothing in snapshot 20: 0.2 of the energy at K = 1 is off zero, against 0.8 in snapshot 0, and "
        "the slowest band holds 1.50 times the energy of chance; "
        f"on average it falls by a factor of {factor:.3g} per step."
    )
    assert found[0].evidence["rate"] == pytest.approx(-np.log(2) / 10)
    assert {name: found[0].evidence[name] for name in ("off_zero", "control", "ratio")} == {
        "off_zero": 0.2,
        "control": 0.8,
        "ratio": 1.5,
    }
    assert found[0].evidence["p"] == pytest.approx(reading.tails()[0][2, 0, 0])


def test_decay_and_size_must_both_be_there():
    assert not list(_over_smoothing(falling(0.8, 0.21), None, 0, LIMITS))
    assert not list(_over_smoothing(falling(0.78, 0.2), None, 0, LIMITS))
    assert _kinds(_over_smoothing(falling(0.8, 0.2), None, 0, LIMITS)) == ["over_smoothing"]


def test_collapse_is_what_does_not_follow_the_graph():
    reading = changed(falling(0.8, 0.4, 0.1), "energy", (slice(None), 0, 0), 4.0)
    (found,) = _over_smoothing(reading, None, 0, LIMITS)
    assert found.kind == "collapse"
    assert found.text.startswith(
        "Collapse in snapshot 20: 0.1 of the energy at K = 1 is off zero, against 0.8 in snapshot 0;"
    )
    assert "slowest band" not in found.text
    at = changed(reading, "energy", (2, 0, 0), 4 * LIMITS.homophily)
    at = replace(at, std=np.full(at.std.shape, 0.01))
    ratio = float(at.ratio[2, 0, 0])
    assert _kinds(_over_smoothing(at, None, 0, replace(LIMITS, homophily=ratio))) == ["over_smoothing"]
    unsure = replace(at, std=np.full(at.std.shape, 5.0))
    assert _kinds(_over_smoothing(unsure, None, 0, replace(LIMITS, homophily=ratio))) == ["collapse"]
    unknown = replace(at, std=np.full(at.std.shape, np.nan))
    assert _kinds(_over_smoothing(unknown, None, 0, replace(LIMITS, homophily=ratio))) == ["over_smoothing"]


def test_relu_is_allowed_for():
    reading = falling(0.8, 0.1, nonnegative=np.array([False, True]))
    assert not list(_over_smoothing(reading, None, 0, LIMITS))
    (found,) = _over_smoothing(changed(reading, "off_zero", (1, 0), 0.08), None, 0, LIMITS)
    assert "against 0.32 in snapshot 0 less what ReLU alone takes, and" in found.text
    assert found.evidence["control"] == pytest.approx(0.32)
    always = replace(reading, nonnegative=np.array([True, True]))
    assert "ReLU" not in next(_over_smoothing(always, None, 0, LIMITS)).text


def test_a_control_for_each_or_their_median():
    reading = falling(0.1, 0.1)
    each = changed(hand_made(2), "off_zero", (slice(None), 0), [0.3, 0.9])
    (found,) = _over_smoothing(reading, each, 0, LIMITS)
    assert found.snapshot == 10
    assert "against 0.9 in the control" in found.text
    three = changed(hand_made(3), "off_zero", (slice(None), 0), [0.3, 0.9, 0.5])
    assert [one.evidence["control"] for one in _over_smoothing(reading, three, 0, LIMITS)] == [0.5, 0.5]
    one = changed(hand_made(), "off_zero", (0, 0), 0.9)
    assert [one.evidence["control"] for one in _over_smoothing(reading, one, 0, LIMITS)] == [0.9, 0.9]
    alone = changed(hand_made(), "off_zero", (0, 0), 0.1)
    (found,) = _over_smoothing(alone, one, 0, LIMITS)
    assert found.text == "Collapse: 0.1 of the energy at K = 1 is off zero, against 0.9 in the control."


def test_one_signal_alone_is_called_nearly_constant():
    at = changed(hand_made(), "off_zero", (0, 0), 0.05)
    (found,) = _over_smoothing(at, None, 0, LIMITS)
    assert found.kind == "near_constant"
    assert found.text == (
        "The signal is nearly constant: 0.05 of its energy at K = 1 is off zero; "
        "whether something smoothed it away needs a control."
    )
    assert (found.hop, found.evidence) == (1, {"off_zero": 0.05})
    assert not list(_over_smoothing(changed(at, "off_zero", (0, 0), 0.051), None, 0, LIMITS))


@pytest.mark.parametrize(
    ("labels", "rate"),
    [([0, 1, 2], -np.log(2)), ([0, 10, 20], -np.log(2) / 10), (["a", "b", "c"], -np.log(2)), (None, np.nan)],
)
def test_rates_count_in_the_labels_of_snapshots(labels, rate):
    off = (0.4, 0.2, 0.1) if labels else (0.4, 0.1)
    found = list(_over_smoothing(falling(*off, snapshots=labels), None, 0, LIMITS))
    assert found[-1].evidence["rate"] == pytest.approx(rate, nan_ok=True)
    assert ("falls by" in found[-1].text) == bool(labels)
    rising = list(_over_smoothing(falling(0.8, 0.05, 0.1, 0.19), None, 0, replace(LIMITS, decay=1.0)))
    assert np.isfinite(rising[0].evidence["rate"])


def test_undefined_snapshots_are_named_and_counted():
    strat = st.Stratification(nx.path_graph(12), hops=1)
    values = np.random.default_rng(0).normal(size=(14, 12, 2))
    values[2:12, 3] = 0
    found = st.diagnose(strat, values).of("undefined")
    assert str(found) == (
        "Not judged for zero vectors or no energy: the signal in snapshot 2, 3, 4, 5, 6, 7, 8, 9 and 2 more."
    )
    assert found[0].evidence == {"snapshots": 10.0}
    assert str(st.diagnose(strat, values[:10]).of("undefined")).endswith("snapshot 2, 3, 4, 5, 6, 7, 8, 9.")
    assert str(st.diagnose(strat, values[2])) == "Not judged for zero vectors or no energy: the signal."
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        beside = st.diagnose(strat, values[0], control=values[2], other=values[2])
    assert [one.text for one in beside.of("undefined")] == [
        "Not judged for zero vectors or no energy: the control.",
        "Not judged for zero vectors or no energy: the other signal.",
    ]
    assert not beside.kinds & {"differ", "over_smoothing", "collapse", "near_constant"}


def test_the_last_snapshot_says_only_what_is_new():
    graph = nx.planted_partition_graph(2, 30, 0.4, 0.02, seed=1)
    strat = st.Stratification(graph, hops=1)
    noise = np.random.default_rng(0).normal(size=(60, 4))
    blocks = noise + 3 * (np.arange(60) < 30)[:, None]
    twice = st.diagnose(strat, np.stack([blocks, blocks]))
    assert [(one.kind, one.snapshot) for one in twice] == [("homophily", 0), ("community", 0)]
    later = st.diagnose(strat, np.stack([noise, blocks]))
    assert {("homophily", 1), ("community", 1), ("chance", 0)} <= {(one.kind, one.snapshot) for one in later}


def test_options_reach_the_signal_and_what_stands_beside_it():
    strat = st.Stratification(nx.path_graph(12), hops=1)
    long = np.random.default_rng(0).normal(size=(12, 2))
    long[3:6] *= 1000
    plain = st.diagnose(strat, long, other=long, control=long, bands=2, metric="euclidean")
    assert str(plain) == str(st.diagnose(strat, long, bands=2, metric="euclidean"))
    assert str(plain) != str(st.diagnose(strat, long, bands=2, metric="angular"))
    with pytest.raises(ZeroVectorError):
        st.diagnose(strat, long, other=long * 0, zero_vectors="error")


def test_what_was_not_kept_is_asked_for():
    strat = st.Stratification(nx.path_graph(12), hops=1)
    found = st.diagnose(strat.spectra(np.arange(12.0), "gft", keep=()))
    assert str(found.of("unjudged")) == "Chance was not judged: the signal was not kept; pass it as signal=."


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_shares_do_not_depend_on_size(size):
    strat = st.Stratification(nx.path_graph(12), hops=1)
    signal = np.random.default_rng(0).normal(size=(12, 2))
    plain, sized = (read(strat.spectra(s, "gft", metric="euclidean", keep=())) for s in (signal, signal * size))
    for name in ("off_zero", "share", "ratio"):
        np.testing.assert_allclose(getattr(sized, name), getattr(plain, name), rtol=1e-9)


def test_other_graphs_and_hops_are_refused():
    strat = st.Stratification(nx.path_graph(12), hops=1)
    signal = np.arange(12.0)
    for graph, hops in ((nx.cycle_graph(12), 1), (nx.path_graph(12), 2)):
        beside = st.spectra(graph, signal, "gft", hops=hops)
        for name in ("control", "other"):
            with pytest.raises(OptionError, match="same graph, at the same hops"):
                st.diagnose(strat, signal, **{name: beside})


@pytest.mark.parametrize("name", ["alpha", "homophily", "community", "shift", "decay", "collapsed", "constant"])
@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf])
def test_every_threshold_is_a_positive_number(name, value):
    strat = st.Stratification(nx.path_graph(12), hops=1)
    with pytest.raises(OptionError, match=f"{name}="):
        st.diagnose(strat, np.arange(12.0), **{name: value})


def test_findings_as_a_list_and_a_table():
    one, two = Finding("a", "First.", 1, "x", {"p": 0.5}), Finding("b", "Second.")
    found = Findings([one, two])
    assert str(found) == "First.\nSecond."
    assert str(one) == "First."
    assert found.of("b") == [two]
    table = found.table()
    assert list(table.columns) == ["kind", "hop", "snapshot", "text", "p"]
    assert table.loc[0].tolist() == ["a", 1, "x", "First.", 0.5]
    assert list(Findings().table().columns) == ["kind", "hop", "snapshot", "text"]
    assert str(Findings()) == "Nothing found."
    assert two.evidence == {}
