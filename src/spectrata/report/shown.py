"""A finished page: written to a file, and shown inside a notebook cell."""

import html
import os
from dataclasses import dataclass, field, replace
from pathlib import Path

from spectrata.errors import ResultError
from spectrata.results.atomic_io import written_whole

HEIGHT = 860  # pixels of the frame in a notebook


@dataclass(frozen=True)
class Report:
    """One HTML page about a result; as the last value of a notebook cell it shows itself.

    Attributes
    ----------
    html : str
        The page.
    title : str
    path : Path or None
        Where it was written; the report can then stand for its path, as in ``open(report)``.

    Examples
    --------
    >>> report = Report("<!doctype html><p>Hello</p>", "a page")
    >>> report
    Report('a page', not written)
    """

    html: str = field(repr=False)
    title: str
    path: Path | None = None

    def save(self, path: str | os.PathLike) -> "Report":
        """Write the page; the file appears whole or not at all. Returns the report with its path."""
        path = Path(path)
        with written_whole(path) as beside:
            beside.write_text(self.html, encoding="utf-8", newline="\n")
        return replace(self, path=path)

    def __fspath__(self) -> str:
        if self.path is None:
            raise ResultError("This report was not written to a file; write it with report.save(path).")
        return str(self.path)

    def __str__(self) -> str:
        return repr(self) if self.path is None else str(self.path)

    def __repr__(self) -> str:
        return (
            f"Report({self.title!r}, not written)"
            if self.path is None
            else f"Report({self.title!r}, {str(self.path)!r})"
        )

    def _repr_html_(self) -> str:
        """An isolated frame: its scripts cannot reach the notebook, and need no file or address."""
        return (
            f'<iframe title="{html.escape(self.title)}" srcdoc="{html.escape(self.html)}" '
            'sandbox="allow-scripts allow-downloads" '
            f'style="width: 100%; height: {HEIGHT}px; border: 1px solid #d8dee4"></iframe>'
        )
