"""Saved results, checked: files and stores before a library opens them, and their content after it.

netCDF and Zarr can name code to run (a codec that unpickles), other files to read from, and sizes without the bytes to
fill them. Such files are refused here; the libraries then read the rest, and a hash says whether it is what was
written.
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
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import ResultError, SpectrataError, missing_extra, shortened, shown
from spectrata.results.schema import FIELDS, NO_EDGES, OPTIONS

if TYPE_CHECKING:
    import xarray as xr

# Codecs that only move bytes about. Others, first of all pickle, are never asked to decode anything.
_CODECS = {
    "blosc", "zlib", "gzip", "bz2", "lzma", "lz4", "zstd", "shuffle", "bitshuffle", "delta", "fixedscaleoffset",
    "quantize", "packbits", "astype", "bitround", "categorize", "base64", "vlen-utf8", "vlen-bytes", "vlen-array",
    "crc32", "crc32c", "adler32", "fletcher32", "jenkins_lookup3", "bytes", "endian", "transpose", "sharding_indexed",
}  # fmt: skip
_METADATA = (".zarray", ".zmetadata", "zarr.json")
_MAX_METADATA = 2**26  # bytes: the metadata of a result take thousands
_HARMLESS, _MAX_RATIO = 2**28, 5000  # bytes that harm nobody, and more than any data worth keeping is packed by
_SEAL = b"\nspectrata sha256 "
# Labels and facts that a result is read by; other text may come back changed from a file (dates, odd characters).
_LABELS = ("algorithm", "node", "status", "made_with")
_FACTS = ("spectrata_version", "kind", "n_nodes", "n_edges", "graph_hash", "node_type", "laplacian", "self_loops",
          "weights", "metric", "seed", "merged", "normalized", "zero_dropped", OPTIONS)  # fmt: skip


def checksum_compressor() -> Any:
    """A compressor for Zarr arrays that detects damaged files: the default one gives wrong numbers out of some."""
    require_zarr()
    from numcodecs import Zstd

    return Zstd(level=1, checksum=True)


def require_zarr() -> None:
    """Refuse stores where the package for them is not installed."""
    from importlib.util import find_spec

    if find_spec("zarr") is None:
        raise missing_extra("zarr", "stores", "A Zarr store")


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
        raise ResultError(f"{path} cannot be read ({shortened(str(problem), 200)}); is it damaged?") from problem


def _check_claim(path: Path, claimed: int, on_disk: int) -> None:
    """Refuse sizes that the bytes cannot fill."""
    if claimed > _HARMLESS and claimed > _MAX_RATIO * on_disk:
        raise ResultError(
            f"{path} claims {claimed / 2**30:.3g} GiB and holds {on_disk:,} bytes; it is damaged, or not a spectrata "
            "result file."
        )


# ---- netCDF


def seal(path: Path) -> None:
    """Put a checksum behind the end of a netCDF file, where HDF5 does not look."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    with path.open("ab") as file:
        file.write(_SEAL + digest.encode())


def check_file(path: Path) -> None:
    """Refuse a netCDF file that is damaged, reads from other files, or claims far more than it holds."""
    if not path.is_file():
        raise ResultError(f"{shortened(str(path), 300)} is not a file; give the .nc file itself.")
    size = path.stat().st_size
    end = max(size - len(_SEAL) - 64, 0)
    with path.open("rb") as file:
        file.seek(end)
        sealed = file.read()
        if sealed.startswith(_SEAL):  # else an older file, or one that other programs have changed
            file.seek(0)
            state = hashlib.sha256()
            while end > 0 and (piece := file.read(min(end, 2**20))):
                state.update(piece)
                end -= len(piece)
            if sealed[len(_SEAL) :] != state.hexdigest().encode():  # some damage sends HDF5 into an endless loop
                raise ResultError(f"{path} is damaged: it is not what was written; make it again.")
    import h5py

    with h5py.File(path, "r") as file:
        _check_claim(path, sum(_held_within(path, file)), size)


def _held_within(path: Path, group: Any) -> Iterator[int]:
    """Bytes that each dataset claims, those of groups inside included."""
    import h5py

    for name in group:
        own = isinstance(group.get(name, getlink=True), h5py.HardLink)
        held = group[name] if own else None
        if not own or (isinstance(held, h5py.Dataset) and (held.is_virtual or held.external)):
            raise ResultError(f"{path} refers to other files ({shown(name)}), which are never opened.")
        if isinstance(held, h5py.Group):
            yield from _held_within(path, held)
        elif isinstance(held, h5py.Dataset):
            yield math.prod(held.shape or ()) * held.dtype.itemsize


# ---- Zarr


def check_store(path: Path, sparse: bool = False) -> None:
    """Refuse a Zarr store whose metadata name code, or claim far more than it holds unless it may be ``sparse``."""
    require_zarr()
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
            for key, array in _arrays(path, file, held.st_size) if name in _METADATA else ():
                claims[key] = max(claims.get(key, 0), _claimed(path, array))
                if "blosc" in _codecs([array.get("compressor"), array.get("codecs")]):
                    blosc.add(os.path.join(path, key))
            if name not in _METADATA and not name.startswith("."):
                chunks[file] = held.st_size
    for file, size in chunks.items():
        if any(os.fspath(place) in blosc for place in Path(file).parents):
            _check_blosc(path, file, size)
    if not sparse:
        _check_claim(path, sum(claims.values()), on_disk)


def _check_blosc(path: Path, file: str, size: int) -> None:
    """Refuse a chunk that says it is longer than it is: blosc would read on into other memory."""
    with open(file, "rb") as stream:
        stated = stream.read(16)[12:]
    if len(stated) < 4 or int.from_bytes(stated, "little") != size:
        raise ResultError(f"{path} is damaged: {shown(os.path.basename(file))} is not what was written.")


def _arrays(path: Path, file: str, size: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The metadata of each array that a file describes: its own, or all of the store's."""
    if size > _MAX_METADATA:
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
    inside = grid.get("configuration") if isinstance(grid, dict) else None
    chunks = array.get("chunks") if grid is None else inside.get("chunk_shape") if isinstance(inside, dict) else None
    for sizes in (array["shape"], chunks):
        if not isinstance(sizes, list) or not all(type(size) is int and 0 <= size < 2**62 for size in sizes):
            raise ResultError(f"{path} has an array of the impossible shape {shown(sizes)}.")
    # Bytes of one entry, such as 8 for <f8; not asked of numpy, which has warnings for odd names.
    dtype = array.get("dtype", array.get("data_type"))
    found = re.fullmatch(r"[<>|]?([a-zA-Z?])([0-9]{1,9})(\[\w+\])?", dtype) if isinstance(dtype, str) else None
    itemsize = int(found[2]) * (4 if found[1] == "U" else 1) if found else 8
    # Even one number is read as a whole chunk.
    return itemsize * max(math.prod(array["shape"]), math.prod(chunks or ()))


def _codecs(held: Any) -> Iterator[str]:
    """Names of codecs, also of those inside others."""
    if isinstance(held, list):
        for one in held:
            yield from _codecs(one)
    elif isinstance(held, dict):
        yield str(held.get("id", held.get("name")))
        inside = held.get("configuration")
        yield from _codecs([inside.get(key) for key in ("codecs", "index_codecs")] if isinstance(inside, dict) else [])


# ---- content


def fingerprint(ds: "xr.Dataset") -> str:
    """A hash of all numbers, their labels and the facts about them, to detect a damaged file."""
    state = hashlib.sha256(b"3")
    for name in sorted(str(name) for name in ds.variables):
        variable = ds.variables[name]
        if variable.dtype.kind in "biuf":
            # The same bits are another number in another type; one NaN is as good as another.
            real = variable.dtype.kind == "f"
            kind = "float" if real else "whole"
            state.update(json.dumps([name, kind, list(variable.dims), list(variable.shape)]).encode())
            values = np.array(variable.values, dtype="<f8" if real else "<i8")
            if real:
                values[np.isnan(values)] = np.nan
            state.update(values.tobytes())
        elif name in _LABELS:
            texts = np.asarray(variable.values).astype(str).tolist()
            state.update(json.dumps([name, list(variable.dims), texts]).encode())
    facts = [(name, str(ds.attrs[name])) for name in _FACTS if name in ds.attrs]
    state.update(json.dumps(facts).encode())
    return state.hexdigest()


def has_holes(ds: "xr.Dataset") -> bool:
    """Whether a Zarr array has lost a file: no status at all, or magnitudes that are defined and not there."""
    if (ds["status"] == "").any():
        return True
    if "magnitude" not in ds or "component" not in ds["magnitude"].dims:
        return False
    return bool(((ds["status"] == "ok") & ds["magnitude"].isnull().all("component")).any())


def check_parts(ds: "xr.Dataset", source: str) -> None:
    """Refuse a file whose parts do not fit: its content may never have been a result."""
    wrong = _wrong_part(ds)
    if wrong:
        raise ResultError(f"{source} is not a spectrata result file: {wrong}.")
    if "magnitude" in ds.variables and "edges" not in ds.variables and "graph" not in ds.dims:
        raise ResultError(f"{source} has no edges: {NO_EDGES}")


def _wrong_part(ds: "xr.Dataset") -> str:
    """Why a Dataset is not a result, in words; empty where all parts fit."""
    if "spectrata_version" not in ds.attrs:
        return "it lacks its version"
    if "magnitude" not in ds.variables:
        return ""  # a comparison, a test or another table that was computed from results
    for name, field in FIELDS.items():
        if name not in ds.variables:
            if field.coordinate and "band" in ds["magnitude"].dims:
                continue  # a calibration by bands has no components
            return f"it has no {name}"
        variable = ds.variables[name]
        dims = {"component" if dim == "band" else dim for dim in variable.dims}
        numbers = variable.dtype.kind in "biuf" or field.dtype == "str"
        if not numbers or dims & {"algorithm", "hop", "component"} != set(field.dims):
            return f"its {name} has dimensions {shown(list(variable.dims))} and type {variable.dtype}"
    try:
        fine = isinstance(json.loads(ds.attrs.get(OPTIONS, "{}")), dict)
    except (TypeError, ValueError, RecursionError):
        fine = False
    if not fine:
        return "its options cannot be read"
    if "graph" in ds.dims or ("graph" in ds.coords and "edges" not in ds.variables):
        return ""  # many graphs keep no edges
    if "edges" not in ds.variables:
        return "it has no edges"
    edges, n_nodes = ds.variables["edges"], ds.attrs.get("n_nodes")
    if edges.dtype.kind not in "iu" or edges.ndim < 2 or edges.shape[-1] != 2:
        return f"its edges have dimensions {shown(list(edges.dims))} and type {edges.dtype}"
    if not isinstance(n_nodes, (int, np.integer)) or n_nodes < 1:
        return f"its number of nodes is {shown(n_nodes)}"
    if edges.size and (edges.values.min() < 0 or edges.values.max() >= n_nodes):
        return f"its edges name nodes beyond the {n_nodes} it has"
    return ""
