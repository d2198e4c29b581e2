"""A study as tables, charts and one page."""
