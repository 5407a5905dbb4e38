"""Spectra that gradients pass through: the package's own algorithms on tensors, for a loss."""

from collections.abc import Iterable
from typing import Any

import torch

from spectrata.core.engine import apply
from spectrata.core.hop import Hop, split_at_zero
from spectrata.core.plan import Plan, make_plan
from spectrata.core.registry import require
from spectrata.core.spectra import as_stratification
from spectrata.core.strata import Stratum, asked_hops
from spectrata.core.stratification import Stratification
from spectrata.errors import NodeCountError, OptionError, SignalTypeError, SignalValueError
from spectrata.inputs.signals import resolve_metric
from spectrata.kernels.backend import NUMPY, Backend

DTYPES = {torch.float64: "float64", torch.float32: "float32"}


def magnitudes(
    graph: Any,
    signal: torch.Tensor,
    algorithm: str = "gft",
    *,
    hops: int | Iterable[int] | None = None,
    weights: Any = None,
    metric: str = "auto",
    seed: int = 0,
    dtype: torch.dtype | None = None,
    **options: Any,
) -> torch.Tensor:
    """Compute magnitudes of a tensor with gradients, as :func:`spectrata.spectra` does without.

    Zero vectors under the angular metric have no direction; here they count as the zero potential, so that a loss
    stays finite with dead rows, where :func:`spectrata.spectra` would refuse.

    Parameters
    ----------
    graph : Stratification or graph-like
        Make the stratification once, before the training: it keeps its eigenbases between calls, within its
        ``max_basis_bytes``. A graph is decomposed at every call.
    signal : Tensor, shape (n,), (n, d) or (T, n, d)
        Rows in the order of the graph's nodes.
    algorithm : {"gft", "adj_diff", "in_agg", "apprx_ls"}
    hops : None, int or iterable of int
        Of the stratification's hops: None: all; ``3``: up to 3; a list: exactly these, ascending.
    weights : str, bool or array, optional
        As for :func:`spectrata.spectra`; a Stratification has its own.
    metric : {"auto", "euclidean", "angular"}
    seed : int
        Decides random orientations.
    dtype : torch.dtype, optional
        Precision of the products, that of the signal by default; the result has the precision of the signal.
        Eigenbases are solved in double.
    **options
        Options of the algorithm, as for :func:`spectrata.spectra`: ``laplacian``, ``self_loops``, ``orientation``,
        ``scaling``.

    Returns
    -------
    Tensor, shape ([T,] hop, n)

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
    if dtype is not None and dtype not in DTYPES:
        raise OptionError(f"dtype={dtype!r} is not one of {', '.join(map(str, DTYPES))}.")
    strat = _read(graph, hops, weights)
    values = _three_axes(strat, signal)
    how: Any = {"keep": (), "dtype": DTYPES[dtype or values.dtype], "solved_in_double": True, "diagnose": False}
    operator = strat.computing.operator(options.pop("laplacian", None), options.pop("self_loops", None))
    plan = make_plan(algorithm, options | operator.arguments, strat.graph.n_nodes, seed=seed, **how)
    require(plan.algorithms, lambda row: row.differentiable, "gradients do not pass; they do through")
    (name,) = plan.algorithms
    t, scale = _potential(values, resolve_metric(metric, values.shape[2]))
    rows = [apply(_work(strat, hop, t, plan), plan)[name].magnitude for hop in _hops(strat, hops)]
    return _like(scale * torch.stack([torch.as_tensor(row) for row in rows], dim=1), signal)  # (T, hop, n)


def off_zero(
    graph: Any,
    signal: torch.Tensor,
    *,
    hop: int = 1,
    weights: Any = None,
    metric: str = "auto",
    laplacian: str | None = None,
    self_loops: bool | None = None,
    log: bool = False,
    eps: float = 1e-12,
) -> torch.Tensor:
    """Compute the share of GFT energy off the zero components, with gradients.

    Needs no decomposition. ``relu(math.log(target) - off_zero(strat, h, log=True))`` is a loss against over-smoothing.

    Parameters
    ----------
    graph : Stratification or graph-like
        Make the stratification once, before the training: it keeps the hop distances between calls.
    signal : Tensor, shape (n,), (n, d) or (T, n, d)
    hop : int
    weights : str, bool or array, optional
        As for :func:`spectrata.spectra`; a Stratification has its own.
    metric : {"auto", "euclidean", "angular"}
    laplacian, self_loops
        As for :func:`spectrata.spectra`.
    log : bool
        Whether to give the natural logarithm of the share. A loss should use it: its gradient does not fade where
        little is left, and it is finite everywhere, ``log(eps)`` for a constant signal.
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
    >>> round(float(off_zero(nx.path_graph(3), torch.tensor([1.0, 1.0, 4.0]), log=True)), 3)
    -1.099
    """
    strat = _read(graph, [hop], weights)
    values = _three_axes(strat, signal)
    t, _ = _potential(values, resolve_metric(metric, values.shape[2]))
    snapshots, n, dims = t.shape
    columns = t[0] if snapshots == 1 else t.permute(1, 0, 2).reshape(n, snapshots * dims)
    stratum = _stratum(strat, hop, Backend("torch", str(signal.device)))
    zero, rest = split_at_zero(stratum, strat.computing.operator(laplacian, self_loops), columns)
    off, at = (part.square().reshape(-1, snapshots, dims).sum(dim=(0, 2)) for part in (rest, zero))
    total = off + at
    if log:
        # Energies are sums over nodes; eps is a share, so that a constant signal gives log(eps) on every graph.
        size = torch.where(total > 0, total, 1.0).detach()
        share = torch.log(off / size + eps) - torch.log(total / size + eps)
    else:
        share = off / (total + eps)
    return _like(share, signal)


def effective_rank(x: torch.Tensor, eps: float = 1e-12) -> torch.Tensor:
    r"""Compute the effective rank of a matrix, with gradients.

    .. math:: \exp\left(-\sum_i p_i \, \ln p_i\right), \qquad p_i = \sigma_i / \sum_j \sigma_j

    with the singular values :math:`\sigma` of the matrix as given, not centred (Roy and Vetterli 2007). It lies
    between 1, where all rows are multiples of one vector, and the smaller side of the matrix. The values come from the
    smaller Gram matrix in double precision: exact to about 1e-6 of the largest.

    Parameters
    ----------
    x : Tensor, shape (n, d) or (T, n, d)
    eps : float
        Singular values below this share of the largest, squared, count as 0; the result and its gradients are finite
        for every finite matrix, and 1 for the zero matrix.

    Returns
    -------
    Tensor, shape () or (T,)

    Examples
    --------
    >>> import torch
    >>> from spectrata.torch import effective_rank
    >>> round(float(effective_rank(torch.eye(3))), 3), round(float(effective_rank(torch.ones(5, 2))), 3)
    (3.0, 1.0)
    """
    if not isinstance(x, torch.Tensor) or not x.is_floating_point() or x.ndim not in (2, 3):
        raise SignalTypeError("x must be a tensor of floating-point numbers of shape (n, d) or (T, n, d).")
    values = (x[None] if x.ndim == 2 else x).double()
    largest = values.detach().abs().amax(dim=(1, 2), keepdim=True)
    _require_finite(largest, x)
    values = values / torch.where(largest > 0, largest, 1.0)
    wide = values.shape[1] < values.shape[2]
    gram = values @ values.mT if wide else values.mT @ values
    squares = torch.linalg.eigvalsh(gram)
    there = squares.detach() > eps * squares.detach().amax(dim=1, keepdim=True).clamp_min(eps)
    sigma = torch.where(there, torch.where(there, squares, 1.0).sqrt(), 0.0)
    total = sigma.sum(dim=1, keepdim=True)
    p = sigma / torch.where(total > 0, total, 1.0)
    entropy = -(p * torch.log(torch.where(there, p, 1.0))).sum(dim=1)
    return _like(torch.exp(entropy), x)


# ---- the signal


def _potential(values: torch.Tensor, metric: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The signal whose plain differences have the gradient's length, and a power of two taken out of it ``(T, 1, 1)``.

    ``(T, n, d) -> (T, n, d)``. Rows (for lengths: snapshots) are brought to about 1 first, so that squares keep their
    digits. Gradients pass through.
    """
    size = values.detach().abs().amax(dim=2, keepdim=True)
    largest = size.amax(dim=1, keepdim=True)
    _require_finite(largest, values)
    if metric == "euclidean":
        factor = torch.ldexp(torch.ones_like(largest), torch.frexp(torch.where(largest > 0, largest, 1.0))[1] - 1)
        return values / factor, factor
    even = values / torch.where(size > 0, size, 1.0)  # the factor cancels
    norms = torch.linalg.vector_norm(even, dim=2, keepdim=True)
    return even / (2 * torch.where(size > 0, norms, 1.0)), torch.ones_like(largest)


def _require_finite(largest: torch.Tensor, x: torch.Tensor) -> None:
    """Refuse NaN and infinite values, by the largest entry of each snapshot."""
    if bool(torch.isfinite(largest).all()):
        return
    bad = ~torch.isfinite(x.detach())
    where = tuple(int(place) for place in bad.nonzero()[0])
    raise SignalValueError(
        f"The signal is {float(x.detach()[where])} at {list(where)} ({int(bad.sum())} NaN or infinite values in all), "
        "and has no spectrum; look for what makes it so, such as a learning rate that is too high."
    )


# ---- the graph


def _read(graph: Any, hops: Any, weights: Any) -> Stratification:
    """A graph at these hops; a stratification has its own, of which some are chosen later."""
    return as_stratification(graph, None if isinstance(graph, Stratification) else hops, weights=weights)


def _work(strat: Stratification, hop: int, t: torch.Tensor, plan: Plan) -> Hop:
    """The hop with its signal, as tensors where that is; without gradients in main memory, as numpy arrays."""
    here = Backend("torch", str(t.device))
    solver = NUMPY if t.device.type == "cpu" else here
    stratum = _stratum(strat, hop, solver)
    basis = strat.planned_basis(stratum, plan, solver)
    if not t.requires_grad:
        return strat.work(stratum, basis, t.numpy() if solver == NUMPY else t, plan, solver)
    if solver != here:
        stratum, basis = stratum.on(here), basis.on(here)
    return strat.work(stratum, basis, t, plan, here)


def _stratum(strat: Stratification, hop: int, backend: Backend) -> Stratum:
    """A stratum whose edges are kept between calls, as far as eigenbases are."""
    return strat.remember(("stratum", hop, backend), lambda: strat.strata.at(hop, backend))


def _hops(strat: Stratification, hops: int | Iterable[int] | None) -> tuple[int, ...]:
    asked = asked_hops(hops)
    if isinstance(asked, list):
        return strat.strata.only(asked).hops
    return tuple(hop for hop in strat.hops if asked is None or hop <= asked)


# ---- tensors


def _three_axes(strat: Stratification, signal: torch.Tensor) -> torch.Tensor:
    if not isinstance(signal, torch.Tensor) or not signal.is_floating_point():
        raise SignalTypeError("signal must be a tensor of floating-point numbers.")
    shape, n = tuple(signal.shape), strat.graph.n_nodes
    if signal.ndim not in (1, 2, 3):
        raise SignalTypeError(f"signal has shape (n,), (n, d) or (T, n, d), not {shape}.")
    values = signal if signal.dtype in DTYPES else signal.float()
    values = values[None, :, None] if values.ndim == 1 else values[None] if values.ndim == 2 else values
    if values.shape[1] != n:
        raise NodeCountError(f"signal has {values.shape[1]} nodes (shape {shape}), but the graph has {n}.")
    return values


def _like(found: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
    """A result in the precision of what was given, without snapshots where that had none."""
    found = found.to(given.dtype if given.dtype.itemsize >= 4 else torch.float32)
    return found if given.ndim == 3 else found[0]
