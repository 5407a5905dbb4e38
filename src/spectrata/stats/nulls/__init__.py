"""Null hypotheses: the only place that draws random orders, signals and graphs."""
