"""How magnitudes lie along the eigenvalue axis, by hand; and what merged and normalised results are called."""

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

import spectrata as st
from spectrata.errors import OptionError, ResultError
from spectrata.results.schema import view
from spectrata.stats.describe import levels

NAN = np.nan
# Two hops of five components; the second has four, and all of it is zero but one space of two.
VALUE = np.array([[0.0, 1.0, 2.0, 2.0, 3.0], [0.0, 0.0, 4.0, 4.0, NAN]])
SPACE = np.array([[0, 1, 2, 2, 3], [0, 0, 1, 1, -1]])
SIZE = np.array([[1, 1, 2, 2, 1], [2, 2, 2, 2, 0]])
ZERO = SPACE == 0
AXES = SimpleNamespace(eigenvalue=VALUE, eigenspace=SPACE, multiplicity=SIZE, is_zero=ZERO, complete=True)


def test_groups_are_added_up_hop_by_hop():
    values = np.array([[1.0, 2.0, 2.0, 1.0, 5.0], [3.0, 4.0, 5.0, 12.0, NAN]])
    found = levels.group_reduce(values, SPACE, 4)
    np.testing.assert_allclose(found, [[1, 2, 5**0.5, 5], [5, 13, NAN, NAN]])
    np.testing.assert_allclose(levels.group_reduce(values, SPACE, 4, "sum"), [[1, 2, 3, 5], [7, 17, NAN, NAN]])
    # A hop without any group does not end the work, and a group may begin at any number.
    empty_first = np.array([[-1] * 5, [1, 1, -1, 2, -1]])
    np.testing.assert_allclose(levels.group_reduce(values, empty_first, 3), [[NAN] * 3, [NAN, 5, 12]])
    partly = np.array([[NAN, NAN, 3.0, NAN, NAN]])
    np.testing.assert_allclose(levels.group_reduce(partly, np.array([[0, 0, 1, 1, 2]]), 3), [[NAN, 3, NAN]])


def test_bands_are_equal_counts_of_whole_eigenspaces():
    assert levels.band_groups(ZERO, SPACE, SIZE, 2).tolist() == [[-1, 0, 1, 1, 1], [-1, -1, 1, 1, -1]]
    assert levels.band_groups(ZERO, SPACE, SIZE, 1).tolist() == [[-1, 0, 0, 0, 0], [-1, -1, 0, 0, -1]]
    assert levels.band_groups(ZERO, SPACE, SIZE, 100).max() == 87
    none = levels.band_groups(
        np.array([[True, True], [True, False]]), np.array([[0, 0], [0, 1]]), np.array([[2, 2], [1, 1]]), 3
    )
    assert none.tolist() == [[-1, -1], [-1, 1]]


def test_levels_have_their_groups_and_their_coordinates():
    for level, count in (("component", 5), ("eigenspace", 4), ("band", 2)):
        groups, found = levels.level_groups(AXES, level, 2)
        assert found == count
        named = levels.level_coordinates(AXES, groups, count, level)
        arrays = {name: array for name, (_, array) in named.items()}
        dims = {dims for dims, _ in named.values()}
        if level == "band":
            assert dims == {("hop", "band")}
            assert list(arrays) == ["band_lower", "band_upper", "band_size"]
            np.testing.assert_array_equal(arrays["band_lower"], [[1, 2], [NAN, 4]])
            np.testing.assert_array_equal(arrays["band_upper"], [[1, 3], [NAN, 4]])
            np.testing.assert_array_equal(arrays["band_size"], [[1, 3], [0, 2]])
            continue
        assert dims == {("hop", "component")}
        assert list(arrays) == ["eigenvalue", "eigenspace", "multiplicity", "is_zero"]
        np.testing.assert_array_equal(arrays["is_zero"], arrays["eigenspace"] == 0)
        if level == "component":
            np.testing.assert_array_equal(groups, [[0, 1, 2, 3, 4], [0, 1, 2, 3, -1]])
            np.testing.assert_array_equal(arrays["eigenvalue"], VALUE)
            np.testing.assert_array_equal(arrays["eigenspace"], SPACE)
            np.testing.assert_array_equal(arrays["multiplicity"], SIZE)
        else:
            np.testing.assert_array_equal(arrays["eigenvalue"], [[0, 1, 2, 3], [0, 4, NAN, NAN]])
            np.testing.assert_array_equal(arrays["eigenspace"], [[0, 1, 2, 3], [0, 1, -1, -1]])
            np.testing.assert_array_equal(arrays["multiplicity"], [[1, 1, 2, 1], [2, 2, 0, 0]])
    with pytest.raises(OptionError, match="level='parts' is not one of 'component', 'eigenspace', 'band'"):
        st.calibrate(nx.path_graph(4), range(4), level="parts")


@pytest.mark.parametrize("bands", [0, -1, True, 2.0, "4", None, 2**16 + 1])
def test_numbers_of_bands_are_checked(bands):
    with pytest.raises(OptionError, match="bands="):
        levels.level_groups(AXES, "band", bands)


def test_one_band_and_the_most_are_fine():
    assert levels.level_groups(AXES, "band", 1)[1] == 1
    assert levels.level_groups(AXES, "band", np.int64(2**16))[1] == 2**16


def test_eigenspaces_count_from_zero_among_those_present():
    """A cut spectrum keeps the numbers of the whole one; as groups they begin at 0."""
    spaces = np.array([[3, 4, 4, 7], [0, 2, -1, -1]])
    cut = SimpleNamespace(eigenspace=spaces, multiplicity=np.ones_like(spaces), is_zero=spaces == 0)
    groups, count = levels.level_groups(cut, "eigenspace")
    assert (groups.tolist(), count) == ([[0, 1, 1, 2], [0, 1, -1, -1]], 3)


def test_a_cut_spectrum_has_no_bands():
    ds = st.spectra(st.Stratification(nx.path_graph(8), hops=1, n_eigs=4), range(8), "gft")
    with pytest.raises(ResultError, match="holds 4 of the 8 components at hop 1, and a division into bands"):
        levels.level_groups(view(ds), "band", 2)
    with pytest.raises(OptionError, match="needs all components; leave out n_eigs"):
        st.calibrate(st.Stratification(nx.path_graph(8), hops=1, n_eigs=4), range(8), level="band")


GRAPH = nx.complete_bipartite_graph(2, 4)
SIGNAL = np.random.default_rng(0).normal(size=(6, 2))


@pytest.mark.parametrize("snapshots", [None, 3])
def test_a_result_is_read_whatever_the_order_of_its_dimensions(snapshots):
    signal = SIGNAL if snapshots is None else np.stack([SIGNAL] * snapshots)
    ds = st.spectra(GRAPH, signal, ["gft", "in_agg"], hops=2)
    turned = ds.transpose(*reversed(list(ds.dims)))
    found = view(turned).magnitude
    assert found.shape == (2, snapshots or 1, 2, 6)
    np.testing.assert_array_equal(found, view(ds).magnitude)
    kept = view(turned).signal
    np.testing.assert_array_equal(kept, signal.reshape(-1, 6, 2))
    assert view(st.spectra(st.Stratification(GRAPH, keep=()), signal, "gft")).signal is None
    assert view(ds).rows == (None if snapshots is None else [0, 1, 2])
    for name in ("eigenvalue", "eigenspace", "multiplicity", "is_zero", "complete", "status", "gradient_norm"):
        np.testing.assert_array_equal(getattr(view(turned), name), getattr(view(ds), name))
    with pytest.raises(ResultError, match="no dimension hop; select with lists"):
        view(ds.sel(hop=1))


def test_a_stratification_comes_back_at_the_same_hops():
    ds = st.spectra(nx.path_graph(6), range(6), "gft", hops=[1, 3])
    strat = levels.rebuild(view(ds))
    assert strat.hops == (1, 3)
    assert strat.graph.digest == ds.attrs["graph_hash"]


@pytest.mark.parametrize("snapshots", [None, 2])
def test_merged_results_name_their_eigenspaces(snapshots):
    signal = SIGNAL if snapshots is None else np.stack([SIGNAL] * snapshots)
    ds = st.merge_eigenspaces(st.spectra(GRAPH, signal, ["gft", "adj_diff"], hops=2))
    time = () if snapshots is None else ("snapshot",)
    assert ds["magnitude"].dims == ("algorithm", *time, "hop", "component")
    # K(2, 4): 0, 2, 4 and 6; at two hops an edge and K4: 0, 2 and 4.
    assert ds["n_eigenspaces"].values.tolist() == [4, 3]
    assert ds["merge_rule"].values.tolist() == ["l2", "l2"]
    assert ds["multiplicity"].values.tolist() == [[1, 3, 1, 1], [2, 1, 3, 0]]
    again = st.merge_eigenspaces(ds)
    np.testing.assert_array_equal(again["magnitude"], ds["magnitude"])


def test_normalised_results_say_so():
    ds = st.spectra(GRAPH, np.stack([SIGNAL, 0 * SIGNAL + 1]), ["gft", "in_agg"], hops=2)
    found = st.stats.normalize(ds)
    assert found.attrs["normalized"] == "l2"
    assert found["magnitude"].dims == ds["magnitude"].dims
    assert (found["magnitude"].loc["in_agg"].isel(snapshot=1) == 0).all()  # of a constant
    norms = np.sqrt((ds["magnitude"] ** 2).sum("component"))
    np.testing.assert_allclose(found["magnitude_norm"], norms)
    assert found["magnitude_norm"].dims == ("algorithm", "snapshot", "hop")
    np.testing.assert_allclose(found["magnitude"] * norms, ds["magnitude"], atol=1e-12)
    off = st.off_zero(ds)
    assert off.name == "off_zero"
    assert off.dims == ("snapshot", "hop")
    assert "algorithm" not in off.coords
    merged = st.off_zero(st.merge_eigenspaces(ds))  # with NaN where a hop has fewer eigenspaces
    np.testing.assert_allclose(merged, off)


def test_dropped_zero_components_are_nan_and_said():
    graph = nx.disjoint_union_all([nx.cycle_graph(6), nx.cycle_graph(6), nx.empty_graph(1)])
    ds = st.spectra(graph, np.random.default_rng(0).normal(size=(2, 13, 3)))
    dropped, zero = st.stats.drop_zero(ds), (ds["eigenvalue"] == 0).values
    assert np.isnan(dropped["magnitude"].values[..., zero]).all()
    assert not np.isnan(dropped["magnitude"].values[..., ~zero]).any()
    assert (dropped["status"] == "zero components dropped").all()
    assert (ds["status"] == "ok").all()


@pytest.mark.parametrize("sizes", [(1e-200, 1.0), (1e200, 1e-200)])
def test_each_spectrum_has_its_own_size(sizes):
    plain = st.spectra(GRAPH, np.stack([SIGNAL, SIGNAL]), "gft", hops=2, metric="euclidean")
    factors = np.array(sizes)[:, None, None]
    sized = st.spectra(GRAPH, np.stack([SIGNAL, SIGNAL]) * factors, "gft", hops=2, metric="euclidean")
    np.testing.assert_allclose(
        st.stats.normalize(sized)["magnitude"], st.stats.normalize(plain)["magnitude"], rtol=1e-9
    )
    np.testing.assert_allclose(
        st.stats.normalize(sized)["magnitude_norm"],
        st.stats.normalize(plain)["magnitude_norm"] * factors[None, :, :, 0],
        rtol=1e-9,
    )
    np.testing.assert_allclose(st.off_zero(sized), st.off_zero(plain), rtol=1e-9)
