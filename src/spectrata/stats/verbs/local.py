"""Likeness of every node with its neighbours, tested node by node."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.inputs.numbers import whole
from spectrata.stats.labelled import labelled
from spectrata.stats.nulls.correction import adjust
from spectrata.stats.nulls.given import Covariates, read_given
from spectrata.stats.nulls.stopping import STEPS, Chance, looks, run_columns
from spectrata.stats.observation import NO_VARIANCE, Observation
from spectrata.stats.statistics.likeness import LocalLikeness
from spectrata.stats.testing import alike, verdicts
from spectrata.stats.verbs.reading import Reading, read
from spectrata.stats.verbs.write_back import said_given, write_back

if TYPE_CHECKING:
    import xarray as xr

LONG_NAMES = {
    "r": "part of the node in r: they add up to r of the hop",
    "p": "two-sided p of the node, others in random order",
    "p_given": "two-sided p, residuals of neighbours in random order within blocks",
    "verdict": "what the node is among its neighbours, where both q are at most .05",
    "participation": "sum of the weights of the node's pairs",
    "near_level": "whether more permutations could change the verdict",
}
MANY_NODES = 20_000  # above which clear nodes draw less, and a profile tests no nodes
# What a node with a finding is: of numbers, of vectors, of labels, and of any whose own values do not say it.
WORDS = (
    *("high among high", "low among low", "high among low", "low among high"),
    *("like its neighbours", "unlike its neighbours", "more of its own class", "fewer of its own class"),
    *("less unlike than chance", "less alike than chance"),
)


def local(
    graph: Any,
    signal: Any,
    hops: int | Iterable[int] | None = 1,
    *,
    labels: bool = False,
    columns: str = "auto",
    metric: str = "auto",
    weights: Any = None,
    given: Any = "degree",
    draws: int | None = None,
    seed: int = 0,
    write: bool = False,
) -> "xr.Dataset":
    r"""Find the nodes that are like or unlike their neighbours, each against chance.

    .. math:: r_i = \frac{\langle t_i - \mu, \sum_j W_{ij} (t_j - \mu)\rangle}{\sum_i k_i \|t_i - \mu\|^2}

    over pairs at hop K, with their number (or weight) k per node and the mean over ends of pairs. The parts add up to
    :math:`r_K` of :func:`spectrata.correlogram`; they are local Moran statistics in the measure k [1]_.

    Parameters
    ----------
    graph : graph-like, path or Stratification
    signal, hops, labels, columns, metric, weights, given, seed
        As for :func:`spectrata.correlogram`.
    draws : int, optional
        Orders; by default 999, and 9,999 for nodes whose p is small.
    write : bool
        Put the result of the first hop into the AnnData (``adata.obs["spectrata_verdict"]`` and so on) or into
        attributes of the networkx graph, too.

    Returns
    -------
    xarray.Dataset
        Over ``([snapshot,] [column,] hop, node)``: ``r``, ``p``, ``q``, ``r_given``, ``p_given``, ``q_given``,
        ``verdict``, ``near_level``, ``chance_low``, ``chance_high``, ``participation``, ``status``; ``n_pairs(hop)``.

    Notes
    -----
    p: the node keeps its value, the others are put in random order. p_given: the residuals of the others, given
    covariates, are put in random order within exchange blocks (runs of neighbouring degrees), and their fitted values
    stay. Mean and denominator stay as observed. q is Benjamini and Hochberg's over everything that the call tested.
    A verdict needs q and q_given of at most .05 in the same tail: "high among high", "low among low", "high among
    low", "low among high" for numbers; "like its neighbours", "unlike its neighbours" for vectors; "more of its own
    class", "fewer of its own class" among the neighbours than among all nodes for labels. Where the values of node and
    neighbours do not say the same as the tail, the word is "less unlike than chance" or "less alike than chance". A
    small p comes from the tail of its draws, and is never below 1e-6.

    References
    ----------
    .. [1] Anselin: Local Indicators of Spatial Association, Geographical Analysis 27, 1995.

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> graph = nx.grid_2d_graph(20, 20)
    >>> hot = [5.0 * (7 < x < 12 and 7 < y < 12) for x, y in graph] + np.random.default_rng(0).normal(size=400)
    >>> found = st.local(graph, hot)
    >>> int((found["verdict"] == "high among high").sum())
    7
    """
    seed = whole(seed, "seed", 0)
    reading = read(graph, signal, hops, weights, metric, columns, labels)
    found = local_of(reading, given, draws, seed)
    if write:
        write_back(graph, found, "local", signal, {"given": said_given(given)})
    return found


def local_of(reading: Reading, given: Any, draws: int | None, seed: int) -> "xr.Dataset":
    n = reading.strat.graph.n_nodes
    covariates, at = read_given(given, reading.strat, reading.table), looks(n, draws)
    shape = (len(reading.columns[0].values), len(reading.columns), len(reading.hops), n)
    plain, conditional = Chance.unknown(shape), Chance.unknown(shape)
    participation, side = (np.full(shape, np.nan) for _ in range(2))
    status = np.full(shape, "no pair at this hop", dtype=object)
    n_pairs = np.zeros(shape[1:3], dtype=np.int64)
    for index, column in enumerate(reading.columns):
        own = covariates.of(column.rows)
        for place, pairs in enumerate(reading.pairs(column)):
            n_pairs[index, place] = len(pairs.ends)
            for time in range(shape[0]):
                here = (time, index, place, column.rows[pairs.nodes])
                participation[here] = pairs.k
                tested = _tested(column.observed(time, pairs), own, at, seed, column.kind == "labels")
                plain.place(here, tested[0])
                conditional.place(here, tested[1])
                status[here], side[here] = tested[2:]
    q, q_given = (adjust(one.p.ravel()).reshape(shape) for one in (plain, conditional))
    arrays = {"r": plain.value, "p": plain.p, "q": q}
    arrays |= {"r_given": conditional.value, "p_given": conditional.p, "q_given": q_given} if covariates.name else {}
    arrays |= {"chance_low": plain.low, "chance_high": plain.high, "participation": participation}
    sides = _among(reading, plain.tail, plain.value, side), alike(conditional.tail)
    words = verdicts(q, plain.tail, q_given, conditional.tail, covariates.name, sides)
    near = plain.near_by_q(q, n) | conditional.near_by_q(q_given, n)
    arrays |= {"verdict": words, "near_level": near, "status": status.astype(str)}
    facts = {"kind": "local", "given": covariates.name, "draws": max(at, default=0), "seed": seed}
    facts["note"] = f"{reading.note} {covariates.note}".strip()
    return labelled(reading, arrays, ("hop", "node"), {"n_pairs": ("hop", n_pairs.max(axis=0))}, LONG_NAMES, facts)


def _tested(
    obs: Observation, covariates: Covariates, at: tuple[int, ...], seed: int, is_labels: bool
) -> tuple[Chance, Chance, Any, np.ndarray]:
    """Both tests of every node with a pair at one hop, arrays (m,), with its status and its side.

    The side is above 0 for a number above the mean of ends, and for a class that is more frequent among the neighbours
    than among all nodes.
    """
    pairs, likeness = obs.pairs, LocalLikeness(obs)
    unknown, side = Chance.unknown(likeness.value.shape), likeness.own[:, 0]
    if is_labels:
        own = obs.values[pairs.nodes].argmax(axis=1)  # the column of a node's own class is the largest of its row
        side = (pairs.matrix @ obs.values[pairs.nodes])[np.arange(len(own)), own]
    if np.isnan(likeness.variation):
        return unknown, unknown, NO_VARIANCE, side
    plain, status = _chance(likeness, at, seed), np.where(np.isnan(likeness.unit), "at the mean of all ends", "ok")
    if not covariates.name:
        return plain, unknown, status, side
    beyond = obs.beyond(covariates.at(pairs.stratum.relative_degrees))
    if beyond.is_explained:
        return plain, unknown, covariates.why_untested(pairs.stratum.relative_degrees), side
    conditional = _chance(LocalLikeness(obs, beyond.values, covariates.blocks), at, seed)
    conditional.value[:, 0] = LocalLikeness(Observation(beyond.values, pairs, beyond.rounding)).value
    return plain, conditional, status, side


def _chance(likeness: LocalLikeness, at: tuple[int, ...], seed: int) -> Chance:
    def draw(start: int, stop: int, some: np.ndarray) -> np.ndarray:
        return likeness.permuted(start, stop, some, seed)[:, :, None]

    # Fewer draws for the clear nodes of a large graph save memory; elsewhere they would blur the interval of chance.
    steps = STEPS if len(likeness.nodes) > MANY_NODES else ()
    found = run_columns((likeness.value / likeness.unit)[:, None], draw, at, steps)
    found.value[:, 0] = likeness.value
    for end in (found.low, found.high):
        end *= likeness.unit[:, None]  # in place
    return found


def _among(reading: Reading, tail: np.ndarray, r: np.ndarray, side: np.ndarray) -> np.ndarray:
    """What a node that differs from chance is among its neighbours, where its own numbers say the same."""
    kind, like, high = np.array([[[one.kind]] for one in reading.columns]), tail > 0, side > 0
    numbers = np.char.add(np.where(high, "high among ", "low among "), np.where(high == like, "high", "low"))
    labels = np.where(like, "more of its own class", "fewer of its own class")
    vectors = np.where(like, "like its neighbours", "unlike its neighbours")
    words = np.select([kind == "numbers", kind == "labels"], [numbers, labels], vectors)
    agrees = np.where(kind == "labels", high == like, (r > 0) == like)
    return np.where(agrees, words, np.where(like, *WORDS[-2:]))
