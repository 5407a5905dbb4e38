"""What the claims of Tasks 4 to 8 share."""

import numpy as np

from reproduction.claims.claim import Finding, Results, below, claim, show
from reproduction.tasks import smoothing_runs as runs


def spans(results: Results) -> np.ndarray:
    """Distance of the 0.1 and 0.9 quantiles ``(stage, measure)``."""
    scores = results.runs["score"].values
    low, high = np.quantile(scores, [0.1, 0.9], axis=1)
    return high - low


def groups(results: Results) -> tuple[int, int]:
    group = results.runs["group_of_run"].values
    return int(np.count_nonzero(group == "good")), int(np.count_nonzero(group == "bad"))


def wasserstein(id: str, task: str, text: str, stage: str, bounds: tuple[float, float], note: str) -> None:
    def judge(results: Results) -> Finding:
        _, found = runs.good_against_bad(results.runs, stage, "ens")
        return Finding(
            f"mean: largest per K {show(found[0].max(axis=0), 4)}; maximum: {show(found[1].max(axis=0), 3)}",
            [*below(found[0], bounds[0]), *below(found[1], bounds[1])],
        )

    claim(
        task,
        "runs",
        id,
        text,
        f"below {bounds[0]} (mean of differences), {bounds[1]} (maximum)",
        "each of GB-GG, GB-BB, GG-BB below the bound at each K",
        note,
    )(judge)
