"""A matrix in compressed rows has the rows of the same edges in any other form."""

import numpy as np
import pytest
import scipy.sparse as sp

from spectrata.errors import DirectedGraphError, GraphTypeError, SpectrataWarning
from spectrata.inputs.graphs import as_graph


def matrix_of(seed=0, n=40, weighted=False):
    rng = np.random.default_rng(seed)
    dense = np.triu(rng.random((n, n)) < 0.15, 1) * (rng.uniform(0.5, 2, (n, n)) if weighted else 1.0)
    return sp.csr_array(dense + dense.T)


def assert_equal(found, expected):
    for name in ("indptr", "indices", "names", "edges", "digest"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    assert (found.weights is None) == (expected.weights is None)
    if found.weights is not None:
        np.testing.assert_array_equal(found.weights, expected.weights)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_a_matrix_are_its_own(weighted, index):
    matrix = matrix_of(weighted=weighted)
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    exact = sp.triu(matrix).tocoo()
    if weighted:
        matrix.data *= 1 + 1e-13 * np.arange(len(matrix.data)) / len(matrix.data)
    graph = as_graph(matrix, weights=weighted)
    np.testing.assert_array_equal(graph.indptr, matrix.indptr)
    np.testing.assert_array_equal(graph.indices, matrix.indices)
    if weighted:
        order = np.lexsort([exact.col, exact.row])
        np.testing.assert_allclose(graph.weights, exact.data[order], rtol=1e-12)
    assert matrix.indices.flags.writeable
    assert matrix.indptr.flags.writeable
    assert not graph.indices.flags.writeable


def test_matrices_that_are_not_canonical():
    expected = as_graph(edges=np.argwhere(np.triu(matrix_of().toarray())), n_nodes=40)
    unsorted = matrix_of()
    for row in range(40):
        part = slice(unsorted.indptr[row], unsorted.indptr[row + 1])
        unsorted.indices[part] = unsorted.indices[part][::-1]
    unsorted.has_sorted_indices = False
    assert_equal(as_graph(unsorted), expected)
    with pytest.warns(SpectrataWarning, match="Dropped 40 self-loops"):
        assert_equal(as_graph(sp.csr_array(matrix_of() + sp.eye_array(40))), expected)
    with pytest.warns(SpectrataWarning, match="Ignoring edge weights"):
        as_graph(matrix_of(weighted=True))
    lonely = matrix_of().tolil()
    lonely[np.argwhere(lonely.toarray())[0, 0], np.argwhere(lonely.toarray())[0, 1]] = 0
    with pytest.raises(DirectedGraphError, match="1 entries have no counterpart"):
        as_graph(lonely.tocsr())
    apart = matrix_of(weighted=True)
    apart.data[0] *= 2
    with pytest.raises(DirectedGraphError, match="disagree"):
        as_graph(apart, weights=True)
    missing = matrix_of()
    missing.data[3] = np.nan
    with pytest.raises(GraphTypeError, match="NaN"):
        as_graph(missing)
