"""The plan of one call of ``spectra``: algorithms, options, seed and what to keep, checked before any work."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from spectrata.core.algorithms.ens import member_weights
from spectrata.core.algorithms.options import Options, make_options
from spectrata.core.operators import Laplacian
from spectrata.core.parallel import Progress
from spectrata.core.registry import ALGORITHMS, PAPER, Algorithm, members, require, resolve_algorithms, row_of
from spectrata.core.strata import number_of
from spectrata.errors import OptionError, argument
from spectrata.inputs.numbers import flag, one_of, whole

if TYPE_CHECKING:
    from spectrata.kernels.backend import Backend

KEEPABLE = ("eigenvectors", "signal", "trials")
KEEP_BY_ITSELF = 200  # nodes up to which eigenvectors, signal and trials are small enough to keep unasked
# As the released program, beside the defaults: see docs/claims.md. LN-VX's parametrisation needs literal=True as well.
PAPER_OPTIONS = {"orientation": "index", "scaling": "program"}


@dataclass(frozen=True, eq=False)
class Computing:
    """How spectra of a graph are computed: the arguments of ``Stratification`` that do not say how it is read."""

    laplacian: str = "combinatorial"
    self_loops: bool = False
    n_eigs: int | None = None
    which: str = "lowest"
    keep: Iterable[str] | None = None
    device: "str | Backend | None" = None
    dtype: str = "float64"
    progress: Progress | None = None

    def __post_init__(self) -> None:
        self.operator()  # refuses combinations that have no meaning
        _kept(self.keep, 0)
        _check_components(self.n_eigs, self.which, self.dtype)

    @property
    def components(self) -> dict[str, Any]:
        """The arguments of a plan that say which components are computed, and how precisely."""
        return {"dtype": self.dtype, "n_eigs": self.n_eigs, "which": self.which}

    def operator(self, laplacian: str | None = None, self_loops: bool | None = None) -> Laplacian:
        """The Laplacian, where a call names no other."""
        loops = flag(self.self_loops if self_loops is None else self_loops, "self_loops")
        return Laplacian(self.laplacian if laplacian is None else laplacian, loops)


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that one call computes, checked before the work begins."""

    algorithms: tuple[str, ...]
    options: Options = field(default_factory=Options)
    seed: int = 0
    keep: frozenset[str] = frozenset()
    dtype: str = "float64"
    n_eigs: int | None = None
    which: str = "lowest"
    preset: str | None = None
    solved_in_double: bool = False  # whether a basis in single precision comes from one in double
    diagnose: bool = True  # whether diagnostics of the algorithms are wanted

    @property
    def rows(self) -> list[Algorithm]:
        return [row_of(name) for name in self.algorithms]

    def ens_weights(self, hop: int) -> dict[str, float] | None:
        """Weights of the ensembles' members at a hop, when an ensemble is wanted."""
        if not any(row.combine for row in self.rows):
            return None
        return member_weights(self.options.ens_weights, number_of(hop), members())

    def sources(self, row: Algorithm, hop: int) -> list[str]:
        """The algorithms whose magnitudes an algorithm gives at a hop: itself, or the members of an ensemble."""
        weights = {row.name: 1.0} if row.combine is None else self.ens_weights(hop) or {}
        return [name for name, weight in weights.items() if weight > 0.0]

    def needed(self, hop: int) -> list[Algorithm]:
        """Algorithms to run at a hop: those asked for and the members of the ensembles."""
        used = {name for row in self.rows for name in self.sources(row, hop)}
        return [row for row in ALGORITHMS.values() if row.name in used]

    def only_projects(self, hop: int) -> bool:
        """Whether a hop needs no entries of eigenvectors: none are kept, and the algorithms only project on them."""
        plain = self.n_eigs is None and self.dtype == "float64" and "eigenvectors" not in self.keep
        return plain and all(row.projects(vars(self.options)) for row in self.needed(hop))

    def check(self, hops: Iterable[int], weighted: bool = False) -> None:
        """Refuse at once what the algorithms, and the members of the ensembles at these hops, do not allow."""
        used = (row.name for hop in hops for row in self.needed(hop))
        names, laplacian = list(dict.fromkeys([*self.algorithms, *used])), self.options.laplacian
        words = f"not defined for {argument('laplacian', laplacian)}, which serves"
        require(names, lambda row: laplacian in row.laplacians, words)
        if self.n_eigs is not None:
            words = "takes all components, so leave out n_eigs, which serves"
            require(names, lambda row: not row.whole_spectrum, words)
        if weighted:
            require(names, lambda row: row.weighted, "not defined for edge weights, which serve")

    def to_json(self, hops: Iterable[int], zero_vectors: str, columns: str = "joint") -> str:
        """All resolved parameters."""
        named = [hop if isinstance(hop, int) else str(hop) for hop in hops]
        plain: dict[str, Any] = {"algorithms": self.algorithms, "preset": self.preset, "keep": sorted(self.keep)}
        plain |= {"hops": named, "zero_vectors": zero_vectors, "columns": columns, "dtype": self.dtype}
        plain |= {"n_eigs": self.n_eigs, "which": self.which if self.n_eigs is not None else None}
        return json.dumps(plain | self.options.plain())


def make_plan(
    algorithms: str | Iterable[str] | None,
    options: dict[str, Any],
    n: int,
    *,
    preset: str | None = None,
    seed: int = 0,
    keep: Iterable[str] | None = None,
    **more: Any,
) -> Plan:
    """Check the arguments of a call of ``spectra`` on ``n`` nodes and fill in what they leave open."""
    one_of(preset, "preset", (None, "paper"))
    checked = make_options(options, PAPER_OPTIONS if preset == "paper" else None)
    if not callable(checked.ens_weights):
        member_weights(checked.ens_weights, 1, members())
    named = PAPER if algorithms is None and preset == "paper" else algorithms
    names = resolve_algorithms(named, checked.operator)
    plan = Plan(names, checked, whole(seed, "seed", 0, 2**63 - 1), _kept(keep, n), preset=preset, **more)
    _check_components(plan.n_eigs, plan.which, plan.dtype)
    plan.check([])
    return plan


def _check_components(n_eigs: int | None, which: str, dtype: str) -> None:
    one_of(dtype, "dtype", ("float64", "float32"))
    if n_eigs is not None:
        whole(n_eigs, "n_eigs")
        one_of(which, "which", ("lowest", "highest"))
        if dtype != "float64":
            raise OptionError(
                f"{argument('n_eigs')} works in double precision; leave out {argument('dtype', 'float32')}."
            )


def _kept(keep: Iterable[str] | None, n: int) -> frozenset[str]:
    if keep is None:
        return frozenset(KEEPABLE if n <= KEEP_BY_ITSELF else ())
    names = [keep] if isinstance(keep, str) or not isinstance(keep, Iterable) else list(keep)
    for name in names:
        if name not in KEEPABLE:
            raise OptionError(f"keep names {name!r}; what can be kept is {', '.join(KEEPABLE)}.")
    return frozenset(names)
