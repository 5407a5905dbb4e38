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

PAGE = "report.html"


def require() -> None:
    """Refuse before any work when a page could not be made."""
    from spectrata.report.page import plotly_script

    plotly_script()


def write(
    ds: "xr.Dataset", folder: Path, strat: "Stratification", *, signal: Any, graph_name: str, signal_name: str
) -> Path:
    """Write the page; give where."""
    from spectrata.report import write_report

    report = write_report(
        ds,
        folder / PAGE,
        strat,
        signal=signal,
        graph_name=graph_name,
        signal_name=signal_name,
        command=shlex.join(["spectrata", *Invocation.words]),
    )
    assert report.path is not None
    return report.path


def write_if_possible(*arguments: Any, **more: Any) -> Path | None:
    """Write the page, or note what is missing for it."""
    try:
        return write(*arguments, **more)
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
