"""Signal files to plain numbers: arrays, tables, word vectors, parquet, tensors. Nothing unpickles."""

import os
import re
import zipfile
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from spectrata.errors import FLAGS, argument, shortened
from spectrata.inputs.readers import files
from spectrata.inputs.readers.raw import RawSignal, RawTable
from spectrata.inputs.readers.signal_objects import NAME_HEADS, from_pandas, to_signal_array

# The names a signal and labels go by inside an archive or a table, most wanted first.
_KEYS = ("signal", "features", "x", "embedding")
_LABEL_KEYS = ("labels", "label", "class", "group", "y")
# Labels, the nodes they belong to, and their lines in the file.
_Found = tuple[Any, tuple[Hashable, ...] | None, list[int] | None]
_ADVICE = "correct or drop it, or use st.homophily for class labels"


def read_signal(path: str | os.PathLike[str], names: Collection[Hashable] = ()) -> RawSignal | RawTable:
    """Read a signal file by its ending; a first line that begins with one of the nodes' ``names`` is not a header."""
    with files.opened(path) as path:
        reader = _READERS.get(files.suffix(path))
        if reader is None:
            raise files.problem(path, f"this is not a signal file that is read; use one of {' '.join(_READERS)}.")
        raw = _read_table(path, names) if reader is _read_table else reader(path)
        if isinstance(raw, RawSignal) and raw.values.dtype.kind not in "biuf":
            advice = "convert it, or use st.homophily for class labels"
            raise files.problem(path, f"a signal holds real numbers, not {raw.values.dtype}; {advice}.")
        return raw


# ---- numpy


def _read_npz(path: Path, wanted: Sequence[str] = _KEYS, what: str = "signal") -> RawSignal:
    with files.open_npz(path) as npz:
        # The prefix of arrays that hold a compressed matrix, such as features_data, features_indptr.
        prefixes = [] if any(key in npz for key in wanted) else [*(f"{key}_" for key in wanted), ""]
        sparse = [prefix for prefix in prefixes if {f"{prefix}shape", f"{prefix}data"} <= set(npz.keys)]
        if sparse:
            matrix = files.read_sparse(npz, sparse[0])
            files.check_dense(shortened(path.name), matrix.shape)
            values = matrix.toarray()
        else:
            values = npz[_chosen(path, npz.keys, wanted, what)]
        names = tuple(str(name) for name in npz.labels("names")) if "names" in npz else None
        if names is not None and values.shape[:1] != (len(names),):
            raise files.problem(path, f"there are {len(names)} names for values of shape {values.shape}.")
        return RawSignal(values, names, own=True)


def _chosen(path: Path, keys: Sequence[str], wanted: Sequence[str] = _KEYS, what: str = "signal") -> str:
    keys = [key for key in keys if key != "names"]
    found = [key for key in wanted if key in keys] or keys
    if not found or (len(keys) > 1 and found is keys):
        held = f"it has the arrays {files.listed(keys)}" if keys else "it holds no array"
        raise files.problem(path, f"{held}; call the one that is the {what} {wanted[0]!r}.")
    return found[0]


# ---- text


def _read_table(path: Path, names: Collection[Hashable] = ()) -> RawTable:
    table, header = _headed(path, _header, names)
    cells, values = table.cells, [_column(table, column) for column in table.cells]
    if len(values) == 1 and values[0] is None:
        raise files.problem(path, "the table has a column of names and none of numbers.")
    labels = tuple(header or cells.columns)
    return RawTable(shortened(path.name), cells, values, labels, bool(header), lines=table.lines)


def _headed(
    path: Path, header: Callable[[files.TextTable, Collection[Hashable]], list[str]], nodes: Collection[Hashable]
) -> tuple[files.TextTable, list[str]]:
    """The rows of a table, and its header where it has one."""
    table = files.read_columns(path)
    names = header(table, nodes) if len(table.cells) else []
    rows = replace(table, cells=table.cells.iloc[1:]) if names else table
    if not len(rows.cells):
        raise files.problem(path, "the table has a header and no row." if names else "the table has no row.")
    return rows, names


def _header(table: files.TextTable, names: Collection[Hashable]) -> list[str]:
    """The first line where it names the columns, else nothing."""
    cells = [str(cell) for cell in table.cells.iloc[0]]
    if len(cells) == 1:
        return cells if len(table.cells) > 1 and not files.is_number(cells[0]) else []
    if cells[0].lower() in NAME_HEADS or (_names_columns(table, names) and len(table.cells) > len(names)):
        return cells
    is_row = len(table.cells) == len(names) and cells[0] in names
    words = [cell for cell in cells[1:] if cell not in files.MISSING and not files.is_number(cell)]
    return cells if words and not is_row else []


def _names_columns(table: files.TextTable, names: Collection[Hashable]) -> bool:
    """Whether the first cell of the first line is no node, and those of all others are."""
    first, *others = table.cells[0].tolist()
    return bool(others) and first not in names and set(others) <= set(names)


def _column(table: files.TextTable, column: int, texts: bool = True) -> Any:
    """The numbers of a column, or None for one of ``texts``; refuse a column of numbers with other cells among them.

    Cells without a value are NaN, but for those of the first column, which may hold names.
    """
    cells, alone = table.cells[column].tolist(), table.cells.shape[1] == 1
    missing = files.MISSING if texts and (column or alone) else ()
    try:
        return np.array([np.nan if cell in missing else files.number(cell) for cell in cells])
    except ValueError:
        filled = [cell for cell in cells if cell not in missing]
        known = sum(files.is_number(cell) or files.DECIMAL_COMMA.fullmatch(cell) is not None for cell in filled)
        if not texts or ((column or alone) and known > (0 if alone else len(filled) / 2)):
            raise table.refused(column, _ADVICE) from None
        return None


def _read_word_vectors(path: Path) -> RawSignal:
    """word2vec's text format, with its line "count length" or, as GloVe writes it, without."""
    data = files.read_utf8(path)
    stated = re.match(rb"\s*([0-9]{1,12})[ \t]+([0-9]{1,9})[ \t]*(?:\r\n|\r|\n)", data)
    table = files.parse_table(path, data if stated is None else b"\n" + data[stated.end() :], files.SPACES)
    if stated is not None:
        count, length = int(stated[1]), int(stated[2])
        # A first line "3 1" may also be node 3 with the value 1.
        if table.cells.shape[1] != 1 + length or (length == 1 and len(table.cells) != count):
            table = files.parse_table(path, data, files.SPACES)
        elif len(table.cells) != count:
            raise files.problem(path, f"the first line promises {count} vectors, the file has {len(table.cells)}.", 1)
    if not len(table.cells) or table.cells.shape[1] < 2:
        raise files.problem(path, "it holds no vector; a line is a name and its numbers, separated by spaces.")
    values = [_column(table, column, texts=False) for column in table.cells if column]
    return RawSignal(np.stack(values, axis=1), tuple(table.cells[0].tolist()), own=True, lines=table.lines)


# ---- formats of other libraries


def _read_parquet(path: Path) -> RawTable:
    with files.parsing(path, "the file is cut short or not parquet; write it again.", "pyarrow", "files"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            files.check_dense(shortened(path.name), (file.metadata.num_rows, file.metadata.num_columns))
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
    if not frame.size:
        raise files.problem(path, "the table has no column of numbers, or no row.")
    return from_pandas(frame, shortened(path.name))


def _read_safetensors(path: Path) -> RawSignal:
    words = "the tensors cannot be read; save them as float32 or float64."
    with files.parsing(path, words, "safetensors", "files"):
        from safetensors import safe_open

        with safe_open(path, framework="numpy") as file:
            return RawSignal(file.get_tensor(_chosen(path, list(file.keys()))))


def _read_torch(path: Path) -> RawSignal:
    words = "it is cut short or in torch's old format; save it again with torch.save."
    with files.parsing(path, words), zipfile.ZipFile(path) as archive:
        files.refuse_size(path, sum(info.file_size for info in archive.infolist()))
    words = "it is damaged or holds more than tensors, and code is never loaded; save only the tensor."
    with files.parsing(path, words, "torch", "torch"):
        import torch

        held = torch.load(path, map_location="cpu", weights_only=True)
        if isinstance(held, Mapping):
            tensors = {str(key): value for key, value in held.items() if isinstance(value, torch.Tensor)}
            held = tensors[_chosen(path, list(tensors))]
        if not isinstance(held, torch.Tensor):
            raise files.problem(path, f"it holds {type(held).__name__}, not a tensor; save only the tensor.")
        if held.layout != torch.strided:  # torch would write wherever the indices of a sparse one point
            raise files.problem(path, f"it holds a tensor of layout {held.layout}; save it dense.")
        files.check_dense(shortened(path.name), held.shape)
        return RawSignal(to_signal_array(held))


_READERS: dict[str, Callable[[Path], RawSignal | RawTable]] = {
    ".npy": lambda path: RawSignal(files.read_npy(path)),
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


# ---- labels


def read_labels(path: str | os.PathLike[str], nodes: frozenset[str] = frozenset()) -> _Found:
    """One label per node, and names and lines where the file has some; a first line that begins with a node is data."""
    with files.opened(path) as path:
        ending = files.suffix(path)
        if ending in (".csv", ".tsv"):
            table = read_label_table(path, nodes)
            cells, (first, *others) = table.cells, table.cells.columns
            if not others:
                return cells[first].tolist(), None, None
            named = label_name(others)
            if len(others) > 1 and named is None:
                how = f"choose one, as {argument('column', others[0])}" if "column" in FLAGS else "call one 'label'"
                raise files.problem(path, f"the columns {files.listed(others)} could all hold the labels; {how}.")
            return cells[named or others[0]].tolist(), tuple(cells[first]), table.lines
        if ending == ".txt":
            lines = (line.strip(" \t\r\f\v") for line in files.read_utf8(path).decode().split("\n"))
            labels = [line for line in lines if line]
            words = [line.split(None, 1) for line in labels]
            names, two = tuple(word[0] for word in words), [len(word) == 2 for word in words]
            mostly = 2 * sum(name in nodes for name in names) >= len(names)
            if any(two) and (mostly or (all(two) and len(set(names)) == len(names))):
                return ["".join(word[1:]) for word in words], names, None
            return labels, None, None
        if ending == ".json":
            held = files.read_json(path)
            if not isinstance(held, (dict, list)):
                raise files.problem(path, "labels in JSON are an object from node to label, or a list.")
            return (list(held.values()), tuple(held), None) if isinstance(held, dict) else (held, None, None)
        if ending == ".npy":
            return files.read_npy(path), None, None
        if ending == ".npz":
            raw = _read_npz(path, _LABEL_KEYS, "one with the labels")
            return raw.values, raw.names, None
        raise files.problem(path, "labels are not read from files of this kind; use .csv .tsv .txt .json .npy or .npz.")


def read_label_table(path: Path, nodes: Collection[Hashable] = ()) -> files.TextTable:
    """The rows of a .csv or .tsv file, its header as the names of the columns."""
    table, header = _headed(path, _label_header, nodes)
    return replace(table, cells=table.cells.set_axis(header or [str(place + 1) for place in table.cells], axis=1))


def _label_header(table: files.TextTable, nodes: Collection[Hashable]) -> list[str]:
    """The first line where it names the columns of a table of labels, else nothing."""
    columns = table.cells.to_numpy().T.tolist()
    names = [cell for cell, *_ in columns]
    header = not {name.lower() for name in names}.isdisjoint(_LABEL_KEYS)
    if len(names) > 1:
        header |= names[0].lower() in NAME_HEADS
        header &= names[0] not in nodes or names[0] in columns[0][1:]
        heads = [head for head, *below in columns[1:] if head not in below]
        header |= _names_columns(table, nodes) and not all(map(files.is_number, heads))
    return names if header else []


def label_name(columns: Sequence[Any]) -> Any:
    """The column that goes by a name of labels, such as "label" or "group"; None where none does."""
    by_name = {str(name).lower(): name for name in columns}
    return next((by_name[key] for key in _LABEL_KEYS if key in by_name), None)
