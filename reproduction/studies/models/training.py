"""One unit of the study: the seeds and recipes of one architecture and depth on one graph, trained together.

Runs share no weights, and Adam works weight by weight, so that training them together is training each alone.
"""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from torch.nn import functional as F

from reproduction.store import Arrays
from reproduction.studies.models.graphs import SPLITS
from reproduction.studies.models.judging import roc_area
from reproduction.studies.models.measures import measure_states
from reproduction.studies.models.networks import Network
from reproduction.studies.models.protocol import MESSAGES, SELF_LOOPS, WITHOUT_MESSAGES, Protocol, Recipe
from reproduction.studies.models.structure import Messages, OnDevice, Structure

Runs = Sequence[tuple[Recipe, int]]  # recipe and seed of each
After = Callable[[int, Network], None]
Over = Callable[[int], Messages]


@dataclass(frozen=True)
class Unit:
    graph: str
    architecture: str
    depth: int
    trained: str  # "messages", or "self-loops" for the control

    @property
    def name(self) -> str:
        control = "" if self.trained == MESSAGES else "-control"
        return f"{self.graph}-{self.architecture}-{self.depth}{control}"

    @property
    def evaluated(self) -> tuple[str, ...]:
        alone = self.architecture in WITHOUT_MESSAGES or self.trained == SELF_LOOPS
        return (SELF_LOOPS,) if alone else (MESSAGES, SELF_LOOPS)


def units(protocol: Protocol) -> list[Unit]:
    """Every unit of a protocol, the longest first: deep networks on large graphs finish before the time is up."""
    found = []
    for spec, architecture in product(protocol.graphs, protocol.architectures):
        found += [Unit(spec.name, architecture, depth, MESSAGES) for depth in protocol.depths]
        if architecture not in WITHOUT_MESSAGES:
            found += [Unit(spec.name, architecture, depth, SELF_LOOPS) for depth in protocol.control_depths]
    return sorted(found, key=lambda unit: -unit.depth)


def runs_of(protocol: Protocol, unit: Unit) -> list[tuple[Recipe, int]]:
    seeds = protocol.seeds if unit.trained == MESSAGES else protocol.control_seeds
    return [(recipe, seed) for recipe in protocol.recipes for seed in range(seeds)]


def run_unit(unit: Unit, structure: Structure, protocol: Protocol) -> Arrays:
    runs = runs_of(protocol, unit)
    network = fit(unit, structure, protocol, runs)
    with torch.no_grad():
        measured = []
        for edges in unit.evaluated:
            states = network(structure.features, structure.messages(edges))
            if edges == unit.evaluated[0]:  # what it was trained with
                score, loss = evaluate(states[-1], structure)
            measured.append(measure_states(states, structure))  # (state, R, measure)
    return {
        "score": score,
        "loss": loss,
        "recipe": np.array([protocol.recipes.index(recipe) for recipe, _ in runs]),
        "seed": np.array([seed for _, seed in runs]),
        "measure": np.stack(measured).transpose(2, 0, 1, 3).astype(np.float32),
    }


def fit(
    unit: Unit,
    structure: OnDevice,
    protocol: Protocol,
    runs: Runs,
    after: After | None = None,
    over: Over | None = None,
) -> Network:
    """Train with Adam on all training nodes for a fixed number of epochs; the last weights stay.

    ``after`` is called when an epoch has ended, ``over`` gives the edges of an epoch.
    """
    key = zlib.crc32(unit.name.encode())
    seeds = [int(np.random.SeedSequence([protocol.seed, key, seed]).generate_state(1)[0]) for _, seed in runs]
    torch.manual_seed(seeds[0])
    graph, always = structure.graph, structure.messages(unit.trained)
    shape = (unit.depth, protocol.width, graph.features.shape[1], graph.classes)
    dropout = [recipe.dropout for recipe, _ in runs]
    network = Network(unit.architecture, *shape, dropout, seeds, structure.device)
    losses(network(structure.features, always)[-1], structure, "train").sum().backward()  # makes the weights
    # Those that the backward pass has reached: attention over a single message learns nothing.
    weights = [weight for weight in network.weights.values() if weight.grad is not None]
    decay = torch.tensor([recipe.weight_decay for recipe, _ in runs], device=structure.device)
    decays = [decay.reshape(-1, *[1] * (weight.ndim - 1)).expand_as(weight) for weight in weights]
    optimizer = torch.optim.Adam(weights, lr=protocol.learning_rate, foreach=True)
    for epoch in range(protocol.epochs):
        network.training = True
        optimizer.zero_grad(set_to_none=True)
        outputs = network(structure.features, always if over is None else over(epoch))[-1]
        losses(outputs, structure, "train").sum().backward()
        with torch.no_grad():
            slopes = [weight.grad for weight in weights if weight.grad is not None]
            torch._foreach_addcmul_(slopes, weights, decays)
        optimizer.step()
        network.training = False
        if after is not None:
            after(epoch, network)
    return network


def losses(outputs: torch.Tensor, structure: OnDevice, split: str) -> torch.Tensor:
    """Cross-entropy of each run ``(R,)`` on the nodes of a split."""
    nodes = structure.splits[split]
    chosen = outputs[nodes].permute(1, 2, 0)  # (R, classes, nodes)
    wanted = structure.labels[nodes].expand(len(chosen), -1)
    return F.cross_entropy(chosen, wanted, reduction="none").mean(dim=1)


def evaluate(outputs: torch.Tensor, structure: OnDevice) -> tuple[np.ndarray, np.ndarray]:
    """Scores ``(R, split)`` and training losses ``(R,)``; outputs that are not finite count as constant."""
    loss = losses(outputs, structure, "train").cpu().numpy()
    finite = torch.isfinite(outputs).all(dim=2, keepdim=True).all(dim=0, keepdim=True)
    outputs = torch.where(finite, outputs, torch.zeros_like(outputs))
    scores = []
    for split in SPLITS:
        nodes = structure.splits[split]
        chosen, labels = outputs[nodes], structure.labels[nodes]
        if structure.graph.score == "auc":
            margin = (chosen[..., 1] - chosen[..., 0]).double().cpu().numpy()
            positive = labels.cpu().numpy() == 1
            scores.append(np.array([roc_area(row[~positive], row[positive]) for row in margin.T]))
        else:
            scores.append((chosen.argmax(dim=2) == labels[:, None]).double().mean(dim=0).cpu().numpy())
    return np.stack(scores, axis=1), loss
