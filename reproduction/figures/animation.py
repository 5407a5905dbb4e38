"""Films of the learning: the embedding on its sphere, and its spectra moving beside it."""

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from reproduction.figures.drawing import BLUE, ORANGE, eigenvalue_axis, styled
from reproduction.figures.task3 import on_sphere
from reproduction.pool import Call
from reproduction.tasks.caveman import caveman_graph, start_signal
from reproduction.tasks.clustering import cluster, scores
from reproduction.tasks.released import Spectrometer
from reproduction.tasks.settings import Settings
from reproduction.tasks.smoothing import learn
from spectrata.many.work import one_thread
from spectrata.results.atomic_io import written_whole

HOPS = (1, 2, 3, 5)  # whose spectra stand beside the sphere
INTERVAL = 120  # milliseconds a frame stays


def calls(task3: xr.Dataset | None, runs: xr.Dataset | None, settings: Settings, folder: Path) -> list[Call]:
    """One call per film: the selected embedding of Task 3, the best good and the worst bad run."""
    made: list[Call] = []
    if task3 is not None:
        weight, path = task3.attrs["selected_weight"], folder / "task3-learning.gif"
        title = f"Task 3: learning at weight {weight:.1f}"
        made.append((film, (start_signal(), weight, settings.low_pass_epochs, settings, title, path)))
    if runs is not None:
        total = runs["score"].loc["final"].values.sum(axis=1)
        for name, order in (("good", -total), ("bad", total)):
            members = np.flatnonzero(runs["group_of_run"].values == name)
            if len(members):
                chosen = int(members[np.argmin(order[members])])
                title = f"Tasks 4 to 8: learning of a {name} run (number {chosen})"
                start = runs["embedding"].loc["start"].values[chosen]
                made.append((film, (start, 0.0, settings.epochs, settings, title, folder / f"task5-{name}.gif")))
    return made


def frame_epochs(epochs: int, frames: int) -> np.ndarray:
    """Epochs of the frames: close together at first, when most moves.

    Examples
    --------
    >>> frame_epochs(100, 5).tolist()
    [0, 6, 25, 56, 100]
    """
    return np.unique(np.round(epochs * np.linspace(0.0, 1.0, max(2, frames)) ** 2).astype(int))


def film(start: np.ndarray, weight: float, epochs: int, settings: Settings, title: str, path: Path) -> dict[str, Path]:
    """Learn one run again, and write its frames as a GIF: title to file."""
    from matplotlib.animation import FuncAnimation, PillowWriter
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with one_thread():
        run = learn(caveman_graph(), start[None], weight, epochs, record=1)
        shown = frame_epochs(epochs, settings.frames)
        embeddings = run.recorded[shown, 0]
        spectra = Spectrometer(settings)(embeddings)
        labels = [cluster(embedding) for embedding in embeddings]
        score = scores(embeddings)
    with styled():
        figure = Figure(figsize=(12, 5.6), layout="constrained")
        FigureCanvasAgg(figure)
        left, right = np.asarray(figure.subfigures(1, 2, width_ratios=(1, 1.5)))
        heading, sphere = left.suptitle(title), left.add_subplot(projection="3d")
        panels = right.subplots(2, 2).ravel()  # one per hop
        lines = [_panel(ax, spectra, hop) for ax, hop in zip(panels, HOPS, strict=True)]

        def paint(frame: int) -> list:
            sphere.clear()
            on_sphere(sphere, embeddings[frame], labels[frame])
            sphere.set_title(f"epoch {shown[frame]}: ARI {score[frame, 0]:.2f}, AMI {score[frame, 1]:.2f}")
            magnitude = spectra["magnitude"].loc["ens"].values[frame]
            for line, hop in zip(lines, HOPS, strict=True):
                line.set_ydata(magnitude[hop - 1])
            heading.set_text(f"{title}; τ = {run.tau[shown[frame], 0]:.3f}")
            return lines

        paint(0)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # places are found once; finding them again is most of a frame's time
        animation = FuncAnimation(figure, paint, frames=len(shown), interval=INTERVAL)
        with written_whole(path) as beside:
            animation.save(str(beside), writer=PillowWriter(fps=1000 // INTERVAL), dpi=70)
    return {title: path}


def _panel(ax: Any, spectra: xr.Dataset, hop: int) -> Any:
    """The start's spectrum, which stays, and a line that moves; the moving line is returned."""
    magnitude = spectra["magnitude"].loc["ens"].values[:, hop - 1]
    x = np.arange(magnitude.shape[1])
    ax.plot(x, magnitude[0], "o-", color=ORANGE, ms=3, lw=0.8, label="start")
    (line,) = ax.plot(x, magnitude[0], "s-", color=BLUE, ms=3.5, lw=1.4, label="now")
    eigenvalue_axis(ax, spectra["eigenvalue"].values[hop - 1], spectra["eigenspace"].values[hop - 1])
    ax.set(title=f"normalised ENS, K = {hop}", xlabel="eigenvalue", ylabel="magnitude")
    ax.set_ylim(0, 1.05 * np.nanmax(magnitude))
    ax.tick_params(labelsize=7)
    if hop == HOPS[0]:
        ax.legend(frameon=False, fontsize=7, loc="lower right")
    return line
