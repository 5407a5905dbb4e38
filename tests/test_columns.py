"""``columns="separate"``: every column a signal of its own, through every call and reader."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import calls
import spectrata as st
from spectrata.errors import DuplicateNameError, OptionError

GRAPH = nx.disjoint_union(nx.connected_watts_strogatz_graph(12, 4, 0.3, seed=2), nx.path_graph(3))
STRAT = st.Stratification(GRAPH, hops=2)
VALUES = np.random.default_rng(3).normal(size=(2, 15, 3)) * [1.0, 10.0, 1e60]
NAMES = ["low", "mid", "high"]
TABLE = pd.DataFrame(VALUES[0], columns=NAMES)
BOTH = xr.DataArray(VALUES, dims=("epoch", "node", "gene"), coords={"epoch": [5, 9], "node": range(15), "gene": NAMES})


@pytest.fixture(scope="module")
def result():
    return STRAT.spectra(BOTH, columns="separate", laplacian="random_walk")


def test_a_column_is_computed_as_a_signal_of_its_own(result):
    assert result["magnitude"].dims == ("algorithm", "snapshot", "column", "hop", "component")
    assert result["column"].values.tolist() == NAMES
    assert result["snapshot"].values.tolist() == [5, 9]
    for t, epoch in enumerate((5, 9)):
        for j, name in enumerate(NAMES):
            alone = STRAT.spectra(VALUES[t, :, j], laplacian="random_walk")
            here = result.sel(snapshot=epoch, column=name)
            for variable in ("magnitude", "gradient_norm", "ls_residual"):
                np.testing.assert_allclose(here[variable], alone[variable], rtol=1e-9, atol=0, err_msg=variable)
            assert (here["status"] == alone["status"]).all()
            np.testing.assert_array_equal(here["signal"], alone["signal"])
    assert result.attrs["metric"] == "euclidean"
    assert result.attrs["n_dimensions"] == 1


@pytest.mark.parametrize(
    ("signal", "labels"),
    [
        (TABLE, NAMES),
        (VALUES[0], [0, 1, 2]),
        (VALUES[0, :, 0], [0]),
        (xr.DataArray(VALUES[0], dims=("node", "gene"), coords={"gene": NAMES}), NAMES),
        (TABLE.set_axis([3, 1, 2], axis=1), [3, 1, 2]),
        (TABLE.set_axis([("a", 1), 2.5, None], axis=1), ["('a', 1)", "2.5", "None"]),
        (dict(enumerate(VALUES[0])), [0, 1, 2]),
    ],
)
def test_names_of_columns(signal, labels):
    found = STRAT.spectra(signal, "gft", columns="separate")
    assert found["magnitude"].dims == ("algorithm", "column", "hop", "component")
    assert found["column"].values.tolist() == labels


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: STRAT.spectra(VALUES, columns="separate", metric="angular"),
            OptionError,
            "leave out metric='angular'",
        ),
        (lambda: STRAT.spectra(VALUES, columns="each"), OptionError, "columns"),
        (lambda: STRAT.spectra(pd.concat([TABLE, TABLE], axis=1)), DuplicateNameError, "'low' twice"),
        (lambda: st.smoothness(STRAT, VALUES, columns="separate", metric="angular"), OptionError, "euclidean"),
        (lambda: calls.band_spectra(GRAPH, VALUES, columns="separate", metric="angular"), OptionError, "euclidean"),
    ],
)
def test_what_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_smoothness_of_each_column():
    found = st.smoothness(STRAT, TABLE, columns="separate")
    assert found["dirichlet"].dims == ("column", "hop")
    assert found["stable_rank"].dims == ("column",)
    for name in NAMES:
        alone = st.smoothness(STRAT, TABLE[name])
        for variable in alone.data_vars:
            np.testing.assert_allclose(found[variable].sel(column=name), alone[variable], rtol=1e-12)


def test_bands_of_each_column():
    given = {"bands": 3, "algorithms": "gft", "spacing": "count"}
    found = calls.band_spectra(GRAPH, TABLE / [1, 1, 1e60], columns="separate", **given)
    assert found["energy"].dims == ("algorithm", "column", "hop", "band")
    for j, name in enumerate(NAMES):
        alone = calls.band_spectra(GRAPH, TABLE[name] / [1, 1, 1e60][j], **given)
        np.testing.assert_allclose(found["energy"].sel(column=name), alone["energy"], rtol=1e-9)
    judged = st.calibrate(found, TABLE / [1, 1, 1e60], draws=39)
    assert judged["p"].dims == ("algorithm", "column", "hop", "band")


@pytest.mark.parametrize("ending", ["nc", "zarr"])
def test_files_keep_the_columns(result, ending, tmp_path):
    again = st.open(st.save(result, tmp_path / f"result.{ending}"))
    xr.testing.assert_identical(again, result)


def test_readers_take_columns(result):
    merged = st.merge_eigenspaces(result)
    assert merged["magnitude"].dims == ("algorithm", "snapshot", "column", "hop", "component")
    assert st.off_zero(result).dims == ("snapshot", "column", "hop")
    table, long = st.summary(result), st.to_table(result)
    assert len(table) == 4 * 2 * 3 * 2
    assert len(long) == 4 * 2 * 3 * 2 * 15
    for j, name in enumerate(NAMES):
        alone = STRAT.spectra(VALUES[1, :, j], laplacian="random_walk")
        np.testing.assert_allclose(
            merged.sel(snapshot=9, column=name)["magnitude"], st.merge_eigenspaces(alone)["magnitude"], rtol=1e-9
        )
        np.testing.assert_allclose(st.off_zero(result).sel(snapshot=9, column=name), st.off_zero(alone), rtol=1e-9)
        rows = table[(table["snapshot"] == 9) & (table["column"] == name)].reset_index(drop=True)
        numbers = ["norm", "off_zero", "lowest", "highest", "centroid", "peak", "cosine_flat"]
        np.testing.assert_allclose(rows[numbers], st.summary(alone)[numbers], rtol=1e-9)
        kept = long[(long["snapshot"] == 9) & (long["column"] == name)]
        np.testing.assert_allclose(kept["magnitude"], st.to_table(alone)["magnitude"], rtol=1e-9)


def test_two_results_are_matched_by_the_names_of_columns(result):
    turned = result.isel(column=[2, 0, 1])
    assert float(np.abs(st.compare(result, turned)["largest_difference"]).max()) == 0
    with pytest.raises(st.SpectrataError, match="along column"):
        st.compare(result, result.isel(column=[0, 1]))


def test_the_first_line_of_a_summary_names_the_direction():
    joint = st.summary(STRAT.spectra(TABLE, "gft"))
    assert repr(joint).splitlines()[0] == "compared by direction (metric='angular')"
    assert joint._repr_html_().startswith("<p>compared by direction (metric=&#x27;angular&#x27;)</p>")
    for other in (STRAT.spectra(TABLE, "gft", columns="separate"), STRAT.spectra(TABLE, "gft", metric="euclidean")):
        assert "compared" not in repr(st.summary(other))


def test_an_index_of_numbers_that_was_made_names_the_nodes():
    """A frame of mappings has the nodes in its index, also where they are 0, 1, 2; its first column may be text."""
    graph = nx.karate_club_graph()
    people = pd.DataFrame({"club": nx.get_node_attributes(graph, "club"), "degree": dict(graph.degree)})
    found = st.correlogram(graph, people.sample(frac=1, random_state=0), hops=1, weights=False, draws=0)
    assert found["r"].sel(column="club").item() == pytest.approx(nx.attribute_assortativity_coefficient(graph, "club"))
    nx.set_node_attributes(graph, dict(graph.degree), "degree")
    known = nx.numeric_assortativity_coefficient(graph, "degree")
    assert found["r"].sel(column="degree").item() == pytest.approx(known)
