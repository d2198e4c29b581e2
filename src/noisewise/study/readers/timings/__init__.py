"""Readers of timings: benchmarks as the usual tools write them."""
