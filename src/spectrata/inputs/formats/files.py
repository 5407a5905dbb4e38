"""Opening files: the checks that every reader makes first."""

import csv
import io
import math
import os
import re
import struct
import sys
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from spectrata.errors import FileFormatError, MemoryEstimateError, shortened, shown

MAX_BYTES = 4 * 2**30
_PIECE = 1 << 24  # bytes read at a time: a directory may claim more than there is
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


def read_text(path: Path) -> str:
    """All of a UTF-8 file, a byte order mark dropped."""
    data = read_bytes(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise problem(path, "the text is not UTF-8; save it as UTF-8.", line) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise problem(path, "the file is binary, not text; check its ending.", line)
    return text


def numbered_lines(path: Path, comments: str = "") -> Iterator[tuple[int, str]]:
    """The lines that hold something, counted from 1; `comments` are the marks that open a comment."""
    # Not splitlines(), which also breaks at rarer separators that may stand inside a name.
    for number, line in enumerate(re.split(r"\r\n|\r|\n", read_text(path)), start=1):
        stripped = line.strip(" \t\f\v")
        if stripped and not (comments and stripped[0] in comments):
            yield number, stripped


def csv_lines(path: Path) -> list[tuple[int, list[str]]]:
    """The rows of a table that hold something, with the line each ends on, cells stripped."""
    text = read_text(path)
    first = text.partition("\n")[0]
    delimiter = "\t" if suffix(path) == ".tsv" else ";" if ";" in first and "," not in first else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    lines: list[tuple[int, list[str]]] = []
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any(cells):
                lines.append((reader.line_num, cells))
    except csv.Error as error:
        raise problem(path, f"the table is damaged ({error}).", reader.line_num) from None
    return lines


def read_array(path: Path, stream: IO[bytes], size: int, what: str, most: int | None = None) -> np.ndarray:
    """One .npy array of `size` bytes (of `most`), its header checked against them before anything is allocated."""
    most = MAX_BYTES if most is None else most
    if size > most:
        limit = f"{most >> 30} GiB" if most >= 1 << 30 else f"the {most} it may have"
        raise problem(path, f"{what} claims {size} bytes, more than {limit}; it is refused.")
    shape, fortran, dtype = _read_header(path, stream, what)
    count = math.prod(shape)
    if dtype.itemsize == 0 or stream.tell() + count * dtype.itemsize != size:
        claimed = f"{shortened(str(shape))} of {dtype}"
        raise problem(path, f"{what} is damaged: its header says {claimed}; write it again.")
    data = bytearray()
    while len(data) < count * dtype.itemsize:
        piece = stream.read(min(_PIECE, count * dtype.itemsize - len(data)))
        if not piece:
            raise problem(path, f"{what} is cut short; write it again.")
        data += piece
    try:
        return np.frombuffer(data, dtype=dtype).reshape(shape, order="F" if fortran else "C")
    except (TypeError, ValueError, OverflowError):  # an empty array can claim any shape
        raise problem(path, f"{what} has the impossible shape {shortened(str(shape))}.") from None


def _read_header(path: Path, stream: IO[bytes], what: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, order and dtype, of plain numbers or text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about headers that Python 2 wrote
            first = np.lib.format.read_magic(stream) == (1, 0)
            read = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
            shape, fortran, dtype = read(stream, max_header_size=_MAX_HEADER)
    except Exception:  # a damaged header raises almost anything
        raise problem(path, f"{what} is damaged or not a numpy array; write it again.") from None
    if dtype.hasobject:
        raise problem(path, f"{what} holds pickled objects, which are never loaded; save plain numbers.")
    if dtype.kind not in "biufcSU":
        raise problem(path, f"{what} holds {shortened(str(dtype))!r}; save plain numbers.")
    return shape, fortran, dtype


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


def sparse_entries(npz: Npz, prefix: str = "") -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[int, int]]:
    """Rows, columns, values and shape of the layout of ``scipy.sparse.save_npz`` (csr, csc or coo)."""
    layout = _layout(npz, prefix)
    sizes = npz[f"{prefix}shape"]
    shape = tuple(sizes.ravel().tolist()) if sizes.dtype.kind in "iu" else ()
    values = npz[f"{prefix}data"]
    if layout == "coo":
        rows, columns = npz[f"{prefix}row"], npz[f"{prefix}col"]
    else:
        major = _expanded(npz, prefix, shape[layout == "csc"] if len(shape) == 2 else -1)
        minor = npz[f"{prefix}indices"]
        rows, columns = (major, minor) if layout == "csr" else (minor, major)
    fits = len(shape) == 2 and rows.shape == columns.shape == values.shape and values.ndim == 1
    fits = fits and rows.dtype.kind in "iu" and columns.dtype.kind in "iu"
    if fits and len(values):
        fits = min(rows.min(), columns.min()) >= 0 and rows.max() < shape[0] and columns.max() < shape[1]
    if not fits:
        raise problem(npz.path, "the sparse matrix is damaged (its parts do not fit); write it again.")
    return rows, columns, values, (shape[0], shape[1])


def _layout(npz: Npz, prefix: str) -> str:
    if f"{prefix}format" not in npz:
        return "csr"
    stored = npz[f"{prefix}format"]
    layout = stored.tobytes().replace(b"\0", b"").decode("ascii", "replace")
    if layout not in ("csr", "csc", "coo"):
        raise problem(npz.path, f"the sparse matrix has layout {shown(layout)}; save it as csr, csc or coo.")
    return layout


def _expanded(npz: Npz, prefix: str, size: int) -> np.ndarray:
    indptr, n_entries = npz[f"{prefix}indptr"], npz[f"{prefix}indices"].size
    fits = indptr.dtype.kind in "iu" and indptr.ndim == 1 and len(indptr) == size + 1
    # Compared, not subtracted: a difference can wrap around and look right.
    if not fits or indptr[0] != 0 or indptr[-1] != n_entries or (indptr[1:] < indptr[:-1]).any():
        raise problem(npz.path, "the sparse matrix is damaged (indptr does not fit); write it again.")
    starts = indptr.astype(np.int64)
    return np.repeat(np.arange(size), starts[1:] - starts[:-1])
