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
    "torch-geometric": "its graphs",
    "dgl": "its graphs",
    "igraph": "its graphs",
}


def info(json: bool = JSON) -> None:
    """Print versions, installed extras, memory, cores and threads."""
    import platform
    import re
    from importlib import metadata

    from spectrata._version import __version__
    from spectrata.core import resources
    from spectrata.kernels.threads import cores

    wanted = [line for line in metadata.requires("spectrata") or [] if "extra ==" not in line]
    facts: dict[str, Any] = {
        "spectrata": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in (re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in wanted)},
        "optional": {name: _version(name) for name in OPTIONAL},
        "cores": cores(),
        "available_bytes": resources.available_memory(),
        "blas": _blas(),
    }
    if json:
        as_json(facts)
        return
    text(f"spectrata {facts['spectrata']}, Python {facts['python']}, {facts['platform']}")
    text("packages: " + ", ".join(f"{name} {version or 'missing'}" for name, version in facts["packages"].items()))
    for name, version in facts["optional"].items():
        text(f"{name}: {version or 'not installed'} ({OPTIONAL[name]})")
    memory, blas = facts["available_bytes"], facts["blas"]
    size = "unknown" if memory is None else f"{resources.gib(memory)} available"
    text(f"machine: {count(facts['cores'], 'core')}, memory {size}")
    text(f"linear algebra: {blas['name']}, {count(blas['threads'] or 0, 'thread')}")


def _version(package: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _blas() -> dict[str, Any]:
    """The linear algebra library and its threads."""
    import numpy as np
    import scipy.linalg  # noqa: F401  (loads the library that solves)
    from threadpoolctl import threadpool_info

    built: Any = np.show_config(mode="dicts")
    threads = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    name = built.get("Build Dependencies", {}).get("blas", {}).get("name", "unknown")
    return {"name": name, "threads": max(threads, default=None)}
