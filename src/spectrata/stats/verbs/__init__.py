"""Tests of a signal on a graph: statistic and null chosen, drawn, corrected and labelled."""
