"""VAGE, variance-aware gap exploration, and the races it settles."""
