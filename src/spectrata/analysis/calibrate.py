"""Magnitudes against chance: z, p and q per component, eigenspace or band."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from spectrata.analysis.draws import Reduction, draw
from spectrata.analysis.layout import (
    MERGED,
    coordinates,
    level_coordinates,
    level_groups,
    magnitudes,
    parameters,
)
from spectrata.analysis.moments import gft_null, signal_invariants
from spectrata.analysis.tally import FLOOR, Tally, adjust
from spectrata.bands.labels import is_bands
from spectrata.core.stratification import Stratification, require_stratification
from spectrata.errors import OptionError
from spectrata.inputs.signals import Potential, Signal, as_signal, potential, resolve_metric
from spectrata.kernels.scaling import require_squarable, squarable

if TYPE_CHECKING:
    import xarray as xr

NULLS = ("permute", "rotate", "rewire")
ALTERNATIVES = ("two-sided", "greater", "less")
FAR = 1e70  # fourth powers of magnitudes up to here stay within double precision


def calibrate(
    strat: Stratification,
    signal: Any,
    null: Any = "permute",
    draws: int = 999,
    *,
    algorithms: str | Iterable[str] | None = None,
    level: str = "eigenspace",
    bands: int = 4,
    alternative: str = "two-sided",
    relative: bool = False,
    metric: str = "auto",
    zero_vectors: str = "error",
    seed: int = 0,
    **options: Any,
) -> "xr.Dataset":
    r"""Compare magnitudes with chance: z, p and Benjamini-Hochberg q for each.

    Parameters
    ----------
    strat : Stratification
        Or a result of :func:`spectrata.band_spectra`, whose bands are then calibrated by ``draws`` orders of the nodes.
    signal : array, mapping, DataFrame, DataArray, tensor or path
        As for :func:`spectrata.spectra`; snapshots are calibrated one by one.
    null : {"permute", "rotate", "rewire"} or a signal with snapshots
        What chance means: "permute": the nodes' vectors in random order; "rotate": random signals with the
        same mean and covariance of columns and no preferred direction among nodes; "rewire": random graphs
        with the same
        degrees and the signal as it is (bands only: eigencomponents of two graphs do not correspond; the
        graphs come
        from a Markov chain of edge swaps, so this p is approximate); or embeddings of untrained
        models, ``(draws, n, d)``.
    draws : int
        Monte Carlo draws; q cannot fall below the size of its family over ``draws + 1`` (twice that,
        two-sided) for a single cell. With 0, only z and ratios of ``gft`` under "permute", which are exact.
    algorithms : str or list of str, optional
        As for :func:`spectrata.spectra`.
    level : {"component", "eigenspace", "band"}
        What is calibrated. Single components of a repeated eigenvalue are arbitrary, hence the default.
    bands : int
        Number of bands off zero, equal counts of components.
    alternative : {"two-sided", "greater", "less"}
    relative : bool
        Divide magnitudes by their norm off zero first: what counts is then how energy is spread, not how
        much there is. Advisable for "rewire" and for untrained models, whose embeddings are of another size.
    metric, zero_vectors, seed, **options
        As for :func:`spectrata.spectra`; the seed decides the draws too.

    Returns
    -------
    Dataset
        Over ``(algorithm, [snapshot,] hop, component or band)``: ``magnitude``; ``null_energy`` and
        ``null_std``, mean and standard
        deviation of the squared magnitude under the null (closed form for gft under "permute"); ``ratio``,
        the squared
        magnitude over ``null_energy``; ``z``; ``p``; ``q``; ``degenerate``, where no draw differs from the
        observed (then p = 1 and
        z is NaN). ``status(algorithm, hop[, snapshot])`` says what is NaN and why.

    Notes
    -----
    ``p = (1 + count) / (draws + 1)``, where ``count`` is the number of draws at least as extreme, ties
    included: valid for
    any number of draws, exact when there are no ties and ``(draws + 1) alpha`` (half of it, two-sided) is
    whole. Two-sided p is
    twice the smaller tail. The family of q is one algorithm and snapshot over all hops and components (or
    bands), degenerate ones left out.

    For gft under "permute" and every component off zero :math:`E[M^2] = v = \sum \|t - \bar t\|^2 / (n -
    1)`; the variance
    is exact too (``analysis.moments``).

    Examples
    --------
    A path whose values rise along it: the slowest component stands out.

    >>> import networkx as nx, spectrata as st
    >>> strat = st.Stratification(nx.path_graph(12), hops=1)
    >>> found = st.calibrate(strat, range(12), algorithms="gft", draws=199)
    >>> float(found["p"].loc["gft", 1][1]), round(float(found["ratio"].loc["gft", 1][1]), 1)
    (0.01, 10.9)
    """
    if is_bands(strat):
        from spectrata.analysis.calibrate_bands import calibrate_result

        asked = {"algorithms": algorithms, "level": level, "bands": bands, "relative": relative}
        asked |= {"metric": metric, "zero_vectors": zero_vectors, **options}
        return calibrate_result(cast("xr.Dataset", strat), signal, null, draws, alternative, seed, asked)
    require_stratification(strat, "calibrate")
    if alternative not in ALTERNATIVES:
        raise OptionError(f"alternative={alternative!r} is not one of {', '.join(ALTERNATIVES)}.")
    _check_null(null, draws, level)
    arguments = dict(metric=metric, zero_vectors=zero_vectors, seed=seed, keep=(), **options)
    known, scale = _brought_to_one(as_signal(signal, strat.graph), metric, relative)
    observed = strat.spectra(known, algorithms, **arguments)
    eigenvalue, eigenspace, multiplicity = coordinates(observed)
    groups, count = level_groups(eigenspace, multiplicity, level, bands)
    how = Reduction(level, bands, relative)
    reduce = how.of(observed)
    found = reduce(magnitudes(observed))  # (algorithm, T, hop, group)
    field = potential(known, metric, "nan", strat.graph.names)
    names = [str(name) for name in observed["algorithm"].values]
    size = field.scale * np.linalg.norm(field.values, axis=(1, 2))  # (T,)
    floor = FLOOR * (np.ones_like(size) if relative else size)
    tally = Tally(found, floor[None, :, None, None])
    if isinstance(null, str):
        for rows, drawn in draw(strat, known.values, null, draws, names, arguments, reduce, how, found.shape):
            tally.add(rows, drawn)
    else:
        cells = strat.spectra(_as_draws(null, strat), names, **arguments)
        drawn = reduce(magnitudes(cells))[:, None]
        drawn = drawn if relative else drawn / scale[:, None, None, None]
        if np.nan_to_num(drawn).max() > FAR:
            raise OptionError(
                f"The signals of null are more than {FAR:.0e} times larger than the signal, beyond any comparison; "
                "pass relative=True to compare how energy is spread."
            )
        tally.add(slice(None), drawn)
    out = tally.result(alternative)
    if (
        isinstance(null, str)
        and null == "permute"
        and not relative
        and "gft" in names
        and parameters(observed)["laplacian"] == "combinatorial"
    ):
        _use_exact(out, names.index("gft"), strat, groups, count, field)
    labels = level_coordinates(eigenvalue, eigenspace, multiplicity, groups, count, level)
    ds = _labelled(
        observed, out, labels, level, null if isinstance(null, str) else "given", draws, alternative
    )
    return ds if np.all(scale == 1.0) else _in_own_units(ds, scale, relative)


def _brought_to_one(known: Signal, metric: str, relative: bool) -> tuple[Signal, np.ndarray]:
    """The signal over powers of two ``(T,)`` where it is extreme: chance is judged by fourth powers."""
    if resolve_metric(metric, known.values.shape[2]) == "angular":
        return known, np.ones(len(known.values))
    if not relative:
        require_squarable(known.values, "Energies")
    values, scale = squarable(known.values, (1, 2))
    return replace(known, values=values), scale[:, 0, 0]


def _in_own_units(ds: "xr.Dataset", scale: np.ndarray, relative: bool) -> "xr.Dataset":
    """Put the powers of two back into magnitudes, energies and gradients."""
    import xarray as xr

    factor = xr.DataArray(scale, dims="snapshot")
    if "snapshot" not in ds["magnitude"].dims:
        factor = factor[0]
    powers = {"gradient_norm": 1} | ({} if relative else {"magnitude": 1, "null_energy": 2, "null_std": 2})
    own = {name: ds[name] * factor**power for name, power in powers.items()}
    return ds.assign({name: array.transpose(*ds[name].dims) for name, array in own.items()})


def _check_null(null: Any, draws: int, level: str) -> None:
    if isinstance(null, str):
        if null not in NULLS:
            raise OptionError(
                f"null={null!r} is not one of {', '.join(NULLS)}; or give the signals of untrained models."
            )
        if null == "rewire" and level != "band":
            raise OptionError(
                "null='rewire' changes the graph, and eigencomponents of two graphs do not correspond; "
                "use level='band'."
            )
        if isinstance(draws, (bool, np.bool_)) or not isinstance(draws, (int, np.integer)) or draws < 0:
            raise OptionError(f"draws={draws!r} must be a whole number, 0 or more.")


def _as_draws(null: Any, strat: Stratification) -> np.ndarray:
    values = as_signal(null, strat.graph).values
    if len(values) < 2:
        raise OptionError(
            "null holds one signal; give the embeddings of several untrained models, shape (draws, n, d)."
        )
    return values


def _use_exact(
    out: dict[str, np.ndarray],
    row: int,
    strat: Stratification,
    groups: np.ndarray,
    count: int,
    field: Potential,
) -> None:
    """Replace gft's Monte Carlo moments by the closed form."""
    signal = signal_invariants(field.values)
    for index, hop in enumerate(strat.hops):
        mean, variance = gft_null(strat.basis(hop), groups[index], count, field.values, signal)  # (T, group)
        undefined = field.undefined[:, None]
        out["null_energy"][row, :, index] = np.where(undefined, np.nan, mean * field.scale[:, None] ** 2)
        out["null_std"][row, :, index] = np.where(
            undefined, np.nan, np.sqrt(variance) * field.scale[:, None] ** 2
        )
        unknown = (out["draws_used"][row, :, index] == 0) & (variance == 0)
        out["degenerate"][row, :, index] |= unknown & ~undefined


def _labelled(
    observed: "xr.Dataset",
    out: dict[str, np.ndarray],
    labels: dict[str, tuple[tuple[str, str], np.ndarray]],
    level: str,
    null: str,
    draws: int,
    alternative: str,
) -> "xr.Dataset":
    import xarray as xr

    energy, mean, degenerate = out["magnitude"] ** 2, out["null_energy"], out["degenerate"]
    with np.errstate(invalid="ignore", divide="ignore"):
        # Rounding over rounding is no ratio.
        out["ratio"] = np.where((mean > 0) & ~out["rounding"], energy / mean, np.nan)
        out["z"] = np.where((out["null_std"] > 0) & ~degenerate, (energy - mean) / out["null_std"], np.nan)
    family = np.where(degenerate, np.nan, out["p"]).reshape(*out["p"].shape[:2], -1)
    out["q"] = np.where(degenerate, 1.0, adjust(family).reshape(out["p"].shape))
    time = "snapshot" in observed["magnitude"].dims
    last = labels["band_size"][0][1] if level == "band" else "component"
    dims = ("algorithm", "snapshot", "hop", last) if time else ("algorithm", "hop", last)
    order = ("magnitude", "null_energy", "null_std", "ratio", "z", "p", "q", "degenerate", "draws_used")
    variables: dict[str, Any] = {name: (dims, out[name] if time else out[name][:, 0]) for name in order}
    variables["edges"] = observed["edges"]
    variables["gradient_norm"] = observed["gradient_norm"]
    variables["status"] = _statuses(observed, out, time, labels["band_size"][1] if level == "band" else None)
    kept = {
        name: observed[name] for name in ("algorithm", "hop", "n_edges", "n_parts", "n_singletons", "node")
    }
    if time:
        kept["snapshot"] = observed["snapshot"]
    attributes = dict(observed.attrs, null=null, draws=draws, alternative=alternative, level=level)
    attributes["q_family"] = (
        "one algorithm and snapshot, all hops and components or bands, degenerate ones left out"
    )
    if level == "eigenspace":
        attributes[MERGED] = "eigenspaces"
    return xr.Dataset(variables, kept | labels, attributes)


def _statuses(
    observed: "xr.Dataset", out: dict[str, np.ndarray], time: bool, sizes: np.ndarray | None
) -> tuple[tuple[str, ...], np.ndarray]:
    """The result's own status, and where nothing could be calibrated, why."""
    order = ("algorithm", "hop", "snapshot") if time else ("algorithm", "hop")
    given = observed["status"].transpose(*order).values.astype(object)
    present = ~np.isnan(out["magnitude"])
    degenerate = (out["degenerate"] & present).sum(axis=-1)
    cells = present.sum(axis=-1)  # (algorithm, T, hop)
    no_draws = (out["draws_used"] == 0).all(axis=-1) & (cells > 0)
    words = np.full(cells.shape, "", dtype=object)
    some = degenerate > 0
    words[some] = [
        "degenerate: no draw differs" if bad == of else f"{bad} of {of} degenerate: no draw differs there"
        for bad, of in zip(degenerate[some], cells[some], strict=True)
    ]
    words[no_draws] = "no draws: p and q not computed"
    if sizes is not None:  # a hop with few distinct eigenvalues leaves bands empty
        empty = np.array([f"{k} empty bands" if k else "" for k in (sizes == 0).sum(axis=1)], dtype=object)
        words = np.where(words == "", empty, np.where(empty == "", words, words + "; " + empty))
    nothing = cells == 0
    words, nothing = (np.moveaxis(a, 1, 2) if time else a[:, 0] for a in (words, nothing))
    words[nothing & (given == "ok")] = "undefined: no energy off zero"  # nothing to be relative to
    joined = np.where(words == "", given, np.where(given == "ok", words, given + "; " + words))
    return order, joined.astype(str)
