"""Where results go while a run lasts: TensorBoard, CSV, JSON lines; see also ``zarr_log`` and ``wandb_log``."""

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from spectrata.errors import OptionError, ResultError, missing_extra
from spectrata.results.atomic_io import cannot_write
from spectrata.torch.shape import table
from spectrata.torch.transform import band_shares

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

_KEYS = ("layer", "role", "step", "epoch", "mode", "hop", "status")


class Writer(Protocol):
    """Where results go as they come."""

    def write(self, ds: "xr.Dataset") -> None:
        """Take the next rows."""

    def close(self) -> None:
        """Nothing more comes."""


class TableWriter:
    """Appends the rows of :meth:`SpectrumProbe.table` to a ``.csv`` or ``.jsonl`` file.

    Parameters
    ----------
    path : path
        A later run appends to the file; its columns must be the same.

    Examples
    --------
    >>> import networkx as nx, tempfile, torch
    >>> from spectrata.torch import SpectrumProbe, TableWriter
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     writer = TableWriter(f"{folder}/run.csv")
    ...     probe = SpectrumProbe(nx.cycle_graph(4), hops=2, measures=False, writers=[writer])
    ...     probe.record({"conv1": torch.eye(4)})
    ...     probe.close()
    ...     rows = writer.path.read_text().splitlines()
    >>> len(rows), rows[0].split(",")[:5]
    (3, ['layer', 'role', 'step', 'epoch', 'mode'])
    """

    def __init__(self, path: str | os.PathLike) -> None:
        self.path = Path(path)
        if self.path.suffix not in (".csv", ".jsonl"):
            raise OptionError(f"{self.path} must end in .csv or .jsonl.")
        self._checked = False
        self._known: set[tuple[str, int]] = set()

    def write(self, ds: "xr.Dataset") -> None:
        """Append the next rows, all of them or none."""
        rows = table(ds)
        if self._known:
            keys = zip(rows["layer"], rows["step"], strict=True)
            rows = rows[[(str(layer), int(step)) not in self._known for layer, step in keys]]
        try:
            self._append(rows)
        except OSError as problem:
            raise cannot_write(self.path, problem, "the rows follow when it can") from problem

    def _append(self, rows: "pd.DataFrame") -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self._checked:
            self._drop_half_a_line()
        size = self.path.stat().st_size if self.path.exists() else 0
        if self.path.suffix == ".jsonl":
            text = "".join(json.dumps(_plain(row)) + "\n" for row in rows.to_dict("records"))
        else:
            if size:
                self._same_columns(list(rows.columns))
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
        self._checked = True
        if not self.path.exists():
            return
        with self.path.open("rb+") as file:
            end = place = file.seek(0, os.SEEK_END)
            while place > 0:
                start = max(0, place - 65536)
                file.seek(start)
                last = file.read(place - start).rfind(b"\n")
                if last >= 0:
                    place = start + last + 1
                    break
                place = start
            if place < end:
                file.truncate(place)

    def resume(self, steps: set[int]) -> None:
        """Leave out rows of these steps that are in the file: a killed run wrote them, and they come again."""
        import pandas as pd

        if not steps or not self.path.exists():
            return
        self._drop_half_a_line()
        if not self.path.stat().st_size:
            return
        held = (
            pd.read_json(self.path, lines=True)
            if self.path.suffix == ".jsonl"
            else pd.read_csv(self.path, usecols=["layer", "step"])
        )
        if len(held):
            pairs = zip(held["layer"], held["step"], strict=True)
            self._known = {(str(layer), int(step)) for layer, step in pairs if int(step) in steps}

    def _same_columns(self, columns: list[str]) -> None:
        with self.path.open(encoding="utf-8") as file:
            header = file.readline().strip().split(",")
        if header != columns:
            raise ResultError(f"{self.path} has other columns than this run; use another file.")

    def close(self) -> None:
        """Nothing is held open."""


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """Numbers as JSON has them: no NaN."""
    out = {}
    for name, value in row.items():
        value = value.item() if isinstance(value, np.generic) else value
        out[str(name)] = None if isinstance(value, float) and not math.isfinite(value) else value
    return out


def scalars(ds: "xr.Dataset") -> Iterator[tuple[str, float, int]]:
    """Tag, value and epoch (or step) of every finite number of rows; passes that do not train have their mode first."""
    per_layer = [str(name) for name in ds.data_vars if ds[name].dims == ("snapshot",)]
    first = ds["hop"].values[0]
    for row in table(ds).to_dict("records"):
        when = int(row["epoch"] if row["epoch"] >= 0 else row["step"])
        layer = str(row["layer"]) if row["mode"] == "train" else f"{row['mode']}/{row['layer']}"
        for name, value in row.items():
            if name in _KEYS or not np.isfinite(value):
                continue
            if name not in per_layer:
                yield f"{layer}/K={row['hop']}/{name}", float(value), when
            elif row["hop"] == first:
                yield f"{layer}/{name}", float(value), when


class TensorBoardWriter:
    """Scalars per layer and hop, and one picture per layer: hop x frequency.

    Tags: ``LAYER/K=1/off_zero``, ``LAYER/K=1/gft_band_1``, ``LAYER/dirichlet`` and the other measures,
    ``LAYER/hops_by_frequency``, and ``score/NAME``; tags of passes in evaluation mode begin with ``eval/``. The
    step is the label given by hand, else the number of the pass.

    Parameters
    ----------
    folder : path
    figures : bool
        Whether to draw pictures, for the last pass of each batch.

    Examples
    --------
    >>> import networkx as nx, os, tempfile, torch
    >>> from spectrata.torch import SpectrumProbe, TensorBoardWriter
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     writer = TensorBoardWriter(folder, figures=False)
    ...     probe = SpectrumProbe(nx.cycle_graph(4), hops=1, measures=False, writers=[writer])
    ...     probe.record({"conv1": torch.eye(4)}, epoch=0)
    ...     probe.close()
    ...     [name.split(".")[0] for name in os.listdir(folder)]
    ['events']
    """

    def __init__(self, folder: str | os.PathLike, figures: bool = True) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise missing_extra("tensorboard", "tensorboard", "Writing for TensorBoard") from None
        self.folder, self.figures = Path(folder), figures
        self._writer = SummaryWriter(str(folder))

    def write(self, ds: "xr.Dataset") -> None:
        """Write the scalars of the next rows, and pictures of the last pass among them."""
        for tag, value, when in scalars(ds):
            self._writer.add_scalar(tag, value, when)
        if self.figures:
            self._draw(ds)
        self._writer.flush()

    def write_scores(self, epoch: int, scores: dict[str, float]) -> None:
        """Write scores as ``score/NAME``."""
        for name, value in scores.items():
            self._writer.add_scalar(f"score/{name}", value, epoch)

    def _draw(self, ds: "xr.Dataset") -> None:
        last = ds["step"].values == ds["step"].values.max()
        for index in np.flatnonzero(last):
            image = hop_frequency_image(ds, int(index))
            if image is not None:
                one = ds.isel(snapshot=int(index))
                when = int(one["epoch"]) if int(one["epoch"]) >= 0 else int(one["step"])
                mode = "" if one["mode"].item() == "train" else f"{one['mode'].item()}/"
                tag = f"{mode}{one['layer'].item()}/hops_by_frequency"
                self._writer.add_image(tag, image, when, dataformats="HWC")

    def close(self) -> None:
        """Write what is left."""
        self._writer.close()


def hop_frequency_image(ds: "xr.Dataset", row: int, bands: int = 24) -> np.ndarray | None:
    """Energy off zero over hop and frequency as a picture ``(height, width, 3)``; None where there is none."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    shares = _shares(ds, row, bands)
    if not np.isfinite(shares).any():
        return None
    figure = Figure(figsize=(5, 0.5 * len(shares) + 1.4), dpi=100, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    drawn = axes.imshow(shares * shares.shape[1], aspect="auto", cmap="viridis", vmin=0)
    axes.set_yticks(range(len(shares)), [f"K = {hop}" for hop in ds["hop"].values])
    axes.set_xticks([])
    axes.set_xlabel("low to high frequency, zero components left out")
    axes.set_title(str(ds["snapshot"].values[row]), fontsize=9)
    figure.colorbar(drawn, label="energy over flat")
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _shares(ds: "xr.Dataset", row: int, bands: int) -> np.ndarray:
    """Share of energy off zero, ``(hop, band)``, by the first algorithm."""
    if "magnitude" not in ds:
        return ds["band_share"].transpose("algorithm", "snapshot", "hop", ...).values[0, row]
    return band_shares(ds.isel(snapshot=[row], algorithm=[0]), bands)[0, 0]
