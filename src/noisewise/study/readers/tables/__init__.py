"""Readers of tables whose columns mean something by custom."""
