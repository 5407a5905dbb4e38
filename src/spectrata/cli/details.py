"""The strongest frequencies of a result, by eigenspaces: the split inside a repeated eigenvalue is arbitrary."""

from typing import TYPE_CHECKING, Any

from spectrata.cli.render import table, text

if TYPE_CHECKING:
    import xarray as xr

NOISE = 1e-12  # what is weaker than the strongest by this factor is rounding, not a component
TOP, ROWS = 3, 24  # eigenspaces of a row, and rows of the table


def strongest_rows(ds: "xr.Dataset") -> list[dict[str, Any]]:
    """The strongest eigenspaces of every hop, snapshot or column, and algorithm; NaN and rounding are left out.

    Zero components of several parts count as one eigenspace.
    """
    import numpy as np

    from spectrata.results.schema import view
    from spectrata.stats.describe.spectrum import merge_eigenspaces

    one = view(merge_eigenspaces(ds))
    found = []
    for at, row, index in np.ndindex(len(one.hops), len(one.gradient_norm), len(one.algorithms)):
        values = one.magnitude[index, row, at]
        order = [i for i in np.argsort(-values, kind="stable")[:TOP].tolist() if not np.isnan(values[i])]
        order = [i for i in order if i == order[0] or values[i] > NOISE * values[order[0]]]
        arrays = {"eigenvalue": one.eigenvalue[at], "multiplicity": one.multiplicity[at], "zero": one.is_zero[at]}
        spaces = [{name: array[i].item() for name, array in (arrays | {"magnitude": values}).items()} for i in order]
        facts = {"hop": one.hops[at], "row": None if one.rows is None else one.rows[row]}
        facts |= {"algorithm": one.algorithms[index], "gradient_norm": one.gradient_norm[row, at].item()}
        found.append(facts | {"status": str(one.status[index, row, at]), "strongest": spaces})
    return found


def print_strongest(ds: "xr.Dataset") -> None:
    """A table of eigenvalues with their magnitudes, and what its signs mean."""
    from spectrata.core.registry import row_of
    from spectrata.results.schema import view
    from spectrata.stats.describe.summary import precision_notes

    every, result = strongest_rows(ds), view(ds)
    rows, cells = every[:ROWS], {"hop": [row["hop"] for row in every[:ROWS]]}
    cells |= {} if result.rows is None else {", ".join(result.row_dims): [row["row"] for row in rows]}
    cells |= {"algorithm": [row["algorithm"] for row in rows]}
    strongest = [_cell(row["strongest"]) for row in rows]
    table(
        cells | {"strongest, as eigenvalue: magnitude": strongest}, left=[*cells, "strongest, as eigenvalue: magnitude"]
    )
    text("zero: the components of eigenvalue 0 together; *: repeated eigenvalue, total over its eigenspace.")
    bound = [name for name in result.algorithms if not row_of(name).invariant(result.options)]
    if bound and any("*" in cell for cell in strongest):
        text(f"Magnitudes at * depend on the basis: {', '.join(bound)}.")
    if len(every) > ROWS:
        text(f"{len(every) - ROWS:,} more rows: --json and spectra.nc have all.")
    odd = [f"{row['algorithm']} at hop {row['hop']}: {row['status']}" for row in every if row["status"] != "ok"]
    for line in dict.fromkeys([*(f"{one}." for one in precision_notes(result)), *odd]):
        text(line)


def _cell(found: list[dict[str, Any]]) -> str:
    if not found or found[0]["magnitude"] == 0.0:
        return "all zero" if found else "undefined"
    names = ["zero" if one["zero"] else f"{one['eigenvalue']:.4g}{'*' * (one['multiplicity'] > 1)}" for one in found]
    return "   ".join(f"{name}: {one['magnitude']:.4g}" for name, one in zip(names, found, strict=True))
