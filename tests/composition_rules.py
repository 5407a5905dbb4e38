"""Which compositions of calls must answer and which must be refused, and the one place that asks.

A call gives the right numbers, or is refused with an ``InputError`` (or ``ResultError``) in one sentence. So
that a refusal is no way out, every composition is listed here with its verdict.
"""

import warnings
from functools import cache

import spectrata as st
from composition_ledger import Problem
from spectrata import errors, stats

ANSWER, REFUSE, EITHER, NAN = "must answer", "must be refused", "may be refused", "refused or NaN"
REFUSALS = (st.InputError, errors.ResultError)
MODULES = (stats.__path__, "spectrata.stats.")

RULES = {
    "Stratification": ANSWER,
    "spectra": ANSWER,
    "spectra, zero vector": REFUSE,
    "spectra, angles of numbers": REFUSE,  # every angle is 0 or 180 degrees
    "pickle": ANSWER,
    "deepcopy": ANSWER,
    "drop_zero": ANSWER,
    "merge_eigenspaces": ANSWER,
    "merge_eigenspaces, cut eigenspace": EITHER,  # right for whole eigenspaces, the others marked
    "normalize": ANSWER,
    "normalize, cut": EITHER,  # the length of a part of a spectrum
    "save": ANSWER,
    "open": ANSWER,
    "to_table": ANSWER,
    "off_zero": ANSWER,
    "off_zero, cut": NAN,  # the energy of the missing components is not known
    "off_zero, zeros dropped": NAN,
    "off_zero, no gft": REFUSE,
    "summary": ANSWER,
    "summary, cut": NAN,  # bands, centroid and off_zero are of the whole spectrum
    "summary, zeros dropped": NAN,  # off_zero alone
    "compare": ANSWER,
    "compare, hops permuted": ANSWER,
    "compare, snapshots permuted": ANSWER,
    "compare, cut alike": NAN,
    "compare, zeros dropped": NAN,  # off_zero alone
    "compare, other cut": REFUSE,
    "compare, other metric": REFUSE,
    "compare, other laplacian": REFUSE,
    "compare, other orientation": REFUSE,
    "compare, other scaling": REFUSE,
    "compare, other graph": REFUSE,
    "compare, other snapshots": REFUSE,
    "response": ANSWER,
    "response, hops permuted": ANSWER,
    "response, both permuted": ANSWER,
    "response, merged": ANSWER,
    "response, cut": NAN,
    "response, other metric": REFUSE,
    "response, other laplacian": REFUSE,
    "response, other cut": REFUSE,
    "response, other graph": REFUSE,
    "calibrate": ANSWER,
    "calibrate, angles of numbers": REFUSE,
    "calibrate, cut": REFUSE,  # a share of the energy is of all components
    "distinguish": ANSWER,
    "correlate": ANSWER,
    "correlate, other labels": REFUSE,
    "diagnose": EITHER,
    "diagnose, cut without its signal": NAN,  # nothing but the line that names signal=
}


@cache
def verb(name):
    """A public function, at the top level or in ``st.stats``."""
    return getattr(st if name in st.__all__ else st.stats, name)


def ask(rule, call, lenient=False):
    """The answer of a call, or None where it was refused; anything else is a problem.

    ``lenient`` allows a refusal where an answer is expected.
    """
    verdict = RULES[rule]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)  # of numpy: an undefined number on the way
            answer = call()
    except REFUSALS as problem:
        text = str(problem)
        if verdict == ANSWER and not lenient:
            raise Problem(f"refused: {rule}", text) from problem
        if not text or "\n" in text:
            raise Problem(f"refused badly: {rule}", repr(text)) from problem
        return None
    except Exception as problem:
        raise Problem(f"raised {type(problem).__name__}: {rule}", str(problem)) from problem
    if verdict == REFUSE:
        raise Problem(f"not refused: {rule}", "the call gave an answer")
    return answer
