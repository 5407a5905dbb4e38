"""LN-VX: line-to-vertex conversion based transform (Algorithm 5).

``h_k = abs(L(u_k)^T g)`` are the magnitudes of the gradient in the line graph's eigenbasis; a map from that basis to
the vertex basis carries them over. With ``P = H_ln L(U)`` and ``Q = H_vx^T U`` the magnitude is ``M(i) = abs(sum_k
h_k P_ik Q_ki)``.

``transform="learned"``
    ``H_ln`` and ``H_vx`` with ``U^T = H_ln L(U) H_vx^T`` are learned: Adagrad on the mean squared error, from uniform
    starts, in single precision, as the released program sets it; the weights it ends in are used in double. All
    trials advance in one batch and each leaves it at its own tolerance. ``P`` is optimised instead of ``H_ln``: the
    same problem, since ``L(U)`` is orthogonal, at ``n n m`` instead of ``n m m`` operations an epoch; ``literal=True``
    keeps the released parametrisation. The weights ``P_ik Q_ki`` then average to ``1/m``, and the magnitudes tend to
    the constant ``mean(h)``: a learned spectrum is close to flat whatever the signal.
``transform="incidence"``
    Deterministic and independent of every choice of basis and orientation: each vertex component reads the line
    magnitudes through its own edge differences. Also close to flat.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from spectrata.core.algorithms.options import Options
from spectrata.core.hop import Extra, Hop, Output
from spectrata.errors import LineGraphSizeError
from spectrata.kernels import edge_sums, threads
from spectrata.kernels.backend import Array, like, namespace, to_numpy

LINE_GRAPH_TOO_LARGE = "skipped: line graph too large"
# All that a learned transform depends on, besides the graph and the seed.
LEARNED_BY = ("trials", "max_epochs", "tolerance", "learning_rate", "literal", "activation", "by_part")
# As the released program: what is learned is random in its first digit, and single precision takes half the time.
LEARNING = "float32"
GROUP_DOUBLES = 2**16  # of one of the six arrays of a group: half a megabyte each
ADAGRAD_EPSILON = 1e-10  # torch's
SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772  # of Klambauer et al. 2017


def ln_vx(hop: Hop, options: Options) -> Output:
    """Magnitudes carried over from the line graph."""
    if hop.stratum.n_edges > options.max_line_nodes:
        return Output(np.full((len(hop.potential), hop.basis.n), np.nan), LINE_GRAPH_TOO_LARGE)
    if options.transform == "incidence":
        return Output(_incidence(hop), power=1.0)
    return _learned(hop, options)


def check_line_sizes(sizes: Mapping[int, int], options: Options) -> None:
    """Refuse line graphs beyond ``max_line_nodes`` before anything is solved; ``sizes``: hop to edges."""
    large = {hop: size for hop, size in sizes.items() if size > options.max_line_nodes}
    if not large or options.skip_large:
        return
    worst = max(large.values())
    listed = ", ".join(f"K={hop} ({size:,})" for hop, size in list(large.items())[:6])
    raise LineGraphSizeError(
        f"ln_vx needs the line graphs' eigenbases, and those at {listed} have more nodes than max_line_nodes="
        f"{options.max_line_nodes:,} (the largest takes about {3 * 8 * worst**2 / 2**30:.1f} GiB); "
        "pass ln_vx={'skip_large': True} to leave these hops NaN, choose fewer hops, or raise max_line_nodes."
    )


def _incidence(hop: Hop) -> Array:
    coefficients = to_numpy(hop.line().project(hop.gradient.T))
    density = like(_line_density(hop, coefficients), hop.gradient)  # (T, m)
    energy = hop.sum_differences(edge_sums.root(density))[1]
    return hop.over_eigenvalues(energy) + hop.at_zero(hop.xp.mean(density, axis=1))


def _line_density(hop: Hop, coefficients: np.ndarray) -> np.ndarray:
    """``w(e) = sum_a norm(Pi_a g) / sqrt(r_a) (Pi_a)_ee`` over the line graph's eigenspaces: ``(m, T) -> (T, m)``."""
    line = hop.line()
    starts = np.flatnonzero(np.diff(line.eigenspace, prepend=-1))
    ranks = np.diff(starts, append=line.n)
    norms = np.sqrt(np.add.reduceat(coefficients**2, starts, axis=0))  # (a, T)
    diagonals = np.add.reduceat(line.dense() ** 2, starts, axis=1)  # (m, a)
    return (diagonals @ (norms / np.sqrt(ranks)[:, None])).T


def _learned(hop: Hop, options: Options) -> Output:
    key = ("ln_vx", hop.stratum.hop, hop.seed, *(getattr(options, name) for name in LEARNED_BY))
    learned: Learned = hop.remember(key, lambda: learn(hop, options))
    line_magnitude = hop.xp.abs(hop.line().project(hop.gradient.T))  # (m, T)
    trials = to_numpy(learned.weights @ line_magnitude)  # (trials, n, m) @ (m, T) -> (trials, n, T)
    mean = np.abs(trials.mean(axis=0)) if options.average == "signed" else np.abs(trials).mean(axis=0)
    each = Extra(("trial", "snapshot", "component"), np.abs(trials).transpose(0, 2, 1), grows=True)
    norms, mse = Extra(("trial", "matrix", "row"), learned.row_norms), Extra(("trial",), learned.mse)
    return Output(mean.T, extras={"ln_vx_mse": mse, "ln_vx_trial_magnitude": each, "ln_vx_row_norm": norms})


# ---- learning


@dataclass(frozen=True, eq=False)
class Learned:
    """Results of the trials."""

    weights: Any  # (trials, n, m) P_ik Q_ki: the share of line component k in vertex component i, where gradients are
    mse: np.ndarray  # (trials,)
    row_norms: np.ndarray  # (trials, 2, n) of the rows of H_ln and of H_vx, the text's second limitation

    @property
    def nbytes(self) -> int:
        return int(self.weights.nbytes) + self.mse.nbytes + self.row_norms.nbytes


def learn(hop: Hop, options: Options) -> Learned:
    """All trials on the whole stratum, as the paper does, or on each connected part by itself."""
    line = hop.line().dense()
    if not options.by_part:
        vertex = like(hop.basis.dense(), hop.gradient)
        return _learn(vertex, like(line, hop.gradient), hop.random(purpose=2), options)
    n, trials, rng = hop.basis.n, options.trials, hop.random(purpose=3)
    weights, row_norms, squared = np.zeros((trials, n, len(line))), np.zeros((trials, 2, n)), np.zeros(trials)
    for part, _, where in hop.blocks():
        rows = line[where if isinstance(where, slice) else to_numpy(where)]
        columns = np.flatnonzero(rows.any(axis=0))  # a component of the line graph lives on the edges of one part
        found = _learn(part.vectors, like(rows[:, columns], hop.gradient), rng, options)
        nodes, mine = to_numpy(part.nodes), to_numpy(part.columns)
        weights[np.ix_(np.arange(trials), mine, columns)] = to_numpy(found.weights)
        row_norms[:, 0, mine] = found.row_norms[:, 0]
        row_norms[:, 1, nodes] = found.row_norms[:, 1]
        squared += found.mse * len(nodes) ** 2
    total = sum(len(part.nodes) ** 2 for part in hop.basis.parts)
    return Learned(like(weights, hop.gradient), squared / total, row_norms)


def _learn(vertex: Any, line: Any, rng: np.random.Generator, options: Options) -> Learned:
    """Learn ``H_ln (n, m)`` and ``H_vx (n, m)`` for the bases ``vertex (n, n)`` and ``line (m, m)``."""
    xp = namespace(vertex)
    n, m = len(vertex), len(line)
    bound = 1.0 / np.sqrt(m)
    starts = [rng.uniform(-bound, bound, size=(options.trials, n, m)).astype(LEARNING) for _ in range(2)]
    h_ln, h_vx = (like(start, vertex) for start in starts)
    basis, target = (xp.astype(array, h_ln.dtype, copy=False) for array in (line, vertex.T))
    literal = options.literal or options.activation is not None
    left = h_ln if literal else h_ln @ basis
    mse = _adagrad(left, h_vx, target, basis if literal else None, options)
    activate = ACTIVATIONS[options.activation][0]
    left, h_vx = (xp.astype(activate(array), vertex.dtype) for array in (left, h_vx))
    p = left @ line if literal else left
    q = vertex.T @ h_vx  # Q^T = U^T H_vx, one for each trial
    # L(U) is orthogonal, so the rows of P and of H_ln have the same norms.
    norms = [np.sqrt(to_numpy(xp.sum(rows * rows, axis=2))) for rows in (p, h_vx)]
    return Learned(p * q, mse, np.stack(norms, axis=1))


def _adagrad(left: Any, right: Any, target: Any, line: Any, options: Options) -> np.ndarray:
    """Minimise ``mean((a(left) line a(right)^T - target)^2)`` per trial, in place; returns the final errors.

    Trials go in groups whose arrays stay in a core's cache, a thread to each group; a trial's result does not depend
    on its group. On an accelerator they are one group.
    """
    if not isinstance(left, np.ndarray):
        return _adagrad_group(left, right, target, line, options)
    trials, n, m = left.shape
    size = max(1, min(GROUP_DOUBLES // (n * m), -(-trials // threads.threads())))

    def run(first: int) -> np.ndarray:
        group = slice(first, first + size)
        return _adagrad_group(left[group], right[group], target, line, options)

    with threads.blas_limit(1):
        return np.concatenate(threads.spread(run, range(0, trials, size)))


def _adagrad_group(left: Any, right: Any, target: Any, line: Any, options: Options) -> np.ndarray:
    """Trials that advance together; those that have reached the tolerance leave, the rest go on."""
    xp = namespace(left)
    activate, slope = ACTIVATIONS[options.activation]
    cells = target.shape[0] * target.shape[1]
    mse = np.full(len(left), np.inf)
    active = np.arange(len(left))
    a, b = left + 0.0, right + 0.0
    sum_a, sum_b = xp.zeros_like(a), xp.zeros_like(b)
    for epoch in range(options.max_epochs + 1):
        mapped = activate(a) if line is None else activate(a) @ line
        other = activate(b)
        error = mapped @ xp.matrix_transpose(other) - target  # (trials, n, n)
        mse[active] = to_numpy(xp.sum(error * error, axis=(1, 2))) / cells
        done = mse[active] <= options.tolerance
        if epoch == options.max_epochs:
            done[:] = True
        if done.any():
            ended, going = (like(np.flatnonzero(rows), left) for rows in (done, ~done))
            left[like(active[done], left)], right[like(active[done], left)] = a[ended], b[ended]
            active, error, mapped, other = active[~done], error[going], mapped[going], other[going]
            a, b, sum_a, sum_b = a[going], b[going], sum_a[going], sum_b[going]
        if not len(active):
            break
        error *= 2.0 / cells
        grad_a = error @ other
        grad_b = xp.matrix_transpose(error) @ mapped
        if line is not None:
            grad_a = grad_a @ line.T
        if options.activation is not None:
            grad_a *= slope(a)
            grad_b *= slope(b)
        _step(a, sum_a, grad_a, options.learning_rate)
        _step(b, sum_b, grad_b, options.learning_rate)
    return mse


def _step(weights: Any, squares: Any, gradient: Any, rate: float) -> None:
    """One step of Adagrad, in place."""
    squares += gradient * gradient
    weights -= rate * (gradient / (squares**0.5 + ADAGRAD_EPSILON))


def _selu(x: Any) -> Any:
    xp = namespace(x)
    return SELU_SCALE * xp.where(x > 0, x, SELU_ALPHA * xp.expm1(xp.where(x < 0, x, 0 * x)))


def _selu_slope(x: Any) -> Any:
    xp = namespace(x)
    return SELU_SCALE * xp.where(x > 0, 0 * x + 1, SELU_ALPHA * xp.exp(xp.where(x < 0, x, 0 * x)))


ACTIVATIONS: dict[str | None, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    None: (lambda x: x, lambda x: 0 * x + 1),
    "selu": (_selu, _selu_slope),
    "relu": (lambda x: x * (x > 0), lambda x: 1.0 * (x > 0)),
}
