"""The context manager that watches a model: hooks, buffer, spectra and writers."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError, ResultError, warn
from spectrata.inputs.notebook import html_list, html_table
from spectrata.inputs.numbers import one_of
from spectrata.torch.arguments import without_messages
from spectrata.torch.evaluation import untouched
from spectrata.torch.hooks import is_compiled
from spectrata.torch.layers import find_readers, resolve_layers
from spectrata.torch.logs import make_writers
from spectrata.torch.overhead import Overhead
from spectrata.torch.passes import STATES
from spectrata.torch.probe import SpectrumProbe
from spectrata.torch.problems import silence, undefined
from spectrata.torch.recorder import MODES, Call, Recorder
from spectrata.torch.sources import changes, device_of, evaluations, fingerprint

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from spectrata.report.shown import Report

NO_MESSAGES = "no_messages"


class Watch:
    """A watched model: see :func:`watch`, which makes it.

    Attributes
    ----------
    probe : SpectrumProbe
    layers : dict
        Names and modules of the watched layers.
    problems : list of str
        What went wrong while recording; all of it is one warning at the end of the block too.

    Examples
    --------
    >>> import networkx as nx, torch
    >>> from spectrata.torch import Watch, watch
    >>> model = torch.nn.Linear(2, 3)
    >>> with watch(model, nx.cycle_graph(4), layers=[model], hops=1) as w:
    ...     _ = model(torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]]))
    >>> isinstance(w, Watch), len(w.table()), w.overhead.recorded, w.problems
    (True, 2, 1, [])
    """

    def __init__(
        self,
        model: torch.nn.Module,
        data: Any = None,
        layers: str | torch.nn.Module | Iterable[str | torch.nn.Module] | None = None,
        every: int = 1,
        algorithms: str | Iterable[str] | None = None,
        hops: int | Iterable[int] | str | None = "auto",
        *,
        mode: str = "train",
        evaluate: int | bool | None = None,
        control: str | None = None,
        states: Iterable[str] = STATES,
        log: Any = None,
        **arguments: Any,
    ) -> None:
        if isinstance(every, bool) or not isinstance(every, int) or every < 1:
            raise OptionError(f"every={every!r} must be a whole number of at least 1.")
        one_of(mode, "mode", MODES)
        one_of(control, "control", (None, NO_MESSAGES))
        self.evaluate = evaluations(evaluate, control)
        self.control = control
        chosen = (states,) if isinstance(states, str) else tuple(states)
        for state in chosen:
            one_of(state, "states", STATES)
        plain = getattr(model, "_orig_mod", model)  # what torch.compile wraps
        self.plain = plain
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
            device=arguments.pop("device", None) or device_of(model),
            writers=writers,
            folder=arguments.pop("folder", None) or (store.copies if store is not None else None),
            overhead=self.overhead,
            **arguments,
        )
        self.probe.model = fingerprint(plain)
        if store is not None:
            self.probe.resume(store)
            store.prepare(self.probe.settings_json())
        leftover = self.probe.buffer.last_step()
        first = max(self.probe.next_step, leftover + 1)
        self.recorder = Recorder(
            model,
            self.layers,
            self.probe.add,
            readers=find_readers(plain, self.layers),
            n_nodes=self.probe.n_nodes,
            weights=self.probe.weights,
            every=every,
            mode=mode,
            states=chosen,
            first_step=first,
            overhead=self.overhead,
        )
        self.recorder.wants_calls = self.evaluate is not None
        if control is not None:
            self.recorder.check_call = self._check_control
        self.problems = self.recorder.problems
        self._steps = 0  # calls of step() that ended an epoch
        self._calls = self._evaluated = 0  # calls of the model up to the last step(), and the last evaluation
        self._label_first: bool | None = None
        self._last_label: int | None = None
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
        """Take the hooks off, compute what is left, close the writers, and report what went wrong."""
        if not quiet and self.evaluate is not None:
            if self.recorder.epoch is None and self._seen_step == self.recorder.next_step:
                self.recorder.epoch = self._last_label
            self._evaluate()
            if self.evaluate and not self._steps and self.recorder.calls > self.evaluate:
                self.recorder.note(
                    f"evaluate={self.evaluate} counts calls of w.step, and there was none: the model was evaluated "
                    "once, at the end; call w.step() after each epoch"
                )
        self.recorder.detach()
        try:
            with self.overhead.counting_rest():
                self.probe.close()
        except Exception as problem:
            if not quiet:
                raise
            self.recorder.note(f"{type(problem).__name__}: {problem}")
        finally:
            if self._started is not None:
                self.overhead.elapsed += time.perf_counter() - self._started
                self._started = None
        for text in (*silence(self), *undefined(self.probe.undefined)):
            self.recorder.note(text)
        if self.problems and not quiet:
            warn("; ".join(self.problems) + ".")

    # ---- while it lasts

    def step(self, epoch: int | None = None, **scores: Any) -> None:
        """End an epoch: label its passes, store its scores, and evaluate where that is due.

        Called before the first pass of the block, it labels the passes that follow each call, until the next; called
        after it, those since the previous call. So both ``w.step(epoch=e); train()`` and ``train(); w.step(epoch=e)``
        do what they look like.

        Parameters
        ----------
        epoch : int, optional
            By default they count from 0.
        **scores
            Numbers of this epoch, such as ``acc=0.81, loss=0.4``. They are variables of ``w.dataset``.
        """
        if not self.recorder._root_seen:
            self.recorder.end()  # where nobody calls the model itself, this is where a pass ends
        if self._label_first is None:
            self._label_first = self.recorder.next_step == self._seen_step and not self.recorder.calls
        if epoch is None:
            epoch = 0 if self._last_label is None else self._last_label + 1
        again, self._last_label = epoch == self._last_label, int(epoch)
        if not again and self.recorder.calls > self._calls:  # an epoch has ended
            self._steps, self._calls = self._steps + 1, self.recorder.calls
            if self.evaluate and self._steps % self.evaluate == 0:
                self._evaluate()
        if scores:
            self._guarded(lambda: self.probe.score(int(epoch), scores))
        if not self._label_first:
            self._guarded(lambda: self.probe.label(range(self._seen_step, self.recorder.next_step), int(epoch)))
            self._seen_step = self.recorder.next_step
        self.recorder.epoch = int(epoch) if self._label_first else None

    def record(self, layers: dict[str, torch.Tensor], epoch: int | None = None, mode: str = "train") -> None:
        """Record tensors by hand, as one pass: for compiled models, or anything without a module."""
        step = self.recorder.next_step = max(self.recorder.next_step, self.probe.next_step)
        self._guarded(lambda: self.probe.record(layers, epoch=epoch, step=step, mode=mode))
        self.recorder.next_step += 1

    def _guarded(self, work: Callable[[], None]) -> None:
        """Do something with a disk that may be full, which must not end the training."""
        try:
            work()
        except ResultError as problem:
            self.recorder.note(str(problem).rstrip("."))

    def _check_control(self, call: Call) -> None:
        without_messages(*call, self.probe.n_nodes)

    def _evaluate(self) -> None:
        """Repeat the last call in evaluation mode, and without messages where a control is asked for."""
        recorder = self.recorder
        if self.overhead.evaluations and recorder.calls == self._evaluated:
            return
        call = recorder.last_call
        if call is None:
            recorder.note("evaluate= repeats calls of the model itself, and none was seen")
            return
        start, ours = time.perf_counter(), self.overhead.record + self.overhead.computed
        for mode in ("eval", "control") if self.control else ("eval",):
            args, kwargs = call
            try:
                if mode == "control":
                    args, kwargs = without_messages(*call, self.probe.n_nodes)
                with recorder.recording_as(mode, call), untouched(self.plain, mode == "control"), torch.no_grad():
                    self.plain(*args, **kwargs)
                self.overhead.evaluations += 1
            except Exception as problem:  # of the model, in a mode that the training may not use
                recorder.note(f"a pass in evaluation mode failed: {type(problem).__name__}: {problem}")
        self._evaluated = recorder.calls
        inside = self.overhead.record + self.overhead.computed - ours
        self.overhead.evaluate += time.perf_counter() - start - inside

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

    def over_layers(self, step: int | None = None, mode: str | None = None) -> "xr.Dataset":
        """One pass, its layers as snapshots: the last in evaluation mode, or the last where there is none.

        See :meth:`SpectrumProbe.over_layers`.
        """
        return self.probe.over_layers(step, mode)

    def over_epochs(self, layer: str, mode: str | None = None) -> "xr.Dataset":
        """One layer, its passes as snapshots: those in evaluation mode where there are any, or those of a mode."""
        return self.probe.over_epochs(layer, mode)

    def table(self) -> "pd.DataFrame":
        """One row per layer, pass and hop."""
        return self.probe.table()

    def __repr__(self) -> str:
        seen = f"{self.overhead.recorded_words} recorded, layers {', '.join(self.layers)}"
        return f"<Watch: {seen}; see diagnose(w.over_layers()), w.report() and w.table()>"

    def _repr_html_(self) -> str:
        spent = self.overhead
        title = f"Watch: {spent.recorded_words} recorded"
        rows = [(name, type(module).__name__) for name, module in self.layers.items()]
        scores = f"Scores: {', '.join(self.probe.scores.names)}. " if self.probe.scores.names else ""
        table = html_table(title, ["layer", "module"], rows, scores + "See dataset, table() and report().")
        return table + (html_list(self.problems) if self.problems else "")

    def report(self, path: str | Path | None = None, **words: Any) -> "Report":
        """Make one HTML page about the run; see :func:`spectrata.write_report`."""
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
    hops: int | Iterable[int] | str | None = "auto",
    **arguments: Any,
) -> Watch:
    """Watch a model: compute spectra of its layers at every ``every``-th forward pass.

    Parameters
    ----------
    model : torch.nn.Module
        Left as it is: hooks copy outputs, and are removed at the end of the block.
    data : graph-like, Stratification, DataLoader or None
        The graph: PyG ``Data``, anything :func:`spectrata.spectra` takes, or a stratification to share its bases. A
        loader, a PyG ``Batch`` or None: every pass has its own graphs, read from the model's arguments, and spectra
        are brought together by bands.
    layers : list of str or Module, optional
        What to watch: names, patterns such as ``"convs.*"``, or modules; by default the message-passing layers.
    every : int
        Record the first and then every ``every``-th forward pass, counted in each mode.
    algorithms
        As for :func:`spectrata.spectra`; by default ``gft`` and ``adj_diff``, as far as the Laplacian serves them.
    hops : "auto", int or iterable of int
        As for :func:`spectrata.spectra`; "auto": up to 3, and 1 for graphs that are not decomposed. A Stratification
        has its own.
    mode : {"train", "eval", "both", "none"}
        Passes in training mode, in evaluation mode, all, or only those of ``evaluate``.
    evaluate : int or True, optional
        Repeat the last call of the model in evaluation mode, without gradients: every so many calls of
        :meth:`Watch.step`, and at the end of the block; True: at the end. Modes, buffers and random states are
        restored.
    control : {None, "no_messages"}
        With each such pass another one with self-loops as the only edges, and the same weights (mode "control").
    states : tuple of str
        What to record beside the layers' outputs: "input", the features given to the model; "hidden", what the
        next layer is given after each watched layer (``LAYER/hidden``), so after activation and normalisation, and
        after dropout in training mode; "output", what the model returns, before a softmax.
    log : path or writer, or a list of them
        ``*.zarr``: an append-only log that survives a kill and that a later run continues; ``*.csv``, ``*.jsonl``:
        the table as it grows; a run of Weights & Biases; any other path: a TensorBoard folder.
    weights, hop_weights, undirected
        How the graph is read, as for :func:`spectrata.spectra`: ``weights=True`` uses ``edge_weight`` of a PyG
        ``Data``, and the edge weights of every mini-batch. By default weights are ignored with a warning.
    laplacian, self_loops
        Which Laplacian, as for :func:`spectrata.spectra`.
    **arguments
        Of :class:`SpectrumProbe`: ``metric``, ``zero_vectors``, ``keep``, ``decompose``, ``bands``, ``measures``,
        ``device``, ``dtype``, ``seed``, ``cache``,
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
