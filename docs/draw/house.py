"""Draw `docs/images/house.svg`, the flow of one call and the rooms of the house: `python docs/draw/house.py`."""

from html import escape
from pathlib import Path

DOCS = Path(__file__).parents[1]
WIDTH, MARGIN = 880, 24
FONT = "font-family=\"system-ui, 'Segoe UI', Helvetica, Arial, sans-serif\""
INK, GREY, LINE = "#1a1a1a", "#5a6472", "#7b8794"

# Floors from the top; a room imports only from rooms above it, or to the left on its own floor.
FLOORS = [
    ("#e8eef7", "errors and warnings", ["errors.py"]),
    ("#e8eef7", "functions on plain arrays", ["kernels/"]),
    ("#dbe8f8", "graphs and signals in any form", ["inputs/"]),
    ("#dbe8f8", "the result: schema, view, files", ["results/"]),
    ("#cfe3dc", "strata, bases, algorithms, engine", ["core/"]),
    ("#f8ecd0", "large graphs; many graphs", ["bands/", "many/"]),
    ("#f6e0d2", "reading results", ["stats/", "sklearn.py"]),
    ("#f6e0d2", "pictures, page, training", ["plot/", "report/", "torch/"]),
    ("#ecdff0", "the terminal", ["cli/"]),
]


def text(
    x: float, y: float, words: str, size: int = 13, fill: str = INK, anchor: str = "middle", more: str = ""
) -> str:
    """One line of text."""
    style = f'font-size="{size}" fill="{fill}" text-anchor="{anchor}"{more}'
    return f'<text x="{x:g}" y="{y:g}" {style}>{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, fill: str, more: str = "") -> str:
    """A box with round corners."""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="7" fill="{fill}"{more}/>'


def arrow(*points: tuple[float, float]) -> str:
    """A line with a head."""
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{LINE}" stroke-width="1.6" marker-end="url(#head)"/>'


def step(x: float, y: float, width: float, name: str, does: str, fill: str) -> list[str]:
    """A station of the flow: a name, and what happens there."""
    mono = ' font-family="monospace" font-weight="600"'
    return [
        box(x, y, width, 52, fill, ' stroke="#b8c2cc"'),
        text(x + width / 2, y + 22, name, 13, more=mono),
        text(x + width / 2, y + 40, does, 11, GREY),
    ]


def flow() -> list[str]:
    """From a graph and signals to a Dataset: hops outside, batches of signals inside."""
    out = [text(MARGIN, 36, "The flow", 17, anchor="start", more=' font-weight="600"')]
    out.append(box(284, 52, 432, 174, "#f6f8fa", ' stroke="#b8c2cc" stroke-dasharray="5 4"'))
    out.append(text(500, 72, "core/engine: for each hop K, for each batch of signals", 12, GREY))
    top, bottom = 90, 160
    out += step(132, top, 128, "inputs/graphs", "any graph", "#dbe8f8")
    out += step(132, bottom, 128, "inputs/signals", "any signal, metric", "#dbe8f8")
    out += step(300, top, 116, "core/strata", "pairs K hops apart", "#cfe3dc")
    out += step(440, top, 116, "core/bases", "one solve per part", "#cfe3dc")
    out += step(300, bottom, 256, "core/hop", "gradients and sums over kernels", "#cfe3dc")
    out += step(584, 125, 116, "core/registry", "algorithms", "#cfe3dc")
    out += step(744, 125, 112, "results/build", "one Dataset", "#dcefd9")
    out += [text(64, top + 31, "graph", 14), text(64, bottom + 31, "signals", 14)]
    out += [arrow((92, top + 26), (130, top + 26)), arrow((92, bottom + 26), (130, bottom + 26))]
    out += [arrow((260, top + 26), (298, top + 26)), arrow((260, bottom + 26), (298, bottom + 26))]
    out += [arrow((416, top + 26), (438, top + 26)), arrow((358, top + 52), (358, bottom - 2))]
    out += [arrow((498, top + 52), (498, bottom - 2))]
    out += [arrow((556, bottom + 26), (572, bottom + 26), (572, 151), (582, 151))]
    out.append(arrow((700, 151), (742, 151)))
    return out


def rooms(top: float) -> list[str]:
    """The floors, widest labels first."""
    out = [
        text(MARGIN, top, "The rooms", 17, anchor="start", more=' font-weight="600"'),
        text(MARGIN + 114, top, "each imports only from rooms above it, or to its left", 12, GREY, "start"),
    ]
    y = top + 16
    for fill, what, names in FLOORS:
        out.append(box(MARGIN, y, WIDTH - 2 * MARGIN, 40, fill))
        out.append(text(MARGIN + 14, y + 25, what, 12, GREY, "start"))
        left, right = 300, WIDTH - MARGIN - 8
        width = (right - left - 8 * (len(names) - 1)) / len(names)
        for index, name in enumerate(names):
            x = left + index * (width + 8)
            out.append(box(x, y + 6, width, 28, "#ffffff", ' stroke="#b8c2cc"'))
            out.append(text(x + width / 2, y + 25, name, 12, more=' font-family="monospace"'))
        y += 46
    return out


def picture() -> str:
    """The picture as text."""
    height = 290 + 46 * len(FLOORS) + 10
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {FONT}>'
    marker = (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="{LINE}"/></marker></defs>'
    )
    parts = [head, marker, f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>', *flow(), *rooms(274)]
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    (DOCS / "images" / "house.svg").write_text(picture(), encoding="utf-8")
