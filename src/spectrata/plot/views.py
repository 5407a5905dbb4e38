"""The views of a probe: the score of each, and of the best on rewired graphs."""

from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import OptionError
from spectrata.plot import style
from spectrata.stats.verbs.probe import Probe
from spectrata.stats.views import ALONE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def probe(found: Probe, ax: "Axes | None" = None) -> "Axes":
    """Draw the score of each view of the features, with its standard error, and rewired graphs beside the best.

    Parameters
    ----------
    found : Probe
        A result of :func:`spectrata.probe`.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> graph = nx.karate_club_graph()
    >>> noise = np.random.default_rng(0).normal(size=(34, 4))
    >>> found = st.probe(graph, noise, "club", weights=False)
    >>> st.plot.probe(found).get_yticklabels()[0].get_text()
    'features alone'
    """
    if not isinstance(found, Probe):
        raise OptionError("plot.probe draws a result of st.probe; give one.")
    table, helps = found.to_frame(), found.verdict == "neighbours help"
    sheet = style.Sheet(ax, height=0.5 + 0.32 * len(table), least=6.4)
    ax, theme, names = sheet.ax, sheet.theme, table["view"].tolist()
    dashes: dict[str, Any] = {"linewidth": 0.9, "linestyle": style.DASHES}
    ax.axvline(table["score"][names.index(ALONE)], color=theme.muted, zorder=1, gid="alone", **dashes)
    for place, (name, score, error) in enumerate(zip(names, table["score"], table["error"], strict=True)):
        best = name == found.best and helps
        color, face = (theme.colors[0],) * 2 if best else (theme.muted, theme.paper)
        look: dict[str, Any] = {"color": color, "markersize": 7, "capsize": 0, "elinewidth": 2, "zorder": 3}
        ax.errorbar(score, place, xerr=error, fmt="o", markerfacecolor=face, **look)
    rewired: dict[str, Any] = {"color": theme.colors[1], "markersize": 6, "zorder": 2, "gid": "rewired"}
    handles = [style.mark("score ± standard error", theme.muted, face=theme.paper, linestyle="-", linewidth=2)]
    if helps:
        handles.append(style.mark("best view: neighbours help", theme.colors[0], linestyle="-", linewidth=2))
    if len(found.rewired):
        ax.plot(found.rewired, np.full(len(found.rewired), names.index(found.best)), "x", **rewired)
        handles.append(style.mark("best view on rewired graphs", theme.colors[1], "x"))
    style.row_ticks(ax, names, stems=True)
    sheet.name_axes(f"{found.target.score_name}, cross-validated on the training nodes", "")
    style.tidy(ax)
    sheet.title(found.headline)
    sheet.legend([*handles, style.mark("features alone", theme.muted, "", **dashes)])
    return ax
