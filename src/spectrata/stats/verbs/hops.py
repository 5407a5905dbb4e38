"""Hops of a graph, or of a stratification that has more of them."""

from collections.abc import Iterable
from typing import Any

from spectrata.core.spectra import as_stratification
from spectrata.core.strata import asked_hops
from spectrata.core.stratification import Stratification
from spectrata.errors import HopError, OptionError, shown


def at_hops(graph: Any, hops: int | Iterable[int] | None, weights: Any) -> Stratification:
    """The strata of a graph at some hops; of a stratification those that it has.

    Examples
    --------
    >>> import networkx as nx
    >>> strat = Stratification(nx.path_graph(6), 4)
    >>> at_hops(strat, 2, None).hops, at_hops(strat, [3], None).hops, at_hops(strat, None, None).hops
    ((1, 2), (3,), (1, 2, 3, 4))
    """
    if not isinstance(graph, Stratification):
        return as_stratification(graph, hops, weights=weights)
    if weights is not None:
        raise OptionError("A Stratification has its graph read already; leave out weights, or give the graph itself.")
    if hops is None:
        return graph
    by_number = all(isinstance(hop, int) for hop in graph.hops)
    if isinstance(hops, Iterable) and not by_number:  # intervals of distance, by their labels
        asked: Any = [hops] if isinstance(hops, str) else list(hops)
    else:
        asked = asked_hops(hops)
    if isinstance(asked, int):
        kept = [hop for at, hop in enumerate(graph.hops) if (hop if by_number else at + 1) <= asked]
    else:
        kept = asked
    lost = [hop for hop in kept if hop not in graph.hops]
    if lost or not kept:
        what = shown(lost[0]) if lost else f"up to {asked}"
        raise HopError(f"The Stratification has the hops {graph.hops}, and not {what}.")
    return graph.only(*kept)
