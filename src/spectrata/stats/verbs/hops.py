"""Hops of a graph, or of a stratification that has more of them."""

from collections.abc import Iterable
from typing import Any

from spectrata.core.spectra import as_stratification
from spectrata.core.strata import asked_hops
from spectrata.core.stratification import Stratification
from spectrata.errors import HopError, OptionError, argument, shown, warn
from spectrata.inputs.graphs import as_graph
from spectrata.kernels.backend import NUMPY, backend_of
from spectrata.stats.nulls.given import is_by_number

ALL_HOPS = 4_000  # nodes above which hops=None reads the first three hops
NEAR_HOPS = 20_000  # and above which it reads hop 1


def at_hops(graph: Any, hops: int | Iterable[int] | None, weights: Any) -> Stratification:
    """The strata of a graph at some hops; of a stratification those that it has."""
    if not isinstance(graph, Stratification):
        return as_stratification(graph, hops, weights=weights)
    if weights is not None:
        raise OptionError("A Stratification has its graph read already; leave out weights, or give the graph itself.")
    if hops is None:
        return graph
    by_number = is_by_number(graph)
    if isinstance(hops, Iterable) and not by_number:  # intervals of distance, by their labels
        asked: Any = [hops] if isinstance(hops, str) else list(hops)
    else:
        asked = asked_hops(hops)
    kept = asked
    if isinstance(asked, int):
        kept = [hop for at, hop in enumerate(graph.hops, start=1) if (hop if by_number else at) <= asked]
    lost = [hop for hop in kept if hop not in graph.hops]
    if lost or not kept:
        what = shown(lost[0]) if lost else f"up to {asked}"
        raise HopError(f"The Stratification has the hops {graph.hops}, and not {what}.")
    return graph.only(*kept)


def stratify(graph: Any, hops: int | Iterable[int] | None, weights: Any) -> Stratification:
    """The strata that a reading uses; all hops of a large graph are not read unless they are asked for."""
    if isinstance(graph, Stratification) or hops is not None:
        strat = at_hops(graph, hops, weights)
    else:
        known, nearest = as_graph(graph, weights=weights), None
        if known.n_nodes > ALL_HOPS:
            nearest = 1 if known.n_nodes > NEAR_HOPS else 3
            warn(f"Reading hops up to {nearest} of {known.n_nodes:,} nodes; {argument('hops')} asks for others.")
        strat = Stratification(known, nearest)
    if not strat.hops:
        raise HopError("The graph has no edges, and so no pairs of nodes at any hop.")
    return strat


def following(strat: Stratification, *inputs: Any) -> Stratification:
    """The same strata, computing where the first input on a GPU is, unless the Stratification names a device."""
    backends = (backend_of(one) for one in inputs if strat.computing.device is None)
    there = next((backend for backend in backends if backend != NUMPY), None)
    return strat if there is None else strat.using(device=there)
