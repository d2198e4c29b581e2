"""Evidence against values of options: one kind per module."""
