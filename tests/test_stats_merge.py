"""Unit length, zero components, merged eigenspaces, and the spread over bases."""

import networkx as nx
import numpy as np
import pytest

import spectrata as st
from spectrata.errors import OptionError, ResultError
from spectrata.stats.bases import haar, rotate_columns
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


@pytest.mark.parametrize("name", ["caveman", "two rings and a loner", "petersen"])
def test_spread_of_adj_diff_is_zero_exactly_where_eigenvalues_are_simple(name):
    graph = GRAPHS[name]
    strat = st.Stratification(graph)
    spread = st.stats.basis_spread(strat, signal(graph), draws=20)
    std = spread["basis_std"].loc["adj_diff"].values  # (snapshot, hop, component)
    free = (spread["multiplicity"].values > 1) & (spread["eigenspace"].values > 0)
    assert (std[:, ~free] == 0.0).all()
    assert (std[:, free] > 0.0).all()
    # At zero eigenvalues the value is a convention that no rotation moves.
    assert (spread["basis_low"].values[..., ~free] == spread["basis_high"].values[..., ~free]).all()


def test_spread_agrees_with_the_algorithms_where_nothing_can_turn():
    graph = nx.path_graph(7)
    strat = st.Stratification(graph, hops=1)
    algorithms = ["gft", "apprx_ls", "in_agg", "adj_diff", "ln_vx", "ens"]
    spread = st.stats.basis_spread(strat, signal(graph), algorithms, draws=2, ln_vx={"trials": 3, "max_epochs": 50})
    np.testing.assert_allclose(spread["basis_mean"], spread["magnitude"], atol=1e-12)
    assert (spread["basis_std"].loc["adj_diff"] == 0.0).all()
    assert (spread["multiplicity"] == 1).all()


def test_merged_spread_is_rounding_for_invariant_algorithms_and_real_for_adj_diff():
    strat = st.Stratification(CAVEMAN, hops=2)
    algorithms = ["gft", "apprx_ls", "in_agg", "adj_diff"]
    spread = st.stats.basis_spread(strat, signal(CAVEMAN), algorithms, draws=20, level="eigenspace")
    assert float(spread["basis_std"].loc[["gft", "apprx_ls", "in_agg"]].max()) < 1e-9
    assert float(spread["basis_std"].loc["adj_diff"].max()) > 1e-2


def test_learned_ln_vx_moves_with_the_line_graphs_eigenspaces():
    # All eigenvalues of this graph are simple; its line graph has a repeated one.
    graph = nx.empty_graph(5)
    graph.add_edges_from([(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4), (2, 4)])
    strat = st.Stratification(graph, hops=1)
    assert strat.basis(1).multiplicity.max() == 1
    spread = st.stats.basis_spread(
        strat, signal(graph), ["ln_vx", "adj_diff"], draws=3, ln_vx={"trials": 2, "max_epochs": 50}
    )
    assert (spread["basis_std"].loc["ln_vx"] > 0).any()
    assert (spread["basis_std"].loc["adj_diff"] == 0).all()


def test_learned_ln_vx_by_part_and_incidence_have_a_spread_too():
    strat = st.Stratification(CAVEMAN, hops=1)
    parts = st.stats.basis_spread(
        strat, signal(CAVEMAN), "ln_vx", draws=2, ln_vx={"trials": 2, "max_epochs": 20, "by_part": True}
    )
    assert float(parts["basis_std"].max()) > 0
    incidence = st.stats.basis_spread(
        strat, signal(CAVEMAN), "ln_vx", draws=3, level="eigenspace", ln_vx={"transform": "incidence"}
    )
    assert float(incidence["basis_std"].max()) < 1e-9


def test_the_same_seed_gives_the_same_spread():
    strat = st.Stratification(CAVEMAN, hops=1)
    one, two = (st.stats.basis_spread(strat, signal(CAVEMAN), draws=5, seed=3) for _ in range(2))
    assert one.equals(two)


def test_haar_rotations_are_orthogonal_and_centred():
    rng = np.random.default_rng(0)
    turns = np.stack([haar(3, rng) for _ in range(4000)])
    np.testing.assert_allclose(
        np.einsum("kij,klj->kil", turns, turns), np.broadcast_to(np.eye(3), turns.shape), atol=1e-12
    )
    assert np.abs(turns.mean(axis=0)).max() < 0.05
    np.testing.assert_allclose((turns**2).mean(axis=0), 1 / 3, atol=0.02)


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


def test_bad_arguments_are_said():
    strat = st.Stratification(CAVEMAN, hops=1)
    with pytest.raises(OptionError, match="level"):
        st.stats.basis_spread(strat, signal(CAVEMAN), level="band")
    with pytest.raises(OptionError, match="draws"):
        st.stats.basis_spread(strat, signal(CAVEMAN), draws=1)
    with pytest.raises(ResultError, match="select with lists"):
        st.stats.drop_zero(st.spectra(CAVEMAN, signal(CAVEMAN)).sel(hop=1))
