"""Spectra as the released program computes them, and with single settings of it changed.

The program is ``preset="paper"``: ``ens`` is the weighted sum of normalised members, not normalised again,
``ens_raw`` the sum of the members as they are, ADJ-DIFF divided by ``sqrt(n)`` more than its unit scaling.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from reproduction.tasks.caveman import caveman_graph
from reproduction.tasks.settings import Settings, unit_seed
from spectrata.core.algorithms.options import by_algorithm
from spectrata.core.plan import Plan, make_plan
from spectrata.core.registry import PAPER
from spectrata.core.stratification import Stratification

Variants = Mapping[str, tuple[str, dict[str, Any]]]  # kind: the algorithm, and what differs from the preset
VARIANTS: Variants = {
    "ens_raw/unit": ("ens_raw", {"scaling": "unit"}),
    "adj_diff/printed": ("adj_diff", {"scaling": "eigenvalue"}),
    "apprx_ls/rms": ("apprx_ls", {"orientation": "rms"}),
    "ln_vx/abs": ("ln_vx", {"average": "abs"}),
}


def spectra_by_kind(
    strat: Stratification, signal: np.ndarray, algorithms: Iterable[str], variants: Variants, **arguments: Any
) -> tuple[xr.Dataset, dict[str, np.ndarray]]:
    """The preset's result, and the magnitudes of each of its algorithms and of each variant.

    Learned maps are kept by the stratification, so that a variant of LN-VX or ENS learns nothing again.
    """
    ds = strat.spectra(signal, algorithms, preset="paper", **by_algorithm(arguments))
    found = {str(name): ds["magnitude"].loc[name].values for name in ds["algorithm"].values}
    for kind, (name, changed) in variants.items():
        other = strat.using(keep=()).spectra(signal, name, preset="paper", **by_algorithm(arguments | changed))
        found[kind] = other["magnitude"].loc[name].values
    return ds, found


class Spectrometer:
    """The 13-node graph with its learned LN-VX maps, ready for any number of embeddings."""

    def __init__(self, settings: Settings) -> None:
        self.strat = Stratification(caveman_graph())
        self.learning = {"trials": settings.few_trials, "max_epochs": settings.ln_vx_epochs}
        self.seed = unit_seed(settings.seed, 13)

    def plan(self, algorithm: str) -> Plan:
        """The plan behind :meth:`__call__` for one algorithm, for work in other bases."""
        n = self.strat.graph.n_nodes
        options = by_algorithm(self.learning)
        return make_plan(algorithm, options, n, preset="paper", seed=self.seed, keep=(), diagnose=False)

    def __call__(self, embeddings: np.ndarray, variants: bool = False) -> xr.Dataset:
        """Magnitudes of a stack of embeddings ``(T, n, d)``: ``magnitude(kind, snapshot, hop, component)``."""
        chosen = VARIANTS if variants else {}
        strat = self.strat.using(keep=("eigenvectors",))
        ds, found = spectra_by_kind(strat, embeddings, PAPER, chosen, seed=self.seed, **self.learning)
        at = ("kind", "snapshot", "hop", "component")
        made = ds[["gradient_norm", "ln_vx_mse", "eigenvectors"]].drop_attrs(deep=False)
        return made.assign(magnitude=(at, np.stack(list(found.values())))).assign_coords(kind=list(found))
