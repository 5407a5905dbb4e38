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


@pytest.mark.parametrize("other", ["nowhere.nc", "degree.npy", "a/likeness.png"])
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


def test_a_sentence_then_a_row_for_each_hop_with_the_clearest_shift(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results_with_snapshots(tmp_path)
    found = run("compare", "a.nc", "b.nc", "--bands", "8", "--draws", "99", "--top", "99")
    assert found.exit_code == 0, found.output
    assert found.stdout.startswith(("No shift of energy", "B has "))
    assert max(map(len, found.stdout.splitlines())) <= 80
    direct = st.compare(*(st.open(f"{name}.nc") for name in "ab"), bands=8, draws=99)
    values = direct["correlation"].values.ravel()
    assert all(f"{value:.3f}" in found.stdout for value in values[~np.isnan(values)])
    gft, lines = direct.sel(algorithm="gft"), found.stdout.splitlines()
    for snapshot, hop in ((snapshot, hop) for snapshot in gft["snapshot"].values for hop in (1, 2)):
        one = gft.sel(snapshot=snapshot, hop=hop)
        p, shift = one["shift_p"].values, one["energy_shift"].values
        band = min(range(8), key=lambda at: (p[at], -abs(shift[at])))
        assert [f"{band + 1}/8", f"{shift[band]:.3f}", f"{p[band]:.3f}"] in [line.split()[-3:] for line in lines]


def test_json_has_the_test_of_the_shifts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results_with_snapshots(tmp_path)
    document = json.loads(run("compare", "a.nc", "b.nc", "--draws", "99", "--json").stdout)
    direct = st.compare(*(st.open(f"{name}.nc") for name in "ab"), draws=99)
    for row in document["bands"]:
        place = {name: row[name] for name in ("algorithm", "snapshot", "hop", "band")}
        for name in ("energy_shift", "shift_low", "shift_p"):
            expected = float(direct[name].sel(place))
            assert row[name] is None if np.isnan(expected) else row[name] == pytest.approx(expected)
