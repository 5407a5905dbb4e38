"""What summaries, responses, correlations and distinctions hold, counted by hand, and what they are called."""

import networkx as nx
import numpy as np
import pytest
from scipy.stats import norm, pearsonr, spearmanr

import spectrata as st
from spectrata.errors import OptionError, ResultError

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


def test_a_summary_counts_repeated_eigenvalues():
    ds = st.spectra(nx.complete_bipartite_graph(2, 4), np.arange(6.0), "gft", hops=1)
    (row,) = st.summary(ds).to_dict("records")
    assert (row["eigenspaces"], row["ambiguous"]) == (4, 3)
    three = st.summary(STRAT.spectra(SIGNAL[0], "gft"), bands=3).iloc[0]
    energy = STRAT.spectra(SIGNAL[0], "gft")["magnitude"].loc["gft", 1].values[1:] ** 2
    assert three["lowest"] == pytest.approx(energy[:3].sum() / energy.sum())
    assert three["highest"] == pytest.approx(energy[5:].sum() / energy.sum())
    nothing = st.summary(STRAT.spectra(np.ones(9), "gft")).iloc[0]
    assert np.isnan(nothing["peak"])
    assert np.isnan(nothing["centroid"])


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
    assert "All nodes are joined" in str(found)
    assert st.correlogram(graph, signal)["verdict"].values.tolist() == ["not tested"]
    assert all(len(line) <= 80 for line in str(found).splitlines()[:-1])


def test_many_snapshots_print_six_tables():
    signals = np.random.default_rng(0).normal(size=(9, 20, 1))
    lines = str(st.diagnose(nx.path_graph(20), signals, hops=1)).splitlines()
    assert lines[0] == "6 of 9 tables; to_frame() has all."
    assert [line for line in lines if line.startswith("Snapshot")][-2:] == ["Snapshot 4:", "Snapshot 8:"]
