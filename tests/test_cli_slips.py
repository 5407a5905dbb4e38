"""What people type and give by mistake, and what a table of people gets: pictures, notes and verdicts."""

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import spectrata as st
from commanding import made, run


@pytest.fixture
def friends(karate):
    """A ring of friends with chords, and what a spreadsheet knows of the people."""
    rng, names = np.random.default_rng(3), [f"p{at:02d}" for at in range(60)]
    graph = nx.connected_watts_strogatz_graph(60, 4, 0.1, seed=2)
    Path("friends.csv").write_text("source,target\n" + "".join(f"{names[a]},{names[b]}\n" for a, b in graph.edges))
    wave = np.cos(np.arange(60) / 60 * 2 * np.pi) + 0.2 * rng.normal(size=60)
    dep = ["eng" if value > 0.3 else "ops" if value > -0.5 else "NA" for value in wave]
    rows = [
        f"{names[at]},{3 + wave[at]:.2f},{rng.integers(20, 60)},{dep[at]},{'ab'[at % 2]},x{names[at]}\n"
        for at in range(60)
    ]
    Path("people.csv").write_text("person,opinion,age,dep,Favourite team,nick\n" + "".join(rows))
    Path("extra.csv").write_text(Path("people.csv").read_text() + "zoe,1.0,20,eng,a,xzoe\n")
    Path("comma.csv").write_text("person;x\n" + "".join(f"p{at:02d};{at},5\n" for at in range(60)))
    Path("gaps.csv").write_text(
        "person,dep\n" + "".join(f"{one},{'ab'[at % 2] * (at > 5)}\n" for at, one in enumerate(names))
    )
    return karate


QUICKLY = ["--hops", "2", "--draws", "99"]


def test_the_default_picture_is_of_likeness_and_spectra_are_drawn_where_asked(friends):
    assert run("profile", "friends.csv", "people.csv", "-o", "a", *QUICKLY).exit_code == 0
    assert made("a") == ["likeness.png", "spectra.nc"]
    assert Path("a/likeness.png").read_bytes()[:4] == b"\x89PNG"
    for flags in (["--details"], ["--algorithms", "gft"], ["--laplacian", "combinatorial"], ["--n-eigs", "9"]):
        done = run("profile", "friends.csv", "people.csv:opinion", "-o", flags[0][2:], *QUICKLY, *flags)
        assert done.exit_code == 0, done.stderr
        assert made(flags[0][2:]) == ["likeness.png", "spectra.nc", "spectra.png"]


def test_the_picture_shows_columns_of_text_too(friends, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "spectrata.plot.correlogram", lambda found: drawn.append(found) or st.plot.likeness.correlogram(found)
    )
    run("profile", "friends.csv", "people.csv", "-o", "a", *QUICKLY)
    assert set(drawn[0].to_frame()["column"]) == {"opinion", "age", "dep", "Favourite team", "nick"}


def test_why_no_spectra_were_written(friends, monkeypatch):
    said = run("profile", "friends.csv", "gaps.csv", *QUICKLY).stdout.splitlines()
    assert said[-1] == "No spectra were written: some nodes have no value."
    both = ["--column", "dep", "--column", "nick"]
    said = run("profile", "friends.csv", "people.csv", *both, *QUICKLY).stdout.splitlines()
    assert said[-1] == "No spectra were written: the columns are text."
    monkeypatch.setattr("spectrata.stats.verbs.profile.MOST_NODES", 20)
    said = " ".join(run("profile", "friends.csv", "people.csv:age", *QUICKLY).stdout.split())
    assert said.endswith("No spectra were written: 60 nodes are too many; --bands 32 writes energies per band.")
    said = run("profile", "friends.csv", "people.csv:dep", *QUICKLY).stdout.splitlines()
    assert said[-1] == "No spectra were written: 60 nodes are too many."


def test_files_of_a_run_before_are_said_to_be_replaced(friends):
    first, second = (run("profile", "friends.csv", "people.csv:age", "-o", "a", *QUICKLY).stdout for _ in range(2))
    assert "written to a: likeness.png, spectra.nc (also" in first
    assert "written to a: likeness.png (replaced), spectra.nc (replaced) (also" in second


def test_several_columns_are_tested_as_labels(friends):
    flags = ["--labels", "--column", "dep", "--column", "age", *QUICKLY]
    done = run("profile", "friends.csv", "people.csv", *flags, "--json")
    assert done.exit_code == 0, done.stderr
    tests = json.loads(done.stdout)["findings"]["findings"]
    found = {one["column"]: one for one in tests if (one["hop"], one["statistic"]) == (1, "r")}
    assert set(found) == {"dep", "age"}
    direct = json.loads(run("homophily", "friends.csv", "people.csv:age", *QUICKLY, "--json").stdout)["hops"][0]
    assert found["age"]["value"] == pytest.approx(direct["r"])


@pytest.mark.parametrize(("words", "advice"), [
    (["homophily", "friends.csv", "people.csv", "--column", "opinion"], "spectrata correlogram"),
    (["profile", "friends.csv", "people.csv", "--labels", "--column", "opinion"], "leave out --labels"),
    (["profile", "friends.csv", "comma.csv", "--labels"], "leave out --labels"),
])  # fmt: skip
def test_measured_numbers_are_no_labels(friends, words, advice):
    done = run(*words)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "The labels are measured numbers (" in done.stderr
    assert advice in done.stderr


def test_labels_that_may_be_no_classes_are_noted(friends):
    done = run("profile", "friends.csv", "people.csv:dep", *QUICKLY)
    count = Path("people.csv").read_text().count(",NA,")
    assert f"note: {count} nodes have the label 'NA' in column 'dep', a class like the others; " in done.stderr
    assert "--missing NA (or an empty cell) means no value" in done.stderr
    assert "labels of 3 classes" in done.stdout
    for command in ("profile", "correlogram", "homophily"):
        done = run(command, "friends.csv", "people.csv:dep", "--missing", "NA", *QUICKLY)
        assert "labels of 2 classes" in done.stdout
        assert "label 'NA'" not in done.stderr
    done = run("profile", "friends.csv", "people.csv:age", "--missing", "20,21,22,23,24,25", *QUICKLY)
    assert done.stdout.splitlines()[-1] == "No spectra were written: some nodes have no value."
    assert "60 nodes have 60 different labels" in run("homophily", "friends.csv", "people.csv:nick", *QUICKLY).stderr
    assert "different labels" not in run("homophily", "friends.csv", "people.csv:dep", *QUICKLY).stderr


@pytest.mark.parametrize(("words", "said"), [
    (["profile", "friends.csv", "people.csv", "opinion"], "write --column opinion"),
    (["profile", "friends.csv", "people.csv", "--colum", "opinion"], "Possible options: --column, "),
    (["profile", "friends.csv"], "The signal is missing: give a file"),
    (["profile"], "Give a graph and a signal"),
    (["profile", "friends.csv", "comma.csv"], "write decimals with a point, as in 0.5."),
    (["profile", "friends.csv", "people.csv", "--column", "Favourite", "team"],
     'quote a value with blanks, as in --column "Favourite team".'),
    (["profile", "friends.csv", "people.csv", "--report", "mine.html"],
     "--report takes no value; -o DIR chooses the folder."),
    (["strata", "friends.csv", "--undirected", "yes"], "'yes' is one argument too many; --undirected takes no value."),
    (["agree", "friends.csv", "people.csv", "people.csv"], "choose a column of A by --column-a NAME, or of B"),
    (["profile", "extra.csv", "friends.csv"], "are the two files swapped?"),
    (["profile", "friends.csv", "people.csv", "--weights=ture"], "write --weights true."),
    (["profile", "friends.csv", "opinion"], "opinion: there is no such file, and the graph's nodes have no attributes"),
    (["rank_columns", "friends.csv"], "'rank_columns' is no command; spectrata profile tests and ranks columns"),
    (["rank"], "spectrata profile tests and ranks columns"),
    (["decoupling"], "use it in Python, as st.decoupling."),
    (["calibrate", "a", "b"], "use it in Python, as st.calibrate."),
    (["profil"], "Did you mean 'profile'?"),
])  # fmt: skip
def test_slips_with_tables_and_flags(friends, words, said):
    done = run(*words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr.splitlines()[-1]


def test_columns_are_named_behind_the_file_everywhere(friends):
    one = run("agree", "friends.csv", "people.csv:opinion", "people.csv:age", "--draws", "99", "--json")
    two = run("agree", "friends.csv", "people.csv", "people.csv", "--column-a", "opinion", "--column", "age",
              "--draws", "99", "--json")  # fmt: skip
    assert one.exit_code == 0, one.stderr
    assert one.stdout == two.stdout
    for command in ("profile", "correlogram"):
        done = run(command, "friends.csv", "people.csv:Favourite team", *QUICKLY)
        assert done.stdout.startswith("people.csv, Favourite team (labels of 2 classes)")
    assert run("homophily", "friends.csv", "people.csv:dep", *QUICKLY).stdout.startswith("people.csv, dep (")
    assert "'no such'" in run("profile", "friends.csv", "people.csv:no such").stderr


def test_the_table_of_columns_tells_of_all_hops(karate):
    graph = nx.cycle_graph(24)
    Path("ring.txt").write_text("".join(f"{a} {b}\n" for a, b in graph.edges))
    random = np.random.default_rng(0).normal(size=(24, 3))
    far = [1.0, 1.0, -1.0, -1.0] * 6  # neighbours are as by chance, nodes two apart opposite
    rows = [f"{at},{far[at]},{random[at, 0]},{random[at, 1]}\n" for at in range(24)]
    Path("t.csv").write_text("node,far,noise,other\n" + "".join(rows))
    text = run("profile", "ring.txt", "t.csv", "--hops", "2", "--given", "none").stdout
    line = next(line for line in text.splitlines() if line.startswith("far"))
    assert line.split()[:5] == ["far", "unlike", "at", "2", "hops"]
    assert max(map(len, text.splitlines())) <= 80


def test_a_column_that_degree_may_explain_is_no_plain_chance(karate):
    graph = nx.Graph(nx.karate_club_graph().edges)
    noise = np.random.default_rng(1).normal(size=34)
    rows = [f"{node},{graph.degree[node]},{graph.degree[node] + noise[node] / 9},{noise[node]}\n" for node in range(34)]
    Path("t.csv").write_text("node,degree,nearly,noise\n" + "".join(rows))
    text = run("profile", "karate.txt", "t.csv").stdout
    assert "nearly not beyond degree" in " ".join(text.split())


def test_the_answer_says_how_many_nodes_have_no_value(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    club = nx.karate_club_graph()
    Path("g.csv").write_text("".join(f"p{a},p{b}\n" for a, b in club.edges))
    people = [f"p{node},{'' if node == 3 else node},{node % 5}\n" for node in club]
    Path("p.csv").write_text("Name,Age,Score\n" + "".join(people))
    both = run("profile", "g.csv", "p.csv", "--hops", "1", "--draws", "39")
    assert "Nodes without a value take no part in its tests: 1 of 'Age';" in " ".join(both.stdout.split())
    assert "spectra.nc holds Score: text and columns with missing values have no spectra." in both.stdout
    one = run("profile", "g.csv", "p.csv", "--column", "Age", "--hops", "1", "--draws", "39")
    assert "1 of 34 nodes have no value: they take no part;" in " ".join(one.stdout.split())
    assert "of an earlier run" not in both.stdout
    run("profile", "g.csv", "p.csv", "--column", "Score", "--hops", "1", "--draws", "39", "--report")
    again = run("profile", "g.csv", "p.csv", "--column", "Age", "--hops", "1", "--draws", "39")
    assert "likeness.png (replaced)" in again.stdout
    assert "of an earlier run: report.html, spectra.nc" in again.stdout
