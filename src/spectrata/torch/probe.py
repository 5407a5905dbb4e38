"""Activations in, spectra out: a thin state around the functions of ``transform`` and ``batches``."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from spectrata.core.plan import DTYPES
from spectrata.core.registry import EXACT, resolve_algorithms
from spectrata.core.stratification import Stratification
from spectrata.errors import NodeCountError, OptionError, ResultError
from spectrata.inputs.numbers import one_of, whole
from spectrata.results.schema import OPTIONS
from spectrata.stats.describe.levels import MOST_BANDS
from spectrata.stats.watched import as_grid, one_layer, one_pass
from spectrata.torch.batches import GraphCache, batch_spectra
from spectrata.torch.buffer import PASSES, CopyBuffer, KeptSignals, Snapshot
from spectrata.torch.computing import Computation
from spectrata.torch.hooks import HostCopy
from spectrata.torch.large import announce, asked, large_hops, served_by_bands
from spectrata.torch.layers import node_rows
from spectrata.torch.overhead import Overhead
from spectrata.torch.results import Results
from spectrata.torch.scores import FILE as SCORES
from spectrata.torch.scores import Scores
from spectrata.torch.shape import relabel, table, with_signal
from spectrata.torch.sources import kept_names, read_graph
from spectrata.torch.transform import NOT_FINITE, Settings, backend_for, rows_of
from spectrata.torch.writers import Writer
from spectrata.torch.zarr_log import ZarrLog

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from spectrata.report.shown import Report


class SpectrumProbe:
    """Record activations explicitly, and compute their spectra in batches.

    Parameters
    ----------
    graph : graph-like, Stratification or None
        What :func:`spectrata.spectra` takes; None for mini-batches, each with its own graph.
    algorithms : list of str, optional
        As for :func:`spectrata.spectra`; by default ``gft`` and ``adj_diff``, as far as the Laplacian serves them.
    hops : "auto", int or iterable of int
        "auto": up to 3, and 1 for graphs that are not decomposed.
    weights, hop_weights, undirected
        How the graph is read, as for :func:`spectrata.spectra`; a Stratification has its own. With mini-batches
        ``weights=True`` uses the edge weights given with each.
    metric : {"auto", "euclidean", "angular"}
    zero_vectors : {"zero", "nan"}
        A row of zeros under the angular metric stays 0, half a unit from every direction, or leaves the activation
        undefined. ``dead_rows`` counts such rows in both cases.
    bands : int
        Bands of energy off zero, in tables and logs.
    measures : bool
        Whether to add the measures of :func:`spectrata.smoothness` at the first hop.
    keep : tuple of str
        ``("signal",)``: keep the activations, for :meth:`over_layers` and :meth:`over_epochs`.
    decompose : bool, optional
        Whether to decompose the graph; None: up to 4,000 nodes. Larger graphs are read in bands of eigenvalues.
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
    [0.833, 0.072, 0.024]
    >>> [round(value, 2) for value in probe.dataset["dead_rows"].sel(layer="hidden").values.tolist()]
    [0.33, 0.0, 0.0]
    """

    def __init__(
        self,
        graph: Any = None,
        *,
        algorithms: str | Iterable[str] | None = None,
        hops: int | Iterable[int] | str | None = "auto",
        weights: Any = None,
        hop_weights: str = "bottleneck",
        undirected: bool = False,
        metric: str = "auto",
        zero_vectors: str = "zero",
        bands: int = 4,
        measures: bool = True,
        keep: Iterable[str] = (),
        decompose: bool | None = None,
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
        self.keep = kept_names(keep)
        self.graph, self.strat, self.large = read_graph(graph, hops, decompose, weights, hop_weights, undirected)
        names = None if algorithms is None else resolve_algorithms(algorithms)
        count = whole(bands, "bands", 1, MOST_BANDS)
        if self.large and names is None:
            names = (EXACT,)
        self.settings = Settings(names, metric, count, measures, dtype, seed, zero_vectors, options)
        self.device = torch.device(device)
        self.hops = asked(hops, 3)
        self.weights, self.hop_weights = weights, hop_weights
        if self.strat is not None:
            self.strat.announce(self.settings.plan("float64"), backend_for(self.device))
        if self.large and self.graph is not None:
            served_by_bands(self.settings)
            self.hops = large_hops(hops) if not isinstance(graph, Stratification) else graph.hops
            announce(self.graph, self.hops, self.settings, hop_weights, self.device)
        self.writers = list(writers)
        self.overhead = overhead or Overhead()
        self.model = ""  # fingerprint of the watched model
        n = None if self.graph is None else self.graph.n_nodes
        self.signals = KeptSignals(None if folder is None else f"{folder}.kept", n) if self.keep else None
        self.buffer = CopyBuffer(memory_bytes, disk_bytes, folder, n, self.signals)
        self.scores = Scores(None if folder is None else Path(folder) / SCORES)
        self.flush_every = flush_every
        self._since_flush = len(self.buffer)
        self._next_step = 0
        self._results = Results()
        self._unwritten: tuple[xr.Dataset, list[Writer]] | None = None
        self._graphs = GraphCache(self.hops, weights, hop_weights) if self.graph is None else None
        self._computation: Computation | None = None
        if self.graph is not None:
            given = self.settings, hop_weights, self.device, self.overhead, cache
            self._computation = Computation(self.graph, self.strat, self.hops, *given)
        self.undefined: dict[str, list[int]] = {}  # by layer: rows, and those with NaN or infinite values

    @property
    def n_nodes(self) -> int | None:
        """Nodes of the graph; None for mini-batches."""
        return None if self.graph is None else self.graph.n_nodes

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
        mode: str = "train",
    ) -> None:
        """Copy activations, one tensor with a row per node for each layer.

        Parameters
        ----------
        layers : mapping of str to Tensor
        epoch, step : int, optional
            Labels; steps count up by themselves.
        edge_index, edge_weight, batch : Tensor, optional
            The graph of this pass, for a probe without one; weights count where the probe was made with ``weights``.
        mode : {"train", "eval", "control"}
        """
        one_of(mode, "mode", PASSES)
        if self.graph is None and edge_index is None:
            raise OptionError("This probe has no graph; give edge_index, and batch for several graphs.")
        step = self._next_step if step is None else step
        copies = {}
        for name, tensor in layers.items():
            n = self.graph.n_nodes if self.graph is not None else len(tensor)
            rows = node_rows(tensor, n)
            if rows is None:
                raise NodeCountError(f"{name!r} has shape {tuple(tensor.shape)}, but the graph has {n} nodes.")
            copies[name] = HostCopy(rows)
        graph = {}
        if self.graph is None and edge_index is not None:
            n = max((len(tensor) for tensor in layers.values()), default=0)
            batch = edge_index.new_zeros(n) if batch is None else batch
            graph = {"edge_index": HostCopy(edge_index), "batch": HostCopy(batch)}
            if self.weights:
                if edge_weight is None:
                    raise OptionError(f"This probe has weights={self.weights!r}; give edge_weight with edge_index.")
                graph["edge_weight"] = HostCopy(edge_weight.reshape(-1))
        self.overhead.passes += 1
        self.overhead.recorded += 1
        self.overhead.copies += len(copies)
        self.add(Snapshot(step, epoch, mode, dict(copies), graph=dict(graph)))

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

    def score(self, epoch: int, scores: Mapping[str, Any]) -> None:
        """Take scores of an epoch, and hand them to the writers that have a place for them."""
        numbers = self.scores.add(epoch, scores)
        for writer in self.writers if numbers else ():
            if hasattr(writer, "write_scores"):
                writer.write_scores(epoch, numbers)

    def settings_json(self) -> dict[str, Any]:
        """What is needed to transform copies without this probe."""
        given = asdict(self.settings) | {"keep": list(self.keep), "decompose": not self.large, "model": self.model}
        hops = self.hops if self.strat is None else self.strat.hops
        given["hops"] = hops if hops is None or isinstance(hops, int) else list(hops)
        given["edges"] = None if self.graph is None else self.graph.edges.tolist()
        given["n_nodes"] = self.n_nodes
        given["hop_weights"] = self.hop_weights if self.strat is None else self.strat.strata.hop_weights
        given["weights"] = self.weights
        if self.graph is not None:
            given["weights"] = None if self.graph.weights is None else self.graph.weights.tolist()
        return given

    def attributes(self) -> dict[str, Any]:
        """What a result of this probe records of its options; of a large graph, what decides whether rows compare."""
        source = self._graphs if self.strat is None else self.strat
        if source is None:
            weighted = self.graph is not None and self.graph.weights is not None
            return {"seed": self.settings.seed, "weights": self.hop_weights if weighted else ""}
        plan = self.settings.plan("float64")
        options = plan.to_json(source.hops, self.settings.zero_vectors)
        return {"seed": plan.seed, "weights": source.weights, OPTIONS: options}

    def resume(self, log: ZarrLog) -> None:
        """Leave results in a log instead of in memory, and start from the rows that it holds."""
        self._results = Results(log)
        if log.exists():
            layers, steps = log.resume(self)
            self.scores.read(log.lazy())
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
        with self.overhead.counting_rest():
            self._flush()

    def _flush(self) -> None:
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
                self.overhead.count(time.perf_counter() - start, len(rows))
            else:
                assert self._computation is not None
                ds = self._computation.rows(rows)
            ds.attrs["model"] = self.model
            self._count_undefined(rows)
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

    def _count_undefined(self, rows: list) -> None:
        """Count rows and those without a finite value, by layer."""
        for row in rows:
            found = self.undefined.setdefault(row.layer, [0, 0])
            found[0] += 1
            found[1] += row.reason == NOT_FINITE

    @property
    def snapshots(self) -> "xr.Dataset":
        """Everything so far as one result whose snapshots are (pass, layer) pairs: what the analyses take."""
        return self.scores.beside(self._all())

    def _all(self) -> "xr.Dataset":
        self.flush()
        return self._results.all()

    @property
    def dataset(self) -> "xr.Dataset":
        """Everything so far with dims ``layer`` and ``epoch`` (or ``step``) instead of ``snapshot``."""
        return self.scores.beside(as_grid(self._all()))

    def over_layers(self, step: int | None = None, mode: str | None = None) -> "xr.Dataset":
        """One pass, its layers as snapshots in the order of the model.

        Parameters
        ----------
        step : int, optional
            A pass by its number, or from the end; by default the last in evaluation mode, or the last where there is
            none. The attributes ``pass_mode``, ``pass_step`` and ``pass_epoch`` name it.
        mode : {"train", "eval", "control"}, optional
            The last pass of this mode.
        """
        self.flush()
        return self._with_signal(one_pass(self._results.view(), step, mode))

    def over_epochs(self, layer: str, mode: str | None = None) -> "xr.Dataset":
        """One layer, its passes as snapshots: those in evaluation mode where there are any, or those of a mode."""
        self.flush()
        return self._with_signal(one_layer(self._results.view(), layer, mode))

    def _with_signal(self, ds: "xr.Dataset") -> "xr.Dataset":
        """A selection with its scores, and its activations where they are kept."""
        ds = self.scores.beside(ds)
        return ds if self.signals is None or self.graph is None else with_signal(ds, self.signals)

    def table(self) -> "pd.DataFrame":
        """One row per layer, pass and hop: energy off zero, bands, smoothness measures, status."""
        return table(self.snapshots)

    def report(self, path: str | Path | None = None, **words: Any) -> "Report":
        """Make one HTML page about the run; see :func:`spectrata.write_report`."""
        import spectrata

        if self.graph is None:
            raise ResultError("Mini-batches have no one graph to draw a page of; use table() or a log instead.")
        words.setdefault("signal_name", "activations of the watched layers")
        words.setdefault("run", self.dataset)
        return spectrata.write_report(self.over_layers(), path, self.strat or self.graph, **words)

    def close(self) -> None:
        """Compute what is left and close the writers."""
        try:
            self.flush()
            if self._results.log is not None and self.scores.names:
                self._results.log.write_scores_of(self.scores)
        finally:
            for writer in self.writers:
                writer.close()
            self.buffer.close()
