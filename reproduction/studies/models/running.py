"""All units of the study over processes: each is stored the moment it is done, so that a stopped study goes on."""

import time
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.pool import Say, store_units
from reproduction.store import Arrays, Store
from reproduction.studies.models import graphs
from reproduction.studies.models.protocol import Protocol

INPUT = "input"  # the record of a graph's features
KEPT = 6 * 2**30  # bytes of GPU memory that a process keeps between units
RETRIES = 8  # of a unit that found too little memory beside other processes


def store_of(protocol: Protocol, out: Path) -> Store:
    return Store.at(out, "models", {"protocol": protocol.digest})


def run(
    protocol: Protocol,
    out: Path,
    data: Path | None = None,
    jobs: int = 1,
    limit: float = inf,
    device: str = "",
    say: Say = print,
) -> int:
    """Train and measure every unit that has no record yet; give the number of units left.

    Records are kept in ``out/units``, the graphs' eigenvectors in ``out/bases``. Several processes share one GPU. No
    unit is begun after ``limit`` seconds. ``device`` is "cuda" where there is one by default.
    """
    import torch

    from reproduction.studies.models.training import units

    for spec in protocol.graphs:
        if spec.source == "file":
            graphs.file_of(spec, data)
    start, store = time.time(), store_of(protocol, out)
    job = (protocol, str(out / "bases"), data, device or ("cuda" if torch.cuda.is_available() else "cpu"))
    inputs = [(f"{spec.name}-{INPUT}", (*job, spec.name, None)) for spec in protocol.graphs]
    models = [(unit.name, (*job, unit.graph, unit)) for unit in units(protocol)]
    threads = torch.get_num_threads()
    try:  # the features first: their records need every graph's eigenvectors, which the models then find in the folder
        for title, group in (("features of the graphs", inputs), ("models", models)):
            say(title)
            store_units(compute, group, store, jobs, start + limit, say)
    finally:
        torch.set_num_threads(threads)
    left = sum(not store.path(name).is_file() for name, _ in (*inputs, *models))
    say(f"{time.time() - start:.0f} s, {left} of {len(inputs) + len(models)} units left")
    return left


_structures: dict[tuple[str, ...], Any] = {}  # of this process


def compute(protocol: Protocol, bases: str, data: Any, device: str, graph: str, unit: Any) -> Arrays:
    """Give the record of a unit, or of a graph's features; tried again where other processes have the memory."""
    import torch

    from reproduction.studies.models.measures import measure_states
    from reproduction.studies.models.structure import structure_of
    from reproduction.studies.models.training import run_unit

    torch.set_num_threads(1)  # small arrays: more threads wait for each other
    key = (protocol.digest, bases, device, graph)
    if key not in _structures:
        loaded = graphs.load(protocol.graph(graph), data, protocol.seed)
        _structures[key] = structure_of(loaded, protocol, torch.device(device), Path(bases))
    held = _structures[key]
    if unit is None:
        return {"measure": measure_states([held.features[:, None]], held).astype(np.float32)}
    for attempt in range(1, RETRIES + 1):
        try:
            return run_unit(unit, held, protocol)
        except torch.cuda.OutOfMemoryError:
            torch.cuda.empty_cache()
            time.sleep(2.0 * attempt)
        finally:
            if device == "cuda" and torch.cuda.memory_reserved() > KEPT:
                torch.cuda.empty_cache()  # for the processes beside this one
    return run_unit(unit, held, protocol)
