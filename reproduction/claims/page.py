"""The claims page: an overview, a table of all records, and what the run was, as Markdown and as HTML."""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from string import Template
from typing import Any

from reproduction.claims.judge import FOLDER, Record, counts, slips
from reproduction.claims.numbers import FLAT_MARGIN
from reproduction.words import CLAIMS, SECTIONS
from spectrata._version import __version__

TITLE = "Which of the paper's results reproduce"
SHOWN = ("verdict", "claim", "published", "measured", "note", "rule", "checks", "over_flat", "of")  # of a record
RULE, FOOTNOTE = CLAIMS["rule"].format(margin=FLAT_MARGIN), CLAIMS["footnote"]
FRAMED = re.compile(r"(conclusion|suggestion)-[\d-]+\.\d")
# The claim that compares the algorithms of a task with the flat spectrum.
AGAINST_FLAT = {"1": "t1-effective", "2": "t2-adj-diff-ln-vx"}


def told(records: Sequence[Record]) -> str:
    number = counts(records)
    words = f"{number['holds']} hold, {number['partly']} hold partly, {number['fails']} fail"
    return f"{sum(number.values())} claims: {words}, {number['unchecked']} unchecked"


def task_rows(records: Sequence[Record]) -> list[tuple[str, str, str]]:
    """Of every task: its title, how many of its claims reproduce, and whether it is better than a flat spectrum."""
    known = {record.id: record for record in records}
    rows = []
    for task in "12345678":
        members = [record for record in records if record.task == task and not record.of]
        if not members:
            continue
        number = counts(members)
        words = [f"{number['holds']} of {len(members)} hold"]
        words += [f"{number['partly']} partly"] if number["partly"] else []
        words += [f"{number['fails']} failed"] if number["fails"] else []
        flat = known.get(AGAINST_FLAT.get(task, ""))
        rows.append((SECTIONS[task], ", ".join(words), "not compared" if flat is None else _better(flat)))
    return rows


def conclusion_rows(records: Sequence[Record]) -> list[tuple[Record, str, str]]:
    return [(r, f"{r.verdict} ({r.checks})", _better(r)) for r in records if FRAMED.fullmatch(r.id)]


def _better(record: Record) -> str:
    if not record.better:
        return "not compared"
    return f"{record.better} ({record.over_flat.replace('-', '−')})"


def to_markdown(records: Sequence[Record], settings: Mapping[str, Any], picture: str = "", lead: str = "") -> str:
    repeated = sum(bool(record.of) for record in records)
    more = f" The data have {repeated} more: conclusions that repeat their checks." if repeated else ""
    lines = [f"# {TITLE}", "", f"{lead} {told(records)}.{more}".strip(), ""]
    lines += ["| task | reproduced? | better than a flat spectrum? |", "|---|---|---|"]
    lines += [f"| {title} | {held} | {flat} |" for title, held, flat in task_rows(records)]
    lines += ["", "| conclusion of the paper | reproduced? | better than a flat spectrum? |", "|---|---|---|"]
    lines += [f"| {_cell(r.claim)} | {held} | {flat} |" for r, held, flat in conclusion_rows(records)]
    lines += ["", FOOTNOTE, ""]
    if picture:
        lines += [f"![Published, measured and flat cosines with the graph Fourier transform]({picture})", ""]
    data = "[All claims as data](claims.csv), with what was published, measured and checked."
    lines += [RULE, "", f"{data} {_settings(settings)}", ""]
    open_ones = [r for r in records if r.verdict in ("partly", "fails") and not r.of and not FRAMED.fullmatch(r.id)]
    lines += ["## Claims that fail or hold partly", "", "| claim | reproduced? | reason |", "|---|---|---|"]
    lines += [f"| {_cell(r.claim)} | {r.verdict} ({r.checks}) | {_cell(r.note)} |" for r in open_ones]
    return "\n".join([*lines, ""])


def _cell(text: str) -> str:
    return text.replace("|", "&#124;")


def to_html(records: Sequence[Record], settings: Mapping[str, Any], figures: Mapping[str, Path], out: Path) -> str:
    texts = ["claims.csv", "claims.json", "claims.md", *(["errata.md"] if (out / "errata.md").exists() else [])]
    flat = ("reproduced?", "better than a flat spectrum?")
    conclusions = [(r.claim, held, better) for r, held, better in conclusion_rows(records)]
    drawn: list[str] = []
    for task, title in SECTIONS.items():
        begins = "Tasks 4 to 8:" if task == "4-8" else f"Task {task}:"
        own = [_figure(name, path, out) for name, path in figures.items() if name.startswith(begins)]
        drawn += [f"<h2>{html.escape(title)}</h2>", *own] if own else []
    others = [(name, path) for name, path in figures.items() if path.parent.name == "supplements"]
    if others:
        items = "".join(f"<li><a href='{_link(path, out)}'>{html.escape(name)}</a></li>" for name, path in others)
        drawn.append(f"<h2>Supplements</h2><ul>{items}</ul>")
    claims = [[getattr(record, name) for name in SHOWN] for record in records]
    marks = [f" id='{html.escape(record.id)}' class='{record.verdict}'" for record in records]  # found as anchors
    template, style = ((FOLDER / name).read_text(encoding="utf-8") for name in ("page.html", "page.css"))
    return Template(template).substitute(
        title=TITLE,
        style=style,
        told=html.escape(told(records)),
        tasks=_table(("task", *flat), task_rows(records)),
        conclusions=_table(("conclusion of the paper", *flat), conclusions),
        footnote=html.escape(FOOTNOTE).replace("*", ""),
        rule=re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html.escape(RULE)),
        settings=html.escape(_settings(settings)),
        links=", ".join(f"<a href='{name}'>{name}</a>" for name in texts),
        claims=_table([name.replace("_", " ") for name in SHOWN], claims, marks),
        figures="\n".join(drawn),
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], marks: Iterable[str] = repeat("")) -> str:
    titles = "".join(f"<th>{name}</th>" for name in head)
    cells = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows)
    body = "\n".join(f"<tr{mark}>{row}</tr>" for mark, row in zip(marks, cells, strict=False))
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"


def _figure(name: str, path: Path, out: Path) -> str:
    text = html.escape(name)
    return f"<figure><img src='{_link(path, out)}' alt='{text}' loading='lazy'><figcaption>{text}</figcaption></figure>"


def _link(path: Path, out: Path) -> str:
    return html.escape(path.relative_to(out).as_posix())


def _settings(settings: Mapping[str, Any]) -> str:
    return f"spectrata {__version__}; " + ", ".join(f"{name} {value}" for name, value in settings.items()) + "."


def errata() -> str:
    """The errata as Markdown, every line of evidence measured while it is written."""
    lines = [CLAIMS["errata"]]
    for slip in slips():
        cells = [slip["where"], slip["text"], slip["right"], f"`{slip['name']}`", slip["evidence"]]
        cells.append("confirmed" if slip["confirmed"] else "refuted")
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    return "\n".join([*lines, ""])
