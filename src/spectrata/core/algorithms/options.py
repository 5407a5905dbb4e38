"""The options of all algorithms, checked once."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from spectrata.core.algorithms.ens import Weights
from spectrata.core.operators import Laplacian
from spectrata.errors import OptionError
from spectrata.inputs.numbers import flag, one_of, positive, whole

CHOICES: dict[str, tuple[str | None, ...]] = {
    "orientation": ("rms", "random", "index"),
    "scaling": ("unit", "eigenvalue", "program"),
    "transform": ("learned", "incidence"),
    "activation": (None, "selu", "relu"),
    "average": ("signed", "abs"),
}
CHECKS: dict[str, Any] = dict.fromkeys(("trials", "max_epochs", "max_line_nodes"), whole)
CHECKS |= dict.fromkeys(("tolerance", "learning_rate"), positive)
CHECKS |= dict.fromkeys(("self_loops", "literal", "by_part", "skip_large"), flag)
OPERATOR = ("laplacian", "self_loops")
# The mapping of each algorithm, ``ln_vx={"trials": 20}``: what an option is called there, and the field it sets.
LN_VX = (
    "transform", "trials", "max_epochs", "tolerance", "learning_rate", "literal", "activation", "average", "by_part",
)  # fmt: skip
OPTIONS_OF: dict[str, dict[str, str]] = {
    "apprx_ls": {"orientation": "orientation"},
    "adj_diff": {"scaling": "scaling"},
    "ln_vx": {name: name for name in (*LN_VX, "max_line_nodes", "skip_large")},
    "ens": {"weights": "ens_weights"},
}
HOME = {field: (name, option) for name, own in OPTIONS_OF.items() for option, field in own.items()}
# Arguments of ``spectra``, for hints, and those of ``Stratification`` that a caller may look for there.
ARGUMENTS = ("algorithms", "hops", "weights", *OPERATOR, "metric", "columns", "zero_vectors", "preset", "seed")
OF_STRATIFICATION = (
    "edges", "adjacency", "n_nodes", "hop_weights", "undirected", "cache", "keep", "device", "dtype", "n_eigs",
    "which", "progress",
)  # fmt: skip


@dataclass(frozen=True)
class Options:
    """Every option of every algorithm, as the algorithms read them.

    A call gives those of one algorithm as one mapping: ``apprx_ls={"orientation": ...}``,
    ``adj_diff={"scaling": ...}``, ``ens={"weights": ...}``, the rest in ``ln_vx={...}``.

    Attributes
    ----------
    orientation : {"rms", "random", "index"}
        APPRX-LS: random orientations integrated out (root mean square); one random orientation from the seed; or from
        the lower to the higher row, as the released program, which makes the result depend on the order of nodes.
    scaling : {"unit", "eigenvalue", "program"}
        ADJ-DIFF divided by ``sqrt(lam)`` (as the published figures), by ``lam`` (as printed), or by ``sqrt(n lam)``
        (as the released program).
    laplacian, self_loops
        As for :func:`spectrata.spectra`.
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
    Calls take them as one mapping per algorithm; here ADJ-DIFF is divided by the eigenvalue, undefined at 0.

    >>> import networkx as nx, spectrata as st
    >>> ds = st.spectra(nx.path_graph(3), [0.0, 1.0, 3.0], "adj_diff", hops=1, adj_diff={"scaling": "eigenvalue"})
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
    def operator(self) -> Laplacian:
        """The Laplacian."""
        return Laplacian(self.laplacian, self.self_loops)

    def plain(self) -> dict[str, Any]:
        """The resolved options as a result stores them; a function of the hop is named."""
        weights: Any = self.ens_weights
        if callable(weights):
            weights = f"function {getattr(weights, '__name__', 'of the hop')}"
        elif isinstance(weights, Mapping):
            weights = {str(name): float(weight) for name, weight in weights.items()}
        return vars(self) | {"ens_weights": weights}


def make_options(given: Mapping[str, Any], preset: Mapping[str, Any] | None = None) -> Options:
    """Check and complete what a caller gave; it overrides ``preset``, fields of ``Options``."""
    found = dict(preset or {})
    for name, value in given.items():
        if name in OPERATOR:
            found |= {} if value is None else {name: value}
        elif name in OPTIONS_OF:
            own = OPTIONS_OF[name]
            found |= {own[option]: one for option, one in checked_mapping(name, value, list(own)).items()}
        else:
            raise OptionError(_unknown(name))
    options = Options(**found)
    for name, allowed in CHOICES.items():
        one_of(getattr(options, name), name, allowed)
    options = replace(options, **{name: check(getattr(options, name), name) for name, check in CHECKS.items()})
    options.operator  # noqa: B018 - refuses combinations that have no meaning
    return options


def by_algorithm(options: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of ``Options`` as a call takes them: one mapping per algorithm; other arguments stay as they are."""
    grouped: dict[str, Any] = {name: value for name, value in options.items() if name not in HOME}
    for name, (algorithm, option) in HOME.items():
        if name in options:
            grouped.setdefault(algorithm, {})[option] = options[name]
    return grouped


def checked_mapping(algorithm: str, given: Any, own: Sequence[str]) -> dict[str, Any]:
    """The options of one algorithm as a call gives them; ``own`` are those it has."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise OptionError(f"{algorithm}={given!r} is not a mapping; write {algorithm}={{{own[0]!r}: ...}}.")
    for option in given:
        if option not in own:
            near = difflib.get_close_matches(str(option), own, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"its options are {', '.join(own)}."
            raise OptionError(f"{algorithm} has no option {option!r}; {hint}")
    return dict(given)


def _unknown(name: str) -> str:
    """A hint for an argument that a call does not have."""
    if name in HOME:
        algorithm, option = HOME[name]
        return f"{name!r} is an option of {algorithm}; write {algorithm}={{{option!r}: ...}}."
    if name in OF_STRATIFICATION:
        return f"{name!r} is an argument of Stratification; pass st.Stratification(graph, {name}=...) as the graph."
    known = [other for other in (*ARGUMENTS, *OPTIONS_OF) if other != name]
    near = difflib.get_close_matches(name, [*known, *HOME, *OF_STRATIFICATION], 1)
    if near and near[0] in (*HOME, *OF_STRATIFICATION):
        return f"There is no argument {name!r}. " + _unknown(near[0])
    hint = f"did you mean {near[0]!r}?" if near else f"the arguments are {', '.join(known)}."
    return f"There is no argument {name!r}; {hint}"
