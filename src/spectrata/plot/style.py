"""What all pictures share: colours, panels, choices by name, and the words on a panel."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import OptionError, ResultError
from spectrata.results.files import check

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

# Okabe and Ito's colours, told apart by all kinds of colour vision; without the yellow, which fades on paper.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)))
GREY = "#595959"
MAP = "cividis"  # the same order of lightness in every kind of colour vision, and on paper
SIGNED_MAP = "RdBu_r"
MAX_PANELS = 12
MANY = 60  # components from which lines between them would hide more than they show


def as_result(source: Any) -> "xr.Dataset":
    """One result: as it is, or several of one graph, by name, as its snapshots.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> strat = st.Stratification(nx.path_graph(3))
    >>> joined = as_result({"a": strat.spectra([0.0, 1.0, 3.0]), "b": strat.spectra([1.0, 1.0, 3.0])})
    >>> joined["snapshot"].values.tolist()
    ['a', 'b']
    """
    import xarray as xr

    if not isinstance(source, Mapping) or isinstance(source, xr.Dataset):
        return check(source)
    if not source:
        raise OptionError("No result is given.")
    named = {str(name): check(ds, f"{name!r}") for name, ds in source.items()}
    first = next(iter(named.values()))
    for name, ds in named.items():
        if "snapshot" in ds["magnitude"].dims:
            raise OptionError(
                f"{name!r} holds snapshots; choose one, such as ds.isel(snapshot=0, drop=True)."
            )
        if ds.attrs.get("graph_hash") != first.attrs.get("graph_hash"):
            raise ResultError("The results are of different graphs, whose eigencomponents do not correspond.")
    algorithms = [
        m for m in first["algorithm"].values if all(m in ds["algorithm"].values for ds in named.values())
    ]
    hops = [h for h in first["hop"].values if all(h in ds["hop"].values for ds in named.values())]
    if not algorithms or not hops:
        raise ResultError(f"The results share no {'hop' if algorithms else 'algorithm'}; compute all alike.")
    alike = len({ds["signal"].shape if "signal" in ds else () for ds in named.values()}) == 1
    timed = ["magnitude", "gradient_norm", "status", *(["signal"] if alike and "signal" in first else [])]
    pieces = [ds.sel({"algorithm": algorithms, "hop": hops})[timed] for ds in named.values()]
    joined = xr.concat(pieces, dim="snapshot", coords="minimal", compat="override", join="override")
    joined = joined.assign_coords(snapshot=list(named))
    order = {"magnitude": ("algorithm", "snapshot", "hop", "component"), "gradient_norm": ("snapshot", "hop")}
    joined = joined.assign({name: joined[name].transpose(*dims) for name, dims in order.items()})
    still = first.sel({"hop": hops})
    for name in ("edges", "eigenvectors"):
        if name in still:
            joined[name] = still[name]
    return joined.assign_attrs(first.attrs)


def chosen(ds: "xr.Dataset", dim: str, wanted: Any) -> list[Any]:
    """Labels along a dimension: those wanted, refused when the result lacks one, or all."""
    known = ds[dim].values.tolist()
    if wanted is None:
        return known
    names = [wanted] if isinstance(wanted, str) or not isinstance(wanted, Iterable) else list(wanted)
    for name in names:
        if name not in known:
            raise OptionError(f"The result has no {dim} {name!r}; it has {listed(known)}.")
    if not names:
        raise OptionError(f"No {dim} is chosen; the result has {listed(known)}.")
    return names


def one_algorithm(ds: "xr.Dataset", algorithm: str | None) -> str:
    """The algorithm asked for, or gft where there is one, or the first."""
    if algorithm is not None:
        return str(chosen(ds, "algorithm", algorithm)[0])
    names = [str(name) for name in ds["algorithm"].values]
    return "gft" if "gft" in names else names[0]


def one_of(name: str, value: str, known: Sequence[str]) -> None:
    """Refuse an option that is not known."""
    if value not in known:
        raise OptionError(f"{name}={value!r} is not one of {', '.join(map(repr, known))}.")


def listed(known: Sequence[Any]) -> str:
    """The first few names."""
    return ", ".join(str(name) for name in known[:8]) + (", ..." if len(known) > 8 else "")


def count(number: int, noun: str) -> str:
    """``1 edge``, ``2,708 edges``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def look(index: int, total: int) -> tuple[Any, Any, bool]:
    """Colour, dashes, and whether the legend names it: beyond the palette, a scale from dark to light."""
    if total <= len(PALETTE):
        return PALETTE[index], DASHES[index % len(DASHES)], True
    from matplotlib import colormaps

    named = {round(step * (total - 1) / 5) for step in range(6)}
    return colormaps["viridis"](0.9 * index / (total - 1)), "-", index in named


def new_axes(panels: int, height: float = 2.5, width: float = 3.5, least: float = 5.6) -> np.ndarray:
    """Panels of a new figure, shape (panels,)."""
    from matplotlib.figure import Figure

    columns = panels if panels <= 3 else 2 if panels == 4 else 3
    rows = -(-panels // columns)
    figure = Figure(figsize=(max(least, width * columns), height * rows + 0.9), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for unused in axes[panels:]:
        unused.remove()
    return axes[:panels]


def given_axes(ax: Any, panels: int, noun: str = "hops") -> np.ndarray:
    """Axes that were given, as many as there are panels."""
    axes = np.array(ax, dtype=object).ravel()
    if len(axes) != panels:
        raise OptionError(
            f"{panels} {noun} are to be drawn on {len(axes)} axes; choose {noun}, or give one Axes for each."
        )
    return axes


def panels_for(
    ax: Any, wanted: Sequence[Any], max_panels: int, **size: float
) -> tuple[np.ndarray, list[Any]]:
    """Axes, and the hops they show: all on axes that are given, else as many as a figure takes."""
    shown = list(wanted) if ax is not None else list(wanted)[: max(1, max_panels)]
    return (new_axes(len(shown), **size) if ax is None else given_axes(ax, len(shown))), shown


def left_out(wanted: Sequence[Any], shown: Sequence[Any]) -> str:
    """A word on the hops a figure leaves out."""
    if len(wanted) == len(shown):
        return ""
    return f"{len(wanted) - len(shown)} of {len(wanted)} hops not drawn (K = {wanted[len(shown)]} and on)"


def hop_title(at: "xr.Dataset") -> str:
    """``K = 2: 8 edges, 2 parts (1 single)``."""
    edges, parts, alone = int(at["n_edges"]), int(at["n_parts"]), int(at["n_singletons"])
    text = f"K = {int(at['hop'])}: {count(edges, 'edge')}, {count(parts, 'part')}"
    return text + (f" ({alone:,} single)" if alone else "")


def write_in(ax: "Axes", text: str) -> None:
    """Words in the middle of a panel that has nothing else to show."""
    ax.text(
        0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", color=GREY, fontsize=9, wrap=True
    )


def tidy(ax: "Axes") -> None:
    """No frame at the top and right, small ticks."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.tick_params(labelsize=8)


def plain(text: Any) -> str:
    """A name as text that matplotlib does not read as mathematics."""
    return str(text).replace("$", r"\$")
