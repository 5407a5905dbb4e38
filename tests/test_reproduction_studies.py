"""The studies regenerate from one seed, and the command line reads results."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import spectrata as st
from reproduction.studies import calibration, fidelity


def test_gft_of_a_real_signal_is_the_classic_one():
    for seed, graph in enumerate((nx.gnp_random_graph(40, 0.15, seed=1), nx.grid_2d_graph(6, 6))):
        graph = nx.convert_node_labels_to_integers(graph)
        strat = st.Stratification(graph, hops=[1])
        values = np.random.default_rng(seed).normal(size=len(graph))
        _, vectors = np.linalg.eigh(nx.laplacian_matrix(graph, nodelist=range(len(graph))).toarray().astype(float))
        ds = st.merge_eigenspaces(strat.spectra(values, "gft"))
        ours = ds["magnitude"].loc["gft", 1].values[: int(ds["n_eigenspaces"][0])]
        spaces = strat.basis(1).eigenspace
        classic = np.sqrt(np.bincount(spaces, (vectors.T @ values) ** 2))
        assert ours @ classic / np.linalg.norm(ours) / np.linalg.norm(classic) == pytest.approx(1, abs=1e-12)


@pytest.mark.long
def test_the_fidelity_table_regenerates_from_its_seed(tmp_path):
    one = fidelity.run(tmp_path / "one", seed=3, quick=True)
    two = fidelity.run(tmp_path / "two", seed=3, quick=True)
    pd.testing.assert_frame_equal(one, two)
    assert (tmp_path / "one" / "fidelity.md").read_bytes() == (tmp_path / "two" / "fidelity.md").read_bytes()
    gft = one[(one["algorithm"] == "gft") & (one["metric"] == "euclidean")]
    np.testing.assert_allclose(gft["correlation"], 1, atol=1e-12)
    assert set(one["planted"]) == set(fidelity.SPECTRA)
    assert set(one["d"]) == set(fidelity.DIMENSIONS)
    assert set(one["graph"]) == {"ER", "SBM", "grid"}


def test_the_other_table_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(calibration, "QUICK_SIGNALS", 20)
    monkeypatch.setattr(calibration, "DRAWS", 99)
    kept = {"symmetric: Petersen": nx.petersen_graph()}
    monkeypatch.setattr(calibration, "graphs", lambda seed: kept)
    table = calibration.run(tmp_path, quick=True)
    gft = table.query("algorithm == 'gft' and level == 'eigenspace'").set_index("signal")
    assert set(gft.index) == {*calibration.KINDS, "vectors"}
    assert gft["p <= 0.05"].dropna().between(0, 0.25).all()
    assert {"adj_diff", "ln_vx", "ens"} <= set(table["algorithm"])
