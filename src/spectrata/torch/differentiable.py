"""Spectra that gradients pass through: the package's own algorithms on tensors, for a loss."""

from collections.abc import Iterable
from typing import Any

import torch

from spectrata.core.algorithms.options import shows_options
from spectrata.core.engine import apply
from spectrata.core.hop import Hop, split_at_zero
from spectrata.core.operators import Operator
from spectrata.core.plan import Plan, make_plan
from spectrata.core.registry import require
from spectrata.core.strata import Stratum, asked_hops
from spectrata.core.stratification import Stratification, as_stratification
from spectrata.errors import HopError, NodeCountError, OptionError, SignalTypeError
from spectrata.inputs.signals import resolve_metric
from spectrata.kernels.backend import NUMPY, Backend

DTYPES = {torch.float64: "float64", torch.float32: "float32"}


@shows_options
def magnitudes(
    strat: Any,
    x: torch.Tensor,
    algorithm: str = "gft",
    *,
    hops: int | Iterable[int] | None = None,
    weights: Any = None,
    hop_weights: str = "bottleneck",
    undirected: bool = False,
    metric: str = "auto",
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
    **options: Any,
) -> torch.Tensor:
    """Compute magnitudes of a tensor with gradients, as :func:`spectrata.spectra` does without.

    Parameters
    ----------
    strat : Stratification or graph-like
        A stratification keeps its eigenbases between calls, within its ``max_basis_bytes``; a graph is decomposed at
        every call.
    x : Tensor, shape (n,), (n, d) or (T, n, d)
        Rows in the order of the graph's nodes.
    algorithm : {"gft", "adj_diff", "in_agg", "apprx_ls"}
    hops : None, int or iterable of int
        Of the stratification's hops: None: all; ``3``: up to 3; a list: exactly these, ascending.
    weights, hop_weights, undirected
        How a graph is read, as for :func:`spectrata.spectra`; a Stratification has its own.
    metric : {"auto", "euclidean", "angular"}
    seed : int
        Decides random orientations.
    dtype : torch.dtype
        Precision of the products; the result has the precision of ``x``. Eigenbases are solved in double.
    **options
        Options of the algorithm, as for :func:`spectrata.spectra`: ``laplacian``, ``self_loops``, ``orientation``,
        ``scaling``.

    Returns
    -------
    Tensor, shape ([T,] hop, n)

    Notes
    -----
    Zero vectors under the angular metric have no direction; here they count as the zero potential, so that a loss
    stays finite with dead rows, where :func:`spectrata.spectra` would refuse.

    Examples
    --------
    >>> import networkx as nx, spectrata as st, torch
    >>> from spectrata.torch import magnitudes
    >>> strat = st.Stratification(nx.cycle_graph(4), hops=1)
    >>> x = torch.tensor([2.0, 1.0, 2.0, 1.0], requires_grad=True)
    >>> spectrum = magnitudes(strat, x)
    >>> [round(value, 6) for value in spectrum[0].tolist()]
    [3.0, 0.0, 0.0, 1.0]
    >>> spectrum[0, -1].backward()
    >>> x.grad.tolist()
    [0.5, -0.5, 0.5, -0.5]
    """
    if dtype not in DTYPES:
        raise OptionError(f"dtype={dtype!r} is not one of {', '.join(map(str, DTYPES))}.")
    known = _read(strat, hops, weights, hop_weights, undirected)
    values, single = _three_axes(known, x)
    plan = make_plan(
        algorithm,
        options,
        known.graph.n_nodes,
        seed=seed,
        keep=(),
        dtype=DTYPES[dtype],
        solved_in_double=True,
        diagnose=False,
    )
    require(plan.algorithms, lambda row: row.differentiable, "gradients do not pass; they do through")
    (name,) = plan.algorithms
    t, scale = _scaled(_potential(values.double(), resolve_metric(metric, values.shape[2])))
    rows = [apply(_work(known, hop, t, plan), plan)[name].magnitude for hop in _hops(known, hops)]
    found = torch.stack([torch.as_tensor(row).double() for row in rows], dim=1) * scale  # (T, hop, n)
    return _like(found, x)[0] if single else _like(found, x)


def off_zero(
    strat: Any,
    x: torch.Tensor,
    *,
    hop: int = 1,
    weights: Any = None,
    hop_weights: str = "bottleneck",
    undirected: bool = False,
    metric: str = "auto",
    laplacian: str = "combinatorial",
    self_loops: bool = False,
    eps: float = 1e-12,
) -> torch.Tensor:
    """Compute the share of GFT energy off the zero components, with gradients: what over-smoothing takes away.

    Needs no decomposition. ``relu(target - off_zero(strat, h))`` is a loss against over-smoothing.

    Parameters
    ----------
    strat : Stratification or graph-like
        A stratification keeps the hop distances between calls.
    x : Tensor, shape (n,), (n, d) or (T, n, d)
    hop : int
    weights, hop_weights, undirected
        How a graph is read, as for :func:`spectrata.spectra`; a Stratification has its own.
    metric : {"auto", "euclidean", "angular"}
    laplacian, self_loops
        As for :func:`spectrata.spectra`.
    eps : float
        Added to the energy of the signal, brought to about 1 first, so that a zero signal gives 0.

    Returns
    -------
    Tensor, shape () or (T,)

    Examples
    --------
    >>> import networkx as nx, torch
    >>> from spectrata.torch import off_zero
    >>> round(float(off_zero(nx.path_graph(3), torch.tensor([1.0, 1.0, 4.0]))), 3)
    0.333
    """
    known = _read(strat, [hop], weights, hop_weights, undirected)
    values, single = _three_axes(known, x)
    t, _ = _scaled(_potential(values.double(), resolve_metric(metric, values.shape[2])))
    snapshots, n, dims = t.shape
    columns = t.permute(1, 0, 2).reshape(n, snapshots * dims)
    stratum = _stratum(known, hop, Backend("torch", str(x.device)))
    zero, rest = split_at_zero(stratum, Operator(laplacian, self_loops), columns)
    off, at = (part.square().reshape(-1, snapshots, dims).sum(dim=(0, 2)) for part in (rest, zero))
    share = _like(off / (off + at + eps), x)
    return share[0] if single else share


# ---- the signal


def _potential(values: torch.Tensor, metric: str) -> torch.Tensor:
    """The signal whose plain differences have the gradient's length: ``(T, n, d) -> (T, n, d)``."""
    if metric == "euclidean":
        return values
    # Rows are brought to about 1 first, so that no norm under- or overflows; the factor cancels.
    size = values.detach().abs().amax(dim=2, keepdim=True)
    even = values / torch.where(size > 0, size, 1.0)
    norms = torch.linalg.vector_norm(even, dim=2, keepdim=True)
    return even / (2 * torch.where(size > 0, norms, 1.0))


def _scaled(t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The potential over a power of two per snapshot, so that squares keep their digits, and these ``(T, 1, 1)``.

    Its largest entry then lies between 1 and 2, in single precision too; gradients pass through.
    """
    largest = t.detach().abs().amax(dim=(1, 2), keepdim=True)
    factor = torch.ldexp(torch.ones_like(largest), torch.frexp(torch.where(largest > 0, largest, 1.0))[1] - 1)
    return t / factor, factor


# ---- the graph


def _read(strat: Any, hops: Any, weights: Any, hop_weights: str, undirected: bool) -> Stratification:
    """A graph at these hops; a stratification has its own, of which some are chosen later."""
    own = None if isinstance(strat, Stratification) else hops
    return as_stratification(strat, own, weights=weights, hop_weights=hop_weights, undirected=undirected)


def _work(strat: Stratification, hop: int, t: torch.Tensor, plan: Plan) -> Hop:
    """The hop with its signal, as tensors where that is; without gradients in main memory, as numpy arrays."""
    here = Backend("torch", str(t.device))
    solver = NUMPY if t.device.type == "cpu" else here
    stratum = _stratum(strat, hop, solver)
    basis = strat.planned_basis(stratum, plan, solver)
    if not t.requires_grad:
        return strat.work(stratum, basis, t.numpy() if solver == NUMPY else t, plan, solver)
    return strat.work(stratum.on(here), basis.on(here), t, plan, here)


def _stratum(strat: Stratification, hop: int, backend: Backend) -> Stratum:
    """A stratum whose edges are kept between calls, as far as eigenbases are."""
    return strat.remember(("stratum", hop, backend), lambda: strat.strata.at(hop, backend))


def _hops(strat: Stratification, hops: int | Iterable[int] | None) -> list[int]:
    asked = asked_hops(hops)
    if asked is None or isinstance(asked, int):
        return [hop for hop in strat.hops if asked is None or hop <= asked]
    for hop in asked:
        if hop not in strat.hops:
            raise HopError(f"hop {hop} is not among the stratification's hops, {list(strat.hops)}.")
    return asked


# ---- tensors


def _three_axes(strat: Stratification, x: torch.Tensor) -> tuple[torch.Tensor, bool]:
    if not isinstance(x, torch.Tensor) or not x.is_floating_point():
        raise SignalTypeError("x must be a tensor of floating-point numbers.")
    if x.ndim not in (1, 2, 3):
        raise SignalTypeError(f"x has shape (n,), (n, d) or (T, n, d), not {tuple(x.shape)}.")
    single = x.ndim < 3
    values = x[None, :, None] if x.ndim == 1 else x[None] if x.ndim == 2 else x
    if values.shape[1] != strat.graph.n_nodes:
        raise NodeCountError(
            f"x has {values.shape[1]} nodes (shape {tuple(x.shape)}), but the graph has {strat.graph.n_nodes}."
        )
    return values, single


def _like(found: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return found.to(x.dtype if x.dtype.itemsize >= 4 else torch.float32)
