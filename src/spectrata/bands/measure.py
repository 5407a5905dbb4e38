"""Cumulative energies of groups of columns, with steps added until they settle.

A group is what one algorithm makes of one snapshot: its energy is the sum over its columns. Groups share one block
and stop one by one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from spectrata.bands.edges import NEAR, Spectrum
from spectrata.bands.lanczos import DOUBLE, BlockLanczos
from spectrata.bands.operators import Operator
from spectrata.bands.quadrature import column_bounds, column_masses_near, gauss
from spectrata.kernels.backend import like

FIRST_CHECK = 16  # steps: weights of rules with fewer nodes are wider than the default bounds
GROWTH = 1.3  # steps between checks grow, since a check costs the square of the steps
MAX_STEPS = 2000  # where bounds are still wider then, the status says so
# Bounds stop at this share of what was asked, which leaves room for the error of a solve.
ENOUGH = 0.95
# What is left of a column after its zero components are taken out is rounding below this share of it.
ROUNDING = 1e-13
# Probes of the spectrum itself: enough steps for its top, enough columns for the counts of bands.
PROBES, PROBE_STEPS, PROBE_TOL = 4, 64, 0.01
FEW_NODES = 100  # signs of as many nodes are all equal once in 10^30 draws


@dataclass(eq=False)
class Group:
    """Bounds on one group's energy at or below each edge, and how they were reached."""

    column_mass: np.ndarray  # (c,)
    columns: np.ndarray  # (c, e) middle of the bounds of each column
    lower: np.ndarray  # (e,)
    upper: np.ndarray  # (e,)
    steps: int
    settled: bool = False
    limited: bool = False  # whether the precision of stored vectors, not the steps, keeps the bounds apart
    on_edge: np.ndarray | float = 0.0  # (e,) energy within rounding of each edge, at least
    lowest: float = np.inf  # smallest node of the columns' Gauss rules

    @property
    def mass(self) -> float:
        """The group's energy."""
        return float(self.column_mass.sum())

    @property
    def half_width(self) -> float:
        """Largest distance from the middle to a bound, as a share of the group's energy."""
        return float(np.max(self.upper - self.lower, initial=0.0)) / 2 / self.mass if self.mass else 0.0


def measure(
    run: BlockLanczos,
    groups: np.ndarray,
    edges: np.ndarray,
    top: float,
    steps: int | None = None,
    tol: float = 0.01,
    progress: Callable[[int], None] = lambda steps: None,
) -> list[Group]:
    """Cumulative energies of groups of columns, numbered from 0, at the edges: ``(c,), (e,)`` to a list of groups.

    ``run`` started from columns free of zero components; it may have taken some steps. ``steps`` are taken exactly;
    None adds steps until every group has settled to ``tol`` of its energy. ``progress`` is told the steps taken.
    """
    limit = MAX_STEPS if steps is None else steps
    members = [np.flatnonzero(groups == index) for index in range(int(groups.max()) + 1)]
    found: list[Group | None] = [None] * len(members)
    stopped = np.zeros(len(members), dtype=bool)
    taken = int(run.steps.max(initial=0))
    while not stopped.all():
        following = limit if steps is not None else min(limit, max(FIRST_CHECK, int(taken * GROWTH) + 1))
        run.advance(following - taken)
        taken = max(taken, following)
        for index in np.flatnonzero(~stopped):
            group = found[index] = _state(run, members[index], edges, top, ENOUGH * tol)
            stopped[index] = group.settled or group.limited
        run.drop(stopped[groups])
        progress(taken)
        if taken >= limit:
            break
    return [_finished(run, own, edges, top, group) for own, group in zip(members, found, strict=True) if group]


def _state(run: BlockLanczos, columns: np.ndarray, edges: np.ndarray, top: float, tol: float) -> Group:
    """Where a group stands; settled once its bounds, and so its error, are within ``tol``.

    How far the estimate has moved between checks is no sign: an eigenvalue of many nodes near an edge keeps it half a
    weight away, without moving, until the steps resolve the two. The bounds know.
    """
    group = _bounded(run, columns, *column_bounds(run, columns, edges, top))
    group.settled = bool(run.whole[columns].all()) or group.half_width <= tol
    if not group.settled and run.rounding != DOUBLE:
        exact = _bounded(run, columns, *column_bounds(run, columns, edges, top, DOUBLE))
        # What lies closer to an edge than rounding spreads an eigenvalue is on either side after any number of steps.
        between = column_masses_near(run, columns, edges + NEAR * top, run.rounding.widened * top, top).sum(axis=0)
        group.limited = exact.half_width <= tol or bool((between > 2 * tol * group.mass).any())
    return group


def _bounded(run: BlockLanczos, columns: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Group:
    """A group from the bounds of its columns, ``(c, e)`` twice."""
    # What is known at one edge holds for the edges beyond it.
    least = np.maximum.accumulate(lower.sum(axis=0))
    most = np.minimum.accumulate(upper.sum(axis=0)[::-1])[::-1]
    return Group(run.squares[columns], (lower + upper) / 2, least, most, int(run.steps[columns].max(initial=0)))


def _finished(run: BlockLanczos, columns: np.ndarray, edges: np.ndarray, top: float, group: Group) -> Group:
    """The group with the values that are needed only of its last state."""
    reach = (NEAR - run.rounding.widened) * top
    group.on_edge = column_masses_near(run, columns, edges, reach, top).sum(axis=0)
    for column in columns:
        if run.steps[column] and run.squares[column] > 0.0:
            nodes = gauss(*run.jacobi(int(column)))[0]
            # Rounding brings a zero component back in, with next to no weight.
            group.lowest = min(group.lowest, float(nodes[nodes > run.rounding.widened * top].min(initial=np.inf)))
    return group


def remove_zero(operator: Operator, columns: Any, *, weighs: bool = False) -> tuple[Any, np.ndarray]:
    """Columns without their components at eigenvalue 0, and the energy of these: ``(n, c) -> (n, c), (c,)``.

    The zero eigenvectors are ``C^1/2`` times the indicators of the connected parts. With ``weighs`` the columns are
    signals ``s`` that count as ``C^1/2 s``, whose mean is subtracted before the root multiplies it.
    """
    if operator.parts is None:
        return columns, np.zeros(columns.shape[1])
    along, left = operator.split(columns, weighs)
    energy, after = (operator.squares(block) for block in (along, left))
    gone = after <= (ROUNDING**2) * (energy + after)
    if gone.any():
        left = left * like(np.where(gone, 0.0, 1.0), left)
    return left, energy


class Probes:
    """A few random columns, whose measures tell the eigenvalues of an operator off zero.

    They depend on the operator and the seed alone, so that all signals on a graph have the same bands.
    """

    def __init__(self, operator: Operator, seed: int = 0) -> None:
        self.operator = operator
        rng = np.random.default_rng([seed, 11])
        # Signs have the least variance, but those of a few nodes may all be equal: nothing off zero.
        few = operator.n < FEW_NODES
        drawn = rng.standard_normal((operator.n, PROBES)) if few else rng.choice([-1.0, 1.0], (operator.n, PROBES))
        block, _ = remove_zero(operator, operator.asarray(drawn))
        self.run = BlockLanczos(operator, block)
        self.run.advance(PROBE_STEPS)

    def spectrum(self) -> Spectrum:
        """Places and shares of the eigenvalues off zero, roughly."""
        run = self.run
        rules = [(*gauss(*run.jacobi(k)), run.squares[k]) for k in range(PROBES) if run.steps[k] and run.squares[k]]
        if not rules:
            return Spectrum(np.zeros(0), np.zeros(0))
        nodes = np.concatenate([nodes for nodes, _, _ in rules])
        weights = np.concatenate([weights * mass for _, weights, mass in rules])
        off = nodes > ROUNDING**0.5 * nodes.max()  # parts that nobody knows of have eigenvalues 0
        return Spectrum.of(nodes[off], weights[off])

    def counts(self, edges: np.ndarray, top: float, steps: int | None, tol: float) -> tuple[np.ndarray, np.ndarray]:
        """Share of the eigenvalues off zero in each band, and its error: ``(e,) -> (e - 1,)`` twice.

        The variance of one probe over a band of ``r`` of ``n`` eigenvalues is at most ``2 (r - r^2 / n)``; to its
        root over all probes the half width of the bounds at both edges is added.
        """
        wanted = None if steps is None else max(steps, PROBE_STEPS)
        zeros = np.zeros(PROBES, dtype=np.int64)
        group = measure(self.run, zeros, edges, top, wanted, max(tol, PROBE_TOL))[0]
        if self.operator.knows_parts and edges[0] == 0.0:
            group.lower[0] = group.upper[0] = 0.0  # the probes have nothing at 0
        if not group.mass:
            return np.zeros(len(edges) - 1), np.zeros(len(edges) - 1)
        share = np.diff((group.lower + group.upper) / 2) / group.mass
        half = (group.upper - group.lower) / 2 / group.mass
        drawn = np.sqrt(2 * share * (1 - np.minimum(share, 1.0)) / self.operator.n / PROBES)
        return share, drawn + half[1:] + half[:-1]
