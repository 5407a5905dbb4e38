"""Small graphs that are computed in stacks: each has its own spectra, and every algorithm is the registry's."""

import inspect
from dataclasses import fields, replace

import networkx as nx
import numpy as np
import pytest

import calls
import spectrata as st
from spectrata.core import registry
from spectrata.core.bases.solve import decompose
from spectrata.core.hop import Hop, Output
from spectrata.core.plan import make_plan
from spectrata.core.strata import Strata
from spectrata.errors import ResultError
from spectrata.inputs.graphs import as_graph
from spectrata.kernels import edge_sums, threads
from spectrata.many import stacked
from spectrata.many import work as many_work
from strategies import each_operator, merged

ALGORITHMS = ("gft", "apprx_ls", "in_agg", "adj_diff")


def some_graphs() -> list[nx.Graph]:
    random = [nx.gnm_random_graph(n, 2 * n, seed=n) for n in (12, 12, 12, 17, 23)]
    special = [nx.path_graph(2), nx.path_graph(12), nx.star_graph(6), nx.complete_graph(5), nx.hypercube_graph(3)]
    parts = nx.disjoint_union_all([nx.cycle_graph(4), nx.path_graph(3), nx.empty_graph(2), nx.path_graph(3)])
    return [*random, *special, parts]


def some_signals(graphs, d: int) -> list[np.ndarray]:
    rng = np.random.default_rng(d)
    return [rng.standard_normal((graph.number_of_nodes(), d)) for graph in graphs]


@pytest.fixture
def only_stacks(monkeypatch):
    """No pair may be computed alone."""

    def refuse(pair, request):
        raise AssertionError("computed alone")

    monkeypatch.setattr(many_work, "_alone", refuse)


@pytest.mark.usefixtures("only_stacks")
@each_operator
@pytest.mark.parametrize(("orientation", "d"), [("rms", 3), ("index", 1), ("random", 2)])
def test_stacks_equal_one_by_one(orientation, d, operator):
    graphs = some_graphs()
    signals = some_signals(graphs, d)
    options = {
        "orientation": orientation,
        "laplacian": operator.laplacian,
        "self_loops": operator.self_loops,
        "algorithms": [name for name in ALGORITHMS if operator.laplacian in registry.row_of(name).laplacians],
        "seed": 7,
    }
    many = calls.spectra_many(list(zip(graphs, signals, strict=True)), **options)
    for row, (graph, signal) in enumerate(zip(graphs, signals, strict=True)):
        one = calls.spectra(graph, signal, **options)
        n, hops = graph.number_of_nodes(), one.sizes["hop"]
        mine = many.isel(graph=row, hop=slice(hops), component=slice(n))
        for name in ("n_edges", "n_parts", "n_singletons", "eigenspace", "multiplicity", "is_zero", "complete"):
            np.testing.assert_array_equal(mine[name], one[name])
        np.testing.assert_allclose(mine["eigenvalue"], one["eigenvalue"], atol=1e-12)
        np.testing.assert_allclose(mine["gradient_norm"], one["gradient_norm"], rtol=1e-12)
        np.testing.assert_array_equal(mine["status"], one["status"])
        for hop in one["hop"].values:
            assert_same_hop(mine.sel(hop=hop), one.sel(hop=hop), f"graph {row}, hop {hop}")
        beyond = many.isel(graph=row, hop=slice(hops, None))
        assert beyond["magnitude"].isnull().all()
        assert (beyond["status"] == "past the diameter").all()
        assert many["magnitude"].isel(graph=row, component=slice(n, None)).isnull().all()
        assert str(mine["made_with"].values) == str(one["made_with"].values)


def assert_same_hop(mine, one, where):
    """Equal in everything that does not depend on the basis chosen inside an eigenspace."""
    spaces, single = one["eigenspace"].values, one["multiplicity"].values == 1
    for algorithm in one["algorithm"].values:
        ours, theirs = (ds["magnitude"].sel(algorithm=algorithm).values for ds in (mine, one))
        sure = single | one["is_zero"].values
        np.testing.assert_allclose(ours[sure], theirs[sure], atol=1e-9, err_msg=f"{where} {algorithm}")
        if registry.row_of(str(algorithm)).invariant({}):
            np.testing.assert_allclose(merged(ours, spaces), merged(theirs, spaces), atol=1e-9, err_msg=where)


@each_operator
def test_a_stacked_hop_answers_as_hops_do(operator):
    """Method by method, with edge weights, on graphs whose eigenvalues are all different."""
    rng = np.random.default_rng(0)
    graphs = [as_graph(nx.gnm_random_graph(9, 16, seed=seed)) for seed in (1, 2, 5)]
    pairs = np.column_stack(np.triu_indices(9, 1))
    distances = stacked.hop_distances(graphs)
    weights = np.where(distances[:, pairs[:, 0], pairs[:, 1]] == 1, rng.uniform(0.5, 2.0, (3, 36)), 0.0)
    stratum = stacked.StackedStratum(1, 9, pairs, weights)
    potential = rng.standard_normal((3, 9, 2)) + 100.0
    gradient = np.where(weights > 0, edge_sums.edge_lengths(potential, pairs), 0.0)
    work = stacked.StackedHop(stratum, stacked.decompose(stratum, operator), potential, gradient, seed=3)
    edge_values, node_values = rng.standard_normal((3, 36)), rng.standard_normal((3, 9))
    for g, graph in enumerate(graphs):
        own = weights[g] > 0
        single = replace(Strata(graph)[0], weights=weights[g][own])
        basis = decompose(single, operator)
        assert (np.diff(basis.values[basis.zeros - 1 :]) > 1e-6).all()
        hop = Hop(single, basis, potential[g][None], line=None, remember=lambda key, make: make(), seed=3)
        # Signs of eigenvectors are arbitrary; those of the stack are brought to the same.
        turned = np.sign(np.sum(work.basis.vectors[g] * basis.dense(), axis=0))

        def same(ours, theirs):
            np.testing.assert_allclose(np.ravel(ours), np.ravel(theirs), atol=1e-10)

        same(work.gradient[g][own], hop.gradient)
        same(work.total_weight[g], hop.total_weight)
        (ours, energies), (theirs, energy) = work.project(potential), hop.project(potential[g][None])
        same(turned[:, None] * ours[g], theirs)
        for sums, own_sum in zip(energies, energy, strict=True):
            np.testing.assert_allclose(sums[g], own_sum[0], rtol=1e-12)
        same(work.node_means()[g], hop.node_means())
        for orientation in ("index", "random"):
            same(work.oriented_gradient(orientation)[g][own], hop.oriented_gradient(orientation))
        flow = edge_values[g][own][None]
        (ours, energies), (theirs, energy) = work.project_divergence(edge_values), hop.project_divergence(flow)
        same(turned * ours[g], theirs)
        same(energies.off[g], energy.off)
        same(work.difference_energy.off[g], hop.difference_energy.off)
        same(work.edge_sum(edge_values)[g], hop.edge_sum(flow))
        same(work.edge_norm(edge_values)[g], hop.edge_norm(flow))
        same(work.over_eigenvalues(node_values, 0.5)[g], hop.over_eigenvalues(node_values[g][None], 0.5))
        same(work.at_zero(node_values[:, 0])[g], hop.at_zero(node_values[g, :1]))
        for ours, theirs in zip(work.difference_sums, hop.difference_sums, strict=True):
            same(ours[g], theirs)


def test_stacked_hops_have_all_that_algorithms_are_written_with():
    source = inspect.getsource(Hop)
    first_half = source[source.index("# ---- what algorithms") : source.index("# ---- for diagnostics")]
    names = [line.split("(")[0].split()[-1] for line in first_half.splitlines() if line.strip().startswith("def ")]
    given = {field.name for field in fields(stacked.StackedHop)} | set(dir(stacked.StackedHop))
    assert {*names, "xp", "diagnose", "potential", "gradient"} <= given


@pytest.mark.parametrize(
    ("options", "stacks"),
    [
        ({}, True),
        ({"algorithms": "ens", "ens_weights": "fast"}, True),
        ({"laplacian": "normalized"}, True),
        ({"algorithms": "ens"}, False),  # has ln_vx as a member
        ({"algorithms": "ln_vx", "transform": "incidence"}, False),
        ({"dtype": "float32"}, False),
        ({"n_eigs": 3}, False),
    ],
)
def test_rows_and_options_decide(options, stacks):
    given = dict(options)
    algorithms = given.pop("algorithms", None)
    settings = {name: given.pop(name) for name in ("dtype", "n_eigs") if name in given}
    plan = make_plan(algorithms, calls.by_algorithm(given), 10, **settings)
    assert stacked.can_stack(plan) is stacks
    ds = calls.spectra_many([(nx.path_graph(5), range(5))], hops=1, trials=1, max_epochs=2, **options)
    one = calls.spectra(nx.path_graph(5), range(5), trials=1, max_epochs=2, hops=1, **options)
    np.testing.assert_allclose(ds["magnitude"][0], one["magnitude"], atol=1e-5 if "dtype" in options else 1e-10)


def test_a_row_that_does_not_stack_is_computed_alone(monkeypatch):
    """A function that reads what stacks do not have, and a row that says so."""

    def edges(hop, options):
        return Output(np.full((len(hop.potential), hop.basis.n), float(len(hop.stratum.edges))))

    monkeypatch.setitem(registry.ALGORITHMS, "edges", registry.Algorithm("edges", edges))
    ds = st.spectra_many([(nx.path_graph(5), range(5)), (nx.cycle_graph(6), range(6))], algorithms="edges", hops=1)
    assert ds["magnitude"].max("component").values.ravel().tolist() == [4.0, 6.0]


@pytest.mark.usefixtures("only_stacks")
def test_a_row_that_stacks_is_stacked(monkeypatch):
    def mean(hop, options):
        return Output(hop.at_zero(hop.edge_sum(hop.gradient) / hop.total_weight))

    row = registry.Algorithm("mean", mean, stacks=True)
    monkeypatch.setitem(registry.ALGORITHMS, "mean", row)
    ds = st.spectra_many([(nx.path_graph(5), range(5)), (nx.cycle_graph(6), range(6))], algorithms="mean", hops=1)
    np.testing.assert_allclose(ds["magnitude"].max("component").values.ravel(), [1.0, 10.0 / 6.0])


def test_compiled_and_plain_sums_are_the_references(monkeypatch):
    rng = np.random.default_rng(0)
    x, y = np.triu_indices(30, 1)
    weights = rng.random((40, len(x))) * (rng.random((40, len(x))) < 0.3)
    vectors = rng.standard_normal((40, 30, 30))
    plain = edge_sums.stacked_difference_sums(weights, vectors)
    of_many = edge_sums.stacked_difference_sums(weights, vectors, graphs=10**6)
    monkeypatch.setattr(threads, "COMPILED_WORK", 0)
    compiled = edge_sums.stacked_difference_sums(weights, vectors)
    difference = weights[:, :, None] * (vectors[:, x] - vectors[:, y])
    expected = np.abs(difference).sum(axis=1), (difference**2).sum(axis=1)
    for ours, theirs, same, truth in zip(plain, compiled, of_many, expected, strict=True):
        np.testing.assert_allclose(ours, truth, rtol=1e-12)
        np.testing.assert_allclose(theirs, truth, rtol=1e-12)
        np.testing.assert_array_equal(same, theirs)


def test_stacks_are_cut_without_a_trace(monkeypatch):
    graphs = [nx.gnm_random_graph(10, 20, seed=seed) for seed in range(7)]
    pairs = list(zip(graphs, some_signals(graphs, 3), strict=True))
    whole = st.spectra_many(pairs)
    monkeypatch.setattr(stacked, "STACK_NUMBERS", 200)
    np.testing.assert_allclose(st.spectra_many(pairs)["magnitude"], whole["magnitude"], atol=1e-12)


def test_extreme_and_undefined_signals():
    graphs = [nx.path_graph(4), nx.path_graph(4)]
    tiny = np.array([1.0, 2.0, 0.5, 1.0]) * 1e-200
    ds = st.spectra_many([(graphs[0], tiny), (graphs[1], tiny * 1e200)], algorithms=ALGORITHMS)
    np.testing.assert_allclose(ds["magnitude"][0] * 1e200, ds["magnitude"][1], rtol=1e-12, atol=1e-15)
    dead = np.ones((4, 2))
    dead[2] = 0.0
    pairs = [(graphs[0], dead), (graphs[1], np.ones((4, 2)))]
    refused = st.spectra_many(pairs)
    assert refused["state"].values.tolist() == ["failed", "done"]
    assert refused["error"].values[0].startswith("ZeroVectorError: 1 nodes have a zero vector")
    ds = st.spectra_many(pairs, zero_vectors="nan")
    assert ds["magnitude"][0].isnull().all()
    assert (ds["status"][0] == "undefined: zero vector").all()
    assert ds["magnitude"][1].notnull().all()


def test_a_graph_that_is_refused_in_a_stack_fails_alone():
    """Magnitudes past double precision are those of one pair."""
    pairs = [(nx.complete_graph(40), np.where(np.arange(40) % 2, size, -size)) for size in (1.0, 1.7e308, 2.0)]
    ds = st.spectra_many(pairs, algorithms="adj_diff")
    assert ds["state"].values.tolist() == ["done", "failed", "done"]
    assert ds["error"].values[1].startswith("SignalValueError: The signal's values reach about")
    np.testing.assert_allclose(ds["magnitude"][2], 2 * ds["magnitude"][0])


@pytest.mark.parametrize("fault", ["vectors", "values", "nan", "swapped"])
def test_a_wrong_solver_is_caught(monkeypatch, fault):
    right = np.linalg.eigh

    def wrong(stack):
        values, vectors = right(stack)
        if fault == "vectors":
            vectors[-1, :, 2] = np.roll(vectors[-1, :, 2], 1)
        elif fault == "values":
            values[-1, 3] *= 1 + 1e-9
        elif fault == "nan":
            vectors[-1, 0, 1] = np.nan
        else:  # each graph is given another's
            values, vectors = values[::-1].copy(), vectors[::-1].copy()
        return values, vectors

    graphs = [nx.gnm_random_graph(20, 45, seed=seed) for seed in range(3)]
    pairs = list(zip(graphs, some_signals(graphs, 2), strict=True))
    plan = make_plan(None, {}, 20)
    distances = stacked.hop_distances([as_graph(graph) for graph in graphs], 1)
    x, y = np.triu_indices(20, 1)
    stratum = stacked.StackedStratum(1, 20, np.column_stack([x, y]), (distances[:, x, y] == 1) * 1.0)
    monkeypatch.setattr(np.linalg, "eigh", wrong)
    which = "." if fault == "swapped" else "2"  # the place of the wrong one
    words = rf"at hop 1 of graph {which} in a stack of 3 has residual .* \(at most 1e-12"
    with pytest.raises(st.errors.SolverError, match=words):
        stacked.decompose(stratum, plan.options.operator)
    if fault != "swapped":  # graphs that stand alone have no other to be swapped with
        with pytest.raises(ResultError, match="All 3 pairs failed, the first with: SolverError"):
            st.spectra_many(pairs, hops=1)


def test_what_goes_wrong_in_a_stack_is_not_hidden(monkeypatch):
    """Only what spectrata refuses fails a pair; anything else is raised."""

    def full(*given, **more):
        raise MemoryError("no room for all at once")

    monkeypatch.setattr(stacked, "decompose", full)
    with pytest.raises(MemoryError, match="no room"):
        st.spectra_many([(nx.path_graph(3), range(3))])


@pytest.mark.parametrize("hops", [None, 2, [1, 3], [2, 50]])
def test_stacked_and_alone_fill_the_same_places(monkeypatch, hops):
    graphs = some_graphs()
    pairs = list(zip(graphs, some_signals(graphs, 2), strict=True))
    together = st.spectra_many(pairs, hops=hops)
    monkeypatch.setattr(stacked, "MAX_NODES", 0)
    alone = st.spectra_many(pairs, hops=hops)
    assert together.attrs == alone.attrs
    for name in set(together.variables) - {"magnitude", "magnitude_error", "eigenvalue", "gradient_norm"}:
        np.testing.assert_array_equal(together[name], alone[name], err_msg=name)
    for name in ("eigenvalue", "gradient_norm"):
        np.testing.assert_allclose(together[name], alone[name], atol=1e-10)
    for name in ("magnitude", "magnitude_error"):
        np.testing.assert_array_equal(together[name].isnull(), alone[name].isnull())


def test_larger_graphs_are_computed_alone():
    rng = np.random.default_rng(0)
    pairs = [(nx.gnm_random_graph(n, 3 * n, seed=1), rng.standard_normal(n)) for n in (512, 513)]
    ds = st.spectra_many(pairs, hops=[1], algorithms="gft")
    for row, (graph, signal) in enumerate(pairs):
        one = st.spectra(graph, signal, "gft", hops=1)["magnitude"].values[0, 0]
        np.testing.assert_allclose(ds["magnitude"].values[row, 0, 0, : len(one)], one, atol=1e-8)
