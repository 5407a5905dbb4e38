"""Batches of small graphs on a GPU: through a stand-in for cupy here, and on a GPU (``-m gpu``)."""

import importlib

import numpy as np
import pytest

import cupy_double
import spectrata as st
from spectrata.many import stacked_bases


@pytest.fixture(params=["double", pytest.param("gpu", marks=pytest.mark.gpu)])
def cupy(request, monkeypatch):
    """cupy, or its stand-in; stacks of few graphs go to it too."""
    monkeypatch.setattr(stacked_bases, "LEAST_STACK", 1)
    if request.param == "gpu":
        yield importlib.import_module("cupy")
        return
    with cupy_double.installed():
        yield importlib.import_module("cupy")


def molecules(count=12, seed=0):
    """Trees with a few rings, of a few sizes."""
    rng = np.random.default_rng(seed)
    pairs = []
    for index in range(count):
        n = int(rng.integers(5, 9))
        parents = (rng.random(n - 1) * np.arange(1, n)).astype(int)
        edges = np.stack([parents, np.arange(1, n)])
        if (0, n - 1) not in zip(*edges.tolist(), strict=True):
            edges = np.append(edges, [[0], [n - 1]], axis=1)
        edges = np.concatenate([edges, edges[::-1]], axis=1) if index % 2 else edges
        pairs.append((edges, rng.standard_normal((n, 3))))
    return pairs


@pytest.mark.parametrize("laplacian", ["combinatorial", "random_walk"])
def test_batches_on_the_device_are_those_on_the_processor(cupy, laplacian):
    pairs = molecules()
    asked = {"hops": 3, "laplacian": laplacian, "algorithms": ("gft", "apprx_ls", "in_agg", "adj_diff")}
    expected, found = (
        st.spectra_many(pairs, **asked),
        st.spectra_many(pairs, stratification={"device": "cuda"}, **asked),
    )
    np.testing.assert_allclose(found["eigenvalue"], expected["eigenvalue"], atol=1e-12)
    np.testing.assert_array_equal(found["graph_hash"], expected["graph_hash"])
    ours, theirs = (st.merge_eigenspaces(ds)["magnitude"].values for ds in (found, expected))
    simple = (expected["multiplicity"].values == 1).all(axis=2)  # (graph, hop)
    for row, name in enumerate(found["algorithm"].values):
        where = simple if name == "adj_diff" else np.ones_like(simple)
        np.testing.assert_allclose(ours[:, row][where], theirs[:, row][where], atol=1e-9, err_msg=name)


def test_a_stack_that_the_device_solves_badly_is_solved_again(cupy, monkeypatch):
    pairs = molecules(4)
    expected = st.spectra_many(pairs, algorithms="gft", hops=1)
    asked = []

    def on_device(stack, threads, backend):
        values, vectors = solve(stack, threads, backend)
        asked.append(backend.name)
        return values, vectors * (1 + 1e-6 * (backend.name != "numpy"))

    solve = stacked_bases._eigh
    monkeypatch.setattr(stacked_bases, "_eigh", on_device)
    found = st.spectra_many(pairs, algorithms="gft", hops=1, stratification={"device": "cuda"})
    assert set(asked) == {"cupy", "numpy"} or set(asked) == {"torch", "numpy"}
    np.testing.assert_allclose(found["magnitude"], expected["magnitude"], atol=1e-12)
