"""Laws of what is read from a result: compared, calibrated, correlated and drawn."""

import networkx as nx
import numpy as np

import spectrata as st


def test_results_of_two_edges_are_not_taken_for_a_matrix():
    """Two edges are a 2 x 2 array; what rebuilds the graph of a result must know them for rows."""
    graph, signal = nx.path_graph(3), [[0.0, 1.0], [1.0, 2.0], [4.0, 1.0]]
    strat = st.Stratification(graph)
    ds = strat.spectra(signal)
    assert st.diagnose(ds, draws=39).tests
    assert st.response(ds, strat.spectra([[1.0, 1.0], [1.0, 3.0], [2.0, 1.0]]))["share_after"].notnull().any()
    found = st.calibrate(strat, signal, null="rewire", draws=39, level="band", bands=1)
    assert found.attrs["draws"] == 39


def test_rounding_off_zero_is_no_spectrum():
    """A constant signal has nothing off zero but rounding: nothing is compared, shared out or gained there."""
    strat = st.Stratification(nx.gnp_random_graph(30, 0.2, seed=1), hops=2)
    rng = np.random.default_rng(0)
    other = strat.spectra(rng.standard_normal((30, 3)), "gft")
    direction = np.array([0.1, 0.7, 0.3])
    collapsed = strat.spectra(direction * rng.uniform(0.5, 3.0, (30, 1)), "gft")
    assert (st.stats.drop_zero(collapsed)["magnitude"].sum("component") > 0).all(), "no rounding to be mistaken"
    found = st.compare(collapsed, other)
    assert found["cosine"].isnull().all()
    assert (found["status"] == "undefined: a spectrum without energy").all()
    assert st.summary(collapsed)[["centroid", "peak"]].isnull().all(axis=None)
    found = st.response(collapsed, other)
    assert found["gain"].isnull().all()
    assert (found["status"] == "undefined: no energy before or after").all()
    assert found["share_before"].isnull().all()
    assert found["share_after"].notnull().any()
    found = st.calibrate(strat, direction * np.ones((30, 1)), draws=39)
    assert found["share"].isnull().all()
    assert (found["status"] == "undefined: no energy off zero").all()


def test_an_undefined_snapshot_has_no_length_to_correlate():
    """A zero vector leaves a snapshot NaN; its length is not 0, and no coefficient is given with it."""
    rng = np.random.default_rng(0)
    many = rng.standard_normal((6, 5, 2))
    ds = st.spectra(nx.path_graph(5), many, "in_agg", hops=1)
    whole = st.stats.correlate(ds, range(6), of="magnitude_norm")
    assert whole["pearson"].notnull().all()
    many[3, 2] = 0.0
    ds = st.spectra(nx.path_graph(5), many, "in_agg", hops=1, zero_vectors="nan")
    assert st.stats.correlate(ds, range(6), of="magnitude_norm")["pearson"].isnull().all()
