"""The architectures, several runs at once: every weight has the runs as its first axis, every state is ``(n, R, h)``.

A network gives its hidden states after their activation and its outputs. ``depth`` counts message-passing layers
(linear layers of the MLP, propagation steps of APPNP).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch.nn import functional as F

from reproduction.studies.models.protocol import GCNII_LAMBDA, HEADS, PAIRNORM_SCALE, TELEPORT
from reproduction.studies.models.structure import Messages

Tensor = torch.Tensor
States = list[Tensor]  # hidden states, then the outputs
TINY = 1e-6


@dataclass(eq=False)
class Network:
    """One architecture with R runs, whose weights are made on first use from generators of their own."""

    architecture: str  # of FORWARD
    depth: int
    width: int
    inputs: int
    classes: int
    dropout: list[float]  # of each run
    seeds: list[int]  # of each run's first weights
    device: torch.device
    training: bool = False

    def __post_init__(self) -> None:
        self.keep = 1 - torch.tensor(self.dropout, device=self.device)[:, None]  # (R, 1)
        self.generators = [torch.Generator().manual_seed(seed) for seed in self.seeds]
        self.weights: dict[str, Tensor] = {}

    def __call__(self, x: Tensor, over: Messages) -> States:
        return FORWARD[self.architecture](self, x, over)

    def matrix(self, name: str, rows: int, columns: int) -> Tensor:
        """Glorot uniform ``(R, rows, columns)``."""
        bound = math.sqrt(6 / (rows + columns))
        return self._made(name, lambda g: (2 * torch.rand((rows, columns), generator=g) - 1) * bound)

    def vector(self, name: str, size: int, value: float = 0.0) -> Tensor:
        """A constant ``(R, size)``."""
        return self._made(name, lambda g: torch.full((size,), value))

    def _made(self, name: str, draw: Callable[[torch.Generator], Tensor]) -> Tensor:
        if name not in self.weights:
            drawn = torch.stack([draw(generator) for generator in self.generators])
            self.weights[name] = drawn.to(self.device).requires_grad_()
        return self.weights[name]

    def linear(self, name: str, x: Tensor, columns: int, bias: bool = True) -> Tensor:
        """``(n, f)`` or ``(n, R, h)`` to ``(n, R, columns)``."""
        weight = self.matrix(name, x.shape[-1], columns)
        if x.ndim == 2:  # all runs share the features
            out = (x @ weight.permute(1, 0, 2).reshape(x.shape[1], -1)).reshape(len(x), -1, columns)
        else:
            out = torch.einsum("nrh,rhk->nrk", x, weight)
        return out + self.vector(f"{name}.bias", columns) if bias else out

    def drop(self, x: Tensor) -> Tensor:
        """Dropout of hidden states, not of the features, while training; each run at its own rate."""
        if not (self.training and any(self.dropout)) or x.ndim == 2:
            return x
        return x * torch.bernoulli(self.keep.expand(x.shape)).div_(self.keep)


Layer = Callable[[Network, Tensor, Messages, int, int], Tensor]  # of the layer's number and its columns


def _layered(net: Network, x: Tensor, over: Messages, layer_of: Layer) -> States:
    """Layer after layer; all but the last, the outputs, with normalisation, activation and residual connection."""
    activation = F.elu if layer_of is _gat else F.relu
    states: States = []
    for layer in range(net.depth):
        last = layer == net.depth - 1
        h = layer_of(net, net.drop(x), over, layer, net.classes if last else net.width)
        h = h if last else activation(_normalised(net, h, layer))
        x = h + x if "residual" in net.architecture and layer > 0 and not last else h
        states.append(x)
    return states


def _gcn(net: Network, x: Tensor, over: Messages, layer: int, columns: int) -> Tensor:
    """GCN (Kipf and Welling 2017): plain, residual, or with a normalisation before the activation."""
    h = over.gcn(net.linear(f"conv{layer}", x, columns, bias=False))
    return h + net.vector(f"conv{layer}.bias", columns)


def _normalised(net: Network, h: Tensor, layer: int) -> Tensor:
    if net.architecture.endswith("pairnorm"):  # Zhao and Akoglu 2020
        h = h - h.mean(dim=0)
        return PAIRNORM_SCALE * h / torch.sqrt(TINY + h.square().sum(dim=2).mean(dim=0))[:, None]
    if net.architecture.endswith("layernorm"):
        h = F.layer_norm(h, h.shape[-1:])
        scale = net.vector(f"norm{layer}.scale", net.width, 1.0)
        return h * scale + net.vector(f"norm{layer}.shift", net.width)
    return h


def _sage(net: Network, x: Tensor, over: Messages, layer: int, columns: int) -> Tensor:
    """GraphSAGE with the mean of the neighbours (Hamilton et al. 2017)."""
    neighbours = over.mean(net.linear(f"neighbours{layer}", x, columns, bias=False))
    return neighbours + net.linear(f"root{layer}", x, columns)


def _mlp(net: Network, x: Tensor, over: Messages, layer: int, columns: int) -> Tensor:
    return net.linear(f"layer{layer}", x, columns)


def _gat(net: Network, x: Tensor, over: Messages, layer: int, columns: int) -> Tensor:
    """GAT (Velickovic et al. 2018): 8 heads and ELU in hidden layers, one head for the outputs."""
    h = net.linear(f"conv{layer}", x, columns, bias=False)
    h = _attention(net, h, over, layer, 1 if layer == net.depth - 1 else HEADS)
    return h + net.vector(f"conv{layer}.bias", columns)


def _attention(net: Network, h: Tensor, over: Messages, layer: int, heads: int) -> Tensor:
    n, runs, columns = h.shape
    split = h.reshape(n, runs, heads, columns // heads)
    sides = [net.matrix(f"attention{layer}.{side}", heads, columns // heads) for side in ("from", "to")]
    if len(over.source) == n:  # a single message has weight 1
        return h
    sent, received = ((split * side).sum(dim=3).reshape(n, -1) for side in sides)  # (n, R * heads)
    score = F.leaky_relu(sent[over.source] + received[over.target], 0.2)  # (e, R * heads)
    target = over.target[:, None].expand_as(score)
    with torch.no_grad():
        top = torch.full_like(sent, -torch.inf).scatter_reduce(0, target, score, "amax")
    weight = torch.exp(score - top[over.target])
    total = torch.zeros_like(sent).index_add(0, over.target, weight)
    weight = (weight / total[over.target]).reshape(-1, runs, heads, 1)
    out = torch.zeros_like(split).index_add(0, over.target, split[over.source] * weight)
    return out.reshape(n, runs, columns)


def _gcnii(net: Network, x: Tensor, over: Messages) -> States:
    """GCNII (Chen et al. 2020), between an input and an output layer."""
    first = h = F.relu(net.linear("input", x, net.width))
    states = [h]
    for layer in range(net.depth):
        beta = math.log(GCNII_LAMBDA / (layer + 1) + 1)
        mixed = (1 - TELEPORT) * over.gcn(net.drop(h)) + TELEPORT * first
        h = F.relu((1 - beta) * mixed + beta * net.linear(f"conv{layer}", mixed, net.width, bias=False))
        states.append(h)
    return [*states, net.linear("output", net.drop(h), net.classes)]


def _appnp(net: Network, x: Tensor, over: Messages) -> States:
    """APPNP (Gasteiger et al. 2019): an MLP of two layers, then ``depth`` steps of personalised propagation."""
    hidden = F.relu(net.linear("hidden", x, net.width))
    first = z = net.linear("output", net.drop(hidden), net.classes)
    for _ in range(net.depth):
        z = (1 - TELEPORT) * over.gcn(z) + TELEPORT * first
    return [hidden, z]


FORWARD: dict[str, Callable[[Network, Tensor, Messages], States]] = {
    **dict.fromkeys(
        ("gcn", "residual", "pairnorm", "layernorm", "residual-layernorm"), partial(_layered, layer_of=_gcn)
    ),
    **dict.fromkeys(("gat", "gat-pairnorm", "gat-residual-layernorm"), partial(_layered, layer_of=_gat)),
    **{"sage": partial(_layered, layer_of=_sage), "mlp": partial(_layered, layer_of=_mlp)},
    **{"gcnii": _gcnii, "appnp": _appnp},
}
