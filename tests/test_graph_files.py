"""Graph files of every kind, whole, damaged and hostile."""

import io
import zipfile
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from having import shared
from spectrata.errors import DirectedGraphError, FileFormatError, InputError, SpectrataWarning
from spectrata.inputs.graphs import as_graph
from spectrata.inputs.readers.graph_files import read_graph

KARATE = nx.Graph(nx.karate_club_graph().edges())


def pairs(path: Path) -> set[frozenset]:
    graph = as_graph(path)
    return {frozenset((graph.names[a], graph.names[b])) for a, b in graph.edges}


class TestLists:
    def test_rows(self, write) -> None:
        graph = as_graph(write("g.txt", "# ring\n\n2 3\n0 1\n% more\n1 2\n3 0  # last\n"))
        assert graph.names == (0, 1, 2, 3)
        assert graph.edges.tolist() == [[0, 1], [0, 3], [1, 2], [2, 3]]
        assert not graph.named

    def test_integer_labels_are_sorted(self, write) -> None:
        graph = as_graph(write("g.edgelist", "10 9\n9 100\n"))
        assert graph.names == (9, 10, 100)
        assert graph.edges.tolist() == [[0, 1], [0, 2]]
        assert graph.named

    def test_text_labels_keep_their_order(self, write) -> None:
        graph = as_graph(write("g.edges", "zoe ann\r\nann bob\r\n"))
        assert graph.names == ("zoe", "ann", "bob")
        assert as_graph(write("g.el", "007 7\n7 1\n")).names == ("007", "7", "1")

    def test_weights(self, write) -> None:
        assert not read_graph(write("g.txt", "0 1 1\n1 2 1.0\n")).weighted
        with pytest.warns(SpectrataWarning, match="weights"):
            assert as_graph(write("g.txt", "0 1 0.5\n1 2\n")).n_edges == 2

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("g.csv", "source,target\na,b\nb,c\n"),
            ("g.csv", "\ufeffFrom,To,Weight\na,b,1\nb,c,1\n"),
            ("g.csv", "a,b\nb,c\n"),
            ("g.csv", "u;v\na;b\nb;c\n"),
            ("g.tsv", "node1\tnode2\na\tb\nb\tc\n"),
            ("g.CSV", '"a","b"\n"b","c"\n\n'),
        ],
    )
    def test_tables(self, write, name: str, content: str) -> None:
        graph = as_graph(write(name, content))
        assert graph.names == ("a", "b", "c")
        assert graph.edges.tolist() == [[0, 1], [1, 2]]

    @pytest.mark.parametrize("content", ["id_1,id_2\n0,1\n1,2\n", "page,other,times\n0,1,1\n1,2,1\n"])
    def test_headers_over_numbers(self, write, content) -> None:
        assert as_graph(write("g.csv", content)).names == (0, 1, 2)

    @pytest.mark.parametrize(("name", "content"), [("g.csv", "ann,bob\n0,1\n1,2\n"), ("g.txt", "ann bob\n0 1\n1 2\n")])
    def test_a_first_line_that_is_a_header_or_an_edge_is_refused(self, write, name, content) -> None:
        with pytest.raises(FileFormatError, match="line 1: the line 'ann bob' could be a header or an edge"):
            as_graph(write(name, content))

    def test_a_first_edge_of_otherwise_unknown_names_is_an_edge(self, write) -> None:
        with pytest.warns(SpectrataWarning, match="'ann' and 'bob'; if it is a header"):
            assert as_graph(write("g.csv", "ann,bob\ncem,dai\ndai,eve\n")).n_edges == 3

    @pytest.mark.parametrize("head", ["edge_id", "weight", "Unnamed: 0"])
    def test_ends_that_are_not_the_first_columns_are_refused(self, write, head) -> None:
        with pytest.raises(FileFormatError, match=f"'source' and 'target' stand after '{head}'; put them first"):
            as_graph(write("g.csv", f"{head},source,target\n0,5,6\n1,6,7\n2,7,5\n"))

    def test_hard_spaces_are_no_part_of_names(self, write) -> None:
        assert as_graph(write("g.csv", "ann\u00a0,bob\nbob,cem\ncem,ann\n")).names == ("ann", "bob", "cem")

    def test_a_word_above_the_third_column_is_a_header(self, write) -> None:
        graph = as_graph(write("g.csv", "Student,Friend,Since\nann,bob,2020\nbob,cem,\ncem,ann,2022\n"), weights=False)
        assert (graph.names, graph.n_edges) == (("ann", "bob", "cem"), 3)

    def test_ids_stay_text(self, write) -> None:
        graph = as_graph(write("g.csv", "source,target\n007,NA\nNA,nan\nnan,None\nNone,007\n"))
        assert graph.names == ("007", "NA", "nan", "None")

    def test_nodes_called_like_a_header(self, write) -> None:
        assert as_graph(write("g.csv", "u,v\nv,w\n")).names == ("u", "v", "w")

    @pytest.mark.parametrize(
        ("name", "content", "names"),
        [
            ("g.csv", "source,target,weight\na,b,2\nlone,,\nb,c,3\nmore\n", ("a", "b", "c", "lone", "more")),
            ("g.txt", "5\n0 1\n1 2\n", (0, 1, 2, 5)),
        ],
    )
    def test_a_name_alone_is_a_node_without_an_edge(self, write, name, content, names) -> None:
        graph = as_graph(write(name, content), weights="source" in content)
        assert graph.names == names
        assert graph.edges.tolist() == [[0, 1], [1, 2]]
        assert graph.weights is None or graph.weights.tolist() == [2.0, 3.0]

    def test_a_hash_inside_a_line_is_text(self, write) -> None:
        expected = {frozenset(pair) for pair in (("ann", "bob"), ("zoe", "#news"), ("bob", "zoe"))}
        assert pairs(write("g.txt", "# who\nann bob\nzoe #news\nbob zoe # late\n")) == expected
        assert pairs(write("g.txt", "ann bob {}\nzoe #news {}\nbob zoe {}\n")) == expected
        assert pairs(write("g.csv", "# who\nann,bob\n#news,zoe\nbob,zoe\n")) == expected
        assert pairs(write("g.csv", "#news,zoe\nann,bob\nbob,zoe\n")) == expected
        assert pairs(write("g.csv", "# made by hand\n#from,x\nsource,target\nann,bob\n")) == {frozenset(("ann", "bob"))}

    @pytest.mark.parametrize("weight", ["friend", "NA", "-"])
    def test_the_first_edge_is_no_header(self, write, weight: str) -> None:
        others = "cid,dan,2\n" if weight != "friend" else "cid,dan,kin\n"
        words = f"line 1: the weight '{weight}' is not a number; .* or begin with a line that names the columns"
        with pytest.raises(FileFormatError, match=words):
            as_graph(write("g.csv", f"ann,bob,{weight}\n{others}"))
        path = write("g.csv", f"source,target,tie\nann,bob,{weight}\n{others}")
        assert as_graph(path, weights=False).n_edges == 2
        assert pairs(write("g.csv", "who,whom,years\ncid,dan,2\neve,dan,NA\n")) == {
            frozenset(("cid", "dan")), frozenset(("eve", "dan")),
        }  # fmt: skip

    def test_two_columns_of_one_name(self, write) -> None:
        with pytest.raises(InputError, match="column 'weight' twice"):
            as_graph(write("g.csv", "source,target,weight,weight\na,b,1,2\nb,c,2,1\n"), weights="weight")

    def test_names_with_spaces(self, write) -> None:
        graph = as_graph(write("g.csv", 'source,target\n"Ann, B.",Bob C\n'))
        assert graph.names == ("Ann, B.", "Bob C")

    @pytest.mark.parametrize(
        ("name", "content", "words"),
        [
            ("g.txt", "0 1\n1\n", r"g\.txt, line 2: '1' stands alone, and other lines give it edges"),
            ("g.txt", "0\n1\n", "line 1: .*here 1"),
            ("g.txt", "0 1\n\n1 2 3 4\n", "line 3: .*here 4"),
            ("g.txt", "0,1\n1,2\n", "name a comma-separated file .csv"),
            ("g.txt", "0 1 heavy\n", "line 1: the weight 'heavy'"),
            ("g.txt", "# nothing\n", "no edge"),
            ("g.csv", "source,target\n", "no edge"),
            ("g.csv", "a,b\nb,\n", "line 2: 'b' stands alone, and other lines give it edges; give the edge two names"),
            ("g.csv", "source,target\na,b\n,c\n", "line 3: the first cell is empty; give the edge two names"),
            ("g.csv", "source,target,weight\na,b,1\nc,,2\n", "line 3: the second cell is empty"),
            ("g.h5ad", b"\x89HDF", r"this is an AnnData; read it in Python: st.rank_columns"),
            ("g.xlsx", b"PK\x03\x04 and more", "this is a spreadsheet; save the sheet as CSV"),
            ("g.csv", b"PK\x03\x04 and more", "save the sheet as CSV"),
            ("g.csv", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 and more", "save the sheet as CSV"),
            ("g.csv", 'a,b\n"b,c\n', "line 2: the table is damaged"),
            ("g.csv", "a,b,1,x\n", "keep the columns"),
            ("g.txt", "", "empty"),
            ("g.txt", b"0 1\n1 \xff\xfe\n", "line 2: the text is not UTF-8"),
            ("g.txt", b"0 1\n1 2\0\n", "the file is binary"),
            ("g.xyz", "0 1\n", r"use one of \.txt"),
            ("graph", "0 1\n", "use one of"),
        ],
    )
    def test_refused(self, write, name: str, content: str | bytes, words: str) -> None:
        with pytest.raises(FileFormatError, match=words):
            read_graph(write(name, content))

    def test_missing_and_directory(self, tmp_path: Path) -> None:
        with pytest.raises(FileFormatError, match=r"none\.txt: there is no such file"):
            read_graph(tmp_path / "none.txt")
        with pytest.raises(FileFormatError, match="directory"):
            read_graph(tmp_path)
        with pytest.raises(FileFormatError, match=r"b\.txt"):
            read_graph("a\0b.txt")


class TestMarkup:
    def test_graphml_of_networkx(self, tmp_path: Path) -> None:
        path = tmp_path / "karate.graphml"
        nx.write_graphml(KARATE, path)
        assert pairs(path) == {frozenset(map(str, edge)) for edge in KARATE.edges}
        assert as_graph(path).names == tuple(map(str, KARATE))
        nx.write_graphml(nx.karate_club_graph(), path)
        assert read_graph(path).weighted

    def test_graphml_in_utf16_is_refused(self, write) -> None:
        with pytest.raises(FileFormatError, match="UTF-8"):
            read_graph(write("g.graphml", '<!DOCTYPE g [<!ENTITY a "b">]><graphml/>'.encode("utf-16")))

    def test_gexf_of_networkx_and_gephi(self, tmp_path: Path) -> None:
        path = tmp_path / "g.gexf"
        graph = nx.relabel_nodes(nx.karate_club_graph(), str)
        nx.write_gexf(graph, path)
        found = as_graph(path, weights=True)
        assert found.names == tuple(graph)
        assert found.digest == as_graph(graph, weights=True).digest
        namespace = "http://www.gexf.net/1.2draft"
        nodes = "".join(
            f'<node id="{i}" label="{name}"><v:position xmlns:v="{namespace}/viz" x="{i}" y="2"/></node>'
            for i, name in enumerate(["Ann", "Bob"])
        )
        path.write_text(
            f'<gexf xmlns="{namespace}" version="1.2"><graph defaultedgetype="undirected">'
            f'<nodes>{nodes}</nodes><edges><edge id="0" source="0" target="1"/></edges></graph></gexf>'
        )
        found = as_graph(path)
        assert (found.names, found.positions[:, :2].tolist()) == (("Ann", "Bob"), [[0, 2], [1, 2]])
        path.write_text(path.read_text().replace('"undirected"', '"directed"'))
        with pytest.raises(DirectedGraphError):
            as_graph(path)

    def test_gml_of_networkx(self, tmp_path: Path) -> None:
        path = tmp_path / "karate.gml"
        graph = nx.relabel_nodes(KARATE, lambda i: f"Zoë & node {i}")
        nx.write_gml(graph, path)
        assert as_graph(path).names == tuple(graph)
        assert pairs(path) == {frozenset(edge) for edge in graph.edges}

    def test_gml_without_labels_and_with_repeats(self, write) -> None:
        text = (
            'Creator "someone"\ngraph\n[\n  directed 0\n  node [ id 1 ] # one\n  node [ id 2 ]\n'
            "  node [ id 3 graphics [ x -1.5e0 y .5 ] ]\n"
            "  edge [ source 1 target 2 value 1 ]\n  edge [ source 2 target 1 ]\n"
            "  edge [ source 3 target 2 ]\n]\n"
        )
        path = write("g.gml", text)
        with pytest.warns(SpectrataWarning, match="Dropped 1 parallel"):
            graph = as_graph(path)
        assert graph.names == (1, 2, 3)
        assert graph.edges.tolist() == [[0, 1], [1, 2]]
        assert read_graph(write("g.gml", text.replace("value 1 ", "value 3 "))).weighted


DAMAGED = {
    "graphml": [
        ('<?xml version="1.0"?>\n<!doctype g SYSTEM "file:///etc/passwd"><graphml/>', "DOCTYPE"),
        ("<graphml>\n<graph>\n", "line 3: the XML is damaged"),
        ("<graphml/>", "0 graphs"),
        ("<graphml><graph/><graph/></graphml>", "2 graphs"),
        ("<graphml><graph><hyperedge/></graph></graphml>", "hyperedges"),
        ('<graphml><graph><node id="a"/><edge source="a" target="b"/></graph></graphml>', "edge 1 .*'b'"),
        ('<graphml><graph><node id="a"/><node id="a"/></graph></graphml>', "'a' occurs twice"),
        (
            '<graphml><graph edgedefault="undirected"><node id="a"/><node id="b"/>'
            '<edge source="a" target="b" directed="true"/></graph></graphml>',
            "directed=true edge found in undirected graph",
        ),
    ],
    "gexf": [
        ("<gexf/>", "0 graphs"),
        (
            '<gexf><graph><nodes><node id="a"/></nodes><edges><edge source="a" target="b"/></edges></graph></gexf>',
            "'b'",
        ),
    ],
    "gml": [
        ("graph [\n node [ id 0 ]\n", r"damaged \(expected '\]', found EOF"),
        ("graph [\n node [ id 0 ] ]\n]", "expected EOF"),
        ("graph [ node [ id @ ] ]", "cannot tokenize"),
        ('graph [ node [ id 0 label "a ] ]', "damaged"),
        ("graph graph", "damaged"),
        ("version 1", "no graph"),
        ("graph [ node [ id 0 ] edge [ source 0 target 1 ] ]", "undefined target 1"),
        ("graph [ node [ id 0 ] node [ id 0 ] ]", "duplicated"),
        ("graph [ node [ label 0 ] node [ label 1 ] ]", "no 'id'"),
    ],
    "mtx": [
        ("3 3 1\n1 2 1\n", "Not a Matrix Market file"),
        ("%%MatrixMarket matrix coordinate real general\n", "Premature EOF"),
        ("%%MatrixMarket matrix coordinate real general\n3 4 1\n1 2 1\n", "square"),
        ("%%MatrixMarket matrix coordinate real general\n3 3 1\n1 9 1\n", "damaged"),
        ("%%MatrixMarket matrix coordinate real general\n3 3 1\n1 x 1\n", "damaged"),
        ("%%MatrixMarket matrix array real general\n999999 999999\n1\n", "more than the file"),
        ("%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 2 1 1\n", "complex"),
    ],
}


@pytest.mark.parametrize(
    ("ending", "content", "words"), [(ending, *row) for ending, rows in DAMAGED.items() for row in rows]
)
def test_damaged_markup_and_matrices_are_refused(write, ending: str, content: str, words: str) -> None:
    with pytest.raises(FileFormatError, match=words):
        read_graph(write(f"g.{ending}", content))


class TestArchives:
    def test_edges(self, tmp_path: Path) -> None:
        path = tmp_path / "g.npz"
        np.savez(path, edges=[[0, 1], [1, 2], [2, 0]], n_nodes=5)
        assert as_graph(path).n_nodes == 5
        np.savez_compressed(path, edges=[[0, 1], [1, 2], [2, 0]], names=["b", "a", "é"])
        assert as_graph(path).names == ("b", "a", "é")
        np.savez(path, edges=[[0, 1], [2, 3]])
        assert as_graph(path).edges.tolist() == [[0, 1], [2, 3]]

    def test_edge_index_and_adjacency(self, tmp_path: Path) -> None:
        path = tmp_path / "g.npz"
        np.savez(path, edge_index=[[0, 1, 1, 2], [1, 0, 2, 1]], num_nodes=4)
        assert as_graph(path).edges.tolist() == [[0, 1], [1, 2]]
        np.savez(path, edge_index=[[0, 1, 1], [1, 0, 2]])
        with pytest.raises(DirectedGraphError):
            as_graph(path)
        np.savez(path, edge_index=[[0, 1], [2, 3]])
        assert as_graph(path).edges.tolist() == [[0, 2], [1, 3]]
        np.savez(path, adjacency=nx.to_numpy_array(KARATE))
        assert as_graph(path).n_edges == 78

    @pytest.mark.parametrize("name", ["cora.npz", *(f"reference/{n}.npz" for n in ("caveman", "er50_real"))])
    def test_shared(self, name: str) -> None:
        path = shared(name)
        with np.load(path) as held:
            want = np.unique(np.sort(held["edges"], axis=1), axis=0)
            graph = as_graph(path)
            assert np.array_equal(graph.edges, want)
            assert graph.n_nodes == int(held["n_nodes"])

    @pytest.mark.parametrize(
        ("arrays", "words"),
        [
            ({"edges": [[0, 1], [1, 2], [0, 9]], "n_nodes": 5}, "n_nodes is 5, but the edges need 10"),
            ({"edges": [[0, 1], [1, 2], [0, 2]], "n_nodes": 2.5}, "one whole number"),
            ({"edges": [[0, 1], [1, 2], [0, -2]]}, r"g\.npz: Edge 2"),
            ({"edges": [[0, 1], [1, 2], [0, 2]], "names": ["a", "b"]}, "2 names for 3 nodes"),
            ({"edges": [[0, 1], [1, 2], [0, 2]], "names": [1.5, 2, 3]}, "text or whole numbers"),
            ({"something": [1], "else": [2]}, "it has the arrays something, else"),
            ({"adjacency": np.ones((3, 4))}, "square"),
            ({"shape": [2, 3], "data": [1], "indices": [0], "indptr": [0, 1, 1]}, "square"),
            ({"shape": [2, 2], "data": [1], "indices": [7], "indptr": [0, 1, 1]}, "is damaged"),
            ({"shape": [2, 2], "data": [1], "indices": [1], "indptr": [0, 9, 1]}, "is damaged"),
            ({"shape": [2, 2], "data": [1], "indices": [0.5], "indptr": [0, 1, 1]}, "not whole numbers"),
            ({"shape": ["2", "2"], "data": [1], "indices": [0], "indptr": [0, 1, 1]}, "is damaged"),
            ({"shape": [2, 2], "data": [1], "format": np.array(b"bsr")}, "layout 'bsr'"),
        ],
    )
    def test_refused(self, tmp_path: Path, arrays: dict, words: str) -> None:
        np.savez(tmp_path / "g.npz", **arrays)
        with pytest.raises(FileFormatError, match=words):
            read_graph(tmp_path / "g.npz")

    def test_missing_parts(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "g.npz", shape=[2, 2], data=[1.0])
        with pytest.raises(FileFormatError, match="'indices' is missing"):
            read_graph(tmp_path / "g.npz")

    def test_lying_header(self, tmp_path: Path) -> None:
        path = tmp_path / "g.npz"
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, {"descr": "<i8", "fortran_order": False, "shape": (2**60, 2)})
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("edges.npy", header.getvalue() + b"\0" * 32)
        with pytest.raises(FileFormatError, match="is damaged"):
            read_graph(path)

    def test_oversized_member(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        np.savez_compressed(tmp_path / "g.npz", edges=np.zeros((10_000, 2), dtype=int))
        monkeypatch.setattr("spectrata.inputs.readers.files.MAX_BYTES", 1000)
        with pytest.raises(FileFormatError, match="claims 160128 bytes"):
            read_graph(tmp_path / "g.npz")
