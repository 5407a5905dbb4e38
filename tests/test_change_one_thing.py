"""One thing changes after the fact: every store, cache, file and Stratification gives another answer, or an error.

The oracle is the same call without anything kept: what is kept must give its numbers, or refuse. For every change the
oracle itself must tell the old pair from the new one, so that no change is tried that could not be seen.
"""

import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import calls
import spectrata as st
from spectrata.errors import SpectrataError, SpectrataWarning

ALGORITHMS = ["gft", "apprx_ls"]
WEIGHTS = {"weights": "w"}


def make_graph(seed=0):
    """A connected graph with named nodes and edge weights."""
    rng = np.random.default_rng(seed)
    graph = nx.relabel_nodes(nx.connected_watts_strogatz_graph(14, 4, 0.4, seed=3), lambda row: f"n{row:02d}")
    for _, _, held in graph.edges(data=True):
        held["w"] = float(rng.uniform(0.5, 2.0))
    return graph


def make_signal(graph, seed=1):
    """Two columns with the nodes' names as index."""
    values = np.random.default_rng(seed).normal(size=(len(graph), 2))
    return pd.DataFrame(values, index=list(graph), columns=["a", "b"])


def drop_edge(graph, signal, options):
    edge = next(edge for edge in graph.edges if nx.has_path(nx.restricted_view(graph, [], [edge]), *edge))
    graph.remove_edge(*edge)


def add_edge(graph, signal, options):
    graph.add_edge(*next(nx.non_edges(graph)), w=1.0)


def change_value(graph, signal, options):
    signal.iloc[3, 0] += 0.25


def change_last_digits(graph, signal, options):
    signal.iloc[5, 1] *= 1 + 1e-6


def swap_names(graph, signal, options):
    signal.index = [*signal.index[1::-1], *signal.index[2:]]


def swap_rows_of_names(graph, signal, options):
    """The same values in another order under the same names."""
    signal.iloc[:] = signal.to_numpy()[::-1]


def rename_nodes(graph, signal, options):
    """Two nodes of the graph exchange their names, and the signal does not follow."""
    a, b = list(graph)[:2]
    nx.relabel_nodes(graph, {a: "?"}, copy=False)
    nx.relabel_nodes(graph, {b: a}, copy=False)
    nx.relabel_nodes(graph, {"?": b}, copy=False)


def change_column(graph, signal, options):
    signal["b"] = signal["a"]


def drop_column(graph, signal, options):
    del signal["b"]


def change_weight(graph, signal, options):
    graph.edges[next(iter(graph.edges))]["w"] *= 3.0


def drop_weights(graph, signal, options):
    options["weights"] = False


def change_metric(graph, signal, options):
    options["metric"] = "euclidean"


def change_laplacian(graph, signal, options):
    options["laplacian"] = "random_walk"


def add_loops(graph, signal, options):
    options |= {"laplacian": "random_walk", "self_loops": True}


CHANGES = [
    drop_edge, add_edge, change_value, change_last_digits, swap_names, swap_rows_of_names, rename_nodes, change_column,
    drop_column, change_weight, drop_weights, change_metric, change_laplacian, add_loops,
]  # fmt: skip
IN_OPTIONS = [drop_weights, change_metric, change_laplacian, add_loops]
IN_PLACE = [change for change in CHANGES if change not in IN_OPTIONS]


def before_and_after(change):
    """The pair and its options as they were, and with one thing changed; the magnitudes of both, computed afresh."""
    pairs, truths = [], []
    for changes in ((), (change,)):
        graph = make_graph()
        signal, options = make_signal(graph), dict(WEIGHTS)
        for one in changes:
            one(graph, signal, options)
        pairs.append((graph, signal, options))
        truths.append(spectrum(graph, signal, options))
    same = truths[0].shape == truths[1].shape and np.allclose(*truths, rtol=1e-9, atol=1e-12)
    assert not same, "the change cannot be seen, so that nothing is tested"
    return pairs, truths


def spectrum(graph, signal, options, **more):
    """Magnitudes of whole eigenspaces, which do not depend on the order of rows."""
    ds = calls.spectra(graph, signal, ALGORITHMS, hops=2, **options, **more)
    return st.merge_eigenspaces(ds)["magnitude"].values


def of_many(graph, signal, options, store):
    ds = st.spectra_many([("pair", graph, signal)], store=store, algorithms=ALGORITHMS, hops=2, **options)
    return st.merge_eigenspaces(ds.load().isel(graph=0))["magnitude"].values


def agrees(found, truth):
    rows = tuple(slice(size) for size in truth.shape)  # a store keeps room for what was larger
    np.testing.assert_allclose(found[rows], truth, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("change", CHANGES)
def test_a_store(change, tmp_path):
    pairs, (_, truth) = before_and_after(change)
    of_many(*pairs[0], tmp_path / "run.zarr")
    try:
        found = of_many(*pairs[1], tmp_path / "run.zarr")
    except SpectrataError as error:
        assert "another run" in str(error)  # noqa: PT017 - a refusal is as good as the right numbers
        assert change in IN_OPTIONS
        return
    agrees(found, truth)
    agrees(of_many(*pairs[1], tmp_path / "run.zarr"), truth)  # and what is stored now is the new pair


@pytest.mark.parametrize("change", IN_PLACE)
def test_one_pair_of_many_in_a_store(change, tmp_path):
    """The other pairs of a chunk keep their bits."""
    pairs, _ = before_and_after(change)
    others = [(f"other {i}", nx.cycle_graph(5 + i), np.arange(5.0 + i)) for i in range(3)]
    arguments = {"store": tmp_path / "run.zarr", "algorithms": ALGORITHMS, "hops": 2}
    first = st.spectra_many([*others, ("pair", *pairs[0][:2])], **arguments).load()
    second = st.spectra_many([*others, ("pair", *pairs[1][:2])], **arguments).load()
    for i in range(3):
        assert second.isel(graph=i).identical(first.isel(graph=i))
    fresh = st.spectra_many([*others, ("pair", *pairs[1][:2])], **(arguments | {"store": None}))
    np.testing.assert_allclose(second["gradient_norm"], fresh["gradient_norm"], rtol=1e-10)


@pytest.mark.parametrize("change", CHANGES)
def test_the_folder_of_bases(change, tmp_path):
    pairs, truths = before_and_after(change)
    for pair, truth in zip(pairs, truths, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("error", SpectrataWarning)
            agrees(spectrum(*pair, cache=tmp_path), truth)


@pytest.mark.parametrize("change", CHANGES)
def test_a_basis_under_the_name_of_another_is_refused(change, tmp_path):
    """Whatever a file is called, it is used for the graph and operator that it belongs to."""
    pairs, (_, truth) = before_and_after(change)
    for place, pair in zip(("old", "new"), pairs, strict=True):
        spectrum(*pair, cache=tmp_path / place)
    for old, new in zip(sorted((tmp_path / "old").iterdir()), sorted((tmp_path / "new").iterdir()), strict=True):
        new.write_bytes(old.read_bytes())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpectrataWarning)  # that it is computed again
        agrees(spectrum(*pairs[1], cache=tmp_path / "new"), truth)


@pytest.mark.parametrize("change", IN_PLACE)
def test_a_stratification_keeps_its_graph(change):
    """Made before the change, it gives the numbers of before: what it keeps is its own, not the caller's."""
    graph = make_graph()
    signal, options = make_signal(graph), dict(WEIGHTS)
    strat = st.Stratification(graph, 2, **WEIGHTS)
    kept = strat.spectra(signal, ALGORITHMS)
    old = kept.copy(deep=True)
    truth = spectrum(graph, signal, options)
    change(graph, signal, options)
    assert kept.identical(old)
    again = make_signal(make_graph())
    agrees(st.merge_eigenspaces(strat.spectra(again, ALGORITHMS))["magnitude"].values, truth)


@pytest.mark.parametrize("of", [np.asarray, pytest.param("torch", marks=pytest.mark.needs("torch"))])
def test_a_result_owns_its_signal(of):
    if of == "torch":
        torch = pytest.importorskip("torch")
        of = torch.tensor
    graph, buffer = nx.path_graph(6), of(np.arange(6.0))
    ds = st.spectra(graph, buffer)
    buffer[:] = 0.0
    np.testing.assert_array_equal(ds["signal"].values.ravel(), np.arange(6.0))


def changed_files():
    """What may be changed in a saved result, by other programs."""
    return {
        "magnitude": lambda ds: ds.assign(magnitude=ds["magnitude"] * (1 + 1e-9)),
        "edge": lambda ds: ds.assign(edges=(ds["edges"].dims, np.where(ds["edges"] == 3, 4, ds["edges"]))),
        "edge weight": lambda ds: ds.assign(edge_weight=ds["edge_weight"] * 2),
        "value": lambda ds: ds.assign(signal=ds["signal"] + 1.0),
        "name": lambda ds: ds.assign_coords(node=["x", *ds["node"].values[1:]]),
        "order": lambda ds: ds.assign_coords(node=ds["node"].values[::-1]),
        "status": lambda ds: ds.assign(status=ds["status"].str.replace("ok", "okay")),
        "option": lambda ds: ds.assign_attrs(options=ds.attrs["options"].replace("rms", "index")),
        "laplacian": lambda ds: ds.assign_attrs(laplacian="random_walk"),
        "weights": lambda ds: ds.assign_attrs(weights=""),
        "seed": lambda ds: ds.assign_attrs(seed=7),
    }


@pytest.mark.parametrize("what", list(changed_files()))
@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_a_file(tmp_path, what, suffix):
    import xarray as xr

    graph = make_graph()
    path = st.save(st.spectra(graph, make_signal(graph), ALGORITHMS, hops=2, **WEIGHTS), tmp_path / f"r{suffix}")
    assert st.open(path).sizes["hop"] == 2
    engine = "h5netcdf" if suffix == ".nc" else "zarr"
    with xr.open_dataset(path, engine=engine) as ds:
        held = ds.load().drop_encoding()
    changed = changed_files()[what](held)
    if suffix == ".nc":
        changed.to_netcdf(path, engine=engine)
    else:
        changed.to_zarr(path, mode="w", zarr_format=2, consolidated=True)
    with pytest.raises(SpectrataError, match=r"numbers that were written|damaged"):
        st.open(path)


@pytest.mark.parametrize("name", ["graph.txt", "signal.csv"])
def test_an_edited_file_of_a_manifest(tmp_path, monkeypatch, name):
    from typer.testing import CliRunner

    from spectrata.cli.app import app

    monkeypatch.chdir(tmp_path)
    (tmp_path / "graph.txt").write_text("0 1\n1 2\n2 3\n3 4\n")
    (tmp_path / "signal.csv").write_text("value\n1\n2\n4\n8\n16\n")
    (tmp_path / "pairs.csv").write_text("graph,signal,name\ngraph.txt,signal.csv,one\n")
    words = ["profile", "--many", "pairs.csv", "--hops", "1", "-o", "out"]
    assert CliRunner().invoke(app, words).exit_code == 0
    edited = (tmp_path / name).read_text().replace("3 4", "2 4").replace("16", "17")
    (tmp_path / name).write_text(edited)
    assert CliRunner().invoke(app, words).exit_code == 0
    found = st.open_many(tmp_path / "out" / "spectra.zarr")["gradient_norm"].isel(graph=0).values
    expected = st.spectra("graph.txt", "signal.csv", hops=1)["gradient_norm"].values
    np.testing.assert_allclose(found, expected)
