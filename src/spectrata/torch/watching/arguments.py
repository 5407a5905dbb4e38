"""Arguments of a model's call: the graph, its weights, the features; and the same call without edges."""

import copy
import warnings
from dataclasses import dataclass, replace
from typing import Any

import torch

from spectrata.errors import OptionError
from spectrata.inputs.readers.objects import is_dgl

EDGES = ("edge_index", "adj_t")
WHOLE = (torch.int64, torch.int32)
PER_EDGE = ("edge_weight", "edge_attr")


def graph_in(args: Any, kwargs: Any) -> tuple[torch.Tensor, int] | None:
    """``edge_index`` and the number of nodes, out of the arguments of a call."""
    values = [*args, *kwargs.values()]
    for value in values:
        edges = getattr(value, "edge_index", None)
        if isinstance(edges, torch.Tensor):
            return edges, int(value.num_nodes)
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    lists = [t for t in (kwargs.get("edge_index"), *tensors) if is_edge_index(t)]
    features = [t for t in tensors if t.is_floating_point() and t.ndim >= 2]
    return (lists[0], len(features[0])) if lists and features else None


def weights_in(args: Any, kwargs: Any, n_edges: int, name: str | None = None) -> torch.Tensor | None:
    """One number per edge out of the arguments of a call: by its name, or by its usual names and its shape."""
    names = PER_EDGE if name is None else (name,)
    named = [kwargs.get(one) for one in names]
    named += [getattr(value, one, None) for value in (*args, *kwargs.values()) for one in names]
    unnamed = [value for value in args if isinstance(value, torch.Tensor) and value.ndim == 1] if name is None else []
    unnamed = [value for value in unnamed if value.is_floating_point()]
    for values in (*named, *unnamed):
        if isinstance(values, torch.Tensor) and values.numel() == n_edges:
            exact = values.is_floating_point() and values.element_size() >= 4
            return (values if exact else values.double()).reshape(-1)
    return None


def features_in(args: Any, kwargs: Any, n: int | None) -> torch.Tensor | None:
    """The nodes' features out of the arguments of a call: ``x`` of an object, or the first tensor with n rows."""
    values = [*args, *kwargs.values()]
    for one in (*(getattr(value, "x", None) for value in values), *values):
        is_table = isinstance(one, torch.Tensor) and one.is_floating_point() and one.ndim == 2
        if is_table and (n is None or one.shape[0] == n):
            return one
    return None


def is_edge_index(value: Any) -> bool:
    """Whether this is ``(2, E)`` whole numbers."""
    whole = isinstance(value, torch.Tensor) and value.layout == torch.strided and value.dtype in WHOLE
    return whole and value.ndim == 2 and value.shape[0] == 2


def without_messages(args: Any, kwargs: Any, n: int | None = None) -> tuple[tuple, dict[str, Any]]:
    """The arguments of a call with self-loops as the only edges.

    Replaced are ``edge_index``, sparse adjacency matrices (``adj_t``), ``edge_weight`` (all 1) and ``edge_attr`` (its
    mean), in the arguments and in the objects among them. ``n`` is the number of nodes; None: as the arguments say.

    Examples
    --------
    >>> x, ring = torch.eye(3), torch.tensor([[0, 1, 2], [1, 2, 0]])
    >>> (_, edges), _ = without_messages((x, ring), {})
    >>> edges.tolist()
    [[0, 1, 2], [0, 1, 2]]
    """
    values = (*args, *kwargs.values())
    lists = [value if is_edge_index(value) else getattr(value, "edge_index", None) for value in values]
    n_edges = next((one.shape[1] for one in lists if isinstance(one, torch.Tensor)), None)
    loops = _Loops(_node_count(args, kwargs) if n is None else n, n_edges)
    new_args = tuple(loops.instead_of(value, "") for value in args)
    new_kwargs = {name: loops.instead_of(value, name) for name, value in kwargs.items()}
    if loops.found:
        return new_args, new_kwargs
    raise OptionError(
        "control='no_messages' found no edge_index and no sparse adj_t in the arguments of the model, and does not "
        "support DGL graphs; leave control out, watch one more evaluation on a graph with self-loops only, and give "
        "its over_layers() to diagnose as control."
    )


@dataclass
class _Loops:
    """Puts one self-loop per node in place of the edges among arguments."""

    n: int | None  # nodes
    n_edges: int | None  # of an edge_index; None where there is none
    found: int = 0  # edge lists and matrices that were replaced

    def instead_of(self, value: Any, name: str) -> Any:
        if is_edge_index(value):
            self.found += 1
            return torch.arange(self._size(value), device=value.device, dtype=value.dtype).repeat(2, 1)
        if _is_adjacency(value):
            self.found += 1
            return _identity_like(value)
        if isinstance(value, torch.Tensor):
            return self._per_edge(value, name)
        held = [one for one in (*EDGES, *PER_EDGE) if getattr(value, one, None) is not None]
        if not any(one in EDGES for one in held):
            return value
        own, size = copy.copy(value), getattr(value, "num_nodes", None)
        inner = replace(self, n=self.n if size is None else int(size), found=0)
        for one in held:
            setattr(own, one, inner.instead_of(getattr(value, one), one))
        self.found += inner.found
        return own

    def _per_edge(self, value: torch.Tensor, name: str) -> torch.Tensor:
        """One weight, or one row of attributes, for each loop."""
        is_weight = name == "edge_weight" or (not name and value.ndim == 1 and value.is_floating_point())
        if not (is_weight or name == "edge_attr") or self.n_edges is None or value.shape[:1] != (self.n_edges,):
            return value
        if self.n == self.n_edges and not name:
            return value  # as many edges as nodes: without a name this may be a signal
        if is_weight:
            return value.new_ones(self._size(value))
        mean = value.float().mean(dim=0, keepdim=True).to(value.dtype)
        return mean.expand(self._size(value), *value.shape[1:])

    def _size(self, value: torch.Tensor) -> int:
        return int(value.max()) + 1 if self.n is None else self.n


def _node_count(args: Any, kwargs: Any) -> int | None:
    for value in (*args, *kwargs.values()):
        if not isinstance(value, torch.Tensor) and getattr(value, "num_nodes", None) is not None:
            return int(value.num_nodes() if is_dgl(value) else value.num_nodes)
    features = features_in(args, kwargs, None)
    return None if features is None else int(features.shape[0])


def _is_adjacency(value: Any) -> bool:
    """A sparse square matrix, of torch or of torch_sparse."""
    if isinstance(value, torch.Tensor):
        return value.layout != torch.strided and value.ndim == 2 and value.shape[0] == value.shape[1]
    return type(value).__name__ == "SparseTensor" and hasattr(value, "sparse_sizes")


def _identity_like(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return type(value).eye(value.size(0), device=value.device())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse ")  # torch warns of its own sparse tensors
        loops = torch.arange(len(value), device=value.device).repeat(2, 1)
        ones = torch.ones(len(value), dtype=value.dtype, device=value.device)
        eye = torch.sparse_coo_tensor(loops, ones, value.shape, check_invariants=False).coalesce()
        return eye.to_sparse(layout=value.layout)
