"""An append-only Zarr log that survives a kill.

The log is a result with snapshots, opened by :func:`spectrata.open` or plain xarray. New rows go to the arrays first,
then the consolidated metadata that readers look at is replaced: until that moment readers see the old rows, after it
the new ones. What is not in the log yet (measures of single passes, labels, scores) stands in ``NAME.zarr.journal``,
one line of JSON each. One process writes a log at a time.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import ResultError
from spectrata.results.atomic_io import Lock, cannot_write, tidy, written_whole
from spectrata.results.integrity import LOG, check_store, checksum_compressor, readable, whole_chunks
from spectrata.stats.findings.watched import MODES, is_rows
from spectrata.torch.watching.measures import MEASURES
from spectrata.torch.watching.rows import Row, joined_attributes, labelled, measures_of

if TYPE_CHECKING:
    import xarray as xr

CHUNK_BYTES = 2**18  # of rows that share a file: one file a row would be millions of them
LABEL_ROWS = 256  # of those with one value a row
OWN = {"graph_hash": "graph", "model": "model (names or shapes of its parameters)", LOG: "hops or options"}


class ZarrLog:
    """Rows appended to a Zarr store, each batch whole or not at all.

    Parameters
    ----------
    path : path
        Ends in ``.zarr``. An existing log is continued.

    Examples
    --------
    >>> import networkx as nx, tempfile, torch
    >>> from spectrata.torch import Recorder, ZarrLog
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = ZarrLog(f"{folder}/run.zarr")
    ...     recorder = Recorder(nx.cycle_graph(4), writers=[log])
    ...     recorder.record({"conv1": torch.eye(4), "conv2": torch.eye(4) + 1})
    ...     recorder.close()
    ...     log.open()["layer"].values.tolist()
    ['conv1', 'conv2']
    """

    def __init__(self, path: str | os.PathLike) -> None:
        self.path = Path(path)
        if self.path.suffix != ".zarr":
            raise ResultError(f"{self.path} must end in .zarr.")
        self.journal = self.path.with_name(self.path.name + ".journal")
        self._lock = Lock(self.path, "end that run first (w.stop()), or choose another path")

    def exists(self) -> bool:
        """Whether there are rows to continue."""
        return (self.path / ".zmetadata").is_file()

    def open(self) -> "xr.Dataset":
        """The committed rows."""
        with readable(self.path), self.lazy() as ds:
            return ds.load()

    def lazy(self) -> "xr.Dataset":
        """The committed rows, read when used."""
        import xarray as xr

        with readable(self.path):
            check_store(self.path)
            return xr.open_zarr(self.path, consolidated=True, chunks=None).drop_encoding()

    def lock(self) -> None:
        """Make sure that nobody else writes, and that nothing else stands there."""
        empty = self.path.is_dir() and not any(self.path.iterdir())
        if os.path.lexists(self.path) and not self.exists() and not empty:
            raise ResultError(
                f"{self.path} exists and is not the log of a watched model; use another path, or remove it."
            )
        self._lock.take()
        tidy(self.path)

    def note(self, line: dict[str, Any]) -> None:
        """Put on disk what is not in the log yet."""
        self.lock()
        try:
            with self.journal.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as problem:
            raise cannot_write(self.journal, problem, "recorded passes are kept in memory") from problem

    def write(self, ds: "xr.Dataset") -> None:
        """Append rows, or start the log with them."""
        self.lock()
        try:
            if not self.exists():
                with whole_chunks(), written_whole(self.path, durable=False) as made:
                    ds.to_zarr(made, mode="w", zarr_format=2, consolidated=True, encoding=_encoding(ds))
                return
            self._cut_uncommitted()
            attributes = joined_attributes(self._own(ds.attrs).attrs, ds.attrs)
            fixed = [name for name in ds.variables if "snapshot" not in ds[name].dims]
            rows = ds.drop_vars(fixed).assign_attrs(attributes)
            with whole_chunks():
                rows.to_zarr(self.path, mode="a", append_dim="snapshot", zarr_format=2, consolidated=True)
        except OSError as problem:
            raise cannot_write(self.path, problem, "recorded passes wait until it can") from problem

    def _cut_uncommitted(self) -> None:
        """Shorten arrays that a killed run lengthened before it could replace the metadata."""
        import zarr

        for part in self.path.rglob("*.partial"):
            part.unlink(missing_ok=True)
        committed = json.loads((self.path / ".zmetadata").read_text(encoding="utf-8"))["metadata"]
        group: Any = zarr.open_group(self.path, mode="r+", use_consolidated=False)
        for name, array in group.arrays():
            shape = tuple(committed[f"{name}/.zarray"]["shape"])
            if array.shape != shape:
                array.resize(shape)

    def resume(self, attributes: dict[str, Any]) -> "xr.Dataset | None":
        """The rows of an earlier run, where they fit this one; None where there are none."""
        self._bring_in()
        found = self._own(attributes) if self.exists() else None
        self.note({"facts": attributes})
        return found

    def _own(self, attributes: Mapping[str, Any]) -> "xr.Dataset":
        """The rows of the log, refused where they are not of this graph, these options and this model."""
        ds = self.lazy()
        if not is_rows(ds):
            raise ResultError(f"{self.path} is not the log of a watched model; use another path, or remove it.")
        asked = [name for name in OWN if name != "model" or attributes.get(name)]  # a Recorder has no model
        other = [OWN[name] for name in asked if ds.attrs.get(name, "") != attributes.get(name, "")]
        if other:
            differs = f"another {', another '.join(other)}"
            raise ResultError(f"{self.path} is the log of {differs}; use another path, or remove it.")
        return ds

    def finish(self, labels: Mapping[int, int], facts: Mapping[str, Any]) -> None:
        """Write labels that came after their rows, and attributes; then the journal is not needed any more."""
        import zarr

        if self.exists():
            self.lock()
            try:
                self._cut_uncommitted()
                now = labelled(self.lazy(), labels)
                group: Any = zarr.open_group(self.path, mode="r+", use_consolidated=False)
                with whole_chunks():
                    for name in ("epoch", "snapshot", "made_with"):
                        if name in group and not np.array_equal(group[name][...], now[name].values):
                            group[name][...] = now[name].values
                group.attrs.update(dict(facts))
                zarr.consolidate_metadata(self.path, zarr_format=2)
            except OSError as problem:
                raise cannot_write(self.path, problem) from problem
        self.journal.unlink(missing_ok=True)

    def close(self) -> None:
        """Let others write."""
        self._lock.release()

    def _bring_in(self) -> None:
        """Put what a killed run left in the journal into the log."""
        if not self.journal.is_file():
            return
        scores: dict[int, dict[str, float]] = {}
        known: set[tuple[str, int]] = set()
        facts = {name: one for line in self._lines() for name, one in line.get("facts", {}).items()}
        if self.exists():
            held = self._own(facts) if facts else self.lazy()
            scores = read_scores(held)
            known = set(zip(held["layer"].values.tolist(), held["step"].values.tolist(), strict=True))
        rows: list[Row] = []
        labels: dict[int, int] = {}
        for line in self._lines():
            if isinstance(line.get("begins"), int):
                scores = {epoch: one for epoch, one in scores.items() if epoch < line["begins"]}
            rows += [Row(**row) for row in line.get("rows", ()) if _is_row(row)]
            if isinstance(line.get("epoch"), int):
                labels |= dict.fromkeys(line.get("steps", ()), line["epoch"])
                scores.setdefault(line["epoch"], {}).update(line.get("scores", {}))
        rows = [row for row in rows if (row.layer, row.step) not in known]
        if rows:
            self.write(labelled(measures_of(rows, facts.get("graph_hash") == "").assign_attrs(facts), labels))
        if labels or rows:
            epochs = max((*labels.values(), *scores), default=-1) + 1
            begins = {"first_step": facts["first_step"]} if "first_step" in facts else {}
            self.finish(labels, {"scores": scores_json(scores), "epochs": epochs} | begins)
        self.journal.unlink(missing_ok=True)

    def _lines(self) -> Iterator[dict[str, Any]]:
        """The lines of the journal; the last of a killed run may be half a line."""
        for text in self.journal.read_text(encoding="utf-8", errors="replace").splitlines():
            with suppress(ValueError, RecursionError):
                line = json.loads(text)
                if isinstance(line, dict):
                    yield line


def scores_json(scores: Mapping[int, Mapping[str, float]]) -> str:
    """Scores by epoch as JSON: the epochs, and one list for each name."""
    epochs = sorted(epoch for epoch, known in scores.items() if known)
    names = dict.fromkeys(name for epoch in epochs for name in scores[epoch])
    return json.dumps({"epoch": epochs} | {name: [scores[epoch].get(name) for epoch in epochs] for name in names})


def read_scores(ds: "xr.Dataset") -> dict[int, dict[str, float]]:
    """Scores by epoch, of the rows of a log."""
    known = json.loads(ds.attrs.get("scores", "{}"))
    lists = {name: known[name] for name in known if name != "epoch"}
    return {
        epoch: {name: values[at] for name, values in lists.items() if values[at] is not None}
        for at, epoch in enumerate(known.get("epoch", []))
    }


def _encoding(ds: "xr.Dataset") -> dict[Any, dict[str, Any]]:
    """Chunks of about equal bytes along the rows."""
    found: dict[Any, dict[str, Any]] = {}
    for name in ds.variables:
        sizes, rows = ds[name].sizes, LABEL_ROWS
        found[name] = {"compressors": (checksum_compressor(),)}
        if "snapshot" in sizes:
            if ds[name].ndim > 1:
                one = ds[name].dtype.itemsize * ds[name].size // max(1, sizes["snapshot"])
                rows = min(4096, max(1, CHUNK_BYTES // max(1, one)))
            found[name]["chunks"] = tuple(rows if dim == "snapshot" else max(1, size) for dim, size in sizes.items())
    return found


def _is_row(row: Any) -> bool:
    """Whether this is a row as :meth:`Row.to_json` writes them."""
    kinds = {"layer": str, "role": str, "mode": str, "reason": str, "step": int, "width": int, "measures": dict | None}
    if not isinstance(row, dict) or set(row) != set(kinds) or not all(isinstance(row[k], kinds[k]) for k in kinds):
        return False
    held = row["measures"] or dict.fromkeys(MEASURES, 0.0)
    numbers = set(held) == set(MEASURES) and all(isinstance(one, float) for one in held.values())
    return numbers and row["mode"] in MODES and all(0 <= row[name] < 2**62 for name in ("step", "width"))


def recover(path: str | os.PathLike) -> "xr.Dataset":
    """Bring a log up to date after a crash: add the passes, labels and scores that its journal holds.

    Parameters
    ----------
    path : path
        The log, as given to :func:`spectrata.torch.watch`. The model is not needed. Spectra that had not been computed
        when the run was killed are lost.

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
    ...     with watch(model, nx.path_graph(3), layers=[model], log=path):
    ...         _ = model(torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0]]))
    ...     recover(path)["layer"].values.tolist()
    ['input', 'model']
    """
    log = ZarrLog(path)
    if not log.exists() and not log.journal.is_file():
        raise ResultError(f"{log.path} does not exist, and neither does a journal beside it.")
    log.lock()
    try:
        with readable(log.journal):
            log._bring_in()
        if not log.exists():
            raise ResultError(f"{log.journal} held no pass.")
        return log.open()
    finally:
        log.close()
