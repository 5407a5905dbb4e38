"""The claims page: every record, the figures, and what the run was, as Markdown and as HTML."""

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spectrata._version import __version__
from spectrata.experiments.claims.claim import UNCHECKED, VERDICTS, Record
from spectrata.results.atomic_io import written_whole

TITLE = "Which of the paper's results reproduce"
RULE = (
    "A claim is a list of checks, written down before the run. It holds when every check that can be made is true, "
    "holds partly when at least half are, and fails when fewer are; it is unchecked when none can be made. "
    "Beside every cosine stands that of the flat spectrum, which knows nothing of the signal; the GFT's own is 1."
)
COLOURS = {"holds": "#00684a", "partly": "#8a5a00", "fails": "#a62800", "unchecked": "#555555"}
SECTIONS = {
    "1-2": "Sections 1 and 2, and the conclusions of Tasks 1 and 2",
    "1": "Task 1: the algorithms against the GFT",
    "2": "Task 2: the algorithms against each other",
    "3": "Task 3: a regularised low-pass filter",
    "4": "Task 4: unstable scores",
    "5": "Task 5: starts of good and bad runs",
    "6": "Task 6: the learning, epoch by epoch",
    "7": "Task 7: results of good and bad runs",
    "8": "Task 8: what tells good from bad",
    "4-8": "Conclusions of Tasks 4 to 8",
}
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #1a1a1a; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; font-size: 13px; }
th, td { border-bottom: 1px solid #ddd; padding: .4rem .5rem; text-align: left; vertical-align: top; }
td.verdict { font-weight: 600; white-space: nowrap; }
td.id { font-family: ui-monospace, monospace; font-size: 12px; }
figure { margin: 1.5rem 0; } img { max-width: 100%; height: auto; } figcaption { color: #444; font-size: 13px; }
.rule { color: #666; }
"""


def counts(records: Sequence[Record]) -> str:
    """How many records have which verdict, in words.

    Examples
    --------
    >>> counts([])
    '0 records: 0 holds, 0 partly, 0 fails, 0 unchecked'
    """
    told = ", ".join(f"{sum(record.verdict == name for record in records)} {name}" for name in VERDICTS)
    return f"{len(records)} records: {told}"


def to_markdown(records: Sequence[Record], settings: Mapping[str, Any]) -> str:
    """All records as tables, task by task."""
    lines = [f"# {TITLE}", "", counts(records) + ".", "", RULE, "", _told(settings), ""]
    for task, title in SECTIONS.items():
        members = [record for record in records if record.task == task]
        if not members:
            continue
        lines += [
            f"## {title}",
            "",
            "| id | claim | published | measured | verdict | note |",
            "|---|---|---|---|---|---|",
        ]
        for r in members:
            cells = (f"`{r.id}`", r.claim, r.published, r.measured, f"**{r.verdict}** ({r.checks})", r.note)
            lines.append("| " + " | ".join(cell.replace("|", "&#124;") for cell in cells) + " |")
        lines.append("")
    lines += ["## Rules", ""] + [f"- `{record.id}`: {record.rule}" for record in records] + [""]
    return "\n".join(lines)


def to_html(records: Sequence[Record], settings: Mapping[str, Any], figures: Mapping[str, Path], out: Path) -> str:
    """All records and figures on one page; figures are linked beside it."""
    texts = [name for name in ("claims.json", "claims.md", "errata.md") if name != "errata.md" or (out / name).exists()]
    links = ", ".join(f"<a href='{name}'>{name}</a>" for name in texts)
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>{TITLE}</title><style>{STYLE}</style></head><body>",
        f"<h1>{TITLE}</h1><p><b>{html.escape(counts(records))}</b></p>",
        f"<p>{html.escape(RULE)}</p><p class='rule'>{html.escape(_told(settings))}</p>",
        f"<p>Also here: {links}, and folders <code>data</code>, <code>figures</code>, <code>supplements</code>, "
        "<code>films</code>, <code>units</code> (finished work, for going on after a stop).</p>",
    ]
    for task, title in SECTIONS.items():
        members = [record for record in records if record.task == task]
        parts.append(f"<h2>{html.escape(title)}</h2>")
        if members:
            parts.append(_table(members))
        parts += [_figure(name, path, out) for name, path in figures.items() if _belongs(name, task)]
    others = [(name, path) for name, path in figures.items() if path.parent.name == "supplements"]
    if others:
        links = "".join(f"<li><a href='{_link(path, out)}'>{html.escape(name)}</a></li>" for name, path in others)
        parts.append(f"<h2>Supplements</h2><ul>{links}</ul>")
    return "\n".join([*parts, "</body></html>", ""])


def _belongs(name: str, task: str) -> bool:
    return name.startswith(f"Task {task}:") or (task == "4-8" and name.startswith("Tasks 4 to 8:"))


def _table(records: Sequence[Record]) -> str:
    head = "".join(f"<th>{name}</th>" for name in ("id", "claim", "published", "measured", "verdict", "note and rule"))
    rows = []
    for r in records:
        cells = [
            f"<td class='id' id='{html.escape(r.id)}'>{html.escape(r.id)}</td>",
            *(f"<td>{html.escape(text)}</td>" for text in (r.claim, r.published, r.measured)),
            f"<td class='verdict' style='color:{COLOURS[r.verdict]}'>{r.verdict}<br>"
            f"<small>{'' if r.verdict == UNCHECKED else html.escape(r.checks)}</small></td>",
            f"<td>{html.escape(r.note)}<br><small class='rule'>Rule: {html.escape(r.rule)}</small></td>",
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _figure(name: str, path: Path, out: Path) -> str:
    text = html.escape(name)
    return f"<figure><img src='{_link(path, out)}' alt='{text}' loading='lazy'><figcaption>{text}</figcaption></figure>"


def _link(path: Path, out: Path) -> str:
    return html.escape(path.relative_to(out).as_posix())


def _told(settings: Mapping[str, Any]) -> str:
    return f"spectrata {__version__}; " + ", ".join(f"{name} {value}" for name, value in settings.items()) + "."


def write(path: Path, text: str) -> Path:
    """Write text, whole or not at all."""
    with written_whole(path) as beside:
        beside.write_text(text, encoding="utf-8")
    return path
