"""Results of readings go back into the objects they came from."""

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import spectrata as st
from spectrata.errors import OptionError, SignalTypeError, SpectrataWarning

GRAPH = nx.convert_node_labels_to_integers(nx.grid_2d_graph(8, 8))
ROW = np.arange(64) // 8


class Tissue(SimpleNamespace):
    """As much of an AnnData as is read and written."""

    def __getitem__(self, rows):
        parts = {"X": self.X[rows], "obs": self.obs.iloc[rows], "obs_names": self.obs_names[rows]}
        return Tissue(**(vars(self) | parts | {"obsm": {name: one[rows] for name, one in self.obsm.items()}}))


def tissue(**obsp):
    """An AnnData of 64 cells and 3 genes, as far as it is read and written."""
    cells, genes = pd.Index([f"cell{i}" for i in range(64)]), pd.Index(["flat", "grad", "noise"])
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.normal(size=64), ROW + rng.normal(size=64), rng.normal(size=64)])
    matrix = sp.csr_matrix(nx.to_scipy_sparse_array(GRAPH, format="csr", dtype=float))
    return Tissue(
        X=values,
        layers={},
        obs=pd.DataFrame(index=cells),
        var=pd.DataFrame(index=genes),
        uns={},
        obsm={"spatial": np.column_stack([ROW, np.arange(64) % 8])},
        obsp=obsp or {"spatial_connectivities": matrix},
        obs_names=cells,
        var_names=genes,
    )


def test_genes_are_ranked_in_var():
    data = tissue()
    found = st.rank_columns(data, hops=2, write=True).set_index("column")
    assert data.var["spectrata_verdict"].to_dict() == found["verdict"].to_dict()
    assert data.var["spectrata_r"].to_dict() == found["r"].to_dict()
    assert data.var.loc["grad", "spectrata_verdict"] == "alike"
    assert list(data.uns["spectrata_rank_columns"]["table"]["column"]) == list(found.index)
    by_hand = st.rank_columns(GRAPH, data.X, hops=2).set_index("column")
    assert by_hand.loc[1, "r"] == pytest.approx(found.loc["grad", "r"], rel=1e-12)


def test_cells_are_described_in_obs():
    data = tissue()
    found = st.local(data, "grad", write=True)
    np.testing.assert_array_equal(data.obs["spectrata_r"], found["r"].sel(hop=1))
    assert data.obs["spectrata_verdict"].tolist() == found["verdict"].sel(hop=1).values.tolist()


def test_the_other_readings():
    data = tissue()
    st.correlogram(data, "grad", hops=2, draws=99, write=True)
    assert data.uns["spectrata_correlogram"]["table"]["hop"].tolist() == [1, 2]
    assert data.uns["spectrata_correlogram"]["arguments"]["seed"] == 0
    st.agree(data, "X", "grad", columns="separate", draws=99, write=True)
    assert data.var["spectrata_agree_r"]["grad"] == pytest.approx(1.0)


@pytest.mark.needs("sklearn")
def test_views_of_a_probe():
    data = tissue()
    data.obs["half"] = np.where(ROW < 4, "a", "b")
    found = st.probe(data, "X", "half", rewired=1, repeats=1, write=True)
    assert data.uns["spectrata_probe"]["table"]["view"].tolist() == found.to_frame()["view"].tolist()


def test_nodes_of_a_networkx_graph():
    graph = GRAPH.copy()
    found = st.local(graph, ROW, write=True)
    assert nx.get_node_attributes(graph, "spectrata_r")[9] == pytest.approx(float(found["r"].sel(hop=1)[9]))
    assert graph.nodes[0]["spectrata_verdict"] == str(found["verdict"].sel(hop=1).values[0])


def test_what_cannot_be_written_into():
    with pytest.raises(OptionError, match="into an AnnData, and this is a Graph"):
        st.correlogram(GRAPH, ROW, hops=1, draws=0, write=True)
    with pytest.raises(OptionError, match="an AnnData, or a networkx graph, and this is a ndarray"):
        st.local(nx.to_numpy_array(GRAPH), ROW, draws=99, write=True)
    with pytest.raises(OptionError, match="Give the signal too"):
        st.rank_columns(GRAPH)


def test_which_graph_and_which_directions():
    near = nx.to_scipy_sparse_array(GRAPH, format="csr", dtype=float)
    one_way = sp.csr_matrix(sp.triu(near))
    with pytest.warns(SpectrataWarning, match="in one direction only"):
        half = st.rank_columns(tissue(spatial_connectivities=one_way), hops=1)
    pd.testing.assert_frame_equal(half, st.rank_columns(tissue(), hops=1))
    other = sp.csr_matrix(nx.to_scipy_sparse_array(nx.cycle_graph(64), format="csr", dtype=float))
    with pytest.warns(SpectrataWarning, match="adjacency='connectivities' takes the other graph"):
        both = st.rank_columns(tissue(connectivities=other, spatial_connectivities=near), hops=1)
    pd.testing.assert_frame_equal(both, st.rank_columns(tissue(), hops=1))


def test_genes_with_numbers_are_read_one_by_one():
    """Names such as Gene0, Gene1 look like the components of one vector; X of an AnnData is a table all the same."""
    data = tissue()
    data.var_names = data.var.index = pd.Index(["gene0", "gene1", "gene2"])
    found = st.agree(data, "X", "gene1", draws=99)
    assert found["r"].sel(column="gene1", hop=0).item() == pytest.approx(1.0)
    assert {one.column for one in st.diagnose(data, hops=1, draws=99)} == {"gene0", "gene1", "gene2"}
    assert set(st.stats.profile(data, hops=1, draws=99).ranking["column"]) == {"gene0", "gene1", "gene2"}
    for call, words in ((st.diagnose, "diagnose"), (st.stats.profile, "profile"), (st.write_report, "write_report")):
        with pytest.raises(OptionError, match=rf"Give the signal too: {words}\(graph, signal\)"):
            call(GRAPH)


def test_arguments_and_the_interval_of_chance():
    data = tissue()
    found = st.rank_columns(data, hops=2, given=["degree", ROW], draws=99, write=True).set_index("column")
    assert data.var["spectrata_r_given"].to_dict() == found["r_given"].to_dict()
    assert data.var["spectrata_chance_high"].to_dict() == found["chance_high"].to_dict()
    wanted = {"hops": [1, 2], "weights": "None", "given": "degree, values of shape (64,)", "draws": 99, "seed": 0}
    assert data.uns["spectrata_rank_columns"]["arguments"] == wanted | {"spectrata_version": st.__version__}


def test_an_annotated_table_beside_another_graph():
    """Covariates are found in its obs, and results go into it; by name, and by order where the graph has no names."""
    data = tissue()
    data.obs["depth"] = np.random.default_rng(3).normal(size=64)
    named = st.Stratification.from_positions(data, bins=[0, 1, 2])
    assert named.graph.names[:2] == ("cell0", "cell1")
    found = st.rank_columns(named, data, given=["degree", "depth"], draws=199, write=True)
    assert data.var.loc["grad", "spectrata_verdict"] == "alike"
    pd.testing.assert_frame_equal(found, st.rank_columns(named, given=["degree", "depth"], draws=199))
    plain = st.Stratification.from_positions(data.obsm["spatial"], bins=[0, 1, 2])
    with pytest.warns(SpectrataWarning, match=r"no names, so rows \('cell0', .* follow the order"):
        by_order = st.rank_columns(plain, data, given=["degree", "depth"], draws=199)
    pd.testing.assert_frame_equal(found, by_order)
    numbers = data[np.arange(64)[::-1]]  # the names of an AnnData that was made without any, in another order
    numbers.obs_names = pd.Index([str(i) for i in reversed(range(64))])
    by_number = st.rank_columns(plain, numbers, given=["degree", "depth"], draws=199)
    pd.testing.assert_frame_equal(found, by_number)
    turned = st.Stratification(nx.relabel_nodes(GRAPH.subgraph(range(64)), lambda i: f"cell{63 - i}"), 1)
    st.local(turned, data, draws=99, write=True)
    by_name = st.local(turned, data, draws=99)["r"].sel(hop=1, column="grad").to_series()
    assert data.obs["spectrata_grad_r"].to_dict() == by_name.to_dict()
    del data.obsm["spatial"]
    with pytest.raises(SignalTypeError, match="no 'spatial'"):
        st.Stratification.from_positions(data, bins=[0, 1])


def test_texts_are_categories_of_objects():
    """Anndata cannot write the text type that pandas 3 infers."""
    data = tissue()
    st.rank_columns(data, hops=1, draws=99, write=True)
    st.local(data, "grad", draws=99, write=True)
    table = data.uns["spectrata_rank_columns"]["table"]
    for column in (data.var["spectrata_verdict"], data.obs["spectrata_verdict"], table["column"], table["status"]):
        assert column.cat.categories.dtype == object


def test_counts_and_columns_that_are_no_genes_are_pointed_out():
    data, rng = tissue(), np.random.default_rng(0)
    data.X = rng.poisson(3.0, (64, 3)).astype(float)
    data.obs["age"] = ROW.astype(float)
    with pytest.warns(SpectrataWarning, match=r"The columns hold counts, .* given=\['degree', 'total_counts'\]"):
        st.rank_columns(data, hops=1, draws=99)
    ages = st.rank_columns(data, "age", hops=2, draws=99)
    assert ages[["column", "reach", "reach_open"]].values.tolist() == [["age", 2, True]]
    with pytest.warns(SpectrataWarning, match="adata.var stays as it is"):
        st.rank_columns(data, data.X / 2, hops=1, draws=99, write=True)
    assert "spectrata_r" not in data.var


def test_values_of_an_earlier_call_are_taken_out():
    graph, data, values = nx.path_graph(24), tissue(), np.random.default_rng(0).normal(size=24)
    graph.nodes[0]["spectrata_note"] = "mine"
    st.local(graph, values, weights=False, write=True, draws=39)
    st.local(graph, values, weights=False, given=None, write=True, draws=39)
    assert "spectrata_q" in graph.nodes[0]
    assert "spectrata_note" in graph.nodes[0]
    assert "spectrata_q_given" not in graph.nodes[0]
    st.local(data, ["flat", "grad"], write=True, draws=39)
    st.rank_columns(data, hops=1, write=True, draws=39)
    st.local(data, "grad", given=None, write=True, draws=39)
    assert {name for name in data.obs if "grad" in name or "flat" in name or "given" in name} == set()
    assert "spectrata_q_given" in data.var
