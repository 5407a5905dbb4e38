"""How much each layer depends on inputs at each hop distance."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from spectrata.errors import OptionError, missing_extra
from spectrata.torch.watching.evaluation import evaluation_mode
from spectrata.torch.watching.layers import node_rows, resolve_layers
from spectrata.torch.watching.rows import layer_name

if TYPE_CHECKING:
    import xarray as xr

Call = Callable[[torch.nn.Module, torch.Tensor, torch.Tensor], Any]


def influence(
    model: torch.nn.Module,
    data: Any,
    layers: Any = None,
    *,
    hops: int = 3,
    samples: int = 20,
    seed: int = 0,
    call: Call | None = None,
) -> "xr.Dataset":
    """Measure how much each layer's output at a node depends on inputs at each hop distance.

    PyTorch Geometric's measure (``torch_geometric.utils.total_influence``): the l1 norm of the Jacobian of a node's
    output by the features of its ``hops``-hop neighbourhood, summed per hop and averaged over sampled nodes.

    Parameters
    ----------
    model : Module
        Called as ``model(x, edge_index)`` in evaluation mode; modes, gradients and random state are restored.
    data : Data
        With ``x`` and ``edge_index``.
    layers : list of str or Module, optional
        As for :func:`spectrata.torch.watch`.
    hops : int
    samples : int
        Nodes to average over.
    seed : int
        Decides which nodes are sampled.
    call : callable, optional
        ``call(model, x, edge_index)`` where the model is called otherwise.

    Returns
    -------
    Dataset
        ``reads(layer, hop)``, hops from 0, each layer's shares adding to 1; ``influence(layer, hop)`` before
        division; ``breadth(layer)``, the mean hop read.

    References
    ----------
    Liang et al.: Towards Quantifying Long-Range Interactions in Graph Machine Learning, arXiv 2503.09008.

    Examples
    --------
    >>> import torch
    >>> from spectrata.torch import influence
    >>> from torch_geometric.data import Data
    >>> from torch_geometric.nn import GCNConv
    >>> ring = torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]])
    >>> data = Data(x=torch.eye(6), edge_index=torch.cat([ring, ring.flip(0)], dim=1))
    >>> found = influence(GCNConv(6, 2), data, hops=2, samples=3)
    >>> [round(value, 3) for value in found["reads"].values[0].tolist()]
    [0.333, 0.667, 0.0]
    """
    import xarray as xr

    try:
        from torch_geometric.utils.influence import jacobian_l1_agg_per_hop
    except ImportError:
        raise missing_extra("torch-geometric", "torch", "Influence per hop") from None
    if not isinstance(getattr(data, "x", None), torch.Tensor):
        raise OptionError("data has no tensor x; give a torch_geometric Data with features as x and its edge_index.")
    n = int(data.num_nodes)
    if samples < 1 or hops < 1:
        raise OptionError(f"samples={samples} and hops={hops} must be at least 1.")
    chosen = resolve_layers(model, layers)
    nodes = np.random.default_rng(seed).permutation(n)[:samples].tolist()
    device = data.x.device
    rows = []
    with evaluation_mode(model, uncached=True):
        for module in chosen.values():
            part = _UpTo(model, module, call or (lambda net, x, edge_index: net(x, edge_index)))
            found = [jacobian_l1_agg_per_hop(part, data, hops, node, device) for node in nodes]
            rows.append(torch.stack(found).double().mean(dim=0).cpu().numpy())
    table = np.stack(rows)  # (layer, hop)
    total = table.sum(axis=1, keepdims=True)
    share = np.divide(table, total, out=np.full(table.shape, np.nan), where=total > 0)
    coords = {"layer": [name or "model" for name in chosen], "hop": np.arange(hops + 1)}
    variables = {
        "influence": (("layer", "hop"), table),
        "reads": (("layer", "hop"), share),
        "breadth": ("layer", share @ np.arange(hops + 1)),
    }
    return xr.Dataset(variables, coords, {"samples": len(nodes), "seed": seed})


def with_shows(found: "xr.Dataset", spectra: "xr.Dataset") -> "xr.Dataset":
    """Add ``shows(layer, hop)`` of ``w.over_layers()``: the root mean square gradient between nodes at each hop."""
    shown = spectra["gradient_norm"] / np.sqrt(spectra["n_edges"])
    layers = [layer_name(name) for name in found["layer"].values.tolist()]
    shown = shown.transpose("snapshot", "hop").reindex(snapshot=layers, hop=found["hop"].values)
    shown = shown.where(shown["hop"] > 0, 0.0)  # a node differs from itself by nothing
    words = {"long_name": "root mean square difference between nodes so many hops apart"}
    return found.assign(shows=(("layer", "hop"), shown.values, words))


class _UpTo(torch.nn.Module):
    """The model cut after one of its layers, for the node-wise Jacobian."""

    def __init__(self, model: torch.nn.Module, layer: torch.nn.Module, call: Call) -> None:
        super().__init__()
        self.model, self.layer, self.how = model, layer, call

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        """The layer's output, its last if it is called more than once."""
        heard: list[torch.Tensor] = []

        def hear(module: torch.nn.Module, args: Any, output: Any) -> None:
            rows = node_rows(output, len(x))
            if rows is not None:
                heard.append(rows)

        handle = self.layer.register_forward_hook(hear)
        try:
            self.how(self.model, x, edge_index)
        finally:
            handle.remove()
        if not heard:
            raise OptionError("A layer gave no output with one row per node.")
        return heard[-1]
