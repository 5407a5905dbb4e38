"""The kernels in their plainest form, by scipy's search and the incidence matrix, to compare the fast ones with."""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

UNREACHED = np.iinfo(np.uint16).max


def hop_distances(indptr, indices):
    n = len(indptr) - 1
    found = shortest_path(csr_array((np.ones(len(indices)), indices, indptr), shape=(n, n)), unweighted=True)
    return np.where(np.isinf(found), UNREACHED, found).astype(np.uint16)


def incidence(edges, n):
    """B: one row per edge, 1 at x and -1 at y."""
    return np.eye(n)[edges[:, 0]] - np.eye(n)[edges[:, 1]]


def edge_lengths(values, edges):
    return np.hypot.reduce(np.abs(values[:, edges[:, 0]] - values[:, edges[:, 1]]), axis=-1)


def node_sums(edges, weights, n):
    return weights @ np.abs(incidence(edges, n))


def divergence(edges, flow, n):
    return flow @ incidence(edges, n)


def difference_sums(edges, weights, vectors):
    difference = incidence(edges, len(vectors)) @ vectors
    return weights @ np.abs(difference), weights**2 @ difference**2
