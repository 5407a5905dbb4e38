"""The released program's outputs, reproduced by one call."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from having import shared
from strategies import Case, merged, run, sorted_edges


def given_in(file):
    """The graph, the signal and the metric of a case."""
    case = Case(sorted_edges(file["edges"]), int(file["n_nodes"]))
    metric = str(file["metric"]) if "metric" in file else "euclidean" if file["signal"].ndim == 1 else "angular"
    return case, file["signal"], metric


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
