"""Eigenbases of strata: whole, one end of the spectrum, and stored on disk."""
