"""Signal files to plain numbers: arrays, tables, word vectors, parquet, tensors. Nothing unpickles."""

import math
import os
import re
import warnings
import zipfile
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spectrata.errors import MissingExtraError, SpectrataError, missing_extra, shortened
from spectrata.inputs.readers.files import (
    MAX_BYTES,
    ZIP_ERRORS,
    Npz,
    checked_path,
    in_memory,
    listed,
    number,
    open_npz,
    problem,
    read_npy,
    read_sparse,
    read_utf8,
    suffix,
)
from spectrata.inputs.readers.raw import RawSignal, RawTable
from spectrata.inputs.readers.signal_objects import from_pandas
from spectrata.inputs.readers.tables import SPACES, TextTable, is_number, parse, read_columns, refuse_cell

# The names a signal goes by inside an archive, most wanted first.
_KEYS = ("signal", "features", "x", "embedding")
# Heads of a first column that make a line of numbers a header.
_NAME_COLUMNS = ("node", "id", "name", "")


def read_signal(path: str | os.PathLike[str], names: Collection[Hashable] = ()) -> RawSignal | RawTable:
    """Read a signal file by its ending.

    Parameters
    ----------
    path : path_like
        ``.npy``, ``.npz``, ``.csv .tsv``, ``.vec .w2v .emb .txt`` (word2vec text), ``.parquet``, ``.safetensors``,
        ``.pt .pth`` (tensors only).
    names : collection, optional
        The nodes' names: a first line that begins with one of them is not a header.

    Returns
    -------
    RawSignal or RawTable
        The numbers, and the nodes' names as text where the file has them; of a table its columns.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "degree.csv"
    ...     _ = file.write_text("node,degree\\nann,2\\nbob,1\\n")
    ...     read_signal(file).labels
    ('node', 'degree')
    """
    path = checked_path(path)
    reader = _READERS.get(suffix(path))
    if reader is None:
        raise problem(path, f"this is not a signal file that is read; use one of {' '.join(_READERS)}.")
    with in_memory(path):
        raw = _read_table(path, names) if reader is _read_table else reader(path)
    if isinstance(raw, RawSignal) and raw.values.dtype.kind not in "biuf":
        labels = "; use st.homophily for class labels" if raw.values.dtype.kind in "US" else "; convert it first"
        raise problem(path, f"a signal holds real numbers, not {raw.values.dtype}{labels}.")
    return raw


# ---- numpy


def _read_npy(path: Path) -> RawSignal:
    return RawSignal(read_npy(path))


def _read_npz(path: Path) -> RawSignal:
    with open_npz(path) as npz:
        prefix = _sparse_prefix(npz)
        if prefix is not None:
            values = _dense(npz, prefix)
        else:
            values = npz[_chosen(path, [key for key in npz.keys if key != "names"])]
        names = tuple(str(name) for name in npz.labels("names")) if "names" in npz else None
        if names is not None and values.shape[:1] != (len(names),):
            raise problem(path, f"there are {len(names)} names for values of shape {values.shape}.")
        return RawSignal(values, names, own=True)


def _chosen(path: Path, keys: Sequence[str]) -> str:
    for key in _KEYS:
        if key in keys:
            return key
    if len(keys) == 1:
        return keys[0]
    held = f"it has the arrays {listed(keys)}" if keys else "it holds no array"
    raise problem(path, f"{held}; call the one that is the signal {_KEYS[0]!r}.")


def _sparse_prefix(npz: Npz) -> str | None:
    """The prefix of arrays that hold a compressed matrix, such as features_data, features_indptr."""
    if any(key in npz for key in _KEYS):
        return None
    for prefix in (*(f"{key}_" for key in _KEYS), ""):
        if {f"{prefix}shape", f"{prefix}data"} <= set(npz.keys):
            return prefix
    return None


def _dense(npz: Npz, prefix: str) -> np.ndarray:
    matrix = read_sparse(npz, prefix)
    _check_size(npz.path, matrix.shape)
    if matrix.dtype.kind not in "biuf":
        raise problem(npz.path, f"a signal holds real numbers, not {matrix.dtype}; convert it first.")
    return np.asarray(matrix.astype(np.float64).toarray())


def _check_size(path: Path, shape: Sequence[int]) -> None:
    if 8 * math.prod(shape) > MAX_BYTES:
        raise problem(
            path, f"the signal of shape {shortened(str(tuple(shape)))} needs more than {MAX_BYTES >> 30} GiB."
        )


# ---- text


_ADVICE = "correct or drop it, or use st.homophily for class labels"


def _read_table(path: Path, names: Collection[Hashable] = ()) -> RawTable:
    table = read_columns(path)
    header = header_of(table, names)
    first = 1 if header else 0
    body = table.cells.iloc[first:]
    if not len(body):
        raise problem(path, f"the table has {'a header and ' * first}no row.")
    values = [_column(table, column, first) for column in body]
    if len(values) == 1 and values[0] is None:
        raise problem(path, "the table has a column of names and none of numbers.")
    return RawTable(
        shortened(path.name),
        tuple(header or body.columns),
        bool(header),
        values,
        lambda place: body[place].tolist(),
        lambda place: refuse_cell(table, place, first, _ADVICE),
    )


def header_of(table: TextTable, names: Collection[Hashable]) -> list[str]:
    """The first line where it names the columns, else nothing."""
    if not len(table.cells):
        raise problem(table.path, "the table has no row.")
    cells = [str(cell) for cell in table.cells.iloc[0]]
    if len(cells) == 1:
        return cells if len(table.cells) > 1 and not is_number(cells[0]) else []
    if cells[0].lower() in _NAME_COLUMNS:
        return cells
    is_row = len(table.cells) == len(names) and cells[0] in names
    return cells if any(cell and not is_number(cell) for cell in cells[1:]) and not is_row else []


def _column(table: TextTable, column: int, first: int) -> np.ndarray | None:
    """The numbers of a column, or None for one of text; refuse a column of numbers with other cells among them."""
    cells = table.cells[column].tolist()[first:]
    try:
        return np.array([number(cell) for cell in cells])
    except ValueError:
        alone = table.cells.shape[1] == 1
        if (column or alone) and sum(map(is_number, cells)) > (0 if alone else len(cells) / 2):
            refuse_cell(table, column, first, _ADVICE)
        return None


def _read_word_vectors(path: Path) -> RawSignal:
    """word2vec's text format, with its line "count length" or, as GloVe writes it, without."""
    data = read_utf8(path)
    stated = re.match(rb"\s*([0-9]{1,12})[ \t]+([0-9]{1,9})[ \t]*(?:\r\n|\r|\n)", data)
    if stated is not None:
        table = parse(path, data[: stated.start()] + b"\n" + data[stated.end() :], SPACES)
        # A first line "3 1" may also be node 3 with the value 1.
        if table.cells.shape[1] == 1 + int(stated[2]) and (int(stated[2]) > 1 or len(table.cells) == int(stated[1])):
            if len(table.cells) != int(stated[1]):
                words = f"the first line promises {int(stated[1])} vectors, the file has {len(table.cells)}."
                raise problem(path, words, 1)
            return _vectors(table)
    return _vectors(parse(path, data, SPACES))


def _vectors(table: TextTable) -> RawSignal:
    if not len(table.cells) or table.cells.shape[1] < 2:
        raise problem(table.path, "it holds no vector; a line is a name and its numbers, separated by spaces.")
    values = [_column(table, column, 0) for column in table.cells if column]
    for place, held in enumerate(values, start=1):
        if held is None:
            refuse_cell(table, place, 0, _ADVICE)
    return RawSignal(np.stack(values, axis=1), tuple(table.cells[0].tolist()), own=True)  # type: ignore[arg-type]


# ---- parquet


def _read_parquet(path: Path) -> RawTable:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise missing_extra("pyarrow", "files", f"reading {path.name}") from None
    try:
        with pq.ParquetFile(path) as file:
            _check_size(path, (file.metadata.num_rows, file.metadata.num_columns))
            texts = (pa.types.is_string, pa.types.is_large_string)
            words = [field.name for field in file.schema_arrow if any(is_text(field.type) for is_text in texts)]
        # A text that stands a million times would fill the memory if each were written out.
        with pq.ParquetFile(path, read_dictionary=words) as file:
            table = file.read()
        table.validate(full=True)
        try:
            frame = table.to_pandas()
        except (ValueError, KeyError, TypeError, AttributeError):  # the note that pandas leaves is damaged
            frame = table.replace_schema_metadata(None).to_pandas()
    except (SpectrataError, MemoryError):
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, IndexError):
        raise problem(path, "the file is cut short or not parquet; write it again.") from None
    if not frame.size:
        raise problem(path, "the table has no column of numbers, or no row.")
    return from_pandas(frame, shortened(path.name))


# ---- tensors


def _read_safetensors(path: Path) -> RawSignal:
    try:
        from safetensors import safe_open
    except ImportError:
        raise missing_extra("safetensors", "files", f"reading {path.name}") from None
    try:
        with safe_open(path, framework="numpy") as file:
            return RawSignal(file.get_tensor(_chosen(path, list(file.keys()))))
    except (SpectrataError, MemoryError):
        raise
    except Exception as error:  # whatever the library makes of a damaged file
        reason = shortened(str(error))
        raise problem(path, f"the tensors cannot be read ({reason}); save them as float32 or float64.") from None


def _read_torch(path: Path) -> RawSignal:
    _check_torch_archive(path)
    try:
        import torch
    except ImportError:
        raise MissingExtraError(f"reading {path.name} needs torch; install it with: pip install torch") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the inside of torch, which the user did not write
            return RawSignal(_tensor_values(path, torch.load(path, map_location="cpu", weights_only=True)))
    except (SpectrataError, MemoryError):
        raise
    except Exception:  # a damaged pickle ends in any kind of error, none of which says more than this
        raise problem(
            path, "it is damaged or holds more than tensors, and code is never loaded; save only the tensor."
        ) from None


def _tensor_values(path: Path, held: Any) -> np.ndarray:
    import torch

    if isinstance(held, Mapping):
        tensors = {str(key): value for key, value in held.items() if isinstance(value, torch.Tensor)}
        held = tensors[_chosen(path, list(tensors))]
    if not isinstance(held, torch.Tensor):
        raise problem(path, f"it holds {type(held).__name__}, not a tensor; save only the tensor.")
    _check_size(path, held.shape)
    held = held.detach() if held.layout == torch.strided else _dense_tensor(path, held.detach())
    return np.asarray((held.double() if held.is_floating_point() else held).numpy())


def _dense_tensor(path: Path, held: Any) -> Any:
    """A sparse tensor made dense; its indices are checked, since torch would write wherever they point."""
    import torch

    size = tuple(held.shape)
    if held.layout == torch.sparse_coo:
        return torch.sparse_coo_tensor(held._indices(), held._values(), size, check_invariants=True).to_dense()
    if held.layout == torch.sparse_csr:
        parts = held.crow_indices(), held.col_indices(), held.values()
        return torch.sparse_csr_tensor(*parts, size, check_invariants=True).to_dense()
    raise problem(path, f"it holds a tensor of layout {held.layout}; save it dense.")


def _check_torch_archive(path: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            claimed = sum(info.file_size for info in archive.infolist())
    except ZIP_ERRORS:
        raise problem(path, "it is cut short or in torch's old format; save it again with torch.save.") from None
    if claimed > MAX_BYTES:
        raise problem(path, f"it claims {claimed} bytes, more than {MAX_BYTES >> 30} GiB; it is refused.")


_READERS: dict[str, Callable[[Path], RawSignal | RawTable]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".csv": _read_table,
    ".tsv": _read_table,
    ".vec": _read_word_vectors,
    ".w2v": _read_word_vectors,
    ".emb": _read_word_vectors,
    ".txt": _read_word_vectors,
    ".parquet": _read_parquet,
    ".safetensors": _read_safetensors,
    ".pt": _read_torch,
    ".pth": _read_torch,
}
