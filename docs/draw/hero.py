"""Draw `docs/images/hero.png` and `hero-dark.png`, the picture of the first page: `python docs/draw/hero.py`.

The numbers are those that the first block of README.md prints: r of the karate club's sides at hops 1 to 4.
"""

from contextlib import nullcontext
from pathlib import Path

import networkx as nx
from matplotlib.figure import Figure

import spectrata as st

PICTURE = Path(__file__).parents[1] / "images" / "hero.png"
DPI = 140  # text of 9 points can still be read at the width of a phone


def example():
    """The karate club, and the findings that the first block of README.md prints."""
    graph = nx.karate_club_graph()
    return graph, st.diagnose(graph, "club", hops=4, weights=False)


def draw(dark: bool = False) -> Figure:
    """The club on the left, likeness of its members per hop on the right."""
    graph, found = example()
    with st.plot.dark() if dark else nullcontext():
        network, _ = st.plot.diagnose(found, graph, "club")
    network.set_title("Who left the karate club with whom", loc="left", fontsize=10, fontweight="bold")
    return network.figure


if __name__ == "__main__":
    for dark in (False, True):
        draw(dark).savefig(PICTURE.with_stem("hero-dark") if dark else PICTURE, dpi=DPI)
