"""Saved results, checked: files and stores before a library opens them, and their content after it.

netCDF and Zarr can name code to run (a codec that unpickles), other files to read from, and sizes without the bytes to
fill them. Such files are refused here; the libraries then read the rest, and a hash says whether it is what was
written.
"""

import hashlib
import itertools
import json
import math
import mmap
import os
import stat
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import ResultError, SpectrataError, missing_extra, shortened, shown
from spectrata.results.schema import FIELDS, NO_EDGES, options_of

if TYPE_CHECKING:
    import xarray as xr

# Codecs that only move bytes about. Others, first of all pickle, are never asked to decode anything.
_CODECS = {
    "zlib", "gzip", "bz2", "lzma", "lz4", "zstd", "shuffle", "bitshuffle", "delta", "fixedscaleoffset",
    "quantize", "packbits", "astype", "bitround", "categorize", "base64", "vlen-utf8", "vlen-bytes", "vlen-array",
    "crc32", "crc32c", "adler32", "fletcher32", "jenkins_lookup3", "bytes", "endian", "transpose", "sharding_indexed",
}  # fmt: skip
_HARMLESS, _MAX_RATIO = 2**28, 5000  # bytes that harm nobody, and more than any data worth keeping is packed by
_SEAL = b"\nspectrata sha256 "
CONTENT = "content_hash"  # attribute of a saved result
NOTES = {CONTENT, "comment", "history", "institution", "references", "NCO", "CDO"}  # that other programs may add
LOG = "recorded"  # attribute of the log of a watched model


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
        words = f"{path} claims {claimed / 2**30:.3g} GiB and holds {on_disk:,} bytes"
        raise ResultError(f"{words}; it is damaged, or not a spectrata result file.")


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
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held,
        memoryview(held) as data,
    ):
        at = held.find(_SEAL, max(size - len(_SEAL) - 64, 0))
        # Without a seal: an older file, or one that other programs have changed. Some damage sends HDF5 into an
        # endless loop.
        if at >= 0 and held[at + len(_SEAL) :] != hashlib.sha256(data[:at]).hexdigest().encode():
            raise ResultError(f"{path} is damaged: it is not what was written; make it again.")
    import h5py

    claimed = 0
    with h5py.File(path, "r") as file:  # groups inside are never read
        for name in file:
            own = isinstance(file.get(name, getlink=True), h5py.HardLink)
            item = file[name] if own else None
            if not own or (isinstance(item, h5py.Dataset) and (item.is_virtual or item.external)):
                raise ResultError(f"{path} refers to other files ({shown(name)}), which are never opened.")
            if isinstance(item, h5py.Dataset):
                claimed += math.prod(item.shape or ()) * item.dtype.itemsize
    _check_claim(path, claimed, size)


# ---- Zarr


def check_store(path: Path, sparse: bool = False) -> None:
    """Refuse a Zarr store whose metadata name code, or claim far more than it holds unless it may be ``sparse``."""
    require_zarr()
    import zarr

    if not path.is_dir():
        raise ResultError(f"{shortened(str(path), 300)} is not a folder; give the .zarr folder itself.")
    on_disk, claimed = 0, 0
    for place, folders, names in os.walk(path):
        for name in (*folders, *names):
            held = os.stat(os.path.join(place, name), follow_symlinks=False)
            if not (stat.S_ISREG(held.st_mode) or stat.S_ISDIR(held.st_mode)):
                raise ResultError(f"{path} refers to other files or folders ({shown(name)}), which are never opened.")
            on_disk += held.st_size
    group = zarr.open_group(path, mode="r")
    for name, array in group.arrays():
        facts = array.metadata.to_dict()
        if LOG in group.attrs and (lost := _lost_chunk(path / name, array)):
            raise ResultError(f"{path} is damaged: it has lost the file {name}/{lost}.")
        for codec in _codecs([facts.get(key) for key in ("compressor", "filters", "codecs")]):
            if codec.removeprefix("numcodecs.") not in _CODECS:
                raise ResultError(f"{path} needs the codec {shown(codec)}, which is not trusted to decode data.")
        # Even one number is read as a whole chunk.
        claimed += array.dtype.itemsize * max(math.prod(array.shape), math.prod(array.chunks))
    if not sparse:
        _check_claim(path, claimed, on_disk)


def whole_chunks() -> Any:
    """A context in which Zarr writes chunks of fill values too: then a missing file is a lost one."""
    import zarr

    return zarr.config.set({"array.write_empty_chunks": True})


def _lost_chunk(folder: Path, array: Any) -> str:
    """A chunk of a Zarr array that has no file, which Zarr takes for fill values; empty where all are there."""
    counts = (range(-(-size // step)) for size, step in zip(array.shape, array.chunks, strict=True))
    chunks, there = (".".join(map(str, at)) or "0" for at in itertools.product(*counts)), set(os.listdir(folder))
    return next((chunk for chunk in chunks if chunk not in there), "")


def _codecs(held: Any) -> Iterator[str]:
    """Names of codecs, also of those inside others."""
    if isinstance(held, list | tuple):
        for one in held:
            yield from _codecs(one)
    elif isinstance(held, dict):
        yield str(held.get("id", held.get("name")))
        inside = held.get("configuration", {})
        yield from _codecs([inside.get("codecs"), inside.get("index_codecs")])


# ---- content


def fingerprint(ds: "xr.Dataset") -> str:
    """A hash of all numbers, labels and facts as a file keeps them, to detect one that is damaged or was changed."""
    state = hashlib.sha256(b"4")
    for name in sorted(str(name) for name in ds.variables):
        variable = ds.variables[name]
        values, kind = variable.values, variable.dtype.kind
        if kind in "mM":  # a file may keep another unit of time
            values, kind = values.astype(f"{kind}8[ns]").astype("<i8"), "i"
        state.update(json.dumps([name, kind == "f", list(variable.dims), list(variable.shape)]).encode())
        if kind in "biuf":
            # The same bits are another number in another type; one NaN is as good as another.
            values = np.array(values, dtype="<f8" if kind == "f" else "<i8")
            if kind == "f":
                values[np.isnan(values)] = np.nan
            state.update(values.tobytes())
        else:  # a missing text is an empty one
            texts = ["" if one is None or one != one else str(one) for one in values.ravel().tolist()]
            state.update(json.dumps(texts).encode())
        state.update(_facts(variable.attrs))
    state.update(_facts(ds.attrs))
    return state.hexdigest()


def _facts(attributes: Mapping[Any, Any]) -> bytes:
    """Attributes as text, in which a number is a list of one: netCDF does not tell them apart."""
    known = {str(name): np.ravel(value).tolist() for name, value in attributes.items() if name not in NOTES}
    return json.dumps(known, sort_keys=True, default=str).encode()


def check_parts(ds: "xr.Dataset", source: str) -> None:
    """Refuse a file whose parts do not fit: its content may never have been a result."""
    if wrong := _wrong_part(ds):
        raise ResultError(f"{source} is not a spectrata result file: {wrong}.")


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
        options_of(ds)
    except (TypeError, ValueError, RecursionError):
        return "its options cannot be read"
    if "graph" in ds.dims:
        return ""
    if "edges" not in ds.variables:
        return f"it has no edges, and {NO_EDGES.rstrip('.')}"
    edges = ds.variables["edges"]
    fits = edges.dtype.kind in "iu" and edges.dims[-2:] == ("edge", "end")
    return "" if fits else f"its edges have dimensions {shown(list(edges.dims))} and type {edges.dtype}"
