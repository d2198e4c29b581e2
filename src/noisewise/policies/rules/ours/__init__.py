"""Rules of our own, made for error bars that differ."""
