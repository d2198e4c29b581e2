"""Functions that run as plain NumPy and, when a simulation asks for it, compiled by Numba."""
