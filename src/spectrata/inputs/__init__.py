"""Graphs and signals in any form, turned into plain arrays; docs/architecture.md says which file does what."""
