"""An append-only Zarr log that survives a kill.

The log is a result with snapshots, opened by :func:`spectrata.open` or plain xarray. New rows go to the arrays first;
then one file, the consolidated metadata that readers look at, is replaced by rename. Until that moment readers see
the old rows, after it the new ones, and never half of something. What was recorded but not yet transformed lies
beside it, one file per pass, in ``NAME.zarr.copies``. One process writes a log at a time.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import ResultError, SpectrataError, shortened
from spectrata.results.atomic_io import Lock, cannot_write, tidy, written_whole
from spectrata.results.build import made_with
from spectrata.results.integrity import check_store, checksum_compressor, readable
from spectrata.results.schema import BANDS, OPTIONS
from spectrata.torch.buffer import CopyBuffer
from spectrata.torch.scores import FILE as SCORES
from spectrata.torch.scores import MARK, Scores
from spectrata.torch.shape import joined_attributes, row_labels

if TYPE_CHECKING:
    import xarray as xr

    from spectrata.torch.probe import SpectrumProbe

CHUNK_BYTES = 2**18  # of rows that share a file: one file a row would be millions of them
LABEL_ROWS = 256  # of those with one value a row
_ARGUMENTS = (
    "algorithms", "hops", "metric", "bands", "measures", "dtype", "seed", "zero_vectors", "keep", "decompose"
)  # fmt: skip
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
    >>> from spectrata.torch import SpectrumProbe, ZarrLog
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
        self._lock = Lock(self.path, "end that run first (w.stop()), or choose another path")

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

        with readable(self.path):
            check_store(self.path)
            with xr.open_zarr(self.path, consolidated=True, chunks=None) as ds:
                return ds.load()

    def lazy(self) -> "xr.Dataset":
        """The committed rows, read when used."""
        import xarray as xr

        with readable(self.path):
            check_store(self.path)
            return xr.open_zarr(self.path, consolidated=True, chunks=None).drop_encoding()

    def lock(self) -> None:
        """Make sure that nobody else writes, and that nothing else stands there."""
        if os.path.lexists(self.path) and not self.exists() and not _is_empty(self.path):
            raise ResultError(
                f"{self.path} exists and is not the log of a watched model; use another path, or remove it."
            )
        self._lock.take()
        tidy(self.path)

    def write(self, ds: "xr.Dataset") -> None:
        """Append rows, or start the log with them."""
        self.lock()
        try:
            if self.exists():
                self._append(ds)
            else:
                self._create(ds)
        except OSError as problem:
            raise cannot_write(self.path, problem, "recorded passes wait until it can") from problem

    def close(self) -> None:
        """Let others write."""
        self._lock.release()

    def prepare(self, settings: dict[str, Any]) -> None:
        """Write down, before the first row, how copies are to be transformed; remove what a killed run left."""
        self.lock()
        try:
            self.copies.mkdir(parents=True, exist_ok=True)
            for part in (*self.copies.glob(".*.part"), *self.path.glob(".*.part"), *self.path.rglob("*.partial")):
                part.unlink(missing_ok=True)
            _write_text(self.copies / SETTINGS, json.dumps(settings))
        except OSError as problem:
            raise cannot_write(self.copies, problem) from problem

    def resume(self, probe: "SpectrumProbe") -> tuple[list[str], list[int]]:
        """Layers and steps of the rows of an earlier run, where they fit this one."""
        try:
            ds = self.lazy()
        except Exception as problem:
            raise ResultError(f"{self.path} cannot be read as a log ({problem}).") from problem
        same = {"step", "layer", "epoch", "mode", "role"} <= set(ds.coords)
        same = same and tuple(str(name) for name in ds["algorithm"].values) == probe.settings.algorithms
        if probe.large:
            same = same and ds.attrs.get("kind") == BANDS
            same = same and _band_options(ds.attrs) == _band_options(probe.attributes() | _asked(probe))
        else:
            same = same and _options(ds.attrs) == _options(probe.attributes())
        if probe.graph is not None:
            hops = probe.hops if probe.strat is None else probe.strat.hops
            same = same and ds.attrs.get("graph_hash") == probe.graph.digest
            same = same and tuple(ds["hop"].values.tolist()) == hops
        else:
            same = same and ds.attrs.get("kind") == "mini-batches"
        model = ds.attrs.get("model", "")
        if same and model and probe.model and model != probe.model:
            raise ResultError(
                f"{self.path} is the log of another model (the names or shapes of its parameters differ); use another "
                "path, or remove it."
            )
        if not same:
            raise ResultError(
                f"{self.path} is the log of another run (graph, weights, hops, algorithms or options differ), or no "
                "log; "
                "use another path, or remove it."
            )
        self._mend_labels(ds)
        return [str(name) for name in ds["layer"].values], ds["step"].values.tolist()

    def _mend_labels(self, ds: "xr.Dataset") -> None:
        """Words follow numbers: a killed run may have written the number of an epoch and not the label."""
        import zarr

        epochs = ds["epoch"].values
        right = row_labels(ds["layer"].values, ds["step"].values, epochs, ds["mode"].values)
        wrong = (epochs >= 0) & (ds["snapshot"].values != right)
        if wrong.any():
            group: Any = zarr.open_group(self.path, mode="r+", use_consolidated=True)
            group["snapshot"][:] = np.where(wrong, right, ds["snapshot"].values)

    def _create(self, ds: "xr.Dataset") -> None:
        encoding: dict[Any, dict[str, Any]] = {}
        for name in ds.variables:
            sizes, rows = ds[name].sizes, LABEL_ROWS
            encoding[name] = {"compressors": (checksum_compressor(),)}
            if "snapshot" not in sizes:
                continue
            if ds[name].ndim > 1:
                one = ds[name].dtype.itemsize * ds[name].size // max(1, sizes["snapshot"])
                rows = min(4096, max(1, CHUNK_BYTES // max(1, one)))
            chunks = tuple(rows if dim == "snapshot" else max(1, size) for dim, size in sizes.items())
            encoding[name]["chunks"] = chunks
        with written_whole(self.path, durable=False) as made:
            ds.to_zarr(made, mode="w", zarr_format=2, consolidated=True, encoding=encoding)

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
            metadata[f"{name}/.zarray"] = json.loads((self.path / str(name) / ".zarray").read_text(encoding="utf-8"))
        for name in _scores_in(metadata):
            scores: Any = group[name]
            scores.resize((old + new,))  # NaN until the scores are written
            metadata[f"{name}/.zarray"] = json.loads((self.path / name / ".zarray").read_text(encoding="utf-8"))
        if ".zattrs" in metadata:
            attributes = joined_attributes(metadata[".zattrs"], ds.attrs)
            if attributes["metric"] != metadata[".zattrs"]["metric"] and "made_with" in ds.coords:
                made: Any = group["made_with"]
                made[...] = made_with(attributes)
            metadata[".zattrs"] = attributes
            _write_text(self.path / ".zattrs", json.dumps(attributes))
        _write_text(self.path / ".zmetadata", json.dumps(committed | {"metadata": metadata}))

    def write_scores_of(self, scores: Scores) -> None:
        """Put scores beside the rows, as variables of the log."""
        if not self.exists():
            return
        ds = self.lazy()
        beside = scores.beside(ds[["epoch"]].reset_coords(drop=False)[["epoch"]].set_coords("epoch"))
        chosen = beside[scores.names].drop_vars(["snapshot", "epoch"], errors="ignore")
        encoding = {name: {"compressors": (checksum_compressor(),), "chunks": (LABEL_ROWS,)} for name in scores.names}
        metadata = json.loads((self.path / ".zmetadata").read_text(encoding="utf-8"))
        fresh = {name: setting for name, setting in encoding.items() if f"{name}/.zarray" not in metadata["metadata"]}
        try:
            chosen.assign_attrs(ds.attrs).to_zarr(
                self.path, mode="a", zarr_format=2, consolidated=False, encoding=fresh
            )
            for name in scores.names:
                for part in (".zarray", ".zattrs"):
                    text = (self.path / name / part).read_text(encoding="utf-8")
                    metadata["metadata"][f"{name}/{part}"] = json.loads(text)
            _write_text(self.path / ".zmetadata", json.dumps(metadata))
        except OSError as problem:
            raise cannot_write(self.path, problem) from problem

    def relabel(self, steps: list[int], epoch: int) -> None:
        """Label rows whose label came after they were written; rows are looked for from the end."""
        import zarr

        if not self.exists() or not steps:
            return
        group: Any = zarr.open_group(self.path, mode="r+", use_consolidated=True)
        held = group["step"]
        start, lowest = held.shape[0], min(steps)
        while start > 0:
            stop, start = start, (start - 1) // LABEL_ROWS * LABEL_ROWS
            if held[start:stop].min() < lowest:
                break
        rows = np.isin(held[start:], steps)
        if not rows.any() and start:
            start, rows = 0, np.isin(held[:], steps)
        if not rows.any():
            return
        parts = ("snapshot", "epoch", "layer", "step", "mode")
        labels, epochs, names, numbers, modes = (group[name][start:] for name in parts)
        epochs[rows] = epoch
        labels[rows] = row_labels(names[rows], numbers[rows], epochs[rows], modes[rows])
        try:
            group["epoch"][start:] = epochs
            group["snapshot"][start:] = labels
        except OSError as problem:
            raise cannot_write(self.path, problem) from problem


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
    >>> from spectrata.torch import recover, watch
    >>> model = torch.nn.Linear(2, 3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/run.zarr"
    ...     with watch(model, nx.path_graph(3), layers=[model], hops=1, log=path):
    ...         _ = model(torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0]]))
    ...     recover(path)["layer"].values.tolist()
    ['input', 'model']
    """
    log = ZarrLog(path)
    if not log.exists() and not log.copies.is_dir():
        raise ResultError(f"{log.path} does not exist, and neither do copies beside it.")
    if log.copies.is_dir():
        log.lock()
    try:
        if len(CopyBuffer(folder=log.copies)) or (log.copies / SCORES).is_file():
            _bring_in(log)
        return log.open()
    finally:
        log.close()


def _bring_in(log: ZarrLog) -> None:
    """Transform the copies beside a log, as they were meant to be."""
    from spectrata.core.stratification import Stratification
    from spectrata.inputs.graphs import as_graph, as_pairs
    from spectrata.torch.probe import SpectrumProbe

    try:
        settings = json.loads((log.copies / SETTINGS).read_text(encoding="utf-8"))
        edges = settings["edges"]
        strat = None
        if edges is not None:
            rows = np.array(edges, dtype=np.int64).reshape(-1, 2)
            weights = settings["weights"]
            given = False if weights is None else np.array(weights)
        if edges is not None and settings["decompose"]:
            strat = Stratification(
                edges=as_pairs(rows),
                n_nodes=settings["n_nodes"],
                hops=settings["hops"],
                weights=given,
                hop_weights=settings["hop_weights"],
            )
        chosen = {name: settings[name] for name in _ARGUMENTS}
        if edges is None:
            chosen |= {name: settings[name] for name in ("weights", "hop_weights")}
        graph: Any = strat
        if strat is not None:
            del chosen["hops"]  # it has its own
        if edges is not None and not settings["decompose"]:
            graph = as_graph(edges=as_pairs(rows), n_nodes=settings["n_nodes"], weights=given)
            chosen["hop_weights"] = settings["hop_weights"]
        probe = SpectrumProbe(graph, writers=[log], folder=log.copies, **chosen, **settings["options"])
        probe.model = str(settings["model"])
    except SpectrataError:
        raise
    except Exception as problem:  # settings of another kind raise almost anything
        reason = shortened(f"{type(problem).__name__}: {problem}")
        raise ResultError(f"{log.copies} has no readable settings.json ({reason}).") from problem
    probe.resume(log)
    probe.close()


def _options(attributes: Mapping[str, Any]) -> dict[str, Any] | None:
    """What two runs share when one continues the other's log; precision and metric may differ by batch."""
    try:
        options = json.loads(attributes[OPTIONS])
        same = {name: attributes[name] for name in ("seed", "weights")}
        return {name: options[name] for name in options if name != "dtype"} | same
    except (KeyError, TypeError, ValueError):
        return None


def _band_options(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The same of a large graph."""
    try:
        zero = json.loads(attributes[OPTIONS])["zero_vectors"]
    except (KeyError, TypeError, ValueError):
        zero = None
    names = ("seed", "weights", "laplacian", "self_loops")
    return {name: attributes.get(name) for name in names} | {"zero_vectors": zero}


def _asked(probe: "SpectrumProbe") -> dict[str, Any]:
    """The attributes that a probe of a large graph asks for."""
    options = probe.settings.options
    return {
        "laplacian": options.get("laplacian", "combinatorial"),
        "self_loops": int(options.get("self_loops", False)),
        OPTIONS: json.dumps({"zero_vectors": probe.settings.zero_vectors}),
    }


def _scores_in(metadata: Mapping[str, Any]) -> list[str]:
    """Names of the scores of a log, from its metadata."""
    parts = [(name[: -len("/.zattrs")], held) for name, held in metadata.items() if name.endswith("/.zattrs")]
    return [name for name, held in parts if MARK in held]


def _is_empty(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


def _write_text(path: Path, text: str) -> None:
    beside = path.with_name(f".{path.name}.part")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, path)
