"""Sentences about hops, made from the fields of findings."""

from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.stats.findings.table import WIDTH, shown, shown_p
from spectrata.stats.nulls.stopping import LEVEL

if TYPE_CHECKING:
    from spectrata.stats.findings.finding import Finding

NAMED = 8  # labels that are named one by one
WEAK = 0.05  # |r| below which a likeness is called weak
SINGULAR = {"layers": "layer", "epochs": "epoch"}
# Of each share: what a value above chance, at chance and below chance is called, and what it is a share of.
SHARES = {
    "smooth": (
        "is smooth",
        "is no smoother than chance",
        "is less smooth than chance",
        "lowest quarter of frequencies",
    ),
    "rough": ("is rough", "is no rougher than chance", "is less rough than chance", "highest quarter of frequencies"),
    "main_divide": (
        "follows the main divide",
        "follows the main divide no more than chance",
        "follows the main divide less than chance",
        "Fiedler eigenspace",
    ),
}


def sentence(one: "Finding", given: str) -> str:
    """What one test says, with its numbers.

    Examples
    --------
    >>> from spectrata.stats.findings import Finding
    >>> found = Finding("alike", "", 1, value=0.7, chance_low=-0.2, chance_high=0.15, p_family=0.002, verdict="alike",
    ...                 value_given=0.6, p_family_given=0.004, statistic="r")
    >>> sentence(found, "degree")
    'Neighbours are alike: r = 0.700 (chance -0.200 to 0.150, p = 0.002); given degree r = 0.600, p = 0.004.'
    """
    where = place(one)
    if one.kind == "undefined":
        return f"{where}{nodes(one.hop)}: not judged ({one.verdict}).".strip()
    said = _likeness(one, given) if one.statistic == "r" else _scale(one, given)
    text = f"{where}{said}: {_numbers(one)}{_given(one, given)}."
    return text[0].upper() + text[1:]


def _likeness(one: "Finding", given: str) -> str:
    who = nodes(one.hop)
    if one.kind == "chance":
        base = f"{who} are not distinguishable from chance"
        return f"{base}, but {one.verdict.replace(' only', '')}" if "only given" in one.verdict else base
    word = one.kind
    if one.kind == "alike" and one.value < 0:
        word = "less unlike than chance"
    elif one.kind == "unlike" and one.value > 0:
        word = "less alike than chance"
    elif abs(one.value) < WEAK:
        word = f"weakly {word}"
    rest = "" if one.verdict == one.kind or not given else f", {one.verdict}"
    return f"{who} are {word}{rest}"


def _scale(one: "Finding", given: str) -> str:
    above, at_chance, below, _ = SHARES[one.statistic]
    if not one.significant:
        words = below if one.p_family <= LEVEL else at_chance
    else:
        words = above if one.beyond_degree or not given else f"{above}, not beyond {given}"
    return f"at {hops([one.hop])} the signal {words}"


def _numbers(one: "Finding") -> str:
    if one.statistic == "r":
        value = f"r = {shown(one.value)}"
    else:
        value = f"{100 * one.value:.0f} % of it is in the {SHARES[one.statistic][-1]}"
    if np.isnan(one.p_family):
        return value
    low, high = (shown(x) if one.statistic == "r" else f"{100 * x:.0f}" for x in (one.chance_low, one.chance_high))
    unit = "" if one.statistic == "r" else " %"
    return f"{value} (chance {low} to {high}{unit}, {equals_p(one.p_family)})"


def _given(one: "Finding", given: str) -> str:
    if not given or np.isnan(one.p_family):
        return ""
    if np.isnan(one.value_given):
        return f"; {given} leaves nothing to test"
    value = f"r = {shown(one.value_given)}" if one.statistic == "r" else f"{100 * one.value_given:.0f} %"
    return f"; given {given} {value}, {equals_p(one.p_family_given)}"


def equals_p(p: float) -> str:
    """p with its sign of equality: "p = 0.02" or "p < 0.001"."""
    text = shown_p(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def place(one: "Finding") -> str:
    """Column and snapshot in words; nothing where the signal has neither."""
    words = [f"column {one.column}"] * (one.column is not None)
    words += [f"snapshot {one.snapshot}"] * (one.snapshot is not None)
    return f"In {', '.join(words)} " if words else ""


def nodes(hop: Any) -> str:
    """Who is compared at a hop."""
    if isinstance(hop, str):
        return f"nodes at distance {hop}"
    return "neighbours" if hop == 1 else f"nodes {hop} hops apart"


def hops(some: Sequence[Any]) -> str:
    """Hops with their noun."""
    return f"hop{'s' if len(some) > 1 else ''} {runs(some)}"


def runs(some: Sequence[Any]) -> str:
    """Hops in words, runs of three or more joined.

    Examples
    --------
    >>> runs([1, 2, 3, 5]), runs([4]), runs([2, 3])
    ('1 to 3 and 5', '4', '2 and 3')
    """
    if any(isinstance(hop, str) for hop in some):
        return listed(some)
    starts = np.flatnonzero(np.diff(some, prepend=-1) != 1)
    pieces: list[str] = []
    for run in np.split(np.asarray(some), starts[1:]):
        pieces += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else [str(hop) for hop in run]
    return listed(pieces)


def listed(labels: Sequence[Any]) -> str:
    """Labels in words, at most ``NAMED`` of them.

    Examples
    --------
    >>> listed([1, 2, 5]), listed(range(20))
    ('1, 2 and 5', '0, 1, 2, 3, 4, 5, 6, 7 and 12 more')
    """
    shown_labels = [str(label) for label in labels[:NAMED]]
    more = len(labels) - len(shown_labels)
    last = f"{more} more" if more else (shown_labels.pop() if len(shown_labels) > 1 else "")
    return ", ".join(shown_labels) + (f" and {last}" if last else "")


def scale_lines(findings: Iterable["Finding"], given: str) -> list[str]:
    """One line per column and snapshot on where the signal is smooth, rough or follows the main divide."""
    found: dict[str, dict[str, list[Any]]] = {}
    lines: list[str] = []
    described = {(place(one), one.hop, one.statistic): one for one in findings if one.kind == "described"}
    for (where, hop, statistic), low in described.items():
        high = described.get((where, hop, "rough"))
        if statistic == "smooth" and high is not None and low.snapshot is None:
            shares = f"About {100 * low.value:.0f} % of it is in the lowest quarter of frequencies and"
            words = (
                f"{where}at {hops([hop])}: {shares} {100 * high.value:.0f} % in the highest; an even signal has 25 %."
            )
            lines += wrap(f"Scale {words}", WIDTH)
    for one in findings:
        if one.statistic not in SHARES or not one.significant:
            continue
        words = SHARES[one.statistic][0].removeprefix("is ")
        words += "" if one.beyond_degree or not given else f", not beyond {given},"
        found.setdefault(place(one), {}).setdefault(words, []).append(one.hop)
    for where, by_words in found.items():
        said = "; ".join(f"{words} at {hops(some)}" for words, some in by_words.items())
        lines += wrap(f"Scale{' i' + where[1:].rstrip() if where else ''}: {said}.", WIDTH)
    return lines
