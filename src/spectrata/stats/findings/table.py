"""The table of findings: one row per hop, at most 80 columns wide, with one footnote for the words that occur."""

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from spectrata.stats.findings.finding import Finding

WIDTH, MOST_TABLES = 80, 6
BY_BIN = "degree: number of a node's pairs in the first three bins and in the tested one"  # strata by distance
COLUMNS = ("hop", "verdict", "r", "chance", "p", "r given", "p given")
LEFT = ("verdict", "chance")  # columns whose cells stand on the left
# The first that a verdict begins with says what it means.
WORDS = {
    "alike only": "r above chance only with {given} accounted for",
    "alike": "r above chance{also}",
    "unlike only": "r below chance only with {given} accounted for",
    "unlike": "r below chance{also}",
    "chance": "r not distinguishable from chance",
    "not beyond": "r differs from chance, but with {given} accounted for this is not shown",
    "reversed": "above chance without and below it with {given} accounted for, or the other way round",
    "not tested": "r without p",
}


def shown_p(p: float) -> str:
    """One number for p; nothing for NaN."""
    return "" if np.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def shown(value: float) -> str:
    """A correlation or share with three digits after the point; nothing for NaN."""
    return "" if np.isnan(value) else f"{value:.3f}".replace("-0.000", "0.000")


def place_words(column: Any, snapshot: Any) -> str:
    """Column and snapshot by name; nothing where the signal has neither."""
    return ", ".join(
        f"{what} {name}" for what, name in (("column", column), ("snapshot", snapshot)) if name is not None
    )


def hop_rows(findings: Iterable["Finding"]) -> dict[tuple[Any, Any], list[dict[str, str]]]:
    """The cells of every row of r, by column and snapshot."""
    found: dict[tuple[Any, Any], list[dict[str, str]]] = {}
    for one in findings:
        if one.statistic != "r":
            continue
        chance = f"{shown(one.chance_low)} to {shown(one.chance_high)}" if one.chance_low == one.chance_low else ""
        word = f"{one.verdict} (near .05)" if one.near_level else one.verdict
        # Where r is undefined, r of what degree leaves says nothing about the signal.
        given = ("", "") if one.kind == "undefined" else (shown(one.value_given), shown_p(one.p_family_given))
        cells = (str(one.hop), word, shown(one.value), chance, shown_p(one.p_family), *given)
        found.setdefault((one.column, one.snapshot), []).append(dict(zip(COLUMNS, cells, strict=True)))
    return found


def tables(findings: Sequence["Finding"], given: str, tests: int) -> list[str]:
    """The tables of all columns and snapshots as lines, and the footnote."""
    groups = hop_rows(findings)
    if not groups:
        return []
    rows = [row for group in groups.values() for row in group]
    kept = [name for name in COLUMNS if any(row[name] for row in rows)]
    wide = {name: max(len(name), *(len(row[name]) for row in rows)) for name in kept}
    gap = "  " if sum(wide.values()) + 2 * len(kept) <= WIDTH else " "
    lines, shown_groups = [], list(groups.items())
    if len(groups) > MOST_TABLES:
        shown_groups = [*shown_groups[: MOST_TABLES - 1], shown_groups[-1]]
        lines = [f"{MOST_TABLES} of {len(groups)} tables; to_frame() has all."]
    for where, group in shown_groups:
        if words := place_words(*where):
            lines.append(f"{words[0].upper()}{words[1:]}:")
        for row in ({name: name for name in kept}, *group):
            cells = [row[name].ljust(size) if name in LEFT else row[name].rjust(size) for name, size in wide.items()]
            lines.append(gap.join(cells).rstrip())
    return lines + textwrap.wrap(footnote(findings, given, tests), WIDTH)


def footnote(findings: Sequence["Finding"], given: str, tests: int) -> str:
    """Footnotes: the meaning of the words that occur in the table, of degree, of p and of chance."""
    name = given or "degree"
    judged = [one for one in findings if one.statistic == "r" and one.verdict and one.kind != "undefined"]
    parts = explained((one.verdict for one in judged), given)
    text = "; ".join(parts) + "." if parts else ""
    if given == "degree" and parts and isinstance(findings[0].hop, str):
        text += f" {BY_BIN}."
    if any(one.p == one.p for one in findings):
        text += f" p: {correction(findings, tests)}; chance: one hop at a time."
    if given and any(one.p == one.p and one.value_given != one.value_given for one in findings):
        text += (
            f" r given: missing where {given} explain{'s' * (given == 'degree')} the whole signal or nodes are too few."
        )
    if any(one.statistic == "r" and one.p_given == 1 and abs(one.value_given) < 1e-10 for one in findings):
        text += f" r given 0 and p given 1: {name} alone fix{'es' * (name == 'degree')} it, and no test can reject."
    if any(one.near_level and (one.statistic == "r" or one.significant) for one in findings):
        text += " near .05: more permutations could change the verdict."
    return text.strip()


def explained(verdicts: Iterable[str], given: str) -> list[str]:
    """Each verdict that occurs with its meaning: ``"unlike: r below chance, also given degree"``."""
    also = f", also given {given}" if given else ""
    found = {word: next((WORDS[key] for key in WORDS if word.startswith(key)), "") for word in verdicts}
    return [f"{word}: {meaning.format(also=also, given=given)}" for word, meaning in found.items() if meaning]


def correction(findings: Iterable["Finding"], tests: int) -> str:
    """What the p that is shown is corrected over: the tests of a call, and over columns the false discovery rate."""
    tested = [one for one in findings if one.p == one.p]
    what = "r and scale" if any(one.statistic != "r" for one in tested) else "r"
    if columns := len({one.column for one in tested} - {None}):
        several = f"over {columns:,} columns, each" if columns > 1 else "of one column,"
        return f"false discovery rate (q) {several} corrected over its own tests of {what}"
    return f"corrected over {tests:,} test{'s' if tests > 1 else ''} of {what}"
