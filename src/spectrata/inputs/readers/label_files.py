"""Files with one label per node: tables, arrays, text lines, JSON. Nothing unpickles."""

import os
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spectrata.inputs.readers.files import (
    checked_path,
    in_memory,
    listed,
    open_npz,
    problem,
    read_json,
    read_npy,
    read_text,
    sound_text,
    suffix,
)
from spectrata.inputs.readers.tables import read_columns

_LABEL_COLUMNS = ("labels", "label", "class", "group", "y")
_NAME_COLUMNS = ("node", "id", "name", "")


@dataclass(frozen=True, eq=False)
class RawLabels:
    """Labels as they were found, with the names of their nodes and the order of their classes where there are some."""

    values: Sequence[Any]
    names: tuple[Hashable, ...] | None = None
    order: tuple[Any, ...] | None = None


def read_labels(path: str | os.PathLike[str]) -> RawLabels:
    """Read a file of labels by its ending: ``.csv .tsv .txt .json .npy .npz``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "clubs.csv"
    ...     _ = file.write_text("node,club\\nann,chess\\nbob,rowing\\n")
    ...     found = read_labels(file)
    >>> found.names, list(found.values)
    (('ann', 'bob'), ['chess', 'rowing'])
    """
    path = checked_path(path)
    reader = _READERS.get(suffix(path))
    if reader is None:
        raise problem(path, f"labels are not read from files of this kind; use one of {' '.join(_READERS)}.")
    with in_memory(path):
        return reader(path)


def _read_table(path: Path) -> RawLabels:
    cells = read_columns(path).cells
    if not len(cells):
        raise problem(path, "the table has no row.")
    first, width = [str(cell).lower() for cell in cells.iloc[0]], cells.shape[1]
    header = bool(set(first) & set(_LABEL_COLUMNS)) or (width > 1 and first[0] in _NAME_COLUMNS)
    body = cells.iloc[1:] if header else cells
    if not len(body):
        raise problem(path, "the table has a header and no row.")
    if width == 1:
        return RawLabels(body[0].tolist())
    column = 1
    if width > 2:
        named = [name for name in _LABEL_COLUMNS if name in first[1:]]
        if not header or not named:
            raise problem(path, f"the table has {width} columns; call the one with the labels 'label'.")
        column = first.index(named[0], 1)
    return RawLabels(body[column].tolist(), tuple(body[0].tolist()))


def _read_lines(path: Path) -> RawLabels:
    lines = (line.strip(" \t\r\f\v") for line in read_text(path).split("\n"))
    return RawLabels([line for line in lines if line])


def _read_json(path: Path) -> RawLabels:
    held = read_json(path)
    if isinstance(held, dict):
        return RawLabels(list(held.values()), tuple(held))
    if isinstance(held, list):
        return RawLabels(held)
    raise problem(path, "labels in JSON are an object from node to label, or a list.")


def _read_npy(path: Path) -> RawLabels:
    return RawLabels(_one_per_row(path, read_npy(path)))


def _read_npz(path: Path) -> RawLabels:
    with open_npz(path) as npz:
        keys = [key for key in npz.keys if key != "names"]
        chosen = [key for key in _LABEL_COLUMNS if key in keys] or (keys if len(keys) == 1 else [])
        if not chosen:
            raise problem(path, f"it has the arrays {listed(keys)}; call the one with the labels 'labels'.")
        names = tuple(str(name) for name in npz.labels("names")) if "names" in npz else None
        return RawLabels(_one_per_row(path, npz[chosen[0]]), names)


def _one_per_row(path: Path, array: np.ndarray) -> list[Any]:
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise problem(path, f"labels have shape (n,), one per node, not {array.shape}.")
    return list(sound_text(path, array, "the array").tolist())


_READERS: dict[str, Callable[[Path], RawLabels]] = {
    ".csv": _read_table,
    ".tsv": _read_table,
    ".txt": _read_lines,
    ".json": _read_json,
    ".npy": _read_npy,
    ".npz": _read_npz,
}
