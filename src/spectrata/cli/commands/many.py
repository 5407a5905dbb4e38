"""``spectrata profile --many``: the pairs of a manifest into one store, here or on a Dask cluster."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spectrata.cli import files
from spectrata.cli.render import Meter, as_json, text
from spectrata.errors import FileFormatError, SpectrataError

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import xarray as xr

NAMED = 10  # failed pairs that are printed
STORE, PICTURE = "spectra.zarr", "spectrogram.png"


def profile_many(
    manifest: str, *, out: str | None, scheduler: str | None, jobs: int, json: bool, arguments: dict[str, Any]
) -> None:
    """Compute what is missing in the store, and print what failed; the exit code is 1 when a pair failed."""
    from spectrata.many.run import COMPUTING, READING, spectra_many

    pairs = read_manifest(manifest)
    store = files.chosen_folder(out, f"{Path(manifest).stem}-spectra") / STORE
    with Meter() as progress, _executor(scheduler, jobs) as executor:
        how = {name: arguments.pop(name) for name in COMPUTING + READING[1:] if name in arguments}
        ds = spectra_many(pairs, executor, store, progress=progress, stratification=how, **arguments)
        picture = _draw(ds, store.parent / PICTURE) if "bands" in arguments else None
    failed = ds.isel({"graph": ds["state"].values == "failed"})
    errors = dict(zip(failed["graph"].values.tolist(), failed["error"].values.tolist(), strict=True))
    done, total = int((ds["state"] == "done").sum()), ds.sizes["graph"]
    paths = {"store": store} | ({} if picture is None else {"picture": picture})
    if json:
        written = {kind: str(path) for kind, path in paths.items()}
        as_json({"command": "profile", "done": done, "failed": errors} | written)
    else:
        text(f"{done} of {total} pairs done, {len(errors)} failed")
        for name, error in list(errors.items())[:NAMED]:
            text(f"failed: {name}: {error}")
        text(f"written: {', '.join(map(str, paths.values()))}")
    if errors:
        raise SpectrataError(f"{len(errors)} of {total} pairs failed; the store holds the reasons.")


def _draw(ds: "xr.Dataset", path: Path) -> Path | None:
    """Band by graph, in the order of the manifest; nothing where every pair failed."""
    from spectrata.plot import spectrogram
    from spectrata.results.atomic_io import written_whole

    if not (ds["state"] == "done").any():
        return None
    with written_whole(path) as beside:
        spectrogram(ds)[0].figure.savefig(beside, dpi=150, format="png")
    return path


def read_manifest(path: str) -> list[tuple[str, str, str]]:
    """Name, graph and signal of each pair, from a CSV file with columns ``graph, signal[, name]``.

    Paths are relative to the manifest's own folder.
    """
    import pandas as pd

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


def _executor(scheduler: str | None, jobs: int) -> "AbstractContextManager[Executor | None]":
    if scheduler is not None:
        from spectrata.many.dask import dask_executor

        return dask_executor(scheduler)
    if jobs == 1:
        return nullcontext(None)
    from spectrata.many.pool import Pool

    return Pool(jobs)
