"""Findings: right on what was planted, silent on what was shuffled, never without numbers."""

import os
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import xarray as xr
from scipy.sparse import coo_array, csr_array, diags_array, eye_array
from scipy.sparse.csgraph import connected_components

import spectrata as st
from spectrata.analysis.reading import read
from spectrata.errors import OptionError
from spectrata.experiments.studies import discrimination

BLOCKS = nx.planted_partition_graph(2, 30, 0.4, 0.02, seed=1)
CORA = Path(__file__).parents[2] / "shared" / "data" / "cora.npz"
TIMES = (0, 2, 8, 32, 128)


def noise(seed=0, *shape):
    return np.random.default_rng(seed).normal(size=(*shape, 60, 4))


def planted(seed=0):
    return noise(seed) + 3 * (np.arange(60) < 30)[:, None]


def smoothed(graph, values, times=TIMES):
    adjacency = nx.to_numpy_array(graph, nodelist=range(len(graph))) + np.eye(len(graph))
    step = adjacency / np.sqrt(np.outer(adjacency.sum(0), adjacency.sum(0)))
    return np.stack([np.linalg.matrix_power(step, k) @ values for k in times])


def test_planted_blocks_and_noise():
    strat = st.Stratification(BLOCKS, hops=1)
    assert st.diagnose(strat, planted()).kinds == {"homophily", "community"}
    assert st.diagnose(strat, noise()).kinds == {"chance"}


def test_smoothing_is_seen_where_it_happens():
    strat = st.Stratification(BLOCKS, hops=2)
    values = xr.DataArray(
        smoothed(BLOCKS, 1 + noise()), dims=("snapshot", "node", "dimension"), coords={"snapshot": list(TIMES)}
    )
    found = st.diagnose(strat, values)
    when = [finding.snapshot for finding in found.of("over_smoothing")]
    assert when
    assert 0 not in when
    assert when[-1] == 128
    assert found.of("low_pass")
    assert not found.kinds & {"high_pass", "collapse"}
    first = found.of("over_smoothing")[0]
    assert first.evidence["off_zero"] <= 0.25 * first.evidence["control"]
    assert first.evidence["rate"] < 0


def test_a_control_decides():
    strat = st.Stratification(BLOCKS, hops=1)
    values = smoothed(BLOCKS, 1 + noise())
    assert "over_smoothing" in st.diagnose(strat, values[-1], control=values[0]).kinds
    assert "over_smoothing" not in st.diagnose(strat, values[-1], control=values[-1]).kinds
    # One nearly constant signal without a control: the number is said, over-smoothing is not.
    alone = st.diagnose(strat, values[-1]).kinds
    assert "over_smoothing" not in alone


def test_collapse_without_smoothing_has_another_name():
    strat = st.Stratification(BLOCKS, hops=1)
    values = np.stack([1 + w * noise() for w in (1.0, 0.1, 0.01)])
    kinds = st.diagnose(strat, values).kinds
    assert "collapse" in kinds
    assert "over_smoothing" not in kinds


def test_two_signals_that_differ():
    strat = st.Stratification(BLOCKS, hops=2)
    found = st.diagnose(strat, planted(), other=noise(3))
    assert 1 in {finding.hop for finding in found.of("differ")}
    assert not st.diagnose(strat, noise(1), other=noise(2)).of("differ")


def test_a_result_says_the_same_as_its_signal():
    strat = st.Stratification(BLOCKS, hops=2)
    values = smoothed(BLOCKS, 1 + noise())
    assert str(st.diagnose(strat, values)) == str(st.diagnose(strat.spectra(values)))


def test_a_result_without_its_signal_says_that_chance_was_not_judged():
    strat = st.Stratification(BLOCKS, hops=1)
    found = st.diagnose(strat.spectra(planted(), keep=()))
    assert found.kinds == {"unjudged"}
    # Over-smoothing rests on off_zero and can be said.
    steps = strat.spectra(smoothed(BLOCKS, 1 + noise()), "gft", keep=())
    assert "over_smoothing" in st.diagnose(steps).kinds
    # And with the signal given after all, everything can.
    assert "unjudged" not in st.diagnose(steps, signal=smoothed(BLOCKS, 1 + noise())).kinds


def test_zero_vectors_are_named_and_left_out():
    strat = st.Stratification(BLOCKS, hops=1)
    values = noise(0, 3)
    values[1, 5] = 0
    found = st.diagnose(strat, values)
    assert found.of("undefined")[0].evidence["snapshots"] == 1


def test_every_finding_has_numbers():
    strat = st.Stratification(BLOCKS, hops=2)
    found = st.diagnose(strat, smoothed(BLOCKS, 1 + planted()))
    assert found
    for finding in found:
        assert finding.evidence
        assert any(character.isdigit() for character in finding.text)
    table = found.table()
    assert len(table) == len(found)


def test_thresholds_are_checked():
    strat = st.Stratification(BLOCKS, hops=1)
    with pytest.raises(OptionError, match="alpha"):
        st.diagnose(strat, noise(), alpha=0)
    with pytest.raises(OptionError, match="signal"):
        st.diagnose(strat)


def test_the_gamma_tails_are_close_to_permutations():
    strat = st.Stratification(BLOCKS, hops=1)
    values = noise(7)
    reading = read(strat, np.stack([np.random.default_rng(s).permutation(values) for s in range(3000)]))
    above = reading.tails()[0][:, 0]
    for level in (0.05, 0.01):
        assert (above <= level).mean(axis=0) == pytest.approx(level, abs=4 * np.sqrt(level / 3000))


def test_discrimination_on_other_graphs():
    # The whole table: python -m spectrata.experiments.studies.discrimination. Here, every third graph, one signal
    # of a kind.
    rows = []
    for index, (_, graph) in enumerate(discrimination.graphs(seed=11).items()):
        if index % 3:
            continue
        strat = st.Stratification(graph, hops=2)
        for name, signal, control, false, right in discrimination.scenarios(graph, np.random.default_rng([11, index])):
            found = st.diagnose(strat, signal, control=control)
            wrong = (found.kinds | {f"{f.kind}@{f.hop}" for f in found}) & false
            rows.append((name, bool(wrong), bool(found.kinds & right)))
    nothing = [wrong for name, wrong, _ in rows if "noise" in name or "shuffled" in name or "healthy" in name]
    assert np.mean(nothing) <= 0.05
    for name in ("smoothed 0, 2, 8, 32, 128 times", "collapsed onto a constant", "planted communities"):
        assert np.mean([hit for scenario, _, hit in rows if scenario == name]) >= 0.8


@pytest.fixture(scope="module")
def cora():
    """The largest component of Cora: stratification at K = 1, features, and features smoothed."""
    if not CORA.exists():
        if os.environ.get("CI"):
            pytest.fail(f"{CORA} is missing")
        pytest.skip("cora.npz is not beside the repository")
    data = np.load(CORA)
    n, edges = int(data["n_nodes"]), data["edges"]
    features = csr_array(
        (data["features_data"], data["features_indices"], data["features_indptr"]), shape=tuple(data["features_shape"])
    )
    matrix = coo_array((np.ones(len(edges)), edges.T), shape=(n, n)).tocsr()
    matrix = ((matrix + matrix.T) > 0).astype(float)
    labels = connected_components(matrix)[1]
    largest = np.flatnonzero(labels == np.bincount(labels).argmax())
    matrix = matrix[largest][:, largest]
    values = features.toarray()[largest].astype(float)
    loops = matrix + eye_array(len(largest))
    roots = diags_array(loops.sum(axis=1) ** -0.5)
    snapshots, current = [values], values
    for power in range(1, 129):
        current = roots @ (loops @ (roots @ current))
        if power in TIMES:
            snapshots.append(current)
    return st.Stratification(matrix, hops=1), values, np.stack(snapshots)


def test_cora_off_zero_and_the_diagnosis(cora):
    strat, values, snapshots = cora
    off = st.off_zero(strat.spectra(snapshots, "gft")).values[:, 0]
    np.testing.assert_allclose(off, [0.94, 0.74, 0.47, 0.17, 0.03], atol=0.005)
    named = xr.DataArray(snapshots, dims=("snapshot", "node", "dimension"), coords={"snapshot": list(TIMES)})
    found = st.diagnose(strat, named)
    assert [f.snapshot for f in found.of("over_smoothing")] == [32, 128]
    homophily = found.of("homophily")[0]
    assert (homophily.hop, homophily.snapshot) == (1, 0)
    assert homophily.evidence["ratio"] == pytest.approx(1.33, abs=0.01)
    assert found.of("low_pass")[0].hop == 1
    shuffled = np.random.default_rng(0).permutation(values)
    assert st.diagnose(strat, shuffled).kinds == {"chance"}
    assert read(strat, shuffled).ratio[0, 0, 0] == pytest.approx(1.0, abs=0.01)
