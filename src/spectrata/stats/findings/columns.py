"""What a ranking of columns shows, in words."""

from typing import TYPE_CHECKING, Any

from spectrata.stats.findings.sentences import listed, nodes
from spectrata.stats.nulls.stopping import LEVEL

if TYPE_CHECKING:
    import pandas as pd

COLUMN_KEY = (
    "r: correlation between the two ends of a pair; above 0 alike, below 0 unlike.",
    "p: two-sided permutation test of r; q: false discovery rate over the columns tested; given degree: beyond degree.",
    "reach: nodes are alike, or unlike, at every hop up to this one; 0 where the verdict is neither.",
    "scale: quarter of the frequencies with the most energy for its size, 1 the smoothest.",
)


def column_sentences(table: "pd.DataFrame") -> list[str]:
    """How many columns of a ranking are alike or unlike, the clearest, and how far they reach."""
    hop, total = table["hop"].iloc[0], int(table["q"].notna().sum())
    constant = table["column"][table["q"].isna()].tolist()
    rest = [f"Not tested, since constant: {listed(constant)}."] if constant else []
    found = []
    for word in ("alike", "unlike"):
        part = table[table["verdict"] == word]
        if len(part):
            best = ", ".join(_named(row, word) for row in part.head(3).to_dict("records"))
            found.append(
                f"In {len(part)} of {total} columns {nodes(hop)} are {word}, more than chance and degree explain "
                f"(q <= {LEVEL}); clearest: {best}."
            )
    other = int(table["verdict"].str.startswith("not beyond").sum())
    if other:
        found.append(f"In {other} of {total} columns degree may explain why r differs from chance.")
    if not found:
        found = [f"In none of {total} columns {nodes(hop)} are more alike or more unlike than chance (q > {LEVEL})."]
    return found + rest


def _named(row: dict[str, Any], word: str) -> str:
    """A column with its r, and its reach where that goes beyond the first hop."""
    far = f", {word} up to {row['reach']} hops" if row["reach"] > 1 else ""
    return f"{row['column']} (r = {row['r']:.2f}{far})"
