"""Small valid files of every kind, to start from."""

import gzip
import io
import json
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from .containers import make_zip

VALUES = np.array([[0.5, -1.0], [2.0, 0.25], [3.5, 4.0]])
RING = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.asarray(array), allow_pickle=False)
    return buffer.getvalue()


def npz(**arrays: Any) -> bytes:
    return make_zip([(f"{name}.npy", npy(array)) for name, array in arrays.items()])


def _sparse(matrix: Any) -> bytes:
    buffer = io.BytesIO()
    sp.save_npz(buffer, matrix)
    return buffer.getvalue()


def edge_lists() -> list[bytes]:
    return [
        b"# ring\n0 1\n1 2\n2 3\n3 0\n",
        b"a b\nb c 1\nc d 2.5\n",
        b"0 1 {}\n1 2 {'weight': 2.0}\n",
        "source target\nzoë ann\nann bob # a note\n% end\n".encode(),
        b"\xef\xbb\xbf10\t9\r\n9\t100\r\n",
    ]


def graph_tables() -> list[bytes]:
    return [
        b"source,target\na,b\nb,c\nc,a\n",
        b"u;v;weight\n0;1;1\n1;2;0.5\n",
        b'"Ann, B.",Bob\nBob,"Say ""hi"""\n',
        b"id_1,id_2\n0,1\n1,2\n# note\n2,3\n",
    ]


def weighted_lists() -> list[bytes]:
    return [
        b"0 1 2\n1 2 0.5\n2 0 1e3\n",
        b"a b {'weight': 2.0}\nb c {'weight': 3, 'kind': 'x'}\n",
        b"source target weight kind\n0 1 2 x\n1 2 3 y\n",
        b"0 1\n1 2 3\n0 1 2\n",
    ]


def matrix_tables() -> list[bytes]:
    rows = [b"0,1,0,2", b"1,0,1,0", b"0,1,0,1", b"2,0,1,0"]
    named = [b",".join([name, row]) for name, row in zip([b"a", b"b", b"c", b"d"], rows, strict=True)]
    return [
        b"\n".join(rows),
        b"\n".join([b",a,b,c,d", *named]),
        b"\n".join([b"a,b,c,d", *rows]),
        b"\n".join(named),
        b"\n".join([b"0,1,2,3", *rows]),
        b"\n".join(rows).replace(b",", b";"),
        b",a,b\na,0,.5\nb,.5,0\n",
    ]


def graph_arrays() -> list[bytes]:
    dense = np.zeros((4, 4))
    dense[RING[:, 0], RING[:, 1]] = dense[RING[:, 1], RING[:, 0]] = 0.5
    return [npy(dense), npy(RING), npy(RING.T.astype("u2")), npy(dense.astype(bool))]


def node_link() -> list[bytes]:
    nodes = [{"id": "a", "x": 0, "y": 1.5, "age": 3}, {"id": 2, "x": 1, "y": 0, "age": 4}, {"id": [1, 2]}]
    links = [{"source": "a", "target": 2, "weight": 2.5}, {"source": [1, 2], "target": "a", "weight": 1}]
    whole = {"directed": False, "multigraph": False, "graph": {}, "nodes": nodes}
    return [
        json.dumps(whole | {"links": links}).encode(),
        json.dumps(whole | {"edges": links, "directed": True}).encode(),
        json.dumps({"nodes": nodes[:2], "links": links[:1]}).encode(),
    ]


def graphml() -> list[bytes]:
    head = b'<?xml version="1.0" encoding="utf-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    key = b'<key id="d0" for="edge" attr.name="weight" attr.type="double"/>'
    body = (
        b'<graph edgedefault="undirected"><node id="a"/><node id="b"/><node id="c"/>'
        b'<edge source="a" target="b"/><edge source="b" target="c"/></graph></graphml>'
    )
    weighted = body.replace(b'target="b"/>', b'target="b"><data key="d0">2.5</data></edge>')
    return [
        head + body,
        head + key + weighted,
        body.replace(b"</graph></graphml>", b"</graph>").replace(b"<graph ", b"<graphml><graph ") + b"</graphml>",
        head + body.replace(b"undirected", b"directed"),
        head + b"<!-- note -->" + body.replace(b'<edge source="a"', b'<edge directed="false" source="a"'),
    ]


def gexf() -> list[bytes]:
    nodes = b'<nodes><node id="0" label="a"/><node id="1" label="b"/><node id="2"/></nodes>'
    edges = b'<edges><edge id="0" source="0" target="1" weight="2"/><edge id="1" source="2" target="1"/></edges>'
    graph = b'<graph defaultedgetype="undirected">' + nodes + edges + b"</graph></gexf>"
    return [b'<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2">' + graph, b"<gexf>" + graph]


def weighted_graphml() -> list[bytes]:
    key = b'<key id="d0" for="edge" attr.name="weight" attr.type="double"><default>2</default></key>'
    place = b'<key id="x" for="node" attr.name="x"/><key id="y" for="node" attr.name="y" attr.type="float"/>'
    nodes = b"".join(
        b'<node id="%c"><data key="x">%d</data><data key="y">.5</data></node>' % (name, name) for name in b"abc"
    )
    weight = b'<data key="d0">1.5</data>'
    edges = b'<edge source="a" target="b"/><edge source="c" target="b">' + weight + b"</edge></graph></graphml>"
    return [
        b"<graphml>" + key + place + b'<graph edgedefault="undirected">' + nodes + edges,
        b"<graphml>" + key + b'<graph edgedefault="directed">' + nodes + edges,
    ]


def graphml_attributes() -> list[bytes]:
    kinds = {
        "age": (b"int", b"3"),
        "size": (b"double", b"1.5"),
        "kind": (b"string", b"red"),
        "on": (b"boolean", b"true"),
    }
    keys = b"".join(
        b'<key id="%s" for="node" attr.name="%s" attr.type="%s"><default>%s</default></key>'
        % (name.encode(), name.encode(), *kind)
        for name, kind in kinds.items()
    )
    nodes = b"".join(
        b'<node id="%c"><data key="age">%d</data><data key="size">.%d</data><data key="kind">%c</data></node>'
        % (name, name, name, name)
        for name in b"abc"
    )
    edges = b'<edge source="a" target="b"/><edge source="c" target="b"/></graph></graphml>'
    start = b'<graph edgedefault="undirected">'
    return [
        b"<graphml>" + keys + start + nodes + edges,
        b"<graphml>" + keys + start + nodes.replace(b'<data key="age">97</data>', b"") + edges,
        b"<graphml>" + keys.replace(b"<default>3</default>", b"") + start + b'<node id="d"/>' + nodes + edges,
    ]


def label_tables() -> list[bytes]:
    return [
        b"node,label\n0,a\n1,b\n2,a\n",
        b"a\nb\na\n",
        b"id,x,class\n2,9,u\n0,8,v\n",
        b"label\n1\n2\n-1\n",
        b"0;a\n1;b\n",
    ]


def label_documents() -> list[bytes]:
    return [b'{"0": "a", "1": "b", "2": null}', b'["a", "b", "a"]', b"[1, 2, -1]", b"[true, false, true]", b'{"1": 5}']


def label_arrays() -> list[bytes]:
    return [
        npy([0, 1, 0]),
        npy(["a", "b", "a"]),
        npy(np.array([1.0, np.nan, 2.0])),
        npy([True, False, True]),
        npy([[1], [2], [1]]),
    ]


def gml() -> list[bytes]:
    return [
        b'graph [\n  node [ id 0 label "a" ]\n  node [ id 1 label "b" ]\n  edge [ source 0 target 1 ]\n]\n',
        b'Creator "me" # note\ngraph [ directed 0 node [ id 1 ] node [ id 2 graphics [ x -1.5e0 y .5 ] ] '
        b"edge [ source 1 target 2 value 3 ] edge [ source 2 target 1 ] ]",
        b'graph [ node [ id 5 label "&#233;&amp;" ] node [ id 6 label 7 ] edge [ source 5 target 6 weight 1.0 ] ]',
    ]


def matrix_market() -> list[bytes]:
    head = b"%%MatrixMarket matrix "
    return [
        head + b"coordinate pattern symmetric\n% note\n3 3 2\n2 1\n3 2\n",
        head + b"coordinate real general\n3 3 4\n1 2 1.0\n2 1 1.0\n2 3 2.5\n3 2 2.5\n",
        head + b"coordinate integer symmetric\n4 4 2\n2 1 1\n4 3 7\n",
        head + b"array real general\n2 2\n0\n1\n1\n0\n",
        head + b"array integer symmetric\n2 2\n0\n1\n0\n",
        head + b"coordinate real skew-symmetric\n3 3 1\n2 1 1.5\n",
        head + b"coordinate complex hermitian\n3 3 1\n2 1 1.5 0\n",
    ]


def matrix_market_gz() -> list[bytes]:
    return [gzip.compress(data, mtime=0) for data in matrix_market()]


def graph_archives() -> list[bytes]:
    dense = np.zeros((4, 4), dtype=np.int8)
    dense[RING[:, 0], RING[:, 1]] = dense[RING[:, 1], RING[:, 0]] = 1
    arcs = np.concatenate([RING, RING[:, ::-1]]).T
    return [
        npz(edges=RING, n_nodes=5),
        npz(edges=RING, weights=[0.5, 1.0, 2.0, 3.0]),
        npz(edges=RING, names=["a", "b", "c", "d"]),
        npz(edge_index=arcs, num_nodes=4),
        npz(adjacency=dense),
        npz(edges=RING.astype(float)),
        *(_sparse(sp.coo_array(dense).asformat(layout)) for layout in ("csr", "csc", "coo")),
        npz(data=np.ones(8), indices=arcs[1].astype("u8"), indptr=np.array([0, 2, 4, 6, 8], dtype="u8"), shape=[4, 4]),
    ]


def arrays() -> list[bytes]:
    return [
        npy(VALUES),
        npy(VALUES[:, 0]),
        npy(np.stack([VALUES, VALUES + 1])),
        npy(np.asfortranarray(VALUES)),
        npy(VALUES.astype(">f4")),
        npy(np.array([True, False, True])),
        npy(np.array([1, 2, 3], dtype="u8")),
        npy(np.array(["1", "1e4000", "2"], dtype=np.longdouble)),
    ]


def signal_archives() -> list[bytes]:
    return [
        npz(signal=VALUES),
        npz(x=VALUES, names=["2", "0", "1"]),
        npz(anything=VALUES),
        npz(features=VALUES, names=np.array([0, 2, 1])),
        _sparse(sp.csr_array(VALUES)),
        _sparse(sp.coo_array(VALUES)),
        npz(features_data=[1.0, 2.0], features_indices=[0, 1], features_indptr=[0, 1, 1, 2], features_shape=[3, 2]),
    ]


def signal_tables() -> list[bytes]:
    return [
        b"x,y\n0,0.25\n0.5,0.75\n1,2\n",
        b"node,x\n2,1\n0,2\n1,1e-3\n",
        b",0,1\n0,1,2\n1,3,4\n2,5,6\n",
        b"1\n2\n3\n",
        b"\xef\xbb\xbfname;x\r\n0;1\r\n1;2\r\n2;3\r\n",
    ]


def word_vectors() -> list[bytes]:
    return [
        b"3 2\n0 0.5 0.25\n1 -1 1e-3\n2 7 8\n",
        b"0 0.5 0.25\n2 -1 1e-3\n1 7 8\n",
        b"3 1\n0 5\n1 6\n2 7\n",
        b"0 1\n1 2\n2 3",
    ]


def safetensors() -> list[bytes]:
    from safetensors.numpy import save

    return [
        save({"signal": VALUES}),
        save({"only": VALUES.astype("f4")}, metadata={"format": "np"}),
        save({"x": VALUES, "other": np.arange(3), "flag": np.array([True])}),
        save({"half": VALUES.astype("f2")}),
    ]


def tensors() -> list[bytes]:
    import torch

    tensor = torch.tensor(VALUES)
    made = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch on its checks of sparse tensors
        for thing in (
            tensor,
            {"x": tensor, "epoch": 3},
            tensor.to(torch.bfloat16),
            torch.arange(3),
            tensor.to_sparse(),
            tensor.to_sparse_csr(),
            torch.nn.Parameter(tensor),
            torch.zeros(1).expand(3, 2),
            {"state": [1, 2]},
            tensor.T,
        ):
            buffer = io.BytesIO()
            torch.save(thing, buffer)
            made.append(buffer.getvalue())
    return made


def parquet() -> list[bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    x = pa.array([0.5, 1.5, 2.5])
    tables = [
        pa.table({"x": x, "y": x}),
        pa.table({"node": ["2", "0", "1"], "x": x}),
        pa.table({"id": [0, 1, 2], "x": [1, 2, 3], "flag": [True, False, None]}),
        pa.table({"x": pa.array([1, None, 3]), "name": pa.array(["0", None, "2"])}),
        pa.table({"x": pa.array([1, 2, 3], pa.float16()), "y": pa.array([1, 2, 3], pa.uint64())}),
        pa.table({"x": x, "label": pa.array([b"0", b"1", b"2"])}),
        pa.table({"x": pa.array([[1.0], [2.0], []])}),
        pa.table({"x": x, "node": pa.array(["0", "1", "2"]).dictionary_encode()}),
        pa.table([x, x], names=["x", "x"]),
        pa.table({"x": x, "when": pa.array([1, 2, 3], pa.timestamp("s"))}),
    ]
    for stored in ({"index_columns": ["node"]}, {"index_columns": 3}, [], {"index_columns": [{"kind": "range"}]}, "{"):
        words = stored if isinstance(stored, str) else json.dumps(stored)
        table = pa.table({"node": ["0", "1", "2"], "x": x})
        tables.append(table.replace_schema_metadata({b"pandas": words.encode()}))
    made = []
    for table in tables:
        for codec in ("none", "snappy"):
            buffer = io.BytesIO()
            pq.write_table(table, buffer, compression=codec)
            made.append(buffer.getvalue())
    return made
