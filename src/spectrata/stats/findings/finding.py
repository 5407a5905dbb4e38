"""Findings: one record per test or description; prints as a table, explains in sentences, turns into a DataFrame."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from textwrap import fill, wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.results.notebook import html_list, html_table
from spectrata.stats.nulls.stopping import LEVEL

if TYPE_CHECKING:
    import pandas as pd

# Kinds that rest on a test that rejects.
TESTED = ("alike", "unlike", "smooth", "rough", "coarse")
# Verdicts on layers of a trained model, by the levels of a study.
VERDICTS = ("collapsed", "dead", "not_finite", "training", "not_collapsed")
NUMBERS = ("value", "chance_low", "chance_high", "p", "p_family", "value_given", "p_given", "p_family_given")
WIDTH, MOST_TABLES = 80, 6
COLUMNS = ("hop", "verdict", "r", "chance", "p", "r given", "p given")
LEFT = ("verdict", "chance")  # columns whose cells stand on the left
# The first that a verdict begins with says what it means.
WORDS = {
    "alike only": "",  # as the line on what is given says
    "alike": "r above chance{also}",
    "unlike only": "",
    "unlike": "r below chance{also}",
    "less unlike": "r below 0, but above chance{also}",
    "less alike": "r above 0, but below chance{also}",
    "chance": "r not distinguishable from chance{after}",
    "not beyond": "r differs from chance, but with {given} accounted for this is not shown",
    "reversed": "above chance without and below it with {given} accounted for, or the other way round",
    "not tested": "r without p",
}


@dataclass(frozen=True)
class Finding:
    """One test or description.

    ``kind`` is "alike" or "unlike" (the tail of p), "smooth", "rough", "coarse" (follows the main divide), or "chance"
    where the permutation test does not reject, and where a share lies below chance ("less rough than chance", which
    has no kind of its own although its p is small); "dominated" where few nodes hold the signal; "undefined"; for
    layers of a watched model "collapsed", "not_collapsed", "dead", "not_finite" or "training". ``p`` is of this test by
    itself, ``p_family`` corrected over everything the call looked at (over columns: the false discovery rate q).

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> found = st.diagnose(nx.path_graph(40), range(40), hops=1)
    >>> found[0].kind, found[0].hop, found[0].verdict
    ('alike', 1, 'alike')
    """

    kind: str
    text: str  # the sentence
    hop: Any = None
    snapshot: Any = None  # None where the signal has no snapshots
    column: Any = None  # None where it has one column
    value: float = float("nan")  # r, or a share of the spectrum
    chance_low: float = float("nan")  # 2.5 % quantile of the value under permutation
    chance_high: float = float("nan")  # 97.5 %
    p: float = float("nan")  # two-sided
    p_family: float = float("nan")
    value_given: float = float("nan")  # the same given degree, or other covariates
    p_given: float = float("nan")
    p_family_given: float = float("nan")
    verdict: str = ""  # what both tests say together
    beyond_degree: bool = False  # whether both reject in the same tail
    near_level: bool = False  # whether more permutations could change the verdict
    statistic: str = ""  # "r", "smooth", "rough" or "main_divide"

    @property
    def is_off_chance(self) -> bool:
        """Whether there is a verdict, and another one than chance."""
        return self.kind != "undefined" and self.verdict not in ("chance", "")

    @property
    def significant(self) -> bool:
        """Whether it rests on a permutation test that rejects."""
        return self.kind in TESTED

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False)
class Findings(Sequence[Finding]):
    """Findings of one call: ``notes`` on how the signal was read, a table, then ``lines`` on scale and dominance.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> print(st.diagnose(nx.karate_club_graph(), "club", hops=2, weights=False, labels=True))
    hop  verdict      r  chance               p  r given  p given
      1  alike    0.718  -0.246 to 0.154  0.001    0.702  < 0.001
      2  alike    0.336  -0.103 to 0.056  0.001    0.340  < 0.001
    alike: r above chance, also given degree. p: corrected over 8 tests of r and
    scale; chance: one hop at a time.
    Given degree: accounting for a node's pairs at hops 1, 2, 3 and the tested one.
    Scale: smooth at hops 1 and 2; follows the main divide at hops 1 and 2.
    """

    findings: Sequence[Finding] = ()
    notes: Sequence[str] = ()
    lines: Sequence[str] = ()
    given: str = ""  # "degree", "covariates", or nothing where there was no second test
    tests: int = 0  # over which p is corrected
    explained: str = ""  # the rates behind verdicts on layers of a model

    def __getitem__(self, index: Any) -> Any:
        return self.findings[index]

    def __len__(self) -> int:
        return len(self.findings)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Findings) and str(self) == str(other)

    @property
    def kinds(self) -> set[str]:
        """The kinds of all findings."""
        return {finding.kind for finding in self}

    def explain(self) -> str:
        """Every finding as a sentence; for layers of a model the rates behind the verdicts."""
        sentences = dict.fromkeys(finding.text for finding in self if finding.text)
        return "\n".join([*sentences, self.explained]).strip()

    def to_frame(self) -> "pd.DataFrame":
        """One row per test and description."""
        import pandas as pd

        where, said = ("kind", "statistic", "hop", "column", "snapshot"), ("beyond_degree", "near_level", "text")
        return pd.DataFrame([asdict(one) for one in self], columns=[*where, *NUMBERS, "verdict", *said])

    def to_json(self) -> str:
        """Everything as JSON; numbers that are NaN become null."""
        facts = {"notes": self.notes, "lines": self.lines, "given": self.given, "level": LEVEL, "tests": self.tests}
        document = facts | {"findings": [asdict(one) for one in self]}
        # Labels of numpy become plain numbers, others text; NaN, which JSON does not have, is read back as None.
        text = json.dumps(document, default=lambda label: label.item() if isinstance(label, np.generic) else str(label))
        return json.dumps(json.loads(text, parse_constant=lambda _: None), indent=2)

    def __str__(self) -> str:
        verdicts = [fill(one.text, WIDTH, subsequent_indent="    ") for one in self if one.kind in VERDICTS]
        table = tables(self, self.given, self.tests)
        return "\n".join([*dict.fromkeys([*verdicts, *self.notes]), *table, *self.lines]) or "No finding."

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = [row for group in hop_rows(self).values() for row in group]
        table = html_table("", list(COLUMNS), [tuple(row.values()) for row in rows]) if rows else ""
        verdicts = [one.text for one in self if one.kind in VERDICTS]
        texts = html_list([*verdicts, *self.notes, *self.lines])
        return f"<div><strong>Findings</strong>{table}{texts}</div>"


# ---- the table: one row per hop, at most 80 columns wide, and one footnote for the words that occur


def shown_p(p: float) -> str:
    """One number for p; nothing for NaN."""
    p = float(f"{p:.6g}")  # as in a report, whose numbers have six digits: both then print the same third decimal
    return "" if np.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def shown(value: float) -> str:
    """A correlation or share with three digits after the point; nothing for NaN."""
    return "" if np.isnan(value) else f"{value:.3f}".replace("-0.000", "0.000")


def place_words(column: Any, snapshot: Any) -> str:
    """Column and snapshot by name; nothing where the signal has neither."""
    named = {"column": column, "snapshot": snapshot}
    return ", ".join(f"{what} {name}" for what, name in named.items() if name is not None)


def by_side(word: str, r: float) -> str:
    """Alike or unlike; where r has the other sign, the side of chance."""
    if word == "alike" and r < 0:
        return "less unlike than chance"
    return "less alike than chance" if word == "unlike" and r > 0 else word


def hop_rows(findings: Iterable[Finding]) -> dict[tuple[Any, Any], list[dict[str, str]]]:
    """The cells of every row of r, by column and snapshot."""
    found: dict[tuple[Any, Any], list[dict[str, str]]] = {}
    for one in findings:
        if one.statistic != "r":
            continue
        chance = f"{shown(one.chance_low)} to {shown(one.chance_high)}" if one.chance_low == one.chance_low else ""
        word = by_side(one.verdict, one.value) + " (near .05)" * one.near_level
        # Where r is undefined, r of what degree leaves says nothing about the signal.
        given = ("", "") if one.kind == "undefined" else (shown(one.value_given), shown_p(one.p_family_given))
        cells = (str(one.hop), word, shown(one.value), chance, shown_p(one.p_family), *given)
        found.setdefault((one.column, one.snapshot), []).append(dict(zip(COLUMNS, cells, strict=True)))
    return found


def tables(findings: Sequence[Finding], given: str, tests: int) -> list[str]:
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
    return lines + wrap(footnote(findings, given, tests), WIDTH)


def footnote(findings: Sequence[Finding], given: str, tests: int) -> str:
    """Footnotes: the meaning of the words that occur in the table, of degree, of p and of chance."""
    name = given or "degree"
    judged = [one for one in findings if one.statistic == "r" and one.verdict and one.kind != "undefined"]
    outside = any(one.verdict == "chance" and one.p <= LEVEL for one in judged)
    parts = explained((by_side(one.verdict, one.value) for one in judged), given, " after correction" * outside)
    text = "; ".join(parts) + "." if parts else ""
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


def explained(verdicts: Iterable[str], given: str, after: str = "") -> list[str]:
    """Each verdict that occurs with its meaning: ``"unlike: r below chance, also given degree"``."""
    also = f", also given {given}" if given else ""
    found = {word: next((WORDS[key] for key in WORDS if word.startswith(key)), "") for word in verdicts}
    return [
        f"{word}: {meaning.format(also=also, given=given, after=after)}" for word, meaning in found.items() if meaning
    ]


def correction(findings: Iterable[Finding], tests: int) -> str:
    """What the p that is shown is corrected over: the tests of a call, and over columns the false discovery rate."""
    tested = [one for one in findings if one.p == one.p]
    what = "r and scale" if any(one.statistic != "r" for one in tested) else "r"
    if columns := len({one.column for one in tested} - {None}):
        several = f"over {columns:,} columns, each" if columns > 1 else "of one column,"
        return f"false discovery rate (q) {several} corrected over its own tests of {what}"
    return f"corrected over {tests:,} test{'s' if tests > 1 else ''} of {what}"
