"""What depends on a graph alone, on one device: operators of message passing, hops, parts, eigenbases."""

import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from reproduction.studies.models.graphs import StudyGraph
from reproduction.studies.models.protocol import HOPS, MESSAGES, SELF_LOOPS, Protocol
from spectrata.results.atomic_io import written_whole

BANDS = 4
REPEATED = 1e-8  # eigenvalues closer than this share of the largest are one eigenspace


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
        """From scipy."""
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
    """The operators of message passing over a set of edges.

    Attributes
    ----------
    gcn : Matrix or None
        D^-1/2 (A + I) D^-1/2; None stands for the identity, what self-loops alone give.
    mean : Matrix or None
        D^-1 A, rows of nodes without neighbours 0.
    source, target : tensor of int
        Edges of attention in both directions, with one loop per node.
    """

    gcn: Matrix | None
    mean: Matrix | None
    source: torch.Tensor
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


@dataclass(frozen=True, eq=False)
class Basis:
    """Eigenvectors of one hop's combinatorial Laplacian, and the band of each: 0 for eigenvalue zero, then 1 to 4."""

    vectors: torch.Tensor  # (n, n), columns
    band: torch.Tensor  # (n,)


@dataclass(eq=False)
class Structure:
    """A graph on a device, with what its measures need."""

    graph: StudyGraph
    device: torch.device
    features: torch.Tensor
    labels: torch.Tensor
    splits: dict[str, torch.Tensor]
    edges: torch.Tensor  # (2, m)
    part: torch.Tensor  # (n,) connected part of a node
    n_parts: int
    pairs: dict[int, torch.Tensor]  # hop -> (2, pairs), a sample where there are many
    bases: dict[int, Basis] = field(default_factory=dict)
    _messages: dict[str, Messages] = field(default_factory=dict)

    def messages(self, edges: str = MESSAGES) -> Messages:
        """Operators of message passing, made once."""
        if edges not in self._messages:
            self._messages[edges] = messages(self.graph, self.device, edges)
        return self._messages[edges]


def band_hops(protocol: Protocol, n: int) -> tuple[int, ...]:
    """Hops whose energies per band are computed for a graph of n nodes."""
    return HOPS if n <= protocol.band_nodes else HOPS[:1]


def hop_distances(edges: np.ndarray, n: int, device: torch.device) -> torch.Tensor:
    """Hop distances ``(n, n)`` up to the largest of ``HOPS``, 0 beyond and on the diagonal."""
    joined = torch.zeros((n, n), dtype=torch.float32, device=device)
    both = torch.as_tensor(np.concatenate([edges, edges[:, ::-1]]).T.copy(), device=device)
    joined[both[0], both[1]] = 1.0
    distance = joined.to(torch.uint8)
    reached = joined + torch.eye(n, device=device)
    for hop in HOPS[1:]:
        further = (reached @ joined > 0).float() + reached
        distance[(further > 0) & (reached == 0)] = hop
        reached = (further > 0).float()
    return distance


def prepare(graph: StudyGraph, protocol: Protocol, device: torch.device, folder: Path) -> None:
    """Write the pairs and bases of a graph to a folder: what takes long and is the same for every model."""
    distance = hop_distances(graph.edges, graph.n, device)
    rng = np.random.default_rng([protocol.seed, 1])
    arrays: dict[str, np.ndarray] = {}
    for hop in HOPS:
        pairs = torch.nonzero(torch.triu(distance == hop)).cpu().numpy()
        if hop > 1 and len(pairs) > protocol.pairs:
            pairs = pairs[np.sort(rng.choice(len(pairs), protocol.pairs, replace=False))]
        arrays[f"pairs_{hop}"] = pairs
    for hop in band_hops(protocol, graph.n):
        adjacency = (distance == hop).double()
        laplacian = torch.diag(adjacency.sum(dim=1)) - adjacency
        count = connected_components(csr_array(adjacency.cpu().numpy()), directed=False)[0]
        values, vectors = torch.linalg.eigh(laplacian)
        arrays[f"band_{hop}"] = bands_of(values.cpu().numpy(), count)
        arrays[f"vectors_{hop}"] = vectors.cpu().numpy()
    with written_whole(prepared_path(graph, folder)) as beside, open(beside, "wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def prepared_path(graph: StudyGraph, folder: Path) -> Path:
    """Where the pairs and bases of a graph are."""
    return folder / f"{graph.name}.npz"


def bands_of(values: np.ndarray, zeros: int) -> np.ndarray:
    """Band of each ascending eigenvalue: 0 for the first ``zeros``, then four bands of about equally many components.

    Eigenspaces stay whole, in the band of their middle component.

    Examples
    --------
    >>> bands_of(np.array([0.0, 1, 2, 2, 3, 4, 5, 6, 7]), 1).tolist()
    [0, 1, 2, 2, 2, 3, 3, 4, 4]
    """
    off = values[zeros:]
    band = np.zeros(len(values), dtype=np.int64)
    if not len(off):
        return band
    new = np.concatenate([[True], np.diff(off) > REPEATED * off[-1]])
    space = np.cumsum(new) - 1
    first = np.flatnonzero(new)
    size = np.diff(np.append(first, len(off)))
    middle = first + (size - 1) / 2
    band[zeros:] = 1 + np.minimum(BANDS * (middle[space] + 0.5) // len(off), BANDS - 1).astype(np.int64)
    return band


def read(graph: StudyGraph, protocol: Protocol, device: torch.device, folder: Path) -> Structure:
    """A graph on a device with its prepared pairs and bases."""
    rows, columns = graph.edges.T
    adjacency = csr_array((np.ones(len(rows)), (rows, columns)), shape=(graph.n, graph.n))
    n_parts, part = connected_components(adjacency, directed=False)

    def put(array: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(np.ascontiguousarray(array), device=device)

    found = Structure(
        graph,
        device,
        put(graph.features),
        put(graph.labels),
        {name: put(nodes) for name, nodes in graph.splits.items()},
        put(graph.edges.T),
        put(part.astype(np.int64)),
        int(n_parts),
        {},
    )
    with np.load(prepared_path(graph, folder), allow_pickle=False) as held:
        for hop in HOPS:
            found.pairs[hop] = put(held[f"pairs_{hop}"].T)
        for hop in band_hops(protocol, graph.n):
            found.bases[hop] = Basis(put(held[f"vectors_{hop}"]), put(held[f"band_{hop}"]))
    return found
