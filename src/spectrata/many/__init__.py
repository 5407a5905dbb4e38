"""Many graphs in one call: stacked batches, executors, one store, and Dask."""
