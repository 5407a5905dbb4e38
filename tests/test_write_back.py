"""Results of readings go back into the objects they came from."""

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import spectrata as st
from spectrata.errors import OptionError, SpectrataWarning

GRAPH = nx.convert_node_labels_to_integers(nx.grid_2d_graph(8, 8))
ROW = np.arange(64) // 8


def tissue(**obsp):
    """An AnnData of 64 cells and 3 genes, as far as it is read and written."""
    cells, genes = pd.Index([f"cell{i}" for i in range(64)]), pd.Index(["flat", "grad", "noise"])
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.normal(size=64), ROW + rng.normal(size=64), rng.normal(size=64)])
    matrix = sp.csr_matrix(nx.to_scipy_sparse_array(GRAPH, format="csr", dtype=float))
    return SimpleNamespace(
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
