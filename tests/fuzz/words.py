"""The words of each format, thrown into its files; a bar separates them."""

from . import mutate

LIST = mutate.text(["source target\n", "u v\n", "# x\n", "{'weight': 1}", "{}", "a b", "0 1 1\n", "1 1\n", " #", "{"])
TABLE = mutate.text('source,target\n|node,x\n|,,\n|""|"a\nb"|a,b\n|#|\t|;|1,2\n|id|-,-')
XML = mutate.text(
    """<node/>|<node id="a"/>|<edge source="a" target="b"/>|<graph>|</graph>|<!DOCTYPE a>|&lt;|&#0;|&#65;|&x;|<![CDATA[
    |]]>|<!ENTITY a "b">|<?x y?>|encoding="utf-7"|directed|<port/>|directed="true"|<hyperedge/>|<data key='d0'>1</data>
    |xmlns:x='y'|<x:node|<!--|-->"""
)
GML = mutate.text(
    'graph [|node [ id 1 ]|edge [ source 0 target 1 ]|[|]| id | label |directed 1|"|#|&#xD800;|&amp;| source | target '
    "|node 5 |weight 2 |1e5|.5."
)
MTX = mutate.text(
    "%%MatrixMarket matrix |coordinate |array |pattern|real|integer|complex|symmetric|general|skew-symmetric|hermitian"
    "|%|3 3 1\n|1 1 1\n|2 1\n|unsigned-integer"
)
VECTORS = mutate.text(["3 2\n", "3 1\n", "0 1 2\n", " 1", "2 2\n", "New York 1 2\n", "\t"])
HEADER = mutate.text(
    "'shape': |'O'|'V8'|(10000000000000000,)|(0, 99999999999999999999999)|(3,)|(3, 2)|()|'<f8'|'>i2'|'<U3'|'<c16'"
    "|'<f16'|'<M8[ns]'|[('a', '<f8')]|'fortran_order': True|'descr': |{|}|(|)|\\d|0x|b''|'?'|'<f2'"
    f"|{'(' * 300}"
)


def _arrays(names: str) -> list[str]:
    return [f"{name}.npy" for name in names.split()]


GRAPH_KEYS = _arrays(
    "edges n_nodes num_nodes names edge_index adjacency shape data indptr indices format row col weights edge_weight "
    "../x"
)
SIGNAL_KEYS = _arrays(
    "signal features x names shape data indptr indices format row features_shape features_data features_indptr é"
)
BASIS_KEYS = _arrays("digest values alone sizes nodes columns vectors x")
PT_KEYS = ["x", *(f"archive/{name}" for name in ("data.pkl", "data/0", "version", "constants.pkl", ".format_version"))]
