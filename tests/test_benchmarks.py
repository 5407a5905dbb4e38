"""The benchmarks run, at a size that measures nothing."""

import subprocess
import sys
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parents[1] / "benchmarks"


def test_the_comparisons_run_and_print_ratios():
    names = ["hops", "printed", "learning", "small_graphs"]
    command = [sys.executable, FOLDER / "run.py", "--small", *names]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    table = run.stdout.split("|---|---|---|---|---|---|")[1]
    for words in ("scipy shortest_path", "as printed", "released parametrisation", "32 nodes"):
        assert any(words in line and "x |" in line for line in table.splitlines()), run.stdout


def test_the_baseline_as_printed_computes_the_same(monkeypatch):
    import networkx as nx

    import spectrata as st

    monkeypatch.syspath_prepend(str(FOLDER))
    from baselines import as_printed

    graph = nx.gnm_random_graph(25, 60, seed=7)
    graph.add_edges_from(zip(range(24), range(1, 25), strict=True))
    signal = np.random.default_rng(0).standard_normal((25, 3))
    ds = st.spectra(graph, signal, ("apprx_ls", "in_agg", "adj_diff"), orientation="index")
    theirs = np.reshape(as_printed(nx.to_numpy_array(graph), signal), (-1, 3, 25)).transpose(1, 0, 2)
    simple = ds["multiplicity"].values == 1
    simple &= ds["eigenvalue"].values > 1e-9
    np.testing.assert_allclose(ds["magnitude"].values[:, simple], theirs[:, simple], atol=1e-6)


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
