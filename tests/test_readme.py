"""The README's code runs as it stands, and what docs/choosing.md says of the algorithms holds."""

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import spectrata as st
from commanding import installed_program

README = Path(__file__).parents[1] / "README.md"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_python_blocks(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    found = blocks("python")
    assert len(found) == 2
    assert len(found[0].strip().splitlines()) <= 10
    names = {}
    for block in found:
        exec(compile(block, "README.md", "exec"), names)
    assert sorted(os.listdir(tmp_path)) == ["spectra.nc", "spectra.png"]
    ds = st.open("spectra.nc")
    assert ds["hop"].values.tolist() == [1, 2, 3]
    assert "[" in capsys.readouterr().out
    assert names["before"]["hop"].values.tolist() == [1, 2]


def test_command_line_blocks(tmp_path):
    found = blocks("bash")
    assert len(found) == 1
    assert len(found[0].strip().splitlines()) <= 10
    programs = installed_program(tmp_path / "bin")
    work = tmp_path / "work"
    work.mkdir()
    result = subprocess.run(
        ["bash", "-euc", found[0]],
        cwd=work,
        env=os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    notes = {line.partition(";")[0] for line in result.stderr.splitlines()}
    assert notes == {"note: the 2 columns (x, y) are read as one vector per node, compared by direction"}
    assert sorted(os.listdir(work)) == ["graph-spectra", "graph.txt", "paper.json", "signal.csv", "two-hops"]
    assert json.loads((work / "paper.json").read_text())["options"]["preset"] == "paper"
    assert st.open(work / "two-hops" / "spectra.nc")["algorithm"].values.tolist() == ["gft", "adj_diff"]


def test_what_it_says_about_selecting():
    import networkx as nx

    ds = st.spectra(nx.path_graph(4), [1.0, 0.0, 2.0, 1.0])
    chosen = ds.sel(algorithm="gft", hop=1)["magnitude"]
    assert chosen.dims == ("component",)
    np.testing.assert_array_equal(chosen, ds["magnitude"].values[0, 0])


def test_what_it_says_about_parts_of_a_spectrum():
    import networkx as nx

    cut, whole = (st.spectra(nx.path_graph(4), [1.0, 0.0, 2.0, 1.0], n_eigs=n) for n in (2, None))
    assert not cut["complete"].any()
    assert whole["complete"].all()
    with pytest.raises(st.SpectrataError, match="needs all of them"):
        st.off_zero(cut)
    with pytest.raises(st.SpectrataError, match="different components"):
        st.compare(cut, whole)


@pytest.mark.parametrize("words", ["make demo", "make test", "2201.03696", "BSD 3-Clause"])
def test_it_names(words):
    assert words in README.read_text(encoding="utf-8")


def random_graph(random):
    """A connected graph of 50 nodes: a random pattern of density 0.05 made symmetric."""
    import networkx as nx

    while True:
        pattern = random.random((50, 50)) < 0.05
        graph = nx.Graph()
        graph.add_nodes_from(range(50))
        graph.add_edges_from(np.argwhere(np.triu(pattern | pattern.T, 1)).tolist())
        if nx.is_connected(graph):
            return graph


def test_what_it_says_about_adj_diff():
    random = np.random.default_rng(5)
    cosines = {"unit": [], "eigenvalue": []}
    for _ in range(60):
        strat = st.Stratification(random_graph(random), hops=1)
        pulse = np.zeros(50)
        pulse[random.integers(50)] = 1.0
        signals = np.stack([random.uniform(-1, 1, 50), pulse])[:, :, None]
        for scaling, found in cosines.items():
            ds = strat.spectra(signals, ["gft", "adj_diff"], scaling=scaling)
            gft, other = (ds["magnitude"].loc[name, :, 1].values for name in ("gft", "adj_diff"))
            gft = np.where(np.isnan(other), 0.0, gft)
            other = np.nan_to_num(other)
            norms = np.linalg.norm(gft, axis=1) * np.linalg.norm(other, axis=1)
            found.append(np.sum(gft * other, axis=1) / norms)
    np.testing.assert_allclose(np.mean(cosines["unit"], axis=0), [0.80, 0.92], atol=0.02)
    # Over 3,000 graphs the means are .768 and .856 with spreads of .037 and .11; three standard errors of 60.
    random_mean, pulse_mean = np.mean(cosines["eigenvalue"], axis=0)
    assert random_mean == pytest.approx(0.768, abs=0.015)
    assert pulse_mean == pytest.approx(0.856, abs=0.043)


def test_what_it_says_about_ln_vx():
    random = np.random.default_rng(6)
    for _ in range(3):
        ds = st.spectra(random_graph(random), random.uniform(-1, 1, 50), "ln_vx", hops=1)
        magnitude = ds["magnitude"].loc["ln_vx", 1].values
        flat = magnitude.sum() / np.linalg.norm(magnitude) / np.sqrt(50)
        assert flat == pytest.approx(0.999, abs=0.002)
