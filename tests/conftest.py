"""Hypothesis profiles, and fixtures that several files share."""

import importlib.util
import os
import random
import re
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from commanding import karate  # noqa: F401 - a fixture

# A suite that was started in the background ignores Ctrl-C, and so would the programs it starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "max_examples": 25}
settings.register_profile("dev", **COMMON)
# The same commit must test the same way: no random draws, no memory of earlier runs.
settings.register_profile("ci", derandomize=True, database=None, **COMMON)
# In make test-all: four times the cases. By hand, HYPOTHESIS_PROFILE=heavy: forty times, and new ones every time.
settings.register_profile("thorough", derandomize=True, database=None, **(COMMON | {"max_examples": 100}))
settings.register_profile("heavy", database=None, **(COMMON | {"max_examples": 1000}))
# For mutants one failure is enough: nothing is shrunk.
plain = (Phase.explicit, Phase.generate)
settings.register_profile("mutants", derandomize=True, database=None, phases=plain, **(COMMON | {"max_examples": 50}))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))


@pytest.fixture
def write(tmp_path):
    """Write a file of this name with this content, and give its path."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture(autouse=True)
def no_width(monkeypatch):
    """Processes of pytest-xdist have COLUMNS in their environment; tests of widths set their own."""
    monkeypatch.delenv("COLUMNS", raising=False)


# The minimal leg (``make minimal``): what needs an optional package is left out. Everywhere else that is a failure.
MINIMAL = bool(os.environ.get("SPECTRATA_MINIMAL"))
OPTIONAL = [
    "array_api_compat",
    "dask",
    "igraph",
    "lightning",
    "mpmath",
    "playwright",
    "pyamg",
    "pyarrow",
    "safetensors",
    "sklearn",
    "tensorboard",
    "torch",
    "zarr",
]
ABSENT = [name for name in OPTIONAL if MINIMAL and importlib.util.find_spec(name) is None]
# Files that import torch at the top, themselves or through a helper of the suite, and programs that do.
IMPORTS_TORCH = re.compile(r"^(import torch|from torch|from spectrata\.torch|from fault)", re.MULTILINE)
TESTS = Path(__file__).parent
NEED_TORCH = [path.name for path in TESTS.glob("*.py") if IMPORTS_TORCH.search(path.read_text(encoding="utf-8"))]
NEED_TORCH += ["fault*.py", "test_fuzz.py", "fuzz/*"]
collect_ignore_glob = NEED_TORCH if "torch" in ABSENT else []
collect_ignore_glob += ["exact_spectra.py"] if "mpmath" in ABSENT else []


def pytest_addoption(parser):
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run the tests in a random order")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if (seed := config.getoption("--shuffle")) is not None:
        random.Random(seed).shuffle(items)


def pytest_report_header():
    return f"minimal leg, without {', '.join(ABSENT)}" if MINIMAL else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    for mark in item.iter_markers("needs"):
        for name in set(mark.args) & set(ABSENT):
            pytest.skip(f"needs {name}")
    return (yield from _without_extras())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    return (yield from _without_extras())


def _without_extras():
    """A test that ends for want of an optional package is skipped in the minimal leg."""
    try:
        return (yield)
    except ImportError as error:
        said = f"{error.name} {error}".replace("scikit-learn", "sklearn").replace("-", "_")
        package = next((name for name in ABSENT if name in said), None)
        if package is None:
            raise
        pytest.skip(f"needs {package}")
