"""Findings: typed records, each with its statistic, what chance gives, and the sentence made from it."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.inputs.notebook import html_list, html_table

if TYPE_CHECKING:
    import pandas as pd

# Kinds that rest on a permutation test, and the direction each points to: 1 alike or smooth, -1 unlike or rough.
TESTED = {"alike": 1, "unlike": -1, "smooth": 1, "rough": -1, "coarse": 1}
VERDICTS = (
    "collapsed",
    "dead",
    "not_finite",
    "training",
    "not_collapsed",
)  # on layers of a trained model, by the levels of a study
LEVEL = 0.05


@dataclass(frozen=True)
class Finding:
    """One finding.

    Attributes
    ----------
    kind : str
        "alike", "unlike", "smooth", "rough" or "coarse" for what is significant; "collapsed", "not_collapsed", "dead",
        "not_finite" or "training" for layers of a watched model; "chance", "dominated", "low_pass",
        "high_pass", "undefined" or "unjudged" for descriptions.
    text : str
        The sentence. Findings that share one sentence repeat it.
    hop : int or None
    snapshot, column : object
        None where the signal has no snapshots or its columns are read together.
    value, chance : float
        The statistic and its permutation mean; NaN where there is none. Where squares of the signal
        leave double precision, both are divided by one power of two.
    z : float
        The statistic less ``chance`` over its permutation standard deviation.
    p : float
        Corrected over everything the call looked at; NaN for descriptions.
    p_floor : float
        Smallest p that the permutations could give; NaN where all orders of the nodes were counted.
    band : float
        For "smooth", "rough" and "coarse": the share of the components off zero that the band or eigenspace has.
    call : str
        The call that gives the value again, with the names ``graph`` (``strat`` for a Stratification or a result),
        ``signal`` and ``weights`` (an array) of what was given.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> found = st.diagnose(nx.path_graph(40), range(40), hops=1)
    >>> found[0].kind, found[0].hop, found[0].p
    ('coarse', 1, 0.001)
    """

    kind: str
    text: str
    hop: int | None = None
    snapshot: Any = None
    column: Any = None
    value: float = float("nan")
    chance: float = float("nan")
    z: float = float("nan")
    p: float = float("nan")
    call: str = ""
    p_floor: float = float("nan")
    band: float = float("nan")

    @property
    def significant(self) -> bool:
        """Whether it rests on a test that rejects; descriptions do not."""
        return self.kind in TESTED

    @property
    def severity(self) -> float:
        """``|z|`` of what is significant, 0 for descriptions."""
        return abs(self.z) if self.significant else 0.0

    @property
    def ratio(self) -> float:
        """The value over the value expected by chance."""
        return self.value / self.chance if self.chance > 0 else float("nan")

    def __str__(self) -> str:
        return self.text


class Findings(Sequence[Finding]):
    """Findings of one call, verdicts first, then by severity; prints as sentences and turns into a table.

    Attributes
    ----------
    notes : tuple of str
        How the signal was read; printed first.
    tests : int
        Statistics that p was corrected over; 0 where nothing was tested.
    draws : int
        Permutations behind p, which cannot fall below ``1 / (draws + 1)``.
    smallest : float
        Smallest corrected p of all tests; NaN where nothing was tested.

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> noise = np.random.default_rng(0).normal(size=40)
    >>> print(st.diagnose(nx.path_graph(40), noise, hops=1))
    No finding is significant: the smallest corrected p of 4 tests is 0.137 (999 permutations).
    Neighbours are not distinguishable from chance (z = -1.78, corrected p = 0.137).
    """

    def __init__(
        self,
        findings: Iterable[Finding] = (),
        notes: Iterable[str] = (),
        tests: int = 0,
        draws: int = 0,
        smallest: float = float("nan"),
        explained: str = "",
    ) -> None:
        self._items = tuple(sorted(findings, key=lambda one: (one.kind not in VERDICTS, -one.severity)))
        self.notes, self.tests, self.draws, self.smallest = tuple(notes), tests, draws, smallest
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
        """What was found, without where."""
        return {finding.kind for finding in self}

    def of(self, kind: str) -> list[Finding]:
        """The findings of one kind."""
        return [finding for finding in self if finding.kind == kind]

    @property
    def significant(self) -> list[Finding]:
        """The findings that rest on a test that rejects."""
        return [finding for finding in self if finding.significant]

    def explain(self) -> str:
        """The rates and limits behind verdicts on layers; empty where there are none."""
        return self._explained

    @property
    def sentences(self) -> list[str]:
        """The sentences, each once, the strongest first and descriptions last."""
        return list(dict.fromkeys(finding.text for finding in self))

    def to_frame(self) -> "pd.DataFrame":
        """One row per kind, hop, snapshot and column."""
        import pandas as pd

        names = ["kind", "hop", "snapshot", "column", "value", "chance", "z", "p", "severity", "text", "call"]
        frame = pd.DataFrame([{name: getattr(one, name) for name in names} for one in self], columns=names)
        return frame.astype({"hop": "Int64"})

    def to_json(self) -> str:
        """Everything as JSON; numbers that are NaN become null."""
        rows = [asdict(finding) | {"severity": finding.severity} for finding in self]
        facts: dict[str, Any] = {"notes": list(self.notes), "tests": self.tests, "draws": self.draws}
        facts |= {"level": LEVEL, "smallest_p": self.smallest, "findings": rows}
        return json.dumps(_plain(facts), indent=2)

    @property
    def opening(self) -> list[str]:
        """How the signal was read, and that nothing is significant where nothing is."""
        lines = list(self.notes)
        if self.tests and not self.significant:
            tests = f"of {self.tests} tests " if self.tests > 1 else ""
            text = f"the smallest corrected p {tests}is {self.smallest:.3g} ({self.draws:,} permutations)"
            lines.append(f"No finding is significant: {text}.")
        return lines

    def __str__(self) -> str:
        verdicts = [one.text for one in self if one.kind in VERDICTS]
        return "\n".join(dict.fromkeys([*verdicts, *self.opening, *self.sentences])) or "No finding."

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        heads = ["kind", "hop", "snapshot", "column", "value", "chance", "z", "corrected p"]
        rows = [
            (
                one.kind,
                *("" if label is None else str(label) for label in (one.hop, one.snapshot, one.column)),
                *("" if np.isnan(number) else float(number) for number in (one.value, one.chance, one.z, one.p)),
            )
            for one in self
        ]
        table = html_table("", heads, rows) if rows else ""
        numbers = f"<details><summary>Numbers</summary>{table}</details>" if table else ""
        return f"<div><strong>Findings</strong>{html_list(str(self).splitlines())}{numbers}</div>"


def _plain(value: Any) -> Any:
    """The same with what JSON has: NaN as None, labels of numpy as plain values."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
