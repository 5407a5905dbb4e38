"""Pictures of the study: ROC curves, areas, the levelled measure in its groups, layers, rank correlations, hops."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.experiments.figures.drawing import BLUE, GREY, ORANGE, VERMILION, outside_legend, save_all, sheet, styled
from spectrata.experiments.studies.models import results
from spectrata.experiments.studies.models.page import HALVES, words
from spectrata.experiments.studies.models.protocol import HOPS, MESSAGES, REPORT, SELF_LOOPS
from spectrata.experiments.studies.models.records import EDGES, LAST_HIDDEN, OUTPUTS, POSITIONS, Models
from spectrata.plot.style import PALETTE

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

CURVES = (
    "off_zero",
    "directions_effective_rank",
    "effective_rank",
    "mad",
    "dirichlet",
    "rayleigh",
    "rayleigh_normalized",
)
GROUP_COLOURS = {"failed": VERMILION, "middle": GREY, "good": BLUE}
FLOOR = 1e-8  # of a logarithmic axis; what is smaller, and dead states, are drawn there


def draw(models: Models, levels: dict[str, Any], found: "dict[str, pd.DataFrame]", folder: Path) -> dict[str, Path]:
    """Write every figure: title to file."""
    with styled():
        drawn = {
            "ROC curves": ("roc", roc_curves(models)),
            "Areas under the ROC curve": ("areas", area_chart(found["areas"])),
            "off_zero by graph and group": ("groups", group_chart(models, levels)),
            "off_zero along the layers": ("layers", layer_chart(models)),
            "Rank correlation with the test score": ("correlations", correlation_chart(found["correlations"])),
            "Hops and frequencies": ("hops", hop_chart(found["areas"])),
        }
        return save_all(drawn, folder)


def roc_curves(models: Models) -> "Figure":
    """Failed against good on the held-out half, one cut for all graphs."""
    figure, axes = sheet(1, 2, width=8.5, height=4.3)
    held_out = models.main & (models.table["half"] == REPORT).to_numpy()
    group = models.table["group"].to_numpy()
    for ax, position in zip(axes[0], POSITIONS, strict=True):
        values = models.values(position)
        for colour, name in zip(PALETTE, CURVES, strict=True):
            x = values[name].to_numpy()
            failed, good = (np.sort(x[held_out & (group == g) & ~np.isnan(x)]) for g in ("failed", "good"))
            if len(failed) and len(good):
                cuts = np.unique(np.concatenate([failed, good]))
                alarms, hits = (np.searchsorted(part, cuts, side="right") / len(part) for part in (good, failed))
                ax.plot(np.append(0, alarms), np.append(0, hits), color=colour, lw=1.4, label=words(name))
        ax.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls=":")
        ax.set(title=f"{position}, held-out graphs", xlabel="good models flagged", ylabel="failed models flagged")
    outside_legend(figure, axes[0, 0], 3)
    return figure


def area_chart(areas: "pd.DataFrame") -> "Figure":
    """Areas with their intervals, sorted by those of the outputs."""
    figure, axes = sheet(1, 1, width=8.0, height=5.6)
    ax = axes[0, 0]
    chosen = areas[areas["measure"].isin(results.JUDGED)]
    order = chosen[chosen["position"] == OUTPUTS].sort_values("area")["measure"].tolist()
    for shift, colour, position in ((-0.13, BLUE, LAST_HIDDEN), (0.13, ORANGE, OUTPUTS)):
        here = chosen[chosen["position"] == position].set_index("measure").loc[order]
        y = np.arange(len(order)) + shift
        ax.hlines(y, here["low"], here["high"], color=colour, lw=1.2)
        ax.plot(here["area"], y, "o", color=colour, ms=4, label=position)
    ax.axvline(0.5, color=GREY, lw=0.8, ls=":")
    ax.set_yticks(np.arange(len(order)), [words(name) for name in order])
    ax.set_xlabel("area under the ROC curve, failed against good, with 95 % interval (.5 = chance)")
    outside_legend(figure, ax, 2)
    return figure


def group_chart(models: Models, levels: dict[str, Any]) -> "Figure":
    """off_zero of every model of every graph, by group, with the level."""
    graphs = models.graphs[models.graphs["enters"]].sort_values("half").index.tolist()
    figure, axes = sheet(2, 1, width=10.0, height=3.0, sharex=True)
    rng = np.random.default_rng(0)
    for ax, position in zip(axes[:, 0], POSITIONS, strict=True):
        x = models.values(position)[results.PRIMARY].to_numpy()
        for g, (group, colour) in enumerate(GROUP_COLOURS.items()):
            for column, graph in enumerate(graphs):
                chosen = (
                    models.main & (models.table["graph"] == graph) & (models.table["group"] == group) & ~np.isnan(x)
                )
                y = np.maximum(x[chosen.to_numpy()], FLOOR)
                at = column + (g - 1) * 0.27 + rng.uniform(-0.1, 0.1, len(y))
                ax.plot(at, y, ".", color=colour, ms=2.5, alpha=0.6, label=group if column == 0 else None)
        ax.axhline(
            levels["positions"][position][results.PRIMARY]["level"], color="black", lw=0.9, ls="--", label="level"
        )
        ax.set_yscale("log")
        ax.set_ylabel(f"off_zero, {position}")
    names = [f"{name}\n({HALVES[models.graphs['half'][name]]})" for name in graphs]
    axes[-1, 0].set_xticks(range(len(graphs)), names, rotation=35, ha="right")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False, markerscale=3)
    return figure


def layer_chart(models: Models) -> "Figure":
    """Median off_zero of the deepest networks along their layers, failed and good, with messages and without."""
    depth = int(models.table["depth"].max())
    figure, axes = sheet(1, 2, width=9.0, height=3.4, sharey=True)
    states = models.ds["measure"].sel(measure_name=results.PRIMARY).values  # (model, edges, state)
    table = models.table
    plain = (
        models.main
        & (table["architecture"].isin(["gcn", "residual", "pairnorm", "layernorm", "sage", "gat"])).to_numpy()
    )
    for ax, group in zip(axes[0], ("failed", "good"), strict=True):
        chosen = plain & (table["group"] == group).to_numpy() & (table["depth"] == depth).to_numpy()
        for edges, colour in ((MESSAGES, BLUE), (SELF_LOOPS, ORANGE)):
            found = np.nan_to_num(states[chosen, EDGES.index(edges), :depth], nan=FLOOR)
            if len(found):
                low, middle, high = np.maximum(np.percentile(found, [25, 50, 75], axis=0), FLOOR)
                x = np.arange(1, depth + 1)
                ax.fill_between(x, low, high, color=colour, alpha=0.2, lw=0)
                label = "with messages" if edges == MESSAGES else "same weights, self-loops only"
                ax.plot(x, middle, color=colour, lw=1.4, label=label)
        ax.set(
            title=f"{group}: {int(chosen.sum())} networks of {depth} layers",
            xlabel="layer (the last: outputs)",
            yscale="log",
        )
    axes[0, 0].set_ylabel("off_zero, median and quartiles")
    outside_legend(figure, axes[0, 0], 2)
    return figure


def correlation_chart(found: "pd.DataFrame") -> "Figure":
    """Rank correlation of measures of the outputs with the test score, graph by graph."""
    names = [name for name in (*results.JUDGED, "contrast_1", "contrast_4") if name != "off_zero_dead_as_zero"]
    figure, axes = sheet(1, 2, width=12.5, height=5.4, sharey=True)
    image: Any = None
    for ax, which in zip(axes[0], ("all", "fit"), strict=True):
        chosen = found[(found["position"] == OUTPUTS) & (found["models"] == which)]
        grid = chosen.pivot_table(index="measure", columns="graph", values="rho", sort=False).reindex(names)
        if not grid.shape[1]:
            continue
        image = ax.imshow(grid, vmin=-1, vmax=1, cmap="RdBu", aspect="auto")
        for (row, column), value in np.ndenumerate(grid.to_numpy()):
            if np.isfinite(value):
                colour = "white" if abs(value) > 0.6 else "black"
                ax.text(column, row, f"{value:.1f}", ha="center", va="center", fontsize=6.5, color=colour)
        ax.set_xticks(range(grid.shape[1]), grid.columns, rotation=45, ha="right")
        ax.set_yticks(range(len(names)), [words(name) for name in names])
        ax.set_title("all models" if which == "all" else "models that fit their training data")
    if image is not None:
        figure.colorbar(image, ax=axes, label="Spearman's rank correlation with the test score", shrink=0.7)
    return figure


def hop_chart(areas: "pd.DataFrame") -> "Figure":
    """Areas of the contrast and of the lowest and highest frequencies, hop by hop."""
    figure, axes = sheet(1, 2, width=9.0, height=3.2, sharey=True)
    for ax, position in zip(axes[0], POSITIONS, strict=True):
        for colour, kind in ((BLUE, "contrast"), (ORANGE, "low"), (VERMILION, "high")):
            here = areas[areas["position"] == position].set_index("measure").loc[[f"{kind}_{hop}" for hop in HOPS]]
            ax.errorbar(
                HOPS,
                here["area"],
                yerr=[here["area"] - here["low"], here["high"] - here["area"]],
                color=colour,
                marker="o",
                ms=4,
                capsize=2,
                lw=1.2,
                label=words(f"{kind}_1").removesuffix(" at hop 1"),
            )
        ax.axhline(0.5, color=GREY, lw=0.8, ls=":")
        ax.set(title=position, xlabel="hop distance K", xticks=HOPS, ylim=(0, 1))
    axes[0, 0].set_ylabel("area under the ROC curve")
    outside_legend(figure, axes[0, 0], 3)
    return figure
