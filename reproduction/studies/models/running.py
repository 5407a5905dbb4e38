"""Units over worker processes: each stored the moment it is done, so that a killed study goes on where it was."""

import json
import multiprocessing
import os
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reproduction.studies.models import graphs
from reproduction.studies.models.protocol import Protocol
from reproduction.tasks.store import Arrays, Store
from spectrata.errors import ResultError
from spectrata.results.atomic_io import written_whole

if TYPE_CHECKING:
    from reproduction.studies.models.structure import Structure

Say = Callable[[str], None]
PACK_BYTES = 12 * 2**20  # of one packed file, before compression
PROTOCOL = "__protocol__"
INPUT = "input"  # the record of a graph's features
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
WAIT = 0.2  # seconds between looks at what others do
KEPT = 6 * 2**30  # bytes of GPU memory that a worker keeps between units
RETRIES = 8  # of a unit that found too little memory beside other workers


@dataclass(frozen=True)
class Job:
    """What every worker is given."""

    protocol: Protocol
    store: Store
    prepared: Path
    data: str | None
    device: str
    deadline: float
    unprepared: tuple[str, ...] = ()  # graphs, the largest first


def store_of(protocol: Protocol, out: str | Path) -> Store:
    """The records of a protocol under a folder."""
    return Store.at(out, "models", {"protocol": protocol.digest})


def run(
    protocol: Protocol,
    out: str | Path,
    data: str | Path | None = None,
    workers: int = 1,
    limit_seconds: float | None = None,
    device: str | None = None,
    say: Say = lambda text: None,
) -> int:
    """Train and measure every unit that has no record yet; give the number of units left.

    Parameters
    ----------
    protocol : Protocol
    out : path
        Folder of the records, ``out/units``, and of the graphs' eigenbases, ``out/prepared``.
    data : path, optional
        Folder of the graphs that are files.
    workers : int
        Processes; several share one GPU.
    limit_seconds : float, optional
        No unit is begun after this time.
    device : str, optional
        "cuda" where there is one by default.
    say : callable
        Told about progress and failures.
    """
    import torch

    start = time.time()
    store = store_of(protocol, out)
    deadline = start + limit_seconds if limit_seconds is not None else float("inf")
    chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
    prepared = Path(out) / "prepared" / protocol.digest
    waiting = _unprepared(protocol, data, prepared)
    job = Job(protocol, store, prepared, None if data is None else str(data), chosen, deadline, waiting)
    missing = todo(protocol, store)
    say(f"{len(missing)} units to do on {chosen} with {workers} workers")
    if not missing:
        return 0
    prepared.mkdir(parents=True, exist_ok=True)
    for spec in protocol.graphs:
        _mark(job, spec.name).unlink(missing_ok=True)
    if workers <= 1:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # small arrays: more threads wait for each other
        try:
            work(job, missing, _Counter(), say)
        finally:
            torch.set_num_threads(threads)
    else:
        _spread(job, missing, workers, say)
    left = len(todo(protocol, store))
    say(f"{len(missing) - left} units done in {time.time() - start:.0f} s, {left} left")
    return left


def todo(protocol: Protocol, store: Store) -> list[str]:
    """Names of the units without a record, in the order they are run."""
    from reproduction.studies.models.training import units

    names = [f"{spec.name}-{INPUT}" for spec in protocol.graphs] + [unit.name for unit in units(protocol)]
    return [name for name in names if not store.path(name).is_file()]


class _Counter:
    """What one process counts units with, as ``multiprocessing.Value`` does for several."""

    def __init__(self) -> None:
        self.value = 0

    def get_lock(self) -> Any:
        import contextlib

        return contextlib.nullcontext()


def _spread(job: Job, missing: list[str], workers: int, say: Say) -> None:
    for name in ONE_THREAD:  # read by the libraries of a new process
        os.environ.setdefault(name, "1")
    context = multiprocessing.get_context("spawn")  # CUDA allows no fork
    counter = context.Value("l", 0)
    lines: Any = context.SimpleQueue()
    processes = [
        context.Process(target=_worker, args=(job, missing, counter, lines), daemon=True) for _ in range(workers)
    ]
    for process in processes:
        process.start()
    last = time.time()
    while any(process.is_alive() for process in processes):
        while not lines.empty():
            say(lines.get())
        if time.time() - last > 20:
            last = time.time()
            say(f"{min(counter.value, len(missing))} of {len(missing)} units begun")
        time.sleep(WAIT)
    while not lines.empty():
        say(lines.get())
    for process in processes:
        process.join()
        if process.exitcode:
            say(f"a worker ended with exit code {process.exitcode}")


def _worker(job: Job, missing: list[str], counter: Any, lines: Any) -> None:
    import torch

    torch.set_num_threads(1)
    work(job, missing, counter, lines.put)


def work(job: Job, missing: list[str], counter: Any, say: Say) -> None:
    """Take names one after the other until there are none or the time is up.

    The first names prepare graphs; a unit waits for the worker that prepares its graph.
    """
    from reproduction.studies.models.training import units

    known = {unit.name: unit for unit in units(job.protocol)}
    structures: dict[str, Structure] = {}
    while time.time() < job.deadline:
        with counter.get_lock():
            index = counter.value
            counter.value += 1
        if index >= len(job.unprepared) + len(missing):
            return
        name = job.unprepared[index] if index < len(job.unprepared) else missing[index - len(job.unprepared)]
        try:
            if index < len(job.unprepared):
                _prepare(job, name)
                continue
            unit = known.get(name)
            structure = _structure(job, unit.graph if unit else name.removesuffix(f"-{INPUT}"), structures)
            job.store.save(name, _computed(job, unit, structure))
        except Exception as problem:  # the other units go on; this one is tried again by the next call
            if index < len(job.unprepared):
                _mark(job, name).touch()  # its units do not wait
            say(f"{name}: {type(problem).__name__}: {problem}\n{traceback.format_exc(limit=-3)}")


def _unprepared(protocol: Protocol, data: str | Path | None, folder: Path) -> tuple[str, ...]:
    """Graphs to prepare, the largest first; raises where the file of a graph is missing."""
    from reproduction.studies.models.structure import prepared_path

    found = [graphs.load(spec, data, protocol.seed) for spec in protocol.graphs]
    found = [graph for graph in found if not prepared_path(graph, folder).is_file()]
    return tuple(graph.name for graph in sorted(found, key=lambda graph: -graph.n))


def _prepare(job: Job, name: str) -> None:
    import torch

    from reproduction.studies.models.structure import prepare

    graph = graphs.load(job.protocol.graph(name), job.data, job.protocol.seed)
    prepare(graph, job.protocol, torch.device(job.device), job.prepared)
    if job.device == "cuda":
        torch.cuda.empty_cache()


def _mark(job: Job, name: str) -> Path:
    """Stands while a graph could not be prepared."""
    return job.prepared / f"{name}.failed"


def _structure(job: Job, name: str, held: "dict[str, Structure]") -> "Structure":
    """A graph on the worker's device, read once, after the worker that prepares it has done so."""
    import torch

    from reproduction.studies.models.structure import prepared_path, read

    if name not in held:
        graph = graphs.load(job.protocol.graph(name), job.data, job.protocol.seed)
        while not prepared_path(graph, job.prepared).is_file():
            if time.time() > job.deadline or _mark(job, name).exists():
                raise ResultError(f"The graph {name} was not prepared.")
            time.sleep(WAIT)
        held[name] = read(graph, job.protocol, torch.device(job.device), job.prepared)
    return held[name]


def _computed(job: Job, unit: Any, structure: "Structure") -> Arrays:
    """The record of a unit; tried again where other workers have the memory."""
    import torch

    from reproduction.studies.models.measures import measure_states
    from reproduction.studies.models.training import run_unit

    for attempt in range(RETRIES + 1):
        try:
            if unit is None:
                return {"measure": measure_states([structure.features[:, None]], structure).astype(np.float32)}
            record = run_unit(unit, structure, job.protocol)
            if job.device == "cuda" and torch.cuda.memory_reserved() > KEPT:
                torch.cuda.empty_cache()  # for the workers beside this one
            return record
        except torch.cuda.OutOfMemoryError:
            if attempt == RETRIES:
                raise
            torch.cuda.empty_cache()
            time.sleep(2.0 * (attempt + 1))
    raise AssertionError


def pack(protocol: Protocol, out: str | Path, folder: str | Path) -> list[Path]:
    """Write the records so far as a few compressed files ``records-N.npz``, which :func:`unpack` takes."""
    store, found = store_of(protocol, out), []
    groups: list[dict[str, np.ndarray]] = [{}]
    size = 0
    for path in sorted(store.folder.glob("*.npz")):
        held = store.load(path.stem)
        if held is None:
            continue
        bytes_here = sum(array.nbytes for array in held.values())
        if size + bytes_here > PACK_BYTES:
            groups.append({})
            size = 0
        size += bytes_here
        groups[-1] |= {f"{path.stem}/{name}": array for name, array in held.items()}
    about = np.array(json.dumps(protocol.to_dict() | {"digest": protocol.digest}, sort_keys=True))
    for number, group in enumerate(groups):
        place = Path(folder) / f"records-{number}.npz"
        with written_whole(place) as beside:
            np.savez_compressed(beside, **{PROTOCOL: about}, **group)  # type: ignore[arg-type]
        found.append(place)
    return found


def unpack(protocol: Protocol, out: str | Path, folder: str | Path) -> int:
    """Put packed records into a study's folder; give the number of units that were new there."""
    store, added = store_of(protocol, out), 0
    for path in sorted(Path(folder).glob("records-*.npz")):
        with np.load(path, allow_pickle=False) as held:
            if json.loads(str(held[PROTOCOL]))["digest"] != protocol.digest:
                raise ResultError(f"{path} holds records of another protocol; give those of the {protocol.name} study.")
            units: dict[str, Arrays] = {}
            for key in held.files:
                if key != PROTOCOL:
                    name, _, array = key.rpartition("/")
                    units.setdefault(name, {})[array] = held[key]
        for name, arrays in units.items():
            if not store.path(name).is_file():
                store.save(name, arrays)
                added += 1
    return added


def load_all(protocol: Protocol, out: str | Path) -> Iterable[tuple[str, Arrays]]:
    """Every record there is: its name and arrays."""
    store = store_of(protocol, out)
    for path in sorted(store.folder.glob("*.npz")):
        held = store.load(path.stem)
        if held is not None:
            yield path.stem, held
