"""``spectrata profile --bands``: from a large graph and a signal to energies per band."""

from typing import TYPE_CHECKING, Any

from spectrata.cli import files
from spectrata.cli.options import GraphOptions, SignalOptions, parse_hops
from spectrata.cli.render import Meter, shown, table, text
from spectrata.errors import OptionError, argument

if TYPE_CHECKING:
    import xarray as xr

TAKEN = (
    "algorithms", "metric", "columns", "zero_vectors", "seed", "device", "orientation", "laplacian", "self_loops",
    "spacing",
)  # fmt: skip
SHOWN, SERIES = 12, 5  # bands and spectra in a table; the files have all
EDGES = ("band_lower", "band_upper", "band_size", "band_size_error", "chance")
ENERGIES = (
    "energy", "energy_lower", "energy_upper", "cumulative", "cumulative_lower", "cumulative_upper", "zero_energy",
    "energy_outside", "steps", "status",
)  # fmt: skip


def profile_bands(
    graph: GraphOptions, signal: SignalOptions, bands: int | list[float], out: str | None, csv: bool, json: bool,
    arguments: dict[str, Any],
) -> None:  # fmt: skip
    """Compute, print, write."""
    from spectrata.bands.spectra import band_spectra
    from spectrata.core.stratification import Stratification
    from spectrata.inputs.columns import pick_columns
    from spectrata.inputs.graphs import as_graph
    from spectrata.inputs.signals import as_signal

    refused = sorted(set(arguments) - set(TAKEN))
    if refused:
        raise OptionError(f"{argument(refused[0])} needs eigenvectors; --bands does not compute them.")
    folder = files.chosen_folder(out, files.default_folder(graph.graph))
    with Meter() as progress:
        known = as_graph(graph.graph, **graph.arguments())
        values = as_signal(signal.signal, known, signal.nodes)
        values = pick_columns(values, signal.column) if signal.column else values
        on_graph = {name: arguments.pop(name) for name in ("device", "laplacian", "self_loops") if name in arguments}
        if "orientation" in arguments:
            arguments["apprx_ls"] = {"orientation": arguments.pop("orientation")}
        how: dict[str, Any] = {"hop_weights": graph.hop_weights, "progress": progress, "max_basis_bytes": 0} | on_graph
        ds = band_spectra(Stratification(known, parse_hops(graph.hops) or [1], **how), values, bands, **arguments)
        if not json:
            _print(ds, graph.graph)
        progress("writing", 1.0)
        document: dict[str, Any] = {"command": "profile", "graph": graph.graph, "signal": signal.signal, **ds.attrs}
        dims = [dim for dim in ("hop", "algorithm", "snapshot", "column") if dim in ds.dims]
        document |= {name: ds[name].values for name in (*EDGES, *ENERGIES, *dims)} if json else {}
        contents = files.result(ds) | (files.long_table(ds) if csv else {})
        files.finish(folder, contents, json, document, "" if csv else " (also: --csv)")


def _print(ds: "xr.Dataset", graph: str) -> None:
    import numpy as np

    size = f"{ds.attrs['n_nodes']:,} nodes, {ds.attrs['n_edges']:,} edges"
    text(f"graph: {graph}: {size}{', weighted' * bool(ds.attrs['weights'])}")
    joined = -(-ds.sizes["band"] // SHOWN)
    every = [dim for dim in ("algorithm", "snapshot", "column") if dim in ds.dims]
    for hop in ds["hop"].values.tolist():
        at = ds.sel(hop=hop)
        starts = range(0, ds.sizes["band"], joined)
        upper = at["band_upper"].values[[min(start + joined, ds.sizes["band"]) - 1 for start in starts]]
        cells = {f"hop {hop}, up to": [*(f"{edge:.4g}" for edge in upper), "off zero", "error"]}
        cells["chance"] = [*map(shown, np.add.reduceat(at["chance"].values, starts)), "", ""]
        places = list(np.ndindex(*(at.sizes[dim] for dim in every)))
        for place in places[:SERIES]:
            one = at.isel(dict(zip(every, place, strict=True)))
            cells[" ".join(str(one[dim].item()) for dim in every)] = _series(one, starts)
        table(cells)
    text(
        "Each number is a band's share of the energy off zero, up to this eigenvalue; error bounds cumulative shares; "
        "chance: the band's share of the eigenvalues."
    )
    if joined > 1 or len(places) > SERIES:
        text(f"The files hold all {ds.sizes['band']} bands of {len(places):,} spectra.")
    for word in sorted({str(word) for word in ds["status"].values.ravel() if word != "ok"}):
        text(f"note: {word}")


def _series(one: "xr.Dataset", starts: range) -> list[str]:
    import numpy as np

    from spectrata.stats.describe.spectrum import band_energy_shares

    total = float(one["energy"].sum() + one["energy_outside"])
    whole = total + float(one["zero_energy"])
    half = float((one["cumulative_upper"] - one["cumulative_lower"]).max()) / 2
    shares = np.add.reduceat(band_energy_shares(one).values, starts)
    return [*map(shown, shares), shown(total / whole if whole > 0 else np.nan), shown(half)]
