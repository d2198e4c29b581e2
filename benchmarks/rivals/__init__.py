"""What a user would pick instead, on the same worlds with the same budget: see docs/comparisons.md."""
