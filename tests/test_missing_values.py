"""Nodes without a value take no part in the tests of a signal, and stay in the graph for its distances."""

import networkx as nx
import numpy as np
import pytest

import spectrata as st
from having import optional
from spectrata.errors import SignalValueError

pytestmark = pytest.mark.filterwarnings("ignore:Ignoring edge weights")
CALLS = (st.diagnose, st.correlogram, st.local)


def named_graph(seed, n=40):
    return nx.relabel_nodes(nx.gnp_random_graph(n, 0.09, seed=seed), lambda node: f"p{node}")


def brute_r(graph, values, hop):
    """r over the pairs of known nodes whose distance in the whole graph is ``hop``."""
    away = dict(nx.all_pairs_shortest_path_length(graph))
    known = [node for node in graph if np.isfinite(values[node])]
    pairs = [(a, b) for a in known for b in known if a != b and away[a].get(b) == hop]
    ends = np.array([values[a] for a, _ in pairs])
    others = np.array([values[b] for _, b in pairs])
    return np.sum((ends - ends.mean()) * (others - ends.mean())) / np.sum((ends - ends.mean()) ** 2)


@pytest.mark.parametrize("seed", range(5))
def test_r_and_p_are_those_of_the_known_nodes_at_distances_of_the_whole_graph(seed):
    graph, rng = named_graph(seed), np.random.default_rng(seed)
    values = {node: float(value) for node, value in zip(graph, rng.normal(size=len(graph)), strict=True)}
    for node in rng.choice(list(graph), 9, replace=False):
        values[node] = np.nan
    found = st.correlogram(graph, values, hops=3, given=None)
    assert "9 of 40 nodes have no value" in found.attrs["note"]
    for hop in (1, 2, 3):
        assert found["r"].sel(hop=hop) == pytest.approx(brute_r(graph, values, hop), abs=1e-12)
    known = [node for node in graph if np.isfinite(values[node])]
    drawn = []
    for _ in range(2000):
        order = rng.permutation(len(known))
        moved = values | {node: values[known[at]] for node, at in zip(known, order, strict=True)}
        drawn.append(brute_r(graph, moved, 1) if len(drawn) < 300 else np.nan)
    drawn = np.array(drawn[:300])
    observed = brute_r(graph, values, 1)
    p = 2 * min(np.mean(drawn >= observed), np.mean(drawn <= observed))
    assert abs(float(found["p"].sel(hop=1)) - min(p, 1)) < 4 * np.sqrt(0.25 / 300) * 2


def test_every_column_has_its_own_nodes():
    pandas = optional("pandas")
    graph, rng = named_graph(3), np.random.default_rng(0)
    frame = pandas.DataFrame(rng.normal(size=(40, 30)), index=list(graph))
    frame.columns = [f"gene {chr(97 + at)}" if at < 26 else f"other {at}" for at in range(30)]
    whole = st.rank_columns(graph, frame, hops=1, draws=99).set_index("column")
    frame.iloc[[2, 5], 3] = np.nan
    frame["team"] = ["x" if at % 2 else None for at in range(40)]
    frame.loc["p1", "team"] = "y"
    found = st.diagnose(graph, frame, hops=1, draws=99)
    rows = {one.column: one for one in found if one.statistic == "r"}
    for name, row in rows.items():
        if name not in ("gene d", "team"):
            assert row.value == pytest.approx(whole["r"][name])
    assert rows["gene d"].value == pytest.approx(brute_r(graph, frame["gene d"].to_dict(), 1))
    assert found.notes[0].startswith("Nodes without a value take no part in its tests: 2 of 'gene d', 20 of 'team'")


def test_what_needs_every_value_refuses_to_have_none():
    graph, rng = named_graph(1), np.random.default_rng(1)
    values = dict(zip(graph, rng.normal(size=40), strict=True))
    gaps = values | {"p7": float("nan")}
    for call in (st.spectra, st.calibrate, lambda g, x: st.agree(g, x, values), st.decoupling):
        with pytest.raises(SignalValueError, match="'p7'"):
            call(graph, gaps)
    for given in (gaps, ["degree", gaps]):
        with pytest.raises(SignalValueError, match="'p7'"):
            st.diagnose(graph, values, given=given)
    for call in CALLS:
        with pytest.raises(SignalValueError, match="nan at node 'p7', column 0"):  # a vector lacks no part of itself
            call(graph, {node: [value, 1.0] for node, value in gaps.items()})
        with pytest.raises(SignalValueError, match="no value at any node"):
            call(graph, dict.fromkeys(graph, float("nan")))
        with pytest.raises(SignalValueError, match="inf at node 'p7'"):
            call(graph, values | {"p7": float("inf")})


def test_an_attribute_that_some_nodes_lack():
    graph, rng = named_graph(2), np.random.default_rng(2)
    nx.set_node_attributes(graph, {node: float(rng.normal()) for node in list(graph)[3:]}, "age")
    found = st.correlogram(graph, "age", hops=1)
    ages = {node: graph.nodes[node].get("age", np.nan) for node in graph}
    assert found["r"].item() == pytest.approx(brute_r(graph, ages, 1))


def test_pages_and_pictures_show_the_known_nodes(tmp_path):
    graph, rng = named_graph(4), np.random.default_rng(3)
    values = dict(zip(graph, rng.normal(size=40), strict=True)) | {"p0": float("nan")}
    st.write_report(graph, values, tmp_path / "page.html")
    assert "1 of 40 nodes have no value" in (tmp_path / "page.html").read_text(encoding="utf-8")
    st.plot.local(st.local(graph, values))
