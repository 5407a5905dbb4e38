"""Sentences and tables on unusual inputs, against what the definitions give: gaps between hops, parts, constants."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import spectrata as st
from spectrata.cli.app import app
from spectrata.cli.columns import show
from spectrata.stats.column_table import column_key, column_sentences, rank_columns

GRID = nx.convert_node_labels_to_integers(nx.grid_2d_graph(6, 6))
CHECK = np.array([(i // 6 + i % 6) % 2 for i in range(36)], dtype=float)  # alike at even hops, unlike at odd ones


def mixed_table() -> pd.DataFrame:
    noise = np.random.default_rng(0).normal(size=36)
    return pd.DataFrame({"check": CHECK, "east": np.arange(36) // 6 + 0.1 * noise, "flat": 1.0, "noise": noise})


@pytest.mark.parametrize("hops", [[1, 3], [2, 4]])
def test_reach_stops_before_a_hop_that_was_not_computed(hops):
    found = rank_columns(GRID, mixed_table(), hops=hops, bands=False)
    check = found.set_index("column").loc["check"]
    assert check["reach"] == hops[0]
    assert check["reach_is_bound"]
    assert not any(" to " in text for text in column_sentences(found))
    assert not any("was not computed" in line for line in column_key(found))  # no hop after the first: no "up to K"


def test_reach_names_its_first_hop():
    wave = np.sin(np.arange(60) * 2 * np.pi / 60)
    found = rank_columns(nx.cycle_graph(60), pd.DataFrame({"wave": wave}), hops=[3, 4, 5, 7], bands=False)
    assert found["reach"].tolist() == [5]
    assert "wave (z = " in column_sentences(found)[0]
    assert "alike from 3 to at least 5 hops)" in column_sentences(found)[0]
    assert any("at every hop from 3 up to K" in line for line in column_key(found))


def test_a_column_that_is_constant_on_parts_has_no_peak():
    """All its energy lies at eigenvalue 0: every quarter holds less than chance."""
    two = nx.disjoint_union(nx.gnp_random_graph(20, 0.3, seed=2), nx.gnp_random_graph(20, 0.3, seed=3))
    noise = np.random.default_rng(0).normal(size=40)
    part = np.repeat([0.0, 1.0], 20)
    table = pd.DataFrame({"part": part, "nearly": part + 0.05 * noise, "noise": noise})
    found = rank_columns(two, table, hops=1).set_index("column")
    eigenvalue, vectors = np.linalg.eigh(nx.laplacian_matrix(two).toarray().astype(float))
    off = np.split(vectors[:, eigenvalue > 1e-9], [9, 18, 28], axis=1)
    for name in table:
        centred = table[name].to_numpy() - table[name].mean()
        over = max(((q.T @ centred) ** 2).mean() for q in off) / (centred @ centred / 39)
        assert pd.isna(found.loc[name, "peak_band"]) == (over < 1)
        assert np.isnan(found.loc[name, "peak_eigenvalue"]) == (over < 1)
        assert np.isnan(found.loc[name, "peak_q"]) == (over < 1)
    assert found["peak_band"].isna().to_dict() == {"part": True, "nearly": True, "noise": False}


def test_a_constant_column_prints_a_row_of_dashes(capsys):
    show(rank_columns(GRID, mixed_table(), hops=2))
    (row,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("flat")]
    assert set(row.split()[1:]) == {"-"}


@pytest.mark.parametrize(("dtype", "size"), [("float32", 1e-30), ("float32", 1e30), ("float64", 1e-250)])
def test_weights_that_a_precision_cannot_square_are_refused(dtype, size):
    """Their squares are 0 or infinite, and LAPACK does not converge on some: apprx_ls was 0 with the status ok."""
    ring = nx.cycle_graph(8)
    nx.set_edge_attributes(ring, size, "weight")
    with pytest.raises(st.errors.OptionError, match=r"largest edge weight at hop 1 .* divide the weights"):
        st.spectra(st.Stratification(ring, hops=1, weights="weight", dtype=dtype), range(8))


@pytest.mark.parametrize(("dtype", "size"), [("float32", 1e-12), ("float64", 1e-140), ("float64", 1e140)])
def test_weights_that_a_precision_can_square_scale_out(dtype, size):
    """A common factor of the weights changes neither gft nor apprx_ls of the combinatorial Laplacian."""
    ring = nx.cycle_graph(8)
    nx.set_edge_attributes(ring, size, "weight")
    algorithms = ["gft", "apprx_ls"]
    found, plain = (
        st.spectra(st.Stratification(ring, hops=1, weights=weights, dtype=dtype), range(8), algorithms)
        for weights in ("weight", False)
    )
    wanted, got = (st.merge_eigenspaces(one)["magnitude"].values for one in (plain, found))
    np.testing.assert_allclose(got, wanted, rtol=1e-3 if dtype == "float32" else 1e-9, atol=1e-5)
    assert set(found["status"].values.ravel().tolist()) == {"ok"}


def grid_energy(signal):
    """Eigenvalues of the grid, and the energy of a signal at each, by numpy."""
    eigenvalue, vectors = np.linalg.eigh(nx.laplacian_matrix(GRID).toarray().astype(float))
    return eigenvalue, (vectors.T @ signal) ** 2


def within(eigenvalue, low, high):
    return (eigenvalue > low + 1e-9) & (eigenvalue <= high + 1e-9)


def test_shares_of_given_bands_count_the_energy_outside_them(tmp_path):
    """With the edges 0, 1 and 3 the table said that these two bands hold all the energy off zero."""
    noise = np.random.default_rng(0).normal(size=36)
    nx.write_edgelist(GRID, tmp_path / "g.txt", data=False)
    pd.DataFrame({"noise": noise, "flat": 1.0}).rename_axis("node").to_csv(tmp_path / "s.csv")
    given = ["--bands", "0,1,3", "--columns", "separate", "--algorithms", "gft", "-o", str(tmp_path / "out")]
    found = CliRunner().invoke(app, ["profile", str(tmp_path / "g.txt"), str(tmp_path / "s.csv"), *given])
    assert found.exit_code == 0, found.output
    eigenvalue, energy = grid_energy(noise)
    off = energy[1:].sum()
    shares = [energy[within(eigenvalue, *edges)].sum() / off for edges in ((0, 1), (1, 3))]
    rows = [line.split() for line in found.output.splitlines() if line.startswith("1  gft")]
    numbers = {row[2]: [row[3], *row[-2:]] for row in rows}
    assert numbers["noise"] == [f"{value:.3f}" for value in (off / energy.sum(), *shares)]
    assert numbers["flat"] == ["0.000", "-", "-"]
    assert "Shares do not add up to 1" in found.output


def test_a_picture_of_columns_counts_the_energy_outside_given_bands():
    noise = np.random.default_rng(0).normal(size=(36, 2))
    ds = st.band_spectra(GRID, noise, bands=[0, 1, 3], columns="separate", algorithms="gft")
    (ax,) = st.plot.columns(ds)
    wanted = {}
    for column, values in enumerate(noise.T):
        eigenvalue, energy = grid_energy(values)
        inside = [within(eigenvalue, *edges) for edges in ((0, 1), (1, 3))]
        wanted[str(column)] = [energy[one].sum() / energy[1:].sum() / (one.sum() / 35) for one in inside]
    names = [one.get_text() for one in ax.get_yticklabels()]
    shown = [one.get_text() for one in ax.texts]
    assert shown == [f"{value:.1f}" for name in names for value in wanted[name]]


def test_titles_of_node_energies_count_the_energy_below_the_first_band():
    noise = np.random.default_rng(0).normal(size=36)
    eigenvalue, energy = grid_energy(noise)
    ds = st.node_energy(GRID, noise, bands=[1, 3, 9], hops=1)
    assert ds["total_energy"].item() == pytest.approx(energy.sum())
    for one in (ds, ds.isel(band=[1])):
        for ax, low, high in zip(st.plot.nodes(one), one["band_lower"][0], one["band_upper"][0], strict=True):
            share = energy[within(eigenvalue, float(low), float(high))].sum() / energy.sum()
            assert f"{share:.0%} of the energy" in ax.get_title()
