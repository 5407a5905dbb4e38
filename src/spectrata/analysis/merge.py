"""One value per eigenspace: what does not depend on the choice of an eigenbasis."""

from typing import TYPE_CHECKING

import numpy as np

from spectrata.analysis.layout import (
    MERGED,
    coordinates,
    group_reduce,
    is_invariant,
    level_coordinates,
    magnitudes,
    merge_rule,
    parameters,
)
from spectrata.results.files import check

if TYPE_CHECKING:
    import xarray as xr


def merge_eigenspaces(ds: "xr.Dataset") -> "xr.Dataset":
    r"""Give one magnitude per eigenspace, with its multiplicity.

    Inside a repeated eigenvalue the split over components is arbitrary. The l2 norm over the
    eigenspace is not, for gft, apprx_ls and in_agg:

    .. math:: M(a) = \sqrt{\sum_{i \in a} M(i)^2},

    nor is the sum for ln_vx by incidence. adj_diff, learned ln_vx and ens depend on the basis however
    they are merged; they get the l2 norm too, ``ambiguous`` marks where, and
    :func:`spectrata.basis_spread` says by how much.

    Parameters
    ----------
    ds : Dataset
        A result.

    Returns
    -------
    Dataset
        The same schema, its components now whole eigenspaces in ascending order: ``multiplicity`` is their
        dimension; hops with fewer eigenspaces are padded with NaN, eigenspace -1 and multiplicity 0.
        ``n_eigenspaces(hop)``, ``merge_rule(algorithm)`` and ``ambiguous(algorithm, hop, component)`` are added.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> ds = st.spectra(nx.cycle_graph(4), [3.0, 1.0, 0.0, 1.0], algorithms="gft", hops=1)
    >>> merged = st.merge_eigenspaces(ds)
    >>> merged["multiplicity"].loc[1].values.tolist()
    [1, 2, 1]
    >>> merged["magnitude"].loc["gft", 1].values.round(4).tolist()
    [2.5, 2.1213, 0.5]
    """
    check(ds)
    if MERGED in ds.attrs:
        return ds
    eigenvalue, eigenspace, multiplicity = coordinates(ds)
    count = int(eigenspace.max()) + 1
    options = parameters(ds)
    algorithms = [str(name) for name in ds["algorithm"].values]
    rules = [merge_rule(name, options) for name in algorithms]
    values = magnitudes(ds)
    merged = np.stack(
        [group_reduce(row, eigenspace, count, rule) for row, rule in zip(values, rules, strict=True)]
    )  # (algorithm, T, hop, eigenspace)
    time = "snapshot" in ds["magnitude"].dims
    dims = ("algorithm", "snapshot", "hop", "component") if time else ("algorithm", "hop", "component")
    labels = level_coordinates(eigenvalue, eigenspace, multiplicity, eigenspace, count, "eigenspace")
    repeated = labels["multiplicity"][1] > 1
    changing = np.array([not is_invariant(name, options) for name in algorithms])
    out = ds.drop_dims("component").assign(
        magnitude=(dims, merged if time else merged[:, 0], ds["magnitude"].attrs),
        ambiguous=(("algorithm", "hop", "component"), changing[:, None, None] & repeated),
    )
    out = out.assign_coords({name: (where, array, ds[name].attrs) for name, (where, array) in labels.items()})
    out = out.assign_coords(
        n_eigenspaces=("hop", eigenspace.max(axis=1) + 1),
        merge_rule=("algorithm", np.array(rules, dtype=str)),
    )
    out["ambiguous"].attrs["long_name"] = "the value depends on the choice of a basis of the eigenspace"
    return out.assign_attrs({MERGED: "eigenspaces"})
