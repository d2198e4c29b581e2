"""Policies on catalogues: a working set that plays exactly, and passes when it cannot."""
