"""``spectrata profile --bands``: from a large graph and a signal to energies per band."""

from typing import TYPE_CHECKING, Any

from spectrata.cli import files
from spectrata.cli.options import GraphOptions, SignalOptions
from spectrata.cli.render import progress_bar, table, text
from spectrata.errors import OptionError, argument

if TYPE_CHECKING:
    import xarray as xr

    from spectrata.cli.commands.profile import Output

TAKEN = (
    "algorithms", "metric", "columns", "zero_vectors", "seed", "device", "apprx_ls", "laplacian", "self_loops",
    "spacing",
)  # fmt: skip
SHOWN, SERIES = 12, 5  # bands and spectra in a table; the files have all


def profile_bands(
    graph: GraphOptions, signal: SignalOptions, bands: int | list[float], to: "Output", arguments: dict[str, Any]
) -> None:
    """Compute, print, write."""
    from spectrata.bands.result import NAMES
    from spectrata.bands.spectra import band_spectra
    from spectrata.inputs.signals import as_signal, pick_columns
    from spectrata.results.files import to_table

    for name in sorted(set(arguments) - set(TAKEN)):
        raise OptionError(f"{argument(name)} needs eigenvectors; --bands does not compute them.")
    folder = files.chosen_folder(to.out, files.default_folder(graph.graph))
    with progress_bar() as progress:
        how = {name: arguments.pop(name) for name in ("device", "laplacian", "self_loops") if name in arguments}
        strat = graph.read(lambda n, asked: asked or [1], progress=progress, max_basis_bytes=0, **how)
        values = as_signal(signal.signal, strat.graph, signal.nodes)
        values = pick_columns(values, signal.column) if signal.column else values
        ds = band_spectra(strat, values, bands, **arguments)
        if not to.json:
            _print(ds, graph.graph)
        progress("writing", 1.0)
        document: dict[str, Any] = {"command": "profile", "graph": graph.graph, "signal": signal.signal, **ds.attrs}
        names = [name for name in (*NAMES, "status", "hop", "algorithm", "snapshot", "column") if name in ds]
        document |= {name: ds[name].values for name in names} if to.json else {}
        contents = files.result(ds) | (files.frame("table", "spectra.csv", to_table(ds)) if to.csv else {})
        files.finish(folder, contents, to.json, document, "" if to.csv else " (also: --csv)")


def _print(ds: "xr.Dataset", graph: str) -> None:
    import numpy as np

    from spectrata.stats.describe.spectrum import band_energy_shares
    from spectrata.stats.findings.finding import shown

    size = f"{ds.attrs['n_nodes']:,} nodes, {ds.attrs['n_edges']:,} edges"
    text(f"graph: {graph}: {size}{', weighted' * bool(ds.attrs['weights'])}")
    joined = -(-ds.sizes["band"] // SHOWN)
    starts = range(0, ds.sizes["band"], joined)
    every = [dim for dim in ("algorithm", "snapshot", "column") if dim in ds.dims]
    shares, off = band_energy_shares(ds), ds["energy"].sum("band") + ds["energy_outside"]
    varying = (off / (off + ds["zero_energy"])).where(off + ds["zero_energy"] > 0)
    bound = (ds["cumulative_upper"] - ds["cumulative_lower"]).max("band") / 2
    places = list(np.ndindex(*(ds.sizes[dim] for dim in every)))
    for hop in ds["hop"].values.tolist():
        upper = ds["band_upper"].sel(hop=hop).values[[min(start + joined, ds.sizes["band"]) - 1 for start in starts]]
        cells = {f"hop {hop}, up to": [*(f"{edge:.4g}" for edge in upper), "off zero", "error"]}
        cells["chance"] = [*map(shown, np.add.reduceat(ds["chance"].sel(hop=hop).values, starts)), "", ""]
        for place in places[:SERIES]:
            at = dict(zip(every, place, strict=True))
            one, rest, error = (array.sel(hop=hop).isel(at) for array in (shares, varying, bound))
            name = " ".join(str(one[dim].item()) for dim in every)
            cells[name] = [*map(shown, np.add.reduceat(one.values, starts)), shown(rest.item()), shown(error.item())]
        table(cells)
    text(
        "Each number is a band's share of the energy off zero, up to this eigenvalue; error bounds cumulative shares; "
        "chance: the band's share of the eigenvalues."
    )
    if joined > 1 or len(places) > SERIES:
        text(f"The files hold all {ds.sizes['band']} bands of {len(places):,} spectra.")
    for word in sorted({str(word) for word in ds["status"].values.ravel() if word != "ok"}):
        text(f"note: {word}")
