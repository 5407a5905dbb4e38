"""Results as files in one folder: all of them appear, or none."""

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spectrata.cli.failures import CALLED_WITH, NOTED
from spectrata.cli.render import as_json, text
from spectrata.errors import OptionError

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from spectrata.stats.verbs.profile import Profile

WRITTEN = ("columns.csv", "findings.csv", "likeness.png", "report.html", "spectra.csv", "spectra.nc", "spectra.png")
Writers = dict[str, tuple[str, Callable[[Path], Any]]]  # by kind: the name of a file, and what fills it


def chosen_folder(out: str | None, otherwise: str) -> Path:
    """The folder to write to, refused before any work when nothing can be written there."""
    folder = Path(out if out else otherwise)
    try:
        place = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    except OSError as problem:
        raise OptionError(f"{folder} cannot be used as a folder: {problem.strerror}; choose another -o.") from None
    if not place.is_dir():
        raise OptionError(f"{place.name} is a file, so {folder} cannot be a folder; choose another -o.")
    if not os.access(place, os.W_OK | os.X_OK):
        raise OptionError(f"Nothing can be written into {place}; choose another -o.")
    return folder


def default_folder(graph: str) -> str:
    """``karate-spectra`` for ``data/karate.mtx.gz``, in the current folder."""
    return (Path(graph).name.split(".")[0] or "graph") + "-spectra"


def write(folder: Path, contents: Writers) -> dict[str, Path]:
    """Write files, and rename them into place when every one of them is complete.

    Of two processes that write to one folder the second waits at the first file, so that all files are of one of them.
    """
    from spectrata.results.atomic_io import cannot_write, make_folder, written_whole

    paths = {kind: folder / name for kind, (name, _) in contents.items()}
    created = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        make_folder(folder)
        with ExitStack() as stack:
            beside = {kind: stack.enter_context(written_whole(path)) for kind, path in paths.items()}
            for kind, (_, fill) in contents.items():
                fill(beside[kind])
    except BaseException as problem:
        with suppress(OSError):
            for place in created:  # deepest first; what is not empty stays
                place.rmdir()
        if isinstance(problem, OSError):
            raise cannot_write(folder, problem) from problem
        raise
    return paths


def finish(folder: Path | None, contents: Writers, json: bool, document: Mapping[str, Any], more: str = "") -> None:
    """Write the files, then print where they are, or the JSON document with their paths."""
    places = [] if folder is None else [folder / name for name, _ in contents.values()]
    replaced = {path for path in places if path.exists()}
    paths = {} if folder is None or not contents else write(folder, contents)
    if json:
        as_json({**document, "files": {kind: str(path) for kind, path in paths.items()}})
    elif paths:
        names = ", ".join(path.name + " (replaced)" * (path in replaced) for path in paths.values())
        text(f"written to {folder}: {names}{more}")
        new = {path.name for path in paths.values()}
        if folder is not None and (older := [name for name in WRITTEN if name not in new and (folder / name).exists()]):
            text(f"of an earlier run: {', '.join(older)}")


def result(ds: "xr.Dataset", drawn: bool = True) -> Writers:
    """A result, and its picture where it is wanted."""
    from spectrata.results.files import fill

    name = "spectra.nc"
    contents: Writers = {"dataset": (name, lambda beside: fill(ds, beside, Path(name)))}
    return contents | (picture("spectra", "spectra.png", ds) if drawn else {})


def picture(kind: str, name: str, found: Any, key: str = "picture") -> Writers:
    """A picture by a function of ``spectrata.plot``; ``key`` is its name in the JSON document."""

    def draw(beside: Path) -> None:
        from spectrata import plot

        getattr(plot, kind)(found)[0].figure.savefig(beside, dpi=150, format="png")

    return {key: (name, draw)}


def frame(kind: str, name: str, rows: "pd.DataFrame | list[dict[str, Any]]") -> Writers:
    import pandas as pd

    return {kind: (name, lambda beside: pd.DataFrame(rows).to_csv(beside, index=False))}


def page(found: "Profile", graph_name: str, signal_name: str, pos: str | None = None) -> Writers:
    """The report of a profile, with the notes on how its files were read."""
    import shlex

    from spectrata.report import write_report

    command = shlex.join(["spectrata", *CALLED_WITH])
    found = replace(found, findings=replace(found.findings, notes=[*NOTED, *found.findings.notes]))
    made = write_report(found, title=graph_name, name=signal_name, command=command, pos=pos)
    return {"report": ("report.html", lambda beside: beside.write_text(made.html, encoding="utf-8", newline="\n"))}
