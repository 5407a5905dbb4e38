"""Claims: what the paper states, the rule that judges it, and the record of a judgement.

The rules stand here and beside each claim, before any run. One for all: a claim is a list of checks, each true,
false, or impossible to make.

* ``holds``: every check that can be made is true;
* ``partly``: at least half of them are true;
* ``fails``: fewer than half are true;
* ``unchecked``: none can be made (its task was not run, groups are empty, or the
  text leaves constants unnamed).

A framed conclusion is judged on the checks of its points taken together. Thresholds are the paper's own where it
gives one ("typically above 0.8"); where it speaks in words only, the rule says what was taken for them.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

HOLDS, PARTLY, FAILS, UNCHECKED = "holds", "partly", "fails", "unchecked"
VERDICTS = (HOLDS, PARTLY, FAILS, UNCHECKED)
Check = bool | np.bool_ | None
FLAT_MARGIN = 0.02  # a cosine that exceeds the flat spectrum's by no more is not better
# In the order of the page; importing one registers its claims.
MODULES = ("text", "cells", "task1", "task2", "conclusions12", "task3", "tasks4to6", "tasks7to8")


def verdict(checks: Iterable[Check]) -> str:
    """The verdict on a list of checks.

    Examples
    --------
    >>> verdict([True, True]), verdict([True, False]), verdict([True, False, False]), verdict([None])
    ('holds', 'partly', 'fails', 'unchecked')
    """
    made = [bool(check) for check in checks if check is not None]
    if not made:
        return UNCHECKED
    if all(made):
        return HOLDS
    return PARTLY if 2 * sum(made) >= len(made) else FAILS


def checked(values: Any, test: Callable[[np.ndarray], np.ndarray]) -> list[Check]:
    """One check per number; a number that could not be measured (NaN) is a check that cannot be made.

    Examples
    --------
    >>> checked([0.5, float("nan"), 0.9], lambda x: x > 0.8)
    [False, None, True]
    """
    array = np.atleast_1d(np.asarray(values, dtype=float)).ravel()
    with np.errstate(invalid="ignore"):
        passed = test(array)
    return [None if np.isnan(value) else bool(ok) for value, ok in zip(array, passed, strict=True)]


def within(values: Any, published: Any, tolerance: float) -> list[Check]:
    """One check per number: no further than ``tolerance`` from the published one."""
    wanted = np.atleast_1d(np.asarray(published, dtype=float)).ravel()
    return checked(values, lambda x: np.abs(x - wanted) <= tolerance)


def below(values: Any, bound: float) -> list[Check]:
    """One check per number: below the bound."""
    return checked(values, lambda x: x < bound)


def at_least(values: Any, bound: float) -> list[Check]:
    """One check per number: no less than the bound."""
    return checked(values, lambda x: x >= bound)


def above(values: Any, bound: float) -> list[Check]:
    """One check per number: above the bound."""
    return checked(values, lambda x: x > bound)


@dataclass
class Results:
    """What a run has measured; tasks that were not run are None, and no judge that needs them is asked."""

    text: Mapping[str, Mapping[str, Any]] = None  # type: ignore[assignment]
    task1: "xr.Dataset" = None  # type: ignore[assignment]
    task2: "xr.Dataset" = None  # type: ignore[assignment]
    task3: "xr.Dataset" = None  # type: ignore[assignment]
    runs: "xr.Dataset" = None  # type: ignore[assignment]
    checks: dict[str, list[Check]] = field(default_factory=dict)  # of the claims judged so far


@dataclass(frozen=True)
class Finding:
    """What was measured for one claim, in words and as checks."""

    measured: str
    checks: Sequence[Check]
    note: str = ""  # instead of the claim's own, where it holds numbers
    over_flat: Any = ()  # by how much a cosine exceeds that of the flat spectrum, where both were measured


Judge = Callable[[Results], Finding]


@dataclass(frozen=True)
class Claim:
    """One statement of the paper, how it is judged, and why it came out so in one sentence."""

    task: str
    needs: str  # what must have been measured, separated by spaces
    id: str
    claim: str
    published: str
    rule: str
    note: str
    judge: Judge
    of: tuple[str, ...] = ()  # the claims whose checks it repeats, for a conclusion


@dataclass(frozen=True)
class Record:
    """The judgement on one claim."""

    id: str
    task: str
    claim: str
    published: str
    measured: str
    verdict: str
    note: str
    rule: str
    checks: str
    over_flat: str = ""  # smallest and largest excess over the flat spectrum; empty where none was measured
    of: str = ""  # the claims whose checks it repeats

    @property
    def better(self) -> str:
        """Whether it is better than a flat spectrum: yes, in part, no, or empty where that was not measured.

        Examples
        --------
        >>> Record("a", "1", "", "", "", "holds", "", "", "", over_flat="-0.02 to 0.31").better
        'in part'
        """
        if not self.over_flat:
            return ""
        low, high = (float(word) > FLAT_MARGIN for word in self.over_flat.split(" to "))
        return "yes" if low else "in part" if high else "no"


REGISTRY: dict[str, Claim] = {}
NAMES = {"text": "sections 1 and 2", "task1": "Task 1", "task2": "Task 2", "task3": "Task 3", "runs": "Tasks 4 to 8"}


def claim(
    task: str, needs: str, id: str, text: str, published: str, rule: str, note: str = "", of: Sequence[str] = ()
) -> Callable[[Judge], Judge]:
    """Register a function of the results as the judge of a claim."""

    def register(judge: Judge) -> Judge:
        if id in REGISTRY:
            raise ValueError(f"the claim {id} is registered twice")
        REGISTRY[id] = Claim(task, needs, id, text, published, rule, note, judge, tuple(of))
        return judge

    return register


def conclusion(id: str, task: str, text: str, points: Sequence[str]) -> None:
    """Register a framed conclusion, judged on the checks of its points."""

    def judge(results: Results) -> Finding:
        told = ", ".join(f"{point.rsplit('.', 1)[1]}: {verdict(results.checks.get(point, []))}" for point in points)
        return Finding(f"points {told}", together(results, points))

    note = "Judged on the checks of its points taken together."
    claim(task, "", id, text, "framed in the text", "the checks of all its points", note, points)(judge)


def point(id: str, task: str, text: str, rule: str, of: Sequence[str], needs: str, note: str) -> None:
    """Register a point of a framed conclusion, judged on the checks of other claims."""

    def judge(results: Results) -> Finding:
        checks = together(results, of)
        return Finding(f"{sum(bool(check) for check in checks)} of {len(checks)} checks", checks)

    claim(task, needs, id, text, f"framed point ({id.rsplit('.', 1)[1]})", rule, note, of)(judge)


def together(results: Results, names: Iterable[str]) -> list[Check]:
    """The checks of claims judged before, one after the other."""
    return [check for name in names for check in results.checks.get(name, [])]


def judge_all(results: Results) -> list[Record]:
    """The record of every claim, in the order of registration."""
    for module in MODULES:
        import_module(f"reproduction.claims.{module}")
    return [_judge(known, results) for known in REGISTRY.values()]


def _judge(known: Claim, results: Results) -> Record:
    missing = [NAMES[name] for name in known.needs.split() if getattr(results, name) is None]
    if missing:
        finding = Finding("not measured", [None], f"{', '.join(missing)} was not part of this run.")
    else:
        finding = known.judge(results)
    results.checks[known.id] = list(finding.checks)
    made = [check for check in finding.checks if check is not None]
    return Record(
        known.id,
        known.task,
        known.claim,
        known.published,
        finding.measured,
        verdict(finding.checks),
        finding.note or known.note,
        known.rule,
        f"{sum(bool(check) for check in made)} of {len(made)} checks",
        _range(finding.over_flat),
        " ".join(known.of),
    )


def _range(values: Any) -> str:
    """Smallest and largest of some numbers, as text.

    Examples
    --------
    >>> _range([0.214, -0.001]), _range([])
    ('-0.00 to 0.21', '')
    """
    known = np.asarray(values, dtype=float).ravel()
    known = known[np.isfinite(known)]
    return f"{known.min():.2f} to {known.max():.2f}" if known.size else ""


def to_json(records: Sequence[Record], settings: Mapping[str, Any]) -> str:
    """The records with the run's settings, as JSON text."""
    single = [record for record in records if not record.of]
    counts = {name: sum(record.verdict == name for record in single) for name in VERDICTS}
    plain = {"settings": dict(settings), "counts": counts, "claims": [asdict(record) for record in records]}
    return json.dumps(plain, indent=1, ensure_ascii=False)


def to_csv(records: Sequence[Record]) -> str:
    """All records as CSV text, one row each."""
    text = io.StringIO()
    table = csv.DictWriter(text, [one.name for one in fields(Record)], lineterminator="\n")
    table.writeheader()
    table.writerows(asdict(record) for record in records)
    return text.getvalue()


def from_csv(text: str) -> list[Record]:
    """The records of such a text."""
    return [Record(**row) for row in csv.DictReader(io.StringIO(text))]


def show(values: Any, digits: int = 2) -> str:
    """Numbers as text, as the paper prints them.

    Examples
    --------
    >>> show([0.8, 0.794, float("nan")])
    '0.80 0.79 –'
    """
    array = np.atleast_1d(np.asarray(values, dtype=float)).ravel()
    return " ".join("–" if np.isnan(value) else f"{value:.{digits}f}" for value in array)
