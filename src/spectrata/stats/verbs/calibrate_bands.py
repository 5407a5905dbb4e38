"""Bands against chance: energies of the signal with the nodes' vectors in random order."""

from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.bands.spectra import band_spectra
from spectrata.errors import OptionError
from spectrata.inputs.columns import by_column
from spectrata.inputs.graphs import as_graph
from spectrata.inputs.numbers import whole
from spectrata.inputs.signals import Signal, as_signal
from spectrata.kernels.scaling import require_squarable
from spectrata.results.build import attributes_of, graph_of
from spectrata.results.schema import View, view
from spectrata.stats.tally import Tally, against_chance, joined

if TYPE_CHECKING:
    import xarray as xr

REPEATED = (  # what a draw is computed with again, from the result's own options
    "algorithms",
    "hops",
    "bands",
    "spacing",
    "steps",
    "tol",
    "orientation",
    "orientations",
    "solver",
    "zero_vectors",
    "laplacian",
    "self_loops",
)
DEFAULTS: dict[str, tuple] = {  # what calibrate may be given beside a result of bands
    "algorithms": (None,),
    "level": ("eigenspace", "band"),
    "bands": (4,),
    "relative": (False,),
    "metric": ("auto",),
    "zero_vectors": ("error",),
    "columns": ("joint",),
    "p_method": ("auto", "permutations"),
}


def calibrate_bands(
    ds: "xr.Dataset", signal: Any, draws: int = 19, *, graph: Any = None, alternative: str = "two-sided", seed: int = 0
) -> "xr.Dataset":
    r"""Compare the bands of a result with chance: z, p and Benjamini-Hochberg q for each.

    Parameters
    ----------
    ds : Dataset
        A result of :func:`spectrata.band_spectra`.
    signal : array
        The signal it was made from.
    draws : int
        Random orders of the nodes; each costs as much as the signal itself.
    graph : graph or operator, optional
        Where the result carries no edges: what it was made from.
    alternative : {"two-sided", "greater", "less"}
    seed : int

    Returns
    -------
    Dataset
        Over ``(algorithm, [snapshot,] hop, band)``: ``energy``; ``null_energy`` and ``null_std``, its mean and
        standard deviation under the null; ``ratio``, ``z``, ``p`` and ``q``.

    Notes
    -----
    ``p = (1 + count) / (draws + 1)`` over whole energies, the error of the bands' own bounds included on both sides.

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> ring, slow = nx.cycle_graph(400), np.sin(np.arange(400) * 2 * np.pi / 400)
    >>> found = calibrate_bands(st.band_spectra(ring, slow, bands=4, algorithms="gft"), slow, alternative="greater")
    >>> found["p"].loc["gft", 1].values.tolist()
    [0.05, 1.0, 1.0, 1.0]
    """
    spectra = view(ds)
    if not spectra.is_bands:
        raise OptionError("This is not a result of band_spectra; calibrate takes the stratification instead.")
    whole(draws, "draws")
    if graph is None and not ds.sizes["edge"]:
        raise OptionError("The result was made from an operator and holds no edges; pass it as graph=.")
    base = graph_of(ds) if graph is None else graph
    given = spectra.options
    arguments = {name: given[name] for name in REPEATED} | {
        "metric": spectra.metric,
        "seed": ds.attrs["seed"],
        "hop_weights": ds.attrs["weights"] or "bottleneck",
    }
    values = by_column(_signal(signal, base, spectra.n_nodes), given.get("columns", "joint")).values  # (T, n, d)
    if spectra.metric == "euclidean":
        require_squarable(values, "Energies", power=4)
    rng = np.random.default_rng([seed, 13])
    tallies = [Tally(energy, np.zeros((1, 1, 1))) for energy in _roots(spectra)]
    for _ in range(int(draws)):
        dealt = Signal(values[:, rng.permutation(spectra.n_nodes)], tuple(range(len(values))))
        drawn = view(band_spectra(base, dealt, **arguments))
        for tally, energy in zip(tallies, _roots(drawn), strict=True):
            tally.add(slice(None), energy[:, :, None])
    count = tallies[0].observed.shape[-1]
    out = joined([tally.result(alternative) for tally in tallies], count)
    return _labelled(spectra, against_chance(out), int(draws), alternative)


def _roots(spectra: View) -> list[np.ndarray]:
    """Square roots of the energies of each hop, ``(A, R, B)``."""
    return list(np.moveaxis(np.sqrt(spectra.stacked("energy", "algorithm", "hop", "band")), 2, 0))


def _signal(signal: Any, base: Any, n: int) -> Signal:
    from spectrata.bands.operators import is_operator
    from spectrata.inputs.graphs import Graph

    if is_operator(base):
        empty = np.zeros(n + 1, dtype=np.int64)
        return as_signal(signal, Graph(n, empty, empty[:0], tuple(range(n))))
    return as_signal(signal, as_graph(base))


def _labelled(spectra: View, out: dict[str, np.ndarray], draws: int, alternative: str) -> "xr.Dataset":
    import xarray as xr

    ds = spectra.ds
    names = ("null_energy", "null_std", "ratio", "z", "p", "q", "degenerate", "draws_used")
    variables: dict[str, Any] = {name: spectra.placed(out[name], "hop", "band") for name in names}
    variables |= {name: ds[name] for name in ("energy", "status", "edges", "gradient_norm")}
    kept = ["algorithm", "hop", "band", "band_lower", "band_upper", "band_size"]
    kept += ["n_edges", "n_parts", "n_singletons", "made_with"]
    coordinates = {name: ds[name] for name in kept if name in ds.coords} | spectra.row_coordinates()
    facts = {"null": "permute", "draws": draws, "alternative": alternative, "level": "band"}
    return xr.Dataset(variables, coordinates, attributes_of(ds, "calibration") | facts)


def calibrate_result(
    ds: "xr.Dataset", signal: Any, null: Any, draws: int, alternative: str, seed: int, asked: dict[str, Any]
) -> "xr.Dataset":
    """What ``calibrate`` does with a result of ``band_spectra``: the algorithms and options are the result's own."""
    if not isinstance(null, str) or null != "permute":
        raise OptionError("Bands can be calibrated only with null='permute'.")
    graph = asked.pop("graph", None)
    for name, value in asked.items():
        if name not in DEFAULTS or value not in DEFAULTS[name]:
            raise OptionError(f"{name} is decided by the result of band_spectra; leave it out.")
    return calibrate_bands(ds, signal, draws, graph=graph, alternative=alternative, seed=seed)
