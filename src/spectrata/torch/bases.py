"""Eigenbases as tensors, where the signals are: computed once per graph and kept in memory."""

import weakref
from dataclasses import dataclass

import numpy as np
import torch

from spectrata.core.bases.solve import EigenBasis
from spectrata.core.strata import Stratum
from spectrata.core.stratification import Stratification
from spectrata.kernels.backend import NUMPY, Backend, to_numpy

_KEPT: "weakref.WeakKeyDictionary[Stratification, dict]" = weakref.WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class TensorPart:
    """One connected part of at least two nodes: ``vectors[:, 0]`` is its indicator."""

    nodes: torch.Tensor  # (c,)
    columns: torch.Tensor  # (c,) positions among the components
    vectors: torch.Tensor  # (c, c)
    edges: torch.Tensor  # (m', 2) in the part's own numbering
    edge_rows: torch.Tensor | slice  # where those stand among the stratum's edges


@dataclass(frozen=True, eq=False)
class TensorBasis:
    """A stratum and its eigenbasis as tensors of one device and precision."""

    hop: int
    values: torch.Tensor  # (n,) eigenvalues
    is_zero: torch.Tensor  # (n,) bool
    edges: torch.Tensor  # (m, 2)
    degrees: torch.Tensor  # (n,)
    part_of: torch.Tensor  # (n,) label of each node's connected part, singletons included
    part_sizes: torch.Tensor  # (p,)
    part_columns: torch.Tensor  # (p,) the zero component of each part
    parts: tuple[TensorPart, ...]


def backend_for(device: torch.device) -> Backend:
    """Where the solver works for signals on a device."""
    return Backend("torch", str(device)) if device.type == "cuda" else NUMPY


def tensor_basis(
    strat: Stratification, hop: int, device: torch.device, dtype: torch.dtype = torch.float64
) -> TensorBasis:
    """The basis of one hop, solved in double precision on first use and kept while ``strat`` lives."""
    kept = _KEPT.setdefault(strat, {})
    key = (hop, str(device), dtype)
    if key not in kept:
        kept[key] = _make(strat, hop, device, dtype)
    return kept[key]


def _make(strat: Stratification, hop: int, device: torch.device, dtype: torch.dtype) -> TensorBasis:
    backend = backend_for(device)
    stratum = strat.strata.at(hop, backend)
    basis = strat.basis(hop, backend=backend)

    def move(array: np.ndarray | torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(array, device=device)

    labels = stratum.parts
    columns = np.empty(stratum.n_parts, dtype=np.int64)
    columns[labels[basis.singletons]] = basis.singleton_columns
    for part in basis.parts:
        columns[labels[int(part.nodes[0])]] = int(part.columns[0])
    return TensorBasis(
        hop=hop,
        values=move(basis.values).to(dtype),
        is_zero=move(basis.is_zero),
        edges=move(stratum.edges),
        degrees=move(stratum.degrees),
        part_of=move(labels),
        part_sizes=move(np.bincount(labels)),
        part_columns=move(columns),
        parts=tuple(_parts(stratum, basis, device, dtype)),
    )


def _parts(
    stratum: Stratum, basis: EigenBasis, device: torch.device, dtype: torch.dtype
) -> "list[TensorPart]":
    edges = torch.as_tensor(stratum.edges, device=device)
    local = torch.zeros(stratum.n_nodes, dtype=torch.int64, device=device)
    for part in basis.parts:
        nodes = torch.as_tensor(part.nodes, device=device)
        local[nodes] = torch.arange(len(nodes), device=device)
    owner = stratum.parts[to_numpy(stratum.edges)[:, 0]]
    order = np.argsort(owner, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=stratum.n_parts))])
    made = []
    for part in basis.parts:
        rows: torch.Tensor | slice = slice(None)
        if len(basis.parts) > 1:
            label = stratum.parts[int(part.nodes[0])]
            rows = torch.as_tensor(order[bounds[label] : bounds[label + 1]], device=device)
        made.append(
            TensorPart(
                nodes=torch.as_tensor(part.nodes, device=device),
                columns=torch.as_tensor(part.columns, device=device),
                vectors=torch.as_tensor(part.vectors, device=device).to(dtype),
                edges=local[edges[rows]],
                edge_rows=rows,
            )
        )
    return made
