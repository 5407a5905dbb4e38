"""Homophily and Laplacians against PyTorch Geometric, measures of smoothness against torchmetrics."""

import networkx as nx
import numpy as np
import pytest

import spectrata as st
from outside import outside

torch, utils = outside("torch"), outside("torch_geometric.utils")
pairwise = outside("torchmetrics.functional")


def labelled(seed, n=90, classes=4):
    """A graph without isolated nodes, both directions of its edges, and classes of different sizes."""
    graph = nx.barabasi_albert_graph(n, 3, seed=seed)
    labels = np.random.default_rng(seed).choice(classes, size=n, p=[0.5, 0.25, 0.15, 0.1])
    assert len(np.unique(labels)) == classes
    edges = np.array(graph.edges).T
    return graph, labels, torch.from_numpy(np.hstack([edges, edges[::-1]]))


@pytest.mark.parametrize("seed", range(5))
def test_homophily(seed):
    graph, labels, edges = labelled(seed)
    found = st.homophily(graph, labels, hops=1, draws=0)["homophily"].sel(hop=1)
    for ours, theirs in (("edge", "edge"), ("node", "node"), ("class", "edge_insensitive")):
        expected = utils.homophily(edges, torch.from_numpy(labels), method=theirs)
        assert found.sel(measure=ours).item() == pytest.approx(expected, abs=2e-6), ours  # in single precision


def test_isolated_nodes():
    """PyTorch Geometric counts a node without an edge as 0 in the mean of "node"; spectrata leaves it out."""
    graph, labels, edges = labelled(1)
    graph.add_nodes_from(range(90, 100))
    labels = np.append(labels, np.arange(10) % 4)
    found = st.homophily(graph, labels, hops=1, draws=0)["homophily"].sel(hop=1)
    theirs = utils.homophily(edges, torch.from_numpy(labels), method="node")
    assert found.sel(measure="node").item() * 90 / 100 == pytest.approx(theirs, abs=2e-6)


@pytest.mark.parametrize(
    ("laplacian", "self_loops", "kind"),
    [
        ("combinatorial", False, None),
        ("normalized", False, "sym"),
        ("random_walk", False, "rw"),
        ("normalized", True, "sym"),
    ],
)
def test_eigenvalues_of_the_laplacians(laplacian, self_loops, kind):
    _, _, edges = labelled(2)
    weight = torch.from_numpy(np.tile(np.random.default_rng(0).random(edges.shape[1] // 2) + 0.1, 2))
    matrix = np.zeros((90, 90))
    matrix[tuple(edges.numpy())] = weight.numpy()
    ds = st.spectra(matrix, np.arange(90.0), "gft", hops=1, weights=True, laplacian=laplacian, self_loops=self_loops)
    index, value = _gcn(edges, weight) if self_loops else utils.get_laplacian(edges, weight, normalization=kind)
    dense = utils.to_dense_adj(index, edge_attr=value)[0].numpy()
    expected = np.sort(np.linalg.eigvals(dense).real)
    np.testing.assert_allclose(ds["eigenvalue"].sel(hop=1), expected, atol=1e-9)


def _gcn(edges, weight):
    """``I`` less the matrix that GCNConv multiplies by."""
    from torch_geometric.nn.conv.gcn_conv import gcn_norm

    index, value = gcn_norm(edges, weight, num_nodes=90, add_self_loops=True)
    eye = torch.arange(90)
    return torch.cat([index, torch.stack([eye, eye])], dim=1), torch.cat([-value, torch.ones(90, dtype=value.dtype)])


def test_dirichlet_energy_and_mean_average_distance():
    graph, _, edges = labelled(3)
    signal = np.random.default_rng(3).standard_normal((90, 6))
    found = st.smoothness(graph, signal, hops=1)
    x = torch.from_numpy(signal)
    squares = pairwise.pairwise_euclidean_distance(x, x) ** 2
    assert found["dirichlet"].item() == pytest.approx(squares[edges[0], edges[1]].sum().item() / 2, rel=1e-9)
    cosine = 1 - pairwise.pairwise_cosine_similarity(x, x)
    per_node = utils.scatter(cosine[edges[0], edges[1]], edges[0], reduce="mean")
    assert found["mad"].item() == pytest.approx(per_node.mean().item(), rel=1e-9)
