"""Every form of signal that comes in, matched by name, and the two metrics."""

import os
from pathlib import Path
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from hypothesis.extra import numpy as arrays

from having import optional
from spectrata.errors import (
    DuplicateNameError,
    InputError,
    NodeCountError,
    OptionError,
    SignalTypeError,
    SignalValueError,
    SpectrataWarning,
    UnknownNameError,
    ZeroVectorError,
)
from spectrata.inputs.graphs import Graph, as_graph
from spectrata.inputs.signals import Potential, Signal, as_signal, potential, resolve_metric

ROWS = as_graph(edges=[(0, 1), (1, 2), (2, 3)])
NAMED = as_graph(nx.Graph([("d", "c"), ("c", "b"), ("b", "a")]))  # row order d, c, b, a
NUMBERED = as_graph(nx.Graph([(12, 7), (7, 3), (3, 40)]))  # row order 12, 7, 3, 40
VALUES = np.arange(8.0).reshape(4, 2)


class TestArrays:
    @pytest.mark.parametrize("dtype", [float, np.float32, np.float16, np.longdouble, int, np.uint8, bool, ">f8"])
    def test_dtypes(self, dtype: object) -> None:
        signal = as_signal(VALUES.astype(dtype), ROWS)
        assert signal.values.dtype == np.float64
        assert signal.values.flags.c_contiguous
        assert np.array_equal(signal.values[0], VALUES.astype(dtype).astype(float))

    def test_shapes(self) -> None:
        assert as_signal(VALUES[:, 0], ROWS).values.shape == (1, 4, 1)
        assert as_signal(VALUES, ROWS).values.shape == (1, 4, 2)
        assert as_signal(VALUES, ROWS).snapshots is None
        stacked = as_signal(np.stack([VALUES, VALUES + 1, VALUES]), ROWS)
        assert stacked.values.shape == (3, 4, 2)
        assert stacked.snapshots == (0, 1, 2)
        assert stacked.kind == ""
        assert as_signal(VALUES[None], ROWS).snapshots == (0,)

    def test_torch(self) -> None:
        torch = optional("torch")
        tensor = torch.tensor(VALUES, requires_grad=True)
        sparse = torch.tensor(VALUES).to_sparse()
        for given_as in (tensor, tensor.to(torch.bfloat16), torch.tensor(VALUES).int(), sparse):
            assert np.array_equal(as_signal(given_as, ROWS).values[0], VALUES)
        with pytest.raises(SignalTypeError, match="complex"):
            as_signal(tensor.to(torch.complex64), ROWS)

    def test_pyg_data_is_not_a_signal(self) -> None:
        torch, data = optional("torch"), optional("torch_geometric.data")
        with pytest.raises(SignalTypeError, match=r"data\.x"):
            as_signal(data.Data(x=torch.zeros(4, 2)), ROWS)

    def test_signal_itself(self) -> None:
        signal = as_signal(VALUES, ROWS)
        assert as_signal(signal, ROWS) is signal
        with pytest.raises(NodeCountError, match="has 4 nodes"):
            as_signal(signal, as_graph(edges=[(0, 1), (1, 2)], n_nodes=3))

    def test_path(self, tmp_path: os.PathLike) -> None:
        file = tmp_path / "signal.csv"
        file.write_text("node,x\na,0\nb,1\nc,2\nd,3\n")
        assert as_signal(file, NAMED).values.ravel().tolist() == [3, 2, 1, 0]
        file.write_text("id,x\n3,30\n7,70\n12,120\n40,400\n")
        assert as_signal(str(file), NUMBERED).values.ravel().tolist() == [120, 70, 30, 400]
        np.save(tmp_path / "signal.npy", VALUES)
        with pytest.warns(SpectrataWarning, match=r"no names, so its rows .* order of the graph"):
            known = as_signal(tmp_path / "signal.npy", NAMED)
        assert np.array_equal(known.values[0], VALUES)
        np.save(tmp_path / "many.npy", np.stack([VALUES, VALUES + 1]))
        assert as_signal(tmp_path / "many.npy", ROWS).values.tolist() == [VALUES.tolist(), (VALUES + 1).tolist()]


class TestNames:
    def test_mapping(self) -> None:
        numbers = as_signal({"a": 1, "b": 2, "c": 3, "d": 4}, NAMED)
        assert numbers.values[0].tolist() == [[4], [3], [2], [1]]
        vectors = as_signal({"a": [1, 2], "b": (3, 4), "c": np.array([5, 6]), "d": [7, 8]}, NAMED)
        assert vectors.values[0].tolist() == [[7, 8], [5, 6], [3, 4], [1, 2]]

    def test_mapping_by_text(self) -> None:
        signal = as_signal({"3": 3, "7": 7, "12": 12, "40": 40}, NUMBERED)
        assert signal.values.ravel().tolist() == [12, 7, 3, 40]

    def test_text_never_decides_between_two(self) -> None:
        twins = as_graph(nx.Graph([(1, "1"), ("1", 2)]))
        assert as_signal({1: 10, "1": 11, 2: 12}, twins).values.ravel().tolist() == [10, 11, 12]
        with pytest.raises(UnknownNameError):
            as_signal({"1": 11, "2": 12, "3": 10}, twins)

    def test_mapping_refused(self) -> None:
        with pytest.raises(UnknownNameError, match=r"1 node .* not in the signal \('d'\)"):
            as_signal({"a": 1, "b": 2, "c": 3}, NAMED)
        with pytest.raises(UnknownNameError, match=r"1 name of the signal is not in the graph \('e'\); leave"):
            as_signal({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}, NAMED)
        with pytest.raises(SignalTypeError, match=r"node 'd' has shape \(2,\), node 'c' has shape \(3,\)"):
            as_signal({"a": [1, 2], "b": [1, 2], "c": [1, 2, 3], "d": [1, 2]}, NAMED)
        with pytest.raises(SignalTypeError, match=r"snapshots give one array .* \(T, n, d\)"):
            as_signal({"epoch 1": VALUES, "epoch 2": VALUES}, NAMED)
        with pytest.raises(SignalTypeError, match="empty"):
            as_signal({}, NAMED)
        with pytest.raises(SignalTypeError):
            as_signal({"a": "x", "b": "y", "c": "z", "d": "w"}, NAMED)

    def test_many_unknown_names_are_cut(self) -> None:
        graph = as_graph(nx.path_graph(["n" + str(i) for i in range(50)]))
        with pytest.raises(UnknownNameError, match=r"50 nodes .*'n4', \.\.\.\) and 2 names"):
            as_signal({"x": 1, "y": 2}, graph)

    @given(some.permutations(range(4)))
    def test_shuffled_frames(self, order: list[int]) -> None:
        pandas = optional("pandas")
        frame = pandas.DataFrame(VALUES, index=["d", "c", "b", "a"], columns=["x", "y"])
        assert np.array_equal(as_signal(frame.iloc[order], NAMED).values[0], VALUES)
        assert np.array_equal(as_signal(frame["y"].iloc[order], NAMED).values[0, :, 0], VALUES[:, 1])
        by_row = pandas.DataFrame(VALUES)
        assert np.array_equal(as_signal(by_row.iloc[order], ROWS).values[0], VALUES)

    def test_frames(self) -> None:
        pandas = optional("pandas")
        as_text = pandas.Series([3, 7, 12, 40], index=["3", "7", "12", "40"])
        assert as_signal(as_text, NUMBERED).values.ravel().tolist() == [12, 7, 3, 40]
        grid = as_graph(nx.grid_2d_graph(2, 2))
        index = pandas.MultiIndex.from_tuples([(1, 1), (1, 0), (0, 1), (0, 0)])
        assert as_signal(pandas.Series([11, 10, 1, 0], index), grid).values.ravel().tolist() == [0, 1, 10, 11]
        nullable = pandas.DataFrame({"x": pandas.array([1, 2, 3, 3], dtype="Int64"), "y": [True] * 4})
        assert as_signal(nullable, ROWS).values[0].tolist() == [[1, 1], [2, 1], [3, 1], [3, 1]]

    def test_frames_refused(self) -> None:
        pandas = optional("pandas")
        with pytest.raises(UnknownNameError, match="nodes='order'"):
            as_signal(pandas.DataFrame(VALUES, index=list("abcd")), ROWS)
        with pytest.raises(UnknownNameError, match=r"out of the graph \('D' may be 'd'\)"):
            as_signal(pandas.Series([1, 2, 3, 4], index=list("abcD")), NAMED)
        with pytest.raises(DuplicateNameError, match="'a' twice, at rows 0 and 3"):
            as_signal(pandas.Series([1, 2, 3, 4], index=list("abca")), NAMED)
        with pytest.raises(NodeCountError, match="5 nodes"):
            as_signal(pandas.DataFrame(np.zeros((5, 2))), ROWS)
        with pytest.raises(SignalTypeError, match="Column 'who' of the DataFrame holds text"):
            as_signal(pandas.DataFrame({"x": [1.5, 2, 3, 4], "who": list("abcd")}), ROWS)
        with pytest.raises(SignalTypeError, match="holds"):
            as_signal(pandas.Series(["1.5", "2", "3", "4"], dtype=object), ROWS)
        missing = pandas.Series(pandas.array([1, None, 3, 4], dtype="Int64"), index=list("dcba"))
        with pytest.raises(SignalValueError, match="node 'c'"):
            as_signal(missing, NAMED)
        with pytest.raises(SignalTypeError, match="Series or a DataFrame"):
            as_signal(pandas.Timestamp("2020-01-01"), ROWS)

    def test_xarray(self) -> None:
        xarray = optional("xarray")
        coords = {"node": list("abcd"), "epoch": [5, 10, 20]}
        values = np.arange(24.0).reshape(2, 3, 4)
        array = xarray.DataArray(values, dims=("column", "epoch", "node"), coords=coords)
        signal = as_signal(array, NAMED)
        assert signal.values.shape == (3, 4, 2)
        assert (signal.snapshots, signal.kind) == ((5, 10, 20), "epochs")
        assert signal.values[1, 0].tolist() == [values[0, 1, 3], values[1, 1, 3]]
        single = as_signal(array.isel(column=0), NAMED)
        assert single.values.shape == (3, 4, 1)
        assert as_signal(array.isel(epoch=0), NAMED).snapshots is None
        plain = xarray.DataArray(VALUES, dims=("node", "feature"))
        assert np.array_equal(as_signal(plain, NAMED).values[0], VALUES)
        layers = xarray.DataArray(values, dims=("layer", "x", "node"))
        assert as_signal(layers, ROWS).snapshots == (0, 1)
        dates = xarray.DataArray(
            values[0], dims=("time", "node"), coords={"time": np.array(["2020-01-01"] * 3, "M8[ns]")}
        )
        assert as_signal(dates, ROWS).snapshots[0] == np.datetime64("2020-01-01")

    def test_xarray_refused(self) -> None:
        xarray = optional("xarray")
        with pytest.raises(SignalTypeError, match="none is called 'node'"):
            as_signal(xarray.DataArray(VALUES), ROWS)
        with pytest.raises(SignalTypeError, match="at most one of"):
            as_signal(xarray.DataArray(np.zeros((1, 2, 4)), dims=("epoch", "layer", "node")), ROWS)
        with pytest.raises(SignalTypeError, match="one DataArray"):
            as_signal(xarray.Dataset({"x": ("node", np.zeros(4))}), ROWS)
        with pytest.raises(UnknownNameError):
            as_signal(xarray.DataArray(np.zeros(4), dims="node", coords={"node": list("wxyz")}), NAMED)


IDS = {"d": 40.0, "b": 20.0, "a": 10.0, "c": 30.0}  # on NAMED, whose rows are d, c, b, a


class TestRowsFindTheirNodes:
    """An index, else the first column if its values are the nodes' names; never silently row order."""

    def forms(self, ids, values, head: str, tmp_path) -> list:
        pandas = optional("pandas")
        frame = pandas.DataFrame({head: ids, "x": values})
        frame.to_csv(tmp_path / "s.csv", index=False)
        frame.to_parquet(tmp_path / "s.parquet", index=False)
        arrow = optional("pyarrow").Table.from_pandas(frame, preserve_index=False)
        return [frame, frame.set_index(head), arrow, tmp_path / "s.csv", tmp_path / "s.parquet"]

    @pytest.mark.parametrize("head", ["cell", "spot", "region", "node_id", "vertex", "index", "node", "x_1"])
    def test_a_first_column_of_names_is_never_a_signal(self, head, tmp_path) -> None:
        for given_as in self.forms(list(IDS), list(IDS.values()), head, tmp_path):
            signal = as_signal(given_as, NAMED)
            assert signal.values[0].tolist() == [[40], [30], [20], [10]]
            assert signal.columns == ("x",)
        for given_as in self.forms([7, 40, 3, 12], [7.5, 40.5, 3.5, 12.5], head, tmp_path):
            assert as_signal(given_as, NUMBERED).values.ravel().tolist() == [12.5, 7.5, 3.5, 40.5]

    @pytest.mark.parametrize("ids", [list("wxyz"), [100, 101, 102, 103], ["a", "w", "x", "y"]])
    def test_names_of_other_nodes_are_shown_with_those_of_the_graph(self, ids, tmp_path) -> None:
        frame, _, arrow, table, parquet = self.forms(ids, [0.5, 1.5, 2.5, 3.5], "cell", tmp_path)
        for given_as in (frame, arrow, table, parquet):
            with pytest.raises(
                UnknownNameError, match=rf"'cell'.*{ids[0]}.*nodes are 'd', 'c', 'b', 'a'.*nodes='order'"
            ):
                as_signal(given_as, NAMED)

    @pytest.mark.parametrize(
        ("ids", "error", "words"),
        [
            (["a", "b", "c", "d!"], UnknownNameError, r"1 node .*\('d'\) and 1 name .*\('d!'\).*'d!' may be 'd'"),
            (["a", "b", "c", "\u0434"], UnknownNameError, r"\('d'\) and 1 name .* use the graph's own names"),
            (["a", "b", "c"], UnknownNameError, r"1 node of the graph is not in the signal \('d'\)"),
            ([*"abcd", "total"], UnknownNameError, r"1 name of the signal is not in the graph \('total'\)"),
            (["a", "b", "b", "d"], DuplicateNameError, "'b' twice, at {} and {}"),
        ],
    )
    def test_a_column_that_mostly_names_nodes_is_told_where_it_differs(self, ids, error, words, tmp_path) -> None:
        frame, _, arrow, table, parquet = self.forms(ids, [0.5 + row for row in range(len(ids))], "cell", tmp_path)
        for given_as in (frame, arrow, table, parquet):
            at = ("lines 3", "4") if given_as is table else ("rows 1", "2")
            with pytest.raises(error, match=words.format(*at)) as caught:
                as_signal(given_as, NAMED)
            assert "order" not in str(caught.value)

    def test_a_whole_number_column_that_mostly_names_nodes(self) -> None:
        ranks = optional("pandas").DataFrame({"rank": range(1, 21), "x": np.zeros(20)})
        with pytest.raises(UnknownNameError, match=r"1 node .*\(0\) and 1 name .*\(20\).*nodes='order' if the rows"):
            as_signal(ranks, as_graph(nx.cycle_graph(20)))

    def test_a_header_that_was_read_as_an_edge_is_named(self, tmp_path) -> None:
        (tmp_path / "edges.csv").write_text("giver,receiver\na,b\nb,c\nc,d\n")
        with pytest.warns(SpectrataWarning, match="line 1 is read as an edge"):
            graph = as_graph(tmp_path / "edges.csv")
        with pytest.raises(UnknownNameError, match=r"not in the signal \('giver', 'receiver'\)"):
            as_signal(IDS, graph)

    @pytest.mark.parametrize("head", ["", "row", "x"])
    def test_names_in_another_column_are_never_a_signal(self, head, tmp_path) -> None:
        pandas = optional("pandas")
        ring, ids = as_graph(nx.cycle_graph(4)), [2, 0, 3, 1]
        frame = pandas.DataFrame(
            {head: range(4) if head != "x" else [2.5, 0.5, 3.5, 1.5], "id": ids, "y": [20.5, 0.5, 30.5, 10.5]}
        )
        frame.to_csv(tmp_path / "s.csv", index=False)
        for given_as in (frame, tmp_path / "s.csv"):
            with pytest.raises(OptionError, match=r"'id' .*nodes='id'.*nodes='(order|column)'"):
                as_signal(given_as, ring)
            assert as_signal(given_as, ring, nodes="id").values[0, :, -1].tolist() == [0.5, 10.5, 20.5, 30.5]
        in_order = frame.sort_values("id", ignore_index=True).drop(columns=head)
        assert as_signal(in_order[["y", "id"]], ring).values.shape == (1, 4, 2)  # one order: no doubt

    @pytest.mark.parametrize(
        "cells", [["9,25", "8", "7,5", "9,25"], ["1.5", "2.5", "1.5", "2.0"], ["10%", "20 %", "5%", "1"]]
    )
    @pytest.mark.parametrize("texts", [True, False])
    def test_numbers_in_another_form_are_no_labels(self, cells, texts, tmp_path) -> None:
        frame = optional("pandas").DataFrame({"who": list("abcd"), "x": cells})
        frame.to_csv(tmp_path / "s.csv", sep=";", index=False)
        with pytest.raises(SignalTypeError, match=rf"Column 'x' .*numbers as text \('{cells[0]}'\)"):
            as_signal(frame, NAMED, texts=texts)
        if cells[0] != "1.5":
            with pytest.raises(InputError, match=f"'{cells[0]}'.*(decimal point|decimals with a point)"):
                as_signal(tmp_path / "s.csv", NAMED, texts=texts)

    def test_ids_as_decimal_numbers_are_never_a_signal(self, tmp_path) -> None:
        for given_as in self.forms([7.0, 40.0, 3.0, 12.0], [7.5, 40.5, 3.5, 12.5], "cell", tmp_path):
            if isinstance(given_as, Path) or given_as.shape[1] == 2:  # no index
                with pytest.raises(UnknownNameError, match=r"holds '?7\.0.*nodes='column'"):
                    as_signal(given_as, NUMBERED)
        frame = optional("pandas").DataFrame({"id": [7.0, 40.0, 3.0, 12.0], "x": [7.5, 40.5, 3.5, 12.5]})
        for signal in (as_signal(frame, NUMBERED), as_signal(frame, NUMBERED, nodes="column")):
            assert signal.values.ravel().tolist() == [12.5, 7.5, 3.5, 40.5]
        ages = frame.assign(id=[7.0, 41.0, 3.0, 12.0]).rename(columns={"id": "age"})
        with pytest.warns(SpectrataWarning, match="The table holds no names"):
            assert as_signal(ages, NUMBERED).columns == ("age", "x")
        halves = as_graph(nx.Graph([(0.5, 1.5), (1.5, 3.0), (3.0, 0.5)]))
        frame = optional("pandas").DataFrame({"place": [3.0, 0.5, 1.5], "x": [30, 5, 15]})
        assert as_signal(frame, halves).values.ravel().tolist() == [5, 15, 30]

    def test_a_list_of_ids_with_one_twice_is_no_signal(self) -> None:
        ring = as_graph(nx.cycle_graph(20))
        ids = [*range(1, 20), 7]
        with pytest.raises(DuplicateNameError, match="7 twice, at rows 6 and 19"):
            as_signal(optional("pandas").DataFrame({"cell": ids, "x": np.zeros(20)}), ring)
        counts = [place % 10 for place in range(20)]
        assert as_signal(optional("pandas").DataFrame({"count": counts, "x": np.zeros(20)}), ring).values.shape[2] == 2

    def test_a_column_of_arrays_is_refused_by_name(self) -> None:
        arrays = [np.zeros(2)] * 4
        with pytest.raises(SignalTypeError, match="Column 'v' of the DataFrame"):
            as_signal(optional("pandas").DataFrame({"v": arrays}), ROWS)

    def test_nodes_says_what_names_the_rows(self, tmp_path) -> None:
        pandas = optional("pandas")
        frame = pandas.DataFrame({"x": [1.5, 2.5, 3.5, 4.5], "who": list("abcd"), "other": list("dcba")})
        assert as_signal(frame.drop(columns="other"), NAMED, nodes="who").values.ravel().tolist() == [
            4.5,
            3.5,
            2.5,
            1.5,
        ]
        table = frame[["who", "x"]]
        assert as_signal(table, NAMED, nodes="order").values.ravel().tolist() == [1.5, 2.5, 3.5, 4.5]
        assert as_signal(table, NAMED, nodes="column").values.ravel().tolist() == [4.5, 3.5, 2.5, 1.5]
        assert as_signal(pandas.Series(IDS), NAMED, nodes="order").values.ravel().tolist() == list(IDS.values())
        counts = pandas.DataFrame({"hits": [5, 7, 9, 11], "x": [1.5, 2.5, 3.5, 4.5]})
        assert as_signal(counts, NAMED, nodes="order").columns == ("hits", "x")
        for nodes, words in (("nobody", "not a column of the DataFrame"), (3, "must be"), ("index", "has no index")):
            with pytest.raises(OptionError, match=words):
                as_signal(table, NAMED, nodes=nodes)
        with pytest.raises(OptionError, match="is for tables"):
            as_signal(VALUES, ROWS, nodes="column")

    def test_an_index_and_a_column_that_disagree(self) -> None:
        pandas = optional("pandas")
        frame = pandas.DataFrame({"id": [3, 1, 0, 2], "x": [3.5, 1.5, 0.5, 2.5]}).sort_values("x")
        with pytest.raises(OptionError, match="nodes='id' if it names them, or nodes='index'"):
            as_signal(frame, ROWS)
        assert as_signal(frame, ROWS, nodes="column").values.ravel().tolist() == [0.5, 1.5, 2.5, 3.5]
        assert as_signal(frame, ROWS, nodes="index").columns == ("id", "x")
        left_over = pandas.DataFrame({"who": list("bacd"), "x": [2.5, 1.5, 3.5, 4.5]}).sort_values("x")
        assert as_signal(left_over, NAMED).values.ravel().tolist() == [4.5, 3.5, 2.5, 1.5]

    def test_rows_without_names_warn_where_the_order_is_open(self, tmp_path) -> None:
        pandas = optional("pandas")
        shuffled = as_graph(nx.Graph([(2, 0), (0, 3), (3, 1)]))  # row order 2, 0, 3, 1
        with pytest.warns(SpectrataWarning, match="rows are matched by number; nodes='order'"):
            assert as_signal(pandas.Series([0.0, 1, 2, 3]), shuffled).values.ravel().tolist() == [2, 0, 3, 1]
        with pytest.warns(SpectrataWarning, match=r"follow the order of the graph's nodes \(row 0, "):
            as_signal(np.zeros(4), shuffled)
        with pytest.warns(SpectrataWarning, match="The table holds no names"):
            assert as_signal(pandas.DataFrame(VALUES), NAMED).values[0].tolist() == VALUES.tolist()

    def test_an_annotated_table(self) -> None:
        data = SimpleNamespace(X=VALUES, obs_names=list("abcd"), var_names=["Sox2", "Actb"], obsp={}, obsm={})
        signal = as_signal(data, NAMED)
        assert np.array_equal(signal.values[0], VALUES[::-1])
        assert (signal.columns, signal.reading) == (("Sox2", "Actb"), "separate")
        data.var_names = ["Sox2", "Sox2"]
        with pytest.raises(DuplicateNameError, match="'Sox2' twice"):
            as_signal(data, NAMED)

    def test_several_attributes_are_a_table(self) -> None:
        graph = nx.path_graph(3)
        nx.set_node_attributes(graph, {i: {"age": i + 0.5, "height": 2.0 * i, "club": "ab"[i % 2]} for i in graph})
        known = as_graph(graph)
        signal = as_signal(["height", "age", "club"], known, texts=True)
        assert (signal.columns, signal.reading) == (("height", "age"), "separate")
        assert signal.values[0].tolist() == [[0, 0.5], [2, 1.5], [4, 2.5]]
        assert signal.texts[0][1].codes.tolist() == [0, 1, 0]
        assert as_signal("club", known, texts=True).values.shape == (1, 3, 0)
        with pytest.raises(SignalTypeError, match="'club' holds text"):
            as_signal(["age", "club"], known)
        with pytest.raises(UnknownNameError, match="the graph has age, height, club"):
            as_signal(["age", "weight"], known)


@pytest.mark.parametrize(
    ("columns", "reading"),
    [
        (["a", "b"], "separate"),
        (["x"], "separate"),
        (["emb_0", "emb_1"], "joint"),
        (["emb_4", "emb_5"], "joint"),
        (["emb_0", "emb_2"], "separate"),
        (["a1", "b2"], "separate"),
        ([0, 1], "joint"),
        ([7, 3], "joint"),
    ],
)
def test_what_auto_means(columns: list, reading: str, tmp_path) -> None:
    pandas = optional("pandas")
    frame = pandas.DataFrame(VALUES[:, : len(columns)] + 0.5, columns=columns)
    frame.to_csv(tmp_path / "s.csv", index=False)
    assert as_signal(frame, ROWS).reading == reading
    if not isinstance(columns[0], int):  # a line of numbers alone is no header
        assert as_signal(tmp_path / "s.csv", ROWS).reading == reading
    assert as_signal(frame.to_numpy(), ROWS).reading == "joint"


def test_signals_own_their_values() -> None:
    torch = optional("torch")
    mine = VALUES.copy()
    held = [as_signal(form, ROWS) for form in (mine, mine[None], torch.from_numpy(mine), mine[:, 0])]
    assert not any(signal.values.flags.writeable for signal in held)
    mine[:] = -1
    assert all(np.array_equal(signal.values[0], VALUES[:, : signal.values.shape[2]]) for signal in held)


class TestRefused:
    @pytest.mark.parametrize(
        ("signal", "words"),
        [
            (np.zeros((4, 2), dtype=complex), "complex128"),
            (np.array([1, 2, 3, None]), "object"),
            (np.array(["1", "2", "3", "4"]), "not text such as"),
            ([[1, 2], [3], [4], [5]], "same length"),
            (np.zeros((1, 1, 4, 2)), r"not \(1, 1, 4, 2\)"),
            (np.zeros((4, 0)), "one column"),
            (np.zeros((0, 4, 2)), "one snapshot"),
            (5.0, r"not \(\)"),
            (None, "NoneType"),
            (object(), "builtins.object"),
        ],
    )
    def test_kind(self, signal: object, words: str) -> None:
        with pytest.raises(SignalTypeError, match=words):
            as_signal(signal, ROWS)

    @pytest.mark.parametrize(
        ("shape", "words"),
        [
            ((5,), r"5 nodes \(shape \(5,\)\), but the graph has 4"),
            ((3, 2), "3 nodes"),
            ((2, 4), "transpose it"),
            ((4, 3, 2), "3 nodes"),
            ((0,), "0 nodes"),
        ],
    )
    def test_node_count(self, shape: tuple[int, ...], words: str) -> None:
        with pytest.raises(NodeCountError, match=words):
            as_signal(np.zeros(shape), ROWS)

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_not_finite(self, bad: float) -> None:
        values = VALUES.copy()
        values[2, 1] = values[3, 0] = bad
        with pytest.raises(SignalValueError, match=rf"{bad} at node 'b', column 1 \(2 NaN or infinite"):
            as_signal(values, NAMED)
        with pytest.raises(SignalValueError, match="column 1, snapshot 1"):
            as_signal(np.stack([VALUES, values]), NAMED)

    def test_masked(self) -> None:
        with pytest.raises(SignalTypeError, match="masked"):
            as_signal(np.ma.masked_equal(VALUES, 3), ROWS)


def gradient(t: Potential, x: int, y: int, snapshot: int = 0) -> float:
    return float(t.scale[snapshot] * np.linalg.norm(t.values[snapshot, x] - t.values[snapshot, y]))


class TestMetrics:
    def test_resolve(self) -> None:
        assert resolve_metric("auto", 1) == "euclidean"
        assert resolve_metric("auto", 2) == "angular"
        assert resolve_metric("euclidean", 5) == "euclidean"
        with pytest.raises(OptionError, match=r"0 or 180 degrees.*euclidean"):
            resolve_metric("angular", 1)
        with pytest.raises(OptionError, match="'cosine'"):
            resolve_metric("cosine", 3)

    @given(arrays.arrays(np.float64, (2, 3), elements=some.floats(-10, 10, allow_subnormal=False)))
    def test_angular_is_the_cosine_form(self, pair: np.ndarray) -> None:
        norms = np.linalg.norm(pair, axis=1)
        if norms.min() < 1e-3:
            return
        cosine = np.clip(pair[0] @ pair[1] / norms.prod(), -1, 1)
        t = potential(Signal(pair[None], None))
        assert t.metric == "angular"
        # The square: near cosine 1 it is the reference that has no digits left.
        assert gradient(t, 0, 1) ** 2 == pytest.approx((1 - cosine) / 2, abs=1e-14)
        assert np.linalg.norm(t.values, axis=2) == pytest.approx(0.5, rel=1e-15)

    @pytest.mark.parametrize("size", [1e-300, 1e300, 5e-324, 1.7e308, 1e-310])
    def test_angular_of_extreme_rows(self, size: float) -> None:
        values = np.array([[[3.0, 4.0], [size, 0.0], [size, size], [0.0, -size]]])
        t = potential(Signal(values, None))
        assert np.linalg.norm(t.values, axis=2) == pytest.approx(0.5, rel=1e-15)
        assert gradient(t, 1, 2) == pytest.approx(np.sin(np.pi / 8), rel=1e-14)
        assert gradient(t, 2, 3) == pytest.approx(np.sin(np.pi * 3 / 8), rel=1e-14)
        assert t.scale.tolist() == [1.0]

    def test_euclidean_leaves_ordinary_values(self) -> None:
        signal = as_signal(VALUES, ROWS)
        t = potential(signal, "euclidean")
        assert t.values is signal.values
        assert t.scale.tolist() == [1.0]
        assert not t.undefined.any()

    @pytest.mark.parametrize("size", [1e-300, 5e-324, 1e300, 1.7e308])
    def test_euclidean_takes_out_a_power_of_two(self, size: float) -> None:
        values = np.array([[[0.0], [size]], [[0.0], [2.0]], [[0.0], [0.0]]])
        t = potential(Signal(values, (0, 1, 2)))
        assert t.metric == "euclidean"
        assert np.isfinite(t.scale).all()
        assert (t.scale > 0).all()
        assert t.scale[1:].tolist() == [1.0, 1.0]
        assert np.frexp(t.scale[0])[0] == 0.5
        assert 1 <= t.values[0, 1, 0] < 2
        assert np.array_equal(t.values * t.scale[:, None, None], values)

    def test_zero_vectors(self) -> None:
        values = np.stack([VALUES + 1, VALUES + 1])
        values[1, [0, 2]] = 0
        signal = as_signal(values, NAMED)
        with pytest.raises(ZeroVectorError, match=r"2 nodes .* snapshot 1.*: 'd', 'b'; .*'nan'.*euclidean"):
            potential(signal, names=NAMED.names)
        with pytest.raises(ZeroVectorError, match=r": 0, 2;"):
            potential(signal)
        t = potential(signal, zero_vectors="nan")
        assert t.undefined.tolist() == [False, True]
        assert not t.values[1].any()
        assert np.array_equal(t.values[0], potential(as_signal(VALUES + 1, NAMED)).values[0])
        assert not potential(signal, "euclidean").undefined.any()
        with pytest.raises(OptionError, match="zero_vectors='drop'"):
            potential(signal, zero_vectors="drop")

    def test_zero_vectors_without_snapshots(self) -> None:
        graph: Graph = as_graph(nx.path_graph(20))
        with pytest.raises(ZeroVectorError, match=r"^20 nodes have a zero vector, .*: 0, 1, 2, 3, 4, \.\.\.;"):
            potential(as_signal(np.zeros((20, 3)), graph), names=graph.names)
