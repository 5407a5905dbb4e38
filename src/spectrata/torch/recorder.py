"""Hooks that copy activations, and nothing else.

A pass begins when the watched model is called and ends when it returns; every k-th is kept. What a hook does is
guarded: a problem is noted and said later, never raised inside the model. Copies are detached; no random number is
drawn, no device is changed, no output is replaced.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

from spectrata.errors import ResultError
from spectrata.inputs.weights import IGNORED
from spectrata.torch.buffer import Snapshot
from spectrata.torch.layers import node_rows
from spectrata.torch.overhead import Overhead

MODES = ("train", "eval", "both")
MOST_PROBLEMS = 20


class HostCopy:
    """A tensor on its way to main memory; ``numpy()`` waits for it."""

    def __init__(self, tensor: torch.Tensor) -> None:
        source = tensor.detach()
        if source.dtype == torch.bfloat16:
            source = source.float()
        self._event: torch.cuda.Event | None = None
        if source.device.type == "cuda":
            # Ordered after the layer on its own stream, and the model does not wait for it.
            self._host = torch.empty(source.shape, dtype=source.dtype, pin_memory=True)
            self._host.copy_(source, non_blocking=True)
            self._event = torch.cuda.Event()
            self._event.record(torch.cuda.current_stream(source.device))
        else:
            self._host = source.to("cpu", copy=True)
        self.nbytes = self._host.numel() * self._host.element_size()

    def numpy(self) -> Any:
        """The copy, once it has arrived."""
        if self._event is not None:
            self._event.synchronize()
            self._event = None
        return self._host.numpy()


class Pass:
    """One forward pass while it lasts."""

    def __init__(self, step: int, kept: bool, training: bool, by_hand: bool) -> None:
        self.step, self.kept, self.training, self.by_hand = step, kept, training, by_hand
        self.fired = 0
        self.seen: dict[str, int] = {}
        self.layers: dict[str, HostCopy] = {}
        self.missing: dict[str, str] = {}
        self.graph: dict[str, HostCopy] = {}
        self.n_nodes: int | None = None


class Recorder:
    """Hooks on a model's layers, and the passes they see.

    Parameters
    ----------
    model : Module
    layers : mapping of str to Module
    sink : callable
        Takes each kept :class:`Snapshot`.
    n_nodes : int or None
        Rows of an activation; None to read the graph of every pass from the model's arguments.
    weights : bool, str, optional
        Whether to take the edge weights of each such graph, by their usual names or by this one.
    every : int
        Every so many passes of the mode are kept, the first among them.
    mode : {"train", "eval", "both"}
        Which passes count.
    first_step : int
        Number of the first pass.
    overhead : Overhead
        Where costs are counted.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        layers: Mapping[str, torch.nn.Module],
        sink: Callable[[Snapshot], None],
        *,
        n_nodes: int | None,
        weights: bool | str | None = None,
        every: int = 1,
        mode: str = "train",
        first_step: int = 0,
        overhead: Overhead | None = None,
    ) -> None:
        self.model, self.layers, self.sink = model, dict(layers), sink
        self.n_nodes, self.every, self.mode = n_nodes, every, mode
        self.weights = weights
        self._looked = weights is not None  # whether it is known that weights are there, and ignored
        self.next_step = first_step
        self.overhead = overhead or Overhead()
        self.epoch: int | None = None
        self.paused = False
        self.by_hand = False  # whether passes are opened by hand alone
        self.silent = 0  # passes in which no layer was heard
        self.problems: list[str] = []
        self._current: Pass | None = None
        self._root_seen = False
        self._handles: list[Any] = []

    # ---- hooks

    def attach(self) -> None:
        """Put the hooks on."""
        self._handles.append(self.model.register_forward_pre_hook(self._enter, with_kwargs=True))
        for name, module in self.layers.items():
            self._handles.append(module.register_forward_hook(self._layer_hook(name)))
        # Registered last: when the model itself is watched, its own output comes before the pass ends.
        self._handles.append(self.model.register_forward_hook(self._leave))

    def detach(self) -> None:
        """Take the hooks off; a pass that is still open is dropped unless its end could not be seen."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        if self._current is not None and not self._root_seen:
            self.end()
        self._current = None

    def _enter(self, module: torch.nn.Module, args: Any, kwargs: Any) -> None:
        if torch.compiler.is_compiling():
            return
        self._root_seen = True
        if self.by_hand or (self._current is not None and self._current.by_hand):
            self._guard(lambda: self._take_graph(args, kwargs))
        else:
            self._guard(lambda: self._open(bool(module.training), args, kwargs, by_hand=False))

    def _leave(self, module: torch.nn.Module, args: Any, output: Any) -> None:
        if torch.compiler.is_compiling() or self._current is None or self._current.by_hand:
            return
        self._guard(self._close)

    def _layer_hook(self, name: str) -> Callable[[torch.nn.Module, Any, Any], None]:
        def hook(module: torch.nn.Module, args: Any, output: Any) -> None:
            if torch.compiler.is_compiling():
                return
            self._guard(lambda: self._hear(name, module, args, output))

        return hook

    def _guard(self, work: Callable[[], None]) -> None:
        """Do our part without ever disturbing the model's."""
        if self.paused:
            return
        start = time.perf_counter()
        before = self._ours()
        try:
            with torch.no_grad():
                work()
        except ResultError as problem:  # a disk that refuses, in a sentence of its own
            self.note(str(problem).rstrip("."))
        except Exception as problem:
            self.note(f"{type(problem).__name__}: {problem}")
        self.overhead.record += time.perf_counter() - start - (self._ours() - before)

    def _ours(self) -> float:
        """Time that is counted elsewhere: a full buffer is transformed inside a hook."""
        return self.overhead.basis + self.overhead.transform + self.overhead.measure

    def note(self, problem: str) -> None:
        """Keep a problem to be said later, each once, and no more of them than anyone would read."""
        if problem not in self.problems and len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)

    # ---- passes

    def begin(self, training: bool, args: Any = ()) -> None:
        """Open a pass by hand, where the model's own call is not what counts."""
        self._guard(lambda: self._open(training, args, {}, by_hand=True))

    def end(self) -> None:
        """Close the open pass."""
        if self._current is not None:
            self._guard(self._close)

    def _open(self, training: bool, args: Any, kwargs: Any, by_hand: bool) -> None:
        self._current = None  # a pass that an exception cut short is dropped
        if self.mode != "both" and training != (self.mode == "train"):
            self._current = Pass(-1, False, training, by_hand)
            return
        step = self.next_step
        self._current = Pass(step, step % self.every == 0, training, by_hand)
        self.next_step += 1
        self.overhead.passes += 1
        self._take_graph(args, kwargs)

    def _take_graph(self, args: Any, kwargs: Any) -> None:
        current = self._current
        if current is None or not current.kept or self.n_nodes is not None or current.graph:
            return
        found = graph_in(args, kwargs)
        if found is not None:
            edges, batch, current.n_nodes = found
            current.graph = {"edge_index": HostCopy(edges), "batch": HostCopy(batch)}
            self._take_weights(args, kwargs, edges.shape[1])

    def _take_weights(self, args: Any, kwargs: Any, n_edges: int) -> None:
        if self._looked and not self.weights:
            return
        found = weights_in(args, kwargs, n_edges, self.weights if isinstance(self.weights, str) else None)
        if self.weights and found is not None and self._current is not None:
            self._current.graph["edge_weight"] = HostCopy(found)
        elif not self._looked:
            self._looked = True
            if found is not None and bool((found != 1).any()):
                self.note(IGNORED.rstrip("."))

    def _close(self) -> None:
        current, self._current = self._current, None
        if current is None or current.step < 0:
            return
        if not current.fired:
            self.silent += 1
            return
        if current.kept:
            if self.n_nodes is None and not current.graph:
                self.note("a pass showed no graph: give edge_index, a Data object, or data= to watch")
                return
            if self.n_nodes is None and self.weights and "edge_weight" not in current.graph:
                self.note(f"a pass showed no edge weights for weights={self.weights!r} and was left out")
                return
            self.overhead.recorded += 1
            self.overhead.copies += len(current.layers)
            self.sink(
                Snapshot(
                    current.step,
                    self.epoch,
                    current.training,
                    dict(current.layers),
                    current.missing,
                    dict(current.graph),
                )
            )

    def _hear(self, name: str, module: torch.nn.Module, args: Any, output: Any) -> None:
        current = self._current
        if current is None:
            if self._root_seen or self.by_hand:
                return  # recomputed in a backward pass, or called outside the model
            self._open(bool(module.training), args, {}, by_hand=False)
        elif not current.by_hand and not self._root_seen and name in current.seen:
            # Nobody calls the model itself: a layer heard again means that a new pass began.
            self._close()
            self._open(bool(module.training), args, {}, by_hand=False)
        current = self._current
        if current is None or current.step < 0:
            return
        current.fired += 1
        times = current.seen[name] = current.seen.get(name, 0) + 1
        if not current.kept:
            return
        if not current.graph:
            self._take_graph(args, {})
        key = name if times == 1 else f"{name}#{times}"
        n_nodes = self.n_nodes if self.n_nodes is not None else current.n_nodes
        rows = node_rows(output, n_nodes)
        if rows is None:
            current.missing[key] = "no output with one row per node"
        elif _is_wrapped(rows):
            current.missing[key] = "called inside a function transform"
        else:
            current.layers[key] = HostCopy(rows)


def _is_wrapped(tensor: torch.Tensor) -> bool:
    """Whether this is a stand-in of vmap or grad, which has no numbers of its own."""
    check = getattr(torch._C._functorch, "is_functorch_wrapped_tensor", None)
    return bool(check(tensor)) if check is not None else False


def graph_in(args: Any, kwargs: Any) -> tuple[torch.Tensor, torch.Tensor, int] | None:
    """``edge_index``, ``batch`` and the number of nodes, out of the arguments of a call."""
    values = [*args, *kwargs.values()]
    for value in values:
        edges = getattr(value, "edge_index", None)
        if isinstance(edges, torch.Tensor):
            n = int(value.num_nodes)
            batch = getattr(value, "batch", None)
            return edges, batch if isinstance(batch, torch.Tensor) else edges.new_zeros(n), n
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    edges = kwargs.get("edge_index")
    if not isinstance(edges, torch.Tensor):
        whole = [t for t in tensors if t.dtype == torch.int64 and t.ndim == 2 and t.shape[0] == 2]
        edges = whole[0] if whole else None
    features = [t for t in tensors if t.is_floating_point() and t.ndim >= 2]
    if edges is None or not features:
        return None
    n = int(features[0].shape[0])
    batch = kwargs.get("batch")
    if not isinstance(batch, torch.Tensor):
        lists = [t for t in tensors if t.dtype == torch.int64 and t.shape == (n,)]
        batch = lists[0] if lists else edges.new_zeros(n)
    return edges, batch, n


def weights_in(args: Any, kwargs: Any, n_edges: int, name: str | None = None) -> torch.Tensor | None:
    """One number per edge out of the arguments of a call: by its name, or by its usual names and its shape."""
    names = ("edge_weight", "edge_attr") if name is None else (name,)
    named = [kwargs.get(one) for one in names]
    named += [getattr(value, one, None) for value in (*args, *kwargs.values()) for one in names]
    unnamed = [value for value in args if isinstance(value, torch.Tensor) and value.ndim == 1] if name is None else []
    unnamed = [value for value in unnamed if value.is_floating_point()]
    for values in (*named, *unnamed):
        if isinstance(values, torch.Tensor) and values.numel() == n_edges:
            exact = values.is_floating_point() and values.element_size() >= 4
            return (values if exact else values.double()).reshape(-1)
    return None


def is_compiled(model: torch.nn.Module) -> bool:
    """Whether the model, or a part of it, runs compiled, where hooks are not called."""
    for module in model.modules():
        if hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None) is not None:
            return True
        if isinstance(module, torch.jit.ScriptModule):
            return True
    return False
