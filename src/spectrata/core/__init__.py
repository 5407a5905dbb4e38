"""From a graph and a signal to magnitudes: strata, eigenbases, algorithms and the order of work."""
