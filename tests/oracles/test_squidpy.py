"""Likeness of neighbours against squidpy's statistics of genes, on the graph that squidpy makes."""

import networkx as nx
import numpy as np
import pytest

import spectrata as st
from outside import outside

squidpy, anndata = outside("squidpy"), outside("anndata")
pytestmark = pytest.mark.filterwarnings("ignore")  # those of other packages


def tissue(n=150, genes=6, seed=0):
    rng = np.random.default_rng(seed)
    where = rng.uniform(size=(n, 2))
    counts = rng.poisson(2 + 3 * where[:, [0]] * rng.uniform(size=genes), size=(n, genes)).astype(float)
    data = anndata.AnnData(counts, obsm={"spatial": where})
    squidpy.gr.spatial_neighbors(data, n_neighs=6, coord_type="generic")
    return data


@pytest.mark.parametrize(("mode", "name"), [("moran", "I"), ("geary", "C")])
def test_genes(mode, name):
    data = tissue()
    # squidpy's graph of nearest neighbours has directions; spectrata's pairs have none
    matrix = data.obsp["spatial_connectivities"]
    data.obsp["spatial_connectivities"] = ((matrix + matrix.T) > 0).astype(float)
    theirs = squidpy.gr.spatial_autocorr(data, mode=mode, transformation=False, copy=True)[name]
    strat = st.Stratification(data, 1, adjacency="spatial_connectivities", weights=False)
    ours = st.correlogram(strat, "X", columns="separate", draws=0).sel(hop=1)[mode]
    ours = ours.to_series()
    np.testing.assert_allclose(ours[theirs.index.astype(str)], theirs, rtol=1e-6)


def test_r_is_morans_i_where_all_degrees_are_equal():
    torus = nx.convert_node_labels_to_integers(nx.grid_2d_graph(8, 9, periodic=True))
    x = np.random.default_rng(1).gamma(1.0, size=72)
    found = st.correlogram(torus, x, hops=1, draws=0).sel(hop=1)
    assert found["r"].item() == pytest.approx(found["moran"].item(), rel=1e-12)
