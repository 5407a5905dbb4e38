"""Writing beside and renaming, on systems that lack locks, exchanges or a flush of folders."""

import contextlib
import errno
import os
from types import SimpleNamespace

import pytest

from spectrata.errors import ResultError
from spectrata.results import atomic_io
from spectrata.results.atomic_io import PART, Lock, beside, one_at_a_time, sync, tidy, try_lock, written_whole


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def tree(tmp_path):
    """A result that is a folder, and a function that writes the next version of it."""
    place = tmp_path / "result"
    place.mkdir()
    (place / "values").write_text("old")

    def write():
        with written_whole(place) as new:
            new.mkdir()
            (new / "values").write_text("new")

    return place, write


@pytest.fixture
def looked(monkeypatch):
    """As a process that has looked through no folder yet."""
    monkeypatch.setattr(atomic_io, "_tidied", set())


# ---- exchange of folders


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_a_folder_replaces_a_folder(tree, monkeypatch, system):
    monkeypatch.setattr(atomic_io.sys, "platform", system)
    place, write = tree
    write()
    assert (place / "values").read_text() == "new"
    assert names(place.parent) == ["result"]


def test_without_exchange_the_old_folder_comes_back_when_the_new_one_cannot_take_its_place(tree, monkeypatch):
    place, write = tree
    monkeypatch.setattr(atomic_io, "exchange", lambda a, b: False)
    replace = os.replace

    def refuse(source, target):
        if os.fspath(target) == os.fspath(place):
            raise OSError(errno.EIO, "planted")
        return replace(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(ResultError, match="result cannot be written"):
        write()
    assert (place / "values").read_text() == "old"
    assert names(place.parent) == ["result"]


# ---- what killed processes left


@pytest.mark.usefixtures("looked")
@pytest.mark.parametrize("finished", [True, False])
def test_a_result_that_stepped_aside_comes_back(tmp_path, finished):
    """Killed between the two renames: the new one is complete, or was never there."""
    part = tmp_path / f".result.abc{PART}"
    (part / "old" / "result").mkdir(parents=True)
    (part / "old" / "result" / "values").write_text("old")
    if finished:
        (part / "result").mkdir()
        (part / "result" / "values").write_text("new")
    tidy(tmp_path)
    assert names(tmp_path) == ["result"]
    assert (tmp_path / "result" / "values").read_text() == ("new" if finished else "old")


@pytest.mark.usefixtures("looked")
def test_left_overs_go_and_work_under_way_stays(tmp_path):
    with beside(tmp_path / "at work") as folder:
        atomic_io._tidied.clear()
        (tmp_path / f".left.abc{PART}").mkdir()
        (tmp_path / f".file{PART}").write_text("not ours: a file")
        tidy(tmp_path)
        assert names(tmp_path) == sorted([folder.name, f".file{PART}"])
    # an old copy whose result is there is not needed
    old = tmp_path / f".result.abc{PART}" / "old" / "result"
    old.mkdir(parents=True)
    (tmp_path / "result").mkdir()
    (tmp_path / "result" / "values").write_text("new")
    atomic_io._tidied.clear()
    tidy(tmp_path)
    assert (tmp_path / "result" / "values").read_text() == "new"
    assert not old.exists()


def test_a_folder_that_another_process_tidied_away_is_made_again(tmp_path, monkeypatch):
    made = []

    def slow(folder):
        made.append(folder)
        if len(made) < 3:
            folder.rmdir()  # taken for one that was left, with its lock gone or held by the other
            return None if len(made) == 1 else os.open(tmp_path, os.O_RDONLY)
        return try_lock(folder)

    monkeypatch.setattr(atomic_io, "try_lock", slow)
    with beside(tmp_path / "result") as folder:
        assert folder == made[2]
    assert len(set(made)) == 3
    assert names(tmp_path) == []


# ---- locks


def test_without_locks_files_are_written_and_nothing_is_tidied(tree, monkeypatch):
    monkeypatch.setattr(atomic_io, "fcntl", None)
    monkeypatch.setattr(atomic_io, "_tidied", set())
    place, write = tree
    left = place.parent / f".left.abc{PART}"
    left.mkdir()
    write()
    assert (place / "values").read_text() == "new"
    assert left.exists()
    assert try_lock(place) is None
    first, second = Lock(place, "wait"), Lock(place, "wait")
    first.take()
    second.take()  # nothing is known of the other
    with one_at_a_time(place), one_at_a_time(place):
        pass


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
    second.release()


def test_a_lock_whose_file_was_removed_meanwhile_is_taken_on_the_new_file(tmp_path, monkeypatch):
    lock, seen = Lock(tmp_path / "log", "wait"), []
    before = atomic_io._is_at

    def late(descriptor, path):
        seen.append(path)
        if len(seen) == 1:
            path.unlink()  # its last holder
        return before(descriptor, path)

    monkeypatch.setattr(atomic_io, "_is_at", late)
    lock.take()
    assert len(seen) == 2
    assert lock.path.exists()


def test_a_file_system_without_locks_is_written_to(tmp_path, monkeypatch):
    def refuse(descriptor, operation):
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(atomic_io, "fcntl", SimpleNamespace(flock=refuse, LOCK_EX=2, LOCK_NB=4))
    assert try_lock(tmp_path) is None
    lock = Lock(tmp_path / "log", "wait")
    lock.take()
    with one_at_a_time(tmp_path), written_whole(tmp_path / "file") as new:
        new.write_text("text")
    assert (tmp_path / "file").read_text() == "text"


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


def test_the_drive_itself_is_flushed_where_the_system_can(tmp_path, monkeypatch):
    asked = []
    full = SimpleNamespace(F_FULLFSYNC=51, fcntl=lambda descriptor, command: asked.append(command))
    monkeypatch.setattr(atomic_io, "fcntl", full)
    sync(tmp_path)
    assert asked == [51]
