"""Sentences made from findings: one per kind and run of hops; where findings of one hop disagree, one names all."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spectrata.stats.findings import TESTED, Finding

NAMED = 8  # labels that are named one by one
SINGULAR = {"layers": "layer", "epochs": "epoch"}
PAIRS = ("alike", "unlike")
SPECTRAL = {
    "smooth": "the signal is smooth on {graphs}",
    "rough": "the signal is rough on {graphs}",
    "coarse": "the signal follows the coarsest division of {graphs}",
}
ENDS = {"smooth": "lowest", "rough": "highest"}
QUARTER = (0.2, 0.3)  # shares of the components that are called a quarter; eigenspaces are kept whole


def with_sentences(
    findings: Sequence[Finding], draws: int, kind: str = "", divided: Collection[int] = ()
) -> list[Finding]:
    """Give tested findings their sentences; ``kind`` says what snapshots are, ``divided`` hops have several parts."""
    cells: dict[tuple, set[str]] = defaultdict(set)
    for one in findings:
        cells[one.hop, one.snapshot, one.column].add(one.kind)
    groups: dict[tuple, list[Finding]] = defaultdict(list)
    for one in findings:
        kinds = cells[one.hop, one.snapshot, one.column]
        mixed = len({TESTED[name] for name in kinds if name in TESTED}) > 1
        groups[one.column, one.snapshot, tuple(sorted(kinds)) if mixed else (one.kind,)].append(one)
    # The same hops in several snapshots become one sentence.
    merged: dict[tuple, list[Finding]] = defaultdict(list)
    for (column, _, kinds), members in groups.items():
        merged[column, kinds, tuple(sorted({one.hop or 0 for one in members}))].extend(members)
    out = []
    for (column, kinds, _), members in merged.items():
        text = _prefix(members, column, kind)
        text += _mixed(members, draws, divided) if len(kinds) > 1 else _clause(members, draws, ": ", divided)
        out += [replace(one, text=text[0].upper() + text[1:] + ".") for one in members]
    return out


def dominated(members: Sequence[Finding], what: str, width: int, kind: str = "") -> list[Finding]:
    """Give findings of a common vector one sentence; ``what`` has the energy: values or directions."""
    if not members:
        return []
    columns = list(dict.fromkeys(one.column for one in members))
    where = _prefix(members, columns[0], kind) if len(columns) == 1 else f"in {len(columns)} columns "
    share = _percent([one.value for one in members])
    how = "dominated by its mean" if width == 1 else "dominated by a common vector"
    text = f"{where}the signal is {how}: {share} of the energy of its {what} is that of their mean."
    return [replace(one, text=text[0].upper() + text[1:]) for one in members]


def _prefix(members: Sequence[Finding], column: Any, kind: str) -> str:
    return place([one.snapshot for one in members], [column], kind)


def place(snapshots: Iterable[Any], columns: Iterable[Any], kind: str) -> str:
    """Columns and snapshots in words; nothing where the signal has neither.

    Examples
    --------
    >>> place([0, 9], ["a"], "layers"), place([None], [None], "")
    ('in column a, layers 0 and 9 ', '')
    """
    words = []
    for noun, labels in (("column", columns), (SINGULAR.get(kind, "snapshot"), snapshots)):
        named = list(dict.fromkeys(labels))
        if named != [None]:
            words.append(f"{noun}{'s' if len(named) > 1 else ''} {listed(named)}")
    return f"in {', '.join(words)} " if words else ""


def _clause(members: Sequence[Finding], draws: int, colon: str, divided: Collection[int]) -> str:
    """What one kind says, and its numbers: after a colon, or in brackets within a longer sentence."""
    kind, hops = members[0].kind, sorted({one.hop for one in members if one.hop is not None})
    evidence = _evidence(members, draws)
    if kind == "chance":
        return f"{nodes(hops)} are not distinguishable from chance ({evidence})"
    ratio = span([one.ratio for one in members])
    if kind in PAIRS:
        said, holds = f"{nodes(hops)} are {kind}", f"their mean squared difference is {ratio} times that of chance"
    else:
        said = SPECTRAL[kind].format(graphs=_graphs(hops))
        said += " within connected parts" if kind == "coarse" and set(hops) & set(divided) else ""
        group = f"the {band(ENDS[kind], members)}" if kind in ENDS else "the Fiedler eigenspace"
        holds = f"{group} holds {ratio} times the energy of chance"
    return f"{said}: {holds} ({evidence})" if colon == ": " else f"{said} ({holds}; {evidence})"


def band(end: str, members: Sequence[Finding]) -> str:
    """The lowest or highest band of some findings in words: a quarter, or the share it has."""
    shares = np.array([one.band for one in members])
    if ((shares >= QUARTER[0]) & (shares <= QUARTER[1])).all():
        return f"{end} quarter of frequencies"
    return f"{end} band ({span(100 * shares)} % of frequencies)"


def _mixed(members: Sequence[Finding], draws: int, divided: Collection[int]) -> str:
    """Findings of the same hops that point different ways."""
    by_kind: dict[str, list[Finding]] = defaultdict(list)
    for one in members:
        by_kind[one.kind].append(one)
    clauses = [_clause(by_kind[kind], draws, "(", divided) for kind in (*PAIRS, "chance") if kind in by_kind]
    if {"smooth", "rough"} <= by_kind.keys():  # no signal is called both
        hops = sorted({one.hop for one in members if one.hop is not None})
        numbers = [
            f"{band(end, by_kind[kind])}: {span([one.ratio for one in by_kind[kind]])} times, "
            f"{_evidence(by_kind[kind], draws)}"
            for kind, end in ENDS.items()
        ]
        both = f"both the lowest and the highest frequencies of {_graphs(hops)} hold more energy than by chance"
        clauses.append(f"{both} ({'; '.join(numbers)})")
        by_kind.pop("smooth"), by_kind.pop("rough")
    clauses += [_clause(by_kind[kind], draws, "(", divided) for kind in SPECTRAL if kind in by_kind]
    return clauses[0] + (", while " + " and ".join(clauses[1:]) if len(clauses) > 1 else "")


def _evidence(members: Sequence[Finding], draws: int) -> str:
    """``z`` and corrected p; a p at the floor of its draws says so."""
    p, floor = (np.array([getattr(one, name) for one in members]) for name in ("p", "p_floor"))
    z = f"z = {span([one.z for one in members])}"
    if members[0].kind == "chance" and len(members) > 1:
        return f"{z}, corrected p >= {p.min():.3g}"
    known = f"{z}, corrected p {'=' if p.max() == p.min() else '<='} {p.max():.3g}"
    if (p <= floor * (1 + 1e-9)).all():
        return f"{known}, the smallest that {draws:,} permutations can give"
    return known


def nodes(hops: Sequence[int]) -> str:
    """Who is compared at these hops."""
    return "neighbours" if list(hops) == [1] else f"nodes {runs(hops)} hops apart"


def _graphs(hops: Sequence[int]) -> str:
    if len(hops) > 1:
        return f"the graphs of hops {runs(hops)}"
    return "the graph" if list(hops) == [1] else f"the {hops[0]}-hop graph"


def span(values: Iterable[float]) -> str:
    """One number, or the range of several."""
    known = [value for value in values if np.isfinite(value)]
    low, high = (f"{value:.3g}" for value in (min(known), max(known)))
    return low if low == high else f"{low} to {high}"


def _percent(shares: Sequence[float]) -> str:
    """Shares that may be close to 1 in percent.

    Examples
    --------
    >>> _percent([0.96]), _percent([0.999999]), _percent([0.951, 1.0])
    ('96 %', 'more than 99.9 %', '95.1 % to more than 99.9 %')
    """
    words = [f"{100 * share:.3g} %" if share < 0.9995 else "more than 99.9 %" for share in (min(shares), max(shares))]
    return " to ".join(dict.fromkeys(words))


def runs(hops: Sequence[int]) -> str:
    """Hops in words, runs of three or more joined.

    Examples
    --------
    >>> runs([1, 2, 3, 5]), runs([4]), runs([2, 3])
    ('1 to 3 and 5', '4', '2 and 3')
    """
    starts = np.flatnonzero(np.diff(hops, prepend=-1) != 1)
    pieces: list[str] = []
    for run in np.split(np.asarray(hops), starts[1:]):
        pieces += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else [str(hop) for hop in run]
    return listed(pieces)


def listed(labels: Sequence[Any]) -> str:
    """Labels in words, at most ``NAMED`` of them.

    Examples
    --------
    >>> listed([1, 2, 5]), listed(range(20))
    ('1, 2 and 5', '0, 1, 2, 3, 4, 5, 6, 7 and 12 more')
    """
    shown = [str(label) for label in labels[:NAMED]]
    more = len(labels) - len(shown)
    last = f"{more} more" if more else (shown.pop() if len(shown) > 1 else "")
    return ", ".join(shown) + (f" and {last}" if last else "")
