"""Threads and hops side by side: numbers that follow the machine and not its load, the same bits, errors, progress."""

import os
import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import spectrata as st
from spectrata.core import parallel, resources, stratification
from spectrata.core.parallel import ALONE, Shares, run_hops, shares_of
from spectrata.errors import HopError
from spectrata.kernels import threads
from strategies import regular_graph

GRAPH = regular_graph(4, parallel.SMALL + 10, seed=1)
SIGNAL = np.random.default_rng(0).standard_normal((len(GRAPH), 3))


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture
def many_blas_threads():
    """Three threads for BLAS, whatever the environment says: where it has one, a limit of one cannot be seen."""
    import scipy.linalg  # noqa: F401

    with threadpool_limits(3, "blas"):
        assert set(blas_threads()) == {3}
        yield


# ---- how many threads


def groups(tmp_path, **files):
    for name, text in files.items():
        path = tmp_path / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("lines", "files", "expected"),
    [
        (["0::/"], {}, np.inf),
        (["0::/"], {"cpu_dot_max": "max 100000\n"}, np.inf),
        (["0::/a/b"], {"a__b__cpu_dot_max": "150000 100000\n"}, 1.5),
        (["0::/a/b"], {"a__cpu_dot_max": "50000 100000\n", "a__b__cpu_dot_max": "400000 100000\n"}, 0.5),
        (["0::/gone"], {"cpu_dot_max": "300000 100000\n"}, 3.0),
        (["4:memory:/a", "3:cpu,cpuacct:/a"], {"cpu,cpuacct__a__cpu_dot_cfs_quota_us": "200000\n"}, np.inf),
        (
            ["3:cpu,cpuacct:/a"],
            {"cpu__a__cpu_dot_cfs_quota_us": "200000\n", "cpu__a__cpu_dot_cfs_period_us": "100000\n"},
            2.0,
        ),
        (["3:cpu:/"], {"cpu__cpu_dot_cfs_quota_us": "-1\n", "cpu__cpu_dot_cfs_period_us": "100000\n"}, np.inf),
    ],
)
def test_quotas_of_control_groups(tmp_path, lines, files, expected):
    assert threads.quota_of(lines, groups(tmp_path, **files)) == expected


@pytest.mark.parametrize(("quota", "expected"), [(np.inf, 6), (2.9, 2), (0.3, 1), (40.0, 6)])
def test_cores_follow_affinity_and_quota(monkeypatch, quota, expected):
    monkeypatch.delenv("SPECTRATA_THREADS", raising=False)
    monkeypatch.setattr(threads, "_quota", lambda: quota)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(6)), raising=False)
    assert threads.cores() == threads.threads() == expected


def test_a_thread_has_its_share_and_others_theirs(monkeypatch):
    monkeypatch.setenv("SPECTRATA_THREADS", "5")
    seen = []
    with threads.share(2):
        other = threading.Thread(target=lambda: seen.append(threads.threads()))
        other.start()
        other.join()
        assert threads.threads() == 2
        with threads.share(1):
            assert threads.threads() == 1
        assert threads.threads() == 2
    assert seen == [5]
    assert threads.threads() == 5


@pytest.mark.usefixtures("many_blas_threads")
def test_the_smallest_limit_of_blas_holds_and_the_last_to_leave_restores():
    before = blas_threads()
    with threads.blas_limit(2):
        assert set(blas_threads()) == {2}
        with threads.blas_limit(1):
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {2}
    assert blas_threads() == before


@pytest.mark.usefixtures("many_blas_threads")
def test_threads_that_limit_blas_may_leave_in_any_order():
    before, inside, leave, seen = blas_threads(), threading.Event(), threading.Event(), []

    def work():
        with threads.blas_limit(1):
            inside.set()
            leave.wait()
        seen.append(blas_threads())

    other = threading.Thread(target=work)
    with threads.blas_limit(1):
        other.start()
        inside.wait()
    assert set(blas_threads()) == {1}
    leave.set()
    other.join()
    assert seen == [before]


@pytest.mark.parametrize(
    ("nodes", "hops", "expected"),
    [
        (parallel.TINY, 9, ALONE),
        (parallel.SMALL - 1, 9, Shares(1, 8, 1)),
        (500, 1, Shares(1, 8, 1)),
        (500, 3, Shares(3, 2, 1)),
        (500, 20, Shares(8, 1, 1)),
        (5000, 1, Shares(1, 8, 8)),
        (5000, 3, Shares(3, 2, 2)),
        (5000, 20, Shares(8, 1, 1)),
    ],
)
def test_cores_are_shared_out_by_sizes_alone(monkeypatch, nodes, hops, expected):
    monkeypatch.setenv("SPECTRATA_THREADS", "8")
    monkeypatch.setattr(resources, "total_memory", lambda: 2**40)
    monkeypatch.setattr(resources, "available_memory", lambda: 2**40)
    assert shares_of(nodes, hops) == expected


def test_free_memory_changes_how_many_hops_run_and_no_bits(monkeypatch):
    """The machine's memory decides the threads of each, what is free only how many run at once."""
    monkeypatch.setenv("SPECTRATA_THREADS", "8")
    one = resources.solve_bytes(5000) + parallel.CHUNK_BYTES
    monkeypatch.setattr(resources, "total_memory", lambda: 4 * one)
    for free, at_once in ((100 * one, 4), (3 * one, 3), (one // 2, 1)):
        monkeypatch.setattr(resources, "available_memory", lambda free=free: free)
        assert shares_of(5000, 20) == Shares(at_once, 2, 2)
    monkeypatch.setattr(resources, "total_memory", lambda: None)
    monkeypatch.setattr(resources, "available_memory", lambda: None)
    assert shares_of(5000, 20) == Shares(8, 1, 1)


# ---- the same bits


@pytest.mark.parametrize("algorithms", [None, "gft"])
def test_one_worker_and_two_give_the_same_bits(monkeypatch, algorithms):
    found = {}
    right = parallel._side_by_side

    def spied(*arguments):
        found["pool"] = True
        return right(*arguments)

    monkeypatch.setattr(parallel, "_side_by_side", spied)
    monkeypatch.setattr("spectrata.core.bases.solve.FACTORED_PART", 100)
    for count in ("1", "2", "3"):
        monkeypatch.setenv("SPECTRATA_THREADS", count)
        found[count] = st.spectra(GRAPH, SIGNAL, algorithms)
        assert ("pool" in found) == (count != "1")
    for count in ("2", "3"):
        assert found[count].identical(found["1"])


def test_threads_that_share_a_stratification_share_its_bases(monkeypatch):
    monkeypatch.setenv("SPECTRATA_THREADS", "2")
    alone = st.Stratification(GRAPH, hops=3).spectra(SIGNAL)
    strat, made = st.Stratification(GRAPH, hops=3), []
    right = stratification.decompose
    monkeypatch.setattr(stratification, "decompose", lambda *given: made.append(given[0].hop) or right(*given))
    found = []
    calls = [threading.Thread(target=lambda: found.append(strat.spectra(SIGNAL))) for _ in range(4)]
    for call in calls:
        call.start()
    for call in calls:
        call.join()
    assert sorted(made) == [1, 2, 3]
    assert len(found) == 4
    assert all(ds.identical(alone) for ds in found)


# ---- progress and errors


@pytest.mark.parametrize("at_once", [1, 3])
def test_progress_rises_in_the_callers_thread(at_once):
    seen, here = [], threading.get_ident()

    def work(hop, tell):
        for part in (0.0, 0.4, 1.0):
            tell(", half" if part == 0.4 else "", part)
        return 10 * hop

    def report(message, fraction):
        assert threading.get_ident() == here
        seen.append((message, fraction))

    assert run_hops(work, (1, 2, 4), Shares(at_once, 1, 0), report) == [10, 20, 40]
    fractions = [fraction for _, fraction in seen]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert len(seen) == 9
    assert "K = 4, half" in [message for message, _ in seen]


def test_progress_moves_inside_a_hop():
    seen = []
    st.spectra(
        st.Stratification(GRAPH, hops=1, progress=lambda message, fraction: seen.append(fraction)), SIGNAL, "gft"
    )
    assert seen[-1] == 1.0
    assert seen == sorted(seen)
    assert any(0 < fraction < 1 for fraction in seen)


@pytest.mark.parametrize("at_once", [1, 2])
def test_an_error_ends_all_and_nothing_new_begins(at_once):
    begun = []

    def work(hop, tell):
        begun.append(hop)
        if hop == 2:
            raise HopError("no such hop")
        time.sleep(0.01)  # so that the error is seen before all others are over
        return hop

    before = threading.active_count()
    with pytest.raises(HopError, match="no such hop"):
        run_hops(work, range(1, 1000), Shares(at_once, 1, 1), lambda message, fraction: None)
    assert len(begun) < 999
    assert threading.active_count() == before


# ---- estimates


def test_an_estimate_comes_from_the_shortest_of_several_probes(monkeypatch):
    clock = iter([0.0, 5.0, 10.0, 12.0, 20.0, 29.0, 30.0, 33.0, 40.0, 44.0])
    monkeypatch.setattr(resources.time, "thread_time", lambda: next(clock))
    monkeypatch.setattr(resources, "PROBE_SIZE", 10)
    resources._seconds_per_cube.cache_clear()
    try:
        assert resources._seconds_per_cube() == pytest.approx(2.0 / 1000)
        monkeypatch.setenv("SPECTRATA_THREADS", "4")
        assert resources.solve_seconds([10] * 8) == pytest.approx(4.0)
        assert resources.solve_seconds([10, 20]) == pytest.approx(16.0)
        assert resources.solve_seconds([]) == 0.0
    finally:
        resources._seconds_per_cube.cache_clear()
