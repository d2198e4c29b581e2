"""Pieces of work spread over processes, executors and the workers of a Dask cluster."""
