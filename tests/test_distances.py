"""Strata by distance against brute force: shortest paths by Floyd-Warshall, positions by all pairs."""

import pickle
from itertools import pairwise

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import spectrata as st
from spectrata.core.distance_strata import require_hops
from spectrata.errors import HopError, InputError, OptionError, ResultError, SignalTypeError, SignalValueError

LENGTHS = (lambda rng, m: rng.uniform(0.1, 3.0, m), lambda rng, m: rng.integers(1, 4, m) * 0.1)


def random_bins(rng, largest):
    return np.unique(np.round(np.concatenate([[0.0], rng.uniform(0.05, 1.0, rng.integers(1, 5)) * largest]), 3))


def assert_bins(strat, distances, bins):
    """Every pair is in the one bin that its distance lies in, and in no other; empty bins are left out."""
    x, y = np.triu_indices(len(distances), 1)
    found = {}
    for lower, upper in pairwise(bins):
        # Sums of lengths are rounded: what is on an edge up to 1e-12 of it counts as on it.
        inside = (distances[x, y] > lower * (1 + 1e-12)) & (distances[x, y] <= upper * (1 + 1e-12))
        if inside.any():
            found[f"({lower:.12g}, {upper:.12g}]"] = np.stack([x, y], axis=1)[inside].tolist()
    assert list(strat.hops) == list(found)
    assert {hop: strat.strata.at(hop).edges.tolist() for hop in strat.hops} == found
    assert all(stratum.weights is None for stratum in strat.strata)


@pytest.mark.filterwarnings("ignore:No pair of nodes")
@pytest.mark.parametrize("seed", range(200))
def test_shortest_paths_by_floyd_warshall(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 25))
    graph = nx.gnp_random_graph(n, rng.uniform(0.1, 0.4), seed=seed)
    graph.add_edge(0, 1)
    lengths = LENGTHS[seed % 2](rng, graph.number_of_edges())
    nx.set_edge_attributes(graph, dict(zip(graph.edges, lengths.tolist(), strict=True)), "length")
    distances = np.asarray(nx.floyd_warshall_numpy(graph, weight="length"))
    bins = random_bins(rng, np.max(distances[np.isfinite(distances)]))
    within = (distances > 0) & (distances <= bins[-1])
    if not within.any():
        bins = np.array([0.0, 10.0])
    assert_bins(st.Stratification(graph, distance="length", bins=bins), distances, bins)


@pytest.mark.filterwarnings("ignore:No pair of nodes")
@pytest.mark.parametrize("seed", range(200))
def test_positions_by_all_pairs(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 40)), int(rng.integers(1, 4))
    points = rng.integers(0, 5, (n, d)).astype(float) if seed % 3 == 0 else rng.normal(size=(n, d))
    points[0], points[1] = 0.0, 1.0
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    bins = random_bins(rng, distances.max())
    if not ((distances > 0) & (distances <= bins[-1])).any():
        bins = np.array([0.0, distances.max()])
    assert_bins(st.Stratification.from_positions(points, bins), distances, bins)


def test_spectra_of_bins_are_those_of_the_graphs_they_join(tmp_path):
    rng = np.random.default_rng(1)
    points, signal = rng.uniform(size=(40, 2)), rng.normal(size=(40, 3))
    strat = st.Stratification.from_positions(points, [0, 0.15, 0.3], laplacian="random_walk", cache=tmp_path / "bases")
    found = st.spectra(strat, signal)
    for hop in strat.hops:
        plain = st.Stratification(edges=strat.strata.at(hop).edges, n_nodes=40, hops=1, laplacian="random_walk")
        expected = st.spectra(plain, signal).sel(hop=1)
        np.testing.assert_allclose(found["magnitude"].sel(hop=hop), expected["magnitude"], atol=1e-12)
    assert found.attrs["bins"] == [0.0, 0.15, 0.3]
    again = st.spectra(pickle.loads(pickle.dumps(strat)), signal)
    np.testing.assert_array_equal(again["magnitude"], found["magnitude"])
    st.save(found, tmp_path / "a.nc")
    assert st.open(tmp_path / "a.nc")["hop"].values.tolist() == list(strat.hops)
    only = strat.only(strat.hops[1])
    assert only.hops == strat.hops[1:]
    np.testing.assert_array_equal(st.spectra(only, signal)["magnitude"], found["magnitude"].isel(hop=[1]))


def test_random_orientations_and_ensembles_count_bins_from_one():
    points, signal = np.arange(9.0)[:, None], np.random.default_rng(0).normal(size=9)
    strat = st.Stratification.from_positions(points, [0, 1, 2])
    options = {"apprx_ls": {"orientation": "random"}, "ens": {"weights": "fast"}}
    found = st.spectra(strat, signal, ["apprx_ls", "ens"], seed=3, **options)
    hops = st.spectra(nx.path_graph(9), signal, ["apprx_ls", "ens"], hops=2, seed=3, **options)
    np.testing.assert_allclose(found["magnitude"].values, hops["magnitude"].values, atol=1e-12)


def test_a_table_of_positions_names_the_nodes():
    frame = pd.DataFrame({"x": [0.0, 1.0, 3.0], "y": 0.0}, index=["a", "b", "c"])
    strat = st.Stratification.from_positions(frame, [0, 1.5, 4])
    assert strat.graph.names == ("a", "b", "c")
    assert strat.graph.positions.tolist() == [[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]]
    assert st.spectra(strat, {"c": 1.0, "a": 2.0, "b": 0.0})["signal"].values.ravel().tolist() == [2.0, 0.0, 1.0]


def test_bins_without_a_pair_are_left_out_with_a_warning():
    with pytest.warns(st.SpectrataWarning, match=r"No pair of nodes lies in \(2, 3\]; left out"):
        strat = st.Stratification.from_positions([[0.0], [1.0], [5.0]], [0, 2, 3, 6])
    assert strat.hops == ("(0, 2]", "(3, 6]")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"bins": [0, 1]}, "need both distance="),
        ({"distance": "length"}, "need both distance="),
        ({"distance": "length", "bins": [1, 0]}, "ascending numbers"),
        ({"distance": "length", "bins": [-1, 1]}, "from 0 on"),
        ({"distance": "length", "bins": 3}, "at least two"),
        ({"distance": "length", "bins": "ab"}, "at least two"),
        ({"distance": False, "bins": [0, 1]}, "names no lengths"),
        ({"distance": "length", "bins": [0, 9], "hops": 2}, "leave out hops"),
        ({"distance": "length", "bins": [0, 9], "weights": "length"}, "leave out weights"),
        ({"distance": "length", "bins": [0, 0.5]}, "No two nodes"),
    ],
)
def test_bins_that_are_refused(given, words):
    graph = nx.path_graph(4)
    nx.set_edge_attributes(graph, 1.0, "length")
    with pytest.raises(OptionError, match=words):
        st.Stratification(graph, **given)


@pytest.mark.parametrize(
    ("positions", "error"),
    [
        ([1.0, 2.0], SignalTypeError),
        ([["a"], ["b"]], SignalTypeError),
        ([[0.0], [np.nan]], SignalValueError),
        ([[0.0], [9.0]], OptionError),
    ],
)
def test_positions_that_are_refused(positions, error):
    with pytest.raises(error):
        st.Stratification.from_positions(positions, [0, 1])


def correlation_of_ends(signal, joined):
    """r by its definition: the correlation over all pairs, in both directions."""
    x, y = np.nonzero(joined)
    return np.corrcoef(signal[x], signal[y])[0, 1]


def by_position(rng):
    points = rng.uniform(size=(40, 2))
    strat = st.Stratification.from_positions(points, bins=[0, 0.2, 0.5])
    return strat, np.linalg.norm(points[:, None] - points[None], axis=2), (0, 0.2, 0.5)


def by_path(rng):
    graph = nx.gnm_random_graph(40, 80, seed=2)
    nx.set_edge_attributes(graph, {edge: rng.uniform(0.5, 2.0) for edge in graph.edges}, "length")
    distances = np.asarray(nx.floyd_warshall_numpy(graph, weight="length"))
    return st.Stratification(graph, distance="length", bins=[0, 1.5, 3]), distances, (0, 1.5, 3)


@pytest.mark.parametrize("make", [by_position, by_path])
def test_correlations_within_bins_by_brute_force(make):
    rng = np.random.default_rng(5)
    strat, distances, bins = make(rng)
    signal = rng.normal(size=40)
    joined = [(distances > lower) & (distances <= upper) for lower, upper in pairwise(bins)]
    expected = [correlation_of_ends(signal, one) for one in joined]
    found = st.correlogram(strat, signal)
    np.testing.assert_allclose(found["r"].values, expected, atol=1e-12)
    assert found["hop"].values.tolist() == list(strat.hops)
    assert found["n_pairs"].values.tolist() == [one.sum() // 2 for one in joined]
    findings = st.diagnose(strat, signal)
    frame = findings.to_frame()
    assert "accounting for a node's pairs in the first three bins" in " ".join(str(findings).split())
    rows = frame[frame["statistic"] == "r"]
    assert rows["hop"].tolist() == list(strat.hops)
    np.testing.assert_allclose(rows["value"], expected, atol=1e-12)
    assert (found["p"].values >= 1 / 10_000).all()


def test_a_result_of_bins_does_not_keep_their_pairs(tmp_path):
    strat, _, _ = by_position(np.random.default_rng(5))
    rng = np.random.default_rng(6)
    one, two = (st.spectra(strat, rng.normal(size=40)) for _ in range(2))
    for verb in (st.diagnose, st.calibrate):
        with pytest.raises(ResultError, match="give the Stratification and the signal"):
            verb(one)
    assert st.calibrate(strat, rng.normal(size=40), draws=39)["p"].notnull().any("component").all()
    st.compare(one, two)
    with pytest.raises(ResultError, match="give the Stratification and the signal"):
        st.write_report(one, path=tmp_path / "alone.html")
    assert "(0" in st.write_report(strat, rng.normal(size=40), tmp_path / "given.html").html


def test_what_needs_hops_refuses_bins():
    strat = st.Stratification.from_positions(np.arange(9.0)[:, None], [0, 1, 2])
    with pytest.raises(OptionError, match="The probe needs hop distances"):
        st.probe(strat, np.arange(9.0), np.arange(9) % 2)
    with pytest.raises(OptionError, match="Watching needs hop distances"):
        require_hops(strat, "Watching")
    require_hops(st.Stratification(nx.path_graph(3)), "Watching")
    with pytest.raises(OptionError, match="hop distances"):
        st.response(np.arange(9.0), np.ones(9), strat)
    with pytest.raises(HopError, match="not among"):
        strat.only(1)


@pytest.mark.needs("torch")
def test_watching_refuses_bins():
    import torch

    from spectrata.torch import watch

    strat = st.Stratification.from_positions(np.arange(9.0)[:, None], [0, 1, 2])
    with pytest.raises(OptionError, match="Watching a model needs hop distances"):
        watch(torch.nn.Sequential(torch.nn.Linear(1, 1)), strat, layers=["0"], mode="train")


def test_names_of_positions_are_checked():
    points = np.random.default_rng(0).uniform(size=(4, 2))
    with pytest.raises(InputError, match="The node name 'a' stands at rows 0 and 3"):
        st.Stratification.from_positions(pd.DataFrame(points, index=list("abca")), [0, 2])
    ids = pd.DataFrame({"id": [7, 8, 9, 3], "x": points[:, 0], "y": points[:, 1]})
    with pytest.raises(InputError, match="'id' is taken for a coordinate; make it the index"):
        st.Stratification.from_positions(ids, [0, 2])
    assert st.Stratification.from_positions(ids.set_index("id"), [0, 2]).graph.names == (7, 8, 9, 3)


@pytest.mark.parametrize(
    "heads", [["cell_id", "x", "y"], ["k", "a", "b"], ["x", "y", "area"], ["cell_id", "x_um", "y_um"]]
)
def test_a_column_that_is_no_coordinate_is_asked_about(heads):
    points = np.random.default_rng(0).uniform(0, 10, (30, 2))
    table = pd.DataFrame(points, columns=[head for head in heads if head not in ("cell_id", "k", "area")])
    table.insert(heads.index((set(heads) & {"cell_id", "k", "area"}).pop()), "?", np.arange(1000, 1030))
    table.columns = heads
    with pytest.raises(SignalTypeError, match=r"taken for a coordinate; make it the index"):
        st.Stratification.from_positions(table, [0, 3])
    named = st.Stratification.from_positions(pd.DataFrame(points, columns=["x_centroid", "y_centroid"]), [0, 3])
    assert named.strata.sizes == st.Stratification.from_positions(points, [0, 3]).strata.sizes
