"""Cumulative energies of groups of columns, with steps added until they settle.

A group is what one algorithm makes of one snapshot: its energy is the sum over its columns. Groups share one block
and stop one by one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from spectrata.bands.edges import Spectrum
from spectrata.bands.lanczos import BlockLanczos
from spectrata.bands.operators import Operator
from spectrata.bands.quadrature import column_bounds, column_masses_at, column_masses_between, gauss
from spectrata.bands.rounding import DOUBLE
from spectrata.kernels.backend import like

FIRST_CHECK = 16
GROWTH = 1.3  # steps between checks grow, since a check costs the square of the steps
MAX_STEPS = 2000
# Bounds stop at this share of what was asked, which leaves room for the error of a solve.
ENOUGH = 0.95
# What is left of a column after its zero components are taken out is rounding below this share of it.
ROUNDING = 1e-13
# Probes of the spectrum itself: enough steps for its top, enough columns for the counts of bands.
PROBES, PROBE_STEPS, PROBE_TOL = 4, 64, 0.01
FEW_NODES = 100


@dataclass(eq=False)
class Group:
    """Bounds on one group's energy at or below each edge, and how they were reached."""

    mass: float
    lower: np.ndarray  # (e,)
    upper: np.ndarray  # (e,)
    steps: int = 0
    settled: bool = False
    limited: bool = False  # whether the precision of stored vectors, not the steps, keeps the bounds apart
    columns: np.ndarray | None = None  # (c, e) middle of the bounds of each column
    column_mass: np.ndarray | None = None  # (c,)
    on_edge: np.ndarray | None = None  # (e,) energy within rounding of each edge, at least
    lowest: float = np.inf  # smallest node of the columns' Gauss rules

    @property
    def stopped(self) -> bool:
        """Whether more steps would change nothing."""
        return self.settled or self.limited

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
    """Cumulative energies of groups of columns at the edges.

    Parameters
    ----------
    run : BlockLanczos
        Started from columns free of zero components; it may have taken some steps.
    groups : ndarray of int, shape (c,)
        Which group each column belongs to, from 0.
    edges : ndarray, shape (e,)
    top : float
        The largest eigenvalue, or nearly.
    steps : int, optional
        Exactly so many; None adds steps until every group has settled to ``tol``.
    tol : float
        Share of a group's energy.
    progress : callable
        Called with the steps taken at every check.

    Returns
    -------
    list of Group
    """
    limit = MAX_STEPS if steps is None else steps
    found: list[Group | None] = [None] * (int(groups.max()) + 1)
    taken = int(run.steps.max(initial=0))
    while any(group is None or not group.stopped for group in found):
        following = limit if steps is not None else min(limit, max(FIRST_CHECK, int(taken * GROWTH) + 1))
        run.advance(following - taken)
        taken = max(taken, following)
        for index, group in enumerate(found):
            if group is None or not group.stopped:
                found[index] = _state(run, groups == index, edges, top, ENOUGH * tol)
        stopped = np.array([group is not None and group.stopped for group in found])
        run.drop(stopped[groups])
        progress(taken)
        if taken >= limit:
            break
    done = [group for group in found if group is not None]
    for index, group in enumerate(done):
        _finish(run, np.flatnonzero(groups == index), edges, top, group)
    return done


def _state(run: BlockLanczos, members: np.ndarray, edges: np.ndarray, top: float, tol: float) -> Group:
    """Where a group stands; settled once its bounds, and so its error, are within ``tol``.

    How far the estimate has moved between checks is no sign: an eigenvalue of many nodes near an edge keeps it half a
    weight away, without moving, until the steps resolve the two. The bounds know.
    """
    columns = np.flatnonzero(members)
    group = _bounded(run, columns, *column_bounds(run, columns, edges, top))
    group.settled = bool(run.whole[columns].all()) or group.half_width <= tol
    if not group.settled and run.rounding != DOUBLE:
        exact = _bounded(run, columns, *column_bounds(run, columns, edges, top, DOUBLE))
        between = column_masses_between(run, columns, edges, top).sum(axis=0)
        group.limited = exact.half_width <= tol or bool((between > 2 * tol * group.mass).any())
    return group


def _bounded(run: BlockLanczos, columns: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Group:
    """A group from the bounds of its columns, ``(c, e)`` twice."""
    mass = run.squares[columns]
    # What is known at one edge holds for the edges beyond it.
    least = np.maximum.accumulate(lower.sum(axis=0))
    most = np.minimum.accumulate(upper.sum(axis=0)[::-1])[::-1]
    group = Group(float(mass.sum()), least, most, int(run.steps[columns].max(initial=0)))
    group.columns, group.column_mass = (lower + upper) / 2, mass
    return group


def _finish(run: BlockLanczos, columns: np.ndarray, edges: np.ndarray, top: float, group: Group) -> None:
    """What is wanted once, of the last state of a group."""
    group.on_edge = column_masses_at(run, columns, edges, top).sum(axis=0)
    for column in columns:
        alpha, beta = run.jacobi(int(column))
        if len(alpha) and run.squares[column] > 0.0:
            nodes = gauss(alpha, beta)[0]
            # Rounding brings a zero component back in, with next to no weight.
            group.lowest = min(group.lowest, float(nodes[nodes > run.rounding.widened * top].min(initial=np.inf)))


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
