"""Where the results of many graphs go: main memory, or one Zarr store, filled in any order.

Plain xarray opens the store at any time. Arrays have one row per pair and grow along hops and components as larger
graphs come in. Readers look at one file, the consolidated metadata, which is replaced when all arrays have grown. A
pair's ``digest`` is written when its arrays are on the disk, and taken away before they are replaced: what has a
digest is whole, and is what the digest says. One process writes at a time.
"""

import json
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import OptionError, ResultError, shortened
from spectrata.many.layout import ARGUMENTS, LAYOUT, OWN, Outcome, TableSize, labelled
from spectrata.results.atomic_io import Lock, cannot_write, sync, sync_tree, tidy, written_whole
from spectrata.results.integrity import check_store, checksum_compressor, readable

if TYPE_CHECKING:
    import xarray as xr

CHUNKS = {"hop": 8, "component": 64}  # of a pair's arrays in one file, at most
METADATA = ".zmetadata"
HIDDEN = ("chunk", "pairs", "consolidated")  # attributes that matter to the store alone


class ResultMemory:
    """Results in main memory, put beside each other at the end."""

    def __init__(self, names: list[str], facts: dict[str, Any]) -> None:
        self.names, self.facts = names, facts
        self.outcomes: list[Outcome] = []

    def known(self) -> list[str]:
        """Digests of the pairs that are done: none."""
        return [""] * len(self.names)

    def write(self, outcomes: list[Outcome]) -> None:
        """Keep the results of one chunk."""
        self.outcomes += outcomes

    def finish(self) -> "xr.Dataset":
        """The result of all pairs."""
        import xarray as xr

        done = [outcome for outcome in self.outcomes if outcome.arrays is not None]
        if not done:
            first = min(self.outcomes, key=lambda outcome: outcome.rows[0])
            raise _all_failed(len(self.names), first.error)
        table = TableSize.make(json.loads(self.facts[ARGUMENTS]), *_reach_and_width(done))
        fields = {
            name: (("graph", *field.dims), table.padded(name, self.outcomes, 0, len(self.names)))
            for name, field in LAYOUT.items()
        }
        return labelled(xr.Dataset(fields), self.names, table, self.facts)

    def close(self) -> None:
        """Nothing to release."""


def _all_failed(count: int, first: str) -> ResultError:
    return ResultError(f"All {count} pairs failed, the first with: {first}")


def _reach_and_width(done: list[Outcome]) -> tuple[int, int]:
    """The largest hop and the number of components that a table of these needs."""
    hops = [hop for outcome in done for hop in outcome.hops]
    return max(hops, default=1), max(outcome.width for outcome in done)


class ResultStore:
    """Results in a Zarr store; made by :meth:`open`."""

    def __init__(self, place: Path, lock: Lock) -> None:
        self.place, self.lock = place, lock
        self.group = _opened(place)
        self.chunk = int(self.group.attrs["chunk"])
        self.count = int(self.group.attrs["pairs"])
        self.arguments: dict[str, Any] = json.loads(self.group.attrs[ARGUMENTS])
        self._array = cache(self.group.__getitem__)  # opened once: no other process makes or grows them
        self._table: TableSize | None = None
        self._digests: list[str] = []

    @classmethod
    def open(cls, path: "str | os.PathLike", names: list[str], chunk: int, facts: dict[str, Any]) -> "ResultStore":
        """A new store, or the one of an earlier run of pairs of the same names with the same arguments."""
        place = Path(path)
        if place.suffix != ".zarr":
            raise OptionError(f"{place} must end in .zarr.")
        if os.path.lexists(place) and not place.is_dir():
            raise OptionError(f"{place} is a file; choose another store.")
        run = {"pairs": len(names), "chunk": chunk, "seed": facts["seed"], ARGUMENTS: facts[ARGUMENTS]}
        lock = Lock(place, "wait for it, or choose another store")
        lock.take()
        try:
            tidy(place)
            if not (place.is_dir() and any(place.iterdir())):
                # Made beside and renamed, so that a store that is there has its names and arguments.
                with written_whole(place) as beside:
                    _make(beside, names, facts | run | {"consolidated": True})
            with readable(place):
                check_store(place, sparse=True)  # rows of what is not done yet take no space
                _require_same_run(place, run, names)
                for part in place.rglob("*.partial"):  # pieces that a killed run was writing
                    part.unlink(missing_ok=True)
                return cls(place, lock)
        except OSError as problem:
            lock.release()
            raise cannot_write(place, problem) from problem
        except BaseException:
            lock.release()
            raise

    def close(self) -> None:
        """Let another process write."""
        self.lock.release()

    def known(self) -> list[str]:
        """The digest of every pair that is done, "" for the others."""
        digests = [""] * self.count
        with readable(self.place):
            if "digest" in self.group:
                held = self.group["digest"][:]
                if held.shape != (self.count,):
                    raise ResultError(f"{self.place} is damaged: it has {len(held)} digests of {self.count} pairs.")
                # A pair that was computed has a hash; without one, a file of the store was lost.
                hashes = self.group["graph_hash"][:] if "graph_hash" in self.group else [""] * self.count
                whole = (np.asarray(hashes) != "") | (self.group["error"][:] != "")
                digests = np.where(whole, held, "").tolist()
        self._digests = digests
        return digests

    def write(self, outcomes: list[Outcome]) -> None:
        """Write pairs of one chunk: their arrays first, then their digests."""
        if not outcomes:
            return
        try:
            with readable(self.place):
                done = [outcome for outcome in outcomes if outcome.arrays is not None]
                if self._grow(done):
                    self._commit()
                rows = np.concatenate([outcome.rows for outcome in outcomes])
                if any(self._digests[row] for row in rows.tolist()):  # computed again: forget what was
                    self._write_field("digest", rows, [])
                own = np.concatenate([outcome.rows for outcome in done]) if done else rows
                for name in [*(name for name in LAYOUT if done and name not in OWN), *OWN]:
                    self._write_field(name, rows if name in OWN else own, outcomes)
        except OSError as problem:
            raise cannot_write(
                self.place, problem, "the pairs that are done stay done, and the same call goes on from there"
            ) from problem

    def _write_field(self, name: str, rows: np.ndarray, outcomes: list[Outcome]) -> None:
        """Replace some rows, all inside one chunk of the array, by one write of that chunk, and wait for the disk."""
        array = self._array(name)
        number = int(rows.min()) // self.chunk
        first, stop = number * self.chunk, min((number + 1) * self.chunk, self.count)
        values = (self._table or TableSize((), [], 0)).padded(name, outcomes, first, stop - first)
        if len(rows) < stop - first:
            held = array[first:stop].astype(values.dtype)
            held[rows - first] = values[rows - first]
            values = held
        array[first:stop] = values
        for file in (self.place / name).glob(f"{number}*"):
            sync(file)
        sync(self.place / name)

    def _grow(self, done: list[Outcome]) -> bool:
        """Make the arrays, or let them grow along hops and components; whether anything changed.

        What a killed run left half grown is brought to one size, too.
        """
        if not done:
            return sum(self._fit(name, {}) for name in OWN) > 0
        reach, width = _reach_and_width(done)
        if self._table is not None and reach <= self._table.hops[-1] and width <= self._table.width:
            return False
        first = self._table is None  # an earlier run may have been killed when all had grown, uncommitted
        for name, field in LAYOUT.items():
            held = self.group[name].shape[1:] if name in self.group else ()
            for dim, size in zip(field.dims, held, strict=False):
                reach = max(reach, size) if dim == "hop" else reach
                width = max(width, size) if dim == "component" else width
        table = self._table = TableSize.make(self.arguments, reach, width)
        changed = [
            self._label("algorithm", np.array(table.algorithms)),
            self._label("hop", np.array(table.hops)),
            *(self._fit(name, table.sizes) for name in LAYOUT),
        ]
        return any([first, *changed])

    def _label(self, name: str, values: np.ndarray) -> bool:
        """Write the labels of a dimension where they are not there yet, or not all of them."""
        array = self.group.get(name)
        if array is not None and array.shape == values.shape and (array[:] == values).all():
            return False
        if array is None:
            array = _new_array(self.group, name, values.shape, (4096,), values.dtype)
        array.attrs["_ARRAY_DIMENSIONS"] = [name]
        array.resize(values.shape)
        array[:] = values
        return True

    def _fit(self, name: str, sizes: dict[str, int]) -> bool:
        """Make an array, or let it grow to the sizes of its dimensions; whether it changed."""
        field = LAYOUT[name]
        shape = (self.count, *(sizes[dim] for dim in field.dims))
        if name not in self.group:
            asked = self.arguments["hops"]
            most = CHUNKS | ({} if asked is None else {"hop": min(CHUNKS["hop"], sizes.get("hop", 1))})
            chunks = (self.chunk, *(most.get(dim, sizes[dim]) for dim in field.dims))
            dtype = str if field.dtype == "str" else field.dtype
            _new_array(self.group, name, shape, chunks, dtype, fill_value=field.empty)
        array = self._array(name)
        if array.shape == shape and "_ARRAY_DIMENSIONS" in array.attrs:
            return False
        array.attrs["_ARRAY_DIMENSIONS"] = ["graph", *field.dims]
        array.resize(shape)
        return True

    def _commit(self) -> None:
        """Let readers see what was made and what has grown, all of it at once."""
        import zarr

        zarr.consolidate_metadata(self.group.store, zarr_format=2)
        sync_tree(self.place)

    def finish(self) -> "xr.Dataset":
        """The result of what is there; arrays are read when used."""
        with readable(self.place):
            if "magnitude" not in self.group:
                raise _all_failed(self.count, str(self.group["error"][0]))
        return open_many(self.place)


def open_many(store: "str | os.PathLike") -> "xr.Dataset":
    """Open what :func:`spectra_many` wrote, finished or not; arrays are read when used.

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
    with readable(place):
        if place.is_dir():
            check_store(place, sparse=True)
        facts = dict(_opened(place).attrs)
        if not (place / METADATA).is_file():
            raise ResultError(f"{place} holds no computed pair yet.")
        # Without masking, -1 and 0 stay whole numbers.
        ds = xr.open_dataset(place, engine="zarr", consolidated=True, chunks=None, mask_and_scale=False)
        if "magnitude" not in ds:
            raise ResultError(f"{place} holds no computed pair yet.")
        ds = ds.drop_encoding()
        table = TableSize(tuple(ds["algorithm"].values.astype(str)), ds["hop"].values.tolist(), ds.sizes["component"])
        own = {name: value for name, value in facts.items() if name not in HIDDEN}
        return labelled(ds, ds["graph"].values.astype(str).tolist(), table, own)


def _make(place: Path, names: list[str], facts: dict[str, Any]) -> None:
    """A store with the names of its pairs and what is computed of them, and no result yet."""
    import zarr

    group: Any = zarr.open_group(str(place), mode="a", zarr_format=2)
    labels = _new_array(group, "graph", (len(names),), (len(names),), np.array(names).dtype)
    labels.attrs["_ARRAY_DIMENSIONS"] = ["graph"]
    labels[:] = np.array(names)
    group.attrs.update(facts)


def _new_array(group: Any, name: str, shape: tuple[int, ...], chunks: tuple[int, ...], dtype: Any, **more: Any) -> Any:
    return group.create_array(name, shape=shape, chunks=chunks, dtype=dtype, compressors=checksum_compressor(), **more)


def _opened(path: Path) -> Any:
    import zarr

    if not path.is_dir():
        there = "is not a store of spectra_many; use st.open" if path.exists() else "does not exist"
        raise ResultError(f"{path} {there}.")
    try:
        group = zarr.open_group(str(path), mode="r+", zarr_format=2, use_consolidated=False)
    except Exception as problem:
        reason = shortened(str(problem), 200)
        raise ResultError(f"{path} cannot be read as Zarr ({reason}).") from problem
    if "pairs" not in group.attrs:
        raise ResultError(f"{path} is not a store of spectra_many, or was left unfinished; remove it first.")
    return group


def _require_same_run(path: Path, facts: dict[str, Any], names: list[str]) -> None:
    group = _opened(path)
    different = [name for name in facts if group.attrs.get(name) != facts[name]]
    if not different and [str(name) for name in group["graph"][:]] != names:
        different = ["names of the pairs"]
    if different:
        raise OptionError(
            f"{path} holds another run (other {', '.join(different)}); choose another store, or remove it."
        )
