"""Every picture of every kind of result: it shows what the result holds, or refuses in one sentence."""

from contextlib import nullcontext

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import calls
import spectrata as st
from spectrata.errors import OptionError, ResultError

GRAPH = nx.barbell_graph(4, 3)
PICTURES = ("spectra", "spectrogram", "strata", "embedding")


def signal(*shape):
    return np.random.default_rng(0).normal(size=shape)


@pytest.fixture(scope="module")
def strat():
    return st.Stratification(GRAPH)


@pytest.fixture(scope="module")
def whole(strat):
    return strat.spectra(signal(11, 3))


@pytest.fixture(scope="module")
def layers(strat):
    runs = [strat.spectra(one).rename(snapshot="epoch") for one in signal(2, 3, 11, 2)]
    return xr.concat(runs, xr.DataArray(["conv1", "conv2"], dims="layer", name="layer"))


@pytest.fixture(scope="module")
def many():
    graphs = {"bell": GRAPH, "ring": nx.cycle_graph(7), "star": nx.star_graph(5)}
    return st.spectra_many([(name, graph, signal(len(graph))) for name, graph in graphs.items()])


def draw(picture, ds, **more):
    axes = np.ravel(getattr(st.plot, picture)(ds, **more))
    axes[0].figure.canvas.draw()
    return axes


def curves(ax):
    return {line.get_label(): line for line in ax.lines if line.get_gid() == "curve"}


def cells(ax):
    return [one for one in ax.collections if type(one).__name__ == "QuadMesh"]


# ---- layers, epochs and columns


def test_layers_and_epochs_are_curves_named_by_both(layers):
    found = curves(draw("spectra", layers, hops=[1])[0])
    assert list(found) == [f"conv{layer}, {epoch}" for layer in (1, 2) for epoch in range(3)]
    only = draw("spectra", layers, hops=[1], snapshots=[("conv2", 1)], cumulative=True)
    alone = layers.sel(layer="conv2", epoch=1)
    np.testing.assert_allclose(curves(only[0])["conv2, 1"].get_ydata(), found["conv2, 1"].get_ydata())
    np.testing.assert_allclose(
        curves(draw("spectra", alone, hops=[1], cumulative=True)[0])["gft"].get_ydata(), found["conv2, 1"].get_ydata()
    )
    titles = [ax.get_title() for ax in draw("embedding", layers)]
    assert titles == ["layer conv1, 0", "layer conv2, 0", "layer conv2, 2"]


def test_a_sequence_is_one_dimension(layers):
    with pytest.raises(ResultError, match=r"layer and epoch.*select.*ds\.isel\(layer=-1\)"):
        draw("spectrogram", layers)
    assert "epoch" in draw("spectrogram", layers.isel(layer=-1))[-1].get_xlabel()


# ---- many graphs


def test_many_graphs_are_curves_named_by_graph_and_columns_of_hops(many):
    axes = draw("spectra", many)
    assert axes[0].get_title() == "1 hop: 3 graphs"
    found = curves(axes[0])
    assert list(found) == ["bell", "ring", "star"]
    alone = st.merge_eigenspaces(st.spectra(nx.cycle_graph(7), signal(7)))
    energy = alone["magnitude"].loc["gft", 1][1:].values ** 2
    np.testing.assert_allclose(found["ring"].get_ydata()[1:], np.cumsum(energy) / energy.sum())
    last = axes[many.sizes["hop"] - 1]
    assert list(curves(last)) == ["bell"]
    assert "ring, star: past the diameter" in last.texts[0].get_text()
    labels = [tick.get_text() for tick in draw("spectrogram", many)[0].get_xticklabels()]
    assert labels[0] == "bell 1 hop"
    assert labels[-2:] == ["star 1 hop", "star 2 hops"]


@pytest.mark.parametrize("picture", ["strata", "embedding"])
def test_pictures_of_one_graph_name_how_to_select_one(many, picture):
    with pytest.raises(ResultError, match=r"many graphs; select one, such as ds\.isel\(graph=0\)"):
        draw(picture, many)


def test_one_of_many_graphs_is_a_result(many):
    one = many.isel(graph=2)
    alone = st.spectra(nx.star_graph(5), signal(6))
    for picture in ("spectra", "spectrogram", "strata"):
        draw(picture, one)
    drawn, expected = (draw("spectra", ds, cumulative=True) for ds in (one, alone))
    assert len(drawn) == len(expected) == 2
    np.testing.assert_allclose(curves(drawn[0])["gft"].get_ydata(), curves(expected[0])["gft"].get_ydata())
    with pytest.raises(OptionError, match="did not keep its signal"):
        draw("embedding", one)
    with pytest.raises(ResultError, match="Stratification"):
        draw("strata", one, graphs=True)


# ---- several results by name, and what else was done to a result


def test_results_that_do_not_belong_together_are_refused_naming_both(strat, whole):
    values = signal(11, 3)
    others = {
        "different graphs": st.spectra(nx.path_graph(11), values),
        "'combinatorial' and 'random_walk'": strat.spectra(values, laplacian="random_walk"),
        "'angular' and 'euclidean'": strat.spectra(values, metric="euclidean"),
        "different components": strat.using(n_eigs=4).spectra(values),
        "orientation differ": strat.spectra(values, apprx_ls={"orientation": "index"}),
    }
    for words, other in others.items():
        with pytest.raises(ResultError, match=words) as refused:
            st.plot.spectra({"one": whole, "two": other})
        assert "'one'" in str(refused.value)
        assert "'two'" in str(refused.value)


@pytest.mark.parametrize("change", ["merge_eigenspaces", "drop_zero", "normalize"])
def test_changed_results_are_drawn(whole, change):
    ds = (getattr(st, change, None) or getattr(st.stats, change))(whole)
    for picture in ("spectra", "spectrogram", "strata"):
        draw(picture, ds)
    if change == "merge_eigenspaces":
        plain, merged = (cells(draw("spectrogram", one)[0]) for one in (whole, ds))
        for a, b in zip(plain, merged, strict=True):
            np.testing.assert_allclose(a.get_array(), b.get_array())
            np.testing.assert_allclose(a.get_coordinates(), b.get_coordinates())


@pytest.mark.parametrize("laplacian", ["random_walk", "normalized"])
def test_other_laplacians_are_drawn_with_their_name(strat, laplacian):
    ds = calls.spectra(strat, signal(11, 2), algorithms="gft", laplacian=laplacian, self_loops=True)
    for picture in PICTURES:
        draw(picture, ds)
    assert f"{laplacian} with self-loops" in draw("spectra", ds)[0].figure.get_suptitle()


def test_a_new_algorithm_is_drawn_and_the_exact_one_preferred(strat, monkeypatch):
    from dataclasses import replace

    from spectrata.core.registry import ALGORITHMS

    monkeypatch.setitem(ALGORITHMS, "throw_away", replace(ALGORITHMS["in_agg"], name="throw_away"))
    ds = strat.spectra(signal(11, 2), ["throw_away", "gft"])
    assert draw("spectrogram", ds)[0].figure.get_suptitle().startswith("gft")
    for picture in PICTURES:
        draw(picture, ds.sel(algorithm=["throw_away"]))


# ---- every picture: no text is cut, and text is legible on its paper


def club():
    graph = nx.les_miserables_graph()
    return st.Stratification(graph, hops=3, weights=False), nx.betweenness_centrality(graph)


def parts():
    graph = nx.disjoint_union_all([nx.karate_club_graph(), nx.path_graph(7), nx.empty_graph(2)])
    return st.Stratification(graph, hops=2, weights=False), dict(enumerate(signal(len(graph))))


def tiny():
    return st.Stratification(nx.path_graph(5)), dict(enumerate([1.0, 2.0, 0.0, 4.0, 5.0]))


def table(strat):
    names = list(strat.graph.names)
    return pd.DataFrame(signal(len(names), 9), index=names, columns=[f"a long name of column {k}" for k in range(9)])


DRAWN = {
    "spectra": lambda strat, x: st.plot.spectra(strat.spectra(x)),
    "spectra of a calibration": lambda strat, x: st.plot.spectra(st.calibrate(strat, x, "gft", draws=39)),
    "compare": lambda strat, x: st.plot.compare(st.compare(strat.spectra(x), strat.spectra(table(strat).iloc[:, 0]))),
    "spectrogram of a signal": lambda strat, x: st.plot.spectrogram(strat.spectra(x)),
    "spectrogram": lambda strat, x: st.plot.spectrogram(strat.spectra(signal(20, strat.graph.n_nodes, 2), "gft")),
    "layers": lambda strat, x: st.plot.layers(strat.spectra(signal(4, strat.graph.n_nodes, 2), "gft")),
    "filters": lambda strat, x: st.plot.filters(strat.spectra(signal(12, strat.graph.n_nodes, 2), "gft")),
    "correlogram": lambda strat, x: st.plot.correlogram(st.correlogram(strat, x, draws=99)),
    "diagnose": lambda strat, x: st.plot.diagnose(st.diagnose(strat, x, draws=199), strat, x),
    "columns": lambda strat, x: st.plot.columns(st.correlogram(strat, table(strat), columns="separate", draws=99)),
    "ranking": lambda strat, x: st.plot.columns(st.rank_columns(strat, table(strat), draws=99)),
    "local": lambda strat, x: st.plot.local(st.local(strat.only(1), x, None, draws=99)),
    "agree": lambda strat, x: st.plot.agree(st.agree(strat.only(1), x, table(strat).iloc[:, 1], draws=99)),
    "nodes": lambda strat, x: st.plot.nodes(x, strat, label="betweenness"),
    "embedding": lambda strat, x: st.plot.embedding(strat.spectra(signal(2, strat.graph.n_nodes, 3), "gft")),
    "strata": lambda strat, x: st.plot.strata(strat),
}


@pytest.mark.parametrize("data", [club, parts, tiny])
@pytest.mark.parametrize("picture", DRAWN)
@pytest.mark.filterwarnings("ignore::spectrata.SpectrataWarning")
def test_no_text_is_cut_and_all_is_legible(picture, data):
    from matplotlib.colors import to_rgb

    with st.plot.dark() if data is parts else nullcontext():
        figure = np.ravel(DRAWN[picture](*data()))[0].figure
        figure.draw_without_rendering()
    paper, whole = np.mean(to_rgb(figure.get_facecolor())), figure.bbox
    for text in written(figure):
        box = text.get_window_extent()
        inside = box.x0 >= whole.x0 - 2 and box.x1 <= whole.x1 + 2 and box.y0 >= whole.y0 - 2 and box.y1 <= whole.y1 + 2
        assert inside, f"{text.get_text()!r} is cut"
        if text.axes is None or text not in text.axes.texts:  # numbers in cells lie on colours
            assert abs(np.mean(to_rgb(text.get_color())) - paper) > 0.3, f"{text.get_text()!r} cannot be read"


def written(figure):
    """Titles, legends, names of axes, words in panels, and ticks in view."""
    found = [text for legend in figure.legends for text in legend.get_texts()] + list(figure.texts)
    for ax in figure.axes:
        found += list(ax.texts) + ([] if ax.get_legend() is None else list(ax.get_legend().get_texts()))
        found += [ax.title, ax._left_title]
        for axis, at in ((ax.xaxis, 0), (ax.yaxis, 1)) if ax.axison else ():
            low, high = sorted(axis.get_view_interval())
            found += [axis.label, *(t for t in axis.get_ticklabels() if low <= t.get_position()[at] <= high)]
    return [text for text in found if text.get_text().strip() and text.get_visible()]
