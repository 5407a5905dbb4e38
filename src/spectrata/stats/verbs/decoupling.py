"""The structural-decoupling index: how far the signal at each node departs from the graph's low frequencies."""

from typing import Any

import numpy as np
import xarray as xr

from spectrata.core.operators import Laplacian
from spectrata.core.resources import require_memory, solve_bytes
from spectrata.errors import OptionError, argument, warn
from spectrata.inputs.numbers import flag, positive, whole
from spectrata.inputs.signals import as_signal
from spectrata.kernels.scaling import squarable
from spectrata.results.build import along_rows
from spectrata.stats.labelled import graph_variables, made_from, node_coordinates
from spectrata.stats.nulls.correction import adjust
from spectrata.stats.nulls.stopping import looks, run_columns
from spectrata.stats.nulls.surrogates import Surrogates
from spectrata.stats.verbs.reading import stratify

HALF = 0.5 - 1e-12  # of the energy, up to rounding
ROUNDING = 1e-13  # a part of a node's signal below this share of the whole signal is rounding
BATCH = 2**22  # numbers of a batch of surrogates
LONG_NAMES = {
    "decoupling": "norm of the high-frequency part over that of the low-frequency part",
    "chance_low": "2.5 % quantile of the index over surrogates",
    "chance_high": "97.5 % quantile of the index over surrogates",
    "p": "two-sided p over surrogates",
    "q": "q over nodes (Benjamini and Hochberg)",
    "cutoff": "largest eigenvalue of the low-frequency part",
    "low_components": "components of the low-frequency part",
}


def decoupling(
    graph: Any,
    signal: Any,
    *,
    hop: int = 1,
    cutoff: float | None = None,
    weights: Any = None,
    laplacian: str = "normalized",
    self_loops: bool = False,
    draws: int | None = None,
    seed: int = 0,
) -> xr.Dataset:
    r"""Compute the structural-decoupling index of every node, against surrogates with the same spectrum.

    .. math:: \frac{\| \sum_{\lambda_i > \lambda_c} u_i(x) \, u_i^T s \|}
                   {\| \sum_{\lambda_i \le \lambda_c} u_i(x) \, u_i^T s \|}

    The norms run over the columns of the signal (time points, in neuroscience). The cutoff :math:`\lambda_c` is the
    eigenvalue at which the cumulative energy reaches one half. An index above 1 means that the signal of the node is
    mostly of high frequency on the graph. Surrogates have random signs on the coefficients, and random rotations
    inside an eigenspace; components with eigenvalue 0 stay.

    Parameters
    ----------
    graph : graph-like, path or Stratification
        A connectome, usually with ``weights=True``.
    signal, weights
        As for :func:`spectrata.spectra`; the signal is read as it is, without a metric.
    hop : int
        Which stratum.
    cutoff : float, optional
        The largest eigenvalue that counts as low; by default it halves the energy.
    laplacian, self_loops
        As for :func:`spectrata.spectra`; the paper has "normalized".
    draws : int, optional
        Surrogates; by default 999, and 9,999 for nodes whose p is small.
    seed : int

    Returns
    -------
    xarray.Dataset
        Over ``([snapshot,] node)``: ``decoupling``; two-sided ``p``; ``q`` over nodes; ``chance_low`` and
        ``chance_high``; NaN at nodes without a pair. ``cutoff`` and ``low_components`` per snapshot.

    References
    ----------
    Preti, Van De Ville: Decoupling of brain function from structure reveals regional behavioral specialization in
    humans, Nature Communications 2019.

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> signal = np.random.default_rng(0).standard_normal((20, 50))
    >>> found = st.decoupling(nx.cycle_graph(20), signal, draws=99)
    >>> found["decoupling"].dims, bool((found["p"] >= 0.02).all())
    (('node',), True)
    """
    operator = Laplacian(laplacian, flag(self_loops, "self_loops"))
    seed, hop = whole(seed, "seed", 0), whole(hop, "hop")
    strat = stratify(graph, [hop], weights)
    n = strat.graph.n_nodes
    require_memory(solve_bytes(n), f"A full decomposition of {n:,} nodes", "use a smaller graph")
    at = looks(n, draws)
    if cutoff is not None:
        cutoff = positive(cutoff, "cutoff")
    known = as_signal(signal, strat.graph)
    basis = strat.basis(hop, laplacian, self_loops=operator.self_loops)
    values = squarable(known.values, (1, 2))[0]  # the index has no units
    if values.shape[2] > n:  # as many columns as nodes have the same norms over columns
        values = np.asarray(np.linalg.qr(values.transpose(0, 2, 1), mode="r")).transpose(0, 2, 1)
    isolated = strat.strata.at(hop).counts == 0
    found = [_tested(Surrogates(basis, one, seed), cutoff, at, isolated) for one in values]
    if cutoff is None and any(one["cutoff"] == 0 for one in found):
        words = "Half of the signal's energy is at frequency 0, so that all other frequencies count as high"
        warn(f"{words}; take the mean of each node off its series first, or give {argument('cutoff')}.")
    variables: dict[str, Any] = graph_variables(strat.graph)
    for name in found[0]:
        array = np.stack([one[name] for one in found])
        laid = along_rows(array, ("snapshot", "node")[: array.ndim], known.axes)
        variables[name] = (*laid, {"long_name": LONG_NAMES[name]})
    facts = {"kind": "decoupling", "hop": hop, "draws": max(at, default=0), "seed": seed}
    return xr.Dataset(variables, node_coordinates(strat.graph) | known.axes, made_from(strat, operator) | facts)


def _low_frequencies(surrogates: Surrogates, cutoff: float | None) -> tuple[np.ndarray, float]:
    """Which components are of low frequency, whole eigenspaces, and the largest eigenvalue among them."""
    basis, spaces = surrogates.basis, surrogates.basis.eigenspace
    values = (np.bincount(spaces, basis.values) / np.bincount(spaces))[spaces]  # rounding tells no two apart
    if cutoff is None:
        energy = np.bincount(spaces, np.sum(surrogates.coefficients**2, axis=1))
        if not energy.sum() > 0:
            words = "The signal is zero on every node of a snapshot, and zero has no frequencies"
            raise OptionError(f"{words}; leave it out.")
        low = spaces <= int(np.searchsorted(np.cumsum(energy), HALF * energy.sum(), side="left"))
    else:
        low = values <= cutoff + basis.tolerance * basis.norm
    return low, float(values[low].max(initial=0.0))


def _tested(surrogates: Surrogates, cutoff: float | None, at: tuple[int, ...], isolated: np.ndarray) -> dict[str, Any]:
    """The index of every node with its p and q, by the names of the Dataset; NaN for nodes without a pair.

    Chance is that of the share of high frequencies in a node's energy, which is defined where the index is infinite.
    """
    is_low, value = _low_frequencies(surrogates, cutoff)
    floor = ROUNDING * float(np.linalg.norm(surrogates.coefficients))

    def energies(coefficients: np.ndarray) -> list[np.ndarray]:  # low and high, (n, d, B) -> (n, B) each
        each = (np.where(kept[:, None, None], coefficients, 0.0) for kept in (is_low, ~is_low))
        parts = (surrogates.basis.rebuild(one.reshape(len(one), -1)).reshape(one.shape) for one in each)
        return [np.where(size <= floor, 0.0, size) ** 2 for size in (np.linalg.norm(part, axis=1) for part in parts)]

    def share(low: np.ndarray, high: np.ndarray) -> np.ndarray:  # NaN where a node has no energy
        return np.divide(high, low + high, out=np.full(low.shape, np.nan), where=low + high > 0)

    def draw(start: int, stop: int, nodes: np.ndarray) -> np.ndarray:
        step = max(1, BATCH // surrogates.values.size)
        firsts = range(start, stop, step)
        drawn = (surrogates.draw_coefficients(first, min(first + step, stop)) for first in firsts)
        return np.concatenate([share(*energies(one)).T[:, nodes] for one in drawn])[:, :, None]

    low, high = np.where(isolated[:, None], 0.0, energies(surrogates.coefficients[:, :, None]))
    # Shares crowd at their ends, where a tail fitted to few draws gave 3 to 9 times the p of many draws: all count.
    chance = run_columns(share(low, high), draw, at, (), jumps=np.inf)
    p = chance.p[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        index = np.sqrt(high / low)[:, 0]
        ends = [np.sqrt(one / (1 - one))[:, 0] for one in (chance.low, chance.high)]
    found = {"decoupling": index, "chance_low": ends[0], "chance_high": ends[1], "p": p, "q": adjust(p)}
    return found | {"cutoff": value, "low_components": int(is_low.sum())}
