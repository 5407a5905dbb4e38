"""``spectrata info``: what is installed and what the machine has."""

import os
import platform
import re
from importlib import metadata
from typing import Any

from spectrata._version import __version__
from spectrata.cli import describe
from spectrata.cli.tables import print_text
from spectrata.core import resources
from spectrata.kernels.threads import cores

# What to ask for when the package runs from a folder and was never installed.
CORE = ("numpy", "scipy", "xarray", "networkx", "h5netcdf", "h5py", "zarr", "matplotlib", "typer", "rich")
# Package, and what it is for.
OPTIONAL = {
    "pyarrow": "parquet signals, extra 'files'",
    "safetensors": ".safetensors signals, extra 'files'",
    "plotly": "reports, extra 'report'",
    "torch": "tensors, .pt signals",
    "torch-geometric": "its graphs",
    "dgl": "its graphs",
    "igraph": "its graphs",
}
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def info(*, as_json: bool) -> None:
    """Print versions, extras, memory, cores and threads."""
    facts = {
        "spectrata": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in _core()},
        "optional": {name: _version(name) for name in OPTIONAL},
        "cores": cores(),
        "available_bytes": resources.available_memory(),
        "blas": _blas(),
    }
    if as_json:
        import typer

        typer.echo(describe.to_json(facts))
    else:
        _print(facts)


def _core() -> list[str]:
    """The packages the installed spectrata asks for, extras aside."""
    try:
        wanted = metadata.requires("spectrata") or []
    except metadata.PackageNotFoundError:
        return list(CORE)
    return [re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in wanted if "extra ==" not in line]


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _blas() -> dict[str, Any]:
    """The linear algebra library and its threads, which threadpoolctl knows and the environment may set."""
    import numpy as np
    import scipy.linalg  # noqa: F401  (loads the library that solves)

    built: Any = np.show_config(mode="dicts")
    name = built.get("Build Dependencies", {}).get("blas", {}).get("name", "unknown")
    settings = {variable: os.environ[variable] for variable in THREADS if variable in os.environ}
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return {"name": name, "threads": None, "settings": settings}
    threads = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {"name": name, "threads": max(threads, default=None), "settings": settings}


def _print(facts: dict[str, Any]) -> None:
    print_text(f"spectrata {facts['spectrata']}, Python {facts['python']}, {facts['platform']}")
    packages = ", ".join(f"{name} {version or 'missing'}" for name, version in facts["packages"].items())
    print_text(f"packages: {packages}")
    print_text("optional:")
    for name, version in facts["optional"].items():
        print_text(f"{name} {version or 'not installed'} ({OPTIONAL[name]})", "  ")
    memory = facts["available_bytes"]
    size = "unknown" if memory is None else f"{resources.gib(memory)} available"
    print_text(f"machine: {describe.count(facts['cores'], 'core')}, memory {size}")
    blas = facts["blas"]
    threads = describe.count(blas["threads"], "thread") if blas["threads"] else "threads not known"
    chosen = ", ".join(f"{name}={value}" for name, value in blas["settings"].items())
    print_text(f"linear algebra: {blas['name']}, {threads}" + (f" ({chosen})" if chosen else ""))
