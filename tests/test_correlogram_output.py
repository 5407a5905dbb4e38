"""Correlograms drawn and on the command line: what is shown is what was computed."""

import itertools
import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import spectrata as st
from commanding import karate, run  # noqa: F401
from spectrata.errors import OptionError
from spectrata.plot.style import PALETTE


def points(ax, filled):
    """Hops and heights of the markers that are filled, or empty."""
    want = PALETTE[0] if filled else ax.get_facecolor()
    found = [line for line in ax.lines if line.get_marker() == "o" and line.get_markerfacecolor() == want]
    return {int(x): float(y) for line in found for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)}


@pytest.fixture(scope="module")
def found():
    graph = nx.cycle_graph(20)
    values = np.random.default_rng(0).standard_normal((2, 20, 1))
    values[1, :, 0] = np.cos(2 * np.pi * np.arange(20) / 20)
    return st.correlogram(graph, values, draws=199)


def test_the_picture_shows_r_chance_and_verdicts(found):
    axes = st.plot.correlogram(found)
    assert [ax.get_title() for ax in axes] == ["snapshot 0", "snapshot 1"]
    for row, ax in enumerate(axes):
        ax.figure.canvas.draw()
        one = found.isel(snapshot=row)
        clear = {int(hop) for hop in one["hop"].values if one["verdict"].sel(hop=hop) in ("alike", "unlike")}
        assert set(points(ax, True)) == clear
        drawn = points(ax, True) | points(ax, False)
        assert drawn == pytest.approx({int(hop): float(one["r"].sel(hop=hop)) for hop in one["hop"].values})
        corners = ax.collections[0].get_paths()[0].vertices
        at_two = corners[corners[:, 0] == 2][:, 1]
        assert at_two.min() == pytest.approx(one["chance_low"].sel(hop=2).item())
        assert at_two.max() == pytest.approx(one["chance_high"].sel(hop=2).item())
    assert len(points(axes[1], True)) > 0
    assert axes[0].get_ylim() == axes[1].get_ylim()


def test_pictures_of_other_kinds(found):
    one = st.plot.correlogram(found.isel(snapshot=1), hops=[1, 10])
    assert set(points(one[0], True) | points(one[0], False)) == {1, 10}
    few = st.plot.correlogram(found, max_panels=1)
    assert "1 of 2 not drawn" in few[0].get_legend().get_title().get_text()
    with pytest.raises(OptionError, match="snapshots and columns"):
        st.plot.correlogram(found, one[0])
    with pytest.raises(OptionError, match="no hop 40"):
        st.plot.correlogram(found, hops=[40])
    with pytest.raises(OptionError, match=r"st\.correlogram"):
        st.plot.correlogram(st.spectra(nx.path_graph(3), range(3)))
    constant = st.correlogram(nx.path_graph(4), np.ones(4))
    assert "no variance" in st.plot.correlogram(constant)[0].texts[0].get_text()
    values = np.random.default_rng(0).normal(size=(30, 9))
    values[:, 4] = np.arange(30)
    table = st.correlogram(nx.path_graph(30), values, hops=2, columns="separate", draws=199)
    assert st.plot.columns(table, top=3)[0].get_yticklabels()[0].get_text() == "4"


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


@pytest.mark.parametrize(
    "words", [["vectors.npy"], ["layers.npy", "--hops", "2"], ["vectors.npy", "--columns", "separate"]]
)
def test_tables_fit_eighty_columns(karate, words):  # noqa: F811
    result = run("correlogram", "karate.txt", *words, "--draws", "99")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    rule = next(index for index, line in enumerate(lines) if "─" in line)
    table = [lines[rule - 1], *itertools.takewhile(bool, lines[rule:])]
    assert len(table) > 3
    assert max(map(len, table)) <= 80
    assert any("corrected over" in line for line in lines)


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
    bad = run("correlogram", "karate.txt", "vectors.npy", "--columns", "each")
    assert bad.exit_code == 2
    few = run("correlogram", "karate.txt", "vectors.npy", "--draws", "9")
    assert "--draws 9 cannot give a p of 0.05" in few.output
