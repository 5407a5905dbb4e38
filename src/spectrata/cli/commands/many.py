"""``spectrata profile --many``: the pairs of a manifest into one store, here or on a Dask cluster."""

from pathlib import Path
from typing import Any

from spectrata.cli import files
from spectrata.cli.render import progress_bar, text
from spectrata.errors import SpectrataError

NAMED = 10  # failed pairs that are printed


def profile_many(
    manifest: str, *, out: str | None, scheduler: str | None, jobs: int, json: bool, arguments: dict[str, Any]
) -> None:
    """Compute what is missing in the store, and print what failed; the exit code is 1 when a pair failed."""
    from spectrata.many.manifest import executor_of, read_manifest
    from spectrata.many.run import COMPUTING, READING, spectra_many

    pairs = read_manifest(manifest)
    store = files.chosen_folder(out, f"{Path(manifest).stem}-spectra") / "spectra.zarr"
    with progress_bar() as progress, executor_of(scheduler, jobs) as executor:
        how = {name: arguments.pop(name) for name in COMPUTING + READING[1:] if name in arguments}
        ds = spectra_many(pairs, executor, store, progress=progress, stratification=how, **arguments)
    failed = ds.isel({"graph": ds["state"].values == "failed"})
    errors = dict(zip(failed["graph"].values.tolist(), failed["error"].values.tolist(), strict=True))
    done, total = int((ds["state"] == "done").sum()), ds.sizes["graph"]
    if not json:
        text(f"{done} of {total} pairs done, {len(errors)} failed: {store}")
        for name, error in list(errors.items())[:NAMED]:
            text(f"failed: {name}: {error}")
    contents = files.picture("spectrogram", "spectrogram.png", ds) if "bands" in arguments and done else {}
    document = {"command": "profile", "done": done, "failed": errors, "store": str(store)}
    files.finish(store.parent, contents, json, document)
    if errors:
        raise SpectrataError(f"{len(errors)} of {total} pairs failed; the store holds the reasons.")
