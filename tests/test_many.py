"""Many graphs: any executor gives the same Dataset, failures are recorded, a killed run goes on."""

import csv
import multiprocessing
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import networkx as nx
import numpy as np
import pytest
from typer.testing import CliRunner

import calls
import spectrata as st
from many_cases import make_pairs
from spectrata.cli.app import app
from spectrata.core import registry
from spectrata.core.hop import Output
from spectrata.errors import OptionError, ResultError, SpectrataError
from spectrata.inputs.graphs import as_graph
from spectrata.many import work
from spectrata.many.store import open_many
from spectrata.results.schema import FIELDS, check, each_graph, options_of, view


def test_failures_say_why():
    pairs = make_pairs(9, bad=(4,))
    ds = st.spectra_many(pairs, chunk=3)
    assert ds["state"].values.tolist() == ["done"] * 4 + ["failed"] + ["done"] * 4
    assert ds["error"].values[4].startswith("NodeCountError: The signal has")
    assert np.isnan(ds["magnitude"].values[4]).all()
    for i in (0, 5, 8):  # the numbers are compared in test_many_stacked
        assert ds["graph_hash"][i] == st.spectra(pairs[i][1], pairs[i][2]).attrs["graph_hash"]


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_any_executor_gives_the_same_bits(kind, tmp_path):
    pairs = [*make_pairs(20, bad=(3,)), ("large", nx.path_graph(520), np.arange(520.0))]
    expected = st.spectra_many(pairs, hops=2, chunk=4)
    context = multiprocessing.get_context("spawn")
    with ThreadPoolExecutor(3) if kind == "threads" else ProcessPoolExecutor(2, context) as executor:
        found = st.spectra_many(pairs, executor, tmp_path / "run.zarr", hops=2, chunk=4)
    assert found.load().identical(expected)
    assert open_many(tmp_path / "run.zarr").load().identical(expected)
    assert expected.sizes["component"] == 520


class Breaking(Executor):
    """Does three tasks in any order but the given, then breaks."""

    def __init__(self):
        self.given, self._max_workers = [], 2

    def submit(self, function, /, *arguments):
        future = Future()
        self.given.append(arguments)
        if len(self.given) > 3:
            from concurrent.futures import BrokenExecutor

            future.set_exception(BrokenExecutor("the pool is gone"))
        else:
            future.set_result(function(*arguments))
        return future


@pytest.fixture
def computed(monkeypatch):
    """First positions of the chunks that are computed, in this process."""
    first, before = [], work._computed

    def counted(pairs, request):
        first.append(pairs[0].index)
        return before(pairs, request)

    monkeypatch.setattr(work, "_computed", counted)
    return first


def test_a_broken_run_resumes_and_repeats_nothing(tmp_path, computed):
    pairs, store = make_pairs(24, bad=(1,)), tmp_path / "run.zarr"
    with pytest.raises(SpectrataError, match="call again"):
        st.spectra_many(pairs, Breaking(), store, chunk=4)
    done = open_many(store)["state"].values != "missing"
    assert 0 < done.sum() < 24
    computed.clear()
    ds = st.spectra_many(pairs, store=store, chunk=4)
    assert computed == [first for first in range(0, 24, 4) if not done[first]]
    assert ds.load().identical(st.spectra_many(pairs, chunk=4))
    computed.clear()
    with ThreadPoolExecutor(1) as executor:
        st.spectra_many(pairs, executor, store, chunk=4)
    assert computed == []
    name, graph, signal = pairs[1]
    mended = [pairs[0], (name, graph, np.vstack([signal, signal[:1]])), *pairs[2:]]
    fixed = st.spectra_many(mended, store=store, chunk=4)
    assert computed == [0]  # the chunk of the pair that failed
    assert set(fixed["state"].values) == {"done"}
    expected = st.spectra_many(mended, chunk=4)
    np.testing.assert_allclose(fixed["magnitude"], expected["magnitude"], atol=1e-10)


def test_a_run_killed_when_its_store_had_grown_shows_every_component(tmp_path, monkeypatch):
    """Grown, and not yet committed: the same call has nothing left to grow, and commits all the same."""
    import zarr

    pairs = [(str(n), nx.path_graph(n), np.arange(float(n))) for n in (5, 9)]
    given = {"chunk": 1, "algorithms": "gft", "hops": 1}
    commits, commit = [], zarr.consolidate_metadata

    def killed(*given, **more):
        commits.append(1)
        if len(commits) == 3:  # the first commits the empty store
            raise KeyboardInterrupt
        return commit(*given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(zarr, "consolidate_metadata", killed)
        with pytest.raises(KeyboardInterrupt):
            st.spectra_many(pairs, store=tmp_path / "run.zarr", **given)
    found = st.spectra_many(pairs, store=tmp_path / "run.zarr", **given)
    assert found["state"].values.tolist() == ["done", "done"]
    assert found.load().identical(st.spectra_many(pairs, store=tmp_path / "other.zarr", **given).load())


def test_a_task_that_fails_as_a_whole_is_taken_apart():
    class Poisoned(Breaking):
        def submit(self, function, /, *arguments):
            future = Future()
            if any(job.index == 2 for job in arguments[0]):
                future.set_exception(RuntimeError("worker died"))
            else:
                future.set_result(function(*arguments))
            return future

    ds = st.spectra_many(make_pairs(8), Poisoned(), chunk=4)
    assert ds["state"].values.tolist() == ["done", "done", "failed"] + ["done"] * 5
    assert ds["error"].values[2] == "RuntimeError: worker died"


def test_other_runs_and_bad_pairs_are_refused(tmp_path):
    pairs, store = make_pairs(3), tmp_path / "run.zarr"
    st.spectra_many(pairs, store=store)
    for other in ({"hops": 1}, {"algorithms": "gft"}, {"chunk": 2}):
        with pytest.raises(OptionError, match="another run"):
            st.spectra_many(pairs, store=store, **other)
    with pytest.raises(OptionError, match="names of the pairs"):
        st.spectra_many([("other", *pair[1:]) if i == 0 else pair for i, pair in enumerate(pairs)], store=store)
    with pytest.raises(OptionError, match="no pair"):
        st.spectra_many([])
    with pytest.raises(OptionError, match="twice"):
        st.spectra_many([pairs[0], pairs[0]])
    with pytest.raises(OptionError, match=r"Pair 0"):
        st.spectra_many(["graph.gml"])
    with pytest.raises(OptionError, match=r"\.zarr"):
        st.spectra_many(pairs, store=tmp_path / "run")
    with pytest.raises(ResultError, match="All 1 pairs failed"):
        st.spectra_many(make_pairs(1, bad=(0,)))
    with pytest.raises(ResultError, match="does not exist"):
        open_many(tmp_path / "nowhere.zarr")


def test_bad_arguments_are_refused_before_any_pair_is_read():
    pair = [(nx.path_graph(3), [1.0, 2.0, 4.0])]
    for arguments, words in (
        ({"chunk": 0}, "chunk=0 must be a whole number of at least 1"),
        ({"algorithms": "nothing"}, "There is no algorithm"),
        ({"laplcian": "normalized"}, "did you mean 'laplacian'"),
        ({"stratification": {"cache": "bases"}}, "'cache': ...} is not understood; for many graphs it takes"),
        ({"metric": "cosine"}, "metric='cosine' is not one of"),
        ({"zero_vectors": "drop"}, "zero_vectors='drop' is not one of"),
        ({"ens": {"weights": lambda hop: {"adj_diff": 1.0}}}, "plain values"),
        ({"laplacian": "normalized", "algorithms": "in_agg"}, "not defined for laplacian='normalized'"),
    ):
        with pytest.raises(OptionError, match=words):
            st.spectra_many(pair, **arguments)


def test_snapshots_are_pairs_of_their_own():
    ds = st.spectra_many([(nx.path_graph(3), np.ones((2, 3, 1))), (nx.path_graph(3), range(3))])
    assert ds["error"].values[0] == (
        "SignalTypeError: The signal has snapshots; give each of them as a pair of its own."
    )


def results(tmp_path):
    """The same run in memory and in a store, with a pair that failed."""
    pairs = make_pairs(5, bad=(2,))
    arguments = {"laplacian": "random_walk", "self_loops": True, "seed": 4, "hops": 3}
    return pairs, arguments, [
        st.spectra_many(pairs, **arguments),
        st.spectra_many(pairs, store=tmp_path / "run.zarr", **arguments),
        open_many(tmp_path / "run.zarr"),
    ]  # fmt: skip


def test_the_result_keeps_the_schema(tmp_path):
    pairs, arguments, found = results(tmp_path)
    one = calls.spectra(*pairs[0][1:], **arguments)
    for ds in found:
        assert check(ds) is ds
        assert ds["is_zero"].dtype == bool
        assert ds["component"].values.tolist() == list(range(ds.sizes["component"]))
        for name in ("laplacian", "self_loops", "weights", "dtype", "seed", "spectrata_version"):
            assert ds.attrs[name] == one.attrs[name]
        assert options_of(ds) == options_of(one) | {"keep": []}
        for name, field in FIELDS.items():
            assert ds[name].dims == ("graph", *field.dims)
            assert ds[name].attrs["long_name"] == one[name].attrs["long_name"]
            assert (name in ds.coords) == field.coordinate
        assert set(ds["status"].values[2].ravel()) == {"failed"}
        np.testing.assert_array_equal(ds["complete"].values, ds["n_edges"].values > 0)


def test_each_graph_is_a_result_of_its_own(tmp_path):
    pairs, arguments, found = results(tmp_path)
    for ds in (*found, st.open(st.save(found[0], tmp_path / "saved.nc"))):
        singles = dict(each_graph(ds))
        assert list(singles) == [name for i, (name, *_) in enumerate(pairs) if i != 2]
        for name, graph, signal in (pairs[0], pairs[4]):
            one, expected = singles[name], calls.spectra(graph, signal, **arguments)
            held = view(one)
            assert held.complete.all()
            assert held.n_nodes == len(graph)
            assert held.metric == "angular"
            assert held.operator_name == "random_walk with self-loops"
            for field in ("n_nodes", "metric", "graph_hash", "laplacian", "seed"):
                assert one.attrs[field] == expected.attrs[field]
            assert one["made_with"].item() == expected["made_with"].item()
            np.testing.assert_array_equal(held.is_zero, view(expected).is_zero)
            np.testing.assert_array_equal(held.component, view(expected).component)


def test_a_selected_graph_can_be_read(tmp_path):
    pairs, arguments, found = results(tmp_path)
    expected = view(calls.spectra(*pairs[1][1:], **arguments))
    for ds in found:
        held = view(ds.sel(graph="pair 1"))
        assert held.n_nodes == expected.n_nodes
        assert held.complete.all()
        np.testing.assert_array_equal(held.eigenspace, expected.eigenspace)
    with pytest.raises(ResultError, match="many graphs; select one"):
        view(found[0])
    with pytest.raises(ResultError, match="'pair 2' failed: NodeCountError"):
        view(found[0].sel(graph="pair 2"))


@pytest.mark.parametrize("name", ["saved.nc", "saved.zarr"])
def test_the_result_can_be_saved(tmp_path, name):
    for ds in results(tmp_path)[2]:
        again = st.open(st.save(ds, tmp_path / name))
        assert again.identical(ds.load())


def test_a_store_of_weighted_graphs_takes_no_others(tmp_path):
    """No argument changes, and the store's attribute would speak of weights that play no part."""
    graph = nx.path_graph(4)
    nx.set_edge_attributes(graph, {(0, 1): 2.0, (1, 2): 1.0, (2, 3): 3.0}, "w")
    st.spectra_many([("path", as_graph(graph, weights="w"), range(4))], store=tmp_path / "run.zarr")
    with pytest.raises(OptionError, match=r"another run \(other weights\)"):
        st.spectra_many([("path", as_graph(graph, weights=False), range(4))], store=tmp_path / "run.zarr")


@pytest.mark.parametrize("read", [st.summary, st.off_zero, st.merge_eigenspaces])
def test_one_hop_of_many_graphs_is_selected_with_a_list(read):
    ds = st.spectra_many(make_pairs(2), algorithms="gft", hops=2)
    read(ds.sel(hop=[1]))
    with pytest.raises(ResultError, match=r"no dimension hop; .* ds\.sel\(hop=\[1\]\)"):
        read(ds.sel(hop=1))


def test_a_store_names_the_call_that_opens_it(tmp_path):
    st.spectra_many(make_pairs(2), store=tmp_path / "run.zarr")
    with pytest.raises(ResultError, match=r"is a store of spectra_many; open it with st\.open_many"):
        st.open(tmp_path / "run.zarr")


def test_statuses_and_errors_are_whole(tmp_path, monkeypatch):
    long = "undefined: " + "because of a long reason, " * 30

    def undefined(hop, options):
        return Output(np.full((len(hop.potential), hop.n_nodes), np.nan), long)

    monkeypatch.setitem(registry.ALGORITHMS, "undefined", registry.Algorithm("undefined", undefined, stacks=True))
    name = "x" * 700
    pairs = [make_pairs(1)[0], ("bad", nx.path_graph(3), {name: 1.0, "b": 2.0, "c": 3.0}), ("no", "y" * 700, [1.0])]
    for store in (None, tmp_path / "run.zarr"):
        ds = st.spectra_many(pairs, store=store, algorithms="undefined", hops=1)
        assert ds["status"].values[0].item() == long
        assert len(ds["error"].values[1]) > 100
        with pytest.raises(SpectrataError) as told:
            st.spectra(*pairs[2][1:])
        assert ds["error"].values[2] == f"{told.type.__name__}: {told.value}"


@pytest.mark.parametrize("which", ["lowest", "highest"])
def test_some_components_keep_their_positions(tmp_path, which):
    pairs = make_pairs(4)
    for store in (None, tmp_path / "run.zarr"):
        ds = st.spectra_many(pairs, store=store, algorithms="gft", hops=2, stratification={"n_eigs": 3, "which": which})
        assert not ds["complete"].values.any()
        for (_, graph, signal), (_, mine) in zip(pairs, each_graph(ds), strict=True):
            one = st.spectra(st.Stratification(graph, hops=2, n_eigs=3, which=which), signal, "gft")
            np.testing.assert_array_equal(mine["component"], one["component"])
            np.testing.assert_allclose(mine["magnitude"], one["magnitude"], atol=1e-10)
            np.testing.assert_array_equal(mine["eigenspace"], one["eigenspace"])


def _manifest(folder, count=5):
    rng = np.random.default_rng(0)
    with (folder / "m.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["graph", "signal"])
        for i in range(count):
            nx.write_gml(nx.gnp_random_graph(12, 0.4, seed=i), folder / f"{i}.gml")
            np.save(folder / f"{i}.npy", rng.standard_normal((12 - (i == 1), 2)))
            table.writerow([f"{i}.gml", f"{i}.npy"])
    return folder / "m.csv"


@pytest.mark.needs("zarr")
def test_the_command_line_takes_a_manifest_and_bands(tmp_path):
    manifest = _manifest(tmp_path)
    run = CliRunner()
    found = run.invoke(app, ["profile", "--many", str(manifest), "-o", str(tmp_path / "out")])
    assert found.exit_code == 1  # one of the pairs fails
    assert "4 of 5 pairs done, 1 failed" in found.stdout
    assert open_many(tmp_path / "out" / "spectra.zarr")["graph"].values[0] == "0.gml 0.npy"
    one = [str(tmp_path / "0.gml"), str(tmp_path / "0.npy")]
    found = run.invoke(app, ["profile", *one, "--bands", "4", "-o", str(tmp_path / "bands")])
    assert found.exit_code == 0
    assert st.open(tmp_path / "bands" / "spectra.nc").sizes["band"] == 4
    assert "chance" in found.stdout
    found = run.invoke(app, ["profile", *one, "--bands", "4", "--spacing", "width", "-o", str(tmp_path / "width")])
    upper = st.open(tmp_path / "width" / "spectra.nc")["band_upper"].values[0]
    np.testing.assert_allclose(upper, upper[0] * np.arange(1, 5))
    assert run.invoke(app, ["profile", *one, "--spacing", "width"]).exit_code == 2
    for bad in (["--many", "nowhere.csv"], [*one, "--jobs", "2"], ["--many", str(manifest), *one], [one[0]]):
        assert run.invoke(app, ["profile", *bad, "-o", str(tmp_path / "bad")]).exit_code == 2
    assert run.invoke(app, ["profile", *one, "--bands", "4", "--ln-vx", "transform=incidence"]).exit_code == 2
