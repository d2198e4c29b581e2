"""The commands on studies."""
