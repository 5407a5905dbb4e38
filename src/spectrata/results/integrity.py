"""netCDF files and Zarr stores, looked at before a library opens them.

Both formats can name code to run (a codec that unpickles), other files to read from, and sizes without the bytes to
fill them. What does is refused here; the libraries then read the rest.
"""

import hashlib
import json
import math
import os
import re
import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spectrata.errors import ResultError, SpectrataError, shortened, shown

# Codecs that only move bytes about. Others, first of all pickle, are never asked to decode anything.
_CODECS = {
    "blosc", "zlib", "gzip", "bz2", "lzma", "lz4", "zstd", "shuffle", "bitshuffle", "delta",
    "fixedscaleoffset", "quantize", "packbits", "astype", "bitround", "categorize", "base64",
    "vlen-utf8", "vlen-bytes", "vlen-array", "crc32", "crc32c", "adler32", "fletcher32",
    "jenkins_lookup3", "bytes", "endian", "transpose", "sharding_indexed",
}  # fmt: skip
_METADATA = (".zarray", ".zmetadata", "zarr.json")
_MAX_METADATA = 2**26
# No data worth keeping is packed more tightly; below the first size nobody is harmed.
_HARMLESS, _MAX_RATIO = 2**28, 5000


def checksum_compressor() -> Any:
    """A compressor for Zarr arrays that detects damaged files: the default one gives wrong numbers out of some."""
    from numcodecs import Zstd

    return Zstd(level=1, checksum=True)


@contextmanager
def readable(path: str | os.PathLike) -> Iterator[None]:
    """Raise one sentence when a library fails on the content of a store, whatever the library raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about damage, which is reported as an error or harmless
            yield
    except SpectrataError:
        raise
    except Exception as problem:
        if isinstance(problem, OSError) and problem.errno is not None:  # the disk's own, told elsewhere
            raise
        reason = shortened(str(problem), 200)
        raise ResultError(f"{path} cannot be read ({reason}); is it damaged?") from problem


_SEAL = b"\nspectrata sha256 "
_SEALED = len(_SEAL) + 64


def seal(path: Path) -> None:
    """Put a checksum behind the end of a netCDF file, where HDF5 does not look."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    with path.open("ab") as file:
        file.write(_SEAL + digest.encode())


def _check_seal(path: Path) -> None:
    """Refuse what was damaged before HDF5 sees it, which some damage sends into an endless loop."""
    size = path.stat().st_size - _SEALED
    with path.open("rb") as file:
        file.seek(max(size, 0))
        seal = file.read()
        if not seal.startswith(_SEAL):  # an older file, or one that other programs have changed
            return
        file.seek(0)
        state = hashlib.sha256()
        while size > 0 and (piece := file.read(min(size, 2**20))):
            state.update(piece)
            size -= len(piece)
    if seal[len(_SEAL) :] != state.hexdigest().encode():
        raise ResultError(f"{path} is damaged: it is not what was written; make it again.")


def check_file(path: Path) -> None:
    """Refuse a netCDF file that is damaged, reads from other files, or claims far more than it holds."""
    if not path.is_file():
        raise ResultError(f"{shortened(str(path), 300)} is not a file; give the .nc file itself.")
    _check_seal(path)
    import h5py

    with h5py.File(path, "r") as file:
        claimed = sum(_held_within(path, file))
    check_claim(path, claimed, path.stat().st_size)


def _held_within(path: Path, group: Any) -> Iterator[int]:
    """Bytes that each dataset claims, those of groups inside included."""
    import h5py

    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise ResultError(f"{path} refers to other files ({shown(name)}), which are never opened.")
        held = group[name]
        if isinstance(held, h5py.Group):
            yield from _held_within(path, held)
        elif isinstance(held, h5py.Dataset):
            if held.is_virtual or held.external:
                raise ResultError(f"{path} refers to other files ({shown(name)}), which are never opened.")
            yield math.prod(held.shape or ()) * held.dtype.itemsize


def check_store(path: Path, sparse: bool = False) -> None:
    """Refuse a Zarr store whose metadata name code, or claim far more than it holds unless it may be ``sparse``."""
    if not path.is_dir():
        raise ResultError(f"{shortened(str(path), 300)} is not a folder; give the .zarr folder itself.")
    on_disk, claims, blosc = 0, {"": 0}, set()
    chunks: dict[str, int] = {}
    for place, folders, names in os.walk(path):
        if any(os.path.islink(os.path.join(place, folder)) for folder in folders):
            raise ResultError(f"{path} refers to other folders, which are never opened.")
        for name in names:
            file = os.path.join(place, name)
            held = os.stat(file, follow_symlinks=False)
            if not stat.S_ISREG(held.st_mode):
                raise ResultError(f"{path} refers to other files ({shown(name)}), which are never opened.")
            on_disk += held.st_size
            if name in _METADATA:
                for key, array in _arrays(path, file):
                    claims[key] = max(claims.get(key, 0), _claimed(path, array))
                    if "blosc" in _codecs([array.get("compressor"), array.get("codecs")]):
                        blosc.add(os.path.join(path, key))
            elif not name.startswith("."):
                chunks[file] = held.st_size
    for file, size in chunks.items():
        if any(os.fspath(place) in blosc for place in Path(file).parents):
            _check_blosc(path, file, size)
    if not sparse:
        check_claim(path, sum(claims.values()), on_disk)


def _check_blosc(path: Path, file: str, size: int) -> None:
    """Refuse a chunk that says it is longer than it is: blosc would read on into other memory."""
    with open(file, "rb") as stream:
        stated = stream.read(16)[12:]
    if len(stated) < 4 or int.from_bytes(stated, "little") != size:
        raise ResultError(f"{path} is damaged: {shown(os.path.basename(file))} is not what was written.")


def check_claim(path: Path, claimed: int, on_disk: int) -> None:
    """Refuse sizes that the bytes cannot fill."""
    if claimed > _HARMLESS and claimed > _MAX_RATIO * on_disk:
        size = f"{claimed / 2**30:.3g}"
        raise ResultError(
            f"{path} claims {size} GiB and holds {on_disk:,} bytes; it is damaged, or not a spectrata result file."
        )


def _arrays(path: Path, file: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The metadata of each array that a file describes: its own, or all of the store's."""
    if os.path.getsize(file) > _MAX_METADATA:
        raise ResultError(f"{path} has metadata of more than {_MAX_METADATA >> 20} MiB; it is refused.")
    try:
        with open(file, encoding="utf-8") as stream:
            held = json.load(stream)
    except (OSError, ValueError, RecursionError):
        raise ResultError(f"{path} has damaged metadata ({shown(os.path.basename(file))}).") from None
    found = held if isinstance(held, dict) else {}
    several = [found, found.get("consolidated_metadata")]
    metadata = [one["metadata"] for one in several if isinstance(one, dict) and isinstance(one.get("metadata"), dict)]
    own = os.path.relpath(os.path.dirname(file), path)
    for key, one in ((own, found), *((key, one) for many in metadata for key, one in many.items())):
        if isinstance(one, dict) and "shape" in one:
            yield key.removesuffix("/.zarray"), one


def _claimed(path: Path, array: dict[str, Any]) -> int:
    """Bytes of an array, its codecs and sizes checked."""
    for name in _codecs([array.get(key) for key in ("compressor", "filters", "codecs")]):
        if name.removeprefix("numcodecs.") not in _CODECS:
            raise ResultError(f"{path} needs the codec {shown(name)}, which is not trusted to decode data.")
    grid = array.get("chunk_grid")
    configuration = grid.get("configuration") if isinstance(grid, dict) else None
    inside = configuration if isinstance(configuration, dict) else {}
    chunks: Any = array.get("chunks") if grid is None else inside.get("chunk_shape")
    for sizes in (array["shape"], chunks):
        if not isinstance(sizes, list) or not all(type(size) is int and 0 <= size < 2**62 for size in sizes):
            raise ResultError(f"{path} has an array of the impossible shape {shown(sizes)}.")
    itemsize = _itemsize(array.get("dtype", array.get("data_type")))
    # Even one number is read as a whole chunk.
    return itemsize * max(math.prod(array["shape"]), math.prod(chunks))


def _codecs(held: Any) -> Iterator[str]:
    """Names of codecs, also of those inside others."""
    if isinstance(held, list):
        for one in held:
            yield from _codecs(one)
    elif isinstance(held, dict):
        yield str(held.get("id", held.get("name")))
        inside = held.get("configuration")
        yield from _codecs([inside.get(key) for key in ("codecs", "index_codecs")] if isinstance(inside, dict) else [])


def _itemsize(name: Any) -> int:
    """Bytes of one entry, such as 8 for <f8; not asked of numpy, which has warnings for odd names."""
    found = re.fullmatch(r"[<>|]?([a-zA-Z?])([0-9]{1,9})(\[\w+\])?", name) if isinstance(name, str) else None
    return int(found[2]) * (4 if found[1] == "U" else 1) if found else 8
