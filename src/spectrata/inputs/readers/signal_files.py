"""Signal files to plain numbers: arrays, tables, word vectors, parquet, tensors. Nothing unpickles."""

import math
import os
import re
import warnings
import zipfile
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from spectrata.errors import DuplicateNameError, MissingExtraError, SpectrataError, missing_extra, shortened, shown
from spectrata.inputs.readers.files import (
    MAX_BYTES,
    ZIP_ERRORS,
    Npz,
    checked_path,
    in_memory,
    listed,
    open_npz,
    problem,
    read_npy,
    read_sparse,
    read_utf8,
    suffix,
)
from spectrata.inputs.readers.raw import RawSignal, RawTable
from spectrata.inputs.readers.tables import TextTable, is_number, numbers, read_columns, refuse_cell

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
        _check_names(path, names, values)
        return RawSignal(values, names, own=True)


def _check_names(path: Path, names: Sequence[Hashable] | None, values: np.ndarray) -> None:
    if names is not None and values.shape[:1] != (len(names),):
        raise problem(path, f"there are {len(names)} names for values of shape {values.shape}.")


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


def _read_table(path: Path, names: Collection[Hashable] = ()) -> RawTable:
    table = read_columns(path)
    header, body = split_header(table, names)
    first = 1 if header else 0
    columns = list(body.cells.columns)
    if not len(body.cells):
        raise problem(path, "the table has a header and no row." if header else "the table has no row.")
    values = [_column(table, column, first) for column in columns]
    if len(columns) == 1 and values[0] is None:
        if any(is_number(cell) for cell in body.cells[0]):
            refuse_cell(table, 0, first, _ADVICE)
        raise problem(path, "the table has a column of names and none of numbers.")
    return RawTable(
        shortened(path.name),
        tuple(header or columns),
        bool(header),
        values,
        lambda place: body.cells[columns[place]].tolist(),
        lambda place: refuse_cell(table, columns[place], first, _ADVICE),  # type: ignore[arg-type, return-value]
        heads=bool(header),
    )


_ADVICE = "correct or drop it, or use st.homophily for class labels"


def split_header(table: TextTable, names: Collection[Hashable]) -> tuple[list[str], TextTable]:
    """The names of the columns, where the first line holds them, and the table of the rows below."""
    if not len(table.cells):
        raise problem(table.path, "the table has no row.")
    cells = [str(cell) for cell in table.cells.iloc[0]]
    if len(cells) == 1:
        header = len(table.cells) > 1 and not is_number(cells[0])
    else:
        header = cells[0].lower() in _NAME_COLUMNS or any(cell and not is_number(cell) for cell in cells[1:])
    if not header or (len(table.cells) == len(names) and cells[0] in names and cells[0].lower() not in _NAME_COLUMNS):
        return [], table
    return cells, replace(table, cells=table.cells[1:])


def _column(table: TextTable, column: int, first: int) -> np.ndarray | None:
    """The numbers of a column, or None for one of text; refuse a column of numbers with other cells among them."""
    cells = table.cells[column].iloc[first:]
    found = numbers(cells)
    if found is None and column > 0 and 2 * sum(is_number(cell) for cell in cells) > len(cells):
        refuse_cell(table, column, first, _ADVICE)
    return found


def _read_word_vectors(path: Path) -> RawSignal:
    """word2vec's text format, with its line "count length" or, as GloVe writes it, without."""
    lines = [(place, line.strip(" \t\f\v")) for place, line in enumerate(_lines(path), start=1)]
    lines = [(place, line) for place, line in lines if line]
    if not lines:
        raise problem(path, "the file holds no vector.")
    stated = _stated_size(lines)
    if stated is not None:
        lines = lines[1:]
        if len(lines) != stated[0]:
            raise problem(path, f"the first line promises {stated[0]} vectors, the file has {len(lines)}.", 1)
    length = stated[1] if stated is not None else len(lines[0][1].split()) - 1
    if length < 1:
        raise problem(path, "a line is a name and its numbers, separated by spaces.", lines[0][0])
    names, rows = [], []
    for place, line in lines:
        name, *cells = line.rsplit(None, length) or [""]
        if len(cells) != length or (stated is None and " " in name.replace("\t", " ")):
            raise problem(path, f"a line is a name and {length} numbers, here {len(line.split())} words.", place)
        names.append(name)
        for column, cell in enumerate(cells, start=2):
            if not is_number(cell):
                raise problem(path, f"{shown(cell)} is not a number (column {column}); {_ADVICE}.", place)
        rows.append([float(cell) for cell in cells])
    return RawSignal(np.array(rows), tuple(names), own=True)


def _lines(path: Path) -> list[str]:
    # Not splitlines(), which also breaks at rarer separators that may stand inside a name.
    return re.split(r"\r\n|\r|\n", read_utf8(path).decode())


def _stated_size(lines: Sequence[tuple[int, str]]) -> tuple[int, int] | None:
    match = re.fullmatch(r"([0-9]{1,12})\s+([0-9]{1,9})", lines[0][1])
    if match is None or len(lines) < 2:
        return None
    count, length = int(match[1]), int(match[2])
    # A first line "3 1" may also be node 3 with the value 1: then the count would not fit.
    fits = len(lines[1][1].split()) > length >= 1 and (length > 1 or count == len(lines) - 1)
    return (count, length) if fits else None


# ---- parquet


def _read_parquet(path: Path) -> RawTable:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise missing_extra("pyarrow", "files", f"reading {path.name}") from None
    try:
        with pq.ParquetFile(path) as file:
            schema = file.schema_arrow
            _check_size(path, (file.metadata.num_rows, file.metadata.num_columns))
        if len(set(schema.names)) < len(schema.names):
            raise DuplicateNameError(f"{shortened(path.name)} has two columns of the same name; rename one.")
        # A column of few texts repeated would fill the memory if each were written out.
        words = [
            field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
        ]
        with pq.ParquetFile(path, read_dictionary=words) as file:
            table = file.read()
        table.validate(full=True)
        if table.num_rows == 0:
            raise problem(path, "the table has no row.")
        held = {name: _parquet_column(path, name, table[name]) for name in schema.names}
    except (SpectrataError, MemoryError):
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, IndexError):
        raise problem(path, "the file is cut short or not parquet; write it again.") from None
    index = next((name for name in _index_columns(schema) if name in held), None)
    columns = [name for name in schema.names if name != index]
    if not any(held[name].dtype.kind == "f" for name in columns) and len(columns) < 2:
        raise problem(path, "the table has no column of numbers.")

    def refuse(place: int) -> NoReturn:
        raise problem(path, f"the column {shown(columns[place])} holds text, not numbers; {_ADVICE}.")

    def cells(place: int) -> list[Any]:
        return _as_names(table[columns[place]], held[columns[place]])

    values = [held[name] if held[name].dtype.kind == "f" else None for name in columns]
    names = None if index is None else tuple(_as_names(table[index], held[index]))
    return RawTable(shortened(path.name), tuple(columns), True, values, cells, refuse, names, heads=True)


def _index_columns(schema: Any) -> list[str]:
    """The columns that pandas noted as the index."""
    try:
        stored = schema.pandas_metadata or {}
    except ValueError:  # the note that pandas leaves is damaged; the columns speak for themselves
        stored = {}
    index = stored.get("index_columns") if isinstance(stored, Mapping) else None
    return [name for name in index if isinstance(name, str)] if isinstance(index, list) else []


def _parquet_column(path: Path, name: str, column: Any) -> np.ndarray:
    """Numbers as floats, gaps as NaN; texts as objects, equal ones shared."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        # Truth values with gaps would come as objects; as numbers their gaps are NaN, like all others.
        column = column.cast(pa.int8()) if pa.types.is_boolean(kind) else column
        return np.asarray(column.to_numpy(), dtype=np.float64)
    if not (
        pa.types.is_dictionary(kind)
        and (pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type))
    ):
        raise problem(path, f"the column {shown(name)} holds {shortened(str(kind))}, not numbers or text; drop it.")
    coded = column.combine_chunks()
    coded = coded.chunk(0) if hasattr(coded, "chunk") else coded
    texts = np.array([*coded.dictionary.to_pylist(), None], dtype=object)
    return np.asarray(texts[coded.indices.fill_null(len(texts) - 1).to_numpy()])


def _as_names(column: Any, held: np.ndarray) -> list[Any]:
    """The values of a column as names: text, or whole numbers as they were stored."""
    import pyarrow as pa

    return column.to_pylist() if pa.types.is_integer(column.type) else held.tolist()


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
