"""Band energies of small graphs from a whole decomposition: cheaper there than a recurrence, and exact."""

import numpy as np

from spectrata.bands.edges import NEAR, Spectrum, band_edges, reach
from spectrata.bands.measure import ROUNDING as LEFT
from spectrata.bands.operators import ForeignOperator, Operator
from spectrata.bands.result import BandSizes, HopBands
from spectrata.bands.settings import Settings
from spectrata.core.algorithms.options import Options
from spectrata.core.bases.accuracy import Accuracy
from spectrata.core.bases.basis import EIGENSPACE_TOLERANCE, off_zero_values, spaces_of, sum_rounding
from spectrata.core.bases.solve import decompose
from spectrata.core.bases.verify import verify_stack
from spectrata.core.checks import error_of
from spectrata.core.engine import chunks
from spectrata.core.hop import Hop
from spectrata.core.registry import row_of
from spectrata.core.strata import Stratum
from spectrata.inputs.signals import Potential
from spectrata.kernels.backend import like, to_numpy

# Up to this many nodes a decomposition takes about as long as a recurrence: 0.5 s on one core.
EXACT_NODES = 1500
# Eigenvalues of an operator below this share of its largest one are 0.
ZERO = 1e-10
# What rounding can move of a cumulative share.
ROUNDING = 1e-12
# Eigenvalues, which are 0, their eigenspaces (n,); energies and bounds on errors of magnitudes (A, T, n); squared
# gradient norms (T,).
Components = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def is_small(operator: Operator) -> bool:
    """Whether to decompose an operator: it has few nodes, and is not worked on by other machines."""
    remote = isinstance(operator, ForeignOperator) and hasattr(operator.given, "gradients")
    return operator.n <= EXACT_NODES and not remote


def by_decomposition(hop: int, given: Stratum | Operator, values: Potential, settings: Settings) -> HopBands:
    """Energies of whole eigenspaces, known but for rounding; no step is taken."""
    how = values, settings
    found = _of_stratum(given, *how) if isinstance(given, Stratum) else _of_operator(given, *how)
    lam, is_zero, spaces, energy, error, squares = found
    places = known_places(given, lam, is_zero, settings)
    off = np.where(is_zero, 0.0, energy)
    off[off.sum(axis=2) <= LEFT**2 * energy.sum(axis=2)] = 0.0  # rounding is left of a signal with nothing off zero
    mass = off.sum(axis=2)
    sums = np.concatenate([np.zeros((*mass.shape, 1)), np.cumsum(off, axis=2)], axis=2)
    near = NEAR * lam[-1]
    below = sums[..., np.searchsorted(lam, reach(places.edges, near), side="right")]
    before = sums[..., np.searchsorted(lam, reach(places.edges, -near), side="left")]
    # An eigenspace's bound counts once. A length l that is off by d has a square that is off by at most 2 l d + d^2.
    counted = (np.diff(spaces, prepend=-1) != 0) & ~is_zero & (mass > 0.0)[..., None]
    wrong = np.sqrt(np.sum(np.where(counted, error, 0.0) ** 2, axis=2))
    allowed = (ROUNDING * mass + 2 * np.sqrt(mass) * wrong + wrong**2)[..., None]
    return HopBands(
        hop=hop,
        places=places,
        lower=np.maximum(below - allowed, 0.0),
        upper=np.minimum(below + allowed, mass[..., None]),
        on_edge=below - before,
        mass=mass,
        zero=np.where(is_zero, energy, 0.0).sum(axis=2),
        spread=np.zeros((*mass.shape, len(places.edges) - 1)),
        steps=np.zeros(mass.shape, dtype=np.int64),
        squares=squares,
    )


def known_places(given: Stratum | Operator, lam: np.ndarray, is_zero: np.ndarray, settings: Settings) -> BandSizes:
    """Bands of an operator whose eigenvalues are known, ``(n,)``."""
    off = lam[~is_zero]
    cut = band_edges(Spectrum.of(off), settings.bands, settings.spacing)
    counted = np.diff(np.searchsorted(off, reach(cut, NEAR * lam[-1]), side="right"))
    if isinstance(given, Stratum):
        sizes = given.n_edges, given.n_parts, given.n_singletons
    else:
        sizes = given.sizes if given.knows_parts else (given.n_edges, int(np.count_nonzero(is_zero)), -1)
    complete = int(counted.sum()) == len(off)
    return BandSizes(cut, float(lam[-1]), sizes, len(off), counted.astype(float), np.zeros(len(counted)), complete)


def _of_stratum(stratum: Stratum, values: Potential, settings: Settings) -> Components:
    """The components of a signal's potential on a stratum."""
    basis = decompose(stratum, settings.laplacian)
    options = Options(orientation=settings.orientation, **settings.laplacian.arguments)
    functions = [row_of(name).function for name in settings.algorithms]
    energy, error, squares = [], [], []
    for part in chunks(values, stratum.n_edges):
        here = like(part.values, stratum.edges)
        work = Hop(stratum, basis, here, lambda: basis, lambda key, make: make(), settings.seed, diagnose=False)
        outputs = [function(work, options) for function in functions if function]
        energy.append(np.stack([to_numpy(output.magnitude) for output in outputs]) ** 2)
        error.append(np.stack([error_of(work, output) for output in outputs]))
        squares.append(to_numpy(work.edge_norm(work.gradient)) ** 2)
    sums = np.concatenate(energy, axis=1), np.concatenate(error, axis=1), np.concatenate(squares)
    return basis.values, basis.is_zero, basis.eigenspace, *sums


def _of_operator(operator: Operator, field: Potential, settings: Settings) -> Components:
    """The same on the caller's operator, which stands for hop 1."""
    values = field.values
    if set(settings.signals) != {"potential"}:
        operator.gradients(values[0], settings.keys(1))  # raises: an operator has no edges
    matrix, lam, vectors, is_zero = eigenpairs(operator)
    residual, gram = verify_stack(1, matrix[None], lam[None], vectors[None])
    projected = np.einsum("ni,tnd->tid", vectors, values, optimize=True)
    energy = np.einsum("tid,tid->ti", projected, projected)
    spaces = spaces_of(lam, is_zero, EIGENSPACE_TOLERANCE["float64"] * lam[-1])
    accuracy = Accuracy(lam, spaces, is_zero, residual, gram, sum_rounding(operator.n))
    off = np.where(is_zero, 0.0, energy).sum(axis=1)
    error = accuracy.errors(np.sqrt(energy), off, energy.sum(axis=1))
    every, errors = (np.repeat(one[None], len(settings.algorithms), axis=0) for one in (energy, error))
    return lam, is_zero, spaces, every, errors, np.maximum(energy @ lam, 0.0)


def eigenpairs(operator: Operator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The matrix, ascending eigenvalues, eigenvectors, and which are 0: by structure where parts are known.

    Known null vectors are moved past the top of the spectrum for the solve, as in ``core.bases.solve``: a caller's
    matrix need not have the edges that ``decompose`` starts from.
    """
    matrix = to_numpy(operator.times(operator.asarray(np.eye(operator.n))))
    matrix = (matrix + matrix.T) / 2
    if not operator.knows_parts:
        values, vectors = np.linalg.eigh(matrix)
        is_zero = values <= ZERO * max(values[-1], 0.0)
        return matrix, np.where(is_zero, 0.0, values), vectors, is_zero
    parts, measure = to_numpy(operator.parts), operator.measure
    null = np.eye(parts.max() + 1)[parts]
    if measure is not None:
        null *= np.sqrt(to_numpy(measure))[:, None]
    null /= np.linalg.norm(null, axis=0)
    zeros, off = null.shape[1], operator.n - null.shape[1]
    past = 1.5 * np.max(np.abs(matrix).sum(axis=1))  # Gershgorin's discs end before
    values, vectors = np.linalg.eigh(matrix + past * (null @ null.T))
    values = off_zero_values(values[:off], np.max(values[:off], initial=0.0))
    lam, is_zero = np.append(np.zeros(zeros), values), np.arange(operator.n) < zeros
    return matrix, lam, np.hstack([null, vectors[:, :off]]), is_zero
