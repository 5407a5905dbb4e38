"""Text and tables as wide as the terminal: lines break between words, and no cell is ever cut."""

import os
import shutil
import sys
import textwrap
from collections.abc import Collection, Mapping, Sequence

from spectrata.cli.terminal import console, one_line

PIPE_WIDTH = 80  # columns of a table in a file or a pipe, which are read in a terminal later
LEAST_WIDTH = 40  # narrower terminals break the lines themselves
GAP = 2
LABEL = 20  # columns of a name before it goes on in the next line

Columns = Mapping[str, Sequence[str]]


def limited() -> bool:
    """Whether there is a width to keep to: a terminal, or COLUMNS in the environment."""
    return sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()


def available_width() -> int:
    """Columns of the terminal, or of a pipe."""
    return max(LEAST_WIDTH, shutil.get_terminal_size().columns) if limited() else PIPE_WIDTH


def print_text(text: str, bullet: str = "") -> None:
    """Print one paragraph, broken between words on a terminal and one line in a pipe; control characters as ?."""
    line = bullet + one_line(text)
    if limited():
        line = textwrap.fill(
            line, available_width(), subsequent_indent=" " * len(bullet), break_long_words=False, break_on_hyphens=False
        )
    console().print(line, soft_wrap=True)


def label(text: object) -> str:
    """A name from a file as a cell: several lines where it is long."""
    return "\n".join(textwrap.wrap(one_line(text), LABEL, break_on_hyphens=False)) or ""


def print_table(
    front: Columns, columns: Columns, left: Collection[str] = (), breaks: Collection[int] = (), end: bool = True
) -> None:
    """Print columns side by side, in as many tables as the width needs, each with the front columns.

    Parameters
    ----------
    front, columns : mapping of title to cells
        A cell may have several lines.
    left : collection of str
        Titles of the columns that are aligned to the left.
    breaks : collection of int
        Rows that have an empty line before them.
    end : bool
        Whether an empty line follows.
    """
    out = console()
    for some in packed(front, columns, available_width()):
        out.print()
        for line in table_lines({**front, **some}, left, breaks):
            out.print(line, soft_wrap=True)
    if end:
        out.print()


def packed(front: Columns, columns: Columns, width: int) -> list[dict[str, Sequence[str]]]:
    """The columns in as many groups as their widths need beside the front columns; a group has at least one.

    Examples
    --------
    >>> [list(some) for some in packed({"K": ["1"]}, {name * 30: ["1.0"] for name in "abc"}, 80)]
    [['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb'], ['cccccccccccccccccccccccccccccc']]
    """
    groups: list[dict[str, Sequence[str]]] = [{}]
    for title, cells in columns.items():
        if groups[-1] and table_width({**front, **groups[-1], title: cells}) > width:
            groups.append({})
        groups[-1][title] = cells
    return groups


def table_width(columns: Columns) -> int:
    """Columns of text that a table takes."""
    return sum(_widths(columns)) + GAP * (len(columns) - 1)


def _widths(columns: Columns) -> list[int]:
    from rich.cells import cell_len

    return [
        max(cell_len(line) for cell in (title, *cells) for line in cell.split("\n")) for title, cells in columns.items()
    ]


def table_lines(columns: Columns, left: Collection[str] = (), breaks: Collection[int] = ()) -> list[str]:
    """A table as lines of text: titles, a rule, rows.

    Examples
    --------
    >>> print(*table_lines({"name": ["one", "two"], "p": ["0.5", "1"]}, left=["name"]), sep="\\n")
    name    p
    ─────────
    one   0.5
    two     1
    """
    widths = _widths(columns)
    lines = [*_row(list(columns), columns, widths, left), "─" * table_width(columns)]
    for index, cells in enumerate(zip(*columns.values(), strict=True)):
        lines += [""] * (index in breaks)
        lines += _row(cells, columns, widths, left)
    return lines


def _row(cells: Sequence[str], titles: Columns, widths: Sequence[int], left: Collection[str]) -> list[str]:
    from itertools import zip_longest

    from rich.cells import cell_len

    def placed(text: str, width: int, title: str) -> str:
        space = " " * (width - cell_len(text))
        return text + space if title in left else space + text

    rows = zip_longest(*(cell.split("\n") for cell in cells), fillvalue="")
    return [(" " * GAP).join(placed(*each) for each in zip(row, widths, titles, strict=True)).rstrip() for row in rows]
