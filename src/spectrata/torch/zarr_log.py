"""An append-only Zarr log that survives a kill.

The log is a result with snapshots, opened by :func:`spectrata.open` or plain xarray. New rows go to the
arrays first; then one file, the consolidated metadata that readers look at, is replaced by rename. Until
that moment readers see the old rows, after it the new ones, and never half of something. What was
recorded but not yet transformed lies beside it, one file per pass, in ``NAME.zarr.copies``.
"""

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import ResultError
from spectrata.torch.buffer import CopyBuffer

if TYPE_CHECKING:
    import xarray as xr

    from spectrata.torch.probe import SpectrumProbe

SETTINGS = "settings.json"  # beside the copies: how to transform them


class ZarrLog:
    """Rows appended to a Zarr store, each batch whole or not at all.

    Parameters
    ----------
    path : path
        Ends in ``.zarr``. An existing log is continued.

    Examples
    --------
    >>> import networkx as nx, tempfile, torch
    >>> from spectrata.torch import SpectrumProbe
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = ZarrLog(f"{folder}/run.zarr")
    ...     probe = SpectrumProbe(nx.cycle_graph(4), hops=1, measures=False, writers=[log])
    ...     probe.record({"conv1": torch.eye(4), "conv2": torch.eye(4) + 1})
    ...     probe.close()
    ...     log.open()["layer"].values.tolist()
    ['conv1', 'conv2']
    """

    def __init__(self, path: str | os.PathLike) -> None:
        self.path = Path(path)
        if self.path.suffix != ".zarr":
            raise ResultError(f"{self.path} must end in .zarr.")

    @property
    def copies(self) -> Path:
        """The folder of recorded passes that wait for their transform."""
        return self.path.with_name(self.path.name + ".copies")

    def exists(self) -> bool:
        """Whether there are rows to continue."""
        return (self.path / ".zmetadata").is_file()

    def open(self) -> "xr.Dataset":
        """The committed rows."""
        import xarray as xr

        try:
            with xr.open_zarr(self.path, consolidated=True, chunks=None) as ds:
                return ds.load()
        except Exception as problem:
            raise ResultError(f"{self.path} cannot be read as a log ({problem}).") from problem

    def write(self, ds: "xr.Dataset") -> None:
        """Append rows, or start the log with them."""
        if self.exists():
            self._append(ds)
        else:
            self._create(ds)

    def close(self) -> None:
        """Nothing is held open."""

    def prepare(self, settings: dict[str, Any]) -> None:
        """Write down, before the first row, how copies are to be transformed."""
        self.copies.mkdir(parents=True, exist_ok=True)
        _write_text(self.copies / SETTINGS, json.dumps(settings))

    def resume(self, probe: "SpectrumProbe") -> "xr.Dataset":
        """The rows of an earlier run, where they fit this one."""
        ds = self.open()
        methods = tuple(str(name) for name in ds["method"].values)
        same = methods == probe.settings.methods
        if probe.strat is not None:
            same &= ds.attrs.get("graph_hash") == probe.strat.graph.digest
            same &= tuple(ds["hop"].values.tolist()) == probe.strat.hops
        else:
            same &= ds.attrs.get("kind") == "mini-batches"
        if not same:
            raise ResultError(
                f"{self.path} is the log of another run (graph, hops or methods differ); "
                "use another path, or remove it."
            )
        return ds

    def _create(self, ds: "xr.Dataset") -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_name(f".{self.path.name}.part")
        shutil.rmtree(beside, ignore_errors=True)
        encoding = {
            name: {
                "chunks": tuple(
                    1 if dim == "snapshot" else max(1, size) for dim, size in ds[name].sizes.items()
                )
            }
            for name in ds.variables
            if "snapshot" in ds[name].dims and ds[name].ndim > 1
        }
        # One number a row: chunks of many rows, or every append would leave a file for each.
        encoding |= {name: {"chunks": (256,)} for name in ds.variables if ds[name].dims == ("snapshot",)}
        ds.to_zarr(beside, mode="w", zarr_format=2, consolidated=True, encoding=encoding)
        if self.path.exists():
            shutil.rmtree(self.path)  # arrays that never were committed
        os.replace(beside, self.path)

    def _append(self, ds: "xr.Dataset") -> None:
        import zarr

        group = zarr.open_group(self.path, mode="r+", use_consolidated=False)
        committed = json.loads((self.path / ".zmetadata").read_text(encoding="utf-8"))
        old = committed["metadata"]["step/.zarray"]["shape"][0]
        new = ds.sizes["snapshot"]
        metadata = dict(committed["metadata"])
        for name in ds.variables:
            if "snapshot" not in ds[name].dims:
                continue
            array: Any = group[str(name)]
            axis = ds[name].dims.index("snapshot")
            shape = list(array.shape)
            shape[axis] = old + new  # also cuts what a killed run left uncommitted
            array.resize(tuple(shape))
            where = tuple(slice(old, old + new) if i == axis else slice(None) for i in range(len(shape)))
            array[where] = ds[name].values
            metadata[f"{name}/.zarray"] = json.loads(
                (self.path / str(name) / ".zarray").read_text(encoding="utf-8")
            )
        _write_text(self.path / ".zmetadata", json.dumps(committed | {"metadata": metadata}))

    def relabel(self, steps: list[int], epoch: int) -> None:
        """Label rows whose label came after they were written."""
        import zarr

        if not self.exists():
            return
        group: Any = zarr.open_group(self.path, mode="r+", use_consolidated=True)
        rows = np.isin(group["step"][:], steps)
        labels, epochs = group["snapshot"][:], group["epoch"][:]
        labels[rows] = [f"{name}, epoch {epoch}" for name in group["layer"][:][rows]]
        epochs[rows] = epoch
        group["snapshot"][:], group["epoch"][:] = labels, epochs


def recover(path: str | os.PathLike) -> "xr.Dataset":
    """Bring a log up to date after a crash: transform the copies that were recorded and not yet logged.

    Parameters
    ----------
    path : path
        The log, as given to :func:`spectrata.torch.watch`. The model is not needed.

    Returns
    -------
    Dataset
        All rows of the log.

    Examples
    --------
    >>> import networkx as nx, tempfile, torch
    >>> from spectrata.torch import watch
    >>> model = torch.nn.Linear(2, 3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/run.zarr"
    ...     with watch(model, nx.path_graph(3), layers=[model], hops=1, log=path):
    ...         _ = model(torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0]]))
    ...     recover(path).sizes["snapshot"]
    1
    """
    from spectrata.stratification import Stratification
    from spectrata.torch.probe import SpectrumProbe

    log = ZarrLog(path)
    if not log.exists() and not log.copies.is_dir():
        raise ResultError(f"{log.path} does not exist, and neither do copies beside it.")
    if not len(CopyBuffer(folder=log.copies)):
        return log.open()
    try:
        settings = json.loads((log.copies / SETTINGS).read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise ResultError(f"{log.copies} has no readable settings.json ({problem}).") from problem
    edges = settings.pop("edges")
    strat = None
    if edges is not None:
        rows = np.array(edges, dtype=np.int64).reshape(-1, 2)
        strat = Stratification(edges=rows, n_nodes=settings["n_nodes"], hops=settings["hops"])
    options = settings["options"]
    chosen = {name: settings[name] for name in ("methods", "hops", "metric", "bands", "measures", "dtype")}
    probe = SpectrumProbe(strat, writers=[log], folder=log.copies, **chosen, **options)
    if log.exists():
        probe.resume(log.resume(probe))
    probe.close()
    return log.open()


def _write_text(path: Path, text: str) -> None:
    beside = path.with_name(f".{path.name}.part")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, path)
