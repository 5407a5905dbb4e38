"""Bands of graphs on a GPU: the whole way on a processor through a stand-in for cupy, and on a GPU (``-m gpu``)."""

import importlib
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import calls
import cupy_double
import spectrata as st
from spectrata.bands import exact, operators
from spectrata.bands.settings import check_settings
from spectrata.bands.spectra import measure_bands
from spectrata.core.operators import COMBINATORIAL
from spectrata.errors import (
    DirectedGraphError,
    EmptyGraphError,
    GraphTypeError,
    OptionError,
    SignalValueError,
    SpectrataWarning,
)
from spectrata.inputs.device import as_device_graph
from spectrata.kernels.backend import Backend

CUPY = Backend("cupy", "cuda:0")
SHARES = ("cumulative", "cumulative_lower", "cumulative_upper")


@pytest.fixture(params=["double", pytest.param("gpu", marks=pytest.mark.gpu)])
def cupy(request, monkeypatch):
    """cupy, or its stand-in; recurrences on small graphs too."""
    monkeypatch.setattr(exact, "EXACT_NODES", 10)
    if request.param == "gpu":
        yield importlib.import_module("cupy")
        return
    with cupy_double.installed():
        yield importlib.import_module("cupy")


def random_matrix(n=300, m=900, seed=0, weighted=False):
    """A symmetric matrix of several parts, with a hub and nodes without an edge."""
    rng = np.random.default_rng(seed)
    pairs = rng.integers(n - 20, size=(m, 2))
    pairs = np.vstack([pairs[pairs[:, 0] != pairs[:, 1]], [[n - 10, n - 9], [n - 8, n - 7]]])
    pairs = np.vstack([pairs, np.column_stack([np.full(15, 7), np.arange(10, 25)])])
    values = rng.uniform(0.5, 2, len(pairs)) if weighted else np.ones(len(pairs))
    upper = sp.coo_array((values, (pairs.min(axis=1), pairs.max(axis=1))), shape=(n, n)).tocsr()
    if not weighted:
        upper.data[:] = 1.0
    return (upper + upper.T).tocsr()


def assert_same(found, expected, slack=1e-6):
    for name in (*SHARES, "energy"):
        scale = np.nanmax(np.abs(expected[name].values))
        np.testing.assert_allclose(found[name].values, expected[name].values, atol=slack * scale, err_msg=name)
    np.testing.assert_allclose(found["zero_energy"], expected["zero_energy"], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(found["gradient_norm"], expected["gradient_norm"], rtol=1e-12)
    for name in ("n_edges", "n_parts", "n_singletons"):
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)
    np.testing.assert_array_equal(found["edges"], expected["edges"])
    assert found.attrs["graph_hash"] == expected.attrs["graph_hash"]


ON_BOTH = {
    "two snapshots": ((2, 300, 3), {}),
    "weights": ((2, 300, 3), {"laplacian": "random_walk", "weights": True}),
    "more columns than a block holds": ((300, 40), {"steps": 10, "algorithms": "gft"}),
    "hops made in main memory": ((300, 3), {"bands": np.array([0, 5, 20, 100.0]), "hops": 2, "algorithms": "gft"}),
}


@pytest.mark.parametrize(("shape", "more"), ON_BOTH.values(), ids=ON_BOTH)
def test_bands_on_the_device_are_those_on_the_processor(cupy, shape, more):
    asked = {"bands": np.array([0, 0.53, 2.1, 5.3]), "steps": 12, "weights": False} | more
    matrix, signal = random_matrix(weighted=asked["weights"]), np.random.default_rng(1).standard_normal(shape)
    assert_same(calls.band_spectra(matrix, signal, device=CUPY, **asked), calls.band_spectra(matrix, signal, **asked))


def test_single_precision_keeps_inside_its_bounds_and_is_left_where_it_is_not_enough(cupy, monkeypatch):
    matrix, signal = random_matrix(), np.random.default_rng(1).standard_normal((300, 3))
    asked = {"bands": np.array([0, 0.53, 2.1, 5.3]), "steps": 40, "algorithms": "gft"}
    expected = calls.band_spectra(matrix, signal, **asked)
    monkeypatch.setattr(operators, "SINGLE_NODES", 0)
    found = calls.band_spectra(matrix, signal, device=CUPY, **asked)
    wider = found["cumulative_upper"] - found["cumulative_lower"]
    assert (wider > expected["cumulative_upper"] - expected["cumulative_lower"] + 1e-6).any(), "not single"
    assert (found["cumulative_lower"] <= expected["cumulative_upper"]).all()
    assert (found["cumulative_upper"] >= expected["cumulative_lower"]).all()
    np.testing.assert_allclose(found["energy"], expected["energy"], atol=1e-3 * expected["energy"].max())
    # The hub's eigenvalue lies on an edge: within the allowance of single precision, not of double.
    top = np.linalg.eigvalsh(np.diag(matrix.sum(axis=0)) - matrix.toarray())[-1]
    spike = np.zeros(300)
    spike[7] = 1.0
    edge = calls.band_spectra(matrix, spike, bands=np.array([0, top * (1 - 1e-6), 2 * top]), device=CUPY, tol=1e-3)
    assert edge["status"].sel(algorithm="gft").item() == "ok"


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_unsorted_rows_with_loops_are_read_as_in_main_memory(cupy, index):
    matrix = random_matrix()
    rng, n = np.random.default_rng(2), matrix.shape[0]
    tails, heads = (np.append(end, [3, 4, 5]) for end in matrix.tocoo().coords)
    order = rng.permutation(len(tails))
    order = order[np.argsort(tails[order], kind="stable")]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(tails, minlength=n))]).astype(index)
    given = sp.csr_array((np.ones(len(tails)), heads[order].astype(index), indptr), shape=(n, n))
    with pytest.warns(SpectrataWarning, match="Dropped 3 self-loops"):
        found = as_device_graph(given, CUPY)
    plain = found.in_main_memory()
    np.testing.assert_array_equal(plain.indptr, matrix.indptr)
    np.testing.assert_array_equal(plain.indices, matrix.sorted_indices().indices)


def test_weights_that_round_apart_agree_on_the_larger(cupy):
    matrix = random_matrix(weighted=True)
    matrix.data[:] *= 1 + 1e-13 * np.arange(len(matrix.data)) / len(matrix.data)
    found = as_device_graph(matrix, CUPY, weights=True).in_main_memory()
    expected = st.Stratification(matrix, weights=True, hops=1).graph
    np.testing.assert_array_equal(found.weights, expected.weights)
    assert found.digest == expected.digest


BAD = [
    ([[0, 1, 0], [0, 0, 1], [0, 1, 0]], {}, DirectedGraphError, "1 entries have no counterpart, such as 0 to 1"),
    ([[0, 2.0, 0], [3, 0, 1], [0, 1, 0]], {"weights": True}, DirectedGraphError, "0 to 1 disagree"),
    ([[0, -1.0, 0], [-1, 0, 1], [0, 1, 0]], {"weights": True}, OptionError, "edge 0 to 1 is -1.0 \\(2 such"),
    ([[0, np.nan, 0], [1, 0, 1], [0, 1, 0]], {}, GraphTypeError, "NaN"),
    ([[1, 0, 0], [0, 0, 0], [0, 0, 0]], {}, EmptyGraphError, "only 1 self-loops"),
    ([[0, 1, 9], [1, 0, 1], [9, 1, 0]], {}, GraphTypeError, "sparse matrix is damaged"),
]


@pytest.mark.parametrize(("dense", "asked", "error", "words"), BAD, ids=[str(one[3]) for one in BAD])
def test_bad_matrices_are_left_to_main_memory_which_refuses_them(cupy, dense, asked, error, words):
    matrix = sp.csr_array(np.array(dense, dtype=float))
    if matrix.max() == 9:
        matrix.indices[0] = 300
    assert as_device_graph(matrix, CUPY, **asked) is None
    with pytest.raises(error, match=words):
        calls.band_spectra(matrix, np.ones(3), device=CUPY, **asked)


def test_a_signal_with_a_missing_value_is_refused_by_name(cupy):
    signal = np.ones((300, 2))
    signal[17, 1] = np.nan
    with pytest.raises(SignalValueError, match="node 17, column 1"):
        calls.band_spectra(random_matrix(), signal, device=CUPY)


def test_a_huge_graph_has_a_result_without_edges(cupy, monkeypatch):
    monkeypatch.setattr("spectrata.inputs.device.KEPT_EDGES", 10)
    matrix, signal = random_matrix(), np.random.default_rng(1).standard_normal((300, 3))
    asked = check_settings(32, "gft", "log", 0.01, 0, COMBINATORIAL, {"lanczos": {"steps": 10}})
    found = measure_bands(matrix, signal, asked, [1], device=CUPY)
    assert found.sizes["edge"] == 0
    assert found.attrs["n_edges"] == matrix.nnz // 2
    assert found.attrs["graph_hash"]


@pytest.mark.gpu
@pytest.mark.parametrize("form", ["cupyx", "torch csr", "torch edge_index", "cupy edge_index"])
def test_graphs_on_the_gpu_are_taken_as_they_are(form, monkeypatch):
    cupy, torch = importlib.import_module("cupy"), importlib.import_module("torch")
    from cupyx.scipy.sparse import csr_matrix

    monkeypatch.setattr(exact, "EXACT_NODES", 10)
    matrix, signal = random_matrix(), np.random.default_rng(1).standard_normal((300, 3))
    asked = {"bands": np.array([0, 0.53, 2.1, 5.3]), "steps": 12}
    expected = calls.band_spectra(matrix, signal, **asked)
    if form == "cupyx":
        graph, there = csr_matrix(sp.csr_matrix(matrix)), cupy.asarray(signal)
    elif form == "torch csr":
        parts = (torch.tensor(part, device="cuda") for part in (matrix.indptr, matrix.indices, matrix.data))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns of its own sparse tensors
            graph = torch.sparse_csr_tensor(*parts, (300, 300), check_invariants=True)
        there = torch.tensor(signal, device="cuda")
    else:
        pairs = np.stack(matrix.tocoo().coords).astype(np.int64)
        graph = torch.tensor(pairs, device="cuda") if form == "torch edge_index" else cupy.asarray(pairs)
        there, asked = torch.tensor(signal, device="cuda"), asked | {"n_nodes": 300}
    for given in (there, signal):  # the device follows from the graph, too
        assert_same(calls.band_spectra(graph, given, **asked), expected)
    whole = calls.spectra(graph, signal, "gft", hops=1, **{"n_nodes": 300} if "edge_index" in form else {})
    assert whole.attrs["graph_hash"] == expected.attrs["graph_hash"]
