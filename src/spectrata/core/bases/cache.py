"""Eigenbases on disk: decompose once, project in every later run.

One file a basis, named after the graph's hash, the hop, the Laplacian, the precision and the solver, written beside
and renamed: several processes may share a folder. Files are plain arrays, never unpickled; each is checked against
a hash of its content and its name before it is used, and made anew when it fails.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from spectrata.core.bases.basis import EigenBasis, Part
from spectrata.core.bases.solve import make_basis
from spectrata.core.operators import Laplacian
from spectrata.core.strata import Stratum, number_of
from spectrata.errors import ResultError, shortened, warn
from spectrata.kernels.backend import Backend, like, to_numpy
from spectrata.results.atomic_io import tidy, written_whole

FORMAT = 4  # one more whenever files hold other arrays


class BasisCache:
    """A folder of eigenbases; ``strata`` tells the graph and the rule that weights or joins its pairs."""

    def __init__(self, folder: str | os.PathLike, strata: str) -> None:
        self.folder, self.digest = Path(folder), hashlib.sha256(strata.encode()).hexdigest()

    def path(self, hop: Any, operator: Laplacian, dtype: str, backend: Backend) -> Path:
        """Where a basis is, or would be."""
        solver = f"{backend.name}-{backend.device.partition(':')[0]}"
        which = operator.laplacian + ("-loops" if operator.self_loops else "")
        return self.folder / f"{self.digest[:32]}-K{number_of(hop)}-{which}-{dtype}-{solver}-v{FORMAT}.npz"

    def basis(
        self, stratum: Stratum, operator: Laplacian, dtype: str, backend: Backend, solve: Callable[[], EigenBasis]
    ) -> EigenBasis:
        """The stored basis where it is valid; otherwise what ``solve()`` gives, which is stored."""
        path = self.path(stratum.hop, operator, dtype, backend)
        tidy(path)
        if path.exists():
            try:
                with open(path, "rb") as file, np.load(file, allow_pickle=False) as stored:
                    arrays = dict(stored)
                if str(arrays.pop("digest")) != _digest(path, arrays):
                    raise ValueError("it was changed, or belongs to another graph or operator")
                return _made(arrays, stratum, operator, dtype)
            except Exception as problem:  # a damaged archive raises almost anything
                reason = shortened(str(problem)) or type(problem).__name__
                warn(f"The cached basis {path.name} is computed again: {reason}.")
        basis = solve()
        arrays = _arrays(basis)
        try:
            with written_whole(path, durable=False) as beside:  # what is damaged is found and made again
                np.savez(beside, allow_pickle=False, digest=np.array(_digest(path, arrays)), **arrays)
        except ResultError as problem:
            warn(f"The basis at hop {stratum.hop} is not cached: {problem}")
        return basis


def _arrays(basis: EigenBasis) -> dict[str, np.ndarray]:
    """The arrays of a file; the vectors column after column, the solver's own order."""
    whole = np.empty(0, dtype=np.int64)
    vectors = [np.empty(0, basis.dtype), *(to_numpy(part.vectors).ravel(order="F") for part in basis.parts)]
    return {
        "values": basis.values,
        "alone": basis.alone,
        "measured": np.array([basis.column_residual, basis.column_gram]),
        "sizes": np.array([len(part.nodes) for part in basis.parts], dtype=np.int64),
        "nodes": np.concatenate([whole, *(to_numpy(part.nodes) for part in basis.parts)]),
        "columns": np.concatenate([whole, *(to_numpy(part.columns) for part in basis.parts)]),
        "vectors": np.concatenate(vectors),
    }


def _digest(path: Path, arrays: dict[str, np.ndarray]) -> str:
    """A hash of what a file holds, and of its name: one that was renamed is not taken for another."""
    found = hashlib.sha256(path.stem.encode())
    for name in sorted(arrays):
        found.update(np.ascontiguousarray(arrays[name]).data)
    return found.hexdigest()


def _made(arrays: dict[str, np.ndarray], stratum: Stratum, operator: Laplacian, dtype: str) -> EigenBasis:
    sizes, values, measured = arrays["sizes"], arrays["values"], arrays["measured"]
    rows = [np.split(arrays[name], np.cumsum(sizes)[:-1]) for name in ("nodes", "columns")]
    vectors = np.split(arrays["vectors"], np.cumsum(sizes**2)[:-1])
    parts = []
    for size, nodes, columns, own in zip(sizes, *rows, vectors, strict=bool(len(sizes))):
        moved = [like(array, stratum.edges) for array in (nodes, own.reshape(size, size).T, columns)]
        parts.append(Part(moved[0], values[columns], moved[1], moved[2]))
    facts = {"column_residual": measured[0], "column_gram": measured[1]}
    return make_basis(stratum, operator, values, parts, arrays["alone"], dtype, **facts)
