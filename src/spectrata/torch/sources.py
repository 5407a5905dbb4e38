"""The graph, the model's device and its fingerprint, from the arguments of ``watch``."""

import hashlib
from collections.abc import Iterable
from typing import Any

import torch

from spectrata.core.distances import require_hops
from spectrata.core.spectra import as_stratification, refuse_graph_arguments
from spectrata.core.stratification import Stratification
from spectrata.inputs.graphs import Graph, as_graph
from spectrata.inputs.numbers import one_of, whole
from spectrata.torch import large


def read_graph(
    given: Any, hops: Any, decompose: bool | None, weights: Any, hop_weights: str, undirected: bool
) -> tuple[Graph | None, Stratification | None, bool]:
    """A graph, its stratification where it is decomposed, and whether it is too large for that."""
    if given is None:
        return None, None, False
    if isinstance(given, Stratification):
        named = {"weights": weights, "hop_weights": hop_weights, "undirected": undirected}
        if not (isinstance(hops, str) and hops == "auto"):
            named["hops"] = "all" if hops is None else hops
        refuse_graph_arguments("A Stratification", **named)
        require_hops(given, "Watching a model")
        beyond = given.graph.n_nodes > large.LARGE if decompose is None else not decompose
        return given.graph, None if beyond else given, beyond
    graph = as_graph(given, weights=weights, undirected=undirected)
    beyond = graph.n_nodes > large.LARGE if decompose is None else not decompose
    if beyond:
        return graph, None, True
    strat = as_stratification(graph, large.asked(hops, 3), hop_weights=hop_weights)
    return strat.graph, strat, False


def kept_names(keep: Iterable[str]) -> tuple[str, ...]:
    """What to keep beside spectra: activations, or nothing."""
    names = (keep,) if isinstance(keep, str) else tuple(keep)
    for name in names:
        one_of(name, "keep", ("signal",))
    return names


def changes(data: Any) -> bool:
    """Whether this stands for many graphs: a loader, or a batch of several."""
    if isinstance(data, torch.utils.data.DataLoader):
        return True
    return int(getattr(data, "num_graphs", 1) or 1) > 1


def fingerprint(model: torch.nn.Module) -> str:
    """What tells one model from another: its class, and the names and shapes of its parameters."""
    parts = [type(model).__qualname__]
    for name, tensor in model.named_parameters():
        lazy = isinstance(tensor, torch.nn.parameter.UninitializedParameter)
        parts.append(f"{name} {'lazy' if lazy else tuple(tensor.shape)}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def evaluations(evaluate: Any, control: str | None) -> int | None:
    """Every so many epochs, 0 for the end of the block alone, None for never."""
    if evaluate is True or (evaluate is None and control is not None):
        return 0
    if evaluate is None or evaluate is False:
        return None
    return whole(evaluate, "evaluate")


def device_of(model: torch.nn.Module) -> torch.device:
    """Where a model is."""
    for tensor in (*model.parameters(), *model.buffers()):
        return tensor.device
    return torch.device("cpu")
