"""Shares of the energy: of the random-walk spectrum of r (smooth, rough, the main divide), and of any spectrum.

r_K is the mean of 1 - lam over the spectrum, each component weighted by its share; the shares say at which scale a
likeness lies. Eigenspaces stay whole. ``chance_of_shares`` tests the share of every eigenspace or band off zero.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

from spectrata.core.stratification import Stratification
from spectrata.kernels.edge_sums import part_sums
from spectrata.kernels.scaling import squarable
from spectrata.stats.describe.levels import level_groups
from spectrata.stats.nulls.stopping import MANY, run_columns
from spectrata.stats.observation import RANDOM_WALK, Ends, Observation, Pairs, moved
from spectrata.stats.statistics.likeness import Statistic

FLOOR = 1e-13  # shares of a signal's norm below this are rounding
BANDS = 4
LEAST_COMPONENTS = 8  # off zero, below which nothing is called smooth or rough
# What is constant on connected parts lies at eigenvalue 0, in no band: bands are tested where one part has most pairs.
LARGEST_PART = 0.9
MOST_NODES = 4_000  # above which no spectrum is made
NAMES = ("smooth", "rough", "main_divide")
DESCRIBED_NODES, DESCRIBED_PAIRS, DESCRIBED_WIDTH = 100_000, 1_000_000, 4  # up to which shares are described without p
NUMBERS = 2**22  # of a batch of drawn signals, gradients and magnitudes
Drawn = Callable[[np.ndarray, int, int, int], np.ndarray]  # rows, hop, start, stop -> (A, rows, stop - start, G)
Counted = Callable[[int], "Callable[[int], np.ndarray] | None"]  # row -> hop -> (A, arrangements, G), all as likely


@dataclass(frozen=True, eq=False)
class Share(Statistic):
    """The share of some components: ``form (c, m)`` takes values at the pairs' nodes to their coefficients."""

    name: str
    form: np.ndarray

    def of(self, obs: Observation, ends: Ends) -> np.ndarray:
        values = ends.values
        found = (self.form @ values.reshape(len(values), -1)).reshape(-1, *values.shape[1:])
        return np.einsum("cbd,cbd->b", found, found) / ends.variation


def bands(pairs: Pairs) -> dict[str, np.ndarray]:
    """Components of the first and last of four bands and of the Fiedler eigenspace, where they may be named."""
    basis = pairs.basis
    off = int(np.count_nonzero(~basis.is_zero))
    if off == 0:
        return {}
    band, found = level_groups(basis.axis, "band", BANDS)[0][0], {}
    ends = np.bincount(pairs.parts, pairs.k)
    if off >= LEAST_COMPONENTS and ends.max() >= LARGEST_PART * ends.sum():
        found["smooth"], found["rough"] = np.flatnonzero(band == 0), np.flatnonzero(band == BANDS - 1)
    first = np.flatnonzero(~basis.is_zero)[0]
    fiedler = np.flatnonzero(basis.eigenspace == basis.eigenspace[first])
    if len(np.unique(pairs.parts)) == 1 and len(fiedler) < off / BANDS:
        found["main_divide"] = fiedler
    return {name: components for name, components in found.items() if len(components)}


def shares(pairs: Pairs) -> list[Share]:
    """The shares that can be tested at a hop."""
    if not len(pairs.nodes) or pairs.stratum.n_nodes > MOST_NODES:
        return []
    vectors, root = pairs.basis.dense().astype(np.float64), np.sqrt(pairs.k)
    return [
        Share(name, np.ascontiguousarray((vectors[np.ix_(pairs.nodes, some)] * root[:, None]).T))
        for name, some in bands(pairs).items()
    ]


def between_parts(obs: Observation) -> np.ndarray:
    """The share of the components with eigenvalue 0: variation between the means of connected parts."""
    ends, pairs = moved(obs), obs.pairs
    total = np.bincount(pairs.parts, pairs.k)
    sums = part_sums(pairs.k[:, None] * ends.values[:, 0], pairs.parts, len(total))
    return np.sum(sums**2 / total[:, None], axis=0 if obs.separate else None) / ends.variation[0]


def described(obs: Observation, strat: Stratification) -> dict[str, float]:
    """The shares "smooth" and "rough" of a large graph, about two digits of them, by Lanczos quadrature."""
    from spectrata.bands.spectra import band_spectra

    variation = moved(obs).variation[0]
    large = obs.n > DESCRIBED_NODES or len(obs.pairs.ends) > DESCRIBED_PAIRS or obs.width > DESCRIBED_WIDTH
    if large or obs.n != strat.graph.n_nodes or np.isnan(variation):
        return {}
    random_walk = strat.only(obs.pairs.stratum.hop).using(laplacian=RANDOM_WALK, self_loops=False)
    found = band_spectra(random_walk, obs.values, BANDS, spacing="count", algorithms="gft", metric="euclidean")
    share = found["energy"].values[0, 0] / variation
    return {"smooth": float(share[0]), "rough": float(share[-1])}


def shares_of(magnitude: np.ndarray, groups: np.ndarray, is_zero: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shares ``(A, R, H, G)`` of the energy off zero, NaN where that is rounding, and that energy ``(A, R, H)``.

    ``groups (H, N)`` says where each component is, and ``is_zero (H, N)`` which are zero components: no band has one.
    """
    zero = np.zeros((len(groups), magnitude.shape[-1]), dtype=bool)
    for row, group in enumerate(groups):
        zero[row, group[(group >= 0) & is_zero[row]]] = True
    even, scale = squarable(np.nan_to_num(magnitude))
    off = np.where(zero, 0.0, even**2)
    total, whole_energy = off.sum(axis=-1, keepdims=True), np.sum(even**2, axis=-1, keepdims=True)
    some = total > FLOOR**2 * whole_energy
    share = np.divide(off, total, out=np.full(off.shape, np.nan), where=some)
    with np.errstate(over="ignore"):
        energy = np.where(some, total, 0.0)[..., 0] * scale[..., 0] ** 2
    return np.where(zero | np.isnan(magnitude), np.nan, share), energy


def chance_of_shares(
    share: np.ndarray, drawn: Drawn, at: tuple[int, ...], counted: Counted | None = None, tie: float = 0.0
) -> dict[str, np.ndarray]:
    """Test shares ``(A, R, H, G)``: their mean under the null, its interval, and p.

    Shares that differ by less than ``tie`` of the observed one are tied, beside those that differ by rounding.
    """
    observed = np.moveaxis(share, 1, 0)  # (R, A, H, G)
    shape, flat = observed.shape, observed.ravel()
    places, sums = np.arange(flat.size).reshape(shape), np.zeros((2, flat.size))
    whole: dict[int, Callable[[int], np.ndarray]] = {}  # by row, where all its arrangements are counted
    if counted is not None and shape[0] <= MANY:
        whole = {row: found for row in range(shape[0]) if (found := counted(row)) is not None}

    def with_ties(values: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Values ``(B, cells)`` with ties at the observed ones; their sums are kept."""
        values = np.where(np.abs(values - flat[cells]) <= tie * flat[cells], flat[cells], values)
        sums[:, cells] += np.nansum(values, axis=0), np.isfinite(values).sum(axis=0)
        return values

    def draw(start: int, stop: int, cells: np.ndarray) -> np.ndarray:
        row, algorithm, hop, group = np.unravel_index(cells, shape)
        out = np.full((stop - start, len(cells)), np.nan)
        for h in np.unique(hop):
            here = np.flatnonzero(hop == h)
            rows = np.unique(row[here])
            for some in np.array_split(rows, min(len(rows), -(-len(rows) * (stop - start) * shape[3] // NUMBERS))):
                wanted = here[np.isin(row[here], some)]
                found = drawn(some, int(h), start, stop)
                out[:, wanted] = found[algorithm[wanted], np.searchsorted(some, row[wanted]), :, group[wanted]].T
        return with_ties(out, cells)[:, :, None]

    left = observed.copy()
    left[list(whole)] = np.nan
    chance = run_columns(left.reshape(-1, 1), draw, at)
    for row, h in product(whole, range(shape[2])):
        values = whole[row](h)  # (A, arrangements, G), fewer groups at some hops; every arrangement is as likely
        cells = places[row, :, h, : values.shape[2]].ravel()
        every = with_ties(np.moveaxis(values, 1, 0).reshape(values.shape[1], -1), cells)
        chance.value[cells, 0] = flat[cells]
        chance.set_p_from_arrangements((cells, 0), every)
    with np.errstate(invalid="ignore"):
        fields = {"chance": sums[0] / sums[1], "chance_low": chance.low, "chance_high": chance.high, "p": chance.p}
    return {name: np.moveaxis(array.reshape(shape), 0, 1) for name, array in fields.items()}
