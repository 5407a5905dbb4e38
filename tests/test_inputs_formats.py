"""Dense matrices in tables, JSON node-link, PyGSP, AnnData; node attributes as signals, and positions."""

import json
import pickle
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from having import optional
from spectrata.errors import (
    DuplicateNameError,
    FileFormatError,
    GraphTypeError,
    MemoryEstimateError,
    NodeCountError,
    OptionError,
    SignalTypeError,
    SignalValueError,
    SpectrataError,
    SpectrataWarning,
    UnknownNameError,
)
from spectrata.inputs.graphs import Graph, as_graph
from spectrata.inputs.signals import as_signal

KARATE = nx.Graph(nx.karate_club_graph().edges())
WEIGHTED = nx.karate_club_graph()


def same(graph: Graph, want: Any, **arguments: Any) -> None:
    assert graph.digest == as_graph(want, **arguments).digest


class TestMatricesInTables:
    def test_numpy(self, tmp_path: Path) -> None:
        matrix = nx.to_numpy_array(WEIGHTED)
        np.savetxt(tmp_path / "g.csv", matrix, delimiter=",")
        np.savetxt(tmp_path / "g.tsv", matrix, delimiter="\t")
        np.savetxt(tmp_path / "g.txt", matrix)
        np.savetxt(tmp_path / "h.csv", matrix, delimiter=";", fmt="%d")
        np.save(tmp_path / "g.npy", matrix)
        for name in ("g.csv", "g.tsv", "g.txt", "h.csv", "g.npy"):
            same(as_graph(tmp_path / name, weights=True), matrix, weights=True)
            same(as_graph(adjacency=tmp_path / name, weights=True), matrix, weights=True)
            assert not as_graph(tmp_path / name, weights=False).named

    @pytest.mark.parametrize("kind", ["both", "above", "beside", "numbered", "numbered above", "R"])
    @pytest.mark.parametrize("n", [2, 3, 4, 7])
    def test_names(self, tmp_path: Path, kind: str, n: int) -> None:
        pandas = optional("pandas")
        graph = nx.path_graph(n)
        names = list(range(n)) if "numbered" in kind else [f"gene {i}" for i in range(n)]
        table = pandas.DataFrame(nx.to_numpy_array(graph), index=names, columns=names)
        path = tmp_path / "g.csv"
        table.to_csv(path, index="above" not in kind, header=kind != "beside")
        if kind == "R":
            path.write_text(path.read_text().removeprefix(","))
        if kind == "numbered above" and n == 2:
            with pytest.raises(FileFormatError, match="not a square of numbers"):
                as_graph(adjacency=path)
            return
        result = as_graph(adjacency=path)
        same(result, graph)
        assert result.names == tuple(names)
        if n > 3 or kind in ("both", "numbered"):
            assert as_graph(path).names == tuple(names)
            same(as_graph(path), graph)

    def test_whole_number_names_in_another_order(self, write: Any) -> None:
        text = ",10,9,100,7\n10,0,1,0,0\n9,1,0,1,0\n100,0,1,0,1\n7,0,0,1,0\n"
        assert as_graph(write("g.csv", text)).names == (10, 9, 100, 7)

    def test_loops_and_signs(self, write: Any) -> None:
        text = "1,.5,0,0\n.5,1,-.5,0\n0,-.5,1,1\n0,0,1,1\n"
        path = write("g.csv", text)
        with pytest.warns(SpectrataWarning, match="Dropped 4 self-loops"):
            assert as_graph(path, weights=False).n_edges == 3
        with pytest.raises(OptionError, match=r"edge 1 to 2 is -0\.5"):
            as_graph(path, weights=True)

    @pytest.mark.parametrize(
        ("content", "edges"),
        [
            ("0,1\n1,0\n", [[0, 1]]),
            ("0,1,0.5\n1,2,0.5\n0,2,0.25\n", [[0, 1], [0, 2], [1, 2]]),
            ("source,target,weight\n0,1,2\n1,0,2\n2,2,1\n", [[0, 1]]),
            ("a,0,1\nb,2,0\n", [[0, 1], [2, 3]]),
            ("source,target,w,kind\n0,1,2,3\n1,2,1,1\n2,3,0,0\n3,0,1,0\n", [[0, 1], [0, 3], [1, 2], [2, 3]]),
        ],
    )
    @pytest.mark.filterwarnings("ignore::spectrata.errors.SpectrataWarning")
    def test_lists_stay_lists(self, write: Any, content: str, edges: list) -> None:
        path = write("g.csv", content)
        assert as_graph(path).edges.tolist() == edges
        assert as_graph(edges=path).edges.tolist() == edges

    @pytest.mark.parametrize(
        "content",
        [
            "0,1,1\n1,0,1\n1,1,0\n",
            "a,b,c\n0,1,1\n1,0,1\n1,1,0\n",
            "a,0,1\nb,1,0\n",
            "u,v,w,x\n0,1,0,1\n1,0,1,0\n0,1,0,0\n1,0,0,0\n",
        ],
    )
    def test_ambiguous(self, write: Any, content: str) -> None:
        path = write("g.csv", content)
        with pytest.raises(FileFormatError, match=r"g\.csv: this could be .* say which with adjacency= or edges="):
            as_graph(path)
        assert as_graph(adjacency=path).n_nodes in (2, 3, 4)
        with pytest.warns(SpectrataWarning):
            as_graph(edges=path)

    @pytest.mark.parametrize(
        ("name", "content", "words"),
        [
            ("g.csv", "0,1,0\n1,0,1\n", "not a square of numbers"),
            ("g.csv", "0,1,x,1\n1,0,1,0\n0,1,0,0\n1,0,0,0\n", "not a square of numbers"),
            ("g.csv", "0,1,,1\n1,0,1,0\n0,1,0,0\n1,0,0,0\n", "not a square of numbers"),
            ("g.csv", ",a,b,c\na,0,1,0\nc,1,0,1\nb,0,1,0\n", "not a square of numbers"),
            ("g.csv", "0,1\n", "not a square of numbers"),
            ("g.csv", "# nothing\n", "not a square of numbers"),
            ("g.csv", "0,nan,0,0\nnan,0,1,0\n0,1,0,0\n0,0,0,0\n", r"NaN or infinite entries, the first at \(0, 1\)"),
            ("g.csv", ",a,,c\na,0,1,0\n,1,0,1\nc,0,1,0\n", "node 2 has no name"),
            ("g.gml", "graph []", "give this kind of file as the graph itself, not as adjacency="),
        ],
    )
    def test_refused(self, write: Any, name: str, content: str, words: str) -> None:
        with pytest.raises(FileFormatError, match=words):
            as_graph(adjacency=write(name, content))

    def test_names_twice(self, write: Any) -> None:
        with pytest.raises(DuplicateNameError, match="'a' stands at rows 0 and 2"):
            as_graph(write("g.csv", ",a,b,a\na,0,1,0\nb,1,0,1\na,0,1,0\n"))

    def test_arrays_in_files(self, tmp_path: Path) -> None:
        path = tmp_path / "g.npy"
        np.save(path, [[0, 1], [1, 2], [2, 3]])
        assert as_graph(path).n_nodes == 4
        assert as_graph(edges=path).n_nodes == 4
        np.save(path, [[0, 1], [1, 0]])
        with pytest.raises(FileFormatError, match=r"g\.npy: A 2 x 2 array.*adjacency= or edges="):
            as_graph(path)
        assert as_graph(adjacency=path).n_edges == 1
        np.save(path, [[0, 1, 0.5], [1, 2, 0.5], [2, 3, 2.0], [0, 3, 1.0]])
        with pytest.raises(FileFormatError, match="is no graph"):
            as_graph(path)
        assert as_graph(path, weights=True).weights.tolist() == [0.5, 1.0, 0.5, 2.0]
        np.save(path, np.array([{}], dtype=object), allow_pickle=True)
        with pytest.raises(FileFormatError, match="pickled objects"):
            as_graph(path)

    def test_large(self, tmp_path: Path) -> None:
        graph = nx.gnm_random_graph(600, 3000, seed=1)
        np.savetxt(tmp_path / "g.csv", nx.to_numpy_array(graph), delimiter=",", fmt="%d")
        same(as_graph(tmp_path / "g.csv"), graph)


class TestJson:
    def data(self, graph: nx.Graph, key: str) -> dict:
        """As every version of networkx writes it."""
        found = nx.node_link_data(graph)
        links = found.pop("edges", None)
        return found | {key: found.pop("links") if links is None else links}

    @pytest.mark.parametrize("key", ["links", "edges"])
    def test_of_networkx(self, tmp_path: Path, key: str) -> None:
        path = tmp_path / "g.json"
        for graph in (WEIGHTED, nx.relabel_nodes(KARATE, lambda i: f"Zoë {i}"), nx.grid_2d_graph(3, 3)):
            path.write_text(json.dumps(self.data(graph, key)), encoding="utf-8")
            same(as_graph(path, weights=False), graph, weights=False)
            assert as_graph(path, weights=False).names == tuple(graph)
        path.write_text(json.dumps(self.data(WEIGHTED, key)))
        same(as_graph(path, weights=True), WEIGHTED, weights=True)

    def test_multigraph(self, tmp_path: Path) -> None:
        path = tmp_path / "g.json"
        path.write_text(json.dumps(nx.node_link_data(nx.MultiGraph([(0, 1), (0, 1), (1, 2)]))))
        with pytest.warns(SpectrataWarning, match="Dropped 1 parallel"):
            assert as_graph(path).n_edges == 2

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            ("{", "line 1: the JSON is damaged"),
            ('{"nodes": [],\n "links"}', "line 2: the JSON is damaged"),
            ("[1, 2]", "not a node-link graph.*found: list"),
            ("5", "found: int"),
            ("{}", "found: nothing"),
            ('{"nodes": [], "adjacency": []}', "found: nodes, adjacency"),
            ('{"nodes": [], "links": [], "edges": []}', 'both "links" and "edges"'),
            ('{"nodes": {}, "links": []}', 'needs lists "nodes"'),
            ('{"nodes": [1], "links": []}', "entry 1 of nodes is 1, not an object"),
            ('{"nodes": [{"name": "a"}], "links": []}', "node 1 has no id"),
            ('{"nodes": [{"id": true}], "links": []}', "node 1 has no id"),
            ('{"nodes": [{"id": {}}], "links": []}', "node 1 has no id"),
            ('{"nodes": [{"id": NaN}], "links": []}', "node 1 has no id"),
            ('{"nodes": [{"id": 1}, {"id": 1.0}], "links": []}', "occurs twice"),
            ('{"nodes": [{"id": 1}], "links": [{"source": 1}]}', "edge 1 names the node None"),
            ('{"nodes": [{"id": 1}], "links": [{"source": 1, "target": 2}]}', "edge 1 names the node 2"),
            ('{"directed": "no", "nodes": [{"id": 1}], "links": []}', "directed is 'no'; write true or false"),
            ('{"nodes": [{"id": ' + "[" * 5000 + "]" * 5000 + '}], "links": []}', "nested too deeply"),
            ("[" * 200_000, "nested too deeply|damaged"),
            ('{"nodes": [{"id": ' + "1" * 5000 + '}], "links": []}', "Exceeds the limit"),
        ],
    )
    def test_refused(self, write: Any, content: str, words: str) -> None:
        with pytest.raises(FileFormatError, match=words):
            as_graph(write("g.json", content))


# ---- objects of other libraries, by stand-ins with the same attributes


def pygsp(**more: Any) -> SimpleNamespace:
    matrix = sp.lil_matrix(nx.to_numpy_array(WEIGHTED))
    return SimpleNamespace(W=matrix, N=34, Ne=78, **more)


class TestPyGSP:
    def test_weights_and_coordinates(self) -> None:
        coords = np.random.default_rng(0).random((34, 2))
        graph = as_graph(pygsp(coords=coords, signals={"heat": np.arange(34.0)}), weights=True)
        same(graph, nx.to_numpy_array(WEIGHTED), weights=True)
        assert np.array_equal(graph.positions, coords)
        assert as_signal("heat", graph).values.ravel().tolist() == list(range(34))
        with pytest.warns(SpectrataWarning, match="weights=True"):
            assert as_graph(pygsp()).positions is None
        assert as_graph(pygsp(coords=np.arange(34.0)), weights=False).positions is None

    def test_directed(self) -> None:
        graph = pygsp()
        graph.W = sp.csr_matrix(np.triu(graph.W.toarray()))
        with pytest.raises(SpectrataError, match="undirected=True"):
            as_graph(graph)
        same(as_graph(graph, undirected=True, weights=True), nx.to_numpy_array(WEIGHTED), weights=True)


def anndata(**obsp: Any) -> SimpleNamespace:
    pandas = optional("pandas")
    names = pandas.Index([f"cell {i}" for i in range(34)])
    values = np.arange(68.0).reshape(34, 2)
    return SimpleNamespace(
        X=sp.csr_matrix(values),
        layers={"counts": values + 1},
        obs=pandas.DataFrame({"total": values[:, 0] * 2, "type": ["a", "b"] * 17}, index=names),
        obsm={"spatial": values / 2, "X_pca": values[:, :1], "table": pandas.DataFrame(values, index=names)},
        obsp=obsp or {"connectivities": sp.csr_matrix(nx.to_numpy_array(WEIGHTED))},
        uns={"neighbors": {"params": {"n_neighbors": 15, "use_rep": "spatial"}}},
        obs_names=names,
        var_names=pandas.Index(["GATA1", "SOX2"]),
    )


class TestAnnData:
    def test_connectivities(self) -> None:
        graph = as_graph(anndata(), weights=True)
        same(graph, nx.to_numpy_array(WEIGHTED), weights=True)
        assert graph.names[:2] == ("cell 0", "cell 1")
        assert graph.positions.tolist()[1] == [1.0, 1.5]
        assert as_graph(anndata(), weights=False).weights is None

    def test_signals(self) -> None:
        graph = as_graph(anndata(), weights=False)
        values = np.arange(68.0).reshape(34, 2)
        for name, want in {
            "X": values,
            "counts": values + 1,
            "X_pca": values[:, :1],
            "spatial": values / 2,
            "table": values,
            "GATA1": values[:, :1],
            "SOX2": values[:, 1:],
            "total": values[:, :1] * 2,
        }.items():
            assert np.array_equal(as_signal(name, graph).values[0], want), name
        named = {"X": ("GATA1", "SOX2"), "counts": ("GATA1", "SOX2"), "table": (0, 1)}
        assert {name: as_signal(name, graph).columns for name in named} == named
        with pytest.raises(SignalTypeError, match=r"'type' holds text, such as 'a'.*st.homophily"):
            as_signal("type", graph)
        with pytest.raises(UnknownNameError, match="no node attribute of that name; the graph has X, counts, spatial"):
            as_signal("GATA2", graph)

    def test_a_graph_of_expression(self) -> None:
        """Genes are alike on it by construction, which is said once, and only where genes are read."""
        made = {"n_neighbors": 15, "metric": "euclidean"}
        for params, told in ((made, True), (made | {"use_rep": "X_pca"}, True), (made | {"use_rep": "spatial"}, False)):
            data = anndata()
            data.uns = {"neighbors": {"connectivities_key": "connectivities", "params": params}}
            graph = as_graph(data, weights=False)
            as_signal("total", graph)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                as_signal("X", graph)
                as_signal("GATA1", graph)
            assert ["alike on it by construction; scanpy" in str(one.message) for one in said] == [True] * told
        data.uns = {}
        with pytest.warns(SpectrataWarning, match="seems to join similar expression"):
            as_signal("X", as_graph(data, weights=False))

    def test_which_matrix(self) -> None:
        matrix, other = nx.to_numpy_array(WEIGHTED), nx.to_numpy_array(nx.path_graph(34))
        two = anndata(connectivities=matrix, distances=other)
        same(as_graph(two, adjacency="distances"), other)
        same(as_graph(two, weights=True), matrix, weights=True)
        same(as_graph(anndata(spatial_connectivities=other, spatial_distances=matrix)), other)
        with pytest.raises(OptionError, match="adjacency='none' is not in the AnnData's obsp; it has connectivities"):
            as_graph(two, adjacency="none")
        with pytest.raises(GraphTypeError, match=r"has a_connectivities, b_connectivities .*adjacency='a_conn"):
            as_graph(anndata(a_connectivities=matrix, b_connectivities=matrix))
        empty = anndata()
        empty.obsp = {}
        with pytest.raises(GraphTypeError, match=r"positions with scanpy\.pp\.neighbors\(adata, use_rep='spa"):
            as_graph(empty)
        empty.obsm = {}
        with pytest.raises(GraphTypeError, match=r"obsp is empty.*scanpy\.pp\.neighbors\(adata\)"):
            as_graph(empty)
        with pytest.raises(OptionError, match="exactly once"):
            as_graph(KARATE, adjacency="connectivities")

    def test_a_table_that_would_fill_the_memory(self) -> None:
        data = anndata()
        data.X = sp.csr_matrix((34, 10**9))
        with pytest.raises(MemoryEstimateError, match="choose fewer columns"):
            as_signal("X", as_graph(data, weights=False))


# ---- attributes and positions


def with_data() -> nx.Graph:
    graph = nx.path_graph(["d", "a", "c"])
    for place, name in enumerate(graph):
        graph.nodes[name].update(age=30 + place, here=place == 1, place=[0.5 * place, 1.0], club="abc"[place])
    graph.nodes["a"]["rare"] = 1.0
    return graph


class TestAttributes:
    def check(self, graph: Graph, vectors: bool = True) -> None:
        assert as_signal("age", graph).values.ravel().tolist() == [30, 31, 32]
        assert as_signal("here", graph).values.ravel().tolist() == [0, 1, 0]
        if vectors:
            assert as_signal("place", graph).values[0].tolist() == [[0, 1], [0.5, 1], [1, 1]]
        with pytest.raises(SignalTypeError, match=r"'club' holds text, such as 'a'.*st.homophily"):
            as_signal("club", graph)
        with pytest.raises(SignalValueError, match="2 nodes have no 'rare', such as 'd'"):
            as_signal("rare", graph)
        with pytest.raises(UnknownNameError, match=r"no file 'size' and no node attribute.*age, here.*club"):
            as_signal("size", graph)
        with pytest.raises(FileFormatError, match=r"size\.csv: there is no such file"):
            as_signal("size.csv", graph)

    def test_networkx(self) -> None:
        graph = as_graph(with_data())
        self.check(graph)
        assert set(graph.attributes) == {"age", "here", "place", "club", "rare"}
        assert len(pickle.loads(pickle.dumps(graph)).attributes) == 0
        assert graph.digest == as_graph(nx.path_graph(3)).digest

    def test_files(self, tmp_path: Path) -> None:
        graph = with_data()
        nx.write_gml(nx.Graph(graph), tmp_path / "g.gml")
        (tmp_path / "g.json").write_text(json.dumps(nx.node_link_data(graph)))
        for data in graph.nodes.values():
            del data["place"]
        nx.write_graphml(graph, tmp_path / "g.graphml")
        for name in ("g.gml", "g.json", "g.graphml"):
            read = as_graph(tmp_path / name)
            self.check(read, name != "g.graphml")
            self.check(pickle.loads(pickle.dumps(read)), name != "g.graphml")

    def test_igraph(self) -> None:
        graph = optional("igraph").Graph.from_networkx(with_data())
        graph.vs["name"] = graph.vs["_nx_name"]
        self.check(as_graph(graph))
        assert "name" not in as_graph(graph).attributes

    def test_pyg(self) -> None:
        torch, data = optional("torch"), optional("torch_geometric.data")
        graph = data.Data(
            edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]),
            x=torch.arange(6.0).reshape(3, 2),
            y=torch.tensor([0, 1, 0]),
            pos=torch.rand(3, 3),
            note="hello",
        )
        read = as_graph(graph)
        assert as_signal("x", read).values[0].tolist() == [[0, 1], [2, 3], [4, 5]]
        assert as_signal("y", read).values.ravel().tolist() == [0, 1, 0]
        assert read.positions.shape == (3, 3)
        assert read.positions.dtype == np.float64
        assert not read.positions.flags.writeable
        assert set(read.attributes) == {"x", "y", "pos"}

    def test_files_come_first(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "age").write_text("1 2 3")
        with pytest.raises(FileFormatError, match="not a signal file"):
            as_signal("age", as_graph(with_data()))

    def test_without_attributes(self) -> None:
        with pytest.raises(FileFormatError, match="age: there is no such file"):
            as_signal("age", as_graph(KARATE))

    @pytest.mark.parametrize(
        ("values", "words"),
        [
            ([[1, 2], [1], [1]], "not a number or a vector of one length"),
            ([1, {}, 2], "not a number or a vector"),
            ([1, 2j, 2], "not a number or a vector"),
        ],
    )
    def test_refused(self, values: list, words: str) -> None:
        graph = nx.path_graph(3)
        nx.set_node_attributes(graph, dict(enumerate(values)), "odd")
        with pytest.raises(SignalTypeError, match=words):
            as_signal("odd", as_graph(graph))
        nx.set_node_attributes(graph, {0: np.nan, 1: 1, 2: 2}, "odd")
        with pytest.raises(SignalValueError, match="nan at node 0"):
            as_signal("odd", as_graph(graph))

    def test_an_attribute_of_another_length(self) -> None:
        source = pygsp(signals={"heat": np.arange(33.0)})
        with pytest.raises(NodeCountError, match="33 nodes"):
            as_signal("heat", as_graph(source, weights=False))


class TestPositions:
    def test_networkx(self) -> None:
        graph = nx.random_geometric_graph(20, 0.5, seed=1)
        positions = np.array([graph.nodes[node]["pos"] for node in graph])
        assert np.array_equal(as_graph(graph).positions, positions)
        assert np.array_equal(pickle.loads(pickle.dumps(as_graph(graph))).positions, positions)
        for bad in (None, "here", [1, 2, 3, 4], [np.nan, 1], [1]):
            graph.nodes[3]["pos"] = bad
            assert as_graph(graph).positions is None
        del graph.nodes[3]["pos"]
        assert as_graph(graph).positions is None

    def test_igraph(self) -> None:
        igraph = optional("igraph")
        graph = igraph.Graph.Ring(4)
        assert as_graph(graph).positions is None
        graph.vs["x"], graph.vs["y"] = [0, 1, 1, 0], [0, 0, 1, 1]
        assert as_graph(graph).positions.tolist() == [[0, 0], [1, 0], [1, 1], [0, 1]]

    def test_files(self, tmp_path: Path) -> None:
        graph = nx.path_graph(["a", "b", "c"])
        for place, name in enumerate(graph):
            graph.nodes[name].update(x=0.5 * place, y=2)
        nx.write_gml(graph, tmp_path / "g.gml")
        nx.write_graphml(graph, tmp_path / "g.graphml")
        (tmp_path / "g.json").write_text(json.dumps(nx.node_link_data(graph)))
        for name in ("g.gml", "g.graphml", "g.json"):
            assert as_graph(tmp_path / name).positions.tolist() == [[0, 2], [0.5, 2], [1, 2]]
        for name in graph:
            graph.nodes[name]["z"] = 1
        (tmp_path / "g.json").write_text(json.dumps(nx.node_link_data(graph)))
        assert as_graph(tmp_path / "g.json").positions.shape == (3, 3)
        del graph.nodes["b"]["y"]
        (tmp_path / "g.json").write_text(json.dumps(nx.node_link_data(graph)))
        assert as_graph(tmp_path / "g.json").positions is None

    def test_drawings(self, write: Any) -> None:
        gml = (
            "graph [ node [ id 0 graphics [ x 1 y 2 w 5 ] ] node [ id 1 graphics [ x 3 y 4 ] ] "
            "edge [ source 0 target 1 ] ]"
        )
        assert as_graph(write("g.gml", gml)).positions.tolist() == [[1, 2], [3, 4]]
        assert as_graph(write("g.gml", gml.replace("graphics [ x 3 y 4 ]", "graphics 5"))).positions is None
        node = '<node id="{}"><data key="d"><y:ShapeNode><y:Geometry x="{}" y="7"/></y:ShapeNode></data></node>'
        yed = (
            '<graphml xmlns:y="http://www.yworks.com/xml/graphml"><key for="node" id="d" yfiles.type="nodegraphics"/>'
            f'<graph edgedefault="undirected">{node.format("a", 1)}{node.format("b", 2)}'
            '<edge source="a" target="b"/></graph></graphml>'
        )
        assert as_graph(write("g.graphml", yed)).positions.tolist() == [[1, 7], [2, 7]]
        assert as_graph(write("g.graphml", yed.replace('x="1"', 'x="left"'))).positions is None


# --- Matrix Market ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["coordinate", "array"])
@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
def test_a_matrix_market_file_is_the_matrix_that_scipy_reads(tmp_path, layout, symmetry, field):
    if (layout, field) == ("array", "pattern"):
        pytest.skip("the format has no dense pattern")
    rng = np.random.default_rng(3)
    upper = np.triu(rng.random((7, 7)) < 0.5, 1) * rng.integers(1, 9, (7, 7)) * (0.1 if field == "real" else 1)
    matrix = (upper + upper.T).astype(int if field == "integer" else float)
    path = tmp_path / "g.mtx"
    given = sp.coo_array(matrix) if layout == "coordinate" else matrix
    scipy.io.mmwrite(path, given, field=field, symmetry=symmetry, precision=17)
    read = scipy.io.mmread(path)
    expected = read.toarray() if sp.issparse(read) else read
    graph = as_graph(path, weights=True)
    row, column, weight = graph.edges[:, 0], graph.edges[:, 1], graph.weights
    dense = np.zeros_like(expected, dtype=float)
    dense[row, column] = dense[column, row] = weight
    np.testing.assert_array_equal(dense, expected)
