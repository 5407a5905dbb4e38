"""The laws on every road to a result: numpy, compiled, reference, tensors, batches, partial spectra."""

import hypothesis.strategies as hs
import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from roads import INCIDENCE, ROADS, WEIGHTS
from strategies import (
    INVARIANT,
    Case,
    assert_near,
    assert_same_spectra,
    cases_times,
    cases_with_signals,
    merged,
    run,
    scale_of,
    sorted_edges,
)

seeds = hs.integers(0, 2**32 - 1)
metrics = hs.sampled_from(["auto", "euclidean"])
every_road = pytest.mark.parametrize("road", ROADS, ids=[road.name for road in ROADS])
OPTIONS = {"ens_weights": WEIGHTS}


def options_of(road):
    return OPTIONS | (INCIDENCE if "ln_vx" in road.algorithms else {})


def size(signal, metric):
    return scale_of(signal) if metric == "auto" else float(np.abs(signal).max())


@every_road
@cases_times(0.16)
@given(drawn=cases_with_signals(), metric=metrics, scaling=hs.sampled_from(["unit", "eigenvalue", "program"]))
def test_every_road_leads_to_the_same_numbers(road, drawn, metric, scaling):
    case, signal = drawn
    options = options_of(road) | {"metric": metric, "scaling": scaling}
    one = run(case, signal, road.algorithms, **options)
    other = road.spectra(case, signal, road.algorithms, **options)
    assert_same_spectra(one, other, size(signal, metric))
    assert_array_equal(one["status"], other["status"])
    assert_array_equal(one["magnitude"].isnull(), other["magnitude"].isnull())


@every_road
@cases_times(0.16)
@given(drawn=cases_with_signals(), data=hs.data())
def test_every_orientation_on_every_road(road, drawn, data):
    case, signal = drawn
    options = {"orientation": data.draw(hs.sampled_from(road.orientations)), "seed": data.draw(seeds)}
    one = run(case, signal, "apprx_ls", **options)
    assert_same_spectra(one, road.spectra(case, signal, "apprx_ls", **options), scale_of(signal))


@every_road
@cases_times(0.16)
@given(drawn=cases_with_signals(), seed=seeds, metric=metrics)
def test_relabelling_and_rotating_change_nothing(road, drawn, seed, metric):
    case, signal = drawn
    rng = np.random.default_rng(seed)
    new, turn = rng.permutation(case.n), np.linalg.qr(rng.standard_normal((signal.shape[1],) * 2))[0]
    moved = Case(sorted_edges(new[case.edges]), case.n)
    moved_signal = np.empty_like(signal)
    moved_signal[new] = signal @ turn
    options = options_of(road) | {"metric": metric}
    one = road.spectra(case, signal, road.algorithms, **options)
    other = road.spectra(moved, moved_signal, road.algorithms, **options)
    assert_same_spectra(one, other, size(signal, metric))


@every_road
@cases_times(0.16)
@given(drawn=cases_with_signals(dims=(2, 5)), seed=seeds)
def test_lengths_of_vectors_do_not_matter_under_the_angular_metric(road, drawn, seed):
    case, signal = drawn
    powers = 2.0 ** np.random.default_rng(seed).integers(-900, 900, (case.n, 1))
    one, other = (road.spectra(case, s, road.algorithms, **options_of(road)) for s in (signal, signal * powers))
    assert_array_equal(one["magnitude"], other["magnitude"])


@every_road
@cases_times(0.16)
@given(drawn=cases_with_signals(), metric=metrics)
def test_energy_is_kept(road, drawn, metric):
    """Parseval: sum gft^2 = norm(t)^2, and sum lam gft^2 = sum g^2."""
    case, signal = drawn
    ds = road.spectra(case, signal, "gft", metric=metric)
    squares = ds["magnitude"].values[0] ** 2
    total = case.n / 4 if ds.attrs["metric"] == "angular" else np.sum(signal**2)
    assert_allclose(squares.sum(axis=1), total, rtol=1e-12)
    slack = 1e-13 * size(signal, metric) * case.n * np.sqrt(ds["eigenvalue"].max().item())
    energy = np.sqrt(np.sum(ds["eigenvalue"].values * squares, axis=1))
    assert_allclose(energy, ds["gradient_norm"], rtol=1e-10, atol=slack)


@every_road
@cases_times(0.16)
@given(drawn=cases_with_signals(), power=hs.integers(-1000, 990))
def test_magnitudes_grow_with_a_euclidean_signal(road, drawn, power):
    """By a power of two to the last bit, from 1e-301 to 1e298; the normalised ensemble stays."""
    case, signal = drawn
    signal = np.where(np.abs(signal) < 1e-2, 0.25, signal)  # subnormal numbers have fewer bits
    options = options_of(road) | {"metric": "euclidean"}
    one = road.spectra(case, signal, road.algorithms, **options)
    other = road.spectra(case, np.ldexp(signal, power), road.algorithms, **options)
    tiny = np.finfo(float).tiny
    for algorithm in road.algorithms:
        grown = one["magnitude"].loc[algorithm].values
        grown = grown if algorithm == "ens" else np.ldexp(grown, power)
        assert_allclose(other["magnitude"].loc[algorithm].values, grown, rtol=1e-15, atol=2 * tiny)
    assert_allclose(other["gradient_norm"], np.ldexp(one["gradient_norm"], power), rtol=1e-15, atol=2 * tiny)


@pytest.mark.parametrize("road", [r for r in ROADS if r.snapshots], ids=lambda road: road.name)
@cases_times(0.16)
@given(drawn=cases_with_signals(), count=hs.sampled_from([2, 3, 7, 8, 9]), metric=metrics, seed=seeds, data=hs.data())
def test_snapshots_are_single_calls(road, drawn, count, metric, seed, data):
    case, signal = drawn
    noise = np.random.default_rng(seed).uniform(0.1, 1.0, (count, *signal.shape))
    many = signal + noise * np.arange(count)[:, None, None]
    options = options_of(road) | {"metric": metric, "orientation": data.draw(hs.sampled_from(road.orientations))}
    together = road.spectra(case, many, road.algorithms, **options)
    assert together.sizes["snapshot"] == count
    for t in range(count):
        alone = road.spectra(case, many[t], road.algorithms, **options)
        here = together.isel(snapshot=t)
        assert_array_equal(here["status"], alone["status"])
        assert_near(here["gradient_norm"], alone["gradient_norm"], 1e-12)
        for algorithm in road.algorithms:
            ours, theirs = (ds["magnitude"].loc[algorithm].values for ds in (here, alone))
            assert_near(ours, theirs, 1e-12, size(many[t], metric))


@every_road
@cases_times(0.16)
@given(drawn=cases_with_signals(), data=hs.data())
def test_some_algorithms_are_those_of_all(road, drawn, data):
    case, signal = drawn
    some = data.draw(hs.lists(hs.sampled_from(road.algorithms), min_size=1, unique=True))
    options = options_of(road)
    whole = road.spectra(case, signal, road.algorithms, **options)
    part = road.spectra(case, signal, some, **options)
    assert part["algorithm"].values.tolist() == some
    assert_array_equal(part["magnitude"], whole["magnitude"].sel({"algorithm": some}))
    assert_array_equal(part["status"], whole["status"].sel({"algorithm": some}))


@every_road
@cases_times(0.16)
@given(drawn=cases_with_signals(), data=hs.data())
def test_some_hops_are_those_of_all(road, drawn, data):
    """To the last bit."""
    case, signal = drawn
    options = options_of(road)
    whole = road.spectra(case, signal, road.algorithms, **options)
    hops = data.draw(hs.lists(hs.sampled_from(whole["hop"].values.tolist()), min_size=1))
    part = road.spectra(case, signal, road.algorithms, hops=hops, **options)
    assert part["hop"].values.tolist() == sorted(set(hops))
    same = whole.sel(hop=part["hop"].values)
    assert_array_equal(part["magnitude"], same["magnitude"])
    assert_array_equal(part["eigenvalue"], same["eigenvalue"])


# --- isolated nodes -----------------------------------------------------------------------------------------


def with_isolated(case, signal, count, seed):
    """The case with isolated nodes among its rows, its signal with theirs, and which rows are new."""
    places = np.sort(np.random.default_rng(seed).permutation(case.n + count)[: case.n])
    more = np.resize(signal[::-1], (case.n + count, signal.shape[1])).copy()
    more[places] = signal
    new = np.setdiff1d(np.arange(case.n + count), places)
    return Case(sorted_edges(places[case.edges]), case.n + count), more, new


@every_road
@cases_times(0.16)
@given(
    drawn=cases_with_signals(),
    count=hs.integers(1, 4),
    seed=seeds,
    metric=metrics,
    orientation=hs.sampled_from(["rms", "index"]),
    scaling=hs.sampled_from(["unit", "eigenvalue"]),
)
def test_isolated_nodes_change_nothing_else(road, drawn, count, seed, metric, orientation, scaling):
    case, signal = drawn
    options = options_of(road) | {"metric": metric, "orientation": orientation, "scaling": scaling}
    bigger, more, new = with_isolated(case, signal, count, seed)
    one = road.spectra(case, signal, road.algorithms, **options)
    other = road.spectra(bigger, more, road.algorithms, **options)
    assert_array_equal(other["n_edges"], one["n_edges"])
    assert_array_equal(other["n_parts"], one["n_parts"] + count)
    assert_array_equal(other["n_singletons"], one["n_singletons"] + count)
    assert_allclose(other["gradient_norm"], one["gradient_norm"], rtol=1e-13)
    length = 0.5 * np.sqrt(count) if one.attrs["metric"] == "angular" else np.linalg.norm(more[new])
    for k, parts in enumerate(one["n_parts"].values):
        for algorithm in road.algorithms:
            ours, theirs = (ds["magnitude"].loc[algorithm].values[k] for ds in (other, one))
            off_zero_is_the_same(algorithm, ours[parts + count :], theirs[parts:], one.isel(hop=k), parts, signal)
            zero, were = ours[: parts + count], theirs[:parts]
            if algorithm in INVARIANT:  # gft gains the nodes' own lengths, the others nothing
                gained = np.sum(zero**2) - np.sum(were**2)
                assert_near(gained, length**2 if algorithm == "gft" else 0.0, 1e-9, np.sum(were**2) + 1e-9)
            elif algorithm == "adj_diff" and scaling == "unit":
                assert_near(zero, np.resize(were, len(zero)), 1e-9, scale_of(signal))


def off_zero_is_the_same(algorithm, ours, theirs, hop, parts, signal):
    spaces, simple = hop["eigenspace"].values[parts:], hop["multiplicity"].values[parts:] == 1
    if algorithm in (*INVARIANT, "ln_vx"):
        order = 1 if algorithm == "ln_vx" else 2
        ours, theirs = merged(ours, spaces, order), merged(theirs, spaces, order)
    elif algorithm == "ens":  # its normalisation counts ADJ-DIFF's zero components
        return
    else:
        ours, theirs = ours[simple], theirs[simple]
    assert_near(ours, theirs, 1e-9, scale_of(signal))


# --- hops ---------------------------------------------------------------------------------------------------


@cases_times(0.3)
@given(cases_with_signals(max_nodes=8), hs.data())
def test_learning_at_some_hops_is_that_of_all(drawn, data):
    """Random starts depend on the seed and the hop alone."""
    case, signal = drawn
    options = {"algorithms": "ln_vx", "trials": 2, "max_epochs": 4, "seed": data.draw(hs.integers(0, 2**63 - 1))}
    whole = run(case, signal, **options)
    hop = data.draw(hs.sampled_from(whole["hop"].values.tolist()))
    part = run(case, signal, hops=[hop], **options)
    assert_array_equal(part["magnitude"], whole["magnitude"].sel(hop=[hop]))
    assert_array_equal(part["ln_vx_mse"], whole["ln_vx_mse"].sel(hop=[hop]))
