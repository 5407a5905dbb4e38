"""Files that appear whole or not at all, folders that one process writes, and messages for errors of the disk.

Everything is written in a folder beside its place, ``.NAME.xxxxxxxx.part``, and renamed. A lock on that folder lives
as long as its process, so that what a killed process left can be told from work under way, and goes with the next
write into the same place.

The content is on the disk before the rename, and the new name before the writer returns: a loss of power leaves the
old content or the new, and never takes back what a call had finished.
"""

import contextlib
import ctypes
import errno
import os
import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spectrata.errors import ResultError

try:
    import fcntl
except ImportError:  # Windows: nothing is locked, and nothing that was left is removed
    fcntl = None  # type: ignore[assignment]

PART = ".part"
OLD = "old"
NAME_LENGTH = 40  # of a name, in that of its folder beside: names may be long
EXCHANGE = 2  # RENAME_EXCHANGE of renameat2
_NOT_FOR_FOLDERS = {errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM, errno.EBADF}
ADVICE = {
    errno.ENOSPC: "free some space, or choose another place",
    errno.EDQUOT: "free some space, or choose another place",
    errno.EFBIG: "choose a place that takes larger files",
    errno.EROFS: "choose a place that can be written to",
    errno.EACCES: "choose a place that you may write to",
    errno.EPERM: "choose a place that you may write to",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EEXIST: "a file stands where a folder is needed, so choose another place",
    errno.ENOTDIR: "a file stands where a folder is needed, so choose another place",
    errno.EISDIR: "a folder stands there, so choose another name",
    errno.EMFILE: "close some files, or raise the limit on open ones (ulimit -n)",
}


def cannot_write(path: "str | os.PathLike", problem: BaseException, kept: str = "") -> ResultError:
    """The error for a path that cannot be written: what, why, and what to do about it."""
    number = problem.errno if isinstance(problem, OSError) else None
    said = re.search(r"errno = (\d+)", str(problem))  # HDF5 puts the system's reason into its own words
    number = int(said[1]) if said else number
    reason = os.strerror(number) if number else " ".join(str(problem).split()) or type(problem).__name__
    advice = ADVICE.get(number or 0, "choose another place" if number else "")
    return ResultError("; ".join(part for part in (f"{path} cannot be written: {reason}", kept, advice) if part) + ".")


@contextlib.contextmanager
def written_whole(path: Path, durable: bool = True) -> Iterator[Path]:
    """A path beside ``path`` to write to, renamed to it when the block ends well and removed when it does not.

    With ``durable`` it waits for the disk; without, a loss of power can leave a damaged file, which its reader must
    detect.
    """
    with beside(path) as folder:
        try:
            yield folder / path.name
            if durable:
                sync_tree(folder / path.name)
            _put_in_place(folder / path.name, path, folder / OLD)
            if durable:
                sync(path.parent)
        except OSError as problem:
            raise cannot_write(path, problem) from problem


@contextlib.contextmanager
def beside(path: Path) -> Iterator[Path]:
    """A folder beside ``path``, locked while the block lasts and gone after it."""
    try:
        make_folder(path.parent)
        tidy(path.parent)
        folder, lock = _make_beside(path)
    except OSError as problem:
        raise cannot_write(path, problem) from problem
    try:
        yield folder
    finally:
        try:
            _remove(folder, path.parent)
        except BaseException:  # told to stop meanwhile: tidy first
            _remove(folder, path.parent)
            raise
        finally:
            if lock is not None:
                os.close(lock)


def _make_beside(path: Path) -> tuple[Path, int | None]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f".{path.name[:NAME_LENGTH]}.", suffix=PART, dir=path.parent))
        lock = try_lock(folder)
        # Between its making and its lock, another process may have taken it for one that was left.
        if folder.is_dir():
            return folder, lock
        if lock is not None:
            os.close(lock)


def _put_in_place(new: Path, path: Path, aside: Path) -> None:
    """Rename ``new`` to ``path``; folders are exchanged, or the old one steps aside, and back on failure."""
    if not path.is_dir():
        os.replace(new, path)
        return
    if exchange(new, path):
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


def exchange(a: Path, b: Path) -> bool:
    """Swap two paths in one step; False where the system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    here = -100  # AT_FDCWD
    return call is not None and call(here, os.fsencode(a), here, os.fsencode(b), EXCHANGE) == 0


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, on the disk too."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for place in missing:
        sync(place.parent)


def sync_tree(path: Path) -> None:
    """Wait until a file, or a folder with everything in it, is on the disk."""
    for folder, _, files in os.walk(path):
        for name in files:
            sync(Path(folder, name))
        sync(Path(folder))
    if not path.is_dir():
        sync(path)


def sync(path: Path) -> None:
    """Wait until a file's content, or a folder's list of names, is on the disk."""
    is_folder = path.is_dir()
    try:
        descriptor = os.open(path, os.O_RDONLY if is_folder or os.name != "nt" else os.O_RDWR)
        try:
            flush_disk(descriptor)
        finally:
            os.close(descriptor)
    except OSError as problem:  # some systems cannot do it for folders, and no list of names may be read there
        if not is_folder or problem.errno not in _NOT_FOR_FOLDERS:
            raise


def flush_disk(descriptor: int) -> None:
    """Wait until what an open file holds is on the disk; on macOS, ``fsync`` alone leaves it in the drive's memory."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is None:
        os.fsync(descriptor)
    else:
        fcntl.fcntl(descriptor, full)


_tidied: set[str] = set()  # folders that this process has looked through


def tidy(folder: Path) -> None:
    """Remove what killed processes left in a folder, once per process; a result that had stepped aside comes back."""
    place = os.path.abspath(folder)
    if fcntl is None or place in _tidied:
        return
    _tidied.add(place)
    with contextlib.suppress(OSError):
        with os.scandir(folder) as entries:
            left = [Path(e.path) for e in entries if e.name.startswith(".") and e.name.endswith(PART) and e.is_dir()]
        for part in left:
            lock = try_lock(part)
            if lock is not None:
                _remove(part, folder)
                os.close(lock)


def _remove(part: Path, folder: Path) -> None:
    """Remove a folder of unfinished work, but never the only copy of an old result."""
    with contextlib.suppress(OSError):
        for old in (part / OLD).iterdir():
            if not (folder / old.name).exists():
                new = part / old.name  # complete, since the old one steps aside last of all
                os.rename(new if new.exists() else old, folder / old.name)
                sync(folder)
    shutil.rmtree(part, ignore_errors=True)


def checked() -> Any:
    """A compressor for Zarr arrays that tells damaged files: the default one gives wrong numbers out of some."""
    from numcodecs import Zstd

    return Zstd(level=1, checksum=True)


@contextlib.contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Wait until no other process is in such a block of the same folder, which exists."""
    descriptor = None
    if fcntl is not None:
        with contextlib.suppress(OSError):  # a file system without locks
            descriptor = os.open(folder, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def try_lock(path: Path) -> int | None:
    """Lock a file or folder until the descriptor is closed; None where another holds it, or it cannot be locked."""
    if fcntl is None:
        return None
    descriptor = None
    try:
        descriptor = os.open(path, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        if descriptor is not None:
            os.close(descriptor)
        return None
    return descriptor


class Lock:
    """One writer at a time for a folder: a file beside it that is locked while the writer lives.

    The system lets go of it when the process ends, however it does; the file means nothing by itself.

    Parameters
    ----------
    path : path
        What is written.
    advice : str
        What to do when another process holds it, for the message.
    """

    def __init__(self, path: Path, advice: str) -> None:
        self.path = path.with_name(f".{path.name}.lock")
        self.told = f"{path} is being written by another process; {advice}."
        self._close: weakref.finalize | None = None

    def take(self) -> None:
        """Lock, or raise; nothing when this object holds it already."""
        if fcntl is None or self._close is not None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            while self._close is None:
                descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if not _is_at(descriptor, self.path):  # its last holder removed it in between
                        os.close(descriptor)
                        continue
                except BlockingIOError:
                    os.close(descriptor)
                    raise ResultError(self.told) from None
                except OSError:
                    pass  # a file system without locks
                self._close = weakref.finalize(self, os.close, descriptor)
        except OSError as problem:
            raise cannot_write(self.path.parent, problem) from problem

    def release(self) -> None:
        """Unlock, and remove the file."""
        if self._close is not None:
            with contextlib.suppress(OSError):
                self.path.unlink()
            self._close()
            self._close = None


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except OSError:
        return False
