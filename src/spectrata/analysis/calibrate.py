"""Magnitudes against chance: z, p and q per component, eigenspace or band."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.analysis.layout import (
    MERGED,
    coordinates,
    group_reduce,
    level_coordinates,
    level_groups,
    magnitudes,
    merge_rule,
    parameters,
)
from spectrata.analysis.moments import gft_null, signal_invariants
from spectrata.analysis.nulls import permute_nodes, rewire, rotate_signal
from spectrata.errors import OptionError
from spectrata.signals import Potential, as_signal, potential
from spectrata.stratification import Stratification

if TYPE_CHECKING:
    import xarray as xr

NULLS = ("permute", "rotate", "rewire")
ALTERNATIVES = ("two-sided", "greater", "less")
BATCH = 2**22  # numbers per batch of drawn signals, and of their magnitudes
# Two magnitudes are tied when they differ by less than this share of the larger ...
TIE = 1e-9
# ... or by less than this share of the signal's norm, below which there is only rounding.
FLOOR = 1e-13


def calibrate(
    strat: Stratification,
    signal: Any,
    null: Any = "permute",
    draws: int = 999,
    *,
    methods: str | Iterable[str] | None = None,
    level: str = "eigenspace",
    bands: int = 4,
    alternative: str = "two-sided",
    metric: str = "auto",
    zero_vectors: str = "error",
    seed: int = 0,
    **options: Any,
) -> "xr.Dataset":
    r"""Compare magnitudes with chance: z, p and Benjamini-Hochberg q for each.

    Parameters
    ----------
    strat : Stratification
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
    methods : str or list of str, optional
        As for :func:`spectrata.spectra`.
    level : {"component", "eigenspace", "band"}
        What is calibrated. Single components of a repeated eigenvalue are arbitrary, hence the default.
    bands : int
        Number of bands off zero, equal counts of components.
    alternative : {"two-sided", "greater", "less"}
    metric, zero_vectors, seed, **options
        As for :func:`spectrata.spectra`; the seed decides the draws too.

    Returns
    -------
    Dataset
        Over ``(method, [snapshot,] hop, component or band)``: ``magnitude``; ``null_energy`` and
        ``null_std``, mean and standard
        deviation of the squared magnitude under the null (closed form for gft under "permute"); ``ratio``,
        the squared
        magnitude over ``null_energy``; ``z``; ``p``; ``q``; ``degenerate``, where no draw differs from the
        observed (then p = 1 and
        z is NaN). ``status(method, hop[, snapshot])`` says what is NaN and why.

    Notes
    -----
    ``p = (1 + count) / (draws + 1)``, where ``count`` is the number of draws at least as extreme, ties
    included: valid for
    any number of draws, exact when there are no ties and ``(draws + 1) alpha`` (half of it, two-sided) is
    whole. Two-sided p is
    twice the smaller tail. The family of q is one method and snapshot over all hops and components (or
    bands), degenerate ones left out.

    For gft under "permute" and every component off zero :math:`E[M^2] = v = \sum \|t - \bar t\|^2 / (n -
    1)`; the variance
    is exact too (``analysis.moments``).

    Examples
    --------
    A path whose values rise along it: the slowest component stands out.

    >>> import networkx as nx, spectrata as st
    >>> strat = st.Stratification(nx.path_graph(12), hops=1)
    >>> found = st.calibrate(strat, range(12), methods="gft", draws=199)
    >>> float(found["p"].loc["gft", 1][1]), round(float(found["ratio"].loc["gft", 1][1]), 1)
    (0.01, 10.9)
    """
    if alternative not in ALTERNATIVES:
        raise OptionError(f"alternative={alternative!r} is not one of {', '.join(ALTERNATIVES)}.")
    _check_null(null, draws, level)
    arguments = dict(metric=metric, zero_vectors=zero_vectors, seed=seed, keep=(), **options)
    observed = strat.spectra(signal, methods, **arguments)
    eigenvalue, eigenspace, multiplicity = coordinates(observed)
    groups, count = level_groups(eigenspace, multiplicity, level, bands)
    reduce = _reducer(observed, groups, count)
    found = reduce(magnitudes(observed))  # (method, T, hop, group)
    known = as_signal(signal, strat.graph)
    field = potential(known, metric, "nan", strat.graph.names)
    names = [str(name) for name in observed["method"].values]
    floor = FLOOR * field.scale * np.linalg.norm(field.values, axis=(1, 2))  # (T,)
    tally = Tally(found, floor[None, :, None, None])
    if isinstance(null, str):
        for rows, drawn in _draw(
            strat, known.values, null, draws, names, arguments, reduce, (level, bands), found.shape
        ):
            tally.add(rows, drawn)
    else:
        cells = strat.spectra(_as_draws(null, strat), names, **arguments)
        tally.add(slice(None), reduce(magnitudes(cells))[:, None])
    out = tally.result(alternative)
    if (
        isinstance(null, str)
        and null == "permute"
        and "gft" in names
        and parameters(observed)["laplacian"] == "combinatorial"
    ):
        _use_exact(out, names.index("gft"), strat, groups, count, field)
    labels = level_coordinates(eigenvalue, eigenspace, multiplicity, groups, count, level)
    return _labelled(
        observed, out, labels, level, null if isinstance(null, str) else "given", draws, alternative
    )


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


def _reducer(ds: "xr.Dataset", groups: np.ndarray, count: int) -> Callable[[np.ndarray], np.ndarray]:
    """A function from magnitudes per component to magnitudes per group, method by method."""
    rules = [merge_rule(str(name), parameters(ds)) for name in ds["method"].values]

    def reduce(values: np.ndarray) -> np.ndarray:
        pieces = zip(values, rules, strict=True)
        return np.stack([group_reduce(piece, groups, count, rule) for piece, rule in pieces])

    return reduce


Batch = tuple[slice, np.ndarray]  # snapshots, magnitudes (method, S, draws, hop, group)


def _draw(
    strat: Stratification,
    values: np.ndarray,
    null: str,
    draws: int,
    names: list[str],
    arguments: dict[str, Any],
    reduce: Callable[[np.ndarray], np.ndarray],
    level: tuple[str, int],
    shape: tuple[int, ...],
) -> Iterator[Batch]:
    """Magnitudes under the null, a bounded batch of snapshots and draws at a time."""
    rng = np.random.default_rng([arguments["seed"], 0x5EC])
    snapshots, n, dims = values.shape
    if null == "rewire":
        for _ in range(draws):
            yield slice(None), _rewired(strat, values, names, arguments, level, shape, rng)
        return
    sample = permute_nodes if null == "permute" else rotate_signal
    fit = max(1, BATCH // max(n * dims, len(names) * len(strat.hops) * n))
    per_call = min(draws, fit)
    together = max(1, fit // max(1, draws))
    for first in range(0, snapshots if draws else 0, together):
        rows = slice(first, min(first + together, snapshots))
        for done in range(0, draws, per_call):
            batch = sample(values[rows], min(per_call, draws - done), rng)  # (S, c, n, d)
            flat = strat.spectra(batch.reshape(-1, n, dims), names, **arguments)
            found = reduce(magnitudes(flat))
            yield rows, found.reshape(len(names), *batch.shape[:2], *found.shape[2:])


def _rewired(
    strat: Stratification,
    values: np.ndarray,
    names: list[str],
    arguments: dict[str, Any],
    level: tuple[str, int],
    shape: tuple[int, ...],
    rng: np.random.Generator,
) -> np.ndarray:
    """Magnitudes of the signal on one rewired graph; NaN at hops that it lacks."""
    edges = rewire(strat.graph, rng)
    other = Stratification(edges=edges, n_nodes=strat.graph.n_nodes, hops=max(strat.hops), max_basis_bytes=0)
    ds = other.spectra(values, names, **arguments)
    _, eigenspace, multiplicity = coordinates(ds)
    groups, count = level_groups(eigenspace, multiplicity, *level)
    found = _reducer(ds, groups, count)(magnitudes(ds))  # (method, T, hop, group)
    out = np.full((shape[0], shape[1], 1, *shape[2:]), np.nan)
    for row, hop in enumerate(strat.hops):
        if hop in other.hops:
            out[:, :, 0, row] = found[:, :, other.hops.index(hop)]
    return out


class Tally:
    """Counts and moments of draws against the observed, without keeping the draws.

    Parameters
    ----------
    observed : ndarray, shape (method, T, hop, group)
    floor : ndarray, broadcast against it
        Differences below this are rounding.
    """

    def __init__(self, observed: np.ndarray, floor: np.ndarray) -> None:
        self.observed = observed
        self.floor = np.broadcast_to(floor, observed.shape)
        self.above, self.below, self.tied, self.used = (
            np.zeros(observed.shape, dtype=np.int64) for _ in range(4)
        )
        # Moments of the energy's difference from the observed one: no digits are lost where they agree.
        self.first, self.second = np.zeros(observed.shape), np.zeros(observed.shape)

    def add(self, rows: slice, drawn: np.ndarray) -> None:
        """Take draws ``(method, S, c, hop, group)`` for these snapshots."""
        observed = self.observed[:, rows, None]
        tie = TIE * np.maximum(np.abs(observed), np.abs(drawn)) + self.floor[:, rows, None]
        difference = drawn - observed
        present = ~np.isnan(difference)
        self.above[:, rows] += np.sum(difference >= -tie, axis=2)
        self.below[:, rows] += np.sum(difference <= tie, axis=2)
        self.tied[:, rows] += np.sum(np.abs(difference) <= tie, axis=2)
        self.used[:, rows] += present.sum(axis=2)
        energy = np.where(present, drawn**2 - observed**2, 0.0)
        self.first[:, rows] += energy.sum(axis=2)
        self.second[:, rows] += np.sum(energy**2, axis=2)

    def result(self, alternative: str) -> dict[str, np.ndarray]:
        """Arrays named as in the Dataset."""
        used = np.where(self.used > 0, self.used, np.nan)
        shift = self.first / used
        spread = np.sqrt(
            np.maximum(self.second / used - shift**2, 0.0) * used / np.where(used > 1, used - 1, np.nan)
        )
        upper, lower = (1 + self.above) / (used + 1), (1 + self.below) / (used + 1)
        tails = {"greater": upper, "less": lower, "two-sided": np.minimum(1.0, 2 * np.minimum(upper, lower))}
        degenerate = (self.used > 0) & (self.tied == self.used)
        p = np.where(degenerate, 1.0, tails[alternative])
        out = {
            "magnitude": self.observed,
            "null_energy": self.observed**2 + shift,
            "null_std": spread,
            "p": p,
        }
        return out | {"degenerate": degenerate, "draws_used": self.used}


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


def adjust(p: np.ndarray) -> np.ndarray:
    """Benjamini-Hochberg q over the last axis; NaN drop out of the family.

    Examples
    --------
    >>> adjust(np.array([0.01, 0.04, np.nan, 0.03])).round(3).tolist()
    [0.03, 0.04, nan, 0.04]
    """
    order = np.argsort(p, axis=-1)  # NaN last
    ranked = np.take_along_axis(p, order, axis=-1)
    family = np.sum(~np.isnan(p), axis=-1, keepdims=True)
    scaled = ranked * family / np.arange(1, p.shape[-1] + 1)
    filled = np.where(np.isnan(scaled), np.inf, scaled)
    lowest = np.minimum.accumulate(filled[..., ::-1], axis=-1)[..., ::-1]
    q = np.empty_like(p)
    np.put_along_axis(q, order, np.minimum(lowest, 1.0), axis=-1)
    return np.where(np.isnan(p), np.nan, q)


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
        out["ratio"] = np.where(mean > 0, energy / mean, np.nan)
        out["z"] = np.where((out["null_std"] > 0) & ~degenerate, (energy - mean) / out["null_std"], np.nan)
    family = np.where(degenerate, np.nan, out["p"]).reshape(*out["p"].shape[:2], -1)
    out["q"] = np.where(degenerate, 1.0, adjust(family).reshape(out["p"].shape))
    time = "snapshot" in observed["magnitude"].dims
    last = labels["band_size"][0][1] if level == "band" else "component"
    dims = ("method", "snapshot", "hop", last) if time else ("method", "hop", last)
    order = ("magnitude", "null_energy", "null_std", "ratio", "z", "p", "q", "degenerate", "draws_used")
    variables: dict[str, Any] = {name: (dims, out[name] if time else out[name][:, 0]) for name in order}
    variables["edges"] = observed["edges"]
    variables["gradient_norm"] = observed["gradient_norm"]
    variables["status"] = _statuses(observed, out, time, labels["band_size"][1] if level == "band" else None)
    kept = {name: observed[name] for name in ("method", "hop", "n_edges", "n_parts", "n_singletons", "node")}
    if time:
        kept["snapshot"] = observed["snapshot"]
    attributes = dict(observed.attrs, null=null, draws=draws, alternative=alternative, level=level)
    attributes["q_family"] = (
        "one method and snapshot, all hops and components or bands, degenerate ones left out"
    )
    if level == "eigenspace":
        attributes[MERGED] = "eigenspaces"
    return xr.Dataset(variables, kept | labels, attributes)


def _statuses(
    observed: "xr.Dataset", out: dict[str, np.ndarray], time: bool, sizes: np.ndarray | None
) -> tuple[tuple[str, ...], np.ndarray]:
    """The result's own status, and where nothing could be calibrated, why."""
    order = ("method", "hop", "snapshot") if time else ("method", "hop")
    given = observed["status"].transpose(*order).values.astype(object)
    present = ~np.isnan(out["magnitude"])
    degenerate = (out["degenerate"] & present).sum(axis=-1)
    cells = present.sum(axis=-1)  # (method, T, hop)
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
    words = np.moveaxis(words, 1, 2) if time else words[:, 0]
    joined = np.where(words == "", given, np.where(given == "ok", words, given + "; " + words))
    return order, joined.astype(str)
