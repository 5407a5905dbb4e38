"""Frames of polars are read as those of pandas are: rows by name, text as labels, a column at a time."""

import networkx as nx
import numpy as np
import pandas as pd

import spectrata as st
from outside import outside

polars = outside("polars")
GRAPH = nx.relabel_nodes(nx.karate_club_graph(), lambda row: f"n{row}")
FRAME = pd.DataFrame({"node": list(GRAPH)[::-1], "x": np.arange(34.0) ** 2, "club": ["a", "b"] * 17})


def test_a_frame_is_that_of_pandas():
    given = {"weights": False, "hops": 2, "draws": 99}
    theirs = polars.DataFrame({name: FRAME[name].tolist() for name in FRAME})
    pd.testing.assert_frame_equal(
        st.diagnose(GRAPH, theirs, **given).to_frame(), st.diagnose(GRAPH, FRAME, **given).to_frame()
    )


def test_a_series_follows_the_order_of_the_nodes():
    values = np.random.default_rng(0).normal(size=12)
    one, other = (st.smoothness(nx.cycle_graph(12), given) for given in (polars.Series("x", values), values))
    np.testing.assert_array_equal(one["dirichlet"], other["dirichlet"])
