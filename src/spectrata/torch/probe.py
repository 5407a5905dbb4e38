"""Activations in, spectra out: a thin state around the functions of ``transform`` and ``batches``."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch

from spectrata.analysis.levels import MOST_BANDS
from spectrata.core.plan import DTYPES
from spectrata.core.registry import resolve_algorithms
from spectrata.core.stratification import Stratification, as_stratification
from spectrata.errors import NodeCountError, OptionError, ResultError
from spectrata.inputs.numbers import one_of, whole
from spectrata.results.schema import OPTIONS
from spectrata.torch.batches import GraphCache, batch_spectra
from spectrata.torch.buffer import CopyBuffer, Snapshot
from spectrata.torch.layers import node_rows
from spectrata.torch.overhead import Overhead
from spectrata.torch.recorder import HostCopy
from spectrata.torch.results import Results
from spectrata.torch.shape import as_grid, relabel, selected, table
from spectrata.torch.transform import ZERO_VECTORS, Settings, add_measures, backend_for, rows_of, spectra_of
from spectrata.torch.zarr_log import ZarrLog

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

# Copies from which the first batch also times two alone: a tenth of its own work at most.
TIMED = 20


class Writer(Protocol):
    """Where results go as they come."""

    def write(self, ds: "xr.Dataset") -> None:
        """Take the next rows."""

    def close(self) -> None:
        """Nothing more comes."""


class SpectrumProbe:
    """Record activations by hand, and have their spectra computed in batches.

    Parameters
    ----------
    graph : graph-like, Stratification or None
        What :func:`spectrata.spectra` takes; None for mini-batches, each with its own graph.
    algorithms : list of str, optional
        As for :func:`spectrata.spectra`; by default ``gft`` and ``adj_diff``, as far as the Laplacian serves them.
    hops : int or iterable of int
    weights, hop_weights, undirected
        How the graph is read, as for :func:`spectrata.spectra`; a Stratification has its own. With mini-batches
        ``weights=True`` uses the edge weights given with each.
    metric : {"auto", "euclidean", "angular"}
    bands : int
        Bands of energy off zero, in tables and logs.
    measures : bool
        Whether to add the measures of :func:`spectrata.smoothness` at the first hop.
    device : str or torch.device
        Where to compute.
    dtype : {None, "float64", "float32"}
        Precision of the products; None: single for single-precision activations in batches, else double. Bases are
        solved in double always.
    seed : int
        Decides random orientations and the learning of LN-VX.
    writers : list
        Objects with ``write(dataset)`` and ``close()``.
    cache : path, optional
        A folder for the graph's bases, shared by runs.
    memory_bytes, disk_bytes, folder
        Of the buffer: copies wait in memory up to the first, in ``folder`` up to the second, then are transformed.
    flush_every : int, optional
        Transform after so many recorded passes, instead of when the buffer is full.
    **options
        Options of the algorithms, as for :func:`spectrata.spectra`.

    Examples
    --------
    >>> import networkx as nx, torch
    >>> from spectrata.torch import SpectrumProbe
    >>> probe = SpectrumProbe(nx.cycle_graph(6), algorithms="gft", hops=2)
    >>> for epoch in range(3):
    ...     probe.record({"hidden": torch.eye(6)[:, :4] + epoch}, epoch=epoch)
    >>> dict(probe.dataset.sizes)["epoch"]
    3
    >>> [round(value, 3) for value in probe.dataset["off_zero"].sel(layer="hidden", hop=1).values.tolist()]
    [nan, 0.072, 0.024]
    >>> probe.dataset["status"].values[0, 0, 0, 0].item()
    'undefined: zero vector'
    """

    def __init__(
        self,
        graph: Any = None,
        *,
        algorithms: str | Iterable[str] | None = None,
        hops: int | Iterable[int] | None = 3,
        weights: Any = None,
        hop_weights: str = "bottleneck",
        undirected: bool = False,
        metric: str = "auto",
        bands: int = 4,
        measures: bool = True,
        device: str | torch.device = "cpu",
        dtype: str | None = None,
        seed: int = 0,
        writers: Sequence[Writer] = (),
        cache: str | Path | None = None,
        memory_bytes: int = 2**28,
        disk_bytes: int = 2**32,
        folder: str | Path | None = None,
        flush_every: int | None = None,
        overhead: Overhead | None = None,
        **options: Any,
    ) -> None:
        one_of(dtype, "dtype", (None, *DTYPES))
        if flush_every is not None:
            whole(flush_every, "flush_every")
        names = None if algorithms is None else resolve_algorithms(algorithms)
        count = whole(bands, "bands", 1, MOST_BANDS)
        self.settings = Settings(names, metric, count, measures, dtype, seed, options)
        own_hops = None if isinstance(graph, Stratification) else hops
        read_as: dict[str, Any] = {"hop_weights": hop_weights, "undirected": undirected}
        self.strat = None if graph is None else as_stratification(graph, own_hops, weights=weights, **read_as)
        if self.strat is not None:
            self.strat.announce(self.settings.plan("float64"), backend_for(torch.device(device)))
        self.hops, self.weights, self.hop_weights = hops, weights, hop_weights
        self.device = torch.device(device)
        self.writers = list(writers)
        self.cache = cache
        self.overhead = overhead or Overhead()
        n = None if self.strat is None else self.strat.graph.n_nodes
        self.buffer = CopyBuffer(memory_bytes, disk_bytes, folder, n)
        self.flush_every = flush_every
        self._since_flush = len(self.buffer)
        self._next_step = 0
        self._results = Results()
        self._unwritten: tuple[xr.Dataset, list[Writer]] | None = None
        self._graphs = GraphCache(hops, weights, hop_weights) if self.strat is None else None
        self._ready = False

    # ---- in

    def record(
        self,
        layers: Mapping[str, torch.Tensor],
        *,
        epoch: int | None = None,
        step: int | None = None,
        edge_index: torch.Tensor | None = None,
        edge_weight: torch.Tensor | None = None,
        batch: torch.Tensor | None = None,
        training: bool = True,
    ) -> None:
        """Copy activations, one tensor with a row per node for each layer.

        Parameters
        ----------
        layers : mapping of str to Tensor
        epoch, step : int, optional
            Labels; steps count up by themselves.
        edge_index, edge_weight, batch : Tensor, optional
            The graph of this pass, for a probe without one; weights count where the probe was made with ``weights``.
        training : bool
        """
        if self.strat is None and edge_index is None:
            raise OptionError("This probe has no graph of its own; give edge_index, and batch for several graphs.")
        step = self._next_step if step is None else step
        copies = {}
        for name, tensor in layers.items():
            n = self.strat.graph.n_nodes if self.strat is not None else len(tensor)
            rows = node_rows(tensor, n)
            if rows is None:
                raise NodeCountError(f"{name!r} has shape {tuple(tensor.shape)}, but the graph has {n} nodes.")
            copies[name] = HostCopy(rows)
        graph = {}
        if self.strat is None and edge_index is not None:
            n = max((len(tensor) for tensor in layers.values()), default=0)
            batch = edge_index.new_zeros(n) if batch is None else batch
            graph = {"edge_index": HostCopy(edge_index), "batch": HostCopy(batch)}
            if self.weights:
                if edge_weight is None:
                    raise OptionError(f"This probe has weights={self.weights!r}; give edge_weight with edge_index.")
                graph["edge_weight"] = HostCopy(edge_weight.reshape(-1))
        self.overhead.recorded += 1
        self.overhead.copies += len(copies)
        self.add(Snapshot(step, epoch, training, dict(copies), {}, dict(graph)))

    def add(self, snapshot: Snapshot) -> None:
        """Take a snapshot into the buffer, and transform when that is full."""
        self._next_step = max(self._next_step, snapshot.step + 1)
        self.buffer.add(snapshot)
        self._since_flush += 1
        if self.buffer.full or (self.flush_every is not None and self._since_flush >= self.flush_every):
            self.flush()

    def label(self, steps: Iterable[int], epoch: int) -> None:
        """Label passes that were recorded before their label was known."""
        chosen = list(steps)
        transformed = {step for step in chosen if self._results.has_step(step)}
        try:
            self.buffer.label([step for step in chosen if step not in transformed], epoch)
        finally:
            if self._unwritten is not None:
                ds, left = self._unwritten
                self._unwritten = relabel(ds, np.isin(ds["step"].values, chosen), epoch), left
            if transformed:
                self._results.relabel(sorted(transformed), epoch)
                for writer in self.writers:
                    if hasattr(writer, "relabel"):
                        writer.relabel(sorted(transformed), epoch)

    def settings_json(self) -> dict[str, Any]:
        """What is needed to transform copies without this probe."""
        given = asdict(self.settings)
        graph = None if self.strat is None else self.strat.graph
        given["hops"] = self.hops if self.strat is None else list(self.strat.hops)
        given["edges"] = None if graph is None else graph.edges.tolist()
        given["n_nodes"] = None if graph is None else graph.n_nodes
        given["hop_weights"] = self.hop_weights if self.strat is None else self.strat.strata.hop_weights
        given["weights"] = self.weights
        if graph is not None:
            given["weights"] = None if graph.weights is None else graph.weights.tolist()
        return given

    def attributes(self) -> dict[str, Any]:
        """What a result of this probe records of its options."""
        source = self._graphs if self.strat is None else self.strat
        assert source is not None
        plan = self.settings.plan("float64")
        options = plan.to_json(source.hops, ZERO_VECTORS)
        return {"seed": plan.seed, "weights": source.weights, OPTIONS: options}

    def resume(self, log: ZarrLog) -> None:
        """Leave results in a log instead of in memory, and start from the rows that it holds."""
        self._results = Results(log)
        if log.exists():
            layers, steps = log.resume(self)
            self._results.know(layers, steps)
            self._next_step = max(self._next_step, max(steps, default=-1) + 1)
        waiting = self.buffer.steps()
        for writer in self.writers:
            if writer is not log and hasattr(writer, "resume"):
                writer.resume(waiting)

    @property
    def next_step(self) -> int:
        """Number that the next recorded pass gets."""
        return self._next_step

    # ---- out

    def flush(self) -> None:
        """Compute the spectra of everything recorded, and hand them to the writers."""
        self._finish_writing()
        for snapshots in self.buffer.batches() if len(self.buffer) else ():
            rows = [row for row in rows_of(snapshots) if not self._results.has(row.layer, row.step)]
            if not rows:
                continue  # logged by a run that was killed before it could remove the copies
            if self._graphs is not None:
                start = time.perf_counter()
                fresh = {row.step for row in rows}
                chosen = [snapshot for snapshot in snapshots if snapshot.step in fresh]
                ds = batch_spectra(chosen, self.settings, self._graphs, self.device)
                self._count(time.perf_counter() - start, len(rows))
            else:
                ds = self._transform(rows)
            # A log comes last: until its rows are there, their copies are.
            self._unwritten = ds, sorted(self.writers, key=lambda writer: writer is self._results.log)
            self._finish_writing()
        self._since_flush = 0

    def _finish_writing(self) -> None:
        """Hand the last batch to the writers that have not taken it yet: a full disk may have refused it before."""
        if self._unwritten is None:
            return
        start = time.perf_counter()
        ds, left = self._unwritten
        while left:
            left[0].write(ds)
            left.pop(0)
        self._results.add(ds)
        self._unwritten = None
        self.overhead.measure += time.perf_counter() - start

    def _transform(self, rows: list) -> "xr.Dataset":
        assert self.strat is not None
        self._prepare()
        if self.overhead.single is None and len(rows) >= TIMED and self._fits():
            self.overhead.single = min(self._time_alone(row) for row in (rows[0], rows[0], rows[-1]))
        start = time.perf_counter()
        ds = spectra_of(self.strat, rows, self.settings, self.device)
        self._count(time.perf_counter() - start, len(rows))
        start = time.perf_counter()
        ds = add_measures(self.strat, rows, ds, self.settings)
        self.overhead.measure += time.perf_counter() - start
        return ds

    def _prepare(self) -> None:
        """Solve the bases, once."""
        if self._ready or self.strat is None:
            return
        start = time.perf_counter()
        self._ready = True
        if self.cache is not None:
            self.strat.use_cache(self.cache)
        if not self._fits():
            return
        for hop in self.strat.hops:
            for dtype in DTYPES if self.settings.dtype is None else (self.settings.dtype,):
                self.strat.prepared(hop, self.settings.plan(dtype), backend_for(self.device))
        self.overhead.basis += time.perf_counter() - start

    def _fits(self) -> bool:
        """Whether the stratification can keep all bases, in both precisions; else each transform solves them."""
        assert self.strat is not None
        return 12 * self.strat.graph.n_nodes**2 * len(self.strat.hops) <= self.strat.max_basis_bytes

    def _time_alone(self, row: Any) -> float:
        assert self.strat is not None
        start = time.perf_counter()
        spectra_of(self.strat, [row], self.settings, self.device)
        return time.perf_counter() - start

    def _count(self, seconds: float, copies: int) -> None:
        self.overhead.transform += seconds
        self.overhead.transformed += copies
        self.overhead.batches += 1

    @property
    def snapshots(self) -> "xr.Dataset":
        """Everything so far as one result whose snapshots are (pass, layer) pairs: what the analyses take."""
        self.flush()
        return self._results.all()

    @property
    def dataset(self) -> "xr.Dataset":
        """Everything so far with dims ``layer`` and ``epoch`` (or ``step``) instead of ``snapshot``."""
        return as_grid(self.snapshots)

    def over_layers(self, step: int = -1) -> "xr.Dataset":
        """One pass, its layers as snapshots in the order of the model: the last pass by default."""
        self.flush()
        ds = self._results.view()
        steps = sorted(set(ds["step"].values.tolist()))
        chosen = steps[step] if step < 0 else step
        if chosen not in steps:
            raise OptionError(f"step {step} was not recorded; recorded were {steps[:8]}.")
        return selected(ds, ds["step"].values == chosen, "layers")

    def over_epochs(self, layer: str) -> "xr.Dataset":
        """One layer, its passes as snapshots."""
        self.flush()
        ds = self._results.view()
        names = list(dict.fromkeys(ds["layer"].values.tolist()))
        if layer not in names:
            raise OptionError(f"There is no layer {layer!r}; the layers are {', '.join(map(str, names))}.")
        return selected(ds, ds["layer"].values == layer, "epochs")

    def table(self) -> "pd.DataFrame":
        """One row per layer, pass and hop: energy off zero, bands, smoothness measures, status."""
        return table(self.snapshots)

    def report(self, path: str | Path, **words: Any) -> Path:
        """Write one HTML page about the run; see :func:`spectrata.write_report`."""
        import spectrata

        if self.strat is None:
            raise ResultError("Mini-batches have no one graph to draw a page of; use table() or a log instead.")
        words.setdefault("signal_name", "activations of the watched layers")
        return spectrata.write_report(self.snapshots, path, self.strat, **words)

    def close(self) -> None:
        """Compute what is left and close the writers."""
        try:
            self.flush()
        finally:
            for writer in self.writers:
                writer.close()
            self.buffer.close()
