"""The strongest frequencies of a result as a table."""

from typing import TYPE_CHECKING, Any

from spectrata.cli.render import table, text

if TYPE_CHECKING:
    import xarray as xr

ROWS = 24  # of the table


def print_strongest(ds: "xr.Dataset") -> None:
    """A table of eigenvalues with their magnitudes, and what its signs mean."""
    from spectrata.core.registry import row_of
    from spectrata.results.schema import view
    from spectrata.stats.describe.summary import precision_notes, strongest_rows

    every, result = strongest_rows(ds), view(ds)
    rows, cells = every[:ROWS], {"hop": [row["hop"] for row in every[:ROWS]]}
    cells |= {} if result.rows is None else {", ".join(result.row_dims): [row["row"] for row in rows]}
    cells |= {"algorithm": [row["algorithm"] for row in rows]}
    strongest = [_cell(row["strongest"]) for row in rows]
    table(
        cells | {"strongest, as eigenvalue: magnitude": strongest}, left=[*cells, "strongest, as eigenvalue: magnitude"]
    )
    operator = str(ds.attrs["laplacian"]).replace("_", "-")
    text(f"{operator} Laplacian; zero: components of eigenvalue 0; *: repeated eigenvalue, total over its eigenspace.")
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
