"""Running the command line in tests: in this process, in one of its own, and on a small graph."""

import os
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from typer.testing import CliRunner

from spectrata.cli.app import app

FILES = ["likeness.png", "spectra.nc"]


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def process(*words, cwd, **environment):
    return subprocess.run(
        [sys.executable, "-m", "spectrata", *(str(word) for word in words)],
        cwd=cwd,
        env={key: value for key, value in os.environ.items() if key != "SPECTRATA_DEBUG"} | environment,
        capture_output=True,
        text=True,
    )


def installed_program(folder):
    """A folder for PATH with a ``spectrata`` in it that runs this package."""
    folder.mkdir()
    program = folder / "spectrata"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m spectrata "$@"\n')
    program.chmod(0o755)
    return folder


@pytest.fixture
def karate(tmp_path, monkeypatch):
    """A folder to work in, with a graph and signals in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SPECTRATA_DEBUG", raising=False)
    graph = nx.Graph(nx.karate_club_graph().edges)
    rows = sorted(graph)
    (tmp_path / "karate.txt").write_text("".join(f"{a} {b}\n" for a, b in sorted(graph.edges)))
    np.save(tmp_path / "degree.npy", np.array([float(graph.degree[node]) for node in rows]))
    random = np.random.default_rng(0)
    np.save(tmp_path / "vectors.npy", random.normal(size=(34, 4)))
    np.save(tmp_path / "layers.npy", random.normal(size=(6, 34, 3)))
    return tmp_path


def write_tables(folder):
    """Clubs of the karate club, and a table of three named columns, by node."""
    graph = nx.karate_club_graph()
    clubs = "".join(f"{node},{club}\n" for node, club in graph.nodes(data="club"))
    (folder / "clubs.csv").write_text("node,club\n" + clubs)
    noise = np.random.default_rng(1).normal(size=(34, 2))
    rows = [f"{node},{graph.nodes[node]['club'] == 'Officer':d},{a},{b}\n" for node, (a, b) in enumerate(noise)]
    (folder / "table.csv").write_text("node,officer,noise,other\n" + "".join(rows))


def made(folder):
    return sorted(os.listdir(folder))


INPUTS = ["degree.npy", "karate.txt", "layers.npy", "vectors.npy"]
