"""A finished page: written to a file, and shown inside a notebook cell."""

import base64
import gzip
import html
import os
from dataclasses import dataclass, field, replace
from pathlib import Path

from spectrata.errors import ResultError
from spectrata.results.atomic_io import written_whole

HEIGHT = 860  # pixels of the frame in a notebook
# A notebook keeps what a cell shows, and marimo refuses more than 8 MB: the frame unpacks the page itself.
LOADER = """<!doctype html><meta charset="utf-8"><noscript>This report draws with scripts, which are switched off here.</noscript>
<script>(async () => {
  const packed = Uint8Array.from(atob("%s"), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const page = await new Response(stream).text();
  document.open(); document.write(page); document.close();
})();</script>"""  # noqa: E501
# A page in a frame prefers the colour scheme of the frame. JupyterLab, VS Code and marimo mark their themes like this.
THEMES = {
    "light": ('[data-jp-theme-light="true"]', ".vscode-light", "body.light"),
    "dark": ('[data-jp-theme-light="false"]', ".vscode-dark", ".vscode-high-contrast", "body.dark"),
}
STYLE = "".join(
    f"{', '.join(f'{mark} .spectrata-report' for mark in marks)} {{ color-scheme: {scheme} }} "
    for scheme, marks in THEMES.items()
)
STYLE += ".output-area .spectrata-report { height: 570px !important }"  # marimo cuts outputs at 610 pixels


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
        packed = base64.b64encode(gzip.compress(self.html.encode(), 6, mtime=0)).decode()
        return (
            f"<style>{STYLE}</style>"
            f'<iframe class="spectrata-report" title="{html.escape(self.title)}" '
            f'srcdoc="{html.escape(LOADER % packed)}" sandbox="allow-scripts allow-downloads" '
            f'style="width: 100%; height: {HEIGHT}px; border: 1px solid #8886"></iframe>'
        )
