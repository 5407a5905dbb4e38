"""Signal files of every kind, whole, damaged and hostile."""

import sys
import zipfile
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from having import optional, shared
from spectrata.errors import (
    DuplicateNameError,
    FileFormatError,
    MissingExtraError,
    SignalTypeError,
    SignalValueError,
    SpectrataWarning,
    UnknownNameError,
)
from spectrata.inputs.graphs import as_graph
from spectrata.inputs.readers.signal_files import read_signal
from spectrata.inputs.signals import as_signal

VALUES = np.arange(6.0).reshape(3, 2) / 4


class TestArrays:
    @pytest.mark.parametrize("order", ["C", "F"])
    @pytest.mark.parametrize("dtype", [float, np.float32, np.int64, bool, ">f8"])
    def test_npy(self, tmp_path: Path, order: str, dtype: object) -> None:
        want = np.array(VALUES, dtype=dtype, order=order)
        np.save(tmp_path / "s.npy", want)
        raw = read_signal(tmp_path / "s.npy")
        assert np.array_equal(raw.values, want)
        assert raw.names is None

    @pytest.mark.parametrize("key", ["signal", "features", "x", "embedding", "whatever"])
    def test_npz_alone(self, tmp_path: Path, key: str) -> None:
        np.savez(tmp_path / "s.npz", **{key: VALUES})
        assert np.array_equal(read_signal(tmp_path / "s.npz").values, VALUES)

    def test_npz_choice(self, tmp_path: Path) -> None:
        path = tmp_path / "s.npz"
        np.savez(path, x=VALUES + 1, signal=VALUES, edges=[[0, 1]])
        assert np.array_equal(read_signal(path).values, VALUES)
        np.savez_compressed(path, embedding=VALUES + 1, x=VALUES, names=["b", "a", "c"])
        raw = read_signal(path)
        assert np.array_equal(raw.values, VALUES)
        assert raw.names == ("b", "a", "c")
        np.savez(path, first=VALUES, second=VALUES)
        with pytest.raises(FileFormatError, match=r"s\.npz: it has the arrays first, second; .*'signal'"):
            read_signal(path)
        np.savez(path, x=VALUES, names=["b", "a"])
        with pytest.raises(FileFormatError, match="2 names for values of shape"):
            read_signal(path)

    def test_sparse(self, tmp_path: Path) -> None:
        for layout in ("csr", "csc", "coo"):
            sp.save_npz(tmp_path / "s.npz", sp.coo_array(VALUES).asformat(layout))
            assert np.array_equal(read_signal(tmp_path / "s.npz").values, VALUES)

    def test_shared(self) -> None:
        with np.load(shared("cora.npz")) as held:
            parts = (held["features_data"], held["features_indices"], held["features_indptr"])
            want = sp.csr_array(parts, shape=held["features_shape"]).toarray()
        assert np.array_equal(read_signal(shared("cora.npz")).values, want)
        with np.load(shared("reference/er50_vector.npz")) as held:
            assert np.array_equal(read_signal(shared("reference/er50_vector.npz")).values, held["signal"])

    @pytest.mark.parametrize("values", [np.array(["a"]), np.array([1j]), np.zeros(2, dtype="f8,i4")])
    def test_not_numbers(self, tmp_path: Path, values: np.ndarray) -> None:
        np.save(tmp_path / "s.npy", values)
        with pytest.raises(FileFormatError, match=r"real numbers|plain numbers"):
            read_signal(tmp_path / "s.npy")


class TestText:
    @pytest.mark.parametrize(
        ("content", "names", "values", "columns"),
        [
            ("0,0.25\n0.5,0.75\n", (), [[0, 0.25], [0.5, 0.75]], None),
            ("x,y\n0,0.25\n0.5,0.75\n", (), [[0, 0.25], [0.5, 0.75]], ("x", "y")),
            ("node,x\n7,1\n3,2\n", (7, 3), [[1], [2]], ("x",)),
            ("cell,x\n007,1\nNA,2\n", ("007", "NA"), [[1], [2]], ("x",)),
            (",0,1\n7,1,2\n3,3,4\n", (7, 3), [[1, 2], [3, 4]], ("0", "1")),
            ("ann,1,2\nbob,3,4\n", ("ann", "bob"), [[1, 2], [3, 4]], None),
            ("ann,1,red\nbob,3,blue\n", ("ann", "bob"), [[1], [3]], None),
            ("who,x\nann,1\nbob,3\n", ("ann", "bob"), [[1], [3]], ("x",)),
            ("value\n1\n2\n", (), [[1], [2]], ("value",)),
            ("1\n2\n", (), [[1], [2]], None),
            ("\ufeffnode;x\r\nann;1e-3\r\nbob;2\r\n\r\n", ("ann", "bob"), [[0.001], [2]], ("x",)),
            ('name,x\n"Doe, J.",-1\nbob,1\n', ("Doe, J.", "bob"), [[-1], [1]], ("x",)),
        ],
    )
    def test_tables(self, write, content: str, names: tuple, values: list, columns: tuple | None) -> None:
        graph = as_graph(nx.path_graph(list(reversed(names)) or 2))
        signal = as_signal(write("s.csv", content), graph, texts=True)
        assert signal.values[0].tolist() == (values[::-1] if names else values)
        assert signal.columns == columns
        if ";" not in content and '"' not in content:
            tabs = as_signal(write("s.tsv", content.replace(",", "\t")), graph, texts=True)
            assert np.array_equal(tabs.values, signal.values)

    def test_a_short_row_has_no_missing_value(self, write) -> None:
        graph = as_graph(nx.path_graph(["a", "b", "c, d"]))
        found = as_signal(write("s.csv", 'node,x,y\na,1,\n\n"c, d",,3\nb,2,""\n'), graph, gaps=True)
        assert np.array_equal(found.values[0], [[1, np.nan], [2, np.nan], [np.nan, 3]], equal_nan=True)
        with pytest.raises(FileFormatError, match=r"s\.csv, line 4: the row has 2 of 3 cells"):
            as_signal(write("s.csv", 'node,x,y\na,1,\n\n"c, d",\nb,2,3\n'), graph, gaps=True)

    def test_frames_come_back(self, tmp_path: Path) -> None:
        pandas = optional("pandas")
        pandas.DataFrame(VALUES, index=[7, 3, 5]).to_csv(tmp_path / "s.csv")
        graph = as_graph(nx.path_graph([3, 5, 7]))
        assert np.array_equal(as_signal(tmp_path / "s.csv", graph).values[0], VALUES[[1, 2, 0]])

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            ("x,y\n1,2\n3,4,5\n", "line 3: the row has 3 columns, the first one 2"),
            ("x,y\n.1,2\n.2,3\n.3,four\n", r"line 4: 'four' is not a number \(column 2\)"),
            ("node\n", "none of numbers"),
            ("\n\n", "no row"),
            ("a\nb\n", "none of numbers"),
            ('a,"b\n', "damaged"),
            ("", "empty"),
        ],
    )
    def test_tables_refused(self, write, content: str, words: str) -> None:
        with pytest.raises(FileFormatError, match=words):
            read_signal(write("s.csv", content))

    def test_cells_without_a_value(self, write) -> None:
        graph = as_graph(nx.path_graph(["b", "a", "c"]))
        path = write("s.csv", "node,x,y,\na,1,,\nb,NA,2,\nc,3,4,\n")
        found = as_signal(path, graph, gaps=True)
        assert found.columns == ("x", "y")  # the last comma of every line makes no column
        assert np.array_equal(found.values[0], [[np.nan, 2], [1, np.nan], [3, 4]], equal_nan=True)
        with pytest.raises(SignalValueError, match="nan at node 'b', column 'x'"):
            as_signal(path, graph)
        more = write("m.csv", "node,x\na,1\nb,2\nc,3\nd,4\n")
        with pytest.warns(SpectrataWarning, match=r"1 row names no node of the graph \('d'\) and is left out"):
            assert as_signal(more, graph, gaps=True).values.ravel().tolist() == [2, 1, 3]
        with pytest.raises(UnknownNameError, match="'d'"):
            as_signal(more, graph)
        less = write("l.csv", "node,x\na,1\nc,3\n")
        with pytest.raises(UnknownNameError, match=r"not in the signal \('b'\); .* a row, empty where it has no value"):
            as_signal(less, graph, gaps=True)

    def test_text_columns_and_names_twice(self, write) -> None:
        path = write("s.csv", "node,x,kind\na,1,red\nb,2,blue\n")
        graph = as_graph(nx.path_graph(["b", "a"]))
        with pytest.raises(SignalTypeError, match=r"Column 'kind' of s\.csv holds text, .*st.homophily"):
            as_signal(path, graph)
        ((name, labels),) = as_signal(path, graph, texts=True).texts
        assert (name, labels.codes.tolist(), labels.classes) == ("kind", [0, 1], ("blue", "red"))
        with pytest.raises(DuplicateNameError, match=r"s\.csv has the column 'x' twice; rename one"):
            as_signal(write("s.csv", "node,x,x\na,1,2\nb,2,3\n"), graph)

    def test_header_without_rows(self, write) -> None:
        with pytest.raises(FileFormatError, match="no row"):
            read_signal(write("s.csv", "node,x\n"))

    @pytest.mark.parametrize("name", ["s.vec", "s.w2v", "s.emb", "s.txt"])
    @pytest.mark.parametrize("head", ["3 2\n", ""])
    def test_word_vectors(self, write, name: str, head: str) -> None:
        raw = read_signal(write(name, head + "7 0 0.25\n3 0.5 0.75\nx 1.0 1.25 \n"))
        assert raw.names == ("7", "3", "x")
        assert np.array_equal(raw.values, VALUES)

    def test_word_vectors_of_one_number(self, write) -> None:
        assert read_signal(write("s.vec", "2 1\na 5\nb 6\n")).names == ("a", "b")
        assert read_signal(write("s.vec", "3 1\n4 5\n5 6\n")).names == ("3", "4", "5")

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            ("3 2\na 1 2\nb 3 4\n", "line 1: the first line promises 3 vectors, the file has 2"),
            ("a 1 2\nb 3\n", r"line 2: a cell is empty \(column 3\)"),
            ("a 1 2\nb 3 4 5\n", "line 2: the row has 4 columns, the first one 3"),
            ("a 1 2\nb 3 x\n", r"line 2: 'x' is not a number \(column 3\)"),
            ("alone\n", "a name and its numbers"),
            ("\n \n", "no vector"),
            (b"a 1 \xe9\n", "line 1: the text is not UTF-8"),
        ],
    )
    def test_word_vectors_refused(self, write, content: str | bytes, words: str) -> None:
        with pytest.raises(FileFormatError, match=words):
            read_signal(write("s.vec", content))


class TestParquet:
    def test_frames(self, tmp_path: Path) -> None:
        pandas, _ = optional("pandas"), optional("pyarrow")
        path = tmp_path / "s.parquet"
        frame = pandas.DataFrame(VALUES, columns=["x", "y"])
        frame.to_parquet(path)
        assert np.array_equal(as_signal(path, as_graph(nx.path_graph(3))).values[0], VALUES)
        for index in (pandas.Index(list("bac")), pandas.Index([7, 3, 5], name="who")):
            graph = as_graph(nx.path_graph(sorted(index)))
            frame.set_index(index).to_parquet(path)
            assert np.array_equal(as_signal(path, graph).values[0], VALUES[np.argsort(index)])
        frame.insert(0, "cell", list("bac"))
        frame.to_parquet(path)
        assert np.array_equal(as_signal(path, as_graph(nx.path_graph(list("abc")))).values[0], VALUES[[1, 0, 2]])

    def test_kinds_and_nulls(self, tmp_path: Path) -> None:
        pa, pq = optional("pyarrow"), optional("pyarrow.parquet")
        path, graph = tmp_path / "s.parquet", as_graph(nx.path_graph(2))
        pq.write_table(pa.table({"flag": [True, False], "x": [0.5, None]}), path)
        assert np.array_equal(read_signal(path).numbers, [[1, 0], [0.5, np.nan]], equal_nan=True)
        pq.write_table(pa.table({"x": [0.5, 2], "who": ["a", "b"]}), path)
        with pytest.raises(SignalTypeError, match=r"Column 'who' of s\.parquet holds text"):
            as_signal(path, graph)
        pq.write_table(pa.table({"x": [0.5, 2], "when": pa.array([1, 2], pa.timestamp("s"))}), path)
        with pytest.raises(SignalTypeError, match=r"Column 'when' of s\.parquet holds datetime"):
            as_signal(path, graph)
        pq.write_table(pa.table({"node": ["a", "b"]}), path)
        with pytest.raises(SignalTypeError, match="'node' of"):
            as_signal(path, graph)

    def test_missing_library(self, write, monkeypatch: pytest.MonkeyPatch) -> None:
        for library, name in (("pyarrow", "s.parquet"), ("safetensors", "s.safetensors")):
            monkeypatch.setitem(sys.modules, library, None)
            with pytest.raises(MissingExtraError, match=rf"{library}; .*spectrata\[files\]"):
                read_signal(write(name, b"x"))


class TestTensors:
    def test_safetensors(self, tmp_path: Path) -> None:
        save_file = optional("safetensors.numpy").save_file
        path = tmp_path / "s.safetensors"
        save_file({"only": VALUES}, path)
        assert np.array_equal(read_signal(path).values, VALUES)
        save_file({"signal": VALUES, "other": VALUES + 1}, path)
        assert np.array_equal(read_signal(path).values, VALUES)
        save_file({"one": VALUES, "two": VALUES}, path)
        with pytest.raises(FileFormatError, match="it has the arrays one, two"):
            read_signal(path)

    def test_torch(self, tmp_path: Path) -> None:
        torch = optional("torch")
        path = tmp_path / "s.pt"
        tensor = torch.tensor(VALUES)
        for held in (tensor, {"x": tensor}, {"only": tensor, "epoch": 3}, tensor.to(torch.bfloat16)):
            torch.save(held, path)
            assert np.array_equal(read_signal(path).values, VALUES)
        torch.save(torch.nn.Parameter(tensor), tmp_path / "s.pth")
        assert np.array_equal(read_signal(tmp_path / "s.pth").values, VALUES)
        torch.save({"one": tensor, "two": tensor}, path)
        with pytest.raises(FileFormatError, match="it has the arrays one, two"):
            read_signal(path)
        torch.save([1, 2], path)
        with pytest.raises(FileFormatError, match="holds list, not a tensor"):
            read_signal(path)
        torch.save({"epoch": 3}, path)
        with pytest.raises(FileFormatError, match="no array"):
            read_signal(path)

    def test_torch_damaged(self, tmp_path: Path, write, monkeypatch: pytest.MonkeyPatch) -> None:
        torch = optional("torch")
        torch.save(torch.tensor(VALUES), tmp_path / "s.pt")
        whole = (tmp_path / "s.pt").read_bytes()
        with pytest.raises(FileFormatError, match="cut short or in torch's old format"):
            read_signal(write("t.pt", whole[:-30]))
        with zipfile.ZipFile(tmp_path / "t.pt", "w") as archive:
            archive.writestr("data", b"")
        with pytest.raises(FileFormatError, match="damaged"):
            read_signal(tmp_path / "t.pt")
        with zipfile.ZipFile(tmp_path / "t.pt", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("data", bytes(10**6))
        monkeypatch.setattr("spectrata.inputs.readers.files.MAX_BYTES", 10)
        with pytest.raises(FileFormatError, match="it is refused"):
            read_signal(tmp_path / "t.pt")

    def test_torch_missing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with zipfile.ZipFile(tmp_path / "t.pt", "w") as archive:
            archive.writestr("data", b"")
        monkeypatch.setitem(sys.modules, "torch", None)
        with pytest.raises(MissingExtraError, match=r"spectrata\[torch\]"):
            read_signal(tmp_path / "t.pt")


def test_missing_and_unknown(tmp_path: Path, write) -> None:
    with pytest.raises(FileFormatError, match=r"none\.npy: there is no such file"):
        read_signal(tmp_path / "none.npy")
    with pytest.raises(FileFormatError, match="directory"):
        read_signal(tmp_path)
    with pytest.raises(FileFormatError, match=r"use one of \.npy"):
        read_signal(write("s.pkl", b"x"))
