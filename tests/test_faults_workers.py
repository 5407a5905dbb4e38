"""Workers that die and processes that are told to stop: other work is kept, the culprit is named, a rerun finishes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import fault_cases
import spectrata as st
from faults import EXHAUSTIVE, Fault, leftovers, run
from many_cases import Deadly, Hungry, make_pairs
from spectrata.many.pool import Pool
from spectrata.many.store import open_many
from test_faults_kill import Profile

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="children are found in /proc"),
]


def deadly(pairs, row, kind=Deadly):
    name, graph, signal = pairs[row]
    return [*pairs[:row], (name, graph, kind(signal)), *pairs[row + 1 :]]


def test_a_pair_that_ends_its_worker_is_named_and_the_rest_is_done(tmp_path):
    pairs, store = make_pairs(9), tmp_path / "run.zarr"
    expected = st.spectra_many(pairs, chunk=3)
    with Pool(2) as pool:
        found = st.spectra_many(deadly(pairs, 4), pool, store, chunk=3).load()
        assert found["state"].values.tolist() == ["done"] * 4 + ["failed"] + ["done"] * 4
        assert "worker process died" in found["error"].values[4]
        others = [0, 1, 2, 6, 7, 8]  # of other chunks: the same bits
        assert found["magnitude"][others].identical(expected["magnitude"][others])
        np.testing.assert_allclose(found["magnitude"][[3, 5]], expected["magnitude"][[3, 5]], atol=1e-10)
        healed = st.spectra_many(pairs, pool, store, chunk=3)
    assert set(healed["state"].values) == {"done"}
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("jobs", [0, 1])
def test_a_pair_without_memory_fails_alone(jobs):
    pairs = deadly(make_pairs(4), 2, Hungry)
    if jobs:
        with Pool(jobs) as pool:
            found = st.spectra_many(pairs, pool, chunk=4)
    else:
        found = st.spectra_many(pairs, chunk=4)
    assert found["state"].values.tolist() == ["done", "done", "failed", "done"]
    assert found["error"].values[2] == "MemoryError: no room"


def children(pid):
    tasks = Path(f"/proc/{pid}/task").glob("*/children")  # each thread has its own
    return [int(child) for task in tasks for child in task.read_text(encoding="ascii").split()]


def is_worker(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return b"spawn_main" in file.read()


def begin(folder, *words):
    """The command line in a group of its own, as at a terminal."""
    return subprocess.Popen(
        [sys.executable, "-m", "spectrata", *map(str, words)],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def some_done(store):
    return any((store / "digest").glob("[0-9]*"))


def wait_for(condition, process):
    while not condition():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


def test_a_worker_killed_from_outside_costs_nothing(tmp_path):
    fault_cases.write_inputs(tmp_path, pairs=400)
    process = begin(tmp_path, "profile", "--many", "pairs.csv", "--jobs", 2, "-o", "out")
    wait_for(lambda: some_done(tmp_path / "out" / "spectra.zarr"), process)
    os.kill(next(child for child in children(process.pid) if is_worker(child)), signal.SIGKILL)
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert "400 of 400 pairs done, 0 failed" in out
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)][: 2 if EXHAUSTIVE else 1])
def test_many_stops_when_told(tmp_path, name, code):
    """The whole group hears the signal, as at a terminal; the store goes on where it was."""
    fault_cases.write_inputs(tmp_path, pairs=2000)
    words = ["profile", "--many", "pairs.csv", "--jobs", 2, "-o", "out"]
    process = begin(tmp_path, *words)
    wait_for(lambda: some_done(tmp_path / "out" / "spectra.zarr"), process)
    os.killpg(process.pid, getattr(signal, name))
    out, err = process.communicate()
    assert (process.returncode, out, err.strip()) == (code, "", "stopped")
    state = open_many(tmp_path / "out" / "spectra.zarr")["state"].values
    assert (state == "missing").any()


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGINT", 130)][: 2 if EXHAUSTIVE else 1])
def test_profile_stops_when_told(tmp_path, name, code):
    """At operations on files, where it hurts most: old or new, and nothing beside."""
    case = Profile()
    case.old, case.whole = tmp_path / "old", tmp_path / "whole"
    case.begin(case.old)
    ended = run("profile", case.whole)
    total = ended.operations
    for at in range(2, total, 2) if EXHAUSTIVE else (2 * total // 3,):  # the first is not the command's own
        folder = tmp_path / f"{at}"
        assert run("profile 1", folder).code == 0
        ended = run("profile", folder, Fault(name, at=at))
        assert (ended.code, ended.out.strip().splitlines()[-1]) == (code, "stopped")
        case.look(folder, ended)
        assert leftovers(folder) == []
