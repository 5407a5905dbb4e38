"""Sentences about hops, made from the fields of findings."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.stats.findings.finding import WIDTH, Finding, shown, shown_p
from spectrata.stats.nulls.stopping import LEVEL

if TYPE_CHECKING:
    import pandas as pd

NAMED = 8  # labels that are named one by one
WEAK = 0.05  # |r| below which a likeness is called weak
# Of each share: what a value above, at and below chance is called (the last two "than chance"), and what of it is.
DIVIDE = "follows the main divide"
SHARES = {
    "smooth": ("is smooth", "is no smoother", "is less smooth", "lowest quarter of frequencies"),
    "rough": ("is rough", "is no rougher", "is less rough", "highest quarter of frequencies"),
    "main_divide": (DIVIDE, f"{DIVIDE} no more", f"{DIVIDE} less", "Fiedler eigenspace"),
}


def sentence(one: Finding, given: str) -> str:
    """The sentence of one test, with its numbers."""
    where = place(one)
    if one.kind == "undefined":
        return f"{where}{nodes(one.hop)}: not judged ({one.verdict}).".strip()
    said = _likeness(one, given) if one.statistic == "r" else _scale(one, given)
    text = f"{where}{said}: {_numbers(one, given)}."
    return text[0].upper() + text[1:]


def _likeness(one: Finding, given: str) -> str:
    who = nodes(one.hop)
    if one.kind == "chance":
        base = f"{who} are not distinguishable from chance"
        return f"{base}, but {one.verdict.replace(' only', '')}" if "only given" in one.verdict else base
    word = by_side(one.kind, one.value)
    if word == one.kind and abs(one.value) < WEAK:
        word = f"weakly {word}"
    rest = "" if one.verdict == one.kind or not given else f", {one.verdict}"
    return f"{who} are {word}{rest}"


def _scale(one: Finding, given: str) -> str:
    above, at_chance, below, _ = SHARES[one.statistic]
    if not one.significant:
        words = f"{below if one.p_family <= LEVEL else at_chance} than chance"
    else:
        words = above if one.beyond_degree or not given else f"{above}, not beyond {given}"
    return f"at {hops([one.hop])} the signal {words}"


def _numbers(one: Finding, given: str) -> str:
    is_r, values = one.statistic == "r", (one.value, one.chance_low, one.chance_high, one.value_given)
    value, low, high, left = (shown(x) if is_r else f"{100 * x:.0f}" for x in values)
    text = f"r = {value}" if is_r else f"{value} % of it is in the {SHARES[one.statistic][-1]}"
    if np.isnan(one.p_family):
        return text
    unit = "" if is_r else " %"
    text += f" (chance {low} to {high}{unit}, {equals_p(one.p_family)})"
    if given and np.isnan(one.value_given):
        return f"{text}; {given} leaves nothing to test"
    return f"{text}; given {given} {'r = ' * is_r}{left}{unit}, {equals_p(one.p_family_given)}" if given else text


def equals_p(p: float) -> str:
    """p with its sign of equality: "p = 0.02" or "p < 0.001"."""
    text = shown_p(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def place(one: Finding) -> str:
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
    return f"hop{'s' if len(some) > 1 else ''} {runs(some)}"


def runs(some: Sequence[Any]) -> str:
    """Hops in words, runs of three or more joined."""
    if any(isinstance(hop, str) for hop in some):
        return listed(some)
    starts = np.flatnonzero(np.diff(some, prepend=-1) != 1)
    pieces: list[str] = []
    for run in np.split(np.asarray(some), starts[1:]):
        pieces += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else [str(hop) for hop in run]
    return listed(pieces)


def listed(labels: Sequence[Any]) -> str:
    """Labels in words, at most ``NAMED`` of them."""
    shown_labels = [str(label) for label in labels[:NAMED]]
    more = len(labels) - len(shown_labels)
    last = f"{more} more" if more else (shown_labels.pop() if len(shown_labels) > 1 else "")
    return ", ".join(shown_labels) + (f" and {last}" if last else "")


def scale_lines(findings: Iterable[Finding], given: str) -> list[str]:
    """One line per column and snapshot on where the signal is smooth, rough or follows the main divide."""
    found: dict[str, dict[str, list[Any]]] = {}
    lines: list[str] = []
    described = {(place(one), one.hop, one.statistic): one for one in findings if one.kind == "described"}
    for (where, hop, statistic), low in described.items():
        high = described.get((where, hop, "rough"))
        if statistic == "smooth" and high is not None and low.snapshot is None:
            shares = f"About {100 * low.value:.0f} % of it is in the lowest quarter of frequencies and"
            shares += f" {100 * high.value:.0f} % in the highest; an even signal has 25 %."
            lines += wrap(f"Scale {where}at {hops([hop])}: {shares}", WIDTH)
    for one in findings:
        if one.statistic in SHARES and one.significant:
            words = SHARES[one.statistic][0].removeprefix("is ")
            words += "" if one.beyond_degree or not given else f", not beyond {given},"
            found.setdefault(place(one), {}).setdefault(words, []).append(one.hop)
    for where, by_words in found.items():
        said = "; ".join(f"{words} at {hops(some)}" for words, some in by_words.items())
        lines += wrap(f"Scale{' i' + where[1:].rstrip() if where else ''}: {said}.", WIDTH)
    return lines


def likeness_words(rows: Sequence[Finding], diameter: int | None) -> str:
    """Verdicts of consecutive hops in words, those that say alike or unlike; "from K hops on" ends at the diameter."""
    known = [one for one in rows if one.kind != "undefined"]
    plain = [by_side(one.verdict, one.value) if one.verdict in ("alike", "unlike") else "" for one in rows]
    given = [one.verdict.replace(" only", "") if " given " in one.verdict else "" for one in rows]
    # Equal for hops that follow each other.
    steps = [one.hop if isinstance(one.hop, str) else one.hop - at for at, one in enumerate(rows)]
    for words in (plain, given):
        found = []
        for (word, _), group in groupby(zip(words, steps, rows, strict=True), key=lambda row: row[:2]):
            found += [f"{word} {_where([row[2].hop for row in group], diameter)}"] if word else []
        if found:
            return ", ".join(found)
    behind = next((one.verdict for one in known if one.verdict.startswith("not beyond")), "")
    if behind:
        return f"no likeness {behind.removeprefix('not ')}"
    if any(one.verdict == "chance" for one in known):
        return "not distinguishable from chance"
    return "described, not tested" if known else "not tested"


def by_side(word: str, r: float) -> str:
    """Alike or unlike; where r has the other sign, the side of chance."""
    if word == "alike" and r < 0:
        return "less unlike than chance"
    return "less alike than chance" if word == "unlike" and r > 0 else word


def _where(some: list[Any], diameter: int | None) -> str:
    first, last = some[0], some[-1]
    if isinstance(first, str):
        return f"at distance {first}"
    if first == 1:
        return "between neighbours" if last == 1 else f"up to {last} hops"
    return f"from {first} hops on" if last == diameter else f"at {runs(some)} hops"


def covariate_names(given: Any) -> list[str]:
    """The names of ``given=``; "the covariates" where they are arrays or tables, nothing where there are none."""
    if given is None or given is False:
        return []
    some = given if isinstance(given, (list, tuple)) else [given]
    return list(some) if all(isinstance(one, str) for one in some) else ["the covariates"]


def column_sentences(table: "pd.DataFrame", given: Any = "degree") -> list[str]:
    """How many columns of a ranking are alike or unlike, the clearest, and how far they reach."""
    hop, total, names = table["hop"].iloc[0], int(table["q"].notna().sum()), covariate_names(given)
    found, explain = [], f"{listed(['chance', *names])} {'explain' if names else 'explains'}"
    for word in ("alike", "unlike"):
        part = table[table["verdict"] == word]
        if len(part):
            best = ", ".join(_named(row, word) for row in part.head(3).to_dict("records"))
            what = f"are {word}, more than {explain} (q <= {LEVEL}); clearest: {best}."
            found.append(f"In {len(part)} of {total} columns {nodes(hop)} {what}")
    if other := int(table["verdict"].str.startswith("not beyond").sum()):
        found.append(f"In {other} of {total} columns {listed(names)} may explain why r differs from chance.")
    if total and not found:
        found = [f"In none of {total} columns {nodes(hop)} are more alike or more unlike than chance (q > {LEVEL})."]
    constant, untested = table["r"].isna(), table["q"].isna()
    for words, some in (("Not tested, since constant", constant), ("Described, not tested", untested & ~constant)):
        found += [f"{words}: {listed(table['column'][some].tolist())}."] if some.any() else []
    return found


def _named(row: dict[Any, Any], word: str) -> str:
    """A column with its r, and its reach where that goes beyond the first hop."""
    far = f", {word} up to {row['reach']} hops" if row["reach"] > 1 else ""
    return f"{row['column']} (r = {row['r']:.2f}{far})"
