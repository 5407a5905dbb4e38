"""Write the claims page and its picture from the records of the stored run: `python docs/draw/claims.py`.

`docs/claims.csv` holds the records as `python -m reproduction` wrote them. The page and the picture follow from it.
"""

import re
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reproduction.claims.judge import Record, from_csv
from reproduction.claims.page import to_markdown

DOCS = Path(__file__).parents[1]
SETTINGS = {
    "seed": 0,
    "graphs": 100,
    "trials": 50,
    "few_trials": 20,
    "ln_vx_epochs": 1000,
    "low_pass_epochs": 3500,
    "runs": 500,
    "epochs": 1000,
    "bases": 100,
    "resamples": 2000,
    "frames": 60,
}
LEAD = (
    "Most of the paper's numbers reproduce. On random signals, no algorithm of the paper has a larger cosine with the "
    "graph Fourier transform than a flat spectrum. On pulses, all but `ln_vx` have."
)
ALGORITHMS = ("adj_diff", "in_agg", "ln_vx", "apprx_ls", "ens")
BLUE, ORANGE, GREY = "#1f5fa8", "#d55e00", "#8a8a8a"


def records() -> list[Record]:
    """The records of the stored run."""
    return from_csv((DOCS / "claims.csv").read_text(encoding="utf-8"))


def page() -> str:
    """The page in Markdown."""
    return to_markdown(records(), SETTINGS, "images/claims.png", LEAD)


def numbers(text: str) -> list[float]:
    """All numbers with decimals in a text."""
    return [float(word) for word in re.findall(r"\d\.\d+", text)]


def cosines() -> dict[str, dict[str, tuple[list[float], list[float], list[float]]]]:
    """Published, measured and flat means of Task 1, by series and algorithm, over K = 1 to 3."""
    known = {record.id: record for record in records()}
    rand, pulse = {}, {}
    for name in ALGORITHMS:
        one = known[f"t1-erm-rand-{name.replace('_', '-')}"]
        measured, flat = re.search(r"K = 1..4: ([\d. ]+) \(.*flat ([\d. ]+),", one.measured).groups()
        rand[name] = numbers(one.published)[:3], numbers(measured)[:3], numbers(flat)[:3]
    low = known["t1-erm-pulse-low"]
    flat = numbers(low.measured.partition("flat")[2])
    for name in ALGORITHMS:
        published, measured = (
            numbers(re.search(rf"{name} ([\d. ]+)", text)[1]) for text in (low.published, low.measured)
        )
        pulse[name] = published, measured, flat
    return {"random signals": rand, "pulses": pulse}


def picture() -> Figure:
    """A dot for every mean cosine with the GFT: published, measured, and the flat spectrum's."""
    figure = Figure(figsize=(8, 4.6), layout="constrained")
    for ax, (series, rows) in zip(figure.subplots(1, 2, sharey=True), cosines().items(), strict=True):
        for at, (published, measured, flat) in enumerate(rows.values()):
            for hop in range(3):
                y = -at - 0.25 * (hop - 1)
                ax.plot([published[hop], measured[hop]], [y, y], color=BLUE, lw=1)
                ax.plot(published[hop], y, "o", mfc="white", mec=BLUE, ms=6)
                ax.plot(measured[hop], y, "o", color=BLUE, ms=4)
                ax.plot(flat[hop], y, "|", color=ORANGE, ms=11, mew=2)
        ax.set(title=f"{series}, K = 1, 2, 3 from top", xlabel="mean cosine with the GFT", xlim=(0.2, 1.02))
        ax.set_yticks([-at for at in range(len(rows))], list(rows))
        ax.grid(axis="x", color=GREY, alpha=0.3)
    marks = [
        Line2D([], [], marker="o", mfc="white", mec=BLUE, ls="", label="published"),
        Line2D([], [], marker="o", color=BLUE, ms=4, ls="", label="measured"),
        Line2D([], [], marker="|", color=ORANGE, ms=11, mew=2, ls="", label="flat spectrum"),
    ]
    figure.legend(handles=marks, loc="outside lower center", ncols=3, frameon=False)
    return figure


if __name__ == "__main__":
    (DOCS / "claims.md").write_text(page(), encoding="utf-8")
    picture().savefig(DOCS / "images" / "claims.png", dpi=110)
