"""The result: one labelled Dataset for everything that follows.

Dims ``algorithm``, ``hop``, ``component``, ``node``, ``edge``, ``end``, and ``snapshot`` exactly
when the signal has one. ``magnitude(algorithm, [snapshot,] hop, component)``,
``gradient_norm([snapshot,] hop)``, ``status(algorithm, hop[, snapshot])`` and
``edges(edge, end)`` are always there; eigenvalues, eigenspaces and sizes of the
strata are coordinates; version, parameters, seed, metric and a hash of the graph
are attributes. Files are netCDF (``.nc``) or Zarr (``.zarr``) and open with plain xarray.
"""

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata._version import __version__
from spectrata.core.algorithms.base import Output
from spectrata.errors import ResultError, shortened
from spectrata.inputs.graphs import Graph, as_graph, as_pairs
from spectrata.inputs.signals import Signal
from spectrata.results.atomic_io import cannot_write, checked, tidy, written_whole
from spectrata.results.content import COORDINATES, check_parts, fingerprint, first_fingerprint
from spectrata.results.integrity import check_file, check_store, seal

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

CONTENT = "content_hash"
IN_MEMORY = 2**30  # bytes of a result up to which its file is made in memory
ALWAYS = ("magnitude", "gradient_norm", "status", "edges")
LONG_NAMES = {
    "magnitude": "magnitude of each eigencomponent",
    "gradient_norm": "norm of the gradient over the edges of the stratum",
    "status": "ok, or why values are NaN",
    "edges": "rows of the nodes that each edge of the graph joins",
    "eigenvalue": "Laplacian eigenvalue of the stratum",
    "eigenspace": "index of the eigenspace; components that share one are split arbitrarily",
    "multiplicity": "dimension of the eigenspace",
    "n_edges": "edges of the stratum",
    "n_parts": "connected parts of the stratum, singletons included",
    "n_singletons": "nodes without an edge in the stratum",
    "ens_weight": "weight of each member of ens",
    "ls_residual": "norm(B f - g) / norm(g) of the least-squares signal; 0: Fact 1's system has a solution",
    "ln_vx_mse": "final mean squared error of each learning trial",
    "ln_vx_trial_magnitude": "ln_vx magnitude of each learning trial",
    "ln_vx_row_norm": "norms of the rows of H_ln (components) and H_vx (nodes) of each learning trial",
    "eigenvectors": "eigenvectors of the stratum's Laplacian",
    "signal": "the signal as given, rows in the order of nodes",
}


@dataclass(frozen=True, eq=False)
class HopResult:
    """What is kept of one hop after its edges and eigenvectors are gone, before labels."""

    hop: int
    sizes: tuple[int, int, int]  # edges, parts, singletons
    values: np.ndarray  # (n,)
    eigenspace: np.ndarray  # (n,)
    multiplicity: np.ndarray  # (n,)
    outputs: dict[str, Output]
    statuses: dict[str, np.ndarray]  # algorithm -> (T,) text
    gradient_norm: np.ndarray  # (T,)
    weights: dict[str, float] | None = None
    eigenvectors: np.ndarray | None = None


def build(
    graph: Graph,
    signal: Signal,
    hops: Sequence[HopResult],
    algorithms: Sequence[str],
    attributes: Mapping[str, Any],
    keep_signal: bool,
) -> "xr.Dataset":
    """Put labels on the arrays, once."""
    import xarray as xr

    time = () if signal.snapshots is None else ("snapshot",)

    def stack(
        arrays: list[np.ndarray], dims: tuple[str, ...], axis: int
    ) -> tuple[tuple[str, ...], np.ndarray]:
        """Join per-hop arrays along a new hop axis and drop the snapshot axis where the signal has none."""
        joined, names = np.stack(arrays, axis=axis), (*dims[:axis], "hop", *dims[axis:])
        if "snapshot" in names and not time:
            joined, names = (
                joined.take(0, axis=names.index("snapshot")),
                tuple(n for n in names if n != "snapshot"),
            )
        return names, joined

    magnitude = [
        np.stack([hop.outputs[name].magnitude for name in algorithms]) for hop in hops
    ]  # (algorithm, T, n)
    status = [np.stack([hop.statuses[name] for name in algorithms]) for hop in hops]  # (algorithm, T)
    variables: dict[str, Any] = {
        "magnitude": stack(magnitude, ("algorithm", "snapshot", "component"), 2),
        "gradient_norm": stack([hop.gradient_norm for hop in hops], ("snapshot",), 1),
        "status": stack(status, ("algorithm", "snapshot"), 1),
        "edges": (("edge", "end"), graph.edges),
    }
    variables |= _extras(hops, stack)
    if hops[0].weights is not None:
        table = np.array([list(hop.weights.values()) for hop in hops if hop.weights])
        variables["ens_weight"] = (("hop", "member"), table)
    if hops[0].eigenvectors is not None:
        variables["eigenvectors"] = stack([h.eigenvectors for h in hops], ("node", "component"), 0)  # type: ignore[misc]
    if keep_signal:
        dims = (*time, "node", "dimension")
        variables["signal"] = (dims, signal.values if time else signal.values[0])
    names, kinds = node_labels(graph.names)
    coordinates: dict[str, Any] = {
        "algorithm": list(algorithms),
        "hop": [hop.hop for hop in hops],
        "node": names,
        "eigenvalue": (("hop", "component"), np.stack([hop.values for hop in hops])),
        "eigenspace": (("hop", "component"), np.stack([hop.eigenspace for hop in hops])),
        "multiplicity": (("hop", "component"), np.stack([hop.multiplicity for hop in hops])),
    }
    for position, name in enumerate(("n_edges", "n_parts", "n_singletons")):
        coordinates[name] = (("hop",), np.array([hop.sizes[position] for hop in hops]))
    if time:
        coordinates["snapshot"] = list(signal.snapshots or ())
    if "ens_weight" in variables:
        coordinates["member"] = list(hops[0].weights or ())
    if "ln_vx_row_norm" in variables:
        coordinates["matrix"] = ["H_ln", "H_vx"]
    ds = xr.Dataset(variables, coordinates)
    for variable in ds.variables:
        if variable in LONG_NAMES:
            ds[variable].attrs["long_name"] = LONG_NAMES[str(variable)]
    return ds.assign_attrs(_attributes(graph, signal, attributes, kinds))


def _extras(hops: Sequence[HopResult], stack: Any) -> dict[str, Any]:
    """Diagnostics of the algorithms; hops that lack one (skipped line graphs) hold NaN."""
    shapes = {
        name: found
        for hop in hops
        for output in hop.outputs.values()
        for name, found in output.extras.items()
    }
    variables = {}
    for name, (dims, example) in shapes.items():
        missing = np.full(example.shape, np.nan)
        arrays = []
        for hop in hops:
            found = [output.extras[name][1] for output in hop.outputs.values() if name in output.extras]
            arrays.append(found[0] if found else missing)
        variables[name] = stack(arrays, dims, len(dims) - (dims[-1] in ("component", "row")))
    return variables


def _attributes(graph: Graph, signal: Signal, given: Mapping[str, Any], kinds: str) -> dict[str, Any]:
    return dict(given) | {
        "spectrata_version": __version__,
        "n_nodes": graph.n_nodes,
        "n_edges": graph.n_edges,
        "n_dimensions": signal.values.shape[2],
        "graph_hash": graph.digest,
        "node_type": kinds,
    }


def node_labels(names: Sequence[Any]) -> tuple[list[str], str]:
    """Names as text that every format can store, and their types: one word when all are alike, else a JSON list."""
    kinds = [_kind_of_name(name) for name in names]
    text = [
        str(int(n)) if kind == "int" else n if kind == "str" else repr(n)
        for n, kind in zip(names, kinds, strict=True)
    ]
    storable = [label.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00") for label in text]
    return storable, kinds[0] if len(set(kinds)) == 1 else json.dumps(kinds)


def _kind_of_name(name: Any) -> str:
    if isinstance(name, str):
        return "str"
    return (
        "int" if isinstance(name, (int, np.integer)) and not isinstance(name, bool) else type(name).__name__
    )


def check(ds: "xr.Dataset", source: str = "the Dataset") -> "xr.Dataset":
    """Refuse what is not a spectrata result."""
    if not hasattr(ds, "variables"):
        raise ResultError(f"{source} is of type {type(ds).__name__}; give a result, as spectra makes it.")
    missing = [name for name in ALWAYS if name not in ds.variables]
    if missing or "spectrata_version" not in ds.attrs:
        raise ResultError(
            f"{source} is not a spectrata result (it lacks {', '.join(missing) or 'its version'})."
        )
    return ds


def graph_of(ds: "xr.Dataset") -> Graph:
    """The graph of a result, its nodes named as they were (other types than text and whole numbers as text)."""
    graph = as_graph(edges=as_pairs(ds["edges"].values), n_nodes=int(ds.attrs["n_nodes"]))
    names: tuple = tuple(str(name) for name in ds["node"].values) if "node" in ds.coords else graph.names
    if ds.attrs.get("node_type") == "int":
        names = tuple(int(name) for name in names)
    if len(set(names)) < len(names):  # 1 and "1" both are "1" as text: go by rows
        return graph
    return replace(graph, names=names, named=names != graph.names)


def save(ds: "xr.Dataset", path: str | os.PathLike) -> Path:
    """Write a result as netCDF (``.nc``) or Zarr (``.zarr``), whole or not at all.

    Parameters
    ----------
    ds : xarray.Dataset
        A result.
    path : path
        Its ending chooses the format. An older result of the same name is replaced.

    Returns
    -------
    pathlib.Path
        The file or folder written.

    Examples
    --------
    >>> import spectrata as st, networkx as nx, tempfile, pathlib
    >>> ds = st.spectra(nx.path_graph(4), [0.0, 1.0, 0.0, 2.0])
    >>> folder = tempfile.mkdtemp()
    >>> path = st.save(ds, pathlib.Path(folder) / "path.nc")
    >>> bool((st.open(path)["magnitude"] == ds["magnitude"]).all())
    True
    """
    path = Path(path)
    kind = _kind(path)
    if os.path.isdir(path) and not (kind == "zarr" and (path / ".zgroup").is_file()):
        raise ResultError(f"{path} is a folder and no Zarr result; choose another name, or remove it first.")
    with written_whole(path) as beside:
        fill(ds, beside, path)
    return path


def fill(ds: "xr.Dataset", beside: Path, path: Path) -> None:
    """Write a result to a path beside its place; a disk that refuses is told in one sentence, whatever HDF5 raises."""
    marked = ds.assign_attrs({CONTENT: fingerprint(ds)})
    try:
        if _kind(path) == "netcdf":
            to_netcdf(marked, beside)
        else:
            encoding = {name: {"compressors": (checked(),)} for name in marked.variables}
            marked.to_zarr(beside, mode="w", zarr_format=2, consolidated=True, encoding=encoding)
    except (OSError, RuntimeError) as problem:
        raise cannot_write(path, problem) from problem


def to_netcdf(ds: "xr.Dataset", path: Path) -> None:
    """Write netCDF by way of memory where it fits there: HDF5 ends the process when it meets a full disk."""
    if ds.nbytes <= IN_MEMORY:
        try:
            data = ds.to_netcdf(engine="h5netcdf", format="NETCDF4")
        except (ValueError, NotImplementedError):  # an older xarray, which writes to files alone
            data = None
        if data is not None:
            path.write_bytes(data)
            seal(path)
            return
    ds.to_netcdf(path, engine="h5netcdf", format="NETCDF4")
    seal(path)


def open(path: str | os.PathLike) -> "xr.Dataset":
    """Open a saved result, read into memory.

    Parameters
    ----------
    path : path
        A ``.nc`` file or a ``.zarr`` folder. What was damaged since it was written is refused.

    Returns
    -------
    xarray.Dataset

    Examples
    --------
    >>> import networkx as nx, pathlib, spectrata as st, tempfile
    >>> ds = st.spectra(nx.path_graph(3), [0.0, 1.0, 3.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = st.save(ds, pathlib.Path(folder) / "path.zarr")
    ...     dict(st.open(path).sizes)["hop"]
    2
    """
    import xarray as xr

    path = Path(path)
    if not os.path.exists(path):
        tidy(path.parent)  # a result that had stepped aside when its writer was killed comes back
    if not os.path.exists(path):
        raise ResultError(f"{path} does not exist.")
    engine = "h5netcdf" if _kind(path) == "netcdf" else "zarr"
    try:
        (check_file if engine == "h5netcdf" else check_store)(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of libraries about what the checks below refuse
            with xr.open_dataset(path, engine=engine) as ds:
                ds = check(ds.load(), str(path))
        ds = ds.set_coords([name for name in COORDINATES if name in ds.variables])
        check_parts(ds, str(path))
        return _unmarked(ds, path)
    except ResultError:
        raise
    except Exception as problem:
        reason = shortened(str(problem), 200)
        raise ResultError(f"{path} cannot be read as {engine} ({reason}); is it damaged?") from problem


def _unmarked(ds: "xr.Dataset", path: Path) -> "xr.Dataset":
    """The result without its hash, which must fit; a log, which grows and has none, must have no holes."""
    if CONTENT in ds.attrs:
        wrong = str(ds.attrs.pop(CONTENT)) not in (fingerprint(ds), first_fingerprint(ds))
    else:
        wrong = _has_holes(ds)
    if wrong:
        raise ResultError(
            f"{path} does not hold the numbers that were written: it is damaged, or was changed by other "
            "means; xarray.open_dataset opens it unchecked."
        )
    return ds


def _has_holes(ds: "xr.Dataset") -> bool:
    """Whether a Zarr array has lost a file: no status at all, or a magnitude that is defined and not there."""
    if (ds["status"] == "").any():
        return True
    if "gft" not in ds["algorithm"].values or "component" not in ds["magnitude"].dims:
        return False
    one = ds.sel({"algorithm": "gft"})
    return bool(((one["status"] == "ok") & one["magnitude"].isnull().all("component")).any())


def _kind(path: Path) -> str:
    if path.suffix == ".zarr":
        return "zarr"
    if path.suffix in (".nc", ".netcdf", ".h5"):
        return "netcdf"
    raise ResultError(f"{path} must end in .nc (netCDF) or .zarr (Zarr).")


def to_table(ds: "xr.Dataset") -> "pd.DataFrame":
    """Magnitudes as a long table: one row per algorithm, snapshot, hop and component.

    Parameters
    ----------
    ds : xarray.Dataset
        A result.

    Returns
    -------
    pandas.DataFrame

    Examples
    --------
    >>> import spectrata as st, networkx as nx
    >>> table = st.to_table(st.spectra(nx.path_graph(3), [0.0, 1.0, 3.0], algorithms="gft"))
    >>> list(table.columns)
    ['algorithm', 'hop', 'component', 'eigenvalue', 'eigenspace', 'multiplicity', 'magnitude']
    """
    frame = ds[["magnitude"]].to_dataframe().reset_index()
    columns = [
        "algorithm",
        "snapshot",
        "hop",
        "component",
        "eigenvalue",
        "eigenspace",
        "multiplicity",
        "magnitude",
    ]
    if "component" not in frame:
        frame["component"] = np.tile(np.arange(ds.sizes["component"]), len(frame) // ds.sizes["component"])
    return frame[[column for column in columns if column in frame]]
