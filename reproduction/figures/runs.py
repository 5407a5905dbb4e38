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
STAGE_COLOURS = {"start": to.ORANGE, "final": to.BLUE}
SCHEME_COLOURS = (to.BLUE, to.ORANGE, to.GREEN)
GOOD_BAD = ("GB-GG", "GB-BB", "GG-BB")
START_FINAL = ("IF-II", "IF-FF", "II-FF")


def draw(ds: xr.Dataset, folder: Path) -> dict[str, Path]:
    """All figures of Tasks 4 to 8: title to file."""
    with to.styled():
        drawn = {
            "Task 4: scores of starts and results": ("task4-scores", scores(ds)),
            "Task 5: starts of good and bad runs": ("task5-spectra", good_bad(ds, "start", "ens")),
            "Task 5: Wasserstein distances, starts": ("task5-wasserstein", good_bad_distances(ds, "start", "ens")),
            "Task 5: correlation of the final scores with norms of the starts": (
                "task5-correlation",
                correlation(ds, "start"),
            ),
            "Task 6: τ, ARI and AMI over epochs, and their changes": ("task6-scores", over_epochs(ds)),
            "Task 6: changes of normalised ENS magnitudes": ("task6-normalised", changes(ds, 1, "ens")),
            "Task 6: changes of raw ENS magnitudes": ("task6-raw", changes(ds, 0, "ens_raw")),
            "Task 7: results of good and bad runs": ("task7-spectra", good_bad(ds, "final", "ens")),
            "Task 7: Wasserstein distances, results": ("task7-wasserstein", good_bad_distances(ds, "final", "ens")),
            "Task 7: starts and results": ("task7-start-final", start_final(ds, "ens")),
            "Task 7: Wasserstein distances, starts and results": (
                "task7-wasserstein-start-final",
                distances(ds, runs.start_against_final(ds, "ens")[1], START_FINAL),
            ),
            "Task 8: Wasserstein distances, raw ENS of results": (
                "task8-wasserstein",
                good_bad_distances(ds, "final", "ens_raw"),
            ),
            "Task 8: correlation of the scores with norms of the results": (
                "task8-correlation",
                correlation(ds, "final"),
            ),
        }
        return to.save_all(drawn, folder)


def supplements(ds: xr.Dataset, folder: Path) -> dict[str, Path]:
    """Magnitudes of every algorithm: good against bad, start against result, and over epochs."""
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
        for column, (name, colour) in enumerate((("ARI", to.BLUE), ("AMI", to.ORANGE))):
            values = ds["score"].loc[stage].values[:, column]
            low, high = np.quantile(values, [0.1, 0.9])
            ax.hist(values, bins=bins, histtype="step", lw=1.5, color=colour, label=f"{name}: span {high - low:.2f}")
            for edge in (low, high):
                ax.axvline(edge, color=colour, ls=":", lw=1)
        ax.set_title(f"{title} ({ds.sizes['run']} runs; dotted: 0.1 and 0.9 quantiles)")
        ax.set_xlabel("score of the clustering")
        ax.legend(frameon=False)
    axes[0, 0].set_ylabel("runs")
    return figure


def good_bad(ds: xr.Dataset, stage: str, kind: str) -> Figure:
    groups = {
        f"{name} ({int((ds['group_of_run'].values == name).sum())} runs)": (
            runs.group_spectra(ds, stage, kind, name),
            GROUP_COLOURS[name],
        )
        for name in runs.GROUPS
    }
    return _two_groups(ds, groups, kind)


def start_final(ds: xr.Dataset, kind: str) -> Figure:
    chosen = ds["group_of_run"].values != ""
    groups = {
        {"start": "starts", "final": "results"}[stage]: (ds["magnitude"].loc[stage, kind].values[chosen], colour)
        for stage, colour in STAGE_COLOURS.items()
    }
    return _two_groups(ds, groups, kind)


def _two_groups(ds: xr.Dataset, groups: dict[str, tuple[np.ndarray, str]], kind: str) -> Figure:
    """Mean and deviation of two groups of spectra, a panel per hop."""

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


def good_bad_distances(ds: xr.Dataset, stage: str, kind: str) -> Figure:
    return distances(ds, runs.good_against_bad(ds, stage, kind)[1], GOOD_BAD)


def distances(ds: xr.Dataset, found: np.ndarray, names: tuple[str, ...]) -> Figure:
    figure, axes = to.sheet(1, 2, width=9, height=2.8)
    for ax, values, title in zip(axes[0], found, ("mean of differences", "largest difference"), strict=True):
        for shift, (name, row, colour) in enumerate(zip(names, values, SCHEME_COLOURS, strict=True)):
            ax.bar(ds["hop"].values + (shift - 1) * 0.26, row, width=0.24, color=colour, label=name)
        ax.set_title(f"Wasserstein distance, {title}")
        to.hop_axis(ax, ds["hop"].values)
    axes[0, 0].set_ylabel("distance")
    to.outside_legend(figure, axes[0, 0], 3)
    return figure


def correlation(ds: xr.Dataset, stage: str) -> Figure:
    figure, axes = to.sheet(1, 4, width=13, height=3.0, sharey=True)
    panels = [(quantity, over_all) for quantity in ("gradient", "ens_raw") for over_all in (False, True)]
    for ax, (quantity, over_all) in zip(axes[0], panels, strict=True):
        found = runs.correlations(ds, stage, quantity, over_all)
        bands = runs.correlations(ds, stage, quantity, over_all, intervals=True)
        for shift, (name, colour) in enumerate((("ARI", to.BLUE), ("AMI", to.ORANGE))):
            reach = np.abs(bands[shift] - found[shift])
            x = ds["hop"].values + (shift - 0.5) * 0.16
            ax.errorbar(x, found[shift], yerr=reach, fmt="o-", color=colour, capsize=2, ms=4, lw=1, label=name)
        ax.axhline(0, color="black", lw=0.5)
        for level in (-0.4, 0.4):
            ax.axhline(level, color=to.GREY, lw=0.7, ls=":")
        what = "gradient norm" if quantity == "gradient" else "norm of raw ENS"
        ax.set_title(f"{what}, {'all runs' if over_all else 'good and bad runs'}")
        to.hop_axis(ax, ds["hop"].values)
        ax.set_ylim(-1, 1)
    axes[0, 0].set_ylabel("Pearson correlation, 95% interval")
    to.outside_legend(figure, axes[0, 0], 2)
    return figure


def over_epochs(ds: xr.Dataset) -> Figure:
    figure, axes = to.sheet(2, 3, width=12, height=2.6, sharex=True)
    member = ds["group_of_run"].values[ds["chosen_run"].values]
    for name in runs.GROUPS:
        colour = GROUP_COLOURS[name]
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
    for column, name in enumerate(("τ", "ARI", "AMI")):
        axes[0, column].set_title(name)
        axes[1, column].set_title(f"change of mean {name} per epoch")
        axes[1, column].set_xlabel("epoch")
        axes[1, column].axhline(0, color="black", lw=0.4)
    to.outside_legend(figure, axes[0, 0], 2)
    return figure


def changes(ds: xr.Dataset, form: int, kind: str) -> Figure:
    """Mean change per epoch of every component; darker lines are lower frequencies."""
    import matplotlib as mpl

    figure, axes = to.sheet(2, 6, width=14, height=2.3, sharex=True)
    kinds = [str(name) for name in ds["evolving_kind"].values]
    values = ds["evolution_change"].values[form, :, kinds.index(kind)]  # (group, step, hop, component)
    shades = mpl.colormaps["viridis"](np.linspace(0, 0.92, values.shape[3]))
    for row, name in enumerate(runs.GROUPS):
        for k in range(values.shape[2]):
            ax = axes[row, k]
            for component in range(values.shape[3]):
                ax.plot(values[row, :, k, component], color=shades[component], lw=0.6)
            ax.axhline(0, color="black", lw=0.4)
            ax.ticklabel_format(axis="y", scilimits=(-2, 2))
            ax.yaxis.offsetText.set_fontsize(6)
            if row == 0:
                ax.set_title(f"K = {k + 1}")
            else:
                ax.set_xlabel("epoch")
        axes[row, 0].set_ylabel(f"{name}: change per epoch")
    bar = figure.colorbar(
        mpl.cm.ScalarMappable(mpl.colors.Normalize(0, values.shape[3] - 1), mpl.colormaps["viridis"]),
        ax=axes,
        fraction=0.012,
        pad=0.01,
    )
    bar.set_label("component, by eigenvalue")
    return figure
