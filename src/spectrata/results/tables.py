"""A result as a long table."""

from typing import TYPE_CHECKING

from spectrata.results.schema import ROW_DIMS, check

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


def to_table(ds: "xr.Dataset") -> "pd.DataFrame":
    """Magnitudes as a long table: one row per algorithm, snapshot, hop and component.

    Parameters
    ----------
    ds : xarray.Dataset
        A result.

    Returns
    -------
    pandas.DataFrame

    Examples
    --------
    >>> import spectrata as st, networkx as nx
    >>> table = st.to_table(st.spectra(nx.path_graph(3), [0.0, 1.0, 3.0], algorithms="gft"))
    >>> list(table.columns)
    ['algorithm', 'hop', 'component', 'eigenvalue', 'eigenspace', 'multiplicity', 'magnitude']
    """
    check(ds)
    frame = ds[["magnitude"]].to_dataframe().reset_index()
    frame = frame[~frame["multiplicity"].eq(0)]  # what pads hops and graphs with fewer components
    rows = [dim for dim in ("graph", *ROW_DIMS) if dim in ds["magnitude"].dims]
    columns = ["algorithm", *rows, "hop", "component", "eigenvalue", "eigenspace", "multiplicity", "magnitude"]
    return frame[[column for column in columns if column in frame]].reset_index(drop=True)
