"""One file per algorithm, one signature, one table.

``gft``, ``apprx_ls``, ``in_agg``, ``adj_diff`` and ``ln_vx`` are functions of a ``Hop``
and ``Options``; ``ens`` and ``ens_raw`` are made from the outputs of the others.
"""

from collections.abc import Callable, Iterable

from spectrata.core.algorithms.adj_diff import adj_diff
from spectrata.core.algorithms.apprx_ls import apprx_ls
from spectrata.core.algorithms.base import Hop, Output
from spectrata.core.algorithms.ens import MEMBERS, ens, ens_raw
from spectrata.core.algorithms.gft import gft
from spectrata.core.algorithms.in_agg import in_agg
from spectrata.core.algorithms.ln_vx import ln_vx
from spectrata.core.algorithms.options import Options
from spectrata.errors import OptionError

ALGORITHMS: dict[str, Callable[[Hop, Options], Output]] = {
    "gft": gft,
    "apprx_ls": apprx_ls,
    "in_agg": in_agg,
    "adj_diff": adj_diff,
    "ln_vx": ln_vx,
}
ENSEMBLES = {"ens": ens, "ens_raw": ens_raw}
DEFAULT = ("gft", "apprx_ls", "in_agg", "adj_diff")
PAPER = ("gft", "apprx_ls", "in_agg", "adj_diff", "ln_vx", "ens", "ens_raw")

__all__ = [
    "ALGORITHMS",
    "DEFAULT",
    "ENSEMBLES",
    "MEMBERS",
    "PAPER",
    "Hop",
    "Options",
    "Output",
    "resolve_algorithms",
]


def resolve_algorithms(algorithms: str | Iterable[str]) -> tuple[str, ...]:
    """Check the names of algorithms; ``"adj-diff"`` and ``"ADJ_DIFF"`` are fine too."""
    if not isinstance(algorithms, Iterable):
        raise OptionError(f"algorithms={algorithms!r} is not understood; give a name or a list of names.")
    names = [algorithms] if isinstance(algorithms, str) else list(algorithms)
    resolved = []
    for name in names:
        plain = name.lower().replace("-", "_") if isinstance(name, str) else repr(name)
        if plain not in ALGORITHMS and plain not in ENSEMBLES:
            raise OptionError(
                f"There is no algorithm {name!r}; the algorithms are {', '.join([*ALGORITHMS, *ENSEMBLES])}."
            )
        if plain not in resolved:
            resolved.append(plain)
    if not resolved:
        raise OptionError("algorithms is empty; give at least one algorithm.")
    return tuple(resolved)
