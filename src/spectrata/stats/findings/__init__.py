"""Findings: records of tests, the table and the sentences made from them."""

from spectrata.stats.findings.finding import LEVEL, TESTED, VERDICTS, Finding, Findings

__all__ = ["LEVEL", "TESTED", "VERDICTS", "Finding", "Findings"]
