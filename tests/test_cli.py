"""The command line: every command, its exit codes, and what it leaves on disk."""

import json
from dataclasses import fields, replace

import numpy as np
import pytest

import spectrata as st
from commanding import FILES, INPUTS, made, run
from spectrata.cli import files
from spectrata.core.algorithms.options import Options
from spectrata.core.registry import ALGORITHMS
from spectrata.errors import MissingExtraError, OptionError, SolverError

# ---- profile


def test_profile_prints_and_writes(karate):
    result = run("profile", "karate.txt", "degree.npy", "-o", "out")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    first, second = result.stdout.splitlines()[:2]
    assert first == "graph: karate.txt: 34 nodes, 78 edges, diameter 5, connected"
    assert second == "signal: degree.npy: 1 number per node; metric euclidean (one number per node)"
    assert made(karate / "out") == FILES
    assert "written: out/spectra.nc, out/spectra.csv, out/spectra.png" in result.stdout
    ds = st.open(karate / "out" / "spectra.nc")
    assert ds["algorithm"].values.tolist() == ["gft", "apprx_ls", "in_agg", "adj_diff"]
    for hop in range(1, 6):
        rows = [line.split() for line in result.stdout.splitlines() if line.split()[:1] == [str(hop)]]
        sizes, strongest = rows[-2:]  # the first is the finding
        at = ds.sel({"hop": hop})
        assert sizes[1:4] == [str(int(at[name])) for name in ("n_edges", "n_parts", "n_singletons")]
        assert float(sizes[4]) == pytest.approx(float(at["gradient_norm"]), rel=1e-3)
        assert strongest[1] == "gft"


def test_findings_come_first_and_are_those_of_diagnose(karate, monkeypatch):
    expected = st.diagnose(st.Stratification("karate.txt", hops=2), "degree.npy")
    words = ["profile", "karate.txt", "degree.npy", "--hops", "2"]
    lines = run(*words).stdout.splitlines()
    assert lines[2] == "Findings:"
    assert [line.removeprefix("- ") for line in lines[3 : lines.index("")]] == str(expected).splitlines()
    assert json.loads(run(*words, "--json").stdout)["findings"] == json.loads(expected.to_json())
    assert "Findings" not in run(*words, "--no-findings").stdout
    assert json.loads(run(*words, "--no-findings", "--json").stdout)["findings"] is None
    monkeypatch.setattr("spectrata.cli.profile.SMALL", 33)
    assert "not computed for 34 nodes (more than 33); use --findings" in run(*words).stdout
    assert str(expected).splitlines()[0] in run(*words, "--findings").stdout


def test_what_has_no_findings_says_why(karate):
    cut = run("profile", "karate.txt", "degree.npy", "--hops", "1", "--n-eigs", "3").stdout
    assert "Not computed: findings need all components; leave out --n-eigs." in cut
    np.save("huge.npy", 1e300 * np.load("degree.npy"))
    huge = run("profile", "karate.txt", "huge.npy", "--hops", "1")
    assert huge.exit_code == 0, huge.stderr


def test_the_files_agree_with_python(karate):
    assert run("profile", "karate.txt", "vectors.npy", "-o", "out", "--algorithms", "gft,adj-diff").exit_code == 0
    import pandas as pd

    expected = st.spectra("karate.txt", "vectors.npy", algorithms=["gft", "adj_diff"])
    ds = st.open("out/spectra.nc")
    np.testing.assert_array_equal(ds["magnitude"], expected["magnitude"])
    table = pd.read_csv("out/spectra.csv")
    assert len(table) == 2 * 5 * 34
    chosen = table[(table["algorithm"] == "adj_diff") & (table["hop"] == 2)]["magnitude"]
    np.testing.assert_allclose(chosen, expected["magnitude"].loc["adj_diff", 2], rtol=1e-12)
    with open("out/spectra.png", "rb") as picture:
        assert picture.read(8) == b"\x89PNG\r\n\x1a\n"


def test_the_default_folder_is_named_after_the_graph(karate):
    result = run("profile", "karate.txt", "degree.npy", "--hops", "1")
    assert result.exit_code == 0
    assert made(karate) == sorted([*INPUTS, "karate-spectra"])
    assert made(karate / "karate-spectra") == FILES
    assert files.default_folder("data/web.mtx.gz") == "web-spectra"


def test_a_second_run_replaces_its_own_files_and_nothing_else(karate):
    assert run("profile", "karate.txt", "degree.npy", "-o", "out", "--hops", "1").exit_code == 0
    (karate / "out" / "mine.txt").write_text("kept")
    assert run("profile", "karate.txt", "degree.npy", "-o", "out", "--hops", "2").exit_code == 0
    assert (karate / "out" / "mine.txt").read_text() == "kept"
    assert st.open("out/spectra.nc")["hop"].values.tolist() == [1, 2]
    assert made(karate / "out") == sorted([*FILES, "mine.txt"])


@pytest.mark.parametrize(
    ("text", "hops"),
    [("2", [1, 2]), ("99", [1, 2, 3, 4, 5]), ("2-4", [2, 3, 4]), ("1,3", [1, 3]), ("all", [1, 2, 3, 4, 5])],
)
def test_hops(karate, text, hops):
    result = run("profile", "karate.txt", "degree.npy", "--hops", text, "--json")
    assert [hop["hop"] for hop in json.loads(result.stdout)["hops"]] == hops


def test_json_is_one_document_and_says_what_the_table_says(karate):
    result = run("profile", "karate.txt", "layers.npy", "--json", "--hops", "1-2", "--seed", "7", "--top", "2")
    document = json.loads(result.stdout)
    assert result.stderr == ""
    assert document["seed"] == 7
    assert document["graph"]["n_nodes"] == 34
    assert document["graph"]["n_parts"] == 1
    assert document["signal"]["metric"] == "angular"
    assert document["signal"]["snapshots"] == [0, 1, 2, 3, 4, 5]
    ds = st.open(document["files"]["dataset"])
    for hop in document["hops"]:
        for at in hop["results"]:
            norm = ds["gradient_norm"].sel({"hop": hop["hop"], "snapshot": at["snapshot"]})
            assert at["gradient_norm"] == float(norm)
            found = at["algorithms"]["gft"]["strongest"]
            assert len(found) == 2
            assert found[0]["magnitude"] >= found[1]["magnitude"]


def test_json_has_null_for_what_is_undefined(karate):
    layers = np.load("layers.npy")
    layers[2, 5] = 0.0
    np.save("layers.npy", layers)
    result = run("profile", "karate.txt", "layers.npy", "--json", "--hops", "1", "--zero-vectors", "nan")
    results = json.loads(result.stdout)["hops"][0]["results"]
    assert results[2]["gradient_norm"] is None
    assert results[2]["algorithms"]["gft"] == {"status": "undefined: zero vector", "strongest": []}
    assert results[1]["algorithms"]["gft"]["status"] == "ok"
    table = run("profile", "karate.txt", "layers.npy", "--hops", "1", "--zero-vectors", "nan").stdout
    assert "gft at K = 1, snapshot 2: undefined: zero vector" in table
    assert "2 snapshots in the middle not shown" in table


def test_every_option_of_the_algorithms_is_a_flag(karate):
    words = {
        "orientation": "random",
        "scaling": "eigenvalue",
        "laplacian": "combinatorial",
        "transform": "learned",
        "trials": "3",
        "max_epochs": "40",
        "tolerance": "1e-3",
        "learning_rate": "0.02",
        "literal": True,
        "activation": "selu",
        "average": "abs",
        "by_part": True,
        "max_line_nodes": "2000",
        "skip_large": True,
        "ens_weights": "adj_diff=0.75,ln_vx=0.25",
    }
    assert sorted([*words, "self_loops"]) == sorted(field.name for field in fields(Options))
    flags = []
    for name, value in words.items():
        flag = "--" + name.replace("_", "-")
        flags += [flag] if value is True else [flag, value]
    algorithms = ["--algorithms", "apprx_ls,adj_diff,ln_vx,ens"]
    result = run("profile", "karate.txt", "degree.npy", "--hops", "1", "--json", *algorithms, *flags)
    assert result.exit_code == 0, result.stderr
    used = json.loads(result.stdout)["options"]
    for name, value in words.items():
        if name == "ens_weights":
            assert used[name] == {"adj_diff": 0.75, "ln_vx": 0.25}
        else:
            assert str(used[name]) == str(value) or float(used[name]) == float(value)


@pytest.mark.needs("plotly")
@pytest.mark.parametrize("laplacian", ["random_walk", "normalized"])
def test_laplacians_with_self_loops(karate, laplacian):
    flags = ["--laplacian", laplacian, "--self-loops", "--calibrate", "--draws", "39", "--report", "--json"]
    result = run("profile", "karate.txt", "degree.npy", "--hops", "1", *flags, "-o", "out")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert (found["options"]["laplacian"], found["options"]["self_loops"]) == (laplacian, True)
    expected = st.spectra("karate.txt", "degree.npy", hops=1, laplacian=laplacian, self_loops=True)
    np.testing.assert_array_equal(st.open("out/spectra.nc")["magnitude"], expected["magnitude"])
    text = run("profile", "karate.txt", "degree.npy", "--self-loops")
    assert text.exit_code == 2
    assert "combinatorial" in text.stderr


def test_help_lists_the_algorithms_of_the_registry(karate, monkeypatch):
    row = ALGORITHMS["gft"]
    monkeypatch.setitem(ALGORITHMS, "throw_away", replace(row, name="throw_away", default=False))
    assert "throw_away" in run("profile", "--help").stdout
    result = run("profile", "karate.txt", "degree.npy", "--hops", "1", "--algorithms", "throw_away", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["hops"][0]["results"][0]["algorithms"]["throw_away"]["status"] == "ok"


def test_flags_not_given_leave_the_preset_alone(karate):
    result = run("profile", "karate.txt", "degree.npy", "--hops", "1", "--preset", "paper", "--trials", "2", "--json")
    used = json.loads(result.stdout)["options"]
    assert used["preset"] == "paper"
    assert used["orientation"] == "index"
    assert used["trials"] == 2
    assert "ens_raw" in used["algorithms"]


def test_keep(karate):
    assert run("profile", "karate.txt", "degree.npy", "--hops", "1", "--keep", "none", "-o", "a").exit_code == 0
    assert run("profile", "karate.txt", "degree.npy", "--hops", "1", "--keep", "signal", "-o", "b").exit_code == 0
    kept = [[name in st.open(f"{folder}/spectra.nc") for name in ("signal", "eigenvectors")] for folder in "ab"]
    assert kept == [[False, False], [True, False]]


def test_disconnected_parts_are_said(karate):
    (karate / "two.txt").write_text("0 1\n1 2\n3 4\n")
    np.save("five.npy", np.arange(5.0))
    result = run("profile", "two.txt", "five.npy")
    assert "5 nodes, 3 edges, diameter 2, not connected: 2 parts, the largest of 3 nodes" in result.stdout


def test_status_that_is_not_ok_is_said(karate):
    flags = ["--algorithms", "ln_vx", "--max-line-nodes", "80", "--skip-large", "--trials", "2", "--max-epochs", "5"]
    result = run("profile", "karate.txt", "degree.npy", "--hops", "1-2", *flags)
    assert result.exit_code == 0
    assert "ln_vx at K = 2: skipped: line graph too large" in result.stdout
    assert "undefined" in result.stdout


def test_warnings_are_notes(karate):
    (karate / "loops.txt").write_text("0 1\n1 2\n2 2\n")
    np.save("three.npy", np.arange(3.0))
    result = run("profile", "loops.txt", "three.npy")
    assert result.exit_code == 0
    lines = result.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("note: Dropped 1 self-loop")


def test_repeated_and_zero_components_in_the_table(karate):
    """The eigenvalues of a ring of 4 are 0, 2 twice, and 4; this signal has 3, sqrt(2) and 1 of them."""
    (karate / "ring.txt").write_text("0 1\n1 2\n2 3\n3 0\n")
    np.save("four.npy", np.array([3.0, 1.0, 1.0, 1.0]))
    result = run("profile", "ring.txt", "four.npy", "--algorithms", "gft", "--hops", "1")
    row = next(line for line in result.stdout.splitlines() if " gft " in line)
    assert row.split("gft")[1].split() == ["zero:", "3", "2*:", "1.414", "4:", "1"]
    assert "* repeated eigenvalue" in result.stdout
    simple = run("profile", "ring.txt", "four.npy", "--algorithms", "gft", "--hops", "1", "--json")
    found = json.loads(simple.stdout)["hops"][0]["results"][0]["algorithms"]["gft"]["strongest"]
    assert [one["multiplicity"] for one in found] == [1, 2, 1]
    assert [one["zero"] for one in found] == [True, False, False]


def test_rounding_is_not_listed_as_a_component(karate):
    (karate / "ring.txt").write_text("0 1\n1 2\n2 3\n3 0\n")
    np.save("four.npy", np.ones(4))
    result = run("profile", "ring.txt", "four.npy", "--algorithms", "gft,in_agg", "--hops", "1")
    row = next(line for line in result.stdout.splitlines() if " gft " in line)
    assert row.split("gft")[1].split() == ["zero:", "2"]
    assert "all zero" in next(line for line in result.stdout.splitlines() if " in_agg " in line)


# ---- bad input


BAD = [
    ["profile", "nowhere.txt", "degree.npy"],
    ["profile", "karate.txt", "nowhere.npy"],
    ["profile", "karate.txt", "degree.npy", "--algorithms", "magic"],
    ["profile", "karate.txt", "degree.npy", "--hops", "1-9"],
    ["profile", "karate.txt", "degree.npy", "--hops", "0"],
    ["profile", "karate.txt", "degree.npy", "--hops", "x"],
    ["profile", "karate.txt", "degree.npy", "--metric", "angular"],
    ["profile", "karate.txt", "degree.npy", "--metric", "magic"],
    ["profile", "karate.txt", "degree.npy", "--seed", "-1"],
    ["profile", "karate.txt", "degree.npy", "--orientation", "magic"],
    ["profile", "karate.txt", "degree.npy", "--trials", "0"],
    ["profile", "karate.txt", "degree.npy", "--keep", "magic"],
    ["profile", "karate.txt", "degree.npy", "--preset", "magic"],
    ["profile", "karate.txt", "degree.npy", "--ens-weights", "adj_diff=x"],
    ["profile", "karate.txt", "degree.npy", "--n-nodes", "20"],
    ["profile", "karate.txt", "short.npy"],
    ["profile", "karate.txt", "nan.npy"],
    ["profile", "karate.txt", "zero.npy"],
    ["profile", "empty.txt", "degree.npy"],
    ["profile", "karate.txt", "degree.npy", "-o", "karate.txt"],
    ["profile", "karate.txt", "degree.npy", "-o", "karate.txt/below"],
    ["profile", "karate.txt", "degree.npy", "--no-such-flag"],
    ["profile", "karate.txt", "degree.npy", "--trials", "many"],
    ["profile", "karate.txt", "degree.npy", "--top", "0"],
    ["profile", "karate.txt"],
    ["strata", "nowhere.txt"],
    ["strata", "karate.txt", "--hops", "1-9"],
    ["demo", "-o", "karate.txt"],
    ["magic"],
]


@pytest.mark.parametrize("words", BAD, ids=" ".join)
def test_bad_input_is_one_line_code_2_and_leaves_nothing(karate, words):
    np.save("short.npy", np.ones(33))
    np.save("nan.npy", np.full(34, np.nan))
    np.save("zero.npy", np.zeros((34, 2)))
    (karate / "empty.txt").write_text("")
    before = made(karate)
    result = run(*words, *(["-o", "deep/out"] if words[0] == "profile" and "-o" not in words else []))
    assert result.exit_code == 2
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("error: ")
    assert "Traceback" not in lines[0]
    assert made(karate) == before


@pytest.mark.parametrize(("problem", "code"), [
    (SolverError("No convergence."), 1),
    (MissingExtraError("It needs a package."), 1),
    (OptionError("Not\nallowed."), 2),
    (MemoryError(), 1),
    (ZeroDivisionError("by zero"), 1),
    (KeyboardInterrupt(), 130),
])  # fmt: skip
def test_exit_codes_of_failures(karate, monkeypatch, problem, code):
    def fail(*_, **__):
        raise problem

    monkeypatch.setattr("spectrata.core.stratification.Stratification.spectra", fail)
    result = run("profile", "karate.txt", "degree.npy")
    assert result.exit_code == code
    assert len(result.stderr.splitlines()) <= 1
    assert "Traceback" not in result.stderr
    assert made(karate) == INPUTS


def test_debug_shows_the_traceback(karate, monkeypatch):
    words = ["profile", "nowhere.txt", "degree.npy"]
    assert "Traceback" in run(*words, "--debug").stderr
    assert "Traceback" in run("--debug", *words).stderr
    assert "Traceback" not in run(*words).stderr  # it does not stick
    monkeypatch.setenv("SPECTRATA_DEBUG", "1")
    assert "Traceback" in run(*words).stderr
    monkeypatch.setenv("SPECTRATA_DEBUG", "0")
    assert "Traceback" not in run(*words).stderr


@pytest.mark.parametrize(
    "stage", ["spectrata.results.files.fill", "spectrata.results.tables.to_table", "spectrata.cli.files.draw"]
)
@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_nothing(karate, monkeypatch, stage, problem):
    def fail(*_, **__):
        raise problem

    monkeypatch.setattr(stage, fail)
    result = run("profile", "karate.txt", "degree.npy", "-o", "a/b")
    assert result.exit_code == (1 if isinstance(problem, OSError) else 130)
    assert made(karate) == INPUTS


def test_a_write_that_fails_keeps_what_was_there(karate, monkeypatch):
    assert run("profile", "karate.txt", "degree.npy", "-o", "out", "--hops", "1").exit_code == 0
    before = (karate / "out" / "spectra.nc").read_bytes()

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("spectrata.cli.files.draw", fail)
    result = run("profile", "karate.txt", "degree.npy", "-o", "out", "--hops", "2")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert "No space left on device" in result.stderr
    assert (karate / "out" / "spectra.nc").read_bytes() == before
    assert made(karate / "out") == FILES


def test_messages_carry_no_line_breaks_or_control_characters(karate):
    result = run("profile", "no\nwhere\x1b[31m.txt", "degree.npy")
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert "\x1b" not in result.stderr
