"""Many columns ranked: the table, its sentences, the pictures and the command line."""

import json
from base64 import b64decode

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.stats import false_discovery_control

import spectrata as st
from commanding import run
from spectrata.errors import DuplicateNameError, OptionError, UnknownNameError
from spectrata.inputs.columns import pick_columns
from spectrata.inputs.signals import as_signal
from spectrata.plot.columns import TOP
from spectrata.results.schema import view
from spectrata.stats import column_table as ranking
from spectrata.stats.cases import chosen_rows, of_result, of_signal
from spectrata.stats.column_table import band_note, column_sentences, rank_columns

GRID = nx.convert_node_labels_to_integers(nx.grid_2d_graph(6, 8))
N = len(GRID)
STRAT = st.Stratification(GRID, hops=2)
NAMES = [f"gene{i}" for i in range(40)]


def table():
    """40 columns: 2 that neighbours share, 1 that they oppose, 1 constant, the others random."""
    rng = np.random.default_rng(5)
    values = rng.normal(size=(N, 40))
    row, column = np.divmod(np.arange(N), 8)
    values[:, 7] = row + 0.1 * values[:, 7]
    values[:, 11] = np.sin(column / 2) + 0.3 * values[:, 11]
    values[:, 20] = (row + column) % 2 + 0.2 * values[:, 20]
    values[:, 30] = 4.0
    return pd.DataFrame(values, columns=NAMES)


@pytest.fixture(scope="module")
def ranked():
    return rank_columns(STRAT, as_signal(table(), STRAT.graph))


def dirichlet_z(values, draws=4000):
    """z of the sum of squared differences over the edges, by permutations."""
    x, y = np.array(GRID.edges).T
    rng = np.random.default_rng(0)
    drawn = rng.permuted(np.tile(values, (draws, 1)), axis=1)
    sums = np.sum((drawn[:, x] - drawn[:, y]) ** 2, axis=1)
    return (np.sum((values[x] - values[y]) ** 2) - sums.mean()) / sums.std()


def test_the_table_ranks_what_was_planted(ranked):
    assert set(ranked["column"][:3]) == {"gene7", "gene11", "gene20"}
    assert ranked["column"].iloc[-1] == "gene30"
    assert ranked["status"].iloc[-1] == "undefined: the signal is constant"
    known = ranked.iloc[:-1]
    assert (np.diff(known["p"]) >= 0).all()
    np.testing.assert_allclose(known["q"], false_discovery_control(known["p"]), rtol=1e-12)
    assert known["column"][known["q"] <= 0.05].tolist() == ranked["column"][:3].tolist()
    for name in ("gene7", "gene20", "gene3"):
        row = ranked.set_index("column").loc[name]
        assert row["z"] == pytest.approx(dirichlet_z(table()[name].to_numpy()), rel=0.06, abs=0.06)


def test_the_table_has_the_numbers_of_the_calls(ranked):
    pairs = st.correlogram(STRAT, table(), columns="separate").sel(hop=1, column=ranked["column"].tolist())
    np.testing.assert_allclose(ranked["z"], pairs["z"], rtol=1e-12)
    np.testing.assert_allclose(ranked["ratio"], pairs["ratio"], rtol=1e-12)
    given = {"algorithms": "gft", "level": "band", "draws": 0, "hops": [1], "columns": "separate"}
    bands = st.calibrate(GRID, table(), **given).sel(algorithm="gft", hop=1, column=ranked["column"].tolist())
    np.testing.assert_allclose(ranked["low_z"], bands["z"][:, 0], rtol=1e-9)
    np.testing.assert_allclose(ranked["high_z"], bands["z"][:, -1], rtol=1e-9)
    best = ranked.set_index("column")
    assert best.loc["gene7", "low_z"] > 3
    assert best.loc["gene20", "high_z"] > 3
    assert best.loc["gene7", "low_q"] <= 0.05


def brute_reach(values, hops, draws=1999):
    """Reach of every column by hand: pairs from networkx, one permutation after the other, two-sided p."""
    distance = dict(nx.all_pairs_shortest_path_length(GRID))
    pairs = [np.array([(x, y) for x in GRID for y in GRID if x < y and distance[x][y] == hop]).T for hop in hops]
    rng = np.random.default_rng(11)
    orders = [rng.permutation(N) for _ in range(draws)]
    p, sign = np.ones((2, values.shape[1], len(hops)))
    for column, signal in enumerate(values.T):
        for at, (x, y) in enumerate(pairs):
            observed = np.mean((signal[x] - signal[y]) ** 2)
            drawn = np.array([np.mean((signal[order[x]] - signal[order[y]]) ** 2) for order in orders])
            low, high = np.sum(drawn <= observed + 1e-9), np.sum(drawn >= observed - 1e-9)
            p[column, at] = min(1.0, 2 * (1 + min(low, high)) / (draws + 1))
            sign[column, at] = np.sign(observed - drawn.mean())
    selected = false_discovery_control(p[:, 0]) <= 0.05
    level = 0.05 * selected.sum() / len(selected)
    found = []
    for column in range(values.shape[1]):
        reach = 0
        for at, hop in enumerate(hops):
            fine = p[column, at] <= level and sign[column, at] == sign[column, 0]
            if not selected[column] or (at > 0 and not fine):
                break
            reach = hop
        found.append(reach)
    return found, level


def test_reach_and_peaks_by_brute_force():
    columns = table()[["gene7", "gene11", "gene20", "gene3", "gene4", "gene5", "gene6", "gene8"]].to_numpy()
    hops = [1, 2, 3, 4, 5, 6, 7]
    strat = st.Stratification(GRID, hops=7)
    found = rank_columns(strat, as_signal(columns, strat.graph)).sort_values("column")
    wanted, level = brute_reach(columns, hops)
    assert found["reach"].tolist() == wanted
    assert found.attrs["level"] == pytest.approx(level)
    assert sorted(wanted)[-2:][0] >= 2  # the planted ones reach beyond their neighbours
    assert not found["reach_is_bound"].any()
    eigenvalue, vectors = np.linalg.eigh(nx.laplacian_matrix(GRID).toarray().astype(float))
    spaces = np.cumsum(np.diff(eigenvalue, prepend=-1.0) > 1e-8)
    centred = columns - columns.mean(axis=0)
    energy = (vectors.T @ centred) ** 2 / (centred**2).sum(axis=0) * (N - 1)  # over chance
    quarters = np.array_split(np.arange(1, N), 4)
    edges = found.attrs["bands"]
    for place, row in enumerate(found.to_dict("records")):
        merged = [energy[spaces == space, place].mean() for space in np.unique(spaces)[1:]]
        peak = eigenvalue[spaces == np.unique(spaces)[1:][np.argmax(merged)]].mean()
        assert row["peak_eigenvalue"] == pytest.approx(peak)
        inside = [(eigenvalue > low - 1e-9) & (eigenvalue < high + 1e-9) for low, high in edges]
        ratio = [energy[one, place].mean() for one in inside]
        assert row["peak_band"] == np.argmax(ratio) + 1
        assert row["peak_ratio"] == pytest.approx(max(ratio))
    assert [int(one.sum()) for one in inside] == pytest.approx([len(quarter) for quarter in quarters], abs=2)


def test_reach_ends_where_the_hops_end(ranked):
    best = ranked.set_index("column")
    assert best.loc["gene7", "reach"] == 2
    assert best.loc["gene7", "reach_is_bound"]
    assert best.loc["gene20", "reach"] == 1  # unlike at one hop, alike at two
    assert best.loc["gene3", "reach"] == 0
    assert pd.isna(best.loc["gene30", "reach"])
    assert "alike up to at least 2 hops" in column_sentences(ranked)[0]


def test_a_cut_spectrum_ranks_without_bands():
    found = rank_columns(STRAT, as_signal(table().iloc[:, 5:9], STRAT.graph), bands=False)
    assert found["z"].notna().all()
    assert found["peak_band"].isna().all()
    assert found["low_z"].isna().all()


def test_profile_and_correlogram_draw_alike(files):
    words = [
        "g.txt",
        "x.csv",
        "--columns",
        "separate",
        "--draws",
        "499",
        "--max-draws",
        "4999",
        "--hops",
        "1",
        "--json",
    ]
    profile = json.loads(run("profile", *words, "--algorithms", "gft", "-o", "out").stdout)["columns"]
    rows = json.loads(run("correlogram", *words).stdout)["rows"]
    p = {row["column"]: row["p"] for row in rows}
    assert {row["column"]: row["p"] for row in profile} == p
    assert min(value for value in p.values() if value is not None) == 2 / 5000


def test_work_bounds_the_draws_and_keeps_q_within_reach(monkeypatch):
    monkeypatch.setattr("spectrata.stats.pair_cells.MORE_WORK", 0.0)
    found = st.correlogram(STRAT, table(), hops=None, columns="separate").sel(hop=1)
    # Three of 40 columns are clear, so 2 * 2 * 40 / (3 * .05) draws bring each to half the level.
    assert found["draws_used"].sel(column=["gene7", "gene11", "gene20"]).values.tolist() == [1066] * 3
    assert found["q"].sel(column="gene7") <= 0.05
    alone = st.correlogram(STRAT, table().drop(columns=["gene11", "gene20"]), columns="separate").sel(hop=1)
    assert alone["draws_used"].sel(column="gene7") == 3039
    assert alone["q"].sel(column="gene7") <= 0.05


def test_sentences_count_the_columns(ranked):
    alike, unlike, constant = column_sentences(ranked)
    assert constant == f"Not tested, since constant: {ranked['column'][ranked['z'].isna()].item()}."
    assert alike.startswith("In 2 of 39 columns neighbours are more alike than chance (q <= 0.05")
    assert unlike.startswith("In 1 of 39 columns neighbours are more unlike than chance")
    assert "gene20 (z = " in unlike
    noise = ranked.iloc[5:20]
    assert column_sentences(noise)[0].startswith("In none of 15 columns neighbours are more alike")


@pytest.mark.needs("plotly")
def test_a_small_band_q_without_a_finding_has_its_reason(tmp_path):
    """A column of middle frequencies: neighbours differ as by chance, and one band holds almost all the energy."""
    values, vectors = np.linalg.eigh(nx.laplacian_matrix(GRID).toarray().astype(float))
    near = np.argsort(np.abs(values - values[1:].mean()))[:6]  # sum lam M^2 is that of a flat spectrum
    some = table().iloc[:, 12:18].assign(middle=vectors[:, near] @ np.arange(1.0, 7.0))
    found = rank_columns(STRAT, as_signal(some, STRAT.graph)).set_index("column")
    assert found["q"]["middle"] > 0.5
    assert found["peak_q"]["middle"] < 0.01
    assert found["peak_q"].drop("middle").min() > 0.05
    said = "No finding for column middle, whose band q is <= 0.05: findings rest on q"
    assert band_note(found.reset_index()).startswith(said)
    page = st.write_report(STRAT.only(1).spectra(some, "gft", columns="separate"), tmp_path / "a.html", STRAT.only(1))
    assert page_data(page)["column_table"]["note"].startswith(said)
    assert "In none of 7 columns" in page_data(page)["column_table"]["sentences"][0]


def test_a_band_without_p_keeps_its_z(monkeypatch):
    monkeypatch.setattr("spectrata.stats.column_table.AFFORDABLE", 0.0)
    found = rank_columns(STRAT, as_signal(table().iloc[:, 5:9], STRAT.graph))
    assert found["low_p"].isna().all()
    assert found["low_z"].notna().all()
    assert found["p"].notna().all()


def test_p_from_moments_is_marked():
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(25, 40))
    strat = st.Stratification(graph, hops=[1])
    values = np.column_stack([np.arange(1000.0), np.random.default_rng(0).normal(size=1000)])
    found = rank_columns(strat, as_signal(values, strat.graph))
    assert found["p_method"].tolist() == ["moments", "permutation"]
    assert found.attrs["confirmed"].endswith("agrees with permutations in 100 % of 2 cells of the correlogram.")
    assert rank_columns(STRAT, as_signal(table().iloc[:, :2], STRAT.graph)).attrs["confirmed"] == ""


def test_hops_of_a_stratification_share_their_bases():
    strat = st.Stratification(GRID, hops=3)
    first = strat.basis(2)
    assert strat.only(2).hops == (2,)
    assert strat.only(2).basis(2) is first
    assert st.Stratification(GRID, hops=[1]).only(1).hops == (1,)


# ---- summary


def test_summary_ranks_cells():
    found = st.correlogram(STRAT, table(), columns="separate", draws=99, max_draws=999)
    cells = st.summary(found)
    assert len(cells) == 2 * 39  # the constant column has none
    assert (np.diff(cells["p"]) >= 0).all()
    one = cells.iloc[0]
    assert one["z"] == found["z"].sel(column=one["column"], hop=one["hop"])
    assert list(cells) == ["column", "hop", "n_pairs", "ratio", "z", "p", "q", "status"]
    bands = st.calibrate(STRAT, table(), algorithms="gft", level="band", columns="separate", draws=19, max_draws=99)
    assert {"algorithm", "column", "hop", "band", "z", "q"} <= set(st.summary(bands))
    joint = st.summary(st.correlogram(STRAT, table().iloc[:, :3], draws=19))
    assert repr(joint).splitlines()[0] == "compared by direction (metric='angular')"


# ---- pictures


def shown_rows(panel):
    return [label.get_text() for label in panel.get_yticklabels()]


def test_a_correlogram_of_many_columns_is_one_heat_map():
    found = st.correlogram(STRAT, table(), columns="separate", draws=199, max_draws=1999)
    (panel,) = st.plot.correlogram(found)
    rows = shown_rows(panel)
    assert len(rows) == TOP
    assert set(rows[:3]) == {"gene7", "gene11", "gene20"}
    assert not panel.lines
    drawn = np.ma.getdata(panel.collections[0].get_array())
    np.testing.assert_allclose(drawn, np.clip(found["z"].sel(column=rows), -8, 8))
    texts = [text for text in panel.texts if text.get_weight() == "bold"]
    assert len(texts) == int((found["q"].sel(column=rows) <= 0.05).sum())
    assert "30 of 40 columns" in panel.figure.get_suptitle()
    few = st.plot.correlogram(found.isel(column=slice(4)))
    assert len(few) == 4
    assert all(one.lines for one in few)


def test_spectra_of_many_columns_are_shares_over_chance():
    found = STRAT.spectra(table(), ["gft", "in_agg"], columns="separate")
    panels = st.plot.spectra(found)
    assert [panel.get_title() for panel in panels] == ["gft, K = 1", "gft, K = 2"]
    rows = shown_rows(panels[0])
    assert len(rows) == TOP
    energy = found.sel(algorithm="gft", hop=1)["magnitude"] ** 2
    values = np.ma.getdata(panels[0].collections[0].get_array())
    sizes = st.calibrate(STRAT, range(N), algorithms="gft", level="band", draws=0)["band_size"].sel(hop=1).values
    assert sizes.sum() == 47
    for place, name in enumerate(rows[:5]):
        off = energy.sel(column=name).values[1:]
        quarters = np.split(off, np.cumsum(sizes)[:-1])  # 47 components off zero
        ratio = [part.sum() / off.sum() * 47 / len(part) for part in quarters]
        np.testing.assert_allclose(2.0 ** values[place], np.clip(ratio, 0.25, 4.0), rtol=1e-9)
    assert len(st.plot.spectra(found, snapshots=["gene7"])[0].lines) > 0
    assert len(st.plot.spectra(found.isel(column=slice(5)))) == 2


def test_calibrated_bands_and_bands_of_columns():
    given = {"algorithms": "gft", "level": "band", "columns": "separate", "draws": 99, "max_draws": 999}
    found = st.calibrate(STRAT, table(), **given)
    panels = st.plot.columns(found, hops=[2], top=6)
    names = [label.get_text() for label in panels[0].get_yticklabels()]
    (alone,) = st.plot.columns(found.sel(hop=2), top=6)  # one hop that was selected
    assert [label.get_text() for label in alone.get_yticklabels()] == names
    rows = shown_rows(panels[0])
    assert len(rows) == 6
    cells = np.ma.getdata(panels[0].collections[0].get_array())
    wanted = found["z"].sel(algorithm="gft", hop=2, column=rows)
    np.testing.assert_allclose(cells, np.clip(wanted, -8, 8))
    bands = st.band_spectra(GRID, table().drop(columns="gene30"), 5, columns="separate", algorithms="gft")
    (panel,) = st.plot.columns(bands, top=3)
    share = bands["energy"].sel(algorithm="gft", hop=1, column=shown_rows(panel))
    size = bands["band_size"].sel(hop=1)
    ratio = share / share.sum("band") / (size / size.sum())
    np.testing.assert_allclose(2.0 ** np.ma.getdata(panel.collections[0].get_array()), np.clip(ratio, 0.25, 4.0))


def test_what_pictures_of_columns_refuse():
    with pytest.raises(OptionError, match="columns='separate'"):
        st.plot.columns(STRAT.spectra(table(), "gft"))
    with pytest.raises(OptionError, match="level='band'"):
        st.plot.columns(st.calibrate(STRAT, table(), algorithms="gft", columns="separate", draws=0))
    with pytest.raises(OptionError, match="top"):
        st.plot.columns(st.correlogram(STRAT, table(), columns="separate", draws=0), top=0)


# ---- columns by name


def test_columns_by_name():
    known = as_signal(table(), STRAT.graph)
    some = pick_columns(known, ["gene9", "gene2"])
    assert some.columns == ("gene9", "gene2")
    np.testing.assert_array_equal(some.values[0], table()[["gene9", "gene2"]])
    plain = as_signal(table().to_numpy(), STRAT.graph)
    np.testing.assert_array_equal(pick_columns(plain, ["3"]).values[0, :, 0], table()["gene3"])
    with pytest.raises(UnknownNameError, match="no column 'gene_7'; it has 40 others, such as 'gene7'"):
        pick_columns(known, ["gene_7"])
    with pytest.raises(UnknownNameError, match="it has 'a', 'b'"):
        pick_columns(as_signal(table().iloc[:, :2].set_axis(["a", "b"], axis=1), STRAT.graph), ["c"])
    with pytest.raises(DuplicateNameError, match="asked for twice"):
        pick_columns(known, ["gene7", "gene7"])


# ---- the page


def page_data(report):
    text = report.path.read_text(encoding="utf-8")
    start = text.index('<script type="application/json" id="data">') + len('<script type="application/json" id="data">')
    return json.loads(text[start : text.index("</script>", start)])


@pytest.mark.needs("plotly")
def test_a_page_ranks_columns_and_shows_the_first(ranked, tmp_path, monkeypatch):
    monkeypatch.setattr("spectrata.report.columns.SHOWN", 6)
    result = STRAT.spectra(table(), "gft", columns="separate")
    data = page_data(st.write_report(result, tmp_path / "a.html", STRAT, signal=table()))
    found = data["column_table"]
    assert found["column"] == ranked["column"].tolist()
    np.testing.assert_allclose(found["z"][:-1], ranked["z"][:-1])
    assert found["z"][-1] is None
    assert data["snapshots"] == ranked["column"][:6].tolist()
    assert data["findings"] == []
    assert data["comparison"] is None
    assert found["sentences"] == column_sentences(ranked)
    verdicts = np.frombuffer(b64decode(data["likeness"]["verdict"]["b"]), dtype="<f4").reshape(6, -1)
    assert np.isfinite(verdicts[:, 0]).all()  # every column is judged, not the first and the last alone
    selected = int((ranked["q"] <= 0.05).sum())
    clear = ranked["p"][:6].to_numpy() * len(ranked) * len(result["hop"]) / selected <= 0.05
    assert clear.tolist() == [True] * selected + [False] * (6 - selected)
    np.testing.assert_array_equal(verdicts[clear, 0], np.where(ranked["ratio"][:6].to_numpy()[clear] < 1, 1, -1))
    assert (verdicts[selected:] == 0).all()  # columns that were not selected have no verdict at any hop
    assert data["row_word"] == "column"
    assert found["reach"][:6] == ranked["reach"][:6].tolist()
    assert found["reach"][-1] is None
    shape = data["spectra"]["magnitude"]["s"]
    assert shape[:2] == [1, 6]
    kept = STRAT.using(keep=["signal"]).spectra(table(), "gft", columns="separate")
    assert page_data(st.write_report(kept, tmp_path / "b.html"))["column_table"]["z"] == found["z"]
    unknown = STRAT.using(keep=[]).spectra(table(), "gft", columns="separate")
    data = page_data(st.write_report(unknown, tmp_path / "c.html", STRAT))
    assert data["column_table"] is None
    assert len(data["snapshots"]) > 6


@pytest.mark.needs("playwright", "plotly")
def test_a_column_is_chosen_in_the_table_of_a_page(tmp_path):
    from browsing import Page, chromium

    nasty = "<img src=x onerror='window.HACKED = 1'>"
    some = table()[["gene7", "gene11", "gene20", "gene3", "gene4"]].set_axis(["a", "b", nasty, "d", "e"], axis=1)
    ds = st.Stratification(GRID, hops=1).spectra(some, "gft", columns="separate")
    path = st.write_report(ds, tmp_path / "columns.html")
    order = page_data(path)["snapshots"]
    with chromium() as browser, Page(browser, path.path) as page:
        names = page.evaluate(
            "() => [...document.querySelectorAll('#ranked tbody tr')].map(r => r.cells[0].textContent)"
        )
        assert names == order
        assert "of 5 columns neighbours are more alike" in page.text("#findings")
        for place in (0, 2):
            if place:
                page.tab.click(f"#ranked tbody tr:nth-child({place + 1}) button")
                page.settle()
            assert page.text("#snapshot-name") == order[place]
            curve = page.traces("spectra", "curve")[0]
            wanted = st.merge_eigenspaces(ds).sel(algorithm="gft", hop=1, column=order[place])["magnitude"]
            np.testing.assert_allclose(curve["y"], wanted[: len(curve["y"])], rtol=1e-5, atol=1e-7)
        assert page.evaluate("() => window.HACKED") is None
        page.screenshot("columns")


# ---- the command line


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savetxt("g.txt", np.array(GRID.edges), fmt="%d")
    table().rename_axis("node").to_csv("x.csv")


def test_profile_of_separate_columns(files, ranked):
    words = ["profile", "g.txt", "x.csv", "--columns", "separate", "--algorithms", "gft", "--hops", "1"]
    result = run(*words, "-o", "out")
    assert result.exit_code == 0, result.output
    assert "note:" not in result.stderr
    assert "In 2 of 39 columns neighbours are more alike than chance" in result.stdout
    assert "40 columns" in result.stdout
    assert "20 more columns; columns.csv has all" in result.stdout
    kept = pd.read_csv("out/columns.csv")
    assert kept["column"].tolist() == ranked["column"].tolist()
    np.testing.assert_allclose(kept["z"], ranked["z"])
    assert st.open("out/spectra.nc")["column"].values.tolist() == NAMES
    words += ["--column", "gene30", "--column", "gene7", "--json", "--calibrate", "--draws", "9", "--max-draws", "9"]
    document = json.loads(run(*words, "-o", "out").stdout)
    assert [row["column"] for row in document["columns"]] == ["gene7", "gene30"]
    assert document["columns"][-1]["z"] is None
    assert document["hops"][0]["results"][1]["column"] == "gene7"
    assert "column" in pd.read_csv("out/calibrated.csv")


def test_one_column_of_a_table(files):
    words = ["--algorithms", "gft", "--hops", "1", "-o", "out"]
    assert run("profile", "g.txt", "x.csv", "--column", "gene7", *words).exit_code == 0
    wanted = st.spectra(GRID, table()["gene7"], "gft", hops=1)
    np.testing.assert_allclose(st.open("out/spectra.nc")["magnitude"], wanted["magnitude"], atol=1e-10)
    result = run("profile", "g.txt", "x.csv", "--column", "gene7", "--column", "gene2", *words)
    assert "2 columns (gene7, gene2) are read as one vector" in result.stderr
    assert "--columns separate reads each by itself" in result.stderr
    assert result.output.count("by direction") == 2  # this note, and the line of the signal; no finding repeats it
    wanted = st.spectra(GRID, table()[["gene7", "gene2"]], "gft", hops=1)
    np.testing.assert_allclose(st.open("out/spectra.nc")["magnitude"], wanted["magnitude"], atol=1e-10)
    result = run("correlogram", "g.txt", "x.csv", "--column", "gene7", "--column", "gene2", "--columns", "separate")
    assert result.exit_code == 0
    assert "gene7" in result.stdout
    assert "gene3" not in result.stdout
    words = ["profile", "g.txt", "x.csv", "--bands", "0,1,2,9", "--columns", "separate", "--column", "gene7", "-o", "b"]
    document = json.loads(run(*words, "--algorithms", "gft", "--json").stdout)
    assert document["columns"] == ["gene7"]
    wanted = st.band_spectra(GRID, table()["gene7"], [0, 1, 2, 9], algorithms="gft")
    np.testing.assert_allclose(document["energy"][0][0], wanted["energy"].values[0], atol=1e-10)


def test_many_graphs_in_common_bands(files, tmp_path):
    names = ["late", "early", "middle"]
    rows = [f"g.txt,x.csv,{name}" for name in names]
    (tmp_path / "all.csv").write_text("graph,signal,name\n" + "\n".join(rows) + "\n")
    words = ["profile", "--many", "all.csv", "--hops", "1", "--algorithms", "gft", "-o", "out"]
    result = run(*words, "--bands", "0,1,2,4,9", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["picture"].endswith("spectrogram.png")
    assert (tmp_path / "out" / "spectrogram.png").stat().st_size > 5000
    found = st.open_many("out/spectra.zarr")
    assert found["graph"].values.tolist() == names
    wanted = st.band_spectra(GRID, table(), [0, 1, 2, 4, 9], algorithms="gft", hops=[1])
    np.testing.assert_allclose(found["energy"].isel(graph=1), wanted["energy"], atol=1e-10)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["profile", "g.txt", "x.csv", "--column", "gene_7"], "no column 'gene_7'; it has 40 others, such as 'gene7'"),
        (["correlogram", "g.txt", "x.csv", "--column", "gene_7"], "no column 'gene_7'"),
        (["profile", "g.txt", "x.csv", "--column", "gene7", "--column", "gene7"], "'gene7' is asked for twice"),
        (["profile", "g.txt", "x.csv", "--columns", "each"], "--columns each"),
        (["profile", "g.txt", "x.csv", "--columns", "separate", "--metric", "angular"], "leave out --metric angular"),
        (
            ["correlogram", "g.txt", "x.csv", "--columns", "separate", "--metric", "angular"],
            "leave out --metric angular",
        ),
        (["profile", "g.txt", "x.csv", "--bands", "2,1,3"], "ascend"),
        (["profile", "g.txt", "x.csv", "--bands", "many"], "--bands 'many' is not understood"),
        (["profile", "g.txt", "x.csv", "--bands", "0"], "--bands"),
        (["profile", "--many", "all.csv", "--bands", "4"], "give the edges that all share"),
        (["profile", "--many", "all.csv", "--bands", "0.5,1"], "common bands start at 0"),
        (["profile", "--many", "all.csv", "--bands", "0,2,1"], "ascend"),
        (["profile", "--many", "all.csv", "--spacing", "log", "--bands", "0,1"], "--spacing out"),
        (["profile", "--many", "all.csv", "--columns", "separate"], "go with one graph, not with --many"),
        (["profile", "--many", "all.csv", "--column", "gene1"], "go with one graph, not with --many"),
        (["profile", "--many", "all.csv", "--report"], "--report goes with one graph, not with --many"),
        (["profile", "g.txt", "s.csv", "--bands", "4", "--report"], "--report needs eigenvectors, which --bands"),
        (["profile", "g.txt", "s.csv", "--bands", "4", "--findings"], "spectrata correlogram GRAPH SIGNAL tests"),
    ],
)
def test_what_the_command_line_refuses(files, tmp_path, words, message):
    (tmp_path / "all.csv").write_text("graph,signal\ng.txt,x.csv\n")
    result = run(*words)
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.strip().splitlines()
    assert message in line


def test_the_ends_are_the_lowest_and_the_highest_band(ranked):
    bands = st.calibrate(STRAT.only(1), table(), algorithms="gft", level="band", bands=4, columns="separate", draws=0)
    z = bands["z"].sel(algorithm="gft", hop=1)
    for end, at in (("low", 0), ("high", 3)):
        expected = z.isel(band=at).sel(column=ranked["column"].tolist()).values
        np.testing.assert_allclose(ranked[f"{end}_z"], expected, rtol=1e-9)


@pytest.mark.parametrize("allowed", [0, 1])
def test_bands_have_p_where_their_draws_are_affordable(monkeypatch, allowed):
    """199 random orders of 3 columns, two multiplications for each pair of node and component."""
    monkeypatch.setattr(ranking, "AFFORDABLE", 2 * 199 * 3 * N * N - 1 + allowed)
    found = rank_columns(STRAT, table()[NAMES[5:8]])
    assert found["low_z"].notna().all()
    assert found["low_p"].notna().all() == bool(allowed)


def test_the_line_on_p_from_moments_names_shares_and_cells():
    both = (
        {"moments_confirmed": 40, "moments_agreement": 0.95},
        {"p_method": "moments", "p_confirmed": 20, "p_agreement": 0.9},
    )
    words = "p from exact moments (Pearson type III) agrees with permutations in "
    assert ranking._confirmed(*both) == words + "95 % of 40 cells of the correlogram and 90 % of 20 cells of bands."
    assert ranking._confirmed({}, both[1]) == words + "90 % of 20 cells of bands."
    assert ranking._confirmed({}, {"p_method": "permutation"}) == ""


def test_cases_name_columns_and_snapshots():
    values = table()[NAMES[:2]].to_numpy()[None].repeat(3, axis=0)
    case = of_signal(STRAT, as_signal(values, STRAT.graph), {}, "auto", "separate", "error")
    assert case.columns == [0, 1] * 3
    assert case.snapshots == [0, 0, 1, 1, 2, 2]
    rows, kind = chosen_rows(case, None)
    assert (rows.tolist(), kind) == ([0, 1, 4, 5], "")
    assert chosen_rows(case, "layers")[1] == "layers"
    assert chosen_rows(case, [1])[0].tolist() == [2, 3]
    kept = STRAT.spectra(table()[NAMES[:2]], "gft", columns="separate")
    again = of_result(view(kept), None, "joint")
    assert again.columns == NAMES[:2]
    np.testing.assert_allclose(again.field.values[:, :, 0] * again.field.scale[:, None], table()[NAMES[:2]].T)
