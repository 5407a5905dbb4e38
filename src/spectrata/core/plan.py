"""What one call of ``spectra`` computes: algorithms, options, seed and what to keep, checked before any work."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from spectrata.core.algorithms import ALGORITHMS, DEFAULT, ENSEMBLES, PAPER, Options, resolve_algorithms
from spectrata.core.algorithms.ens import member_weights
from spectrata.core.algorithms.options import make_options, whole_number
from spectrata.errors import OptionError

KEEPABLE = ("eigenvectors", "signal", "trials")
KEEP_BY_ITSELF = 200  # nodes up to which eigenvectors, signal and trials are small enough to keep unasked
PAPER_OPTIONS = {"orientation": "index", "transform": "learned", "ens_weights": "paper", "average": "signed"}


@dataclass(frozen=True, eq=False)
class Plan:
    """What one call computes, checked before anything is."""

    algorithms: tuple[str, ...]
    preset: str | None
    options: Options
    seed: int
    keep: frozenset[str]
    dtype: str = "float64"
    n_eigs: int | None = None
    which: str = "lowest"

    def ens_weights(self, hop: int) -> dict[str, float] | None:
        """Weights of the ensemble's members at a hop, when an ensemble is wanted."""
        wanted = any(name in ENSEMBLES for name in self.algorithms)
        return member_weights(self.options.ens_weights, hop) if wanted else None

    def needed(self, hop: int) -> list[str]:
        """Algorithms to run at a hop: those asked for and the members of the ensembles."""
        members = [name for name, weight in (self.ens_weights(hop) or {}).items() if weight > 0.0]
        return [name for name in ALGORITHMS if name in self.algorithms or name in members]

    def to_json(self, hops: tuple[int, ...], zero_vectors: str) -> str:
        """All resolved parameters."""
        plain = {
            "algorithms": self.algorithms,
            "preset": self.preset,
            "hops": hops,
            "zero_vectors": zero_vectors,
            "keep": sorted(self.keep),
            "dtype": self.dtype,
            "n_eigs": self.n_eigs,
            "which": self.which,
        }
        return json.dumps(plain | json.loads(self.options.to_json()))


def make_plan(
    algorithms: str | Iterable[str] | None,
    preset: str | None,
    seed: int,
    keep: Iterable[str] | None,
    dtype: str,
    options: dict[str, Any],
    n: int,
    n_eigs: int | None = None,
    which: str = "lowest",
) -> Plan:
    """Check the arguments of a call of ``spectra`` on ``n`` nodes and fill in what they leave open."""
    if dtype not in ("float64", "float32"):
        raise OptionError(f"dtype={dtype!r} is not one of 'float64', 'float32'.")
    if preset not in (None, "paper"):
        raise OptionError(f"preset={preset!r} is not known; the only preset is 'paper'.")
    checked = make_options((PAPER_OPTIONS if preset == "paper" else {}) | options)
    normalized = checked.laplacian == "normalized"
    if algorithms is None:
        algorithms = PAPER if preset == "paper" else ("gft",) if normalized else DEFAULT
    names = resolve_algorithms(algorithms)
    if normalized and names != ("gft",):
        raise OptionError(
            "laplacian='normalized' works for algorithm gft alone; the other algorithms need 'combinatorial'."
        )
    if n_eigs is not None:
        _check_some(n_eigs, which, names, checked, dtype)
    return Plan(names, preset, checked, _whole_seed(seed), _kept(keep, n), dtype, n_eigs, which)


def _check_some(n_eigs: int, which: str, algorithms: tuple[str, ...], options: Options, dtype: str) -> None:
    """Some of the components: not for every algorithm."""
    if (whole_number(n_eigs) or 0) < 1:
        raise OptionError(f"n_eigs={n_eigs!r} must be a whole number of at least 1, or None for all.")
    if which not in ("lowest", "highest"):
        raise OptionError(f"which={which!r} is not one of 'lowest', 'highest'.")
    whole = [name for name in algorithms if name in ("ln_vx", *ENSEMBLES)]
    if whole or options.laplacian != "combinatorial" or dtype != "float64":
        what = (
            ", ".join(whole) or ("dtype" if dtype != "float64" else "laplacian") + " other than the default"
        )
        raise OptionError(
            f"n_eigs does not go with {what}, which takes all components; leave one of them out."
        )


def _whole_seed(seed: int) -> int:
    number = whole_number(seed)
    if number is None or not 0 <= number < 2**63:
        raise OptionError(f"seed={seed!r} must be a whole number from 0 to 2**63 - 1.")
    return number


def _kept(keep: Iterable[str] | None, n: int) -> frozenset[str]:
    if keep is None:
        return frozenset(KEEPABLE if n <= KEEP_BY_ITSELF else ())
    if not isinstance(keep, Iterable):
        raise OptionError(f"keep={keep!r} is not understood; what can be kept is {', '.join(KEEPABLE)}.")
    names = [keep] if isinstance(keep, str) else list(keep)
    for name in names:
        if name not in KEEPABLE:
            raise OptionError(f"keep names {name!r}; what can be kept is {', '.join(KEEPABLE)}.")
    return frozenset(names)
