"""The other commands, real processes, progress, help and exit codes."""

import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import typer

import spectrata as st
from commanding import FILES, INPUTS, made, process, run, write_tables
from spectrata.cli import app, failures, options, render
from spectrata.errors import HopError, OptionError

# ---- the other commands


def rows_of(text):
    return [line.split() for line in text.splitlines() if line.split() and line.split()[0].isdigit()]


def test_homophily(karate):
    write_tables(karate)
    result = run("homophily", "karate.txt", "clubs.csv")
    assert result.stdout.splitlines()[0] == "clubs.csv (labels of 2 classes): alike up to 2 hops, unlike from 3 hops on"
    theirs = nx.attribute_assortativity_coefficient(nx.karate_club_graph(), "club")
    assert float(rows_of(result.stdout)[0][2]) == pytest.approx(theirs, abs=1e-3)
    Path("some.csv").write_text(Path("clubs.csv").read_text().replace("33,Officer", "33,-1"))
    document = json.loads(run("homophily", "karate.txt", "some.csv", "--json", "--hops", "1", "--missing", "-1").stdout)
    assert document["n_missing"] == 1
    assert set(document["hops"][0]["classes"]) == {"Mr. Hi", "Officer"}


def test_columns_are_chosen_alike_everywhere(karate):
    write_tables(karate)
    rows = zip(Path("table.csv").read_text().splitlines(), Path("clubs.csv").read_text().splitlines(), strict=True)
    people = [f"{row},{club.split(',')[1]},{'ab'[at % 2]}" for at, (row, club) in enumerate(rows)]
    Path("people.csv").write_text("person,officer,noise,other,club,half\n" + "\n".join(people[1:]))
    both = run("homophily", "karate.txt", "people.csv")
    assert both.stdout.startswith("people.csv: in 1 of 2 columns nodes are alike or unlike at some hop")
    one = run("homophily", "karate.txt", "people.csv", "--column", "club").stdout
    assert one.startswith("people.csv, club (labels of 2 classes): alike up to 2 hops")
    frame = pd.read_csv("people.csv")
    np.testing.assert_allclose(
        st.homophily("karate.txt", frame)["r"].sel(column="club"), st.homophily("karate.txt", "clubs.csv")["r"]
    )
    flags = ["--column", "noise", "--column", "other"]
    assert len(rows_of_columns(run("correlogram", "karate.txt", "people.csv", *flags).stdout)) == 10
    agree = run("agree", "karate.txt", "people.csv", "people.csv", "--column-a", "noise", "--column", "noise")
    assert agree.stdout.startswith("The signals agree")
    assert "'clubs'" in run("homophily", "karate.txt", "people.csv", "--column", "clubs").stderr


def test_the_only_column_of_a_file_is_named(karate):
    Path("ages.csv").write_text("person,age\n" + "".join(f"{node},{node % 7}\n" for node in range(34)))
    for command in ("profile", "correlogram"):
        assert run(command, "karate.txt", "ages.csv").stdout.startswith("ages.csv, age (one number per node): ")


def rows_of_columns(text):
    return [line for line in text.splitlines() if line.split()[:1] in (["noise"], ["other"])]


def test_local_and_agree(karate):
    write_tables(karate)
    local = run("local", "karate.txt", "table.csv", "--column", "officer", "-o", "out")
    assert "of 34 nodes" in local.stdout or "No node" in local.stdout
    nodes = json.loads(run("local", "karate.txt", "table.csv", "--column", "officer", "--json").stdout)["nodes"]
    direct = st.local("karate.txt", np.loadtxt("table.csv", delimiter=",", skiprows=1)[:, 1])
    assert sum(one["r"] for one in nodes) == pytest.approx(float(direct["r"].sum()))
    agree = run("agree", "karate.txt", "degree.npy", "degree.npy", "--given", "none")
    assert agree.stdout.startswith("The signals agree beyond their smoothness.")
    agree = run("agree", "karate.txt", "degree.npy", "degree.npy")
    assert agree.stdout.startswith("The signals correlate beyond their smoothness, but not beyond degree.")
    assert "given: degree accounted for." in agree.stdout
    assert json.loads(run("agree", "karate.txt", "degree.npy", "table.csv", "--json").stdout)["rows"][0]["hop"] == 0


@pytest.mark.needs("sklearn")
def test_probe(karate):
    write_tables(karate)
    text = run("probe", "karate.txt", "vectors.npy", "clubs.csv", "--repeats", "1").stdout
    assert text.splitlines()[0].split(":")[0] in ("Neighbours help", "No gain found", "No gain beyond degrees")
    document = json.loads(run("probe", "karate.txt", "vectors.npy", "clubs.csv", "--repeats", "1", "--json").stdout)
    assert document["views"][0]["view"] == "features alone"


def test_strata(karate, monkeypatch):
    result = run("strata", "karate.txt")
    assert result.exit_code == 0
    strat = st.Stratification("karate.txt")
    for row, stratum in zip(rows_of(result.stdout), strat.strata, strict=True):
        sizes = [stratum.hop, stratum.n_edges, stratum.n_parts, stratum.n_singletons]
        assert [int(value) for value in row[:5]] == [*sizes, np.bincount(stratum.parts).max()]
    assert "Decomposing 5 hops takes under a second" in " ".join(result.stdout.split())
    document = json.loads(run("strata", "karate.txt", "--json", "--hops", "2").stdout)
    assert [row["hop"] for row in document["hops"]] == [1, 2]
    assert made(karate) == INPUTS
    seen = []  # the estimate is of the parts that are solved
    monkeypatch.setattr("spectrata.core.resources.solve_seconds", lambda sizes: seen.append(sorted(sizes)) or 90.0)
    (karate / "two.txt").write_text("0 1\n1 2\n3 4\n")
    assert "2 hops takes 90 s" in " ".join(run("strata", "two.txt").stdout.split())
    assert seen == [[2, 2, 3]]  # K = 1: parts of 3 and 2; K = 2: one pair, three singletons


def test_strata_of_a_large_graph_are_estimated(karate, monkeypatch):
    monkeypatch.setattr("spectrata.cli.commands.strata.COUNTED", 33)
    rows = json.loads(run("strata", "karate.txt", "--json").stdout)["hops"]
    exact = [stratum.n_edges for stratum in st.Stratification("karate.txt").strata]
    assert [row["n_edges"] for row in rows] == exact  # 64 roots are all 34 nodes
    monkeypatch.setattr("spectrata.cli.commands.strata.ROOTS", 20)
    rows = json.loads(run("strata", "karate.txt", "--json", "--hops", "1-3").stdout)["hops"]
    for row, count in zip(rows[1:], exact[1:3], strict=True):
        assert abs(row["n_edges"] - count) <= 4 * row["error"]
    assert "estimated from 20 random nodes" in " ".join(run("strata", "karate.txt").stdout.split())


def test_info(karate):
    result = run("info")
    assert f"spectrata {st.__version__}" in result.stdout
    assert f"numpy {np.__version__}" in result.stdout
    document = json.loads(run("info", "--json").stdout)
    assert document["python"] == ".".join(str(part) for part in sys.version_info[:3])
    assert set(document["optional"]) >= {"pyarrow", "safetensors", "torch"}


def test_demo_shows_a_finding(karate):
    result = run("demo", "-o", "out")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("club (labels of 2 classes): alike up to 2 hops, unlike at 3 and 4 hops")
    assert set(made("out")) >= {"karate.graphml", *FILES}
    again = run("profile", "out/karate.graphml", "club", "--weights", "false", "-o", "again")
    assert again.stdout.splitlines()[2:8] == result.stdout.splitlines()[2:8]


@pytest.mark.long
def test_demo_of_the_paper(karate):
    result = run("demo", "--paper", "-o", "out")
    assert result.exit_code == 0, result.stderr
    ds = st.open("out/spectra.nc")
    assert ds["snapshot"].values.tolist() == ["start", "learned"]
    assert ds["algorithm"].values.tolist() == ["gft", "apprx_ls", "in_agg", "adj_diff", "ln_vx", "ens", "ens_raw"]
    assert "13 nodes, 15 edges, connected, diameter 6" in result.stdout
    assert "moves from eigenvalue 2.165 to 0.178 (2-fold)" in " ".join(result.stdout.split())
    norms = ds["gradient_norm"].sel({"hop": 1}).values
    assert f"from {norms[0]:.2f} to {norms[1]:.2f}" in result.stdout


def test_bands_are_merged_in_tables_and_whole_in_files(karate):
    for bands, merged in (("12", False), ("13", True)):
        out = run("profile", "karate.txt", "degree.npy", "--bands", bands, "-o", "out", "--csv").stdout
        assert (f"The files hold all {bands} bands" in out) == merged
    document = json.loads(run("profile", "karate.txt", "degree.npy", "--bands", "4", "-o", "out", "--json").stdout)
    assert np.sum(document["chance"]) == pytest.approx(1)
    assert made("out") == ["spectra.csv", "spectra.nc", "spectra.png"]


# ---- help


COMMANDS = [name for name, _, _ in app.COMMANDS]


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_short_and_all_of_it_is_there(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = run(*command.split(), "--help").stdout
    assert len(text.splitlines()) < 60
    assert max(map(len, text.splitlines())) <= 80
    assert "\u2026" not in text
    assert f"$ spectrata {command}" in text
    if command:
        every = run(command, "--help-all").stdout
        params = typer.main.get_command(app.app).commands[command].params
        for param in params:
            assert param.name == "help" or param.opts[0] in every or param.opts[0].upper() in every.upper()
        flags = {one.name: max(one.opts, key=len) for one in params if one.opts[0][0] == "-"}
        assert all(flag == "--" + name.replace("_", "-") for name, flag in flags.items())


def test_version_and_no_command(karate):
    assert run("--version").stdout == f"spectrata {st.__version__}\n"
    assert "Usage:" in run().stdout


@pytest.mark.needs("zarr")
def test_examples_of_the_help_run(karate):
    """Those that need only a graph, a signal and labels; the others have tests of their own."""
    write_tables(karate)
    for name, source in (("graph.txt", "karate.txt"), ("labels.csv", "clubs.csv"), ("other.csv", "table.csv")):
        Path(name).write_text(Path(source).read_text())
    Path("signal.csv").write_text("".join(["node,x\n", *(f"{node},{node % 5}\n" for node in range(34))]))
    Path("pairs.csv").write_text("graph,signal\ngraph.txt,signal.csv\n")
    ran = 0
    for line in (line for _, _, lines in app.COMMANDS for line in lines):
        words = [word for word in line.split()[1:] if word != "--report"]
        if words[0] not in ("demo", "check", "compare", "probe"):
            result = run(*words)
            assert result.exit_code == 0, (line, result.output)
            ran += 1
    assert ran >= 7


def test_the_exit_codes_are_documented():
    """The page lists them from the program."""
    page = (Path(__file__).parents[1] / "docs" / "command_line.rst").read_text(encoding="utf-8")
    assert ".. exit-codes::" in page
    assert [code.value for code in failures.Code] == [0, 1, 2, 3, 130, 143]
    assert all(code.meaning for code in failures.Code)


# ---- real processes


def test_the_program_itself(karate):
    result = process("profile", "karate.txt", "vectors.npy", "--hops", "2", cwd=karate)
    assert (result.returncode, result.stderr) == (0, "")
    assert "\x1b" not in result.stdout
    assert made(karate / "karate-spectra") == FILES
    bad = process("profile", "karate.txt", "nowhere.npy", cwd=karate)
    assert (bad.returncode, bad.stdout, bad.stderr.count("\n")) == (2, "", 1)


@pytest.mark.parametrize(("words", "count", "expected"), [
    ("spectrata pro", "1", ["probe", "profile"]),
    ("spectrata profile --rep", "2", ["--report"]),
    ("spectrata profile --metric ", "3", ["auto", "angular", "euclidean"]),
])  # fmt: skip
def test_a_shell_completes(karate, words, count, expected):
    asked = {"_SPECTRATA_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": count}
    assert sorted(process(cwd=karate, **asked).stdout.split()) == sorted(expected)


def loaded_after(code, cwd):
    script = f"import sys\nfrom spectrata.cli.app import app\ntry:\n    {code}\nfinally:\n    print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=cwd, capture_output=True, text=True)
    return set(done.stdout.split("\n")[-2].split())


def test_help_does_not_load_the_library_and_the_answer_only_what_it_needs(karate):
    heavy = {"numpy", "scipy", "xarray", "matplotlib", "networkx", "pandas", "torch"}
    assert not heavy & loaded_after("app(['--help'], prog_name='spectrata')", karate)
    stop = "import spectrata.cli.commands.profile as c; c._spectra = sys.exit; app(['profile', 'karate.txt', GIVEN])"
    stop = stop.replace("GIVEN", "'degree.npy'")
    assert not {"xarray", "matplotlib", "numba", "torch", "h5py"} & loaded_after(stop, karate)


STUCK = "hashlib.pbkdf2_hmac('sha256', b'', b'', 10**9)"  # minutes of compiled code, which no handler interrupts
POOLED = "with ThreadPoolExecutor(1) as pool: pool.submit(hashlib.pbkdf2_hmac, 'sha256', b'', b'', 10**9).result()"
PYTHON = "time.sleep(60)"


@pytest.mark.parametrize("work", [STUCK, POOLED, PYTHON], ids=["main thread", "pool of threads", "Python"])
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_stops_the_work_and_leaves_nothing(karate, work, name, code):
    """The work would take minutes, and a minute of the processor ends it in another way: nothing waits for it."""
    script = (
        "import hashlib, os, resource, signal, sys, threading, time\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "import spectrata.stats.verbs.reading as reading\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (60, 60))\n"
        "def read(*_, **__):\n"
        f"    threading.Timer(0.1, os.kill, (os.getpid(), signal.{name})).start()\n"
        f"    {work}\n"
        "reading.of_signal = read\n"
        "from spectrata.cli.app import main\n"
        "sys.argv = ['spectrata', 'profile', 'karate.txt', 'degree.npy']\n"
        "main()"
    )
    result = subprocess.run([sys.executable, "-c", script], cwd=karate, capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (code, "", "stopped\n")
    assert made(karate) == INPUTS


def test_a_closed_pipe_is_no_traceback(karate):
    command = '"$PYTHON" -m spectrata profile karate.txt degree.npy | head -n 1'
    environment = os.environ | {"PYTHON": sys.executable}  # its path may have spaces
    result = subprocess.run(command, shell=True, env=environment, cwd=karate, capture_output=True, text=True)
    assert result.stdout.startswith("degree.npy")
    assert "Traceback" not in result.stderr


# ---- progress


def bar_output(patience, seen):
    """What a meter writes to a terminal, in a process of its own that works until the terminal has shown something."""
    code = (
        "import sys\n"
        "from spectrata.cli.render import progress_bar\n"
        f"with progress_bar({patience}) as report:\n"
        "    report('K = 1', 0.25)\n"
        "    sys.stdin.read()\n"
        "    report('K = 2', 0.5)\n"
    )
    main, end = pty.openpty()
    environment = os.environ | {"TERM": "xterm"}
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stderr=end, env=environment)
    os.close(end)
    written = b""
    try:
        while True:
            if seen in written:
                process.stdin.close()
            written += os.read(main, 4096)
    except OSError:  # the other end is closed
        pass
    os.close(main)
    assert process.wait() == 0
    return written.decode()


def test_long_work_on_a_terminal_shows_a_bar_and_short_work_none():
    shown = bar_output(0.05, b"K = 1")
    assert "K = 1" in shown
    assert "K = 2" in shown
    assert bar_output(10**6, b"") == ""


def test_no_bar_without_a_terminal(capsys):
    with render.progress_bar(0.0) as report:
        report("K = 1", 0.5)
        time.sleep(0.05)
    assert capsys.readouterr().err == ""


# ---- arguments


@pytest.mark.parametrize("text", ["", "x", "3-1", "1-", "-2-3", "1,,2", "1-999999999999", "1.5"])
def test_hops_that_are_not_understood(text):
    with pytest.raises(HopError):
        options.parse_hops(text)


@pytest.mark.parametrize("text", ["trials", "trials=", "=3", "trials=1,trials=2", "trials=1,literal"])
def test_options_that_are_not_understood(text):
    with pytest.raises(OptionError, match="--ln-vx"):
        options.parse_options("--ln-vx", text)


# ---- what the second test accounts for, in words


@pytest.mark.parametrize(("given", "words"), [("none", ""), ("degree", "degree"), ("batch", "batch")])
def test_words_name_what_was_accounted_for(karate, given, words):
    rows = np.random.default_rng(0).normal(size=34)
    graph = nx.path_graph(34)
    nx.set_node_attributes(graph, {node: "ab"[node % 2] for node in graph}, "batch")
    nx.write_graphml(graph, "path.graphml")
    lines = [f"{node},{node},{rows[node]}\n" for node in range(34)]
    Path("table.csv").write_text("node,up,noise\n" + "".join(lines))
    result = run("profile", "path.graphml", "table.csv", "--hops", "1", "--given", given)
    assert result.exit_code == 0, result.stderr
    said = " ".join(result.stdout.split())
    beyond = f"more than chance and {words} explain " if words else "more than chance explains "
    assert "In 1 of 2 columns neighbours are alike, " + beyond in said
    assert ("given:" in said, f"given: {words} accounted for" in said) == (bool(words), bool(words))
    local = run("local", "path.graphml", "table.csv", "--draws", "99", "--given", given)
    assert local.exit_code == 0, local.stderr
    said = " ".join(local.stdout.split())
    assert f"beyond chance{' and ' * bool(words)}{words}" in said
    assert ("given:" in said, f"given: {words} accounted for" in said) == (bool(words), bool(words))


@pytest.mark.parametrize("given", [["side"], ["table.csv:side", "degree"]])
def test_given_names_a_column_of_the_table(karate, given):
    lines = [f"{node},{node % 7},{'ab'[node % 2]}\n" for node in range(34)]
    Path("table.csv").write_text("node,age,side\n" + "".join(lines))
    flags = [part for one in given for part in ("--given", one)]
    result = run("profile", "karate.txt", "table.csv", "--column", "age", "--hops", "1", *flags)
    assert result.exit_code == 0, result.stderr
    words = "degree, table.csv:side accounted for." if len(given) > 1 else "side accounted for, degree not."
    assert f"Given: {words}" in result.stdout


def test_columns_without_draws_are_described(karate):
    Path("table.csv").write_text("node,same,degree\n" + "".join(f"{node},1,{node % 7}\n" for node in range(34)))
    result = run("profile", "karate.txt", "table.csv", "--hops", "1", "--draws", "0")
    assert result.exit_code == 0, result.stderr
    said = " ".join(result.stdout.split())
    assert "Not tested, since constant: same." in said
    assert "Described, not tested: degree." in said
    assert "of 0 columns" not in said
