"""``spectra``, a stratification that keeps nothing, and graphs in any form in the place of a stratification."""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from spectrata.core.algorithms.options import shows_options
from spectrata.core.engine import Progress
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError
from spectrata.kernels.backend import Backend

if TYPE_CHECKING:
    import xarray as xr

GRAPH_ARGUMENTS: dict[str, Any] = {"hops": None, "weights": None, "hop_weights": "bottleneck", "undirected": False}


def as_stratification(
    given: Any,
    hops: int | Iterable[int] | None = None,
    *,
    weights: Any = None,
    hop_weights: str = "bottleneck",
    undirected: bool = False,
) -> Stratification:
    """A stratification as it is, or made from a graph in any form, with the arguments of ``Stratification``.

    Examples
    --------
    >>> import networkx as nx
    >>> as_stratification(nx.path_graph(4), 2, weights=[1.0, 2.0, 3.0]).weights
    'bottleneck'
    """
    named: dict[str, Any] = {"weights": weights, "hop_weights": hop_weights, "undirected": undirected}
    if isinstance(given, Stratification):
        refuse_graph_arguments("A Stratification", hops=hops, **named)
        return given
    return Stratification(given, hops, **named)


def refuse_graph_arguments(what: str, **given: Any) -> None:
    """Refuse arguments that say how a graph is read, where no graph is."""
    names = [name for name, value in given.items() if not _is_default(value, GRAPH_ARGUMENTS[name])]
    if names:
        raise OptionError(f"{what} has its graph read already; leave out {', '.join(names)}, or give the graph itself.")


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (isinstance(value, str) and value == default)


@shows_options
def spectra(
    graph: Any = None,
    signal: Any = None,
    algorithms: str | Iterable[str] | None = None,
    *,
    hops: int | Iterable[int] | None = None,
    edges: Any = None,
    adjacency: Any = None,
    n_nodes: int | None = None,
    weights: Any = None,
    hop_weights: str = "bottleneck",
    undirected: bool = False,
    cache: str | os.PathLike | None = None,
    preset: str | None = None,
    metric: str = "auto",
    columns: str = "joint",
    zero_vectors: str = "error",
    seed: int = 0,
    keep: Iterable[str] | None = None,
    device: str | Backend | None = None,
    dtype: str = "float64",
    n_eigs: int | None = None,
    which: str = "lowest",
    progress: Progress | None = None,
    **options: Any,
) -> "xr.Dataset":
    """Compute the stratified spectra of a signal on a graph.

    At every hop distance ``K``: join the nodes that are exactly ``K`` hops apart, decompose the Laplacian of that
    graph, and measure how the signal's energy is distributed over its frequencies.

    Parameters
    ----------
    graph : graph-like or path
        networkx, igraph, PyG or DGL graph, sparse or dense adjacency, integer edges, or a file.
    signal : array, mapping, DataFrame, DataArray, tensor or path
        ``(n,)``, ``(n, d)``, ``(T, n, d)`` for T snapshots, or node -> vector.
    algorithms : str or list of str, optional
        Of "gft", "apprx_ls", "in_agg", "adj_diff", "ln_vx", "ens", "ens_raw"; the first four by default.
    hops : None, int or iterable of int
        None: all; ``3``: up to 3, cut at the diameter; a list: exactly these.
    edges, adjacency, n_nodes
        Instead of ``graph``, for arrays whose shape is ambiguous.
    weights : str, bool or array, optional
        Edge weights; larger means closer. The name of an edge attribute; True for those of a weighted matrix or edge
        list; an array, one for each edge as given. By default weights are ignored with a warning, with False
        silently.
    hop_weights : {"bottleneck", "product", "unit"}
        Weights of pairs more than one hop apart: the largest, over shortest paths, of the smallest weight on the
        path, or of their product; or 1.
    undirected : bool
        Ignore the directions of edges.
    cache : path, optional
        A folder for eigenbases: solved once, read in every later run on the same graph.
    preset : {"paper"}, optional
        As the released program computes it: all algorithms, ``orientation="index"``, ``scaling="program"``, learned
        LN-VX, Task 3's ENS weights. Options given beside it win.
    metric : {"auto", "euclidean", "angular"}
        Length of the difference of two nodes' vectors; "auto" is euclidean for d = 1 and angular for d > 1.
    columns : {"joint", "separate"}
        The d columns as one vector per node, or as d signals of one number each, under the euclidean metric: the result
        then has a dimension ``column``, with the names of the columns where they have some.
    zero_vectors : {"error", "nan", "zero"}
        What a zero vector does under the angular metric: stop, leave its snapshot NaN with a status, or stay zero,
        half a unit from every direction.
    seed : int
        Decides random orientations and the learning of LN-VX.
    keep : list of {"eigenvectors", "signal", "trials"}, optional
        What else to store; by default all of it up to 200 nodes, nothing beyond.
    device : {None, "cpu", "cuda", "cuda:0", ...}
        Where to work; None follows the signal: tensors of torch or cupy on a GPU stay there.
    dtype : {"float64", "float32"}
        Precision of eigenvectors and magnitudes; single precision keeps about four digits.
    n_eigs, which : int, optional, and {"lowest", "highest"}
        Only so many components from one end of the spectrum, on the CPU; repeated eigenvalues keep their true
        multiplicity. Not with ``ln_vx`` and the ensembles, which take all components.
    progress : callable, optional
        Called as ``progress(message, fraction)`` while working.
    **options
        Options of the algorithms: see :class:`spectrata.core.algorithms.options.Options`.

    Returns
    -------
    xarray.Dataset
        ``magnitude(algorithm, [snapshot,] [column,] hop, component)`` with eigenvalues, eigenspaces, status and more.

    Notes
    -----
    Independent hops run side by side, one BLAS thread each, as far as cores and memory allow. ``gft``, ``in_agg`` and
    one orientation of ``apprx_ls`` need no eigenvectors: a call with only these, which keeps no eigenvectors, does not
    form them for large connected parts. Inside an eigenspace of several dimensions only merged values are defined: see
    :func:`merge_eigenspaces`.

    References
    ----------
    Meng, Orr, Swarup: Stratified Graph Spectra, arXiv 2201.03696.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> ds = st.spectra(nx.cycle_graph(4), [2.0, 1.0, 2.0, 1.0], algorithms="gft", hops=1)
    >>> ds["magnitude"].sel(algorithm="gft", hop=1).values.round(6).tolist()
    [3.0, 0.0, 0.0, 1.0]
    """
    if signal is None:
        raise OptionError("No signal was given; pass one number or one vector per node.")
    strat = Stratification(
        graph,
        hops,
        edges=edges,
        adjacency=adjacency,
        n_nodes=n_nodes,
        weights=weights,
        hop_weights=hop_weights,
        undirected=undirected,
        max_basis_bytes=0,
        cache=cache,
    )
    return strat.spectra(
        signal,
        algorithms,
        preset=preset,
        metric=metric,
        columns=columns,
        zero_vectors=zero_vectors,
        seed=seed,
        keep=keep,
        device=device,
        dtype=dtype,
        n_eigs=n_eigs,
        which=which,
        progress=progress,
        **options,
    )
