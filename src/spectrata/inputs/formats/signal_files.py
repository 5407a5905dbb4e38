"""Signal files to plain numbers: arrays, tables, word vectors, parquet, tensors. Nothing unpickles."""

import math
import os
import re
import warnings
import zipfile
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spectrata.errors import MissingExtraError, SpectrataError, missing_extra, shortened, shown
from spectrata.inputs.formats.files import (
    MAX_BYTES,
    ZIP_ERRORS,
    Npz,
    checked_path,
    csv_lines,
    in_memory,
    listed,
    number,
    numbered_lines,
    open_npz,
    problem,
    read_npy,
    sparse_entries,
    suffix,
)
from spectrata.inputs.formats.raw import RawSignal

# The names a signal goes by inside an archive, most wanted first.
_KEYS = ("signal", "features", "x", "embedding")
# The heads of a column that names the nodes.
_NAME_COLUMNS = ("node", "id", "name", "label", "")


def read_signal(path: str | os.PathLike[str]) -> RawSignal:
    """Read a signal file by its ending.

    Parameters
    ----------
    path : path_like
        ``.npy``, ``.npz``, ``.csv .tsv``, ``.vec .w2v .emb .txt`` (word2vec text), ``.parquet``, ``.safetensors``,
        ``.pt .pth`` (tensors only).

    Returns
    -------
    RawSignal
        The numbers, and the nodes' names as text where the file has them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "degree.csv"
    ...     _ = file.write_text("node,degree\\nann,2\\nbob,1\\n")
    ...     read_signal(file).names
    ('ann', 'bob')
    """
    path = checked_path(path)
    reader = _READERS.get(suffix(path))
    if reader is None:
        raise problem(path, f"this is no kind of signal file that is read; use one of {' '.join(_READERS)}.")
    with in_memory(path):
        raw = reader(path)
    if raw.values.dtype.kind not in "biuf":
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
        return RawSignal(values, names)


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
    rows, columns, values, shape = sparse_entries(npz, prefix)
    _check_size(npz.path, shape)
    if values.dtype.kind not in "biuf":
        raise problem(npz.path, f"a signal holds real numbers, not {values.dtype}; convert it first.")
    dense = np.zeros(shape)
    np.add.at(dense, (rows, columns), values)
    return dense


def _check_size(path: Path, shape: Sequence[int]) -> None:
    if 8 * math.prod(shape) > MAX_BYTES:
        raise problem(
            path, f"the signal of shape {shortened(str(tuple(shape)))} needs more than {MAX_BYTES >> 30} GiB."
        )


# ---- text


def _read_table(path: Path) -> RawSignal:
    lines = csv_lines(path)
    if not lines:
        raise problem(path, "the table has no row.")
    width = len(lines[0][1])
    for place, cells in lines:
        if len(cells) != width:
            raise problem(path, f"the row has {len(cells)} columns, the first one {width}.", place)
    header = lines[0][1] if _is_header(lines[0][1], len(lines)) else None
    body = lines if header is None else lines[1:]
    if not body:
        raise problem(path, "the table has a header and no row.")
    named = header is not None and header[0].lower() in _NAME_COLUMNS
    named = named or not all(_is_number(cells[0]) for _, cells in body)
    if named and width == 1:
        raise problem(path, "the table has a column of names and none of numbers.")
    names = tuple(cells[0] for _, cells in body) if named else None
    values = [_numbers(path, place, cells[named:], 1 + named) for place, cells in body]
    columns = None if header is None else tuple(header[named:])
    return RawSignal(np.array(values).reshape(len(body), width - named), names, columns=columns)


def _is_header(cells: Sequence[str], n_lines: int) -> bool:
    if len(cells) == 1:
        return n_lines > 1 and not _is_number(cells[0])
    return cells[0].lower() in _NAME_COLUMNS or any(cell and not _is_number(cell) for cell in cells[1:])


def _is_number(cell: str) -> bool:
    try:
        number(cell)
    except ValueError:
        return False
    return True


def _numbers(path: Path, line: int, cells: Sequence[str], first: int) -> list[float]:
    try:
        return [number(cell) for cell in cells]
    except ValueError:
        column, cell = next((i, cell) for i, cell in enumerate(cells, first) if not _is_number(cell))
        if not cell:
            raise problem(path, f"a cell is empty (column {column}); fill or drop it.", line) from None
        advice = "correct or drop it, or use st.homophily for class labels"
        raise problem(path, f"{shown(cell)} is not a number (column {column}); {advice}.", line) from None


def _read_word_vectors(path: Path) -> RawSignal:
    """word2vec's text format, with its line "count length" or, as GloVe writes it, without."""
    lines = list(numbered_lines(path))
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
        rows.append(_numbers(path, place, cells, 2))
    return RawSignal(np.array(rows), tuple(names))


def _stated_size(lines: Sequence[tuple[int, str]]) -> tuple[int, int] | None:
    match = re.fullmatch(r"([0-9]{1,12})\s+([0-9]{1,9})", lines[0][1])
    if match is None or len(lines) < 2:
        return None
    count, length = int(match[1]), int(match[2])
    # A first line "3 1" may also be node 3 with the value 1: then the count would not fit.
    fits = len(lines[1][1].split()) > length >= 1 and (length > 1 or count == len(lines) - 1)
    return (count, length) if fits else None


# ---- parquet


def _read_parquet(path: Path) -> RawSignal:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise missing_extra("pyarrow", "files", f"reading {path.name}") from None
    try:
        with pq.ParquetFile(path) as file:
            _check_size(path, (file.metadata.num_rows, file.metadata.num_columns))
            label, columns = _parquet_columns(path, file.schema_arrow)
            # A column of few names repeated would fill the memory if each were written out.
            table = file.read() if label is None else _with_names(pq, path, label)
        if not columns or table.num_rows == 0:
            raise problem(path, "the table has no column of numbers, or no row.")
        table.validate(full=True)
        values = np.stack([_parquet_numbers(table[name]) for name in columns], axis=1)
        names = None if label is None else _parquet_names(path, table[label])
        return RawSignal(values, names, columns=tuple(columns))
    except (SpectrataError, MemoryError):
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, IndexError):
        raise problem(path, "the file is cut short or not parquet; write it again.") from None


def _parquet_columns(path: Path, schema: Any) -> tuple[str | None, list[str]]:
    """The column that names the nodes, if any, and those of numbers, before anything is read."""
    import pyarrow as pa

    if len(set(schema.names)) < len(schema.names):
        raise problem(path, "two columns have the same name; rename one.")
    label = _name_column(schema)
    columns = [name for name in schema.names if name != label]
    for name in columns:
        kind = schema.field(name).type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            words = f"the column {shown(name)} holds {shortened(str(kind))}, not numbers"
            raise problem(path, f"{words}; drop it or call it 'node'.")
    if label is not None:
        kind = schema.field(label).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not (pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            words = f"the column {shown(label)} names the nodes and holds {shortened(str(kind))}"
            raise problem(path, f"{words}; names are text or whole numbers.")
    return label, columns


def _name_column(schema: Any) -> str | None:
    try:
        stored = schema.pandas_metadata or {}
    except ValueError:  # the note that pandas leaves is damaged; the columns speak for themselves
        stored = {}
    index = stored.get("index_columns") if isinstance(stored, Mapping) else None
    index = [name for name in index if isinstance(name, str)] if isinstance(index, list) else []
    for name in (*index, *schema.names):
        if name in schema.names and (name in index or name.lower() in _NAME_COLUMNS):
            return str(name)
    return None


def _with_names(pq: Any, path: Path, label: str) -> Any:
    """The table, its names kept as a list of different ones and where each stands."""
    with pq.ParquetFile(path, read_dictionary=[label]) as file:
        return file.read()


def _parquet_numbers(column: Any) -> np.ndarray:
    import pyarrow as pa

    # Truth values with gaps would come as objects; as numbers their gaps are NaN, like all others.
    column = column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column
    return np.asarray(column.to_numpy(), dtype=np.float64)


def _parquet_names(path: Path, column: Any) -> tuple[str, ...]:
    if column.null_count:
        raise problem(path, f"{column.null_count} nodes have no name; fill the column of names.")
    if len(column.unique()) < len(column):
        raise problem(path, "a node's name occurs twice; give every node one row.")
    return tuple(str(name) for name in column.to_pylist())


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


_READERS: dict[str, Callable[[Path], RawSignal]] = {
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
