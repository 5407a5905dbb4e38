"""Unit length, zero components and merged eigenspaces."""

import networkx as nx
import numpy as np
import pytest

import spectrata as st
from reproduction.bases import rotate_columns
from spectrata.errors import ResultError
from spectrata.stats.describe.levels import band_groups, group_reduce

CAVEMAN = nx.Graph(["AB", "AC", "AD", "BE", "BF", "EF", "CG", "CH", "GH", "DI", "DJ", "IJ", "EK", "GL", "IM"])
GRAPHS = {
    "caveman": CAVEMAN,
    "two rings and a loner": nx.disjoint_union_all([nx.cycle_graph(6), nx.cycle_graph(6), nx.empty_graph(1)]),
    "petersen": nx.petersen_graph(),
    "complete": nx.complete_graph(6),
}


def signal(graph, dims=3, snapshots=2, seed=0):
    return np.random.default_rng(seed).normal(size=(snapshots, len(graph), dims))


def in_basis(stratum, vectors, values, zero, t):
    """Magnitudes of gft, apprx_ls and in_agg straight from their definitions, in any basis."""
    x, y = stratum.edges.T
    g = np.linalg.norm(t[:, x] - t[:, y], axis=2)
    difference = vectors[x] - vectors[y]
    safe = np.where(zero, 1.0, values)
    degrees = np.bincount(stratum.edges.ravel(), minlength=stratum.n_nodes)
    means = np.zeros((len(t), stratum.n_nodes))
    for row, weights in enumerate(g):
        means[row] = np.bincount(x, weights, stratum.n_nodes) + np.bincount(y, weights, stratum.n_nodes)
    means /= np.maximum(degrees, 1)
    return {
        "gft": np.linalg.norm(np.einsum("ni,tnd->tid", vectors, t), axis=2),
        "apprx_ls": np.where(zero, 0.0, np.sqrt(g**2 @ difference**2) / safe),
        "in_agg": np.abs(means @ vectors),
    }


@pytest.mark.parametrize("name", GRAPHS)
def test_merged_values_survive_any_rotation_inside_eigenspaces(name):
    graph, rng = GRAPHS[name], np.random.default_rng(5)
    strat = st.Stratification(graph)
    values = signal(graph)
    merged = st.merge_eigenspaces(strat.spectra(values, metric="euclidean"))
    for hop in strat.hops:
        basis, stratum = strat.basis(hop), strat.strata.at(hop)
        turned = rotate_columns(basis.dense(), basis.eigenspace, rng)
        if basis.multiplicity.max() > 1:
            assert not np.allclose(turned, basis.dense())
        found = in_basis(stratum, turned, basis.values, basis.is_zero, values)
        count = basis.eigenspace[-1] + 1
        for algorithm, magnitude in found.items():
            expected = np.sqrt(
                np.stack([(magnitude[:, basis.eigenspace == a] ** 2).sum(1) for a in range(count)], axis=1)
            )
            ours = merged["magnitude"].loc[algorithm].sel(hop=hop).values
            np.testing.assert_allclose(ours[:, :count], expected, atol=1e-9, rtol=1e-9)
            assert np.isnan(ours[:, count:]).all()


def test_merging_keeps_the_schema_and_says_what_is_ambiguous():
    ds = st.spectra(CAVEMAN, signal(CAVEMAN))
    merged = st.merge_eigenspaces(ds)
    assert merged["magnitude"].dims == ds["magnitude"].dims
    assert st.merge_eigenspaces(merged) is merged
    padding = merged["eigenspace"].values < 0
    assert (merged["multiplicity"].values[padding] == 0).all()
    assert (merged["multiplicity"].sum("component") == ds.sizes["component"]).all()
    ambiguous = merged["ambiguous"]
    assert not ambiguous.loc[["gft", "apprx_ls", "in_agg"]].any()
    assert (ambiguous.loc["adj_diff"] == (merged["multiplicity"] > 1)).all()
    # Energy is kept: the l2 rule adds squares.
    np.testing.assert_allclose(
        (merged["magnitude"].loc["gft"] ** 2).sum("component"), (ds["magnitude"].loc["gft"] ** 2).sum("component")
    )


def test_incidence_ln_vx_merges_by_sum():
    ds = st.spectra(nx.petersen_graph(), signal(nx.petersen_graph()), "ln_vx", ln_vx={"transform": "incidence"})
    merged = st.merge_eigenspaces(ds)
    assert merged["merge_rule"].values.tolist() == ["sum"]
    total = ds["magnitude"].sum("component")
    np.testing.assert_allclose(merged["magnitude"].sum("component"), total)


def test_normalize_gives_unit_length_and_keeps_zeros_and_norms():
    values = np.stack([signal(CAVEMAN, 1, 1)[0], np.ones((13, 1))])
    ds = st.spectra(CAVEMAN, values)
    unit = st.stats.normalize(ds)
    norms = np.sqrt((unit["magnitude"] ** 2).sum("component"))
    np.testing.assert_allclose(norms.loc["apprx_ls"].isel(snapshot=0), 1.0)
    assert (unit["magnitude"].loc["apprx_ls"].isel(snapshot=1) == 0).all()
    np.testing.assert_allclose(unit["magnitude"] * unit["magnitude_norm"], ds["magnitude"], atol=1e-12)


def test_drop_zero_masks_zero_components_and_says_so():
    graph = GRAPHS["two rings and a loner"]
    ds = st.spectra(graph, signal(graph))
    dropped = st.stats.drop_zero(ds)
    zero = (ds["eigenvalue"] == 0).values
    assert np.isnan(dropped["magnitude"].values[..., zero]).all()
    assert not np.isnan(dropped["magnitude"].values[..., ~zero]).any()
    assert (dropped["status"] == "zero components dropped").all()
    assert (ds["status"] == "ok").all()


def test_off_zero_is_one_less_the_share_of_the_parts_means():
    graph = GRAPHS["two rings and a loner"]
    values = signal(graph, 2, 3)
    share = st.off_zero(st.spectra(graph, values, "gft", metric="euclidean", hops=1)).values[:, 0]
    for t, s in enumerate(values):
        means = np.concatenate([np.tile(s[:6].mean(0), (6, 1)), np.tile(s[6:12].mean(0), (6, 1)), s[12:]])
        assert share[t] == pytest.approx(((s - means) ** 2).sum() / (s**2).sum())
    with pytest.raises(ResultError, match="gft"):
        st.off_zero(st.spectra(graph, values, "in_agg"))


def test_bands_have_equal_counts_and_never_cut_an_eigenspace():
    strat = st.Stratification(nx.grid_2d_graph(7, 7), hops=1)
    basis = strat.basis(1)
    bands = band_groups(basis.is_zero[None], basis.eigenspace[None], basis.multiplicity[None], 4)[0]
    assert (bands[basis.is_zero] == -1).all()
    assert np.bincount(bands[bands >= 0]).tolist() == pytest.approx([12, 12, 12, 12], abs=3)
    for space in range(1, basis.eigenspace[-1] + 1):
        assert len(set(bands[basis.eigenspace == space])) == 1


def test_group_reduce_drops_nan_and_empty_groups_are_nan():
    values = np.array([[[3.0, np.nan, np.nan, 2.0]]])
    groups = np.array([[0, 0, 1, 3]])
    np.testing.assert_array_equal(group_reduce(values, groups, 4), [[[3.0, np.nan, np.nan, 2.0]]])
