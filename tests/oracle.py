"""Algorithms 1, 2, 5 and 6 of the paper, transcribed by brute force: the oracle of the tests.

`gft` and Algorithms 3 and 4 are in `brute`, for every Laplacian.

Nothing of the package is imported here, only numpy and the standard library: matrix powers instead of
searches, one dense eigendecomposition of the whole stratum, least squares by SVD, loops over edges. Slow and
plain on purpose. A stratum is given by `adjacency` (n x n, 0/1) and `edges`, the pairs (x, y) with x < y in
row order; `basis` is the matrix U with one eigenvector per column, `values` its eigenvalues in ascending
order, and `g` the gradients in the order of `edges`.
"""

from decimal import Decimal, localcontext

import numpy as np

ZERO = 1e-9  # an eigenvalue below this fraction of the largest is zero
GAP = 1e-6  # eigenvalues closer than this fraction of the largest are one repeated eigenvalue
RCOND = 1e-10  # singular values below this fraction of the largest are zero


# --- Algorithm 1, Definitions 1 and 2 -----------------------------------------------------------------------


def adjacency_matrix(graph_edges, n_nodes):
    """The 0/1 adjacency matrix of an edge list."""
    adjacency = np.zeros((n_nodes, n_nodes), dtype=int)
    for x, y in graph_edges:
        adjacency[x, y] = adjacency[y, x] = 1
    return adjacency


def strata_adjacencies(graph_edges, n_nodes):
    """Algorithm 1: the adjacency matrices of the strata, K = 1, 2, ... up to the diameter.

    The power is made 0/1 after each factor, as delta does after the last: no count of walks overflows.
    In a disconnected graph the diameter is that of its widest connected part.
    """
    first = adjacency_matrix(graph_edges, n_nodes)
    strata, power = [], first
    stratum = first
    while stratum.any():
        strata.append(stratum)
        power = (power @ first > 0).astype(int)
        stratum = np.maximum(power - sum(strata), 0)
        np.fill_diagonal(stratum, 0)
    return strata


def edges_of(adjacency):
    """The edges (x, y) with x < y, in row order."""
    n = len(adjacency)
    return [(x, y) for x in range(n) for y in range(x + 1, n) if adjacency[x, y]]


def as_vectors(signal):
    """The signal as n vectors: real values become vectors of length 1."""
    signal = np.asarray(signal, dtype=float)
    return signal.reshape(len(signal), -1)


def angular_gradient(a, b):
    """Definition 2: sqrt((1 - cos)/2), literally, in 500 digits, where the cosine form loses nothing."""
    with localcontext() as context:
        context.prec = 500
        a, b = [Decimal(float(v)) for v in a], [Decimal(float(v)) for v in b]
        dot, aa, bb = (sum(p * q for p, q in zip(s, t, strict=True)) for s, t in ((a, b), (a, a), (b, b)))
        cosine = dot / (aa * bb).sqrt()
        return float(max((1 - cosine) / 2, Decimal(0)).sqrt())


def gradients(signal, edges, metric):
    """Definition 2: one gradient per edge, under the "angular" or the "euclidean" metric."""
    s = as_vectors(signal)
    if metric == "angular":
        return np.array([angular_gradient(s[x], s[y]) for x, y in edges])
    return np.array([np.linalg.norm(s[x] - s[y]) for x, y in edges])


def eigenbasis(adjacency):
    """Algorithm 2, steps 5 and 6: eigenvalues (ascending) and eigenvectors of the Laplacian."""
    return np.linalg.eigh(np.diag(adjacency.sum(axis=0)).astype(float) - adjacency)


def is_zero(values):
    """Which eigenvalues are zero."""
    return values <= ZERO * max(values[-1], 1)


def eigenspaces(values):
    """The number of the eigenspace each component belongs to: repeated eigenvalues share one."""
    return np.concatenate([[0], np.cumsum(np.diff(values) > GAP * max(values[-1], 1))])


def simple_components(values):
    """Which eigenvalues are simple, so that their eigenvectors are determined up to sign."""
    spaces = eigenspaces(values)
    return np.array([np.sum(spaces == space) == 1 for space in spaces])


# --- Algorithm 2: APPRX-LS ----------------------------------------------------------------------------------


def oriented_incidence(edges, n_nodes, orientation):
    """One row per edge: f(x) - f(y) with x < y where the orientation is +1, f(y) - f(x) where it is -1."""
    incidence = np.zeros((len(edges), n_nodes))
    for e, (x, y) in enumerate(edges):
        incidence[e, x], incidence[e, y] = orientation[e], -orientation[e]
    return incidence


def index_orientation(edges):
    """The released program's orientation: the tail is the lower row, f(x) - f(y) = g with x < y."""
    return np.ones(len(edges), dtype=int)


def apprx_ls(basis, edges, g, orientation):
    """Algorithm 2: the least squares solution (SVD, least norm) of B f = g, then abs(U^T f)."""
    incidence = oriented_incidence(edges, len(basis), orientation)
    f = np.linalg.lstsq(incidence, g, rcond=RCOND)[0]
    return np.abs(basis.T @ f)


# --- Algorithm 5: LN-VX -------------------------------------------------------------------------------------


def line_graph_adjacency(edges, n_nodes):
    """Algorithm 5, step 3: B^T B - 2 I with the unsigned incidence matrix B (n x m)."""
    incidence = np.abs(oriented_incidence(edges, n_nodes, index_orientation(edges))).T.astype(int)
    return incidence.T @ incidence - 2 * np.eye(len(edges), dtype=int)


def line_eigenbasis(edges, n_nodes):
    """Algorithm 5, steps 3 to 5: eigenvalues and eigenvectors of the line graph's Laplacian."""
    return eigenbasis(line_graph_adjacency(edges, n_nodes))


def ln_vx_signed(basis, line_basis, g, h_ln, h_vx):
    """Algorithm 5, steps 9 to 12 without the last abs: H_ln and H_vx (both n x m) are given."""
    eta = line_basis.T @ g
    weighted = line_basis * np.abs(eta)
    transformed = (h_ln @ weighted @ h_vx.T).T
    return np.array([transformed[:, i] @ basis[:, i] for i in range(basis.shape[1])])


def ln_vx(basis, line_basis, g, h_ln, h_vx):
    """Algorithm 5, steps 9 to 12: the magnitudes for given H_ln and H_vx."""
    return np.abs(ln_vx_signed(basis, line_basis, g, h_ln, h_vx))


def ln_vx_mse(basis, line_basis, h_ln, h_vx):
    """Algorithm 5, step 7: the mean squared error over the n x n entries."""
    return np.mean((h_ln @ line_basis @ h_vx.T - basis.T) ** 2)


def ln_vx_gradients(basis, line_basis, h_ln, h_vx):
    """The derivatives of that error by H_ln and by H_vx."""
    slope = 2 * (h_ln @ line_basis @ h_vx.T - basis.T) / basis.size
    return slope @ h_vx @ line_basis.T, slope.T @ h_ln @ line_basis


def ln_vx_learn(basis, line_basis, h_ln, h_vx, epochs=1000, tolerance=1e-6, rate=0.01, eps=1e-10):
    """Algorithm 5, step 7: Adagrad from a given start; returns H_ln, H_vx and the errors.

    The first error is the start's, then one per step; it stops at the first that is not above the tolerance,
    so the last error is that of the returned matrices.
    """
    learned = [np.array(h_ln, dtype=float), np.array(h_vx, dtype=float)]
    sums = [np.zeros_like(h) for h in learned]
    errors = [ln_vx_mse(basis, line_basis, *learned)]
    while len(errors) <= epochs and errors[-1] > tolerance:
        for h, total, slope in zip(learned, sums, ln_vx_gradients(basis, line_basis, *learned), strict=True):
            total += slope**2
            h -= rate * slope / (np.sqrt(total) + eps)
        errors.append(ln_vx_mse(basis, line_basis, *learned))
    return *learned, np.array(errors)


def ln_vx_incidence(values, basis, edges, g):
    """The deterministic LN-VX: M(i) = sum w(e) (u_i(x) - u_i(y))^2 / lam_i, w from line graph projectors."""
    line_values, line_basis = line_eigenbasis(edges, len(basis))
    w, spaces = np.zeros(len(edges)), eigenspaces(line_values)
    for space in np.unique(spaces):
        vectors = line_basis[:, spaces == space]
        projector = vectors @ vectors.T
        w += np.linalg.norm(projector @ g) / np.sqrt(vectors.shape[1]) * np.diag(projector)
    magnitudes = np.full(len(values), np.mean(w))
    for i in np.flatnonzero(~is_zero(values)):
        squares = np.array([(basis[x, i] - basis[y, i]) ** 2 for x, y in edges])
        magnitudes[i] = w @ squares / values[i]
    return magnitudes


# --- Algorithm 6: ENS ---------------------------------------------------------------------------------------


def normalized(magnitudes):
    """M divided by its l2 norm over the components that are not NaN; all zeros stay zeros."""
    norm = np.sqrt(np.nansum(magnitudes**2))
    return magnitudes / norm if norm > 0 else magnitudes


def ens(magnitudes, weights, raw=False):
    """Algorithm 6: the weighted sum of l2-normalised (raw=True: unchanged) magnitudes; mappings by algorithm.

    At a component where some members are NaN the weights of the others are rescaled to the same total.
    """
    members = {name: magnitudes[name] if raw else normalized(magnitudes[name]) for name in weights}
    n = len(next(iter(members.values())))
    result = np.full(n, np.nan)
    for i in range(n):
        present = [name for name in weights if not np.isnan(members[name][i])]
        share = sum(weights[name] for name in present)
        if share > 0:
            total = sum(weights[name] * members[name][i] for name in present)
            result[i] = total * sum(weights.values()) / share
    return result


def paper_weights(hop):
    """Task 3's weights of Algorithm 6 at hop K."""
    if hop <= 4:
        return {"adj_diff": 0.4, "ln_vx": 0.4, "apprx_ls": 0.2}
    return {"adj_diff": 0.5, "ln_vx": 0.5, "apprx_ls": 0.0}
