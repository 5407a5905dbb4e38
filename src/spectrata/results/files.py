"""Results as tables, and as files that open with plain xarray: netCDF (``.nc``) or Zarr, whole or not at all."""

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from spectrata.errors import ResultError
from spectrata.results import integrity
from spectrata.results.atomic_io import cannot_write, tidy, written_whole
from spectrata.results.integrity import CONTENT
from spectrata.results.schema import ARGUMENTS, COORDINATES, ROW_DIMS, check, view

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

IN_MEMORY = 2**30  # bytes of a result up to which its file is made in memory: larger ones would take it twice


def save(ds: "xr.Dataset", path: str | os.PathLike) -> Path:
    """Write a result as netCDF (``.nc``) or Zarr (``.zarr``), whole or not at all.

    The result is on the disk when the call returns.

    Parameters
    ----------
    ds : xarray.Dataset
        A result.
    path : path
        The file extension determines the format. An older result of the same name is replaced.

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
    if not hasattr(ds, "data_vars"):
        raise ResultError(f"{type(ds).__name__} is not a result, which is a Dataset; write it with its own method.")
    integrity.check_parts(ds, "The Dataset")
    if "component" in ds.get("magnitude", ds).dims and "graph" not in ds.dims:
        view(ds, "The Dataset")  # refuses results joined of spectra that do not compare
    if os.path.isdir(path) and not (kind == "zarr" and (path / ".zgroup").is_file()):
        raise ResultError(f"{path} is a folder and not a Zarr result; choose another name, or remove it first.")
    with written_whole(path) as beside:
        fill(ds, beside, path)
    return path


def fill(ds: "xr.Dataset", beside: Path, path: Path) -> None:
    """Write a result to a path beside its place; a disk that refuses gives one sentence, whatever HDF5 raises."""
    marked = ds.assign_attrs({CONTENT: integrity.fingerprint(ds)})
    try:
        if _kind(path) == "netcdf":
            to_netcdf(marked, beside)
        else:
            encoding = {name: {"compressors": (integrity.checksum_compressor(),)} for name in marked.variables}
            marked.to_zarr(beside, mode="w", zarr_format=2, consolidated=True, encoding=encoding)
    except (OSError, RuntimeError) as problem:
        raise cannot_write(path, problem) from problem


def to_netcdf(ds: "xr.Dataset", path: Path) -> None:
    """Write netCDF by way of memory where it fits there: HDF5 ends the process when it meets a full disk."""
    data = None
    with contextlib.suppress(ValueError, NotImplementedError):  # an older xarray, which writes to files alone
        data = ds.to_netcdf(engine="h5netcdf", format="NETCDF4") if ds.nbytes <= IN_MEMORY else None
    if data is None:
        ds.to_netcdf(path, engine="h5netcdf", format="NETCDF4")
    else:
        path.write_bytes(data)
    integrity.seal(path)


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
        tidy(path)  # a result that had stepped aside when its writer was killed comes back
    if not os.path.exists(path):
        raise ResultError(f"{path} does not exist; check the name.")
    engine = "h5netcdf" if _kind(path) == "netcdf" else "zarr"
    try:
        with integrity.readable(path):
            (integrity.check_file if engine == "h5netcdf" else integrity.check_store)(path)
            with xr.open_dataset(path, engine=engine) as held:
                ds = held.load()
            if ARGUMENTS in ds.attrs:
                raise ResultError(f"{path} is a store of spectra_many; open it with st.open_many.")
            integrity.check_parts(ds, str(path))
            ds = ds.set_coords([name for name in (*COORDINATES, "made_with", "node_row") if name in ds.variables])
            is_log, mark = CONTENT not in ds.attrs, ds.attrs.pop(CONTENT, None)  # a log grows, so that it has no hash
            if is_log and not {"magnitude", "off_zero_live"} & set(ds.variables):  # of spectra, or of a watched model
                raise ResultError(f"{path} is not a spectrata result file: it has no magnitude.")
            if not is_log and str(mark) != integrity.fingerprint(ds):
                words = "does not hold the numbers that were written: it is damaged, or was changed by other means"
                raise ResultError(f"{path} {words}; xarray.open_dataset opens it unchecked.")
            return ds
    except OSError as problem:  # of the system, such as no permission
        raise ResultError(f"{path} cannot be read: {problem.strerror}.") from problem


def to_table(ds: "xr.Dataset") -> "pd.DataFrame":
    """A result as a long table: one row per algorithm, snapshot, hop and component, or per test.

    Parameters
    ----------
    ds : xarray.Dataset
        A result, or what a reading such as ``correlogram`` or ``local`` returned.

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
    if "magnitude" not in getattr(ds, "data_vars", ("magnitude",)) and "spectrata_version" in ds.attrs:
        kept = [name for name, found in ds.data_vars.items() if not {"edge", "axis"} & set(found.dims)]
        return ds[kept].to_dataframe().reset_index()
    check(ds)
    frame = ds[["magnitude"]].to_dataframe().reset_index()
    frame = frame[~frame["multiplicity"].eq(0)]  # what pads hops and graphs with fewer components
    rows = [dim for dim in ("graph", *ROW_DIMS) if dim in ds["magnitude"].dims]
    columns = ["algorithm", *rows, "hop", "component", "eigenvalue", "eigenspace", "multiplicity", "magnitude"]
    return frame[[column for column in columns if column in frame]].reset_index(drop=True)


def _kind(path: Path) -> str:
    if path.suffix == ".zarr":
        return "zarr"
    if path.suffix in (".nc", ".netcdf", ".h5"):
        return "netcdf"
    raise ResultError(f"{path} must end in .nc (netCDF) or .zarr (Zarr).")
