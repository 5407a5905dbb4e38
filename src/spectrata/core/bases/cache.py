"""Eigenbases on disk: decompose once, project in every later run.

One file a basis, named after the graph's hash, the hop, the Laplacian, the precision and the solver, written beside
and renamed: several processes may share a folder. Files are plain arrays, never unpickled; each is checked against
its name, its checksums and the graph before it is used, and made anew when it fails.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np

from spectrata.core.bases.basis import EigenBasis, Part
from spectrata.core.bases.solve import make_basis
from spectrata.core.bases.verify import verify
from spectrata.core.operators import Operator
from spectrata.core.strata import Stratum, number_of
from spectrata.errors import ResultError, SolverError, shortened, warn
from spectrata.inputs.readers.files import open_npz
from spectrata.kernels.backend import Backend, like, to_numpy
from spectrata.results.atomic_io import tidy, written_whole

FORMAT = 2
ARRAYS = ("values", "singletons", "singleton_columns", "sizes", "nodes", "columns", "vectors")
NOT_THIS = "it does not solve this graph"


class BasisCache:
    """A folder of eigenbases of one graph's strata.

    Parameters
    ----------
    folder : path
        Made when the first basis is stored.
    digest : str
        Hash of the graph, and of the rule that weights its pairs.
    """

    def __init__(self, folder: str | os.PathLike, digest: str) -> None:
        self.folder = Path(folder)
        self.digest = digest

    def path(self, hop: Any, operator: Operator, dtype: str, backend: Backend) -> Path:
        """Where a basis is, or would be."""
        solver = f"{backend.name}-{backend.device.partition(':')[0]}"
        which = operator.laplacian + ("-loops" if operator.self_loops else "")
        return self.folder / f"{self.digest[:32]}-K{number_of(hop)}-{which}-{dtype}-{solver}-v{FORMAT}.npz"

    def load(self, stratum: Stratum, operator: Operator, dtype: str, backend: Backend) -> EigenBasis | None:
        """The stored basis, or None when there is none that is valid."""
        path = self.path(stratum.hop, operator, dtype, backend)
        tidy(path)
        if not path.exists():
            return None
        try:
            basis = self._read(path, stratum, operator, dtype)
            with np.errstate(all="ignore"):  # a damaged basis may overflow; the check below refuses it
                if _has_zeros(basis):
                    return verify(basis, stratum)
            reason = NOT_THIS
        except SolverError:
            reason = NOT_THIS
        except Exception as problem:  # a damaged archive raises almost anything
            reason = shortened(str(problem)) or type(problem).__name__
        warn(f"The cached basis {path.name} is computed again: {reason}.")
        return None

    def _read(self, path: Path, stratum: Stratum, operator: Operator, dtype: str) -> EigenBasis:
        with open_npz(path, own=True) as stored:
            key = stored.text("key")
            arrays = {name: stored[name] for name in ARRAYS}
        if key != path.stem or arrays["values"].shape != (stratum.n_nodes,):
            raise ValueError("it belongs to another graph or operator")
        sizes = arrays["sizes"]
        if not _covers(arrays, stratum) or arrays["vectors"].dtype != dtype:
            raise ValueError("its parts are not those of this graph")
        starts = np.concatenate([[0], np.cumsum(sizes)])
        squares = np.concatenate([[0], np.cumsum(sizes**2)])
        parts = []
        for index, size in enumerate(sizes):
            rows = slice(starts[index], starts[index + 1])
            vectors = arrays["vectors"][squares[index] : squares[index + 1]].reshape(size, size).T
            nodes, columns = arrays["nodes"][rows], arrays["columns"][rows]
            moved = [like(array, stratum.edges) for array in (nodes, vectors, columns)]
            parts.append(Part(moved[0], arrays["values"][columns], moved[1], moved[2]))
        values, alone, columns = (arrays[name] for name in ("values", "singletons", "singleton_columns"))
        return make_basis(stratum, operator, values, parts, alone, columns, dtype)

    def store(self, stratum: Stratum, operator: Operator, dtype: str, backend: Backend, basis: EigenBasis) -> None:
        """Write a basis; a folder that cannot be written gives a warning."""
        path = self.path(stratum.hop, operator, dtype, backend)
        empty = np.empty(0)
        arrays = {
            "key": np.array(path.stem),  # a file that was renamed is not taken for another
            "values": basis.values,
            "singletons": basis.singletons,
            "singleton_columns": basis.singleton_columns,
            "sizes": np.array([len(part.nodes) for part in basis.parts], dtype=np.int64),
            "nodes": np.concatenate([empty.astype(int), *(to_numpy(part.nodes) for part in basis.parts)]),
            "columns": np.concatenate([empty.astype(int), *(to_numpy(part.columns) for part in basis.parts)]),
            # Columns one after the other: the solver's own order, so nothing is rearranged.
            "vectors": np.concatenate(
                [empty.astype(dtype), *(to_numpy(part.vectors).ravel(order="F") for part in basis.parts)]
            ),
        }
        try:
            with written_whole(path, durable=False) as beside:  # what is damaged is found and made again
                np.savez(beside, allow_pickle=False, **arrays)
        except ResultError as problem:
            warn(f"The basis at hop {stratum.hop} is not cached: {problem}")


def _covers(arrays: dict[str, np.ndarray], stratum: Stratum) -> bool:
    """Whether every node and every component is there once, connected nodes together."""
    every = np.arange(stratum.n_nodes)
    for rows, rest in (("nodes", "singletons"), ("columns", "singleton_columns")):
        found = np.concatenate([arrays[rows], arrays[rest]])
        if found.dtype.kind not in "iu" or not np.array_equal(np.sort(found), every):
            return False
    sizes, lone = arrays["sizes"], arrays["singletons"]
    if sizes.dtype.kind not in "iu" or sizes.sum() != len(arrays["nodes"]) or (stratum.counts[lone] > 0).any():
        return False
    parts = np.repeat(np.arange(len(sizes)), sizes)
    pairs = np.unique(np.stack([parts, stratum.parts[arrays["nodes"]]]), axis=1)
    return pairs.shape[1] == len(sizes) == len(np.unique(pairs[1]))


def _has_zeros(basis: EigenBasis) -> bool:
    """Whether the values are 0 once a part, at its first component, and above 0 elsewhere."""
    values, zeros = basis.values, basis.is_zero
    return not (values[zeros].any() or any(part.values[0] for part in basis.parts)) and bool((values[~zeros] > 0).all())
