"""The documentation without building it: names have examples, pages are reached, links lead somewhere, code runs."""

import ast
import builtins
import doctest
import importlib
import importlib.util
import inspect
import os
import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import calls
import spectrata as st
from commanding import installed_program

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# Made by the build, or of its machinery.
BUILT = {"_build", "gallery", "tutorials", "generated", "_templates", "sg_execution_times.rst"}
PAGES = sorted(
    path for path in DOCS.rglob("*") if path.suffix in (".md", ".rst") and not set(path.relative_to(DOCS).parts) & BUILT
)
MARKDOWN = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "benchmarks" / "README.md",
    *[path for path in PAGES if path.suffix == ".md"],
]
NAMESPACES = ("spectrata", "spectrata.stats", "spectrata.plot", "spectrata.torch")
# Values and modules, which have no docstring of their own to hold an example.
WITHOUT = {"spectrata.__version__", "spectrata.stats", "spectrata.plot", "spectrata.torch"}
# In the reference too: types, and what goes with graphs that do not fit into memory.
BESIDES = {
    "spectrata.stats.findings.Finding",
    "spectrata.stats.findings.Findings",
    "spectrata.core.algorithms.options.Options",
    "spectrata.core.strata.Stratum",
    "spectrata.inputs.graphs.Graph",
    "spectrata.inputs.graphs.as_graph",
    "spectrata.many.dask.DaskLaplacian",
    "spectrata.many.dask.dask_executor",
    "spectrata.many.dask.save_rows",
    "spectrata.report.shown.Report",
    "spectrata.sklearn.SpectralViews",
    "spectrata.stats.verbs.probe.Probe",
}


def names_of(space):
    """``__all__`` of a package, read without importing it: one of them needs torch."""
    if space == "spectrata":
        return st.__all__
    place = Path(st.__file__).parent.joinpath(*space.split(".")[1:]) / "__init__.py"
    for node in ast.parse(place.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            return ast.literal_eval(node.value)
    raise AssertionError(f"{space} has no __all__")


PUBLIC = [f"{space}.{name}" for space in NAMESPACES for name in names_of(space) if f"{space}.{name}" not in WITHOUT]


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def spec_of(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- names


@pytest.mark.parametrize("full", PUBLIC)
def test_every_public_name_has_an_example(full):
    space, _, name = full.rpartition(".")
    text = inspect.getdoc(getattr(importlib.import_module(space), name))
    section = re.search(r"^Examples\n-{8}\n(.*)", text, re.MULTILINE | re.DOTALL)
    assert section
    assert ">>> " in section[1]
    assert "+SKIP" not in section[1]
    assert unknown_names(section[1]) == set(), "it must run when copied into an empty session"


def unknown_names(text):
    """Names that the examples of a text use and never make or import."""
    tree = ast.parse("\n".join(example.source for example in doctest.DocTestParser().get_examples(text)))
    made, used = set(dir(builtins)), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.alias):
            made.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler):
            made.add(node.name)
        elif isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else made).add(node.id)
    return used - made


def names_in_the_reference():
    """Every name that the pages of the reference document."""
    for page in sorted(set((DOCS / "api").glob("*.rst")) - {DOCS / "api" / "index.rst"}):
        space = "spectrata"
        for line in page.read_text(encoding="utf-8").splitlines():
            if match := re.fullmatch(r"\.\. currentmodule:: (\S+)", line):
                space = match[1]
            elif match := re.fullmatch(r"   ([A-Za-z_][\w.]*)", line):
                yield f"{space}.{match[1]}"
            elif match := re.match(r"\.\. (?:py:data|py:module):: (\S+)", line):
                yield match[1]


def test_the_reference_has_the_public_names_and_no_other():
    assert sorted(names_in_the_reference()) == sorted(set(PUBLIC) | WITHOUT | BESIDES)


# ---- pages


def anchors_of(text):
    """The anchors of a Markdown page's headings, as code hosts and MyST make them."""
    plain = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    found = []
    for heading in re.findall(r"^#{1,6} (.+)$", plain, re.MULTILINE):
        words = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower())
        anchor = words.strip().replace(" ", "-")
        found.append(anchor if anchor not in found else f"{anchor}-{found.count(anchor)}")
    return found


@pytest.mark.parametrize("page", MARKDOWN, ids=name_of)
def test_links_of_a_page_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    check = spec_of(DOCS / "check_links.py")
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", text)):
        parts = urlsplit(link)
        if parts.scheme:
            assert check.elsewhere(link) is None, link
            continue
        target = (page.parent / parts.path).resolve() if parts.path else page
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        if parts.fragment:
            assert parts.fragment in anchors_of(target.read_text(encoding="utf-8")), link


def test_the_link_checker_finds_what_is_broken(tmp_path):
    check = spec_of(DOCS / "check_links.py")
    (tmp_path / "index.html").write_text('<a href="other.html#here">a</a><a href="https://example.org/a">b</a>')
    (tmp_path / "other.html").write_text('<h1 id="here">c</h1><img src="data:image/png;base64,AA==">')
    assert check.problems(tmp_path, check.read(tmp_path)) == []
    (tmp_path / "bad.html").write_text(
        '<a href="other.html#gone"></a><a href="gone.html"></a><img src="../out.png"><a href="https://exa mple"></a>'
    )
    assert [line.split(": ")[1] for line in check.problems(tmp_path, check.read(tmp_path))] == [
        "other.html#gone",
        "gone.html",
        "../out.png",
        "https://exa mple",
    ]
    assert check.main(str(tmp_path)) == 1


# ---- code on the pages

BLOCK = re.compile(
    r"^(?P<why><!-- not run: [^\n]+ -->\n)?```(?P<language>python|bash)\n(?P<code>.*?)^```$"
    r"(?:\n\n```text\n(?P<output>.*?)^```$)?",
    re.M | re.S,
)
WITH_CODE = [page for page in MARKDOWN if page.parent == DOCS and BLOCK.search(page.read_text(encoding="utf-8"))]


LONG = ("getting_started.md", "scale.md", "maps.md", "comparison.md", "inputs.md", "probe.md")


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[pytest.mark.long] * (page.name in LONG)) for page in WITH_CODE], ids=name_of
)
def test_code_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    """From top to bottom, in an empty folder, printing the text that follows a block where one does.

    What cannot run says why in a comment before it.
    """
    programs = installed_program(tmp_path / "bin")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    names, ran = {"__name__": "__main__"}, 0
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        if block["why"]:
            continue
        ran += 1
        if block["language"] == "python":
            line = text[: block.start("code")].count("\n")
            exec(compile("\n" * line + block["code"], str(page), "exec"), names)
            compare_output(block, capsys.readouterr().out)
            continue
        result = subprocess.run(
            ["bash", "-euc", block["code"]],
            env=os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
        )
        assert result.returncode == 0, result.stderr
        compare_output(block, result.stdout)
    assert ran


def compare_output(block, printed):
    if block["output"] is not None:
        assert [line.rstrip() for line in printed.splitlines()] == block["output"].splitlines()


@pytest.mark.parametrize("page", MARKDOWN, ids=name_of)
def test_code_is_closed_and_its_language_known(page):
    fences = re.findall(r"^```(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(fences) % 2 == 0
    assert not any(fences[1::2])
    assert set(fences[::2]) <= {"python", "bash", "bibtex", "text", ""}


@pytest.mark.parametrize("page", MARKDOWN, ids=name_of)
def test_code_fits_the_width_of_the_site(page):
    """A block of code has room for 90 characters; `examples/ruff.toml` holds the scripts to it."""
    blocks = BLOCK.finditer(page.read_text(encoding="utf-8"))
    assert [line for block in blocks for line in block["code"].splitlines() if len(line) > 90] == []


# ---- the rest


def test_the_formats_page_names_every_ending():
    from spectrata.inputs.readers import graph_files, signal_files

    text = (DOCS / "inputs.md").read_text(encoding="utf-8")
    graphs, signals = (
        set(re.findall(r"`(\.[\w.]+)`", re.search(rf"^## {kind} files at a glance$(.*?)^## ", text, re.M | re.S)[1]))
        for kind in ("Graph", "Signal")
    )
    assert graphs == {*graph_files._READERS, *graph_files._TABLES}
    assert signals == set(signal_files._READERS)


def rows_of_section(page, heading):
    """The cells of the table under a heading, without code marks."""
    section = re.search(rf"^## {heading}$(.*?)(?=^## |\Z)", page.read_text(encoding="utf-8"), re.M | re.S)[1]
    table = [line for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in table]


def test_the_page_of_the_schema_is_the_schema():
    from spectrata.bands.result import NAMES
    from spectrata.results.schema import FIELDS, LONG_NAMES

    page = DOCS / "schema.md"
    kinds = {True: "coordinate", False: "variable"}
    assert rows_of_section(page, "Variables of every result") == [
        [name, ", ".join(field.dims), kinds[field.coordinate], field.long_name] for name, field in FIELDS.items()
    ]
    others = [[name, words] for name, words in LONG_NAMES.items() if name not in FIELDS]
    assert rows_of_section(page, "Variables of some results") == others
    assert rows_of_section(page, "Variables of bands") == [list(row) for row in NAMES.items()]


def test_the_page_of_the_schema_has_what_results_have():
    import networkx as nx

    from spectrata.results.schema import ROW_DIMS

    page = DOCS / "schema.md"
    graph, signal = nx.cycle_graph(6), [[[1.0, 2.0]] * 5 + [[0.0, 0.0]]] * 2
    asked = {"preset": "paper", "trials": 1, "max_epochs": 2, "zero_vectors": "zero"}
    ds = calls.spectra(graph, signal, hops=2, **asked)
    many = st.spectra_many([(graph, range(6))], hops=1)
    bands = calls.band_spectra(graph, range(6), bands=2)
    dims = {name.strip(" `") for row in rows_of_section(page, "Dimensions") for name in row[0].split(",")}
    assert dims - {"column"} == {*ds.dims, *many.dims, *bands.dims, *ROW_DIMS, "evaluation"} - {"column"}
    assert {row[0] for row in rows_of_section(page, "Attributes")} == set(ds.attrs)
    described = {
        row[0]
        for heading in ("every result", "some results", "bands")
        for row in rows_of_section(page, f"Variables of {heading}")
    }
    assert described - {"edge_weight"} == ({*ds.variables, *bands.variables} - dims) | {"component"}


def test_the_picture_of_algorithms_is_that_of_the_table():
    draw = spec_of(DOCS / "draw" / "fidelity.py")
    assert draw.picture() == (DOCS / "images" / "fidelity.svg").read_text(encoding="utf-8")


def test_every_plot_has_a_picture_in_the_reference():
    assert sorted(spec_of(DOCS / "draw" / "plots.py").PICTURES) == sorted(names_of("spectrata.plot"))


def test_the_claims_page_is_that_of_its_records():
    draw = spec_of(DOCS / "draw" / "claims.py")
    assert draw.page() == (DOCS / "claims.md").read_text(encoding="utf-8")
    # What the first sentences of the page say.
    for series, rows in draw.cosines().items():
        for name, (_, measured, flat) in rows.items():
            better = all(own > level + 0.02 for own, level in zip(measured, flat, strict=True))
            assert better == (series == "pulses" and name != "ln_vx")


def test_the_picture_of_the_house_has_every_room():
    draw = spec_of(DOCS / "draw" / "house.py")
    picture = (DOCS / "images" / "house.svg").read_text(encoding="utf-8")
    assert draw.picture() == picture
    page = (DOCS / "architecture.md").read_text(encoding="utf-8").splitlines()
    start = page.index("| room | what is in it |") + 2
    rows = page[start : page.index("", start)]
    rooms = [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])]
    assert len(rooms) > 10
    assert [name for _, _, names in draw.FLOORS for name in names] == rooms


def test_citation_file():
    yaml = pytest.importorskip("yaml")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors", "version"} <= set(cited)
    assert cited["cff-version"] == "1.2.0"
    assert str(cited["version"]) == st.__version__
    assert all("name" in author or "family-names" in author for author in cited["authors"])
    assert "2201.03696" in cited["references"][0]["url"]
