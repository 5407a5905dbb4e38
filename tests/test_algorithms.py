"""The algorithms one by one: degenerate inputs, options, and where each is undefined (numbers: test_operators)."""

import json

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

import calls
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError
from strategies import DEFAULT, case_of, cases, cases_with_signals, run

PATH = case_of(nx.path_graph(3))


# --- degenerate inputs --------------------------------------------------------------------------------------


@given(cases_with_signals(kinds=("random disconnected", "one edge", "many parts", "path")))
def test_in_agg_is_zero_on_singletons(drawn):
    case, signal = drawn
    strat = Stratification(case.graph)
    ds = strat.using(keep=()).spectra(signal, "in_agg")
    for k, stratum in enumerate(strat.strata):
        columns = stratum.parts[np.flatnonzero(stratum.degrees == 0)]  # the k-th zero component: the k-th part
        assert_array_equal(ds["magnitude"].values[0, k, columns], 0)


@given(cases())
def test_constant_signals_give_zeros_except_gft(case):
    for signal in (np.full(case.n, -3.7), np.tile([0.1, -2.0, 1 / 3], (case.n, 1))):
        for scaling in ("unit", "eigenvalue"):
            algorithms = (*DEFAULT, "ln_vx", "ens", "ens_raw")
            options = {"transform": "incidence", "scaling": scaling, "ens_weights": "even"}
            ds = run(case, signal, algorithms, **options)
            for algorithm in algorithms[1:]:
                found = ds["magnitude"].loc[algorithm].values
                assert_array_equal(found[~np.isnan(found)], 0, err_msg=algorithm)
            assert_array_equal(ds["gradient_norm"], 0)
            assert_array_equal(ds["ls_residual"], 0)
        length = 3.7 if signal.ndim == 1 else 0.5
        parts = Stratification(case.graph).strata
        for k, stratum in enumerate(parts):
            expected = np.zeros(case.n)
            expected[: stratum.n_parts] = length * np.sqrt(np.bincount(stratum.parts))
            assert_allclose(ds["magnitude"].loc["gft"].values[k], expected, rtol=0, atol=1e-12 * length * case.n)


# --- options ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"orientation": "lower"}, "orientation='lower' is not one of 'rms', 'random', 'index'"),
        ({"scaling": "lam"}, "scaling='lam'"),
        ({"transform": "linear"}, "transform='linear'"),
        ({"activation": "tanh"}, "activation='tanh'"),
        ({"average": "mean"}, "average='mean'"),
        ({"trials": 0}, "trials=0"),
        ({"trials": 2.5}, "trials=2.5"),
        ({"trials": "20"}, "trials='20'"),
        ({"max_epochs": -1}, "max_epochs=-1"),
        ({"max_line_nodes": 0}, "max_line_nodes=0"),
        ({"tolerance": 0}, "tolerance=0"),
        ({"tolerance": np.nan}, "tolerance=nan"),
        ({"tolerance": "small"}, "tolerance='small'"),
        ({"learning_rate": -0.1}, "learning_rate=-0.1"),
        ({"learning_rate": np.inf}, "learning_rate=inf"),
        ({"literal": 1}, "literal=1"),
        ({"by_part": "yes"}, "by_part='yes'"),
        ({"skip_large": None}, "skip_large=None"),
        ({"orientaton": "rms"}, "an option of apprx_ls; write apprx_ls={'orientation': ...}"),
        ({"apprx_ls": {"orientaton": "rms"}}, "did you mean 'orientation'?"),
        ({"ln_vx": 3}, "ln_vx=3 is not a mapping"),
        ({"hop": 3}, "did you mean 'hops'?"),
        ({"colour": "red"}, "no argument 'colour'"),
        ({"algorithms": "fourier"}, "no algorithm 'fourier'"),
        ({"algorithms": ["gft", None]}, "no algorithm None"),
        ({"algorithms": []}, "algorithms is empty"),
        ({"preset": "text"}, "preset='text'"),
        ({"metric": "cosine"}, "metric='cosine'"),
        ({"metric": "angular"}, "metric='angular' needs vectors"),
        ({"zero_vectors": "skip"}, "zero_vectors='skip'"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": 1.0}, "seed=1.0"),
        ({"seed": None}, "seed=None"),
        ({"keep": ["everything"]}, "keep names 'everything'"),
        ({"keep": "gradients"}, "keep names 'gradients'"),
    ],
)
def test_options_that_are_refused(arguments, words):
    with pytest.raises(OptionError) as caught:
        calls.spectra(nx.path_graph(3), [0.0, 1.0, 3.0], **arguments)
    assert words in str(caught.value)
    assert str(caught.value).count("\n") == 0


@pytest.mark.parametrize(
    "arguments",
    [
        {"algorithms": 5},
        {"algorithms": [["gft"]]},
        {"keep": 5},
        {"orientation": np.array(["rms", "index"])},
        {"tolerance": np.complex128(1e-6)},
        {"tolerance": 1j},
    ],
)
def test_options_of_odd_types_are_refused_too(arguments):
    """One sentence of ours, never a traceback from inside Python or numpy."""
    with pytest.raises(OptionError):
        calls.spectra(nx.path_graph(3), [0.0, 1.0, 3.0], **arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"tolerance": np.float32(1e-4)},
        {"learning_rate": np.float64(0.02)},
        {"trials": np.int64(3), "max_epochs": np.uint8(5)},
        {"literal": np.True_, "skip_large": np.False_},
        {"seed": np.int64(7)},
    ],
)
def test_numpy_scalars_are_options_too(arguments):
    ds = run(PATH, [0.0, 1.0, 3.0], "ln_vx", **({"trials": 2, "max_epochs": 3} | arguments))
    stored = json.loads(ds.attrs["options"]) | {"seed": ds.attrs["seed"]}
    for name, value in arguments.items():
        assert stored[name] == pytest.approx(value)


def test_names_of_algorithms_are_forgiving():
    ds = run(PATH, [0.0, 1.0, 3.0], ["ADJ-DIFF", "adj_diff", "GFT"])
    assert ds["algorithm"].values.tolist() == ["adj_diff", "gft"]
