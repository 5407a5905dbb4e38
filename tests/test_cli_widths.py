"""On a terminal of 80 columns every command keeps to the width and cuts no number."""

import re

import networkx as nx
import numpy as np
import pytest

from commanding import run
from spectrata.cli import render
from spectrata.core import resources

LONG = "a name with a [bracket] that goes on and on, longer than any column"


@pytest.fixture
def inputs(karate):
    """A graph and signals: numbers, vectors, snapshots, columns with a long name, labels."""
    graph = nx.Graph(nx.karate_club_graph().edges)
    n, random = len(graph), np.random.default_rng(0)
    np.save("numbers.npy", 1e-7 * random.normal(size=n) - 12345)
    rows = "".join(f"{i},{','.join(map(str, random.normal(size=3) * 1e9))}\n" for i in range(n))
    (karate / "vectors.csv").write_text(f"node,x,y,{LONG.replace(',', '')}\n{rows}")
    (karate / "labels.csv").write_text("node,label\n" + "".join(f"{i},{'abc'[i % 3]}\n" for i in range(n)))


def figures(text):
    """Every number with digits after its point."""
    return set(re.findall(r"[-+]?\d+\.\d+", " ".join(text.splitlines())))


def test_every_command_fits_and_keeps_its_figures(inputs, monkeypatch):
    few = ["--hops", "1-2", "--draws", "39"]
    monkeypatch.setattr(resources, "available_memory", lambda: 2**34)  # other programs change it between two runs
    for words in (
        ["strata", "karate.txt"],
        ["profile", "karate.txt", "numbers.npy", *few, "-o", "a", "--details", "--algorithms", "gft,adj_diff"],
        ["profile", "karate.txt", "layers.npy", *few, "-o", "b"],
        ["profile", "karate.txt", "vectors.csv", *few, "-o", "v"],
        ["compare", "b", "b", "--draws", "9"],
        ["profile", "karate.txt", "layers.npy", "--bands", "16", "-o", "c"],
        ["homophily", "karate.txt", "labels.csv", *few],
        ["correlogram", "karate.txt", "vectors.csv", *few],
        ["local", "karate.txt", "vectors.csv", "--draws", "39", "--columns", "joint"],
        ["agree", "karate.txt", "numbers.npy", "vectors.csv", "--draws", "39"],
    ):
        monkeypatch.setenv("COLUMNS", "80")
        narrow = run(*words)
        assert narrow.exit_code == 0, narrow.stderr
        assert max(map(len, narrow.stdout.splitlines())) <= 80, words
        monkeypatch.setenv("COLUMNS", "1000")
        assert figures(run(*words).stdout) == figures(narrow.stdout)


def test_words_wrap_and_numbers_stay_whole(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    render.text("a sentence of more than forty characters, and /a/path/" + "x" * 60)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "a sentence of more than forty"
    assert lines[-1].strip() == "/a/path/" + "x" * 60
    render.table({"name": [LONG], "value": ["123456.789012"], "p": ["< 0.001"]}, left=["name"])
    out = capsys.readouterr().out
    assert "123456.789012" in out
    assert max(map(len, out.splitlines())) <= 40
    assert "".join(LONG.split()) in "".join(line[:16].replace(" ", "") for line in out.splitlines())
    render.text("[red]name[/red] :smile: \x1b[31m")
    assert capsys.readouterr().out == "[red]name[/red] :smile: ?[31m\n"
