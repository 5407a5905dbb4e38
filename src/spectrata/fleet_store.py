"""One Zarr store of many graphs' results, filled in any order and opened by plain xarray at any time.

Arrays have one row per pair and grow along hops and components as larger graphs come in. A pair's
``state`` is written after its arrays: what has a state is whole, and is never written again.
"""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata._version import __version__
from spectrata.batch import PAST_DIAMETER
from spectrata.errors import OptionError, ResultError
from spectrata.fleet_work import Outcome

if TYPE_CHECKING:
    import xarray as xr

MISSING, DONE, FAILED = 0, 1, 2
STATES = np.array(["missing", "done", "failed"])
ERROR_LENGTH, STATUS_LENGTH = 400, 48
HOP_CHUNK, COMPONENT_CHUNK = 16, 256
# name -> dimensions after "graph", type, what stands where there is nothing
LAYOUT: dict[str, tuple[tuple[str, ...], str, Any]] = {
    "magnitude": (("method", "hop", "component"), "f8", np.nan),
    "eigenvalue": (("hop", "component"), "f8", np.nan),
    "eigenspace": (("hop", "component"), "i4", -1),
    "multiplicity": (("hop", "component"), "i4", 0),
    "gradient_norm": (("hop",), "f8", np.nan),
    "n_edges": (("hop",), "i8", 0),
    "n_parts": (("hop",), "i8", 0),
    "n_singletons": (("hop",), "i8", 0),
    "status": (("method", "hop"), f"<U{STATUS_LENGTH}", PAST_DIAMETER),
    "n_nodes": ((), "i8", 0),
    "metric": ((), "<U16", ""),
    "graph_hash": ((), "<U64", ""),
    "error": ((), f"<U{ERROR_LENGTH}", ""),
    "state_code": ((), "i1", MISSING),
}
COORDINATES = ("eigenvalue", "eigenspace", "multiplicity", "n_edges", "n_parts", "n_singletons", "n_nodes")


class FleetStore:
    """The arrays of a run; made by :meth:`open`."""

    def __init__(self, group: Any, place: Any) -> None:
        self.group, self.place = group, place
        self.chunk = int(group.attrs["chunk"])
        self.count = int(group.attrs["pairs"])

    @classmethod
    def open(
        cls, path: "str | os.PathLike | None", names: list[str], chunk: int, arguments: dict[str, Any]
    ) -> "FleetStore":
        """A new store, or the one of an earlier run of the same pairs with the same arguments."""
        import zarr

        place = zarr.storage.MemoryStore() if path is None else str(path)
        facts: dict[str, Any] = {"pairs": len(names), "chunk": chunk, "arguments": _plain(arguments)}
        if path is not None and Path(path).exists() and any(Path(path).iterdir()):
            group = _opened(path)
            _same_run(path, group, facts, names)
            return cls(group, place)
        if path is not None and Path(path).suffix != ".zarr":
            raise OptionError(f"{path} must end in .zarr.")
        group = zarr.open_group(place, mode="a", zarr_format=2)
        width = max(len(name) for name in names)
        labels = group.create_array("graph", shape=(len(names),), chunks=(len(names),), dtype=f"<U{width}")
        labels.attrs["_ARRAY_DIMENSIONS"] = ["graph"]
        labels[:] = np.array(names)
        # Written last: a store without it was killed while it was made, and is made again.
        group.attrs.update(facts | {"spectrata_version": __version__, "seed": int(arguments.get("seed", 0))})
        return cls(group, place)

    def missing(self, retry_failed: bool) -> set[int]:
        """Positions of pairs that are still to be done."""
        if "state_code" not in self.group:
            return set(range(self.count))
        state = self.group["state_code"][:]
        return set(np.flatnonzero((state == MISSING) | (retry_failed & (state == FAILED))).tolist())

    def write(self, outcomes: list[Outcome]) -> None:
        """Write pairs of one chunk: their arrays first, then their state."""
        if not outcomes:
            return
        done = [outcome for outcome in outcomes if outcome.arrays is not None]
        if done:
            self._make_room(done)
        rows = np.array([outcome.index for outcome in outcomes])
        if done:
            self._write_arrays(done)
        for name in ("error", "state_code"):
            self._array(name)
        self._put("error", rows, np.array([outcome.error[:ERROR_LENGTH] for outcome in outcomes], dtype=str))
        state = np.array([FAILED if outcome.arrays is None else DONE for outcome in outcomes], dtype="i1")
        self._put("state_code", rows, state)

    def _put(self, name: str, rows: np.ndarray, values: np.ndarray) -> None:
        """Replace some rows, all inside one chunk of the array, by one write of that chunk."""
        array = self.group[name]
        first = int(rows.min()) // self.chunk * self.chunk
        stop = min(first + self.chunk, self.count)
        held = array[first:stop]
        held[rows - first] = values
        array[first:stop] = held

    def _write_arrays(self, outcomes: list[Outcome]) -> None:
        hops = self.group["hop"][:].tolist()
        methods = [str(name) for name in self.group["method"][:]]
        rows = np.array([outcome.index for outcome in outcomes])
        for name, (dims, dtype, fill) in LAYOUT.items():
            if name in ("error", "state_code"):
                continue
            values = np.full((len(rows), *self.group[name].shape[1:]), fill, dtype=dtype)
            for row, outcome in enumerate(outcomes):
                assert outcome.arrays is not None
                array = outcome.arrays[name]
                if not dims:
                    values[row] = array
                    continue
                where: list[Any] = []
                for dim in dims:
                    if dim == "method":
                        where.append([methods.index(method) for method in outcome.arrays["methods"]])
                    elif dim == "hop":
                        where.append([hops.index(int(hop)) for hop in outcome.arrays["hops"]])
                    else:
                        where.append(range(array.shape[-1]))
                values[(row, *np.ix_(*where))] = array
            self._put(name, rows, values)

    def _make_room(self, outcomes: list[Outcome]) -> None:
        """Make the arrays, or let them grow along hops and components."""
        arrays = [outcome.arrays for outcome in outcomes if outcome.arrays is not None]
        given = json.loads(self.group.attrs["arguments"])["hops"]
        reach = max(int(max(a["hops"], default=1)) for a in arrays)
        hops = sorted(given) if isinstance(given, list) else list(range(1, reach + 1))
        if "hop" not in self.group:
            self._label("method", np.array(arrays[0]["methods"]))
            self._label("hop", np.array(hops))
        elif len(hops) > self.group["hop"].shape[0]:
            self.group["hop"].resize((len(hops),))
            self.group["hop"][:] = np.array(hops)
        width = max(a["magnitude"].shape[-1] for a in arrays)
        for name in LAYOUT:
            array = self._array(name)
            dims = LAYOUT[name][0]
            room = self._sizes(dims, width, array.shape[1:])
            if (self.count, *room) != array.shape:
                array.resize((self.count, *room))

    def _label(self, name: str, values: np.ndarray) -> None:
        array = self.group.create_array(name, shape=values.shape, chunks=(4096,), dtype=values.dtype)
        array.attrs["_ARRAY_DIMENSIONS"] = [name]
        array[:] = values

    def _sizes(self, dims: tuple[str, ...], width: int, now: tuple[int, ...]) -> tuple[int, ...]:
        sizes = {"method": self.group["method"].shape[0], "hop": self.group["hop"].shape[0]} if dims else {}
        return tuple(
            max(width, now[i] if now else 0) if dim == "component" else sizes[dim]
            for i, dim in enumerate(dims)
        )

    def _array(self, name: str) -> Any:
        if name in self.group:
            return self.group[name]
        dims, dtype, fill = LAYOUT[name]
        shape = (self.count, *self._sizes(dims, 1, ()))
        sizes = {"hop": HOP_CHUNK, "component": COMPONENT_CHUNK}
        chunks = (self.chunk, *(sizes.get(dim, size) for dim, size in zip(dims, shape[1:], strict=True)))
        array = self.group.create_array(name, shape=shape, chunks=chunks, dtype=dtype, fill_value=fill)
        array.attrs["_ARRAY_DIMENSIONS"] = ["graph", *dims]
        return array

    def finish(self) -> "xr.Dataset":
        """The Dataset of what is there, read into memory when the store is in memory."""
        if "hop" not in self.group:  # not one pair could be computed
            errors = self.group["error"][:]
            raise ResultError(f"All {self.count} pairs failed, the first with: {errors[0]}")
        ds = self.read(self.place)
        return ds if isinstance(self.place, str) else ds.load()

    @staticmethod
    def read(place: Any) -> "xr.Dataset":
        """Open a store; arrays are read when used."""
        import xarray as xr

        if isinstance(place, str | os.PathLike):
            _opened(place)
        # Without masking, -1 and 0 stay whole numbers.
        ds = xr.open_dataset(place, engine="zarr", consolidated=False, chunks=None, mask_and_scale=False)
        if "state_code" not in ds:
            raise ResultError(f"{place} holds no result yet.")
        ds = ds.assign(state=("graph", STATES[ds["state_code"].values])).drop_vars("state_code")
        attributes = {name: value for name, value in ds.attrs.items() if name not in ("chunk", "pairs")}
        ds.attrs = attributes | {"parameters": attributes.get("arguments", "{}")}
        for variable in ds.variables.values():
            variable.attrs.pop("_FillValue", None)
            variable.encoding = {}
        return ds.set_coords([name for name in COORDINATES if name in ds])


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
        group = zarr.open_group(str(path), mode="r+", zarr_format=2)
    except Exception as problem:
        raise ResultError(f"{path} cannot be read as Zarr ({problem}).") from problem
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
