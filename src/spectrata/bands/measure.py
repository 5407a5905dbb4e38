"""Cumulative energies of groups of columns, with steps added until they settle.

A group is what one algorithm makes of one snapshot: its energy is the sum over its columns. Groups share one block
and stop one by one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from spectrata.bands.lanczos import BlockLanczos
from spectrata.bands.operators import Operator
from spectrata.bands.quadrature import column_bounds, gauss
from spectrata.core.hop import split_along
from spectrata.kernels.backend import like, namespace, to_numpy

FIRST_CHECK = 16
GROWTH = 1.3  # steps between checks grow, since a check costs the square of the steps
MAX_STEPS = 2000
# What is left of a column after its zero components are taken out is rounding below this share of it.
ROUNDING = 1e-13
# Probes of the spectrum itself: enough steps for its top, enough columns for the counts of bands.
PROBES, PROBE_STEPS = 4, 64


@dataclass(eq=False)
class Group:
    """Bounds on one group's energy at or below each edge, and how they were reached."""

    mass: float
    lower: np.ndarray  # (e,)
    upper: np.ndarray  # (e,)
    steps: int = 0
    settled: bool = False
    columns: np.ndarray | None = None  # (c, e) middle of the bounds of each column
    column_mass: np.ndarray | None = None  # (c,)

    @property
    def middle(self) -> np.ndarray:
        """Middle of the bounds: ascending along the edges, as the bounds are."""
        return (self.lower + self.upper) / 2

    @property
    def half_width(self) -> float:
        """Largest distance from the middle to a bound, as a share of the group's energy."""
        return float(np.max(self.upper - self.lower, initial=0.0)) / 2 / self.mass if self.mass else 0.0


def measure(
    operator: Operator,
    block: Any,
    groups: np.ndarray,
    edges: np.ndarray,
    steps: int | None = None,
    tol: float = 0.01,
    progress: Callable[[int], None] = lambda steps: None,
) -> list[Group]:
    """Cumulative energies of groups of columns at the edges.

    Parameters
    ----------
    operator : Operator
    block : array, shape (n, c)
        Columns free of zero components; overwritten.
    groups : ndarray of int, shape (c,)
        Which group each column belongs to, from 0.
    edges : ndarray, shape (e,)
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
    run = BlockLanczos(operator, block)
    limit = MAX_STEPS if steps is None else steps
    found: list[Group | None] = [None] * (int(groups.max()) + 1)
    taken = 0
    while any(group is None or not group.settled for group in found):
        following = limit if steps is not None else min(limit, max(FIRST_CHECK, int(taken * GROWTH) + 1))
        run.advance(following - taken)
        taken = following
        for index, group in enumerate(found):
            if group is None or not group.settled:
                found[index] = _state(run, groups == index, edges, tol)
        stopped = np.array([group is not None and group.settled for group in found])
        run.drop(stopped[groups])
        progress(taken)
        if taken >= limit:
            break
    return [group for group in found if group is not None]


def _state(run: BlockLanczos, members: np.ndarray, edges: np.ndarray, tol: float) -> Group:
    """Where a group stands; settled once its bounds, and so its error, are within ``tol``.

    How far the estimate has moved between checks is no sign: an eigenvalue of many nodes near an edge keeps it half a
    weight away, without moving, until the steps resolve the two. The bounds know.
    """
    columns = np.flatnonzero(members)
    lower, upper = column_bounds(run, columns, edges)
    mass = run.squares[columns]
    # What is known at one edge holds for the edges beyond it.
    least = np.maximum.accumulate(lower.sum(axis=0))
    most = np.minimum.accumulate(upper.sum(axis=0)[::-1])[::-1]
    group = Group(float(mass.sum()), least, most, int(run.steps[columns].max(initial=0)))
    group.columns, group.column_mass = (lower + upper) / 2, mass
    group.settled = bool(run.whole[columns].all()) or group.half_width <= tol
    return group


def remove_zero(operator: Operator, columns: Any, *, weighs: bool = False) -> tuple[Any, np.ndarray]:
    """Columns without their components at eigenvalue 0, and the energy of these: ``(n, c) -> (n, c), (c,)``.

    The zero eigenvectors are ``C^1/2`` times the indicators of the connected parts. With ``weighs`` the columns are
    signals ``s`` that count as ``C^1/2 s``, whose mean is subtracted before the root multiplies it.
    """
    if operator.parts is None:
        return columns, np.zeros(columns.shape[1])
    along, left = split_along(columns, operator.parts, operator.measure, weighs)
    xp = namespace(left)
    energy, after = (to_numpy(xp.sum(block * block, axis=0)) for block in (along, left))
    gone = after <= (ROUNDING**2) * (energy + after)
    if gone.any():
        left = left * like(np.where(gone, 0.0, 1.0), left)
    return left, energy


@dataclass(frozen=True, eq=False)
class Spectrum:
    """What a few random columns tell of an operator's eigenvalues off zero."""

    top: float
    nodes: np.ndarray  # ascending
    share: np.ndarray  # cumulative share of the eigenvalues at or below each node, half of its own counted

    def below(self, edges: np.ndarray) -> np.ndarray:
        """Share of the eigenvalues off zero below each edge."""
        places, shares = np.append(0.0, self.nodes), np.append(0.0, self.share)
        return np.interp(edges, places, shares, right=1.0)

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        """Places with these shares of the eigenvalues below them."""
        return np.interp(shares, np.append(0.0, self.share), np.append(0.0, self.nodes))


def probe(operator: Operator, seed: int = 0) -> Spectrum:
    """The top of the spectrum and the density of eigenvalues, from random signs on the nodes.

    It depends on the operator and the seed alone, so that all signals on a graph have the same bands.
    """
    rng = np.random.default_rng([seed, 11])
    drawn = rng.choice([-1.0, 1.0], size=(operator.n, PROBES))
    block, _ = remove_zero(operator, operator.asarray(drawn))
    run = BlockLanczos(operator, block)
    run.advance(PROBE_STEPS)
    rules = [(*gauss(*run.jacobi(k)), run.squares[k]) for k in range(PROBES) if run.steps[k] and run.squares[k]]
    if not rules:
        return Spectrum(0.0, np.zeros(0), np.zeros(0))
    nodes = np.concatenate([nodes for nodes, _, _ in rules])
    weights = np.concatenate([weights * mass for _, weights, mass in rules])
    order = np.argsort(nodes)
    nodes, weights = nodes[order], weights[order] / weights.sum()
    return Spectrum(float(nodes[-1]), nodes, np.cumsum(weights) - weights / 2)
