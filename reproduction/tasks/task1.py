"""Task 1: how well each algorithm's magnitudes agree with the GFT's on real-valued signals.

One unit of work is one graph: its strata, every algorithm at every hop, and every learning trial of LN-VX. Beside the
algorithms as published stand the text's own versions (``adj_diff/printed`` divides by the eigenvalue and leaves zero
eigenvalues out, ``adj_diff/ones`` keeps the all-one vector's product there, ``ln_vx/abs`` averages absolute values
over trials, ``apprx_ls/random`` orients edges at random), our default ``apprx_ls/rms``, and the flat spectrum, which
knows nothing of the signal.
"""

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from reproduction.pool import Unit, run_units
from reproduction.store import Arrays, Store
from reproduction.tasks.random_graphs import NODES, SERIES, TEXT_SERIES, Series, draw
from reproduction.tasks.released import Variants, spectra_by_kind
from reproduction.tasks.settings import Settings, unit_seed
from spectrata.core.registry import EXACT, members, row_of
from spectrata.core.stratification import Stratification

VARIANTS: Variants = {
    "adj_diff/unit": ("adj_diff", {"scaling": "unit"}),
    "adj_diff/printed": ("adj_diff", {"scaling": "eigenvalue"}),
    "apprx_ls/random": ("apprx_ls", {"orientation": "random"}),
    "apprx_ls/rms": ("apprx_ls", {"orientation": "rms"}),
    "ln_vx/abs": ("ln_vx", {"average": "abs"}),
    "ens": ("ens", {"ens_weights": "even"}),
    "ens/paper": ("ens", {"ens_weights": "paper"}),
    "ens/pulse": ("ens", {"ens_weights": "pulse"}),
    "ens/adj_diff": ("ens", {"ens_weights": {"adj_diff": 1.0}}),
}
KINDS = (EXACT, *members(), *VARIANTS, "adj_diff/ones", "flat")
ALGORITHMS = ("adj_diff", "in_agg", "ln_vx", "apprx_ls", "ens")  # the paper's five
MEASURED = ("n_edges", "n_parts", "n_singletons", "gradient_norm")


def graph_unit(series: Series, index: int, seed: int, trials: int, epochs: int) -> Arrays:
    """Everything measured on one graph; hops along the first axis."""
    adjacency, signal = draw(series, index, seed)
    learns = trials > 0
    strat = Stratification(adjacency=adjacency, keep=("trials",))
    # Without learning, those that need no line graph, not even for a member of their own.
    algorithms = [name for name in (EXACT, *members()) if learns or not row_of(name).line_graph]
    variants = {kind: given for kind, given in VARIANTS.items() if learns or given[0] in algorithms}
    learning = {"seed": unit_seed(seed, 3, series.number, index), "max_epochs": epochs, "trials": max(trials, 1)}
    ds, found = spectra_by_kind(strat, signal, algorithms, variants, **learning)
    # The unit scaling divides the gradient's sum at zero eigenvalues by the length of the all-one vector.
    total = found["adj_diff/unit"] * np.sqrt(ds["n_edges"].values)[:, None]
    printed = found["adj_diff/printed"]
    found["adj_diff/ones"] = np.where(np.isnan(printed), total, printed)
    found["flat"] = np.ones_like(printed)
    missing = np.full_like(printed, np.nan)
    unit = {name: ds[name].values for name in MEASURED}
    unit["magnitude"] = np.stack([found.get(kind, missing) for kind in KINDS], axis=1)
    # Whether all of the signal's nonzero nodes are without an edge at a hop.
    unit["on_singleton"] = np.array([not strat.strata.at(hop).counts[signal != 0.0].any() for hop in strat.hops])
    if learns:
        unit["ln_vx_mse"] = ds["ln_vx_mse"].transpose("hop", "trial").values
        per_trial = ds["ln_vx_trial_magnitude"].transpose("hop", "trial", "component").values
        unit["trial_cosine"] = cosine(per_trial, found[EXACT][:, None])
    return unit


def cosine(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cosine over the last axis where both are defined; 0 when either is all zeros, NaN when nothing is defined.

    Examples
    --------
    >>> cosine(np.array([3.0, 4.0, np.nan]), np.array([3.0, 4.0, 9.0])).round(6).tolist()
    1.0
    >>> cosine(np.zeros(2), np.ones(2)).tolist()
    0.0
    """
    both = np.isfinite(a) & np.isfinite(b)
    x, y = np.where(both, a, 0.0), np.where(both, b, 0.0)
    norms = np.linalg.norm(x, axis=-1) * np.linalg.norm(y, axis=-1)
    value = np.divide(np.sum(x * y, axis=-1), norms, out=np.zeros(norms.shape), where=norms > 0.0)
    return np.where(both.any(axis=-1), value, np.nan)


def run(settings: Settings, out: str | Path, jobs: int = 1) -> xr.Dataset:
    """All series of Task 1 as one Dataset: ``cosine(series, graph, hop, kind)`` and what explains it."""
    everything, graphs = (*SERIES, *TEXT_SERIES), settings.graphs
    depends = {"seed": settings.seed, "trials": settings.trials, "epochs": settings.ln_vx_epochs}
    units: list[Unit] = [
        (f"{series.slug}-{i:03d}", (series, i, *(depends | {"trials": 0} if series.as_text else depends).values()))
        for series in everything
        for i in range(graphs)
    ]
    found = run_units(graph_unit, units, Store.at(out, "task1", depends), jobs)
    hops = max(len(unit["n_edges"]) for unit in found)

    def gather(name: str, *tail: int) -> np.ndarray:
        block = np.full((len(found), hops, *tail), np.nan)
        for row, unit in zip(block, found, strict=True):
            if name in unit:
                row[: len(unit[name])] = unit[name]
        return block.reshape(len(everything), graphs, hops, *tail)

    at = ("series", "graph", "hop")
    magnitude = gather("magnitude", len(KINDS), NODES)
    ds = xr.Dataset(
        {
            "magnitude": ((*at, "kind", "component"), magnitude),
            "cosine": ((*at, "kind"), cosine(magnitude, magnitude[..., [KINDS.index(EXACT)], :])),
            "ln_vx_mse": ((*at, "trial"), gather("ln_vx_mse", settings.trials)),
            "trial_cosine": ((*at, "trial"), gather("trial_cosine", settings.trials)),
            **{name: (at, gather(name)) for name in (*MEASURED, "on_singleton")},
        },
        {"series": [series.name for series in everything], "hop": np.arange(1, hops + 1), "kind": list(KINDS)},
    )
    return ds.assign_attrs(task=1, **vars(settings))


def means(ds: xr.Dataset, series: Any, kind: Any) -> np.ndarray:
    """Mean cosine with the GFT over the graphs that reach a hop: ``([series,] [kind,] hop)``."""
    found = ds["cosine"].sel(series=series, kind=kind).mean("graph")
    return found.transpose("series", "kind", "hop", missing_dims="ignore").values


def deviations(ds: xr.Dataset, series: str, kind: str) -> np.ndarray:
    return ds["cosine"].sel(series=series, kind=kind).std("graph").values


def without_singletons(ds: xr.Dataset, series: str, kind: str) -> np.ndarray:
    """Mean cosine at each hop over the pulses that do not fall on a node without edges."""
    here = ds.sel(series=series, kind=kind)
    return here["cosine"].where(here["on_singleton"] != 1.0).mean("graph").values
