"""``python -m spectrata.experiments.studies.models``: the study without the rest of the command line.

It needs torch, numpy and scipy for the training, so that a bare GPU machine can run it.
"""

import argparse
import sys

from spectrata.errors import SpectrataError
from spectrata.experiments.studies.models import running
from spectrata.experiments.studies.models.protocol import FULL, QUICK


def main() -> int:
    """Train what has no record yet; report once every record is there."""
    parser = argparse.ArgumentParser(prog="spectrata.experiments.studies.models", description=__doc__)
    parser.add_argument("--out", required=True, help="folder of records, tables and figures")
    parser.add_argument("--data", help="folder of the graphs' files")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--limit-seconds", type=float, help="begin no unit after this time")
    parser.add_argument("--quick", action="store_true", help="the small study")
    parser.add_argument("--device", help="cuda or cpu")
    parser.add_argument("--resume", help="folder of packed records to go on from")
    parser.add_argument("--pack", help="folder to pack the records into at the end")
    parser.add_argument("--publish", help="checkout whose levels, page and figures are replaced")
    parser.add_argument("--no-report", action="store_true", help="train and measure only")
    given = parser.parse_args()
    protocol = QUICK if given.quick else FULL
    try:
        if given.resume:
            say(f"{running.unpack(protocol, given.out, given.resume)} units taken from {given.resume}")
        left = running.run(protocol, given.out, given.data, given.workers, given.limit_seconds, given.device, say)
        if given.pack:
            say(f"packed: {', '.join(str(path) for path in running.pack(protocol, given.out, given.pack))}")
        if not left and not given.no_report:
            from spectrata.experiments.studies.models.report import publish, report

            report(protocol, given.out, given.data, say)
            if given.publish:
                publish(given.out, given.publish)
    except SpectrataError as problem:
        say(f"error: {problem}")
        return 2
    return 0


def say(text: str) -> None:
    """One line of progress."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
