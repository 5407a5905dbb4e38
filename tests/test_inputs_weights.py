"""Edge weights and undirected=True, for every form a graph comes in."""

import gzip
import json
import pickle
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as some

import spectrata as st
from having import optional
from spectrata.errors import (
    DirectedGraphError,
    DuplicateNameError,
    FileFormatError,
    GraphTypeError,
    OptionError,
    SpectrataWarning,
)
from spectrata.inputs.graphs import Graph, as_graph

# A triangle with a tail, and node 4 alone; not in lexicographic order.
PAIRS = [(2, 3), (1, 0), (2, 0), (1, 2)]
WEIGHTS = [0.25, 2.0, 3.0, 1.5]
N = 5
EDGES = [[0, 1], [0, 2], [1, 2], [2, 3]]
WANT = [2.0, 3.0, 1.5, 0.25]


def matrix() -> np.ndarray:
    made = np.zeros((N, N))
    for (a, b), w in zip(PAIRS, WEIGHTS, strict=True):
        made[a, b] = made[b, a] = w
    return made


def in_networkx(kind: type = nx.Graph, name: str = "weight") -> nx.Graph:
    graph = kind()
    graph.add_nodes_from(range(N))
    for (a, b), w in zip(PAIRS, WEIGHTS, strict=True):
        graph.add_edge(a, b, **{name: w})
    return graph


def check(graph: Graph, want: list[float] = WANT) -> None:
    assert graph.edges.tolist() == EDGES
    assert graph.weights is not None
    assert graph.weights.dtype == np.float64
    assert not graph.weights.flags.writeable
    np.testing.assert_allclose(graph.weights, want, rtol=1e-6)


def everywhere(graph: Any, name: str | None = None, **arguments: Any) -> None:
    """True and the name read the weights; None warns once and False says nothing, both without weights."""
    check(as_graph(graph, weights=True, **arguments))
    if name is not None:
        check(as_graph(graph, weights=name, **arguments))
        with pytest.raises(OptionError, match=f"weights='nothing' is not an edge attribute.*{name}"):
            as_graph(graph, weights="nothing", **arguments)
    with pytest.warns(SpectrataWarning, match=r"weights=True uses them") as said:
        assert as_graph(graph, **arguments).weights is None
    assert len(said) == 1
    assert said[0].filename == __file__
    assert as_graph(graph, weights=False, **arguments).weights is None


class TestObjects:
    @pytest.mark.parametrize("kind", [nx.Graph, nx.MultiGraph])
    def test_networkx(self, kind: type) -> None:
        everywhere(in_networkx(kind), "weight")
        other = in_networkx(kind, "closeness")
        check(as_graph(other, weights="closeness"))
        assert as_graph(other).weights is None
        with pytest.raises(OptionError, match=r"no weights under a usual name; use one of its own \(closeness\)"):
            as_graph(other, weights=True)

    def test_networkx_array(self) -> None:
        graph = in_networkx()
        check(as_graph(graph, weights=[w for _, _, w in graph.edges(data="weight")]))

    def test_whole_numbers_and_truths(self) -> None:
        graph = nx.Graph(PAIRS)
        nx.set_edge_attributes(graph, {edge: i + 1 for i, edge in enumerate(graph.edges)}, "weight")
        nx.set_edge_attributes(graph, True, "there")
        assert sorted(as_graph(graph, weights=True).weights) == [1, 2, 3, 4]
        assert as_graph(graph, weights="there").weights.tolist() == [1, 1, 1, 1]

    def test_igraph(self) -> None:
        igraph = optional("igraph")
        graph = igraph.Graph(n=N, edges=PAIRS)
        with pytest.raises(OptionError, match="it has none, so give one number per edge"):
            as_graph(graph, weights=True)
        graph.es["weight"] = WEIGHTS
        graph.es["closeness"] = WEIGHTS
        everywhere(graph, "weight")
        check(as_graph(graph, weights="closeness"))

    @pytest.mark.parametrize("layout", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
    @pytest.mark.parametrize("kind", ["matrix", "array"])
    def test_sparse(self, layout: str, kind: str) -> None:
        everywhere(getattr(sp, f"{layout}_{kind}")(matrix()))

    @pytest.mark.parametrize("dtype", [np.float32, float])
    def test_dense(self, dtype: type) -> None:
        everywhere(matrix().astype(dtype))
        everywhere(None, adjacency=matrix().astype(dtype).tolist())

    def test_matrix_of_weights(self) -> None:
        ones = (matrix() > 0).astype(int)
        full = matrix() + 7 * (matrix() == 0)
        for weights in (matrix(), full, sp.csr_array(matrix()), sp.coo_matrix(matrix()), matrix().tolist()):
            check(as_graph(ones, weights=weights))
            check(as_graph(sp.csc_array(ones), weights=weights))
        with pytest.raises(OptionError, match=r"shape \(4,\), the adjacency matrix \(5, 5\); .* of its shape"):
            as_graph(ones, weights=WEIGHTS)

    def test_explicit_zeros_are_no_edges(self) -> None:
        made = sp.csr_array(np.where(matrix() > 0, matrix(), 9.0))
        made.data[made.data == 9] = 0
        check(as_graph(made, weights=True))

    def test_pyg(self) -> None:
        torch, data = optional("torch"), optional("torch_geometric.data")
        index = torch.tensor(PAIRS + [(b, a) for a, b in PAIRS]).T
        twice = torch.tensor(WEIGHTS * 2)
        everywhere(data.Data(edge_index=index, edge_weight=twice, num_nodes=N), "edge_weight")
        everywhere(data.Data(edge_index=index, edge_attr=twice, num_nodes=N), "edge_attr")
        everywhere(data.Data(edge_index=index, edge_attr=twice[:, None], num_nodes=N), "edge_attr")
        everywhere(data.Data(edge_index=index, edge_weight=twice.bfloat16(), num_nodes=N), "edge_weight")
        check(as_graph(data.Data(edge_index=index, mine=twice, num_nodes=N), weights="mine"))
        check(as_graph(index, weights=twice, n_nodes=N))
        wide = data.Data(edge_index=index, edge_attr=torch.ones(8, 3), num_nodes=N)
        with pytest.raises(OptionError, match=r"weights='edge_attr' has shape \(8, 3\) for 8 edges"):
            as_graph(wide, weights="edge_attr")
        with pytest.raises(OptionError, match=r"use one of its own \(edge_attr\)"):
            as_graph(wide, weights=True)

    def test_normalised_in_single_precision(self) -> None:
        """D^-1/2 A D^-1/2 of PyG differs in the last bit between the two directions."""
        rng = np.random.default_rng(0)
        made = np.triu(rng.random((40, 40)).astype(np.float32), 1)
        made = made + made.T
        root = 1 / np.sqrt(made.sum(axis=0))
        made = root[:, None] * made * root
        assert not np.array_equal(made, made.T)
        assert as_graph(made, weights=True).n_edges == 780

    def test_dgl(self) -> None:
        torch = optional("torch")
        tails, heads = torch.tensor(PAIRS + [(b, a) for a, b in PAIRS]).T
        graph = SimpleNamespace(
            edges=lambda: (tails, heads),
            num_nodes=lambda: N,
            is_homogeneous=True,
            edata={"w": torch.tensor(WEIGHTS * 2)},
            ndata={},
        )
        everywhere(graph, "w")

    @pytest.mark.parametrize("layout", ["to_sparse_coo", "to_sparse_csr", "to_sparse_csc"])
    @pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
    def test_torch_sparse(self, layout: str) -> None:
        torch = optional("torch")
        made = getattr(torch.tensor(matrix()), layout)()
        everywhere(made)
        everywhere(None, adjacency=made)
        with pytest.raises(GraphTypeError, match="square"):
            as_graph(torch.ones(3, 4).to_sparse_coo())

    def test_edges(self) -> None:
        check(as_graph(edges=PAIRS, n_nodes=N, weights=WEIGHTS))
        check(as_graph(np.array(PAIRS).T, n_nodes=N, weights=np.array(WEIGHTS, dtype=np.float32)))
        check(as_graph(edges=PAIRS, weights=np.array(WEIGHTS)[:, None]))
        three = np.column_stack([PAIRS, WEIGHTS])
        check(as_graph(edges=three, weights=True))
        check(as_graph(three, weights=True))
        assert as_graph(edges=three, weights=False).weights is None
        with pytest.raises(GraphTypeError, match="weights=True where a third column holds the weights"):
            as_graph(edges=three)
        with pytest.raises(OptionError, match="carry no weights"):
            as_graph(edges=PAIRS, weights=True)
        with pytest.raises(OptionError, match=r"shape \(3,\) for 4 edges"):
            as_graph(edges=PAIRS, weights=WEIGHTS[:3])

    def test_weights_of_one_are_not_announced(self) -> None:
        graph = nx.Graph(PAIRS)
        nx.set_edge_attributes(graph, 1.0, "weight")
        assert as_graph(graph).weights is None
        assert as_graph(graph, weights=True).weights.tolist() == [1, 1, 1, 1]
        assert as_graph(matrix() > 0, weights=True).weights.tolist() == [1, 1, 1, 1]

    @given(
        some.lists(some.tuples(some.integers(0, 6), some.integers(0, 6)), min_size=1, max_size=30),
        some.randoms(use_true_random=False),
    )
    def test_any_order_and_direction(self, pairs: list[tuple[int, int]], random: Any) -> None:
        weight = {frozenset(pair): random.random() + 0.1 for pair in pairs}
        want = sorted((min(p), max(p), weight[p]) for p in map(frozenset, pairs) if len(p) == 2)
        if not (want := sorted(set(want))):
            return
        shuffled = [pair if random.random() < 0.5 else pair[::-1] for pair in pairs]
        random.shuffle(shuffled)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SpectrataWarning)
            graph = as_graph(edges=shuffled, n_nodes=7, weights=[weight[frozenset(p)] for p in shuffled])
        assert [(*edge, w) for edge, w in zip(graph.edges.tolist(), graph.weights, strict=True)] == want


class TestFiles:
    def test_lists(self, write: Any, tmp_path: Path) -> None:
        rows = [f"{a} {b} {w}" for (a, b), w in zip(PAIRS, WEIGHTS, strict=True)]
        everywhere(write("g.txt", "\n".join(rows)), "weight")
        nx.write_weighted_edgelist(in_networkx(), tmp_path / "g.edgelist")
        everywhere(tmp_path / "g.edgelist", "weight")
        nx.write_edgelist(in_networkx(), tmp_path / "g.edges")
        everywhere(tmp_path / "g.edges", "weight")
        nx.write_edgelist(in_networkx(name="closeness"), tmp_path / "g.el")
        check(as_graph(tmp_path / "g.el", weights="closeness"))

    def test_tables(self, write: Any) -> None:
        rows = [f"{a},{b},{w},friend" for (a, b), w in zip(PAIRS, WEIGHTS, strict=True)]
        plain = [row.removesuffix(",friend") for row in rows]
        everywhere(write("g.csv", "\n".join(["From,To,Weight", *plain])), "Weight")
        everywhere(write("g.csv", "\n".join(["source,target,strength", *plain])), "strength")
        everywhere(write("g.csv", "\n".join(plain)), "weight")
        both = write("g.csv", "\n".join(["source,target,weight,kind", *rows]))
        everywhere(both, "weight")
        with pytest.raises(OptionError, match="weights='kind': the weight of the edge 2 to 3 is 'friend'"):
            as_graph(both, weights="kind")
        kinds = write("g.csv", "source,target,kind\na,b,friend\nb,c,foe\n")
        assert as_graph(kinds).n_edges == 2
        with pytest.raises(OptionError, match=r"use one of its own \(kind\)"):
            as_graph(kinds, weights=True)
        gap = write("g.csv", "source,target,weight\na,b,2\nb,c,\n")
        with pytest.raises(OptionError, match="the edge 'b' to 'c' has no weight; give every edge one"):
            as_graph(gap, weights=True)

    @pytest.mark.parametrize("key", ["weights", "weight", "edge_weight", "edge_attr"])
    def test_archives(self, tmp_path: Path, key: str) -> None:
        path = tmp_path / "g.npz"
        np.savez(path, edges=PAIRS, n_nodes=N, **{key: WEIGHTS, "other": WEIGHTS})
        everywhere(path, key)
        check(as_graph(path, weights="other"))
        arcs = np.array(PAIRS + [(b, a) for a, b in PAIRS]).T
        np.savez(path, edge_index=arcs, **{key: WEIGHTS * 2})
        everywhere(path, key)

    def test_archives_of_matrices(self, tmp_path: Path) -> None:
        path = tmp_path / "g.npz"
        np.savez(path, adjacency=matrix())
        everywhere(path)
        for layout in ("csr", "csc", "coo"):
            for kind in (sp.coo_array, sp.coo_matrix):
                sp.save_npz(path, kind(matrix()).asformat(layout))
                everywhere(path)
        half = sp.coo_array(matrix() / 2)
        halves = [np.concatenate([part, part]) for part in (half.data, half.row, half.col)]
        sp.save_npz(path, sp.coo_array((halves[0], (halves[1], halves[2])), shape=(N, N)))
        check(as_graph(path, weights=True))
        np.save(tmp_path / "g.npy", matrix())
        everywhere(tmp_path / "g.npy")

    @pytest.mark.parametrize("symmetry", ["symmetric", "general"])
    @pytest.mark.parametrize("kind", [np.asarray, sp.coo_array])
    def test_matrix_market(self, tmp_path: Path, symmetry: str, kind: Any) -> None:
        path = tmp_path / "g.mtx"
        scipy.io.mmwrite(path, kind(matrix()), symmetry=symmetry)
        everywhere(path)
        (tmp_path / "g.mtx.gz").write_bytes(gzip.compress(path.read_bytes()))
        everywhere(tmp_path / "g.mtx.gz")

    def test_markup(self, tmp_path: Path) -> None:
        for name in ("weight", "closeness"):
            graph = in_networkx(name=name)
            nx.write_graphml(graph, tmp_path / "g.graphml")
            nx.write_gml(graph, tmp_path / "g.gml")
            (tmp_path / "g.json").write_text(json.dumps(nx.node_link_data(graph)))
            for file in ("g.graphml", "g.gml", "g.json"):
                check(as_graph(tmp_path / file, weights=name))
                if name == "weight":
                    everywhere(tmp_path / file, name)

    def test_graphml_default(self, write: Any) -> None:
        text = (
            '<graphml><key id="k" for="edge" attr.name="weight" attr.type="double"><default>3</default></key>'
            '<graph edgedefault="undirected"><node id="a"/><node id="b"/><node id="c"/><edge source="a" target="b"/>'
            '<edge source="b" target="c"><data key="k">5</data></edge></graph></graphml>'
        )
        assert as_graph(write("g.graphml", text), weights=True).weights.tolist() == [3, 5]

    def test_gml_value(self, write: Any) -> None:
        text = "graph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 value 3 ] ]"
        assert as_graph(write("g.gml", text), weights=True).weights.tolist() == [3]


class TestCleaning:
    def test_loops_are_dropped_with_their_weights(self) -> None:
        with pytest.warns(SpectrataWarning, match="Dropped 2 self-loops"):
            check(as_graph(edges=[*PAIRS, (0, 0), (4, 4)], weights=[*WEIGHTS, -3, 0]))
        with pytest.warns(SpectrataWarning, match="Dropped 5 self-loops"):
            check(as_graph(matrix() + np.eye(N), weights=True))

    def test_both_directions_and_repeats_agree(self) -> None:
        both = PAIRS + [(b, a) for a, b in PAIRS]
        check(as_graph(edges=both, weights=WEIGHTS + [w * (1 + 5e-13) for w in WEIGHTS]))
        with pytest.warns(SpectrataWarning, match="Dropped 4 parallel"):
            check(as_graph(edges=PAIRS + PAIRS, weights=WEIGHTS * 2))
        multi = nx.MultiGraph()
        multi.add_weighted_edges_from([(0, 1, 2.0), (0, 1, 2.5)])
        with pytest.raises(DirectedGraphError, match=r"edge 0 to 1 disagree .*: 2\.0 and 2\.5"):
            as_graph(multi, weights=True)

    def test_asymmetric(self) -> None:
        made = matrix()
        made[3, 2] = 0.5
        for graph in (made, sp.csr_array(made)):
            with pytest.raises(
                DirectedGraphError, match=r"edge 2 to 3 disagree .*: 0.25 and 0.5 \(1 such .*\(A \+ A.T\) / 2"
            ):
                as_graph(graph, weights=True)
            with pytest.raises(DirectedGraphError, match="disagree"):
                as_graph(graph, weights=True, undirected=True)
        with pytest.raises(DirectedGraphError, match="disagree"):
            as_graph(edges=[(0, 1), (1, 0)], weights=[1, 1 + 1e-9])

    @pytest.mark.parametrize("value", [0, -2, np.nan, np.inf, -np.inf])
    def test_values(self, value: float) -> None:
        graph = nx.relabel_nodes(in_networkx(), dict(enumerate("abcde")))
        graph.edges["a", "c"]["weight"] = value
        words = r"The weight of the edge 'a' to 'c' is .*\(1 such .* larger means closer, so convert distances first"
        with pytest.raises(OptionError, match=words):
            as_graph(graph, weights=True)
        with pytest.raises(OptionError, match="edge 0 to 1 is"):
            as_graph(edges=[(1, 2), (0, 1), (0, 2)], weights=[1.0, value, 1.0])

    def test_negative_matrix(self) -> None:
        with pytest.warns(SpectrataWarning, match="Ignoring edge weights"):
            as_graph(-matrix())
        with pytest.raises(OptionError, match=r"edge 0 to 1 is -2\.0 "):
            as_graph(-matrix(), weights=True)

    @pytest.mark.parametrize(
        ("value", "words"),
        [
            ("heavy", "the weight of the edge 0 to 1 is 'heavy', not a number"),
            ("2", "is '2', not a number"),
            (None, "the edge 0 to 1 has no weight; give every edge one"),
            ([1, 2], r"is \[1, 2\], not a number"),
            (np.ones(2), "not a number"),
            (2j, "is 2j, not a number"),
            (10**400, "not a number"),
        ],
    )
    def test_not_numbers(self, value: Any, words: str) -> None:
        graph = in_networkx()
        graph.edges[0, 1]["weight"] = value
        with pytest.raises(OptionError, match=words):
            as_graph(graph, weights="weight")

    @pytest.mark.parametrize(
        ("weights", "words"),
        [
            (3, "weights=3 is an object of type builtins.int; give True, the name"),
            (object(), "give True, the name of an edge attribute, or an array"),
            (np.ones((4, 2)), r"shape \(4, 2\) for 4 edges"),
            ({}, r"shape \(0,\)"),
            (np.array(["a", "b", "c", "d"]), "'a', not a number"),
        ],
    )
    def test_arguments(self, weights: Any, words: str) -> None:
        with pytest.raises(OptionError, match=words):
            as_graph(edges=PAIRS, weights=weights)

    def test_digest(self) -> None:
        plain, weighted = as_graph(edges=PAIRS), as_graph(edges=PAIRS, weights=WEIGHTS)
        assert plain.digest == as_graph(edges=PAIRS, weights=False).digest
        assert plain.digest != weighted.digest
        assert weighted.digest == as_graph(in_networkx().subgraph(range(4)), weights=True).digest
        assert weighted.digest != as_graph(edges=PAIRS, weights=[1, 1, 1, 1]).digest
        again = pickle.loads(pickle.dumps(weighted))
        assert again.digest == weighted.digest
        assert repr(weighted) == "Graph(n_nodes=4, n_edges=4, named=False, weighted=True)"

    def test_of_a_graph(self) -> None:
        plain, weighted = as_graph(edges=PAIRS), as_graph(edges=PAIRS, weights=WEIGHTS)
        assert as_graph(weighted) is weighted
        assert as_graph(weighted, weights=True) is weighted
        assert as_graph(weighted, weights=False).digest == plain.digest
        assert as_graph(plain, weights=WANT).digest == weighted.digest
        for weights in (True, "weight"):
            with pytest.raises(OptionError, match="read without its weights"):
                as_graph(plain, weights=weights)
        with pytest.raises(OptionError, match=r"edge 0 to 2 is -1\.0"):
            as_graph(plain, weights=[1, -1, 1, 1])
        with pytest.raises(OptionError, match=r"shape \(3,\) for 4 edges"):
            as_graph(plain, weights=[1, 1, 1])


class TestUndirected:
    def test_refusals_name_it(self) -> None:
        one_way = sp.csr_array(np.triu(matrix()))
        partly = np.array([*PAIRS, PAIRS[0][::-1]]).T
        torch = optional("torch")
        for graph in (nx.DiGraph(PAIRS), one_way, one_way.toarray(), torch.tensor(partly)):
            with pytest.raises(DirectedGraphError, match="use undirected=True to count an edge where"):
                as_graph(graph, weights=False)

    def test_networkx(self) -> None:
        graph = in_networkx(nx.DiGraph)
        check(as_graph(graph, undirected=True, weights=True))
        graph.add_edge(3, 2, weight=0.25)
        check(as_graph(graph, undirected=True, weights=True))  # both directions, and no warning
        graph.add_edge(0, 1, weight=9.0)
        with pytest.raises(DirectedGraphError, match=r"edge 0 to 1 disagree .*2\.0 and 9\.0.*combine them first"):
            as_graph(graph, undirected=True, weights=True)
        assert as_graph(graph, undirected=True, weights=False).edges.tolist() == EDGES
        with pytest.warns(SpectrataWarning, match="Dropped 1 parallel"):
            assert as_graph(nx.MultiDiGraph([(0, 1), (0, 1), (1, 0)]), undirected=True).n_edges == 1

    def test_matrices_and_edges(self) -> None:
        for made in (np.triu(matrix()), sp.csr_array(np.tril(matrix()))):
            check(as_graph(made, undirected=True, weights=True))
            check(as_graph(adjacency=made, undirected=True, weights=True))
        torch = optional("torch")
        index = torch.tensor([*PAIRS, PAIRS[0][::-1]]).T
        check(as_graph(index, undirected=True, weights=[*WEIGHTS, WEIGHTS[0]]))
        assert as_graph(edges=[*PAIRS, (3, 2)], undirected=True).edges.tolist() == EDGES

    def test_undirected_graphs_stay(self) -> None:
        assert as_graph(matrix() > 0, undirected=True).digest == as_graph(matrix() > 0).digest
        with pytest.warns(SpectrataWarning, match="Dropped 1 parallel"):
            as_graph(edges=[(0, 1), (1, 2), (0, 1)], undirected=True)

    def test_igraph(self) -> None:
        graph = optional("igraph").Graph(n=N, edges=PAIRS, directed=True)
        assert as_graph(graph, undirected=True).edges.tolist() == EDGES

    def test_files(self, tmp_path: Path) -> None:
        graph = in_networkx(nx.DiGraph)
        nx.write_graphml(graph, tmp_path / "g.graphml")
        nx.write_gml(graph, tmp_path / "g.gml")
        (tmp_path / "g.json").write_text(json.dumps(nx.node_link_data(graph)))
        scipy.io.mmwrite(tmp_path / "g.mtx", sp.coo_array(np.triu(matrix())), symmetry="general")
        np.save(tmp_path / "g.npy", np.triu(matrix()))
        sp.save_npz(tmp_path / "g.npz", sp.csr_array(np.triu(matrix())))
        np.savetxt(tmp_path / "g.csv", np.triu(matrix()), delimiter=",")
        for file in ("g.graphml", "g.gml", "g.json", "g.mtx", "g.npy", "g.npz", "g.csv"):
            with pytest.raises(DirectedGraphError, match="undirected=True"):
                as_graph(tmp_path / file)
            check(as_graph(tmp_path / file, undirected=True, weights=True))

    def test_it_is_a_flag(self) -> None:
        with pytest.raises(OptionError, match="undirected=1 must be True or False"):
            as_graph(edges=PAIRS, undirected=1)


def test_a_file_that_carries_unusable_weights_is_still_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", edges=PAIRS, weights=["a", "b"])
    assert as_graph(tmp_path / "g.npz").n_edges == 4
    np.savez(tmp_path / "g.npz", edges=PAIRS, weights=np.array([{}], dtype=object))
    with pytest.raises(FileFormatError, match="pickled objects"):
        as_graph(tmp_path / "g.npz")


def test_weights_with_names_find_their_edges():
    graph = nx.path_graph(list("abcd"))
    weights = pd.Series({("a", "b"): 1.0, ("c", "b"): 2.0, ("c", "d"): 3.0})
    for one in (weights, weights[::-1], weights.sort_values(ascending=False)):
        assert as_graph(graph, weights=one).weights.tolist() == [1.0, 2.0, 3.0]
        strat = st.Stratification(graph, distance=one, bins=[0, 1.5])
        assert strat.strata[0].edges.tolist() == [[0, 1]]
    assert as_graph(graph, weights=weights.reset_index(drop=True)).weights.tolist() == [1.0, 2.0, 3.0]
    extra = pd.concat([weights, pd.Series({("a", "d"): 1.0})])
    for other in (weights[:2], extra, pd.concat([weights, weights[:1]]), pd.Series([1.0, 2.0, 3.0], index=[2, 1, 0])):
        with pytest.raises(OptionError, match="a Series whose index does not name every edge once"):
            as_graph(graph, weights=other)
    matrix = nx.to_numpy_array(graph)
    table = pd.DataFrame(2 * matrix)
    assert as_graph(matrix, weights=table).weights.tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(OptionError, match="another order"):
        as_graph(matrix, weights=table[::-1])


def test_two_columns_of_one_name_are_refused():
    table = pd.DataFrame([["a", "b", 1, 2], ["b", "c", 2, 1]], columns=["from", "to", "weight", "weight"])
    with pytest.raises(DuplicateNameError, match="column 'weight' twice"):
        as_graph(table, weights="weight")
