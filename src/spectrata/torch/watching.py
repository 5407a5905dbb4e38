"""Three lines on a model: hooks, buffer, spectra and writers behind one context manager."""

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError, ResultError, warn
from spectrata.torch.layers import resolve_layers
from spectrata.torch.overhead import Overhead
from spectrata.torch.probe import SpectrumProbe, Writer
from spectrata.torch.recorder import MODES, Recorder, is_compiled
from spectrata.torch.writers import TableWriter, TensorBoardWriter
from spectrata.torch.zarr_log import ZarrLog

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


class Watch:
    """A watched model: see :func:`watch`, which makes it.

    Attributes
    ----------
    probe : SpectrumProbe
    layers : dict
        Names and modules of the watched layers.
    problems : list of str
        What went wrong while recording; each is also said, as one warning, on exit.

    Examples
    --------
    >>> import networkx as nx, torch
    >>> from spectrata.torch import Watch, watch
    >>> model = torch.nn.Linear(2, 3)
    >>> with watch(model, nx.cycle_graph(4), layers=[model], hops=1) as w:
    ...     _ = model(torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]]))
    >>> isinstance(w, Watch), len(w.table()), w.overhead.recorded, w.problems
    (True, 1, 1, [])
    """

    def __init__(
        self,
        model: torch.nn.Module,
        data: Any = None,
        layers: str | torch.nn.Module | Iterable[str | torch.nn.Module] | None = None,
        every: int = 1,
        algorithms: str | Iterable[str] | None = None,
        hops: int | Iterable[int] | None = 3,
        *,
        mode: str = "train",
        log: Any = None,
        **arguments: Any,
    ) -> None:
        if isinstance(every, bool) or not isinstance(every, int) or every < 1:
            raise OptionError(f"every={every!r} must be a whole number of at least 1.")
        if mode not in MODES:
            raise OptionError(f"mode={mode!r} is not one of {', '.join(map(repr, MODES))}.")
        plain = getattr(model, "_orig_mod", model)  # what torch.compile wraps
        self.layers = resolve_layers(plain, layers)
        self.compiled = is_compiled(model)
        self.overhead = Overhead()
        graph = None if data is None or changes(data) else data
        writers, store = make_writers(log)
        if store is not None:
            store.lock()
        self.probe = SpectrumProbe(
            graph,
            algorithms=algorithms,
            hops=hops,
            device=arguments.pop("device", None) or _device_of(model),
            writers=writers,
            folder=arguments.pop("folder", None) or (store.copies if store is not None else None),
            overhead=self.overhead,
            **arguments,
        )
        if store is not None:
            self.probe.resume(store)
            store.prepare(self.probe.settings_json())
        leftover = self.probe.buffer.last_step()
        first = max(self.probe.next_step, leftover + 1)
        self.recorder = Recorder(
            model,
            self.layers,
            self.probe.add,
            n_nodes=self.probe.strat.graph.n_nodes if self.probe.strat is not None else None,
            weights=self.probe.weights,
            every=every,
            mode=mode,
            first_step=-(-first // every) * every,  # the first pass of a resumed run is kept too
            overhead=self.overhead,
        )
        self.problems = self.recorder.problems
        self._unlabelled: list[int] = []
        self._label_first: bool | None = None
        self._seen_step = self.recorder.next_step
        self._started: float | None = None

    # ---- the block

    def __enter__(self) -> "Watch":
        self.start()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.stop(quiet=error is not None)

    def start(self) -> None:
        """Put the hooks on; what entering the block does."""
        self.recorder.attach()
        self._started = time.perf_counter()

    def stop(self, quiet: bool = False) -> None:
        """Take the hooks off, compute what is left, close the writers, and say what went wrong."""
        self.recorder.detach()
        try:
            self.probe.close()
        except Exception as problem:
            if not quiet:
                raise
            self.recorder.note(f"{type(problem).__name__}: {problem}")
        finally:
            if self._started is not None:
                self.overhead.elapsed += time.perf_counter() - self._started
                self._started = None
        self._explain_silence()
        if self.problems and not quiet:
            warn("; ".join(self.problems) + ".")

    def _explain_silence(self) -> None:
        heard = self.overhead.passes - self.recorder.silent
        if heard > 0:
            if self.recorder.silent:
                self.recorder.note(f"in {self.recorder.silent} passes no watched layer was called")
            return
        if self.compiled:
            self.recorder.note(
                "the model is compiled and its layers do not call hooks, so nothing was recorded: watch and call the "
                "uncompiled model for the passes to record, or give activations to w.record({name: tensor})"
            )
        elif self.recorder.silent:
            self.recorder.note(
                f"{self.recorder.silent} forward passes called none of the watched layers ({', '.join(self.layers)})"
                "; is a compiled copy of the model being trained?"
            )
        elif not self.overhead.recorded:
            self.recorder.note(
                "no forward pass of the watched model was seen in the chosen mode "
                f"({self.recorder.mode!r}); was another copy of it called, or a compiled one?"
            )

    # ---- while it lasts

    def step(self, epoch: int | None = None) -> None:
        """Label passes by hand.

        Called before the first pass of the block, it labels the passes that follow each call, until the next; called
        after it, those since the previous call. So both ``w.step(epoch=e); train()`` and ``train(); w.step(epoch=e)``
        do what they look like.
        """
        if not self.recorder._root_seen:
            self.recorder.end()  # where nobody calls the model itself, this is where a pass ends
        if self._label_first is None:
            self._label_first = self.recorder.next_step == self._seen_step
        if epoch is None:
            epoch = 0 if self.recorder.epoch is None else self.recorder.epoch + 1
        if not self._label_first:
            try:
                self.probe.label(range(self._seen_step, self.recorder.next_step), int(epoch))
            except ResultError as problem:
                self.recorder.note(str(problem).rstrip("."))
            self._seen_step = self.recorder.next_step
        self.recorder.epoch = int(epoch) if self._label_first else None

    def record(self, layers: dict[str, torch.Tensor], epoch: int | None = None) -> None:
        """Record tensors by hand, as one pass: for compiled models, or anything without a module."""
        self.recorder.next_step = max(self.recorder.next_step, self.probe.next_step)
        try:
            self.probe.record(layers, epoch=epoch, step=self.recorder.next_step)
        except ResultError as problem:  # a full disk must not end the training
            self.recorder.note(str(problem).rstrip("."))
        self.recorder.next_step += 1

    def flush(self) -> None:
        """Compute the spectra of everything recorded so far."""
        self.probe.flush()

    def pause(self) -> "_Pause":
        """Do not record inside ``with w.pause():``."""
        return _Pause(self.recorder)

    # ---- results

    @property
    def strat(self) -> Stratification | None:
        """The graph's stratification, to share with other watches and with analyses."""
        return self.probe.strat

    @property
    def dataset(self) -> "xr.Dataset":
        """``magnitude(algorithm, layer, epoch or step, hop, component)`` and measures beside it."""
        return self.probe.dataset

    @property
    def snapshots(self) -> "xr.Dataset":
        """The same with one ``snapshot`` per pass and layer: what the analyses, plots and reports take."""
        return self.probe.snapshots

    def over_layers(self, step: int = -1) -> "xr.Dataset":
        """One pass, its layers as snapshots; the last by default."""
        return self.probe.over_layers(step)

    def over_epochs(self, layer: str) -> "xr.Dataset":
        """One layer, its passes as snapshots."""
        return self.probe.over_epochs(layer)

    def table(self) -> "pd.DataFrame":
        """One row per layer, pass and hop."""
        return self.probe.table()

    def report(self, path: str | Path, **words: Any) -> Path:
        """Write one HTML page about the run; see :func:`spectrata.write_report`."""
        return self.probe.report(path, **words)

    def influence(self, data: Any, **arguments: Any) -> "xr.Dataset":
        """What the layers read at each hop beside what they show; see :func:`spectrata.torch.influence`."""
        from spectrata.torch.hop_influence import influence, with_shows

        with self.pause():
            found = influence(self.recorder.model, data, list(self.layers), **arguments)
        return with_shows(found, self.over_layers())


class _Pause:
    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def __enter__(self) -> None:
        self.before, self.recorder.paused = self.recorder.paused, True

    def __exit__(self, *error: Any) -> None:
        self.recorder.paused = self.before


def watch(
    model: torch.nn.Module,
    data: Any = None,
    layers: str | torch.nn.Module | Iterable[str | torch.nn.Module] | None = None,
    every: int = 1,
    algorithms: str | Iterable[str] | None = None,
    hops: int | Iterable[int] | None = 3,
    **arguments: Any,
) -> Watch:
    """Watch a model: spectra of its layers, every so many forward passes.

    Parameters
    ----------
    model : torch.nn.Module
        Left as it is: hooks copy outputs, and are removed at the end of the block.
    data : graph-like, Stratification, DataLoader or None
        The graph: PyG ``Data``, anything :func:`spectrata.spectra` takes, or a stratification to share its bases. A
        loader, a PyG ``Batch`` or None: every pass has its own graphs, read from the model's arguments, and spectra
        are brought together by bands.
    layers : list of str or Module, optional
        What to watch; message-passing layers are found by themselves.
    every : int
        Every so many forward passes of the mode are kept, the first among them.
    algorithms, hops
        As for :func:`spectrata.spectra`; by default ``gft`` and ``adj_diff``, as far as the Laplacian serves them.
    mode : {"train", "eval", "both"}
        Passes in training mode, in evaluation mode, or all.
    log : path or writer, or a list of them
        ``*.zarr``: an append-only log that survives a kill and that a later run continues; ``*.csv``, ``*.jsonl``:
        the table as it grows; any other path: a TensorBoard folder.
    weights, hop_weights, undirected
        How the graph is read, as for :func:`spectrata.spectra`: ``weights=True`` uses ``edge_weight`` of a PyG
        ``Data``, and the edge weights of every mini-batch. By default weights are ignored with a warning.
    laplacian, self_loops
        Which Laplacian, as for :func:`spectrata.spectra`.
    **arguments
        Of :class:`SpectrumProbe`: ``metric``, ``bands``, ``measures``, ``device``, ``dtype``, ``seed``, ``cache``,
        ``memory_bytes``, ``disk_bytes``, ``flush_every``, and options of the algorithms.

    Returns
    -------
    Watch
        A context manager with ``dataset``, ``snapshots``, ``table()``, ``report(path)``, ``overhead``.

    Examples
    --------
    >>> import torch
    >>> from spectrata.torch import watch
    >>> from torch_geometric.data import Data
    >>> from torch_geometric.nn import GCNConv
    >>> ring = torch.tensor([[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]])
    >>> data = Data(x=torch.eye(4), edge_index=ring)
    >>> model = GCNConv(4, 8)
    >>> with watch(model, data, hops=2) as w:
    ...     for epoch in range(3):
    ...         _ = model(data.x, data.edge_index)
    ...         w.step(epoch=epoch)
    >>> w.dataset["magnitude"].dims
    ('algorithm', 'layer', 'epoch', 'hop', 'component')
    """
    return Watch(model, data, layers, every, algorithms, hops, **arguments)


def changes(data: Any) -> bool:
    """Whether this stands for many graphs: a loader, or a batch of several."""
    if isinstance(data, torch.utils.data.DataLoader):
        return True
    return int(getattr(data, "num_graphs", 1) or 1) > 1


def make_writers(log: Any) -> tuple[list[Writer], ZarrLog | None]:
    """Writers from paths, and the Zarr log among them."""
    if log is None:
        return [], None
    items: Sequence[Any] = log if isinstance(log, list | tuple) else [log]
    writers: list[Any] = []
    for item in items:
        if hasattr(item, "write") and hasattr(item, "close"):
            writers.append(item)
        elif Path(item).suffix == ".zarr":
            writers.append(ZarrLog(item))
        elif Path(item).suffix in (".csv", ".jsonl"):
            writers.append(TableWriter(item))
        else:
            writers.append(TensorBoardWriter(item))
    stores = [writer for writer in writers if isinstance(writer, ZarrLog)]
    if len(stores) > 1:
        raise OptionError("One Zarr log is enough; give a single path that ends in .zarr.")
    return writers, stores[0] if stores else None


def _device_of(model: torch.nn.Module) -> torch.device:
    for tensor in (*model.parameters(), *model.buffers()):
        return tensor.device
    return torch.device("cpu")
