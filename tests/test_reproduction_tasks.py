"""The experiments themselves, small: graphs, spectra in other bases, groups and correlations, a whole run."""

import json

import networkx as nx
import numpy as np
import pytest
from scipy.stats import rankdata

import spectrata as st
from reproduction import bases, runner
from reproduction.claims.judge import judge_all
from reproduction.tasks import smoothing_runs as runs
from reproduction.tasks import task1, task2, task3
from reproduction.tasks.caveman import caveman_graph, start_signal
from reproduction.tasks.clustering import scores
from reproduction.tasks.random_graphs import SERIES, TEXT_SERIES, block_count, draw
from reproduction.tasks.released import Spectrometer
from reproduction.tasks.settings import FULL, QUICK, Settings
from reproduction.tasks.smoothing import learn, normalised
from reproduction.tasks.smoothing_runs import correlation, mean_difference, schemes_over_hops
from spectrata.core.plan import make_plan
from spectrata.errors import OptionError
from spectrata.stats import correlate, distinguish
from spectrata.stats.describe.levels import group_reduce

TINY = Settings(
    graphs=2,
    trials=2,
    few_trials=2,
    ln_vx_epochs=40,
    low_pass_epochs=100,
    runs=12,
    epochs=40,
    bases=2,
    resamples=20,
    frames=2,
)


@pytest.mark.parametrize("series", [*SERIES, *TEXT_SERIES], ids=lambda series: series.slug)
def test_graphs_are_connected_and_signals_as_stated(series):
    adjacency, signal = draw(series, 3, seed=5)
    strat = st.Stratification(adjacency=adjacency)
    assert (adjacency == adjacency.T).all()
    assert strat.strata.at(1).n_parts == 1
    assert adjacency.shape == (50, 50)
    assert (sorted(set(signal)) == [0.0, 1.0] and signal.sum() == 1) if series.pulse else np.abs(signal).max() <= 1
    again = draw(series, 3, seed=5)
    assert (again[0] == adjacency).all()
    assert (again[1] == signal).all()
    assert not (draw(series, 4, seed=5)[0] == adjacency).all()


def test_released_graphs_are_as_dense_as_told():
    density = np.mean([draw(SERIES[0], i, 0)[0].sum() / (50 * 49) for i in range(40)])
    assert density == pytest.approx(0.0975, abs=0.004)
    text = np.mean([draw(TEXT_SERIES[0], i, 0)[0].sum() / (50 * 49) for i in range(40)])
    assert text == pytest.approx(0.1, abs=0.006)
    assert 2 <= block_count(SERIES[2], 0) <= 10


def test_a_graph_unit_holds_what_the_package_computes():
    unit = task1.graph_unit(SERIES[1], 0, 0, 2, 40)
    adjacency, signal = draw(SERIES[1], 0, 0)
    plain = st.spectra(
        st.Stratification(adjacency=adjacency),
        signal,
        algorithms=["gft", "adj_diff", "in_agg"],
        adj_diff={"scaling": "program"},
    )
    for name in ("gft", "adj_diff", "in_agg"):
        found = unit["magnitude"][:, task1.KINDS.index(name)]
        assert np.allclose(found, plain["magnitude"].loc[name].values)
    ones = unit["magnitude"][0, task1.KINDS.index("adj_diff/ones"), 0]
    gradient = np.abs(signal[:, None] - signal[None])[np.triu(adjacency, 1) == 1]
    assert ones == pytest.approx(gradient.sum())
    strat = st.Stratification(adjacency=adjacency)
    on = [bool(strat.strata.at(hop).counts[signal == 1][0] == 0) for hop in strat.hops]
    assert unit["on_singleton"].tolist() == on
    assert unit["trial_cosine"].shape == (len(on), 2)


def test_pulses_on_singletons_count_as_zero_and_can_be_left_out(tiny):
    ds = tiny.task1
    on = ds["on_singleton"].loc["ERM-Pulse"].values == 1
    cosine = ds["cosine"].loc["ERM-Pulse", :, :, "adj_diff"].values
    assert on.any()
    assert (cosine[on] == 0).all()
    with_all, without = (
        task1.means(ds, "ERM-Pulse", "adj_diff"),
        task1.without_singletons(ds, "ERM-Pulse", "adj_diff"),
    )
    touched = on.any(axis=0) & ~np.isnan(without)
    assert (without[touched] >= with_all[touched]).all()
    assert task1.means(ds, "ERM-Rand", "gft")[:4] == pytest.approx(np.ones(4))


def test_agreement_is_the_cosine_of_the_two(tiny):
    found = task2.means(tiny.task2, "ERM-Rand", "ln_vx", "adj_diff")
    a, b = (tiny.task1["magnitude"].loc["ERM-Rand", :, 1, name].values for name in ("adj_diff", "ln_vx"))
    wanted = [x @ y / np.linalg.norm(x) / np.linalg.norm(y) for x, y in zip(a, b, strict=True)]
    assert found[0] == pytest.approx(np.mean(wanted))


def test_task_3_finds_the_prototype_s_weights():
    starts = np.repeat(start_signal()[None], 11, axis=0)
    found = scores(learn(caveman_graph(), starts, task3.WEIGHTS, 3500).final)
    assert task3.WEIGHTS[found[:, 0] > 1 - 1e-9].tolist() == [0.3, 0.6, 0.9, 1.0]
    assert task3.select(found) == 3


def test_text_series_learn_nothing():
    unit = task1.graph_unit(TEXT_SERIES[0], 0, 0, 0, 40)
    learned = ["ln_vx", "ln_vx/abs", "ens", "ens/paper", "ens/pulse", "ens/adj_diff"]
    missing = np.isnan(unit["magnitude"]).all(axis=(0, 2))
    assert [kind for kind, gone in zip(task1.KINDS, missing, strict=True) if gone] == learned
    assert "trial_cosine" not in unit


def ens_in_basis(spectrometer, pair, hop, rng=None):
    strat, plan = spectrometer.strat, spectrometer.plan("ens")
    return bases.in_basis(strat, plan, pair / 2, hop, rng)["ens"]


def test_the_solver_s_basis_is_one_of_the_bases():
    spectrometer = Spectrometer(TINY)
    pair = normalised(np.random.default_rng(0).standard_normal((2, 13, 3)))
    whole = spectrometer(pair)["magnitude"].loc["ens"].values
    for hop in spectrometer.strat.hops:
        assert np.allclose(ens_in_basis(spectrometer, pair, hop), whole[:, hop - 1], atol=1e-12)


@pytest.mark.parametrize("merged", [False, True])
def test_a_basis_matters_to_adj_diff_at_repeated_eigenvalues_alone(merged):
    graph = nx.disjoint_union_all([nx.cycle_graph(6), nx.cycle_graph(6), nx.empty_graph(1)])
    strat, plan = st.Stratification(graph), make_plan(["gft", "adj_diff"], {}, 13, keep=())
    rng = np.random.default_rng(0)
    signal = rng.standard_normal((2, 13, 3))
    for hop in strat.hops:
        drawn = [bases.in_basis(strat, plan, signal, hop, rng) for _ in range(20)]
        basis = strat.basis(hop)
        for name in ("gft", "adj_diff"):
            found = np.stack([one[name] for one in drawn])  # (draw, T, n)
            if merged:
                found = group_reduce(found[:, :, None], basis.eigenspace[None], 13)
            spread = np.nan_to_num(np.ptp(found, axis=0).reshape(2, 13))
            free = (basis.multiplicity > 1) & (basis.values > 1e-9)
            if merged and name == "gft":  # the sum over an eigenspace is the signal's own
                assert spread.max() < 1e-9
            elif merged:
                assert spread.max() > 1e-2 or not free.any()
            elif name == "adj_diff":
                assert (spread[:, free] > 0).all()
                assert (spread[:, ~free] == 0).all()


def test_rotations_are_orthogonal_and_centred():
    rng = np.random.default_rng(0)
    turns = np.stack([bases.rotate_columns(np.eye(3), np.zeros(3), rng) for _ in range(4000)])
    np.testing.assert_allclose(turns @ turns.transpose(0, 2, 1), np.broadcast_to(np.eye(3), turns.shape), atol=1e-12)
    assert np.abs(turns.mean(axis=0)).max() < 0.05
    np.testing.assert_allclose((turns**2).mean(axis=0), 1 / 3, atol=0.02)


def test_ens_in_a_random_basis_is_the_program_s_formula():
    spectrometer = Spectrometer(TINY)
    strat, plan = spectrometer.strat, spectrometer.plan("ens")
    pair = normalised(np.random.default_rng(0).standard_normal((2, 13, 3)))
    found = ens_in_basis(spectrometer, pair, 1, np.random.default_rng(1))
    work = bases.turned(strat.work(*strat.prepared(1, plan), pair / 2, plan), np.random.default_rng(1))
    vectors, values = work.basis.dense(), work.basis.values
    x, y = strat.strata.at(1).edges.T
    gradient = np.linalg.norm(pair[:, x] - pair[:, y], axis=2) / 2
    differences = vectors[x] - vectors[y]
    with np.errstate(divide="ignore", invalid="ignore"):
        adj_diff = gradient @ np.abs(differences) / np.sqrt(values)
        apprx_ls = np.abs(gradient @ differences) / values
    adj_diff[:, 0], apprx_ls[:, 0] = gradient.sum(axis=1) / np.sqrt(15), 0.0
    rest = found - sum(
        weight * member / np.linalg.norm(member, axis=1, keepdims=True)
        for weight, member in ((0.4, adj_diff), (0.2, apprx_ls))
    )
    assert np.allclose(np.linalg.norm(rest, axis=1), 0.4)  # what is left is LN-VX, learned in this basis
    solver = ens_in_basis(spectrometer, pair, 1)
    assert not np.allclose(solver, found)
    assert np.allclose(ens_in_basis(spectrometer, pair, 1), solver)  # whose learned maps are kept apart


def test_raw_ensembles_differ_by_the_program_s_division():
    embedding = normalised(np.random.default_rng(0).standard_normal((1, 13, 3)))
    found = Spectrometer(TINY)(embedding, variants=True)["magnitude"]
    adj_diff, ln_vx, apprx_ls = (found.loc[name].values for name in ("adj_diff", "ln_vx", "apprx_ls"))
    low = 0.4 * adj_diff + 0.4 * ln_vx + 0.2 * apprx_ls
    assert np.allclose(found.loc["ens_raw"].values[:, :4], low[:, :4])
    high = 0.5 * adj_diff * np.sqrt(13) + 0.5 * ln_vx
    assert np.allclose(found.loc["ens_raw/unit"].values[:, 4:], high[:, 4:])
    unit = st.spectra(caveman_graph(), embedding[0], "adj_diff")["magnitude"].values[0]
    assert np.allclose(adj_diff[0] * np.sqrt(13), unit)


def test_statistics_agree_with_the_library_s():
    rng = np.random.default_rng(0)
    strat = st.Stratification(caveman_graph())
    first, second = rng.standard_normal((6, 13, 3)), rng.standard_normal((5, 13, 3)) + 0.5
    a, b, both = (strat.spectra(x, "gft") for x in (first, second, np.concatenate([first, second])))
    ours = schemes_over_hops(a["magnitude"].values[0], b["magnitude"].values[0])
    theirs = distinguish(a, b, normalized=False, draws=9)
    assert np.allclose(ours, theirs["wasserstein"].loc["gft"].transpose("kind", "pair", "hop").values)
    largest = mean_difference(a["magnitude"].values[0], b["magnitude"].values[0])
    assert np.allclose(largest, theirs["largest_mean_difference"].values[0])
    score = rng.standard_normal(11)
    found = correlate(both, score)
    norms = both["gradient_norm"].values
    assert np.allclose(correlation(norms, score), found["pearson"].values)
    assert np.allclose(correlation(rankdata(norms, axis=0), rankdata(score)), found["spearman"].values)


def test_good_and_bad_by_either_score():
    table = np.array([[0.8, 0.79], [0.79, 0.79], [0.3, 0.5], [0.31, 0.31], [0.9, 0.2]])
    assert runs.select(table).tolist() == ["good", "", "bad", "", ""]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    out = tmp_path_factory.mktemp("tiny")
    return runner.measure(runner.TASKS, out, TINY, 1, lambda message: None)


def test_a_whole_small_run_judges_every_claim(tiny, tmp_path):
    records = judge_all(tiny)
    verdicts = {record.id: record.verdict for record in records}
    assert verdicts["proposition-2"] == "unchecked"
    for sure in ("intro-4-cycle", "constant-adj-diff", "t3-graph", "t3-eigenvalues", "t3-start-scores", "t3-k6-clique"):
        assert verdicts[sure] == "holds"
    assert sum(verdict != "unchecked" for verdict in verdicts.values()) > 70
    runner.save_data(tiny, tmp_path)
    runner.write_page(records, TINY, {}, tmp_path)
    assert len(json.loads((tmp_path / "claims.json").read_text())["claims"]) == len(records)
    assert (tmp_path / "data" / "tasks4-8.nc").exists()


def test_figures_and_films_are_drawn(tiny, tmp_path):
    from reproduction.figures import animation
    from reproduction.figures import runs as figures_runs
    from reproduction.figures import task3 as figures_task3
    from reproduction.figures import task12 as figures_task12
    from reproduction.figures.drawing import save_all, styled

    with styled():
        figures = [
            figures_task12.cosines(tiny.task1),
            figures_task3.merged(tiny.task3),
            figures_task3.embeddings(tiny.task3),
            figures_runs.over_epochs(tiny.runs),
            figures_runs.correlation(tiny.runs, "final"),
            figures_runs.good_bad(tiny.runs, "start", "ens"),
        ]
        drawn = {str(number): (str(number), figure) for number, figure in enumerate(figures)}
        for path in save_all(drawn, tmp_path, dpi=40).values():
            assert path.read_bytes().startswith(b"\x89PNG")
    (function, arguments), *_ = animation.calls(tiny.task3, None, TINY, tmp_path)
    (film,) = function(*arguments).values()
    assert film.read_bytes().startswith(b"GIF8")


def test_tasks_are_named_and_checked():
    assert runner.resolve_tasks([]) == runner.resolve_tasks(["all"]) == runner.TASKS
    assert runner.resolve_tasks(["task 3", "1"]) == ("1", "3")
    with pytest.raises(OptionError, match="There is no task '9'"):
        runner.resolve_tasks(["9"])
    assert (FULL.graphs, FULL.runs, FULL.trials) == (100, 500, 50)
    assert (QUICK.graphs, QUICK.runs, QUICK.trials) == (10, 50, 50)


# ---- figures


def curves(ax):
    return [line.get_ydata() for line in ax.get_lines() if len(line.get_ydata()) > 2]


def mean_of(values):
    """Over graphs that have the hop; NaN where none has."""
    return np.ma.masked_invalid(np.asarray(values, dtype=float)).mean(axis=0).filled(np.nan)


def heights(ax):
    return [bar.get_height() for bar in ax.patches]


def test_figures_of_tasks_1_and_2_show_means_over_graphs(tiny):
    from reproduction.figures import task12 as drawn

    first, second = tiny.task1, tiny.task2
    main = [series.name for series in SERIES]
    axes = np.reshape(drawn.components(first).axes, (2, -1))
    for row, name in enumerate(("n_parts", "n_singletons")):
        for ax, series in zip(axes[row], main, strict=True):
            np.testing.assert_allclose(curves(ax)[0], mean_of(first[name].loc[series]))
    for ax, series in zip(drawn.errors(first).axes, main, strict=True):
        edges = first["n_edges"].loc[series].values
        (bound,) = (line.get_ydata() for line in ax.get_lines() if line.get_linestyle() == "--")
        np.testing.assert_allclose(bound, mean_of(np.maximum(edges * 0, 50 - edges) / 2500))
    axes = np.reshape(drawn.trials(first).axes, (len(main), -1))
    found = first["trial_cosine"].loc[main[0]].values[:, 0]
    np.testing.assert_allclose(axes[0, 0].get_lines()[0].get_ydata(), np.sort(found.mean(axis=1)))
    for ax, series in zip(drawn.pulses(first).axes, ("ERM-Pulse", "SBM-Pulse"), strict=True):
        expected = mean_of(first["cosine"].loc[series].sel(kind="flat"))
        assert any(np.allclose(curve, expected, equal_nan=True) for curve in curves(ax))
    axes = np.reshape(drawn.variants(first).axes, (2, 4))
    expected = mean_of(first["cosine"].loc["ERM-Rand"].sel(kind="adj_diff/printed"))
    np.testing.assert_allclose(curves(axes[0, 0])[1], expected)
    for ax, series in zip(drawn.agreement(second).axes, main, strict=True):
        np.testing.assert_allclose(curves(ax)[0], mean_of(second["agreement"].loc[series].values[..., 0]))


def test_figures_of_task_3_show_strata_weights_spectra_and_eigenvectors(tiny):
    from reproduction.figures import task3 as drawn

    ds = tiny.task3
    strat = st.Stratification(caveman_graph())
    for ax, stratum in zip(drawn.strata(ds).axes, strat.strata, strict=True):
        assert len(ax.get_lines()) == stratum.n_edges
        assert ax.get_title() == f"K = {stratum.hop}: {stratum.n_edges} edges, {stratum.n_parts} parts"
    np.testing.assert_array_equal(curves(drawn.weights(ds).axes[0])[0], ds["score"].values[1:, 0])
    start, final = curves(drawn.spectra(ds, "ens_raw").axes[1])
    np.testing.assert_array_equal(start, ds["magnitude"].loc["ens_raw"].values[0, 1])
    np.testing.assert_array_equal(final, ds["magnitude"].loc["ens_raw"].values[1 + ds.attrs["selected"], 1])
    axes = drawn.all_eigenvectors(ds, 2).axes
    assert [ax.get_visible() for ax in axes] == [True] * 13 + [False] * 3
    np.testing.assert_array_equal(heights(axes[4]), ds["eigenvectors"].values[1, :, 4])
    hop, components = drawn.SELECTED_EIGENVECTORS[0]
    first = drawn.chosen_eigenvectors(ds).axes[0]
    np.testing.assert_array_equal(heights(first), ds["eigenvectors"].values[hop - 1, :, components[0]])


def test_figures_of_tasks_4_to_8_show_runs_by_group(tiny):
    from reproduction.figures import runs as drawn
    from reproduction.tasks import smoothing_runs

    ds = tiny.runs
    low, high = np.quantile(ds["score"].loc["final"].values[:, 0], [0.1, 0.9])
    labels = [text.get_text() for text in drawn.scores(ds).axes[0].get_legend().get_texts()]
    assert f"ARI: span {high - low:.2f}" in labels
    chosen = ds["group_of_run"].values != ""
    ax = drawn.start_final(ds, "ens").axes[0]
    np.testing.assert_allclose(curves(ax)[0], ds["magnitude"].loc["start", "ens"].values[chosen][:, 0].mean(axis=0))
    found = smoothing_runs.good_against_bad(ds, "final", "ens")[1]
    np.testing.assert_allclose(heights(drawn.distances(ds, "ens", "final").axes[0]), np.ravel(found[0]))
    kinds = ds["evolving_kind"].values.tolist()
    axes = drawn.changes(ds, 1, "ens").axes
    np.testing.assert_array_equal(curves(axes[2])[3], ds["evolution_change"].values[1, 0, kinds.index("ens"), :, 2, 3])


def test_every_figure_and_film_has_a_title_and_a_file_of_its_own(tiny, tmp_path, monkeypatch):
    from reproduction.figures import animation, drawing, runs, task3, task12

    def files(drawn, folder, dpi=110):
        return {title: folder / f"{name}.png" for title, (name, _) in drawn.items()}

    monkeypatch.setattr(drawing, "save_all", files)
    monkeypatch.setattr(animation, "film", lambda *given: {given[4]: given[5]})
    for module in (runs, task3, task12):  # the figures themselves have tests of their own
        for name in [name for name in vars(module) if vars(module)[name].__class__.__name__ == "function"]:
            own = getattr(module, name).__module__ == module.__name__
            if own and name not in ("draw", "supplements", "positions") and not name.startswith("_"):
                monkeypatch.setattr(module, name, lambda *given: None)
    made = runner.draw(tiny, tmp_path, TINY)
    assert len(set(made.values())) == len(made)
    groups = [name for name in ("good", "bad") if (tiny.runs["group_of_run"] == name).any()]
    assert sum(path.suffix == ".gif" for path in made.values()) == 1 + len(groups)
    titles = "\n".join(made)
    assert all(f"Task {task}" in titles or f"Tasks {task}" in titles for task in (3, 4, 5, 6, 7, 8))
    assert runner.draw(runner.Results(), tmp_path, TINY) == {}
