"""Mutation testing: does a test fail when an operator, a comparison or a number is wrong?

    python tools/mutants.py                      # five mutants of every group
    python tools/mutants.py likeness --count 40  # more of one group
    python tools/mutants.py --seed 3             # others

A copy of the tree is changed in one place, and the tests that answer for the module run on it, the nearest first.
Texts of errors are not changed. Prints every mutant that survives, and the share of those killed.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GROUPS = {  # modules, and the tests that answer for them
    "reference": (["kernels/reference.py"], ["kernels", "reference", "oracle"]),
    "strata": (["core/strata.py"], ["strata", "laws_graphs"]),
    "eigen": (["core/bases/solve.py", "core/bases/basis.py"], ["eigen", "stress_graphs", "backends"]),
    "algorithms": (["core/hop.py", "core/algorithms/*.py"], ["algorithms", "ens", "ln_vx", "oracle", "laws_roads"]),
    "spectrum": (
        ["stats/describe/*.py"],
        ["stats_levels", "stats_merge", "stats_compare", "stats_smoothness", "stats_words", "composition"],
    ),
    "calibrate": (["stats/verbs/calibrate*.py", "stats/nulls/surrogates.py"], ["calibrate", "composition"]),
    "nulls": (["stats/nulls/*.py"], ["nulls", "likeness", "readings"]),
    "likeness": (["stats/observation.py", "stats/statistics/*.py"], ["likeness", "readings", "every_call"]),
    "maps": ([f"stats/verbs/{name}.py" for name in ("agree", "local", "decoupling")], ["agree", "local", "decoupling"]),
    "checks": (["core/checks.py", "core/bases/accuracy.py", "core/bases/verify.py"], ["accuracy", "weak_bridges"]),
    "bands": (["bands/one_hop.py"], ["accuracy", "bands"]),
}  # fmt: skip
OTHER = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.BitAnd: ast.BitOr, ast.Lt: ast.LtE,
    ast.LtE: ast.Gt, ast.Gt: ast.GtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or,
}  # fmt: skip


def places(tree: ast.Module) -> list[ast.AST]:
    """Everything inside functions that can be changed, errors and messages aside."""
    said = {
        id(part) for node in ast.walk(tree) if isinstance(node, (ast.Raise, ast.JoinedStr)) for part in ast.walk(node)
    }
    inside = [
        node
        for top in ast.walk(tree)
        if isinstance(top, ast.FunctionDef)
        for part in top.body
        for node in ast.walk(part)
    ]
    return [node for node in inside if id(node) not in said and (_operator(node) or _number(node))]


def _number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool)


def _operator(node: ast.AST) -> bool:
    if isinstance(node, ast.Compare):
        return type(node.ops[0]) in OTHER
    return isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in OTHER


def mutant(source: str, chance: random.Random) -> tuple[str, str]:
    """The source with one place changed, and what was changed."""
    tree = ast.parse(source)
    node = chance.choice(places(tree))
    before = ast.unparse(node)
    if isinstance(node, ast.Compare):
        node.ops[0] = OTHER[type(node.ops[0])]()
    elif isinstance(node, ast.Constant):
        node.value += 1
    else:
        node.op = OTHER[type(node.op)]()
    return ast.unparse(tree), f"line {node.lineno}: {before} -> {ast.unparse(node)}"


def survives(tree: Path, tests: list[str]) -> bool:
    """Whether no test fails, file by file."""
    more = {"PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}", "HYPOTHESIS_PROFILE": "mutants", "OMP_NUM_THREADS": "1"}
    for name in tests:
        words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"tests/test_{name}.py"]
        if subprocess.run(words, cwd=tree, env=os.environ | more, capture_output=True, check=False).returncode:
            return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("groups", nargs="*", help=", ".join(GROUPS))
    parser.add_argument("--count", type=int, default=5, help="mutants of each group")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    tried = killed = 0
    with tempfile.TemporaryDirectory() as place:
        tree = Path(place) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".*", "_build", "dist"))
        if (ROOT.parent / "shared").exists():
            (tree.parent / "shared").symlink_to(ROOT.parent / "shared")
        for group in given.groups or GROUPS:
            patterns, tests = GROUPS[group]
            files = sorted(file for pattern in patterns for file in (tree / "src" / "spectrata").glob(pattern))
            files = [file for file in files if places(ast.parse(file.read_text()))]
            chance = random.Random(f"{given.seed} {group}")
            for _ in range(given.count):
                file = chance.choice(files)
                source = file.read_text()
                changed, what = mutant(source, chance)
                file.write_text(changed)
                alive = survives(tree, tests)
                file.write_text(source)
                tried, killed = tried + 1, killed + (not alive)
                print(
                    f"{'SURVIVED' if alive else 'killed'}  {file.relative_to(tree / 'src' / 'spectrata')} {what}",
                    flush=True,
                )
    print(f"{killed} of {tried} killed ({killed / tried:.0%})")


if __name__ == "__main__":
    main()
