"""How objects show themselves in a notebook: escaped text in small tables, no scripts and no style sheets."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

MOST_ROWS = 12


def html_table(title: str, heads: Sequence[str], rows: Iterable[Sequence[Any]], note: str = "") -> str:
    """A heading and a table, of many rows the first ones.

    Examples
    --------
    >>> html_table("<b>", ["K", "edges"], [(1, 1200)])[:48]
    '<div><strong>&lt;b&gt;</strong><table><tr><th>K<'
    """
    lines = [tuple(row) for row in rows]
    left = len(lines) - MOST_ROWS
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(_cell(value) for value in row)}</tr>" for row in lines[:MOST_ROWS])
    more = f"{left:,} more rows are not shown. " if left > 0 else ""
    small = f"<small>{escape(more + note)}</small>" if more or note else ""
    table = f"<table><tr>{head}</tr>{body}</table>" if lines else ""
    return f"<div><strong>{escape(title)}</strong>{table}{small}</div>"


def html_list(lines: Iterable[str]) -> str:
    """Sentences as a list."""
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return f'<td style="text-align: left">{escape(value)}</td>'
    return f"<td>{escape(f'{value:,}' if isinstance(value, int) else f'{value:.3g}')}</td>"
