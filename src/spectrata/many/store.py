"""Where the results of many graphs go: main memory, or one Zarr store, filled in any order.

Plain xarray opens the store at any time. Arrays have one row per pair and grow along hops and components as larger
graphs come in. Readers look at one file, the consolidated metadata, which is replaced when all arrays have grown. A
pair's ``digest`` is written when its arrays are on the disk, and taken away before they are replaced: what has a
digest is whole, and is what the digest says: a hash of the pair, and one of what is stored of it, which tells lost and
exchanged files. One process writes at a time.
"""

import json
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import OptionError, ResultError, shown
from spectrata.many.layout import LAYOUT, Outcome, changed, hop_labels, labelled, mark, padded, sizes_of
from spectrata.results.atomic_io import Lock, cannot_write, sync, sync_tree, tidy, written_whole
from spectrata.results.files import IN_MEMORY
from spectrata.results.integrity import check_store, checksum_compressor, readable
from spectrata.results.schema import ARGUMENTS

if TYPE_CHECKING:
    import xarray as xr

CHUNKS = {"hop": 8, "component": 64}  # of a pair's arrays in one file, at most


def in_memory(names: list[str], facts: dict[str, Any], outcomes: list[Outcome]) -> "xr.Dataset":
    """The result of all outcomes in main memory."""
    import xarray as xr

    sizes, count = sizes_of(json.loads(facts[ARGUMENTS]), outcomes), len(names)
    fields = {name: (("graph", *field.dims), padded(name, outcomes, sizes, 0, count)) for name, field in LAYOUT.items()}
    return labelled(xr.Dataset(fields, {"graph": names}), facts)


class ResultStore:
    """A new Zarr store of results, or the one of an earlier run of pairs of the same names with the same arguments.

    ``digests`` are those of the pairs that are done, "" for the others.
    """

    def __init__(self, path: "str | os.PathLike", names: list[str], chunk: int, facts: dict[str, Any]) -> None:
        self.place, self.chunk, self.count = Path(path), chunk, len(names)
        if self.place.suffix != ".zarr":
            raise OptionError(f"{self.place} must end in .zarr.")
        if os.path.lexists(self.place) and not self.place.is_dir():
            raise OptionError(f"{self.place} is a file; choose another store.")
        self.lock = Lock(self.place, "wait for it, or choose another store")
        self.lock.take()
        try:
            tidy(self.place)
            if not (self.place.is_dir() and any(self.place.iterdir())):
                # Made beside and renamed, so that a store that is there has its names and arguments.
                with written_whole(self.place) as beside:
                    _make(beside, names, chunk, facts)
            with readable(self.place):
                self._open(names, facts)
        except BaseException as problem:
            self.lock.release()
            if isinstance(problem, OSError):
                raise cannot_write(self.place, problem) from problem
            raise

    def _open(self, names: list[str], facts: dict[str, Any]) -> None:
        self.group, self.asked = _opened(self.place), json.loads(facts[ARGUMENTS])
        self._array = cache(self.group.__getitem__)  # opened once: no other process makes or grows them
        for part in self.place.rglob("*.partial"):  # pieces that a killed run was writing
            part.unlink(missing_ok=True)
        held, own = dict(self.group.attrs), self._array("graph")[:].astype(str).tolist()
        different = [name for name in ("seed", "weights", ARGUMENTS) if held.get(name) != facts[name]]
        different += ["chunk"] * (self._array("digest").chunks != (self.chunk,))
        different += ["names of the pairs"] * (own != names)
        if different:
            words = f"{self.place} holds another run (other {', '.join(different)})"
            raise OptionError(f"{words}; choose another store, or remove it.")
        self._sizes = sizes_of(self.asked, [], *self._array("eigenvalue").shape[1:])
        stored = self._array("digest")[:]
        if stored.shape != (self.count,):
            raise ResultError(f"{self.place} is damaged: it has {len(stored)} digests of {self.count} pairs.")
        self.names, self.facts, self.digests = names, held, [text.split(" ")[0] for text in stored.tolist()]
        for first in range(0, self.count, self.chunk):
            own = slice(first, first + self.chunk)
            values = {name: self._array(name)[own] for name in LAYOUT if any(self.digests[own])}
            for row in changed(values, names[own], held) if values else ():  # files were lost or exchanged
                self.digests[first + row] = ""

    def close(self) -> None:
        """Let another process write."""
        self.lock.release()

    def write(self, outcomes: list[Outcome]) -> None:
        """Write pairs of one chunk: their arrays first, then their digests."""
        if not outcomes:
            return
        try:
            with readable(self.place):
                self._grow(outcomes)
                rows = np.sort(np.concatenate([outcome.rows for outcome in outcomes]))
                if any(self.digests[row] for row in rows.tolist()):  # computed again: forget what was
                    self._write_field("digest", rows, np.full(len(rows), "", dtype=object))
                first = int(rows[0]) // self.chunk * self.chunk
                values = {n: padded(n, outcomes, self._sizes, first, self.chunk)[rows - first] for n in LAYOUT}
                size = self._sizes["hop"], self._sizes["component"]
                asked = ([self.facts, self.names[row]] for row in rows)
                values["digest"] = np.array([mark(values, at, own, *size) for at, own in enumerate(asked)], object)
                for name in LAYOUT:  # the digest is the last
                    self._write_field(name, rows, values[name])
        except OSError as problem:
            kept = "the pairs that are done stay done, and the same call goes on from there"
            raise cannot_write(self.place, problem, kept) from problem

    def _write_field(self, name: str, rows: np.ndarray, values: np.ndarray) -> None:
        """Write some rows, all inside one chunk of the array, and wait for the disk."""
        number = int(rows[0]) // self.chunk
        first = number * self.chunk
        whole = len(rows) == min(self.chunk, self.count - first)
        self._array(name).oindex[slice(first, first + len(rows)) if whole else rows] = values
        for file in (self.place / name).glob(f"{number}*"):
            sync(file)
        sync(self.place / name)

    def _grow(self, outcomes: list[Outcome]) -> None:
        """Let arrays grow where these outcomes need it, and readers see all of them grown at once."""
        import zarr

        sizes = sizes_of(self.asked, outcomes, self._sizes["hop"], self._sizes["component"])
        if sizes != self._sizes:
            for name, field in LAYOUT.items():
                self._array(name).resize((self.count, *(sizes[dim] for dim in field.dims)))
            self._array("hop").resize((sizes["hop"],))
            self._array("hop")[:] = np.array(hop_labels(self.asked, sizes["hop"]))
            zarr.consolidate_metadata(self.group.store, zarr_format=2)
            sync_tree(self.place)
            self._sizes = sizes


def open_many(store: "str | os.PathLike") -> "xr.Dataset":
    """Open what :func:`spectra_many` wrote, finished or not, and refuse it where files were lost or exchanged.

    Up to 1 GiB is read and checked at once. Arrays of a larger store are read, unchecked, when they are used, and a
    later run on the store changes them; ``spectra_many`` checks it whole.

    Examples
    --------
    >>> import networkx as nx, pathlib, spectrata as st, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = pathlib.Path(folder) / "run.zarr"
    ...     _ = st.spectra_many([("path", nx.path_graph(4), range(4))], store=store)
    ...     st.open_many(store)["state"].values.tolist()
    ['done']
    """
    import xarray as xr

    place = Path(store)
    group = _opened(place)
    facts = dict(group.attrs)
    with readable(place):
        # Without masking, -1 and 0 stay whole numbers.
        ds = xr.open_dataset(place, engine="zarr", consolidated=True, chunks=None, mask_and_scale=False)
        if ds.nbytes <= IN_MEMORY:
            names = ds.load()["graph"].values.astype(str).tolist()
            if rows := changed({name: ds[name].values for name in LAYOUT}, names, facts):
                words = f"the pair {shown(names[rows[0]])} is not as it was written"
                raise ResultError(f"{place} is damaged: {words}; call spectra_many again to compute what was lost.")
        return labelled(ds.drop_encoding(), facts)


def _make(place: Path, names: list[str], chunk: int, facts: dict[str, Any]) -> None:
    """A store with the names of its pairs, what is computed of them, and the smallest arrays."""
    import zarr

    group: Any = zarr.open_group(str(place), mode="a", zarr_format=2)

    def make(name: str, dims: tuple[str, ...], shape: tuple[int, ...], chunks: tuple[int, ...], **how: Any) -> Any:
        how |= {"compressors": checksum_compressor(), "attributes": {"_ARRAY_DIMENSIONS": list(dims)}}
        return group.create_array(name, shape=shape, chunks=chunks, **how)

    asked = json.loads(facts[ARGUMENTS])
    sizes = sizes_of(asked, [])
    labels = {"graph": names, "algorithm": asked["algorithms"], "hop": hop_labels(asked, sizes["hop"])}
    for name, values in labels.items():
        array = np.array(values)
        make(name, (name,), array.shape, (max(4096, len(array)),), dtype=array.dtype)[:] = array
    hops = asked["hops"] or CHUNKS["hop"]
    most = sizes | CHUNKS | {"hop": min(CHUNKS["hop"], hops if isinstance(hops, int) else len(hops))}
    for name, field in LAYOUT.items():
        chunks = (chunk, *(most[dim] for dim in field.dims))
        how = {"dtype": str if field.dtype == "str" else field.dtype, "fill_value": field.empty}
        make(name, ("graph", *field.dims), (len(names), *(sizes[dim] for dim in field.dims)), chunks, **how)
    group.attrs.update(facts)
    zarr.consolidate_metadata(group.store, zarr_format=2)


def _opened(path: Path) -> Any:
    """The group of a store as its consolidated metadata tell it, refused where they may do harm or are not ours."""
    import zarr

    if not path.is_dir():
        there = "is not a store of spectra_many; use st.open" if path.exists() else "does not exist"
        raise ResultError(f"{path} {there}.")
    with readable(path):
        check_store(path, sparse=True)  # rows of what is not done yet take no space
        group = zarr.open_group(str(path), mode="r+", zarr_format=2, use_consolidated=True)
    if ARGUMENTS not in group.attrs:
        raise ResultError(f"{path} is not a store of spectra_many, or was left unfinished; remove it first.")
    return group
