"""The bands of one hop: by a whole decomposition where that is cheap, by recurrences elsewhere."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spectrata.bands import exact
from spectrata.bands.edges import NEAR, band_edges
from spectrata.bands.lanczos import BlockLanczos
from spectrata.bands.measure import Group, Probes, measure, remove_zero
from spectrata.bands.operators import ForeignOperator, Operator
from spectrata.bands.result import BandSizes, HopBands
from spectrata.bands.settings import LEAST_SQUARES, Settings
from spectrata.bands.solve import solve_laplacian
from spectrata.core.parallel import Progress
from spectrata.core.strata import Stratum
from spectrata.errors import SolverError
from spectrata.inputs.signals import Potential
from spectrata.kernels.backend import like, namespace, to_numpy

# Columns in one block: the product's cost per column hardly falls beyond, its memory grows.
MAX_COLUMNS = 32
TOGETHER = 1e-9  # of the energy: far above the rounding of sums
Tell = Callable[[int], None]  # told the steps taken


def one_hop(hop: int, given: Stratum | Operator, values: Potential, settings: Settings, report: Progress) -> HopBands:
    """Energies of a signal's potential in the bands of one hop: a stratum is decomposed, as is a small operator."""
    if isinstance(given, Stratum) or (exact.is_small(given) and settings.steps is None):
        return verify(exact.by_decomposition(hop, given, values, settings), given, values, settings)
    return verify(_by_recurrence(hop, given, values, settings, report), given, values, settings)


def verify(found: HopBands, given: Stratum | Operator, values: Potential, settings: Settings) -> HopBands:
    """The bands, whose bounds must be in order, and whose energies with those at zero add up to the signal's."""
    mass = found.mass[..., None]
    slack = TOGETHER * mass
    in_order = (found.lower <= found.upper + slack) & (found.lower >= -slack) & (found.upper <= mass + slack)
    steps = np.minimum(np.diff(found.lower, axis=-1), np.diff(found.upper, axis=-1)) >= -slack
    if not (in_order.all() and steps.all()):
        raise SolverError(f"The bounds of bands at hop {found.hop} are not in order; please report this graph.")
    xp = namespace(values.values)
    squares = xp.sum(xp.astype(values.values, xp.float64, copy=False) ** 2, axis=2)  # (T, n)
    if settings.laplacian.weighs_signals:
        measure = settings.laplacian.measure(given) if isinstance(given, Stratum) else to_numpy(given.measure)
        squares = squares * like(measure, squares)
    whole = to_numpy(xp.sum(squares, axis=1))
    for name, kind, added in zip(settings.algorithms, settings.signals, found.zero + found.mass, strict=True):
        off = (np.abs(added - whole) > TOGETHER * whole) & ~values.undefined
        if kind == "potential" and off.any():
            at = int(np.argmax(off))
            raise SolverError(
                f"The energies of {name} at hop {found.hop} add up to {added[at]:.9g} instead of {whole[at]:.9g}; "
                "please report this graph."
            )
    return found


@dataclass(eq=False)
class _Columns:
    """Columns of one algorithm and snapshot, waiting for their recurrences."""

    at: tuple[int, int]
    block: Any  # (n, c)
    residual: np.ndarray | None  # (c,) of the solve that made them


def _by_recurrence(hop: int, operator: Operator, values: Potential, settings: Settings, report: Progress) -> HopBands:
    if exact.is_small(operator):
        _, lam, _, is_zero = exact.eigenpairs(operator)
        places = exact.known_places(operator, lam, is_zero, settings)
    else:
        places = _probed_places(operator, settings)
    cut = places.edges
    known = operator.knows_parts or (operator.parts is not None and places.sizes[1] == operator.parts.max() + 1)
    points = cut if known else np.append(0.0, cut)

    def pin(cumulative: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """Cumulative energies at the points, those at both ends of the spectrum as they must be."""
        out = cumulative.copy()
        if known and cut[0] == 0.0:
            out[..., 0] = 0.0
        if settings.automatic:
            out[..., -1] = mass
        return out

    shape = len(settings.algorithms), len(values.values)
    lower, upper, on_edge = np.zeros((3, *shape, len(points)))
    mass, zero = np.zeros((2, *shape))
    spread, steps = np.zeros((*shape, len(points) - 1)), np.zeros(shape, dtype=np.int64)
    found = HopBands(hop, places, lower, upper, on_edge, mass, zero, spread, steps, np.zeros(shape[1]))

    def tell(taken: int) -> None:
        report(f"K = {hop}, step {taken}", 0.0)

    for waiting in _batches(_columns(operator, values, settings, found)):
        groups = _measured(operator, waiting, points, places.top, settings, tell)
        for owner, group in zip(waiting, groups, strict=True):
            _add(found, owner, group)
            if settings.orientation == "rms" and owner.residual is not None:
                energy = np.diff(pin(group.columns, group.column_mass), axis=1)
                # Columns carry 1 / count each, so that their sum is the mean.
                spread[owner.at] += len(energy) * energy.var(axis=0, ddof=1)
    found = replace(found, lower=pin(lower, mass), upper=pin(upper, mass))
    return found if known else _off_zero(found)


def _columns(operator: Operator, values: Potential, settings: Settings, found: HopBands) -> Iterator[_Columns]:
    """The columns whose energies are measured; what lies at zero, and the gradients' norms, are written down."""
    for t in np.flatnonzero(~values.undefined):
        signals, found.squares[t], residual = _node_signals(found.hop, operator, values.values[t], settings)
        for row, kind in enumerate(settings.signals):
            solved = kind == LEAST_SQUARES
            weighs = operator.laplacian.weighs_signals and not solved
            block, energy = remove_zero(operator, signals[kind], weighs=weighs)
            found.zero[row, t] = 0.0 if solved else energy.sum()
            for start in range(0, block.shape[1], MAX_COLUMNS):
                columns = slice(start, start + MAX_COLUMNS)
                yield _Columns((row, int(t)), block[:, columns], residual[columns] if solved else None)


def _batches(columns: Iterator[_Columns]) -> Iterator[list[_Columns]]:
    """As many columns at a time as a block holds."""
    waiting: list[_Columns] = []
    for one in columns:
        if waiting and sum(other.block.shape[1] for other in waiting) + one.block.shape[1] > MAX_COLUMNS:
            yield waiting
            waiting = []
        waiting.append(one)
    if waiting:
        yield waiting


def _add(found: HopBands, owner: _Columns, group: Group) -> None:
    """Add a group to the sums of its algorithm and snapshot."""
    moved = 0.0  # how much of the energy below an edge the residual of a solve can move
    if owner.residual is not None and group.mass:
        # The error of a solution is at most its residual over the smallest eigenvalue off zero. That one is read off
        # the solution's own recurrence, whose energy lies mostly there, and halved.
        error = owner.residual / (group.lowest / 2)
        moved = float(np.sum(2 * np.sqrt(group.column_mass) * error + error**2))
    found.lower[owner.at] += np.maximum(group.lower - moved, 0.0)
    found.upper[owner.at] += np.minimum(group.upper + moved, group.mass)
    found.on_edge[owner.at] += group.on_edge
    found.mass[owner.at] += group.mass
    found.steps[owner.at] = max(found.steps[owner.at], group.steps)


def _measured(
    operator: Operator, waiting: list[_Columns], points: np.ndarray, top: float, settings: Settings, tell: Tell
) -> list[Group]:
    """Groups of columns: in single precision where that is enough, in double precision elsewhere."""
    blocks = [one.block for one in waiting]
    owners = np.repeat(np.arange(len(waiting)), [block.shape[1] for block in blocks])
    block = namespace(blocks[0]).concat(blocks, axis=1) if len(blocks) > 1 else blocks[0]
    del blocks
    for one in waiting:
        one.block = None
    squares = operator.squares(block)
    for tol in (settings.tol, 0.0):  # bounds of no width need double precision
        run = BlockLanczos(operator, operator.stored(block, tol), squares)
        groups = measure(run, owners, points, top, settings.steps, settings.tol, tell)
        if not any(group.limited for group in groups):
            break
    return groups


def _probed_places(operator: Operator, settings: Settings) -> BandSizes:
    """Bands of an operator whose eigenvalues are estimated from random columns."""
    probes = Probes(operator, settings.seed)
    spectrum = probes.spectrum()
    cut = band_edges(spectrum, settings.bands, settings.spacing)
    share, error = probes.counts(cut, spectrum.top, settings.steps, settings.tol)
    n_off_zero = operator.n - len(operator.part_sizes)
    complete = settings.automatic or bool(cut[0] == 0.0 and cut[-1] >= spectrum.top * (1 - NEAR))
    return BandSizes(cut, spectrum.top, operator.sizes, n_off_zero, n_off_zero * share, n_off_zero * error, complete)


def _off_zero(found: HopBands) -> HopBands:
    """Bounds off zero, where the energy at zero is one of the cumulative energies: the first point's.

    A share off zero is ``1 - (mass - F(x)) / (mass - F(0))``.
    """
    least, most, mass = found.lower[..., :1], found.upper[..., :1], found.mass[..., None]
    at_zero = np.where(least > 0.0, (least + most) / 2, 0.0)
    off = np.maximum(mass - at_zero, 0.0)

    def energy(cumulative: np.ndarray, zero: np.ndarray) -> np.ndarray:
        whole = mass - zero
        left = np.divide(mass - cumulative, whole, out=np.ones_like(cumulative), where=whole > 0.0)
        bounds = np.clip(1.0 - left, 0.0, 1.0) * off
        if found.places.edges[0] == 0.0:
            bounds[..., 0] = 0.0
        return bounds

    return replace(
        found,
        lower=energy(found.lower[..., 1:], most),
        upper=energy(found.upper[..., 1:], least),
        on_edge=found.on_edge[..., 1:],
        spread=found.spread[..., 1:],
        mass=off[..., 0],
        zero=found.zero + at_zero[..., 0],
    )


def _node_signals(
    hop: int, operator: Operator, t: np.ndarray, settings: Settings
) -> tuple[dict[str, Any], float, np.ndarray]:
    """The node signals whose energies are measured, ``(n, c)`` by kind; the squared gradient norm; solves' residuals.

    The least-squares signal is ``C^1/2 f`` already.
    """
    here = operator.asarray(t)
    signals: dict[str, Any] = {"potential": here}
    no_edges = isinstance(operator, ForeignOperator) and not hasattr(operator.given, "gradients")
    if no_edges and set(settings.signals) == {"potential"}:
        return signals, float(np.sum(t * operator.times(t))), np.zeros(0)  # sum lam M^2 = sum g^2
    mean, divergence, squares = operator.gradients(here, settings.keys(hop))
    signals["node_means"] = mean[:, None]
    if LEAST_SQUARES not in settings.signals:
        return signals, squares, np.zeros(0)
    if operator.measure is not None:
        divergence = divergence / like(np.sqrt(operator.measure), divergence)[:, None]
    f, _, residual = solve_laplacian(operator, divergence, settings.solver)
    root = np.sqrt(f.shape[1])
    signals[LEAST_SQUARES] = f / root
    return signals, squares, residual / root
