"""Eigenbases on disk: decompose once, project in every later run.

One file a basis, named after the graph's hash, the hop, the Laplacian, the
precision and the solver, written beside and renamed: several processes may share
a folder. Files are plain arrays, never unpickled; each is checked against its name,
its checksums and the graph before it is believed, and made anew when it fails.
"""

import os
import warnings
from pathlib import Path

import numpy as np

from spectrata.eigen import RESIDUAL_TOLERANCE, EigenBasis, Part, residual_of
from spectrata.errors import ResultError, SpectrataWarning
from spectrata.kernels.backend import Backend, like, to_numpy
from spectrata.result_files import tidy, written_whole
from spectrata.strata import Stratum

FORMAT = 1


class BasisCache:
    """A folder of eigenbases of one graph's strata.

    Parameters
    ----------
    folder : path
        Made when the first basis is stored.
    digest : str
        Hash of the graph.
    """

    def __init__(self, folder: str | os.PathLike, digest: str) -> None:
        self.folder = Path(folder)
        self.digest = digest

    def path(self, hop: int, laplacian: str, dtype: str, backend: Backend) -> Path:
        """Where a basis is, or would be."""
        solver = f"{backend.name}-{backend.device.partition(':')[0]}"
        return self.folder / f"{self.digest[:32]}-K{hop}-{laplacian}-{dtype}-{solver}-v{FORMAT}.npz"

    def load(self, stratum: Stratum, laplacian: str, dtype: str, backend: Backend) -> EigenBasis | None:
        """The stored basis, or None when there is none that can be believed."""
        path = self.path(stratum.hop, laplacian, dtype, backend)
        tidy(self.folder)
        if not path.exists():
            return None
        try:
            basis = self._read(path, stratum, dtype)
            residual = residual_of(stratum, basis, laplacian)
        except Exception as problem:  # a damaged archive raises almost anything
            _distrust(path, str(problem) or type(problem).__name__)
            return None
        if not residual <= RESIDUAL_TOLERANCE[dtype]:
            _distrust(path, "it does not solve this graph")
            return None
        return basis

    def _read(self, path: Path, stratum: Stratum, dtype: str) -> EigenBasis:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        if str(arrays["digest"]) != self.digest or arrays["values"].shape != (stratum.n_nodes,):
            raise ValueError("it belongs to another graph")
        sizes = arrays["sizes"]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        squares = np.concatenate([[0], np.cumsum(sizes**2)])
        parts = []
        for index, size in enumerate(sizes):
            rows = slice(starts[index], starts[index + 1])
            vectors = arrays["vectors"][squares[index] : squares[index + 1]].reshape(size, size).T
            nodes, columns = arrays["nodes"][rows], arrays["columns"][rows]
            moved = [like(array, stratum.edges) for array in (nodes, vectors, columns)]
            parts.append(Part(moved[0], arrays["values"][columns], moved[1], moved[2]))
        return EigenBasis(
            arrays["values"],
            tuple(parts),
            arrays["singletons"],
            arrays["singleton_columns"],
            float(arrays["residual"]),
            dtype,
        )

    def store(
        self, stratum: Stratum, laplacian: str, dtype: str, backend: Backend, basis: EigenBasis
    ) -> None:
        """Write a basis; a folder that cannot be written is said and otherwise ignored."""
        path = self.path(stratum.hop, laplacian, dtype, backend)
        empty = np.empty(0)
        arrays = {
            "digest": np.array(self.digest),
            "values": basis.values,
            "singletons": basis.singletons,
            "singleton_columns": basis.singleton_columns,
            "residual": np.array(basis.residual),
            "sizes": np.array([len(part.nodes) for part in basis.parts], dtype=np.int64),
            "nodes": np.concatenate([empty.astype(int), *(to_numpy(part.nodes) for part in basis.parts)]),
            "columns": np.concatenate([empty.astype(int), *(to_numpy(part.columns) for part in basis.parts)]),
            # Columns one after the other: the solver's own order, so nothing is rearranged.
            "vectors": np.concatenate(
                [empty.astype(dtype), *(to_numpy(part.vectors).ravel(order="F") for part in basis.parts)]
            ),
        }
        try:
            with written_whole(path) as beside:
                np.savez(beside, allow_pickle=False, **arrays)
        except ResultError as problem:
            warnings.warn(
                f"The basis at hop {stratum.hop} is not cached: {problem}", SpectrataWarning, stacklevel=2
            )


def _distrust(path: Path, reason: str) -> None:
    warnings.warn(f"The cached basis {path.name} is made anew: {reason}.", SpectrataWarning, stacklevel=4)
