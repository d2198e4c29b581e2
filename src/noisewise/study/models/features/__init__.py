"""Weights of features, with deviations or without: rows, fit, bounds, and what a rule sees of them."""
