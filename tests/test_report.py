"""The report as a file: what is in it, how large it is, and that it appears whole or not at all."""

import base64
import json
import re
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import calls
import spectrata as st
from spectrata.cli import report as pages
from spectrata.cli.app import app
from spectrata.errors import MissingExtraError, ResultError
from spectrata.report.contents import DRAWS, contents, first_shown
from spectrata.report.layout import drawing
from spectrata.report.payload import escaped_json, most_snapshots, packed, payload
from spectrata.results.schema import view
from spectrata.stats.findings import VERDICTS

GRAPH = nx.cycle_graph(6)
VALUES = [3.0, 1.0, 0.0, 2.0, 1.0, 0.5]


@pytest.fixture(scope="module")
def ring():
    return st.spectra(GRAPH, VALUES)


def data_of(path):
    """What the page holds, read from the file."""
    text = Path(path).read_text(encoding="utf-8")
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    return json.loads(found)


def unpacked(one):
    values = np.frombuffer(base64.b64decode(one["b"]), dtype=f"<{one['t']}").reshape(one["s"])
    return values * one.get("scale", 1)


def test_the_file_holds_the_result(ring, tmp_path):
    path = st.write_report(ring, tmp_path / "deep" / "ring.html", command="spectrata profile a b").path
    data = data_of(path)
    assert path.name == "ring.html"
    np.testing.assert_allclose(unpacked(data["spectra"]["magnitude"])[:, 0], ring["magnitude"], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(unpacked(data["spectra"]["eigenvalue"]), ring["eigenvalue"], rtol=1e-6, atol=1e-7)
    assert data["command"] == "spectrata profile a b"
    assert data["missing"] == ["ln_vx, ens, ens_raw: not asked for."]
    assert [data["graph"][1], data["signal"][1]] == [
        "6 nodes, 6 edges, diameter 3, connected; Laplacian: combinatorial",
        "1 number per node; metric euclidean (differences are compared)",
    ]
    assert [path.name for path in path.parent.iterdir()] == ["ring.html"]


def test_only_its_own_scripts_may_run(ring, tmp_path):
    import hashlib

    text = st.write_report(ring, tmp_path / "ring.html").path.read_text(encoding="utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1]
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == 2
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    outside = re.findall(r'(?:src|href)="([^"]*)"', text.replace(scripts[0], ""))
    assert outside == ["data:,", "#spectra-section"]


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
    ds = st.spectra(graph, {name: 1.0, 1: 2.0, 2: 4.0})
    text = st.write_report(ds, tmp_path / "a.html", title=name, command=name).path.read_text(encoding="utf-8")
    assert "HACKED = 1</script>" not in text
    assert text.count("<script") == text.count("</script") == 3
    assert data_of(tmp_path / "a.html")["title"] == name


def test_nothing_is_left_when_writing_fails(ring, tmp_path, monkeypatch):
    old = st.write_report(ring, tmp_path / "ring.html").path.read_bytes()

    def fail(self, *args, **more):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", fail)
    with pytest.raises(ResultError, match="No space left"):
        st.write_report(ring, tmp_path / "ring.html")
    assert (tmp_path / "ring.html").read_bytes() == old
    assert [path.name for path in tmp_path.iterdir()] == ["ring.html"]


def test_without_plotly_it_says_what_to_install(ring, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'spectrata\[report\]'"):
        st.write_report(ring, tmp_path / "ring.html")
    assert list(tmp_path.iterdir()) == []
    assert pages.write_if_possible(ring, tmp_path, None, signal=None, graph_name="g", signal_name="s") is None


def test_findings_and_what_is_missing(tmp_path):
    strat = st.Stratification(nx.planted_partition_graph(2, 30, 0.4, 0.02, seed=1), hops=1)
    blocks = np.random.default_rng(0).normal(size=(60, 4)) + 3 * (np.arange(60) < 30)[:, None]
    ds = strat.spectra(blocks, ["gft", "ln_vx"], ln_vx={"transform": "learned", "trials": 2})
    found = contents(view(ds), strat, None, 10)
    groups = dict(found.findings)
    assert list(groups) == ["", "Hop distance", "Frequency"]
    assert any("follows the main divide" in line for line in groups["Frequency"])
    assert any(line.startswith("Chance for ln_vx") for line in found.missing)
    assert any("not asked for (the diameter is" in line for line in found.missing)
    assert found.calibrated["algorithm"].values.tolist() == ["gft"]


def test_undefined_snapshots_are_named():
    values = np.random.default_rng(0).normal(size=(3, 6, 2))
    values[1, 2] = 0.0
    found = contents(view(st.spectra(GRAPH, values, zero_vectors="nan")), None, None, 10)
    assert "gft at K = 1, 2, 3 in 1 of 3 snapshots: undefined: zero vector." in found.missing


def test_a_result_without_its_signal_says_so(ring):
    bare = view(ring.drop_vars("signal"))
    found = contents(bare, None, None, 10)
    (line,) = [line for line in found.missing if "signal" in line]
    call = line.split("the result holds no signal; use ")[1].removesuffix(".")
    page = eval(call, {"st": st, "result": bare.ds, "path": None, "x": VALUES})
    assert [one.html.count("holds no signal") for one in (st.write_report(bare.ds), page)] == [1, 0]
    assert found.calibrated is None
    assert contents(bare, None, VALUES, 10).calibrated is not None


def test_another_graph_or_signal_is_refused(ring, tmp_path):
    with pytest.raises(ResultError, match="another graph"):
        st.write_report(ring, tmp_path / "a.html", st.Stratification(nx.path_graph(6)))
    with pytest.raises(ResultError, match="lacks hop 2"):
        st.write_report(ring, tmp_path / "a.html", st.Stratification(GRAPH, hops=1))
    with pytest.raises(ResultError, match="shape"):
        st.write_report(ring, tmp_path / "a.html", signal=np.ones((6, 2)))
    assert list(tmp_path.iterdir()) == []


def test_many_snapshots_are_thinned_and_it_is_said():
    values = np.random.default_rng(0).normal(size=(9, 6, 2))
    found = contents(view(st.spectra(GRAPH, values)), None, None, 4)
    assert found.result.rows == [0, 3, 5, 8]
    assert "5 of 9 snapshots: left out of this page to keep it small." in found.missing
    big = st.spectra(nx.cycle_graph(300), np.random.default_rng(0).normal(size=(2, 300, 2)), hops=2)
    assert most_snapshots(view(big)) == 600_000 // (5 * 4 * 2 * 300)


def test_the_layer_of_the_verdict_is_kept_and_shown_first():
    """The last hidden layer, which stands before two further rows; an even choice would leave it out."""
    names = [f"layer {i}" for i in range(9)]
    values = np.random.default_rng(0).normal(size=(9, 6, 2))
    roles = ["input", *["hidden"] * 6, "layer", "output"]
    ds = st.spectra(GRAPH, values).assign_coords(snapshot=names, role=("snapshot", roles))
    ds = ds.assign_attrs(snapshot_kind="layers", pass_mode="eval", pass_epoch=1, pass_step=1)
    measures = {name: ("snapshot", np.full(9, 0.5)) for name in ("off_zero_live", "dead_rows", "effective_rank")}
    for most in (2, 4):
        found = contents(view(ds.assign(measures).assign_coords(snapshot=[*names[:-1], "output"])), None, None, most)
        assert {"layer 0", "layer 6", "output"} <= set(found.result.rows)
        assert len(found.result.rows) == 3
        assert found.result.rows[first_shown(found.result)] == "layer 6"
        assert np.isnan(found.likeness.verdict).all()  # averaging makes neighbours alike: r without a test
        assert np.isfinite(found.likeness.found["r"].sel(hop=1)).all()
        assert found.likeness.how == "not tested"
        judged = {one.snapshot for one in found.found if one.kind in VERDICTS}
        assert judged == {"layer 6", "output"}
        assert all(np.isnan(one.p) for one in found.found)
    assert first_shown(view(st.spectra(GRAPH, values))) == 8


def test_large_graphs_keep_the_strongest_eigenvectors_quantised():
    graph = nx.barabasi_albert_graph(700, 2, seed=3)
    strat = st.Stratification(graph, hops=2)
    signal = strat.basis(1).dense()[:, 40] + 0.01 * np.random.default_rng(0).normal(size=700)
    ds = strat.spectra(signal, ["gft"])
    found = contents(view(ds), strat, signal, 10)
    draw = drawing(found)
    assert draw.quantised
    assert len(draw.places) == 700  # every node is drawn
    kept = {component for space in draw.spaces[0] for component in space.components}
    assert 40 in kept  # what the signal is made of
    assert {0, 1, 2, 3} <= {space.space for space in draw.spaces[0]}
    data = payload(found, draw, {"title": ""})
    (one,) = [space for space in data["drawing"]["spaces"][0] if 40 in space["components"]]
    drawn = unpacked(one["members"][one["components"].index(40)])
    vector = strat.basis(1).dense()[:, 40]
    np.testing.assert_allclose(drawn, vector, atol=np.abs(vector).max() / 32767)
    strongest = np.argsort(-np.abs(vector))[:8]
    assert one["nodes"] == strongest.tolist()
    own = st.node_energy(strat, signal)
    energy = unpacked(data["nodes"]["energy"])
    np.testing.assert_allclose(energy[0], own["energy"][:, 0].T, rtol=1e-5, atol=1e-9)
    total = own["energy"].sum().item() + own["zero_energy"].sum().item()
    np.testing.assert_allclose(unpacked(data["nodes"]["share"])[0], own["energy"].sum("node")[0] / total, rtol=1e-5)
    assert len(escaped_json(data)) < 4_000_000


def test_several_signals_by_name(tmp_path):
    strat = st.Stratification(GRAPH)
    both = {"there": strat.spectra(VALUES), "back": strat.spectra(VALUES[::-1])}
    data = data_of(st.write_report(both, tmp_path / "both.html", strat))
    assert data["snapshots"] == ["there", "back"]
    assert data["comparison"]["names"] == ["there", "back"]
    found = st.compare(both["there"], both["back"])
    np.testing.assert_allclose(unpacked(data["comparison"]["correlation"]), found["correlation"], rtol=1e-5)


def test_what_a_page_cannot_show_is_refused_in_one_sentence(ring, tmp_path):
    pair = {"a": st.spectra(GRAPH, VALUES), "b": st.spectra(GRAPH, VALUES, laplacian="random_walk")}
    refused = {
        "3 of the 6 components": st.spectra(st.Stratification(GRAPH, n_eigs=3), VALUES),
        "has bands": st.band_spectra(GRAPH, VALUES, bands=3),
        "eigenspaces merged": st.merge_eigenspaces(ring),
        "zero components dropped": st.stats.drop_zero(ring),
        "unit length": st.stats.normalize(ring),
        "'combinatorial' and 'random_walk'": pair,
    }
    for words, ds in refused.items():
        with pytest.raises(ResultError, match=words):
            st.write_report(ds, tmp_path / "a.html")
    assert list(tmp_path.iterdir()) == []


def test_layers_and_epochs_are_shown_as_snapshots(tmp_path):
    values = np.random.default_rng(0).normal(size=(2, 3, 6, 2))
    strat = st.Stratification(GRAPH, hops=2)
    runs = [strat.spectra(layer).rename(snapshot="epoch") for layer in values]
    ds = xr.concat(runs, xr.DataArray(["first", "second"], dims="layer", name="layer"))
    data = data_of(st.write_report(ds, tmp_path / "a.html"))
    assert data["snapshots"] == [f"{layer}, {epoch}" for layer in ("first", "second") for epoch in range(3)]
    expected = strat.spectra(values[1, 2])["magnitude"]
    np.testing.assert_allclose(unpacked(data["spectra"]["magnitude"])[:, -1], expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("laplacian", ["random_walk", "normalized"])
def test_other_laplacians_have_chance_and_their_own_eigenvectors(laplacian, tmp_path):
    graph = nx.barbell_graph(4, 2)
    values = np.random.default_rng(1).normal(size=10)
    strat = st.Stratification(graph, hops=1)
    given = {"algorithms": ["gft"], "laplacian": laplacian, "self_loops": True}
    ds = calls.spectra(strat, values, keep=["signal"], **given)
    data = data_of(st.write_report(ds, tmp_path / "a.html"))
    assert not [line for line in data["missing"] if line.startswith("Chance")]
    judged = st.calibrate(strat.using(laplacian=laplacian, self_loops=True), values, "gft", draws=DRAWS)
    expected = (judged["chance"] * judged["energy"]).values
    found = unpacked(data["chance"]["energy"])[:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    basis = strat.basis(1, laplacian, self_loops=True).dense()
    one = data["drawing"]["spaces"][0][1]
    drawn = unpacked(one["members"][0])
    np.testing.assert_allclose(np.abs(drawn), np.abs(basis[:, one["components"][0]]), atol=1e-5)
    assert unpacked(data["spectra"]["merged"]["is_zero"])[0].tolist() == [1] + [0] * (
        len(data["drawing"]["spaces"][0]) - 1
    )


@pytest.mark.needs("torch")
def test_two_readings_of_one_measure_have_two_names(tmp_path):
    """The measure of the run is by directions; the table reads the signal as the spectra do."""
    import torch

    from spectrata.torch import Recorder

    graph, values = nx.barbell_graph(4, 2), np.random.default_rng(1).normal(size=(10, 3)) + 1.0
    options = {"laplacian": "normalized", "metric": "euclidean", "algorithms": "gft"}
    probe = Recorder(graph, hops=1, keep=("signal",), **options)
    probe.record({"conv1": torch.tensor(values), "conv2": torch.tensor(values) * 2}, epoch=0, mode="eval")
    data = data_of(probe.report(tmp_path / "run.html"))
    measure = data["run"]["modes"][0]["measures"][0]
    assert "the nodes' directions" in measure["text"]
    assert "combinatorial Laplacian at K = 1" in measure["text"]
    t = values / np.linalg.norm(values, axis=1, keepdims=True)
    own = 1 - 10 * np.sum(t.mean(axis=0) ** 2) / np.sum(t**2)
    assert unpacked(measure["values"])[0, 0] == pytest.approx(own, rel=1e-5)
    table = {one["name"]: unpacked(one["values"]) for one in data["smoothness"]}
    constant = np.sqrt([graph.degree(node) for node in graph])  # of the normalised Laplacian
    along = np.sum((constant @ values) ** 2) / np.sum(constant**2)
    found = table["off_zero_live (euclidean, normalized)"][0, 0]
    assert found == pytest.approx(1 - along / np.sum(values**2), rel=1e-5)
    assert "off_zero_live" not in table
    assert found != pytest.approx(own, rel=0.01)


def test_similarity_has_the_flat_baseline(ring, tmp_path):
    data = data_of(st.write_report(ring, tmp_path / "a.html"))["similarity"]
    assert data["base"] == "gft"
    cosine, flat = unpacked(data["cosine"]), unpacked(data["cosine_flat_a"])
    np.testing.assert_allclose(cosine[0, 0], 1.0)
    space = ring["eigenspace"].loc[1].values
    values = ring["magnitude"].loc["gft", 1].values
    even = np.array([np.sqrt(np.mean(values[space == a] ** 2)) for a in space])[~ring["is_zero"].loc[1].values]
    assert flat[0, 0, 0] == pytest.approx(even.sum() / np.linalg.norm(even) / np.sqrt(5), rel=1e-5)


def test_arrays_survive_packing():
    for kind, values in (("f4", [[1.5, np.nan], [-2.0, 3e-30]]), ("i4", [1, -7]), ("i2", [32767, -32767])):
        np.testing.assert_array_equal(unpacked(packed(values, kind)), np.array(values, dtype=kind))


# ---- the command line


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "graph.txt").write_text("0 1\n1 2\n2 3\n3 0\n3 4\n")
    (tmp_path / "signal.csv").write_text("node,x,y\n0,1,0\n1,2,1\n2,1,1\n3,1,2\n4,0,1\n")
    return tmp_path


@pytest.mark.needs("plotly")
def test_profile_writes_it_on_request(files):
    result = CliRunner().invoke(app, ["profile", "graph.txt", "signal.csv", "--report", "-o", "out"])
    assert result.exit_code == 0, result.output
    assert "out/report.html" in result.stdout
    data = data_of(files / "out" / "report.html")
    assert data["command"] == "spectrata profile graph.txt signal.csv --report -o out"
    assert data["graph"][0] == "graph.txt"
    assert data["signal"][0] == "signal.csv"
    plain = CliRunner().invoke(app, ["profile", "graph.txt", "signal.csv", "-o", "plain"])
    assert plain.exit_code == 0
    assert not (files / "plain" / "report.html").exists()
    document = json.loads(
        CliRunner().invoke(app, ["profile", "graph.txt", "signal.csv", "--report", "--json", "-o", "j"]).stdout
    )
    assert document["files"]["report"] == "j/report.html"


def test_profile_needs_plotly_before_any_work(files, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    result = CliRunner().invoke(app, ["profile", "graph.txt", "signal.csv", "--report", "-o", "out"])
    assert result.exit_code == 1
    assert "spectrata[report]" in result.stderr
    assert not (files / "out").exists()


@pytest.mark.parametrize(("terminal", "browser", "answer", "opened"), [
    (True, True, "y", True), (True, True, "n", False), (False, True, "y", False), (True, False, "y", False),
])  # fmt: skip
def test_it_is_offered_to_a_person_with_a_browser(tmp_path, monkeypatch, terminal, browser, answer, opened):
    import io

    class Stream(io.StringIO):
        def isatty(self):
            return terminal

    asked = []
    monkeypatch.setattr(sys, "stdin", Stream(f"{answer}\n"))
    monkeypatch.setattr(sys, "stdout", Stream())
    monkeypatch.setattr(pages, "_has_browser", lambda: browser)
    monkeypatch.setattr("webbrowser.open", lambda url: asked.append(url))
    pages.offer(tmp_path / "a b.html")
    assert bool(asked) == opened
    assert not asked or asked[0].startswith("file:///")
    assert not asked or asked[0].endswith("a%20b.html")
