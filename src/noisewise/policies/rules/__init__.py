"""The rules, one per file, in families."""
