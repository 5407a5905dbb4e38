"""The options of all algorithms, checked once."""

import difflib
import json
import operator
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from spectrata.core.algorithms.ens import Weights, member_weights
from spectrata.errors import OptionError

CHOICES: dict[str, tuple[str | None, ...]] = {
    "orientation": ("rms", "random", "index"),
    "scaling": ("unit", "eigenvalue"),
    "laplacian": ("combinatorial", "normalized"),
    "transform": ("learned", "incidence"),
    "activation": (None, "selu", "relu"),
    "average": ("signed", "abs"),
}
# Arguments of the calls themselves, for the hint to whoever misspells one.
ARGUMENTS = (
    "algorithms",
    "hops",
    "metric",
    "preset",
    "seed",
    "keep",
    "zero_vectors",
    "device",
    "dtype",
    "n_eigs",
)
POSITIVE = ("trials", "max_epochs", "max_line_nodes")


@dataclass(frozen=True)
class Options:
    """Every option of every algorithm.

    Attributes
    ----------
    orientation : {"rms", "random", "index"}
        APPRX-LS: random orientations integrated out (root mean square); one random
        orientation from the seed; or from the lower to the higher row, as the
        released program, which makes the result depend on the order of nodes.
    scaling : {"unit", "eigenvalue"}
        ADJ-DIFF divided by ``sqrt(lam)`` (as published) or by ``lam`` (as printed).
    laplacian : {"combinatorial", "normalized"}
        The normalised one works for ``gft`` alone.
    transform : {"learned", "incidence"}
        How LN-VX gets from the line graph to the graph.
    trials, max_epochs, tolerance, learning_rate
        The learning of LN-VX: 20 trials, 1000 epochs, MSE 1e-6, Adagrad 0.01.
    literal : bool
        Learn ``H_ln`` itself, as the released program, instead of ``H_ln L(U)``.
    activation : {None, "selu", "relu"}
        Applied to the entries of ``H_ln`` and ``H_vx``; implies ``literal``.
    average : {"signed", "abs"}
        Average trials signed and then take the absolute value (the released
        program), or average absolute values (the text).
    by_part : bool
        Learn each connected part of the stratum alone.
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
    >>> st.Options().scaling
    'unit'
    """

    orientation: str = "rms"
    scaling: str = "unit"
    laplacian: str = "combinatorial"
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


def make_options(given: Mapping[str, Any]) -> Options:
    """Check and complete the options a caller gave."""
    known = [field.name for field in fields(Options)]
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, [*known, *ARGUMENTS], 1)
            hint = (
                f"did you mean {close[0]!r}?"
                if close
                else f"the options are {', '.join([*ARGUMENTS, *known])}."
            )
            raise OptionError(f"There is no option {name!r}; {hint}")
    options = Options(**given)
    for name, allowed in CHOICES.items():
        value = getattr(options, name)
        if not (value is None or isinstance(value, str)) or value not in allowed:
            listed = ", ".join(repr(choice) for choice in allowed)
            raise OptionError(f"{name}={value!r} is not one of {listed}.")
    return _check_numbers(options)


def _check_numbers(options: Options) -> Options:
    plain: dict[str, Any] = {}
    for name in POSITIVE:
        plain[name] = whole_number(getattr(options, name))
        if plain[name] is None or plain[name] < 1:
            raise OptionError(f"{name}={getattr(options, name)!r} must be a whole number of at least 1.")
    for name in ("tolerance", "learning_rate"):
        value = getattr(options, name)
        real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
        if not real or not np.isfinite(value) or value <= 0:
            raise OptionError(f"{name}={value!r} must be a positive number.")
        plain[name] = float(value)
    for name in ("literal", "by_part", "skip_large"):
        if not isinstance(getattr(options, name), (bool, np.bool_)):
            raise OptionError(f"{name}={getattr(options, name)!r} must be True or False.")
        plain[name] = bool(getattr(options, name))
    if not callable(options.ens_weights):
        member_weights(options.ens_weights, 1)
    return replace(options, **plain)


def whole_number(value: object) -> int | None:
    """The value as an int, or None when it is not a whole number; True is not."""
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None
