"""``spectra``, and graphs in any form in the place of a stratification."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from spectrata.core.plan import make_plan
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError
from spectrata.inputs.signals import as_signal, by_column
from spectrata.kernels.backend import NUMPY, backend_of

if TYPE_CHECKING:
    import xarray as xr


def as_stratification(
    graph: Any, hops: int | Iterable[int] | None = None, weights: Any = None, **computing: Any
) -> Stratification:
    """A stratification as it is, or made from a graph in any form; ``computing`` only says how it is used then."""
    if isinstance(graph, Stratification):
        refuse_graph_arguments("A Stratification", hops=hops, weights=weights)
        return graph
    return Stratification(graph, hops, weights=weights, **computing)


def refuse_graph_arguments(what: str, **given: Any) -> None:
    """Refuse arguments that say how a graph is read, where no graph is."""
    names = [name for name, value in given.items() if value is not None]
    if names:
        raise OptionError(f"{what} has its graph read already; leave out {', '.join(names)}, or give the graph itself.")


def spectra(
    graph: Any,
    signal: Any,
    algorithms: str | Iterable[str] | None = None,
    *,
    hops: int | Iterable[int] | None = None,
    weights: Any = None,
    laplacian: str | None = None,
    self_loops: bool | None = None,
    metric: str = "auto",
    columns: str = "joint",
    zero_vectors: str = "error",
    preset: str | None = None,
    seed: int = 0,
    **options: Any,
) -> "xr.Dataset":
    """Compute the stratified spectra of a signal on a graph.

    At every hop distance ``K``: join the nodes that are exactly ``K`` hops apart, decompose the Laplacian of that
    graph, and measure how the signal's energy is distributed over its frequencies.

    Parameters
    ----------
    graph : graph-like, path or Stratification
        networkx, igraph, PyG or DGL graph, sparse or dense adjacency, integer edges, or a file. A
        :class:`Stratification` says how a graph is read and computed (``n_nodes``, ``hop_weights``, ``device``,
        ``n_eigs``, ``keep``), and is decomposed once for many signals.
    signal : array, mapping, DataFrame, DataArray, tensor or path
        ``(n,)``, ``(n, d)``, ``(T, n, d)`` for T snapshots, or node -> vector.
    algorithms : str or list of str, optional
        Of "gft", "apprx_ls", "in_agg", "adj_diff", "ln_vx", "ens", "ens_raw"; the first four by default.
    hops : None, int or iterable of int
        None: all; ``3``: up to 3, cut at the diameter; a list: exactly these.
    weights : str, bool or array, optional
        Edge weights; larger means closer. The name of an edge attribute; True for those of a weighted matrix or edge
        list; an array, one for each edge as given. By default weights are ignored with a warning, with False
        silently.
    laplacian : {"combinatorial", "random_walk", "normalized"}, optional
        ``D - W`` (the paper's); ``I - D^-1 W``; or ``I - D^-1/2 W D^-1/2``, which works with ``gft`` only. By default
        that of the Stratification, "combinatorial" for a graph.
    self_loops : bool, optional
        Add a loop to every node: the operator of graph convolutional networks. Not with "combinatorial".
    metric : {"auto", "euclidean", "angular"}
        Length of the difference of two nodes' vectors; "auto" is euclidean for d = 1 and angular for d > 1.
    columns : {"joint", "separate"}
        The d columns as one vector per node, or as d signals of one number each, under the euclidean metric: the result
        then has a dimension ``column``, with the names of the columns where they have some.
    zero_vectors : {"error", "nan", "zero"}
        What a zero vector does under the angular metric: stop, leave its snapshot NaN with a status, or stay zero,
        half a unit from every direction.
    preset : {"paper"}, optional
        As the released program computes it: all algorithms, orientation "index", scaling "program", learned LN-VX,
        Task 3's ENS weights. Options given beside it win.
    seed : int
        Decides random orientations and the learning of LN-VX.
    **options : mapping
        Options of one algorithm each: ``apprx_ls={"orientation": "index"}``, ``adj_diff={"scaling": "eigenvalue"}``,
        ``ln_vx={"trials": 5}``, ``ens={"weights": "even"}``; see
        :class:`spectrata.core.algorithms.options.Options`.

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
    strat = as_stratification(graph, hops, weights, max_basis_bytes=0)
    computing = strat.computing
    options |= computing.operator(laplacian, self_loops).arguments
    how = {"preset": preset, "seed": seed, "keep": computing.keep} | computing.components
    plan = make_plan(algorithms, options, strat.graph.n_nodes, **how)
    backend = NUMPY if plan.n_eigs is not None else backend_of(signal, computing.device)
    known = by_column(as_signal(signal, strat.graph), columns, metric)
    return strat.compute(known, plan, metric, zero_vectors, backend, computing.progress)
