"""The map of a watched model: a measure over layers and epochs, with its scores."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import OptionError, ResultError
from spectrata.plot.style import MAP, chosen, listed, log_limits, look, plain, thinned, tidy
from spectrata.stats.watched import mode_of, one_mode

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

BAR = 0.14  # inches: about how wide a colour bar is; a layout may make the panel taller
MOST_NAMES = 40  # layers that are named on a map


def training(
    ds: "xr.Dataset",
    measure: str = "off_zero_live",
    ax: "Axes | None" = None,
    *,
    hop: int | None = None,
    mode: str | None = None,
    layers: Iterable[str] | None = None,
    scores: Iterable[str] | None = None,
    log: bool | None = None,
) -> "Axes":
    """Draw one measure over layers and epochs as a map, with the scores of the run below it.

    Parameters
    ----------
    ds : xarray.Dataset
        ``w.dataset`` of a watched model.
    measure : str
        Any variable of the result with one number per layer and pass: "off_zero_live", "effective_rank",
        "dead_rows", "off_zero", "mad" ...
    ax : Axes, optional
        For the map alone, without scores.
    hop : int, optional
        For measures with hops; the first by default.
    mode : {"train", "eval", "control"}, optional
        By default passes in evaluation mode where there are any.
    layers, scores : optional
        All by default.
    log : bool, optional
        Whether colours follow the logarithm; by default where a measure without negative values spans more than two
        decades. Values below 1e-7 of the largest have the last colour.

    Returns
    -------
    Axes
        Of the map; that of the scores is the next one of its figure.

    Examples
    --------
    >>> import networkx as nx, spectrata as st, torch
    >>> from spectrata.torch import Recorder
    >>> probe = Recorder(nx.path_graph(5), hops=1)
    >>> for epoch in range(3):
    ...     probe.record({"conv1": torch.eye(5), "conv2": torch.eye(5) + epoch}, epoch=epoch)
    >>> st.plot.training(probe.dataset, "effective_rank").get_title()
    'effective_rank'
    """
    one, dim = one_mode(ds, mode)
    values = _measure(one, measure, hop, dim)
    names = chosen([str(name) for name in one["layer"].values], "layer", layers)
    values = values.sel(layer=names)
    values = values.isel({dim: np.flatnonzero(values.notnull().any("layer").values)})
    if not values.size:
        raise ResultError(f"{measure!r} has no number at any pass of this mode; choose another mode or measure.")
    known = [str(name) for name in one.data_vars if "score" in one[name].attrs]
    drawn = chosen(known, "score", scores) if known or scores is not None else []
    panels = [ax] if ax is not None else _panels(names, len(drawn) > 0)
    shown = _map(panels[0], values, names, dim, log)
    title = measure if "hop" not in one[measure].dims else f"{measure}, K = {values['hop'].item()}"
    panels[0].set_title(plain(title + mode_words(one)), fontsize=9)
    if ax is None and drawn:
        _scores(panels[1], one.isel({dim: one[dim].isin(values[dim]).values}), drawn, dim)
        panels[0].tick_params(labelbottom=False)
    else:
        panels[0].set_xlabel(dim, fontsize=9)
    tall = panels[0].get_window_extent().height / panels[0].figure.dpi
    bar = panels[0].figure.colorbar(shown, ax=panels[0], fraction=0.04, pad=0.02, aspect=1.4 * tall / BAR)
    bar.ax.tick_params(labelsize=8)
    return panels[0]


def _measure(one: "xr.Dataset", measure: str, hop: int | None, dim: str) -> "xr.DataArray":
    known = [str(name) for name in one.data_vars if {"layer", dim} <= set(one[name].dims) <= {"layer", dim, "hop"}]
    known = [name for name in known if one[name].dtype.kind in "fib"]
    if measure not in known:
        raise OptionError(f"The result has no measure {measure!r} per layer and pass; it has {listed(known)}.")
    values = one[measure]
    if "hop" in values.dims:
        hops = [int(number) for number in one["hop"].values]
        values = values.sel(hop=hops[0] if hop is None else chosen(hops, "hop", hop)[0])
    return values.transpose("layer", dim)


def mode_words(one: "xr.Dataset") -> str:
    """What passes are shown, for the end of a title."""
    return {"eval": ", in evaluation mode", "control": ", without message passing"}.get(mode_of(one), "")


def _panels(names: Sequence[str], with_scores: bool) -> list[Any]:
    from matplotlib.figure import Figure

    height = 1.2 + 0.22 * min(len(names), MOST_NAMES)
    figure = Figure(figsize=(7.0, height + (1.3 if with_scores else 0.3)), layout="constrained")
    if not with_scores:
        return [figure.subplots()]
    ratios = {"height_ratios": [height, 1.2]}
    return list(figure.subplots(2, 1, sharex=True, gridspec_kw=ratios))


def _map(ax: "Axes", values: "xr.DataArray", names: Sequence[str], dim: str, log: bool | None) -> Any:
    from matplotlib.colors import LogNorm, Normalize

    array = values.values.astype(float)
    there = array[np.isfinite(array)]
    limits = log_limits(array)
    if limits is None and log:
        limits = float(there[there > 0].min(initial=1.0)), float(there.max())
    norm: Any = Normalize(min(0.0, there.min()), max(there.max(), min(0.0, there.min()) + 1e-12))
    if limits is not None and log is not False:
        norm = LogNorm(limits[0], max(limits[1], 1.01 * limits[0]))
        array = np.where(array < limits[0], limits[0], array)
    place = values[dim].values.astype(float)
    half = np.diff(place) / 2 if len(place) > 1 else np.array([0.5])
    edges = np.concatenate([[place[0] - half[0]], place[:-1] + half[: len(place) - 1], [place[-1] + half[-1]]])
    shown = ax.pcolormesh(edges, np.arange(len(names) + 1), array, cmap=MAP, norm=norm, rasterized=True)
    ax.set_facecolor("#bdbdbd")  # what was not recorded
    ticks = thinned(len(names), MOST_NAMES)
    ax.set_yticks(ticks + 0.5, [plain(names[at]) for at in ticks])
    ax.set_ylim(len(names), 0)
    ax.tick_params(labelsize=8)
    return shown


def _scores(ax: "Axes", one: "xr.Dataset", names: Sequence[str], dim: str) -> None:
    for index, name in enumerate(names):
        color, dashes, _ = look(index, max(len(names), 2))
        there = one[name].notnull().values
        marker = "o" if there.sum() <= 20 else None
        style = {"color": color, "linestyle": dashes, "marker": marker, "markersize": 3, "linewidth": 1.2}
        ax.plot(one[dim].values[there], one[name].values[there], label=plain(name), gid=name, **style)
    ax.set_xlabel(dim, fontsize=9)
    ax.set_ylabel("score" if len(names) > 1 else plain(names[0]), fontsize=9)
    if len(names) > 1:
        ax.legend(fontsize=7, frameon=False, loc="lower left", bbox_to_anchor=(0.0, 0.96), ncols=4, borderaxespad=0.1)
    tidy(ax)
