"""The benchmarks run, at a size that measures nothing."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.long
FOLDER = Path(__file__).parents[1] / "benchmarks"


def test_the_comparisons_run_and_print_ratios():
    names = ["hops", "printed", "learning", "small_graphs"]
    command = [sys.executable, FOLDER / "run.py", "--small", *names]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    table = run.stdout.split("|---|---|---|---|---|---|")[1]
    for words in ("scipy shortest_path", "as printed", "released parametrisation", "32 nodes"):
        assert any(words in line and "x |" in line for line in table.splitlines()), run.stdout


def test_the_solves_are_compared_idle_and_busy():
    command = [sys.executable, FOLDER / "speed.py", "--small"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    rows = run.stdout.split("|---|---|---|---|---|")[1].strip().splitlines()
    assert len(rows) == 8
    for words in ("dense solves", "spinning processes"):
        assert sum(words in line for line in rows) == 4, run.stdout


def test_the_baseline_as_printed_computes_the_same(monkeypatch):
    import networkx as nx

    import spectrata as st

    monkeypatch.syspath_prepend(str(FOLDER))
    from baselines import as_printed

    graph = nx.gnm_random_graph(25, 60, seed=7)
    graph.add_edges_from(zip(range(24), range(1, 25), strict=True))
    signal = np.random.default_rng(0).standard_normal((25, 3))
    ds = st.spectra(graph, signal, ("apprx_ls", "in_agg", "adj_diff"), apprx_ls={"orientation": "index"})
    theirs = np.reshape(as_printed(nx.to_numpy_array(graph), signal), (-1, 3, 25)).transpose(1, 0, 2)
    simple = ds["multiplicity"].values == 1
    simple &= ds["eigenvalue"].values > 1e-9
    np.testing.assert_allclose(ds["magnitude"].values[:, simple], theirs[:, simple], atol=1e-6)


@pytest.mark.needs("torch")
def test_the_costs_of_watching_run_and_print():
    printed = run_script("watching.py", "--small", "--repeats", 1)
    assert "a few lines of torch" in printed
    assert printed.count("bit-identical") == 3


@pytest.mark.needs("torch")
def test_models_are_trained_and_judged(tmp_path, monkeypatch):
    """One job of each kind on small files: scores, levels of two places, and tables that count these models."""
    import json

    from reproduction.studies.models.graphs import generate
    from reproduction.studies.models.protocol import FILES, QUICK

    graph = generate(QUICK.graphs[0], 0)
    sparse = {"data": graph.features.ravel(), "indices": np.tile(np.arange(16), graph.n)}
    sparse |= {"indptr": 16 * np.arange(graph.n + 1), "shape": graph.features.shape}
    held = {f"features_{name}": values for name, values in sparse.items()}
    for spec in FILES:
        np.savez(tmp_path / f"{spec.name}.npz", edges=graph.edges, labels=graph.labels, **graph.splits, **held)
    kinds = ("settings", "remedies", "messages")
    run_script("trained_models.py", *kinds, "--small", 1, "--data", tmp_path, "--out", tmp_path / "models")
    rows = [json.loads(line) for line in (tmp_path / "models").read_text().splitlines()]
    assert {row["kind"] for row in rows} == set(kinds)
    for row in rows:
        assert 0 <= row["test"] <= 1
        assert row["best_val"] >= row["val"]
        assert len(row["off_zero"]) == len(row["control"]) == 2
    words = "--data", tmp_path, "--graphs", "cora", "minesweeper", "--seeds", 1, "--epochs", 2
    run_script("verdicts.py", "fresh", *words, "--out", tmp_path / "fresh")
    settings = [
        json.dumps(row) for row in rows if row["kind"] == "settings"
    ]  # remedies are compared where all are there
    (tmp_path / "settings").write_text("\n".join(settings))
    printed = run_script("verdicts.py", "rates", tmp_path / "fresh", tmp_path / "settings", "--data", tmp_path)
    assert "| all | 14 |" in printed
    monkeypatch.syspath_prepend(str(FOLDER))
    from verdicts import by_cause

    made = {"graph": "g", "seed": 0, "off_zero": [0.5, 0.01], "control": [0.5, 0.2]}
    deep = [
        made | {"architecture": name, "depth": depth, "best_test": score}
        for name, depth, score in (
            ("gcn", 32, 0.2),
            ("gcn", 4, 0.8),
            ("pairnorm", 32, 0.5),
            ("residual-layernorm", 32, 0.7),
        )
    ]
    import pandas as pd

    table = by_cause(pd.DataFrame(deep)).set_index("architecture")
    assert table["control says"].unique().tolist() == ["messages"]
    assert table.loc["gcn", ["as it is", "4 layers", "PairNorm", "4 layers: best"]].tolist() == [0.2, 0.8, 0.5, 1]


def run_script(name, *words):
    command = [sys.executable, str(FOLDER / name), *map(str, words)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_planted_genes_are_ranked_and_counted():
    printed = run_script("planted_genes.py", "--spots", 80, "--genes", 10, "--planted", 6, "--rows", 4)
    assert len([line for line in printed.splitlines() if line.startswith("| ")]) == 5
    assert "of 6 planted found" in printed


def test_hop_weights_are_timed():
    printed = run_script("hop_weights.py", "--nodes", 60)
    assert printed.count("one solve of K = 1") == 3


def test_label_spectra_are_drawn_from_a_folder(tmp_path, monkeypatch):
    """Two classes with edges inside alone: all of the labels' energy lies at eigenvalue 0 or near it."""
    import networkx as nx

    monkeypatch.syspath_prepend(str(FOLDER))
    import label_spectra

    graph = nx.planted_partition_graph(2, 30, 0.5, 0.02, seed=1)
    labels = np.repeat([0, 1], 30)
    place = tmp_path / "two.npz"
    np.savez(place, edges=np.array(graph.edges), n_nodes=60, labels=labels)
    found = label_spectra.label_spectrum(place)
    same = [labels[x] == labels[y] for x, y in graph.edges]
    assert found["homophily"] == np.mean(same)
    values, vectors = np.linalg.eigh(nx.normalized_laplacian_matrix(graph, nodelist=range(60)).toarray())
    energy = np.sum((vectors.T @ (np.eye(2)[labels] - 0.5)) ** 2, axis=1)[1:]
    wanted = np.histogram(values[1:], label_spectra.EDGES, weights=energy)[0] / energy.sum()
    np.testing.assert_allclose(np.cumsum(found["energy"]), np.cumsum(wanted), atol=0.011)
    monkeypatch.setattr(label_spectra, "PICTURE", tmp_path / "labels.png")
    label_spectra.draw({"one": found, "two": found})
    assert (tmp_path / "labels.png").stat().st_size > 10_000


def test_bounds_hold_in_a_share_of_the_random_runs(monkeypatch):
    """The rest are run by hand: benchmarks/bounds.py runs."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import bounds

    said, rows = [], []
    for seed in range(100_000, 100_024):
        rows += bounds.one_run(seed, recurrence=seed % 2 == 1, most=40)
    assert bounds.judge(rows, said.append), said
    # The judge can say no.
    assert not bounds.judge([*rows, rows[0] | {"outside": 2e-9}], said.append)
    assert not bounds.judge([*rows, rows[0] | {"status": "ok", "half": 0.2, "tol": 0.1}], said.append)


def test_lattices_agree_with_their_closed_forms(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import bounds

    from spectrata.bands import exact

    said = []
    for nodes in (1500, 0):
        monkeypatch.setattr(exact, "EXACT_NODES", nodes)
        assert bounds.lattices(100, tol=0.001, say=said.append) <= 1e-9
    assert sum(": ok," in line for line in said) == len(said) == 36, said


def test_checks_are_timed():
    printed = run_script("checks.py", "--nodes", 60, "--repeat", 1)
    assert len([line for line in printed.splitlines() if "residuals, orthonormality" in line]) == 4


def test_growth_is_fitted_and_a_cluster_computes_the_same():
    printed = run_script("growth.py", "exponents", "bands", "rank_columns", "--small")
    slopes = [float(line.split()[-1]) for line in printed.splitlines()[1:]]
    assert len(slopes) == 2
    assert np.isfinite(slopes).all()
    assert run_script("growth.py", "cluster", "--workers", 2, "--small").count(" s\n") == 5
