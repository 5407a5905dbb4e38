"""The other commands, real processes, progress and arguments of the command line."""

import json
import os
import pty
import subprocess
import sys
import threading
import time

import networkx as nx
import numpy as np
import pytest

import spectrata as st
from commanding import FILES, INPUTS, made, process, run
from spectrata.cli import arguments, describe, terminal
from spectrata.errors import HopError, OptionError

# ---- the other commands


def test_strata(karate):
    result = run("strata", "karate.txt")
    assert result.exit_code == 0
    rows = [line.split() for line in result.stdout.splitlines() if line.split() and line.split()[0].isdigit()]
    strat = st.Stratification("karate.txt")
    assert len(rows) == 5
    for row, stratum in zip(rows, strat.strata, strict=True):
        largest = np.bincount(stratum.parts).max()
        expected = [stratum.hop, stratum.n_edges, stratum.n_parts, stratum.n_singletons, largest, stratum.n_edges]
        assert [int(value) for value in row[:6]] == expected
    assert "decomposing 5 hops: under a second" in " ".join(result.stdout.split())
    document = json.loads(run("strata", "karate.txt", "--json", "--hops", "2").stdout)
    assert [row["hop"] for row in document["hops"]] == [1, 2]
    assert document["estimate"]["bytes"] > 0
    assert made(karate) == INPUTS


def test_the_estimate_is_of_the_parts_that_are_solved(karate, monkeypatch):
    seen = []
    monkeypatch.setattr("spectrata.core.resources.solve_seconds", lambda sizes: seen.append(sorted(sizes)) or 90.0)
    (karate / "two.txt").write_text("0 1\n1 2\n3 4\n")
    result = run("strata", "two.txt")
    assert seen == [[2, 2, 3]]  # K = 1: parts of 3 and 2; K = 2: one pair, three singletons
    assert "hops: 90 s, " in result.stdout


def test_info(karate):
    result = run("info")
    assert result.exit_code == 0
    assert f"spectrata {st.__version__}" in result.stdout
    assert f"numpy {np.__version__}" in result.stdout
    document = json.loads(run("info", "--json").stdout)
    assert document["python"] == ".".join(str(part) for part in sys.version_info[:3])
    assert document["cores"] >= 1
    assert set(document["optional"]) >= {"pyarrow", "safetensors", "torch"}


@pytest.mark.needs("plotly")
def test_demo(karate):
    """Once for its files, words and page: it learns and draws for half a minute."""
    from test_report import data_of, unpacked

    result = run("demo", "-o", "out")
    assert result.exit_code == 0, result.stderr
    assert made(karate / "out") == ["report.html", *FILES]
    ds = st.open("out/spectra.nc")
    assert ds["snapshot"].values.tolist() == ["start", "learned"]
    assert ds["algorithm"].values.tolist() == ["gft", "apprx_ls", "in_agg", "adj_diff", "ln_vx", "ens", "ens_raw"]
    assert json.loads(ds.attrs["options"])["preset"] == "paper"
    assert "13 nodes, 15 edges, diameter 6" in result.stdout
    assert "moves from eigenvalue 2.165 to 0.178 (2-fold)" in result.stdout
    assert "At K = 6 the start signal is constant" in result.stdout
    norms = ds["gradient_norm"].sel({"hop": 1}).values
    assert f"goes from {norms[0]:.2f} to {norms[1]:.2f}" in result.stdout
    assert result.stdout.rstrip().splitlines()[-1].startswith("report: out/report.html")
    page = data_of("out/report.html")
    assert [page["snapshots"][0], page["snapshots"][-1], len(page["snapshots"])] == ["start", "learned", 36]
    assert page["algorithms"] == ds["algorithm"].values.tolist()
    shown = unpacked(page["spectra"]["magnitude"])[:, [0, -1]]
    np.testing.assert_allclose(shown, ds["magnitude"], rtol=1e-4, atol=1e-6)


def test_importing_the_program_runs_nothing(capsys):
    """As tools that import every module do."""
    import spectrata.__main__

    assert spectrata.__main__.main.__module__ == "spectrata.cli.app"
    assert capsys.readouterr().out == ""


def test_version_and_help(karate):
    assert run("--version").stdout == f"spectrata {st.__version__}\n"
    for words in ([], ["--help"], ["profile", "-h"], ["strata", "--help"], ["demo", "-h"], ["info", "-h"]):
        result = run(*words)
        assert result.exit_code == 0
        assert "Usage:" in result.stdout
        assert result.stderr == ""


# ---- real processes


def test_the_program_itself(karate):
    result = process("profile", "karate.txt", "vectors.npy", "--hops", "2", cwd=karate)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert "\x1b" not in result.stdout
    assert made(karate / "karate-spectra") == FILES
    bad = process("profile", "karate.txt", "nowhere.npy", cwd=karate)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.startswith("error: ")
    assert bad.stderr.count("\n") == 1


def test_a_shell_completes_commands_and_flags(karate):
    for words, count, expected in (("spectrata pro", "1", "profile"), ("spectrata profile --cali", "2", "--calibrate")):
        asked = {"_SPECTRATA_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": count}
        assert process(cwd=karate, **asked).stdout.split() == [expected]


def test_a_shell_completes_the_values_of_an_option(karate):
    asked = {"_SPECTRATA_COMPLETE": "complete_bash", "COMP_WORDS": "spectrata profile --metric ", "COMP_CWORD": "3"}
    assert process(cwd=karate, **asked).stdout.split() == ["auto", "angular", "euclidean"]


@pytest.mark.needs("plotly")
def test_examples_of_the_help_run(karate):
    """Those that need only a graph, a signal and labels; the others have tests of their own."""
    from spectrata.cli.examples import EXAMPLES

    (karate / "graph.txt").write_text((karate / "karate.txt").read_text())
    rows = sorted(nx.karate_club_graph().nodes(data="club"))
    (karate / "labels.csv").write_text("".join(["node,club\n", *(f"{node},{name}\n" for node, name in rows)]))
    (karate / "signal.csv").write_text("".join(["node,x\n", *(f"{node},{node % 5}\n" for node, _ in rows)]))
    (karate / "pairs.csv").write_text("graph,signal\ngraph.txt,signal.csv\n")
    left_out = ("demo", "check", "compare")
    ran = 0
    for line in (line for lines in EXAMPLES.values() for line in lines):
        words = line.split()[1:]
        if words[0] not in left_out:
            result = run(*words)
            assert result.exit_code == 0, (line, result.output)
            ran += 1
    assert ran >= 10


def test_bands_say_when_a_table_merges_them(karate):
    for bands, merged in (("12", False), ("13", True)):
        out = run("profile", "karate.txt", "degree.npy", "--bands", bands, "-o", "out").stdout
        assert (f"Tables merge every 2 bands into one; the files hold all {bands} bands." in out) == merged


def test_help_does_not_load_the_library(karate):
    code = (
        "import sys; sys.argv = ['spectrata', '--help']\n"
        "from spectrata.cli.app import main\n"
        "try: main()\n"
        "except SystemExit as end: assert end.code == 0\n"
        "heavy = {'numpy', 'scipy', 'xarray', 'matplotlib', 'networkx', 'pandas', 'torch'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)


def test_ctrl_c_ends_with_130_and_leaves_nothing(karate):
    """A process that is interrupted in the middle of its work."""
    code = (
        "import os, signal, sys\n"
        "from spectrata.core.stratification import Stratification\n"
        "def spectra(*_, **__): os.kill(os.getpid(), signal.SIGINT)\n"
        "Stratification.spectra = spectra\n"
        "from spectrata.cli.app import main\n"
        "sys.argv = ['spectrata', 'profile', 'karate.txt', 'degree.npy']\n"
        "main()"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=karate, capture_output=True, text=True, timeout=60)
    assert result.returncode == 130
    assert "Traceback" not in result.stderr
    assert made(karate) == INPUTS


STUCK = "hashlib.pbkdf2_hmac('sha256', b'', b'', 10**9)"  # minutes of compiled code, which no handler interrupts
POOLED = "with ThreadPoolExecutor(1) as pool: pool.submit(hashlib.pbkdf2_hmac, 'sha256', b'', b'', 10**9).result()"


@pytest.mark.parametrize("work", [STUCK, POOLED], ids=["main thread", "pool of threads"])
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_stops_compiled_code(karate, work, name, code):
    """The work would take minutes: to end at all within the limit of this test shows that nothing waited for it."""
    script = (
        "import hashlib, os, signal, sys, threading\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from spectrata.core.stratification import Stratification\n"
        "def spectra(*_, **__):\n"
        f"    threading.Timer(0.1, os.kill, (os.getpid(), signal.{name})).start()\n"
        f"    {work}\n"
        "Stratification.spectra = spectra\n"
        "from spectrata.cli.app import main\n"
        "sys.argv = ['spectrata', 'profile', 'karate.txt', 'degree.npy']\n"
        "main()"
    )
    result = subprocess.run([sys.executable, "-c", script], cwd=karate, capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout, result.stderr) == (code, "", "stopped\n")
    assert made(karate) == INPUTS


def test_a_closed_pipe_is_no_traceback(karate):
    command = f"{sys.executable} -m spectrata profile karate.txt degree.npy | head -n 1"
    result = subprocess.run(command, shell=True, cwd=karate, capture_output=True, text=True, timeout=60)
    assert result.stdout.startswith("graph: ")
    assert "Traceback" not in result.stderr


# ---- progress


def bar_output(patience, work):
    """What a meter writes to a terminal while ``work(report)`` runs in a process of its own."""
    code = (
        "import sys, time\n"
        "from spectrata.cli.terminal import Meter\n"
        f"with Meter({patience}) as report:\n"
        f"    report('K = 1', 0.25)\n    time.sleep({work})\n    report('K = 2', 0.5)\n    time.sleep(0.3)\n"
    )
    main, end = pty.openpty()
    written = []

    def read():
        try:
            while chunk := os.read(main, 4096):
                written.append(chunk)
        except OSError:  # the other end is closed
            pass

    reader = threading.Thread(target=read)
    reader.start()
    environment = os.environ | {"TERM": "xterm"}
    subprocess.run([sys.executable, "-c", code], check=True, stderr=end, env=environment, timeout=60)
    os.close(end)
    reader.join(timeout=10)
    os.close(main)
    return b"".join(written).decode()


def test_long_work_on_a_terminal_shows_a_bar():
    shown = bar_output(0.05, 1.5)
    assert "K = 1" in shown
    assert "K = 2" in shown


def test_short_work_shows_none():
    assert bar_output(30, 0.0) == ""


def test_no_bar_without_a_terminal(capsys):
    with terminal.Meter(0.0) as report:
        report("K = 1", 0.5)
        time.sleep(0.05)
    assert capsys.readouterr().err == ""


# ---- arguments


@pytest.mark.parametrize("text", ["", "x", "3-1", "1-", "-2-3", "1,,2", "1-999999999999", "1.5"])
def test_hops_that_are_not_understood(text):
    with pytest.raises(HopError):
        arguments.parse_hops(text)


@pytest.mark.parametrize("text", ["adj_diff=", "adj_diff=1,adj_diff=2", "adj_diff=1,ln_vx"])
def test_weights_that_are_not_understood(text):
    with pytest.raises(OptionError):
        arguments.parse_ens_weights(text)


def test_names_are_not_read_as_markup(karate, capsys):
    terminal.console().print("[red]name[/red] :smile:")
    assert capsys.readouterr().out == "[red]name[/red] :smile:\n"


def test_strongest_takes_whole_eigenspaces():
    """Two components of 3 in one eigenspace are stronger than a single one of 4."""
    ds = st.spectra(nx.cycle_graph(4), [1.0, 0.0, 0.0, 0.0], algorithms="gft", hops=1)
    ds["magnitude"].values[:] = [0.0, 3.0, 3.0, 4.0]
    found = describe.Spaces(ds).strongest("gft", 0, 1, 5)
    assert [round(one["eigenvalue"], 6) for one in found] == [2.0, 4.0]
    assert found[0]["magnitude"] == pytest.approx(np.sqrt(18))
