"""P-values of bands from exact moments, for large graphs, with a sample of them confirmed by permutations."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.core.plan import Plan
from spectrata.errors import OptionError
from spectrata.inputs.numbers import one_of
from spectrata.inputs.signals import Potential
from spectrata.stats.draws import Permuted
from spectrata.stats.judge import Judge
from spectrata.stats.sequential import p_floor
from spectrata.stats.tails import LEAST_NODES, SKEWED, pearson_p, signal_thirds, space_thirds, third_moment
from spectrata.stats.tally import Tally, differs

if TYPE_CHECKING:
    import xarray as xr

METHODS = ("auto", "permutations", "moments")
CONFIRMED = 200  # random cells whose p-values permutations confirm
CONFIRMING = 199  # draws for each of them
AFFORDABLE = 5e11  # multiplications of the first draws, about half a minute, beyond which "auto" takes moments
FIRST = 99  # draws of a skewed cell before those that it needs
WITHIN = 3.3  # standard errors of its permutation p-value that a p-value from moments may lie away


@dataclass(frozen=True, eq=False)
class Approximate:
    """P-values from moments at one hop, the cells too skewed for them, and those that permutations confirmed."""

    p: np.ndarray  # (A, T, group), NaN in skewed cells
    skewed: np.ndarray  # (A, T, group)
    cells: np.ndarray  # (c, 3): algorithm, row, group
    by_moments: np.ndarray  # (c,)
    by_draws: np.ndarray  # (c,)


def choose_method(asked: str, refused: str, cost: float) -> str:
    """The method meant: "auto" takes moments where they serve and permutations would take long.

    ``refused`` is why moments do not serve, empty where they do.
    """
    one_of(asked, "p_method", METHODS)
    if asked == "moments" and refused:
        raise OptionError(f"p_method='moments' {refused}; use p_method='permutations'.")
    if asked == "auto":
        return "moments" if not refused and cost > AFFORDABLE else "permutations"
    return asked


def why_refused(plan: Plan, level: str, closed: bool, n: int) -> str:
    """Why p-values cannot come from moments; nothing where they can."""
    if not closed:
        return "needs null='permute' and relative=False"
    if level != "band":
        return "is for level='band'"
    if not all(row.exact for row in plan.rows):
        names = [row.name for row in plan.rows if not row.exact]
        return f"has no moments for {', '.join(names)}"
    if not plan.options.operator.has_constants:
        return f"is not derived for laplacian={plan.options.laplacian!r}"
    return f"needs at least {LEAST_NODES:,} nodes and the graph has {n:,}" if n < LEAST_NODES else ""


def approximate_p(
    judge: Judge, tally: Tally, field: Potential, source: Permuted, alternative: str, hops: int
) -> Approximate:
    """P-values of one hop, and its share of the cells confirmed."""
    thirds = space_thirds(judge.basis, judge.groups[0], judge.count)
    third = third_moment(thirds, signal_thirds(field.values), judge.basis.n_nodes)  # (T, group)
    mean, deviation = tally.exact[0]
    with np.errstate(invalid="ignore", divide="ignore"):
        z = (tally.observed[0] ** 2 - mean) / deviation
        skewness = third * (field.scale[:, None] ** 2 / deviation) ** 3
    p = np.full(z.shape, np.nan)
    known = np.isfinite(z) & np.isfinite(skewness)
    fine = known & (np.abs(skewness) <= SKEWED)
    p[fine] = pearson_p(z[fine], skewness[fine], alternative)
    rng = np.random.default_rng([judge.plan.seed, 0xC0F, judge.stratum.hop])
    chosen = np.argwhere(fine)
    some = chosen[np.sort(rng.permutation(len(chosen))[: -(-CONFIRMED // hops)])]
    by_draws = _by_draws(judge, tally, source, some, alternative)
    cells = np.column_stack([np.zeros(len(some), dtype=int), some])
    return Approximate(p[None], (known & ~fine)[None], cells, p[tuple(some.T)], by_draws)


def _by_draws(judge: Judge, tally: Tally, source: Permuted, cells: np.ndarray, alternative: str) -> np.ndarray:
    """Permutation p-values of cells ``(c, 2)``: rows and groups."""
    orders = source.orders.take(0, min(CONFIRMING, source.total))
    step = max(1, 2**24 // (len(orders) * judge.basis.n_nodes * source.width))
    found = np.full(len(cells), np.nan)
    for group in np.unique(cells[:, 1]):
        here = np.flatnonzero(cells[:, 1] == group)
        for start in range(0, len(here), step):
            numbers = here[start : start + step]
            rows = cells[numbers, 0]
            drawn = judge.read_some(source.arranged(rows, orders), 0, np.array([group]))
            observed, floor = (one[0, rows, group][:, None] for one in (tally.observed, tally.floor))
            above, below, _ = differs(drawn.reshape(len(rows), -1), observed, floor, tally.tie)
            upper, lower = ((1 + extreme.sum(axis=1)) / (len(orders) + 1) for extreme in (above, below))
            both = np.minimum(1.0, 2 * np.minimum(upper, lower))
            found[numbers] = {"greater": upper, "less": lower, "two-sided": both}[alternative]
    return found


def confirmed(ds: "xr.Dataset", hops: list[Approximate]) -> "xr.Dataset":
    """The calibration with the cells that were confirmed, and the share of them that agree."""
    by_moments, by_draws = (np.concatenate([getattr(hop, name) for hop in hops]) for name in ("by_moments", "by_draws"))
    rows, bands = (np.concatenate([hop.cells[:, k] for hop in hops]) for k in (1, 2))
    at = np.repeat(ds["hop"].values, [len(hop.cells) for hop in hops])
    words: dict[str, tuple[Any, str]] = {
        "confirmed_p": (by_draws, f"p from {CONFIRMING} permutations"),
        "confirmed_p_moments": (by_moments, "p from moments of the same cell"),
        "confirmed_row": (rows, "row of the cell: snapshots, and columns inside them"),
        "confirmed_hop": (at, "hop of the cell"),
        "confirmed_band": (bands, "band of the cell"),
    }
    agree = agreement(by_moments, by_draws, str(ds.attrs["alternative"]))
    found = {name: ("confirmed", array, {"long_name": text}) for name, (array, text) in words.items()}
    return ds.assign(found).assign_attrs(p_confirmed=len(rows), p_agreement=agree)


def agreement(by_moments: np.ndarray, by_draws: np.ndarray, alternative: str) -> float:
    """Share of cells whose two p-values agree within the error of the permutations."""
    tails = 2 if alternative == "two-sided" else 1
    tail = by_moments / tails
    error = tails * np.sqrt(tail * (1 - tail) / CONFIRMING)
    near = np.abs(by_moments - by_draws) <= WITHIN * error + p_floor(np.array(CONFIRMING), alternative)
    return float(np.mean(near)) if len(near) else float("nan")
