"""Several processes at one place, damaged files, a clock that jumps: right numbers, or a sentence."""

import subprocess
import sys

import pytest
import torch

import fault_cases
import spectrata as st
from faults import EXHAUSTIVE, Fault, leftovers, run
from many_cases import make_pairs
from spectrata.errors import ResultError
from spectrata.many.store import open_many
from spectrata.results.atomic_io import Lock
from spectrata.torch import recover, watch
from test_faults_kill import PROFILE, case, same_file  # noqa: F401 - a fixture

pytestmark = pytest.mark.long
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the injectors and locks need Linux")


# ---- several at one place


@linux
def test_two_profiles_into_one_folder(tmp_path):
    """All files are of one of the two, whichever came last."""
    fault_cases.write_inputs(tmp_path / "inputs")
    for number in (1, 2):
        assert run(f"profile {number}", tmp_path / f"alone{number}").code == 0
    shared = tmp_path / "shared"
    shared.mkdir()
    command = [sys.executable, "-m", "spectrata", "profile", "../inputs/graph.txt"]
    words = ["--draws", "39", "--report", "--csv", "--hops", "1", "-o", "."]
    started = [
        subprocess.Popen(
            [*command, f"../inputs/signal{number}.npy", *words],
            cwd=shared, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )
        for number in (1, 2)
    ]  # fmt: skip
    for process in started:
        assert process.communicate()[1] == b""
        assert process.returncode == 0
    whole = [all(same_file(shared / name, tmp_path / f"alone{number}" / name) for name in PROFILE) for number in (1, 2)]
    assert any(whole)
    assert leftovers(shared) == []


def test_a_second_writer_of_a_store_is_refused(tmp_path):
    store, pairs = tmp_path / "run.zarr", make_pairs(2)
    st.spectra_many(pairs, store=store)
    held = Lock(store, "")
    held.take()
    with pytest.raises(ResultError, match="is being written by another process; wait for it, or choose another"):
        st.spectra_many(pairs, store=store)
    held.release()
    assert set(st.spectra_many(pairs, store=store)["state"].values) == {"done"}
    assert leftovers(tmp_path) == []


def test_a_second_writer_of_a_log_is_refused(tmp_path):
    path, model = tmp_path / "run.zarr", torch.nn.Linear(3, 2)
    rows = torch.from_numpy(fault_cases.ROWS[0, 0])
    first = watch(model, fault_cases.GRAPH, layers=[""], hops=1, log=path, mode="train")
    first.record({"a": rows})
    for again in (lambda: watch(model, fault_cases.GRAPH, layers=[""], hops=1, log=path), lambda: recover(path)):
        with pytest.raises(ResultError, match=r"is being written by another process; end that run first"):
            again()
    first.close()
    assert recover(path).sizes["snapshot"] == 1
    del first
    watch(model, fault_cases.GRAPH, layers=[""], hops=1, log=path).close()
    assert leftovers(tmp_path) == []


def test_what_is_no_log_is_not_thrown_away(tmp_path):
    """A store of many graphs has the same ending, and was removed to make room for a log."""
    store = tmp_path / "run.zarr"
    st.spectra_many(make_pairs(2), store=store)
    (store / ".zmetadata").unlink()
    with pytest.raises(ResultError, match="exists and is not the log of a watched model"):
        watch(torch.nn.Linear(3, 2), fault_cases.GRAPH, layers=[""], hops=1, log=store)
    assert (store / "magnitude").is_dir()
    result = st.save(st.spectra(fault_cases.GRAPH, fault_cases.signal(1)), tmp_path / "result.zarr")
    with pytest.raises(ResultError, match="is not the log of"):
        watch(torch.nn.Linear(3, 2), fault_cases.GRAPH, layers=[""], hops=1, log=result)
    assert st.open(result).sizes["hop"] == 4


# ---- damage


def damaged(path, step):
    """A file cut short, and with one byte changed, at every so many bytes; then as it was."""
    data = path.read_bytes()
    for at in range(0, len(data), 1 if EXHAUSTIVE and len(data) < 10_000 else step):
        path.write_bytes(data[:at])
        yield f"cut at {at}"
        path.write_bytes(data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :])
        yield f"changed at {at}"
    path.write_bytes(data)


def _files(folder):
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith(".")]


def test_a_damaged_store_gives_no_wrong_number(tmp_path):
    store = tmp_path / "run.zarr"
    good = st.spectra_many(make_pairs(3), store=store, algorithms="gft", hops=2).load()
    for path in _files(store):
        for what in damaged(path, 60):
            try:
                found = open_many(store).load()
            except Exception:  # whatever the reader of Zarr calls it
                continue
            assert found.identical(good), (path, what)


@linux
def test_a_damaged_log_gives_no_wrong_number(tmp_path):
    assert run("watch", tmp_path).code == 0
    log = tmp_path / "run.zarr"
    good = st.open(log)
    for path in _files(log):
        for what in damaged(path, 60):
            try:
                found = st.open(log)
            except ResultError:
                continue
            assert found["magnitude"].identical(good["magnitude"]), (path, what)
    for name in ("magnitude", "status"):
        lost = next(path for path in (log / name).iterdir() if not path.name.startswith("."))
        data = lost.read_bytes()
        lost.unlink()
        with pytest.raises(ResultError, match="damaged"):
            st.open(log)
        lost.write_bytes(data)
    assert st.open(log).identical(good)


# ---- the clock


@linux
def test_a_clock_that_jumps_changes_nothing(case):  # noqa: F811
    folder = case.root / "jumping"
    case.begin(folder)
    ended = run(case.name, folder, Fault("clock"))
    assert ended.code == 0, ended.out
    case.same(folder, case.whole)
    assert leftovers(folder) == []
