"""Figures of Tasks 1 and 2."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reproduction import words
from reproduction.figures import drawing as to
from reproduction.tasks import task1, task2
from reproduction.tasks.random_graphs import SERIES

MAIN = tuple(series.name for series in SERIES)
COLOURS = dict(zip(MAIN, (to.BLUE, to.ORANGE, to.GREEN, to.VERMILION), strict=True))


def cosines(ds: xr.Dataset) -> Figure:
    hops = ds["hop"].values
    figure, axes = to.sheet(-(-len(hops) // 4), 4, sharey=True, height=2.9)
    shown = [*task1.ALGORITHMS, "flat"]
    for k, ax in enumerate(axes.flat):
        if k >= len(hops):
            ax.set_visible(False)
            continue
        for s, series in enumerate(MAIN):
            values = ds["cosine"].sel(series=series, kind=shown).isel(hop=k)
            x = np.arange(len(shown)) + (s - 1.5) * 0.17
            _spread(ax, x, values, fmt="o", color=COLOURS[series], label=series)
        reached = int(np.isfinite(ds["n_edges"].loc["ERM-Rand"].values[:, k]).sum())
        ax.set_title(f"K = {hops[k]} (ERM-Rand: {reached} graphs)")
        ax.set_xticks(range(len(shown)), [words.ALGORITHMS[kind] for kind in shown], rotation=35, ha="right")
        ax.set_ylim(-0.05, 1.05)
        ax.grid(axis="y", lw=0.3)
    return to.finished(figure, axes, "cosine with the GFT", legend=4)


def _spread(ax: Axes, x: np.ndarray, values: xr.DataArray, over: Any = "graph", **style: Any) -> None:
    to.band(ax, x, values.mean(over).values, values.std(over).values, **style)


def _curve(ax: Axes, ds: xr.Dataset, values: np.ndarray, form: str = "o-", **style: Any) -> None:
    ax.plot(ds["hop"].values, values, form, ms=3.5, **style)


def components(ds: xr.Dataset) -> Figure:
    figure, axes = to.sheet(2, len(MAIN), sharex=True, sharey=True)
    for row, name in enumerate(("n_parts", "n_singletons")):
        for ax, series in zip(axes[row], MAIN, strict=True):
            _spread(ax, ds["hop"].values, ds[name].sel(series=series), fmt="o-", color=COLOURS[series])
            ax.grid(axis="y", lw=0.3)
            ax.set_title(series if row == 0 else "")
    return to.finished(figure, axes, ("connected parts", "singletons"), hops=ds["hop"].values)


def errors(ds: xr.Dataset) -> Figure:
    figure, axes = to.sheet(1, len(MAIN), sharey=True)
    for ax, series in zip(axes[0], MAIN, strict=True):
        found = ds["ln_vx_mse"].sel(series=series)
        _spread(ax, ds["hop"].values, found, ["graph", "trial"], fmt="o-", color=COLOURS[series], label="learned")
        mean = ((50 - ds["n_edges"].sel(series=series)).clip(min=0) / 2500).mean("graph").values
        ax.plot(ds["hop"].values, mean, "--", color=to.BLACK, lw=1, label="rank bound (n - m)/n²")
        ax.axhline(0.025, color=to.GREY, lw=0.8, ls=":", label="0.025, the text's bound")
        ax.set_title(series)
    return to.finished(figure, axes, "final MSE of LN-VX", legend=3, hops=ds["hop"].values)


def trials(ds: xr.Dataset) -> Figure:
    hops = ds["hop"].values
    figure, axes = to.sheet(len(MAIN), len(hops), width=13, height=1.9, sharex=True, sharey=True)
    flat = ds["cosine"].loc[:, :, :, "flat"]
    for row, series in enumerate(MAIN):
        values = ds["trial_cosine"].loc[series].values  # (graph, hop, trial)
        for column, hop in enumerate(hops):
            found = values[:, column][~np.isnan(values[:, column, 0])]
            level = flat.loc[series].values[:, column]
            level = np.sort(level[~np.isnan(level)])
            order = np.argsort(found.mean(axis=1))
            mean, spread = found.mean(axis=1)[order], found.std(axis=1)[order]
            ax, x = axes[row, column], np.arange(len(mean))
            ax.fill_between(x, mean - spread, mean + spread, color=COLOURS[series], alpha=0.3, lw=0, label="deviation")
            ax.plot(x, mean, color=COLOURS[series], lw=1.2, label="mean over trials")
            ax.plot(np.arange(len(level)), level, color=to.BLACK, lw=0.8, ls=":", label="flat spectrum, sorted")
            ax.set_ylim(-0.05, 1.05)
            if row == 0:
                ax.set_title(f"K = {hop}")
    return to.finished(figure, axes, [f"{series}\ncosine" for series in MAIN], "graphs, sorted", 3)


def pulses(ds: xr.Dataset) -> Figure:
    figure, axes = to.sheet(1, 2, width=9, height=3.2, sharey=True)
    for ax, series in zip(axes[0], ("ERM-Pulse", "SBM-Pulse"), strict=True):
        for kind in (*task1.ALGORITHMS, "flat"):
            colour = to.ALGORITHM_COLOURS[kind]
            _curve(ax, ds, task1.means(ds, series, kind), color=colour, label=words.ALGORITHMS[kind])
            kept = task1.without_singletons(ds, series, kind)
            _curve(ax, ds, kept, "o--", color=colour, mfc="white", lw=0.9)
        ax.set_title(f"{series}: all pulses (lines), without singletons (dashed)")
        ax.grid(axis="y", lw=0.3)
    return to.finished(figure, axes, "mean cosine with the GFT", legend=6, hops=ds["hop"].values)


def variants(ds: xr.Dataset) -> Figure:
    figure, axes = to.sheet(2, 4, width=13, height=3.1, sharey=True)
    for row, series in enumerate(("ERM-Rand", "ERM-Pulse")):
        for column, (title, lines) in enumerate(words.VARIANTS.items()):
            ax = axes[row, column]
            for (kind, label), colour in zip(lines.items(), (to.BLUE, to.ORANGE, to.GREEN), strict=False):
                _curve(ax, ds, task1.means(ds, series, kind), color=colour, label=label)
            ax.plot(ds["hop"].values, task1.means(ds, series, "flat"), "--", color=to.GREY, label="flat")
            ax.set_title(f"{series}, {title}")
            ax.legend(frameon=False, fontsize=7, loc=(0.02, 0.02))
        ax = axes[row, 3]
        for kind, colour in (("adj_diff", to.BLUE), ("apprx_ls", to.VERMILION), ("in_agg", to.ORANGE)):
            _curve(ax, ds, task1.means(ds, series, kind), color=colour, label=words.ALGORITHMS[kind])
            _curve(ax, ds, task1.means(ds, f"{series} (text)", kind), "o--", mfc="white", color=colour)
        ax.set_title(f"{series}, dashed: p = 0.1 (text)")
        ax.legend(frameon=False, fontsize=7, loc=(0.02, 0.02))
    for ax in axes.flat:
        ax.set(ylim=(-0.48, 1.05), yticks=np.arange(6) / 5)  # room for the legend below the curves
    return to.finished(figure, axes, "mean cosine with the GFT", hops=ds["hop"].values)


PAIR_COLOURS = (to.BLUE, to.ORANGE, to.GREEN, to.VERMILION, to.PURPLE, to.SKY)
SHORT = {"adj_diff": "AD", "apprx_ls": "AP", "in_agg": "IN", "ln_vx": "LN"}


def agreement(ds: xr.Dataset) -> Figure:
    figure, axes = to.sheet(1, len(MAIN), sharey=True, height=3.2)
    hops = ds["hop"].values
    for ax, series in zip(axes[0], MAIN, strict=True):
        for shift, (pair, colour) in enumerate(zip(task2.PAIRS, PAIR_COLOURS, strict=True)):
            values = ds["agreement"].sel(series=series, pair=task2.label(*pair))
            label = f"{SHORT[pair[0]]}~{SHORT[pair[1]]}"
            _spread(ax, hops + (shift - 2.5) * 0.08, values, fmt="o-", color=colour, label=label, lw=1)
        ax.set(title=series, ylim=(-0.05, 1.08))
        ax.grid(axis="y", lw=0.3)
    return to.finished(figure, axes, "cosine between algorithms", legend=6, hops=hops)
