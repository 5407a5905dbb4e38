"""How objects show themselves in a notebook: escaped text in small tables, no scripts and no style sheets.

Styles stand on the elements, since marimo resets those of tables and lists.
"""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

MOST_ROWS = 12  # of a table: more would push the next cell off the screen


def html_table(title: str, heads: Sequence[str], rows: Iterable[Sequence[Any]], note: str = "") -> str:
    """A heading and a table, of many rows the first ones; without heads where all are empty.

    Examples
    --------
    >>> html_table("<b>", ["K", "edges"], [(1, 1200)])[:41]
    '<div><strong>&lt;b&gt;</strong><table><tr'
    """
    lines = [tuple(row) for row in rows]
    left = len(lines) - MOST_ROWS
    shown = [[_cell(value) for value in row] for row in lines[:MOST_ROWS]]
    if lines and any(heads):
        shown.insert(0, [_cell(name, "th", value) for name, value in zip(heads, lines[0], strict=True)])
    more = f"{left:,} more rows are not shown. " if left > 0 else ""
    small = f"<small>{escape(more + note)}</small>" if more or note else ""
    body = "".join(f"<tr>{''.join(cells)}</tr>" for cells in shown)
    table = f"<table>{body}</table>" if shown else ""
    return f"<div><strong>{escape(title)}</strong>{table}{small}</div>"


def html_list(lines: Iterable[str]) -> str:
    """Sentences as a list."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<ul style="list-style: disc; padding-left: 1.5em">{items}</ul>'


def _cell(value: Any, tag: str = "td", below: Any = None) -> str:
    """A cell: numbers, and heads ``below`` which numbers stand, on the right."""
    text = value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
    side = "left" if isinstance(value if below is None else below, str) else "right"
    return f'<{tag} style="padding: .2em .6em; text-align: {side}">{escape(text)}</{tag}>'
