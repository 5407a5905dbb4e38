"""``spectrata compare``: results and folders, and bad input with code 2."""

import json

import networkx as nx
import numpy as np
import pytest
import xarray as xr

import spectrata as st
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


def results_with_snapshots(folder):
    strat = st.Stratification(nx.karate_club_graph(), hops=2, weights=False)
    labels = ["before training", "after training"]
    for seed, name in enumerate("ab"):
        values = np.random.default_rng(seed).normal(size=(2, 34, 3))
        given = xr.DataArray(values, {"snapshot": labels}, ["snapshot", "node", "column"])
        st.save(strat.spectra(given), folder / f"{name}.nc")


@pytest.mark.parametrize("bands", [4, 16])
def test_the_tables_fit_80_columns_with_whole_numbers(tmp_path, monkeypatch, bands):
    monkeypatch.chdir(tmp_path)
    results_with_snapshots(tmp_path)
    found = run("compare", "a.nc", "b.nc", "--bands", str(bands), "--draws", "99")
    assert found.exit_code == 0, found.output
    assert max(map(len, found.stdout.splitlines())) <= 80
    direct = st.compare(*(st.open(f"{name}.nc") for name in "ab"), bands=bands, draws=99)
    text = found.stdout
    for name in ("correlation", "cosine", "cosine_flat_a", "wasserstein", "largest_difference", "energy_shift"):
        values = direct[name].values.ravel()
        assert all(f"{value:.3f}" in text for value in values[~np.isnan(values)]), name
    for value in direct["shift_high"].loc["gft"].values.ravel():
        assert f"to {value:.3f}" in text


def test_json_has_the_test_of_the_shifts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results_with_snapshots(tmp_path)
    document = json.loads(run("compare", "a.nc", "b.nc", "--draws", "99", "--json").stdout)
    direct = st.compare(*(st.open(f"{name}.nc") for name in "ab"), draws=99)
    for row in document["rows"]:
        place = {"algorithm": row["algorithm"], "snapshot": row["snapshot"], "hop": row["hop"]}
        for name, short in (("energy_shift", "shift"), ("shift_low", "shift_low"), ("shift_p", "shift_p")):
            values = [np.nan if row[f"{short}_{k}"] is None else row[f"{short}_{k}"] for k in range(1, 5)]
            np.testing.assert_allclose(values, direct[name].sel(place))
