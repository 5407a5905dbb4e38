"""Files made to do harm end in their kind of error, in one sentence, and nothing is ever unpickled."""

import contextlib
import json
import os
import pickle
import warnings
from pathlib import Path

import h5py
import networkx as nx
import numpy as np
import pytest

import spectrata as st
from commanding import run
from fuzz import hostile, seeds, stores
from fuzz.hostile_graphs import GRAPHS
from fuzz.hostile_signals import SIGNALS
from spectrata import errors
from spectrata.inputs.graphs import as_graph
from spectrata.inputs.signals import as_signal
from spectrata.torch.log.zarr import ZarrLog

THREE = as_graph(edges=[(0, 1), (1, 2), (0, 2)])
CUTS = [
    ("graph", "g.graphml", seeds.graphml),
    ("graph", "g.gml", seeds.gml),
    ("graph", "g.mtx", seeds.matrix_market),
    ("graph", "g.mtx.gz", seeds.matrix_market_gz),
    ("graph", "g.npz", seeds.graph_archives),
    ("signal", "s.npy", seeds.arrays),
    ("signal", "s.npz", seeds.signal_archives),
    ("signal", "s.parquet", seeds.parquet),
    ("signal", "s.safetensors", seeds.safetensors),
    ("signal", "s.pt", seeds.tensors),
]


TEXTS = [
    ("graph", "g.txt", seeds.edge_lists),
    ("graph", "g.csv", seeds.graph_tables),
    ("signal", "s.csv", seeds.signal_tables),
    ("signal", "s.vec", seeds.word_vectors),
]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert not (tmp_path / hostile.TRAP).exists(), "something was unpickled"


def bring(door: str, path: Path) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", errors.SpectrataWarning)
        try:
            if door == "graph":
                as_graph(path)
            elif door == "signal":
                as_signal(path, THREE)
            else:
                st.open(path)
        finally:
            assert not said, f"a library's own remark: {said[0].message}"


def refused(door: str, path: Path, kind: type[Exception] = errors.SpectrataError, words: str = ".") -> None:
    with pytest.raises(kind, match=words) as caught:
        bring(door, path)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 1500


def test_the_trap_works(place):
    pickle.loads(pickle.dumps(hostile.Trap()))
    (place / hostile.TRAP).rmdir()


@pytest.mark.parametrize("case", [*GRAPHS, *SIGNALS], ids=lambda case: f"{case.file}: {case.name}")
def test_hostile(place, case):
    path = place / case.file
    path.write_bytes(case.content if isinstance(case.content, bytes) else case.content())
    kind, _, words = case.says.rpartition(": ")
    if words == "accepted":
        bring(case.door, path)
    else:
        refused(case.door, path, getattr(errors, kind or "FileFormatError"), words or ".")


@pytest.mark.parametrize(("door", "name", "made"), CUTS, ids=lambda value: value if isinstance(value, str) else "")
def test_cut_anywhere(place, door, name, made):
    whole = made()[0]
    path = place / name
    for length in sorted(
        {*range(1, 40), *range(40, len(whole), max(1, len(whole) // 60))} & set(range(1, len(whole) - 1))
    ):
        path.write_bytes(whole[:length])
        refused(door, path)


def test_text_cut_anywhere(place):
    """A list or a table that is cut is refused, or is a shorter list: never anything else."""
    for door, name, made in TEXTS:
        for whole in made():
            for length in range(1, len(whole)):
                (place / name).write_bytes(whole[:length])
                with contextlib.suppress(errors.SpectrataError):
                    bring(door, place / name)


# ---- what is no file


@pytest.mark.parametrize(
    ("door", "name"),
    [("graph", "g.txt"), ("graph", "g.npz"), ("signal", "s.npy"), ("signal", "s.pt"), ("open", "r.nc")],
)
class TestOddFiles:
    def test_directory(self, place, door, name):
        (place / name).mkdir()
        refused(door, place / name, words="directory|not a file")

    def test_symbolic_links_in_a_circle(self, place, door, name):
        (place / name).symlink_to(place / f"other-{name}")
        (place / f"other-{name}").symlink_to(place / name)
        refused(door, place / name, words="no such file|does not exist")

    def test_empty(self, place, door, name):
        (place / name).touch()
        refused(door, place / name, words="empty|cannot be read")

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
    def test_a_pipe_is_not_waited_for(self, place, door, name):
        os.mkfifo(place / name)
        refused(door, place / name, words="pipe|not a file")

    @pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no such device here")
    def test_a_device_is_not_read(self, place, door, name):
        (place / name).symlink_to("/dev/zero")
        refused(door, place / name, words="device|not a file")


def test_odd_names_of_files_stay_on_one_line(place):
    refused("graph", place / "a\nb.txt", errors.FileFormatError, r"a\\nb\.txt")
    refused("graph", place / ("x" * 5000 + ".txt"), errors.FileFormatError, "cannot be opened")


# ---- labels


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "../../etc/passwd", "a\\b", "[red]", "=1+1", "x" * 5000, "\x1b[31m", "‮abc"]
)
def test_labels_are_only_text(place, name):
    (place / "g.csv").write_text(f'source,target\n"{name}",b\nb,c\n', encoding="utf-8")
    (place / "s.csv").write_text(f'node,x\n"{name}",1\nb,2\nc,4\n', encoding="utf-8")
    graph = as_graph(place / "g.csv")
    assert graph.names[0] == name
    ds = st.spectra(graph, as_signal(place / "s.csv", graph), algorithms="gft")
    st.save(ds, place / "r.nc")
    assert st.open(place / "r.nc")["node"].values[0] == name
    assert sorted(os.listdir(place)) == ["g.csv", "r.nc", "s.csv"]


# ---- numbers of nodes, weights


@pytest.mark.parametrize("count", [10**10, 10**15, 10**30, 10**400])
def test_more_nodes_than_memory(count):
    with pytest.raises(errors.MemoryEstimateError, match="check n_nodes"):
        as_graph(edges=[(0, 1), (1, 2), (2, 0)], n_nodes=count)


def test_a_sparse_matrix_of_more_nodes_than_memory():
    import scipy.sparse as sp

    matrix = sp.coo_array((np.ones(2), ([0, 1], [1, 0])), shape=(10**15, 10**15))
    with pytest.raises(errors.MemoryEstimateError, match="1000000000000000 nodes"):
        as_graph(matrix)


def test_weights_that_are_arrays():
    graph = nx.path_graph(3)
    graph.edges[0, 1]["weight"] = np.array([1.0, 2.0])
    with pytest.raises(errors.GraphTypeError, match="weight is an array"):
        as_graph(graph)


# ---- results


class TestStores:
    @pytest.fixture
    def store(self, place):
        return hostile.zarr_result(place / "r.zarr")

    def test_sound(self, store):
        bring("open", store)

    @pytest.mark.parametrize(
        "changes",
        [
            {"filters": [{"id": "pickle", "protocol": 5}]},
            {"compressor": {"id": "pickle"}},
            {"dtype": "|O", "filters": [{"id": "vlen-utf8"}, {"id": "pickle"}]},
        ],
    )
    def test_codecs_that_unpickle(self, store, changes):
        hostile.change_array(store, "status", **changes)
        (store / "status" / "0.0").write_bytes(pickle.dumps(hostile.Trap()))
        refused("open", store, errors.ResultError, "'pickle'")
        with pytest.raises(errors.ResultError, match="'pickle'"):
            ZarrLog(store).open()

    @pytest.mark.parametrize("name", ["numcodecs.pickle", "blosc"])
    def test_codecs_of_the_third_format(self, place, name):
        """Also inside others; zarr itself does not know pickle there."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the third format is new
            stores.results()["least"].to_zarr(place / "r.zarr", zarr_format=3)
        bring("open", place / "r.zarr")
        path = place / "r.zarr" / "zarr.json"
        whole = json.loads(path.read_text(encoding="utf-8"))
        array = whole["consolidated_metadata"]["metadata"]["magnitude"]
        inside = {"chunk_shape": array["shape"], "codecs": [{"name": "bytes"}, {"name": name, "configuration": {}}]}
        inside |= {"index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}
        array["codecs"] = [{"name": "sharding_indexed", "configuration": inside}]
        path.write_text(json.dumps(whole), encoding="utf-8")
        refused("open", place / "r.zarr", errors.ResultError, name)

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"shape": [1, 10**14], "chunks": [1, 1000]}, "claims"),
            ({"shape": [1, 1], "chunks": [1, 10**14]}, "claims"),
            ({"shape": [1, -1]}, "is it damaged"),
            ({"shape": 5}, "is it damaged"),
            ({"shape": [10**30, 1]}, "claims"),
        ],
    )
    def test_sizes(self, store, changes, words):
        hostile.change_array(store, "status", **changes)
        refused("open", store, errors.ResultError, words)

    def test_folders_elsewhere(self, store, place):
        (store / "signal").symlink_to(place)
        refused("open", store, errors.ResultError, "other files or folders")

    @pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b"\xff", b"[]", b"5"])
    def test_damaged_metadata(self, store, content):
        (store / ".zmetadata").write_bytes(content)
        with contextlib.suppress(errors.ResultError):  # what is no list of arrays is made again from the arrays
            bring("open", store)

    @pytest.mark.parametrize("lost", ["edges", "magnitude"])
    def test_a_lost_chunk_is_noticed(self, store, lost):
        for chunk in list((store / lost).glob("[0-9]*")):
            chunk.unlink()
        refused("open", store, errors.ResultError)

    def test_the_same_bits_of_another_type(self, store):
        hostile.change_array(store, "eigenspace", dtype="<f8")
        refused("open", store, errors.ResultError, "does not hold the numbers")

    def test_a_hash_that_says_nothing(self, store):
        facts = json.loads((store / ".zattrs").read_text(encoding="utf-8")) | {"content_hash": None}
        (store / ".zattrs").write_text(json.dumps(facts), encoding="utf-8")
        refused("open", store, errors.ResultError, "does not hold the numbers")

    def test_pipes_and_links_inside(self, store, place):
        (store / "eigenspace" / "0.1").symlink_to(place / "r.zarr" / ".zattrs")
        refused("open", store, errors.ResultError, "other files")

    def test_blosc_is_not_asked_to_read_too_far(self, store):
        """A chunk that states more bytes than it has makes blosc read on into other memory: it is never asked."""
        lengthy = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}
        hostile.change_array(store, "eigenspace", compressor=lengthy)
        chunk = bytes.fromhex("02013308180000011800000028000001") + bytes(24)
        (store / "eigenspace" / "0.0").write_bytes(chunk)
        refused("open", store, errors.ResultError, "codec 'blosc'")

    def test_a_file_for_a_folder(self, place):
        (place / "r.zarr").write_bytes(b"x")
        refused("open", place / "r.zarr", errors.ResultError, "not a folder")


class TestNetCDF:
    def test_every_number_is_checked(self, place):
        """The hash covers edges, sizes and names too, which it once did not."""
        ds = stores.results()["whole"]
        for name in ("edges", "eigenspace", "multiplicity", "n_edges", "hop", "node", "status", "algorithm"):
            path = st.save(ds, place / "r.nc")
            bring("open", path)
            with h5py.File(path, "r+") as file:
                values = file[name][...]
                values.flat[0] = values.flat[0] + 1 if values.dtype.kind in "iuf" else b"x"
                file[name][...] = values
            try:
                refused("open", path, errors.ResultError, "does not hold the numbers|no result")
            except BaseException:
                pytest.fail(f"a changed {name} was not noticed")

    def test_no_damage_reaches_the_library(self, place):
        """HDF5 can loop without end on a damaged file; a flipped bit is found before it is asked."""
        path = hostile.netcdf_result(place / "r.nc")
        whole = path.read_bytes()
        for position in range(0, len(whole), 97):
            path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
            refused("open", path, errors.ResultError, "is damaged: it is not what was written")

    def test_what_others_changed_still_opens(self, place):
        path = st.save(stores.results()["whole"], place / "r.nc")
        with h5py.File(path, "r+") as file:
            file.attrs["comment"] = "mine"  # as programs for netCDF leave one
        assert st.open(path).attrs["comment"] == "mine"

    @pytest.mark.parametrize(
        ("deed", "words"),
        [
            (lambda file: _linked(file), "other files"),
            (lambda file: _virtual(file), "other files"),
            (lambda file: _external(file), "other files"),
            (stores._huge, "claims"),
            (stores._replaced("edges", np.array([[0, 1]])), "edges have"),
            (stores._replaced("edges", np.array([[0.5, 1.5]])), "edges have"),
            (stores._replaced("magnitude", "text"), "."),
            (stores._attribute("options", "{"), "options"),
            (lambda file: file.__delitem__("eigenvalue"), "no eigenvalue"),
        ],
    )
    def test_refused(self, place, deed, words):
        def bare(file):
            del file.attrs["content_hash"]
            deed(file)

        refused("open", hostile.netcdf_result(place / "r.nc", bare), errors.ResultError, words)

    @pytest.mark.parametrize(
        ("deed", "words"),
        [
            (lambda file: file["edges"].__setitem__(0, (0, 99)), "the graph has 3 nodes"),
            (stores._attribute("n_nodes", 2), "the graph has 2 nodes"),
            (stores._attribute("n_nodes", 10**15), "check n_nodes"),
        ],
    )
    def test_edges_are_checked_where_they_are_read(self, place, deed, words):
        def bare(file):
            del file.attrs["content_hash"]
            deed(file)

        with pytest.raises(errors.SpectrataError, match=words):
            st.diagnose(st.open(hostile.netcdf_result(place / "r.nc", bare)), [0.0, 1.0, 3.0])

    def test_cut_anywhere(self, place):
        whole = hostile.netcdf_result(place / "r.nc").read_bytes()
        sealed = len(whole) - whole.rindex(b"\nspectrata sha256 ")
        for length in range(0, len(whole) - sealed, len(whole) // 40):
            (place / "r.nc").write_bytes(whole[:length])
            refused("open", place / "r.nc", errors.ResultError)


def _linked(file):
    file["elsewhere"] = h5py.ExternalLink("/etc/passwd", "/")


def _external(file):
    file.create_dataset("elsewhere", shape=(10,), dtype="u1", external=[("/etc/passwd", 0, 10)])


def _virtual(file):
    layout = h5py.VirtualLayout(shape=(3,), dtype="f8")
    layout[:] = h5py.VirtualSource("other.h5", "x", shape=(3,))
    file.create_virtual_dataset("elsewhere", layout)


class TestManyGraphs:
    def test_damage_is_told(self, place):
        pairs = stores.many_pairs()
        st.spectra_many(pairs, store=place / "m.zarr", hops=1, algorithms="gft")
        for chunk in (place / "m.zarr" / "digest").glob("[0-9]*"):
            chunk.write_bytes(b"\xff" * chunk.stat().st_size)
        with pytest.raises(errors.ResultError, match="cannot be read"):
            st.spectra_many(pairs, store=place / "m.zarr", hops=1, algorithms="gft")

    def test_what_libraries_remark_is_not_passed_on(self, place):
        pairs = stores.many_pairs()
        st.spectra_many(pairs, store=place / "m.zarr", hops=1, algorithms="gft")
        path = place / "m.zarr" / ".zmetadata"
        whole = json.loads(path.read_text())
        for name, array in whole["metadata"].items():
            if name.endswith(".zarray") and array["filters"] is None:
                array["filters"] = []  # which Zarr would rather have as null
        path.write_text(json.dumps(whole))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            st.spectra_many(pairs, store=place / "m.zarr", hops=1, algorithms="gft")

    def test_codecs_that_unpickle(self, place):
        pairs = stores.many_pairs()
        st.spectra_many(pairs, store=place / "m.zarr", hops=1, algorithms="gft")
        hostile.change_array(place / "m.zarr", "error", filters=[{"id": "vlen-utf8"}, {"id": "pickle"}])
        with pytest.raises(errors.ResultError, match="'pickle'"):
            st.spectra_many(pairs, store=place / "m.zarr", hops=1, algorithms="gft")


def test_bands_of_a_constant_signal_as_json(place):
    """Shares of nothing are undefined; JSON has no NaN, so they are null."""
    (place / "g.txt").write_text("0 1\n1 2\n2 3\n3 0\n")
    np.save(place / "s.npy", np.ones(4))
    done = run("profile", "g.txt", "s.npy", "--bands", 2, "--json", "-o", "out")
    assert done.exit_code == 0, done.stderr
    assert None in np.ravel(json.loads(done.stdout)["cumulative"]).tolist()
