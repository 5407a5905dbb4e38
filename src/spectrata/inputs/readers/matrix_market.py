"""Matrix Market files to adjacency matrices, every entry checked before scipy reads it."""

import gzip
import io
import re
import zlib
from pathlib import Path

from spectrata.errors import shown
from spectrata.inputs.readers.arrays import from_sparse
from spectrata.inputs.readers.files import MAX_BYTES, problem, read_bytes, suffix
from spectrata.inputs.readers.raw import RawGraph

_REAL = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,5})?"
_FIELDS = {
    b"real": _REAL,
    b"double": _REAL,
    b"integer": rb"[+-]?\d{1,18}",
    b"unsigned-integer": rb"\d{1,18}",
    b"pattern": b"",
}
_SYMMETRIES = (b"general", b"symmetric", b"skew-symmetric")


def read_matrix_market(path: Path) -> RawGraph:
    """Read the adjacency matrix of a Matrix Market file, plain or gzipped."""
    data = _unzipped(path) if suffix(path) == ".mtx.gz" else read_bytes(path)
    _check_matrix(path, data)
    from scipy.io import mmread
    from scipy.sparse import coo_array

    try:
        # It reads past the end where the last line is not closed.
        entries = coo_array(mmread(io.BytesIO(data.rstrip() + b"\n")))
    except (ValueError, TypeError, OverflowError, EOFError, RuntimeError, OSError) as error:
        raise problem(path, f"the Matrix Market data is damaged ({shown(str(error).strip())[1:-1]}).") from None
    return from_sparse(entries)


def _unzipped(path: Path) -> bytes:
    pieces, size = [], 0
    try:
        with gzip.open(path) as stream:
            # Piece by piece: to ask for the largest size at once would set that much memory aside.
            while piece := stream.read(2**20):
                pieces.append(piece)
                size += len(piece)
                if size > MAX_BYTES:
                    raise problem(path, f"it unpacks to more than {MAX_BYTES >> 30} GiB; it is refused.")
    except (OSError, EOFError, zlib.error):
        raise problem(path, "the gzip data is cut short or damaged; write it again.") from None
    return b"".join(pieces)


def _check_matrix(path: Path, data: bytes) -> None:
    """Let only whole and plain entries through: scipy's reader skips what it does not understand, or crashes."""
    start = data.find(b"\n") + 1
    banner = data[: start or len(data)].lower().split()
    if len(banner) < 3 or banner[:2] != [b"%%matrixmarket", b"matrix"]:
        raise problem(path, "a Matrix Market file begins with '%%MatrixMarket matrix'; check the file.", 1)
    dense = banner[2] == b"array"
    if len(banner) != 5 or banner[2] not in (b"array", b"coordinate"):
        raise problem(path, "the first line names a format, a field and a symmetry; check it.", 1)
    field, symmetry = banner[3:]
    if field not in _FIELDS or symmetry not in _SYMMETRIES or (dense and field == b"pattern"):
        kind = shown(b" ".join(banner[2:]).decode("ascii", "replace"))[1:-1]
        raise problem(path, f"it is {kind}; an adjacency matrix is real, integer or pattern.", 1)
    size = re.compile(rb"(?:[ \t]*(?:%[^\n]*)?\r?\n)*+[ \t]*([^\r\n]*?)[ \t]*(?:\r?\n|\Z)").match(data, start)
    sizes = size[1].split() if size else []
    if size is None or len(sizes) != (2 if dense else 3) or not all(_is_size(part) for part in sizes):
        raise problem(path, "the line of sizes after the comments is missing or damaged.")
    n_entries = _check_sizes(path, [int(part) for part in sizes], len(data), symmetry == b"general")
    _check_entries(path, data, size.end(), _FIELDS[field], dense, n_entries)


def _is_size(part: bytes) -> bool:
    return re.fullmatch(rb"\d{1,18}", part) is not None


def _check_sizes(path: Path, sizes: list[int], n_bytes: int, general: bool) -> int:
    """Refuse what would be allocated for without the bytes to fill it; give the number of entries."""
    rows, columns, *stored = sizes
    if rows != columns:
        raise problem(path, f"an adjacency matrix is square, not of shape {(rows, columns)}.")
    claimed = stored[0] if stored else rows * rows if general else rows * (rows - 1) // 2
    # A stored number takes two bytes at least; rows without entries may be many, but not without bound.
    if 2 * claimed > n_bytes or rows > 1_000_000 + 100 * claimed:
        raise problem(path, f"it claims {rows} rows and {claimed} entries, more than the file holds.")
    return claimed


def _check_entries(path: Path, data: bytes, start: int, value: bytes, dense: bool, claimed: int) -> None:
    cells = [value] if dense else [rb"\d{1,18}", rb"\d{1,18}", *([value] if value else [])]
    entry = rb"[ \t]*" + rb"[ \t]+".join(cells) + rb"[ \t]*(?:\r?\n|\Z)"
    whole = re.compile(rb"(?:" + entry + rb")*+").match(data, start)
    end = whole.end() if whole else start
    if data[end:].strip():
        line = data.count(b"\n", 0, end) + 1
        raise problem(path, "the Matrix Market data is damaged: this is not an entry.", line)
    found = data.count(b"\n", start, end) + (end > start and not data.endswith(b"\n", start, end))
    if not dense and found != claimed:
        raise problem(path, f"the Matrix Market data is damaged: {claimed} entries were promised, {found} found.")
