"""Many graphs on common bands of eigenvalues: against each graph's own spectra, summed here."""

import networkx as nx
import numpy as np
import pytest

import spectrata as st
from spectrata.errors import OptionError, ResultError
from spectrata.results.schema import view

EDGES = [0.0, 0.5, 2.0, 4.0, 9.0]


def pairs():
    rng = np.random.default_rng(0)
    graphs = [nx.path_graph(9), nx.cycle_graph(12), nx.gnp_random_graph(12, 0.3, seed=3), nx.grid_2d_graph(3, 4)]
    graphs.append(nx.disjoint_union(nx.path_graph(4), nx.empty_graph(2)))
    return [(f"t{i}", graph, rng.standard_normal((len(graph), 2)) + 3) for i, graph in enumerate(graphs)]


def summed(spectrum, edges):
    """Energies of one spectrum at zero and in each band; the last takes what lies above."""
    energy, zero, values = (spectrum[name].values for name in ("magnitude", "is_zero", "eigenvalue"))
    energy, values = energy**2, values - 1e-9  # one that lies on an edge belongs below it
    high = [*edges[1:-1], np.inf]
    inside = [~zero & (values > low) & (values <= top) for low, top in zip(edges[:-1], high, strict=True)]
    return [energy[zero].sum(), *(energy[one].sum() for one in inside)]


@pytest.mark.parametrize("laplacian", ["combinatorial", "random_walk", "normalized"])
def test_against_each_graph(laplacian):
    given, edges = pairs(), EDGES if laplacian == "combinatorial" else [0, 0.5, 1, 1.5, 2]
    ds = st.spectra_many(given, hops=2, bands=edges, laplacian=laplacian)
    assert ds["graph"].values.tolist() == [name for name, _, _ in given]
    assert ds["energy"].dims == ("graph", "algorithm", "hop", "band")
    assert ds["band_upper"].sel(hop=1).values.tolist() == edges[1:]
    for name, graph, signal in given:
        own = st.spectra(graph, signal, list(ds["algorithm"].values), hops=2, laplacian=laplacian)
        for hop in own["hop"].values:
            for algorithm in ds["algorithm"].values:
                wanted = summed(own.sel(algorithm=algorithm, hop=hop), edges)
                cell = ds.sel(graph=name, algorithm=algorithm, hop=hop)
                np.testing.assert_allclose(cell["zero_energy"], wanted[0], atol=1e-10)
                np.testing.assert_allclose(cell["energy"], wanted[1:], atol=1e-10)


def test_it_reads_like_bands():
    given = pairs()
    ds = st.spectra_many(given, hops=[1], bands=EDGES, algorithms="gft")
    one = view(ds.isel(graph=1))
    assert one.is_bands
    exact = st.spectra(*given[1][1:], "gft", hops=[1])
    np.testing.assert_allclose(st.off_zero(ds.isel(graph=1)), st.off_zero(exact))


def test_the_same_from_a_store(tmp_path):
    given = pairs()
    kept = st.spectra_many(given, hops=2, bands=EDGES)
    st.spectra_many(given[:3] + given[3:], hops=2, bands=EDGES, store=tmp_path / "a.zarr")
    held = st.open_many(tmp_path / "a.zarr")
    for name in ("energy", "zero_energy", "magnitude", "band_upper"):
        np.testing.assert_array_equal(held[name], kept[name])
    with pytest.raises(OptionError, match="another run"):
        st.spectra_many(given, hops=2, bands=[0, 1, 2], store=tmp_path / "a.zarr")


def test_one_failure_and_a_graph_without_the_hop():
    given = [*pairs(), ("complete", nx.complete_graph(5), range(5)), ("bad", nx.path_graph(3), range(4))]
    ds = st.spectra_many(given, hops=2, bands=EDGES, metric="euclidean")
    assert ds["state"].values.tolist()[-2:] == ["done", "failed"]
    assert np.isnan(ds["energy"].sel(graph="complete", hop=2)).all()
    assert not np.isnan(ds["energy"].sel(graph="complete", hop=1)).any()
    axes = st.plot.spectrogram(ds)
    assert [panel.get_title() for panel in axes] == ["1 hop", "2 hops"]
    assert [len(panel.collections) for panel in axes] == [6, 5]  # one mesh for each graph that has the hop


def test_a_run_in_which_every_pair_failed_says_why():
    with pytest.raises(ResultError, match="All 1 pairs failed, the first with: NodeCountError"):
        st.spectra_many([(nx.path_graph(4), range(3))], bands=EDGES)


def test_the_plot_has_the_numbers():
    ds = st.spectra_many(pairs(), hops=1, bands=EDGES, algorithms="gft")
    panel = st.plot.spectrogram(ds)[0]
    drawn = np.hstack([np.ma.getdata(mesh.get_array()) for mesh in panel.collections])
    energy = ds["energy"].sel(algorithm="gft", hop=1)
    size = ds["multiplicity"].sel(hop=1).isel(component=slice(1, None)).transpose("graph", ...).values
    ratio = (energy / energy.sum("band")).transpose("graph", "band").values / (size / size.sum(axis=1, keepdims=True))
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(drawn, np.clip(np.log2(ratio), -2, 4).T, atol=1e-9)
    assert panel.get_ylim()[1] == pytest.approx(EDGES[-1])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"bands": 4}, "give the edges that all share"),
        ({"bands": [0.5, 1]}, "give the edges that all share, from 0"),
        ({"bands": [2, 1]}, "must ascend"),
        ({"bands": EDGES, "stratification": {"n_eigs": 3}}, "leave out n_eigs"),
        ({"bands": EDGES, "algorithms": "adj_diff"}, "adj_diff"),
        ({"bands": EDGES, "algorithms": "in_agg", "laplacian": "normalized"}, "normalized"),
    ],
)
def test_refusals(given, words):
    with pytest.raises(OptionError, match=words):
        st.spectra_many(pairs(), **given)
