"""Strata and line graphs: Definition 1 and Algorithm 1, and the rules of `hops`."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal

import brute
import oracle
from spectrata.core.strata import Strata, line_stratum
from spectrata.errors import HopError
from spectrata.inputs.graphs import as_graph
from strategies import case_of, cases


def strata_of(case, hops=None):
    return Strata(as_graph(case.graph), hops)


@given(cases())
def test_strata_are_algorithm_1(case):
    strata = strata_of(case)
    expected = oracle.strata_adjacencies(case.edges, case.n)
    assert strata.diameter == len(strata) == len(expected)
    assert strata.hops == tuple(range(1, len(expected) + 1))
    for stratum, adjacency in zip(strata, expected, strict=True):
        assert_array_equal(stratum.edges, oracle.edges_of(adjacency))
        assert_array_equal(stratum.degrees, adjacency.sum(axis=0))
        assert stratum.n_edges == strata.sizes[stratum.hop] == adjacency.sum() // 2
        parts = brute.parts_of(adjacency)  # numbered by their first nodes
        assert_array_equal(stratum.parts, parts)
        assert stratum.n_parts == parts.max() + 1
        assert stratum.n_singletons == np.count_nonzero(adjacency.sum(axis=0) == 0)


@given(cases())
def test_line_graphs(case):
    """Against B^T B - 2 I and against networkx, in every stratum."""
    for stratum in strata_of(case):
        line = line_stratum(stratum)
        assert (line.hop, line.n_nodes) == (stratum.hop, stratum.n_edges)
        edges = [tuple(edge) for edge in stratum.edges.tolist()]
        expected = oracle.edges_of(oracle.line_graph_adjacency(edges, case.n))
        assert_array_equal(line.edges, np.array(expected, dtype=int).reshape(-1, 2))
        assert line.n_edges == stratum.n_line_edges
        theirs = nx.line_graph(nx.Graph(edges))
        row = {frozenset(edge): i for i, edge in enumerate(edges)}
        pairs = sorted(tuple(sorted((row[frozenset(a)], row[frozenset(b)]))) for a, b in theirs.edges)
        assert_array_equal(line.edges, np.array(pairs, dtype=int).reshape(-1, 2))


def test_a_long_path_has_its_strata():
    """More hops than a byte holds, and an isolated node."""
    case_edges = np.column_stack([np.arange(309), np.arange(1, 310)])
    strata = Strata(as_graph(edges=case_edges, n_nodes=311))
    assert strata.diameter == 309
    assert [strata.sizes[hop] for hop in (1, 254, 255, 256, 309)] == [309, 56, 55, 54, 1]
    assert_array_equal(strata.at(309).edges, [[0, 309]])
    far = strata.at(256)
    assert_array_equal(far.edges[:, 1] - far.edges[:, 0], 256)
    assert far.n_singletons == 311 - 2 * 54


def test_reading_strata():
    strata = strata_of(case_of(nx.path_graph(6)))
    assert len(strata) == 5
    assert [stratum.hop for stratum in strata] == [1, 2, 3, 4, 5]
    assert strata[-1].edges.tolist() == [[0, 5]]
    assert [stratum.hop for stratum in strata[1:3]] == [2, 3]
    with pytest.raises(IndexError):
        strata[5]
    with pytest.raises(HopError, match="hop 7"):
        strata.at(7)
    assert repr(strata[0]) == "Stratum(hop=1, n_nodes=6, n_edges=5)"


# --- hops ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hops", "expected"),
    [
        (None, (1, 2, 3, 4, 5)),
        (1, (1,)),
        (3, (1, 2, 3)),
        (np.int32(2), (1, 2)),
        (5, (1, 2, 3, 4, 5)),
        (99, (1, 2, 3, 4, 5)),
        ([2], (2,)),
        ([4, 1], (1, 4)),
        ((3, 3, 1), (1, 3)),
        (range(2, 5), (2, 3, 4)),
        ({5}, (5,)),
        (np.array([5, 2]), (2, 5)),
        (np.array(3), (1, 2, 3)),
        ((k for k in (1, 3)), (1, 3)),
    ],
)
def test_hops_that_are_understood(hops, expected):
    resolved = strata_of(case_of(nx.path_graph(6)), hops).hops
    assert resolved == expected
    assert all(type(hop) is int for hop in resolved)


@pytest.mark.parametrize(
    ("hops", "words"),
    [
        (0, "no hop"),
        (-2, "no hop"),
        (True, "True"),
        (False, "False"),
        (2.0, "2.0"),
        ("3", "'3'"),
        ("1-3", "'1-3'"),
        ([], "empty"),
        ((), "empty"),
        ([0], "holds 0"),
        ([1, -1], "holds -1"),
        ([1, True], "holds True"),
        ([1, 2.5], "holds 2.5"),
        (["1"], "holds '1'"),
        ([None], "holds None"),
        ([1, 6], "larger than the diameter of the graph, 5"),
        ([7, 6], "hops 6, 7"),
        (object(), "not understood"),
        (np.array([[1, 2]]), "holds"),
        (np.array(2.0), "2.0"),
    ],
)
def test_hops_that_are_refused(hops, words):
    with pytest.raises(HopError) as caught:
        strata_of(case_of(nx.path_graph(6)), hops)
    assert words in str(caught.value)


@pytest.mark.parametrize(("count", "said"), [(8, "2, 3, 4, 5, 6, 7, 8, 9 are"), (9, "2, 3, 4, 5, 6, 7, 8, 9, ... are")])
def test_a_long_list_of_hops_is_shortened(count, said):
    with pytest.raises(HopError, match=f"^hops {said} larger than the diameter of the graph, 1; "):
        strata_of(case_of(nx.path_graph(2)), range(2, 2 + count))


def test_only_the_hops_asked_for_are_there():
    strata = strata_of(case_of(nx.path_graph(5)), [2, 4])
    assert strata.hops == (2, 4)
    assert [stratum.hop for stratum in strata] == [2, 4]
    assert [stratum.hop for stratum in strata[:1]] == [2]
    with pytest.raises(HopError, match=r"hop 3 is not among the requested hops, 2, 4\."):
        strata.at(3)
