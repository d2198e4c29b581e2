"""Benchmarks: ratios between us and an honest rival, measured side by side in one run."""
