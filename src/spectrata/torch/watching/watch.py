"""The context manager that watches a model: hooks, evaluations, measures, writers."""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from spectrata.errors import OptionError, ResultError, warn
from spectrata.inputs.numbers import one_of, whole
from spectrata.results.notebook import html_list, html_table
from spectrata.stats.findings.collapse import LEVELS
from spectrata.torch.log import make_writers
from spectrata.torch.watching.arguments import without_messages
from spectrata.torch.watching.evaluation import evaluation_mode, uncompiled
from spectrata.torch.watching.layers import find_readers, resolve_layers
from spectrata.torch.watching.listen import MODES, Listener
from spectrata.torch.watching.passes import INPUT, STATES, Pass
from spectrata.torch.watching.record import Recorder

if TYPE_CHECKING:
    import xarray as xr


NO_MESSAGES, AUTO = "no_messages", "auto"
TEN = 10  # epochs between evaluations by default; after ten of them twice as many, then four times, and so on


class Watch(Recorder):
    """A watched model: a :class:`Recorder` that takes its activations from hooks. :func:`watch` makes it.

    Attributes
    ----------
    layers : dict
        Names and modules of the watched layers.
    overhead : Overhead
        What watching costs.
    problems : list of str
        What went wrong while recording; all of it is one warning at the end of the block too.

    Examples
    --------
    >>> import networkx as nx, torch
    >>> from spectrata.torch import Watch, watch
    >>> model = torch.nn.Linear(2, 3)
    >>> with watch(model, nx.cycle_graph(4), layers=[model]) as w:
    ...     _ = model(torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]]))
    >>> isinstance(w, Watch), len(w.table()), w.overhead.evaluations, w.problems
    (True, 2, 1, [])
    """

    def __init__(
        self,
        model: torch.nn.Module,
        data: Any,
        layers: Any,
        every: int,
        mode: str | None,
        evaluate: int | bool | None,
        control: str | None,
        states: Iterable[str],
        log: Any,
        **recording: Any,
    ) -> None:
        import xarray as xr

        xr.Dataset({"": 0.0})  # loads array libraries, whose time is not counted as watching
        every = whole(every, "every")
        one_of(mode, "mode", (None, *MODES))
        one_of(control, "control", (None, AUTO, NO_MESSAGES))
        self.by_default = evaluate is None and (mode is None or control == NO_MESSAGES)
        self.evaluate = TEN if self.by_default else _evaluations(evaluate)
        self.control = control if self.evaluate is not None else None
        repeats = self.evaluate is not None
        mode = mode or ("none" if repeats else "train")
        if mode == "none" and every != 1:
            raise OptionError(
                "every= counts the passes that mode= records; give mode='train' with it, or evaluate= alone."
            )
        chosen = (states,) if isinstance(states, str) else tuple(states)
        for state in chosen:
            one_of(state, "states", STATES)
        self.plain = getattr(model, "_orig_mod", model)  # what torch.compile wraps
        self.layers = resolve_layers(self.plain, layers)
        super().__init__(_one_graph(data), writers=make_writers(log), **recording)
        self.facts = {"model": _fingerprint(self.plain), "epochs": 0} | _largest_class(data)
        self.facts["model_name"] = type(self.plain).__name__
        self.resume()
        self.listener = Listener(
            model,
            self.layers,
            find_readers(self.plain, self.layers),
            self._take,
            self.n_nodes,
            self.weights,
            every,
            mode,
            chosen,
            self.next_step,
            self.overhead,
            wants_calls=repeats,
            check_call=(lambda call: without_messages(*call, self.n_nodes)) if control == NO_MESSAGES else None,
        )
        self.problems = self.listener.problems
        self._epoch: int | None = None  # label of the passes that follow
        self._steps = 0  # calls of step() that ended an epoch
        self._calls = 0  # calls of the model up to the last step()
        self._evaluated = {"eval": -1, "control": -1}  # the same, up to the last pass of each mode
        self._label_first: bool | None = None
        self._last_label: int | None = None
        self._seen_step = self._first_step = self.listener.next_step
        self._started: float | None = None

    # ---- the block

    def __enter__(self) -> "Watch":
        self.start()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.stop(quiet=error is not None)

    def start(self) -> None:
        """Put the hooks on; what entering the block does."""
        self.listener.attach()
        self._started = time.perf_counter()

    def stop(self, quiet: bool = False) -> None:
        """Take the hooks off, compute what is left, close the writers, and report what went wrong."""
        if not quiet and self.evaluate is not None:
            if self._epoch is None and self._seen_step == self.listener.next_step:
                self._epoch = self._last_label
            self._evaluate(ended=True)
            if self.evaluate and not (self.by_default or self._steps) and self.listener.calls > self.evaluate:
                self.listener.note(
                    f"evaluate={self.evaluate} counts calls of w.step, and there was none: one evaluation"
                )
        self.listener.detach()
        if self._last_label is None and self.listener.next_step > self._first_step:
            self._begin(-1, self.listener.note)
        self._count_epochs()
        try:
            with self.overhead.counting_rest():
                self.close()
        except Exception as problem:
            if not quiet:
                raise
            self.listener.note(f"{type(problem).__name__}: {problem}")
        finally:
            if self._started is not None:
                self.overhead.elapsed += time.perf_counter() - self._started
                self._started = None
        for text in (self._silence(), self._undefined()):
            if text:
                self.listener.note(text)
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
            Numbers of this epoch, such as ``train_acc=0.81, loss=0.4``. They are variables of ``w.dataset``. A verdict
            reads from them whether training has ended, and from ``train_acc`` what the model has learned.
        """
        if not self.listener.root_seen:
            self.listener.end()  # where nobody calls the model itself, this is where a pass ends
        if self._label_first is None:
            self._label_first = self.listener.next_step == self._seen_step and not self.listener.calls
        if isinstance(epoch, Mapping):
            raise OptionError(
                "w.step takes scores by name, such as w.step(loss=0.4, train_acc=0.81), or w.step(**scores)."
            )
        if epoch is None:
            epoch = 0 if self._last_label is None else self._last_label + 1
        if self._last_label is None:
            self._begin(int(epoch), lambda words: warn(f"{words}."))
        again, self._last_label = epoch == self._last_label, int(epoch)
        if not again and self.listener.calls > self._calls:  # an epoch has ended
            self._steps, self._calls = self._steps + 1, self.listener.calls
            if self._is_due():
                self._evaluate()
        if scores:
            self._guarded(lambda: self.score(int(epoch), scores))
        if not self._label_first:
            self._guarded(lambda: self.label(range(self._seen_step, self.listener.next_step), int(epoch)))
            self._seen_step = self.listener.next_step
        self._epoch = int(epoch) if self._label_first else None
        self._count_epochs()

    def _begin(self, epoch: int, say: Callable[[str], None]) -> None:
        """The first label of this block: a log whose epochs begin anew holds another run, whose passes do not count."""
        last, self.last_epoch = self.last_epoch, None
        if last is None or self.log is None or epoch > max(last, 0):
            return
        self.facts["first_step"] = self._first_step
        self.scores = {known: one for known, one in self.scores.items() if known < epoch}
        line = {"facts": {"first_step": self._first_step}, "begins": epoch}
        self._guarded(partial(self.log.note, line))
        held = f" up to epoch {last}" if last >= 0 else ""
        say(
            f"{self.log.path} holds an earlier run{held}: the passes of this run are appended, and verdicts count them "
            "alone; give each run a log of its own, or continue the epochs"
        )

    def record(self, layers: Mapping[str, torch.Tensor], **given: Any) -> None:
        """Record tensors by hand, as one pass: for anything without a module; see :meth:`Recorder.record`."""
        step = self.listener.next_step = max(self.listener.next_step, self.next_step)
        self._guarded(lambda: super(Watch, self).record(layers, **({"step": step} | given)))
        self.listener.next_step += 1

    def _take(self, given: Pass) -> None:
        """Take a pass from the hooks."""
        if self._epoch is not None:
            self.label([given.step], self._epoch)
        self.add(given)

    def _count_epochs(self) -> None:
        """How long the model trained in this block: epochs, or passes in training mode without :meth:`step`."""
        trained = self._steps or self.listener.trained
        labels = 0 if self._last_label is None or not self.listener.trained else self._last_label + 1
        self.facts["epochs"] = max(trained if self.listener.trained else 0, labels)

    def _guarded(self, work: Callable[[], None]) -> None:
        """Do something with a disk that may be full, which must not end the training."""
        try:
            work()
        except ResultError as problem:
            self.listener.note(str(problem).rstrip("."))

    def _is_due(self) -> bool:
        """Whether an evaluation follows this epoch."""
        every = self.evaluate or 0
        while self.by_default and self._steps > TEN * every:
            every *= 2
        return every > 0 and self._steps % every == 0

    def _evaluate(self, ended: bool = False) -> None:
        """Repeat the last call in evaluation mode, then without messages where a control is due.

        By default that is where a layer is low enough to ask for its cause, and at the end of the block.
        """
        call = self.listener.last_call
        if call is None:
            self.listener.note(
                "evaluations repeat calls of the model itself, and none was seen; mode='train' records its layers"
            )
            return
        start, before = time.perf_counter(), self.overhead.watching
        self._repeat("eval", call)
        low = self.lowest < max(known.level for known in LEVELS.values())
        if self.control is not None and (self.control == NO_MESSAGES or low or ended):
            self._repeat("control", call)
        self.overhead.evaluate += time.perf_counter() - start - (self.overhead.watching - before)

    def _repeat(self, mode: str, call: tuple[Any, Any]) -> None:
        """One such pass, unless there is one of the same weights."""
        listener = self.listener
        if self._evaluated[mode] == listener.calls:
            return
        self._evaluated[mode] = listener.calls
        try:
            args, kwargs = without_messages(*call, self.n_nodes) if mode == "control" else call
            as_before = evaluation_mode(self.plain, mode == "control")
            with listener.recording_as(mode, call), as_before, uncompiled(), torch.no_grad():
                self.plain(*args, **kwargs)
            self.overhead.evaluations += mode == "eval"
            self.overhead.controls += mode == "control"
        except Exception as problem:  # of the model, in a mode that the training may not use
            if mode == "control" and self.control == AUTO:
                self.control = None  # nobody asked for it
            else:
                listener.note(f"a pass in evaluation mode failed: {type(problem).__name__}: {problem}")

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Do not record inside ``with w.pause():``."""
        before, self.listener.paused = self.listener.paused, True
        try:
            yield
        finally:
            self.listener.paused = before

    def __repr__(self) -> str:
        return f"<Watch: recorded {self.overhead.recorded_words}; layers {', '.join(self.layers)}; see w.over_layers()>"

    def _repr_html_(self) -> str:
        title = f"Watch: recorded {self.overhead.recorded_words}"
        rows = [(name, type(module).__name__) for name, module in self.layers.items()]
        scores = ", ".join(dict.fromkeys(name for known in self.scores.values() for name in known))
        note = (f"Scores: {scores}. " if scores else "") + "See dataset, table() and report()."
        table = html_table(title, ["layer", "module"], rows, note)
        return table + (html_list(self.problems) if self.problems else "")

    def _silence(self) -> str:
        """Why no pass was recorded, or that some had no watched layer."""
        silent = self.listener.silent
        if self.overhead.evaluations or self.overhead.passes > silent:
            return f"in {silent} passes no watched layer was called" if silent else ""
        named, mode = ", ".join(self.layers), self.listener.mode
        return (
            f"nothing was recorded: no forward pass in mode={mode!r} called a watched layer ({named}); copies are not "
            "watched, and compiled models call no hooks: use evaluate=, which runs the uncompiled model"
        )

    def _undefined(self) -> str:
        """Layers without one finite activation."""
        found = {name: rows for name, rows in self.undefined.items() if name != INPUT}
        bad = [name for name, (rows, without) in found.items() if without == rows]
        names = ", ".join(bad[:4]) + (" and others" if len(bad) > 4 else "")
        names = names if len(bad) < len(found) else "every layer"
        return f"every activation of {names} has NaN or infinite values" if bad else ""

    def influence(self, data: Any, **arguments: Any) -> "xr.Dataset":
        """The influence of each hop on the layers beside their spectra; see :func:`spectrata.torch.influence`."""
        from spectrata.torch.hop_influence import influence, with_shows

        with self.pause():
            found = influence(self.listener.model, data, list(self.layers), **arguments)
        return with_shows(found, self.over_layers()) if self.settings.algorithms else found


def _evaluations(evaluate: Any) -> int | None:
    """Every so many epochs; 0: at the end of the block; None: never."""
    if evaluate is None or evaluate is False:
        return None
    return 0 if evaluate is True else whole(evaluate, "evaluate")


def _one_graph(data: Any) -> Any:
    """The graph of a run; None for a loader or a batch of several, whose graphs come with every pass."""
    types = getattr(data, "edge_types", None)
    if types is not None:
        own = next((one for one in types if one[0] == one[-1]), None)
        kind = own or (types[0][0], "metapath_0", types[0][0])
        pairs = (
            "data = AddMetaPaths([[TYPE, REVERSED]])(data) of torch_geometric.transforms joins nodes of one kind, then "
        )
        raise OptionError(
            "A graph with several kinds of edges has no one Laplacian; watch the layers that give rows of one kind of "
            f"nodes: {'' if own else pairs}watch(model, data.edge_type_subgraph([{kind!r}]).to_homogeneous(), ...)."
        )
    several = int(getattr(data, "num_graphs", 1) or 1) > 1
    return None if several or isinstance(data, torch.utils.data.DataLoader) else data


def _largest_class(data: Any) -> dict[str, Any]:
    """The accuracy of always naming the largest class of the training nodes, where the data has labels."""
    y, mask = getattr(data, "y", None), getattr(data, "train_mask", None)
    if not isinstance(y, torch.Tensor) or y.is_floating_point() or y.numel() != int(getattr(data, "num_nodes", 0) or 0):
        return {}
    y = y.reshape(-1)
    y = y[mask] if isinstance(mask, torch.Tensor) and mask.shape == y.shape else y
    y = y[y >= 0]
    if not len(y):
        return {}
    return {"largest_class": float(torch.bincount(y).max()) / len(y), "labelled": len(y)}


def _fingerprint(model: torch.nn.Module) -> str:
    """The identity of a model: its class, and the names and shapes of its parameters."""
    parts = [type(model).__qualname__]
    for name, tensor in model.named_parameters():
        lazy = isinstance(tensor, torch.nn.parameter.UninitializedParameter)
        parts.append(f"{name} {'lazy' if lazy else tuple(tensor.shape)}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def watch(
    model: torch.nn.Module,
    data: Any = None,
    layers: str | torch.nn.Module | Iterable[str | torch.nn.Module] | None = None,
    *,
    every: int = 1,
    mode: str | None = None,
    evaluate: int | bool | None = None,
    control: str | None = AUTO,
    states: Iterable[str] = STATES,
    log: Any = None,
    **recording: Any,
) -> Watch:
    """Watch a model: measure its layers in evaluation mode while it trains, and at the end.

    Parameters
    ----------
    model : torch.nn.Module
        Left as it is: hooks copy outputs, and are removed at the end of the block.
    data : graph-like, Stratification, DataLoader or None
        The graph: PyG ``Data``, anything :func:`spectrata.spectra` takes, or a stratification to share its bases. A
        loader, a PyG ``Batch`` or None: every pass has its own graphs, read from the model's arguments.
    layers : list of str or Module, optional
        What to watch: names, patterns such as ``"convs.*"``, or modules; by default the message-passing layers.
    every : int
        With ``mode``: record the first and then every ``every``-th pass, counted in each mode.
    mode : {None, "train", "eval", "both", "none"}
        Passes of your own to record, none by default; with a mode, evaluations only where ``evaluate`` is given.
    evaluate : int or bool, optional
        Repeat the last call of the model in evaluation mode, without gradients and uncompiled: every so many calls of
        :meth:`Watch.step`, and at the end of the block; True: at the end alone. By default every tenth up to the
        hundredth, every twentieth up to the two-hundredth, and so on. Modes, buffers and random states are restored.
    control : {"auto", "no_messages", None}
        After an evaluation another one with self-loops as the only edges, and the same weights (mode "control").
        "auto": where the model is given edges, after evaluations with a layer below a level of collapse, and at the
        end; "no_messages": after each, or an error where the model is given no edges.
    states : tuple of str
        What to record beside the layers' outputs: "input", the features given to the model, when they change;
        "hidden", what the next layer is given after each watched layer (``LAYER/hidden``), so after activation and
        normalisation, and after dropout in training mode; "output", what the model returns, before a softmax.
    log : path or writer, or a list of them
        ``*.zarr``: an append-only log that survives a kill and that a later run continues; ``*.csv``, ``*.jsonl``:
        the table as it grows; a run of Weights & Biases; any other path: a TensorBoard folder.
    **recording
        Of :class:`Recorder`: ``algorithms`` and ``hops`` (spectra; by default none), ``weights``, ``keep``,
        ``metric``, ``zero_vectors``, ``seed``, ``memory_bytes``, ``flush_every``, and options of the algorithms.

    Returns
    -------
    Watch
        A context manager with ``dataset``, ``snapshots``, ``table()``, ``over_layers()``, ``overhead``.

    Examples
    --------
    >>> import torch
    >>> from spectrata.torch import watch
    >>> from torch_geometric.data import Data
    >>> from torch_geometric.nn import GCNConv
    >>> ring = torch.tensor([[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]])
    >>> data = Data(x=torch.eye(4), edge_index=ring)
    >>> model = GCNConv(4, 8)
    >>> with watch(model, data) as w:
    ...     for epoch in range(3):
    ...         _ = model(data.x, data.edge_index)
    ...         w.step(epoch=epoch)
    >>> w.over_layers().attrs["pass_mode"], w.over_layers().attrs["pass_epoch"]
    ('eval', 2)
    """
    return Watch(model, data, layers, every, mode, evaluate, control, states, log, **recording)
