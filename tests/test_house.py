"""The house stands as docs/architecture.md draws it: a room imports only from rooms above it."""

import ast
import inspect
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "spectrata"
ROOMS = [
    "_version",
    "errors",
    "kernels",
    "inputs",
    "results",
    "core",
    "bands",
    "many",
    "stats",
    "sklearn",
    "plot",
    "report",
    "torch",
    "cli",
    "__main__",
]
# Lines that a room may have.
MOST_LINES = {
    "kernels": 2494,
    "inputs": 3505,
    "results": 1261,
    "core": 3708,
    "bands": 2494,
    "many": 1592,
    "stats": 8102,
    "plot": 2492,
    "report": 795,
    "torch": 3438,
    "cli": 1904,
}
LONGEST: dict[str, int] = {}  # files that are longer than 450 lines, and how long they may be
FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def room_of(module: str) -> str:
    """``spectrata.core.algorithms.ens`` -> ``core``."""
    return module.split(".")[1]


def imported(path: Path) -> set[str]:
    """Modules of spectrata that a file imports, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("spectrata.")}
        elif isinstance(node, ast.ImportFrom) and node.module == "spectrata":
            found |= {f"spectrata.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("spectrata."):
            found.add(node.module)
    return found


def packages(path: Path) -> set[str]:
    """Top-level packages that a file imports, inside functions too."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    plain = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    plain += [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    return {name.partition(".")[0] for name in plain}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_room_imports_only_from_rooms_above(path):
    module = ".".join(("spectrata", *path.relative_to(SOURCE).with_suffix("").parts))
    here = ROOMS.index(room_of(module))
    for other in imported(path):
        if other == "spectrata.__version__":
            continue
        assert room_of(other) in ROOMS, f"{other} is in no room of the drawing"
        assert ROOMS.index(room_of(other)) <= here, f"{module} reaches down to {other}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_its_room_the_kernels_and_a_reader_import_torch(path):
    room = path.relative_to(SOURCE).parts[0]
    names = packages(path)
    if room not in ("torch", "kernels", "inputs"):
        assert "torch" not in names


def test_the_product_does_not_know_the_reproduction():
    assert not [path for path in FILES if "reproduction" in packages(path)]


def test_every_room_is_in_the_drawing():
    page = (SOURCE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    for room in ROOMS:
        if not room.startswith("_"):
            assert f"`{room}.py`" in page or f"`{room}/`" in page, room


def test_the_lowest_versions_are_those_asked_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = [line for line in (ROOT / "lowest.txt").read_text().splitlines() if not line.startswith("#")]
    # A file of constraints names no extras of a package.
    assert pinned == [re.sub(r"\[.*\]", "", wanted).replace(">=", "==") for wanted in project["dependencies"]]


def test_every_extra_that_is_named_exists():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *FILES]
    named = {name for page in pages for name in re.findall(r"(?:spectrata|\.)\[([a-z]+)\]", page.read_text("utf-8"))}
    assert {"all", "torch", "large", "probe"} <= named <= set(extras)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_can_be_read_in_one_sitting(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST.get(str(path.relative_to(SOURCE)), 450)


@pytest.mark.parametrize("room", MOST_LINES)
def test_a_room_does_not_grow(room):
    files = [path for path in FILES if path.relative_to(SOURCE).with_suffix("").parts[0] == room]
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= MOST_LINES[room]


def test_the_reproduction_does_not_grow():
    files = (ROOT / "reproduction").rglob("*.py")
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= 4593


def test_public_functions_have_at_most_12_parameters():
    import spectrata as st

    def count(function):
        return sum(one.kind is not one.VAR_KEYWORD for one in inspect.signature(function).parameters.values())

    functions = {name: getattr(st, name) for name in st.__all__ if inspect.isfunction(getattr(st, name))}
    functions |= {f"stats.{name}": getattr(st.stats, name) for name in st.stats.__all__}
    assert len(functions) > 25
    long = {name for name, one in functions.items() if callable(one) and count(one) > 12}
    assert long <= {"write_report"}  # one more: two titles of the page
