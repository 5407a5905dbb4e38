"""Signal files made to do harm."""

import io
import json
import pickle
import struct
import warnings
import zipfile
from typing import Any

import numpy as np

from . import seeds
from .containers import make_zip
from .hostile import Hostile, Trap, claim, forged, lying, object_array


def _torch_pickle(payload: bytes) -> bytes:
    return make_zip([("archive/data.pkl", payload), ("archive/version", b"3\n"), ("archive/byteorder", b"little")])


def _safetensors(header: bytes, body: bytes = b"", length: int | None = None) -> bytes:
    return struct.pack("<Q", len(header) if length is None else length) + header + body


def _parquet(first: list[Any] | None = None, names: list[str] | None = None, note: bytes | None = None) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table([pa.array(first or [0.5, 1.5, 2.5]), pa.array([1.0, 2.0, 3.0])], names=names or ["x", "y"])
    buffer = io.BytesIO()
    pq.write_table(table if note is None else table.replace_schema_metadata({b"pandas": note}), buffer)
    return buffer.getvalue()


def _parquet_bomb() -> bytes:
    """A few kilobytes that would be ten terabytes of text, were every name written out."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(10**6, dtype=np.int32)), pa.array(["x" * 10**7]))
    buffer = io.BytesIO()
    pq.write_table(pa.table({"node": names, "x": pa.array(np.zeros(10**6, dtype=np.int8))}), buffer, compression="zstd")
    return buffer.getvalue()


def _wild_sparse() -> bytes:
    import torch

    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch on its checks of sparse tensors
        torch.save(torch.sparse_coo_tensor(torch.tensor([[0, 2], [1, 0]]), torch.tensor([1.0, 2.0]), (3, 2)), buffer)
    with zipfile.ZipFile(io.BytesIO(buffer.getvalue())) as archive:
        parts = [(info.filename, archive.read(info)) for info in archive.infolist()]
    wild = np.array([0, 2**40, 1, -(2**40)], dtype="<i8").tobytes()
    tame = np.array([0, 2, 1, 0], dtype="<i8").tobytes()
    return make_zip([(name, wild if data == tame else data) for name, data in parts])


SIGNALS = [
    Hostile(*row, door="signal")
    for row in [
        (
            "1e15 rows in a header",
            "s.npy",
            lambda: forged(claim("(1000000000000000,)")),
            "MemoryEstimateError: fit into memory",
        ),
        ("an empty array of any width", "s.npy", lambda: forged(claim("(0, 99999999999999999999)")), "is damaged"),
        ("a hundred dimensions", "s.npy", lambda: forged(claim("(" + "0, " * 100 + ")")), "is damaged"),
        (
            "a header that runs code",
            "s.npy",
            lambda: forged("{'descr': __import__('os').mkdir('unpickled')}"),
            "damaged",
        ),
        ("a deep header", "s.npy", lambda: forged("(" * 9000), "damaged"),
        ("a header with an odd escape", "s.npy", lambda: forged(claim("(3,)").replace("shape", "sh\\de")), "damaged"),
        ("a pickled array", "s.npy", object_array, "pickled objects"),
        ("a bare pickle", "s.npy", lambda: pickle.dumps(Trap()), "is damaged"),
        ("records", "s.npy", lambda: forged(claim("(3,)", "[('a', '<f8')]"), bytes(24)), "save plain numbers"),
        ("NaN", "s.npy", lambda: seeds.npy([1.0, np.nan, 2.0]), "SignalValueError: nan"),
        (
            "a long double beyond floats",
            "s.npy",
            lambda: seeds.npy(np.array(["1", "1e4000", "2"], dtype=np.longdouble)),
            "SignalValueError: inf",
        ),
        ("complex numbers", "s.npy", lambda: seeds.npy([1j, 2, 3]), "real numbers"),
        ("pickled features", "s.npz", lambda: lying(signal=object_array()), "pickled objects"),
        ("a pickle for an archive", "s.npz", lambda: pickle.dumps(Trap()), "not an .npz"),
        (
            "a sparse matrix of 1e18 numbers",
            "s.npz",
            lambda: seeds.npz(data=[1.0], row=[0], col=[0], shape=[10**9, 10**9], format="coo"),
            "MemoryEstimateError: needs more than",
        ),
        ("1e400 in a table", "s.csv", b"x\n1e400\n1\n2\n", "SignalValueError: inf"),
        ("digits of another script", "s.csv", lambda: "x,y\n1,٣\n2,2\n3,3\n".encode(), "'٣' is not a number"),
        ("an underscore in a number", "s.csv", b"x,y\n1,1_0\n2,2\n3,3\n", "'1_0' is not a number"),
        ("a hexadecimal number", "s.csv", b"x,y\n1,0x1\n2,2\n3,3\n", "'0x1' is not a number"),
        ("a ragged table", "s.csv", b"x,y\n1,2\n3\n4,5\n", "line 3. the row has 1 of 2 cells"),
        ("a cell of ten million digits", "s.csv", lambda: b"x\n" + b"1" * 10**7 + b"\n1\n2\n", "SignalValueError: inf"),
        ("a pickle for a table", "s.csv", lambda: pickle.dumps(Trap(), 0)),
        ("names twice", "s.csv", b"node,x\n0,1\n0,2\n1,3\n", "DuplicateNameError: twice"),
        (
            "a name of a hundred thousand letters",
            "s.csv",
            lambda: b"node,x\n" + b"a" * 10**5 + b",1\nb,2\nc,3\n",
            r"UnknownNameError: aaa\.\.\.aaa",
        ),
        ("a lie in the first line", "s.vec", b"999999999999 2\n0 1 2\n1 3 4\n2 5 6\n", "promises 999999999999"),
        ("a length of a billion", "s.vec", b"3 999999999\n0 1 2\n1 3 4\n2 5 6\n"),
        ("control characters in a word", "s.vec", b"0 1 2\n1 3 4\n\x1b[31m 5 6\n", "UnknownNameError: x1b"),
        ("a header of 2**62 bytes", "s.safetensors", lambda: _safetensors(b"{}", length=2**62), "cannot be read"),
        (
            "offsets outside the file",
            "s.safetensors",
            lambda: _safetensors(
                json.dumps({"x": {"dtype": "F64", "shape": [10**15], "data_offsets": [0, 8 * 10**15]}}).encode()
            ),
            "cannot be read",
        ),
        ("a pickle for tensors", "s.safetensors", lambda: pickle.dumps(Trap()), "cannot be read"),
        ("a pickle in a tensor file", "s.pt", lambda: _torch_pickle(pickle.dumps(Trap(), 2)), "code is never loaded"),
        ("an old tensor file", "s.pt", lambda: pickle.dumps(Trap()), "old format"),
        (
            "a script for a tensor",
            "s.pt",
            lambda: make_zip(
                [
                    ("archive/constants.pkl", pickle.dumps(Trap(), 2)),
                    ("archive/data.pkl", pickle.dumps(Trap(), 2)),
                    ("archive/version", b"3\n"),
                ]
            ),
            "code is never loaded",
        ),
        ("a list for a tensor", "s.pt", lambda: _torch_pickle(pickle.dumps([1, 2], 2)), "list, not a tensor"),
        ("sparse indices outside the tensor", "s.pt", _wild_sparse, "damaged|save it dense"),
        ("a pickle for parquet", "s.parquet", lambda: pickle.dumps(Trap()), "not parquet"),
        ("two columns of one name", "s.parquet", lambda: _parquet(names=["x", "x"]), "DuplicateNameError: 'x' twice"),
        ("a damaged note of pandas", "s.parquet", lambda: _parquet(note=b"{"), "accepted"),
        ("a note of pandas that is a number", "s.parquet", lambda: _parquet(note=b'{"index_columns": 5}'), "accepted"),
        ("a note that names no column", "s.parquet", lambda: _parquet(note=b'{"index_columns": ["z"]}'), "accepted"),
        ("a gap among truths", "s.parquet", lambda: _parquet([True, None, False]), "SignalValueError: nan"),
        (
            "a gap among names",
            "s.parquet",
            lambda: _parquet(["0", None, "2"], ["node", "x"]),
            "UnknownNameError: 'None'",
        ),
        (
            "bytes for names",
            "s.parquet",
            lambda: _parquet([b"0", b"1", b"2"], ["node", "x"]),
            "SignalTypeError: 'node' of",
        ),
        ("a million copies of a long name", "s.parquet", _parquet_bomb, "DuplicateNameError: twice"),
    ]
]
