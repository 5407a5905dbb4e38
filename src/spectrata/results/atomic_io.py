"""Files that appear whole or not at all, one writer at a time, and messages for errors of the disk.

Everything is written in a folder beside its place, ``.NAME.part``, flushed to the disk, and renamed: a process that is
killed, or a loss of power, leaves the old content or the new. A lock, which the system lets go when its process ends,
separates work under way from what a killed writer left; the next writer or reader of the same path removes the latter.
"""

import contextlib
import errno
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from spectrata.errors import ResultError

PART, LOCK, OLD = ".part", ".lock", ".old"
_NOT_FOR_FOLDERS = {errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM, errno.EBADF}
_FULL, _CLOSED = "free some space, or choose another place", "choose a place that you may write to"
_FILE = "a file stands where a folder is needed, so choose another place"
ADVICE = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: "choose a place that takes larger files",
    errno.EROFS: "choose a place that can be written to",
    errno.EACCES: _CLOSED,
    errno.EPERM: _CLOSED,
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EEXIST: _FILE,
    errno.ENOTDIR: _FILE,
    errno.EISDIR: "a folder stands there, so choose another name",
    errno.EMFILE: "close some files, or raise the limit on open ones (ulimit -n)",
}


def cannot_write(path: "str | os.PathLike", problem: BaseException, kept: str = "") -> ResultError:
    """The error for a path that cannot be written: what, why, and what to do about it."""
    said = re.search(r"errno = (\d+)", str(problem))  # HDF5 puts the system's reason into its own words
    number = int(said[1]) if said else getattr(problem, "errno", None)
    reason = os.strerror(number) if number else " ".join(str(problem).split()) or type(problem).__name__
    advice = ADVICE.get(number, "choose another place") if number else ""
    return ResultError("; ".join(filter(None, (f"{path} cannot be written: {reason}", kept, advice))) + ".")


@contextlib.contextmanager
def written_whole(path: Path, durable: bool = True) -> Iterator[Path]:
    """A path beside ``path`` to write to, renamed to it when the block ends well and removed when it does not.

    A second writer of the same path waits. With ``durable`` the content is on the disk when the block ends; without,
    a loss of power can leave a damaged file, which its reader must detect.
    """
    try:
        make_folder(path.parent)
        with _only_writer(path) as part:
            part.mkdir()
            new = part / path.name
            yield new
            if durable:
                sync_tree(new)
            _put_in_place(new, path, part / OLD)
            if durable:
                sync(path.parent)
    except OSError as problem:
        raise cannot_write(path, problem) from problem


def tidy(path: Path) -> None:
    """Remove what a killed writer of a path left; a folder that had stepped aside comes back."""
    if any(os.path.exists(_hidden(path, suffix)) for suffix in (PART, PART + LOCK)):
        with contextlib.suppress(OSError, ResultError), _only_writer(path):
            pass


@contextlib.contextmanager
def _only_writer(path: Path) -> Iterator[Path]:
    """The name of the folder beside a path, which no other process has; what lies there goes before and after."""
    part, lock = _hidden(path, PART), Lock(path, suffix=PART + LOCK)
    lock.take(wait=True)
    try:
        _remove(part, path)
        yield part
    finally:
        try:
            _remove(part, path)
        finally:
            lock.release()


def _remove(part: Path, path: Path) -> None:
    """Remove a folder of unfinished work, but never the only copy of an old result."""
    old, new = part / OLD / path.name, part / path.name
    if old.exists() and not os.path.lexists(path):
        os.rename(new if new.exists() else old, path)  # the new one is complete: the old one steps aside last of all
        sync(path.parent)
    shutil.rmtree(part, ignore_errors=True)


def _put_in_place(new: Path, path: Path, aside: Path) -> None:
    """Rename ``new`` to ``path``; a folder that stands there steps aside, and back on failure."""
    if not path.is_dir():
        os.replace(new, path)
        return
    aside.mkdir()
    sync(aside.parent)  # or a loss of power could keep the rename and lose the folder that it leads to
    sync(path.parent)
    os.replace(path, aside / path.name)
    try:
        os.replace(new, path)
    except OSError:
        os.rename(aside / path.name, path)
        raise


def _hidden(path: Path, suffix: str) -> Path:
    """A hidden name beside a path."""
    return path.with_name(f".{path.name}{suffix}")


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, on the disk too."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for place in missing:
        sync(place.parent)


def sync_tree(path: Path) -> None:
    """Wait until a file, or a folder with everything in it, is on the disk."""
    for place in (path, *path.rglob("*")):
        sync(place)


def sync(path: Path) -> None:
    """Wait until a file's content, or a folder's list of names, is on the disk."""
    is_folder = path.is_dir()
    try:
        descriptor = os.open(path, os.O_RDONLY if is_folder or os.name != "nt" else os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as problem:  # some systems cannot do it for folders, and no list of names may be read there
        if not is_folder or problem.errno not in _NOT_FOR_FOLDERS:
            raise


class Lock:
    """One writer at a time for a path: a file beside it that is locked while the writer lives.

    ``advice`` ends the message for those who find it locked.
    """

    def __init__(self, path: Path, advice: str = "wait for it", suffix: str = LOCK) -> None:
        self.path, self.advice = path, advice
        self._lock = FileLock(_hidden(path, suffix), thread_local=False)

    def take(self, wait: bool = False) -> None:
        """Lock, or raise unless it may ``wait``; nothing when this object holds it already."""
        if self._lock.is_locked:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=-1 if wait else 0)
        except Timeout:
            raise ResultError(f"{self.path} is being written by another process; {self.advice}.") from None
        except OSError as problem:
            raise cannot_write(self.path, problem) from problem

    def release(self) -> None:
        """Remove the file, which filelock leaves there, and unlock: who waits for a removed file looks again."""
        if self._lock.is_locked:
            with contextlib.suppress(OSError):  # Windows removes no open file
                os.unlink(self._lock.lock_file)
            self._lock.release()
