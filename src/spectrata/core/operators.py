r"""Which Laplacian of a stratum is decomposed, and with it which measure of nodes.

With the weighted adjacency :math:`W`, its degrees :math:`D` and :math:`L = D - W`, every choice is a node measure
:math:`c(x)`: 1 ("combinatorial"), the degree ("random_walk", "normalized"), one more with ``self_loops``; nodes
without an edge have measure 1. The eigenpairs are those of
:math:`C^{-1/2} L C^{-1/2}`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from spectrata.core.strata import Stratum
from spectrata.errors import OptionError, argument
from spectrata.inputs.numbers import one_of

LAPLACIANS = ("combinatorial", "random_walk", "normalized")


@dataclass(frozen=True)
class Laplacian:
    """One Laplacian: ``D - W``, ``I - D^-1 W`` or ``I - D^-1/2 W D^-1/2``, which has the eigenvalues of the second."""

    laplacian: str = "combinatorial"
    self_loops: bool = False  # one unit loop at every node: the operator of graph convolutional networks

    def __post_init__(self) -> None:
        one_of(self.laplacian, "laplacian", LAPLACIANS)
        if self.self_loops and self.laplacian == "combinatorial":
            raise OptionError(
                f"{argument('self_loops', True)} does not change the combinatorial Laplacian; use "
                f"{argument('laplacian', 'random_walk')} or 'normalized'."
            )

    def __str__(self) -> str:
        return self.laplacian + (" with self-loops" if self.self_loops else "")

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of a call that ask for it."""
        return {"laplacian": self.laplacian, "self_loops": self.self_loops}

    @property
    def has_measure(self) -> bool:
        """Whether nodes count by their degrees."""
        return self.laplacian != "combinatorial"

    @property
    def weighs_signals(self) -> bool:
        """Whether transforms are ``phi_i^T C t``, with constants at eigenvalue 0, rather than ``u_i^T t``."""
        return self.laplacian == "random_walk"

    @property
    def has_constants(self) -> bool:
        """Whether what is constant on a connected part lies at eigenvalue 0."""
        return self.laplacian != "normalized"

    def measure(self, stratum: Stratum) -> np.ndarray:
        """``c(x)`` of every node, shape (n,)."""
        return self.node_measure(stratum.degrees, stratum.counts)

    def node_measure(self, degrees: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """``c(x)`` from each node's sum of weights and number of edges, shapes (n,)."""
        if not self.has_measure:
            return np.ones(len(degrees))
        return np.where(counts > 0, degrees + float(self.self_loops), 1.0)


COMBINATORIAL = Laplacian()
