"""Tables that can be read on a phone: cells of text get a width, and what is in brackets stays on one line."""

import re
from typing import Any

from docutils import nodes

LONG = 40  # characters from which a cell is text
BRACKETS = re.compile(r"(\(\d[^()]{1,12}\))")  # an interval such as (43-61)


def mark(app: Any, document: nodes.document) -> None:
    """Give cells of text and intervals the classes that the style sheet looks for."""
    for cell in document.findall(nodes.entry):
        if len(cell.astext()) > LONG:
            cell["classes"].append("long")
        for text in [node for node in cell.findall(nodes.Text) if BRACKETS.search(node)]:
            parts = [part for part in BRACKETS.split(text) if part]
            text.parent.replace(text, [kept(part) if BRACKETS.fullmatch(part) else nodes.Text(part) for part in parts])


def kept(text: str) -> nodes.inline:
    """A text that stays on one line."""
    return nodes.inline(text, text, classes=["keep"])


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx."""
    app.connect("doctree-read", mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
