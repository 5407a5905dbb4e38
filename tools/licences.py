"""``python tools/licences.py``: the licences of all packages that spectrata needs to run, as they state them.

Fails where a licence is unknown, or does not go together with a BSD package that imports it. With ``--write`` the list
goes into ``tools/licences.md``. Packages that only develop spectrata (tests, documentation, benchmarks) are no part of
it: nobody who installs spectrata gets them.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PAGE = Path(__file__).with_name("licences.md")
EXTRAS = ("dask", "files", "large", "probe", "report", "torch", "tensorboard", "lightning", "wandb")
# Licences, by their SPDX names, that allow a BSD package to depend on them.
ALLOWED = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "HPND", "ISC", "MIT", "MIT-0",
    "MIT-CMU", "MPL-2.0", "PSF-2.0", "Python-2.0", "Unlicense", "Zlib", "LGPL-2.1-or-later", "LGPL-3.0-or-later",
}  # fmt: skip
EXCEPTIONS = {"LLVM-exception", "GCC-exception-3.1"}
# Other spellings, in the field License or in a classifier.
SPELLINGS = {
    r"apache( software)?( license)?,?( version)?[ -]*2(\.0)?|apache software license": "Apache-2.0",
    r"(the )?mit( license)?( \(mit\))?": "MIT",
    r"(new |modified |revised )?bsd([ -]3[ -]clause)?( license| licence)?( \(bsd-3-clause\))?": "BSD-3-Clause",
    r"3-clause bsd license": "BSD-3-Clause",
    r"(simplified )?bsd[ -]2[ -]clause( license)?": "BSD-2-Clause",
    r"python software foundation license|psf(-2\.0)?": "PSF-2.0",
    r"mozilla public license 2\.0 \(mpl 2\.0\)|mpl[ -]2\.0": "MPL-2.0",
    r"isc license( \(iscl\))?": "ISC",
    r"the unlicense( \(unlicense\))?": "Unlicense",
    r"historical permission notice and disclaimer \(hpnd\)": "HPND",
    r"zlib/libpng license": "Zlib",
}
# Packages whose metadata states no licence: read from their licence files by a person.
READ_BY_HAND: dict[str, str] = {}


def stated(name: str) -> str:
    """The licence that an installed package states: an SPDX expression, or its text where that is none we know."""
    facts = metadata.metadata(name)
    if facts.get("License-Expression"):
        return str(facts["License-Expression"])
    field = " ".join((facts.get("License") or "").split())
    classes = [line.split(" :: ")[-1] for line in facts.get_all("Classifier") or () if line.startswith("License ::")]
    known = [spelled(text) for text in (*classes, field) if text and len(text) < 200]
    found = list(dict.fromkeys(text for text in known if not unknown(text)))
    if classes and found:
        return " OR ".join(text for text in found if text in map(spelled, classes)) or found[0]
    return found[0] if found else READ_BY_HAND.get(canonicalize_name(name), (known or ["not stated"])[0])


def spelled(text: str) -> str:
    """The SPDX name of a licence that is spelled otherwise."""
    for pattern, name in SPELLINGS.items():
        if re.fullmatch(pattern, text.strip(), re.IGNORECASE):
            return name
    return text.strip()


def unknown(expression: str) -> list[str]:
    """The licences of an SPDX expression that are not allowed. Of an ``OR`` one must be, of an ``AND`` all."""
    tree = re.findall(r"\(|\)|[^\s()]+", expression)
    wrong, rest = _either(tree)
    return [*wrong, *rest]


def _either(words: list[str]) -> tuple[list[str], list[str]]:
    wrong, words = _both(words)
    while words and words[0].upper() == "OR":
        other, words = _both(words[1:])
        wrong = [] if not wrong or not other else [*wrong, *other]
    return wrong, words


def _both(words: list[str]) -> tuple[list[str], list[str]]:
    wrong, words = _one(words)
    while words and words[0].upper() == "AND":
        more, words = _one(words[1:])
        wrong = [*wrong, *more]
    return wrong, words


def _one(words: list[str]) -> tuple[list[str], list[str]]:
    if not words:
        return ["nothing"], []
    if words[0] == "(":
        wrong, words = _either(words[1:])
        return wrong, words[1:]
    wrong = [] if words[0] in ALLOWED else [words[0]]
    words = words[1:]
    if words and words[0].upper() == "WITH":
        wrong += [] if words[1:2] and words[1] in EXCEPTIONS else words[1:2]
        words = words[2:]
    return wrong, words


def needed(name: str, extras: tuple[str, ...] = (), seen: set[str] | None = None) -> Iterator[str]:
    """Installed packages that a package needs, directly or not; those of extras where they are installed."""
    seen = set() if seen is None else seen
    for line in metadata.requires(name) or ():
        wanted = Requirement(line)
        other = canonicalize_name(wanted.name)
        if wanted.marker and not any(wanted.marker.evaluate({"extra": extra}) for extra in (*extras, "")):
            continue
        key = f"{other}[{','.join(sorted(wanted.extras))}]"
        if key in seen or other == "spectrata":
            continue
        seen.add(key)
        try:
            metadata.metadata(other)
        except metadata.PackageNotFoundError:
            continue
        yield other
        yield from needed(other, tuple(wanted.extras), seen)


def rows() -> list[tuple[str, str, str]]:
    """Name, licence, and what needs it: the core or an extra, for every package."""
    found: dict[str, tuple[str, str]] = {}
    for extra in ("", *EXTRAS):
        for name in needed("spectrata", (extra,) if extra else ()):
            found.setdefault(name, (stated(name), extra or "core"))
    return [(name, *found[name]) for name in sorted(found)]


HEAD = """# Licences of dependencies

spectrata is published under the BSD 3-Clause licence. These are the packages it needs to run, with the licence that
each states in its metadata, and the extra that needs it. `python tools/licences.py` makes the list from the installed
packages. It fails on a licence that is unknown or that a BSD package may not depend on, such as the GPL. Packages of
NVIDIA, which torch installs on machines with a GPU, have their own terms.

| package | licence | needed by |
|---|---|---|
"""


def page(listed: list[tuple[str, str, str]]) -> str:
    """The list as a page."""
    return HEAD + "".join(f"| {name} | {licence} | {why} |\n" for name, licence, why in listed)


def main() -> int:
    """Print or write the list; 1 where a licence is not allowed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    listed = rows()
    if parser.parse_args().write:
        PAGE.write_text(page(listed), encoding="utf-8")
    bad = [(name, licence) for name, licence, _ in listed if unknown(licence)]
    for name, licence in bad:
        print(f"error: {name} is under {licence!r}; is it allowed? See tools/licences.py.", file=sys.stderr)
    print(f"licences: {len(listed)} packages, {len(bad)} not allowed")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
