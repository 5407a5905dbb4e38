"""Sentences about hops, made from the fields of findings."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.stats.findings.table import WIDTH, shown, shown_p
from spectrata.stats.nulls.stopping import LEVEL

if TYPE_CHECKING:
    import pandas as pd

    from spectrata.stats.findings.finding import Finding

NAMED = 8  # labels that are named one by one
WEAK = 0.05  # |r| below which a likeness is called weak
NOT_BEYOND = "not shown beyond"  # that a test given degree does not reject is no evidence that degree explains it
SINGULAR = {"layers": "layer", "epochs": "epoch"}
# Of each share: what a value above, at and below chance is called (the last two "than chance"), and what of it is.
DIVIDE = "follows the main divide"
SHARES = {
    "smooth": ("is smooth", "is not distinguishably smoother", "is less smooth", "lowest quarter of frequencies"),
    "rough": ("is rough", "is not distinguishably rougher", "is less rough", "highest quarter of frequencies"),
    "main_divide": (DIVIDE, f"{DIVIDE} not distinguishably more", f"{DIVIDE} less", "Fiedler eigenspace"),
}
BOTH_ENDS = "smooth and rough together: more energy than chance in the lowest and in the highest quarter of frequencies"
NOT_SCALED = "not tested"  # few components off zero, or pairs that fall into parts


def sentence(one: "Finding", given: str) -> str:
    """The sentence of one test, with its numbers.

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
    near = "; near .05, more permutations could change the verdict" if one.near_level else ""
    text = f"{where}{said}: {_numbers(one)}{_given(one, given)}{near}."
    return text[0].upper() + text[1:]


def _likeness(one: "Finding", given: str) -> str:
    who = nodes(one.hop)
    if one.kind == "chance":
        base = f"{who} are not distinguishable from chance"
        return f"{base}, but {one.verdict.replace(' only', '')}" if "only given" in one.verdict else base
    word = by_side(one.kind, one.value)
    if word == one.kind and abs(one.value) < WEAK:
        word = f"weakly {word}"
    rest = "" if one.verdict == one.kind or not given else f", {one.verdict.replace('not beyond', NOT_BEYOND)}"
    return f"{who} are {word}{rest}"


def _scale(one: "Finding", given: str) -> str:
    above, at_chance, below, _ = SHARES[one.statistic]
    if not one.significant:
        words = f"{below if one.p_family <= LEVEL else at_chance} than chance"
    else:
        words = above if one.beyond_degree or not given else f"{above}, {NOT_BEYOND} {given}"
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
    findings = list(findings)
    found: dict[str, dict[str, list[Any]]] = {}
    ends: dict[str, dict[str, list[Any]]] = {}
    lines: list[str] = []
    described = {(place(one), one.hop, one.statistic): one for one in findings if one.kind == "described"}
    for (where, hop, statistic), low in described.items():
        high = described.get((where, hop, "rough"))
        if statistic == "smooth" and high is not None and low.snapshot is None:
            shares = f"About {100 * low.value:.0f} % of it is in the lowest quarter of frequencies and"
            shares += f" {100 * high.value:.0f} % in the highest; an even signal has 25 %."
            lines += wrap(f"Scale {where}at {hops([hop])}: {shares}", WIDTH)
    hops_of_r: dict[str, list[Any]] = {}
    scaled: dict[str, list[Any]] = {}
    for one in findings:
        if one.statistic == "r" and one.kind != "undefined":
            hops_of_r.setdefault(place(one), []).append(one.hop)
        if one.statistic == "smooth":
            scaled.setdefault(place(one), []).append(one.hop)
        if one.statistic in SHARES and one.significant:
            words = SHARES[one.statistic][0].removeprefix("is ") + " (near .05)" * one.near_level
            words += "" if one.beyond_degree or not given else f", {NOT_BEYOND} {given},"
            found.setdefault(place(one), {}).setdefault(words, []).append(one.hop)
            ends.setdefault(place(one), {}).setdefault(one.statistic, []).append(one.hop)
    for where, by_words in found.items():
        both = [hop for hop in ends[where].get("smooth", ()) if hop in ends[where].get("rough", ())]
        lacking = [hop for hop in hops_of_r.get(where, ()) if hop not in scaled.get(where, ())]
        by_words |= {BOTH_ENDS: both} if both else {}
        by_words |= {NOT_SCALED: lacking} if lacking else {}
        said = "; ".join(f"{words} at {hops(some)}" for words, some in by_words.items())
        lines += wrap(f"Scale{' i' + where[1:].rstrip() if where else ''}: {said}.", WIDTH)
    return lines


# ---- headlines


def likeness_words(rows: Sequence["Finding"], diameter: int | None) -> str:
    """Verdicts of consecutive hops in words: the first hop leads, and what shows only given degree comes last.

    Of the others "alike" and "unlike", and only where there is neither what is not shown beyond degree. "From K hops
    on" ends at the diameter.

    Examples
    --------
    >>> from spectrata.stats.findings import Finding
    >>> words = ["alike", "alike", "chance", "unlike", "unlike"]
    >>> rows = [Finding("", "", hop, value=0.5, verdict=word) for hop, word in enumerate(words, start=1)]
    >>> likeness_words(rows, 5), likeness_words(rows[2:3], 5)
    ('alike up to 2 hops, less alike than chance from 4 hops on', 'not distinguishable from chance')
    """
    known = [one for one in rows if one.kind != "undefined"]
    # Equal for hops that follow each other.
    steps = [one.hop if isinstance(one.hop, str) else one.hop - at for at, one in enumerate(rows)]
    groups = []
    for (said, _), group in groupby(zip(map(_said, rows), steps, rows, strict=True), key=lambda row: row[:2]):
        groups.append((*said, [row[2].hop for row in group]))
    first = groups[0][-1][0] if groups else None  # the hop that leads
    some = [group for group in groups if group[0] in (CLEAR, BEHIND, GIVEN)]
    if not some:
        at_chance = any(one.verdict == "chance" for one in known)
        return AT_CHANCE if at_chance else "described, not tested" if known else "not tested"
    clear = any(group[0] == CLEAR for group in some)
    kept = [group for group in some if group[0] == CLEAR or not clear or group[-1][0] == first]
    if groups[0][0] == CHANCE:
        kept.insert(0, groups[0])
    kept.sort(key=lambda group: (group[-1][0] != first, group[0]))
    return ", ".join(f"{word} {_where(hops, diameter)}{rest}" for _, word, rest, hops in kept)


CLEAR, BEHIND, GIVEN, CHANCE, SILENT = range(5)  # what a verdict says, the clearest first
AT_CHANCE = "not distinguishable from chance"


def _said(one: "Finding") -> tuple[int, str, str]:
    """What the verdict of a hop says: its rank, its word, and what stands behind the hop."""
    if one.verdict in ("alike", "unlike"):
        return CLEAR, by_side(one.verdict, one.value), ""
    if "only given" in one.verdict:
        return GIVEN, one.verdict, ""
    if one.verdict == "chance":
        return CHANCE, AT_CHANCE, ""
    if not one.verdict.startswith(("not beyond", "reversed")):
        return SILENT, "", ""
    middle = (one.chance_low + one.chance_high) / 2
    side = one.kind or ("alike" if one.value > (0.0 if np.isnan(middle) else middle) else "unlike")
    return BEHIND, by_side(side, one.value), f" ({one.verdict.replace('not beyond', NOT_BEYOND)})"


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
    return f"from {first} hops on" if last == diameter and first != last else f"at {runs(some)} hops"


def covariate_names(given: Any) -> list[str]:
    """The names of ``given=``; "the covariates" where they are arrays or tables, nothing where there are none.

    Examples
    --------
    >>> covariate_names("degree"), covariate_names(["degree", "batch"]), covariate_names(None)
    (['degree'], ['degree', 'batch'], [])
    """
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
        found.append(f"In {other} of {total} columns r differs from chance, {NOT_BEYOND} {listed(names)}.")
    if total and not found:
        found = [f"In none of {total} columns {nodes(hop)} are shown to differ from chance (q > {LEVEL})."]
    if other := int(table["verdict"].str.contains("only given").sum()):
        found.append(f"In {other} of {total} columns r differs from chance only with {listed(names)} accounted for.")
    constant, untested = table["r"].isna(), table["q"].isna()
    for words, some in (("Not tested, since constant", constant), ("Described, not tested", untested & ~constant)):
        found += [f"{words}: {listed(table['column'][some].tolist())}."] if some.any() else []
    return found


def _named(row: dict[Any, Any], word: str) -> str:
    """A column with its r, and its reach where that goes beyond the first hop."""
    far = f", {word} up to {row['reach']} hops" if row["reach"] > 1 else ""
    return f"{row['column']} (r = {row['r']:.2f}{far})"
