"""Draw `docs/images/fidelity.svg` from `docs/fidelity.csv`: `python docs/draw/fidelity.py`."""

import csv
from collections import defaultdict
from pathlib import Path
from statistics import fmean

DOCS = Path(__file__).parents[1]
KINDS = ("white", "low", "band", "high")
METRICS = ("euclidean", "angular")
CELL, HEIGHT, LEFT, TOP, GAP = 66, 34, 152, 74, 18
FONT = "font-family=\"system-ui, 'Segoe UI', Helvetica, Arial, sans-serif\""


def means() -> dict[str, dict[tuple[str, str], float]]:
    """Mean correlation over graphs and dimensions: algorithm -> (metric, planted) -> value."""
    lines = csv.reader((DOCS / "fidelity.csv").read_text(encoding="utf-8").splitlines())
    header, *body = [row[1:-1] for row in lines if row[0] in ("measure", "correlation")]
    found: dict[str, dict[tuple[str, str], list[float]]] = {name: defaultdict(list) for name in header[4:]}
    for _, _, metric, planted, *values in body:
        for name, value in zip(header[4:], values, strict=True):
            found[name][metric, planted].append(float(value))
    return {name: {key: fmean(values) for key, values in cells.items()} for name, cells in found.items()}


def colour(value: float) -> tuple[str, str]:
    """Blue for agreement, orange for its opposite, white for none; and a text that can be read on it."""
    full = (31, 95, 168) if value > 0 else (201, 104, 20)
    share = min(1.0, abs(value))
    mixed = [round(255 + (part - 255) * share) for part in full]
    return "#{:02x}{:02x}{:02x}".format(*mixed), "#ffffff" if share > 0.55 else "#1a1a1a"


def picture() -> str:
    """The picture as text."""
    rows = means()
    width = LEFT + 2 * len(KINDS) * CELL + GAP + 24
    height = TOP + len(rows) * HEIGHT + 40
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'{FONT} font-size="13">',
        f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>',
    ]
    for index, metric in enumerate(METRICS):
        start = LEFT + index * (len(KINDS) * CELL + GAP)
        middle = start + len(KINDS) * CELL / 2
        out.append(words(middle, 30, metric, 'font-weight="600" text-anchor="middle"'))
        for column, kind in enumerate(KINDS):
            out.append(words(start + (column + 0.5) * CELL, 58, kind, 'text-anchor="middle" fill="#555555"'))
    for row, (name, cells) in enumerate(rows.items()):
        y = TOP + row * HEIGHT
        out.append(words(LEFT - 12, y + 22, name, 'text-anchor="end" font-family="monospace"'))
        for index, metric in enumerate(METRICS):
            for column, kind in enumerate(KINDS):
                x = LEFT + index * (len(KINDS) * CELL + GAP) + column * CELL
                back, ink = colour(cells[metric, kind])
                out.append(f'<rect x="{x}" y="{y}" width="{CELL - 2}" height="{HEIGHT - 2}" rx="3" fill="{back}"/>')
                number = shown(cells[metric, kind])
                out.append(words(x + CELL / 2 - 1, y + 21, number, f'text-anchor="middle" fill="{ink}"'))
    note = "1: the planted spectrum; 0: a flat spectrum. Means over graphs and dimensions."
    out.append(words(LEFT, height - 16, note, 'fill="#555555" font-size="12"'))
    return "\n".join([*out, "</svg>"]) + "\n"


def shown(value: float) -> str:
    """Two digits, halves away from zero, with a proper minus."""
    number = f"{value + (1e-9 if value > 0 else -1e-9):.2f}"
    return "0.00" if number == "-0.00" else number.replace("-", "\u2212")


def words(x: float, y: float, text: str, style: str) -> str:
    """A line of text."""
    return f'<text x="{x:g}" y="{y:g}" {style}>{text}</text>'


if __name__ == "__main__":
    (DOCS / "images" / "fidelity.svg").write_text(picture(), encoding="utf-8")
