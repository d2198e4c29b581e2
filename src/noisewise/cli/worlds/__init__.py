"""The commands on rules and simulated worlds."""
