"""Descriptions of results and signals: merged eigenspaces, comparison, filters, smoothness; no test of chance."""
