"""Frank-Wolfe sampling, and the matrix game that each of its steps solves."""
