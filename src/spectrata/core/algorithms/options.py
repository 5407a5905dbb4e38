"""The options of all algorithms, checked once."""

import difflib
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, TypeVar

from spectrata.core.algorithms.ens import Weights
from spectrata.core.operators import LAPLACIANS, Operator
from spectrata.errors import OptionError
from spectrata.inputs.numbers import flag, one_of, positive, whole

CHOICES: dict[str, tuple[str | None, ...]] = {
    "orientation": ("rms", "random", "index"),
    "scaling": ("unit", "eigenvalue", "program"),
    "laplacian": LAPLACIANS,
    "transform": ("learned", "incidence"),
    "activation": (None, "selu", "relu"),
    "average": ("signed", "abs"),
}
POSITIVE = ("trials", "max_epochs", "max_line_nodes")
FLAGS = ("self_loops", "literal", "by_part", "skip_large")


@dataclass(frozen=True)
class Options:
    """Every option of every algorithm.

    Attributes
    ----------
    orientation : {"rms", "random", "index"}
        APPRX-LS: random orientations integrated out (root mean square); one random orientation from the seed; or from
        the lower to the higher row, as the released program, which makes the result depend on the order of nodes.
    scaling : {"unit", "eigenvalue", "program"}
        ADJ-DIFF divided by ``sqrt(lam)`` (as the published figures), by ``lam`` (as printed), or by ``sqrt(n lam)``
        (as the released program).
    laplacian : {"combinatorial", "random_walk", "normalized"}
        ``D - W``; ``I - D^-1 W`` with nodes weighted by their degrees; or ``I - D^-1/2 W D^-1/2``, which works with
        ``gft`` only.
    self_loops : bool
        Add a loop to every node: the operator of graph convolutional networks.
    transform : {"learned", "incidence"}
        How LN-VX gets from the line graph to the graph.
    trials, max_epochs, tolerance, learning_rate
        The learning of LN-VX: 20 trials, 1000 epochs, MSE 1e-6, Adagrad 0.01.
    literal : bool
        Learn ``H_ln`` itself, as the released program, instead of ``H_ln L(U)``.
    activation : {None, "selu", "relu"}
        Applied to the entries of ``H_ln`` and ``H_vx``; implies ``literal``.
    average : {"signed", "abs"}
        Average trials signed and then take the absolute value (the released program), or average absolute values (the
        text).
    by_part : bool
        Learn each connected part of the stratum separately.
    max_line_nodes, skip_large
        Largest line graph that is solved, and whether larger ones are left NaN instead of being an error.
    ens_weights : str, mapping or function of the hop
        ENS: "paper", "even", "pulse", "fast", ``{"adj_diff": 1.0, ...}``, or ``f(hop)`` that gives one.

    Examples
    --------
    They are given to the calls by name; here ADJ-DIFF is divided by the eigenvalue, undefined at 0.

    >>> import networkx as nx, spectrata as st
    >>> ds = st.spectra(nx.path_graph(3), [0.0, 1.0, 3.0], "adj_diff", hops=1, scaling="eigenvalue")
    >>> ds["magnitude"].loc["adj_diff", 1].values.round(3).tolist()
    [nan, 2.121, 1.225]
    >>> Options().scaling
    'unit'
    """

    orientation: str = "rms"
    scaling: str = "unit"
    laplacian: str = "combinatorial"
    self_loops: bool = False
    transform: str = "learned"
    trials: int = 20
    max_epochs: int = 1000
    tolerance: float = 1e-6
    learning_rate: float = 0.01
    literal: bool = False
    activation: str | None = None
    average: str = "signed"
    by_part: bool = False
    max_line_nodes: int = 2500
    skip_large: bool = False
    ens_weights: Weights = "paper"

    @property
    def operator(self) -> Operator:
        """The Laplacian."""
        return Operator(self.laplacian, self.self_loops)

    def learning_key(self) -> tuple:
        """Everything a learned transform depends on besides the graph and the seed."""
        names = ("trials", "max_epochs", "tolerance", "learning_rate", "literal", "activation", "by_part")
        return tuple(getattr(self, name) for name in names)

    def to_json(self) -> str:
        """The resolved options as JSON text; a function of the hop is named, not stored."""
        plain = asdict(replace(self, ens_weights="")) | {"ens_weights": self.ens_weights}
        if callable(self.ens_weights):
            plain["ens_weights"] = f"function {getattr(self.ens_weights, '__name__', 'of the hop')}"
        elif isinstance(self.ens_weights, Mapping):
            plain["ens_weights"] = {str(name): float(weight) for name, weight in self.ens_weights.items()}
        return json.dumps(plain)


def make_options(given: Mapping[str, Any], arguments: Iterable[str] = ()) -> Options:
    """Check and complete the options a caller gave; ``arguments`` are those of the call, for hints."""
    known = [field.name for field in fields(Options)]
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, [other for other in (*known, *arguments) if other != name], 1)
            hint = f"did you mean {near[0]!r}?" if near else f"the options are {', '.join([*arguments, *known])}."
            raise OptionError(f"There is no option {name!r}; {hint}")
    options = Options(**given)
    for name, allowed in CHOICES.items():
        one_of(getattr(options, name), name, allowed)
    plain: dict[str, Any] = {name: whole(getattr(options, name), name) for name in POSITIVE}
    plain |= {name: positive(getattr(options, name), name) for name in ("tolerance", "learning_rate")}
    plain |= {name: flag(getattr(options, name), name) for name in FLAGS}
    options = replace(options, **plain)
    options.operator  # noqa: B018 - refuses combinations that have no meaning
    return options


Call = TypeVar("Call", bound=Callable[..., Any])


def shows_options(function: Call) -> Call:
    """Show every option in the signature of a function that takes ``**options``."""
    signature = inspect.signature(function)
    kept = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    shown = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=one.type)
        for one in fields(Options)
        if one.name not in signature.parameters
    ]
    function.__signature__ = signature.replace(parameters=[*kept, *shown])  # type: ignore[attr-defined]
    return function
