"""``make coverage``: lines and branches that the tests reach, for each folder of ``src/spectrata``, as a table.

Two runs are combined: the suite, and tests of compiled kernels with numba's compiler switched off, since compiled code
cannot be traced. Files that need a GPU, and compiled ones that take too long without the compiler, are left out and
named.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

GPU = ("kernels/fused_rows.py", "kernels/fused_triton.py", "bands/fused_laplacian.py")

COMPILED = ("bands/compiled.py", "kernels/compiled_pairs.py", "kernels/compiled_ql.py")


def main(report: str | Path) -> int:
    """Print the table of a JSON report of coverage; 1 where a folder is under 90 % of its branches."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for name, file in json.loads(Path(report).read_text(encoding="utf-8"))["files"].items():
        inside = name.replace("\\", "/").partition("src/spectrata/")[2]
        if inside in (*GPU, *COMPILED):
            continue
        folder = inside.partition("/")[0] if "/" in inside else "top level"
        numbers = file["summary"]
        for k, key in enumerate(("num_statements", "covered_lines", "num_branches", "covered_branches")):
            counts[folder][k] += numbers[key]
    counts["all"] = [sum(column) for column in zip(*counts.values(), strict=True)]
    print("| package | statements | reached | branches | reached |\n|---|---:|---:|---:|---:|")
    for folder, (lines, seen, branches, taken) in sorted(counts.items(), key=lambda item: (item[0] == "all", item[0])):
        share = taken / branches if branches else 1.0
        print(f"| `{folder}` | {lines:,} | {seen / lines:.1%} | {branches:,} | {share:.1%} |")
    print(f"\nLeft out, since they need a GPU: {', '.join(GPU)}.")
    print(f"Left out, since compiled code is not traced: {', '.join(COMPILED)}.")
    low = [folder for folder, (_, _, branches, taken) in counts.items() if taken < 0.9 * branches]
    if low:
        print(f"Under 90 % of branches: {', '.join(low)}.", file=sys.stderr)
    return int(bool(low))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
