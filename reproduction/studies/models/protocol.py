"""The declared study: everything that decides its numbers, fixed before the run.

The halves of the graphs are part of it: levels are chosen on the models of one half and reported on the other.
"""

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

# Rules. Progress is the way from the baseline (the share of the largest class; .5 for ROC-AUC) to the highest
# mean test score of any configuration.
FAILED = 0.10  # a model failed when its progress is below
GOOD = 0.75  # and is good when it is above; the rest is the middle group
ENTERS = 0.10  # a graph enters when best - baseline is at least this
FITS = 0.90  # a model fits its training data when its progress on the training nodes is above
FALSE_ALARMS = 0.05  # a level flags at most this share of the good models of every graph of the choosing half
ENOUGH = 20  # good models that a graph needs to count for the rule above

CHOOSE, REPORT = "choose", "report"
ARCHITECTURES = ("gcn", "residual", "pairnorm", "layernorm", "sage", "gat", "gcnii", "appnp", "mlp")
WITHOUT_MESSAGES = ("mlp",)
MESSAGES, SELF_LOOPS = "messages", "self-loops"  # the edges a network is run, or trained, with
HOPS = (1, 2, 3, 4)
# Constants of the architectures, as in the papers that introduced them.
HEADS = 8  # of GAT's hidden layers
TELEPORT = 0.1  # APPNP's alpha, GCNII's alpha
GCNII_LAMBDA = 0.5
PAIRNORM_SCALE = 1.0


@dataclass(frozen=True)
class GraphSpec:
    name: str  # also of its file NAME.npz where source is "file"
    source: str  # "file", or how it is generated: "blocks", "geometric", "small_world", "preferential", "communities"
    half: str  # "choose" or "report"
    score: str = "accuracy"  # or "auc" for two unbalanced classes
    options: Mapping[str, Any] = field(default_factory=dict)  # of the generator


@dataclass(frozen=True)
class Recipe:
    name: str
    dropout: float
    weight_decay: float


@dataclass(frozen=True)
class Protocol:
    name: str
    graphs: tuple[GraphSpec, ...]
    architectures: tuple[str, ...] = ARCHITECTURES
    depths: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    seeds: int = 3  # models per graph, architecture, depth and recipe
    control_depths: tuple[int, ...] = (2, 8, 32)  # of networks trained with self-loops as their only edges
    control_seeds: int = 1
    recipes: tuple[Recipe, ...] = (Recipe("regularised", 0.5, 5e-4), Recipe("plain", 0.0, 0.0))
    width: int = 64  # hidden units
    epochs: int = 150  # steps of Adam on all training nodes; the last weights are judged
    learning_rate: float = 0.01
    pairs: int = 50_000  # at most, per hop beyond the first, in the contrast; a fixed sample where there are more
    band_nodes: int = 3_000  # larger graphs have energies per band at hop 1 alone
    seed: int = 0  # decides graphs, weights and dropout

    @property
    def digest(self) -> str:
        rules = {"failed": FAILED, "good": GOOD, "enters": ENTERS, "fits": FITS, "false_alarms": FALSE_ALARMS}
        constants = {"heads": HEADS, "teleport": TELEPORT, "lambda": GCNII_LAMBDA, "pairnorm": PAIRNORM_SCALE}
        plain = asdict(self) | {"rules": rules, "constants": constants, "hops": list(HOPS)}
        return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]

    def graph(self, name: str) -> GraphSpec:
        return next(spec for spec in self.graphs if spec.name == name)


def _generated(size: int, dimensions: int = 32) -> dict[str, GraphSpec]:
    """Generated graphs of about ``size`` nodes; every class has a mean feature vector of length ``signal``."""
    common = {"nodes": size, "dimensions": dimensions, "train": 0.2, "val": 0.2}
    rows = [row | {"options": common | row["options"]} for row in _declared["generated"]]
    return {row["name"]: GraphSpec(**row) for row in rows}


_declared = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
FILES = tuple(GraphSpec(**row) for row in _declared["file"])
FULL = Protocol("full", (*FILES, *_generated(1000).values()))
_SMALL = _generated(150, 16)
_QUICK_GRAPHS = tuple(_SMALL[name] for name in ("blocks-strong", "geometric", "blocks-weak", "small-world"))
QUICK = Protocol("quick", _QUICK_GRAPHS, **_declared["quick"])
