"""``spectrata compare``: results and folders, and bad input with code 2."""

import json

import pytest

from commanding import run


@pytest.fixture
def two_results(karate):
    for name, signal in (("a", "degree.npy"), ("b", "degree.npy")):
        assert run("profile", "karate.txt", signal, "--hops", "1", "-o", name).exit_code == 0
    return karate


def test_compare_takes_the_folders_that_profile_wrote(two_results):
    found = run("compare", "a", "b/spectra.nc", "--json")
    assert found.exit_code == 0, found.output
    rows = json.loads(found.stdout)["rows"]
    assert all(abs(row["cosine"] - 1) < 1e-12 for row in rows if row["cosine"] is not None)


@pytest.mark.parametrize("other", ["nowhere.nc", "degree.npy", "a/spectra.csv"])
def test_what_is_no_result_is_bad_input(two_results, other):
    found = run("compare", "a", other)
    assert found.exit_code == 2
    assert found.stderr.startswith("error: ")
    assert len(found.stderr.strip().splitlines()) == 1
