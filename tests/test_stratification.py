"""The order of work: snapshots, subsets of hops, seeds, threads, caches, undefined snapshots, presets."""

import copy
import json
import pickle
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

import brute
import calls
import spectrata as st
from paper_graph import EDGES, SIGNAL, N
from spectrata.core import engine, resources, stratification
from spectrata.core.operators import Laplacian
from spectrata.core.plan import make_plan
from spectrata.errors import HopError, MemoryEstimateError, SpectrataWarning, ZeroVectorError
from spectrata.kernels.backend import Backend
from strategies import INVARIANT, Case, assert_near, case_of, cases_with_signals, merged_hops, run, sorted_edges

PAPER = Case(sorted_edges(EDGES), N)
EVERY = ("gft", "apprx_ls", "in_agg", "adj_diff", "ln_vx", "ens", "ens_raw")
QUICK = {"trials": 3, "max_epochs": 15, "ens_weights": "even"}


# --- snapshots ----------------------------------------------------------------------------------------------


def test_snapshots_in_chunks(monkeypatch):
    signals = np.random.default_rng(1).standard_normal((5, N, 3))
    signals[3] = 0
    options = {"zero_vectors": "nan", "keep": ["trials", "signal"], **QUICK}
    whole = run(PAPER, signals, EVERY, **options)
    monkeypatch.setattr(engine, "CHUNK_BYTES", 8 * 15 * 2)
    parts = run(PAPER, signals, EVERY, **options)
    assert set(parts.variables) == set(whole.variables)
    for name in parts.data_vars:
        if parts[name].dtype.kind == "f":
            assert_allclose(parts[name], whole[name], rtol=1e-12, atol=1e-7 if name == "ls_residual" else 1e-14)
    assert (parts["status"] == whole["status"]).all()


# --- extremes and undefined snapshots -----------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1.0, 1e300, 1e-300])
def test_extreme_snapshots_stand_beside_ordinary_ones(factor):
    signals = np.random.default_rng(2).standard_normal((2, N, 1))
    ordinary = [run(PAPER, signal, EVERY, keep=["trials"], **QUICK) for signal in signals]
    mixed = run(PAPER, np.stack([signals[0] * factor, signals[1]]), EVERY, keep=["trials"], **QUICK)
    for algorithm in EVERY:
        for t, size in ((0, 1 if algorithm == "ens" else factor), (1, 1)):
            one, other = (ds["magnitude"].loc[algorithm].values for ds in (mixed.isel(snapshot=t), ordinary[t]))
            assert_near(one / size, other, 1e-12)
    for t, size in ((0, factor), (1, 1)):
        assert_allclose(mixed["gradient_norm"].loc[t] / size, ordinary[t]["gradient_norm"], rtol=1e-12)
        assert_allclose(mixed["ls_residual"].loc[t], ordinary[t]["ls_residual"], rtol=1e-9, atol=1e-7)
        trials = [ds["ln_vx_trial_magnitude"].values for ds in (mixed.isel(snapshot=t), ordinary[t])]
        assert_near(trials[0] / size, trials[1], 1e-12)


def test_zero_vectors():
    signals = np.random.default_rng(3).standard_normal((3, N, 2))
    signals[1, 4] = 0
    with pytest.raises(ZeroVectorError, match="4"):
        run(PAPER, signals)
    ds = run(PAPER, signals, EVERY, zero_vectors="nan", keep=["trials"], **QUICK)
    clean = run(PAPER, signals[[0, 2]], EVERY, keep=["trials"], **QUICK)
    assert np.isnan(ds["magnitude"].loc[:, 1]).all()
    assert np.isnan(ds["gradient_norm"].loc[1]).all()
    assert np.isnan(ds["ls_residual"].loc[1]).all()
    assert np.isnan(ds["ln_vx_trial_magnitude"].values[:, 1]).all()
    assert (ds["status"].loc[:, 1] == "undefined: zero vector").all()
    assert (ds["status"].loc[:, [0, 2]] == "ok").all()
    assert_near(ds["magnitude"].values[:, [0, 2]], clean["magnitude"].values, 1e-12)
    assert not np.isnan(ds["ln_vx_mse"]).any()
    plain = run(PAPER, signals, metric="euclidean")
    assert not np.isnan(plain["magnitude"]).any()


def test_zero_vectors_may_stay_zero():
    """Half a unit from every direction, and 0 from each other."""
    signal = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 2.0]])
    ds = run(case_of(nx.path_graph(4)), signal, hops=1, zero_vectors="zero")
    assert ds["gradient_norm"].item() == pytest.approx(np.sqrt(0.5), rel=1e-15)
    half = run(case_of(nx.path_graph(4)), signal / [[2], [1], [1], [4]], hops=1, metric="euclidean")
    assert_allclose(ds["magnitude"], half["magnitude"], rtol=1e-14, atol=1e-15)
    assert json.loads(ds.attrs["options"])["zero_vectors"] == "zero"


# --- hops, seeds, threads -----------------------------------------------------------------------------------


def test_same_seed_same_bits():
    options = {"orientation": "random", "keep": ["trials", "eigenvectors"], **QUICK}
    one, again = (run(PAPER, SIGNAL, EVERY, seed=11, **options) for _ in range(2))
    for name in one.data_vars:
        assert_array_equal(one[name], again[name], err_msg=name)
    other = run(PAPER, SIGNAL, EVERY, seed=12, **options)
    for algorithm in ("apprx_ls", "ln_vx"):
        assert not np.allclose(one["magnitude"].loc[algorithm], other["magnitude"].loc[algorithm])
    for algorithm in ("gft", "in_agg", "adj_diff"):
        assert_array_equal(one["magnitude"].loc[algorithm], other["magnitude"].loc[algorithm])


def test_threads_share_a_stratification():
    """Eight signals at once on one object: the results of eight calls, one after another."""
    strat = st.Stratification(PAPER.graph)
    signals = np.random.default_rng(5).standard_normal((8, N, 2))
    options = {"orientation": "random", "keep": (), **QUICK}
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda signal: calls.spectra(strat, signal, EVERY, **options), signals))
    for signal, ds in zip(signals, together, strict=True):
        assert_array_equal(ds["magnitude"], run(PAPER, signal, EVERY, **options)["magnitude"])


@pytest.mark.parametrize("max_basis_bytes", [0, 2000, 2**31])
def test_what_is_remembered_changes_nothing(max_basis_bytes):
    strat = st.Stratification(PAPER.graph, max_basis_bytes=max_basis_bytes)
    for seed, laplacian in ((0, "combinatorial"), (1, "combinatorial"), (0, "normalized"), (0, "combinatorial")):
        algorithms = "gft" if laplacian == "normalized" else EVERY
        options = {"seed": seed, "laplacian": laplacian, "keep": (), **QUICK}
        found = calls.spectra(strat, SIGNAL, algorithms, **options)
        assert_array_equal(found["magnitude"], run(PAPER, SIGNAL, algorithms, **options)["magnitude"])
    for options in ({"literal": True}, {"by_part": True}, {"activation": "selu"}, {"learning_rate": 0.02}, {}):
        found = calls.spectra(strat, SIGNAL, "ln_vx", keep=(), trials=2, max_epochs=4, **options)
        fresh = run(PAPER, SIGNAL, "ln_vx", trials=2, max_epochs=4, **options)
        assert_array_equal(found["magnitude"], fresh["magnitude"])


@given(cases_with_signals(kinds=("random connected", "many parts", "hypercube", "ring", "star", "grid")))
def test_single_precision(drawn):
    """The same eigenspaces, and merged values to 1e-4 of the largest; near-duplicates are below its digits."""
    case, signal = drawn
    double = run(case, signal, INVARIANT, metric="euclidean")
    single = run(case, signal, INVARIANT, metric="euclidean", dtype="float32")
    assert_array_equal(single["eigenspace"], double["eigenspace"])
    assert_allclose(single["eigenvalue"], double["eigenvalue"], rtol=0, atol=1e-5 * double["eigenvalue"].max().item())
    for algorithm in INVARIANT:
        for ours, theirs in zip(merged_hops(single, algorithm), merged_hops(double, algorithm), strict=True):
            assert_near(ours, theirs, 1e-4, np.abs(signal).max())


# --- the preset ---------------------------------------------------------------------------------------------


def test_the_paper_in_one_word():
    ds = run(PAPER, SIGNAL, None, preset="paper")
    assert ds["algorithm"].values.tolist() == ["gft", "apprx_ls", "in_agg", "adj_diff", "ln_vx", "ens", "ens_raw"]
    parameters = json.loads(ds.attrs["options"])
    expected = {
        "orientation": "index",
        "transform": "learned",
        "average": "signed",
        "ens_weights": "paper",
        "scaling": "program",
        "trials": 20,
        "max_epochs": 1000,
        "tolerance": 1e-6,
        "learning_rate": 0.01,
        "activation": None,
        "by_part": False,
        "preset": "paper",
        "laplacian": "combinatorial",
    }
    assert {name: parameters[name] for name in expected} == expected
    assert_array_equal(ds["ens_weight"].loc[[1, 4]], [[0.2, 0, 0.4, 0.4]] * 2)
    assert_array_equal(ds["ens_weight"].loc[[5, 6]], [[0, 0, 0.5, 0.5]] * 2)
    explicit = run(PAPER, SIGNAL, EVERY, orientation="index", scaling="program")
    assert_array_equal(ds["magnitude"], explicit["magnitude"])
    index = run(PAPER, SIGNAL, "apprx_ls", preset="paper")
    assert index["algorithm"].values.tolist() == ["apprx_ls"]
    assert_array_equal(index["magnitude"].values[0], ds["magnitude"].loc["apprx_ls"])
    own = run(PAPER, SIGNAL, None, preset="paper", orientation="rms", trials=1, max_epochs=1)
    assert json.loads(own.attrs["options"])["orientation"] == "rms"


def test_published_facts_of_the_papers_graph():
    """Sizes and eigenvalues quoted in the text; s0 is constant at K = 6."""
    ds = run(PAPER, SIGNAL)
    assert ds["n_edges"].values.tolist() == [15, 15, 15, 18, 12, 3]
    for hop, quoted in ((1, [0.178, 0.178, 3.835, 5.074]), (2, [0.423, 0.830, 3.060]), (3, [1.0, 1.0, 4.0])):
        values = ds["eigenvalue"].loc[hop].values
        for value in set(quoted):
            assert np.sum(np.abs(values - value) < 6e-4) >= quoted.count(value)
    assert_array_equal(ds["gradient_norm"].loc[6], 0)
    assert_array_equal(ds["magnitude"].loc[["apprx_ls", "in_agg", "adj_diff"], 6], 0)


# --- resources, progress ------------------------------------------------------------------------------------


def test_progress_goes_from_zero_to_one():
    calls = []
    run(PAPER, SIGNAL, EVERY, progress=lambda message, fraction: calls.append((message, fraction)), **QUICK)
    fractions = [fraction for _, fraction in calls]
    assert fractions[0] == 0
    assert calls[-1] == ("done", 1.0)
    assert fractions == sorted(fractions)
    assert any("K = 4" in message for message, _ in calls)


def test_memory_is_asked_for_before_it_is_taken(monkeypatch):
    monkeypatch.setattr(resources, "available_memory", lambda: 1000)
    with pytest.raises(MemoryEstimateError, match=r"13 nodes.*MiB"):
        st.Stratification(PAPER.graph).spectra(SIGNAL)


def test_long_runs_are_announced(monkeypatch):
    monkeypatch.setattr(stratification, "LONG_RUN", -1.0)
    graph = nx.star_graph(1499)
    strat = st.Stratification(graph)
    monkeypatch.setattr(strat, "prepared", lambda *arguments, **named: pytest.fail("worked before warning"))
    with pytest.raises(SpectrataWarning, match="2 hops of 1,500 nodes"):
        strat.spectra(np.arange(1500.0), "gft")


# --- what newcomers stumble over --------------------------------------------------------------------------------


def named_case():
    """A graph whose rows are not in the order of its names, and vectors by name."""
    names = [f"paper_{k}" for k in (3, 1, 4, 0, 2, 7, 5, 6)]
    graph = nx.relabel_nodes(nx.path_graph(8), dict(enumerate(names)))
    vectors = np.random.default_rng(0).standard_normal((8, 3))
    return graph, {name: vectors[k] for k, name in enumerate(sorted(names))}


@pytest.mark.parametrize("file", [False, True])
def test_a_result_takes_its_named_signal_back(tmp_path, file):
    graph, signal = named_case()
    kept = st.spectra(graph, signal)
    bare = st.spectra(st.Stratification(graph, keep=()), signal)
    if file:
        bare = st.open(st.save(bare, tmp_path / "bare.nc"))
    expected = [finding.text for finding in st.diagnose(kept)]
    assert [finding.text for finding in st.diagnose(bare, signal=signal)] == expected
    st.write_report(bare, signal, tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 10**4


def test_bands_take_their_named_signal_back():
    graph, signal = named_case()
    ds = calls.band_spectra(graph, signal, bands=3)
    rows = np.array([signal[name] for name in graph])
    by_name, by_row = (st.calibrate(ds, given, draws=39) for given in (signal, rows))
    assert_array_equal(by_name["p"], by_row["p"])


@pytest.mark.parametrize(
    "argument", ["hops", "keep", "seed", "preset", "zero_vectors", "n_eigs", "which", "metric", "algorithms"]
)
@pytest.mark.parametrize("call", ["smoothness", "response", "make_plan"])
def test_an_argument_of_another_call_is_not_offered_for_itself(call, argument):
    calls_of = {
        "smoothness": lambda given: st.smoothness(nx.path_graph(4), np.arange(4.0), **given),
        "response": lambda given: st.response(nx.path_graph(4), np.arange(4.0), np.arange(4.0), **given),
        "make_plan": lambda given: make_plan(None, given, 4),
    }
    with pytest.raises((st.InputError, TypeError)) as refusal:
        calls_of[call]({argument: "nonsense"})
    assert f"did you mean {argument!r}" not in str(refusal.value)


# --- it travels ---------------------------------------------------------------------------------------------


def _spectra_there(strat):
    return calls.spectra(strat, SIGNAL, EVERY, keep=(), **QUICK)["magnitude"].values


def test_a_stratification_is_pickled_copied_and_sent_to_another_process(tmp_path):
    strat = st.Stratification(PAPER.graph, hops=3, cache=tmp_path)
    expected = _spectra_there(strat)  # and now it holds bases
    for copied in (pickle.loads(pickle.dumps(strat)), copy.deepcopy(strat), copy.copy(strat)):
        assert (copied.hops, repr(copied)) == (strat.hops, repr(strat))
        assert_array_equal(_spectra_there(copied), expected)
    assert len(pickle.dumps(strat)) < 20_000, "eigenbases travel"
    with ProcessPoolExecutor(1) as pool:
        assert_near(pool.submit(_spectra_there, strat).result(), expected, 1e-12)


# --- what is kept between calls -------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [{"dtype": "float32"}, {"device": Backend("torch", "cpu")}])
@pytest.mark.parametrize("transform", ["learned", "incidence"])
def test_another_precision_or_library_leaves_no_trace(other, transform):
    """What LN-VX learned, and the line graph's basis, are kept for one precision and one library."""
    options = {"algorithms": ("gft", "ln_vx"), "transform": transform, "trials": 2, "max_epochs": 3}
    fresh = calls.spectra(st.Stratification(PAPER.graph), SIGNAL, **options)
    strat = st.Stratification(PAPER.graph)
    first = calls.spectra(strat, SIGNAL, **options, **other)
    assert_array_equal(calls.spectra(strat, SIGNAL, **options)["magnitude"], fresh["magnitude"])
    assert_array_equal(calls.spectra(strat, SIGNAL, **options, **other)["magnitude"], first["magnitude"])


# --- large means ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("laplacian", "self_loops"), brute.OPERATORS)
@pytest.mark.parametrize("n_eigs", [None, 6])
@pytest.mark.parametrize("graph", ["one part", "many parts"])
def test_a_large_mean_costs_no_digits(laplacian, self_loops, n_eigs, graph):
    """Relative to the centred energy; for the normalised Laplacian what is proportional to sqrt(c) goes."""
    graphs = {"one part": nx.gnm_random_graph(20, 50, seed=0)}
    graphs["many parts"] = nx.disjoint_union_all(
        [nx.gnm_random_graph(12, 25, seed=1), nx.cycle_graph(4), nx.empty_graph(2)]
    )
    strat = st.Stratification(graphs[graph], hops=2)
    rng = np.random.default_rng(0)
    noise = np.round(rng.standard_normal((strat.graph.n_nodes, 1)) * 1024) / 1024  # exact beside the mean
    options = {"algorithms": "gft", "laplacian": laplacian, "self_loops": self_loops, "n_eigs": n_eigs}
    for k, stratum in enumerate(strat.strata):
        basis = strat.basis(stratum.hop, laplacian, self_loops=self_loops)
        along = np.ones(strat.graph.n_nodes)
        if laplacian == "normalized":
            along = np.round(basis.root * 2**10) / 2**10  # about along the null vectors
        plain, shifted = (
            calls.spectra(strat, noise[:, 0] + size * along, keep=(), **options) for size in (0.0, 2.0**40)
        )
        off = ~plain["is_zero"].values[k]
        ours, theirs = (ds["magnitude"].values[0, k, off] for ds in (shifted, plain))
        if laplacian == "normalized":  # what rounding leaves of sqrt(c) is a signal of its own
            extra = basis.dense().T @ (along - basis.root) * 2.0**40
            theirs = np.abs(extra + basis.dense().T @ noise[:, 0])[plain["component"].values][off]
            assert_near(ours, theirs, 1e-9)
            continue
        energy = np.linalg.norm(noise - noise.mean())
        assert np.abs(ours - theirs).max() <= 1e-9 * energy


def counted_decompositions(monkeypatch):
    """How often each hop is decomposed from now on: (hop, operator) to a number."""
    counts = Counter()
    for right in (stratification.decompose, stratification.partial_basis):

        def counted(stratum, *given, right=right, **named):
            operator = next(one for one in given if isinstance(one, Laplacian))
            counts[stratum.hop, operator] += 1
            return right(stratum, *given, **named)

        monkeypatch.setattr(stratification, right.__name__, counted)
    return counts


@pytest.mark.parametrize("settings", [{}, {"n_eigs": 3}, {"dtype": "float32"}])
def test_each_hop_is_decomposed_once_per_operator(monkeypatch, settings):
    counts = counted_decompositions(monkeypatch)
    strat = st.Stratification(nx.path_graph(9), hops=3, **settings)
    assert (strat.hops, strat.diameter, counts) == ((1, 2, 3), 8, {})
    signals = np.random.default_rng(0).normal(size=(3, 9))
    for laplacian in ("combinatorial", "random_walk"):
        for signal in signals:
            st.spectra(strat, signal, ["gft", "in_agg"], laplacian=laplacian)
            st.spectra(strat.only(2), signal, "gft", laplacian=laplacian)
    assert {(hop, operator.laplacian): number for (hop, operator), number in counts.items()} == {
        (hop, laplacian): 1 for hop in (1, 2, 3) for laplacian in ("combinatorial", "random_walk")
    }
    assert strat.basis(2) is strat.basis(2)
    with pytest.raises(HopError):
        strat.basis(9)


@pytest.mark.parametrize("more", [[], ["--laplacian", "combinatorial"]])
def test_a_profile_with_its_report_decomposes_each_hop_once_per_operator(tmp_path, monkeypatch, more):
    from commanding import run

    monkeypatch.chdir(tmp_path)
    graph = nx.karate_club_graph()
    nx.write_edgelist(graph, "graph.txt", data=False)
    lines = [f"{node},{graph.degree(node)},{7 * node % 5}" for node in graph]
    (tmp_path / "signal.csv").write_text("\n".join(["node,a,b", *lines]))
    counts = counted_decompositions(monkeypatch)
    found = run("profile", "graph.txt", "signal.csv", "--hops", 3, "--report", *more)
    assert found.exit_code == 0, found.output
    assert {hop for hop, _ in counts} == {1, 2, 3}
    assert set(counts.values()) == {1}


def test_what_is_made_at_some_hops_counts_in_the_budget_of_all():
    strat = st.Stratification(nx.path_graph(9), hops=2)
    some = strat.only(1)
    some.basis(1)
    assert strat.memory is some.memory
    assert strat.memory.nbytes == strat.basis(1).nbytes > 0
