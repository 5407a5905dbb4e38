"""Mutation testing of the mathematics, by hand: does a test fail when a line is wrong?

    pip install "mutmut==3.8.0" "pytest<9"
    python tests/mutation.py scratch-folder             # every group, most of a day on two cores
    python tests/mutation.py scratch-folder --one-in 6  # a fixed sample, two to three hours
    python tests/mutation.py scratch-folder eigen       # one group
    python tests/mutation.py scratch-folder --report    # what is known so far, survivors with their change

mutmut makes the mutants and runs the tests; this file says which tests answer for which modules, and tallies. The
committed tree is copied to the scratch folder and kept there: a second run takes the tests anew and tries only the
mutants that have not been killed yet, so that new tests can be tried on the survivors. Texts of errors and warnings
are not mutated.
"""

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import zlib
from collections import Counter
from pathlib import Path


def stats(*names: str) -> list[str]:
    return [f"stats.{name}" for name in names]


ROOT = Path(__file__).resolve().parents[1]
RECORD = "verdicts.json"
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "HYPOTHESIS_PROFILE": "mutants"}
DEAD = ("suspicious", "timeout", "segfault", "killed")
MODULES = [
    "kernels/reference.py",
    "core/algorithms/*.py",
    "core/hop.py",
    "core/strata.py",
    "core/bases/basis.py",
    "core/bases/solve.py",
    "core/bases/accuracy.py",
    "core/bases/verify.py",
    "core/checks.py",
    "bands/one_hop.py",
    "results/atomic_io.py",
    "stats/*.py",
    "stats/*/*.py",
]
ALGORITHMS = [f"core.algorithms.{name}" for name in ("gft", "apprx_ls", "in_agg", "adj_diff", "ens", "options")]
GROUPS: dict[str, tuple[list[str], list[list[str]]]] = {
    # modules, then the tests that answer for them: the nearest first, the wider ones only for what survives those
    "reference": (["kernels.reference"], [["kernels"], ["reference", "oracle"]]),
    "strata": (["core.strata"], [["strata"], ["backends"]]),
    "eigen": (["core.bases.solve", "core.bases.basis"], [["eigen"], ["backends"]]),
    "learning": (["core.algorithms.ln_vx", "core.algorithms.ln_vx_learning"], [["ln_vx"], ["backends"]]),
    "algorithms": (["core.hop", *ALGORITHMS], [["algorithms", "ens"], ["oracle"], ["laws"]]),
    "merge": (
        stats("describe.spectrum", "describe.levels", "describe.align"),
        [["stats_levels", "stats_merge"], ["stats_compare", "stats_smoothness"]],
    ),
    "smoothness": (stats("describe.smoothness"), [["stats_smoothness"]]),
    "compare": (
        stats(*(f"describe.{name}" for name in ("compare", "correlate", "distinguish", "response", "summary"))),
        [["stats_compare", "stats_words"]],
    ),
    "calibrate": (stats("verbs.calibrate", "nulls.surrogates"), [["calibrate"]]),
    "nulls": (
        stats(*(f"nulls.{name}" for name in ("orders", "stopping", "correction", "given", "columns"))),
        [["nulls"], ["likeness", "readings"]],
    ),
    "likeness": (stats("observation", "statistics.pairs", "statistics.shares"), [["likeness"], ["readings"]]),
    "maps": (
        stats("nulls.spectral", "verbs.agree", "verbs.local", "verbs.decoupling"),
        [["agree", "local", "decoupling"]],
    ),
    "bands": (stats("verbs.calibrate_bands"), [["calibrate"], ["bands"]]),
    "checks": (["core.checks", "core.bases.accuracy", "core.bases.verify"], [["accuracy"], ["weak_bridges"]]),
    "one_hop": (["bands.one_hop"], [["accuracy"], ["bands"]]),
    "columns": (stats("verbs.rank_columns", "findings.columns"), [["columns"], ["readings"]]),
    "verdict": (stats("describe.cumulative", "verdict"), [["stats_cumulative", "verdict"]]),
    "store": (["results.atomic_io"], [["atomic_io"], ["faults_power"]]),
}
SETTINGS = """
[tool.mutmut]
source_paths = ["src"]
only_mutate = [{modules}]
also_copy = ["README.md", "docs", "examples", "benchmarks", "constraints.txt", "LICENSE"]
pytest_add_cli_args = ["-p", "no:xdist", "-p", "no:cacheprovider", "-k", "not cora"]
pytest_add_cli_args_test_selection = [{tests}]
process_isolation = "forkserver"
track_dependencies = false
timeout_constant = 30.0
do_not_mutate_patterns = ["^\\\\s*raise ", "warnings\\\\.warn\\\\("]
"""


def copy_of_the_tree(scratch: Path) -> None:
    """The committed tree in the scratch folder, or its tests alone where a tree is, with the shared data."""
    scratch.mkdir(parents=True, exist_ok=True)
    packed = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as tree:
        kept = (scratch / "src").exists()
        wanted = [member for member in tree if member.name.startswith("tests/") or not kept]
        tree.extractall(scratch, members=wanted, filter="data")
    shared = scratch / "shared"  # seen from scratch/mutants as ../shared
    if not shared.exists() and (ROOT.parent / "shared").exists():
        shared.symlink_to(ROOT.parent / "shared")


def run(scratch: Path, group: str, children: int, one_in: int) -> None:
    """Try the mutants of one group on the tests that answer for it, round by round."""
    modules, rounds = GROUPS[group]
    for tests in rounds:
        settings = SETTINGS.format(
            modules=", ".join(f'"src/spectrata/{pattern}"' for pattern in MODULES),
            tests=", ".join(f'"tests/test_{name}.py"' for name in tests),
        )
        (scratch / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text() + settings)
        if not (scratch / "mutants").exists():
            mutmut(scratch, "run", "none*")  # makes the mutants, tries none
        todo = [name for name, status in verdicts(scratch).items() if status not in DEAD and home(name) in modules]
        todo = [name for name in todo if zlib.crc32(name.encode()) % one_in == 0]
        print(f"{group}: {len(todo)} mutants on {', '.join(tests)}", flush=True)
        if todo:
            mutmut(scratch, "run", "--max-children", str(children), *todo)
            verdicts(scratch)


def look_again(scratch: Path, group: str) -> None:
    """Try survivors on whole test files: mutmut credits what a shared fixture calls to its first test alone."""
    modules, rounds = GROUPS[group]
    known = verdicts(scratch)
    left = [name for name, status in known.items() if home(name) in modules and status in ("survived", "no tests")]
    for name in left:
        for tests in rounds:
            files = [f"tests/test_{test}.py" for test in tests]
            command = [
                sys.executable,
                "-m",
                "pytest",
                "-x",
                "-q",
                "-p",
                "no:xdist",
                "-p",
                "no:cacheprovider",
                "-k",
                "not cora",
                *files,
            ]
            trial = THREADS | {"MUTANT_UNDER_TEST": name, "PYTHONPATH": "src"}
            done = subprocess.run(
                command, cwd=scratch / "mutants", env=os.environ | trial, capture_output=True, check=False
            )
            if done.returncode == 1:
                known[name] = "killed"
                break
        print(f"{name}: {known[name]}", flush=True)
        (scratch / RECORD).write_text(json.dumps(known))


def mutmut(scratch: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "mutmut", *arguments]
    done = subprocess.run(command, cwd=scratch, env=os.environ | THREADS, capture_output=True, text=True, check=False)
    return done.stdout


def home(mutant: str) -> str:
    """The module of a mutant, without the package."""
    return mutant.removeprefix("spectrata.").rpartition(".x")[0]


def verdicts(scratch: Path) -> dict[str, str]:
    """Every mutant and what became of it so far: once dead, dead for good; mutmut itself forgets between selections."""
    record = scratch / RECORD
    known = json.loads(record.read_text()) if record.exists() else {}
    for line in mutmut(scratch, "results", "--all", "true").splitlines():
        name, _, status = line.strip().rpartition(": ")
        if name.startswith("spectrata.") and known.get(name) not in DEAD:
            before = known.get(name, "not checked")
            known[name] = max(before, status, key=("not checked", "no tests", "survived", *DEAD).index)
    record.write_text(json.dumps(known))
    return known


def report(scratch: Path, diffs: bool) -> None:
    """A line for each module, then the survivors with what was changed in them."""
    tally: dict[str, Counter[str]] = {}
    left = []
    for name, status in verdicts(scratch).items():
        tally.setdefault(home(name), Counter())[status] += 1
        if status not in (*DEAD, "not checked"):
            left.append(name)
    for module, counts in sorted(tally.items()):
        print(f"{module:28} {counts.total():5}  " + ", ".join(f"{n} {status}" for status, n in counts.items()))
    whole = sum(tally.values(), Counter())
    tried = whole.total() - whole["not checked"]
    dead = sum(whole[status] for status in DEAD)
    print(f"{whole.total()} mutants, {tried} tried, {dead} killed ({dead / max(tried, 1):.1%})")
    for name in left if diffs else []:
        print(mutmut(scratch, "show", name))


def main() -> None:
    parser = argparse.ArgumentParser(description="mutation testing of the mathematics")
    parser.add_argument("scratch", type=Path)
    parser.add_argument("group", nargs="*", choices=[[], *GROUPS], help="which groups of modules (default: all)")
    parser.add_argument("--children", type=int, default=2, help="mutants tried at once")
    parser.add_argument("--one-in", type=int, default=1, help="try only one mutant in so many, always the same ones")
    parser.add_argument("--report", action="store_true", help="print what is known, run nothing")
    parser.add_argument("--diffs", action="store_true", help="with --report: the survivors' changes too")
    options = parser.parse_intermixed_args()
    scratch = options.scratch.resolve()
    if not options.report:
        copy_of_the_tree(scratch)
        for group in options.group or GROUPS:
            run(scratch, group, options.children, options.one_in)
            look_again(scratch, group)
    report(scratch, options.diffs)


if __name__ == "__main__":
    main()
