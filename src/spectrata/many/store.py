"""One Zarr store of many graphs' results, filled in any order and opened by plain xarray at any time.

Arrays have one row per pair and grow along hops and components as larger graphs come in. Readers look at one
file, the consolidated metadata, which is replaced when all arrays have grown. A pair's ``state`` is
written after its arrays: what has a state is whole, and is never written again. One process writes at a time.
"""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata._version import __version__
from spectrata.errors import OptionError, ResultError, shortened
from spectrata.many.stacked import PAST_DIAMETER
from spectrata.many.work import Outcome
from spectrata.results.atomic_io import Lock, beside, cannot_write, checked
from spectrata.results.integrity import check_store, readable

if TYPE_CHECKING:
    import xarray as xr

MISSING, DONE, FAILED = 0, 1, 2
STATES = np.array(["missing", "done", "failed"])
ERROR_LENGTH, STATUS_LENGTH = 400, 48
HOP_CHUNK, COMPONENT_CHUNK = 16, 256
# name -> dimensions after "graph", type, what stands where there is nothing
LAYOUT: dict[str, tuple[tuple[str, ...], str, Any]] = {
    "magnitude": (("algorithm", "hop", "component"), "f8", np.nan),
    "eigenvalue": (("hop", "component"), "f8", np.nan),
    "eigenspace": (("hop", "component"), "i4", -1),
    "multiplicity": (("hop", "component"), "i4", 0),
    "gradient_norm": (("hop",), "f8", np.nan),
    "n_edges": (("hop",), "i8", 0),
    "n_parts": (("hop",), "i8", 0),
    "n_singletons": (("hop",), "i8", 0),
    "status": (("algorithm", "hop"), f"<U{STATUS_LENGTH}", PAST_DIAMETER),
    "n_nodes": ((), "i8", 0),
    "metric": ((), "<U16", ""),
    "graph_hash": ((), "<U64", ""),
    "error": ((), f"<U{ERROR_LENGTH}", ""),
    "state_code": ((), "i1", MISSING),
}
METADATA = ".zmetadata"
HIDDEN = ("chunk", "pairs", "consolidated")  # attributes that matter to the store alone
COORDINATES = ("eigenvalue", "eigenspace", "multiplicity", "n_edges", "n_parts", "n_singletons", "n_nodes")


class FleetStore:
    """The arrays of a run; made by :meth:`open`."""

    def __init__(self, group: Any, place: Any, lock: Lock | None = None) -> None:
        self.group, self.place, self.lock = group, place, lock
        self.chunk = int(group.attrs["chunk"])
        self.count = int(group.attrs["pairs"])
        self._arrays: dict[str, Any] = {}  # opened once: no other process makes or grows them
        self._room: dict[str, int] | None = None
        self._labels: tuple[list[int], list[str]] = ([], [])

    @classmethod
    def open(
        cls, path: "str | os.PathLike | None", names: list[str], chunk: int, arguments: dict[str, Any]
    ) -> "FleetStore":
        """A new store, or the one of an earlier run of the same pairs with the same arguments."""
        import zarr

        facts: dict[str, Any] = {"pairs": len(names), "chunk": chunk, "arguments": _plain(arguments)}
        stamp = {
            "spectrata_version": __version__,
            "seed": int(arguments.get("seed", 0)),
            "consolidated": True,
        }
        if path is None:
            memory = zarr.storage.MemoryStore()
            return cls(_made(memory, names, facts | stamp), memory)
        place = Path(path)
        if place.suffix != ".zarr":
            raise OptionError(f"{place} must end in .zarr.")
        if os.path.lexists(place) and not place.is_dir():
            raise OptionError(f"{place} is a file; choose another store.")
        lock = Lock(place, "wait for it, or choose another store")
        lock.take()
        try:
            if not (place.is_dir() and any(place.iterdir())):
                # Made beside and renamed, so that a store that is there has its names and arguments.
                with beside(place) as folder:
                    _made(str(folder / place.name), names, facts | stamp)
                    os.replace(folder / place.name, place)
            else:
                with readable(place):
                    check_store(place, sparse=True)  # rows of what is not done yet take no room
                    _same_run(place, _opened(place), facts, names)
                _remove_parts(place)
            with readable(place):
                return cls(_opened(place), str(place), lock)
        except OSError as problem:
            lock.release()
            raise cannot_write(place, problem) from problem
        except BaseException:
            lock.release()
            raise

    def close(self) -> None:
        """Let another process write."""
        if self.lock is not None:
            self.lock.release()

    def missing(self, retry_failed: bool) -> set[int]:
        """Positions of pairs that are still to be done."""
        with readable(self.place):
            if "state_code" not in self.group:
                return set(range(self.count))
            state = self.group["state_code"][:]
            # A pair that is done has a hash; without one, a file of the store was lost.
            lost = (
                self.group["graph_hash"][:] == "" if "graph_hash" in self.group else np.ones(len(state), bool)
            )
        if state.shape != (self.count,):
            raise ResultError(f"{self.place} is damaged: it has {len(state)} states of {self.count} pairs.")
        wanted = (state == MISSING) | ((state == DONE) & lost) | (retry_failed & (state == FAILED))
        return set(np.flatnonzero(wanted).tolist())

    def write(self, outcomes: list[Outcome]) -> None:
        """Write pairs of one chunk: their arrays first, then their state."""
        if not outcomes:
            return
        try:
            with readable(self.place):
                self._write(outcomes)
        except OSError as problem:
            raise cannot_write(
                self.place, problem, "the pairs that are done stay done, and the same call goes on from there"
            ) from problem

    def _write(self, outcomes: list[Outcome]) -> None:
        done = [outcome for outcome in outcomes if outcome.arrays is not None]
        if self._make_room(done):
            self._commit()
        rows = np.array([outcome.index for outcome in outcomes])
        if done:
            self._write_arrays(done)
        self._put("error", rows, np.array([outcome.error[:ERROR_LENGTH] for outcome in outcomes], dtype=str))
        state = np.array([FAILED if outcome.arrays is None else DONE for outcome in outcomes], dtype="i1")
        self._put("state_code", rows, state)

    def _put(self, name: str, rows: np.ndarray, values: np.ndarray) -> None:
        """Replace some rows, all inside one chunk of the array, by one write of that chunk."""
        array = self._array(name)
        first = int(rows.min()) // self.chunk * self.chunk
        stop = min(first + self.chunk, self.count)
        held = array[first:stop]
        held[rows - first] = values
        array[first:stop] = held

    def _write_arrays(self, outcomes: list[Outcome]) -> None:
        hops, algorithms = self._labels
        rows = np.array([outcome.index for outcome in outcomes])
        for name, (dims, dtype, fill) in LAYOUT.items():
            if name in ("error", "state_code"):
                continue
            values = np.full((len(rows), *self._array(name).shape[1:]), fill, dtype=dtype)
            for row, outcome in enumerate(outcomes):
                assert outcome.arrays is not None
                array = outcome.arrays[name]
                if not dims:
                    values[row] = array
                    continue
                where: list[Any] = []
                for dim in dims:
                    if dim == "algorithm":
                        where.append(
                            [algorithms.index(algorithm) for algorithm in outcome.arrays["algorithms"]]
                        )
                    elif dim == "hop":
                        where.append([hops.index(int(hop)) for hop in outcome.arrays["hops"]])
                    else:
                        where.append(range(array.shape[-1]))
                values[(row, *np.ix_(*where))] = array
            self._put(name, rows, values)

    def _make_room(self, outcomes: list[Outcome]) -> bool:
        """Make the arrays, or let them grow along hops and components; whether anything changed.

        What a killed run left half grown is brought to one size, too.
        """
        if not outcomes:
            return self._fit("error", {}) | self._fit("state_code", {})
        arrays = [outcome.arrays for outcome in outcomes if outcome.arrays is not None]
        if self._room is not None and all(self._holds(a, self._room) for a in arrays):
            return False
        first = self._room is None  # an earlier run may have been killed when all had grown, uncommitted
        held = {name: self.group[name].shape[1:] for name in LAYOUT if name in self.group}
        now: dict[str, list[int]] = {"hop": [], "component": []}
        for name, shape in held.items():
            for dim, size in zip(LAYOUT[name][0], shape, strict=True):
                now.setdefault(dim, []).append(size)
        given = json.loads(self.group.attrs["arguments"])["hops"]
        reach = max([*now["hop"], *(int(max(a["hops"], default=1)) for a in arrays)])
        hops = sorted(given) if isinstance(given, list) else list(range(1, reach + 1))
        algorithms = [str(name) for name in arrays[0]["algorithms"]]
        width = max([*now["component"], *(a["magnitude"].shape[-1] for a in arrays)])
        sizes = {"algorithm": len(algorithms), "hop": len(hops), "component": width}
        self._room = {**sizes, "reach": reach if not isinstance(given, list) else max(given)}
        self._labels = hops, algorithms
        changed = [self._label("algorithm", np.array(algorithms)), self._label("hop", np.array(hops))]
        return any([first, *changed, *[self._fit(name, sizes) for name in LAYOUT]])

    @staticmethod
    def _holds(arrays: dict[str, Any], room: dict[str, int]) -> bool:
        reach, width = int(max(arrays["hops"], default=1)), arrays["magnitude"].shape[-1]
        return reach <= room["reach"] and width <= room["component"]

    def _array(self, name: str) -> Any:
        if name not in self._arrays:
            self._arrays[name] = self.group[name]
        return self._arrays[name]

    def _label(self, name: str, values: np.ndarray) -> bool:
        """Write the labels of a dimension where they are not there yet, or not all of them."""
        array = self.group.get(name)
        if array is not None and array.shape == values.shape and (array[:] == values).all():
            return False
        if array is None:
            array = self.group.create_array(
                name, shape=values.shape, chunks=(4096,), dtype=values.dtype, compressors=checked()
            )
        array.attrs["_ARRAY_DIMENSIONS"] = [name]
        array.resize(values.shape)
        array[:] = values
        return True

    def _fit(self, name: str, sizes: dict[str, int]) -> bool:
        """Make an array, or let it grow to the sizes of its dimensions; whether it changed."""
        dims, dtype, fill = LAYOUT[name]
        shape = (self.count, *(sizes[dim] for dim in dims))
        if name not in self.group:
            most = {"hop": HOP_CHUNK, "component": COMPONENT_CHUNK}
            chunks = (self.chunk, *(most.get(dim, sizes[dim]) for dim in dims))
            self.group.create_array(
                name, shape=shape, chunks=chunks, dtype=dtype, fill_value=fill, compressors=checked()
            )
        array = self._array(name)
        if array.shape == shape and "_ARRAY_DIMENSIONS" in array.attrs:
            return False
        array.attrs["_ARRAY_DIMENSIONS"] = ["graph", *dims]
        array.resize(shape)
        return True

    def _commit(self) -> None:
        """Let readers see what was made and what has grown, all of it at once."""
        import zarr

        if self.lock is not None:
            zarr.consolidate_metadata(self.place, zarr_format=2)

    def finish(self) -> "xr.Dataset":
        """The Dataset of what is there, read into memory when the store is in memory."""
        with readable(self.place):
            if "magnitude" not in self.group:  # not one pair could be computed
                errors = self.group["error"][:]
                raise ResultError(f"All {self.count} pairs failed, the first with: {errors[0]}")
            ds = self.read(self.place)
            return ds if isinstance(self.place, str) else ds.load()

    @staticmethod
    def read(place: Any) -> "xr.Dataset":
        """Open a store; arrays are read when used."""
        with readable(place):
            return FleetStore._read(place)

    @staticmethod
    def _read(place: Any) -> "xr.Dataset":
        import xarray as xr

        on_disk = isinstance(place, str | os.PathLike)
        if on_disk and Path(place).is_dir():
            check_store(Path(place), sparse=True)
        consolidated = on_disk and (Path(place) / METADATA).is_file()
        if on_disk and _opened(place).attrs.get("consolidated") and not consolidated:
            raise ResultError(f"{place} holds no result yet.")
        # Without masking, -1 and 0 stay whole numbers.
        ds = xr.open_dataset(
            place, engine="zarr", consolidated=consolidated, chunks=None, mask_and_scale=False
        )
        if "state_code" not in ds:
            raise ResultError(f"{place} holds no result yet.")
        ds = ds.assign(state=("graph", STATES[ds["state_code"].values])).drop_vars("state_code")
        attributes = {name: value for name, value in ds.attrs.items() if name not in HIDDEN}
        ds.attrs = attributes | {"parameters": attributes.get("arguments", "{}")}
        for variable in ds.variables.values():
            variable.attrs.pop("_FillValue", None)
            variable.encoding = {}
        return ds.set_coords([name for name in COORDINATES if name in ds])


def _made(place: Any, names: list[str], facts: dict[str, Any]) -> Any:
    """A store with the names of its pairs and what is computed of them, and no result yet."""
    import zarr

    group: Any = zarr.open_group(place, mode="a", zarr_format=2)
    width = max(len(name) for name in names)
    labels = group.create_array(
        "graph", shape=(len(names),), chunks=(len(names),), dtype=f"<U{width}", compressors=checked()
    )
    labels.attrs["_ARRAY_DIMENSIONS"] = ["graph"]
    labels[:] = np.array(names)
    group.attrs.update(facts)
    return group


def _remove_parts(place: Path) -> None:
    """Remove the pieces that a killed run was writing; their owner holds no lock any more."""
    for part in place.rglob("*.partial"):
        part.unlink(missing_ok=True)


def _plain(arguments: dict[str, Any]) -> str:
    try:
        return json.dumps(arguments, sort_keys=True)
    except TypeError:
        raise OptionError(
            "The options of spectra_many are plain values, since they travel to workers."
        ) from None


def _opened(path: "str | os.PathLike") -> Any:
    import zarr

    if not Path(path).is_dir():
        raise ResultError(f"{path} does not exist.")
    try:
        group = zarr.open_group(str(path), mode="r+", zarr_format=2, use_consolidated=False)
    except Exception as problem:
        reason = shortened(str(problem), 200)
        raise ResultError(f"{path} cannot be read as Zarr ({reason}).") from problem
    if "pairs" not in group.attrs:
        raise ResultError(f"{path} is not a store of spectra_many, or was left unfinished; remove it first.")
    return group


def _same_run(path: "str | os.PathLike", group: Any, facts: dict[str, Any], names: list[str]) -> None:
    held = {name: group.attrs[name] for name in facts}
    different = [name for name in facts if held[name] != facts[name]]
    if not different and [str(name) for name in group["graph"][:]] != names:
        different = ["names of the pairs"]
    if different:
        raise OptionError(
            f"{path} holds another run (other {', '.join(different)}); choose another store, or remove it."
        )
