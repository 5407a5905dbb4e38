"""Small cases that the oracle solves.

Fields of a solved case: `edges` (E, 2), `n_nodes`, `signal` (n,) or (n, d), `metric`, and, with one row per hop
K = 1, 2, ..., diameter: `eigenvalues`, `simple` (the gap to both neighbours exceeds 1e-6 of the largest
eigenvalue), `eigenspace` (its number within the hop), `gft`, `apprx_ls_index`, `apprx_ls_rms`, `in_agg`,
`adj_diff_unit`, `adj_diff_eigenvalue` (NaN at zero eigenvalues), `ln_vx_incidence`, and, one number per hop,
`gradient_norm`, `n_edges`, `n_parts`. Where `simple` is false the split of a magnitude over the components is
arbitrary: compare one value per eigenspace (l2; the sum for `ln_vx_incidence`). ADJ-DIFF has no such value,
but at zero eigenvalues it does not depend on the basis.
"""

from functools import cache

import numpy as np

import brute
import oracle


def letters(text):
    """Edges from pairs of letters, A being row 0."""
    return [(ord(x) - ord("A"), ord(y) - ord("A")) for x, y in text.split()]


def random_edges(n_nodes, probability, seed):
    """An Erdős-Rényi graph."""
    draws = np.random.default_rng(seed).random((n_nodes, n_nodes))
    return [(x, y) for x in range(n_nodes) for y in range(x + 1, n_nodes) if draws[x, y] < probability]


def random_signal(shape, seed):
    """Uniform on [-1, 1]."""
    return np.random.default_rng(seed).uniform(-1, 1, shape)


def paper_signal():
    """s0 of Task 3, rows A to M."""
    values = dict.fromkeys("AKLM", (0.58, 0.58, 0.58)) | dict.fromkeys("FGJ", (-1, 0, 0))
    values |= dict.fromkeys("EHI", (0, -1, 0)) | {"B": (1, 0, 0), "C": (0, 1, 0), "D": (0, 0, 1)}
    return np.array([values[name] for name in "ABCDEFGHIJKLM"], dtype=float)


def cases():
    """Name -> (edges, n_nodes, signal, metric)."""
    caveman = letters("AB AC AD BE BF EF CG CH GH DI DJ IJ EK GL IM")
    # A six-node part of diameter 4, a triangle and an isolated node: from K = 3 most nodes are singletons.
    parts = letters("AC CF FB BE EG AF") + letters("DH HI DI")
    tree = letters("AD DB BG GC CI DE GF GH")
    cube = [(x, x | bit) for x in range(8) for bit in (1, 2, 4) if not x & bit]
    return {
        "caveman": (caveman, 13, paper_signal(), "angular"),
        "er20_real": (random_edges(20, 0.2, seed=0), 20, random_signal(20, seed=1), "euclidean"),
        "er20_vector": (random_edges(20, 0.15, seed=7), 20, random_signal((20, 5), seed=3), "angular"),
        "disconnected": (parts, 10, random_signal((10, 2), seed=5), "euclidean"),
        "tree": (tree, 9, random_signal(9, seed=6), "euclidean"),
        "hypercube": (cube, 8, random_signal((8, 3), seed=7), "angular"),
    }


def hop_of(adjacency, signal, metric):
    """Every deterministic quantity of one stratum."""
    edges, op, t = oracle.edges_of(adjacency), brute.operator(adjacency), brute.potential(signal, metric)
    values, basis = oracle.eigenbasis(adjacency)
    g = oracle.gradients(signal, edges, metric)
    rms = oracle.apprx_ls_rms_enumerated if len(edges) <= 12 else oracle.apprx_ls_rms
    return {
        "eigenvalues": values,
        "simple": oracle.simple_components(values),
        "eigenspace": oracle.eigenspaces(values),
        "gft": brute.gft(op, t),
        "apprx_ls_index": oracle.apprx_ls(basis, edges, g, oracle.index_orientation(edges)),
        "apprx_ls_rms": rms(basis, edges, g),
        "in_agg": brute.in_agg(op, g),
        "adj_diff_unit": brute.adj_diff(op, g, "unit"),
        "adj_diff_eigenvalue": brute.adj_diff(op, g, "eigenvalue"),
        "ln_vx_incidence": oracle.ln_vx_incidence(values, basis, edges, g),
        "gradient_norm": np.linalg.norm(g),
        "n_edges": len(edges),
        "n_parts": op.n_parts,
    }


@cache
def solved(name):
    """The case and what the oracle says of every hop."""
    edges, n_nodes, signal, metric = cases()[name]
    given = {"edges": np.array(edges), "n_nodes": n_nodes, "signal": signal, "metric": metric}
    rows = [hop_of(adjacency, signal, metric) for adjacency in oracle.strata_adjacencies(edges, n_nodes)]
    return given | {key: np.array([row[key] for row in rows]) for key in rows[0]}
