"""Likeness against chance, drawn: numbers, verdicts and words are those of the result."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import spectrata as st
from spectrata.errors import OptionError
from spectrata.plot.likeness import _where
from spectrata.plot.style import PALETTE

CLUB = nx.karate_club_graph()
GRID = nx.convert_node_labels_to_integers(nx.grid_2d_graph(6, 6))


def markers(ax):
    """Height and face of each marker of r, in order."""
    found = [line for line in ax.get_lines() if line.get_gid() == "r"]
    return [float(line.get_ydata()[0]) for line in found], [to_hex(line.get_markerfacecolor()) for line in found]


def boxes(ax):
    found = [one for one in ax.patches if one.get_gid() == "chance"]
    return np.array([(one.get_y(), one.get_y() + one.get_height()) for one in found])


@pytest.fixture(scope="module")
def found():
    return st.correlogram(CLUB, "club", hops=4, weights=False)


@pytest.fixture(scope="module")
def table():
    values = pd.DataFrame(np.random.default_rng(0).normal(size=(36, 8)), columns=list("abcdefgh"))
    values["east"], values["check"] = np.arange(36) // 6, (np.arange(36) // 6 + np.arange(36)) % 2
    return values


def test_stems_boxes_and_markers_are_the_result(found):
    (ax,) = st.plot.correlogram(found)
    heights, faces = markers(ax)
    np.testing.assert_allclose(heights, found["r"])
    np.testing.assert_allclose(boxes(ax), np.stack([found["chance_low"], found["chance_high"]], axis=1))
    assert faces == [PALETTE[0].lower()] * 2 + [PALETTE[1].lower()] * 2
    (given,) = [line for line in ax.get_lines() if line.get_gid() == "given"]
    np.testing.assert_allclose(given.get_ydata(), found["r_given"])
    assert ax.texts[0].get_text() == "ALIKE\n+0.72"
    assert ax.figure.get_suptitle() == "Alike at 1 and 2 hops; unlike at 3 and 4 hops"
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1 hop", "2 hops", "3 hops", "4 hops"]
    legend = [text.get_text() for text in ax.figure.legends[0].get_texts()]
    assert legend == ["chance: 95 % of orders, hop by hop", "alike", "unlike", "r given degree"]


def test_a_hollow_marker_is_no_verdict_and_words_name_it():
    graph = nx.les_miserables_graph()
    found = st.diagnose(graph, dict(graph.degree), hops=2, weights=False)
    (ax,) = st.plot.correlogram(found, given=False)
    rows = found.to_frame().query("statistic == 'r'")
    np.testing.assert_allclose(markers(ax)[0], rows["value"])
    assert markers(ax)[1] == ["#ffffff"] * 2
    for text, verdict in zip(ax.texts, rows["verdict"], strict=True):
        assert verdict in text.get_text().replace("\n", " ")
    assert not [line for line in ax.get_lines() if line.get_gid() == "given"]


def test_panels_of_columns_share_a_scale_and_many_are_ranked(table):
    few = st.correlogram(GRID, table[["a", "b", "east"]], hops=2, draws=199)
    axes = st.plot.correlogram(few)
    assert [ax.get_title().partition(":")[0] for ax in axes] == ["a", "b", "east"]
    assert len({ax.get_ylim() for ax in axes}) == 1
    moments = np.random.default_rng(0).normal(size=(8, 36, 1))
    six = st.plot.correlogram(st.correlogram(GRID, moments, hops=2, draws=199))
    assert "2 of 8 signals not drawn" in six[0].figure.get_suptitle()
    (ranked,) = st.plot.correlogram(st.correlogram(GRID, table, hops=2))
    assert [tick.get_text() for tick in ranked.get_yticklabels()][:2] == ["check", "east"]
    assert "2 of 10 columns differ from chance" in ranked.figure.get_suptitle()


def test_refusals_and_a_signal_without_variance(found):
    with pytest.raises(OptionError, match="snapshots and columns"):
        st.plot.correlogram(found, Figure().subplots(1, 2))
    with pytest.raises(OptionError, match="no hop 40"):
        st.plot.correlogram(found, hops=[40])
    for draw in (st.plot.correlogram, st.plot.agree, st.plot.local, st.plot.probe):
        with pytest.raises(OptionError, match="draws a result of"):
            draw(st.spectra(nx.path_graph(3), range(3)))
    constant = st.correlogram(nx.path_graph(4), np.ones(4))
    assert "no variance" in st.plot.correlogram(constant)[0].texts[0].get_text()


@pytest.mark.parametrize(
    ("hops", "words"),
    [
        ([1], "1 hop"),
        ([1, 2, 5], "1, 2 and 5 hops"),
        ([1, 2, 3, 4, 7], "1 to 4 and 7 hops"),
        ([0], "the same node"),
        ([0, 1], "the same node and 1 hop"),
        (["(0, 2]", "(2, 4]"], "(0, 2] and (2, 4]"),
    ],
)
def test_hops_in_words(hops, words):
    assert _where(hops) == words


def test_findings_are_drawn_beside_their_graph(found):
    said = st.diagnose(CLUB, "club", hops=4, weights=False)
    graph, likeness = st.plot.diagnose(said, CLUB, "club")
    np.testing.assert_allclose(markers(likeness)[0], found["r"])
    sizes = {one.get_gid(): len(one.get_offsets()) for one in graph.collections if one.get_gid()}
    assert sizes == {"Mr. Hi": 17, "Officer": 17}
    assert len(st.plot.diagnose(said)) == 1
    table = pd.DataFrame({"x": range(34), "y": np.random.default_rng(0).normal(size=34)}, index=list(CLUB))
    two = st.diagnose(CLUB, table, hops=2, weights=False, draws=199)
    graph, likeness = st.plot.diagnose(two, CLUB, table, column="y")
    assert graph.get_title(loc="left").startswith("y: 34 nodes")
    expected = two.to_frame().query("statistic == 'r' and column == 'y'")["value"]
    np.testing.assert_allclose(markers(likeness)[0], expected)
    vectors = np.random.default_rng(0).normal(size=(34, 3))
    st.plot.diagnose(st.diagnose(CLUB, vectors, hops=1, weights=False, draws=199), CLUB, vectors)
    with pytest.raises(OptionError, match="no column 'z'"):
        st.plot.diagnose(two, column="z")


def test_agreement_has_the_same_node_first(table):
    found = st.agree(GRID, table["east"], table["a"], hops=1, draws=199)
    (ax,) = st.plot.agree(found)
    np.testing.assert_allclose(markers(ax)[0], found["r"])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["same node", "1 hop"]
    many = st.agree(GRID, table["east"], table, hops=1, draws=199)
    (ranked,) = st.plot.agree(many)
    assert ranked.get_xticklabels()[0].get_text() == "same"


def test_a_ranking_is_drawn_in_its_order(table):
    found = st.rank_columns(GRID, table, hops=2, draws=199)
    (ax,) = st.plot.columns(found, top=5)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == found["column"].tolist()[:5]
    line = [one for one in ax.get_lines() if one.get_gid() == "r"]
    np.testing.assert_allclose([float(one.get_xdata()[0]) for one in line], found["r"][:5])
    verdicts = found["verdict"].isin(["alike", "unlike"])
    assert [to_hex(one.get_markerfacecolor()) != "#ffffff" for one in line] == verdicts[:5].tolist()


def test_energies_of_columns_are_over_a_flat_spectrum_or_chance(table):
    ds = st.spectra(GRID, table, hops=1, columns="separate")
    (ax,) = st.plot.columns(ds)
    mesh = ax.collections[0].get_array()
    assert mesh.shape == (10, 4)
    rows = [tick.get_text() for tick in ax.get_yticklabels()]
    summary = st.summary(ds.sel(algorithm=["gft"], column="east"))
    sizes = np.bincount(st.stats.describe.levels.band_groups(*(ds[n].values for n in AXIS), 4)[0][1:])
    np.testing.assert_allclose(2 ** mesh[rows.index("east"), 0], min(4, summary["lowest"].item() * 35 / sizes[0]))
    cal = st.calibrate(GRID, table, "gft", hops=1, columns="separate", level="band", bands=3, draws=99)
    (ax,) = st.plot.columns(cal)
    one = cal.sel(algorithm="gft", hop=1, column="check")
    rows = [tick.get_text() for tick in ax.get_yticklabels()]
    expected = one["share"] * one["band_size"].sum() / one["band_size"]
    np.testing.assert_allclose(2 ** ax.collections[0].get_array()[rows.index("check")], np.clip(expected, 0.25, 4))
    bold = [text.get_weight() == "bold" for text in ax.texts][3 * rows.index("check") :][:3]
    assert bold == (one["q"] <= 0.05).values.tolist()
    with pytest.raises(OptionError, match="level='band'"):
        st.plot.columns(st.calibrate(GRID, table, "gft", hops=1, columns="separate", draws=39))
    with pytest.raises(OptionError, match="columns='separate'"):
        st.plot.columns(st.spectra(GRID, table["a"]))
    assert len(st.plot.spectra(ds)) == 1  # more than seven columns


AXIS = ("is_zero", "eigenspace", "multiplicity")


@pytest.mark.needs("sklearn")
def test_a_probe_has_its_scores_errors_and_rewired_graphs():
    sizes = [25, 25]
    graph = nx.stochastic_block_model(sizes, [[0.3, 0.02], [0.02, 0.3]], seed=0)
    labels = np.repeat([0, 1], sizes)
    x = np.random.default_rng(0).normal(size=(50, 3)) + 0.4 * labels[:, None]
    found = st.probe(np.array(graph.edges), x, labels)
    ax = st.plot.probe(found)
    frame = found.to_frame()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == frame["view"].tolist()
    points = [one.lines[0] for one in ax.containers]
    np.testing.assert_allclose([float(one.get_xdata()[0]) for one in points], frame["score"])
    spans = [one.lines[2][0].get_segments()[0][:, 0] for one in ax.containers]
    np.testing.assert_allclose([np.ptp(span) / 2 for span in spans], frame["error"])
    (alone,) = [one for one in ax.get_lines() if one.get_gid() == "alone"]
    assert alone.get_xdata()[0] == pytest.approx(frame["score"][0])
    rewired = [one for one in ax.get_lines() if one.get_gid() == "rewired"]
    assert [len(one.get_xdata()) for one in rewired] == ([len(found.rewired)] if len(found.rewired) else [])
    assert ax.figure.get_suptitle().replace("\n", " ") == found.headline
