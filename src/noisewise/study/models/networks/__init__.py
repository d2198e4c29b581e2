"""Independent options and what connects them: the fit, its bounds, and what a rule sees of it."""
