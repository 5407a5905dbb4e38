"""What makes pages fit a phone: printed sentences break, and pictures of the gallery scroll in a box of their own."""

import re
from typing import Any

from docutils import nodes

LONG = 80  # characters that a line of a printed table may have


def is_sentence(line: str) -> bool:
    """Whether a long line is text, and not a row of aligned columns."""
    return len(line) > LONG and not re.search(r"\S {2,}\S", line)


def mark(app: Any, document: nodes.document) -> None:
    """Give printed sentences the class that the style sheet breaks, and pictures of the gallery a box.

    Printed tables keep their lines, and scroll.
    """
    for block in document.findall(nodes.literal_block):
        if block.get("language") in ("text", "none") and any(map(is_sentence, block.astext().splitlines())):
            block["classes"].append("prose")
    for picture in list(document.findall(lambda node: type(node).__name__ == "imgsgnode")):
        box = nodes.container(classes=["picture"])
        picture.replace_self(box)
        box += picture


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx."""
    app.connect("doctree-read", mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
