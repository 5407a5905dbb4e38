"""The released program's outputs and the oracle's cases, reproduced by one call."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracle
import oracle_cases
from having import shared
from strategies import Case, merged, run, sorted_edges

ALL = ("gft", "apprx_ls", "in_agg", "adj_diff", "ln_vx")


def given_in(file):
    """The graph, the signal and the metric of a case."""
    case = Case(sorted_edges(file["edges"]), int(file["n_nodes"]))
    metric = str(file["metric"]) if "metric" in file else "euclidean" if file["signal"].ndim == 1 else "angular"
    return case, file["signal"], metric


# --- the released program -----------------------------------------------------------------------------------


SETTINGS = {"options": {"orientation": "index"}, "the preset": {"preset": "paper"}}


@pytest.fixture(scope="module", params=itertools.product(("caveman", "er50_real", "er50_vector"), SETTINGS))
def reference(request):
    """A file of the released program, and the same by options, or by the public preset."""
    name, settings = request.param
    with np.load(shared(f"reference/{name}.npz"), allow_pickle=False) as file:
        theirs = dict(file)
    case, signal, metric = given_in(theirs)
    algorithms = ("apprx_ls", "in_agg", "adj_diff")
    ours = run(case, signal, algorithms, metric=metric, **SETTINGS[settings])
    if settings == "the preset":  # the files hold adj_diff times sqrt(n), which the program divides by
        ours["magnitude"].loc["adj_diff"] *= np.sqrt(case.n)
    return theirs, ours


def test_strata_of_the_released_program(reference):
    theirs, ours = reference
    assert_allclose(ours["eigenvalue"], theirs["eigenvalues"], rtol=0, atol=1e-10)
    assert_array_equal(ours["n_parts"], theirs["n_components"])
    assert ours.sizes["hop"] == len(theirs["eigenvalues"])


@pytest.mark.parametrize(("algorithm", "order"), [("apprx_ls", 2), ("in_agg", 2), ("adj_diff", None)])
def test_magnitudes_of_the_released_program(reference, algorithm, order):
    """Simple components one by one, repeated ones merged: within 1e-8 of the hop's largest magnitude."""
    theirs, ours = reference
    compared = 0
    for k, values in enumerate(theirs["eigenvalues"]):
        expected, found = theirs[algorithm][k], ours["magnitude"].loc[algorithm].values[k]
        atol = 1e-8 * np.abs(expected).max() + 1e-12
        where = oracle.simple_components(values)
        if algorithm == "adj_diff":  # at zero eigenvalues it does not depend on the basis
            where |= oracle.is_zero(values)
        assert_allclose(found[where], expected[where], rtol=0, atol=atol)
        if order:
            spaces = oracle.eigenspaces(values)
            assert_allclose(merged(found, spaces, order), merged(expected, spaces, order), rtol=0, atol=atol)
        compared += np.count_nonzero(where)
    assert compared > len(theirs["eigenvalues"])


def test_auto_is_the_metric_of_the_released_program(reference):
    theirs, ours = reference
    assert ours.attrs["metric"] == ("euclidean" if theirs["signal"].ndim == 1 else "angular")


# --- the oracle ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=sorted(oracle_cases.cases()))
def solved(request):
    theirs = oracle_cases.solved(request.param)
    case, signal, metric = given_in(theirs)
    options = {"metric": metric, "transform": "incidence"}
    ours = {
        "default": run(case, signal, ALL, **options),
        "paper": run(case, signal, ALL, orientation="index", scaling="eigenvalue", **options),
    }
    return theirs, ours


def test_sizes_and_spectra_of_the_oracle(solved):
    theirs, ours = solved
    ds = ours["default"]
    assert_allclose(ds["eigenvalue"], theirs["eigenvalues"], rtol=0, atol=1e-12)
    assert_array_equal(ds["eigenspace"], theirs["eigenspace"])
    assert_array_equal(ds["n_edges"], theirs["n_edges"])
    assert_array_equal(ds["n_parts"], theirs["n_parts"])
    assert_allclose(ds["gradient_norm"], theirs["gradient_norm"], rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize(
    ("name", "run_name", "algorithm", "order"),
    [
        ("gft", "default", "gft", 2),
        ("apprx_ls_rms", "default", "apprx_ls", 2),
        ("apprx_ls_index", "paper", "apprx_ls", 2),
        ("in_agg", "default", "in_agg", 2),
        ("adj_diff_unit", "default", "adj_diff", None),
        ("adj_diff_eigenvalue", "paper", "adj_diff", None),
        ("ln_vx_incidence", "default", "ln_vx", 1),
    ],
)
def test_magnitudes_of_the_oracle(solved, name, run_name, algorithm, order):
    theirs, ours = solved
    magnitude = ours[run_name]["magnitude"].loc[algorithm].values
    assert magnitude.shape == theirs[name].shape
    for k, found in enumerate(magnitude):
        expected, simple, spaces = theirs[name][k], theirs["simple"][k], theirs["eigenspace"][k]
        zero = oracle.is_zero(theirs["eigenvalues"][k])
        if name == "adj_diff_eigenvalue":
            assert_array_equal(np.isnan(found), zero)
        atol = 1e-9 * np.nanmax(expected) + 1e-12
        where = simple | zero if algorithm in ("adj_diff", "ln_vx") else simple
        assert_allclose(found[where], expected[where], rtol=0, atol=atol)
        if order:
            assert_allclose(merged(found, spaces, order), merged(expected, spaces, order), rtol=0, atol=atol)
