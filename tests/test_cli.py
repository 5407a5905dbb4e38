"""``spectrata profile``: the answer, its files, flags, and exit codes."""

import json
import warnings

import networkx as nx
import numpy as np
import pytest

import spectrata as st
from commanding import FILES, INPUTS, made, run, write_tables
from spectrata.cli import failures, files
from spectrata.errors import FLAGS, MissingExtraError, OptionError, SolverError, argument

QUICK = ["--hops", "1", "--draws", "99"]


# ---- the answer


def test_the_answer_is_that_of_diagnose_in_fifteen_lines(karate):
    write_tables(karate)
    result = run("profile", "karate.txt", "clubs.csv")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert len(lines) <= 15
    assert max(map(len, lines)) <= 80
    assert lines[0] == "clubs.csv (labels of 2 classes): alike up to 2 hops, unlike at 3 and 4 hops"
    assert lines[1] == "graph: karate.txt: 34 nodes, 78 edges, connected, diameter 5"
    expected = st.diagnose(st.Stratification("karate.txt"), "clubs.csv")
    assert lines[2:-1] == str(expected).splitlines()
    assert lines[-1].startswith("written to karate-spectra: likeness.png, spectra.nc (also: --report, --csv)")
    assert made("karate-spectra") == FILES
    document = json.loads(run("profile", "karate.txt", "clubs.csv", "--json").stdout)
    assert document["findings"] == json.loads(expected.to_json())
    assert document["columns"] is None


def test_columns_of_a_table_are_ranked(karate):
    write_tables(karate)
    result = run("profile", "karate.txt", "table.csv", "--csv", "-o", "out")
    lines = result.stdout.splitlines()
    assert lines[0] == "table.csv: 3 columns, each by itself"
    assert len(lines) <= 16  # the names of the files take two
    row = next(line.split() for line in lines if line.startswith("officer"))
    assert row[1:5] == ["alike", "up", "to", "2"]
    assert "0.718" in row
    assert "hops, unlike at 3 and 4" in " ".join(" ".join(lines).split())  # farther hops are told too
    assert "clearest: officer (r = 0.72" in " ".join(lines)
    assert made("out") == sorted(["columns.csv", "findings.csv", "spectra.csv", *FILES])
    one = run("profile", "karate.txt", "table.csv", "--column", "officer", *QUICK).stdout
    assert one.startswith("table.csv, officer (one number per node): alike between neighbours")
    assert "column" not in one.lower()
    joint = run("profile", "karate.txt", "table.csv", "--columns", "joint", *QUICK).stdout
    assert joint.startswith("table.csv (directions of 3 numbers)")


def test_snapshots_disconnected_parts_and_class_codes(karate):
    (karate / "two.txt").write_text("0 1\n1 2\n3 4\n")
    np.save("five.npy", np.arange(5.0))
    text = run("profile", "two.txt", "five.npy").stdout
    assert "graph: two.txt: 5 nodes, 3 edges, 2 parts, the largest of 3 nodes, diameter 2" in text
    text = run("profile", "karate.txt", "layers.npy", *QUICK).stdout
    assert "2 snapshots tested" in text
    assert "snapshot 0: " in text
    assert "\nSnapshot 5:\n" in text
    assert text.splitlines()[-2] == "--csv writes the other snapshots too."
    assert len(text.splitlines()) <= 15
    np.save("codes.npy", np.arange(34) % 3)
    assert "labels of 3 classes" in run("profile", "karate.txt", "codes.npy", "--labels", *QUICK).stdout


def test_what_is_written_is_random_walk_gft_unless_asked(karate):
    assert run("profile", "karate.txt", "degree.npy", "-o", "a").exit_code == 0
    ds = st.open("a/spectra.nc")
    expected = st.spectra("karate.txt", "degree.npy", "gft", laplacian="random_walk")
    np.testing.assert_allclose(ds["magnitude"], expected["magnitude"], atol=1e-12)
    assert "signal" in ds
    assert "eigenvectors" not in ds
    flags = ["--algorithms", "gft,adj-diff", "--laplacian", "combinatorial", "--csv", "--hops", "1-2"]
    assert run("profile", "karate.txt", "vectors.npy", "-o", "b", "--keep", "none", *flags).exit_code == 0
    assert "signal" not in st.open("b/spectra.nc")
    expected = st.spectra("karate.txt", "vectors.npy", ["gft", "adj_diff"], hops=2)
    np.testing.assert_array_equal(st.open("b/spectra.nc")["magnitude"], expected["magnitude"])
    import pandas as pd

    table = pd.read_csv("b/spectra.csv")
    chosen = table[(table["algorithm"] == "adj_diff") & (table["hop"] == 2)]["magnitude"]
    np.testing.assert_allclose(chosen, expected["magnitude"].loc["adj_diff", 2], rtol=1e-12)
    with open("b/spectra.png", "rb") as picture:
        assert picture.read(8) == b"\x89PNG\r\n\x1a\n"


def test_a_second_run_replaces_its_own_files_and_nothing_else(karate):
    assert run("profile", "karate.txt", "degree.npy", "-o", "out", *QUICK).exit_code == 0
    (karate / "out" / "mine.txt").write_text("kept")
    assert run("profile", "karate.txt", "degree.npy", "-o", "out", "--hops", "2").exit_code == 0
    assert (karate / "out" / "mine.txt").read_text() == "kept"
    assert st.open("out/spectra.nc")["hop"].values.tolist() == [1, 2]
    assert made(karate / "out") == sorted([*FILES, "mine.txt"])
    assert files.default_folder("data/web.mtx.gz") == "web-spectra"


@pytest.mark.parametrize(
    (
        "text", "hops"), [("2", [1, 2]), ("99", [1, 2, 3, 4, 5]), ("2-4", [2, 3, 4]), ("1,3", [1, 3]), ("all"
    , [1, 2, 3, 4, 5])]
)  # fmt: skip
def test_hops(karate, text, hops):
    result = run("profile", "karate.txt", "degree.npy", "--hops", text, "--draws", "99", "--json")
    assert json.loads(result.stdout)["hops"] == hops


def test_details_show_whole_eigenspaces(karate):
    """The eigenvalues of a ring of 4 are 0, 2 twice, and 4; this signal has 3, sqrt(2) and 1 of them."""
    (karate / "ring.txt").write_text("0 1\n1 2\n2 3\n3 0\n")
    np.save("four.npy", np.array([3.0, 1.0, 1.0, 1.0]))
    flags = ["--algorithms", "gft,in_agg", "--laplacian", "combinatorial", "--hops", "1"]
    text = run("profile", "ring.txt", "four.npy", *flags, "--details").stdout
    row = next(line for line in text.splitlines() if " gft " in line)
    assert row.split("gft")[1].split() == ["zero:", "3", "2*:", "1.414", "4:", "1"]
    found = json.loads(run("profile", "ring.txt", "four.npy", *flags, "--json").stdout)["strongest"][0]["strongest"]
    assert [one["multiplicity"] for one in found] == [1, 2, 1]
    assert [one["zero"] for one in found] == [True, False, False]
    np.save("four.npy", np.ones(4))  # rounding is not a component
    text = run("profile", "ring.txt", "four.npy", *flags, "--details").stdout
    assert next(line for line in text.splitlines() if " gft " in line).split("gft")[1].split() == ["zero:", "2"]
    assert "all zero" in next(line for line in text.splitlines() if " in_agg " in line)


def test_a_status_that_is_not_ok_is_printed(karate):
    flags = ["--algorithms", "ln_vx", "--ln-vx", "max_line_nodes=80,skip_large=true,trials=2,max_epochs=5"]
    flags += ["--laplacian", "combinatorial", "--draws", "99"]
    result = run("profile", "karate.txt", "degree.npy", "--hops", "1-2", *flags, "--details")
    assert result.exit_code == 0, result.stderr
    assert "ln_vx at hop 2: skipped: line graph too large" in result.stdout
    assert "undefined" in result.stdout


# ---- flags


def test_options_of_an_algorithm_are_one_flag_as_in_python(karate):
    flags = ["--algorithms", "apprx_ls,adj_diff,ln_vx,ens", "--laplacian", "combinatorial"]
    flags += ["--apprx-ls", "orientation=random", "--adj-diff", "scaling=eigenvalue", "--ens", "weights=even"]
    flags += ["--ln-vx", "trials=3, max_epochs=40,tolerance=1e-3,literal=true,activation=none,average=abs"]
    result = run("profile", "karate.txt", "degree.npy", *QUICK, "--json", *flags)
    assert result.exit_code == 0, result.stderr
    used = json.loads(result.stdout)["options"]
    expected = {"orientation": "random", "scaling": "eigenvalue", "ens_weights": "even", "trials": 3, "max_epochs": 40}
    expected |= {"tolerance": 1e-3, "literal": True, "activation": None, "average": "abs"}
    assert {name: used[name] for name in expected} == expected
    paper = ["--preset", "paper", "--ln-vx", "trials=2", "--json"]
    used = json.loads(run("profile", "karate.txt", "degree.npy", *QUICK, *paper).stdout)["options"]
    assert (used["orientation"], used["trials"]) == ("index", 2)  # the preset, and a flag on top
    assert "ens_raw" in used["algorithms"]


# ---- messages name flags


def test_an_argument_is_written_as_the_caller_writes_it(monkeypatch):
    assert argument("weights", True) == "weights=True"
    for name, takes_value in (("weights", True), ("undirected", False), ("hops", True)):
        monkeypatch.setitem(FLAGS, name, (f"--{name}", takes_value))
    assert [argument("weights", value) for value in (True, "a b")] == ["--weights true", "--weights a b"]
    assert (argument("undirected", True), argument("undirected", False)) == ("--undirected", "no --undirected")
    assert (argument("hops", [1, 2]), argument("hops")) == ("--hops 1,2", "--hops")
    assert argument("metric", "angular") == "metric='angular'"  # not a flag of this command


@pytest.mark.parametrize(("words", "said"), [
    (["degree.npy", "--metric", "round"], "error: --metric round is not"),
    (["degree.npy", "--weights", "capacity"], "error: --weights capacity is not an edge attribute"),
    (["degree.npy", "--draws", "9"], "error: --draws 9 cannot give a p of 0.05"),
    (["table.csv", "--nodes", "city"], "error: --nodes city is not a column"),
    (["degree.npy", "--weights", "--undirected"], "error: --weights needs a value, and --undirected follows it"),
])  # fmt: skip
def test_errors_name_flags(karate, words, said):
    write_tables(karate)
    result = run("profile", "karate.txt", *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(said)
    assert not FLAGS


def test_a_directed_and_a_weighted_graph_name_the_flag(karate):
    nx.write_graphml(nx.path_graph(3, create_using=nx.DiGraph), "way.graphml")
    result = run("strata", "way.graphml")
    assert result.exit_code == 2
    assert "use --undirected to count" in result.stderr
    assert run("strata", "way.graphml", "--undirected").exit_code == 0
    graph = nx.path_graph(3)
    nx.set_edge_attributes(graph, 2.0, "weight")
    nx.write_graphml(graph, "heavy.graphml")
    result = run("strata", "heavy.graphml")
    assert result.stderr == "note: Ignoring edge weights; --weights true uses them.\n"
    assert run("strata", "heavy.graphml", "--weights", "false").stderr == ""


# ---- bad input and exit codes


BAD = [
    ["profile", "nowhere.txt", "degree.npy"],
    ["profile", "karate.txt", "nowhere.npy"],
    ["profile", "karate.txt", "degree.npy", "--algorithms", "magic"],
    ["profile", "karate.txt", "degree.npy", "--hops", "1-9"],
    ["profile", "karate.txt", "degree.npy", "--hops", "0"],
    ["profile", "karate.txt", "degree.npy", "--hops", "x"],
    ["profile", "karate.txt", "degree.npy", "--metric", "angular"],
    ["profile", "karate.txt", "degree.npy", "--seed", "-1"],
    ["profile", "karate.txt", "degree.npy", "--keep", "magic"],
    ["profile", "karate.txt", "degree.npy", "--ens", "adj_diff=x"],
    ["profile", "karate.txt", "degree.npy", "--n-nodes", "20"],
    ["profile", "karate.txt", "degree.npy", "--jobs", "2"],
    ["profile", "karate.txt", "degree.npy", "--spacing", "log"],
    ["profile", "karate.txt", "degree.npy", "--bands", "4", "--report"],
    ["profile", "karate.txt", "short.npy"],
    ["profile", "karate.txt", "nan.npy"],
    ["profile", "empty.txt", "degree.npy"],
    ["profile", "karate.txt", "degree.npy", "-o", "karate.txt"],
    ["profile", "karate.txt", "degree.npy", "-o", "karate.txt/below"],
    ["profile", "karate.txt", "degree.npy", "--no-such-flag"],
    ["profile", "karate.txt", "degree.npy", "--ln-vx", "trials=many"],
    ["profile", "karate.txt"],
    ["profile", "no\nwhere\x1b[31m.txt", "degree.npy"],
    ["strata", "karate.txt", "--hops", "1-9"],
    ["homophily", "karate.txt", "nowhere.csv"],
    ["correlogram", "karate.txt", "vectors.npy", "--columns", "each"],
    ["compare", "degree.npy", "degree.npy"],
    ["check", "degree.npy"],
    ["demo", "-o", "karate.txt"],
    ["magic"],
]  # fmt: skip


@pytest.mark.parametrize("words", BAD, ids=" ".join)
def test_bad_input_is_one_line_code_2_and_leaves_nothing(karate, words):
    np.save("short.npy", np.ones(33))
    np.save("nan.npy", np.full(34, np.nan))
    np.save("zero.npy", np.zeros((34, 2)))
    (karate / "empty.txt").write_text("")
    before = made(karate)
    result = run(*words, *(["-o", "deep/out"] if words[0] == "profile" and "-o" not in words else []))
    assert result.exit_code == failures.Code.BAD_INPUT
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("error: ")
    assert "Traceback" not in lines[0]
    assert "\x1b" not in lines[0]
    assert made(karate) == before


@pytest.mark.parametrize(("problem", "code"), [
    (SolverError("No convergence."), 1),
    (MissingExtraError("It needs a package."), 1),
    (OptionError("Not\nallowed."), 2),
    (MemoryError(), 1),
    (ZeroDivisionError("by zero"), 1),
    (KeyboardInterrupt(), 130),
])  # fmt: skip
@pytest.mark.parametrize("command", ["profile", "correlogram", "local"])
def test_exit_codes_of_failures(karate, monkeypatch, command, problem, code):
    def fail(*_, **__):
        raise problem

    monkeypatch.setattr("spectrata.stats.verbs.reading.of_signal", fail)
    result = run(command, "karate.txt", "degree.npy")
    assert result.exit_code == code
    assert code in [known.value for known in failures.Code]
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


@pytest.mark.parametrize("stage", ["spectrata.results.files.fill", "spectrata.plot.correlogram"])
@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_what_was_there(karate, monkeypatch, stage, problem):
    assert run("profile", "karate.txt", "degree.npy", "-o", "out", *QUICK).exit_code == 0
    before = (karate / "out" / "spectra.nc").read_bytes()

    def fail(*_, **__):
        raise problem

    monkeypatch.setattr(stage, fail)
    for folder in ("out", "a/b"):
        result = run("profile", "karate.txt", "degree.npy", "-o", folder, "--hops", "2", "--draws", "99")
        assert result.exit_code == (1 if isinstance(problem, OSError) else 130)
        assert len(result.stderr.splitlines()) == 1
    assert (karate / "out" / "spectra.nc").read_bytes() == before
    assert made(karate / "out") == FILES
    assert made(karate) == sorted([*INPUTS, "out"])


def test_warnings_are_notes(karate):
    (karate / "loops.txt").write_text("0 1\n1 2\n2 2\n")
    np.save("three.npy", np.arange(3.0))
    with warnings.catch_warnings():
        result = run("profile", "loops.txt", "three.npy")
    assert result.exit_code == 0
    assert result.stderr.startswith("note: Dropped 1 self-loop")
    assert len(result.stderr.splitlines()) == 1
