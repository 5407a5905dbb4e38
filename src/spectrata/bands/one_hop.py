"""The bands of one hop: by a whole decomposition where that is cheap, by recurrences elsewhere."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spectrata.bands import exact
from spectrata.bands.edges import NEAR, Spectrum, band_edges
from spectrata.bands.labels import HopBands, Places
from spectrata.bands.lanczos import BlockLanczos
from spectrata.bands.measure import Group, Probes, measure, remove_zero
from spectrata.bands.operators import ForeignOperator, Operator
from spectrata.bands.settings import LEAST_SQUARES, Settings
from spectrata.bands.solve import solve_laplacian
from spectrata.errors import SolverError
from spectrata.inputs.signals import Potential
from spectrata.kernels.backend import like, namespace, to_numpy

# Columns in one block: the product's cost per column hardly falls beyond, its memory grows.
MAX_COLUMNS = 32
TOGETHER = 1e-9  # of the energy: far above the rounding of sums


def one_hop(
    hop: int, operator: Operator, values: Potential, settings: Settings, progress: Callable[[int], None]
) -> HopBands:
    """Energies of a signal's potential in the bands of one hop's operator."""
    if exact.is_small(operator) and settings.steps is None:
        return verify(_by_decomposition(hop, operator, values, settings), operator, values, settings)
    return verify(_by_recurrence(hop, operator, values, settings, progress), operator, values, settings)


def verify(found: HopBands, operator: Operator, values: Potential, settings: Settings) -> HopBands:
    """The bands, whose bounds must be in order, and whose energies with those at zero add up to the signal's."""
    mass = found.mass[..., None]
    slack = TOGETHER * mass
    in_order = (found.lower <= found.upper + slack) & (found.lower >= -slack) & (found.upper <= mass + slack)
    steps = np.minimum(np.diff(found.lower, axis=-1), np.diff(found.upper, axis=-1)) >= -slack
    if not (in_order.all() and steps.all()):
        raise SolverError(f"The bounds of bands at hop {found.hop} are not in order; please report this graph.")
    whole = _energy(operator, values.values)
    for name, kind, added in zip(settings.algorithms, settings.signals, found.zero + found.mass, strict=True):
        off = np.abs(added - whole) > TOGETHER * whole
        if kind == "potential" and (off & ~values.undefined).any():
            at = int(np.argmax(off & ~values.undefined))
            raise SolverError(
                f"The energies of {name} at hop {found.hop} add up to {added[at]:.9g} instead of {whole[at]:.9g}; "
                "please report this graph."
            )
    return found


def _energy(operator: Operator, values: Any) -> np.ndarray:
    """``sum_x c(x) norm(s(x))^2`` of each signal, in double precision: ``(T, n, d) -> (T,)``."""
    xp = namespace(values)
    squares = xp.sum(xp.astype(values, xp.float64, copy=False) ** 2, axis=2)
    if operator.measure is not None and operator.laplacian.weighs_signals:
        squares = squares * like(to_numpy(operator.measure), squares)
    return to_numpy(xp.sum(squares, axis=1))


def _by_decomposition(hop: int, operator: Operator, values: Potential, settings: Settings) -> HopBands:
    """Energies of whole eigenspaces, known but for rounding; no step is taken."""
    found = exact.components(hop, operator, values.values, settings)
    places = _places(operator, found.values, found.is_zero, settings)
    cut = places.edges
    off = np.where(found.is_zero, 0.0, found.energy).sum(axis=2)
    below, allowed = found.below(cut), found.uncertain
    return HopBands(
        hop=hop,
        places=places,
        lower=np.maximum(below - allowed, 0.0),
        upper=np.minimum(below + allowed, off[..., None]),
        on_edge=found.on(cut),
        mass=off,
        zero=np.where(found.is_zero, found.energy, 0.0).sum(axis=2),
        spread=np.zeros((*off.shape, len(cut) - 1)),
        steps=np.zeros(off.shape, dtype=np.int64),
        squares=found.squares,
    )


@dataclass(eq=False)
class _Columns:
    """Columns waiting for a block: whose they are."""

    algorithm: int
    snapshot: int
    block: Any  # (n, c)
    residual: np.ndarray | None  # (c,) of the solve that made them


@dataclass(eq=False)
class _Tally:
    """Sums over the groups of each algorithm and snapshot."""

    shape: tuple[int, int, int]  # algorithms, T, points
    averaged: bool  # whether least-squares columns are draws of one signal
    pin: Callable[[np.ndarray, np.ndarray], np.ndarray]
    lower: np.ndarray = field(init=False)
    upper: np.ndarray = field(init=False)
    on_edge: np.ndarray = field(init=False)
    mass: np.ndarray = field(init=False)
    spread: np.ndarray = field(init=False)  # variance of the mean over orientations, per band
    steps: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        algorithms, snapshots, points = self.shape
        self.lower, self.upper, self.on_edge = np.zeros((3, algorithms, snapshots, points))
        self.mass = np.zeros((algorithms, snapshots))
        self.spread = np.zeros((algorithms, snapshots, points - 1))
        self.steps = np.zeros((algorithms, snapshots), dtype=np.int64)

    def add(self, owner: _Columns, group: Group) -> None:
        at = owner.algorithm, owner.snapshot
        assert group.columns is not None
        assert group.column_mass is not None
        allowance = _solve_allowance(owner, group)
        self.lower[at] += np.maximum(group.lower - allowance, 0.0)
        self.upper[at] += np.minimum(group.upper + allowance, group.mass)
        self.on_edge[at] += group.on_edge
        self.mass[at] += group.mass
        self.steps[at] = max(self.steps[at], group.steps)
        if self.averaged and owner.residual is not None:
            energy = np.diff(self.pin(group.columns, group.column_mass), axis=1)
            # Columns carry 1 / count each, so that their sum is the mean.
            self.spread[at] += len(energy) * energy.var(axis=0, ddof=1)


def _solve_allowance(owner: _Columns, group: Group) -> float:
    """How much of the energy below an edge the residual of a solve can move.

    The error of a solution is at most its residual over the smallest eigenvalue off zero. That one is read off the
    solution's own recurrence, whose energy lies mostly there, and halved.
    """
    if owner.residual is None or not group.mass:
        return 0.0
    assert group.column_mass is not None
    error = owner.residual / (group.lowest / 2)
    return float(np.sum(2 * np.sqrt(group.column_mass) * error + error**2))


def _by_recurrence(
    hop: int, operator: Operator, values: Potential, settings: Settings, progress: Callable[[int], None]
) -> HopBands:
    places = _small_places(operator, settings) if exact.is_small(operator) else _probed_places(operator, settings)
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

    snapshots = len(values.values)
    zero = np.zeros((len(settings.algorithms), snapshots))
    squares = np.zeros(snapshots)
    tally = _Tally((len(settings.algorithms), snapshots, len(points)), settings.orientation == "rms", pin)
    waiting: list[_Columns] = []

    def flush() -> None:
        if waiting:
            xp = namespace(waiting[0].block)
            block = xp.concat([c.block for c in waiting], axis=1) if len(waiting) > 1 else waiting[0].block
            owners = np.repeat(np.arange(len(waiting)), [c.block.shape[1] for c in waiting])
            for owner in waiting:
                owner.block = None
            groups = _measured(operator, block, owners, points, places.top, settings, progress)
            del block
            for owner, group in zip(waiting, groups, strict=True):
                tally.add(owner, group)
            waiting.clear()

    for t in np.flatnonzero(~values.undefined):
        signals, squares[t], residual = _node_signals(hop, operator, values.values[t], settings)
        for row, kind in enumerate(settings.signals):
            solved = kind == LEAST_SQUARES
            block, energy = remove_zero(
                operator, signals[kind], weighs=operator.laplacian.weighs_signals and not solved
            )
            zero[row, t] = 0.0 if solved else energy.sum()
            for start in range(0, block.shape[1], MAX_COLUMNS):
                columns = slice(start, start + MAX_COLUMNS)
                piece = block[:, columns]
                if sum(c.block.shape[1] for c in waiting) + piece.shape[1] > MAX_COLUMNS:
                    flush()
                waiting.append(_Columns(row, int(t), piece, residual[columns] if solved else None))
            del block
    flush()
    lower, upper = pin(tally.lower, tally.mass), pin(tally.upper, tally.mass)
    mass, on_edge, spread = tally.mass, tally.on_edge, tally.spread
    if not known:
        lower, upper, mass, more = _off_zero(lower, upper, mass)
        zero, on_edge, spread = zero + more, on_edge[..., 1:], spread[..., 1:]
        if cut[0] == 0.0:
            lower[..., 0] = upper[..., 0] = 0.0
    return HopBands(
        hop=hop,
        places=places,
        lower=lower,
        upper=upper,
        on_edge=on_edge,
        mass=mass,
        zero=zero,
        spread=spread,
        steps=tally.steps,
        squares=np.full(snapshots, np.nan) if _has_no_edges(operator) and not squares.any() else squares,
    )


def _measured(
    operator: Operator,
    block: Any,
    owners: np.ndarray,
    points: np.ndarray,
    top: float,
    settings: Settings,
    progress: Callable[[int], None],
) -> list[Group]:
    """Groups of a block's columns: in single precision where that is enough, in double precision elsewhere."""
    squares = operator.squares(block)
    for tol in (settings.tol, 0.0):  # bounds of no width need double precision
        run = BlockLanczos(operator, operator.stored(block, tol), squares)
        groups = measure(run, owners, points, top, settings.steps, settings.tol, progress)
        if not any(group.limited for group in groups):
            break
    return groups


# ---- edges of bands and the eigenvalues between them


def _places(operator: Operator, values: np.ndarray, is_zero: np.ndarray, settings: Settings) -> Places:
    """Bands of an operator whose eigenvalues are known."""
    cut = band_edges(Spectrum.of(values[~is_zero]), settings.bands, settings.spacing)
    edges, parts, singletons = _sizes(operator)
    sizes = (edges, parts, singletons) if operator.knows_parts else (edges, int(np.count_nonzero(is_zero)), -1)
    counted = exact.counts(values, is_zero, cut)
    n_off_zero = int(np.count_nonzero(~is_zero))
    complete = int(counted.sum()) == n_off_zero
    none = np.zeros(len(counted))
    return Places(cut, float(values[-1]), sizes, n_off_zero, counted.astype(float), none, complete)


def _small_places(operator: Operator, settings: Settings) -> Places:
    return _places(operator, *exact.eigenvalues(operator), settings)


def _probed_places(operator: Operator, settings: Settings) -> Places:
    """Bands of an operator whose eigenvalues are estimated from random columns."""
    probes = Probes(operator, settings.seed)
    spectrum = probes.spectrum()
    cut = band_edges(spectrum, settings.bands, settings.spacing)
    share, error = probes.counts(cut, spectrum.top, settings.steps, settings.tol)
    edges, parts, singletons = _sizes(operator)
    sizes = (edges, parts, singletons) if operator.knows_parts else (edges, -1, -1)
    n_off_zero = operator.n - max(parts, 0)
    complete = settings.automatic or bool(cut[0] == 0.0 and cut[-1] >= spectrum.top * (1 - NEAR))
    return Places(cut, spectrum.top, sizes, n_off_zero, n_off_zero * share, n_off_zero * error, complete)


def _sizes(operator: Operator) -> tuple[int, int, int]:
    """Edges, connected parts and nodes without an edge; -1 where not known."""
    edges = -1 if operator.n_edges is None else operator.n_edges
    if operator.parts is None:
        return edges, -1, -1
    sizes = operator.part_sizes
    return edges, len(sizes), int(np.count_nonzero(sizes == 1))


def _off_zero(
    lower: np.ndarray, upper: np.ndarray, mass: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Bounds off zero, where the energy at zero is one of the cumulative energies: the first point's.

    ``(A, T, e + 1) -> (A, T, e)``, with the energy off zero and that at zero, ``(A, T)``. A share off zero is
    ``1 - (mass - F(x)) / (mass - F(0))``.
    """
    least, most = lower[..., :1], upper[..., :1]
    at_zero = np.where(least > 0.0, (least + most) / 2, 0.0)
    off = np.maximum(mass[..., None] - at_zero, 0.0)

    def share(cumulative: np.ndarray, zero: np.ndarray) -> np.ndarray:
        whole = mass[..., None] - zero
        left = np.divide(mass[..., None] - cumulative, whole, out=np.ones_like(cumulative), where=whole > 0.0)
        return np.clip(1.0 - left, 0.0, 1.0)

    return share(lower[..., 1:], most) * off, share(upper[..., 1:], least) * off, off[..., 0], at_zero[..., 0]


def _has_no_edges(operator: Operator) -> bool:
    return isinstance(operator, ForeignOperator) and not hasattr(operator.given, "gradients")


def _node_signals(
    hop: int, operator: Operator, t: np.ndarray, settings: Settings
) -> tuple[dict[str, Any], float, np.ndarray]:
    """The node signals whose energies are measured, ``(n, c)`` by kind; the squared gradient norm; solves' residuals.

    The least-squares signal is ``C^1/2 f`` already.
    """
    here = operator.asarray(t)
    signals: dict[str, Any] = {"potential": here}
    if _has_no_edges(operator) and set(settings.signals) == {"potential"}:
        return signals, float(np.sum(t * operator.times(t))), np.zeros(0)  # sum lam M^2 = sum g^2
    mean, divergence, squares = operator.gradients(here, settings.keys(hop))
    signals["node_means"] = mean[:, None]
    if LEAST_SQUARES in settings.signals:
        if operator.measure is not None:
            divergence = divergence / like(np.sqrt(operator.measure), divergence)[:, None]
        f, _, residual = solve_laplacian(operator, divergence, settings.solver)
        root = np.sqrt(f.shape[1])
        signals[LEAST_SQUARES], residual = f / root, residual / root
        return signals, squares, residual
    return signals, squares, np.zeros(0)
