"""Sentences about hops, columns, local maps, agreement and two results."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.stats.findings.finding import WIDTH, Finding, by_side, place_words, shown, shown_p
from spectrata.stats.nulls.given import as_list
from spectrata.stats.nulls.stopping import LEVEL

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

SIDES = ("alike", "less unlike than chance", "unlike", "less alike than chance")  # words of r that a test rejects
NAMED = 8  # labels that are named one by one
WEAK = 0.05  # |r| below which a likeness is called weak
NOT_BEYOND = "not shown beyond"  # that a test given degree does not reject is no evidence that degree explains it
# Of each share: what a value above, at and below chance is called (the last two "than chance"), and what of it is.
DIVIDE = "follows the main divide"
SHARES = {
    "smooth": ("is smooth", "is not distinguishably smoother", "is less smooth", "lowest quarter of frequencies"),
    "rough": ("is rough", "is not distinguishably rougher", "is less rough", "highest quarter of frequencies"),
    "main_divide": (DIVIDE, f"{DIVIDE} not distinguishably more", f"{DIVIDE} less", "Fiedler eigenspace"),
}
BOTH_ENDS = "smooth and rough together: more energy than chance in the lowest and in the highest quarter of frequencies"
# Of columns that have another verdict than "alike" and "unlike": what begins or ends it, and what is said of r.
OTHERS = {
    "not beyond": f", {NOT_BEYOND} {{}}",
    "reversed": ", and in the other direction with {} accounted for",
    "only given": " only with {} accounted for",
}
NOT_SCALED = "not tested"  # few components off zero, or pairs that fall into parts


def sentence(one: Finding, given: str) -> str:
    """The sentence of one test, with its numbers."""
    where = place(one)
    if one.kind == "undefined":
        return f"{where}{nodes(one.hop)}: not judged ({one.verdict}).".strip()
    said = _likeness(one, given) if one.statistic == "r" else _scale(one, given)
    near = "; near .05, more permutations could change the verdict" if one.near_level else ""
    text = f"{where}{said}: {_numbers(one, given)}{near}."
    return text[0].upper() + text[1:]


def _likeness(one: Finding, given: str) -> str:
    who = nodes(one.hop)
    if one.kind == "chance":
        base = f"{who} are not distinguishable from chance"
        return f"{base}, but {one.verdict.replace(' only', '')}" if "only given" in one.verdict else base
    word = by_side(one.kind, one.value)
    if word == one.kind and abs(one.value) < WEAK:
        word = f"weakly {word}"
    rest = "" if one.verdict == one.kind or not given else f", {one.verdict.replace('not beyond', NOT_BEYOND)}"
    return f"{who} are {word}{rest}"


def _scale(one: Finding, given: str) -> str:
    above, at_chance, below, _ = SHARES[one.statistic]
    if not one.significant:
        words = f"{below if one.p_family <= LEVEL else at_chance} than chance"
    else:
        words = above if one.beyond_degree or not given else f"{above}, {NOT_BEYOND} {given}"
    return f"at {hops([one.hop])} the signal {words}"


def _numbers(one: Finding, given: str) -> str:
    """The value with its chance and p, and the same given covariates."""
    is_r, numbers = one.statistic == "r", (one.value, one.value_given, one.chance_low, one.chance_high)
    value, held, low, high = (shown(x) if is_r else f"{100 * x:.0f}" for x in numbers)
    front, unit = ("r = ", "") if is_r else ("", " %")
    text = f"{front}{value}{unit}" + ("" if is_r else f" of it is in the {SHARES[one.statistic][-1]}")
    if np.isnan(one.p_family):
        return text
    text += f" (chance {low} to {high}{unit}, {equals_p(one.p_family)})"
    if given and np.isnan(one.value_given):
        return f"{text}; {given} leaves nothing to test"
    return f"{text}; given {given} {front}{held}{unit}, {equals_p(one.p_family_given)}" if given else text


def equals_p(p: float) -> str:
    """p with its sign of equality: "p = 0.02" or "p < 0.001"."""
    text = shown_p(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def place(one: Finding) -> str:
    """Column and snapshot in words; nothing where the signal has neither."""
    words = place_words(one.column, one.snapshot)
    return f"In {words} " if words else ""


def nodes(hop: Any) -> str:
    """Who is compared at a hop."""
    if isinstance(hop, str):
        return f"nodes at distance {hop}"
    return "neighbours" if hop == 1 else f"nodes {hop} hops apart"


def hops(some: Sequence[Any]) -> str:
    """Hops with their noun."""
    return f"hop{'s' if len(some) > 1 else ''} {runs(some)}"


def runs(some: Sequence[Any]) -> str:
    """Hops in words, runs of three or more joined: ``"1 to 3 and 5"``."""
    if any(isinstance(hop, str) for hop in some):
        return listed(some)
    starts = np.flatnonzero(np.diff(some, prepend=-1) != 1)
    pieces: list[str] = []
    for run in np.split(np.asarray(some), starts[1:]):
        pieces += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else [str(hop) for hop in run]
    return listed(pieces)


def listed(labels: Sequence[Any]) -> str:
    """Labels in words, at most ``NAMED`` of them: ``"0, 1, 2, 3, 4, 5, 6, 7 and 12 more"``."""
    shown_labels = [str(label) for label in labels[:NAMED]]
    more = len(labels) - len(shown_labels)
    last = f"{more} more" if more else (shown_labels.pop() if len(shown_labels) > 1 else "")
    return ", ".join(shown_labels) + (f" and {last}" if last else "")


def scale_lines(findings: Iterable[Finding], given: str) -> list[str]:
    """One line per column and snapshot on where the signal is smooth, rough or follows the main divide."""
    lines: list[str] = []
    for where, group in groupby(findings, key=place):
        some = [one for one in group if one.statistic]
        kinds = ("r", "smooth", "rough")
        r, smooth, rough = ({one.hop: one for one in some if one.statistic == kind} for kind in kinds)
        for hop, low in smooth.items():
            if low.kind == "described" and hop in rough and low.snapshot is None:
                shares = f"About {100 * low.value:.0f} % of it is in the lowest quarter of frequencies and"
                shares += f" {100 * rough[hop].value:.0f} % in the highest; an even signal has 25 %."
                lines += wrap(f"Scale {where}at {hops([hop])}: {shares}", WIDTH)
        found: dict[str, list[Any]] = {}
        for one in some:
            if one.statistic in SHARES and one.significant:
                words = SHARES[one.statistic][0].removeprefix("is ") + " (near .05)" * one.near_level
                words += "" if one.beyond_degree or not given else f", {NOT_BEYOND} {given},"
                found.setdefault(words, []).append(one.hop)
        if found:
            ends = (hop for hop in smooth if hop in rough)
            found[BOTH_ENDS] = [hop for hop in ends if smooth[hop].significant and rough[hop].significant]
            scaled = {one.hop for one in some if one.statistic in SHARES}
            found[NOT_SCALED] = [hop for hop in r if hop not in scaled and r[hop].kind != "undefined"]
            said = "; ".join(f"{words} at {hops(at)}" for words, at in found.items() if at)
            lines += wrap(f"Scale{' i' + where[1:].rstrip() if where else ''}: {said}.", WIDTH)
    return lines


# ---- headlines


def likeness_words(rows: Sequence[Finding], diameter: int | None) -> str:
    """Verdicts in words, hops that follow each other with one verdict together: ``"alike up to 2 hops, unlike at 4"``.

    The first hop leads. Of the others the clear verdicts are named; only where there is none, those that are not shown
    beyond degree or hold only given degree. "From K hops on" ends at the diameter.
    """
    # Equal for hops that follow each other.
    steps = [one.hop if isinstance(one.hop, str) else one.hop - at for at, one in enumerate(rows)]
    runs_of = groupby(zip(map(_said, rows), steps, rows, strict=True), key=lambda row: row[:2])
    groups = [(*said, [one.hop for _, _, one in group]) for (said, _), group in runs_of]
    some = [group for group in groups if group[0] in (CLEAR, BEHIND, GIVEN)]
    if not some:
        known = any(one.kind != "undefined" for one in rows)
        at_chance = any(group[0] == CHANCE for group in groups)
        return AT_CHANCE if at_chance else "described, not tested" if known else "not tested"
    first = groups[0][-1]  # the hops that lead
    clear = any(group[0] == CLEAR for group in some)
    kept = [groups[0]] if groups[0][0] == CHANCE else []
    kept += [group for group in some if group[0] == CLEAR or not clear or group[-1] is first]
    kept.sort(key=lambda group: (group[-1] is not first, group[0]))
    return ", ".join(f"{word} {_where(at, diameter)}{rest}" for _, word, rest, at in kept)


CLEAR, BEHIND, GIVEN, CHANCE, SILENT = range(5)  # what a verdict says, the clearest first
AT_CHANCE = "not distinguishable from chance"


def _said(one: Finding) -> tuple[int, str, str]:
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


def _where(some: list[Any], diameter: int | None) -> str:
    first, last = some[0], some[-1]
    if isinstance(first, str):
        return f"at distance {first}"
    if first == 1:
        return "between neighbours" if last == 1 else f"up to {last} hops"
    return f"from {first} hops on" if last == diameter and first != last else f"at {runs(some)} hops"


def covariate_names(given: Any) -> list[str]:
    """The names of ``given=``; "the covariates" where they are arrays or tables, nothing where there are none."""
    some = as_list(given)
    return list(some) if all(isinstance(one, str) for one in some) else ["the covariates"]


def column_sentences(table: "pd.DataFrame", given: Any = "degree") -> list[str]:
    """How many columns of a ranking are alike or unlike, the clearest, and how far they reach."""
    hop, total, names = table["hop"].iloc[0], int(table["q"].notna().sum()), covariate_names(given)
    found, explain = [], f"than {listed(['chance', *names])} {'explain' if names else 'explains'}"
    said = [by_side(word, r) for word, r in zip(table["verdict"], table["r"], strict=True)]
    for word in SIDES:
        part = table[[one == word for one in said]]
        if len(part):
            best = ", ".join(_named(row, word) for row in part.head(3).to_dict("records"))
            more = f"{word.removesuffix(' than chance')}{'' if 'than' in word else ', more'} {explain}"
            found.append(f"In {len(part)} of {total} columns {nodes(hop)} are {more} (q <= {LEVEL}); clearest: {best}.")
    for verdict, words in OTHERS.items():
        if other := int(table["verdict"].str.contains(verdict).sum()):
            found.append(f"In {other} of {total} columns r differs from chance{words.format(listed(names))}.")
    if total and not found:
        found = [f"In none of {total} columns {nodes(hop)} are shown to differ from chance (q > {LEVEL})."]
    constant, untested = table["r"].isna(), table["q"].isna()
    for words, some in (("Not tested, since constant", constant), ("Described, not tested", untested & ~constant)):
        found += [f"{words}: {listed(table['column'][some].tolist())}."] if some.any() else []
    return found


def _named(row: dict[Any, Any], word: str) -> str:
    """A column with its r, and its reach where that goes beyond the first hop."""
    far = f", {word} up to {row['reach']} hops" if row["reach"] > 1 else ""
    return f"{row['column']} (r = {row['r']:.2f}{far})"


# ---- first sentences of commands


def local_sentence(
    verdicts: Sequence[str], total: int, hops: Iterable[Any], covariates: Sequence[str], differ: int = 0
) -> str:
    """How many nodes are like or unlike others, and how: ``verdicts`` are theirs; more ``differ`` from chance alone."""
    where = "neighbours" if list(hops) == [1] else "nodes at these hops"
    beyond = listed(["chance", *covariates])
    more = f"{differ:,} {'more ' if verdicts else ''}node{'s differ' if differ > 1 else ' differs'} from chance"
    rest = f" {more}, {NOT_BEYOND} {listed(covariates)}." if differ else ""
    if not verdicts:
        return f"No node is shown to be like or unlike its {where} beyond {beyond}.{rest}"
    said = ", ".join(f"{number:,} {word}" for word, number in Counter(verdicts).most_common())
    return f"{len(verdicts):,} of {total:,} nodes are like or unlike their {where} beyond {beyond}: {said}.{rest}"


def agree_sentence(verdicts: Sequence[str], null: str) -> str:
    """Whether signals agree at the same node: one verdict, or one for each column."""
    beyond = "beyond their smoothness" if null == "spectral" else "beyond shuffled nodes"
    if len(verdicts) > 1:
        opposite = verdicts.count("opposite")
        return f"{verdicts.count('agree')} of {len(verdicts)} columns agree {beyond}, {opposite} are opposite."
    if verdicts[0].startswith("not beyond"):
        return f"The signals correlate {beyond}, but {verdicts[0]}."
    word = {"agree": "The signals agree", "opposite": "The signals are opposite"}.get(verdicts[0])
    return f"{word} {beyond}." if word else f"No agreement {beyond} was found ({verdicts[0]})."


def shift_sentence(found: "xr.Dataset", best: list[dict[str, Any]], by_band: list[dict[str, Any]]) -> str:
    """What the test of shifts of energy from A to B found: ``best`` has the clearest band of each row."""
    if "shift_p" not in found:
        return f"The shifts were not tested: {str(found.attrs['shift_test']).removeprefix('none: ')}."
    clear, first = [row for row in by_band if row["shift_p"] <= LEVEL], best[0]
    if not clear:
        return "No shift of energy from A to B is distinguishable from chance (p > .05 at every hop)."
    band, many = first["place"].replace("/", " of "), "more" if first["energy_shift"] > 0 else "less"
    return (
        f"B has {many} energy in band {band}, from low to high frequencies, than A at hop {first['hop']} "
        f"({first['energy_shift']:+.3f} of the energy); {len(clear)} of {len(by_band)} shifts differ from chance."
    )
