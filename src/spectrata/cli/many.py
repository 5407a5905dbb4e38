"""``spectrata profile --many``: the pairs of a manifest into one store, here or on a Dask cluster."""

import csv
import json
import re
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spectrata.cli import files
from spectrata.cli.tables import print_text
from spectrata.cli.terminal import Meter
from spectrata.errors import FileFormatError, OptionError, SpectrataError

if TYPE_CHECKING:
    import xarray as xr

NAMED = 10  # failed pairs that are printed
STORE, PICTURE = "spectra.zarr", "spectrogram.png"


def profile_many(
    manifest: str,
    *,
    out: str | None,
    scheduler: str | None,
    jobs: int,
    hops: int | list[int] | None,
    as_json: bool,
    arguments: dict[str, Any],
    bands: int | list[float] | None = None,
) -> None:
    """Compute what is missing in the store, and say what failed; the exit code is 1 when a pair failed."""
    import typer

    from spectrata.core.algorithms.options import by_algorithm
    from spectrata.many.run import COMPUTING, READING, spectra_many

    if arguments.get("keep") is not None:
        raise OptionError("--keep cannot be used with --many; its store holds only magnitudes.")
    pairs = read_manifest(manifest)
    store = files.chosen_folder(out, f"{Path(manifest).stem}-spectra") / STORE
    given = {name: value for name, value in arguments.items() if value is not None}
    given = by_algorithm(given) | ({} if bands is None else {"bands": bands})
    with Meter() as progress, _executor(scheduler, jobs) as executor:
        how = {name: given.pop(name) for name in COMPUTING + READING[1:] if name in given}
        ds = spectra_many(pairs, executor, store, hops=hops, progress=progress, stratification=how, **given)
        picture = None if bands is None else _draw(ds, store.parent / PICTURE)
    failed = ds.isel({"graph": ds["state"].values == "failed"})
    errors = dict(zip(failed["graph"].values.tolist(), failed["error"].values.tolist(), strict=True))
    done = int((ds["state"] == "done").sum())
    if as_json:
        paths = {"store": str(store)} | ({} if picture is None else {"picture": str(picture)})
        typer.echo(json.dumps({"command": "profile", "done": done, "failed": errors} | paths))
    else:
        _show(done, ds.sizes["graph"], errors, [store, *([] if picture is None else [picture])])
    if errors:
        raise SpectrataError(f"{len(errors)} of {ds.sizes['graph']} pairs failed; the store holds the reasons.")


def _draw(ds: "xr.Dataset", path: Path) -> Path | None:
    """Band by graph, in the order of the manifest; nothing where every pair failed."""
    from spectrata.plot import spectrogram
    from spectrata.results.atomic_io import written_whole

    if not (ds["state"] == "done").any():
        return None
    with written_whole(path) as beside:
        spectrogram(ds, y="eigenvalue")[0].figure.savefig(beside, dpi=150, format="png")
    return path


def _show(done: int, total: int, errors: dict[str, str], paths: list[Path]) -> None:
    print_text(f"{done} of {total} pairs done, {len(errors)} failed")
    for name, error in list(errors.items())[:NAMED]:
        print_text(f"failed: {name}: {re.sub(r'^[A-Za-z]+Error: ', '', error)}")
    if len(errors) > NAMED:
        print_text(f"{len(errors) - NAMED:,} more failed; the store holds their reasons.")
    print_text(f"written: {', '.join(map(str, paths))}")


def read_manifest(path: str) -> list[tuple[str, str, str]]:
    """Name, graph and signal of each pair, from a CSV file with columns ``graph, signal[, name]``.

    Paths are relative to the manifest's own folder.
    """
    place = Path(path)
    try:
        with place.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except FileNotFoundError:
        raise FileFormatError(f"The manifest {path} does not exist; check the name.") from None
    except (OSError, UnicodeDecodeError) as problem:
        why = getattr(problem, "strerror", None) or problem
        raise FileFormatError(f"The manifest {path} cannot be read: {why}.") from None
    if not rows or not {"graph", "signal"} <= set(rows[0]):
        raise FileFormatError(f"The manifest {path} needs a header with the columns graph and signal, and a row.")
    pairs = []
    for number, row in enumerate(rows, start=2):
        if not row["graph"] or not row["signal"]:
            raise FileFormatError(f"Line {number} of the manifest {path} lacks a graph or a signal.")
        graph, signal = ((place.parent / row[name]).absolute() for name in ("graph", "signal"))
        pairs.append((row.get("name") or f"{row['graph']} {row['signal']}", str(graph), str(signal)))
    return pairs


def _executor(scheduler: str | None, jobs: int) -> "AbstractContextManager[Executor | None]":
    if scheduler is not None:
        from spectrata.many.dask import dask_executor

        return dask_executor(scheduler)
    if jobs < 1:
        raise OptionError(f"--jobs {jobs} must be at least 1.")
    if jobs == 1:
        return nullcontext(None)
    from spectrata.many.pool import Pool

    return Pool(jobs)
