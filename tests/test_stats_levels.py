"""Which divisions of the eigenvalue axis are accepted, and what merged and normalised results are called."""

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


def test_levels_have_the_coordinates_of_their_groups():
    wanted = {
        "component": {"eigenvalue": VALUE, "eigenspace": SPACE, "multiplicity": SIZE, "is_zero": ZERO},
        "eigenspace": {
            "eigenvalue": [[0, 1, 2, 3], [0, 4, NAN, NAN]],
            "eigenspace": [[0, 1, 2, 3], [0, 1, -1, -1]],
            "multiplicity": [[1, 1, 2, 1], [2, 2, 0, 0]],
        },
        "band": {"band_lower": [[1, 2], [NAN, 4]], "band_upper": [[1, 3], [NAN, 4]], "band_size": [[1, 3], [0, 2]]},
    }
    for level, arrays in wanted.items():
        found = levels.level_coordinates(AXES, *levels.level_groups(AXES, level, 2), level)
        for name, values in arrays.items():
            np.testing.assert_array_equal(found[name][1], values, err_msg=f"{level} {name}")


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
