"""Readers of evaluations: options scored on items, or compared by judges."""
