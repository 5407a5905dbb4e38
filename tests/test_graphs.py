"""Every form of graph that comes in, and every one that is turned away."""

import os
import pickle
import subprocess
import sys
import warnings
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as some

from having import optional
from spectrata.errors import (
    AmbiguousGraphError,
    DirectedGraphError,
    DuplicateNameError,
    EdgeRangeError,
    EmptyGraphError,
    GraphTypeError,
    NodeCountError,
    OptionError,
    SpectrataWarning,
)
from spectrata.inputs.graphs import Graph, as_graph

# A triangle with a tail, and node 4 alone.
PAIRS = [(0, 1), (0, 2), (1, 2), (2, 3)]
N = 5


def adjacency(dtype: type = int) -> np.ndarray:
    matrix = np.zeros((N, N), dtype=dtype)
    for a, b in PAIRS:
        matrix[a, b] = matrix[b, a] = 1
    return matrix


def both_ways() -> np.ndarray:
    return np.array(PAIRS + [(b, a) for a, b in PAIRS]).T


def check(graph: Graph, n_nodes: int = N) -> None:
    """The invariants, and the structure of PAIRS."""
    assert graph.n_nodes == n_nodes
    assert graph.edges.tolist() == [list(pair) for pair in PAIRS]
    assert graph.n_edges == len(PAIRS)
    assert graph.indptr.tolist() == [0, 2, 4, 7, 8, *[8] * (n_nodes - 4)]
    assert graph.indices.tolist() == [1, 2, 0, 2, 0, 1, 3, 2]
    for array in (graph.indptr, graph.indices, graph.edges):
        assert array.dtype == np.int64
        assert not array.flags.writeable


class TestForms:
    @pytest.mark.parametrize("dtype", [bool, int, np.uint8, np.float32, float])
    def test_dense(self, dtype: type) -> None:
        check(as_graph(adjacency(dtype)))
        check(as_graph(adjacency=adjacency(dtype)))

    def test_lists_and_matrices(self) -> None:
        check(as_graph(sp.csr_array(adjacency(bool))))
        check(as_graph(adjacency().tolist()))
        check(as_graph([list(pair) for pair in PAIRS]), n_nodes=4)
        check(as_graph(adjacency().view(np.matrix)))

    def test_sparse_input_is_not_changed(self) -> None:
        matrix = sp.coo_array(([1, 1, 1, 1], ([0, 0, 1, 1], [1, 1, 0, 0])), shape=(3, 3))
        with pytest.warns(SpectrataWarning, match="weights"):
            as_graph(matrix)
        assert matrix.nnz == 4

    @pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.uint64, ">i8", float])
    def test_edges(self, dtype: type) -> None:
        pairs = np.array(PAIRS, dtype=dtype)
        for edges in (pairs, pairs.T, pairs[:, ::-1]):
            check(as_graph(edges, n_nodes=N))
            check(as_graph(edges=edges, n_nodes=N))
            check(as_graph(edges=edges), n_nodes=4)

    def test_networkx_keeps_order_and_names(self) -> None:
        graph = nx.Graph([("d", "c"), ("c", "b"), ("c", "a"), ("b", "a")])
        result = as_graph(graph)
        assert result.names == ("d", "c", "b", "a")
        assert result.edges.tolist() == [[0, 1], [1, 2], [1, 3], [2, 3]]
        assert result.named
        assert result.row == {"d": 0, "c": 1, "b": 2, "a": 3}

    def test_networkx_nodes_of_any_kind(self) -> None:
        grid = nx.grid_2d_graph(2, 2)
        assert as_graph(grid).names == ((0, 0), (0, 1), (1, 0), (1, 1))
        assert as_graph(nx.Graph([("x", 1.5), (1.5, frozenset({1}))])).n_edges == 2

    def test_networkx_rows_are_not_names(self) -> None:
        graph = nx.Graph(PAIRS)
        graph.add_node(4)
        check(as_graph(graph))
        assert not as_graph(graph).named
        assert as_graph(nx.Graph([(1, 0), (0, 2)])).named

    def test_igraph(self) -> None:
        igraph = optional("igraph")
        graph = igraph.Graph(n=N, edges=PAIRS)
        check(as_graph(graph))
        assert as_graph(graph).names == (0, 1, 2, 3, 4)
        graph.vs["name"] = list("abcde")
        check(as_graph(graph))
        assert as_graph(graph).names == tuple("abcde")
        graph.vs["name"] = list("abcda")
        with pytest.raises(DuplicateNameError, match="'a' stands at rows 0 and 4"):
            as_graph(graph)

    def test_pyg(self) -> None:
        torch, data = optional("torch"), optional("torch_geometric.data")
        index = torch.tensor(both_ways())
        check(as_graph(data.Data(edge_index=index, num_nodes=N)))
        check(as_graph(data.Data(edge_index=index, x=torch.zeros(N, 3))))
        check(as_graph(data.Data(edge_index=index)), n_nodes=4)
        check(as_graph(data.Data(edge_index=index), n_nodes=N))
        check(as_graph(index, n_nodes=N))
        check(as_graph(torch.tensor(PAIRS).T), n_nodes=4)
        check(as_graph(edges=torch.tensor(PAIRS)), n_nodes=4)
        check(as_graph(torch.tensor(adjacency())))
        with pytest.raises(NodeCountError, match="n_nodes=9"):
            as_graph(data.Data(edge_index=index, num_nodes=N), n_nodes=9)

    def test_pyg_partly_reciprocal_is_directed(self) -> None:
        torch, data = optional("torch"), optional("torch_geometric.data")
        index = torch.tensor(both_ways())[:, :-1]
        for graph in (index, data.Data(edge_index=index, num_nodes=N)):
            with pytest.raises(DirectedGraphError, match=r"1 edges stand in one direction only.*to_undirected"):
                as_graph(graph)

    def test_pyg_without_edge_index(self) -> None:
        data = optional("torch_geometric.data")
        for graph in (data.HeteroData(), data.Data()):
            with pytest.raises(GraphTypeError, match="no edge_index"):
                as_graph(graph)

    def test_dgl(self) -> None:
        tails, heads = both_ways()
        graph = SimpleNamespace(edges=lambda: (tails, heads), num_nodes=lambda: N, is_homogeneous=True)
        check(as_graph(graph))
        graph.is_homogeneous = False
        with pytest.raises(GraphTypeError, match="to_homogeneous"):
            as_graph(graph)

    def test_graph_itself(self) -> None:
        graph = as_graph(adjacency())
        assert as_graph(graph) is graph
        assert as_graph(graph, n_nodes=N) is graph
        with pytest.raises(NodeCountError, match="5 nodes, but n_nodes=6"):
            as_graph(graph, n_nodes=6)

    def test_labelled_edges_become_rows_when_the_count_is_given(self, tmp_path: os.PathLike) -> None:
        file = tmp_path / "gap.txt"
        file.write_text("0 4\n4 2\n")
        assert as_graph(file).names == (0, 2, 4)
        graph = as_graph(file, n_nodes=6)
        assert graph.names == (0, 1, 2, 3, 4, 5)
        assert graph.edges.tolist() == [[0, 4], [2, 4]]
        with pytest.raises(NodeCountError, match="3 nodes, but n_nodes=4"):
            as_graph(file, n_nodes=4)


class TestCleaning:
    def test_loops_and_parallels_are_counted(self) -> None:
        edges = [(0, 1), (1, 2), (2, 2), (0, 1), (0, 0), (0, 1)]
        with pytest.warns(SpectrataWarning) as caught:
            graph = as_graph(edges=edges)
        assert [str(w.message).partition(":")[0] for w in caught] == [
            "Dropped 2 self-loops",
            "Dropped 2 parallel edges",
        ]
        assert graph.edges.tolist() == [[0, 1], [1, 2]]
        assert caught[0].filename == __file__

    def test_some_edges_reversed_are_parallel(self) -> None:
        with pytest.warns(SpectrataWarning, match="Dropped 1 parallel"):
            assert as_graph(edges=[(0, 1), (1, 0), (1, 2)]).n_edges == 2

    def test_multigraph(self) -> None:
        with pytest.warns(SpectrataWarning, match="Dropped 2 parallel"):
            assert as_graph(nx.MultiGraph([(0, 1), (0, 1), (1, 0), (1, 2)])).n_edges == 2

    def test_rownormalised_matrix_is_undirected(self) -> None:
        matrix = adjacency(float)[:4, :4]
        with pytest.warns(SpectrataWarning, match="weights"):
            check(as_graph(matrix / matrix.sum(axis=1, keepdims=True)), n_nodes=4)

    @given(some.lists(some.tuples(some.integers(0, 8), some.integers(0, 8)), min_size=1, max_size=40), some.randoms())
    def test_same_as_networkx_in_any_order(self, pairs: list[tuple[int, int]], random: object) -> None:
        want = sorted({(min(p), max(p)) for p in pairs if p[0] != p[1]})
        shuffled = [p if random.random() < 0.5 else p[::-1] for p in pairs]  # type: ignore[attr-defined]
        random.shuffle(shuffled)  # type: ignore[attr-defined]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SpectrataWarning)
            if not want:
                with pytest.raises(EmptyGraphError):
                    as_graph(edges=pairs, n_nodes=9)
                return
            graph = as_graph(edges=pairs, n_nodes=9)
            assert graph.edges.tolist() == [list(pair) for pair in want]
            assert as_graph(edges=shuffled, n_nodes=9).digest == graph.digest
            twin = nx.Graph(want)
            for row in range(9):
                neighbours = graph.indices[graph.indptr[row] : graph.indptr[row + 1]].tolist()
                assert neighbours == sorted(twin.adj.get(row, ()))

    def test_digest(self) -> None:
        one = as_graph(edges=PAIRS)
        assert one.digest == as_graph(nx.Graph(PAIRS)).digest
        assert one.digest == as_graph(nx.relabel_nodes(nx.Graph(PAIRS), dict(enumerate("abcd")))).digest
        assert one.digest != as_graph(edges=PAIRS, n_nodes=N).digest
        assert one.digest != as_graph(edges=[*PAIRS[:-1], (1, 3)]).digest
        assert len(one.digest) == 64
        assert pickle.loads(pickle.dumps(one)).digest == one.digest


class TestRefused:
    @pytest.mark.parametrize("graph", [[[0, 1], [1, 0]], np.array([[0, 1], [1, 2]])])
    def test_two_by_two(self, graph: object) -> None:
        with pytest.raises(AmbiguousGraphError, match="adjacency= or edges="):
            as_graph(graph)

    def test_two_by_two_edges(self) -> None:
        assert as_graph(adjacency=[[0, 1], [1, 0]]).n_edges == 1
        assert as_graph(edges=[(0, 1), (2, 3)]).edges.tolist() == [[0, 1], [2, 3]]
        assert as_graph(edges=np.array([[0, 1], [1, 2]])).edges.tolist() == [[0, 1], [1, 2]]
        with pytest.raises(AmbiguousGraphError, match="list of tuples"):
            as_graph(edges=np.array([[0, 1], [2, 3]]))

    def test_two_by_two_tensor_is_an_edge_index(self) -> None:
        torch = optional("torch")
        assert as_graph(edges=torch.tensor([[0, 1], [2, 3]])).edges.tolist() == [[0, 2], [1, 3]]

    def test_directed(self) -> None:
        with pytest.raises(DirectedGraphError, match=r"to_undirected\(\)"):
            as_graph(nx.DiGraph(PAIRS))
        with pytest.raises(DirectedGraphError, match=r"as_undirected\(\)"):
            as_graph(optional("igraph").Graph(n=N, edges=PAIRS, directed=True))
        for matrix in (np.triu(adjacency()), sp.csr_array(np.triu(adjacency()))):
            with pytest.raises(DirectedGraphError, match=r"4 entries.*0 to 1; .*A \+ A\.T"):
                as_graph(matrix)

    @pytest.mark.parametrize(
        ("graph", "words"),
        [
            (nx.Graph(), "no nodes"),
            (nx.path_graph(1), "single node"),
            (nx.empty_graph(3), "no edge;"),
            (nx.Graph([(0, 0), (1, 1)]), "only 2 self-loops"),
            (np.zeros((4, 4)), "no edge;"),
            (np.zeros((1, 1)), "single node"),
            (np.zeros((0, 0)), "is empty"),
            ([], "is empty"),
            (sp.csr_array((3, 3)), "no edge;"),
        ],
    )
    def test_empty(self, graph: object, words: str) -> None:
        with pytest.raises(EmptyGraphError, match=words):
            as_graph(graph)

    def test_empty_edges(self) -> None:
        for edges in ([], np.zeros((0, 2), dtype=int), np.zeros((2, 0), dtype=int)):
            with pytest.raises(EmptyGraphError, match="list of edges is empty"):
                as_graph(edges=edges, n_nodes=3)

    @pytest.mark.parametrize(
        ("edges", "n_nodes", "words"),
        [
            ([(0, 1), (1, 2), (2, -1)], None, r"Edge 2 .*\(2, -1\).*counted from 0"),
            ([(0, 1), (1, 2), (2, 7)], 5, r"Edge 2 .*\(2, 7\).*5 nodes \(rows 0 to 4\)"),
            ([(0.0, 1.0), (1.5, 2.0), (0.0, 2.0)], None, r"Edge 1 .*\(1\.5, 2\.0\)"),
            ([(0.0, 1.0), (1.0, float("nan")), (0, 2)], None, "nan"),
            ([(0.0, 1.0), (1.0, float("inf")), (0, 2)], None, "inf"),
            ([(0, 1), (1, 2**63), (0, 2)], None, "Edge 1"),
            ([(0, 1), (1, 2), (0, 10**9)], None, "renumber"),
        ],
    )
    def test_edge_range(self, edges: list, n_nodes: int | None, words: str) -> None:
        dtype = np.uint64 if edges[1][1] == 2**63 else None
        with pytest.raises(EdgeRangeError, match=words):
            as_graph(edges=np.array(edges, dtype=dtype), n_nodes=n_nodes)

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_adjacency_not_finite(self, value: float) -> None:
        matrix = adjacency(float)
        matrix[1, 4] = value
        for graph in (matrix, sp.csr_array(matrix)):
            with pytest.raises(GraphTypeError, match=r"NaN or infinite entries, the first at \(1, 4\)"):
                as_graph(graph)

    @pytest.mark.parametrize(
        ("graph", "words"),
        [
            (42, "builtins.int"),
            ({"a": ["b"]}, "builtins.dict"),
            (np.zeros((3, 4)), r"shape \(3, 4\)"),
            (np.zeros(7), r"shape \(7,\)"),
            (sp.csr_array(np.ones((3, 4))), "square"),
            (adjacency().astype(complex), "complex"),
            (adjacency().astype(str), "<U"),
            ([("a", "b"), ("b", "c"), ("c", "d")], "networkx"),
            ([(0, 1), (1, 2, 3)], "array of numbers"),
            (np.ma.masked_equal(adjacency(), 0), "masked"),
        ],
    )
    def test_kind(self, graph: object, words: str) -> None:
        with pytest.raises(GraphTypeError, match=words):
            as_graph(graph)

    def test_kind_by_keyword(self) -> None:
        for edges in ([(0, 1, 1), (1, 2, 1), (2, 0, 1)], [(0, 1, 2), (1, 2, 5)]):
            with pytest.raises(GraphTypeError, match=r"\(E, 2\) or \(2, E\), not .* weights=True"):
                as_graph(edges=edges)
            assert as_graph(edges=edges, weights=True).n_edges == len(edges)
        assert as_graph(edges=[(0, 1, 2), (1, 2, 5)], weights=True).weights.tolist() == [2, 5]
        assert (
            as_graph(edges=np.array([(0, 1, 2), (1, 2, 5)])).n_edges == 3
        )  # an array (2, E) holds its edges as columns
        with pytest.raises(GraphTypeError, match="square"):
            as_graph(adjacency=PAIRS)
        with pytest.raises(GraphTypeError, match="bool"):
            as_graph(edges=np.ones((3, 2), dtype=bool))

    def test_tables_keep_their_labels(self) -> None:
        pandas = optional("pandas")
        table = pandas.DataFrame(adjacency(), index=list("abcde"), columns=list("abcde"))
        assert as_graph(table).names == tuple("abcde")
        assert np.array_equal(as_graph(table).edges, as_graph(adjacency()).edges)
        edges = pandas.DataFrame({"one": list("xyz"), "two": list("yzw"), "times met": [1, 2, 3]})
        met = as_graph(edges, weights="times met")
        assert (met.names, met.edges.tolist()) == (tuple("xyzw"), [[0, 1], [1, 2], [2, 3]])
        assert met.weights.tolist() == as_graph(edges, weights=True).weights.tolist() == [1, 2, 3]
        lacking = edges.assign(two=["y", None, "w"])
        for bad, words in (
            (edges["one"], "two columns of ends"),
            (table.rename(index={"a": "z"}), "other names on its rows"),
            (lacking, "Row 1 of the table"),
            (edges.assign(one=[["x"], ["y"], ["z"]]), "cannot name nodes"),
            (edges[["times met", "two"]].assign(**{"times met": [0.5, 1, 2]}), "decimal numbers"),
        ):
            with pytest.raises(GraphTypeError, match=words):
                as_graph(bad)

    def test_options(self) -> None:
        for arguments in ({}, {"graph": adjacency(), "edges": PAIRS}):
            with pytest.raises(OptionError, match="exactly once"):
                as_graph(**arguments)
        for count in (2.5, "5", -1):
            with pytest.raises(OptionError, match="n_nodes"):
                as_graph(edges=PAIRS, n_nodes=count)
        with pytest.raises(NodeCountError, match="5 nodes, but n_nodes=4"):
            as_graph(adjacency(), n_nodes=4)
        assert as_graph(edges=PAIRS, n_nodes=np.int64(9)).n_nodes == 9


def test_importing_loads_no_other_library() -> None:
    code = (
        "import sys, spectrata.inputs.readers.objects, spectrata.inputs.readers.signal_objects\n"
        "heavy = {'torch', 'networkx', 'igraph', 'pandas', 'pyarrow', 'safetensors', 'torch_geometric'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "import spectrata.many.run, spectrata.bands.spectra, spectrata as st\n"
        "st.spectra, st.Stratification, st.diagnose\n"
        "assert not {'dask', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
