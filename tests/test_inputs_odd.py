"""Odd labels, weights and annotated tables that fuzzing found: each raises an error of one sentence."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from spectrata.errors import FileFormatError, GraphTypeError, NodeCountError, OptionError, SignalTypeError
from spectrata.inputs.graphs import as_graph
from spectrata.inputs.labels import as_labels
from spectrata.inputs.signals import as_signal

TRIANGLE = [(0, 1), (1, 2), (0, 2)]
MATRIX = np.array([[0, 1, 2.0], [1, 0, 3], [2, 3, 0]])


def table(**parts):
    """An object with the parts of an AnnData of three observations."""
    names = {"obs_names": pd.Index(["a", "b", "c"]), "var_names": pd.Index(["Sox2", "Actb"])}
    held = {"obsp": {"connectivities": sp.csr_array(MATRIX)}, "obsm": {}, "X": np.arange(6.0).reshape(3, 2)}
    held["uns"] = {"neighbors": {"params": {"n_neighbors": 15, "use_rep": "spatial"}}}
    return SimpleNamespace(**(held | names | parts))


def test_text_that_is_none_in_a_file_of_labels(tmp_path):
    """Numbers beyond the last character made numpy raise SystemError."""
    np.save(tmp_path / "y.npy", np.array([2**31, 1, 2], dtype="<u4").view("<U1"))
    np.savez(tmp_path / "y.npz", labels=np.array([2**31, 1, 2], dtype="<u4").view("<U1"))
    for name in ("y.npy", "y.npz"):
        with pytest.raises(FileFormatError, match="holds damaged text; write the file again"):
            as_labels(tmp_path / name, as_graph(edges=TRIANGLE))


@pytest.mark.parametrize("shape", [(), (3, 2), (1, 3, 1)])
def test_arrays_of_labels_of_other_shapes(tmp_path, shape):
    np.save(tmp_path / "y.npy", np.zeros(shape, dtype=int))
    with pytest.raises(SignalTypeError, match=r"Labels have shape \(n,\), one per node, not"):
        as_labels(tmp_path / "y.npy", as_graph(edges=TRIANGLE))


def test_one_column_of_labels_is_one_label_per_row(tmp_path):
    np.save(tmp_path / "y.npy", np.array([[5], [7], [5]]))
    assert as_labels(tmp_path / "y.npy", as_graph(edges=TRIANGLE)).classes == (5, 7)


def test_odd_labels_in_memory():
    graph = as_graph(edges=TRIANGLE)
    with pytest.raises(SignalTypeError, match="as labels; give one label per node"):
        as_labels(sp.coo_matrix([[1], [2], [1]]), graph)
    with pytest.raises(SignalTypeError, match="The table has 0 columns; give one column"):
        as_labels(pd.DataFrame(index=range(3)), graph)
    assert as_labels([1, 2, 1], graph, np.array(2)).codes.tolist() == [0, -1, 0]


def test_odd_edges_and_weights():
    with pytest.raises(OptionError, match="give True, the name of an edge attribute, or an array"):
        as_graph(edges=TRIANGLE, weights=sp.csr_array([[1.0, 2, 3]]))
    with pytest.raises(GraphTypeError, match="integer rows counted from 0"):
        as_graph(edges=[[{}, 2], [2, {}]])


def test_an_annotated_table_without_numbers_has_no_column_to_read():
    """AnnData allows X to be None."""
    graph = as_graph(table(X=None), weights=False)
    with pytest.raises(SignalTypeError, match="no column 'Actb'"):
        as_signal("Actb", graph)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.coo_matrix, sp.dia_array, pd.DataFrame, np.asarray])
def test_a_column_of_every_kind_of_table(kind):
    values = np.arange(6.0).reshape(3, 2)
    graph = as_graph(table(X=kind(values)), weights=False)
    np.testing.assert_array_equal(as_signal("Actb", graph).values.ravel(), values[:, 1])


def test_a_table_of_other_rows_than_the_graph_has():
    graph = as_graph(table(obsm={"more": [1.0, 2.0, 3.0, None]}), weights=False)
    with pytest.raises(NodeCountError, match="'more' has 4 values for 3 nodes; give every node one"):
        as_signal("more", graph)


def test_an_annotated_table_with_names_for_other_rows():
    with pytest.raises(GraphTypeError, match="2 obs_names for 3 rows of obsp; name each row"):
        as_graph(table(obs_names=pd.Index(["a", "b"])), weights=False)


@pytest.mark.parametrize(
    "places", [np.array(3.0), [[0], [1, 2], [3]], np.ones((3, 2)) * 1j, sp.csr_array(np.ones((3, 2)))]
)
def test_odd_places_of_observations_are_ignored(places):
    graph = as_graph(table(obsm={"spatial": places}), weights=False)
    assert graph.positions is None
    assert as_graph(table(obsm={"spatial": np.ones((3, 2))}), weights=False).positions.shape == (3, 2)
