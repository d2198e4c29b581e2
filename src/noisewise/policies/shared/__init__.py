"""What several rules share: least squares, layers, budgets, the most confusing alternative."""
