"""Hypothesis strategies of graphs and signals, and small helpers that the mathematical tests share."""

from typing import NamedTuple

import hypothesis.strategies as hs
import networkx as nx
import numpy as np
import pytest
from hypothesis import settings
from numpy.testing import assert_allclose, assert_array_equal

import brute
import calls
import oracle
from spectrata.core.bases.solve import decompose
from spectrata.core.hop import Hop
from spectrata.core.operators import COMBINATORIAL, Laplacian
from spectrata.core.strata import Stratum, line_stratum
from spectrata.inputs.signals import Signal, potential

INVARIANT = ("gft", "apprx_ls", "in_agg")  # l2 over an eigenspace does not depend on the basis
DEFAULT = (*INVARIANT, "adj_diff")
OPERATORS = [Laplacian(*given) for given in brute.OPERATORS]
each_operator = pytest.mark.parametrize("operator", OPERATORS, ids=str)


class Case(NamedTuple):
    """A graph as plain edges (E, 2) on rows 0 to n - 1."""

    edges: np.ndarray
    n: int

    @property
    def graph(self):
        graph = nx.empty_graph(self.n)
        graph.add_edges_from(self.edges.tolist())
        return graph


def case_of(graph, permutation=None):
    """A Case from a networkx graph, its nodes numbered in their order and then permuted."""
    graph = nx.convert_node_labels_to_integers(graph)
    rows = np.arange(len(graph)) if permutation is None else np.asarray(permutation)
    return Case(sorted_edges(rows[np.array(graph.edges)]), len(graph))


def regular_graph(degree, n, seed):
    """A random regular graph with its nodes in order: networkx 3.2 has them in the order of edges."""
    graph = nx.empty_graph(n)
    graph.add_edges_from(nx.random_regular_graph(degree, n, seed).edges)
    return graph


def sorted_edges(edges):
    """Rows x < y in lexicographic order."""
    edges = np.sort(np.asarray(edges, dtype=np.int64).reshape(-1, 2), axis=1)
    return edges[np.lexsort((edges[:, 1], edges[:, 0]))]


def _random(n, probability, seed):
    graph = nx.gnp_random_graph(n, probability, seed=seed)
    graph.add_edge(0, 1)
    return graph


def _joined(n, probability, seed):
    graph = _random(n, probability, seed)
    parts = [min(part) for part in nx.connected_components(graph)]
    nx.add_path(graph, parts)
    return graph


def _many_parts(n, seed):
    pieces = [nx.path_graph(2), nx.path_graph(2), nx.cycle_graph(3), nx.star_graph(3), nx.empty_graph(2)]
    return nx.disjoint_union_all([*pieces, _random(max(n - 10, 2), 0.4, seed)])


KINDS = {
    "random connected": lambda n, seed: _joined(n, 0.3, seed),
    "random disconnected": lambda n, seed: _random(n, 1.2 / n, seed),
    "tree": lambda n, seed: nx.random_labeled_tree(n, seed=seed),
    "ring": lambda n, seed: nx.cycle_graph(max(n, 3)),
    "path": lambda n, seed: nx.path_graph(n),
    "star": lambda n, seed: nx.star_graph(n - 1),
    "complete": lambda n, seed: nx.complete_graph(min(n, 7)),
    "hypercube": lambda n, seed: nx.hypercube_graph(3),
    "grid": lambda n, seed: nx.grid_2d_graph(2, max(n // 2, 2)),
    "one edge": lambda n, seed: nx.disjoint_union(nx.path_graph(2), nx.empty_graph(n - 2)),
    "two nodes": lambda n, seed: nx.path_graph(2),
    "many parts": _many_parts,
}


@hs.composite
def cases(draw, max_nodes=12, kinds=tuple(KINDS)):
    """Graphs of every kind, their nodes in random order."""
    kind, seed = draw(hs.sampled_from(kinds)), draw(hs.integers(0, 2**32 - 1))
    graph = KINDS[kind](draw(hs.integers(3, max_nodes)), seed)
    return case_of(graph, np.random.default_rng(seed).permutation(len(graph)))


SHAPES = ("random", "constant", "pulse", "near-duplicate")


@hs.composite
def signals(draw, n, dims=(1, 5), kinds=SHAPES):
    """Signals (n, d) without zero vectors."""
    kind, rng = draw(hs.sampled_from(kinds)), np.random.default_rng(draw(hs.integers(0, 2**32 - 1)))
    d = draw(hs.integers(*dims))
    base = np.tile(rng.uniform(0.5, 1.5, d), (n, 1))
    if kind == "random":
        return rng.uniform(-1, 1, (n, d))
    if kind == "pulse":
        base[draw(hs.integers(0, n - 1)), 0] += 2.0
    if kind == "near-duplicate":
        base += 1e-6 * rng.standard_normal((n, d))
    return base


@hs.composite
def cases_with_signals(draw, max_nodes=12, dims=(1, 5), kinds=tuple(KINDS), shapes=SHAPES):
    """A Case and a signal on it."""
    case = draw(cases(max_nodes, kinds))
    return case, draw(signals(case.n, dims, shapes))


# --- helpers ------------------------------------------------------------------------------------------------


def run(case, signal, algorithms=DEFAULT, **options):
    """Spectra without anything kept besides."""
    return calls.spectra(case.graph, signal, algorithms, **({"keep": ()} | options))


def stratum_of(graph):
    """The first stratum of a networkx graph: the graph itself."""
    case = graph if isinstance(graph, Case) else case_of(graph)
    return Stratum(1, case.n, case.edges)


def hop_of(stratum, signal, metric="auto", seed=0, operator=COMBINATORIAL, basis=None):
    """What an algorithm is given, for a signal (n,) or (n, d)."""
    values = potential(Signal(oracle.as_vectors(signal)[None], None), metric).values
    made = {}

    def remember(key, make):
        if key not in made:
            made[key] = make()
        return made[key]

    return Hop(
        stratum=stratum,
        basis=decompose(stratum, operator) if basis is None else basis,
        potential=values,
        line=lambda: remember("line", lambda: decompose(line_stratum(stratum))),
        remember=remember,
        seed=seed,
    )


def dense_laplacian(stratum, operator=COMBINATORIAL):
    """C^-1/2 L C^-1/2 from the edges."""
    matrix = np.zeros((stratum.n_nodes, stratum.n_nodes))
    x, y = stratum.edges.T
    matrix[x, y] = matrix[y, x] = -1 if stratum.weights is None else -stratum.weights
    degrees = -matrix.sum(axis=0)
    np.fill_diagonal(matrix, degrees)
    root = measure_root(degrees, operator)
    return matrix / root[:, None] / root


def measure_root(degrees, operator):
    """Square roots of the node measure."""
    if operator.laplacian == "combinatorial":
        return np.ones(len(degrees))
    return np.sqrt(np.where(degrees > 0, degrees + operator.self_loops, 1.0))


def merged(magnitudes, spaces, order=2):
    """One value per eigenspace along the last axis: order 2 the l2 norm, order 1 the sum."""
    starts = np.flatnonzero(np.diff(spaces, prepend=-1))
    return np.add.reduceat(np.asarray(magnitudes) ** order, starts, axis=-1) ** (1 / order)


def merged_hops(ds, algorithm, order=2):
    """One merged array per hop of a Dataset without snapshots."""
    rows = zip(ds["magnitude"].loc[algorithm].values, ds["eigenspace"].values, strict=True)
    return [merged(row, spaces, order) for row, spaces in rows]


def assert_near(actual, expected, relative=1e-9, scale=0.0):
    """Equal within a fraction of the largest expected value (or of `scale`, if larger)."""
    expected = np.asarray(expected)
    largest = np.nan_to_num(np.abs(expected)).max(initial=0.0)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=relative * max(largest, scale) + 1e-300)


def metric_of(signal):
    """What "auto" means."""
    return "euclidean" if np.ndim(signal) == 1 or np.shape(signal)[-1] == 1 else "angular"


def scale_of(signal):
    """The size of the signal the transform sees: what rounding is relative to."""
    return 0.5 if metric_of(signal) == "angular" else float(np.abs(signal).max())


def assert_same_spectra(one, other, scale, relative=1e-9):
    """The same merged values, and the same ADJ-DIFF and ensembles wherever they do not depend on the basis."""
    top = one["eigenvalue"].max().item()
    assert_allclose(one["eigenvalue"], other["eigenvalue"], rtol=0, atol=1e-12 * top)
    assert_array_equal(one["eigenspace"], other["eigenspace"])
    assert_array_equal(one["n_edges"], other["n_edges"])
    assert_near(one["gradient_norm"], other["gradient_norm"], relative, scale)
    for algorithm in one["algorithm"].values:
        assert_same_algorithm(str(algorithm), one, other, scale, relative)


def assert_same_algorithm(algorithm, one, other, scale, relative=1e-9):
    """One algorithm of two results of the same graph, whatever bases they were made with."""
    if algorithm in (*INVARIANT, "ln_vx"):
        order = 1 if algorithm == "ln_vx" else 2
        for ours, theirs in zip(merged_hops(one, algorithm, order), merged_hops(other, algorithm, order), strict=True):
            assert_near(ours, theirs, relative, scale)
        return
    where = one["multiplicity"].values == 1
    zero = np.arange(one.sizes["component"]) < one["n_parts"].values[:, None]
    if algorithm == "adj_diff":
        where |= zero
    if algorithm == "ens":  # divided by the length of ADJ-DIFF, which repeated eigenvalues leave open
        where &= (where | zero).all(axis=1, keepdims=True)
        # A signal that hardly varies has rounding for a direction.
        where &= (one["gradient_norm"].values > 1e-3 * scale)[:, None]
        scale, relative = 1.0, 1e-6
    ours, theirs = (ds["magnitude"].loc[algorithm].values[where] for ds in (one, other))
    assert_near(ours, theirs, relative, scale)


def oracle_hops(case, signal, metric=None):
    """Hop by hop from the oracle: edges, eigenvalues, eigenvectors, gradients."""
    for adjacency in oracle.strata_adjacencies(case.edges, case.n):
        edges = oracle.edges_of(adjacency)
        values, basis = oracle.eigenbasis(adjacency)
        yield edges, values, basis, oracle.gradients(signal, edges, metric or metric_of(signal))


# --- how many cases -----------------------------------------------------------------------------------------


def cases_times(share):
    """Settings for a share of the profile's number of cases, for laws that cost more or less than most."""
    return settings(max_examples=max(1, int(settings.default.max_examples * share)))
