"""Manifests, the graphs and signals of many calls in a CSV file, and who works on them."""

from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pandas as pd

from spectrata.errors import FileFormatError


def read_manifest(path: str) -> list[tuple[str, str, str]]:
    """Name, graph and signal of each pair, from a CSV file with columns ``graph, signal[, name]``.

    Paths are relative to the manifest's own folder.
    """
    try:
        rows = pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")
    except FileNotFoundError:
        raise FileFormatError(f"The manifest {path} does not exist; check the name.") from None
    except (OSError, ValueError) as problem:  # pandas and codecs raise kinds of ValueError
        why = getattr(problem, "strerror", None) or problem
        raise FileFormatError(f"The manifest {path} cannot be read: {why}.") from None
    if not rows or not {"graph", "signal"} <= set(rows[0]):
        raise FileFormatError(f"The manifest {path} needs a header with the columns graph and signal, and a row.")
    pairs, folder = [], Path(path).parent.absolute()
    for number, row in enumerate(rows, start=2):
        if not row["graph"] or not row["signal"]:
            raise FileFormatError(f"Line {number} of the manifest {path} lacks a graph or a signal.")
        name = row.get("name") or f"{row['graph']} {row['signal']}"
        pairs.append((name, str(folder / row["graph"]), str(folder / row["signal"])))
    return pairs


def executor_of(scheduler: str | None, jobs: int) -> AbstractContextManager[Executor | None]:
    """A Dask cluster, processes here, or nothing for this process."""
    if scheduler is not None:
        from spectrata.many.dask import dask_executor

        return dask_executor(scheduler)
    if jobs == 1:
        return nullcontext(None)
    from spectrata.many.pool import Pool

    return Pool(jobs)
