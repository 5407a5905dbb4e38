"""One hop against chance: what was observed, the first draws of every cell, and more draws of the clear ones."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from spectrata.core.bases.basis import EigenBasis
from spectrata.core.engine import magnitudes, measured
from spectrata.core.plan import Plan
from spectrata.core.strata import Stratum
from spectrata.core.stratification import Stratification
from spectrata.inputs.signals import Potential
from spectrata.stats.describe.levels import group_reduce
from spectrata.stats.describe.spectrum import FLOOR, lengths
from spectrata.stats.draws import Permuted, Source, batches, take
from spectrata.stats.sequential import Sequential
from spectrata.stats.tally import Tally, differs

ROWS = 2**24  # numbers of a block of rows: signals, gradients and magnitudes
MORE = 5e11  # multiplications that draws beyond the first may take at one hop, about half a minute
SLOWER = 100.0  # multiplications of a matrix product in the time of one term of a sum over edges
RUN = 4096  # draws of a clear cell between two looks at it


@dataclass(frozen=True, eq=False)
class Judge:
    """A hop with its groups of components.

    Attributes
    ----------
    strat, stratum, basis, plan
        The hop.
    groups : ndarray, shape (1, N)
    count : int
        Number of groups.
    relative : bool
        Whether magnitudes are divided by their norm off zero.
    """

    strat: Stratification
    stratum: Stratum
    basis: EigenBasis
    plan: Plan
    groups: np.ndarray
    count: int
    relative: bool

    @cached_property
    def scratch(self) -> dict[tuple, Any]:
        """What algorithms make of the graph alone."""
        return {}

    # ---- magnitudes by group

    def observe(self, field: Potential) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Magnitudes ``(A, T, count)``, status ``(A, T)`` and gradient norms ``(T,)`` of the signal, row by row."""
        widest = max(field.values[0].size, self.stratum.n_edges, self.basis.n * len(self.plan.algorithms))
        found = []
        step = max(1, ROWS // widest)
        for start in range(0, len(field), step):
            part = take(field, slice(start, start + step))
            work = self._work(self.basis, part, self.plan)
            piece = measured(work, part, self.plan)
            found.append((self.grouped(piece.magnitude), piece.status, piece.gradient_norm))
        magnitude, status, norms = zip(*found, strict=True)
        return np.concatenate(magnitude, axis=1), np.concatenate(status, axis=1), np.concatenate(norms)

    def read(self, field: Potential) -> np.ndarray:
        """Magnitudes of drawn signals by group: ``(A, T, count)``."""
        work = self._work(self.basis, field, self.plan)
        return self.grouped(magnitudes(work, field, self.plan))

    def read_some(self, field: Potential, algorithm: int, wanted: np.ndarray) -> np.ndarray:
        """Magnitudes of one algorithm in the groups asked for: ``(T, wanted)``, from their components alone."""
        plan = replace(self.plan, algorithms=(self.plan.algorithms[algorithm],))
        whole = self.relative or any(row.whole_spectrum for row in plan.rows)
        kept = np.ones(self.basis.n, dtype=bool) if whole else self._kept(wanted)
        if kept.all():
            work = self._work(self.basis, field, plan)
            return self._grouped(magnitudes(work, field, plan), self.groups, plan)[0][:, wanted]
        basis = self.basis.only(kept)
        work = self.strat.work(self.stratum, basis, field.values, plan)
        return self._grouped(magnitudes(work, field, plan), self.groups[:, kept], plan)[0][:, wanted]

    def _kept(self, wanted: np.ndarray) -> np.ndarray:
        kept = np.isin(self.groups[0], wanted)
        return np.where(self.basis.is_zero, kept[self.basis.is_zero].any(), kept)

    def _work(self, basis: EigenBasis, field: Potential, plan: Plan) -> Any:
        return self.strat.work(self.stratum, basis, field.values, plan, scratch=self.scratch)

    def grouped(self, magnitude: np.ndarray) -> np.ndarray:
        """Magnitudes of every component by group: ``(A, T, N) -> (A, T, count)``."""
        return self._grouped(magnitude, self.groups, self.plan)

    def _grouped(self, magnitude: np.ndarray, groups: np.ndarray, plan: Plan) -> np.ndarray:
        """Of every algorithm: ``(A, T, N) -> (A, T, count)``."""
        options = asdict(plan.options)
        found = np.stack(
            [
                group_reduce(piece[:, None], groups, self.count, row.merge_rule(options))[:, 0]
                for piece, row in zip(magnitude, plan.rows, strict=True)
            ]
        )
        if not self.relative:
            return found
        off = np.where(self.basis.is_zero, 0.0, np.nan_to_num(magnitude))
        norm, whole = (lengths(values)[..., None] for values in (off, magnitude))
        # What rounding leaves off zero is nothing to be relative to.
        return np.divide(found, norm, out=np.full(found.shape, np.nan), where=norm > FLOOR * whole)

    # ---- draws

    def count_first(self, tally: Tally, source: Source, draws: int, rows: np.ndarray | None = None) -> None:
        """The first draws of all cells, or of those of some rows."""
        rows = np.arange(tally.observed.shape[1]) if rows is None else rows
        algorithms = len(self.plan.algorithms)
        width = max(source.width * self.basis.n_nodes, algorithms * self.basis.n, self._edges(range(algorithms)))
        for places, start, stop in batches(len(rows), draws, width):
            some = rows[places]
            found = self.read(source.draw(some, start, stop))  # (A, S c, group)
            tally.add(some, found.reshape(len(found), len(some), -1, self.count))

    def count_more(
        self, tally: Tally, source: Source, limit: int, alternative: str, only: np.ndarray | None = None
    ) -> Sequential:
        """More draws of the cells that are clear still, up to ``limit`` of each or what the work allows.

        ``only`` are the cells that get any, all by default.
        """
        cells = Sequential(tally.above, tally.below, tally.used, alternative)
        cells.stop(np.flatnonzero(~np.isfinite(tally.observed).ravel() | (tally.tied == tally.used).ravel()))
        if only is not None:
            cells.stop(np.flatnonzero(~only))
        made = int(tally.used.max(initial=0))
        cells.affordable = made + int(MORE / max(1.0, self._cost(cells.running, source)))
        limit = min(limit, source.total, cells.affordable)
        while made < limit and cells.running.any():
            step = min(made, RUN, 2**22 // (source.width * self.basis.n_nodes))  # twice as many each time, at first
            stop = min(limit, made + max(1, step))
            drawing: Callable[[np.ndarray], Potential] = partial(source.draw, start=made, stop=stop)
            if isinstance(source, Permuted):  # the same orders for all cells
                drawing = partial(source.arranged, orders=source.orders.take(made, stop))
            for algorithm, row in np.argwhere(cells.running.any(axis=2)):
                drawn = drawing(np.array([row]))
                self._count_row(cells, tally, drawn, algorithm, row)
            made = stop
        return cells

    def _count_row(self, cells: Sequential, tally: Tally, drawn: Potential, algorithm: int, row: int) -> None:
        wanted = np.flatnonzero(cells.running[algorithm, row])
        step = max(1, 2**23 // max(self.basis.n, self._edges([algorithm])))
        parts = [take(drawn, slice(start, start + step)) for start in range(0, len(drawn), step)]
        found = np.concatenate([self.read_some(part, algorithm, wanted) for part in parts])  # (c, wanted)
        observed, floor = (one[algorithm, row, wanted] for one in (tally.observed, tally.floor))
        above, below, present = differs(found, observed, floor, tally.tie)
        numbers = np.ravel_multi_index((algorithm, row, wanted), tally.observed.shape)
        cells.add(numbers, (above | ~present).T, (below | ~present).T)

    def _edges(self, algorithms: Any) -> int:
        """Edges that algorithms other than the exact one go over."""
        return 0 if all(self.plan.rows[index].exact for index in algorithms) else self.stratum.n_edges

    def _cost(self, running: np.ndarray, source: Source) -> float:
        """Multiplications of one more draw of the cells that are running."""
        total = 0.0
        for algorithm, row in np.argwhere(running.any(axis=2)):
            whole = self.relative or self.plan.rows[algorithm].whole_spectrum
            kept = self.basis.n if whole else int(self._kept(np.flatnonzero(running[algorithm, row])).sum())
            total += 2.0 * kept * (source.width * self.basis.n_nodes + SLOWER * self._edges([algorithm]))
        return total
