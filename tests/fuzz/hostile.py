"""Files made to do harm, each with the kind of error it must end in."""

import io
import json
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import stores
from .containers import make_zip, unpack

TRAP = "unpickled"  # the file that appears when anything is unpickled


class Trap:
    """Unpickled, it leaves a mark in the current folder."""

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return os.mkdir, (TRAP,)


@dataclass(frozen=True)
class Hostile:
    """A file, the door it is brought to, and what must come of it."""

    name: str
    file: str
    content: bytes | Callable[[], bytes]
    says: str = ""  # words of a FileFormatError, "OtherError: its words", or "accepted"
    door: str = "graph"


def forged(header: str, body: bytes = b"") -> bytes:
    padded = header.encode("latin-1") + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(padded)) + padded + body


def claim(shape: str, descr: str = "'<f8'") -> str:
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"


def object_array() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array([Trap()], dtype=object), allow_pickle=True)
    return buffer.getvalue()


def lying(**members: bytes) -> bytes:
    return make_zip([(f"{name}.npy", data) for name, data in members.items()])


# ---- results, which are folders or need a library to make


def zarr_result(path: Path) -> Path:
    """A sound result as a Zarr store."""
    from .targets import write_folder

    write_folder(path, stores.zarr()[0])
    return path


def change_array(path: Path, name: str, **changes: Any) -> None:
    """Change the metadata of one array of a Zarr store, in both places that hold them."""
    whole = json.loads((path / ".zmetadata").read_text(encoding="utf-8"))
    whole["metadata"][f"{name}/.zarray"] |= changes
    (path / ".zmetadata").write_text(json.dumps(whole), encoding="utf-8")
    (path / name / ".zarray").write_text(json.dumps(whole["metadata"][f"{name}/.zarray"]), encoding="utf-8")


def netcdf_result(path: Path, deed: Callable[[Any], None] | None = None) -> Path:
    """A sound result as netCDF, changed by HDF5's own means."""
    import h5py

    path.write_bytes(stores._saved(".nc")[0])
    if deed is not None:
        with h5py.File(path, "r+") as file:
            deed(file)
    return path


def members(packed: bytes) -> dict[str, bytes]:
    """The files of a packed folder."""
    return unpack(packed)
