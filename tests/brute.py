"""Every number of a result and of its readers, computed from edges and signal alone.

The composition test compares chains of public calls with these functions. Nothing of the package is imported:
numpy, networkx and ``oracle`` (itself free of the package). One dense eigendecomposition of the
whole stratum, sums over edges, sums over index patterns for moments. The formulas are those with edge
weights w and node measure C: with u_i, lam_i the eigenpairs of C^-1/2 L C^-1/2 and phi_i = C^-1/2 u_i, all
algorithms reduce to the paper's for w = 1 and C = 1.

Readers of spectra (bands, summary, compare, response) are in ``brute_readers``.
"""

import itertools
from dataclasses import dataclass

import networkx as nx
import numpy as np

import oracle

GAP = 1e-7  # eigenvalues closer than this fraction of the largest are one repeated eigenvalue
UNCLEAR = (1e-11, 1e-4)  # gaps between these fractions leave open whether an eigenvalue is repeated
INVARIANT = ("gft", "apprx_ls", "in_agg")  # their l2 norm over an eigenspace does not depend on the basis
ALGORITHMS = (*INVARIANT, "adj_diff")
LAPLACIANS = ("combinatorial", "random_walk", "normalized")
OPERATORS = [("combinatorial", False), *((name, loops) for name in LAPLACIANS[1:] for loops in (False, True))]


@dataclass(frozen=True, eq=False)
class Operator:
    """The decomposed Laplacian of one stratum.

    ``phi`` holds one column per component, ``dual`` the columns a_i with M(i) = norm(a_i^T t) for gft.
    """

    laplacian: str
    edges: np.ndarray  # (m, 2), x < y
    w: np.ndarray  # (m,)
    c: np.ndarray  # (n,)
    part: np.ndarray  # (n,) connected part of each node
    values: np.ndarray  # (n,) ascending
    phi: np.ndarray  # (n, n)
    dual: np.ndarray  # (n, n)
    space: np.ndarray  # (n,) number of the eigenspace of each component

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def n_parts(self) -> int:
        return int(self.part.max()) + 1

    @property
    def n_singletons(self) -> int:
        return int(np.sum(np.bincount(self.edges.ravel(), minlength=self.n) == 0))

    @property
    def sizes(self) -> np.ndarray:
        """Dimension of each eigenspace."""
        return np.bincount(self.space)

    @property
    def levels(self) -> np.ndarray:
        """Eigenvalue of each eigenspace."""
        return np.array([self.values[self.space == s].mean() for s in range(len(self.sizes))])


def parts_of(adjacency):
    """Number of the connected part of each node, parts in the order of their first nodes."""
    n = len(adjacency)
    reach = np.eye(n, dtype=int)
    for _ in range(n):
        reach = (reach + reach @ (adjacency > 0) > 0).astype(int)
    first = reach.argmax(axis=1)
    return np.unique(first, return_inverse=True)[1].ravel()


def operator(adjacency, laplacian="combinatorial", self_loops=False):
    """Decompose the Laplacian of a stratum given by its (weighted) adjacency matrix."""
    adjacency = np.asarray(adjacency, dtype=float)
    degree = adjacency.sum(axis=0)
    c = np.ones(len(degree)) if laplacian == "combinatorial" else degree + bool(self_loops)
    c = np.where(c > 0, c, 1.0)
    root = np.sqrt(c)
    values, u = np.linalg.eigh((np.diag(degree) - adjacency) / root[:, None] / root)
    part = parts_of(adjacency)
    zeros = int(part.max()) + 1
    values = np.where(np.arange(len(values)) < zeros, 0.0, values)
    opens = np.diff(values) > GAP * max(values[-1], 1)
    opens[: zeros - 1], opens[zeros - 1 : zeros] = False, True
    phi = u / root[:, None]
    dual = u if laplacian == "normalized" else c[:, None] * phi
    edges = np.array(oracle.edges_of(adjacency > 0)).reshape(-1, 2)
    w = adjacency[edges[:, 0], edges[:, 1]]
    return Operator(laplacian, edges, w, c, part, values, phi, dual, np.append(0, np.cumsum(opens)))


RULES = ("bottleneck", "product", "unit")


def pair_weights(graph, hop, rule):
    """Adjacency of one stratum of a networkx graph with weights ``w``, by a search over all shortest paths."""
    matrix = np.zeros((len(graph), len(graph)))
    for x, reached in nx.all_pairs_shortest_path_length(graph):
        for y in (y for y, length in reached.items() if length == hop):
            paths = [[graph[a][b]["w"] for a, b in itertools.pairwise(p)] for p in nx.all_shortest_paths(graph, x, y)]
            widest, likeliest = max(map(min, paths)), max(float(np.prod(path)) for path in paths)
            matrix[x, y] = paths[0][0] if hop == 1 else {"bottleneck": widest, "product": likeliest, "unit": 1.0}[rule]
    return matrix


def is_clear(op):
    """Whether every two neighbouring eigenvalues are plainly equal or plainly different."""
    gaps = np.diff(op.values[op.n_parts - 1 :]) / max(op.values[-1], 1)
    return not np.any((gaps > UNCLEAR[0]) & (gaps < UNCLEAR[1]))


# --- Signals ------------------------------------------------------------------------------------------------


def resolve_metric(metric, signal):
    """What "auto" means."""
    if metric != "auto":
        return metric
    return "euclidean" if oracle.as_vectors(signal).shape[1] == 1 else "angular"


def potential(signal, metric):
    """t with norm(t(x) - t(y)) the gradient, in extended precision; None where a vector has no direction."""
    t = oracle.as_vectors(signal).astype(np.longdouble)
    if metric == "euclidean":
        return t
    length = np.sqrt((t * t).sum(axis=1, keepdims=True))
    return None if np.any(length == 0) else t / length / 2


def gradient(t, op):
    """One gradient per edge of the stratum."""
    difference = t[op.edges[:, 0]] - t[op.edges[:, 1]]
    return np.sqrt((difference * difference).sum(axis=1)).astype(float)


def centred(t, part=None):
    """The signal less its mean over all nodes, or over each part."""
    if part is None:
        return (t - t.mean(axis=0)).astype(float)
    return np.concatenate([[t[v] - t[part == part[v]].mean(axis=0)] for v in range(len(t))]).astype(float)


# --- The algorithms -----------------------------------------------------------------------------------------


def magnitudes(algorithm, op, t, orientation="rms", scaling="unit"):
    """M(i) of one algorithm, ``(n,)``."""
    if algorithm == "gft":
        return gft(op, t)
    g = gradient(t, op)
    if algorithm == "apprx_ls":
        return apprx_ls(op, g, orientation)
    if algorithm == "in_agg":
        return in_agg(op, g)
    assert algorithm == "adj_diff", algorithm
    return adj_diff(op, g, scaling)


def gft(op, t):
    """norm(phi_i^T C t), or norm(u_i^T t) for "normalized".

    Components off zero do not see what is constant on a part, unless "normalized": it is taken off first,
    so that a large mean costs no digits.
    """
    off = np.linalg.norm(op.dual.T @ centred(t, op.part), axis=1)
    whole = np.linalg.norm((op.dual.T.astype(np.longdouble) @ t).astype(float), axis=1)
    return whole if op.laplacian == "normalized" else np.where(op.space == 0, whole, off)


def _differences(op):
    return op.phi[op.edges[:, 0]] - op.phi[op.edges[:, 1]]  # (m, n)


def _divided(values, by):
    return np.divide(values, by, out=np.zeros(len(values)), where=by > 0)


def apprx_ls(op, g, orientation):
    """abs(phi_i^T B^T diag(w) g)/lam_i, or its root mean square over orientations; 0 at zero."""
    weighted = (op.w * g)[:, None] * _differences(op)
    if orientation == "rms":
        return _divided(np.sqrt((weighted**2).sum(axis=0)), op.values)
    assert orientation == "index", orientation
    return _divided(np.abs(weighted.sum(axis=0)), op.values)


def in_agg(op, g):
    """abs(phi_i^T C f), f(v) the w-weighted mean of g over the edges at v, 0 without any."""
    total, weight = np.zeros(op.n), np.zeros(op.n)
    for (x, y), w, length in zip(op.edges, op.w, g, strict=True):
        for v in (x, y):
            total[v] += w * length
            weight[v] += w
    return np.abs((op.c[:, None] * op.phi).T @ _divided(total, weight))


def adj_diff(op, g, scaling):
    """sum_e w g abs(phi_i(x) - phi_i(y)) over sqrt(lam_i) ("unit"), lam_i ("eigenvalue"), sqrt(n lam_i) ("program")."""
    sums = (op.w * g) @ np.abs(_differences(op))
    zero = op.space == 0
    if scaling == "eigenvalue":
        return np.where(zero, np.nan, _divided(sums, op.values))
    unit = np.where(zero, (op.w @ g) / np.sqrt(op.w.sum()), _divided(sums, np.sqrt(op.values)))
    return unit / np.sqrt(op.n) if scaling == "program" else unit


# --- Eigenspaces --------------------------------------------------------------------------------------------


def merged(values, space):
    """l2 norm over each eigenspace; NaN drop out, an eigenspace without a number is NaN."""
    out = np.full(int(space.max()) + 1, np.nan)
    for s in range(len(out)):
        inside = values[space == s]
        inside = inside[~np.isnan(inside)]
        if len(inside):
            out[s] = np.linalg.norm(inside)
    return out


def is_determined(algorithm, op):
    """Whether the merged value of each eigenspace is the same in every eigenbasis."""
    repeated = op.sizes > 1
    if algorithm in INVARIANT:
        return np.ones(len(repeated), dtype=bool)
    return ~repeated | (np.arange(len(repeated)) == 0)


# --- The permutation null of gft energies -------------------------------------------------------------------


def null_mean(op, t, columns):
    """The gft energy of some components, mean over all orders of the nodes."""
    a = op.dual[:, columns]
    if op.laplacian != "normalized" and not np.any(op.space[columns] == 0):
        t = centred(t)  # these columns add to zero: the mean plays no part
    t = np.asarray(t, dtype=float)
    p, g, n = a @ a.T, t @ t.T, len(t)
    apart = (p.sum() - np.trace(p)) * (g.sum() - np.trace(g)) / (n * (n - 1))
    return np.trace(p) * np.trace(g) / n + apart
