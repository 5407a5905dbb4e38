"""On a terminal of 80 columns every command keeps to the width and cuts nothing."""

import re

import networkx as nx
import numpy as np
import pytest
from rich.cells import cell_len

from commanding import run
from spectrata.cli import tables
from spectrata.cli.app import app

COMMANDS = sorted(one.callback.__name__ for one in app.registered_commands)
LONG = "a name with a [bracket] that goes on and on, longer than any column"


@pytest.fixture(params=["small", "300 nodes"])
def inputs(request, karate):
    """A graph and signals: numbers, vectors, snapshots with long names, columns, labels."""
    if request.param == "small":
        graph = nx.Graph(nx.karate_club_graph().edges)
    else:
        graph = nx.connected_watts_strogatz_graph(300, 8, 0.1, seed=1)
    (karate / "graph.txt").write_text("".join(f"{a} {b}\n" for a, b in sorted(graph.edges)))
    n, random = len(graph), np.random.default_rng(0)
    np.save("numbers.npy", 1e-7 * random.normal(size=n) - 12345)
    rows = "".join(f"{i},{','.join(map(str, random.normal(size=3) * 1e9))}\n" for i in range(n))
    (karate / "vectors.csv").write_text(f"node,x,y,{LONG.replace(',', '')}\n{rows}")
    np.save("layers.npy", 1e6 * random.normal(size=(3, n, 2)))
    (karate / "labels.csv").write_text("node,label\n" + "".join(f"{i},{'abc'[i % 3]}\n" for i in range(n)))
    return karate, request.param == "small"


def figures(text):
    """Every figure of the output, without those of times and memory, which differ from run to run."""
    kept = re.sub(r"Estimate for decomposing.*?\(.*?\)", "", " ".join(text.splitlines()))
    return re.findall(r"[-+]?\d[\d.,]*(?:e[-+]?\d+)?", kept)


def checked(monkeypatch, *words, whole=True):
    """The output at 80 columns fits, and has all figures of the output without a limit."""
    monkeypatch.setenv("COLUMNS", "80")
    narrow = run(*words)
    assert narrow.exit_code == 0, narrow.stderr
    too_wide = [line for line in narrow.stdout.splitlines() if cell_len(line) > 80]
    assert not too_wide, too_wide
    assert "\u2026" not in narrow.stdout
    if whole:
        monkeypatch.setenv("COLUMNS", "1000")
        assert set(figures(run(*words).stdout)) == set(figures(narrow.stdout))


def test_one_graph(inputs, monkeypatch):
    _, whole = inputs
    few = ["--no-findings", "--hops", "1-2", "--algorithms", "gft,adj_diff"]
    test = ["--calibrate", "--draws", "39"]
    for words in (
        ["strata", "graph.txt"],
        ["profile", "graph.txt", "numbers.npy", *few, "-o", "a"],
        ["profile", "graph.txt", "layers.npy", *few, *test, "-o", "b"],
        ["compare", "b", "b", "--draws", "9"],
        ["profile", "graph.txt", "layers.npy", "--bands", "16", "-o", "c"],
        ["homophily", "graph.txt", "labels.csv", "--hops", "2", "--draws", "39"],
        ["correlogram", "graph.txt", "vectors.csv", "--draws", "39", "--hops", "3"],
        ["correlogram", "graph.txt", "vectors.csv", "--columns", "separate", "--draws", "0", "--hops", "3"],
    ):
        checked(monkeypatch, *words, whole=whole)


def test_info(karate, monkeypatch):
    monkeypatch.setattr("spectrata.core.resources.available_memory", lambda: 2**34)  # it changes from call to call
    checked(monkeypatch, "info")


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_has_groups_and_an_example(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = run(*command.split(), "--help").stdout
    assert max(cell_len(line) for line in text.splitlines()) <= 80
    assert "\u2026" not in text
    assert not command or f"$ spectrata {command}" in text
    assert command != "profile" or all(f"─ {panel} ─" in text for panel in ("Graph and signal", "Output"))


def test_the_words_wrap_and_the_numbers_stay_whole(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    tables.print_text("a sentence of more than forty characters, and /a/path/" + "x" * 60, "- ")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "- a sentence of more than forty"
    assert lines[-1].strip() == "/a/path/" + "x" * 60
    tables.print_table({"name": [tables.label(LONG)]}, {f"value {i}": ["123456.789012"] for i in range(4)})
    out = capsys.readouterr().out
    assert out.count("123456.789012") == 4
    assert max(map(len, out.splitlines())) <= 40
    assert "".join(LONG.split()) in "".join(line[:20].replace(" ", "") for line in out.splitlines())
