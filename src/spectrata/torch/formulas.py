"""Spectra that gradients pass through: the algorithms' formulas on tensors.

The same functions serve the loss and the transform of recorded copies. Lengths are taken by
``vector_norm``, whose gradient at a zero difference is 0, so equal neighbours and constant
signals give finite gradients.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import torch

from spectrata.core.stratification import Stratification
from spectrata.errors import HopError, NodeCountError, OptionError, SignalTypeError
from spectrata.inputs.signals import resolve_metric
from spectrata.torch.bases import TensorBasis, tensor_basis

# Eigenvectors and edges in one block of differences: on a processor a few thousand rows of 256 stay in the
# second-level cache (ten times faster than whole rows when measured); a GPU wants them large.
_BLOCK = {"cpu": (256, 1024), "cuda": (2048, 2**15)}


def magnitudes(
    strat: Stratification,
    x: torch.Tensor,
    algorithm: str = "gft",
    *,
    hops: int | Iterable[int] | None = None,
    metric: str = "auto",
    dtype: torch.dtype = torch.float64,
) -> torch.Tensor:
    """Compute magnitudes of a tensor with gradients, as :func:`spectrata.spectra` does without.

    Parameters
    ----------
    strat : Stratification
        The graph; its bases are solved on first use, on the tensor's device, and kept.
    x : Tensor, shape (n,), (n, d) or (T, n, d)
        Rows in the order of the graph's nodes.
    algorithm : {"gft", "adj_diff", "in_agg", "apprx_ls"}
        With the default options: ``scaling="unit"``, ``orientation="rms"``.
    hops : int or iterable of int, optional
        Of the stratification's hops: these alone, in this order; all by default.
    metric : {"auto", "euclidean", "angular"}
    dtype : torch.dtype
        Precision of the products; the result has the precision of ``x``.

    Returns
    -------
    Tensor, shape ([T,] hop, n)

    Notes
    -----
    Zero vectors under the angular metric have no direction; here they count as the zero potential, so that a
    loss stays finite with dead rows, where :func:`spectrata.spectra` would refuse.

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
    if algorithm not in FORMULAS:
        raise OptionError(
            f"There is no differentiable algorithm {algorithm!r}; the algorithms are {', '.join(FORMULAS)}."
        )
    values, single = _three_axes(strat, x)
    chosen = _hops(strat, hops)
    t, scale = scaled(potential(values.double(), resolve_metric(metric, values.shape[2])))
    rows = []
    for hop in chosen:
        basis = tensor_basis(strat, hop, x.device, dtype)
        rows.append(FORMULAS[algorithm](t, basis).double() * scale)
    found = torch.stack(rows, dim=1).to(x.dtype if x.dtype.itemsize >= 4 else torch.float32)  # (T, hop, n)
    return found[0] if single else found


def off_zero(
    strat: Stratification, x: torch.Tensor, *, hop: int = 1, metric: str = "auto", eps: float = 1e-12
) -> torch.Tensor:
    """Compute the share of GFT energy off the zero components, with gradients: what over-smoothing takes away.

    Needs no decomposition. ``relu(target - off_zero(strat, h))`` is a loss against over-smoothing.

    Parameters
    ----------
    strat : Stratification
    x : Tensor, shape (n,), (n, d) or (T, n, d)
    hop : int
    metric : {"auto", "euclidean", "angular"}
    eps : float
        Added to the energy of the signal, brought to about 1 first, so that a zero signal gives 0.

    Returns
    -------
    Tensor, shape () or (T,)

    Examples
    --------
    >>> import networkx as nx, spectrata as st, torch
    >>> from spectrata.torch import off_zero
    >>> strat = st.Stratification(nx.path_graph(3), hops=1)
    >>> round(float(off_zero(strat, torch.tensor([1.0, 1.0, 4.0]))), 3)
    0.333
    """
    values, single = _three_axes(strat, x)
    t, _ = scaled(potential(values.double(), resolve_metric(metric, values.shape[2])))
    labels = torch.as_tensor(strat.strata.at(_hops(strat, [hop])[0]).parts, device=x.device)
    centred, _ = centre(t, labels, torch.bincount(labels))
    share = centred.square().sum(dim=(1, 2)) / (t.square().sum(dim=(1, 2)) + eps)
    share = share.to(x.dtype if x.dtype.itemsize >= 4 else torch.float32)
    return share[0] if single else share


# ---- the signal


def potential(values: torch.Tensor, metric: str) -> torch.Tensor:
    """The signal whose plain differences have the gradient's length: ``(T, n, d) -> (T, n, d)``."""
    if metric == "euclidean":
        return values
    # Rows are brought to about 1 first, so that no norm under- or overflows; the factor cancels.
    size = values.detach().abs().amax(dim=2, keepdim=True)
    scaled = values / torch.where(size > 0, size, 1.0)
    norms = torch.linalg.vector_norm(scaled, dim=2, keepdim=True)
    return scaled / (2 * torch.where(size > 0, norms, 1.0))


def scaled(t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The potential over a power of two per snapshot, so that squares keep their digits, and these ``(T, 1)``.

    Its largest entry then lies between 1 and 2, in single precision too; gradients pass through.
    """
    largest = t.detach().abs().amax(dim=(1, 2))
    factor = torch.ldexp(torch.ones_like(largest), torch.frexp(torch.where(largest > 0, largest, 1.0))[1] - 1)
    return t / factor[:, None, None], factor[:, None]


def centre(t: torch.Tensor, labels: torch.Tensor, sizes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The signal less its mean over each connected part, and those means ``(T, p, d)``."""
    sums = t.new_zeros(t.shape[0], len(sizes), t.shape[2]).index_add(1, labels, t)
    means = sums / sizes[:, None].to(t.dtype)
    return t - means[:, labels], means


def gradients(t: torch.Tensor, basis: TensorBasis) -> torch.Tensor:
    """``norm(t(x) - t(y))`` per edge of the stratum: ``(T, n, d) -> (T, m)``."""
    lengths = torch.linalg.vector_norm(t[:, basis.edges[:, 0]] - t[:, basis.edges[:, 1]], dim=2)
    return lengths.to(basis.values.dtype)


# ---- the algorithms


def gft(t: torch.Tensor, basis: TensorBasis) -> torch.Tensor:
    """``norm(u_i^T t)``: ``(T, n, d) -> (T, n)``.

    Zero components come from the means over parts, the others from the centred signal: in single
    precision their error is then relative to what varies, not to the mean.
    """
    centred, means = centre(t, basis.part_of, basis.part_sizes)
    return gft_centred(centred, means, basis)


def gft_centred(centred: torch.Tensor, means: torch.Tensor, basis: TensorBasis) -> torch.Tensor:
    """The same from a signal that is centred already."""
    snapshots, n, dims = centred.shape
    zero = torch.linalg.vector_norm(means, dim=2) * basis.part_sizes.to(means.dtype).sqrt()  # (T, p)
    out = zero.new_zeros(snapshots, n).index_copy(1, basis.part_columns, zero)
    columns = centred.to(basis.values.dtype).permute(1, 0, 2).reshape(n, snapshots * dims)
    for part in basis.parts:
        here = columns if len(part.nodes) == n else columns[part.nodes]  # nodes are ascending
        found = part.vectors[:, 1:].T @ here  # (c - 1, T d)
        lengths = torch.linalg.vector_norm(found.reshape(-1, snapshots, dims), dim=2)
        out = out.index_copy(1, part.columns[1:], lengths.T.to(out.dtype))
    return out


def adj_diff(t: torch.Tensor, basis: TensorBasis) -> torch.Tensor:
    """``sum_e g(e) abs(u_i(x) - u_i(y)) / sqrt(lam_i)``, at zero ``sum g / sqrt(m)``."""
    return adj_diff_of(gradients(t, basis), basis)


def adj_diff_of(g: torch.Tensor, basis: TensorBasis) -> torch.Tensor:
    """The same from the gradients ``(T, m)``."""
    sums = _difference_sums(g, basis, 1)
    flat = g.sum(dim=1, keepdim=True) / max(1, g.shape[1]) ** 0.5
    return torch.where(basis.is_zero, flat, sums / _safe(basis).sqrt())


def apprx_ls(t: torch.Tensor, basis: TensorBasis) -> torch.Tensor:
    """``sqrt(sum_e g(e)^2 (u_i(x) - u_i(y))^2) / lam_i``, 0 at zero."""
    return apprx_ls_of(gradients(t, basis), basis)


def apprx_ls_of(g: torch.Tensor, basis: TensorBasis) -> torch.Tensor:
    """The same from the gradients ``(T, m)``."""
    sums = _difference_sums(g.square(), basis, 2)
    some = (sums > 0) & ~basis.is_zero
    return torch.where(some, torch.where(some, sums, 1.0).sqrt() / _safe(basis), 0.0)


def in_agg(t: torch.Tensor, basis: TensorBasis) -> torch.Tensor:
    """``abs(U^T f)``, ``f(v)`` the mean gradient over the edges of ``v``."""
    return in_agg_of(gradients(t, basis), basis)


def in_agg_of(g: torch.Tensor, basis: TensorBasis) -> torch.Tensor:
    """The same from the gradients ``(T, m)``."""
    sums = g.new_zeros(len(g), len(basis.degrees))
    sums = sums.index_add(1, basis.edges[:, 0], g).index_add(1, basis.edges[:, 1], g)
    return gft((sums / basis.degrees.clamp(min=1).to(g.dtype))[:, :, None], basis)


FORMULAS = {"gft": gft, "adj_diff": adj_diff, "in_agg": in_agg, "apprx_ls": apprx_ls}
OF_GRADIENTS = {"adj_diff": adj_diff_of, "in_agg": in_agg_of, "apprx_ls": apprx_ls_of}


def _safe(basis: TensorBasis) -> torch.Tensor:
    return torch.where(basis.is_zero, 1.0, basis.values)


def _difference_sums(weights: torch.Tensor, basis: TensorBasis, power: int) -> torch.Tensor:
    """``sum_e w(e) abs(u_i(x) - u_i(y))^power``, 0 at zero components: ``(T, m) -> (T, n)``."""
    out = weights.new_zeros(len(weights), len(basis.values))
    for part in basis.parts:
        found = _EdgeSums.apply(weights[:, part.edge_rows], part.edges, part.vectors, power)
        out = out.index_copy(1, part.columns[1:], found)
    return out


class _EdgeSums(torch.autograd.Function):
    """A linear map of edge weights whose matrix ``(m, c - 1)`` is made block by block and never held."""

    @staticmethod
    def forward(
        ctx: Any, weights: torch.Tensor, edges: torch.Tensor, vectors: torch.Tensor, power: int
    ) -> torch.Tensor:
        ctx.save_for_backward(edges, vectors)
        ctx.power = power
        out = weights.new_zeros(len(weights), vectors.shape[1] - 1)
        for rows, columns, block in _blocks(edges, vectors, power):
            out[:, columns].addmm_(weights[:, rows], block)
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        edges, vectors = ctx.saved_tensors
        grad = grads[0]
        out = grad.new_zeros(len(grad), len(edges))
        for rows, columns, block in _blocks(edges, vectors, ctx.power):
            out[:, rows].addmm_(grad[:, columns], block.T)
        return out, None, None, None


def _blocks(
    edges: torch.Tensor, vectors: torch.Tensor, power: int
) -> Iterator[tuple[slice, slice, torch.Tensor]]:
    """``abs(u_i(x) - u_i(y))^power`` for some edges (rows) and some eigenvectors (columns) at a time."""
    width, height = _BLOCK.get(vectors.device.type, _BLOCK["cpu"])
    x, y = edges[:, 0].contiguous(), edges[:, 1].contiguous()
    first, second = (vectors.new_empty(height * width) for _ in range(2))
    for left in range(1, vectors.shape[1], width):
        some = vectors[:, left : left + width].contiguous()
        columns = slice(left - 1, left - 1 + some.shape[1])
        for top in range(0, len(edges), height):
            rows = slice(top, min(top + height, len(edges)))
            shape = (rows.stop - top, some.shape[1])
            block, other = (buffer[: shape[0] * shape[1]].view(shape) for buffer in (first, second))
            torch.index_select(some, 0, x[rows], out=block)
            block -= torch.index_select(some, 0, y[rows], out=other)
            yield rows, columns, block.abs_() if power == 1 else block.square_()


# ---- arguments


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


def _hops(strat: Stratification, hops: int | Iterable[int] | None) -> list[int]:
    if hops is None:
        return list(strat.hops)
    chosen = [hops] if isinstance(hops, int) else list(hops)
    for hop in chosen:
        if hop not in strat.hops:
            raise HopError(f"hop {hop} is not among the stratification's hops, {list(strat.hops)}.")
    return chosen
