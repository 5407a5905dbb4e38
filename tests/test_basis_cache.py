"""Eigenbases from the disk equal solved ones."""

import multiprocessing
import warnings

import networkx as nx
import numpy as np
import pytest
import xarray as xr

import calls
import spectrata as st
from spectrata.core import stratification
from spectrata.core.bases.solve import decompose
from spectrata.errors import SpectrataWarning

GRAPH = nx.disjoint_union_all(
    [nx.gnm_random_graph(30, 60, seed=1), nx.path_graph(3), nx.path_graph(2), nx.cycle_graph(3)]
)
SIGNAL = np.random.default_rng(0).standard_normal((GRAPH.number_of_nodes(), 3))


def solves(monkeypatch) -> list[int]:
    """The hops that were really solved from now on."""
    hops = []

    def counted(stratum, *arguments, **named):
        hops.append(stratum.hop)
        return decompose(stratum, *arguments, **named)

    monkeypatch.setattr(stratification, "decompose", counted)
    return hops


def test_a_second_run_solves_nothing_and_gives_the_same_bits(tmp_path, monkeypatch):
    first = st.spectra(st.Stratification(GRAPH, cache=tmp_path / "bases"), SIGNAL)
    hops = solves(monkeypatch)
    second = st.spectra(st.Stratification(GRAPH, cache=tmp_path / "bases"), SIGNAL)
    assert hops == []
    np.testing.assert_array_equal(second["magnitude"], first["magnitude"])
    np.testing.assert_array_equal(second["magnitude"], st.spectra(GRAPH, SIGNAL)["magnitude"])


OTHERS = [{"dtype": "float32"}, {"laplacian": "normalized", "algorithms": "gft"}, {"laplacian": "random_walk"}]


@pytest.mark.parametrize("other", OTHERS)
def test_another_solver_or_graph_is_another_entry(tmp_path, monkeypatch, other):
    st.spectra(st.Stratification(GRAPH, hops=[2], cache=tmp_path), SIGNAL)
    hops = solves(monkeypatch)
    calls.spectra(GRAPH, SIGNAL, hops=[2], cache=tmp_path, **other)
    moved = nx.Graph(GRAPH)
    moved.remove_edge(*next(iter(moved.edges)))
    st.spectra(st.Stratification(moved, hops=[2], cache=tmp_path), SIGNAL)
    assert hops == [2, 2]


def damage(path, kind: str) -> None:
    data = path.read_bytes()
    if kind == "truncated":
        path.write_bytes(data[: len(data) // 2])
    elif kind == "flipped":
        middle = len(data) // 2
        path.write_bytes(data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :])
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "another hop":
        st.spectra(st.Stratification(GRAPH, hops=[2], cache=path.parent / "other"), SIGNAL)
        (other,) = (path.parent / "other").glob("*.npz")
        other.replace(path)
    elif kind == "pickle":
        np.savez(path, key=np.array([{"a": 1}], dtype=object))
    else:
        with np.load(path) as stored:
            arrays = dict(stored)
        CRAFTED[kind](arrays)
        np.savez(path, **arrays)


def _turn(name, change):
    def deed(arrays):
        arrays[name] = change(arrays[name])

    return deed


def _flipped(arrays):
    """One bit of one number, in the middle of its fraction."""
    bits = arrays["vectors"].view(np.uint64)
    bits[100] ^= np.uint64(1 << 30)


def _all_zero(arrays):
    arrays["values"], arrays["vectors"] = arrays["values"] * 0, arrays["vectors"] * 0


# Files whose checksums are right, so that only the hash of the content can tell.
CRAFTED = {
    "wrong vectors": _turn("vectors", lambda vectors: vectors[::-1].copy()),
    "one bit": _flipped,
    "all zero": _all_zero,
    "values unordered": _turn("values", lambda values: values[::-1].copy()),
    "a value just off zero": _turn("values", lambda values: np.where(values == 0, 1e-30, values)),
    "a node twice": _turn("nodes", lambda nodes: np.where(nodes == 1, 0, nodes)),
    "another precision": _turn("vectors", lambda vectors: vectors.astype("float32")),
    "text": _turn("nodes", lambda nodes: nodes.astype(str)),
}


@pytest.mark.parametrize("kind", ["truncated", "flipped", "empty", "pickle", "another hop", *CRAFTED])
def test_a_damaged_entry_is_said_and_made_anew(tmp_path, kind):
    expected = st.spectra(st.Stratification(GRAPH, hops=1, cache=tmp_path), SIGNAL)
    (entry,) = tmp_path.glob("*.npz")
    damage(entry, kind)
    with pytest.warns(SpectrataWarning, match="computed again"):
        found = st.spectra(st.Stratification(GRAPH, hops=1, cache=tmp_path), SIGNAL)
    np.testing.assert_array_equal(found["magnitude"], expected["magnitude"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        st.spectra(st.Stratification(GRAPH, hops=1, cache=tmp_path), SIGNAL)


def test_a_folder_that_cannot_be_written_costs_only_the_cache(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.warns(SpectrataWarning, match="not cached"):
        found = st.spectra(st.Stratification(GRAPH, hops=1, cache=blocked), SIGNAL)
    np.testing.assert_array_equal(found["magnitude"], st.spectra(GRAPH, SIGNAL, hops=1)["magnitude"])


def _one_process(folder) -> float:
    return float(st.spectra(st.Stratification(GRAPH, cache=folder), SIGNAL)["magnitude"].sum())


@pytest.mark.long
def test_processes_share_a_folder(tmp_path):
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        sums = pool.map(_one_process, [tmp_path] * 6)
    assert len(set(sums)) == 1
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".npz"]


@pytest.mark.parametrize("laplacian", ["random_walk", "normalized"])
@pytest.mark.parametrize("self_loops", [False, True])
def test_every_laplacian_comes_back_as_it_was(tmp_path, monkeypatch, laplacian, self_loops):
    options = {"algorithms": "gft", "laplacian": laplacian, "self_loops": self_loops}
    first = calls.spectra(GRAPH, SIGNAL, cache=tmp_path, **options)
    for other in (True, False):  # its neighbours in the folder are other entries
        calls.spectra(GRAPH, SIGNAL, cache=tmp_path, **options | {"self_loops": other})
    hops = solves(monkeypatch)
    second = calls.spectra(GRAPH, SIGNAL, cache=tmp_path, **options)
    assert hops == []
    xr.testing.assert_identical(first, second)
