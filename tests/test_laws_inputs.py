"""What a graph and a signal come in changes nothing: files, objects of other libraries, types and layouts of arrays."""

import tempfile
from pathlib import Path

import hypothesis.strategies as hs
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp
import xarray as xr
from hypothesis import given
from numpy.testing import assert_array_equal

import calls
import spectrata as st
from roads import INCIDENCE, ROADS
from spectrata.inputs.graphs import as_graph
from spectrata.inputs.signals import as_signal
from strategies import DEFAULT, Case, cases, cases_times, cases_with_signals, run, signals

ALL = (*DEFAULT, "ln_vx", "ens", "ens_raw")
OPTIONS = {"keep": (), **INCIDENCE}
seeds = hs.integers(0, 2**32 - 1)


def assert_same_bits(one, other):
    """The same magnitudes, gradients and strata to the last bit."""
    for name in ("magnitude", "gradient_norm", "eigenvalue", "eigenspace", "n_edges", "status"):
        assert_array_equal(one[name].values, other[name].values, err_msg=name)


# --- graphs -------------------------------------------------------------------------------------------------


def adjacency_of(case):
    x, y = case.edges.T
    ones = np.ones(len(case.edges))
    upper = sp.coo_array((ones, (x, y)), shape=(case.n, case.n))
    return (upper + upper.T).tocsr()


def of_pyg(case):
    import torch
    from torch_geometric.data import Data

    both = np.concatenate([case.edges, case.edges[:, ::-1]]).T
    return Data(edge_index=torch.as_tensor(both.copy()), num_nodes=case.n)


def of_igraph(case):
    import igraph

    return igraph.Graph(n=case.n, edges=case.edges.tolist())


OBJECTS = {
    "edges (E, 2)": lambda case: {"edges": case.edges, "n_nodes": case.n},
    "edges (2, E)": lambda case: {"edges": case.edges.T, "n_nodes": case.n},
    "edges reversed": lambda case: {"edges": case.edges[::-1, ::-1], "n_nodes": case.n},
    "edges of bytes": lambda case: {"edges": case.edges.astype(np.uint8), "n_nodes": case.n},
    "edges big-endian": lambda case: {"edges": case.edges.astype(">i8"), "n_nodes": case.n},
    "edges as pairs": lambda case: {"edges": [tuple(e) for e in case.edges.tolist()], "n_nodes": case.n},
    "csr": lambda case: {"adjacency": adjacency_of(case)},
    "csc": lambda case: {"adjacency": adjacency_of(case).tocsc()},
    "coo": lambda case: {"adjacency": adjacency_of(case).tocoo()},
    "lil": lambda case: {"adjacency": adjacency_of(case).tolil()},
    "dense": lambda case: {"adjacency": adjacency_of(case).toarray()},
    "dense bool": lambda case: {"adjacency": adjacency_of(case).toarray().astype(bool)},
    "dense fortran": lambda case: {"adjacency": np.asfortranarray(adjacency_of(case).toarray())},
    "igraph": lambda case: {"graph": of_igraph(case)},
    "pyg": lambda case: {"graph": of_pyg(case)},
    "Graph": lambda case: {"graph": as_graph(case.graph)},
}


@cases_times(0.5)
@given(cases(max_nodes=9))
def test_graphs_of_every_kind_are_the_same_graph(case):
    for form, given_as in OBJECTS.items():
        # Two edges in an array could be rows or columns, which is refused.
        if len(case.edges) != 2 or not form.startswith("edges") or form == "edges as pairs":
            assert as_graph(**given_as(case)).digest == as_graph(case.graph).digest, form


def write_edge_list(graph, path):
    nx.write_edgelist(graph, path, data=False)


def write_table(graph, path):
    separator = "\t" if path.suffix == ".tsv" else ","
    path.write_text("".join(f"{x}{separator}{y}\n" for x, y in [("source", "target"), *graph.edges]))


def write_npz(graph, path):
    sp.save_npz(path, nx.to_scipy_sparse_array(graph, format="csr"))


def write_matrix_market(graph, path):
    scipy.io.mmwrite(path, nx.to_scipy_sparse_array(graph, dtype=np.int64), symmetry="symmetric")


GRAPH_FILES = {
    "g.txt": write_edge_list,
    "g.edgelist": write_edge_list,
    "g.csv": write_table,
    "g.tsv": write_table,
    "g.graphml": nx.write_graphml,
    "g.gml": nx.write_gml,
    "g.npz": write_npz,
    "g.mtx": write_matrix_market,
}
NAMELESS = (".npz", ".mtx")  # rows alone
LISTS = (".txt", ".edgelist", ".csv", ".tsv")  # isolated nodes are not in them


@cases_times(0.5)
@given(cases(max_nodes=9))
def test_graph_files_are_the_graph(case):
    for name, write in GRAPH_FILES.items():
        graph = nx.Graph(case.graph)
        if Path(name).suffix in LISTS:
            graph.remove_nodes_from(list(nx.isolates(graph)))
        with tempfile.TemporaryDirectory() as folder:
            write(graph, Path(folder) / name)
            found = as_graph(Path(folder) / name)
        # The file may list nodes in an order of its own: compare with the object in that order.
        same = nx.empty_graph()
        same.add_nodes_from(graph if Path(name).suffix in NAMELESS else [int(node) for node in found.names])
        same.add_edges_from(graph.edges)
        assert found.digest == as_graph(same).digest, name


# --- signals ------------------------------------------------------------------------------------------------


def write_names(values, path, names):
    columns = [f"c{k}" for k in range(values.shape[1])]
    frame = pd.DataFrame(values, index=pd.Index(names, name="node"), columns=columns)
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, sep="\t" if path.suffix == ".tsv" else ",")


def write_word_vectors(values, path, names):
    lines = [f"{name} {' '.join(map(repr, row))}" for name, row in zip(names, values.tolist(), strict=True)]
    path.write_text("\n".join([f"{len(values)} {values.shape[1]}", *lines]) + "\n")


def write_safetensors(values, path, names):
    from safetensors.numpy import save_file

    save_file({"signal": np.ascontiguousarray(values)}, path)


def write_torch(values, path, names):
    import torch

    torch.save(torch.as_tensor(np.ascontiguousarray(values)), path)


SIGNAL_FILES = {
    "s.npy": lambda values, path, names: np.save(path, values),
    "s.npz": lambda values, path, names: np.savez(path, signal=values),
    "s.csv": write_names,
    "s.tsv": write_names,
    "s.vec": write_word_vectors,
    "s.parquet": write_names,
    "s.safetensors": write_safetensors,
    "s.pt": write_torch,
}
NAMED = (".csv", ".tsv", ".vec", ".parquet")


@cases_times(0.5)
@given(drawn=cases_with_signals(max_nodes=9), seed=seeds)
def test_signal_files_are_the_signal(drawn, seed):
    """To the last bit, and by name where the file has names."""
    case, signal = drawn
    for name, write in SIGNAL_FILES.items():
        rows = np.arange(case.n)
        if Path(name).suffix in NAMED:
            rows = np.random.default_rng(seed).permutation(case.n)
        with tempfile.TemporaryDirectory() as folder:
            write(signal[rows], Path(folder) / name, rows.tolist())
            found = as_signal(Path(folder) / name, as_graph(case.graph))
        assert_array_equal(found.values[0], signal, err_msg=name)


@pytest.mark.parametrize("name", ["s.npy", "s.npz", "s.safetensors", "s.pt"])
def test_snapshots_in_files(name, tmp_path):
    case = Case(np.array([[0, 1], [1, 2], [1, 3]]), 4)
    many = np.random.default_rng(0).standard_normal((3, 4, 2))
    SIGNAL_FILES[name](many, tmp_path / name, None)
    found = run(case, tmp_path / name)
    assert found.sizes["snapshot"] == 3
    assert_same_bits(found, run(case, many))


def tensor(values):
    import torch

    return torch.as_tensor(np.array(values))


def dask_array(values):
    import dask.array

    return dask.array.from_array(values, chunks=2)


FORMS = {
    "lists": lambda s: s.tolist(),
    "fortran": np.asfortranarray,
    "big-endian": lambda s: s.astype(">f8"),
    "long double": lambda s: s.astype(np.longdouble),
    "every second row": lambda s: np.repeat(s, 2, axis=0)[::2],
    "backwards twice": lambda s: s[::-1].copy()[::-1],
    "a column of a table": lambda s: np.stack([s, s], axis=2)[:, :, 0],
    "broadcast": lambda s: np.broadcast_to(s, (1, *s.shape))[0],
    "masked, nothing masked": lambda s: np.ma.MaskedArray(s, mask=False),
    "torch": tensor,
    "torch with gradient": lambda s: tensor(s).requires_grad_(),
    "torch transposed": lambda s: tensor(s.T.copy()).T,
    "dask": dask_array,
    "sparse": sp.csr_array,
    "mapping": lambda s: {node: s[node] for node in reversed(range(len(s)))},
    "pandas": lambda s: pd.DataFrame(s).sample(frac=1, random_state=0),
    "xarray": lambda s: xr.DataArray(s, dims=("node", "dim"), coords={"node": range(len(s))})[::-1],
}


@cases_times(0.5)
@given(drawn=cases_with_signals(max_nodes=9))
def test_signals_of_every_kind_give_the_same(drawn):
    case, signal = drawn
    for form, given_as in FORMS.items():
        assert_array_equal(as_signal(given_as(signal), as_graph(case.graph)).values[0], signal, err_msg=form)


@cases_times(0.3)
@given(
    cases(max_nodes=9), hs.sampled_from([bool, np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64]), hs.data()
)
def test_whole_numbers_are_numbers(case, dtype, data):
    top = 2 if dtype is bool else 100
    d = data.draw(hs.integers(1, 3))
    low = 0 if dtype in (bool, np.uint8, np.uint64) else -100
    drawn = np.random.default_rng(data.draw(seeds)).integers(low, top, (case.n, d)).astype(dtype)
    assert_same_bits(run(case, drawn, metric="euclidean"), run(case, drawn.astype(np.float64), metric="euclidean"))


@cases_times(0.3)
@given(cases_with_signals(max_nodes=9), hs.sampled_from([np.float16, np.float32, ">f4"]), hs.booleans())
def test_narrow_floats_are_the_doubles_of_the_same_values(drawn, dtype, as_tensor):
    """Nothing is computed in the input's own precision."""
    case, signal = drawn
    narrow = (signal + 0.01).astype(dtype)
    given_ = tensor(narrow.astype(narrow.dtype.newbyteorder("="))) if as_tensor else narrow
    assert_same_bits(run(case, given_), run(case, narrow.astype(np.float64)))


@cases_times(0.3)
@given(cases_with_signals(dims=(1, 1)))
def test_a_number_a_node_is_a_column(drawn):
    case, signal = drawn
    assert_same_bits(run(case, signal[:, 0]), run(case, signal))


# --- nothing is changed -------------------------------------------------------------------------------------


@pytest.mark.parametrize("road", ROADS, ids=[road.name for road in ROADS])
@cases_times(0.08)
@given(drawn=cases_with_signals(), extreme=hs.booleans())
def test_inputs_are_left_as_they_are(road, drawn, extreme):
    """The signal may be read-only memory, and is the same afterwards; so is the graph."""
    case, signal = drawn
    signal = signal * (1e-200 if extreme else 1.0)
    before = signal.copy()
    edges = case.edges.copy()
    signal.setflags(write=False)
    case.edges.setflags(write=False)
    road.spectra(case, signal, DEFAULT)
    assert_array_equal(signal, before)
    assert_array_equal(case.edges, edges)


@cases_times(0.2)
@given(cases_with_signals(max_nodes=8, dims=(2, 3)))
def test_readings_leave_their_inputs_as_they_are(drawn):
    case, signal = drawn
    strat = st.Stratification(case.graph)
    signal.setflags(write=False)
    ds = strat.using(keep=("signal", "eigenvectors")).spectra(signal)
    before = ds.copy(deep=True)
    for read in (
        st.stats.normalize,
        st.merge_eigenspaces,
        st.stats.drop_zero,
        st.off_zero,
        st.summary,
        st.to_table,
        st.diagnose,
    ):
        read(ds)
    st.compare(ds, ds)
    st.smoothness(strat, signal)
    st.calibrate(strat, signal, draws=39)
    xr.testing.assert_identical(ds, before)


# --- chance -------------------------------------------------------------------------------------------------


@cases_times(0.3)
@given(drawn=cases_with_signals(max_nodes=8), seed=hs.integers(0, 2**63 - 1))
def test_the_same_seed_gives_the_same_bits(drawn, seed):
    case, signal = drawn
    options = {"orientation": "random", "seed": seed, "trials": 2, "max_epochs": 4}
    one, other = (run(case, signal, ALL, **options) for _ in range(2))
    assert_same_bits(one, other)
    strat = st.Stratification(case.graph)
    for _ in range(2):  # the second time from what was kept
        assert_same_bits(calls.spectra(strat, signal, ALL, keep=(), **options), one)


@cases_times(0.2)
@given(case=cases(max_nodes=8), data=hs.data())
def test_the_number_of_threads_changes_no_bit(case, data):
    signal = data.draw(signals(case.n, dims=(2, 3)))
    compiled = next(road for road in ROADS if road.name == "compiled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPECTRATA_THREADS", "1")
        one = compiled.spectra(case, signal, DEFAULT)
        patch.setenv("SPECTRATA_THREADS", str(data.draw(hs.integers(2, 5))))
        assert_same_bits(compiled.spectra(case, signal, DEFAULT), one)
