"""Bounds for one look at a finished table: ordinary simultaneous comparisons with the best option."""
