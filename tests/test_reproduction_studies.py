"""The studies regenerate from one seed, and the command line reads results."""

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import spectrata as st
from reproduction.studies import calibration, fidelity
from spectrata.cli.app import app


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
    kept = {"symmetric: Petersen": nx.petersen_graph()}
    monkeypatch.setattr(calibration, "graphs", lambda seed: kept)
    table = calibration.run(tmp_path, quick=True)
    assert len(table) == 2 * 7  # widths and algorithms
    assert table.loc[table["algorithm"] == "gft", "rejected"].between(0, 0.25).all()


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    graph = nx.planted_partition_graph(2, 15, 0.5, 0.05, seed=1)
    nx.write_edgelist(graph, "graph.edgelist", data=False)
    rng = np.random.default_rng(0)
    for name, step in (("a", 5.0), ("b", 0.0)):
        values = rng.normal(size=(30, 2)) + step * (np.arange(30) < 15)[:, None]
        pd.DataFrame(values, index=range(30)).to_csv(f"{name}.csv")
    return tmp_path


def test_profile_calibrates_and_compare_compares(files):
    run = CliRunner().invoke
    done = run(app, ["profile", "graph.edgelist", "a.csv", "-o", "A", "--hops", "1", "--calibrate", "--draws", "99"])
    assert done.exit_code == 0, done.output
    assert "99 permutations" in done.output
    assert "follows the main divide" in done.output
    table = pd.read_csv(files / "A" / "calibrated.csv")
    assert {"p", "q", "chance", "ratio"} <= set(table.columns)
    done = run(
        app, ["profile", "graph.edgelist", "b.csv", "-o", "B", "--hops", "1", "--calibrate", "--draws", "39", "--json"]
    )
    assert done.exit_code == 0, done.output
    assert {"chance", "findings"} <= set(json.loads(done.stdout))
    Path("path.txt").write_text("a b\nb c\n", encoding="utf-8")
    Path("path.csv").write_text("a,1\nb,2\nc,5\n", encoding="utf-8")
    done = run(app, ["profile", "path.txt", "path.csv", "-o", "C", "--hops", "1", "--calibrate", "--algorithms", "gft"])
    assert done.exit_code == 0, done.output
    # Of the 6 orders of 1, 2, 5 on a path 2 give a share of (1 - 5)^2 / 2 over 26 / 3 or more: p = 2 * 2 / 6.
    found = pd.read_csv(files / "C" / "calibrated.csv").query("component > 0")
    np.testing.assert_allclose(found["share"], [12 / 13, 1 / 13])
    np.testing.assert_allclose(found["p"], 2 / 3, atol=0.07)
    done = run(app, ["compare", "A/spectra.nc", "B/spectra.nc"])
    assert done.exit_code == 0, done.output
    assert done.output.index("correlation") < done.output.index("cosine") < done.output.index("(flat, A)")
    rows = json.loads(run(app, ["compare", "A/spectra.nc", "B/spectra.nc", "--json"]).stdout)["rows"]
    expected = st.compare(st.open("A/spectra.nc"), st.open("B/spectra.nc"))
    assert rows[0]["correlation"] == pytest.approx(float(expected["correlation"].loc["gft", 1]))
    assert run(app, ["compare", "A/spectra.nc", "nowhere.nc"]).exit_code == 2
