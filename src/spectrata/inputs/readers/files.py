"""Opening files: the checks that every reader makes first."""

import codecs
import json
import math
import os
import struct
import sys
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from spectrata.errors import FileFormatError, MemoryEstimateError, shortened, shown

MAX_BYTES = 4 * 2**30
# Ample for any plain array, and little enough to search.
_MAX_HEADER = 10_000
_MOST_LISTED = 8


def problem(path: Path, message: str, line: int | None = None) -> FileFormatError:
    """The error for a file, with its name and the line where there is one."""
    name = shortened(path.name)
    where = name if line is None else f"{name}, line {line}"
    return FileFormatError(f"{where}: {message}")


def listed(names: Sequence[str]) -> str:
    """Names in a message: on one line, and not too many."""
    more = ", ..." if len(names) > _MOST_LISTED else ""
    return ", ".join(shortened(name) for name in names[:_MOST_LISTED]) + more


def number(cell: str) -> float:
    """A decimal number, or a ValueError: Python's own reading also takes 1_0 and digits of other scripts."""
    if not cell.isascii() or "_" in cell:
        raise ValueError(cell)
    return float(cell)


def checked_path(path: str | os.PathLike[str]) -> Path:
    """The path of a file that is there and holds something."""
    path = Path(path)
    try:
        if path.is_dir():
            raise problem(path, "this is a directory; give the file inside it.")
        if not path.exists():
            folder = shortened(str(path.parent.absolute()), 300)
            raise problem(path, f"there is no such file in {folder}; check the name.")
        if not path.is_file():
            raise problem(path, "this is a device or a pipe; give a file.")
        if path.stat().st_size == 0:
            raise problem(path, "the file is empty; write it again.")
    except (OSError, ValueError) as error:
        if isinstance(error, FileFormatError):
            raise
        reason = getattr(error, "strerror", None) or shortened(str(error))
        raise problem(path, f"the file cannot be opened ({reason}).") from None
    return path


@contextmanager
def in_memory(path: Path) -> Iterator[None]:
    """Say it in a sentence when what a file holds does not fit into memory."""
    try:
        yield
    except MemoryError as error:
        if isinstance(error, MemoryEstimateError):
            raise
        raise MemoryEstimateError(
            f"{shortened(path.name)}: what it holds does not fit into memory; give a smaller file."
        ) from None


def suffix(path: Path) -> str:
    """The lower-case ending, with .gz kept together with what it compresses."""
    endings = [ending.lower() for ending in path.suffixes]
    return "".join(endings[-2:]) if endings[-1:] == [".gz"] else "".join(endings[-1:])


def read_bytes(path: Path) -> bytes:
    """All of a file of bounded size."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise problem(path, f"the file is larger than {MAX_BYTES >> 30} GiB; use .npz instead of text.")
        return path.read_bytes()
    except OSError as error:
        raise problem(path, f"the file cannot be read ({error.strerror}).") from None


def read_utf8(path: Path) -> bytes:
    """All of a UTF-8 file as bytes, a byte order mark dropped."""
    data = read_bytes(path).removeprefix(codecs.BOM_UTF8)
    try:
        # Decoded only where it is not ASCII: an edge list may be large.
        if not data.isascii():
            data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise problem(path, "the text is not UTF-8; save it as UTF-8.", line) from None
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise problem(path, "the file is binary, not text; check its ending.", line)
    return data


def read_text(path: Path) -> str:
    """All of a UTF-8 file, a byte order mark dropped."""
    return read_utf8(path).decode("utf-8")


def read_json(path: Path) -> Any:
    """The contents of a JSON file."""
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise problem(path, f"the JSON is damaged ({error.msg}).", error.lineno) from None
    except ValueError:
        raise problem(path, "the JSON holds a number that is too long.") from None
    except RecursionError:
        raise problem(path, "the JSON is nested too deeply.") from None


def read_array(path: Path, stream: IO[bytes], size: int, what: str, most: int | None = None) -> np.ndarray:
    """One .npy array of `size` bytes (of `most`), its header checked against them before anything is allocated."""
    most = MAX_BYTES if most is None else most
    if size > most:
        limit = f"{most >> 30} GiB" if most >= 1 << 30 else f"the {most} it may have"
        raise problem(path, f"{what} claims {size} bytes, more than {limit}; it is refused.")
    shape, dtype = _read_header(path, stream, what)
    count = math.prod(shape)
    if dtype.itemsize == 0 or stream.tell() + count * dtype.itemsize != size:
        claimed = f"{shortened(str(shape))} of {dtype}"
        raise problem(path, f"{what} is damaged: its header says {claimed}; write it again.")
    stream.seek(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about headers that Python 2 wrote
            array: np.ndarray = np.lib.format.read_array(stream, allow_pickle=False, max_header_size=_MAX_HEADER)
    except (TypeError, ValueError, OverflowError):  # an empty array can claim any shape
        raise problem(path, f"{what} is cut short or has the impossible shape {shortened(str(shape))}.") from None
    return array


def _read_header(path: Path, stream: IO[bytes], what: str) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and dtype, of plain numbers or text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about headers that Python 2 wrote
            first = np.lib.format.read_magic(stream) == (1, 0)
            read = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
            shape, _, dtype = read(stream, max_header_size=_MAX_HEADER)
    except Exception:  # a damaged header raises almost anything
        raise problem(path, f"{what} is damaged or not a numpy array; write it again.") from None
    if dtype.hasobject:
        raise problem(path, f"{what} holds pickled objects, which are never loaded; save plain numbers.")
    if dtype.kind not in "biufcSU":
        raise problem(path, f"{what} holds {shortened(str(dtype))!r}; save plain numbers.")
    return shape, dtype


def read_npy(path: Path) -> np.ndarray:
    """The array of an .npy file."""
    try:
        with path.open("rb") as stream:
            return read_array(path, stream, path.stat().st_size, "the array")
    except OSError as error:
        raise problem(path, f"the file cannot be read ({error.strerror}).") from None


def sound_text(path: Path, array: np.ndarray, what: str) -> np.ndarray:
    """The array, when its text holds nothing but characters: numpy would make strings of any number."""
    if array.dtype.kind == "U" and array.size and array.itemsize:
        codes = np.ascontiguousarray(array).reshape(-1).view(array.dtype.byteorder.replace("|", "=") + "u4")
        if codes.max() > sys.maxunicode:
            raise problem(path, f"{what} holds damaged text; write the file again.")
    return array


# What Python's reader of zip archives raises on damaged ones.
ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, struct.error)


class Npz:
    """The arrays of an .npz file, each read when asked for."""

    def __init__(self, path: Path, archive: zipfile.ZipFile, most: int | None) -> None:
        self.path = path
        self._archive, self._most = archive, most
        self.keys = tuple(name.removesuffix(".npy") for name in archive.namelist())

    def __contains__(self, key: str) -> bool:
        return key in self.keys

    def __getitem__(self, key: str) -> np.ndarray:
        name = key if key in self._archive.NameToInfo else f"{key}.npy"
        info = self._archive.NameToInfo.get(name)
        if info is None:
            raise problem(self.path, f"the array {shown(key)} is missing; write the file again.")
        try:
            with self._archive.open(info) as stream:
                return read_array(self.path, stream, info.file_size, f"the array {shown(key)}", self._most)
        except FileFormatError:
            raise
        except (*ZIP_ERRORS, RuntimeError) as error:
            reason = shortened(str(error))
            raise problem(self.path, f"the array {shown(key)} cannot be read ({reason}); write it again.") from None

    def number(self, key: str) -> int:
        """A single whole number."""
        array = self[key]
        if array.size != 1 or array.dtype.kind not in "iu":
            raise problem(self.path, f"{key!r} is one whole number, not {array.dtype} of shape {array.shape}.")
        return int(array.reshape(()))

    def labels(self, key: str) -> tuple[str | int, ...]:
        """A list of names: text or whole numbers."""
        array = self[key]
        if array.ndim != 1 or array.dtype.kind not in "Uiu":
            raise problem(
                self.path, f"{key!r} is a list of text or whole numbers, not {array.dtype} of shape {array.shape}."
            )
        return tuple(sound_text(self.path, array, repr(key)).tolist())

    def text(self, key: str) -> str:
        """A single text."""
        array = self[key]
        if array.size != 1 or array.dtype.kind != "U":
            raise problem(self.path, f"{key!r} is one text, not {array.dtype} of shape {array.shape}.")
        return str(sound_text(self.path, array, repr(key)).reshape(())[()])


@contextmanager
def open_npz(path: Path, own: bool = False) -> Iterator[Npz]:
    """Open an .npz archive without ever unpickling; in ``own`` ones, never compressed, no array outgrows its file."""
    try:
        archive = zipfile.ZipFile(path)
    except ZIP_ERRORS:
        raise problem(path, "the file is cut short or not an .npz archive; write it again.") from None
    with archive:
        yield Npz(path, archive, path.stat().st_size if own else None)


def read_sparse(npz: Npz, prefix: str = "") -> Any:
    """A matrix in the layout of ``scipy.sparse.save_npz`` (csr, csc or coo) as a scipy sparse array."""
    import scipy.sparse as sp

    layout = "csr"
    if f"{prefix}format" in npz:
        layout = npz[f"{prefix}format"].tobytes().replace(b"\0", b"").decode("ascii", "replace")
    if layout not in ("csr", "csc", "coo"):
        raise problem(npz.path, f"the sparse matrix has layout {shown(layout)}; save it as csr, csc or coo.")
    shape, values = tuple(npz[f"{prefix}shape"].ravel().tolist()), npz[f"{prefix}data"]
    places = [npz[prefix + key] for key in (("row", "col") if layout == "coo" else ("indices", "indptr"))]
    fits = len(shape) == 2 and all(isinstance(size, int) and 0 <= size < 2**62 for size in shape)
    if not fits or any(part.dtype.kind not in "iu" or part.ndim != 1 for part in places) or values.ndim != 1:
        raise problem(npz.path, "the sparse matrix is damaged (its parts do not fit); write it again.")
    if any(part.dtype.kind == "u" and part.size and part.max() >= 2**63 for part in places):
        raise problem(npz.path, "the sparse matrix is damaged (indices or indptr wrap around); write it again.")
    rows, columns = (part.astype(np.int64) for part in places)
    try:
        if layout == "coo":
            return sp.coo_array((values, (rows, columns)), shape=shape)
        matrix = (sp.csr_array if layout == "csr" else sp.csc_array)((values, rows, columns), shape=shape)
        matrix.check_format(full_check=True)
        return matrix
    except (ValueError, TypeError, IndexError, MemoryError) as error:
        raise problem(npz.path, f"the sparse matrix is damaged ({shortened(str(error))}); write it again.") from None
