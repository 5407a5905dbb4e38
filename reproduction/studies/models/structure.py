"""What depends on a graph alone: operators of message passing on a device, pairs and eigenbases per hop."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from scipy.sparse import csr_array

from reproduction.studies.models.graphs import StudyGraph
from reproduction.studies.models.protocol import HOPS, MESSAGES, SELF_LOOPS, Protocol
from spectrata.core.stratification import Stratification
from spectrata.stats.describe.levels import level_groups

BANDS = 4
Operator = Callable[[torch.Tensor], torch.Tensor]  # of states (n, R, h)


class _Product(torch.autograd.Function):
    """A constant sparse matrix times a dense one; torch's own gradient would also form that of the sparse one."""

    @staticmethod
    def forward(ctx, matrix, transposed, x):  # type: ignore[no-untyped-def]
        ctx.transposed = transposed
        return matrix @ x

    @staticmethod
    def backward(ctx, slope):  # type: ignore[no-untyped-def]
        return None, None, ctx.transposed @ slope.contiguous()


def _operator(matrix: csr_array, device: torch.device) -> Operator:
    """A sparse matrix that acts on the nodes of states."""
    both = _tensor(matrix, device), _tensor(matrix.T.tocsr(), device)
    return lambda x: _Product.apply(*both, x.reshape(len(x), -1)).reshape(x.shape)


def _tensor(matrix: csr_array, device: torch.device) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls its CSR tensors a beta feature
        rows, columns, values = map(torch.as_tensor, (matrix.indptr, matrix.indices, matrix.data.astype(np.float32)))
        return torch.sparse_csr_tensor(rows, columns, values, size=matrix.shape).to(device)


@dataclass(frozen=True, eq=False)
class Messages:
    """The operators of message passing over a set of edges, the identity for self-loops alone."""

    gcn: Operator  # D^-1/2 (A + I) D^-1/2
    mean: Operator  # D^-1 A, rows of nodes without neighbours 0
    source: torch.Tensor  # edges of attention in both directions, with one loop per node
    target: torch.Tensor


def messages(graph: StudyGraph, device: torch.device, edges: str) -> Messages:
    """Operators over the graph's edges ("messages"), or over self-loops alone ("self-loops")."""
    loops = np.arange(graph.n)
    if edges == SELF_LOOPS:
        nodes = torch.as_tensor(loops, device=device)
        return Messages(lambda x: x, lambda x: x, nodes, nodes)
    rows, columns = np.concatenate([graph.edges, graph.edges[:, ::-1]]).T
    adjacency = csr_array((np.ones(len(rows)), (rows, columns)), shape=(graph.n, graph.n))
    degree = np.bincount(rows, minlength=graph.n)
    root = csr_array((1 / np.sqrt(degree + 1), (loops, loops)), shape=adjacency.shape)
    inverse = csr_array((1 / np.maximum(degree, 1), (loops, loops)), shape=adjacency.shape)
    with_loops = csr_array(adjacency + csr_array((np.ones(graph.n), (loops, loops)), shape=adjacency.shape))
    source, target = (torch.as_tensor(np.concatenate([end, loops]), device=device) for end in (columns, rows))
    gcn, mean = (_operator(csr_array(one), device) for one in (root @ with_loops @ root, inverse @ adjacency))
    return Messages(gcn, mean, source, target)


@dataclass(eq=False)
class OnDevice:
    graph: StudyGraph
    device: torch.device
    features: torch.Tensor
    labels: torch.Tensor
    splits: dict[str, torch.Tensor]
    _messages: dict[str, Messages] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: StudyGraph, device: torch.device, **more: Any) -> Self:
        put = partial(torch.tensor, device=device)
        splits = {name: put(nodes) for name, nodes in graph.splits.items()}
        return cls(graph, device, put(graph.features), put(graph.labels), splits, **more)

    def messages(self, edges: str = MESSAGES) -> Messages:
        """Operators of message passing, made once."""
        if edges not in self._messages:
            self._messages[edges] = messages(self.graph, self.device, edges)
        return self._messages[edges]


@dataclass(eq=False, kw_only=True)
class Structure(OnDevice):
    strat: Stratification  # the hops of the contrasts
    pairs: dict[int, np.ndarray]  # hop -> (pairs, 2), a sample where there are many
    banded: Stratification  # the hops whose energies per band are computed
    bands: dict[int, np.ndarray]  # hop -> band of each component, -1 for eigenvalue zero


def structure_of(graph: StudyGraph, protocol: Protocol, device: torch.device, folder: Path | None = None) -> Structure:
    """Put a graph on a device; eigenvectors are kept in a folder, so that other processes need not compute them."""
    strat = Stratification(edges=graph.edges, n_nodes=graph.n, hops=max(HOPS))
    hops = [hop for hop in HOPS if hop in strat.hops and (hop == 1 or graph.n <= protocol.band_nodes)]
    banded = Stratification(edges=graph.edges, n_nodes=graph.n, hops=hops, keep=(), cache=folder)
    rng = np.random.default_rng([protocol.seed, 1])
    pairs = {}
    for hop in HOPS:
        pairs[hop] = strat.strata.at(hop).edges if hop in strat.hops else np.empty((0, 2), dtype=np.int64)
        if hop > 1 and len(pairs[hop]) > protocol.pairs:
            pairs[hop] = pairs[hop][np.sort(rng.choice(len(pairs[hop]), protocol.pairs, replace=False))]
    bands = {hop: level_groups(banded.basis(hop).axis, "band", BANDS)[0][0] for hop in hops}
    return Structure.of(graph, device, strat=strat, pairs=pairs, banded=banded, bands=bands)
