"""``python -m tests.fuzz``: try many inputs on the readers, and print what came of it."""

import argparse
import hashlib
import json
import os
import sys
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # one that does not reserve more than it uses
os.environ.setdefault("MPLBACKEND", "agg")

from .driver import Outcome, minimise, run  # noqa: E402
from .targets import TARGETS  # noqa: E402


def main() -> int:
    """Run, print a table, keep what crashed; 1 when anything did."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--reader", action="append", help=f"of {', '.join(TARGETS)}; or all, the default")
    parser.add_argument("--inputs", type=int, help="per reader; a small fixed number each when not given")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--crashes", type=Path, default=Path("fuzz-crashes"), help="folder for inputs that crash")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    given = parser.parse_args()
    every = [name for name, target in TARGETS.items() if not target.by_hand]
    names = every if not given.reader or "all" in given.reader else given.reader
    outcomes = {}
    for name in names:
        target = TARGETS[name]
        wanted = given.inputs or target.bounded

        def show(now: Outcome, name: str = name, wanted: int = wanted) -> None:
            _tell(now)
            if sys.stderr.isatty():
                print(
                    f"\r{name}: {now.inputs:,} of {wanted:,}, {now.crash_count} crashes",
                    end="\033[K\r",
                    file=sys.stderr,
                )

        outcome = run(target, wanted, given.seed, show)
        outcomes[name] = outcome
        for words, data in outcome.crashes.items():
            _keep(given.crashes, name, words, minimise(target, data, words))
        if not given.json:
            print(_row(name, outcome) if len(outcomes) > 1 else f"{_HEAD}\n{_row(name, outcome)}", flush=True)
            for words in outcome.crashes:
                print(f"    {words}", flush=True)
    if given.json:
        print(json.dumps({name: _facts(outcome) for name, outcome in outcomes.items()}))
    else:
        print(f"{sum(outcome.inputs for outcome in outcomes.values()):,} inputs in all")
    return 1 if any(outcome.crash_count for outcome in outcomes.values()) else 0


_told: set[str] = set()


def _tell(now: Outcome) -> None:
    """Say every new kind of crash as soon as it is seen."""
    for words in now.crashes.keys() - _told:
        _told.add(words)
        print(f"after {now.inputs:,} inputs: {words}", file=sys.stderr, flush=True)


_HEAD = (
    "| reader | inputs | accepted | refused, by kind | branches reached | crashes | time | slowest |\n"
    "|---|---:|---:|---|---:|---:|---:|---:|"
)


def _row(name: str, outcome: Outcome) -> str:
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in outcome.refused.most_common())
    return (
        f"| {name} | {outcome.inputs:,} | {outcome.accepted:,} | {kinds} | {outcome.reached} of {outcome.branches} | "
        f"{outcome.crash_count} | {outcome.seconds:.0f} s | {outcome.slowest:.2f} s |"
    )


def _facts(outcome: Outcome) -> dict:
    return {
        "inputs": outcome.inputs,
        "accepted": outcome.accepted,
        "refused": dict(outcome.refused),
        "reached": outcome.reached,
        "branches": outcome.branches,
        "crashes": list(outcome.crashes),
        "seconds": round(outcome.seconds, 1),
    }


def _keep(folder: Path, name: str, words: str, data: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{name.replace(' ', '-')}-{hashlib.sha256(data).hexdigest()[:12]}"
    (folder / f"{stem}.bin").write_bytes(data)
    (folder / f"{stem}.txt").write_text(words + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
