"""The algorithms, one row each: what computes them, what they allow and how they are read.

Code asks a row, never a name. A row added to ``ALGORITHMS`` is known to every call, plot and command.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from spectrata.core.algorithms.adj_diff import adj_diff
from spectrata.core.algorithms.apprx_ls import apprx_ls
from spectrata.core.algorithms.ens import ens, ens_raw
from spectrata.core.algorithms.gft import gft
from spectrata.core.algorithms.in_agg import in_agg
from spectrata.core.algorithms.ln_vx import ln_vx
from spectrata.core.algorithms.options import LN_VX, Options
from spectrata.core.hop import Hop, Output
from spectrata.core.operators import COMBINATORIAL, Laplacian
from spectrata.errors import OptionError, argument

MEASURED = ("combinatorial", "random_walk")
ALL_LAPLACIANS = (*MEASURED, "normalized")

Rule = Callable[[Mapping[str, Any]], bool]  # of the options


@dataclass(frozen=True)
class Algorithm:
    name: str
    function: Callable[[Hop, Options], Output] | None = None  # None for an ensemble
    combine: Callable[[Mapping[str, Output], Mapping[str, float]], Output] | None = None  # of members and weights
    default: bool = False  # whether it runs unasked
    member: bool = False  # whether ensembles may have it as a member
    laplacians: tuple[str, ...] = ("combinatorial",)
    weighted: bool = False  # whether it reads edge weights
    line_graph: bool = False  # whether it decomposes the line graph
    whole_spectrum: bool = False  # whether it takes all components, so that ``n_eigs`` does not go with it
    stacks: bool = False  # whether it works on many small graphs at once
    differentiable: bool = False  # whether gradients of torch pass
    # Whether its squares are the signal's energies, with a closed-form null: sum lam M^2 = sum w g^2.
    exact: bool = False
    # The node signal whose energies are its squares, for ``band_spectra``: "potential", "node_means", "least_squares".
    in_bands: str = ""
    grows: bool = True  # whether its magnitudes are in the signal's units
    sums: Rule = field(default=lambda options: False)  # whether values inside an eigenspace add up, not their squares
    # Whether the merged value is the same in every basis of the eigenspace.
    invariant: Rule = field(default=lambda options: False)
    # Whether it only projects columns on eigenvectors, and reads none of their entries.
    projects: Rule = field(default=lambda options: False)
    options: tuple[str, ...] = ()  # those that its magnitudes depend on

    def merge_rule(self, options: Mapping[str, Any]) -> str:
        """How components of one eigenspace add up: ``"l2"`` or ``"sum"``."""
        return "sum" if self.sums(options) else "l2"


def _by_incidence(options: Mapping[str, Any]) -> bool:
    return options.get("transform") == "incidence"


ENSEMBLE = ("ens_weights", "orientation", "scaling", *LN_VX)
_measured = partial(Algorithm, laplacians=MEASURED, weighted=True, stacks=True)
_direct = partial(_measured, default=True, differentiable=True)
_projected = partial(_direct, invariant=lambda options: True, projects=lambda options: True)
_ensemble = partial(_measured, whole_spectrum=True, options=ENSEMBLE)
_line = partial(Algorithm, line_graph=True, whole_spectrum=True, options=LN_VX)
ROWS = (
    _projected("gft", gft, laplacians=ALL_LAPLACIANS, exact=True, in_bands="potential"),
    _projected(
        "apprx_ls",
        apprx_ls,
        member=True,
        in_bands="least_squares",
        projects=lambda options: options["orientation"] != "rms",
        options=("orientation",),
    ),
    _projected("in_agg", in_agg, member=True, in_bands="node_means"),
    _direct("adj_diff", adj_diff, member=True, options=("scaling",)),
    _line("ln_vx", ln_vx, member=True, sums=_by_incidence, invariant=_by_incidence),
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


def resolve_algorithms(algorithms: str | Iterable[str] | None, operator: Laplacian = COMBINATORIAL) -> tuple[str, ...]:
    """The names meant, each once: those given, or all that run unasked with this Laplacian."""
    if algorithms is None:
        rows = [row for row in ALGORITHMS.values() if row.default and operator.laplacian in row.laplacians]
        return tuple(row.name for row in rows)
    if not isinstance(algorithms, Iterable):
        raise OptionError(f"{argument('algorithms', algorithms)} is not understood; give a name or a list of names.")
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
