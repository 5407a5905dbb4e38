"""Edge weights in every call that takes a graph: the same arguments, the same numbers."""

import json
import warnings
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

import brute
import calls
import spectrata as st
from commanding import run
from spectrata.errors import InputError, OptionError, ResultError, SpectrataWarning
from spectrata.inputs.graphs import as_graph
from spectrata.plot.places import given_places
from spectrata.report.contents import contents
from spectrata.report.layout import drawing
from spectrata.report.page import graph_line
from spectrata.results.schema import view

RULES = ("bottleneck", "product", "unit")
INVARIANT = ["gft", "apprx_ls", "in_agg"]


def weighted(seed=0, n=12):
    """A connected random graph with the attribute ``w``."""
    graph = nx.connected_watts_strogatz_graph(n, 4, 0.3, seed=seed)
    random = np.random.default_rng(seed)
    for edge in graph.edges.values():
        edge["w"] = float(random.uniform(0.2, 3.0))
    return graph


def pair_weights(graph, hop, rule):
    """Weighted adjacency of one stratum by a search over all shortest paths."""
    n = len(graph)
    matrix = np.zeros((n, n))
    for x, y in ((x, y) for x in range(n) for y in range(n) if x != y):
        if nx.shortest_path_length(graph, x, y) != hop:
            continue
        paths = [[graph[a][b]["w"] for a, b in pairwise(path)] for path in nx.all_shortest_paths(graph, x, y)]
        if hop == 1:
            matrix[x, y] = paths[0][0]
        else:
            matrix[x, y] = {
                "bottleneck": max(min(path) for path in paths),
                "product": max(float(np.prod(path)) for path in paths),
                "unit": 1.0,
            }[rule]
    return matrix


def merged(ds):
    return st.merge_eigenspaces(ds)["magnitude"].values


def signal_on(graph, seed=1, d=3):
    return np.random.default_rng(seed).normal(size=(len(graph), d))


# ---- numbers


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("laplacian", ["combinatorial", "random_walk"])
def test_many_graphs_against_brute_force(rule, laplacian):
    graphs = [weighted(seed) for seed in range(3)] + [weighted(9, 15)]
    pairs = [(str(i), graph, signal_on(graph, i)) for i, graph in enumerate(graphs)]
    found = st.spectra_many(pairs, weights="w", stratification={"hop_weights": rule}, laplacian=laplacian, hops=2)
    assert found["state"].values.tolist() == ["done"] * 4
    assert found.attrs["weights"] == rule
    for name, graph, values in pairs:
        one, n = found.sel(graph=name), len(graph)
        t = brute.potential(values, "angular")
        for hop in (1, 2):
            op = brute.operator(pair_weights(graph, hop, rule), laplacian)
            np.testing.assert_allclose(one["eigenvalue"].sel(hop=hop).values[:n], op.values, atol=1e-10)
            for algorithm in INVARIANT:
                got = one["magnitude"].sel(hop=hop, algorithm=algorithm).values[:n]
                want = brute.merged(brute.magnitudes(algorithm, op, t), op.space)
                np.testing.assert_allclose(brute.merged(got, op.space), want, atol=1e-10)


def test_many_graphs_in_stacks_and_alone_agree():
    graphs = [weighted(seed, 10) for seed in range(4)]
    pairs = [(str(i), graph, signal_on(graph, i)) for i, graph in enumerate(graphs)]
    found = st.spectra_many(pairs, weights="w", algorithms=INVARIANT)
    for name, graph, values in pairs:
        one = st.spectra(graph, values, INVARIANT, weights="w")
        here = found.sel(graph=name).isel(hop=slice(one.sizes["hop"]))
        for hop in range(one.sizes["hop"]):
            space = one["eigenspace"].values[hop]
            for index in range(len(INVARIANT)):
                got, want = (brute.merged(ds["magnitude"].values[index, hop], space) for ds in (here, one))
                np.testing.assert_allclose(got, want, atol=1e-10)


def test_many_graphs_that_were_read_with_weights():
    graph = weighted()
    strat = st.Stratification(graph, hops=1, weights="w")
    found = st.spectra_many([("a", strat.graph, signal_on(graph))], hops=1)
    assert found.attrs["weights"] == "bottleneck"
    np.testing.assert_allclose(found["eigenvalue"].values[0], strat.spectra(signal_on(graph))["eigenvalue"].values)


def test_a_store_of_other_weights_is_not_continued(tmp_path):
    pairs = [("a", weighted(), signal_on(weighted()))]
    st.spectra_many(pairs, store=tmp_path / "s.zarr", weights="w", hops=2)
    with pytest.raises(OptionError, match="holds another run"):
        st.spectra_many(
            pairs, store=tmp_path / "s.zarr", weights="w", stratification={"hop_weights": "product"}, hops=2
        )
    with pytest.raises(OptionError, match="holds another run"):
        st.spectra_many(pairs, store=tmp_path / "s.zarr", weights=False, hops=2)


CALLS = {
    "spectra": lambda graph, x, **more: calls.spectra(graph, x, **more)["magnitude"],
    "many": lambda graph, x, **more: calls.spectra_many([(graph, x)], **more)["magnitude"].isel(graph=0),
    "calibrate": lambda graph, x, **more: calls.with_graph(st.calibrate, graph, x, draws=39, **more)["share"],
    "smoothness": lambda graph, x, **more: calls.with_graph(st.smoothness, graph, x, **more)["dirichlet"],
    "response": lambda graph, x, **more: calls.with_graph(
        lambda strat, **rest: st.response(x, x[::-1], strat, **rest)["response"], graph, **more
    ),
}


def attribute_of_ones(graph):
    ones = nx.Graph(graph.edges)
    nx.set_edge_attributes(ones, 1.0, "w")
    return as_ordered(ones)


def as_ordered(graph):
    ordered = nx.Graph()
    ordered.add_nodes_from(sorted(graph))
    ordered.add_edges_from(graph.edges(data=True))
    return ordered


@pytest.mark.parametrize("name", CALLS)
def test_weights_of_one_change_nothing(name):
    graph = attribute_of_ones(weighted())
    x = signal_on(graph)
    plain, ones = (CALLS[name](graph, x, hops=2, weights=w).values for w in (False, "w"))
    np.testing.assert_allclose(ones, plain, atol=1e-10)


@pytest.mark.parametrize("name", CALLS)
def test_a_graph_with_weights_is_its_stratification(name):
    graph = weighted()
    x = signal_on(graph)
    strat = st.Stratification(graph, hops=2, weights="w", hop_weights="product")
    given = strat.graph if name in ("spectra", "many") else strat
    more = {"hops": 2, "hop_weights": "product"} if name in ("spectra", "many") else {}
    wanted = CALLS[name](given, x, **more).values
    found = CALLS[name](graph, x, hops=2, weights="w", hop_weights="product").values
    np.testing.assert_allclose(found, wanted, atol=1e-10)
    assert not np.allclose(found, CALLS[name](graph, x, hops=2, weights=False).values)


def test_scaled_weights():
    graph = weighted()
    scaled = graph.copy()
    for edge in scaled.edges.values():
        edge["w"] *= 8.0
    x = signal_on(graph)
    for laplacian in ("combinatorial", "random_walk", "normalized"):
        one, other = (
            st.spectra(g, x, "gft", weights="w", laplacian=laplacian)["eigenvalue"].values for g in (graph, scaled)
        )
        factor = 8.0 if laplacian == "combinatorial" else 1.0
        np.testing.assert_allclose(other, factor * one, atol=1e-10)
    one, other = (st.smoothness(g, x, weights="w") for g in (graph, scaled))
    np.testing.assert_allclose(other["dirichlet"], 8.0 * one["dirichlet"])
    for name in ("dirichlet_normalized", "mad", "off_zero"):
        np.testing.assert_allclose(other[name], one[name])


def test_smoothness_by_its_definitions():
    graph = weighted()
    x = signal_on(graph)
    found = st.smoothness(graph, x, weights="w", hops=2)
    for hop in (1, 2):
        w = pair_weights(graph, hop, "bottleneck")
        degree = w.sum(axis=0)
        at = found.sel(hop=hop)
        laplacian = np.diag(degree) - w
        assert float(at["dirichlet"]) == pytest.approx(np.trace(x.T @ laplacian @ x))
        normal = laplacian / np.sqrt(np.outer(degree, degree))
        assert float(at["dirichlet_normalized"]) == pytest.approx(np.trace(x.T @ normal @ x))
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        apart = 1 - unit @ unit.T
        assert float(at["mad"]) == pytest.approx(np.mean((w * apart).sum(axis=1) / degree))
        assert float(at["mad_sum"]) == pytest.approx(np.mean((w * apart).sum(axis=1)))


def test_chance_of_weighted_graphs_against_brute_force():
    graph = weighted(n=7)
    x = signal_on(graph)
    found = st.calibrate(graph, x, draws=0, hops=1, weights="w", level="component").sel(algorithm="gft", hop=1)
    op, t = brute.operator(pair_weights(graph, 1, "unit")), brute.potential(x, "angular")
    energy = brute.gft(op, t) ** 2
    np.testing.assert_allclose(found["share"][1:], energy[1:] / energy[1:].sum())
    mean = np.array([brute.null_moments(op, t, [component])[0] for component in range(1, 7)])
    np.testing.assert_allclose(found["chance"][1:], mean / mean.sum())


def test_diagnose_reads_a_graph():
    graph = nx.planted_partition_graph(2, 20, 0.5, 0.05, seed=1)
    for x, y, edge in graph.edges(data=True):
        edge["w"] = 5.0 if (x < 20) == (y < 20) else 0.1
    blocks = np.random.default_rng(0).normal(size=(40, 3)) + 2 * (np.arange(40) < 20)[:, None]
    strat = st.Stratification(graph, hops=1, weights="w")
    found, wanted = st.diagnose(graph, blocks, hops=1, weights="w"), st.diagnose(strat, blocks)
    assert [one.text for one in found] == [one.text for one in wanted]
    assert "coarse" in found.kinds


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
        assert [str(one.message)[:12] for one in seen] == ["Edge weights"]


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
        found = drawing(contents(view(ds), strat, None, 10), pos)
        np.testing.assert_allclose(found.places, wanted)
    assert not np.allclose(drawing(contents(view(ds), None, None, 10)).places, wanted)


def test_pictures_use_the_positions():
    graph, places = placed_grid()
    axes = st.plot.strata(graph, hops=1)
    ends = axes[1].collections[0].get_segments()
    wanted = ((places - places.mean(axis=0)) / 2)[as_graph(graph).edges]
    np.testing.assert_allclose(np.array(ends), wanted)


def test_the_header_of_a_page(tmp_path):
    graph = weighted()
    ds = st.spectra(graph, signal_on(graph), weights="w", hops=2, laplacian="random_walk", self_loops=True)
    line = graph_line(contents(view(ds), None, None, 10))
    weights = "edge weights (a pair beyond one hop has the smallest edge weight on its best shortest path: bottleneck)"
    assert line.endswith(f"{weights}; Laplacian: random_walk with self-loops")
    page = st.write_report(ds, tmp_path / "a.html", graph, weights="w")
    assert line.replace(">", "\\u003e") in page.path.read_text(encoding="utf-8")
    with pytest.raises(ResultError, match="other edge weights"):
        st.write_report(ds, tmp_path / "b.html", graph, weights=False)
    with pytest.raises(ResultError, match="hop_weights='product'"):
        st.write_report(ds, tmp_path / "b.html", graph, weights="w", hop_weights="product")


def test_a_page_of_several_weighted_results(tmp_path):
    strat = st.Stratification(weighted(), hops=1, weights="w")
    results = {name: strat.spectra(signal_on(strat.graph.names, seed)) for name, seed in (("a", 1), ("b", 2))}
    assert st.write_report(results, tmp_path / "a.html", strat).path.is_file()
    assert st.write_report(results, tmp_path / "b.html").path.is_file()


# ---- the command line


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    graph = weighted()
    nx.write_graphml(graph, "g.graphml")
    x = signal_on(graph)
    rows = [f"{node},{','.join(map(repr, map(float, x[node])))}" for node in graph]
    (tmp_path / "x.csv").write_text("node,left,right,up\n" + "\n".join(rows) + "\n")
    (tmp_path / "one_way.gml").write_text(
        "graph [ directed 1 node [ id 0 ] node [ id 1 ] node [ id 2 ] edge [ source 0 target 1 capacity 2.5 ] "
        "edge [ source 1 target 2 capacity 4 ] ]"
    )
    return graph, x


def test_profile_with_weights(files):
    graph, x = files
    words = ["--weights", "w", "--hop-weights", "product", "--laplacian", "random_walk", "--hops", "2"]
    result = run("profile", "g.graphml", "x.csv", *words, "--json", "-o", "out")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    facts = {name: document["graph"][name] for name in ("weights", "hop_weights", "undirected")}
    assert facts == {"weights": "w", "hop_weights": "product", "undirected": False}
    named = nx.relabel_nodes(graph, str)
    wanted = st.spectra(
        st.Stratification(named, hops=2, weights="w", hop_weights="product"), x, laplacian="random_walk"
    )
    np.testing.assert_allclose(merged(st.open("out/spectra.nc")), merged(wanted), atol=1e-10)


def test_profile_says_how_columns_are_read(files):
    result = run("profile", "g.graphml", "x.csv", "--hops", "1", "-o", "out")
    (line,) = [one for one in result.stderr.splitlines() if "columns" in one]
    assert "3 columns (left, right, up) are read as one vector" in line
    assert "direction; --columns separate reads each by itself, and --metric euclidean" in line
    for metric in ("euclidean", "angular"):
        assert (
            "columns" not in run("profile", "g.graphml", "x.csv", "--hops", "1", "--metric", metric, "-o", "out").stderr
        )


@pytest.mark.needs("plotly")
def test_profile_with_some_components(files):
    words = ["profile", "g.graphml", "x.csv", "--hops", "1", "--algorithms", "gft", "-o", "out"]
    result = run(*words, "--n-eigs", "4", "--which", "highest", "--json")
    assert result.exit_code == 0, result.output
    options = json.loads(result.stdout)["options"]
    assert (options["n_eigs"], options["which"]) == (4, "highest")
    assert st.open("out/spectra.nc").sizes["component"] == 4
    for more in (["--calibrate", "--draws", "39"], ["--report"]):
        refused = run(*words, "--n-eigs", "4", *more)
        assert refused.exit_code == 2
        assert "leave out --n-eigs" in refused.stderr
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


@pytest.mark.needs("plotly")
def test_profile_with_zero_vectors(files, tmp_path):
    _, x = files
    x[3] = 0.0
    np.save(tmp_path / "x.npy", x)
    words = ["profile", "g.graphml", "x.npy", "--hops", "1", "-o", "out"]
    assert run(*words).exit_code == 2
    result = run(*words, "--zero-vectors", "zero", "--calibrate", "--draws", "39", "--report")
    assert result.exit_code == 0, result.output


def test_strata_with_weights(files):
    graph, _ = files
    result = run("strata", "g.graphml", "--weights", "w", "--hops", "2", "--json")
    found = json.loads(result.stdout)["hops"]
    for row in found:
        wanted = pair_weights(graph, row["hop"], "bottleneck").sum() / 2
        assert row["total_weight"] == pytest.approx(wanted)
    assert "total weight" in run("strata", "g.graphml", "--weights", "w", "--hops", "2").stdout
    assert "total weight" not in run("strata", "g.graphml", "--hops", "2").stdout


def test_directed_files(files):
    refused = run("strata", "one_way.gml")
    assert refused.exit_code == 2
    assert "undirected" in refused.stderr
    words = ["strata", "one_way.gml", "--undirected", "--weights", "capacity", "--json"]
    document = json.loads(run(*words).stdout)
    assert document["graph"]["undirected"] is True
    assert document["hops"][0]["total_weight"] == 6.5


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
    assert "--cache cannot be used with" in refused.stderr


def test_bands_on_the_command_line(files):
    graph, x = files
    words = ["profile", "g.graphml", "x.csv", "--bands", "4", "--weights", "w", "--algorithms", "gft", "-o", "out"]
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["weights"], document["hop_weights"], document["undirected"]) == ("w", "bottleneck", False)
    wanted = st.band_spectra(nx.relabel_nodes(graph, str), x, 4, algorithms="gft", weights="w")
    np.testing.assert_allclose(document["energy"], wanted["energy"].values, atol=1e-10)
    assert "smallest edge weight on its best shortest path: bottleneck)" in " ".join(run(*words).stdout.split())
    assert run(*words[:5], "--weights", "false", "-o", "out").exit_code == 0


def test_labels_are_no_signal(files, tmp_path):
    graph, _ = files
    nx.set_node_attributes(graph, dict.fromkeys(graph, "red"), "color")
    with pytest.raises(InputError, match=r"use st\.homophily"):
        st.spectra(graph, "color", weights=False)


def test_nothing_warns_of_weights_that_are_used():
    with warnings.catch_warnings():
        warnings.simplefilter("error", SpectrataWarning)
        st.smoothness(weighted(), signal_on(weighted()), weights="w")
