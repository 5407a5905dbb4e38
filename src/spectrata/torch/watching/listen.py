"""Hooks that copy activations.

A pass begins when the watched model is called and ends when it returns; every k-th of its mode is kept. A problem in
a hook is noted and reported at the end of the block, never raised inside the model. Copies are detached; no random
number is drawn, no device is changed, no output is replaced.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch

from spectrata.errors import ResultError
from spectrata.inputs.canonical import ignored
from spectrata.torch.watching.arguments import features_in, graph_in, weights_in
from spectrata.torch.watching.hooks import Hook, Seen, copied
from spectrata.torch.watching.layers import node_rows
from spectrata.torch.watching.overhead import Overhead
from spectrata.torch.watching.passes import INPUT, Pass

MODES = ("train", "eval", "both", "none")
MOST_PROBLEMS = 20
Call = tuple[tuple, dict[str, Any]]


@dataclass(eq=False)
class Listener:
    """Hooks on a model's layers, and the passes they see."""

    model: torch.nn.Module
    layers: Mapping[str, torch.nn.Module]  # the watched ones
    readers: Mapping[str, torch.nn.Module]  # others, whose inputs are states of the model
    sink: Callable[[Pass], None]  # takes each kept pass
    n_nodes: int | None  # rows of an activation; None: every pass has a graph of its own, among the arguments
    weights: bool | str | None  # of such graphs: by their usual names, or by this one
    every: int  # so many passes are kept, counted in each mode, the first among them
    mode: str  # of MODES: which passes count
    states: tuple[str, ...]
    next_step: int  # number of the next pass
    overhead: Overhead
    wants_calls: bool  # whether to hold the arguments of the last call
    check_call: Callable[[Call], Any] | None  # may raise, at the first call
    last_call: Call | None = None
    counts: dict[str, int] = field(default_factory=lambda: {"train": 0, "eval": 0})
    paused: bool = False
    by_hand: bool = False  # whether passes are opened by hand alone
    calls: int = 0  # of the model, by others than us
    trained: int = 0  # those in training mode
    silent: int = 0  # passes in which no hook of a layer ran
    root_seen: bool = False  # whether anybody calls the model itself
    problems: list[str] = field(default_factory=list)
    _sized: bool = False  # whether outputs of another size were noted
    _looked: bool = False  # whether edge weights that are ignored were looked for
    _forced: tuple[str, Call] | None = None  # mode of the next pass, and where its graph is
    _input: tuple[Seen, torch.Tensor] | None = None
    _current: Pass | None = None
    _handles: list[Any] = field(default_factory=list)
    _compiled: Callable[..., Any] | None = None  # what model.compile() made
    _inside: bool = False  # whether it is being called

    # ---- hooks

    def attach(self) -> None:
        put = self._handles.append
        roots = {id(one): one for one in (self.model, getattr(self.model, "_orig_mod", self.model))}.values()
        for root in roots:  # a compiled model, and the one that evaluations run
            put(root.register_forward_pre_hook(Hook(self, Listener._enter), with_kwargs=True))
        for watched, modules in ((True, self.layers), (False, self.readers)):
            for name, module in modules.items():
                put(module.register_forward_pre_hook(Hook(self, Listener._arrive, name, watched), with_kwargs=True))
                put(module.register_forward_hook(Hook(self, Listener._hear, name, watched)))
        # Registered last: when the model itself is watched, its own output comes before the pass ends.
        for root in roots:
            put(root.register_forward_hook(Hook(self, Listener._leave)))
        self._compiled = getattr(self.model, "_compiled_call_impl", None)
        if self._compiled is not None:
            self.model._compiled_call_impl = self._around_compiled

    def detach(self) -> None:
        """Take the hooks off; a pass that is still open is dropped unless its end could not be seen."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        if self._compiled is not None:
            self.model._compiled_call_impl = self._compiled
        if self._current is not None and not self.root_seen:
            self.end()
        self._current = self.last_call = self._input = None

    def _around_compiled(self, *args: Any, **kwargs: Any) -> Any:
        """Call a model after ``model.compile()``: inside what is compiled, hooks are not called."""
        assert self._compiled is not None
        if self._forced is not None or self._inside:
            return self._compiled(*args, **kwargs)
        self._enter(self.model, args, kwargs)
        self._inside = True
        try:
            output = self._compiled(*args, **kwargs)
        finally:
            self._inside = False
        self._leave(self.model, args, output)
        return output

    def _enter(self, module: torch.nn.Module, args: Any, kwargs: Any) -> None:
        if self._inside and self._forced is None:
            return
        self.root_seen = True
        self.calls += self._forced is None
        self.trained += self._forced is None and bool(module.training)
        if self.wants_calls and self._forced is None and not self.paused:
            if self.last_call is None and self.check_call is not None:
                self.check_call((args, kwargs))
            self.last_call = args, kwargs
        if self._forced is None and (self.by_hand or (self._current is not None and self._current.by_hand)):
            self._guard(lambda: self._take_arguments(args, kwargs))
        else:
            self._guard(lambda: self._open(bool(module.training), args, kwargs, by_hand=False))

    def _leave(self, module: torch.nn.Module, args: Any, output: Any) -> None:
        current = self._current
        if current is None or current.by_hand:
            return
        if current.kept:
            self._guard(lambda: self._close(output))
        else:
            self._close()

    def _guard(self, work: Callable[[], None]) -> None:
        """Do our part without ever disturbing the model's."""
        if self.paused:
            return
        start = time.perf_counter()
        before = self.overhead.computed
        is_kept = self._current is not None and self._current.kept
        try:
            with torch.no_grad() if is_kept else nullcontext():
                work()
        except ResultError as problem:  # a disk that refuses, in a sentence of its own
            self.note(str(problem).rstrip("."))
        except Exception as problem:
            self.note(f"{type(problem).__name__}: {problem}")
        # A full buffer is transformed inside a hook, and counted elsewhere.
        self.overhead.record += time.perf_counter() - start - (self.overhead.computed - before)

    def note(self, problem: str) -> None:
        """Keep a problem to be reported later, each once, and no more of them than anyone would read."""
        if problem not in self.problems and len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)

    # ---- passes

    @contextmanager
    def recording_as(self, mode: str, call: Call) -> Iterator[None]:
        """Keep the next pass, whatever its number, as one of this mode, with the graph of this call."""
        paused, self.paused = self.paused, False
        self._forced = mode, call
        try:
            yield
        finally:
            self._forced, self.paused = None, paused

    def begin(self, training: bool, args: Any = ()) -> None:
        """Open a pass by hand, where the model's own call is not what counts."""
        self._guard(lambda: self._open(training, args, {}, by_hand=True))

    def end(self) -> None:
        if self._current is not None:
            self._guard(self._close)

    def _open(self, training: bool, args: Any, kwargs: Any, by_hand: bool) -> None:
        self._current = None  # a pass that an exception cut short is dropped
        mode = "train" if training else "eval"
        if self._forced is not None:
            mode, (args, kwargs) = self._forced
            kept = True
        elif self.mode not in ("both", mode):
            self._current = Pass(-1, False, mode, by_hand)
            return
        else:
            kept = self.counts[mode] % self.every == 0
            self.counts[mode] += 1
            self.overhead.passes += 1
        self._current = Pass(self.next_step, kept, mode, by_hand, self.states, self.n_nodes)
        self.next_step += 1
        with torch.no_grad() if kept else nullcontext():
            self._take_arguments(args, kwargs)

    def _take_arguments(self, args: Any, kwargs: Any) -> None:
        """The graph and the features of a pass, out of the arguments of a call."""
        current = self._current
        if current is None or not current.kept:
            return
        if self.n_nodes is None and not current.graph:
            found = graph_in(args, kwargs)
            if found is not None:
                edges, current.n_nodes = found
                current.graph = {"edge_index": copied(edges)}
                self._take_weights(args, kwargs, edges.shape[1])
        if INPUT in self.states and INPUT not in current.layers and not current.seen:
            features = features_in(args, kwargs, current.n_nodes)
            if features is not None:
                self._take_input(features)

    def _take_input(self, features: torch.Tensor) -> None:
        """Copy the input where it changed: of one graph it mostly does not, and it is the widest of all."""
        assert self._current is not None
        if self.n_nodes is not None and self._input is not None:
            seen, held = self._input
            if seen.is_still(features):
                return
            comparable = features.device.type == "cpu" and features.layout == torch.strided
            if comparable and features.dtype == held.dtype and torch.equal(features.detach(), held):
                return
        self._current.copy(INPUT, features, INPUT)
        if self.n_nodes is not None and INPUT in self._current.layers:
            self._input = Seen(features), self._current.layers[INPUT]

    def _take_weights(self, args: Any, kwargs: Any, n_edges: int) -> None:
        if self._looked or self.weights is False:
            return
        found = weights_in(args, kwargs, n_edges, self.weights if isinstance(self.weights, str) else None)
        if self.weights and found is not None and self._current is not None:
            self._current.graph["edge_weight"] = copied(found)
        elif self.weights is None:
            self._looked = True
            if found is not None and bool((found != 1).any()):
                self.note(ignored().rstrip("."))

    def _close(self, output: Any = None) -> None:
        current, self._current = self._current, None
        if current is None or current.step < 0:
            return
        if not current.fired:
            self.silent += 1
            return
        if not current.kept:
            return
        if self.n_nodes is None and not current.graph:
            self.note("a pass showed no graph: give edge_index, a Data object, or data= to watch")
            return
        if self.n_nodes is None and self.weights and "edge_weight" not in current.graph:
            self.note(f"a pass showed no edge weights for weights={self.weights!r} and was left out")
            return
        returned = None if output is None else node_rows(output, current.n_nodes)
        current.ends(returned, own_end=output is None)
        if not set(current.layers) - {INPUT} and current.shapes and not self._sized:  # a graph of another size
            self._sized = True
            shapes = ", ".join(map(str, sorted(current.shapes)[:3]))
            self.note(
                f"no watched layer gave one row per node: the graph has {current.n_nodes} nodes, and outputs have the "
                f"shapes {shapes}; give watch the graph that the model is called with, or for sampled batches none"
            )
        self.overhead.recorded += self._forced is None  # extra passes are counted where they are made
        self.sink(current)

    # ---- layers

    def _passed_by(self) -> Pass | None:
        """The open pass of a called model if it is not kept: its layers are only counted. Most calls are of such."""
        current = self._current
        return None if current is None or current.kept or not self.root_seen or self.paused else current

    def _arrive(self, name: str, watched: bool, module: torch.nn.Module, args: Any, kwargs: Any) -> None:
        current = self._passed_by()
        if current is None:
            self._guard(lambda: self._take_state(name, watched, module, args, kwargs))
        else:
            current.seen[name] = 1

    def _take_state(self, name: str, watched: bool, module: torch.nn.Module, args: Any, kwargs: Any) -> None:
        if not self.root_seen and not self.by_hand and watched:
            # Nobody calls the model itself: a layer called again means that a new pass began.
            if self._current is not None and not self._current.by_hand and name in self._current.seen:
                self._close()
            if self._current is None:
                self._open(bool(module.training), args, kwargs, by_hand=False)
        current = self._current
        if current is None or current.step < 0:
            return  # recomputed in a backward pass, or called outside the model
        if watched and current.kept and (not current.graph or not current.layers):
            self._take_arguments(args, kwargs)
        current.seen[name] = current.seen.get(name, 0) + 1
        rows = node_rows((args, kwargs), current.n_nodes) if current.kept else None
        if rows is not None:
            current.arrives(current.key(name), watched, rows)

    def _hear(self, name: str, watched: bool, module: torch.nn.Module, args: Any, output: Any) -> None:
        current = self._passed_by()
        if current is None:
            self._guard(lambda: self._take_output(name, watched, output))
        else:
            current.fired += watched and name in current.seen

    def _take_output(self, name: str, watched: bool, output: Any) -> None:
        current = self._current
        if current is None or current.step < 0 or name not in current.seen:
            return
        current.fired += watched
        if not current.kept:
            return
        key, rows = current.key(name), node_rows(output, current.n_nodes)
        if rows is not None:
            current.gives(key, watched, rows)
            if watched:
                current.copy(key, rows)
        elif watched:
            current.missing[key] = "no output with one row per node"
            if isinstance(output, torch.Tensor):
                current.shapes.add(tuple(output.shape))
