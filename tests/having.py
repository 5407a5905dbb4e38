"""What a test needs beside the suite: a skip at home where it is absent, a failure in CI."""

import importlib
import os
from pathlib import Path
from types import ModuleType

import pytest

DATA = Path(__file__).parents[2] / "shared" / "data"


def optional(name: str) -> ModuleType:
    """An optional library."""
    return importlib.import_module(name) if os.environ.get("CI") else pytest.importorskip(name)


def shared(name: str) -> Path:
    """A file of the shared data."""
    path = DATA / name
    if not path.exists() and not os.environ.get("CI"):
        pytest.skip(f"the shared data is not here ({name})")
    return path
