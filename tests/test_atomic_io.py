"""Writing beside and renaming, one writer at a time."""

import contextlib
import errno
import multiprocessing
import os
import threading

import pytest

from spectrata.errors import ResultError
from spectrata.results.atomic_io import Lock, make_folder, sync, tidy, written_whole


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), ValueError("planted")])
def test_what_fails_leaves_nothing(tmp_path, problem):
    def write():
        with written_whole(tmp_path / "file") as new:
            new.write_text("half")
            raise problem

    with pytest.raises(type(problem)):
        write()
    assert names(tmp_path) == []


# ---- what killed processes left


@pytest.mark.parametrize("finished", [True, False])
def test_a_result_that_stepped_aside_comes_back(tmp_path, finished):
    """Killed between the two renames: the new one is complete, or was never there."""
    part = tmp_path / ".result.part"
    (part / ".old" / "result").mkdir(parents=True)
    (part / ".old" / "result" / "values").write_text("old")
    if finished:
        (part / "result").mkdir()
        (part / "result" / "values").write_text("new")
    tidy(tmp_path / "result")
    assert names(tmp_path) == ["result"]
    assert (tmp_path / "result" / "values").read_text() == ("new" if finished else "old")


@pytest.mark.parametrize("name", ["result", "r" * 230])
def test_what_a_killed_writer_left_goes_with_the_next_write(tmp_path, name):
    def killed(path):
        with written_whole(path) as new:
            new.write_text("half")
            os._exit(0)

    process = multiprocessing.get_context("fork").Process(target=killed, args=(tmp_path / name,))
    process.start()
    process.join()
    (tmp_path / ".other.part").mkdir()  # of another path: it stays
    assert len(names(tmp_path)) == 3
    with written_whole(tmp_path / name) as new:
        new.write_text("whole")
    assert names(tmp_path) == sorted([name, ".other.part"])
    assert (tmp_path / name).read_text() == "whole"


# ---- locks


def test_a_second_writer_of_a_path_waits(tmp_path):
    path, inside, leave, said = tmp_path / "file", threading.Event(), threading.Event(), []

    def first():
        with written_whole(path) as new:
            inside.set()
            leave.wait()
            new.write_text("first")
            said.append("first")

    thread = threading.Thread(target=first, daemon=True)
    thread.start()
    inside.wait()
    threading.Timer(0.2, leave.set).start()
    with written_whole(path) as new:
        said.append("second")
        new.write_text("second")
    thread.join()
    assert said == ["first", "second"]
    assert path.read_text() == "second"
    assert names(tmp_path) == ["file"]


def test_a_lock_has_one_holder_and_leaves_no_file(tmp_path):
    first, second = Lock(tmp_path / "log", "wait for it"), Lock(tmp_path / "log", "wait for it")
    first.take()
    first.take()
    assert names(tmp_path) == [".log.lock"]
    with pytest.raises(ResultError, match="log is being written by another process; wait for it"):
        second.take()
    first.release()
    first.release()
    assert names(tmp_path) == []
    second.take()
    del second  # a lock that nobody holds any more is free
    first.take()
    first.release()
    assert names(tmp_path) == []


# ---- the disk


@pytest.mark.parametrize(("number", "raised"), [(errno.EINVAL, False), (errno.EACCES, False), (errno.EIO, True)])
def test_a_folder_that_cannot_be_flushed_is_passed_over_and_a_broken_disk_is_not(tmp_path, monkeypatch, number, raised):
    def fail(descriptor):
        raise OSError(number, "planted")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="planted") if raised else contextlib.nullcontext():
        sync(tmp_path)
    (tmp_path / "file").write_text("text")
    with pytest.raises(OSError, match="planted"):  # files can be flushed everywhere
        sync(tmp_path / "file")


def test_folders_that_are_made_are_on_the_disk(tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr("spectrata.results.atomic_io.sync", flushed.append)
    make_folder(tmp_path / "a" / "b")
    assert flushed == [tmp_path / "a", tmp_path]
