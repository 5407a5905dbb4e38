"""What summaries, responses, correlations and distinctions hold, counted by hand, and what they are called."""

import networkx as nx
import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm, pearsonr, spearmanr

import spectrata as st
from spectrata.errors import OptionError, ResultError
from spectrata.stats.describe.spectrum import band_energy_shares
from spectrata.stats.describe.summary import NotedTable
from spectrata.stats.findings import Finding, sentences, watched
from spectrata.stats.findings.finding import explained
from spectrata.stats.verbs.reading import stratify

GRAPH = nx.path_graph(9)  # no eigenvalue twice at one hop; two parts at two
STRAT = st.Stratification(GRAPH, hops=2)
SIGNAL = np.random.default_rng(0).normal([1.0, 0.0], 1.0, (6, 9, 2))


# ---- summary


@pytest.mark.parametrize("snapshots", [False, True])
def test_a_summary_by_hand(snapshots):
    signal = SIGNAL if snapshots else SIGNAL[0]
    ds = STRAT.spectra(signal, ["in_agg", "gft"], metric="euclidean")
    table = st.summary(ds, bands=2)
    assert len(table) == 2 * 2 * (6 if snapshots else 1)
    assert ("snapshot" in table) == snapshots
    for _, row in table.iterrows():
        assert row["status"] == "ok"
        if row["hop"] == 1:  # other columns: test_composition
            one = ds.sel(hop=1)["magnitude"].loc[row["algorithm"]]
            energy = (one.sel(snapshot=row["snapshot"]) if snapshots else one).values[1:] ** 2
            assert row["lowest"] == pytest.approx(energy[:4].sum() / energy.sum())
            assert row["peak"] == pytest.approx(ds["eigenvalue"].sel(hop=1).values[1:][energy.argmax()])


# ---- response


BEFORE = np.random.default_rng(2).normal(size=(40, 2))
RING = st.Stratification(nx.cycle_graph(40), hops=2)
AFTER = (BEFORE + np.roll(BEFORE, 1, axis=0) + np.roll(BEFORE, -1, axis=0)) / 3


def test_a_response_by_hand():
    found = st.response(BEFORE, AFTER, RING, bands=2, metric="euclidean")
    first, second = (RING.spectra(s, "gft", metric="euclidean") for s in (BEFORE, AFTER))
    for row, hop in enumerate((1, 2)):  # gain, response and relative: test_composition
        one, two = (ds["magnitude"].loc["gft"].sel(hop=hop).values ** 2 for ds in (first, second))
        lower, upper = found["band_lower"].values[row], found["band_upper"].values[row]
        value, off = first["eigenvalue"].sel(hop=hop).values, first["eigenspace"].sel(hop=hop).values > 0
        for band in (0, 1):
            inside = off & (value >= lower[band] - 1e-9) & (value <= upper[band] + 1e-9)
            for name, energy in (("share_before", one), ("share_after", two)):
                assert float(found[name][row, band]) == pytest.approx(energy[inside].sum() / energy[off].sum())
    assert found["response"].dims == found["share_after"].dims == ("hop", "band")
    expected = {"metric": "euclidean", "graph_hash": RING.graph.digest, "level": "band", "kind": "response"}
    assert found.attrs.items() >= expected.items()
    assert found["status"].values.tolist() == ["ok", "ok"]
    per = st.response(BEFORE, AFTER, RING, level="eigenspace", metric="euclidean")
    assert per["response"].dims == ("hop", "component")
    assert {"eigenvalue", "eigenspace", "multiplicity"} <= set(per.coords)
    assert per["status"].values.tolist() == ["ok"] * 2


@pytest.mark.parametrize("word", ["before", "after"])
def test_several_snapshots_do_not_respond(word):
    signals = {"before": BEFORE, "after": AFTER} | {word: np.stack([BEFORE, AFTER])}
    with pytest.raises(OptionError, match=f"{word} holds 2 snapshots"):
        st.response(signals["before"], signals["after"], RING)
    results = {name: RING.spectra(values, "gft") for name, values in signals.items()}
    with pytest.raises(OptionError, match=f"{word} holds snapshots; select one"):
        st.response(results["before"], results["after"])


# ---- correlate and distinguish


def test_a_correlation_by_hand():
    ds = STRAT.spectra(SIGNAL, ["gft", "in_agg"])
    target = np.random.default_rng(5).normal(size=6)
    found = st.stats.correlate(ds, target, of="magnitude", confidence=0.9)
    values = found["pearson"]
    where = tuple(np.argwhere(~np.isnan(values.values))[3])
    place = dict(zip(values.dims, where, strict=True))
    of = ds[found.attrs["of"]].isel(place).values
    r, rho = pearsonr(of, target)[0], spearmanr(of, target)[0]
    cell = found.isel(place)
    assert float(cell["pearson"]) == pytest.approx(r)
    assert float(cell["spearman"]) == pytest.approx(rho)
    reach = norm.ppf(0.95)
    for name, value, error in (("pearson", r, 3**-0.5), ("spearman", rho, ((1 + rho**2 / 2) / 3) ** 0.5)):
        assert float(cell[f"{name}_low"]) == pytest.approx(np.tanh(np.arctanh(value) - reach * error))
        assert float(cell[f"{name}_high"]) == pytest.approx(np.tanh(np.arctanh(value) + reach * error))
    assert int(cell["n_used"]) == 6
    expected = {"of": "magnitude", "confidence": 0.9, "n_snapshots": 6, "kind": "correlations"}
    assert found.attrs.items() >= expected.items()
    four = st.stats.correlate(ds.isel(snapshot=slice(0, 4)), target[:4])
    width = np.arctanh(four["pearson_high"]) - np.arctanh(four["pearson"])
    np.testing.assert_allclose(width, norm.ppf(0.975), rtol=1e-6)
    with pytest.raises(OptionError, match="at least four"):
        st.stats.correlate(ds.isel(snapshot=slice(0, 3)), target[:3])


def test_a_distinction_is_labelled():
    noise = np.random.default_rng(6)
    a = STRAT.spectra(noise.normal(size=(4, 9, 2)), ["gft", "in_agg"])
    b = STRAT.spectra(noise.normal([3.0, 0.0], 1.0, (3, 9, 2)), ["in_agg", "gft"])
    found = st.stats.distinguish(a, b, draws=19)
    assert {"wasserstein", "p"} <= set(found.data_vars)
    assert {"n_a": 4, "n_b": 3, "draws": 19}.items() <= found.attrs.items()
    same = st.stats.distinguish(a, b, draws=19)
    np.testing.assert_array_equal(found["p"], same["p"])
    for groups, word in (((a.isel(snapshot=0), b), "group_a"), ((a, b.isel(snapshot=0)), "group_b")):
        with pytest.raises((OptionError, ResultError), match=rf"\b{word}\b"):
            st.stats.distinguish(*groups)


# ---- compare


def test_a_complete_graph_has_nothing_to_test():
    """r = -1 / (n - 1) for every signal: neither alike nor at chance."""
    graph, signal = nx.complete_graph(12), np.random.default_rng(0).normal(size=12)
    found = st.diagnose(graph, signal)
    assert (found[0].kind, found[0].verdict) == ("undefined", "r same in every order")
    assert found[0].value == pytest.approx(-1 / 11)
    assert "every node with a pair is paired with every other" in str(found)
    assert st.correlogram(graph, signal)["verdict"].values.tolist() == ["not tested"]
    assert all(len(line) <= 80 for line in str(found).splitlines()[:-1])


def test_many_snapshots_print_six_tables():
    signals = np.random.default_rng(0).normal(size=(9, 20, 1))
    lines = str(st.diagnose(nx.path_graph(20), signals, hops=1)).splitlines()
    assert lines[0] == "6 of 9 tables; to_frame() has all."
    assert [line for line in lines if line.startswith("Snapshot")][-2:] == ["Snapshot 4:", "Snapshot 8:"]


# ---- words and small parts of readings


def test_words_about_hops_columns_and_covariates():
    assert [sentences.runs(hops) for hops in ([1, 2, 3, 5], [4], [2, 3])] == ["1 to 3 and 5", "4", "2 and 3"]
    assert sentences.listed([1, 2, 5]) == "1, 2 and 5"
    assert sentences.listed(range(20)) == "0, 1, 2, 3, 4, 5, 6, 7 and 12 more"
    names = [sentences.covariate_names(given) for given in ("degree", ["degree", "batch"], None)]
    assert names == [["degree"], ["degree", "batch"], []]
    assert watched.row_label("conv1", 7, 3, "train") == "conv1, epoch 3"
    assert watched.row_label("conv1", 8, watched.NO_LABEL, "eval") == "conv1, step 8, eval"
    words = "the result holds no signal; use st.diagnose(result, signal=x)."
    assert watched.giving_signal(xr.Dataset(), "st.diagnose(result, signal=x)", "") == words


def test_the_sentence_of_a_test_has_its_numbers():
    numbers = {"value": 0.7, "chance_low": -0.2, "chance_high": 0.15, "p_family": 0.002, "value_given": 0.6}
    one = Finding("alike", "", 1, **numbers, p_family_given=0.004, verdict="alike", statistic="r")
    said = "Neighbours are alike: r = 0.700 (chance -0.200 to 0.150, p = 0.002)"
    assert sentences.sentence(one, "degree") == f"{said}; given degree r = 0.600, p = 0.004."
    assert sentences.sentence(one, "") == f"{said}."


def test_first_sentences_of_commands():
    said = "2 of 34 nodes are like or unlike their neighbours beyond chance and degree: 2 high among high."
    assert sentences.local_sentence(["high among high"] * 2, 34, [1], ["degree"]) == said
    said = "No agreement beyond their smoothness was found (chance)."
    assert sentences.agree_sentence(["chance"], "spectral") == said
    words = ["unlike: r below chance, also given degree", "chance: r not distinguishable from chance"]
    assert explained(["unlike", "chance", "unlike"], "degree") == words


def test_hops_of_a_graph_and_of_a_stratification():
    strat = st.Stratification(nx.path_graph(6), 4)
    assert [stratify(strat, hops, None).hops for hops in (2, [3], None)] == [(1, 2), (3,), (1, 2, 3, 4)]


def test_a_table_prints_its_note_above_itself():
    table = NotedTable({"hop": [1]})
    table.attrs["note"] = "compared by direction"
    assert str(table) == "compared by direction\n   hop\n0    1"
    assert "compared" not in str(table["hop"])


def test_shares_of_bands_count_the_energy_outside_their_edges():
    ds = st.band_spectra(nx.cycle_graph(4), [3.0, 1.0, 0.0, 1.0], bands=[0, 3], algorithms="gft")
    np.testing.assert_allclose(band_energy_shares(ds), [[[4.5 / 4.75]]])  # 4.5 at eigenvalue 2, and 0.25 at 4


def test_p_is_printed_alike_by_table_and_page():
    """A p that is half a unit of the third decimal, but for the last bit: 35 of 10,000 orders."""
    from spectrata.report.encode import numbers
    from spectrata.stats.findings.finding import shown_p

    for p, words in (
        (0.0035 - 1e-18, "0.004"),
        (0.0034999999999, "0.004"),
        (0.00099999999999, "0.001"),
        (0.0009, "< 0.001"),
    ):
        assert shown_p(p) == shown_p(numbers(p)) == words
