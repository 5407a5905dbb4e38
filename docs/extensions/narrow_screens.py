"""What makes pages fit a phone: printed sentences break, and wide pictures scroll in a box of their own."""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from PIL import Image

LONG = 80  # characters that a line of a printed table may have
PHONE = 40  # characters of code that a phone shows in one line
SMALL, WIDE = 6.0, 10.0  # inches: up to here a picture is read at the width of a phone; beyond, only when it is wide
SCREEN = (96.0, 96.0)  # pixels per inch of a screenshot, which does not say


def is_aligned(line: str) -> bool:
    """Whether a line is a row of aligned columns."""
    return bool(re.search(r"\S {2,}\S", line))


def is_sentence(line: str) -> bool:
    """Whether a long line is text, and not a row of aligned columns."""
    return len(line) > LONG and not is_aligned(line)


def mark(app: Any, document: nodes.document) -> None:
    """Give printed sentences the class that the style sheet breaks, and pictures their size and a box.

    Printed tables keep their lines, and scroll. Words of code that fit a phone are not broken at their hyphens.
    """
    for block in list(document.findall(nodes.literal_block)):
        if block.get("language") in ("text", "none") and any(map(is_sentence, block.astext().splitlines())):
            split(block)
    for code in document.findall(nodes.literal):
        if max(map(len, code.astext().split()), default=0) < PHONE:
            code["classes"].append("whole")
    for picture in list(document.findall(is_picture)):
        size = size_of(app, picture)
        picture["classes"] += size
        if not isinstance(picture.parent, (nodes.paragraph, nodes.figure, nodes.reference)):
            box = nodes.container(classes=["picture", *size])
            picture.replace_self(box)
            box += picture


def split(block: nodes.literal_block) -> None:
    """Mark sentences; a table below them, wider than a phone, becomes a block of its own."""
    lines = block.rawsource.splitlines() if block.rawsource else block.astext().splitlines()
    table = next((k for k, line in enumerate(lines) if is_aligned(line) and len(line) > PHONE), len(lines))
    block["classes"].append("prose")
    if table < len(lines):
        parts = ["\n".join(lines[:table]).rstrip(), "\n".join(lines[table:])]
        above, below = (nodes.literal_block(part, part, language=block["language"]) for part in parts)
        above["classes"] += block["classes"]
        block.replace_self([above, below])


def is_picture(node: nodes.Node) -> bool:
    """Whether a node is a picture, of a page or of the gallery; its thumbnails are links."""
    found = isinstance(node, nodes.image) or type(node).__name__ == "imgsgnode"
    return found and "/thumb/" not in node["uri"]


def size_of(app: Any, picture: nodes.Element) -> list[str]:
    """The class of a picture that is small enough, or too wide, for the common width on a phone."""
    uri = picture["uri"]
    file = Path(app.srcdir) / uri.lstrip("/")
    if not uri.startswith("/"):
        file = Path(app.env.doc2path(app.env.docname)).parent / uri
    if file.suffix != ".png" or not file.is_file():
        return []
    with Image.open(file) as opened:
        inches = opened.width / opened.info.get("dpi", SCREEN)[0]
    return ["small"] * (inches < SMALL + 0.1) + ["wide"] * (inches > WIDE + 0.1)


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx."""
    app.connect("doctree-read", mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
