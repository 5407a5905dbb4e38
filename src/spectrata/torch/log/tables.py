"""Rows of a run as a table, and a file that it grows in: CSV or JSON lines."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from spectrata.errors import OptionError, ResultError
from spectrata.results.atomic_io import cannot_write
from spectrata.stats.describe.summary import summary

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


class Writer(Protocol):
    """Where results go as they come."""

    def write(self, ds: "xr.Dataset") -> None:
        """Take the next rows."""

    def close(self) -> None:
        """Nothing more comes."""


def table(ds: "xr.Dataset") -> "pd.DataFrame":
    """One row per layer and pass, and per hop where there are spectra.

    Columns: ``layer``, ``role``, ``step``, ``epoch``, ``mode``, ``hop``, the measures (on rows of the first hop),
    of spectra ``off_zero``, ``gradient_norm`` and the ``lowest``, ``highest`` and ``centroid`` of
    :func:`spectrata.summary` for each algorithm, and ``status``.
    """
    import pandas as pd

    hops, rows = ds["hop"].values, ds.sizes["snapshot"]

    def spread(values: np.ndarray) -> np.ndarray:
        return np.repeat(values, len(hops))

    columns = {name: spread(ds[name].values) for name in ("layer", "role", "step", "epoch", "mode")}
    columns["hop"] = np.tile(hops, rows)
    for name in ("off_zero", "gradient_norm"):
        if name in ds:
            columns[name] = ds[name].transpose("snapshot", "hop").values.ravel()
    if "magnitude" in ds:
        for algorithm, found in summary(ds).groupby("algorithm", sort=False):
            columns |= {f"{algorithm}_{name}": found[name].to_numpy() for name in ("lowest", "highest", "centroid")}
    first = columns["hop"] == hops[0]
    for name in map(str, ds.data_vars):
        if ds[name].dims == ("snapshot",) and name != "status":
            columns[name] = np.where(first, spread(ds[name].values.astype(float)), np.nan)
    words = ds["status"].values[..., None, None]  # of measures: one for all hops
    if "algorithm" in ds["status"].dims:
        words = ds["status"].transpose("snapshot", "hop", "algorithm").values
    bad = np.where(words != "ok", words, "").astype(object)
    worst = np.array([[max(cell, key=len) or "ok" for cell in line] for line in bad])
    columns["status"] = np.broadcast_to(worst, (rows, len(hops))).ravel()
    return pd.DataFrame(columns)


class TableWriter:
    """Appends the rows of :meth:`Recorder.table` to a ``.csv`` or ``.jsonl`` file.

    Parameters
    ----------
    path : path
        A later run appends to the file; its columns must be the same.

    Examples
    --------
    >>> import networkx as nx, tempfile, torch
    >>> from spectrata.torch import Recorder, TableWriter
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     writer = TableWriter(f"{folder}/run.csv")
    ...     recorder = Recorder(nx.cycle_graph(4), writers=[writer])
    ...     recorder.record({"conv1": torch.eye(4)})
    ...     recorder.close()
    ...     rows = writer.path.read_text().splitlines()
    >>> len(rows), rows[0].split(",")[:5]
    (2, ['layer', 'role', 'step', 'epoch', 'mode'])
    """

    def __init__(self, path: str | os.PathLike) -> None:
        self.path = Path(path)
        if self.path.suffix not in (".csv", ".jsonl"):
            raise OptionError(f"{self.path} must end in .csv or .jsonl.")
        self._checked = False

    def write(self, ds: "xr.Dataset") -> None:
        """Append the next rows, all of them or none."""
        try:
            self._append(table(ds))
        except OSError as problem:
            raise cannot_write(self.path, problem, "the rows follow when it can") from problem

    def _append(self, rows: "pd.DataFrame") -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._drop_half_a_line()
        size = self.path.stat().st_size if self.path.exists() else 0
        if self.path.suffix == ".jsonl":
            plain = rows.astype(object).replace([np.nan, np.inf, -np.inf], None)  # JSON has no NaN
            text = "".join(json.dumps(row) + "\n" for row in plain.to_dict("records"))
        else:
            if size:
                with self.path.open(encoding="utf-8") as file:
                    if file.readline().strip().split(",") != list(rows.columns):
                        raise ResultError(f"{self.path} has other columns than this run; use another file.")
            text = rows.to_csv(index=False, header=not size, lineterminator="\n")
        try:
            with self.path.open("a", encoding="utf-8", newline="") as file:
                file.write(text)
        except BaseException:
            if self.path.exists():
                os.truncate(self.path, size)
            raise

    def _drop_half_a_line(self) -> None:
        """A killed run may have left the beginning of a row."""
        if self._checked or not self.path.exists():
            return
        self._checked = True
        held = self.path.read_bytes()
        if held and not held.endswith(b"\n"):
            os.truncate(self.path, held.rfind(b"\n") + 1)

    def close(self) -> None:
        """Nothing is held open."""
