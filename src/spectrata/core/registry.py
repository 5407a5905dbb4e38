"""The algorithms, one row each: what computes them, what they allow and how they are read.

Code asks a row, never a name. A row added to ``ALGORITHMS`` is known to every call, plot and command.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from spectrata.core.algorithms.adj_diff import adj_diff
from spectrata.core.algorithms.apprx_ls import apprx_ls
from spectrata.core.algorithms.ens import ens, ens_raw
from spectrata.core.algorithms.gft import gft
from spectrata.core.algorithms.in_agg import in_agg
from spectrata.core.algorithms.ln_vx import ln_vx
from spectrata.core.algorithms.options import Options
from spectrata.core.hop import Hop, Output
from spectrata.core.operators import COMBINATORIAL, Operator
from spectrata.errors import OptionError

MEASURED = ("combinatorial", "random_walk")
ALL_LAPLACIANS = (*MEASURED, "normalized")


@dataclass(frozen=True)
class Algorithm:
    """One algorithm.

    Attributes
    ----------
    name : str
    function : callable, optional
        ``function(hop, options) -> Output``; None for an ensemble.
    combine : callable, optional
        ``combine(outputs, weights) -> Output`` of an ensemble, from the outputs of its members.
    default, member : bool
        Whether it runs unasked; whether ensembles may have it as a member.
    laplacians : tuple of str
        The Laplacians it is defined for.
    weighted : bool
        Whether it reads edge weights.
    line_graph : bool
        Whether it decomposes the line graph.
    whole_spectrum : bool
        Whether it takes all components, so that ``n_eigs`` does not go with it.
    stacks, differentiable : bool
        Whether it works on many small graphs at once; whether gradients of torch pass.
    exact : bool
        Whether its squares are the signal's energies: ``sum lam M^2 = sum w g^2``, with a closed-form null.
    in_bands : str
        The node signal whose energies are its squares, which ``band_spectra`` measures: "potential", "node_means" or
        "least_squares"; empty where there is none.
    grows : bool
        Whether its magnitudes are in the signal's units.
    sums : callable
        ``sums(options)``: whether values inside an eigenspace add up, instead of their squares.
    invariant : callable
        ``invariant(options)``: whether the merged value is the same in every basis of the eigenspace.
    projects : callable
        ``projects(options)``: whether it only projects columns on eigenvectors, and reads none of their entries.
    options : tuple of str
        The options that its magnitudes depend on.
    """

    name: str
    function: Callable[[Hop, Options], Output] | None = None
    combine: Callable[[Mapping[str, Output], Mapping[str, float]], Output] | None = None
    default: bool = False
    member: bool = False
    laplacians: tuple[str, ...] = ("combinatorial",)
    weighted: bool = False
    line_graph: bool = False
    whole_spectrum: bool = False
    stacks: bool = False
    differentiable: bool = False
    exact: bool = False
    in_bands: str = ""
    grows: bool = True
    sums: Callable[[Mapping[str, Any]], bool] = lambda options: False
    invariant: Callable[[Mapping[str, Any]], bool] = lambda options: False
    projects: Callable[[Mapping[str, Any]], bool] = lambda options: False
    options: tuple[str, ...] = ()

    def merge_rule(self, options: Mapping[str, Any]) -> str:
        """How components of one eigenspace add up: ``"l2"`` or ``"sum"``."""
        return "sum" if self.sums(options) else "l2"


def _always(options: Mapping[str, Any]) -> bool:
    return True


def _one_orientation(options: Mapping[str, Any]) -> bool:
    return options.get("orientation") != "rms"


def _by_incidence(options: Mapping[str, Any]) -> bool:
    return options.get("transform") == "incidence"


LEARNING = (
    "transform",
    "trials",
    "max_epochs",
    "tolerance",
    "learning_rate",
    "literal",
    "activation",
    "average",
    "by_part",
)
ENSEMBLE = ("ens_weights", "orientation", "scaling", *LEARNING)
_measured = partial(Algorithm, laplacians=MEASURED, weighted=True, stacks=True)
_direct = partial(_measured, default=True, differentiable=True)
_ensemble = partial(_measured, whole_spectrum=True, options=ENSEMBLE)
ROWS = (
    _direct(
        "gft", gft, laplacians=ALL_LAPLACIANS, exact=True, in_bands="potential", invariant=_always, projects=_always
    ),
    _direct(
        "apprx_ls",
        apprx_ls,
        member=True,
        in_bands="least_squares",
        invariant=_always,
        projects=_one_orientation,
        options=("orientation",),
    ),
    _direct("in_agg", in_agg, member=True, in_bands="node_means", invariant=_always, projects=_always),
    _direct("adj_diff", adj_diff, member=True, options=("scaling",)),
    Algorithm(
        "ln_vx",
        ln_vx,
        member=True,
        line_graph=True,
        whole_spectrum=True,
        sums=_by_incidence,
        invariant=_by_incidence,
        options=LEARNING,
    ),
    _ensemble("ens", combine=ens, grows=False),
    _ensemble("ens_raw", combine=ens_raw),
)
ALGORITHMS: dict[str, Algorithm] = {row.name: row for row in ROWS}
PAPER = tuple(row.name for row in ROWS)
EXACT = next(row.name for row in ROWS if row.exact)  # the algorithm whose squares are the signal's energies


def row_of(name: str) -> Algorithm:
    """The row of a name, which may be written ``"adj-diff"`` or ``"ADJ_DIFF"``."""
    plain = name.lower().replace("-", "_") if isinstance(name, str) else repr(name)
    if plain not in ALGORITHMS:
        raise OptionError(f"There is no algorithm {name!r}; the algorithms are {', '.join(ALGORITHMS)}.")
    return ALGORITHMS[plain]


def resolve_algorithms(algorithms: str | Iterable[str] | None, operator: Operator = COMBINATORIAL) -> tuple[str, ...]:
    """The names meant, each once: those given, or all that run unasked with this Laplacian."""
    if algorithms is None:
        rows = [row for row in ALGORITHMS.values() if row.default and operator.laplacian in row.laplacians]
        return tuple(row.name for row in rows)
    if not isinstance(algorithms, Iterable):
        raise OptionError(f"algorithms={algorithms!r} is not understood; give a name or a list of names.")
    names = [algorithms] if isinstance(algorithms, str) else list(algorithms)
    if not names:
        raise OptionError("algorithms is empty; give at least one algorithm.")
    return tuple(dict.fromkeys(row_of(name).name for name in names))


def require(names: Iterable[str], allowed: Callable[[Algorithm], bool], words: str) -> None:
    """Refuse algorithms that a call does not allow, by name, with those that it does."""
    refused = [name for name in names if not allowed(row_of(name))]
    if refused:
        fine = [row.name for row in ALGORITHMS.values() if allowed(row)]
        raise OptionError(f"{', '.join(refused)}: {words} {', '.join(fine)}.")


def members() -> list[str]:
    """Algorithms that ensembles may have as members."""
    return [row.name for row in ALGORITHMS.values() if row.member]
