"""Text, tables and JSON at the width of the terminal, and a progress bar."""

import json
import os
import shutil
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any

PIPE_WIDTH, LEAST_WIDTH, LEAST_NAME = 80, 40, 10
PATIENCE = 1.0  # seconds of work before a progress bar appears
CHANCE = ("chance_low", "chance_high")  # an interval, in one column


def one_line(text: object) -> str:
    """Text without line breaks and control characters, whatever a file or a name put into it."""
    joined = " ".join(str(text).split())
    return "".join(character if character.isprintable() else "?" for character in joined)


def width(stream: Any = None) -> int:
    """Columns of the terminal, or of ``COLUMNS``; 80 in a file or a pipe."""
    limited = (stream or sys.stdout).isatty() or os.environ.get("COLUMNS", "").isdigit()
    return max(LEAST_WIDTH, shutil.get_terminal_size().columns) if limited else PIPE_WIDTH


def text(line: object) -> None:
    """Print one paragraph, broken between words."""
    print("\n".join(wrapped(line, width())))  # noqa: T201


def lines(block: Sequence[str]) -> None:
    """Print lines that are laid out already; those that are too wide are broken between words."""
    for line in block:
        print(line if len(line) <= width() else "\n".join(wrapped(line, width())))  # noqa: T201


def wrapped(line: object, columns: int) -> list[str]:
    """A paragraph as lines."""
    return textwrap.wrap(one_line(line), columns, break_long_words=False, break_on_hyphens=False) or [""]


def note(line: str) -> None:
    """One message to stderr: broken between words on a terminal, one line in a file or a pipe."""
    some = wrapped(line, width(sys.stderr)) if sys.stderr.isatty() else [one_line(line)]
    print("\n".join(some), file=sys.stderr, flush=True)  # noqa: T201


def table(columns: Mapping[str, Sequence[object]], left: Sequence[str] = ()) -> None:
    """Print columns side by side: numbers stay whole, and long names go on in the next line."""
    cells = {title: [one_line(cell) for cell in some] for title, some in columns.items()}
    wide = {title: max(map(len, (title, *some))) for title, some in cells.items()}
    gap = "  " if sum(wide.values()) + 2 * len(wide) <= width() else " "
    over = sum(wide.values()) + len(gap) * (len(wide) - 1) - width()
    for title in sorted((title for title in left if title in wide), key=wide.__getitem__, reverse=True):
        fits = min(wide[title], max(LEAST_NAME, len(title), wide[title] - max(over, 0)))
        over, wide[title] = over - wide[title] + fits, fits
    for row in [list(cells), *zip(*cells.values(), strict=True)]:
        broken = [textwrap.wrap(cell, wide[title]) or [""] for cell, title in zip(row, wide, strict=True)]
        for parts in zip_longest(*broken, fillvalue=""):
            placed = zip(parts, wide.items(), strict=True)
            said = [part.ljust(size) if title in left else part.rjust(size) for part, (title, size) in placed]
            print(gap.join(said).rstrip())  # noqa: T201


def row_table(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, Any]) -> None:
    """Print fields of rows as columns: p and q as p, pairs of fields as an interval, words on the left.

    Empty columns are left out; a verdict that more permutations could change is marked.
    """
    from spectrata.stats.findings.finding import shown, shown_p

    def cell(row: Mapping[str, Any], field: Any) -> str:
        if isinstance(field, tuple):
            low, high = (cell(row, one) for one in field)
            return f"{low} to {high}" if low else ""
        value = row.get(field, "")
        if field == "verdict" and row.get("near_level"):
            return f"{value} (near .05)"
        if not isinstance(value, float):
            return f"{value:,}" if isinstance(value, int) else "" if value is None else str(value)
        return shown_p(value) if field[0] in "pq" or field == "shift_p" else shown(value)

    cells = {title: [cell(row, field) for row in rows] for title, field in columns.items()}
    words = [title for title, field in columns.items() if isinstance(rows[0].get(field), str)]
    table({title: some for title, some in cells.items() if any(some)}, words)


def as_json(document: Mapping[str, Any]) -> None:
    """Print one JSON document; NaN becomes null, and what is not a number or a text becomes text."""
    text = json.dumps(document, default=_plain)
    print(json.dumps(json.loads(text, parse_constant=lambda _: None), indent=2))  # noqa: T201


def _plain(value: Any) -> Any:
    """What JSON lacks, as what it has."""
    if type(value).__name__ == "NAType":
        return None
    return value.tolist() if hasattr(value, "tolist") else str(value)


def count(number: int, word: str) -> str:
    """``1 node``, ``34 nodes``."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


@contextmanager
def progress_bar(patience: float = PATIENCE) -> Iterator[Callable[[str, float], None]]:
    """Show progress on stderr, after a second of work and on a terminal only: a function of message and fraction."""
    if not sys.stderr.isatty():
        yield lambda message, fraction: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    shown = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    bar = Progress(*shown, console=Console(stderr=True), transient=True)
    task, timer = bar.add_task("reading", total=1.0), threading.Timer(patience, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda message, fraction: bar.update(task, description=message, completed=fraction)
    finally:
        timer.cancel()
        bar.stop()
