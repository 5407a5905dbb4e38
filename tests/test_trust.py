"""Ways in which wrong data once passed silently, each with an oracle that does not use the package."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import spectrata as st
from spectrata.errors import MissingExtraError, SpectrataError

ROOT = Path(__file__).parents[1]


def ends_of_pairs(graph: nx.Graph, values: np.ndarray) -> float:
    """The correlation of the two ends of an edge, from its definition."""
    ends = np.array([(x, y) for x, y in graph.edges] + [(y, x) for x, y in graph.edges])
    return float(np.corrcoef(values[ends[:, 0]], values[ends[:, 1]])[0, 1])


def permuted_tails(graph: nx.Graph, values: np.ndarray, draws: int) -> tuple[float, float]:
    """Shares of random orders with a correlation of at most, and of at least, the observed one."""
    rng = np.random.default_rng(5)
    observed = ends_of_pairs(graph, values)
    found = np.array([ends_of_pairs(graph, rng.permutation(values)) for _ in range(draws)])
    return float(np.mean(found <= observed + 1e-12)), float(np.mean(found >= observed - 1e-12))


@pytest.mark.parametrize("of", [np.asarray, pytest.param("torch", marks=pytest.mark.needs("torch"))])
def test_a_buffer_that_is_reused_leaves_earlier_results_alone(of):
    if of == "torch":
        torch = pytest.importorskip("torch")
        of = torch.tensor
    graph, buffer = nx.path_graph(6), of(np.arange(6.0))
    ds = st.spectra(graph, buffer)
    buffer[:] = 0.0
    np.testing.assert_array_equal(ds["signal"].values.ravel(), np.arange(6.0))


def test_p_of_a_few_spikes_is_that_of_permutations():
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(40, 50, periodic=True))
    joined = nx.to_numpy_array(graph)
    rows = "0 1 400 401 800 801 130 230 330 530 630 730 930 1030 1130 1230"  # three pairs of neighbours
    places = [int(row) for row in rows.split()]
    signs = np.array([1.0] * 6 + [-1.0] * 10)
    rng = np.random.default_rng(0)
    products = []  # the signs add up to -4 in every order, so the correlation grows with the sum of products
    for _ in range(20_000):
        at = rng.choice(2000, 16, replace=False)
        products.append(signs @ joined[np.ix_(at, at)] @ signs)
    expected = 2 * np.mean(np.array(products) >= signs @ joined[np.ix_(places, places)] @ signs)
    values = np.zeros(2000)
    values[places] = signs
    p = float(st.correlogram(graph, values, hops=[1])["p"].sel(hop=1))
    assert expected / 4 < p <= max(4 * expected, 2 / 1000)  # 999 orders give no smaller one


def test_the_direction_is_that_of_the_tail_that_rejects():
    graph = nx.complete_bipartite_graph(3, 400)
    graph.add_edges_from([(3, 4), (5, 6)])
    values = np.zeros(403)
    values[3] = 100.0
    lower, upper = permuted_tails(graph, values, 400)
    found = st.diagnose(graph, values, hops=[1]).to_frame()
    kinds = set(found.loc[(found["hop"] == 1) & found["kind"].isin(["alike", "unlike", "chance"]), "kind"])
    if min(lower, upper) > 0.05:
        assert kinds == {"chance"}
    else:
        assert kinds <= {"chance", "unlike" if lower < upper else "alike"}


def test_an_eigenspace_of_most_of_the_spectrum_is_no_divide():
    graph = nx.turan_graph(60, 3)
    values = np.random.default_rng(0).normal(size=60)
    values -= np.repeat([values[:20].mean(), values[20:40].mean(), values[40:].mean()], 20)
    assert "coarse" not in set(st.diagnose(graph, values, hops=[1]).to_frame()["kind"])


def test_eigenvalues_are_not_moved_across_the_edge_of_a_band():
    graph = nx.cycle_graph(12)
    nx.set_edge_attributes(graph, 1.0, "weight")
    graph.edges[0, 1]["weight"] = 1e9
    values = np.random.default_rng(1).normal(size=12)
    laplacian = nx.laplacian_matrix(graph).toarray()
    lam, vectors = np.linalg.eigh(laplacian)
    wanted = (lam > 0.2) & (lam <= 1.1)  # an eigenvalue is 1: an edge there would ask for its last bit
    expected = vectors[:, wanted] @ (vectors[:, wanted].T @ values)
    found = st.filter_signal(graph, values, band=(0.2, 1.1), weights="weight").values.ravel()
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_one_column_is_not_compared_with_three():
    graph, rng = nx.path_graph(6), np.random.default_rng(0)
    one = st.spectra(graph, rng.normal(size=6), "gft")
    three = st.spectra(graph, rng.normal(size=(6, 3)), "gft", columns="separate")
    with pytest.raises(SpectrataError, match="column"):
        st.compare(one, three)


def test_a_file_without_an_option_says_what_is_missing(tmp_path):
    ds = st.spectra(nx.path_graph(6), np.arange(6.0), "gft")
    ds.attrs["options"] = json.dumps({})
    refusals = 0
    for read in (st.summary, st.diagnose, lambda ds: st.write_report(ds, path=tmp_path / "page.html"), st.plot.spectra):
        try:
            read(ds)
        except MissingExtraError:
            continue
        except SpectrataError as error:
            refusals += 1
            assert "options" in str(error)  # noqa: PT017 - both outcomes are right, another kind of error is not
    assert refusals or st.diagnose(ds)


def tool(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_a_locked_package_manager_does_not_fail_the_tests(tmp_path):
    tool(tmp_path, "apt-get", "exit 100")
    tool(tmp_path, "id", "echo 0")
    for name in ("make", "sh", "bash", "getconf", "echo"):
        if (found := shutil.which(name)) is not None:
            os.symlink(found, tmp_path / name)
    environment = {key: value for key, value in os.environ.items() if key not in ("CI", "SPECTRATA_CHROMIUM")}
    done = subprocess.run(
        ["make", "browser"], cwd=ROOT, env=environment | {"PATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "skipped" in done.stdout + done.stderr
