"""Small results, stores, logs and caches, to start from."""

import io
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from .containers import pack


@cache
def results() -> dict[str, Any]:
    """Datasets to save: a whole small one, and one of the least that is allowed."""
    import networkx as nx

    import spectrata as st
    from spectrata.results.schema import COORDINATES

    whole = st.spectra(st.Stratification(nx.path_graph(3), hops=1, keep=()), [0.0, 1.0, 3.0], algorithms="gft")
    needed = ("algorithm", "hop", *COORDINATES)
    least = whole[["magnitude", "magnitude_error", "gradient_norm", "status", "edges"]]
    several = st.spectra(
        st.Stratification(nx.path_graph(3), hops=1, keep=()),
        np.arange(6.0).reshape(2, 3, 1),
        algorithms=["gft", "in_agg"],
    )
    return {
        "whole": whole,
        "least": least.drop_vars([name for name in least.coords if name not in needed]),
        "several": several,
    }


def _saved(suffix: str) -> list[bytes]:
    import spectrata as st

    with tempfile.TemporaryDirectory() as place:
        made = []
        for name in ("least", "least", "whole", "several"):
            path = st.save(results()[name], Path(place) / f"{name}{suffix}")
            made.append(path.read_bytes() if path.is_file() else pack(folder_files(path)))
        return made


def netcdf() -> list[bytes]:
    return [*_saved(".nc"), *(_edited(deed) for deed in _EDITS)]


def zarr() -> list[bytes]:
    return _saved(".zarr")


def folder_files(path: Path) -> dict[str, bytes]:
    """The files under a folder, by their relative names."""
    found = sorted(file for file in path.rglob("*") if file.is_file())
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in found}


def _edited(deed: Callable[[Any], None]) -> bytes:
    """The least result with one thing changed by HDF5's own means."""
    import h5py

    buffer = io.BytesIO(_saved(".nc")[0])
    with h5py.File(buffer, "r+") as file:
        deed(file)
    return _sealed(buffer.getvalue())


def _sealed(data: bytes) -> bytes:
    from spectrata.results.integrity import seal

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "r.nc"
        path.write_bytes(data)
        seal(path)
        return path.read_bytes()


def _replaced(name: str, value: Any) -> Callable[[Any], None]:
    def deed(file: Any) -> None:
        del file[name]
        file[name] = value

    return deed


def _attribute(name: str, value: Any, of: str = "/") -> Callable[[Any], None]:
    def deed(file: Any) -> None:
        file[of].attrs[name] = value

    return deed


def _huge(file: Any) -> None:
    del file["gradient_norm"]
    file.create_dataset("gradient_norm", shape=(10**13,), chunks=(10**6,), dtype="f8")


_EDITS: list[Callable[[Any], None]] = [
    _replaced("magnitude", np.full((1, 1, 3), np.nan)),
    _replaced("magnitude", "text"),
    _replaced("edges", np.array([[0, 99]])),
    _replaced("edges", np.array([[0.5, 1.5]])),
    _replaced("status", np.arange(3)),
    _huge,
    lambda file: file.__delitem__("edges"),
    lambda file: file.attrs.pop("content_hash"),
    lambda file: file.attrs.pop("spectrata_version"),
    _attribute("content_hash", 5),
    _attribute("content_hash", "x"),
    _attribute("n_nodes", 10**15),
    _attribute("options", "{"),
    _attribute("units", "days since 1-1-1", "gradient_norm"),
    _attribute("scale_factor", 2.0, "magnitude"),
    _attribute("_FillValue", 0.0, "magnitude"),
]


def many_stores() -> list[bytes]:
    import networkx as nx

    import spectrata as st

    pairs = many_pairs()
    bad = [*pairs, ("bad", nx.path_graph(3), [1.0])]
    with tempfile.TemporaryDirectory() as place:
        made = []
        for number, those in enumerate((pairs, bad)):
            path = Path(place) / f"{number}.zarr"
            st.spectra_many(those, store=path, hops=1, algorithms="gft")
            made.append(pack(folder_files(path)))
        return made


def many_pairs() -> list[tuple[str, Any, Any]]:
    import networkx as nx

    return [("one", nx.path_graph(3), [0.0, 1.0, 3.0]), ("two", nx.cycle_graph(4), [0.0, 1.0, 3.0, 1.0])]


def torch_logs() -> list[bytes]:
    import networkx as nx

    import spectrata as st
    from spectrata.torch.log.zarr import ZarrLog

    ds = st.spectra(
        st.Stratification(nx.path_graph(3), hops=1, keep=()), np.arange(6.0).reshape(2, 3, 1), algorithms="gft"
    )
    rows = {"step": [0, 1], "epoch": [0, 0], "layer": ["a", "a"], "mode": ["eval"] * 2, "role": ["layer"] * 2}
    ds = ds.assign_coords({name: ("snapshot", values) for name, values in rows.items()})
    with tempfile.TemporaryDirectory() as place:
        log = ZarrLog(Path(place) / "log.zarr")
        log.write(ds)
        log.write(ds)
        return [pack(folder_files(log.path))]


def cached_bases() -> list[bytes]:
    with tempfile.TemporaryDirectory() as place:
        cached_spectra(Path(place))
        (entry,) = Path(place).glob("*.npz")
        return [entry.read_bytes()]


@cache
def cached_graph() -> Any:
    """A graph with two parts and a lone node."""
    from spectrata.inputs.graphs import as_graph

    return as_graph(edges=[(0, 1), (1, 2), (0, 2), (2, 3), (4, 5)], n_nodes=7)


def cached_spectra(folder: Path | None) -> np.ndarray:
    return _without_cache() if folder is None else _magnitudes(cache=folder)


@cache
def _without_cache() -> np.ndarray:
    return _magnitudes()


def _magnitudes(**cache: Any) -> np.ndarray:
    import spectrata as st

    signal = [0.0, 1.0, 4.0, 2.0, 7.0, 5.0, 3.0]
    strat = st.Stratification(cached_graph(), 1, keep=(), max_basis_bytes=0, **cache)
    return st.spectra(strat, signal, "gft")["magnitude"].values


def recorded_passes() -> list[bytes]:
    """What a killed run leaves beside its log: on a graph, and mini-batches."""
    import torch

    from spectrata.torch import Recorder
    from spectrata.torch.log.zarr import ZarrLog

    edges = torch.tensor([[0, 1, 2], [1, 2, 3]])
    made = []
    for graph in (edges, None):
        with tempfile.TemporaryDirectory() as place:
            log = ZarrLog(Path(place) / "run.zarr")
            probe = Recorder(graph, writers=[log])
            own = {} if graph is not None else {"edge_index": edges}
            for step in range(2):
                probe.record({"a": torch.eye(4)[:, :2] + 1 + step}, **own)
            probe.label([0], 5)
            made.append(log.journal.read_bytes())
            log.close()
    return made
