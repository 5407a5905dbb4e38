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
    table, own = found.to_frame(), ax is None
    ax = style.new_axes(1, height=0.5 + 0.32 * len(table), least=6.4)[0] if ax is None else ax
    theme, at = style.theme_of(ax), np.arange(len(table))
    score, error = table["score"].to_numpy(), table["error"].to_numpy()
    alone = float(score[list(table["view"]).index(ALONE)])
    ax.axvline(alone, color=theme.muted, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1, gid="alone")
    helps = found.verdict == "neighbours help"
    for place, view_name in enumerate(table["view"]):
        best = view_name == found.best and helps
        color = theme.colors[0] if best else theme.muted
        look: dict[str, Any] = {"color": color, "markersize": 7, "capsize": 0, "elinewidth": 2, "zorder": 3}
        face = color if best else theme.paper
        ax.errorbar(score[place], place, xerr=error[place], fmt="o", markerfacecolor=face, **look)
        if view_name == found.best and len(found.rewired):
            rewired: dict[str, Any] = {"color": theme.colors[1], "markersize": 6, "zorder": 2, "gid": "rewired"}
            ax.plot(found.rewired, np.full(len(found.rewired), place), "x", **rewired)
    ax.set_yticks(at, list(table["view"]))
    ax.set_ylim(len(table) - 0.4, -0.6)
    ax.set_xlabel(f"{found.target.score_name}, cross-validated on the training nodes", fontsize=9)
    style.tidy(ax)
    dot: dict[str, Any] = {"marker": "o", "markersize": 6, "color": theme.muted, "linewidth": 2}
    handles = [style.mark("score ± standard error", **dot, markerfacecolor=theme.paper)]
    if helps:
        handles.append(style.mark("best view: neighbours help", **dot | {"color": theme.colors[0]}))
    if len(found.rewired):
        cross: dict[str, Any] = {"marker": "x", "linestyle": "none", "color": theme.colors[1]}
        handles.append(style.mark("best view on rewired graphs", **cross))
    handles.append(style.mark("features alone", color=theme.muted, linestyle=(0, (4, 3)), linewidth=0.9))
    style.head(np.array([ax]), own, found.headline)
    style.legend(np.array([ax]), own, handles)
    return ax
