"""The first sentence on a local map, on the agreement of signals, and on two results."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from spectrata.stats.findings.sentences import listed
from spectrata.stats.nulls.stopping import LEVEL

if TYPE_CHECKING:
    import xarray as xr


def local_sentence(verdicts: Sequence[str], total: int, hops: Iterable[Any], covariates: Sequence[str]) -> str:
    """How many nodes stand out, and how: ``verdicts`` are theirs.

    Examples
    --------
    >>> local_sentence(["high among high", "high among high"], 34, [1], ["degree"])
    '2 of 34 nodes stand out from their neighbours beyond chance and degree: 2 high among high.'
    """
    where = "neighbours" if list(hops) == [1] else "nodes at these hops"
    beyond = listed(["chance", *covariates])
    if not verdicts:
        return f"No node is like or unlike its {where} beyond {beyond} (q > .05)."
    said = ", ".join(f"{number:,} {word}" for word, number in Counter(verdicts).most_common())
    return f"{len(verdicts):,} of {total:,} nodes stand out from their {where} beyond {beyond}: {said}."


def agree_sentence(verdicts: Sequence[str], null: str) -> str:
    """Whether signals agree at the same node: one verdict, or one for each column.

    Examples
    --------
    >>> agree_sentence(["chance"], "spectral")
    'No agreement beyond their smoothness was found (chance).'
    """
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
