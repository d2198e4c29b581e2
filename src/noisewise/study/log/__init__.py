"""A study as specification and events: its state, its measurements, its log as a file."""
