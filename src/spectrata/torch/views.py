"""The views of the probe as a transform of PyTorch Geometric."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch_geometric.transforms import BaseTransform

from spectrata.errors import OptionError
from spectrata.inputs.graphs import as_graph
from spectrata.stats.views import Neighbourhood, chosen_views, make_view


class SpectralViews(BaseTransform):
    """Replace the features of a graph by views of them, side by side.

    Parameters
    ----------
    views : str or iterable of str
        Names of views, as :func:`spectrata.probe` lists them.
    attr : str
        The attribute that receives the views.
    weights : str or bool, optional
        Edge weights, as for :func:`spectrata.spectra`.

    Examples
    --------
    >>> import torch, spectrata as st
    >>> from torch_geometric.data import Data
    >>> path = Data(x=torch.tensor([[1.0], [0.0], [3.0]]), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> st.torch.SpectralViews("x beside neighbours")(path).x.tolist()
    [[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]
    """

    def __init__(
        self, views: str | Iterable[str] = "x beside neighbours", attr: str = "x", weights: Any = None
    ) -> None:
        self.views, self.attr, self.weights = chosen_views(views), attr, weights

    def forward(self, data: Any) -> Any:
        """Compute the views of ``data.x``."""
        if getattr(data, "x", None) is None:
            raise OptionError("The data has no features x, which views need.")
        near = Neighbourhood(as_graph(data, weights=self.weights))
        x = data.x.detach().cpu().to(torch.float64).numpy()
        found = np.hstack([make_view(near, x, name) for name in self.views])
        data[self.attr] = torch.as_tensor(found, dtype=data.x.dtype, device=data.x.device)
        return data

    def __repr__(self) -> str:
        return f"SpectralViews({', '.join(repr(view) for view in self.views)})"
