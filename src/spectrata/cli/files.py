"""A result as files in one folder: all of them appear, or none."""

import os
import stat
from collections.abc import Callable
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


def write_files(ds: "xr.Dataset", folder: Path, also: Callable[[], dict[str, Path]] = dict) -> dict[str, Path]:
    """Write the Dataset, the long table, the picture and what ``also`` writes; give where.

    Two processes that write to one folder do so one after the other, so that all files are of one of them.
    """
    from spectrata.results.atomic_io import cannot_write, make_folder, one_at_a_time

    created = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        make_folder(folder)
        with one_at_a_time(folder):
            return _write_three(ds, folder) | also()
    except BaseException as problem:
        for place in created:  # deepest first; what is not empty stays
            try:
                place.rmdir()
            except OSError:
                break
        if isinstance(problem, OSError):
            raise cannot_write(folder, problem) from problem
        raise


def _write_three(ds: "xr.Dataset", folder: Path) -> dict[str, Path]:
    from spectrata.results.atomic_io import written_whole
    from spectrata.results.files import fill
    from spectrata.results.tables import to_table

    names = {"dataset": DATASET, "table": TABLE, "picture": PICTURE}
    paths = {kind: folder / name for kind, name in names.items()}
    with ExitStack() as stack:  # renamed only when every one of them is complete
        beside = {kind: stack.enter_context(written_whole(path)) for kind, path in paths.items()}
        fill(ds, beside["dataset"], paths["dataset"])
        to_table(ds).to_csv(beside["table"], index=False)
        draw(ds, beside["picture"])
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
