"""Every picture of every kind of result: it shows what the result holds, or refuses in one sentence."""

import networkx as nx
import numpy as np
import pytest
import xarray as xr

import calls
import spectrata as st
from spectrata.errors import OptionError, ResultError

GRAPH = nx.barbell_graph(4, 3)
PICTURES = ("spectra", "hops", "spectrogram", "strata", "evolution", "embedding")
PADDING = {"eigenspace": -1, "multiplicity": 0, "is_zero": False, "complete": False, "status": "past the diameter"}
PADDING |= {"n_edges": 0, "n_parts": 0, "n_singletons": 0}


def many_of(results):
    """Results as those of many graphs: padded along hops and components, facts as coordinates."""
    pieces = []
    for ds in results.values():
        kept = ds[["magnitude", "magnitude_error", "gradient_norm", "status"]].drop_vars("node", errors="ignore")
        facts = {key: ds.attrs[key] for key in ("n_nodes", "metric", "graph_hash")}
        pieces.append(kept.assign_coords(component=ds["component"].values, **facts))
    joined = xr.concat(pieces, dim="graph", join="outer", fill_value=PADDING, coords="different", compat="equals")
    first = next(iter(results.values()))
    common = {key: first.attrs[key] for key in ("laplacian", "self_loops", "options", "spectrata_version", "seed")}
    done = {"state": ("graph", ["done"] * len(results)), "error": ("graph", [""] * len(results))}
    return joined.assign_coords(graph=list(results)).assign(done).assign_attrs(common)


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
    return many_of({name: st.spectra(graph, signal(len(graph))) for name, graph in graphs.items()})


def draw(picture, ds, **more):
    axes = np.ravel(getattr(st.plot, picture)(ds, **more))
    axes[0].figure.canvas.draw()
    return axes


def curves(ax):
    return {line.get_label(): line for line in ax.lines if line.get_gid() == "curve"}


def cells(ax):
    return [one for one in ax.collections if type(one).__name__ == "QuadMesh"]


# ---- cut spectra


@pytest.mark.parametrize("which", ["lowest", "highest"])
def test_a_cut_spectrum_is_drawn_where_it_stands(strat, which):
    cut = strat.using(n_eigs=4, which=which).spectra(signal(11, 3))
    (panel, *_) = draw("spectra", cut, algorithms="gft", x="rank")
    x, y = curves(panel)["gft"].get_data()
    assert list(x) == cut["component"].values.tolist()
    np.testing.assert_allclose(y, cut["magnitude"].loc["gft", 1])
    zeros = [line for line in panel.lines if line.get_gid() == "zero"]
    assert len(zeros) == (1 if which == "lowest" else 0)
    ax = draw("hops", cut)[0]
    mesh = cells(ax)[0]
    bounds = mesh.get_coordinates()[0, :, 0].tolist()
    # Of the highest, the first belongs to a fourfold eigenspace of which two components are here.
    assert bounds == ([0, 1, 2, 3, 4] if which == "lowest" else [5, 9, 10, 11])
    drawn = np.ma.filled(mesh.get_array().astype(float), np.nan).ravel()
    assert np.isnan(drawn).tolist() == [True, *[False] * (len(drawn) - 1)]


def test_a_cut_spectrum_has_no_shares(strat):
    cut = strat.using(n_eigs=4).spectra(signal(2, 11, 3))
    assert len(draw("evolution", cut, measures=["gradient_norm"])) == 1
    with pytest.raises(ResultError, match="4 of the 11 components"):
        st.plot.evolution(cut)
    with pytest.raises(ResultError, match="4 of the 11 components"):
        st.plot.compare(cut.isel(snapshot=0, drop=True), cut.isel(snapshot=1, drop=True))


# ---- layers, epochs and columns


def test_layers_and_epochs_are_curves_named_by_both(layers):
    axes = draw("spectra", layers, algorithms="gft", hops=[1], merge=False)
    found = curves(axes[0])
    assert list(found) == [f"conv{layer}, {epoch}" for layer in (1, 2) for epoch in range(3)]
    expected = layers["magnitude"].sel(algorithm="gft", hop=1, layer="conv2", epoch=1)
    np.testing.assert_allclose(found["conv2, 1"].get_ydata(), expected)
    only = draw("spectra", layers, algorithms="gft", hops=[1], snapshots=[("conv2", 1)])
    assert list(curves(only[0])) == ["conv2, 1"]
    assert draw("hops", layers)[0].get_title().startswith("gft, conv2, 2:")
    assert [ax.get_title() for ax in draw("embedding", layers)] == ["conv1, 0", "conv2, 0", "conv2, 2"]


@pytest.mark.parametrize("picture", ["spectrogram", "evolution"])
def test_a_sequence_is_one_dimension(layers, picture):
    with pytest.raises(ResultError, match=r"layer and epoch.*select.*ds\.isel\(layer=-1\)"):
        draw(picture, layers)
    axes = draw(picture, layers.isel(layer=-1))
    figure = axes[0].figure
    assert "epoch" in (figure._supxlabel.get_text() if figure._supxlabel else axes[0].get_xlabel())


def test_lines_join_only_what_is_a_sequence(strat):
    ds = strat.spectra(signal(3, 11, 1))
    assert draw("evolution", ds)[0].lines[0].get_linestyle() == "-"
    columns = ds.rename(snapshot="column")
    assert draw("evolution", columns)[0].lines[0].get_linestyle() == "None"


# ---- many graphs


def test_many_graphs_are_curves_named_by_graph(many):
    axes = draw("spectra", many, merge=False)
    assert axes[0].get_title() == "K = 1: 3 graphs"
    found = curves(axes[0])
    assert list(found) == ["bell", "ring", "star"]
    alone = st.spectra(nx.cycle_graph(7), signal(7))
    np.testing.assert_allclose(found["ring"].get_ydata(), alone["magnitude"].loc["gft", 1])
    np.testing.assert_allclose(found["ring"].get_xdata(), alone["eigenvalue"].loc[1])
    last = axes[many.sizes["hop"] - 1]
    assert list(curves(last)) == ["bell"]
    assert "ring, star: past the diameter" in last.texts[0].get_text()
    draw("spectra", many, x="rank")


def test_many_graphs_are_rows_of_hops_and_points_of_evolution(many):
    ax = draw("hops", many)[0]
    labels = [tick.get_text() for tick in ax.get_yticklabels()]
    assert labels[0] == "bell, 1"
    assert labels[-2:] == ["star, 1", "star, 2"]
    panels = draw("evolution", many)
    points = panels[1].lines[0]
    assert points.get_linestyle() == "None"
    expected = [float(st.off_zero(st.spectra(g, signal(len(g)), hops=1))[0]) for g in (GRAPH, nx.cycle_graph(7))]
    np.testing.assert_allclose(points.get_ydata()[:2], expected)
    assert [tick.get_text() for tick in panels[1].get_xticklabels()] == ["bell", "ring", "star"]


@pytest.mark.parametrize("picture", ["spectrogram", "strata", "embedding"])
def test_pictures_of_one_graph_name_how_to_select_one(many, picture):
    with pytest.raises(ResultError, match=r"many graphs; select one, such as ds\.isel\(graph=0\)"):
        draw(picture, many)


def test_one_of_many_graphs_is_a_result(many):
    one = many.isel(graph=2)
    alone = st.spectra(nx.star_graph(5), signal(6))
    for picture in ("spectra", "hops", "spectrogram", "evolution", "strata"):
        axes = draw(picture, one, **({"merge": False} if picture == "spectra" else {}))
        if picture == "spectra":
            np.testing.assert_allclose(curves(axes[0])["gft"].get_ydata(), alone["magnitude"].loc["gft", 1])
            assert len(axes) == 2
    with pytest.raises(OptionError, match="did not keep its signal"):
        draw("embedding", one)
    with pytest.raises(ResultError, match="Stratification"):
        draw("strata", one, graphs=True)
    with pytest.raises(ResultError, match="many graphs"):
        st.plot.compare(many, many)


# ---- several results by name, and what else was done to a result


def test_results_that_do_not_belong_together_are_refused_naming_both(strat, whole):
    values = signal(11, 3)
    others = {
        "different graphs": st.spectra(nx.path_graph(11), values),
        "'combinatorial' and 'random_walk'": strat.spectra(values, laplacian="random_walk"),
        "'angular' and 'euclidean'": strat.spectra(values, metric="euclidean"),
        "different components": strat.using(n_eigs=4).spectra(values),
        "orientation differ": strat.spectra(values, apprx_ls={"orientation": "index"}),
        "merged eigenspaces": st.merge_eigenspaces(whole),
    }
    for words, other in others.items():
        with pytest.raises(ResultError, match=words) as refused:
            st.plot.spectra({"one": whole, "two": other})
        assert "'one'" in str(refused.value)
        assert "'two'" in str(refused.value)


@pytest.mark.parametrize("change", ["merge_eigenspaces", "drop_zero", "normalize"])
def test_changed_results_are_drawn(whole, change):
    ds = (getattr(st, change, None) or getattr(st.stats, change))(whole)
    for picture in ("spectra", "hops", "spectrogram", "strata"):
        draw(picture, ds)
    if change == "merge_eigenspaces":
        plain, merged = (cells(draw("hops", one)[0]) for one in (whole, ds))
        for a, b in zip(plain, merged, strict=True):
            np.testing.assert_allclose(a.get_array(), b.get_array())
            np.testing.assert_allclose(a.get_coordinates(), b.get_coordinates())


@pytest.mark.parametrize("laplacian", ["random_walk", "normalized"])
def test_other_laplacians_are_drawn_with_their_chance(strat, laplacian):
    given = {"algorithms": "gft", "laplacian": laplacian, "self_loops": True}
    values = signal(11, 2)
    ds = calls.spectra(strat, values, **given)
    judged = st.calibrate(strat.using(laplacian=laplacian, self_loops=True), values, "gft", draws=39)
    for picture in PICTURES:
        draw(picture, ds)
    panel = draw("spectra", ds, merge=False, calibrated=judged)[0]
    (null,) = (line for line in panel.lines if line.get_gid() == "null")
    share = np.sqrt(ds["multiplicity"].loc[1].values)
    space = ds["eigenspace"].loc[1].values
    energy = (judged["chance"] * judged["energy"]).sel(algorithm="gft", hop=1)
    expected = np.sqrt(energy.values)[space] / share
    np.testing.assert_allclose(null.get_ydata(), expected[~ds["is_zero"].loc[1].values])
    with pytest.raises(ResultError, match=r"combinatorial.*, and calibrated with"):
        st.plot.spectra(strat.spectra(values, "gft"), calibrated=judged)


def test_a_new_algorithm_is_drawn_and_the_exact_one_preferred(strat, monkeypatch):
    from dataclasses import replace

    from spectrata.core.registry import ALGORITHMS

    monkeypatch.setitem(ALGORITHMS, "throw_away", replace(ALGORITHMS["in_agg"], name="throw_away"))
    ds = strat.spectra(signal(11, 2), ["throw_away", "gft"])
    assert draw("hops", ds)[0].get_title().startswith("gft")
    for picture in PICTURES:
        draw(picture, ds.sel(algorithm=["throw_away"]))
