"""The Dataset: its schema, and its way to files and back."""

import json
import os
import shutil

import networkx as nx
import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose, assert_array_equal

import calls
import spectrata as st
from spectrata.errors import ResultError
from spectrata.inputs.graphs import as_graph
from strategies import case_of, run

GRAPH = nx.relabel_nodes(nx.path_graph(5), dict(enumerate(["a", "é", ("x", 1), 7, "last <b>"])))
RNG = np.random.default_rng(0)
PAPER = {"preset": "paper", "trials": 3, "max_epochs": 5}
SIZES = {"algorithm": 7, "hop": 4, "component": 5, "node": 5, "edge": 4, "end": 2}
ONE = RNG.standard_normal((5, 2))
MANY = RNG.standard_normal((3, 5, 2))
FORMATS = pytest.mark.parametrize("suffix", [".nc", ".zarr"])


@pytest.fixture(scope="module", params=[False, True], ids=["one signal", "snapshots"])
def result(request):
    """A Dataset with everything in it, and the snapshot dimension it should have."""
    ds = calls.spectra(GRAPH, MANY if request.param else ONE, **PAPER)
    return ds, ("snapshot",) if request.param else ()


# --- the schema ---------------------------------------------------------------------------------------------


def test_variables_and_dims(result):
    ds, time = result
    component = ("hop", "component")
    expected = {
        "magnitude": ("algorithm", *time, *component),
        "magnitude_error": ("algorithm", *time, *component),
        "gradient_norm": (*time, "hop"),
        "status": ("algorithm", *time, "hop"),
        "edges": ("edge", "end"),
        "ens_weight": ("hop", "member"),
        "ls_residual": (*time, "hop"),
        "ln_vx_mse": ("trial", "hop"),
        "ln_vx_trial_magnitude": ("trial", *time, *component),
        "eigenvectors": ("hop", "node", "component"),
        "signal": (*time, "node", "dimension"),
    }
    assert {name: ds[name].dims for name in expected} == expected
    assert set(ds.data_vars) - set(expected) == {"ln_vx_row_norm"}
    assert dict(ds.sizes).items() >= (SIZES | {"trial": 3, "member": 4}).items()
    assert ("snapshot" in ds.sizes) == bool(time)
    for name in set(ds.data_vars) - {"status"}:
        assert ds[name].dtype == (np.int64 if name == "edges" else np.float64), name


def test_coordinates(result):
    ds, time = result
    expected = {
        "eigenvalue": ("hop", "component"),
        "eigenspace": ("hop", "component"),
        "multiplicity": ("hop", "component"),
        "node": ("node",),
        "node_row": ("node",),
        "is_zero": ("hop", "component"),
        "component": ("component",),
        "complete": ("hop",),
        "made_with": (),
        "n_edges": ("hop",),
        "n_parts": ("hop",),
        "n_singletons": ("hop",),
        "algorithm": ("algorithm",),
        "hop": ("hop",),
        "member": ("member",),
    } | {name: (name,) for name in time}
    assert {name: ds.coords[name].dims for name in expected} == expected
    assert set(ds.coords) - set(expected) == {"matrix"}
    assert ds["node"].values.tolist() == ["a", "é", "('x', 1)", "7", "last <b>"]
    assert json.loads(ds.attrs["node_type"]) == ["str", "str", "tuple", "int", "str"]
    assert ds["hop"].values.tolist() == [1, 2, 3, 4]
    assert ds["n_edges"].values.tolist() == [4, 3, 2, 1]
    assert ds["n_parts"].values.tolist() == [1, 2, 3, 4]
    assert ds["n_singletons"].values.tolist() == [0, 0, 1, 3]
    assert_array_equal(ds["edges"], [[0, 1], [1, 2], [2, 3], [3, 4]])
    assert_array_equal(ds["component"], np.arange(5))
    assert_array_equal(ds["is_zero"], np.arange(5) < ds["n_parts"].values[:, None])
    assert ds["complete"].all()


def test_attributes(result):
    ds, _ = result
    attributes = dict(ds.attrs)
    options = json.loads(attributes.pop("options"))
    assert attributes.pop("spectrata_version") == st.__version__
    graph_hash = attributes.pop("graph_hash")
    assert len(graph_hash) == 64
    assert graph_hash == as_graph(nx.path_graph(5)).digest
    attributes.pop("node_type")
    expected = {"metric": "angular", "seed": 0, "n_nodes": 5, "n_edges": 4, "n_dimensions": 2}
    expected |= {"laplacian": "combinatorial", "self_loops": 0, "weights": "", "dtype": "float64"}
    assert {name: attributes[name] for name in expected} == expected
    assert options["hops"] == [1, 2, 3, 4]
    assert options["preset"] == "paper"
    assert options["orientation"] == "index"
    assert options["scaling"] == "program"
    assert options["trials"] == 3
    assert options["algorithms"] == ds["algorithm"].values.tolist()


def test_what_is_kept_is_right(result):
    ds, time = result
    assert_array_equal(ds["signal"], MANY if time else ONE)
    for hop in ds["hop"].values:
        vectors = ds["eigenvectors"].loc[hop].values
        assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-13)
        distance = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
        adjacency = (distance == hop).astype(float)
        laplacian = np.diag(adjacency.sum(axis=0)) - adjacency
        rebuilt = vectors * ds["eigenvalue"].loc[hop].values @ vectors.T
        assert_allclose(rebuilt, laplacian, atol=1e-13)


@pytest.mark.parametrize(
    ("n", "keep", "expected"),
    [
        (200, None, {"eigenvectors", "signal"}),
        (201, None, set()),
        (5, (), set()),
        (5, "signal", {"signal"}),
        (5, ["eigenvectors"], {"eigenvectors"}),
        (201, ("eigenvectors", "signal"), {"eigenvectors", "signal"}),
    ],
)
def test_keep_rules(n, keep, expected):
    ds = run(case_of(nx.star_graph(n - 1)), np.arange(n, dtype=float), "gft", keep=keep, hops=1)
    assert {"eigenvectors", "signal"} & set(ds.data_vars) == expected


def test_only_what_the_algorithms_bring():
    ds = run(case_of(nx.path_graph(4)), [0.0, 1, 3, 4], "gft")
    assert set(ds.data_vars) == {"magnitude", "magnitude_error", "gradient_norm", "status", "edges"}
    assert ds.attrs["metric"] == "euclidean"


def test_node_types_of_one_kind():
    for names, kind in ((range(3), "int"), ("abc", "str"), ([(0, 1), (1, 0), (1, 1)], "tuple")):
        graph = nx.relabel_nodes(nx.path_graph(3), dict(enumerate(names)))
        ds = st.spectra(graph, [0.0, 1.0, 3.0], "gft")
        assert ds.attrs["node_type"] == kind
        assert ds["node"].values.tolist() == [str(name) for name in names]


def test_snapshot_labels_are_kept():
    labels = ["start", "end"]
    signal = xr.DataArray(np.arange(6.0).reshape(2, 3), {"epoch": labels}, ("epoch", "node"))
    ds = st.spectra(nx.path_graph(3), signal, "gft")
    assert ds["magnitude"].dims == ("algorithm", "snapshot", "hop", "component")
    assert ds["snapshot"].values.tolist() == labels
    assert st.spectra(nx.path_graph(3), np.ones((1, 3, 1)), "gft").sizes["snapshot"] == 1


# --- files --------------------------------------------------------------------------------------------------


@FORMATS
def test_files_give_back_the_same(result, tmp_path, suffix):
    ds, _ = result
    path = st.save(ds, tmp_path / f"result{suffix}")
    xr.testing.assert_identical(st.open(path), ds)
    with xr.open_dataset(path) as plain:
        assert len(plain.attrs.pop("content_hash")) == 64
        xr.testing.assert_identical(plain.load(), ds)
    assert os.listdir(tmp_path) == [f"result{suffix}"]


def test_a_result_changed_with_xarray_can_be_saved_again(result, tmp_path):
    ds, _ = result
    changed = st.open(st.save(ds, tmp_path / "a.nc")).isel(component=slice(1, None))
    xr.testing.assert_identical(st.open(st.save(changed, tmp_path / "b.nc")), changed)


def test_what_is_no_dataset_is_not_saved(tmp_path):
    graph = nx.path_graph(4)
    for other in (st.filter_signal(graph, range(4), band=(0, 1)), st.rank_columns(graph, np.eye(4)), {}):
        with pytest.raises(ResultError, match="is not a result, which is a Dataset"):
            st.save(other, tmp_path / "r.nc")
    assert not list(tmp_path.iterdir())


def test_names_that_files_cannot_hold_are_written_out(tmp_path):
    ds = st.spectra(nx.relabel_nodes(nx.path_graph(3), {0: "a\0b", 1: "\ud800", 2: "c"}), [1.0, 2.0, 4.0])
    assert ds["node"].values.tolist() == ["a\\x00b", "\\ud800", "c"]
    xr.testing.assert_identical(st.open(st.save(ds, tmp_path / "names.nc")), ds)


@FORMATS
def test_saving_again_replaces(result, tmp_path, suffix):
    ds, _ = result
    path = tmp_path / "deep" / "er" / f"r{suffix}"
    st.save(ds, path)
    other = ds.assign_attrs(seed=5).drop_vars("eigenvectors")
    st.save(other, path)
    xr.testing.assert_identical(st.open(path), other)
    assert len(os.listdir(path.parent)) == 1


def test_a_folder_that_is_no_result_is_not_thrown_away(result, tmp_path):
    """`r.nc` is somebody's folder: refuse, and leave what is in it."""
    folder = tmp_path / "r.nc"
    folder.mkdir()
    (folder / "precious").write_text("x")
    with pytest.raises(ResultError):
        st.save(result[0], folder)
    assert (folder / "precious").read_text() == "x"


@FORMATS
def test_places_that_cannot_be_written(result, tmp_path, suffix):
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultError, match="cannot be written"):
        st.save(result[0], tmp_path / "file" / f"r{suffix}")
    with pytest.raises(ResultError, match=r"\.nc .*\.zarr"):
        st.save(result[0], tmp_path / "r.csv")


@FORMATS
def test_damaged_files(result, tmp_path, suffix):
    path = tmp_path / f"r{suffix}"
    with pytest.raises(ResultError, match="does not exist"):
        st.open(path)
    path.write_bytes(b"not a result")
    with pytest.raises(ResultError, match="damaged"):
        st.open(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(ResultError, match="damaged"):
        st.open(path)


@pytest.mark.parametrize("missing", ["magnitude", "status", "gradient_norm", "edges"])
def test_files_of_others(result, tmp_path, missing):
    result[0].drop_vars(missing).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(ResultError, match=f"not a spectrata result.*{missing}"):
        st.open(tmp_path / "other.nc")
    unversioned = result[0].copy()
    del unversioned.attrs["spectrata_version"]
    unversioned.to_netcdf(tmp_path / "unversioned.nc", engine="h5netcdf")
    with pytest.raises(ResultError, match="version"):
        st.open(tmp_path / "unversioned.nc")


def test_a_copy_of_a_folder_is_a_result(result, tmp_path):
    path = st.save(result[0], tmp_path / "r.zarr")
    shutil.move(path, tmp_path / "moved.zarr")
    xr.testing.assert_identical(st.open(tmp_path / "moved.zarr"), result[0])


# --- tables -------------------------------------------------------------------------------------------------


def test_to_table(result):
    ds, time = result
    table = st.to_table(ds)
    columns = ["algorithm", *time, "hop", "component", "eigenvalue", "eigenspace", "multiplicity", "magnitude"]
    assert list(table.columns) == columns
    assert len(table) == ds["magnitude"].size
    for row in table.sample(20, random_state=0).itertuples():
        where = [row.algorithm, *([row.snapshot] if time else []), row.hop]
        assert row.magnitude == ds["magnitude"].loc[*where].values[row.component]
        assert row.eigenvalue == ds["eigenvalue"].loc[row.hop].values[row.component]
        assert row.multiplicity == ds["multiplicity"].loc[row.hop].values[row.component]


def test_tables_of_tests_have_a_row_for_each():
    graph = nx.path_graph(12)
    local = st.to_table(st.local(graph, range(12), draws=99))
    assert local["node"].tolist() == [str(node) for node in graph]
    both = st.to_table(st.correlogram(graph, range(12), hops=2, draws=99))
    assert both["hop"].tolist() == [1, 2]
    assert {"r", "p", "verdict", "n_pairs"} <= set(both)
