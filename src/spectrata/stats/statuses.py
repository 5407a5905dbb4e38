"""What the status of a calibration says: what could not be judged, and which draws it would take."""

from typing import Any

import numpy as np

from spectrata.results.build import add_notes
from spectrata.stats.findings import LEVEL
from spectrata.stats.sequential import draws_needed, p_floor


def statuses(given: np.ndarray, out: dict[str, np.ndarray], sizes: np.ndarray | None) -> np.ndarray:
    """The result's own status, and where nothing could be calibrated, why: ``(A, R, H)``."""
    present = ~np.isnan(out["magnitude"])
    degenerate = (out["degenerate"] & present).sum(axis=-1)
    cells = present.sum(axis=-1)
    words = np.full(cells.shape, "", dtype=object)
    some = degenerate > 0
    words[some] = [
        "degenerate: no draw differs" if bad == of else f"{bad} of {of} degenerate: no draw differs there"
        for bad, of in zip(degenerate[some], cells[some], strict=True)
    ]
    words[np.isnan(out["p"]).all(axis=-1) & (cells > 0)] = "no draws: p and q not computed"
    if sizes is not None:  # a hop with few distinct eigenvalues leaves bands empty
        empty = np.array([f"{k} empty bands" if k else "" for k in (sizes == 0).sum(axis=1)], dtype=object)
        words = np.where(words == "", empty, np.where(empty == "", words, words + "; " + empty))
    words[(cells == 0) & (given == "ok")] = "undefined: no energy off zero"  # nothing to be relative to
    return add_notes(given, words)


def with_draws_needed(
    words: np.ndarray, out: dict[str, np.ndarray], facts: dict[str, Any], columns: int = 1
) -> np.ndarray:
    """The status with the draws it takes, where those made let q fall to 0.05 for no cell by itself: ``(A, R, H)``."""
    if facts["p_method"] == "moments":  # such a p has no floor
        return words
    algorithms, rows = words.shape[:2]
    shape = (algorithms, rows // columns, -1)  # families: see ``tally.against_chance``
    p, q, used, still = (out[name].reshape(shape) for name in ("p", "q", "draws_used", "degenerate"))
    judged = (~np.isnan(p) & ~still).sum(axis=-1)  # (A, families)
    made = used.max(axis=-1)
    short = (p_floor(made, facts["alternative"]) * judged > LEVEL) & ~(q <= LEVEL).any(axis=-1)
    note = np.full(judged.shape, "", dtype=object)
    for place in zip(*np.nonzero(short), strict=True):
        needed = draws_needed(int(judged[place]), facts["alternative"], LEVEL)
        said = f"one {facts['level']} alone cannot reach q <= .05"
        if not facts["argument"]:
            note[place] = f"With all {made[place] + 1} orders of the nodes {said}"
        elif facts["argument"] == "max_draws" and facts["affordable"] < needed:  # no larger max_draws would be drawn
            note[place] = f"With {made[place]} draws {said}; use draws={needed}, which takes long, or fewer hops"
        elif needed > facts[facts["argument"]]:  # else more draws were allowed, and no p was small enough to go on
            note[place] = f"With {made[place]} draws {said}; use {facts['argument']}={needed}"
    spread = np.repeat(note, columns, axis=1)[:, :, None]
    return add_notes(words, np.broadcast_to(spread, words.shape))
