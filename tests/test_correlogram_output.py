"""Correlograms drawn and on the command line: what is shown is what was computed."""

import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import spectrata as st
from commanding import karate, run  # noqa: F401

# ---- the command line


def test_the_command_prints_what_python_computes(karate):  # noqa: F811
    result = run("correlogram", "karate.txt", "vectors.npy", "--hops", "3", "--json", "--draws", "199")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    graph = nx.relabel_nodes(nx.Graph(nx.karate_club_graph().edges), str)
    values = {str(k): v for k, v in enumerate(np.load("vectors.npy"))}
    direct = st.correlogram(graph, values, 3, draws=199)
    assert [row["hop"] for row in document["rows"]] == [1, 2, 3]
    assert [row["r"] for row in document["rows"]] == pytest.approx(direct["r"].values.tolist())
    assert document["kind"] == "correlogram"


def test_files_and_refusals(karate):  # noqa: F811
    result = run("correlogram", "karate.txt", "degree.npy", "--hops", "1", "--draws", "99", "-o", "o")
    assert result.exit_code == 0, result.output
    table = pd.read_csv("o/correlogram.csv")
    graph = nx.Graph(nx.karate_club_graph().edges)
    theirs = nx.degree_assortativity_coefficient(graph)
    assert table["r"].to_numpy() == pytest.approx([theirs])
    assert (karate / "o" / "correlogram.png").read_bytes()[:4] == b"\x89PNG"
    wide = run("correlogram", "karate.txt", "vectors.npy", "--columns", "separate", "--draws", "99", "--top", "2")
    assert "more rows" in wide.stdout
    few = run("correlogram", "karate.txt", "vectors.npy", "--draws", "9")
    assert "--draws 9 cannot give a p of 0.05" in few.output
