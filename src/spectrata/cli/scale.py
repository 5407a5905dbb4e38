"""Which of ``profile``'s three jobs is meant: one graph, one large graph by bands, or many graphs."""

from typing import Any

from spectrata.errors import OptionError


def handled(
    graph: str | None,
    signal: str | None,
    bands: int | list[float] | None,
    spacing: str | None,
    many: str | None,
    out: str | None,
    scheduler: str | None,
    jobs: int,
    n_nodes: int | None,
    hops: int | list[int] | None,
    as_json: bool,
    arguments: dict[str, Any],
    read_as: dict[str, Any],
    cache: str | None,
    column: list[str] | None,
    of_one: list[str],
) -> bool:
    """Do the job when it is one of the large ones; refuse flags that do not go together.

    ``of_one`` are the flags given that need the eigenvectors of one graph.
    """
    if spacing is not None and bands is None:
        raise OptionError("--spacing needs --bands.")
    if of_one and many is not None:
        raise OptionError(f"{of_one[0]} goes with one graph, not with --many; run spectrata profile GRAPH SIGNAL.")
    if of_one and bands is not None:
        raise OptionError(
            f"{of_one[0]} needs eigenvectors, which --bands does not compute; leave out one of them. spectra.png shows "
            "the bands, and spectrata correlogram GRAPH SIGNAL tests every hop against chance."
        )
    if (many is not None or bands is not None) and cache is not None:
        raise OptionError("--cache cannot be used with --bands or --many.")
    if many is not None:
        if graph is not None or n_nodes is not None or spacing is not None:
            raise OptionError("--many takes its graphs from the manifest: leave GRAPH, --n-nodes and --spacing out.")
        if column or arguments["columns"] != "joint":
            raise OptionError("--columns separate and --column go with one graph, not with --many.")
        from spectrata.cli.many import profile_many

        profile_many(
            many,
            out=out,
            scheduler=scheduler,
            jobs=jobs,
            hops=hops,
            as_json=as_json,
            arguments={name: value for name, value in arguments.items() if name != "columns"} | read_as,
            bands=bands,
        )
        return True
    if graph is None or signal is None:
        raise OptionError("Give a GRAPH and a SIGNAL, or --many MANIFEST.")
    if scheduler is not None or jobs != 1:
        raise OptionError("--scheduler and --jobs need --many.")
    if bands is None:
        return False
    from spectrata.cli.bands import profile_bands

    profile_bands(
        graph,
        signal,
        bands,
        out=out,
        hops=hops,
        n_nodes=n_nodes,
        as_json=as_json,
        arguments=arguments | {"spacing": spacing},
        read_as=read_as,
        column=column,
    )
    return True
