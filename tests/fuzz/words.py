"""The words of each format, thrown into its files."""

from . import mutate

LIST = mutate.text(["source target\n", "u v\n", "# x\n", "{'weight': 1}", "{}", "a b", "0 1 1\n", "1 1\n", " #", "{"])
TABLE = mutate.text(
    ["source,target\n", "node,x\n", ",,\n", '""', '"a\nb"', "a,b\n", "#", "\t", ";", "1,2\n", "id", "-,-"]
)
XML = mutate.text(
    [
        "<node/>",
        '<node id="a"/>',
        '<edge source="a" target="b"/>',
        "<graph>",
        "</graph>",
        "<!DOCTYPE a>",
        "&lt;",
        "&#0;",
        "&#65;",
        "&x;",
        "<![CDATA[",
        "]]>",
        '<!ENTITY a "b">',
        "<?x y?>",
        'encoding="utf-7"',
        "directed",
        "<port/>",
        'directed="true"',
        "<hyperedge/>",
        "<data key='d0'>1</data>",
        "xmlns:x='y'",
        "<x:node",
        "<!--",
        "-->",
    ]
)
GML = mutate.text(
    [
        "graph [",
        "node [ id 1 ]",
        "edge [ source 0 target 1 ]",
        "[",
        "]",
        " id ",
        " label ",
        "directed 1",
        '"',
        "#",
        "&#xD800;",
        "&amp;",
        " source ",
        " target ",
        "node 5 ",
        "weight 2 ",
        "1e5",
        ".5.",
    ]
)
MTX = mutate.text(
    [
        "%%MatrixMarket matrix ",
        "coordinate ",
        "array ",
        "pattern",
        "real",
        "integer",
        "complex",
        "symmetric",
        "general",
        "skew-symmetric",
        "hermitian",
        "%",
        "3 3 1\n",
        "1 1 1\n",
        "2 1\n",
        "unsigned-integer",
    ]
)
VECTORS = mutate.text(["3 2\n", "3 1\n", "0 1 2\n", " 1", "2 2\n", "New York 1 2\n", "\t"])


GRAPH_KEYS = [
    f"{key}.npy"
    for key in (
        "edges",
        "n_nodes",
        "num_nodes",
        "names",
        "edge_index",
        "adjacency",
        "shape",
        "data",
        "indptr",
        "indices",
        "format",
        "row",
        "col",
        "weights",
        "edge_weight",
        "../x",
        "",
    )
]
SIGNAL_KEYS = [
    f"{key}.npy"
    for key in (
        "signal",
        "features",
        "x",
        "names",
        "shape",
        "data",
        "indptr",
        "indices",
        "format",
        "row",
        "features_shape",
        "features_data",
        "features_indptr",
        "é",
    )
]
PT_KEYS = [
    "archive/data.pkl",
    "archive/data/0",
    "archive/version",
    "archive/byteorder",
    "archive/constants.pkl",
    "x",
    "archive/.format_version",
]
BASIS_KEYS = [
    f"{key}.npy"
    for key in ("digest", "values", "singletons", "singleton_columns", "sizes", "nodes", "columns", "vectors", "x")
]
