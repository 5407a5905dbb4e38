"""Files with one label per node: tables, arrays, text lines, JSON. Nothing unpickles."""

import os
from collections.abc import Hashable
from pathlib import Path
from typing import Any

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
_ENDINGS = (".csv", ".tsv", ".txt", ".json", ".npy", ".npz")

# Labels, and the names of their nodes where the file has some.
Found = tuple[list[Any], tuple[Hashable, ...] | None]


def read_labels(path: str | os.PathLike[str]) -> Found:
    """Read a file of labels by its ending: ``.csv .tsv .txt .json .npy .npz``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "clubs.csv"
    ...     _ = file.write_text("node,club\\nann,chess\\nbob,rowing\\n")
    ...     read_labels(file)
    (['chess', 'rowing'], ('ann', 'bob'))
    """
    path = checked_path(path)
    ending = suffix(path)
    if ending not in _ENDINGS:
        raise problem(path, f"labels are not read from files of this kind; use one of {' '.join(_ENDINGS)}.")
    with in_memory(path):
        if ending in (".csv", ".tsv"):
            return _from_table(path)
        if ending == ".txt":
            lines = (line.strip(" \t\r\f\v") for line in read_text(path).split("\n"))
            return [line for line in lines if line], None
        return _from_json(path) if ending == ".json" else _from_array(path)


def _from_table(path: Path) -> Found:
    cells = read_columns(path).cells
    if not len(cells):
        raise problem(path, "the table has no row.")
    first, width = [str(cell).lower() for cell in cells.iloc[0]], cells.shape[1]
    header = bool(set(first) & set(_LABEL_COLUMNS)) or (width > 1 and first[0] in _NAME_COLUMNS)
    body = cells.iloc[1:] if header else cells
    if not len(body):
        raise problem(path, "the table has a header and no row.")
    if width == 1:
        return body[0].tolist(), None
    named = [name for name in _LABEL_COLUMNS if name in first[1:]] if header else []
    if width > 2 and not named:
        raise problem(path, f"the table has {width} columns; call the one with the labels 'label'.")
    return body[first.index(named[0], 1) if named else 1].tolist(), tuple(body[0].tolist())


def _from_json(path: Path) -> Found:
    held = read_json(path)
    if isinstance(held, dict):
        return list(held.values()), tuple(held)
    if not isinstance(held, list):
        raise problem(path, "labels in JSON are an object from node to label, or a list.")
    return held, None


def _from_array(path: Path) -> Found:
    names = None
    if suffix(path) == ".npy":
        array = read_npy(path)
    else:
        with open_npz(path) as npz:
            keys = [key for key in npz.keys if key != "names"]
            chosen = [key for key in _LABEL_COLUMNS if key in keys] or (keys if len(keys) == 1 else [])
            if not chosen:
                raise problem(path, f"it has the arrays {listed(keys)}; call the one with the labels 'labels'.")
            names = tuple(str(name) for name in npz.labels("names")) if "names" in npz else None
            array = npz[chosen[0]]
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    if array.ndim != 1:
        raise problem(path, f"labels have shape (n,), one per node, not {array.shape}.")
    return list(sound_text(path, array, "the array").tolist()), names
