"""Defects that an independent check of the numbers found, each held for good."""

from functools import partial

import networkx as nx
import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose, assert_array_equal

import spectrata as st
from spectrata.errors import HopError, OptionError, ResultError

RNG = np.random.default_rng(0)
PATH = nx.path_graph(30)
SLOPE = np.linspace(0, 1, 30) + 0.05 * RNG.normal(size=30)


def test_the_order_of_nodes_in_a_result_does_not_matter():
    result = st.spectra(PATH, SLOPE, hops=1)
    for moved in (result.sortby("node"), result.isel(node=RNG.permutation(30))):
        assert str(st.diagnose(moved)) == str(st.diagnose(result))
        assert_array_equal(st.response(moved, moved)["share_after"], st.response(result, result)["share_after"])
    for some in ([0] * 30, slice(0, 20)):
        with pytest.raises(ResultError, match="holds some of its nodes, or one of them twice"):
            st.diagnose(result.isel(node=some))


def test_one_graph_with_its_nodes_in_another_order_compares_by_name():
    names = [f"s{i}" for i in range(30)]
    graph = nx.relabel_nodes(nx.connected_watts_strogatz_graph(30, 4, 0.3, seed=1), dict(enumerate(names)))
    moved = nx.Graph()
    moved.add_nodes_from(RNG.permutation(names).tolist())
    moved.add_edges_from(graph.edges)
    tables = [dict(zip(names, RNG.normal(size=30), strict=True)) for _ in range(2)]
    one, two = (st.spectra(graph, table, hops=2) for table in tables)
    other = st.spectra(moved, tables[1], hops=2)
    assert one.attrs["graph_hash"] != other.attrs["graph_hash"]
    same, found = st.compare(one, two), st.compare(one, other)
    for name in ("energy_shift", "shift_p", "shift_low", "shift_high"):
        assert_allclose(found[name], same[name], rtol=1e-9, atol=1e-9, err_msg=name)
    assert found.attrs["graph_hash"] == one.attrs["graph_hash"]
    assert_allclose(st.response(one, other)["share_after"], st.response(one, two)["share_after"], atol=1e-9)
    moved.remove_edge(*next(iter(moved.edges)))
    with pytest.raises(ResultError, match="different graphs"):
        st.compare(one, st.spectra(moved, tables[1], hops=2))
    by_rows = [
        st.spectra(g, t, hops=2, apprx_ls={"orientation": "index"})
        for g, t in ((graph, tables[0]), (other_way(graph), tables[1]))
    ]
    with pytest.raises(ResultError, match="different graphs"):
        st.compare(*by_rows)


def other_way(graph):
    """The same graph with its nodes the other way round."""
    turned = nx.Graph()
    turned.add_nodes_from(list(graph)[::-1])
    turned.add_edges_from(graph.edges)
    return turned


def test_a_result_with_other_edges_is_refused():
    """Its findings would be of another graph."""
    graph = nx.path_graph(12)
    result, other = (st.spectra(graph, signal, hops=1) for signal in (np.arange(12.0), np.arange(12.0) % 3))
    assert str(st.diagnose(result.isel(edge=slice(None, None, -1)))) == str(st.diagnose(result))
    cut, turned = slice(0, 4), (result["edges"].values + np.array([0, 1])) % 12
    for changed in (result.isel(edge=cut), result.assign(edges=(result["edges"].dims, turned))):
        with pytest.raises(ResultError, match="not those of the graph it was computed on"):
            st.diagnose(changed)
    with pytest.raises(ResultError, match=r"\(4 here, 11 there\); select no edges"):
        st.compare(result.isel(edge=cut), other.isel(edge=cut))
    weighted = nx.path_graph(5)
    nx.set_edge_attributes(weighted, 2.0, "weight")
    kept = st.spectra(weighted, np.arange(5.0), hops=1, weights="weight")
    assert st.diagnose(kept)
    with pytest.raises(ResultError, match="neither edges nor edge_weight"):
        st.diagnose(kept.assign(edge_weight=kept["edge_weight"] + 1))


@pytest.mark.parametrize("dim", ["hop", "algorithm", "snapshot"])
def test_results_that_xarray_joins_are_read_as_the_whole(dim):
    signal = RNG.normal(size=(4, 30, 2))
    whole = st.spectra(PATH, signal, ["gft", "in_agg"], hops=3)
    joined = xr.concat([whole.isel({dim: [0]}), whole.isel({dim: slice(1, None)})], dim, data_vars="all")
    assert str(st.diagnose(joined)) == str(st.diagnose(whole))
    assert_allclose(st.off_zero(joined), st.off_zero(whole))
    with pytest.raises(ResultError, match=f"has one {dim} twice; select each once"):
        st.diagnose(xr.concat([whole, whole], dim, data_vars="all"))


def test_a_result_in_the_place_of_the_graph_is_named():
    result = st.spectra(PATH, SLOPE, hops=1)
    filtered = partial(st.filter_signal, signal=SLOPE, band=(0, 1))
    for call in (st.Stratification, partial(st.smoothness, signal=SLOPE), filtered):
        with pytest.raises(OptionError, match="This is a result, not a graph"):
            call(result)


def test_a_hop_past_the_diameter_is_named_with_the_largest_one():
    words = "^hop 3 is larger than the diameter of the graph, 2; use hops of at most 2[.]$"
    star = nx.star_graph(5)
    for call in (st.filter_signal, st.decoupling):
        with pytest.raises(HopError, match=words):
            call(star, np.arange(6.0), hop=3, **({"band": (0, 1)} if call is st.filter_signal else {}))
    with pytest.raises(HopError, match=words):
        st.spectra(star, np.arange(6.0), hops=[1, 3])


def test_results_that_do_not_differ_differ_nowhere():
    one = st.spectra(PATH, SLOPE, hops=1)
    same, found = st.compare(one, one), st.compare(one, st.spectra(PATH, SLOPE**2, hops=1))
    for name in ("at_eigenvalue", "at_eigenspace"):
        assert np.isnan(same[name]).all()
        assert np.isfinite(found[name]).all()
    assert_array_equal(same["largest_difference"], 0.0)


def test_adding_a_constant_changes_no_finding():
    assert str(st.diagnose(PATH, SLOPE + 1e4, hops=1)) == str(st.diagnose(PATH, SLOPE, hops=1))


def test_components_in_any_order_merge_to_the_same():
    ring = st.spectra(nx.cycle_graph(4), [3.0, 1.0, 0.0, 1.0], "gft", hops=1)
    moved = st.merge_eigenspaces(ring.isel(component=[2, 0, 3, 1]))
    assert_array_equal(moved["magnitude"], st.merge_eigenspaces(ring)["magnitude"])


def test_groups_with_and_without_zero_components_are_refused():
    groups = st.spectra(nx.path_graph(9), RNG.normal(size=(6, 9, 2)) + 1, "gft", hops=1)
    with pytest.raises(ResultError, match="zero components dropped"):
        st.stats.distinguish(groups, st.stats.drop_zero(groups), draws=9)


@pytest.mark.parametrize("algorithm", ["gft", "in_agg", "apprx_ls", "adj_diff"])
def test_a_large_mean_changes_no_p(algorithm):
    graph, signal = nx.path_graph(7), np.array([0, 1, 2, 5, 3, -1, -4.0]) / 8
    plain, shifted = (
        st.calibrate(graph, signal + mean, hops=1, algorithms=algorithm, draws=199) for mean in (0.0, 2.0**40)
    )
    assert_array_equal(plain["p"].values[..., 1:], shifted["p"].values[..., 1:])


def test_weights_whose_products_underflow_are_refused():
    with pytest.raises(HopError, match="leave double precision at hop 2"):
        st.spectra(st.Stratification(nx.path_graph(6), weights=[1e-170] * 5, hops=[2], hop_weights="product"), range(6))


def test_every_table_can_be_saved(tmp_path):
    found = st.smoothness(PATH, SLOPE, hops=1)
    assert st.open(st.save(found, tmp_path / "smoothness.nc")).identical(found)


def test_one_graph_of_many_answers_or_refuses_in_one_sentence(tmp_path):
    many = st.spectra_many([("path", nx.path_graph(4), range(4)), ("bad", nx.path_graph(4), range(3))])
    one = many.isel(graph=0)
    assert st.off_zero(one).shape == (3,)
    for call in (
        lambda: st.save(one, tmp_path / "one.nc"),
        lambda: st.write_report(one, path=tmp_path / "one.html"),
        lambda: st.diagnose(one, signal=range(4)),
    ):
        with pytest.raises(ResultError, match="one graph of many keeps no edges"):
            call()
    assert st.summary(many).set_index("graph").loc["bad", "status"].startswith("failed: NodeCountError")
