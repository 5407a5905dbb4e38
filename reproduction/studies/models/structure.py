"""What depends on a graph alone: operators of message passing on a device, pairs and eigenbases per hop."""

import warnings
from dataclasses import dataclass, field
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


class _Product(torch.autograd.Function):
    """A constant sparse matrix times a dense one; torch's own gradient would also form that of the sparse one."""

    @staticmethod
    def forward(ctx, matrix, transposed, x):  # type: ignore[no-untyped-def]
        ctx.transposed = transposed
        return matrix @ x

    @staticmethod
    def backward(ctx, slope):  # type: ignore[no-untyped-def]
        return None, None, ctx.transposed @ slope.contiguous()


@dataclass(frozen=True, eq=False)
class Matrix:
    """A sparse matrix that acts on the nodes of states ``(n, R, h)``."""

    csr: torch.Tensor
    transposed: torch.Tensor

    @classmethod
    def of(cls, matrix: csr_array, device: torch.device) -> "Matrix":
        return cls(_tensor(matrix, device), _tensor(matrix.T.tocsr(), device))

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """``(n, R, h) -> (n, R, h)``."""
        return _Product.apply(self.csr, self.transposed, x.reshape(len(x), -1)).reshape(x.shape)


def _tensor(matrix: csr_array, device: torch.device) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls its CSR tensors a beta feature
        rows, columns = torch.as_tensor(matrix.indptr), torch.as_tensor(matrix.indices)
        values = torch.as_tensor(matrix.data.astype(np.float32))
        return torch.sparse_csr_tensor(rows, columns, values, size=matrix.shape).to(device)


@dataclass(frozen=True, eq=False)
class Messages:
    """The operators of message passing over a set of edges; None stands for the identity."""

    gcn: Matrix | None  # D^-1/2 (A + I) D^-1/2
    mean: Matrix | None  # D^-1 A, rows of nodes without neighbours 0
    source: torch.Tensor  # edges of attention in both directions, with one loop per node
    target: torch.Tensor


def messages(graph: StudyGraph, device: torch.device, edges: str) -> Messages:
    """Operators over the graph's edges ("messages"), or over self-loops alone ("self-loops")."""
    loops = np.arange(graph.n)
    if edges == SELF_LOOPS:
        nodes = torch.as_tensor(loops, device=device)
        return Messages(None, None, nodes, nodes)
    rows, columns = np.concatenate([graph.edges, graph.edges[:, ::-1]]).T
    adjacency = csr_array((np.ones(len(rows)), (rows, columns)), shape=(graph.n, graph.n))
    degree = np.bincount(rows, minlength=graph.n)
    root = csr_array((1 / np.sqrt(degree + 1), (loops, loops)), shape=adjacency.shape)
    inverse = csr_array((1 / np.maximum(degree, 1), (loops, loops)), shape=adjacency.shape)
    with_loops = csr_array(adjacency + csr_array((np.ones(graph.n), (loops, loops)), shape=adjacency.shape))
    source, target = (torch.as_tensor(np.concatenate([end, loops]), device=device) for end in (columns, rows))
    return Messages(
        Matrix.of(csr_array(root @ with_loops @ root), device),
        Matrix.of(csr_array(inverse @ adjacency), device),
        source,
        target,
    )


@dataclass(eq=False)
class OnDevice:
    """A graph on a device, ready for training."""

    graph: StudyGraph
    device: torch.device
    features: torch.Tensor
    labels: torch.Tensor
    splits: dict[str, torch.Tensor]
    _messages: dict[str, Messages] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: StudyGraph, device: torch.device, **more: Any) -> Self:
        """Put features, labels and splits on the device."""

        def put(array: np.ndarray) -> torch.Tensor:
            return torch.as_tensor(np.ascontiguousarray(array), device=device)

        splits = {name: put(nodes) for name, nodes in graph.splits.items()}
        return cls(graph, device, put(graph.features), put(graph.labels), splits, **more)

    def messages(self, edges: str = MESSAGES) -> Messages:
        """Operators of message passing, made once."""
        if edges not in self._messages:
            self._messages[edges] = messages(self.graph, self.device, edges)
        return self._messages[edges]


@dataclass(eq=False, kw_only=True)
class Structure(OnDevice):
    """The same with what the study's measures need."""

    strat: Stratification  # the hops of the contrasts
    pairs: dict[int, np.ndarray]  # hop -> (pairs, 2), a sample where there are many
    banded: Stratification  # the hops whose energies per band are computed
    bands: dict[int, np.ndarray]  # hop -> band of each component, -1 for eigenvalue zero


def structure_of(graph: StudyGraph, protocol: Protocol, device: torch.device, folder: Path | None = None) -> Structure:
    """Put a graph on a device; eigenvectors are kept in a folder, so that other processes need not compute them."""
    strat = Stratification(edges=graph.edges, n_nodes=graph.n, hops=max(HOPS))
    hops = list(HOPS) if graph.n <= protocol.band_nodes else [1]
    hops = [hop for hop in hops if hop in strat.hops]
    banded = Stratification(edges=graph.edges, n_nodes=graph.n, hops=hops, keep=(), cache=folder)
    rng = np.random.default_rng([protocol.seed, 1])
    pairs = {}
    for hop in HOPS:
        pairs[hop] = strat.strata.at(hop).edges if hop in strat.hops else np.empty((0, 2), dtype=np.int64)
        if hop > 1 and len(pairs[hop]) > protocol.pairs:
            pairs[hop] = pairs[hop][np.sort(rng.choice(len(pairs[hop]), protocol.pairs, replace=False))]
    bands = {hop: level_groups(banded.basis(hop).axis, "band", BANDS)[0][0] for hop in hops}
    return Structure.of(graph, device, strat=strat, pairs=pairs, banded=banded, bands=bands)
