"""What ``make release`` asks, on made-up packages; the build itself is by hand."""

import importlib.util
import io
import re
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


licences, release = tool("licences"), tool("release")


@pytest.mark.parametrize(
    ("expression", "wrong"),
    [
        ("MIT", []),
        ("BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0", []),
        ("GPL-3.0-only", ["GPL-3.0-only"]),
        ("MIT AND GPL-2.0-or-later", ["GPL-2.0-or-later"]),
        ("MIT OR GPL-2.0-or-later", []),
        ("(AGPL-3.0-only OR MIT) AND Apache-2.0 WITH LLVM-exception", []),
        ("(AGPL-3.0-only AND MIT) OR Proprietary", ["AGPL-3.0-only", "Proprietary"]),
        ("Apache-2.0 WITH Commons-Clause", ["Commons-Clause"]),
        ("not stated", ["not", "stated"]),
        ("", ["nothing"]),
    ],
)
def test_a_licence_is_allowed_or_named(expression, wrong):
    assert licences.unknown(expression) == wrong


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ("License-Expression: MIT-CMU", "MIT-CMU"),
        ("License: BSD\nClassifier: License :: OSI Approved :: BSD License", "BSD-3-Clause"),
        ("License: GNU General Public License (GPL)", "GNU General Public License (GPL)"),
        ("Classifier: License :: OSI Approved :: GNU General Public License v3 (GPLv3)", None),
        ("License: Apache License, Version 2.0", "Apache-2.0"),
        ("License: Copyright (c) someone\n" + 30 * " a licence in full", "not stated"),
        ("Summary: none", "not stated"),
    ],
)
def test_the_licence_that_a_package_states(tmp_path, monkeypatch, fields, found):
    folder = tmp_path / "madeup-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.4\nName: madeup\nVersion: 1.0\n{fields}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    licence = licences.stated("madeup")
    assert found is None or licence == found
    assert bool(licences.unknown(licence)) == (found is None or "GNU" in found or found == "not stated")


def test_every_installed_dependency_is_allowed_and_on_the_page():
    """The page may have more: extras that are not installed here."""
    page = (ROOT / "tools" / "licences.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| (\S+) \| (.+?) \| \S+ \|$", page, re.MULTILINE))
    found = {name: licence for name, licence, _ in licences.rows()}
    assert {"numpy", "scipy", "xarray", "matplotlib"} <= found.keys()
    assert {name: licence for name, licence in found.items() if licences.unknown(licence)} == {}
    core = {name for name, _, why in licences.rows() if why == "core"}
    assert core <= listed.keys()


def test_contents_of_wheel_and_archive():
    files = ["src/spectrata/a.py", "src/spectrata/page.css", "tests/test_a.py", "README.md"]
    wheel = ["spectrata/a.py", "spectrata/page.css", "spectrata-1.0.dist-info/METADATA"]
    archive = [
        "spectrata-1.0/src/spectrata/a.py",
        "spectrata-1.0/src/spectrata/page.css",
        "spectrata-1.0/tests/test_a.py",
    ]
    assert release.check_contents(files, wheel, archive) == []
    assert release.check_contents(files, [*wheel[1:], "spectrata/stray.py"], archive[:2]) == [
        "the wheel lacks spectrata/a.py",
        "the wheel holds spectrata/stray.py",
        "the source archive lacks tests/test_a.py",
    ]


def test_metadata_of_a_wheel():
    def wheel(version):
        data = io.BytesIO()
        text = f"Metadata-Version: 2.4\nName: spectrata\nVersion: {version}\nLicense-Expression: BSD-3-Clause\n\nWords."
        with zipfile.ZipFile(data, "w") as archive:
            archive.writestr("spectrata.dist-info/METADATA", text)
        return zipfile.ZipFile(data)

    assert release.check_metadata(wheel(release.version())) == []
    assert "the wheel has version 9.9" in release.check_metadata(wheel("9.9"))[0]


def test_facts_that_a_person_must_fill_in_are_named(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\nauthors = [{name = "A"}]\nurls = {Homepage = "x"}\n')
    (tmp_path / "CITATION.cff").write_text("authors:\n  - name: A\nreferences:\n  - family-names: Meng\n")
    (tmp_path / "SECURITY.md").write_text("# Security\n")
    named = " ".join(release.to_fill_in(tmp_path))
    for fact in ("Source", "Documentation", "Issues", "pyproject.toml", "CITATION.cff", "repository-code", "Contact"):
        assert fact in named
    assert "Homepage" not in named
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nauthors = [{name = "A", email = "a"}]\n[project.urls]\n'
        + "".join(f'{x} = "u"\n' for x in release.URLS)
    )
    (tmp_path / "CITATION.cff").write_text("repository-code: u\nauthors:\n  - family-names: A\nreferences: []\n")
    (tmp_path / "SECURITY.md").write_text("Contact: a\n")
    assert release.to_fill_in(tmp_path) == []


def test_nothing_is_built_before_they_are_filled_in(monkeypatch, capsys):
    monkeypatch.setattr(release, "build", lambda *arguments: pytest.fail("it was built"))
    monkeypatch.setattr(release, "to_fill_in", lambda root: ["an address"])
    monkeypatch.setattr("sys.argv", ["release.py"])
    assert release.main() == 1
    assert "an address" in capsys.readouterr().err


def test_the_package_says_that_it_is_typed():
    assert (ROOT / "src/spectrata/py.typed").is_file()
