"""The examples that ``--help`` shows, and the groups of its commands."""

ANALYSE, COMPARE, OTHER = "Analyse a graph and a signal", "Compare and check results", "Other commands"
START = "spectrata"

EXAMPLES = {
    START: (
        "spectrata demo",
        "spectrata profile graph.txt signal.csv --report",
        "spectrata correlogram graph.txt signal.csv",
    ),
    "profile": (
        "spectrata profile graph.txt signal.csv --hops 3 --report",
        "spectrata profile graph.txt signal.csv --hops 1-2 --calibrate",
        "spectrata profile graph.txt signal.csv --bands 16 --hops 1",
        "spectrata profile --many pairs.csv --jobs 4 -o results",
    ),
    "compare": ("spectrata compare before/spectra.nc after/spectra.nc --bands 4",),
    "check": ("spectrata check run.zarr --fail-on collapse",),
    "homophily": (
        "spectrata homophily graph.txt labels.csv --hops 3",
        "spectrata homophily graph.txt labels.csv --missing unknown --json",
    ),
    "correlogram": (
        "spectrata correlogram graph.txt signal.csv --metric euclidean",
        "spectrata correlogram graph.txt signal.csv --columns separate -o out",
    ),
    "strata": ("spectrata strata graph.txt",),
    "demo": ("spectrata demo -o demo",),
    "info": ("spectrata info --json",),
}


def epilog(command: str) -> str:
    """The examples of a command as paragraphs, which ``--help`` shows as lines."""
    return "\n\n".join(["Examples:", *(f"$ {line}" for line in EXAMPLES[command])])
