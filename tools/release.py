"""``make release``: build the source archive and the wheel twice, check them, and stop before anything is uploaded.

Checks: the two builds have the same bytes; the metadata is valid, and has the version of the sources and of the
citation file; the wheel holds every file of the package and nothing else; the source archive holds what is needed to
test it; every dependency has a licence that is allowed. Nothing is built while a fact is missing that only a person can
fill in, such as the address of the repository, unless ``--draft`` is given.
"""

import email
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from importlib.util import find_spec
from pathlib import Path

from packaging.metadata import Metadata

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
SOURCES = ("src", "tests", "docs", "examples", "benchmarks", "tools")


def version() -> str:
    """The version of the sources."""
    return re.search(r'__version__ = "(.+)"', (ROOT / "src/spectrata/_version.py").read_text(encoding="utf-8"))[1]


URLS = ("Homepage", "Source", "Documentation", "Issues")


def to_fill_in(root: Path) -> list[str]:
    """Facts that only a person can give and that are missing, in the words of tools/releasing.md."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    missing = [f"[project.urls] {name} in pyproject.toml" for name in URLS if name not in project.get("urls", {})]
    if not any("email" in author for author in project["authors"]):
        missing.append("authors with an address in pyproject.toml")
    if "family-names" not in citation.partition("references:")[0]:
        missing.append("authors in CITATION.cff")
    if "repository-code:" not in citation:
        missing.append("repository-code in CITATION.cff")
    if "Contact:" not in (root / "SECURITY.md").read_text(encoding="utf-8"):
        missing.append("a line 'Contact: ...' in SECURITY.md")
    return missing


def tracked() -> list[str]:
    """Files under version control."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def build(place: Path, umask: int, zone: str) -> dict[str, bytes]:
    """Build from a copy of the tracked files; time of day, place and rights of files differ from build to build."""
    tree = place / "tree"
    old = os.umask(umask)
    try:
        for name in tracked():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, tree / name)
        changed = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
        command = [sys.executable, "-m", "build", "--outdir", str(place / "dist"), str(tree)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=changed | {"TZ": zone})
    finally:
        os.umask(old)
    return {path.name: path.read_bytes() for path in sorted((place / "dist").iterdir())}


def check_metadata(wheel: zipfile.ZipFile) -> list[str]:
    """What is wrong with the metadata of a wheel."""
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    data = wheel.read(name)
    found = Metadata.from_email(data, validate=True)
    text = email.message_from_bytes(data)
    wrong = []
    if str(found.version) != version():
        wrong.append(f"the wheel has version {found.version}, the sources {version()}")
    if text["License-Expression"] != "BSD-3-Clause" or not text.get_payload():
        wrong.append("the wheel lacks its licence or its description")
    if f"version: {version()}\n" not in (ROOT / "CITATION.cff").read_text(encoding="utf-8"):
        wrong.append("CITATION.cff has another version")
    return wrong


def check_contents(files: list[str], wheel: list[str], archive: list[str]) -> list[str]:
    """What the wheel and the source archive lack of the tracked files, and what the wheel holds besides."""
    package = {name.removeprefix("src/") for name in files if name.startswith("src/")}
    held = {name for name in wheel if ".dist-info/" not in name}
    sources = {name for name in files if name.split("/")[0] in SOURCES}
    packed = {name.split("/", 1)[-1] for name in archive}
    return [
        *(f"the wheel lacks {name}" for name in sorted(package - held)),
        *(f"the wheel holds {name}" for name in sorted(held - package)),
        *(f"the source archive lacks {name}" for name in sorted(sources - packed)),
    ]


def main() -> int:
    """Build, check, say what is left to do by hand; 1 where a check fails."""
    missing = to_fill_in(ROOT)
    for line in missing:
        print(f"{'note' if '--draft' in sys.argv else 'error'}: not filled in: {line}", file=sys.stderr)
    if missing and "--draft" not in sys.argv:
        print("Nothing was built; fill these in (tools/releasing.md), or use --draft.", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        first = build(Path(one), 0o022, "UTC")
        second = build(Path(two), 0o077, "Asia/Tokyo")
    wrong = [f"two builds of {name} differ" for name in first if first[name] != second.get(name)]
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    for name, data in first.items():
        (DIST / name).write_bytes(data)
        print(f"{hashlib.sha256(data).hexdigest()}  {name}  ({len(data):,} bytes)")
    with zipfile.ZipFile(next(DIST.glob("*.whl"))) as wheel, tarfile.open(next(DIST.glob("*.tar.gz"))) as archive:
        wrong += check_metadata(wheel) + check_contents(tracked(), wheel.namelist(), archive.getnames())
    if find_spec("twine") is not None:
        checked = subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *map(str, DIST.iterdir())])
        wrong += ["twine check failed"] if checked.returncode else []
    licences = subprocess.run([sys.executable, str(ROOT / "tools/licences.py")])
    wrong += ["a licence is not allowed"] if licences.returncode else []
    for line in wrong:
        print(f"error: {line}", file=sys.stderr)
    if not wrong:
        print("The builds agree and every check passed. Nothing was uploaded; tools/releasing.md has the rest.")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
