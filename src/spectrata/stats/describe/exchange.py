"""Test differences of band shares by exchanging two signals at random nodes."""

import numpy as np

from spectrata.core.bases.basis import EigenBasis, coefficients_of
from spectrata.core.hop import split_along
from spectrata.core.operators import Operator
from spectrata.core.registry import EXACT
from spectrata.core.strata import Stratum
from spectrata.inputs.signals import Signal, potential
from spectrata.kernels.scaling import LAST_DIGITS
from spectrata.results.schema import View
from spectrata.stats.describe.levels import level_groups, rebuild
from spectrata.stats.describe.spectrum import FLOOR
from spectrata.stats.nulls.surrogates import exchange_signs

TIE = 1e-9  # two shifts are tied when they differ by less than this share
TESTED = 10  # rows that are all tested; of more, the first and the last
CONFIDENCE = 0.95
NULL = (
    "at every node it is arbitrary, independently of the other nodes, which of the two vectors belongs to which "
    "signal; p is the larger of that for the signals as they are and that for both brought to mean 0 and unit length"
)


def why_untested(a: View, b: View, draws: int) -> str:
    """Say why the shifts of two results cannot be tested; "" where they can."""
    if draws == 0:
        return "no draws"
    if a.is_bands:
        return "results of band_spectra keep no signal"
    if EXACT not in a.algorithms:
        return f"only {EXACT} has one"
    if a.signal is None or b.signal is None or "edges" not in a.ds:
        return "the signals were not kept; compute both with keep=['signal']"
    if "bins" in a.ds.attrs:
        return "results of bins of distances do not keep their pairs of nodes"
    if a.signal.shape[2] != b.signal.shape[2]:
        widths = f"{a.signal.shape[2]} and {b.signal.shape[2]}"
        return f"the signals have {widths} columns, and vectors of different lengths cannot be exchanged"
    return ""


def shift_intervals(a: View, b: View, bands: int, draws: int, seed: int) -> dict[str, np.ndarray]:
    """Compute interval and corrected p of the shifts of band shares, b less a: ``(R, H, bands)``, NaN if untested."""
    operator = Operator(a.options["laplacian"], a.options["self_loops"])
    strat = rebuild(a).using(**operator.arguments)
    first, second = (potential(Signal(np.asarray(side), None), a.metric, "zero") for side in (a.signal, b.signal))
    count = max(len(first), len(second))
    parts = Stratum(1, a.n_nodes, strat.graph.edges).parts if operator.has_constants else None
    ready = {}
    for row in range(count) if count <= TESTED else (0, count - 1):
        i, j = row % len(first), row % len(second)
        common = max(first.scale[i], second.scale[j])  # a power of two of both
        pair = first.values[i] * (first.scale[i] / common), second.values[j] * (second.scale[j] / common)
        ready[row] = comparable(*pair, parts, a.metric)
    out = {name: np.full((count, len(a.hops), bands), np.nan) for name in ("shift_low", "shift_high", "shift_p")}
    signs = exchange_signs(seed, a.n_nodes, draws)
    for place, hop in enumerate(a.hops if any(ready.values()) else ()):
        forms = band_forms(strat.basis(hop), bands)
        for row, pairs in ready.items():
            found = [max_shift_test(exchanged_shifts(*pair, forms, signs)) for pair in pairs]
            if found:
                reach, p = np.max(found, axis=0)
                out["shift_low"][row, place], out["shift_high"][row, place] = -reach, reach
                out["shift_p"][row, place] = p
    return out


def band_forms(basis: EigenBasis, bands: int) -> np.ndarray:
    """Build the matrices P of every band with the energy ``tr(t^T P t)`` of a signal, ``(bands, n, n)``."""
    groups, count = level_groups(basis.axis, "band", bands)
    vectors = coefficients_of(basis)
    inside = [vectors[:, groups[0] == band] for band in range(count)]
    return np.stack([columns @ columns.T for columns in inside])


def exchanged_shifts(a: np.ndarray, b: np.ndarray, forms: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Compute shares of b less those of a per band, exchanged where a sign is -1: ``(draws, n) -> (draws, bands)``.

    The two sides are m - s h and m + s h, with the mean m of both signals and half their difference h. The energies
    are quadratic in the signs s, so that no draw costs more than n^2 operations, however many columns there are.
    """
    mean, half = (a + b) / 2, (b - a) / 2
    sides = np.empty((2, len(signs), len(forms)))
    for band, form in enumerate(forms):
        linear = 2 * signs @ np.einsum("nd,nd->n", form @ mean, half)
        square = np.einsum("bn,bn->b", signs @ (form * (half @ half.T)), signs)
        fixed = np.sum(mean * (form @ mean))
        sides[:, :, band] = np.maximum(np.stack([fixed - linear + square, fixed + linear + square]), 0.0)
    total = sides.sum(axis=2, keepdims=True)
    # A side without energy off zero has no shares, whichever order of the exchanges made it.
    some = np.broadcast_to(total > FLOOR**2 * total.max(initial=0.0), sides.shape)
    shares = np.divide(sides, total, out=np.zeros_like(sides), where=some)
    return shares[1] - shares[0]


def comparable(
    a: np.ndarray, b: np.ndarray, parts: np.ndarray | None, metric: str
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Centre and scale the two signals together, and each by itself; nothing where one has no differences.

    The common ones do not change when nodes are exchanged, so that the first test is exact. It takes an offset or a
    factor between the two signals for a difference; the second does not, since no share depends on these. Means are
    taken off on every connected part of the graph, given by each node's ``parts``, or not at all.
    """
    if parts is None:
        mean_a, mean_b = np.zeros_like(a), np.zeros_like(b)
    else:
        mean_a, mean_b = (side - split_along(side, parts, None, False)[1] for side in (a, b))
    both = (mean_a + mean_b) / 2
    size = [np.linalg.norm(side - mean) for side, mean in ((a, mean_a), (b, mean_b))]
    floor = LAST_DIGITS if metric == "euclidean" and parts is not None else FLOOR
    if size[0] <= floor * np.linalg.norm(a) or size[1] <= floor * np.linalg.norm(b):
        return []
    common = np.sqrt((np.sum((a - both) ** 2) + np.sum((b - both) ** 2)) / 2)
    return [((a - both) / common, (b - both) / common), ((a - mean_a) / size[0], (b - mean_b) / size[1])]


def max_shift_test(shifts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the reach of the null and p of the first of ``(1 + draws, bands)`` shifts, corrected over bands.

    Exchanging every node turns the sign, so that the null is symmetric about 0; the statistic is the largest absolute
    shift over bands, each in units of its root mean square.

    Examples
    --------
    >>> reach, p = max_shift_test(np.array([[0.3, -0.3], [0.1, -0.1], [-0.1, 0.1], [0.1, -0.1]]))
    >>> p.tolist(), reach.round(6).tolist()
    ([0.25, 0.25], [0.3, 0.3])
    """
    size = np.sqrt(np.mean(shifts**2, axis=0))
    moves = size > TIE
    largest = np.max(np.abs(shifts[:, moves]) / size[moves], axis=1) if moves.any() else np.zeros(len(shifts))
    own = np.divide(np.abs(shifts[0]), size, out=np.zeros(len(size)), where=moves)
    p = np.mean(largest[:, None] >= own * (1 - TIE), axis=0)
    reached = np.sort(largest)[int(np.ceil(CONFIDENCE * (len(largest) - 1)))]
    return np.where(moves, size * reached, 0.0), p
