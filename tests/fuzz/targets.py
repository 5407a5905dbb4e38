"""One target per reader: how bytes become a file, which public door reads it, and what it may give back."""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from spectrata.errors import SpectrataError
from spectrata.inputs.graphs import as_graph
from spectrata.inputs.labels import as_labels
from spectrata.inputs.signals import as_signal

from . import command_line, containers, mutate, objects, seeds, stores
from .words import BASIS_KEYS, GML, GRAPH_KEYS, LIST, MTX, PT_KEYS, SIGNAL_KEYS, TABLE, VECTORS, XML

SOURCE = "src/spectrata/"


class Wrong(AssertionError):
    """A file was accepted, and what came out cannot be right."""


@dataclass(frozen=True)
class Target:
    """A reader under attack: ``read`` takes the path by the public door, and raises ``Wrong`` where it must."""

    name: str
    file: str  # its ending chooses the reader
    seeds: Callable[[], list[bytes]]  # valid inputs to start from
    mutate: mutate.Mutation  # damage that knows the format
    read: Callable[[Path], None]
    inputs: int = 1500
    write: Callable[[Path, bytes], None] = Path.write_bytes

    @property
    def named(self) -> bool:
        """Whether it is the file itself that is read, so that errors name it."""
        return self.mutate is not objects.damage and self.write is Path.write_bytes


# ---- what may come out


def read_graph(path: Path) -> None:
    """Read a graph and an attribute of its nodes; what is accepted must be a simple undirected graph."""
    graph = as_graph(path)
    _check_graph(graph)
    if len(graph.attributes):
        with suppress(SpectrataError):
            as_signal(next(iter(graph.attributes)), graph)


def read_weighted(path: Path) -> None:
    """Read a graph with its weights, whatever its directions."""
    _check_weighted(as_graph(path, weights=True, undirected=True), True)


def _check_weighted(graph: Any, weights: Any) -> None:
    _check_graph(graph)
    if (weights is None or weights is False) and graph.weights is None:
        return
    if graph.weights is None or graph.weights.shape != (graph.n_edges,) or not (graph.weights > 0).all():
        raise Wrong(f"weights {graph.weights}")


def read_attributes(path: Path) -> None:
    """Read a graph, and every attribute of its nodes as a signal and as labels."""
    graph = as_graph(path)
    _check_graph(graph)
    _check_attributes(graph)


def _check_attributes(graph: Any) -> None:
    for name in list(graph.attributes)[:8]:
        with suppress(SpectrataError):
            _check_values(as_signal(name, graph).values, graph.n_nodes)
        with suppress(SpectrataError):
            _check_labels(as_labels(name, graph), graph)


def read_labels(path: Path) -> None:
    """Read a file of labels."""
    _check_labels(as_labels(path, _three_nodes()), _three_nodes())


def read_label_object(path: Path) -> None:
    """Take labels in memory, up to their homophily."""
    import spectrata as st

    held = objects.described(path)
    held = held if isinstance(held, dict) else {"labels": held}
    labels = objects.make(held.get("labels"))
    found = as_labels(labels, _three_nodes(), objects.make(held.get("missing")))
    _check_labels(found, _three_nodes())
    st.homophily(_three_nodes(), found, draws=0)


def _check_labels(found: Any, graph: Any) -> None:
    codes = found.codes
    if codes.shape != (graph.n_nodes,) or set(codes.tolist()) - {-1} != set(range(len(found.classes))):
        raise Wrong(f"codes {codes} for the classes {found.classes}")


def read_weights(path: Path) -> None:
    """Take edges or a matrix with weights in memory."""
    held = objects.described(path)
    held = {key: objects.make(value) for key, value in held.items()} if isinstance(held, dict) else {}
    arguments = {key: held[key] for key in ("edges", "adjacency", "weights") if key in held}
    _check_weighted(as_graph(undirected=True, **arguments), arguments.get("weights"))


def read_anndata(path: Path) -> None:
    """Take an object with the parts of an AnnData, with each of its tables."""
    data = objects.anndata(objects.described(path))
    graph = as_graph(data, undirected=True, weights=False)
    _check_graph(graph)
    _check_attributes(graph)
    with suppress(SpectrataError):
        _check_weighted(as_graph(data, undirected=True, weights=True), True)


def read_matrix(path: Path) -> None:
    """Read a table as an adjacency matrix."""
    _check_graph(as_graph(adjacency=path, undirected=True))


def _check_graph(graph: Any) -> None:
    n, tails = graph.n_nodes, np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
    if n < 2 or graph.n_edges < 1 or len(graph.names) != n or len(set(graph.names)) != n:
        raise Wrong(f"{n} nodes, {graph.n_edges} edges, {len(set(graph.names))} names")
    if graph.indices.min() < 0 or graph.indices.max() >= n or (tails == graph.indices).any():
        raise Wrong("an edge outside the graph, or a loop")
    keys = tails * n + graph.indices
    if (np.diff(keys) <= 0).any() or not np.array_equal(np.sort(graph.indices * n + tails), keys):
        raise Wrong("rows out of order, repeated or not symmetric")


@cache
def _three_nodes() -> Any:
    return as_graph(edges=[(0, 1), (1, 2), (0, 2)])


def read_signal(path: Path) -> None:
    """Read a signal; what is accepted must be finite and of the graph's size."""
    _check_values(as_signal(path, _three_nodes()).values, 3)


def _check_values(values: np.ndarray, n: int) -> None:
    if values.ndim != 3 or values.shape[1] != n or values.dtype != np.float64 or not np.isfinite(values).all():
        raise Wrong(f"a signal of shape {values.shape} and type {values.dtype}")


def read_result(path: Path) -> None:
    """Open a result; what still carries its checksum must hold what was saved."""
    import xarray as xr

    import spectrata as st

    ds = st.open(path)
    if any(_same(ds, known) for known in stores.results().values()):
        return
    engine = "zarr" if path.suffix == ".zarr" else "h5netcdf"
    with xr.open_dataset(path, engine=engine) as plain:
        if "content_hash" in plain.attrs:
            raise Wrong("other numbers than were saved, in spite of the checksum")


def _same(ds: Any, known: Any) -> bool:
    return bool(ds.equals(known) and ds.attrs["n_nodes"] == known.attrs["n_nodes"])


def read_many(path: Path) -> None:
    """Go on with a store of many graphs; its numbers are read later, by Zarr alone."""
    import spectrata as st

    ds = st.spectra_many(stores.many_pairs(), store=path, hops=1, algorithms="gft")
    if ds.sizes["graph"] != 2 or not set(ds["state"].values.tolist()) <= {"missing", "done", "failed"}:
        raise Wrong(f"states {ds['state'].values.tolist()}")


def read_log(path: Path) -> None:
    """Open the log of a training, as the log does and as any result."""
    import spectrata as st
    from spectrata.errors import SpectrataError
    from spectrata.torch.log.zarr import ZarrLog

    try:
        ZarrLog(path).open()
    except SpectrataError:
        st.open(path)
        raise
    st.open(path)


def read_cached_basis(path: Path) -> None:
    """Compute from a cached basis; believed or made anew, the numbers are those without it."""
    if not np.allclose(stores.cached_spectra(path.parent), stores.cached_spectra(None), rtol=0, atol=1e-9):
        raise Wrong("other numbers than without the cache")


def write_basis(path: Path, data: bytes) -> None:
    """Put the bytes where the basis is looked for."""
    graph = stores.cached_graph()
    for place in path.parent.glob(f"{graph.digest[:32]}*.npz"):
        place.unlink()
    (path.parent / f"{graph.digest[:32]}-K1-combinatorial-float64-numpy-cpu-v1.npz").write_bytes(data)


def read_passes(path: Path) -> None:
    """Bring recorded passes into a log; what cannot be read is left out, and said."""
    from spectrata.torch import recover

    ds = recover(path)
    if not 0 < ds.sizes["snapshot"] <= 8:
        raise Wrong(f"{ds.sizes['snapshot']} rows")


def write_passes(path: Path, data: bytes) -> None:
    """Put a journal beside a log that is not there yet."""
    shutil.rmtree(path, ignore_errors=True)
    path.with_name(f"{path.name}.journal").write_bytes(data)


def write_folder(path: Path, data: bytes) -> None:
    """Make a folder of packed files; only what differs from the folder that is there is written."""
    want = containers.unpack(data)
    if path.is_dir():
        for file in [Path(place) / name for place, _, names in os.walk(path) for name in names]:
            if file.relative_to(path).as_posix() not in want:
                file.unlink()
    for name, content in want.items():
        place = path / name
        if ".." in place.parts or not place.is_relative_to(path) or "\0" in name or place == path:
            continue
        try:
            if place.is_file() and place.read_bytes() == content:
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        except OSError:  # a file where a folder should be: so be it
            continue
    if not want:
        shutil.rmtree(path, ignore_errors=True)


# ---- the targets


def gz(data: bytes, random: Any, pool: Any) -> bytes:
    """Damage to what is compressed, or to the compressed bytes."""
    import gzip
    import zlib

    if random.random() < 0.3:
        return mutate.raw(data, random, pool)
    try:
        plain = gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        return mutate.raw(data, random, pool)
    return gzip.compress(MTX(plain, random, []), 1, mtime=0)


GRAPH_ZIP, SIGNAL_ZIP = (containers.archive(containers.npy, keys) for keys in (GRAPH_KEYS, SIGNAL_KEYS))
PT_ZIP, BASIS_ZIP = containers.archive(mutate.raw, PT_KEYS), containers.archive(containers.npy, BASIS_KEYS)
TARGETS = {
    target.name: target
    for target in (
        Target("edge list", "g.txt", seeds.edge_lists, LIST, read_graph),
        Target("weighted edge list", "g.txt", seeds.weighted_lists, LIST, read_weighted),
        Target("graph CSV", "g.csv", seeds.graph_tables, TABLE, read_graph),
        Target("matrix CSV", "g.csv", seeds.matrix_tables, TABLE, read_weighted),
        Target("CSV read as a matrix", "g.csv", seeds.matrix_tables, TABLE, read_matrix),
        Target("graph .npy", "g.npy", seeds.graph_arrays, containers.npy, read_graph),
        Target("weighted .npy", "g.npy", seeds.graph_arrays, containers.npy, read_weighted, 1000),
        Target("JSON", "g.json", seeds.node_link, mutate.json_bytes, read_graph),
        Target("weighted JSON", "g.json", seeds.node_link, mutate.json_bytes, read_weighted),
        Target("JSON attributes", "g.json", seeds.node_link, mutate.json_bytes, read_attributes, 1000),
        Target("GraphML", "g.graphml", seeds.graphml, XML, read_graph),
        Target("weighted GraphML", "g.graphml", seeds.weighted_graphml, XML, read_weighted),
        Target("GraphML attributes", "g.graphml", seeds.graphml_attributes, XML, read_attributes, 1000),
        Target("GEXF", "g.gexf", seeds.gexf, XML, read_graph),
        Target("GML", "g.gml", seeds.gml, GML, read_graph),
        Target("Matrix Market", "g.mtx", seeds.matrix_market, MTX, read_graph),
        Target("Matrix Market, gzip", "g.mtx.gz", seeds.matrix_market_gz, gz, read_graph),
        Target("graph .npz", "g.npz", seeds.graph_archives, GRAPH_ZIP, read_graph),
        Target("labels CSV", "y.csv", seeds.label_tables, TABLE, read_labels, 1000),
        Target("labels JSON", "y.json", seeds.label_documents, mutate.json_bytes, read_labels, 1000),
        Target("labels .npy", "y.npy", seeds.label_arrays, containers.npy, read_labels, 1000),
        Target("labels in memory", "y.json", objects.labels, objects.damage, read_label_object, 1000),
        Target("weights in memory", "w.json", objects.weights, objects.damage, read_weights, 1000),
        Target("AnnData", "a.json", objects.tables, objects.damage, read_anndata, 1000),
        Target("signal .npz", "s.npz", seeds.signal_archives, SIGNAL_ZIP, read_signal),
        Target(".npy", "s.npy", seeds.arrays, containers.npy, read_signal),
        Target("signal CSV", "s.csv", seeds.signal_tables, TABLE, read_signal),
        Target("word2vec", "s.vec", seeds.word_vectors, VECTORS, read_signal),
        Target("parquet", "s.parquet", seeds.parquet, mutate.raw, read_signal),
        Target("safetensors", "s.safetensors", seeds.safetensors, containers.safetensors, read_signal),
        Target(".pt", "s.pt", seeds.tensors, PT_ZIP, read_signal),
        Target("netCDF", "r.nc", stores.netcdf, mutate.raw, read_result, 300),
        Target("Zarr", "r.zarr", stores.zarr, containers.folder, read_result, 500, write_folder),
        Target("Zarr of many graphs", "m.zarr", stores.many_stores, containers.folder, read_many, 300, write_folder),
        Target("Zarr log", "l.zarr", stores.torch_logs, containers.folder, read_log, 300, write_folder),
        Target("cached basis", "b.npz", stores.cached_bases, BASIS_ZIP, read_cached_basis, 500, write_basis),
        Target("recorded passes", "p.zarr", stores.recorded_passes, mutate.raw, read_passes, 300, write_passes),
        Target("command line", "c", command_line.seeds, command_line.mutate, command_line.run, 250, command_line.write),
    )
}
