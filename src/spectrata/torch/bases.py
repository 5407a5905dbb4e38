"""Eigenbases as tensors, where the signals are: computed once per graph, kept in memory, and on disk on request."""

import weakref
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch

from spectrata.eigen import EigenBasis, Part
from spectrata.kernels.backend import NUMPY, Backend, to_numpy
from spectrata.result import written_whole
from spectrata.strata import Stratum
from spectrata.stratification import Stratification

_KEPT: "weakref.WeakKeyDictionary[Stratification, dict]" = weakref.WeakKeyDictionary()
_FORMAT = 1  # of cached files


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
    basis = strat._basis(stratum, "combinatorial", "float64", backend)

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


# ---- on disk


def use_cache(strat: Stratification, folder: str | Path, device: torch.device) -> None:
    """Take the bases of all hops from a folder; those it lacks are solved and added to it.

    Files are keyed by the graph, the hop and the format; one that cannot be read is made anew.
    """
    backend = backend_for(device)
    for hop in strat.hops:
        path = Path(folder) / f"{strat.graph.digest[:24]}-hop{hop}-v{_FORMAT}.npz"
        key = ("basis", hop, "combinatorial", "float64", backend)
        known = _load(path, strat.graph.n_nodes, device if backend != NUMPY else None)
        if known is not None:
            strat._remember(key, partial(_same, known))
        else:
            stratum = strat.strata.at(hop, backend)
            _save(path, strat._basis(stratum, "combinatorial", "float64", backend))


def _same(basis: EigenBasis) -> EigenBasis:
    return basis


def _save(path: Path, basis: EigenBasis) -> None:
    nodes = [to_numpy(part.nodes) for part in basis.parts]
    with written_whole(path) as beside:
        np.savez(
            beside,
            values=basis.values,
            singletons=basis.singletons,
            singleton_columns=basis.singleton_columns,
            residual=np.array(basis.residual),
            sizes=np.array([len(rows) for rows in nodes], dtype=np.int64),
            nodes=np.concatenate([*nodes, np.empty(0, dtype=np.int64)]),
            columns=np.concatenate(
                [*(to_numpy(part.columns) for part in basis.parts), np.empty(0, dtype=np.int64)]
            ),
            vectors=np.concatenate([*(to_numpy(part.vectors).ravel() for part in basis.parts), np.empty(0)]),
        )


def _load(path: Path, n: int, device: torch.device | None) -> EigenBasis | None:
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            stored = {name: file[name] for name in file.files}
        if stored["values"].shape != (n,):
            return None
        cuts = np.cumsum(stored["sizes"])[:-1]
        squares = np.cumsum(stored["sizes"] ** 2)[:-1]
        pieces = zip(
            np.split(stored["nodes"], cuts),
            np.split(stored["columns"], cuts),
            np.split(stored["vectors"], squares),
            strict=True,
        )
        parts = tuple(
            _part(nodes, columns, vectors.reshape(len(nodes), -1), stored["values"], device)
            for nodes, columns, vectors in pieces
        )
        residual = float(stored["residual"])
        return EigenBasis(
            stored["values"], parts, stored["singletons"], stored["singleton_columns"], residual
        )
    except Exception:  # a missing, damaged or foreign file; the basis is solved instead
        return None


def _part(
    nodes: np.ndarray,
    columns: np.ndarray,
    vectors: np.ndarray,
    values: np.ndarray,
    device: torch.device | None,
) -> Part:
    if device is None:
        return Part(nodes, values[columns], vectors, columns)
    moved = [torch.as_tensor(array, device=device) for array in (nodes, vectors, columns)]
    return Part(moved[0], values[columns], moved[1], moved[2])  # type: ignore[arg-type]
