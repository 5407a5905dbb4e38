"""Pictures of the study: ROC curves, areas, the levelled measure in its groups, layers, rank correlations, hops."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reproduction.figures import drawing as to
from reproduction.studies.models import results
from reproduction.studies.models.page import HALVES, words
from reproduction.studies.models.protocol import HOPS, MESSAGES, REPORT, SELF_LOOPS
from reproduction.studies.models.records import EDGES, LAST_HIDDEN, OUTPUTS, POSITIONS, Models
from spectrata.plot.style import PALETTE

CURVES = (
    "off_zero",
    "directions_effective_rank",
    "effective_rank",
    "mad",
    "dirichlet",
    "rayleigh",
    "rayleigh_normalized",
)
GROUP_COLOURS = {"failed": to.VERMILION, "middle": to.GREY, "good": to.BLUE}
WIDTH, DPI = 7.2, 150  # inches, about the text width of a page, so that labels are read at their own size
FLOOR = 1e-8  # of a logarithmic axis; what is smaller, and dead states, are drawn there


def draw(models: Models, levels: dict[str, Any], found: dict[str, pd.DataFrame], folder: Path) -> dict[str, Path]:
    with to.styled():
        drawn = {
            "ROC curves": ("roc", roc_curves(models)),
            "Areas under the ROC curve": ("areas", area_chart(found["areas"])),
            "off_zero by graph and group": ("groups", group_chart(models, levels)),
            "off_zero along the layers": ("layers", layer_chart(models)),
            "Rank correlation with the test score": ("correlations", correlation_chart(found["correlations"])),
            "Hops and frequencies": ("hops", hop_chart(found["areas"])),
        }
        return to.save_all(drawn, folder, DPI)


def roc_curves(models: Models) -> Figure:
    figure, axes = to.sheet(1, 2, width=WIDTH, height=4.2)
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
        ax.plot([0, 1], [0, 1], color=to.GREY, lw=0.8, ls=":")
        ax.set(title=f"{position}, held-out graphs", ylabel="failed models flagged")
    return to.finished(figure, axes, "failed models flagged", "good models flagged", 3)


def area_chart(areas: pd.DataFrame) -> Figure:
    figure, axes = to.sheet(1, 1, width=WIDTH, height=5.4)
    ax = axes[0, 0]
    chosen = areas[areas["measure"].isin(results.JUDGED)]
    order = chosen[chosen["position"] == OUTPUTS].sort_values("area")["measure"].tolist()
    for shift, colour, position in ((-0.13, to.BLUE, LAST_HIDDEN), (0.13, to.VERMILION, OUTPUTS)):
        here = chosen[chosen["position"] == position].set_index("measure").loc[order]
        y = np.arange(len(order)) + shift
        ax.hlines(y, here["low"], here["high"], color=colour, lw=1.2)
        ax.plot(here["area"], y, "o", color=colour, ms=4, label=position)
    ax.axvline(0.5, color=to.GREY, lw=0.8, ls=":")
    ax.set_yticks(np.arange(len(order)), [words(name) for name in order])
    return to.finished(figure, axes, "", "area under the ROC curve, with 95 % interval (0.5: chance)", 2)


def group_chart(models: Models, levels: dict[str, Any]) -> Figure:
    graphs = models.graphs[models.graphs["enters"]].sort_values("half").index.tolist()
    figure, axes = to.sheet(1, 2, width=WIDTH, height=0.7 + 0.58 * len(graphs), sharey=True)
    rng = np.random.default_rng(0)
    for ax, position in zip(axes[0], POSITIONS, strict=True):
        x = models.values(position)[results.PRIMARY].to_numpy()
        for g, (group, colour) in enumerate(GROUP_COLOURS.items()):
            for row, graph in enumerate(graphs):
                chosen = (models.table["graph"] == graph) & (models.table["group"] == group)
                value = np.maximum(x[models.main & chosen.to_numpy() & ~np.isnan(x)], FLOOR)
                at = row + (g - 1) * 0.27 + rng.uniform(-0.1, 0.1, len(value))
                ax.plot(value, at, ".", color=colour, ms=2.5, alpha=0.6, label=group if row == 0 else None)
        level = levels["positions"][position][results.PRIMARY]["level"]
        ax.axvline(level, color="black", lw=0.9, ls="--", label="level")
        ax.hlines(np.arange(1, len(graphs)) - 0.5, 0, 1, color=to.GREY, lw=0.4, transform=ax.get_yaxis_transform())
        ax.set(xscale="log", xlabel=f"off_zero, {position}", xticks=[1e-8, 1e-6, 1e-4, 1e-2, 1])
    names = [f"{name}\n({HALVES[models.graphs['half'][name]]})" for name in graphs]
    axes[0, 0].set_yticks(range(len(graphs)), names)
    axes[0, 0].set_ylim(len(graphs) - 0.5, -0.5)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False, markerscale=3)
    return figure


def layer_chart(models: Models) -> Figure:
    """Median off_zero of the deepest networks along their layers, failed and good, with messages and without."""
    depth = int(models.table["depth"].max())
    figure, axes = to.sheet(1, 2, width=WIDTH, height=3.2, sharey=True)
    states = models.ds["measure"].sel(measure_name=results.PRIMARY).values  # (model, edges, state)
    table = models.table
    named = table["architecture"].isin(["gcn", "residual", "pairnorm", "layernorm", "sage", "gat"]).to_numpy()
    for ax, group in zip(axes[0], ("failed", "good"), strict=True):
        chosen = models.main & named & ((table["group"] == group) & (table["depth"] == depth)).to_numpy()
        for edges, colour in ((MESSAGES, to.BLUE), (SELF_LOOPS, to.VERMILION)):
            found = np.nan_to_num(states[chosen, EDGES.index(edges), :depth], nan=FLOOR)
            if len(found):
                low, middle, high = np.maximum(np.percentile(found, [25, 50, 75], axis=0), FLOOR)
                x = np.arange(1, depth + 1)
                ax.fill_between(x, low, high, color=colour, alpha=0.2, lw=0)
                label = "with messages" if edges == MESSAGES else "same weights, self-loops only"
                ax.plot(x, middle, color=colour, lw=1.4, label=label)
        ax.set(title=f"{group}: {int(chosen.sum())} networks of {depth} layers", yscale="log")
    return to.finished(figure, axes, "off_zero, median and quartiles", "layer (the last: outputs)", 2)


def correlation_chart(found: pd.DataFrame) -> Figure:
    names = [name for name in (*results.JUDGED, "contrast_1", "contrast_4") if name != "off_zero_dead_as_zero"]
    figure, axes = to.sheet(2, 1, width=WIDTH, height=0.8 + 0.22 * len(names), sharex=True)
    image: Any = None
    for ax, which in zip(axes[:, 0], ("all", "fit"), strict=True):
        chosen = found[(found["position"] == OUTPUTS) & (found["models"] == which)]
        grid = chosen.pivot_table(index="measure", columns="graph", values="rho", sort=False).reindex(names)
        if not grid.shape[1]:
            continue
        image = ax.imshow(grid, vmin=-1, vmax=1, cmap="RdBu", aspect="auto")
        for (row, column), value in np.ndenumerate(grid.to_numpy().round(1) + 0.0):  # + 0.0: no minus zero
            if np.isfinite(value):
                colour = "white" if abs(value) > 0.6 else "black"
                ax.text(column, row, f"{value:.1f}", ha="center", va="center", fontsize=8, color=colour)
        ax.set_xticks(range(grid.shape[1]), grid.columns, rotation=45, ha="right", rotation_mode="anchor")
        ax.set_yticks(range(len(names)), [words(name) for name in names])
        ax.set_title("all models" if which == "all" else "models that fit their training data")
    if image is not None:
        what = "Spearman's rank correlation with the test score"
        figure.colorbar(image, ax=axes, label=what, location="bottom", aspect=40, shrink=0.8, pad=0.01)
    return figure


def hop_chart(areas: pd.DataFrame) -> Figure:
    figure, axes = to.sheet(1, 2, width=WIDTH, height=3.0, sharey=True)
    for ax, position in zip(axes[0], POSITIONS, strict=True):
        for shift, colour, kind in ((-0.04, to.BLUE, "contrast"), (0.04, to.GREEN, "low"), (0, to.VERMILION, "high")):
            here = areas[areas["position"] == position].set_index("measure").loc[[f"{kind}_{hop}" for hop in HOPS]]
            reach = np.abs(here[["low", "high"]].to_numpy().T - here["area"].to_numpy())
            label = words(f"{kind}_1").removesuffix(" at hop 1")
            to.band(ax, np.array(HOPS) + shift, here["area"].to_numpy(), reach, color=colour, fmt="o-", label=label)
        ax.axhline(0.5, color=to.GREY, lw=0.8, ls=":")
        ax.set(title=position, ylim=(0, 1))
    return to.finished(figure, axes, "area under the ROC curve", legend=3, hops=HOPS)
