"""Dask: a cluster as an executor, and a Laplacian whose rows live on its workers (extra ``dask``).

The operator is for one graph larger than a worker's memory: each worker holds some rows and, at every product, is
sent the rows of the block it needs and sends its own back. Columns stay with the caller, so that ``band_spectra`` is
unchanged on top.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator

from spectrata.errors import OptionError, SpectrataError, missing_extra
from spectrata.inputs.graphs import Graph
from spectrata.results.atomic_io import written_whole

TRIES = 4  # of a product whose pieces went with a worker
Loader = Callable[[int, int], tuple[np.ndarray, np.ndarray]]


@contextmanager
def dask_executor(scheduler: str) -> Iterator[Any]:
    """An executor on the Dask cluster at this address, such as ``tcp://127.0.0.1:8786``.

    Examples
    --------
    With a cluster at this address::

        with dask_executor("tcp://127.0.0.1:8786") as executor:
            ds = st.spectra_many(pairs, executor, "run.zarr")
    """
    with connect(scheduler) as client:
        yield client.get_executor(pure=False, retries=2)


def connect(scheduler: str, timeout: float = 10.0) -> Any:
    """A Dask client of a cluster that is already running."""
    try:
        from dask.distributed import Client
    except ImportError as problem:
        raise missing_extra("distributed", "dask", "A Dask cluster") from problem
    try:
        return Client(scheduler, timeout=timeout, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as problem:
        raise SpectrataError(
            f"No Dask scheduler answers at {scheduler}; start one with: dask scheduler ({problem})"
        ) from problem


class RowBlock(NamedTuple):
    """Some rows of a graph, as a worker holds them: own rows first among the rows it needs."""

    indptr: np.ndarray  # (rows + 1,)
    indices: np.ndarray  # places in ``needed``
    needed: np.ndarray  # rows of the whole graph: own, then borrowed

    @property
    def rows(self) -> int:
        return len(self.indptr) - 1


def make_block(load: Loader, start: int, stop: int) -> RowBlock:
    """Rows ``start .. stop`` from a loader that gives their ``indptr`` (from 0) and neighbours in the whole graph."""
    indptr, heads = load(start, stop)
    own = np.arange(start, stop)
    borrowed = np.setdiff1d(heads, own)
    inside = (heads >= start) & (heads < stop)
    places = np.where(inside, heads - start, len(own) + np.searchsorted(borrowed, heads))
    small = np.int32 if len(own) + len(borrowed) < 2**31 else np.int64
    return RowBlock(np.asarray(indptr, dtype=np.int64), places.astype(small), np.append(own, borrowed))


def _rows_in_folder(folder: str, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows from ``indptr.npy`` and ``indices.npy`` in a folder that all workers see, without reading the rest."""
    indptr, indices = (np.load(Path(folder) / f"{name}.npy", mmap_mode="r") for name in ("indptr", "indices"))
    first, last = int(indptr[start]), int(indptr[stop])
    return np.array(indptr[start : stop + 1]) - first, np.array(indices[first:last], dtype=np.int64)


def save_rows(graph: Graph, folder: "str | Path") -> Path:
    """Write a graph's rows for :meth:`~spectrata.many.dask.DaskLaplacian.from_folder`.

    Examples
    --------
    >>> import networkx as nx, tempfile
    >>> from spectrata.inputs.graphs import as_graph
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = save_rows(as_graph(nx.path_graph(4)), folder)
    ...     sorted(file.name for file in rows.iterdir())
    ['indices.npy', 'indptr.npy']
    """
    place = Path(folder)
    for name, array in (("indptr", graph.indptr), ("indices", graph.indices)):
        with written_whole(place / f"{name}.npy") as beside:
            np.save(beside, array)
    return place


class DaskLaplacian(LinearOperator):
    """The Laplacian of one graph, its rows in blocks on the workers of a Dask cluster.

    Parameters
    ----------
    client : dask.distributed.Client
    loaders : list of callable
        ``loaders[i](start, stop)`` gives ``indptr`` and neighbours of the rows from ``bounds[i]`` to ``bounds[i +
        1]``. It runs on a worker, and again on another when that one dies.
    bounds : sequence of int
        Ascending from 0 to the number of nodes.

    Examples
    --------
    With a cluster at this address, and rows that :func:`~spectrata.many.dask.save_rows` wrote::

        with dask.distributed.Client("tcp://127.0.0.1:8786") as client:
            laplacian = DaskLaplacian.from_folder(client, "rows")
            ds = st.band_spectra(laplacian, signal, bands=32)
    """

    def __init__(self, client: Any, loaders: "list[Loader]", bounds: "np.ndarray | list[int]") -> None:
        import dask

        self.client = client
        self.bounds = [int(bound) for bound in bounds]
        super().__init__(dtype=np.dtype(np.float64), shape=(self.bounds[-1], self.bounds[-1]))
        spans = list(pairwise(self.bounds))
        # Rows that travel with their task are the graph itself, not a slip.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            self._blocks = [
                client.submit(make_block, load, a, b, pure=False) for load, (a, b) in zip(loaders, spans, strict=True)
            ]
        found = [client.submit(attrgetter("needed", "indptr"), block, pure=False) for block in self._blocks]
        self._needed, pointers = zip(*client.gather(found), strict=True)
        self.degrees = np.concatenate([np.diff(indptr) for indptr in pointers])
        self.n_edges = int(self.degrees.sum()) // 2

    @classmethod
    def from_graph(cls, client: Any, graph: Graph, blocks: int | None = None) -> "DaskLaplacian":
        """Cut a graph in memory into blocks of about equal numbers of edges; rows travel with their tasks."""
        indptr, bounds = graph.indptr, _cuts(client, graph.indptr, blocks)

        def loader(a: int, b: int) -> Loader:
            rows = indptr[a : b + 1] - indptr[a], graph.indices[indptr[a] : indptr[b]]
            return lambda start, stop: rows

        return cls(client, [loader(a, b) for a, b in pairwise(bounds)], bounds)

    @classmethod
    def from_folder(cls, client: Any, folder: "str | Path", blocks: int | None = None) -> "DaskLaplacian":
        """Let workers read their own rows from a folder that :func:`save_rows` wrote and all of them see."""
        indptr = np.load(Path(folder) / "indptr.npy", mmap_mode="r")
        bounds = _cuts(client, indptr, blocks)
        return cls(client, [partial(_rows_in_folder, str(folder))] * (len(bounds) - 1), bounds)

    def _matmat(self, x: np.ndarray) -> np.ndarray:
        return np.concatenate(self._everywhere(_product, np.asarray(x, dtype=np.float64)))

    def _adjoint(self) -> "DaskLaplacian":
        return self

    def gradients(self, t: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Mean gradient per node, divergence for each orientation, and the sum of squared gradients."""
        found = self._everywhere(_gradients, t, keys)
        mean, divergence = (np.concatenate([one[i] for one in found]) for i in (0, 1))
        return mean, divergence, sum(one[2] for one in found) / 2

    @cached_property
    def parts(self) -> np.ndarray:
        """Label of each node's connected part: the lowest label sinks along edges until nothing changes."""
        labels = np.arange(self.shape[0])
        while True:
            lower = np.concatenate(self._everywhere(_lowest, labels))
            lower = lower[lower]  # halve the way to the root
            if np.array_equal(lower, labels):
                return np.unique(labels, return_inverse=True)[1]
            labels = lower

    def _everywhere(self, function: Callable, x: np.ndarray, *more: Any) -> list[Any]:
        """``function(block, rows of x it needs, *more)`` for every block, on the workers that hold them."""
        from dask.distributed import CancelledError, KilledWorker

        lost: BaseException | None = None
        for _ in range(TRIES):
            try:
                pieces = self.client.scatter([x[needed] for needed in self._needed], hash=False)
                tasks = [
                    self.client.submit(function, block, piece, *more, pure=False)
                    for block, piece in zip(self._blocks, pieces, strict=True)
                ]
                return self.client.gather(tasks)
            except (CancelledError, KilledWorker, OSError) as problem:
                lost = problem  # the pieces went with their worker; its rows are loaded again by another
        raise SpectrataError(f"The cluster lost workers {TRIES} times during one product.") from lost


def _cuts(client: Any, indptr: np.ndarray, blocks: int | None) -> np.ndarray:
    """Bounds of blocks with about equal numbers of rows and entries; a block for each worker where none is asked."""
    n, blocks = len(indptr) - 1, max(1, len(client.scheduler_info()["workers"])) if blocks is None else blocks
    if blocks < 1:
        raise OptionError(f"blocks={blocks} must be at least 1.")
    weight = np.asarray(indptr) + np.arange(n + 1)
    wanted = np.linspace(0, weight[-1], min(blocks, n) + 1)
    return np.unique(np.append(np.searchsorted(weight, wanted[:-1]), n))


# ---- on the workers


def _product(block: RowBlock, x: np.ndarray) -> np.ndarray:
    from spectrata.bands import compiled

    out, dots = np.empty((block.rows, x.shape[1])), np.zeros(x.shape[1])
    matrix = block.indptr, block.indices, None, None
    compiled.step(*matrix, 0, block.rows, np.ascontiguousarray(x), out, None, None, dots)
    return out


def _gradients(block: RowBlock, t: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    from spectrata.bands import compiled

    mean, divergence = np.zeros(block.rows), np.zeros((block.rows, len(keys)))
    squares = compiled.gradients(
        block.indptr, block.indices, None, 0, block.rows, block.needed, np.ascontiguousarray(t), keys, mean, divergence
    )
    return mean, divergence, float(squares)


def _lowest(block: RowBlock, labels: np.ndarray) -> np.ndarray:
    lowest = labels[: block.rows].copy()
    filled = np.flatnonzero(np.diff(block.indptr))
    if len(filled):
        near = np.minimum.reduceat(labels[block.indices], block.indptr[filled])
        lowest[filled] = np.minimum(lowest[filled], near)
    return lowest
