"""One file per algorithm, one signature, one table.

``gft``, ``apprx_ls``, ``in_agg``, ``adj_diff`` and ``ln_vx`` are functions of a ``Hop``
and ``Options``; ``ens`` and ``ens_raw`` are made from the outputs of the others.
"""

from collections.abc import Callable, Iterable

from spectrata.errors import OptionError
from spectrata.methods.adj_diff import adj_diff
from spectrata.methods.apprx_ls import apprx_ls
from spectrata.methods.base import Hop, Output
from spectrata.methods.ens import MEMBERS, ens, ens_raw
from spectrata.methods.gft import gft
from spectrata.methods.in_agg import in_agg
from spectrata.methods.ln_vx import ln_vx
from spectrata.methods.options import Options

METHODS: dict[str, Callable[[Hop, Options], Output]] = {
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
    "DEFAULT",
    "ENSEMBLES",
    "MEMBERS",
    "METHODS",
    "PAPER",
    "Hop",
    "Options",
    "Output",
    "resolve_methods",
]


def resolve_methods(methods: str | Iterable[str]) -> tuple[str, ...]:
    """Check the names of methods; ``"adj-diff"`` and ``"ADJ_DIFF"`` are fine too."""
    if not isinstance(methods, Iterable):
        raise OptionError(f"methods={methods!r} is not understood; give a name or a list of names.")
    names = [methods] if isinstance(methods, str) else list(methods)
    resolved = []
    for name in names:
        plain = name.lower().replace("-", "_") if isinstance(name, str) else repr(name)
        if plain not in METHODS and plain not in ENSEMBLES:
            raise OptionError(
                f"There is no method {name!r}; the methods are {', '.join([*METHODS, *ENSEMBLES])}."
            )
        if plain not in resolved:
            resolved.append(plain)
    if not resolved:
        raise OptionError("methods is empty; give at least one method.")
    return tuple(resolved)
