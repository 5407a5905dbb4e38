"""``spectrata info``: what is installed and what the machine has."""

from typing import Any

from spectrata.cli.options import JSON
from spectrata.cli.render import as_json, count, text

# Package, and what it is for.
OPTIONAL = {
    "pyarrow": "parquet signals, extra 'files'",
    "safetensors": ".safetensors signals, extra 'files'",
    "scikit-learn": "the probe, extra 'probe'",
    "torch": "tensors, .pt signals",
    **dict.fromkeys(("torch-geometric", "dgl", "igraph"), "its graphs"),
}


def info(json: bool = JSON) -> None:
    """Print versions, installed extras, memory, cores and threads."""
    import platform
    import re
    from importlib.metadata import distributions, requires

    import scipy.linalg  # noqa: F401  (loads the library that solves)
    from threadpoolctl import threadpool_info

    from spectrata._version import __version__
    from spectrata.core import resources
    from spectrata.kernels.threads import cores

    blas = {pool["internal_api"]: pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
    wanted = [line for line in requires("spectrata") or [] if "extra ==" not in line]
    found = {str(one.name).lower().replace("_", "-"): one.version for one in reversed([*distributions()])}
    facts: dict[str, Any] = {
        "spectrata": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: found.get(name) for name in (re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in wanted)},
        "optional": {name: found.get(name) for name in OPTIONAL},
        "cores": cores(),
        "available_bytes": resources.available_memory(),
        "blas": blas,
    }
    if json:
        as_json(facts)
        return
    text(f"spectrata {facts['spectrata']}, Python {facts['python']}, {facts['platform']}")
    text("packages: " + ", ".join(f"{name} {version or 'missing'}" for name, version in facts["packages"].items()))
    for name, version in facts["optional"].items():
        text(f"{name}: {version or 'not installed'} ({OPTIONAL[name]})")
    memory = facts["available_bytes"]
    size = "unknown" if memory is None else f"{resources.gib(memory)} available"
    text(f"machine: {count(facts['cores'], 'core')}, memory {size}")
    text("linear algebra: " + ", ".join(f"{name}, {count(threads, 'thread')}" for name, threads in blas.items()))
