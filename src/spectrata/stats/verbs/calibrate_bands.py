"""Bands of a large graph against chance: shares of energy with the nodes' vectors in random order."""

from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.bands.settings import OPTIONS
from spectrata.bands.spectra import band_spectra
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError
from spectrata.inputs.columns import by_column
from spectrata.inputs.signals import Signal, as_signal
from spectrata.results.build import attributes_of, graph_of
from spectrata.results.schema import View, view
from spectrata.stats.describe.spectrum import band_energy_shares
from spectrata.stats.nulls.correction import adjust
from spectrata.stats.nulls.orders import orders
from spectrata.stats.nulls.stopping import looks
from spectrata.stats.statistics.energy import chance_of_shares, with_ratio

if TYPE_CHECKING:
    import xarray as xr

DRAWS = 99  # unasked: each costs as much as the signal itself
NUMBERS = 2**24  # of a batch of drawn signals
# What a draw is computed with again, from the result's own options.
REPEATED = ("algorithms", "bands", "spacing", "tol", "zero_vectors")


def calibrate_bands(
    ds: "xr.Dataset",
    signal: Any,
    algorithms: Any = None,
    null: Any = "permutation",
    draws: int | None = None,
    seed: int = 0,
) -> "xr.Dataset":
    """Test the bands of a result of ``band_spectra``: the call behind :func:`spectrata.calibrate`."""
    if not isinstance(null, str) or null != "permutation":
        raise OptionError("The bands of a large graph have only null='permutation'.")
    if algorithms is not None:
        raise OptionError("algorithms is decided by the result of band_spectra; leave it out.")
    if signal is None:
        raise OptionError("A result of band_spectra keeps no signal; pass signal=.")
    if not ds.sizes["edge"]:
        raise OptionError("The result was made from an operator and holds no edges, so that draws cannot be computed.")
    spectra = view(ds)
    at = looks(spectra.n_nodes, DRAWS if draws is None else draws)
    base, given = graph_of(ds), spectra.options
    arguments = {name: given[name] for name in REPEATED}
    arguments |= {name: {option: given[option] for option in own} for name, own in OPTIONS.items()}
    arguments |= {"metric": spectra.metric, "seed": ds.attrs["seed"]}
    read_as = {name: given[name] for name in ("laplacian", "self_loops")}
    strat = Stratification(base, given["hops"], hop_weights=ds.attrs["weights"] or "bottleneck", **read_as)
    known = by_column(as_signal(signal, base), given.get("columns", "joint"))
    share = _shares(spectra)  # (A, R, H, B)

    def drawn(rows: np.ndarray, h: int, start: int, stop: int) -> np.ndarray:
        found, step = [], max(1, NUMBERS // (len(rows) * known.values[0].size))
        for begin in range(start, stop, step):
            mixed = orders(seed, spectra.n_nodes, begin, min(begin + step, stop))
            values = known.values[rows][:, mixed].reshape(-1, *known.values.shape[1:])
            signal = Signal(values, tuple(range(len(values))))
            one = _shares(view(band_spectra(strat.only(spectra.hops[h]), signal, **arguments)))[:, :, 0]
            found.append(one.reshape(len(one), len(rows), len(mixed), -1))
        return np.concatenate(found, axis=2)

    out = {"share": share} | chance_of_shares(share, drawn, at)
    out["q"] = adjust(out["p"].reshape(*share.shape[:2], -1)).reshape(share.shape)
    # Without the share of components in each band, which band_spectra calls chance too.
    kept = ds[["energy", "status", "edges", "gradient_norm"]].drop_vars("chance", errors="ignore")
    kept.attrs = attributes_of(ds, "calibration") | {"null": null, "draws": max(at, default=0), "level": "band"}
    return kept.assign({name: spectra.placed(array, "hop", "band") for name, array in with_ratio(out).items()})


def _shares(spectra: View) -> np.ndarray:
    """Shares of the energy off zero, ``(A, R, H, B)``."""
    known = view(spectra.ds.assign(energy=band_energy_shares(spectra.ds)), spectra.name)
    return known.stacked("energy", "algorithm", "hop", "band")
