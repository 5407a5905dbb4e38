"""Eigenbases from the disk and from identities equal solved ones."""

import multiprocessing
import warnings

import networkx as nx
import numpy as np
import pytest

import spectrata as st
from spectrata.core import stratification
from spectrata.core.bases.complement import complement
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
    first = st.spectra(GRAPH, SIGNAL, cache=tmp_path / "bases")
    hops = solves(monkeypatch)
    second = st.spectra(GRAPH, SIGNAL, cache=tmp_path / "bases")
    assert hops == []
    np.testing.assert_array_equal(second["magnitude"], first["magnitude"])
    np.testing.assert_array_equal(second["magnitude"], st.spectra(GRAPH, SIGNAL)["magnitude"])


@pytest.mark.parametrize("other", [{"dtype": "float32"}, {"laplacian": "normalized", "algorithms": "gft"}])
def test_another_solver_or_graph_is_another_entry(tmp_path, monkeypatch, other):
    st.spectra(GRAPH, SIGNAL, hops=[2], cache=tmp_path)
    hops = solves(monkeypatch)
    st.spectra(GRAPH, SIGNAL, hops=[2], cache=tmp_path, **other)
    moved = nx.Graph(GRAPH)
    moved.remove_edge(*next(iter(moved.edges)))
    st.spectra(moved, SIGNAL, hops=[2], cache=tmp_path)
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
    elif kind == "pickle":
        np.savez(path, digest=np.array([{"a": 1}], dtype=object))
    else:
        with np.load(path) as stored:
            arrays = dict(stored)
        CRAFTED[kind](arrays)
        np.savez(path, **arrays)


def _turn(name, change):
    def deed(arrays):
        arrays[name] = change(arrays[name])

    return deed


def _all_zero(arrays):
    arrays["values"], arrays["vectors"] = arrays["values"] * 0, arrays["vectors"] * 0


# Files whose checksums are right, so that only the graph can tell.
CRAFTED = {
    "wrong vectors": _turn("vectors", lambda vectors: vectors[::-1].copy()),
    "long vectors": _turn("vectors", lambda vectors: 2 * vectors),
    "endless vectors": _turn("vectors", lambda vectors: np.where(vectors > 0, 1e308, -1e308)),
    "no vectors": _turn("vectors", lambda vectors: 0 * vectors),
    "all zero": _all_zero,
    "values unordered": _turn("values", lambda values: values[::-1].copy()),
    "a value just off zero": _turn("values", lambda values: np.where(values == 0, 1e-30, values)),
    "not a number": _turn("values", lambda values: values * np.nan),
    "a node twice": _turn("nodes", lambda nodes: np.where(nodes == 1, 0, nodes)),
    "negative columns": _turn("columns", lambda columns: columns - len(columns)),
    "another precision": _turn("vectors", lambda vectors: vectors.astype("float32")),
    "text": _turn("nodes", lambda nodes: nodes.astype(str)),
}


@pytest.mark.parametrize("kind", ["truncated", "flipped", "empty", "pickle", *CRAFTED])
def test_a_damaged_entry_is_said_and_made_anew(tmp_path, kind):
    expected = st.spectra(GRAPH, SIGNAL, hops=1, cache=tmp_path)
    (entry,) = tmp_path.glob("*.npz")
    damage(entry, kind)
    with pytest.warns(SpectrataWarning, match="made anew"):
        found = st.spectra(GRAPH, SIGNAL, hops=1, cache=tmp_path)
    np.testing.assert_array_equal(found["magnitude"], expected["magnitude"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        st.spectra(GRAPH, SIGNAL, hops=1, cache=tmp_path)


def test_a_folder_that_cannot_be_written_costs_only_the_cache(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.warns(SpectrataWarning, match="not cached"):
        found = st.spectra(GRAPH, SIGNAL, hops=1, cache=blocked)
    np.testing.assert_array_equal(found["magnitude"], st.spectra(GRAPH, SIGNAL, hops=1)["magnitude"])


def _one_process(folder) -> float:
    return float(st.spectra(GRAPH, SIGNAL, cache=folder)["magnitude"].sum())


def test_processes_share_a_folder(tmp_path):
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        sums = pool.map(_one_process, [tmp_path] * 6)
    assert len(set(sums)) == 1
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".npz"]


# Diameter 2


def join(*parts: nx.Graph) -> nx.Graph:
    """All parts joined to each other completely: diameter 2, and a second stratum in (at least) as many parts."""
    whole = nx.disjoint_union_all(parts)
    bounds = np.cumsum([0, *(len(part) for part in parts)])
    for a in range(len(parts)):
        for b in range(a):
            whole.add_edges_from(
                (x, y) for x in range(bounds[a], bounds[a + 1]) for y in range(bounds[b], bounds[b + 1])
            )
    return whole


DIAMETER_TWO = {
    "dense": nx.gnm_random_graph(40, 400, seed=3),
    "star": nx.star_graph(7),
    "petersen": nx.petersen_graph(),
    "join": join(nx.gnm_random_graph(12, 20, seed=1), nx.gnm_random_graph(15, 30, seed=2)),
    "with a hub": join(nx.gnm_random_graph(20, 50, seed=5), nx.empty_graph(1)),
    "bipartite": nx.complete_bipartite_graph(4, 4),
    "rings": join(nx.cycle_graph(5), nx.cycle_graph(6)),
}


@pytest.mark.parametrize("name", DIAMETER_TWO)
def test_the_second_stratum_of_diameter_two_needs_no_solve(name, monkeypatch):
    graph = DIAMETER_TWO[name]
    strat = st.Stratification(graph)
    assert strat.diameter == 2
    signal = np.random.default_rng(1).standard_normal((len(graph), 2))
    hops = solves(monkeypatch)
    found = strat.spectra(signal)
    assert hops in ([1], [1, 2])
    if name in ("dense", "petersen", "join", "with a hub"):
        assert hops == [1], "the identity was not used"
    monkeypatch.setattr(stratification, "complement", lambda first, stratum: None)
    expected = st.spectra(graph, signal)
    np.testing.assert_array_equal(found["eigenspace"], expected["eigenspace"])
    np.testing.assert_allclose(found["eigenvalue"], expected["eigenvalue"], atol=1e-11)
    for algorithm in ("gft", "apprx_ls", "in_agg"):
        ours, theirs = (ds["magnitude"].loc[algorithm, 2].values for ds in (found, expected))
        spaces = expected["eigenspace"].sel(hop=2).values
        np.testing.assert_allclose(np.bincount(spaces, ours**2), np.bincount(spaces, theirs**2), atol=1e-9)
        zeros = expected["eigenvalue"].sel(hop=2).values == 0
        np.testing.assert_allclose(ours[zeros], theirs[zeros], atol=1e-9)


def test_the_identity_gives_an_orthonormal_basis_of_the_parts():
    strat = st.Stratification(DIAMETER_TWO["join"])
    basis = complement(strat.basis(1), strat.strata.at(2))
    vectors = basis.dense()
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(vectors)), atol=1e-12)
    for part in basis.parts:
        assert np.all(np.diff(part.values) >= 0)
        np.testing.assert_allclose(basis.values[part.columns], part.values)
