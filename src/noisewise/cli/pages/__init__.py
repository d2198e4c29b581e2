"""Pages of the documentation that are made from commands and rules."""
