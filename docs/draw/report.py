"""Write `docs/examples/karate.html`, the page that README links to: `python docs/draw/report.py`."""

from pathlib import Path

import networkx as nx

import spectrata as st

PAGE = Path(__file__).parents[1] / "examples" / "karate.html"

if __name__ == "__main__":
    graph = nx.karate_club_graph()
    st.write_report(graph, "club", PAGE, hops=4, weights=False)
