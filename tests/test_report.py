"""The report as a file: what is in it, how large it is, and that it appears whole or not at all."""

import base64
import gzip
import hashlib
import json
import os
import re
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import spectrata as st
from commanding import run
from spectrata.errors import OptionError, ResultError
from spectrata.report import Report
from spectrata.report import drawing as lines
from spectrata.report.encode import escaped_json, packed
from spectrata.stats.verbs.profile import profile
from test_sentences import hubs_against_chance

KARATE = nx.karate_club_graph()
GRAPH = nx.cycle_graph(6)
VALUES = [3.0, 1.0, 0.0, 2.0, 1.0, 0.5]


def _text(page):
    return page.html if isinstance(page, Report) else Path(page).read_text(encoding="utf-8")


def data_of(page):
    """What a page shows first."""
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', _text(page), re.DOTALL)
    return json.loads(found)


def rest_of(page):
    """What a page unpacks when it is asked for."""
    (found,) = re.findall(r'<script type="text/plain" id="rest">(.*?)</script>', _text(page), re.DOTALL)
    return json.loads(gzip.decompress(base64.b64decode(found)))


def unpacked(one):
    return np.frombuffer(base64.b64decode(one["b"]), dtype=f"<{one['t']}").reshape(one["s"])


@pytest.fixture(scope="module")
def club():
    return st.write_report(KARATE, "club", weights=False, title="Karate club", command="spectrata profile a b")


def test_the_first_screen_has_the_numbers_of_the_findings(club):
    data, found = data_of(club), st.diagnose(KARATE, "club", weights=False)
    assert data["headline"] == "club: alike up to 2 hops, unlike at 3 and 4 hops"
    assert data["facts"][:3] == [
        "Karate club",
        "34 nodes, 78 edges",
        "2 labels (Mr. Hi, Officer); r is adjusted homophily",
    ]
    rows = [one for one in found if one.statistic == "r"]
    assert [card["verdict"] for card in data["cell"]["cards"]] == [one.verdict for one in rows]
    names = {"r": "value", "low": "chance_low", "high": "chance_high", "p": "p_family", "r_given": "value_given"}
    for card, one in zip(data["cell"]["cards"], rows, strict=True):
        for key, name in names.items():
            assert card[key] == pytest.approx(getattr(one, name), rel=1e-5)
    edges = [KARATE.nodes[x]["club"] == KARATE.nodes[y]["club"] for x, y in KARATE.edges]
    assert data["cell"]["cards"][0]["same"] == pytest.approx(np.mean(edges), rel=1e-5)
    assert [card["pairs"] for card in data["cell"]["cards"]] == [78, 265, 137, 73, 8]
    assert data["cell"]["lines"] == [" ".join(found.lines[2:])]
    assert found.lines[1] == "Fewer than 20 pairs at hop 5: weak evidence."
    assert data["command"] == "spectrata profile a b"
    assert len(club.html) < 300_000


def test_the_rest_has_tests_spectra_and_nodes(club):
    rest = rest_of(club)
    tests = rest["details"][0]["tests"]
    found = st.diagnose(KARATE, "club", weights=False)
    assert len(tests) == len([one for one in found if one.statistic])
    labels = np.array([[name == "Mr. Hi", name != "Mr. Hi"] for _, name in KARATE.nodes(data="club")], dtype=float)
    strat = st.Stratification(KARATE, 5, weights=False, laplacian="random_walk")
    judged = st.calibrate(strat, labels, "gft", metric="euclidean", draws=199).sel(algorithm="gft", hop=2)
    kept = np.isfinite(judged["share"].values)
    shown = rest["details"][0]["spectra"][1]
    for key, name in {"share": "share", "low": "chance_low", "high": "chance_high", "lower": "eigenvalue"}.items():
        np.testing.assert_allclose(unpacked(shown[key]), judged[name].values[kept], rtol=1e-5, atol=1e-7)
    assert rest["names"] == [str(node) for node in KARATE]
    assert unpacked(rest["degrees"]).tolist() == [degree for _, degree in KARATE.degree]
    assert rest["strata"][3] == ["4", 73, 10, 8]
    rows = {(name, hop): word for name, hop, word, *_ in tests}
    for one in found:
        if one.statistic not in ("", "r"):  # a share below chance has no kind, and its sentence names it
            word, below = rows[one.statistic, str(one.hop)], one.p_family <= 0.05 and one.value < one.chance_low
            assert ("than chance" in word) == below
            assert word in one.text if below else word in (one.verdict, "follows the main divide")
    assert rows["rough", "1"] == "less rough than chance"


def test_only_its_own_script_may_run(club):
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', club.html)[1]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe-eval" not in policy
    (script,) = re.findall(r"<script>(.*?)</script>", club.html, re.DOTALL)
    assert f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" in policy
    assert re.findall(r'(?:src|href)="([^"]*)"', club.html) == ["data:,"]


@pytest.mark.parametrize(
    "name", ["</script><script>x()", "<!--", "]]>", "a\u2028b\u2029", "\ud800", "{{data}}", "&lt;"]
)
def test_json_cannot_be_taken_for_markup(name):
    text = escaped_json({"name": name})
    assert json.loads(text)["name"] == name
    assert not set("<>&\u2028\u2029") & set(text)
    assert text.isascii()


def test_names_do_not_reach_the_markup(tmp_path):
    name = "</script><script>window.HACKED = 1</script>{{data}}"
    graph = nx.relabel_nodes(nx.path_graph(3), {0: name})
    page = st.write_report(graph, {name: 1.0, 1: 2.0, 2: 4.0}, title=name, name=name, command=name)
    assert "HACKED = 1</script>" not in page.html
    assert page.html.count("<script") == page.html.count("</script") == 3
    assert data_of(page)["title"] == name
    broken = st.write_report(graph, {name: 1.0, 1: 2.0, 2: 4.0}, tmp_path / "a.html", title="a", name="\ud800")
    assert "<title>? \u00b7 a</title>" in _text(broken)  # a file name may hold bytes that are no text


def test_nothing_is_left_when_writing_fails(club, tmp_path, monkeypatch):
    old = club.save(tmp_path / "club.html").path.read_bytes()

    def fail(self, *args, **more):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", fail)
    with pytest.raises(ResultError, match="No space left"):
        club.save(tmp_path / "club.html")
    assert (tmp_path / "club.html").read_bytes() == old
    assert [path.name for path in tmp_path.iterdir()] == ["club.html"]
    with pytest.raises(ResultError, match=r"not written to a file; write it with report\.save\(path\)"):
        os.fspath(club)


def test_one_page_for_every_form_of_the_same_thing():
    strat = st.Stratification(GRAPH)
    pages = [
        st.write_report(GRAPH, VALUES),
        st.write_report(strat, VALUES),
        st.write_report(profile(GRAPH, VALUES)),
        st.write_report(strat.spectra(VALUES, "gft")),
        st.write_report(strat.using(keep=()).spectra(VALUES, "gft"), VALUES),
    ]
    cards = [data_of(page)["cell"]["cards"] for page in pages]
    assert all(one == cards[0] for one in cards)
    given = rest_of(pages[3])["result"]
    merged = st.merge_eigenspaces(strat.spectra(VALUES, "gft"))["magnitude"].values
    np.testing.assert_allclose(unpacked(given["magnitude"])[:, 0], merged, rtol=1e-6, atol=1e-7)


def test_several_results_by_name():
    strat = st.Stratification(GRAPH)
    page = st.write_report({"there": strat.spectra(VALUES), "back": strat.spectra(VALUES[::-1])})
    data, rest = data_of(page), rest_of(page)
    assert [cell["label"] for cell in data["cells"]] == ["there", "back"]
    assert data["first"] == 1
    expected = st.merge_eigenspaces(strat.spectra(VALUES[::-1]))["magnitude"].values
    np.testing.assert_allclose(unpacked(rest["result"]["magnitude"])[:, 1], expected, rtol=1e-6, atol=1e-7)


def test_several_columns_are_ranked_and_can_be_chosen():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(49, 24)), columns=[f"{chr(97 + k)}-gene" for k in range(24)])
    table["a slope"] = np.arange(49.0)
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(7, 7))
    page = st.write_report(graph, table, hops=2)
    data, rest = data_of(page), rest_of(page)
    assert data["headline"] == "Neighbours are alike in 1 of 25 columns"
    ranking = data["ranking"]
    assert (len(ranking["column"]), ranking["total"]) == (20, 25)
    assert ranking["column"][0] == data["cells"][0]["column"] == "a slope"
    assert ranking["hops"][0] == ["alike", "alike"]
    for at, cell in enumerate(rest["cells"]):  # the row and the cards of a column say the same
        assert [card["verdict"] for card in cell["cards"]] == ranking["hops"][at]
        values = unpacked(cell["paint"]["values"])
        np.testing.assert_allclose(values, table[data["cells"][at]["column"]], rtol=1e-5)


def test_a_result_without_its_signal_says_which_call_has_it():
    bare = st.spectra(GRAPH, VALUES).drop_vars("signal")
    data = data_of(st.write_report(bare))
    assert data["cell"]["cards"] == []
    (line,) = data["cell"]["lines"]
    call = line.split("use ")[1].removesuffix(".")
    again = data_of(eval(call, {"st": st, "result": bare, "x": VALUES}))
    assert len(again["cell"]["cards"]) == 3


def test_vectors_and_snapshots_are_named_in_the_headline():
    rng = np.random.default_rng(0)
    data = data_of(st.write_report(GRAPH, rng.normal(size=(6, 3)), name="state"))
    assert data["headline"].startswith("state (directions of 3 numbers): ")
    assert "directions of 3 numbers per node" in data["facts"]
    data = data_of(st.write_report(GRAPH, rng.normal(size=(4, 6, 1))))
    assert [cell["label"] for cell in data["cells"]] == ["0", "3"]
    assert data["headline"].startswith("snapshot 3: ")
    assert "Of 4 snapshots the first and the last are tested." in data["notes"]


def test_what_cannot_be_shown_is_refused_in_one_sentence(tmp_path):
    refused = [
        (lambda: st.write_report(st.band_spectra(GRAPH, VALUES, bands=3)), ResultError, "has bands"),
        (lambda: st.write_report(GRAPH, "page.html"), OptionError, "write path='page.html'"),
        (lambda: st.write_report(profile(GRAPH, VALUES), VALUES), OptionError, "give them to spectrata.stats.profile"),
        (lambda: st.write_report(GRAPH), OptionError, "Give the signal too"),
    ]
    for call, kind, words in refused:
        with pytest.raises(kind, match=words):
            call()


def test_a_page_of_500_nodes_is_small():
    graph = nx.barabasi_albert_graph(500, 3, seed=1)
    page = st.write_report(graph, np.random.default_rng(0).normal(size=500), hops=3)
    assert len(page.html) < 500_000
    assert len(unpacked(data_of(page)["drawing"]["pairs"][2])) == 700  # a sample


def test_distances_without_pairs_and_single_nodes():
    graph = nx.disjoint_union(nx.path_graph(4), nx.empty_graph(2))
    data = data_of(st.write_report(graph, [0.0, 1.0, 2.0, 3.0, 5.0, np.pi]))
    assert "3 connected parts" in data["facts"]
    assert [card["pairs"] for card in data["cell"]["cards"]] == [3, 2, 1]
    constant = data_of(st.write_report(nx.path_graph(4), np.ones(4), hops=1))
    assert constant["cell"]["cards"][0]["r"] is None
    assert constant["cell"]["cards"][0]["verdict"] == "no variance among nodes with a pair"


def test_arrays_survive_packing():
    for kind, values in (("f4", [[1.5, np.nan], [-2.0, 3e-30]]), ("i4", [1, -7]), ("i2", [32767, -32767])):
        np.testing.assert_array_equal(unpacked(packed(values, kind)), np.array(values, dtype=kind))


@pytest.mark.needs("torch")
def test_a_watched_run():
    import torch

    from spectrata.torch import Recorder

    graph = nx.barbell_graph(4, 2)
    torch.manual_seed(0)
    probe = Recorder(graph, hops=1, algorithms="gft", keep=("signal",))
    for epoch in range(3):
        probe.record({"conv1": torch.randn(10, 3), "conv2": torch.randn(10, 3)}, epoch=epoch, mode="eval")
        probe.score(epoch, {"accuracy": 0.1 * epoch})
    for page in (probe.report(name="GCN"), st.write_report(probe.dataset, name="GCN")):
        data = data_of(page)
        measure = data["run"]["modes"][0]["measures"][0]
        np.testing.assert_allclose(measure["values"], probe.dataset["off_zero_live"].values, rtol=1e-5)
        assert st.diagnose(probe.dataset)[0].kind == "not_collapsed"
        assert data["headline"] == "GCN: conv2 has not collapsed"
        assert "accuracy 0.2" in data["facts"]
        assert len(data["status"]) >= 1
    plain = Recorder(graph)
    plain.record({"conv1": torch.randn(10, 3), "conv2": torch.randn(10, 3)}, epoch=0, mode="eval")
    bare = data_of(plain.report(name="GCN"))  # without spectra: verdicts and measures
    assert bare["headline"] == "GCN: conv2 has not collapsed"
    assert bare["cells"] == []
    with pytest.raises(ResultError, match=r"use w\.report\(path\)"):
        st.write_report(plain.dataset)
    cards = data_of(probe.report())["cell"]["cards"]
    (row,) = [one for one in st.diagnose(probe.over_layers()) if one.statistic == "r" and one.snapshot == "conv2"]
    assert cards[0]["r"] == pytest.approx(row.value, rel=1e-5)
    assert cards[0]["p"] is None  # averaging makes neighbours alike


def test_a_column_of_a_file_is_named(tmp_path, monkeypatch):
    """The page, its tab and the JSON document name the column as the terminal does."""
    monkeypatch.chdir(tmp_path)
    edges = [f"n{a},n{b},{1 + a}" for a, b in nx.cycle_graph(30).edges]
    Path("g.csv").write_text("\n".join(["source,target,weight", *edges, "n0,n0,1", "n1,n0,1"]) + "\n")
    Path("people.csv").write_text("node,Age,Height\n" + "".join(f"n{k},{k},{k % 5}\n" for k in range(30)))
    done = run("profile", "g.csv", "people.csv", "--column", "Age", "--report", "--json", "--hops", "2", "-o", "out")
    data = data_of("out/report.html")
    assert data["headline"].startswith("people.csv, Age: alike")
    assert data["cell"]["paint"]["words"] == "people.csv, Age"
    assert "<title>people.csv, Age \u00b7 g.csv</title>" in _text("out/report.html")
    document = json.loads(done.stdout)
    assert (document["signal"], document["column"]) == ("people.csv", ["Age"])
    # How the files were read, as the terminal has it, and a flag in place of an argument.
    for words in ("Dropped 1 self-loop", "Dropped 1 parallel edge", "Ignoring edge weights; --weights true uses them."):
        assert [note for note in data["notes"] if note.startswith(words)], words
        assert words in done.stderr
    assert "Hops up to 2 of 15 were read; --hops 15 reads all." in data["notes"]
    run("profile", "people.csv", "people.csv", "--report")  # fails, and leaves no notes behind
    assert not Path("people-spectra").exists()


@pytest.mark.parametrize(
    ("hops", "words"),
    [
        (2, "Hops up to 2 of 5 were read; hops=5 reads all."),
        (1, "Hop 1 of 5 was read; hops=5 reads all."),
        ([2, 4], "Hops 2 and 4 of 5 were read; hops=5 reads all."),
        (None, None),
        ([5], None),
    ],
)
def test_the_notes_say_which_hops_were_read(hops, words):
    notes = data_of(st.write_report(KARATE, range(34), hops=hops, weights=False))["notes"]
    assert [note for note in notes if " reads all" in note] == ([] if words is None else [words])


def test_a_legend_says_what_degree_is(monkeypatch):
    def foot(**more):
        return data_of(st.write_report(KARATE, range(34), hops=1, **{"weights": False, **more}))["foot"]

    assert foot().endswith(" Given degree: accounting for a node's pairs at hops 1, 2, 3 and the tested one.")
    assert "the weights of a node's pairs at hops 1, 2, 3" in foot(weights=True)
    assert "Given: degree, an array accounted for. Degree: a node's pairs" in foot(
        given=["degree", np.arange(34.0) ** 2]
    )
    assert "Given" not in foot(given=None)
    monkeypatch.setattr("spectrata.stats.nulls.given.DEGREE_ALONE", 33)
    assert "degree alone, above 33 nodes" in foot()
    notes = data_of(st.write_report(KARATE, range(34), hops=1, weights=False))["notes"]
    assert not [note for note in notes if note.startswith("Given")]  # said once


def test_a_ranking_marks_what_differs_from_chance_but_not_beyond_degree():
    graph = nx.barabasi_albert_graph(80, 3, seed=2)
    degree = np.array([number for _, number in graph.degree], dtype=float)
    noise = np.random.default_rng(0).normal(size=(80, 2))
    near = nx.to_numpy_array(graph) / degree[:, None]
    table = pd.DataFrame(
        {"log": np.log(degree) + noise[:, 0] / 20, "noise": noise[:, 1], "smooth": near @ near @ near @ noise[:, 0]}
    )
    data, found = data_of(st.write_report(graph, table)), profile(graph, table)
    ranking, seen = data["ranking"], set()
    for name, words, marks in zip(ranking["column"], ranking["hops"], ranking["marks"], strict=True):
        for word, mark, one in zip(words, marks, found.of(name), strict=True):
            rejects, both = one.p_family <= 0.05, one.p_family <= 0.05 and one.p_family_given <= 0.05
            middle = (one.chance_low + one.chance_high) / 2
            side = "alike" if one.value > middle else "unlike"
            assert mark == (side if both else f"{side} open" if rejects else "")
            assert ("not beyond degree" in word) == mark.endswith("open")
            seen.add(mark)
    assert {"", "unlike open"} < seen
    assert {"alike", "unlike"} & seen


def test_a_negative_r_above_chance_is_not_called_alike():
    page = st.write_report(*hubs_against_chance(), hops=1, given=None)
    (card,), word = data_of(page)["cell"]["cards"], "less unlike than chance"
    assert (card["verdict"], card["tone"], card["r"] < 0) == (word, "alike", True)
    assert rest_of(page)["details"][0]["tests"][0][2] == word


def test_nodes_without_an_edge_are_not_laid_out():
    graph = nx.disjoint_union(nx.disjoint_union(nx.empty_graph(2), nx.path_graph(6)), nx.empty_graph(25))
    alone = [node for node, degree in graph.degree if not degree]
    drawing = data_of(st.write_report(graph, range(33)))["drawing"]
    places = unpacked(drawing["places"])
    assert drawing["left_out"] == len(alone) == 27
    assert np.flatnonzero((places == lines.NOT_DRAWN).any(axis=1)).tolist() == alone
    alike = unpacked(data_of(st.write_report(nx.path_graph(6), range(6)))["drawing"]["places"])
    np.testing.assert_array_equal(places[2:8], alike)  # as if they were not there
    given = np.random.default_rng(0).normal(size=(33, 2))
    drawing = data_of(st.write_report(graph, range(33), pos=given))["drawing"]
    assert drawing["left_out"] == 0
    assert (unpacked(drawing["places"]) != lines.NOT_DRAWN).all()


def test_lines_know_their_weights(monkeypatch):
    drawing = data_of(st.write_report(KARATE, "club", hops=2, weights=True))["drawing"]
    strat = st.Stratification(KARATE, 2, weights=True)
    for hop, (pairs, weights) in enumerate(zip(drawing["pairs"], drawing["weights"], strict=True), 1):
        stratum = strat.strata.at(hop)
        known = {tuple(pair): weight for pair, weight in zip(stratum.edges.tolist(), stratum.weights, strict=True)}
        own = np.array([known[tuple(pair)] for pair in unpacked(pairs).tolist()])
        np.testing.assert_allclose(unpacked(weights), 100 * np.minimum(own / np.quantile(own, 0.98), 1), atol=0.5)
    np.testing.assert_array_equal(unpacked(drawing["edge_weights"]), unpacked(drawing["weights"][0]))
    monkeypatch.setattr(lines, "DRAWN_PAIRS", 40)  # a sample has the weights of its pairs
    drawing = data_of(st.write_report(KARATE, "club", hops=1, weights=True))["drawing"]
    own = np.array([KARATE.edges[pair]["weight"] for pair in unpacked(drawing["pairs"][0]).tolist()])
    assert np.corrcoef(own, unpacked(drawing["weights"][0]))[0, 1] > 0.95
    drawing = data_of(st.write_report(KARATE, "club", hops=2, weights=False))["drawing"]
    assert (drawing["weights"], drawing["edge_weights"]) == ([], None)


def test_nodes_without_a_value_keep_their_places():
    values = np.arange(12.0)
    values[3] = np.nan
    shown = unpacked(data_of(st.write_report(nx.path_graph(12), pd.Series(values)))["cell"]["paint"]["values"])
    np.testing.assert_array_equal(shown, values)
