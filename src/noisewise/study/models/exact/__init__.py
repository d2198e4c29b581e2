"""Least squares that lose no digit where error bars differ by many decades."""
