"""The README's code runs as it stands, and what docs/choosing.md says of the algorithms holds."""

import os
import re
import subprocess
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import spectrata as st
from commanding import installed_program

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def test_python_blocks(tmp_path, monkeypatch, capsys):
    """The block runs, and prints what stands below it, character by character."""
    monkeypatch.chdir(tmp_path)
    found = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert len(found) == len(blocks("python")) == 1
    first, _, rest = found[0][0].partition("\n\n")
    assert (first.count("import"), len(rest.strip().splitlines())) == (2, 2)
    names = {}
    for block, shown in found:
        exec(compile(block, "README.md", "exec"), names)
        assert capsys.readouterr().out == shown
    assert os.listdir(tmp_path) == []


def test_the_site_opens_with_the_same_lines_and_output():
    page = (README.parent / "docs" / "index.rst").read_text(encoding="utf-8")
    for block in (blocks("python")[0], blocks("text")[0]):
        assert " ".join(block.split()) in " ".join(page.split())


@pytest.mark.long
def test_the_calls_that_it_names_exist_and_run(tmp_path):
    """Every call of the text that needs no model and no AnnData, on a small graph."""
    graph = nx.karate_club_graph()
    plain, degree = nx.Graph(graph.edges), {node: count - 4.6 for node, count in graph.degree}
    friends = pd.DataFrame([(str(a), str(b)) for a, b in graph.edges])
    people = pd.DataFrame({"name": [str(node) for node in graph], "age": np.arange(34.0)})
    ds = st.spectra(plain, degree, hops=1)
    names = {
        "st": st,
        "friends": friends,
        "people": people,
        "graph": plain,
        "signal": degree,
        "a": ds,
        "b": ds,
        "before": ds,
        "after": ds,
    }
    names |= {"table": {node: [float(node), float(node % 2)] for node in graph}, "xy": np.random.rand(34, 2) * 100}  # noqa: NPY002
    calls = set(re.findall(r"`(st\.[\w.]+\([^`]*\))`", TEXT))
    calls = {call for call in calls if not re.search("adata|watch|w\\.over|features|html", call)}
    assert len(calls) >= 7
    for call in calls:
        exec(compile(call, call, "exec"), names)
    for name in re.findall(r"`st\.(\w+)`", TEXT):
        assert callable(getattr(st, name)), name


def test_the_first_screen():
    """Words that people search for, one picture, and a length that is read."""
    head = " ".join(TEXT[: TEXT.index("```python")].split())
    for words in (
        "How far does likeness reach",
        "at every hop distance",
        "more than chance",
        "more than degree explains",
    ):
        assert words in head
    for words in ("graph neural network", "assortativity", "adjusted homophily", "AnnData", "spectrum"):
        assert words in TEXT.replace("Graph neural", "graph neural")
    assert re.findall(r'<img src="([^"]+)" width="\d+" alt="[^"]+">', TEXT) == ["docs/images/hero.png"]
    assert "![" not in TEXT
    assert len(TEXT.splitlines()) <= 120


def test_the_picture_is_what_its_script_draws(tmp_path):
    """Fonts and antialiasing may differ by version; what is drawn may not."""
    import importlib.util

    from matplotlib.image import imread

    spec = importlib.util.spec_from_file_location("hero", README.parent / "docs" / "draw" / "hero.py")
    hero = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hero)
    hero.draw().savefig(tmp_path / "hero.png", dpi=hero.DPI)
    drawn, stored = imread(tmp_path / "hero.png")[..., :3], imread(hero.PICTURE)[..., :3]
    assert drawn.shape == stored.shape
    assert np.abs(drawn - stored).mean() < 0.02
    _, found = hero.example()
    printed = re.findall(r"^ +\d +\w+ +(-?\d\.\d+)", TEXT, re.MULTILINE)
    assert [
        f"{one.value:.3f}" for one in found if one.statistic == "r"
    ] == printed  # the picture and the block below it agree


@pytest.mark.long
def test_command_line_blocks(tmp_path):
    found = blocks("bash")
    assert len(found) == 2
    assert len(found[0].strip().splitlines()) <= 10
    programs = installed_program(tmp_path / "bin")
    work = tmp_path / "work"
    work.mkdir()
    club = nx.karate_club_graph()
    (work / "friends.csv").write_text("".join(f"p{a},p{b}\n" for a, b in club.edges))
    people = [f"p{node},{'' if node == 3 else node},{club.nodes[node]['club']}\n" for node in club]
    (work / "people.csv").write_text("Name,Age,Favourite team\n" + "".join(people))
    result = subprocess.run(
        ["bash", "-euc", "".join(found)],
        cwd=work,
        env=os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert "alike up to 2 hops, unlike at 3 and 4 hops" in result.stdout
    assert sorted(os.listdir(work)) == ["friends-spectra", "friends.csv", "karate", "mine", "people.csv"]
    assert (work / "mine" / "report.html").is_file()


@pytest.mark.parametrize("words", ["make demo", "make test", "2201.03696", "BSD 3-Clause"])
def test_it_names(words):
    assert words in TEXT


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
            ds = strat.spectra(signals, ["gft", "adj_diff"], adj_diff={"scaling": scaling})
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
