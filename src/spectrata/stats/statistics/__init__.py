"""Statistics of a signal on the pairs of a hop: ``value(obs)``, and ``permuted(obs, orders)`` under a null."""
