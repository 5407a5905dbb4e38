"""Graph files made to do harm."""

import gzip
import pickle
import struct

import numpy as np

from . import seeds
from .containers import make_zip
from .hostile import Hostile, Trap, claim, forged, lying, object_array


def _bomb(name: str, claimed: int, body: bytes) -> bytes:
    """A zip archive whose list claims a size that its bytes do not have."""
    made = bytearray(make_zip([(name, body)]))
    place = made.rindex(b"PK\1\2")
    made[place + 20 : place + 28] = struct.pack("<II", len(body), claimed)
    return bytes(made)


def _laughs() -> bytes:
    steps = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    return f'<?xml version="1.0"?><!DOCTYPE g [<!ENTITY l0 "ha">{steps}]><graphml>&l9;</graphml>'.encode()


def _gz_bomb() -> bytes:
    banner = b"%%MatrixMarket matrix coordinate pattern general\n3 3 1\n"
    return gzip.compress(banner + b"%" * 2**26, 9, mtime=0)


def _graphml(node: str = '<node id="a"/>', graph: str = "") -> bytes:
    rest = '<node id="b"/><edge source="a" target="b"/></graph></graphml>'
    return f"<graphml><graph {graph}>{node}{rest}".encode()


RING = b"0 1\n1 2\n2 0\n"
MTX = b"%%MatrixMarket matrix coordinate "
GRAPHS = [
    Hostile(*row, door="graph")
    for row in [
        ("ten million letters in a line", "g.txt", lambda: b"x" * 10**7, "two columns"),
        ("a name of ten million letters", "g.csv", lambda: b"a,b\n" + b"x" * 10**7 + b",c\n", "accepted"),
        ("utf-16", "g.txt", lambda: RING.decode().encode("utf-16"), "not UTF-8"),
        ("utf-16 without its mark", "g.txt", lambda: RING.decode().encode("utf-16-le"), "binary"),
        ("latin-1", "g.txt", lambda: "zoë ann\n".encode("latin-1"), "not UTF-8"),
        ("a pickle for a list", "g.txt", lambda: pickle.dumps(Trap()), "not UTF-8"),
        ("a pickle for a table", "g.csv", lambda: pickle.dumps(Trap(), 0)),
        ("attributes that are no column", "g.txt", b"a{b c\nd e\n", "accepted"),
        ("half of an attribute", "g.txt", b"a b {'weight'\n", "not a number"),
        ("a weight in another script", "g.txt", lambda: "0 1 ٣\n".encode(), "weight '٣'"),
        ("a weight with an underscore", "g.csv", b"0,1,1_0\n", "weight '1_0'"),
        ("a billion laughs", "g.graphml", _laughs, "DOCTYPE or entities"),
        (
            "an entity from outside",
            "g.graphml",
            b'<!DOCTYPE g [<!ENTITY x SYSTEM "file:///etc/passwd">]><g>&x;</g>',
            "DOCTYPE",
        ),
        ("a billion laughs in GEXF", "g.gexf", _laughs, "DOCTYPE or entities"),
        ("deep GEXF", "g.gexf", lambda: b"<gexf><graph>" + b"<a>" * 99_999 + b"</a>" * 99_999 + b"</graph></gexf>"),
        ("a node without an id", "g.graphml", lambda: _graphml('<node id="a"/><node/>'), "node 2 has no id"),
        (
            "a direction misspelt",
            "g.graphml",
            lambda: _graphml(graph='edgedefault="direct"'),
            "'direct'; write directed or undirected",
        ),
        (
            "an edge's direction misspelt",
            "g.graphml",
            lambda: _graphml().replace(b"<edge", b'<edge directed="yes"'),
            "directed='yes'",
        ),
        (
            "a directed graph in capitals",
            "g.graphml",
            lambda: _graphml(graph='edgedefault="DIRECTED"'),
            "DirectedGraphError: ",
        ),
        ("deep XML", "g.graphml", lambda: b"<a>" * 200_000, "damaged"),
        ("deep XML that ends", "g.graphml", lambda: b"<a>" * 200_000 + b"</a>" * 200_000, "0 graphs"),
        ("an encoding over two lines", "g.graphml", b'<?xml version="1.0" encoding="x\ny"?><g/>', "damaged"),
        ("deep GML", "g.gml", lambda: b"graph [ " * 100_000 + b"] " * 100_000, "nested too deeply"),
        ("a GML number in another script", "g.gml", lambda: "graph [ node [ id ٣ ] ]".encode(), "cannot tokenize"),
        (
            "two ids in a GML node",
            "g.gml",
            b"graph [ node [ id 1 id 2 ] node [ id 3 ] edge [ source 1 target 3 ] ]",
            "damaged",
        ),
        ("a GML node that is a number", "g.gml", b"graph [ node 5 node [ id 1 ] ]", "damaged"),
        (
            "a GML weight beyond floats",
            "g.gml",
            lambda: b"graph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 value 1" + b"0" * 999 + b" ] ]",
            "accepted",
        ),
        (
            "a matrix of 1e12 rows",
            "g.mtx",
            MTX + b"real general\n1000000000000 1000000000000 1\n1 2 1\n",
            "more than the file",
        ),
        (
            "a matrix of many rows behind comments",
            "g.mtx",
            lambda: MTX + b"pattern general\n%" + b"x" * 10**6 + b"\n90000000 90000000 1\n1 2\n",
            "more than the file",
        ),
        (
            "entries cut short",
            "g.mtx",
            MTX + b"real general\n3 3 4\n2 1.0 ",
            "promises 4 entries of 3 numbers and holds 0",
        ),
        ("a last line left open", "g.mtx", MTX + b"real symmetric\n3 3 2\n2 1 1\n3 2 1 ", "accepted"),
        ("an entry with a tail", "g.mtx", MTX + b"real general\n3 3 1\n1 2 1.0 junk\n", "fields in line 3"),
        ("half an integer", "g.mtx", MTX + b"integer symmetric\n3 3 2\n2 1 1\n3 2 0.7\n", "promises integers"),
        (
            "an integer beyond floats",
            "g.mtx",
            lambda: b"%%MatrixMarket matrix array integer symmetric\n2 2\n0\n" + b"1" * 400 + b"\n0\n",
            "infinite",
        ),
        ("a number beyond floats", "g.mtx", MTX + b"real symmetric\n3 3 1\n2 1 1e400\n", "infinite"),
        (
            "fewer entries than promised",
            "g.mtx",
            MTX + b"real general\n3 3 2\n1 2 1\n",
            "promises 2 entries of 3 numbers and holds 1",
        ),
        ("a compressed bomb", "g.mtx.gz", _gz_bomb, "damaged|promises"),
        ("not compressed at all", "g.mtx.gz", MTX, "gzip"),
        ("a size that is not so", "g.npz", lambda: _bomb("edges.npy", 2**32 - 2, seeds.npy(seeds.RING)), "accepted"),
        (
            "2**60 edges in a header",
            "g.npz",
            lambda: lying(edges=forged(claim("(1152921504606846976, 2)", "'<i8'"))),
            "is damaged",
        ),
        ("pickled edges", "g.npz", lambda: lying(edges=object_array()), "pickled objects"),
        ("negative rows", "g.npz", lambda: seeds.npz(edges=[[0, 1], [1, -2], [2, 0]]), "Edge 1"),
        (
            "rows beyond 64 bits",
            "g.npz",
            lambda: seeds.npz(edges=np.array([[0, 1], [1, 2], [2, 2**63]], dtype="u8")),
            "Edge 2",
        ),
        ("rows that are NaN", "g.npz", lambda: seeds.npz(edges=[[0, 1], [1, np.nan], [2, 0]]), "Edge 1"),
        ("1e15 nodes", "g.npz", lambda: seeds.npz(edges=seeds.RING, n_nodes=10**15), "cannot be meant"),
        (
            "names that are no characters",
            "g.npz",
            lambda: lying(edges=seeds.npy(seeds.RING), names=forged(claim("(4,)", "'<U1'"), b"\xff" * 16)),
            "damaged text",
        ),
        (
            "names with a letter that is no character",
            "g.npz",
            lambda: lying(
                edges=seeds.npy(seeds.RING[:1]),
                names=forged(claim("(2,)", "'<U2'"), b"a\0\0\0\0\0\x11\0b\0\0\0c\0\0\0"),
            ),
            "damaged text",
        ),
        (
            "compressed rows that wrap around",
            "g.npz",
            lambda: seeds.npz(
                data=np.ones(2), indices=[1, 0], shape=[2, 2], indptr=np.array([0, 2**64 - 1, 2], dtype="u8")
            ),
            "indptr",
        ),
        (
            "a name with a line break in an archive",
            "g.npz",
            lambda: make_zip([("a\nb.npy", seeds.npy(1)), ("c.npy", seeds.npy(1))]),
            "a\\\\nb",
        ),
    ]
]
