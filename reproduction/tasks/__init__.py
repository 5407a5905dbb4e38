"""The paper's Tasks 1 to 8: graphs, signals, models and runs."""
