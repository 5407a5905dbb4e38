"""No page, example or module uses a name that is gone: old words, old module paths, old public names."""

import importlib
import re
from pathlib import Path

import pytest

import spectrata as st

ROOT = Path(__file__).parents[1]
PLACES = (
    "src",
    "docs",
    "examples",
    "benchmarks",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "pyproject.toml",
    "Makefile",
)
ENDINGS = {".py", ".md", ".rst", ".toml", ".txt", ".sh", ".sbatch", ".html", ""}
FILES = sorted(
    path
    for place in PLACES
    for path in ((ROOT / place).rglob("*") if (ROOT / place).is_dir() else [ROOT / place])
    if path.is_file() and path.suffix in ENDINGS and "__pycache__" not in path.parts
    if not any(
        path.is_relative_to(ROOT / "docs" / made) for made in ("_build", "gallery", "tutorials", "api/generated")
    )
)
MEMBERS = "apprx_ls|in_agg|adj_diff|ln_vx"
OLD = {
    "the dimension and argument algorithm": r"""\bmethods?=|["']methods?["']|--methods?\b|\bmethod_?names?\b""",
    "ens_weights": rf"""(?<!ens_)\bweights=(["'](paper|even|pulse|fast)["']|\{{["']({MEMBERS}))|--weights\b(?!=)""",
    "spectra_many": r"\bspectra_batch\b|\bspectra_fleet\b",
    "options": r"""\.attrs\[["']parameters["']\]|["']parameters["']""",
    "scaling='program'": r"\breleased\.(adj_diff|ens_raw)\b",
}
# Keywords of other libraries that are spelled like old names of ours: (file, the text of the line).
ALLOWED: set[tuple[str, str]] = {
    ("docs/comparison.md", "value = homophily(data.edge_index, order, method=theirs)"),
    (
        "src/spectrata/stats/nulls/stopping.py",
        'found[:, some] = np.quantile(values, ends, axis=0, weights=weights, method="inverted_cdf")',
    ),
    (
        "src/spectrata/stats/nulls/stopping.py",
        'found[:, some] = quantile(drawn[:, some], CHANCE, axis=0, method="weibull")',
    ),
}


def lines():
    for path in FILES:
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            yield str(path.relative_to(ROOT)), number, line


@pytest.mark.parametrize("new", OLD)
def test_old_words_are_gone(new):
    found = [
        f"{name}:{number}: {line.strip()}"
        for name, number, line in lines()
        if re.search(OLD[new], line) and (name, line.strip()) not in ALLOWED
    ]
    assert not found, "\n".join(found)


# Phrases that readers had to read twice.
STUMBLED = (
    "how strongly a signal carries|is no result\\b|what is seen|told by its ending|what holds of the paper|"
    "can be believed|nothing worth a sentence|rounding over rounding|is said first|would let it|one door for|as such\\b"
)


def test_sentences_that_readers_stumbled_over_are_gone():
    found = [f"{name}:{number}: {line.strip()}" for name, number, line in lines() if re.search(STUMBLED, line, re.I)]
    assert not found, "\n".join(found)


def resolves(path: str) -> bool:
    """Whether a dotted path names a module or something in one."""
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        module = ".".join(parts[:length])
        try:
            found = importlib.import_module(module)
        except ImportError:
            # A module of a backend that is not installed exists as a file.
            if length == len(parts) and (ROOT / "src" / Path(*parts)).with_suffix(".py").exists():
                return True
            continue
        for name in parts[length:]:
            if not hasattr(found, name):
                # Fields of dataclasses without a default are no attributes of the class.
                return name in getattr(found, "__annotations__", {})
            found = getattr(found, name)
        return True
    return False


# Of the project, not of the package: extras, the repository, file names, the logger.
NOT_MODULES = re.compile(r"spectrata\.(git|nc|zarr|txt|toml|html|png|readthedocs|com|org|py|svg|ico|css|js)\b")


@pytest.mark.needs("torch")
def test_every_dotted_path_leads_somewhere():
    known: dict[str, bool] = {}
    gone = []
    for name, number, line in lines():
        for path in re.findall(r"(?<![\w/.-])spectrata(?:\.[A-Za-z_]\w*)+", line):
            if not NOT_MODULES.match(path) and not known.setdefault(path, resolves(path)):
                gone.append(f"{name}:{number}: {path}")
    assert not gone, "\n".join(gone)


def test_every_public_name_that_is_used_exists():
    """``st.name`` in pages, docstrings and examples."""
    gone = []
    for name, number, line in lines():
        for path in re.findall(r"\bst\.([A-Za-z]\w*(?:\.[A-Za-z_]\w*)?)", line):
            first, _, second = path.partition(".")
            found = getattr(st, first, None)
            if found is None or (second and first in ("stats", "plot") and not hasattr(found, second)):
                gone.append(f"{name}:{number}: st.{path}")
    assert not gone, "\n".join(gone)


def test_every_file_that_is_named_exists():
    """Paths into the package, in pages and comments."""
    gone = []
    for name, number, line in lines():
        for path in re.findall(r"\b(?:src/spectrata|tests|benchmarks|examples|docs)/[\w/.-]+\.(?:py|md|rst)\b", line):
            if not (ROOT / path).exists():
                gone.append(f"{name}:{number}: {path}")
    assert not gone, "\n".join(gone)
