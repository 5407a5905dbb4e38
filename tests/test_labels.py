"""Labels in every form become the same numbers in the graph's row order."""

import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from spectrata.errors import (
    DuplicateNameError,
    FileFormatError,
    InputError,
    SignalValueError,
    SpectrataWarning,
    UnknownNameError,
)
from spectrata.inputs.graphs import as_graph
from spectrata.inputs.labels import as_labels
from spectrata.inputs.signals import as_signal

NAMES = ["ann", "bob", "cem", "dai"]
VALUES = ["red", "blue", None, "red"]
CODES, CLASSES = [1, 0, -1, 1], ("blue", "red")


def path(**attributes):
    graph = nx.path_graph(4)
    graph = nx.relabel_nodes(graph, dict(enumerate(NAMES)))
    for name, values in attributes.items():
        nx.set_node_attributes(graph, {n: v for n, v in zip(NAMES, values, strict=True) if v is not None}, name)
    return as_graph(graph)


BACKWARDS = dict(reversed(list(zip(NAMES, VALUES, strict=True))))
FORMS = {
    "list": VALUES,
    "array of text": np.array(["red", "blue", "", "red"]),
    "array of objects": np.array(VALUES, dtype=object),
    "NaN": ["red", "blue", float("nan"), "red"],
    "masked": np.ma.array(["red", "blue", "?", "red"], mask=[False, False, True, False]),
    "column": np.array(VALUES, dtype=object)[:, None],
    "mapping": BACKWARDS,
    "mapping that lacks a node": {name: value for name, value in BACKWARDS.items() if value},
    "Series": pd.Series(BACKWARDS),
    "categorical Series": pd.Series(BACKWARDS).astype("category"),
    "nullable text": pd.Series(BACKWARDS).astype("string"),
    "DataFrame": pd.Series(BACKWARDS).to_frame("colour"),
    "Categorical": pd.Categorical(VALUES),
    "DataArray": xr.DataArray(list(BACKWARDS.values()), {"node": list(BACKWARDS)}, ["node"]),
}


@pytest.mark.parametrize("given", FORMS.values(), ids=FORMS)
def test_every_form(given):
    found = as_labels(given, path())
    assert (found.codes.tolist(), found.classes) == (CODES, CLASSES)


def test_a_node_attribute():
    found = as_labels("colour", path(colour=VALUES))
    assert (found.codes.tolist(), found.classes) == (CODES, CLASSES)
    with pytest.raises(UnknownNameError, match="the graph has colour"):
        as_labels("color", path(colour=VALUES))


FILES = {
    "named.csv": "node,colour\ndai,red\nann,red\nbob,blue\ncem,\n",
    "who.csv": "who,colour\ndai,red\nann,red\nbob,blue\n",
    "lines.txt": "dai red\nann\tred\nbob blue\n",
    "bare.csv": "dai,red\nann,red\nbob,blue\n",
    "header.csv": "person,colour\ndai,red\nann,red\nbob,blue\n",
    "wide.tsv": "node\tage\tlabel\ndai\t1\tred\nann\t2\tred\nbob\t3\tblue\n",
    "mapping.json": json.dumps(BACKWARDS),
    "list.json": json.dumps(VALUES),
}


@pytest.mark.filterwarnings("ignore::spectrata.SpectrataWarning")
@pytest.mark.parametrize("name", FILES)
def test_files(name, tmp_path):
    (tmp_path / name).write_text(FILES[name])
    found = as_labels(tmp_path / name, path())
    assert (found.codes.tolist(), found.classes) == (CODES, CLASSES)


@pytest.mark.filterwarnings("ignore::spectrata.SpectrataWarning")
def test_arrays_and_lines_in_files(tmp_path):
    np.save(tmp_path / "a.npy", np.array(["red", "blue", "", "red"]))
    np.savez(tmp_path / "a.npz", labels=np.array(["red", "blue", "", "red"])[::-1], names=np.array(NAMES[::-1]), x=[1])
    (tmp_path / "a.txt").write_text("red\nblue\n?\nred\n")
    for name in ("a.npy", "a.npz", "a.txt"):
        found = as_labels(str(tmp_path / name), path(), missing="?")
        assert (found.codes.tolist(), found.classes) == (CODES, CLASSES)


@pytest.mark.parametrize("label", ["y", "class", "Group"])
def test_a_first_line_of_a_node_is_not_a_header(label, tmp_path):
    table = tmp_path / "bare.csv"
    table.write_text(f"ann,{label}\nbob,n\ncem,n\ndai,{label}\n")
    assert as_labels(table, path()).codes.tolist().count(-1) == 0
    table.write_text("node,y\nann,1\nnode,2\n")
    graph = as_graph(nx.path_graph(["ann", "node"]))
    assert as_labels(table, graph).classes == ("1", "2")


def test_a_misspelt_node_in_the_first_line_is_no_header(tmp_path):
    (tmp_path / "a.csv").write_text("Ann,red\nbob,blue\ncem,red\n")
    with pytest.raises(UnknownNameError, match="'Ann'"):
        as_labels(tmp_path / "a.csv", path())


def test_names_that_stand_twice_are_told_with_their_lines(tmp_path):
    (tmp_path / "twice.csv").write_text("node,colour\nann,red\n\nbob,blue\nann,red\n")
    with pytest.raises(DuplicateNameError, match="'ann' twice, at lines 2 and 5"):
        as_labels(tmp_path / "twice.csv", path())
    (tmp_path / "typo.csv").write_text("node,colour\nann,red\nbob,blue\ncen,red\n")
    words = r"not in the labels \('cem', 'dai'\) and .* not in the graph \('cen'\); .* \('cen' may be 'cem'\)"
    with pytest.raises(UnknownNameError, match=words):
        as_labels(tmp_path / "typo.csv", path())
    (tmp_path / "more.csv").write_text("node,colour\nann,red\nbob,blue\ncem,red\ndai,red\neve,blue\n")
    with pytest.warns(SpectrataWarning, match=r"1 row names no node of the graph \('eve'\) and is left out"):
        assert as_labels(tmp_path / "more.csv", path()).codes.tolist() == [1, 0, 1, 1]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("ann red\nbob blue\ncen red\n", r"not in the labels \('cem', 'dai'\) and .* not in the graph \('cen'\)"),
        ("1 red\n2 blue\n3 red\n4 blue\n", r"\('ann', .*\) and 4 names .* not in the graph \('1', '2', '3', '4'\)"),
        ("ann red\nbob blue\ncen\ndai red\n", r"\('cem'\) and .* not in the graph \('cen'\)"),
    ],
)
def test_lines_of_names_and_labels_with_other_names_are_refused(content, words, tmp_path):
    (tmp_path / "a.txt").write_text(content)
    with pytest.raises(UnknownNameError, match=words):
        as_labels(tmp_path / "a.txt", path())


@pytest.mark.filterwarnings("ignore:The file 'a.txt' holds no names")
def test_labels_of_two_words_are_labels(tmp_path):
    (tmp_path / "a.txt").write_text("New York\nNew Haven\nNew York\nNew Haven\n")
    assert as_labels(tmp_path / "a.txt", path()).classes == ("New Haven", "New York")


def test_a_node_that_stands_twice_in_json_is_refused(tmp_path):
    (tmp_path / "a.json").write_text('{"ann": "red", "bob": "blue", "ann": "blue"}')
    with pytest.raises(FileFormatError, match="'ann' stands twice"):
        as_labels(tmp_path / "a.json", path())


def test_a_table_of_names_and_labels():
    table = pd.DataFrame({"who": NAMES[::-1], "colour": VALUES[::-1]})
    assert as_labels(table, path()).codes.tolist() == CODES
    assert as_labels(table[:3], path()).codes.tolist() == [-1, 0, -1, 1]
    with pytest.raises(
        UnknownNameError, match=r"'ANN', .*the graph's nodes are 'ann', .*make the nodes' names the index"
    ):
        as_labels(table.assign(who=table["who"].str.upper()), path())


@pytest.mark.parametrize("names", [NAMES, [1, 2, 3, 4]])
def test_a_series_without_names_warns_and_one_with_other_names_is_refused(names):
    graph = as_graph(nx.path_graph(names))
    with pytest.warns(SpectrataWarning, match="rows follow the order"):
        assert as_labels(pd.Series(VALUES), graph).codes.tolist() == CODES
    with pytest.raises(UnknownNameError, match="not in the graph"):
        as_labels(pd.Series(VALUES, index=np.arange(4)), graph)


def test_a_file_without_names_warns_of_the_order(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(4) % 2)
    with pytest.warns(SpectrataWarning, match=r"a\.npy. holds no names"):
        as_labels(tmp_path / "a.npy", path())


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "a,b,c\n1,2,3\n", "the columns 2, 3 could all hold the labels; call one 'label'"),
        ("a.csv", "node,label\n", "a header and no row"),
        ("a.csv", "a,b\n1,2,3\n", "line 2: the row has 3 columns"),
        ("a.json", "{", "JSON is damaged"),
        ("a.json", "3", "an object from node to label"),
        ("a.png", "x", "labels are not read from files of this kind"),
    ],
)
def test_bad_files(name, content, message, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(FileFormatError, match=message):
        as_labels(tmp_path / name, path())


@pytest.mark.filterwarnings("ignore::spectrata.SpectrataWarning")
@pytest.mark.parametrize("cells", [["3.5", "4", "", "5.25"], ["3,5", "4,0", "1,5", "2,5"]])
def test_measured_numbers_as_text_are_no_classes(cells, tmp_path):
    (tmp_path / "a.csv").write_text("node;label\n" + "".join(f"{n};{c}\n" for n, c in zip(NAMES, cells, strict=True)))
    for given in (cells, tmp_path / "a.csv"):
        with pytest.raises(SignalValueError, match=r"are measured numbers \('3.5'\), not classes; give text"):
            as_labels(given, path())
    assert as_labels(["1.0", "2.0", "1.0", "NA"], path()).classes == ("1.0", "2.0", "NA")
    assert as_labels(["v1.1", "1.2", "1.2", None], path()).classes == ("1.2", "v1.1")
    assert as_labels(pd.Categorical(["1.1", "1.2", "1.2", "1.1"]), path()).classes == ("1.1", "1.2")


def test_leading_zeros_that_differ_are_named(tmp_path):
    graph = as_graph(nx.path_graph(["007", "008", "100"]))
    (tmp_path / "a.csv").write_text("id,label\n7,a\n8,b\n100,a\n")
    with pytest.raises(UnknownNameError, match=r"leading zeros differ \('7' and '007'\); use the graph's own names"):
        as_labels(tmp_path / "a.csv", graph)
    (tmp_path / "b.csv").write_text("number,x\n7,1.5\n8,2.5\n9,3.5\n")
    with pytest.raises(UnknownNameError, match=r"leading zeros differ \('7' and '007'\)"):
        as_signal(tmp_path / "b.csv", graph)


def test_classes_keep_the_order_of_a_categorical_and_of_numbers():
    graph = as_graph(nx.path_graph(4))
    given = pd.Categorical(["low", "high", "low", "mid"], ["low", "mid", "high", "unused"])
    assert as_labels(given, graph).classes == ("low", "mid", "high")
    assert as_labels([10, 9, 2, 2.0], graph).classes == (2, 9, 10)
    assert as_labels([True, False, np.True_, None], graph).classes == (False, True)
    assert as_labels(pd.Series([1, None, 3, 1]), graph).classes == (1, 3)


def test_minus_one_is_a_class_unless_it_is_named_missing():
    graph = as_graph(nx.path_graph(3))
    assert as_labels([-1, 0, 1], graph).classes == (-1, 0, 1)
    found = as_labels([-1, 0, 1], graph, missing=-1)
    assert (found.codes.tolist(), found.classes) == ([-1, 0, 1], (0, 1))


def test_tensors():
    torch = pytest.importorskip("torch")
    graph = as_graph(nx.path_graph(3))
    assert as_labels(torch.tensor([2, 0, 2]), graph).codes.tolist() == [1, 0, 1]


def test_a_node_twice_and_two_dimensions_are_refused():
    with pytest.raises(DuplicateNameError, match="'ann' twice"):
        as_labels(pd.Series(["a", "b"], index=["ann", "ann"]), path())
    with pytest.raises(InputError, match="2 columns; give one column, such as"):
        as_labels(pd.DataFrame({"a": VALUES, "b": VALUES}, index=NAMES), path())


def test_a_ragged_list_is_no_label():
    graph = as_graph(nx.path_graph(["a", "b", "c"]))
    with pytest.raises(InputError, match=r"The label at row 0 is an object of type builtins\.list"):
        as_labels({"a": [{"id": 1}, [-1]], "b": "x", "c": "y"}, graph)
