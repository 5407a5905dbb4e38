"""A finding in words, with the numbers behind it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Finding:
    """One thing found.

    Attributes
    ----------
    kind : str
        One word, such as ``"over_smoothing"``.
    text : str
        One sentence that holds its numbers.
    hop : int or None
        Where, if at one hop.
    snapshot : object
        When, if at one snapshot.
    evidence : dict
        The numbers.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> graph = nx.barbell_graph(12, 0)  # two cliques and one edge between them
    >>> found = st.diagnose(st.Stratification(graph, hops=1), [1.0] * 12 + [-1.0] * 12)
    >>> [(one.kind, one.hop) for one in found]
    [('homophily', 1)]
    """

    kind: str
    text: str
    hop: int | None = None
    snapshot: Any = None
    evidence: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text


class Findings(list[Finding]):
    """A list of findings that prints as sentences and turns into a table.

    Examples
    --------
    >>> found = Findings([Finding("chance", "At K = 1 nothing differs from chance (p = 0.4).", 1, None, {"p": 0.4})])
    >>> print(found)
    At K = 1 nothing differs from chance (p = 0.4).
    >>> found.kinds
    {'chance'}
    >>> found.table()["p"].tolist()
    [0.4]
    """

    def __init__(self, findings: Iterable[Finding] = ()) -> None:
        super().__init__(findings)

    @property
    def kinds(self) -> set[str]:
        """What was found, without where."""
        return {finding.kind for finding in self}

    def of(self, kind: str) -> "Findings":
        """The findings of one kind."""
        return Findings(finding for finding in self if finding.kind == kind)

    def table(self) -> "pd.DataFrame":
        """One row per finding, its evidence as columns."""
        import pandas as pd

        rows = [{"kind": f.kind, "hop": f.hop, "snapshot": f.snapshot, "text": f.text} | dict(f.evidence) for f in self]
        return pd.DataFrame(rows, columns=None if rows else ["kind", "hop", "snapshot", "text"])

    def __str__(self) -> str:
        return "\n".join(f.text for f in self) if self else "Nothing found."
