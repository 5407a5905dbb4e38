"""Edge weights in every call that takes a graph: the same arguments, the same numbers."""

import json
import warnings

import networkx as nx
import numpy as np
import pytest

import brute
import spectrata as st
from commanding import run
from spectrata.errors import InputError, OptionError
from spectrata.inputs.graphs import as_graph
from spectrata.plot.positions import given_places
from test_report import data_of, unpacked


def weighted(seed=0, n=12):
    """A connected random graph with the attribute ``w``."""
    graph = nx.connected_watts_strogatz_graph(n, 4, 0.3, seed=seed)
    random = np.random.default_rng(seed)
    for edge in graph.edges.values():
        edge["w"] = float(random.uniform(0.2, 3.0))
    return graph


def merged(ds):
    return st.merge_eigenspaces(ds)["magnitude"].values


def signal_on(graph, seed=1, d=3):
    return np.random.default_rng(seed).normal(size=(len(graph), d))


# ---- numbers


def as_ordered(graph):
    ordered = nx.Graph()
    ordered.add_nodes_from(sorted(graph))
    ordered.add_edges_from(graph.edges(data=True))
    return ordered


def test_mean_average_distance_with_weights():
    graph = weighted()
    x = signal_on(graph)
    found = st.smoothness(graph, x, weights="w", hops=2)
    for hop in (1, 2):
        w = brute.pair_weights(graph, hop, "bottleneck")
        degree = w.sum(axis=0)
        at = found.sel(hop=hop)
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        apart = 1 - unit @ unit.T
        assert float(at["mad"]) == pytest.approx(np.mean((w * apart).sum(axis=1) / degree))
        assert float(at["mad_sum"]) == pytest.approx(np.mean((w * apart).sum(axis=1)))


# ---- refusals and warnings


def test_a_stratification_has_its_own():
    graph = weighted()
    strat, x = st.Stratification(graph, hops=2), signal_on(graph)
    calls = [
        lambda **more: st.calibrate(strat, x, **more),
        lambda **more: st.smoothness(strat, x, **more),
        lambda **more: st.response(x, x, strat, **more),
        lambda **more: st.plot.strata(strat, **more),
    ]
    for call in calls:
        for given in ({"weights": "w"}, {"hops": 1}):
            with pytest.raises(OptionError, match=f"leave out {next(iter(given))}"):
                call(**given)


def test_a_result_has_its_own():
    graph = weighted()
    ds = st.spectra(graph, signal_on(graph), weights="w", hops=2)
    for call in (st.diagnose, st.plot.strata, lambda ds, **more: st.response(ds, ds, **more)):
        with pytest.raises(OptionError, match="A result has its graph read already; leave out weights"):
            call(ds, weights="w")


def test_what_has_no_weights_is_refused():
    graph = weighted()
    x = signal_on(graph)
    with pytest.raises(OptionError, match="swaps edges and leaves them no weights"):
        st.calibrate(graph, x, null="rewire", level="band", weights="w")
    with pytest.raises(OptionError, match="ln_vx: not defined for edge weights"):
        st.spectra_many([(graph, x)], algorithms="ln_vx", weights="w")
    with pytest.raises(OptionError, match="is for all graphs"):
        st.spectra_many([(graph, x)], weights=np.ones(3))
    with pytest.raises(OptionError, match="hop_weights='mean' is not one of"):
        st.spectra_many([(graph, x)], stratification={"hop_weights": "mean"})


def test_ignored_weights_are_announced_once():
    graph = as_ordered(weighted())
    nx.set_edge_attributes(graph, 2.0, "weight")
    x = signal_on(graph)
    for call in (st.calibrate, st.smoothness, st.diagnose):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            call(graph, x, hops=1)
        assert [str(one.message)[:12] for one in seen] == ["Ignoring edg"]


def test_directed_graphs():
    graph = nx.DiGraph([(0, 1), (1, 2), (2, 0), (0, 2)])
    x = [1.0, 2.0, 4.0]
    with pytest.raises(InputError, match="undirected=True"):
        st.smoothness(graph, x)
    found = st.smoothness(st.Stratification(graph, undirected=True), x)
    assert float(found["dirichlet"][0]) == 1 + 4 + 9
    many = st.spectra_many([("a", graph, x)], stratification={"undirected": True})
    assert many["state"].values.tolist() == ["done"]


# ---- pictures and the page


def test_positions():
    graph = as_graph(edges=[(0, 1), (1, 2)])
    places = given_places(np.array([[0.0, 0.0, 9.0], [4.0, 0.0, 1.0], [4.0, 2.0, 5.0]]), graph)
    assert places.tolist() == [[-1.0, -0.5], [1.0, -0.5], [1.0, 0.5]]
    assert given_places(None, graph) is None
    with pytest.raises(OptionError, match=r"pos= has shape \(3, 4\)"):
        given_places(np.ones((3, 4)), graph)
    with pytest.raises(OptionError, match="pos= is not understood: "):
        given_places(np.ones((4, 2)), graph)


def placed_grid():
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 5), label_attribute="pos")
    return graph, np.array([graph.nodes[node]["pos"] for node in graph], dtype=float)


def test_a_page_uses_the_positions():
    graph, places = placed_grid()
    ds = st.spectra(graph, range(20), hops=1)
    wanted = (places - places.mean(axis=0)) / 2
    for strat, pos in ((st.Stratification(graph, hops=1), None), (None, dict(enumerate(places)))):
        found = data_of(
            st.write_report(ds if strat is None else strat, None if strat is None else np.arange(20.0), pos=pos)
        )
        np.testing.assert_allclose(unpacked(found["drawing"]["places"]) / 32767, wanted, atol=1e-4)
    drawn = data_of(st.write_report(ds))["drawing"]
    assert not np.allclose(unpacked(drawn["places"]) / 32767, wanted, atol=1e-2)


def test_pictures_use_the_positions():
    graph, places = placed_grid()
    axes = st.plot.strata(graph, hops=1)
    ends = axes[1].collections[0].get_segments()
    wanted = ((places - places.mean(axis=0)) / 2)[as_graph(graph).edges]
    np.testing.assert_allclose(np.array(ends), wanted)


def test_the_header_of_a_page(tmp_path):
    graph = weighted()
    ds = st.spectra(graph, signal_on(graph), weights="w", hops=2, laplacian="random_walk", self_loops=True)
    data = data_of(st.write_report(ds))
    weights = "edge weights (a pair beyond one hop has the smallest edge weight on its best shortest path: bottleneck)"
    assert weights in data["facts"]
    assert "random_walk with self-loops" in dict(data["made"])["given result"]
    with pytest.raises(OptionError, match="has its graph read already"):
        st.write_report(ds, path=tmp_path / "b.html", weights=False)


def test_a_page_of_several_weighted_results(tmp_path):
    strat = st.Stratification(weighted(), hops=1, weights="w")
    results = {name: strat.spectra(signal_on(strat.graph.names, seed)) for name, seed in (("a", 1), ("b", 2))}
    assert st.write_report(results, path=tmp_path / "a.html").path.is_file()


# ---- the command line


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    graph = weighted()
    nx.write_graphml(graph, "g.graphml")
    x = signal_on(graph)
    rows = [f"{node},{','.join(map(repr, map(float, x[node])))}" for node in graph]
    (tmp_path / "x.csv").write_text("node,left,right,up\n" + "\n".join(rows) + "\n")
    return graph, x


def test_profile_with_some_components(files):
    words = ["profile", "g.graphml", "x.csv", "--hops", "1", "--algorithms", "gft", "-o", "out"]
    result = run(*words, "--n-eigs", "4", "--which", "highest", "--json")
    assert result.exit_code == 0, result.output
    options = json.loads(result.stdout)["options"]
    assert (options["n_eigs"], options["which"]) == (4, "highest")
    assert st.open("out/spectra.nc").sizes["component"] == 4
    refused = run(*words, "--n-eigs", "4", "--report")
    assert refused.exit_code == 2
    assert "--report does not go with --n-eigs" in refused.stderr
    refused = run(*words, "--n-eigs", "4", "--which", "middle")
    assert refused.exit_code == 2
    assert "--which middle" in refused.stderr


def test_profile_with_a_cache(files, tmp_path):
    words = ["profile", "g.graphml", "x.csv", "--hops", "1", "--cache", "bases", "--weights", "w"]
    assert run(*words, "-o", "one").exit_code == 0
    kept = sorted(path.name for path in (tmp_path / "bases").rglob("*") if path.is_file())
    assert kept
    assert run(*words, "-o", "two").exit_code == 0
    assert sorted(path.name for path in (tmp_path / "bases").rglob("*") if path.is_file()) == kept
    np.testing.assert_array_equal(*(merged(st.open(f"{name}/spectra.nc")) for name in ("one", "two")))


def test_profile_with_zero_vectors(files, tmp_path):
    _, x = files
    x[3] = 0.0
    np.save(tmp_path / "x.npy", x)
    words = ["profile", "g.graphml", "x.npy", "--hops", "1", "--algorithms", "gft", "-o", "out"]
    assert run(*words).exit_code == 2
    result = run(*words, "--zero-vectors", "zero", "--draws", "39", "--report")
    assert result.exit_code == 0, result.output


def test_strata_with_weights(files):
    graph, _ = files
    result = run("strata", "g.graphml", "--weights", "w", "--hops", "2", "--json")
    found = json.loads(result.stdout)["hops"]
    for row in found:
        wanted = brute.pair_weights(graph, row["hop"], "bottleneck").sum() / 2
        assert row["total_weight"] == pytest.approx(wanted)
    assert "total weight" in run("strata", "g.graphml", "--weights", "w", "--hops", "2").stdout
    assert "total weight" not in run("strata", "g.graphml", "--hops", "2").stdout


@pytest.mark.needs("zarr")
def test_many_on_the_command_line(files, tmp_path):
    graph, x = files
    (tmp_path / "all.csv").write_text("graph,signal,name\ng.graphml,x.csv,one\n")
    result = run("profile", "--many", "all.csv", "--weights", "w", "--hops", "1", "-o", "out")
    assert result.exit_code == 0, result.output
    found = st.open_many("out/spectra.zarr")
    wanted = st.spectra(nx.relabel_nodes(graph, str), x, hops=1, weights="w")
    np.testing.assert_allclose(found["eigenvalue"].values[0], wanted["eigenvalue"].values, atol=1e-10)
    refused = run("profile", "--many", "all.csv", "--cache", "bases")
    assert refused.exit_code == 2
    assert "--cache does not go with --many" in refused.stderr


def test_bands_on_the_command_line(files):
    graph, x = files
    words = ["profile", "g.graphml", "x.csv", "--bands", "4", "--weights", "w", "--columns", "joint"]
    words += ["--algorithms", "gft", "-o", "out"]
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    wanted = st.band_spectra(nx.relabel_nodes(graph, str), x, 4, algorithms="gft", weights="w")
    np.testing.assert_allclose(document["energy"], wanted["energy"].values, atol=1e-10)
    assert "weighted" in run(*words).stdout
    assert run(*words[:5], "--weights", "false", "-o", "out").exit_code == 0
