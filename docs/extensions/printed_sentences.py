"""Printed sentences break at the edge of the page instead of scrolling; printed tables keep their lines."""

import re
from typing import Any

from docutils import nodes

LONG = 80  # characters that a line of a printed table may have


def is_sentence(line: str) -> bool:
    """Whether a long line is text, and not a row of aligned columns."""
    return len(line) > LONG and not re.search(r"\S {2,}\S", line)


def mark(app: Any, document: nodes.document) -> None:
    """Give blocks of printed sentences the class that the style sheet breaks."""
    for block in document.findall(nodes.literal_block):
        if block.get("language") in ("text", "none") and any(map(is_sentence, block.astext().splitlines())):
            block["classes"].append("prose")


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx."""
    app.connect("doctree-read", mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
