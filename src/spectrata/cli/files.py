"""A result as files in one folder: all of them appear, or none."""

import os
import stat
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from spectrata.errors import OptionError

if TYPE_CHECKING:
    import xarray as xr

DATASET, TABLE, PICTURE = "spectra.nc", "spectra.csv", "spectra.png"


def chosen_folder(out: str | None, otherwise: str) -> Path:
    """The folder to write to, refused before any work when a file stands in its place."""
    folder = Path(out if out else otherwise)
    for place in (folder, *folder.parents):
        try:
            mode = place.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as problem:
            raise OptionError(f"{place} cannot be used as a folder: {problem.strerror}; choose another -o.") from None
        if not stat.S_ISDIR(mode):
            raise OptionError(
                f"{place} is a file, so nothing can be written into the folder {folder}; choose another -o."
            )
        if not os.access(place, os.W_OK | os.X_OK):
            raise OptionError(f"Nothing can be written into {place}; choose another -o.")
        break
    return folder


def default_folder(graph: str) -> str:
    """``karate-spectra`` for ``data/karate.mtx.gz``, in the current folder."""
    return (Path(graph).name.split(".")[0] or "graph") + "-spectra"


def write_files(
    ds: "xr.Dataset", folder: Path, also: "Mapping[str, tuple[str, Callable[[Path], None]]] | None" = None
) -> dict[str, Path]:
    """Write the Dataset, the long table, the picture, and what ``also`` names: a file and the function that fills it.

    Files are renamed into place when every one of them is complete. Of two processes that write to one folder the
    second waits at the first file, so that all files are of one of them. Returns where the files are.
    """
    from spectrata.results.atomic_io import cannot_write, make_folder, written_whole
    from spectrata.results.files import fill
    from spectrata.results.tables import to_table

    contents: dict[str, tuple[str, Callable[[Path], None]]] = {
        "dataset": (DATASET, lambda beside: fill(ds, beside, folder / DATASET)),
        "table": (TABLE, lambda beside: to_table(ds).to_csv(beside, index=False)),
        "picture": (PICTURE, lambda beside: draw(ds, beside)),
    }
    contents |= also or {}
    paths = {kind: folder / name for kind, (name, _) in contents.items()}
    created = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        make_folder(folder)
        with ExitStack() as stack:
            beside = {kind: stack.enter_context(written_whole(path)) for kind, path in paths.items()}
            for kind, (_, write) in contents.items():
                write(beside[kind])
    except BaseException as problem:
        for place in created:  # deepest first; what is not empty stays
            try:
                place.rmdir()
            except OSError:
                break
        if isinstance(problem, OSError):
            raise cannot_write(folder, problem) from problem
        raise
    return paths


def draw(ds: "xr.Dataset", path: Path) -> None:
    """The spectra as a PNG: curves of several algorithms are normalised, many components go by rank."""
    from spectrata.plot.spectra import spectra
    from spectrata.plot.style import MANY
    from spectrata.results.schema import view

    result = view(ds)
    overlaid = len(result.algorithms) > 1 and len(result.gradient_norm) == 1
    place = "rank" if len(result.component) > MANY else "eigenvalue"
    axes = spectra(ds, x=place, normalize=overlaid)
    axes[0].figure.savefig(path, dpi=150, format="png")
