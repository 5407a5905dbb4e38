"""One thing changes after the fact: every store, cache, file and Stratification gives another answer, or an error.

The oracle is the same call without anything kept: what is kept must give its numbers, or refuse. For every change the
oracle itself must tell the old pair from the new one, so that no change is tried that could not be seen.
"""

import shutil
import warnings
from functools import cache

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import calls
import spectrata as st
from spectrata.errors import DuplicateNameError, OptionError, SpectrataError, SpectrataWarning, UnknownNameError

# A log that another run continues says so; that is looked at in test_torch_logs.
pytestmark = pytest.mark.filterwarnings("ignore:.* holds an earlier run")
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


def option(name, **given):
    """A change of the call, by its name."""

    def change(graph, signal, options):
        options.update(given)

    change.__name__ = name
    return change


IN_PLACE = [
    drop_edge, add_edge, change_value, change_last_digits, swap_names, swap_rows_of_names, rename_nodes, change_column,
    drop_column, change_weight,
]  # fmt: skip
IN_OPTIONS = [
    change_rule := option("change_rule", hop_weights="product"),
    option("drop_weights", weights=False),
    option("change_metric", metric="euclidean"),
    option("change_laplacian", laplacian="random_walk"),
    option("add_loops", laplacian="random_walk", self_loops=True),
    option("change_orientation", orientation="index"),
    option("cut_spectrum", n_eigs=5),
]
OF_GRAPH = [drop_edge, add_edge, rename_nodes, change_weight, change_rule]


def spectrum(graph, signal, options, **more):
    """Magnitudes of whole eigenspaces, which do not depend on the order of rows."""
    ds = calls.spectra(graph, signal, ALGORITHMS, hops=2, **options, **more)
    return st.merge_eigenspaces(ds)["magnitude"].values


@cache
def made(change=None):
    """The pair and its options, with one thing changed, and the magnitudes computed afresh."""
    graph = make_graph()
    signal, options = make_signal(graph), dict(WEIGHTS)
    if change is not None:
        change(graph, signal, options)
    truth = spectrum(graph, signal, options)
    if change is not None:
        old = made()[1]
        seen = old.shape != truth.shape or not np.allclose(old, truth, rtol=1e-9, atol=1e-12, equal_nan=True)
        assert seen, "the change cannot be seen, so that nothing is tested"
    return (graph, signal, options), truth


# ---- what keeps something: each is called with the old pair and then, in the same folder, with the new one


def store(folder, graph, signal, options):
    pairs = [("pair", graph, signal), ("other", nx.cycle_graph(5), np.ones((5, 2)))]
    weights = options["weights"] if options["weights"] else False
    plain = {name: value for name, value in options.items() if name != "weights"}
    nx.set_edge_attributes(pairs[1][1], 1.0, "w")
    ds = calls.spectra_many(pairs, None, folder / "run.zarr", algorithms=ALGORITHMS, hops=2, weights=weights, **plain)
    return st.merge_eigenspaces(ds.load().isel(graph=0))["magnitude"].values


def bases(folder, graph, signal, options):
    return spectrum(graph, signal, options, cache=folder)


def misnamed_bases(folder, graph, signal, options):
    """Whatever a file is called, it is used for the graph and operator that it belongs to."""
    spectrum(graph, signal, options, cache=folder / "own")
    before = sorted((folder / "before").glob("*"))
    for old, new in zip(before, sorted((folder / "own").glob("*.npz")), strict=False):
        new.write_bytes(old.read_bytes())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpectrataWarning)  # that it is computed again
        found = spectrum(graph, signal, options, cache=folder / "own")
    shutil.rmtree(folder / "before", ignore_errors=True)
    (folder / "own").mkdir(exist_ok=True)  # a part of a spectrum is not kept
    (folder / "own").rename(folder / "before")
    return found


def log(folder, graph, signal, options):
    """A run that is watched and continued; the rows of the second part are those of its own graph, or it is refused."""
    import torch

    from spectrata.torch import watch

    of_watch = {name: options[name] for name in ("metric", "orientation") if name in options}
    strat = st.Stratification(graph, 2, **{name: value for name, value in options.items() if name not in of_watch})
    values = torch.tensor(signal.loc[list(graph)].to_numpy())
    model, of_watch = torch.nn.Identity(), {"metric": "angular" if values.shape[1] > 1 else "auto"} | of_watch
    given = {"algorithms": ALGORITHMS, "states": (), **of_watch}
    with watch(model, strat, [""], log=folder / "run.zarr", mode="train", **given) as w:
        model(values)
    assert [one for one in w.problems if "holds an earlier run" not in one] == []
    last = st.open(folder / "run.zarr").isel(snapshot=-1)
    return st.merge_eigenspaces(last)["magnitude"].values


@cache
def stratified(folder):
    return st.Stratification(make_graph(), 2, **WEIGHTS)


def memory(folder, graph, signal, options):
    """One Stratification of the old graph, asked again and again."""
    asked = {name: value for name, value in options.items() if WEIGHTS.get(name) != value}
    return st.merge_eigenspaces(calls.spectra(stratified(folder), signal, ALGORITHMS, **asked))["magnitude"].values


KEEPERS = {"store": store, "bases": bases, "misnamed bases": misnamed_bases, "memory": memory, "log": log}


def cases():
    """Every keeper with every change; a Stratification in memory has read its graph once."""
    for keeper in KEEPERS:
        for change in [*IN_PLACE, *IN_OPTIONS]:
            if keeper != "memory" or change not in OF_GRAPH:
                marks = pytest.mark.needs("torch") if keeper == "log" else ()
                yield pytest.param(keeper, change, id=f"{keeper}-{change.__name__}", marks=marks)


@pytest.mark.parametrize(("keeper", "change"), list(cases()))
def test_what_is_kept_gives_the_new_answer_or_refuses(keeper, change, tmp_path):
    (old, _), (new, truth) = made(), made(change)
    KEEPERS[keeper](tmp_path, *old)
    for _ in range(2):  # the second time from what the first has kept
        try:
            found = KEEPERS[keeper](tmp_path, *new)
        except SpectrataError:  # a refusal is as good as the right numbers
            assert keeper == "log" or (keeper in ("store", "memory") and change in IN_OPTIONS)
            return
        agrees(found, truth)


def agrees(found, truth):
    rows = tuple(slice(size) for size in truth.shape)  # a store keeps room for what was larger
    np.testing.assert_allclose(found[rows], truth, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("change", IN_PLACE, ids=lambda change: change.__name__)
def test_one_pair_of_many_in_a_store(change, tmp_path):
    """The other pairs of a chunk keep their bits."""
    (old, _), (new, _) = made(), made(change)
    others = [(f"other {i}", nx.cycle_graph(5 + i), np.arange(5.0 + i)) for i in range(3)]
    arguments = {"store": tmp_path / "run.zarr", "algorithms": ALGORITHMS, "hops": 2}
    first = st.spectra_many([*others, ("pair", *old[:2])], **arguments).load()
    second = st.spectra_many([*others, ("pair", *new[:2])], **arguments).load()
    for i in range(3):
        assert second.isel(graph=i).identical(first.isel(graph=i))
    fresh = st.spectra_many([*others, ("pair", *new[:2])], **(arguments | {"store": None}))
    np.testing.assert_allclose(second["gradient_norm"], fresh["gradient_norm"], rtol=1e-10)


@pytest.mark.parametrize("keeper", ["store", "bases", "misnamed bases"])
def test_an_array_follows_the_order_of_the_nodes(keeper, tmp_path):
    """The same names, edges and array, the nodes in another order: every row has another node."""
    graph = make_graph()
    turned = nx.Graph()
    turned.add_nodes_from(reversed(list(graph)))
    turned.add_edges_from(graph.edges(data=True))
    values = make_signal(graph).to_numpy()
    old, new = ((one, values, dict(WEIGHTS)) for one in (graph, turned))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpectrataWarning)  # that the array has no names
        truth = spectrum(*new)
        assert not np.allclose(truth, spectrum(*old))
        KEEPERS[keeper](tmp_path, *old)
        agrees(KEEPERS[keeper](tmp_path, *new), truth)


@pytest.mark.parametrize("change", IN_PLACE, ids=lambda change: change.__name__)
def test_a_stratification_keeps_its_graph(change):
    """Made before the change, it gives the numbers of before: what it keeps is its own, not the caller's."""
    graph = make_graph()
    signal, options = make_signal(graph), dict(WEIGHTS)
    strat = st.Stratification(graph, 2, **WEIGHTS)
    kept = strat.spectra(signal, ALGORITHMS)
    old = kept.copy(deep=True)
    change(graph, signal, options)
    assert kept.identical(old)
    again = strat.spectra(make_signal(make_graph()), ALGORITHMS)
    agrees(st.merge_eigenspaces(again)["magnitude"].values, made()[1])


@pytest.mark.parametrize("verb", ["correlogram", "diagnose", "smoothness", "node_energy"])
def test_a_kept_stratification_reads_the_signal_of_the_call(verb):
    """One Stratification, one buffer that is written over: every call sees what the buffer holds then."""
    graph = make_graph()
    strat, buffer = st.Stratification(graph, 1, **WEIGHTS), make_signal(graph).to_numpy(copy=True)
    read = {
        "correlogram": lambda given: st.correlogram(given, buffer, draws=39)["r"].values,
        "diagnose": lambda given: np.array([one.value for one in st.diagnose(given, buffer, draws=39)]),
        "smoothness": lambda given: st.smoothness(given, buffer)["dirichlet"].values,
        "node_energy": lambda given: st.node_energy(given, buffer)["energy"].values,
    }[verb]
    first = read(strat)
    buffer[:] = make_signal(graph, seed=5).to_numpy()
    second = read(strat)
    np.testing.assert_allclose(second, read(st.Stratification(graph, 1, **WEIGHTS)))
    assert first.shape != second.shape or not np.allclose(first, second)


def turned(graph, seed=0):
    """The same graph in another order, under names that make its edges look alike by rows."""
    order = np.random.default_rng(seed).permutation(len(graph))
    names = np.array(list(graph))[order].tolist()
    return nx.relabel_nodes(graph, dict(zip(graph, names, strict=True)))


def test_graphs_that_look_alike_by_rows_are_told_apart_by_their_names():
    graph = make_graph()
    signal, others = make_signal(graph), turned(graph)
    a, b = (st.spectra(one, signal, "gft", hops=1, weights=False) for one in (graph, others))
    assert a.attrs["graph_hash"] == b.attrs["graph_hash"]
    for read in (st.compare, lambda a, b: st.response(a, b, level="eigenspace")):
        with pytest.raises(SpectrataError, match="different graphs"):
            read(a, b)
    ring = nx.relabel_nodes(nx.cycle_graph(8), "abcdefgh".__getitem__)  # turned by a step it is the same ring
    next_one = nx.relabel_nodes(ring, dict(zip("abcdefgh", "bcdefgha", strict=True)))
    values = pd.Series(np.arange(8.0) ** 2, index=list("abcdefgh"))
    a, b = (st.spectra(one, values, "gft", hops=1) for one in (ring, next_one))
    np.testing.assert_allclose(st.compare(a, b)["correlation"], 1.0)
    unnamed = st.spectra(nx.cycle_graph(8), values.to_numpy(), "gft", hops=1)
    np.testing.assert_allclose(st.compare(a, unnamed)["correlation"], 1.0)  # without names rows are all there is


def test_strata_of_another_distance_are_not_compared():
    graph = make_graph()
    rng = np.random.default_rng(1)
    for _, _, held in graph.edges(data=True):
        held |= {"km": float(rng.uniform(0.2, 1.8)), "hours": float(rng.uniform(0.2, 1.8))}
    other = nx.Graph()
    other.add_nodes_from(reversed(list(graph)))
    other.add_edges_from(graph.edges(data=True))
    signal = make_signal(graph)
    km, hours, again = (
        st.spectra(st.Stratification(one, distance=name, bins=[0, 1.6]), signal, "gft")
        for one, name in ((graph, "km"), (graph, "hours"), (other, "km"))
    )
    with pytest.raises(SpectrataError, match="strata by distance differ"):
        st.compare(km, hours)
    assert km["made_with"].item() != hours["made_with"].item()
    np.testing.assert_allclose(st.compare(km, again)["correlation"], 1.0)


def test_lengths_that_move_a_pair_to_another_bin_find_no_old_basis(tmp_path):
    """The pairs of both, one bin after the other, are the same; the first bin ends earlier."""
    found = []
    for lengths, folder in (([1.0, 1.0, 2.0], tmp_path), ([1.0, 2.0, 2.0], tmp_path), ([1.0, 2.0, 2.0], None)):
        edges = [(0, 1), (0, 2), (1, 2)]
        strat = st.Stratification(edges=edges, distance=lengths, bins=[0, 1, 2], cache=folder)
        found.append(st.spectra(strat, [0.0, 1.0, 5.0], "gft"))
    assert found[1].equals(found[2])
    assert not found[0].equals(found[2])


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
        "words": lambda ds: ds.assign(status=ds["status"].assign_attrs(long_name="another")),
        "columns": lambda ds: ds.assign(signal=ds["signal"].assign_attrs(columns='["b", "a"]')),
        "fact": lambda ds: ds.assign_attrs(given="degree"),
        "label": lambda ds: ds.assign_coords(made_with="something else"),
        "algorithm": lambda ds: ds.assign_coords(algorithm=ds["algorithm"].values[::-1]),
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
        plain = {name: {"compressors": None} for name in changed.variables}  # the reader trusts few codecs
        changed.to_zarr(path, mode="w", zarr_format=2, consolidated=True, encoding=plain)
    with pytest.raises(SpectrataError, match=r"numbers that were written|damaged"):
        st.open(path)


ODD = {
    "dates": np.array(["2020-01-01", "NaT"], "M8[s]"),
    "durations": np.array([1, 2], "m8[D]"),
    "words": np.array(["\u00e9 \U0001f600", " e\u0301\n"]),
    "objects": np.array(["a", None], object),
    "flags": np.array([True, False]),
    "bytes": np.array([b"a", b"\xff"]),
}


@pytest.mark.parametrize("labels", list(ODD))
@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_honest_files_of_odd_labels_open(tmp_path, labels, suffix):
    """What a file keeps in another unit or type is the same; attributes are numbers, lists and text."""
    ds = st.spectra(nx.path_graph(4), np.arange(8.0).reshape(2, 4, 1), "gft", hops=1)
    odd = {"some": [1, 2.5], "one": [3], "words": ["a"], "none": "", "real": np.float32(0.1), "nan": np.nan}
    ds = ds.assign_coords(snapshot=ODD[labels]).assign_attrs(odd)
    again = st.open(st.save(ds, tmp_path / f"r{suffix}"))
    assert st.open(st.save(again, tmp_path / f"again{suffix}")).identical(again)
    assert again["snapshot"].values.astype(ODD[labels].dtype).tolist()[0] == ODD[labels].tolist()[0]


PAIRS = [(f"g{i}", nx.path_graph(6 + i), np.random.default_rng(i).normal(size=6 + i) + 2) for i in range(3)]
OTHERS = [(name, graph, signal[::-1] ** 2) for name, graph, signal in PAIRS]
ASKED = {"algorithms": "gft", "hops": 1}


@pytest.mark.needs("zarr")
def test_every_lost_or_exchanged_file_of_a_store(tmp_path):
    """A store is refused or gives its numbers; the same call brings back what is gone, or refuses."""
    place, other = tmp_path / "run.zarr", tmp_path / "other.zarr"
    good = st.spectra_many(PAIRS, store=place, **ASKED)
    st.spectra_many(OTHERS, store=other, **ASKED)
    shutil.copytree(place, tmp_path / "kept.zarr")
    refused, mended = [], 0
    for path in [path.relative_to(place) for path in sorted(place.rglob("*")) if path.is_file()]:
        for exchanged in (False, True):
            (place / path).unlink()
            if exchanged:
                shutil.copy(other / path, place / path)
            try:
                held = st.open_many(place)
                assert held.identical(good) or path.parts == ("digest", "0")
            except SpectrataError:
                refused.append(path.parts[0])
            try:
                assert st.spectra_many(PAIRS, store=place, **ASKED).identical(good)
                mended += 1
            except SpectrataError:
                assert path.name.startswith(".") or path.parts == ("graph", "0")
            shutil.rmtree(place)
            shutil.copytree(tmp_path / "kept.zarr", place)
    assert {"is_zero", "magnitude", "n_edges", "digest", "gradient_norm"} <= set(refused)
    assert mended > 80


@pytest.mark.needs("zarr")
@pytest.mark.parametrize("last", ["digest", "magnitude"])
def test_half_of_a_newer_store_over_an_older_one(tmp_path, last):
    place, newer = tmp_path / "run.zarr", tmp_path / "newer.zarr"
    st.spectra_many(PAIRS, store=place, **ASKED)
    good = st.spectra_many(OTHERS, store=newer, **ASKED)
    for folder in sorted(newer.iterdir()):
        if folder.is_dir() and folder.name <= last:
            shutil.copytree(folder, place / folder.name, dirs_exist_ok=True)
    with pytest.raises(SpectrataError, match="'g0' is not as it was written; call spectra_many again"):
        st.open_many(place)
    assert st.spectra_many(OTHERS, store=place, **ASKED).identical(good)


@pytest.mark.needs("zarr")
def test_a_later_call_on_a_store_leaves_earlier_results_alone(tmp_path):
    one = st.spectra_many(PAIRS, store=tmp_path / "run.zarr", **ASKED)
    old = one.copy(deep=True)
    two = st.spectra_many(OTHERS, store=tmp_path / "run.zarr", **ASKED)
    assert one.identical(old)
    assert not np.array_equal(one["magnitude"], two["magnitude"], equal_nan=True)


@pytest.mark.parametrize("of", [np.array, pd.Series, list, pytest.param("torch", marks=pytest.mark.needs("torch"))])
def test_a_generator_may_use_its_graph_and_array_again(of):
    if of == "torch":
        import torch

        of = torch.tensor

    def pairs():
        graph, buffer = nx.path_graph(8), of([0.0] * 8)
        for number in range(1, 4):
            for row in range(8):
                buffer[row] = float(row * number)
            graph.add_edge(0, number + 3)
            yield f"g{number}", graph, buffer

    found = st.spectra_many(pairs(), algorithms="gft", hops=1)["gradient_norm"].values.ravel()
    squares = np.cumsum([(number + 3) ** 2 for number in range(1, 4)]) + 7
    np.testing.assert_allclose(found, np.sqrt(squares) * np.arange(1, 4))


# ---- logs


def recorded(path, graph, values, steps=1):
    from spectrata.torch import Recorder, ZarrLog

    recorder = Recorder(graph, writers=[ZarrLog(path)])
    for _ in range(steps):
        recorder.record({"h": values})
    return recorder


@pytest.mark.needs("torch")
@pytest.mark.parametrize("spectra", [{}, {"algorithms": "gft", "hops": 1, "flush_every": 1}], ids=["plain", "spectra"])
def test_every_lost_file_of_a_log(tmp_path, spectra):
    import torch

    from spectrata.torch import watch

    path, model = tmp_path / "run.zarr", torch.nn.Linear(3, 2)
    for _ in range(2):  # the second run is appended
        with watch(model, nx.cycle_graph(8), [""], log=path, mode="train", **spectra) as w:
            model(torch.ones(8, 3))
            w.step(0)
    good = st.open(path)
    refused = set()
    for file in [file for file in sorted(path.rglob("*")) if file.is_file()]:
        data = file.read_bytes()
        file.unlink()
        try:
            assert st.open(path).identical(good), file
        except SpectrataError:
            refused.add(file.parent.name)
        file.write_bytes(data)
    assert set(good.variables) <= refused


@pytest.mark.needs("torch")
def test_a_log_takes_rows_of_its_own_graph_alone(tmp_path):
    import torch

    from spectrata.torch import ZarrLog

    path, values = tmp_path / "run.zarr", torch.randn(8, 3)
    recorded(path, nx.cycle_graph(8), values).close()
    with pytest.raises(SpectrataError, match="the log of another graph"):
        recorded(path, nx.path_graph(8), values)
    foreign = recorded(tmp_path / "other.zarr", nx.path_graph(8), values)
    with pytest.raises(SpectrataError, match="the log of another graph"):
        ZarrLog(path).write(foreign.snapshots)
    recorded(path, nx.cycle_graph(8), values).close()
    assert st.open(path)["step"].values.tolist() == [0, 1]


@pytest.mark.needs("torch")
def test_the_journal_of_another_graph_is_not_brought_in(tmp_path):
    import torch

    from spectrata.torch import recover

    path, other = tmp_path / "run.zarr", tmp_path / "other.zarr"
    recorded(path, nx.cycle_graph(8), torch.randn(8, 3)).close()
    good = st.open(path)
    recorded(other, nx.path_graph(5), torch.randn(5, 3), steps=3).log.close()
    shutil.move(f"{other}.journal", f"{path}.journal")
    with pytest.raises(SpectrataError, match="the log of another graph"):
        recover(path)
    assert st.open(path).identical(good)


@pytest.mark.needs("torch")
def test_long_names_of_layers_stay_apart(tmp_path):
    import torch

    from spectrata.torch import Recorder, ZarrLog

    names = ["_fsdp_wrapped_module." * 6 + end for end in ("q_proj", "k_proj")]
    for writers in ([], [ZarrLog(tmp_path / "run.zarr")]):
        recorder = Recorder(nx.cycle_graph(8), writers=writers)
        values = torch.randn(8, 3)
        for epoch in range(2):
            recorder.record(dict(zip(names, (values, values**3), strict=True)), epoch=epoch)
        ds = recorder.dataset
        assert ds.sizes["layer"] == 2
        assert [str(name)[-6:] for name in ds["layer"].values] == ["q_proj", "k_proj"]
        own = recorder.over_epochs(names[1])["off_zero_live"].values
        np.testing.assert_array_equal(own, ds["off_zero_live"].isel(layer=1))


@pytest.mark.parametrize("name", ["graph.txt", "signal.csv"])
@pytest.mark.needs("zarr")
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


# ---- rows and columns find their nodes and each other, or are refused


NAMED = nx.relabel_nodes(nx.karate_club_graph(), lambda row: f"m{row}")
TABLE = pd.DataFrame({"who": list(NAMED), "club": [NAMED.nodes[name]["club"] for name in NAMED]})
TABLE = TABLE.assign(team=[f"t{row // 9}" for row in range(34)], age=np.linspace(20.5, 70, 34)[::-1] ** 1.5)
TABLE = TABLE.sample(frac=1, random_state=0).reset_index(drop=True)
SIGNAL = pd.Series(np.random.default_rng(2).normal(size=34), index=list(NAMED))
MISTAKES = {
    "a misspelt name": lambda names: ["M8x", *names[1:]],
    "another case": lambda names: names.str.upper(),
    "a blank": lambda names: [*names[:-1], f"{names.iloc[-1]} "],
    "numbers": lambda names: np.arange(1, 35),
    "all but one": lambda names: ["?", *names[1:]],
}
TABLES = {
    "homophily": lambda table: st.homophily(NAMED, table, 1, weights=False, draws=0)["r"].values,
    "one column": lambda table: st.homophily(NAMED, table[[*table][:2]], 1, weights=False, draws=0)["r"].values,
    "diagnose": lambda table: st.diagnose(NAMED, table, hops=1, weights=False, draws=0).to_frame()["value"].values,
    "given": lambda table: st.correlogram(NAMED, SIGNAL, 1, weights=False, given=table, draws=39)["r_given"].values,
}


@pytest.mark.parametrize("read", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_names_in_a_table(read, mistake):
    """By names in the first column or in the index, in any order; a mistake is refused and never the order of rows."""
    table = TABLE[["who", "club", "team", "age"]] if read is not TABLES["homophily"] else TABLE[["who", "club", "team"]]
    truth = read(table)
    np.testing.assert_allclose(read(table.sample(frac=1, random_state=5).reset_index(drop=True)), truth)
    wrong = table.assign(who=mistake(table["who"]))
    with pytest.raises(UnknownNameError, match="m"):
        read(wrong)
    if read is not TABLES["one column"]:
        np.testing.assert_allclose(read(table.set_index("who")), truth)
        with pytest.raises((OptionError, UnknownNameError), match="of the DataFrame"):
            read(table[["club", "who", "team"]])


def test_a_mask_finds_its_nodes():
    from spectrata.inputs.graphs import as_graph
    from spectrata.stats.verbs.probe import training_rows

    graph = as_graph(NAMED, weights=False)
    mask = pd.Series(np.arange(34) < 12, index=list(NAMED)).sample(frac=1, random_state=3)
    for one in (mask, mask.astype("boolean"), mask.to_dict(), mask[mask]):
        assert training_rows(one, graph).tolist() == list(range(12))
    with pytest.raises(UnknownNameError, match="'m0 '"):
        training_rows(mask.rename({"m0": "m0 "}), graph)
    assert not len(training_rows(dict.fromkeys(NAMED, "train"), graph))


def test_named_columns_find_each_other():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(34, 3)).cumsum(axis=0), index=list(NAMED), columns=list("xyz"))
    turned, other = table[["z", "x", "y"]], table.rename(columns={"x": "u"})

    def agreement(b):
        given = {"columns": "joint", "metric": "euclidean", "null": "permutation", "draws": 39, "weights": False}
        return st.agree(NAMED, table, b, 1, **given)["r"].values

    np.testing.assert_allclose(agreement(turned), agreement(table))
    np.testing.assert_allclose(agreement(table.to_numpy()), agreement(table))
    with pytest.raises(UnknownNameError, match="against 'u'"):
        agreement(other)
    one, same, apart = (calls.spectra(NAMED, held, "gft", hops=1, weights=False) for held in (table, turned, other))
    assert (st.compare(one, same)["shift_p"] == 1).all()
    assert "against 'u'" in st.compare(one, apart).attrs["shift_test"]


@pytest.mark.parametrize("columns", ["joint", "separate"])
def test_columns_of_draws_are_those_of_the_signal(columns):
    import xarray as xr

    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(34, 2)).cumsum(axis=0), index=list(NAMED), columns=["x", "y"])
    values = rng.normal(size=(40, 34, 2))
    values[:, :, 1] = np.sort(values[:, :, 1], axis=1)
    draws = xr.DataArray(values, {"node": list(NAMED), "c": ["x", "y"]}, ["snapshot", "node", "c"])

    def p(null):
        how = {"hops": 1, "weights": False, "columns": columns, "metric": "euclidean", "level": "band"}
        return st.calibrate(NAMED, table, "gft", null=null, **how)["p"].values

    np.testing.assert_array_equal(p(draws.isel(c=[1, 0])), p(draws))
    with pytest.raises(UnknownNameError, match="against 'u'"):
        p(draws.assign_coords(c=["u", "y"]))


def test_observations_that_moved_are_refused():
    """A Stratification of an AnnData reads values when they are asked for, from an object that others may change."""
    from test_write_back import tissue

    data = tissue()
    strat = st.Stratification(data, 1)
    truth = st.correlogram(strat, "grad", draws=0)["r"].values
    rows = np.random.default_rng(0).permutation(64)
    data.X, data.obs_names = data.X[rows], data.obs_names[rows]
    for name in ("grad", "X", "spatial"):
        with pytest.raises(OptionError, match="observations changed"):
            st.correlogram(strat, name, draws=0)
    matrix = data.obsp["spatial_connectivities"]
    data.obsp["spatial_connectivities"] = matrix[rows][:, rows]
    np.testing.assert_allclose(st.correlogram(st.Stratification(data, 1), "grad", draws=0)["r"].values, truth)


def test_a_gene_that_stands_twice_is_refused():
    from test_write_back import tissue

    data = tissue()
    data.var_names = pd.Index(["grad", "grad", "noise"])
    assert st.correlogram(data, "noise", hops=1, draws=0)["r"].size == 1
    with pytest.raises(DuplicateNameError, match="column 'grad' twice"):
        st.correlogram(data, "grad", hops=1, draws=0)
