"""Pictures of a watched model: a measure over layers and epochs, spectra of layers, and what each layer filters."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.analysis.align import align
from spectrata.analysis.levels import group_reduce, level_groups
from spectrata.core.registry import EXACT
from spectrata.errors import OptionError, ResultError
from spectrata.inputs.numbers import whole
from spectrata.plot.style import GREY, MAP, chosen, listed, look, new_axes, plain, thinned, tidy
from spectrata.results.schema import View, view

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

TIMES = ("epoch", "step")
DECADES = 2.0  # a measure that spans more than this many is coloured by its logarithm
STATES = ("input", "hidden", "output")
BINS = 30
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
        Whether colours follow the logarithm; by default where a positive measure spans more than two decades.

    Returns
    -------
    Axes
        Of the map; that of the scores is the next one of its figure.

    Examples
    --------
    >>> import networkx as nx, spectrata as st, torch
    >>> from spectrata.torch import SpectrumProbe
    >>> probe = SpectrumProbe(nx.path_graph(5), hops=1)
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
    bar = panels[0].figure.colorbar(shown, ax=panels[0], fraction=0.04, pad=0.02)
    bar.ax.tick_params(labelsize=8)
    return panels[0]


def one_mode(ds: "xr.Dataset", mode: str | None) -> tuple["xr.Dataset", str]:
    """One mode of a watched run, and the dimension of its passes."""
    found = [dim for dim in TIMES if dim in getattr(ds, "dims", ())]
    if not found or "layer" not in ds.dims:
        raise ResultError("This picture shows layers and epochs; give w.dataset of a watched model.")
    if "mode" in ds.dims:
        modes = [str(name) for name in ds["mode"].values]
        ds = ds.sel(mode=chosen(modes, "mode", mode)[0] if mode else "eval" if "eval" in modes else modes[0])
    elif mode is not None and ds.attrs.get("pass_mode") != mode:
        raise OptionError(f"The result has no mode {mode!r}; it has {ds.attrs.get('pass_mode')}.")
    return ds, found[0]


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
    mode = str(one["mode"].item()) if "mode" in one.coords else str(one.attrs.get("pass_mode", ""))
    return {"eval": ", in evaluation mode", "control": ", without message passing"}.get(mode, "")


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
    positive = there[there > 0]
    spans = len(positive) == len(there) and np.log10(positive.max() / positive.min()) > DECADES
    scale: Any = LogNorm if (spans if log is None else log) else Normalize
    least = positive.min() if scale is LogNorm else min(0.0, there.min())
    place = values[dim].values.astype(float)
    half = np.diff(place) / 2 if len(place) > 1 else np.array([0.5])
    edges = np.concatenate([[place[0] - half[0]], place[:-1] + half[: len(place) - 1], [place[-1] + half[-1]]])
    norm = scale(vmin=least, vmax=max(there.max(), least * 1.01 if least > 0 else least + 1e-12))
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
        ax.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    tidy(ax)


def layers(
    ds: "xr.Dataset",
    ax: "Axes | None" = None,
    *,
    labels: "xr.Dataset | None" = None,
    hop: int | None = None,
    names: Iterable[str] | None = None,
    bins: int = BINS,
) -> "Axes":
    """Draw the spectrum of each layer in bins, energy over that of a flat spectrum, on a log scale.

    Parameters
    ----------
    ds : xarray.Dataset
        One pass with its layers as snapshots: ``w.over_layers()``; or any result with snapshots, with gft.
    ax : Axes, optional
    labels : xarray.Dataset, optional
        A result without snapshots on the same graph, such as that of the classes as indicators; drawn over the rest.
    hop : int, optional
        The first by default.
    names : optional
        Snapshots to draw; by default the input, the hidden states and the output of a watched pass, else all.
    bins : int
        Bins of equal counts of components off zero.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> values = np.random.default_rng(0).normal(size=(3, 40, 2))
    >>> axes = st.plot.layers(st.spectra(nx.cycle_graph(40), values, "gft", hops=1), bins=5)
    >>> axes.get_title(), len(axes.get_lines())
    ('gft, K = 1: energy over a flat spectrum', 4)
    """
    result, rows, shown, row = _rows(ds, names, hop)
    energy = _binned(result, row, bins)[rows]
    own = ax is None
    ax = new_axes(1, height=3.4, least=7.0)[0] if ax is None else ax
    for index, (name, values) in enumerate(zip(shown, energy, strict=True)):
        color, dashes, named = look(index, len(shown))
        _stairs(ax, values, color, dashes, plain(name) if named else None, str(name))
    if labels is not None:
        from matplotlib import rcParams

        align(result.ds, labels, ("The layers", "The labels"))
        other = view(labels, "The labels")
        _stairs(
            ax,
            _binned(other, _at(other, result.hops[row]), bins)[-1],
            rcParams["text.color"],
            (0, (1, 1)),
            "labels",
            "labels",
        )
    ax.axhline(1.0, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)), gid="flat")
    _log_axis(ax, "energy / flat", own)
    ax.set_title(f"{EXACT}, K = {result.hops[row]}: energy over a flat spectrum", fontsize=9)
    return ax


def filters(
    ds: "xr.Dataset",
    ax: "Axes | None" = None,
    *,
    hop: int | None = None,
    names: Iterable[str] | None = None,
    bins: int = BINS,
) -> "Axes":
    """Draw the frequency response of each layer: its magnitudes over those of the state before it, in bins.

    Both are divided by their norm off zero. Above 1 a layer strengthens a frequency against the others, below 1 it
    weakens it. It draws shares only, without a band of chance.

    Parameters
    ----------
    ds : xarray.Dataset
        One pass with its layers as snapshots: ``w.over_layers()``; or any result with ordered snapshots, with gft.
    ax : Axes, optional
    hop : int, optional
        The first by default.
    names : optional
        Snapshots to draw, in order; by default the input, the hidden states and the output of a watched pass.
    bins : int
        Bins of equal counts of components off zero.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> x = np.random.default_rng(0).normal(size=40)
    >>> steps = np.stack([x, (x + np.roll(x, 1) + np.roll(x, -1)) / 3])
    >>> axes = st.plot.filters(st.spectra(nx.cycle_graph(40), steps[..., None], "gft", hops=1), bins=4)
    >>> low, high = axes.get_lines()[0].get_ydata()[[0, -1]]
    >>> bool(low > 1 > high)
    True
    """
    result, rows, shown, row = _rows(ds, names, hop)
    if len(rows) < 2:
        raise ResultError("A frequency response needs two states, one after the other.")
    energy = _binned(result, row, bins)[rows]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.sqrt(energy[1:] / energy[:-1])
    own = ax is None
    ax = new_axes(1, height=3.4, least=7.0)[0] if ax is None else ax
    for index, values in enumerate(np.where(np.isfinite(ratio), ratio, np.nan)):
        color, dashes, named = look(index, len(ratio))
        step = f"{shown[index]} to {shown[index + 1]}"
        _stairs(ax, values, color, dashes, plain(step) if named else None, step)
    ax.axhline(1.0, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)), gid="passes")
    _log_axis(ax, "relative response", own)
    ax.set_title(f"{EXACT}, K = {result.hops[row]}: magnitude after over before", fontsize=9)
    return ax


def _rows(ds: "xr.Dataset", names: Iterable[str] | None, hop: int | None) -> tuple[View, list[int], list[Any], int]:
    """A result, its snapshots to draw by position and label, and the position of a hop."""
    result = view(ds)
    if len(result.row_dims) != 1:
        raise ResultError("This picture shows snapshots; give w.over_layers() of a watched model.")
    result.require_algorithms([EXACT])
    result.require_complete("a picture in bins")
    labels = result.labels(result.row_dims[0])
    if names is not None:
        shown = chosen(labels, "snapshot", names)
    else:
        roles = ds["role"].values.tolist() if "role" in ds.coords else []
        states = [label for label, role in zip(labels, roles, strict=False) if role in STATES]
        shown = states if len(states) > 1 else labels
    return result, [labels.index(label) for label in shown], list(shown), _at(result, hop)


def _at(result: View, hop: int | None) -> int:
    return 0 if hop is None else result.hops.index(chosen(result.hops, "hop", hop)[0])


def _binned(result: View, row: int, bins: int) -> np.ndarray:
    """Energy of gft per component of each bin over the mean off zero, ``(R, bins)``: 1 for a flat spectrum."""
    groups, count = level_groups(result, "band", whole(bins, "bins"))
    size = np.array([np.count_nonzero(groups[row] == band) for band in range(count)])
    magnitude = result.balanced[result.row_of(EXACT)][:, row : row + 1]
    energy = np.nan_to_num(group_reduce(magnitude, groups[row : row + 1], count)[:, 0]) ** 2
    total = energy.sum(axis=1, keepdims=True)
    flat = total * size / max(1, size.sum())
    return np.divide(energy, flat, out=np.full(energy.shape, np.nan), where=flat > 0)


def _stairs(ax: "Axes", values: np.ndarray, color: Any, dashes: Any, label: str | None, gid: str) -> None:
    edges = np.linspace(0.0, 1.0, len(values) + 1)
    heights = np.append(values, values[-1])
    style = {"color": color, "linestyle": dashes, "linewidth": 1.4, "drawstyle": "steps-post"}
    ax.plot(edges, np.where(heights > 0, heights, np.nan), label=label, gid=gid, **style)


def _log_axis(ax: "Axes", up: str, own: bool) -> None:
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter("{x:g}" if np.log10(np.divide(*ax.get_ylim()[::-1])) < 1 else "")
    ax.set_xlim(0.0, 1.0)
    ax.set_xlabel("share of the components off zero, by ascending eigenvalue", fontsize=9)
    ax.set_ylabel(up, fontsize=9)
    handles, labels = ax.get_legend_handles_labels()
    columns = 1 if max(map(len, labels), default=0) > 24 else min(3, max(1, len(labels)))
    if own:  # constrained layout leaves room for it
        ax.figure.legend(handles, labels, fontsize=7, frameon=False, loc="outside lower center", ncols=columns)
    else:
        ax.legend(fontsize=7, frameon=False)
    tidy(ax)
    ax.tick_params(which="minor", labelsize=7)
