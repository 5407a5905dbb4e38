"""Unit length, zero components and merged eigenspaces."""

import networkx as nx
import numpy as np

import spectrata as st

CAVEMAN = nx.Graph(["AB", "AC", "AD", "BE", "BF", "EF", "CG", "CH", "GH", "DI", "DJ", "IJ", "EK", "GL", "IM"])
GRAPHS = {
    "caveman": CAVEMAN,
    "two rings and a loner": nx.disjoint_union_all([nx.cycle_graph(6), nx.cycle_graph(6), nx.empty_graph(1)]),
    "petersen": nx.petersen_graph(),
    "complete": nx.complete_graph(6),
}


def signal(graph, dims=3, snapshots=2, seed=0):
    return np.random.default_rng(seed).normal(size=(snapshots, len(graph), dims))


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


def test_drop_zero_masks_zero_components_and_says_so():
    graph = GRAPHS["two rings and a loner"]
    ds = st.spectra(graph, signal(graph))
    dropped = st.stats.drop_zero(ds)
    zero = (ds["eigenvalue"] == 0).values
    assert np.isnan(dropped["magnitude"].values[..., zero]).all()
    assert not np.isnan(dropped["magnitude"].values[..., ~zero]).any()
    assert (dropped["status"] == "zero components dropped").all()
    assert (ds["status"] == "ok").all()
