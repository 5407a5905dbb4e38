"""Findings: one record per test or description; prints as a table, explains in sentences, turns into a DataFrame."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.results.notebook import html_list, html_table
from spectrata.stats.findings.table import COLUMNS, WIDTH, hop_rows, tables
from spectrata.stats.nulls.stopping import LEVEL

if TYPE_CHECKING:
    import pandas as pd

# Kinds that rest on a test that rejects.
TESTED = ("alike", "unlike", "smooth", "rough", "coarse")
# Verdicts on layers of a trained model, by the levels of a study.
VERDICTS = ("collapsed", "dead", "not_finite", "training", "not_collapsed")
NUMBERS = ("value", "chance_low", "chance_high", "p", "p_family", "value_given", "p_given", "p_family_given")


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
    def significant(self) -> bool:
        """Whether it rests on a permutation test that rejects."""
        return self.kind in TESTED

    def __str__(self) -> str:
        return self.text


class Findings(Sequence[Finding]):
    """Findings of one call: ``notes`` on how the signal was read, a table, then ``lines`` on scale and dominance.

    ``given`` is "degree", "covariates", or nothing where there was no second test.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> print(st.diagnose(nx.karate_club_graph(), "club", hops=2, weights=False, labels=True))
    hop  verdict      r  chance               p  r given  p given
      1  alike    0.718  -0.246 to 0.154  0.001    0.702    0.001
      2  alike    0.336  -0.103 to 0.056  0.001    0.340    0.001
    alike: r above chance, also given degree. p: corrected over 8 tests of r and
    scale; chance: one hop at a time.
    Scale: smooth at hops 1 and 2; follows the main divide at hops 1 and 2.
    """

    def __init__(
        self,
        findings: Iterable[Finding] = (),
        notes: Iterable[str] = (),
        lines: Iterable[str] = (),
        given: str = "",
        tests: int = 0,
        explained: str = "",
    ) -> None:
        self._items = tuple(findings)
        self.notes, self.lines, self.given, self.tests = tuple(notes), tuple(lines), given, tests
        self._explained = explained

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Findings) and str(self) == str(other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def kinds(self) -> set[str]:
        """The kinds of all findings."""
        return {finding.kind for finding in self}

    def explain(self) -> str:
        """Every finding as a sentence; for layers of a model the rates behind the verdicts."""
        sentences = dict.fromkeys(finding.text for finding in self if finding.text)
        return "\n".join([*sentences, self._explained]).strip()

    def to_frame(self) -> "pd.DataFrame":
        """One row per test and description."""
        import pandas as pd

        where, said = ("kind", "statistic", "hop", "column", "snapshot"), ("beyond_degree", "near_level", "text")
        return pd.DataFrame([asdict(one) for one in self], columns=[*where, *NUMBERS, "verdict", *said])

    def to_json(self) -> str:
        """Everything as JSON; numbers that are NaN become null."""
        facts = {"notes": self.notes, "lines": self.lines, "given": self.given, "level": LEVEL, "tests": self.tests}
        rows = [{name: _plain(value) for name, value in asdict(one).items()} for one in self]
        return json.dumps(facts | {"findings": rows}, indent=2)

    @property
    def table(self) -> list[str]:
        """The rows of r as lines of text, and their footnote."""
        return tables(self, self.given, self.tests)

    def __str__(self) -> str:
        verdicts = [fill(one.text, WIDTH, subsequent_indent="    ") for one in self if one.kind in VERDICTS]
        return "\n".join([*dict.fromkeys([*verdicts, *self.notes]), *self.table, *self.lines]) or "No finding."

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = [row for group in hop_rows(self).values() for row in group]
        table = html_table("", list(COLUMNS), [tuple(row.values()) for row in rows]) if rows else ""
        verdicts = [one.text for one in self if one.kind in VERDICTS]
        texts = html_list([*verdicts, *self.notes, *self.lines])
        return f"<div><strong>Findings</strong>{table}{texts}</div>"


def _plain(value: Any) -> Any:
    """The same with what JSON has: NaN as None, labels as plain values or text."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, type(None))) else str(value)
