"""LN-VX: line-to-vertex conversion based transform (Algorithm 5).

``h_k = abs(L(u_k)^T g)`` are the magnitudes of the gradient in the line graph's eigenbasis; a map from that basis to
the vertex basis carries them over. With ``P = H_ln L(U)`` and ``Q = H_vx^T U`` the magnitude is ``M(i) = abs(sum_k
h_k P_ik Q_ki)``.

``transform="learned"``
    ``H_ln`` and ``H_vx`` are learned from random starts (``ln_vx_learning``). The weights ``P_ik Q_ki`` then average
    to ``1/m``, and the magnitudes tend to the constant ``mean(h)``: a learned spectrum is close to flat whatever the
    signal.
``transform="incidence"``
    Deterministic and independent of every choice of basis and orientation: each vertex component reads the line
    magnitudes through its own edge differences. Also close to flat.
"""

from collections.abc import Mapping

import numpy as np

from spectrata.core.algorithms.ln_vx_learning import Learned, learn, learn_by_part
from spectrata.core.algorithms.options import Options
from spectrata.core.hop import Extra, Hop, Output
from spectrata.errors import LineGraphSizeError
from spectrata.kernels import edge_sums
from spectrata.kernels.backend import Array, like, to_numpy

LINE_GRAPH_TOO_LARGE = "skipped: line graph too large"
# All that a learned transform depends on, besides the graph and the seed.
LEARNED_BY = ("trials", "max_epochs", "tolerance", "learning_rate", "literal", "activation", "by_part")


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
    learned: Learned = hop.remember(key, lambda: (learn_by_part if options.by_part else learn)(hop, options))
    line_magnitude = hop.xp.abs(hop.line().project(hop.gradient.T))  # (m, T)
    trials = to_numpy(learned.weights @ line_magnitude)  # (trials, n, m) @ (m, T) -> (trials, n, T)
    signed = options.average == "signed"
    return Output(
        np.abs(trials.mean(axis=0)).T if signed else np.abs(trials).mean(axis=0).T,
        extras={
            "ln_vx_mse": Extra(("trial",), learned.mse),
            "ln_vx_trial_magnitude": Extra(
                ("trial", "snapshot", "component"), np.abs(trials).transpose(0, 2, 1), grows=True
            ),
            "ln_vx_row_norm": Extra(("trial", "matrix", "row"), learned.row_norms),
        },
    )
