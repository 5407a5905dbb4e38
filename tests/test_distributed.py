"""A real Dask cluster of two worker processes: same results, a killed worker, a killed client."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import calls
import spectrata as st
from many_cases import Watched, begun, make_pairs
from spectrata.errors import SpectrataError
from spectrata.inputs.graphs import as_graph
from spectrata.many.dask import DaskLaplacian, connect, dask_executor, save_rows
from spectrata.many.run import AHEAD
from spectrata.many.store import open_many

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("cluster")]
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def cluster():
    """Scheduler and two workers, each a process, reached over the loopback alone."""
    from dask.distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", host="127.0.0.1"
    ) as made:
        yield made


@pytest.fixture
def client(cluster):
    with connect(cluster.scheduler_address) as made:
        made.wait_for_workers(2)
        yield made


def _wait(condition, process):
    """Until the condition holds; a process that ends first never meets it."""
    while not condition():
        assert process.poll() is None, "it ended too early"
        time.sleep(0.05)


def test_a_cluster_gives_the_bits_of_the_serial_run(cluster, tmp_path):
    pairs = make_pairs(100, bad=(17,))
    with dask_executor(cluster.scheduler_address) as executor:
        found = st.spectra_many(pairs, executor, tmp_path / "run.zarr")
    assert found.load().identical(st.spectra_many(pairs))


def test_a_killed_worker_loses_nothing(client, tmp_path):
    pairs, log, store = make_pairs(80), tmp_path / "log", tmp_path / "run.zarr"
    killed, workers = [], []

    def kill_one(message, fraction):
        if fraction > 0.2 and not killed:
            killed.append(open_many(store)["state"].values[::4] == "done")
            workers.append(begun(log)[1][-1])  # in the middle of a chunk
            os.kill(workers[0], signal.SIGKILL)

    executor = Watched(client.get_executor(pure=False, retries=2), log, pause=0.1)
    ds = st.spectra_many(pairs, executor, store, chunk=4, progress=kill_one)
    assert ds.load().identical(st.spectra_many(pairs, chunk=4))
    chunks, pids = begun(log)
    assert set(chunks) == set(range(0, 80, 4))
    held = AHEAD * 2 + 1
    assert len(chunks) - 20 <= held
    assert killed[0].any()
    assert all(chunks.count(4 * i) == 1 for i in np.flatnonzero(killed[0]))
    assert len(set(pids)) >= 2


def test_a_killed_client_resumes(cluster, client, tmp_path):
    log, store = tmp_path / "log", tmp_path / "run.zarr"
    call = [sys.executable, str(HERE / "many_cases.py"), cluster.scheduler_address, str(store), str(log), "80", "0.2"]
    first = subprocess.Popen(call, env=os.environ)
    _wait(lambda: len(set(begun(log)[0])) >= 6, first)
    first.kill()
    first.wait()
    done = open_many(store)["state"].values == "done"
    assert 0 < done.sum() < 80
    executor = Watched(client.get_executor(pure=False), tmp_path / "again")
    ds = st.spectra_many(make_pairs(80), executor, store, chunk=4)
    assert ds.load().identical(st.spectra_many(make_pairs(80), chunk=4))
    again = begun(tmp_path / "again.computed")[0]
    assert sorted(again) == [first for first in range(0, 80, 4) if not done[first : first + 4].all()]


def test_a_changed_input_is_computed_anew(cluster, tmp_path):
    """One signal and one graph change between two runs on one store: their rows alone are made again."""
    pairs, store = make_pairs(12), tmp_path / "run.zarr"
    changed = list(pairs)
    changed[3] = (*pairs[3][:2], pairs[3][2] + np.arange(3))
    changed[8] = (pairs[8][0], nx.path_graph(len(pairs[8][1])), pairs[8][2])
    with dask_executor(cluster.scheduler_address) as executor:
        st.spectra_many(pairs, executor, store, chunk=4).load()
        found = st.spectra_many(changed, executor, store, chunk=4).load()
    fresh = st.spectra_many(changed, chunk=4)
    for i in range(12):
        np.testing.assert_array_equal(found["gradient_norm"][i].dropna("hop"), fresh["gradient_norm"][i].dropna("hop"))


@pytest.mark.skipif(sys.platform == "win32", reason="the size of files cannot be bounded here")
def test_a_full_disk_ends_the_run_and_nothing_is_lost(cluster, tmp_path):
    """The client writes; where it cannot, it ends with an error, and the next run goes on from what is whole."""
    import resource

    store, log = tmp_path / "run.zarr", tmp_path / "log"
    call = [sys.executable, str(HERE / "many_cases.py"), cluster.scheduler_address, str(store), str(log), "40", "0"]
    bound = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))  # noqa: E731
    full = subprocess.run(call, env=os.environ, preexec_fn=bound, capture_output=True, text=True)
    assert full.returncode != 0
    assert "Error" in full.stderr
    with dask_executor(cluster.scheduler_address) as executor:
        found = st.spectra_many(make_pairs(40), executor, store, chunk=4)
    assert found.load().identical(st.spectra_many(make_pairs(40), chunk=4))


def test_a_restarted_scheduler(tmp_path):
    """Its clients and the rows on its workers are gone: an error, not old numbers; a new client goes on."""
    from dask.distributed import LocalCluster

    pairs, store = make_pairs(12), tmp_path / "run.zarr"
    how = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "host": "127.0.0.1"}
    graph, x = as_graph(nx.fast_gnp_random_graph(60, 0.1, seed=1)), np.arange(60.0)
    with LocalCluster(**how) as first, dask_executor(first.scheduler_address) as executor:
        st.spectra_many(pairs[:6], executor, store, chunk=4).load()
        client = connect(first.scheduler_address)
        operator = DaskLaplacian.from_graph(client, graph, blocks=2)
        expected = operator.matvec(x)
    with LocalCluster(**how) as second:
        with pytest.raises(Exception, match=r"\w"):
            operator.matvec(x)
        client.close()
        with connect(second.scheduler_address) as client:
            np.testing.assert_array_equal(DaskLaplacian.from_graph(client, graph, blocks=2).matvec(x), expected)
            found = st.spectra_many(pairs[:6], client.get_executor(pure=False), store, chunk=4)
            assert found.load().identical(st.spectra_many(pairs[:6], chunk=4))


@pytest.mark.parametrize("way", ["memory", "folder"])
def test_rows_on_workers_give_the_same_bands(client, tmp_path, way, monkeypatch):
    monkeypatch.setattr("spectrata.bands.exact.EXACT_NODES", 0)  # a cluster's rows are never decomposed
    graph = as_graph(nx.fast_gnp_random_graph(900, 2.2 / 900, seed=1))
    values = np.random.default_rng(0).standard_normal((900, 3))
    if way == "memory":
        operator = DaskLaplacian.from_graph(client, graph, blocks=3)
    else:
        operator = DaskLaplacian.from_folder(client, save_rows(graph, tmp_path / "rows"))
    options = {"bands": 8, "steps": 12, "spacing": "width"}
    found, expected = (calls.band_spectra(given, values, **options) for given in (operator, graph))
    for name in ("energy", "cumulative_lower", "cumulative_upper", "zero_energy", "gradient_norm", "n_parts"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-8, atol=1e-12)


def test_rows_survive_a_killed_worker(client, tmp_path):
    graph = as_graph(nx.fast_gnp_random_graph(500, 8 / 500, seed=1))
    operator = DaskLaplacian.from_graph(client, graph, blocks=4)
    x = np.random.default_rng(0).standard_normal((500, 2))
    expected = operator.matmat(x)
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    np.testing.assert_array_equal(operator.matmat(x), expected)
    np.testing.assert_array_equal(operator.matvec(x[:, 0]), expected[:, 0])


@pytest.mark.needs("dask")
def test_no_scheduler_is_said():
    with pytest.raises(SpectrataError, match="No Dask scheduler answers"):
        connect("tcp://127.0.0.1:1", timeout=0.5)
