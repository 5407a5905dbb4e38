"""The study's statistics against brute force; a tiny study from training to its page; stopped and continued."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.needs("torch")
pytest.importorskip("torch")

from reproduction.studies.models import judging, page, records, report, results, running, structure  # noqa: E402
from reproduction.studies.models.protocol import FULL, QUICK, Protocol, _generated  # noqa: E402
from spectrata.errors import InputError, ResultError  # noqa: E402

SMALL = _generated(40, 6)
TINY = Protocol(
    "tiny",
    tuple(SMALL[name] for name in ("blocks-strong", "small-world")),
    architectures=("gcn", "appnp", "mlp"),
    depths=(1, 2, 6),
    seeds=2,
    control_depths=(2,),
    width=8,
    epochs=12,
    pairs=100,
)
ROOT = Path(__file__).parents[1]


def between(text: str, name: str) -> str:
    """What stands between the markers of a table."""
    return text.partition(f"<!-- begin {name} -->")[2].partition(f"<!-- end {name} -->")[0].strip()


def study_levels():
    place = Path(report.__file__).with_name(report.LEVELS)
    return json.loads(place.read_text(encoding="utf-8"))


# ---- statistics


def test_the_area_counts_pairs():
    rng = np.random.default_rng(0)
    low, high = rng.integers(0, 6, 30).astype(float), rng.integers(2, 8, 40).astype(float)
    a, b = rng.integers(0, 3, 30).astype(float), rng.integers(0, 3, 40).astype(float)
    pairs = [(x < y) + (x == y) / 2 for x, y in product(low, high)]
    assert judging.roc_area(low, high) == pytest.approx(np.mean(pairs))
    repeated = judging.roc_area(np.repeat(low, a.astype(int)), np.repeat(high, b.astype(int)))
    assert judging.roc_area(low, high, a, b) == pytest.approx(repeated)
    with_nan = judging.roc_area(np.append(low, np.nan), high)
    assert with_nan == pytest.approx(np.mean(pairs))
    assert judging.roc_area(np.array([-np.inf]), high) == 1.0


def test_a_level_is_the_best_allowed_one():
    rng = np.random.default_rng(1)
    failed, good = rng.normal(0.2, 0.2, 60), rng.normal(0.7, 0.2, 100)
    graphs = np.repeat(["a", "b"], 50)
    level = judging.choose_level(failed, good, graphs)
    assert level == float(f"{level:.2g}")
    gain = np.mean(failed < level) - np.mean(good < level)
    for other in np.arange(-0.5, 1.5, 0.01):  # no level of the grid is allowed and better
        share = max(np.mean(good[graphs == g] < other) for g in ("a", "b"))
        if share <= 0.05:
            assert np.mean(failed < other) - np.mean(good < other) <= gain + 1e-12
    assert max(np.mean(good[graphs == g] < level) for g in ("a", "b")) <= 0.05


def test_one_graph_with_false_alarms_lowers_the_level():
    failed = np.linspace(0, 0.3, 50)
    good = np.concatenate([np.full(200, 0.9), np.linspace(0.1, 0.2, 20)])
    graphs = np.repeat(["a", "b"], [200, 20])
    assert judging.choose_level(failed, good, np.repeat("a", 220)) > 0.1
    assert judging.choose_level(failed, good, graphs) <= 0.11


def test_rank_correlations_are_those_of_scipy():
    from scipy.stats import spearmanr

    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 9, (50, 3)).astype(float), rng.standard_normal(50)
    x[:5, 1] = np.nan
    x[7, 2] = -np.inf
    found = judging.spearman(x, y)
    assert found[0] == pytest.approx(spearmanr(x[:, 0], y).statistic)
    assert found[1] == pytest.approx(spearmanr(x[5:, 1], y[5:]).statistic)
    assert np.isfinite(found[2])


def test_the_bootstrap_draws_whole_clusters_within_graphs():
    clusters, graphs = np.array(list("aabbcc")), np.array(list("xxxxyy"))
    weights = judging.cluster_weights(clusters, graphs, 0, 200)
    assert (weights[:, 0] == weights[:, 1]).all()
    assert (weights[:, 2:4].sum(axis=1) + weights[:, :2].sum(axis=1) == 4).all()
    assert (weights[:, 4:] == 1).all()  # the only cluster of its graph


def test_intervals_of_a_rate_cover():
    """A rate of .3 over 60 clusters of 2: the 95 % interval holds it in about 95 of 100 data sets."""
    rng, held = np.random.default_rng(3), 0
    clusters = np.repeat(np.arange(60), 2).astype(str)
    weights = judging.cluster_weights(clusters, np.full(120, "g"), 0, 200)
    for _ in range(200):
        flagged = np.repeat(rng.random(60) < 0.3, 2).astype(float)
        found = judging.rate(flagged, weights)
        held += found["low"] <= 0.3 <= found["high"]
    assert 176 <= held <= 199


# ---- a tiny study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    out = tmp_path_factory.mktemp("study")
    lines = []
    assert running.run(TINY, out, say=lines.append) == 0
    return out


def test_a_study_from_training_to_tables(study, monkeypatch):
    monkeypatch.setattr(judging, "DRAWS", 20)
    levels = report.report(TINY, study)
    assert levels == {**levels, "protocol": "tiny", "protocol_digest": TINY.digest}
    assert json.loads((study / report.LEVELS).read_text())["models"] == levels["models"]
    for name in ("roc", "areas", "groups", "layers", "correlations", "hops"):
        assert (study / "figures" / f"{name}.png").stat().st_size > 5000
    shown = page.verdict_table(json.loads((study / report.LEVELS).read_text()))
    text = "before\n<!-- begin verdict -->\nold\n<!-- end verdict -->\nafter\n"
    place = study / "page.md"
    place.write_text(text)
    report.update_page(place, study)
    assert between(place.read_text(), "verdict") == shown
    assert place.read_text().startswith("before\n")
    root = study / "checkout"
    for folder in ("docs/images", "docs/models", "reproduction/studies/models"):
        (root / folder).mkdir(parents=True)
    (root / "docs" / "activations.md").write_text(text)
    report.publish(study, root)
    assert between((root / "docs" / "activations.md").read_text(), "verdict") == shown
    assert (root / "docs" / "models" / "rates.csv").read_text() == (study / "tables" / "rates.csv").read_text()
    assert (root / "docs" / "images" / "models-roc.png").is_file()
    assert (root / "reproduction/studies/models/collapse_levels.json").read_text() == (
        study / report.LEVELS
    ).read_text()


def test_the_dataset_holds_every_model_and_the_groups_follow_the_rules(study):
    assert records.group_of(np.array([0.09, 0.1, 0.75, 0.76])).tolist() == ["failed", "middle", "middle", "good"]
    ds = records.collect(TINY, study)
    models = records.Models(ds)
    per_graph = 3 * 3 * 2 * 2 + 2 * 1 * 2  # architectures, depths, recipes, seeds; controls
    assert ds.sizes["model"] == 2 * per_graph
    table = models.table
    for row in table.sample(30, random_state=0).itertuples():
        facts = models.graphs.loc[row.graph]
        mine = table[(table["graph"] == row.graph) & (table["trained"] == "messages")]
        means = mine.groupby(["architecture", "depth", "recipe"])["test"].mean()
        assert facts["best"] == pytest.approx(means.max())
        progress = (row.test - facts["baseline"]) / (facts["best"] - facts["baseline"])
        expected = "failed" if progress < 0.1 else "good" if progress > 0.75 else "middle"
        assert row.group == expected
    hidden = models.values(records.LAST_HIDDEN)
    without = ((table["depth"] == 1) & (table["architecture"] != "appnp")).to_numpy()
    assert np.isnan(hidden["off_zero"].to_numpy()[without]).all()
    assert not np.isnan(hidden["off_zero"].to_numpy()[~without]).any()
    control = (table["trained"] == "self-loops").to_numpy()
    assert np.isnan(models.values(records.OUTPUTS, "messages")["mad"].to_numpy()[control]).all()


def test_dead_states_count_as_collapsed(study):
    ds = records.collect(TINY, study).copy(deep=True)
    at = ds["measure_name"].values.tolist().index("dead_share")
    ds["measure"].values[0] = np.nan
    ds["measure"].values[0, :, :, at] = 1.0
    assert (records.Models(ds).values(records.OUTPUTS).iloc[0] == -np.inf).all()


def test_controls_are_counted_as_defined(study):
    models = records.Models(records.collect(TINY, study))
    levels = results.levels(models)
    for position in records.POSITIONS:
        for name in results.LEVELLED:
            levels["positions"][position][name]["level"] = 0.6 if "rank" not in name else 2.0
    counted = results.controls(models, levels).set_index(["position", "measure"])
    own, alone = (models.values("outputs", edges)["off_zero"] for edges in ("messages", "self-loops"))
    both = 0
    for index, row in models.table.iterrows():
        if models.main[index] and row["group"] == "failed" and row["architecture"] != "mlp":
            both += own[index] < 0.6 and alone[index] < 0.6
    assert counted.loc[("outputs", "off_zero"), "without_messages_too"] == both


def test_no_unit_is_begun_after_the_limit(tmp_path):
    left = running.run(TINY, tmp_path, limit=0)
    assert left == 2 + 2 * (9 + 2)


def test_units_of_a_graph_that_cannot_be_decomposed_do_not_hold_up_the_others(tmp_path, monkeypatch):
    plan = replace(TINY, architectures=("mlp",), depths=(1,), epochs=1)
    made = structure.structure_of

    def fail(graph, *more):
        if graph.name == "small-world":
            raise RuntimeError("no decomposition")
        return made(graph, *more)

    monkeypatch.setattr(structure, "structure_of", fail)
    lines = []
    assert running.run(plan, tmp_path, say=lines.append) == 2
    assert any("no decomposition" in line for line in lines)
    monkeypatch.undo()
    assert running.run(plan, tmp_path) == 0


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"cora is read from a file; give the folder with cora\.npz as --data"):
        running.run(FULL, tmp_path)
    with pytest.raises(InputError, match=r"cora\.npz, which is not there"):
        running.run(FULL, tmp_path, data=tmp_path)


def test_a_study_without_records_is_refused(tmp_path):
    with pytest.raises(ResultError, match="holds no record of the quick study"):
        records.collect(QUICK, tmp_path)


def test_a_page_with_an_unknown_table_is_refused():
    with pytest.raises(ResultError, match="does not write: other"):
        page.fill("<!-- begin other -->\n<!-- end other -->", {"rates": ""})


# ---- what is published


def test_the_levels_file_is_that_of_the_declared_protocol():
    levels = study_levels()
    assert levels["protocol_digest"] == FULL.digest
    assert levels["models"] >= 1000
    assert {name: facts["half"] for name, facts in levels["graphs"].items()} == {g.name: g.half for g in FULL.graphs}
    assert set(levels["positions"]) == {*records.POSITIONS, "either"}
    for position in records.POSITIONS:
        assert set(levels["positions"][position]) == set(results.LEVELLED)


def test_the_page_and_its_data_show_the_levels_file():
    text, levels = (ROOT / "docs" / "activations.md").read_text(encoding="utf-8"), study_levels()
    assert between(text, "verdict") == page.verdict_table(levels)
    tables = {"rates": page.rates_table(levels), "fitting": page.fitting_table(levels)}
    tables["by-graph-off-zero"] = page.by_graph_table(levels, "off_zero")
    tables["by-graph-rank"] = page.by_graph_table(levels, "directions_effective_rank")
    for name, table in tables.items():
        published = (ROOT / "docs" / "models" / f"{name}.csv").read_text(encoding="utf-8")
        assert published == table.to_csv(index=False), name
