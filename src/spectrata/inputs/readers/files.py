"""Opening files: the checks that every reader makes before a byte is used; arrays of numpy and tables of text."""

import codecs
import csv
import io
import json
import math
import os
import re
import sys
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import FileFormatError, MemoryEstimateError, SpectrataError, missing_extra, shortened, shown

if TYPE_CHECKING:
    import pandas as pd

MAX_BYTES = 4 * 2**30  # of one file or array: more is a mistake or an attack, and belongs into another format
_MAX_HEADER = 10_000  # bytes, ample for any plain array and little enough to search
SPACES = r"\s+"  # what pandas calls runs of blanks and tabs
DECIMAL_COMMA = re.compile(r"-?\d+,\d+")
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "None")  # cells without a value, among numbers
MOST_COLUMNS = 100_000  # pandas takes seconds for so many, and minutes for more
_SHEETS = (".xlsx", ".xlsm", ".xls", ".ods")
_OFFICE = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")  # how workbooks begin, the newer and the older kind
_MOST_LISTED = 5  # names in a message


def problem(path: Path, message: str, line: int | None = None) -> FileFormatError:
    """The error for a file, with its name and the line where there is one."""
    where = shortened(path.name) + ("" if line is None else f", line {line}")
    return FileFormatError(f"{where}: {message}")


def listed(names: Sequence[Any], form: Callable[[Any], str] = shortened) -> str:
    """The first few names, for a message."""
    return ", ".join(map(form, names[:_MOST_LISTED])) + (", ..." if len(names) > _MOST_LISTED else "")


def number(cell: str) -> float:
    """A decimal number, or a ValueError: Python's own reading also takes 1_0 and digits of other scripts."""
    if not cell.isascii() or "_" in cell:
        raise ValueError(cell)
    return float(cell)


def is_number(cell: str) -> bool:
    try:
        number(cell)
    except ValueError:
        return False
    return True


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[Path]:
    """The path of a file that is there and holds something; what goes wrong with it inside becomes one sentence."""
    path = Path(path)
    try:
        if path.is_dir():
            raise problem(path, "this is a directory; give the file inside it.")
        if suffix(path) in _SHEETS and path.exists():
            raise problem(path, "this is a spreadsheet; save the sheet as CSV.")
        if suffix(path) == ".h5ad":
            raise problem(path, "this is an AnnData; read it in Python: st.rank_columns(anndata.read_h5ad(path)).")
        if not path.exists():
            folder = shortened(str(path.parent.absolute()), 300)
            raise problem(path, f"there is no such file in {folder}; check the name.")
        if not path.is_file():
            raise problem(path, "this is a device or a pipe; give a file.")
        if path.stat().st_size == 0:
            raise problem(path, "the file is empty; write it again.")
        yield path
    except SpectrataError:
        raise
    except MemoryError:
        raise MemoryEstimateError(f"{shortened(path.name)} does not fit into memory; give a smaller file.") from None
    except RecursionError:
        raise problem(path, "the file is nested too deeply.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or shortened(str(error))
        raise problem(path, f"the file cannot be opened ({reason}).") from None


@contextmanager
def parsing(path: Path, words: str, library: str = "", extra: str = "") -> Iterator[None]:
    """Work with a library (of an ``extra``) on a file; what it raises becomes one sentence, ``{}`` being its reason."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the inside of the library, which the user did not write
            yield
    except (SpectrataError, MemoryError, RecursionError):
        raise
    except Exception as error:  # libraries raise almost anything on damaged files
        if library and isinstance(error, ImportError):
            raise missing_extra(library, extra, f"reading {path.name}") from None
        reason = shortened(str(error.args[0]).strip() if error.args else type(error).__name__).rstrip(".")
        raise problem(path, words.replace("{}", reason)) from None


def suffix(path: Path) -> str:
    """The lower-case ending, with .gz kept together with what it compresses."""
    endings = [ending.lower() for ending in path.suffixes]
    return "".join(endings[-2:]) if endings[-1:] == [".gz"] else "".join(endings[-1:])


def refuse_size(path: Path, size: int) -> None:
    """Refuse what unpacks to more bytes than one array may have, unless the file is itself so large."""
    if size > max(MAX_BYTES, path.stat().st_size):
        raise problem(path, f"it claims {size} bytes, more than {MAX_BYTES >> 30} GiB; it is refused.")


def check_dense(what: str, shape: Sequence[int]) -> None:
    """Refuse a table of more numbers than one array may have."""
    if 8 * math.prod(shape) > MAX_BYTES:
        words = f"{what} of shape {shortened(str(tuple(shape)))} needs more than {MAX_BYTES >> 30} GiB"
        raise MemoryEstimateError(f"{words}; choose fewer columns.")


def read_utf8(path: Path) -> bytes:
    """All of a UTF-8 file as bytes, a byte order mark dropped."""
    data = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    if data.startswith(_OFFICE):
        raise problem(path, "this is a spreadsheet or an archive, whatever its ending; save the sheet as CSV.")
    try:
        # Decoded only where it is not ASCII: an edge list may be large.
        if not data.isascii():
            data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise problem(path, "the text is not UTF-8; save it as UTF-8.", line) from None
    if b"\0" in data:
        raise problem(path, "the file is binary, not text; check its ending.")
    return data


def read_json(path: Path) -> Any:
    data = read_utf8(path)
    try:
        return json.loads(data, object_pairs_hook=_once)
    except ValueError as error:  # damaged, or a number of more digits than Python takes
        reason = shortened(getattr(error, "msg", str(error)))
        raise problem(path, f"the JSON is damaged ({reason}).", getattr(error, "lineno", None)) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys stand once each, of which Python would take the last."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"{shown(Counter(name for name, _ in pairs).most_common(1)[0][0])} stands twice in one object")
    return found


# ---- arrays of numpy


def read_array(path: Path, stream: IO[bytes], what: str) -> np.ndarray:
    """One .npy array, never unpickled; numpy touches no more memory than there are bytes."""
    with parsing(path, f"{what} is damaged, or holds pickled objects, which are never loaded; save plain numbers."):
        array = np.lib.format.read_array(stream, allow_pickle=False, max_header_size=_MAX_HEADER)
    if array.dtype.kind not in "biufcSU":
        raise problem(path, f"{what} holds {shortened(str(array.dtype))!r}; save plain numbers.")
    if array.dtype.kind == "U" and array.size:
        codes = np.ascontiguousarray(array).reshape(-1).view(array.dtype.byteorder.replace("|", "=") + "u4")
        if codes.max() > sys.maxunicode:  # numpy would make strings of any number
            raise problem(path, f"{what} holds damaged text; write the file again.")
    return array


def read_npy(path: Path) -> np.ndarray:
    with path.open("rb") as stream:
        return read_array(path, stream, "the array")


class Npz:
    """The arrays of an .npz file, each read when asked for."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path, self._archive = path, archive
        self.keys = tuple(name.removesuffix(".npy") for name in archive.namelist())

    def __contains__(self, key: str) -> bool:
        return key in self.keys

    def __getitem__(self, key: str) -> np.ndarray:
        held, what = self._archive.NameToInfo, f"the array {shown(key)}"
        info = held.get(key, held.get(f"{key}.npy"))
        if info is None:
            raise problem(self.path, f"{what} is missing; write the file again.")
        refuse_size(self.path, info.file_size)
        with parsing(self.path, what + " cannot be read ({}); write it again."), self._archive.open(info) as stream:
            return read_array(self.path, stream, what)

    def labels(self, key: str) -> tuple[str | int, ...]:
        """A list of names: text or whole numbers."""
        array = self[key]
        if array.dtype.kind not in "Uiu" or array.ndim != 1:
            raise problem(self.path, f"{key!r} is a list of text or whole numbers, not {array.dtype} {array.shape}.")
        return tuple(array.tolist())


@contextmanager
def open_npz(path: Path) -> Iterator[Npz]:
    """Open an .npz archive without ever unpickling."""
    with parsing(path, "the file is cut short or not an .npz archive; write it again."):
        archive = zipfile.ZipFile(path)
    with archive:
        yield Npz(path, archive)


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
    with parsing(npz.path, "the sparse matrix is damaged ({}); write it again."):
        if any(part.dtype.kind not in "iu" for part in places):
            raise ValueError("its indices are not whole numbers")
        rows, columns = (part.astype(np.int64) for part in places)
        if layout == "coo":
            return sp.coo_array((values, (rows, columns)), shape=shape)
        matrix = (sp.csr_array if layout == "csr" else sp.csc_array)((values, rows, columns), shape=shape)
        matrix.check_format(full_check=True)
        # scipy does not look at the pointers of a matrix whose last one is 0.
        if (np.diff(matrix.indptr) < 0).any():
            raise ValueError("row pointers decrease")
        return matrix


# ---- tables of text, read by pandas as text: an id such as 007 or NA stays what it is


@dataclass(frozen=True, eq=False)
class TextTable:
    """The cells of a file as text; those that a short row lacks are empty."""

    path: Path
    cells: "pd.DataFrame"  # row labels count the lines of the file

    @property
    def lines(self) -> list[int]:
        """The line of each row in the file, counted from 1."""
        return [row + 1 for row in self.cells.index]

    def problem(self, message: str, row: int) -> FileFormatError:
        """The error for one row of ``cells``, with its line in the file."""
        return problem(self.path, message, int(self.cells.index[row]) + 1)

    def refused(self, column: int, advice: str) -> FileFormatError:
        """The error for the first cell of a column that is not a number."""
        row, cell = next((row, cell) for row, cell in enumerate(self.cells[column]) if not is_number(cell))
        if DECIMAL_COMMA.fullmatch(cell):
            advice = f"write decimals with a point, as in {cell.replace(',', '.')}"
        what = f"{shown(cell)} is not a number" if cell else "a cell is empty"
        return self.problem(f"{what} (column {column + 1}); {advice if cell else 'fill or drop it'}.", row)


def read_columns(path: Path) -> TextTable:
    """Read columns separated by commas, semicolons or tabs; a row of fewer cells than the first one is refused."""
    data = read_utf8(path)
    separator = separator_of(path, data)
    table = parse_table(path, data, separator)
    width = table.cells.shape[1]
    ended = table.cells.index[table.cells[width - 1] == ""]  # by an empty cell, or by none
    lines = _unquoted(data, separator.encode()).splitlines() if len(ended) else []
    for row in ended:
        if (held := 1 + lines[row].count(separator.encode())) < width:
            words = f"the row has {held} of {width} cells; leave a cell empty where there is no value."
            raise problem(path, words, row + 1)
    return table


def _unquoted(data: bytes, mark: bytes) -> bytes:
    """A table whose quoted cells, which may hold the mark between columns and ends of lines, are one letter each."""
    return re.sub(rb'(\A|[\r\n%b])"[^"]*(?:""[^"]*)*"' % mark, rb"\1q", data) if b'"' in data else data


def separator_of(path: Path, data: bytes) -> str:
    """The mark between the columns of a table: a tab in .tsv, else a comma, or a semicolon where there is no comma."""
    first = data.partition(b"\n")[0]
    separates = re.search(rb"(?<!\d),|,(?!\d)", first)  # not a decimal comma
    return "\t" if suffix(path) == ".tsv" else ";" if b";" in first and not separates else ","


def parse_table(path: Path, data: bytes, separator: str, least: int = 0) -> TextTable:
    """Cells of a text with as many columns as its first line, at least ``least``; longer lines are refused."""
    import pandas as pd

    # The cells of the first line that is not blank.
    found = re.search(rb"\S[^\r\n]*", data)
    top = b"" if found is None else data[data.rfind(b"\n", 0, found.start()) + 1 : found.end()]
    mark = separator.encode()
    count = len(top.split()) if separator == SPACES else 1 + _unquoted(top, mark).count(mark)
    width = max(least, count, 1)
    if width > MOST_COLUMNS:
        raise problem(path, f"the table has {width} columns, more than {MOST_COLUMNS}; save it as .npz or .parquet.")
    quoting = csv.QUOTE_NONE if separator == SPACES else csv.QUOTE_MINIMAL
    form = {"sep": separator, "quoting": quoting, "dtype": str, "keep_default_na": False, "skip_blank_lines": False}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # pandas would drop what does not fit
            cells = pd.read_csv(io.BytesIO(data), header=None, names=range(width), index_col=False, **form)
    except (pd.errors.ParserError, pd.errors.ParserWarning, OverflowError) as error:
        longer = re.search(r"fields in line (\d+), saw (\d+)", str(error))
        if longer is not None:
            first = width if width > least else "fewer"
            raise problem(path, f"the row has {longer[2]} columns, the first one {first}.", int(longer[1])) from None
        opened = re.search(r"starting at row (\d+)", str(error))
        line = None if opened is None else int(opened[1]) + 1
        raise problem(path, "the table is damaged: a quote is not closed.", line) from None
    if separator != SPACES and (b" " in data or b"\t" in data or not data.isascii()):  # such as hard spaces
        cells = cells.apply(lambda column: column.str.strip())
    filled = (cells != "").any(axis=1)
    return TextTable(path, cells if filled.all() else cells[filled])
