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
from spectrata.stats.testing import verdicts
from spectrata.stats.verbs.hops import at_hops
from spectrata.stats.verbs.reading import Reading, read
from spectrata.stats.verbs.write_back import said_given, write_back

if TYPE_CHECKING:
    import xarray as xr

WORDS: dict[str, dict[Any, str]] = {
    "numbers": {
        (1, 1): "high among high",
        (1, -1): "low among low",
        (-1, 1): "high among low",
        (-1, -1): "low among high",
    },
    "vectors": {1: "like its neighbours", -1: "unlike its neighbours"},
    "labels": {1: "among its own", -1: "among another class"},
}
LONG_NAMES = {
    "r": "part of the node in r: they add up to r of the hop",
    "p": "two-sided p of the node, others in random order",
    "p_given": "two-sided p, residuals of neighbours in random order within blocks",
    "verdict": "what the node is among its neighbours, where both q are at most .05",
    "participation": "sum of the weights of the node's pairs",
    "near_level": "whether more permutations could change the verdict",
}
MANY_NODES = 20_000
NUMBERS = ("r", "p", "q", "r_given", "p_given", "q_given", "chance_low", "chance_high", "participation")
FACTS = ("side", "tail", "tail_given", "draws", "draws_given", "by_tail", "by_tail_given")


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
    signal, hops, labels, columns, metric, weights, given
        As for :func:`spectrata.correlogram`.
    draws : int, optional
        Orders; by default 999, and 9,999 for nodes whose p is small.
    seed : int
    write : bool
        Put the result of the first hop into the AnnData (``adata.obs["spectrata_verdict"]`` and so on) or into
        attributes of the networkx graph, too.

    Returns
    -------
    xarray.Dataset
        Over ``([snapshot,] [column,] hop, node)``: ``r``, ``p``, ``q``; ``r_given``, ``p_given``, ``q_given``;
        ``verdict``; ``near_level``; ``chance_low`` and ``chance_high``; ``participation``; ``status``; and
        ``n_pairs(hop)``.

    Notes
    -----
    p: the node keeps its value, the others are put in random order. p_given: the residuals of the others, given
    covariates, are put in random order within exchange blocks (runs of neighbouring degrees), and their fitted values
    stay. Mean and denominator stay as observed. q is Benjamini and Hochberg's over everything that the call tested.
    A verdict needs q and q_given of at most .05 in the same tail: "high among high", "low among low", "high among
    low", "low among high" for numbers; "like its neighbours", "unlike its neighbours" for vectors; "among its own",
    "among another class" for labels. A small p comes from the tail of its draws, and is never below 1e-6.

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
    strat = at_hops(graph, hops, weights)
    reading = read(strat, signal, metric=metric, columns=columns, labels=labels, zero_vectors="zero")
    found = local_of(reading, given, draws, seed)
    if write:
        write_back(graph, found, "local", signal, {"given": said_given(given)})
    return found


def local_of(reading: Reading, given: Any, draws: int | None, seed: int) -> "xr.Dataset":
    strat = reading.strat
    covariates = read_given(given, strat, reading.table)
    at = looks(strat.graph.n_nodes, draws)
    shape = (len(reading.columns[0].values), len(reading.columns), len(reading.hops), strat.graph.n_nodes)
    found: dict[str, Any] = {name: np.full(shape, np.nan) for name in (*NUMBERS, *FACTS)}
    found["status"] = np.full(shape, "no pair at this hop", dtype=object)
    n_pairs = np.zeros(shape[1:3], dtype=np.int64)
    for index, column in enumerate(reading.columns):
        own = None if covariates is None else covariates.of(column.rows)
        for place, pairs in enumerate(reading.pairs(column)):
            n_pairs[index, place] = len(pairs.ends)
            for time in range(shape[0]):
                here = (time, index, place, column.rows[pairs.nodes])
                for name, values in _tested(column.observed(time, pairs), own, at, seed).items():
                    found[name][here] = values
    found |= {name: adjust(found[name.replace("q", "p")].ravel()).reshape(shape) for name in ("q", "q_given")}
    near = np.any([_near(found, which, strat.graph.n_nodes) for which in ("", "_given")], axis=0)
    name = "" if covariates is None else covariates.name
    facts = {"kind": "local", "given": name, "draws": max(at, default=0), "seed": seed}
    facts["note"] = " ".join(one for one in (reading.note, covariates.note if covariates else "") if one)
    arrays = {one: found[one] for one in NUMBERS if covariates is not None or "given" not in one}
    arrays |= {"verdict": _words(found, reading, name), "near_level": near, "status": found["status"].astype(str)}
    return labelled(reading, arrays, ("hop", "node"), {"n_pairs": ("hop", n_pairs.max(axis=0))}, LONG_NAMES, facts)


def _tested(obs: Observation, covariates: Covariates | None, at: tuple[int, ...], seed: int) -> dict[str, Any]:
    """Both tests of every node with a pair at one hop, by name, arrays (m,)."""
    pairs, free = obs.pairs, LocalLikeness(obs)
    found: dict[str, Any] = {"r": free.value, "participation": pairs.k}
    if not free.is_defined:
        return found | {"status": NO_VARIANCE}
    found["status"] = np.where(np.isnan(free.unit), "at the mean of all ends", "ok")
    chance = _chance(free, at, seed)
    found |= _facts_of(chance, "") | {"side": np.sign(free.own[:, 0])}
    found |= {"chance_low": chance.low[:, 0] * free.unit, "chance_high": chance.high[:, 0] * free.unit}
    if covariates is None:
        return found
    beyond = obs.beyond(covariates.at(pairs.participation))
    if beyond.is_explained:
        return found | {"status": covariates.why_untested(pairs.participation)}
    found["r_given"] = LocalLikeness(Observation(beyond.values, pairs, beyond.rounding)).value
    held = _chance(LocalLikeness(obs, beyond.values, covariates.blocks), at, seed)
    return found | _facts_of(held, "_given")


def _facts_of(chance: Chance, which: str) -> dict[str, np.ndarray]:
    """p of some nodes and what it rests on."""
    return {f"{name}{which}": getattr(chance, name)[:, 0] for name in ("p", "tail", "draws", "by_tail")}


def _near(found: dict[str, Any], which: str, n_nodes: int) -> np.ndarray:
    """Whether other orders could move q of a node across the level."""
    p, q, draws, by_tail = (np.nan_to_num(found[f"{name}{which}"], nan=1.0) for name in ("p", "q", "draws", "by_tail"))
    chance = Chance.unknown(p.shape)
    chance.p_family[:], chance.draws[:], chance.by_tail[:] = p, draws, by_tail
    return np.isfinite(found[f"p{which}"]) & chance.near_by_q(q, n_nodes)


def _chance(likeness: LocalLikeness, at: tuple[int, ...], seed: int) -> Chance:
    def draw(start: int, stop: int, some: np.ndarray) -> np.ndarray:
        return likeness.permuted(start, stop, some, seed)[:, :, None]

    # Fewer draws for the clear nodes of a large graph save memory; elsewhere they would blur the interval of chance.
    steps = STEPS if len(likeness.nodes) > MANY_NODES else ()
    return run_columns((likeness.value / likeness.unit)[:, None], draw, at, steps)


def _words(found: dict[str, np.ndarray], reading: Reading, given: str) -> np.ndarray:
    words = verdicts(found["q"], found["tail"], found["q_given"], found["tail_given"], given).astype(object)
    for cell in zip(*np.nonzero(np.isin(words, ("alike", "unlike"))), strict=True):
        kind, tail = reading.columns[cell[1]].kind, int(found["tail"][cell])
        key: Any = (tail, int(found["side"][cell])) if kind == "numbers" else tail
        words[cell] = WORDS.get(kind, WORDS["vectors"])[key]
    return words.astype(str)
