"""Text from the command line into the arguments of the Python functions."""

from typing import Any

from spectrata.errors import HopError, OptionError

LARGEST_HOP = 100_000  # no graph that fits has more; a slip like 1-9999999999 must not fill the memory


def parse_hops(text: str | None) -> int | list[int] | None:
    """``3``: up to 3; ``1-6``, ``1,2,5`` and ``1-3,6``: exactly these; ``all`` or nothing: all.

    Examples
    --------
    >>> parse_hops("3"), parse_hops("1-3,6"), parse_hops("all")
    (3, [1, 2, 3, 6], None)
    """
    if text is None or text.strip().lower() == "all":
        return None
    pieces = [piece.strip() for piece in text.split(",")]
    try:
        if len(pieces) == 1 and "-" not in pieces[0].lstrip("-"):
            return int(pieces[0])
        hops: list[int] = []
        for piece in pieces:
            first, dash, last = piece.partition("-")
            start, stop = int(first), int(last if dash else first)
            if stop < start or stop > LARGEST_HOP:
                raise ValueError
            hops.extend(range(start, stop + 1))
    except ValueError:
        raise HopError(f"--hops {text!r} is not understood; write 3, 1-6, 1,2,5 or all.") from None
    return hops


def parse_bands(text: str | None) -> int | list[float] | None:
    """``32``: so many; ``0,0.5,1,2``: edges of eigenvalues.

    Examples
    --------
    >>> parse_bands("32"), parse_bands("0,0.5,2")
    (32, [0.0, 0.5, 2.0])
    """
    if text is None:
        return None
    try:
        return [float(piece) for piece in text.split(",")] if "," in text else int(text)
    except ValueError:
        raise OptionError(f"--bands {text!r} is not understood; write 32, or edges such as 0,0.5,1,2.") from None


def parse_names(text: str | None) -> list[str] | None:
    """Names separated by commas.

    Examples
    --------
    >>> parse_names("gft, adj_diff")
    ['gft', 'adj_diff']
    """
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def parse_keep(text: str | None) -> list[str] | None:
    """Names separated by commas, or ``none``."""
    return [] if text is not None and text.strip().lower() == "none" else parse_names(text)


def parse_weights(text: str | None) -> str | bool | None:
    """``true`` or ``false``, or the name of an edge attribute.

    Examples
    --------
    >>> parse_weights("true"), parse_weights("capacity")
    (True, 'capacity')
    """
    return text if text is None else {"true": True, "false": False}.get(text.strip().lower(), text)


def parse_ens_weights(text: str) -> str | dict[str, float]:
    """The name of a preset, or ``member=weight`` pairs separated by commas.

    Examples
    --------
    >>> parse_ens_weights("even"), parse_ens_weights("adj_diff=0.5,ln_vx=0.5")
    ('even', {'adj_diff': 0.5, 'ln_vx': 0.5})
    """
    if "=" not in text:
        return text
    weights: dict[str, float] = {}
    for piece in text.split(","):
        member, equals, number = piece.partition("=")
        member = member.strip().lower().replace("-", "_")
        try:
            if not equals or member in weights:
                raise ValueError
            weights[member] = float(number)
        except ValueError:
            raise OptionError(
                f"--ens-weights {text!r} is not understood; name a preset, or write adj_diff=0.5,ln_vx=0.5, "
                "each member once."
            ) from None
    return weights


SETTINGS = ("keep", "device", "dtype", "n_eigs", "which")  # flags that say how a Stratification computes


def algorithm_options(given: dict[str, Any]) -> dict[str, Any]:
    """Pick the algorithms' options that were given out of all flags; defaults and the preset decide the rest."""
    from dataclasses import fields

    from spectrata.core.algorithms.options import Options

    options = {field.name: given[field.name] for field in fields(Options) if given.get(field.name) is not None}
    if "ens_weights" in options:
        options["ens_weights"] = parse_ens_weights(options["ens_weights"])
    if str(options.get("activation", "")).lower() == "none":
        options["activation"] = None
    return options
