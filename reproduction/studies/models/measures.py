"""Measures of hidden states, several runs at once, in double precision on the device of the model.

Definitions are those of :func:`spectrata.smoothness`, which works on one signal in numpy; the tests compare the two.
Directions are rows over their norms. A dead row is zero: it is left out of ``off_zero``, ``mad`` and the contrasts,
and stays zero elsewhere.
"""

from collections.abc import Sequence

import numpy as np
import torch

from reproduction.studies.models.protocol import HOPS
from reproduction.studies.models.structure import BANDS, Structure

Tensor = torch.Tensor
RANKS = ("effective_rank", "stable_rank")
FORMS = ("", "directions_", "centred_", "centred_directions_")
RANK_NAMES = tuple(f"{form}{rank}" for form in FORMS for rank in RANKS)
CONTRASTS = tuple(f"contrast_{hop}" for hop in HOPS)
BAND_NAMES = tuple(f"band_{hop}_{band}" for hop in HOPS for band in range(BANDS + 1))
PLAIN = (
    "off_zero",
    "off_zero_dead_as_zero",
    "dead_share",
    "mad",
    "dirichlet",
    "rayleigh",
    "rayleigh_normalized",
    "rayleigh_directions",
    "norm",
)
MEASURES = (*PLAIN, *RANK_NAMES, *CONTRASTS, *BAND_NAMES)
EXPLAINED = {
    "off_zero": "share of energy of the live rows' directions off the common vector of each connected part",
    "off_zero_dead_as_zero": "the same with dead rows as zero vectors",
    "dead_share": "share of rows that are zero",
    "mad": "mean cosine distance to the neighbours, over live rows",
    "dirichlet": "sum over edges of the squared difference",
    "rayleigh": "dirichlet / squared norm",
    "rayleigh_normalized": "the same for the normalised Laplacian",
    "rayleigh_directions": "rayleigh of the directions",
    "norm": "Frobenius norm",
}
GROUPED = 2**27  # most numbers in one gathered array


def measure_states(states: Sequence[Tensor], structure: Structure) -> np.ndarray:
    """Every measure of every state: S states ``(n, R, h)`` -> ``(S, R, measure)``, NaN where undefined."""
    found, grams = [], []
    for state in states:
        values = state.detach().double().permute(1, 0, 2)  # (R, n, h)
        good = torch.isfinite(values).all(dim=2).all(dim=1)
        values = torch.where(good[:, None, None], values, torch.zeros_like(values))
        columns, products = _measure(values, structure)
        columns = torch.where(good[:, None], columns, torch.full_like(columns, torch.nan))
        found.append(columns.cpu().numpy())
        grams.append(products.cpu().numpy())
    plain = np.stack(found)  # (S, R, plain + contrasts + bands)
    ranks = np.stack([ranks_of(gram) for gram in grams])  # (S, R, ranks)
    ranks[np.isnan(plain).all(axis=2)] = np.nan
    at = len(PLAIN)
    return np.concatenate([plain[..., :at], ranks, plain[..., at:]], axis=2)


def _measure(values: Tensor, structure: Structure) -> tuple[Tensor, Tensor]:
    """All but the ranks ``(R, measure)``, and the Gram matrices that give the ranks ``(R, form, h, h)``."""
    norms = values.norm(dim=2, keepdim=True)
    live = norms[..., 0] > 0  # (R, n)
    t = values / torch.where(norms > 0, norms, torch.ones_like(norms))
    columns = {
        "off_zero": off_zero(t, live, structure),
        "off_zero_dead_as_zero": off_zero(t, torch.ones_like(live), structure),
        "dead_share": 1 - live.double().mean(dim=1),
        "mad": mean_average_distance(t, live, structure),
    }
    squared = values.square().sum(dim=(1, 2))
    columns["dirichlet"] = edge_sum(values, structure.edges)
    columns["rayleigh"] = columns["dirichlet"] / squared
    degree = torch.bincount(structure.edges.reshape(-1), minlength=values.shape[1]).clamp(min=1).double()
    columns["rayleigh_normalized"] = edge_sum(values / degree.sqrt()[:, None], structure.edges) / squared
    columns["rayleigh_directions"] = edge_sum(t, structure.edges) / live.double().sum(dim=1)
    columns["norm"] = squared.sqrt()
    centred = values - values.mean(dim=1, keepdim=True)
    count = live.double().sum(dim=1).clamp(min=1)[:, None, None]
    centred_t = (t - t.sum(dim=1, keepdim=True) / count) * live[..., None]
    grams = torch.stack([form.transpose(1, 2) @ form for form in (values, t, centred, centred_t)], dim=1)
    apart = 2 * centred_t.square().sum(dim=(1, 2)) / (count[:, 0, 0] - 1)  # mean squared distance of live pairs
    for hop in HOPS:
        columns[f"contrast_{hop}"] = 1 - pair_mean(t, live, structure.pairs[hop]) / apart
    bands = torch.cat([band_shares(t, structure, hop) for hop in HOPS], dim=1)
    return torch.cat([torch.stack(list(columns.values()), dim=1), bands], dim=1), grams


def off_zero(t: Tensor, counted: Tensor, structure: Structure) -> Tensor:
    """1 - sum over parts of norm(sum of t)^2 / nodes, over sum of norm(t)^2; over the rows counted. ``(R,)``.

    Computed from differences to the mean of each part, which keeps the digits of a collapsed state.
    """
    weight = counted.double()
    size = torch.zeros((len(t), structure.n_parts), dtype=t.dtype, device=t.device)
    size = size.index_add(1, structure.part, weight).clamp(min=1)
    total = torch.zeros((len(t), structure.n_parts, t.shape[2]), dtype=t.dtype, device=t.device)
    mean = total.index_add(1, structure.part, t * weight[..., None]) / size[..., None]
    rest = ((t - mean[:, structure.part]) * weight[..., None]).square().sum(dim=(1, 2))
    return rest / t.square().sum(dim=(1, 2))


def _differences(x: Tensor, pairs: Tensor) -> Tensor:
    """Squared differences ``(R, pairs)``, few runs at a time where the arrays would be large."""
    step = max(1, GROUPED // max(1, pairs.shape[1] * x.shape[2]))
    rows = [(x[i : i + step, pairs[0]] - x[i : i + step, pairs[1]]).square().sum(dim=2) for i in range(0, len(x), step)]
    return torch.cat(rows)


def edge_sum(x: Tensor, edges: Tensor) -> Tensor:
    """Sum over edges of the squared difference: ``(R, n, h) -> (R,)``."""
    return _differences(x, edges).sum(dim=1)


def mean_average_distance(t: Tensor, live: Tensor, structure: Structure) -> Tensor:
    """Mean cosine distance to the live neighbours at a positive distance, then over nodes that have some: ``(R,)``."""
    edges = structure.edges
    distance = _differences(t, edges) / 2 * (live[:, edges[0]] & live[:, edges[1]])
    ends = edges.reshape(-1)
    nothing = torch.zeros(live.shape, dtype=t.dtype, device=t.device)
    summed = nothing.index_add(1, ends, distance.repeat(1, 2))
    counted = nothing.index_add(1, ends, (distance > 0).double().repeat(1, 2))
    nodes = (counted > 0).double().sum(dim=1)
    mad = (summed / counted.clamp(min=1)).sum(dim=1) / nodes.clamp(min=1)
    return torch.where(live.any(dim=1), mad, torch.full_like(mad, torch.nan))


def pair_mean(t: Tensor, live: Tensor, pairs: Tensor) -> Tensor:
    """Mean squared difference over pairs of live nodes: ``(R,)``, NaN without such a pair."""
    both = (live[:, pairs[0]] & live[:, pairs[1]]).double()
    return (_differences(t, pairs) * both).sum(dim=1) / both.sum(dim=1)


def band_shares(t: Tensor, structure: Structure, hop: int) -> Tensor:
    """Share of energy at eigenvalue zero and in four bands of the hop's Laplacian: ``(R, 5)``."""
    shares = torch.full((len(t), BANDS + 1), torch.nan, dtype=t.dtype, device=t.device)
    if hop not in structure.bases:
        return shares
    basis = structure.bases[hop]
    flat = t.permute(1, 0, 2).reshape(t.shape[1], -1)  # (n, R * h)
    energy = (basis.vectors.T @ flat).reshape(len(flat), len(t), -1).square().sum(dim=2)  # (component, R)
    sums = torch.zeros((BANDS + 1, len(t)), dtype=t.dtype, device=t.device).index_add(0, basis.band, energy)
    return (sums / sums.sum(dim=0)).T


def ranks_of(grams: np.ndarray) -> np.ndarray:
    """Effective and stable rank from Gram matrices ``(R, form, h, h)``: ``(R, form * 2)``, NaN for zero ones.

    Examples
    --------
    >>> ranks_of(np.diag([4.0, 4.0])[None, None]).round(6).tolist()
    [[2.0, 2.0]]
    """
    squares = np.clip(np.linalg.eigvalsh(grams), 0.0, None)
    singular = np.sqrt(squares)
    total, top = singular.sum(axis=-1), squares.max(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        p = singular / total[..., None]
        entropy = -np.sum(p * np.log(np.where(p > 0, p, 1.0)), axis=-1)
        found = np.stack([np.exp(entropy), squares.sum(axis=-1) / top], axis=-1)
    found = np.where(total[..., None] > 0, found, np.nan)
    return found.reshape(*found.shape[:-2], -1)
