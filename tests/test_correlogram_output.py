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


def band(ax):
    """``hop -> lower, upper`` of the shaded band."""
    (area,) = ax.collections
    corners = area.get_paths()[0].vertices
    return {int(x): (corners[corners[:, 0] == x][:, 1].min(), corners[corners[:, 0] == x][:, 1].max()) for x in (1, 2)}


@pytest.fixture(scope="module")
def found():
    graph = nx.cycle_graph(20)
    values = np.random.default_rng(0).standard_normal((2, 20, 1))
    values[1, :, 0] = np.cos(2 * np.pi * np.arange(20) / 20)
    return st.correlogram(graph, values, max_draws=999)


def test_the_picture_shows_ratio_band_and_p(found):
    axes = st.plot.correlogram(found)
    assert [ax.get_title() for ax in axes] == ["snapshot 0", "snapshot 1"]
    for row, ax in enumerate(axes):
        ax.figure.canvas.draw()
        one = found.isel(snapshot=row)
        clear = {int(hop) for hop in one["hop"].values if one["p"].sel(hop=hop) <= 0.05}
        drawn = points(ax, True) | points(ax, False)
        assert set(points(ax, True)) == clear
        assert drawn == pytest.approx({int(hop): float(one["ratio"].sel(hop=hop)) for hop in one["hop"].values})
        sd = (one["null_std"] / one["null_mean"]).values
        for hop, (lower, upper) in band(ax).items():
            assert upper == pytest.approx(1 + 2 * sd[hop - 1])
            assert lower == pytest.approx(max(1 - 2 * sd[hop - 1], 1e-6))
        assert any(np.allclose(line.get_ydata(), 1) and line.get_marker() == "None" for line in ax.lines)
    assert axes[0].get_ylim() == axes[1].get_ylim()


def test_pictures_of_other_kinds(found):
    one = st.plot.correlogram(found.isel(snapshot=1), hops=[1, 10])
    assert len(one) == 1
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
    assert "constant" in st.plot.correlogram(constant)[0].texts[0].get_text()
    sampled = st.correlogram(nx.path_graph(40), np.arange(40.0), roots=20, draws=0)
    st.plot.correlogram(sampled)[0].figure.canvas.draw()
    single = st.plot.correlogram(st.correlogram(nx.path_graph(30), range(30), hops=1, max_draws=0))[0]
    assert single.collections[0].get_paths()[0].vertices[:, 0].max() > 1  # a band also for one hop


# ---- the command line


def test_the_command_prints_what_python_computes(karate):  # noqa: F811
    result = run("correlogram", "karate.txt", "vectors.npy", "--hops", "3", "--json", "--max-draws", "1999")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    graph = nx.Graph(nx.karate_club_graph().edges)
    direct = st.correlogram(nx.relabel_nodes(graph, str), {str(k): v for k, v in enumerate(np.load("vectors.npy"))}, 3)
    assert [row["hop"] for row in document["rows"]] == [1, 2, 3]
    assert [row["ratio"] for row in document["rows"]] == pytest.approx(direct["ratio"].values.tolist())
    assert [row["z"] for row in document["rows"]] == pytest.approx(direct["z"].values.tolist())
    assert document["max_draws"] == 1999
    assert document["kind"] == "correlogram"


@pytest.mark.parametrize(
    "words", [["vectors.npy"], ["layers.npy", "--hops", "2"], ["vectors.npy", "--columns", "separate"]]
)
def test_tables_fit_eighty_columns(karate, words):  # noqa: F811
    result = run("correlogram", "karate.txt", *words, "--draws", "99", "--max-draws", "0")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    rule = next(index for index, line in enumerate(lines) if "─" in line)
    table = [lines[rule - 1], *itertools.takewhile(bool, lines[rule:])]
    assert len(table) > 3
    assert max(map(len, table)) <= 80
    assert any("not corrected" in line for line in lines)


def test_floor_columns_and_files(karate):  # noqa: F811
    result = run(
        "correlogram", "karate.txt", "degree.npy", "--hops", "1", "--draws", "99", "--max-draws", "0", "-o", "o"
    )
    assert result.exit_code == 0, result.output
    assert "<= 0.02" in result.stdout
    table = pd.read_csv("o/correlogram.csv")
    direct = st.correlogram(
        nx.Graph(sorted(nx.karate_club_graph().edges)), dict(nx.Graph(nx.karate_club_graph().edges).degree), 1
    )
    assert table["ratio"].to_numpy() == pytest.approx(direct["ratio"].values)
    assert table["moran"].to_numpy() == pytest.approx(direct["moran"].values)
    assert (karate / "o" / "correlogram.png").read_bytes()[:4] == b"\x89PNG"
    wide = run("correlogram", "karate.txt", "vectors.npy", "--columns", "separate", "--draws", "99", "--top", "2")
    assert "more rows" in wide.stdout
    bad = run("correlogram", "karate.txt", "vectors.npy", "--columns", "each")
    assert bad.exit_code == 2
    assert "columns each" in bad.output
    roots = run("correlogram", "karate.txt", "degree.npy", "--roots", "12", "--draws", "0")
    assert roots.exit_code == 0
    assert "12 random roots" in roots.stdout
