"""``spectrata profile --many``: the pairs of a manifest into one store, here or on a Dask cluster."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from spectrata.cli import files
from spectrata.cli.render import Meter, as_json, text
from spectrata.errors import SpectrataError

if TYPE_CHECKING:
    import xarray as xr

NAMED = 10  # failed pairs that are printed
STORE, PICTURE = "spectra.zarr", "spectrogram.png"


def profile_many(
    manifest: str, *, out: str | None, scheduler: str | None, jobs: int, json: bool, arguments: dict[str, Any]
) -> None:
    """Compute what is missing in the store, and print what failed; the exit code is 1 when a pair failed."""
    from spectrata.many.manifest import executor_of, read_manifest
    from spectrata.many.run import COMPUTING, READING, spectra_many

    pairs = read_manifest(manifest)
    store = files.chosen_folder(out, f"{Path(manifest).stem}-spectra") / STORE
    with Meter() as progress, executor_of(scheduler, jobs) as executor:
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
