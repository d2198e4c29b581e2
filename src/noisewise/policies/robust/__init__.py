"""Estimates that no outlier can carry away, and what the rules for heavy tails share."""
