"""Which action is the best, with ties broken on purpose, and the radii that say how sure that is."""
