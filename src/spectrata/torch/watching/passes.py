"""One forward pass while it lasts: what is copied of it, and under which name.

Beside the output of each watched layer a pass holds three kinds of states. ``input``: the features that the model is
given. ``LAYER/hidden``: what the next layer is given after LAYER, so after activation, normalisation, residual
connection and, in training mode, dropout; functional activations between modules have no hook of their own. The
output: what the model returns, before a softmax where that is the last step.
"""

from dataclasses import dataclass, field

import torch

from spectrata.torch.watching.hooks import Seen, copied, is_wrapped

STATES = ("input", "hidden", "output")
INPUT, OUTPUT = "input", "output"
COMPARED = 64  # rows that show whether one tensor is the softmax of another


@dataclass(eq=False)
class Pass:
    step: int  # its number; -1 for a pass that does not count
    kept: bool
    mode: str  # of "train", "eval", "control"
    by_hand: bool = False  # opened by hand, and ended by hand
    states: tuple[str, ...] = STATES  # to copy
    n_nodes: int | None = None
    fired: int = 0  # outputs of watched layers
    seen: dict[str, int] = field(default_factory=dict)  # calls of each layer
    layers: dict[str, torch.Tensor] = field(default_factory=dict)  # copies (n, d)
    missing: dict[str, str] = field(default_factory=dict)  # why there is none
    roles: dict[str, str] = field(default_factory=dict)  # other than "layer"
    graph: dict[str, torch.Tensor] = field(default_factory=dict)  # of mini-batches: edge_index, edge_weight
    shapes: set[tuple[int, ...]] = field(default_factory=set)  # of outputs without one row per node
    _state: Seen | None = None
    _source: tuple[str, bool] | None = None  # the layer that follows the state, and whether it is watched
    _made: Seen | None = None  # its output
    _last: tuple[str, bool, torch.Tensor] | None = None  # the layer heard last

    def key(self, name: str) -> str:
        """``name``, or ``name#2`` for the second call in one pass."""
        times = self.seen.get(name, 0)
        return name if times <= 1 else f"{name}#{times}"

    def copy(self, key: str, rows: torch.Tensor, role: str = "") -> None:
        """Copy a tensor with one row per node."""
        if is_wrapped(rows):
            self.missing[key] = "called inside a function transform"
            return
        self.layers[key] = copied(rows)
        if role:
            self.roles[key] = role

    def arrives(self, key: str, watched: bool, rows: torch.Tensor) -> None:
        """A layer is given these rows: a state of its own, unless it is one that was there before."""
        if self._state is not None and self._state.is_still(rows):  # a branch beside the layer before
            if watched and self._source is not None and not self._source[1]:
                self._source, self._made = (key, watched), None
            return
        copied = self._made is not None and self._made.is_still(rows)
        if self._source is not None and not copied and "hidden" in self.states and (watched or self._source[1]):
            self.copy(f"{self._source[0]}/hidden", rows, "hidden")
        self._state, self._source, self._made = Seen(rows), (key, watched), None

    def gives(self, key: str, watched: bool, rows: torch.Tensor) -> None:
        self._last = key, watched, rows
        if self._source is not None and self._source[0] == key:
            self._made = Seen(rows)

    def ends(self, output: torch.Tensor | None, own_end: bool) -> None:
        """The pass is over: its output is that of the last layer, or what the model returned.

        ``own_end`` where nobody calls the model itself, so that nothing is known of what follows the last layer.
        """
        last = self._last
        if "output" not in self.states or (last is None and output is None):
            return
        if last is not None and (own_end or (output is not None and _is_same(last[2], output))):
            key, watched, rows = last
            if watched:
                if key in self.layers:
                    self.roles[key] = OUTPUT
            else:
                self.copy(key, rows, OUTPUT)
        elif output is not None:
            self.copy(OUTPUT, output, OUTPUT)


def _is_same(last: torch.Tensor, output: torch.Tensor) -> bool:
    """Whether the model returned the last layer's output, as it is or through a softmax or a sigmoid."""
    if last.shape != output.shape:
        return False
    if last.data_ptr() == output.data_ptr():
        return True
    some, found = last[:COMPARED].detach().float(), output[:COMPARED].detach().float()
    maps = (lambda x: x, lambda x: x.log_softmax(-1), lambda x: x.softmax(-1), torch.sigmoid)
    return any(torch.allclose(made(some), found, rtol=1e-3, atol=1e-4) for made in maps)
