"""The numbers of a correlogram: for each signal and hop the ratio to chance, z, p and Moran's I."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from spectrata.inputs.signals import Signal, potential
from spectrata.kernels.pair_sums import Rows, row_squares
from spectrata.kernels.scaling import LAST_DIGITS, binary_scale
from spectrata.stats.findings import LEVEL
from spectrata.stats.pair_draws import CONFIRM, Drawn, Stream, agreement, block_p, drawn_p, moments_p
from spectrata.stats.pair_skewness import Cubes, hop_cubes, signal_cubes, skewness
from spectrata.stats.pair_sources import PairSource, sizes, standard_error
from spectrata.stats.pairs import (
    MatrixMoments,
    centred,
    graph_moments,
    null_moments,
    pair_degrees,
    signal_moments,
    square_sums,
)
from spectrata.stats.sequential import draws_needed
from spectrata.stats.tails import SKEWED

# From this many nodes on a p below .01 may come from the distribution matched to the moments.
MATCHED_NODES = 1000
# Cells whose matched p is confirmed by draws, and the steps these may take in all, about half a minute.
CONFIRMED_CELLS, CONFIRMED_WORK, FEWEST_DRAWS = 200, 5e10, 99
# Steps that a random order takes per node; beyond the caches every step takes ten times as long.
ORDER_STEPS, BEYOND_CACHES, SLOWER = 20, 100_000, 10
COLUMNS = 256  # scalar signals worked on at once
# Steps that draws beyond the first may take in all, a few seconds, and the |z| from which on a cell is expected to
# need them, and to end with the smallest p that its draws can give.
MORE_WORK, LIKELY, CLEAR = 2e9, 2.5, 4.0

CONSTANT_SIGNAL = "undefined: the signal is constant"
ZERO_VECTORS = "undefined: zero vectors have no direction"
DEGENERATE = "degenerate: no order of the nodes changes it"
FEW = "few roots hold most of this hop: take more"
METHODS = ("", "permutation", "moments")


@dataclass(frozen=True, eq=False)
class Block:
    """Some signals, each centred and of unit variance.

    ``t`` is ``(n, c)`` for scalar signals and ``(n, d)`` for one signal of vectors.
    """

    t: np.ndarray
    scalar: bool
    unit: np.ndarray  # (c,) their standard deviations
    largest: np.ndarray  # (c,) their largest values
    undefined: np.ndarray  # (c,)

    def stacked(self) -> np.ndarray:
        """The signals as ``(c, n, d)``."""
        return np.ascontiguousarray(self.t.T)[:, :, None] if self.scalar else self.t[None]

    def one(self, index: int) -> np.ndarray:
        """One signal as ``(n, d)``."""
        return np.ascontiguousarray(self.t[:, index : index + 1]) if self.scalar else self.t

    @property
    def fine(self) -> np.ndarray:
        """Signals that are defined and not constant."""
        return ~self.undefined & (self.unit > LAST_DIGITS * self.largest)


def blocks(signal: Signal, metric: str, zero_vectors: str, names: tuple, separate: bool) -> Iterator[Block]:
    """The signals of all snapshots, and of all columns where these are signals of their own."""
    snapshots, _, dims = signal.values.shape
    if separate:
        for t in range(snapshots):
            for first in range(0, dims, COLUMNS):
                yield _scalars(signal.values[t, :, first : first + COLUMNS])
    elif dims == 1:
        for first in range(0, snapshots, COLUMNS):
            yield _scalars(signal.values[first : first + COLUMNS, :, 0].T)
    else:
        values = potential(signal, metric, zero_vectors, names)
        for t, undefined in zip(values.values, values.undefined, strict=True):
            yield _vectors(t, undefined)


def _scalars(values: np.ndarray) -> Block:
    """Scalar signals ``(n, c)``; a power of two is taken out of each, so that squares keep their digits."""
    scale = binary_scale(np.abs(values).max(axis=0))
    values = values / scale
    t = centred(values[None])[0]
    largest, spread = np.abs(values).max(axis=0), np.sqrt(np.mean(t * t, axis=0))
    t /= np.where(spread > 0, spread, 1.0)
    return Block(t, True, spread * scale, largest * scale, np.zeros(len(scale), dtype=bool))


def _vectors(values: np.ndarray, undefined: bool) -> Block:
    t = centred(values[None])[0]
    spread, largest = np.sqrt(np.mean(np.sum(t * t, axis=1))), np.abs(values).max()
    t = t / (spread if spread > 0 else 1.0)
    return Block(t, False, np.array([spread]), np.array([largest]), np.array([undefined]))


@dataclass(eq=False)
class Cells:
    """Numbers of every signal and hop, arrays ``(items, H)``; ``unit`` is ``(items,)``."""

    ratio: np.ndarray
    null_std: np.ndarray  # of the ratio
    z: np.ndarray
    p: np.ndarray
    p_permutation: np.ndarray
    p_moments: np.ndarray
    draws: np.ndarray
    p_method: np.ndarray
    moran: np.ndarray
    moran_z: np.ndarray
    ratio_error: np.ndarray
    status: np.ndarray
    unit: np.ndarray
    agreement: float = field(default=np.nan)

    @classmethod
    def empty(cls, items: int, hops: int) -> "Cells":
        """Nothing computed yet."""
        numbers: dict[str, Any] = {}
        for name in cls.__annotations__:
            numbers[name] = np.full((items, hops), np.nan)
        numbers["draws"], numbers["p_method"] = np.zeros((items, hops), np.int64), np.zeros((items, hops), np.int8)
        numbers["status"] = np.full((items, hops), "ok", dtype=object)
        return cls(**numbers | {"unit": np.full(items, np.nan), "agreement": np.nan})


def _needed(z: np.ndarray) -> np.ndarray:
    """Draws with which clear cells of a family of columns reach q of half the level: ``(families, columns, H)``.

    Each cell is counted as clear, whatever its own z is, so that the number depends on the others alone and a p from so
    many draws stays valid.
    """
    clear = np.abs(np.nan_to_num(z)) > CLEAR
    together = clear.sum(axis=1, keepdims=True) - clear + 1
    return np.array([draws_needed(2 * z.shape[1] / k, "two-sided", LEVEL) for k in together.ravel()]).reshape(z.shape)


@dataclass(eq=False)
class Likeness:
    """Pair sums of signals against their permutation null."""

    source: PairSource
    draws: int
    max_draws: int
    seed: int
    items: int
    scalar: bool
    columns: int = 1  # items of one family of q
    z: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))  # (items, H), where draws follow

    @property
    def n(self) -> int:
        return self.source.graph.n_nodes

    @property
    def rows(self) -> list[Rows]:
        return self.source.rows

    @property
    def matched(self) -> bool:
        """Whether a small p may come from moments."""
        return self.n >= MATCHED_NODES

    @cached_property
    def orders(self) -> Stream:
        """Random orders of the nodes, the same for all signals."""
        return Stream(self.n, self.seed)

    @cached_property
    def graph(self) -> MatrixMoments:
        return graph_moments(self.rows, self.degrees)

    @cached_property
    def _known_cubes(self) -> dict[int, tuple[float, ...]]:
        return {}

    def cubes(self, wanted: np.ndarray) -> Cubes:
        """Third-order sums of the wanted hops ``(H,)``, each made once; NaN for the others."""
        for h in np.flatnonzero(wanted).tolist():
            if h not in self._known_cubes:
                self._known_cubes[h] = hop_cubes(self.rows[h], self.n)
        none = (np.nan,) * 5
        return Cubes(*np.array([self._known_cubes.get(h, none) for h in range(len(self.rows))]).T)

    @cached_property
    def degrees(self) -> np.ndarray:
        """Sums of pair weights per node, ``(H, n)``."""
        return pair_degrees(self.rows, self.n)

    @cached_property
    def sizes(self):  # type: ignore[no-untyped-def]
        return sizes(self.source)

    @cached_property
    def chosen(self) -> np.ndarray:
        """Cells that are drawn, ``(items, H)``: all, or a random sample where small p come from moments."""
        shape = (self.items, len(self.rows))
        if not self.draws:
            return np.zeros(shape, dtype=bool)
        cells = int(np.prod(shape))
        if not self.matched or not self.scalar or cells <= CONFIRMED_CELLS:
            return np.ones(shape, dtype=bool)  # vectors have their skewness from the draws alone
        chosen = np.zeros(cells, dtype=bool)
        chosen[np.random.default_rng([self.seed, 1]).choice(cells, CONFIRMED_CELLS, replace=False)] = True
        return chosen.reshape(shape)

    def draws_for(self, dims: int) -> tuple[int, np.ndarray]:
        """Draws of a cell, and the most that each may get: ``(items, H)``."""
        if not self.matched:
            return self.draws, self._most(dims)
        pairs = np.array([float(rows.size) for rows in self.rows])
        orders = np.count_nonzero(self.chosen.any(axis=1)) * self.n * ORDER_STEPS
        work = (self.chosen.sum(axis=0) @ pairs + orders) * dims * (SLOWER if self.n > BEYOND_CACHES else 1)
        fit = max(FEWEST_DRAWS, int(CONFIRMED_WORK / max(1.0, work)))
        most = min(max(self.draws, self.max_draws), fit)
        return min(self.draws, fit), np.full((self.items, len(self.rows)), most)

    def _most(self, dims: int) -> np.ndarray:
        """``max_draws``, or where these would take long, as many as clear cells need: ``(items, H)``."""
        likely = np.abs(np.nan_to_num(self.z)) > LIKELY
        pairs = np.array([float(rows.size) for rows in self.rows])
        work = (likely.sum(axis=0) @ pairs + np.count_nonzero(likely.any(axis=1)) * self.n * ORDER_STEPS) * dims
        most = np.full(likely.shape, self.draws + int(MORE_WORK / max(1.0, work)))
        if self.columns > 1:
            most = np.maximum(most, _needed(self.z.reshape(-1, self.columns, len(self.rows))).reshape(most.shape))
        return np.maximum(self.draws, np.minimum(most, self.max_draws))

    def cells(self, found: Callable[[], Iterator[Block]]) -> Cells:
        """Everything, one block of signals after the other; where draws follow, z of all comes first."""
        out = Cells.empty(self.items, len(self.rows))
        if self.draws and not self.matched:
            self.z = np.concatenate([self._against_null(block)[-1] for block in found()])
        done = 0
        for block in found():
            self._fill(out, slice(done, done + len(block.unit)), block)
            done += len(block.unit)
        if (out.p_method == METHODS.index("moments")).any():
            out.agreement = agreement(out.p_moments, out.p_permutation, out.draws)
        return out

    def _against_null(self, block: Block) -> tuple[np.ndarray, ...]:
        """Pair sums with their null mean and standard deviation, and z: ``(c, H)`` each."""
        observed = square_sums(self.rows, block.stacked())
        mean, variance = null_moments(self.graph, signal_moments(block.stacked()))
        std = np.sqrt(variance)
        with np.errstate(invalid="ignore", divide="ignore"):
            z = np.where(~block.fine[:, None] | (std == 0), np.nan, (observed - mean) / std)
        return observed, mean, std, z

    def _fill(self, out: Cells, rows: slice, block: Block) -> None:
        observed, mean, std, z = self._against_null(block)
        bad = ~block.fine[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            out.ratio[rows] = np.where(bad, np.nan, observed / mean)
            out.null_std[rows] = np.where(bad, np.nan, std / mean)
        out.z[rows], out.unit[rows] = z, np.where(block.undefined, np.nan, block.unit)
        status = out.status[rows]
        status[:, self.sizes.few] = FEW
        status[(std == 0) & ~bad] = DEGENERATE
        status[~block.fine] = CONSTANT_SIGNAL
        status[block.undefined] = ZERO_VECTORS
        if block.scalar:
            self._moran(out, rows, block, observed)
        for at in [h for h in range(len(self.rows)) if self.source.sampled(h)]:
            for index in np.flatnonzero(block.fine).tolist():
                out.ratio_error[rows.start + index, at] = self._ratio_error(block.one(index), at)
        self._p(out, rows, block, observed, mean, std, z)

    def _p(
        self, out: Cells, rows: slice, block: Block, observed: np.ndarray, mean: np.ndarray, std: np.ndarray,
        z: np.ndarray,
    ) -> None:  # fmt: skip
        """p by draws; from 1,000 nodes on a small one from the moments, where these give tails."""
        if not self.draws:
            return
        skew = np.full(z.shape, np.nan)
        draws, most = self.draws_for(1 if block.scalar else min(block.t.shape))
        for index in np.flatnonzero(block.fine).tolist():
            at = np.flatnonzero(self.chosen[rows.start + index])
            if len(at):
                chosen = [self.rows[h] for h in at]
                numbers = (observed[index, at], mean[index, at], std[index, at])
                limits = most[rows.start + index, at]
                drawn = drawn_p(chosen, block.one(index), *numbers, draws, limits, self.orders, self.matched)
                self._place(out, rows.start + index, at, drawn)
                skew[index, at] = drawn.skewness
        p = out.p_permutation[rows]
        use = np.zeros(z.shape, dtype=bool)
        if self.matched:
            small = ~np.isnan(z) & ~(p >= CONFIRM)
            if block.scalar and small.any():
                exact = skewness(self.cubes(small.any(axis=0)), signal_cubes(block.t), std**2, self.n)
                skew = np.where(np.isnan(exact), skew, exact)
            use = small & (np.abs(skew) <= SKEWED)
            self._draw_skewed(out, rows, block, (observed, mean, z), small & ~use & np.isnan(p))
            out.p_moments[rows] = np.where(np.abs(skew) <= SKEWED, moments_p(z, skew), np.nan)
        out.p[rows] = np.where(use, out.p_moments[rows], p)
        out.p[rows] = np.where(block.fine[:, None] & (std == 0), 1.0, out.p[rows])
        words = np.where(np.isnan(out.p[rows]), 0, METHODS.index("permutation"))
        out.p_method[rows] = np.where(use, METHODS.index("moments"), words)

    def _draw_skewed(
        self, out: Cells, rows: slice, block: Block, sums: tuple[np.ndarray, ...], wanted: np.ndarray
    ) -> None:
        """Draws, of all columns together, for cells that have no p from moments; more where p is small."""
        observed, mean, z = sums
        found, used = out.p_permutation[rows], out.draws[rows]
        for seed in (self.seed, [self.seed, 2]):
            at, hops = np.flatnonzero(wanted.any(axis=1)), np.flatnonzero(wanted.any(axis=0))
            chosen = [self.rows[h] for h in hops.tolist()]
            count = self.draws
            if seed != self.seed and len(at):
                work = len(at) * (self.n * ORDER_STEPS + sum(float(one.size) for one in chosen))
                more = int(_needed(z[None])[0][wanted].max())
                count = min(more, self.max_draws, int(MORE_WORK / work))
            if not len(at) or count < self.draws:
                return
            cells = np.ix_(at, hops)
            p = block_p(chosen, np.ascontiguousarray(block.t[:, at]), observed[cells], mean[cells], count, seed)
            found[cells] = np.where(wanted[cells], p, found[cells])
            used[cells] = np.where(wanted[cells], count, used[cells])
            wanted = wanted & (found < CONFIRM)

    @staticmethod
    def _place(out: Cells, item: int, at: np.ndarray, drawn: Drawn) -> None:
        out.p_permutation[item, at], out.draws[item, at] = drawn.p, drawn.draws

    def _moran(self, out: Cells, rows: slice, block: Block, observed: np.ndarray) -> None:
        """Moran's I and its z: the products of the ends are the pair matrix here, with the diagonal left out."""
        square = block.t**2
        n = self.n
        energy, fourth = square.sum(axis=0), np.sum(square * square, axis=0)
        value = (self.degrees @ square).T - observed  # twice the sum of w t(x) t(y)
        with np.errstate(invalid="ignore", divide="ignore"):
            squares = energy**2 - fourth - energy**2 / (n * (n - 1))
            moments = MatrixMoments(-energy, squares, fourth - energy**2 / n, n)
            mean, variance = null_moments(self.graph, moments)
            moran = n * value / (self.graph.total * energy[:, None])
            z = (value / 2 - mean) / np.sqrt(variance)
        bad = ~block.fine[:, None]
        out.moran[rows] = np.where(bad, np.nan, moran)
        out.moran_z[rows] = np.where(bad | (variance == 0), np.nan, z)

    def _ratio_error(self, t: np.ndarray, at: int) -> float:
        """Standard error of the ratio of a hop whose pairs are those of random roots: ``(n, d) -> float``."""
        rows = self.rows[at]
        squares, seen = np.zeros(self.source.roots), np.zeros(self.source.roots)
        squares[: len(rows.tails)], seen[: len(rows.tails)] = row_squares(rows, t), rows.stops - rows.starts
        mean = 2 * np.sum(t * t) / (self.n - 1)
        left = squares - squares.sum() / seen.sum() * seen
        return standard_error(left, self.n) / seen.mean() / mean
