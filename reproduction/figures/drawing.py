"""What the figures share: colours, sheets of panels, and files that appear whole."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reproduction import words
from spectrata.plot.style import PALETTE
from spectrata.results.atomic_io import written_whole

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = PALETTE
GREY = "#888888"
ALGORITHM_COLOURS = {"adj_diff": BLUE, "in_agg": ORANGE, "ln_vx": GREEN, "apprx_ls": VERMILION, "ens": PURPLE}
ALGORITHM_COLOURS |= {"flat": GREY, "gft": BLACK}
SCORES = {"ARI": BLUE, "AMI": ORANGE}
SIZE: dict[Any, Any] = {"font.size": 9, "axes.titlesize": 9, "axes.labelsize": 9, "legend.fontsize": 8}


@contextmanager
def styled() -> Iterator[None]:
    """The figures' font sizes inside the block, whatever the user's own settings are."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(SIZE)
        yield


def sheet(rows: int, columns: int, width: float = 11.0, height: float = 2.6, **more: Any) -> tuple[Figure, np.ndarray]:
    """A figure and its axes ``(rows, columns)``, made without pyplot."""
    figure = Figure(figsize=(width, height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **more)
    for ax in axes.flat:
        ax.tick_params(labelsize=8)
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


def save_all(drawn: Mapping[str, tuple[str, Figure]], folder: Path, dpi: int = 110) -> dict[str, Path]:
    """Write figures as PNG, given by their titles with the names of their files: title to file."""
    for name, figure in drawn.values():
        with written_whole(folder / f"{name}.png") as beside:
            figure.savefig(beside, dpi=dpi, format="png")
    return {title: folder / f"{name}.png" for title, (name, _) in drawn.items()}


def draw(part: str, ds: xr.Dataset, folder: Path) -> dict[str, Path]:
    """Draw and write the figures listed in ``words.toml`` for a part: title to file."""
    with styled():
        drawn = {
            title.format_map(ds.attrs): (name, resolve_name(f"reproduction.figures.{made}")(ds, *given))
            for title, (name, made, *given) in words.FIGURES[part].items()
        }
        return save_all(drawn, folder)


def hop_panels(ds: xr.Dataset, kind: str, paint: Callable[[Axes, int], str]) -> Figure:
    """A panel per hop over the eigenvalues; ``paint(ax, row)`` fills one and gives words for its title."""
    figure, axes = sheet(2, 3, width=12, height=2.9)
    for k, ax in enumerate(axes.flat):
        more = paint(ax, k)
        eigenvalue_axis(ax, ds["eigenvalue"].values[k], ds["eigenspace"].values[k])
        ax.set_title(f"K = {k + 1}{more}")
    below = "eigenvalue of each component (shaded: repeated)"
    return finished(figure, axes, f"magnitude, {words.ALGORITHMS[kind]}", below, 2)


def band(ax: Axes, x: Sequence[float] | np.ndarray, mean: np.ndarray, spread: np.ndarray, **style: Any) -> None:
    ax.errorbar(x, mean, yerr=spread, capsize=2, elinewidth=0.8, markersize=3.5, **style)


def eigenvalue_axis(ax: Axes, eigenvalue: np.ndarray, eigenspace: np.ndarray) -> None:
    """Components along x, labelled with their eigenvalues; repeated eigenspaces are shaded."""
    ax.set_xticks(np.arange(len(eigenvalue)))
    ax.set_xticklabels([f"{value:.2f}" for value in np.abs(eigenvalue)], rotation=90, fontsize=6.5)
    for space in np.unique(eigenspace):
        members = np.flatnonzero(eigenspace == space)
        if len(members) > 1:
            ax.axvspan(members[0] - 0.45, members[-1] + 0.45, color=GREY, alpha=0.13, lw=0)


def finished(
    figure: Figure, axes: np.ndarray, ylabel: str | Sequence[str], xlabel: str = "", legend: int = 0, hops: Any = None
) -> Figure:
    """Label the first column and the last row; one legend of so many columns below all panels; ``hops`` along x."""
    for ax, text in zip(axes[:, 0], [ylabel] * len(axes) if isinstance(ylabel, str) else ylabel, strict=True):
        ax.set_ylabel(text)
    for ax in axes[-1]:
        ax.set_xlabel(xlabel if hops is None else "hop distance K")
    if hops is not None:
        for ax in axes.flat:
            ax.set_xticks(hops)
    if legend:
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=legend, frameon=False, fontsize=8)
    return figure
