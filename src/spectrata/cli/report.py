"""The page about a result: written beside the other files, and offered to a person at a terminal."""

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spectrata.cli.terminal import Invocation, say
from spectrata.errors import MissingExtraError

if TYPE_CHECKING:
    import xarray as xr

    from spectrata.core.stratification import Stratification
    from spectrata.report.shown import Report

PAGE = "report.html"


def require() -> None:
    """Refuse before any work when a page could not be made."""
    from spectrata.report.page import plotly_script

    plotly_script()


def page(
    ds: "xr.Dataset", strat: "Stratification | None", *, signal: Any, graph_name: str, signal_name: str
) -> "Report":
    """The page, not written yet."""
    from spectrata.report import write_report

    command = shlex.join(["spectrata", *Invocation.words])
    return write_report(ds, None, strat, signal=signal, graph_name=graph_name, signal_name=signal_name, command=command)


def write_if_possible(ds: "xr.Dataset", folder: Path, strat: "Stratification | None", **more: Any) -> Path | None:
    """Write the page, or note what is missing for it."""
    try:
        return page(ds, strat, **more).save(folder / PAGE).path
    except MissingExtraError as problem:
        say(f"note: {problem}")
        return None


def offer(path: Path) -> None:
    """Ask whether to open the page, where there is somebody to ask and a browser to open it."""
    if not (sys.stdin.isatty() and sys.stdout.isatty() and _has_browser()):
        return
    import webbrowser

    import typer

    if typer.confirm(f"open {path} in the browser?", default=False):
        webbrowser.open(path.resolve().as_uri())


def _has_browser() -> bool:
    """Whether a browser would open a window: one that draws in the terminal would take it over."""
    if sys.platform in ("win32", "darwin"):
        return True
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or os.environ.get("BROWSER")):
        return False
    import webbrowser

    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True
