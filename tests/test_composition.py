"""Chains of random public calls against brute force: a fixed share of what ``composition.py`` runs by hand."""

import pytest

from composition import Chain, report, run_chain
from composition_rules import RULES, verb

SHARES, CHAINS = 10, 15  # 150 chains; 20,000 by hand: python tests/composition.py --chains 20000


@pytest.mark.parametrize("share", range(SHARES))
def test_chains_of_calls_agree_with_brute_force(share):
    for seed in range(share * CHAINS, (share + 1) * CHAINS):
        chain = run_chain(seed)
        assert not [*chain.problems, *chain.notes], report(chain)


def test_a_seed_is_a_chain():
    first, second = (run_chain(3) for _ in range(2))
    assert first.log == second.log
    assert isinstance(first, Chain)


def test_every_verb_of_the_chains_exists():
    names = {rule.split(",")[0] for rule in RULES} - {"pickle", "deepcopy"}
    for name in names:
        assert callable(verb(name)), name
