"""Figures of Tasks 4 to 8."""

from pathlib import Path

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reproduction import words
from reproduction.figures import drawing as to
from reproduction.tasks import smoothing_runs as runs

GROUP_COLOURS = {"good": to.BLUE, "bad": to.VERMILION}


def supplements(ds: xr.Dataset, folder: Path) -> dict[str, Path]:
    drawn = {}
    with to.styled():
        for kind in (str(kind) for kind in ds["evolving_kind"].values):
            for stage, word in (("start", "starts"), ("final", "results")):
                title = f"Tasks 5 and 7, {words.ALGORITHMS[kind]}: {word} of good and bad runs"
                drawn[title] = f"runs-{word}-{kind}", good_bad(ds, stage, kind)
            title = f"Task 7, {words.ALGORITHMS[kind]}: starts and results"
            drawn[title] = f"runs-start-final-{kind}", start_final(ds, kind)
            for form, word in enumerate(("raw", "normalised")):
                title = f"Task 6, {words.ALGORITHMS[kind]}: changes over epochs, {word}"
                drawn[title] = f"task6-{word}-{kind}", changes(ds, form, kind)
        return to.save_all(drawn, folder, dpi=80)


def scores(ds: xr.Dataset) -> Figure:
    figure, axes = to.sheet(1, 2, width=9, height=3.0, sharex=True)
    bins = np.linspace(-0.4, 1.0, 29)
    for ax, stage, title in zip(axes[0], ("final", "start"), ("learned embeddings", "starts"), strict=True):
        for column, (name, colour) in enumerate(to.SCORES.items()):
            values = ds["score"].loc[stage].values[:, column]
            low, high = np.quantile(values, [0.1, 0.9])
            ax.hist(values, bins=bins, histtype="step", lw=1.5, color=colour, label=f"{name}: span {high - low:.2f}")
            for edge in (low, high):
                ax.axvline(edge, color=colour, ls=":", lw=1)
        ax.set_title(f"{title} ({ds.sizes['run']} runs; dotted: 0.1 and 0.9 quantiles)")
        ax.legend(frameon=False)
    return to.finished(figure, axes, "runs", "score of the clustering")


def good_bad(ds: xr.Dataset, stage: str, kind: str) -> Figure:
    found = {name: runs.group_spectra(ds, stage, kind, name) for name in runs.GROUPS}
    groups = {f"{name} ({len(values)} runs)": (values, GROUP_COLOURS[name]) for name, values in found.items()}
    return _two_groups(ds, groups, kind)


def start_final(ds: xr.Dataset, kind: str) -> Figure:
    magnitude = ds["magnitude"].loc[:, kind].values[:, ds["group_of_run"].values != ""]  # (stage, run, hop, component)
    groups = {"starts": (magnitude[0], to.ORANGE), "results": (magnitude[1], to.BLUE)}
    return _two_groups(ds, groups, kind)


def _two_groups(ds: xr.Dataset, groups: dict[str, tuple[np.ndarray, str]], kind: str) -> Figure:

    def paint(ax: Axes, k: int) -> str:
        means = []
        for shift, (label, (values, colour)) in enumerate(groups.items()):
            if len(values):
                means.append(values[:, k].mean(axis=0))
                x = np.arange(values.shape[2]) + (shift - 0.5) * 0.2
                to.band(ax, x, means[-1], values[:, k].std(axis=0), fmt="o-", color=colour, label=label, lw=1)
        if len(means) < 2:
            return ""
        return f", largest mean difference {np.nanmax(np.abs(means[0] - means[1])):.3f}"

    return to.hop_panels(ds, kind, paint)


def distances(ds: xr.Dataset, kind: str, stage: str = "") -> Figure:
    """Of good and bad runs at a stage, or without one of starts and results."""
    found = runs.good_against_bad(ds, stage, kind)[1] if stage else runs.start_against_final(ds, kind)[1]
    names = ("GB-GG", "GB-BB", "GG-BB") if stage else ("IF-II", "IF-FF", "II-FF")
    figure, axes = to.sheet(1, 2, width=9, height=2.8)
    for ax, values, title in zip(axes[0], found, ("mean of differences", "largest difference"), strict=True):
        for shift, (name, row, colour) in enumerate(zip(names, values, (to.BLUE, to.ORANGE, to.GREEN), strict=True)):
            ax.bar(ds["hop"].values + (shift - 1) * 0.26, row, width=0.24, color=colour, label=name)
        ax.set_title(f"Wasserstein distance, {title}")
    return to.finished(figure, axes, "distance", legend=3, hops=ds["hop"].values)


def correlation(ds: xr.Dataset, stage: str) -> Figure:
    figure, axes = to.sheet(1, 4, width=13, height=3.0, sharey=True)
    panels = [(quantity, over_all) for quantity in ("gradient", "ens_raw") for over_all in (False, True)]
    for ax, (quantity, over_all) in zip(axes[0], panels, strict=True):
        found = runs.correlations(ds, stage, quantity, over_all)
        bands = runs.correlations(ds, stage, quantity, over_all, intervals=True)
        for shift, (name, colour) in enumerate(to.SCORES.items()):
            reach = np.abs(bands[shift] - found[shift])
            x = ds["hop"].values + (shift - 0.5) * 0.16
            ax.errorbar(x, found[shift], yerr=reach, fmt="o-", color=colour, capsize=2, ms=4, lw=1, label=name)
        ax.axhline(0, color="black", lw=0.5)
        for level in (-0.4, 0.4):
            ax.axhline(level, color=to.GREY, lw=0.7, ls=":")
        what = "gradient norm" if quantity == "gradient" else "norm of raw ENS"
        ax.set_title(f"{what}, {'all runs' if over_all else 'good and bad runs'}")
        ax.set_ylim(-1, 1)
    return to.finished(figure, axes, "Pearson correlation, 95% interval", legend=2, hops=ds["hop"].values)


def over_epochs(ds: xr.Dataset) -> Figure:
    figure, axes = to.sheet(2, 3, width=12, height=2.6, sharex=True)
    member = ds["group_of_run"].values[ds["chosen_run"].values]
    for name, colour in GROUP_COLOURS.items():
        tau = ds["tau"].values[:, ds["group_of_run"].values == name].T  # (run, epoch)
        score = ds["score_over_epochs"].values[member == name]
        if not len(tau):
            continue
        for column, values in enumerate((tau, score[:, :, 0], score[:, :, 1])):
            mean, spread = values.mean(axis=0), values.std(axis=0)
            x = np.arange(len(mean))
            axes[0, column].fill_between(x, mean - spread, mean + spread, color=colour, alpha=0.2, lw=0)
            axes[0, column].plot(x, mean, color=colour, lw=1.2, label=f"{name}, mean and deviation of {len(tau)} runs")
            axes[1, column].plot(x[1:], np.diff(mean), color=colour, lw=0.7, label=name)
    for (above, below), name in zip(axes.T, ("τ", "ARI", "AMI"), strict=True):
        above.set_title(name)
        below.set_title(f"change of mean {name} per epoch")
        below.axhline(0, color="black", lw=0.4)
    return to.finished(figure, axes, "", "epoch", 2)


def changes(ds: xr.Dataset, form: int, kind: str) -> Figure:
    """Mean change per epoch of every component; darker lines are lower frequencies."""
    import matplotlib as mpl

    figure, axes = to.sheet(2, 6, width=14, height=2.3, sharex=True)
    kinds = [str(name) for name in ds["evolving_kind"].values]
    values = ds["evolution_change"].values[form, :, kinds.index(kind)]  # (group, step, hop, component)
    shades = mpl.colormaps["viridis"](np.linspace(0, 0.92, values.shape[3]))
    for row in range(len(runs.GROUPS)):
        for k, ax in enumerate(axes[row]):
            for component in range(values.shape[3]):
                ax.plot(values[row, :, k, component], color=shades[component], lw=0.6)
            ax.axhline(0, color="black", lw=0.4)
            ax.ticklabel_format(axis="y", scilimits=(-2, 2))
            ax.yaxis.offsetText.set_fontsize(6)
            if row == 0:
                ax.set_title(f"K = {k + 1}")
    shown = mpl.cm.ScalarMappable(mpl.colors.Normalize(0, values.shape[3] - 1), mpl.colormaps["viridis"])
    figure.colorbar(shown, ax=axes, fraction=0.012, pad=0.01, label="component, by eigenvalue")
    return to.finished(figure, axes, [f"{name}: change per epoch" for name in runs.GROUPS], "epoch")
