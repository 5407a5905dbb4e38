"""Chains of random public calls, every number compared with brute force after every call.

    python tests/composition.py --chains 20000     # by hand, with a progress line and a tally at the end
    python tests/composition.py --seed 17          # one chain again, with its calls

``python -m tests.composition`` does the same. A chain keeps Datasets and, beside each, a ledger of what it
should be. The steps are in ``composition_steps`` (what makes and changes results) and ``composition_readers``
(what reads them); a new verb is one more function there. ``composition_rules`` lists what must be refused.
"""

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # for python -m tests.composition

import composition_readers  # noqa: F401 - registers its steps
import spectrata as st
from composition_cases import draw_case, draw_hops
from composition_ledger import Problem, check
from composition_rules import ask
from composition_steps import STEPS, spectra

LONGEST = 9  # calls in a chain


class Chain:
    """One chain: its random numbers, graph, results, and the log of its calls."""

    def __init__(self, seed: int) -> None:
        self.seed, self.rng = seed, np.random.default_rng([seed, 0xC4A1])
        self.case = draw_case(self.rng)
        self.states: list[tuple] = []
        self.picked: tuple = (None, None)
        self.log: list[str] = []
        self.notes: dict[str, str] = {}
        self.problems: list[Problem] = []
        hops, self.strat_hops = draw_hops(self.case, self.rng)
        self.say(f"graph of {self.case.n} nodes {self.case.names}, edges {self.case.edges}")
        self.say(f"strat = Stratification(graph, hops={hops})")
        self.strat = ask("Stratification", lambda: st.Stratification(self.case.graph, hops))

    def say(self, text: str) -> None:
        self.log.append(text)

    def note(self, kind: str, text: str) -> None:
        """A fault of the schema, which does not end the chain."""
        self.notes.setdefault(f"{kind}: {text}" if kind == "schema" else kind, text)

    def add(self, ds, ledger) -> None:
        """Check a new result and keep it."""
        check(ds, ledger, self.note)
        self.states = [*self.states[-3:], (ds, ledger)]

    def pick(self, condition=lambda ds, ledger: True) -> tuple:
        """A result that meets the condition, the latest more often; (None, None) where there is none."""
        fitting = [state for state in self.states if condition(*state)]
        if not fitting:
            self.picked = (None, None)
        elif self.rng.random() < 0.6:
            self.picked = fitting[-1]
        else:
            self.picked = fitting[int(self.rng.integers(len(fitting)))]
        return self.picked


def run_chain(seed: int) -> Chain:
    """A chain up to its end: a call with a problem is recorded, and its result is not used further."""
    chain = Chain(seed)
    weights = np.array([weight for weight, _ in STEPS])
    weights = weights / weights.sum()
    length = int(chain.rng.integers(3, LONGEST + 1))
    for _ in range(20):
        if not chain.states:
            attempt(chain, spectra)
    done = 0 if chain.states else length
    while done < length:
        _, step = STEPS[int(chain.rng.choice(len(STEPS), p=weights))]
        done += attempt(chain, step)
    return chain


def attempt(chain: Chain, step) -> bool:
    """One step; False where it does not apply."""
    try:
        return step(chain) is not False
    except Problem as problem:
        chain.say(f"   {problem}")
        chain.problems.append(problem)
        return True
    except Exception as problem:
        raise RuntimeError("the chain itself failed\n" + report(chain)) from problem


def report(chain: Chain) -> str:
    """The calls of a chain, and what went wrong."""
    lines = [f"seed {chain.seed}", *(f"  {i}. {text}" for i, text in enumerate(chain.log))]
    lines += [f"  note: {kind}: {text}" for kind, text in chain.notes.items()]
    lines += [f"  {len(chain.problems)} problems"]
    return "\n".join(lines)


def tally(seed: int) -> tuple[int, int, list[str]]:
    """Seed, number of calls and kinds of problems of one chain."""
    chain = run_chain(seed)
    return seed, len(chain.log) - 2, sorted({*chain.notes, *(problem.kind for problem in chain.problems)})


def soak(chains: int, first: int = 0, workers: int = 1) -> int:
    """Run many chains, print a tally, and give the number of chains with a problem."""
    examples: dict[str, list[int]] = {}
    calls, bad, began = 0, 0, time.monotonic()
    with ProcessPoolExecutor(workers) as pool:
        seeds = range(first, first + chains)
        found = map(tally, seeds) if workers == 1 else pool.map(tally, seeds, chunksize=20)
        for count, (seed, made, kinds) in enumerate(found, 1):
            calls += made
            bad += bool(kinds)
            for kind in kinds:
                examples.setdefault(kind, []).append(seed)
                if len(examples[kind]) == 1:  # known at once, also of a soak that is stopped
                    print(f"\nseed {seed}: {kind}", flush=True)
            if count % 100 == 0 or count == chains:
                rate = count / (time.monotonic() - began)
                line = f"\r{count} of {chains} chains, {rate:.1f} per second, {bad} with problems"
                print(line, end="", flush=True)
    print(f"\n{chains} chains, {calls} calls, {bad} with problems")
    for kind, seeds in sorted(examples.items(), key=lambda item: -len(item[1])):
        print(f"{len(seeds):7d}  {kind}  (seeds {', '.join(str(seed) for seed in seeds[:4])})")
    return bad


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--chains", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first chain")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--seed", type=int, help="replay one chain")
    given = parser.parse_args()
    if given.seed is not None:
        chain = run_chain(given.seed)
        print(report(chain))
        sys.exit(bool(chain.problems or chain.notes))
    sys.exit(bool(soak(given.chains, given.first, given.workers)))


if __name__ == "__main__":
    main()
