"""Spectra of embeddings of the 13-node graph, by every algorithm, as the released program computes them.

``ens`` is the weighted sum of normalised members, not normalised again; ``ens_raw``
the sum of the members as they are. The released program divides ADJ-DIFF by
``sqrt(n)`` more than the unit scaling, which only the raw sum sees: ``ens_raw`` is
the program's, ``ens_raw/unit`` the one without that division.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.core.algorithms.ens import MEMBERS, member_weights
from spectrata.core.stratification import Stratification
from spectrata.experiments.tasks.caveman import caveman_graph
from spectrata.experiments.tasks.settings import Settings, unit_seed

if TYPE_CHECKING:
    import xarray as xr

VARIANTS: dict[str, tuple[str, dict[str, str]]] = {
    "adj_diff/printed": ("adj_diff", {"scaling": "eigenvalue"}),
    "apprx_ls/rms": ("apprx_ls", {"orientation": "rms"}),
    "ln_vx/abs": ("ln_vx", {"average": "abs"}),
}
KINDS = ("gft", *MEMBERS, "ens", "ens_raw", "ens_raw/unit", *VARIANTS)
RAW_ENSEMBLES = ("ens_raw", "ens_raw/unit")


class Spectrometer:
    """The 13-node graph with its learned LN-VX maps, ready for any number of embeddings."""

    def __init__(self, settings: Settings) -> None:
        self.strat = Stratification(caveman_graph())
        self.arguments: dict[str, Any] = {
            "preset": "paper",
            "trials": settings.few_trials,
            "max_epochs": settings.ln_vx_epochs,
            "seed": unit_seed(settings.seed, 13),
        }

    def __call__(self, embeddings: np.ndarray, variants: bool = False) -> "xr.Dataset":
        """Magnitudes of a stack of embeddings ``(T, n, d)``: ``magnitude(kind, snapshot, hop, component)``."""
        import xarray as xr

        ds = self.strat.spectra(
            embeddings, ["gft", *MEMBERS, "ens"], keep=("eigenvectors",), **self.arguments
        )
        found = {str(name): ds["magnitude"].loc[name].values for name in ds["algorithm"].values}
        found |= self._raw(found)
        if variants:
            for kind, (name, changed) in VARIANTS.items():
                other = self.strat.spectra(embeddings, name, keep=(), **(self.arguments | changed))
                found[kind] = other["magnitude"].loc[name].values
        kinds = [kind for kind in KINDS if kind in found]
        at = ("kind", "snapshot", "hop", "component")
        made = xr.Dataset(
            {"magnitude": (at, np.stack([found[kind] for kind in kinds]))},
            {"kind": kinds},
            {"nodes": "A to M"},
        )
        kept = ("gradient_norm", "ln_vx_mse", "eigenvectors", "eigenvalue", "eigenspace", "multiplicity")
        sizes = ("n_edges", "n_parts", "n_singletons")
        return made.assign({name: ds[name].variable for name in kept if name in ds}).assign_coords(
            {
                "hop": ds["hop"].values,
                "node": ds["node"].values,
                **{name: ds[name].variable for name in sizes},
            }
        )

    def _raw(self, found: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Sums of members as they are, hop by hop, with ADJ-DIFF divided by ``sqrt(n)`` or not."""
        shape = found["gft"].shape  # (T, hop, n)
        sums = {kind: np.zeros(shape) for kind in RAW_ENSEMBLES}
        for row, hop in enumerate(self.strat.hops):
            for name, weight in member_weights("paper", hop).items():
                for kind in RAW_ENSEMBLES:
                    divided = np.sqrt(shape[2]) if name == "adj_diff" and kind == "ens_raw" else 1.0
                    sums[kind][:, row] += weight * found[name][:, row] / divided
        return sums
