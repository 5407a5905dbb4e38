"""Claims of Tasks 4, 5 and 6."""

from functools import partial

import numpy as np

from reproduction.claims import published
from reproduction.claims.claim import Check, Finding, Results, above, below, checked, claim, show, within
from reproduction.claims.runs_tools import groups, spans, wasserstein
from reproduction.tasks import smoothing_runs as runs

_task4, _task5, _task6 = (partial(claim, task, "runs") for task in "456")


def _span(id: str, stage: int, text: str, published_span: float, note: str) -> None:
    def judge(results: Results) -> Finding:
        found = spans(results)[stage]
        return Finding(f"ARI {found[0]:.2f}, AMI {found[1]:.2f}", within(found, [published_span] * 2, 0.1))

    _task4(id, text, f"about {published_span:.2f}", "both within 0.1", note)(judge)


_span(
    "t4-span-learned",
    1,
    "Distance between the 0.1 and 0.9 quantiles of ARI and AMI over the learned embeddings.",
    published.SPAN_LEARNED,
    "Which branches the smoothing folds together depends on the start.",
)
_span(
    "t4-span-start",
    0,
    "The same over the random starts.",
    published.SPAN_START,
    "Random directions give scores around 0 with AMI a little wider than ARI.",
)


@_task4(
    "t4-flatter",
    "Scores of learned embeddings spread much wider than those of the starts.",
    "0.60 against 0.35",
    "learned spans above those of the starts by more than 0.1",
    "Some runs keep the three branches apart and some fold two of them together.",
)
def _(results: Results) -> Finding:
    found = spans(results)
    gap = found[1] - found[0]
    return Finding(f"wider by {show(gap)} (ARI, AMI)", above(gap, 0.1))


@_task5(
    "t5-counts",
    "Numbers of good (ARI or AMI at least 0.8) and bad (at most 0.3) runs.",
    "82 and 84 of 500",
    "each share within 0.05 of the published",
)
def _(results: Results) -> Finding:
    good, bad = groups(results)
    total = results.runs.sizes["run"]
    scores = results.runs["score"].loc["final"].values
    both = int((scores >= runs.GOOD).all(axis=1).sum()), int((scores <= runs.BAD).all(axis=1).sum())
    wanted = np.array([published.GOOD_RUNS, published.BAD_RUNS]) / published.RUNS
    return Finding(
        f"{good} and {bad} of {total}",
        within([good / total, bad / total], wanted, 0.05),
        f"Asking both scores instead of either gives {both[0]} and {both[1]}.",
    )


@_task5(
    "t5-mean-difference",
    "The mean spectra of the starts of good and of bad runs hardly differ.",
    "typically below 0.03",
    "largest mean difference of ens below 0.03 at each K",
)
def _(results: Results) -> Finding:
    found, _ = runs.good_against_bad(results.runs, "start", "ens")
    return Finding(
        show(found, 3),
        below(found, published.START_DIFFERENCE),
        f"Means over {' and '.join(map(str, groups(results)))} runs; the fewer the runs, the larger by chance.",
    )


wasserstein(
    "t5-wasserstein",
    "5",
    "Starts of good and bad runs cannot be told apart by their spectra (Wasserstein distances).",
    "start",
    (published.START_MEAN, published.START_MAX),
    "The distances are between distributions of pairs, so equal groups give nearly 0.",
)


@_task5(
    "t5-correlation",
    "ARI and AMI do not correlate strongly with the gradient norms of the starts.",
    "within [-0.5, 0.4]",
    "each correlation over good and bad runs within [-0.5, 0.4]",
    "Keeping the extremes only, good and bad, inflates every correlation.",
)
def _(results: Results) -> Finding:
    found = runs.correlations(results.runs, "start", "gradient")
    over_all = runs.correlations(results.runs, "start", "gradient", over_all=True)
    low, high = published.START_CORRELATION
    return Finding(
        f"ARI {show(found[0])}, AMI {show(found[1])}; over all runs ARI {show(over_all[0])}",
        checked(found, lambda x: (x >= low) & (x <= high)),
    )


@_task5(
    "t5-correlation-norms",
    "The norms of the magnitudes of the starts behave like the gradient norms.",
    "similar",
    "correlations within 0.2 of those with the gradient norms at each K",
    "Every algorithm is linear in the length of the gradient.",
)
def _(results: Results) -> Finding:
    gradient = runs.correlations(results.runs, "start", "gradient")
    found = runs.correlations(results.runs, "start", "ens_raw")
    return Finding(f"ARI {show(found[0])}, AMI {show(found[1])}", below(np.abs(found - gradient), 0.2 + 1e-9))


@_task5(
    "t5-spearman",
    "Spearman's correlation gives very similar results (footnote).",
    "very similar",
    "within 0.1 of Pearson's, on starts and results, at each K",
    "Scores take few values, so ranks have many ties.",
)
def _(results: Results) -> Finding:
    gaps = [
        runs.correlations(results.runs, stage, "gradient", spearman=True)
        - runs.correlations(results.runs, stage, "gradient")
        for stage in ("start", "final")
    ]
    return Finding(
        f"largest difference {np.nanmax(np.abs(gaps)):.2f}" if np.isfinite(gaps).any() else "no groups",
        below(np.abs(gaps), 0.1 + 1e-9),
    )


def _by_group(values: np.ndarray, group: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """The rows of each group that has any."""
    return [(name, values[group == name]) for name in runs.GROUPS if (group == name).any()]


def _paths(results: Results) -> list[tuple[str, np.ndarray]]:
    """The scores ``(run, epoch, measure)`` of each group at every epoch."""
    group = results.runs["group_of_run"].values[results.runs["chosen_run"].values]
    return _by_group(results.runs["score_over_epochs"].values, group)


@_task6(
    "t6-tau",
    "The derivative of τ over epochs is smooth and tends to 0.",
    "smooth, asymptotic to 0",
    "of good and bad runs: never positive on average after epoch 10; its mean size over the last tenth of the epochs "
    "below 5% of that over the first tenth",
    "It falls smoothly under Adagrad's shrinking steps, and is still falling at the end.",
)
def _(results: Results) -> Finding:
    checks: list[Check] = []
    told = []
    tau = results.runs["tau"].values.T  # (run, epoch)
    for name, chosen in _by_group(tau, results.runs["group_of_run"].values):
        change = np.diff(chosen.mean(axis=0))
        tenth = max(1, len(change) // 10)
        ratio = np.abs(change[-tenth:]).mean() / np.abs(change[:tenth]).mean()
        checks += [bool((change[10:] <= 1e-12).all()), bool(ratio < 0.05)]
        told.append(f"{name}: last over first tenth {ratio:.4f}")
    return Finding("; ".join(told), checks)


@_task6(
    "t6-scores",
    "The derivatives of ARI and AMI oscillate in a narrow band around 0.",
    "narrow, close to 0",
    "per group and score: mean change per epoch below 0.01 in size, and its deviation over epochs below 0.05 for the "
    "group's mean curve",
    "The band narrows with the number of runs averaged; single runs jump.",
)
def _(results: Results) -> Finding:
    checks: list[Check] = []
    told = []
    for name, path in _paths(results):
        change = np.diff(path.mean(axis=0), axis=0)  # (step, measure)
        checks += [*below(np.abs(change.mean(axis=0)), 0.01), *below(change.std(axis=0), 0.05)]
        told.append(f"{name}: mean {show(change.mean(axis=0), 4)}, deviation {show(change.std(axis=0), 4)}")
    return Finding("; ".join(told), checks)


@_task6(
    "t6-no-better",
    "No better solution is missed on the way: scores have no sharp turning point.",
    "no turning point",
    "per group and score: the mean curve's best epoch after the first tenth is at most 0.1 above its end",
    "Averages hide what single runs pass through: bad ones end somewhat below their own best.",
)
def _(results: Results) -> Finding:
    checks: list[Check] = []
    told = []
    for name, path in _paths(results):
        mean = path.mean(axis=0)
        lost = mean[len(mean) // 10 :].max(axis=0) - mean[-1]
        single = (path.max(axis=1) - path[:, -1]).mean(axis=0)
        checks += below(lost, 0.1)
        told.append(f"{name}: {show(lost)} on the mean curve, {show(single)} on single runs")
    return Finding("; ".join(told), checks)


@_task6(
    "t6-magnitudes",
    "The derivatives of all ENS magnitudes, normalised or not, tend to 0.",
    "all asymptotic to 0",
    "per group, form and K: mean size of change over the last tenth of the epochs below 10% of that over the first",
    "They do shrink, by a factor of 2 to 10 between the first and the last tenth: damped, not yet at rest.",
)
def _(results: Results) -> Finding:
    ds = results.runs
    size = ds["evolution_change_size"].values  # (form, group, kind, step, hop, component)
    kinds = [str(kind) for kind in ds["evolving_kind"].values]
    tenth = max(1, size.shape[3] // 10)
    chosen = np.stack(
        [size[0, :, kinds.index("ens_raw")], size[1, :, kinds.index("ens")]]
    )  # (form, group, step, hop, c)
    first, last = chosen[:, :, :tenth].mean(axis=(2, 4)), chosen[:, :, -tenth:].mean(axis=(2, 4))
    ratio = np.divide(last, first, out=np.full(first.shape, np.nan), where=first > 0.0)
    return Finding(
        f"largest ratio raw {show(np.nanmax(ratio[0]))}, normalised {show(np.nanmax(ratio[1]))}"
        if np.isfinite(ratio).any()
        else "no groups",
        below(ratio, 0.1),
    )
