"""A disk that is full, or cannot be written to: one sentence, nothing half written, nothing of before touched."""

import shutil
import subprocess

import numpy as np
import pytest

import fault_cases
import spectrata as st
from commanding import run as command
from faults import EXHAUSTIVE, Fault, leftovers, needs_root, points, run
from spectrata.errors import ResultError
from test_faults_kill import CASES, case, names  # noqa: F401 - a fixture

FEW = {"profile": 2, "save": 2, "cache": 1, "many": 2, "many again": 1, "watch": 3}
pytestmark = pytest.mark.long
every_kind = pytest.mark.skipif(not EXHAUSTIVE, reason="by hand, with SPECTRATA_FAULTS set")


def check(case, fault):  # noqa: F811
    """Run under a fault and look; then without it, and compare."""
    folder = case.root / "refused"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(case.old, folder)
    ended = run(case.name, folder, fault)
    assert ended.code in (0, 1, 2), ended.out
    assert "Traceback" not in ended.out
    errors = [line for line in ended.out.splitlines() if line.startswith("error:")]
    assert len(errors) == (ended.code != 0)
    if errors:
        assert "cannot be written: " in errors[0], errors
        assert errors[0].endswith(("place.", "files.", "to.")), errors
        assert ".part" not in errors[0]  # the user's own name of it
    case.look(folder, ended)
    # Threads of Zarr may be in the middle of a piece when the process ends.
    assert [name for name in leftovers(folder) if not name.endswith(".partial")] == []
    assert run(case.name, folder).code == 0
    case.same(folder, case.whole)
    assert leftovers(folder) == []
    return ended


def test_an_operation_that_fails(case):  # noqa: F811
    """From one operation on, nothing can be written any more."""
    at = points(max(1, 4 * case.ended.operations // 5), FEW[case.name])  # the last ones only clean up
    codes = [check(case, Fault("ENOSPC", at=place)).code for place in at]
    assert case.name == "cache" or 1 in codes


@every_kind
@pytest.mark.parametrize("kind", ["EROFS", "EACCES"])
def test_an_operation_that_is_not_allowed(case, kind):  # noqa: F811
    assert check(case, Fault(kind, at=1)).code == (case.name != "cache")


@every_kind
def test_a_write_that_fails_once_is_made_up_for(case):  # noqa: F811
    for at in points(case.ended.operations, 2)[:: max(1, case.ended.operations // 40)]:
        check(case, Fault("ENOSPC", at=at, lasting=False))


def test_a_file_that_cannot_grow(case):  # noqa: F811
    """A write that is cut and refused, in HDF5 and zip files too."""
    if not EXHAUSTIVE and case.name not in ("profile", "watch"):
        pytest.skip("by hand, with SPECTRATA_FAULTS set")
    for size in (600, 3000, 30000) if EXHAUSTIVE else (3000,):
        check(case, Fault("EFBIG", size=size))


@pytest.fixture
def disk(tmp_path):
    """Mount a file system of so many kilobytes."""
    mounted = []

    def mount(size):
        place = tmp_path / f"disk{len(mounted)}"
        place.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", place], capture_output=True)
        if done.returncode:
            pytest.skip(f"mounting is not allowed here: {done.stderr.decode().strip()}")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        subprocess.run(["umount", "-l", place], check=True)


@needs_root
@pytest.mark.parametrize("name", ["profile", "watch", *(["many"] if EXHAUSTIVE else [])])
def test_a_full_disk(name, disk, tmp_path):
    """The same on a file system that is really full, at several sizes; what fits is right."""
    fault_cases.write_inputs(tmp_path / "inputs")
    for size in (4, 16, 40, 120, 300, 700) if EXHAUSTIVE else (60,):
        place = disk(size)
        fault_cases.write_inputs(place.parent / "inputs")
        ended = run(name, place)
        assert ended.code in (0, 1), ended.out
        assert "Traceback" not in ended.out
        if ended.code:
            (error,) = [line for line in ended.out.splitlines() if line.startswith("error:")]
            assert "No space left on device" in error
            assert "free some space" in error
        subprocess.run(["mount", "-o", "remount,size=64m", place], check=True)
        assert run(name, place).code == 0
        assert leftovers(place) == []


@needs_root
def test_a_read_only_disk_is_refused_before_any_work(disk, tmp_path, karate):
    place = disk(64)
    subprocess.run(["mount", "-o", "remount,ro", place], check=True)
    (tmp_path / "pairs.csv").write_text("graph,signal\nkarate.txt,degree.npy\n")
    for words in (["profile", "karate.txt", "degree.npy"], ["profile", "--many", "pairs.csv"]):
        result = command(*words, "-o", place / "out")
        assert result.exit_code == 2
        assert result.stderr == f"error: Nothing can be written into {place}; choose another -o.\n"
    ds = st.spectra(fault_cases.GRAPH, fault_cases.signal(1))
    for name in ("r.nc", "r.zarr"):
        with pytest.raises(ResultError, match="Read-only file system; choose a place that can be written to"):
            st.save(ds, place / name)
    with pytest.warns(st.SpectrataWarning, match="not cached"):
        st.spectra(st.Stratification(fault_cases.GRAPH, cache=place), fault_cases.signal(1))
    with pytest.raises(ResultError, match="Read-only file system"):
        st.spectra_many([(fault_cases.GRAPH, fault_cases.signal(1))], store=place / "run.zarr")


@pytest.mark.parametrize("command_words", [["profile", "karate.txt", "degree.npy"], ["profile", "--many", "pairs.csv"]])
def test_names_that_cannot_be_used(karate, command_words):
    (karate / "pairs.csv").write_text("graph,signal\nkarate.txt,degree.npy\n")
    (karate / "file").write_text("mine")
    before = names(karate)
    for out, said in (
        ("file", "file is a file"),
        ("file/below", "file is a file"),
        ("x" * 300, "File name too long; choose another -o"),
    ):
        result = command(*command_words, "-o", out)
        assert result.exit_code == 2
        assert said in result.stderr
        assert result.stderr.count("\n") == 1
    assert names(karate) == before
    assert (karate / "file").read_text() == "mine"
    assert command(*command_words, "-o", "deep/er/out").exit_code == 0  # missing parents are made
    long = "y" * 240
    assert command(*command_words, "-o", long).exit_code == 0
    assert leftovers(karate / long) == []


def test_long_names_of_results(tmp_path):
    ds = st.spectra(fault_cases.GRAPH, fault_cases.signal(1))
    for name in ("z" * 230 + ".nc", "ä" * 100 + ".nc"):
        np.testing.assert_array_equal(st.open(st.save(ds, tmp_path / name))["magnitude"], ds["magnitude"])
    with pytest.raises(ResultError, match="File name too long; choose a shorter name"):
        st.save(ds, tmp_path / ("z" * 260 + ".nc"))
    with pytest.raises(ResultError, match="does not exist"):
        st.open(tmp_path / ("z" * 260 + ".nc"))
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ResultError, match="a file stands where a folder is needed"):
        st.save(ds, tmp_path / "file" / "r.nc")


def test_every_case_is_here():
    assert {each.name for each in CASES} == set(FEW)
