"""Bands against chance: energies of the signal with the nodes' vectors in random order."""

from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.analysis.tally import Tally, adjust
from spectrata.bands.labels import is_bands
from spectrata.bands.settings import whole
from spectrata.bands.spectra import band_spectra
from spectrata.errors import OptionError
from spectrata.inputs.graphs import as_graph
from spectrata.inputs.signals import as_signal
from spectrata.kernels.scaling import squarable
from spectrata.results.files import check, graph_of

if TYPE_CHECKING:
    import xarray as xr

ALTERNATIVES = ("two-sided", "greater", "less")
DEFAULTS: dict[str, tuple] = {  # what calibrate may be given beside a result of bands
    "algorithms": (None,),
    "level": ("eigenspace", "band"),
    "bands": (4,),
    "relative": (False,),
    "metric": ("auto",),
    "zero_vectors": ("error",),
}


def calibrate_bands(
    ds: "xr.Dataset",
    signal: Any,
    draws: int = 19,
    *,
    graph: Any = None,
    alternative: str = "two-sided",
    seed: int = 0,
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
        Over ``(algorithm, [snapshot,] hop, band)``: ``energy``; ``null_energy`` and ``null_std``, its mean and standard
        deviation under the null; ``ratio``, ``z``, ``p`` and ``q``.

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
    import json

    check(ds)
    if not is_bands(ds):
        raise OptionError("This is no result of band_spectra; calibrate takes the stratification instead.")
    if alternative not in ALTERNATIVES:
        raise OptionError(f"alternative={alternative!r} is not one of {', '.join(ALTERNATIVES)}.")
    whole(draws, "draws")
    if graph is None and not ds.sizes["edge"]:
        raise OptionError("The result was made from an operator and holds no edges; pass it as graph=.")
    n = int(ds.attrs["n_nodes"])
    base = graph_of(ds) if graph is None else graph
    given = json.loads(ds.attrs["parameters"])
    arguments = {
        name: given[name] for name in ("algorithms", "hops", "tol", "orientation", "orientations", "solver")
    }
    arguments |= {
        "metric": ds.attrs["metric"],
        "zero_vectors": given["zero_vectors"],
        "seed": ds.attrs["seed"],
    }
    arguments |= {"bands": given["bands"], "spacing": given["spacing"], "steps": given["steps"]}
    values = _values(signal, base, n)  # (T, n, d)
    scale = np.ones((len(values), 1, 1))
    if ds.attrs["metric"] == "euclidean":  # chance is judged by fourth powers
        values, scale = squarable(values, (1, 2))
    energy = _energies(ds) / scale[None, :, :1] ** 2  # (algorithm, T, hop, band)
    rng = np.random.default_rng([seed, 13])
    tally = Tally(np.sqrt(energy), np.zeros((1, 1, 1, 1)))
    for _ in range(int(draws)):
        drawn = band_spectra(base, values[:, rng.permutation(n)], **arguments)
        tally.add(slice(None), np.sqrt(_energies(drawn))[:, :, None])
    out = tally.result(alternative)
    labelled = _labelled(ds, energy, out, draws, alternative)
    if np.all(scale == 1.0):
        return labelled
    factor = (scale[:, 0, 0] if "snapshot" in ds["energy"].dims else scale[0, 0, 0]) ** 2
    axis = labelled["null_energy"].dims
    spread = np.reshape(factor, [-1 if name == "snapshot" else 1 for name in axis])
    return labelled.assign({name: labelled[name] * spread for name in ("null_energy", "null_std")})


def _values(signal: Any, base: Any, n: int) -> np.ndarray:
    from spectrata.bands.operators import is_operator
    from spectrata.inputs.graphs import Graph

    if is_operator(base):
        empty = np.zeros(n + 1, dtype=np.int64)
        return as_signal(signal, Graph(n, empty, empty[:0], tuple(range(n)))).values
    return as_signal(signal, as_graph(base)).values


def _energies(ds: "xr.Dataset") -> np.ndarray:
    if "snapshot" in ds["energy"].dims:
        return ds["energy"].transpose("algorithm", "snapshot", "hop", "band").values
    return ds["energy"].transpose("algorithm", "hop", "band").values[:, None]


def _labelled(
    ds: "xr.Dataset", energy: np.ndarray, out: dict[str, np.ndarray], draws: int, alternative: str
) -> "xr.Dataset":
    import xarray as xr

    with np.errstate(invalid="ignore", divide="ignore"):
        out["ratio"] = np.where(out["null_energy"] > 0, energy / out["null_energy"], np.nan)
        out["z"] = np.where(out["null_std"] > 0, (energy - out["null_energy"]) / out["null_std"], np.nan)
    family = np.where(out["degenerate"], np.nan, out["p"]).reshape(*energy.shape[:2], -1)
    out["q"] = np.where(out["degenerate"], 1.0, adjust(family).reshape(energy.shape))
    time = "snapshot" in ds["energy"].dims
    dims = ("algorithm", "snapshot", "hop", "band") if time else ("algorithm", "hop", "band")
    names = ("null_energy", "null_std", "ratio", "z", "p", "q", "degenerate", "draws_used")
    variables: dict[str, Any] = {name: (dims, out[name] if time else out[name][:, 0]) for name in names}
    variables |= {name: ds[name] for name in ("energy", "status", "edges", "gradient_norm")}
    kept = ["algorithm", "hop", "band", "snapshot", "band_lower", "band_upper", "band_size"]
    kept += ["n_edges", "n_parts", "n_singletons"]
    coordinates = {name: ds[name] for name in kept if name in ds.coords}
    attributes = dict(ds.attrs, null="permute", draws=int(draws), alternative=alternative, level="band")
    return xr.Dataset(variables, coordinates, attributes)


def calibrate_result(
    ds: "xr.Dataset",
    signal: Any,
    null: Any,
    draws: int,
    alternative: str,
    seed: int,
    asked: dict[str, Any],
) -> "xr.Dataset":
    """What ``calibrate`` does with a result of ``band_spectra``: the algorithms and options are the result's own."""
    if not isinstance(null, str) or null != "permute":
        raise OptionError("Bands are calibrated against null='permute' alone.")
    graph = asked.pop("graph", None)
    for name, value in asked.items():
        if name not in DEFAULTS or value not in DEFAULTS[name]:
            raise OptionError(f"{name} is decided by the result of band_spectra; leave it out.")
    return calibrate_bands(ds, signal, draws, graph=graph, alternative=alternative, seed=seed)
